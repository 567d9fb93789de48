"""`groundjudge calibrate --cascade`: what it reads, and what it prints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from groundjudge.cli.screen import Screen, fail
from groundjudge.judging.cascade import By
from groundjudge.lab.commands.figures import with_interval
from groundjudge.lab.commands.inputs import (
    exit_after,
    label_notes,
    load_both,
    load_labels,
    load_rubric_of,
)
from groundjudge.lab.commands.options import LabelledInput
from groundjudge.lab.labels import rubric_vocabulary
from groundjudge.lab.matched import single_judge
from groundjudge.rubric.rubric import Rubric

if TYPE_CHECKING:  # the statistics libraries are loaded when the command runs
    from groundjudge.lab.cascade import CascadeCalibration


@dataclass(frozen=True)
class CascadeOptions:
    """The options of `calibrate` that apply to a cascade only."""

    accuracy: Annotated[
        float | None,
        typer.Option(
            "--accuracy",
            metavar="SHARE",
            help="With --cascade: the required share of right verdicts among those that the cheap judge "
            "decides alone.",
        ),
    ] = None
    until_by: Annotated[
        By | None,
        typer.Option(
            "--until-by",
            help="With --cascade: what to compare with the bounds: the score (default), or the "
            "probability that the verdict passes.",
        ),
    ] = None


def calibrate_cascade_files(
    cheap_verdicts: str, strong_verdicts: str, labelled: LabelledInput, cascade_options: CascadeOptions
) -> NoReturn:
    """Find the bounds of a cascade, print what they save, and exit.

    Args:
        cheap_verdicts: the path of the cheap judge's verdicts.
        strong_verdicts: the path of the strong judge's.
        labelled: the labels, and the judges whose verdicts count: one name for both files, or one for each.
        cascade_options: the required accuracy, and what to compare with the bounds.
    """
    from groundjudge.lab.cascade import calibrate_cascade  # noqa: PLC0415

    label_options = labelled.label_options
    accuracy = cascade_options.accuracy
    if accuracy is None:
        fail("--cascade: add --accuracy, the required share of right verdicts, such as 0.9")
    cheap, strong = load_both(cheap_verdicts, strong_verdicts, labelled.judge)
    by: By = "score" if cascade_options.until_by is None else cascade_options.until_by
    rubric: Rubric | None = None
    if by == "probability":
        (judge,) = single_judge(cheap.verdicts, "the cheap judge").judges
        rubric = load_rubric_of(judge, label_options.judge_file)
        # The file was named for its probabilities: a judge that answers with numbers has no words.
        if not rubric_vocabulary(rubric).scores:
            label_options = replace(label_options, judge_file=None)
    rows = labelled.file_options.read(labelled.labels)
    people = load_labels(labelled.labels, label_options, rows)
    calibration = calibrate_cascade(
        cheap.verdicts,
        strong.verdicts,
        people,
        accuracy=accuracy,
        by=by,
        rubric=rubric,
        label_threshold=label_options.label_threshold,
    )
    screen = Screen()
    _show(screen, calibration)
    notes = [
        *_count_notes(calibration),
        *label_notes(label_options.group, people, cheap.verdicts, strong.verdicts),
    ]
    exit_after(screen, notes, cheap, strong)


def _show(screen: Screen, calibration: CascadeCalibration) -> None:
    """Print the bounds, what is proven, what they save, and the code that sets them."""
    cheap, strong = calibration.models
    screen.text(
        f"proven on {calibration.n} labelled rows: {calibration.n_standing} decided by the cheap judge, "
        f"{calibration.n_right} of them correctly; of such verdicts, {calibration.accuracy:g} or more are "
        "right (95% confidence)",
        heading=f"{calibration.judge}: {_bounds_in_words(calibration)}; {strong} judges the others",
    )
    rows = [
        ["strong calls saved", with_interval(calibration.saved)],
        ["right where the cheap judge decides", with_interval(calibration.standing_right)],
        ["right, cascade", with_interval(calibration.cascade_right)],
        ["right, strong judge alone", with_interval(calibration.strong_right)],
        ["right, cheap judge alone", with_interval(calibration.cheap_right)],
    ]
    screen.table(["on these rows", "share"], rows)
    low, high = (_bound_text(bound) for bound in calibration.until)
    settings = f"until=({low}, {high})".replace("none", "None")
    flags = f"-O until={low},{high}"
    if calibration.by == "probability":
        settings += ', by="probability"'
        flags += " -O by=probability"
    if calibration.not_applicable_stands:
        settings += ", not_applicable_stands=True"
        flags += " -O not_applicable_stands=true"
    screen.text(
        f"cascade([cheap, strong], {settings})",
        f"groundjudge run ... --judge {calibration.judge} --cascade {cheap} --model {strong} {flags}\n",
    )


def _bounds_in_words(calibration: CascadeCalibration) -> str:
    """Say when the cheap judge decides."""
    low, high = calibration.until
    number = "its score" if calibration.by == "score" else "its probability of passing"
    ends: list[str] = []
    if low is not None:
        ends.append(f"{_bound_text(low)} or below")
    if high is not None:
        ends.append(f"{_bound_text(high)} or above")
    return f"{calibration.models[0]} decides if {number} is {', or '.join(ends)}"


def _bound_text(bound: float | None) -> str:
    """Write a bound as `-O until` takes it, with all its decimals."""
    return "none" if bound is None else f"{bound:.9g}"


def _count_notes(calibration: CascadeCalibration) -> list[str]:
    """Make notes on rows that go to the strong judge, or are missing from the figures."""
    counts = calibration.counts
    notes: list[str] = []
    if counts["n_error"]:
        notes.append(f"{counts['n_error']} rows with an error from the cheap judge go to the strong one")
    if counts["n_not_applicable"]:
        fate = "go to the strong judge, because nothing is proven about them"
        if calibration.not_applicable_stands:
            fate = "are final"
        notes.append(f'{counts["n_not_applicable"]} rows that the cheap judge finds "not applicable" {fate}')
    if counts["n_left_out"]:
        notes.append(
            f"{counts['n_left_out']} labelled rows are left out: one row of each group counts, and in a "
            "drawn sample each stratum counts in proportion to its size"
        )
    if counts["n_unjudged"]:
        notes.append(f"{counts['n_unjudged']} labelled rows have no verdict from the cheap judge")
    if counts["n_unmatched"]:
        notes.append(
            f"{counts['n_unmatched']} rows have no verdict from the strong judge: its figures leave them out"
        )
    return notes
