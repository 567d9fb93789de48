"""Verdicts in three labelled parts: `Analysis:`, `Level:`, `Score:`. The score decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from groundjudge.errors import ReplyError
from groundjudge.replies.folded import Folded
from groundjudge.replies.labelled import Field, fields, first_line, label_pattern, one_line
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.place import Mark, is_placeholder, may_go_on, one_mark
from groundjudge.replies.reading import Reading
from groundjudge.replies.reply import Reply
from groundjudge.scale import Scale

LABELS = label_pattern(
    {"analysis": ("Analysis",), "level": ("Level",), "score": ("Score", "Final Score", "Overall Score")}
)


@dataclass(frozen=True)
class Banded:
    """Reads the number or the label after `Score:`, and the level that the reply names after `Level:`."""

    part_names: tuple[str, ...] = field(default=(), init=False, repr=False)
    parts_are_sentences: bool = field(default=False, init=False, repr=False)

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: there is no score, there are several that differ (`ambiguous`), or it cannot be
                read.
        """
        folded = opened(reply, LABELS)
        found = fields(folded.text, LABELS)
        scores = [field for field in found if field.label == "score"]
        places = [first_line(folded.text[field.start : field.end]) for field in scores]
        places = [place for place in places if not is_placeholder(place, scale)]
        if not places:
            raise unread(reply)
        last = scores[-1]
        if is_cut_off(reply) and may_go_on(folded.text[last.start :], scale):
            raise ReplyError("truncated", reply.text)
        value, label = one_mark(places, scale, reply)
        before = found[: found.index(last)]
        analysis, level = _last(folded, before, "analysis"), _last(folded, before, "level")
        return Reading(value, analysis, level=level, label=label, span=folded.span(last.start, last.end))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the three labelled parts, one line each."""
        return (
            f"Analysis: {one_line(reading.reason)}\n"
            f"Level: {one_line(reading.level)}\n"
            f"Score: {Mark(reading.value, reading.label)}"
        )

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The position of the value on the scale, 0..1; None for a label that means "not applicable"."""
        return None if reading.value is None else scale.score(reading.value)

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  required by the protocol
        """None: the reply is not JSON."""
        return None


def _last(folded: Folded, found: Sequence[Field], label: str) -> str:
    """The raw content of the last field with that label; "" if there is none."""
    field = next((field for field in reversed(found) if field.label == label), None)
    return folded.slice(field.start, field.end).strip() if field else ""
