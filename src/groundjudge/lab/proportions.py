"""Shares with their intervals, and the test of two shares on the same cases. They need no extra."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

from groundjudge.verdict import Frozen, Score

Z = 1.959963984540054
"""The normal deviate of a 95% interval."""


class Rate(Frozen):
    """A share with its 95% Wilson interval. All but `n` are None without observations.

    Attributes:
        n: observations.
        value: the share of them, 0..1.
        low: the lower end of the interval.
        high: its upper end.
    """

    n: int
    value: Score | None = None
    low: Score | None = None
    high: Score | None = None


def wilson(share: float, n: int) -> Rate:
    """A share of n observations with its Wilson score interval."""
    if not n:
        return Rate(n=0)
    low, high = wilson_interval(share, n)
    return Rate(n=n, value=share, low=low, high=high)


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """The ends of the Wilson score interval (Wilson, 1927) of a share of n observations, above 0.

    Args:
        share: 0..1.
        n: the number of observations; for observations that depend on each other, the effective number.
    """
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    # Rounding may put an end beyond 0 or 1, or on the wrong side of the share itself.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def rate_of(events: Sequence[bool]) -> Rate:
    """The share of events that are true, with its Wilson score interval."""
    if not events:
        return Rate(n=0)
    return wilson(sum(events) / len(events), len(events))


def many_to_one(cases: Iterable[tuple[Sequence[bool], bool]]) -> float | None:
    """The two-sided p of an exact test of many outcomes of a case against a single one; None without cases.

    If the two do not differ, any of a case's outcomes is as likely to be the single one. So how many of the
    single outcomes are true is a sum of independent chances, one for each case: the share of its outcomes
    that are true. With one outcome against one, this is McNemar's test.

    Args:
        cases: for each case its many outcomes, and the single one.
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
    """The two-sided mid-p of McNemar's test (1947); None without cases.

    It counts the observed outcome half, and so raises false alarms as often as its level says, where the
    exact test raises too few (Fagerland, Lydersen and Laake, 2013).

    Args:
        only_first: cases on which only the first outcome is true.
        only_second: cases on which only the second is.
        n: all cases.
    """
    if not n:
        return None
    n_differ = only_first + only_second
    if not n_differ:
        return 1.0
    # Binomial coefficients, each from the one before, which takes no time for thousands of cases either.
    coefficient = 1
    n_ways = 1
    for k in range(min(only_first, only_second)):
        coefficient = coefficient * (n_differ - k) // (k + 1)
        n_ways += coefficient
    n_all_ways: int = 2**n_differ
    return min(1.0, 2 * n_ways / n_all_ways) - coefficient / n_all_ways
