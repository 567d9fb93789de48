"""`groundjudge batch collect`: verdicts from the batches of a run."""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated, Literal, TypeAlias

import typer

from groundjudge.batches.answers import AnsweredModel, usage_in
from groundjudge.batches.collect import Collected, download, verdicts_in, waits_in
from groundjudge.batches.state import PartOfRun
from groundjudge.batches.submit import LISTED_WITHIN, plan
from groundjudge.batches.submit import submit as create_batches
from groundjudge.cli.options import (
    Concurrency,
    Deadline,
    ListedWithin,
    MaxCalls,
    MaxTokens,
    PriceIn,
    PriceOut,
    SubmittedOut,
)
from groundjudge.cli.prices import prices_of
from groundjudge.cli.progress import ProgressLine
from groundjudge.cli.run_summary import show_run
from groundjudge.cli.screen import INCOMPLETE, fail, open_console, printable, report_errors
from groundjudge.cli.submitted import Submitted, open_state, show_batch_usage, show_part, submitted
from groundjudge.cli.verdict_output import (
    fail_if_stopped,
    fail_without_result,
    previous_verdicts,
    report_connection,
    status_of,
)
from groundjudge.errors import ModelError
from groundjudge.judging.panel import models_of, with_models
from groundjudge.models.pacing import TRANSIENT
from groundjudge.runs.file_run import write_verdicts
from groundjudge.runs.outcome import Outcome
from groundjudge.runs.run import run as run_judges
from groundjudge.runs.summary import Tally
from groundjudge.verdict import Usage

Finish: TypeAlias = Literal["online", "batch"]


def collect(  # noqa: PLR0913  one per option
    out: SubmittedOut,
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
    concurrency: Concurrency = 16,
    deadline: Deadline = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    listed_within: ListedWithin = LISTED_WITHIN,
) -> None:
    """Fetch the results of the batches of a run, append their verdicts to OUT, and summarise.

    The command can be run, killed and run again at any time: each verdict is written once, and errors are
    replaced when there is an answer. While batches are running, the verdicts of those that have ended are
    written. --concurrency, --deadline, --max-calls and --max-tokens are for --finish online.

    Costs are half of --price-in and --price-out for what was answered in a batch.

    Exit status: 0; 1 if batches are running, or a row has an error; 2 if nothing was submitted.
    """
    with report_errors(), open_state(out) as state:
        prices = prices_of(price_in, price_out)
        run = submitted(state, out)
        gather = partial(_gather, run, every=every if wait else None, listed_within=listed_within)
        has_all = gather()
        while has_all and finish == "batch" and _plan_again(run):
            has_all = gather()
        collected, rows, asked = Collected(), run.rows, list[AnsweredModel]()
        with previous_verdicts(out, run.judges, resume=True, overwrite=False) as previous:
            outcome = Outcome(Tally(judge.name for judge in run.judges), previous=previous)
            progress = ProgressLine(rows, outcome, prices, out)
            if has_all and finish == "online":
                judges = with_models(run.judges, lambda model: AnsweredModel(model, run.answers))
                asked = [model for model in models_of(judges) if isinstance(model, AnsweredModel)]
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
                judged = verdicts_in(
                    run.answers,
                    run.judges,
                    rows,
                    collected=collected,
                    previous=previous,
                    is_waiting=waits_in(state),
                )
            with report_connection():
                write_verdicts(judged, out, outcome, progress.shown())
        console = open_console()
        show_run(console, run.judges, rows, outcome)
        online = sum((model.usage for model in asked), Usage())
        show_batch_usage(console, usage_in(state, run.read), prices, online)
        if not has_all:
            running = [part for part in state.parts() if part.step != "collected"]
            fail(
                f"{len(running)} of {len(state.parts())} batches have not ended, and {collected.n_waiting:,} "
                "verdicts wait for them: run the command again later, or with --wait",
                status=INCOMPLETE,
            )
        fail_without_result(rows, outcome)
        fail_if_stopped(outcome, None)
        raise typer.Exit(status_of(outcome, 1.0))


def _gather(run: Submitted, *, every: float | None, listed_within: float) -> bool:
    """Submit what a killed command left, and fetch what has ended; returns whether all batches have.

    Args:
        run: the run.
        every: seconds between two questions while batches are running; None: ask once.
        listed_within: as for `submit`.
    """
    shown = dict[int, PartOfRun]()

    def show(part: PartOfRun) -> None:
        if shown.get(part.number) != part:
            show_part(part)
        shown[part.number] = part

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


def _plan_again(run: Submitted) -> bool:
    """Plan batches of what must be asked again; returns whether there is anything."""
    with previous_verdicts(run.out, run.judges, resume=True, overwrite=False) as previous:
        planned = plan(run.state, run.judges, run.rows, run.providers, answers=run.answers, previous=previous)
    return planned.n_requests > 0
