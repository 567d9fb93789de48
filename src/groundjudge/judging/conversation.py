"""A conversation with a model about a case: each request that is sent, and what was spent.

Whether the model is asked again is decided by the rubric's way of asking (`TextWay.converse`), which sends
its requests here. A conversation is written once, as a coroutine. Synchronous callers run the same coroutine,
with a call of the model that blocks instead of waiting. Traces wrap each step in a context manager.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, TypeAlias, TypeVar, cast

from groundjudge.errors import ModelError, ReplyError
from groundjudge.models.loop_thread import shared_loop
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model, never_waits
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Verdict

T = TypeVar("T")
Argument = TypeVar("Argument")


@dataclass(frozen=True)
class Step:
    """One step of a conversation: a model call, a vote, or something that needs no waiting.

    Attributes:
        name: "groundjudge.ask" (from the case to the request), "groundjudge.call" (from the request to the
            reply), "groundjudge.read" (from the reply to the verdict); "groundjudge.vote 1" and so on for a
            judge's vote in a panel (from the case to the verdict), inside which its own steps are done.
        argument: what the step starts from.
        model: the model that is called, for "groundjudge.call".
        is_vote: whether it is a vote.
    """

    name: str
    argument: Any
    model: Model | None = None
    is_vote: bool = False


Around: TypeAlias = Callable[[Step], AbstractContextManager[Callable[[Any], object]]]
"""From a step to a context manager, inside which it is done; what `with` gives is called with its result."""

Ask: TypeAlias = Callable[[Model, Request], Awaitable[Reply]]
"""How a model is called."""


def run_untraced(_: Step) -> AbstractContextManager[Callable[[Any], object]]:
    """Do a step without tracing it."""
    return nullcontext(lambda _: None)


async def call(model: Model, request: Request) -> Reply:
    """Call a model."""
    return await model.acomplete(request)


async def call_and_block(model: Model, request: Request) -> Reply:
    """Call a model in the event loop that serves synchronous callers, and block until it has answered."""
    if never_waits(model):
        return await model.acomplete(request)
    return shared_loop().run(model.acomplete, request)


def without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits, such as a conversation with `call_and_block`.

    This lets synchronous callers use the same code as asynchronous ones, in their own thread and context;
    only the model call happens elsewhere.
    """
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    finally:
        work.close()
    message = "a step of a synchronous judgement waited for something"
    raise RuntimeError(message)


@dataclass
class Conversation:
    """A conversation about one case.

    Attributes:
        around: wraps each step.
        ask: calls a model.
        record: a verdict that records what was spent so far; its status is "error".
        started: when it began, by `perf_counter`.
    """

    around: Around
    ask: Ask
    record: Verdict
    started: float = field(default_factory=perf_counter)

    def run_step(self, name: str, argument: Argument, function: Callable[[Argument], T]) -> T:
        """Do a step that needs no waiting, and return the function's result."""
        with self.around(Step(name, argument)) as report:
            result = function(argument)
            report(result)
        return result

    def update_record(self, **changes: object) -> None:
        """Record what was spent until now, the time included."""
        latency = perf_counter() - self.started
        self.record = self.record.model_copy(update={**changes, "latency_s": latency})


@dataclass(frozen=True)
class Dialogue:
    """The part of a conversation with one model: what a way of asking sends goes through it."""

    conversation: Conversation
    model: Model

    async def send(self, request: Request, read: Callable[[Reply], T]) -> tuple[Reply, T | ReplyError]:
        """Call the model, and read its reply: this is where caches learn what could be read.

        Models and caches never read replies. A cache returns what it has stored as `cached`; `keep` tells it
        that a reply it has not stored could be read.

        Returns:
            The reply, and what was read, mostly its verdict; or why it could not be.

        Raises:
            ModelError: the model returned no reply; the attempt counts.
        """
        conversation = self.conversation
        if request.attempt > 1:
            # A trace shows a further request as the result of a separate step.
            conversation.run_step("groundjudge.ask", request.case, lambda _: request)
        before = conversation.record
        reply = await self._call(request)
        outcome = self._read(reply, read)
        if reply.cached and isinstance(outcome, ReplyError):
            # Another rubric could read what was stored. This one proceeds as if nothing were stored or spent.
            conversation.record = before
            reply = await self._call(replace(request, fresh=True))
            outcome = self._read(reply, read)
        if reply.keep and not isinstance(outcome, ReplyError):
            # Nothing is awaited before this: equal requests that wait for the reply look for it in the file.
            reply.keep()
        return reply, outcome

    async def _call(self, request: Request) -> Reply:
        """Call the model, and add what that cost to the record."""
        conversation, model = self.conversation, self.model
        try:
            with conversation.around(Step("groundjudge.call", request, model)) as report:
                reply = await conversation.ask(model, request)
                report(reply)
        except ModelError as error:
            self._record_attempt(error.retries)
            raise
        record = conversation.record
        usage = record.usage
        if reply.usage is not None:
            usage = reply.usage if usage is None else usage + reply.usage
        self._record_attempt(reply.retries, usage=usage, model=reply.model or model.name, reply=reply.text)
        return reply

    def _read(self, reply: Reply, read: Callable[[Reply], T]) -> T | ReplyError:
        """Read a reply, as a step of the conversation; an error of reading is returned, not raised."""
        try:
            return self.conversation.run_step("groundjudge.read", reply, read)
        except ReplyError as error:
            return error

    def _record_attempt(self, retries: int, **changes: object) -> None:
        """Record one more attempt, its retries, and what else it changes in the record."""
        record = self.conversation.record
        self.update_record(attempts=record.attempts + 1, retries=record.retries + retries, **changes)

    def update_record(self, **changes: object) -> None:
        """Record what was spent until now, the time included."""
        self.conversation.update_record(**changes)
