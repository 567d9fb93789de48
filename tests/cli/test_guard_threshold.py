"""The threshold of a guard from the command line: `calibrate --by precision --at-least`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Invoke
from make_verdicts import verdict
from verdict_files import write_rows, write_verdicts

ROWS = 200


@pytest.fixture(autouse=True)
def judged_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores 0.00 to 0.99, each twice; people call every answer from 0.40 on grounded, and no other."""
    monkeypatch.chdir(tmp_path)
    scores = [place % 100 / 100 for place in range(ROWS)]
    write_verdicts("v.jsonl", (verdict(str(place), score) for place, score in enumerate(scores)))
    write_rows(
        "l.jsonl", ({"id": place, "grounded": int(score >= 0.4)} for place, score in enumerate(scores))
    )


CALIBRATE = ("calibrate", "v.jsonl", "--labels", "l.jsonl", "--label", "grounded")


def test_threshold_is_fitted_on_one_half_and_tested_on_the_other_with_a_bound(command: Invoke) -> None:
    result = command(*CALIBRATE, "--by", "precision", "--at-least", "0.95", "-o", "thresholds.json")
    assert result.exit_code == 0
    (found,) = json.loads(Path("thresholds.json").read_text())
    assert 0.3 < found["threshold"] <= 0.4
    assert (found["at_least"], found["by"]) == (0.95, "precision")
    assert 0.9 < found["bound"] < found["tested"]["precision"]["value"] <= 1
    assert "the lowest with a precision of 0.95" in result.stdout
    assert f"is {found['bound']:.3f} or more" in " ".join(result.stdout.split())


def test_that_no_threshold_reaches_it_is_an_answer(command: Invoke) -> None:
    write_rows("l.jsonl", ({"id": place, "grounded": int(place % 100 < 40)} for place in range(ROWS)))
    result = command(*CALIBRATE, "--by", "precision", "--at-least", "0.95")
    assert result.exit_code == 2
    assert "no threshold reaches a precision of 0.95 with these labels" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--by", "precision"), "at_least"),
        (("--by", "f1", "--at-least", "0.9"), "precision"),
        (("--by", "precision", "--at-least", "1.5"), "--at-least"),
        (("--by", "precison", "--at-least", "0.9"), "--by"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(
    options: tuple[str, ...], named: str, command: Invoke
) -> None:
    result = command(*CALIBRATE, *options)
    assert result.exit_code == 2
    assert named in result.stderr
