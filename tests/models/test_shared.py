"""Two models that share their calls: each call made by one serves the other once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_model import ScriptedModel

from groundjudge import Case, Reply, load
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.shared import share_calls
from groundjudge.types import Judge, Request

JUDGE: Judge = load("groundedness", model="offline")


def request(query: str = "q") -> Request:
    return JUDGE.rubric.ask(Case(query=query, context="c", response="r"))


async def test_reply_is_shared_once() -> None:
    model = ScriptedModel("a", "b", "c")
    first, second = share_calls(model)
    order = [(first, "q"), (second, "q"), (second, "q"), (first, "q"), (first, "x"), (first, "y")]
    replies: list[str] = []
    for shared, query in order:
        reply = await shared.acomplete(request(query))
        replies.append(reply.text)
    assert replies == ["a", "a", "b", "b", "c", "c"]
    assert len(model.asked) == 4
    assert first.name == second.name == "scripted"


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
    first, second = share_calls(model)
    tasks = [asyncio.create_task(shared.acomplete(request())) for shared in (first, second, first, second)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[3].cancel()
    await asyncio.sleep(0)
    model.gate.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert isinstance(outcomes[3], asyncio.CancelledError)
    assert outcomes[1] == outcomes[2] == Reply("a")
    assert len(model.asked) == 2


async def test_a_call_in_another_loop_is_not_waited_for() -> None:
    """A synchronous call blocks this loop, and so the call that it would wait for."""
    model = Gated("a")
    first, second = share_calls(model)
    task = asyncio.create_task(first.acomplete(request()))
    await asyncio.sleep(0)
    model.gate.set()
    assert not task.done()
    assert shared_loop().run(second.acomplete, request()).text == (await task).text == "a"
    assert len(model.asked) == 2


async def test_oldest_unshared_call_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundjudge.models.shared.MAX_CALLS", 3)
    model = ScriptedModel("a")
    first, second = share_calls(model)
    for number in range(4):
        await first.acomplete(request(str(number)))
    assert len(first.calls) == 3
    await second.acomplete(request("0"))
    assert len(model.asked) == 5
