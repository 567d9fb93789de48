"""The adapter to Langfuse: experiments over the table in `adapters_table`, on a stand-in for its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from adapters_table import CASES, Fields, expected, fields_of, inputs_of, judge_of, judges, outputs_of, target
from langfuse import Evaluation
from langfuse.experiment import ExperimentResult
from scripted_model import ScriptedModel
from standin_langfuse import Body, StandIn

from groundjudge import Verdict
from groundjudge.adapters.langfuse import evaluator, summary
from groundjudge.case.shapes import is_mapping
from groundjudge.types import AnyJudge

BAD = "no verdict"
ASKED: Mapping[str, Any] = {"query": "When?", "context": ["We open at 9."]}


def answered(*, item: Any, **_: object) -> dict[str, Any]:
    """A task that returns what the item's input has of a response and a context."""
    return target(item["input"] if is_mapping(item) else item.input)


def items_of(name: str) -> list[Body]:
    return [{"input": inputs_of(case), "expected_output": outputs_of(case)} for case in CASES[name]]


def by_run_experiment(name: str, server: StandIn) -> ExperimentResult:
    """An experiment over local data."""
    data: Any = items_of(name)
    evaluators: Any = [evaluator(judge_of(name))]
    return server.client().run_experiment(name="adapters", data=data, task=answered, evaluators=evaluators)


def by_dataset(name: str, server: StandIn) -> ExperimentResult:
    """An experiment over a dataset of the server."""
    evaluators: Any = [evaluator(judge_of(name))]
    dataset = server.client().get_dataset(server.dataset)
    return dataset.run_experiment(name="adapters", task=answered, evaluators=evaluators)


def shown(verdict: Verdict, judge: AnyJudge) -> list[tuple[str, Any, str, str]]:
    """Name, value, data type and comment of the scores that a verdict gives."""
    scores = [one for one in judge.scores(verdict) if one.score is not None]
    why, own = verdict.explanation, bool(judge.scale.choices and verdict.label)
    label = [(f"{judge.name}_label", verdict.label, "CATEGORICAL", why)] if own else []
    status = [(f"{judge.name}_status", verdict.status, "CATEGORICAL", why)] if verdict.score is None else []
    return [*((one.name, one.score, "NUMERIC", one.explanation) for one in scores), *label, *status]


def checked(evaluations: list[Evaluation], sent: list[Body], judge: AnyJudge) -> Fields:
    """The verdict in the metadata of an item's evaluations, after checking them and what was sent."""
    (verdict,) = {Verdict.model_validate(one.metadata).model_dump_json() for one in evaluations}
    found = Verdict.model_validate_json(verdict)
    wanted = shown(found, judge)
    assert [(one.name, one.value, one.data_type, one.comment) for one in evaluations] == wanted
    bodies = [(one["name"], one["value"], one["dataType"], one.get("comment", "")) for one in sent]
    assert bodies == wanted
    assert all(one["metadata"] == evaluations[0].metadata for one in sent)
    return fields_of(found)


def verdicts(name: str, run: Any) -> list[Fields]:
    with StandIn(items_of(name)) as server:
        result = run(name, server)
    assert not server.rejected
    assert not server.unknown
    sent: dict[str, list[Body]] = {}
    for score in server.scores:
        sent.setdefault(score["traceId"], []).append(score)
    judge = judge_of(name)
    found = {
        item.output.get("response", ""): checked(item.evaluations, sent[item.trace_id or ""], judge)
        for item in result.item_results
    }
    assert len(result.item_results) == len(CASES[name])
    return [found[case.get("response", "")] for case in CASES[name]]


@pytest.mark.parametrize("name", judges("passage_quality"))
@pytest.mark.parametrize("run", [by_run_experiment, by_dataset])
def test_experiment_gives_the_verdicts_of_every_judge(run: Any, name: str) -> None:
    assert verdicts(name, run) == expected(name)


def experiment(*outputs: Any, **more: Any) -> tuple[ExperimentResult, StandIn]:
    """An experiment whose task returns, or raises, one of the outputs for each item."""

    def task(*, item: Any, **_: object) -> Any:
        output = outputs[item.input["n"]]
        if isinstance(output, Exception):
            raise output
        return output

    with StandIn([{"input": {**ASKED, "n": number}} for number, _ in enumerate(outputs)]) as server:
        dataset = server.client().get_dataset(server.dataset)
        result = dataset.run_experiment(name="run", task=task, max_concurrency=1, **more)
    return result, server


def test_summary_has_mean_and_coverage_of_the_items_with_a_verdict() -> None:
    model = ScriptedModel("<S2>5</S2>", BAD, BAD, "<S1>a greeting</S1><S2>3</S2>", "<S2>2</S2>")
    result, server = experiment(
        *["At 9."] * 4,
        ZeroDivisionError(),
        evaluators=[evaluator("groundedness", model=model, name="mine")],
        run_evaluators=[summary("mine")],
    )
    comment = "4 rows: 2 with a score, 1 not applicable, 1 errors (no_verdict 1)"
    run = [("mine_mean", 0.625, comment), ("mine_coverage", pytest.approx(2 / 3), comment)]
    assert [(one.name, one.value, one.comment) for one in result.run_evaluations] == run
    sent = [one for one in server.scores if "datasetRunId" in one]
    assert [(one["name"], one["value"], one["comment"]) for one in sent] == run
    names = [one["name"] for one in server.scores if "traceId" in one]
    assert sorted(names) == ["mine", "mine", "mine_status", "mine_status"]


@pytest.mark.soak
@pytest.mark.parametrize(("reply", "figures"), [(BAD, ["groundedness_coverage"]), (None, [])])
def test_summary_without_scores_has_no_mean(reply: str | None, figures: list[str]) -> None:
    evaluators = [evaluator("groundedness", model=ScriptedModel(reply))] if reply else []
    result, _ = experiment("At 9.", evaluators=evaluators, run_evaluators=[summary("groundedness")])
    assert [one.name for one in result.run_evaluations] == figures
