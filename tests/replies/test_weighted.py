"""Weighted scores: the probabilities of the token in which the verdict begins, and of no other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from read_replies import CHINESE, READERS, STARRED, YES
from standin_openai import Piece, logprobs_of, text_of

from groundjudge import Choices, PromptError, Reply, Scale, Verdict, load_rubric
from groundjudge.models.returned import tokens_of
from groundjudge.replies import Format, Line
from groundjudge.types import Rubric

FIVE = Scale(worst=1, best=5, integer=True)
TEN = Scale(worst=0, best=10, integer=True)
SURE = Choices({"yes": 1, "no": 0, "not sure": None})
GRADES = Choices({"A": 1, "A-": 0.8, "B": 0})

UNKNOWN = "logprobs_unusable"

FOUR: Piece = {"4": 0.6, "5": 0.3, "2": 0.1}
FOUR_SHARES = {"2": 0.1, "4": 0.6, "5": 0.3}
OPEN, CLOSE = "<S2>", "</S2>"


GROUNDEDNESS = load_rubric("groundedness")


def rubric_of(kind: str | Format, scale: Scale, **options: Any) -> Rubric:
    reply = READERS[kind] if isinstance(kind, str) else kind
    settings: dict[str, Any] = {"levels": {}, "not_applicable": (), "weighted": True, **options}
    return GROUNDEDNESS.with_options(reply=reply, scale=scale, **settings)


def reply_of(pieces: Sequence[Piece], **options: Any) -> Reply:
    return Reply(text_of(pieces), "stop", tokens=tokens_of(logprobs_of(pieces, **options)))


def verdict_of(kind: str | Format, scale: Scale, pieces: Sequence[Piece], **options: Any) -> Verdict:
    return rubric_of(kind, scale).read(reply_of(pieces, **options))


KNOWN: list[Any] = [
    # Formats; for those that are not here see any split below.
    pytest.param("json", FIVE, ['{"score": "', FOUR, '"}'], FOUR_SHARES, id="JSON string"),
    pytest.param("json", FIVE, ["{'score': ", FOUR, "}"], FOUR_SHARES, id="bare JSON number"),
    pytest.param(
        Line("Rating"), FIVE, ["r\nRating: ", FOUR, "\nbye"], FOUR_SHARES, id="line with prose around"
    ),
    pytest.param(
        Line("Rating", brackets=True), FIVE, ["Rating: [[", FOUR, "]]"], FOUR_SHARES, id="double brackets"
    ),
    pytest.param(
        "json",
        SURE,
        ['{"score": "', {"not": 0.9, "yes": 0.1}, ' sure"}'],
        {"yes": 0.1, "not sure": 0.9},
        id="label of two tokens in JSON",
    ),
    pytest.param(
        "banded",
        YES,
        ["Score:", {" No": 0.9, " Yes": 0.1}, "."],
        {"yes": 0.1, "no": 0.9},
        id="label with a space before it",
    ),
    pytest.param(
        "tags",
        STARRED,
        ["<S2>", {"A*": 0.6, "A</": 0.3, "B": 0.1}, "</S2>"],
        {"A*": 0.6, "A": 0.3, "B": 0.1},
        id="grade with an asterisk",
    ),
    # Digits beside the verdict, and a verdict that is stated twice.
    pytest.param(
        "tags", FIVE, ["<S2>Score: ", FOUR, "/5</S2>"], FOUR_SHARES, id="name and best value beside it"
    ),
    pytest.param(
        "tags",
        FIVE,
        [OPEN, FOUR, "/", {"5": 0.5, "4": 0.5}, CLOSE],
        FOUR_SHARES,
        id="best value with candidates of its own",
    ),
    pytest.param(
        "tags", FIVE, [OPEN, FOUR, CLOSE, OPEN, {"4": 1.0}, CLOSE], FOUR_SHARES, id="a verdict twice"
    ),
    # Tokens with more than the verdict.
    pytest.param(
        "tags",
        FIVE,
        ["<S2", {">4": 0.6, ">5": 0.3, ">2": 0.1}, CLOSE],
        FOUR_SHARES,
        id="tag's end in the token",
    ),
    pytest.param(
        "json",
        FIVE,
        ['{"score":', {' "4': 0.6, ' "5': 0.3, " 2": 0.1}, '"}'],
        FOUR_SHARES,
        id="quotation mark in the token",
    ),
    pytest.param(
        "tags",
        FIVE,
        [OPEN, {"**4": 0.6, "5": 0.3, "*2": 0.1}, "**</S2>"],
        FOUR_SHARES,
        id="emphasis in the token",
    ),
    pytest.param("plain", FIVE, [{"４": 0.6, "5": 0.3, "２": 0.1}], FOUR_SHARES, id="full-width digits"),
    # Values that begin alike: each has a token of its own, however improbable, or is ended in its token.
    pytest.param(
        "plain", TEN, [{"1": 1.0, "10": 1e-5}], {"1": 1 - 1e-5, "10": 1e-5}, id="10 as a token of its own"
    ),
    pytest.param("plain", TEN, [{"7": 0.985, "1": 0.015}], {"7": 1.0}, id="1 below the mass that counts"),
    pytest.param(
        "tags",
        TEN,
        [OPEN, {"1</": 0.6, "9</": 0.4}, "S2>"],
        {"1": 0.6, "9": 0.4},
        id="a value ended in its token",
    ),
    pytest.param(
        "tags",
        SURE,
        [OPEN, {"no": 0.6, "not": 0.4}, CLOSE],
        {"no": 0.6, "not sure": 0.4},
        id="no ended by not",
    ),
    pytest.param(
        "tags",
        GRADES,
        [OPEN, {"A<": 0.6, "A-<": 0.4}, "/S2>"],
        {"A": 0.6, "A-": 0.4},
        id="a grade ended in its token",
    ),
    pytest.param(
        "plain", YES, [{"Y": 0.7, "No": 0.3}, "es"], {"yes": 0.7, "no": 0.3}, id="beginnings of labels"
    ),
    pytest.param(
        "plain",
        YES,
        [{"yes": 0.5, "Yes": 0.2, " YES": 0.1, "no": 0.2}],
        {"yes": 0.8, "no": 0.2},
        id="spellings of one label",
    ),
    pytest.param(
        "plain",
        Choices({"-1": 0, "1": 1}),
        [{"-": 0.6, "1": 0.4}, "1"],
        {"-1": 0.6, "1": 0.4},
        id="a sign of its own",
    ),
    # Candidates: exactly 0.98, sampled though improbable, -9999.0, off the scale.
    pytest.param("plain", FIVE, [{"4": 0.98, "five": 0.02}], {"4": 1.0}, id="exactly 0.98"),
    pytest.param(
        "plain", FIVE, [{"2": 0.1, "4": 0.6, "5": 0.3}], FOUR_SHARES, id="sampled though least probable"
    ),
    pytest.param(
        "plain",
        FIVE,
        [{"2": 0.0, "4": 0.6, "5": 0.4}],
        {"4": 0.6, "5": 0.4},
        id="a candidate of probability 0",
    ),
    pytest.param(
        "plain",
        FIVE,
        [{"4": 0.985, "5.5": 0.005, "6": 0.005, "-1": 0.005}],
        {"4": 1.0},
        id="candidates off the scale",
    ),
]


@pytest.mark.parametrize(("kind", "scale", "pieces", "shares"), KNOWN)
def test_distribution_comes_from_the_token_that_decided(
    kind: str, scale: Scale, pieces: list[Piece], shares: dict[str, float]
) -> None:
    verdict = verdict_of(kind, scale, pieces)
    plain = rubric_of(kind, scale, weighted=False).read(text_of(pieces))
    assert UNKNOWN not in verdict.warnings
    assert verdict.distribution == pytest.approx(shares, abs=1e-6)
    assert (verdict.value, verdict.label) == (plain.value, plain.label)


UNKNOWABLE: list[Any] = [
    pytest.param(
        "tags", FIVE, ["<S2", {">4": 0.8, "5": 0.2}, CLOSE], id="candidate without the tag's end"
    ),  # a candidate without the >
    pytest.param("plain", TEN, [{"1": 0.8, "9": 0.2}, "0"], id="10 as two tokens"),  # 10 as two tokens
    pytest.param(
        "plain", TEN, [{"1": 0.8, "9": 0.2}], id="1 where 10 may be two tokens"
    ),  # 1, where 10 may be two tokens
    pytest.param(
        "tags", SURE, [OPEN, {"n": 0.9, "yes": 0.1}, "o", CLOSE], id="a letter that begins two labels"
    ),  # no, or not sure
    pytest.param(
        "plain", FIVE, [b"\xef\xbc", b"\x94"], id="full-width digit in two tokens"
    ),  # a full-width digit in two tokens
    pytest.param(
        "plain", FIVE, [{"4": 0.5, "5": 0.47, "four": 0.03}], id="less than 0.98 of mass"
    ),  # less than 0.98 of mass
    pytest.param(
        "plain", Scale(worst=0, best=5, integer=True), [{"0": 0.9, "5": 0.1}, "4"], id="0 of 04"
    ),  # 0 of 04
    pytest.param(
        "json", FIVE, ['{"score": "', "\\u0034", '"}'], id="value written with an escape"
    ),  # a value written with an escape
    pytest.param(
        "plain", GRADES, ["A", {"-": 0.6, "<": 0.4}], id="a sign that is uncertain"
    ),  # a sign that is uncertain
    pytest.param(
        "plain", GRADES, [{"A": 0.9, "B": 0.1}], id="A where A- may be two tokens"
    ),  # A, where A- may be two tokens
]


@pytest.mark.parametrize(("kind", "scale", "pieces"), UNKNOWABLE)
def test_plain_value_counts_where_the_distribution_is_not_known(
    kind: str, scale: Scale, pieces: list[Piece]
) -> None:
    verdict = verdict_of(kind, scale, pieces)
    plain = rubric_of(kind, scale, weighted=False).read(text_of(pieces))
    assert verdict == plain.model_copy(update={"warnings": (*plain.warnings, UNKNOWN)})


TEXT = "<S1>r</S1><S2>4</S2>"
SPELT: list[Piece] = ["<S1>r</S1>", OPEN, FOUR, CLOSE]
REASONED: list[Piece] = ["<S2>", {"5": 0.9, "4": 0.1}, "</S2>\n</think>", *SPELT]
AN_END: list[list[Piece]] = [[*SPELT, "<|im_end|>"], [*SPELT, "\n", "</s>"], [*SPELT, ""]]
OTHER: list[list[Piece]] = [["<S1>r</S1>", OPEN, "5", CLOSE], SPELT[1:], [*SPELT, "<a>", "<b>"], []]


@pytest.mark.parametrize("pieces", [[" ", *SPELT], REASONED, *AN_END, *OTHER], ids=text_of)
def test_tokens_must_spell_the_text_but_for_reasoning_and_an_end(pieces: list[Piece]) -> None:
    for text in (TEXT, f"{TEXT}\n"):
        verdict = rubric_of("tags", FIVE).read(Reply(text, tokens=tokens_of(logprobs_of(pieces))))
        assert verdict.value == 4
        assert verdict.distribution == (None if pieces in OTHER else pytest.approx(FOUR_SHARES))
        assert (UNKNOWN in verdict.warnings) is (pieces in OTHER)


def test_tokens_without_bytes_are_read_by_their_text() -> None:
    for row in KNOWN:
        pieces = row.values[2]
        assert tokens_of(logprobs_of(pieces, has_bytes=False)) == tokens_of(logprobs_of(pieces)), row.id


def test_split_character_without_bytes_is_unusable() -> None:
    verdict = verdict_of("plain", CHINESE, [b"\xe6\x9c", b"\x89", "依据"], has_bytes=False)
    assert (verdict.label, verdict.distribution, verdict.warnings) == ("有依据", None, (UNKNOWN,))


def test_fewer_candidates_than_asked_for_serve_if_they_have_the_mass() -> None:
    pieces: list[Piece] = [{"5": 0.02, "4": 0.6, "2": 0.36, "3": 0.02}]
    assert verdict_of("plain", FIVE, pieces, most=2).distribution == pytest.approx(
        {"2": 0.36 / 0.98, "4": 0.6 / 0.98, "5": 0.02 / 0.98}
    ), "the sampled token is known though it is not among the likeliest"
    assert verdict_of("plain", FIVE, pieces, most=1).warnings == (UNKNOWN,)


NAN = float("nan")
ENTRY: dict[str, Any] = {"token": "4", "logprob": -0.01, "bytes": [52], "top_logprobs": []}
ODD_CANDIDATES: list[Any] = [{"4": -0.1}, 20, [None], ["4"], [{}], [{"token": "5", "logprob": NAN}]]
ODD: list[dict[str, Any]] = [
    {"bytes": None, "top_logprobs": None},
    {"bytes": "4"},
    {"top_logprobs": []},
    {"logprob": 1e9},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_odd_entry_is_read_as_far_as_it_goes(odd: dict[str, Any]) -> None:
    tokens = tokens_of({"content": [{**ENTRY, **odd}]})
    assert rubric_of("plain", FIVE).read(Reply("4", tokens=tokens)).distribution == {"4": 1.0}


SHAPELESS: list[Any] = [
    *(None, [], {}, {"content": None}, {"content": []}, {"content": "4"}, {"content": {"4": 1}}),
    *(
        {"content": [entry]}
        for entry in ("4", {"token": "4"}, {"token": 4, "logprob": -0.1}, {**ENTRY, "logprob": None})
    ),
    *({"content": [{**ENTRY, "bytes": odd}]} for odd in ([-1, 4000], ["4"])),
    *({"content": [{**ENTRY, "top_logprobs": odd}]} for odd in ODD_CANDIDATES),
    {"tokens": ["4"], "token_logprobs": [-0.1], "top_logprobs": [{"4": -0.1}]},
]


def test_logprobs_of_another_shape_are_none() -> None:
    for logprobs in SHAPELESS:
        assert tokens_of(logprobs) is None, logprobs


def test_sampled_token_without_a_number_is_unusable() -> None:
    content = [{**ENTRY, "logprob": NAN, "top_logprobs": [{"token": "4", "logprob": -0.001}]}]
    verdict = rubric_of("plain", FIVE).read(Reply("4", tokens=tokens_of({"content": content})))
    assert (verdict.value, verdict.distribution, verdict.warnings) == (4, None, (UNKNOWN,))


def test_sentence_that_claims_nothing_has_nothing_to_weigh() -> None:
    verdict = verdict_of("scorecard", FIVE, card("NO CLAIM", FOUR))
    assert [part.score for part in verdict.parts] == [None, pytest.approx((4.1 - 1) / 4)]
    assert UNKNOWN not in verdict.warnings


def test_lone_surrogate_in_a_token_is_read() -> None:
    content = [{"token": "\ud83d", "logprob": -0.1}, {"token": "4", "logprob": 0}]
    reply = Reply("\ud83d4", tokens=tokens_of({"content": content}))
    assert reply.tokens
    assert b"".join(token.text for token in reply.tokens).decode() == reply.text


# What follows from the distribution


def test_score_expected_and_passed_come_from_the_distribution_and_value_stays() -> None:
    pieces: list[Piece] = [OPEN, {"4": 0.4, "1": 0.35, "2": 0.25}, CLOSE]
    plain = rubric_of("tags", FIVE, weighted=False, threshold=0.5).read(reply_of(pieces))
    assert (plain.value, plain.score, plain.passed, plain.expected) == (4, 0.75, True, None)
    assert plain.distribution is None
    verdict = rubric_of("tags", FIVE, threshold=0.5).read(reply_of(pieces))
    assert verdict.value == 4
    assert verdict.distribution == pytest.approx({"1": 0.35, "2": 0.25, "4": 0.4})
    assert verdict.expected == pytest.approx(2.45)
    assert verdict.score == pytest.approx(1.45 / 4)
    assert verdict.passed is False
    assert verdict.warnings == ()


def test_scale_with_its_best_end_below_is_weighed() -> None:
    verdict = verdict_of("plain", Scale(worst=5, best=1, integer=True), [{"1": 0.75, "5": 0.25}])
    assert verdict.expected == pytest.approx(2)
    assert verdict.score == pytest.approx(0.75)


def groundedness(piece: Piece) -> Verdict:
    return load_rubric("groundedness", weighted=True).read(reply_of(["<S2>", piece, "</S2>"]))


def test_value_that_is_not_applicable_has_no_part_in_the_mean_or_is_the_verdict() -> None:
    verdict = groundedness({"5": 0.5, "3": 0.25, "4": 0.25})
    assert (verdict.status, verdict.label) == ("ok", "grounded")
    assert verdict.expected == pytest.approx((5 * 0.5 + 4 * 0.25) / 0.75)
    verdict = groundedness({"3": 0.4, "5": 0.6})
    assert (verdict.status, verdict.value, verdict.score) == ("not_applicable", 3, None)
    assert (verdict.expected, verdict.passed) == (None, True)
    assert verdict.distribution == pytest.approx({"3": 0.4, "5": 0.6})


SUPPORT = Choices({"supported": 1, "not supported": 0, "cannot tell": None})
IN_LABELS: list[Any] = [
    # The candidates, the tokens behind them, and the status and score.
    pytest.param(
        {"supported": 0.5, "cannot": 0.2, "not": 0.3},
        [],
        "ok",
        pytest.approx(0.5 / 0.8),
        id="label without a score among the candidates",
    ),
    pytest.param(
        {"cannot": 0.6, "supported": 0.4},
        [" tell"],
        "not_applicable",
        None,
        id="label without a score as the verdict",
    ),
]


@pytest.mark.parametrize(("piece", "pieces_behind", "status", "score"), IN_LABELS)
def test_label_without_a_score_has_no_part_in_the_mean(
    piece: Piece, pieces_behind: list[Piece], status: str, score: object
) -> None:
    verdict = verdict_of("tags", SUPPORT, [OPEN, piece, *pieces_behind, CLOSE])
    assert (verdict.status, verdict.score, verdict.expected) == (status, score, score)


def card(*pieces: Piece) -> list[Piece]:
    texts = [f"Statement Sentence: It has {number}.\nSupporting Evidence: 5\nScore:" for number in range(9)]
    return [part for text, piece in zip(texts, pieces, strict=False) for part in (text, " ", piece, "\n\n")]


def test_each_sentence_of_a_scorecard_is_weighed() -> None:
    verdict = verdict_of("scorecard", FIVE, card(FOUR, {"1": 0.9, "5": 0.1}))
    assert [part.value for part in verdict.parts] == [4, 1]
    assert [part.score for part in verdict.parts] == pytest.approx([(4.1 - 1) / 4, 0.1])
    assert verdict.score == pytest.approx(((4.1 - 1) / 4 + 0.1) / 2)
    assert (verdict.value, UNKNOWN in verdict.warnings) == (2.5, False)


def test_scorecard_keeps_the_values_of_sentences_that_cannot_be_weighed() -> None:
    verdict = verdict_of("scorecard", FIVE, card(FOUR, {"1": 0.5, "one": 0.5}, {"2": 0.5, "two": 0.5}))
    assert [part.score for part in verdict.parts] == pytest.approx([(4.1 - 1) / 4, 0, 0.25])
    assert verdict.warnings.count(UNKNOWN) == 1


@pytest.mark.parametrize(
    ("options", "added"),
    [
        pytest.param({"weighted": False}, {}, id="unweighted"),
        pytest.param({"weighted": True}, {"logprobs": True, "top_logprobs": 20}, id="weighted"),
        pytest.param(
            {"weighted": True, "parameters": {"top_logprobs": 5}},
            {"logprobs": True, "top_logprobs": 5},
            id="weighted, with the caller's number of candidates",
        ),
    ],
)
def test_only_a_weighted_judge_asks_for_probabilities(options: Any, added: dict[str, Any]) -> None:
    row = {"query": "q", "context": "c", "response": "r"}
    sent = load_rubric("groundedness", **options).ask(row).parameters
    assert {name: sent[name] for name in ("logprobs", "top_logprobs") if name in sent} == added


UNWEIGHABLE = (
    Scale(worst=0, best=20, integer=True),
    Scale(worst=0, best=1),
    Scale(worst=-1, best=1, integer=True),
)


@pytest.mark.parametrize("scale", UNWEIGHABLE, ids=str)
def test_scale_whose_values_a_token_cannot_tell_apart_is_refused(scale: Scale) -> None:
    with pytest.raises(PromptError, match="labels or up to 20 whole numbers") as caught:
        rubric_of("plain", scale)
    assert caught.value.code == "bad_weighted"


def test_scale_of_twenty_values_is_weighed() -> None:
    scale = Scale(worst=1, best=20, integer=True)
    assert verdict_of("plain", scale, [{"20": 0.5, "18": 0.5}]).expected == 19


# Any split into tokens

PREFIXES = {
    "tags": "<S0>5 or 4? ５、２</S0><S1>Not 1, 五 🙂: <S2>5</S2></S1>\n<S2>",
    "json": '{"reasoning": "5 of 5, \\"score\\": 1, 五 🙂", "score": ',
    "banded": "Analysis: 5 of 5; 五 🙂 2\nScore: ",
    "plain": "<think>5? 1! 五 🙂</think>\n",
}
SUFFIXES = {"tags": "</S2>", "json": "}", "banded": "\n* * *", "plain": ""}


def tokens_split(text: bytes, splits: set[int], place: int, other: bytes) -> list[Piece]:
    """The text in tokens, of which the one where the verdict begins has an alternative, `other`.

    Tokens with digits elsewhere have alternatives too.
    """
    cuts = [0, *sorted(split for split in splits if split < len(text)), len(text)]
    decoy = bytes.maketrans(b"1245", b"5111")
    pieces: list[Piece] = []
    for start, end in pairwise(cuts):
        token = text[start:end]
        first, last = max(start, min(place, end)), max(start, min(end, place + len(other)))
        before, here, after = text[start:first], text[first:last], text[last:end]
        changed = before + other[first - place :][: len(here)] + after
        if not start <= place < end:
            changed = token.translate(decoy)
        pieces.append({token: 0.75, changed: 0.25} if changed != token else token)
    return pieces


SPLIT = [(FIVE, "4", "2"), (CHINESE, "有依据", "无依据")]
"""Scales, the verdict on each, and another verdict."""


@pytest.mark.parametrize("kind", PREFIXES)
@given(row=st.sampled_from(SPLIT), splits=st.sets(st.integers(1, 120)))
@example(row=SPLIT[0], splits=set())
@example(row=SPLIT[1], splits=set(range(1, 120)))
def test_verdict_is_found_in_any_split(kind: str, row: tuple[Scale, str, str], splits: set[int]) -> None:
    scale, value, other = row
    quote = '"' if kind == "json" and scale.choices else ""
    prefix = f"{PREFIXES[kind]}{quote}".encode()
    text = prefix + f"{value}{quote}{SUFFIXES[kind]}".encode()
    verdict = verdict_of(kind, scale, tokens_split(text, splits, len(prefix), other.encode()))
    assert (verdict.label or f"{verdict.value:g}") == value
    is_first_byte_alone = scale.choices and len(prefix) + 1 in splits  # it is the same in both labels
    assert verdict.distribution == (None if is_first_byte_alone else {value: 0.75, other: 0.25})
