"""The progress of a run: a bar on a terminal, elsewhere a line now and then, and what the run waits for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from time import monotonic
from typing import Any

import typer

from groundjudge.cli.options import RunLimits
from groundjudge.cli.screen import open_console, printable
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import STDIO
from groundjudge.runs.verdict_file import RunTotals

LINE_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""


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
        self._count, self._totals, self._prices, self._clock = count, totals, prices, clock
        self._has_bar = sys.stderr.isatty() and not (out == STDIO and sys.stdout.isatty())
        self._message = ""
        self._update: Callable[[str], None] | None = None

    def run_options(self, limits: RunLimits) -> dict[str, Any]:
        """The options of `run` for a run that is shown here."""
        previous = self._totals.previous
        return {**asdict(limits), "previous": previous, "on_outage": self.show_message}

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
        if self._has_bar:
            with self._bar() as advance:
                yield advance
        elif sys.stderr.isatty():  # the verdicts are on the same terminal, and show how far the run is
            yield lambda: None
        else:
            yield self._lines()

    def _lines(self) -> Callable[[], None]:
        due = self._clock() + LINE_EVERY
        total = cache(self._total)  # counted for the first line: short runs print none

        def advance() -> None:
            nonlocal due
            if self._clock() >= due:
                due = self._clock() + LINE_EVERY
                typer.echo(f"groundjudge: {self._line(total())}", err=True)

        return advance

    def _total(self) -> int | None:
        """How many verdicts there will be; None if that is not known."""
        n_rows = self._count()
        return None if n_rows is None else n_rows * len(self._totals.tally.summaries())

    def _line(self, total: int | None) -> str:
        """How far the run is."""
        summaries, n_unreadable = self._totals.tally.summaries(), self._totals.n_unreadable
        n_verdicts = sum(one.n for one in summaries) + n_unreadable
        n_errors = sum(one.n_error for one in summaries) + n_unreadable
        of_all = "" if total is None else f" of {total:,}"
        line, usage = f"{n_verdicts:,}{of_all} verdicts, {n_errors:,} errors", self._totals.usage
        return f"{line}, cost so far: {self._prices.of(usage):.4f}" if self._prices and usage else line

    @contextmanager
    def _bar(self) -> Generator[Callable[[], None], None, None]:
        from rich import progress  # noqa: PLC0415

        columns = (
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.description}", markup=False),
        )
        with progress.Progress(*columns, console=open_console(to_stderr=True), transient=True) as bar:
            task = bar.add_task(self._message, total=self._total())
            self._update = lambda message: bar.update(task, description=printable(message))
            yield lambda: bar.advance(task)
            self._update = None
