"""DeepEval metrics: measure, evaluate, assert_test and `deepeval test run` with each judge."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import formatter
import pytest
from adapter_entries import DEEPEVAL, QUIET, results
from chats import ON_TOPIC
from command_line import GOOD
from deepeval import tracing
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate.configs import AsyncConfig, CacheConfig
from deepeval.metrics.utils import copy_metrics
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import ConversationalTestCase, LLMTestCase, MLLMImage, ToolCall, Turn
from fenced import without_codes
from scripted_model import NamedModel, ScriptedModel
from sentence_cards import SENTENCE_CARDS
from standin_openai import StandIn

from groundjudge import (
    CachedModel,
    CaseError,
    GroundjudgeError,
    ModelError,
    Prices,
    PromptError,
    Reply,
    ReplyError,
    Usage,
    load,
)
from groundjudge.adapters import deepeval as adapter
from groundjudge.adapters.deepeval import GroundednessMetric, JudgeMetric, TurnGroundednessMetric
from groundjudge.types import Request

pytestmark = pytest.mark.usefixtures("current_event_loop")

TRACING: Any = tracing
"""DeepEval's decorator `observe` and its companions, whose types are incomplete."""


CLASSES: list[Any] = [
    vars(adapter)[name] for name in adapter.__all__ if name not in {"JudgeMetric", "passage_metrics"}
]
"""The metrics with a judge of their own."""

GROUNDED = f"<S0>t</S0><S1>It stands in the source.</S1>{formatter.sure(5)}"
INCOMPLETE = f"<S0>t</S0><S1>The weekdays are missing.</S1>{formatter.sure(4)}"
INCORRECT = f"<S0>t</S0><S1>The hour is wrong.</S1>{formatter.sure(2)}"
GREETING = f"<S0>t</S0><S1>It claims nothing.</S1>{formatter.sure(3)}"
UNREADABLE = "I would say that it is fine."
PASSAGE = (
    "RECALL_Reasoning: r\nRECALL_Formula: (5 * 1.0)\nRECALL_Weighted_Summed_Score: 5\n"
    "PRECISION_Reasoning: p\nPRECISION_Formula: (2 * 1.0)\nPRECISION_Weighted_Summed_Score: 2"
)
IN_ROLE = "Analysis: why\nLevel: Mild\nScore: 75"

SOURCE = "The library opens at 9:00 on weekdays."
PRICES = Prices(prompt=1_000_000, completion=10_000_000)  # 1 and 10 per token

ROLE: Mapping[str, Any] = {
    "profile": "Mira keeps the lighthouse of Vessa.",
    "agent_name": "Mira",
    "conversation": [{"role": "user", "content": "Who are you?"}],
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DeepEval writes into the working directory."""
    monkeypatch.chdir(tmp_path)


def row(**fields: Any) -> LLMTestCase:
    defaults: dict[str, Any] = {
        "input": "When does the library open?",
        "actual_output": "It opens at 9:00. It has a garden.",
        "expected_output": SOURCE,
        "retrieval_context": [SOURCE],
        "metadata": {**ROLE},
    }
    return LLMTestCase(**{**defaults, **fields})


def tool(name: str, output: Any = None) -> ToolCall:
    return ToolCall(name=name, output=output, input_parameters={})


def conversation(*turns: str, **fields: Any) -> ConversationalTestCase:
    """A conversation that the user begins."""
    alternating = [
        Turn(role="assistant" if index % 2 else "user", content=text) for index, text in enumerate(turns)
    ]
    defaults: dict[str, Any] = {"turns": alternating, "chatbot_role": "Mira keeps the lighthouse."}
    return ConversationalTestCase(**{**defaults, **fields})


def copies(*metrics: Any) -> list[Any]:
    return copy_metrics([*metrics])  # as DeepEval copies them for each test case


def last_prompt(model: ScriptedModel) -> str:
    """The last message of the last request to a model."""
    return without_codes(model.asked[-1].messages[-1]["content"])


@pytest.fixture(params=[True, False], ids=["asynchronously", "synchronously"])
def run_async(request: pytest.FixtureRequest) -> bool:
    """How DeepEval's `evaluate` and `assert_test` measure; each test with this fixture runs for both."""
    return bool(request.param)


def assert_passes(case: Any, *metrics: Any, run_async: bool) -> None:
    DEEPEVAL.assert_test(case, [*metrics], run_async=run_async)


# --- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric_class", [GroundednessMetric, TurnGroundednessMetric])
def test_a_metric_that_is_taken_for_a_judge_or_a_model_says_what_to_do(metric_class: Any) -> None:
    metric: Any = metric_class(model=ScriptedModel(GROUNDED))
    assert not callable(metric)
    with pytest.raises(PromptError, match=r"Metric cannot be used as a judge: .*pass its attribute `judge`"):
        JudgeMetric(judge=metric)
    with pytest.raises(ModelError, match=r"unknown_model: \w+Metric cannot be used as a model"):
        JudgeMetric(judge="groundedness", model=metric)


def test_assert_test_fails_with_score_and_reason_and_passes_what_is_not_applicable(run_async: Any) -> None:
    assert_passes(row(), GroundednessMetric(model=ScriptedModel(GROUNDED)), run_async=run_async)
    assert_passes(row(), GroundednessMetric(model=ScriptedModel(GREETING)), run_async=run_async)
    failure = r"Groundedness \(score: 0\.25, threshold: 0\.5, .* reason: The hour is wrong"
    with pytest.raises(AssertionError, match=failure):
        assert_passes(row(), GroundednessMetric(model=ScriptedModel(INCORRECT)), run_async=run_async)


@pytest.mark.parametrize("verbose", [True, False], ids=["verbose", "quiet"])
def test_only_verbose_mode_prints(verbose: Any, capsys: pytest.CaptureFixture[str]) -> None:
    GroundednessMetric(model=ScriptedModel(GROUNDED), verbose_mode=verbose).measure(row())
    assert ("It stands in the source." in capsys.readouterr().out) is verbose


def test_without_include_reason_only_errors_and_what_is_not_applicable_have_a_reason() -> None:
    model = ScriptedModel(GROUNDED, GREETING, ModelError("server", "unavailable"))
    metric = GroundednessMetric(model=model, include_reason=False)
    for reason in (None, "Not applicable (nothing_to_ground).", "server: unavailable"):
        with suppress(ModelError):
            metric.measure(row())
        assert metric.reason == reason


def test_a_threshold_set_later_counts_the_votes_anew() -> None:
    metric = GroundednessMetric(model=ScriptedModel(f"<S1>r</S1>{formatter.sure(4)}"), repeats=3)
    metric.measure(row())
    assert (metric.score, metric.is_successful()) == (0.75, True)
    metric.threshold = 0.8
    assert metric.is_successful() is False


@pytest.mark.parametrize(
    ("options", "success"),
    [
        pytest.param({}, False, id="the judge's threshold fails a sentence of 0.5"),
        pytest.param({"threshold": 0.5}, True, id="a lower threshold passes it"),
        pytest.param({"passes": "score"}, True, id="the mean decides instead"),
    ],
)
def test_weakest_sentence_decides_by_the_threshold_of_the_metric(options: Any, success: Any) -> None:
    blocks = formatter.scorecard([("It opens at 9:00.", SOURCE, 10), ("It has a garden.", SOURCE, 5)])
    metric = JudgeMetric(judge=SENTENCE_CARDS, model=ScriptedModel(blocks), **options)
    metric.measure(row())
    assert (metric.score, metric.success, metric.is_successful()) == (0.75, success, success)


@pytest.mark.parametrize(
    ("options", "success"),
    [
        pytest.param({}, False, id="the judge's threshold fails a whole of 0.4"),
        pytest.param({"threshold": 0.4}, True, id="a lower threshold passes it"),
        pytest.param({"threshold": 0.4, "passes": "weakest"}, False, id="the weakest decides instead"),
    ],
)
def test_whole_decides_and_mean_and_weakest_are_in_the_breakdown(options: Any, success: Any) -> None:
    reply = formatter.numbered([("1", "-", 9), ("1", "no garden", 3)], 40)
    metric = adapter.StatementGroundednessMetric(model=ScriptedModel(reply), **options)
    metric.measure(row())
    assert (metric.score, metric.success, metric.is_successful()) == (0.4, success, success)
    parts = {"It opens at 9:00.": 0.9, "It has a garden.": 0.3}
    assert metric.score_breakdown == {**parts, "mean": pytest.approx(0.6), "weakest": 0.3}


# --- arguments and copies -------------------------------------------------------------------------


def banded(score: int) -> str:
    return f"Analysis: why\nLevel: as the score says\nScore: {score}"


def confident(score: float) -> str:
    return formatter.json_object(score, "why")


def whole(percent: int) -> str:
    return formatter.numbered([("1", "-", 10), ("1", "-", 10)], percent)


JUDGE_OF_0_8 = load("groundedness", model="offline", threshold=0.8)


@pytest.mark.parametrize(
    ("options", "threshold", "success"),
    [
        pytest.param({}, 0.5, True, id="that of the named judge"),
        pytest.param({"threshold": 0.75}, 0.75, True, id="a number"),
        pytest.param({"threshold": 0}, 0, True, id="zero is a threshold too"),
        pytest.param({"threshold": None}, None, None, id="None: neither passes nor fails"),
        pytest.param(
            {"strict_mode": True, "threshold": None},
            1,
            False,
            id="strict mode fails another label than the best",
        ),
        pytest.param({"judge": JUDGE_OF_0_8}, 0.8, False, id="that of a loaded judge"),
        pytest.param({"judge": JUDGE_OF_0_8, "threshold": 0.6}, 0.6, True, id="a number, to a loaded judge"),
    ],
)
def test_threshold_is_that_of_the_judge_unless_another_is_given(
    options: Any, threshold: Any, success: Any
) -> None:
    first = GroundednessMetric(model=ScriptedModel(INCOMPLETE), **options)
    for metric in [first, *copies(first)]:
        assert metric.threshold == threshold
        metric.measure(row())
        assert metric.score == 0.75
        assert metric.success is metric.is_successful() is success


def level(number: int, shares: str) -> str:
    return f"<S0>t</S0><S1>r</S1><S2>{number}</S2><S3>{shares}</S3>"


IN_DOUBT = level(5, "1:0, 2:5, 3:0, 4:5, 5:90")
MORE_DOUBT = level(4, "1:0, 2:0, 3:0, 4:55, 5:45")
LABELS = "---\nname: labels\nreply: {format: plain}\nscale: {choices: {all: 1, most: 0.9, none: 0}}\n---\n"
STRICT: Mapping[str, tuple[Mapping[str, Any], list[str], float | None, bool | None]] = {
    "the best label, in some doubt": ({}, [IN_DOUBT], 0.95, True),
    "the next label, without doubt": ({}, [INCOMPLETE], 0.75, False),
    "the best label without shares": ({"weighted": False}, [IN_DOUBT], 1.0, True),
    "nothing to ground": ({}, [GREETING], None, True),
    "the best band": ({"judge": "knowledge_hallucination"}, [banded(85)], 0.85, True),
    "the next band": ({"judge": "knowledge_hallucination"}, [banded(80)], 0.8, False),
    "another of labels": ({"judge": "labels.prompty"}, ["most"], 0.9, False),
    "no labels, a score of 1": ({"judge": "confidence_grounding"}, [confident(1)], 1.0, True),
    "no labels, a score below": ({"judge": "confidence_grounding"}, [confident(0.99)], 0.99, False),
    "sentences, a p below": ({"judge": "statement_groundedness"}, [whole(99)], 0.99, False),
    "most votes have the best label": ({"repeats": 3}, [IN_DOUBT, MORE_DOUBT, IN_DOUBT], 0.9208, True),
    "three votes of five, of which two are late": (
        {"repeats": 5},
        [IN_DOUBT, IN_DOUBT, INCOMPLETE, INCOMPLETE, INCOMPLETE],
        0.83,
        False,
    ),
}


@pytest.mark.parametrize("name", STRICT)
def test_strict_mode_passes_the_best_label_or_without_labels_a_score_of_1(name: str) -> None:
    options, replies, score, success = STRICT[name]
    Path("labels.prompty").write_text(f"{LABELS}{{{{response}}}}", encoding="utf-8")
    first = GroundednessMetric(model=ScriptedModel(*replies, *replies), strict_mode=True, **options)
    for metric in [first, *copies(first)]:
        metric.measure(row())
        assert metric.score == (score and pytest.approx(score, abs=1e-4))
        assert metric.success is metric.is_successful() is success
        assert metric.verdict
        assert metric.verdict.passed is success


def test_strict_mode_passes_a_part_with_a_score_of_1() -> None:
    metrics = adapter.passage_metrics(model=ScriptedModel(PASSAGE), strict_mode=True)
    for metric in metrics:
        metric.measure(row())
    assert [metric.success for metric in metrics] == [True, False]


def test_strict_mode_holds_in_deepevals_own_report() -> None:
    metric = GroundednessMetric(model=ScriptedModel(IN_DOUBT), strict_mode=True)
    assert_passes(row(), metric, run_async=False)
    metric = GroundednessMetric(model=ScriptedModel(MORE_DOUBT), strict_mode=True)
    with pytest.raises(AssertionError, match="strict: True"):
        assert_passes(row(), metric, run_async=False)


def test_missing_model_or_judge_raises() -> None:
    with pytest.raises(ModelError, match="no model given"):
        GroundednessMetric()
    with pytest.raises(PromptError, match="no judge was given"):
        JudgeMetric(model="offline")


@pytest.mark.parametrize(
    "judge",
    [
        pytest.param("groundedness", id="a name"),
        pytest.param(load("groundedness", model="offline"), id="a judge"),
    ],
)
def test_a_judge_in_the_place_of_the_threshold_is_refused_with_its_argument(judge: Any) -> None:
    with pytest.raises(
        TypeError,
        match=r"first argument is the threshold, .*: pass the judge by keyword, JudgeMetric\(judge=",
    ):
        JudgeMetric(judge, model="offline")


@pytest.mark.parametrize("prices", [{"prompt": 0.1, "completion": 0.4}, 0.1, (0.1, 0.4)])
def test_prices_of_another_kind_are_refused_before_a_call_is_paid_for(prices: Any) -> None:
    with pytest.raises(TypeError, match=r"prices must be groundjudge\.Prices"):
        GroundednessMetric(model=ScriptedModel(GROUNDED), prices=prices)


def test_citations_of_a_test_case_are_checked() -> None:
    metric = adapter.CitationMetric(threshold=0.8, model="offline")
    answer = "We open at nine [1]. Tea costs two euros [1]."
    metric.measure(
        LLMTestCase(
            input="?", actual_output=answer, retrieval_context=["We open at nine.", "Tea costs two euros."]
        )
    )
    assert (metric.score, metric.success) == (0.5, False)
    assert metric.score_breakdown["citation_precision"] == 0.5
    assert metric.reason is not None
    assert "[1] does not say this; [2] does." in metric.reason


@pytest.mark.parametrize("build", [adapter.PassageRecallMetric, adapter.PassagePrecisionMetric])
@pytest.mark.parametrize("options", [{}, {"repeats": 3}], ids=["one judge", "a panel"])
def test_judge_without_the_part_that_the_metric_shows_is_refused(build: Any, options: Any) -> None:
    message = rf"no_part: .* judge groundedness .* no part '{build.part}', which a {build.__name__} shows"
    with pytest.raises(PromptError, match=f"{message}.*JudgeMetric"):
        build(judge="groundedness", model=ScriptedModel(GROUNDED), **options)


@pytest.mark.parametrize("build", CLASSES)
def test_copy_of_a_copy_is_the_same_metric(build: Any) -> None:
    positional: dict[str, Any] = {
        "threshold": 0.7,
        "model": ScriptedModel(GROUNDED),
        "include_reason": False,
        "async_mode": False,
        "strict_mode": False,
        "verbose_mode": True,
        "flaky": True,
    }
    keywords = {"prices": PRICES, "name": "mine"}
    metric = build(*positional.values(), **keywords, repeats=3, rule="min")
    [copy] = copies(*copies(metric))
    assert type(copy) is type(metric)
    assert copy is not metric
    arguments = positional | keywords
    del arguments["model"]  # which is the judge's
    assert {name: vars(copy)[name] for name in arguments} == arguments
    assert (copy.judge, copy.criteria, copy.__name__) == (metric.judge, metric.criteria, metric.__name__)
    assert copy.__name__ == (f"mine_{build.part}" if build.part else "mine")


async def test_an_option_of_the_metric_is_refused_where_a_test_case_is_measured() -> None:
    metric: Any = GroundednessMetric(model=ScriptedModel(GROUNDED))
    with pytest.raises(TypeError, match="pass 'threshold' when you create the metric"):
        metric.measure(row(), threshold=0.9)
    with pytest.raises(TypeError, match="pass 'model' when you create the metric"):
        await metric.a_measure(row(), model="offline")
    assert metric.measure(row(), _show_indicator=False, _in_component=True) == 1


class Strict(GroundednessMetric):
    """A metric of a project, as the page says how to write one."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("threshold", 0.9)
        super().__init__(**options)


def test_subclass_that_passes_its_options_on_is_copied() -> None:
    [copy] = copies(*copies(Strict(model=ScriptedModel(INCOMPLETE), name="strict")))
    copy.measure(row())
    assert (type(copy), copy.__name__, copy.threshold, copy.success) == (Strict, "strict", 0.9, False)


def test_prompt_file_is_read_once(tmp_path: Path) -> None:
    (path := tmp_path / "kindness.prompty").write_text(KINDNESS)
    metric = JudgeMetric(judge=path, model=ScriptedModel("<score>8</score><why>kind</why>"))
    path.unlink()
    assert metric.threshold == 0.7
    for result in results([metric], row(), row(input="?"), run_async=True):
        data = result["Kindness Of Tone"]
        assert (data.score, data.success) == (0.8, True)


KINDNESS = """\
---
name: kindness_of_tone
model: {parameters: {temperature: 0}}
inputs: [{name: response}]
reply: {format: tags, value: score, reason: why}
scale: {worst: 0, best: 10}
threshold: 0.7
---
How kind is this? Answer with <score> and <why>.
{{response}}
"""


# --- required fields ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "code"),
    [
        pytest.param(None, "no_response", id="missing"),
        pytest.param(" \n", "empty_response", id="blank"),
    ],
)
def test_missing_or_blank_output_is_an_error_that_cannot_be_skipped(output: str | None, code: str) -> None:
    metric = GroundednessMetric(model=ScriptedModel(GROUNDED))
    with pytest.raises(CaseError, match=code):
        metric.measure(row(actual_output=output))
    assert (metric.score, metric.is_successful()) == (None, False)


TOOLS = [tool("get_hours")]
MISSING: Mapping[str, tuple[Any, Mapping[str, Any], str]] = {
    "only an ideal context": (GroundednessMetric, {"context": ["c"], "tools_called": TOOLS}, "needs context"),
    "metadata": (adapter.KnowledgeHallucinationMetric, {"metadata": {"profil": "Mira"}}, "profile,.*profil"),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_field_is_an_error_of_its_row_or_skipped(name: str) -> None:
    build, fields, message = MISSING[name]
    model = ScriptedModel(GROUNDED)
    case = row(**{"retrieval_context": None, **fields})
    measure = partial(results, [build(model=model)], case, run_async=True)
    [data] = measure(ignore_errors=True)[0].values()
    assert re.search(f"missing_field: .* {message}", data.error)
    assert (data.score, data.success) == (None, False)
    assert measure(skip_on_missing_params=True) == [{}]
    with pytest.raises(MissingTestCaseParamsError, match=message):
        measure()
    assert model.asked == []


@pytest.mark.parametrize(
    ("metric", "case", "place"),
    [
        pytest.param(
            GroundednessMetric,
            row(retrieval_context=None, context=["It sails at nine."]),
            "the context `retrieval_context`, not `context`",
            id="the ideal context",
        ),
        pytest.param(
            adapter.PassageQualityMetric,
            row(expected_output=None),
            "the reference `expected_output`",
            id="a reference",
        ),
        pytest.param(
            adapter.ConversationalKnowledgeHallucinationMetric,
            ConversationalTestCase(
                turns=[Turn(role="user", content="q"), Turn(role="assistant", content="a")]
            ),
            "the profile is `chatbot_role`",
            id="a profile",
        ),
        pytest.param(
            TurnGroundednessMetric,
            ConversationalTestCase(
                turns=[Turn(role="user", content="q"), Turn(role="assistant", content="a")]
            ),
            "the context is the `retrieval_context` of an assistant's turn",
            id="the context of a turn",
        ),
    ],
)
def test_a_missing_field_has_the_name_that_it_has_in_a_test_case(metric: Any, case: Any, place: str) -> None:
    with pytest.raises(MissingTestCaseParamsError) as raised:
        metric(model=ScriptedModel(GOOD)).measure(case)
    assert place in str(raised.value)


def test_test_case_with_images_raises(tmp_path: Path) -> None:
    (tmp_path / "map.png").write_bytes(b"\x89PNG")
    image = MLLMImage(url=str(tmp_path / "map.png"), local=True)
    with pytest.raises(GroundjudgeError, match="contains images"):
        GroundednessMetric(model="offline").measure(row(actual_output=f"Here it is: {image}"))


# --- fields of the case ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "retrieved",
    [None, ["Opening hours are on the website."]],
    ids=["without a retrieval context", "beside a retrieval context"],
)
def test_outputs_of_tools_become_tool_result_documents(retrieved: list[str] | None) -> None:
    model = ScriptedModel(GROUNDED)
    tools = [tool("get_hours", {"café": True}), tool("get_weather", "sunny"), tool("forgotten")]
    GroundednessMetric(model=model).measure(row(retrieval_context=retrieved, tools_called=tools))
    prompt = last_prompt(model)
    assert 'kind="tool result" title="Tool Result: get_hours">\n{"café": true}\n' in prompt
    assert 'title="Tool Result: get_weather">\nsunny\n' in prompt
    assert "forgotten" not in prompt
    assert ("on the website" in prompt) is bool(retrieved)


# --- conversations --------------------------------------------------------------------------------


def test_last_turn_of_the_assistant_is_judged() -> None:
    model = ScriptedModel(IN_ROLE)
    metric = adapter.ConversationalKnowledgeHallucinationMetric(model=model)
    case = conversation("Hello.", "Good evening.", "Who are you?", "I keep the light.", "Thanks!")
    case.turns[1].tools_called = [ToolCall(name="log", input_parameters={"a": 1}, output={"ships": 2})]
    assert metric.measure(case) == 0.75
    assert metric.reason == "why"
    prompt = last_prompt(model)
    assert "<data-response>\nI keep the light.\n" in prompt
    assert "<data-profile>\nMira keeps the lighthouse.\n" in prompt
    assert "<data-agent_name>\nassistant\n" in prompt
    texts_in_order = ['"arguments": {"a": 1}', "ships", "Good evening.", "Who are you?"]
    assert sorted(texts_in_order, key=prompt.index) == texts_in_order
    assert "Thanks!" not in prompt


def test_metadata_of_a_conversation_provides_fields_and_inputs_of_a_prompts_own(tmp_path: Path) -> None:
    (tmp_path / "on_topic.prompty").write_text(ON_TOPIC)
    metadata = {"agent_name": "Mira", "answers": ["I am Mira."], "topic": "dogs"}
    rows: list[tuple[dict[str, Any], str, list[str]]] = [
        ({}, IN_ROLE, ["<data-agent_name>\nMira\n", "I am Mira."]),
        ({"judge": tmp_path / "on_topic.prompty"}, "<S2>5</S2>", ["<data-topic>\ndogs\n"]),
    ]
    for options, reply, texts in rows:
        model = ScriptedModel(reply)
        metric = adapter.ConversationalKnowledgeHallucinationMetric(model=model, **options)
        metric.measure(conversation("Who?", "Mira.", metadata=metadata))
        for text in texts:
            assert text in last_prompt(model)


SOURCED: Mapping[str, Any] = {"retrieval_context": [SOURCE]}
BARE: Mapping[str, Any] = {}


def dialogue(*answers: Mapping[str, Any]) -> ConversationalTestCase:
    """A question before each answer, whose turn has these fields beside its text."""
    turns: list[Turn] = []
    for number, fields in enumerate(answers, 1):
        turns.append(Turn(role="user", content=f"Question {number}?"))
        answer: dict[str, Any] = {"role": "assistant", "content": "At 9.", **fields}
        turns.append(Turn(**answer))
    return ConversationalTestCase(turns=turns)


TURNS: Mapping[str, tuple[list[Any], list[str], float | None, dict[Any, float | None], str]] = {
    # what the turns have; the replies; the score, that of each turn, and the reason
    "the lowest decides": (
        [SOURCED] * 3,
        [GROUNDED, INCORRECT, INCOMPLETE],
        0.25,
        {2: 1.0, 4: 0.25, 6: 0.75},
        "Not passed: turn 4.",
    ),
    "one without a context": (
        [SOURCED, BARE],
        [GROUNDED],
        1.0,
        {2: 1.0, "4 (not judged)": None},
        "The one judged turn passed. 1 turn without a retrieval_context was not judged: turn 4.",
    ),
    "two without a context": (
        [BARE, SOURCED, BARE],
        [INCORRECT],
        0.25,
        {4: 0.25, "2 (not judged)": None, "6 (not judged)": None},
        "Not passed: turn 4. 2 turns without a retrieval_context were not judged: turn 2, turn 6.",
    ),
    "an empty context": ([{"retrieval_context": []}], [INCORRECT], 0.25, {2: 0.25}, "Not passed: turn 2."),
    "a tool's output": ([{"tools_called": [tool("hours", SOURCE)]}], [GROUNDED], 1.0, {2: 1.0}, "The one "),
    "nothing to ground": ([SOURCED], [GREETING], None, {2: None}, "Not applicable"),
    "one claims nothing": ([SOURCED] * 2, [GREETING, INCOMPLETE], 0.75, {2: None, 4: 0.75}, "All 2 judged"),
}


@pytest.mark.parametrize("name", TURNS)
def test_turns_are_judged_by_their_own_context(name: str) -> None:
    answers, replies, score, scores, reason = TURNS[name]
    model = ScriptedModel(*replies)
    metric = TurnGroundednessMetric(model=model, threshold=0.7)
    assert metric.measure(dialogue(*answers)) == score
    assert metric.score_breakdown == {f"turn {place}": turn_score for place, turn_score in scores.items()}
    assert metric.success == (score is None or score >= 0.7)
    assert reason in str(metric.reason)
    assert metric.verdict
    assert metric.verdict.attempts == len(replies)
    judged_places = [place for place in scores if isinstance(place, int)]
    for request, place in zip(model.asked, judged_places, strict=True):
        prompt = str(request.messages[-1]["content"])
        assert f"Question {place // 2}?" in prompt
        assert f"Question {place // 2 + 1}?" not in prompt
        assert (SOURCE in prompt) == (name != "an empty context")


@pytest.mark.parametrize(
    ("second", "success", "reason"),
    [
        pytest.param(IN_DOUBT, True, "All 2 judged turns passed.", id="all have the best label"),
        pytest.param(MORE_DOUBT, False, "Not passed: turn 4.", id="one has the next label"),
    ],
)
def test_turns_pass_strictly_by_their_labels(second: str, success: bool, reason: str) -> None:  # noqa: FBT001
    metric = TurnGroundednessMetric(model=ScriptedModel(IN_DOUBT, second), strict_mode=True)
    metric.measure(dialogue(SOURCED, SOURCED))
    assert (metric.success, reason in str(metric.reason)) == (success, True)


OPENING = ConversationalTestCase(turns=dialogue(SOURCED, SOURCED).turns[1:])
"""It begins with a turn of the assistant."""

UNJUDGED: Mapping[str, tuple[Any, list[str]]] = {
    "no_verdict: turn 4: ": (dialogue(SOURCED, SOURCED), [GROUNDED, UNREADABLE]),
    "empty_response: turn 4: ": (dialogue(SOURCED, {**SOURCED, "content": " "}), [GROUNDED]),
    "missing_field: no turn can be judged: turn 2 has no retrieval_context": (dialogue(BARE), [GROUNDED]),
    "missing_field: turn 1: groundedness": (ConversationalTestCase(turns=OPENING.turns[:1]), [GROUNDED]),
}


def test_question_that_was_not_answered_is_named() -> None:
    turns = [*dialogue(SOURCED).turns, Turn(role="user", content="And on Sundays?")]
    metric = TurnGroundednessMetric(model=ScriptedModel(GROUNDED))
    assert metric.measure(ConversationalTestCase(turns=turns)) == 1.0
    assert "1 turn without a response was not judged: turn 3." in str(metric.reason)


@pytest.mark.parametrize("message", UNJUDGED)
def test_turn_that_cannot_be_judged_is_the_error_of_its_row(message: str) -> None:
    case, replies = UNJUDGED[message]
    metric = TurnGroundednessMetric(model=ScriptedModel(*replies), max_reasks=0)
    (data,) = results([metric], case, run_async=False, ignore_errors=True)
    metric_data = data["Turn Groundedness"]
    assert message in metric_data.error
    assert (metric_data.score, metric_data.success) == (None, False)


@pytest.mark.parametrize(
    ("optional", "replies", "reason"),
    [
        pytest.param(
            [],
            [INCORRECT],
            "Not passed: turn 3. 1 turn without a query was not judged: turn 1.",
            id="it is not judged",
        ),
        pytest.param(
            ["query"],
            [GROUNDED, INCORRECT],
            "Not passed: turn 3.\n",
            id="it is judged where the query is optional",
        ),
    ],
)
def test_turn_without_a_question_does_not_hide_a_false_one(optional: Any, replies: Any, reason: str) -> None:
    metric = TurnGroundednessMetric(model=ScriptedModel(*replies), optional=optional)
    (data,) = results([metric], OPENING, run_async=False, skip_on_missing_params=True)
    metric_data = data["Turn Groundedness"]
    assert (metric_data.score, metric_data.success) == (0.25, False)
    assert metric_data.reason.startswith(reason)
    assert ("turn 1 (not judged)" in metric_data.reason) == (not optional)


def test_turns_pass_and_fail_in_assert_test() -> None:
    case = dialogue(SOURCED, SOURCED)
    assert_passes(case, TurnGroundednessMetric(model=ScriptedModel(GROUNDED)), run_async=True)
    metric = TurnGroundednessMetric(model=ScriptedModel(GROUNDED, INCORRECT))
    with pytest.raises(AssertionError, match=r"score: 0.25[\s\S]*turn 4"):
        assert_passes(case, metric, run_async=True)


def test_turns_may_be_judged_by_any_judge_and_by_a_panel() -> None:
    case = dialogue(SOURCED, {**SOURCED, "content": "At 10."})
    panel = TurnGroundednessMetric(judge=load("groundedness", model="offline", repeats=3))
    panel.measure(case)
    assert (panel.success, panel.verdict and len(panel.verdict.votes)) == (False, 2)
    weakest = TurnGroundednessMetric(judge="statement_groundedness", model="offline")
    assert weakest.measure(case) == min(score for score in weakest.score_breakdown.values())


@pytest.mark.parametrize(
    ("case", "message"),
    [
        pytest.param(conversation("Hello?"), "no_response: .* no response was given", id="without an answer"),
        pytest.param(
            conversation("Hello?", "Hello.", chatbot_role=None),
            "needs profile, which is not given",
            id="without the role of the chatbot",
        ),
        pytest.param(
            conversation(turns=[Turn(role="assistant", content="Hi")]),
            "needs conversation",
            id="without a turn of the user",
        ),
    ],
)
def test_incomplete_conversation_is_an_error_of_its_row(case: Any, message: str) -> None:
    metric = adapter.ConversationalKnowledgeHallucinationMetric(model=ScriptedModel(IN_ROLE))
    cases = case, conversation("Who?", "I.")
    incomplete, complete = results([metric], *cases, run_async=True, ignore_errors=True)
    assert re.search(message, incomplete["Knowledge Hallucination"].error)
    assert complete["Knowledge Hallucination"].score == 0.75


@pytest.mark.parametrize(
    ("build", "case", "kinds"),
    [
        pytest.param(
            GroundednessMetric,
            conversation("Who?"),
            "'ConversationalTestCase', not 'LLMTestCase', which Gr",
            id="a conversation, to a metric of answers",
        ),
        pytest.param(
            GroundednessMetric,
            {"input": "Who?"},
            "'dict', not 'LLMTestCase', which Groundedness",
            id="a mapping",
        ),
        pytest.param(
            TurnGroundednessMetric,
            row(),
            "'LLMTestCase', not 'ConversationalTestCase', which Turn Gr",
            id="an answer, to a metric of turns",
        ),
    ],
)
def test_metric_refuses_another_kind_of_test_case(build: Any, case: Any, kinds: str) -> None:
    metric = build(model="offline")
    with pytest.raises(ValueError, match=kinds):
        metric.measure(case)
    assert kinds in metric.error
    assert (metric.score, metric.is_successful()) == (None, False)


# --- errors ---------------------------------------------------------------------------------------


def test_error_ends_evaluate_unless_errors_are_ignored(run_async: Any) -> None:
    def model(request: Request) -> str:
        return UNREADABLE if request.case.query == "unreadable" else GROUNDED

    cases = row(), row(input="unreadable"), row(input="again")
    rows = results([GroundednessMetric(model=model)], *cases, run_async=run_async, ignore_errors=True)
    assert [result["Groundedness"].success for result in rows] == [True, False, True]
    with pytest.raises(ReplyError):
        results([GroundednessMetric(model=model)], *cases, run_async=run_async)
    with pytest.raises(ReplyError):
        assert_passes(cases[1], GroundednessMetric(model=model), run_async=run_async)


def test_error_without_a_threshold_is_neither_success_nor_failure() -> None:
    metric = GroundednessMetric(model=ScriptedModel(UNREADABLE), threshold=None)
    with pytest.raises(ReplyError):
        metric.measure(row())
    assert (metric.success, metric.is_successful()) == (None, None)


def test_type_error_of_the_model_does_not_cause_a_second_call() -> None:
    model = ScriptedModel(TypeError("bug"))
    [result] = results([GroundednessMetric(model=model)], row(), run_async=True, ignore_errors=True)
    assert "unexpected: TypeError: bug" in result["Groundedness"].error
    assert len(model.asked) == 1
    with pytest.raises(GroundjudgeError, match="unexpected: TypeError: bug"):
        results([GroundednessMetric(model=model)], row(), run_async=True)
    assert len(model.asked) == 2


# --- DeepEval models ------------------------------------------------------------------------------


class CustomLLM(DeepEvalBaseLLM):
    """A model as users of DeepEval write one, which counts its calls."""

    identity = "a custom model"

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]
        self.asked: list[tuple[str, str]] = []

    def load_model(self, *_: Any, **__: Any) -> Any:
        return self

    def generate(self, prompt: str) -> Any:
        return self._answer("generate", prompt)

    async def a_generate(self, prompt: str) -> Any:
        return self._answer("a_generate", prompt)

    def get_model_name(self, *_: Any, **__: Any) -> str:
        return "custom model"

    def _answer(self, method: str, prompt: str) -> Any:
        self.asked.append((method, prompt))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Cost(float):
    """The cost of a call, as returned by the models that come with DeepEval."""

    input_tokens = 30
    output_tokens = 5


async def test_deepeval_model_is_called_by_its_asynchronous_method() -> None:
    model = CustomLLM(UNREADABLE, (GROUNDED, Cost(0.1)))
    metric = GroundednessMetric(model=model)
    assert metric.evaluation_model == "custom model"
    assert metric.measure(row()) == 1
    assert await metric.a_measure(row()) == 1
    assert [method for method, _ in model.asked] == ["a_generate"] * 3
    first, again, _ = (prompt for _, prompt in model.asked)
    assert "You grade how well" in first
    assert "<data-response>\nIt opens at 9:00." in without_codes(first)
    assert again.startswith(first)
    assert "could not be read" in again
    assert (metric.input_tokens, metric.output_tokens) == (30, 5)


# --- costs ----------------------------------------------------------------------------------------

reply_with_usage = partial(Reply, usage=Usage(prompt_tokens=100, completion_tokens=10))

SERVER_ERROR = ModelError("server", "unavailable")
COSTS: Mapping[str, tuple[Any, Sequence[Any], Prices | None, float | None]] = {
    # the model, its replies, the prices, and the cost
    "both of two replies": (
        ScriptedModel,
        [reply_with_usage(UNREADABLE), reply_with_usage(GROUNDED)],
        PRICES,
        400,
    ),
    "a reply before an error": (ScriptedModel, [reply_with_usage(UNREADABLE), SERVER_ERROR], PRICES, 200),
    "a reply without usage": (ScriptedModel, [reply_with_usage(UNREADABLE), GROUNDED], PRICES, None),
    "no reply": (ScriptedModel, [SERVER_ERROR], PRICES, None),
    "no prices": (ScriptedModel, [reply_with_usage(GROUNDED)], None, None),
    "costs of the model add up": (CustomLLM, [(UNREADABLE, Cost(0.25)), (GROUNDED, 0.5)], None, 0.75),
    "the model tells one of two costs": (CustomLLM, [(UNREADABLE, 0.25), GROUNDED], None, None),
    "a model that costs nothing": (CustomLLM, [(GROUNDED, 0)], None, 0),
    "prices go before the cost of the model": (CustomLLM, [(GROUNDED, Cost(0.25))], PRICES, 80),
    "prices, and a cost without tokens": (CustomLLM, [(GROUNDED, 0.25)], PRICES, 0.25),
}


def test_cost_is_told_by_the_prices_or_the_model() -> None:
    for name, (kind, replies, prices, cost) in COSTS.items():
        metric = GroundednessMetric(model=kind(*replies), prices=prices)
        with suppress(ModelError):
            metric.measure(row())
        assert metric.evaluation_cost == cost, name


def test_cost_is_that_of_the_last_test_case() -> None:
    model = ScriptedModel(reply_with_usage(GROUNDED), GROUNDED)
    metric = GroundednessMetric(model=model, prices=PRICES, empty_response="worst")
    for case, cost in ((row(), 200), (row(), None), (row(actual_output=""), None)):
        metric.measure(case)
        assert metric.evaluation_cost == cost


def test_reply_from_a_cache_costs_nothing(tmp_path: Path) -> None:
    paid_by_prices = NamedModel(reply_with_usage(GROUNDED))
    paid_by_the_model = CustomLLM((GROUNDED, 200.0))
    for prices, llm in ((PRICES, paid_by_prices), (None, paid_by_the_model)):
        model = CachedModel(llm, tmp_path / f"{type(llm).__name__}.db")
        metric = GroundednessMetric(model=model, prices=prices)
        for cost in (200, 0):
            metric.measure(row())
            assert metric.evaluation_cost == cost
        model.close()


# --- metrics that share a call --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prices", "run_async"),
    [
        pytest.param(PRICES, True, id="cost by prices, asynchronously"),
        pytest.param(None, False, id="cost by the model, synchronously"),
    ],
)
def test_passage_metrics_share_and_pay_one_call_per_case(prices: Any, run_async: Any) -> None:
    model: Any = CustomLLM((PASSAGE, 200.0))
    if prices:
        model = ScriptedModel(reply_with_usage(PASSAGE))
    metrics = adapter.passage_metrics(model=model, threshold=0.2, flaky=True, prices=prices)
    metrics_of_two_judges = [*metrics, adapter.PassageQualityMetric(model=ScriptedModel(PASSAGE))]
    cases = [row(input=f"question {number}") for number in range(3)]
    for result in results(metrics_of_two_judges, *cases, run_async=run_async):
        recall, precision = result["Passage Recall"], result["Passage Precision"]
        assert (recall.score, recall.reason, recall.threshold, recall.flaky) == (1, "r", 0.2, True)
        assert (precision.score, precision.reason) == (0.25, "p")
        assert (precision.threshold, precision.flaky) == (0.2, True)
        assert result["Passage Quality"].score == 0.4
        assert sorted([recall.evaluation_cost, precision.evaluation_cost]) == [0, 200]
        if prices:
            assert recall.input_tokens + precision.input_tokens == 100
            assert recall.output_tokens + precision.output_tokens == 10
    assert len(model.asked) == 3
    results(metrics_of_two_judges, *cases, run_async=run_async)
    assert len(model.asked) == 6, "a reply is shared within one evaluation only"


# --- DeepEval's cache -----------------------------------------------------------------------------


def test_deepevals_cache_judges_a_changed_prompt_again_and_the_rest_at_no_cost(tmp_path: Path) -> None:
    prompt = tmp_path / "kindness.prompty"
    kind = ScriptedModel("<score>8</score><why>kind</why>")
    grounded = ScriptedModel(reply_with_usage(GROUNDED))
    cases = [row(input=f"{tmp_path} {number}") for number in range(2)]  # the process has one cache

    def calls_and_cost_of_another_run() -> tuple[int, int, float]:
        configs = dict(QUIET)
        configs["async_config"] = AsyncConfig(run_async=False)
        configs["cache_config"] = CacheConfig(write_cache=True, use_cache=True)
        metrics = [JudgeMetric(judge=prompt, model=kind), GroundednessMetric(model=grounded, prices=PRICES)]
        evaluation = DEEPEVAL.evaluate(cases, metrics, **configs)
        [cost] = [
            data.evaluation_cost
            for data in evaluation.test_results[0].metrics_data
            if data.name == "Groundedness"
        ]
        return len(kind.asked), len(grounded.asked), cost

    prompt.write_text(KINDNESS, encoding="utf-8")
    assert [calls_and_cost_of_another_run() for _ in range(2)] == [(2, 2, 200), (2, 2, 0)]
    prompt.write_text(KINDNESS.replace("How kind", "How polite"), encoding="utf-8")
    assert [calls_and_cost_of_another_run() for _ in range(2)] == [(4, 2, 0), (4, 2, 0)]


@pytest.mark.parametrize(
    ("name", "reply", "tools", "is_reused"),
    [
        pytest.param("groundedness", GROUNDED, [], True, id="nothing ignored: reused"),
        pytest.param(
            "groundedness", GROUNDED, [tool("get_hours", "9:00")], False, id="a tool's output: not reused"
        ),
        pytest.param(
            "passage_quality",
            PASSAGE,
            [tool("get_hours", "9:00")],
            True,
            id="a tool's output, of which the judge asks nothing: reused",
        ),
        pytest.param("knowledge_hallucination", IN_ROLE, [], False, id="metadata: not reused"),
    ],
)
def test_verdict_on_what_deepevals_cache_ignores(name: str, reply: str, tools: Any, is_reused: Any) -> None:
    metric = JudgeMetric(judge=name, model=ScriptedModel(reply))
    metric.measure(row(tools_called=tools))
    assert (metric.criteria == metric.judge.identity) is is_reused


# --- metrics of components ------------------------------------------------------------------------


def test_metric_of_a_component_judges_each_call_if_run_async_is_false(tmp_path: Path) -> None:
    def model(request: Request) -> str:
        return f"<S1>{request.case.query}</S1>{formatter.sure(request.case.query)}"

    def record_span(level: str) -> None:
        TRACING.update_current_span(input=level, output="It opens at 9:00.", retrieval_context=["c"])

    component = TRACING.observe(metrics=[GroundednessMetric(model=model)])(record_span)

    def application(levels: str) -> None:
        for level in levels.split():
            component(level)

    goldens = [Golden(input=levels, multimodal=False) for levels in ("1 2 4", "5 1")]
    dataset = EvaluationDataset(goldens=goldens)
    for golden in dataset.evals_iterator(async_config=AsyncConfig(run_async=False), **QUIET):
        TRACING.observe()(application)(golden.input)
    run = json.loads((tmp_path / ".deepeval" / ".latest_run_full.json").read_text(encoding="utf-8"))
    judged_spans: set[tuple[str, str, float]] = set()
    for case in run["testCases"]:
        for span in case["trace"]["baseSpans"]:
            for data in span.get("metricsData", []):
                judged_spans.add((span["input"], data["reason"], data["score"]))
    assert judged_spans == {("1", "1", 0), ("2", "2", 0.25), ("4", "4", 0.75), ("5", "5", 1)}


# --- deepeval test run ----------------------------------------------------------------------------


@pytest.mark.soak
def test_example_passes_also_by_deepevals_cache() -> None:
    example = Path(__file__).parents[2] / "examples" / "assert_in_a_deepeval_test.py"
    command = [sys.executable, "-m", "deepeval.cli.main", "test", "run", str(example), "-c"]
    command += ["--color", "no", "-p", "no:cacheprovider", "--disable-socket", "--allow-unix-socket"]
    env = {**os.environ, "DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_NO_INSPECT_PROMPT": "1"}
    for _ in range(2):
        process = subprocess.run(command, env=env, check=False, capture_output=True, text=True)  # noqa: S603
        assert (process.returncode, "6 passed" in process.stdout) == (0, True), process.stdout


@pytest.mark.soak
def test_measuring_in_another_loop_after_evaluate_prints_nothing_at_the_end() -> None:
    code = """
import asyncio, sys
from deepeval import evaluate
from deepeval.evaluate.configs import DisplayConfig
from deepeval.test_case import LLMTestCase
from groundjudge.adapters.deepeval import GroundednessMetric
from groundjudge.models.openai import OpenAIModel

metric = GroundednessMetric(model=OpenAIModel("m", base_url=sys.argv[1]))
case = LLMTestCase(input="When?", actual_output="At nine.", retrieval_context=["It sails at nine."])
evaluate([case] * 3, [metric], display_config=DisplayConfig(show_indicator=False, print_results=False))
asyncio.run(metric.a_measure(case))
print("score", metric.score)
"""
    with StandIn([GOOD]) as server:
        process = subprocess.run(  # noqa: S603  this very Python
            [sys.executable, "-c", code, server.url],
            env={**os.environ, "DEEPEVAL_TELEMETRY_OPT_OUT": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.endswith("score 1.0\n")


# --- votes, and one object at a time --------------------------------------------------------------


def test_passage_metrics_share_the_votes_of_a_panel_and_keep_their_names_apart() -> None:
    model = ScriptedModel(PASSAGE)
    metrics = adapter.passage_metrics(model=model, repeats=3, stop="never", name="mine")
    for metric in metrics:
        metric.measure(row())
    assert {metric.__name__: metric.score for metric in metrics} == {"mine_recall": 1, "mine_precision": 0.25}
    assert len(model.asked) == 3


async def test_metric_in_use_says_so_and_loses_no_result() -> None:
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def answer(request: Request) -> str:
        waiting.set()
        await go_on.wait()
        return f"<S1>{request.case.response_text}</S1>{formatter.sure(5)}"

    metric = GroundednessMetric(model=answer)
    cases = [row(actual_output=output) for output in ("one", "two", "")]
    first = asyncio.create_task(metric.a_measure(cases[0]))
    await waiting.wait()
    for measure in (metric.a_measure(cases[1]), asyncio.to_thread(metric.measure, cases[1])):
        with pytest.raises(GroundjudgeError, match="metric_in_use: it is measuring another test case"):
            await measure
    go_on.set()
    assert (await first, metric.reason, metric.error) == (1.0, "one", None)
    assert await metric.a_measure(cases[1]) == 1.0  # one after the other
    assert metric.reason == "two"
    with pytest.raises(GroundjudgeError):
        await metric.a_measure(cases[2])
    assert await metric.a_measure(cases[0]) == 1.0  # after an error too
