"""Verdicts between tags: `<S1>explanation</S1><S2>4</S2>`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from groundjudge.errors import ReplyError
from groundjudge.replies.folded import Folded
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.place import Mark, is_placeholder, one_mark
from groundjudge.replies.reading import Reading
from groundjudge.replies.reply import Reply
from groundjudge.scale import Scale

UNTAGGED = str.maketrans("<>", "‹›")
"""Replaces angle brackets inside a text, so that nothing in it is read as a tag of the format."""


THOUGHTS = "S0"
"""The tag of the thoughts ahead of explanation and verdict: what it contains is no verdict."""


class Element(NamedTuple):
    """An element that stands in no other one; indexes into the folded text.

    Attributes:
        name: the tag's name, in lower case.
        start: where the content begins.
        end: where the content ends, exclusive.
        closed: whether a closing tag ends it.
    """

    name: str
    start: int
    end: int
    closed: bool


@dataclass(frozen=True)
class Tags:
    """Reads the verdict in one tag and the explanation in another.

    Attributes:
        value: the name of the tag that holds the verdict: a number or a label.
        reason: the name of the tag that holds the explanation.
    """

    value: str = "S2"
    reason: str = "S1"

    part_names: tuple[str, ...] = field(default=(), init=False, repr=False)
    parts_are_sentences: bool = field(default=False, init=False, repr=False)

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply. A tag within thoughts or explanation is no verdict.

        Raises:
            ReplyError: there is no verdict, there are several that differ (`ambiguous`), or it cannot be
                read.
        """
        text = opened(reply, _tag(self.value, self.reason))
        elements = _elements(text.text, _tag(self.value, self.reason, THOUGHTS), self.value.lower())
        verdicts = [each for each in elements if each.name == self.value.lower()]
        verdicts = [each for each in verdicts if not is_placeholder(text.text[each.start : each.end], scale)]
        if not verdicts:
            raise unread(reply)
        if is_cut_off(reply) and not all(each.closed for each in verdicts):
            raise ReplyError("truncated", reply.text)
        value, label = one_mark([text.text[each.start : each.end] for each in verdicts], scale, reply)
        warnings = () if all(each.closed for each in verdicts) else ("unclosed_tag",)
        last = verdicts[-1]
        reason, span = self._reason(text, elements, last), text.span(last.start, last.end)
        return Reading(value, reason, warnings=warnings, label=label, span=span)

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation and the value between their tags."""
        reason = reading.reason.translate(UNTAGGED)
        verdict = Mark(reading.value, reading.label)
        return f"<{self.reason}>{reason}</{self.reason}>\n<{self.value}>{verdict}</{self.value}>"

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The position of the value on the scale, 0..1; None for a label that means "not applicable"."""
        return None if reading.value is None else scale.score(reading.value)

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  required by the protocol
        """None: the reply is not JSON."""
        return None

    def _reason(self, text: Folded, elements: Sequence[Element], verdict: Element) -> str:
        """The last explanation before the verdict, or the last one at all if there is none before it."""
        found = [each for each in elements if each.name == self.reason.lower()]
        before = [each for each in found if each.start < verdict.start]
        chosen = (before or found)[-1:]
        return "".join(text.slice(each.start, each.end).strip() for each in chosen)


def _tag(*names: str) -> re.Pattern[str]:
    return re.compile(rf"<\s*(/\s*)?({'|'.join(map(re.escape, names))})\s*>", re.IGNORECASE)


def _elements(text: str, tag: re.Pattern[str], value: str) -> list[Element]:
    """The outermost elements. Any tag ends a verdict, which holds no other: `<S2>4</S1>`."""
    found: list[Element] = []
    inside: re.Match[str] | None = None
    for match in tag.finditer(text):
        name = match[2].lower()
        if inside is not None and (inside[2].lower() == value or (match[1] and name == inside[2].lower())):
            found.append(Element(inside[2].lower(), inside.end(), match.start(), closed=bool(match[1])))
            inside = None if match[1] else match
        elif inside is None and not match[1]:
            inside = match
    if inside is not None:
        found.append(Element(inside[2].lower(), inside.end(), len(text), closed=False))
    return found
