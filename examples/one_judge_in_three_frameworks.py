"""One case, one judge, three frameworks: each reports the same verdict in its own way.

    pip install "groundjudge[all]"
    python examples/one_judge_in_three_frameworks.py

It needs no network. The offline judge needs no key: it passes a statement only if one sentence of the source
says the same thing in nearly the same words, and leaves everything else undecided. Change MODEL to use a
language model.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportTypedDictNotRequiredAccess=false
from __future__ import annotations

from typing import Any
from uuid import uuid4

from deepeval.test_case import LLMTestCase
from langsmith import Client, evaluate
from langsmith.schemas import Example

from groundjudge import load
from groundjudge.adapters.deepeval import GroundednessMetric
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langsmith import evaluator

MODEL = "offline"  # or "gpt-6-luna", with OPENAI_API_KEY set

QUESTION = "When is the museum open, and what does it cost?"
CONTEXT = ["The museum is open from 10:00 to 18:00. On Mondays it is closed.", "Tickets cost 12 euros."]
ANSWER = "The museum is open from 10:00 to 18:00. Tickets cost 15 euros."


def application(inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """The application that LangSmith runs on each example: returns the answer and its context."""
    return {"answer": ANSWER, "context": CONTEXT}


def with_langsmith() -> tuple[Any, ...]:
    """Run a LangSmith experiment of one example."""
    results = evaluate(
        application,
        data=[Example(id=uuid4(), inputs={"question": QUESTION})],
        evaluators=[evaluator("groundedness", model=MODEL)],
        upload_runs=False,
        client=Client(api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0),
    )
    (row,) = results
    (feedback,) = row["evaluation_results"]["results"]
    return feedback.score, feedback.value, feedback.comment


def with_deepeval() -> tuple[Any, ...]:
    """Measure a DeepEval test case with a metric."""
    metric = GroundednessMetric(model=MODEL)
    metric.measure(LLMTestCase(input=QUESTION, actual_output=ANSWER, retrieval_context=[*CONTEXT]))
    return metric.score, metric.verdict and metric.verdict.label, metric.reason


def with_langchain() -> tuple[Any, ...]:
    """Invoke the judge as a LangChain runnable."""
    verdict = runnable("groundedness", model=MODEL).invoke(
        {"question": QUESTION, "answer": ANSWER, "documents": CONTEXT}
    )
    return verdict.score, verdict.label, verdict.explanation


def without_framework() -> tuple[Any, ...]:
    """Call the judge itself."""
    verdict = load("groundedness", model=MODEL).judge(
        {"query": QUESTION, "response": ANSWER, "context": CONTEXT}
    )
    return verdict.score, verdict.label, verdict.explanation


def main() -> None:
    """Print the four results."""
    calls = {
        "groundjudge": without_framework,
        "LangSmith": with_langsmith,
        "DeepEval": with_deepeval,
        "LangChain": with_langchain,
    }
    verdicts = {name: call() for name, call in calls.items()}
    for name, (score, label, reason) in verdicts.items():
        print(f"{name:<12} score {score}, {label}\n{'':<12} {reason}")
    print(f"\nAll the same: {len(set(verdicts.values())) == 1}")


if __name__ == "__main__":
    main()
