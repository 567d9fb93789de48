"""The intervals of the true rate hold it in 95 of 100 samples, and are narrower than those of labels alone."""

from __future__ import annotations

from itertools import product
from math import sqrt
from statistics import fmean

import numpy as np
import pytest

from groundjudge.analysis.rate import stratified
from groundjudge.analysis.sample import ERROR, HIGHER, LOWER, NOT_APPLICABLE, PASSED, Stratum, allocation
from groundjudge.shares import Z, wilson

ROWS, DRAWS = 2000, 2000
RATES, SIZES = (0.5, 0.8, 0.95, 0.99), (50, 100, 300)
JUDGES = {  # the share of grounded and of other answers that pass, and that lie in the lower half if they do not
    "good": (0.97, 0.05, 0.2, 0.8),
    "fair": (0.90, 0.20, 0.3, 0.7),
    "weak": (0.80, 0.50, 0.4, 0.6),
    "useless": (0.70, 0.70, 0.5, 0.5),
}


def population(
    random: np.random.Generator, rate: float, judge: str, unjudged: float
) -> dict[str, tuple[int, int]]:
    """For each stratum of `ROWS` answers how many it has, and how many of them are grounded."""
    passes, errs, low, low_of_others = JUDGES[judge]
    cells = {
        PASSED: (rate * passes, (1 - rate) * errs),
        LOWER: (rate * (1 - passes) * low, (1 - rate) * (1 - errs) * low_of_others),
        HIGHER: (rate * (1 - passes) * (1 - low), (1 - rate) * (1 - errs) * (1 - low_of_others)),
    }
    shares = {name: [share * (1 - 2 * unjudged) for share in both] for name, both in cells.items()}
    shares |= {name: [rate * unjudged, (1 - rate) * unjudged] for name in (ERROR, NOT_APPLICABLE)}
    counts = random.multinomial(ROWS, np.concatenate([*shares.values()])).reshape(-1, 2).tolist()
    return {name: (grounded + other, grounded) for name, (grounded, other) in zip(shares, counts, strict=True) if grounded + other}


def draw_once(random: np.random.Generator, strata: dict[str, tuple[int, int]], n: int) -> tuple[bool, float, float]:
    """Whether the interval holds the rate, its width, and the width of that of labels alone."""
    counts = allocation({name: rows for name, (rows, _) in strata.items()}, n)
    found: list[Stratum] = []
    known: dict[str, bool] = {}
    for name, (rows, grounded) in strata.items():
        k = counts[name]
        y = random.hypergeometric(grounded, rows - grounded, k)
        ids = [f"{name} {place}" for place in range(k)]
        known |= {case_id: place < y for place, case_id in enumerate(ids)}
        found.append(Stratum(name=name, rows=rows, units=rows, drawn=tuple((one,) for one in ids)))
    value, variance = stratified(found, known)
    half, true = Z * sqrt(variance), sum(grounded for _, grounded in strata.values()) / ROWS
    low, high = max(0.0, value - half), min(1.0, value + half)
    alone = wilson(random.hypergeometric(round(true * ROWS), ROWS - round(true * ROWS), n) / n, n)
    return low <= true <= high, high - low, (alone.high or 0) - (alone.low or 0)


@pytest.mark.soak
@pytest.mark.parametrize("unjudged", [0.0, 0.03])
def test_the_intervals_hold_the_rate_and_are_narrower_than_those_of_labels_alone(unjudged: float) -> None:
    random = np.random.default_rng(7)
    covered: dict[tuple[float, str, int], float] = {}
    widths: dict[tuple[float, str, int], float] = {}
    for cell in product(RATES, JUDGES, SIZES):
        rate, judge, n = cell
        draws = [draw_once(random, population(random, rate, judge, unjudged), n) for _ in range(DRAWS)]
        covered[cell] = fmean(held for held, _, _ in draws)
        widths[cell] = fmean(width for _, width, _ in draws) / fmean(alone for _, _, alone in draws)
    assert fmean(covered.values()) >= 0.95
    assert min(covered.values()) >= 0.90
    assert fmean(widths[cell] for cell in widths if cell[2] == 100) <= 0.90
    assert max(widths.values()) <= 1.06
