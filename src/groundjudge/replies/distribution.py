"""How probable each value of a verdict is: the names of the values, their mean, and how certain it is.

The probabilities come from tokens, or the judge states them; here they are treated alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from groundjudge.replies.format import NO_LEVELS, PartReading, Reading
from groundjudge.replies.value import label_of, write_value
from groundjudge.scale import DIGITS, Scale

# Endpoints return the probabilities of at most 20 tokens.
MAX_VALUES = 20


def values_of(scale: Scale, levels: Mapping[float, str] = NO_LEVELS) -> dict[str, float | None]:
    """Return the values that have probabilities, by their names; {} if none can have any.

    They are those that a token can tell apart: the labels of a scale, {"yes": 1.0, "no": 0.0}, or its numbers
    if they are few whole ones from 0, {"1": 1, "2": 2}. On any other scale they are the levels, if there are
    any, each with the middle of its range.
    """
    if scale.choices:
        return dict(scale.choices)
    numbers = scale.whole_numbers
    if 0 < len(numbers) <= MAX_VALUES and numbers[0] >= 0:
        return {str(number): number for number in numbers}
    return {**_middles_of(scale, levels)}


def values_of_level(label: str, scale: Scale, levels: Mapping[float, str]) -> list[float]:
    """Return the values that the label of a level stands for; [] if no value has it.

    They are the whole numbers with that label or, on a scale of all numbers, the middle of its range.
    """
    numbers = [float(number) for number in scale.whole_numbers if label_of(number, levels) == label]
    if numbers:
        return numbers
    middle = _middles_of(scale, levels).get(label)
    return [] if middle is None else [middle]


def _middles_of(scale: Scale, levels: Mapping[float, str]) -> dict[str, float]:
    """Return the middle of each level's range by its label."""
    middles: dict[str, float] = {}
    lowest = min(scale.worst, scale.best)
    for highest, label in sorted(levels.items()):
        middles[label] = (lowest + highest) / 2
        lowest = highest
    return middles


def name_of(
    verdict: Reading | PartReading, values: Mapping[str, float | None], levels: Mapping[float, str]
) -> str:
    """Return which of the values that have probabilities is a verdict's: "4", a label, or its level."""
    name = write_value(verdict)
    if name in values:
        return name
    return label_of(verdict.value, levels) or ""


def weigh(
    reading: Reading, scale: Scale, levels: Mapping[float, str], not_applicable: Collection[float] = ()
) -> Reading:
    """Return a reading with the mean of its distribution in place of its value, and so for each part.

    Args:
        reading: what was read, with all distributions that are known.
        scale: the scale.
        levels: its levels by the highest value of each.
        not_applicable: the values of the scale that have no score; they are left out of the means.
    """
    values = values_of(scale, levels)

    def mean_of(verdict: Reading | PartReading) -> float | None:
        """Return the mean: 4.25 for {"4": 0.6, "5": 0.2, "n/a": 0.2}; the value itself if there is none."""
        if verdict.value is None or not verdict.distribution:
            return verdict.value
        own_name = name_of(verdict, values, levels)
        weighted = total = 0.0
        for name, share in verdict.distribution.items():
            # The judge has named a value within its level, which is nearer than the middle of the range.
            value = verdict.value if name == own_name else values[name]
            if value is not None and value not in not_applicable:
                weighted += value * share
                total += share
        return weighted / total if total else verdict.value

    parts = tuple(replace(part, value=mean_of(part)) for part in reading.parts)
    return replace(reading, value=mean_of(reading), parts=parts)


def confidence_of(probabilities: Iterable[float], n_options: int = 0) -> float:
    """Return how certain a distribution is: 1 if one option has it all, 0 if all are equally probable.

    Args:
        probabilities: the probabilities of the options; they add up to 1.
        n_options: the number of options, if those with a probability of 0 are left out.
    """
    shares = list(probabilities)
    n_options = max(n_options, len(shares))
    if n_options < 2:  # noqa: PLR2004  there is nothing to choose
        return 1.0
    confidence = (n_options * max(shares) - 1) / (n_options - 1)
    return min(max(round(confidence, DIGITS), 0.0), 1.0)
