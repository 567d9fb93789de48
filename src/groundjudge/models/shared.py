"""Model calls that two judges share, because they ask the same questions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TypeAlias

from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage

MAX_CALLS = 512
"""How many calls two sharing models keep; the oldest is dropped first."""

Calls: TypeAlias = "dict[str, Call]"


def share_calls(model: Model) -> tuple[SharedModel, SharedModel]:
    """Return two models that share the calls of one: each makes only the calls that the other has not made.

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
        calls: by the request, those that one of the two has made and the other has not asked for.
    """

    model: Model
    calls: Calls

    @property
    def name(self) -> str:
        """The name of the underlying model."""
        return self.model.name

    async def acomplete(self, request: Request) -> Reply:
        """Answer with the reply to the other model's call for this request, or make the call.

        A call continues if its caller is cancelled while the other waits for it.

        Raises:
            ModelError: as for the underlying model.
        """
        asked = request.messages if request.payload is None else request.payload.key
        key = repr((asked, request.parameters, request.repeat))
        if key in self.calls:
            call = self.calls.pop(key)  # a reply is shared once
            if call.maker is not self and _can_serve(call.task):
                reply = await self._wait_for(call, key)
                # Nothing is counted twice; what is unknown stays unknown.
                usage = None if reply.usage is None else Usage()
                cost = None if reply.cost is None else 0.0
                return replace(reply, usage=usage, cost=cost)
        call = Call(self, asyncio.create_task(self.model.acomplete(request)))
        self.calls[key] = call
        if len(self.calls) > MAX_CALLS:
            oldest = next(iter(self.calls))
            del self.calls[oldest]
        return await self._wait_for(call, key)

    async def _wait_for(self, call: Call, key: str) -> Reply:
        """Wait for a call, which ends early only if the last task waiting for it is cancelled."""
        call.n_waiting += 1
        try:
            return await asyncio.shield(call.task)
        except asyncio.CancelledError:
            if call.n_waiting == 1:
                # Left to a loop that never runs again, it would be pending at the end of the program.
                if self.calls.get(key) is call:
                    del self.calls[key]
                call.task.cancel()
                await asyncio.wait([call.task])
            raise
        finally:
            call.n_waiting -= 1


@dataclass(eq=False)
class Call:
    """A call that was made, and how many tasks are waiting for it."""

    maker: SharedModel
    task: asyncio.Task[Reply]
    n_waiting: int = 0


def _can_serve(call: asyncio.Task[Reply]) -> bool:
    """Whether the call has succeeded, or is running in the current event loop.

    A synchronous judge blocks its caller's loop, and with it a call that runs there.
    """
    if call.done():
        return not (call.cancelled() or call.exception())
    return call.get_loop() is asyncio.get_running_loop()
