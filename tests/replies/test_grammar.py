"""The grammar of replies: what is read, and that all else is an error with a code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from read_replies import (
    CHINESE,
    FOUR,
    GRADES,
    LEVELS,
    PLACED,
    READERS,
    SCALES,
    SIGNED,
    YES,
    block,
    card,
    outcome,
    passage,
)

from groundjudge import Choices, Reply, ReplyError, Scale, load_rubric
from groundjudge.replies import Adjacent, Asked, Banded, Format, Json, Line, Reading, Scorecard, Tags

IN_A_PLACE: dict[object, str] = {
    # What is read on a scale of 1 to 5 with labels of its numbers: places, between bars.
    4: (
        ' 4\n|4.0|+4|４|**4**|`4`|[4]|(4)|"4"|「4」|4.|4。|"4."|Score: 4|GRADE: 4|Score: 4/5|4 / 5|4 Out Of 5'
        "|(4/5)|4 (Incomplete)|4, incomplete|4 (4)|4, 4|4/5 (incomplete)|\u200b4\u200b|**Score: 4**"
    ),
    "ambiguous": (
        "4 - mostly correct|4 (mostly)|4: fine|4, fine|4 (grounded)|4 (a strict grader gives 2)"
        "|4 (could be five)|4，更正：三|4 or 5|4-5|4 → 5|3/10|4/4|4 out of 10|4 (out of 5)|4 of 5|80%|4th|4e0"
        "|4.1.2|4,500|1,000|2 + 2 = 4|4\n5|4, 5|4 (5)|~4|4?|4..|4 stars|about 4|four (4)|S3: 4|final score: 4"
        "|4/5/5|--4|4 4|٤|４、５|4²|4½|4 (x) (x) (x)|[4|4]|4 [incomplete]"
    ),
    "not_a_number": "| |five|½|NaN|true|四|-|good.",
    "out_of_scale": "0|6|-3|−3|+9|007",
    "not_integer": "4.5|4,5|1.01",
}


@pytest.mark.parametrize("kind", ["tags", "banded", "line", "plain", "json"])
@pytest.mark.parametrize(("expected", "places"), IN_A_PLACE.items())
def test_place_holds_one_value_and_nothing_beside_it(kind: str, expected: object, places: str) -> None:
    scale = SCALES["tags"]
    for place in places.split("|"):
        escaped = json.dumps(place)[1:-1] if kind == "json" else place
        found = outcome(kind, PLACED[kind].format(escaped), scale)
        if place.strip() or kind in ("tags", "json"):
            assert found == expected, place
        if isinstance(expected, str):
            assert isinstance(found, str), place


UNIT, THOUSANDS, FIVE = Scale(worst=0, best=1), Scale(worst=0, best=5000), Scale(worst=1, best=5)


@pytest.mark.parametrize(
    ("scale", "expected", "places"),
    [
        (Scale(worst=0, best=100), 85, "85%"),
        (Scale(worst=100, best=0), 85, "85 %"),
        (UNIT, 0.125, "0,125"),
        (UNIT, "ambiguous", "85%|1/1,000|1 out of 1,000|1 (1,000)"),
        (THOUSANDS, 1.12, "1,12"),
        (THOUSANDS, "ambiguous", "1,125|1000/5,000"),
        (Scale(worst=5, best=1), 2, "2/5"),
        (Scale(worst=5, best=1), "ambiguous", "2/1"),
        (Scale(worst=-1, best=1), -0.5, "-0.5"),
        (Scale(worst=-1, best=1), 0, "-0"),
        (FIVE, 4, "4" + " " * 200),
        (FIVE, "ambiguous", f"{'(' * 60}4{')' * 60}|Score:{' ' * 200}4"),
        (YES, "yes", "yes|**Yes**.|Score: yes"),
        (YES, "unknown_label", "yes (yes)|Yes, but no source says so|yes?|yes/no|yes or no|1|"),
        (
            FOUR,
            "not supported",
            "not_supported|Not-Supported|not\u00a0supported|“not  supported.”|not\\_supported",
        ),
        (FOUR, "unknown_label", "unsupported|supported (1.0)|not partially supported"),
        (SIGNED, "-1", "-1|−1"),
        (SIGNED, "1", "1"),
        (SIGNED, "unknown_label", "+1|- 1|1-"),
        (GRADES, "A-", "A-|A–"),
        (GRADES, "A", "A|a"),
        (GRADES, "unknown_label", "A+|-A|B +"),
        (CHINESE, "有依据", "有依据。|「有依据」"),
        (CHINESE, "unknown_label", "no 依据"),
    ],
)
def test_place_is_read_on_its_scale(scale: Scale, expected: object, places: str) -> None:
    for place in places.split("|"):
        for kind in ("tags", "banded", "line", *(["plain"] if place else [])):
            assert outcome(kind, PLACED[kind].format(place), scale) == expected, (kind, place)


LABELS = {
    8: (
        "Score:|**Score:**|**Score**:|- Score:|### Score:|score :|1. Score:|`Score:`|Score：|\u200fScore:"
        "|Score:\n\n|Score (0-10):|Score [0 to 10]:|Score (/10):|Score (out of 10):"
    ),
    "out_of_scale": "Score (0-1):|Score (0-100):|Score [max 10]:",
    "missing_score": "Score (final):|> Score:|The Score:|Score|Score 1:|Score =|总分：|Overall\nSco re:",
}


@pytest.mark.parametrize(("expected", "labels"), LABELS.items())
def test_label_begins_its_line(expected: object, labels: str) -> None:
    for label in labels.split("|"):
        text = f"Statement Sentence: A.\nSupporting Evidence: b\n{label} 8"
        assert outcome("scorecard", text) == ([expected] if expected == 8 else expected), label


REPLIES: list[tuple[str, str, object]] = [
    # Tags: outermost elements, and behind the verdict no more text.
    ("tags", "<S0>..</S0><S1>r</S1><S2>4</S2>", 4),
    ("tags", "< S2 > 4 < /S2 >", 4),
    ("tags", "<S\u200b2>4</S2>", 4),
    ("tags", "```xml\r\n<S1>r</S1>\r\n<S2>4</S2>\r\n```", 4),
    ("tags", "between the tags <S2>your Score</S2> ... <S2>4</S2>", 4),
    ("tags", "<S2>4</S2> <S2>your Score</S2>", "ambiguous"),
    ("tags", "<S2>4</S2><S1>r</S1><S2>4/5</S2>", 4),
    ("tags", "<S2>4</S2> again <S2>4</S2>", "ambiguous"),
    ("tags", "<S2>9</S2> ... <S2>4</S2>", "ambiguous"),
    ("tags", "<S2>4</S2> ... <S2>2</S2>", "ambiguous"),
    ("tags", "<S2>5</S2>\nCorrection: it should be 2.", "ambiguous"),
    ("tags", "<S2>5</S2> ✓ !", 5),
    ("tags", "<S0>first <S2>2</S2> came to mind</S0><S1>r</S1><S2>4</S2>", 4),
    ("tags", '<S2>1</S2><S1>it says "<S2>5</S2>"</S1>', 1),
    ("tags", "<S2>4</S2><S1>open", 4),
    ("tags", "<S0>first <S2>2</S2> came to", "no_verdict"),
    ("tags", "</S1><S2>4</S2>", "ambiguous"),
    ("tags", "<S2>4<S2>", "ambiguous"),
    ("tags", "...<S2>4", 4),
    ("tags", "<S2>4 and then", "ambiguous"),
    ("tags", "I would give it a 4.", "no_verdict"),
    # Reasoning.
    ("tags", "<think>a</think>\n<Thinking><S2>5</S2></Thinking><S2>2</S2>", 2),
    ("tags", "Let me see.\n</think>\n<S1>r</S1><S2>2</S2>", 2),
    ("tags", "<think>it is <S2>4</S2>", "no_verdict"),
    ("tags", "<S2>5</S2>\n</think>\n<S2>2</S2>", "ambiguous"),
    ("tags", "see </think> <S2>2</S2>", "ambiguous"),
    ("tags", "<think>a</think> b </think> <S2>2</S2>", "ambiguous"),
    ("tags", "<S1>a <think> b</S1><S2>2</S2>", 2),
    ("tags", "<S1>it says </think> there</S1><S2>2</S2>", 2),
    ("tags", "<reasoning><S2>5</S2></reasoning><S2>2</S2>", "ambiguous"),
    ("banded", "Analysis: a\nScore: 90\n</think>\nScore: 20", "ambiguous"),
    ("json", '<think>{"score": 1}</think>{"score": 0.2}', 0.2),
    ("json", '{"reasoning": "it ends in </think>", "score": 0.2}', 0.2),
    ("json", '{"score": 0.2}\n</think>\nor not', "ambiguous"),
    ("plain", "<think>5, or 4?</think>4", 4),
    ("tags", " \u200b\n", "empty"),
    ("tags", "<think>hm</think>", "empty"),
    # JSON: a key of an outermost object.
    ("json", '{"reasoning":"score is 1,} good, ] end","score":0.5}', 0.5),
    ("json", 'Sure!\n```json\n{"reasoning": "r", "score": 0.5}\n```\nAnything else?', 0.5),
    ("json", '{"Score": 0.8}', 0.8),
    ("json", '{"score": 0.5, "details": {"score": 0.9}}', 0.5),
    ("json", '{"tool_result": {"score": 0.9}, "my_score": 0.1}', "no_verdict"),
    ("json", '{"claims": [{"score": 1.0}], "reasoning": "but it', "no_verdict"),
    ("json", '[{"score": 0.2}]', "no_verdict"),
    ("json", '"{\\"score\\": 0.2}"', "no_verdict"),
    ("json", '[{"score": 0.2}] {"score": 0.9}', 0.9),
    ("json", '{"reasoning": "fine"}', "no_verdict"),
    ("json", '{"a": ' * 50_000, "no_verdict"),
    ("json", '{"a": [' + '{"b": [' * 2000 + "]}" * 2000 + '], "score": 0.5}', "ambiguous"),
    ("json", '{"score": 0.5} {', "ambiguous"),
    ("json", '{"score": 0.5} }', "ambiguous"),
    ("json", '{ is a brace {"score": 0.8}', "no_verdict"),
    ("json", '{"score": 0.5}\nCorrection: score = 0.1', "ambiguous"),
    ("json", 'My **score**: 0.3\n{"score": 0.5}', "ambiguous"),
    ("json", '{"score": 0.0} {"score": 1.0}', "ambiguous"),
    ("json", '{"score": 0.5} {"score": "0.5"}', 0.5),
    ("json", '{"score": 0.5, "score": 0.6}', "ambiguous"),
    ("json", '{"Score": 0.8, "score": 0.2}', "ambiguous"),
    ("json", '{"sc\\u006fre": 0.9, "score": 0.1}', "ambiguous"),
    ("json", '{"a \\"quoted\\" key": 0.9, "score": 0.1}', 0.1),
    ("json", '{"reasoning": "your reasoning", "score": "your score"} {"score": 0.5}', 0.5),
    ("json", '{"score": your Score} means {"score": 0.2}', 0.2),
    ("json", '{"reasoning": "...", "score": ...}', "no_verdict"),
    ("json", "{'reasoning': 'it fits', 'score': 0.8,}", 0.8),
    ("json", "{'reasoning': 'it\\'s {fine', 'score': 0.8}", 0.8),
    ("json", "{'reasoning': 'it's fine', 'score': 0.8}", 0.8),
    ("json", '{"reasoning": "line\nbreak", "score": 0.8}', 0.8),
    ("json", '{"reasoning": "he said "yes" twice", "score": 0.8}', 0.8),
    ("json", '{"reasoning": "r", /* hm */ "score": 0.8 // fine\n}', 0.8),
    ("json", '{"score": 0.8 // not 0.3\n}', "ambiguous"),
    ("json", '{"score": 0.8 /* 0.3 before */}', "ambiguous"),
    ("json", '{"score": 0,8}', "ambiguous"),
    ("json", '{"reasoning": "it says score: 1.0, false", "score" 0.2}', "no_verdict"),
    # A bare number is as JSON has it: of another one part may be missing.
    *(("json", f'{{"score": {bare}, "a": 1}}', float(bare)) for bare in "0 1 0.50 -0".split()),
    *(
        ("json", f'{{"score": {bare}, "a": 1}}', "ambiguous")
        for bare in "0. .5 -.5 +0.5 01 1e 1e0 5e-1 1_0 1/1 1% (1) 1(1) Score:1 ~1 ١".split()
    ),
    *(("json", f'{{"score": {place}}}', 1) for place in """"1." "+1" "01" '1' "1/1" "(1)" """.split()),
    ("json", '{"score": ' + "9" * 5000 + "}", "ambiguous"),
    ("json", '{"score": 42}', "out_of_scale"),
    *(
        ("json", f'{{"score": {value}}}', "not_a_number")
        for value in 'true NaN "high" [0.5] {"value":5}'.split()
    ),
    # Scorecards: blocks of three labels in order.
    ("scorecard", "Here it is:\n\n" + card("10", "0", "7,5"), [10, 0, 7.5]),
    ("scorecard", block("5", "The final Score was 3-1 in 2014."), [5]),
    ("scorecard", "Statement: A.\nSupporting Evidence: b\nScore: 3", [3]),
    ("scorecard", "Criteria: A.\nSupporting_Evidence: b\nScore: 3", [3]),
    ("scorecard", "1. Statement Sentence: A.\n   - Supporting Evidence: b\n   - Score: 3", [3]),
    ("scorecard", card("NO CLAIM", "4"), [None, 4]),
    ("scorecard", card("no_claim", "**No claim.**"), [None, None]),
    ("scorecard", card("NO CLAIM, or 4"), "ambiguous"),
    ("scorecard", card("NO CLAIM\nbut 4"), "not_a_number"),
    ("scorecard", card("8\n(all of it)", "4"), "ambiguous"),
    *(("scorecard", card(f"8\n{sign}"), "ambiguous") for sign in ("5", "-", "-.", "-**", "-)", "- 3", "%")),
    *(("scorecard", card(f"8\n{rule}"), [8]) for rule in ("---", "***", "```")),
    ("scorecard", card("8\nScore: 4"), "ambiguous"),
    ("scorecard", block("5", "b\nSupporting Evidence: c"), "ambiguous"),
    ("scorecard", block("8") + "\n\nStatement Sentence: B.\nScore: 4", "missing_evidence"),
    ("scorecard", block("8") + "\n\nStatement Sentence: B.\nSupporting Evidence: c", "missing_score"),
    ("scorecard", "Statement Sentence: B.\n" + block("8"), "missing_score"),
    ("scorecard", block("your Score", "the evidence", "the sentence") + "\n" + block("4"), [4]),
    ("scorecard", block("...", "...", "...") + "\n" + block("4"), [4]),
    ("scorecard", block("...") + "\n" + block("4", sentence="B."), "no_verdict"),
    ("scorecard", block("4") + "\n" + block("...", sentence="B."), "no_verdict"),
    ("scorecard", block("8") + "\n\n" + block("8"), [8, 8]),
    ("scorecard", block("8") + "\n\n" + block("4"), "ambiguous"),
    ("scorecard", "The statement is fully supported, 10/10.", "no_verdict"),
    # Formulas.
    ("adjacent", passage("**RECALL_Formula**: (3 × 70%) + (4 x 30 %)"), [3.3, 5]),
    ("adjacent", passage("RECALL Formula: (5·0,2)+(4·0,8)"), [4.2, 5]),
    ("adjacent", passage("RECALL\\_Formula: (3 * 0.7) + (4 * 0.3) = 2.1 + 1.2 = 3.3."), [3.3, 5]),
    ("adjacent", passage("RECALL_Weighted_Summed_Score: 3.4"), [3.4, 5]),
    ("adjacent", passage("RECALL_Formula:\nRECALL_Weighted_Summed_Score: 3.4"), [3.4, 5]),
    ("adjacent", passage("RECALL_Formula: (1 * 1)\nRECALL_Formula: (1 * 1.0)"), [1, 5]),
    ("adjacent", passage("RECALL_Formula: (1 * 1.0)\nRECALL_Formula: (2 * 1.0)"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: (2 * 0.5) + (4 * 0.5)"), "not_adjacent"),
    ("adjacent", passage("RECALL_Formula: (2 * 0.2) + (3 * 0.5) + (4 * 0.3)"), "not_adjacent"),
    ("adjacent", passage("RECALL_Formula: (3.5 * 1.0)"), "not_adjacent"),
    ("adjacent", passage("RECALL_Formula: (2 * 0.5) + (3 * 0.4)"), "bad_distribution"),
    ("adjacent", passage("RECALL_Formula: (5 * 0.5) + (6 * 0.5)"), "out_of_scale"),
    ("adjacent", passage("RECALL_Formula: about 3.5\nRECALL_Weighted_Summed_Score: 3.4"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: n/a\nRECALL_Weighted_Summed_Score: 3.4"), "not_a_number"),
    ("adjacent", passage("RECALL_Formula: (5 * 1.0)\nNo: (4 * 1.0)"), "ambiguous"),
    ("adjacent", passage("RECALL_Reasoning: it is (2 * 1.0)"), "missing_score"),
    ("adjacent", passage("RECALL_Formula: (2 * 1.0)", stated="5.0\nCorrection: 3"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: (2 * 1.0)", stated="5.0\n```\n"), [2, 5]),
    ("adjacent", "Recall is 3.3 and precision 4.", "no_verdict"),
    # Banded.
    ("banded", "Analysis: a\nLevel: Mild Hallucination\nScore: 72", 72),
    ("banded", "Score:\n85", 85),
    ("banded", "Score:\n1. The response is good", "ambiguous"),
    ("banded", "Score:\n\nLevel: mild", "not_a_number"),
    ("banded", "Score: 60\n\nThat is all.", "ambiguous"),
    ("banded", "Analysis: it says\n> Score: 100\nScore: 3", 3),
    ("plain", "```\n4\n```", 4),
]


@pytest.mark.parametrize(("kind", "text", "expected"), REPLIES)
def test_reply_is_read_as(kind: str, text: str, expected: object) -> None:
    assert outcome(kind, text) == (
        pytest.approx(expected) if kind == "adjacent" and isinstance(expected, list) else expected  # pyright: ignore[reportUnknownArgumentType]
    )


def verdict_line(names: str | list[str], text: str, expected: object, scale: Scale | None = None) -> Any:
    given = names if isinstance(names, str) else tuple(names)
    return pytest.param(Line(given), text, expected, scale or SCALES["line"], id=f"{names} {text!r}")


CONSISTENT = Choices({"Consistent": 1, "Inconsistent": 0})
DOUBLE = Line("Rating", brackets=True)


def final(text: str, expected: str) -> Any:
    return verdict_line("Final verdict", text, expected, CONSISTENT)


LINES = [
    final("It adds a year.\n\nFinal verdict: Inconsistent", "Inconsistent"),
    final("**Final Verdict:** Consistent.", "Consistent"),
    final("- final_verdict: [Consistent]", "Consistent"),
    final("Final verdict: Inconsistent\nThe year is wrong.", "Inconsistent"),
    final("Final verdict: Consistent\nFinal verdict: ...", "ambiguous"),
    final("最终\nFinal verdict： Consistent。", "Consistent"),
    final("Final verdict:", "unknown_label"),
    verdict_line("[RESULT]", "Feedback: clear and right.\n[RESULT] 4", 4),
    verdict_line("[RESULT]", "Feedback: clear.\n[result]: 4", "ambiguous"),
    verdict_line("[RESULT]", "Feedback: clear and right. [RESULT] 4", "no_verdict"),
    verdict_line("[RESULT]", "[RESULT]\n4", 4),
    verdict_line("Rating", "Rating: 4 out of 5\n\nIt is good.", 4),
    verdict_line(["Rating", "Verdict"], "Verdict: 2", 2),
    verdict_line(["Rating", "Verdict"], "Verdict: 2\nRating: 3", "ambiguous"),
    pytest.param(DOUBLE, "Rating: 4\nRating: **[[5]]**.", 5, SCALES["line"], id="only double brackets count"),
    pytest.param(DOUBLE, "Rating: [5]", "no_verdict", SCALES["line"], id="single brackets"),
    pytest.param(DOUBLE, "Rating: [[5]] or [[4]]", "ambiguous", SCALES["line"], id="two in brackets"),
    pytest.param(DOUBLE, "Rating: [[5]] - good\nRating: [[4]]", "ambiguous", SCALES["line"], id="a remark"),
    pytest.param(DOUBLE, "Rating: [[rating]]\nRating: [[4]]", "ambiguous", SCALES["line"], id="a template"),
]


@pytest.mark.parametrize(("format_", "text", "expected", "scale"), LINES)
def test_line_is_read_as(format_: Format, text: str, expected: object, scale: Scale) -> None:
    assert outcome(format_, text, scale) == expected


FINISH = {
    None: "|stop|END_TURN|stop_sequence|eos_token|completed|FinishReason.STOP|finish_reason_stop|done",
    "truncated": "length|MAX_TOKENS|model_length|max-tokens|model_context_window_exceeded",
    "refused": "content_filter|SAFETY|refusal|RECITATION|blocklist",
    "interrupted": "error|OTHER|insufficient_system_resource|unknown|pause_turn|tool_calls|网络错误",
}
GOOD = {
    "tags": "<S2>4</S2>",
    "json": '{"score": 1}',
    "scorecard": block("8"),
    "adjacent": passage("RECALL_Formula: (4 * 1.0)"),
    "banded": "Score: 7\n",
    "plain": "4",
    "line": "Rating: 4\n",
}


@pytest.mark.parametrize(("code", "reasons"), FINISH.items())
def test_only_a_known_natural_end_is_one(code: str | None, reasons: str) -> None:
    for reason in (*reasons.split("|"), *([] if code else [None])):
        for kind, text in GOOD.items():
            found = outcome(kind, text, finish_reason=reason)
            assert found == code if code else not isinstance(found, str), (reason, kind)


def test_refusal_that_the_endpoint_reports_is_refused() -> None:
    with pytest.raises(ReplyError, match="refused"):
        READERS["tags"].read(Reply("<S2>4</S2>", refusal="I must not judge this."), SCALES["tags"])


SUM = "RECALL_Weighted_Summed_Score"


@pytest.mark.parametrize(
    ("kind", "text", "warnings"),
    [
        ("groundedness", "...<S2>4", ("unclosed_tag",)),
        ("groundedness", "<S2>4</S2><S1>open", ()),
        ("passage_quality", passage(f"RECALL_Formula: (5 * 1.0)\n{SUM}: 4.9"), ("weighted_sum_mismatch",)),
        (
            "passage_quality",
            passage(f"RECALL_Formula: (5 * 1.0)\n{SUM}: about five"),
            ("weighted_sum_mismatch",),
        ),
        ("passage_quality", passage("RECALL_Weighted_Summed_Score: 3.4"), ("formula_missing",)),
        ("knowledge_hallucination", "Level: Severe\nScore: 72", ("band_mismatch",)),
        ("knowledge_hallucination", "Level: mild_hallucination\nScore: 72", ()),
    ],
)
def test_reply_that_is_read_has_warnings(kind: str, text: str, warnings: tuple[str, ...]) -> None:
    assert load_rubric(kind).read(text).warnings == warnings


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("tags", "<S1>first</S1><S1>second</S1><S2>2</S2><S1>third</S1>", "second"),
        ("tags", "<S2>2</S2><S1> *after* </S1>", "*after*"),
        ("tags", "<S2>2</S2>", ""),
        ("json", '{"reasoning": "a  *b*\\n", "score": 1}', "a  *b*\n"),
        ("json", '{"reasoning": ["a"], "score": 1}', '["a"]'),
        ("json", '{"score": 1}', ""),
        ("banded", "**Analysis**: a **b** c\n\nd\nScore: 4", "a **b** c\n\nd"),
        ("line", "a\nb\n\n**Rating: 4**\nc", "a\nb"),
    ],
)
def test_reason_is_the_models_own_text(kind: str, text: str, reason: str) -> None:
    assert READERS[kind].read(Reply(text), SCALES[kind]).reason == reason


@pytest.mark.parametrize(
    ("evidence", "quotes"),
    [
        ('"b ... c"', ('"b ... c"',)),
        ("NOTHING FOUND", ()),
        ("nothing found.", ()),
        ("**NOTHING FOUND** (the source says nothing of it)", ()),
        ("Nothing found in the cellar was sold.", ("Nothing found in the cellar was sold.",)),
    ],
)
def test_parts_of_a_scorecard_have_sentence_and_quotes(evidence: str, quotes: tuple[str, ...]) -> None:
    (part,) = Scorecard().read(Reply(block("0", evidence)), SCALES["scorecard"]).parts
    assert (part.name, part.quotes, part.reason) == ("A stands here.", quotes, evidence)


def test_names_of_tags_keys_and_labels_are_configurable() -> None:
    scale = SCALES["tags"]
    assert Tags("rating", "why").read(Reply("<why>w</why><rating>3</rating>"), scale) == Reading(3, "w")
    assert Json("rating", "why").read(Reply('{"why": "w", "rating": "Rating: 3"}'), scale) == Reading(3, "w")
    assert Adjacent(("fit",)).read(Reply("FIT_Formula: (3 * 1)"), scale).parts[0].value == 3


def test_error_shows_what_was_expected_and_how_the_reply_begins() -> None:
    with pytest.raises(ReplyError) as caught:
        Scorecard().read(Reply(block("N/A", sentence="B is new.")), SCALES["scorecard"])
    error = caught.value
    shown = ("one number on 0..10", "'B is new.'", "'N/A'", "the reply begins")
    assert (error.code, [text in str(error) for text in shown]) == ("not_a_number", [True] * 4)
    assert "B is new" not in error.wording


def test_label_of_a_number_may_stand_beside_it_only_if_it_is_its_own() -> None:
    for value, label in LEVELS.items():
        for other in LEVELS.values():
            found = outcome("tags", f"<S2>{value:g} ({other.replace('_', ' ').title()})</S2>")
            assert found == (value if other == label else "ambiguous")
    assert Banded().read(Reply("Score: 3"), SCALES["banded"], Asked()).value == 3
