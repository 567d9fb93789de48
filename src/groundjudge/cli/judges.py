"""`groundjudge judges`: the built-in judges, or those that are named."""

from __future__ import annotations

from typing import Annotated

import typer

from groundjudge.cli.options import judge_names
from groundjudge.cli.screen import open_console, print_text, report_errors
from groundjudge.rubric.rubric import Rubric, load_rubric, names


def judges(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Judges' names or prompt files. Default: all built-in judges.",
            autocompletion=judge_names,
        ),
    ] = None,
) -> None:
    """List judges with their scales and inputs."""
    with report_errors():
        rubrics = [load_rubric(each) for each in name or names()]
    console = open_console()
    for rubric in rubrics:
        print_text(console, rubric.name, style="bold")
        print_text(console, f"scale: {rubric.scale}", margin=2)
        print_text(console, f"inputs: {_inputs(rubric)}", margin=2)
        print_text(console, rubric.prompt.description, margin=2)


def _inputs(rubric: Rubric) -> str:
    notes = {(True, False): "", (True, True): " (may be empty)"}
    return ", ".join(
        each.name + notes.get((each.required, each.may_be_empty), " (optional)") for each in rubric.inputs
    )
