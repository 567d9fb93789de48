"""Formulas of agreement, for many weighted copies of the same rows at once.

Most take weights of the shape (copies, rows): how often each row counts in each copy. The point estimate is
the copy in which every row counts once; a bootstrap's resamples are thousands of other copies. That is why
they don't use scikit-learn, which would take minutes; the tests compare them with it. NaN marks a figure that
is undefined for the given rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import TypeAlias

from groundjudge.lab.libraries import NDArray, np

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

# A smaller variance, of scores or of ranks as shares, is rounding error: the values are constant.
MIN_VARIANCE = 1e-12


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
    `columns.Sample.agreement`.
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
    return np.asarray(weighted_ranks(np.ones((1, values.size)), values)[0])


def weighted_roc_auc(weights: Floats, positive: Bools, scores: Floats) -> Floats:
    """Compute ROC AUC as the Mann-Whitney statistic: how often a positive outscores a negative, ties 1/2."""
    positives = weights[:, positive]
    negatives = weights[:, ~positive]
    wins = positives * _weight_below(negatives, scores[~positive], scores[positive])
    n_pairs = positives.sum(axis=1) * negatives.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(wins.sum(axis=1) / n_pairs)


def weighted_ranks(weights: Floats, values: Floats) -> Floats:
    """Compute the share of weighted rows below each row, plus half of its ties; shape (copies, rows)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(_weight_below(weights, values, values) / weights.sum(axis=1)[:, None])


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


def weighted_correlation(weights: Floats, first: Floats, second: Floats) -> Floats:
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


def values_of(copies: Mapping[str, Floats]) -> dict[str, float]:
    """Return the figures of the first copy, in which every row has its own weight."""
    return {name: float(values[0]) for name, values in copies.items()}


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
