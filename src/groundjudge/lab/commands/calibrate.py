"""`groundjudge calibrate`: thresholds fitted to people's labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from groundjudge.cli import options
from groundjudge.cli.outputs import check_files, hold_file
from groundjudge.cli.screen import Screen, as_text, fail
from groundjudge.lab.commands import options as measuring
from groundjudge.lab.commands.cascade import CascadeOptions, calibrate_cascade_files
from groundjudge.lab.commands.figures import (
    interval_ends,
    judge_notices,
    rows_in_sections,
    short_name,
    with_interval,
)
from groundjudge.lab.commands.inputs import exit_after, label_notes, load_labelled
from groundjudge.lab.labels import LabelError

if TYPE_CHECKING:  # the statistics libraries are loaded when the command runs
    from groundjudge.lab.calibration import Calibration
    from groundjudge.lab.thresholds import Criterion

Maximised: TypeAlias = Literal["balanced-accuracy", "accuracy", "f1", "kappa", "precision"]
"""A `Criterion`, as the command line spells it."""

CRITERIA: Mapping[Maximised, Criterion] = {
    "balanced-accuracy": "balanced_accuracy",
    "accuracy": "accuracy",
    "f1": "f1",
    "kappa": "kappa",
    "precision": "precision",
}

CheapVerdicts = Annotated[
    str | None,
    typer.Option(
        "--cascade",
        metavar="CHEAP",
        help="Find the bounds of a cascade: CHEAP contains the cheap judge's verdicts, VERDICTS the strong "
        "judge's on the same cases. Needs --accuracy.",
    ),
]
ThresholdsOut = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="PATH", help="Write the thresholds to this file."),
]


@dataclass(frozen=True)
class FittingOptions:
    """The options of `calibrate` that apply to a threshold only."""

    by: Annotated[
        Maximised | None,
        typer.Option("--by", help="The figure to maximise. Default: balanced-accuracy."),
    ] = None
    at_least: Annotated[
        float | None,
        typer.Option(
            "--at-least",
            min=0,
            max=1,
            help="With --by precision: the minimum share of grounded rows among those that pass.",
        ),
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            metavar="N",
            min=2,
            help="Cross-validate with N folds. Default: fit on one half, test on the other.",
        ),
    ] = None


def calibrate(
    verdicts: options.Verdicts,
    *,
    labelled: measuring.LabelledInput,
    fitting: FittingOptions,
    cascade: CheapVerdicts = None,
    cascade_options: CascadeOptions,
    out: ThresholdsOut = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Fit thresholds to people's labels, and test them.

    The test uses rows that were not used for fitting.

    With --cascade, find when a cheap judge can decide alone: the bounds within which its verdicts are right
    at least as often as --accuracy says, with 95% confidence.

    Exit status: 0; 1 if a line could not be read; 2 if no threshold could be fitted.
    """
    if cascade is not None:
        flags = options.flags_of(fitting)
        if out is not None:
            flags.append("--out")
        for flag in flags:
            fail(f"{flag} cannot be combined with --cascade")
        calibrate_cascade_files(cascade, verdicts, labelled, cascade_options)
    for flag in options.flags_of(cascade_options):
        fail(f"{flag} applies to a cascade only: add --cascade CHEAP")
    from groundjudge.lab import calibration  # noqa: PLC0415

    check_files(
        [("--out", out)], [("the file of verdicts", verdicts), ("the file of labels", labelled.labels)]
    )
    with hold_file("--out", out, overwrite=overwrite):
        file, judged = load_labelled(verdicts, labelled)
        calibrations: list[Calibration] = []
        errors: list[LabelError] = []
        for rows in judged:
            # A judge without labels is left out; if it was named, that is an error.
            if not rows.labelled_rows and not labelled.judge:
                continue
            try:
                fitted = calibration.calibrate(
                    rows,
                    by=CRITERIA["balanced-accuracy" if fitting.by is None else fitting.by],
                    at_least=fitting.at_least,
                    folds=fitting.folds,
                    label_threshold=labelled.label_options.label_threshold,
                )
            except LabelError as error:
                errors.append(error)
            else:
                calibrations.append(fitted)
        if errors and not calibrations:
            raise errors[0]
        if out:
            calibration.save_calibrations(out, calibrations)
    screen = Screen()
    for fitted in calibrations:
        _show_calibration(screen, fitted)
    if out:
        screen.text(f"thresholds written to {out}: use --threshold {out} with agree, compare or report")
    notes = [error.message for error in errors]
    for fitted in calibrations:
        notes += judge_notices(fitted.judge, fitted.notices)
        if fitted.n_unscored:
            notes.append(
                f"{fitted.judge}: {fitted.n_unscored} labelled rows have no score, and no threshold changes "
                "that: see `groundjudge agree --threshold`"
            )
    notes += label_notes(labelled.label_options.group, judged[0].labels, file.verdicts)
    exit_after(screen, notes, file)


def _show_calibration(screen: Screen, calibration: Calibration) -> None:
    """Print the threshold, how well it does on fitted and held-out rows, and the code that sets it."""
    name = short_name(calibration.by)
    rows, elsewhere, tested = "one half of the rows", "the other half", "tested"
    where = "On held-out rows"
    if calibration.folds:
        rows, elsewhere = f"all rows, tested in {calibration.folds} folds", "held-out folds"
        tested = "tested in folds"
        where = "In the folds, each with its own threshold"
    best = f"best {name}"
    if calibration.at_least is not None:
        best = f"the lowest with a {name} of {calibration.at_least:g}"
    screen.text(
        *_resampling_lines(calibration),
        f"fitted on {calibration.n_fitted} rows, tested on {elsewhere}, {calibration.n_tested} rows",
        heading=f"{calibration.judge}: threshold {calibration.threshold:g}, {best} on {rows}",
    )
    screen.table(
        ["", "fitted", tested, "as run", "tested - as run"], rows_in_sections(_figure_rows(calibration))
    )
    if calibration.bound is not None:
        passed = f"{calibration.n_passed} of {calibration.n_tested} pass"
        bound = f"with 95% confidence {name} is {calibration.bound:.3f} or more"
        screen.text(f"{where}, {passed}, {bound}")
    # A judge that is worse than guessing has a separate notice.
    if not calibration.beats_guessing and not calibration.is_reversed:
        figure = with_interval(calibration.tested[calibration.by])
        guess = calibration.guess[calibration.by]
        screen.text(f"{where}, {name} is {figure}: indistinguishable from a constant guess ({guess:.3f}).")
    threshold = f"{calibration.threshold:g}"
    screen.text(
        f'load("{calibration.judge}", model=..., threshold={threshold})  # run: --threshold {threshold}\n'
    )


def _resampling_lines(calibration: Calibration) -> list[str]:
    """Say how much the threshold depends on the rows."""
    lines: list[str] = []
    interval = interval_ends(calibration.interval)
    if interval:
        lines.append(f"95% interval of the threshold: {interval}")
    if calibration.folds:
        thresholds = ", ".join(f"{threshold:g}" for threshold in calibration.thresholds)
        lines.append(f"thresholds tested in the folds: {thresholds}")
    return lines


def _figure_rows(calibration: Calibration) -> dict[str, list[str]]:
    """Return the cells of the figures that a threshold changes: not ROC AUC or Spearman's correlation."""
    rows: dict[str, list[str]] = {}
    for figure, tested in calibration.tested.items():
        if tested.value is None or figure in {"roc_auc", "spearman"}:
            continue
        rows[figure] = [
            as_text(calibration.fitted[figure].value),
            with_interval(tested),
            as_text(calibration.as_run[figure].value),
            with_interval(calibration.gain[figure], signed=True),
        ]
    return rows
