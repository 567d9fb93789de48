"""The figures of agreement and their intervals: scikit-learn and SciPy measure, NumPy resamples.

Throughout, "positive" means that people called a response grounded, and "passed" that the judge did.
NaN stands for a figure that the rows do not define; it never leaves this library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, TypeAlias

from groundjudge.analysis.libraries import NDArray, metrics, np, stats
from groundjudge.verdict import Finite, Frozen

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

AGREEMENT = (
    "accuracy",
    "balanced_accuracy",
    "precision",
    "recall",
    "f1",
    "kappa",
    "roc_auc",
    "spearman",
)
"""The figures that need labels."""

NAMES = ("mean_score", "pass_rate", *AGREEMENT)

LEVEL = 0.95
RESAMPLES = 2000
DEFINED_IN = 0.9
"""An interval is given when the figure is defined in so large a share of the resamples."""

NO_SPREAD = 0.1
"""Ranks are multiples of a half: what varies less than this varies by rounding only."""

AT_A_TIME = 4_000_000
"""How many weights are held in memory together, 8 bytes each."""


class Figure(Frozen):
    """A figure and its 95 % interval; None where the rows do not define it.

    An interval without width means that the rows hold nothing to resample, such as no error at all;
    it does not mean that there are none.
    """

    value: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None


@dataclass(frozen=True)
class Sample:
    """Rows as columns of numbers.

    Attributes:
        scores: 0..1.
        passed: what the judge called grounded.
        positive: what people called grounded; None when labels are graded and nobody said from which
            one on they mean grounded.
        graded: the labels themselves where they are graded, otherwise None.
        groups: which rows belong together, as numbers from 0 without gaps.
    """

    scores: Floats
    passed: Bools
    positive: Bools | None
    graded: Floats | None
    groups: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """How many groups there are: the number of independent observations."""
        return int(self.groups.max()) + 1 if self.groups.size else 0

    def rows(self, chosen: NDArray[Any]) -> Sample:
        """Some of the rows: those of a mask, or of a list of places."""
        return Sample(
            self.scores[chosen],
            self.passed[chosen],
            None if self.positive is None else self.positive[chosen],
            None if self.graded is None else self.graded[chosen],
            numbered(self.groups[chosen]),
        )


def numbered(groups: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Groups as numbers from 0 without gaps, whatever they are called."""
    return np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1).astype(np.int64)


def measure(sample: Sample) -> dict[str, float]:
    """All figures of a sample, NaN where they are undefined.

    With labels of one class only, balanced accuracy, kappa and ROC AUC are undefined: they ask how
    well two classes are told apart. Precision is undefined when nothing passed, recall when nothing
    is positive, F1 when neither is.
    """
    found = dict.fromkeys(NAMES, nan)
    positive, passed = sample.positive, sample.passed
    if passed.size:
        found["mean_score"], found["pass_rate"] = sample.scores.mean(), passed.mean()
    if positive is not None and positive.size:
        found["accuracy"] = metrics.accuracy_score(positive, passed)
        if passed.any():
            found["precision"] = metrics.precision_score(positive, passed, zero_division=0)
        if positive.any():
            found["recall"] = metrics.recall_score(positive, passed, zero_division=0)
        if positive.any() or passed.any():
            found["f1"] = metrics.f1_score(positive, passed, zero_division=0)
        if positive.any() and not positive.all():
            found["balanced_accuracy"] = metrics.balanced_accuracy_score(positive, passed)
            found["kappa"] = metrics.cohen_kappa_score(positive, passed)
            found["roc_auc"] = metrics.roc_auc_score(positive, sample.scores)
    if sample.graded is not None and np.ptp(sample.graded) > 0 and np.ptp(sample.scores) > 0:
        found["spearman"] = stats.spearmanr(sample.graded, sample.scores).statistic
    return {name: float(value) for name, value in found.items()}


def constant_guess(positive: Bools) -> dict[str, float]:
    """What is reached without looking, by calling every response what most of them are.

    For F1 it is calling all of them grounded; for kappa 0 and for balanced accuracy and ROC AUC 0.5,
    whatever is guessed.
    """
    share = float(positive.mean()) if positive.size else nan
    return {
        "accuracy": max(share, 1 - share),
        "balanced_accuracy": 0.5,
        "f1": 2 * share / (1 + share),
        "kappa": 0.0,
        "roc_auc": 0.5,
    }


def intervals(sample: Sample, *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Figure]:
    """The figures of a sample with their intervals.

    The interval is the percentile bootstrap's: groups are drawn with replacement, each with all its
    rows (Davison and Hinkley, Bootstrap Methods and their Application, 1997).
    """
    return _figures(measure(sample), sample, resamples, seed, weighted(sample))


def differences(
    first: Sample, second: Sample, *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Figure]:
    """Second minus first, figure by figure, for two judgements of the same rows.

    Both are measured on the same resamples, so that what makes a row hard for both cancels out.
    """
    before, after = measure(first), measure(second)
    before_in, after_in = weighted(first), weighted(second)

    def drawn(weights: Floats) -> dict[str, Floats]:
        one, other = before_in(weights), after_in(weights)
        return {name: other[name] - one[name] for name in NAMES}

    return _figures({name: after[name] - before[name] for name in NAMES}, first, resamples, seed, drawn)


def weighted(sample: Sample) -> Callable[[Floats], dict[str, Floats]]:
    """The function from weights, a line per resample, to the figures of the rows so weighted.

    They equal what `measure` says of the rows, each repeated as often as it weighs; asking that for
    thousands of resamples would take minutes.
    """
    positive, passed = sample.positive, sample.passed
    cells = None
    if positive is not None:
        masks = (positive & passed, ~positive & passed, positive & ~passed, ~positive & ~passed)
        cells = np.stack(masks, axis=1).astype(np.float64)
    by_score = _tied(sample.scores)
    by_label = None if sample.graded is None else _tied(sample.graded)

    def figures(weights: Floats) -> dict[str, Floats]:
        found = {name: np.full(len(weights), nan) for name in NAMES}
        total = weights.sum(axis=1)
        found["mean_score"], found["pass_rate"] = weights @ sample.scores / total, weights @ passed / total
        if positive is not None and cells is not None:
            found |= rates(*(weights @ cells).T)
            found["roc_auc"] = _areas(weights, positive, by_score)
        if by_label is not None:
            found["spearman"] = _correlations(weights, _ranks(weights, by_score), _ranks(weights, by_label))
        return found

    return figures


def rates(
    true_positives: Floats, false_positives: Floats, false_negatives: Floats, true_negatives: Floats
) -> dict[str, Floats]:
    """The figures of many confusion tables at once, from arrays of their four cells.

    They equal `measure`'s; one table after the other, scikit-learn would take minutes for them.

    Args:
        true_positives: positive and passed.
        false_positives: passed, but not positive.
        false_negatives: positive, but not passed.
        true_negatives: neither.
    """
    true_positives, false_positives, false_negatives, true_negatives = (
        np.asarray(cell, dtype=np.float64)
        for cell in (true_positives, false_positives, false_negatives, true_negatives)
    )
    n, positives, negatives = (
        true_positives + false_positives + false_negatives + true_negatives,
        true_positives + false_negatives,
        false_positives + true_negatives,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = true_positives / positives
        accuracy = (true_positives + true_negatives) / n
        by_chance = (
            (true_positives + false_positives) * positives + (false_negatives + true_negatives) * negatives
        ) / n**2
        two_classes = (positives > 0) & (negatives > 0)
        return {
            "accuracy": accuracy,
            "balanced_accuracy": (recall + true_negatives / negatives) / 2,
            "precision": true_positives / (true_positives + false_positives),
            "recall": recall,
            "f1": 2 * true_positives / (2 * true_positives + false_positives + false_negatives),
            "kappa": np.where(two_classes, (accuracy - by_chance) / (1 - by_chance), nan),
        }


def _figures(
    points: Mapping[str, float],
    sample: Sample,
    resamples: int,
    seed: int,
    statistics: Callable[[Floats], Mapping[str, Floats]],
) -> dict[str, Figure]:
    """Each figure with its interval, from the statistics of the resamples."""
    portions = [statistics(weights) for weights in _weights(sample, resamples, seed)]
    nothing = np.empty(0)
    return {
        name: _figure(point, np.concatenate([nothing, *(portion[name] for portion in portions)]))
        for name, point in points.items()
    }


def _weights(sample: Sample, resamples: int, seed: int) -> Iterator[Floats]:
    """Resamples as weights: how often each row was drawn, a line per resample."""
    n_groups = sample.n_groups
    if n_groups < 2:  # noqa: PLR2004  one observation does not vary
        return
    generator = np.random.default_rng(seed)
    portion = max(1, AT_A_TIME // max(n_groups, sample.groups.size))
    for start in range(0, resamples, portion):
        size = min(portion, resamples - start)
        drawn = generator.integers(n_groups, size=(size, n_groups)) + n_groups * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n_groups).reshape(size, n_groups)
        yield counts[:, sample.groups].astype(np.float64)


@dataclass(frozen=True)
class _Ties:
    """Values in order: which rows come first, and where in that order each run of equals begins."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    run_of_row: NDArray[np.int64]


def _tied(values: Floats) -> _Ties:
    order = np.argsort(values, kind="stable")
    _, starts, run_of_row = np.unique(values[order], return_index=True, return_inverse=True)
    back = np.empty_like(order)
    back[order] = run_of_row.reshape(-1)
    return _Ties(order, starts, back)


def _runs(weights: Floats, ties: _Ties) -> Floats:
    """The weight of each run of equals, lowest first."""
    return np.add.reduceat(weights[:, ties.order], ties.starts, axis=1)


def _areas(weights: Floats, positive: Bools, ties: _Ties) -> Floats:
    """The area under the ROC curve: how often a positive outscores a negative, ties counting half."""
    ups, downs = _runs(weights * positive, ties), _runs(weights * ~positive, ties)
    below = np.cumsum(downs, axis=1) - downs
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((ups * (below + downs / 2)).sum(axis=1) / (ups.sum(axis=1) * downs.sum(axis=1)))


def _ranks(weights: Floats, ties: _Ties) -> Floats:
    """Each row's rank among the rows so weighted; equals share the mean of theirs."""
    runs = _runs(weights, ties)
    return np.asarray((np.cumsum(runs, axis=1) - runs + (runs + 1) / 2)[:, ties.run_of_row])


def _correlations(weights: Floats, first: Floats, second: Floats) -> Floats:
    """Pearson's correlation of two columns of each line, rows weighted."""
    total = weights.sum(axis=1, keepdims=True)
    first = first - (weights * first).sum(axis=1, keepdims=True) / total
    second = second - (weights * second).sum(axis=1, keepdims=True) / total
    spreads = (weights * first**2).sum(axis=1), (weights * second**2).sum(axis=1)
    varied = np.minimum(*spreads) > NO_SPREAD
    with np.errstate(divide="ignore", invalid="ignore"):
        together = (weights * first * second).sum(axis=1) / np.sqrt(spreads[0] * spreads[1])
    return np.where(varied, together, nan)


def _figure(value: float, drawn: Floats) -> Figure:
    """A figure with the interval that holds the middle 95 % of its resamples."""
    if isnan(value):
        return Figure()
    defined = drawn[~np.isnan(drawn)]
    if not defined.size or defined.size < DEFINED_IN * drawn.size:
        return Figure(value=value)
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(value=value, low=float(low), high=float(high))
