"""What the commands that measure have in common."""

from __future__ import annotations

import sys

import pytest
from command_line import Invoke
from make_verdicts import PROMPT, verdict
from verdict_files import some_labels, some_verdicts, write_rows, write_verdicts


def test_tables_fit_the_usual_terminal(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts(80))
    write_verdicts("w.jsonl", [verdict(str(place), (place * 37 % 100) / 100) for place in range(80)])
    write_rows("l.jsonl", some_labels(80))
    for arguments in (("agree", "v.jsonl"), ("calibrate", "w.jsonl"), ("compare", "v.jsonl", "w.jsonl")):
        output = command(*arguments, "--labels", "l.jsonl", columns=80).stdout
        tables = [line for line in output.splitlines() if "[" in line and not line.startswith(("On", "In"))]
        assert len(tables) >= 6
        assert max(map(len, tables)) <= 80
        assert all(line.rstrip().endswith(("]", "clear")) for line in tables)
        assert "balanced accuracy" in output


def test_a_threshold_from_another_prompt_model_or_version_gets_a_warning(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    changed = PROMPT.model_copy(update={"sha256": "b" * 64, "version": "1.1.0"})
    write_verdicts("new.jsonl", some_verdicts(prompt=changed, model="another", library="9.9"))
    write_rows("l.jsonl", some_labels())
    assert command("calibrate", "v.jsonl", "--labels", "l.jsonl", "--out", "t.json").exit_code == 0
    for arguments in (("agree", "new.jsonl"), ("compare", "v.jsonl", "new.jsonl"), ("report", "new.jsonl")):
        output = command(*arguments, "--labels", "l.jsonl", "--threshold", "t.json").stdout
        old, new = (
            "one@1.0.0|sha:aaaaaaaaaaaa|model:m|",
            "one@1.1.0|sha:bbbbbbbbbbbb|model:another|groundjudge:9.9",
        )
        assert f"was fitted on verdicts of {old}" in output
        assert f"these are of {new}" in output


def test_a_missing_extra_is_named(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("groundjudge.analysis.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("l.jsonl", some_labels())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 2
    assert 'pip install "groundjudge[analysis]"' in result.stderr
    result = command("report", "v.jsonl", "--cases", "l.jsonl")
    assert result.exit_code == 0
    assert "labels are shown without figures" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "agree v.jsonl --labels other.jsonl",
            "cases are matched by id, and the first ids are '0' and 'elsewhere'",
        ),
        ("agree v.jsonl --labels l.jsonl --label nope", "no row has a 'nope'"),
        ("agree l.jsonl --labels l.jsonl", "l.jsonl holds no verdicts"),
        ("agree v.jsonl --labels l.jsonl --threshold 1.5", "--threshold must be a score, 0..1, not 1.5"),
        ("agree v.jsonl --labels l.jsonl --threshold l.jsonl", "not a file of thresholds"),
        ("agree none.jsonl --labels l.jsonl", "none.jsonl: No such file"),
        (
            "calibrate v.jsonl --labels l.jsonl --judge two",
            "v.jsonl has no verdict by the judge 'two': --judge can be one",
        ),
        ("calibrate v.jsonl --labels few.jsonl", "2 independent positive rows or more, not 1"),
        (
            "compare v.jsonl two.jsonl --judge one",
            "two.jsonl has no verdict by the judge 'one': --judge can be two",
        ),
        (
            "compare v.jsonl both.jsonl --judge three",
            "v.jsonl has no verdict by the judge 'three': --judge can be one",
        ),
        ("compare both.jsonl three.jsonl", "no judge in common: give --judge twice, once for each file"),
        ("compare v.jsonl elsewhere.jsonl", "no case has a score in both v.jsonl and elsewhere.jsonl"),
        ("compare v.jsonl v.jsonl --judge one --judge one --judge one", "--judge can be given at most twice"),
        ("report v.jsonl --labels other.jsonl --label x", "no row has a 'x'"),
        ("report v.jsonl -o nowhere/r.html", "--out nowhere/r.html: the folder nowhere does not exist"),
    ],
)
def test_what_cannot_be_done_is_reported_in_one_line(command: Invoke, arguments: str, message: str) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    write_verdicts("two.jsonl", some_verdicts(judge="two"))
    write_verdicts("both.jsonl", [*some_verdicts(), *some_verdicts(judge="two")])
    write_verdicts("three.jsonl", [*some_verdicts(judge="three"), *some_verdicts(judge="four")])
    write_verdicts("elsewhere.jsonl", [verdict("x", 1.0)])
    write_rows("l.jsonl", some_labels())
    write_rows("few.jsonl", some_labels(3))
    write_rows("other.jsonl", [{"id": "elsewhere", "label": 1}])
    result = command(*arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("groundjudge: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
