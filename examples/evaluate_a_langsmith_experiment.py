"""Evaluate a small RAG application with LangSmith: is each answer grounded in what was retrieved?

Run it as it stands: python examples/evaluate_a_langsmith_experiment.py
It needs no key and sends nothing. Two comments say which lines to change for a real model and a real upload.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from textwrap import shorten
from typing import Any
from uuid import uuid4

from langsmith import Client, evaluate, traceable
from langsmith.schemas import Example

from groundjudge.adapters.langsmith import evaluator, summary

MODEL = "offline"  # a real model: "gpt-4o-mini", with OPENAI_API_KEY set

MANUAL = {
    "battery": "The battery of the X2 lasts 11 hours. Charging takes 90 minutes with the adapter in the box.",
    "warranty": "The warranty lasts 24 months from the day of purchase. It does not cover the battery.",
}
ANSWERS = {
    "How long does the battery last?": "The battery of the X2 lasts 11 hours.",
    "How long is the warranty?": "The warranty lasts 36 months and covers the battery as well.",
    "Can you help me?": "Of course! What would you like to know?",
}


@traceable(run_type="retriever")
def search(question: str) -> list[dict[str, Any]]:
    """A retriever as LangSmith knows them; its run becomes a child of the application's."""
    found = [topic for topic in MANUAL if topic in question] or list(MANUAL)
    return [{"page_content": MANUAL[topic], "metadata": {"title": topic}} for topic in found]


def application(inputs: dict[str, Any]) -> dict[str, Any]:
    """Retrieve and answer. The judge finds the question, the answer, and what the retriever returned."""
    search(inputs["question"])
    return {"answer": ANSWERS[inputs["question"]]}


def main() -> None:
    """Run the experiment, and print a line per answer and what they amount to."""
    totals = summary("groundedness")
    rows = list(
        evaluate(
            application,
            data=[Example(id=uuid4(), inputs={"question": question}) for question in ANSWERS],
            evaluators=[evaluator("groundedness", model=MODEL)],
            summary_evaluators=[totals],
            # A real upload: LANGSMITH_API_KEY set, `data` a dataset's name, and without these two lines.
            upload_results=False,
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
    # LangSmith shows the totals with an experiment that was uploaded; of a local one they are had like this.
    told = totals([row["run"] for row in rows], [row["example"] for row in rows])
    for result in told.get("results", []):
        print(f"{result.key:<25} {result.score:.2f}")


if __name__ == "__main__":
    main()
