"""Benchmark of judging with decision models, against bare chat completions about the same cases.

    PYTHONPATH=tests python tests/bench/decision_bench.py    two or three minutes

Both run in one process, in turns, on the cases of bench.py. The bare client is AsyncOpenAI with the prompts
of the text judge. Then larger cases grow: the CPU time of a case must grow no faster than its sentences.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import openai
import server
from bench import CASES, Line, call_all, line, measure_times, prompts_of, show
from varied_cases import rows, varied

from groundjudge import arun, load
from groundjudge.decisions.endpoint import DecisionModel
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Judge

ROUNDS = 15
"""The ratios of five rounds scatter by a tenth."""

WORDS_PER_SENTENCE = 12
SENTENCES = 10
SOURCES = 40
CPU_LIMITS = {"groundedness": 0.60, "statement_groundedness": 0.80}
"""The CPU time of a case, as a share of that of the bare client."""

NAMES = ("decisions:m", "systemone:m")
LINEAR = 2.4
"""A case with twice as many sentences, or sources, may take so many times as long."""


@lru_cache(maxsize=2000)
def row(number: int, n_sentences: int, n_sources: int) -> dict[str, Any]:
    """A case with so many sentences in its response and its context."""
    sentences = varied(number, n_sources * WORDS_PER_SENTENCE).context.split(". ")[1:]
    context = [f"{sentence.removesuffix('.')}." for sentence in sentences]
    statements = [f"It is reported that t{context[index % n_sources][1:]}" for index in range(n_sentences)]
    return {
        "id": str(number),
        "query": "What is known about it?",
        "context": " ".join(context),
        "response": " ".join(statements),
    }


def rows_of_size(n: int, n_sentences: int = SENTENCES, n_sources: int = SOURCES) -> Iterator[dict[str, Any]]:
    """The first n cases of that size."""
    return (row(number, n_sentences, n_sources) for number in range(n))


async def judge_all(judge: Judge, cases: Iterator[dict[str, Any]], in_flight: int = 32) -> None:
    """Judge the cases, and write every verdict as JSON."""
    async for verdict in arun(judge, cases, concurrency=in_flight):
        assert verdict.status == "ok", verdict
        verdict.model_dump_json()


async def compare(name: str, model_name: str, chat_url: str, url: str) -> None:
    """Compare the CPU time of a judge with a decision model, and that of the bare client."""
    judge = load(name, model=DecisionModel(model_name, base_url=f"{url}/v1"))
    bare_url = f"{chat_url}/0/{name}/v1"
    cases = [*rows(CASES)]
    text_judge = load(name, model=OpenAIModel("m", base_url=bare_url))
    prompts = prompts_of(text_judge, cases)
    rounds: list[tuple[float, float]] = []
    async with openai.AsyncOpenAI(base_url=bare_url, api_key="k") as client:
        for _ in range(ROUNDS + 1):
            bare = await measure_times(lambda: call_all(client, prompts, 32))
            judged = await measure_times(lambda: judge_all(judge, iter(cases)))
            rounds.append((bare.cpu, judged.cpu))
    show(line(f"CPU per case, {name}, {model_name}", rounds[1:], 1000 / CASES, "{:.2f} ms", CPU_LIMITS[name]))


async def measure_growth(what: str, url: str) -> None:
    """Compare cases of one size with those of twice as many sentences or sources."""
    judge = load("statement_groundedness", model=DecisionModel("systemone:m", base_url=f"{url}/v1"))
    n = CASES // 8
    if what == "sentences":
        once, twice = [*rows_of_size(n)], [*rows_of_size(n, 2 * SENTENCES)]
    else:  # of more than 60 sources the likeliest are offered
        once, twice = [*rows_of_size(n, n_sources=SOURCES // 2)], [*rows_of_size(n)]
    times: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        first = await measure_times(lambda: judge_all(judge, iter(once)))
        second = await measure_times(lambda: judge_all(judge, iter(twice)))
        times.append((first.cpu, second.cpu))
    ratio = median(second / first for first, second in times[1:])
    show(Line(f"growth with twice as many {what}, statement_groundedness", "", "", ratio, LINEAR))


def main() -> None:
    script = Path(__file__).with_name("decision_server.py")
    with server.running() as chat_url, server.running(script) as url:
        show(f"{'':<60}{'bare':>12}{'groundjudge':>12}{'ratio':>9}{'limit':>9}")
        for name in CPU_LIMITS:
            for model_name in NAMES:
                asyncio.run(compare(name, model_name, chat_url, url))
        for what in ("sentences", "sources"):
            asyncio.run(measure_growth(what, url))


if __name__ == "__main__":
    main()
