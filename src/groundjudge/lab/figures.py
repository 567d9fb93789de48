"""Figures of agreement between a judge and human labels, with confidence intervals.

Inside the lab, NaN marks a figure that is undefined for the given rows; `Figure` has None in its place.

A plain bootstrap draws from the given rows alone, so a judge without a mistake among forty rows makes none
in any resample: its intervals are too narrow, or have no width at all. Here `add_pseudo_rows`
adds rows in which every kind of mistake occurs, and `Bootstrap` gives all of them random weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import isnan
from typing import Any, TypeAlias

from groundjudge.lab.columns import Sample, SampleStatistics
from groundjudge.lab.formulas import Floats
from groundjudge.lab.libraries import NDArray, import_library, np
from groundjudge.lab.proportions import wilson_interval
from groundjudge.verdict import Finite, Frozen

# Two values of a figure, such as those if the rows without a score were all wrong, and if all were right.
Bounds: TypeAlias = tuple[Finite | None, Finite | None]

# Each figure's value, by name, followed by its resampled values; shape (1 + resamples,).
Draws: TypeAlias = Mapping[str, Floats]

CONFIDENCE = 0.95
# The default number of bootstrap resamples.
RESAMPLES = 2000

# The rows that pseudo-rows add up to: half a row in each cell of a confusion matrix.
PSEUDO_ROWS = 2.0

# The figures with Wilson's interval, and the lowest value of each; the highest is 1. ROC AUC is a share of
# pairs. The weighted kappa is here because percentiles cover too rarely if most labels are the same.
WILSON: Mapping[str, float] = {
    "recall_not_grounded": 0.0,
    "precision_not_grounded": 0.0,
    "recall": 0.0,
    "precision": 0.0,
    "accuracy": 0.0,
    "roc_auc": 0.0,
    "pass_rate": 0.0,
    "same": 0.0,
    "weighted_kappa": -1.0,
}

# A narrower interval is rounding error: nothing varies.
MIN_WIDTH = 1e-9

# The share of samples in which a bound may exceed the true share.
ONE_SIDED = 0.05

# How many bootstrap weights (8 bytes each) to keep in memory at once.
MAX_WEIGHTS = 1_000_000


class Figure(Frozen):
    """A figure with its 95% confidence interval, which never has zero width.

    Attributes:
        value: the point estimate; None if the figure is undefined for the rows.
        low: the lower end of the interval; None without an interval: for a single group, and if nothing
            varies, such as when all scores are the same.
        high: the upper end; None without an interval.
    """

    value: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None


@dataclass(frozen=True)
class Bootstrap:
    """The Bayesian bootstrap of groups (Rubin, 1981): each group gets a random weight for all its rows.

    Attributes:
        resamples: how many resamples to draw.
        seed: the seed of the random generator; the same seed gives the same intervals.
    """

    resamples: int = RESAMPLES
    seed: int = 0

    def draws(self, sample: Sample, statistics: SampleStatistics) -> Draws:
        """Compute figures of a sample with its pseudo-rows, and resample them."""
        batches = [statistics(sample, weights) for weights in self.weights(sample)]
        return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}

    def figures(self, sample: Sample, statistics: SampleStatistics) -> dict[str, Figure]:
        """Compute the figures of a sample, with their intervals."""
        (sample,) = add_pseudo_rows(sample)
        return figures_of(self.draws(sample, statistics), sample.groups)

    def weights(self, sample: Sample) -> Iterator[Floats]:
        """Yield the weights of rows and pseudo-rows, in batches of shape (copies, rows + pseudo-rows).

        The first is the single copy in which each row has its own weight, and pseudo-rows weigh nothing. The
        others are resamples; there are none of a single group.
        """
        yield np.concatenate([sample.weights, np.zeros(sample.prior.size)])[None, :]
        names, group_of_row = np.unique(sample.groups, return_inverse=True)
        prior = sample.prior
        n_groups = names.size
        if n_groups < 2:  # noqa: PLR2004  a single observation does not vary
            return
        generator = np.random.default_rng(self.seed)
        batch_size = max(1, MAX_WEIGHTS // group_of_row.size)
        for start in range(0, self.resamples, batch_size):
            size = min(batch_size, self.resamples - start)
            weights = sample.reweight(generator.exponential(size=(size, n_groups))[:, group_of_row])
            # Gamma-distributed weights of shape 1 (which is the exponential) and 1/2 make shares beta-
            # distributed: those of either class as in Jeffreys' interval.
            shape = PSEUDO_ROWS / max(1, prior.size)
            pseudo_weights = generator.gamma(shape, size=(size, prior.size)) * prior
            yield np.hstack([weights, pseudo_weights])


def add_pseudo_rows(*samples: Sample) -> list[Sample]:
    """Add pseudo-rows to samples of the same rows: one for each way in which label and outcomes can differ.

    Together they count as `PSEUDO_ROWS` rows. If rows come in groups, a pseudo-row weighs as much as an
    average row's group has rows of the class, since all of these may be wrong together.
    """
    groups = samples[0].groups
    labels = samples[0].positive
    # Each pseudo-row has a label, and an outcome for each sample.
    pseudo_rows = np.array([*product((False, True), repeat=1 + len(samples))])
    is_grounded = labels
    if is_grounded is None:
        # Without labels, only the outcomes can differ: half of the pseudo-rows remain.
        is_grounded = np.ones_like(samples[0].passed)
        pseudo_rows = pseudo_rows[pseudo_rows[:, 0]]
    pseudo_labels = pseudo_rows[:, 0]
    weight_grounded = group_weight(groups[is_grounded])
    weight_not_grounded = group_weight(groups[~is_grounded])
    prior = np.where(pseudo_labels, weight_grounded, weight_not_grounded)
    extended_samples: list[Sample] = []
    for sample, pseudo_outcomes in zip(samples, pseudo_rows[:, 1:].T, strict=True):
        extended = replace(
            sample,
            scores=np.concatenate([sample.scores, pseudo_outcomes.astype(np.float64)]),
            passed=np.concatenate([sample.passed, pseudo_outcomes]),
            positive=None if labels is None else np.concatenate([labels, pseudo_labels]),
            prior=prior,
        )
        extended_samples.append(extended)
    return extended_samples


def group_weight(groups: NDArray[Any]) -> float:
    """Compute the size of an average row's group: rows per effective row (Kish, 1965)."""
    sizes = np.unique(groups, return_counts=True)[1]
    if not sizes.size:
        return 1.0
    return float((sizes**2).sum() / sizes.sum())


def resample_pair(
    first: Sample, second: Sample, statistics: SampleStatistics, bootstrap: Bootstrap
) -> tuple[Draws, Draws, Draws]:
    """Resample the figures of two judges on the same rows, and their differences.

    This is the paired bootstrap: a resample weighs the rows the same way for both judges, so variation
    between rows cancels out.

    Args:
        first: the sample of the first judge.
        second: the sample of the second, with the same rows in the same order.
        statistics: computes the figures of each.
        bootstrap: how to draw resamples.

    Returns:
        The first judge's figures, the second's, and the second's minus the first's.
    """
    first, second = add_pseudo_rows(first, second)
    # Both start with the same seed, so they have the same random weights.
    draws_of_first = bootstrap.draws(first, statistics)
    draws_of_second = bootstrap.draws(second, statistics)
    differences = {name: draws_of_second[name] - draws_of_first[name] for name in draws_of_first}
    return draws_of_first, draws_of_second, differences


def figures_of(draws: Draws, groups: NDArray[Any]) -> dict[str, Figure]:
    """Turn draws into figures with intervals.

    Shares, named in `WILSON`, have Wilson's interval (1927), for the number of rows that would make a share
    vary as much as among the resamples: all rows if they are independent, fewer if in groups. All other
    intervals contain the middle 95% of the resampled figures, and the figure itself.

    Args:
        draws: each figure, followed by its values in the resamples.
        groups: the group of each row that they were computed from, shape (rows,).
    """
    n_groups = np.unique(groups).size
    figures = percentile_figures(draws)
    for name in WILSON.keys() & draws.keys():
        interval = partial(_wilson, lowest=WILSON[name], n_rows=groups.size, n_groups=n_groups)
        figures[name] = _figure(draws[name], interval)
    return figures


def percentile_figures(draws: Draws) -> dict[str, Figure]:
    """Turn draws into figures whose interval contains the middle 95% of the resamples, and the figure."""
    return {name: _figure(values, _percentiles) for name, values in draws.items()}


def clear_differences(draws: Draws) -> list[str]:
    """Name the differences that are not 0, with a 5% chance of naming any if all are 0.

    Differences are measured in units of their spread. The limit is the value that the largest of them exceeds
    in 5% of the resamples, each centred on its mean (max-T: Westfall and Young, 1993). The mean of the
    resamples must exceed it, because pseudo-rows keep it from extremes on few rows, and the interval of the
    difference alone must also exclude 0.
    """
    defined_draws: dict[str, Floats] = {}
    for name, values in draws.items():
        if values.size > 1 and not np.isnan(values).any():
            defined_draws[name] = values
    if not defined_draws:
        return []
    resampled = np.array([values[1:] for values in defined_draws.values()])
    spreads = resampled.std(axis=1)
    deviations = np.abs(resampled - resampled.mean(axis=1)[:, None])
    units = np.where(spreads > 0, spreads, 1)
    largest_deviations = (deviations / units[:, None]).max(axis=0)
    limit = np.quantile(largest_deviations, CONFIDENCE)
    clear_names: list[str] = []
    for (name, values), spread in zip(defined_draws.items(), spreads, strict=True):
        if abs(values[1:].mean()) > limit * spread:
            low, high = _percentiles(float(values[0]), values[1:])
            if low * high > 0:
                clear_names.append(name)
    return clear_names


def none_if_nan(value: float) -> float | None:
    """Convert a figure for results: None in place of NaN."""
    return None if isnan(value) else value


def pair_values(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Bounds]:
    """Pair two values of each figure; None where one is undefined."""
    return {name: (none_if_nan(value), none_if_nan(second[name])) for name, value in first.items()}


def _figure(values: Floats, find_interval: Callable[[float, Floats], tuple[float, float]]) -> Figure:
    """Make a figure from its value and the resampled ones, omitting an interval without width."""
    value = float(values[0])
    resampled = values[1:][~np.isnan(values[1:])]
    # An interval needs at least two values.
    if not isnan(value) and resampled.size > 1:
        low, high = find_interval(value, resampled)
        if high - low > MIN_WIDTH:
            return Figure(value=value, low=low, high=high)
    return Figure(value=none_if_nan(value))


def _wilson(
    value: float, resampled: Floats, lowest: float, n_rows: int, n_groups: int
) -> tuple[float, float]:
    """Compute Wilson's interval for a share of the range from the figure's lowest value to 1.

    Args:
        value: the figure.
        resampled: its resampled values.
        lowest: its lowest possible value.
        n_rows: the number of rows that it covers.
        n_groups: the number of groups that these rows are in.
    """
    extent = 1 - lowest
    # If all rows are right, or all wrong, nothing shows that the rows of a group say more than one row.
    most = n_groups if value in {lowest, 1.0} else n_rows
    mean = (resampled.mean() - lowest) / extent
    variance = resampled.var() / extent**2
    # This is the variance of a beta distribution for a share of n rows and one pseudo-row.
    effective = float(mean * (1 - mean) / variance) - 2
    effective = min(most, max(1.0, effective))
    low, high = wilson_interval((value - lowest) / extent, effective)
    return lowest + extent * low, lowest + extent * high


def _percentiles(value: float, resampled: Floats) -> tuple[float, float]:
    """Return the ends of the middle 95% of the resampled values, extended to the value itself."""
    ends = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.quantile(resampled, ends).tolist()
    return min(low, value), max(high, value)


def lower_bound(events: float, n: float, error: float = ONE_SIDED) -> float:
    """Compute the one-sided exact lower bound of a share, at 95% by default; 0 without observations.

    This is Clopper and Pearson's bound (1934), as a quantile of the beta distribution.

    Args:
        events: how many observations are counted; need not be whole if observations are weighted.
        n: the number of all observations.
        error: the share of samples in which the bound may exceed the true share.
    """
    if not events:
        return 0.0  # the beta distribution has no such quantile: SciPy gives NaN
    # Not `scipy.stats.beta.ppf`, which is the same: that takes three times as long to import.
    return float(import_library("scipy.special").betaincinv(events, n - events + 1, error))
