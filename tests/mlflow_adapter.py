"""What the tests of the MLflow adapter do with MLflow. Only soak tests import it: that takes two seconds."""

# MLflow is only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mlflow
from adapters_table import Exchange
from mlflow.entities import Feedback, SpanType
from mlflow.genai import evaluate
from mlflow.genai.evaluation.entities import EvaluationResult

from groundjudge import Verdict
from groundjudge.adapters.mlflow import scorer
from groundjudge.types import AnyJudge


def use(uri: str) -> None:
    """Evaluate with the store or the server at an address, in an experiment of that name."""
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("adapters")


def row_of(row: Exchange) -> dict[str, Any]:
    """A row of a data set with the answer of the application."""
    expected = {"expectations": {"expected_response": row.reference["reference"]}} if row.reference else {}
    return {"inputs": row.given, "outputs": row.outputs, **expected}


def feedback_of(result: EvaluationResult) -> Iterator[list[Feedback]]:
    """The feedback on each trace of an evaluation, as it is stored."""
    for assessments in [] if result.result_df is None else result.result_df["assessments"]:
        yield [Feedback.from_dictionary(one) for one in assessments if "feedback" in one]


def verdict_in(feedback: Sequence[Feedback], judge: AnyJudge) -> Verdict:
    """The verdict in the metadata, after checking all feedback against it."""
    by_name = {one.name: one for one in feedback}
    verdict = Verdict.model_validate_json((by_name[judge.name].metadata or {})["groundjudge"])
    usage, metadata = verdict.usage, by_name[judge.name].metadata or {}
    tokens = {"Input": usage.prompt_tokens, "Output": usage.completion_tokens} if usage else {}
    for side, number in tokens.items():
        assert metadata[f"mlflow.assessment.judge{side}Tokens"] == str(number)
    shown = judge.scores(verdict)[: 1 if verdict.error else None]  # MLflow takes no list for a failure
    assert [*by_name] == [score.name for score in shown]
    for score in shown:
        one = by_name[score.name]
        assert (one.value, one.rationale or "") == (score.score, score.explanation)
        assert (one.error_code, one.error_message) == (
            (verdict.error.code, verdict.error.message) if verdict.error else (None, None)
        )
        assert (one.source.source_type, one.source.source_id) == ("LLM_JUDGE", verdict.model)
        assert (one.metadata or {})["signature"] == verdict.signature
    return verdict


def in_order(result: EvaluationResult, judge: AnyJudge, rows: Sequence[Exchange]) -> list[Verdict]:
    verdicts = [verdict_in(feedback, judge) for feedback in feedback_of(result)]
    found = {verdict.case_id: verdict for verdict in verdicts}
    return [found[row.id] for row in rows]


def by_calls(judge: AnyJudge, rows: Sequence[Exchange], **options: Any) -> list[Verdict]:
    """The scorer, called as an evaluation calls it, which takes longer."""
    made: Any = scorer(judge, **options)
    given = [made(inputs=row.given, outputs=row.outputs, expectations=row.reference or None) for row in rows]
    return [verdict_in(each if isinstance(each, list) else [each], judge) for each in given]


def by_rows(judge: AnyJudge, rows: Sequence[Exchange]) -> list[Verdict]:
    return in_order(evaluate(data=[*map(row_of, rows)], scorers=[scorer(judge)]), judge, rows)


def application(row: Exchange) -> Any:
    """An application that retrieves its context in a span, and answers."""

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(query: str) -> Any:  # noqa: ARG001  shown in the trace
        return [{"page_content": each, "metadata": {}} for each in row.outputs["context"]]

    if "context" in row.outputs:
        search(row.inputs["query"])
    return row.outputs.get("response")


def by_predict_fn(judge: AnyJudge, rows: Sequence[Exchange]) -> list[Verdict]:
    by_id = {row.id: row for row in rows}

    @mlflow.trace
    def predict(**inputs: Any) -> Any:
        return application(by_id[inputs["id"]])

    data = [{name: side for name, side in row_of(row).items() if name != "outputs"} for row in rows]
    return in_order(evaluate(data=data, predict_fn=predict, scorers=[scorer(judge)]), judge, rows)


def trace_of(row: Exchange) -> str:
    """The id of a trace of the application."""
    with mlflow.start_span("answer") as span:
        span.set_inputs(row.given)
        span.set_outputs(application(row))
    return span.trace_id


def by_traces(judge: AnyJudge, rows: Sequence[Exchange]) -> list[Verdict]:
    mlflow.set_experiment(f"traces for {judge.identity}")
    traced = {row.id: trace_of(row) for row in rows}
    mlflow.flush_trace_async_logging()
    for row in rows:
        for name, value in row_of(row).get("expectations", {}).items():
            mlflow.log_expectation(trace_id=traced[row.id], name=name, value=value)
    traces = mlflow.search_traces(return_type="list")
    return in_order(evaluate(data=traces, scorers=[scorer(judge)]), judge, rows)


ENTRIES = {"calls": by_calls, "rows": by_rows, "predict_fn": by_predict_fn, "traces": by_traces}
