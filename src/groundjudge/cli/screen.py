"""The screen: how commands print, and how they fail."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from textwrap import indent
from typing import TYPE_CHECKING, NoReturn

import typer

from groundjudge.errors import GroundjudgeError

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console
    from rich.table import Table

INCOMPLETE = 1
"""Exit status: there is a result, but rows or lines are missing from it."""

NO_RESULT = 2
"""Exit status: there is no result."""

PIPED_WIDTH = 200
"""Columns to write where there is no terminal to measure."""


def open_console(*, to_stderr: bool = False) -> Console:
    """A console that prints text unchanged, and is wide where no terminal limits it."""
    from rich.console import Console  # noqa: PLC0415

    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def table_of(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, gap: int = 1, last_is_text: bool = False
) -> Table:
    """A table of numbers: names on the left, and columns that are never cut.

    Args:
        columns: their headings.
        rows: the cells.
        gap: blanks between columns.
        last_is_text: whether the last column holds text, which may be wrapped.
    """
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=gap == 1)
    for place, name in enumerate(columns):
        is_text = place == 0 or (last_is_text and place == len(columns) - 1)
        table.add_column(name, justify="left" if is_text else "right", no_wrap=not is_text)
    for row in rows:
        table.add_row(*row)
    return table


def print_text(console: Console, text: str, *, margin: int = 0, style: str = "") -> None:
    """Print text: wrapped on a terminal, in whole lines elsewhere."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    text = printable(text)
    if console.is_terminal:
        console.print(Padding(Text(text, style), (0, 0, 0, margin)))
    else:
        console.file.write(indent(text, " " * margin) + "\n")


def printable(text: str) -> str:
    """The text with control characters escaped: cases and replies must not steer the terminal."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)


@contextmanager
def report_errors() -> Generator[None, None, None]:
    """Report errors that the user can fix in one line, without a traceback."""
    try:
        yield
    except GroundjudgeError as error:
        fail(message_of(error))
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has gone, as after `| head`
            raise
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ImportError as error:
        if "groundjudge[" not in str(error):  # a broken installation, not a missing extra
            raise
        fail(str(error))


def message_of(error: GroundjudgeError) -> str:
    """The error's message; a parameter that it names in backquotes, as in `max_calls`, becomes an option."""
    return in_options(error.message, error.subject)


def in_options(message: str, parameter: str) -> str:
    """A message about a parameter, with the option in its place: --max-calls for `max_calls`."""
    return message.replace(f"`{parameter}`", f"--{parameter.replace('_', '-')}")


def fail(message: str, status: int = NO_RESULT) -> NoReturn:
    """Print one line to stderr and exit.

    Raises:
        typer.Exit: always.
    """
    typer.echo(f"groundjudge: {printable(' '.join(message.split()))}", err=True)
    raise typer.Exit(status)
