"""DeepEval's `eval_mode`: who decides in a metric, a text model, a decision model, or one after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase
from formatter import sure

from groundjudge import PromptError, Reply, load
from groundjudge.adapters.deepeval import GroundednessMetric, PassageQualityMetric, passage_metrics
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.way import DecisionWay
from groundjudge.types import Cascade, Judge, Request

CASE = LLMTestCase(input="When?", actual_output="At 9.", retrieval_context=["We open at 9."])


class Decider:
    """A decision model that is as sure of the last option as it is told."""

    way = DecisionWay()

    def __init__(self, share: float = 1.0, name: str = "decider") -> None:
        self.name = self.identity = name
        self.share = share
        self.n_calls = 0

    async def acomplete(self, request: Request) -> Reply:
        self.n_calls += 1
        answers: dict[str, Any] = {}
        for question in inquiry_of(request).questions:
            keys = [option.key for option in question.options]
            probabilities = dict.fromkeys(keys, 0.0)
            probabilities[keys[-1]] = self.share
            probabilities[keys[-3]] += 1 - self.share
            answers[question.id] = {"type": question.type, "probabilities": probabilities}
        return Reply(json.dumps({"answers": answers}))


class Writer:
    """A text model."""

    name = identity = "writer"

    def __init__(self) -> None:
        self.n_calls = 0

    async def acomplete(self, request: Request) -> Reply:
        assert request.messages
        self.n_calls += 1
        return Reply(f"<S1>so</S1>{sure(5)}")


def test_system_one_decides_alone_and_says_how_sure_it_is() -> None:
    decider = Decider(0.8)
    metric = GroundednessMetric(eval_mode="system_one", system_one_model=decider)
    metric.measure(CASE)
    assert metric.verdict
    assert metric.success
    assert metric.score == pytest.approx(0.85)
    assert metric.confidence == metric.verdict.confidence == pytest.approx(0.75)
    assert "grounded 80%, incorrect 20%" in (metric.reason or "")
    assert metric.evaluation_model == "decider"


def test_hybrid_asks_the_text_model_only_where_the_decision_model_is_not_sure() -> None:
    for share, n_texts in ((1.0, 0), (0.8, 1)):
        decider, writer = Decider(share), Writer()
        metric = GroundednessMetric(model=writer, eval_mode="hybrid", system_one_model=decider)
        metric.measure(CASE)
        assert isinstance(metric.judge, Cascade)
        assert (decider.n_calls, writer.n_calls, metric.success) == (1, n_texts, True)


def test_a_copy_has_the_same_mode_and_models() -> None:
    # DeepEval copies metrics by the arguments of their class.
    decider, writer = Decider(), Writer()
    metrics: list[Any] = [
        GroundednessMetric(eval_mode="system_one", system_one_model=decider),
        GroundednessMetric(model=writer, eval_mode="hybrid", system_one_model=decider),
        GroundednessMetric(model=writer),
    ]
    copies: list[Any] = [*copy_metrics(metrics)]
    for metric, copied in zip(metrics, copies, strict=True):
        assert copied.judge.identity == metric.judge.identity
        assert copied.judge.models == metric.judge.models
        assert copied.eval_mode == metric.eval_mode


def test_parts_share_one_call_of_a_decision_model() -> None:
    decider = Decider()
    recall, precision = passage_metrics(eval_mode="system_one", system_one_model=decider)
    case = LLMTestCase(input="When?", actual_output="At 9.", expected_output="We open at 9.")
    recall.measure(case)
    precision.measure(case)
    assert (recall.score, precision.score, decider.n_calls) == (1, 1, 1)


@pytest.mark.parametrize(
    ("environment", "arguments", "names"),
    [
        pytest.param("system_one", {}, ["systemone:jev-latest"], id="nothing given: the environment"),
        pytest.param("system_one", {"model": Writer()}, ["writer"], id="a model comes before it"),
        pytest.param(
            "system_one", {"judge": load("groundedness", model=Writer())}, ["writer"], id="so does a judge"
        ),
        pytest.param(
            "llm",
            {"eval_mode": "system_one", "system_one_model": "jev-1.14.0"},
            ["systemone:jev-1.14.0"],
            id="the argument comes before all, and a bare name is TypeSafe's",
        ),
        pytest.param(
            "hybrid", {"eval_mode": "llm", "model": Writer()}, ["writer"], id="the argument says llm"
        ),
        pytest.param("nonsense", {"model": Writer()}, ["writer"], id="an unknown setting is none"),
    ],
)
def test_the_mode_is_that_of_the_argument_then_of_the_model_then_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: str, arguments: Mapping[str, Any], names: list[str]
) -> None:
    monkeypatch.setenv("DEEPEVAL_EVAL_MODE", environment)
    monkeypatch.setenv("TYPESAFE_API_KEY", "a-key")
    metric = GroundednessMetric(**arguments)
    assert [model.name for model in metric.judge.models] == names


REFUSED: dict[str, tuple[Mapping[str, Any], str]] = {
    "no such mode": ({"eval_mode": "systemone", "model": Writer()}, "there is no mode 'systemone'"),
    "system_one with a text model": ({"eval_mode": "system_one", "model": Writer()}, "answers with text"),
    "system_one with two models": (
        {"eval_mode": "system_one", "model": Decider(), "system_one_model": Decider()},
        "not both",
    ),
    "llm with a decision model": ({"eval_mode": "llm", "model": Decider()}, "pass system_one"),
    "a decision model for nobody": (
        {"model": Writer(), "system_one_model": Decider()},
        "only eval_mode system_one and hybrid use it",
    ),
    "hybrid without a text model": (
        {"eval_mode": "hybrid", "model": Decider(), "system_one_model": Decider(name="other")},
        "needs a text model",
    ),
    "hybrid with repeats": (
        {"eval_mode": "hybrid", "model": Writer(), "system_one_model": Decider(), "repeats": 3},
        "repeats",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_a_mode_that_does_not_go_with_the_models_is_refused_by_name(
    arguments: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(PromptError, match=message):
        GroundednessMetric(**arguments)


def test_a_judge_with_a_decision_model_needs_no_mode() -> None:
    metric = PassageQualityMetric(judge=load("passage_quality", model=Decider()))
    assert isinstance(metric.judge, Judge)
    metric.measure(LLMTestCase(input="When?", actual_output="At 9.", expected_output="We open at 9."))
    assert metric.score == 1
