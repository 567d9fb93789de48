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
    data: dict[str, Any] = {"inputs": row.inputs_with_id, "outputs": row.outputs}
    if row.reference:
        data["expectations"] = {"expected_response": row.reference["reference"]}
    return data


def feedback_of(result: EvaluationResult) -> Iterator[list[Feedback]]:
    """The feedback on each trace of an evaluation, as it is stored."""
    if result.result_df is None:
        return
    for assessments in result.result_df["assessments"]:
        # Expectations are assessments too.
        yield [Feedback.from_dictionary(assessment) for assessment in assessments if "feedback" in assessment]


def verdict_in(feedback: Sequence[Feedback], judge: AnyJudge) -> Verdict:
    """The verdict in the metadata, after checking all feedback against it."""
    feedback_by_name = {score_feedback.name: score_feedback for score_feedback in feedback}
    metadata = feedback_by_name[judge.name].metadata or {}
    verdict = Verdict.model_validate_json(metadata["groundjudge"])
    if verdict.usage:
        assert metadata["mlflow.assessment.judgeInputTokens"] == str(verdict.usage.prompt_tokens)
        assert metadata["mlflow.assessment.judgeOutputTokens"] == str(verdict.usage.completion_tokens)
    scores = judge.scores(verdict)
    error: tuple[str | None, str | None] = (None, None)
    if verdict.error:
        scores = scores[:1]  # MLflow takes no list for a failure
        error = (verdict.error.code, verdict.error.message)
    assert list(feedback_by_name) == [score.name for score in scores]
    for score in scores:
        score_feedback = feedback_by_name[score.name]
        assert (score_feedback.value, score_feedback.rationale or "") == (score.score, score.explanation)
        assert (score_feedback.error_code, score_feedback.error_message) == error
        source = score_feedback.source
        assert (source.source_type, source.source_id) == ("LLM_JUDGE", verdict.model)
        assert (score_feedback.metadata or {})["signature"] == verdict.signature
    return verdict


def in_order(result: EvaluationResult, judge: AnyJudge, rows: Sequence[Exchange]) -> list[Verdict]:
    verdicts = [verdict_in(feedback, judge) for feedback in feedback_of(result)]
    verdict_by_id = {verdict.case_id: verdict for verdict in verdicts}
    return [verdict_by_id[row.id] for row in rows]


def by_calls(judge: AnyJudge, rows: Sequence[Exchange], **options: Any) -> list[Verdict]:
    """The scorer, called as an evaluation calls it, which takes longer."""
    score: Any = scorer(judge, **options)
    verdicts: list[Verdict] = []
    for row in rows:
        feedback = score(inputs=row.inputs_with_id, outputs=row.outputs, expectations=row.reference or None)
        verdicts.append(verdict_in(feedback if isinstance(feedback, list) else [feedback], judge))
    return verdicts


def by_rows(judge: AnyJudge, rows: Sequence[Exchange]) -> list[Verdict]:
    data = [row_of(row) for row in rows]
    return in_order(evaluate(data=data, scorers=[scorer(judge)]), judge, rows)


def application(row: Exchange) -> Any:
    """An application that retrieves its context in a span, and answers."""

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(query: str) -> Any:  # noqa: ARG001  shown in the trace
        return [{"page_content": content, "metadata": {}} for content in row.outputs["context"]]

    if "context" in row.outputs:
        search(row.inputs["query"])
    return row.outputs.get("response")


def by_predict_fn(judge: AnyJudge, rows: Sequence[Exchange]) -> list[Verdict]:
    row_by_id = {row.id: row for row in rows}

    @mlflow.trace
    def predict(**inputs: Any) -> Any:
        return application(row_by_id[inputs["id"]])

    data = [row_of(row) for row in rows]
    for row_data in data:
        del row_data["outputs"]  # those of `predict` are judged
    return in_order(evaluate(data=data, predict_fn=predict, scorers=[scorer(judge)]), judge, rows)


def trace_of(row: Exchange) -> str:
    """The id of a trace of the application."""
    with mlflow.start_span("answer") as span:
        span.set_inputs(row.inputs_with_id)
        span.set_outputs(application(row))
    return span.trace_id


def by_traces(judge: AnyJudge, rows: Sequence[Exchange]) -> list[Verdict]:
    mlflow.set_experiment(f"traces for {judge.identity}")
    trace_ids = {row.id: trace_of(row) for row in rows}
    mlflow.flush_trace_async_logging()
    for row in rows:
        for name, value in row_of(row).get("expectations", {}).items():
            mlflow.log_expectation(trace_id=trace_ids[row.id], name=name, value=value)
    traces = mlflow.search_traces(return_type="list")
    return in_order(evaluate(data=traces, scorers=[scorer(judge)]), judge, rows)


ENTRIES = {"calls": by_calls, "rows": by_rows, "predict_fn": by_predict_fn, "traces": by_traces}
