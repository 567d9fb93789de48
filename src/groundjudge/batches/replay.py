"""Which requests a case still needs, given the answers so far.

A conversation is replayed with its answers so far. Each request without an answer goes into the next batch:
the first batch contains the first requests, the second one those that must be repeated, and those that follow
from the answers.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pydantic_core import from_json, to_json

from groundjudge.case.case import Case
from groundjudge.errors import GroundjudgeError, ModelError
from groundjudge.judging.conversation import without_waiting
from groundjudge.judging.judge import Judge
from groundjudge.judging.panel import AnyJudge, Panel
from groundjudge.models.failure import ROW_REMEDIES, model_error
from groundjudge.models.unsupported_parameters import apply_refusals, refusals_of
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.runs.run import Previous, Row, jobs_of
from groundjudge.verdict import Usage, Verdict

Answer: TypeAlias = Reply | ModelError
"""A model's reply, or the error in its place."""

Answers: TypeAlias = Callable[[str], Answer | None]
"""Look up the answer to the request with that `custom_id`; None if there is none yet."""

REJECTED = {"bad_request", *ROW_REMEDIES}
"""The codes of a request that need not be sent again."""


@dataclass(frozen=True)
class PendingRequest:
    """A request without a usable answer.

    Attributes:
        custom_id: the request's name in a batch. Equal requests share it.
        model: the model to ask.
        request: the request to send.
        why: the error in the last answer, which is why it is repeated; None if there was no answer.
    """

    custom_id: str
    model: Model
    request: Request
    why: GroundjudgeError | None = None

    @property
    def accepted(self) -> Request:
        """The request as the model accepts it."""
        return apply_refusals(self.request, refusals_of(self.model))


def replay(judge: AnyJudge, case: Case, answers: Answers) -> tuple[Verdict, tuple[PendingRequest, ...]]:
    """Judge a case by the available answers, without calling a model.

    Returns:
        The verdict from these answers alone, and the requests that can still be sent: () if the verdict is
        final.
    """
    pending = list[PendingRequest]()

    async def find_reply(model: Model, request: Request) -> Reply:
        name = custom_id(model, request)
        answer = answers(name)
        if isinstance(answer, Reply):
            return answer
        why = answer or request.problem
        pending.append(PendingRequest(name, model, request, why))
        message = f"{model.name}: no batch answered the request {name}"
        error = why or model_error("unanswered", message, model.name)
        # The next judge of a cascade waits until this one can get no further answer.
        error.is_pending = error.code not in REJECTED
        raise error

    verdict = without_waiting(judge.aevaluate(case, ask=find_reply))
    # How long reading took says nothing about the model.
    return verdict.model_copy(update={"latency_s": 0.0}), tuple(pending)


class DiskDict:
    """What is known about each request, by its name, until it is closed.

    It lives in a temporary file: a run can have millions of requests, and memory must not grow with them.
    """

    def __init__(self) -> None:
        # A database without a name is a temporary file. Verdicts are made in a run's own thread.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("CREATE TABLE entries (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  what was set
        """Return the value of a name, as it comes back from JSON."""
        row = self._file.execute("SELECT value FROM entries WHERE name = ?", (name,)).fetchone()
        if row is None:
            return default
        (value,) = row
        return from_json(value)

    def __setitem__(self, name: str, value: object) -> None:
        self._file.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (name, to_json(value)))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def pending_requests(
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    answers: Answers = lambda _: None,
    previous: Previous | None = None,
) -> Generator[tuple[list[PendingRequest], int], None, None]:
    """Yield the pending requests for each judge and each row that it applies to.

    Each item has the requests that no earlier row shares, and the total number that the row needs.

    Args:
        judges: the judges; for panels, all votes are requested.
        rows: the cases.
        answers: the available answers. After an error that a retry cannot fix, nothing more is requested.
        previous: looks up existing verdicts.
    """
    with closing(DiskDict()) as yielded_names:
        for _, pending in _replay_rows(judges, rows, answers, previous):
            n_useful = 0
            new_requests: dict[str, PendingRequest] = {}
            for request in pending:
                if request.why and request.why.code in REJECTED:
                    continue  # the endpoint would reject it again
                n_useful += 1
                # Equal rows share a request, and so can the votes of a panel.
                if not yielded_names.get(request.custom_id):
                    new_requests[request.custom_id] = request
            for name in new_requests:
                yielded_names[name] = True
            yield list(new_requests.values()), n_useful


def verdicts_in(
    answers: Answers,
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    *,
    previous: Previous | None = None,
    waiting: Counter[str] | None = None,
) -> Generator[Verdict, None, None]:
    """Yield the verdicts from the answers, in the order of the rows, without calling a model.

    A request without an answer becomes the error `unanswered`, and an unreadable reply its own error.

    Args:
        answers: the answers.
        judges: the judges; for panels, all votes are requested.
        rows: the cases.
        previous: looks up existing verdicts, which are yielded too.
        waiting: counts the verdicts that a further answer could change, by judge, and that are not yielded;
            None: no more answers will come.
    """
    for verdict, pending in _replay_rows(judges, rows, answers, previous):
        if pending and waiting is not None:
            waiting[verdict.judge] += 1
        else:
            yield verdict


def _replay_rows(
    judges: Sequence[AnyJudge], rows: Iterable[Row], answers: Answers, previous: Previous | None
) -> Iterator[tuple[Verdict, tuple[PendingRequest, ...]]]:
    """Yield the verdict of each judge and row, and the requests still pending; panels request all votes."""
    voting_judges = [with_all_votes(judge) for judge in judges]
    ids: dict[int, int] = {}
    for number, row in enumerate(rows, 1):
        for job in jobs_of(row, number, voting_judges, ids, previous):
            if isinstance(job, Verdict):
                yield job, ()
            else:
                judge, case = job
                yield replay(judge, case, answers)


def with_all_votes(judge: AnyJudge) -> AnyJudge:
    """Return the judge; for a panel, one that requests all votes at once: a batch cannot wait for two."""
    if isinstance(judge, Panel):
        return replace(judge, stop="never")
    return judge


def custom_id(model: Model, request: Request) -> str:
    """Return the name of a request in a batch, at most 64 letters, digits and hyphens.

    It is the name of the first request; further votes and repeated requests add a number at the end.
    """
    # Anthropic accepts no other characters and no longer names. Equal rows share it, whatever their ids.
    name = Judge(request.rubric, model).key(request.case.replace(id=None))
    if request.repeat:
        name += f"-v{request.repeat + 1}"
    if request.attempt > 1:
        name += f"-a{request.attempt}"
    return name


@dataclass
class AnsweredModel:
    """A model that returns replies that exist already, and is called for the others.

    Attributes:
        model: the model.
        answers: the existing answers; errors among them are requested again.
        usage: the tokens of the replies that the model was called for.
    """

    model: Model
    answers: Answers
    usage: Usage = field(default_factory=Usage)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    async def acomplete(self, request: Request) -> Reply:
        """Return the existing reply, marked as free of charge now, or ask the model.

        Raises:
            ModelError: as for the model.
        """
        answer = self.answers(custom_id(self.model, request))
        if isinstance(answer, Reply):
            return replace(answer, cached=True)
        reply = await self.model.acomplete(request)
        if reply.usage:
            self.usage += reply.usage
        return reply
