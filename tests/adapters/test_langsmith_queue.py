"""Annotation queues of LangSmith, with the real package and a local stand-in for its server."""

# The lambdas of the table have no types of their own:
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from langsmith import Client
from langsmith.schemas import Run
from make_verdicts import verdict
from standin_langsmith import NOW, StandIn

from groundjudge import Case, GroundjudgeError, load_rubric
from groundjudge.adapters.langsmith_queue import queue_labels, queue_sample
from groundjudge.lab.labels import LabelError
from groundjudge.lab.rate import rate
from groundjudge.lab.sample import LabelSample, draw

VERDICTS = [verdict(str(UUID(int=place)), 0.9 if place % 3 else 0.1) for place in range(90)]


PROJECT = str(UUID(int=1 << 100))
RUBRIC = load_rubric("groundedness")
FOUND_BY = {"session_id": PROJECT, "start_time": NOW}


def row_of(case_id: str, **changes: Any) -> dict[str, Any]:
    """A run as a file of cases has it."""
    row = {"id": case_id, **FOUND_BY, "inputs": {"query": "q"}}
    return {**row, "outputs": {"response": "r", "context": ["c"]}, **changes}


def run_in_python(case_id: str) -> Mapping[str, Any]:
    run = Run(
        id=UUID(case_id),
        session_id=UUID(PROJECT),
        start_time=datetime.fromisoformat(NOW),
        name="app",
        run_type="chain",
        trace_id=UUID(case_id),
        inputs={"query": "q"},
        outputs={"response": "r", "context": ["c"]},
    )
    return {**run.model_dump(), "id": case_id}


def cases_of(sample: LabelSample, make_row: Callable[[str], Mapping[str, Any]] = row_of) -> list[Case]:
    return [Case.of(make_row(case_id)) for case_id in sample.ids]


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn() as standin:
        yield standin


def app_feedback(
    run: str, score: float | None, person: str | None = "Ann", source: str = "app"
) -> dict[str, Any]:
    """Feedback as the API returns it."""
    return {
        "id": str(uuid4()),
        "run_id": run,
        "trace_id": run,
        "key": "grounded",
        "score": score,
        "created_at": NOW,
        "modified_at": NOW,
        "feedback_source": {"type": source, "metadata": {}, "user_name": person},
    }


@pytest.mark.parametrize(
    "make_row",
    [
        pytest.param(row_of, id="a row of a file"),
        pytest.param(run_in_python, id="a run in Python"),
        pytest.param(
            lambda case_id: row_of(case_id, session_id=None, project_id=PROJECT), id="under the newer name"
        ),
        pytest.param(
            lambda case_id: {"id": case_id, "response": "r", "metadata": {**FOUND_BY}}, id="in the metadata"
        ),
    ],
)
def test_the_drawn_runs_are_in_the_queue_with_the_question_of_the_judge(
    server: StandIn, make_row: Callable[[str], Mapping[str, Any]]
) -> None:
    sample = draw(VERDICTS, 10)
    queue = queue_sample(sample, "October", RUBRIC, cases_of(sample, make_row), client=server.client())
    queue_request, items_request = [request for request in server.requests if request.method == "POST"]
    assert queue_request.path == "/annotation-queues"
    assert (queue_request.body["name"], queue_request.body["description"]) == (
        "October",
        RUBRIC.prompt.description,
    )
    (question,) = queue_request.body["rubric_items"]
    assert question["feedback_key"] == "grounded"
    assert items_request.path == f"/api/v1/platform/annotation-queues/{queue}/items"
    expected = [{"item_type": "RUN", "run_id": run_id, **FOUND_BY} for run_id in sample.ids]
    assert items_request.body == {"items": expected}


def test_what_people_say_there_becomes_labels_and_a_rate(server: StandIn) -> None:
    sample = draw(VERDICTS, 30)
    first, second, third, *other_runs = sample.ids
    server.earlier_feedback = [
        app_feedback(first, 0.0),
        app_feedback(first, 1.0),  # Ann changed her mind
        app_feedback(second, None),
        app_feedback(third, 1.0),
        app_feedback(third, 1.0, "Bob"),
        app_feedback(third, 0.0, source="auto_eval"),
        *(app_feedback(run, 1.0) for run in other_runs),
    ]
    labels = queue_labels(sample, client=server.client())
    assert (labels.by_case[first], second in labels.by_case, labels.by_case[third]) == (1.0, False, 1.0)
    assert labels.annotators["Bob"] == {third: 1.0}
    measured_rate = rate(VERDICTS, labels, sample)
    assert (measured_rate.rate.n, measured_rate.n_unlabelled) == (29, 0)
    assert measured_rate.people
    assert measured_rate.people.n == 1


NO_RUN = [verdict(f"c{place}", 0.9) for place in range(30)]


@pytest.mark.parametrize(
    ("verdicts", "changes", "message"),
    [
        pytest.param(NO_RUN, {}, "is not the id of a LangSmith run", id="an id of another kind"),
        pytest.param(VERDICTS, {"session_id": None}, "lacks session_id or start_time", id="no project"),
        pytest.param(VERDICTS, {"start_time": None}, "copy both from the run to the rows", id="no time"),
        pytest.param(VERDICTS, {"id": "another"}, "lacks session_id or start_time", id="another case"),
    ],
)
def test_a_row_whose_run_cannot_be_found_is_refused_before_anything_is_made(
    server: StandIn, verdicts: Any, changes: dict[str, Any], message: str
) -> None:
    sample = draw(verdicts, 10)
    cases = [Case.of({**row_of(case_id), **changes}) for case_id in sample.ids]
    with pytest.raises(LabelError, match=message):
        queue_sample(sample, "October", RUBRIC, cases, client=server.client())
    assert not [request for request in server.requests if request.method == "POST"]


@pytest.mark.parametrize("status", [401, 422, pytest.param(500, marks=pytest.mark.soak)])
@pytest.mark.parametrize("end", ["/annotation-queues", "/items"])
def test_a_refusal_is_one_line_and_leaves_no_queue(server: StandIn, status: int, end: str) -> None:
    sample = draw(VERDICTS, 10)
    server.refused = {end: status}
    with pytest.raises(GroundjudgeError, match=f"langsmith_refused: .*{status}") as raised:
        queue_sample(sample, "October", RUBRIC, cases_of(sample), client=server.client())
    assert "\n" not in raised.value.message
    assert "has no key" not in raised.value.message
    methods = [request.method for request in server.requests]
    assert ("DELETE" in methods) == (end == "/items")


def test_a_missing_key_is_named_with_its_variable(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGSMITH_API_KEY", raising=False)
    sample = draw(VERDICTS, 10)
    server.refused = {"/annotation-queues": 401, "/feedback": 403}
    client = Client(api_url=server.url, auto_batch_tracing=False)
    for ask in (
        lambda: queue_sample(sample, "October", RUBRIC, cases_of(sample), client=client),
        lambda: queue_labels(sample, client=client),
    ):
        with pytest.raises(GroundjudgeError, match=r"the client has no key: set LANGSMITH_API_KEY, or pass"):
            ask()


def test_a_queue_without_labels_says_so(server: StandIn) -> None:
    with pytest.raises(LabelError, match="the feedback 'grounded' in LangSmith"):
        queue_labels(draw(VERDICTS, 20), client=server.client())
