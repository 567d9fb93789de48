"""`groundjudge batch`: judging in a provider's batches, and batch files."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast
from uuid import uuid4

import typer

from groundjudge.batches.lines import URL, CollectedAnswers, request_lines
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.replay import AnsweredModel, verdicts_in
from groundjudge.batches.state import PartOfRun, State, StateError, open_state
from groundjudge.batches.submit import LISTED_WITHIN, Plan, answers_of, download, fetch_batch, plan
from groundjudge.batches.submit import submit as create_batches
from groundjudge.cli import options
from groundjudge.cli.outputs import check_cases, check_files, held, opened, refuse_table
from groundjudge.cli.running import exit_after_run, fail_without_rows, judge_rows, show_run, usage_lines
from groundjudge.cli.screen import INCOMPLETE, Screen, fail, note, refuse, report_errors, say
from groundjudge.errors import CaseError, ModelError
from groundjudge.files import is_nonempty_file, replace_file
from groundjudge.judging.panel import AnyJudge, models_of, with_models
from groundjudge.models.pacing import TRANSIENT, OnOutage
from groundjudge.rubric.rubric import names
from groundjudge.runs.cost import BATCH_SHARE, Prices
from groundjudge.runs.rows import STDIO, CaseFile, can_read_again
from groundjudge.runs.run import Previous
from groundjudge.runs.run import run as run_judges
from groundjudge.runs.verdict_file import RunTotals
from groundjudge.text.printable import json_line
from groundjudge.verdict import Usage, Verdict

Finish: TypeAlias = Literal["online", "batch"]
"""How to ask again for what failed."""

DIFFERENCES = {
    "identities": "another judge, model or option, or a prompt file or groundjudge changed since",
    "endpoints": "at another endpoint: see OPENAI_BASE_URL",
    "cases": "another file of cases",
    "format": "another --format",
    "fields": "another --fields",
    "encoding": "another --encoding",
    "limit": "another --limit",
}
"""What tells two runs apart: the names of settings, each with what differs."""


NEVER_SENT = Batch(
    "", "cancelled", is_ended=True, message="the batch was cancelled before it was sent", is_refused=True
)
"""The batch of a part that is cancelled before it is sent."""

CONTINUE = options.OutputOptions(resume=True)

LISTED = options.option(
    "Time within which the provider lists a new batch. Before a batch is created again because no answer "
    "came, it is looked for that long.",
    default=LISTED_WITHIN,
    metavar="SECONDS",
    min=0.0,
)


@dataclass(frozen=True)
class LimitOptions:
    """The user's limits of batches; the names are those of a `Plan`."""

    max_requests: int | None = options.option(
        "Most requests in a batch. With a limit, the next batch is sent when one has ended.", min=1
    )
    max_tokens_per_batch: int | None = options.option(
        "Most tokens in the prompts of a batch, estimated as by `groundjudge estimate`: for the provider's "
        "limit of enqueued tokens. The next batch is sent when one has ended.",
        min=1,
    )


def submit(  # noqa: PLR0913  one per option
    cases: str = options.CASES,
    *,
    out: str = options.option(
        "Where the verdicts will go; the folder PATH.batch keeps the state of the run.",
        *options.OUT,
        default=...,
        metavar="PATH",
    ),
    selection: options.JudgeSelection,
    row_options: options.RowOptions,
    limits: LimitOptions,
    resume: bool = options.option("Continue the file --out: ask only for what is missing.", default=False),
    listed_within: float = LISTED,
) -> None:
    """Send the requests of a run to the model's provider as batches; `batch collect` fetches the verdicts.

    A batch holds up to 50,000 requests or 200 MB; more become several batches. Equal requests are sent once.
    With --repeats and --panel, all votes are asked for at once.

    The command can be killed at any point and run again: it goes on where it stopped, and no request is sent
    twice. What it did is kept in the folder PATH.batch.
    """
    with report_errors():
        refuse(
            (
                cases == STDIO or (Path(cases).exists() and not can_read_again(cases)),
                f"{cases}: a submitted run reads its cases several times: pass a file",
            ),
            (out == STDIO, "--out must be a file: `groundjudge batch collect` continues it"),
        )
        judges, rows = _opened(out, cases, selection, row_options)
        next((row for row in rows if not isinstance(row, CaseError)), None)
        fail_without_rows(rows)
        with open_state(state_folder(out), is_new=True) as state:
            given = {name: limit for name, limit in asdict(limits).items() if limit}
            run = submission(state, selection, judges, rows, given)
            if state.settings:
                note(f"{state.folder} holds this run: continuing it")
                state.write(run.settings, state.parts)
            else:
                choice = "continue it with --resume, or choose another file"
                refuse((is_nonempty_file(out) and not resume, f"--out {out} already exists: {choice}"))
                planned = _planned(run, out, resume=resume)
                counts = f"requests {planned.n_requests:,}, batches {len(planned.parts):,}"
                shared = f"shared by equal rows {planned.n_shared:,}"
                free = f"verdicts without a request {planned.n_free:,}"
                note(f"{counts}, {shared}, {free}")
                if planned.n_large:
                    large = f"requests above --max-tokens-per-batch, each a batch: {planned.n_large:,}"
                    note(f"{large}; the provider may refuse them")
            create_batches(state, run.providers, listed_within=listed_within, show=_show_part)
            n_left = sum(part.step == "planned" for part in state.parts)
    more = f", and sends {n_left:,} more batches, each when one has ended" if n_left else ""
    say(f"groundjudge batch collect {out} --wait   # fetches the verdicts{more}")


def status(out: str = options.SUBMITTED) -> None:
    """Ask the provider how far the batches of a run are. Nothing is changed.

    Exit status: 0 if all batches have ended, 1 if not, 2 if nothing was submitted.
    """
    with report_errors(), open_state(state_folder(out)) as state:
        run = submitted(state)
        for part in state.parts:
            found = part
            if part.step == "created":
                found = state.change(part, batch=fetch_batch(part, run.providers[part.model]))
            say(line_of(found))
        if any(part.step in {"planned", "creating"} for part in state.parts):
            fail("not all batches are sent: `groundjudge batch collect --wait` sends them", status=INCOMPLETE)
        raise typer.Exit(0 if all(part.batch.is_ended for part in state.parts) else INCOMPLETE)


def collect(  # noqa: PLR0913  one per option
    out: str = options.SUBMITTED,
    *,
    wait: bool = options.option("Wait until all batches have ended.", default=False),
    every: float = options.option(
        "With --wait: how often to ask the provider.", default=30.0, metavar="SECONDS", min=0.01
    ),
    finish: Finish | None = options.option(
        "Once all batches have ended, ask again for what failed, expired or cannot be read: online, as "
        "`groundjudge run` does, or in further batches."
    ),
    limits: options.RunLimits,
    pricing: options.PriceOptions,
    listed_within: float = LISTED,
) -> None:
    """Fetch the results of the batches of a run, append their verdicts to OUT, and summarise.

    The command can be run, killed and run again at any time: each verdict is written once, and errors are
    replaced when there is an answer. While batches are running, the verdicts that no answer can change any
    more are written. --concurrency, --deadline, --max-calls and --max-tokens are for --finish online.

    Costs are half of --price-in and --price-out for what was answered in a batch.

    Exit status: 0; 1 if batches are running, or a row has an error; 2 if nothing was submitted.
    """
    with report_errors(), open_state(state_folder(out)) as state:
        prices, run = pricing.prices, submitted(state)
        gather = partial(_gather, run, every=every if wait else None, listed_within=listed_within)
        has_all = gather()
        while has_all and finish == "batch" and (planned := _planned(run, out, resume=True).parts):
            has_all = gather()
            if all(part.batch.is_refused for part in state.parts if part.number in planned):
                break  # they would be refused again
        judges, waiting = run.judges, Counter[str]()
        with closing(answers_of(state)) as answers:
            if has_all and finish == "online":
                judges = with_models(judges, lambda model: AnsweredModel(model, answers))
                judged_by = partial(run_judges, judges, run.rows, **asdict(limits))
            else:
                judged_by = partial(
                    _replayed, answers, judges, run.rows, waiting=None if has_all else waiting
                )
            noting = _noting(answers, judged_by)
            totals = judge_rows(noting, judges, out, CONTINUE, prices, count=run.rows.count)
            for judge, n_rows in waiting.items():
                totals.tally.add_waiting(judge, n_rows)
            _show(Screen(), judges, run.rows, totals, answers, prices)
        n_running = sum(not part.is_settled for part in state.parts)
        message = f"batches that have not ended: {n_running} of {len(state.parts)}; verdicts wait for them"
        if not has_all:
            fail(f"{message}: run the command again later, or with --wait", status=INCOMPLETE)
        exit_after_run(run.rows, totals, None)


def _gather(run: Submitted, *, every: float | None, listed_within: float) -> bool:
    """Submit what a killed command left, and fetch what has ended; returns whether all batches have.

    Args:
        run: the run.
        every: seconds between two questions while batches are running; None: ask once.
        listed_within: as for `submit`.
    """
    # Each step of a batch is shown once. A part is frozen, and so has a hash, which pyright does not see.
    show = cast("Callable[[PartOfRun], None]", cache(_show_part))
    send = partial(create_batches, run.state, run.providers, listed_within=listed_within, show=show)
    while True:
        try:
            send()
            has_all = download(run.state, run.providers, show, listed_within=listed_within)
            send()  # what waited for the end of another batch
        except ModelError as error:
            if error.code not in TRANSIENT or every is None:
                raise
            has_all = False
            note(f"{error.message}: asking again")
        if has_all or every is None:
            return has_all
        time.sleep(every)


def _planned(run: Submitted, out: str, *, resume: bool) -> Plan:
    """Plan batches of what must be asked, or asked again."""
    with (
        closing(answers_of(run.state)) as answers,
        opened(out, run.judges, options.OutputOptions(resume=resume)) as written,
    ):
        return plan(
            *(run.state, run.judges, run.rows, run.providers),
            answers=answers,
            previous=written.previous,
            settings=run.settings,
        )


def cancel(out: str = options.SUBMITTED) -> None:
    """Ask the provider to stop the batches of a run that have not ended.

    What was answered by then is paid: `groundjudge batch collect` still makes verdicts of it, and
    `collect --finish online` asks for the rest.
    """
    with report_errors(), open_state(state_folder(out)) as state:
        run = submitted(state)
        for part in state.parts:
            if part.step == "created":
                provider = run.providers[part.model]
                found = fetch_batch(part, provider)
                found = found if found.is_ended else provider.batch(part.batch.id, cancel=True)
                say(line_of(state.change(part, batch=found)))
            elif part.step == "planned":
                say(line_of(state.change(part, step="collected", batch=NEVER_SENT)))


def write(  # noqa: PLR0913  one per option
    cases: str = options.CASES,
    *,
    out: str = options.option(
        'Write the requests here, one per line; "-" is stdout.', *options.OUT, default=..., metavar="PATH"
    ),
    selection: options.JudgeSelection,
    row_options: options.RowOptions,
    answered: list[str] | None = options.option(
        "Results that are there already: write only what must be asked again; repeatable.", metavar="RESULTS"
    ),
    url: str = options.option("The `url` of every line.", default=URL, metavar="PATH"),
    overwrite: bool = options.OVERWRITE,
) -> None:
    """Write the requests of a run as a batch file in OpenAI's form. Nothing is sent.

    OpenAI, Azure and others take such files, and so does `vllm run-batch -i requests.jsonl -o results.jsonl`.
    Equal requests are written once. With --repeats and --panel, all votes are asked for.

    `groundjudge batch read` makes verdicts of the results. For what failed or could not be read, write a
    second file with --answered results.jsonl.
    """
    with report_errors(), ExitStack() as until_written:
        judges, rows = _opened(out, cases, selection, row_options, answered or ())
        until_written.enter_context(held("--out", None if out == STDIO else out, overwrite=overwrite))
        lines = request_lines(judges, rows, answered=result_lines(answered or ()), url=url)
        first = [*islice(lines, 1)]
        fail_without_rows(rows)
        with nullcontext(sys.stdout.buffer) if out == STDIO else replace_file(Path(out)) as file:
            n_requests = sum(file.write(json_line(line, file)) > 0 for line in chain(first, lines))
    unreadable = f"; {rows.n_unreadable:,} rows could not be read" if rows.n_unreadable else ""
    place = "stdout" if out == STDIO else out
    note(f"{n_requests:,} requests written to {place}, for {rows.n_read:,} rows{unreadable}")


def read(  # noqa: PLR0913  one per option
    results: list[str] = options.argument(
        "Files of results, in OpenAI's form, in any order.", metavar="RESULTS"
    ),
    *,
    cases: str = options.option(
        "The file of cases that the requests were written from.", default=..., metavar="CASES"
    ),
    selection: options.JudgeSelection,
    row_options: options.RowOptions,
    out: str = options.option(
        'Write verdicts here, one JSON object per line; "-" is stdout.',
        *options.OUT,
        default=STDIO,
        metavar="PATH",
    ),
    output: options.OutputOptions,
    pricing: options.PriceOptions,
) -> None:
    """Make verdicts of the results of a batch file, and summarise.

    Judges, model and options must be those of `groundjudge batch write`. A request without a result gives an
    error (`unanswered`), and so do requests that failed and replies that cannot be read. To ask for these
    again, write a second file with `batch write --answered`, and read both files of results.

    Exit status: as for `groundjudge run`.
    """
    with report_errors():
        prices = pricing.prices
        judges, rows = _opened(out, cases, selection, row_options, results)
        with closing(CollectedAnswers()) as answers:
            answers.add(result_lines(results))
            judged_by = _noting(answers, partial(_replayed, answers, judges, rows))
            totals = judge_rows(judged_by, judges, out, output, prices, count=rows.count)
            _show(Screen(to_stderr=out == STDIO), judges, rows, totals, answers, prices)
        exit_after_run(rows, totals, None, is_complete=not answers.n_unreadable)


def _replayed(  # noqa: PLR0913  as `judge_rows` calls it
    answers: CollectedAnswers,
    judges: Sequence[AnyJudge],
    rows: CaseFile,
    *,
    previous: Previous | None,
    on_outage: object,  # noqa: ARG001  nothing is asked here
    waiting: Counter[str] | None = None,
) -> Generator[Verdict, None, None]:
    """The verdicts that the answers give; with `waiting`, those that wait are counted there, by judge."""
    if waiting is None:
        return verdicts_in(answers, judges, rows, previous=previous)
    return verdicts_in(
        answers,
        judges,
        rows,
        previous=previous,
        is_final=False,
        on_waiting=lambda judge: waiting.update([judge]),
    )


def _noting(
    answers: CollectedAnswers, judged_by: Callable[..., Generator[Verdict, None, None]]
) -> Callable[..., Generator[Verdict, None, None]]:
    """`judged_by`, noting what is asked: for the number of results that fit no request."""

    def judged(*, previous: Previous | None, on_outage: OnOutage) -> Generator[Verdict, None, None]:
        return judged_by(previous=answers.note_requests(previous), on_outage=on_outage)

    return judged


@dataclass(frozen=True)
class Submitted:
    """A run as it was submitted.

    Attributes:
        state: its state.
        judges: its judges; panels ask for all votes.
        rows: the rows of the file of cases.
        settings: what is kept of it, so that later commands need only the name of its file of verdicts.
        providers: the provider of each model, by the model's name.
    """

    state: State
    judges: Sequence[AnyJudge]
    rows: CaseFile
    settings: Mapping[str, Any]
    providers: Mapping[str, Provider]


def state_folder(out: str) -> Path:
    """The folder with the state of the run whose verdicts go to `out`."""
    return Path(f"{out}.batch")


def submission(
    state: State,
    selection: options.JudgeSelection,
    judges: Sequence[AnyJudge],
    rows: CaseFile,
    limits: Mapping[str, int],
) -> Submitted:
    """The run of a state, or a new one. Limits that are given replace those that it had.

    Raises:
        StateError: `other_run`: the state belongs to another run.
    """
    models = models_of(judges)
    files = [judge if judge in names() else str(Path(judge).resolve()) for judge in selection.names]
    settings = {
        "run": state.settings.get("run", uuid4().hex[:16]),
        "cases": str(Path(rows.path).resolve()),
        "format": rows.file_format,
        "fields": dict(rows.fields),
        "encoding": rows.encoding,
        "limit": rows.limit,
        "limits": {**state.settings.get("limits", {}), **limits},
        "selection": {**asdict(selection), "judge": files},
        "identities": {judge.name: judge.identity for judge in judges},
        "endpoints": {model.name: str(getattr(model, "endpoint", "")) for model in models},
    }
    for name, difference in DIFFERENCES.items():
        if state.settings and state.settings.get(name) != settings[name]:
            remedy = "go back to what was submitted, or choose another --out"
            message = f"{state.folder} belongs to another run ({difference}): {remedy}"
            raise StateError("other_run", message, str(state.folder))
    from groundjudge.batches.openai import batches_of  # noqa: PLC0415  loaded only if used

    return Submitted(state, judges, rows, settings, {model.name: batches_of(model) for model in models})


def submitted(state: State) -> Submitted:
    """The run of a state.

    Raises:
        StateError: `no_state`: it was interrupted before it was planned; `other_run`: a prompt file, the
            library or the endpoint changed since.
        PromptError, ModelError: the judges cannot be loaded.
    """
    settings = state.settings
    if not settings:
        message = f"{state.folder} is empty: `groundjudge batch submit` was interrupted, run it again"
        raise StateError("no_state", message, str(state.folder))
    selection = options.JudgeSelection(**settings["selection"])
    reading = (settings[name] for name in ("format", "fields", "encoding", "limit"))
    rows = CaseFile(settings["cases"], frozenset(), *reading)
    return submission(state, selection, selection.judges(in_batches=True), rows, {})


def line_of(part: PartOfRun) -> str:
    """A part in a line."""
    batch = part.batch
    if not batch.id:
        step = batch.status or part.step
        return f"batch {part.number} ({part.model}): {step}, {part.n_requests:,} requests"
    done = f"{batch.n_done:,} of {part.n_requests:,} done"
    reason = f" ({batch.message})" if batch.message else ""
    return f"batch {part.number} {batch.id} ({part.model}): {batch.status}{reason}, {done}"


def _opened(
    out: str,
    cases: str,
    selection: options.JudgeSelection,
    row_options: options.RowOptions,
    results: Sequence[str] = (),
) -> tuple[list[AnyJudge], CaseFile]:
    """The judges and the rows. Exit if the cases cannot be read, or --out not be written or is an input."""
    refuse_table(out)
    inputs = [("the file of cases", cases), *(("a file of results", path) for path in results)]
    check_files([("--out", out)], [*inputs, *selection.prompt_files])
    check_cases(cases)
    judges = selection.judges(in_batches=True)
    return judges, row_options.case_file(cases, judges)


def result_lines(paths: Iterable[str]) -> Iterator[str]:
    """The lines of several files of results; only a line feed ends a line."""
    for path in paths:
        with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from lines


def _show_part(part: PartOfRun) -> None:
    """Print a line about a part to stderr."""
    note(line_of(part))


def _show(  # noqa: PLR0913, PLR0917  what there is to show
    screen: Screen,
    judges: Sequence[AnyJudge],
    rows: CaseFile,
    totals: RunTotals,
    answers: CollectedAnswers,
    prices: Prices | None,
) -> None:
    """Print the totals, and the tokens that were used in batches and online with their costs."""
    show_run(screen, judges, rows, totals)
    online = sum((each.usage for each in models_of(judges) if isinstance(each, AnsweredModel)), Usage())
    in_batches = " in batches", answers.usage, prices and prices.times(BATCH_SHARE)
    for place, usage, price in (in_batches, (" online", online, prices)):
        screen.text(*usage_lines(usage if usage.total_tokens else None, price, place))
    if answers.n_unreadable:
        screen.text(f"lines that are not results: {answers.n_unreadable:,}")
    if not totals.stopped and (n_unfit := answers.n_unfit):
        origin = "they come from another run, model or option, or from cases that have changed since"
        screen.text(f"results that fit no request: {n_unfit:,}; {origin}")


batch = typer.Typer(
    name="batch",
    help="Judge in a provider's batches, at half price and within a day; or write and read batch files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _command in (submit, status, collect, cancel, write, read):  # in the order of `groundjudge batch --help`
    batch.command()(options.command_of(_command))
