"""Verdicts without anything else: the reply is a number or a label."""

from __future__ import annotations

import re
from dataclasses import dataclass

from groundjudge.replies.format import no_schema, score_of_value
from groundjudge.replies.opening import opened
from groundjudge.replies.reading import NOTHING_ELSE, Asked, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Expected, ParsedValue
from groundjudge.scale import Scale

# Matches nowhere: the format has no tags and no labels of its own.
NOTHING = re.compile(r"(?!)")

FENCED = re.compile(r"\s*```\w*\n(?P<inside>[^`]*)```\s*|(?P<whole>.*)", re.DOTALL)


@dataclass(frozen=True)
class Plain:
    """Reads a reply that is the verdict and nothing else, for example "Yes"; reasoning may precede it.

    It serves models that were trained to answer so: MiniCheck, Granite Guardian and others.
    """

    part_names = ()
    parts_are_sentences = False
    score = score_of_value
    schema = no_schema

    def read(self, reply: Reply, scale: Scale, asked: Asked = NOTHING_ELSE) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: the reply is not a number or a label of the scale, or it says more than that.
        """
        expected = Expected(reply, scale, asked)
        text = opened(reply, NOTHING)
        match = FENCED.fullmatch(text.text)
        start, stop = match.span(match.lastgroup or 0) if match else (0, 0)
        _, found = expected.agreed([text.text[start:stop]])
        return Reading(found.value, label=found.label, span=expected.found(text, start, stop))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the number or the label."""
        return str(ParsedValue(reading.value, reading.label))
