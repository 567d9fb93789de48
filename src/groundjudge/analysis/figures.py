"""Figures of agreement between a judge and human labels, with bootstrap confidence intervals.

"Positive" means that the label calls a response grounded, "passed" that the judge does. Inside this
package NaN marks a figure that is undefined for the given rows; `Figure` has None in its place.

Each figure is computed by one function, from weights of the shape (copies, rows): how often each row counts
in each of several weighted copies of the same rows. The point estimate is the copy in which every row
counts once, and the resamples of the bootstrap are thousands of others. That is why the figures are not
scikit-learn's, which would take minutes; the tests compare them with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, TypeAlias, TypeVar

from groundjudge.analysis.libraries import NDArray, np
from groundjudge.verdict import Finite, Frozen, Verdict, Vote, deciding_score, passes

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

NameT = TypeVar("NameT")
# Computes figures by name, each of the shape (copies,), from weights of the shape (copies, rows).
Statistics: TypeAlias = Callable[[Floats], Mapping[NameT, Floats]]

CONFIDENCE = 0.95
# How many bootstrap resamples are drawn by default.
RESAMPLES = 2000

# The share of resamples in which a figure must be defined to get an interval.
MIN_DEFINED = 0.9

# A smaller variance, of scores or of ranks as shares of all, is rounding error: the values are constant.
LEAST_VARIANCE = 1e-12

# How many bootstrap weights (8 bytes each) are held in memory at once.
MAX_WEIGHTS = 4_000_000


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
        scores: the scores that decide, 0..1: the judge's headline scores, or those of the weakest parts.
        passed: whether the judge calls the response grounded.
        groups: the group of each row: rows with the same group are not independent.
        positive: whether the label does; None without labels, and for graded labels without a label
            threshold.
        graded: the labels if they are graded, otherwise None.
    """

    scores: Floats
    passed: Bools
    groups: NDArray[Any]
    positive: Bools | None = None
    graded: Floats | None = None

    @property
    def n_groups(self) -> int:
        """The number of groups, which is the number of independent observations."""
        return np.unique(self.groups).size

    def rows(self, chosen: NDArray[Any]) -> Sample:
        """Select rows by a boolean mask or by an array of indices."""
        columns: dict[str, Any] = {
            name: None if values is None else values[chosen] for name, values in vars(self).items()
        }
        return Sample(**columns)

    def scores_alone(self, weights: Floats) -> dict[str, Floats]:
        """Compute the figures that need no labels, mean score and pass rate; undefined without rows."""
        return means(mean_score=self.scores, pass_rate=self.passed.astype(np.float64))(weights)

    def agreement(self, weights: Floats) -> dict[str, Floats]:
        """Compute the figures that compare a judge with labels.

        Accuracy, precision, recall, F1, balanced accuracy (the mean of sensitivity and specificity), Cohen's
        unweighted kappa, ROC AUC, and Spearman's rank correlation of scores and grades. Without rows nothing
        is defined. Balanced accuracy, kappa and ROC AUC need labels of both classes, precision a passed row,
        recall a positive one, F1 either of these, and Spearman scores and grades that are not constant.
        """
        undefined = np.full(len(weights), nan)
        cells, roc_auc, spearman = np.full((4, len(weights)), nan), undefined, undefined
        if self.positive is not None:
            cells = (weights @ confusion_cells(self.positive, self.passed)).T
            roc_auc = _roc_auc(weights, self.positive, self.scores)
        if self.graded is not None:
            ranks = _ranks(weights, self.scores), _ranks(weights, self.graded)
            spearman = _correlation(weights, *ranks)
        return {**confusion_figures(*cells), "roc_auc": roc_auc, "spearman": spearman}


def without_labels(verdicts: Sequence[Verdict], groups: Sequence[str], threshold: float | None) -> Sample:
    """Turn verdicts with a score into columns.

    Args:
        verdicts: all with a score.
        groups: the group of each.
        threshold: the lowest score, 0..1, that passes; None: whether a row passed in its run counts.
    """
    return Sample(
        scores=np.array([deciding_score(verdict) for verdict in verdicts], dtype=np.float64),
        passed=np.array([passes_at(threshold, verdict) for verdict in verdicts], dtype=np.bool_),
        groups=np.asarray(groups),
    )


def passes_at(threshold: float | None, verdict: Verdict | Vote) -> bool:
    """Whether a verdict or vote passes: with a threshold by its deciding score, with None as in its run."""
    score = deciding_score(verdict)
    return bool(verdict.passed) if threshold is None or score is None else passes(score, threshold)


def reaches(values: Floats, threshold: float) -> Bools:
    """Which scores or labels reach a threshold; shape as the values."""
    return np.array([passes(value, threshold) for value in values.tolist()], dtype=np.bool_)


def constant_guess(positive: Bools, weights: Floats | None = None) -> dict[str, float]:
    """Compute the constant-guess baseline: the best figures of giving every row the same answer.

    With p the share of positive labels, accuracy is max(p, 1 - p) (the majority class) and F1 is
    2p / (1 + p) (all positive). Balanced accuracy and ROC AUC are 0.5 and kappa is 0 for either guess.

    Args:
        positive: whether the label calls the response grounded, shape (rows,), one row or more.
        weights: how much each row counts, shape (rows,); None: all the same.
    """
    share = float(np.average(positive, weights=weights))
    return {
        "accuracy": max(share, 1 - share),
        "balanced_accuracy": 0.5,
        "f1": 2 * share / (1 + share),
        "kappa": 0.0,
        "roc_auc": 0.5,
    }


@dataclass(frozen=True)
class Bootstrap:
    """The cluster bootstrap: groups are drawn with replacement, each with all of its rows.

    Attributes:
        resamples: how many are drawn.
        seed: of the random generator; the same seed gives the same intervals.
    """

    resamples: int = RESAMPLES
    seed: int = 0

    def figures(self, statistics: Statistics[NameT], groups: NDArray[Any]) -> dict[NameT, Figure]:
        """Compute figures with their confidence intervals.

        By the percentile method the interval holds the middle 95 % of the resampled figures (Davison and
        Hinkley, Bootstrap Methods and their Application, 1997). A single group has no intervals, nor has a
        figure that is undefined in over 10 % of the resamples.

        Args:
            statistics: computes the figures.
            groups: the group of each row, shape (rows,).
        """
        estimates = statistics(np.ones((1, groups.size)))
        batches = [statistics(weights) for weights in self._weights(groups)]
        return {
            name: _percentile_interval(float(value[0]), [batch[name] for batch in batches])
            for name, value in estimates.items()
        }

    def _weights(self, groups: NDArray[Any]) -> Iterator[Floats]:
        """How often each row is drawn, in batches of the shape (resamples, rows)."""
        names, group_of_row = np.unique(groups, return_inverse=True)
        n_groups = names.size
        if n_groups < 2:  # noqa: PLR2004  a single observation does not vary
            return
        generator = np.random.default_rng(self.seed)
        batch = max(1, MAX_WEIGHTS // group_of_row.size)
        for start in range(0, self.resamples, batch):
            size = min(batch, self.resamples - start)
            drawn = generator.integers(n_groups, size=(size, n_groups)) + n_groups * np.arange(size)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=size * n_groups).reshape(size, n_groups)
            yield counts[:, group_of_row].astype(np.float64)


def paired(
    first: Statistics[str], second: Statistics[str], groups: NDArray[Any], bootstrap: Bootstrap
) -> list[dict[str, Figure]]:
    """Compute the figures of two judges on the same rows, and their differences, with intervals.

    This is the paired bootstrap: each resample draws the same groups for both, so that variation between
    rows cancels out.

    Args:
        first: computes the figures of the first judge.
        second: computes those of the second, from weights of the same rows in the same order.
        groups: the group of each row, shape (rows,).
        bootstrap: how resamples are drawn.

    Returns:
        Three tables of figures by name: the first judge's, the second's, and the second's minus the first's.
    """

    def figures(weights: Floats) -> dict[tuple[int, str], Floats]:
        before, after = first(weights), second(weights)
        change = {name: after[name] - before[name] for name in before}
        tables = enumerate((before, after, change))
        return {(place, name): value for place, table in tables for name, value in table.items()}

    found = bootstrap.figures(figures, groups)
    return [{name: figure for (at, name), figure in found.items() if at == place} for place in range(3)]


def means(**columns: Floats) -> Callable[[Floats], dict[str, Floats]]:
    """Prepare the means of columns of the shape (rows,), undefined without rows."""
    return lambda weights: {name: weighted_mean(weights, values) for name, values in columns.items()}


def weighted_mean(weights: Floats, values: Floats) -> Floats:
    """The mean of values of the shape (rows,) or (copies, rows) in each weighted copy; NaN without weight."""
    with np.errstate(invalid="ignore"):
        return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))


def confusion_cells(positive: Bools, passed: Bools) -> Floats:
    """Which cell of the confusion matrix each row falls into, as 1.0 among zeros; shape (rows, 4).

    The cells are in the order of the arguments of `confusion_figures`.
    """
    masks = (positive & passed, ~positive & passed, positive & ~passed, ~positive & ~passed)
    return np.stack(masks, axis=1).astype(np.float64)


def confusion_figures(
    true_positives: Floats, false_positives: Floats, false_negatives: Floats, true_negatives: Floats
) -> dict[str, Floats]:
    """Compute the figures of many confusion matrices at once; NaN where one is undefined.

    All arguments and results are arrays of the shape (matrices,). The figures are those of
    `Sample.agreement`. Kappa is (observed - chance) / (1 - chance) agreement (Cohen, 1960).
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


def weighted_kappa(weights: Floats, people: Floats, judge: Floats) -> Floats:
    """Compute Cohen's kappa, a disagreement weighted by the squared difference of the two scores (1968).

    1 - (mean squared difference) / (the same by chance, from the two distributions of scores).

    Args:
        weights: how often each row counts, shape (copies, rows).
        people: the scores of people's labels, shape (rows,).
        judge: the scores of the judge's labels, shape (rows,).

    Returns:
        An array of the shape (copies,); NaN where people's scores do not vary.
    """
    scores = people, judge
    mean, others_mean = (weighted_mean(weights, each) for each in scores)
    spread, others_spread = (weighted_mean(weights, _centred(weights, each) ** 2) for each in scores)
    chance = spread + others_spread + (mean - others_mean) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = 1 - weighted_mean(weights, (people - judge) ** 2) / chance
    return np.asarray(np.where(spread > LEAST_VARIANCE, kappa, nan))


def relative_ranks(values: Floats) -> Floats:
    """The share of the rows below each row, and half of its ties; shape as the values, (rows,)."""
    return np.asarray(_ranks(np.ones((1, values.size)), values)[0] / max(1, values.size))


def _roc_auc(weights: Floats, positive: Bools, scores: Floats) -> Floats:
    """ROC AUC as the Mann-Whitney statistic: how often a positive outscores a negative, ties count 1/2."""
    positives, negatives = weights[:, positive], weights[:, ~positive]
    won = positives * _below(negatives, scores[~positive], scores[positive])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(won.sum(axis=1) / (positives.sum(axis=1) * negatives.sum(axis=1)))


def _ranks(weights: Floats, values: Floats) -> Floats:
    """Each row's rank among the weighted rows, less 1/2; tied rows share their mean rank."""
    return _below(weights, values, values)


def _below(weights: Floats, values: Floats, points: Floats) -> Floats:
    """The weight of the values below each point, and half of that of the values equal to it.

    Args:
        weights: shape (copies, rows).
        values: shape (rows,).
        points: shape (points,).

    Returns:
        An array of the shape (copies, points).
    """
    order = np.argsort(values, kind="stable")
    sums = np.pad(np.cumsum(weights[:, order], axis=1), ((0, 0), (1, 0)))
    low, high = (np.searchsorted(values[order], points, side) for side in ("left", "right"))
    return np.asarray((sums[:, low] + sums[:, high]) / 2)


def _centred(weights: Floats, values: Floats) -> Floats:
    """How far values are from their mean in each weighted copy; shape (copies, rows)."""
    return np.asarray(values - weighted_mean(weights, values)[:, None])


def _correlation(weights: Floats, first: Floats, second: Floats) -> Floats:
    """Pearson's correlation of ranks, one per copy; all arguments have the shape (copies, rows)."""
    one, other = _centred(weights, first), _centred(weights, second)
    spreads = weighted_mean(weights, one**2), weighted_mean(weights, other**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = weighted_mean(weights, one * other) / np.sqrt(spreads[0] * spreads[1])
    # Ranks go up to the total weight, so that their variance is compared with its square.
    return np.where(np.minimum(*spreads) > LEAST_VARIANCE * weights.sum(axis=1) ** 2, correlation, nan)


def _percentile_interval(value: float, batches: Sequence[Floats]) -> Figure:
    if isnan(value):
        return Figure()
    resampled = np.concatenate([np.empty(0), *batches])
    defined = resampled[~np.isnan(resampled)]
    if not defined.size or defined.size < MIN_DEFINED * resampled.size:
        return Figure(value=value)
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Figure(value=value, low=float(low), high=float(high))
