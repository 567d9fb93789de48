"""Annotation queues of LangSmith, with the real package and a local stand-in for its server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from make_verdicts import verdict
from standin_langsmith import NOW, StandIn

from groundjudge import load_rubric
from groundjudge.adapters.langsmith_queue import queue_labels, queue_sample
from groundjudge.lab.labels import LabelError
from groundjudge.lab.rate import rate
from groundjudge.lab.sample import draw

VERDICTS = [verdict(str(UUID(int=place)), 0.9 if place % 3 else 0.1) for place in range(300)]


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


def test_the_drawn_runs_are_in_the_queue_with_the_question_of_the_judge(server: StandIn) -> None:
    sample = draw(VERDICTS, 60)
    rubric = load_rubric("groundedness")
    queue = queue_sample(sample, "October", rubric, client=server.client())
    queue_request, runs_request = (
        request for request in server.requests if request.path.startswith("/annotation-queues")
    )
    assert (queue_request.body["name"], queue_request.body["description"]) == (
        "October",
        rubric.prompt.description,
    )
    (question,) = queue_request.body["rubric_items"]
    assert question["feedback_key"] == "grounded"
    assert runs_request.path == f"/annotation-queues/{queue}/runs"
    assert tuple(runs_request.body) == sample.ids


def test_what_people_say_there_becomes_labels_and_a_rate(server: StandIn) -> None:
    sample = draw(VERDICTS, 120)
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
    assert (measured_rate.rate.n, measured_rate.n_unlabelled) == (119, 0)
    assert measured_rate.people
    assert measured_rate.people.n == 1


def test_a_row_that_is_no_run_is_refused_before_anything_is_made(server: StandIn) -> None:
    sample = draw([verdict(f"c{place}", 0.9) for place in range(30)], 10)
    with pytest.raises(LabelError, match="is not the id of a run in LangSmith"):
        queue_sample(sample, "October", load_rubric("groundedness"), client=server.client())
    assert not [request for request in server.requests if request.method == "POST"]


def test_a_queue_without_labels_says_so(server: StandIn) -> None:
    with pytest.raises(LabelError, match="the feedback 'grounded' in LangSmith"):
        queue_labels(draw(VERDICTS, 20), client=server.client())
