"""The screen: how commands print, and how they fail."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from textwrap import indent
from typing import TYPE_CHECKING, NoReturn

import typer

from groundjudge.errors import GroundjudgeError
from groundjudge.text.printable import printable

if TYPE_CHECKING:  # `--help` waits for none of the statistics libraries
    from groundjudge.lab.figures import Figure
    from groundjudge.lab.proportions import Rate

INCOMPLETE = 1
"""Exit status: there is a result, but rows or lines are missing from it."""

NO_RESULT = 2
"""Exit status: there is no result."""

PIPED_WIDTH = 200
"""Columns to write where there is no terminal to measure."""

USUAL_WIDTH = 80
"""Columns of a terminal into which tables should fit."""


class Screen:
    """What a command prints to: text is printed as it is, and in wide lines where no terminal limits them.

    Args:
        to_stderr: print to stderr, because the results go to stdout.

    Attributes:
        console: what draws.
    """

    def __init__(self, *, to_stderr: bool = False) -> None:
        from rich.console import Console  # noqa: PLC0415  `--help` does not wait for rich

        stream = sys.stderr if to_stderr else sys.stdout
        width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
        self.console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)

    def text(self, *lines: str, heading: str = "") -> None:
        """Print lines of text: wrapped on a terminal, each in one piece elsewhere.

        Args:
            lines: the blanks with which a line begins are its margin.
            heading: a line before them, in bold; "" for none.
        """
        from rich.padding import Padding  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        styled = [(heading, "bold")] if heading else []
        for line, style in [*styled, *((line, "") for line in lines)]:
            text = printable(line.lstrip(" "))
            margin = len(line) - len(line.lstrip(" "))
            if self.console.is_terminal:
                self.console.print(Padding(Text(text, style), (0, 0, 0, margin)))
            else:
                self.console.file.write(indent(text, " " * margin) + "\n")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows of names and figures; where they are too wide for the terminal, a line for each row.

        Args:
            columns: the headings, that of the names first.
            rows: the cells. They are never cut.
        """
        from rich.table import Table  # noqa: PLC0415

        console = self.console
        columns, *rows = ([_cell(each) for each in row] for row in (columns, *rows))
        gap = 2 if console.width > USUAL_WIDTH else 1
        table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False)
        for place, name in enumerate(columns):
            table.add_column(name, justify="right" if place else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        if console.measure(table, options=console.options.update_width(PIPED_WIDTH)).maximum <= console.width:
            console.print(table)
            return
        for name, *cells in rows:
            listed = (f"{column} {cell}" for column, cell in zip(columns[1:], cells, strict=True) if cell)
            self.text(f"{name}: {', '.join(listed)}")


def say(text: str) -> None:
    """Print a line to stdout, in one piece."""
    typer.echo(printable(text))


def note(message: str) -> None:
    """Print a line to stderr, on what happens meanwhile or went wrong."""
    typer.echo(f"groundjudge: {printable(message)}", err=True)


def _cell(text: str) -> str:
    """The text as a cell of a table, which is one line."""
    return printable(text).replace("\n", "\\n")


def as_notes(notes: Iterable[str]) -> list[str]:
    """The lines of notes."""
    return [f"note: {note}" for note in notes]


def with_interval(figure: Figure | Rate, *, signed: bool = False) -> str:
    """A figure with its interval in brackets."""
    if figure.value is None:
        return "undefined"
    interval = ""
    if figure.low is not None and figure.high is not None:
        low, high = _rounded(figure.low, ROUND_FLOOR), _rounded(figure.high, ROUND_CEILING)
        interval = f" [{low}, {high}]"
    return f"{_below_one(figure.value):{'+.3f' if signed else '.3f'}}{interval}"


def as_text(value: float | None) -> str:
    """A number with three decimals; "-" for None."""
    return "-" if value is None else f"{_below_one(value):.3f}"


def _rounded(end: float, rounding: str) -> Decimal:
    """An end of an interval with three decimals, outwards, so that it is never narrower than it is."""
    exact = Decimal(f"{end:.9f}")  # without the errors of binary fractions
    return exact.quantize(Decimal("0.001"), rounding) + 0  # + 0: no minus before a zero


def _below_one(value: float) -> float:
    """A number that does not become 1.000 if it is lower by more than rounding error."""
    return min(value, 0.999) if value < 1 - 1e-9 else value


@contextmanager
def report_errors() -> Generator[None, None, None]:
    """Report errors that the user can fix in one line, without a traceback."""
    try:
        yield
    except GroundjudgeError as error:
        fail(in_options(error.message, error.subject))
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has gone, as after `| head`
            raise
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ImportError as error:
        if "groundjudge[" not in str(error):  # a broken installation, not a missing extra
            raise
        fail(str(error))


def in_options(message: str, parameter: str = "empty_response") -> str:
    """A message about a parameter, with the option in its place: --max-calls for `max_calls`.

    Without a parameter it is the one that the messages of rows can name; they are kept without a subject.
    """
    return message.replace(f"`{parameter}`", f"--{parameter.replace('_', '-')}")


def refuse(*reasons: tuple[object, str]) -> None:
    """Exit with the first reason that applies.

    Args:
        reasons: whether each applies, and in words what is wrong and what to do about it.
    """
    for applies, reason in reasons:
        if applies:
            fail(reason)


def fail(message: str, status: int = NO_RESULT) -> NoReturn:
    """Print one line to stderr and exit.

    Raises:
        typer.Exit: always.
    """
    note(" ".join(message.split()))
    raise typer.Exit(status)
