"""Verdicts between tags: `<S1>explanation</S1><S2>4</S2>`."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, Reading
from groundjudge.replies.opening import LETTER_OR_DIGIT, open_reply
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, value_text
from groundjudge.scale import Scale

# Replaces angle brackets inside a text, so that nothing in it is read as a tag of the format.
UNTAGGED = str.maketrans("<>", "‹›")

# What stands right before a verdict that is only quoted.
QUOTATION = tuple("\"'`“„«")

# The tag of the thoughts ahead of explanation and verdict: what it contains is no verdict.
THOUGHTS = "S0"


@dataclass(frozen=True)
class Tags(Format):
    """Reads the verdict in one tag and the explanation in another.

    Attributes:
        value: the name of the tag that holds the verdict: a number or a label.
        reason: the name of the tag that holds the explanation.
    """

    value: str = "S2"
    reason: str = "S1"

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply. A tag within thoughts or explanation is no verdict.

        Raises:
            ReplyError: there is no verdict, there are several that differ or more behind it, or it is only
                quoted (`ambiguous`), or it cannot be read.
        """
        reader = Reader(open_reply(reply, self._element), scale, expectation, (self.value,))
        text, elements = reader.text, defaultdict[str, list[re.Match[str]]](list)
        for each in self._element.finditer(text.text):
            elements[(each["name"] or "").lower()].append(each)
        if elements[""]:
            raise reader.error("ambiguous", elements[""][0][0])
        verdicts, reasons = elements[self.value.lower()], elements[self.reason.lower()]
        index, found = reader.verdict([each.span("content") for each in verdicts])
        first = verdicts[index]
        is_quoted = text.text[: first.start()].endswith(QUOTATION)
        if is_quoted or LETTER_OR_DIGIT.search(self._element.sub("", text.text[first.end() :])):
            raise reader.error("ambiguous")
        before = [each for each in reasons if each.start() < first.start()]
        reason = "".join(text.slice(*each.span("content")) for each in (before or reasons)[-1:])
        warnings = ("unclosed_tag",) if any(each["unclosed"] is not None for each in verdicts) else ()
        return replace(found, reason=reason, warnings=warnings)

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation and the value between their tags."""
        reason = reading.reason.translate(UNTAGGED)
        return f"<{self.reason}>{reason}</{self.reason}>\n<{self.value}>{value_text(reading)}</{self.value}>"

    @cached_property
    def _element(self) -> re.Pattern[str]:
        """A pattern for outermost elements, and for a closing tag that closes nothing.

        An element that is not closed holds all that follows.
        """
        name = "|".join(map(re.escape, (self.value, self.reason, THOUGHTS)))
        closing = r"<\s*+/\s*+(?P=name)\s*+>"
        return re.compile(
            rf"<\s*+(?P<name>{name})\s*+>(?P<content>(?:[^<]++|(?!{closing})<)*+)(?:{closing}|(?P<unclosed>\Z))"
            rf"|<\s*+/\s*+(?:{name})\s*+>",
            re.IGNORECASE,
        )
