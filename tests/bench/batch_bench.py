"""Benchmark of `groundjudge batch write`: rows a second, and the memory that it takes.

    PYTHONPATH=tests python tests/bench/batch_bench.py           10,000 and 1,000,000 rows: some minutes
    PYTHONPATH=tests python tests/bench/batch_bench.py --quick   10,000 and 50,000 rows

Each run is a process of its own that writes to the null device. CPU is its user and system time, start-up
included; memory is its peak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench
from varied_cases import rows

WORDS = 100
FEWEST_ROWS_A_SECOND = 5000
MOST_GROWTH = 1.2

WRITE = """
import json, re, resource, sys
from pathlib import Path
from groundjudge.cli.app import app
app(sys.argv[1:], standalone_mode=False)
used = resource.getrusage(resource.RUSAGE_SELF)
# Not ru_maxrss, which starts from the peak of the parent process.
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "peak": peak}))
"""


def write_cases(path: Path, n: int) -> None:
    """Write a file of n different cases."""
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(n, WORDS))


def measure(n: int) -> tuple[float, float, float]:
    """The seconds of wall time, the seconds of CPU, and the peak memory in MB for n rows."""
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases.jsonl"
        write_cases(cases, n)
        options = ["--judge", "groundedness", "--model", "m", "--out", os.devnull]
        command = [sys.executable, "-c", WRITE, "batch", "write", str(cases), *options]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  this Python
        found = json.loads(done.stdout)
        return time.perf_counter() - started, found["cpu"], found["peak"]


def main() -> None:
    sizes = (10_000, 50_000) if "--quick" in sys.argv else (10_000, 1_000_000)
    bench.show(f"{'rows':>12}{'wall':>10}{'CPU':>10}{'rows/s':>10}{'rows/s CPU':>12}{'peak':>10}")
    found = {n: measure(n) for n in sizes}
    for n, (wall, cpu, peak) in found.items():
        bench.show(f"{n:>12,}{wall:>8.1f} s{cpu:>8.1f} s{n / wall:>10,.0f}{n / cpu:>12,.0f}{peak:>7.0f} MB")
    small, large = (found[n] for n in sizes)
    speed, growth = sizes[1] / large[0], large[2] / small[2]
    bench.show(f"speed {speed:,.0f} rows/s: {'ok' if speed >= FEWEST_ROWS_A_SECOND else 'FAILED'}")
    bench.show(f"memory x {growth:.2f}: {'ok' if growth <= MOST_GROWTH else 'FAILED'}")


if __name__ == "__main__":
    main()
