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
    STARRED,
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
        "|4 - incomplete|4: incomplete|4 – Incomplete.|4-incomplete|4/5 — “incomplete”|4：incomplete"
        "|```4```|`4`.|(`4`)|Score: `4`|4 (`incomplete`)"
    ),
    "ambiguous": (
        "4 - mostly correct|4 (mostly)|4: fine|4, fine|4 (grounded)|4 (a strict grader gives 2)"
        "|4 (could be five)|4，更正：三|4 or 5|4-5|4 → 5|3/10|4/4|4 out of 10|4 (out of 5)|4 of 5|80%|4th|4e0"
        "|4.1.2|4,500|1,000|2 + 2 = 4|4\n5|4, 5|4 (5)|~4|4?|4..|4 stars|about 4|four (4)|S3: 4|final score: 4"
        "|4/5/5|--4|4 4|٤|４、５|4²|4½|4 (x) (x) (x)|[4|4]|4 [incomplete]"
        "|4 - 4|4: 4|4 - grounded|4: 4 - incomplete|4 - incomplete - incomplete|4 - not incomplete|4 -"
        "|4*|*4|**4*|4'|'4|`4|4`|4...|4!"
    ),
    "not_a_number": "| |five|½|NaN|true|四|-|good.",
    "out_of_scale": "0|6|-3|−3|+9|007",
    "not_integer": "4.5|4,5|1.01",
}


@pytest.mark.parametrize("kind", ["tags", "line", "plain", "json"])
@pytest.mark.parametrize(
    ("expected", "places"), IN_A_PLACE.items(), ids=[f"read as {key}" for key in IN_A_PLACE]
)
def test_place_holds_one_value_and_nothing_beside_it(kind: str, expected: object, places: str) -> None:
    scale = SCALES["tags"]
    for place in places.split("|"):
        escaped = json.dumps(place)[1:-1] if kind == "json" else place
        result = outcome(kind, PLACED[kind].format(escaped), scale)
        if place.strip() or kind in ("tags", "json"):
            assert result == expected, place
        if isinstance(expected, str):
            assert isinstance(result, str), place


UNIT, THOUSANDS, FIVE = Scale(worst=0, best=1), Scale(worst=0, best=5000), Scale(worst=1, best=5)


ON_SCALES: list[Any] = [
    pytest.param(Scale(worst=0, best=100), 85, "85%", id="percent on 0..100"),
    pytest.param(Scale(worst=100, best=0), 85, "85 %", id="percent on 100..0"),
    pytest.param(UNIT, 0.125, "0,125", id="a comma before three digits below 1"),
    pytest.param(
        UNIT, "ambiguous", "85%|1/1,000|1 out of 1,000|1 (1,000)", id="percent and thousands on 0..1"
    ),
    pytest.param(THOUSANDS, 1.12, "1,12", id="a decimal comma"),
    pytest.param(FIVE, "ambiguous", "3，4|1，2", id="a comma of full width separates two numbers"),
    pytest.param(FIVE, 3, "3，3|３，3", id="a number, and the same behind a comma of full width"),
    pytest.param(FIVE, 3.4, "３．４|3．4", id="a decimal point of full width"),
    pytest.param(THOUSANDS, "ambiguous", "1,125|1000/5,000", id="thousands on 0..5000"),
    pytest.param(Scale(worst=5, best=1), 2, "2/5", id="the best value is the lower end"),
    pytest.param(Scale(worst=5, best=1), "ambiguous", "2/1", id="another value for the best one"),
    pytest.param(Scale(worst=-1, best=1), -0.5, "-0.5", id="below zero"),
    pytest.param(Scale(worst=-1, best=1), 0, "-0", id="minus zero"),
    pytest.param(FIVE, 4, "4" + " " * 200, id="blanks to any length"),
    pytest.param(FIVE, "ambiguous", f"{'(' * 60}4{')' * 60}|Score:{' ' * 200}4", id="too long for a place"),
    pytest.param(
        YES, "yes", "yes|**Yes**.|Score: yes|`yes`|```yes```|“(Yes)”.|*yes*|_Yes_.|'yes'|「yes」。", id="yes"
    ),
    pytest.param(
        YES,
        "unknown_label",
        "Yes...|Yes!!!|Yes!|Yes..|Yes…|yes,|yes:|yes;|*yes|yes*|**yes*|*yes**|_yes|yes_|yes'|\"yes|`yes|yes`|“yes",
        id="a mark on one side, and more than a full stop",
    ),
    pytest.param(
        YES,
        "unknown_label",
        "yes (yes)|Yes, but no source says so|yes?|yes/no|yes or no|1|",
        id="more than yes",
    ),
    pytest.param(
        FOUR,
        "not supported",
        "not_supported|Not-Supported|not\u00a0supported|“not  supported.”|not\\_supported",
        id="spellings of a label",
    ),
    pytest.param(
        FOUR,
        "unknown_label",
        "unsupported|supported (1.0)|not partially supported",
        id="labels that hold another one",
    ),
    pytest.param(SIGNED, "-1", "-1|−1", id="a label with a sign"),
    pytest.param(SIGNED, "1", "1", id="a label that is a number"),
    pytest.param(SIGNED, "unknown_label", "+1|- 1|1-", id="other signs before a number"),
    pytest.param(GRADES, "A-", "A-|A–", id="a grade with a sign"),
    pytest.param(GRADES, "A", "A|a", id="a grade without a sign"),
    pytest.param(GRADES, "unknown_label", "A+|-A|B +", id="other signs at a grade"),
    pytest.param(GRADES, "unknown_label", "A*|*A|A'|'A|`A|A!|A_", id="a mark on one side of a grade"),
    pytest.param(SIGNED, "unknown_label", "*1|1*|1'|_1|`1", id="a mark on one side of a number"),
    pytest.param(STARRED, "A*", "A*|*A**|**A***|(A*)|`A*`|a*.|“A*”", id="a grade with an asterisk"),
    pytest.param(STARRED, "A", "A|*A*|**A**|`A`|_A_", id="a grade beside one with an asterisk"),
    pytest.param(CHINESE, "有依据", "有依据。|「有依据」", id="Chinese labels"),
    pytest.param(CHINESE, "unknown_label", "no 依据", id="another word before a Chinese label"),
]


@pytest.mark.parametrize(("scale", "expected", "places"), ON_SCALES)
def test_place_is_read_on_its_scale(scale: Scale, expected: object, places: str) -> None:
    for place in places.split("|"):
        for kind in ("tags", "line", *(["plain"] if place else [])):
            assert outcome(kind, PLACED[kind].format(place), scale) == expected, (kind, place)


LABELS = {
    8: (
        "Score:|**Score:**|**Score**:|- Score:|### Score:|score :|1. Score:|`Score:`|Score：|\u200fScore:"
        "|Score:\n\n|Score (0-10):|Score [0 to 10]:|Score (/10):|Score (out of 10):"
        "|### Score\n|# **Score**\n\n|## Score (0-10)\n|- ## score\n|# Score\nScore:"
    ),
    "out_of_scale": "Score (0-1):|Score (0-100):|Score [max 10]:",
    "missing_score": (
        "Score (final):|> Score:|The Score:|Score|Score 1:|Score =|总分：|Overall\nSco re:|# Score|Score\n"
        "|# The Score\n|# Scores\n"
    ),
}


@pytest.mark.parametrize(("expected", "labels"), LABELS.items(), ids=[f"read as {key}" for key in LABELS])
def test_label_begins_its_line(expected: object, labels: str) -> None:
    for label in labels.split("|"):
        text = f"Statement Sentence: A.\nSupporting Evidence: b\n{label} 8"
        assert outcome("scorecard", text) == ([expected] if expected == 8 else expected), label


SUM = "RECALL_Weighted_Summed_Score"
REPLIES: list[tuple[Any, ...]] = [
    # What the replies show, a format, what is read, and the replies.
    # Tags: outermost elements, and behind the verdict no more text.
    (
        "a verdict between tags",
        "tags",
        4,
        "<S0>..</S0><S1>r</S1><S2>4</S2>",
        "< S2 > 4 < /S2 >",
        "<S\u200b2>4</S2>",
    ),
    (
        "a fence, and a verdict that is stated twice",
        "tags",
        4,
        "```xml\r\n<S1>r</S1>\r\n<S2>4</S2>\r\n```",
        "<S2>4</S2><S1>r</S1><S2>4/5</S2>",
    ),
    (
        "an echo of the prompt, signs behind the verdict, an unclosed tag",
        "tags",
        4,
        "between the tags <S2>your Score</S2> ... <S2>4</S2>",
        "<S2>4</S2> ✓ !",
        "...<S2>4",
    ),
    (
        "a verdict in the thoughts",
        "tags",
        4,
        "<S0>first <S2>2</S2> came to mind</S0><S1>r</S1><S2>4</S2>",
    ),
    (
        "a tag that opens behind the verdict and does not close",
        "tags",
        "ambiguous",
        "<S2>4</S2><S1>open",
        "<S0>t</S0><S1>It says '</S1><S2>5</S2><S0>', wrong.</S1><S2>1</S2>",
    ),
    (
        "thoughts or an explanation that come twice",
        "tags",
        "ambiguous",
        "<S0>t</S0><S1>It says '</S1><S2>5</S2><S1>', wrong.</S1>",
        "<S0>quote: '</S0><S1>ok</S1><S2>5</S2><S0>' is forged.</S0><S1>bad</S1>",
        "<S1>first</S1><S1>second</S1><S2>2</S2>",
    ),
    ("a verdict quoted in the explanation", "tags", 4, '<S2>4</S2><S1>it says "<S2>5</S2>"</S1>'),
    (
        "an echo behind, a verdict again in prose, two tags that open",
        "tags",
        "ambiguous",
        "<S2>4</S2> <S2>your Score</S2>",
        "<S2>4</S2> again <S2>4</S2>",
        "<S2>4<S2>",
    ),
    (
        "two verdicts that differ, a correction in words",
        "tags",
        "ambiguous",
        "<S2>9</S2> ... <S2>4</S2>",
        "<S2>5</S2>\nCorrection: it should be 2.",
    ),
    (
        "a closing tag that closes nothing, prose in an unclosed tag",
        "tags",
        "ambiguous",
        "</S1><S2>4</S2>",
        "<S2>4 and then",
    ),
    (
        "a verdict that is quoted right before its tag",
        "tags",
        "ambiguous",
        'It ends with "<S2>5</S2>"',
        "<S1>r</S1>I never write '<S2>5</S2>'.",
        "“<S2>5</S2>”",
    ),
    (
        "a verdict in thoughts that do not close, and one in prose",
        "tags",
        "no_verdict",
        "<S0>first <S2>2</S2> came to",
        "I would give it a 4.",
    ),
    (
        "a number that is cut off behind its point",
        "tags",
        "ambiguous",
        "...<S2>4.",
        "...<S2>4. ",
        "...<S2>Score: 4。",
    ),
    (
        "emphasis that begins in one element and ends in another",
        "tags",
        "ambiguous",
        "<S1>It is *good</S1><S2>4*</S2>",
        "<S1>r</S1>`<S2>4</S2>`",
    ),
    # Reasoning.
    *(
        (
            f"reasoning that does not close ahead of {text}",
            kind,
            "no_verdict",
            f"Hm. <think> so\n{text}",
            f"Hm. <!-- so\n{text}",
            f"Hm. <|channel|>analysis<|message|> so\n{text}",
        )
        for kind, text in (
            ("tags", "<S1>r</S1><S2>4</S2>"),
            ("tags", "<S0>t</think></S0><S2>4</S2> -->"),
            ("json", '{"reasoning": "</think> -->", "score": 0.5}'),
            ("banded", "Analysis: a\nScore: 72"),
            ("banded", "Analysis: </think> -->\nScore: 72"),
            ("scorecard", block("4")),
            ("line", "so\nRating: 4"),
        )
    ),
    *(
        (
            "reasoning that holds the verdict",
            kind,
            "no_verdict",
            f"Hm. <think>\n{text}\n</think>",
            f"<!-- {text} -->",
            f"<thought>\n{text}\n</thought>",
        )
        for kind, text in (("tags", "<S2>4</S2>"), ("json", '{"score": 0.5}'), ("line", "x\nRating: 4"))
    ),
    *(
        (
            "reasoning ahead of the verdict",
            kind,
            expected,
            f"Hm. <think>so</think>\n{text}",
            f"<!-- so -->\n{text}",
            "<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>\n" + text,
        )
        for kind, text, expected in (
            ("tags", "<S2>4</S2>", 4),
            ("json", '{"score": 0.5}', 0.5),
            ("line", "Rating: 4", 4),
            ("banded", "Analysis: it says <think> and <!--\nScore: 72", 72),
        )
    ),
    (
        "reasoning of two blocks, and one whose beginning is missing",
        "tags",
        2,
        "<think>a</think>\n<Thinking><S2>5</S2></Thinking><S2>2</S2>",
        "see\n</think>\n<S2>2</S2>",
    ),
    (
        "tags of reasoning within the explanation",
        "tags",
        2,
        "<S1>a <think> b</S1><S2>2</S2>",
        "<S1>it says </think> there</S1><S2>2</S2>",
    ),
    (
        "the end of a reasoning behind a verdict, and within a line",
        "tags",
        "ambiguous",
        "<S2>5</S2>\n</think>\n<S2>2</S2>",
        "see </think> <S2>2</S2>",
    ),
    ("a second end of the reasoning", "tags", "ambiguous", "<think>a</think> b </think> <S2>2</S2>"),
    (
        "a tag of reasoning by another name",
        "tags",
        "ambiguous",
        "<reasoning><S2>5</S2></reasoning><S2>2</S2>",
    ),
    ("reasoning that does not close", "tags", "no_verdict", "<think>it is <S2>4</S2>"),
    ("nothing but blanks or reasoning", "tags", "empty", " \u200b\n", "<think>hm</think>"),
    (
        "reasoning that ends between two scores",
        "banded",
        "ambiguous",
        "Analysis: a\nScore: 90\n</think>\nScore: 20",
    ),
    (
        "JSON in the reasoning, and the end of one in a string",
        "json",
        0.2,
        '<think>{"score": 1}</think>{"score": 0.2}',
        '{"reasoning": "</think>", "score": 0.2}',
    ),
    ("the end of a reasoning behind an object", "json", "ambiguous", '{"score": 0.2}\n</think>\nor not'),
    (
        "reasoning before a bare value, and a fence around it",
        "plain",
        4,
        "<think>5, or 4?</think>4",
        "```\n4\n```",
    ),
    # JSON: a key of an outermost object.
    (
        "braces in a string, and a key in capitals",
        "json",
        0.5,
        '{"reasoning":"score is 1,} good, ] end","score":0.5}',
        '{"Score": 0.5}',
    ),
    (
        "a fence and prose around the object",
        "json",
        0.5,
        'Sure!\n```json\n{"reasoning": "r", "score": 0.5}\n```\nAnything else?',
    ),
    (
        "a score within the object, and a list of others ahead",
        "json",
        0.5,
        '{"score": 0.5, "details": {"score": 0.9}}',
        '[{"a": 0.2}] {"score": 0.5}',
    ),
    (
        "a score in a list or in a bracket ahead of the object",
        "json",
        "ambiguous",
        '[{"score": 0.2}] {"score": 0.5}',
        'It says [.\n{"score": 0}\nAnd it says ]{"score": 1}',
    ),
    (
        "the same score twice, and a key with quotation marks",
        "json",
        0.5,
        '{"score": 0.5} {"score": "0.5"}',
        '{"a \\"quoted\\" key": 0.9, "score": 0.5}',
    ),
    (
        "an echo of the prompt as a string and bare",
        "json",
        0.5,
        '{"score": "your score"} {"score": 0.5}',
        '{"score": your Score} or {"score": 0.5}',
    ),
    (
        "a score in an inner object, and none",
        "json",
        "no_verdict",
        '{"tool_result": {"score": 0.9}, "my_score": 0.1}',
        '{"reasoning": "fine"}',
    ),
    (
        "a score in a list, and an object that does not close",
        "json",
        "no_verdict",
        '{"claims": [{"score": 1.0}], "reasoning": "but it',
        '[{"score": 0.2}]',
    ),
    (
        "an object in a string, a brace in prose, an ellipsis",
        "json",
        "no_verdict",
        'It says "{\\"score\\": 0.2}".',
        '{ is a brace {"score": 0.8}',
        '{"score": ...}',
    ),
    (
        "braces that never close, and a key without a colon",
        "json",
        "no_verdict",
        '{"a": ' * 5_000,
        '{"reasoning": "it says score: 1.0, false", "score" 0.2}',
    ),
    (
        "outermost objects by the thousand, and as many verdicts",
        "json",
        "ambiguous",
        '{"score": 0.5}' + "{}" * 1001,
        '{"score": 0.5}' * 1001,
    ),
    ("verdicts by the thousand", "tags", "ambiguous", "<S2>4</S2>" * 1001),
    (
        "objects within objects by the thousand",
        "json",
        "ambiguous",
        '{"a": [' + '{"b": [' * 2000 + "]}" * 2000 + '], "score": 0.5}',
    ),
    (
        "a brace or another score behind the object",
        "json",
        "ambiguous",
        '{"score": 0.5} {',
        '{"score": 0.5} }',
        '{"score": 0.5}\nCorrection: score = 0.1',
    ),
    (
        "another score before the object, and two objects",
        "json",
        "ambiguous",
        'My **score**: 0.3\n{"score": 0.5}',
        '{"score": 0.0} {"score": 1.0}',
    ),
    (
        "prose without digits around the object",
        "json",
        0.5,
        'Here it is: {"score": 0.5}\nDone.',
        'Sure!\n{"score": 0.5} Done.',
    ),
    (
        "the name of the key behind the object",
        "json",
        "ambiguous",
        'It said {"score": 1.0}. My Score is zero.',
        '{"score": 0.5}\nThe scores differ.',
    ),
    (
        "a key twice, and once with an escape",
        "json",
        "ambiguous",
        '{"Score": 0.8, "score": 0.2}',
        '{"sc\\u006fre": 0.9, "score": 0.1}',
    ),
    # JSON that is repaired.
    (
        "single quotes",
        "json",
        0.8,
        "{'reasoning': 'it\\'s {fine', 'score': 0.8,}",
        "{'reasoning': 'it's fine', 'score': 0.8}",
    ),
    (
        "a line break and quotation marks in a string",
        "json",
        0.8,
        '{"reasoning": "line\nbreak", "score": 0.8}',
        '{"reasoning": "a "b" c", "score": 0.8}',
    ),
    ("comments without digits", "json", 0.8, '{"reasoning": "r", /* hm */ "score": 0.8 // fine\n}'),
    (
        "comments with digits, quotation marks or the key, and a decimal comma",
        "json",
        "ambiguous",
        '{"score": 0.8 // not 0.3\n}',
        '{"score": 0.8 /* 0.3 */}',
        '{"score": 0.8, "a": "b" // ", "\n}',
        '{"score": 0.8 /* the Score */}',
        '{"score": 0./**/8}',
        '{"score": 0,8}',
    ),
    (
        "signs of a comment in a string",
        "json",
        "not_a_number",
        '{"score": "// yes"}',
    ),
    (
        "a list or a string behind the verdict that hides an object",
        "json",
        "ambiguous",
        '{"reasoning": "It says ", "score": 1} [{"a": ", wrong.", "score": 0}',
        """{"reasoning": "It says ", "score": 1} '{"a": ", wrong.", "score": 0}""",
        '{"score": 0.5} [{"score": 0.5}]',
    ),
    (
        "a bracket in prose ahead of the object",
        "json",
        "no_verdict",
        'It says [so:\n{"score": 0}',
    ),
    # A bare number is as JSON has it: of another one part may be missing.
    *(
        ("bare number", "json", float(bare), f'{{"score": {bare}, "a": 1}}')
        for bare in "0 1 0.50 -0 0.00001".split()
    ),
    (
        "bare and not as JSON has it",
        "json",
        "ambiguous",
        *(
            f'{{"score": {bare}, "a": 1}}'
            for bare in f"0. .5 +0.5 01 1e 5e-1 1_0 1/1 1% (1) 1(1) Score:1 ~1 ١ {'9' * 5000}".split()
        ),
    ),
    (
        "string or bracket",
        "json",
        1,
        *(f'{{"score": {place}}}' for place in """"1." "+1" "01" '1' "1/1" "(1)" """.split()),
    ),
    (
        "no number",
        "json",
        "not_a_number",
        *(f'{{"score": {value}}}' for value in 'true NaN [0.5] {"value":5}'.split()),
    ),
    # Scorecards: blocks of three labels in order.
    (
        "three blocks, with a decimal comma",
        "scorecard",
        [10, 0, 7.5],
        "Here it is:\n\n" + card("10", "0", "7,5"),
    ),
    (
        "a score in the evidence",
        "scorecard",
        [3],
        "Statement: A.\nSupporting Evidence: The Score was 3-1 in 2014.\nScore: 3",
    ),
    (
        "other labels, numbers and bullets",
        "scorecard",
        [3],
        "1. Criteria: A.\n   - Supporting_Evidence: b\n   - Score: 3",
    ),
    ("sentences that claim nothing", "scorecard", [None, None, 4], card("no_claim", "**No claim.**", "4")),
    (
        "more behind a score",
        "scorecard",
        "ambiguous",
        card("NO CLAIM, or 4"),
        card("8\n(all of it)", "4"),
        card("8\nScore: 4"),
    ),
    ("prose behind NO CLAIM", "scorecard", "not_a_number", card("NO CLAIM\nbut 4")),
    (
        "signs below the score",
        "scorecard",
        "ambiguous",
        *(card(f"8\n{sign}") for sign in ("5", "-", "-.", "-**", "-)", "- 3", "%")),
    ),
    ("a rule below the score", "scorecard", [8], *(card(f"8\n{rule}") for rule in ("---", "***", "```"))),
    (
        "a label that comes twice in a block, and a sentence with two scores",
        "scorecard",
        "ambiguous",
        block("5", "b\nSupporting Evidence: c"),
        f"{block('8')}\n\n{block('4')}",
    ),
    (
        "a block without an evidence line",
        "scorecard",
        "missing_evidence",
        block("8") + "\n\nStatement Sentence: B.\nScore: 4",
    ),
    (
        "a score above the lowest without evidence",
        "scorecard",
        "missing_evidence",
        block("8", ""),
        block("0.5", "..."),
        block("10", "-"),
    ),
    ("the lowest score without evidence", "scorecard", [0], block("0", ""), block("0", "-")),
    (
        "the last block without a score",
        "scorecard",
        "missing_score",
        block("8") + "\n\nStatement Sentence: B.\nSupporting Evidence: c",
    ),
    (
        "a sentence without evidence and score",
        "scorecard",
        "missing_score",
        "Statement Sentence: B.\n" + block("8"),
    ),
    (
        "the template of the prompt ahead",
        "scorecard",
        "no_verdict",
        block("your Score", "the evidence", "the sentence") + "\n" + block("4"),
    ),
    (
        "a score that is an ellipsis ahead, and prose alone",
        "scorecard",
        "no_verdict",
        block("...") + "\n" + block("4", sentence="B."),
        "Fully supported, 10/10.",
    ),
    (
        "a score that is an ellipsis behind",
        "scorecard",
        "no_verdict",
        block("4") + "\n" + block("...", sentence="B."),
    ),
    ("a sentence twice with one score", "scorecard", [8, 8], block("8") + "\n\n" + block("8")),
    # Formulas.
    ("shares in percent", "adjacent", [3.3, 5], passage("**RECALL_Formula**: (3 × 70%) + (4 x 30 %)")),
    (
        "stated sums behind the formula",
        "adjacent",
        [3.3, 5],
        passage("RECALL\\_Formula: (3 * 0.7) + (4 * 0.3) = 2.1 + 1.2 = 3.3."),
    ),
    (
        "spaces in the label, decimal commas, and a sum alone",
        "adjacent",
        [3.3, 5],
        passage("RECALL Formula: (4·0,3)+(3·0,7)"),
        passage(f"{SUM}: 3.3"),
    ),
    ("a blank formula and a sum", "adjacent", [3.3, 5], passage(f"RECALL_Formula:\n{SUM}: 3.3")),
    (
        "a formula twice, and a fence behind",
        "adjacent",
        [1, 5],
        passage("RECALL_Formula: (1 * 1)\nRECALL_Formula: (1 * 1.0)", stated="5.0\n```\n"),
    ),
    (
        "a second reasoning, and two sums that differ",
        "adjacent",
        "ambiguous",
        passage(f"RECALL_Formula: (5 * 1.0)\nRECALL_Reasoning: no\n{SUM}: 1"),
        passage(f"RECALL_Formula: (5 * 1.0)\n{SUM}: 5\n{SUM}: 1"),
    ),
    (
        "two formulas that differ",
        "adjacent",
        "ambiguous",
        passage("RECALL_Formula: (1 * 1.0)\nRECALL_Formula: (2 * 1.0)"),
    ),
    ("a formula in words", "adjacent", "not_adjacent", passage(f"RECALL_Formula: about 3.5\n{SUM}: 3.4")),
    (
        "a correction below the formula",
        "adjacent",
        "ambiguous",
        passage("RECALL_Formula: (5 * 1.0)\nNo: (4 * 1.0)"),
    ),
    (
        "a correction below the sum",
        "adjacent",
        "ambiguous",
        passage("RECALL_Formula: (2 * 1.0)", stated="5.0\nCorrection: 3"),
    ),
    ("scores two apart", "adjacent", "not_adjacent", passage("RECALL_Formula: (2 * 0.5) + (4 * 0.5)")),
    (
        "three scores",
        "adjacent",
        "not_adjacent",
        passage("RECALL_Formula: (2 * 0.2) + (3 * 0.5) + (4 * 0.3)"),
    ),
    ("a fraction as a score", "adjacent", "not_adjacent", passage("RECALL_Formula: (3.5 * 1.0)")),
    (
        "shares that do not add up",
        "adjacent",
        "bad_distribution",
        passage("RECALL_Formula: (2 * 0.5) + (3 * 0.4)"),
    ),
    ("a score off the scale", "adjacent", "out_of_scale", passage("RECALL_Formula: (5 * 0.5) + (6 * 0.5)")),
    ("a formula that is none", "adjacent", "not_adjacent", passage(f"RECALL_Formula: n/a\n{SUM}: 3.4")),
    ("no formula and no sum", "adjacent", "missing_score", passage("RECALL_Reasoning: it is (2 * 1.0)")),
    ("prose alone", "adjacent", "no_verdict", "Recall is 3.3 and precision 4."),
    # Banded.
    (
        "three labels, a value below its label, a quoted line",
        "banded",
        72,
        "Analysis: a\nLevel: Mild Hallucination\nScore: 72",
        "Score:\n72",
        "> Score: 9\nScore: 72",
    ),
    (
        "a numbered line below the label, and prose behind",
        "banded",
        "ambiguous",
        "Score:\n1. The response is good",
        "Score: 60\n\nThat is all.",
    ),
    ("no score behind the label", "banded", "not_a_number", "Score:\n\nLevel: mild"),
    (
        "headings without colons",
        "banded",
        72,
        "### Analysis\na\n\n### Level\nmild\n\n### Score\n72",
        "### Analysis\nAnalysis: a\n## Score\nScore: 72",
    ),
    ("a heading with text below, and another score", "banded", "ambiguous", "## Score\n90\n\nScore: 72"),
    (
        "names of parts alone on their lines",
        "adjacent",
        [3.3, 5],
        f"RECALL\n{SUM}: 3.3\n\n## PRECISION\n\nPRECISION_Weighted_Summed_Score: 5",
        f"## Recall:\n{SUM}: 3.3\n\n**Precision**\nPRECISION_Weighted_Summed_Score: 5\n## Recall",
    ),
    (
        "the name of a part with text",
        "adjacent",
        "ambiguous",
        f"{SUM}: 3.3\n\n## PRECISION\nIt is 4.\nPRECISION_Weighted_Summed_Score: 5",
        f"{SUM}: 3.3\nPRECISION: 4\nPRECISION_Weighted_Summed_Score: 5",
    ),
]


@pytest.mark.parametrize(
    ("kind", "expected", "texts"),
    [pytest.param(kind, expected, texts, id=f"{kind}: {name}") for name, kind, expected, *texts in REPLIES],
)
def test_reply_is_read_as(kind: str, expected: Any, texts: list[str]) -> None:
    for text in texts:
        assert outcome(kind, text) == (pytest.approx(expected) if kind == "adjacent" else expected), text


TOKENS = (
    "<|im_end|>",
    "</s>",
    "<|eot_id|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<｜end▁of▁sentence｜>",
)


@pytest.mark.parametrize("token", [*TOKENS, "\n</s>\n", "<|im_end|>\n<|endoftext|>"])
def test_token_that_ends_a_turn_is_cut_at_the_very_end(token: str) -> None:
    for kind, frame in PLACED.items():
        assert outcome(kind, frame.format(1) + token) == ([1] if kind in {"scorecard", "numbered"} else 1), (
            kind
        )
    assert outcome("tags", f"<S2>4{token}") == 4
    assert outcome("tags", f"<S2>4.{token}") == "ambiguous"
    assert outcome("tags", token) == "empty"
    assert outcome("plain", f"{token}1") == "ambiguous"
    assert outcome("banded", f"Score: 1{token}\nLevel: x") == "ambiguous"


CONSISTENT = Choices({"Consistent": 1, "Inconsistent": 0})
FINAL, RESULT, RATING = Line("Final verdict"), Line("[RESULT]"), Line(("Rating", "Verdict"))
DOUBLE = Line("Rating", brackets=True)
LINES: list[Any] = [
    pytest.param(
        FINAL,
        CONSISTENT,
        "Inconsistent",
        "It adds a year.\n\nFinal verdict: Inconsistent\nSo it is.",
        id="prose before and behind",
    ),
    pytest.param(
        FINAL, CONSISTENT, "Consistent", "**Final Verdict:** Consistent.", id="emphasis and other capitals"
    ),
    pytest.param(
        FINAL,
        CONSISTENT,
        "Consistent",
        "- final_verdict: [Consistent]",
        id="a bullet, an underscore and brackets",
    ),
    pytest.param(
        FINAL, CONSISTENT, "Consistent", "最终\nFinal verdict： Consistent。", id="full-width signs"
    ),
    pytest.param(
        FINAL,
        CONSISTENT,
        "ambiguous",
        "Final verdict: Consistent\nFinal verdict: ...",
        id="an echo behind the verdict",
    ),
    pytest.param(FINAL, CONSISTENT, "unknown_label", "Final verdict:", id="no verdict behind the label"),
    pytest.param(
        FINAL, CONSISTENT, "unknown_label", "Final verdict: Consistent*\n\n* mostly", id="a footnote"
    ),
    pytest.param(FINAL, STARRED, "A*", "**Final verdict:** A*", id="an emphasised label and an asterisk"),
    pytest.param(FINAL, STARRED, "no_verdict", "**Final verdict: A***", id="an asterisk in emphasis"),
    pytest.param(
        FINAL, CONSISTENT, "Consistent", "Good.\n### Final verdict\n\nConsistent", id="a heading as a label"
    ),
    pytest.param(FINAL, CONSISTENT, "no_verdict", "Good.\nFinal verdict\nConsistent", id="a line as a label"),
    pytest.param(
        RESULT,
        SCALES["line"],
        4,
        "Feedback: clear and right.\n[RESULT] 4",
        id="a label in brackets without a colon",
    ),
    pytest.param(RESULT, SCALES["line"], 4, "[RESULT]\n4", id="the value below its label"),
    pytest.param(
        RESULT,
        SCALES["line"],
        4,
        "Feedback: clear.\n[result]: 4",
        id="a label in brackets with a colon",
    ),
    pytest.param(
        RESULT,
        SCALES["line"],
        "no_verdict",
        "Feedback: clear and right. [RESULT] 4",
        id="a label within a line",
    ),
    pytest.param(
        RATING,
        SCALES["line"],
        4,
        "Rating: 4 out of 5\n\nIt is good.",
        id="the best value behind a slash in words",
    ),
    pytest.param(RATING, SCALES["line"], 2, "Verdict: 2", id="the second of two labels"),
    pytest.param(RATING, SCALES["line"], "ambiguous", "Verdict: 2\nRating: 3", id="two labels that differ"),
    # Only double brackets count.
    pytest.param(
        DOUBLE, SCALES["line"], 5, "Rating: 4\nRating: **[[5]]**.", id="double brackets behind a line without"
    ),
    pytest.param(DOUBLE, SCALES["line"], "no_verdict", "Rating: [5]", id="single brackets"),
    pytest.param(
        DOUBLE,
        SCALES["line"],
        "ambiguous",
        "Rating: [[5]] or [[4]]",
        id="two values in double brackets, and one line",
    ),
    pytest.param(
        DOUBLE,
        SCALES["line"],
        "ambiguous",
        "Rating: [[5]] - good\nRating: [[4]]",
        id="prose behind double brackets",
    ),
    pytest.param(
        DOUBLE,
        SCALES["line"],
        "ambiguous",
        "Rating: [[rating]]\nRating: [[4]]",
        id="a word in double brackets",
    ),
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


@pytest.mark.parametrize(("code", "reasons"), FINISH.items(), ids=[f"code {code}" for code in FINISH])
def test_only_a_known_natural_end_is_one(code: str | None, reasons: str) -> None:
    for reason in (*reasons.split("|"), *([] if code else [None])):
        for kind, text in GOOD.items():
            result = outcome(kind, text, finish_reason=reason)
            assert result == code if code else not isinstance(result, str), (reason, kind)


def test_refusal_that_the_endpoint_reports_is_refused() -> None:
    with pytest.raises(ReplyError, match="refused"):
        READERS["tags"].read_reply(Reply("<S2>4</S2>", refusal="I must not judge this."), SCALES["tags"])


WARNED: list[Any] = [
    pytest.param(
        "groundedness",
        "...<S2>4",
        ("unclosed_tag", "shares_unreadable"),
        id="tag that is not closed at the end",
    ),
    pytest.param(
        "passage_quality",
        passage(f"RECALL_Formula: (5 * 1.0)\n{SUM}: 4.9"),
        ("weighted_sum_mismatch",),
        id="another sum than the formula's",
    ),
    pytest.param(
        "passage_quality",
        passage(f"RECALL_Formula: (5 * 1.0)\n{SUM}: five"),
        ("weighted_sum_mismatch",),
        id="a sum in words",
    ),
    pytest.param(
        "passage_quality", passage(f"{SUM}: 3.4"), ("formula_missing",), id="a sum without a formula"
    ),
    pytest.param(
        "knowledge_hallucination",
        "Level: Severe\nScore: 72",
        ("band_mismatch",),
        id="another level than the score's",
    ),
    pytest.param(
        "knowledge_hallucination", "Level: mild_hallucination\nScore: 72", (), id="the level of the score"
    ),
]


@pytest.mark.parametrize(("kind", "text", "warnings"), WARNED)
def test_reply_that_is_read_has_warnings(kind: str, text: str, warnings: tuple[str, ...]) -> None:
    assert load_rubric(kind).read(text).warnings == warnings


REASONS: list[Any] = [
    pytest.param(
        "tags", "<S2>2</S2><S1> *after* </S1>", "*after*", id="emphasis around an explanation behind"
    ),
    pytest.param("tags", "<S2>2</S2>", "", id="no explanation"),
    pytest.param(
        "json", '{"reasoning": "a  *b*\\n", "score": 1}', "a  *b*\n", id="blanks and emphasis in a string"
    ),
    pytest.param("json", '{"reasoning": ["a"], "score": 1}', '["a"]', id="a list"),
    pytest.param(
        "banded",
        "**Analysis**: a **b** c\n\nd\nScore: 4",
        "a **b** c\n\nd",
        id="emphasis and blank lines in a section",
    ),
    pytest.param("line", "a\nb\n\n**Rating: 4**\nc", "a\nb", id="the prose before a line"),
]


@pytest.mark.parametrize(("kind", "text", "reason"), REASONS)
def test_reason_is_the_models_own_text(kind: str, text: str, reason: str) -> None:
    assert READERS[kind].read_reply(Reply(text), SCALES[kind]).reason == reason


QUOTED: list[Any] = [
    pytest.param('"b ... c"', ('"b ... c"',), id="a quote of two pieces"),
    pytest.param("NOTHING FOUND", (), id="nothing found"),
    pytest.param("**NOTHING FOUND** (the source says nothing of it)", (), id="a remark behind nothing found"),
    pytest.param(
        "Nothing found in the cellar was sold.",
        ("Nothing found in the cellar was sold.",),
        id="a sentence that begins with nothing found",
    ),
]


@pytest.mark.parametrize(("evidence", "quotes"), QUOTED)
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
