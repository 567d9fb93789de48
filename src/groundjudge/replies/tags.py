"""Verdicts between tags: `<S1>explanation</S1><S2>4</S2>`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from groundjudge.errors import ReplyError
from groundjudge.replies.folded import Folded
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.reading import Reading
from groundjudge.replies.score import is_placeholder, number, same_number, written
from groundjudge.reply import Reply
from groundjudge.verdict import Scale

UNTAGGED = str.maketrans("<>", "‹›")
"""Replaces angle brackets inside a text, so that nothing in it is read as a tag of the format."""


class Place(NamedTuple):
    """The content after an opening tag, up to the next tag of that name; indexes into the folded text.

    Attributes:
        begin: where the opening tag begins.
        start: where the content begins.
        end: where the content ends, exclusive.
        closed: whether a closing tag ends it.
    """

    begin: int
    start: int
    end: int
    closed: bool


@dataclass(frozen=True)
class Tags:
    """Reads the number in one tag and the explanation in another.

    Attributes:
        value: the name of the tag that holds the number.
        reason: the name of the tag that holds the explanation.
    """

    value: str = "S2"
    reason: str = "S1"

    @property
    def part_names(self) -> tuple[str, ...]:
        """Empty: there is one score."""
        return ()

    @property
    def parts_are_sentences(self) -> bool:
        """False: there are no parts."""
        return False

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply; of several verdicts the last counts, with the warning `several_verdicts`.

        Raises:
            ReplyError: there is no verdict, or its number cannot be read.
        """
        text = opened(reply, _tag(f"(?:{re.escape(self.value)}|{re.escape(self.reason)})"))
        places = [
            place
            for place in _places(text, self.value)
            if not is_placeholder(text.text[place.start : place.end])
        ]
        if not places:
            raise unread(reply)
        *earlier, last = places
        if not last.closed and is_cut_off(reply):
            raise ReplyError("truncated", reply.text)
        value = number(text.text[last.start : last.end], scale, reply)
        warnings: list[str] = []
        if not all(same_number(text.text[place.start : place.end], value, scale, reply) for place in earlier):
            warnings.append("several_verdicts")
        if not last.closed:
            warnings.append("unclosed_tag")
        return Reading(value, self._reason(text, last.begin), warnings=tuple(warnings))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation and the value between their tags."""
        reason = reading.reason.translate(UNTAGGED)
        value = written(reading.value or 0.0)
        return f"<{self.reason}>{reason}</{self.reason}>\n<{self.value}>{value}</{self.value}>"

    def score(self, reading: Reading, scale: Scale) -> float:
        """The position of the value on the scale, 0..1."""
        return scale.score(reading.value or 0.0)

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  required by the protocol
        """None: the reply is not JSON."""
        return None

    def _reason(self, text: Folded, verdict: int) -> str:
        """The last explanation before the verdict, or the last one at all if there is none before it."""
        places = _places(text, self.reason)
        if not places:
            return ""
        place = next((place for place in reversed(places) if place.begin < verdict), places[-1])
        end = place.end if place.closed or place.begin > verdict else min(place.end, verdict)
        return text.slice(place.start, end).strip()


def _tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"<\s*(?:(/)\s*)?{name}\s*>", re.IGNORECASE)


def _places(text: Folded, name: str) -> list[Place]:
    tags = list(_tag(re.escape(name)).finditer(text.text))
    return [
        Place(tag.start(), tag.end(), after.start() if after else len(text.text), bool(after and after[1]))
        for tag, after in zip_longest(tags, tags[1:])
        if not tag[1]
    ]
