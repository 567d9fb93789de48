"""The command line: one file per command, put together here."""

from __future__ import annotations

import csv
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from groundjudge.cli.batch import batch
from groundjudge.cli.estimate import estimate
from groundjudge.cli.label import label, rate
from groundjudge.cli.measure import agree, calibrate, compare
from groundjudge.cli.options import command_of
from groundjudge.cli.probe import probe
from groundjudge.cli.report import report
from groundjudge.cli.run import run
from groundjudge.cli.screen import say
from groundjudge.cli.show import examples, judges, show
from groundjudge.text.printable import printable
from groundjudge.verdict import __version__

COMMANDS = (run, judges, show, examples, estimate, agree, calibrate, compare, label, rate, probe, report)
"""In the order of `groundjudge --help`."""


class Commands(TyperGroup):
    """The commands. Typer quotes wrong arguments in its errors, which must not steer the terminal either."""

    def make_context(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401  as Typer has it
        """Read the arguments before the command."""
        with _printable_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  as Typer has it
        """Read the arguments of the command, and run it."""
        with _printable_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_errors() -> Generator[None]:
    """Escape the messages of Typer's exceptions, which have no public class in common but this."""
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):
            vars(error)["message"] = printable(message)
        raise


app = typer.Typer(
    name="groundjudge",
    cls=Commands,
    help="LLM judges of grounding and hallucination.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: quick, and whole on any terminal
)
for _command in COMMANDS:
    app.command()(command_of(_command))
app.add_typer(batch)


def _version(wanted: bool) -> None:  # noqa: FBT001  how the option calls it
    if wanted:
        say(f"groundjudge {__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[  # noqa: ARG001  its callback does it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """LLM judges of grounding and hallucination."""
    csv.field_size_limit(2**31 - 1)  # contexts are longer than the default limit of 128 KiB a cell
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
