"""LangSmith's annotation queues: people label a drawn sample, and their labels come back as feedback.

    queue_sample(sample, "grounded in October", load_rubric("groundedness"), cases)
    labels = queue_labels(sample)  # once people have labelled
    rate(verdicts, labels, sample)

The ids of the cases must be those of traced runs, and their metadata must keep what LangSmith finds a run by,
`session_id` and `start_time`, as a run that was exported has them. LangSmith shows people what else is on a
run: hide the judge's feedback there, because people who see a verdict agree with it more often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
"""The sources of feedback that no person gave."""

NO_KEY = "the client has no key: set LANGSMITH_API_KEY, or pass client=langsmith.Client(api_key=...)"

RUNS_PER_REQUEST = 50
"""Ids of runs that are asked about at once: they stand in a URL."""


def queue_sample(  # noqa: PLR0913  what a queue needs
    sample: LabelSample,
    name: str,
    rubric: Rubric,
    cases: Iterable[Case],
    *,
    key: str = KEY,
    client: Client | None = None,
) -> str:
    """Make an annotation queue of the drawn rows.

    Args:
        sample: what was drawn; its ids are ids of traced runs.
        name: of the queue.
        rubric: the judge's, whose question people answer.
        cases: the judged cases; those that were not drawn are left out.
        key: of the feedback that people give.
        client: None: as the environment says.

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
    """The drawn rows as the items of a queue, by the run that each was made of.

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
        # Metadata are data: the time of a run in Python has become a text, with a blank before the hour.
        item = {"session_id": str(session_id), "start_time": str(start_time).replace(" ", "T")}
        items.append({"item_type": "RUN", "run_id": run_id, **item})
    return items


def queue_labels(sample: LabelSample, *, key: str = KEY, client: Client | None = None) -> Labels:
    """The labels that people gave to the drawn rows; the last that each of them gave counts.

    Args:
        sample: what was drawn.
        key: of the feedback. A score of 1 means grounded and of 0 not; without a score people could not tell.
        client: None: as the environment says.

    Raises:
        LabelError: `no_labels`: no row has been labelled.
        GroundjudgeError: `langsmith_refused`: the API refuses, or cannot be reached.
    """
    client = client or Client()
    with refusals(LangSmithError, "langsmith_refused", "" if client.api_key else NO_KEY):
        feedbacks = sorted(_feedback_on(sample, key, client), key=lambda feedback: feedback.created_at)
    labels: dict[tuple[str, str], float | None] = {}
    for feedback in feedbacks:
        source = feedback.feedback_source
        if source and source.type in MACHINES:  # the judge's own feedback may have this key
            continue
        person = ""
        if source:
            person = str(source.user_name or source.user_id or "")
        # By run and person: what a person gave later takes the place of what they gave before.
        labels[str(feedback.run_id), person] = None if feedback.score is None else float(feedback.score)
    rows: list[dict[str, object]] = []
    for (run_id, person), label in labels.items():
        rows.append({"id": run_id, "label": label, "annotator": person, "sample": sample.id})
    return read_labels(f"the feedback {key!r} in LangSmith", rows=rows)


def _feedback_on(sample: LabelSample, key: str, client: Client) -> Iterator[Feedback]:
    """Yield the feedback of a key on the drawn runs, by whomever it is."""
    for start in range(0, len(sample.ids), RUNS_PER_REQUEST):
        some_ids = sample.ids[start : start + RUNS_PER_REQUEST]
        run_ids = [_run_id(case_id) for case_id in some_ids]
        yield from client.list_feedback(run_ids=run_ids, feedback_key=[key])


def _run_id(case_id: str) -> UUID:
    """The id of the run that a case was made of.

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
