"""What the tests of the MLflow adapter do with MLflow. Only soak tests import it: that takes two seconds."""

# MLflow is only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import mlflow
from adapters_table import CASES, Fields, fields_of, judge_of
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


def row_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a data set with the answer of the application."""
    row: dict[str, Any] = {
        "inputs": {field: value for field, value in case.items() if field not in {"response", "reference"}},
        "outputs": {"response": case["response"]} if "response" in case else None,
    }
    return row | ({"expectations": {"expected_response": case["reference"]}} if "reference" in case else {})


def feedback_of(result: EvaluationResult) -> Iterator[list[Feedback]]:
    """The feedback on each trace of an evaluation, as it is stored."""
    for assessments in [] if result.result_df is None else result.result_df["assessments"]:
        yield [Feedback.from_dictionary(one) for one in assessments if "feedback" in one]


def verdict_in(feedback: Sequence[Feedback], judge: AnyJudge) -> Verdict:
    """The verdict in the metadata, after checking all feedback against it."""
    by_name = {one.name: one for one in feedback}
    verdict = Verdict.model_validate_json((by_name[judge.name].metadata or {})["groundjudge"])
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


def in_order(result: EvaluationResult, judge: AnyJudge, cases: Sequence[Mapping[str, Any]]) -> list[Fields]:
    verdicts = [verdict_in(feedback, judge) for feedback in feedback_of(result)]
    found = {verdict.case_id: fields_of(verdict) for verdict in verdicts}
    return [found[case["id"]] for case in cases]


def by_rows(name: str) -> list[Fields]:
    judge, cases = judge_of(name), CASES[name]
    result = evaluate(data=[row_of(case) for case in cases], scorers=[scorer(judge)])
    return in_order(result, judge, cases)


def application(case: Mapping[str, Any]) -> Any:
    """An application that retrieves its context in a span, and answers."""

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def search(query: str) -> Any:  # noqa: ARG001  shown in the trace
        return [{"page_content": each, "metadata": {}} for each in case["context"]]

    if "context" in case:
        search(case["query"])
    return case.get("response")


def asked(case: Mapping[str, Any], judge: AnyJudge) -> dict[str, Any]:
    """The inputs of the application; what it retrieves is in its trace, where some judges look for it."""
    hidden = {"response", "reference"} | {each.field for each in judge.inputs if each.field == "context"}
    return {field: value for field, value in case.items() if field not in hidden}


def by_predict_fn(name: str) -> list[Fields]:
    judge, cases = judge_of(name), CASES[name]
    by_id = {case["id"]: case for case in cases}

    @mlflow.trace
    def predict(**inputs: Any) -> Any:
        return application(by_id[inputs["id"]])

    rows = [row_of(case) | {"inputs": asked(case, judge)} for case in cases]
    for row in rows:
        del row["outputs"]
    result = evaluate(data=rows, predict_fn=predict, scorers=[scorer(judge)])
    return in_order(result, judge, cases)


def trace_of(case: Mapping[str, Any], judge: AnyJudge) -> str:
    """The id of a trace of the application."""
    with mlflow.start_span("answer") as span:
        span.set_inputs(asked(case, judge))
        span.set_outputs(application(case))
    return span.trace_id


def by_traces(name: str) -> list[Fields]:
    judge, cases = judge_of(name), CASES[name]
    mlflow.set_experiment(f"traces for {name}")

    traced = {case["id"]: trace_of(case, judge) for case in cases}
    mlflow.flush_trace_async_logging()
    for case in cases:
        if "reference" in case:
            mlflow.log_expectation(
                trace_id=traced[case["id"]], name="expected_response", value=case["reference"]
            )
    traces = mlflow.search_traces(return_type="list")
    result = evaluate(data=traces, scorers=[scorer(judge)])
    return in_order(result, judge, cases)


ENTRIES = {"rows": by_rows, "predict_fn": by_predict_fn, "traces": by_traces}
