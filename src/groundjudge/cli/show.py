"""What there is to try: `groundjudge judges`, `groundjudge show` and `groundjudge examples`."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Iterable
from pathlib import Path

import typer

from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES
from groundjudge.cli.options import NAMED, RowOptions, argument, option, refuse_without
from groundjudge.cli.screen import Screen, fail, refuse, report_errors, say
from groundjudge.errors import CaseError
from groundjudge.rubric.rubric import Rubric, load_rubric, names
from groundjudge.runs.rows import FileRow
from groundjudge.runs.run import case_of, id_of

CASES = Path(__file__).with_name("cases.jsonl")


def judges(
    name: list[str] | None = argument(
        "Judges' names or prompt files. Default: all built-in judges.", default=None, **NAMED
    ),
) -> None:
    """List judges with their scales and inputs."""
    with report_errors():
        rubrics = [load_rubric(each) for each in name or names()]
    screen = Screen()
    for rubric in rubrics:
        about = f"scale: {rubric.scale}", f"inputs: {_inputs(rubric)}", rubric.prompt.description
        screen.text(*(f"  {line}" for line in about), heading=rubric.name)


def examples() -> None:
    """Print 40 labelled cases for `groundjudge run`, as JSON Lines."""
    typer.echo(CASES.read_bytes(), nl=False)


def show(
    name: str = argument("A judge's name or a prompt file.", **NAMED),
    *,
    cases: str | None = option("Take the case from this file of cases.", metavar="FILE"),
    case: str | None = option("The case's id in that file. Default: the first case.", metavar="ID"),
    row_options: RowOptions,
) -> None:
    """Print what a judge sends to a model for a case, and the scale on which it answers.

    The case is made of those that `groundjudge examples` prints, or it is one from a file.
    """
    with report_errors():
        refuse((case and cases is None, "--case needs --cases FILE, the file that holds the case"))
        refuse_without(cases, "--cases", row_options)
        rubric = load_rubric(name)
        rows = row_options.rows(cases or "", [rubric])
        shown = _example(rubric) if cases is None else _case_in(cases, case, rows)
        request = rubric.ask(shown)
    for message in request.messages:
        say(f"{message['role']}:\n{message['content']}\n")
    say(f"scale: {rubric.scale}")
    say(f"parameters: {json.dumps(dict(request.parameters), ensure_ascii=False)}")


def _example(rubric: Rubric) -> Case:
    """A case with every field: from the first example for the judge or, if that lacks it, from another."""
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").strip().split("\n")]
    found = ChainMap(*sorted(rows, key=lambda row: rubric.name not in row["judges"]))
    return Case.of({name: found[name] for name in ALIASES if name in found})


def _case_in(path: str, case_id: str | None, rows: Iterable[FileRow]) -> Case:
    """The case with that id among the rows of a file, or the first."""
    readable = ((number, row) for number, row in enumerate(rows, 1) if not isinstance(row, CaseError))
    found = next(((number, row) for number, row in readable if case_id in {None, id_of(row, number)}), None)
    if found is None:
        fail(f"{path} has no case" if case_id is None else f"{path} has no case with the id {case_id!r}")
    return case_of(found[1], found[0])


def _inputs(rubric: Rubric) -> str:
    notes = {(True, False): "", (True, True): " (may be empty)"}
    return ", ".join(
        each.name + notes.get((each.required, each.may_be_empty), " (optional)") for each in rubric.inputs
    )
