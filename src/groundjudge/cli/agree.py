"""`groundjudge agree`: how far judges agree with people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from textwrap import shorten
from typing import TYPE_CHECKING

from groundjudge.cli.figures import (
    FIGURE_NAMES,
    as_text,
    figures_table,
    print_interval_note,
    print_notes,
    with_interval,
)
from groundjudge.cli.measured import exit_after, join_labels, load_verdicts, mixed_signatures, thresholds_for
from groundjudge.cli.options import JUDGES, LABELS, SEED, THRESHOLD, VERDICTS, LabelOptions, option
from groundjudge.cli.screen import open_console, print_text, report_errors

if TYPE_CHECKING:  # the statistics libraries and rich are loaded when the command runs
    from rich.console import Console

    from groundjudge.analysis.agreement import Agreement, LabelAgreement
    from groundjudge.analysis.votes import VoteAgreement

COUNTS = {
    "error": "n_error",
    "not applicable": "n_not_applicable",
    "without a label": "n_unlabelled",
    "label: not applicable": "n_label_not_applicable",
    "missing input": "n_missing",
    "labelled, not judged": "n_unjudged",
    "judged again (last counts)": "n_repeated",
}
"""The rows of the table that are not part of n, each with the count of an agreement."""

ALWAYS_SHOWN = ("error", "not applicable")
"""The counts that are shown even where every judge has a 0."""

NAMES_WIDTH = 26
JUDGE_WIDTH = 27
"""Columns of the terminal for the rows' names, and for each judge."""

MAX_REASON = 300
"""Characters of a reason that are shown."""


def agree(  # noqa: PLR0913  one per option
    verdicts: str = VERDICTS,
    *,
    labels: str = LABELS,
    label_options: LabelOptions,
    judge: list[str] | None = JUDGES,
    threshold: str | None = THRESHOLD,
    worst: int = option("How many disagreements to show for each judge.", default=3, metavar="N", min=0),
    seed: int = SEED,
) -> None:
    """Measure how far judges agree with people's labels.

    The largest disagreements are shown with their reasons.

    Exit status: 0; 1 if a line could not be read; 2 if nothing could be measured.
    """
    with report_errors():
        from groundjudge.analysis.agreement import measure_agreement  # noqa: PLC0415

        file = load_verdicts(verdicts)
        joined = join_labels(file, labels, label_options, judge)
        thresholds, warnings = thresholds_for(threshold, file.verdicts)
        found = [
            measure_agreement(
                one,
                threshold=thresholds,
                label_threshold=label_options.label_threshold,
                worst=worst,
                seed=seed,
            )
            for one in joined
        ]
    console = open_console()
    _show_tables(console, found)
    print_interval_note(console, label_options.group)
    print_notes(
        console, [*chain.from_iterable(map(_undefined, found)), *mixed_signatures(file.verdicts), *warnings]
    )
    for one in found:
        if one.labels:
            _show_labels(console, one.judge, one.labels)
        if one.votes:
            _show_votes(console, one.judge, one.votes)
        _show_worst(console, one)
    exit_after(console, file)


def _show_tables(console: Console, found: Sequence[Agreement]) -> None:
    """Print figures in rows and judges in columns; as many judges side by side as fit."""
    columns = [_cells(one, found) for one in found]
    hidden = {
        name
        for name in ("groups", *COUNTS)
        if name not in ALWAYS_SHOWN and all(cells[name] == "0" for cells in columns)
    }
    side_by_side = max(1, (console.width - NAMES_WIDTH) // JUDGE_WIDTH)
    for start in range(0, len(found), side_by_side):
        shown = slice(start, start + side_by_side)
        table = figures_table(console, *(one.judge for one in found[shown]))
        for name in columns[0]:
            if name not in hidden:
                table.add_row(name, *(cells[name] for cells in columns[shown]))
        console.print(table)
    print_text(console, "Positive: people called it grounded. Constant guess: the same answer for every row.")


def _cells(one: Agreement, found: Sequence[Agreement]) -> dict[str, str]:
    """A judge's cells by the names of the rows; Spearman only where labels are graded."""
    is_graded = any(each.figures["spearman"].value is not None for each in found)
    return {
        "n": str(one.n),
        "groups": str(one.n_groups) if one.n_groups < one.n else "0",
        **{name: str(one.counts[count]) for name, count in COUNTS.items()},
        "threshold": "as run" if one.threshold is None else f"{one.threshold:g}",
        "base rate": as_text(one.base_rate),
        "constant guess, accuracy": as_text(one.guess.get("accuracy")),
        **{
            FIGURE_NAMES[name]: with_interval(figure)
            for name, figure in one.figures.items()
            if is_graded or name != "spearman"
        },
        "grounded: passed, not": _pair(one, "true_positives", "false_negatives"),
        "not grounded: passed, not": _pair(one, "false_positives", "true_negatives"),
    }


def _pair(one: Agreement, passed: str, failed: str) -> str:
    table = one.confusion
    return "-" if table is None else f"{getattr(table, passed)}, {getattr(table, failed)}"


def _undefined(one: Agreement) -> list[str]:
    """Why figures of a judge are undefined: one note for all with the same reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in one.undefined.items():
        if name != "spearman" or one.confusion is None:
            by_reason.setdefault(reason, []).append(FIGURE_NAMES[name])
    return [f"{one.judge}: {', '.join(names)} undefined: {reason}" for reason, names in by_reason.items()]


def _show_worst(console: Console, one: Agreement) -> None:
    if one.worst:
        print_text(console, f"\n{one.judge}, largest disagreements", style="bold")
    for row in one.worst:
        passed = "passed" if row.passed else "not passed"
        label = row.word or f"{row.label:.3g}"
        print_text(console, f"{row.case_id}: score {row.score:.3g}, {passed}; label {label}", margin=2)
        if row.reason:
            print_text(console, shorten(row.reason, MAX_REASON, placeholder=" ..."), margin=4)


def _show_labels(console: Console, judge: str, one: LabelAgreement) -> None:
    """Print the confusion matrix over the labels, and what it says."""
    print_text(console, f"\n{judge}, label by label (rows: people, columns: the judge)", style="bold")
    table = figures_table(console, *one.columns)
    for name, score, counts in zip(one.labels, one.scores, one.counts, strict=True):
        meaning = "not applicable" if score is None else f"{score:g}"
        table.add_row(f"{name} ({meaning})", *map(str, counts))
    console.print(table)
    print_text(
        console,
        f"same label: {with_interval(one.same)} of {one.n} rows; always {one.majority!r}: "
        f"{one.majority_share:.3f}",
    )
    print_text(
        console,
        f"weighted kappa: {with_interval(one.weighted_kappa)} on {one.n_scored} rows whose labels both have "
        "a score; a disagreement weighs the squared difference of the two scores",
    )


def _show_votes(console: Console, judge: str, one: VoteAgreement) -> None:
    """Print how accurate the votes are, together and member by member."""
    print_text(console, f"\n{judge}, votes", style="bold")
    table = figures_table(console, "n", "accuracy", "minus panel, same rows")
    for name, part in (("panel", one.whole), ("unanimous votes", one.unanimous), ("split votes", one.split)):
        table.add_row(name, str(part.n), with_interval(part.accuracy), "")
    for member in one.members:
        mark = " *" if member.is_selected else ""
        difference = with_interval(member.difference, signed=True)
        table.add_row(f"{member.name}{mark}", str(member.n), with_interval(member.accuracy), difference)
    console.print(table)
    if any(member.is_selected for member in one.members):
        print_text(
            console,
            "* asked only where earlier votes left the verdict open, which are the harder rows: "
            "for a comparison run with --stop never",
        )
    print_text(console, _sentence(one))


def _sentence(one: VoteAgreement) -> str:
    """Whether the panel is worse than its best member, as far as the rows can tell."""
    best, n = _best(one), one.best.n
    if one.finding == "no_difference":
        return f"No difference in accuracy was found on {n} rows between the panel and {best}."
    gap = abs(one.best.difference.value or 0.0)
    return (
        f"The panel is {one.finding} than {best}: on the same {n} rows its accuracy is {gap:.3f} "
        f"{'lower' if one.finding == 'worse' else 'higher'} (exact McNemar test: p = {one.best.p:.2g})."
    )


def _best(one: VoteAgreement) -> str:
    """The member that the panel is compared with."""
    if len(one.members) == 1:
        return one.best.name
    of_some = " of those always asked" if any(member.is_selected for member in one.members) else ""
    return f"its best member{of_some}, {one.best.name}"
