"""Each adapter as a function from a judge and rows to verdicts, by way of the framework itself.

Each checks what the framework shows of a verdict against the verdict. Those of Inspect and MLflow stand in
`inspect_adapter` and `mlflow_adapter`, which take seconds to import.
"""

# LangSmith and DeepEval are only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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

from groundjudge import Usage, Verdict, as_judge
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
    scores: dict[str, tuple[Any, str]] = {}
    for score in judge.scores(verdict):
        if score.score is not None:
            scores[score.name] = (score.score, score.explanation)
    return scores


# --- LangChain ------------------------------------------------------------------------------------


def by_invoke(how: str, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    grounded = runnable(judge, **options)

    def invoke(row: Exchange) -> Verdict:
        verdict: Verdict
        if how == "sync":
            verdict = grounded.invoke(row.row)
        else:
            verdict = asyncio.run(grounded.ainvoke(row.row))
        return verdict

    return [outcome(partial(invoke, row)) for row in rows]


def by_stream(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    grounded = runnable(judge, on_error="verdict", **options)
    verdicts: list[Verdict] = []
    for row in rows:
        verdicts.extend(grounded.stream(row.row))
    return verdicts


def by_batch(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    return runnable(judge, on_error="verdict", **options).batch([row.row for row in rows])


def by_abatch(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    grounded = runnable(judge, **options)
    results = asyncio.run(grounded.abatch([row.row for row in rows], return_exceptions=True))
    return [result if isinstance(result, Verdict) else result.verdict for result in results]


# --- LangSmith ------------------------------------------------------------------------------------

Target: TypeAlias = Callable[[dict[str, Any]], Any]


def by_evaluate(target: Target, data: Any, **options: Any) -> list[dict[str, Any]]:
    """The rows of an experiment."""
    experiment: Any = evaluate(target, data=data, **options)
    return list(experiment)


async def arows(target: Target, data: Any, **options: Any) -> list[dict[str, Any]]:
    async def atarget(inputs: dict[str, Any]) -> Any:
        return target(inputs)

    experiment: Any = await aevaluate(atarget, data=data, **options)
    return [row async for row in experiment]


def by_aevaluate(target: Target, data: Any, **options: Any) -> list[dict[str, Any]]:
    return asyncio.run(arows(target, data, **options))


def locally(by: Any, target: Target, *data: Example, **options: Any) -> list[dict[str, Any]]:
    """The rows of an experiment whose client sends nothing, not even a request for information."""
    url = "http://127.0.0.1:9"
    client = Client(api_url=url, api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0)
    rows: list[dict[str, Any]] = by(target, data, client=client, upload_runs=False, **options)
    return rows


def by_langsmith(by: Any, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    evaluator = langsmith_evaluator(judge, **options)
    outputs = {row.id: row.outputs for row in rows}
    examples: list[Example] = []
    for row in rows:
        example = Example(
            id=uuid4(),
            inputs=row.inputs_with_id,
            outputs=dict(row.reference),
            metadata=dict(row.metadata),
        )
        examples.append(example)
    verdicts: list[Verdict] = []
    # A row that ends the calls of an experiment is the last that is judged in it.
    while len(verdicts) < len(rows):
        remaining = examples[len(verdicts) :]
        results = locally(by, lambda inputs: outputs[inputs["id"]], *remaining, evaluators=[evaluator])
        result_by_id = {result["example"].inputs["id"]: result for result in results}
        for row in rows[len(verdicts) :]:
            verdict = in_langsmith(result_by_id[row.id], judge)
            if verdict.error and "not asked after this error" in verdict.error.message:
                break
            verdicts.append(verdict)
    return verdicts


def in_langsmith(row: dict[str, Any], judge: AnyJudge) -> Verdict:
    """The verdict that the evaluator stores in the run, after checking the feedback against it."""
    verdict: Verdict = row["run"].extra["groundjudge"][judge.name][1]
    results = row["evaluation_results"]["results"]
    info = {"model": verdict.model, "signature": verdict.signature}
    if verdict.prompt:
        for name, value in verdict.prompt.model_dump().items():
            info[f"prompt_{name}"] = value
    for feedback, score in zip(results, judge.scores(verdict), strict=True):
        assert (feedback.key, feedback.score, feedback.value) == (score.name, score.score, score.value)
        assert feedback.comment == score.explanation
        assert feedback.evaluator_info == info
        extra = feedback.extra
        assert (extra["status"], extra["passed"]) == (verdict.status, verdict.passed)
        assert extra["warnings"] == list(verdict.warnings)
        assert (extra.get("distribution"), extra.get("expected")) == (verdict.distribution, verdict.expected)
        assert [part["name"] for part in extra["parts"]] == [part.name for part in verdict.parts]
        assert extra.get("error", False) is bool(verdict.error)
        assert extra.get("reply") == (verdict.reply if verdict.error else None)
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
    configs = dict(QUIET)
    configs["async_config"] = AsyncConfig(run_async=run_async)
    configs["error_config"] = ErrorConfig(**errors)
    evaluation = DEEPEVAL.evaluate(list(cases), metrics, **configs)
    data_of_cases: list[dict[str, Any]] = []
    for result in sorted(evaluation.test_results, key=lambda result: result.index or 0):
        metrics_data = result.metrics_data or ()
        data_of_cases.append({data.name: data for data in metrics_data})
    return data_of_cases


def llm_test_case(row: Exchange) -> LLMTestCase:
    metadata = {name: row.inputs[name] for name in IN_METADATA if name in row.inputs}
    metadata.update(row.metadata)
    return LLMTestCase(
        input=row.inputs["query"],
        actual_output=row.outputs.get("response"),
        retrieval_context=row.outputs.get("context"),
        expected_output=row.reference.get("reference"),
        name=row.id,
        metadata=metadata,
    )


def by_measure(measure: Any, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    metric = JudgeMetric(judge=judge, **options)

    verdicts: list[Verdict] = []
    for row in rows:
        with suppress(Exception):  # the metric keeps its verdict
            measure(metric, llm_test_case(row))
        verdict = metric.verdict
        assert verdict
        check_metric(metric, verdict, metric)
        assert verdict.signature in str(metric.verbose_logs)
        if verdict.error:
            assert metric.reason == metric.error == verdict.explanation
            assert (f"Reply:\n{verdict.reply}" in str(metric.verbose_logs)) is bool(verdict.reply)
        breakdown = {part.name: part.score for part in verdict.parts}
        breakdown.update(verdict.scores)
        if verdict.weakest is not None:
            breakdown["weakest"] = verdict.weakest
        assert metric.score_breakdown == (breakdown or None)
        verdicts.append(verdict)
    return verdicts


def by_a_measure(metric: JudgeMetric, case: LLMTestCase) -> None:
    asyncio.run(metric.a_measure(case))


def by_deepeval_evaluate(run_async: Any, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    metric = JudgeMetric(judge=judge, **options)
    test_cases = [llm_test_case(row) for row in rows]
    verdicts: list[Verdict] = []
    for metrics_data in results([metric], *test_cases, run_async=run_async, ignore_errors=True):
        (data,) = metrics_data.values()
        verdict = verdict_in_logs(data.verbose_logs)
        check_metric(metric, verdict, data)
        verdicts.append(verdict)
    return verdicts


def check_metric(metric: JudgeMetric, verdict: Verdict, data: Any) -> None:
    """Check what a metric, or its data in a report, shows of a verdict."""
    headline, *_ = metric.judge.scores(verdict)
    usage = verdict.usage
    tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
    assert data.score == verdict.score
    assert (data.input_tokens, data.output_tokens) == tokens
    if verdict.error:
        assert data.success is False
        assert headline.explanation in data.error
    else:
        assert (data.success, data.error, data.reason) == (verdict.passed, None, headline.explanation)


def verdict_in_logs(logs: str) -> Verdict:
    """The verdict that is the JSON in a metric's logs, which go on after it."""
    data, _ = json.JSONDecoder().raw_decode(logs[logs.index("{") :])
    return Verdict.model_validate(data)


# --- Langfuse -------------------------------------------------------------------------------------


def by_langfuse(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    """The evaluator, called as an experiment calls it."""
    evaluator = langfuse_evaluator(judge, **options)
    verdicts: list[Verdict] = []
    for row in rows:
        evaluation = evaluator(
            input=row.inputs_with_id,
            output=row.outputs,
            expected_output=row.reference,
            metadata=row.metadata,
        )
        verdicts.append(in_langfuse(asyncio.run(evaluation), judge))
    return verdicts


def by_run_experiment(server: StandIn, **experiment: Any) -> Any:
    """An experiment over local data."""
    data: Any = []
    for dataset_item in server.items:
        local_item = {
            "input": dataset_item["input"],
            "expected_output": dataset_item["expectedOutput"],
            "metadata": dataset_item["metadata"],
        }
        data.append(local_item)
    return server.client().run_experiment(data=data, **experiment)


def by_dataset(server: StandIn, **experiment: Any) -> Any:
    """An experiment over a dataset of the server."""
    return server.client().get_dataset(server.dataset).run_experiment(**experiment)


def by_experiment(by: Any, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    """The verdicts of an experiment, after checking what was sent against what its items have."""
    outputs = {row.id: row.outputs for row in rows}

    def task(*, item: Any, **_: object) -> Any:
        # Local data are mappings, the items of a data set are objects.
        item_input = item["input"] if isinstance(item, dict) else item.input
        return outputs[item_input["id"]]

    items: list[dict[str, Any]] = []
    for row in rows:
        items.append(
            {"input": row.inputs_with_id, "expected_output": row.reference, "metadata": row.metadata}
        )
    with StandIn(items) as server:
        run = by(server, name="adapters", task=task, evaluators=[langfuse_evaluator(judge, **options)])
    assert not server.rejected
    assert not server.unknown
    bodies_by_trace: dict[str, list[Body]] = {}
    for body in server.scores:
        bodies_by_trace.setdefault(body["traceId"], []).append(body)
    for result in run.item_results:
        for body, evaluation in zip(bodies_by_trace[result.trace_id], result.evaluations, strict=True):
            assert (body["name"], body["value"]) == (evaluation.name, evaluation.value)
            assert body["dataType"] == evaluation.data_type
            assert body.get("comment", "") == evaluation.comment  # the client leaves out an empty comment
            assert body["metadata"] == evaluation.metadata
    verdicts = [in_langfuse(result.evaluations, judge) for result in run.item_results]
    verdict_by_id = {verdict.case_id: verdict for verdict in verdicts}
    assert len(verdicts) == len(rows)
    return [verdict_by_id[row.id] for row in rows]


def in_langfuse(evaluations: Sequence[Evaluation], judge: AnyJudge) -> Verdict:
    """The verdict in the metadata of an item's evaluations, after checking them against it."""
    verdict = Verdict.model_validate(evaluations[0].metadata)
    for evaluation in evaluations:
        assert Verdict.model_validate(evaluation.metadata) == verdict
    reason = verdict.explanation
    expected: list[tuple[str, Any, str, str]] = []
    for name, (score, explanation) in scores_of(judge, verdict).items():
        expected.append((name, score, "NUMERIC", explanation))
    if judge.scale.choices and verdict.label:
        expected.append((f"{judge.name}_label", verdict.label, "CATEGORICAL", reason))
    if verdict.score is None:
        expected.append((f"{judge.name}_status", verdict.status, "CATEGORICAL", reason))
    assert [
        (evaluation.name, evaluation.value, evaluation.data_type, evaluation.comment)
        for evaluation in evaluations
    ] == expected
    return verdict


# --- pydantic-evals -------------------------------------------------------------------------------


def by_pydantic_evals(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    outputs = {row.id: row.outputs for row in rows}
    cases: Any = []
    for row in rows:
        case: Any = EvalsCase(
            name=row.id,
            inputs=row.inputs_with_id,
            metadata=row.metadata,
            expected_output=row.reference,
        )
        cases.append(case)
    data = Dataset[Any, Any, Any](name="adapters", cases=cases, evaluators=[JudgeEvaluator(judge, **options)])
    report = data.evaluate_sync(lambda inputs: outputs[inputs["id"]], progress=False)
    report_by_name = {report_case.name: report_case for report_case in report.cases}
    return [in_report(report_by_name[row.id], judge) for row in rows]


def in_report(row: ReportCase[Any, Any, Any], judge: AnyJudge) -> Verdict:
    """The verdict in the attributes of a row, after checking everything else in the row against it."""
    verdict = Verdict.model_validate(row.attributes["groundjudge"][judge.name])
    expected_labels: dict[str, str] = {}
    expected_assertions: dict[str, bool | None] = {}
    if verdict.score is not None:
        expected_assertions[f"{judge.name}_pass"] = verdict.passed
        if verdict.label:
            expected_labels[f"{judge.name}_label"] = verdict.label
    scores = {name: (result.value, result.reason) for name, result in row.scores.items()}
    assert scores == scores_of(judge, verdict)
    assert {name: result.value for name, result in row.labels.items()} == expected_labels
    assert {name: result.value for name, result in row.assertions.items()} == expected_assertions
    expected_failures: list[tuple[str, str]] = []
    if verdict.error:
        expected_failures.append((judge.name, f"GroundjudgeError: {verdict.explanation}"))
    assert [(failure.name, failure.error_message) for failure in row.evaluator_failures] == expected_failures
    results: list[Any] = list(row.scores.values()) + list(row.labels.values())
    results += row.evaluator_failures
    for result in results:
        assert result.evaluator_version == judge.prompt_id.sha256
    return verdict


# --- promptfoo ------------------------------------------------------------------------------------


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def by_promptfoo(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    config = {"judge": judge, **options}
    verdicts: list[Verdict] = []
    for row in rows:
        context = {"vars": {**row.inputs_with_id, **row.reference}, "config": config}
        result = as_json(get_assert(row.outputs, context))
        if "groundjudge" not in result["metadata"]:
            raise ValueError(result["reason"])  # of the configuration
        verdicts.append(in_result(result, judge))
    return verdicts


def in_result(result: Mapping[str, Any], judge: AnyJudge) -> Verdict:
    """The verdict in the metadata of a result, after checking everything else in the result against it."""
    verdict = Verdict.model_validate(result["metadata"]["groundjudge"])
    usage = verdict.usage or Usage()
    outcomes: dict[str, tuple[Any, Any, str]] = {
        "ok": (verdict.passed, verdict.score, verdict.explanation),
        "not_applicable": (True, 1, verdict.explanation),
        "error": (False, 0, f"Not judged: {verdict.explanation}"),
    }
    assert (result["pass"], result["score"], result["reason"]) == outcomes[verdict.status]
    assert result["namedScores"] == {name: score for name, (score, _) in scores_of(judge, verdict).items()}
    assert result["metadata"].get("graderError", False) is bool(verdict.error)
    assert result["tokensUsed"] == {
        "total": usage.total_tokens,
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "numRequests": verdict.attempts,
    }
    return verdict


# --- OpenTelemetry --------------------------------------------------------------------------------

GEN_AI = "gen_ai.evaluation."


class Exported:
    """A logger provider that keeps what it exports."""

    def __init__(self) -> None:
        untyped: Callable[[], InMemoryLogRecordExporter] = InMemoryLogRecordExporter
        self._exporter = untyped()
        self.provider = LoggerProvider(shutdown_on_exit=False)
        self.provider.add_log_record_processor(SimpleLogRecordProcessor(self._exporter))

    def events(self) -> list[Any]:
        """The log records since the last call, each with its scope."""
        records = list(self._exporter.get_finished_logs())
        self._exporter.clear()
        return records


def by_emit(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    loaded = as_judge(judge, **options)
    exported = Exported()
    verdicts: list[Verdict] = []
    for row in rows:
        emit(loaded.evaluate(row.row), loaded, logger_provider=exported.provider)
        attributes = [dict(event.log_record.attributes) for event in exported.events()]
        verdicts.append(in_events(attributes, judge))
    return verdicts


def in_events(events: Sequence[Mapping[str, Any]], judge: AnyJudge) -> Verdict:
    """The verdict that the events have as JSON, after checking their other attributes against it."""
    verdict = Verdict.model_validate_json(events[0]["groundjudge.verdict"])
    assert len(events) == len(judge.score_names)
    for attributes, score in zip(events, judge.scores(verdict), strict=True):
        expected = {
            f"{GEN_AI}name": score.name,
            f"{GEN_AI}explanation": score.explanation,
            "groundjudge.status": verdict.status,
            "groundjudge.signature": verdict.signature,
            "groundjudge.verdict": events[0]["groundjudge.verdict"],
        }
        if verdict.error:
            expected["error.type"] = verdict.error.code
        if score.score is not None:
            expected[f"{GEN_AI}score.value"] = score.score
        if isinstance(score.value, str):
            expected[f"{GEN_AI}score.label"] = score.value
        elif verdict.status == "not_applicable":
            expected[f"{GEN_AI}score.label"] = "not_applicable"
        assert attributes == expected
    return verdict


# --- all of them ----------------------------------------------------------------------------------


def by_inspect(judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    from inspect_adapter import by_eval  # noqa: PLC0415

    return by_eval(judge, rows, **options)


def by_mlflow(how: str, judge: AnyJudge, rows: Rows, **options: Any) -> list[Verdict]:
    from mlflow_adapter import ENTRIES  # noqa: PLC0415

    return ENTRIES[how](judge, rows, **options)


@dataclass(frozen=True)
class Adapter:
    """What all adapters are tested with, of one adapter.

    Attributes:
        entry: one way through the adapter.
        package: the framework's package; "" if the adapter needs none.
        extra: the extra of groundjudge that installs it.
        inputs: what a path to the inputs of an application begins with; "" if there are no paths.
        outputs: what a path to its outputs begins with.
        lacks: what the framework has no place for: the names of rows of `TOPICS`, "states" of agents, a
            "function" as `fields`, some "options" of a judge, "mappings" in a context.
        is_slow: whether it takes seconds to import, so that its tests are soak tests.
        other_entries: other ways through the adapter, by what they are called.
    """

    entry: Entry
    package: str = ""
    extra: str = ""
    inputs: str = ""
    outputs: str = ""
    lacks: Collection[str] = ()
    is_slow: bool = False
    other_entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])


ADAPTERS: Mapping[str, Adapter] = {
    "langchain": Adapter(
        by_batch,
        package="langchain_core",
        extra="langchain",
        inputs="input",
        outputs="input",
        lacks=["inputs before metadata"],
        other_entries={
            "invoke": partial(by_invoke, "sync"),
            "ainvoke": partial(by_invoke, "async"),
            "stream": by_stream,
            "abatch": by_abatch,
        },
    ),
    "langsmith": Adapter(
        partial(by_langsmith, by_evaluate),
        package="langsmith",
        extra="langsmith",
        inputs="inputs",
        outputs="outputs",
        other_entries={"aevaluate": partial(by_langsmith, by_aevaluate)},
    ),
    "deepeval": Adapter(
        partial(by_measure, JudgeMetric.measure),
        package="deepeval",
        extra="deepeval",
        lacks=[
            *("inputs", "inputs before metadata", "reference outputs", "metadata among the inputs"),
            *("states", "mappings"),
        ],
        other_entries={
            "a_measure": partial(by_measure, by_a_measure),
            "evaluate": partial(by_deepeval_evaluate, False),  # noqa: FBT003
            "evaluate async": partial(by_deepeval_evaluate, True),  # noqa: FBT003
        },
    ),
    "langfuse": Adapter(
        by_langfuse,
        package="langfuse",
        extra="langfuse",
        inputs="input",
        outputs="output",
        other_entries={
            "run_experiment": partial(by_experiment, by_run_experiment),
            "dataset": partial(by_experiment, by_dataset),
        },
    ),
    "pydantic-evals": Adapter(
        by_pydantic_evals,
        package="pydantic_evals",
        extra="pydantic-evals",
        inputs="inputs",
        outputs="output",
        lacks=["options"],
    ),
    "promptfoo": Adapter(by_promptfoo, inputs="vars", outputs="output", lacks=["metadata", "function"]),
    "opentelemetry": Adapter(
        by_emit,
        package="opentelemetry",
        extra="otel",
        lacks=["inputs before metadata", "metadata among the inputs"],
    ),
    "inspect": Adapter(
        by_inspect,
        package="inspect_ai",
        extra="inspect",
        inputs="metadata",
        outputs="metadata",
        lacks=["inputs before metadata", "reference outputs", "metadata among the inputs", "states"],
        is_slow=True,
    ),
    "mlflow": Adapter(
        partial(by_mlflow, "calls"),
        package="mlflow",
        extra="mlflow",
        inputs="inputs",
        outputs="outputs",
        lacks=["metadata"],
        is_slow=True,
        other_entries={
            "rows": partial(by_mlflow, "rows"),
            "predict_fn": partial(by_mlflow, "predict_fn"),
            "traces": partial(by_mlflow, "traces"),
        },
    ),
}
"""The adapters that give the verdict on a row."""

ENTRIES: dict[str, Entry] = {name: adapter.entry for name, adapter in ADAPTERS.items()}

OTHER_ENTRIES: dict[str, Entry] = {
    f"{name} {entry_name}": entry
    for name, adapter in ADAPTERS.items()
    for entry_name, entry in adapter.other_entries.items()
}
