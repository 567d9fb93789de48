"""Verdicts in three labelled parts: `Analysis:`, `Level:`, `Score:`. The score decides."""

from __future__ import annotations

from dataclasses import dataclass

from groundjudge.replies.format import no_schema, score_of_value
from groundjudge.replies.labelled import fields, label_pattern, one_line, verdict
from groundjudge.replies.opening import opened
from groundjudge.replies.reading import NOTHING_ELSE, Asked, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Expected, ParsedValue
from groundjudge.scale import Scale

LABELS = label_pattern(("Analysis", "Level", "Score"))


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
        expected = Expected(reply, scale, asked)
        text = opened(reply, LABELS)
        found = fields(text.text, LABELS)
        score, value = verdict(text, [each for each in found if each.label == "score"], expected)
        said = {each.label: text.slice(each.start, each.end) for each in found if each.label != "score"}
        span = expected.found(text, score.start, score.stop)
        analysis, level = said.get("analysis", ""), said.get("level", "")
        return Reading(value.value, analysis, level=level, label=value.label, span=span)

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the three labelled parts, one line each."""
        return (
            f"Analysis: {one_line(reading.reason)}\n"
            f"Level: {one_line(reading.level)}\n"
            f"Score: {ParsedValue(reading.value, reading.label)}"
        )
