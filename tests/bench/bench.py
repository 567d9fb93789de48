"""What judging costs beside a bare loop over AsyncOpenAI: same process, same server, same prompts, in turns.

    PYTHONPATH=tests python tests/bench/bench.py           everything: about five minutes
    PYTHONPATH=tests python tests/bench/bench.py --quick   without the 100,000 rows

Each figure is the median of ROUNDS rounds, in which the contenders take turns; a ratio is the median of the
rounds' ratios. CPU is user and system time of this process; the server is another one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import hostile_endpoint
import openai
import server
from standin_openai import StandIn

from groundjudge import Judge, arun, load
from groundjudge.models.openai import OpenAIModel

NOWHERE = os.open(os.devnull, os.O_WRONLY)
PROSE = """
The library in the old harbour opens at nine on weekdays and closes at six in the evening, but on Saturdays
it is open from ten to two only. Members may borrow up to twelve books for four weeks, and films for one.
"""
ROUNDS = 5
CASES = 400
CONTEXT_WORDS = 600
JUDGES = ("groundedness", "statement_groundedness")


@dataclass(frozen=True)
class Line:
    """A line of the table: what was measured, the bare client's figure, ours, their ratio and its bound."""

    name: str
    bare: str
    ours: str
    ratio: float
    most: float

    def __str__(self) -> str:
        sign = "holds" if self.ratio <= self.most else "FAILS"
        return f"{self.name:<60}{self.bare:>12}{self.ours:>12}{self.ratio:>9.2f}{self.most:>9.2f}  {sign}"


def rows(n: int, words: int = CONTEXT_WORDS) -> Iterator[dict[str, Any]]:
    """Cases with a context of so many words and a response of four sentences."""
    context = " ".join(islice(cycle(PROSE.split()), words))
    for number in range(n):
        sentences = " ".join(f"This is what the sentence number {k} says about word{k}." for k in range(4))
        case = {"query": f"What is said {number}?", "context": context, "response": sentences}
        yield {"id": str(number), **case}


async def ours(judge: Judge, n: int, in_flight: int) -> None:
    """Judge, and write every verdict down."""
    async for verdict in arun(judge, rows(n), concurrency=in_flight):
        assert verdict.status == "ok", verdict
        os.write(NOWHERE, verdict.model_dump_json().encode() + b"\n")


async def bare(client: openai.AsyncOpenAI, judge: Judge, n: int, in_flight: int) -> None:
    """Send the very same prompt so many times, and look at the replies."""
    request = judge.rubric.ask(next(rows(1)))
    messages: Any = [dict(message) for message in request.messages]
    create: Any = client.chat.completions.create
    left = iter(range(n))

    async def work() -> None:
        for _ in left:
            completion = await create(model="m", messages=messages, **request.parameters)
            assert completion.choices[0].message.content

    await asyncio.gather(*(work() for _ in range(in_flight)))


async def measured(work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Seconds of CPU and of wall."""
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    return time.process_time() - cpu, time.perf_counter() - wall


async def against(
    url: str, name: str, milliseconds: int, n: int, in_flight: int
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """CPU and wall of the bare loop and of ours, round by round, after one round to warm up."""
    base_url = f"{url}/{milliseconds}/{name}/v1"
    judge = load(name, model=OpenAIModel("m", base_url=base_url))
    async with openai.AsyncOpenAI(base_url=base_url, api_key="k") as client:
        found = [
            (
                await measured(lambda: bare(client, judge, n, in_flight)),
                await measured(lambda: ours(judge, n, in_flight)),
            )
            for _ in range(ROUNDS + 1)
        ]
    return found[1:]


def line(name: str, rounds: list[tuple[float, float]], unit: float, form: str, most: float) -> Line:
    first, second = (median(round_[side] for round_ in rounds) * unit for side in (0, 1))
    return Line(name, form.format(first), form.format(second), median(b / a for a, b in rounds), most)


async def speed(url: str) -> None:
    for name, most in zip(JUDGES, (1.0, 1.15), strict=True):
        found = await against(url, name, 0, CASES, 32)
        rounds = [(a[0], b[0]) for a, b in found]
        show(line(f"CPU per case, {name}", rounds, 1000 / CASES, "{:.2f} ms", most))
    for in_flight, n, most in ((32, 320, 1.05), (256, 1024, 1.0)):
        found = await against(url, JUDGES[0], 200, n, in_flight)
        rounds = [(a[1], b[1]) for a, b in found]
        ideal = n / in_flight * 0.2
        name = f"wall, {n} cases, {in_flight} in flight, 200 ms (ideal {ideal:.2f} s)"
        show(line(name, rounds, 1, "{:.2f} s", most))


async def capacity(url: str, n: int = 4000, connections: int = 32) -> float:
    """How many requests a second the server answers when a client costs next to nothing."""
    host, port = url.removeprefix("http://").split(":")
    body = b"x" * 12_000
    request = b"POST /0/groundedness/v1 HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    size = len(server.response("groundedness"))

    async def work() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in range(n // connections):
            writer.write(request)
            await reader.readexactly(size)
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    return n / (time.perf_counter() - started)


MEMORY = """
import asyncio, re, sys
from pathlib import Path
import bench
from groundjudge import load
from groundjudge.models.openai import OpenAIModel
judge = load("groundedness", model=OpenAIModel("m", base_url=sys.argv[2] + "/0/groundedness/v1"))
asyncio.run(bench.ours(judge, int(sys.argv[1]), 32))
# Not ru_maxrss: that one begins with what the parent process had.
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
"""


def child(program: str, *arguments: object) -> float:
    """What a program prints, run in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)  # noqa: S603
    return float(done.stdout)


def memory(url: str, most: int) -> None:
    small, large = child(MEMORY, 1000, url), child(MEMORY, most, url)
    name = f"peak memory, {most:,} rows against 1,000"
    show(Line(name, f"{small:.1f} MB", f"{large:.1f} MB", large / small, 1.2))


async def hostile(n: int = 2000) -> None:
    """The wall of a run at an endpoint that fails in every way, and its longest row."""
    endpoint, in_flight, deadline = (
        hostile_endpoint.Endpoint(),
        hostile_endpoint.IN_FLIGHT,
        hostile_endpoint.DEADLINE,
    )
    with StandIn(endpoint, latency=hostile_endpoint.LATENCY) as standin:
        judge = load("groundedness", model=OpenAIModel("m", base_url=standin.url))
        started = time.perf_counter()
        judged = arun(judge, hostile_endpoint.rows(n), concurrency=in_flight, deadline=deadline)
        longest = max([verdict.latency_s async for verdict in judged])
        wall = time.perf_counter() - started
    best = endpoint.shortest()
    name = f"wall, {n} cases, {in_flight} in flight, faults (against the ideal)"
    show(Line(name, f"{best:.2f} s", f"{wall:.2f} s", wall / best, 1.5))
    name = "longest case of these (against the deadline)"
    show(Line(name, f"{deadline:.2f} s", f"{longest:.2f} s", longest / deadline, 1 + 0.5 / deadline))


def importing() -> None:
    program = "from time import process_time as t; start = t(); import groundjudge; print(t() - start)"
    seconds = min(child(program) for _ in range(ROUNDS))
    show(Line("import groundjudge, CPU s (against 0.15)", "", f"{seconds:.3f} s", seconds / 0.15, 1.0))


def prefix() -> None:
    for name in JUDGES:
        judge = load(name, model="offline")
        cases = [next(rows(1)), {"query": "Why?", "context": "Else.", "response": "Because."}]
        one, two = (
            "".join(message["content"] for message in judge.rubric.ask(case).messages) for case in cases
        )
        share = next(at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b) / len(one)
        show(Line(f"prompt prefix, {name} (at least 60 %)", "", f"{share:.0%}", 0.6 / share, 1.0))


def show(told: object) -> None:
    sys.stdout.write(f"{told}\n")
    sys.stdout.flush()


def main() -> None:
    with server.running() as url:
        show(f"the stand-in server answers {asyncio.run(capacity(url)):,.0f} requests a second")
        show(f"{'':<60}{'bare':>12}{'groundjudge':>12}{'ratio':>9}{'at most':>9}")
        asyncio.run(speed(url))
        asyncio.run(hostile())
        memory(url, 10_000 if "--quick" in sys.argv else 100_000)
    importing()
    prefix()


if __name__ == "__main__":
    main()
