"""Shares with their intervals, and the test of two shares on the same cases. They need no extra."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import sqrt

from groundjudge.verdict import Frozen, Score

Z = 1.959963984540054
"""The normal deviate of a 95 % interval."""


class Rate(Frozen):
    """A share with its 95 % Wilson interval. All but `n` are None without observations.

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
    """The share of events that are true."""
    return wilson(sum(events) / len(events), len(events)) if events else Rate(n=0)


def many_to_one(cases: Iterable[tuple[Sequence[bool], bool]]) -> float | None:
    """The two-sided p of an exact test of many outcomes of a case against one other; None without cases.

    If they do not differ, any of a case's outcomes is as likely to be the other one. So how many of the
    others are true is a sum of independent chances, one for each case: the share of its outcomes that are
    true. With one outcome against one, this is McNemar's test.

    Args:
        cases: for each case its outcomes, and the other one.
    """
    chances, n_true, is_empty = [1.0], 0, True
    for outcomes, other in cases:
        share = (sum(outcomes) + other) / (len(outcomes) + 1)
        pairs = zip([*chances, 0.0], [0.0, *chances], strict=True)
        chances = [same * (1 - share) + fewer * share for same, fewer in pairs]
        n_true, is_empty = n_true + other, False
    return None if is_empty else min(1.0, 2 * min(sum(chances[: n_true + 1]), sum(chances[n_true:])))


def mcnemar(pairs: Iterable[tuple[bool, bool]]) -> float | None:
    """The two-sided p of the exact McNemar test (1947) on pairs of outcomes; None without pairs.

    A binomial test on the pairs whose two outcomes differ; 1 if there are none of these.
    """
    counts = Counter(pairs)
    one, other = counts[True, False], counts[False, True]
    n = one + other
    # Binomial coefficients, each from the one before, which takes no time for thousands of pairs either.
    ways = accumulate(range(min(one, other)), lambda before, k: before * (n - k) // (k + 1), initial=1)
    return min(1.0, 2 * sum(ways) / 2**n) if counts.total() else None
