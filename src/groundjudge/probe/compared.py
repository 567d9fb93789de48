"""Two cards of probes compared, edit by edit."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from groundjudge.probe.cases import ProbeError
from groundjudge.probe.figures import Card, EditFigures
from groundjudge.shares import mcnemar
from groundjudge.verdict import Frozen, Score


class Compared(Frozen):
    """One edit, or a family, in two probes.

    Attributes:
        first: its figures in the first probe.
        second: those in the second one.
        p: of the exact McNemar test over the cases that count in both; None for a family, and where the
            probes used different cases.
    """

    first: EditFigures
    second: EditFigures
    p: Score | None = None


def read_card(path: str | Path) -> Card:
    """Read a card that `groundjudge probe --card` wrote.

    Raises:
        ProbeError: `bad_card`.
        OSError: the file cannot be read.
    """
    try:
        return Card.model_validate_json(Path(path).read_bytes())
    except ValidationError as error:
        message = f"{path} is not a card written by `groundjudge probe --card`: {error.errors()[0]}"
        raise ProbeError("bad_card", message, str(path)) from error


def compare(first: Card, second: Card) -> list[Compared]:
    """Compare what two probes have in common: the families, then the edits.

    Raises:
        ProbeError: `other_judge`: the probes have no edit in common.
    """
    theirs = {(each.family, each.edit): each for each in (*second.families, *second.edits)}
    pairs = [
        (each, theirs[each.family, each.edit])
        for each in (*first.families, *first.edits)
        if (each.family, each.edit) in theirs
    ]
    if not any(one.edit for one, _ in pairs):
        message = f"the probes of {first.judge} and {second.judge} have no edit in common"
        raise ProbeError("other_judge", message, second.judge)
    is_paired = first.cases == second.cases
    return [
        Compared(first=one, second=other, p=_p(one, other) if is_paired else None) for one, other in pairs
    ]


def _p(first: EditFigures, second: EditFigures) -> float | None:
    common = first.events.keys() & second.events.keys()
    return mcnemar((first.events[name], second.events[name]) for name in common)
