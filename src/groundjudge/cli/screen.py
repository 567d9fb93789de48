"""The screen: how commands print and how they fail."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from textwrap import indent
from typing import NoReturn

import typer

from groundjudge.cli.judging import judging_options
from groundjudge.errors import GroundjudgeError, ModelError
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.printable import printable

INCOMPLETE = 1
"""Exit status: there is a result, but rows or lines are missing from it."""

NO_RESULT = 2
"""Exit status: there is no result."""

PIPED_WIDTH = 200
"""Columns to write if there is no terminal to measure."""

USUAL_WIDTH = 80
"""Columns of a terminal into which tables should fit."""

BLANK_INPUTS = compile_when_used(r"\bmay_be_empty=\[[^\]]*\]")
"""What messages about rows say about blank inputs, for callers in Python."""


class Screen:
    """What a command prints to: text is printed as it is, and in wide lines if no terminal limits them.

    Args:
        to_stderr: whether to print to stderr, because the results go to stdout.

    Attributes:
        console: the console that draws.
    """

    def __init__(self, *, to_stderr: bool = False) -> None:
        from rich.console import Console  # noqa: PLC0415  `--help` does not wait for rich

        stream = sys.stderr if to_stderr else sys.stdout
        width: int | None = PIPED_WIDTH
        if stream.isatty() or "COLUMNS" in os.environ:
            width = None  # rich asks the terminal or the environment
        # Brackets and colons in names and replies are text, not markup or emoji.
        self.console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)

    def text(self, *lines: str, heading: str = "") -> None:
        """Print lines of text: wrapped on a terminal, each in one piece elsewhere.

        Args:
            lines: the blanks with which a line begins are its margin; "" is an empty line.
            heading: a line before them, in bold; "" for none.
        """
        if heading:
            self._line(heading, "bold")
        for line in lines:
            self._line(line)

    def _line(self, line: str, style: str = "") -> None:
        from rich.padding import Padding  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        stripped = line.lstrip(" ")
        margin = len(line) - len(stripped)
        text = printable(stripped)
        if self.console.is_terminal:
            # The margin is padding, so that a line that is wrapped keeps it.
            self.console.print(Padding(Text(text, style), (0, 0, 0, margin)))
        else:
            # rich would wrap the line at its width, and scripts search whole lines.
            self.console.file.write(indent(text, " " * margin) + "\n")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows of names and figures; if they are too wide for the terminal, print a line per row.

        Args:
            columns: the headings; the first is that of the names.
            rows: the cells. They are never cut.
        """
        from rich.table import Table  # noqa: PLC0415

        headings = [_cell(column) for column in columns]
        lines: list[list[str]] = []
        for row in rows:
            lines.append([_cell(cell) for cell in row])
        gap = 2 if self.console.width > USUAL_WIDTH else 1
        table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False)
        for place, heading in enumerate(headings):
            table.add_column(heading, justify="right" if place else "left", no_wrap=True)
        for cells in lines:
            table.add_row(*cells)
        # rich never measures a table as wider than the screen, so every table would seem to fit.
        wide = self.console.options.update_width(PIPED_WIDTH)
        if self.console.measure(table, options=wide).maximum <= self.console.width:
            self.console.print(table)
            return
        for name, *cells in lines:
            pairs = zip(headings[1:], cells, strict=True)
            figures = [f"{heading} {cell}" for heading, cell in pairs if cell]
            self.text(f"{name}: {', '.join(figures)}")


def say(text: str) -> None:
    """Print a line to stdout, in one piece."""
    typer.echo(printable(text))


def note(message: str) -> None:
    """Print a line to stderr about progress or a problem."""
    typer.echo(f"groundjudge: {printable(message)}", err=True)


def _cell(text: str) -> str:
    """Make a table cell of one line: a name with a line feed would forge a row."""
    return printable(text).replace("\n", "\\n")


def counts_text(counts: Mapping[str, int]) -> str:
    """Write counts: "grounded 3, ungrounded 1"."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def outcome_text(passed: bool | None) -> str:  # noqa: FBT001  the outcome itself
    """Write whether a verdict passed."""
    return "passed" if passed else "not passed"


def as_text(value: float | None) -> str:
    """Write a number with three decimals, such as "0.875"; "-" for None."""
    if value is None:
        return "-"
    return f"{below_one(value):.3f}"


def below_one(value: float) -> float:
    """Keep a number below 1 from being rounded to 1.000, except for rounding errors: 0.9998 -> 0.999."""
    if value < 1 - 1e-9:
        return min(value, 0.999)  # a coverage of 1.000 would deny the row that failed
    return value


@contextmanager
def report_errors() -> Generator[None, None, None]:
    """Report errors that the user can fix on one line, without a traceback."""
    try:
        yield
    except GroundjudgeError as error:
        message = message_of(error)
        if error.code == "no_reply_format":
            note(message)  # front matter to paste, line by line
            raise typer.Exit(NO_RESULT) from error
        fail(message)
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has gone, as after `| head`
            raise
        if error.filename:
            fail(f"{error.filename}: {error.strerror}")
        fail(str(error))
    except ImportError as error:
        if "groundjudge[" not in str(error):  # a broken installation, not a missing extra
            raise
        fail(str(error))


def message_of(error: GroundjudgeError) -> str:
    """Write an error's message, replacing the parameter that it is about with the option."""
    if isinstance(error, ModelError) and error.code != "budget":
        return error.message  # its subject is a model, whose name the provider may quote
    return in_options(error.message, error.subject)


def in_options(message: str, parameter: str = "empty_response") -> str:
    """Replace a parameter in a message with its option: --max-calls for `max_calls`.

    The default is the parameter that the messages of rows can name, because they are stored without a
    subject. These messages also name inputs that can be blank (-O may_be_empty=context for
    may_be_empty=["context"]) and the paths of fields, which every command that reads cases takes.
    """
    # A row's error is stored as worded for Python, but commands show it too.
    message = BLANK_INPUTS.sub(_blank_input_options, message)
    message = message.replace("`fields`", "--fields")
    flag = f"--{parameter.replace('_', '-')}"
    if parameter in judging_options():
        flag = f"-O {parameter}"
    return message.replace(f"`{parameter}`", flag)


def _blank_input_options(argument: re.Match[str]) -> str:
    """Write the option for the inputs that an argument names."""
    names = re.findall(r'"([^"]+)"', argument[0])
    return f"-O may_be_empty={','.join(names)}"


def fail(message: str, status: int = NO_RESULT) -> NoReturn:
    """Print one line to stderr and exit.

    Raises:
        typer.Exit: always.
    """
    # A message may quote several lines of text, and scripts expect one.
    note(" ".join(message.split()))
    raise typer.Exit(status)
