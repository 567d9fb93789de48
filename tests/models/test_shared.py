"""Two models that share their calls: each call made by one serves the other once."""

from __future__ import annotations

import asyncio
from typing import Any

from scripted_model import ScriptedModel

from groundjudge import Case, Reply, load
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.shared import MOST_CALLS, share_calls
from groundjudge.types import Judge, Request

JUDGE: Judge = load("groundedness", model="offline")


def request(query: str = "q") -> Request:
    return JUDGE.rubric.ask(Case(query=query, context="c", response="r"))


async def test_reply_is_shared_once() -> None:
    model = ScriptedModel("a", "b", "c")
    one, other = share_calls(model)
    order = [(one, "q"), (other, "q"), (other, "q"), (one, "q"), (one, "x"), (one, "y")]
    replies = [(await each.acomplete(request(query))).text for each, query in order]
    assert replies == ["a", "a", "b", "b", "c", "c"]
    assert len(model.asked) == 4
    assert one.name == other.name == "scripted"


class Gated(ScriptedModel):
    """Answers once its gate is open."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(*replies)
        self.gate = asyncio.Event()

    async def acomplete(self, request: Request) -> Reply:
        await self.gate.wait()
        return await super().acomplete(request)


async def test_a_call_goes_on_when_one_of_those_who_wait_for_it_is_cancelled() -> None:
    model = Gated("a")
    one, other = share_calls(model)
    asking = [asyncio.create_task(each.acomplete(request())) for each in (one, other, one, other)]
    await asyncio.sleep(0)
    asking[0].cancel()
    asking[3].cancel()
    await asyncio.sleep(0)
    model.gate.set()
    cancelled, waiter, answered, cancelled_waiter = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(cancelled, asyncio.CancelledError)
    assert isinstance(cancelled_waiter, asyncio.CancelledError)
    assert waiter == answered == Reply("a")
    assert len(model.asked) == 2


async def test_a_call_in_another_loop_is_not_waited_for() -> None:
    """A synchronous call blocks this loop, and so the call that it would wait for."""
    model = Gated("a")
    one, other = share_calls(model)
    first = asyncio.create_task(one.acomplete(request()))
    await asyncio.sleep(0)
    model.gate.set()
    assert not first.done()
    assert shared_loop().run(other.acomplete, request()).text == (await first).text == "a"
    assert len(model.asked) == 2


async def test_oldest_unshared_call_is_dropped() -> None:
    model = ScriptedModel("a")
    one, other = share_calls(model)
    for number in range(MOST_CALLS + 1):
        await one.acomplete(request(str(number)))
    assert len(one.calls) == MOST_CALLS
    await other.acomplete(request("0"))
    assert len(model.asked) == MOST_CALLS + 2
