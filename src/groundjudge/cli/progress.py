"""Judging on the screen: a bar on a terminal, elsewhere a line now and then, and what the run waits for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from time import monotonic

import typer

from groundjudge.cli.options import OutputOptions
from groundjudge.cli.outputs import previous_verdicts
from groundjudge.cli.screen import INCOMPLETE, Screen, fail, printable
from groundjudge.errors import ModelError
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.cost import Prices
from groundjudge.runs.file_run import RunTotals, write_verdicts
from groundjudge.runs.rows import STDIO
from groundjudge.runs.summary import Tally
from groundjudge.verdict import Verdict

LINE_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def judge_rows(  # noqa: PLR0913  independent of each other
    judged_by: Callable[..., Generator[Verdict, None, None]],
    judges: Sequence[AnyJudge],
    out: str | None,
    output: OutputOptions,
    prices: Prices | None,
    *,
    count: Callable[[], int | None],
    kept_ids: frozenset[str] = frozenset(),
) -> RunTotals:
    """Judge rows and write each verdict as it comes, with the progress on the screen.

    Exit if a file is in the way, or if the endpoint never answered.

    Args:
        judged_by: makes the verdicts: `run` with all but the options `previous` and `on_outage`.
        judges: whose verdicts these are.
        out: the file to write to, "-" for stdout, None to write nothing.
        output: what becomes of a file that exists.
        prices: for the cost so far; None if they are not known.
        count: counts the rows that are to be judged; None if that is not known.
        kept_ids: the ids of the cases whose verdicts are kept.
    """
    with previous_verdicts(out or STDIO, judges, output) as previous:
        totals = RunTotals(Tally(judge.name for judge in judges), kept_ids, previous)
        progress = ProgressLine(count, totals, prices, out)
        judged = judged_by(previous=previous, on_outage=progress.show_message)
        try:
            write_verdicts(judged, out, totals, progress.shown())
        except ModelError as error:
            if error.code != "connection":
                raise
            fail(f"stopped: {error.message}", status=INCOMPLETE)  # the same command may succeed later
    return totals


class ProgressLine:
    """A bar on a terminal, unless the verdicts are printed there, with a message beside it.

    Where stderr is no terminal, a line tells every 10 seconds how far the run is. Where there is no bar, a
    message is a line of stderr, and only the first of several in a row is printed.

    Args:
        count: counts the rows that are to be judged; None if that is not known.
        totals: what was judged so far.
        prices: for the cost so far; None if it is not known.
        out: where the verdicts go; "-" is stdout.
        clock: the time in seconds.
    """

    def __init__(
        self,
        count: Callable[[], int | None],
        totals: RunTotals,
        prices: Prices | None,
        out: str | None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        # The rows are counted for the first line: short runs print none.
        self._count, self._totals, self._prices, self._clock = cache(count), totals, prices, clock
        self._has_bar = sys.stderr.isatty() and not (out == STDIO and sys.stdout.isatty())
        self._message, self._due = "", clock() + LINE_EVERY
        self._update: Callable[[str], None] | None = None

    def show_message(self, message: str) -> None:
        """Show a message in place of the last one; "" removes it. Can be called from any thread."""
        is_first, self._message = not self._message, message
        if self._update:
            self._update(message)
        elif message and is_first and not self._has_bar:
            typer.echo(f"groundjudge: {printable(message)}", err=True)

    @contextmanager
    def shown(self) -> Generator[Callable[[], None], None, None]:
        """Show the bar, or else print lines; yields what is to be called after each verdict."""
        if not self._has_bar:
            yield self._print_line
            return
        from rich import progress  # noqa: PLC0415

        columns = (
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.description}", markup=False),
        )
        with progress.Progress(*columns, console=Screen(to_stderr=True).console, transient=True) as bar:
            task = bar.add_task(self._message, total=self._total())
            self._update = lambda message: bar.update(task, description=printable(message))
            yield lambda: bar.advance(task)
            self._update = None

    def _print_line(self) -> None:
        """Print how far the run is, now and then; a terminal without a bar shows the verdicts themselves."""
        if self._clock() < self._due or sys.stderr.isatty():
            return
        self._due = self._clock() + LINE_EVERY
        summaries, n_unreadable = self._totals.tally.summaries(), self._totals.n_unreadable
        n_verdicts = sum(one.n for one in summaries) + n_unreadable
        n_errors = sum(one.n_error for one in summaries) + n_unreadable
        total, usage = self._total(), self._totals.usage
        of_all = "" if total is None else f" of {total:,}"
        cost = f", cost so far: {self._prices.of(usage):.4f}" if self._prices and usage else ""
        typer.echo(f"groundjudge: {n_verdicts:,}{of_all} verdicts, {n_errors:,} errors{cost}", err=True)

    def _total(self) -> int | None:
        """How many verdicts there will be; None if that is not known."""
        n_rows = self._count()
        return None if n_rows is None else n_rows * len(self._totals.tally.summaries())
