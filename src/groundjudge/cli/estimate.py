"""The command that says what a run would cost, and asks nobody."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from groundjudge.cli.terminal import console_of, errors_told, fail, tell
from groundjudge.judge import load
from groundjudge.rubric import names
from groundjudge.runs.cost import Estimate, Prices
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.runs.rows import read_rows
from groundjudge.verdict import Usage

PriceIn: TypeAlias = Annotated[
    float | None, typer.Option(metavar="PRICE", min=0, help="The price of a million prompt tokens.")
]
PriceOut: TypeAlias = Annotated[
    float | None, typer.Option(metavar="PRICE", min=0, help="The price of a million completion tokens.")
]

CasesFile = Annotated[
    str,
    typer.Argument(
        metavar="CASES", help='A file of cases: JSON Lines or .csv; "-" reads JSON Lines from stdin.'
    ),
]
JudgeNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A judge's name or a prompt file; repeatable. Without it all judges that come along.",
    ),
]


def estimate(
    cases: CasesFile,
    *,
    judge: JudgeNames = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
) -> None:
    """Say what a run would ask for, without asking.

    Prompt tokens are approximated: one for 4 bytes of text, and 4 per message. Completion tokens are the
    most that the judges' parameters allow. A reply that cannot be read is asked about once more, and costs
    as much again.
    """
    with errors_told():
        prices = prices_of(price_in, price_out)
        crew = [load(name, model=_nobody) for name in dict.fromkeys(judge or names())]
        found = estimates_of(crew, read_rows(cases))
    _show(found, prices)


def prices_of(price_in: float | None, price_out: float | None) -> Prices | None:
    """The prices, if they are told: both, or none."""
    if price_in is None and price_out is None:
        return None
    if price_in is None or price_out is None:
        fail("--price-in and --price-out belong together")
    return Prices(price_in, price_out)


def _nobody(_: object) -> str:
    """The model of judges that never ask."""
    raise NotImplementedError


def _show(found: list[Estimate], prices: Prices | None) -> None:
    from rich.table import Table  # noqa: PLC0415  loaded when it is used

    console = console_of()
    table = Table("judge", box=None, padding=(0, 1, 0, 0))
    for name in ("calls", "no call", "errors", "prompt tokens", "completion tokens"):
        table.add_column(name, justify="right", overflow="fold")
    for one in found:
        most = "no limit" if one.completion_tokens is None else f"<= {one.completion_tokens:,}"
        cells = [f"{count:,}" for count in (one.n_calls, one.n_free, one.n_error, one.prompt_tokens)]
        table.add_row(one.judge, *cells, most)
    console.print(table)
    if prices:
        tell(console, _cost(found, prices))


def _cost(found: list[Estimate], prices: Prices) -> str:
    prompts = prices.of(Usage(prompt_tokens=sum(one.prompt_tokens for one in found)))
    if any(one.completion_tokens is None for one in found):
        return f"cost: about {prompts:.4f} for prompts; nothing limits the replies"
    replies = prices.of(Usage(completion_tokens=sum(one.completion_tokens or 0 for one in found)))
    return f"cost: about {prompts:.4f} for prompts, at most {replies:.4f} for replies"
