"""DeepEval tests that fail when an answer is not grounded in what was retrieved for it.

    pip install "groundjudge[deepeval]"
    deepeval test run examples/assert_in_a_deepeval_test.py

It runs as it stands, without a key: the offline judge compares words. For a real one, change MODEL.
Write "8:00" for "9:00" in an answer below to see what a failure looks like.
"""

from __future__ import annotations

import pytest
from deepeval import assert_test  # type: ignore[attr-defined]  # it is there, but mypy cannot see it
from deepeval.test_case import LLMTestCase, ToolCall

from groundjudge.adapters.deepeval import (
    ConfidenceGroundingMetric,
    GroundednessMetric,
    StatementGroundednessMetric,
    passage_metrics,
)

MODEL = "offline"  # the line to change: "gpt-4o-mini", with OPENAI_API_KEY set, is a real judge

OPENING_HOURS = "The library opens at 9:00 on weekdays. It is closed on Sundays."
LENDING = "Books are lent for four weeks. A loan can be renewed twice, unless somebody waits for the book."

ANSWERS = {
    "When does the library open on weekdays?": "The library opens at 9:00 on weekdays.",
    "For how long are books lent?": "Books are lent for four weeks. A loan can be renewed twice.",
    "Good morning!": "Good morning! How can I help you?",  # claims nothing: passes without a score
}


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_is_grounded(question: str) -> None:
    """Every test case goes through your application here; these answers were given by one."""
    test_case = LLMTestCase(
        input=question,
        actual_output=ANSWERS[question],
        retrieval_context=[OPENING_HOURS, LENDING],
    )
    assert_test(test_case, [GroundednessMetric(threshold=0.7, model=MODEL)])


def test_every_sentence_is_grounded() -> None:
    """The score is the mean over the sentences; `score_breakdown` and `verbose_logs` show each of them."""
    test_case = LLMTestCase(
        input="Tell me about the library.",
        actual_output="It opens at 9:00 on weekdays. It is closed on Sundays. Books are lent for four weeks.",
        retrieval_context=[OPENING_HOURS, LENDING],
    )
    assert_test(test_case, [StatementGroundednessMetric(threshold=0.9, model=MODEL)])


def test_an_agent_keeps_to_what_its_tools_returned() -> None:
    """The outputs of tools count as documents, and as the ones to be believed first."""
    test_case = LLMTestCase(
        input="Is my book available?",
        actual_output="Your book is available on shelf 12.",
        retrieval_context=[LENDING],
        tools_called=[
            ToolCall(
                name="find_book",
                input_parameters={"title": "Emma"},
                output={"book": "available", "shelf": 12},
            )
        ],
    )
    assert_test(test_case, [ConfidenceGroundingMetric(model=MODEL)])


def test_the_right_passage_is_retrieved() -> None:
    """Recall and precision of a passage; as a pair they cost one call for each test case."""
    test_case = LLMTestCase(
        input="For how long are books lent?",
        actual_output="Books are lent for four weeks. A loan can be renewed twice.",
        expected_output=LENDING,
    )
    recall, precision = passage_metrics(threshold=0.5, model=MODEL)
    assert_test(test_case, [recall, precision])
