"""A judge is a rubric and a model: it asks, reads the reply, and gives a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from time import perf_counter
from typing import Any

from groundjudge.case.case import Case
from groundjudge.errors import GroundjudgeError, ModelError, ReplyError
from groundjudge.judging.conversation import Conversation, Reasks, Step, with_reply
from groundjudge.judging.judging import Judging
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.verdict import Failure, Verdict

OF_THE_CONVERSATION = ("attempts", "retries", "usage", "latency_s", "key", "model")
"""What a verdict has of all requests together, not of the reply that was read."""


@dataclass(frozen=True)
class Judge(Judging):
    """A judge. Immutable: what a call brought is in the verdict.

    Attributes:
        rubric: how a case is asked about, and how a reply becomes a verdict.
        model: what answers.
        max_reasks: how often the model is asked again after a reply that cannot be read.
        repeat: the index of this judge among equal judges of a panel: a cache keeps their replies apart.
    """

    rubric: Rubric
    model: Model
    max_reasks: int = 1
    repeat: int = 0

    def __repr__(self) -> str:
        prompt = f"sha:{self.rubric.prompt.id.sha256[:12]}"
        return f"Judge(name={self.name!r}, model={self.model.name!r}, prompt={prompt!r})"

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        """The rubric, as the only one."""
        return (self.rubric,)

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, as the only one."""
        return (self.model,)

    @cached_property
    def identity(self) -> str:
        """A hash of all that decides on a verdict: the rubric's identity and the model's name."""
        return identity_of(self.rubric, self.model)

    def conversation(self, case: Case | Mapping[str, Any]) -> Conversation:
        """The conversation with a model about a case, step by step, for whoever runs it.

        Raises:
            GroundjudgeError: as for `judge`.
        """
        started = perf_counter()
        spent, reasks = self.unjudged(), Reasks(self.max_reasks)
        try:
            case = Case.of(case)
            spent = self.unjudged(case.id, self.key(case))
            free = self.rubric.blank_response_verdict(case)
            if free is not None:
                return free.model_copy(update={"key": spent.key})
            request: Request = yield Step("groundjudge.ask", case, self._request)
            while True:
                reply: Reply = yield Step("groundjudge.call", request, model=self.model)
                before = spent
                spent = with_reply(spent, reply, self.model.name, perf_counter() - started)
                try:
                    read: Verdict = yield Step(
                        "groundjudge.read", reply, partial(self.rubric.read, case=case)
                    )
                except ReplyError as error:
                    if reply.cached and not request.fresh:
                        # Another rubric could read it: this one does as if the cache had no reply.
                        spent, request = before, replace(request, fresh=True)
                        continue
                    again = reasks.request(request, reply, error)
                    request = yield Step("groundjudge.ask", case, partial(_known, again))
                else:
                    if reply.keep:
                        reply.keep()
                    return read.model_copy(
                        update={name: getattr(spent, name) for name in OF_THE_CONVERSATION}
                    )
        except GroundjudgeError as error:
            attempts, retries = spent.attempts, spent.retries
            if isinstance(error, ModelError):
                attempts, retries = attempts + 1, retries + error.retries
            error.verdict = spent.model_copy(
                update={
                    "error": Failure(code=error.code, message=error.message),
                    "attempts": attempts,
                    "retries": retries,
                    "latency_s": perf_counter() - started if attempts else 0.0,
                }
            )
            raise

    def _request(self, case: Case) -> Request:
        request = self.rubric.ask(case)
        return replace(request, repeat=self.repeat) if self.repeat else request


def identity_of(rubric: Rubric, model: Model) -> str:
    """A hash of all that decides on a verdict: the rubric's identity and the model's name."""
    return sha256(f"{rubric.identity} {model.name}".encode()).hexdigest()[:16]


def _known(request: Request, _: Case) -> Request:
    return request
