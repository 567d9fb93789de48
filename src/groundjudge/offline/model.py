"""The lexical baseline as a model: it reads the request's case, and no language model is called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from groundjudge.case.case import Case
from groundjudge.errors import ModelError
from groundjudge.offline.claims import SOURCES, Claim, claims, source_texts, tool_texts
from groundjudge.offline.reasons import SUPPORTED, reason
from groundjudge.offline.support import Sources, index
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import label_of
from groundjudge.rubric.rubric import Request, Rubric

SIGNED = "(Offline baseline: words were compared, no language model was called.)"
LEVELS = ("ungrounded", "incorrect", "nothing_to_ground", "incomplete", "grounded")

UNRELATED = 0.12
"""Below this, a response of whose words less than `FOREIGN` is found is about something else."""
FOREIGN = 0.6
STATES_NOTHING = 0.9
"""The score of a response without a claim, where the judge has no value for that."""
NOTHING_FOUND = 0.05
"""Below this, a sentence has no more in common with the source than any other sentence has."""
DIGITS = 2
"""Digits of a value on a scale of 0 to 1; a wider scale has fewer of them behind the point."""


@dataclass(frozen=True)
class OfflineModel:
    """Compares a response with its sources by words, numbers and negations."""

    name: str = "offline"

    async def acomplete(self, request: Request) -> Reply:
        """Reply in the judge's format.

        Raises:
            ModelError: `bad_request`: the judge shows nothing that could back a response.
        """
        rubric = request.rubric
        if not _shown(rubric) & SOURCES:
            message = (
                f"the offline baseline compares a response with a source, and {rubric.name} shows "
                f"none of {', '.join(sorted(SOURCES))}: give it a language model"
            )
            raise ModelError("bad_request", message, self.name)
        return Reply(rubric.format.write(_reading(rubric, request.case), rubric.scale))


def _shown(rubric: Rubric) -> frozenset[str]:
    """The fields of the case that the prompt shows."""
    return frozenset(given.field for given in rubric.inputs)


def _is_graded(rubric: Rubric) -> bool:
    """Whether the levels are those of groundedness."""
    return set(LEVELS) <= set(rubric.levels.values())


def _reading(rubric: Rubric, case: Case) -> Reading:
    """What the reply says: the format writes of it what it has a place for."""
    shown = _shown(rubric)
    sources = index(source_texts(case, shown, needs_context=not _is_graded(rubric)))
    tools = index(tool_texts(case), sources.read) if "context" in shown else None
    said = claims(case.response_text, sources, tools)
    stated = [claim for claim in said if claim.states]
    value = _value(rubric, stated)
    parts = [_named(name, rubric, case, sources) for name in rubric.format.part_names]
    return Reading(
        value,
        f"{reason(stated)} {SIGNED}",
        tuple(parts or [_sentence(rubric, claim) for claim in said]),
        label_of(value, rubric.levels) or "",
        label=_label(rubric, value),
    )


def _value(rubric: Rubric, stated: Sequence[Claim]) -> float | None:
    """The value of the whole response on the judge's scale."""
    if _is_graded(rubric):
        return next(value for value, label in rubric.levels.items() if label == _level(stated))
    if stated:
        # What contradicts a document is not made good by what agrees with it.
        wrong = (claim.support.score for claim in stated if claim.support.contradictions)
        whole = _score_in_role(stated) if "profile" in _shown(rubric) else _score(stated)
        return _on(rubric, min(whole, *wrong, 1.0))
    if rubric.not_applicable:
        return rubric.not_applicable[0]
    return _on(rubric, STATES_NOTHING) if rubric.scale.without_score is None else None


def _level(stated: Sequence[Claim]) -> str:
    """The level of groundedness that claims deserve."""
    if not stated:
        return "nothing_to_ground"
    score = _score(stated)
    if score < UNRELATED and all(claim.support.signals.covered < FOREIGN for claim in stated):
        return "ungrounded"
    if score < SUPPORTED:
        return "incorrect"
    return "grounded" if all(claim.is_whole for claim in stated) else "incomplete"


def _score(stated: Sequence[Claim]) -> float:
    """The geometric mean by length: many claims that hold cannot quite outweigh one that does not."""
    logarithms = math.fsum(claim.length * math.log(claim.support.score) for claim in stated)
    return math.exp(logarithms / sum(claim.length for claim in stated))


def _score_in_role(stated: Sequence[Claim]) -> float:
    """The quadratic mean by length: moods and manners need no backing, so what is backed counts most."""
    squares = math.fsum(claim.length * claim.support.score**2 for claim in stated)
    return math.sqrt(squares / sum(claim.length for claim in stated))


def _sentence(rubric: Rubric, claim: Claim) -> PartReading:
    """A sentence of the response with its value and its evidence."""
    found = claim.support
    is_backed = claim.states and bool(found.quote) and found.score >= NOTHING_FOUND
    value = _on(rubric, found.score if is_backed else 0.0)
    return PartReading(
        name=claim.text,
        value=value,
        reason=f"offline baseline, no language model was called: {reason([claim] if claim.states else [])}",
        quotes=(found.quote,) if is_backed else (),
        label=_label(rubric, value),
    )


def _label(rubric: Rubric, value: float | None) -> str:
    """The label of a value, on a scale of labels; otherwise ""."""
    scale = rubric.scale
    return (scale.without_score or "") if value is None else scale.nearest(value)


def _named(name: str, rubric: Rubric, case: Case, sources: Sources) -> PartReading:
    """The part of that name: what the response has of the reference for recall, else the other way round."""
    if name.casefold() == "recall":
        mine = index([case.response_text], sources.read)
        compared, where = claims(case.reference or "", mine), "the returned passage"
    else:
        compared, where = claims(case.response_text, sources), "the reference"
    total = sum(claim.length for claim in compared)
    found = (claim.length * (claim.is_whole or claim.support.score) for claim in compared)
    share = sum(found) / (total or 1)
    return PartReading(name, _on(rubric, share), f"{reason(compared, where)} {SIGNED}")


def _on(rubric: Rubric, score: float) -> float:
    """The place of a score on the judge's scale, beside the values that mean "nothing to judge"."""
    scale, taken = rubric.scale, rubric.not_applicable
    if scale.choices:
        return scale.choices[scale.nearest(score)] or 0.0
    lowest, highest = sorted((scale.worst, scale.best))
    digits = max(0, DIGITS - math.floor(math.log10(highest - lowest or 1)))
    if scale.integer:
        lowest, highest, digits = math.ceil(lowest), math.floor(highest), 0
    value = min(max(round(scale.worst + score * (scale.best - scale.worst), digits), lowest), highest)
    near = (value + steps * 10.0**-digits for steps in sorted(range(-len(taken), len(taken) + 1), key=abs))
    return next((place for place in near if scale.holds(place) and place not in taken), value)
