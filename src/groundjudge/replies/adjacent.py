"""Verdicts as weighted sums of two adjacent scores: `(3 * 0.7) + (4 * 0.3)`. The arithmetic is ours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from math import floor
from statistics import harmonic_mean
from typing import Any, ClassVar

from groundjudge.errors import WHAT_IS_WRONG, ReplyError
from groundjudge.replies.folded import Folded
from groundjudge.replies.labelled import Field, fields, first_line, label_pattern, one_line
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.reading import PartReading, Reading
from groundjudge.replies.score import decimal, ends_in_number, is_placeholder, number, on_scale, written
from groundjudge.reply import Reply
from groundjudge.verdict import Scale

STEPS = ("Reasoning", "Formula", "Weighted_Summed_Score")
SUM_TOLERANCE = 0.05
SHARE_TOLERANCE = 0.01

_NUMBER = r"(?:[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)"
_TERM = rf"[(\[]? ?({_NUMBER}) ?(?:[*×xX·∗⋅]|\\times|\\cdot) ?({_NUMBER}) ?(\\?%)? ?[)\]]?"
TERM = re.compile(_TERM)
FORMULA = re.compile(rf"({_TERM}(?: ?\+ ?{_TERM})*)[)\] ]*(?:[=≈].*)?")


@dataclass(frozen=True)
class Adjacent:
    """Reads one weighted sum for each of the names; the headline is their harmonic mean."""

    names: tuple[str, ...] = ("recall", "precision")

    parts_are_sentences: ClassVar[bool] = False

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names."""
        return self.names

    @cached_property
    def _order(self) -> Mapping[str, str]:
        """The labels in the order of the format, by the names of their groups in the pattern."""
        labels = [f"{name.upper()}_{step}" for name in self.names for step in STEPS]
        return {f"label_{index}": label for index, label in enumerate(labels)}

    @cached_property
    def _labels(self) -> re.Pattern[str]:
        return label_pattern({group: (label,) for group, label in self._order.items()})

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply; of two verdicts the last counts.

        Raises:
            ReplyError: a name has neither formula nor sum (`missing_score`), its formula weighs
                other than one or two adjacent scores (`not_adjacent`) or with shares that do not add
                up to 1 (`bad_distribution`), or labels stand so mixed up that nobody can say which
                line belongs to which verdict (`ambiguous`).
        """
        folded = opened(reply, self._labels)
        found = fields(folded.text, self._labels)
        if not found:
            raise unread(reply)
        if is_cut_off(reply) and (
            found[-1].label != [*self._order][-1] or ends_in_number(folded.text[found[-1].start :])
        ):
            raise ReplyError("truncated", reply.text)
        *earlier, last = self._runs(found)
        if earlier and len(last) < len(self._order):
            raise ReplyError(
                "ambiguous", reply.text, "labels are repeated, but the last verdict lacks some of them"
            )
        parts, warnings = self._parts(folded, last, scale, reply)
        if any(self._values(folded, run, scale, reply) != [part.value for part in parts] for run in earlier):
            warnings.append("several_verdicts")
        return Reading(None, parts=tuple(parts), warnings=tuple(dict.fromkeys(warnings)))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  the protocol's
        """Write three lines for each part: why, the formula and what it adds up to."""
        return "\n".join(map(_lines, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float:
        """The harmonic mean, 0..1: no better than twice the weakest, and 0 when one is 0."""
        return harmonic_mean([scale.score(part.value) for part in reading.parts])

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  the protocol's
        """None: the reply is not JSON."""
        return None

    def _runs(self, found: Sequence[Field]) -> list[Sequence[Field]]:
        """The fields verdict by verdict. Without a repeated label all are one, in whatever order."""
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
        self, folded: Folded, run: Sequence[Field], scale: Scale, reply: Reply
    ) -> tuple[list[PartReading], list[str]]:
        lines = {self._order[field.label]: field for field in run}
        parts: list[PartReading] = []
        warnings: list[str] = []
        for name in self.names:
            reasoning, formula, stated = (lines.get(f"{name.upper()}_{step}") for step in STEPS)
            value, warning = _value(
                first_line(folded.text[formula.start : formula.end]) if formula else "",
                first_line(folded.text[stated.start : stated.end]) if stated else "",
                scale,
                reply,
                name,
            )
            parts.append(
                PartReading(
                    name, value, folded.slice(reasoning.start, reasoning.end).strip() if reasoning else ""
                )
            )
            warnings.extend(warning)
        return parts, warnings

    def _values(self, folded: Folded, run: Sequence[Field], scale: Scale, reply: Reply) -> list[float]:
        try:
            return [part.value for part in self._parts(folded, run, scale, reply)[0]]
        except ReplyError:
            return []


def _lines(part: PartReading) -> str:
    reasoning, formula, total = (f"{part.name.upper()}_{step}" for step in STEPS)
    return (
        f"{reasoning}: {one_line(part.reason)}\n"
        f"{formula}: {_formula(part.value)}\n"
        f"{total}: {written(part.value)}"
    )


def _formula(value: float) -> str:
    """A value as a whole score, or as two adjacent ones with their shares."""
    low = floor(value)
    share = round(value - low, 9)
    if not share:
        return f"({low} * 1.0)"
    return f"({low} * {written(round(1 - share, 9))}) + ({low + 1} * {written(share)})"


def _value(formula: str, stated: str, scale: Scale, reply: Reply, name: str) -> tuple[float, list[str]]:
    """The value, recomputed from the formula where there is one, and a warning where the sum is off."""
    if any(character.isdigit() for character in formula):
        value = weighted_sum(formula, scale, reply, name)
        agrees = not stated or _stated(stated, value, scale, reply)
        return value, [] if agrees else ["weighted_sum_mismatch"]
    if not stated or is_placeholder(stated):
        raise unread(reply, "missing_score", f"{name} has neither a formula nor a weighted sum")
    return number(stated, scale, reply, name), ["formula_missing"]


def _stated(stated: str, value: float, scale: Scale, reply: Reply) -> bool:
    result = stated.rpartition("=")[2]  # some repeat the formula ahead of it
    try:
        return abs(number(result, scale, reply) - value) <= SUM_TOLERANCE
    except ReplyError:
        return False


def weighted_sum(formula: str, scale: Scale, reply: Reply, name: str) -> float:
    """Multiply out a formula.

    Raises:
        ReplyError: `not_a_number`, `out_of_scale`, `not_adjacent` or `bad_distribution`.
    """

    def error(code: str) -> ReplyError:
        return ReplyError(
            code, reply.text, f"{WHAT_IS_WRONG[code]}: the formula of {name} is {formula.strip()[:80]!r}"
        )

    # Single spaces keep the pattern quick; Markdown, LaTeX and outer brackets are no part of a formula.
    whole = FORMULA.fullmatch(" ".join(formula.split()).strip(" *_`$\\[]()"))
    if not whole:
        raise error("not_a_number")
    terms = TERM.findall(whole[1])
    scores = [on_scale(decimal(score), scale, error) for score, _, _ in terms]
    shares = [decimal(share) / (100 if percent else 1) for _, share, percent in terms]
    if sum(shares) > 1 + SHARE_TOLERANCE:  # percent without its sign
        shares = [share / 100 for share in shares]
    steps = [abs(after - before) for before, after in pairwise(scores)]
    if any(score % 1 for score in scores) or steps not in ([], [1]):
        raise error("not_adjacent")
    if abs(sum(shares) - 1) > SHARE_TOLERANCE:
        raise error("bad_distribution")
    total = sum(score * share for score, share in zip(scores, shares, strict=True)) / sum(shares)
    return round(total, 9)
