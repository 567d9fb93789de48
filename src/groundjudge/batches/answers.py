"""Answers that batches gave, and a model that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from groundjudge.batches.asking import Answer, Answers, custom_id
from groundjudge.batches.lines import Result, read_result
from groundjudge.batches.state import State
from groundjudge.errors import CaseError
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model, identity_of
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage

Reader = Callable[[str, str], Result]
"""Reads a line of results of a model; the model's name comes first."""


def answers_in(state: State, read: Reader) -> Answers:
    """The answers that a state holds, each read when it is asked for."""

    def answer(name: str) -> Answer | None:
        found = state.answered(name)
        return read(*found).answer if found else None

    return answer


def keep_lines(state: State, lines: Iterable[str]) -> int:
    """Keep the lines of a file of results in OpenAI's form; returns how many of them are no results."""
    n_unreadable = 0
    with state.change():
        for line in filter(str.strip, lines):
            try:
                result = read_result(line)
            except CaseError:
                n_unreadable += 1
            else:
                state.answer(result.custom_id, "", line, is_reply=isinstance(result.answer, Reply))
    return n_unreadable


def read_line(model: str, line: str) -> Result:
    """Read a line in OpenAI's form, for `answers_in`."""
    return read_result(line, model)


def usage_in(state: State, read: Reader) -> Usage:
    """The tokens of all replies that a state holds: equal rows share a request and its tokens."""
    total = Usage()
    for model, line in state.answers():
        answer = read(model, line).answer
        if isinstance(answer, Reply) and answer.usage:
            total += answer.usage
    return total


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
        """The reply that is there, or the model's.

        Raises:
            ModelError: as for the model.
        """
        return self._known(request) or self._counted(await self.model.acomplete(request))

    def _known(self, request: Request) -> Reply | None:
        answer = self.answers(custom_id(self.model, request))
        return replace(answer, cached=True) if isinstance(answer, Reply) else None

    def _counted(self, reply: Reply) -> Reply:
        if reply.usage:
            self.usage += reply.usage
        return reply
