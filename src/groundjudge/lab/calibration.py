"""Fitting a judge's threshold to human labels, and testing it on held-out rows."""

from __future__ import annotations

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
from groundjudge.lab.figures import RESAMPLES, Bools, Bootstrap, Figure, Floats, Sample
from groundjudge.lab.labels import JudgedRows, LabelError
from groundjudge.lab.libraries import NDArray, distributions, np, selection
from groundjudge.verdict import DIGITS_COMPARED, Finite, Frozen, Score, Verdict, round_score

Criterion: TypeAlias = Literal["balanced_accuracy", "accuracy", "f1", "kappa", "precision"]
"""The figures that a threshold can be fitted to maximise; precision is not maximised, but reached."""

ONE_SIDED = 0.05
"""The share of the samples in which a bound may be above the true share."""

HASH_DIGITS = 12
"""Digits of the hash that stands for a row that a threshold was fitted on."""

Split: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
"""The indices of the rows to fit on, and of those to test on."""


class Calibration(Frozen):
    """A threshold fitted to human labels, and its figures on held-out rows.

    Attributes:
        threshold: the lowest score that passes, 0..1.
        by: the figure that the threshold maximises on the rows it was fitted on; or "precision": it is the
            lowest threshold with which the share of grounded rows among those that pass reaches `at_least`.
        folds: None: fitted on one half of the rows and tested on the other. Otherwise the number of
            folds of the cross-validation: fitted on all rows, and each fold is tested with the
            threshold fitted on the other folds.
        seed: of the split and of the bootstrap.
        thresholds: the threshold of each fold, which `tested`, `gain`, `n_passed` and `bound` are about; for
            halves the only one.
        n_fitted: the number of rows it was fitted on.
        n_tested: the number of rows it was tested on.
        fitted: the figures on the rows it was fitted on, which are biased upwards.
        tested: the figures on held-out rows.
        as_run: the figures on the same held-out rows by whether they passed in their run.
        gain: tested minus as_run, with paired bootstrap intervals.
        guess: the constant-guess baseline on the held-out rows (see `figures.constant_guess`).
        signatures: of the verdicts it was fitted on (prompt, model, library version); it may not suit others.
        interval: the threshold, with the middle 95 % of those fitted to resamples of the same rows.
        fitted_rows: a hash of the id and content of each row that it was fitted on, to recognise them.
        n_unscored: labelled rows without a score, which no threshold changes.
        notices: what makes the figures doubtful (see `agreement.notices_on`).
        at_least: the precision that was asked for; None for other figures.
        n_passed: the number of held-out rows that pass with the threshold.
        bound: with 95 % confidence, the precision on rows like the held-out ones is not below this (one-sided
            and exact, Clopper and Pearson, 1934; rows taken as independent). None where `at_least` is.
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


CALIBRATIONS = TypeAdapter(tuple[Calibration, ...])


def calibrate(  # noqa: PLR0913  each option changes the threshold or the figures
    joined: JudgedRows,
    *,
    by: Criterion = "balanced_accuracy",
    at_least: float | None = None,
    folds: int | None = None,
    label_threshold: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Calibration:
    """Fit a judge's threshold to human labels, and test it on held-out rows.

    Splits are stratified by label and never divide a group (scikit-learn's StratifiedGroupKFold).

    Args:
        joined: the judge's verdicts joined with labels.
        by: the figure to maximise; with "precision" the lowest threshold is taken that reaches `at_least`.
        at_least: the precision that is wanted, 0..1; needed for it, and for no other figure.
        folds: the number of folds for cross-validation, 2 or more; None: fit on one half of the
            rows and test on the other.
        label_threshold: the lowest label that means grounded, needed for graded labels.
        resamples: how many bootstrap resamples to draw for the intervals (see `figures.intervals`).
        seed: of the split and of the bootstrap.

    Raises:
        LabelError: `bad_option` for the verdicts of a panel, for graded labels without a label threshold, and
            for `at_least` without precision or the reverse; `no_threshold`: none reaches the precision;
            `too_few_labels` if a class has fewer groups than there are parts, or the groups do not
            allow for a split in which every part has rows of both classes.
    """
    if any(one.verdict.votes for one in joined.labelled_rows):
        message = (
            f"{joined.judge}: these verdicts come from votes, and a threshold applies to each vote, not to "
            "their mean: calibrate with the verdicts of a single judge"
        )
        raise LabelError("bad_option", message, joined.judge)
    if (by == "precision") != (at_least is not None):
        needs, only = "precision needs `at_least`, from 0 to 1", "`at_least` is for precision only"
        message = needs if by == "precision" else only
        raise LabelError("bad_option", message, "at_least")
    bootstrap = Bootstrap(resamples, seed)
    sample = sample_of(joined, label_threshold=label_threshold).counting(None)
    if (positive := sample.positive) is None:
        message = "the labels are graded; give a label threshold to say which of them mean grounded"
        raise LabelError("bad_option", f"{joined.judge}: {message}", joined.judge)
    parts = splits(sample, positive, joined.judge, folds, seed)
    thresholds = [
        fit_threshold(sample.scores[train], positive[train], by, sample.weights[train], at_least=at_least)
        for train, _ in parts
    ]
    all_rows = np.arange(positive.size)
    train, test = (all_rows, all_rows) if folds else parts[0]
    learnt = sample.rows(train)

    def threshold_of(weights: Floats) -> dict[str, Floats]:
        return {"threshold": fit_thresholds(learnt.scores, positive[train], by, weights, at_least)}

    draws = bootstrap.draws(threshold_of, learnt.groups, np.empty(0), learnt.drawn)
    threshold = fit_threshold(learnt.scores, positive[train], by, learnt.weights, at_least=at_least)
    fitted = replace(learnt, passed=figures.reaches(learnt.scores, threshold))
    as_run, tested = sample.rows(test), _held_out(sample, parts, thresholds).rows(test)
    before, after, gain = figures.resample_pair(as_run, tested, Sample.agreement, bootstrap)
    guess = figures.constant_guess(positive[test], tested.weights)
    as_run_figures = figures.figures_of(before, as_run.groups)
    return Calibration(
        judge=joined.judge,
        threshold=threshold,
        by=by,
        folds=folds,
        seed=seed,
        thresholds=tuple(thresholds),
        n_fitted=train.size,
        n_tested=test.size,
        fitted=bootstrap.figures(fitted, Sample.agreement),
        tested=figures.figures_of(after, tested.groups),
        as_run=as_run_figures,
        gain=figures.percentile_figures(gain),
        guess=guess if at_least is None else {**guess, "precision": _share(tested)},
        signatures=_signatures(row.verdict for row in joined.labelled_rows),
        interval=figures.percentile_figures(draws)["threshold"],
        fitted_rows=tuple(_row_hash(joined.labelled_rows[place].verdict) for place in train.tolist()),
        n_unscored=len(joined.unscored_rows),
        notices=notices_on(learnt, as_run_figures, joined.labels, scores_matter=True),
        at_least=at_least,
        n_passed=int(tested.passed.sum()),
        bound=None if at_least is None else _bound(tested.rows(tested.passed)),
    )


def _share(sample: Sample) -> float:
    """The share of grounded rows."""
    return float(np.average(np.asarray(sample.positive), weights=sample.weights))


def _bound(sample: Sample) -> float:
    """The lower bound of the share of grounded rows, from as many as their weights are worth (Kish, 1965)."""
    if not sample.weights.size:
        return 0.0
    n = float(sample.weights.sum() ** 2 / (sample.weights**2).sum())
    return lower_bound(_share(sample) * n, n)


def lower_bound(events: float, n: float) -> float:
    """The one-sided exact 95 % lower bound of a share; 0 without observations."""
    return float(distributions.beta.ppf(ONE_SIDED, events, n - events + 1)) if events else 0.0


def fit_threshold(
    scores: Floats,
    positive: Bools,
    by: Criterion,
    weights: Floats | None = None,
    *,
    at_least: float | None = None,
) -> float:
    """Find the threshold, 0..1, that maximises a figure on these rows; the middle one of several.

    It is 0 if everything should pass, and otherwise lies above one score that occurs and not above
    the next: the number with the fewest decimals near the middle of the two.

    Args:
        scores: 0..1, shape (rows,), one row or more.
        positive: whether the label calls the response grounded, shape (rows,).
        by: the figure to maximise.
        weights: how much each row counts, shape (rows,); None: all the same.
        at_least: what the figure must reach instead; then it is the lowest threshold that does.

    Raises:
        LabelError: `no_threshold`: none reaches `at_least`.
    """
    weights = np.ones_like(scores) if weights is None else weights
    (threshold,) = fit_thresholds(scores, positive, by, weights[None, :], at_least).tolist()
    if isnan(threshold):
        highest = f"the highest is {_reached(scores, positive, by, weights[None, :])[1].max():.3f}"
        message = f"no threshold reaches a {by} of {at_least} with these labels: {highest}"
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
        An array of the shape (copies,); NaN where no threshold reaches `at_least`.
    """
    levels, found = _reached(scores, positive, by, weights)
    wanted = found.max(axis=1, keepdims=True) if at_least is None else at_least
    is_best = found >= wanted - 10**-DIGITS_COMPARED
    count = is_best.cumsum(axis=1)
    chosen = (count[:, -1:] + 1) // 2 if at_least is None else 1
    thresholds = np.array([_between([0.0, *levels, 1.0], place) for place in range(found.shape[1])])
    return np.where(is_best.any(axis=1), thresholds[(count == chosen).argmax(axis=1)], nan)


def _reached(
    scores: Floats, positive: Bools, by: Criterion, weights: Floats
) -> tuple[Sequence[float], Floats]:
    """The levels of the scores, and a figure for each candidate: a level below which rows fail.

    Returns:
        The distinct scores, rising, and an array of the shape (copies, candidates), -1 for undefined figures.
        The last candidate fails all rows, which no threshold does if the highest score is 1.
    """
    levels, level_of_row = np.unique([round_score(score) for score in scores.tolist()], return_inverse=True)
    order = np.argsort(level_of_row, kind="stable")
    below = np.searchsorted(level_of_row[order], np.arange(levels.size + 1))
    failing = [
        np.pad(np.cumsum((weights * kind)[:, order], axis=1), ((0, 0), (1, 0)))[:, below]
        for kind in (positive, ~positive)
    ]
    found = figures.confusion_figures(*(each[:, -1:] - each for each in failing), *failing)[by]
    candidates = levels.size if levels[-1] == 1 else levels.size + 1
    return levels.tolist(), np.nan_to_num(found[:, :candidates], nan=-1.0)


def splits(sample: Sample, positive: Bools, judge: str, folds: int | None, seed: int) -> list[Split]:
    """Split the rows: once into halves, or once per fold; groups are never divided.

    Raises:
        LabelError: `too_few_labels` if a class has fewer groups than there are parts, or a part to fit on, or
            a half to test on, has rows of only one class.
    """
    parts = folds or 2
    classes = {"positive": positive, "negative": ~positive}
    n_groups, rarer = min((np.unique(sample.groups[rows]).size, name) for name, rows in classes.items())
    if n_groups < parts:
        message = f"{parts} parts need {parts} independent {rarer} rows or more, not {n_groups}"
        raise LabelError("too_few_labels", f"{judge}: {message}", judge)
    splitter = selection.StratifiedGroupKFold(n_splits=parts, shuffle=True, random_state=seed)
    found: list[Split] = list(splitter.split(positive, positive, sample.groups))
    needing_both = [train for train, _ in found] if folds else found[0]
    if any(positive[part].all() or not positive[part].any() for part in needing_both):
        message = f"{judge}: no split of the groups gives every part positive and negative rows"
        raise LabelError("too_few_labels", message, judge)
    return found if folds else found[:1]


def warn_if_changed(calibration: Calibration, verdicts: Iterable[Verdict]) -> str | None:
    """Warn if verdicts of the calibrated judge come from another prompt, model or library version.

    Returns:
        A sentence with the signatures of both; None if all are among those that the threshold was fitted on.
    """
    now = _signatures(verdict for verdict in verdicts if verdict.judge == calibration.judge)
    if set(now) <= set(calibration.signatures):
        return None
    return (
        f"{calibration.judge}: the threshold {calibration.threshold:g} was fitted on verdicts of "
        f"{', '.join(calibration.signatures)}; these are of {', '.join(now)}"
    )


def warn_if_reused(calibration: Calibration, verdicts: Iterable[Verdict]) -> str | None:
    """Warn if a threshold is applied to rows that it was fitted on.

    Returns:
        A sentence with their number; None if there are none among the verdicts of the calibrated judge.
    """
    own = [each for each in verdicts if each.judge == calibration.judge and each.score is not None]
    n_fitted = len({*map(_row_hash, own)} & {*calibration.fitted_rows})
    if not n_fitted:
        return None
    return (
        f"{calibration.judge}: the threshold {calibration.threshold:g} was fitted on {n_fitted} of these "
        f'{len(own)} rows, on which it looks too good: quote the column "tested" of `groundjudge calibrate`'
    )


def save_calibrations(path: str | Path, calibrations: Iterable[Calibration]) -> None:
    """Write calibrations to a JSON file.

    Raises:
        OSError: the file cannot be written.
    """
    with replace_file(Path(path)) as file:
        file.write(CALIBRATIONS.dump_json(tuple(calibrations), indent=2) + b"\n")


def read_calibrations(path: str | Path) -> dict[str, Calibration]:
    """Read a file that `save_calibrations` has written; calibrations by judge name.

    Raises:
        OSError: the file cannot be read.
        LabelError: `unreadable_calibration`.
    """
    try:
        found = CALIBRATIONS.validate_json(Path(path).read_bytes())
    except ValidationError as error:
        message = f"{path} is not a file of thresholds written by `groundjudge calibrate`"
        raise LabelError("unreadable_calibration", message, str(path)) from error
    return {calibration.judge: calibration for calibration in found}


def _row_hash(verdict: Verdict) -> str:
    """What stands for a row: a hash of its id and, as far as the verdict's key says, of its content."""
    return sha256(f"{verdict.case_id} {verdict.case_hash}".encode()).hexdigest()[:HASH_DIGITS]


def _signatures(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    return tuple(sorted({verdict.signature for verdict in verdicts if verdict.score is not None}))


def _held_out(sample: Sample, parts: Sequence[Split], thresholds: Sequence[float]) -> Sample:
    """The sample with each part's test rows judged by the threshold fitted on its other rows."""
    passed = sample.passed.copy()
    for (_, test), threshold in zip(parts, thresholds, strict=True):
        passed[test] = figures.reaches(sample.scores[test], threshold)
    return replace(sample, passed=passed)


def _between(levels: Sequence[float], place: int) -> float:
    """A threshold above level `place` and up to the next, with the fewest decimals; 0 for the first."""
    if place == 0:
        return 0.0
    low, high = levels[place], levels[place + 1]
    middle = (low + high) / 2
    rounded = (round(middle, digits) for digits in range(1, DIGITS_COMPARED + 1))
    return next((number for number in rounded if low < number <= high), high)
