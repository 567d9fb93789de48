"""DeepEval's users measure, evaluate, assert and run test files: each judge is a metric like any other."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import deepeval
import pytest
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics.utils import copy_metrics
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import (
    ConversationalTestCase,
    LLMTestCase,
    MLLMImage,
    RetrievedContextData,
    SingleTurnParams,
    ToolCall,
    Turn,
)
from scripted_model import ScriptedModel

from groundjudge import (
    GroundjudgeError,
    ModelError,
    PromptError,
    Reply,
    ReplyError,
    Request,
    Usage,
    Verdict,
    load,
)
from groundjudge.adapters.deepeval import (
    ConfidenceGroundingMetric,
    ConversationalKnowledgeHallucinationMetric,
    GroundednessMetric,
    JudgeMetric,
    KnowledgeHallucinationMetric,
    PassagePrecisionMetric,
    PassageQualityMetric,
    PassageRecallMetric,
    StatementGroundednessMetric,
    passage_metrics,
)

DEEPEVAL: Any = deepeval
"""DeepEval's public face, of which type checkers see little."""

Build = Callable[..., Any]
"""A metric's class, or what builds a metric from the same arguments."""

CLASSES: tuple[Build, ...] = (
    GroundednessMetric,
    ConfidenceGroundingMetric,
    StatementGroundednessMetric,
    PassageQualityMetric,
    PassageRecallMetric,
    PassagePrecisionMetric,
    KnowledgeHallucinationMetric,
    ConversationalKnowledgeHallucinationMetric,
)

GROUNDED = "<S0>t</S0><S1>It stands in the source.</S1><S2>5</S2>"
INCOMPLETE = "<S0>t</S0><S1>The weekdays are missing.</S1><S2>4</S2>"
INCORRECT = "<S0>t</S0><S1>The hour is wrong.</S1><S2>2</S2>"
GREETING = "<S0>t</S0><S1>It claims nothing.</S1><S2>3</S2>"
UNREADABLE = "I would say that it is fine."
SENTENCES = (
    "Statement Sentence: It opens at 9:00.\nSupporting Evidence: The library opens at 9:00\nScore: 10\n"
    "Statement Sentence: It has a garden.\nSupporting Evidence: NOTHING FOUND\nScore: 0"
)
PASSAGE = (
    "RECALL_Reasoning: r\nRECALL_Formula: (5 * 1.0)\nRECALL_Weighted_Summed_Score: 5\n"
    "PRECISION_Reasoning: p\nPRECISION_Formula: (2 * 1.0)\nPRECISION_Weighted_Summed_Score: 2"
)
IN_ROLE = "Analysis: why\nLevel: Mild\nScore: 75"

QUIET: Mapping[str, Any] = {
    "display_config": DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
    "cache_config": CacheConfig(write_cache=False),
}
ROLE: Mapping[str, Any] = {
    "profile": "Mira keeps the lighthouse of Vessa.",
    "agent_name": "Mira",
    "conversation": [{"role": "user", "content": "Who are you?"}],
}


@pytest.fixture(autouse=True)
def _left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DeepEval writes into the working directory, and does not close the event loop that it makes."""
    monkeypatch.chdir(tmp_path)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()


def row(**fields: Any) -> LLMTestCase:
    told: dict[str, Any] = {
        "input": "When does the library open?",
        "actual_output": "It opens at 9:00. It has a garden.",
        "expected_output": "The library opens at 9:00 on weekdays.",
        "retrieval_context": ["The library opens at 9:00 on weekdays."],
        "metadata": {**ROLE},
    }
    return LLMTestCase(**{**told, **fields})


def row_asking(question: str) -> LLMTestCase:
    return row(input=question)


def tool(name: str, output: Any = None) -> ToolCall:
    return ToolCall(name=name, output=output, input_parameters={})


def talk(*turns: str, **fields: Any) -> ConversationalTestCase:
    """A conversation in which the user begins."""
    spoken = [Turn(role="assistant" if at % 2 else "user", content=text) for at, text in enumerate(turns)]
    told: dict[str, Any] = {"turns": spoken, "chatbot_role": "Mira keeps the lighthouse."}
    return ConversationalTestCase(**{**told, **fields})


def copies(*metrics: Any) -> list[Any]:
    return copy_metrics([*metrics])  # as DeepEval copies them for each test case


def asked(model: ScriptedModel) -> str:
    """What a model was last asked to judge."""
    return model.asked[-1].messages[-1]["content"]


async def in_turn(metric: Any, case: Any) -> Any:
    return metric.measure(case)


async def awaited(metric: Any, case: Any) -> Any:
    return await metric.a_measure(case)


both_ways = pytest.mark.parametrize("measure", [in_turn, awaited])
in_both_modes = pytest.mark.parametrize("run_async", [True, False])


def passes(case: Any, *metrics: Any, run_async: bool) -> None:
    DEEPEVAL.assert_test(case, [*metrics], run_async=run_async)


def results(metrics: list[Any], *cases: Any, run_async: bool, **errors: bool) -> list[dict[str, Any]]:
    """DeepEval's own results of a run: for each case its metrics' data by their names."""
    told = DEEPEVAL.evaluate(
        [*cases],
        metrics,
        async_config=AsyncConfig(run_async=run_async),
        error_config=ErrorConfig(**errors),
        **QUIET,
    )
    ordered = sorted(told.test_results, key=lambda result: result.index or 0)
    return [{data.name: data for data in result.metrics_data or ()} for result in ordered]


# --- verdicts -------------------------------------------------------------------------------------

VERDICTS: list[tuple[Build, str, float, str, dict[str, float] | None, str]] = [
    (GroundednessMetric, INCOMPLETE, 0.75, "The weekdays are missing.", None, "Groundedness"),
    (ConfidenceGroundingMetric, '{"reasoning": "r", "score": 0.7}', 0.7, "r", None, "Confidence Grounding"),
    (
        StatementGroundednessMetric,
        SENTENCES,
        0.5,
        "It has a garden. (0): NOTHING FOUND\nIt opens at 9:00. (10): The library opens at 9:00",
        {"It opens at 9:00.": 1, "It has a garden.": 0},
        "Statement Groundedness",
    ),
    (
        PassageQualityMetric,
        PASSAGE,
        0.4,
        "precision (2): p\nrecall (5): r",
        {"recall": 1, "precision": 0.25},
        "Passage Quality",
    ),
    (PassageRecallMetric, PASSAGE, 1, "r", {"recall": 1, "precision": 0.25}, "Passage Recall"),
    (PassagePrecisionMetric, PASSAGE, 0.25, "p", {"recall": 1, "precision": 0.25}, "Passage Precision"),
    (KnowledgeHallucinationMetric, IN_ROLE, 0.75, "why", None, "Knowledge Hallucination"),
    (partial(JudgeMetric, judge="groundedness"), INCORRECT, 0.25, "The hour is wrong.", None, "Groundedness"),
]


@both_ways
@pytest.mark.parametrize(("build", "reply", "score", "reason", "parts", "name"), VERDICTS)
async def test_a_metric_tells_what_its_judge_says(  # noqa: PLR0913, PLR0917  a table's columns
    measure: Any, build: Build, reply: str, score: float, reason: str, parts: Any, name: str
) -> None:
    metric = build(model=ScriptedModel(reply))
    assert await measure(metric, row()) == metric.score == pytest.approx(score)
    assert metric.reason == reason
    assert metric.score_breakdown == parts
    assert metric.__name__ == name
    assert metric.success is metric.is_successful() is (score >= 0.5)
    assert metric.error is None
    assert metric.evaluation_model == "scripted"
    assert isinstance(metric.verdict, Verdict)
    assert f'"signature": "{metric.verdict.signature}"' in metric.verbose_logs


@in_both_modes
@pytest.mark.parametrize(("build", "reply", "score", "reason", "parts", "name"), VERDICTS)
def test_evaluate_tells_the_same(  # noqa: PLR0913, PLR0917
    run_async: bool,  # noqa: FBT001
    build: Build,
    reply: str,
    score: float,
    reason: str,
    parts: Any,
    name: str,
) -> None:
    del parts
    metric = build(model=ScriptedModel(reply))
    for told in results([metric], row(), row(input="And on Sundays?"), run_async=run_async):
        data = told[name]
        assert data.score == pytest.approx(score)
        assert data.success is (score >= 0.5)
        assert data.reason == reason
        assert data.evaluation_model == "scripted"
        assert data.error is None


@in_both_modes
def test_assert_test_fails_with_score_and_reason(run_async: bool) -> None:  # noqa: FBT001
    passes(row(), GroundednessMetric(model=ScriptedModel(GROUNDED)), run_async=run_async)
    failure = r"Groundedness \(score: 0\.25, threshold: 0\.5, .* reason: The hour is wrong"
    with pytest.raises(AssertionError, match=failure):
        passes(row(), GroundednessMetric(model=ScriptedModel(INCORRECT)), run_async=run_async)


async def test_every_way_works_inside_a_running_loop() -> None:
    metric = GroundednessMetric(model=ScriptedModel(GROUNDED))
    assert metric.measure(row()) == await metric.a_measure(row()) == 1


def test_tokens_of_all_attempts_are_counted() -> None:
    used = partial(Reply, usage=Usage(prompt_tokens=100, completion_tokens=10))
    model = ScriptedModel(used(UNREADABLE), used(GROUNDED))
    [told] = results([GroundednessMetric(model=model)], row(), run_async=True)
    assert (told["Groundedness"].input_tokens, told["Groundedness"].output_tokens) == (200, 20)
    metric = GroundednessMetric(model=ScriptedModel(used(UNREADABLE)))
    with pytest.raises(ReplyError):
        metric.measure(row())
    assert (metric.input_tokens, metric.output_tokens) == (200, 20)


@pytest.mark.parametrize("loud", [True, False])
def test_only_verbose_mode_prints(loud: bool, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: FBT001
    GroundednessMetric(model=ScriptedModel(GROUNDED), verbose_mode=loud).measure(row())
    assert ("It stands in the source." in capsys.readouterr().out) is loud


def test_without_include_reason_there_is_none() -> None:
    metric = GroundednessMetric(model=ScriptedModel(GROUNDED, GREETING), include_reason=False)
    metric.measure(row())
    assert metric.reason is None
    metric.measure(row())
    assert metric.reason == "Not applicable (nothing_to_ground)."


# --- the constructor, and copies of what it made --------------------------------------------------


def test_all_metrics_take_the_same_arguments() -> None:
    own = [*inspect.signature(JudgeMetric).parameters]
    assert own == [
        *"threshold model include_reason async_mode strict_mode verbose_mode flaky judge options".split()
    ]
    assert {inspect.signature(each) for each in (JudgeMetric, *CLASSES)} == {inspect.signature(JudgeMetric)}
    assert GroundednessMetric(0.7, ScriptedModel(GROUNDED), False, False, False, True, True).threshold == 0.7  # noqa: FBT003


@pytest.mark.parametrize(
    ("options", "threshold", "success"),
    [
        ({}, 0.5, True),
        ({"threshold": 0.75}, 0.75, True),
        ({"threshold": 0.76}, 0.76, False),
        ({"threshold": 0}, 0, True),
        ({"threshold": None}, None, None),
        ({"strict_mode": True}, 1, False),
        ({"strict_mode": True, "threshold": None}, 1, False),
        ({"judge": load("groundedness", model="offline", threshold=0.8)}, 0.8, False),
        ({"judge": load("groundedness", model="offline", threshold=0.8), "threshold": 0.6}, 0.6, True),
    ],
)
def test_the_threshold_is_the_judges_own_unless_told(options: Any, threshold: Any, success: Any) -> None:
    metric = GroundednessMetric(model=ScriptedModel(INCOMPLETE), **options)
    for each in [metric, *copies(metric)]:
        assert each.threshold == threshold
        each.measure(row())
        assert each.score == 0.75
        assert each.success is each.is_successful() is success


@pytest.mark.parametrize("threshold", [-0.1, 3])
def test_a_threshold_off_the_score_is_an_error(threshold: float) -> None:
    with pytest.raises(PromptError, match="threshold"):
        GroundednessMetric(threshold=threshold, model="offline")


def test_a_model_must_be_given() -> None:
    with pytest.raises(ModelError, match="no model given"):
        GroundednessMetric()
    with pytest.raises(PromptError, match="there is no judge"):
        JudgeMetric(model="offline")


@pytest.mark.parametrize("build", CLASSES)
def test_a_copy_of_a_copy_is_the_same_metric(build: Build) -> None:
    told: dict[str, Any] = {
        "threshold": 0.7,
        "include_reason": False,
        "async_mode": False,
        "strict_mode": False,
        "verbose_mode": True,
        "flaky": True,
    }
    metric = build(model=ScriptedModel(GROUNDED), **told)
    [copy] = copies(*copies(metric))
    assert type(copy) is type(metric)
    assert copy is not metric
    assert {name: vars(copy)[name] for name in told} == told
    assert copy.model is metric.model
    assert copy.judge == metric.judge
    assert copy.criteria == metric.criteria


def test_a_judge_of_ones_own_is_read_once(own_judge: Path) -> None:
    metric = JudgeMetric(judge=own_judge, model=ScriptedModel("<score>8</score><why>kind</why>"))
    own_judge.unlink()
    assert metric.__name__ == "Kindness Of Tone"
    assert metric.threshold == 0.7
    for told in results([metric], row(), row(input="?"), run_async=True):
        assert told["Kindness Of Tone"].score == 0.8
        assert told["Kindness Of Tone"].success is True


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


@pytest.fixture
def own_judge(tmp_path: Path) -> Path:
    path = tmp_path / "kindness.prompty"
    path.write_text(KINDNESS)
    return path


def test_a_judge_brings_its_model_unless_another_is_given() -> None:
    judge = load("groundedness", model=ScriptedModel(GROUNDED))
    assert JudgeMetric(judge=judge).measure(row()) == 1
    assert JudgeMetric(judge=judge, model=ScriptedModel(INCORRECT)).measure(row()) == 0.25


# --- nothing to judge -----------------------------------------------------------------------------


@both_ways
async def test_nothing_to_judge_is_a_success_without_a_score(measure: Any) -> None:
    metric = GroundednessMetric(model=ScriptedModel(GREETING), strict_mode=True)
    assert await measure(metric, row(actual_output="Hello!")) is None
    assert metric.score is None
    assert metric.success is metric.is_successful() is True
    assert metric.reason == "Not applicable (nothing_to_ground). It claims nothing."


@in_both_modes
def test_nothing_to_judge_passes_in_a_run(run_async: bool) -> None:  # noqa: FBT001
    metric = GroundednessMetric(model=ScriptedModel(GREETING))
    [told] = results([metric], row(), run_async=run_async)
    assert (told["Groundedness"].score, told["Groundedness"].success) == (None, True)
    passes(row(), GroundednessMetric(model=ScriptedModel(GREETING)), run_async=run_async)


def test_one_row_leaves_nothing_for_the_next() -> None:
    metric = GroundednessMetric(model=ScriptedModel(GREETING, ModelError("server", "gone"), INCORRECT))
    greeting, failed, wrong = (
        told["Groundedness"]
        for told in results([metric], *map(row_asking, "abc"), run_async=False, ignore_errors=True)
    )
    assert (greeting.score, greeting.success, greeting.error) == (None, True, None)
    assert (failed.score, failed.success, failed.reason) == (None, False, None)
    assert "server: gone" in failed.error
    assert (wrong.score, wrong.success, wrong.error) == (0.25, False, None)


# --- what a judge needs ---------------------------------------------------------------------------

NEEDED: list[tuple[Build, dict[str, Any], str]] = [
    (GroundednessMetric, {"retrieval_context": None}, "'retrieval_context' cannot be None for the 'Grou"),
    (GroundednessMetric, {"actual_output": None}, "'actual_output' cannot be None"),
    (GroundednessMetric, {"actual_output": ""}, "'actual_output' cannot be empty"),
    (GroundednessMetric, {"actual_output": " \n"}, "empty_response"),
    (GroundednessMetric, {"input": " "}, "missing_field: groundedness needs query"),
    (ConfidenceGroundingMetric, {"retrieval_context": None}, "'retrieval_context' cannot be None"),
    (StatementGroundednessMetric, {"retrieval_context": []}, "missing_field: .* needs context"),
    (PassageRecallMetric, {"expected_output": None}, "'expected_output' cannot be None"),
    (KnowledgeHallucinationMetric, {"metadata": None}, "'metadata' cannot be None"),
    (KnowledgeHallucinationMetric, {"metadata": {**ROLE, "profile": " "}}, "missing_field: .* needs profile"),
    (KnowledgeHallucinationMetric, {"metadata": {"profil": "Mira"}}, "missing_field.*profil$"),
]


@both_ways
@pytest.mark.parametrize(("build", "fields", "why"), NEEDED)
async def test_what_a_judge_needs_must_be_there(measure: Any, build: Build, fields: Any, why: str) -> None:
    model = ScriptedModel(GROUNDED)
    metric = build(model=model)
    with pytest.raises(MissingTestCaseParamsError, match=why) as raised:
        await measure(metric, row(**fields))
    assert metric.error == str(raised.value)
    assert (metric.score, metric.success) == (None, None)
    assert metric.is_successful() is False
    assert not model.asked


@in_both_modes
@pytest.mark.parametrize(("build", "fields", "why"), NEEDED)
def test_what_is_missing_is_an_error_of_its_row_or_skipped(
    run_async: bool,  # noqa: FBT001
    build: Build,
    fields: Any,
    why: str,
) -> None:
    reply = next(reply for kind, reply, *_ in VERDICTS if kind is build)
    metric = build(model=ScriptedModel(reply))
    lacking, complete = results([metric], row(**fields), row(), run_async=run_async, ignore_errors=True)
    assert re.search(why, lacking[metric.__name__].error)
    assert lacking[metric.__name__].success is False
    assert complete[metric.__name__].error is None
    skipped, _ = results(
        [build(model=ScriptedModel(reply))],
        row(**fields),
        row(),
        run_async=run_async,
        skip_on_missing_params=True,
    )
    assert skipped == {}
    with pytest.raises(MissingTestCaseParamsError, match=why):
        results([build(model=ScriptedModel(reply))], row(**fields), run_async=run_async)


@pytest.mark.parametrize(
    ("build", "reply", "fields"),
    [
        (GroundednessMetric, GROUNDED, {"retrieval_context": [], "expected_output": None, "metadata": None}),
        (ConfidenceGroundingMetric, '{"score": 1}', {"retrieval_context": []}),
        (PassageQualityMetric, PASSAGE, {"retrieval_context": None, "metadata": None}),
        (KnowledgeHallucinationMetric, IN_ROLE, {"retrieval_context": None, "expected_output": None}),
    ],
)
def test_what_a_judge_does_not_need_may_be_missing(build: Build, reply: str, fields: Any) -> None:
    assert build(model=ScriptedModel(reply)).measure(row(**fields)) > 0


def test_the_required_params_are_the_judges_inputs() -> None:
    required = {each: each(model="offline")._required_params for each in CLASSES[:-1]}  # noqa: SLF001
    assert set(required[GroundednessMetric]) == {
        SingleTurnParams.INPUT,
        SingleTurnParams.ACTUAL_OUTPUT,
        SingleTurnParams.RETRIEVAL_CONTEXT,
    }
    assert set(required[PassageRecallMetric]) == {
        SingleTurnParams.INPUT,
        SingleTurnParams.ACTUAL_OUTPUT,
        SingleTurnParams.EXPECTED_OUTPUT,
    }
    assert set(required[KnowledgeHallucinationMetric]) == {
        SingleTurnParams.ACTUAL_OUTPUT,
        SingleTurnParams.METADATA,
    }


def test_a_test_case_with_images_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "map.png").write_bytes(b"\x89PNG")
    shown = MLLMImage(url=str(tmp_path / "map.png"), local=True)
    with pytest.raises(GroundjudgeError, match="images"):
        GroundednessMetric(model="offline").measure(row(actual_output=f"Here it is: {shown}"))


# --- where the case comes from --------------------------------------------------------------------


def test_all_shapes_of_a_retrieval_context_are_the_same_prompt() -> None:
    model = ScriptedModel(GROUNDED)
    prompts: set[str] = set()
    for each in ("It opens at 9:00.", RetrievedContextData(context="It opens at 9:00.", source="faq.html")):
        GroundednessMetric(model=model).measure(row(retrieval_context=[each]))
        prompts.add(asked(model))
    assert len(prompts) == 1


@pytest.mark.parametrize("retrieved", [None, [], ["Opening hours are on the website."]])
def test_outputs_of_tools_are_tool_results(retrieved: list[str] | None) -> None:
    model = ScriptedModel(GROUNDED)
    tools = [
        tool("get_hours", {"opens": "9:00", "café": True}),
        tool("get_weather", "sunny"),
        tool("forgotten"),
    ]
    GroundednessMetric(model=model).measure(row(retrieval_context=retrieved, tools_called=tools))
    prompt = asked(model)
    assert 'kind="tool result" title="Tool Result: get_hours">\n{"opens": "9:00", "café": true}\n' in prompt
    assert 'title="Tool Result: get_weather">\nsunny\n' in prompt
    assert "forgotten" not in prompt
    assert ("on the website" in prompt) is bool(retrieved)


def test_tools_without_an_output_are_no_context() -> None:
    with pytest.raises(MissingTestCaseParamsError, match="retrieval_context"):
        GroundednessMetric(model="offline").measure(
            row(retrieval_context=None, tools_called=[tool("get_hours")])
        )


def test_the_ideal_context_is_not_what_was_retrieved() -> None:
    case = row(retrieval_context=None, context=["It opens at 9:00."])
    with pytest.raises(MissingTestCaseParamsError, match="retrieval_context"):
        GroundednessMetric(model="offline").measure(case)


def test_metadata_fills_what_deepeval_has_no_field_for() -> None:
    model = ScriptedModel(IN_ROLE)
    told = {**ROLE, "answers": ["I keep the light."]}
    KnowledgeHallucinationMetric(model=model).measure(row(metadata=told))
    prompt = asked(model)
    assert all(text in prompt for text in (ROLE["profile"], "Mira", "Who are you?", "I keep the light."))


def test_metadata_is_nothing_to_a_judge_that_does_not_ask_for_it() -> None:
    assert (
        GroundednessMetric(model=ScriptedModel(GROUNDED)).measure(row(metadata={"profile": 3, "answers": 4}))
        == 1
    )


# --- conversations --------------------------------------------------------------------------------


@both_ways
async def test_the_last_turn_of_the_assistant_is_judged(measure: Any) -> None:
    model = ScriptedModel(IN_ROLE)
    metric = ConversationalKnowledgeHallucinationMetric(model=model)
    case = talk("Hello.", "Good evening.", "Who are you?", "I keep the light.", "Thanks!")
    assert await measure(metric, case) == 0.75
    assert metric.reason == "why"
    prompt = asked(model)
    assert "<data-response>\nI keep the light.\n" in prompt
    assert "<data-profile>\nMira keeps the lighthouse.\n" in prompt
    assert "<data-agent_name>\nassistant\n" in prompt
    assert prompt.index("Good evening.") < prompt.index("Who are you?")
    assert "Thanks!" not in prompt


def test_metadata_of_a_conversation_names_the_agent_and_its_answers() -> None:
    model = ScriptedModel(IN_ROLE)
    told = {"agent_name": "Mira", "answers": ["I am Mira."]}
    ConversationalKnowledgeHallucinationMetric(model=model).measure(talk("Who?", "Mira.", metadata=told))
    assert "<data-agent_name>\nMira\n" in asked(model)
    assert "I am Mira." in asked(model)


@in_both_modes
@pytest.mark.parametrize(
    ("case", "why"),
    [
        (talk("Hello?"), "missing_field: .* needs response"),
        (talk("Hello?", " "), "empty_response"),
        (talk("Hello?", "Hello.", chatbot_role=None), "'chatbot_role' .* cannot be empty"),
        (talk("Hello?", "Hello.", turns=[Turn(role="assistant", content="Hi")]), "needs conversation"),
    ],
)
def test_a_conversation_must_have_what_is_judged(case: Any, why: str, run_async: bool) -> None:  # noqa: FBT001
    metric = ConversationalKnowledgeHallucinationMetric(model=ScriptedModel(IN_ROLE))
    lacking, complete = results([metric], case, talk("Who?", "I."), run_async=run_async, ignore_errors=True)
    assert re.search(why, lacking["Knowledge Hallucination"].error)
    assert complete["Knowledge Hallucination"].score == 0.75


def test_metrics_and_cases_of_different_kinds_do_not_mix() -> None:
    with pytest.raises(ValueError, match="not of type 'LLMTestCase'"):
        KnowledgeHallucinationMetric(model="offline").measure(talk("Who?", "I."))
    with pytest.raises(ValueError, match="not of type 'ConversationalTestCase'"):
        ConversationalKnowledgeHallucinationMetric(model="offline").measure(row())


# --- errors ---------------------------------------------------------------------------------------


@both_ways
async def test_an_error_is_raised_and_kept(measure: Any) -> None:
    metric = GroundednessMetric(model=ScriptedModel(UNREADABLE))
    with pytest.raises(ReplyError, match="no_verdict"):
        await measure(metric, row())
    assert metric.error
    assert metric.error.startswith("no_verdict: ")
    assert (metric.score, metric.success, metric.is_successful()) == (None, None, False)
    assert metric.verdict
    assert metric.verdict.status == "error"
    assert metric.verdict.attempts == 2


@in_both_modes
def test_errors_end_a_run_unless_they_are_ignored(run_async: bool) -> None:  # noqa: FBT001
    def moody(request: Request) -> str:
        return UNREADABLE if request.case.query == "moody" else GROUNDED

    cases = row(), row(input="moody"), row(input="again")
    told = results([GroundednessMetric(model=moody)], *cases, run_async=run_async, ignore_errors=True)
    assert [each["Groundedness"].score for each in told] == [1, None, 1]
    assert [each["Groundedness"].success for each in told] == [True, False, True]
    assert "no_verdict: " in told[1]["Groundedness"].error
    with pytest.raises(ReplyError):
        results([GroundednessMetric(model=moody)], *cases, run_async=run_async)
    with pytest.raises(ReplyError):
        passes(row(input="moody"), GroundednessMetric(model=moody), run_async=run_async)


@in_both_modes
def test_a_type_error_does_not_judge_twice(run_async: bool) -> None:  # noqa: FBT001
    model = ScriptedModel(TypeError("bug"))
    [told] = results([GroundednessMetric(model=model)], row(), run_async=run_async, ignore_errors=True)
    assert "failed: TypeError: bug" in told["Groundedness"].error
    assert len(model.asked) == 1
    with pytest.raises(GroundjudgeError, match="failed: TypeError: bug"):
        results([GroundednessMetric(model=model)], row(), run_async=run_async)
    assert len(model.asked) == 2


# --- models of DeepEval ---------------------------------------------------------------------------


class Own(DeepEvalBaseLLM):
    """A model as DeepEval's users write one."""

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
        return "my own model"

    def _answer(self, how: str, prompt: str) -> Any:
        self.asked.append((how, prompt))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Cost(float):
    """What a call cost, as the models that come with DeepEval tell it."""

    input_tokens = 30
    output_tokens = 5


async def test_a_model_of_deepeval_is_asked_in_its_own_way() -> None:
    model = Own(UNREADABLE, (GROUNDED, Cost(0.1)))
    metric = GroundednessMetric(model=model)
    assert metric.evaluation_model == "my own model"
    assert metric.measure(row()) == 1
    assert await metric.a_measure(row()) == 1
    assert [how for how, _ in model.asked] == ["generate", "generate", "a_generate"]
    first, again, _ = (prompt for _, prompt in model.asked)
    assert "impartial grader" in first
    assert "<data-response>\nIt opens at 9:00." in first
    assert again.startswith(first)
    assert "could not be read" in again
    assert (metric.input_tokens, metric.output_tokens) == (30, 5)


@in_both_modes
def test_an_error_of_a_model_of_deepeval_is_an_error_of_its_row(run_async: bool) -> None:  # noqa: FBT001
    model = Own(TypeError("bug"), TimeoutError("slow"), GROUNDED)
    cases = row(), row(input="b"), row(input="c")
    told = results([GroundednessMetric(model=model)], *cases, run_async=run_async, ignore_errors=True)
    errors = [each["Groundedness"].error or "" for each in told]
    assert [code for code in ("failed", "timeout") for error in errors if f"{code}: the model" in error] == [
        "failed",
        "timeout",
    ]
    assert len(model.asked) == 3


# --- two metrics of one call ----------------------------------------------------------------------


@in_both_modes
def test_recall_and_precision_cost_one_call_per_case(run_async: bool) -> None:  # noqa: FBT001
    model = ScriptedModel(Reply(PASSAGE, usage=Usage(prompt_tokens=100, completion_tokens=10)))
    metrics = passage_metrics(model=model, threshold=0.2, flaky=True)
    cases = [row(input=f"question {number}") for number in range(5)]
    told = results(
        [*metrics, PassageQualityMetric(model=ScriptedModel(PASSAGE))], *cases, run_async=run_async
    )
    assert len(model.asked) == 5
    for each in told:
        recall, precision = each["Passage Recall"], each["Passage Precision"]
        assert (recall.score, precision.score) == (1, 0.25)
        assert (recall.threshold, precision.threshold) == (0.2, 0.2)
        assert recall.flaky
        assert precision.flaky
        assert recall.input_tokens + precision.input_tokens == 100
        assert recall.output_tokens + precision.output_tokens == 10
    results([*metrics, PassageQualityMetric(model=ScriptedModel(PASSAGE))], *cases, run_async=run_async)
    assert len(model.asked) == 10, "a reply serves one evaluation only"


async def test_a_call_is_shared_while_it_is_on_its_way() -> None:
    async def slow(request: Request) -> str:
        calls.append(request)
        while shared.calls:  # noqa: ASYNC110  until the other metric waits for it too
            await asyncio.sleep(0)
        return PASSAGE

    calls: list[Request] = []
    metrics = passage_metrics(model=slow)
    shared: Any = metrics[0].judge.model
    cases = [row(input=str(number % 2)) for number in range(4)]
    measured = (each.a_measure(case) for case in cases for each in copies(*metrics))
    assert await asyncio.gather(*measured) == [1, 0.25] * 4
    assert len(calls) == 4
    with ThreadPoolExecutor(8) as threads:
        measuring = [threads.submit(each.measure, row()) for each in copies(*metrics)]
    assert [each.result() for each in measuring] == [1, 0.25]
    assert len(calls) == 5


def test_passage_metrics_serve_without_each_other() -> None:
    model = ScriptedModel(PASSAGE)
    recall, precision = passage_metrics(judge=load("passage_quality", model=model))
    assert [recall.measure(row()), recall.measure(row()), precision.measure(row())] == [1, 1, 0.25]
    assert len(model.asked) == 2


@in_both_modes
def test_an_error_of_a_shared_call_is_not_kept(run_async: bool) -> None:  # noqa: FBT001
    model = ScriptedModel(ModelError("server", "gone"), ModelError("server", "gone"), PASSAGE)
    metrics = passage_metrics(model=model)
    [told] = results([*metrics], row(), run_async=run_async, ignore_errors=True)
    assert all("server: gone" in data.error for data in told.values())
    results([*metrics], row(input="other"), run_async=run_async, ignore_errors=True)
    [told] = results([*metrics], row(), run_async=run_async, ignore_errors=True)
    assert told["Passage Recall"].score == 1


# --- DeepEval's cache -----------------------------------------------------------------------------


@in_both_modes
def test_the_cache_of_deepeval_knows_the_prompt(tmp_path: Path, run_async: bool) -> None:  # noqa: FBT001
    prompt = tmp_path / "kindness.prompty"
    kind, grounded = ScriptedModel("<score>8</score><why>kind</why>"), ScriptedModel(GROUNDED)
    cases = [row(input=f"{tmp_path} {number}") for number in range(2)]  # the cache is one for the process

    def asked_after_another_run() -> tuple[int, int]:
        DEEPEVAL.evaluate(
            cases,
            [JudgeMetric(judge=prompt, model=kind), GroundednessMetric(model=grounded)],
            async_config=AsyncConfig(run_async=run_async),
            **{**QUIET, "cache_config": CacheConfig(write_cache=True, use_cache=True)},
        )
        return len(kind.asked), len(grounded.asked)

    prompt.write_text(KINDNESS, encoding="utf-8")
    assert [asked_after_another_run() for _ in range(2)] == [(2, 2), (2, 2)]
    prompt.write_text(KINDNESS.replace("How kind", "How polite"), encoding="utf-8")
    assert [asked_after_another_run() for _ in range(2)] == [(4, 2), (4, 2)]


# --- deepeval test run ----------------------------------------------------------------------------

TEST_FILE = """\
from pathlib import Path

import pytest
from deepeval import assert_test
from deepeval.test_case import LLMTestCase, ToolCall

from groundjudge.adapters.deepeval import GroundednessMetric, JudgeMetric

HERE = Path(__file__).parent


def model(request):
    with (HERE / "asked").open("a") as asked:
        asked.write(request.rubric.name + "\\n")
    return (HERE / (request.rubric.name + ".reply")).read_text()


@pytest.mark.parametrize("number", range(4))
def test_answer(number):
    case = LLMTestCase(
        input=f"question {number}",
        actual_output="It opens at 9:00.",
        retrieval_context=["The library opens at 9:00 on weekdays."],
        tools_called=[ToolCall(name="hours", output=(HERE / "hours").read_text())] if number == 3 else None,
    )
    assert_test(case, [
        GroundednessMetric(model=model),
        JudgeMetric(judge=HERE / "kindness.prompty", model=model),
    ])
"""


class Folder:
    """A user's folder with a test file, a prompt file, and what the model is to reply."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("test_answers.py", TEST_FILE)
        self.write("kindness.prompty", KINDNESS)
        self.write("kindness_of_tone.reply", "<score>8</score><why>kind</why>")
        self.write("groundedness.reply", GROUNDED)
        self.write("hours", "9:00")
        self.write("asked", "")

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def asked(self) -> dict[str, int]:
        """How often each judge asked the model since this was last called."""
        asked = (self.path / "asked").read_text().split()
        self.write("asked", "")
        return {name: asked.count(name) for name in sorted(set(asked))}

    def run(self, *options: str, file: Path | str = "test_answers.py") -> subprocess.CompletedProcess[str]:
        plain = ("--color", "no", "-p", "no:cacheprovider", "--disable-socket", "--allow-unix-socket")
        quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "DEEPEVAL_NO_INSPECT_PROMPT": "1", "COLUMNS": "200"}
        return subprocess.run(  # noqa: S603  this very Python
            [sys.executable, "-m", "deepeval.cli.main", "test", "run", str(file), *options, *plain],
            cwd=self.path,
            env={**os.environ, **quiet},
            check=False,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_deepeval_test_run_in_two_processes(folder: Folder) -> None:
    done = folder.run("-n", "2")
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout
    assert folder.asked() == {"groundedness": 4, "kindness_of_tone": 4}


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_cache_of_deepeval_test_run_knows_the_prompt(folder: Folder) -> None:
    assert folder.run("-c").returncode == 0
    assert folder.asked() == {"groundedness": 4, "kindness_of_tone": 4}

    folder.write("hours", "closed")  # the output of a tool, which the fourth test case has
    folder.write("groundedness.reply", INCORRECT)
    done = folder.run("-c")
    assert done.returncode == 1
    assert "1 failed, 3 passed" in done.stdout
    assert folder.asked() == {"groundedness": 1}

    folder.write("kindness.prompty", KINDNESS.replace("How kind", "How polite"))
    folder.write("kindness_of_tone.reply", "<score>6</score><why>gruff</why>")
    done = folder.run("-c")
    assert re.search(r"Kindness Of Tone \(score: 0\.6, threshold: 0\.7, .*, reason: gruff\)", done.stdout)
    assert "4 failed" in done.stdout
    assert folder.asked() == {"groundedness": 1, "kindness_of_tone": 4}


def test_the_example_passes_as_it_stands(folder: Folder) -> None:
    done = folder.run(file=Path(__file__).parents[2] / "examples" / "assert_in_a_deepeval_test.py")
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


# --- without DeepEval -----------------------------------------------------------------------------


def test_without_deepeval_the_extra_is_named() -> None:
    program = "import sys; sys.modules['deepeval'] = None; import groundjudge.adapters.deepeval"
    done = subprocess.run(  # noqa: S603  this very Python
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
    )
    assert 'pip install "groundjudge[deepeval]"' in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
