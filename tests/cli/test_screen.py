"""Nothing that stands in rows, judges, labels or replies steers the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Invoke
from make_verdicts import labelled, verdict
from verdict_files import write_rows, write_verdicts

from groundjudge.cli.screen import Screen

HOSTILE = (
    "\x1b[2J",
    "\x9b31m",
    "\x07",
    "\x85",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u061c",
    "\u2028",
    "\x00",
    "\r",
)
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("width", ["40", "200"])
def test_texts_and_tables_show_controls_and_obey_none(
    text: str, width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    screen = Screen()
    screen.text(f"a{text}b", heading=f"h{text}")
    screen.table([f"c{text}", f"d{text}"], [[f"e{text}", f"f{text}" * 20], ["g", "h"]])
    shown = capsys.readouterr().out
    assert STEERING.search(shown) is None
    assert repr(text)[1:-1].split("[")[0] in shown


def test_an_end_of_a_line_in_a_cell_makes_no_row(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table(["judge", "mean"], [["a\nforged  1.000", "0.1"]])
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("text", HOSTILE)
def test_commands_show_hostile_judges_labels_and_reasons(
    text: str, command: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judge = f"judge{text}"
    words = (f"good{text}", f"bad{text}")
    own = [
        labelled(f"c{place}{text}", words[place % 2], float(1 - place % 2), judge=judge)
        for place in range(24)
    ]
    write_verdicts("v.jsonl", [*own, verdict("x", 0.2, judge="two", reason=text)])
    write_rows("l.jsonl", [{"id": f"c{place}{text}", "label": words[place % 3 > 0]} for place in range(24)])
    for line in ("agree v.jsonl --labels l.jsonl", "compare v.jsonl v.jsonl", "report v.jsonl"):
        result = command(*line.split())
        assert STEERING.search(result.stdout + result.stderr) is None
