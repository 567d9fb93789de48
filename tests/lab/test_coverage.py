"""How often the 95% intervals hold the true figure, over sizes, shares of grounded rows and groups.

`GROUNDJUDGE_DRAWS=400 pytest -m soak -s tests/lab/test_coverage.py` prints it; docs/trust.md names the range.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest
from make_verdicts import joined, labelled

from groundjudge.lab.agreement import measure_labels
from groundjudge.lab.calibration import calibrate
from groundjudge.lab.columns import Sample
from groundjudge.lab.figures import (
    Bootstrap,
    Draws,
    Figure,
    clear_differences,
    percentile_figures,
    resample_pair,
)
from groundjudge.lab.formulas import Bools, Floats
from groundjudge.lab.labels import LabelError, Labels, LabelVocabulary, join
from groundjudge.lab.notices import few_rows_notice

special: Any = import_module("scipy.special")
ndtr: Callable[[Any], Any] = special.ndtr
ndtri: Callable[[float], float] = special.ndtri

pytestmark = pytest.mark.soak

DRAWS = int(os.environ.get("GROUNDJUDGE_DRAWS", "100"))
RESAMPLES, POPULATION = 400, 400_000
IS_WHOLE = "GROUNDJUDGE_DRAWS" in os.environ
"""Whether the whole tables of the page are wanted; without them a few cells in the middle are tested."""
SIZES = (20, 40, 100, 300) if IS_WHOLE else (40, 100)
LEAST = 0.90
NOISE = 2 * (0.9 * 0.1 / DRAWS) ** 0.5
"""Two standard errors of a coverage of 0.9 over the draws."""
GROUP, SAME = 5, 0.5
"""Rows in a group, where there are groups, and the correlation of what decides their scores."""
GOOD, FAIR = (0.97, 0.95), (0.8, 0.7)
"""Sensitivity and specificity of two judges."""
SHARES = (0.5, 0.9)
CELLS = (
    [*product(SIZES, SHARES, (1, GROUP))] if IS_WHOLE else [(40, 0.5, 1), (100, 0.9, 1), (100, 0.5, GROUP)]
)
"""The number of rows, the share of grounded ones, and the size of groups."""

Generator = np.random.Generator


def noise(generator: Generator, n: int, group: int) -> Floats:
    """Standard normal deviates, correlated within groups."""
    of_rows = generator.standard_normal(n)
    of_groups = generator.standard_normal(n // group).repeat(group)
    if group == 1:
        return of_rows
    deviates: Floats = np.sqrt(SAME) * of_groups + np.sqrt(1 - SAME) * of_rows
    return deviates


def sample_of_judge(positive: Bools, deviates: Floats, group: int, rates: tuple[float, float]) -> Sample:
    """A judge with this sensitivity and specificity."""
    latent: Floats = deviates + np.where(positive, ndtri(rates[0]), -ndtri(rates[1]))
    groups = np.arange(positive.size // group).repeat(group)
    return Sample(ndtr(latent).round(2), latent > 0, groups, positive)


def one_judge(generator: Generator, n: int, share: float, group: int, rates: tuple[float, float]) -> Sample:
    return sample_of_judge(generator.random(n) < share, noise(generator, n, group), group, rates)


def two_judges(generator: Generator, n: int, share: float, group: int) -> list[Sample]:
    """Two judges with the same rates, whose mistakes are correlated."""
    positive, common = generator.random(n) < share, noise(generator, n, group)
    samples: list[Sample] = []
    for _ in range(2):
        deviates = 0.7 * common + np.sqrt(0.51) * noise(generator, n, group)
        samples.append(sample_of_judge(positive, deviates, group, (0.9, 0.8)))
    return samples


def sample_of_grades(generator: Generator, n: int, _: float, group: int, rho: float) -> Sample:
    """Five grades whose scores correlate with them."""
    grade, remainder = noise(generator, n, group), noise(generator, n, group)
    scores = ndtr(rho * grade + np.sqrt(1 - rho**2) * remainder)
    groups = np.arange(n // group).repeat(group)
    return Sample(scores, scores > 0.5, groups, None, np.digitize(grade, [-1, -0.3, 0.3, 1]).astype(float))


class Tally:
    """How often intervals held the true figures."""

    def __init__(self, true: Mapping[str, float]) -> None:
        self.true = true
        self.holds: dict[str, list[bool]] = {}

    def add(self, figures: Mapping[str, Figure]) -> None:
        """Count the intervals; there is none of zero width."""
        for name, figure in figures.items():
            if figure.low is not None and figure.high is not None:
                assert figure.low < figure.high
                self.holds.setdefault(name, []).append(figure.low <= self.true[name] <= figure.high)

    def shares(self, what: str) -> dict[str, float]:
        """The share of intervals that hold, which is printed."""
        shares = {name: float(np.mean(holds)) for name, holds in self.holds.items()}
        text = "; ".join(f"{name} {share:.3f}" for name, share in shares.items())
        sys.stdout.write(f"\n{what}: {text}")
        return shares


def seeds(*cell: float) -> Iterator[Generator]:
    yield from np.random.default_rng([int(100 * number) for number in cell]).spawn(DRAWS)


@pytest.mark.parametrize("rates", [pytest.param(GOOD, id="good judge"), pytest.param(FAIR, id="fair judge")])
@pytest.mark.parametrize(("n", "share", "group"), CELLS)
def test_figures_of_labels_are_covered_or_there_is_a_note(
    n: int, share: float, group: int, rates: tuple[float, float]
) -> None:
    population = one_judge(np.random.default_rng(0), POPULATION, share, group, rates)
    tally, n_notices = Tally(population.values(Sample.agreement)), 0
    for place, generator in enumerate(seeds(n, share, group, *rates)):
        sample = one_judge(generator, n, share, group, rates)
        tally.add(Bootstrap(RESAMPLES, place).figures(sample, Sample.agreement))
        n_notices += few_rows_notice(sample) is not None
    shares = tally.shares(f"{n} rows, {share} grounded, groups of {group}, judge {rates}, noted {n_notices}")
    if n_notices < DRAWS / 2:
        assert min(shares.values()) > LEAST - NOISE
    if (n, share, group, rates) == (40, 0.5, 1, GOOD):
        assert min(shares["balanced_accuracy"], shares["f1"], shares["f1_not_grounded"]) > 0.92 - NOISE


@pytest.mark.parametrize(("n", "group"), product(SIZES, (1, GROUP)) if IS_WHOLE else [(40, 1), (100, GROUP)])
@pytest.mark.parametrize(
    "rho", [pytest.param(0.95, id="strong correlation"), pytest.param(0.6, id="weak correlation")]
)
def test_correlations_are_covered_or_there_is_a_note(n: int, group: int, rho: float) -> None:
    tally = Tally(
        sample_of_grades(np.random.default_rng(0), POPULATION, 0, group, rho).values(Sample.agreement)
    )
    samples = [sample_of_grades(generator, n, 0, group, rho) for generator in seeds(n, group, rho)]
    for place, sample in enumerate(samples):
        tally.add(Bootstrap(RESAMPLES, place).figures(sample, Sample.agreement))
    shares = tally.shares(f"{n} graded rows, groups of {group}, correlation {rho}")
    assert few_rows_notice(samples[0]) or min(shares.values()) > LEAST - NOISE


@pytest.mark.parametrize(("n", "share", "group"), [cell for cell in CELLS if cell[0] > 20])
def test_differences_are_covered_and_equal_judges_seldom_differ_clearly(
    n: int, share: float, group: int
) -> None:
    sides = two_judges(np.random.default_rng(0), POPULATION, share, group)
    tally, clear, n_notices = Tally(dict.fromkeys(sides[0].values(Sample.agreement), 0.0)), 0, 0
    for place, generator in enumerate(seeds(n, share, group)):
        samples = two_judges(generator, n, share, group)
        change: Draws = resample_pair(samples[0], samples[1], Sample.agreement, Bootstrap(RESAMPLES, place))[
            2
        ]
        tally.add(percentile_figures(change))
        clear += bool(clear_differences(change))
        n_notices += few_rows_notice(samples[0]) is not None
    shares = tally.shares(f"{n} rows, {share} grounded, groups of {group}, any clear {clear / DRAWS:.3f}")
    assert n_notices > DRAWS / 2 or min(shares.values()) > LEAST - NOISE
    assert clear / DRAWS < 0.05 + NOISE


@pytest.mark.parametrize("n", SIZES if IS_WHOLE else [100])
@pytest.mark.parametrize(
    "rho", [pytest.param(0.95, id="strong correlation"), pytest.param(0.6, id="weak correlation")]
)
def test_agreement_of_labels_is_covered(n: int, rho: float) -> None:
    names, cuts = {"a": 0.0, "b": 0.5, "c": 1.0}, [-0.5, 0.5]

    def words(generator: Generator, size: int) -> Any:
        first, remainder = generator.standard_normal((2, size))
        second = rho * first + np.sqrt(1 - rho**2) * remainder
        return np.array([*names])[np.digitize([first, second], cuts)]

    def measure(pairs: Any, resamples: int, seed: int) -> dict[str, Figure]:
        ids = [*map(str, range(pairs.shape[1]))]
        verdicts = [labelled(case_id, word, names[word]) for case_id, word in zip(ids, pairs[1], strict=True)]
        labels = Labels(
            dict(zip(ids, pairs[0].tolist(), strict=True)), vocabulary=LabelVocabulary(names, 0.5)
        )
        (judged_rows,) = join(verdicts, labels)
        result = measure_labels(judged_rows, Bootstrap(resamples, seed))
        assert result
        return {"same": result.same, "weighted_kappa": result.weighted_kappa}

    whole = measure(words(np.random.default_rng(0), 20_000), 0, 0)
    tally = Tally({name: figure.value or 0.0 for name, figure in whole.items()})
    for place, generator in enumerate(seeds(n, rho)):
        tally.add(measure(words(generator, n), RESAMPLES, place))
    shares = tally.shares(f"{n} rows with one of three labels, correlation {rho}")
    assert n < 40 or min(shares.values()) > LEAST - NOISE


@pytest.mark.parametrize("n", (40, 100, 300) if IS_WHOLE else (100,))
@pytest.mark.parametrize("folds", (None, 4) if IS_WHOLE else (4,))  # of halves, see test_model_change.py
@pytest.mark.timeout(600)
def test_the_best_threshold_is_covered(n: int, folds: int | None) -> None:
    tally = Tally({"threshold": float(ndtr((ndtri(FAIR[0]) - ndtri(FAIR[1])) / 2))})
    for place, generator in enumerate(seeds(n)):
        sample = one_judge(generator, n, 0.5, 1, FAIR)
        assert sample.positive is not None
        try:
            calibration = calibrate(
                joined(sample.scores.tolist(), sample.positive.astype(int).tolist()),
                folds=folds, resamples=200, seed=place,
            )  # fmt: skip
        except LabelError:
            continue
        tally.add({"threshold": calibration.interval})
    assert tally.shares(f"threshold, {n} rows, folds {folds}")["threshold"] > 0.8
