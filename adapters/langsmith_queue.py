"""LangSmith's annotation queues: people label a drawn sample, and their labels come back as feedback.

    queue_sample(sample, "grounded in October", load_rubric("groundedness"), cases)
    labels = queue_labels(sample)  # once people have labelled
    rate(verdicts, labels, sample)

The ids of the cases must be those of traced runs, and their metadata must contain what LangSmith needs to
find a run, `session_id` and `start_time`, as in an exported run. LangSmith shows people everything else on a
run: hide the judge's feedback there, because people who see a verdict agree with it more often.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from groundjudge.case.case import Case
from groundjudge.errors import refusals, requires
from groundjudge.lab.labels import LabelError, Labels, read_labels
from groundjudge.lab.sample import LabelSample
from groundjudge.rubric.rubric import Rubric

with requires("groundjudge.adapters.langsmith_queue needs LangSmith", "langsmith"):
    from langsmith import Client
    from langsmith.schemas import AnnotationQueueRubricItem, Feedback
    from langsmith.utils import LangSmithError

__all__ = ["queue_items", "queue_labels", "queue_sample"]

KEY = "grounded"
"""The key of the feedback that people give: a score of 1 or 0."""

MACHINES = frozenset({"model", "auto_eval"})
"""The sources of feedback that does not come from people."""

NO_KEY = "the client has no key: set LANGSMITH_API_KEY, or pass client=langsmith.Client(api_key=...)"

RUNS_PER_REQUEST = 50
"""How many run ids to ask about at once: they are part of a URL."""


def queue_sample(  # noqa: PLR0913  what a queue needs
    sample: LabelSample,
    name: str,
    rubric: Rubric,
    cases: Iterable[Case],
    *,
    key: str = KEY,
    client: Client | None = None,
) -> str:
    """Make an annotation queue from the drawn rows.

    Args:
        sample: what was drawn; its ids are ids of traced runs.
        name: the queue's name.
        rubric: the judge's rubric, whose question people answer.
        cases: the judged cases; those that were not drawn are left out.
        key: the key of the feedback that people give.
        client: by default the environment decides.

    Returns:
        The id of the queue.

    Raises:
        LabelError: as for `queue_items`.
        GroundjudgeError: `langsmith_refused`: the API refuses, or cannot be reached. No queue is left behind.
    """
    items = queue_items(sample, cases)
    client = client or Client()
    question = rubric.prompt.description or rubric.name
    rubric_item = AnnotationQueueRubricItem(
        feedback_key=key, description=question, score_descriptions={"1": "grounded", "0": "not grounded"}
    )
    with refusals(LangSmithError, "langsmith_refused", "" if client.api_key else NO_KEY):
        queue = client.create_annotation_queue(name=name, description=question, rubric_items=[rubric_item])
        # The client has a method for this for asynchronous callers only.
        untyped: Any = client
        path = f"/api/v1/platform/annotation-queues/{queue.id}/items"
        try:
            untyped.request_with_retries("POST", path, json={"items": items})
        except LangSmithError:
            client.delete_annotation_queue(queue.id)
            raise
    return str(queue.id)


def queue_items(sample: LabelSample, cases: Iterable[Case]) -> list[dict[str, str]]:
    """Return the drawn rows as items of a queue, by the run that each comes from.

    Raises:
        LabelError: `bad_option`: an id is not that of a run, or a case is missing, or lacks what LangSmith
            finds its run by.
    """
    metadata_by_id = {case.id: case.metadata for case in cases}
    items: list[dict[str, str]] = []
    for case_id in sample.ids:
        run_id = str(_run_id(case_id))
        metadata = metadata_by_id.get(case_id, {})
        session_id = metadata.get("session_id") or metadata.get("project_id")  # two names for one thing
        start_time = metadata.get("start_time")
        if not session_id or not start_time:
            message = (
                f"the case of run {case_id} lacks session_id or start_time, by which LangSmith finds it: "
                "copy both from the run to the rows of the file of cases"
            )
            raise LabelError("bad_option", message, case_id)
        # Metadata is plain data: a run's time in Python has become a text, with a space before the hour.
        item = {"session_id": str(session_id), "start_time": str(start_time).replace(" ", "T")}
        items.append({"item_type": "RUN", "run_id": run_id, **item})
    return items


def queue_labels(sample: LabelSample, *, key: str = KEY, client: Client | None = None) -> Labels:
    """Return the labels that people gave to the drawn rows; the last one of each person counts.

    Args:
        sample: what was drawn.
        key: the feedback's key. A score of 1 means grounded, 0 not grounded, and no score that people could
            not tell.
        client: by default the environment decides.

    Raises:
        LabelError: `no_labels`: no row has been labelled.
        GroundjudgeError: `langsmith_refused`: the API refuses, or cannot be reached.
    """
    client = client or Client()
    feedbacks: list[Feedback] = []  # no matter who gave it
    with refusals(LangSmithError, "langsmith_refused", "" if client.api_key else NO_KEY):
        for start in range(0, len(sample.ids), RUNS_PER_REQUEST):
            run_ids = [_run_id(case_id) for case_id in sample.ids[start : start + RUNS_PER_REQUEST]]
            feedbacks.extend(client.list_feedback(run_ids=run_ids, feedback_key=[key]))
    feedbacks.sort(key=lambda feedback: feedback.created_at)
    labels: dict[tuple[str, str], float | None] = {}
    for feedback in feedbacks:
        source = feedback.feedback_source
        if source and source.type in MACHINES:  # the judge's own feedback may have this key
            continue
        person = ""
        if source:
            person = str(source.user_name or source.user_id or "")
        # By run and person: a person's later label replaces their earlier one.
        labels[str(feedback.run_id), person] = None if feedback.score is None else float(feedback.score)
    rows: list[dict[str, object]] = []
    for (run_id, person), label in labels.items():
        rows.append({"id": run_id, "label": label, "annotator": person, "sample": sample.id})
    return read_labels(f"the feedback {key!r} in LangSmith", rows=rows)


def _run_id(case_id: str) -> UUID:
    """Return the id of the run that a case comes from.

    Raises:
        LabelError: `bad_option`: the case's id is not that of a run.
    """
    try:
        return UUID(case_id)
    except ValueError as error:
        message = (
            f"{case_id!r} is not the id of a LangSmith run: judge traced runs and keep their ids in the cases"
        )
        raise LabelError("bad_option", message, case_id) from error
