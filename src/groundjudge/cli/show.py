"""What there is to try: `groundjudge judges`, `groundjudge show` and `groundjudge examples`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from groundjudge.case.case import Case
from groundjudge.cli.options import RowOptions, argument, judge_names, option
from groundjudge.cli.screen import fail, open_console, print_text, printable, report_errors
from groundjudge.errors import CaseError
from groundjudge.rubric.rubric import Rubric, load_rubric, names
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.run import case_of, id_of

EXAMPLE = Case(
    query="When will I get my refund?",
    response="Your refund arrives within five business days.",
    context=[
        {"title": "Refund policy", "content": "Refunds arrive within five business days of the return."},
        {"title": "Tool Result: get_return", "content": {"return": 1042, "received": "2024-05-06"}},
    ],
    reference="Refunds arrive within five business days of the day on which the return is received.",
    conversation=[
        {"role": "user", "content": "Good evening! Who am I talking to?"},
        {"role": "assistant", "content": "Ada, at the desk of the Harbour Hotel."},
    ],
    profile="Ada has worked at the desk of the Harbour Hotel for six years. She knows every tram line.",
    agent_name="Ada",
    answers=["Five business days at most.", "Within five business days of the return."],
    id="example",
)
"""A case with every field, so that any built-in judge can be shown."""

CASES = Path(__file__).with_name("cases.jsonl")


def judges(
    name: list[str] | None = argument(
        "Judges' names or prompt files. Default: all built-in judges.",
        default=None,
        metavar="NAME",
        autocompletion=judge_names,
    ),
) -> None:
    """List judges with their scales and inputs."""
    with report_errors():
        rubrics = [load_rubric(each) for each in name or names()]
    console = open_console()
    for rubric in rubrics:
        print_text(console, rubric.name, style="bold")
        for line in (f"scale: {rubric.scale}", f"inputs: {_inputs(rubric)}", rubric.prompt.description):
            print_text(console, line, margin=2)


def examples() -> None:
    """Print 40 labelled cases for `groundjudge run`, as JSON Lines."""
    typer.echo(CASES.read_bytes(), nl=False)


def show(
    name: str = argument("A judge's name or a prompt file.", metavar="NAME", autocompletion=judge_names),
    *,
    cases: str | None = option("Take the case from this file of cases.", metavar="FILE"),
    case: str | None = option("The case's id in that file. Default: the first case.", metavar="ID"),
    row_options: RowOptions,
) -> None:
    """Print what a judge sends to a model for a case, and the scale on which it answers.

    The case is a built-in example, or one from a file.
    """
    with report_errors():
        if case is not None and cases is None:
            fail("--case needs --cases FILE, the file that holds the case")
        if cases is None and row_options != RowOptions():
            fail("--format and --fields need --cases FILE, the file that they are about")
        rubric = load_rubric(name)
        fields = row_options.fields([rubric])
        rows = read_rows(cases or "", row_options.file_format, fields)
        shown = EXAMPLE if cases is None else _case_in(cases, case, rows)
        request = rubric.ask(shown)
    for message in request.messages:
        content = message["content"]
        typer.echo(f"{message['role']}:\n{printable(content) if sys.stdout.isatty() else content}\n")
    typer.echo(f"scale: {rubric.scale}")
    typer.echo(f"parameters: {json.dumps(dict(request.parameters), ensure_ascii=False)}")


def _case_in(path: str, case_id: str | None, rows: Iterable[FileRow]) -> Case:
    """The case with that id among the rows of a file, or the first."""
    readable = ((number, row) for number, row in enumerate(rows, 1) if not isinstance(row, CaseError))
    found = next(((number, row) for number, row in readable if case_id in {None, id_of(row, number)}), None)
    if found is None:
        fail(f"{path} has no case" if case_id is None else f"{path} has no case with the id {case_id!r}")
    number, row = found
    return case_of(row, number)


def _inputs(rubric: Rubric) -> str:
    notes = {(True, False): "", (True, True): " (may be empty)"}
    return ", ".join(
        each.name + notes.get((each.required, each.may_be_empty), " (optional)") for each in rubric.inputs
    )
