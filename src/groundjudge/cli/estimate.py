"""`groundjudge estimate`: what a run would cost, without calling a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from groundjudge.cli.options import CASES, STOP, JudgeSelection, PriceOptions, RowOptions, option
from groundjudge.cli.screen import Screen, note, report_errors
from groundjudge.judging.panel import Stop
from groundjudge.models.lookup import FunctionModel
from groundjudge.runs.cost import BATCH_SHARE, Estimate, Prices
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.verdict import Usage

COLUMNS = ("judge", "calls", "no call", "errors", "prompt tokens", "completion tokens")


def estimate(  # noqa: PLR0913  one per option
    cases: str = CASES,
    *,
    selection: JudgeSelection,
    stop: Stop | None = STOP,
    row_options: RowOptions,
    pricing: PriceOptions,
    batch: bool = option("In batches: at half price, with all votes asked for.", default=False),
) -> None:
    """Estimate the calls, tokens and cost of a run.

    No model is called, and none needs to be named, except for --panel.

    Prompt tokens are approximated: one per 4 bytes of text, and 4 per message. Completion tokens are the
    most that the judges' parameters allow. A reply that cannot be read is requested once more and costs as
    much again.
    """
    with report_errors():
        prices = pricing.prices
        counted = replace(selection, model=selection.model or ["unnamed"])
        judges = counted.judges(stop, in_batches=batch, model_of=partial(FunctionModel, str))
        if batch:
            prices = prices and prices.times(BATCH_SHARE)
        rows = row_options.case_file(cases, judges)
        found = estimates_of(judges, rows)
    show_estimates(found, prices)
    if rows.n_unreadable:
        note(f"{rows.n_unreadable:,} rows could not be read and are not counted")


def show_estimates(found: Sequence[Estimate], prices: Prices | None) -> None:
    """Print a row for each judge, and the cost if there are prices."""
    screen = Screen()
    screen.table(COLUMNS, map(_cells, found))
    calls = {one.judge: [*dict.fromkeys(one.calls_per_row)] for one in found}
    screen.text(
        *(f"{judge}: {' to '.join(map(str, n))} calls a row" for judge, n in calls.items() if n != [1]),
        *([_cost(found, prices)] if prices else []),
    )


def _cells(one: Estimate) -> tuple[str, ...]:
    """The cells of a judge's row."""
    bound = "<= " if _may_be_fewer(one) else ""
    most = "no limit" if one.completion_tokens is None else f"<= {one.completion_tokens:,}"
    calls, prompts = f"{bound}{one.n_calls:,}", f"{bound}{one.prompt_tokens:,}"
    return one.judge, calls, f"{one.n_free:,}", f"{one.n_error:,}", prompts, most


def _may_be_fewer(one: Estimate) -> bool:
    return len({*one.calls_per_row}) > 1


def _cost(found: Sequence[Estimate], prices: Prices) -> str:
    prompts = prices.of(Usage(prompt_tokens=sum(one.prompt_tokens for one in found)))
    replies = prices.of(Usage(completion_tokens=sum(one.completion_tokens or 0 for one in found)))
    about = "at most about" if any(map(_may_be_fewer, found)) else "about"
    is_limited = all(one.completion_tokens is not None for one in found)
    limit = f", at most {replies:.4f} for replies" if is_limited else "; replies have no token limit"
    return f"cost: {about} {prompts:.4f} for prompts{limit}"
