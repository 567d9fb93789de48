"""The MLflow adapter: rows, traces, means and a real server. All are soak tests.

They import MLflow and `mlflow_adapter` only when they run: that takes two seconds, and a new database three.
"""

# ruff: noqa: PLC0415
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from adapters_table import CASES, exchanges, expected, fields_of, judge_of, verdict_of
from scripted_model import ScriptedModel

from groundjudge import Case, Verdict, load

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("default")]  # MLflow and its packages warn

GOOD, POOR = "<S1>backed</S1><S2>5</S2>", "<S1>hardly</S1><S2>2</S2>"
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


def feedback_on(row: Any, **given: Any) -> Any:
    """What a scorer returns for a row."""
    from groundjudge.adapters.mlflow import scorer

    made: Any = scorer("groundedness", model=ScriptedModel(GOOD), **given)
    return made(**{"inputs": INPUTS, "outputs": "At 9."} | row)


def case_in(feedback: Any) -> str:
    return str(feedback.metadata["key"]).partition("-")[2]


def by_hand(inputs: Any, outputs: Any, expectations: Any, trace: Any) -> dict[str, Any]:
    return {"query": inputs["question"], "context": [str(expectations), str(trace)], "response": outputs}


def key_of(**fields: Any) -> str:
    return load("groundedness", model="offline").key(Case(**fields)).partition("-")[2]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("name", ["passage_quality", "labels"])
def test_metrics_are_means_of_the_rows_that_have_a_score(name: str) -> None:
    from mlflow.genai import evaluate
    from mlflow_adapter import row_of

    from groundjudge.adapters.mlflow import scorer

    judge = judge_of(name)
    metrics = evaluate(data=[*map(row_of, exchanges(name))], scorers=[scorer(judge)]).metrics
    scores = [judge.scores(verdict_of(judge, case)) for case in CASES[name]]
    for listed in zip(*scores, strict=True):
        known = [one.score for one in listed if one.score is not None]
        assert 0 < len(known) < len(listed)
        assert metrics[f"{listed[0].name}/mean"] == pytest.approx(sum(known) / len(known))


@pytest.mark.usefixtures("store")
def test_crashed_application_has_no_response_whatever_its_inputs_hold() -> None:
    from mlflow.genai import evaluate
    from mlflow_adapter import feedback_of

    from groundjudge.adapters.mlflow import scorer

    def predict(question: str, context: list[str], answer: str) -> str:
        if question == "Crash?":
            raise RuntimeError(answer + context[0])
        return answer

    rows = [{"inputs": {**INPUTS, "answer": "At 9.", "question": each}} for each in ("When?", "Crash?")]
    judge = scorer("groundedness", model=ScriptedModel(GOOD))
    feedback = [one for (one,) in feedback_of(evaluate(data=rows, predict_fn=predict, scorers=[judge]))]
    message = "the application failed: RuntimeError: At 9.It opens at 9."
    shown = {(one.name, one.error_code, one.error_message) for one in feedback}
    assert shown == {("groundedness", None, None), ("groundedness", "no_response", message)}


@pytest.mark.usefixtures("store")
def test_passed_asks_for_the_threshold_of_a_single_judge_and_never_decides_for_a_panel() -> None:
    from mlflow.genai import evaluate

    from groundjudge.adapters.mlflow import scorer

    def passed(reply: str, **options: Any) -> bool:
        judge = scorer("groundedness", model=ScriptedModel(reply), **options)
        return evaluate(data=[{"inputs": INPUTS, "outputs": "At 9."}], scorers=[judge]).passed

    assert (passed(GOOD), passed(POOR), passed(POOR, threshold=0.25)) == (True, False, True)
    assert not passed(GOOD, repeats=3)


@pytest.mark.usefixtures("store")
def test_context_is_what_outermost_retrievers_and_tools_returned_in_their_order() -> None:
    import mlflow

    from groundjudge.adapters.mlflow import documents

    found = {"documents": [{"page_content": "a", "metadata": {"title": "A"}}]}
    with mlflow.start_span("app", span_type="TOOL") as root:
        with mlflow.start_span("chain"), mlflow.start_span("search", span_type="RETRIEVER") as span:
            span.set_outputs(found)
            with mlflow.start_span("inside", span_type="RETRIEVER") as inner:
                inner.set_outputs(["not seen"])
        with mlflow.start_span("weather", span_type="TOOL") as span:
            span.set_outputs("sunny")
        with mlflow.start_span("search", span_type="RETRIEVER") as span:
            span.set_outputs([{"content": "b", "title": "Tool Result: x"}])
    mlflow.flush_trace_async_logging()
    trace: Any = mlflow.get_trace(root.trace_id)
    returned = documents(trace)
    assert [(each.content, each.title, each.kind) for each in returned or ()] == [
        ("a", "A", "knowledge"),
        ("sunny", "Tool Result: weather", "tool"),
        ("b", "Tool Result: x", "knowledge"),
    ]
    with mlflow.start_span("app") as bare:
        pass
    mlflow.flush_trace_async_logging()
    trace = mlflow.get_trace(bare.trace_id)
    assert documents(trace) is None


@pytest.mark.parametrize(
    ("given", "row", "fields"),
    [
        (
            {},
            {"expectations": {"expected_response": "9"}, "outputs": {"answer": "At 9.", "context": ["c"]}},
            {"query": "When does it open?", "context": ["c"], "response": "At 9.", "reference": "9"},
        ),
        (
            {"fields": {"response": "outputs.choices.0.message.content", "context": "expectations.facts"}},
            {
                "outputs": {"choices": [{"message": {"role": "assistant", "content": "At 9."}}]},
                "expectations": {"facts": ["f"]},
            },
            {"query": "When does it open?", "context": ["f"], "response": "At 9."},
        ),
        (
            {"fields": by_hand},
            {},
            {"query": "When does it open?", "context": ["None", "None"], "response": "At 9."},
        ),
    ],
    ids=["expectations", "paths", "function"],
)
def test_case_is_read_from_the_row(given: Any, row: Any, fields: Any) -> None:
    feedback = feedback_on(row, **given)
    assert (feedback.value, case_in(feedback)) == (1.0, key_of(**fields))


def test_name_is_that_of_all_feedback() -> None:
    from groundjudge.adapters.mlflow import scorer

    model = ScriptedModel("RECALL_Formula: (5 * 1.0)\nPRECISION_Formula: (3 * 1.0)")
    mine = scorer("passage_quality", model=model, name="mine")
    feedback: Any = mine(inputs=INPUTS, outputs="At 9.", expectations={"reference": "9"})
    assert [(one.name, one.value) for one in feedback] == [
        ("mine", pytest.approx(2 / 3)),
        ("mine_recall", 1.0),
        ("mine_precision", 0.5),
    ]
    assert [one.metadata.get("value") for one in feedback] == [None, "5.0", "3.0"]


@pytest.mark.usefixtures("store")
def test_scorer_cannot_be_registered_but_a_function_around_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow
    from mlflow.exceptions import MlflowException
    from mlflow.genai import scorer as mlflow_scorer
    from mlflow.genai.scorers import get_scorer

    from groundjudge.adapters.mlflow import scorer

    with pytest.raises(MlflowException, match="must be a builtin or decorator scorer"):
        scorer("groundedness", model="offline").register()

    @mlflow_scorer
    def grounded(inputs, outputs, trace):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  its source is stored
        from groundjudge.adapters.mlflow import scorer

        return scorer("groundedness", model="offline")(inputs=inputs, outputs=outputs, trace=trace)

    monkeypatch.setenv("MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS", "true")
    grounded.register()
    experiment: Any = mlflow.get_experiment_by_name("adapters")
    again: Any = get_scorer(name="grounded", experiment_id=experiment.experiment_id)
    assert again.run(inputs=INPUTS, outputs="It opens at 9.").value == 1.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A real server with a local database, and nothing of it left afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "mlflow", "server", "--port", port, "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{tmp_path}/mlflow.db"]
    command += ["--artifacts-destination", str(tmp_path)]
    log = (tmp_path / "server.log").open("w")
    running = subprocess.Popen(  # noqa: S603
        command,
        stdout=log,
        stderr=log,
        cwd=tmp_path,
        start_new_session=True,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", running)
        yield f"http://127.0.0.1:{port}"
    finally:
        if running.poll() is None:
            os.killpg(running.pid, 15)
        running.wait(30)
        log.close()


def _wait_for(url: str, running: subprocess.Popen[bytes]) -> None:
    while running.poll() is None:
        try:
            with urlopen(url, timeout=5):  # noqa: S310  on loopback
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    pytest.fail("the server ended")


@pytest.mark.timeout(600)  # a server takes long to start on a busy machine
def test_server_stores_what_the_judge_said(server: str) -> None:
    import mlflow
    from mlflow_adapter import by_rows, use, verdict_in

    use(server)
    judge = judge_of("passage_quality")
    rows = exchanges("passage_quality")
    assert [fields_of(each) for each in by_rows(judge, rows)] == expected("passage_quality")
    traces: Any = mlflow.search_traces(return_type="list")
    stored = [verdict_in(trace.search_assessments(type="feedback"), judge) for trace in traces]
    found: dict[Any, Verdict] = {verdict.case_id: verdict for verdict in stored}
    assert [fields_of(found[row.id]) for row in rows] == expected("passage_quality")
