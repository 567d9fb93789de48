"""What follows from the probabilities of the values: their mean, and how certain it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundjudge.scale import DIGITS


def expectation(distribution: Mapping[str, float], values: Mapping[str, float]) -> float | None:
    """Return the mean of the values, weighted by probability; None if their total probability is 0.

    It is 4.25 for {"4": 0.6, "5": 0.2, "n/a": 0.2} with the values {"4": 4, "5": 5}.

    Args:
        distribution: the probability of each value, by its name: a label, or a number in digits.
        values: the values that count, by the same names. Names without a value are left out, and the
            probabilities of the others are divided by their sum.
    """
    counted = [name for name in distribution if name in values]
    total = sum(distribution[name] for name in counted)
    if not total:
        return None
    return sum(values[name] * distribution[name] for name in counted) / total


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
