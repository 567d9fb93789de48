"""Benchmark of guards: CPU time of a guarded agent of LangChain against the bare agent, and late deadlines.

    PYTHONPATH=tests python tests/bench/guard_bench.py

Models are functions that answer at once. Bare and guarded agents take turns; each figure is the median of the
rounds, and a ratio the median of the rounds' ratios. The last table says how much later than its deadline a
guard gives up a judge that never answers.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Mapping
from itertools import repeat
from statistics import median
from typing import Any

from formatter import sure
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from groundjudge import Guard, load
from groundjudge.adapters.langchain_agents import GroundingMiddleware

ROUNDS = 7
ANSWERS = 150
LIMIT = 2.8
"""The CPU time of a guarded answer, as a multiple of the bare agent's."""

DEADLINES = (0.02, 0.1, 0.5)
QUESTION = {"messages": [("user", "When do you open?")]}


def chat() -> GenericFakeChatModel:
    """A chat model that gives one answer for ever."""
    return GenericFakeChatModel(messages=repeat(AIMessage("At 9.")).__iter__())


def agents() -> Mapping[str, Any]:
    """The bare agent and the guarded one."""
    guard = GroundingMiddleware("groundedness", model=lambda _: sure(5), fallback="I do not know.")
    return {"bare": create_agent(chat()), "guarded": create_agent(chat(), middleware=[guard])}


def in_sync(agent: Any) -> None:
    """Ask an agent in turn."""
    for _ in range(ANSWERS):
        agent.invoke(QUESTION)


def in_async(agent: Any) -> None:
    """The same, asynchronously."""

    async def ask() -> None:
        for _ in range(ANSWERS):
            await agent.ainvoke(QUESTION)

    asyncio.run(ask())


def cpu(work: Callable[[Any], None], agent: Any) -> float:
    """Milliseconds of CPU time for an answer."""
    started = time.process_time()
    work(agent)
    return (time.process_time() - started) / ANSWERS * 1000


def excess(deadline: float) -> float:
    """Milliseconds that a guard is late."""

    async def never(_: object) -> str:
        await asyncio.sleep(60)
        return ""

    guard = Guard(load("groundedness", model=never), deadline=deadline, fallback="")
    started = time.perf_counter()
    guard.run({"query": "When?", "context": [], "response": "At 9."})
    return (time.perf_counter() - started - deadline) * 1000


def main() -> None:
    """Print the tables; the exit status is 1 if a ratio is above its limit."""
    print(f"{'an answer, ms of CPU':<24}{'bare':>8}{'guarded':>9}{'ratio':>7}{'limit':>7}")  # noqa: T201
    ratios: list[float] = []
    for name, work in (("sync", in_sync), ("async", in_async)):
        pair = agents()
        rounds: list[tuple[float, float]] = []
        for _ in range(ROUNDS + 1):
            milliseconds_of_bare = cpu(work, pair["bare"])
            rounds.append((milliseconds_of_bare, cpu(work, pair["guarded"])))
        del rounds[0]  # it warms up
        median_bare = median(bare for bare, _ in rounds)
        median_guarded = median(guarded for _, guarded in rounds)
        ratio = median(guarded / bare for bare, guarded in rounds)
        ratios.append(ratio)
        print(f"{name:<24}{median_bare:>8.2f}{median_guarded:>9.2f}{ratio:>7.2f}{LIMIT:>7.2f}")  # noqa: T201
    print("deadline, s: later by, ms")  # noqa: T201
    for deadline in DEADLINES:
        print(f"{deadline:>11}: {max(excess(deadline) for _ in range(5)):.1f}")  # noqa: T201
    sys.exit(max(ratios) > LIMIT)


if __name__ == "__main__":
    main()
