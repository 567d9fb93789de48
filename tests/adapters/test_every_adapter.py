"""All entry points of the library give the same verdict, row by row of the table in `adapters_table`."""

# LangSmith and DeepEval are only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from adapters_table import (
    CASES,
    ENDPOINT_CODES,
    JUDGES,
    PLAY,
    TABLE,
    Fields,
    expected,
    fields_of,
    inputs_of,
    judge_of,
    judges,
    one_by_one,
    outputs_of,
    target,
    verdict_of,
)
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.evaluate import evaluate as deepeval_evaluate
from deepeval.test_case import LLMTestCase
from langsmith import Client, aevaluate
from langsmith import evaluate as langsmith_evaluate
from langsmith.schemas import Example

from groundjudge import Case, GroundjudgeError, Verdict
from groundjudge.adapters.deepeval import JudgeMetric
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langsmith import evaluator
from groundjudge.errors import WHAT_IS_WRONG
from groundjudge.types import AnyJudge

pytestmark = pytest.mark.usefixtures("current_event_loop")


def by_ajudge(name: str) -> list[Fields]:
    judge = judge_of(name)
    return one_by_one(lambda case: asyncio.run(judge.ajudge(case)), CASES[name])


def by_case_objects(name: str) -> list[Fields]:
    return one_by_one(judge_of(name).judge, [Case(**case) for case in CASES[name]])


def by_invoke(name: str) -> list[Fields]:
    return one_by_one(runnable(judge_of(name)).invoke, CASES[name])


def by_ainvoke(name: str) -> list[Fields]:
    chain = runnable(judge_of(name))
    return one_by_one(lambda case: asyncio.run(chain.ainvoke(case)), CASES[name])


def by_stream(name: str) -> list[Fields]:
    chain = runnable(judge_of(name))
    return one_by_one(lambda case: next(iter(chain.stream(case))), CASES[name])


def by_batch(name: str) -> list[Fields]:
    cases: list[Any] = CASES[name]
    verdicts: list[Any] = runnable(judge_of(name)).batch(cases, return_exceptions=True)
    return [fields_of(verdict) for verdict in verdicts]


def by_abatch(name: str) -> list[Fields]:
    cases: list[Any] = CASES[name]
    verdicts: list[Any] = asyncio.run(runnable(judge_of(name)).abatch(cases, return_exceptions=True))
    return [fields_of(verdict) for verdict in verdicts]


LANGCHAIN = {
    "invoke": by_invoke,
    "ainvoke": by_ainvoke,
    "stream": by_stream,
    "batch": by_batch,
    "abatch": by_abatch,
}
CORE = {"ajudge": by_ajudge, "Case": by_case_objects}


def test_table_covers_every_judge_status_and_error() -> None:
    rows = [one for name in JUDGES for one in expected(name)]
    assert len(rows) == len(TABLE) >= 40
    assert {one["status"] for one in rows} == {"ok", "not_applicable", "error"}
    errors = {
        one["error"] if isinstance(one["error"], str) else one["error"]["code"]
        for one in rows
        if one["error"]
    }
    assert errors == {
        *(WHAT_IS_WRONG.keys() - {"evidence_not_found"}),  # asked again, and never an error
        *ENDPOINT_CODES,
        *("missing_field", "empty_response", "no_response", "no_majority"),
    }


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("entry", [*CORE, *LANGCHAIN])
def test_core_and_langchain_give_the_same_verdicts(entry: str, name: str) -> None:
    assert (CORE | LANGCHAIN)[entry](name) == expected(name)


def example(case: Mapping[str, Any]) -> Example:
    return Example(id=uuid4(), inputs=inputs_of(case), outputs=outputs_of(case))


async def atarget(inputs: dict[str, Any]) -> dict[str, Any]:
    return target(inputs)


def from_langsmith(row: Any, judge: AnyJudge) -> Fields:
    """The verdict that the evaluator stores in the run, after checking the feedback against it."""
    verdict: Verdict = row["run"].extra["groundjudge"][judge.name][1]
    shown = [(one.key, one.score, one.value, one.comment) for one in row["evaluation_results"]["results"]]
    assert shown == [(one.name, one.score, one.value, one.explanation) for one in judge.scores(verdict)]
    return fields_of(verdict)


def offline() -> Client:
    return Client(
        api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0.0
    )


def by_langsmith(name: str) -> list[Fields]:
    data = [example(case) for case in CASES[name]]
    results = langsmith_evaluate(
        target, data=data, evaluators=[evaluator(judge_of(name))], upload_results=False, client=offline()
    )
    rows = {row["example"].id: row for row in results}
    return [from_langsmith(rows[one.id], judge_of(name)) for one in data]


def by_langsmith_async(name: str) -> list[Fields]:
    data = [example(case) for case in CASES[name]]

    async def evaluated() -> dict[Any, Any]:
        results = await aevaluate(
            atarget, data=data, evaluators=[evaluator(judge_of(name))], upload_results=False, client=offline()
        )
        return {row["example"].id: row async for row in results}

    rows = asyncio.run(evaluated())
    return [from_langsmith(rows[one.id], judge_of(name)) for one in data]


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("entry", [by_langsmith, by_langsmith_async])
def test_langsmith_gives_the_same_verdicts(entry: Callable[[str], list[Fields]], name: str) -> None:
    assert entry(name) == expected(name)


PARAMS = {"query": "input", "response": "actual_output", "reference": "expected_output"}


def llm_test_case(case: Mapping[str, Any]) -> LLMTestCase:
    fields: dict[str, Any] = {PARAMS[field]: value for field, value in case.items() if field in PARAMS}
    context = case.get("context")
    if context is not None:
        fields["retrieval_context"] = [each if isinstance(each, str) else each["content"] for each in context]
    fields.setdefault("input", "none")
    metadata = {field: case[field] for field in PLAY if field in case and field not in PARAMS}
    return LLMTestCase(**fields, name=case["id"], metadata=metadata)


REFUSED: Fields = {"error": "missing_field"}
"""A row with a missing field, which DeepEval's own check refuses before it is judged."""


def from_metric(metric: JudgeMetric) -> Fields:
    """The verdict that the metric stores, after checking the metric's attributes against it."""
    if metric.verdict is None or metric.verdict.error:
        assert metric.error
        assert metric.score is None
        return REFUSED if metric.verdict is None else fields_of(metric.verdict)
    headline, *_ = metric.judge.scores(metric.verdict)
    assert (metric.score, metric.reason) == (headline.score, headline.explanation)
    assert metric.success is metric.verdict.passed
    weakest = {} if metric.verdict.weakest is None else {"weakest": metric.verdict.weakest}
    scores = {part.name: part.score for part in metric.verdict.parts}
    assert metric.score_breakdown == ({**scores, **weakest} or None)
    assert metric.verdict.signature in str(metric.verbose_logs)
    return fields_of(metric.verdict)


def measured(name: str, measure: Callable[[JudgeMetric, LLMTestCase], None]) -> list[Fields]:
    metric = JudgeMetric(judge=judge_of(name))
    shown: list[Fields] = []
    for case in CASES[name]:
        with suppress(GroundjudgeError, MissingTestCaseParamsError):
            measure(metric, llm_test_case(case))
        shown.append(from_metric(metric))
    return shown


def by_measure(name: str) -> list[Fields]:
    return measured(name, lambda metric, case: metric.measure(case))


def by_a_measure(name: str) -> list[Fields]:
    return measured(name, lambda metric, case: asyncio.run(metric.a_measure(case)))


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("entry", [by_measure, by_a_measure])
def test_deepeval_metric_gives_the_same_verdicts(entry: Callable[[str], list[Fields]], name: str) -> None:
    for shown, verdict in zip(entry(name), expected(name), strict=True):
        may_be_refused = verdict["error"] == "missing_field"
        assert shown == verdict or (may_be_refused and shown == REFUSED)


@pytest.mark.parametrize("name", judges("groundedness", "repeats"))
@pytest.mark.parametrize("run_async", [False, True])
def test_deepeval_evaluate_gives_the_same_verdicts(
    run_async: bool,  # noqa: FBT001
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # DeepEval writes its results into the working directory
    metrics: list[Any] = [JudgeMetric(judge=judge_of(name))]
    outcome = deepeval_evaluate(
        [llm_test_case(case) for case in CASES[name]],
        metrics,
        async_config=AsyncConfig(run_async=run_async),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(ignore_errors=True),
    )
    verdicts = [verdict_of(judge_of(name), case) for case in CASES[name]]
    results: list[Any] = sorted(outcome.test_results, key=lambda result: result.index or 0)
    for verdict, result in zip(verdicts, results, strict=True):
        (shown,) = result.metrics_data
        failed = verdict.error
        assert shown.success is (not failed and bool(verdict.passed))
        assert bool(shown.error) is bool(failed)
        assert shown.score == verdict.score
        if verdict.error and verdict.error.code != "missing_field":
            assert f"{verdict.error.code}: " in shown.error
        if not failed:
            assert verdict.reason in shown.reason


@pytest.mark.soak
def test_example_shows_the_same_verdict_four_times(tmp_path: Path) -> None:
    example_file = Path(__file__).parents[2] / "examples" / "one_judge_in_three_frameworks.py"
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(example_file)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "All the same: True" in done.stdout
    assert done.stdout.count("score 0.25, incorrect") == 4
