"""Verdicts between tags: `<S1>explanation</S1><S2>4</S2>`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from groundjudge.replies.format import Place, Reading
from groundjudge.replies.reading import Marks, PlacedFormat
from groundjudge.replies.value import Reader, write_value
from groundjudge.text.patterns import compile_when_used

# Replaces angle brackets in a text, so that nothing in it is read as one of the format's tags.
UNTAGGED = str.maketrans("<>", "‹›")

# The tag of the thoughts before the explanation and the verdict: it never contains the verdict.
THOUGHTS = "S0"


@dataclass(frozen=True)
class Tags(PlacedFormat):
    """Reads the verdict in one tag and the explanation in another.

    Attributes:
        value: the name of the tag with the verdict: a number or a label.
        reason: the name of the tag with the explanation.
        shares: the name of the tag with the shares (the probability of each value); "" for none.
    """

    value: str = "S2"
    reason: str = "S1"
    shares: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the verdict's tag."""
        return (self.value,)

    @property
    def marks(self) -> Marks:
        """Its tags."""
        return Marks(self._element)

    @cached_property
    def _element(self) -> re.Pattern[str]:
        """A pattern for outermost elements, and for a closing tag that closes nothing.

        An unclosed element contains everything after it.
        """
        names = "|".join(map(re.escape, self._kinds))
        closing = r"<\s*+/\s*+(?P=name)\s*+>"
        return compile_when_used(
            rf"<\s*+(?P<name>{names})\s*+>(?P<content>(?:[^<]++|(?!{closing})<)*+)(?:{closing}|(?P<unclosed>\Z))"
            rf"|<\s*+/\s*+(?:{names})\s*+>",
            re.IGNORECASE,
        )

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """What each tag contains."""
        kinds = {THOUGHTS: "thoughts", self.shares: "shares", self.reason: "reason", self.value: "value"}
        kinds.pop("", None)
        return {name.lower(): kind for name, kind in kinds.items()}

    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find the outermost tags: a tag inside the thoughts or the explanation is text.

        Raises:
            ReplyError: `ambiguous`: a closing tag closes nothing.
        """
        places: list[Place] = []
        for element in self._element.finditer(reader.text):
            if element["name"] is None:
                raise reader.make_error("ambiguous", element[0])
            # If case is ignored, "ı" is "i". A tag with such a name is read as thoughts, never as a verdict.
            kind = self._kinds.get(element["name"].lower(), "thoughts")
            is_closed = element["unclosed"] is None
            places.append(Place(kind, element.span("content"), element.span(), is_closed=is_closed))
        return places

    def write_reply(self, reading: Reading) -> str:
        """Write the explanation and the value between their tags."""
        reason = reading.reason.translate(UNTAGGED)
        verdict = write_value(reading)
        text = f"<{self.reason}>{reason}</{self.reason}>\n<{self.value}>{verdict}</{self.value}>"
        if self.shares and reading.shares:
            text += f"\n<{self.shares}>{reading.shares}</{self.shares}>"
        return text
