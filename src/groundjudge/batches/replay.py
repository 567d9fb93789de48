"""What must be asked about a case, given the answers that are already there.

A conversation is replayed with the answers that it got so far. Each request without an answer is a request of
the next batch: the first batch holds the first requests, a second one what must be asked again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pydantic_core import from_json, to_json

from groundjudge.case.case import Case
from groundjudge.errors import GroundjudgeError, ModelError, ReplyError
from groundjudge.judging.conversation import Step, without_waiting
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
"""A model's reply, or why there is none."""

Answers: TypeAlias = Callable[[str], Answer | None]
"""The answer to the request with that `custom_id`; None if there is none yet."""

REJECTED = {"bad_request", *ROW_REMEDIES}
"""The codes of a request that need not be sent again."""


@dataclass(frozen=True)
class PendingRequest:
    """A request without an answer that can be used.

    Attributes:
        custom_id: names the request in a batch. Equal requests have the same one.
        model: whom to ask.
        request: what to ask.
        why: why it is asked again: the error of the last answer; None if nothing was answered.
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
    """Judge a case by the answers that are there. No model is called.

    Returns:
        The verdict by these answers alone, and what can still be asked: () if the verdict cannot change.
    """
    pending = list[PendingRequest]()
    unread: ReplyError | None = None  # why the last reply could not be read

    @contextmanager
    def around(step: Step) -> Generator[Callable[[Any], object]]:
        nonlocal unread
        if step.is_vote:  # each vote of a panel starts without one
            unread = None
        try:
            yield lambda _: None
        except ReplyError as error:
            unread = error
            raise

    async def find_reply(model: Model, request: Request) -> Reply:
        name = custom_id(model, request)
        answer = answers(name)
        if isinstance(answer, Reply):
            return answer
        why = answer or unread
        pending.append(PendingRequest(name, model, request, why))
        message = f"{model.name}: no batch answered the request {name}"
        error = why or model_error("unanswered", message, model.name)
        # The next judge of a cascade waits until this one cannot answer any more.
        error.is_pending = error.code not in REJECTED
        raise error

    verdict = without_waiting(judge.aevaluate(case, around, find_reply))
    # How long reading took says nothing about the model.
    return verdict.model_copy(update={"latency_s": 0.0}), tuple(pending)


class DiskDict:
    """What is known about each request, by its name. Nothing of it stays when it is closed.

    It is a temporary file: a run can have millions of requests, and memory must not grow with them.

    Raises:
        OSError: the file cannot be written to, mostly because the disk is full.
    """

    def __init__(self) -> None:
        # A database without a name is a temporary file. Verdicts are made in the thread of a run.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._execute("CREATE TABLE entries (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  what was set
        """Return the value of a name, as it comes back from JSON."""
        row = self._execute("SELECT value FROM entries WHERE name = ?", name).fetchone()
        if row is None:
            return default
        (value,) = row
        return from_json(value)

    def __setitem__(self, name: str, value: object) -> None:
        self._execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", name, to_json(value))

    def __iter__(self) -> Iterator[str]:
        for (name,) in self._execute("SELECT name FROM entries"):
            yield name

    def _execute(self, statement: str, *values: str | bytes) -> sqlite3.Cursor:
        try:
            return self._file.execute(statement, values)
        except sqlite3.OperationalError as error:
            message = f"a temporary file cannot be written: {error}"
            raise OSError(message) from error

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def pending_requests(
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    answers: Answers = lambda _: None,
    previous: Previous | None = None,
) -> Generator[tuple[list[PendingRequest], int], None, None]:
    """Yield what must be asked for each judge and row that it applies to.

    Each time these are the requests that no earlier row has, and how many the row needs in all.

    Args:
        judges: the judges; of panels all votes are asked for.
        rows: the cases.
        answers: the answers that are there. After an error that asking again cannot mend, nothing is asked.
        previous: looks up the verdicts that are there already.
    """
    with closing(DiskDict()) as yielded_names:
        for _, pending in _replay_rows(judges, rows, answers, previous):
            n_useful = 0
            new_requests: dict[str, PendingRequest] = {}
            for request in pending:
                if request.why and request.why.code in REJECTED:
                    continue  # the endpoint would reject it again
                n_useful += 1
                # Equal rows share a request, and votes of one panel can too.
                if not yielded_names.get(request.custom_id):
                    new_requests[request.custom_id] = request
            for name in new_requests:
                yielded_names[name] = True
            yield list(new_requests.values()), n_useful


def verdicts_in(  # noqa: PLR0913  independent options
    answers: Answers,
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    *,
    previous: Previous | None = None,
    is_final: bool = True,
    on_waiting: Callable[[str], object] = lambda _: None,
) -> Generator[Verdict, None, None]:
    """Yield the verdicts that the answers give, in the order of the rows. No model is called.

    A request without an answer gives the error `unanswered`, and a reply that cannot be read its own.

    Args:
        answers: the answers.
        judges: the judges; of panels all votes are asked for.
        rows: the cases.
        previous: looks up the verdicts that are there already; they are yielded too.
        is_final: whether no answer is still to come; otherwise what it can change has no verdict yet.
        on_waiting: called with the judge's name for each verdict that waits for an answer.
    """
    for verdict, pending in _replay_rows(judges, rows, answers, previous):
        if is_final or not pending:
            yield verdict
        else:
            on_waiting(verdict.judge)


def _replay_rows(
    judges: Sequence[AnyJudge], rows: Iterable[Row], answers: Answers, previous: Previous | None
) -> Iterator[tuple[Verdict, tuple[PendingRequest, ...]]]:
    """Yield the verdict of each judge and row, and what can still be asked; panels ask for all votes."""
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
    """Return the judge; a panel then asks for all votes at once: a batch cannot wait for the first two."""
    if isinstance(judge, Panel):
        return replace(judge, stop="never")
    return judge


def custom_id(model: Model, request: Request) -> str:
    """Return the name of a request in a batch, at most 64 letters, digits and hyphens.

    It is the first one's name. Further votes and requests that are made again have a number at the end.
    """
    # Anthropic takes no other characters, and no longer names.
    name = first_id(Judge(request.rubric, model), request.case)
    if request.repeat:
        name += f"-v{request.repeat + 1}"
    if request.attempt > 1:
        name += f"-a{request.attempt}"
    return name


def first_id(judge: Judge, case: Case) -> str:
    """Return the name of a judge's first request about a case: equal rows, whatever their ids, share it."""
    return judge.key(case.replace(id=None))


@dataclass
class AnsweredModel:
    """A model some of whose replies are there already; the others it is asked for.

    Attributes:
        model: the model.
        answers: the answers that are there; an error among them is asked for again.
        usage: the tokens of the replies that it was asked for.
    """

    model: Model
    answers: Answers
    usage: Usage = field(default_factory=Usage)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    async def acomplete(self, request: Request) -> Reply:
        """Return the reply that is there, marked as one that costs nothing now, or ask the model.

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
