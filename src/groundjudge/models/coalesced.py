"""One model shared by two judges that send the same requests: each call serves both."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from threading import Lock, get_ident

from groundjudge.errors import ModelError
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage

KEPT = 256
"""How many calls are kept for the other model to ask for; the oldest is dropped first."""


def shared(model: Model) -> tuple[SharedModel, SharedModel]:
    """Two models that share the calls of one: each makes only the calls that the other has not made.

    A reply is shared once: repeating a request makes a new call. Tokens and cost are those of the model that
    made the call. An error is shared with a model that is waiting for the call, but not kept.
    """
    first = SharedModel(model)
    return first, replace(first)


@dataclass(eq=False)
class Call:
    """A request in flight, or its reply.

    Attributes:
        key: identifies the request.
        caller: the model that makes the call.
        thread: the thread that makes the call.
        reply: the reply, once it has arrived.
    """

    key: str
    caller: SharedModel
    thread: int = field(default_factory=get_ident)
    reply: Future[Reply] = field(default_factory=Future[Reply])


@dataclass(frozen=True, eq=False)
class SharedModel:
    """One of two models that share `calls`; see `shared`.

    Attributes:
        model: the underlying model.
        calls: calls that only one of the two models has asked for so far.
        lock: protects `calls`.
    """

    model: Model
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=KEPT), repr=False)
    lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def name(self) -> str:
        """The name of the underlying model."""
        return self.model.name

    def complete(self, request: Request) -> Reply:
        """Answer with the reply to the other model's call for this request, or make the call.

        Raises:
            ModelError: as for the underlying model; `failed` if the other model's call was cancelled.
        """
        call = self._join(request)
        if call.caller is self:
            with self._answering(call):
                call.reply.set_result(self.model.complete(request))
        elif call.thread == get_ident() and not call.reply.done():
            return self.model.complete(request)  # waiting would block the thread that makes the call
        return self._counted(call, call.reply.result())

    async def acomplete(self, request: Request) -> Reply:
        """Answer without blocking the event loop; see `complete`."""
        call = self._join(request)
        if call.caller is self:
            with self._answering(call):
                call.reply.set_result(await self.model.acomplete(request))
        return self._counted(call, await asyncio.wrap_future(call.reply))

    def _join(self, request: Request) -> Call:
        """The other model's call for the same request, or a new call."""
        key = sha256(repr((request.messages, request.parameters, request.repeat)).encode()).hexdigest()
        with self.lock:
            for call in self.calls:
                if call.key == key and call.caller is not self:
                    self.calls.remove(call)
                    return call
            call = Call(key, self)
            call.reply.set_running_or_notify_cancel()  # a cancelled waiter must not cancel the call
            self.calls.append(call)
            return call

    @contextmanager
    def _answering(self, call: Call) -> Generator[None]:
        try:
            yield
        except BaseException as error:
            with self.lock:
                if call in self.calls:
                    self.calls.remove(call)
            cancelled = ModelError("failed", f"the call was cancelled: {error!r}", self.name)
            call.reply.set_exception(error if isinstance(error, Exception) else cancelled)
            raise

    def _counted(self, call: Call, reply: Reply) -> Reply:
        if call.caller is self:
            return reply
        return replace(reply, usage=reply.usage and Usage(), cost=None if reply.cost is None else 0.0)
