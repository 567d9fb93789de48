"""DeepEval tests that fail if an answer is not grounded in the retrieved context.

    pip install "groundjudge[deepeval]"
    deepeval test run examples/assert_in_a_deepeval_test.py

The offline judge needs no key: it passes a statement only if one sentence of the source says the same thing
in nearly the same words, and leaves everything else undecided. Change MODEL to use a language model. To see a
failure, change a word in an answer below.
"""

from __future__ import annotations

import pytest
from deepeval import assert_test  # type: ignore[attr-defined]  # exported at run time only
from deepeval.test_case import LLMTestCase, ToolCall

from groundjudge.adapters.deepeval import (
    ConfidenceGroundingMetric,
    GroundednessMetric,
    StatementGroundednessMetric,
    passage_metrics,
)

MODEL = "offline"  # or "gpt-6-luna", with OPENAI_API_KEY set

OPENING_HOURS = "The library opens at 9:00 on weekdays. It is closed on Sundays."
LENDING = "Books are lent for four weeks. A loan can be renewed twice."

ANSWERS = {
    "When does the library open on weekdays?": "The library opens at 9:00 on weekdays.",
    "For how long are books lent?": "Books are lent for four weeks. A loan can be renewed twice.",
    "Good morning!": "Good morning! How can I help you?",  # makes no claim: passes without a score
}


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_is_grounded(question: str) -> None:
    """In a test of your own, get the answer from your application."""
    test_case = LLMTestCase(
        input=question,
        actual_output=ANSWERS[question],
        retrieval_context=[OPENING_HOURS, LENDING],
    )
    assert_test(test_case, [GroundednessMetric(threshold=0.7, model=MODEL)])


def test_every_sentence_is_grounded() -> None:
    """The score is about the whole answer; `score_breakdown` and `verbose_logs` list each sentence."""
    test_case = LLMTestCase(
        input="Tell me about the library.",
        actual_output="The library opens at 9:00 on weekdays. Books are lent for four weeks.",
        retrieval_context=[OPENING_HOURS, LENDING],
    )
    assert_test(test_case, [StatementGroundednessMetric(threshold=0.9, model=MODEL)])


def test_an_agent_is_grounded_in_the_output_of_its_tools() -> None:
    """Tool outputs count as documents and take precedence over the retrieved ones."""
    test_case = LLMTestCase(
        input="Is my book available?",
        actual_output="The book is available on shelf 12.",
        retrieval_context=[LENDING],
        tools_called=[
            ToolCall(
                name="find_book",
                input_parameters={"title": "Emma"},
                output="The book is available on shelf 12.",
            )
        ],
    )
    assert_test(test_case, [ConfidenceGroundingMetric(model=MODEL)])


def test_the_right_passage_is_retrieved() -> None:
    """Recall and precision of a retrieved passage; both together cost one call per test case."""
    test_case = LLMTestCase(
        input="For how long are books lent?",
        actual_output="Books are lent for four weeks. A loan can be renewed twice.",
        expected_output=LENDING,
    )
    recall, precision = passage_metrics(threshold=0.5, model=MODEL)
    assert_test(test_case, [recall, precision])
