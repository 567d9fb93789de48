"""`groundjudge batch submit`: send the requests of a run to a provider as batches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundjudge.batches.submit import LISTED_WITHIN, plan
from groundjudge.batches.submit import submit as create_batches
from groundjudge.cli.inputs import prompt_files, refuse_to_overwrite
from groundjudge.cli.judging import JudgeSelection, rubric_options
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.options import (
    CasesFile,
    EmptyResponseChoice,
    FieldPaths,
    FormatChoice,
    JudgeNames,
    ListedWithin,
    ModelNames,
    PanelFlag,
    RepeatsCount,
    ResumeFlag,
    RuleChoice,
    StructuredChoice,
    WeightedFlag,
)
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
from groundjudge.cli.verdict_output import check_paths, fail_without_rows, previous_verdicts, refuse_parquet
from groundjudge.errors import CaseError
from groundjudge.rubric.rubric import names
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
    judge: JudgeNames = None,
    file_format: FormatChoice = None,
    paths: FieldPaths = None,
    model: ModelNames = None,
    repeats: RepeatsCount = None,
    panel: PanelFlag = False,
    rule: RuleChoice = None,
    weighted: WeightedFlag = False,
    structured: StructuredChoice = None,
    empty_response: EmptyResponseChoice = "error",
    resume: ResumeFlag = False,
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
        refuse_parquet(out)
        refuse_to_overwrite("--out", out, [("the file of cases", cases), *prompt_files(judge or names())])
        check_paths(cases, out)
        wanted = JudgeSelection(
            judge,
            model,
            panel,
            repeats,
            rule,
            options=rubric_options(weighted=weighted, structured=structured, empty_response=empty_response),
        )
        judges = batch_judges(wanted)
        fields = fields_of(paths, [rubric for each in judges for rubric in each.rubrics])
        providers = providers_of(judges)
        rows = Rows(cases, frozenset(), file_format, fields)
        next((row for row in rows if not isinstance(row, CaseError)), None)
        fail_without_rows(rows)
        with open_state(out, is_new=True) as state:
            run = Submitted(state, out, judges, cases, file_format, fields, providers)
            if state.settings:
                check_same_run(state, judges)
                if state.settings["cases"] != str(Path(cases).resolve()):
                    fail(f"{state_path(out)} belongs to {state.settings['cases']}: choose another --out")
                if (state.settings["fields"], state.settings["format"]) != (fields, file_format):
                    fail(f"{state_path(out)} belongs to another --fields or --format: choose another --out")
                typer.echo(f"groundjudge: {state_path(out)} holds this run: continuing it", err=True)
            else:
                settings = settings_of(wanted, judges, cases, file_format, fields)
                if Path(out).is_file() and Path(out).stat().st_size and not resume:
                    fail(f"--out {out} already exists: continue it with --resume, or choose another file")
                with previous_verdicts(out, judges, resume=resume, overwrite=False) as previous:
                    planned = plan(state, judges, run.rows, providers, previous=previous, settings=settings)
                typer.echo(
                    f"groundjudge: requests {planned.n_requests:,}, batches {planned.n_parts:,}, "
                    f"shared by equal rows {planned.n_shared:,}, "
                    f"verdicts without a request {planned.n_free:,}",
                    err=True,
                )
            create_batches(state, providers, listed_within=listed_within, show=show_part)
    typer.echo(f"groundjudge batch collect {out} --wait   # fetches the verdicts")
