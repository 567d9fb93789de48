"""A threshold fitted to people's labels on some rows, and what it is worth on the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from groundjudge.analysis.agreement import sample_of
from groundjudge.analysis.figures import (
    AGREEMENT,
    RESAMPLES,
    Bools,
    Figure,
    Floats,
    Sample,
    constant_guess,
    differences,
    intervals,
    rates,
)
from groundjudge.analysis.labels import Joined, LabelError
from groundjudge.analysis.libraries import NDArray, np, selection
from groundjudge.verdict import Finite, Frozen, Score, Verdict

Criterion: TypeAlias = Literal["balanced_accuracy", "accuracy", "f1", "kappa"]
"""What a threshold can be fitted for: figures that it changes, and that have a best one."""

Places: TypeAlias = NDArray[Any]

DIGITS = 9
"""Decimals to which a score is rounded before it is held against a threshold, as judges do."""


class Provenance(Frozen):
    """Where verdicts come from: each of these changes scores."""

    prompts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


class Calibration(Frozen):
    """A threshold, how it was found, and what it is worth.

    Attributes:
        by: the figure that it makes best on the rows it was fitted on.
        folds: None: it was fitted on one half of the rows and tested on the other; otherwise it was
            fitted on all of them, and what is tested is the fitting: each fold with the threshold
            that the others give.
        thresholds: of the folds; in halves the one.
        fitted: the figures on the rows it was fitted on. They flatter.
        tested: the figures on rows it was not fitted on.
        as_run: the same rows with the threshold of the run that judged them.
        gain: tested less as_run.
        guess: what a constant guess reaches on the tested rows.
        provenance: of the verdicts it was fitted on.
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
    provenance: Provenance

    @property
    def beats_guessing(self) -> bool:
        """Whether the interval of the figure on the tested rows lies above a constant guess."""
        low = self.tested[self.by].low
        return low is not None and low > self.guess[self.by]


CALIBRATIONS = TypeAdapter(tuple[Calibration, ...])


def calibrate(  # noqa: PLR0913  each of them changes the threshold or the figures
    joined: Joined,
    *,
    by: Criterion = "balanced_accuracy",
    folds: int | None = None,
    label_threshold: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Calibration:
    """Fit a judge's threshold to people's labels, and test it on rows that it was not fitted on.

    Rows of one group are never split, and both parts get their share of either label.

    Args:
        joined: the judge's verdicts and the labels.
        by: the figure to make best.
        folds: 2 or more for cross-validation; without it one half is fitted on, the other tested.
        label_threshold: from which label on people called a response grounded, where labels are graded.
        resamples: of the bootstrap that gives the intervals.
        seed: of the split and of the bootstrap.

    Raises:
        LabelError: `bad_option` for graded labels without a label threshold; `too_few_labels` when
            there are fewer groups of a label than parts.
    """
    sample = sample_of(joined, label_threshold=label_threshold)
    positive = _classes(sample, joined.judge, folds or 2)
    passed = sample.passed.copy()
    thresholds: list[float] = []
    parts = list(splits(sample, positive, joined.judge, folds, seed))
    for fitted_on, tested_on in parts:
        thresholds.append(fit(sample.scores[fitted_on], positive[fitted_on], by))
        passed[tested_on] = passes(sample.scores[tested_on], thresholds[-1])
    everything = np.arange(positive.size)
    fitted_on, tested_on = (everything, everything) if folds else parts[0]
    threshold = fit(sample.scores, positive, by) if folds else thresholds[0]
    fitted = replace(sample, passed=passes(sample.scores, threshold)).rows(fitted_on)
    tested, as_run = replace(sample, passed=passed).rows(tested_on), sample.rows(tested_on)
    return Calibration(
        judge=joined.judge,
        threshold=threshold,
        by=by,
        folds=folds,
        seed=seed,
        thresholds=tuple(thresholds),
        n_fitted=fitted_on.size,
        n_tested=tested_on.size,
        fitted=_needing_labels(intervals(fitted, resamples=resamples, seed=seed)),
        tested=_needing_labels(intervals(tested, resamples=resamples, seed=seed)),
        as_run=_needing_labels(intervals(as_run, resamples=resamples, seed=seed)),
        gain=_needing_labels(differences(as_run, tested, resamples=resamples, seed=seed)),
        guess=constant_guess(positive[tested_on]),
        provenance=provenance(row.verdict for row in joined.labelled),
    )


def fit(scores: Floats, positive: Bools, by: Criterion) -> float:
    """The threshold that makes a figure best on these rows; of several the middle one.

    It lies between two scores that occur, at the number with the fewest digits near their middle.
    """
    levels, level_of = np.unique(np.round(scores, DIGITS), return_inverse=True)
    ups = np.bincount(level_of.reshape(-1), weights=positive, minlength=levels.size)
    downs = np.bincount(level_of.reshape(-1), weights=~positive, minlength=levels.size)
    # From which level on a response passes: from each of them, or from none.
    true_positives, false_positives = (np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in (ups, downs))
    found = rates(true_positives, false_positives, ups.sum() - true_positives, downs.sum() - false_positives)[
        by
    ]
    if levels[-1] == 1:
        found = found[:-1]  # no threshold on the score lies above 1
    best = np.flatnonzero(np.nan_to_num(found, nan=-1.0) >= np.nanmax(found) - 10**-DIGITS)
    place = int(best[(best.size - 1) // 2])
    return _between([0.0, *levels.tolist(), 1.0], place)


def splits(
    sample: Sample, positive: Bools, judge: str, folds: int | None, seed: int
) -> Iterator[tuple[Places, Places]]:
    """The rows to fit on and the rows to test on: once for halves, once for each fold.

    Raises:
        LabelError: `too_few_labels` when a part that needs either label has rows of one only.
    """
    splitter = selection.StratifiedGroupKFold(n_splits=folds or 2, shuffle=True, random_state=seed)
    for fitted_on, tested_on in splitter.split(positive, positive, sample.groups):
        needing_both = (fitted_on,) if folds else (fitted_on, tested_on)
        if any(positive[part].all() or not positive[part].any() for part in needing_both):
            message = f"{judge}: the groups cannot be parted so that every part has rows of either label"
            raise LabelError("too_few_labels", message, judge)
        yield fitted_on, tested_on
        if not folds:
            return


def passes(scores: Floats, threshold: float) -> Bools:
    """Which scores reach a threshold, as a judge decides it."""
    return np.asarray(np.round(scores, DIGITS) >= threshold)


def provenance(verdicts: Iterable[Verdict]) -> Provenance:
    """The prompts, models and versions of the library that verdicts come from."""
    prompts: set[str] = set()
    models: set[str] = set()
    libraries: set[str] = set()
    for verdict in verdicts:
        libraries.add(verdict.library)
        if verdict.prompt:
            prompts.add(f"{verdict.prompt.name} {verdict.prompt.version} (sha {verdict.prompt.sha256[:12]})")
        if verdict.model:
            models.add(verdict.model)
    return Provenance(
        prompts=tuple(sorted(prompts)), models=tuple(sorted(models)), libraries=tuple(sorted(libraries))
    )


def drift(calibration: Calibration, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """What differs between the verdicts that a threshold was fitted on and others of the same judge.

    A sentence for the prompt, the model and the library each, as far as there is something that the
    threshold was not fitted on.
    """
    before, now = calibration.provenance, provenance(v for v in verdicts if v.judge == calibration.judge)
    pairs = {
        "prompt": (before.prompts, now.prompts),
        "model": (before.models, now.models),
        "groundjudge": (before.libraries, now.libraries),
    }
    return tuple(
        f"{calibration.judge}: the threshold {calibration.threshold:g} was fitted on {what} "
        f"{_listed(fitted)}; these verdicts come from {_listed(found)}"
        for what, (fitted, found) in pairs.items()
        if set(found) - set(fitted)
    )


def save_calibrations(path: str | Path, calibrations: Iterable[Calibration]) -> None:
    """Write calibrations as JSON."""
    Path(path).write_bytes(CALIBRATIONS.dump_json(tuple(calibrations), indent=2) + b"\n")


def read_calibrations(path: str | Path) -> dict[str, Calibration]:
    """The calibrations of a file, by judge.

    Raises:
        OSError: the file cannot be read.
        LabelError: `unreadable_calibration`.
    """
    try:
        found = CALIBRATIONS.validate_json(Path(path).read_bytes())
    except ValidationError as error:
        message = f"{path} is no file of thresholds that groundjudge calibrate has written"
        raise LabelError("unreadable_calibration", message, str(path)) from error
    return {calibration.judge: calibration for calibration in found}


def _classes(sample: Sample, judge: str, parts: int) -> Bools:
    """Which rows are positive, when there are enough of either kind to make so many parts."""
    if sample.positive is None:
        message = (
            f"{judge}: the labels are graded: say from which one on they mean grounded (label threshold)"
        )
        raise LabelError("bad_option", message, judge)
    for kind, mask in (("positive", sample.positive), ("negative", ~sample.positive)):
        n_groups = np.unique(sample.groups[mask]).size
        if n_groups < parts:
            message = f"{judge}: {parts} parts need {parts} independent {kind} rows or more, not {n_groups}"
            raise LabelError("too_few_labels", message, judge)
    return sample.positive


def _between(levels: list[float], place: int) -> float:
    """The number with the fewest digits that parts the levels at that place; 0 parts all from none."""
    if place == 0:
        return 0.0
    low, high = levels[place], levels[place + 1]
    middle = (low + high) / 2
    rounded = (round(middle, digits) for digits in range(1, DIGITS + 1))
    return next((number for number in rounded if low < number <= high), high)


def _needing_labels(figures: Mapping[str, Figure]) -> dict[str, Figure]:
    return {name: figures[name] for name in AGREEMENT}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
