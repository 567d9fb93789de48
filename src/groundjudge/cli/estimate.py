"""`groundjudge estimate`: what a run would cost, without calling a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from groundjudge.cli import options
from groundjudge.cli.fitting import take_fitting
from groundjudge.cli.screen import Screen, note
from groundjudge.cli.selection import JudgeSelection
from groundjudge.models.function import FunctionModel
from groundjudge.models.lookup import find_in_wings
from groundjudge.rubric.model import Model
from groundjudge.runs.cost import BATCH_SHARE, Estimate, Prices
from groundjudge.runs.cost import estimate as estimate_judges
from groundjudge.verdict import Usage

COLUMNS = ("judge", "calls", "no call", "errors", "prompt tokens", "completion tokens")

UNNAMED_MODEL = "unnamed"
"""The model to count for if none is named: the number of calls does not depend on it."""

InBatches = Annotated[
    bool,
    typer.Option("--batch", help="Estimate for batches: half the price, with all votes requested."),
]


def estimate(
    cases: options.Cases,
    *,
    selection: JudgeSelection,
    row_options: options.RowOptions,
    price: options.Price = None,
    batch: InBatches = False,
) -> None:
    """Estimate the calls, tokens and cost of a run.

    No model is called, and you only need to name models for --panel.

    Prompt tokens are approximated: one per 4 bytes of text, and 4 per message. Completion tokens are the
    maximum that the judges' parameters allow. An unreadable reply is requested again and costs as much again.
    """
    prices = options.prices_of(price)
    # Calls and tokens are the same for every model; a panel needs to know how many there are.
    if not selection.model:
        selection = replace(selection, model=[UNNAMED_MODEL])
    # A model that is never called needs no key and no endpoint.
    judges = selection.judges(in_batches=batch, model_of=_uncalled_model)
    if batch and prices:
        prices = prices.times(BATCH_SHARE)
    rows = row_options.case_file(cases, judges)
    left_out: list[str] = []
    if not selection.judge and not batch:
        judges, left_out = take_fitting(judges, rows)
    estimates = estimate_judges(judges, rows)
    show_estimates(estimates, prices)
    Screen().text(*left_out)
    if rows.n_unreadable:
        note(f"{rows.n_unreadable:,} rows could not be read and are not counted")


def _uncalled_model(name: str) -> Model:
    """Make a model with a name that is never called."""
    return find_in_wings(name) or FunctionModel(str, name)


def show_estimates(estimates: Sequence[Estimate], prices: Prices | None) -> None:
    """Print a row for each judge, and the cost if there are prices."""
    screen = Screen()
    screen.table(COLUMNS, [_cells(estimate) for estimate in estimates])
    for estimate in estimates:
        fewest, most = estimate.calls_per_row
        if _may_be_fewer(estimate):
            screen.text(f"{estimate.judge}: {fewest} to {most} calls per row")
        elif most != 1:
            screen.text(f"{estimate.judge}: {most} calls per row")
    if prices:
        screen.text(_cost_line(estimates, prices))


def _cells(estimate: Estimate) -> list[str]:
    """Return the cells of a judge's row, by `COLUMNS`."""
    bound = "<= " if _may_be_fewer(estimate) else ""
    completion_tokens = "no limit"
    if estimate.completion_tokens is not None:
        completion_tokens = f"<= {estimate.completion_tokens:,}"
    return [
        estimate.judge,
        f"{bound}{estimate.n_calls:,}",
        f"{estimate.n_free:,}",
        f"{estimate.n_error:,}",
        f"{bound}{estimate.prompt_tokens:,}",
        completion_tokens,
    ]


def _may_be_fewer(estimate: Estimate) -> bool:
    """Return whether a row may take fewer calls than counted: panels and cascades stop once decided."""
    fewest, most = estimate.calls_per_row
    return fewest != most


def _cost_line(estimates: Sequence[Estimate], prices: Prices) -> str:
    """Write what all judges cost together: "cost: about 0.0123 for prompts, at most 0.0456 for replies"."""
    about = "about"
    prompt_tokens = 0
    for estimate in estimates:
        prompt_tokens += estimate.prompt_tokens
        if _may_be_fewer(estimate):
            about = "at most about"
    prompts = f"{about} {prices.of(Usage(prompt_tokens=prompt_tokens)):.4f} for prompts"
    completion_tokens = 0
    for estimate in estimates:
        if estimate.completion_tokens is None:  # one judge without a limit means that the sum has none
            return f"cost: {prompts}; replies have no token limit"
        completion_tokens += estimate.completion_tokens
    reply_cost = prices.of(Usage(completion_tokens=completion_tokens))
    return f"cost: {prompts}, at most {reply_cost:.4f} for replies"
