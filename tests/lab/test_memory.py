"""Verdicts are read in a stream: memory holds what figures need of them, not the verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from weakref import finalize

import pytest
from make_verdicts import error, verdict

from groundjudge import Verdict
from groundjudge.lab.agreement import agree
from groundjudge.lab.comparison import compare
from groundjudge.lab.labels import Labels
from groundjudge.lab.rate import rate
from groundjudge.lab.sample import draw
from groundjudge.report.page import report
from groundjudge.runs.latest_verdicts import latest_verdicts

N_ROWS = 400
LABELS = Labels({str(place): place % 2 for place in range(0, N_ROWS, 10)})


class Stored:
    """Verdicts as in a file: new objects at each reading."""

    def __init__(self) -> None:
        self.n_alive = 0
        self.most_alive = 0
        self.n_readings = 0

    def __iter__(self) -> Iterator[Verdict]:
        self.n_readings += 1
        for place in range(N_ROWS):
            stored = verdict(str(place), place % 7 / 6, reason="because")
            self.n_alive += 1
            self.most_alive = max(self.most_alive, self.n_alive)
            finalize(stored, self._count_down)
            yield stored
            del stored

    def _count_down(self) -> None:
        self.n_alive -= 1


def estimate_rate(verdicts: Stored) -> None:
    sample = draw(verdicts, 40)
    labels = Labels({case_id: int(case_id) % 2 for case_id in sample.ids})
    rate(verdicts, labels, sample)


USES: dict[str, Callable[[Stored], object]] = {
    "agree": lambda verdicts: agree(verdicts, LABELS, resamples=20),
    "rate": estimate_rate,
    "label": lambda verdicts: draw(verdicts, 40),
    "compare": lambda verdicts: compare(verdicts, verdicts, LABELS, resamples=20),
    "report": lambda verdicts: report(verdicts, most_of_a_kind=1),
}


@pytest.mark.parametrize("use", [pytest.param(use, id=name) for name, use in USES.items()])
def test_verdicts_are_not_held(use: Callable[[Stored], object]) -> None:
    verdicts = Stored()
    use(verdicts)
    assert verdicts.n_readings >= 2
    assert verdicts.most_alive < 10


def test_what_is_appended_while_a_file_is_read_is_not_there_yet() -> None:
    verdicts = [verdict("a", 1.0), error("a", "timeout"), verdict("b", 0.0)]
    latest = latest_verdicts(verdicts)
    verdicts.append(verdict("c", 1.0))
    assert [counted.case_id for counted in latest] == ["a", "b"]


MANY_ROWS = 100_000
"""Of a million rows without a label `rate` takes 210 MB, and of these 140."""


def write_verdicts(path: Path) -> None:
    """Verdicts with a reason, of one judge."""
    line = verdict("CASE", 0.5, judge="groundedness", reason="The second sentence is in no document. " * 4)
    before, after = line.model_dump_json().split("CASE")
    before, between = before.split('"score":0.5')
    with path.open("w") as file:
        for place in range(MANY_ROWS):
            file.write(f'{before}"score":{place % 9973 / 9973:.6f}{between}row-{place:07}{after}\n')


# It prints the kilobytes that a command took at most, itself alone.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_verdicts_of_a_long_run_are_not_held() -> None:
    lines = [f"{json.dumps({'id': f'row-{place:07}', 'label': place % 2})}\n" for place in range(1000)]
    with TemporaryDirectory() as folder:  # not kept, as that of pytest would be: it holds 80 MB
        write_verdicts(Path(folder, "v.jsonl"))
        Path(folder, "some.jsonl").write_text("".join(lines))
        for line in ("agree v.jsonl --labels some.jsonl", "rate v.jsonl --labels some.jsonl --random"):
            command = [sys.executable, "-c", MEASURE, sys.executable, "-m", "groundjudge", *line.split()]
            process = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603
            assert int(process.stdout.split()[-1]) < 160_000, line
