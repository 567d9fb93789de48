"""Verdicts without anything else: the reply is a number or a label."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from groundjudge.errors import ReplyError
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.place import Mark, is_placeholder, mark
from groundjudge.replies.reading import Reading
from groundjudge.replies.reply import Reply
from groundjudge.scale import Scale

NOTHING = re.compile(r"(?!)")
"""Matches nowhere: the format has no tags and no labels of its own."""

WORDS = re.compile(r"[^\W\d_]{2,}")
OUT_OF = re.compile(r"\bout\s+of\b", re.IGNORECASE)


@dataclass(frozen=True)
class Plain:
    """Reads a reply that is the verdict and nothing else, for example "Yes"; reasoning may precede it.

    It serves models that were trained to answer so: MiniCheck, Granite Guardian and others.
    """

    part_names: tuple[str, ...] = field(default=(), init=False, repr=False)
    parts_are_sentences: bool = field(default=False, init=False, repr=False)

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: the reply is not a number or a label of the scale, or it says more than that.
        """
        text = opened(reply, NOTHING)
        if is_cut_off(reply) or is_placeholder(text.text, scale):
            raise unread(reply)
        try:
            found = mark(text.text, scale, reply)
        except ReplyError as error:
            raise unread(reply, error.code, error.message) from error
        if not scale.choices and WORDS.search(OUT_OF.sub("", text.text)):
            message = f"the reply must be one number on {scale} and nothing else"
            raise unread(reply, "not_a_number", message)
        return Reading(found.value, label=found.label, span=text.span(0))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the number or the label."""
        return str(Mark(reading.value, reading.label))

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The position of the value on the scale, 0..1; None for a label that means "not applicable"."""
        return None if reading.value is None else scale.score(reading.value)

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  required by the protocol
        """None: the reply is not JSON."""
        return None
