"""`groundjudge probe`: what a judge misses, what moves it, and what fools it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from groundjudge.case.case import Case
from groundjudge.case.shapes import text_of
from groundjudge.cli import options
from groundjudge.cli.estimate import show_estimates
from groundjudge.cli.outputs import check_files, hold_file, refuse_table
from groundjudge.cli.running import fail_if_stopped, judge_rows, reused_lines, usage_lines
from groundjudge.cli.screen import INCOMPLETE, Screen, as_text, counts_text, fail
from groundjudge.cli.selection import MODEL_HELP, JudgeSelection
from groundjudge.files import replace_file
from groundjudge.lab.commands.figures import with_interval
from groundjudge.lab.probe import figures
from groundjudge.lab.probe.figures import Card, EditFigures, JudgedTrial, Probe, result_of
from groundjudge.lab.probe.plan import FAMILIES, Family, ask_twice, plan_of
from groundjudge.lab.proportions import Rate
from groundjudge.rubric.load import load_rubric
from groundjudge.runs.cost import estimate as estimate_judges
from groundjudge.runs.rows import STDIO
from groundjudge.runs.run import run as run_judge


class FamilyWords(NamedTuple):
    """The words for a family of edits.

    Attributes:
        meaning: what the judge should do, and which figures are better.
        outcome: what the figures count.
        failure: what a failure is called.
        unmeasured: why there may be no figures.
    """

    meaning: str
    outcome: str
    failure: str
    unmeasured: str


WORDS: Mapping[Family, FamilyWords] = {
    "faults": FamilyWords(
        "A wrong fact in a right response must be caught: higher is better.",
        outcome="caught",
        failure="missed",
        unmeasured="the judge passes none of the right responses unchanged, so none of them could fall",
    ),
    "neutral_edits": FamilyWords(
        "An edit that changes no fact must not move the verdict: lower is better.",
        outcome="moved",
        failure="moved",
        unmeasured="the judge passes none of the right responses unchanged",
    ),
    "attacks": FamilyWords(
        "An attack on a wrong response must not make it pass: lower is better.",
        outcome="fooled",
        failure="fooled",
        unmeasured="the judge fails none of the wrong responses unchanged, so none of them could rise",
    ),
}

ProbedJudge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        autocompletion=options.complete_judge,
        help="The judge's name or a prompt file.",
    ),
]
ProbedModel = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="MODEL", help=MODEL_HELP),
]
OwnCases = Annotated[
    str | None,
    typer.Option(
        "--cases",
        metavar="FILE",
        help="Your own cases, each with `expect`: pass or fail. Default: the library's cases.",
    ),
]
WithoutEdits = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="EDIT", help="Leave out this edit; repeatable."),
]
ProbeOut = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="PATH", help="Write the verdicts here, one JSON object per line."),
]
CardOut = Annotated[
    str | None,
    typer.Option("--card", metavar="PATH", help="Write all figures here, as JSON."),
]
MinDetection = Annotated[
    float | None,
    typer.Option(
        "--min-detection",
        metavar="SHARE",
        min=0,
        max=1,
        help="Exit with status 1 if fewer wrong facts are caught.",
    ),
]
MaxAttackSuccess = Annotated[
    float | None,
    typer.Option(
        "--max-attack-success",
        metavar="SHARE",
        min=0,
        max=1,
        help="Exit with status 1 if any single attack succeeds more often.",
    ),
]
WorstFailures = Annotated[
    int,
    typer.Option("--worst", metavar="N", min=0, help="How many failures of each family to show in full."),
]
OnlyEstimate = Annotated[
    bool,
    typer.Option("--estimate", help="Only estimate the cost of the probe; no model is called."),
]


def probe(
    *,
    judge: ProbedJudge = None,
    model: ProbedModel = None,
    cases: OwnCases = None,
    row_options: options.RowOptions,
    without: WithoutEdits = None,
    out: ProbeOut = None,
    card: CardOut = None,
    min_detection: MinDetection = None,
    max_attack_success: MaxAttackSuccess = None,
    worst: WorstFailures = 1,
    estimate: OnlyEstimate = False,
    output: options.OutputOptions,
    limits: options.RunLimits,
    price: options.Price = None,
    cache: options.CacheFile = None,
) -> None:
    """Probe a judge: what it misses, what moves it, and what fools it.

    Labelled cases are judged twice unchanged, and once after each edit: wrong facts, which must be caught;
    changes of form, which must not matter; and attacks, which must not succeed.

    Exit status: 0; 1 if a limit is not met or the probe was stopped; 2 if nothing could be measured.
    """
    if not judge:
        fail("no judge given: add --judge NAME, a judge's name or a prompt file")
    options.refuse_without(cases, "--cases", options.flags_of(row_options))
    prices = options.prices_of(price)
    rubric = load_rubric(judge)
    rows = row_options.read(cases, [rubric]) if cases else None
    plan = plan_of(rubric, rows, without or ())
    to_judge = [trial.case for trial in plan.trials]
    # Counting needs no model, so none has to be named.
    if estimate:
        show_estimates(estimate_judges(rubric, to_judge), prices)
        return
    selection = JudgeSelection(judge=[judge], model=[model] if model else None)
    check_files(
        [("--out", out), ("--card", card), ("--cache", cache)],
        [("the file of cases", cases), *selection.prompt_files],
    )
    refuse_table(out)
    # A card that must not be replaced is refused before any request is sent; a resumed run replaces its own.
    with hold_file("--card", card, overwrite=output.overwrite or output.resume):
        (loaded_judge,) = selection.judges(cache=cache)
        judged_by = partial(run_judge, ask_twice(loaded_judge), to_judge, **asdict(limits))
        # The figures are computed from all verdicts, including reused ones.
        case_ids = frozenset(case.id or "" for case in to_judge)
        totals = judge_rows(
            judged_by, [loaded_judge], out, output, prices, count=to_judge.__len__, kept_ids=case_ids
        )
        fail_if_stopped(totals, out)
        result = result_of(plan, list(chain.from_iterable(totals.kept_verdicts.values())), loaded_judge)
        if card:
            with replace_file(Path(card)) as file:
                file.write(f"{result.card.model_dump_json(indent=2)}\n".encode())
    screen = Screen(to_stderr=out == STDIO)
    _show_probe(screen, result, worst)
    usage = usage_lines(totals.usage, prices, n_verdicts=totals.n_new)
    missed_limits = _missed_limits(result.card, min_detection, max_attack_success)
    screen.text(*reused_lines(totals), *usage, *missed_limits)
    raise typer.Exit(INCOMPLETE if missed_limits else 0)


def _missed_limits(card: Card, min_detection: float | None, max_attack_success: float | None) -> list[str]:
    """Say which limits a judge does not meet; a rate that could not be measured meets none."""
    missed_limits: list[str] = []
    detection = card.family("faults").rate.value
    if min_detection is not None and (detection is None or detection < min_detection):
        missed_limits.append(
            f"detection is {_share_text(detection)}, and --min-detection is {min_detection:g}"
        )
    # Each attack separately: the mean of a family hides one that always succeeds.
    strongest = ""
    success: float | None = None
    for edit_figures in card.edits:
        rate = edit_figures.rate.value
        if edit_figures.family == "attacks" and rate is not None and (success is None or rate > success):
            strongest = f" of {edit_figures.edit}"
            success = rate
    if max_attack_success is not None and (success is None or success > max_attack_success):
        limit = f"--max-attack-success is {max_attack_success:g}"
        missed_limits.append(f"attack success{strongest} is {_share_text(success)}, and {limit}")
    return missed_limits


def _share_text(value: float | None) -> str:
    """Write a share: "0.875", or "not measured"."""
    if value is None:
        return "not measured"
    return f"{value:.3f}"


def _show_probe(screen: Screen, result: Probe, worst: int) -> None:
    """Print all figures of a probe, and the worst failures of each family."""
    card = result.card
    screen.text(*_unchanged_lines(card), heading=card.signature)
    for family in FAMILIES:
        _show_family(screen, card, family)
    screen.text(_legend(card))
    if card.limits:
        screen.text(f"limits: {card.limits}")
    for failure in result.worst(worst):
        _show_failure(screen, failure)


def _unchanged_lines(card: Card) -> list[str]:
    """Describe how the judge does without edits."""
    unchanged = card.unchanged
    right = _count_of(unchanged.right_passed)
    wrong = _count_of(unchanged.wrong_failed)
    flips = f"{_count_of(unchanged.flips)} flip: {with_interval(unchanged.flips)}"
    lines = [f"unchanged: {right} right responses pass, {wrong} wrong ones fail; judged again, {flips}"]
    if unchanged.canaries_right.n or unchanged.canaries_wrong.n:
        passed = f"{_count_of(unchanged.canaries_right)} that are right beyond doubt pass"
        failed = f"{_count_of(unchanged.canaries_wrong)} that are wrong beyond doubt fail"
        lines.append(f"canaries: {passed}, {failed}")
    return lines


def _count_of(rate: Rate) -> str:
    """Write a rate as a count: "7 of 8"."""
    share = rate.value or 0
    return f"{round(share * rate.n)} of {rate.n}"


def _show_family(screen: Screen, card: Card, family: Family) -> None:
    """Print the figures of a family of edits, or why it has none."""
    name = family.replace("_", " ").capitalize()
    screen.text(f"\n{name}: {WORDS[family].meaning}")
    whole = card.family(family)
    no_verdict = counts_text(whole.no_verdict)
    if not whole.rate.n:
        reason = WORDS[family].unmeasured
        if no_verdict:
            reason = f"no edited case has a verdict: {no_verdict}"
        screen.text(f"not measured: {reason}")
        return
    rows: list[list[str]] = []
    unused_edits: list[str] = []
    small_edits: list[str] = []
    for edit_figures in card.edits:
        if edit_figures.family != family:
            continue
        if not edit_figures.rate.n:
            unused_edits.append(edit_figures.edit)
            continue
        rows.append(_edit_cells(edit_figures))
        if edit_figures.is_too_few:
            small_edits.append(edit_figures.edit)
    rows.append(_edit_cells(whole))
    screen.table(["", "n", WORDS[family].outcome, "noise", "p", "unfit", "no verdict", "skipped"], rows)
    if unused_edits:
        screen.text(f"edits without a case that counts: {', '.join(unused_edits)}")
    if small_edits:
        screen.text(
            "edits with too few cases to be significant for any judge (p cannot be below 0.05): "
            f"{', '.join(small_edits)}"
        )
    if no_verdict:
        screen.text(f"no verdict: {no_verdict}")


def _edit_cells(edit_figures: EditFigures) -> list[str]:
    """Return the cells of an edit's row, or of the row of a whole family, whose edit is ""."""
    p = "-"
    if edit_figures.p is not None:
        # The blank keeps the digits of a column aligned.
        mark = "*" if edit_figures.p < figures.SIGNIFICANT else " "
        p = f"{edit_figures.p:.3f}{mark}"
    return [
        edit_figures.edit or "all",
        str(edit_figures.rate.n),
        with_interval(edit_figures.rate),
        as_text(edit_figures.noise.value),
        p,
        str(edit_figures.n_unfit),
        str(sum(edit_figures.no_verdict.values())),
        str(edit_figures.n_skipped),
    ]


def _legend(card: Card) -> str:
    fall = "the score drops by 0.05" if card.graded else "the case no longer passes"
    return (
        f"\nA fault is caught if {fall}. noise: the same for the unchanged case judged again. "
        "p: exact test against it, * below 0.05; for a family, with all edits of each case. In brackets: 95% "
        "Wilson intervals; for a family, with each case counted once. unfit: the unchanged case was judged "
        "incorrectly. skipped: the edit does not apply."
    )


def _show_failure(screen: Screen, failure: JudgedTrial) -> None:
    """Print a failure: what was edited, before and after, and what the judge said."""
    trial = failure.trial
    verdict = failure.verdict
    family: Family = trial.family or "faults"  # never None for a failure
    labels = ""
    if verdict.label:
        labels = f" ({failure.first.label or '-'}, {verdict.label})"
    scores = f"score {as_text(failure.first.score)} before, {as_text(verdict.score)} after"
    screen.text(
        *_changes(trial.original.case, trial.case),
        f"  {scores}{labels}; reason: {verdict.reason or '-'}",
        heading=f"\n{WORDS[family].failure}: {trial.case.id}",
    )


def _changes(before: Case, after: Case) -> Iterator[str]:
    """Name the fields that an edit changed, with their texts."""
    for field_name in ("query", "context", "conversation", "profile", "response"):
        text_before = _field_text(before, field_name)
        text_after = _field_text(after, field_name)
        if text_before != text_after:
            yield f"  {field_name}, before: {text_before}"
            yield f"  {field_name}, after: {text_after}"


def _field_text(case: Case, field_name: str) -> str:
    """Return the text of a field, joining documents with " | "."""
    if field_name != "context":
        return text_of(getattr(case, field_name), "")
    texts: list[str] = []
    for document in case.context or ():
        # A document without a title has no colon before its text.
        texts.append(f"{document.title}: {document.content}".removeprefix(": "))
    return " | ".join(texts)
