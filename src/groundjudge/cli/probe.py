"""`groundjudge probe`: what a judge misses, what moves it, and what fools it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import typer

from groundjudge.case.case import Case
from groundjudge.cli import options
from groundjudge.cli.estimate import show_estimates
from groundjudge.cli.judging import cached_model, judges_of
from groundjudge.cli.outputs import check_outputs, previous_verdicts, refuse_table
from groundjudge.cli.probe_figures import show_comparison, show_probe
from groundjudge.cli.progress import ProgressLine
from groundjudge.cli.run_summary import fail_if_stopped, report_connection, show_reused, show_usage
from groundjudge.cli.screen import INCOMPLETE, fail, open_console, print_text, report_errors
from groundjudge.probe.figures import Card, read_card
from groundjudge.probe.figures import compare as compare_cards
from groundjudge.probe.judging import result_of
from groundjudge.probe.plan import asked_twice, plan_of
from groundjudge.rubric.rubric import load_rubric
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.runs.file_run import RunTotals, write_verdicts
from groundjudge.runs.rows import STDIO, read_rows
from groundjudge.runs.run import run as run_judge
from groundjudge.runs.summary import Tally
from groundjudge.verdict import Verdict


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
    estimate: bool = options.option(
        "Only say what the probe would cost; no model is called.", "--estimate", default=False
    ),
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
            first, second = (read_card(path) for path in compare)
            show_comparison(open_console(), first, second, compare_cards(first, second))
            return
        if not judge:
            fail("no judge given: add --judge NAME, a judge's name or a prompt file")
        prices = pricing.prices
        rubric = load_rubric(judge)
        rows = read_rows(cases, row_options.file_format, row_options.fields([rubric])) if cases else None
        planned = plan_of(rubric, rows, without or ())
        to_judge = PlannedCases([trial.case for trial in planned.trials])
        if estimate:
            show_estimates(estimates_of(rubric, to_judge), prices)
            return
        selection = options.JudgeSelection([judge], [model] if model else None)
        outputs = [("--out", out), ("--card", card), ("--cache", cache)]
        check_outputs(outputs, [("the file of cases", cases), *selection.prompt_files])
        refuse_table(out)
        (loaded,) = judges_of(selection, partial(cached_model, cache=cache))
        with previous_verdicts(out or STDIO, [loaded], output) as previous:
            totals = RunTotals(Tally([loaded.name]), previous=previous)
            progress = ProgressLine(to_judge, totals, prices, out)
            judged = run_judge(
                asked_twice(loaded),
                to_judge,
                **asdict(limits),
                previous=previous,
                on_outage=progress.show_message,
            )
            verdicts: list[Verdict] = []
            with report_connection():
                write_verdicts(_kept(judged, verdicts), out, totals, progress.shown())
        fail_if_stopped(totals, out)
        found = result_of(planned, verdicts, loaded)
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


@dataclass
class PlannedCases:
    """The cases of a plan on their way to the judge, counted."""

    cases: Sequence[Case]
    n_read: int = 0

    def __iter__(self) -> Iterator[Case]:
        for case in self.cases:
            self.n_read += 1
            yield case

    def count(self) -> int:
        """How many there are."""
        return len(self.cases)


def limits_missed(card: Card, min_detection: float | None, max_attack_success: float | None) -> list[str]:
    """Which limits a judge does not meet, in words; what could not be measured meets none."""
    detected = card.family("faults").rate.value
    attacks = [each for each in card.edits if each.family == "attacks" and each.rate.value is not None]
    strongest = max(attacks, key=lambda each: each.rate.value or 0.0, default=None)
    success = strongest.rate.value if strongest else None
    missed: list[str] = []
    if min_detection is not None and (detected is None or detected < min_detection):
        missed.append(f"detection is {_share(detected)}, and --min-detection is {min_detection:g}")
    if max_attack_success is not None and (success is None or success > max_attack_success):
        of = f" of {strongest.edit}" if strongest else ""
        missed.append(
            f"attack success{of} is {_share(success)}, and --max-attack-success is {max_attack_success:g}"
        )
    return missed


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _kept(judged: Generator[Verdict, None, None], verdicts: list[Verdict]) -> Generator[Verdict, None, None]:
    """The verdicts as they come, each of them kept."""
    with closing(judged):
        for verdict in judged:
            verdicts.append(verdict)
            yield verdict
