"""What you can try: `groundjudge judges`, `groundjudge show` and `groundjudge examples`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES
from groundjudge.cli import options
from groundjudge.cli.judging import judging_options
from groundjudge.cli.screen import Screen, fail, say
from groundjudge.errors import CaseError
from groundjudge.judging.judge import Judge
from groundjudge.models.lookup import as_model
from groundjudge.prompt.input import Input
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.rows import FileRow
from groundjudge.runs.run import case_of, id_of

CASES = Path(__file__).with_name("cases.jsonl")

RubricNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME",
        autocompletion=options.complete_judge,
        help="Judges' names or prompt files. Default: all built-in judges.",
    ),
]
RubricName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", autocompletion=options.complete_judge, help="A judge's name or a prompt file."
    ),
]
ShownCases = Annotated[
    str | None,
    typer.Option("--cases", metavar="FILE", help="Take the case from this file of cases."),
]
CaseId = Annotated[
    str | None,
    typer.Option("--case", metavar="ID", help="The case's id in that file. Default: the first case."),
]
ShownQuestions = Annotated[
    bool,
    typer.Option("--questions", help="Print what a decision model is sent: a state and questions."),
]

ListOptions = Annotated[
    bool,
    typer.Option("--options", help="Instead, list the judging options that -O takes."),
]


def judges(name: RubricNames = None, *, list_options: ListOptions = False) -> None:
    """List judges with their scales and inputs."""
    screen = Screen()
    if list_options:
        for option_name, option in judging_options().items():
            screen.text(f"  {option.help}", f"  default: {option.default}", heading=option_name)
        return
    rubrics = [load_rubric(rubric_name) for rubric_name in name or names()]
    for rubric in rubrics:
        inputs = ", ".join(_describe_input(prompt_input) for prompt_input in rubric.inputs)
        screen.text(
            f"  scale: {rubric.scale}",
            f"  inputs: {inputs}",
            f"  {rubric.prompt.description}",
            heading=rubric.name,
        )


def examples() -> None:
    """Print 40 labelled cases for `groundjudge run`, as JSON Lines."""
    # As bytes: Windows would write other line endings and its own encoding to `> cases.jsonl`.
    typer.echo(CASES.read_bytes(), nl=False)


def show(
    name: RubricName,
    *,
    cases: ShownCases = None,
    case: CaseId = None,
    row_options: options.RowOptions,
    questions: ShownQuestions = False,
) -> None:
    """Print what a judge sends to a model for a case, and the scale on which it answers.

    The case is made from those that `groundjudge examples` prints, or comes from a file.
    """
    if case and cases is None:
        fail("--case needs --cases FILE, the file that contains the case")
    options.refuse_without(cases, "--cases", options.flags_of(row_options))
    rubric = load_rubric(name)
    if cases is None:
        example = _example_case(rubric)
    else:
        example = _find_case(cases, case, row_options.read(cases, [rubric]))
    if questions:
        # A judge gives its rubric its model's way of asking. Nothing is sent, so any name will do.
        rubric = Judge(rubric, as_model("decisions:any")).rubric
    request = rubric.ask(example)
    if request.payload is not None:
        say(f"{request.payload}\n\nscale: {rubric.scale}")
        return
    for message in request.messages:
        say(f"{message['role']}:\n{message['content']}\n")
    say(f"scale: {rubric.scale}")
    say(f"parameters: {json.dumps(dict(request.parameters), ensure_ascii=False)}")


def _example_case(rubric: Rubric) -> Case:
    """Make a case with every field, from the judge's first example or, if that lacks it, from another one."""
    rows: list[dict[str, Any]] = []
    for line in CASES.read_text(encoding="utf-8").strip().split("\n"):
        rows.append(json.loads(line))
    # The sort keeps the order of the others.
    rows.sort(key=lambda row: rubric.name not in row["judges"])
    fields: dict[str, Any] = {}
    for row in rows:
        for field_name in ALIASES:
            if field_name in row:
                fields.setdefault(field_name, row[field_name])
    return Case.of(fields)


def _find_case(path: str, case_id: str | None, rows: Iterable[FileRow]) -> Case:
    """Find the case with that id, or the first one, among the rows of a file. Exit if there is none."""
    for number, row in enumerate(rows, 1):
        if isinstance(row, CaseError):  # another row's fault must not prevent showing this one
            continue
        if case_id is None or id_of(row, number) == case_id:
            return case_of(row, number)
    with_id = "" if case_id is None else f" with the id {case_id!r}"
    return fail(f"{path} has no case{with_id}")


def _describe_input(prompt_input: Input) -> str:
    """Write an input's name, and whether it must be given: "context (may be empty)"."""
    if not prompt_input.required:
        return f"{prompt_input.name} (optional)"
    if prompt_input.may_be_empty:
        return f"{prompt_input.name} (may be empty)"
    return prompt_input.name
