"""Each adapter as a function from a judge and rows to verdicts, by way of the framework itself.

Each checks what the framework shows of a verdict against the verdict. Those of Inspect and MLflow stand in
`inspect_adapter` and `mlflow_adapter`, which take seconds to import.
"""

# LangSmith and DeepEval are only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias
from uuid import uuid4

import deepeval
from adapters_table import Exchange, outcome
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase
from langfuse import Evaluation
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from pydantic_evals import Case as EvalsCase
from pydantic_evals import Dataset
from pydantic_evals.reporting import ReportCase
from standin_langfuse import Body, StandIn

from groundjudge import Verdict, as_judge
from groundjudge.adapters.deepeval import IN_METADATA, JudgeMetric
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langfuse import evaluator as langfuse_evaluator
from groundjudge.adapters.langsmith import evaluator as langsmith_evaluator
from groundjudge.adapters.opentelemetry import emit
from groundjudge.adapters.promptfoo import get_assert
from groundjudge.adapters.pydantic_evals import JudgeEvaluator
from groundjudge.types import AnyJudge

Rows: TypeAlias = Sequence[Exchange]
Entry: TypeAlias = Callable[..., list[Verdict]]
"""From a judge, rows and options of the adapter to the rows' verdicts."""


def scores_of(judge: AnyJudge, verdict: Verdict) -> Mapping[str, tuple[Any, str]]:
    """The scores that there are, with their explanations."""
    listed = judge.scores(verdict)
    return {one.name: (one.score, one.explanation) for one in listed if one.score is not None}


# --- LangChain ------------------------------------------------------------------------------------


def by_invoke(how: str, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    made = runnable(judge, **options)

    def judged(row: Exchange) -> Verdict:
        verdict: Verdict = made.invoke(row.row) if how == "sync" else asyncio.run(made.ainvoke(row.row))
        return verdict

    return [outcome(partial(judged, row)) for row in rows]


def by_stream(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    made = runnable(judge, on_error="verdict", **options)
    return [verdict for row in rows for verdict in made.stream(row.row)]


def by_batch(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    return runnable(judge, on_error="verdict", **options).batch([row.row for row in rows])


def by_abatch(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    made = runnable(judge, **options)
    returned = asyncio.run(made.abatch([row.row for row in rows], return_exceptions=True))
    return [each if isinstance(each, Verdict) else each.verdict for each in returned]


# --- LangSmith ------------------------------------------------------------------------------------

Target: TypeAlias = Callable[[dict[str, Any]], Any]


def by_evaluate(target: Target, data: Any, **options: Any) -> list[dict[str, Any]]:
    """The rows of an experiment."""
    found: Any = evaluate(target, data=data, **options)
    return [*found]


async def arows(target: Target, data: Any, **options: Any) -> list[dict[str, Any]]:
    async def atarget(inputs: dict[str, Any]) -> Any:
        return target(inputs)

    found: Any = await aevaluate(atarget, data=data, **options)
    return [row async for row in found]


def by_aevaluate(target: Target, data: Any, **options: Any) -> list[dict[str, Any]]:
    return asyncio.run(arows(target, data, **options))


def locally(by: Any, target: Target, *data: Example, **options: Any) -> list[dict[str, Any]]:
    """The rows of an experiment whose client sends nothing, not even a request for information."""
    url = "http://127.0.0.1:9"
    client = Client(api_url=url, api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0)
    rows: list[dict[str, Any]] = by(target, data, client=client, upload_results=False, **options)
    return rows


def by_langsmith(by: Any, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    made, outputs = langsmith_evaluator(judge, **options), {row.id: row.outputs for row in rows}
    data = [
        Example(id=uuid4(), inputs=row.given, outputs={**row.reference}, metadata={**row.metadata})
        for row in rows
    ]
    shown = locally(by, lambda inputs: outputs[inputs["id"]], *data, evaluators=[made])
    found = {row["example"].inputs["id"]: row for row in shown}
    return [in_langsmith(found[row.id], judge) for row in rows]


def in_langsmith(row: dict[str, Any], judge: AnyJudge) -> Verdict:
    """The verdict that the evaluator stores in the run, after checking the feedback against it."""
    verdict: Verdict = row["run"].extra["groundjudge"][judge.name][1]
    feedback = row["evaluation_results"]["results"]
    shown = [(one.key, one.score, one.value, one.comment) for one in feedback]
    assert shown == [(one.name, one.score, one.value, one.explanation) for one in judge.scores(verdict)]
    for one in feedback:
        assert (one.extra["status"], one.extra["passed"]) == (verdict.status, verdict.passed)
        assert one.extra["warnings"] == [*verdict.warnings]
        assert [part["name"] for part in one.extra["parts"]] == [part.name for part in verdict.parts]
        assert one.extra.get("error", False) is bool(verdict.error)
        assert one.extra.get("reply") == (verdict.reply if verdict.error else None)
        prompt = verdict.prompt.model_dump() if verdict.prompt else {}
        assert one.evaluator_info == {
            **{f"prompt_{name}": value for name, value in prompt.items()},
            "model": verdict.model,
            "signature": verdict.signature,
        }
    return verdict


# --- DeepEval -------------------------------------------------------------------------------------

DEEPEVAL: Any = deepeval
"""DeepEval's public functions, whose types are incomplete."""

QUIET: Mapping[str, Any] = {
    "display_config": DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
    "cache_config": CacheConfig(write_cache=False),
}


def results(metrics: list[Any], *cases: Any, run_async: bool, **errors: bool) -> list[dict[str, Any]]:
    """The results of DeepEval's `evaluate`: for each case the metrics' data by their names."""
    evaluated = DEEPEVAL.evaluate(
        [*cases],
        metrics,
        async_config=AsyncConfig(run_async=run_async),
        error_config=ErrorConfig(**errors),
        **QUIET,
    )
    ordered = sorted(evaluated.test_results, key=lambda result: result.index or 0)
    return [{data.name: data for data in result.metrics_data or ()} for result in ordered]


def llm_test_case(row: Exchange) -> LLMTestCase:
    return LLMTestCase(
        input=row.inputs["query"],
        actual_output=row.outputs.get("response"),
        retrieval_context=row.outputs.get("context"),
        expected_output=row.reference.get("reference"),
        name=row.id,
        metadata={name: row.inputs[name] for name in IN_METADATA if name in row.inputs} | {**row.metadata},
    )


def by_measure(measure: Any, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    metric = JudgeMetric(judge=judge, **options)

    def verdict(row: Exchange) -> Verdict:
        with suppress(Exception):  # it is kept with its verdict
            measure(metric, llm_test_case(row))
        assert metric.verdict
        check_metric(metric, metric.verdict, metric)
        assert metric.verdict.signature in str(metric.verbose_logs)
        if metric.verdict.error:
            reply = metric.verdict.reply
            assert metric.reason == metric.error == metric.verdict.explanation
            assert (f"Reply:\n{reply}" in str(metric.verbose_logs)) is bool(reply)
        weakest = {} if metric.verdict.weakest is None else {"weakest": metric.verdict.weakest}
        scores = {part.name: part.score for part in metric.verdict.parts}
        assert metric.score_breakdown == ({**scores, **weakest} or None)
        return metric.verdict

    return [verdict(row) for row in rows]


def by_a_measure(metric: JudgeMetric, case: LLMTestCase) -> None:
    asyncio.run(metric.a_measure(case))


def by_deepeval_evaluate(run_async: Any, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    metric, cases = JudgeMetric(judge=judge, **options), map(llm_test_case, rows)
    shown = results([metric], *cases, run_async=run_async, ignore_errors=True)
    verdicts = list[Verdict]()
    for (data,) in map(dict.values, shown):
        verdicts.append(verdict_in_logs(data.verbose_logs))
        check_metric(metric, verdicts[-1], data)
    return verdicts


def check_metric(metric: JudgeMetric, verdict: Verdict, shown: Any) -> None:
    """Check what a metric, or the data of one, shows of a verdict."""
    headline, *_ = metric.judge.scores(verdict)
    used = verdict.usage
    tokens = (used.prompt_tokens, used.completion_tokens) if used else (None, None)
    assert (shown.score, shown.input_tokens, shown.output_tokens) == (verdict.score, *tokens)
    if verdict.error:
        assert (shown.success, headline.explanation in shown.error) == (False, True)
    else:
        assert (shown.success, shown.error, shown.reason) == (verdict.passed, None, headline.explanation)


def verdict_in_logs(logs: str) -> Verdict:
    return Verdict.model_validate(json.JSONDecoder().raw_decode(logs[logs.index("{") :])[0])


# --- Langfuse -------------------------------------------------------------------------------------


def by_langfuse(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    """The evaluator, called as an experiment calls it."""
    made = langfuse_evaluator(judge, **options)

    async def evaluations(row: Exchange) -> list[Evaluation]:
        sides: Any = {"input": row.given, "output": row.outputs, "expected_output": row.reference}
        return await made(**sides, metadata=row.metadata)

    return [in_langfuse(asyncio.run(evaluations(row)), judge) for row in rows]


def by_run_experiment(server: StandIn, **experiment: Any) -> Any:
    """An experiment over local data."""
    data: Any = [
        {"input": each["input"], "expected_output": each["expectedOutput"], "metadata": each["metadata"]}
        for each in server.items
    ]
    return server.client().run_experiment(data=data, **experiment)


def by_dataset(server: StandIn, **experiment: Any) -> Any:
    """An experiment over a dataset of the server."""
    return server.client().get_dataset(server.dataset).run_experiment(**experiment)


def by_experiment(by: Any, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    """The verdicts of an experiment, after checking what was sent against what its items have."""
    outputs = {row.id: row.outputs for row in rows}

    def task(*, item: Any, **_: object) -> Any:
        return outputs[(item if isinstance(item, dict) else {"input": item.input})["input"]["id"]]

    given = [{"input": row.given, "expected_output": row.reference, "metadata": row.metadata} for row in rows]
    with StandIn(given) as server:
        run = by(server, name="adapters", task=task, evaluators=[langfuse_evaluator(judge, **options)])
    assert not server.rejected
    assert not server.unknown
    sent: dict[str, list[Body]] = {}
    for score in server.scores:
        sent.setdefault(score["traceId"], []).append(score)
    names = ("name", "value", "dataType", "comment", "metadata")
    for item in run.item_results:
        bodies = [tuple(map({"comment": "", **body}.get, names)) for body in sent[item.trace_id]]
        shown = [(one.name, one.value, one.data_type, one.comment, one.metadata) for one in item.evaluations]
        assert bodies == shown
    verdicts = [in_langfuse(item.evaluations, judge) for item in run.item_results]
    found = {verdict.case_id: verdict for verdict in verdicts}
    assert len(verdicts) == len(rows)
    return [found[row.id] for row in rows]


def in_langfuse(evaluations: Sequence[Evaluation], judge: AnyJudge) -> Verdict:
    """The verdict in the metadata of an item's evaluations, after checking them against it."""
    (shown,) = {Verdict.model_validate(one.metadata).model_dump_json() for one in evaluations}
    verdict = Verdict.model_validate_json(shown)
    why, own = verdict.explanation, bool(judge.scale.choices and verdict.label)
    numbers = [(name, score, "NUMERIC", said) for name, (score, said) in scores_of(judge, verdict).items()]
    label = [(f"{judge.name}_label", verdict.label, "CATEGORICAL", why)] * own
    status = [(f"{judge.name}_status", verdict.status, "CATEGORICAL", why)] * (verdict.score is None)
    assert [(one.name, one.value, one.data_type, one.comment) for one in evaluations] == [
        *numbers,
        *label,
        *status,
    ]
    return verdict


# --- pydantic-evals -------------------------------------------------------------------------------


def by_pydantic_evals(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    outputs = {row.id: row.outputs for row in rows}
    cases: Any = [
        EvalsCase(name=row.id, inputs=row.given, metadata=row.metadata, expected_output=row.reference)
        for row in rows
    ]
    data = Dataset[Any, Any, Any](name="adapters", cases=cases, evaluators=[JudgeEvaluator(judge, **options)])
    report = data.evaluate_sync(lambda inputs: outputs[inputs["id"]], progress=False)
    found = {row.name: row for row in report.cases}
    return [in_report(found[row.id], judge) for row in rows]


def in_report(row: ReportCase[Any, Any, Any], judge: AnyJudge) -> Verdict:
    """The verdict in the attributes of a row, after checking everything else in the row against it."""
    verdict = Verdict.model_validate(row.attributes["groundjudge"][judge.name])
    is_scored = verdict.score is not None
    label = {f"{judge.name}_label": verdict.label} if is_scored and verdict.label else {}
    assert {key: (one.value, one.reason) for key, one in row.scores.items()} == scores_of(judge, verdict)
    assert {key: one.value for key, one in row.labels.items()} == label
    passed = {key: one.value for key, one in row.assertions.items()}
    assert passed == ({f"{judge.name}_pass": verdict.passed} if is_scored else {})
    failures = [(each.name, each.error_message) for each in row.evaluator_failures]
    message = f"GroundjudgeError: {verdict.explanation}"
    assert failures == ([(judge.name, message)] if verdict.error else [])
    by: list[Any] = [*row.scores.values(), *row.labels.values(), *row.evaluator_failures]
    assert {one.evaluator_version for one in by} <= {judge.prompt_id.sha256}
    return verdict


# --- promptfoo ------------------------------------------------------------------------------------


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def by_promptfoo(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    config = {"judge": judge, **options}
    variables = [{**row.given, **row.reference} for row in rows]
    found = [
        as_json(get_assert(row.outputs, {"vars": given, "config": config}))
        for row, given in zip(rows, variables, strict=True)
    ]
    for each in found:
        if "groundjudge" not in each["metadata"]:
            raise ValueError(each["reason"])  # of the configuration
    return [in_result(each, judge) for each in found]


def in_result(result: Mapping[str, Any], judge: AnyJudge) -> Verdict:
    """The verdict in the metadata of a result, after checking everything else in the result against it."""
    verdict = Verdict.model_validate(result["metadata"]["groundjudge"])
    usage = verdict.usage
    outcomes: dict[str, tuple[Any, Any, str]] = {
        "ok": (verdict.passed, verdict.score, verdict.explanation),
        "not_applicable": (True, 1, verdict.explanation),
        "error": (False, 0, f"Not judged: {verdict.explanation}"),
    }
    assert (result["pass"], result["score"], result["reason"]) == outcomes[verdict.status]
    assert result["namedScores"] == {name: score for name, (score, _) in scores_of(judge, verdict).items()}
    assert result["metadata"].get("graderError", False) is bool(verdict.error)
    counts = (usage.total_tokens, usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0, 0)
    tokens = dict(zip(("total", "prompt", "completion"), counts, strict=True))
    assert result["tokensUsed"] == {**tokens, "numRequests": verdict.attempts}
    return verdict


# --- OpenTelemetry --------------------------------------------------------------------------------

GEN_AI = "gen_ai.evaluation."


class Exported:
    """A logger provider that keeps what it exports."""

    def __init__(self) -> None:
        make: Callable[[], InMemoryLogRecordExporter] = InMemoryLogRecordExporter  # it is not annotated
        self._exporter = make()
        self.provider = LoggerProvider(shutdown_on_exit=False)
        self.provider.add_log_record_processor(SimpleLogRecordProcessor(self._exporter))

    def events(self) -> list[Any]:
        """The log records since the last call, each with its scope."""
        found = self._exporter.get_finished_logs()
        self._exporter.clear()
        return [*found]


def by_emit(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    made, exported = as_judge(judge, **options), Exported()

    def emitted(row: Exchange) -> Iterator[dict[str, Any]]:
        emit(made.evaluate(row.row), made, logger_provider=exported.provider)
        return (dict(event.log_record.attributes) for event in exported.events())

    return [in_events([*emitted(row)], judge) for row in rows]


def in_events(events: Sequence[Mapping[str, Any]], judge: AnyJudge) -> Verdict:
    """The verdict that the events have as JSON, after checking their other attributes against it."""
    verdict = Verdict.model_validate_json(events[0]["groundjudge.verdict"])
    assert len(events) == len(judge.score_names)
    for attributes, one in zip(events, judge.scores(verdict), strict=True):
        code = {"error.type": verdict.error.code} if verdict.error else {}
        score = {} if one.score is None else {f"{GEN_AI}score.value": one.score}
        label = {f"{GEN_AI}score.label": one.value} if isinstance(one.value, str) else {}
        assert attributes == {
            f"{GEN_AI}name": one.name,
            f"{GEN_AI}explanation": one.explanation,
            "groundjudge.status": verdict.status,
            "groundjudge.signature": verdict.signature,
            "groundjudge.verdict": events[0]["groundjudge.verdict"],
            **code,
            **score,
            **label,
        }
    return verdict


# --- all of them ----------------------------------------------------------------------------------


def by_inspect(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    from inspect_adapter import by_eval  # noqa: PLC0415

    return by_eval(judge, rows, **options)


def by_mlflow(how: str, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    from mlflow_adapter import ENTRIES  # noqa: PLC0415

    return ENTRIES[how](judge, rows, **options)


ENTRIES: dict[str, Entry] = {
    "langchain": by_batch,
    "langsmith": partial(by_langsmith, by_evaluate),
    "deepeval": partial(by_measure, JudgeMetric.measure),
    "langfuse": by_langfuse,
    "pydantic-evals": by_pydantic_evals,
    "promptfoo": by_promptfoo,
    "opentelemetry": by_emit,
    "inspect": by_inspect,
    "mlflow": partial(by_mlflow, "calls"),
}
"""One way through each adapter."""

OTHER_ENTRIES: dict[str, Entry] = {
    "langchain invoke": partial(by_invoke, "sync"),
    "langchain ainvoke": partial(by_invoke, "async"),
    "langchain stream": by_stream,
    "langchain abatch": by_abatch,
    "langsmith aevaluate": partial(by_langsmith, by_aevaluate),
    "deepeval a_measure": partial(by_measure, by_a_measure),
    "deepeval evaluate": partial(by_deepeval_evaluate, False),  # noqa: FBT003
    "deepeval evaluate async": partial(by_deepeval_evaluate, True),  # noqa: FBT003
    "langfuse run_experiment": partial(by_experiment, by_run_experiment),
    "langfuse dataset": partial(by_experiment, by_dataset),
    "mlflow rows": partial(by_mlflow, "rows"),
    "mlflow predict_fn": partial(by_mlflow, "predict_fn"),
    "mlflow traces": partial(by_mlflow, "traces"),
}
"""The others."""
