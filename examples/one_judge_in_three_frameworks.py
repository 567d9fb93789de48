"""One case, one judge, three frameworks: each shows the same verdict in its own way.

    pip install "groundjudge[all]"
    python examples/one_judge_in_three_frameworks.py

It runs as it stands, without a key and without a network. For a real judge, change MODEL.
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

MODEL = "offline"  # the line to change: "gpt-4o-mini", with OPENAI_API_KEY set, is a real judge

QUESTION = "When is the museum open, and what does it cost?"
CONTEXT = ["The museum is open from 10:00 to 18:00. On Mondays it is closed.", "Tickets cost 12 euros."]
ANSWER = "The museum is open from 10:00 to 18:00. Tickets cost 15 euros."


def application(inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """What LangSmith runs on each example: it answers, and tells what the answer was made from."""
    return {"answer": ANSWER, "context": CONTEXT}


def langsmith_door() -> tuple[Any, ...]:
    """An experiment of one example."""
    results = evaluate(
        application,
        data=[Example(id=uuid4(), inputs={"question": QUESTION})],
        evaluators=[evaluator("groundedness", model=MODEL)],
        upload_results=False,
        client=Client(api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0),
    )
    (row,) = results
    (feedback,) = row["evaluation_results"]["results"]
    return feedback.score, feedback.value, feedback.comment


def deepeval_door() -> tuple[Any, ...]:
    """A metric on a test case."""
    metric = GroundednessMetric(model=MODEL)
    metric.measure(LLMTestCase(input=QUESTION, actual_output=ANSWER, retrieval_context=[*CONTEXT]))
    return metric.score, metric.verdict and metric.verdict.label, metric.reason


def langchain_door() -> tuple[Any, ...]:
    """A runnable like any other."""
    verdict = runnable("groundedness", llm=MODEL).invoke(
        {"question": QUESTION, "answer": ANSWER, "documents": CONTEXT}
    )
    return verdict.score, verdict.label, verdict.reason


def no_door() -> tuple[Any, ...]:
    """The judge itself."""
    verdict = load("groundedness", model=MODEL).judge(
        {"query": QUESTION, "response": ANSWER, "context": CONTEXT}
    )
    return verdict.score, verdict.label, verdict.reason


def main() -> None:
    """Print what each of the four shows."""
    shown = {
        "groundjudge": no_door,
        "LangSmith": langsmith_door,
        "DeepEval": deepeval_door,
        "LangChain": langchain_door,
    }
    verdicts = {name: door() for name, door in shown.items()}
    for name, (score, label, reason) in verdicts.items():
        print(f"{name:<12} score {score}, {label}\n{'':<12} {reason}")
    print(f"\nAll the same: {len(set(verdicts.values())) == 1}")


if __name__ == "__main__":
    main()
