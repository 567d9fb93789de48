"""`groundjudge judges`: the built-in judges."""

from __future__ import annotations

from groundjudge.cli.screen import open_console, print_text, report_errors
from groundjudge.rubric import Rubric, load_rubric, names


def judges() -> None:
    """List the built-in judges with their scales and inputs."""
    with report_errors():
        rubrics = [load_rubric(name) for name in names()]
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
