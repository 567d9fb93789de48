"""Verdicts on a line of their own behind prose: `Final verdict: Inconsistent`, `Rating: [[5]]`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from groundjudge.replies.format import NOTHING_ELSE, Asked, Reading, no_schema, score_of_value
from groundjudge.replies.labelled import fields, label_pattern, verdict
from groundjudge.replies.opening import opened
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, said
from groundjudge.scale import Scale


@dataclass(frozen=True)
class Line:
    """Reads the number or the label on a labelled line; the explanation is the prose before it.

    Attributes:
        name: the label of the line, or several of which any may be used. It begins the line, and a colon
            follows unless it ends in a bracket, as `[RESULT]` does.
        brackets: whether the verdict stands in double brackets, as in `Rating: [[5]]`.
    """

    name: str | tuple[str, ...] = "Verdict"
    brackets: bool = False

    part_names = ()
    parts_are_sentences = False
    score = score_of_value
    schema = no_schema

    def read(self, reply: Reply, scale: Scale, asked: Asked = NOTHING_ELSE) -> Reading:
        """Read a reply. Prose may follow the verdict.

        Raises:
            ReplyError: there is no such line, there are several that differ (`ambiguous`), or it cannot be
                read.
        """
        labels = label_pattern(self._names)
        text = opened(reply, labels)
        lines = [each for each in fields(text.text, labels) if not self.brackets or "[[" in each.place]
        line, found = verdict(Reader(text, scale, asked, self._names), lines, prose_may_follow=True)
        return replace(found, reason=text.slice(text.start, line.begin))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation, with its labels made harmless, and the labelled line below it."""
        name = self._names[0]
        place = f"[[{said(reading)}]]" if self.brackets else said(reading)
        reason = label_pattern(self._names).sub(lambda match: f"> {match[0]}", reading.reason)
        return f"{reason}\n{name}{'' if name.endswith(']') else ':'} {place}".lstrip()

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.name,) if isinstance(self.name, str) else self.name
