"""Thresholds fitted to labelled scores: on which rows, and to which figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, Literal, TypeAlias

from groundjudge.lab.columns import Sample, reaches
from groundjudge.lab.figures import Bootstrap, Figure, percentile_figures
from groundjudge.lab.formulas import Floats, confusion_figures
from groundjudge.lab.labels import LabelError
from groundjudge.lab.libraries import NDArray, import_library, np
from groundjudge.verdict import DIGITS_COMPARED, round_score

# The figures that a threshold can maximise; precision is reached, not maximised.
Criterion: TypeAlias = Literal["balanced_accuracy", "accuracy", "f1", "kappa", "precision"]

# A threshold is clearly worse if its figure is lower than the highest by this many times their spread:
# the normal deviate of 5%, shared by the two ends of an interval.
CLEARLY_WORSE = 2.241402727604947

# Figures that differ by less are the same.
SAME = 10**-DIGITS_COMPARED


@dataclass(frozen=True)
class Split:
    """Which rows a threshold is fitted on, and which it is tested on, as arrays of indices.

    Attributes:
        fit_rows: the rows that the threshold is fitted on: one half of them, or all with folds.
        test_rows: the rows that it is tested on: the other half, or all with folds.
        parts: for each part of `test_rows`, the rows to fit its own threshold on, and the rows of the part.
    """

    fit_rows: NDArray[Any]
    test_rows: NDArray[Any]
    parts: Sequence[tuple[NDArray[Any], NDArray[Any]]]


def split_rows(sample: Sample, judge: str, folds: int | None, seed: int) -> Split:
    """Split rows once into halves, or into folds; groups are never divided.

    Raises:
        LabelError: `too_few_labels` if a class has fewer groups than there are parts, or if a part to fit on,
            or a half to test on, has rows of only one class.
    """
    n_parts = folds or 2
    positive = np.asarray(sample.positive)
    rarer_class, n_rarer = sample.rarer_class
    if n_rarer < n_parts:
        message = (
            f"{judge}: {n_parts} parts need {n_parts} or more independent rows labelled {rarer_class}, not "
            f"{n_rarer}: label more rows"
        )
        raise LabelError("too_few_labels", message, judge)
    selection = import_library("sklearn.model_selection")
    splitter = selection.StratifiedGroupKFold(n_splits=n_parts, shuffle=True, random_state=seed)
    # Only the length of the first argument matters.
    parts = list(splitter.split(positive, positive, sample.groups))
    if folds:
        all_rows = np.arange(positive.size)
        split = Split(all_rows, all_rows, parts)
        # A single fold may have rows of one class, because all folds are tested together.
        need_both_classes = [fit_rows for fit_rows, _ in parts]
    else:
        fit_rows, test_rows = parts[0]
        split = Split(fit_rows, test_rows, parts[:1])
        need_both_classes = [fit_rows, test_rows]
    for rows in need_both_classes:
        if positive[rows].all() or not positive[rows].any():
            fault = "no split of the groups gives every part positive and negative rows"
            message = f"{judge}: {fault}: label more groups"
            raise LabelError("too_few_labels", message, judge)
    return split


@dataclass(frozen=True)
class Candidates:
    """The thresholds that tell the rows of a sample apart: the first fails none, the next the lowest score.

    Each stands for all thresholds above its `lows` and not above its `highs`, which fail the same rows.

    Attributes:
        lows: 0, and the distinct scores, rising.
        highs: the distinct scores, rising, and 1, unless that is among them.
        thresholds: 0, and for each of the others a short number between the two.
        rising: the rows by rising score.
        n_failing: how many rows each threshold fails.
    """

    lows: Sequence[float]
    highs: Sequence[float]
    thresholds: Floats
    rising: NDArray[Any]
    n_failing: NDArray[Any]

    def measure(self, sample: Sample, by: Criterion, weights: Floats) -> Floats:
        """Compute a figure of each candidate in weighted copies of the rows; -1 where it is undefined.

        Args:
            sample: the rows.
            by: the figure.
            weights: how much each row counts, shape (copies, rows).

        Returns:
            An array of shape (copies, candidates).
        """
        positive = np.asarray(sample.positive)
        passing_grounded, failing_grounded = self._sum_on_both_sides(weights * positive)
        passing_others, failing_others = self._sum_on_both_sides(weights * ~positive)
        values = confusion_figures(passing_grounded, passing_others, failing_grounded, failing_others)[by]
        return np.nan_to_num(values, nan=-1.0)

    def _sum_on_both_sides(self, weights: Floats) -> tuple[Floats, Floats]:
        """Sum the weights of passing and of failing rows; both of shape (copies, candidates)."""
        # Position n has the sum of the n rows with the lowest scores.
        sums = np.pad(np.cumsum(weights[:, self.rising], axis=1), ((0, 0), (1, 0)))
        failing = sums[:, self.n_failing]
        return sums[:, -1:] - failing, failing

    def choose(self, values: Floats, at_least: float | None) -> Floats:
        """Choose the threshold of each weighted copy of the rows.

        Args:
            values: the figure of each candidate, shape (copies, candidates).
            at_least: what it must reach; None: it must be the highest.

        Returns:
            The lowest threshold that reaches `at_least`, or the middle one of those with the highest figure,
            shape (copies,); NaN where none reaches it.
        """
        limit = values.max(axis=1, keepdims=True) if at_least is None else at_least
        is_suitable = values >= limit - SAME
        # How many candidates up to each one are suitable.
        n_suitable = is_suitable.cumsum(axis=1)
        place_among_suitable = (n_suitable[:, -1:] + 1) // 2 if at_least is None else 1
        # The first place where the count is reached is that of the candidate itself.
        places = (n_suitable == place_among_suitable).argmax(axis=1)
        return np.where(is_suitable.any(axis=1), self.thresholds[places], nan)


def find_candidates(scores: Floats) -> Candidates:
    """Find the thresholds that tell rows with these scores apart; there must be a row or more."""
    rounded_scores = [round_score(score) for score in scores.tolist()]
    levels, n_at_level = np.unique(rounded_scores, return_counts=True)
    lows: list[float] = [0.0, *levels.tolist()]
    highs: list[float] = [*levels.tolist(), 1.0]
    if levels[-1] == 1:
        # No threshold fails a score of 1.
        lows.pop()
        highs.pop()
    # The lowest threshold passes everything, even a score of 0.
    thresholds = [0.0]
    for low, high in zip(lows[1:], highs[1:], strict=True):
        thresholds.append(_short_number(low, high))
    return Candidates(
        lows=lows,
        highs=highs,
        thresholds=np.array(thresholds),
        rising=np.argsort(rounded_scores, kind="stable"),
        n_failing=np.append(0, n_at_level.cumsum())[: len(lows)],
    )


def _short_number(low: float, high: float) -> float:
    """Find the number with the fewest decimals near the middle of two, above `low` and not above `high`."""
    middle = (low + high) / 2
    for digits in range(1, DIGITS_COMPARED + 1):
        rounded = round(middle, digits)
        if low < rounded <= high:
            return rounded
    return high  # between two scores that differ in the last digit, the middle may be rounded down


def fit_threshold(sample: Sample, by: Criterion, at_least: float | None = None) -> float:
    """Find the threshold, 0..1, that maximises a figure on these rows; if there are several, the middle one.

    Args:
        sample: one row or more, with a score and a label that says whether it is grounded.
        by: the figure to maximise.
        at_least: what the figure must reach instead; finds the lowest threshold that reaches it.

    Raises:
        LabelError: `no_threshold`: none reaches `at_least`.
    """
    candidates = find_candidates(sample.scores)
    values = candidates.measure(sample, by, sample.weights[None, :])
    threshold = float(candidates.choose(values, at_least)[0])
    if isnan(threshold):
        message = (
            f"no threshold reaches a {by} of {at_least} with these labels: the highest is {values.max():.3f}"
        )
        raise LabelError("no_threshold", message)
    return threshold


def fit_interval(sample: Sample, by: Criterion, at_least: float | None, bootstrap: Bootstrap) -> Figure:
    """Fit the threshold like `fit_threshold`, with its interval.

    The interval contains all thresholds that are not clearly worse on these rows: their figure is below the
    highest by at most `CLEARLY_WORSE` times the spread of the difference among resamples. The middle 95% of
    thresholds fitted to resamples contain the best one less often: in 56% to 90% of simulated samples of
    50 and 100 rows. They are the interval if a figure is reached, not maximised.
    """
    candidates = find_candidates(sample.scores)
    copies: list[Floats] = []
    for weights in bootstrap.weights(sample):
        copies.append(candidates.measure(sample, by, weights))
    values = np.concatenate(copies)  # shape (1 + resamples, candidates)
    thresholds = candidates.choose(values, at_least)
    if at_least is not None:
        return percentile_figures({"threshold": thresholds})["threshold"]
    threshold = float(thresholds[0])
    if thresholds.size == 1:
        return Figure(value=threshold)  # a single group is not resampled
    shortfalls = values[:, values[0].argmax()][:, None] - values
    is_suitable = shortfalls[0] <= CLEARLY_WORSE * shortfalls[1:].std(axis=0) + SAME
    suitable_places = np.flatnonzero(is_suitable).tolist()
    low = candidates.lows[suitable_places[0]]
    high = candidates.highs[suitable_places[-1]]
    return Figure(value=threshold, low=min(low, threshold), high=max(high, threshold))


def fit_parts(
    sample: Sample, split: Split, by: Criterion, at_least: float | None
) -> tuple[list[float], Sample]:
    """Fit a threshold for each part of the rows on its other rows.

    Returns:
        The thresholds, and the rows that are tested, each of which passes by the threshold of its part.

    Raises:
        LabelError: `no_threshold`: none reaches `at_least` on the rows of a part.
    """
    thresholds: list[float] = []
    passed = sample.passed.copy()
    for fit_rows, test_rows in split.parts:
        threshold = fit_threshold(sample.select(fit_rows), by, at_least)
        thresholds.append(threshold)
        passed[test_rows] = reaches(sample.scores[test_rows], threshold)
    return thresholds, replace(sample, passed=passed).select(split.test_rows)
