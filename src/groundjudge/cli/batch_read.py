"""`groundjudge batch read`: verdicts from the results of a batch file."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Annotated

import typer

from groundjudge.batches.answers import answers_in, keep_lines, read_line, usage_in
from groundjudge.batches.collect import Collected, verdicts_in
from groundjudge.batches.state import State
from groundjudge.cli.mapping import where_of
from groundjudge.cli.options import (
    JudgeSelection,
    OutputOptions,
    PriceOptions,
    RowOptions,
)
from groundjudge.cli.outputs import check_cases, check_outputs, previous_verdicts, refuse_table
from groundjudge.cli.run_summary import exit_after_run, show_run
from groundjudge.cli.screen import open_console, print_text, report_errors
from groundjudge.cli.submitted import batch_judges, result_lines, show_batch_usage
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
    selection: JudgeSelection,
    row_options: RowOptions,
    out: Annotated[
        str,
        typer.Option(metavar="PATH", help='Write verdicts here, one JSON object per line; "-" is stdout.'),
    ] = STDIO,
    output: OutputOptions,
    pricing: PriceOptions,
) -> None:
    """Make verdicts of the results of a batch file, and summarise.

    Judges, model and options must be those of `groundjudge batch write`. A request without a result gives an
    error (`unanswered`), and so do requests that failed and replies that cannot be read. To ask for these
    again, write a second file with `batch write --answered`, and read both files of results.

    Exit status: as for `groundjudge run`.
    """
    with report_errors():
        prices = pricing.prices
        inputs = [("the file of cases", cases), *selection.prompt_files]
        refuse_table(out)
        check_outputs([("--out", out)], [*inputs, *(("a file of results", path) for path in results)])
        judges = batch_judges(selection)
        check_cases(cases)
        where = where_of(row_options.paths, [rubric for each in judges for rubric in each.rubrics])
        rows = Rows(cases, frozenset(), row_options.file_format, where)
        with closing(State("")) as state:
            n_unreadable = keep_lines(state, result_lines(results))
            collected = Collected()
            with previous_verdicts(out, judges, output) as previous:
                outcome = Outcome(Tally(each.name for each in judges), rows.kept_ids, previous)
                judging = partial(
                    verdicts_in, answers_in(state, read_line), judges, collected=collected, previous=previous
                )
                write_verdicts(judging(rows), out, outcome)
            console = open_console(to_stderr=out == STDIO)
            show_run(console, judges, rows, outcome)
            show_batch_usage(console, usage_in(state, read_line), prices)
        if n_unreadable:
            print_text(console, f"lines that are not results: {n_unreadable:,}")
        if collected.n_unanswered:
            print_text(console, f"requests without a result: {collected.n_unanswered:,}")
        exit_after_run(rows, outcome, None, is_complete=not n_unreadable)
