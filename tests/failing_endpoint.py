"""An endpoint that fails in many ways, and the right reply of two judges to each row."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from formatter import sure
from standin_openai import Answer, Cut, Half, Hang, Raw, Status, Text

from groundjudge import load_rubric

RETRY_AFTER = 0.2
ALWAYS_FAIL = 0.03
"""The share of the jobs for which the endpoint never returns a readable reply."""

HTML = Raw(b"<!doctype html><title>Gateway</title><h1>4 of 5 servers are up</h1>", "text/html")


class Job(NamedTuple):
    """A row and the judge to judge it."""

    judge: str
    row: int


def row(number: int) -> dict[str, str]:
    """The row with this number, from 0."""
    return {
        "id": str(number),
        "query": "When does the ferry sail, and what does it cost?",
        "context": f"The ferry sails at nine. A ticket costs {number} crowns.",
        "response": f"The ferry row={number}; sails at nine. A ticket costs {number} crowns.",
    }


def level(number: int) -> int:
    """The right value of groundedness; never 3."""
    return (1, 2, 4, 5)[number % 4]


def sentence_scores(number: int) -> tuple[float, float]:
    """The right values of the two sentences: multiples of a half from 0 to 10."""
    return number * 7 % 21 / 2, (number * 11 + 3) % 21 / 2


def _grade(number: int, value: float) -> str:
    return f"<S0>t</S0>\n<S1>row {number}</S1>\n{sure(f'{value:g}')}"


def _lines(row_number: int, first: float, second: float) -> str:
    probability = 10 * min(first, second)
    return f"1 | 1 | - | {first:g}\n2 | 2 | row {row_number} | {second:g}\nALL | {probability:g}"


RIGHT: Mapping[str, Callable[[int], str]] = {
    "groundedness": lambda number: _grade(number, level(number)),
    "statement_groundedness": lambda number: _lines(number, *sentence_scores(number)),
}
TRIAL: Mapping[str, Callable[[int], str]] = {  # verdicts that are right for no row
    "groundedness": lambda number: _grade(number, 3),
    "statement_groundedness": lambda number: _lines(number, 9.9, 9.9),
}


def right_reply(job: Job) -> str:
    """The reply that the endpoint returns for a job; every third thinks aloud before it."""
    reply = RIGHT[job.judge](job.row)
    if job.row % 3 == 0:
        return f"<think>\n{TRIAL[job.judge](job.row)}\nNo.\n</think>\n{reply}"
    return reply


def _cut_off_thoughts(job: Job) -> Answer:
    return Text(f"<think>\n{TRIAL[job.judge](job.row)}\nOr perhaps", finish_reason="length")


def _cut_off_reply(job: Job) -> Answer:
    starts = {
        "groundedness": f"<S0>Is it <S1>half right</S1>{sure(3)}? Or is it",
        "statement_groundedness": "1 | 1 | a ferry of",  # a finished line would stay
    }
    return Text(starts[job.judge], finish_reason="length")


FAULTS: Mapping[Callable[[Job], Answer], tuple[float, str]] = {
    # the answer to a job: the share of the requests that get it, the job's code if that was the last one
    lambda _: Status(429, retry_after=RETRY_AFTER): (0.05, "rate_limited"),
    lambda _: Status(429): (0.02, "rate_limited"),
    lambda _: Status(500): (0.02, "server"),
    lambda _: Status(503, retry_after=RETRY_AFTER): (0.02, "server"),
    lambda _: Cut(): (0.02, "connection"),
    lambda job: Half(right_reply(job)): (0.02, "connection"),
    lambda _: HTML: (0.02, "server"),
    lambda _: Text("Looks right to me, I would say 3 out of 5."): (0.03, "no_verdict"),
    _cut_off_thoughts: (0.03, "truncated"),
    _cut_off_reply: (0.03, "truncated"),
}


class FailingEndpoint:
    """Answers by dice that fall the same way for the same seed, job and try. Once right, it stays right.

    Attributes:
        allowed: how many more requests it answers; after that they hang.
        asked: the job of each request, in order of arrival.
        met: for each job what its answers were: a fault's code, or "" for the right reply.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.allowed = 0
        self.asked: list[Job] = []
        self.met: defaultdict[Job, list[str]] = defaultdict(list)
        self._judges: dict[str, str] = {}  # by the system message, which is the same for all rows
        for name in RIGHT:
            system_message = load_rubric(name).ask(row(0)).messages[0]["content"]
            self._judges[system_message] = name

    def __call__(self, body: dict[str, Any]) -> Answer:
        system_message, user_message = body["messages"][:2]
        row_number = re.search(r"row=(\d+);", user_message["content"])
        assert row_number
        job = Job(self._judges[system_message["content"]], int(row_number[1]))
        self.asked.append(job)
        self.allowed -= 1
        if self.allowed < 0:
            return Hang()
        answer, code = self._answer(job)
        self.met[job].append(code)
        return answer

    def was_right(self, job: Job) -> bool:
        """Whether the right reply to the job was sent at least once."""
        return "" in self.met[job]

    def _answer(self, job: Job) -> tuple[Answer, str]:
        if self.was_right(job):
            return Text(right_reply(job)), ""
        dice = self._random(job, len(self.met[job]))
        if self._random(job) < ALWAYS_FAIL:
            dice *= sum(share for share, _ in FAULTS.values())  # so that it falls on a fault
        for make_answer, (share, code) in FAULTS.items():
            if dice < share:
                return make_answer(job), code
            dice -= share
        return Text(right_reply(job)), ""

    def _random(self, *key: object) -> float:
        return random.Random(f"{self.seed} {key}").random()  # noqa: S311  not a secret
