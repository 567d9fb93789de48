"""The adapter to Langfuse: the summary of an experiment, on a stand-in for its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from formatter import sure
from langfuse import Evaluation, Langfuse
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


def local_experiment(evaluators: Any, run_evaluators: Any) -> ExperimentResult:
    """An experiment of one item that is not sent anywhere."""

    def task(**_: object) -> str:
        return "At 9."

    client = Langfuse(public_key="pk-local", secret_key="sk", tracing_enabled=False)  # noqa: S106
    items: Any = [{"input": QUESTION, "expected_output": "At 9."}]
    return client.run_experiment(
        name="run", data=items, task=task, evaluators=evaluators, run_evaluators=run_evaluators
    )


def exactness(*, output: str, expected_output: str, **_: object) -> list[Evaluation]:
    return [
        Evaluation(name="length", value=len(output)),
        Evaluation(name="exactness", value=output == expected_output),
    ]


GROUNDED = evaluator("groundedness", model=ScriptedModel(sure(5)))
NOT_GROUNDED = evaluator("groundedness", model=ScriptedModel(sure(1)))
CONFUSED = evaluator("groundedness", model=ScriptedModel(BAD, BAD))


@pytest.mark.parametrize(
    ("evaluators", "run_evaluators", "logged"),
    [
        pytest.param(
            [GROUNDED],
            [summary("groundednes")],
            "no verdicts under the name 'groundednes': evaluator('groundednes', ...) must be among the "
            "evaluators; there are verdicts under groundedness",
            id="misspelt name",
        ),
        pytest.param(
            [exactness],
            [summary("exactness")],
            "no verdicts under the name 'exactness'",
            id="the name of a function of the user's",
        ),
        pytest.param([], [summary("groundedness")], "must be among the evaluators", id="no evaluator"),
        pytest.param(
            [GROUNDED, NOT_GROUNDED],
            [summary("groundedness")],
            "two evaluators share the name",
            id="two scores",
        ),
        pytest.param(
            [GROUNDED, CONFUSED],
            [summary("groundedness")],
            "two evaluators share the name",
            id="a score and an error",
        ),
        pytest.param(
            [evaluator("passage_quality", model="offline")],
            [summary("passage_recall")],
            "no verdicts under the name 'passage_recall': evaluator('passage_recall', ...) must be among the "
            "evaluators; there are verdicts under passage_quality",
            id="a part",
        ),
        pytest.param(
            [evaluator("statement_groundedness", model="offline", name="mine")],
            [summary("mine_weakest")],
            "there are verdicts under mine",
            id="the weakest part",
        ),
        pytest.param(
            [evaluator("statement_groundedness", model="offline", name="mine")],
            [summary("mine_mean")],
            "there are verdicts under mine",
            id="the mean of the parts",
        ),
        pytest.param(
            [summary("groundedness")], [], "it belongs in run_evaluators=", id="summary among the evaluators"
        ),
        pytest.param([], [GROUNDED], "it belongs in evaluators=", id="evaluator among the run evaluators"),
    ],
)
def test_what_has_nothing_to_add_up_says_so_and_gives_no_figure(
    evaluators: Any, run_evaluators: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    result = local_experiment(evaluators, run_evaluators)
    assert result.run_evaluations == []
    assert logged in caplog.text


def test_summary_of_an_experiment_whose_tasks_all_failed_is_empty_and_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result, _ = experiment(
        ZeroDivisionError(), evaluators=[GROUNDED], run_evaluators=[summary("groundedness")]
    )
    assert result.run_evaluations == []
    assert "groundedness_summary failed" not in caplog.text
