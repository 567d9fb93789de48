"""`groundjudge probe`: what a judge misses, what moves it, and what fools it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path

import typer

from groundjudge.case.case import Case
from groundjudge.case.shapes import text_of
from groundjudge.cli import options
from groundjudge.cli.estimate import show_estimates
from groundjudge.cli.outputs import check_files, held, refuse_table
from groundjudge.cli.running import fail_if_stopped, judge_rows, reused_lines, usage_lines
from groundjudge.cli.screen import INCOMPLETE, Screen, as_text, fail, report_errors, with_interval
from groundjudge.files import replace_file
from groundjudge.lab.probe import figures
from groundjudge.lab.probe.figures import Card, EditFigures, Judged, Probe, result_of
from groundjudge.lab.probe.plan import FAMILIES, Family, ask_twice, plan_of
from groundjudge.lab.proportions import Rate
from groundjudge.rubric.rubric import load_rubric
from groundjudge.runs.cost import estimate as estimates_of
from groundjudge.runs.rows import STDIO
from groundjudge.runs.run import run as run_judge

MEANINGS: Mapping[Family, str] = {
    "faults": "A wrong fact in a right response must be caught: high is good.",
    "neutral_edits": "What changes no fact must not move the verdict: low is good.",
    "attacks": "An attack on a wrong response must not make it pass: low is good.",
}
HAPPENED: Mapping[Family, str] = {"faults": "caught", "neutral_edits": "moved", "attacks": "fooled"}
FAILURES: Mapping[Family, str] = {**HAPPENED, "faults": "missed"}
"""What a failure is called."""

UNMEASURED: Mapping[Family, str] = {
    "faults": "the judge passes none of the right responses unchanged, so none of them could fall",
    "neutral_edits": "the judge passes none of the right responses unchanged",
    "attacks": "the judge fails none of the wrong responses unchanged, so none of them could rise",
}


def probe(  # noqa: PLR0913  one per option
    *,
    judge: str | None = options.option("The judge's name or a prompt file.", **options.NAMED),
    model: str | None = options.option(f"The model: {options.MODELS}.", metavar="MODEL"),
    cases: str | None = options.option(
        "Your own cases, each with `expect`: pass or fail. Default: those of the library.", metavar="FILE"
    ),
    row_options: options.RowOptions,
    without: list[str] | None = options.option("Leave out this edit; repeatable.", metavar="EDIT"),
    out: str | None = options.option(
        "Write the verdicts here, one JSON object per line.", *options.OUT, metavar="PATH"
    ),
    card: str | None = options.option("Write all figures here, as JSON.", metavar="PATH"),
    min_detection: float | None = options.option(
        "Exit with status 1 if fewer wrong facts are caught.", **options.SHARE
    ),
    max_attack_success: float | None = options.option(
        "Exit with status 1 if any single attack succeeds more often.", **options.SHARE
    ),
    worst: int = options.option("How many failures of each family to show in full.", default=1, min=0),
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
    with report_errors(), ExitStack() as until_written:
        if compare:
            _show_comparison(Screen(), *map(figures.read_card, compare))
            return
        if not judge:
            fail("no judge given: add --judge NAME, a judge's name or a prompt file")
        options.refuse_without(cases, "--cases", row_options)
        prices = pricing.prices
        rubric = load_rubric(judge)
        rows = row_options.rows(cases, [rubric]) if cases else None
        planned = plan_of(rubric, rows, without or ())
        to_judge = [trial.case for trial in planned.trials]
        if estimate:
            show_estimates(estimates_of(rubric, to_judge), prices)
            return
        selection = options.JudgeSelection([judge], [model] if model else None)
        outputs = [("--out", out), ("--card", card), ("--cache", cache)]
        check_files(outputs, [("the file of cases", cases), *selection.prompt_files])
        refuse_table(out)
        until_written.enter_context(held("--card", card, overwrite=output.overwrite))
        (loaded,) = selection.judges(cache=cache)
        judged_by = partial(run_judge, ask_twice(loaded), to_judge, **asdict(limits))
        ids = frozenset(case.id or "" for case in to_judge)
        totals = judge_rows(judged_by, [loaded], out, output, prices, count=to_judge.__len__, kept_ids=ids)
        fail_if_stopped(totals, out)
        found = result_of(planned, [*chain.from_iterable(totals.kept_verdicts.values())], loaded)
        if card:
            with replace_file(Path(card)) as file:
                file.write(f"{found.card.model_dump_json(indent=2)}\n".encode())
    screen = Screen(to_stderr=out == STDIO)
    _show_probe(screen, found, worst)
    used = usage_lines(totals.usage, prices, n_verdicts=totals.n_new)
    missed = _limits_missed(found.card, min_detection, max_attack_success)
    screen.text(*reused_lines(totals), *used, *missed)
    raise typer.Exit(INCOMPLETE if missed else 0)


def _limits_missed(card: Card, min_detection: float | None, max_attack_success: float | None) -> list[str]:
    """Which limits a judge does not meet, in words; what could not be measured meets none."""
    detected = card.family("faults").rate.value
    attacks = [
        (each.rate.value, each.edit)
        for each in card.edits
        if each.family == "attacks" and each.rate.value is not None
    ]
    success, strongest = max(attacks, key=itemgetter(0), default=(None, ""))
    missed: list[str] = []
    if min_detection is not None and (detected is None or detected < min_detection):
        missed.append(f"detection is {_share(detected)}, and --min-detection is {min_detection:g}")
    if max_attack_success is not None and (success is None or success > max_attack_success):
        of, limit = f" of {strongest}" if strongest else "", f"{max_attack_success:g}"
        missed.append(f"attack success{of} is {_share(success)}, and --max-attack-success is {limit}")
    return missed


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _show_probe(screen: Screen, found: Probe, worst: int) -> None:
    """Print all figures of a probe, and the worst failures of each family."""
    card = found.card
    screen.text(*_unchanged(card), heading=card.signature)
    for family in FAMILIES:
        _show_family(screen, card, family)
    screen.text(_note(card))
    for each in found.worst(worst):
        _show_failure(screen, each)


def _show_comparison(screen: Screen, first: Card, second: Card) -> None:
    """Print two cards side by side."""
    pairs = figures.compare(first, second)
    for name, card in (("first", first), ("second", second)):
        unchanged = (f"  {line}" for line in _unchanged(card))
        screen.text(f"{name}: {card.signature}, {card.date}", *unchanged)
    for family in FAMILIES:
        group = [one for one in pairs if one.first.family == family]
        screen.text(_title(family))
        rows = (_compared(one) for one in sorted(group, key=lambda one: not one.first.edit))
        screen.table(["", "first", "second", "second - first", "p"], rows)
    paired = "p: exact McNemar test over the cases that count in both."
    screen.text(paired if first.cases == second.cases else "The probes used different cases: no test.")


def _compared(one: figures.Compared) -> list[str]:
    first, second = one.first.rate.value, one.second.rate.value
    difference = "-" if first is None or second is None else f"{second - first:+.3f}"
    return [_name(one.first), as_text(first), as_text(second), difference, as_text(one.p)]


def _unchanged(card: Card) -> list[str]:
    """How the judge does without edits, in lines."""
    own = card.unchanged
    passed = f"{_of(own.right_passed)} right responses pass, {_of(own.wrong_failed)} wrong ones fail"
    lines = [f"unchanged: {passed}; judged again, {_of(own.flips)} change sides: {with_interval(own.flips)}"]
    if own.canaries_right.n + own.canaries_wrong.n:
        failed = f"{_of(own.canaries_wrong)} that nobody could pass fail"
        lines.append(f"canaries: {_of(own.canaries_right)} that nobody could fail pass, {failed}")
    return lines


def _of(rate: Rate) -> str:
    return f"{round((rate.value or 0) * rate.n)} of {rate.n}"


def _show_family(screen: Screen, card: Card, family: Family) -> None:
    whole = card.family(family)
    no_verdict = "".join(f", {name} {n}" for name, n in whole.no_verdict.items()).replace(",", ":", 1)
    if not whole.rate.n:
        errors = f"no edited case has a verdict{no_verdict}"
        screen.text(_title(family), f"not measured: {errors if no_verdict else UNMEASURED[family]}")
        return
    screen.text(_title(family))
    columns = ["", "n", HAPPENED[family], "noise", "p", "unfit", "no verdict", "skipped"]
    edits = [each for each in card.edits if each.family == family]
    screen.table(columns, [_cells(each) for each in (*edits, whole) if each.rate.n])
    unused = ", ".join(each.edit for each in edits if not each.rate.n)
    few = ", ".join(each.edit for each in edits if each.rate.n and each.is_too_few)
    notes = (
        (f"applied to no case that counts: {unused}", unused),
        (f"too few cases to be noticed, whatever the judge does (p cannot be below 0.05): {few}", few),
        (f"no verdict{no_verdict}", no_verdict),
    )
    screen.text(*(note for note, is_needed in notes if is_needed))


def _cells(each: EditFigures) -> list[str]:
    counts = each.n_unfit, sum(each.no_verdict.values()), each.n_skipped
    significant = "*" if each.p is not None and each.p < figures.SIGNIFICANT else " "
    p = "-" if each.p is None else f"{each.p:.3f}{significant}"
    noise = as_text(each.noise.value)
    return [_name(each), str(each.rate.n), with_interval(each.rate), noise, p, *map(str, counts)]


def _name(each: EditFigures) -> str:
    return each.edit or "all"


def _title(family: Family) -> str:
    return f"\n{family.replace('_', ' ').capitalize()}: {MEANINGS[family]}"


def _note(card: Card) -> str:
    fall = "the score drops by 0.05" if card.graded else "the case no longer passes"
    return (
        f"\nA fault is caught if {fall}. noise: the same of the unchanged case judged again. "
        "p: exact test against it, * below 0.05; of a family, with all edits of each case. In brackets: 95 % "
        "Wilson intervals; of a family, with each case counted once. unfit: the unchanged case was judged "
        "wrong. skipped: the edit does not apply."
    )


def _show_failure(screen: Screen, each: Judged) -> None:
    """Print a failure: what was edited, before and after, and what the judge said."""
    edited = _changes(each.trial.original.case, each.trial.case)
    scores = f"score {as_text(each.first.score)} before, {as_text(each.verdict.score)} after"
    labels = f" ({each.first.label or '-'}, {each.verdict.label or '-'})" if each.verdict.label else ""
    said = f"  {scores}{labels}; reason: {each.verdict.reason or '-'}"
    heading = f"\n{FAILURES[each.trial.family or 'faults']}: {each.trial.case.id}"
    screen.text(*edited, said, heading=heading)


def _changes(before: Case, after: Case) -> Iterator[str]:
    """The fields that an edit changed, as text."""
    for name in ("query", "context", "conversation", "profile", "response"):
        one, other = _text(before, name), _text(after, name)
        if one != other:
            yield from (f"  {name}, before: {one}", f"  {name}, after: {other}")


def _text(case: Case, field: str) -> str:
    if field == "context":
        return " | ".join(f"{each.title}: {each.content}".removeprefix(": ") for each in case.context or ())
    return text_of(getattr(case, field), "")
