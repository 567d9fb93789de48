"""The MLflow adapter: rows, traces, means and names. All are soak tests.

They import MLflow and `mlflow_adapter` only when they run: that takes two seconds, and a new database three.
"""

# ruff: noqa: PLC0415
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from adapters_table import CASES, exchanges, judge_of, verdict_of
from formatter import sure
from scripted_model import ScriptedModel

from groundjudge import Case, CaseError, load

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("default")]  # MLflow and its packages warn

GOOD, POOR = (
    f"<S1>backed</S1>{sure(5)}",
    f"<S1>hardly</S1>{sure(2)}",
)
INPUTS = {"question": "When does it open?", "context": ["It opens at 9."]}


@pytest.fixture(scope="module", autouse=True)
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """MLflow without telemetry, and with few threads, as a local database locks; before it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("runs"))  # where MLflow keeps what is not in its database
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("DO_NOT_TRACK", "true")
        patch.setenv("MLFLOW_GENAI_EVAL_MAX_WORKERS", "2")
        yield


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db"


@pytest.fixture
def store(database: str) -> None:
    from mlflow_adapter import use

    use(database)


def feedback_on(row: Any, **options: Any) -> Any:
    """What a scorer returns for a row."""
    from groundjudge.adapters.mlflow import scorer

    score_row: Any = scorer("groundedness", model=ScriptedModel(GOOD), **options)
    return score_row(**{"inputs": INPUTS, "outputs": "At 9."} | row)


def case_in(feedback: Any) -> str:
    return str(feedback.metadata["key"]).partition("-")[2]


def key_of(**fields: Any) -> str:
    return load("groundedness", model="offline").key(Case(**fields)).partition("-")[2]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("name", ["passage_quality", "labels"])
def test_metrics_are_means_of_the_rows_that_have_a_score(name: str) -> None:
    from mlflow.genai import evaluate
    from mlflow_adapter import row_of

    from groundjudge.adapters.mlflow import scorer

    judge = judge_of(name)
    rows = [row_of(exchange) for exchange in exchanges(name)]
    metrics = evaluate(data=rows, scorers=[scorer(judge)]).metrics
    scores = [judge.scores(verdict_of(judge, case)) for case in CASES[name]]
    for scores_of_rows in zip(*scores, strict=True):
        numbers = [score.score for score in scores_of_rows if score.score is not None]
        assert 0 < len(numbers) < len(scores_of_rows)
        assert metrics[f"{scores_of_rows[0].name}/mean"] == pytest.approx(sum(numbers) / len(numbers))


@pytest.mark.usefixtures("store")
def test_crashed_application_has_no_response_whatever_its_inputs_hold() -> None:
    from mlflow.genai import evaluate
    from mlflow_adapter import feedback_of

    from groundjudge.adapters.mlflow import scorer

    def predict(question: str, context: list[str], answer: str) -> str:
        if question == "Crash?":
            raise RuntimeError(answer + context[0])
        return answer

    inputs = {**INPUTS, "answer": "At 9."}
    rows = [{"inputs": {**inputs, "question": question}} for question in ("When?", "Crash?")]
    judge = scorer("groundedness", model=ScriptedModel(GOOD))
    evaluation = evaluate(data=rows, predict_fn=predict, scorers=[judge])
    outcomes: set[tuple[str, Any, Any]] = set()
    for (feedback,) in feedback_of(evaluation):
        outcomes.add((feedback.name, feedback.error_code, feedback.error_message))
    message = "the application failed: RuntimeError: At 9.It opens at 9."
    assert outcomes == {("groundedness", None, None), ("groundedness", "no_response", message)}


@pytest.mark.usefixtures("store")
def test_what_an_application_had_said_when_it_failed_is_no_response() -> None:
    import mlflow

    from groundjudge.adapters.mlflow import scorer

    @mlflow.trace
    def app(question: str, context: list[str]) -> None:
        span: Any = mlflow.get_current_active_span()
        span.set_outputs(f"At 9. {question} {context}")
        raise RuntimeError(question)

    with suppress(RuntimeError):
        app("When?", ["c"])
    trace = mlflow.get_trace(str(mlflow.get_last_active_trace_id()), flush=True)
    judge: Any = scorer("groundedness", model=ScriptedModel(GOOD))
    assert judge(inputs=INPUTS, outputs="At 9.", trace=trace).error_code == "no_response"


@pytest.mark.usefixtures("store")
def test_passed_asks_for_the_threshold_of_a_single_judge_and_never_decides_for_a_panel() -> None:
    from mlflow.genai import evaluate

    from groundjudge.adapters.mlflow import scorer

    def passes(reply: str, **options: Any) -> bool:
        judge = scorer("groundedness", model=ScriptedModel(reply), **options)
        return evaluate(data=[{"inputs": INPUTS, "outputs": "At 9."}], scorers=[judge]).passed

    assert (passes(GOOD), passes(POOR), passes(POOR, threshold=0.25)) == (True, False, True)
    assert not passes(GOOD, repeats=3)


@pytest.mark.usefixtures("store")
def test_context_is_what_outermost_retrievers_and_tools_returned_in_their_order() -> None:
    import mlflow

    from groundjudge.adapters.mlflow import documents

    outputs_of_search = {"documents": [{"page_content": "a", "metadata": {"title": "A"}}]}
    with mlflow.start_span("app", span_type="TOOL") as root:
        with mlflow.start_span("chain"), mlflow.start_span("search", span_type="RETRIEVER") as span:
            span.set_outputs(outputs_of_search)
            with mlflow.start_span("inside", span_type="RETRIEVER") as inner:
                inner.set_outputs(["not seen"])
        with mlflow.start_span("weather", span_type="TOOL") as span:
            span.set_outputs("sunny")
        with mlflow.start_span("search", span_type="RETRIEVER") as span:
            span.set_outputs([{"content": "b", "title": "Tool Result: x"}])
    mlflow.flush_trace_async_logging()
    trace: Any = mlflow.get_trace(root.trace_id)
    returned = documents(trace)
    assert returned
    assert [(document.content, document.title, document.kind) for document in returned] == [
        ("a", "A", "knowledge"),
        ("sunny", "Tool Result: weather", "tool"),
        ("b", "Tool Result: x", "knowledge"),
    ]
    with mlflow.start_span("app") as bare:
        pass
    mlflow.flush_trace_async_logging()
    trace = mlflow.get_trace(bare.trace_id)
    assert documents(trace) is None


@pytest.mark.usefixtures("store")
def test_a_retriever_that_raised_is_an_error_with_its_name() -> None:
    import mlflow

    from groundjudge.adapters.mlflow import documents

    with mlflow.start_span("app") as root:
        with suppress(LookupError), mlflow.start_span("search", span_type="RETRIEVER"):
            raise LookupError
        with mlflow.start_span("search", span_type="RETRIEVER") as span:
            span.set_outputs(["a"])
    mlflow.flush_trace_async_logging()
    trace: Any = mlflow.get_trace(root.trace_id)
    with pytest.raises(
        CaseError, match=r"retriever_failed: the retriever 'search' raised an error: .*LookupError"
    ):
        documents(trace)


def test_expectations_have_the_reference_and_what_a_path_leads_to() -> None:
    row = {"outputs": {"answer": "At 9."}, "expectations": {"expected_response": "9", "facts": ["f"]}}
    feedback = feedback_on(row, fields={"context": "expectations.facts"})
    fields = {"query": "When does it open?", "context": ["f"], "response": "At 9.", "reference": "9"}
    assert (feedback.value, case_in(feedback)) == (1.0, key_of(**fields))


def test_name_is_that_of_all_feedback_and_a_server_is_sent_all_of_it() -> None:
    from groundjudge.adapters.mlflow import scorer

    model = ScriptedModel("RECALL_Formula: (5 * 1.0)\nPRECISION_Formula: (3 * 1.0)")
    mine = scorer("passage_quality", model=model, name="mine")
    feedback: Any = mine(inputs=INPUTS, outputs="At 9.", expectations={"reference": "9"})
    assert [(score.name, score.value) for score in feedback] == [
        ("mine", pytest.approx(2 / 3)),
        ("mine_recall", 1.0),
        ("mine_precision", 0.5),
    ]
    assert [score.metadata.get("value") for score in feedback] == [None, "5.0", "3.0"]
    for score in feedback:
        score_of_server = type(score).from_proto(score.to_proto())
        assert score_of_server.metadata == score.metadata
