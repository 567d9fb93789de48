"""Verdicts in three labelled parts: `Analysis:`, `Level:`, `Score:`. The score decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from groundjudge.errors import ReplyError
from groundjudge.replies.folded import Folded
from groundjudge.replies.labelled import Field, fields, first_line, label_pattern, one_line
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.reading import Reading
from groundjudge.replies.score import ends_in_number, is_placeholder, one_number, written
from groundjudge.reply import Reply
from groundjudge.verdict import Scale

LABELS = label_pattern(
    {"analysis": ("Analysis",), "level": ("Level",), "score": ("Score", "Final Score", "Overall Score")}
)


@dataclass(frozen=True)
class Banded:
    """Reads the number after `Score:`, and the level that the reply names after `Level:`."""

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
        places = [place for place in places if not is_placeholder(place)]
        if not places:
            raise unread(reply)
        if is_cut_off(reply) and ends_in_number(folded.text[scores[-1].start :]):
            raise ReplyError("truncated", reply.text)
        value = one_number(places, scale, reply)
        before = found[: found.index(scores[-1])]
        return Reading(value, _last(folded, before, "analysis"), level=_last(folded, before, "level"))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the three labelled parts, one line each."""
        return (
            f"Analysis: {one_line(reading.reason)}\n"
            f"Level: {one_line(reading.level)}\n"
            f"Score: {written(reading.value or 0.0)}"
        )

    def score(self, reading: Reading, scale: Scale) -> float:
        """The position of the value on the scale, 0..1."""
        return scale.score(reading.value or 0.0)

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  required by the protocol
        """None: the reply is not JSON."""
        return None


def _last(folded: Folded, found: Sequence[Field], label: str) -> str:
    """The raw content of the last field with that label; "" if there is none."""
    field = next((field for field in reversed(found) if field.label == label), None)
    return folded.slice(field.start, field.end).strip() if field else ""
