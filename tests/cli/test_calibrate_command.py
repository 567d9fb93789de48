"""The command `calibrate`, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Invoke, words
from make_verdicts import verdict
from verdict_files import some_labels, some_verdicts, write_rows, write_verdicts


def test_calibrate_prints_the_line_to_use_and_agree_takes_its_file(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts(80))
    write_rows("l.jsonl", some_labels(80))
    result = command("calibrate", "v.jsonl", "--labels", "l.jsonl", "--out", "t.json")
    assert result.exit_code == 0
    threshold = json.loads(Path("t.json").read_text())[0]["threshold"]
    assert f'load("one", model=..., threshold={threshold:g})' in result.stdout
    assert "fitted on 40 rows, tested on the other half, 40 rows" in result.stdout
    agreed = command("agree", "v.jsonl", "--labels", "l.jsonl", "--threshold", "t.json")
    assert ["threshold", f"{threshold:g}"] in words(agreed.stdout)
    assert "note:" not in agreed.stdout


def test_calibrate_says_when_a_threshold_promises_nothing(command: Invoke) -> None:
    write_verdicts("v.jsonl", [verdict(str(place), (place * 37 % 100) / 100) for place in range(40)])
    write_rows("l.jsonl", some_labels())
    result = command("calibrate", "v.jsonl", "--labels", "l.jsonl", "--folds", "4")
    assert "indistinguishable from a constant guess (0.500)" in result.stdout
    assert "thresholds of the folds: " in result.stdout


def test_calibrate_goes_on_without_judges_that_have_too_few_labels(command: Invoke) -> None:
    write_verdicts("v.jsonl", [*some_verdicts(), verdict("0", 1.0, judge="two")])
    write_rows("l.jsonl", some_labels())
    result = command("calibrate", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 0
    assert 'load("one"' in result.stdout
    assert "note: two: 2 parts need 2 independent positive rows" in result.stdout
