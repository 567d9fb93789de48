"""`groundjudge judges`: the built-in judges."""

from __future__ import annotations

from typing import NoReturn

from groundjudge.cli.screen import open_console, print_text, report_errors
from groundjudge.judge import Judge, load, names


def judges() -> None:
    """List the built-in judges with their scales and inputs."""
    with report_errors():
        listed = [load(name, model=_no_model) for name in names()]
    console = open_console()
    for one in listed:
        print_text(console, one.name, style="bold")
        print_text(console, f"scale: {one.scale}", margin=2)
        print_text(console, f"inputs: {_inputs(one)}", margin=2)
        print_text(console, one.prompt.description, margin=2)


def _inputs(judge: Judge) -> str:
    notes = {(True, False): "", (True, True): " (may be empty)"}
    inputs = judge.prompt.inputs
    return ", ".join(
        each.name + notes.get((each.required, each.may_be_empty), " (optional)") for each in inputs
    )


def _no_model(_: object) -> NoReturn:
    """The model of judges that never ask."""
    raise NotImplementedError
