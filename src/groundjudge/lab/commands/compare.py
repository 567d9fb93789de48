"""`groundjudge compare`: two judges, prompts or models, case by case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from groundjudge.cli import options
from groundjudge.cli.screen import Screen, as_text, fail
from groundjudge.lab.commands import options as measuring
from groundjudge.lab.commands.figures import (
    bounds_text,
    interval_ends,
    interval_note,
    judge_notices,
    rows_in_sections,
    shorten_reason,
    with_interval,
)
from groundjudge.lab.commands.inputs import (
    VerdictFile,
    exit_after,
    label_notes,
    load_both,
    load_labels,
    thresholds_for,
)
from groundjudge.lab.labels import Labels
from groundjudge.runs.latest_verdicts import LatestVerdicts

if TYPE_CHECKING:  # the statistics libraries are loaded when the command runs
    from groundjudge.lab.calibration import Calibration
    from groundjudge.lab.comparison import Comparison
    from groundjudge.lab.model_change import Flip, ModelChange

CLEAR = (
    "Clear: not 0, by a test that allows for the number of differences (max-T, 5%). Each interval is for one "
    "difference alone."
)

WITH_UNSCORED = (
    "including cases without a score, which count as in the run: not applicable passes, an error does not"
)

RANGES = "worst..best: the difference if the cases without a score were the worst or the best for the second"

FirstVerdicts = Annotated[str, typer.Argument(metavar="FIRST", help="A file of verdicts.")]
SecondVerdicts = Annotated[
    str,
    typer.Argument(
        metavar="SECOND", help="Another file on the same cases, or the same file with --judge given twice."
    ),
]
ComparedJudges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        help="Only this judge; given twice: the judge in the first file and the one in the second.",
    ),
]

ListedFlips = Annotated[
    int,
    typer.Option("--flips", metavar="N", min=0, help="How many flipped verdicts to show, with both reasons."),
]


def compare(
    first: FirstVerdicts,
    second: SecondVerdicts,
    *,
    judge: ComparedJudges = None,
    labels: measuring.OptionalLabelsFile = None,
    label_options: measuring.LabelOptions,
    file_options: measuring.LabelsFileOptions,
    threshold: measuring.Threshold = None,
    flips: ListedFlips = 3,
) -> None:
    """Compare two judges, prompts or models, case by case.

    Show which verdicts flip, how the scores shift, and, with labels, where the second judge's threshold
    belongs.

    Exit status: 0; 1 if a line could not be read; 2 if there is nothing to compare.
    """
    options.refuse_without(labels, "--labels", options.flags_of(label_options))
    people: Labels | None = None
    if labels:
        people = load_labels(labels, label_options, file_options.read(labels))
    first_file, second_file = load_both(first, second, judge)
    both = (first_file.verdicts, second_file.verdicts)
    thresholds, warnings = thresholds_for(threshold, *both)
    warnings += label_notes(label_options.group, people, *both)
    changes = measure_changes(*both, people, thresholds, label_options.label_threshold, most_flips=flips)
    if not any(change.comparison.n for change in changes):
        fail(f"no case has a score in both {first} and {second}: cases are matched by id")
    screen = Screen()
    notes: list[str] = []
    for change in changes:
        compared = change.comparison
        _show_comparison(screen, compared, first_file, second_file)
        _show_change(screen, change, files=(first, second), has_labels=people is not None)
        notes += judge_notices(f"{compared.first} and {compared.second}", compared.notices)
    screen.text(interval_note(label_options.group), CLEAR)
    exit_after(screen, [*notes, *warnings], first_file, second_file)


def measure_changes(
    first: LatestVerdicts,
    second: LatestVerdicts,
    labels: Labels | None,
    thresholds: Mapping[str, float],
    label_threshold: float | None,
    *,
    most_flips: int,
) -> list[ModelChange]:
    """Compare each judge with the second one of the same name, or the only judge with the only second one.

    Exit if the two have no judge in common.
    """
    from groundjudge.lab.model_change import measure_change  # noqa: PLC0415

    pairs = [(name, name) for name in first.judges if name in second.judges]
    if len(first.judges) == len(second.judges) == 1:
        pairs = [(first.judges[0], second.judges[0])]
    if not pairs:
        fail("the files have no judge in common: give --judge twice, once for each file")
    changes: list[ModelChange] = []
    for first_judge, second_judge in pairs:
        change = measure_change(
            first.select([first_judge]),
            second.select([second_judge]),
            labels,
            thresholds=(thresholds.get(first_judge), thresholds.get(second_judge)),
            label_threshold=label_threshold,
            most_flips=most_flips,
        )
        changes.append(change)
    return changes


def _show_comparison(
    screen: Screen, comparison: Comparison, first_file: VerdictFile, second_file: VerdictFile
) -> None:
    """Print two judges' figures side by side, with their differences."""
    screen.text(
        f"  first: {', '.join(first_file.verdicts.signatures_of(comparison.first))}",
        f"  second: {', '.join(second_file.verdicts.signatures_of(comparison.second))}",
        f"  {_counts_line(comparison)}",
        heading=f"{comparison.first} (first) and {comparison.second} (second)",
    )
    if not comparison.n:
        return
    cells_by_name: dict[str, list[str]] = {}
    for figure in comparison.differences:
        first, second = comparison.values[figure]
        if first is None and second is None:  # figures that need labels, when there are none
            continue
        difference = with_interval(comparison.differences[figure], signed=True)
        clear = "clear" if figure in comparison.clear else ""
        cells_by_name[figure] = [as_text(first), as_text(second), difference, clear]
    screen.table(["", "first", "second", "second - first", ""], rows_in_sections(cells_by_name))
    screen.text(*_outcome_lines(comparison))
    if comparison.bounds:
        _show_ranges(screen, comparison)


def _show_ranges(screen: Screen, comparison: Comparison) -> None:
    """Print the figures of all cases that both judged, and what those without a score could change."""
    cells_by_name: dict[str, list[str]] = {}
    for figure, (first, second) in comparison.as_run.items():
        if first is None or second is None:
            continue
        cells_by_name[figure] = [
            as_text(first),
            as_text(second),
            f"{second - first:+.3f}",
            bounds_text(comparison.bounds.get(figure)),
        ]
    screen.text(heading=WITH_UNSCORED)
    screen.table(["", "first", "second", "second - first", "worst..best"], rows_in_sections(cells_by_name))
    screen.text(RANGES, "")


def _show_change(screen: Screen, change: ModelChange, *, files: tuple[str, str], has_labels: bool) -> None:
    """Print which verdicts flip, how the scores shift, and what people's labels say about the threshold."""
    if not change.n:
        return
    screen.text(
        f"flips: {change.n_flips} of {change.n} verdicts, {with_interval(change.share)}: "
        f"{change.n_lost} passed only with the first, {change.n_gained} pass only with the second"
        f"{_test_text(change.p)}",
        f"shift in scores: {with_interval(change.comparison.differences['mean_score'], signed=True)}",
    )
    if change.refit:
        screen.text(*_refit_lines(change.refit))
    elif has_labels:
        screen.text(f"no threshold was fitted: {change.why_no_refit}")
    else:
        old, new = files
        n = change.labels_needed
        screen.text(
            f"{n} labels show which of the two is right, and where the threshold belongs: "
            f"groundjudge label CASES {new} --against {old} --n {n}"
        )
    if change.flips:
        screen.text(heading="\nflips, with the largest change in score first")
        screen.table(["", "first", "second", "people"], [_flip_cells(flip) for flip in change.flips])
        for flip in change.flips:
            screen.text(f"  {flip.case_id}", *_reason_lines(flip))
    screen.text("")


def _refit_lines(refit: Calibration) -> list[str]:
    """Say where the second judge agrees best with people, and what keeping its threshold costs."""
    interval = interval_ends(refit.interval)
    if interval:
        interval = f", 95% interval {interval}"
    kept = with_interval(refit.as_run[refit.by])
    gain = with_interval(refit.gain[refit.by], signed=True)
    rows = f"{refit.n_fitted} labelled rows, balanced accuracy"
    return [
        f"the second judge agrees best with people at a threshold of {refit.threshold:g}{interval} ({rows})",
        f"keeping the old one gives {kept}; on held-out rows, the new one changes that by {gain}",
    ]


def _flip_cells(flip: Flip) -> list[str]:
    """Return the cells of a flip: `["row 3", "0.800 passed", "0.300 failed", "not grounded"]`."""
    first, second = "failed", "passed"
    if flip.first_passed:
        first, second = "passed", "failed"
    people = ""
    if flip.grounded is not None:
        people = "grounded" if flip.grounded else "not grounded"
    return [flip.case_id, f"{flip.first_score:.3f} {first}", f"{flip.second_score:.3f} {second}", people]


def _reason_lines(flip: Flip) -> list[str]:
    """Write both reasons, one below the other."""
    lines: list[str] = []
    for name, reason in (("first", flip.first_reason), ("second", flip.second_reason)):
        lines.append(f"    {name}: {shorten_reason(reason)}")
    return lines


def _counts_line(comparison: Comparison) -> str:
    """Say how many cases are compared, and how many are not."""
    line = f"{comparison.n} cases"
    if comparison.n_groups < comparison.n:
        line += f" in {comparison.n_groups} groups"
    line += " scored by both"
    if comparison.n_labelled:
        line += f", {comparison.n_labelled} of them labelled"
    uncompared = {
        "scored only by the first": comparison.n_first_only,
        "scored only by the second": comparison.n_second_only,
        "scored by neither": comparison.n_neither,
        "with the same id but different content": comparison.n_changed,
    }
    for reason, count in uncompared.items():
        if count:
            line += f", {count} {reason}"
    return line


def _outcome_lines(comparison: Comparison) -> list[str]:
    """Say on how many cases the outcomes of the two judges differ."""
    lines = [f"passed with both or with neither: {as_text(comparison.same_outcome)}"]
    if comparison.n_labelled:
        first = f"right only with the first: {comparison.n_first_right}"
        second = f"only with the second: {comparison.n_second_right}"
        lines.append(f"{first}, {second}{_test_text(comparison.p)}")
    return [*lines, ""]


def _test_text(p: float | None) -> str:
    """Write the p value of the test of two counts; "" if there is none."""
    if p is None:
        return ""
    return f" (McNemar test, mid-p: p = {p:.2g})"
