"""The progress bar of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from groundjudge.cli.screen import open_console
from groundjudge.runs.rows import STDIO, count_rows


@contextmanager
def progress_bar(cases: str, n_judges: int, out: str) -> Generator[Callable[[], None], None, None]:
    """Show a bar on a terminal, unless the verdicts are printed there; yields what advances it."""
    if not sys.stderr.isatty() or (out == STDIO and sys.stdout.isatty()):
        yield lambda: None
        return
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=open_console(to_stderr=True), transient=True) as bar:
        rows = count_rows(cases)
        task = bar.add_task("", total=None if rows is None else rows * n_judges)
        yield lambda: bar.advance(task)
