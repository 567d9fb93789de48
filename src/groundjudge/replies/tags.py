"""Verdicts between tags: `<S1>explanation</S1><S2>4</S2>`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from groundjudge.replies.format import no_schema, score_of_value
from groundjudge.replies.opening import opened
from groundjudge.replies.reading import NOTHING_ELSE, Asked, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Expected, ParsedValue
from groundjudge.scale import Scale

# Replaces angle brackets inside a text, so that nothing in it is read as a tag of the format.
UNTAGGED = str.maketrans("<>", "‹›")

# The tag of the thoughts ahead of explanation and verdict: what it contains is no verdict.
THOUGHTS = "S0"


class Element(NamedTuple):
    """An outermost element; indexes into the folded text.

    Attributes:
        name: the tag's name, in lower case.
        begin: where its opening tag begins.
        start: where the content begins.
        stop: where the content ends, exclusive.
        end: where its closing tag ends.
    """

    name: str
    begin: int
    start: int
    stop: int
    end: int


@dataclass(frozen=True)
class Tags:
    """Reads the verdict in one tag and the explanation in another.

    Attributes:
        value: the name of the tag that holds the verdict: a number or a label.
        reason: the name of the tag that holds the explanation.
    """

    value: str = "S2"
    reason: str = "S1"

    part_names = ()
    parts_are_sentences = False
    score = score_of_value
    schema = no_schema

    def read(self, reply: Reply, scale: Scale, asked: Asked = NOTHING_ELSE) -> Reading:
        """Read a reply. A tag within thoughts or explanation is no verdict.

        Raises:
            ReplyError: there is no verdict, there are several that differ or more behind it (`ambiguous`),
                or it cannot be read.
        """
        names = "|".join(map(re.escape, (self.value, self.reason, THOUGHTS)))
        tag = re.compile(rf"<\s*+(?P<end>/\s*+)?(?P<name>{names})\s*+>", re.IGNORECASE)
        expected = Expected(reply, scale, asked, (self.value,))
        text = opened(reply, tag)
        elements = _elements(text.text, tag, expected)
        verdicts = [each for each in elements if each.name == self.value.lower()]
        index, found = expected.agreed([text.text[each.start : each.stop] for each in verdicts])
        first = verdicts[index]
        ends = [each.end for each in elements if each.end >= first.end]
        begins = [each.begin for each in elements if each.begin > first.begin]
        if any(map(text.says_something, ends, [*begins, len(text.text)])):
            raise expected.error("ambiguous")
        reasons = [each for each in elements if each.name == self.reason.lower()]
        before = [each for each in reasons if each.begin < first.begin]
        reason = "".join(text.slice(each.start, each.stop) for each in (before or reasons)[-1:])
        warnings = ("unclosed_tag",) if any(each.stop == each.end for each in verdicts) else ()
        span = expected.found(text, first.start, first.stop)
        return Reading(found.value, reason, warnings=warnings, label=found.label, span=span)

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation and the value between their tags."""
        reason = reading.reason.translate(UNTAGGED)
        verdict = ParsedValue(reading.value, reading.label)
        return f"<{self.reason}>{reason}</{self.reason}>\n<{self.value}>{verdict}</{self.value}>"


def _elements(text: str, tag: re.Pattern[str], expected: Expected) -> list[Element]:
    """The outermost elements; one that is not closed holds all that follows.

    Raises:
        ReplyError: `ambiguous`: a closing tag closes nothing.
    """
    found: list[Element] = []
    inside: re.Match[str] | None = None
    for match in tag.finditer(text):
        name = match["name"].lower()
        if inside is None and match["end"]:
            raise expected.error("ambiguous", match[0])
        if inside is None:
            inside = match
        elif match["end"] and name == inside["name"].lower():
            found.append(Element(name, inside.start(), inside.end(), match.start(), match.end()))
            inside = None
    if inside is not None:
        found.append(Element(inside["name"].lower(), inside.start(), inside.end(), len(text), len(text)))
    return found
