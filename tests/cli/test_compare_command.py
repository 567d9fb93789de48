"""The command `compare`, as a user meets it."""

from __future__ import annotations

import pytest
from command_line import Invoke, words
from make_verdicts import PROMPT, verdict
from verdict_files import some_labels, some_verdicts, write_rows, write_verdicts


def test_compare_tells_what_is_clear_and_where_both_come_from(command: Invoke) -> None:
    write_verdicts("a.jsonl", some_verdicts())
    better = PROMPT.model_copy(update={"sha256": "c" * 64})
    write_verdicts("b.jsonl", [verdict(str(place), float(place % 2), prompt=better) for place in range(41)])
    write_rows("l.jsonl", some_labels())
    result = command("compare", "a.jsonl", "b.jsonl", "--labels", "l.jsonl")
    lines = words(result.stdout)
    assert result.exit_code == 0
    assert next(line for line in lines if line[0] == "accuracy")[1:4] == ["0.800", "1.000", "+0.200"]
    assert next(line for line in lines if line[0] == "accuracy")[-1] == "clear"
    assert next(line for line in lines if line[:2] == ["pass", "rate"])[-1] != "clear"
    assert "sha:aaaaaaaaaaaa" in result.stdout
    assert "sha:cccccccccccc" in result.stdout
    assert "40 cases scored by both, 40 of them labelled, 1 scored only by the second" in result.stdout


def test_compare_groups_rows(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("l.jsonl", some_labels())
    result = command("compare", "v.jsonl", "v.jsonl", "--labels", "l.jsonl", "--group", "claim")
    assert "40 cases in 10 groups scored by both" in result.stdout


def test_compare_takes_two_judges_of_one_file(command: Invoke) -> None:
    write_verdicts("v.jsonl", [*some_verdicts(), *some_verdicts(judge="two")])
    result = command("compare", "v.jsonl", "v.jsonl", "--judge", "one", "--judge", "two")
    assert "one (first) and two (second)" in result.stdout
    assert "passed with both or with neither: 1.000" in result.stdout
    assert "accuracy" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("v.jsonl two.jsonl --judge one", "two.jsonl has no verdict by the judge 'one': --judge can be two"),
        (
            "v.jsonl both.jsonl --judge three",
            "v.jsonl has no verdict by the judge 'three': --judge can be one",
        ),
        ("both.jsonl three.jsonl", "no judge in common: give --judge twice, once for each file"),
        ("v.jsonl elsewhere.jsonl", "no case has a score in both v.jsonl and elsewhere.jsonl"),
        ("v.jsonl v.jsonl --judge one --judge one --judge one", "--judge can be given at most twice"),
    ],
)
def test_what_cannot_be_done_is_reported_in_one_line(command: Invoke, arguments: str, message: str) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    write_verdicts("two.jsonl", some_verdicts(judge="two"))
    write_verdicts("both.jsonl", [*some_verdicts(), *some_verdicts(judge="two")])
    write_verdicts("three.jsonl", [*some_verdicts(judge="three"), *some_verdicts(judge="four")])
    write_verdicts("elsewhere.jsonl", [verdict("x", 1.0)])
    result = command("compare", *arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("groundjudge: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
