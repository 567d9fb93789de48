"""`groundjudge batch`: judging in a provider's batches, and batch files."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from groundjudge.batches.first import FirstRequests
from groundjudge.batches.lines import URL, CollectedAnswers, request_lines
from groundjudge.batches.provider import Batch
from groundjudge.batches.replay import AnsweredModel, verdicts_in
from groundjudge.batches.state import PartOfRun, open_state
from groundjudge.batches.submission import (
    Submission,
    load_submission,
    make_submission,
    part_line,
    state_folder,
)
from groundjudge.batches.submit import (
    LISTED_WITHIN,
    Plan,
    answers_of,
    create_batches,
    download,
    fetch_batch,
    plan_batches,
)
from groundjudge.cli import options
from groundjudge.cli.outputs import check_cases, check_files, hold_file, open_out, refuse_table
from groundjudge.cli.running import exit_after_run, fail_without_rows, judge_rows, show_run, usage_lines
from groundjudge.cli.screen import INCOMPLETE, Screen, fail, note, say
from groundjudge.cli.selection import JudgeSelection
from groundjudge.errors import CaseError, ModelError
from groundjudge.files import is_nonempty_file, replace_file
from groundjudge.judging.panel import AnyJudge, models_of, with_models
from groundjudge.models.pacing import TRANSIENT
from groundjudge.models.unsupported_parameters import declare_refusals
from groundjudge.runs.cost import BATCH_SHARE, Prices
from groundjudge.runs.rows import STDIO, CaseFile, can_read_again
from groundjudge.runs.run import Previous
from groundjudge.runs.run import run as run_judges
from groundjudge.runs.verdict_file import RunTotals
from groundjudge.text.printable import json_line
from groundjudge.verdict import Verdict

SubmittedOut = Annotated[
    str,
    typer.Argument(metavar="OUT", help="The file that you passed to `groundjudge batch submit` as --out."),
]
SubmitOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="PATH",
        help="Where to write the verdicts later; the folder PATH.batch stores the state of the run.",
    ),
]
MaxRequests = Annotated[
    int | None,
    typer.Option(
        "--max-requests",
        metavar="N",
        min=1,
        help="Maximum number of requests in a batch. If set, each batch is sent after the previous one ends.",
    ),
]
MaxTokensPerBatch = Annotated[
    int | None,
    typer.Option(
        "--max-tokens-per-batch",
        metavar="N",
        min=1,
        help="Maximum number of prompt tokens in a batch, estimated as by `groundjudge estimate`: for the "
        "provider's limit of enqueued tokens. Each batch is sent after the previous one ends.",
    ),
]
Refused = Annotated[
    str | None,
    typer.Option(
        "--refused",
        metavar="NAMES",
        help="Parameters that the model refuses, separated by commas: temperature,top_p,max_tokens. "
        "max_tokens is sent as max_completion_tokens and vice versa; others are left out. "
        '"none": it accepts all.',
    ),
]
ResumeSubmit = Annotated[
    bool,
    typer.Option("--resume", help="Continue the file --out: ask only for what is missing."),
]
ListedWithin = Annotated[
    float,
    typer.Option(
        "--listed-within",
        metavar="SECONDS",
        min=0.0,
        help="How long the provider may take to list a new batch. If creating a batch got no answer, "
        "it is looked up for this long before it is created again.",
    ),
]


def submit(
    cases: options.Cases,
    *,
    out: SubmitOut,
    selection: JudgeSelection,
    row_options: options.RowOptions,
    max_requests: MaxRequests = None,
    max_tokens_per_batch: MaxTokensPerBatch = None,
    refusals: Refused = None,
    resume: ResumeSubmit = False,
    listed_within: ListedWithin = LISTED_WITHIN,
) -> None:
    """Send the requests of a run to the model's provider as batches.

    `batch collect` fetches the verdicts.

    A batch holds as many requests as the provider allows; more become several batches. Equal requests are
    sent once.
    With --repeats and --panel, all votes are asked for at once.

    Without --refused, the first request is sent online: parameters that the model refuses are left out of the
    batches, and the reply is kept.

    You can kill the command at any point and run it again: it continues where it stopped, and no request is
    sent twice. Its progress is stored in the folder PATH.batch.
    """
    if out == STDIO:
        fail("--out must be a file: `groundjudge batch collect` continues it")
    judges, rows = _load_inputs(out, cases, selection, row_options)
    if not can_read_again(cases):
        fail(f"{cases}: a submitted run reads its cases several times: pass a file")
    if all(isinstance(row, CaseError) for row in rows):  # before there is a folder or a batch
        fail_without_rows(rows)
    refused_names = _read_names(refusals, judges)
    # The names are those of a plan, and of the limits in the state.
    limits: dict[str, int] = {}
    if max_requests:
        limits["max_requests"] = max_requests
    if max_tokens_per_batch:
        limits["max_tokens_per_batch"] = max_tokens_per_batch
    # The folder is made last, so that a refusal above leaves none behind.
    with open_state(state_folder(out), is_new=True) as state:
        run = make_submission(
            state, selection, row_options, judges, rows, limits=limits, refusals=refused_names
        )
        if state.settings:
            note(f"{state.folder} contains this run: continuing it")
            state.write(run.settings, state.parts)
        else:
            _plan_new_run(run, out, resume=resume)
        create_batches(run, listed_within, _show_part)
        n_unsent = sum(part.step == "planned" for part in state.parts)
    more = ""
    if n_unsent:
        more = f", and sends {n_unsent:,} more batches, each after the previous one ends"
    say(f"groundjudge batch collect {out} --wait   # fetches the verdicts{more}")


def _read_names(refusals: str | None, judges: Sequence[AnyJudge]) -> list[str] | None:
    """Read the value of --refused; None if it was not passed. Exit if no judge sends a parameter."""
    if refusals is None:
        return None
    names = [name.strip() for name in refusals.split(",")]
    if names == ["none"]:  # unlike omitting --refused, which leaves it to the first request to find out
        return []
    sent_names = {"response_format"}  # a repeated request can have it
    for judge in judges:
        for rubric in judge.rubrics:
            sent_names.update(rubric.parameters)
    for name in names:
        if name not in sent_names:
            fail(f"--refused {name}: no judge sends it: choose from {', '.join(sorted(sent_names))}, none")
    return names


def _plan_new_run(run: Submission, out: str, *, resume: bool) -> None:
    """Plan the batches of a run that has none yet, and say how many there are."""
    if is_nonempty_file(out) and not resume:
        fail(f"--out {out} already exists: continue it with --resume, or choose another file")
    planned = _plan_missing(run, out)
    counts = f"requests {planned.n_requests:,}, batches {len(planned.parts):,}"
    shared = f"duplicate rows {planned.n_shared:,}"
    online = f", asked online {planned.n_online:,}" if planned.n_online else ""
    note(f"{counts}, {shared}, verdicts without a request {planned.n_free:,}{online}")
    if not planned.n_requests and not planned.n_online:
        note(f"nothing is sent: `groundjudge batch collect {out}` says why")


def status(out: SubmittedOut) -> None:
    """Ask the provider for the progress of a run's batches. No batch is changed.

    Exit status: 0 if all batches have ended, 1 if not, 2 if nothing was submitted.
    """
    with open_state(state_folder(out)) as state:
        run = load_submission(state)
        for part in state.parts:
            if part.step == "created":
                batch = fetch_batch(part, run.providers[part.model])
                part = state.change(part, batch=batch)  # noqa: PLW2901  the same part
            say(part_line(part))
        has_ended = all(part.batch.is_ended for part in state.parts)
        raise typer.Exit(0 if has_ended else INCOMPLETE)


Wait = Annotated[bool, typer.Option("--wait", help="Wait until all batches have ended.")]
Every = Annotated[
    float,
    typer.Option("--every", metavar="SECONDS", min=0.01, help="With --wait: how often to ask the provider."),
]
FinishBy = Annotated[
    Literal["online", "batch"] | None,
    typer.Option(
        "--finish",
        help="Once all batches have ended, retry what failed, expired or could not be read: online, as "
        "`groundjudge run` does, or in further batches.",
    ),
]


def collect(
    out: SubmittedOut,
    *,
    wait: Wait = False,
    every: Every = 30.0,
    finish: FinishBy = None,
    limits: options.RunLimits,
    price: options.Price = None,
    listed_within: ListedWithin = LISTED_WITHIN,
) -> None:
    """Append the verdicts of a run's batches to OUT, and summarise.

    You can run, kill and rerun the command at any time: each verdict is written once, and an error is
    replaced when an answer arrives. While batches are running, only verdicts that no further answer can
    change are written. --concurrency, --deadline, --max-calls and --max-tokens are for --finish online.

    Answers from a batch cost half of --price.

    Exit status: 0; 1 if batches are running, or a row has an error; 2 if nothing was submitted.
    """
    with open_state(state_folder(out)) as state:
        prices = options.prices_of(price)
        run = load_submission(state)
        wait_between = every if wait else None
        has_all = _gather(run, wait_between=wait_between, listed_within=listed_within)
        # What fails in a further batch goes into yet another one, until nothing is left to ask.
        while has_all and finish == "batch":
            planned = _plan_missing(run, out).parts
            if not planned:
                break
            has_all = _gather(run, wait_between=wait_between, listed_within=listed_within)
            if all(part.batch.is_refused for part in state.parts if part.number in planned):
                break  # they would be refused again
        # While batches are running, this writes the verdicts that no further answer can change.
        online_limits = limits if has_all and finish == "online" else None
        totals = _write_answers(run, out, prices, limits=online_limits, has_all=has_all)
        if not has_all:
            n_running = sum(not part.is_settled for part in state.parts)
            message = f"unfinished batches: {n_running} of {len(state.parts)}; their verdicts are missing"
            fail(f"{message}: run the command again later, or with --wait", status=INCOMPLETE)
        exit_after_run(run.rows, totals, None)


def _write_answers(
    run: Submission, out: str, prices: Prices | None, *, limits: options.RunLimits | None, has_all: bool
) -> RunTotals:
    """Write the verdicts for the available answers, and show the totals.

    Args:
        run: the run.
        out: the file of verdicts, which is continued.
        prices: the prices of tokens that are requested online.
        limits: the limits on online requests; None: send none.
        has_all: whether all batches have ended.
    """
    judges = run.judges
    waiting: Counter[str] = Counter()
    with closing(answers_of(run.state)) as answers:
        if limits is not None:
            judges = with_models(judges, lambda model: AnsweredModel(model, answers))
            judged_by = partial(run_judges, judges, run.rows, **asdict(limits))
        else:
            judged_by = partial(_replay, answers, judges, run.rows)
            if not has_all:
                judged_by = partial(judged_by, waiting=waiting)
        output = options.OutputOptions(resume=True)
        totals = judge_rows(judged_by, judges, out, output, prices, count=run.rows.count)
        for judge_name, n_rows in waiting.items():
            totals.tally.add_waiting(judge_name, n_rows)
        _show_totals(Screen(), judges, run.rows, totals, answers, prices)
    return totals


def _gather(run: Submission, *, wait_between: float | None, listed_within: float) -> bool:
    """Submit what a killed command left over, and fetch ended batches; return whether all have ended.

    Args:
        run: the run.
        wait_between: seconds between two status requests while batches are running; None: ask once.
        listed_within: as for `submit`.
    """
    # Each step of a batch is shown once. A part is frozen and therefore hashable, which pyright does not see.
    show = cast("Callable[[PartOfRun], None]", cache(_show_part))
    while True:
        try:
            create_batches(run, listed_within, show)
            has_all = download(run, listed_within, show)
            # Batches that were waiting for another one to end can be sent now.
            create_batches(run, listed_within, show)
        except ModelError as error:
            if error.code not in TRANSIENT or wait_between is None:
                raise
            has_all = False
            note(f"{error.message}: asking again")
        if has_all or wait_between is None:
            return has_all
        time.sleep(wait_between)


def _plan_missing(run: Submission, out: str) -> Plan:
    """Plan batches of the requests that must be sent, or sent again, and store the plan.

    If nobody said which parameters the models refuse, the first request of each kind is sent online.
    """
    output = options.OutputOptions(resume=True)
    models = models_of(run.judges)
    first_requests: FirstRequests | None = None
    if run.settings["refused"] is None:
        first_requests = FirstRequests(run.state, models)
    else:
        for model in models:
            declare_refusals(model, run.settings["refused"])
    with closing(answers_of(run.state)) as answers, open_out(out, run.judges, output) as verdict_file:
        return plan_batches(run, answers, verdict_file.previous, first_requests)


def cancel(out: SubmittedOut) -> None:
    """Ask the provider to stop the batches of a run that have not ended.

    Requests answered by then are paid for: `groundjudge batch collect` still turns them into verdicts, and
    `collect --finish online` requests the rest.
    """
    with open_state(state_folder(out)) as state:
        run = load_submission(state)
        for part in state.parts:
            if part.step == "created":
                provider = run.providers[part.model]
                batch = fetch_batch(part, provider)
                if not batch.is_ended:  # providers refuse to cancel a batch that has ended
                    batch = provider.batch(part.batch.id, cancel=True)
                say(part_line(state.change(part, batch=batch)))
            elif part.step == "planned":
                message = "the batch was cancelled before it was sent"
                batch = Batch("", "cancelled", is_ended=True, message=message, is_refused=True)
                say(part_line(state.change(part, step="collected", batch=batch)))


RequestsOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="PATH",
        help='Write the requests here, one per line; "-" is stdout.',
    ),
]
AnsweredRequests = Annotated[
    list[str] | None,
    typer.Option(
        "--answered",
        metavar="RESULTS",
        help="Existing results: write only the requests that they don't answer; repeatable.",
    ),
]
LineUrl = Annotated[str, typer.Option("--url", metavar="PATH", help="The `url` of every line.")]


def write(
    cases: options.Cases,
    *,
    out: RequestsOut,
    selection: JudgeSelection,
    row_options: options.RowOptions,
    result_paths: AnsweredRequests = None,
    url: LineUrl = URL,
    refusals: Refused = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the requests of a run as a batch file in OpenAI's form. Nothing is sent.

    OpenAI, Azure and others take such files, and so does `vllm run-batch -i requests.jsonl -o results.jsonl`.
    Equal requests are written once. With --repeats and --panel, all votes are requested.

    `groundjudge batch read` turns the results into verdicts. To retry what failed or could not be read, write
    a second file with --answered results.jsonl.
    """
    result_files = result_paths or []
    judges, rows = _load_inputs(out, cases, selection, row_options, result_files)
    for judge_model in models_of(judges):
        declare_refusals(judge_model, _read_names(refusals, judges) or ())
    n_requests = 0
    data_file = None if out == STDIO else out
    with (
        hold_file("--out", data_file, overwrite=overwrite),
        replace_file(Path(data_file)) if data_file else nullcontext(sys.stdout.buffer) as file,
    ):
        for line in request_lines(judges, rows, answered=_result_lines(result_files), url=url):
            file.write(json_line(line, file))
            n_requests += 1
        fail_without_rows(rows)  # which leaves the file as it was
    place = "stdout" if out == STDIO else out
    unreadable = ""
    if rows.n_unreadable:
        unreadable = f"; {rows.n_unreadable:,} rows could not be read"
    note(f"{n_requests:,} requests written to {place}, for {rows.n_read:,} rows{unreadable}")


ResultFiles = Annotated[
    list[str],
    typer.Argument(metavar="RESULTS", help="Files of results, in OpenAI's form, in any order."),
]
WrittenCases = Annotated[
    str,
    typer.Option("--cases", metavar="CASES", help="The file of cases that the requests were written from."),
]
ReadOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="PATH",
        help='Write verdicts here, one JSON object per line; "-" is stdout.',
    ),
]


def read(
    results: ResultFiles,
    *,
    cases: WrittenCases,
    selection: JudgeSelection,
    row_options: options.RowOptions,
    out: ReadOut = STDIO,
    output: options.OutputOptions,
    price: options.Price = None,
) -> None:
    """Turn the results of a batch file into verdicts, and summarise.

    Use the same judges, model and options as for `groundjudge batch write`. A request without a result
    becomes an error (`unanswered`), as does a failed request or an unreadable reply. To retry these, write a
    second file with `batch write --answered`, and read both files of results.

    Exit status: as for `groundjudge run`.
    """
    prices = options.prices_of(price)
    judges, rows = _load_inputs(out, cases, selection, row_options, results)
    with closing(CollectedAnswers()) as answers:
        answers.add(_result_lines(results))
        judged_by = partial(_replay, answers, judges, rows)
        totals = judge_rows(judged_by, judges, out, output, prices, count=rows.count)
        _show_totals(Screen(to_stderr=out == STDIO), judges, rows, totals, answers, prices)
    exit_after_run(rows, totals, None, is_complete=not answers.n_unreadable)


def _replay(
    answers: CollectedAnswers,
    judges: Sequence[AnyJudge],
    rows: CaseFile,
    waiting: Counter[str] | None = None,
    *,
    previous: Previous | None,
    on_outage: object,  # noqa: ARG001  nothing is asked here
) -> Generator[Verdict, None, None]:
    """Make verdicts from the answers; `waiting` counts those that wait for an answer, by judge."""
    return verdicts_in(answers, judges, rows, previous=previous, waiting=waiting)


def _load_inputs(
    out: str,
    cases: str,
    selection: JudgeSelection,
    row_options: options.RowOptions,
    results: Sequence[str] = (),
) -> tuple[list[AnyJudge], CaseFile]:
    """Load the judges and the rows.

    Exit if the cases cannot be read, or if --out cannot be written or is an input.
    """
    refuse_table(out)
    result_files = [("a file of results", path) for path in results]
    check_files([("--out", out)], [("the file of cases", cases), *result_files, *selection.prompt_files])
    check_cases(cases)
    judges = selection.judges(in_batches=True)
    return judges, row_options.case_file(cases, judges)


def _result_lines(paths: Iterable[str]) -> Iterator[str]:
    """Read the lines of several files of results; only a line feed ends a line."""
    for path in paths:
        with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from lines


def _show_part(part: PartOfRun) -> None:
    """Print a line about a part to stderr."""
    note(part_line(part))


def _show_totals(  # noqa: PLR0917  what there is to show
    screen: Screen,
    judges: Sequence[AnyJudge],
    rows: CaseFile,
    totals: RunTotals,
    answers: CollectedAnswers,
    prices: Prices | None,
) -> None:
    """Print the totals, with the tokens used in batches and online and their costs."""
    show_run(screen, judges, rows, totals)
    # Batch answers cost half; online answers don't.
    batch_prices = prices.times(BATCH_SHARE) if prices else None
    if answers.usage.total_tokens:
        screen.text(*usage_lines(answers.usage, batch_prices, " in batches"))
    online_usage = answers.online_usage
    for model in models_of(judges):
        if isinstance(model, AnsweredModel):
            online_usage += model.usage
    if online_usage.total_tokens:
        screen.text(*usage_lines(online_usage, prices, " online"))
    if answers.n_unreadable:
        screen.text(f"lines that are not results: {answers.n_unreadable:,}")


batch = typer.Typer(
    name="batch",
    help="Judge in a provider's batches, at half price and within a day; or write and read batch files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
# In the order of `groundjudge batch --help`.
for command in (submit, status, collect, cancel, write, read):
    batch.command(command.__name__)(options.as_command(command))
