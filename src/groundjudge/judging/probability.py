"""How probable it is that a verdict passes, by the probabilities of the values that it could have had."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from groundjudge.replies.distribution import values_of_level
from groundjudge.rubric.rubric import Rubric
from groundjudge.verdict import Verdict, passes


def passing_probability(rubric: Rubric, verdict: Verdict, *, count_not_applicable: bool) -> float | None:
    """Return the probability that a verdict passes, 0..1; for sentences, the lowest of the claims.

    Args:
        rubric: the rubric of the verdict.
        verdict: the verdict.
        count_not_applicable: whether values that mean "not applicable", which pass, count as passing.
            Otherwise they speak for neither side: against passing where the verdict passes, and for it where
            it fails.

    Returns:
        None where a probability is missing: the verdict, or one of its claims, has no distribution.
    """
    if rubric.scores_by_probability:
        return verdict.score
    distributions: list[Mapping[str, float] | None] = []
    if rubric.passes == "score":
        distributions.append(verdict.distribution)
    else:
        for part in verdict.parts:
            if part.score is not None:  # what claims nothing cannot fail
                distributions.append(part.distribution)
    for_passing = count_not_applicable or not verdict.passed
    probabilities: list[float] = []
    for distribution in distributions:
        if not distribution:
            return None
        probability = 0.0
        for name, share in distribution.items():
            value = _value_of(name, rubric, verdict)
            if value is None or value in rubric.not_applicable:
                is_passing = for_passing
            else:
                is_passing = passes(rubric.scale.score(value), rubric.threshold)
            if is_passing:
                probability += share
        probabilities.append(min(1.0, probability))
    return min(probabilities, default=None)


def _value_of(name: str, rubric: Rubric, verdict: Verdict) -> float | None:
    """Return the value that a choice, a number or a level means; None if it has no score."""
    scale = rubric.scale
    if scale.choices:
        return scale.choices.get(name)
    if name in rubric.levels.values():
        # For a level that is a range of values, the judge has named one, which is nearer than the middle.
        if name == verdict.label and verdict.value is not None:
            return verdict.value
        # The label of 1 and 2 means 1.5.
        return fmean(values_of_level(name, scale, rubric.levels))
    try:
        return float(name)
    except ValueError:  # such as "no claim"
        return None
