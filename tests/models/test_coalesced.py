"""Two models that share their calls: each call made by one serves the other once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from scripted_model import ScriptedModel

from groundjudge import Case, Judge, ModelError, Reply, Request, Usage, load
from groundjudge.models.coalesced import KEPT, shared

JUDGE: Judge = load("groundedness", model="offline")


def request(query: str = "q") -> Request:
    return JUDGE.rubric.ask(Case(query=query, context="c", response="r"))


async def test_reply_is_shared_once() -> None:
    model = ScriptedModel("a", "b", "c")
    one, other = shared(model)
    assert one.complete(request()).text == "a"
    assert (await other.acomplete(request())).text == "a"
    assert other.complete(request()).text == "b"
    assert one.complete(request()).text == "b"
    assert [one.complete(request("x")).text, one.complete(request("y")).text] == ["c", "c"]
    assert len(model.asked) == 4
    assert one.name == other.name == "scripted"


def test_usage_of_a_shared_call_is_counted_once() -> None:
    one, other = shared(ScriptedModel(Reply("a", usage=Usage(prompt_tokens=7, completion_tokens=1))))
    assert one.complete(request()).usage == Usage(prompt_tokens=7, completion_tokens=1)
    assert other.complete(request()).usage == Usage()


def test_error_is_not_kept() -> None:
    one, other = shared(ScriptedModel(ModelError("server", "gone"), "a"))
    with pytest.raises(ModelError, match="gone"):
        one.complete(request())
    assert other.complete(request()).text == one.complete(request()).text == "a"


class Gated(ScriptedModel):
    """Answers once its gate is open."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(*replies)
        self.gate = Event()

    def complete(self, request: Request) -> Reply:
        assert self.gate.wait(5)
        return super().complete(request)

    async def acomplete(self, request: Request) -> Reply:
        while not self.gate.is_set():  # noqa: ASYNC110  it is set from any thread
            await asyncio.sleep(0)
        return super().complete(request)


@pytest.mark.parametrize("reply", ["a", ModelError("server", "gone")])
async def test_request_during_the_other_models_call_waits_for_its_reply_or_error(reply: Any) -> None:
    model = Gated(reply)
    one, other = shared(model)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(one.complete, request())
        while not one.calls:  # noqa: ASYNC110  until the other thread has asked
            await asyncio.sleep(0)
        waiting = asyncio.gather(other.acomplete(request()), return_exceptions=True)
        await asyncio.sleep(0)
        model.gate.set()
        [got] = await waiting
    assert got is first.exception() if isinstance(reply, Exception) else got == first.result()
    assert len(model.asked) == 1


async def test_cancelling_the_call_fails_the_waiter_but_cancelling_the_waiter_keeps_the_call() -> None:
    model = Gated("a")
    one, other = shared(model)
    asking = [asyncio.create_task(each.acomplete(request())) for each in (one, other, one, other)]
    await asyncio.sleep(0)
    asking[0].cancel()
    asking[3].cancel()
    await asyncio.sleep(0)
    model.gate.set()
    cancelled, failed, answered, cancelled_waiter = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(cancelled, asyncio.CancelledError)
    assert isinstance(failed, ModelError)
    assert answered == Reply("a")
    assert isinstance(cancelled_waiter, asyncio.CancelledError)


async def test_sync_call_does_not_wait_for_a_call_of_its_own_thread() -> None:
    model = Gated("a")
    one, other = shared(model)
    first = asyncio.create_task(one.acomplete(request()))
    await asyncio.sleep(0)
    model.gate.set()
    assert not first.done()
    assert other.complete(request()).text == (await first).text == "a"
    assert len(model.asked) == 2


def test_oldest_unshared_call_is_dropped() -> None:
    model = ScriptedModel("a")
    one, other = shared(model)
    for number in range(KEPT + 1):
        one.complete(request(str(number)))
    assert len(one.calls) == KEPT
    other.complete(request("0"))
    assert len(model.asked) == KEPT + 2
