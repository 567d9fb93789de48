"""Verdicts as weighted sums of two adjacent scores: `(3 * 0.7) + (4 * 0.3)`, recomputed from the formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import floor
from statistics import harmonic_mean

from groundjudge.errors import ReplyError
from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, PartReading, Reading
from groundjudge.replies.labelled import Field, label_pattern, labelled_fields, one_line, spelt, verdict
from groundjudge.replies.opening import LETTER_OR_DIGIT
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import LONGEST, Reader, decimal, written
from groundjudge.scale import Scale

STEPS = ("Reasoning", "Formula", "Weighted_Summed_Score")
# How far the stated sum may be from the computed one, in points of the scale.
SUM_TOLERANCE = 0.05

# How far the sum of the shares may be from 1.
SHARE_TOLERANCE = 0.01

_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
TERM = re.compile(rf"\s*\(\s*({_NUMBER})\s*[*×·x]\s*({_NUMBER})\s*(%?)\s*\)\s*", re.IGNORECASE)
SUMS = re.compile(rf"\s*{_NUMBER}(?:\s*\+\s*{_NUMBER})*\s*")


@dataclass(frozen=True)
class Adjacent(Format):
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

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: a part has neither a formula nor a sum (`missing_score`), a formula does not
                weigh one score or two adjacent ones (`not_adjacent`), its shares do not add up to 1
                (`bad_distribution`), there are verdicts that differ or more behind one (`ambiguous`), or a
                number cannot be read.
        """
        labels = label_pattern(f"{name}_{step}" for name in self.names for step in STEPS)
        reader, found = labelled_fields(reply, labels, scale, expectation)
        if not found:
            raise reader.error("no_verdict")
        parts, warnings = zip(*(_part(name, found, reader) for name in self.names), strict=True)
        return Reading(None, parts=parts, warnings=tuple(dict.fromkeys(filter(None, warnings))))

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write three lines for each part: the reasoning, the formula and its sum."""
        return "\n".join(map(_lines, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The harmonic mean of the parts' scores, 0..1: 0 when one of them is 0."""
        return harmonic_mean([scale.score(part.value or 0.0) for part in reading.parts])


def _part(name: str, found: Sequence[Field], reader: Reader) -> tuple[PartReading, str]:
    """A part of that name, and the warning about its sum, if there is one."""
    reasons, formulas, sums = (
        [each for each in found if each.label == spelt(f"{name}_{step}")] for step in STEPS
    )
    reason = reasons[-1].text if reasons else ""
    formulas = [each for each in formulas if each.place.strip()]
    if not formulas and not sums:
        raise reader.error("missing_score", of=name)
    if not formulas:
        return PartReading(name, verdict(reader, sums, name)[1].value, reason), "formula_missing"
    value, *others = {_weighted_sum(each, reader, name) for each in formulas}
    if others or any(LETTER_OR_DIGIT.search(each.below) for each in sums):
        raise reader.error("ambiguous", of=name)
    with suppress(ReplyError):  # a stated sum that cannot be read is none
        if not sums or abs((verdict(reader, sums)[1].value or 0.0) - value) <= SUM_TOLERANCE:
            return PartReading(name, value, reason), ""
    return PartReading(name, value, reason), "weighted_sum_mismatch"


def _weighted_sum(formula: Field, reader: Reader, name: str) -> float:
    """Compute the value of a formula, such as 3.3 for `(3 * 0.7) + (4 * 0.3)`.

    Raises:
        ReplyError: `ambiguous`, `not_a_number`, `out_of_scale`, `not_adjacent` or `bad_distribution`.
    """
    place = formula.place.strip()
    formula_, *sums = place.removesuffix(".").split("=")
    terms = [TERM.fullmatch(term) for term in formula_.split("+")]
    is_read = all(terms) and all(map(SUMS.fullmatch, sums)) and len(place) <= LONGEST
    if not is_read or LETTER_OR_DIGIT.search(formula.below):
        raise reader.error(reader.misfit(place), place, name)
    scores = [decimal(term[1]) for term in terms if term]
    shares = [decimal(term[2]) / (100 if term[3] else 1) for term in terms if term]
    if not all(map(reader.scale.holds, scores)):
        raise reader.error("out_of_scale", place, name)
    if any(score % 1 for score in scores) or [abs(b - a) for a, b in pairwise(scores)] not in ([], [1]):
        raise ReplyError("not_adjacent", reader.text.raw, quotes=(place,))
    if abs(sum(shares) - 1) > SHARE_TOLERANCE:
        raise ReplyError("bad_distribution", reader.text.raw, quotes=(place,))
    return round(sum(score * share for score, share in zip(scores, shares, strict=True)) / sum(shares), 9)


def _lines(part: PartReading) -> str:
    """Three lines; the formula has the whole score, or the two adjacent scores with their shares."""
    value = part.value or 0.0
    low = floor(value)
    share = round(value - low, 9)
    two = f"({low} * {written(round(1 - share, 9))}) + ({low + 1} * {written(share)})"
    texts = (one_line(part.reason), two if share else f"({low} * 1.0)", written(value))
    return "\n".join(f"{part.name.upper()}_{step}: {text}" for step, text in zip(STEPS, texts, strict=True))
