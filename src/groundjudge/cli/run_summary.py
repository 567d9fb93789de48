"""The end of a run: a summary of every judge, the errors, what was spent, and the exit status."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from math import floor
from typing import TYPE_CHECKING, NoReturn

import typer

from groundjudge.cli.screen import INCOMPLETE, PIPED_WIDTH, fail, in_options, message_of, print_text, table_of
from groundjudge.errors import ModelError
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.cost import Prices
from groundjudge.runs.file_run import MAX_UNREADABLE, CaseFile, RunTotals
from groundjudge.runs.rows import STDIO
from groundjudge.runs.summary import MISSING, Summary

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console

MAX_KEYS = 20
"""How many keys of the rows are listed."""

MIN_WIDTH_WITH_LABELS = 110
"""Columns of a terminal from which the labels fit into the table."""

ROW_PARAMETER = "empty_response"
"""The parameter that the messages of rows can name; they are kept without a subject."""


def show_run(console: Console, judges: Sequence[AnyJudge], rows: CaseFile, totals: RunTotals) -> None:
    """Print the totals of a run: the summaries, the errors, what no row has, and what was reused."""
    if rows.n_read:
        _show_summaries(console, totals.tally.summaries())
    _show_errors(console, totals)
    _show_absent(console, judges, totals, rows)
    show_reused(console, totals)


def show_reused(console: Console, totals: RunTotals) -> None:
    """Print how many verdicts of the previous run were reused, if this one continues it."""
    previous = totals.previous
    if previous is None:
        return
    print_text(console, f"{previous.n_used} verdicts reused, {totals.n_new} new")
    if previous.n_unused and not totals.stopped:
        print_text(
            console,
            f"{previous.n_unused} previous verdicts are on cases that were removed or changed, "
            "in the file or by --fields: they stay in the file and are not counted",
        )


def show_usage(console: Console, totals: RunTotals, prices: Prices | None) -> None:
    """Print the tokens of the new verdicts, and their cost if there are prices."""
    usage = totals.usage
    if usage is None:
        return
    tokens = f"tokens: {usage.prompt_tokens:,} prompt, {usage.completion_tokens:,} completion"
    a_verdict = f"{round(usage.total_tokens / totals.n_new):,} a verdict"
    cost = f", cost: {prices.of(usage):.4f}" if prices else ""
    print_text(console, f"{tokens}, {a_verdict}{cost}")


@contextmanager
def report_connection() -> Generator[None, None, None]:
    """Report an endpoint that never answered."""
    try:
        yield
    except ModelError as error:
        if error.code != "connection":
            raise
        fail(f"stopped: {error.message}", status=INCOMPLETE)  # the same command may succeed later


def fail_if_stopped(totals: RunTotals, out: str | None) -> None:
    """Exit if the run ended early."""
    if totals.stopped:
        kept = f"; the finished verdicts are in {out}, continue with --resume"
        remedy = "" if out in {None, STDIO} else kept
        fail(f"stopped: {message_of(totals.stopped)}{remedy}", status=INCOMPLETE)


def fail_without_rows(rows: CaseFile) -> None:
    """Exit if no row could be read."""
    if not rows.n_read:
        fail(
            f"{rows.path}: no row could be read; the file must hold one JSON object per line, "
            "or be a .csv, .tsv, .json or .parquet file: see --format"
        )


def exit_after_run(
    rows: CaseFile, totals: RunTotals, out: str | None, min_coverage: float = 1.0, *, is_complete: bool = True
) -> NoReturn:
    """Exit with the status of a command that judges.

    Args:
        rows: the rows that were read.
        totals: what was judged.
        out: the file that --resume continues; None if the command has no such option.
        min_coverage: the share of its rows that each judge must have scored, 0..1.
        is_complete: whether nothing else is missing.
    """
    fail_without_rows(rows)
    counts = totals.tally.summaries()
    if not any(one.n for one in counts):
        fail(f"{rows.path}: nothing was judged, because every row names other judges under `judges`")
    if any(one.n_missing for one in counts) and not any(one.n > one.n_missing for one in counts):
        fail(f"{rows.path}: nothing was judged, because every row lacks a required input: see above")
    fail_if_stopped(totals, out)
    is_covered = all(one.coverage >= min_coverage for one in counts)
    is_complete = is_complete and is_covered and not totals.n_unreadable
    raise typer.Exit(0 if is_complete else INCOMPLETE)


def _show_summaries(console: Console, summaries: Sequence[Summary]) -> None:
    """Print a table, or one line per judge where a table does not fit; the labels in it or below it."""
    has_votes = any(one.agreement is not None for one in summaries)
    cells = {one.judge: _cells(one, has_votes=has_votes) for one in summaries}
    labels = {one.judge: _listed(one.labels) for one in summaries if one.labels}
    columns = ["judge", *next(iter(cells.values()))]
    if console.width >= MIN_WIDTH_WITH_LABELS:
        rows = [(judge, *each.values(), labels.get(judge, "")) for judge, each in cells.items()]
        console.print(table_of([*columns, "labels"], rows, last_is_text=True))
        return
    table = table_of(columns, [(judge, *each.values()) for judge, each in cells.items()])
    if console.measure(table, options=console.options.update_width(PIPED_WIDTH)).maximum <= console.width:
        console.print(table)
    else:
        for judge, each in cells.items():
            named = ", ".join(f"{name} {cell}" for name, cell in each.items())
            print_text(console, f"{judge}: {named}")
    for judge, listed in labels.items():
        print_text(console, f"{judge}: {listed}")


def _cells(summary: Summary, *, has_votes: bool) -> dict[str, str]:
    """A judge's cells by column; more of them where verdicts come from votes."""
    bounds, calls = summary.bounds, summary.calls_per_row
    cells = {
        "mean": "-" if summary.mean is None else f"{summary.mean:.3f}",
        "ok": str(summary.n_ok),
        "error": str(summary.n_error),
        "n/a": str(summary.n_not_applicable),
        "missing": str(summary.n_missing),
        "coverage": _rounded_down(summary.coverage),
        "bounds": "-" if bounds is None else f"{bounds[0]:.3f}..{bounds[1]:.3f}",
    }
    if has_votes:
        cells["agreement"] = "-" if summary.agreement is None else _rounded_down(summary.agreement)
        cells["calls/row"] = "-" if calls is None else f"{calls:.2f}"
    return cells


def _rounded_down(share: float) -> str:
    """A share with three decimals: 1.000 means every row, or every vote."""
    return f"{floor(share * 1000) / 1000:.3f}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _show_errors(console: Console, totals: RunTotals) -> None:
    """Print how often each error occurred, with the first of each, and the rows that could not be read."""
    for one in totals.tally.summaries():
        for code, count in {**one.errors, MISSING: one.n_missing}.items():
            if count:
                first = in_options(totals.first_errors[one.judge, code], ROW_PARAMETER)
                print_text(console, f"{one.judge}: {code} {count}, the first is {first}")
    if totals.n_unreadable:
        print_text(console, f"unreadable rows: {totals.n_unreadable}")
    for message in totals.unreadable:
        print_text(console, message, margin=2)
    if totals.n_unreadable > MAX_UNREADABLE:
        print_text(console, "...", margin=2)


def _show_absent(console: Console, judges: Sequence[AnyJudge], totals: RunTotals, rows: CaseFile) -> None:
    """Print which inputs no row has, for each judge that could not judge anything."""
    idle = {one.judge for one in totals.tally.summaries() if one.n and not one.n_ok}
    shown = ", ".join(sorted(rows.keys)[:MAX_KEYS]) or "nothing"
    for judge in judges:
        absent = [each.field for each in judge.inputs if each.required and rows.lacks(each.field)]
        if absent and judge.name in idle:
            print_text(
                console,
                f"{judge.name}: no row has {', '.join(absent)}; the rows have {shown}: "
                f"rename what has another name, or use --fields {absent[0]}=PATH",
            )
