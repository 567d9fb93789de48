"""`groundjudge calibrate`: thresholds fitted to people's labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from groundjudge.analysis.labels import Joined, LabelError
from groundjudge.cli.figures import FIGURE_NAMES, as_text, figures_table, print_notes, with_interval
from groundjudge.cli.measured import exit_after, join_labels, load_verdicts, mixed_signatures
from groundjudge.cli.options import JUDGES, LABELS, SEED, VERDICTS, LabelOptions, option
from groundjudge.cli.outputs import check_outputs
from groundjudge.cli.screen import open_console, print_text, report_errors

if TYPE_CHECKING:  # the statistics libraries and rich are loaded when the command runs
    from rich.console import Console
    from rich.table import Table

    from groundjudge.analysis.calibration import Calibration, Criterion

Maximised: TypeAlias = Literal["balanced-accuracy", "accuracy", "f1", "kappa"]
"""A `Criterion`, as the command line spells it."""


def calibrate(  # noqa: PLR0913  one per option
    verdicts: str = VERDICTS,
    *,
    labels: str = LABELS,
    label_options: LabelOptions,
    judge: list[str] | None = JUDGES,
    by: Maximised = option("The figure to maximise.", default="balanced-accuracy"),
    folds: int | None = option(
        "Cross-validate in N folds. Default: fit on one half, test on the other.", metavar="N", min=2
    ),
    out: str | None = option("Write the thresholds to this file.", metavar="PATH"),
    seed: int = SEED,
) -> None:
    """Fit thresholds to people's labels, and test them.

    They are tested on rows that they were not fitted on.

    Exit status: 0; 1 if a line could not be read; 2 if no threshold could be fitted.
    """
    with report_errors():
        from groundjudge.analysis import calibration  # noqa: PLC0415

        inputs = (("the file of verdicts", verdicts), ("the file of labels", labels))
        check_outputs([("--out", out)], inputs)
        file = load_verdicts(verdicts)
        joined = join_labels(file, labels, label_options, judge)
        fit = partial(
            calibration.calibrate,
            by=cast("Criterion", by.replace("-", "_")),
            folds=folds,
            label_threshold=label_options.label_threshold,
            seed=seed,
        )
        found, notes = _calibrations(fit, [one for one in joined if one.labelled or judge])
        if out:
            calibration.save_calibrations(out, found)
        notes += _without_choice(joined)
    console = open_console()
    for one in found:
        _show(console, one)
    print_notes(console, [*notes, *mixed_signatures(file.verdicts)])
    if out:
        print_text(
            console, f"thresholds written to {out}: use --threshold {out} with agree, compare or report"
        )
    exit_after(console, file)


def _calibrations(
    fit: Callable[[Joined], Calibration], joined: Iterable[Joined]
) -> tuple[list[Calibration], list[str]]:
    """The calibrations of the judges with enough labels, and why the others have none.

    Raises:
        LabelError: as for `calibration.calibrate`, if no judge has enough.
    """
    found: list[Calibration] = []
    errors: list[LabelError] = []
    for one in joined:
        try:
            found.append(fit(one))
        except LabelError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    return found, [error.message for error in errors]


def _without_choice(joined: Iterable[Joined]) -> list[str]:
    """A note for each judge whose scores leave a threshold nothing to choose."""
    return [
        f"{one.judge}: its scores take only two values, so all thresholds between them give the same verdicts"
        for one in joined
        if len({row.verdict.score for row in one.labelled}) == 2  # noqa: PLR2004  such as yes and no
    ]


def _show(console: Console, one: Calibration) -> None:
    """Print the threshold, how well it does where it was fitted and elsewhere, and the code that sets it."""
    rows = "one half of the rows" if one.folds is None else f"all rows, tested in {one.folds} folds"
    name = FIGURE_NAMES[one.by]
    print_text(console, f"{one.judge}: threshold {one.threshold:g}, best {name} on {rows}", style="bold")
    if one.folds:
        print_text(console, f"thresholds of the folds: {', '.join(f'{each:g}' for each in one.thresholds)}")
    elsewhere = "the other half" if one.folds is None else "held-out folds"
    print_text(console, f"fitted on {one.n_fitted} rows, tested on {elsewhere}, {one.n_tested} rows")
    console.print(_table(console, one))
    if not one.beats_guessing:
        print_text(
            console,
            f"On rows it was not fitted on, {name} is {with_interval(one.tested[one.by])}: "
            f"indistinguishable from a constant guess ({one.guess[one.by]:.3f}).",
        )
    print_text(console, f'load("{one.judge}", model=..., threshold={one.threshold:g})\n')


def _table(console: Console, one: Calibration) -> Table:
    """The figures that a threshold changes."""
    table = figures_table(console, "fitted", "tested", "as run", "tested - as run")
    for name, tested in one.tested.items():
        if tested.value is not None and name not in {"roc_auc", "spearman"}:
            table.add_row(
                FIGURE_NAMES[name],
                as_text(one.fitted[name].value),
                with_interval(tested),
                as_text(one.as_run[name].value),
                with_interval(one.gain[name], signed=True),
            )
    return table
