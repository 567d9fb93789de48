"""The command line: one file per command, put together here."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from groundjudge.cli.agree import agree
from groundjudge.cli.batch import batch
from groundjudge.cli.calibrate import calibrate
from groundjudge.cli.compare import compare
from groundjudge.cli.estimate import estimate
from groundjudge.cli.label import label, rate
from groundjudge.cli.probe import probe
from groundjudge.cli.report import report
from groundjudge.cli.run import run
from groundjudge.cli.screen import note, say
from groundjudge.cli.show import examples, judges, show
from groundjudge.text.printable import printable
from groundjudge.verdict import __version__

GROUPS: Mapping[str, Sequence[str]] = {
    "Judge": ("examples", "run", "report", "judges", "show"),
    "Measure": ("agree", "calibrate", "compare", "label", "rate", "probe"),
    "At scale": ("estimate", "batch"),
}
"""The commands as `groundjudge --help` lists them: those of a first day first."""

MAX_HELP = 200
"""Characters of a command's first sentence; longer ones would be cut."""

PARAMETER_EXAMPLES: Mapping[str, str] = {
    "--temperature": "temperature=0",
    "--top-p": "top_p=0.9",
    "--top-k": "top_k=20",
    "--min-p": "min_p=0.1",
    "--seed": "seed=1",
    "--max-completion-tokens": "max_completion_tokens=2000",
    "--reasoning-effort": "reasoning_effort=low",
    "--frequency-penalty": "frequency_penalty=0",
    "--presence-penalty": "presence_penalty=0",
}
"""Parameters of requests that other command lines have as options, each as a value of --parameter."""

WIDEST_HELP = 100
"""Columns that help uses of a wide terminal."""


class Commands(TyperGroup):
    """The commands. Typer quotes wrong arguments in its errors, which must not steer the terminal either."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  as Typer has it
        """List the commands in groups, each with the whole first sentence of its help."""
        for title, names in GROUPS.items():
            rows: list[tuple[str, str]] = []
            for name in names:
                rows.append((name, self.commands[name].get_short_help_str(MAX_HELP)))
            with formatter.section(title):
                formatter.write_dl(rows)

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
        _name_parameter(error)
        message = getattr(error, "message", None)
        if isinstance(message, str):
            vars(error)["message"] = printable(message)
        raise


def _name_parameter(error: Exception) -> None:
    """Let an error about an unknown option say how that is written, if it is a parameter of requests."""
    option = str(getattr(error, "option_name", "")).replace("_", "-")
    command: Any = getattr(getattr(error, "ctx", None), "command", None)
    if option not in PARAMETER_EXAMPLES or command is None:
        return
    if any("--parameter" in parameter.opts for parameter in command.params):
        example = f"write --parameter {PARAMETER_EXAMPLES[option]}"
        message = str(getattr(error, "message", ""))
        vars(error)["message"] = f"{message}. It is a parameter of the requests: {example}"
        vars(error)["possibilities"] = None  # options whose names are spelt alike, such as --structured


app = typer.Typer(
    name="groundjudge",
    cls=Commands,
    help="LLM judges of grounding and hallucination.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST_HELP},
    pretty_exceptions_enable=False,  # a fault of ours shows the usual traceback, without the values of locals
    rich_markup_mode=None,  # plain help: quick, and whole on any terminal
)
app.command()(run)
app.command()(judges)
app.command()(show)
app.command()(examples)
app.command()(estimate)
app.command()(agree)
app.command()(calibrate)
app.command()(compare)
app.command()(label)
app.command()(rate)
app.command()(probe)
app.command()(report)
app.add_typer(batch)


def _note_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning, such as one about a prompt file, as a line, without the code that gave it."""
    note(str(message))


def _show_version(is_asked_for: bool) -> None:  # noqa: FBT001  how the option calls it
    if is_asked_for:
        say(f"groundjudge {__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[  # noqa: ARG001  its callback does it
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """LLM judges of grounding and hallucination."""
    warnings.showwarning = _note_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
