"""Verdicts without anything else: the reply is a number or a label."""

from __future__ import annotations

import re
from dataclasses import dataclass

from groundjudge.replies.format import NOTHING_ELSE, Asked, Reading, no_schema, score_of_value
from groundjudge.replies.opening import opened
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, said
from groundjudge.scale import Scale

FENCED = re.compile(r"\s*```\w*\n([^`]*)```\s*")


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
        text = opened(reply)
        fenced = FENCED.fullmatch(text.text)
        return Reader(text, scale, asked).verdict([fenced.span(1) if fenced else (0, len(text.text))])[1]

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the number or the label."""
        return said(reading)
