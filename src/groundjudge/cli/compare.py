"""`groundjudge compare`: two judges, prompts or models on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from groundjudge.analysis.labels import Labels
from groundjudge.cli.figures import (
    FIGURE_NAMES,
    as_text,
    figures_table,
    print_interval_note,
    print_notes,
    with_interval,
)
from groundjudge.cli.measured import exit_after, load_labels, load_verdicts, signatures_of, thresholds_for
from groundjudge.cli.options import OPTIONAL_LABELS, SEED, THRESHOLD, LabelOptions, argument, option
from groundjudge.cli.screen import fail, open_console, print_text, report_errors
from groundjudge.verdict import Verdict

if TYPE_CHECKING:  # the statistics libraries and rich are loaded when the command runs
    from rich.console import Console
    from rich.table import Table

    from groundjudge.analysis.comparison import Comparison
    from groundjudge.analysis.figures import Figure

Sides: TypeAlias = tuple[Sequence[Verdict], Sequence[Verdict]]
"""The verdicts of one judge in the first file and of one in the second."""


def compare(  # noqa: PLR0913  one per option
    first: str = argument("A file of verdicts.", metavar="FIRST"),
    second: str = argument(
        "Another one on the same cases, or the same file and --judge twice.", metavar="SECOND"
    ),
    *,
    judge: list[str] | None = option(
        "Only this judge; given twice: the judge in the first file and the one in the second.", metavar="NAME"
    ),
    labels: str | None = OPTIONAL_LABELS,
    label_options: LabelOptions,
    threshold: str | None = THRESHOLD,
    seed: int = SEED,
) -> None:
    """Compare two judges, prompts or models, case by case.

    Exit status: 0; 1 if a line could not be read; 2 if there is nothing to compare.
    """
    with report_errors():
        people = load_labels(labels, label_options) if labels else None
        files = load_verdicts(first), load_verdicts(second)
        pairs = [
            (files[0].by_judge(one), files[1].by_judge(other))
            for one, other in _judge_pairs(files[0].judges, files[1].judges, judge or [])
        ]
        found = [_compared(pair, people, threshold, label_options.label_threshold, seed) for pair in pairs]
        if not any(one.n for one, _ in found):
            fail(f"no case has a score in both {first} and {second}: cases are matched by id")
    console = open_console()
    for (one, _), sides in zip(found, pairs, strict=True):
        _show(console, one, sides)
    print_notes(console, dict.fromkeys(warning for _, warnings in found for warning in warnings))
    print_interval_note(console, label_options.group)
    exit_after(console, *files)


def _judge_pairs(
    first: frozenset[str], second: frozenset[str], chosen: Sequence[str]
) -> list[tuple[str, str]]:
    """Which judge of the first file is compared with which of the second: by default those of one name."""
    if len(chosen) > 2:  # noqa: PLR2004  one for each file
        fail("--judge can be given at most twice: once for each file")
    if chosen:
        return [(chosen[0], chosen[-1])]
    if len(first) == len(second) == 1:
        return [(min(first), min(second))]
    if first.isdisjoint(second):
        fail("the files have no judge in common: give --judge twice, once for each file")
    return [(name, name) for name in sorted(first & second)]


def _compared(
    sides: Sides,
    labels: Labels | None,
    threshold: str | None,
    label_threshold: float | None,
    seed: int,
) -> tuple[Comparison, list[str]]:
    """Two sides compared, and warnings about the thresholds used."""
    from groundjudge.analysis.agreement import threshold_of  # noqa: PLC0415
    from groundjudge.analysis.comparison import compare as compared  # noqa: PLC0415

    (first, first_warnings), (second, second_warnings) = (thresholds_for(threshold, side) for side in sides)
    found = compared(
        *sides,
        labels,
        thresholds=(threshold_of(first, sides[0][0].judge), threshold_of(second, sides[1][0].judge)),
        label_threshold=label_threshold,
        seed=seed,
    )
    return found, [*first_warnings, *second_warnings]


def _show(console: Console, one: Comparison, sides: Sides) -> None:
    print_text(console, f"{one.first} (first) and {one.second} (second)", style="bold")
    for name, verdicts in zip(("first", "second"), sides, strict=True):
        print_text(console, f"{name}: {', '.join(signatures_of(verdicts))}", margin=2)
    print_text(console, _counts(one), margin=2)
    if one.n:
        console.print(_table(console, one))
        print_text(console, f"passed with both or with neither: {as_text(one.same_outcome)}\n")


def _counts(one: Comparison) -> str:
    """How many cases are compared, and how many are not."""
    apart = {
        "scored only by the first": one.n_first_only,
        "scored only by the second": one.n_second_only,
        "scored by neither": one.n_neither,
        "with one id but different contents": one.n_changed,
    }
    groups = f" in {one.n_groups} groups" if one.n_groups < one.n else ""
    labelled = f", {one.n_labelled} of them labelled" if one.n_labelled else ""
    counted = "".join(f", {count} {name}" for name, count in apart.items() if count)
    return f"{one.n} cases{groups} scored by both{labelled}{counted}"


def _table(console: Console, one: Comparison) -> Table:
    table = figures_table(console, "first", "second", "second - first", "")
    for name, difference in one.differences.items():
        if difference.value is not None:
            first, second = (as_text(value) for value in one.values[name])
            clear = "clear" if _is_clear(difference) else ""
            table.add_row(FIGURE_NAMES[name], first, second, with_interval(difference, signed=True), clear)
    return table


def _is_clear(difference: Figure) -> bool:
    """Whether the interval of a difference lies on one side of 0."""
    if difference.low is None or difference.high is None:
        return False
    return not difference.low <= 0 <= difference.high
