"""The command line: every command by its name, imported when it is called."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from groundjudge.cli.options import as_command
from groundjudge.cli.screen import note, say
from groundjudge.prompt.front_matter import REQUEST_PARAMETERS
from groundjudge.text.printable import printable
from groundjudge.verdict import __version__

COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Judge": {
        "examples": ("cli.show", "Print 40 labelled cases for `groundjudge run`, as JSON Lines."),
        "run": ("cli.run", "Judge every case in a file and print a summary."),
        "report": ("report.command", "Write an HTML report of the verdicts and their reasons."),
        "judges": ("cli.show", "List judges with their scales and inputs."),
        "show": (
            "cli.show",
            "Print what a judge sends to a model for a case, and the scale on which it answers.",
        ),
    },
    "Measure": {
        "agree": ("lab.commands.agree", "Measure how far judges agree with people's labels."),
        "calibrate": ("lab.commands.calibrate", "Fit thresholds to people's labels, and test them."),
        "compare": ("lab.commands.compare", "Compare two judges, prompts or models, case by case."),
        "label": ("lab.commands.label", "Draw rows for people to label, and make the page on which they do."),
        "rate": ("lab.commands.rate", "Estimate how many answers people would call grounded."),
        "probe": ("lab.commands.probe", "Probe a judge: what it misses, what moves it, and what fools it."),
    },
    "At scale": {
        "estimate": ("cli.estimate", "Estimate the calls, tokens and cost of a run."),
        "batch": (
            "batches.commands",
            "Judge in a provider's batches, at half price and within a day; or write and read batch files.",
        ),
    },
}
"""The commands as `groundjudge --help` lists them: each with the module whose function has its name, and with
the first sentence of its help."""

RENAMED: Mapping[str, str] = {
    "--rule": "-O rule=median",
    "--stop": "-O stop=never",
    "--weighted": "-O weighted=true",
    "--unweighted": "-O weighted=false",
    "--structured": "-O structured=always",
    "--empty-response": "-O empty_response=worst",
    "--no-tool-titles": "-O tool_titles=false",
    "--may-be-empty": "-O may_be_empty=context",
    "--parameter": "-O parameters.temperature=0",
    "--until": "-O until=0.1,0.9",
    "--until-by": "-O by=probability",
    "--not-applicable-stands": "-O not_applicable_stands=true",
    "--price-in": "--price IN,OUT",
    "--price-out": "--price IN,OUT",
    "--price-cached": "--price IN,OUT,CACHED",
}
"""Options of earlier versions, each with what to write today."""

WIDEST_HELP = 100
"""Columns of a wide terminal that help uses."""


class Commands(TyperGroup):
    """The commands. Typer quotes wrong arguments in its errors, which must not steer the terminal either."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002  as Typer has it
        """Name the commands."""
        return [name for group in COMMANDS.values() for name in group]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002  as Typer has it
        """Import a command."""
        for group in COMMANDS.values():
            # Only the one that is called: importing all of them takes seconds.
            if cmd_name in group:
                module, _ = group[cmd_name]
                return import_command(cmd_name, module)
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  as Typer has it
        """List the commands in groups, without importing them."""
        for title, group in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in group.items()])

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
    """Escape the messages of Typer's exceptions, whose only public base class is Exception."""
    try:
        yield
    except Exception as error:
        _name_new_spelling(error)
        message = getattr(error, "message", None)
        if isinstance(message, str):
            vars(error)["message"] = printable(message)
        raise


def _name_new_spelling(error: Exception) -> None:
    """Make an error about an unknown option say how to write it today, or as a request parameter."""
    # Click's NoSuchOption has the name; some write "_" instead of "-".
    option = str(getattr(error, "option_name", "")).replace("_", "-")
    command: Any = getattr(getattr(error, "ctx", None), "command", None)
    if command is None or not option:
        return
    spelling = RENAMED.get(option, "")
    parameter = option.removeprefix("--").replace("-", "_")
    if parameter in REQUEST_PARAMETERS:
        spelling = f"-O parameters.{parameter}=VALUE"
    flag, _, _ = spelling.partition(" ")
    # Not every command has the flag: `agree` takes no -O.
    if any(flag in known.opts for known in command.params):
        vars(error)["message"] = f"{getattr(error, 'message', '')}. Write {spelling}"
        vars(error)["possibilities"] = None  # options whose names are spelt alike


@cache
def import_command(name: str, module: str) -> Any:  # noqa: ANN401  a command of Typer's, or a group
    """Import a command from the module that has it, and let Typer read its options."""
    function_or_group = getattr(import_module(f"groundjudge.{module}"), name)
    if isinstance(function_or_group, typer.Typer):  # `batch`, which has its own commands
        return typer.main.get_command(function_or_group)
    # Typer only makes commands from apps: an app with one command is that command.
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name)(as_command(function_or_group))
    return typer.main.get_command(single)


app = typer.Typer(
    name="groundjudge",
    cls=Commands,
    help="LLM judges for groundedness and hallucination.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST_HELP},
    pretty_exceptions_enable=False,  # our own bugs show the usual traceback, without the values of locals
    rich_markup_mode=None,  # plain help: fast, and complete on any terminal
)


def _note_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning, such as one about a prompt file, as one line, without the code that issued it."""
    note(str(message))


def _open_closed_streams() -> None:
    """Replace streams that the shell closed, as by `>&-`: or the next file would take their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  until the end


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
    """LLM judges for groundedness and hallucination."""
    warnings.showwarning = _note_warning
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # escape what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
