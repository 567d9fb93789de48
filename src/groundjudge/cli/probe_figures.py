"""The figures of a probe on the screen: a table for each family, and the worst failures in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groundjudge.case.case import Case
from groundjudge.case.shapes import text_of
from groundjudge.cli.screen import Console, as_text, print_table, print_text
from groundjudge.probe.compared import Compared
from groundjudge.probe.compared import compare as compare_cards
from groundjudge.probe.figures import Card, EditFigures, Judged
from groundjudge.probe.judging import Probe
from groundjudge.probe.plan import FAMILIES, Family
from groundjudge.shares import Rate

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


def show_comparison(console: Console, first: Card, second: Card) -> None:
    """Print two cards side by side."""
    pairs = compare_cards(first, second)
    for name, card in (("first", first), ("second", second)):
        print_text(console, f"{name}: {card.signature}, {card.date}")
        for line in _unchanged(card):
            print_text(console, line, margin=2)
    for family in FAMILIES:
        group = [one for one in pairs if one.first.family == family]
        print_text(console, f"\n{_title(family)}: {MEANINGS[family]}")
        rows = (_compared(one) for one in sorted(group, key=lambda one: not one.first.edit))
        print_table(console, ["", "first", "second", "second - first", "p"], rows)
    paired = "p: exact McNemar test over the cases that count in both."
    same = first.cases == second.cases
    print_text(console, paired if same else "The probes used different cases: no test.")


def _compared(one: Compared) -> list[str]:
    values = one.first.rate.value, one.second.rate.value
    difference = "-" if None in values else f"{(values[1] or 0) - (values[0] or 0):+.3f}"
    return [_name(one.first), *map(as_text, values), difference, as_text(one.p)]


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
    whole = card.family(family)
    print_text(console, f"\n{_title(family)}: {MEANINGS[family]}")
    if not whole.rate.n:
        errors = f"no edited case has a verdict{_reasons(whole.no_verdict)}"
        print_text(console, f"not measured: {errors if whole.no_verdict else UNMEASURED[family]}")
        return
    columns = ["", "n", HAPPENED[family], "95 %", "noise", "p", "unfit", "no verdict", "skipped"]
    edits = [each for each in card.edits if each.family == family]
    print_table(console, columns, [_cells(each) for each in (*edits, whole) if each.rate.n])
    unused = [each.edit for each in edits if not each.rate.n]
    if unused:
        print_text(console, f"applied to no case that counts: {', '.join(unused)}")
    if whole.no_verdict:
        print_text(console, f"no verdict{_reasons(whole.no_verdict)}")


def _cells(each: EditFigures) -> list[str]:
    counts = each.n_unfit, sum(each.no_verdict.values()), each.n_skipped
    significant = "*" if each.p is not None and each.p < SIGNIFICANT else " "
    p = "-" if each.p is None else f"{each.p:.3f}{significant}"
    rate, noise = as_text(each.rate.value), as_text(each.noise.value)
    return [_name(each), str(each.rate.n), rate, _interval(each.rate).strip(), noise, p, *map(str, counts)]


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
    print_text(console, f"\n{FAILURES[family]}: {each.trial.case.id}", style="bold")
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
