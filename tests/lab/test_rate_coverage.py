"""Intervals of the true rate hold it in 95 of 100 samples, and are narrower than those of labels alone."""

from __future__ import annotations

from itertools import product
from math import sqrt
from operator import itemgetter
from statistics import fmean

import numpy as np
import pytest

from groundjudge.lab.proportions import Z, wilson
from groundjudge.lab.rate import StratumCounts, stratified_rate
from groundjudge.lab.sample import ENOUGH_LABELS, FAILED, HIGHER, LOWER, PASSED, allocation

ROWS, DRAWS = 2000, 500
RATES, SIZES = (0.5, 0.8, 0.95, 0.99), (50, 100, 300)
# The share of grounded and of other answers that pass, and of those that do not the share in the lower half.
JUDGES = {
    "good": (0.97, 0.05, 0.2, 0.8),
    "fair": (0.90, 0.20, 0.3, 0.7),
    "weak": (0.80, 0.50, 0.4, 0.6),
    "useless": (0.70, 0.70, 0.5, 0.5),
}


def population(random: np.random.Generator, rate: float, judge: str, n: int) -> dict[str, tuple[int, int]]:
    """For each stratum of `ROWS` answers how many it has, and how many of them are grounded."""
    passes, errs, low, low_of_others = JUDGES[judge]
    failed, failed_of_others = rate * (1 - passes), (1 - rate) * (1 - errs)
    cells = {
        PASSED: (rate * passes, (1 - rate) * errs),
        LOWER: (failed * low, failed_of_others * low_of_others),
        HIGHER: (failed * (1 - low), failed_of_others * (1 - low_of_others)),
    }
    if n < ENOUGH_LABELS:
        cells = {PASSED: cells[PASSED], FAILED: (failed, failed_of_others)}
    counts = random.multinomial(ROWS, np.concatenate([*cells.values()])).reshape(-1, 2).tolist()
    strata: dict[str, tuple[int, int]] = {}
    for name, (grounded, not_grounded) in zip(cells, counts, strict=True):
        if grounded + not_grounded:
            strata[name] = (grounded + not_grounded, grounded)
    return strata


def draw_once(random: np.random.Generator, rate: float, judge: str, n: int) -> tuple[bool, float, float]:
    """Whether the interval holds the rate, its width, and the width of that of labels alone."""
    strata = population(random, rate, judge, n)
    counts = allocation({name: rows for name, (rows, _) in strata.items()}, n)
    strata_counts: list[StratumCounts] = []
    for name, (rows, grounded) in strata.items():
        y = random.hypergeometric(grounded, rows - grounded, counts[name])
        strata_counts.append(StratumCounts(rows, rows, [*[(1, 1)] * y, *[(1, 0)] * (counts[name] - y)]))
    value, variance = stratified_rate(strata_counts)
    half, grounded = Z * sqrt(variance), sum(grounded for _, grounded in strata.values())
    low, high = max(0.0, value - half), min(1.0, value + half)
    alone = wilson(random.hypergeometric(grounded, ROWS - grounded, n) / n, n)
    return low <= grounded / ROWS <= high, high - low, (alone.high or 0.0) - (alone.low or 0.0)


@pytest.mark.soak
def test_the_intervals_hold_the_rate_and_are_narrower_than_those_of_labels_alone() -> None:
    random = np.random.default_rng(7)
    coverage: dict[tuple[float, str, int], float] = {}
    widths: dict[tuple[float, str, int], float] = {}
    for cell in product(RATES, JUDGES, SIZES):
        holds, width, alone = zip(*(draw_once(random, *cell) for _ in range(DRAWS)), strict=True)
        coverage[cell], widths[cell] = fmean(holds), fmean(width) / fmean(alone)
    assert fmean(coverage.values()) >= 0.95
    assert min(coverage.values()) >= 0.90, min(coverage.items(), key=itemgetter(1))
    assert fmean(width for (_, _, n), width in widths.items() if n == 100) <= 0.90
    assert max(widths.values()) <= 1.06, max(widths.items(), key=itemgetter(1))
