"""Fitting a judge's threshold to human labels, and testing it on held-out rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from groundjudge.files import replace_file
from groundjudge.lab import columns, figures, formulas
from groundjudge.lab.brief import BriefVerdict
from groundjudge.lab.columns import Sample
from groundjudge.lab.figures import RESAMPLES, Bootstrap, Figure
from groundjudge.lab.labels import JudgedRows, LabelError
from groundjudge.lab.notices import is_reversed, notices_on
from groundjudge.lab.thresholds import Criterion, fit_interval, fit_parts, fit_threshold, split_rows
from groundjudge.verdict import Finite, Frozen, Score, Verdict

# Digits of the hash that represents a row used for fitting. If a million rows are compared with a thousand
# used for fitting, one is mistaken for one of these in 280,000 runs.
HASH_DIGITS = 12


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
        guess: the constant-guess baseline on the held-out rows (see `formulas.constant_guess`).
        signatures: of the verdicts it was fitted on (prompt, model, library version); it may not suit others.
        interval: the threshold, with the range of thresholds not clearly worse on the same rows.
        fitted_rows: a hash of the id and content of each fitted row, to recognise it.
        n_unscored: labelled rows without a score, which no threshold changes.
        notices: reasons to doubt the figures (see `notices.notices_on`).
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
        return is_reversed(self.as_run)


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
    sample = _sample_to_fit(judged_rows, by, at_least, threshold, label_threshold)
    split = split_rows(sample, judged_rows.judge, folds, seed)
    rows_to_fit = sample.select(split.fit_rows)
    fitted_threshold = fit_threshold(rows_to_fit, by, at_least)
    interval = fit_interval(rows_to_fit, by, at_least, bootstrap)
    thresholds, tested = fit_parts(sample, split, by, at_least)
    fitted = rows_to_fit.pass_at(fitted_threshold)
    as_run = sample.select(split.test_rows)
    as_run_draws, tested_draws, gain = figures.resample_pair(as_run, tested, Sample.agreement, bootstrap)
    as_run_figures = figures.figures_of(as_run_draws, as_run.groups)
    guess = formulas.constant_guess(tested.share_grounded)
    bound: float | None = None
    if at_least is not None:
        # Passing every row gives the share of grounded rows as precision.
        guess["precision"] = tested.share_grounded
        bound = _precision_bound(tested.select(tested.passed))
    verdicts = [row.verdict for row in judged_rows.labelled_rows]
    signatures = {verdict.signature for verdict in verdicts}
    fit_rows: list[int] = split.fit_rows.tolist()
    return Calibration(
        judge=judged_rows.judge,
        threshold=fitted_threshold,
        by=by,
        folds=folds,
        seed=seed,
        thresholds=tuple(thresholds),
        n_fitted=fitted.groups.size,
        n_tested=tested.groups.size,
        fitted=bootstrap.figures(fitted, Sample.agreement),
        tested=figures.figures_of(tested_draws, tested.groups),
        as_run=as_run_figures,
        gain=figures.percentile_figures(gain),
        guess=guess,
        signatures=tuple(sorted(signatures)),
        interval=interval,
        fitted_rows=tuple(_row_hash(verdicts[row]) for row in fit_rows),
        n_unscored=len(judged_rows.unscored_rows),
        notices=notices_on(fitted, as_run_figures, judged_rows.labels, scores_matter=True),
        at_least=at_least,
        n_passed=int(tested.passed.sum()),
        bound=bound,
    )


def _sample_to_fit(
    judged_rows: JudgedRows,
    by: Criterion,
    at_least: float | None,
    threshold: float | None,
    label_threshold: float | None,
) -> Sample:
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
    all_rows = columns.sample_of(judged_rows, threshold=threshold, label_threshold=label_threshold)
    if all_rows.positive is None:
        message = "the labels are grades: pass a label threshold to say which mean grounded"
        raise LabelError("bad_option", f"{judged_rows.judge}: {message}", judged_rows.judge)
    return all_rows.count_unscored(None)


def _precision_bound(sample: Sample) -> float:
    """Bound the share of grounded rows from below, for the effective number of weighted rows (Kish, 1965)."""
    if not sample.weights.size:
        return 0.0  # nothing passes, so nothing is proven
    effective = float(sample.weights.sum() ** 2 / (sample.weights**2).sum())
    return figures.lower_bound(sample.share_grounded * effective, effective)


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
