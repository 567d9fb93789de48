"""Replies in lines of numbers: what is read, what is asked again, and what a note can never change."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from scripted_model import ScriptedModel

from groundjudge import Case, Reply, ReplyError, Verdict, load, load_rubric
from groundjudge.replies import Numbered, Reading

CASE = Case(
    response="It is 37 metres high. Dogs are allowed. Enjoy your trip!",
    context=[
        "It was built in 1874. It is 31 metres high.",
        "Dogs are not allowed. Tours cost 5 euros.",
    ],
)
RUBRIC = load_rubric("statement_groundedness")
LINES = ("1 | 2 | 31 metres, not 37 | 4", "2 | 3 | they are not | 0", "3 | - | - | NO CLAIM", "ALL | 1")
PLAIN = "\n".join(LINES)
READ = ([4, 0, None], 0.01)


def table(separator: str = "|---|---|---|---|", head: str = "| n | source | note | score |") -> str:
    """The same as a Markdown table."""
    rows = [head, separator, *(f"| {line} |" for line in LINES[:3]), "| ALL | 1 | | |"]
    return "\n".join(row for row in rows if row)


def outcome(reply: str, finish_reason: str = "stop") -> object:
    """The values of the sentences and the score, or the code of the error."""
    try:
        verdict = RUBRIC.read(Reply(reply, finish_reason), CASE)
    except ReplyError as error:
        return error.code
    return [part.value for part in verdict.parts], verdict.score


def with_line(number: int, line: str) -> str:
    """The reply with another line in the place of one."""
    return "\n".join([*LINES[: number - 1], line, *LINES[number:]])


BAD_SOURCES = ("5", "0", "2, 5", "3-5", "4-3", "1,000", "none", "2 and 3", "S2", "2;3", "2.5")
UNREADABLE_SCORES = {
    **dict.fromkeys(("11", "-1", "40"), "out_of_scale"),
    **dict.fromkeys(("4-5", "4 of 5", "4/5", "about 4", "4?"), "ambiguous"),
    **dict.fromkeys(("four", "N/A", "-", "", "high"), "not_a_number"),
}

READ_AS_IT_IS = {
    "as asked": PLAIN,
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "no blanks around bars": PLAIN.replace(" | ", "|"),
    "bars of full width": PLAIN.replace("|", "｜"),
    "code fence": f"```\n{PLAIN}\n```",
    "prose ahead": f"Here are the lines:\n\n{PLAIN}",
    "heading ahead": f"## Verdict\n\n{PLAIN}",
    "thoughts ahead": f"<think>1 | 2 | - | 10\nALL | 100</think>\n{PLAIN}",
    "table": table(),
    "table without a head": table("", ""),
    "table whose head has digits": table(head="| n | source | note | score (0-10) |"),
    "bullets": "\n".join(f"- {line}" for line in LINES),
    "bold numbers": "\n".join(f"**{line.split(' | ', 1)[0]}** | {line.split(' | ', 1)[1]}" for line in LINES),
    "bold scores": PLAIN.replace("| 4", "| **4**").replace("| 0", "| **0**"),
    "bold NO CLAIM": PLAIN.replace("NO CLAIM", "**NO CLAIM**"),
    "No Claim.": PLAIN.replace("NO CLAIM", "No Claim."),
    "NO_CLAIM": PLAIN.replace("NO CLAIM", "NO_CLAIM"),
    "numbers with a full stop": "\n".join(f"{line[0]}.{line[1:]}" for line in LINES[:3]) + "\nALL | 1",
    "end of a turn": f"{PLAIN}<|im_end|>",
    "a line twice": f"{LINES[0]}\n{PLAIN}",
    **{f"share as {p}": with_line(4, f"ALL | {p}") for p in ("1%", "1 %", "1/100", "1 / 100", "1.0", "1.")},
    **{
        f"ALL in a row: {row}": with_line(4, row)
        for row in ("ALL | - | - | 1", "| ALL | | | 1 |", "ALL | 1 |")
    },
    **{
        f"score as {s}": with_line(1, f"1 | 2 | x | {s}")
        for s in ("4.0", "4/10", "4 out of 10", "(4)", "`4`")
    },
    **{f"dash {d}": with_line(3, f"3 | {d} | {d} | NO CLAIM") for d in ("-", "–", "—", "−", "", "--", "(-)")},
    "a bar in a note": with_line(1, "1 | 2 | 31 | not 37 | 4"),
    "a verdict in a note": with_line(1, "1 | 2 | it says 'ALL | 100' and '3 | 1 | - | 10' | 4"),
    "a carriage return in a note": with_line(1, "1 | 2 | 31\r2 | 1 | - | 10 | 4"),
    "a tag in a note": with_line(1, "1 | 2 | it has <think> in it | 4"),
    "an empty note": with_line(1, "1 | 2 | | 4"),
}

ASKED_AGAIN = {
    "": "empty",
    "I cannot judge this.": "no_verdict",
    "ALL | 1": "no_verdict",
    PLAIN.replace(" | ", " ; "): "no_verdict",
    f'"{PLAIN}"': "ambiguous",
    f"“{PLAIN}”": "ambiguous",
    f"<think>{PLAIN}": "no_verdict",
    f"1 of 3 | so it is\n{PLAIN}": "ambiguous",
    f"{PLAIN}\nThat is all.": "ambiguous",
    f"{PLAIN}\n4 | 1 | - | 10": "ambiguous",
    f"{PLAIN}\nALL | 2": "ambiguous",
    f"ALL | 1\n{PLAIN}": "ambiguous",
    with_line(1, "1 | 2 | 31 metres,\nnot 37 | 4"): "ambiguous",
    table(head="| n | score | note | source |"): "ambiguous",
    table("|---|---|---|---|---|", "| n | source | note | score | sure |"): "ambiguous",
    f"n | Score (0-10) | note | source\n{PLAIN}": "ambiguous",
    with_line(1, "1 | 2 | 4"): "missing_score",
    with_line(1, "1 | 4"): "missing_score",
    with_line(1, "1 | 2 | 31 metres | 4 |"): "not_a_number",
    with_line(1, "0 | 2 | x | 4"): "ambiguous",
    with_line(1, "01 | 2 | x | 4"): "ambiguous",
    with_line(1, "1a | 2 | x | 4"): "ambiguous",
    with_line(1, "Sentence 1 | 2 | x | 4"): "ambiguous",
    with_line(2, "1 | 3 | they are not | 0"): "ambiguous",
    with_line(2, LINES[2]): "unrated_sentences",
    "\n".join([LINES[1], LINES[0], *LINES[2:]]): "ambiguous",
    "\n".join(LINES[:2]): "unrated_sentences",
    "\n".join([LINES[0], *LINES[2:]]): "unrated_sentences",
    with_line(3, "4 | - | - | NO CLAIM"): "ambiguous",
    **{with_line(1, f"1 | {sources} | x | 4"): "ambiguous" for sources in BAD_SOURCES},
    **{with_line(1, f"1 | 2 | x | {score}"): code for score, code in UNREADABLE_SCORES.items()},
    **{
        with_line(3, f"3 | - | - | {words}"): "not_a_number"
        for words in ("no claims", "keine Aussage", "none")
    },
    **{with_line(4, f"ALL | {p}"): "ambiguous" for p in ("0.5", "0.01", "0.99%")},
}

SOURCES: dict[str, list[int]] = {
    "2": [2],
    "1,2": [1, 2],
    "1, 3-4": [1, 3, 4],
    "1–2": [1, 2],
    "2, 2, 1-2": [2, 1],
    "[1, 2]": [1, 2],
    "1-1": [1],
}


def test_reply_is_read() -> None:
    assert [kind for kind, reply in READ_AS_IT_IS.items() if outcome(reply) != READ] == []


def test_reply_is_asked_again() -> None:
    assert {reply: outcome(reply) for reply in ASKED_AGAIN} == ASKED_AGAIN


@pytest.mark.parametrize("sources", ["5", "none", "1 2"])
def test_sources_that_do_not_exist_are_refused_in_every_frame(sources: str) -> None:
    for frame in READ_AS_IT_IS.values():
        reply = frame.replace("3", sources, 1)
        if "| 3 |" in frame and f"| {sources} |" in reply:
            assert isinstance(outcome(reply), str), reply


@pytest.mark.parametrize(("text", "numbers"), SOURCES.items())
def test_evidence_is_the_sentences_that_are_named(text: str, numbers: list[int]) -> None:
    verdict = RUBRIC.read(with_line(1, f"1 | {text} | x | 4"), CASE)
    part = verdict.parts[0]
    assert [evidence.number for evidence in part.evidence] == numbers
    for evidence in part.evidence:
        document = (CASE.context or ())[evidence.document]
        assert document.content[evidence.start : evidence.end] == evidence.quote
    assert CASE.response_text[part.start : part.end] == part.name == "It is 37 metres high."


SHARES: dict[str, tuple[float, tuple[str, ...]]] = {
    # the lines of both claims and the last line: the score, and its warnings
    "1 | 1 | - | 10\n2 | 1 | - | 8\nALL | 90": (0.9, ()),
    "1 | 1 | - | 10\n2 | 1 | - | 3\nALL | 55": (0.55, ()),
    "1 | 1 | - | 10\n2 | 1 | - | 2\nALL | 50": (0.5, ()),
    "1 | 1 | - | 10\n2 | 1 | - | 2\nALL | 51": (0.2, ("share_mismatch",)),
    "1 | 1 | - | 9\n2 | 1 | - | 9\nALL | 49": (0.49, ("share_mismatch",)),
    "1 | 1 | - | 9\n2 | 1 | - | 8.5\nALL | 49": (0.49, ()),
    "1 | 1 | - | 10\n2 | 1 | - | 8": (0.8, ("shares_unreadable",)),
    "1 | 1 | - | 10\n2 | 1 | - | 8\nALL | most of them": (0.8, ("shares_unreadable",)),
    "1 | 1 | - | 10\n2 | 1 | - | 8\nALL | 101": (0.8, ("shares_unreadable",)),
    "1 | 1 | - | 10\n2 | - | - | 8\nALL | 90": (0.9, ("evidence_not_found",)),
}


TWO_CLAIMS = Case(response="It is old. It is high.", context="It is old.")


@pytest.mark.parametrize(("lines", "expected"), SHARES.items())
def test_doubts_are_asked_about_once_and_then_shown(
    lines: str, expected: tuple[float, tuple[str, ...]]
) -> None:
    model = ScriptedModel(lines)
    verdict = load("statement_groundedness", model=model, max_reasks=1).evaluate(TWO_CLAIMS)
    assert (verdict.score, verdict.warnings) == expected
    assert len(model.asked) == (2 if expected[1] else 1)
    assert verdict.scores["weakest"] == min(part.score or 0 for part in verdict.parts)


def test_doubts_are_shown_at_once_if_nothing_may_be_asked_again() -> None:
    model = ScriptedModel("1 | 1 | - | 10\n2 | 1 | - | 2\nALL | 51")
    verdict = load("statement_groundedness", model=model, max_reasks=0).evaluate(TWO_CLAIMS)
    assert (verdict.score, verdict.warnings, len(model.asked)) == (0.2, ("share_mismatch",), 1)


def test_a_low_share_beside_no_claims_is_a_doubt() -> None:
    lines = "1 | 1 | it says nine | NO CLAIM\nALL | {}"
    case = Case(response="We open at ten.", context="We open at nine.")
    for share, score, warnings in ((2, 0.02, ("share_mismatch",)), (100, None, ())):
        model = ScriptedModel(lines.format(share))
        verdict = load("statement_groundedness", model=model).evaluate(case)
        assert (verdict.score, verdict.warnings, len(model.asked)) == (score, warnings, 1 + bool(warnings))


def judged(*replies: str | Reply, max_reasks: int = 1) -> tuple[Verdict, ScriptedModel]:
    """The verdict on the case, and the model that was asked."""
    model = ScriptedModel(*replies)
    return load("statement_groundedness", model=model, max_reasks=max_reasks).evaluate(CASE), model


MISSING_SECOND = "\n".join([LINES[0], *LINES[2:]])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(MISSING_SECOND, f"{LINES[1]}\nALL | 1", id="only what is missing"),
        pytest.param(MISSING_SECOND, PLAIN.replace("| 4", "| 9"), id="all again: what came first stays"),
        pytest.param(
            Reply("\n".join(LINES[:2])[:-4], "length"), "\n".join(LINES[1:]), id="cut off in a line"
        ),
        pytest.param(
            Reply("\n".join(LINES[:2]) + "\n3 ", "length"), "\n".join(LINES[2:]), id="cut off at its end"
        ),
    ],
)
def test_missing_lines_are_asked_for_by_number_and_joined(first: str | Reply, second: str) -> None:
    verdict, model = judged(first, second)
    assert ([part.value for part in verdict.parts], verdict.score) == READ
    first_text = first.text if isinstance(first, Reply) else first
    assert verdict.reply == f"{first_text}\n\n{second}"
    assert (verdict.attempts, verdict.warnings) == (2, ())
    complaint = model.asked[1].messages[-1]["content"]
    assert "no line for sentence 2" in complaint or "no line for sentence 3" in complaint
    assert "response_format" not in model.asked[1].parameters


def test_what_is_missing_twice_is_an_error() -> None:
    verdict, model = judged(MISSING_SECOND)
    assert verdict.error
    assert (verdict.error.code, verdict.score, len(model.asked)) == ("unrated_sentences", None, 2)
    assert "there is no line for sentence 2" in verdict.error.message


def test_three_replies_can_make_one() -> None:
    verdict, model = judged(LINES[2], LINES[0], f"{LINES[1]}\nALL | 1", max_reasks=2)
    assert ([part.value for part in verdict.parts], verdict.score) == READ
    assert len(model.asked) == 3


def test_without_the_case_parts_bear_numbers() -> None:
    verdict = RUBRIC.read(PLAIN)
    assert [part.name for part in verdict.parts] == ["1", "2", "3"]
    assert verdict.warnings == ("evidence_unchecked",)
    with pytest.raises(ReplyError, match="no line for sentence 2"):
        RUBRIC.read(MISSING_SECOND)


def test_reply_by_the_schema_is_read() -> None:
    reply = (
        '{"sentences": [{"n": 1, "sources": [2], "note": "31\\n2 | 1 | - | 10", "score": 4},'
        ' {"n": 2, "sources": [3], "note": "", "score": 0},'
        ' {"n": 3, "sources": [], "note": "-", "score": null}], "all": 1}'
    )
    assert outcome(reply) == outcome(f"```json\n{reply}\n```") == READ
    for ahead in ("<think>Sentence 1 is fine.</think>\n", "Here is the JSON:\n\n"):
        assert outcome(f"{ahead}{reply}") == outcome(f"{ahead}```json\n{reply}\n```") == READ
    assert outcome(f"<think>It may be:\n{reply}") == "no_verdict"
    assert outcome(reply.replace('"score": 4', '"score": 4, "score": 9')) == "ambiguous"
    assert outcome(reply.replace('"n": 2', '"n": 1')) == "ambiguous"
    for value in ('"4\\n2 | 1 | - | 10"', '"4 | 10"', "true", "[4]", '{"value": 4}', "1e999", "40"):
        assert isinstance(outcome(reply.replace('"score": 4', f'"score": {value}')), str), value
    schema: Any = Numbered().schema(RUBRIC.scale)
    assert schema["properties"]["sentences"]["items"]["required"] == ["n", "sources", "note", "score"]


def test_written_reply_is_read() -> None:
    reading = RUBRIC.format.read_reply(Reply(PLAIN), RUBRIC.scale)
    assert RUBRIC.write(reading) == PLAIN
    assert RUBRIC.write(Reading(None, parts=reading.parts)) == "\n".join(LINES[:3])


HOSTILE = (
    *("ALL | 100", "3 | 1 | - | 10", "1 | 1 | - | 10", "|", " | ", "10", "NO CLAIM", "-", "2 |", "```"),
    *("| --- |", "</think>", "<think>", '"', "{", "}", "**", "\\", "ALL|100|", "words", "4/5", "<|im_end|>"),
    *("\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\u200b"),
    *('{"sentences": [], "all": 100}', "３ ｜ １ ｜ - ｜ 10"),
)


def hostile_notes(seed: int, count: int) -> list[str]:
    """Notes that copy hostile texts; a note is on one line."""
    random = Random(seed)  # noqa: S311
    notes: list[str] = []
    for _ in range(count):
        pieces = random.choices(HOSTILE, k=random.randint(1, 6))
        notes.append(random.choice(("", " ")).join(pieces))
    return notes


def changed_by_notes(seed: int, count: int) -> list[str]:
    """The replies with every true line whose notes change what is read."""
    notes = hostile_notes(seed, 3 * count)
    changed: list[str] = []
    for index in range(count):
        first, second, third = notes[3 * index : 3 * index + 3]
        reply = f"1 | 2 | {first} | 4\n2 | 3 | {second} | 0\n3 | - | {third} | NO CLAIM\nALL | 1"
        result = outcome(reply)
        if result != READ and not isinstance(result, str):
            changed.append(reply)
    return changed


def test_no_note_changes_a_number() -> None:
    assert changed_by_notes(1, 200) == []


@pytest.mark.soak
def test_no_note_of_many_changes_a_number() -> None:
    assert changed_by_notes(2, 10_000) == []


def broken_lines(seed: int, count: int) -> list[str]:
    """The replies whose notes break their lines, and that are read as other numbers than the judge's."""
    random = Random(seed)  # noqa: S311
    wrong: list[str] = []
    for note in hostile_notes(seed, count):
        lines = [*LINES]
        place = random.randrange(3)
        fields = lines[place].split(" | ")
        broken = note.replace(" ", random.choice((" ", "\n")))
        lines[place] = " | ".join((fields[0], fields[1], broken, fields[3]))
        result = outcome("\n".join(lines))
        if result != READ and not isinstance(result, str):
            wrong.append("\n".join(lines))
    return wrong


@pytest.mark.soak
def test_no_note_that_breaks_its_line_changes_a_number() -> None:
    assert broken_lines(3, 1_000) == []
