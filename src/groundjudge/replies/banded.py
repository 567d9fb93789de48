"""Verdicts in three labelled parts: `Analysis:`, `Level:`, `Score:`. The score decides."""

from __future__ import annotations

from dataclasses import dataclass

from groundjudge.errors import ReplyError
from groundjudge.model import Reply
from groundjudge.replies.reading import Reading
from groundjudge.replies.text import (
    ends_in_number,
    fields,
    first_line,
    is_cut_off,
    is_placeholder,
    label_pattern,
    number,
    opened,
    same_number,
    unread,
)
from groundjudge.verdict import Scale

LABELS = label_pattern(
    {"analysis": ("Analysis",), "level": ("Level",), "score": ("Score", "Final Score", "Overall Score")}
)


@dataclass(frozen=True)
class Banded:
    """Reads the number after `Score:`, and the level that the reply names beside it."""

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply; the last score counts.

        Raises:
            ReplyError: there is no score, or it cannot be read.
        """
        folded = opened(reply, LABELS)
        text = folded.text
        found = fields(text, LABELS)
        scores = [
            (index, place)
            for index, field in enumerate(found)
            if field.label == "score"
            and not is_placeholder(place := first_line(text[field.start : field.end]))
        ]
        if not scores:
            raise unread(reply)
        index, place = scores[-1]
        if is_cut_off(reply) and ends_in_number(text[found[index].start :]):
            raise ReplyError("truncated", reply.text)
        value = number(place, scale, reply)
        differ = any(not same_number(other, value, scale, reply) for _, other in scores[:-1])

        def before(label: str) -> str:
            field = next((field for field in reversed(found[:index]) if field.label == label), None)
            return folded.slice(field.start, field.end).strip() if field else ""

        return Reading(
            value, before("analysis"), level=before("level"), warnings=("several_verdicts",) if differ else ()
        )
