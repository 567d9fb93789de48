"""Benchmark of record batches against plain rows, and of Spark against one process.

    PYTHONPATH=src:tests:tests/bench python tests/bench/arrow_bench.py            speed, memory, Spark
    PYTHONPATH=src:tests:tests/bench python tests/bench/arrow_bench.py --quick    without the 1,000,000 rows

A ratio is the median of those of ROUNDS rounds, in each of which both sides run once. Spark needs Java.
"""

# PySpark is only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import cycle, islice
from statistics import median
from typing import Any

import server
from many_rows import judge_named
from standin_openai import StandIn

from groundjudge import load, run
from groundjudge.models.openai import OpenAIModel
from groundjudge.runs.arrow import judge_batches
from groundjudge.types import Judge, Request

pa: Any = import_module("pyarrow")

ROUNDS = 3
N_ROWS = 4000
BATCH = 1000
IN_FLIGHT = 64
TASKS = 2
MILLISECONDS = 200
LIMITS = {"judge_batches": 0.9, "Spark": 0.8, "memory": 1.1}
WORDS = "The library in the old harbour opens at nine on weekdays and closes at six in the evening.".split()


def rows(n: int) -> Iterator[dict[str, Any]]:
    """Rows with a context of 600 words."""
    context = " ".join(islice(cycle(WORDS), 600))
    for number in range(n):
        yield {"id": str(number), "query": "When?", "context": [context], "response": f"At nine. {number}"}


def table(n: int) -> Any:
    return pa.Table.from_pylist(list(rows(n)))


def seconds(work: Callable[[], int], expected: int) -> float:
    """The seconds that the work takes; it gives the number of rows that it judged."""
    started = time.perf_counter()
    assert work() == expected
    return time.perf_counter() - started


def by_run(judge: Judge, listed: list[dict[str, Any]]) -> int:
    return sum(verdict.status == "ok" for verdict in run(judge, listed, concurrency=IN_FLIGHT))


def by_batches(judge: Judge, batches: list[Any]) -> int:
    return sum(batch.num_rows for batch in judge_batches(batches, judge, concurrency=IN_FLIGHT))


def show(name: str, plain: str, measured: str, ratio: float, is_ok: bool) -> None:  # noqa: FBT001
    print(f"{name:<52}{plain:>14}{measured:>14}{ratio:>8.2f}  {'ok' if is_ok else 'FAILED'}", flush=True)  # noqa: T201


def compared(name: str, limit: str, plain: Callable[[], int], other: Callable[[], int], n: int) -> None:
    """Time both sides in turns, after a round to warm up, and show rows per second."""
    pairs = [(seconds(plain, n), seconds(other, n)) for _ in range(ROUNDS + 1)][1:]
    ratio = median(before / after for before, after in pairs)
    rates = [f"{n / median(times):.0f} rows/s" for times in zip(*pairs, strict=True)]
    show(name, rates[0], rates[1], ratio, ratio >= LIMITS[limit])


def speed(url: str) -> None:
    """Batches against rows: where the endpoint is the limit, and where the CPU is."""
    listed, batches = [*rows(N_ROWS)], table(N_ROWS).to_batches(max_chunksize=BATCH)
    for milliseconds in (MILLISECONDS, 0):
        judge = judge_at(url, milliseconds)
        compared(
            f"judge_batches / run, {milliseconds} ms, {IN_FLIGHT} in flight",
            "judge_batches",
            partial(by_run, judge, listed),
            partial(by_batches, judge, batches),
            N_ROWS,
        )


def judge_at(url: str, milliseconds: int) -> Judge:
    model = OpenAIModel("m", base_url=f"{url}/{milliseconds}/groundedness/v1")
    return load("groundedness", model=model)


async def instant(request: Request) -> str:
    """A reply at once: the number of the row."""
    return f"<S1>fine</S1><S2>{int(request.case.response_text) % 100_000}</S2>"


def peak_of(n: int) -> int:
    """Judge n small rows in batches, and give this process's peak of memory in KiB."""
    made = (
        pa.RecordBatch.from_pydict(
            {name: [str(number) for number in range(first, first + BATCH)] for name in ("id", "response")}
        )
        for first in range(0, n, BATCH)
    )
    found = judge_batches(made, judge_named("instant", instant), concurrency=IN_FLIGHT)
    assert sum(batch.num_rows for batch in found) == n
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def memory(sizes: tuple[int, int]) -> None:
    """The peak of memory must not grow with the rows."""
    few, many = (
        int(subprocess.run([sys.executable, __file__, "--peak", str(n)], stdout=-1, check=True).stdout)  # noqa: S603
        for n in sizes
    )
    name = f"peak memory, {sizes[0]:,} and {sizes[1]:,} rows"
    ratio = many / few
    show(name, f"{few / 1024:.0f} MiB", f"{many / 1024:.0f} MiB", ratio, ratio <= LIMITS["memory"])


def session() -> Any:
    """Spark with so many tasks at a time."""
    warnings.simplefilter("ignore")  # of new versions of pandas
    os.environ["PYSPARK_PYTHON"] = sys.executable
    silent = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
    }
    builder: Any = import_module("pyspark.sql").SparkSession.builder
    return builder.master(f"local[{TASKS}]").config(map=silent).getOrCreate()


def frame(spark: Any) -> Any:
    """All rows in memory, in partitions of BATCH rows."""
    df = spark.createDataFrame(table(N_ROWS)).repartition(N_ROWS // BATCH).cache()
    df.count()
    return df


def by_spark(df: Any, judge: Judge) -> int:
    """Judge all rows, with IN_FLIGHT requests of all tasks in flight."""
    judged: Callable[..., Any] = import_module("groundjudge.adapters.spark").judged
    found: int = judged(df, judge, concurrency=IN_FLIGHT // TASKS).where("status = 'ok'").count()
    return found


def in_spark(url: str) -> None:
    """Spark against one process with as many requests in flight, and how many there are."""
    spark = session()
    try:
        judge, listed, df = judge_at(url, MILLISECONDS), [*rows(N_ROWS)], frame(spark)
        name = f"Spark / run, {MILLISECONDS} ms, {TASKS} tasks x {IN_FLIGHT // TASKS}"
        compared(name, "Spark", partial(by_run, judge, listed), partial(by_spark, df, judge), N_ROWS)
        with StandIn(["<S0>t</S0><S1>fine</S1><S2>5</S2>"], latency=MILLISECONDS / 1000) as counting:
            by_spark(df, load("groundedness", model=OpenAIModel("m", base_url=counting.url)))
        most = counting.most_in_flight
        show(
            "requests in flight, as set and at most",
            str(IN_FLIGHT),
            str(most),
            most / IN_FLIGHT,
            most == IN_FLIGHT,
        )
    finally:
        spark.stop()


PARTS: Mapping[str, Callable[[str], None]] = {"speed": speed, "spark": in_spark}


def main() -> None:
    """All parts, or those that are named."""
    if re.fullmatch(r"--peak \d+", " ".join(sys.argv[1:])):
        print(peak_of(int(sys.argv[2])))  # noqa: T201
        return
    named = [name for name in sys.argv[1:] if not name.startswith("-")]
    with server.running() as url:
        for name, part in PARTS.items():
            if not named or name in named:
                part(url)
    if not named or "memory" in named:
        memory((10_000, 100_000 if "--quick" in sys.argv else 1_000_000))


if __name__ == "__main__":
    main()
