"""The command `agree`, as a user meets it."""

from __future__ import annotations

from pathlib import Path

from command_line import Invoke, words
from make_verdicts import PROMPT, error
from verdict_files import some_labels, some_verdicts, write_rows, write_verdicts


def test_agree_prints_the_figures_of_every_judge(command: Invoke) -> None:
    write_verdicts("v.jsonl", [*some_verdicts(), error("40", "timeout"), *some_verdicts(judge="two")[:20]])
    write_rows("l.jsonl", some_labels())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "1")
    assert result.exit_code == 0
    lines = words(result.stdout)
    assert ["one", "two"] in lines
    assert ["n", "40", "20"] in lines
    assert ["error", "1", "0"] in lines
    assert ["labelled,", "not", "judged", "0", "20"] in lines
    accuracy = next(line for line in lines if line[0] == "accuracy")
    assert accuracy[1] == "0.800"
    assert 0.6 < float(accuracy[2].strip("[,")) < 0.8 < float(accuracy[3].strip("]")) < 0.95
    assert ["grounded:", "passed,", "not", "16,", "4", "8,", "2"] in lines
    assert ["note:", "one:", "kappa"] not in [line[:3] for line in lines]
    assert "because" in result.stdout


def test_agree_takes_labels_from_the_cases_and_says_what_is_undefined(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts(6))
    write_rows(
        "cases.jsonl", [{"id": place, "response": "r", "metadata": {"ok": "yes"}} for place in range(6)]
    )
    result = command("agree", "v.jsonl", "--labels", "cases.jsonl", "--label", "ok")
    assert "Cohen's kappa, ROC AUC undefined: every label is positive" in result.stdout
    assert ["Cohen's", "kappa", "undefined"] in words(result.stdout)


def test_agree_groups_rows(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("l.jsonl", some_labels())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--group", "claim")
    assert ["groups", "10"] in words(result.stdout)
    assert "In brackets: 95 % intervals, by bootstrap over groups with the same claim.\n" in result.stdout


def test_agree_can_be_limited_to_some_judges(command: Invoke) -> None:
    write_verdicts("v.jsonl", [one for judge in "abc" for one in some_verdicts(judge=judge)])
    write_rows("l.jsonl", some_labels())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--judge", "c", "--judge", "a")
    assert words(result.stdout)[0] == ["a", "c"]


def test_agree_prints_lines_where_the_table_is_too_wide(command: Invoke) -> None:
    write_verdicts("v.jsonl", [one for judge in "abcd" for one in some_verdicts(judge=judge)])
    write_rows("l.jsonl", some_labels())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "0", columns=80)
    assert "n: a 40, b 40, c 40, d 40\n" in result.stdout
    assert "…" not in result.stdout


def test_an_unreadable_line_is_reported_and_the_others_are_measured(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    with Path("v.jsonl").open("a") as file:
        file.write('{"judge": "on')
    write_rows("l.jsonl", some_labels())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 1
    assert "v.jsonl: 1 unreadable lines, the first is line 41" in result.stdout
    assert ["n", "40"] in words(result.stdout)


def test_verdicts_of_several_prompts_are_noted(command: Invoke) -> None:
    changed = PROMPT.model_copy(update={"sha256": "b" * 64})
    write_verdicts("v.jsonl", [*some_verdicts()[:20], *some_verdicts(prompt=changed)[20:]])
    write_rows("l.jsonl", some_labels())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl")
    assert "one: these figures mix verdicts with 2 signatures: one@1.0.0|" in result.stdout
