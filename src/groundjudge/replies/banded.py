"""Verdicts in three labelled parts: `Analysis:`, `Level:` and `Score:`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from groundjudge.replies.format import NOTHING_ELSE, Asked, Reading, no_schema, score_of_value
from groundjudge.replies.labelled import fields, label_pattern, one_line, verdict
from groundjudge.replies.opening import opened
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, said
from groundjudge.scale import Scale

BANDED = label_pattern(("Analysis", "Level", "Score"))


@dataclass(frozen=True)
class Banded:
    """Reads the number or the label after `Score:`, and the level that the reply names after `Level:`."""

    part_names = ()
    parts_are_sentences = False
    score = score_of_value
    schema = no_schema

    def read(self, reply: Reply, scale: Scale, asked: Asked = NOTHING_ELSE) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: there is no score, there are several that differ or more behind it (`ambiguous`), or
                it cannot be read.
        """
        text = opened(reply, BANDED)
        found = fields(text.text, BANDED)
        _, score = verdict(Reader(text, scale, asked), [each for each in found if each.label == "score"])
        texts = {each.label: text.slice(each.start, each.end) for each in found}
        return replace(score, reason=texts.get("analysis", ""), level=texts.get("level", ""))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the three labelled parts, one line each."""
        analysis, level = one_line(reading.reason), one_line(reading.level)
        return f"Analysis: {analysis}\nLevel: {level}\nScore: {said(reading)}"
