"""`groundjudge estimate`: what a run would cost, without calling a model."""

from __future__ import annotations

from collections.abc import Sequence

from groundjudge.cli.judging import Wanted, judges_of
from groundjudge.cli.mapping import where_of
from groundjudge.cli.options import (
    CasesFile,
    FieldPaths,
    FormatChoice,
    JudgeNames,
    ModelNames,
    PanelFlag,
    PriceIn,
    PriceOut,
    RepeatsCount,
    RuleChoice,
    StopChoice,
    StructuredChoice,
    WeightedFlag,
)
from groundjudge.cli.prices import prices_of
from groundjudge.cli.screen import open_console, print_text, report_errors
from groundjudge.errors import ModelError
from groundjudge.model import Model
from groundjudge.models.function import FunctionModel
from groundjudge.options import RubricOptions
from groundjudge.rubric import Request
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
    model: ModelNames = None,
    repeats: RepeatsCount = None,
    panel: PanelFlag = False,
    rule: RuleChoice = None,
    stop: StopChoice = None,
    weighted: WeightedFlag = False,
    structured: StructuredChoice = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
) -> None:
    """Estimate the calls, tokens and cost of a run.

    No model is called, and none needs to be named, except for --panel.

    Prompt tokens are approximated: one per 4 bytes of text, and 4 per message. Completion tokens are the
    most that the judges' parameters allow. A reply that cannot be read is requested once more and costs as
    much again.
    """
    with report_errors():
        prices = prices_of(price_in, price_out)
        options: RubricOptions = {"weighted": weighted or None, "structured": structured}
        wanted = Wanted(judge, model or ["unnamed"], panel, repeats, rule, stop, options)
        judges = judges_of(wanted, _never_asked)
        rubrics = [rubric for judge in judges for rubric in judge.rubrics]
        found = estimates_of(judges, read_rows(cases, file_format, where_of(paths, rubrics)))
    show_estimates(found, prices)


def _never_asked(name: str) -> Model:
    """A model for judges that are only counted: no client, no key."""

    def refuse(_: Request) -> str:
        raise ModelError("no_model", f"{name}: an estimate calls no model")

    return FunctionModel(refuse, name)


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
