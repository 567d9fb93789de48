"""Replies of 200 kB: whatever they repeat ahead of, in or behind their verdict, they are read in a second."""

from __future__ import annotations

from time import process_time

import pytest
from read_replies import outcome, passage

from groundjudge.text.sentences import sentences

SIZE = 200_000
# A second on an idle machine. What is quadratic takes minutes.
MOST_SECONDS = 3
VERDICTS = {
    "tags": "<S1>r@</S1><S2>4</S2>",
    "json": '{"reasoning": "r@", "score": 0.5}',
    "json without quotation marks": '{"reasoning": @, "score": 0.5}',
    "json with a list": '{"reasoning": [@], "score": 0.5}',
    "json with keys": '{@, "score": 0.5}',
    "scorecard": "Statement Sentence: A stands here.@\nSupporting Evidence: b\nScore: 4",
    "scorecard with evidence": "Statement Sentence: A stands here.\nSupporting Evidence: b@\nScore: 4",
    "adjacent": passage("RECALL_Formula: (4 * 0.8) + (5 * 0.2)@\nRECALL_Weighted_Summed_Score: 4.2"),
    "banded": "Analysis: a@\nLevel: x\nScore: 40",
    "plain": "4@",
    "line": "Because.@\nFinal verdict: 4",
}
"""For each format a reply; what is repeated stands in the place of @."""

UNITS = [
    *("{'", ", 'x", "(", "[", "{", "}", "]", ")", "'", '"', "\\", '\\"', ",", ":", "=", "%", "/", "-", "_"),
    *("a\n", "a: b\n", "//", "// a\n", "/*", "/* */", "*/", "{}", "{} ", "[{}", '{"a":', '{"a": 1}', '"a": '),
    *("*", "**", "* ", "a*", "*a", "`", "```\n", "- ", "1. ", "# ", "> ", "[1]", "|", "\n", "\r\n", " "),
    *("<", "</", "<S2>", "</S2>", "<S1>", "<S2", "<think>", "</think>\n", "</think>", "<think", "\r", "\t"),
    *("Final verdict: 4\n", "Final verdict: ", "Final verdict (", "Rating: [[4]]\n", "Score: 4\n"),
    *(
        "Score:\n",
        "Score (0-10",
        "Statement: a\n",
        "Statement: a\nSupporting Evidence: b\nScore: 4\n",
        "Level: x\n",
    ),
    *("RECALL_Formula: (4 * 1)\n", "(4 * 0.8) + ", "your Score ", "4\n", "1.", "1", ".", "...", "x "),
    *("\u200b", "“", "«", "」", "不", "。", "é", "e\u0301", "１", "🙂", "\ud800", "&amp;", "ﬁ", "\u0600"),
    *("<!--", "![", "<a ", "1.1 a\n", "a¹", "```x\n", "(1) ", "Step 1: a\n"),
    *("Level: x\n", "your ", "一、", "第一步：a\n", "It is so. "),
]


def repeated(unit: str) -> str:
    return unit * (SIZE // len(unit))


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", VERDICTS)
def test_long_replies_are_read_in_time(name: str) -> None:
    reply_format, _, _ = name.partition(" ")
    verdict = VERDICTS[name].replace("@", "")
    response = "A stands here." if reply_format == "scorecard" else None
    for unit in UNITS:
        long = repeated(unit)
        replies = {
            "ahead of it": f"{long}{verdict}",
            "in lines ahead of it": f"{long}\n{verdict}",
            "in it": VERDICTS[name].replace("@", long),
            "behind it": f"{verdict}{long}",
            "in lines behind it": f"{verdict}\n{long}",
        }
        for place, reply in replies.items():
            started = process_time()
            outcome(reply_format, reply, response=response)
            assert process_time() - started < MOST_SECONDS, (unit, place)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_scorecards_of_long_responses_are_compared_in_time() -> None:
    for unit in UNITS:
        long = repeated(unit)
        sentence = " ".join(unit[:40].split())
        cards = {
            "one block": [f"ab{sentence}c"],
            "all in one block": [" ".join(long.split())],
            "many equal blocks": [f"{sentence}x"] * 3000,
        }
        for name, copies in cards.items():
            blocks: list[str] = []
            for copied in copies:
                blocks.append(f"Statement Sentence: {copied}\nSupporting Evidence: b\nScore: 4")
            started = process_time()
            outcome("scorecard", "\n\n".join(blocks), response=long)
            assert process_time() - started < MOST_SECONDS, (unit, name)


@pytest.mark.soak
def test_long_texts_are_cut_into_sentences_in_time() -> None:
    for unit in (*UNITS, '. "', '." ', ". ' \" ", '. "a', ".«", ". » "):
        started = process_time()
        sentences(repeated(unit))
        assert process_time() - started < MOST_SECONDS, unit
