"""Calls of a model that two judges share, because they ask the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TypeAlias

from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage

MOST_CALLS = 512
"""How many calls two models that share them keep; the oldest is dropped first."""

Calls: TypeAlias = "dict[str, tuple[SharedModel, asyncio.Task[Reply]]]"


def share_calls(model: Model) -> tuple[SharedModel, SharedModel]:
    """Return two models that share the calls of one: each makes only calls that the other has not made.

    A reply is shared once: repeating a request makes a new call. Tokens and cost are those of the model that
    made the call. An error is shared with a model that is waiting for the call, but not kept.
    """
    calls: Calls = {}
    return SharedModel(model, calls), SharedModel(model, calls)


@dataclass(frozen=True, eq=False, repr=False)
class SharedModel:
    """One of two models that share calls; see `share_calls`.

    Attributes:
        model: the underlying model.
        calls: those that one of the two has made and the other one has not asked for, by the request.
    """

    model: Model
    calls: Calls

    @property
    def name(self) -> str:
        """The name of the underlying model."""
        return self.model.name

    async def acomplete(self, request: Request) -> Reply:
        """Answer with the reply to the other model's call for this request, or make the call.

        A call continues when the one who made it is cancelled: the other may wait for it.

        Raises:
            ModelError: as for the underlying model.
        """
        key = repr((request.messages, request.parameters, request.repeat))
        if key in self.calls:
            maker, call = self.calls.pop(key)
            if maker is not self and _can_serve(call):
                reply = await asyncio.shield(call)
                usage = None if reply.usage is None else Usage()
                cost = None if reply.cost is None else 0.0
                return replace(reply, usage=usage, cost=cost)
        call = asyncio.create_task(self.model.acomplete(request))
        self.calls[key] = self, call
        if len(self.calls) > MOST_CALLS:
            oldest = next(iter(self.calls))
            del self.calls[oldest]
        return await asyncio.shield(call)


def _can_serve(call: asyncio.Task[Reply]) -> bool:
    """Whether the call has succeeded, or is made in the running event loop.

    A synchronous judge blocks its caller's loop, and with it a call that runs there.
    """
    if call.done():
        return not (call.cancelled() or call.exception())
    return call.get_loop() is asyncio.get_running_loop()
