"""`groundjudge probe`: what a judge misses, what moves it, and what fools it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from groundjudge.case.case import Case
from groundjudge.cli.estimates import show_estimates
from groundjudge.cli.inputs import prompt_files, refuse_to_overwrite
from groundjudge.cli.judging import JudgeSelection, cached_model, judges_of
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.options import (
    MODELS,
    CacheFile,
    Concurrency,
    Deadline,
    FieldPaths,
    FormatChoice,
    MaxCalls,
    MaxTokens,
    OverwriteFlag,
    PriceIn,
    PriceOut,
    judge_names,
)
from groundjudge.cli.prices import prices_of
from groundjudge.cli.probe_figures import show_comparison, show_probe
from groundjudge.cli.progress import ProgressLine
from groundjudge.cli.run_summary import show_reused, show_usage
from groundjudge.cli.screen import INCOMPLETE, fail, open_console, print_text, report_errors
from groundjudge.cli.verdict_output import (
    fail_if_stopped,
    previous_verdicts,
    refuse_parquet,
    report_connection,
)
from groundjudge.probe.compared import compare as compare_cards
from groundjudge.probe.compared import read_card
from groundjudge.probe.figures import Card
from groundjudge.probe.judging import plan_of, result_of
from groundjudge.probe.plan import asked_twice, cases_to_judge
from groundjudge.rubric.rubric import load_rubric
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.runs.file_run import write_verdicts
from groundjudge.runs.outcome import Outcome
from groundjudge.runs.rows import STDIO, read_rows
from groundjudge.runs.run import run as run_judge
from groundjudge.runs.summary import Tally
from groundjudge.verdict import Verdict


def probe(  # noqa: PLR0913  one per option
    *,
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The judge's name or a prompt file.", autocompletion=judge_names),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help=f"The model: {MODELS}.")] = None,
    cases: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Your own cases, each with `expect`: pass or fail. Default: those of the library.",
        ),
    ] = None,
    file_format: FormatChoice = None,
    paths: FieldPaths = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="EDIT", help="Leave out this edit; repeatable.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="PATH", help="Write the verdicts here, one JSON object per line.")
    ] = None,
    card: Annotated[str | None, typer.Option(metavar="PATH", help="Write all figures here, as JSON.")] = None,
    min_detection: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", min=0, max=1, help="Exit with status 1 if fewer of the wrong facts are caught."
        ),
    ] = None,
    max_attack_success: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", min=0, max=1, help="Exit with status 1 if any single attack succeeds more often."
        ),
    ] = None,
    worst: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many failures of each family to show in full.")
    ] = 1,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what the probe would cost; no model is called.")
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="CARD CARD", help="Compare two cards written by --card; nothing is judged."),
    ] = None,
    concurrency: Concurrency = 16,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the file --out: judge only what is missing.")
    ] = False,
    overwrite: OverwriteFlag = False,
    deadline: Deadline = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    cache: CacheFile = None,
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
        prices = prices_of(price_in, price_out)
        rubric = load_rubric(judge)
        rows = read_rows(cases, file_format, fields_of(paths, [rubric])) if cases else None
        planned = plan_of(rubric, rows, without or ())
        to_judge = PlannedCases(cases_to_judge(planned.trials))
        if estimate:
            show_estimates(estimates_of(rubric, to_judge), prices)
            return
        _check_outputs({"--out": out, "--card": card, "--cache": cache}, judge, cases)
        refuse_parquet(out)
        wanted = JudgeSelection([judge], [model] if model else None)
        (loaded,) = judges_of(wanted, partial(cached_model, cache=cache))
        with previous_verdicts(out or STDIO, [loaded], resume=resume, overwrite=overwrite) as previous:
            outcome = Outcome(Tally([loaded.name]), previous=previous)
            progress = ProgressLine(to_judge, outcome, prices, out)
            judged = run_judge(
                asked_twice(loaded),
                to_judge,
                concurrency=concurrency,
                deadline=deadline,
                max_calls=max_calls,
                max_tokens=max_tokens,
                previous=previous,
                on_outage=progress.show_message,
            )
            verdicts: list[Verdict] = []
            with report_connection():
                write_verdicts(_kept(judged, verdicts), out, outcome, progress.shown())
        fail_if_stopped(outcome, out)
        found = result_of(planned, verdicts, loaded)
        if card:
            Path(card).write_text(found.card.model_dump_json(indent=2) + "\n", encoding="utf-8")
    console = open_console(to_stderr=out == STDIO)
    show_probe(console, found, worst)
    show_reused(console, outcome)
    show_usage(console, outcome, prices)
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


def _check_outputs(outputs: Mapping[str, str | None], judge: str, cases: str | None) -> None:
    """Make sure that no output overwrites an input or another output, and that its folder exists."""
    inputs = [("the file of cases", cases), *prompt_files([judge])]
    given = {option: path for option, path in outputs.items() if path is not None and path != STDIO}
    for option, path in given.items():
        refuse_to_overwrite(option, path, inputs)
        if not Path(path).parent.is_dir():
            fail(f"{option} {path}: the folder {Path(path).parent} does not exist")
        same = next((other for other in given if other != option and _same(given[other], path)), None)
        if same:
            fail(f"{option} {path} is the file {same}: choose another file")


def _same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()
