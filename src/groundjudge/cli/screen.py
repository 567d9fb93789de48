"""The screen: how commands print, and how they fail."""

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

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console

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


OPTIONS = (
    *("concurrency", "deadline", "empty_response", "max_calls", "max_tokens", "model", "repeats"),
    *("threshold", "weighted"),
)
"""The arguments in Python that error messages name and that are options of a command too."""

ARGUMENT = re.compile(
    rf"""\b(?P<name>{"|".join(OPTIONS)})(?:="(?P<value>[^"]+)"|=(?=\W|$)"""
    r"|(?<=_calls|tokens)\b|(?<=weighted)(?= needs))"
)
"""An argument in a message: `model="offline"`, `model=`, max_calls, which is no ordinary word, or "weighted
needs"."""

CALL = re.compile(r"\bload\((\w+=)\)")
"""An option of `load` in a message: `load(repeats=)`."""

ONLY_IN_PYTHON = re.compile(
    rf",? or (?:pass )?(?!{'|'.join(OPTIONS)})\w+=(?:[A-Z]\w*\([^)]*\)|(?=\W|$))"
    r"| \(raise \w+=[^)]*\)"
)
"""An alternative that only Python has: ", or pass client=", "or base_url=", "(raise timeout= ...)"."""


@contextmanager
def report_errors() -> Generator[None, None, None]:
    """Report errors that the user can fix in one line, without a traceback."""
    try:
        yield
    except GroundjudgeError as error:
        fail(error.message)
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has gone, as after `| head`
            raise
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ImportError as error:
        if "groundjudge[" not in str(error):  # a broken installation, not a missing extra
            raise
        fail(str(error))


def as_options(message: str) -> str:
    """An error message of the library in the words of the command line: options, not arguments in Python."""
    return ARGUMENT.sub(_option, ONLY_IN_PYTHON.sub("", CALL.sub(r"\1", message)))


def _option(found: re.Match[str]) -> str:
    return " ".join(filter(None, (f"--{found['name'].replace('_', '-')}", found["value"])))


def fail(message: str, status: int = NO_RESULT) -> NoReturn:
    """Print one line to stderr and exit.

    Raises:
        typer.Exit: always.
    """
    typer.echo(f"groundjudge: {printable(' '.join(as_options(message).split()))}", err=True)
    raise typer.Exit(status)
