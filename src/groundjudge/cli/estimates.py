"""The table of what a run would cost."""

from __future__ import annotations

from collections.abc import Sequence

from groundjudge.cli.screen import open_console, print_text
from groundjudge.runs.cost import Estimate, Prices
from groundjudge.verdict import Usage


def show_estimates(found: Sequence[Estimate], prices: Prices | None) -> None:
    """Print a row for each judge, and the cost if there are prices."""
    from rich.table import Table  # noqa: PLC0415  loaded when it is used

    console = open_console()
    table = Table("judge", box=None, padding=(0, 1, 0, 0))
    for name in ("calls", "no call", "errors", "prompt tokens", "completion tokens"):
        table.add_column(name, justify="right", overflow="fold")
    for one in found:
        table.add_row(*_cells(one))
    console.print(table)
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
    counts = (
        f"{bound}{one.n_calls:,}",
        f"{one.n_free:,}",
        f"{one.n_error:,}",
        f"{bound}{one.prompt_tokens:,}",
    )
    return (one.judge, *counts, most)


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
