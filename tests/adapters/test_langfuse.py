"""The adapter to Langfuse: the summary of an experiment, on a stand-in for its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from formatter import sure
from langfuse.experiment import ExperimentResult
from scripted_model import ScriptedModel
from standin_langfuse import StandIn

from groundjudge.adapters.langfuse import evaluator, summary

BAD = "no verdict"
QUESTION: Mapping[str, Any] = {"query": "When?", "context": ["We open at 9."]}


def experiment(*outputs: Any, **more: Any) -> tuple[ExperimentResult, StandIn]:
    """An experiment whose task returns, or raises, one of the outputs for each item."""

    def task(*, item: Any, **_: object) -> Any:  # named by Langfuse
        output = outputs[item.input["n"]]
        if isinstance(output, Exception):
            raise output
        return output

    items = [{"input": {**QUESTION, "n": number}} for number in range(len(outputs))]
    with StandIn(items) as server:
        dataset = server.client().get_dataset(server.dataset)
        result = dataset.run_experiment(name="run", task=task, max_concurrency=1, **more)
    return result, server


def test_summary_has_mean_and_coverage_of_the_items_with_a_verdict() -> None:
    model = ScriptedModel(
        sure(5),
        BAD,
        BAD,
        f"<S1>a greeting</S1>{sure(3)}",
        sure(2),
    )
    result, server = experiment(
        *["At 9."] * 4,
        ZeroDivisionError(),
        evaluators=[evaluator("groundedness", model=model, name="mine")],
        run_evaluators=[summary("mine")],
    )
    comment = "4 rows: 2 with a score, 1 not applicable, 1 errors (no_verdict 1)"
    run = [("mine_mean", 0.625, comment), ("mine_coverage", pytest.approx(2 / 3), comment)]
    evaluations = result.run_evaluations
    assert [(evaluation.name, evaluation.value, evaluation.comment) for evaluation in evaluations] == run
    scores_of_run = [score for score in server.scores if "datasetRunId" in score]
    assert [(score["name"], score["value"], score["comment"]) for score in scores_of_run] == run
    names = [score["name"] for score in server.scores if "traceId" in score]
    assert sorted(names) == ["mine", "mine", "mine_status", "mine_status"]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("reply", "figures"),
    [(BAD, ["groundedness_coverage"]), (None, [])],
    ids=["no verdict", "no evaluator"],
)
def test_summary_without_scores_has_no_mean(reply: str | None, figures: list[str]) -> None:
    evaluators = [evaluator("groundedness", model=ScriptedModel(reply))] if reply else []
    result, _ = experiment("At 9.", evaluators=evaluators, run_evaluators=[summary("groundedness")])
    assert [evaluation.name for evaluation in result.run_evaluations] == figures
