"""The grammar of replies: what is read, and that all else is an error with a code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from read_replies import (
    CHINESE,
    FOUR,
    GRADES,
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
from groundjudge.replies import Format, Line, Scorecard

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


SUM = "RECALL_Weighted_Summed_Score"
REPLIES: list[tuple[Any, ...]] = [
    # A format, what is read, and replies.
    # Tags: outermost elements, and behind the verdict no more text.
    ("tags", 4, "<S0>..</S0><S1>r</S1><S2>4</S2>", "< S2 > 4 < /S2 >", "<S\u200b2>4</S2>"),
    ("tags", 4, "```xml\r\n<S1>r</S1>\r\n<S2>4</S2>\r\n```", "<S2>4</S2><S1>r</S1><S2>4/5</S2>"),
    ("tags", 4, "between the tags <S2>your Score</S2> ... <S2>4</S2>", "<S2>4</S2> ✓ !", "...<S2>4"),
    ("tags", 4, "<S0>first <S2>2</S2> came to mind</S0><S1>r</S1><S2>4</S2>", "<S2>4</S2><S1>open"),
    ("tags", 4, '<S2>4</S2><S1>it says "<S2>5</S2>"</S1>'),
    ("tags", "ambiguous", "<S2>4</S2> <S2>your Score</S2>", "<S2>4</S2> again <S2>4</S2>", "<S2>4<S2>"),
    ("tags", "ambiguous", "<S2>9</S2> ... <S2>4</S2>", "<S2>5</S2>\nCorrection: it should be 2."),
    ("tags", "ambiguous", "</S1><S2>4</S2>", "<S2>4 and then"),
    (
        "tags",
        "ambiguous",
        'It ends with "<S2>5</S2>"',
        "<S1>r</S1>I never write '<S2>5</S2>'.",
        "“<S2>5</S2>”",
    ),
    ("tags", "no_verdict", "<S0>first <S2>2</S2> came to", "I would give it a 4."),
    # Reasoning.
    ("tags", 2, "<think>a</think>\n<Thinking><S2>5</S2></Thinking><S2>2</S2>", "see\n</think>\n<S2>2</S2>"),
    ("tags", 2, "<S1>a <think> b</S1><S2>2</S2>", "<S1>it says </think> there</S1><S2>2</S2>"),
    ("tags", "ambiguous", "<S2>5</S2>\n</think>\n<S2>2</S2>", "see </think> <S2>2</S2>"),
    ("tags", "ambiguous", "<think>a</think> b </think> <S2>2</S2>"),
    ("tags", "ambiguous", "<reasoning><S2>5</S2></reasoning><S2>2</S2>"),
    ("tags", "no_verdict", "<think>it is <S2>4</S2>"),
    ("tags", "empty", " \u200b\n", "<think>hm</think>"),
    ("banded", "ambiguous", "Analysis: a\nScore: 90\n</think>\nScore: 20"),
    ("json", 0.2, '<think>{"score": 1}</think>{"score": 0.2}', '{"reasoning": "</think>", "score": 0.2}'),
    ("json", "ambiguous", '{"score": 0.2}\n</think>\nor not'),
    ("plain", 4, "<think>5, or 4?</think>4", "```\n4\n```"),
    # JSON: a key of an outermost object.
    ("json", 0.5, '{"reasoning":"score is 1,} good, ] end","score":0.5}', '{"Score": 0.5}'),
    ("json", 0.5, 'Sure!\n```json\n{"reasoning": "r", "score": 0.5}\n```\nAnything else?'),
    ("json", 0.5, '{"score": 0.5, "details": {"score": 0.9}}', '[{"score": 0.2}] {"score": 0.5}'),
    ("json", 0.5, '{"score": 0.5} {"score": "0.5"}', '{"a \\"quoted\\" key": 0.9, "score": 0.5}'),
    ("json", 0.5, '{"score": "your score"} {"score": 0.5}', '{"score": your Score} or {"score": 0.5}'),
    ("json", "no_verdict", '{"tool_result": {"score": 0.9}, "my_score": 0.1}', '{"reasoning": "fine"}'),
    ("json", "no_verdict", '{"claims": [{"score": 1.0}], "reasoning": "but it', '[{"score": 0.2}]'),
    ("json", "no_verdict", '"{\\"score\\": 0.2}"', '{ is a brace {"score": 0.8}', '{"score": ...}'),
    ("json", "no_verdict", '{"a": ' * 50_000, '{"reasoning": "it says score: 1.0, false", "score" 0.2}'),
    ("json", "ambiguous", '{"a": [' + '{"b": [' * 2000 + "]}" * 2000 + '], "score": 0.5}'),
    ("json", "ambiguous", '{"score": 0.5} {', '{"score": 0.5} }', '{"score": 0.5}\nCorrection: score = 0.1'),
    ("json", "ambiguous", 'My **score**: 0.3\n{"score": 0.5}', '{"score": 0.0} {"score": 1.0}'),
    ("json", 0.5, 'Here it is: {"score": 0.5}\nDone.', 'Sure!\n{"score": 0.5} Done.'),
    ("json", "ambiguous", 'It said {"score": 1.0}. My Score is zero.', '{"score": 0.5}\nThe scores differ.'),
    ("json", "ambiguous", '{"Score": 0.8, "score": 0.2}', '{"sc\\u006fre": 0.9, "score": 0.1}'),
    # JSON that is repaired.
    ("json", 0.8, "{'reasoning': 'it\\'s {fine', 'score': 0.8,}", "{'reasoning': 'it's fine', 'score': 0.8}"),
    ("json", 0.8, '{"reasoning": "line\nbreak", "score": 0.8}', '{"reasoning": "a "b" c", "score": 0.8}'),
    ("json", 0.8, '{"reasoning": "r", /* hm */ "score": 0.8 // fine\n}'),
    ("json", "ambiguous", '{"score": 0.8 // not 0.3\n}', '{"score": 0.8 /* 0.3 */}', '{"score": 0,8}'),
    # A bare number is as JSON has it: of another one part may be missing.
    *(("json", float(bare), f'{{"score": {bare}, "a": 1}}') for bare in "0 1 0.50 -0".split()),
    *(
        ("json", "ambiguous", f'{{"score": {bare}, "a": 1}}')
        for bare in f"0. .5 +0.5 01 1e 5e-1 1_0 1/1 1% (1) 1(1) Score:1 ~1 ١ {'9' * 5000}".split()
    ),
    *(("json", 1, f'{{"score": {place}}}') for place in """"1." "+1" "01" '1' "1/1" "(1)" """.split()),
    *(("json", "not_a_number", f'{{"score": {value}}}') for value in 'true NaN [0.5] {"value":5}'.split()),
    # Scorecards: blocks of three labels in order.
    ("scorecard", [10, 0, 7.5], "Here it is:\n\n" + card("10", "0", "7,5")),
    ("scorecard", [3], "Statement: A.\nSupporting Evidence: The Score was 3-1 in 2014.\nScore: 3"),
    ("scorecard", [3], "1. Criteria: A.\n   - Supporting_Evidence: b\n   - Score: 3"),
    ("scorecard", [None, None, 4], card("no_claim", "**No claim.**", "4")),
    ("scorecard", "ambiguous", card("NO CLAIM, or 4"), card("8\n(all of it)", "4"), card("8\nScore: 4")),
    ("scorecard", "not_a_number", card("NO CLAIM\nbut 4")),
    *(("scorecard", "ambiguous", card(f"8\n{sign}")) for sign in ("5", "-", "-.", "-**", "-)", "- 3", "%")),
    *(("scorecard", [8], card(f"8\n{rule}")) for rule in ("---", "***", "```")),
    ("scorecard", "ambiguous", block("5", "b\nSupporting Evidence: c"), f"{block('8')}\n\n{block('4')}"),
    ("scorecard", "missing_evidence", block("8") + "\n\nStatement Sentence: B.\nScore: 4"),
    ("scorecard", "missing_evidence", block("8", ""), block("0.5", "..."), block("10", "-")),
    ("scorecard", [0], block("0", ""), block("0", "-")),
    ("scorecard", "missing_score", block("8") + "\n\nStatement Sentence: B.\nSupporting Evidence: c"),
    ("scorecard", "missing_score", "Statement Sentence: B.\n" + block("8")),
    ("scorecard", [4], block("your Score", "the evidence", "the sentence") + "\n" + block("4")),
    ("scorecard", "no_verdict", block("...") + "\n" + block("4", sentence="B."), "Fully supported, 10/10."),
    ("scorecard", "no_verdict", block("4") + "\n" + block("...", sentence="B.")),
    ("scorecard", [8, 8], block("8") + "\n\n" + block("8")),
    # Formulas.
    ("adjacent", [3.3, 5], passage("**RECALL_Formula**: (3 × 70%) + (4 x 30 %)")),
    ("adjacent", [3.3, 5], passage("RECALL\\_Formula: (3 * 0.7) + (4 * 0.3) = 2.1 + 1.2 = 3.3.")),
    ("adjacent", [3.3, 5], passage("RECALL Formula: (4·0,3)+(3·0,7)"), passage(f"{SUM}: 3.3")),
    ("adjacent", [3.3, 5], passage(f"RECALL_Formula:\n{SUM}: 3.3")),
    ("adjacent", [1, 5], passage("RECALL_Formula: (1 * 1)\nRECALL_Formula: (1 * 1.0)", stated="5.0\n```\n")),
    ("adjacent", "ambiguous", passage("RECALL_Formula: (1 * 1.0)\nRECALL_Formula: (2 * 1.0)")),
    ("adjacent", "ambiguous", passage(f"RECALL_Formula: about 3.5\n{SUM}: 3.4")),
    ("adjacent", "ambiguous", passage("RECALL_Formula: (5 * 1.0)\nNo: (4 * 1.0)")),
    ("adjacent", "ambiguous", passage("RECALL_Formula: (2 * 1.0)", stated="5.0\nCorrection: 3")),
    ("adjacent", "not_adjacent", passage("RECALL_Formula: (2 * 0.5) + (4 * 0.5)")),
    ("adjacent", "not_adjacent", passage("RECALL_Formula: (2 * 0.2) + (3 * 0.5) + (4 * 0.3)")),
    ("adjacent", "not_adjacent", passage("RECALL_Formula: (3.5 * 1.0)")),
    ("adjacent", "bad_distribution", passage("RECALL_Formula: (2 * 0.5) + (3 * 0.4)")),
    ("adjacent", "out_of_scale", passage("RECALL_Formula: (5 * 0.5) + (6 * 0.5)")),
    ("adjacent", "not_a_number", passage(f"RECALL_Formula: n/a\n{SUM}: 3.4")),
    ("adjacent", "missing_score", passage("RECALL_Reasoning: it is (2 * 1.0)")),
    ("adjacent", "no_verdict", "Recall is 3.3 and precision 4."),
    # Banded.
    (
        "banded",
        72,
        "Analysis: a\nLevel: Mild Hallucination\nScore: 72",
        "Score:\n72",
        "> Score: 9\nScore: 72",
    ),
    ("banded", "ambiguous", "Score:\n1. The response is good", "Score: 60\n\nThat is all."),
    ("banded", "not_a_number", "Score:\n\nLevel: mild"),
]


@pytest.mark.parametrize(
    ("kind", "expected", "text"),
    [(kind, expected, text) for kind, expected, *texts in REPLIES for text in texts],
)
def test_reply_is_read_as(kind: str, expected: Any, text: str) -> None:
    assert outcome(kind, text) == (pytest.approx(expected) if kind == "adjacent" else expected)


CONSISTENT = Choices({"Consistent": 1, "Inconsistent": 0})
FINAL, RESULT, RATING = Line("Final verdict"), Line("[RESULT]"), Line(("Rating", "Verdict"))
DOUBLE = Line("Rating", brackets=True)
LINES: list[tuple[Format, Scale, object, str]] = [
    (FINAL, CONSISTENT, "Inconsistent", "It adds a year.\n\nFinal verdict: Inconsistent\nSo it is."),
    (FINAL, CONSISTENT, "Consistent", "**Final Verdict:** Consistent."),
    (FINAL, CONSISTENT, "Consistent", "- final_verdict: [Consistent]"),
    (FINAL, CONSISTENT, "Consistent", "最终\nFinal verdict： Consistent。"),
    (FINAL, CONSISTENT, "ambiguous", "Final verdict: Consistent\nFinal verdict: ..."),
    (FINAL, CONSISTENT, "unknown_label", "Final verdict:"),
    (RESULT, SCALES["line"], 4, "Feedback: clear and right.\n[RESULT] 4"),
    (RESULT, SCALES["line"], 4, "[RESULT]\n4"),
    (RESULT, SCALES["line"], "ambiguous", "Feedback: clear.\n[result]: 4"),
    (RESULT, SCALES["line"], "no_verdict", "Feedback: clear and right. [RESULT] 4"),
    (RATING, SCALES["line"], 4, "Rating: 4 out of 5\n\nIt is good."),
    (RATING, SCALES["line"], 2, "Verdict: 2"),
    (RATING, SCALES["line"], "ambiguous", "Verdict: 2\nRating: 3"),
    # Only double brackets count.
    (DOUBLE, SCALES["line"], 5, "Rating: 4\nRating: **[[5]]**."),
    (DOUBLE, SCALES["line"], "no_verdict", "Rating: [5]"),
    (DOUBLE, SCALES["line"], "ambiguous", "Rating: [[5]] or [[4]]"),
    (DOUBLE, SCALES["line"], "ambiguous", "Rating: [[5]] - good\nRating: [[4]]"),
    (DOUBLE, SCALES["line"], "ambiguous", "Rating: [[rating]]\nRating: [[4]]"),
]


@pytest.mark.parametrize(("format_", "scale", "expected", "text"), LINES)
def test_line_is_read_as(format_: Format, scale: Scale, expected: object, text: str) -> None:
    assert outcome(format_, text, scale) == expected


FINISH = {
    None: "|stop|END_TURN|stop_sequence|eos_token|completed|FinishReason.STOP|finish_reason_stop|done",
    "truncated": "length|MAX_TOKENS|model_length|max-tokens|model_context_window_exceeded",
    "refused": "content_filter|SAFETY|refusal|RECITATION|blocklist",
    "interrupted": "error|OTHER|insufficient_system_resource|unknown|pause_turn|tool_calls|网络错误",
}
GOOD = {kind: frame.format(1) for kind, frame in PLACED.items()} | {"adjacent": passage(f"{SUM}: 1")}


@pytest.mark.parametrize(("code", "reasons"), FINISH.items())
def test_only_a_known_natural_end_is_one(code: str | None, reasons: str) -> None:
    for reason in (*reasons.split("|"), *([] if code else [None])):
        for kind, text in GOOD.items():
            found = outcome(kind, text, finish_reason=reason)
            assert found == code if code else not isinstance(found, str), (reason, kind)


def test_refusal_that_the_endpoint_reports_is_refused() -> None:
    with pytest.raises(ReplyError, match="refused"):
        READERS["tags"].read_reply(Reply("<S2>4</S2>", refusal="I must not judge this."), SCALES["tags"])


@pytest.mark.parametrize(
    ("kind", "text", "warnings"),
    [
        ("groundedness", "...<S2>4", ("unclosed_tag",)),
        ("groundedness", "<S2>4</S2><S1>open", ()),
        ("passage_quality", passage(f"RECALL_Formula: (5 * 1.0)\n{SUM}: 4.9"), ("weighted_sum_mismatch",)),
        ("passage_quality", passage(f"RECALL_Formula: (5 * 1.0)\n{SUM}: five"), ("weighted_sum_mismatch",)),
        ("passage_quality", passage(f"{SUM}: 3.4"), ("formula_missing",)),
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
        ("banded", "**Analysis**: a **b** c\n\nd\nScore: 4", "a **b** c\n\nd"),
        ("line", "a\nb\n\n**Rating: 4**\nc", "a\nb"),
    ],
)
def test_reason_is_the_models_own_text(kind: str, text: str, reason: str) -> None:
    assert READERS[kind].read_reply(Reply(text), SCALES[kind]).reason == reason


@pytest.mark.parametrize(
    ("evidence", "quotes"),
    [
        ('"b ... c"', ('"b ... c"',)),
        ("NOTHING FOUND", ()),
        ("**NOTHING FOUND** (the source says nothing of it)", ()),
        ("Nothing found in the cellar was sold.", ("Nothing found in the cellar was sold.",)),
    ],
)
def test_parts_of_a_scorecard_have_sentence_and_quotes(evidence: str, quotes: tuple[str, ...]) -> None:
    (part,) = Scorecard().read_reply(Reply(block("0", evidence)), SCALES["scorecard"]).parts
    assert (part.name, part.quotes, part.reason) == ("A stands here.", quotes, evidence)


def test_error_shows_what_was_expected_and_how_the_reply_begins() -> None:
    with pytest.raises(ReplyError) as caught:
        Scorecard().read_reply(Reply(block("N/A", sentence="B is new.")), SCALES["scorecard"])
    error = caught.value
    shown = ("one number on 0..10", "'B is new.'", "'N/A'", "the reply begins")
    assert (error.code, [text in str(error) for text in shown]) == ("not_a_number", [True] * 4)
    assert "B is new" not in error.wording
