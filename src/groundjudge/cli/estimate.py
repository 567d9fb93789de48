"""`groundjudge estimate`: what a run would cost, without calling a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundjudge.batches.replay import with_all_votes
from groundjudge.cli.judging import judges_of
from groundjudge.cli.options import CASES, STOP, JudgeSelection, PriceOptions, RowOptions, option
from groundjudge.cli.screen import open_console, print_table, print_text, report_errors
from groundjudge.judging.panel import Stop
from groundjudge.models.lookup import FunctionModel
from groundjudge.rubric.model import Model
from groundjudge.runs.cost import BATCH_SHARE, Estimate, Prices
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.runs.rows import read_rows
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
        judges = judges_of(replace(selection, model=selection.model or ["unnamed"]), _never_asked, stop)
        if batch:
            judges = [*map(with_all_votes, judges)]
            prices = prices and prices.times(BATCH_SHARE)
        fields = row_options.fields([rubric for judge in judges for rubric in judge.rubrics])
        found = estimates_of(judges, read_rows(cases, row_options.file_format, fields))
    show_estimates(found, prices)


def _never_asked(name: str) -> Model:
    """A model for judges that are only counted: no client, no key."""
    return FunctionModel(str, name)


def show_estimates(found: Sequence[Estimate], prices: Prices | None) -> None:
    """Print a row for each judge, and the cost if there are prices."""
    console = open_console()
    print_table(console, COLUMNS, map(_cells, found))
    for one in found:
        fewest, most = one.calls_per_row
        if most > 1:
            each = f"{fewest} to {most}" if fewest < most else str(most)
            print_text(console, f"{one.judge}: {each} calls a row")
    if prices:
        print_text(console, _cost(found, prices))


def _cells(one: Estimate) -> tuple[str, ...]:
    """The cells of a judge's row."""
    bound = "<= " if _may_be_fewer(one) else ""
    most = "no limit" if one.completion_tokens is None else f"<= {one.completion_tokens:,}"
    calls, prompts = f"{bound}{one.n_calls:,}", f"{bound}{one.prompt_tokens:,}"
    return one.judge, calls, f"{one.n_free:,}", f"{one.n_error:,}", prompts, most


def _may_be_fewer(one: Estimate) -> bool:
    fewest, most = one.calls_per_row
    return fewest < most


def _cost(found: Sequence[Estimate], prices: Prices) -> str:
    prompts = prices.of(Usage(prompt_tokens=sum(one.prompt_tokens for one in found)))
    about = "at most about" if any(map(_may_be_fewer, found)) else "about"
    if any(one.completion_tokens is None for one in found):
        return f"cost: {about} {prompts:.4f} for prompts; replies have no token limit"
    replies = prices.of(Usage(completion_tokens=sum(one.completion_tokens or 0 for one in found)))
    return f"cost: {about} {prompts:.4f} for prompts, at most {replies:.4f} for replies"
