"""`groundjudge batch write`: the requests of a run as a batch file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from groundjudge.batches.files import request_lines
from groundjudge.batches.lines import URL
from groundjudge.cli.inputs import prompt_files, refuse_to_overwrite
from groundjudge.cli.judging import Wanted, rubric_options
from groundjudge.cli.mapping import where_of
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
from groundjudge.rubric import names
from groundjudge.runs.file_run import Rows


def write(  # noqa: PLR0913  one per option
    cases: CasesFile,
    *,
    out: Annotated[str, typer.Option(metavar="PATH", help="Write the requests here, one per line.")],
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
        wanted = Wanted(
            judge,
            model,
            panel,
            repeats,
            options=rubric_options(weighted=weighted, structured=structured, empty_response=empty_response),
        )
        judges = batch_judges(wanted)
        where = where_of(paths, [rubric for each in judges for rubric in each.rubrics])
        results = [("a file of results", path) for path in answered or ()]
        refuse_to_overwrite(
            "--out", out, [("the file of cases", cases), *prompt_files(judge or names()), *results]
        )
        if Path(out).is_file() and Path(out).stat().st_size and not overwrite:
            fail(f"--out {out} already exists: choose another file, or replace it with --overwrite")
        rows = Rows(cases, frozenset(), file_format, where)
        n_requests = 0
        with Path(out).open("w", encoding="utf-8", newline="\n") as file:
            for line in request_lines(judges, rows, answered=_lines(answered or ()), url=url):
                n_requests += 1
                file.write(f"{line}\n")
    typer.echo(f"{n_requests:,} requests written to {out}, for {rows.n_read:,} rows", err=True)


def _lines(paths: Sequence[str]) -> Iterator[str]:
    """The lines of several files."""
    for path in paths:
        with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from lines
