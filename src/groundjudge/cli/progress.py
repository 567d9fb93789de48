"""The progress of a run: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from time import monotonic

from groundjudge.cli.screen import Screen, note
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import STDIO
from groundjudge.runs.verdict_file import RunTotals
from groundjudge.text.printable import printable

LINE_EVERY = 10.0
"""Seconds between two lines of progress if there is no terminal."""


class ProgressLine:
    """A bar on a terminal, with a message next to it, unless the verdicts are printed there.

    If stderr is not a terminal, a line reports the progress every 10 seconds. Without a bar, a message is a
    line on stderr, and only the first of several in a row is printed.

    Args:
        count: counts the rows to judge; None if their number is unknown.
        totals: what was judged so far.
        prices: for the cost so far; None if unknown.
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
        # The rows are counted for the first line, and only then: short runs print none.
        self._count_rows = cache(count)
        self._totals = totals
        self._prices = prices
        self._clock = clock
        # A bar would be drawn between the lines of verdicts on the same terminal.
        shows_verdicts = out == STDIO and sys.stdout.isatty()
        self._has_bar = sys.stderr.isatty() and not shows_verdicts
        self._message = ""
        self._next_line_at = clock() + LINE_EVERY
        self._update_bar: Callable[[str], None] | None = None

    def show_message(self, message: str) -> None:
        """Show a message in place of the last one; "" removes it. Can be called from any thread."""
        is_first = not self._message
        self._message = message
        if self._update_bar:
            self._update_bar(message)
        elif message and is_first and not self._has_bar:
            note(message)

    @contextmanager
    def show(self) -> Generator[Callable[[], None], None, None]:
        """Show the bar, or else print lines; yields the function to call after each verdict."""
        if not self._has_bar:
            yield self._print_line
            return
        from rich import progress  # noqa: PLC0415

        columns = (
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.description}", markup=False),  # messages quote what endpoints say
        )
        console = Screen(to_stderr=True).console
        with progress.Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(self._message, total=self._n_verdicts())

            def update_bar(message: str) -> None:
                bar.update(task, description=printable(message))

            def advance_bar() -> None:
                bar.advance(task)

            self._update_bar = update_bar
            yield advance_bar
            self._update_bar = None  # a message that comes later has no bar

    def _print_line(self) -> None:
        """Print the progress now and then; a terminal without a bar shows the verdicts themselves."""
        if self._clock() < self._next_line_at or sys.stderr.isatty():
            return
        self._next_line_at = self._clock() + LINE_EVERY
        # A row that cannot be read has no judge, and counts as one verdict and one error.
        n_verdicts = self._totals.n_unreadable
        n_errors = self._totals.n_unreadable
        for summary in self._totals.tally.summaries():
            n_verdicts += summary.n
            n_errors += summary.n_error
        of_all = ""
        n_expected = self._n_verdicts()
        if n_expected is not None:  # rows from a pipe cannot be counted
            of_all = f" of {n_expected:,}"
        cost = ""
        usage = self._totals.usage
        if self._prices and usage:
            cost = f", cost so far: {self._prices.of(usage):.4f}"
        note(f"{n_verdicts:,}{of_all} verdicts, {n_errors:,} errors{cost}")

    def _n_verdicts(self) -> int | None:
        """Return how many verdicts there will be; None if unknown."""
        n_rows = self._count_rows()
        if n_rows is None:
            return None
        # An upper bound: a row can name only some of the judges.
        return n_rows * len(self._totals.tally.summaries())
