"""The command `agree` where people answer in words, and where judges vote."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Invoke, words
from make_verdicts import labelled, panel_verdict, vote
from verdict_files import biased_panel, some_labelled, some_labels, some_words, write_rows, write_verdicts

PROMPT_FILE = """---
name: one
version: 1.0.0
inputs:
  - {name: response, type: text, required: true}
reply: {format: plain}
scale: {choices: {supported: 1, partly supported: 0.5, not supported: 0, contradicted: 0, cannot tell: null}}
---
system:
Say one of the labels.

user:
{{response}}
"""


def test_agree_prints_the_matrix_weighted_kappa_and_the_majority(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_labelled())
    write_rows("l.jsonl", some_words())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "1")
    assert result.exit_code == 0
    lines = words(result.stdout)
    start = lines.index(["one,", "label", "by", "label", "(rows:", "people,", "columns:", "the", "judge)"])
    assert lines[start + 1] == "not supported partly supported supported cannot tell".split()
    assert [line[-4:] for line in lines[start + 2 : start + 6]] == [
        ["8", "0", "0", "0"],
        ["2", "10", "0", "0"],
        ["0", "0", "8", "0"],
        ["0", "0", "2", "10"],
    ]
    assert lines[start + 5][:4] == ["cannot", "tell", "(not", "applicable)"]
    assert "same label: 0.900 [" in result.stdout
    assert "of 40 rows; always 'partly supported': 0.300" in result.stdout
    assert "weighted kappa: 0.9" in result.stdout
    assert "on 28 rows whose labels both have a score" in result.stdout
    assert "a disagreement weighs the squared difference of the two scores" in result.stdout
    assert ["not", "applicable", "10"] in lines
    assert ["label:", "not", "applicable", "2"] in lines
    assert "0: score 0, not passed; label partly supported" in result.stdout


def test_agree_on_booleans_prints_no_matrix_for_a_judge_with_labels(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_labelled())
    write_rows("l.jsonl", some_labels())
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "0")
    assert "label by label" not in result.stdout
    assert ["n", "30"] in words(result.stdout)


def test_a_label_that_no_verdict_has_needs_the_prompt_file(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_labelled())
    write_rows("l.jsonl", [*some_words(39), {"id": 39, "label": "Contradicted"}])
    Path("one.prompty").write_text(PROMPT_FILE)
    refused = command("agree", "v.jsonl", "--labels", "l.jsonl")
    assert refused.exit_code == 2
    assert refused.stderr == (
        "groundjudge: 39: 'Contradicted' is not among the known labels of one: 'not supported', "
        "'partly supported', 'supported', 'cannot tell'; if it has more, name its prompt file with "
        "--judge-file\n"
    )
    for arguments in ("agree v.jsonl", "calibrate v.jsonl", "compare v.jsonl v.jsonl", "report v.jsonl"):
        result = command(*arguments.split(), "--labels", "l.jsonl", "--judge-file", "one.prompty")
        assert result.exit_code == 0, result.stderr
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--judge-file", "one.prompty")
    assert "contradicted (0)" in result.stdout
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--judge-file", "groundedness")
    assert "--judge-file groundedness: its judge answers with numbers on 1..5" in result.stderr


def test_agree_shows_a_panel_that_is_worse_than_its_best_member(command: Invoke) -> None:
    write_verdicts("v.jsonl", biased_panel(80))
    write_rows("l.jsonl", some_labels(80))
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "0", columns=80)
    lines = words(result.stdout)
    assert ["one,", "votes"] in lines
    assert [line[:3] for line in lines if line[:1] in (["panel"], ["ant"], ["cat"])] == [
        ["panel", "80", "0.900"],
        ["ant", "80", "0.900"],
        ["cat", "80", "1.000"],
    ]
    assert ["unanimous", "votes", "72", "1.000", "[1.000,", "1.000]"] in lines
    assert ["split", "votes", "8", "0.000", "[0.000,", "0.000]"] in lines
    assert (
        "The panel is worse than its best member, cat: on the same 80 rows its accuracy is 0.100 lower "
        "(exact McNemar test: p = 0.0078)." in " ".join(result.stdout.split())
    )
    assert max(map(len, result.stdout[result.stdout.index("one, votes") :].splitlines()[:8])) <= 80


@pytest.mark.parametrize(
    ("names", "against"), [("ant bee cat", "its best member, cat"), ("ant ant ant", "a single vote")]
)
def test_agree_says_that_no_difference_was_found(command: Invoke, names: str, against: str) -> None:
    members = names.split()
    rows = [(1.0, 1.0, 1.0), (0.0, 0.0, 0.0)] * 10 + [(1.0, 1.0, 0.0)] * 2
    verdicts = [panel_verdict(str(place), *map(vote, members, row)) for place, row in enumerate(rows)]
    write_verdicts("v.jsonl", verdicts)
    write_rows("l.jsonl", [{"id": place, "label": int(place < 20 and place % 2 == 0)} for place in range(22)])
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "0")
    assert (
        f"No difference in accuracy was found on 22 rows between the panel and {against}.\n" in result.stdout
    )


def test_votes_that_were_not_needed_make_no_note_and_mark_the_member(command: Invoke) -> None:
    verdicts = [
        panel_verdict(
            str(place), vote("a", 1.0), vote("b", float(place > 2)), *[vote("c", 1.0)] * (place < 3)
        )
        for place in range(9)
    ]
    models = ["a+b+c" if len(one.votes) > 2 else "a+b" for one in verdicts]
    write_verdicts(
        "v.jsonl",
        [one.model_copy(update={"model": name}) for one, name in zip(verdicts, models, strict=True)],
    )
    write_rows("l.jsonl", some_labels(9))
    result = command("agree", "v.jsonl", "--labels", "l.jsonl", "--worst", "0")
    assert "signatures" not in result.stdout
    assert ["c", "*", "3"] in [line[:3] for line in words(result.stdout)]
    assert "* asked only where earlier votes left the verdict open" in result.stdout
    assert "its best member of those always asked, " in result.stdout


def test_calibrate_says_that_two_labels_leave_no_choice(command: Invoke) -> None:
    said = [("yes", 1.0), ("no", 0.0)]
    write_verdicts("v.jsonl", [labelled(str(place), *said[place % 3 == 0]) for place in range(40)])
    write_rows("l.jsonl", [{"id": place, "label": ("No", "Yes")[place % 2]} for place in range(40)])
    result = command("calibrate", "v.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 0
    note = "one: its scores take only two values, so all thresholds between them give the same verdicts"
    assert result.stdout.count(note) == 1
    write_verdicts("three.jsonl", some_labelled())
    write_rows("words.jsonl", some_words())
    assert "two values" not in command("calibrate", "three.jsonl", "--labels", "words.jsonl").stdout


@pytest.mark.parametrize("arguments", ["calibrate v.jsonl", "compare v.jsonl v.jsonl", "report v.jsonl"])
def test_panels_and_labels_are_measured_like_any_other_judge(command: Invoke, arguments: str) -> None:
    write_verdicts("v.jsonl", [*biased_panel(), *some_labelled()])
    write_rows("l.jsonl", some_labels())
    result = command(*arguments.split(), "--labels", "l.jsonl")
    assert result.exit_code == 0, result.stderr
    write_verdicts("v.jsonl", some_labelled())
    write_rows("l.jsonl", some_words())
    assert command(*arguments.split(), "--labels", "l.jsonl").exit_code == 0
