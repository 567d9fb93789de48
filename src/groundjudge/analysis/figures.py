"""Figures of agreement between a judge and human labels, with bootstrap confidence intervals.

"Positive" means that the label calls a response grounded, "passed" that the judge does. Inside this
package NaN marks a figure that is undefined for the given rows; `Figure` has None in its place.
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

LABEL_FREE_FIGURES = ("mean_score", "pass_rate")
"""Figures that are computed from verdicts alone."""

AGREEMENT_FIGURES = (
    "accuracy",
    "balanced_accuracy",
    "precision",
    "recall",
    "f1",
    "kappa",
    "roc_auc",
    "spearman",
)
"""Figures that compare verdicts with labels."""

ALL_FIGURES = (*LABEL_FREE_FIGURES, *AGREEMENT_FIGURES)

CONFIDENCE = 0.95
RESAMPLES = 2000
"""How many bootstrap resamples are drawn by default."""

MIN_DEFINED = 0.9
"""The share of resamples in which a figure must be defined to get an interval."""

MIN_RANK_VARIATION = 0.1
"""Ranks are multiples of 0.5, so a smaller sum of squared deviations is rounding error: they are constant."""

MAX_WEIGHTS = 4_000_000
"""How many bootstrap weights (8 bytes each) are held in memory at once."""


class Figure(Frozen):
    """A figure with its 95 % confidence interval.

    An interval of zero width means that the resamples do not vary, for example because the rows
    contain no disagreement. It does not mean that the figure is known exactly.

    Attributes:
        value: the point estimate; None if the figure is undefined for the rows.
        low: the lower end of the interval; None if there is no interval.
        high: its upper end; None if there is no interval.
    """

    value: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None


@dataclass(frozen=True)
class Sample:
    """Labelled verdicts as columns; all arrays have the shape (rows,).

    Attributes:
        scores: the judge's scores, 0..1.
        passed: whether the judge calls the response grounded.
        positive: whether the label does; None for graded labels without a label threshold.
        graded: the labels if they are graded, otherwise None.
        groups: the group of each row, numbered from 0 without gaps.
    """

    scores: Floats
    passed: Bools
    positive: Bools | None
    graded: Floats | None
    groups: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """The number of groups, which is the number of independent observations."""
        return int(self.groups.max()) + 1 if self.groups.size else 0

    def rows(self, chosen: NDArray[Any]) -> Sample:
        """Select rows by a boolean mask or by an array of indices."""
        return Sample(
            self.scores[chosen],
            self.passed[chosen],
            None if self.positive is None else self.positive[chosen],
            None if self.graded is None else self.graded[chosen],
            numbered(self.groups[chosen]),
        )


def numbered(groups: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Number groups from 0 without gaps; equal entries get equal numbers."""
    return np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1).astype(np.int64)


def point_estimates(sample: Sample) -> dict[str, float]:
    """Compute all figures of a sample; NaN where one is undefined.

    Accuracy, precision, recall, F1, balanced accuracy (the mean of sensitivity and specificity),
    Cohen's unweighted kappa and ROC AUC are scikit-learn's; Spearman's rank correlation of scores
    and grades is SciPy's. Without rows nothing is defined. Balanced accuracy, kappa and ROC AUC need
    labels of both classes, precision a passed row, recall a positive one, F1 either of these, and
    Spearman scores and grades that are not constant.
    """
    found = dict.fromkeys(ALL_FIGURES, nan)
    if sample.passed.size:
        found |= {"mean_score": sample.scores.mean(), "pass_rate": sample.passed.mean()}
    if sample.positive is not None and sample.positive.size:
        found |= _binary_figures(sample.positive, sample.passed, sample.scores)
    if sample.graded is not None and np.ptp(sample.graded) > 0 and np.ptp(sample.scores) > 0:
        found["spearman"] = stats.spearmanr(sample.graded, sample.scores).statistic
    return {name: float(value) for name, value in found.items()}


def constant_guess(positive: Bools) -> dict[str, float]:
    """Compute the constant-guess baseline: the best figures of giving every row the same answer.

    With p the share of positive labels, accuracy is max(p, 1 - p) (the majority class) and F1 is
    2p / (1 + p) (all positive). Balanced accuracy and ROC AUC are 0.5 and kappa is 0 for either guess.
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
    """Compute all figures of a sample with their confidence intervals.

    The intervals are those of the cluster bootstrap's percentile method: groups are drawn with
    replacement, each with all of its rows, and the interval holds the middle 95 % of the resampled
    figures (Davison and Hinkley, Bootstrap Methods and their Application, 1997). A sample of a
    single group has no intervals, nor has a figure that is undefined in over 10 % of the resamples.

    Args:
        sample: the rows.
        resamples: how many bootstrap resamples are drawn.
        seed: of the random generator; the same seed gives the same intervals.
    """
    return with_intervals(point_estimates(sample), sample.groups, resamples, seed, weighted_figures(sample))


def with_intervals(
    estimates: Mapping[str, float],
    groups: NDArray[np.int64],
    resamples: int,
    seed: int,
    statistics: Callable[[Floats], Mapping[str, Floats]],
) -> dict[str, Figure]:
    """Add to each point estimate the interval of its statistic over the resamples (see `intervals`).

    Args:
        estimates: by name; NaN where one is undefined.
        groups: the group of each row, numbered from 0 without gaps, shape (rows,).
        resamples: how many bootstrap resamples are drawn.
        seed: of the random generator.
        statistics: computes the figures from weights of the shape (resamples, rows), as
            `weighted_figures` does.
    """
    batches = [statistics(weights) for weights in _bootstrap_weights(groups, resamples, seed)]
    nothing = np.empty(0)
    return {
        name: _percentile_interval(value, np.concatenate([nothing, *(batch[name] for batch in batches)]))
        for name, value in estimates.items()
    }


def paired_differences(
    first: Sample, second: Sample, *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Figure]:
    """Compute second minus first for every figure, with confidence intervals.

    This is the paired bootstrap: both samples hold judgements of the same rows in the same order,
    and each resample draws the same groups for both, so that variation between rows cancels out.
    Otherwise as `intervals`.
    """
    before, after = point_estimates(first), point_estimates(second)
    resampled_before, resampled_after = weighted_figures(first), weighted_figures(second)

    def resampled(weights: Floats) -> dict[str, Floats]:
        one, other = resampled_before(weights), resampled_after(weights)
        return {name: other[name] - one[name] for name in ALL_FIGURES}

    estimates = {name: after[name] - before[name] for name in ALL_FIGURES}
    return with_intervals(estimates, first.groups, resamples, seed, resampled)


def weighted_figures(sample: Sample) -> Callable[[Floats], dict[str, Floats]]:
    """Prepare a function that computes the figures of many weighted copies of a sample at once.

    The function takes weights of the shape (resamples, rows) and returns arrays of the shape
    (resamples,). The result is that of `point_estimates` with each row repeated as often as its
    weight says; scikit-learn would take minutes for thousands of resamples.
    """
    positive = sample.positive
    by_score = _ties(sample.scores)
    by_grade = None if sample.graded is None else _ties(sample.graded)

    def figures(weights: Floats) -> dict[str, Floats]:
        found = {name: np.full(len(weights), nan) for name in ALL_FIGURES}
        total = weights.sum(axis=1)
        found["mean_score"] = weights @ sample.scores / total
        found["pass_rate"] = weights @ sample.passed / total
        if positive is not None:
            found |= confusion_figures(*(weights @ _confusion_cells(positive, sample.passed)).T)
            found["roc_auc"] = _roc_auc(weights, positive, by_score)
        if by_grade is not None:
            found["spearman"] = _pearson(weights, _midranks(weights, by_score), _midranks(weights, by_grade))
        return found

    return figures


def confusion_figures(
    true_positives: Floats, false_positives: Floats, false_negatives: Floats, true_negatives: Floats
) -> dict[str, Floats]:
    """Compute the figures of many confusion matrices at once; NaN where one is undefined.

    All arguments and results are arrays of the shape (matrices,). The figures are those of
    `point_estimates`. Kappa is (observed - chance) / (1 - chance) agreement (Cohen, 1960).
    """
    positives, negatives = true_positives + false_negatives, false_positives + true_negatives
    passed, not_passed = true_positives + false_positives, false_negatives + true_negatives
    n = positives + negatives
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = true_positives / positives
        accuracy = (true_positives + true_negatives) / n
        chance = (passed * positives + not_passed * negatives) / n**2
        both_classes = (positives > 0) & (negatives > 0)
        return {
            "accuracy": accuracy,
            "balanced_accuracy": (recall + true_negatives / negatives) / 2,
            "precision": true_positives / passed,
            "recall": recall,
            "f1": 2 * true_positives / (passed + positives),
            "kappa": np.where(both_classes, (accuracy - chance) / (1 - chance), nan),
        }


def _binary_figures(positive: Bools, passed: Bools, scores: Floats) -> dict[str, float]:
    """Those figures of one row or more that are defined, without Spearman."""
    found: dict[str, float] = {"accuracy": metrics.accuracy_score(positive, passed)}
    if passed.any():
        found["precision"] = metrics.precision_score(positive, passed, zero_division=0)
    if positive.any():
        found["recall"] = metrics.recall_score(positive, passed, zero_division=0)
    if positive.any() or passed.any():
        found["f1"] = metrics.f1_score(positive, passed, zero_division=0)
    if positive.any() and not positive.all():
        found["balanced_accuracy"] = metrics.balanced_accuracy_score(positive, passed)
        found["kappa"] = metrics.cohen_kappa_score(positive, passed)
        found["roc_auc"] = metrics.roc_auc_score(positive, scores)
    return found


def _confusion_cells(positive: Bools, passed: Bools) -> Floats:
    """One column per cell of the confusion matrix, 1.0 where a row falls into it; shape (rows, 4)."""
    masks = (positive & passed, ~positive & passed, positive & ~passed, ~positive & ~passed)
    return np.stack(masks, axis=1).astype(np.float64)


def _bootstrap_weights(groups: NDArray[np.int64], resamples: int, seed: int) -> Iterator[Floats]:
    """Draw resamples of groups; yields how often each row was drawn, in batches (resamples, rows)."""
    n_groups = int(groups.max()) + 1 if groups.size else 0
    if n_groups < 2:  # noqa: PLR2004  a single observation does not vary
        return
    generator = np.random.default_rng(seed)
    batch = max(1, MAX_WEIGHTS // max(n_groups, groups.size))
    for start in range(0, resamples, batch):
        size = min(batch, resamples - start)
        drawn = generator.integers(n_groups, size=(size, n_groups)) + n_groups * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n_groups).reshape(size, n_groups)
        yield counts[:, groups].astype(np.float64)


@dataclass(frozen=True)
class _Ties:
    """Sorted values in runs of equal ones.

    Attributes:
        order: the indices that sort the rows, shape (rows,).
        starts: where in that order each run begins, shape (runs,).
        run_of_row: the run that each row belongs to, shape (rows,).
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    run_of_row: NDArray[np.int64]


def _ties(values: Floats) -> _Ties:
    order = np.argsort(values, kind="stable")
    _, starts, run_of_sorted = np.unique(values[order], return_index=True, return_inverse=True)
    run_of_row = np.empty_like(order)
    run_of_row[order] = run_of_sorted.reshape(-1)
    return _Ties(order, starts, run_of_row)


def _run_weights(weights: Floats, ties: _Ties) -> Floats:
    """The total weight of each run, lowest value first; shape (resamples, runs)."""
    return np.add.reduceat(weights[:, ties.order], ties.starts, axis=1)


def _roc_auc(weights: Floats, positive: Bools, ties: _Ties) -> Floats:
    """ROC AUC as the Mann-Whitney statistic: how often a positive outscores a negative, ties count 1/2."""
    positives, negatives = _run_weights(weights * positive, ties), _run_weights(weights * ~positive, ties)
    lower = np.cumsum(negatives, axis=1) - negatives
    won, pairs = positives * (lower + negatives / 2), positives.sum(axis=1) * negatives.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(won.sum(axis=1) / pairs)


def _midranks(weights: Floats, ties: _Ties) -> Floats:
    """Each row's rank among the weighted rows, from 1; tied rows share their mean rank."""
    runs = _run_weights(weights, ties)
    return np.asarray((np.cumsum(runs, axis=1) - runs + (runs + 1) / 2)[:, ties.run_of_row])


def _pearson(weights: Floats, first: Floats, second: Floats) -> Floats:
    """Weighted Pearson correlation, one per resample; all arguments have the shape (resamples, rows)."""
    total = weights.sum(axis=1, keepdims=True)
    first = first - (weights * first).sum(axis=1, keepdims=True) / total
    second = second - (weights * second).sum(axis=1, keepdims=True) / total
    variations = (weights * first**2).sum(axis=1), (weights * second**2).sum(axis=1)
    varies = np.minimum(*variations) > MIN_RANK_VARIATION
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (weights * first * second).sum(axis=1) / np.sqrt(variations[0] * variations[1])
    return np.where(varies, correlation, nan)


def _percentile_interval(value: float, resampled: Floats) -> Figure:
    if isnan(value):
        return Figure()
    defined = resampled[~np.isnan(resampled)]
    if not defined.size or defined.size < MIN_DEFINED * resampled.size:
        return Figure(value=value)
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Figure(value=value, low=float(low), high=float(high))
