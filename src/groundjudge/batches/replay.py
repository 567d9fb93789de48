"""What must be asked about a case, given the answers that are already there.

A conversation is replayed with the answers that it got so far. Each request without an answer is a request of
the next batch: the first batch holds the first requests, a second one what must be asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from groundjudge.case.case import Case
from groundjudge.errors import GroundjudgeError, ModelError, ReplyError
from groundjudge.judging.conversation import Step, without_waiting
from groundjudge.judging.judge import Judge
from groundjudge.judging.panel import AnyJudge, Panel
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.runs.run import Previous, Row, jobs_of
from groundjudge.verdict import Verdict

Answer: TypeAlias = Reply | ModelError
"""A model's reply, or why there is none."""

Answers: TypeAlias = Callable[[str], Answer | None]
"""The answer to the request with that `custom_id`; None if there is none yet."""

UNANSWERED = "unanswered"
"""The code of the error of a request without an answer."""


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


def replay(judge: AnyJudge, case: Case, answers: Answers) -> tuple[Verdict, tuple[PendingRequest, ...]]:
    """What the answers say about a case. No model is called.

    Returns:
        The verdict by these answers alone, and what can still be asked: () if the verdict cannot change.
    """
    replaying = _Replaying(answers, [])
    verdict = without_waiting(judge.aevaluate(case, replaying.around, replaying.answer))
    # How long reading took says nothing about the model.
    return verdict.model_copy(update={"latency_s": 0.0}), tuple(replaying.pending)


def pending_requests(
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    answers: Answers = lambda _: None,
    previous: Previous | None = None,
) -> Iterator[tuple[PendingRequest, ...]]:
    """What must be asked, for each judge and row that it applies to; () where nothing must.

    Args:
        judges: the judges; panels must ask for all votes, see `with_all_votes`.
        rows: the cases.
        answers: the answers that are there. After an error that asking again cannot mend, nothing is asked.
        previous: looks up the verdicts that are there already.
    """
    for number, row in enumerate(rows, 1):
        for job in jobs_of(row, number, judges, previous):
            _, pending = (job, ()) if isinstance(job, Verdict) else replay(*job, answers)
            yield tuple(each for each in pending if not (each.why and each.why.code == "bad_request"))


def with_all_votes(judge: AnyJudge) -> AnyJudge:
    """The judge; a panel that asks for all votes at once, since a batch cannot wait for the first two."""
    return replace(judge, stop="never") if isinstance(judge, Panel) else judge


def custom_id(model: Model, request: Request) -> str:
    """The name of a request in a batch, at most 64 letters, digits and hyphens.

    It is `judge.key(case)` of the case without its id, so that equal rows share one request. Further votes
    and requests that are made again have a number at the end.
    """
    case = request.case.model_copy(update={"id": None})
    vote = f"-v{request.repeat + 1}" if request.repeat else ""
    again = f"-a{request.attempt}" if request.attempt > 1 else ""
    return f"{Judge(request.rubric, model).key(case)}{vote}{again}"


@dataclass
class _Replaying:
    """A conversation that is replayed with known answers.

    Attributes:
        answers: the answers that are there.
        pending: collects the requests that have none.
        unread: why the last reply could not be read; each vote of a panel starts without one.
    """

    answers: Answers
    pending: list[PendingRequest]
    unread: ReplyError | None = None

    @contextmanager
    def around(self, step: Step) -> Generator[Callable[[Any], object]]:
        """Note replies that cannot be read."""
        if step.is_vote:
            self.unread = None
        try:
            yield lambda _: None
        except ReplyError as error:
            self.unread = error
            raise

    async def answer(self, model: Model, request: Request) -> Reply:
        """The answer that is there; otherwise the request is one of `pending`."""
        name = custom_id(model, request)
        answer = self.answers(name)
        if isinstance(answer, Reply):
            return answer
        why = answer or self.unread
        self.pending.append(PendingRequest(name, model, request, why))
        raise why or ModelError(UNANSWERED, f"{model.name}: no batch answered the request {name}", model.name)
