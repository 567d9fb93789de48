"""Evaluate a small RAG application with LangSmith: is each answer grounded in what was retrieved?

    python examples/evaluate_a_langsmith_experiment.py

It sends nothing. The offline judge needs no key: it passes a statement only if one sentence of the source
says the same thing in nearly the same words, and leaves everything else undecided. Two comments mark the
lines to change for a language model and for an upload to LangSmith.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from textwrap import shorten
from typing import Any
from uuid import uuid4

from langsmith import Client, evaluate, traceable
from langsmith.schemas import Example

from groundjudge.adapters.langsmith import evaluator, summary

MODEL = "offline"  # or "gpt-6-luna", with OPENAI_API_KEY set

MANUAL = {
    "battery": "The battery of the X2 lasts 11 hours. Charging takes 90 minutes with the adapter in the box.",
    "warranty": "The warranty lasts 24 months from the day of purchase. It does not cover the battery.",
}
ANSWERS = {
    "How long does the battery last?": "The battery of the X2 lasts 11 hours.",
    "How long is the warranty?": "The warranty lasts 36 months from the day of purchase.",
    "Thank you!": "You are welcome! What else would you like to know?",
}


@traceable(run_type="retriever")
def search(question: str) -> list[dict[str, Any]]:
    """Retrieve documents in LangSmith's format; the run becomes a child of the application's run."""
    found = [topic for topic in MANUAL if topic in question] or list(MANUAL)
    return [{"page_content": MANUAL[topic], "metadata": {"title": topic}} for topic in found]


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    """Retrieve and answer. The evaluator finds question, answer and retrieved documents by itself."""
    search(inputs["question"])
    return {"answer": ANSWERS[inputs["question"]]}


def main() -> None:
    """Run the experiment, and print one line per answer and the summary."""
    totals = summary("groundedness")
    rows = list(
        evaluate(
            application,
            data=[Example(id=uuid4(), inputs={"question": question}) for question in ANSWERS],
            evaluators=[evaluator("groundedness", model=MODEL)],
            summary_evaluators=[totals],
            # To upload: set LANGSMITH_API_KEY, pass a dataset's name as `data`, and remove these two lines.
            upload_runs=False,
            client=Client(api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0),
        )
    )
    print(f"\n{'score':>5}  {'level':<17}  {'question':<31}  why")
    for row in rows:
        question: str = (row["example"].inputs or {})["question"]
        for result in row["evaluation_results"].get("results", []):
            score = "-" if result.score is None else f"{result.score:.2f}"
            why = shorten(result.comment or "", 60, placeholder=" ...")
            print(f"{score:>5}  {result.value!s:<17}  {question:<31}  {why}")
    # LangSmith shows the summary of an uploaded experiment; for a local one, call the evaluator.
    results = totals([row["run"] for row in rows], [row["example"] for row in rows])
    for result in results.get("results", []):
        print(f"{result.key:<25} {result.score:.2f}")


if __name__ == "__main__":
    main()
