"""Many small rows for tests, and a model that scores each row with its own number."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from groundjudge import Case, CaseError, ModelError, Reply, Scale, Verdict
from groundjudge.models.lookup import ModelLike, as_model
from groundjudge.replies import Tags
from groundjudge.types import Judge, Prompt, Request, Rubric

GOOD = "<S1>fine</S1><S2>7</S2>"
SOAK_ROWS = int(os.environ.get("GROUNDJUDGE_SOAK_ROWS", "300"))
"""How many rows the soak tests judge."""

Row = Case | Mapping[str, Any] | CaseError


def judge_named(name: str, model: ModelLike, offline: str | None = None) -> Judge:
    """A judge whose values are whole numbers from 0 to 100,000; it resembles `offline`, a library judge."""
    head = f"---\nname: {name}\ninputs: [{{name: response, type: messages}}]\n"
    if offline is not None:
        head += f"offline: {offline}\n"
    head += "---\n"
    prompt = Prompt.parse(head + "user:\nRate {{response}}")
    scale = Scale(worst=0, best=100_000, integer=True)
    return Judge(Rubric(prompt, Tags(), scale, {}, (), 0.5), as_model(model))


def rows(n: int) -> Iterator[dict[str, Any]]:
    """Rows whose response is their number, from 0."""
    for number in range(n):
        yield {"id": str(number), "response": str(number)}


class Echo:
    """Scores each row with its own number, and counts the requests in flight.

    Args:
        wait: from a row's number to the seconds that its reply takes.
        fail: the exceptions to raise, by the row's number.
    """

    name = identity = "echo"

    def __init__(
        self, wait: Callable[[int], float] = lambda _: 0, fail: Mapping[int, BaseException] | None = None
    ) -> None:
        self.wait = wait
        self.fail = fail or {}
        self.in_flight = 0
        self.most_in_flight = 0
        self.asked = 0
        self.cancelled = 0

    async def acomplete(self, request: Request) -> Reply:
        number = int(request.case.response_text)
        self.asked += 1
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        try:
            await asyncio.sleep(self.wait(number))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        if number in self.fail:
            raise self.fail[number]
        return Reply(f"<S1>row {number}</S1><S2>{number}</S2>")


def ids(verdicts: Iterable[Verdict]) -> list[str | None]:
    return [verdict.case_id for verdict in verdicts]


def codes(verdicts: Iterable[Verdict]) -> Counter[str]:
    """How often each code of an error comes, and each status of the other verdicts."""
    counts = Counter[str]()
    for verdict in verdicts:
        counts[verdict.error.code if verdict.error else verdict.status] += 1
    return counts


def until_error(verdicts: Iterator[Verdict]) -> tuple[list[Verdict], ModelError]:
    """The verdicts that were yielded, and the error raised after them."""
    yielded_verdicts: list[Verdict] = []
    with pytest.raises(ModelError) as raised:
        yielded_verdicts.extend(verdicts)
    return yielded_verdicts, raised.value
