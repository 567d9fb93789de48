"""What is printed at the end of a run: a summary of every judge, the errors, and what was spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import floor
from typing import TYPE_CHECKING

from groundjudge.cli.screen import PIPED_WIDTH, as_options, print_text
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.cost import Prices
from groundjudge.runs.file_run import Rows
from groundjudge.runs.outcome import MAX_UNREADABLE, Outcome
from groundjudge.runs.summary import MISSING, Summary

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console
    from rich.table import Table

COLUMNS = ("mean", "ok", "error", "n/a", "missing", "coverage", "bounds")

VOTE_COLUMNS = ("agreement", "calls/row")
"""More columns, where verdicts come from votes."""

MAX_KEYS = 20
"""How many keys of the rows are listed."""

MIN_WIDTH_WITH_LABELS = 110
"""Columns of a terminal from which the labels fit into the table."""


def show_run(console: Console, judges: Sequence[AnyJudge], rows: Rows, outcome: Outcome) -> None:
    """Print what a run amounts to: the summaries, the errors, what no row has, and what was reused."""
    if rows.n_read:
        show_summaries(console, outcome.tally.summaries())
    show_errors(console, outcome)
    show_absent(console, judges, outcome, rows)
    show_reused(console, outcome)


def show_summaries(console: Console, summaries: Sequence[Summary]) -> None:
    """Print a table, or one line per judge where a table does not fit; the labels in it or below it."""
    wide = console.width >= MIN_WIDTH_WITH_LABELS
    table = _table(summaries, with_labels=wide)
    natural = console.measure(table, options=console.options.update_width(PIPED_WIDTH)).maximum
    if wide or natural <= console.width:
        console.print(table)
    else:
        for one in summaries:
            named = (f"{name} {cell}" for name, cell in _cells(one, summaries).items())
            print_text(console, f"{one.judge}: {', '.join(named)}")
    for one in summaries:
        if one.labels and not wide:
            print_text(console, f"{one.judge}: {_listed(one.labels)}")


def show_errors(console: Console, outcome: Outcome) -> None:
    """Print how often each error occurred, with the first of each, and the rows that could not be read."""
    for one in outcome.tally.summaries():
        for code, count in {**one.errors, MISSING: one.n_missing}.items():
            if count:
                first = outcome.first_errors[one.judge, code]
                print_text(console, f"{one.judge}: {code} {count}, the first is {as_options(first)}")
    if outcome.n_unreadable:
        print_text(console, f"unreadable rows: {outcome.n_unreadable}")
    for message in outcome.unreadable:
        print_text(console, message, margin=2)
    if outcome.n_unreadable > MAX_UNREADABLE:
        print_text(console, "...", margin=2)


def show_absent(console: Console, judges: Sequence[AnyJudge], outcome: Outcome, rows: Rows) -> None:
    """Print which inputs no row has, for each judge that could not judge anything."""
    counts = {one.judge: one for one in outcome.tally.summaries()}
    shown = ", ".join(islice(sorted(rows.keys), MAX_KEYS)) or "nothing"
    for judge in judges:
        absent = [each.field for each in judge.inputs if each.required and rows.lacks(each.field)]
        if absent and not counts[judge.name].n_ok and counts[judge.name].n:
            print_text(
                console,
                f"{judge.name}: no row has {', '.join(absent)}; the rows have {shown}: "
                f"rename what has another name, or use --fields {absent[0]}=PATH",
            )


def show_reused(console: Console, outcome: Outcome) -> None:
    """Print how many verdicts of the previous run were reused, if this one continues it."""
    previous = outcome.previous
    if previous is None:
        return
    print_text(console, f"{previous.n_used} verdicts reused, {outcome.n_new} new")
    if previous.n_unused and not outcome.stopped:
        print_text(
            console,
            f"{previous.n_unused} previous verdicts are on cases that were removed or changed, "
            "in the file or by --fields: they stay in the file and are not counted",
        )


def show_usage(console: Console, outcome: Outcome, prices: Prices | None) -> None:
    """Print the tokens of the new verdicts, and their cost if there are prices."""
    usage = outcome.usage
    if usage is None:
        return
    tokens = f"tokens: {usage.prompt_tokens:,} prompt, {usage.completion_tokens:,} completion"
    a_verdict = f"{round(usage.total_tokens / outcome.n_new):,} a verdict"
    cost = f", cost: {prices.of(usage):.4f}" if prices else ""
    print_text(console, f"{tokens}, {a_verdict}{cost}")


def _table(summaries: Sequence[Summary], *, with_labels: bool) -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table("judge", box=None, padding=(0, 1, 0, 0))
    for name in _columns(summaries):
        table.add_column(name, justify="right", no_wrap=True)
    if with_labels:
        table.add_column("labels")
    for one in summaries:
        labels = [_listed(one.labels)] if with_labels else []
        table.add_row(one.judge, *_cells(one, summaries).values(), *labels)
    return table


def _columns(summaries: Iterable[Summary]) -> tuple[str, ...]:
    has_votes = any(one.agreement is not None for one in summaries)
    return (*COLUMNS, *VOTE_COLUMNS) if has_votes else COLUMNS


def _cells(summary: Summary, summaries: Iterable[Summary]) -> dict[str, str]:
    """A judge's cells by the columns of the table of all judges."""
    bounds, calls = summary.bounds, summary.calls_per_row
    cells = {
        "mean": "-" if summary.mean is None else f"{summary.mean:.3f}",
        "ok": str(summary.n_ok),
        "error": str(summary.n_error),
        "n/a": str(summary.n_not_applicable),
        "missing": str(summary.n_missing),
        "coverage": _rounded_down(summary.coverage),
        "bounds": "-" if bounds is None else f"{bounds[0]:.3f}..{bounds[1]:.3f}",
        "agreement": "-" if summary.agreement is None else _rounded_down(summary.agreement),
        "calls/row": "-" if calls is None else f"{calls:.2f}",
    }
    return {name: cells[name] for name in _columns(summaries)}


def _rounded_down(share: float) -> str:
    """A share with three decimals: 1.000 means every row, or every vote."""
    return f"{floor(share * 1000) / 1000:.3f}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
