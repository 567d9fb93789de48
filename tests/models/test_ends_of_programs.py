"""How programs end that judged asynchronously: nothing of the library is pending, and nothing is printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import GOOD
from standin_openai import Answer, Hang, StandIn

TESTS = Path(__file__).parents[1]

soak = pytest.mark.soak  # each program takes a second to start

START = """
import asyncio, gc, os, sys, threading
from command_line import ROW
from groundjudge import load
from groundjudge.models.openai import OpenAIModel
from groundjudge.models.shared import share_calls

model = OpenAIModel("m", base_url=sys.argv[1])
judge = load("groundedness", model=model)

async def judge_some():
    verdicts = await asyncio.gather(*(judge.aevaluate(ROW) for _ in range(3)))
    print([verdict.score for verdict in verdicts])
"""

SCORES = "[1.0, 1.0, 1.0]\n"


def run_quietly(code: str, url: str) -> tuple[int, str, str]:
    """Run a program as users do, without switches; its exit status, stdout and stderr."""
    process = subprocess.run(  # noqa: S603  this very Python
        [sys.executable, "-c", START + code, url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=TESTS,
    )
    return process.returncode, process.stdout, process.stderr


@pytest.mark.parametrize(
    ("code", "n_times"),
    [
        pytest.param("asyncio.run(judge_some())", 1, marks=soak, id="asyncio.run"),
        pytest.param(
            "asyncio.new_event_loop().run_until_complete(judge_some())", 1, marks=soak, id="a loop left open"
        ),
        pytest.param(
            """
asyncio.new_event_loop().run_until_complete(judge_some())

async def main():
    global judge, model
    await judge_some()
    del judge, model
    gc.collect()

asyncio.run(main())
""",
            2,
            marks=soak,
            id="the judge of a loop left open goes in another loop",
        ),
        pytest.param(
            """
thread = threading.Thread(target=lambda: asyncio.new_event_loop().run_until_complete(judge_some()))
thread.start()
thread.join()
""",
            1,
            marks=soak,
            id="a loop left open in a thread that has ended",
        ),
        pytest.param(
            """
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
asyncio.run_coroutine_threadsafe(judge_some(), loop).result()
""",
            1,
            marks=soak,
            id="a loop that runs in a daemon thread",
        ),
    ],
)
def test_nothing_is_printed_at_the_end(code: str, n_times: int) -> None:
    with StandIn([GOOD]) as server:
        assert run_quietly(code, server.url) == (0, SCORES * n_times, "")


@pytest.mark.soak
def test_a_shared_call_ends_with_those_who_wait_for_it() -> None:
    code = """
async def main():
    judges = [load("groundedness", model=shared) for shared in share_calls(model)]
    try:
        await asyncio.wait_for(asyncio.gather(*(judge.aevaluate(ROW) for judge in judges)), 0.2)
    except TimeoutError:
        print("timeout")

asyncio.new_event_loop().run_until_complete(main())
"""
    script: list[Answer] = [Hang()]
    with StandIn(script) as server:
        assert run_quietly(code, server.url) == (0, "timeout\n", "")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("code", "n_times"),
    [
        pytest.param("sys.exit()", 0, marks=soak, id="it exits"),
        pytest.param(
            "del judge, model, loop; gc.collect(); sys.exit()",
            0,
            marks=soak,
            id="its judge and loop are gone",
        ),
        pytest.param("asyncio.run(judge_some()); sys.exit()", 1, id="it judges"),
        pytest.param("judge.evaluate(ROW); sys.exit()", 0, marks=soak, id="it judges synchronously"),
    ],
)
def test_a_fork_ends_quietly_and_leaves_the_loop_of_its_parent_alone(code: str, n_times: int) -> None:
    code = f"""
loop = asyncio.new_event_loop()
loop.run_until_complete(judge_some())
judge.evaluate(ROW)
sys.stdout.flush()
child = os.fork()
if not child:
    {code}
os.waitpid(child, 0)
loop.run_until_complete(judge_some())
"""
    with StandIn([GOOD]) as server:
        assert run_quietly(code, server.url) == (0, SCORES * (2 + n_times), "")


@soak
def test_a_fork_after_the_loop_was_closed_ends_quietly() -> None:
    code = """
loop = asyncio.new_event_loop()
loop.run_until_complete(judge_some())
loop.close()
sys.stdout.flush()
if os.fork():
    os.wait()
"""
    with StandIn([GOOD]) as server:
        assert run_quietly(code, server.url) == (0, SCORES, "")
