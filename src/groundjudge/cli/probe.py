"""`groundjudge probe`: what a judge misses, what moves it, and what fools it."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

import typer

from groundjudge.cli import options
from groundjudge.cli.estimate import show_estimates
from groundjudge.cli.judging import cached_model, judges_of
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.outputs import check_outputs, previous_verdicts, refuse_table
from groundjudge.cli.probe_figures import show_comparison, show_probe
from groundjudge.cli.progress import CountedCases, ProgressLine
from groundjudge.cli.run_summary import fail_if_stopped, report_connection, show_reused, show_usage
from groundjudge.cli.screen import INCOMPLETE, fail, open_console, print_text, report_errors
from groundjudge.probe import compared
from groundjudge.probe.figures import Card
from groundjudge.probe.judging import plan_of, result_of
from groundjudge.probe.plan import asked_twice
from groundjudge.rubric.rubric import load_rubric
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.runs.file_run import write_verdicts
from groundjudge.runs.rows import STDIO, read_rows
from groundjudge.runs.run import run as run_judge
from groundjudge.runs.summary import Tally
from groundjudge.runs.totals import RunTotals


def probe(  # noqa: PLR0913  one per option
    *,
    judge: str | None = options.option(
        "The judge's name or a prompt file.", metavar="NAME", autocompletion=options.judge_names
    ),
    model: str | None = options.option(f"The model: {options.MODELS}.", metavar="MODEL"),
    cases: str | None = options.option(
        "Your own cases, each with `expect`: pass or fail. Default: those of the library.", metavar="FILE"
    ),
    row_options: options.RowOptions,
    without: list[str] | None = options.option("Leave out this edit; repeatable.", metavar="EDIT"),
    out: str | None = options.option("Write the verdicts here, one JSON object per line.", metavar="PATH"),
    card: str | None = options.option("Write all figures here, as JSON.", metavar="PATH"),
    min_detection: float | None = options.option(
        "Exit with status 1 if fewer of the wrong facts are caught.", metavar="SHARE", min=0, max=1
    ),
    max_attack_success: float | None = options.option(
        "Exit with status 1 if any single attack succeeds more often.", metavar="SHARE", min=0, max=1
    ),
    worst: int = options.option(
        "How many failures of each family to show in full.", default=1, metavar="N", min=0
    ),
    estimate: bool = options.option("Only say what the probe would cost; no model is called.", default=False),
    compare: tuple[str, str] | None = options.option(
        "Compare two cards written by --card; nothing is judged.", metavar="CARD CARD"
    ),
    output: options.OutputOptions,
    limits: options.RunLimits,
    pricing: options.PriceOptions,
    cache: str | None = options.CACHE,
) -> None:
    """Probe a judge: what it misses, what moves it, and what fools it.

    Labelled cases are judged twice unchanged, and once after each edit: wrong facts, which must be caught;
    changes of form, which must not matter; and attacks, which must not succeed.

    Exit status: 0; 1 if a limit is not met or the probe was stopped; 2 if nothing could be measured.
    """
    with report_errors():
        if compare:
            show_comparison(open_console(), *map(compared.read_card, compare))
            return
        if not judge:
            fail("no judge given: add --judge NAME, a judge's name or a prompt file")
        prices = pricing.prices
        rubric = load_rubric(judge)
        fields = fields_of(row_options.paths, [rubric])
        rows = read_rows(cases, row_options.file_format, fields) if cases else None
        planned = plan_of(rubric, rows, without or ())
        to_judge = CountedCases([trial.case for trial in planned.trials])
        if estimate:
            show_estimates(estimates_of(rubric, to_judge), prices)
            return
        selection = options.JudgeSelection([judge], [model] if model else None)
        outputs = [("--out", out), ("--card", card), ("--cache", cache)]
        check_outputs(outputs, [("the file of cases", cases), *selection.prompt_files])
        refuse_table(out)
        (loaded,) = judges_of(selection, partial(cached_model, cache=cache))
        with previous_verdicts(out or STDIO, [loaded], output) as previous:
            ids = frozenset(case.id or "" for case in to_judge.cases)
            totals = RunTotals(Tally([loaded.name]), ids, previous)
            progress = ProgressLine(to_judge, totals, prices, out)
            judged = run_judge(
                asked_twice(loaded),
                to_judge,
                **asdict(limits),
                previous=previous,
                on_outage=progress.show_message,
            )
            with report_connection():
                write_verdicts(judged, out, totals, progress.shown())
        fail_if_stopped(totals, out)
        found = result_of(planned, [*chain.from_iterable(totals.kept.values())], loaded)
        if card:
            Path(card).write_text(found.card.model_dump_json(indent=2) + "\n", encoding="utf-8")
    console = open_console(to_stderr=out == STDIO)
    show_probe(console, found, worst)
    show_reused(console, totals)
    show_usage(console, totals, prices)
    faults = limits_missed(found.card, min_detection, max_attack_success)
    for fault in faults:
        print_text(console, fault)
    raise typer.Exit(INCOMPLETE if faults else 0)


def limits_missed(card: Card, min_detection: float | None, max_attack_success: float | None) -> list[str]:
    """Which limits a judge does not meet, in words; what could not be measured meets none."""
    detected = card.family("faults").rate.value
    attacks = {
        each.edit: each.rate.value
        for each in card.edits
        if each.family == "attacks" and each.rate.value is not None
    }
    strongest = max(attacks, key=attacks.__getitem__, default=None)
    success = attacks[strongest] if strongest else None
    missed: list[str] = []
    if min_detection is not None and (detected is None or detected < min_detection):
        missed.append(f"detection is {_share(detected)}, and --min-detection is {min_detection:g}")
    if max_attack_success is not None and (success is None or success > max_attack_success):
        limit = f"--max-attack-success is {max_attack_success:g}"
        of = f" of {strongest}" if strongest else ""
        missed.append(f"attack success{of} is {_share(success)}, and {limit}")
    return missed


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"
