"""`groundjudge run`: judge every case of a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from groundjudge.cli.inputs import prompt_files, refuse_to_append, refuse_to_overwrite
from groundjudge.cli.judging import JudgeSelection, cached_model, judges_of, rubric_options
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.options import (
    CacheFile,
    CasesFile,
    Concurrency,
    Deadline,
    EmptyResponseChoice,
    FieldPaths,
    FormatChoice,
    JudgeNames,
    MaxCalls,
    MaxTokens,
    ModelNames,
    OverwriteFlag,
    PanelFlag,
    PriceIn,
    PriceOut,
    RepeatsCount,
    ResumeFlag,
    RuleChoice,
    StopChoice,
    StructuredChoice,
    WeightedFlag,
)
from groundjudge.cli.prices import prices_of
from groundjudge.cli.progress import ProgressLine
from groundjudge.cli.run_summary import show_run, show_usage
from groundjudge.cli.screen import fail, open_console, report_errors
from groundjudge.cli.verdict_details import show_case
from groundjudge.cli.verdict_output import (
    check_paths,
    fail_if_stopped,
    fail_without_result,
    lines_of,
    previous_verdicts,
    report_connection,
    status_of,
    write_table,
)
from groundjudge.rubric.rubric import names
from groundjudge.runs.file_run import Rows, judge_rows
from groundjudge.runs.outcome import Outcome
from groundjudge.runs.rows import STDIO
from groundjudge.runs.run import run as run_judges
from groundjudge.runs.summary import Tally


def run(  # noqa: PLR0913  one per option
    cases: CasesFile,
    *,
    judge: JudgeNames = None,
    file_format: FormatChoice = None,
    paths: FieldPaths = None,
    model: ModelNames = None,
    repeats: RepeatsCount = None,
    panel: PanelFlag = False,
    rule: RuleChoice = None,
    stop: StopChoice = None,
    weighted: WeightedFlag = False,
    structured: StructuredChoice = None,
    out: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help='Write verdicts here, one JSON object per line; "-" is stdout. A PATH that ends in .parquet '
            "is written at the end, from PATH.jsonl, which --resume continues.",
        ),
    ] = STDIO,
    concurrency: Concurrency = 16,
    min_coverage: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Exit with status 1 if any judge scored a smaller share of the rows it should score.",
        ),
    ] = 1.0,
    empty_response: EmptyResponseChoice = "error",
    full: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CASE_ID",
            help='Print this case\'s verdicts in full; repeatable. Rows without an id are "row 3".',
        ),
    ] = None,
    resume: ResumeFlag = False,
    overwrite: OverwriteFlag = False,
    deadline: Deadline = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    cache: CacheFile = None,
) -> None:
    """Judge every case of a file with every judge, and summarise.

    A row may name the judges that apply to it (`judges`). A row that lacks a judge's required input counts
    as missing, not as an error; a missing or blank response is an error, unless --empty-response says
    otherwise.

    With --repeats or --panel, a verdict comes from several votes. It passes if more than half of them pass,
    and a row without a majority is an error.

    Interrupted runs, and runs stopped by a quota or a budget, can be resumed with --resume.

    If the endpoint stops answering, the run waits for it, up to 5 minutes. If it never answered, the run
    stops.

    Exit status: 0; 1 if a judge's coverage is below --min-coverage, a row could not be read or the run was
    stopped; 2 if no row could be read, nothing could be judged or the arguments are wrong.
    """
    with report_errors():
        prices = prices_of(price_in, price_out)
        lines = lines_of(out, overwrite=overwrite)
        for each in {lines, out}:
            _check_outputs(cases, judge or names(), each, cache)
        options = rubric_options(weighted=weighted, structured=structured, empty_response=empty_response)
        wanted = JudgeSelection(judge, model, panel, repeats, rule, stop, options)
        judges = judges_of(wanted, partial(cached_model, cache=cache))
        check_paths(cases, out)
        fields = fields_of(paths, [rubric for judge in judges for rubric in judge.rubrics])
        rows = Rows(cases, frozenset(full or ()), file_format, fields)
        with previous_verdicts(lines, judges, resume=resume, overwrite=overwrite) as previous:
            outcome = Outcome(Tally(judge.name for judge in judges), rows.kept_ids, previous)
            progress = ProgressLine(rows, outcome, prices, out)
            judging = partial(
                run_judges,
                judges,
                concurrency=concurrency,
                deadline=deadline,
                max_calls=max_calls,
                max_tokens=max_tokens,
                previous=previous,
                on_outage=progress.show_message,
            )
            with report_connection():
                judge_rows(rows, judging, lines, outcome, progress.shown())
        write_table(out, lines)
        console = open_console(to_stderr=out == STDIO)
        show_run(console, judges, rows, outcome)
        show_usage(console, outcome, prices)
        for case_id in dict.fromkeys(full or ()):
            show_case(console, case_id, outcome.kept.get(case_id, []), rows.sources(case_id))
        fail_without_result(rows, outcome)
        fail_if_stopped(outcome, out)
        raise typer.Exit(status_of(outcome, min_coverage))


def _check_outputs(cases: str, judges: Sequence[str], out: str, cache: str | None) -> None:
    """Make sure that nothing that the command reads is overwritten."""
    inputs = [("the file of cases", cases), *prompt_files(judges)]
    if out == STDIO:
        refuse_to_append("the file of cases", cases)
    else:
        refuse_to_overwrite("--out", out, inputs)
    refuse_to_overwrite("--cache", cache, inputs)
    if cache is not None and out != STDIO:
        refuse_to_overwrite("--cache", cache, [("the file --out", out)])
        if Path(cache).resolve() == Path(out).resolve():  # neither may exist yet
            fail(f"--cache {cache} is the file --out: choose another file")
