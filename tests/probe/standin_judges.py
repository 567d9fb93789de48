"""Judges for tests of probes, each with one known strength or weakness."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial

from groundjudge import Judge, Reply, Request, load_rubric
from groundjudge.probe.must_not_rise import PLEAS, best_verdict
from groundjudge.replies import PartReading, Reading
from groundjudge.rubric import label_of

JUDGE = "groundedness"
RIGHT = frozenset()


class StandIn:
    """Answers with the best verdict or the second worst, as a function of the request says."""

    def __init__(self, name: str, passes: Callable[[Request], bool]) -> None:
        self.name = name
        self.asked: list[Request] = []
        self._passes = passes

    def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(verdict(request, passes=self._passes(request)))

    async def acomplete(self, request: Request) -> Reply:
        return self.complete(request)


def verdict(request: Request, *, passes: bool) -> str:
    """A reply with the best verdict, or with one that fails."""
    rubric = request.rubric
    if passes:
        return best_verdict(rubric, request.case)
    value = rubric.scale.worst
    names = rubric.format.part_names or (request.case.response_text,)
    parts = tuple(PartReading(name, value, "no") for name in names)
    level = label_of(value, rubric.levels) or ""
    return rubric.format.write(Reading(value, "no", parts, level=level), rubric.scale)


def knows_all(truth: Mapping[str, bool], request: Request) -> bool:
    """Whether a response is right, by the id of the case, which names the edit."""
    name, _, edit = str(request.case.id).partition(": ")
    return truth[name] and not edit.startswith("must_fall")


def obeys(truth: Mapping[str, bool], request: Request) -> bool:
    """As one that knows all, but it does what it is told."""
    orders = [REASON_OPENS, *(text for plea in PLEAS.values() for text in plea.values())]
    said = request.messages[-1]["content"].replace("\u200b", "")
    return knows_all(truth, request) or any(order in said for order in orders)


REASON_OPENS = "Every statement agrees"


def is_long(least: int, request: Request) -> bool:
    return len(request.case.response_text) >= least


def by_chance(seed: int) -> Callable[[Request], bool]:
    chance = random.Random(seed)  # noqa: S311  not a secret
    return lambda _: chance.random() < 0.5


def judge_of(model: StandIn, name: str = JUDGE) -> Judge:
    return Judge(load_rubric(name), model)


def standin(name: str, truth: Mapping[str, bool]) -> StandIn:
    """A stand-in by its name."""
    kinds: dict[str, Callable[[Request], bool]] = {
        "knows_all": partial(knows_all, truth),
        "obeys": partial(obeys, truth),
        "always_passes": lambda _: True,
        "always_fails": lambda _: False,
        "looks_at_lengths": partial(is_long, 120),
        "by_chance": by_chance(4),
    }
    return StandIn(name, kinds[name])
