"""The command `compare`, as a user meets it."""

from __future__ import annotations

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
