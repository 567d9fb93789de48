"""Answers in lines of results: kept by the names of their requests, and made into verdicts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace

from groundjudge.batches.disk_dict import DiskDict
from groundjudge.batches.lines import Result
from groundjudge.batches.replay import Answer, Answers, custom_id, replay
from groundjudge.errors import CaseError
from groundjudge.judging.panel import AnyJudge
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model, identity_of
from groundjudge.rubric.rubric import Request
from groundjudge.runs.run import Previous, Row, jobs_of
from groundjudge.verdict import Usage, Verdict

Reader = Callable[[str, str], Result]
"""Reads a line of results; the name of the model that gave them comes second."""


class CollectedAnswers:
    """The answers in lines of results, by `custom_id`. They are kept on disk until it is closed.

    A reply replaces an error, and nothing replaces a reply, so that lines can be added in any order.

    Attributes:
        usage: the tokens of all replies: equal rows share a request and its tokens.
        n_unreadable: how many lines are not results.
    """

    def __init__(self, read: Reader) -> None:
        self.usage, self.n_unreadable = Usage(), 0
        self._read = read
        self._lines = DiskDict()

    def add(self, lines: Iterable[str], model: str = "") -> None:
        """Add lines of results; blank lines are skipped, and those that are not results are counted."""
        for line in filter(str.strip, lines):
            try:
                name, answer = self._read(line, model)
            except CaseError:
                self.n_unreadable += 1
                continue
            *_, is_reply = self._lines.get(name, (False,))
            if not is_reply:
                self._lines[name] = (line, model, isinstance(answer, Reply))
                self.usage += (isinstance(answer, Reply) and answer.usage) or Usage()

    def __call__(self, name: str) -> Answer | None:
        """The answer to the request with that `custom_id`, read anew; None if there is none."""
        found = self._lines.get(name)
        return self._read(found[0], found[1]).answer if found else None

    def close(self) -> None:
        """Remove what is on disk."""
        self._lines.close()


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

    @property
    def identity(self) -> str:
        """The identity of the model."""
        return identity_of(self.model)

    async def acomplete(self, request: Request) -> Reply:
        """The reply that is there, marked as one that costs nothing now, or the model's.

        Raises:
            ModelError: as for the model.
        """
        answer = self.answers(custom_id(self.model, request))
        if isinstance(answer, Reply):
            return replace(answer, cached=True)
        reply = await self.model.acomplete(request)
        self.usage += reply.usage or Usage()
        return reply

    def complete(self, request: Request) -> Reply:
        """Not used: runs ask with `acomplete`."""
        raise NotImplementedError


def verdicts_in(
    answers: Answers,
    judges: Sequence[AnyJudge],
    rows: Iterable[Row],
    *,
    previous: Previous | None = None,
    is_final: bool = True,
) -> Generator[Verdict, None, None]:
    """The verdicts that the answers give, in the order of the rows. No model is called.

    A request without an answer gives the error `unanswered`, and a reply that cannot be read its own.

    Args:
        answers: the answers.
        judges: the judges; panels must ask for all votes (`with_all_votes`).
        rows: the cases.
        previous: looks up the verdicts that are there already; they are yielded too.
        is_final: whether no answer is still to come; otherwise what it can change has no verdict yet.
    """
    for number, row in enumerate(rows, 1):
        for job in jobs_of(row, number, judges, previous):
            verdict, pending = (job, ()) if isinstance(job, Verdict) else replay(*job, answers)
            if is_final or not pending:
                yield verdict
