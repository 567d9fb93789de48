"""Every format reads a score only in its place, and raises an error for any other reply."""

from __future__ import annotations

import json
import math
from typing import Any

import formatter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge import Reply, ReplyError, Scale
from groundjudge.errors import WHAT_IS_WRONG
from groundjudge.replies import FORMATS, Adjacent, Banded, Format, Json, Plain, Reading, Scorecard, Tags
from groundjudge.replies.folded import fold

SCALES = {
    "plain": Scale(worst=1, best=5),
    "tags": Scale(worst=1, best=5, integer=True),
    "json": Scale(worst=0, best=1),
    "scorecard": Scale(worst=0, best=10),
    "adjacent": Scale(worst=1, best=5),
    "banded": Scale(worst=0, best=100),
}
READERS: dict[str, Format] = {
    "plain": Plain(),
    "tags": Tags(),
    "json": Json(),
    "scorecard": Scorecard(),
    "adjacent": Adjacent(),
    "banded": Banded(),
}


def read(kind: str, text: str, finish_reason: str | None = "stop", **more: Any) -> Reading:
    return READERS[kind].read(Reply(text, finish_reason, **more), SCALES[kind])


def outcome(kind: str, text: str, finish_reason: str | None = "stop") -> object:
    """The value of a reply, the values of its parts if it has none, or the code of the error."""
    try:
        reading = read(kind, text, finish_reason)
    except ReplyError as error:
        return error.code
    return reading.value if reading.value is not None else [part.value for part in reading.parts]


def block(score: str, evidence: str = "b") -> str:
    return f"Statement Sentence: A stands here.\nSupporting Evidence: {evidence}\n{score}"


def passage(recall: str, precision: str = "(5 * 1.0)", stated: str = "5.0") -> str:
    return (
        f"RECALL_Reasoning: r\n{recall}\n"
        f"PRECISION_Reasoning: p\nPRECISION_Formula: {precision}\nPRECISION_Weighted_Summed_Score: {stated}"
    )


READ_AS = [
    # kind, reply, read as, warnings
    ("tags", "<S0>..</S0><S1>r</S1><S2>4</S2>", 4, ()),
    ("tags", "between the tags <S2>your Score</S2> ... <S2>4</S2>", 4, ()),
    ("tags", "<S2>4</S2> ... as in <S2>your Score</S2>", 4, ()),
    ("tags", "<S2>**4**</S2>", 4, ()),
    ("tags", "<s2>4</s2>", 4, ()),
    ("tags", "<S2>Score: 4/5</S2>", 4, ()),
    ("tags", "< S2 > 4 < /S2 >", 4, ()),
    ("tags", "<S2>４</S2>", 4, ()),
    ("tags", "<S\u200b2>4</S2>", 4, ()),
    ("tags", "```xml\r\n<S1>r</S1>\r\n<S2>4</S2>\r\n```", 4, ()),
    ("tags", "<S2>4 (mostly)</S2>", 4, ()),
    ("tags", "<S2>4 - mostly correct</S2>", 4, ()),
    ("tags", "<S2>4 out of 5</S2>", 4, ()),
    ("tags", "<S2>4.0</S2>", 4, ()),
    ("tags", "<S2>4\nbecause it fits</S2>", 4, ()),
    ("tags", "<S2>4。</S2>", 4, ()),
    ("tags", "<S2>4，大部分正确</S2>", 4, ()),
    ("tags", "<S2>\u200f4\u200e</S2>", 4, ()),
    ("tags", "<S2>4 (4/5)</S2>", 4, ()),
    ("tags", "...<S2>4", 4, ("unclosed_tag",)),
    ("tags", "<think><S2>5</S2></think><S2>2</S2>", 2, ()),
    ("tags", "<thinking>it is <S2>5</S2>\n</thinking>\n<S2>2</S2>", 2, ()),
    ("tags", "Let me see.\n</think>\n<S1>r</S1><S2>2</S2>", 2, ()),
    ("tags", "<S1>a <think> b</S1><S2>2</S2>", 2, ()),
    ("tags", "<S2>2</S2> again: <S2>2</S2>", 2, ()),
    ("json", '{"reasoning":"score is 1,} good, ] end","score":0.5}', 0.5, ()),
    ("json", 'Sure!\n```json\n{"reasoning": "r", "score": 0.5}\n```\nAnything else?', 0.5, ()),
    ("json", '```\n{"reasoning": "r", "score": 0.5}\n```', 0.5, ()),
    ("json", '{"score": "0.8"}', 0.8, ()),
    ("json", '{"score": "0,8"}', 0.8, ()),
    ("json", '{"Score": 0.8}', 0.8, ()),
    ("json", '{"reasoning": "r", "score": 0,8}', 0.8, ()),
    ("json", "{'reasoning': 'a 5\" pipe', 'score': 0.8}", 0.8, ()),
    ("json", '{"score": 1}', 1, ()),
    ("json", "{'reasoning': 'it fits', 'score': 0.8,}", 0.8, ()),
    ("json", '{"reasoning": "line\nbreak", "score": 0.8}', 0.8, ()),
    ("json", '{"reasoning": "r", "score": 0.8} // done', 0.8, ()),
    ("json", '{"reasoning": "r", /* hm */ "score": 0.8}', 0.8, ()),
    ("json", '{ is a brace {"score": 0.8}', 0.8, ()),
    ("json", '<think>{"score": 1}</think>{"score": 0.2}', 0.2, ()),
    ("json", '{"score": your Score} means {"score": 0.2}', 0.2, ()),
    ("json", '[{"score": 0.2}]', 0.2, ()),
    ("scorecard", block("Score: 8/10"), 8, ()),
    ("scorecard", block("**Score:** 8"), 8, ()),
    ("scorecard", block("**Score**: 8"), 8, ()),
    ("scorecard", block("- Score: 8"), 8, ()),
    ("scorecard", block("**Score: 8**"), 8, ()),
    ("scorecard", block("`Score: 8`"), 8, ()),
    ("scorecard", block("\u200fScore:\u200f 8"), 8, ()),
    ("scorecard", block("Score:\n8"), 8, ()),
    ("scorecard", block("Score: 8\nScore: your Score"), 8, ()),
    (
        "scorecard",
        (
            "Statement Sentence 1: A\nSupporting Evidence 1: b\nScore 1: 8\n"
            "Statement Sentence 2: B\nSupporting Evidence 2: c\nScore 2: 3"
        ),
        5.5,
        (),
    ),
    ("scorecard", block("Score： ８"), 8, ()),
    ("scorecard", block("### Score: 8"), 8, ()),
    ("scorecard", block("Score: 10 (all 3 facts match)"), 10, ()),
    ("scorecard", block("Score: 7.5"), 7.5, ()),
    ("scorecard", block("Score: 7,5"), 7.5, ()),
    ("scorecard", block("Score: 5", "The final Score was 3-1 in 2014."), 5, ()),
    ("scorecard", "Statement: A.\nSupporting Evidence: b\nScore: 3", 3, ()),
    ("scorecard", "Criteria: A.\nSupporting Evidence: b\nScore: 3", 3, ()),
    ("scorecard", block("Score: 8") + "\n\nStatement Sentence: B.\nSupporting Evidence: c\nScore: 4", 6, ()),
    ("scorecard", block("Score: your Score") + "\n" + block("Score: 4"), 4, ()),
    (
        "adjacent",
        passage("**RECALL_Formula**: (4 * 0.8) + (5 * 0.2)\nRECALL_Weighted_Summed_Score: 4.2"),
        [4.2, 5],
        (),
    ),
    (
        "adjacent",
        passage("RECALL_Formula: (3 * 0.9) + (4 * 0.1)\nRECALL_Weighted_Summed_Score: 3.4"),
        [3.1, 5],
        ("weighted_sum_mismatch",),
    ),
    ("adjacent", passage("RECALL_Weighted_Summed_Score: 3.4"), [3.4, 5], ("formula_missing",)),
    ("adjacent", passage("RECALL_Formula: (3 * 70%) + (4 * 30%)"), [3.3, 5], ()),
    ("adjacent", passage("RECALL_Formula: (3 * 70) + (4 * 30) = 3.3"), [3.3, 5], ()),
    ("adjacent", passage("RECALL_Formula: 4 × 0.5 + 5 × 0.5"), [4.5, 5], ()),
    ("adjacent", passage("RECALL Formula: (5 * 0.2) + (4 * 0.8)"), [4.2, 5], ()),
    ("adjacent", passage("**RECALL_Formula: (4 * .8) + (5 * .2)**"), [4.2, 5], ()),
    ("adjacent", passage("RECALL_Formula: ((4 ⋅ 0.8) + (5 ∗ 0.2)) ≈ 4.2"), [4.2, 5], ()),
    ("adjacent", passage(r"RECALL_Formula: \[ (4 \times 0.8) + (5 \times 0.2) \]"), [4.2, 5], ()),
    ("adjacent", passage("RECALL_Formula: (5 * 1)", stated="(5 * 1.0) = 5.0"), [5, 5], ()),
    (
        "adjacent",
        passage("RECALL_Formula: (2 * 0.994) + (3 * 0.01)"),
        [pytest.approx(2.00996, abs=1e-4), 5],
        (),
    ),
    ("banded", "Analysis: a\nLevel: Mild Hallucination\nScore: 72", 72, ()),
    ("banded", "Score: 85%", 85, ()),
    ("banded", "Score: 85/100", 85, ()),
    ("banded", "**Score:** 85 out of 100 (close to the second answer)", 85, ()),
]


@pytest.mark.parametrize(("kind", "text", "value", "warnings"), READ_AS)
def test_reply_is_read_with_value_and_warnings(
    kind: str, text: str, value: object, warnings: tuple[str, ...]
) -> None:
    assert outcome(kind, text) == value
    assert read(kind, text).warnings == warnings


ERRORS = [
    ("tags", "<S2>5</S2>\n</think>\n<S2>2</S2>", "ambiguous"),
    ("tags", "<S2>5</S2> no, <S2>2</S2>", "ambiguous"),
    ("tags", "<S2>unsure</S2> no, <S2>2</S2>", "ambiguous"),
    ("json", '{"Score": 0.8, "SCORE": 0.2}', "ambiguous"),
    ("json", '{"score": 0.3, "score": 0.2}', "ambiguous"),
    ("scorecard", block("Score: 8\nScore: 4"), "ambiguous"),
    ("scorecard", block("Score: 8") + "\n\n" + block("Score: 4"), "ambiguous"),
    ("banded", "Analysis: a\nScore: 10\nOn reflection:\nScore: 30", "ambiguous"),
    ("banded", "Score: 50 came to mind\n**Score: 80**", "ambiguous"),
    ("banded", "Score: 60\nFinal Score: 80", "ambiguous"),
    (
        "json",
        'The answer contains {"score":1.0}.\n{"reasoning":"..","score":0.0}',
        "ambiguous",
    ),
    (
        "adjacent",
        passage("RECALL_Formula: (1 * 1.0)\nRECALL_Weighted_Summed_Score: 1")
        + "\n\n"
        + passage("RECALL_Formula: (2 * 1.0)\nRECALL_Weighted_Summed_Score: 2"),
        "ambiguous",
    ),
    ("tags", "<S2>10</S2>", "out_of_scale"),
    ("tags", "<S2>-3</S2>", "out_of_scale"),
    ("tags", "<S2>0</S2>", "out_of_scale"),
    ("tags", "<S2>3/10</S2>", "out_of_scale"),
    ("tags", "<S2>4.5</S2>", "not_integer"),
    ("tags", "<S2>4</S2> ... <S2>unsure</S2>", "ambiguous"),
    ("tags", "<S2>five</S2>", "not_a_number"),
    ("tags", "<S2>80%</S2>", "not_a_number"),
    ("tags", "<S2>4th</S2>", "not_a_number"),
    ("tags", "<S2>4e0</S2>", "not_a_number"),
    ("tags", "<S2>4.1.2</S2>", "not_a_number"),
    ("tags", "<S2></S2>", "not_a_number"),
    ("tags", "<S2>3-4</S2>", "ambiguous"),
    ("tags", "<S2>4, not 5</S2>", "ambiguous"),
    ("tags", "<S2>3 – 4</S2>", "ambiguous"),
    ("tags", "<S2>3 or 4</S2>", "ambiguous"),
    ("tags", "<S2>3 (or 4)</S2>", "ambiguous"),
    ("tags", "<S2>3, maybe 4</S2>", "ambiguous"),
    ("tags", "<S2>3\n4</S2>", "ambiguous"),
    ("tags", "<S2>3*4</S2>", "ambiguous"),
    ("tags", "<S2>3, or 4</S2>", "ambiguous"),
    ("tags", "<S2>3: maybe 4</S2>", "ambiguous"),
    ("tags", "<S2>3 / maybe 4</S2>", "ambiguous"),
    ("tags", "<S2>3 (or perhaps a 4)</S2>", "ambiguous"),
    ("tags", "<S2>3 -> 4</S2>", "ambiguous"),
    ("tags", "<S2>3. No, 4</S2>", "ambiguous"),
    ("tags", "<S2>３、４</S2>", "ambiguous"),
    ("tags", "<S2>3 - ٤</S2>", "ambiguous"),
    ("tags", "<S2>3 (out of 10)</S2>", "out_of_scale"),
    ("tags", "<S2>3score: 4</S2>", "not_a_number"),
    ("tags", "<S2>4/5 or 5/5</S2>", "ambiguous"),
    ("tags", "I would give it a 4.", "no_verdict"),
    ("tags", "S2: 4", "no_verdict"),
    ("tags", "<S2>your Score</S2>", "no_verdict"),
    ("tags", "<think>it is <S2>4</S2>", "no_verdict"),
    ("tags", "", "empty"),
    ("tags", " \u200b\n", "empty"),
    ("tags", "<think>hm</think>", "empty"),
    ("tags", "I'm sorry, but I can't help with that.", "refused"),
    ("tags", "Es tut mir leid, dabei kann ich nicht helfen.", "refused"),
    ("tags", "抱歉，我无法评价这个回答。", "refused"),
    ("json", '{"score": 42}', "out_of_scale"),
    ("json", '{"score": 1.7}', "out_of_scale"),
    ("json", '{"score": -0.1}', "out_of_scale"),
    ("json", '{"score": 1e999}', "out_of_scale"),
    ("json", '{"score": ' + "9" * 400 + "}", "out_of_scale"),
    ("json", '{"score": ' + "9" * 5000 + "}", "out_of_scale"),
    ("json", '{"score": "8/10"}', "out_of_scale"),
    ("json", '{"score": true}', "not_a_number"),
    ("json", '{"score": null}', "not_a_number"),
    ("json", '{"score": NaN}', "not_a_number"),
    ("json", '{"score": [0.5]}', "not_a_number"),
    ("json", '{"score": "high"}', "not_a_number"),
    ("json", '{"score": 0.5 or 0.6}', "ambiguous"),
    ("json", '{"score": 0, 8}', "ambiguous"),
    ("json", '{"score": 0.', "no_verdict"),
    ("json", '{"score": 1.0}\n{"score": 0.', "no_verdict"),
    ("json", "[1,2,3]", "no_verdict"),
    ("json", '"maybe"', "no_verdict"),
    ("json", '{"reasoning": "fine"}', "no_verdict"),
    ("json", "score: 0.8", "no_verdict"),
    ("json", '{"score": 1.0} {"score": 0.5} I prefer the first.', "ambiguous"),
    ("json", "[" * 100_000, "no_verdict"),
    ("json", "{" * 100_000, "no_verdict"),
    ("scorecard", block("Score: N/A"), "not_a_number"),
    ("scorecard", block("Score: 11"), "out_of_scale"),
    ("scorecard", block("Score: 4/5"), "out_of_scale"),
    ("scorecard", block("Score: 7-8"), "ambiguous"),
    ("scorecard", block("Score: 2 or 3"), "ambiguous"),
    ("scorecard", block("Score: 8") + "\n\nStatement Sentence: B.\nSupporting Evidence: c", "missing_score"),
    ("scorecard", block("Score: 8") + "\n\nSentence: B\nSupporting Evidence: c\nScore: 4", "ambiguous"),
    ("scorecard", block("Score:\n1. The evidence says so."), "not_a_number"),
    ("scorecard", "Score: 8", "no_verdict"),
    ("scorecard", "The statement is fully supported, 10/10.", "no_verdict"),
    ("adjacent", passage("RECALL_Formula: (2 * 0.5) + (4 * 0.5)"), "not_adjacent"),
    ("adjacent", passage("RECALL_Formula: (2 * 0.2) + (3 * 0.5) + (4 * 0.3)"), "not_adjacent"),
    ("adjacent", passage("RECALL_Formula: (3.5 * 1.0)"), "not_adjacent"),
    ("adjacent", passage("RECALL_Formula: (2 * 0.5) + (3 * 0.4)"), "bad_distribution"),
    ("adjacent", passage("RECALL_Formula: (2 * 0.5)"), "bad_distribution"),
    ("adjacent", passage("RECALL_Formula: (5 * 0.5) + (6 * 0.5)"), "out_of_scale"),
    ("adjacent", passage("RECALL_Formula: about 3.5"), "not_a_number"),
    ("adjacent", passage("RECALL_Formula: n/a"), "missing_score"),
    ("adjacent", passage("RECALL_Weighted_Summed_Score: 3 or 4"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: (1 * 1.0)\nRECALL_Formula: (2 * 1.0)"), "ambiguous"),
    ("adjacent", "Recall is 3.3 and precision 4.", "no_verdict"),
    ("banded", "Score: 85/10", "out_of_scale"),
    ("banded", "Score: 101", "out_of_scale"),
    ("banded", "Score: 60-80", "ambiguous"),
    ("banded", "Score: 1,000", "ambiguous"),
    ("banded", "Score: high", "not_a_number"),
    ("banded", "Score: 80\nScore: none", "ambiguous"),
    ("banded", "Analysis: the score is 80.", "no_verdict"),
]


@pytest.mark.parametrize(("kind", "text", "code"), ERRORS)
def test_unreadable_reply_raises_with_its_code(kind: str, text: str, code: str) -> None:
    with pytest.raises(ReplyError) as caught:
        read(kind, text)
    assert caught.value.code == code
    assert caught.value.reply == text


CUT_OFF = [
    ("tags", "<S1>r</S1><S2>4</S2>", 4),
    ("tags", "<S1>r</S1><S2>4", "truncated"),
    ("tags", "<S1>this response is", "truncated"),
    ("tags", "<S2>4</S2> ... <S2>", "truncated"),
    ("tags", "", "truncated"),
    ("tags", "<think>let me see", "truncated"),
    ("tags", "<S2>9</S2> and", "out_of_scale"),
    ("json", '{"reasoning": "r", "score": 0.5}', 0.5),
    ("json", '{"reasoning": "r", "score": 0.5', "truncated"),
    ("json", '{"reasoning": "r", "sc', "truncated"),
    ("json", '{"score": 0.5} {"reasoning": "r", "score": 0.', "truncated"),
    ("json", '{"score": 0.5} {"reasoning": "on second thoug', "truncated"),
    ("scorecard", block("Score: 8") + "\n", "truncated"),
    ("scorecard", block("Score: 8 (all of it)\n\n"), "truncated"),
    ("adjacent", passage("RECALL_Formula: (4 * 1.0)") + "\n", [4, 5]),
    ("adjacent", passage("RECALL_Formula: (4 * 1.0)"), "truncated"),
    ("adjacent", "RECALL_Reasoning: r\nRECALL_Formula: (4 * 1.0)\nPREC", "truncated"),
    ("banded", "Analysis: a\nLevel: Mild\nScore: 72\n", 72),
    ("banded", "Analysis: a\nLevel: Mild\nScore: 72", "truncated"),
    ("banded", "Analysis: a\nLevel: Mild\nScore: 72.", "truncated"),
    ("banded", "Analysis: a\nLevel: Mild\nScore: 7-", "truncated"),
    ("banded", "Analysis: a\nLevel: Mild\nScore: 72/100", 72),
    ("banded", "Analysis: a", "truncated"),
]


@pytest.mark.parametrize(("kind", "text", "read_as"), CUT_OFF)
@pytest.mark.parametrize("finish_reason", ["length", "max_tokens", "model_length"])
def test_cut_off_reply_is_read_only_if_its_verdict_is_complete(
    kind: str, text: str, read_as: object, finish_reason: str
) -> None:
    assert outcome(kind, text, finish_reason) == read_as


@pytest.mark.parametrize("kind", FORMATS)
def test_filtered_and_refused_replies_raise_refused(kind: str) -> None:
    good = {
        "plain": "4",
        "tags": "<S2>4</S2>",
        "json": '{"score": 1}',
        "scorecard": block("Score: 8"),
        "adjacent": passage("RECALL_Formula: (4 * 1.0)"),
        "banded": "Score: 7",
    }[kind]
    assert outcome(kind, good, "content_filter") == "refused"
    with pytest.raises(ReplyError, match="refused"):
        read(kind, good, refusal="I must not judge this.")


def test_missing_score_names_the_sentence() -> None:
    with pytest.raises(ReplyError, match=r"'B is new\.'"):
        read("scorecard", block("Score: 8") + "\n\nStatement Sentence: B is new.\nSupporting Evidence: c")


def test_unreadable_score_in_a_block_names_the_sentence() -> None:
    with pytest.raises(ReplyError, match=r"'A stands here\.'"):
        read("scorecard", block("Score: N/A"))


def test_reason_is_the_last_one_before_the_verdict() -> None:
    assert read("tags", "<S1>first</S1><S2>2</S2> again: <S1>second</S1><S2>2</S2>").reason == "second"
    assert read("tags", "<S2>2</S2><S1>after</S1>").reason == "after"
    assert read("tags", "<S2>2</S2>").reason == ""


def test_scorecard_parts_have_sentence_and_quotes() -> None:
    reading = read(
        "scorecard",
        block("Score: 8", '"b ... c"')
        + "\n\nStatement Sentence: B.\nSupporting Evidence: NOTHING FOUND\nScore: 0",
    )
    assert [(part.name, part.quotes) for part in reading.parts] == [
        ("A stands here.", ('"b ... c"',)),
        ("B.", ()),
    ]


@pytest.mark.parametrize(
    ("evidence", "quotes"),
    [
        ("NOTHING FOUND", ()),
        ("nothing found.", ()),
        ("**NOTHING FOUND** (the source says nothing of it)", ()),
        ("Nothing found in the cellar was sold.", ("Nothing found in the cellar was sold.",)),
    ],
)
def test_nothing_found_gives_no_quotes(evidence: str, quotes: tuple[str, ...]) -> None:
    assert read("scorecard", block("Score: 0", evidence)).parts[0].quotes == quotes


def test_markdown_around_label_and_content_is_removed() -> None:
    (part,) = read(
        "scorecard", "**Statement: A stands here.**\n**Supporting Evidence: b**\n**Score: 8**"
    ).parts
    assert (part.name, part.reason) == ("A stands here.", "b")


LONG = [
    " ",
    "\n",
    "#",
    "> ",
    "*",
    "- ",
    "<",
    "<S2>4 ",
    '"',
    '\\"',
    "{",
    "}",
    "```\n",
    "your ",
    "4 or ",
    "Score: 8\n",
]
FRAMED = [
    *((kind, "%s") for kind in FORMATS),
    ("tags", "<S2>4%sx</S2>"),
    ("tags", "< %s"),
    ("json", '{"score": 0.5, %s'),
    ("json", '```%s{"score": 0.5}'),
    ("scorecard", block("Score: 8", "%s")),
    ("banded", "Score: 4%sx"),
    ("adjacent", passage("RECALL_Formula: (4 * 0.8) +%sx")),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("kind", "frame", "piece"),
    [
        pytest.param(kind, frame, piece, marks=() if (row + column) % 4 == 0 else pytest.mark.soak)
        for row, (kind, frame) in enumerate(FRAMED)
        for column, piece in enumerate(LONG)
    ],
)
def test_long_replies_are_read_in_linear_time(kind: str, frame: str, piece: str) -> None:
    outcome(kind, frame % (piece * (100_000 // len(piece))))


def test_names_of_tags_keys_and_labels_are_configurable() -> None:
    scale = Scale(worst=1, best=5, integer=True)
    assert Tags(value="rating", reason="why").read(Reply("<why>w</why><rating>3</rating>"), scale) == Reading(
        3, "w"
    )
    assert Json(value="rating", reason="why").read(Reply('{"why": "w", "rating": 3}'), scale) == Reading(
        3, "w"
    )
    assert Adjacent(names=("fit",)).read(Reply("FIT_Formula: (3 * 1)"), scale).parts[0].value == 3


REASONS = st.text(max_size=200) | st.lists(
    st.sampled_from(
        [
            "Score: 3",
            "score: 0.3",
            '{"score": 0.9}',
            '"score": 0.9',
            "<S2>3</S2>",
            "<S2>",
            "</S2>",
            "<S1>",
            "</S1>",
            "</think>",
            "<think>",
            "Level: none",
            "Analysis:",
            "Statement Sentence: x",
            "Supporting Evidence: y",
            "RECALL_Formula: (1 * 1.0)",
            "PRECISION_Formula: (1 * 1.0)",
            "PRECISION_Weighted_Summed_Score: 1",
            "RECALL_Weighted_Summed_Score: 1",
            "```",
            "your Score",
            "5",
            "I'm sorry",
            "{",
            "}",
            '"',
            "\\",
            "\r\n",
            "\n",
            "\u200b",
            "： ５",
            "٣",
            "𝔘",
        ]
    ),
    max_size=8,
).map("\n".join)
MARKS = {
    "tags": ("s1", "s2", "think"),
    "json": (),
    "banded": ("analysis", "level", "score"),
    "adjacent": ("recall", "precision"),
}
ON_SCALE = {
    "tags": st.integers(1, 5).map(float),
    "json": st.floats(0, 1),
    "banded": st.integers(0, 1000).map(lambda tenths: tenths / 10),
}
SHARES = st.integers(0, 20).map(lambda twentieth: twentieth / 20)


def contains_marks(reason: str, kind: str) -> bool:
    """Whether a reason contains text that can be read as tags or labels of the format."""
    folded = reason.casefold().replace("\u200b", "")
    return any(mark in folded for mark in MARKS[kind])


@pytest.mark.parametrize("kind", formatter.SINGLE)
@given(data=st.data(), reason=REASONS)
def test_formatted_value_and_reason_are_read_back(kind: str, data: st.DataObject, reason: str) -> None:
    value = data.draw(ON_SCALE[kind])
    text = formatter.SINGLE[kind](value, reason)
    try:
        reading = read(kind, text)
    except ReplyError:
        assert contains_marks(reason, kind)
        return
    assert reading.value == value
    if not contains_marks(reason, kind):
        assert reading.reason.strip() == reason.strip()
        assert reading.warnings == ()


@given(
    recall=st.tuples(st.integers(1, 4), SHARES),
    precision=st.tuples(st.integers(1, 4), SHARES),
    reason=REASONS,
)
def test_weighted_sums_are_read_back(
    recall: tuple[int, float], precision: tuple[int, float], reason: str
) -> None:
    try:
        reading = read("adjacent", formatter.adjacent(recall, precision, reason))
    except ReplyError:
        assert contains_marks(reason, "adjacent")
        return
    assert [part.value for part in reading.parts] == pytest.approx(
        [formatter.weighted(*recall), formatter.weighted(*precision)]
    )
    if not contains_marks(reason, "adjacent"):
        assert {part.reason for part in reading.parts} == {reason.strip()}


@given(
    blocks=st.lists(
        st.tuples(REASONS, REASONS, st.integers(0, 20).map(lambda half: half / 2)),
        min_size=1,
        max_size=6,
        unique_by=lambda block: " ".join(fold(formatter.one_line(block[0])).text.casefold().split()),
    )
)
def test_scorecards_are_read_back(blocks: list[tuple[str, str, float]]) -> None:
    reading = read("scorecard", formatter.scorecard(blocks))
    assert [part.value for part in reading.parts] == [score for _, _, score in blocks]
    assert [part.name for part in reading.parts] == [
        formatter.one_line(sentence) for sentence, _, _ in blocks
    ]
    assert [part.reason for part in reading.parts] == [
        formatter.one_line(evidence) for _, evidence, _ in blocks
    ]


@given(st.dictionaries(st.text(), st.text() | st.none() | st.floats(allow_nan=False) | st.lists(st.text())))
def test_valid_json_is_never_altered(fields: dict[str, Any]) -> None:
    others = {key: value for key, value in fields.items() if key.casefold() not in {"score", "reasoning"}}
    reason = json.dumps(others)
    reading = read("json", json.dumps({**others, "reasoning": reason, "score": 0.25}))
    assert (reading.value, reading.reason) == (0.25, reason)


def test_remark_after_a_score_is_the_reason() -> None:
    assert read("scorecard", block("Score: 10 (all 3 facts match)")).parts[0].reason == "all 3 facts match"
    assert read("scorecard", block("Score: 10")).parts[0].reason == "b"


PIECES = st.sampled_from(
    [
        *"<S0> <S1> </S1> <S2> </S2> <think> </think> { } [ ] , : \" ' \\ // /* ```json ``` ...".split(),
        *"4 5 -3 0.5 1e9 10/10 3/5 80% 7-8 NaN Infinity null true ٤ ４ ² ½ 五 0x4 1_0".split(),
        *"(0*1) (5*9) (3*0.7)+(4*0.3) Score: **Score:** Score： Level: Analysis:".split(),
        *"RECALL_Reasoning: RECALL_Formula: RECALL_Weighted_Summed_Score: PRECISION_Formula:".split(),
        *"""PRECISION_Weighted_Summed_Score: {"score": "score": 'score':""".split(),
        *("Statement Sentence:", "Supporting Evidence:", "NOTHING FOUND", "I'm sorry", "your Score"),
        *("\n", "\r", "\u200b", "\ud800", " "),
    ]
)
GARBAGE = st.text() | st.lists(PIECES, max_size=30).map("".join) | st.lists(PIECES, max_size=30).map(" ".join)


@pytest.mark.parametrize("kind", FORMATS)
@given(text=GARBAGE, finish_reason=st.sampled_from(["stop", "length", None, "content_filter"]))
def test_any_reply_gives_a_value_on_the_scale_or_a_reply_error(
    kind: str, text: str, finish_reason: str | None
) -> None:
    try:
        reading = read(kind, text, finish_reason)
    except ReplyError as error:
        known = error.code in WHAT_IS_WRONG
        assert known
        return
    found = [part.value for part in reading.parts] if reading.value is None else [reading.value]
    values = [value for value in found if value is not None]
    assert values
    assert len(values) == len(found)
    assert all(math.isfinite(value) and 0 <= SCALES[kind].score(value) <= 1 for value in values)
    reading.reason.encode()  # raises for unpaired surrogates, which cannot be written to a file
