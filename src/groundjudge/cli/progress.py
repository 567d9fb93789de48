"""The progress line of a run: a bar, and what the run waits for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

import typer

from groundjudge.cli.screen import open_console, printable
from groundjudge.runs.rows import STDIO, count_rows


class ProgressLine:
    """A bar on a terminal, unless the verdicts are printed there, with a message beside it.

    Where there is no bar, a message is a line of stderr, and only the first of several in a row is printed.

    Args:
        cases: the file of cases, whose rows are counted.
        n_judges: how many verdicts there will be for each row.
        out: where the verdicts go; "-" is stdout.
    """

    def __init__(self, cases: str, n_judges: int, out: str) -> None:
        self._cases, self._n_judges = cases, n_judges
        self._has_bar = sys.stderr.isatty() and not (out == STDIO and sys.stdout.isatty())
        self._message = ""
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
        """Show the bar; yields what advances it."""
        if not self._has_bar:
            yield lambda: None
            return
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        message = TextColumn("{task.description}", markup=False)
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), message)
        with Progress(*columns, console=open_console(to_stderr=True), transient=True) as bar:
            rows = count_rows(self._cases)
            task = bar.add_task(self._message, total=None if rows is None else rows * self._n_judges)
            self._update = lambda message: bar.update(task, description=printable(message))
            yield lambda: bar.advance(task)
            self._update = None
