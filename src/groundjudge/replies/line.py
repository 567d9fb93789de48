"""Verdicts on a line below prose: `Final verdict: Inconsistent`, `[RESULT] 4`, `Rating: [[5]]`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from groundjudge.replies.format import no_schema, score_of_value
from groundjudge.replies.labelled import Field, fields, label_pattern, verdict
from groundjudge.replies.opening import Folded, opened
from groundjudge.replies.reading import NOTHING_ELSE, Asked, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Expected, ParsedValue
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
        expected = Expected(reply, scale, asked, self._names)
        labels = label_pattern(self._names)
        text = opened(reply, labels)
        lines = fields(text.text, labels)
        if self.brackets:
            lines = [_in_brackets(each, text) for each in lines if "[[" in text.text[each.start : each.stop]]
        line, value = verdict(text, lines, expected, prose_may_follow=True)
        span = expected.found(text, line.start, line.stop)
        return Reading(value.value, text.slice(text.start, line.begin), label=value.label, span=span)

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation, with its labels made harmless, and the labelled line below it."""
        name = self._names[0]
        value = str(ParsedValue(reading.value, reading.label))
        place = f"[[{value}]]" if self.brackets else value
        reason = label_pattern(self._names).sub(lambda match: f"> {match[0]}", reading.reason)
        return f"{reason}\n{name}{'' if name.endswith(']') else ':'} {place}".lstrip()

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.name,) if isinstance(self.name, str) else self.name


def _in_brackets(line: Field, text: Folded) -> Field:
    """The line with what is between the double brackets as its place, if they are all of it."""
    place = text.text[line.start : line.stop].rstrip(" .")
    is_whole = place.startswith("[[") and place.endswith("]]")
    return replace(line, start=line.start + 2, stop=line.start + len(place) - 2) if is_whole else line
