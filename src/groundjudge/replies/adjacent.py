"""Verdicts as weighted sums of two adjacent scores: `(3 * 0.7) + (4 * 0.3)`, recomputed from the formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import floor
from statistics import harmonic_mean

from groundjudge.errors import ReplyError
from groundjudge.replies.format import PartReading, Place, Reading
from groundjudge.replies.labelled import LabelledLines
from groundjudge.replies.reading import last_text
from groundjudge.replies.value import LONGEST, Reader, parse_number, write_number
from groundjudge.scale import Scale
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.printable import one_line

REASONING, FORMULA, SUM = "Reasoning", "Formula", "Weighted_Summed_Score"
# How far the stated sum may be from the computed one, in points on the scale.
SUM_TOLERANCE = 0.05

# How far the sum of the shares may be from 1.
SHARE_TOLERANCE = 0.01

# Decimal places of a weighted sum: beyond these there is only floating-point noise.
DIGITS_OF_SUM = 9

_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_TERM = rf"\s*\(\s*({_NUMBER})\s*[*×·xX]\s*({_NUMBER})\s*(%?)\s*\)\s*"
TERM = compile_when_used(_TERM)
# The products and the sum may follow "=": (3 * 0.7) + (4 * 0.3) = 2.1 + 1.2 = 3.3.
WEIGHTED_SUM = compile_when_used(
    rf"{_TERM}(?:\+{_TERM})*(?:=\s*{_NUMBER}\s*(?:\+\s*{_NUMBER}\s*)*)*\.?",
)


@dataclass(frozen=True)
class Adjacent(LabelledLines):
    """Reads one weighted sum for each name in `names`; the headline score is their harmonic mean.

    Attributes:
        names: the names of the parts; their labels in the reply are the same in upper case, as in
            `RECALL_Formula`.
    """

    names: tuple[str, ...] = ("recall", "precision")

    @property
    def part_names(self) -> tuple[str, ...]:
        """The same as `names`."""
        return self.names

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the sums."""
        return tuple(f"{name}_{SUM}" for name in self.names)

    def kinds(self) -> Mapping[str, str]:
        """Return what follows each label."""
        kinds: dict[str, str] = {}
        for name in self.names:
            kinds[f"{name}_{REASONING}"] = "reason"
            kinds[f"{name}_{FORMULA}"] = kinds[f"{name}_{SUM}"] = "value"
        return kinds

    def read_places(self, reader: Reader, places: Sequence[Place]) -> Reading:
        """Read the parts.

        Raises:
            ReplyError: a part has neither a formula nor a sum (`missing_score`), a formula does not
                weight one score or two adjacent ones (`not_adjacent`), its shares do not add up to 1
                (`bad_distribution`), verdicts differ, something follows one, or there is a second reasoning
                (`ambiguous`), or a number cannot be read.
        """
        if not any(place.label for place in places):
            raise reader.make_error("no_verdict")
        parts_and_warnings = [_read_part(name, places, reader) for name in self.names]
        parts = tuple(part for part, _ in parts_and_warnings)
        # Several parts may have the same warning.
        warnings = dict.fromkeys(warning for _, warning in parts_and_warnings if warning)
        return Reading(None, parts=parts, warnings=tuple(warnings))

    def write_reply(self, reading: Reading) -> str:
        """Write three lines for each part: the reasoning, the formula and its sum."""
        return "\n".join(map(_write_part, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """Return the harmonic mean of the parts' scores, 0..1: 0 if any of them is 0."""
        # None and -0.0 are scored as 0.
        return harmonic_mean([scale.score(part.value or 0.0) for part in reading.parts])


def _read_part(name: str, places: Sequence[Place], reader: Reader) -> tuple[PartReading, str]:
    """Read the part with a name; return it and the warning about its sum, "" if there is none.

    The formula decides. The stated sum is only compared with it, unless there is no formula.
    """

    def lines_with(label: str) -> list[Place]:
        return [place for place in places if place.label == f"{name}_{label}"]

    reasons, sums = lines_with(REASONING), lines_with(SUM)
    formulas = [line for line in lines_with(FORMULA) if reader.text_of(line).strip()]  # a blank one is none
    if not formulas and not sums:
        raise reader.make_error("missing_score", part_name=name)
    # A judge that gives a sum alone may quote a document that gives a formula, and then this label again: it
    # would turn the judge's own words into another reasoning.
    if len(reasons) > 1:
        raise reader.make_error("ambiguous", reader.reply.slice(*reasons[-1].content), name)
    reason = last_text(reader, reasons, "reason")
    if not formulas:
        _, stated = reader.read_verdict(sums, name)
        return PartReading(name, stated.value, reason), "formula_missing"
    values = {_compute_sum(formula, reader, name) for formula in formulas}
    stated_sums = {reader.read_place(reader.text_of(place)) for place in sums}
    if len(values) > 1 or len(stated_sums) > 1 or any(map(reader.has_below, sums)):
        raise reader.make_error("ambiguous", part_name=name)
    value = values.pop()
    part = PartReading(name, value, reason)
    if not sums:
        return part, ""
    with suppress(ReplyError):  # an unreadable stated sum counts as a mismatch
        _, stated = reader.read_verdict(sums)
        if stated.value is not None and abs(stated.value - value) <= SUM_TOLERANCE:
            return part, ""
    return part, "weighted_sum_mismatch"


def _compute_sum(formula: Place, reader: Reader, name: str) -> float:
    """Compute the value of a formula, such as 3.3 for `(3 * 0.7) + (4 * 0.3)`.

    Raises:
        ReplyError: `ambiguous`, `out_of_scale`, `not_adjacent` or `bad_distribution`.
    """
    place = reader.text_of(formula).strip()
    # Emphasis around a formula is not folded, because there are asterisks inside it.
    for mark in ("***", "**", "*"):
        if place.startswith(f"{mark}(") and place.endswith(f"){mark}"):
            place = place[len(mark) : -len(mark)]
    misfit = ReplyError("not_adjacent", reader.reply.raw, quotes=(place,))
    if reader.has_below(formula):
        raise reader.make_error("ambiguous", place, name)
    if len(place) > LONGEST or not WEIGHTED_SUM.fullmatch(place):
        raise misfit
    scores: list[float] = []
    shares: list[float] = []
    for score, share, percent in TERM.findall(place):
        scores.append(parse_number(score))
        shares.append(parse_number(share) / (100 if percent else 1))
    if not all(map(reader.scale.holds, scores)):
        raise reader.make_error("out_of_scale", place, name)
    are_whole = all(score % 1 == 0 for score in scores)
    are_neighbours = len(scores) <= 2 and max(scores) - min(scores) == len(scores) - 1  # noqa: PLR2004
    if not are_whole or not are_neighbours:
        raise misfit
    if abs(sum(shares) - 1) > SHARE_TOLERANCE:
        raise ReplyError("bad_distribution", reader.reply.raw, quotes=(place,))
    weighted = sum(score * share for score, share in zip(scores, shares, strict=True))
    return round(weighted / sum(shares), DIGITS_OF_SUM)


def _write_part(part: PartReading) -> str:
    """Write three lines; the formula has one whole score, or two adjacent scores with their shares."""
    value = part.value or 0.0  # None and -0.0 are written as 0
    low = floor(value)
    share = round(value - low, DIGITS_OF_SUM)
    formula = f"({low} * 1.0)"
    if share:
        rest = round(1 - share, DIGITS_OF_SUM)
        formula = f"({low} * {write_number(rest)}) + ({low + 1} * {write_number(share)})"
    name = part.name.upper()
    return (
        f"{name}_{REASONING}: {one_line(part.reason)}\n"
        f"{name}_{FORMULA}: {formula}\n"
        f"{name}_{SUM}: {write_number(value)}"
    )
