"""Figures of agreement between a judge and human labels, with confidence intervals.

"Positive" means that the label calls a response grounded, "passed" that the judge does. Inside this
package, NaN marks a figure that is undefined for the given rows; `Figure` has None in its place.

Each figure is computed by one function, from weights of the shape (copies, rows): how often each row counts
in each of several weighted copies of the same rows. The point estimate is the copy in which every row
counts once; the bootstrap's resamples are thousands of other copies. That is why the figures don't use
scikit-learn, which would take minutes; the tests compare them with it.

A plain bootstrap draws from the given rows alone, so a judge without a mistake among forty rows makes none
in any resample: its intervals are too narrow, or have no width at all. Here `add_pseudo_rows`
adds rows in which every kind of mistake occurs, and `Bootstrap` gives all of them random weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import isnan, nan
from typing import Any, Literal, TypeAlias

from groundjudge.lab.brief import BriefVerdict
from groundjudge.lab.labels import JudgedRows, LabelledVerdict
from groundjudge.lab.libraries import NDArray, import_library, np
from groundjudge.lab.proportions import wilson_interval
from groundjudge.verdict import Finite, Frozen, deciding_score, passes, passes_by

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

# How a labelled row without a score (an error or "not applicable") counts: as the judge's mistake, as right,
# or as in its run, where "not applicable" passes and an error does not.
Unscored: TypeAlias = Literal["wrong", "right", "as-run"]

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

# A smaller variance, of scores or of ranks as shares, is rounding error: the values are constant.
MIN_VARIANCE = 1e-12

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
class Sample:
    """Labelled verdicts as columns; all arrays have shape (rows,).

    In a sample made by `add_pseudo_rows`, the pseudo-rows follow in `scores`, `passed` and `positive`;
    they have no group and no grade.

    Attributes:
        scores: the deciding scores, 0..1: the judge's headline scores, or those of the weakest parts. NaN
            for a row without a score; `count_unscored` replaces these.
        passed: whether the judge calls the response grounded.
        groups: the group of each row: rows with the same group are not independent.
        positive: whether the label does; None without labels, and for graded labels without a label
            threshold.
        graded: the labels if they are graded, otherwise None.
        strata: the stratum of each row of a drawn sample, within which it is resampled; None for other rows.
        row_weights: how much each row of a drawn sample counts: the inverse of its probability.
        prior: the weight of each pseudo-row, shape (pseudo-rows,).
    """

    scores: Floats
    passed: Bools
    groups: NDArray[Any]
    positive: Bools | None = None
    graded: Floats | None = None
    strata: NDArray[Any] | None = None
    row_weights: Floats | None = None
    prior: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def weights(self) -> Floats:
        """How much each row counts, 1 on average; shape (rows,)."""
        if self.row_weights is None or not self.row_weights.size:
            return np.ones(self.groups.size)
        return np.asarray(self.row_weights / self.row_weights.mean())

    @property
    def n_groups(self) -> int:
        """The number of groups, which is the number of independent observations."""
        return np.unique(self.groups).size

    @property
    def rarer_class(self) -> tuple[str, int]:
        """The class that fewer groups have rows of, by name, and how many have; it needs labels."""
        positive = np.asarray(self.positive)
        n_grounded = np.unique(self.groups[positive]).size
        n_not_grounded = np.unique(self.groups[~positive]).size
        if n_grounded <= n_not_grounded:
            return "grounded", n_grounded
        return "not grounded", n_not_grounded

    @property
    def share_grounded(self) -> float:
        """The share of grounded rows, 0..1; it needs labels and one row or more."""
        return float(np.average(np.asarray(self.positive), weights=self.weights))

    @property
    def is_scored(self) -> Bools:
        """Which rows have a score; shape (rows,)."""
        return ~np.isnan(self.scores)

    def select(self, rows: NDArray[Any]) -> Sample:
        """Select rows by a boolean mask or an array of indices."""
        return Sample(
            scores=self.scores[rows],
            passed=self.passed[rows],
            groups=self.groups[rows],
            positive=_select(self.positive, rows),
            graded=_select(self.graded, rows),
            strata=_select(self.strata, rows),
            row_weights=_select(self.row_weights, rows),
        )

    def pass_at(self, threshold: float) -> Sample:
        """Return the same rows, of which those pass whose score reaches a threshold."""
        return replace(self, passed=reaches(self.scores, threshold))

    def reweight(self, random_weights: Floats) -> Floats:
        """Scale random weights so that each stratum keeps its share; shape (copies, rows)."""
        if self.strata is None:
            return random_weights
        stratum_of_row = np.unique(self.strata, return_inverse=True)[1]
        # Which stratum each row is in, as 1.0 among zeros; shape (rows, strata).
        membership = np.eye(stratum_of_row.max() + 1)[stratum_of_row]
        weights = random_weights * self.weights
        correction = (self.weights @ membership) / (weights @ membership)
        return np.asarray(weights * correction[:, stratum_of_row])

    def count_unscored(self, rule: Unscored | None) -> Sample:
        """Give rows without a score the score and outcome of a rule; leave them out if there is none.

        Without labels, "wrong" means a score of 0 that does not pass, and "right" a score of 1 that passes.
        """
        if rule is None:
            return self.select(self.is_scored)
        right_outcomes = self.positive
        if right_outcomes is None:
            right_outcomes = np.ones_like(self.passed)
        right_scores = right_outcomes.astype(np.float64)
        if self.graded is not None:
            right_scores = _rescale(self.graded)  # the ends of a scale of grades are unknown
        scores_and_outcomes = {
            "wrong": (1 - right_scores, ~right_outcomes),
            "right": (right_scores, right_outcomes),
            "as-run": (self.passed.astype(np.float64), self.passed),
        }
        scores, outcomes = scores_and_outcomes[rule]
        return replace(
            self,
            scores=np.where(self.is_scored, self.scores, scores),
            passed=np.where(self.is_scored, self.passed, outcomes),
        )

    def mean_score(self, weights: Floats) -> dict[str, Floats]:
        """Compute the mean of the scores; undefined without rows."""
        n_rows = self.groups.size
        return {"mean_score": weighted_mean(weights[:, :n_rows], self.scores[:n_rows])}

    def pass_rate(self, weights: Floats) -> dict[str, Floats]:
        """Compute the share of rows that passed; undefined without rows."""
        return {"pass_rate": weighted_mean(weights, self.passed)}

    def agreement(self, weights: Floats) -> dict[str, Floats]:
        """Compute the figures that compare a judge with labels.

        Recall, precision and F1 of both classes (recall of what is not grounded is the specificity), balanced
        accuracy (the mean of the two recalls), macro-F1 (the mean of the two F1), accuracy, Cohen's
        unweighted kappa, ROC AUC, and Spearman's correlation of scores and grades. Without rows, nothing is
        defined. Balanced accuracy, macro-F1, kappa and ROC AUC need labels of both classes; recall a row
        of its class; precision a row that passed (for what is not grounded: that did not); F1 either of
        these; and Spearman's correlation needs scores and grades that vary.
        """
        undefined = np.full(len(weights), nan)
        if self.positive is None:
            cells = np.full((4, len(weights)), nan)
            roc_auc = undefined
        else:
            cells = (weights @ confusion_cells(self.positive, self.passed)).T
            roc_auc = _roc_auc(weights, self.positive, self.scores)
        figures = confusion_figures(*cells)
        figures["roc_auc"] = roc_auc
        figures["spearman"] = undefined
        # Pseudo-rows have no grade, so the correlation covers the rows alone.
        n_rows = self.groups.size
        if self.graded is not None and n_rows > 0:
            row_weights = weights[:, :n_rows]
            ranks = _ranks(row_weights, self.scores[:n_rows]), _ranks(row_weights, self.graded)
            figures["spearman"] = _correlation(row_weights, *ranks)
        return figures

    def values(self, statistics: SampleStatistics) -> dict[str, float]:
        """Compute figures in which every row counts once; NaN where undefined."""
        return values_of(statistics(self, self.weights[None, :]))


def _select(column: NDArray[Any] | None, rows: NDArray[Any]) -> NDArray[Any] | None:
    """Select rows of a column, if there is one."""
    if column is None:
        return None
    return np.asarray(column[rows])


# Computes figures of a sample by name, each of shape (copies,), from weights of shape (copies, rows).
SampleStatistics: TypeAlias = Callable[[Sample, Floats], Mapping[str, Floats]]


def sample_of(
    judged_rows: JudgedRows, *, threshold: float | None = None, label_threshold: float | None = None
) -> Sample:
    """Turn the labelled verdicts of a judge into columns; for the options see `AgreeOptions`.

    Rows without a score come last.
    """
    if label_threshold is None:
        label_threshold = judged_rows.default_label_threshold
    rows = [*judged_rows.labelled_rows, *judged_rows.unscored_rows]
    return sample_of_rows(rows, threshold, label_threshold)


def sample_of_rows(
    rows: Sequence[LabelledVerdict], threshold: float | None, label_threshold: float | None
) -> Sample:
    """Turn verdicts of a judge with their labels into columns.

    Labels that are all 0 or 1 are not grades: 1 is positive unless there is a label threshold.
    """
    labels: Floats = np.array([row.human_label.number for row in rows], dtype=np.float64)
    is_graded = not np.isin(labels, (0, 1)).all()
    if label_threshold is None and not is_graded:
        label_threshold = 1.0
    sample = unlabelled_sample([row.verdict for row in rows], [row.group for row in rows], threshold)
    if label_threshold is not None:
        sample = replace(sample, positive=reaches(labels, label_threshold))
    if is_graded:
        sample = replace(sample, graded=labels)
    drawn_rows = [row.drawn_row for row in rows if row.drawn_row]
    if drawn_rows:
        strata, weights = zip(*drawn_rows, strict=True)
        sample = replace(sample, strata=np.array(strata), row_weights=np.array(weights, dtype=np.float64))
    return sample


def unlabelled_sample(
    verdicts: Sequence[BriefVerdict], groups: Sequence[str], threshold: float | None
) -> Sample:
    """Turn verdicts into columns.

    Args:
        verdicts: the verdicts; a missing score becomes NaN.
        groups: the group of each verdict.
        threshold: the lowest score, 0..1, that passes; None: whether a row passed in its run counts.
    """
    scores = [deciding_score(verdict) for verdict in verdicts]
    passed = [passes_at(threshold, verdict) for verdict in verdicts]
    return Sample(
        scores=np.array(scores, dtype=np.float64),
        passed=np.array(passed, dtype=np.bool_),
        groups=np.unique(groups, return_inverse=True)[1],
    )


def passes_at(threshold: float | None, verdict: BriefVerdict) -> bool:
    """Say whether a verdict passes a threshold, or with None, whether it passed in its run."""
    if threshold is None or verdict.score is None:
        return bool(verdict.passed)
    return passes_by(verdict, verdict.vote_scores, threshold)


def reaches(values: Floats, threshold: float) -> Bools:
    """Say which scores or labels reach a threshold; same shape as the values."""
    return np.array([passes(value, threshold) for value in values.tolist()], dtype=np.bool_)


def constant_guess(share: float) -> dict[str, float]:
    """Compute the constant-guess baseline: the best figures from giving every row the same answer.

    If p is the share of grounded rows, accuracy is max(p, 1 - p) (the majority class) and F1 is
    2p / (1 + p) (all positive), or the same with 1 - p for what is not grounded. Macro-F1 is half of the
    higher one. Balanced accuracy and ROC AUC are 0.5 and kappa is 0 for either guess.
    """
    f1 = 2 * share / (1 + share)
    f1_not_grounded = 2 * (1 - share) / (2 - share)
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


def values_of(draws: Draws) -> dict[str, float]:
    """Return the figures themselves, without their resampled values."""
    return {name: float(values[0]) for name, values in draws.items()}


def pair_values(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Bounds]:
    """Pair two values of each figure; None where one is undefined."""
    return {name: (none_if_nan(value), none_if_nan(second[name])) for name, value in first.items()}


def weighted_mean(weights: Floats, values: Floats | Bools) -> Floats:
    """Average values of shape (rows,) or (copies, rows) in each weighted copy; NaN without weight."""
    with np.errstate(invalid="ignore"):
        return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))


def confusion_cells(positive: Bools, passed: Bools) -> Floats:
    """Mark the cell of the confusion matrix that each row falls into, as 1.0 among zeros; shape (rows, 4).

    The cells are in the order of the arguments of `confusion_figures`.
    """
    masks = (positive & passed, ~positive & passed, positive & ~passed, ~positive & ~passed)
    return np.stack(masks, axis=1).astype(np.float64)


def confusion_figures(
    true_positives: Floats, false_positives: Floats, false_negatives: Floats, true_negatives: Floats
) -> dict[str, Floats]:
    """Compute the figures of many confusion matrices at once; NaN where undefined.

    All arguments and results are arrays of shape (matrices,). The figures are those of
    `Sample.agreement`.
    """
    positives = true_positives + false_negatives
    negatives = false_positives + true_negatives
    passed = true_positives + false_positives
    not_passed = false_negatives + true_negatives
    n = positives + negatives
    both_classes = (positives > 0) & (negatives > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = true_positives / positives
        specificity = true_negatives / negatives
        f1 = 2 * true_positives / (passed + positives)
        f1_not_grounded = 2 * true_negatives / (not_passed + negatives)
        accuracy = (true_positives + true_negatives) / n
        kappa = cohen_kappa(true_positives, false_positives, false_negatives, true_negatives)
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
            "kappa": np.where(both_classes, kappa, nan),
        }


def cohen_kappa(
    true_positives: Floats, false_positives: Floats, false_negatives: Floats, true_negatives: Floats
) -> Floats:
    """Compute Cohen's kappa (1960) of many confusion matrices; see `confusion_figures`.

    It is (observed - chance) / (1 - chance) agreement.
    """
    positives = true_positives + false_negatives
    negatives = false_positives + true_negatives
    passed = true_positives + false_positives
    n = positives + negatives
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = (true_positives + true_negatives) / n
        chance = (passed * positives + (n - passed) * negatives) / n**2
        return np.asarray((accuracy - chance) / (1 - chance))


def weighted_kappa(weights: Floats, people: Floats, judge: Floats) -> Floats:
    """Compute Cohen's kappa, with disagreements weighted by the squared difference of the scores (1968).

    It is 1 - (mean squared difference) / (the same by chance, from the two distributions of scores).

    Args:
        weights: how often each row counts, shape (copies, rows).
        people: the scores of people's labels, shape (rows,).
        judge: the scores of the judge's labels, shape (rows,).

    Returns:
        An array of shape (copies,); NaN where people's scores do not vary.
    """
    mean_people = weighted_mean(weights, people)
    mean_judge = weighted_mean(weights, judge)
    variance_people = weighted_mean(weights, _deviations(weights, people) ** 2)
    variance_judge = weighted_mean(weights, _deviations(weights, judge) ** 2)
    chance = variance_people + variance_judge + (mean_people - mean_judge) ** 2
    difference = weighted_mean(weights, (people - judge) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = 1 - difference / chance
    # If people give the same label throughout, it is 0 regardless of the judge.
    return np.asarray(np.where(variance_people > MIN_VARIANCE, kappa, nan))


def relative_ranks(values: Floats) -> Floats:
    """Compute the share of rows below each row, plus half of its ties; shape as the values, (rows,)."""
    return np.asarray(_ranks(np.ones((1, values.size)), values)[0])


def _roc_auc(weights: Floats, positive: Bools, scores: Floats) -> Floats:
    """Compute ROC AUC as the Mann-Whitney statistic: how often a positive outscores a negative, ties 1/2."""
    positives = weights[:, positive]
    negatives = weights[:, ~positive]
    wins = positives * _weight_below(negatives, scores[~positive], scores[positive])
    n_pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(wins.sum(axis=1) / n_pairs)


def _ranks(weights: Floats, values: Floats) -> Floats:
    """Compute the share of weighted rows below each row, plus half of its ties; shape (copies, rows)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(_weight_below(weights, values, values) / weights.sum(axis=1)[:, None])


def _rescale(values: Floats) -> Floats:
    """Rescale values to 0 for the lowest and 1 for the highest; shape as the values, (rows,)."""
    lowest = values.min()
    extent = float(np.ptp(values))
    # Values that are all the same are all 0.
    if extent == 0:
        extent = 1.0
    return np.asarray((values - lowest) / extent)


def _weight_below(weights: Floats, values: Floats, points: Floats) -> Floats:
    """Sum the weight of the values below each point, plus half the weight of those equal to it.

    Args:
        weights: shape (copies, rows).
        values: shape (rows,).
        points: shape (points,).

    Returns:
        An array of shape (copies, points).
    """
    order = np.argsort(values, kind="stable")
    # Position n has the sum of the weights of the first n sorted values; position 0 has 0.
    sums = np.pad(np.cumsum(weights[:, order], axis=1), ((0, 0), (1, 0)))
    n_below = np.searchsorted(values[order], points, "left")
    n_up_to = np.searchsorted(values[order], points, "right")
    return np.asarray((sums[:, n_below] + sums[:, n_up_to]) / 2)


def _deviations(weights: Floats, values: Floats) -> Floats:
    """Compute how far values are from their mean in each weighted copy; shape (copies, rows)."""
    return np.asarray(values - weighted_mean(weights, values)[:, None])


def _correlation(weights: Floats, first: Floats, second: Floats) -> Floats:
    """Compute Pearson's correlation, one per copy, of values in 0..1 of shape (rows,) or (copies, rows)."""
    first_centred = _deviations(weights, first)
    second_centred = _deviations(weights, second)
    first_variance = weighted_mean(weights, first_centred**2)
    second_variance = weighted_mean(weights, second_centred**2)
    covariance = weighted_mean(weights, first_centred * second_centred)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = covariance / np.sqrt(first_variance * second_variance)
    smaller_variance = np.minimum(first_variance, second_variance)
    return np.where(smaller_variance > MIN_VARIANCE, correlation, nan)


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
    return float(import_library("scipy.stats").beta.ppf(error, events, n - events + 1))
