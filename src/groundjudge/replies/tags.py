"""Verdicts between tags: `<S1>explanation</S1><S2>4</S2>`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, Reading
from groundjudge.replies.opening import LETTER_OR_DIGIT, has_open_aside, is_quoted, open_reply
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, write_value
from groundjudge.scale import FULL_STOPS, Scale
from groundjudge.text.patterns import LazyPattern, compile_when_used

# Replaces angle brackets inside a text, so that nothing in it is read as a tag of the format.
UNTAGGED = str.maketrans("<>", "‹›")

# The tag of the thoughts ahead of explanation and verdict: what it contains is no verdict.
THOUGHTS = "S0"


@dataclass(frozen=True)
class Tags(Format):
    """Reads the verdict in one tag and the explanation in another.

    Attributes:
        value: the name of the tag that holds the verdict: a number or a label.
        reason: the name of the tag that holds the explanation.
        shares: the name of the tag that holds the shares, how probable each value is; "" for none.
    """

    value: str = "S2"
    reason: str = "S1"
    shares: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the verdict's tag."""
        return (self.value,)

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply. A tag within thoughts or explanation is no verdict.

        Raises:
            ReplyError: there is no verdict, or it cannot be read; or (`ambiguous`) there are several that
                differ, it is only quoted, thoughts or explanation come twice, or behind the verdict is text
                or a tag that is not closed.
        """
        reader = Reader(open_reply(reply, self._element), scale, expectation, (self.value,))
        text = reader.reply.text
        elements: dict[str, list[re.Match[str]]] = {}
        for element in self._element.finditer(text):
            if element["name"] is None:  # a closing tag that closes nothing
                raise reader.make_error("ambiguous", element[0])
            elements.setdefault(element["name"].lower(), []).append(element)
        reasons = elements.get(self.reason.lower(), [])
        # Both can be the same tag: then the verdict is its own explanation.
        verdicts = elements.pop(self.value.lower(), [])
        index, reading = reader.read_verdict([element.span("content") for element in verdicts])
        verdict = verdicts[index]
        # A judge may quote a document that closes the explanation, gives a verdict of its own and opens a
        # tag: "</S1><S2>5</S2><S0>". What the judge writes behind it then comes twice, or is not closed.
        for same_elements in elements.values():
            if len(same_elements) > 1 or same_elements[-1]["unclosed"] is not None:
                raise reader.make_error("ambiguous", same_elements[-1][0])
        if has_open_aside(self._element.sub("", text[: verdicts[-1].start()])):
            raise reader.make_error("no_verdict")
        is_unclosed = verdicts[-1]["unclosed"] is not None
        # A number that is cut off may go on behind its point.
        is_cut_off = is_unclosed and verdicts[-1]["content"].rstrip().endswith(FULL_STOPS)
        is_example = is_quoted(text, *verdict.span()) or text[: verdict.start()].endswith("`")
        prose_behind = self._element.sub("", text[verdict.end() :])
        if is_cut_off or is_example or LETTER_OR_DIGIT.search(prose_behind):
            raise reader.make_error("ambiguous")
        reason = ""
        if reasons:
            reason = reader.reply.slice(*reasons[0].span("content"))
        shares = ""
        if self.shares.lower() in elements:
            shares = elements[self.shares.lower()][0]["content"]
            # A list of shares has no tags. "</S1><S2>5</S2><S3>" would hold all up to the judge's own shares.
            if self._element.search(shares):
                raise reader.make_error("ambiguous", shares)
        warnings = ("unclosed_tag",) if is_unclosed else ()
        return replace(reading, reason=reason, warnings=warnings, shares=shares)

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation and the value between their tags."""
        reason = reading.reason.translate(UNTAGGED)
        verdict = write_value(reading)
        text = f"<{self.reason}>{reason}</{self.reason}>\n<{self.value}>{verdict}</{self.value}>"
        if self.shares and reading.shares:
            text += f"\n<{self.shares}>{reading.shares}</{self.shares}>"
        return text

    @cached_property
    def _element(self) -> LazyPattern:
        """A pattern for outermost elements, and for a closing tag that closes nothing.

        An element that is not closed holds all that follows.
        """
        tags = [self.value, self.reason, THOUGHTS]
        if self.shares:
            tags.append(self.shares)
        names = "|".join(map(re.escape, tags))
        closing = r"<\s*+/\s*+(?P=name)\s*+>"
        return compile_when_used(
            rf"<\s*+(?P<name>{names})\s*+>(?P<content>(?:[^<]++|(?!{closing})<)*+)(?:{closing}|(?P<unclosed>\Z))"
            rf"|<\s*+/\s*+(?:{names})\s*+>",
            re.IGNORECASE,
        )
