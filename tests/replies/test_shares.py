"""Stated shares: which lists of them are read, and what a verdict makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from scripted_model import ScriptedModel

from groundjudge import Choices, Reply, Scale, Verdict, load, load_rubric
from groundjudge.errors import PromptError, ReplyError
from groundjudge.replies import Banded, Json, Line, Tags
from groundjudge.replies.shares import read_shares, write_shares

FIVE = Scale(worst=1, best=5, integer=True)
LEVELS: dict[float, str] = {
    1: "ungrounded",
    2: "incorrect",
    3: "nothing_to_ground",
    4: "incomplete",
    5: "grounded",
}
GRADES = Choices({"good": 1, "fair": 0.8, "poor": 0.5, "no answer": None})
HUNDRED = Scale(worst=0, best=100)
BANDS: dict[float, str] = {20: "severe", 40: "great", 60: "moderate", 80: "mild", 100: "none"}
DIVIDED = {"1": 0.02, "2": 0.55, "4": 0.18, "5": 0.25}

READ = {
    "numbers in order": "1: 0.02, 2: 0.55, 3: 0.00, 4: 0.18, 5: 0.25",
    "another order": "5: 0.25, 2: 0.55, 1: 0.02, 3: 0, 4: 0.18",
    "equals signs": "1=0.02, 2=0.55, 3=0, 4=0.18, 5=0.25",
    "no blanks": "1:0.02,2:0.55,3:0,4:0.18,5:0.25",
    "a line each": "1: 0.02\n2: 0.55\n3: 0\n4: 0.18\n5: 0.25",
    "carriage returns": "1: 0.02\r\n2: 0.55\r\n3: 0\r\n4: 0.18\r\n5: 0.25",
    "semicolons": "1: 0.02; 2: 0.55; 3: 0; 4: 0.18; 5: 0.25",
    "a full stop at the end": "1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25.",
    "percent with the sign": "1: 2%, 2: 55%, 3: 0%, 4: 18%, 5: 25%",
    "percent without the sign": "1: 2, 2: 55, 3: 0, 4: 18, 5: 25",
    "percent without blanks": "1:2,2:55,3:0,4:18,5:25",
    "percent without blanks and with labels": "1(ungrounded):2,2(incorrect):55,3(nothing_to_ground):0,"
    "4(incomplete):18,5(grounded):25",
    "no zero before the point": "1: .02, 2: .55, 3: 0, 4: .18, 5: .25",
    "decimal commas and semicolons": "1: 0,02; 2: 0,55; 3: 0; 4: 0,18; 5: 0,25",
    "decimal commas and commas": "1: 0,02, 2: 0,55, 3: 0, 4: 0,18, 5: 0,25",
    "labels": "ungrounded: 0.02, incorrect: 0.55, nothing_to_ground: 0, incomplete: 0.18, grounded: 0.25",
    "labels in quotation marks": '"ungrounded": .02, "incorrect": .55, "nothing_to_ground": 0, '
    '"incomplete": .18, "grounded": .25',
    "numbers with their labels": "1 (ungrounded): 0.02, 2 (incorrect): 0.55, 3 (nothing_to_ground): 0, "
    "4 (incomplete): 0.18, 5 (grounded): 0.25",
    "in brackets": "(1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25)",
    "as an object": '{"1": 0.02, "2": 0.55, "3": 0, "4": 0.18, "5": 0.25}',
    "in backticks": "`1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25`",
    "bold numbers": "**1**: 0.02, **2**: 0.55, **3**: 0, **4**: 0.18, **5**: 0.25",
    "full-width signs": "１：０.02， ２：0.55， ３：0， ４：0.18， ５：0.25",
    "a little too much": "1: 0.0208, 2: 0.572, 3: 0, 4: 0.1872, 5: 0.26",
    "a little too few": "1: 0.0194, 2: 0.5335, 3: 0, 4: 0.1746, 5: 0.2425",
    "many decimal places": "1: 0.0200000, 2: 0.5500000, 3: 0.0000000, 4: 0.1800000, 5: 0.2500000",
}
"""Texts that state `DIVIDED`."""

UNREADABLE = {
    "nothing": "",
    "prose": "mostly level 2",
    "a missing level": "1: 0.02, 2: 0.55, 4: 0.18, 5: 0.25",
    "a level twice": "1: 0.02, 2: 0.30, 2: 0.25, 3: 0, 4: 0.18, 5: 0.25",
    "a number and its label": "1: 0.02, 2: 0.55, incorrect: 0, 3: 0, 4: 0.18, 5: 0.25",
    "a level that is not on the scale": "0: 0, 1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "a number with another's label": "1: 0.02, 2 (grounded): 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "a sum that is too large": "1: 0.12, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "all nothing": "1: 0, 2: 0, 3: 0, 4: 0, 5: 0",
    "percent that add up to 90": "1: 2%, 2: 45%, 3: 0%, 4: 18%, 5: 25%",
    "percent and fractions mixed": "1: 2%, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "fractions of a percent": "1: 0.02%, 2: 0.55%, 3: 0%, 4: 0.18%, 5: 0.25%",
    "a negative share": "1: -0.02, 2: 0.57, 3: 0, 4: 0.20, 5: 0.25",
    "a range": "1: 0-0.04, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "about": "1: 0.02, 2: about 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "an empty share": "1: , 2: 0.57, 3: 0, 4: 0.18, 5: 0.25",
    "the prompt's own place": "1: p, 2: p, 3: p, 4: p, 5: p",
    "an exponent": "1: 2e-2, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "a fraction with a slash": "1: 1/50, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "infinity": "1: inf, 2: 0.57, 3: 0, 4: 0.18, 5: 0.25",
    "words before": "The shares are 1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "words behind": "1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25, so 2 it is",
    "a word behind a share": "1: 0.02, 2: 0.55 (likely), 3: 0, 4: 0.18, 5: 0.25",
    "a sum behind": "1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25 = 1.00",
    "two lists": "1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25\n1: 1, 2: 0, 3: 0, 4: 0, 5: 0",
    "shares without their levels": "0.02, 0.55, 0, 0.18, 0.25",
    "a list as JSON": "[0.02, 0.55, 0, 0.18, 0.25]",
    "a nested object": '{"shares": {"1": 0.02, "2": 0.55, "3": 0, "4": 0.18, "5": 0.25}}',
    "an object that does not close": '{"1": 0.02, "2": 0.55, "3": 0, "4": 0.18, "5": 0.25',
    "cut off within a share": "1: 0.02, 2: 0.55, 3: 0, 4: 0.",
    "two signs between entries": "1: 0.02,, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
    "blanks between entries": "1: 0.02 2: 0.55 3: 0 4: 0.18 5: 0.25",
    "a tag": "1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: <b>0.25</b>",
    "thousands": "1: 0.02, 2: 0.55, 3: 0, 4: 0.18, 5: 1,000.25",
    "Arabic digits": "1: ٠٫٠٢, 2: 0.55, 3: 0, 4: 0.18, 5: 0.25",
}
"""Texts that state no shares of a scale from 1 to 5."""


def test_shares_are_read() -> None:
    for way, text in READ.items():
        assert read_shares(text, FIVE, LEVELS) == pytest.approx(DIVIDED), way


def test_anything_else_is_no_shares() -> None:
    assert [kind for kind, text in UNREADABLE.items() if read_shares(text, FIVE, LEVELS) is not None] == []


WORDS = "borne out by the documents that were found for the query of the customer and by nothing else at all"

OTHER_SCALES: dict[str, tuple[Scale, dict[float, str], str, Mapping[str, float]]] = {
    "labels": (
        GRADES,
        {},
        "good: .5, fair: .3, poor: .2, no answer: 0",
        {"good": 0.5, "fair": 0.3, "poor": 0.2},
    ),
    "labels that are sentences": (
        Choices({f"The response is {WORDS}.": 1, f"The response is not {WORDS}.": 0}),
        {},
        f"The response is {WORDS}.: 0.8, The response is not {WORDS}.: 0.2",
        {f"The response is {WORDS}.": 0.8, f"The response is not {WORDS}.": 0.2},
    ),
    "a label without a score": (
        GRADES,
        {},
        "good: 0, fair: 0, poor: .4, No_answer: .6",
        {"poor": 0.4, "no answer": 0.6},
    ),
    "bands": (
        HUNDRED,
        BANDS,
        "severe: 0, great: 0.1, moderate: 0.2, mild: 0.7, none: 0",
        {"great": 0.1, "moderate": 0.2, "mild": 0.7},
    ),
    "numbers with two labels": (
        FIVE,
        {3: "low", 5: "high"},
        "1: 0, 2: 0, 3: 0.5, 4: 0.5, 5: 0",
        {"3": 0.5, "4": 0.5},
    ),
}


@pytest.mark.parametrize(("scale", "levels", "text", "shares"), OTHER_SCALES.values(), ids=OTHER_SCALES)
def test_shares_of_labels_and_of_bands_are_read(
    scale: Scale, levels: dict[float, str], text: str, shares: Mapping[str, float]
) -> None:
    assert read_shares(text, scale, levels) == pytest.approx(shares)


def test_label_of_several_numbers_names_none_of_them() -> None:
    assert read_shares("low: 0.5, high: 0.5, 1: 0, 2: 0, 3: 0", FIVE, {3: "low", 5: "high"}) is None


@pytest.mark.parametrize(("scale", "levels", "_", "shares"), OTHER_SCALES.values(), ids=OTHER_SCALES)
def test_written_shares_are_read(
    scale: Scale, levels: dict[float, str], _: str, shares: Mapping[str, float]
) -> None:
    assert read_shares(write_shares(shares, scale, levels), scale, levels) == pytest.approx(shares)


# --- what a verdict makes of them ----------------------------------------------------------------------


CASE = {"query": "When do you open?", "context": "We open at 9.", "response": "At nine."}
STATED = "<S0>t</S0><S1>Nearly all.</S1><S2>{}</S2><S3>{}</S3>"


def verdict_of(value: object, shares: str, **options: Any) -> Verdict:
    return load_rubric("groundedness", **options).read(STATED.format(value, shares), CASE)


def test_score_is_the_mean_over_the_shares_and_value_and_label_are_the_stated_ones() -> None:
    verdict = verdict_of(4, "1: 0, 2: 0.3, 3: 0, 4: 0.6, 5: 0.1")
    assert (verdict.value, verdict.label, verdict.status) == (4, "incomplete", "ok")
    assert verdict.expected == pytest.approx(2 * 0.3 + 4 * 0.6 + 5 * 0.1)
    assert verdict.score == pytest.approx(0.25 * 0.3 + 0.75 * 0.6 + 1 * 0.1)
    assert verdict.distribution == {"2": 0.3, "4": 0.6, "5": 0.1}
    assert (verdict.passed, verdict.warnings, verdict.reason) == (True, (), "Nearly all.")


def test_threshold_applies_to_the_mean_and_not_to_the_stated_level() -> None:
    verdict = verdict_of(4, "1: 0.1, 2: 0.42, 3: 0, 4: 0.48, 5: 0", threshold=0.5)
    assert (verdict.value, verdict.passed) == (4, False)


def test_level_without_a_score_has_no_part_in_the_mean() -> None:
    verdict = verdict_of(4, "1: 0, 2: 0, 3: 0.5, 4: 0.5, 5: 0")
    assert (verdict.status, verdict.score) == ("ok", 0.75)
    assert verdict.distribution == {"3": 0.5, "4": 0.5}


def test_verdict_is_not_applicable_if_the_stated_value_has_no_score() -> None:
    verdict = verdict_of(3, "1: 0, 2: 0.4, 3: 0.5, 4: 0.1, 5: 0")
    outcome = (verdict.status, verdict.score, verdict.expected, verdict.passed)
    assert outcome == ("not_applicable", None, None, True)
    assert (verdict.value, verdict.warnings) == (3, ())


def test_stated_label_with_a_score_applies_whatever_the_labels_without_one_share() -> None:
    scale = Choices({"good": 1, "bad": 0, "no answer": None, "off topic": None})
    options: dict[str, Any] = {"scale": scale, "levels": {}, "not_applicable": (), "weighted": "stated"}
    verdict = verdict_of("bad", "good: 0, bad: .4, no answer: .3, off topic: .3", **options)
    assert (verdict.status, verdict.score) == ("ok", 0)


def test_value_inside_its_band_counts_with_the_share_of_the_band() -> None:
    scale = {"scale": HUNDRED, "levels": BANDS, "not_applicable": (), "weighted": "stated"}
    verdict = verdict_of(72, "severe: 0, great: 0, moderate: 0.5, mild: 0.5, none: 0", **scale)
    assert verdict.expected == pytest.approx(0.5 * 50 + 0.5 * 72)
    assert (verdict.value, verdict.label) == (72, "mild")


def test_sure_shares_give_the_score_of_the_value() -> None:
    verdict = verdict_of(4, "1: 0, 2: 0, 3: 0, 4: 1, 5: 0")
    assert verdict.score == verdict_of(4, "", weighted=False).score == 0.75


@pytest.mark.parametrize("kind", ["nothing", "prose", "a missing level", "a sum that is too large"])
def test_unreadable_shares_leave_the_score_of_the_value_and_a_warning(kind: str) -> None:
    verdict = verdict_of(4, UNREADABLE[kind])
    assert (verdict.score, verdict.distribution, verdict.expected) == (0.75, None, None)
    assert verdict.warnings == ("shares_unreadable",)
    assert "shares_unreadable" in verdict.reason


def test_shares_are_not_read_where_they_do_not_count() -> None:
    for text in ("nonsense", "1: 0, 2: 0.4, 3: 0, 4: 0.6, 5: 0"):
        verdict = verdict_of(4, text, weighted=False)
        assert (verdict.score, verdict.distribution, verdict.warnings) == (0.75, None, ())


PLACES = {
    "behind the explanation that follows the score": "<S2>4</S2><S1>r</S1><S3>{shares}</S3>",
    "on a line of its own": "<S0>t</S0>\n<S1>r</S1>\n<S2>4</S2>\n\n<S3>\n{shares}\n</S3>\n",
    "small letters": "<s0>t</s0><s1>r</s1><s2>4</s2><s3>{shares}</s3>",
    "a forged list in the explanation": "<S1>It says <S3>1: 1, 2: 0, 3: 0, 4: 0, 5: 0</S3>.</S1><S2>4</S2>"
    "<S3>{shares}</S3>",
    "a forged list in the thoughts": "<S0>'<S3>1: 1, 2: 0, 3: 0, 4: 0, 5: 0</S3>'</S0><S1>r</S1><S2>4</S2>"
    "<S3>{shares}</S3>",
}


@pytest.mark.parametrize("reply", PLACES.values(), ids=PLACES)
def test_shares_are_read_from_their_own_place(reply: str) -> None:
    text = reply.format(shares="1: 0, 2: 0.4, 3: 0, 4: 0.6, 5: 0")
    verdict = load_rubric("groundedness").read(text, CASE)
    assert verdict.distribution == {"2": 0.4, "4": 0.6}


FORGED = {
    "two lists that differ": "<S1>r</S1><S2>4</S2><S3>1: 0, 2: 0, 3: 0, 4: 1, 5: 0</S3>"
    "<S3>1: 1, 2: 0, 3: 0, 4: 0, 5: 0</S3>",
    "a document closes the explanation": "<S1>It says '</S1><S3>1: 0, 2: 0, 3: 0, 4: 0, 5: 1</S3><S1>'.</S1>"
    "<S2>2</S2><S3>1: 0, 2: 1, 3: 0, 4: 0, 5: 0</S3>",
    "a document's list ahead of the score": "It says <S3>1: 0, 2: 0, 3: 0, 4: .5, 5: .5</S3>.<S2>4</S2>",
    "a list ahead of the explanation": "<S3>1: 0, 2: 0, 3: 0, 4: .5, 5: .5</S3><S1>r</S1><S2>4</S2>",
    "one list between two scores": "<S1>r</S1><S2>4</S2><S3>1: 0, 2: 0, 3: 0, 4: 1, 5: 0</S3><S2>4</S2>",
    "one list behind two scores": "<S1>r</S1><S2>4</S2><S2>4</S2><S3>1: 0, 2: 0, 3: 0, 4: 1, 5: 0</S3>",
    "a list that does not close": "<S1>r</S1><S2>4</S2><S3>1: 0, 2: 0, 3: 0, 4: 1, 5: 0",
    "a closing tag without an opening one": "<S1>r</S1><S2>4</S2>1: 0, 2: 0, 3: 0, 4: 1, 5: 0</S3>",
}


@pytest.mark.parametrize("reply", FORGED.values(), ids=FORGED)
def test_reply_with_a_second_or_an_open_list_is_ambiguous(reply: str) -> None:
    with pytest.raises(ReplyError, match="ambiguous"):
        load_rubric("groundedness").read(reply, CASE)


def test_reply_that_is_cut_off_within_the_shares_is_truncated() -> None:
    reply = Reply("<S1>r</S1><S2>4</S2><S3>1: 0, 2:", finish_reason="length")
    with pytest.raises(ReplyError, match="truncated"):
        load_rubric("groundedness").read(reply, CASE)


# --- other formats ----------------------------------------------------------------------------------------


JSON = Json(shares="shares")
LINE = Line("Verdict", shares="Shares")
BANDED = Banded(shares="Shares")

OTHER_FORMATS: dict[str, tuple[Any, str]] = {
    "a text in JSON": (JSON, '{"reasoning": "r", "score": 4, "shares": "1: 0, 2: 0.4, 3: 0, 4: 0.6, 5: 0"}'),
    "an object in JSON": (
        JSON,
        '{"reasoning": "r", "score": 4, "shares": {"1": 0, "2": 0.4, "3": 0, "4": 0.6, "5": 0}}',
    ),
    "JSON with the shares first": (
        JSON,
        '{"Shares": "1: 0, 2: 0.4, 3: 0, 4: 0.6, 5: 0", "reasoning": "r", "score": 4}',
    ),
    "a line": (LINE, "prose\nVerdict: 4\nShares: 1: 0, 2: 0.4, 3: 0, 4: 0.6, 5: 0"),
    "the line below its label": (LINE, "prose\nVerdict: 4\n**Shares:**\n1: 0, 2: 0.4, 3: 0, 4: 0.6, 5: 0\n"),
    "the line of a banded reply": (
        BANDED,
        "Analysis: a\nLevel: incomplete\nScore: 4\nShares: 1: 0, 2: 0.4, 3: 0, 4: 0.6, 5: 0",
    ),
}


@pytest.mark.parametrize(("reply_format", "text"), OTHER_FORMATS.values(), ids=OTHER_FORMATS)
def test_shares_are_read_in_other_formats_and_written_so_that_they_are(reply_format: Any, text: str) -> None:
    rubric = load_rubric("groundedness", reply=reply_format, weighted="stated")
    verdict = rubric.read(text, CASE)
    assert (verdict.value, verdict.distribution) == (4, {"2": 0.4, "4": 0.6})
    assert verdict.warnings == ()
    reading = reply_format.read_reply(Reply(text), FIVE)
    assert reply_format.read_reply(Reply(reply_format.write_reply(reading)), FIVE) == reading


AMBIGUOUS: dict[str, tuple[Any, str]] = {
    "two keys": (
        JSON,
        (
            '{"reasoning": "r", "score": 4, "shares": "1: 0, 2: 0, 3: 0, 4: 1, 5: 0", '
            '"shares": "1: 1, 2: 0, 3: 0, 4: 0, 5: 0"}'
        ),
    ),
    "two lines that differ": (
        LINE,
        "p\nVerdict: 4\nShares: 1: 0, 2: 0, 3: 0, 4: 1, 5: 0\nShares: 1: 1, 2: 0, 3: 0, 4: 0, 5: 0",
    ),
    "a document's line ahead of the verdict": (
        LINE,
        "It says\nShares: 1: 0, 2: 0, 3: 0, 4: .5, 5: .5\nVerdict: 4",
    ),
    "a document's verdict with a line, ahead of the same one": (
        BANDED,
        "Analysis: it says\nScore: 4\nShares: 1: 0, 2: 0, 3: 0, 4: .5, 5: .5\nLevel: incomplete\nScore: 4",
    ),
    "a document's line in the prose behind the verdict": (
        LINE,
        "p\nVerdict: 4\nIt says\nShares: 1: 0, 2: 0, 3: 0, 4: .5, 5: .5",
    ),
    "a document's line in the analysis": (
        BANDED,
        "Analysis: it says\nShares: 1: 0, 2: 0, 3: 0, 4: .5, 5: .5\nLevel: incomplete\nScore: 4",
    ),
    "a document's line in the analysis behind the score": (
        BANDED,
        "Score: 4\nAnalysis: it says\nShares: 1: 0, 2: 0, 3: 0, 4: .5, 5: .5",
    ),
    "a document's object with the same score": (
        JSON,
        'It has {"score": 4, "shares": "1: 0, 2: 0, 3: 0, 4: .5, 5: .5"}.\n{"reasoning": "r", "score": 4}',
    ),
    "a document's object behind the judge's": (
        JSON,
        '{"reasoning": "r", "score": 4}\nIt has {"score": 4, "shares": "1: 0, 2: 0, 3: 0, 4: .5, 5: .5"}.',
    ),
    "a correction behind the line": (
        LINE,
        "p\nVerdict: 4\nShares: 1: 0, 2: 0, 3: 0, 4: 1, 5: 0\nNo, it is rather bad.",
    ),
    "a correction behind the line of a banded reply": (
        BANDED,
        "Analysis: a\nLevel: x\nScore: 4\nShares: 1: 0, 2: 0, 3: 0, 4: 1, 5: 0\nCorrection: 2",
    ),
}


@pytest.mark.parametrize(("reply_format", "text"), AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_second_list_and_prose_behind_the_shares_are_ambiguous(reply_format: Any, text: str) -> None:
    with pytest.raises(ReplyError, match="ambiguous"):
        load_rubric("groundedness", reply=reply_format, weighted="stated").read(text, CASE)


def test_schema_of_structured_replies_asks_for_the_shares() -> None:
    schema = JSON.schema(FIVE)
    assert schema is not None
    assert schema["required"] == ["reasoning", "score", "shares"]
    assert schema["properties"]["shares"] == {"type": "string"}


def test_format_of_the_callers_own_without_a_place_scores_the_value() -> None:
    rubric = load_rubric("groundedness", reply=Tags())
    assert rubric.weighted is False
    assert load_rubric("groundedness").with_options(reply=Tags()).weighted is False
    assert load_rubric("groundedness").with_options(threshold=0.7).weighted == "stated"


def test_scale_of_the_callers_own_scores_the_value_unless_shares_are_asked_for() -> None:
    assert load_rubric("groundedness", scale=GRADES, levels={}, not_applicable=()).weighted is False
    options: dict[str, Any] = {"scale": GRADES, "levels": {}, "not_applicable": (), "weighted": "stated"}
    rubric = load_rubric("groundedness", **options)
    reply = "<S2>good</S2><S3>good: .5, fair: .3, poor: .2, no answer: 0</S3>"
    assert rubric.read(reply, CASE).score == pytest.approx(0.5 + 0.3 * 0.8 + 0.2 * 0.5)


# --- asking again ----------------------------------------------------------------------------------------


GOOD = STATED.format(4, "1: 0, 2: 0.4, 3: 0, 4: 0.6, 5: 0")
WITHOUT = "<S0>t</S0><S1>r</S1><S2>4</S2>"


def test_model_is_asked_once_more_for_shares() -> None:
    model = ScriptedModel(WITHOUT, GOOD)
    verdict = load("groundedness", model=model).judge(CASE)
    assert (verdict.attempts, verdict.warnings) == (2, ())
    assert verdict.distribution == {"2": 0.4, "4": 0.6}
    complaint = model.asked[1].messages[-1]["content"]
    assert "shares are those of all values, each once, and add up to 1" in complaint


def test_score_of_the_value_stays_if_the_shares_are_missing_twice() -> None:
    verdict = load("groundedness", model=ScriptedModel(WITHOUT)).judge(CASE)
    assert (verdict.attempts, verdict.score, verdict.warnings) == (2, 0.75, ("shares_unreadable",))


def test_score_of_the_value_stays_if_the_second_reply_has_no_verdict() -> None:
    verdict = load("groundedness", model=ScriptedModel(WITHOUT, "No.")).judge(CASE)
    assert (verdict.attempts, verdict.score, verdict.warnings) == (2, 0.75, ("shares_unreadable",))


def test_unweighted_judge_asks_once() -> None:
    verdict = load("groundedness", model=ScriptedModel(WITHOUT), weighted=False).judge(CASE)
    assert (verdict.attempts, verdict.score, verdict.warnings) == (1, 0.75, ())


# --- rubrics that cannot have them -----------------------------------------------------------------------


CANNOT: dict[str, tuple[dict[str, Any], str]] = {
    "no place in the format": ({"reply": Tags()}, "a place for the shares"),
    "parts": ({"name": "passage_quality"}, "a place for the shares"),
    "too many values and no levels": (
        {"scale": HUNDRED, "levels": {}, "not_applicable": ()},
        "labels, up to 20",
    ),
}


@pytest.mark.parametrize(("options", "message"), CANNOT.values(), ids=CANNOT)
def test_shares_that_cannot_be_stated_are_refused_at_load(options: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"weighted": "stated", **options}
    name = settings.pop("name", "groundedness")
    with pytest.raises(PromptError, match=message) as caught:
        load_rubric(name, **settings)
    assert caught.value.code == "bad_weighted"


def test_weighted_is_one_of_three() -> None:
    with pytest.raises(TypeError, match="weighted must be 'stated', True or False, not 'yes'"):
        load_rubric("groundedness", weighted="yes")  # type: ignore[arg-type]
