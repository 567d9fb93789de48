"""How probable each value is, and what follows from it: the mean of the values, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundjudge.scale import DIGITS


def expectation(distribution: Mapping[str, float], values: Mapping[str, float]) -> float | None:
    """Return the mean of the values by how probable they are; None if none of them is probable.

    It is 4.25 for {"4": 0.6, "5": 0.2, "n/a": 0.2} with the values {"4": 4, "5": 5}.

    Args:
        distribution: how probable each value is, by its name: a label, or a number in digits.
        values: the values that count, by the same names; a name without a value is left out, and the rest
            divided by its sum.
    """
    counted = [name for name in distribution if name in values]
    total = sum(distribution[name] for name in counted)
    if not total:
        return None
    return sum(values[name] * distribution[name] for name in counted) / total


def confidence_of(probabilities: Iterable[float], n_options: int = 0) -> float:
    """Return how sure a distribution is: 1 if it is all on one option, 0 if all are equally probable.

    Args:
        probabilities: those of the options; they add up to 1.
        n_options: how many options there are, if those of 0 are left out.
    """
    shares = list(probabilities)
    n_options = max(n_options, len(shares))
    if n_options < 2:  # noqa: PLR2004  there is nothing to choose
        return 1.0
    confidence = (n_options * max(shares) - 1) / (n_options - 1)
    return min(max(round(confidence, DIGITS), 0.0), 1.0)
