"""Benchmark of groundjudge against a bare loop over AsyncOpenAI.

Both run in one process, in turns, with the same server and the same prompts.

    PYTHONPATH=tests python tests/bench/bench.py           everything: about five minutes
    PYTHONPATH=tests python tests/bench/bench.py --quick   without the 100,000 rows

Each figure is the median over ROUNDS rounds, in each of which both run once; a ratio is the median of the
rounds' ratios. CPU is the user and system time of this process; the server runs in another one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import openai
import server
from hostile_endpoint import DEADLINE, IN_FLIGHT, LATENCY, Endpoint
from hostile_endpoint import rows as hostile_rows
from standin_openai import StandIn
from varied_cases import rows

from groundjudge import arun, load
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Judge

DEVNULL = os.open(os.devnull, os.O_WRONLY)
ROUNDS = 5
CASES = 400
JUDGES = ("groundedness", "statement_groundedness")
CPU_LIMITS = (0.55, 0.85)
"""The CPU time of a case, as a share of the bare client's."""

Prompt: TypeAlias = tuple[list[dict[str, str]], Mapping[str, Any]]


@dataclass(frozen=True)
class Times:
    """Seconds of CPU time and of wall time."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes:
        name: what was measured.
        bare: the figure of the bare client, with its unit.
        judged: the figure of groundjudge, with its unit.
        ratio: the second divided by the first.
        limit: the highest ratio that is acceptable.
    """

    name: str
    bare: str
    judged: str
    ratio: float
    limit: float

    def __str__(self) -> str:
        result = "ok" if self.ratio <= self.limit else "FAILED"
        return (
            f"{self.name:<60}{self.bare:>12}{self.judged:>12}{self.ratio:>9.2f}{self.limit:>9.2f}  {result}"
        )


async def judge_all(judge: Judge, n: int, in_flight: int) -> None:
    """Judge n cases and write every verdict to the null device."""
    async for verdict in arun(judge, rows(n), concurrency=in_flight):
        assert verdict.status == "ok", verdict
        os.write(DEVNULL, verdict.model_dump_json().encode() + b"\n")


async def call_all(client: openai.AsyncOpenAI, prompts: Sequence[Prompt], in_flight: int) -> None:
    """Send the prompts of the same n cases with the bare client; they are rendered before the time runs."""
    create: Any = client.chat.completions.create
    remaining_prompts = iter(prompts)  # all workers take theirs from it

    async def work() -> None:
        for messages, parameters in remaining_prompts:
            completion = await create(model="m", messages=messages, **parameters)
            assert completion.choices[0].message.content

    await asyncio.gather(*(work() for _ in range(in_flight)))


def prompts_of(judge: Judge, cases: Iterable[Mapping[str, Any]]) -> list[Prompt]:
    """The messages and the parameters of cases."""
    requests = [judge.rubric.ask(case) for case in cases]
    return [([dict(message) for message in request.messages], request.parameters) for request in requests]


async def measure_times(work: Callable[[], Awaitable[None]]) -> Times:
    """Run the work and time it."""
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    return Times(time.process_time() - cpu, time.perf_counter() - wall)


async def rounds_of(
    url: str, name: str, milliseconds: int, n: int, in_flight: int
) -> list[tuple[Times, Times]]:
    """Time the bare client and groundjudge on n cases, round by round, after one round to warm up."""
    base_url = f"{url}/{milliseconds}/{name}/v1"
    judge = load(name, model=OpenAIModel("m", base_url=base_url))
    prompts = prompts_of(judge, rows(n))
    async with openai.AsyncOpenAI(base_url=base_url, api_key="k") as client:
        rounds: list[tuple[Times, Times]] = []
        for _ in range(ROUNDS + 1):
            bare = await measure_times(lambda: call_all(client, prompts, in_flight))
            judged = await measure_times(lambda: judge_all(judge, n, in_flight))
            rounds.append((bare, judged))
    return rounds[1:]


def line(name: str, rounds: list[tuple[float, float]], scale: float, template: str, limit: float) -> Line:
    """Summarise rounds, each the seconds of the bare client and of groundjudge, shown times the scale."""
    median_bare = median(bare for bare, _ in rounds) * scale
    median_judged = median(judged for _, judged in rounds) * scale
    ratio = median(judged / bare for bare, judged in rounds)
    return Line(name, template.format(median_bare), template.format(median_judged), ratio, limit)


async def compare_speed(url: str) -> None:
    for name, limit in zip(JUDGES, CPU_LIMITS, strict=True):
        times = await rounds_of(url, name, 0, CASES, 32)
        rounds = [(bare.cpu, judged.cpu) for bare, judged in times]
        show(line(f"CPU per case, {name}", rounds, 1000 / CASES, "{:.2f} ms", limit))
    for in_flight, n, limit in ((32, 320, 1.05), (256, 1024, 1.0)):
        times = await rounds_of(url, JUDGES[0], 200, n, in_flight)
        rounds = [(bare.wall, judged.wall) for bare, judged in times]
        ideal = n / in_flight * 0.2
        name = f"wall time, {n} cases, {in_flight} in flight, 200 ms (ideal {ideal:.2f} s)"
        show(line(name, rounds, 1, "{:.2f} s", limit))


async def capacity(url: str, n: int = 4000, connections: int = 32) -> float:
    """Measure how many requests per second the server answers to a client of raw sockets."""
    host, port = url.removeprefix("http://").split(":")
    body = b"x" * 12_000
    request = b"POST /0/groundedness/v1 HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    size = len(server.response("groundedness", 0))

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
asyncio.run(bench.judge_all(judge, int(sys.argv[1]), 32))
# Not ru_maxrss, which starts from the peak of the parent process.
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024)
"""


def child(program: str, *arguments: object) -> float:
    """Run a program in a process of its own and return the number it prints."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)  # noqa: S603
    return float(process.stdout)


def compare_memory(url: str, n: int) -> None:
    small = child(MEMORY, 1000, url)
    large = child(MEMORY, n, url)
    name = f"peak memory, {n:,} rows against 1,000"
    show(Line(name, f"{small:.1f} MB", f"{large:.1f} MB", large / small, 1.2))


async def measure_faults(n: int = 2000) -> None:
    """Measure the wall time and the longest row of a run at an endpoint that fails in every way."""
    endpoint = Endpoint()
    with StandIn(endpoint, latency=LATENCY) as standin:
        judge = load("groundedness", model=OpenAIModel("m", base_url=standin.url))
        started = time.perf_counter()
        judged = arun(judge, hostile_rows(n), concurrency=IN_FLIGHT, deadline=DEADLINE)
        longest = max([verdict.latency_s async for verdict in judged])
        wall = time.perf_counter() - started
    best = endpoint.shortest()
    name = f"wall time, {n} cases, {IN_FLIGHT} in flight, faults (against ideal)"
    show(Line(name, f"{best:.2f} s", f"{wall:.2f} s", wall / best, 1.5))
    name = "longest case of these (against the deadline)"
    show(Line(name, f"{DEADLINE:.2f} s", f"{longest:.2f} s", longest / DEADLINE, 1 + 0.5 / DEADLINE))


PYDANTIC = "from pydantic import BaseModel\nclass One(BaseModel):\n    number: int = 0"


def measure_import() -> None:
    """Compare the CPU time of importing with that of pydantic and one model, which any user of it has."""
    program = "from time import process_time as t; start = t()\n{}\nprint(t() - start)"
    rounds: list[tuple[float, float]] = []
    for _ in range(2 * ROUNDS):
        pydantic_seconds = child(program.format(PYDANTIC))
        rounds.append((pydantic_seconds, child(program.format("import groundjudge"))))
    show(line("import groundjudge, CPU time against pydantic's", rounds, 1, "{:.3f} s", 2.0))


def count_system_messages(n: int = 20) -> None:
    """Count the different beginnings of prompts: providers cache an equal system message."""
    for name in JUDGES:
        judge = load(name, model="offline")
        beginnings: set[str] = set()
        for messages, _ in prompts_of(judge, rows(n)):
            beginning = messages[0]
            assert beginning["role"] == "system"
            beginnings.add(beginning["content"])
        count = len(beginnings)
        show(Line(f"different system messages of {n} cases, {name}", "", f"{count}", count, 1.0))


def show(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    with server.running() as url:
        show(f"the fake server answers {asyncio.run(capacity(url)):,.0f} requests a second")
        show(f"{'':<60}{'bare':>12}{'groundjudge':>12}{'ratio':>9}{'limit':>9}")
        asyncio.run(compare_speed(url))
        asyncio.run(measure_faults())
        compare_memory(url, 10_000 if "--quick" in sys.argv else 100_000)
    measure_import()
    count_system_messages()


if __name__ == "__main__":
    main()
