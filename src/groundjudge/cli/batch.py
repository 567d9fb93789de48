"""`groundjudge batch`: judging in a provider's batches, and batch files."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from groundjudge.batches.answers import AnsweredModel, CollectedAnswers, verdicts_in
from groundjudge.batches.collect import answers_of, download
from groundjudge.batches.files import request_lines
from groundjudge.batches.lines import URL, read_result
from groundjudge.batches.state import PartOfRun, open_state
from groundjudge.batches.submit import LISTED_WITHIN, plan
from groundjudge.batches.submit import submit as create_batches
from groundjudge.cli import options
from groundjudge.cli.inputs import lines_of, prompt_files, refuse_to_overwrite
from groundjudge.cli.judging import JudgeSelection, rubric_options
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.prices import prices_of
from groundjudge.cli.progress import ProgressLine
from groundjudge.cli.run_summary import show_run
from groundjudge.cli.screen import INCOMPLETE, fail, open_console, print_text, printable, report_errors
from groundjudge.cli.submitted import Submitted, batch_judges, line_of, state_folder, submission, submitted
from groundjudge.cli.verdict_output import (
    check_paths,
    fail_if_stopped,
    fail_without_result,
    fail_without_rows,
    previous_verdicts,
    refuse_parquet,
    report_connection,
    status_of,
)
from groundjudge.errors import CaseError, ModelError
from groundjudge.judging.panel import AnyJudge, models_of, with_models
from groundjudge.models.pacing import TRANSIENT
from groundjudge.rubric.rubric import names
from groundjudge.runs.cost import BATCH_SHARE, Prices
from groundjudge.runs.file_run import CaseFile, write_verdicts
from groundjudge.runs.rows import STDIO, FileFormat, is_kept
from groundjudge.runs.run import run as run_judges
from groundjudge.runs.summary import Tally
from groundjudge.runs.totals import RunTotals
from groundjudge.verdict import Usage

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console

Finish: TypeAlias = Literal["online", "batch"]
"""How to ask again for what failed."""

batch = typer.Typer(
    name="batch",
    help="Judge in a provider's batches, at half price and within a day; or write and read batch files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@batch.command()
def submit(  # noqa: PLR0913  one per option
    cases: options.CasesFile,
    *,
    out: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="Where the verdicts will go; the folder PATH.batch keeps the state of the run.",
        ),
    ],
    judge: options.JudgeNames = None,
    file_format: options.FormatChoice = None,
    paths: options.FieldPaths = None,
    model: options.ModelNames = None,
    repeats: options.RepeatsCount = None,
    panel: options.PanelFlag = False,
    rule: options.RuleChoice = None,
    weighted: options.WeightedFlag = False,
    structured: options.StructuredChoice = None,
    empty_response: options.EmptyResponseChoice = "error",
    resume: options.ResumeFlag = False,
    listed_within: options.ListedWithin = LISTED_WITHIN,
) -> None:
    """Send the requests of a run to the model's provider as batches; `batch collect` fetches the verdicts.

    A batch holds up to 50,000 requests or 200 MB; more become several batches. Equal requests are sent once.
    With --repeats and --panel, all votes are asked for at once.

    The command can be killed at any point and run again: it goes on where it stopped, and no request is sent
    twice. What it did is kept in the folder PATH.batch.
    """
    with report_errors():
        if cases == STDIO or (Path(cases).exists() and not is_kept(cases)):
            fail(f"{cases}: a submitted run reads its cases several times: pass a file")
        if out == STDIO:
            fail("--out must be a file: `groundjudge batch collect` continues it")
        _check_out(out, cases, judge)
        rubric = rubric_options(weighted=weighted, structured=structured, empty_response=empty_response)
        selection = JudgeSelection(judge, model, panel, repeats, rule, options=rubric)
        rows = _rows(cases, file_format, paths, batch_judges(selection))
        next((row for row in rows if not isinstance(row, CaseError)), None)
        fail_without_rows(rows)
        with open_state(state_folder(out), is_new=True) as state:
            run = submission(state, selection, rows)
            if state.settings:
                typer.echo(f"groundjudge: {state.folder} holds this run: continuing it", err=True)
            else:
                if Path(out).is_file() and Path(out).stat().st_size and not resume:
                    fail(f"--out {out} already exists: continue it with --resume, or choose another file")
                with previous_verdicts(out, run.judges, resume=resume, overwrite=False) as previous:
                    planned = plan(
                        state, run.judges, run.rows, run.providers, previous=previous, settings=run.settings
                    )
                typer.echo(
                    f"groundjudge: requests {planned.n_requests:,}, batches {len(planned.parts):,}, "
                    f"shared by equal rows {planned.n_shared:,}, "
                    f"verdicts without a request {planned.n_free:,}",
                    err=True,
                )
            create_batches(state, run.providers, listed_within=listed_within, show=_show_part)
    typer.echo(f"groundjudge batch collect {out} --wait   # fetches the verdicts")


@batch.command()
def status(out: options.SubmittedOut) -> None:
    """Ask the provider how far the batches of a run are. Nothing is changed.

    Exit status: 0 if all batches have ended, 1 if not, 2 if nothing was submitted.
    """
    with report_errors(), open_state(state_folder(out)) as state:
        run = submitted(state)
        for part in state.parts:
            found = part
            if part.step == "created":
                found = state.change(part, batch=run.providers[part.model].batch(part.batch.id))
            typer.echo(line_of(found))
        if not all(part.batch.id for part in state.parts):
            fail("not all batches were created: run `groundjudge batch submit` again", status=INCOMPLETE)
        raise typer.Exit(0 if all(part.batch.is_ended for part in state.parts) else INCOMPLETE)


@batch.command()
def collect(  # noqa: PLR0913  one per option
    out: options.SubmittedOut,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all batches have ended.")] = False,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.01, help="With --wait: how often to ask the provider.")
    ] = 30.0,
    finish: Annotated[
        Finish | None,
        typer.Option(
            help="Once all batches have ended, ask again for what failed, expired or cannot be read: online, "
            "as `groundjudge run` does, or in further batches."
        ),
    ] = None,
    concurrency: options.Concurrency = 16,
    deadline: options.Deadline = None,
    max_calls: options.MaxCalls = None,
    max_tokens: options.MaxTokens = None,
    price_in: options.PriceIn = None,
    price_out: options.PriceOut = None,
    listed_within: options.ListedWithin = LISTED_WITHIN,
) -> None:
    """Fetch the results of the batches of a run, append their verdicts to OUT, and summarise.

    The command can be run, killed and run again at any time: each verdict is written once, and errors are
    replaced when there is an answer. While batches are running, the verdicts that no answer can change any
    more are written. --concurrency, --deadline, --max-calls and --max-tokens are for --finish online.

    Costs are half of --price-in and --price-out for what was answered in a batch.

    Exit status: 0; 1 if batches are running, or a row has an error; 2 if nothing was submitted.
    """
    with report_errors(), open_state(state_folder(out)) as state:
        prices, run = prices_of(price_in, price_out), submitted(state)
        gather = partial(_gather, run, every=every if wait else None, listed_within=listed_within)
        has_all = gather()
        while has_all and finish == "batch" and _plan_again(run, out):
            has_all = gather()
        judges, rows = [*run.judges], run.rows
        with (
            closing(answers_of(state, run.providers)) as answers,
            previous_verdicts(out, judges, resume=True, overwrite=False) as previous,
        ):
            totals = RunTotals(Tally(judge.name for judge in judges), previous=previous)
            progress = ProgressLine(rows, totals, prices, out)
            if has_all and finish == "online":
                judges = with_models(judges, lambda model: AnsweredModel(model, answers))
                judged = run_judges(
                    judges,
                    rows,
                    concurrency=concurrency,
                    deadline=deadline,
                    max_calls=max_calls,
                    max_tokens=max_tokens,
                    previous=previous,
                    on_outage=progress.show_message,
                )
            else:
                judged = verdicts_in(answers, judges, rows, previous=previous, is_final=has_all)
            with report_connection():
                write_verdicts(judged, out, totals, progress.shown())
        console = open_console()
        show_run(console, judges, rows, totals)
        _show_usage(console, "in batches", answers.usage, prices and prices.times(BATCH_SHARE))
        online = (model.usage for model in models_of(judges) if isinstance(model, AnsweredModel))
        _show_usage(console, "online", sum(online, Usage()), prices)
        if not has_all:
            n_running = sum(part.step != "collected" for part in state.parts)
            message = f"{n_running} of {len(state.parts)} batches have not ended, and verdicts wait for them"
            fail(f"{message}: run the command again later, or with --wait", status=INCOMPLETE)
        fail_without_result(rows, totals)
        fail_if_stopped(totals, None)
        raise typer.Exit(status_of(totals, 1.0))


def _gather(run: Submitted, *, every: float | None, listed_within: float) -> bool:
    """Submit what a killed command left, and fetch what has ended; returns whether all batches have.

    Args:
        run: the run.
        every: seconds between two questions while batches are running; None: ask once.
        listed_within: as for `submit`.
    """
    shown = set[PartOfRun]()

    def show(part: PartOfRun) -> None:
        if part not in shown:
            _show_part(part)
        shown.add(part)

    while True:
        try:
            create_batches(run.state, run.providers, listed_within=listed_within, show=show)
            has_all = download(run.state, run.providers, show)
        except ModelError as error:
            if error.code not in TRANSIENT or every is None:
                raise
            has_all = False
            typer.echo(f"groundjudge: {printable(error.message)}: asking again", err=True)
        if has_all or every is None:
            return has_all
        time.sleep(every)


def _plan_again(run: Submitted, out: str) -> bool:
    """Plan batches of what must be asked again; returns whether there is anything."""
    with (
        closing(answers_of(run.state, run.providers)) as answers,
        previous_verdicts(out, run.judges, resume=True, overwrite=False) as previous,
    ):
        planned = plan(run.state, run.judges, run.rows, run.providers, answers=answers, previous=previous)
    return planned.n_requests > 0


@batch.command()
def cancel(out: options.SubmittedOut) -> None:
    """Ask the provider to stop the batches of a run that have not ended.

    What was answered by then is paid: `groundjudge batch collect` still makes verdicts of it, and
    `collect --finish online` asks for the rest.
    """
    with report_errors(), open_state(state_folder(out)) as state:
        run = submitted(state)
        for part in state.parts:
            if part.step == "created":
                provider = run.providers[part.model]
                found = provider.batch(part.batch.id)
                found = found if found.is_ended else provider.cancel(part.batch.id)
                typer.echo(line_of(state.change(part, batch=found)))


@batch.command()
def write(  # noqa: PLR0913  one per option
    cases: options.CasesFile,
    *,
    out: Annotated[
        str, typer.Option(metavar="PATH", help='Write the requests here, one per line; "-" is stdout.')
    ],
    judge: options.JudgeNames = None,
    file_format: options.FormatChoice = None,
    paths: options.FieldPaths = None,
    model: options.ModelNames = None,
    repeats: options.RepeatsCount = None,
    panel: options.PanelFlag = False,
    weighted: options.WeightedFlag = False,
    structured: options.StructuredChoice = None,
    empty_response: options.EmptyResponseChoice = "error",
    answered: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RESULTS",
            help="Results that are there already: write only what must be asked again; repeatable.",
        ),
    ] = None,
    url: Annotated[str, typer.Option(metavar="PATH", help="The `url` of every line.")] = URL,
    overwrite: options.OverwriteFlag = False,
) -> None:
    """Write the requests of a run as a batch file in OpenAI's form. Nothing is sent.

    OpenAI, Azure and others take such files, and so does `vllm run-batch -i requests.jsonl -o results.jsonl`.
    Equal requests are written once. With --repeats and --panel, all votes are asked for.

    `groundjudge batch read` makes verdicts of the results. For what failed or could not be read, write a
    second file with --answered results.jsonl.
    """
    with report_errors():
        rubric = rubric_options(weighted=weighted, structured=structured, empty_response=empty_response)
        judges = batch_judges(JudgeSelection(judge, model, panel, repeats, options=rubric))
        _check_out(out, cases, judge, answered or ())
        if out != STDIO and Path(out).is_file() and Path(out).stat().st_size and not overwrite:
            fail(f"--out {out} already exists: choose another file, or replace it with --overwrite")
        rows = _rows(cases, file_format, paths, judges)
        lines = request_lines(judges, rows, answered=lines_of(answered or ()), url=url)
        first = [*islice(lines, 1)]  # may raise, and must do so before an existing file is emptied
        fail_without_rows(rows)
        with nullcontext(sys.stdout.buffer) if out == STDIO else Path(out).open("wb") as file:
            n_requests = sum(file.write(f"{line}\n".encode()) > 0 for line in chain(first, lines))
    unreadable = f"; {rows.n_unreadable:,} rows could not be read" if rows.n_unreadable else ""
    place = "stdout" if out == STDIO else out
    typer.echo(f"{n_requests:,} requests written to {place}, for {rows.n_read:,} rows{unreadable}", err=True)


@batch.command()
def read(  # noqa: PLR0913  one per option
    results: Annotated[
        list[str], typer.Argument(metavar="RESULTS", help="Files of results, in OpenAI's form, in any order.")
    ],
    *,
    cases: Annotated[
        str, typer.Option(metavar="CASES", help="The file of cases that the requests were written from.")
    ],
    judge: options.JudgeNames = None,
    file_format: options.FormatChoice = None,
    paths: options.FieldPaths = None,
    model: options.ModelNames = None,
    repeats: options.RepeatsCount = None,
    panel: options.PanelFlag = False,
    rule: options.RuleChoice = None,
    weighted: options.WeightedFlag = False,
    structured: options.StructuredChoice = None,
    empty_response: options.EmptyResponseChoice = "error",
    out: Annotated[
        str,
        typer.Option(metavar="PATH", help='Write verdicts here, one JSON object per line; "-" is stdout.'),
    ] = STDIO,
    resume: options.ResumeFlag = False,
    overwrite: options.OverwriteFlag = False,
    price_in: options.PriceIn = None,
    price_out: options.PriceOut = None,
) -> None:
    """Make verdicts of the results of a batch file, and summarise.

    Judges, model and options must be those of `groundjudge batch write`. A request without a result gives an
    error (`unanswered`), and so do requests that failed and replies that cannot be read. To ask for these
    again, write a second file with `batch write --answered`, and read both files of results.

    Exit status: as for `groundjudge run`.
    """
    with report_errors():
        prices = prices_of(price_in, price_out)
        _check_out(out, cases, judge, results)
        rubric = rubric_options(weighted=weighted, structured=structured, empty_response=empty_response)
        judges = batch_judges(JudgeSelection(judge, model, panel, repeats, rule, options=rubric))
        rows = _rows(cases, file_format, paths, judges)
        with (
            closing(CollectedAnswers(read_result)) as answers,
            previous_verdicts(out, judges, resume=resume, overwrite=overwrite) as previous,
        ):
            answers.add(lines_of(results))
            totals = RunTotals(Tally(each.name for each in judges), rows.kept_ids, previous)
            judged = verdicts_in(answers, judges, rows, previous=previous)
            write_verdicts(judged, out, totals)
        console = open_console(to_stderr=out == STDIO)
        show_run(console, judges, rows, totals)
        _show_usage(console, "in batches", answers.usage, prices and prices.times(BATCH_SHARE))
        if answers.n_unreadable:
            print_text(console, f"lines that are not results: {answers.n_unreadable:,}")
        fail_without_result(rows, totals)
        fail_if_stopped(totals, None)
        raise typer.Exit(status_of(totals, 1.0) or (INCOMPLETE if answers.n_unreadable else 0))


def _check_out(out: str, cases: str, judge: Sequence[str] | None, results: Sequence[str] = ()) -> None:
    """Make sure that the cases can be read, and that --out can be written and is not an input."""
    refuse_parquet(out)
    inputs = [("the file of cases", cases), *prompt_files(judge or names())]
    if out != STDIO:
        refuse_to_overwrite("--out", out, [*inputs, *(("a file of results", path) for path in results)])
    check_paths(cases, out)


def _rows(
    cases: str, file_format: FileFormat | None, paths: Sequence[str] | None, judges: Sequence[AnyJudge]
) -> CaseFile:
    fields = fields_of(paths, [rubric for each in judges for rubric in each.rubrics])
    return CaseFile(cases, frozenset(), file_format, fields)


def _show_part(part: PartOfRun) -> None:
    """Print a line about a part to stderr."""
    typer.echo(f"groundjudge: {printable(line_of(part))}", err=True)


def _show_usage(console: Console, place: str, usage: Usage, prices: Prices | None) -> None:
    """Print the tokens that were used in batches or online, and their cost if there are prices."""
    if usage.total_tokens:
        cost = f", cost: {prices.of(usage):.4f}" if prices else ""
        tokens = f"{usage.prompt_tokens:,} prompt, {usage.completion_tokens:,} completion"
        print_text(console, f"tokens {place}: {tokens}{cost}")
