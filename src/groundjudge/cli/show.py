"""`groundjudge show`: what a judge sends to a model for a case."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from groundjudge.case.case import Case
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.options import FieldPaths, FormatChoice, judge_names
from groundjudge.cli.screen import fail, printable, report_errors
from groundjudge.errors import CaseError
from groundjudge.rubric.rubric import load_rubric
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


def show(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A judge's name or a prompt file.", autocompletion=judge_names),
    ],
    *,
    cases: Annotated[
        str | None, typer.Option(metavar="FILE", help="Take the case from this file of cases.")
    ] = None,
    case: Annotated[
        str | None, typer.Option(metavar="ID", help="The case's id in that file. Default: the first case.")
    ] = None,
    file_format: FormatChoice = None,
    paths: FieldPaths = None,
) -> None:
    """Print what a judge sends to a model for a case, and the scale on which it answers.

    The case is a built-in example, or one from a file.
    """
    with report_errors():
        if case is not None and cases is None:
            fail("--case needs --cases FILE, the file that holds the case")
        if cases is None and (file_format or paths):
            fail("--format and --fields need --cases FILE, the file that they are about")
        rubric = load_rubric(name)
        fields = fields_of(paths, [rubric])
        shown = EXAMPLE if cases is None else _case_in(cases, case, read_rows(cases, file_format, fields))
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
