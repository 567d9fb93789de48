"""Synchronous callers are served by a loop thread: context, forks, calls from inside, the program's end."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest
from command_line import GOOD, ROW, run_program
from scripted_model import ScriptedModel
from standin_openai import StandIn

from groundjudge import Reply, load, run
from groundjudge.judging.conversation import Step
from groundjudge.models.loop_thread import LoopThread, shared_loop
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Judge, Request

TRACE = ContextVar("TRACE", default="none")


class Seeing:
    """A model that notes the context variable and the thread in which it is called."""

    name = "seeing"

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    async def acomplete(self, request: Request) -> Reply:  # noqa: ARG002
        await asyncio.sleep(0)
        self.seen.append((TRACE.get(), threading.current_thread().name))
        return Reply(GOOD)


def test_a_model_sees_the_callers_context_variables_in_the_loop_thread_or_in_a_thread_of_its_own() -> None:
    model, calls = Seeing(), list[tuple[str, str]]()

    def function(_: Request) -> str:
        calls.append((TRACE.get(), threading.current_thread().name))
        return GOOD

    TRACE.set("mine")
    assert load("groundedness", model=model).judge(ROW).score == 1.0
    assert model.seen == [("mine", "groundjudge loop")]
    load("groundedness", model=function).judge(ROW)
    ((trace, thread),) = calls
    assert trace == "mine"
    assert thread not in {"groundjudge loop", threading.current_thread().name}


async def test_what_is_set_around_a_step_is_seen_by_its_model_and_all_else_is_in_the_callers_thread() -> None:
    model, before, threads = Seeing(), TRACE.get(), set[threading.Thread]()

    @contextmanager
    def trace_step(step: Step) -> Generator[Callable[[Any], object]]:
        threads.add(threading.current_thread())
        token = TRACE.set(step.name)
        yield lambda _: None
        TRACE.reset(token)

    judge: Judge = load("groundedness", model=model)
    judge.judge(ROW, trace_step)
    await judge.ajudge(ROW, trace_step)
    assert [trace for trace, _ in model.seen] == ["groundjudge.call"] * 2
    assert (TRACE.get(), threads) == (before, {threading.current_thread()})


def test_a_judge_that_is_called_synchronously_in_the_loop_thread_says_what_to_call() -> None:
    inner: Judge = load("groundedness", model=ScriptedModel(GOOD))

    async def answer(_: Request) -> str:
        return str(inner.judge(ROW).reply)

    error = load("groundedness", model=answer).evaluate(ROW).error
    assert error
    assert "await judge.ajudge(case)" in error.message

    async def awaiting(_: Request) -> str:
        return str((await inner.ajudge(ROW)).reply)

    assert load("groundedness", model=awaiting).judge(ROW).score == 1.0


def test_rows_may_come_from_another_run() -> None:
    first = load("groundedness", model=ScriptedModel(GOOD))
    again = load("groundedness", model=ScriptedModel(GOOD))
    chained = run(again, ({**ROW, "id": verdict.case_id} for verdict in run(first, [ROW] * 3)), ordered=True)
    assert [verdict.case_id for verdict in chained] == ["row 1", "row 2", "row 3"]


def test_threads_share_one_loop_thread_and_wait_together() -> None:
    together = asyncio.Barrier(16)

    async def answer(_: Request) -> str:
        async with asyncio.timeout(10):
            await together.wait()
        return GOOD

    judge = load("groundedness", model=answer)
    with ThreadPoolExecutor(16) as threads:
        verdicts = list(threads.map(judge.judge, [ROW] * 16))
    assert [verdict.score for verdict in verdicts] == [1.0] * 16
    assert [thread.name for thread in threading.enumerate()].count("groundjudge loop") == 1


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt()], ids=["SystemExit", "KeyboardInterrupt"]
)
def test_an_error_that_ends_a_loop_reaches_the_caller_and_the_loop_lives_on(error: BaseException) -> None:
    async def fails() -> None:
        raise error

    with pytest.raises(type(error)):
        shared_loop().run(fails)
    assert shared_loop().run(asyncio.sleep, 0, "fine") == "fine"


def test_closing_a_loop_thread_cancels_what_runs_in_it() -> None:
    cancelled, started, thread = threading.Event(), threading.Event(), LoopThread("test")

    async def never() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(thread.run, never)
        assert started.wait(60)
        thread.close()
        assert isinstance(waiting.exception(60), CancelledError)
    assert cancelled.is_set()


def _judge_in_a_fork(url: str) -> float | None:
    return load("groundedness", model=OpenAIModel("m", base_url=url)).judge(ROW).score


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_a_loop_thread_of_its_own() -> None:
    with StandIn([GOOD]) as server:
        assert _judge_in_a_fork(server.url) == 1.0
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(_judge_in_a_fork, (server.url,)).get(30) == 1.0


@pytest.mark.soak
def test_a_program_that_judges_synchronously_ends_cleanly() -> None:
    program = """
import sys
from groundjudge import load
from groundjudge.models.openai import OpenAIModel
from command_line import ROW
print(load("groundedness", model=OpenAIModel("m", base_url=sys.argv[1])).judge(ROW).score)
"""
    with StandIn([GOOD]) as server:
        result = run_program(program, server.url)
    assert result == (0, "1.0\n", "")
