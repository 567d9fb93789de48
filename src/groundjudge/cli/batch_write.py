"""`groundjudge batch write`: the requests of a run as a batch file."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from groundjudge.batches.files import request_lines
from groundjudge.batches.lines import URL
from groundjudge.cli.inputs import lines_of, prompt_files, refuse_to_overwrite
from groundjudge.cli.judging import JudgeSelection, rubric_options
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.options import (
    CasesFile,
    EmptyResponseChoice,
    FieldPaths,
    FormatChoice,
    JudgeNames,
    ModelNames,
    OverwriteFlag,
    PanelFlag,
    RepeatsCount,
    StructuredChoice,
    WeightedFlag,
)
from groundjudge.cli.screen import fail, report_errors
from groundjudge.cli.submitted import batch_judges
from groundjudge.cli.verdict_output import check_folder, fail_without_rows, refuse_parquet
from groundjudge.rubric.rubric import names
from groundjudge.runs.file_run import Rows
from groundjudge.runs.rows import STDIO


def write(  # noqa: PLR0913  one per option
    cases: CasesFile,
    *,
    out: Annotated[
        str, typer.Option(metavar="PATH", help='Write the requests here, one per line; "-" is stdout.')
    ],
    judge: JudgeNames = None,
    file_format: FormatChoice = None,
    paths: FieldPaths = None,
    model: ModelNames = None,
    repeats: RepeatsCount = None,
    panel: PanelFlag = False,
    weighted: WeightedFlag = False,
    structured: StructuredChoice = None,
    empty_response: EmptyResponseChoice = "error",
    answered: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RESULTS",
            help="Results that are there already: write only what must be asked again; repeatable.",
        ),
    ] = None,
    url: Annotated[str, typer.Option(metavar="PATH", help="The `url` of every line.")] = URL,
    overwrite: OverwriteFlag = False,
) -> None:
    """Write the requests of a run as a batch file in OpenAI's form. Nothing is sent.

    OpenAI, Azure and others take such files, and so does `vllm run-batch -i requests.jsonl -o results.jsonl`.
    Equal requests are written once. With --repeats and --panel, all votes are asked for.

    `groundjudge batch read` makes verdicts of the results. For what failed or could not be read, write a
    second file with --answered results.jsonl.
    """
    with report_errors():
        wanted = JudgeSelection(
            judge,
            model,
            panel,
            repeats,
            options=rubric_options(weighted=weighted, structured=structured, empty_response=empty_response),
        )
        judges = batch_judges(wanted)
        fields = fields_of(paths, [rubric for each in judges for rubric in each.rubrics])
        results = [("a file of results", path) for path in answered or ()]
        inputs = [("the file of cases", cases), *prompt_files(judge or names()), *results]
        if out != STDIO:
            refuse_to_overwrite("--out", out, inputs)
        refuse_parquet(out)
        check_folder(out)
        if out != STDIO and Path(out).is_file() and Path(out).stat().st_size and not overwrite:
            fail(f"--out {out} already exists: choose another file, or replace it with --overwrite")
        rows = Rows(cases, frozenset(), file_format, fields)
        lines = request_lines(judges, rows, answered=lines_of(answered or ()), url=url)
        first = [*islice(lines, 1)]  # may raise, and must do so before an existing file is emptied
        fail_without_rows(rows)
        n_requests = 0
        with _opened(out) as file:
            for line in chain(first, lines):
                n_requests += 1
                file.write(f"{line}\n".encode())
    unreadable = f"; {rows.n_unreadable:,} rows could not be read" if rows.n_unreadable else ""
    where_to = "stdout" if out == STDIO else out
    typer.echo(
        f"{n_requests:,} requests written to {where_to}, for {rows.n_read:,} rows{unreadable}", err=True
    )


def _opened(out: str) -> AbstractContextManager[BinaryIO]:
    """The file of requests, emptied; or stdout."""
    return nullcontext(sys.stdout.buffer) if out == STDIO else Path(out).open("wb")
