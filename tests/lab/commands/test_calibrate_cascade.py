"""`groundjudge calibrate --cascade`, as a user meets it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Invoke
from make_verdicts import verdict

from groundjudge import Verdict

FILES = ("calibrate", "strong.jsonl", "--cascade", "cheap.jsonl", "--labels", "l.jsonl")
WANTED = (*FILES, "--accuracy", "0.9")


def write(path: str, rows: Sequence[Verdict | Mapping[str, Any]]) -> None:
    lines: list[str] = []
    for row in rows:
        lines.append(row.model_dump_json() if isinstance(row, Verdict) else json.dumps(row))
    Path(path).write_text("\n".join(lines))


def write_files(scores: Sequence[float], grounded: Sequence[bool], *, judge: str = "one") -> None:
    """The verdicts of a cheap judge, those of a strong one that is always right, and the labels."""
    cheap: list[Verdict] = []
    strong: list[Verdict] = []
    labels: list[dict[str, Any]] = []
    for number, (score, label) in enumerate(zip(scores, grounded, strict=True)):
        case_id = f"case {number}"
        cheap.append(verdict(case_id, score, judge=judge, model="small"))
        strong.append(verdict(case_id, float(label), judge=judge, model="large"))
        labels.append({"id": case_id, "label": bool(label), "claim": f"claim {number // 4}"})
    write("cheap.jsonl", cheap)
    write("strong.jsonl", strong)
    write("l.jsonl", labels)


@pytest.fixture
def files(command: Invoke) -> Invoke:
    """A folder with files of a judge that is right on 100 sure rows, and on half of 100 others."""
    generator = np.random.default_rng(0)
    write_files([*[0.05, 0.95] * 50, *[0.4, 0.6] * 50], [*[False, True] * 50, *(generator.random(100) < 0.5)])
    return command


def test_bounds_are_printed_with_what_they_save_and_the_line_to_use(files: Invoke) -> None:
    result = files(*WANTED)
    assert result.exit_code == 0, result.output
    assert "one: small decides if its score is 0.05 or below, or 0.95 or above; large judges the others" in (
        result.output
    )
    assert (
        "proven on 200 labelled rows: 100 decided by the cheap judge, 100 of them correctly" in result.output
    )
    assert re.search(r"strong calls saved +0\.500 \[0\.43\d, 0\.56\d\]", result.output)
    assert re.search(r"right where the cheap judge decides +1\.000 \[", result.output)
    assert "cascade([cheap, strong], until=(0.05, 0.95))\n" in result.output
    line = "groundjudge run ... --judge one --cascade small --model large -O until=0.05,0.95"
    assert line in result.output


def test_other_accuracy_and_groups_give_other_bounds(files: Invoke) -> None:
    grouped = files(*WANTED, "--group", "claim")
    assert grouped.exit_code == 2
    assert "no threshold reaches 0.90 with 50 labels" in grouped.output
    lower = files(*FILES, "--accuracy", "0.65")
    assert "until=(0.4, 0.6)" in lower.output
    grouped = files(*FILES, "--accuracy", "0.5", "--group", "claim")
    assert "proven on 50 labelled rows" in grouped.output
    assert "note: 150 labelled rows are left out: one row of each group counts" in grouped.output


def test_probability_and_not_applicable_are_in_the_line_to_use(command: Invoke) -> None:
    cheap: list[Verdict] = []
    for number in range(120):
        is_good = number % 2 == 0
        shares = {"1": 0.04, "5": 0.96} if is_good else {"1": 0.97, "5": 0.03}
        cheap.append(
            verdict(f"case {number}", shares["5"], judge="groundedness", model="small", distribution=shares)
        )
    write("cheap.jsonl", cheap)
    write("strong.jsonl", cheap)
    write("l.jsonl", [{"id": f"case {number}", "label": number % 2 == 0} for number in range(120)])
    result = command(*WANTED, "--until-by", "probability")
    assert result.exit_code == 0, result.output
    assert 'until=(0.03, 0.96), by="probability", not_applicable_stands=True' in result.output
    assert "-O until=0.03,0.96 -O by=probability -O not_applicable_stands=true" in result.output


def test_judge_that_is_sure_and_wrong_is_refused_with_the_reason(command: Invoke) -> None:
    write_files([0.0, 1.0] * 100, [True, False] * 100)
    result = command(*WANTED)
    assert result.exit_code == 2
    assert "no threshold reaches 0.90 with 200 labels: it is right on 0% of the" in result.output


REFUSED: Mapping[str, tuple[Sequence[str], str]] = {
    "no accuracy": (FILES, "--cascade: add --accuracy, the required share of right verdicts"),
    "an accuracy of 1": ((*FILES, "--accuracy", "1"), "--accuracy must be between 0 and 1, not 1"),
    "a figure to maximise": ((*WANTED, "--by", "f1"), "--by cannot be combined with --cascade"),
    "a file of thresholds": ((*WANTED, "--out", "t.json"), "--out cannot be combined with --cascade"),
    "an accuracy without a cascade": (
        ("calibrate", "cheap.jsonl", "--labels", "l.jsonl", "--accuracy", "0.9"),
        "--accuracy applies to a cascade only: add --cascade CHEAP",
    ),
    "an unknown judge's probabilities": (
        (*WANTED, "--until-by", "probability"),
        "one is not a built-in judge: name its prompt file with --judge-file",
    ),
    "a judge that is not there": ((*WANTED, "--judge", "two"), "has no verdict by the judge 'two'"),
    "three judges": ((*WANTED, *["--judge", "one"] * 3), "--judge is given more than twice"),
    "a file that is not there": (
        ("calibrate", "strong.jsonl", "--cascade", "none.jsonl", "--labels", "l.jsonl", "--accuracy", "0.9"),
        "none.jsonl",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_use_is_one_line(files: Invoke, arguments: Sequence[str], message: str) -> None:
    result = files(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert not Path("t.json").exists()


def test_file_with_several_judges_needs_the_name_of_one(files: Invoke) -> None:
    with Path("cheap.jsonl").open("a") as file:
        file.write("\n" + verdict("case 0", 1.0, judge="two").model_dump_json())
    result = files(*WANTED)
    assert result.exit_code == 2
    assert "these are verdicts of one, two: pass those of one judge (--judge)" in result.output
    assert files(*WANTED, "--judge", "one").exit_code == 0
