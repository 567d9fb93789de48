"""Shares with intervals, and a test of two shares on the same cases, without any extra."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

from groundjudge.verdict import Frozen, Score

Z = 1.959963984540054
"""The normal deviate of a 95% interval."""


class Rate(Frozen):
    """A share with its 95% Wilson interval. All but `n` are None without observations.

    Attributes:
        n: the number of observations.
        value: the share, 0..1.
        low: the lower end of the interval.
        high: its upper end.
    """

    n: int
    value: Score | None = None
    low: Score | None = None
    high: Score | None = None


def wilson(share: float, n: int) -> Rate:
    """Return a share of n observations with its Wilson score interval."""
    if not n:
        return Rate(n=0)
    low, high = wilson_interval(share, n)
    return Rate(n=n, value=share, low=low, high=high)


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Return the ends of the Wilson score interval (Wilson, 1927) of a share; n must be above 0.

    Args:
        share: 0..1.
        n: the number of observations; for observations that depend on each other, the effective number.
    """
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    # Rounding may put an end beyond 0 or 1, or on the wrong side of the share.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def rate_of(events: Sequence[bool]) -> Rate:
    """Return the share of events that are true, with its Wilson score interval."""
    if not events:
        return Rate(n=0)
    return wilson(sum(events) / len(events), len(events))


def many_to_one(cases: Iterable[tuple[Sequence[bool], bool]]) -> float | None:
    """Compute the two-sided p of an exact test of many outcomes of a case against one; None without cases.

    If the two do not differ, any of a case's outcomes is equally likely to be the single one. So the number
    of true single outcomes is a sum of independent chances, one for each case: the share of its outcomes that
    are true. With one outcome against one, this is McNemar's test.

    Args:
        cases: for each case, its many outcomes and the single one.
    """
    # chances[n] is the chance that n of the single outcomes are true (the Poisson binomial distribution).
    chances = [1.0]
    n_true = 0
    n_cases = 0
    for outcomes, single_outcome in cases:
        n_cases += 1
        n_true += single_outcome
        share = (sum(outcomes) + single_outcome) / (len(outcomes) + 1)
        same_counts = [*chances, 0.0]
        counts_less_one = [0.0, *chances]
        chances = list[float]()
        for same, less_one in zip(same_counts, counts_less_one, strict=True):
            chances.append(same * (1 - share) + less_one * share)
    if n_cases == 0:
        return None
    at_most = sum(chances[: n_true + 1])
    at_least = sum(chances[n_true:])
    return min(1.0, 2 * min(at_most, at_least))


def mcnemar(only_first: int, only_second: int, n: int) -> float | None:
    """Compute the two-sided mid-p of McNemar's test (1947); None without cases.

    It counts half of the observed outcome, so it raises false alarms as often as its level says, while the
    exact test raises too few (Fagerland, Lydersen and Laake, 2013).

    Args:
        only_first: cases on which only the first outcome is true.
        only_second: cases on which only the second outcome is true.
        n: the number of all cases.
    """
    if not n:
        return None
    n_differ = only_first + only_second
    if not n_differ:
        return 1.0
    # Binomial coefficients, each from the one before: fast even for thousands of cases.
    coefficient = 1
    n_ways = 1
    for k in range(min(only_first, only_second)):
        coefficient = coefficient * (n_differ - k) // (k + 1)
        n_ways += coefficient
    n_all_ways: int = 2**n_differ
    return min(1.0, 2 * n_ways / n_all_ways) - coefficient / n_all_ways
