"""The progress of a run where no terminal shows a bar."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from command_line import ROW
from make_verdicts import error, verdict

from groundjudge import Usage, Verdict
from groundjudge.cli.progress import LINE_EVERY, ProgressLine
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import CaseFile
from groundjudge.runs.summary import Tally
from groundjudge.runs.verdict_file import RunTotals


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def judge_all(
    path: str, verdicts: Iterable[tuple[float, Verdict]], prices: Prices | None = None, out: str = "out.jsonl"
) -> None:
    """A run of which one row is read for each verdict, each at its time in seconds."""
    now = 100.0
    rows = CaseFile(path)
    totals = RunTotals(Tally(["j"]))
    row_iterator = iter(rows)

    def clock() -> float:
        return now

    with ProgressLine(rows.count, totals, prices, out, clock).show() as advance:
        for seconds, verdict in verdicts:
            now = 100 + seconds
            next(row_iterator)
            totals.add(verdict)
            advance()


@pytest.fixture
def cases(tmp_path: Path) -> str:
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n" * 1200)
    return str(path)


GOOD = verdict("1", 0.5, judge="j", usage=Usage(prompt_tokens=1000, completion_tokens=100))
BAD = error("1", "timeout", judge="j")


@pytest.mark.parametrize(
    ("verdicts", "lines"),
    [
        pytest.param([], [], id="no verdict"),
        pytest.param([(seconds / 20, GOOD) for seconds in range(100)], [], id="a run of 5 seconds"),
        pytest.param(
            [(LINE_EVERY - 0.1, GOOD), (LINE_EVERY, GOOD)],
            ["groundjudge: 2 of 1,200 verdicts, 0 errors"],
            id="after 10 seconds",
        ),
        pytest.param(
            [(1, BAD), (11, GOOD), (12, GOOD), (20, BAD), (21, GOOD), (500, BAD), (501, GOOD)],
            [
                "groundjudge: 2 of 1,200 verdicts, 1 errors",
                "groundjudge: 5 of 1,200 verdicts, 2 errors",
                "groundjudge: 6 of 1,200 verdicts, 3 errors",
            ],
            id="every 10 seconds, if a verdict comes",
        ),
    ],
)
def test_lines_of_progress(
    cases: str, capsys: pytest.CaptureFixture[str], verdicts: list[tuple[float, Verdict]], lines: list[str]
) -> None:
    judge_all(cases, verdicts)
    assert capsys.readouterr().err.splitlines() == lines


@pytest.mark.parametrize(
    ("each_verdict", "end"),
    [
        pytest.param(GOOD, ", 0 errors, cost so far: 0.0040\n", id="tokens that are reported"),
        pytest.param(BAD, ", 2 errors\n", id="no tokens"),
    ],
)
def test_the_cost_is_shown_where_it_is_known(
    cases: str, capsys: pytest.CaptureFixture[str], each_verdict: Verdict, end: str
) -> None:
    judge_all(cases, [(1, each_verdict), (11, each_verdict)], Prices(1.0, 10.0))
    assert capsys.readouterr().err == f"groundjudge: 2 of 1,200 verdicts{end}"


def test_rows_of_a_stream_have_no_total(
    cases: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(cases).read_bytes())))
    judge_all("-", [(11, GOOD)])
    assert capsys.readouterr().err == "groundjudge: 1 verdicts, 0 errors\n"


def test_a_terminal_without_a_bar_has_no_lines(cases: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdout", Terminal())
    judge_all(cases, [(60, GOOD)], out="-")
    assert screen.getvalue() == ""
