"""`groundjudge batch read`: verdicts from the results of a batch file."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Annotated

import typer

from groundjudge.batches.answers import answers_in, keep_lines, read_line, usage_in
from groundjudge.batches.collect import Collected, verdicts_in
from groundjudge.batches.state import State
from groundjudge.cli.inputs import lines_of, prompt_files, refuse_to_overwrite
from groundjudge.cli.judging import JudgeSelection, rubric_options
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.options import (
    EmptyResponseChoice,
    FieldPaths,
    FormatChoice,
    JudgeNames,
    ModelNames,
    OverwriteFlag,
    PanelFlag,
    PriceIn,
    PriceOut,
    RepeatsCount,
    ResumeFlag,
    RuleChoice,
    StructuredChoice,
    WeightedFlag,
)
from groundjudge.cli.prices import prices_of
from groundjudge.cli.run_summary import show_run
from groundjudge.cli.screen import INCOMPLETE, fail, open_console, print_text, report_errors
from groundjudge.cli.submitted import batch_judges, show_batch_usage
from groundjudge.cli.verdict_output import (
    check_paths,
    fail_without_result,
    previous_verdicts,
    refuse_parquet,
    status_of,
)
from groundjudge.rubric.rubric import names
from groundjudge.runs.file_run import Rows, write_verdicts
from groundjudge.runs.outcome import Outcome
from groundjudge.runs.rows import STDIO
from groundjudge.runs.summary import Tally


def read(  # noqa: PLR0913  one per option
    results: Annotated[
        list[str], typer.Argument(metavar="RESULTS", help="Files of results, in OpenAI's form, in any order.")
    ],
    *,
    cases: Annotated[
        str, typer.Option(metavar="CASES", help="The file of cases that the requests were written from.")
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
    out: Annotated[
        str,
        typer.Option(metavar="PATH", help='Write verdicts here, one JSON object per line; "-" is stdout.'),
    ] = STDIO,
    resume: ResumeFlag = False,
    overwrite: OverwriteFlag = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
) -> None:
    """Make verdicts of the results of a batch file, and summarise.

    Judges, model and options must be those of `groundjudge batch write`. A request without a result gives an
    error (`unanswered`), and so do requests that failed and replies that cannot be read. To ask for these
    again, write a second file with `batch write --answered`, and read both files of results.

    Exit status: as for `groundjudge run`.
    """
    with report_errors():
        prices = prices_of(price_in, price_out)
        inputs = [("the file of cases", cases), *prompt_files(judge or names())]
        refuse_parquet(out)
        if out != STDIO:
            refuse_to_overwrite("--out", out, [*inputs, *(("a file of results", path) for path in results)])
        wanted = JudgeSelection(
            judge,
            model,
            panel,
            repeats,
            rule,
            options=rubric_options(weighted=weighted, structured=structured, empty_response=empty_response),
        )
        judges = batch_judges(wanted)
        check_paths(cases, out)
        fields = fields_of(paths, [rubric for each in judges for rubric in each.rubrics])
        rows = Rows(cases, frozenset(), file_format, fields)
        with closing(State("")) as state:
            n_unreadable = keep_lines(state, lines_of(results))
            collected = Collected()
            with previous_verdicts(out, judges, resume=resume, overwrite=overwrite) as previous:
                outcome = Outcome(Tally(each.name for each in judges), rows.kept_ids, previous)
                judging = partial(
                    verdicts_in, answers_in(state, read_line), judges, collected=collected, previous=previous
                )
                write_verdicts(judging(rows), out, outcome)
            console = open_console(to_stderr=out == STDIO)
            show_run(console, judges, rows, outcome)
            show_batch_usage(console, usage_in(state, read_line), prices)
        if n_unreadable:
            print_text(console, f"lines that are no results: {n_unreadable:,}")
        if collected.n_unanswered:
            print_text(console, f"requests without a result: {collected.n_unanswered:,}")
        fail_without_result(rows, outcome)
        if outcome.stopped:
            fail(f"stopped: {outcome.stopped}", status=INCOMPLETE)
        raise typer.Exit(status_of(outcome, 1.0) or (INCOMPLETE if n_unreadable else 0))
