"""Two models in place of one, for two who ask the same: what the one is answered serves the other as well."""

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
from groundjudge.model import Model
from groundjudge.reply import Reply
from groundjudge.rubric import Request
from groundjudge.verdict import Usage

KEPT = 256
"""Replies that wait for the other one to ask. What was never asked for gives way to newer ones."""


def shared(model: Model) -> tuple[SharedModel, SharedModel]:
    """A model as two, of which each makes a call only where the other has not made the same one.

    A reply serves once: who asks the same again gets a new one. Its tokens are counted by who made the
    call. An error is shared by those who wait for it, and not kept.
    """
    first = SharedModel(model)
    return first, replace(first)


@dataclass(eq=False)
class Call:
    """A request on its way, or its reply."""

    key: str
    asker: SharedModel
    thread: int = field(default_factory=get_ident)
    reply: Future[Reply] = field(default_factory=Future[Reply])


@dataclass(frozen=True, eq=False)
class SharedModel:
    """One of the two. Both have the same calls; see `shared`."""

    model: Model
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=KEPT), repr=False)
    lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.model.name

    def complete(self, request: Request) -> Reply:
        """Answer with what the other one was answered, or ask the model."""
        call = self._join(request)
        if call.asker is self:
            with self._answering(call):
                call.reply.set_result(self.model.complete(request))
        elif call.thread == get_ident() and not call.reply.done():
            return self.model.complete(request)  # the other cannot go on while this very thread waits for it
        return self._counted(call, call.reply.result())

    async def acomplete(self, request: Request) -> Reply:
        """Answer without blocking the event loop."""
        call = self._join(request)
        if call.asker is self:
            with self._answering(call):
                call.reply.set_result(await self.model.acomplete(request))
        return self._counted(call, await asyncio.wrap_future(call.reply))

    def _join(self, request: Request) -> Call:
        """The other one's call for the same request, or a new one."""
        key = sha256(repr((request.messages, request.parameters)).encode()).hexdigest()
        with self.lock:
            for call in self.calls:
                if call.key == key and call.asker is not self:
                    self.calls.remove(call)
                    return call
            call = Call(key, self)
            call.reply.set_running_or_notify_cancel()  # so that who stops waiting for it does not cancel it
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
            given_up = ModelError("failed", f"the call was given up: {error!r}", self.name)
            call.reply.set_exception(error if isinstance(error, Exception) else given_up)
            raise

    def _counted(self, call: Call, reply: Reply) -> Reply:
        return reply if call.asker is self or not reply.usage else replace(reply, usage=Usage())
