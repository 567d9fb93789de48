"""A stand-in for an endpoint that fails in every way at once."""

from __future__ import annotations

import heapq
import random
import re
from collections import defaultdict
from typing import Any

from formatter import sure
from standin_openai import Answer, Cut, Hang, Raw, Status, Text

from groundjudge.models.pacing import FIRST_WAIT

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
    """Answers by a dice that falls the same way for the same row and try.

    Attributes:
        met: for each row what its answers were: a fault's code, or "" for the right reply.
    """

    def __init__(self) -> None:
        self.met: defaultdict[int, list[str]] = defaultdict(list)

    def __call__(self, body: dict[str, Any]) -> Answer:
        row_number = re.search(r"row=(\d+);", body["messages"][1]["content"])
        assert row_number
        number = int(row_number[1])
        dice = random.Random(f"{number} {len(self.met[number])}").random()  # noqa: S311  no secret
        for share, answer, code in FAULTS:
            if dice < share:
                self.met[number].append(code)
                return answer
            dice -= share
        self.met[number].append("")
        return Text(f"<S0>t</S0><S1>row {number}</S1>{sure(VALUES[number % 4])}")

    def shortest(self) -> float:
        """The seconds that it all takes at best: latency and waits, with so many rows at a time."""
        ends = [0.0] * IN_FLIGHT
        for number in sorted(self.met):
            seconds = sum(_seconds(code) for code in self.met[number])
            heapq.heapreplace(ends, ends[0] + seconds)  # the place that is free first takes the row
        return max(ends)


def rows(n: int) -> list[dict[str, str]]:
    """Rows for a judge of groundedness, by whose response the endpoint knows them."""
    return [
        {"id": str(number), "query": "q", "context": "c", "response": f"It is so. row={number};"}
        for number in range(n)
    ]


def _seconds(code: str) -> float:
    """The least seconds that an answer with this code takes, with the wait after it."""
    waits = {"rate_limited": RETRY_AFTER, "server": FIRST_WAIT, "connection": FIRST_WAIT, "timeout": DEADLINE}
    return LATENCY + waits.get(code, 0.0)
