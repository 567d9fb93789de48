"""`groundjudge estimate`: what a run would cost, without calling a model."""

from __future__ import annotations

from collections.abc import Sequence

from groundjudge.cli.mapping import where_of
from groundjudge.cli.options import CasesFile, FieldPaths, FormatChoice, JudgeNames, PriceIn, PriceOut
from groundjudge.cli.prices import prices_of
from groundjudge.cli.screen import open_console, print_text, report_errors
from groundjudge.rubric import load_rubric, names
from groundjudge.runs.cost import Estimate, Prices
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.runs.rows import read_rows
from groundjudge.verdict import Usage


def estimate(  # noqa: PLR0913  one per option
    cases: CasesFile,
    *,
    judge: JudgeNames = None,
    file_format: FormatChoice = None,
    paths: FieldPaths = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
) -> None:
    """Estimate the calls, tokens and cost of a run.

    No model is called.

    Prompt tokens are approximated: one per 4 bytes of text, and 4 per message. Completion tokens are the
    most that the judges' parameters allow. A reply that cannot be read is requested once more and costs as
    much again.
    """
    with report_errors():
        prices = prices_of(price_in, price_out)
        rubrics = [load_rubric(name) for name in dict.fromkeys(judge or names())]
        found = estimates_of(rubrics, read_rows(cases, file_format, where_of(paths, rubrics)))
    _show(found, prices)


def _show(found: Sequence[Estimate], prices: Prices | None) -> None:
    from rich.table import Table  # noqa: PLC0415  loaded when it is used

    console = open_console()
    table = Table("judge", box=None, padding=(0, 1, 0, 0))
    for name in ("calls", "no call", "errors", "prompt tokens", "completion tokens"):
        table.add_column(name, justify="right", overflow="fold")
    for one in found:
        table.add_row(*_cells(one))
    console.print(table)
    if prices:
        print_text(console, _cost(found, prices))


def _cells(one: Estimate) -> tuple[str, ...]:
    """The cells of a judge's row."""
    most = "no limit" if one.completion_tokens is None else f"<= {one.completion_tokens:,}"
    counts = (f"{count:,}" for count in (one.n_calls, one.n_free, one.n_error, one.prompt_tokens))
    return (one.judge, *counts, most)


def _cost(found: Sequence[Estimate], prices: Prices) -> str:
    prompts = prices.of(Usage(prompt_tokens=sum(one.prompt_tokens for one in found)))
    if any(one.completion_tokens is None for one in found):
        return f"cost: about {prompts:.4f} for prompts; replies have no token limit"
    replies = prices.of(Usage(completion_tokens=sum(one.completion_tokens or 0 for one in found)))
    return f"cost: about {prompts:.4f} for prompts, at most {replies:.4f} for replies"
