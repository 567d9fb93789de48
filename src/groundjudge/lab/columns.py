"""Labelled verdicts as columns, and the figures of agreement between a judge and people's labels.

"Positive" means that the label calls a response grounded, "passed" that the judge does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any, Literal, TypeAlias

from groundjudge.lab.brief import BriefVerdict
from groundjudge.lab.formulas import (
    Bools,
    Floats,
    confusion_cells,
    confusion_figures,
    values_of,
    weighted_correlation,
    weighted_mean,
    weighted_ranks,
    weighted_roc_auc,
)
from groundjudge.lab.labels import JudgedRows, LabelledVerdict
from groundjudge.lab.libraries import NDArray, np
from groundjudge.verdict import deciding_score, passes, passes_by

# How a labelled row without a score (an error or "not applicable") counts: as the judge's mistake, as right,
# or as in its run, where "not applicable" passes and an error does not.
Unscored: TypeAlias = Literal["wrong", "right", "as-run"]


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
            roc_auc = weighted_roc_auc(weights, self.positive, self.scores)
        figures = confusion_figures(*cells)
        figures["roc_auc"] = roc_auc
        figures["spearman"] = undefined
        # Pseudo-rows have no grade, so the correlation covers the rows alone.
        n_rows = self.groups.size
        if self.graded is not None and n_rows > 0:
            row_weights = weights[:, :n_rows]
            ranks = (
                weighted_ranks(row_weights, self.scores[:n_rows]),
                weighted_ranks(row_weights, self.graded),
            )
            figures["spearman"] = weighted_correlation(row_weights, *ranks)
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


def _rescale(values: Floats) -> Floats:
    """Rescale values to 0 for the lowest and 1 for the highest; shape as the values, (rows,)."""
    lowest = values.min()
    extent = float(np.ptp(values))
    # Values that are all the same are all 0.
    if extent == 0:
        extent = 1.0
    return np.asarray((values - lowest) / extent)
