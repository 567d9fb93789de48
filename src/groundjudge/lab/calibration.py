"""Fitting a judge's threshold to human labels, and testing it on held-out rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import isnan, nan
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from groundjudge.files import replace_file
from groundjudge.lab import figures
from groundjudge.lab.agreement import notices_on, sample_of
from groundjudge.lab.brief import BriefVerdict
from groundjudge.lab.figures import RESAMPLES, Bools, Bootstrap, Figure, Floats, Sample
from groundjudge.lab.labels import JudgedRows, LabelError
from groundjudge.lab.libraries import NDArray, import_library, np
from groundjudge.verdict import DIGITS_COMPARED, Finite, Frozen, Score, Verdict, round_score

# The figures that a threshold can maximise; precision is reached, not maximised.
Criterion: TypeAlias = Literal["balanced_accuracy", "accuracy", "f1", "kappa", "precision"]

# The share of samples in which a bound may exceed the true share.
ONE_SIDED = 0.05

# A threshold is clearly worse if its figure is lower than the highest by this many times their spread:
# the normal deviate of 5%, shared by the two ends of an interval.
CLEARLY_WORSE = 2.241402727604947

# Digits of the hash that represents a row used for fitting. If a million rows are compared with a thousand
# used for fitting, one is mistaken for one of these in 280,000 runs.
HASH_DIGITS = 12

# The indices of the rows to fit on, and of the rows to test on.
Split: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


class Calibration(Frozen):
    """A threshold fitted to human labels, and its figures on held-out rows.

    Attributes:
        threshold: the lowest score that passes, 0..1.
        by: the figure that the threshold maximises on the fitted rows; or "precision": it is the lowest
            threshold with which the share of grounded rows among those that pass reaches `at_least`.
        folds: None: fitted on one half of the rows and tested on the other. Otherwise the number of
            folds of the cross-validation: fitted on all rows, and each fold is tested with the
            threshold fitted on the other folds.
        seed: the seed of the split and of the bootstrap.
        thresholds: the threshold of each fold, to which `tested`, `gain`, `n_passed` and `bound` refer; for
            halves, the only one.
        n_fitted: the number of rows it was fitted on.
        n_tested: the number of rows it was tested on.
        fitted: the figures on the rows it was fitted on, which are biased upwards.
        tested: the figures on held-out rows.
        as_run: the figures on the same held-out rows by whether they passed in their run, or with the
            judge's current threshold.
        gain: tested minus as_run, with paired bootstrap intervals.
        guess: the constant-guess baseline on the held-out rows (see `figures.constant_guess`).
        signatures: of the verdicts it was fitted on (prompt, model, library version); it may not suit others.
        interval: the threshold, with the range of thresholds not clearly worse on the same rows.
        fitted_rows: a hash of the id and content of each fitted row, to recognise it.
        n_unscored: labelled rows without a score, which no threshold changes.
        notices: reasons to doubt the figures (see `agreement.notices_on`).
        at_least: the requested precision; None for other figures.
        n_passed: the number of held-out rows that pass with the threshold.
        bound: with 95% confidence, the precision on rows like the held-out ones is not below this (one-sided
            and exact, Clopper and Pearson, 1934; assumes independent rows). None if `at_least` is None.
    """

    judge: str
    threshold: Score
    by: Criterion
    folds: int | None
    seed: int
    thresholds: tuple[Score, ...]
    n_fitted: int
    n_tested: int
    fitted: Mapping[str, Figure]
    tested: Mapping[str, Figure]
    as_run: Mapping[str, Figure]
    gain: Mapping[str, Figure]
    guess: Mapping[str, Finite]
    signatures: tuple[str, ...]
    interval: Figure = Figure()
    fitted_rows: tuple[str, ...] = ()
    n_unscored: int = 0
    notices: tuple[str, ...] = ()
    at_least: Score | None = None
    n_passed: int = 0
    bound: Score | None = None

    @property
    def beats_guessing(self) -> bool:
        """Whether the held-out interval of the fitted figure lies above the constant-guess baseline."""
        low = self.tested[self.by].low
        return low is not None and low > self.guess[self.by]

    @property
    def is_reversed(self) -> bool:
        """Whether the judge is clearly worse than guessing on held-out rows, as run or with any threshold."""
        return figures.is_reversed(self.as_run)


# The content of a file of calibrations.
CALIBRATIONS = TypeAdapter(tuple[Calibration, ...])


def calibrate(  # noqa: PLR0913  each option changes the threshold or the figures
    judged_rows: JudgedRows,
    *,
    by: Criterion = "balanced_accuracy",
    at_least: float | None = None,
    folds: int | None = None,
    threshold: float | None = None,
    label_threshold: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Calibration:
    """Fit a judge's threshold to human labels, and test it on held-out rows.

    Splits are stratified by label and never divide a group (scikit-learn's StratifiedGroupKFold).

    Args:
        judged_rows: the judge's verdicts joined with labels.
        by: the figure to maximise; "precision" finds the lowest threshold that reaches `at_least`.
        at_least: the required precision, 0..1; needed for "precision", and not allowed otherwise.
        folds: the number of folds for cross-validation, 2 or more; None: fit on one half of the
            rows and test on the other.
        threshold: the judge's current threshold, for `as_run` and `gain`; None: whether a row passed in its
            run counts.
        label_threshold: the lowest label that means grounded, needed for graded labels.
        resamples: how many bootstrap resamples to draw for the intervals (see `figures.Bootstrap`).
        seed: the seed of the split and of the bootstrap.

    Raises:
        LabelError: `bad_option` for the verdicts of a panel, for graded labels without a label threshold, and
            for `at_least` without precision or the reverse; `no_threshold`: none reaches the precision;
            `too_few_labels` if a class has fewer groups than there are parts, or the groups do not
            allow a split in which every part has rows of both classes.
    """
    bootstrap = Bootstrap(resamples, seed)
    sample, positive = _rows_to_fit(judged_rows, by, at_least, threshold, label_threshold)
    parts = splits(sample, positive, judged_rows.judge, folds, seed)
    thresholds = [
        fit_threshold(sample.scores[train], positive[train], by, sample.weights[train], at_least=at_least)
        for train, _ in parts
    ]
    if folds:
        # The threshold is fitted on all rows; the thresholds of the folds show how well that works.
        fit_rows = np.arange(positive.size)
        test_rows = fit_rows
    else:
        fit_rows, test_rows = parts[0]
    fit_sample = sample.select(fit_rows)
    fit_positive = positive[fit_rows]
    fitted_threshold = fit_threshold(
        fit_sample.scores, fit_positive, by, fit_sample.weights, at_least=at_least
    )
    fitted = replace(fit_sample, passed=figures.reaches(fit_sample.scores, fitted_threshold))
    as_run = sample.select(test_rows)
    # The rows of each part are judged by the threshold fitted on its other rows.
    passed = sample.passed.copy()
    for (_, rows), threshold_of_part in zip(parts, thresholds, strict=True):
        passed[rows] = figures.reaches(sample.scores[rows], threshold_of_part)
    tested = replace(sample, passed=passed).select(test_rows)
    as_run_draws, tested_draws, gain = figures.resample_pair(as_run, tested, Sample.agreement, bootstrap)
    as_run_figures = figures.figures_of(as_run_draws, as_run.groups)
    guess = figures.constant_guess(positive[test_rows], tested.weights)
    bound: float | None = None
    if at_least is not None:
        # Passing every row gives the share of grounded rows as precision.
        guess["precision"] = _share_grounded(tested)
        bound = _precision_bound(tested.select(tested.passed))
    fitted_rows = [_row_hash(judged_rows.labelled_rows[place].verdict) for place in fit_rows.tolist()]
    signatures = {row.verdict.signature for row in judged_rows.labelled_rows if row.verdict.score is not None}
    return Calibration(
        judge=judged_rows.judge,
        threshold=fitted_threshold,
        by=by,
        folds=folds,
        seed=seed,
        thresholds=tuple(thresholds),
        n_fitted=fit_rows.size,
        n_tested=test_rows.size,
        fitted=bootstrap.figures(fitted, Sample.agreement),
        tested=figures.figures_of(tested_draws, tested.groups),
        as_run=as_run_figures,
        gain=figures.percentile_figures(gain),
        guess=guess,
        signatures=tuple(sorted(signatures)),
        interval=_threshold_figure(fit_sample, fit_positive, by, at_least, bootstrap),
        fitted_rows=tuple(fitted_rows),
        n_unscored=len(judged_rows.unscored_rows),
        notices=notices_on(fit_sample, as_run_figures, judged_rows.labels, scores_matter=True),
        at_least=at_least,
        n_passed=int(tested.passed.sum()),
        bound=bound,
    )


def _rows_to_fit(
    judged_rows: JudgedRows,
    by: Criterion,
    at_least: float | None,
    threshold: float | None,
    label_threshold: float | None,
) -> tuple[Sample, Bools]:
    """Turn the labelled rows with a score into columns, with whether each label means grounded.

    Raises:
        LabelError: `bad_option`: no threshold can be fitted to these rows with these options.
    """
    if any(row.verdict.has_votes for row in judged_rows.labelled_rows):
        message = (
            f"{judged_rows.judge}: these verdicts come from votes, and a threshold applies to each vote, not "
            "to their mean: calibrate with the verdicts of a single judge"
        )
        raise LabelError("bad_option", message, judged_rows.judge)
    if by == "precision" and at_least is None:
        raise LabelError("bad_option", "precision needs `at_least`, a number from 0 to 1", "at_least")
    if by != "precision" and at_least is not None:
        raise LabelError("bad_option", "`at_least` applies to precision only: omit it", "at_least")
    sample = sample_of(judged_rows, threshold=threshold, label_threshold=label_threshold).count_unscored(None)
    if sample.positive is None:
        message = "the labels are grades: pass a label threshold to say which mean grounded"
        raise LabelError("bad_option", f"{judged_rows.judge}: {message}", judged_rows.judge)
    return sample, sample.positive


def _threshold_figure(
    sample: Sample, positive: Bools, by: Criterion, at_least: float | None, bootstrap: Bootstrap
) -> Figure:
    """Fit the threshold to the rows, with its interval.

    The interval contains all thresholds that are not clearly worse on these rows: their figure is below the
    highest by at most `CLEARLY_WORSE` times the spread of the difference among resamples. The middle 95% of
    thresholds fitted to resamples contain the best one less often: in 56% to 90% of simulated samples of
    50 and 100 rows. They are the interval if a figure is reached, not maximised.
    """
    if at_least is not None:

        def fit_to_weights(_sample: Sample, weights: Floats) -> dict[str, Floats]:
            return {"threshold": fit_thresholds(sample.scores, positive, by, weights, at_least)}

        draws = bootstrap.draws(sample, fit_to_weights)
        return figures.percentile_figures(draws)["threshold"]

    def candidate_figures(_sample: Sample, weights: Floats) -> dict[str, Floats]:
        values = _candidates(sample.scores, positive, by, weights)[1]
        return {str(place): values[:, place] for place in range(values.shape[1])}

    draws = bootstrap.draws(sample, candidate_figures)
    values = np.array(list(draws.values()))  # shape (candidates, 1 + resamples)
    (threshold,) = fit_thresholds(sample.scores, positive, by, sample.weights[None, :], None).tolist()
    if values.shape[1] == 1:
        return Figure(value=threshold)  # a single group is not resampled
    shortfalls = values[values[:, 0].argmax()] - values
    is_suitable = shortfalls[:, 0] <= CLEARLY_WORSE * shortfalls[:, 1:].std(axis=1) + 10**-DIGITS_COMPARED
    suitable_places = np.flatnonzero(is_suitable).tolist()
    levels, _ = _candidates(sample.scores, positive, by, sample.weights[None, :])
    first_place, last_place = suitable_places[0], suitable_places[-1]
    # A candidate represents all thresholds above the level before it, up to its own.
    low = levels[first_place - 1] if first_place else 0.0
    high = levels[last_place] if last_place < len(levels) else 1.0
    return Figure(value=threshold, low=min(low, threshold), high=max(high, threshold))


def _share_grounded(sample: Sample) -> float:
    return float(np.average(np.asarray(sample.positive), weights=sample.weights))


def _precision_bound(sample: Sample) -> float:
    """Bound the share of grounded rows from below, for the effective number of weighted rows (Kish, 1965)."""
    if not sample.weights.size:
        return 0.0  # nothing passes, so nothing is proven
    effective = float(sample.weights.sum() ** 2 / (sample.weights**2).sum())
    return lower_bound(_share_grounded(sample) * effective, effective)


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


def fit_threshold(
    scores: Floats,
    positive: Bools,
    by: Criterion,
    weights: Floats | None = None,
    *,
    at_least: float | None = None,
) -> float:
    """Find the threshold, 0..1, that maximises a figure on these rows; if there are several, the middle one.

    It is 0 if everything should pass. Otherwise it lies above one score that occurs and not above
    the next: the number with the fewest decimals near the middle of the two.

    Args:
        scores: 0..1, shape (rows,), one row or more.
        positive: whether the label calls the response grounded, shape (rows,).
        by: the figure to maximise.
        weights: how much each row counts, shape (rows,); None: equally.
        at_least: what the figure must reach instead; finds the lowest threshold that reaches it.

    Raises:
        LabelError: `no_threshold`: none reaches `at_least`.
    """
    if weights is None:
        weights = np.ones_like(scores)
    single_copy = weights[None, :]
    (threshold,) = fit_thresholds(scores, positive, by, single_copy, at_least).tolist()
    if isnan(threshold):
        _, values = _candidates(scores, positive, by, single_copy)
        message = (
            f"no threshold reaches a {by} of {at_least} with these labels: the highest is {values.max():.3f}"
        )
        raise LabelError("no_threshold", message)
    return float(threshold)


def fit_thresholds(
    scores: Floats, positive: Bools, by: Criterion, weights: Floats, at_least: float | None
) -> Floats:
    """Find the thresholds for weighted copies of the same rows; see `fit_threshold`.

    Args:
        scores: shape (rows,).
        positive: shape (rows,).
        by: the figure to maximise.
        weights: how much each row counts, shape (copies, rows).
        at_least: what the figure must reach instead.

    Returns:
        An array of shape (copies,); NaN where no threshold reaches `at_least`.
    """
    levels, values = _candidates(scores, positive, by, weights)
    n_candidates = values.shape[1]
    thresholds = np.array([_threshold_at(levels, place) for place in range(n_candidates)])
    limit = values.max(axis=1, keepdims=True) if at_least is None else at_least
    is_suitable = values >= limit - 10**-DIGITS_COMPARED
    # How many candidates up to each one are suitable.
    n_suitable = is_suitable.cumsum(axis=1)
    place_among_suitable = (n_suitable[:, -1:] + 1) // 2 if at_least is None else 1
    # The first place where the count is reached is that of the candidate itself.
    places = (n_suitable == place_among_suitable).argmax(axis=1)
    return np.where(is_suitable.any(axis=1), thresholds[places], nan)


def _candidates(
    scores: Floats, positive: Bools, by: Criterion, weights: Floats
) -> tuple[Sequence[float], Floats]:
    """Compute a figure for each candidate threshold: a level of the scores below which rows fail.

    Returns:
        The distinct scores, rising, and an array of shape (copies, candidates), -1 for undefined figures.
        The last candidate fails all rows, which no threshold can do if the highest score is 1.
    """
    rounded_scores = [round_score(score) for score in scores.tolist()]
    levels, level_of_row = np.unique(rounded_scores, return_inverse=True)
    order = np.argsort(level_of_row, kind="stable")
    n_below_level = np.searchsorted(level_of_row[order], np.arange(levels.size + 1))
    failing_grounded = _sums_of_first((weights * positive)[:, order], n_below_level)
    failing_others = _sums_of_first((weights * ~positive)[:, order], n_below_level)
    # The last position has the sum of all rows.
    passing_grounded = failing_grounded[:, -1:] - failing_grounded
    passing_others = failing_others[:, -1:] - failing_others
    values = figures.confusion_figures(passing_grounded, passing_others, failing_grounded, failing_others)[by]
    n_candidates = levels.size + 1
    if levels[-1] == 1:
        n_candidates = levels.size
    return levels.tolist(), np.nan_to_num(values[:, :n_candidates], nan=-1.0)


def _sums_of_first(weights: Floats, numbers: NDArray[Any]) -> Floats:
    """Sum the first n weights of each copy, for each of the numbers n; shape (copies, numbers)."""
    sums = np.pad(np.cumsum(weights, axis=1), ((0, 0), (1, 0)))
    return np.asarray(sums[:, numbers])


def splits(sample: Sample, positive: Bools, judge: str, folds: int | None, seed: int) -> list[Split]:
    """Split the rows: once into halves, or once per fold; groups are never divided.

    Raises:
        LabelError: `too_few_labels` if a class has fewer groups than there are parts, or if a part to fit on,
            or a half to test on, has rows of only one class.
    """
    n_parts = folds or 2
    n_positive = np.unique(sample.groups[positive]).size
    n_negative = np.unique(sample.groups[~positive]).size
    rarer_class = "positive" if n_positive < n_negative else "negative"
    n_rarer = min(n_positive, n_negative)
    if n_rarer < n_parts:
        message = (
            f"{judge}: {n_parts} parts need {n_parts} or more independent {rarer_class} rows, not {n_rarer}: "
            "label more rows"
        )
        raise LabelError("too_few_labels", message, judge)
    selection = import_library("sklearn.model_selection")
    splitter = selection.StratifiedGroupKFold(n_splits=n_parts, shuffle=True, random_state=seed)
    # Only the length of the first argument matters.
    parts: list[Split] = list(splitter.split(positive, positive, sample.groups))
    if folds:
        # A single fold may have rows of one class, because all folds are tested together.
        need_both_classes = [train for train, _ in parts]
    else:
        parts = parts[:1]
        need_both_classes = list(parts[0])
    for rows in need_both_classes:
        if positive[rows].all() or not positive[rows].any():
            fault = "no split of the groups gives every part positive and negative rows"
            message = f"{judge}: {fault}: label more groups"
            raise LabelError("too_few_labels", message, judge)
    return parts


def warnings_on(calibrations: Iterable[Calibration], verdicts: Iterable[Verdict]) -> list[str]:
    """Warn about thresholds applied to verdicts that they do not suit.

    Args:
        calibrations: of any judges.
        verdicts: of any judges, read once as a stream.

    Returns:
        A sentence for each calibration whose judge's verdicts come from another prompt, model or library
        version, with both signatures, and one if they include rows that it was fitted on.
    """
    signatures: dict[str, set[str]] = {}
    n_rows: Counter[str] = Counter()
    n_fitted_rows: Counter[str] = Counter()
    fitted_rows: dict[str, frozenset[str]] = {}
    calibration_by_judge = {calibration.judge: calibration for calibration in calibrations}
    for judge, calibration in calibration_by_judge.items():
        fitted_rows[judge] = frozenset(calibration.fitted_rows)
    for verdict in verdicts:
        if verdict.judge in calibration_by_judge and verdict.score is not None:
            signatures.setdefault(verdict.judge, set()).add(verdict.signature)
            n_rows[verdict.judge] += 1
            n_fitted_rows[verdict.judge] += _row_hash(verdict) in fitted_rows[verdict.judge]
    warnings: list[str] = []
    for judge, calibration in calibration_by_judge.items():
        signatures_of_judge = signatures.get(judge, set[str]())
        threshold = f"{judge}: the threshold {calibration.threshold:g} was fitted on"
        if not signatures_of_judge <= set(calibration.signatures):
            fitted = ", ".join(calibration.signatures)
            applied = ", ".join(sorted(signatures_of_judge))
            warnings.append(f"{threshold} verdicts from {fitted}; these are from {applied}")
        if n_fitted_rows[judge]:
            fitted = f"{n_fitted_rows[judge]} of these {n_rows[judge]} rows"
            remedy = 'quote the column "tested" of `groundjudge calibrate`'
            warnings.append(f"{threshold} {fitted}, on which it looks better than it is: {remedy}")
    return warnings


def save_calibrations(path: str | Path, calibrations: Iterable[Calibration]) -> None:
    """Write calibrations to a JSON file.

    Raises:
        OSError: the file cannot be written.
    """
    with replace_file(Path(path)) as file:
        file.write(CALIBRATIONS.dump_json(tuple(calibrations), indent=2) + b"\n")


def read_calibrations(path: str | Path) -> dict[str, Calibration]:
    """Read a file written by `save_calibrations`; return calibrations by judge name.

    Raises:
        OSError: the file cannot be read.
        LabelError: `unreadable_calibration`.
    """
    try:
        calibrations = CALIBRATIONS.validate_json(Path(path).read_bytes())
    except ValidationError as error:
        message = f"{path} is not a file of thresholds written by `groundjudge calibrate`"
        raise LabelError("unreadable_calibration", message, str(path)) from error
    return {calibration.judge: calibration for calibration in calibrations}


def _row_hash(verdict: Verdict | BriefVerdict) -> str:
    """Represent a row by a hash of its id and, if the verdict's key has it, of its content."""
    return sha256(f"{verdict.case_id} {verdict.case_hash}".encode()).hexdigest()[:HASH_DIGITS]


def _threshold_at(levels: Sequence[float], place: int) -> float:
    """Turn a candidate into a threshold: 0 for the first, which passes everything.

    Any other lies above the level before it and not above its own: it is the number with the fewest decimals
    near the middle of the two.
    """
    if place == 0:
        return 0.0
    low = levels[place - 1]
    # Above the highest level, nothing passes, up to 1.
    high = levels[place] if place < len(levels) else 1.0
    middle = (low + high) / 2
    for digits in range(1, DIGITS_COMPARED + 1):
        rounded = round(middle, digits)
        if low < rounded <= high:
            return rounded
    return high  # between two scores that differ in the last digit, the middle may be rounded down
