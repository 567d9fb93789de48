"""`groundjudge batch submit`: send the requests of a run to a provider as batches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundjudge.batches.submit import LISTED_WITHIN, plan
from groundjudge.batches.submit import submit as create_batches
from groundjudge.cli.mapping import where_of
from groundjudge.cli.options import (
    CasesFile,
    JudgeSelection,
    ListedWithin,
    OutputOptions,
    RowOptions,
)
from groundjudge.cli.outputs import (
    check_cases,
    check_outputs,
    holds_something,
    previous_verdicts,
    refuse_table,
)
from groundjudge.cli.run_summary import fail_without_rows
from groundjudge.cli.screen import fail, report_errors
from groundjudge.cli.submitted import (
    Submitted,
    batch_judges,
    check_same_run,
    open_state,
    providers_of,
    refuse_stdin,
    settings_of,
    show_part,
    state_path,
)
from groundjudge.errors import CaseError
from groundjudge.runs.file_run import Rows
from groundjudge.runs.rows import STDIO


def submit(  # noqa: PLR0913  one per option
    cases: CasesFile,
    *,
    out: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="Where the verdicts will go; PATH.batch keeps the state of the run."
        ),
    ],
    selection: JudgeSelection,
    row_options: RowOptions,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the file --out: ask only for what is missing there.")
    ] = False,
    listed_within: ListedWithin = LISTED_WITHIN,
) -> None:
    """Send the requests of a run to the model's provider as batches; `batch collect` fetches the verdicts.

    A batch holds up to 50,000 requests or 200 MB; more become several batches. Equal requests are sent once.
    With --repeats and --panel, all votes are asked for at once.

    The command can be killed at any point and run again: it goes on where it stopped, and no request is sent
    twice. What it did is kept in the file PATH.batch.
    """
    with report_errors():
        refuse_stdin(cases)
        if out == STDIO:
            fail("--out must be a file: `groundjudge batch collect` continues it")
        refuse_table(out)
        check_outputs([("--out", out)], [("the file of cases", cases), *selection.prompt_files])
        check_cases(cases)
        judges = batch_judges(selection)
        where = where_of(row_options.paths, [rubric for each in judges for rubric in each.rubrics])
        providers = providers_of(judges)
        rows = Rows(cases, frozenset(), row_options.file_format, where)
        next((row for row in rows if not isinstance(row, CaseError)), None)
        fail_without_rows(rows)
        with open_state(out, is_new=True) as state:
            run = Submitted(state, out, judges, cases, row_options.file_format, where, providers)
            if state.settings:
                check_same_run(state, judges)
                if state.settings["cases"] != str(Path(cases).resolve()):
                    fail(f"{state_path(out)} belongs to {state.settings['cases']}: choose another --out")
                if (state.settings["where"], state.settings["format"]) != (where, row_options.file_format):
                    fail(f"{state_path(out)} belongs to another --map or --format: choose another --out")
                typer.echo(f"groundjudge: {state_path(out)} holds this run: continuing it", err=True)
            else:
                settings = settings_of(selection, judges, cases, row_options.file_format, where)
                if holds_something(out) and not resume:
                    fail(f"--out {out} already exists: continue it with --resume, or choose another file")
                with previous_verdicts(out, judges, OutputOptions(resume=resume)) as previous:
                    planned = plan(state, judges, run.rows, providers, previous=previous, settings=settings)
                typer.echo(
                    f"groundjudge: requests {planned.n_requests:,}, batches {planned.n_parts:,}, "
                    f"shared by equal rows {planned.n_shared:,}, "
                    f"verdicts without a request {planned.n_free:,}",
                    err=True,
                )
            create_batches(state, providers, listed_within=listed_within, show=show_part)
    typer.echo(f"groundjudge batch collect {out} --wait   # fetches the verdicts")
