"""The figures of a probe on the screen: a table for each family, and the worst failures in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from groundjudge.case.case import Case
from groundjudge.case.shapes import text_of
from groundjudge.cli.figures import as_text, figures_table
from groundjudge.cli.screen import print_text
from groundjudge.probe.figures import Card, Compared, EditFigures, Judged
from groundjudge.probe.judging import Probe
from groundjudge.probe.plan import FAMILIES, Family
from groundjudge.shares import Rate

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console

HEADINGS: Mapping[Family, tuple[str, str, str]] = MappingProxyType(
    {
        "faults": ("caught", "A wrong fact in a right response must be caught: high is good.", "missed"),
        "neutral_edits": ("moved", "What changes no fact must not move the verdict: low is good.", "moved"),
        "attacks": (
            "fooled",
            "An attack on a wrong response must not make it pass: low is good.",
            "fooled",
        ),
    }
)
"""For each family what happened, what must happen, and what a failure is."""

UNMEASURED: Mapping[Family, str] = MappingProxyType(
    {
        "faults": "the judge passes none of the right responses unchanged, so none of them could fall",
        "neutral_edits": "the judge passes none of the right responses unchanged",
        "attacks": "the judge fails none of the wrong responses unchanged, so none of them could rise",
    }
)

SIGNIFICANT = 0.05


def show_probe(console: Console, found: Probe, worst: int) -> None:
    """Print all figures of a probe, and the worst failures of each family."""
    card = found.card
    print_text(console, card.signature, style="bold")
    for line in _unchanged(card):
        print_text(console, line)
    for family in FAMILIES:
        _show_family(console, card, family)
    print_text(console, _note(card))
    for each in found.worst(worst):
        _show_failure(console, each)


def show_comparison(console: Console, first: Card, second: Card, pairs: Sequence[Compared]) -> None:
    """Print two cards side by side."""
    for name, card in (("first", first), ("second", second)):
        print_text(console, f"{name}: {card.signature}, {card.date}")
        for line in _unchanged(card):
            print_text(console, line, margin=2)
    for family, group in groupby(sorted(pairs, key=lambda one: FAMILIES.index(one.first.family)), _family_of):
        table = figures_table(console, "first", "second", "second - first", "p")
        for one in sorted(group, key=lambda one: bool(one.first.edit), reverse=True):
            table.add_row(_name(one.first), *_compared(one))
        print_text(console, f"\n{_title(family)}: {HEADINGS[family][1]}")
        console.print(table)
    paired = "p: exact McNemar test over the cases that count in both."
    print_text(
        console, paired if first.cases == second.cases else "The probes used different cases: no test."
    )


def _family_of(one: Compared) -> Family:
    return one.first.family


def _compared(one: Compared) -> tuple[str, ...]:
    values = one.first.rate.value, one.second.rate.value
    difference = "-" if None in values else f"{(values[1] or 0) - (values[0] or 0):+.3f}"
    return (*(as_text(value) for value in values), difference, as_text(one.p))


def _unchanged(card: Card) -> list[str]:
    """How the judge does without edits, in lines."""
    own = card.unchanged
    passed = f"{_of(own.right_passed)} right responses pass, {_of(own.wrong_failed)} wrong ones fail"
    lines = [f"unchanged: {passed}; judged again, {_of(own.flips)} change sides{_interval(own.flips)}"]
    if own.canaries_right.n + own.canaries_wrong.n:
        lines.append(
            f"canaries: {_of(own.canaries_right)} that nobody could fail pass, "
            f"{_of(own.canaries_wrong)} that nobody could pass fail"
        )
    return lines


def _of(rate: Rate) -> str:
    return f"{round((rate.value or 0) * rate.n)} of {rate.n}"


def _interval(rate: Rate) -> str:
    return "" if rate.low is None else f" [{rate.low:.3f}, {rate.high:.3f}]"


def _show_family(console: Console, card: Card, family: Family) -> None:
    happened, meaning, _ = HEADINGS[family]
    whole = card.family(family)
    print_text(console, f"\n{_title(family)}: {meaning}")
    if not whole.rate.n:
        why = (
            f"no edited case has a verdict{_reasons(whole.no_verdict)}"
            if whole.no_verdict
            else UNMEASURED[family]
        )
        print_text(console, f"not measured: {why}")
        return
    table = figures_table(console, "n", happened, "95 %", "noise", "p", "unfit", "no verdict", "skipped")
    edits = [each for each in card.edits if each.family == family and each.rate.n]
    for each in (*edits, whole):
        table.add_row(_name(each), *_cells(each))
    console.print(table)
    unused = [each.edit for each in card.edits if each.family == family and not each.rate.n]
    if unused:
        print_text(console, f"applied to no case that counts: {', '.join(unused)}")
    if whole.no_verdict:
        print_text(console, f"no verdict{_reasons(whole.no_verdict)}")


def _cells(each: EditFigures) -> tuple[str, ...]:
    counts = each.n_unfit, sum(each.no_verdict.values()), each.n_skipped
    p = "-" if each.p is None else f"{each.p:.3f}{'*' if each.p < SIGNIFICANT else ' '}"
    rate = f"{each.rate.value:.3f}" if each.rate.value is not None else "-"
    return (
        str(each.rate.n),
        rate,
        _interval(each.rate).strip(),
        as_text(each.noise.value),
        p,
        *map(str, counts),
    )


def _name(each: EditFigures) -> str:
    return each.edit or "all"


def _title(family: Family) -> str:
    return family.replace("_", " ").capitalize()


def _reasons(counts: Mapping[str, int]) -> str:
    return "".join(f"; {name} {n}" for name, n in counts.items()).replace(";", ":", 1)


def _note(card: Card) -> str:
    fall = "the score drops by 0.05" if card.graded else "the case no longer passes"
    return (
        f"\nA fault is caught if {fall}. noise: the same of the unchanged case judged again. "
        "p: exact McNemar test against it, * below 0.05. 95 %: Wilson interval; of a family, with each case "
        "counted once. unfit: the verdict on the unchanged case was wrong. skipped: the edit does not apply."
    )


def _show_failure(console: Console, each: Judged) -> None:
    """Print a failure: what was edited, before and after, and what the judge said."""
    family = each.trial.family or "faults"
    happened = HEADINGS[family][2]
    print_text(console, f"\n{happened}: {each.trial.case.id}", style="bold")
    for name, before, after in _changes(each.trial.original.case, each.trial.case):
        print_text(console, f"{name}, before: {before}", margin=2)
        print_text(console, f"{name}, after: {after}", margin=2)
    scores = f"score {as_text(each.first.score)} before, {as_text(each.verdict.score)} after"
    labels = f" ({each.first.label or '-'}, {each.verdict.label or '-'})" if each.verdict.label else ""
    print_text(console, f"{scores}{labels}; reason: {each.verdict.reason or '-'}", margin=2)


def _changes(before: Case, after: Case) -> Iterable[tuple[str, str, str]]:
    """The fields in which two cases differ, as text."""
    one, other = _texts(before), _texts(after)
    return ((name, one[name], other[name]) for name in one if one[name] != other[name])


def _texts(case: Case) -> dict[str, str]:
    """The fields that an edit can change."""
    documents = (f"{each.title}: {each.content}".removeprefix(": ") for each in case.context or ())
    return {
        "query": text_of(case.query, ""),
        "context": " | ".join(documents),
        "conversation": text_of(case.conversation, ""),
        "profile": case.profile or "",
        "response": text_of(case.response, ""),
    }
