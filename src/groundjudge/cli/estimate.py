"""`groundjudge estimate`: what a run would cost, without calling a model."""

from __future__ import annotations

from typing import Annotated

import typer

from groundjudge.batches.asking import with_all_votes
from groundjudge.cli.estimates import show_estimates
from groundjudge.cli.judging import JudgeSelection, judges_of, rubric_options
from groundjudge.cli.mapping import fields_of
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
from groundjudge.cli.screen import report_errors
from groundjudge.errors import ModelError
from groundjudge.models.function import FunctionModel
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.runs.cost import BATCH_SHARE
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.runs.rows import read_rows


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
    batch: Annotated[
        bool,
        typer.Option("--batch", help="In batches: at half price, with all votes asked for."),
    ] = False,
) -> None:
    """Estimate the calls, tokens and cost of a run.

    No model is called, and none needs to be named, except for --panel.

    Prompt tokens are approximated: one per 4 bytes of text, and 4 per message. Completion tokens are the
    most that the judges' parameters allow. A reply that cannot be read is requested once more and costs as
    much again.
    """
    with report_errors():
        prices = prices_of(price_in, price_out)
        options = rubric_options(weighted=weighted, structured=structured)
        wanted = JudgeSelection(judge, model or ["unnamed"], panel, repeats, rule, stop, options)
        judges = judges_of(wanted, _never_asked)
        if batch:
            judges = [*map(with_all_votes, judges)]
            prices = prices and prices.times(BATCH_SHARE)
        rubrics = [rubric for judge in judges for rubric in judge.rubrics]
        found = estimates_of(judges, read_rows(cases, file_format, fields_of(paths, rubrics)))
    show_estimates(found, prices)


def _never_asked(name: str) -> Model:
    """A model for judges that are only counted: no client, no key."""

    def refuse(_: Request) -> str:
        raise ModelError("no_model", f"{name}: an estimate calls no model")

    return FunctionModel(refuse, name)
