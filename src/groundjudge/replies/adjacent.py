"""Verdicts as weighted sums of two adjacent scores: `(3 * 0.7) + (4 * 0.3)`, recomputed from the formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor
from statistics import harmonic_mean

from groundjudge.errors import ReplyError
from groundjudge.replies.format import no_schema
from groundjudge.replies.labelled import Field, fields, label_pattern, one_line, verdict
from groundjudge.replies.opening import Folded, opened
from groundjudge.replies.reading import NOTHING_ELSE, Asked, PartReading, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import LONGEST, Expected, decimal, written
from groundjudge.scale import Scale

STEPS = ("Reasoning", "Formula", "Weighted_Summed_Score")
# How far the stated sum may be from the computed one, in points of the scale.
SUM_TOLERANCE = 0.05

# How far the sum of the shares may be from 1.
SHARE_TOLERANCE = 0.01

_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_TERM = rf"\(\s*({_NUMBER})\s*[*×·x]\s*({_NUMBER})\s*(%?)\s*\)"
TERM = re.compile(_TERM, re.IGNORECASE)
FORMULA = re.compile(
    rf"{_TERM}(?:\s*\+\s*{_TERM})*(?P<sums>(?:\s*=\s*{_NUMBER}(?:\s*\+\s*{_NUMBER})*)*)", re.IGNORECASE
)


@dataclass(frozen=True)
class Adjacent:
    """Reads one weighted sum for each name in `names`; the headline score is their harmonic mean.

    Attributes:
        names: the names of the parts; their labels in the reply are the same in upper case, as in
            `RECALL_Formula`.
    """

    names: tuple[str, ...] = ("recall", "precision")

    parts_are_sentences = False
    schema = no_schema

    @property
    def part_names(self) -> tuple[str, ...]:
        """The same as `names`."""
        return self.names

    def read(self, reply: Reply, scale: Scale, asked: Asked = NOTHING_ELSE) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: a part has neither a formula nor a sum (`missing_score`), a formula does not
                weigh one score or two adjacent ones (`not_adjacent`), its shares do not add up to 1
                (`bad_distribution`), there are verdicts that differ or more behind one (`ambiguous`), or a
                number cannot be read.
        """
        labels = label_pattern(f"{name}_{step}" for name in self.names for step in STEPS)
        text = opened(reply, labels)
        found = fields(text.text, labels)
        expected = Expected(reply, scale, asked)
        if not found:
            raise expected.error("no_verdict")
        parts = [_part(name, text, found, expected) for name in self.names]
        warnings = dict.fromkeys(warning for _, warning in parts if warning)
        return Reading(None, parts=tuple(part for part, _ in parts), warnings=tuple(warnings))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write three lines for each part: the reasoning, the formula and its sum."""
        return "\n".join(map(_lines, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The harmonic mean of the parts' scores, 0..1: 0 when one of them is 0."""
        return harmonic_mean([scale.score(part.value or 0.0) for part in reading.parts])


def _part(name: str, text: Folded, found: Sequence[Field], expected: Expected) -> tuple[PartReading, str]:
    """A part of that name, and the warning about its sum, if there is one."""
    labels = [f"{name}_{step}".casefold().replace("_", " ") for step in STEPS]
    reasons, formulas, sums = ([each for each in found if each.label == label] for label in labels)
    reason = text.slice(reasons[-1].start, reasons[-1].end) if reasons else ""
    formulas = [each for each in formulas if text.text[each.start : each.end].strip()]
    if not formulas and not sums:
        raise expected.error("missing_score", of=name)
    if not formulas:
        return PartReading(name, verdict(text, sums, expected, name)[1].value, reason), "formula_missing"
    values = {_weighted_sum(text, each, expected, name) for each in formulas}
    if len(values) > 1 or any(text.says_something(each.stop, each.end) for each in sums):
        raise expected.error("ambiguous", of=name)
    (value,) = values
    return PartReading(name, value, reason), _disagreement(text, sums, value, expected)


def _disagreement(text: Folded, sums: Sequence[Field], value: float, expected: Expected) -> str:
    try:
        stated = verdict(text, sums, expected)[1].value or 0.0 if sums else value
    except ReplyError:
        return "weighted_sum_mismatch"
    return "" if abs(stated - value) <= SUM_TOLERANCE else "weighted_sum_mismatch"


def _weighted_sum(text: Folded, formula: Field, expected: Expected, name: str) -> float:
    """Compute the value of a formula, such as 3.3 for `(3 * 0.7) + (4 * 0.3)`.

    Raises:
        ReplyError: `ambiguous`, `not_a_number`, `out_of_scale`, `not_adjacent` or `bad_distribution`.
    """
    place = text.text[formula.start : formula.stop].strip()
    match = FORMULA.fullmatch(place.removesuffix(".")) if len(place) <= LONGEST else None
    if match is None or text.says_something(formula.stop, formula.end):
        code = "ambiguous" if any(map(str.isdigit, place)) else "not_a_number"
        raise expected.error(code, place[:LONGEST], name)
    terms = TERM.findall(place[: match.start("sums")])
    scores = [decimal(score) for score, _, _ in terms]
    shares = [decimal(share) / (100 if percent else 1) for _, share, percent in terms]
    if not all(map(expected.scale.holds, scores)):
        raise expected.error("out_of_scale", place, name)
    if any(score % 1 for score in scores) or [abs(b - a) for a, b in pairwise(scores)] not in ([], [1]):
        raise ReplyError("not_adjacent", expected.reply.text, quotes=(place,))
    if abs(sum(shares) - 1) > SHARE_TOLERANCE:
        raise ReplyError("bad_distribution", expected.reply.text, quotes=(place,))
    return round(sum(score * share for score, share in zip(scores, shares, strict=True)) / sum(shares), 9)


def _lines(part: PartReading) -> str:
    reasoning, formula, total = (f"{part.name.upper()}_{step}" for step in STEPS)
    return (
        f"{reasoning}: {one_line(part.reason)}\n"
        f"{formula}: {_formula(part.value or 0.0)}\n"
        f"{total}: {written(part.value or 0.0)}"
    )


def _formula(value: float) -> str:
    """A value as one whole score, or as two adjacent scores with their shares."""
    low = floor(value)
    share = round(value - low, 9)
    if not share:
        return f"({low} * 1.0)"
    return f"({low} * {written(round(1 - share, 9))}) + ({low + 1} * {written(share)})"
