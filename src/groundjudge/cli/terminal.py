"""What is shown to whoever sits at a terminal, or reads what was piped."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from textwrap import indent
from typing import TYPE_CHECKING, NoReturn

import typer

from groundjudge.errors import GroundjudgeError

if TYPE_CHECKING:
    from rich.console import Console

NOTHING_DONE = 2
"""Exit status: there is no result."""

PIPED_WIDTH = 200
"""Columns of what is written where there is no terminal to measure."""


def console_of(*, to_stderr: bool = False) -> Console:
    """A console that shows texts as they are, and is wide where nobody's window limits it."""
    from rich.console import Console  # noqa: PLC0415

    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def tell(console: Console, text: str, *, margin: int = 0, style: str = "") -> None:
    """Print text as it is: wrapped on a terminal, in whole lines elsewhere."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    text = printable(text)
    if console.is_terminal:
        console.print(Padding(Text(text, style), (0, 0, 0, margin)))
    else:
        console.file.write(indent(text, " " * margin) + "\n")


def printable(text: str) -> str:
    """The text without what a terminal would obey: cases and replies are other people's."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)


@contextmanager
def errors_told() -> Generator[None, None, None]:
    """One line for what the user can put right, in place of a traceback."""
    try:
        yield
    except GroundjudgeError as error:
        fail(error.message)
    except OSError as error:
        if error.errno == errno.EPIPE:  # nobody reads on, as after `| head`
            raise
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ImportError as error:
        if "groundjudge[" not in str(error):  # what is missing is no extra
            raise
        fail(str(error))


def fail(message: str, status: int = NOTHING_DONE) -> NoReturn:
    """End with one line on stderr and an exit status.

    Raises:
        typer.Exit: always.
    """
    typer.echo(f"groundjudge: {printable(' '.join(message.split()))}", err=True)
    raise typer.Exit(status)
