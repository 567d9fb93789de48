"""Weighted scores: the probabilities of the token in which the verdict begins, and of no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scripted_model import ScriptedModel
from standin_openai import Piece, logprobs_of, text_of

from groundjudge import Choices, PromptError, Reply, Scale, Verdict, load, load_rubric
from groundjudge.replies import Banded, Format, Json, Line, Plain, Scorecard, Tags
from groundjudge.replies.reply import tokens_of
from groundjudge.types import Rubric

FIVE = Scale(worst=1, best=5, integer=True)
TEN = Scale(worst=0, best=10, integer=True)
YES = Choices({"yes": 1, "no": 0})
PARTLY = Choices({"supported": 1, "supported partly": 0.5, "not supported": 0})
THREE = Choices({"supported": 1, "partially supported": 0.5, "not supported": 0, "cannot tell": None})
SIGNED = Choices({"-1": 0, "1": 1})
GRADES = Choices({"A": 1, "A-": 0.8, "B": 0})
CHINESE = Choices({"有依据": 1, "无依据": 0})

FORMATS: Mapping[str, Format] = {"tags": Tags(), "json": Json(), "banded": Banded(), "plain": Plain()}
UNKNOWN = "logprobs_unusable"

FOUR: Piece = {"4": 0.6, "5": 0.3, "2": 0.1}
FOUR_SHARES = {"2": 0.1, "4": 0.6, "5": 0.3}
OPEN, CLOSE = "<S2>", "</S2>"


GROUNDEDNESS = load_rubric("groundedness")


def rubric_of(kind: str | Format, scale: Scale, **options: Any) -> Rubric:
    reply = FORMATS[kind] if isinstance(kind, str) else kind
    settings: dict[str, Any] = {"levels": {}, "not_applicable": (), "weighted": True, **options}
    return GROUNDEDNESS.with_options(reply=reply, scale=scale, **settings)


def reply_of(pieces: Sequence[Piece], **options: Any) -> Reply:
    return Reply(text_of(pieces), "stop", tokens=tokens_of(logprobs_of(pieces, **options)))


def verdict_of(kind: str | Format, scale: Scale, pieces: Sequence[Piece], **options: Any) -> Verdict:
    return rubric_of(kind, scale).read(reply_of(pieces, **options))


KNOWN: list[Any] = [
    # Every format, with numbers and with labels.
    ("tags", FIVE, ["<S1>", "r", "</S1>", OPEN, FOUR, CLOSE], FOUR_SHARES),  # tags
    ("json", FIVE, ['{"score"', ":", " ", FOUR, "}"], FOUR_SHARES),  # json
    ("json", FIVE, ['{"score": "', FOUR, '"}'], FOUR_SHARES),  # json, a string
    ("json", FIVE, ["```json\n", '{"score":', FOUR, "}\n```"], FOUR_SHARES),  # json, fenced
    ("banded", FIVE, ["Analysis: a\n", "Score: ", FOUR, "\n***"], FOUR_SHARES),  # banded
    ("plain", FIVE, [FOUR], FOUR_SHARES),  # plain
    ("tags", YES, [OPEN, {"yes": 0.8, "no": 0.2}, CLOSE], {"yes": 0.8, "no": 0.2}),  # label
    # json, labels
    (
        "json",
        THREE,
        ['{"score": "', {"not": 0.9, "supported": 0.05, "part": 0.05}, ' supported"}'],
        {"supported": 0.05, "partially supported": 0.05, "not supported": 0.9},
    ),
    ("banded", YES, ["Score:", {" No": 0.9, " Yes": 0.1}, "."], {"yes": 0.1, "no": 0.9}),
    ("plain", YES, [{"Yes": 0.7, "No": 0.3}], {"yes": 0.7, "no": 0.3}),  # plain, a label
    # Digits and labels that are not the verdict.
    # digits in the reasoning
    (
        "tags",
        FIVE,
        ["<S1>", {"5": 0.9, "4": 0.1}, " of ", {"4": 1.0}, "</S1>", OPEN, FOUR, CLOSE],
        FOUR_SHARES,
    ),
    # key in a string
    ("json", FIVE, ['{"reasoning": "score: ', "4", '", "score": ', FOUR, "}"], FOUR_SHARES),
    ("tags", FIVE, ["<S0>", OPEN, "2", CLOSE, "</S0>", OPEN, FOUR, CLOSE], FOUR_SHARES),  # S0
    (
        "plain",
        YES,
        ["<think>", "Yes", "?", "</think>", "\n", {"Yes": 0.7, "No": 0.3}],
        {"yes": 0.7, "no": 0.3},
    ),
    ("tags", FIVE, ["<S2>Score: ", FOUR, "/5</S2>"], FOUR_SHARES),  # a label of its own
    ("tags", FIVE, [OPEN, FOUR, "/", {"5": 0.5, "4": 0.5}, CLOSE], FOUR_SHARES),  # 4/5
    ("tags", FIVE, ["grüße 東京 ", OPEN, FOUR, CLOSE], FOUR_SHARES),  # bytes before are counted
    # Tokens with more than the verdict.
    ("tags", FIVE, ["<S2", {">4": 0.6, ">5": 0.3, ">2": 0.1}, CLOSE], FOUR_SHARES),  # >4
    ("tags", FIVE, [OPEN, {"4</": 0.6, "5</": 0.3, "2": 0.1}, "S2>"], FOUR_SHARES),  # 4</
    ("json", FIVE, ['{"score":', {' "4': 0.6, ' "5': 0.3, " 2": 0.1}, '"}'], FOUR_SHARES),  # a quotation mark
    ("json", FIVE, ['{"score":', {" 4": 0.6, "5": 0.3, "2": 0.1}, "}"], FOUR_SHARES),  # a blank
    ("tags", FIVE, [OPEN, {"**4": 0.6, "5": 0.3, "*2": 0.1}, "**</S2>"], FOUR_SHARES),  # emphasis
    ("plain", FIVE, [{"４": 0.6, "5": 0.3, "２": 0.1}], FOUR_SHARES),  # full-width digits
    # Values that begin alike.
    ("plain", TEN, [{"10": 0.7, "1": 0.2, "9": 0.1}], {"1": 0.2, "9": 0.1, "10": 0.7}),  # 10
    ("plain", TEN, [{"1": 0.7, "10": 0.2, "9": 0.1}], {"1": 0.7, "9": 0.1, "10": 0.2}),  # 1, not 10
    ("plain", TEN, [{"1": 1.0, "10": 1e-5}], {"1": 1 - 1e-5, "10": 1e-5}),  # 10, however improbable
    ("plain", TEN, [{"7": 0.985, "1": 0.015}], {"7": 1.0}),  # a little mass on what may go on
    ("tags", TEN, [OPEN, {"1</": 0.6, "9</": 0.4}, "S2>"], {"1": 0.6, "9": 0.4}),  # 1, ended in its token
    # labels, ended in their token
    (
        "tags",
        PARTLY,
        [OPEN, {"supported<": 0.6, "supported partly<": 0.3, "not": 0.1}, "/S2>"],
        {"supported": 0.6, "supported partly": 0.3, "not supported": 0.1},
    ),
    # a label that begins another one, each with a token of its own
    (
        "tags",
        Choices({"no": 0, "not sure": None, "yes": 1}),
        [OPEN, {"no": 0.6, "not": 0.1, "yes": 0.3}, CLOSE],
        {"no": 0.6, "not sure": 0.1, "yes": 0.3},
    ),
    ("plain", YES, [{"Y": 0.7, "No": 0.3}, "es"], {"yes": 0.7, "no": 0.3}),  # the first letter
    ("plain", YES, [{"yes": 0.5, "Yes": 0.2, " YES": 0.1, "no": 0.2}], {"yes": 0.8, "no": 0.2}),
    # Signs belong to a label, and the first place of a verdict that is stated twice is weighed.
    ("plain", SIGNED, [{"-": 0.6, "1": 0.4}, "1"], {"-1": 0.6, "1": 0.4}),  # a sign first
    ("plain", GRADES, [{"A": 0.5, "A-": 0.3, "B": 0.2}], {"A": 0.5, "A-": 0.3, "B": 0.2}),  # A-
    ("tags", FIVE, [OPEN, FOUR, CLOSE, OPEN, {"4": 1.0}, CLOSE], FOUR_SHARES),  # stated twice
    ("json", FIVE, ["{'score': ", FOUR, "}"], FOUR_SHARES),  # a repaired object
    (Line("Rating"), FIVE, ["r\nRating: ", FOUR, "\nbye"], FOUR_SHARES),  # a line
    (Line("Rating", brackets=True), FIVE, ["Rating: [[", FOUR, "]]"], FOUR_SHARES),  # [[4]]
    # Chinese, also in tokens that split a character.
    ("plain", CHINESE, [{"有": 0.8, "无": 0.2}, "依据"], {"有依据": 0.8, "无依据": 0.2}),  # Chinese
    # two bytes of three
    (
        "plain",
        CHINESE,
        [{b"\xe6\x9c": 0.8, b"\xe6\x97": 0.2}, b"\x89", "依据"],
        {"有依据": 0.8, "无依据": 0.2},
    ),
    ("tags", FIVE, ["<S1>", b"\xe4", b"\xbd\xa0</S1>", OPEN, FOUR, CLOSE], FOUR_SHARES),  # 你
    # Candidates.
    ("plain", FIVE, [{"4": 0.985}], {"4": 1.0}),  # only the sampled token, with 0.98 or more
    ("plain", FIVE, [{"4": 0.98, "five": 0.02}], {"4": 1.0}),  # exactly 0.98 of mass
    ("plain", FIVE, [{"2": 0.1, "4": 0.6, "5": 0.3}], FOUR_SHARES),  # an improbable one was sampled
    ("plain", FIVE, [{"2": 0.0, "4": 0.6, "5": 0.4}], {"4": 0.6, "5": 0.4}),  # sampled with -9999.0
    ("plain", FIVE, [{"4": 0.985, "5.5": 0.005, "6": 0.005, "-1": 0.005}], {"4": 1.0}),  # off the scale
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
    ("tags", FIVE, ["<S2", {">4": 0.8, "5": 0.2}, CLOSE]),  # a candidate without the >
    ("plain", TEN, [{"1": 0.8, "9": 0.2}, "0"]),  # 10 as two tokens
    ("plain", TEN, [{"1": 0.8, "9": 0.2}]),  # 1, where 10 may be two tokens
    ("plain", TEN, [{"1": 0.05, "9": 0.95}, "0"]),  # 10 as two tokens, improbable
    ("tags", PARTLY, [OPEN, {"supported": 0.9, "not": 0.1}, CLOSE]),  # supported, or supported partly
    ("tags", PARTLY, [OPEN, {"supported": 0.9, "not": 0.1}, " partly", CLOSE]),  # supported partly
    ("plain", CHINESE, [{b"\xe6": 1.0}, b"\x9c\x89", "依据"]),  # a byte that both labels begin with
    ("plain", FIVE, [b"\xef\xbc", b"\x94"]),  # a full-width digit in two tokens
    ("plain", FIVE, [{"4": 0.5, "5": 0.47, "four": 0.03}]),  # less than 0.98 of mass
    ("plain", FIVE, [{"4": 0.97}]),  # only the sampled token, with less than 0.98
    ("plain", FIVE, ["0", FOUR]),  # a leading zero in a token of its own
    ("plain", Scale(worst=0, best=5, integer=True), [{"0": 0.9, "5": 0.1}, "4"]),  # 0 of 04
    ("json", FIVE, ['{"score": "', "\\u0034", '"}']),  # a value written with an escape
    ("plain", GRADES, ["A", {"-": 0.6, "<": 0.4}]),  # a sign that is uncertain
    ("plain", GRADES, [{"A": 0.9, "B": 0.1}]),  # A, where A- may be two tokens
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


@pytest.mark.parametrize(
    ("text", "pieces", "is_known"),
    [
        pytest.param(TEXT, SPELT, True, id="the text"),
        pytest.param(TEXT, [*SPELT, "<|im_end|>"], True, id="an end-of-text token"),
        pytest.param(TEXT, [*SPELT, "\n", "</s>"], True, id="a newline and an end-of-text token"),
        pytest.param(TEXT, [*SPELT, ""], True, id="an end-of-text token without text"),
        pytest.param(TEXT, [" ", *SPELT], True, id="a blank that the endpoint has stripped"),
        pytest.param(TEXT + "\n", SPELT, True, id="a newline more"),
        pytest.param(
            TEXT, ["<S2>", {"5": 0.9, "4": 0.1}, "</S2>\n</think>", *SPELT], True, id="reasoning taken out"
        ),
        pytest.param(TEXT, ["<S1>r</S1>", OPEN, "5", CLOSE], False, id="another verdict"),
        pytest.param(TEXT, SPELT[1:], False, id="a token is missing"),
        pytest.param(TEXT, [*SPELT, "<a>", "<b>"], False, id="two tokens more"),
        pytest.param(TEXT, [], False, id="no tokens"),
    ],
)
def test_tokens_must_spell_the_text(text: str, pieces: list[Piece], is_known: bool) -> None:  # noqa: FBT001
    verdict = rubric_of("tags", FIVE).read(Reply(text, tokens=tokens_of(logprobs_of(pieces))))
    assert verdict.value == 4
    assert (verdict.distribution == pytest.approx(FOUR_SHARES)) is is_known
    assert (UNKNOWN in verdict.warnings) is not is_known


def test_reasoning_that_the_endpoint_took_out_of_the_text_holds_no_verdict() -> None:
    tokens = tokens_of(logprobs_of([{"4": 0.9, "2": 0.1}, "?", "</think>", FOUR, "<|im_end|>"]))
    verdict = rubric_of("plain", FIVE).read(Reply("4", tokens=tokens))
    assert verdict.distribution == pytest.approx(FOUR_SHARES)


@pytest.mark.parametrize("pieces", [row[2] for row in KNOWN if "b'" not in str(row[2])])
def test_tokens_without_bytes_are_read_by_their_text(pieces: list[Piece]) -> None:
    with_bytes, without = (tokens_of(logprobs_of(pieces, has_bytes=has_bytes)) for has_bytes in (True, False))
    assert without == with_bytes


def test_split_character_without_bytes_is_unusable() -> None:
    verdict = verdict_of("plain", CHINESE, [b"\xe6\x9c", b"\x89", "依据"], has_bytes=False)
    assert (verdict.label, verdict.distribution, verdict.warnings) == ("有依据", None, (UNKNOWN,))


def test_fewer_candidates_than_asked_for_serve_if_they_have_the_mass() -> None:
    pieces: list[Piece] = [{"5": 0.02, "4": 0.6, "2": 0.36, "3": 0.02}]
    assert verdict_of("plain", FIVE, pieces, most=2).distribution == pytest.approx(
        {"2": 0.36 / 0.98, "4": 0.6 / 0.98, "5": 0.02 / 0.98}
    ), "the sampled token is known though it is not among the likeliest"
    assert verdict_of("plain", FIVE, pieces, most=1).warnings == (UNKNOWN,)


NOTHING: dict[str, Any] = {}
ENTRY: dict[str, Any] = {"token": "4", "logprob": -0.01, "bytes": [52], "top_logprobs": []}


@pytest.mark.parametrize(
    "logprobs",
    [
        pytest.param({"content": [ENTRY]}, id="as it should be"),
        pytest.param({"content": [{"token": "4", "logprob": 0}]}, id="neither bytes nor candidates"),
        pytest.param({"content": [{**ENTRY, "bytes": None, "top_logprobs": None}]}, id="both null"),
        pytest.param({"content": [{**ENTRY, "bytes": "4"}]}, id="bytes as text"),
        pytest.param({"content": [{**ENTRY, "bytes": [-1, 4000]}]}, id="no bytes"),
        pytest.param({"content": [{**ENTRY, "bytes": ["4"]}]}, id="bytes of text"),
        pytest.param({"content": [{**ENTRY, "top_logprobs": {"4": -0.1}}]}, id="candidates as a mapping"),
        pytest.param({"content": [{**ENTRY, "top_logprobs": 20}]}, id="a number of candidates"),
        pytest.param({"content": [{**ENTRY, "top_logprobs": [None, "4", NOTHING]}]}, id="other candidates"),
        pytest.param(
            {"content": [{**ENTRY, "top_logprobs": [{"token": "5", "logprob": float("nan")}]}]}, id="NaN"
        ),
        pytest.param({"content": [{**ENTRY, "logprob": 1e9}]}, id="a probability above 1"),
    ],
)
def test_odd_entry_is_read_as_far_as_it_goes(logprobs: Any) -> None:
    verdict = rubric_of("plain", FIVE).read(Reply("4", tokens=tokens_of(logprobs)))
    assert verdict.distribution == {"4": 1.0}


@pytest.mark.parametrize(
    "logprobs",
    [
        *(None, [], {}, "4", {"content": None}, {"content": []}, {"content": "4"}, {"content": {"4": 1}}),
        {"content": ["4"]},
        {"content": [{"token": "4"}]},
        {"content": [{"token": 4, "logprob": -0.1}]},
        {"content": [{"token": "4", "logprob": None}]},
        {"tokens": ["4"], "token_logprobs": [-0.1], "top_logprobs": [{"4": -0.1}]},
    ],
)
def test_logprobs_of_another_shape_are_none(logprobs: Any) -> None:
    assert tokens_of(logprobs) is None
    verdict = rubric_of("plain", FIVE).read(Reply("4", tokens=tokens_of(logprobs)))
    assert (verdict.value, verdict.warnings) == (4, (UNKNOWN,))


def test_sampled_token_without_a_number_is_unusable() -> None:
    content = [{**ENTRY, "logprob": float("nan"), "top_logprobs": [{"token": "4", "logprob": -0.001}]}]
    verdict = rubric_of("plain", FIVE).read(Reply("4", tokens=tokens_of({"content": content})))
    assert (verdict.value, verdict.distribution, verdict.warnings) == (4, None, (UNKNOWN,))


def test_sentence_that_claims_nothing_has_nothing_to_weigh() -> None:
    verdict = verdict_of(Scorecard(), FIVE, card("NO CLAIM", FOUR))
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
    assert (plain.value, plain.score, plain.passed, plain.expected, plain.distribution) == (
        4,
        0.75,
        True,
        None,
        None,
    )
    verdict = rubric_of("tags", FIVE, threshold=0.5).read(reply_of(pieces))
    assert verdict.value == 4
    assert verdict.distribution == pytest.approx({"1": 0.35, "2": 0.25, "4": 0.4})
    assert verdict.expected == pytest.approx(2.45)
    assert verdict.score == pytest.approx(1.45 / 4)
    assert verdict.passed is False
    assert verdict.warnings == ()


def test_probability_of_yes_is_the_score() -> None:
    verdict = verdict_of("plain", YES, [{"No": 0.7, "Yes": 0.3}])
    assert (verdict.value, verdict.label) == (0, "no")
    assert verdict.score == verdict.expected == pytest.approx(0.3)


def test_scale_with_its_best_end_below_is_weighed() -> None:
    verdict = verdict_of("plain", Scale(worst=5, best=1, integer=True), [{"1": 0.75, "5": 0.25}])
    assert verdict.expected == pytest.approx(2)
    assert verdict.score == pytest.approx(0.75)


def groundedness(piece: Piece) -> Verdict:
    return load_rubric("groundedness", weighted=True).read(reply_of(["<S2>", piece, "</S2>"]))


def test_value_that_is_not_applicable_has_no_part_in_the_mean() -> None:
    verdict = groundedness({"5": 0.5, "3": 0.25, "4": 0.25})
    assert (verdict.status, verdict.label) == ("ok", "grounded")
    assert verdict.expected == pytest.approx((5 * 0.5 + 4 * 0.25) / 0.75)
    assert verdict.distribution == pytest.approx({"3": 0.25, "4": 0.25, "5": 0.5})


def test_verdict_that_is_not_applicable_stays_so() -> None:
    verdict = groundedness({"3": 0.4, "5": 0.6})
    assert (verdict.status, verdict.value, verdict.score) == ("not_applicable", 3, None)
    assert (verdict.expected, verdict.passed) == (None, True)
    assert verdict.distribution == pytest.approx({"3": 0.4, "5": 0.6})


@pytest.mark.parametrize(
    ("piece", "rest", "status", "score"),
    [
        pytest.param(
            {"supported": 0.5, "cannot": 0.2, "not": 0.3}, [], "ok", 0.5 / 0.8, id="another verdict"
        ),
        pytest.param({"cannot": 0.6, "supported": 0.4}, [" tell"], "not_applicable", None, id="the verdict"),
    ],
)
def test_label_without_a_score_has_no_part_in_the_mean(
    piece: Piece, rest: list[Piece], status: str, score: float | None
) -> None:
    verdict = verdict_of("tags", THREE, [OPEN, piece, *rest, CLOSE])
    assert verdict.status == status
    assert verdict.score == verdict.expected == (score and pytest.approx(score))
    assert verdict.distribution is not None


def card(*pieces: Piece) -> list[Piece]:
    return [
        part
        for number, piece in enumerate(pieces)
        for part in (
            f"Statement Sentence: It has {number}.\nSupporting Evidence: 5\nScore:",
            " ",
            piece,
            "\n\n",
        )
    ]


def test_each_sentence_of_a_scorecard_is_weighed() -> None:
    verdict = verdict_of(Scorecard(), FIVE, card(FOUR, {"1": 0.9, "5": 0.1}))
    assert [part.value for part in verdict.parts] == [4, 1]
    assert [part.score for part in verdict.parts] == pytest.approx([(4.1 - 1) / 4, 0.1])
    assert verdict.score == pytest.approx(((4.1 - 1) / 4 + 0.1) / 2)
    assert (verdict.value, UNKNOWN in verdict.warnings) == (2.5, False)


def test_each_label_of_a_scorecard_is_weighed() -> None:
    verdict = verdict_of(Scorecard(), YES, card({"yes": 0.75, "no": 0.25}, {"no": 0.5, "yes": 0.5}))
    assert [(part.label, part.score) for part in verdict.parts] == [("yes", 0.75), ("no", 0.5)]


def test_scorecard_keeps_the_values_of_sentences_that_cannot_be_weighed() -> None:
    verdict = verdict_of(Scorecard(), FIVE, card(FOUR, {"1": 0.5, "one": 0.5}, {"2": 0.5, "two": 0.5}))
    assert [part.score for part in verdict.parts] == pytest.approx([(4.1 - 1) / 4, 0, 0.25])
    assert verdict.warnings.count(UNKNOWN) == 1


def test_judge_asks_for_probabilities_only_if_weighted() -> None:
    case = {"query": "q", "context": "c", "response": "r"}
    for weighted, added in ((False, {}), (True, {"logprobs": True, "top_logprobs": 20})):
        model = ScriptedModel(TEXT)
        load("groundedness", model=model, weighted=weighted).judge(case)
        sent = dict(model.asked[0].parameters)
        assert {name: sent.get(name) for name in ("logprobs", "top_logprobs") if name in sent} == added
    model = ScriptedModel(TEXT)
    load("groundedness", model=model, weighted=True, parameters={"top_logprobs": 5}).judge(case)
    assert model.asked[0].parameters["top_logprobs"] == 5


@pytest.mark.parametrize(
    "scale",
    [
        pytest.param(Scale(worst=0, best=20, integer=True), id="21 values"),
        pytest.param(Scale(worst=0, best=1), id="fractions"),
        pytest.param(Scale(worst=-1, best=1, integer=True), id="below 0"),
    ],
)
def test_scale_whose_values_a_token_cannot_tell_apart_is_refused(scale: Scale) -> None:
    with pytest.raises(PromptError, match="labels or at most 20 whole numbers") as caught:
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
SPLITS = st.sets(st.integers(1, 120))


def tokens_split(text: bytes, splits: set[int], place: int, other: bytes) -> list[Piece]:
    """The text in tokens, of which the one where the verdict begins has an alternative, `other`.

    Tokens with digits elsewhere have alternatives too.
    """
    cuts = [0, *sorted(split for split in splits if split < len(text)), len(text)]
    decoy = bytes.maketrans(b"1245", b"5111")
    pieces: list[Piece] = []
    for start, end in pairwise(cuts):
        token = text[start:end]
        before, here, after = (
            text[start : max(start, min(place, end))],
            text[max(start, place) : min(end, place + len(other))],
            text[max(start, min(end, place + len(other))) : end],
        )
        changed = before + other[max(start, place) - place :][: len(here)] + after
        if not start <= place < end:
            changed = token.translate(decoy)
        pieces.append({token: 0.75, changed: 0.25} if changed != token else token)
    return pieces


@pytest.mark.parametrize("kind", PREFIXES)
@given(splits=SPLITS)
@example(splits=set())
@example(splits=set(range(1, 120)))
def test_number_is_found_in_any_split(kind: str, splits: set[int]) -> None:
    prefix = PREFIXES[kind].encode()
    pieces = tokens_split(prefix + b"4" + SUFFIXES[kind].encode(), splits, len(prefix), b"2")
    verdict = verdict_of(kind, FIVE, pieces)
    assert (verdict.value, verdict.distribution) == (4, {"2": 0.25, "4": 0.75})


@pytest.mark.parametrize("kind", PREFIXES)
@given(splits=SPLITS)
@example(splits=set())
@example(splits=set(range(1, 120)))
def test_label_is_found_in_any_split(kind: str, splits: set[int]) -> None:
    quote = '"' if kind == "json" else ""
    prefix, suffix = f"{PREFIXES[kind]}{quote}".encode(), f"{quote}{SUFFIXES[kind]}".encode()
    said, other = "有依据".encode(), "无依据".encode()
    pieces = tokens_split(prefix + said + suffix, splits, len(prefix), other)
    verdict = verdict_of(kind, CHINESE, pieces)
    assert verdict.label == "有依据"
    is_first_byte_alone = len(prefix) + 1 in splits  # it is the same in both labels
    assert verdict.distribution == (None if is_first_byte_alone else {"有依据": 0.75, "无依据": 0.25})
