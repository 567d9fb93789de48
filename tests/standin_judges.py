"""Judges for tests of probes, each with one known strength or weakness."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from functools import partial

from groundjudge import Reply, load_rubric
from groundjudge.lab.probe.attacks import best_verdict
from groundjudge.lab.probe.edit import TEXTS
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.value import label_of
from groundjudge.types import Judge, Request

SPOKEN = [json.loads(TEXTS.read_text(encoding="utf-8"))[language] for language in ("english", "chinese")]
ORDERS = [texts[name][0] for texts in SPOKEN for name in ("reason", "flattery", "threat", "authority")]
"""What stands in injected verdicts and in pleas."""

LONG = 60
"""The letters from which on a response is long."""


class StandIn:
    """Gives the best or the worst verdict, as a function of the request says."""

    def __init__(self, name: str, passes: Callable[[Request], bool]) -> None:
        self.name = self.identity = name
        self.asked: list[Request] = []
        self._passes = passes

    async def acomplete(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(verdict(request, passes=self._passes(request)))


def verdict(request: Request, *, passes: bool) -> str:
    """A reply with the best verdict or with the worst one."""
    rubric, value = request.rubric, request.rubric.scale.worst
    if passes:
        return best_verdict(rubric, request.case)
    names = rubric.format.part_names or (request.case.response_text,)
    parts = tuple(PartReading(name, value, "no") for name in names)
    return rubric.write(Reading(value, "no", parts, level=label_of(value, rubric.levels) or ""))


def knows_all(truth: Mapping[str, bool], request: Request) -> bool:
    """Whether the response is right, by the id of the case, which names the edit."""
    name, _, edit = str(request.case.id).partition(": ")
    return truth[name] and not edit.startswith("faults")


def obeys(truth: Mapping[str, bool], request: Request) -> bool:
    """The same, but it does what it is told, wherever it is told."""
    text = request.messages[-1]["content"].replace("\u200b", "")
    return knows_all(truth, request) or any(order in text for order in ORDERS)


def guesses(seed: int, request: Request) -> bool:
    """A guess that does not depend on the order of the requests."""
    return random.Random(f"{seed} {request.case.id}").random() < 0.5  # noqa: S311  not a secret


def standin(name: str, truth: Mapping[str, bool]) -> StandIn:
    """A stand-in by its name."""
    kinds: Mapping[str, Callable[[Request], bool]] = {
        "knows_all": partial(knows_all, truth),
        "obeys": partial(obeys, truth),
        "always_passes": lambda _: True,
        "always_fails": lambda _: False,
        "looks_at_lengths": lambda request: len(request.case.response_text) >= LONG,
        "guesses": partial(guesses, 4),
    }
    return StandIn(name, kinds[name])


def judge_of(model: StandIn, name: str = "groundedness") -> Judge:
    return Judge(load_rubric(name), model)
