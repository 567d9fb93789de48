"""The grammar of replies: what is read, and that all else is an error with a code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from read_replies import (
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

IN_A_PLACE: list[tuple[object, list[str]]] = [
    # A scale of 1 to 5 with labels of its numbers.
    (
        4,
        [
            *("4", " 4\n", "4.0", "+4", "４", "**4**", "*4*", "`4`", "[4]", "(4)", "{4}", '"4"'),
            *("'4'", "“4”"),
            *(
                "「4」",
                "4.",
                "4。",
                '"4."',
                "Score: 4",
                "rating: 4",
                "GRADE: 4",
                "Score: 4/5",
                "4/5",
                "4 / 5",
            ),
            *("4 out of 5", "4 Out Of 5", "(4/5)", "4 (incomplete)", "4, incomplete", "4 (Incomplete)"),
            *("4 (4)", "4, 4", "4/5 (incomplete)", "\u200b4\u200b", "\u200f4\u200e", "**Score: 4**", "【4】"),
        ],
    ),
    (
        "ambiguous",
        [
            *("4 - mostly correct", "4 (mostly)", "4: fine", "4, fine", "4 (grounded)", "4 - incomplete"),
            *("5 - actually four", "4 (a strict grader gives 2)", "4 (could be five)", "4，更正：三", "4至5"),
            *("4 or 5", "4-5", "4 – 5", "3 to 4", "4 oder 5", "4 ou 5", "4 → 5", "4 ~ 5", "4 & 5", "4; 5"),
            *("3/10", "4/4", "4 out of 10", "4 (out of 5)", "4 of 5", "80%", "4%", "4th", "4e0", "4.1.2"),
            *("4,500", "1,000", "2 + 2 = 4", "3*4", "4\n5", "4, 5", "4 (5)", "~4", ">4", "4?"),
            *("4!", "4..", "4 stars", "about 4", "four (4)", "S3: 4", "final score: 4", "4/5/5"),
            *("--4", "4 4"),
            *("٤", "3 - ٤", "４、５", "4²", "4½", "4 (x) (x) (x)", "[4", "4]", "4 [incomplete]", "4 //"),
        ],
    ),
    (
        "not_a_number",
        ["", " ", "five", "½", "N/A", "null", "NaN", "true", "四", "unsure", "-", "good.", "I, not V"],
    ),
    ("out_of_scale", ["0", "6", "10", "-3", "−3", "-4", "+9", "007"]),
    ("not_integer", ["4.5", "4,5", "1.01"]),
]


@pytest.mark.parametrize("kind", ["tags", "banded", "line", "plain", "json"])
@pytest.mark.parametrize(("expected", "places"), IN_A_PLACE)
def test_place_holds_one_value_and_nothing_beside_it(kind: str, expected: object, places: list[str]) -> None:
    scale = SCALES["tags"]
    for place in places:
        escaped = json.dumps(place)[1:-1] if kind == "json" else place
        found = outcome(kind, PLACED[kind].format(escaped), scale)
        if place.strip() or kind in ("tags", "json"):
            assert found == expected, place
        if isinstance(expected, str):
            assert isinstance(found, str), place


@pytest.mark.parametrize(
    ("scale", "place", "expected"),
    [
        (Scale(worst=0, best=100), "85%", 85),
        (Scale(worst=100, best=0), "85 %", 85),
        (Scale(worst=0, best=1), "85%", "ambiguous"),
        (Scale(worst=0, best=1), "0,125", 0.125),
        (Scale(worst=0, best=10), "7,5", 7.5),
        (Scale(worst=0, best=5000), "1,125", "ambiguous"),
        (Scale(worst=0, best=5000), "1,12", 1.12),
        (Scale(worst=0, best=1), "1/1,000", "ambiguous"),
        (Scale(worst=0, best=1), "1 out of 1,000", "ambiguous"),
        (Scale(worst=0, best=1), "1 (1,000)", "ambiguous"),
        (Scale(worst=0, best=5000), "1000/5,000", "ambiguous"),
        (Scale(worst=5, best=1), "2/5", 2),
        (Scale(worst=5, best=1), "2/1", "ambiguous"),
        (Scale(worst=-1, best=1), "-0.5", -0.5),
        (Scale(worst=-1, best=1), "-0", 0),
        (Scale(worst=1, best=5), "4" + " " * 200, 4),
        (Scale(worst=1, best=5), "(" * 60 + "4" + ")" * 60, "ambiguous"),
        (Scale(worst=1, best=5), "Score:" + " " * 200 + "4", "ambiguous"),
        (YES, "yes", "yes"),
        (YES, "**Yes**.", "yes"),
        (YES, "Score: yes", "yes"),
        (YES, "yes (yes)", "unknown_label"),
        (YES, "Yes, but no source says so", "unknown_label"),
        (YES, "yes?", "unknown_label"),
        (YES, "yes/no", "unknown_label"),
        (YES, "1", "unknown_label"),
        (FOUR, "not_supported", "not supported"),
        (FOUR, "Not-Supported", "not supported"),
        (FOUR, "unsupported", "unknown_label"),
        (FOUR, "supported (1.0)", "unknown_label"),
        (SIGNED, "-1", "-1"),
        (SIGNED, "−1", "-1"),
        (SIGNED, "1", "1"),
        (SIGNED, "+1", "unknown_label"),
        (SIGNED, "- 1", "unknown_label"),
        (SIGNED, "1-", "unknown_label"),
        (GRADES, "A-", "A-"),
        (GRADES, "A–", "A-"),
        (GRADES, "A", "A"),
        (GRADES, "a", "A"),
        (GRADES, "A+", "unknown_label"),
        (GRADES, "-A", "unknown_label"),
        (GRADES, "B +", "unknown_label"),
    ],
)
def test_place_is_read_on_its_scale(scale: Scale, place: str, expected: object) -> None:
    for kind in ("tags", "plain", "banded", "line"):
        assert outcome(kind, PLACED[kind].format(place), scale) == expected


LABELS: list[tuple[str, object]] = [
    *((label, 8) for label in ("Score:", "**Score:**", "**Score**:", "- Score:", "* Score:", "### Score:")),
    *(
        (label, 8)
        for label in ("score :", "SCORE:", "1. Score:", "`Score:`", "Score：", "\u200fScore:", "_Score_:")
    ),
    *(
        (label, 8)
        for label in ("Score (0-10):", "Score [0 to 10]:", "Score (/10):", "Score (out of 10):", "Score:\n\n")
    ),
    *(
        (label, "out_of_scale")
        for label in ("Score (0-1):", "Score (0-100):", "Score (1-10):", "Score [max 10]:")
    ),
    *(
        (label, "missing_score")
        for label in ("Score (final):", "> Score:", "The Score:", "Final Score:", "Score")
    ),
    *((label, "missing_score") for label in ("Score 1:", "Score =", "总分：", "Overall\nSco re:")),
]


@pytest.mark.parametrize(("label", "expected"), LABELS)
def test_label_begins_its_line(label: str, expected: object) -> None:
    text = f"Statement Sentence: A.\nSupporting Evidence: b\n{label} 8"
    assert outcome("scorecard", text) == ([expected] if expected == 8 else expected)


REPLIES: list[tuple[str, str, object]] = [
    # Tags: outermost elements, and behind the verdict no more text.
    ("tags", "<S0>..</S0><S1>r</S1><S2>4</S2>", 4),
    ("tags", "< S2 > 4 < /S2 >", 4),
    ("tags", "<S\u200b2>4</S2>", 4),
    ("tags", "```xml\r\n<S1>r</S1>\r\n<S2>4</S2>\r\n```", 4),
    ("tags", "**<S2>4</S2>**", 4),
    ("tags", "Let me grade. <S2>4</S2>", 4),
    ("tags", "between the tags <S2>your Score</S2> ... <S2>4</S2>", 4),
    ("tags", "<S2>...</S2> <S2>4</S2>", 4),
    ("tags", "<S2>4</S2> <S2>your Score</S2>", "ambiguous"),
    ("tags", "<S2>4</S2> <S2>...</S2>", "ambiguous"),
    ("tags", "<S2>4</S2><S1>r</S1><S2>4/5</S2>", 4),
    ("tags", "<S2>4</S2> again <S2>4</S2>", "ambiguous"),
    ("tags", "<S2>9</S2> ... <S2>4</S2>", "ambiguous"),
    ("tags", "<S2>4</S2> ... <S2>2</S2>", "ambiguous"),
    ("tags", "<S2>5</S2>\nCorrection: it should be 2.", "ambiguous"),
    ("tags", "<S2>5</S2> </answer>", "ambiguous"),
    ("tags", "<S2>5</S2> ✓ !", 5),
    ("tags", "<S0>first <S2>2</S2> came to mind</S0><S1>r</S1><S2>4</S2>", 4),
    ("tags", '<S2>1</S2><S1>it says "<S2>5</S2>"</S1>', 1),
    ("tags", '<S1>it says "<S2>5</S2>"</S1><S2>1</S2>', 1),
    ("tags", "<S0><S1>it says <S2>5</S2></S1></S0><S1>no</S1><S2>2</S2>", 2),
    ("tags", "<S2>4</S2><S1>open", 4),
    ("tags", "<S0>first <S2>2</S2> came to", "no_verdict"),
    ("tags", "<S1>open <S2>2</S2>", "no_verdict"),
    ("tags", "</S1><S2>4</S2>", "ambiguous"),
    ("tags", "<S2>4</S2></S2>", "ambiguous"),
    ("tags", "<S1>a</S1> b</S1><S2>4</S2>", "ambiguous"),
    ("tags", "<S2>4</S1>", "ambiguous"),
    ("tags", "<S2>4<S2>", "ambiguous"),
    ("tags", "...<S2>4", 4),
    ("tags", "<S2>4 and then", "ambiguous"),
    ("tags", "I would give it a 4.", "no_verdict"),
    ("tags", "<S2>your Score</S2>", "no_verdict"),
    # Reasoning.
    ("tags", "<think><S2>5</S2></think><S2>2</S2>", 2),
    ("tags", "<think>a</think>\n<thinking><S2>5</S2></thinking><S2>2</S2>", 2),
    ("tags", "<THINKING>it is <S2>5</S2>\n</THINKING>\n<S2>2</S2>", 2),
    ("tags", "Let me see.\n</think>\n<S1>r</S1><S2>2</S2>", 2),
    ("tags", "<think>it is <S2>4</S2>", "no_verdict"),
    ("tags", "<S2>5</S2>\n</think>\n<S2>2</S2>", "ambiguous"),
    ("tags", "see </think> <S2>2</S2>", "ambiguous"),
    ("tags", "<think>a</think> b </think> <S2>2</S2>", "ambiguous"),
    ("tags", "<S1>a <think> b</S1><S2>2</S2>", 2),
    ("tags", "<S1>it says </think> there</S1><S2>2</S2>", 2),
    ("tags", "<reasoning><S2>5</S2></reasoning><S2>2</S2>", "ambiguous"),
    ("banded", "Analysis: a\nScore: 90\n</think>\nScore: 20", "ambiguous"),
    ("banded", "Maybe 90.\n</think>\nAnalysis: a\nScore: 20", 20),
    ("json", '<think>{"score": 1}</think>{"score": 0.2}', 0.2),
    ("json", '{"reasoning": "it ends in </think>", "score": 0.2}', 0.2),
    ("json", '{"score": 0.2}\n</think>\nor not', "ambiguous"),
    ("plain", "<think>5, or 4?</think>4", 4),
    ("tags", "", "empty"),
    ("tags", " \u200b\n", "empty"),
    ("tags", "<think>hm</think>", "empty"),
    ("tags", "I'm sorry, but I can't help with that.", "no_verdict"),
    ("tags", "抱歉，我无法评价。", "no_verdict"),
    # JSON: a key of an outermost object.
    ("json", '{"reasoning":"score is 1,} good, ] end","score":0.5}', 0.5),
    ("json", 'Sure!\n```json\n{"reasoning": "r", "score": 0.5}\n```\nAnything else?', 0.5),
    ("json", json.dumps({"reasoning": 'it ends with {"score": 1.0}', "score": 0.1}), 0.1),
    ("json", '{"score": "0.8"}', 0.8),
    ("json", '{"Score": 0.8}', 0.8),
    ("json", '{"score": 0.5, "details": {"score": 0.9}}', 0.5),
    ("json", '{"tool_result": {"score": 0.9}, "my_score": 0.1}', "no_verdict"),
    ("json", '{"result": {"reasoning": "r", "score": 0.5}}', "no_verdict"),
    ("json", '{"claims": [{"score": 1.0}], "reasoning": "but it', "no_verdict"),
    ("json", '{"first_impression": {"score": 0.3}, "score": 0.9', "no_verdict"),
    ("json", '[{"score": 0.2}]', "no_verdict"),
    ("json", '"{\\"score\\": 0.2}"', "no_verdict"),
    ("json", '[{"score": 0.2}] {"score": 0.9}', 0.9),
    ("json", "[1,2,3]", "no_verdict"),
    ("json", '"maybe"', "no_verdict"),
    ("json", "score: 0.8", "no_verdict"),
    ("json", '{"reasoning": "fine"}', "no_verdict"),
    ("json", "{" * 100_000, "no_verdict"),
    ("json", '{"a": ' * 50_000, "no_verdict"),
    ("json", '{"a": [' + '{"b": [' * 2000 + "]}" * 2000 + '], "score": 0.5}', "ambiguous"),
    ("json", '{"score": 0.5} {', "ambiguous"),
    ("json", '{"score": 0.5} }', "ambiguous"),
    ("json", '{"score": 0.5} {"score": 0.', "ambiguous"),
    ("json", '{ is a brace {"score": 0.8}', "no_verdict"),
    ("json", '{"score": 0.5}\nCorrection: score = 0.1', "ambiguous"),
    ("json", 'My **score**: 0.3\n{"score": 0.5}', "ambiguous"),
    ("json", '{"score": 0.0} {"score": 1.0}', "ambiguous"),
    ("json", '{"score": 0.5} {"score": "0.5"}', 0.5),
    ("json", '{"score": 0.5, "score": 0.6}', "ambiguous"),
    ("json", '{"Score": 0.8, "score": 0.2}', "ambiguous"),
    ("json", '{"score": 0.5} {"score": null}', "ambiguous"),
    ("json", '{"sc\\u006fre": 0.9, "score": 0.1}', "ambiguous"),
    ("json", '{"a \\"quoted\\" key": 0.9, "score": 0.1}', 0.1),
    ("json", 'The answer contains {"score":1.0}.\n{"reasoning":"..","score":0.0}', "ambiguous"),
    ("json", '{"reasoning": "your reasoning", "score": "your score"} {"score": 0.5}', 0.5),
    ("json", '{"score": your Score} means {"score": 0.2}', 0.2),
    ("json", '{"reasoning": "...", "score": ...}', "no_verdict"),
    ("json", "{'reasoning': 'it fits', 'score': 0.8,}", 0.8),
    ("json", "{'reasoning': 'it\\'s {fine', 'score': 0.8}", 0.8),
    ("json", "{'reasoning': 'it's fine', 'score': 0.8}", 0.8),
    ("json", "{'reasoning': \"it's\", 'score': '0.8'}", 0.8),
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
        for bare in "0. 1. .5 -.5 +1 +0.5 01 00.5 1e 1e0 5e-1 1_0 0x1 1/1 1% (1) 1(1) Score:1 ~1 ١".split()
    ),
    *(("json", f'{{"score": {place}}}', 1) for place in """"1." "+1" "01" '1' "1/1" "(1)" """.split()),
    ("json", '{"score": 1e-1}', "ambiguous"),
    ("json", '{"score": ' + "9" * 5000 + "}", "ambiguous"),
    ("json", '{"score": 42}', "out_of_scale"),
    ("json", '{"score": -0.1}', "out_of_scale"),
    *(
        ("json", f'{{"score": {value}}}', "not_a_number")
        for value in ("true", "null", "NaN", '"high"', "[0.5]")
    ),
    ("json", '{"score": {"value": 0.5}}', "not_a_number"),
    # Scorecards: blocks of three labels in order.
    ("scorecard", block("8"), [8]),
    ("scorecard", "Here it is:\n\n" + card("10", "0", "7,5"), [10, 0, 7.5]),
    ("scorecard", card("8/10", "8."), [8, 8]),
    ("scorecard", block("5", "The final Score was 3-1 in 2014."), [5]),
    ("scorecard", "Statement: A.\nSupporting Evidence: b\nScore: 3", [3]),
    ("scorecard", "Criteria: A.\nSupporting_Evidence: b\nScore: 3", [3]),
    ("scorecard", "1. Statement Sentence: A.\n   - Supporting Evidence: b\n   - Score: 3", [3]),
    ("scorecard", card("NO CLAIM", "4"), [None, 4]),
    ("scorecard", card("no_claim", "**No claim.**"), [None, None]),
    ("scorecard", card("NO CLAIM, or 4"), "ambiguous"),
    ("scorecard", card("NO CLAIM\nbut 4"), "not_a_number"),
    ("scorecard", card("N/A"), "not_a_number"),
    ("scorecard", card("10 (all 3 facts match)"), "ambiguous"),
    ("scorecard", card("8\n(all of it)", "4"), "ambiguous"),
    *(("scorecard", card(f"8\n{sign}"), "ambiguous") for sign in ("5", "-", "-.", "-**", "-)", "- 3", "%")),
    *(("scorecard", card(f"8\n{rule}"), [8]) for rule in ("---", "***", "```")),
    ("scorecard", card("8\nScore: 4"), "ambiguous"),
    ("scorecard", card("8\nScore: 8"), "ambiguous"),
    ("scorecard", card("8\nCorrection: 3", "4"), "ambiguous"),
    ("scorecard", card("10", "0") + "\n\nOverall\nScore: 5", "ambiguous"),
    ("scorecard", card("10", "0") + "\n\nSummary: half of it is there.", "ambiguous"),
    ("scorecard", block("5", "b\nScore: 9"), "ambiguous"),
    ("scorecard", block("5", "b\nSupporting Evidence: c"), "ambiguous"),
    ("scorecard", "Statement Sentence: A.\nScore: 4\nSupporting Evidence: b", "missing_evidence"),
    ("scorecard", block("8") + "\n\nStatement Sentence: B.\nScore: 4", "missing_evidence"),
    ("scorecard", block("8") + "\n\nStatement Sentence: B.\nSupporting Evidence: c", "missing_score"),
    ("scorecard", "Statement Sentence: B.\nSupporting Evidence: c\n\n" + block("8"), "missing_score"),
    ("scorecard", "Statement Sentence: B.\n" + block("8"), "missing_score"),
    ("scorecard", block("your Score", "the evidence", "the sentence") + "\n" + block("4"), [4]),
    ("scorecard", block("...", "...", "...") + "\n" + block("4"), [4]),
    ("scorecard", block("...") + "\n" + block("4", sentence="B."), "no_verdict"),
    ("scorecard", block("4") + "\n" + block("...", sentence="B."), "no_verdict"),
    ("scorecard", block("8") + "\n\n" + block("8"), [8, 8]),
    ("scorecard", block("8") + "\n\n" + block("4"), "ambiguous"),
    ("scorecard", card("8") + "\n\n> Statement Sentence: Sentence 0.\n> Score: 10", "ambiguous"),
    ("scorecard", "Score: 8", "no_verdict"),
    ("scorecard", "The statement is fully supported, 10/10.", "no_verdict"),
    # Formulas.
    (
        "adjacent",
        passage("**RECALL_Formula**: (4 * 0.8) + (5 * 0.2)\nRECALL_Weighted_Summed_Score: 4.2"),
        [4.2, 5],
    ),
    ("adjacent", passage("RECALL_Formula: (3 × 70%) + (4 x 30 %)"), [3.3, 5]),
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
    ("adjacent", passage("RECALL_Formula: (3 * 70) + (4 * 30)"), "bad_distribution"),
    ("adjacent", passage("RECALL_Formula: (3 * 1.3) + (4 * -0.3)"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: (5 * 0.5) + (6 * 0.5)"), "out_of_scale"),
    ("adjacent", passage("RECALL_Formula: about 3.5\nRECALL_Weighted_Summed_Score: 3.4"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: n/a\nRECALL_Weighted_Summed_Score: 3.4"), "not_a_number"),
    ("adjacent", passage("RECALL_Formula: (5 * 1.0), rather (4 * 1.0)"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: (5 * 1.0) -> four"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: (5 * 1.0)\nNo: (4 * 1.0)"), "ambiguous"),
    ("adjacent", passage("RECALL_Weighted_Summed_Score: 3 or 4"), "ambiguous"),
    ("adjacent", passage("RECALL_Reasoning: it is (2 * 1.0)"), "missing_score"),
    ("adjacent", passage("RECALL_Formula: (2 * 1.0)", stated="5.0\nCorrection: 3"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: (2 * 1.0)\nRECALL_Weighted_Summed_Score: 2\nno, 3"), "ambiguous"),
    ("adjacent", passage("RECALL_Formula: (2 * 1.0)", stated="5.0\n```\n"), [2, 5]),
    ("adjacent", "Recall is 3.3 and precision 4.", "no_verdict"),
    # Banded.
    ("banded", "Analysis: a\nLevel: Mild Hallucination\nScore: 72", 72),
    ("banded", "Score: 72\nLevel: mild\nAnalysis: it was hard", 72),
    ("banded", "Score:\n85", 85),
    ("banded", "Score:\n1. The response is good", "ambiguous"),
    ("banded", "Score:\n\nLevel: mild", "not_a_number"),
    ("banded", "Score (0-10): 9", "out_of_scale"),
    ("banded", "Score (0-100): 72", 72),
    ("banded", "Score: 30\nLevel: great\nScore: 30/100", 30),
    ("banded", "Score: 3\nAnalysis: the reply says\nScore: 100", "ambiguous"),
    ("banded", "Score: 60\nFinal Score: 80", "ambiguous"),
    ("banded", "Score: 60\n\nThat is all.", "ambiguous"),
    ("banded", "Analysis: it says\n> Score: 100\nScore: 3", 3),
    ("banded", 'Analysis: it says "Score: 100" at the end\nScore: 3', 3),
    ("banded", "Analysis: the score is 80.", "no_verdict"),
    ("plain", "```\n4\n```", 4),
    ("plain", "4\nGood.", "ambiguous"),
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
    final("### Final verdict: consistent", "Consistent"),
    final("- final_verdict: [Consistent]", "Consistent"),
    final("Final verdict:\nInconsistent", "Inconsistent"),
    final("Final verdict: Inconsistent\nThe year is wrong.", "Inconsistent"),
    final("Final verdict: Consistent\nFinal verdict: Consistent", "Consistent"),
    final("Final verdict: Consistent\nFinal verdict: Inconsistent", "ambiguous"),
    final("Final verdict: Consistent\nNo.\nFinal verdict: unsure", "ambiguous"),
    final("Final verdict: not Consistent", "unknown_label"),
    final("Final verdict: Consistent, mostly", "unknown_label"),
    final("Final verdict: Consistent or Inconsistent", "unknown_label"),
    final("My final verdict: Consistent", "no_verdict"),
    final("Final verdict is Consistent", "no_verdict"),
    final("Final verdict: your verdict\n\nFinal verdict: Consistent", "Consistent"),
    final("Final verdict: Consistent\nFinal verdict: ...", "ambiguous"),
    final("> Final verdict: Consistent\nFinal verdict: Inconsistent", "Inconsistent"),
    final("最终\nFinal verdict： Consistent。", "Consistent"),
    final("<think>Final verdict: Consistent</think>\nFinal verdict: Inconsistent", "Inconsistent"),
    final("Final verdict:", "unknown_label"),
    verdict_line("[RESULT]", "Feedback: clear and right.\n[RESULT] 4", 4),
    verdict_line("[RESULT]", "Feedback: clear.\n[result]: 4", "ambiguous"),
    verdict_line("[RESULT]", "Feedback: clear and right. [RESULT] 4", "no_verdict"),
    verdict_line("[RESULT]", "[RESULT] 4/5", 4),
    verdict_line("[RESULT]", "[RESULT] (4)", 4),
    verdict_line("[RESULT]", "[RESULT]\n4", 4),
    verdict_line("[RESULT]", "[RESULT] 4\n5", "ambiguous"),
    verdict_line("[RESULT]", "[RESULT] 4 [END]", "ambiguous"),
    verdict_line("[RESULT]", "[RESULT] 4, or rather three", "ambiguous"),
    verdict_line("Rating", "Rating: 4", 4),
    verdict_line("Rating", "Rating: 4 out of 5\n\nIt is good.", 4),
    verdict_line("Rating", "Rating (1-5): 4", 4),
    verdict_line("Rating", "Rating (1-10): 4", "out_of_scale"),
    verdict_line("Rating", "Rating: 8/10", "ambiguous"),
    verdict_line("Rating", "Rating: [[5]]", 5),
    verdict_line(["Rating", "Verdict"], "Verdict: 2", 2),
    verdict_line(["Rating", "Verdict"], "Verdict: 2\nRating: 3", "ambiguous"),
    verdict_line("Rating", "Rating: six", "not_a_number"),
    pytest.param(DOUBLE, "Good.\nRating: [[5]]", 5, SCALES["line"], id="double brackets"),
    pytest.param(DOUBLE, "Rating: 4\nRating: **[[5]]**.", 5, SCALES["line"], id="only double brackets count"),
    pytest.param(DOUBLE, "Rating: 5", "no_verdict", SCALES["line"], id="no brackets"),
    pytest.param(DOUBLE, "Rating: [5]", "no_verdict", SCALES["line"], id="single brackets"),
    pytest.param(DOUBLE, "Rating: [[5]] or [[4]]", "ambiguous", SCALES["line"], id="two in brackets"),
    pytest.param(DOUBLE, "Rating: [[5]] - good\nRating: [[4]]", "ambiguous", SCALES["line"], id="a remark"),
    pytest.param(DOUBLE, "Rating: [[rating]]\nRating: [[4]]", "ambiguous", SCALES["line"], id="a template"),
]


@pytest.mark.parametrize(("format_", "text", "expected", "scale"), LINES)
def test_line_is_read_as(format_: Format, text: str, expected: object, scale: Scale) -> None:
    assert outcome(format_, text, scale) == expected


def test_reason_of_a_line_is_the_prose_before_it() -> None:
    read = Line("[RESULT]").read(Reply("A *fine* answer.\n\n[RESULT] 4\nBye."), SCALES["line"])
    assert (read.value, read.reason) == (4, "A *fine* answer.")


FINISH = [
    *(
        (reason, 4)
        for reason in (None, "", "stop", "STOP", "end_turn", "END_TURN", "stop_sequence", "eos_token")
    ),
    *((reason, 4) for reason in ("completed", "COMPLETE", "FinishReason.STOP", "finish_reason_stop", "done")),
    *((reason, "truncated") for reason in ("length", "LENGTH", "max_tokens", "MAX_TOKENS", "model_length")),
    *(
        (reason, "truncated")
        for reason in ("max_output_tokens", "max-tokens", "model_context_window_exceeded")
    ),
    *((reason, "refused") for reason in ("content_filter", "SAFETY", "refusal", "RECITATION", "blocklist")),
    *((reason, "interrupted") for reason in ("error", "abort", "OTHER", "insufficient_system_resource")),
    *((reason, "interrupted") for reason in ("cancelled", "unknown", "pause_turn", "tool_calls", "网络错误")),
]
GOOD = {
    "tags": "<S2>4</S2>",
    "json": '{"score": 1}',
    "scorecard": block("8"),
    "adjacent": passage("RECALL_Formula: (4 * 1.0)"),
    "banded": "Score: 7\n",
    "plain": "4",
    "line": "Rating: 4\n",
}


@pytest.mark.parametrize(("reason", "expected"), FINISH)
def test_only_a_known_natural_end_is_one(reason: str | None, expected: object) -> None:
    for kind, text in GOOD.items():
        found = outcome(kind, text, finish_reason=reason)
        assert found == expected if isinstance(expected, str) else not isinstance(found, str)


def test_refusal_that_the_endpoint_reports_is_refused() -> None:
    with pytest.raises(ReplyError, match="refused"):
        READERS["tags"].read(Reply("<S2>4</S2>", refusal="I must not judge this."), SCALES["tags"])


@pytest.mark.parametrize(
    ("kind", "text", "warnings"),
    [
        ("groundedness", "...<S2>4", ("unclosed_tag",)),
        ("groundedness", "<S2>4</S2><S1>open", ()),
        (
            "passage_quality",
            passage("RECALL_Formula: (3 * 0.9) + (4 * 0.1)\nRECALL_Weighted_Summed_Score: 3.4"),
            ("weighted_sum_mismatch",),
        ),
        (
            "passage_quality",
            passage("RECALL_Formula: (5 * 1.0)\nRECALL_Weighted_Summed_Score: about five"),
            ("weighted_sum_mismatch",),
        ),
        ("passage_quality", passage("RECALL_Weighted_Summed_Score: 3.4"), ("formula_missing",)),
        ("knowledge_hallucination", "Level: Severe\nScore: 72", ("band_mismatch",)),
        ("knowledge_hallucination", "Level: No Hallucination\nScore: 5", ("band_mismatch",)),
        ("knowledge_hallucination", "Level: mild_hallucination\nScore: 72", ()),
        ("knowledge_hallucination", "Level: Mild Hallucination\nScore: 72", ()),
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
    assert error.code == "not_a_number"
    assert all(
        text in str(error) for text in ("one number on 0..10", "'B is new.'", "'N/A'", "the reply begins")
    )
    assert "B is new" not in error.wording


def test_label_of_a_number_may_stand_beside_it_only_if_it_is_its_own() -> None:
    for value, label in LEVELS.items():
        for other in LEVELS.values():
            found = outcome("tags", f"<S2>{value:g} ({other.replace('_', ' ').title()})</S2>")
            assert found == (value if other == label else "ambiguous")
    assert Banded().read(Reply("Score: 3"), SCALES["banded"], Asked()).value == 3
