"""Verdicts as weighted sums of two adjacent scores: `(3 * 0.7) + (4 * 0.3)`, recomputed from the formula."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, zip_longest
from math import floor
from statistics import harmonic_mean
from typing import Any

from groundjudge.errors import WHAT_IS_WRONG, ReplyError
from groundjudge.replies.folded import Folded
from groundjudge.replies.labelled import Field, fields, first_line, label_pattern, one_line
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.place import is_placeholder
from groundjudge.replies.reading import PartReading, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.score import decimal, ends_in_number, number, on_scale, written
from groundjudge.scale import Scale

STEPS = ("Reasoning", "Formula", "Weighted_Summed_Score")
SUM_TOLERANCE = 0.05
"""How far the stated sum may be from the computed one, in points of the scale."""

SHARE_TOLERANCE = 0.01
"""How far the sum of the shares may be from 1."""

_NUMBER = r"(?:[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)"
_TERM = rf"[(\[]? ?({_NUMBER}) ?(?:[*×xX·∗⋅]|\\times|\\cdot) ?({_NUMBER}) ?(\\?%)? ?[)\]]?"
TERM = re.compile(_TERM)
# Behind the formula its sum may stand, in steps: "= 2.1 + 1.2 = 3.3".
_RESULT = rf" ?[=≈] ?[(]? ?{_NUMBER}(?: ?\+ ?{_NUMBER})*[) ]*"
FORMULA = re.compile(rf"(?P<formula>{_TERM}(?: ?\+ ?{_TERM})*)[)\] ]*(?P<rest>.*)")
RESULTS = re.compile(rf"(?:{_RESULT})*[.;,]?")


@dataclass(frozen=True)
class Adjacent:
    """Reads one weighted sum for each name in `names`; the headline score is their harmonic mean.

    Attributes:
        names: the names of the parts; their labels in the reply are the same in upper case, as in
            `RECALL_Formula`.
    """

    names: tuple[str, ...] = ("recall", "precision")

    parts_are_sentences: bool = field(default=False, init=False, repr=False)

    @property
    def part_names(self) -> tuple[str, ...]:
        """The same as `names`."""
        return self.names

    @cached_property
    def _order(self) -> Mapping[str, str]:
        """The labels in the order of the format, keyed by the names of their groups in the pattern."""
        labels = [f"{name.upper()}_{step}" for name in self.names for step in STEPS]
        return {f"label_{index}": label for index, label in enumerate(labels)}

    @cached_property
    def _labels(self) -> re.Pattern[str]:
        return label_pattern({group: (label,) for group, label in self._order.items()})

    @cached_property
    def _anywhere(self) -> re.Pattern[str]:
        """The labels with their underscores, also in the middle of a line."""
        ways = "|".join(f"(?P<{group}>{label})" for group, label in self._order.items())
        return re.compile(
            rf"(?<![A-Za-z_])(?P<_mark>)(?:{ways})[*_`]{{0,3}}[^\S\n]{{0,3}}:[*_`]{{0,3}}", re.IGNORECASE
        )

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply, with its labels on lines of their own or all on one line.

        Raises:
            ReplyError: a part has neither a formula nor a sum (`missing_score`), a formula does not
                weigh one score or two adjacent ones (`not_adjacent`), its shares do not add up to 1
                (`bad_distribution`), there are verdicts that differ or of which one is incomplete
                (`ambiguous`), or a number cannot be read.
        """
        folded = opened(reply, self._anywhere)
        found = fields(folded.text, self._labels)
        if len(found) < len(self._order):
            in_line = fields(folded.text, self._anywhere)
            found = in_line if [field.label for field in in_line] == [*self._order] else found
        if not found:
            raise unread(reply)
        if is_cut_off(reply) and (
            found[-1].label != [*self._order][-1] or ends_in_number(folded.text[found[-1].start :])
        ):
            raise ReplyError("truncated", reply.text)
        *others, last = self._verdicts(found)
        if others and len(last) < len(self._order):
            message = "labels are repeated, but the last verdict lacks some of them"
            raise ReplyError("ambiguous", reply.text, message)
        parts, warnings = self._parts(folded, last, scale, reply)
        values = [part.value for part in parts]
        if any(self._values(folded, verdict, scale, reply) != values for verdict in others):
            raise ReplyError("ambiguous", reply.text)
        return Reading(None, parts=tuple(parts), warnings=tuple(dict.fromkeys(warnings)))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write three lines for each part: the reasoning, the formula and its sum."""
        return "\n".join(map(_lines, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The harmonic mean of the parts' scores, 0..1: 0 when one of them is 0."""
        return harmonic_mean([scale.score(part.value or 0.0) for part in reading.parts])

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  required by the protocol
        """None: the reply is not JSON."""
        return None

    def _verdicts(self, found: Sequence[Field]) -> list[Sequence[Field]]:
        """The fields grouped by verdict. If no label is repeated there is one verdict, in any order."""
        if len({field.label for field in found}) == len(found):
            return [found]
        rank = {group: index for index, group in enumerate(self._order)}
        starts = [
            index
            for index, field in enumerate(found)
            if not index or rank[field.label] <= rank[found[index - 1].label]
        ]
        return [found[start:end] for start, end in zip_longest(starts, starts[1:])]

    def _parts(
        self, folded: Folded, verdict: Sequence[Field], scale: Scale, reply: Reply
    ) -> tuple[list[PartReading], list[str]]:
        """The parts of one verdict, and the warnings about its sums."""
        by_label = {self._order[field.label]: field for field in verdict}
        parts: list[PartReading] = []
        warnings: list[str] = []
        for name in self.names:
            reasoning, formula, stated = (by_label.get(f"{name.upper()}_{step}") for step in STEPS)
            value, warning = _value(_line(folded, formula), _line(folded, stated), scale, reply, name)
            reason = folded.slice(reasoning.start, reasoning.end).strip() if reasoning else ""
            parts.append(PartReading(name, value, reason))
            warnings.extend(warning)
        return parts, warnings

    def _values(
        self, folded: Folded, verdict: Sequence[Field], scale: Scale, reply: Reply
    ) -> list[float | None]:
        """The values of one verdict; [] if it cannot be read."""
        try:
            return [part.value for part in self._parts(folded, verdict, scale, reply)[0]]
        except ReplyError:
            return []


def _line(folded: Folded, field: Field | None) -> str:
    return first_line(folded.text[field.start : field.end]) if field else ""


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


def _value(formula: str, stated: str, scale: Scale, reply: Reply, name: str) -> tuple[float, list[str]]:
    """The value, recomputed from the formula if there is one, and the warnings about the stated sum."""
    if any(character.isdigit() for character in formula):
        value = weighted_sum(formula, scale, reply, name)
        agrees = not stated or _agrees(stated, value, scale, reply)
        return value, [] if agrees else ["weighted_sum_mismatch"]
    if not stated or is_placeholder(stated, scale):
        raise unread(reply, "missing_score", f"{name} has neither a formula nor a weighted sum")
    return number(stated, scale, reply, name), ["formula_missing"]


def _agrees(stated: str, value: float, scale: Scale, reply: Reply) -> bool:
    result = stated.rpartition("=")[2]  # some replies repeat the formula before the sum
    try:
        return abs(number(result, scale, reply) - value) <= SUM_TOLERANCE
    except ReplyError:
        return False


def weighted_sum(formula: str, scale: Scale, reply: Reply, name: str) -> float:
    """Compute the value of a formula, such as 3.3 for `(3 * 0.7) + (4 * 0.3)`.

    Shares may be fractions or percentages, with or without the percent sign.

    Raises:
        ReplyError: `not_a_number`, `ambiguous`, `out_of_scale`, `not_adjacent` or `bad_distribution`.
    """

    def error(code: str) -> ReplyError:
        return ReplyError(
            code, reply.text, f"{WHAT_IS_WRONG[code]}: the formula of {name} is {formula.strip()[:80]!r}"
        )

    # Single spaces keep the patterns fast. Markdown, LaTeX and outer brackets are not part of the formula.
    whole = FORMULA.fullmatch(" ".join(formula.split()).strip(" *_`$\\[]()"))
    if not whole:
        raise error("not_a_number")
    if not RESULTS.fullmatch(whole["rest"].rstrip("*_`$\\[]() ")):
        raise error("ambiguous" if any(map(str.isdigit, whole["rest"])) else "not_a_number")
    terms = TERM.findall(whole["formula"])
    scores = [on_scale(decimal(score), scale, error) for score, _, _ in terms]
    shares = _shares(terms)
    steps = [abs(after - before) for before, after in pairwise(scores)]
    if any(score % 1 for score in scores) or steps not in ([], [1]):
        raise error("not_adjacent")
    if abs(sum(shares) - 1) > SHARE_TOLERANCE:
        raise error("bad_distribution")
    total = sum(score * share for score, share in zip(scores, shares, strict=True)) / sum(shares)
    return round(total, 9)


def _shares(terms: Sequence[tuple[str, str, str]]) -> list[float]:
    shares = [decimal(share) / (100 if percent else 1) for _, share, percent in terms]
    if sum(shares) > 1 + SHARE_TOLERANCE:  # percentages without the sign
        return [share / 100 for share in shares]
    return shares
