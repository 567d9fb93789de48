"""Figures of agreement between a judge and human labels, with confidence intervals.

"Positive" means that the label calls a response grounded, "passed" that the judge does. Inside this
package NaN marks a figure that is undefined for the given rows; `Figure` has None in its place.

Each figure is computed by one function, from weights of the shape (copies, rows): how often each row counts
in each of several weighted copies of the same rows. The point estimate is the copy in which every row
counts once, and the resamples of the bootstrap are thousands of others. That is why the figures are not
scikit-learn's, which would take minutes; the tests compare them with it.

A plain bootstrap draws from the rows that there are, so that a judge that made no mistake among forty rows
never makes one in any resample: its intervals are too narrow, or have no width at all. Here `smoothed` adds
pseudo-rows in which every kind of mistake occurs, and `Bootstrap` gives all of them random weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from math import isnan, nan
from typing import Any, TypeAlias

from groundjudge.lab.labels import LabelledVerdict, Unscored
from groundjudge.lab.libraries import NDArray, np
from groundjudge.lab.proportions import wilson_interval
from groundjudge.verdict import Finite, Frozen, Verdict, Vote, deciding_score, passes

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

# Computes figures by name, each of the shape (copies,), from weights of the shape (copies, rows).
Statistics: TypeAlias = Callable[[Floats], Mapping[str, Floats]]
# The value of each figure, by name, followed by its resampled values; shape (1 + resamples,).
Draws: TypeAlias = Mapping[str, Floats]

CONFIDENCE = 0.95
# How many bootstrap resamples are drawn by default.
RESAMPLES = 2000

# The rows that pseudo-rows add up to: half a row in each cell of a confusion matrix.
PSEUDO_ROWS = 2.0

# The figures that get Wilson's interval, and the lowest value of each; the highest is 1. ROC AUC is a share
# of pairs. The weighted kappa gets it because percentiles cover too rarely where most labels are the same.
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

# What a guess gets in figures that show whether scores and labels run in opposite directions.
GUESS: Mapping[str, float] = {"roc_auc": 0.5, "balanced_accuracy": 0.5, "spearman": 0.0}

# Intervals cover too rarely below these numbers of independent groups: of all; of all where scores matter,
# for correlations and fitted thresholds; and of either class (simulated: tests/lab/test_coverage.py).
FEW_GROUPS = 20
FEW_WITH_SCORES = 50
FEW_IN_CLASS = 10

# A smaller variance, of scores or of ranks as shares of all, is rounding error: the values are constant.
LEAST_VARIANCE = 1e-12

# A narrower interval is rounding error: nothing varies.
LEAST_WIDTH = 1e-9

# How many bootstrap weights (8 bytes each) are held in memory at once.
MAX_WEIGHTS = 4_000_000


class Figure(Frozen):
    """A figure with its 95 % confidence interval, which never has zero width.

    Attributes:
        value: the point estimate; None if the figure is undefined for the rows.
        low: the lower end of the interval; None if there is no interval: for a single group, and where
            nothing varies, as with scores that are all the same.
        high: its upper end; None if there is no interval.
    """

    value: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None


@dataclass(frozen=True)
class Drawn:
    """How rows of a drawn sample count (see `analysis.sample`).

    Attributes:
        weights: how much each row counts: one over its probability, scaled to 1 on average; shape (rows,).
        strata: the stratum of each row, within which it is resampled; shape (rows,).
    """

    weights: Floats
    strata: NDArray[Any]

    @classmethod
    def of(cls, rows: Iterable[LabelledVerdict]) -> Drawn | None:
        """The rows of a drawn sample; None if they are of none."""
        drawn = [row.drawn for row in rows if row.drawn]
        weights = np.array([weight for _, weight in drawn], dtype=np.float64)
        return cls(weights / weights.mean(), np.array([name for name, _ in drawn])) if drawn else None

    def __getitem__(self, chosen: NDArray[Any]) -> Drawn:
        weights = self.weights[chosen]
        return Drawn(weights / (weights.mean() if weights.size else 1.0), self.strata[chosen])

    def resampled(self, weights: Floats) -> Floats:
        """Random weights of the rows, among which each stratum keeps its part; shape (copies, rows)."""
        stratum_of_row = np.unique(self.strata, return_inverse=True)[1]
        members = np.eye(stratum_of_row.max() + 1)[stratum_of_row]
        weights = weights * self.weights
        return np.asarray(weights * ((self.weights @ members) / (weights @ members))[:, stratum_of_row])


@dataclass(frozen=True)
class Sample:
    """Labelled verdicts as columns; all arrays have the shape (rows,).

    In a sample that `smoothed` made, `scores`, `passed` and `positive` go on with the pseudo-rows, which have
    no group and no grade.

    Attributes:
        scores: the scores that decide, 0..1: the judge's headline scores, or those of the weakest parts. NaN
            for a row without a score; `counting` replaces these.
        passed: whether the judge calls the response grounded.
        groups: the group of each row: rows with the same group are not independent.
        positive: whether the label does; None without labels, and for graded labels without a label
            threshold.
        graded: the labels if they are graded, otherwise None.
        drawn: how rows of a drawn sample count; None: all the same.
        prior: how much each pseudo-row weighs, shape (pseudo-rows,).
    """

    scores: Floats
    passed: Bools
    groups: NDArray[Any]
    positive: Bools | None = None
    graded: Floats | None = None
    drawn: Drawn | None = None
    prior: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def weights(self) -> Floats:
        """How much each row counts, 1 on average; shape (rows,)."""
        return np.ones(self.groups.size) if self.drawn is None else self.drawn.weights

    @property
    def n_groups(self) -> int:
        """The number of groups, which is the number of independent observations."""
        return np.unique(self.groups).size

    @property
    def is_scored(self) -> Bools:
        """Which rows have a score; shape (rows,)."""
        return ~np.isnan(self.scores)

    def rows(self, chosen: NDArray[Any]) -> Sample:
        """Select rows by a boolean mask or by an array of indices."""
        columns: dict[str, Any] = {
            name: None if values is None else values[chosen]
            for name, values in vars(self).items()
            if name != "prior"
        }
        return Sample(**columns)

    def counting(self, unscored: Unscored | None) -> Sample:
        """Leave out rows without a score, for None, or give them the score and outcome that they count with.

        Without labels, "wrong" is the score 0, not passed, and "right" the score 1, passed.
        """
        if unscored is None:
            return self.rows(self.is_scored)
        right = np.ones_like(self.passed) if self.positive is None else self.positive
        best = right.astype(np.float64) if self.graded is None else _rescaled(self.graded)
        as_run = self.passed.astype(np.float64)
        counted = {"wrong": (1 - best, ~right), "right": (best, right), "as-run": (as_run, self.passed)}
        scores, passed = counted[unscored]
        return replace(
            self,
            scores=np.where(self.is_scored, self.scores, scores),
            passed=np.where(self.is_scored, self.passed, passed),
        )

    def mean_score(self, weights: Floats) -> dict[str, Floats]:
        """Compute the mean of the scores; undefined without rows."""
        n = self.groups.size
        return {"mean_score": weighted_mean(weights[:, :n], self.scores[:n])}

    def pass_rate(self, weights: Floats) -> dict[str, Floats]:
        """Compute the share of rows that passed; undefined without rows."""
        return {"pass_rate": weighted_mean(weights, self.passed)}

    def agreement(self, weights: Floats) -> dict[str, Floats]:
        """Compute the figures that compare a judge with labels.

        Recall, precision and F1 of both classes (recall of what is not grounded is the specificity), balanced
        accuracy (the mean of the two recalls), macro-F1 (the mean of the two F1), accuracy, Cohen's
        unweighted kappa, ROC AUC, and of scores and grades Pearson's and Spearman's correlation and Kendall's
        tau-b. Without rows nothing is defined. Balanced accuracy, macro-F1, kappa and ROC AUC need labels of
        both classes, recall a row of its class, precision a row that passed (of what is not grounded: that
        did not), F1 either of these, and correlations scores and grades that are not constant.
        """
        undefined = np.full(len(weights), nan)
        cells, roc_auc = np.full((4, len(weights)), nan), undefined
        if self.positive is not None:
            cells = (weights @ confusion_cells(self.positive, self.passed)).T
            roc_auc = _roc_auc(weights, self.positive, self.scores)
        correlations: Mapping[str, Floats] = dict.fromkeys(("pearson", "spearman", "kendall"), undefined)
        n = self.groups.size
        if self.graded is not None and n:
            correlations = _correlations(weights[:, :n], self.scores[:n], self.graded)
        return {**confusion_figures(*cells), "roc_auc": roc_auc, **correlations}

    def accuracy(self, weights: Floats) -> dict[str, Floats]:
        """Compute the share of rows that passed or not as their label says; undefined without rows."""
        return {"accuracy": weighted_mean(weights, self.passed == self.positive)}

    def values(self, statistics: SampleStatistics) -> dict[str, float]:
        """Compute figures in which every row counts once; NaN where one is undefined."""
        found = statistics(self, self.weights[None, :])
        return {name: float(value[0]) for name, value in found.items()}


# Computes figures of a sample; see `Statistics`.
SampleStatistics: TypeAlias = Callable[[Sample, Floats], Mapping[str, Floats]]


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
    2p / (1 + p) (all positive), of what is not grounded the same with 1 - p. Macro-F1 is half of the higher
    one. Balanced accuracy and ROC AUC are 0.5 and kappa is 0 for either guess.

    Args:
        positive: whether the label calls the response grounded, shape (rows,), one row or more.
        weights: how much each row counts, shape (rows,); None: all the same.
    """
    share = float(np.average(positive, weights=weights))
    f1, f1_not_grounded = 2 * share / (1 + share), 2 * (1 - share) / (2 - share)
    return {
        "accuracy": max(share, 1 - share),
        "balanced_accuracy": 0.5,
        "f1": f1,
        "f1_not_grounded": f1_not_grounded,
        "macro_f1": max(f1, f1_not_grounded) / 2,
        "kappa": 0.0,
        "roc_auc": 0.5,
    }


@dataclass(frozen=True)
class Bootstrap:
    """The Bayesian bootstrap of groups (Rubin, 1981): each group gets a random weight, with all of its rows.

    Attributes:
        resamples: how many are drawn.
        seed: of the random generator; the same seed gives the same intervals.
    """

    resamples: int = RESAMPLES
    seed: int = 0

    def draws(
        self, statistics: Statistics, groups: NDArray[Any], prior: Floats, drawn: Drawn | None = None
    ) -> Draws:
        """Compute figures, and resample them; a single group is not resampled.

        Args:
            statistics: computes the figures from the weights of rows and pseudo-rows.
            groups: the group of each row, shape (rows,).
            prior: how much each pseudo-row weighs, shape (pseudo-rows,).
            drawn: how the rows of a drawn sample count; None: all the same.
        """
        once = np.concatenate([drawn.weights if drawn else np.ones(groups.size), np.zeros(prior.size)])
        batches = [*map(statistics, chain([once[None, :]], self._weights(groups, prior, drawn)))]
        return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}

    def figures(self, sample: Sample, statistics: SampleStatistics) -> dict[str, Figure]:
        """Compute the figures of a sample, with their intervals."""
        (sample,) = smoothed(sample)
        draws = self.draws(partial(statistics, sample), sample.groups, sample.prior, sample.drawn)
        return figures_of(draws, sample.groups)

    def _weights(self, groups: NDArray[Any], prior: Floats, drawn: Drawn | None) -> Iterator[Floats]:
        """How much rows and pseudo-rows weigh, in batches of the shape (resamples, rows + pseudo-rows)."""
        names, group_of_row = np.unique(groups, return_inverse=True)
        n_groups = names.size
        if n_groups < 2:  # noqa: PLR2004  a single observation does not vary
            return
        generator = np.random.default_rng(self.seed)
        batch = max(1, MAX_WEIGHTS // group_of_row.size)
        for start in range(0, self.resamples, batch):
            size = min(batch, self.resamples - start)
            weights = generator.exponential(size=(size, n_groups))[:, group_of_row]
            weights = drawn.resampled(weights) if drawn else weights
            # Gamma-distributed weights of shape 1 (which is the exponential) and 1/2 make shares beta-
            # distributed: those of either class as in Jeffreys' interval.
            pseudo = generator.gamma(PSEUDO_ROWS / max(1, prior.size), size=(size, prior.size))
            yield np.hstack([weights, pseudo * prior])


def smoothed(*samples: Sample) -> list[Sample]:
    """Add pseudo-rows to samples of the same rows: one for each way in which label and outcomes can differ.

    Together they are `PSEUDO_ROWS` rows. Where rows come in groups, a pseudo-row is as heavy as what an
    average row's group has of the class, since all of these may be wrong together.
    """
    groups, labels = samples[0].groups, samples[0].positive
    classes = np.ones_like(samples[0].passed) if labels is None else labels
    rows = np.array([*product((False, True), repeat=1 + len(samples))])
    if labels is None:
        rows = rows[rows[:, 0]]
    weights = [group_weight(groups[classes == each]) for each in (False, True)]
    prior = np.array([weights[int(each)] for each in rows[:, 0]])
    return [
        replace(
            sample,
            scores=np.concatenate([sample.scores, outcomes.astype(np.float64)]),
            passed=np.concatenate([sample.passed, outcomes]),
            positive=None if labels is None else np.concatenate([labels, rows[:, 0]]),
            prior=prior,
        )
        for sample, outcomes in zip(samples, rows[:, 1:].T, strict=True)
    ]


def group_weight(groups: NDArray[Any]) -> float:
    """The size of an average row's group, 1 for independent rows: rows per effective row (Kish, 1965)."""
    sizes = np.unique(groups, return_counts=True)[1]
    return float((sizes**2).sum() / sizes.sum()) if sizes.size else 1.0


def resample_pair(
    first: Sample, second: Sample, statistics: SampleStatistics, bootstrap: Bootstrap
) -> tuple[Draws, Draws, Draws]:
    """Resample the figures of two judges on the same rows, and their differences.

    This is the paired bootstrap: a resample weighs the rows in the same way for both, so that variation
    between rows cancels out.

    Args:
        first: of the first judge.
        second: of the second, with the same rows in the same order.
        statistics: computes the figures of either.
        bootstrap: how resamples are drawn.

    Returns:
        The first judge's figures, the second's, and the second's minus the first's.
    """
    before, after = (
        bootstrap.draws(partial(statistics, side), side.groups, side.prior, side.drawn)
        for side in smoothed(first, second)
    )
    return before, after, {name: after[name] - before[name] for name in before}


def outcomes(first: Sample, second: Sample) -> list[tuple[bool, bool]]:
    """Whether the first and the second judge are right, row by row, by the labels of the first sample."""
    sides = ((side.passed == first.positive).tolist() for side in (first, second))
    return [*zip(*sides, strict=True)]


def figures_of(draws: Draws, groups: NDArray[Any]) -> dict[str, Figure]:
    """The figures with their intervals.

    Those of `WILSON` are Wilson's (1927) at the effective number of rows: that at which a share varies as it
    does among the resamples. For independent rows it is their number, for others less. All others hold the
    middle 95 % of the resampled figures, and the figure itself.

    Args:
        draws: the figures.
        groups: the group of each row that they were computed from, shape (rows,).
    """
    n = groups.size, np.unique(groups).size
    return {
        name: _figure(values, partial(_wilson, lowest=WILSON[name], n=n) if name in WILSON else _percentiles)
        for name, values in draws.items()
    }


def percentile_figures(draws: Draws) -> dict[str, Figure]:
    """Figures with an interval that holds the middle 95 % of the resampled ones, and the figure itself."""
    return {name: _figure(values, _percentiles) for name, values in draws.items()}


def clear_differences(draws: Draws) -> list[str]:
    """The differences that are not 0, with a chance of 5 % that any is named if all of them are.

    A difference counts in units of its spread. The limit is the one that the largest of all of them exceeds
    in 5 % of the resamples, each taken from its mean (max-T: Westfall and Young, 1993). It is the mean of the
    resamples that must exceed it, which pseudo-rows keep from extremes on few rows, and the interval of the
    difference alone must exclude 0 as well.
    """
    known = {name: values for name, values in draws.items() if values.size > 1 and not np.isnan(values).any()}
    if not known:
        return []
    resampled = np.array([values[1:] for values in known.values()])
    spread = resampled.std(axis=1)
    deviations = (
        np.abs(resampled - resampled.mean(axis=1)[:, None]) / np.where(spread > 0, spread, 1)[:, None]
    )
    limit = np.quantile(deviations.max(axis=0), CONFIDENCE)
    return [
        name
        for (name, values), each in zip(known.items(), spread, strict=True)
        if abs(values[1:].mean()) > limit * each and np.prod(_percentiles(float(values[0]), values[1:])) > 0
    ]


def defined(value: float) -> float | None:
    """A figure as results hold it: None in place of NaN."""
    return None if isnan(value) else value


def is_reversed(figures: Mapping[str, Figure]) -> bool:
    """Whether a judge is clearly worse than guessing, as where the labels are the other way round."""
    known = ((figures[name].high, guess) for name, guess in GUESS.items() if name in figures)
    return any(high is not None and high < guess for high, guess in known)


def few_rows(sample: Sample, *, scores_matter: bool = False) -> str | None:
    """The sentence that there are too few independent rows for the intervals; None if there are enough."""
    if sample.n_groups == 1:
        return f"no intervals: a single {'group' if sample.groups.size > 1 else 'row'}"
    classes = (
        {} if sample.positive is None else {"grounded": sample.positive, "not grounded": ~sample.positive}
    )
    counts = {name: np.unique(sample.groups[rows]).size for name, rows in classes.items() if rows.any()}
    rarer = min(counts, key=counts.__getitem__, default="")
    needs_more = scores_matter or sample.graded is not None
    if sample.n_groups < (FEW_WITH_SCORES if needs_more else FEW_GROUPS):
        few = f"{sample.n_groups} independent rows or groups"
    elif rarer and counts[rarer] < FEW_IN_CLASS:
        one_or_more = "row or group" if counts[rarer] == 1 else "rows or groups"
        few = f"{counts[rarer]} independent {one_or_more} labelled {rarer}"
    else:
        return None
    return f"only {few}: intervals may be too narrow"


def weighted_mean(weights: Floats, values: Floats | Bools) -> Floats:
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
    both_classes = (positives > 0) & (negatives > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        recall, specificity = true_positives / positives, true_negatives / negatives
        f1, f1_not_grounded = (
            2 * true_positives / (passed + positives),
            2 * true_negatives / (not_passed + negatives),
        )
        accuracy = (true_positives + true_negatives) / n
        chance = (passed * positives + not_passed * negatives) / n**2
        return {
            "recall_not_grounded": specificity,
            "precision_not_grounded": true_negatives / not_passed,
            "f1_not_grounded": f1_not_grounded,
            "recall": recall,
            "precision": true_positives / passed,
            "f1": f1,
            "balanced_accuracy": (recall + specificity) / 2,
            "macro_f1": np.where(both_classes, (f1 + f1_not_grounded) / 2, nan),
            "accuracy": accuracy,
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
    return np.asarray(_ranks(np.ones((1, values.size)), values)[0])


def _roc_auc(weights: Floats, positive: Bools, scores: Floats) -> Floats:
    """ROC AUC as the Mann-Whitney statistic: how often a positive outscores a negative, ties count 1/2."""
    positives, negatives = weights[:, positive], weights[:, ~positive]
    won = positives * _below(negatives, scores[~positive], scores[positive])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(won.sum(axis=1) / (positives.sum(axis=1) * negatives.sum(axis=1)))


def _ranks(weights: Floats, values: Floats) -> Floats:
    """The share of the weighted rows below each row, and half of its ties; shape (copies, rows)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(_below(weights, values, values) / weights.sum(axis=1)[:, None])


def _rescaled(values: Floats) -> Floats:
    """Values from 0 for the lowest to 1 for the highest; shape as the values, (rows,)."""
    return np.asarray((values - values.min()) / (np.ptp(values) or 1.0))


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


def _correlations(weights: Floats, scores: Floats, grades: Floats) -> dict[str, Floats]:
    """Compute the correlations of scores and grades, both of the shape (rows,)."""
    return {
        "pearson": _correlation(weights, scores, _rescaled(grades)),
        "spearman": _correlation(weights, _ranks(weights, scores), _ranks(weights, grades)),
        "kendall": _kendall(weights, scores, grades),
    }


def _correlation(weights: Floats, first: Floats, second: Floats) -> Floats:
    """Pearson's correlation, one per copy, of values in 0..1 of the shape (rows,) or (copies, rows)."""
    one, other = _centred(weights, first), _centred(weights, second)
    spreads = weighted_mean(weights, one**2), weighted_mean(weights, other**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = weighted_mean(weights, one * other) / np.sqrt(spreads[0] * spreads[1])
    return np.where(np.minimum(*spreads) > LEAST_VARIANCE, correlation, nan)


def _kendall(weights: Floats, first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b (1945), one per copy: concordant minus discordant pairs, by those without ties."""
    fewer, more = sorted((first, second), key=lambda values: np.unique(values).size)
    total = weights.sum(axis=1)
    excess = np.zeros_like(total)
    for level in np.unique(fewer):
        here = fewer == level
        below = 2 * _below(weights[:, here], more[here], more) - weights[:, here].sum(axis=1)[:, None]
        excess += (weights * np.sign(fewer - level) * below).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        untied = [1 - _tied(weights, values) / total**2 for values in (fewer, more)]
        tau = excess / total**2 / np.sqrt(untied[0] * untied[1])
    return np.where(np.minimum(*untied) > LEAST_VARIANCE, tau, nan)


def _tied(weights: Floats, values: Floats) -> Floats:
    """The weight of pairs of rows with one value, each row with itself among them; shape (copies,)."""
    order = np.argsort(values, kind="stable")
    starts = np.unique(values[order], return_index=True)[1]
    return np.asarray((np.add.reduceat(weights[:, order], starts, axis=1) ** 2).sum(axis=1))


def _figure(values: Floats, interval: Callable[[float, Floats], tuple[float, float]]) -> Figure:
    """A figure from its value and the resampled ones, by a method for the interval."""
    value, resampled = float(values[0]), values[1:]
    if isnan(value):
        return Figure()
    resampled = resampled[~np.isnan(resampled)]
    low, high = interval(value, resampled) if resampled.size > 1 else (value, value)
    return Figure(value=value, low=low, high=high) if high - low > LEAST_WIDTH else Figure(value=value)


def _percentiles(value: float, resampled: Floats) -> tuple[float, float]:
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    return min(low, value), max(high, value)


def _wilson(value: float, resampled: Floats, lowest: float, n: tuple[int, int]) -> tuple[float, float]:
    """The interval of a figure as of a share of the range from its lowest value to 1.

    Args:
        value: the figure.
        resampled: the same among the resamples.
        lowest: its lowest value.
        n: the rows, and the groups that they are in.
    """
    extent, (n_rows, n_groups) = 1 - lowest, n
    # Where all rows are right, or all are wrong, nothing shows that those of a group say more than one does.
    most = n_groups if value in {lowest, 1.0} else n_rows
    mean, variance = (resampled.mean() - lowest) / extent, resampled.var() / extent**2
    # A beta distribution of a share of n rows and one pseudo-row has this variance.
    effective = min(most, max(1.0, float(mean * (1 - mean) / variance) - 2))
    low, high = wilson_interval((value - lowest) / extent, effective)
    return lowest + extent * low, lowest + extent * high
