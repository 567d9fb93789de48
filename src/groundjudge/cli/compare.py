"""`groundjudge compare`: two judges, prompts or models, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from groundjudge.cli import options
from groundjudge.cli.figures import bounds_text, interval_note, judge_notices, rows_in_sections
from groundjudge.cli.inputs import (
    exit_after,
    load_labels,
    load_verdicts,
    thresholds_for,
    without_group,
)
from groundjudge.cli.screen import Screen, as_text, fail, report_errors, with_interval
from groundjudge.lab.labels import Unscored
from groundjudge.runs.latest_verdicts import LatestVerdicts

if TYPE_CHECKING:  # the statistics libraries are loaded when the command runs
    from groundjudge.lab.comparison import Comparison

VerdictPair: TypeAlias = tuple[LatestVerdicts, LatestVerdicts]
"""The verdicts of one judge in the first file and of one in the second."""

CLEAR = (
    "Clear: not 0, by a test that allows for the number of differences (max-T, 5 %). An interval is of one "
    "difference alone."
)

WITH_UNSCORED = (
    "with the cases without a score, which count as in the run: not applicable passes, an error does not"
)

RANGES = "worst..best: the difference if the cases without a score are the worst and best for the second"

COUNTED_AS: Mapping[Unscored, str] = {"wrong": "as wrong", "right": "as right", "as-run": "as in the run"}
"""How cases without a score count, in words."""

MAX_JUDGES = 2
"""How often --judge can be given: once for each file."""

FirstVerdicts = Annotated[str, typer.Argument(metavar="FIRST", help="A file of verdicts.")]
SecondVerdicts = Annotated[
    str,
    typer.Argument(
        metavar="SECOND", help="Another one on the same cases, or the same file and --judge twice."
    ),
]
ComparedJudges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="Only this judge; given twice: the judge in the first file and the one in the second.",
    ),
]


def compare(
    first: FirstVerdicts,
    second: SecondVerdicts,
    *,
    judge: ComparedJudges = None,
    labels: options.OptionalLabelsFile = None,
    label: options.LabelKey = options.LABEL,
    group: options.GroupKey = None,
    label_threshold: options.LabelThreshold = None,
    judge_file: options.JudgeFile = None,
    sample: options.SampleFile = None,
    encoding: options.LabelsEncoding = options.UTF_8,
    keep_words: options.KeepWords = False,
    threshold: options.Threshold = None,
    count_unscored: options.CountUnscored = None,
    seed: options.Seed = 0,
) -> None:
    """Compare two judges, prompts or models, case by case.

    Exit status: 0; 1 if a line could not be read; 2 if there is nothing to compare.
    """
    with report_errors():
        from groundjudge.lab import comparison  # noqa: PLC0415
        from groundjudge.lab.agreement import threshold_of  # noqa: PLC0415

        label_options = options.LabelOptions(label, group, label_threshold, judge_file, sample, keep_words)
        options.refuse_without(labels, "--labels", label_options.flags)
        people = load_labels(labels, label_options, encoding) if labels else None
        first_file = load_verdicts(first)
        second_file = load_verdicts(second)
        pairs: list[VerdictPair] = []
        judges_of_files = (first_file.verdicts.judges, second_file.verdicts.judges)
        for first_judge, second_judge in _judge_pairs(*judges_of_files, judge or []):
            pairs.append((first_file.by_judge(first_judge), second_file.by_judge(second_judge)))
        verdict_sets = [verdicts for pair in pairs for verdicts in pair]
        thresholds, warnings = thresholds_for(threshold, *verdict_sets)
        warnings += without_group(group, people)
        comparisons: list[Comparison] = []
        for first_verdicts, second_verdicts in pairs:
            first_threshold = threshold_of(thresholds, *first_verdicts.judges)
            second_threshold = threshold_of(thresholds, *second_verdicts.judges)
            compared = comparison.compare(
                first_verdicts,
                second_verdicts,
                people,
                thresholds=(first_threshold, second_threshold),
                label_threshold=label_threshold,
                count_unscored=count_unscored,
                seed=seed,
            )
            comparisons.append(compared)
        if not any(compared.n for compared in comparisons):
            fail(f"no case has a score in both {first} and {second}: cases are matched by id")
    screen = Screen()
    notes: list[str] = []
    for compared, pair in zip(comparisons, pairs, strict=True):
        _show_comparison(screen, compared, pair)
        notes += judge_notices(f"{compared.first} and {compared.second}", compared.notices)
    screen.text(interval_note(group), CLEAR)
    exit_after(screen, [*notes, *warnings], first_file, second_file)


def _judge_pairs(first: Sequence[str], second: Sequence[str], chosen: Sequence[str]) -> list[tuple[str, str]]:
    """Say which judge of the first file is compared with which of the second: by default those of one name.

    Exit if that is not clear.
    """
    if len(chosen) > MAX_JUDGES:
        fail("--judge can be given at most twice: once for each file")
    if chosen:
        return [(chosen[0], chosen[-1])]  # one name stands for the same judge in both files
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    common = sorted(set(first) & set(second))
    if not common:
        fail("the files have no judge in common: give --judge twice, once for each file")
    return [(name, name) for name in common]


def _show_comparison(screen: Screen, comparison: Comparison, pair: VerdictPair) -> None:
    first_verdicts, second_verdicts = pair
    screen.text(
        f"  first: {', '.join(first_verdicts.signatures_of(comparison.first))}",
        f"  second: {', '.join(second_verdicts.signatures_of(comparison.second))}",
        f"  {_counts_line(comparison)}",
        heading=f"{comparison.first} (first) and {comparison.second} (second)",
    )
    if not comparison.n:
        return
    cells_by_name: dict[str, list[str]] = {}
    for figure in comparison.differences:
        first, second = comparison.values[figure]
        if first is None and second is None:
            continue
        cells_by_name[figure] = [as_text(first), as_text(second), *_difference_cells(comparison, figure)]
    columns = ["", "first", "second", "second - first"]
    if _has_ranges(comparison):
        columns.append("worst..best")
    columns.append("")
    screen.table(columns, rows_in_sections(cells_by_name))
    screen.text(*_outcome_lines(comparison))
    if comparison.bounds and not comparison.count_unscored:
        _show_ranges(screen, comparison)


def _has_ranges(comparison: Comparison) -> bool:
    """Whether values are of the same rows as their ranges, in which cases without a score are counted."""
    return bool(comparison.bounds) and comparison.count_unscored is not None


def _show_ranges(screen: Screen, comparison: Comparison) -> None:
    """Print the figures of all cases that both judged, with what those without a score could change."""
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


def _difference_cells(comparison: Comparison, figure: str) -> list[str]:
    """Write a difference with its bounds, and "clear" if it is."""
    cells = [with_interval(comparison.differences[figure], signed=True)]
    if _has_ranges(comparison):
        cells.append(bounds_text(comparison.bounds.get(figure)))
    cells.append("clear" if figure in comparison.clear else "")
    return cells


def _counts_line(comparison: Comparison) -> str:
    """Say how many cases are compared, and how many are not."""
    line = f"{comparison.n} cases"
    if comparison.n_groups < comparison.n:
        line += f" in {comparison.n_groups} groups"
    line += " judged by both" if comparison.count_unscored else " scored by both"
    if comparison.count_unscored and comparison.n_unscored:
        line += (
            f", {comparison.n_unscored} of them without a score from one or both, which count "
            f"{COUNTED_AS[comparison.count_unscored]}"
        )
    if comparison.n_labelled:
        line += f", {comparison.n_labelled} of them labelled"
    uncompared = {
        "scored only by the first": comparison.n_first_only,
        "scored only by the second": comparison.n_second_only,
        "scored by neither": comparison.n_neither,
        "with one id but different contents": comparison.n_changed,
    }
    for reason, count in uncompared.items():
        if count:
            line += f", {count} {reason}"
    return line


def _outcome_lines(comparison: Comparison) -> list[str]:
    """Say on how many cases the outcomes of two judges differ."""
    lines = [f"passed with both or with neither: {as_text(comparison.same_outcome)}"]
    if comparison.n_labelled:
        test = ""
        if comparison.p is not None:
            test = f" (exact McNemar test: p = {comparison.p:.2g})"
        first = f"right only with the first: {comparison.n_first_right}"
        lines.append(f"{first}, only with the second: {comparison.n_second_right}{test}")
    if _has_ranges(comparison):
        lines.append(RANGES)
    return [*lines, ""]
