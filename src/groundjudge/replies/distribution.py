"""How certain a verdict is, by the probabilities of its values."""

from __future__ import annotations

from collections.abc import Iterable

from groundjudge.scale import DIGITS


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
