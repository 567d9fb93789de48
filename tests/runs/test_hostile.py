"""Many rows at an endpoint that fails in every way at once: each row gets a verdict or the right code."""

from __future__ import annotations

import heapq
import os
import random
import re
import time
from collections import defaultdict
from typing import Any

import pytest
from standin_openai import Answer, Cut, Hang, Raw, StandIn, Status, Text

from groundjudge import Reply, Request, Verdict, load, run
from groundjudge.models.backoff import FIRST_WAIT
from groundjudge.models.openai import OpenAIModel

SOAKING = "GROUNDJUDGE_SOAK_ROWS" in os.environ
SIZE = int(os.environ.get("GROUNDJUDGE_SOAK_ROWS", "300"))
"""How many rows; `make soak` takes 2,000."""

IN_FLIGHT = 64
LATENCY = 0.2
DEADLINE = 4.0
RETRY_AFTER = 0.3
VALUES = (1, 2, 4, 5)

FAULTS: list[tuple[float, Answer, str]] = [
    # the share of the requests that meet it, the answer, the row's code if that was the last one
    (0.10, Status(429, retry_after=RETRY_AFTER), "rate_limited"),
    (0.05, Status(500), "server"),
    (0.03, Cut(), "connection"),
    (0.01, Raw(b"<html>"), "server"),
    (0.01, Text("It looks fine to me."), "no_verdict"),
    (0.01, Hang(), "timeout"),
    (0.01, Text("<S0>first of all", finish_reason="length"), "truncated"),
]


class Endpoint:
    """Answers by a dice that falls the same way for the same row and try."""

    def __init__(self) -> None:
        self.met: defaultdict[int, list[str]] = defaultdict(list)

    def __call__(self, body: dict[str, Any]) -> Answer:
        found = re.search(r"row=(\d+);", body["messages"][1]["content"])
        assert found
        number = int(found[1])
        dice = random.Random(f"{number} {len(self.met[number])}").random()  # noqa: S311  no secret
        for share, answer, code in FAULTS:
            if dice < share:
                self.met[number].append(code)
                return answer
            dice -= share
        self.met[number].append("")
        return Text(f"<S0>t</S0><S1>row {number}</S1><S2>{VALUES[number % 4]}</S2>")

    def shortest(self) -> float:
        """The seconds that it all takes at best: latency and waits, with so many rows at a time."""
        ends = [0.0] * IN_FLIGHT
        for number in sorted(self.met):
            heapq.heapreplace(ends, ends[0] + sum(map(_seconds, self.met[number])))
        return max(ends)


def _seconds(code: str) -> float:
    """What an answer costs, at least, with the wait after it."""
    waits = {"rate_limited": RETRY_AFTER, "server": FIRST_WAIT, "connection": FIRST_WAIT, "timeout": DEADLINE}
    return LATENCY + waits.get(code, 0.0)


class Watched:
    """A model whose requests in flight are counted."""

    def __init__(self, model: OpenAIModel) -> None:
        self.model, self.name = model, model.name
        self.in_flight = self.most = 0

    def complete(self, request: Request) -> Reply:
        raise NotImplementedError

    async def acomplete(self, request: Request) -> Reply:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            return await self.model.acomplete(request)
        finally:
            self.in_flight -= 1


def check(verdict: Verdict, met: list[str]) -> None:
    number = int(verdict.case_id or "")
    if verdict.error is None:
        assert (verdict.value, verdict.reason, met[-1]) == (VALUES[number % 4], f"row {number}", "")
    elif verdict.error.code == "timeout":
        assert "timeout" in met or verdict.latency_s >= DEADLINE
    else:
        assert verdict.error.code == met[-1]
    assert verdict.latency_s < DEADLINE + 0.5


@pytest.mark.timeout(600)
@pytest.mark.parametrize("ordered", [False, True])
def test_every_row_gets_a_verdict_or_the_right_code(ordered: bool) -> None:  # noqa: FBT001
    endpoint = Endpoint()
    rows = [
        {"id": str(number), "query": "q", "context": "c", "response": f"It is so. row={number};"}
        for number in range(SIZE)
    ]
    with StandIn(endpoint, latency=LATENCY) as server:
        model = Watched(OpenAIModel("m", base_url=server.url))
        judge = load("groundedness", model=model)
        started = time.perf_counter()
        found = list(run(judge, rows, concurrency=IN_FLIGHT, ordered=ordered, deadline=DEADLINE))
        wall = time.perf_counter() - started
    ids = [int(verdict.case_id or "") for verdict in found]
    assert (ids if ordered else sorted(ids)) == list(range(SIZE))
    for verdict in found:
        check(verdict, endpoint.met[int(verdict.case_id or "")])
    failed = sum(verdict.error is not None for verdict in found)
    assert failed < 0.06 * SIZE  # what cannot be helped: those that hang or are no completion
    assert IN_FLIGHT / 2 < model.most <= IN_FLIGHT
    if SOAKING and not ordered:  # timing is no test where other things run
        assert wall < 1.5 * endpoint.shortest(), (wall, endpoint.shortest())
