"""The grammar of a place: one value, and next to nothing beside it. All that is not listed here is an error.

    place = [name ":"] value ["/" best | "out of" best] ["," x | "(" x ")"]

A pair of quotation marks or brackets may stand around it, and a full stop behind it. A value is a number, or
a label of the scale; x is the label of that very value or the same number again.

The format `Plain` is nothing but a place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from groundjudge.errors import ReplyError, describe_fault
from groundjudge.evidence.normalized import UNSPACED
from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, PartReading, Reading, Span
from groundjudge.replies.opening import Folded, open_reply
from groundjudge.replies.reply import Reply
from groundjudge.scale import SPACES, Scale, fold_label

# Characters of a place: no verdict is longer, and short texts are quick to match.
LONGEST = 120

PAIRS = ('""', "''", "“”", "‘’", "„“", "«»", "「」", "『』", "**", "__", "``", "[]", "()", "{}", "【】")
# A comma before exactly three digits may separate thousands: "1,000" is not 1. Only "0,125" is clear.
NUMBER = r"(?![+\-]?0*[1-9][0-9]*,[0-9]{3}(?![0-9]))[+\-]?[0-9]+(?:[.,][0-9]+)?"
NAME = re.compile(r"([^\W\d][\w ]*?)\s*:")
VALUE = re.compile(
    rf"(?P<number>{NUMBER})\s*(?P<percent>%)?(?:\s*(?:/|\bout\s+of\b)\s*(?P<best>{NUMBER}))?"
    r"(?:\s*,\s*(?P<after>.+)|\s*\((?P<within>.+)\))?",
    re.IGNORECASE | re.DOTALL,
)
# What a prompt has in the place: "your Score", or an ellipsis.
ECHO = re.compile(r"\W*?(?:your(?: [a-z]+){1,3}|\.{3}|…)\W*", re.IGNORECASE)


@dataclass(frozen=True)
class Reader:
    """Reads the places of a reply.

    Attributes:
        text: the opened reply.
        scale: the numbers or labels that are expected.
        expectation: what the labels of numbers are.
        names: what the format calls the value, beside "score", "rating" and "grade".
    """

    text: Folded
    scale: Scale
    expectation: Expectation = NO_EXPECTATION
    names: tuple[str, ...] = ()

    def error(self, code: str, quote: str = "", of: str = "") -> ReplyError:
        """The error for a place: what must be in it, and what is."""
        fault = describe_fault(code, expected_text=self.scale.expected_text)
        quotes = tuple(filter(None, (of, quote[:LONGEST].strip())))
        return ReplyError(code, self.text.raw, fault, quotes, is_misplaced=True)

    def verdict(self, places: Sequence[Span], of: str = "") -> tuple[int, Reading]:
        """As `agreed`, for the places at spans of the folded text; the reading has the span of the value."""
        index, found = self.agreed([self.text.text[start:stop] for start, stop in places], of)
        first, last = (self.text.origins[places[index][0] + at] for at in found.span or ())
        return index, Reading(found.value, label=found.label, span=(first, last))

    def agreed(self, places: Sequence[str], of: str = "") -> tuple[int, Reading]:
        """What all places say: verdicts that agree are one. Echoes of the prompt ahead of them are none.

        Returns:
            The index of the first verdict's place, and what it says, with the span of the value in it.

        Raises:
            ReplyError: `no_verdict`, `ambiguous` if two verdicts differ, or the code of `value`.
        """
        values = [*map(self.value, places)]
        first = next((index for index, each in enumerate(values) if each != "no_verdict"), None)
        if first is None:
            raise self.error("no_verdict", of=of)
        found, *others = values[first:]
        if any(each != found for each in others if isinstance(each, Reading) or isinstance(found, Reading)):
            raise self.error("ambiguous", " ... ".join(places[first:]), of)
        if isinstance(found, str):
            raise self.error(found, places[first], of)
        return first, found

    def value(self, place: str) -> Reading | str:
        """What a place says, with the span of the value in it, or the code of what is wrong with it.

        The codes: `no_verdict` for an echo of the prompt; `out_of_scale` or `not_integer`; those of `misfit`.
        """
        if len(place.strip()) > LONGEST:
            return self.misfit(place)
        text = self._bare(place)
        at = place.rfind(text)
        span = (at, at + len(text))
        label = self.scale.find_choice(text) if self.scale.choices else None
        if label is not None:
            return Reading(self.scale.choices[label], label=label, span=span)
        found = self._number(text)
        if not isinstance(found, str):
            return Reading(found, span=span)
        is_echo = len(place) <= LONGEST and ECHO.fullmatch(place) and not self.scale.find_choice(place)
        return "no_verdict" if is_echo else found

    def may_differ(self, found: Reading, text: str) -> bool:
        """Whether prose behind a verdict may say another one: by a digit, or by another label as a word."""
        if not self.scale.choices:
            return any(map(str.isdigit, text))
        # "not supported" is not "supported", and "a" in prose is not the grade A.
        labels = sorted(self.scale.choices, key=len, reverse=True)
        names = "|".join(
            f"(?i:{re.escape(fold_label(one))})" if one[1:] else re.escape(one) for one in labels
        )
        # in scripts without spaces nothing tells where a word ends
        words = re.findall(rf"(?<![^\W{UNSPACED}])(?:{names})(?![^\W{UNSPACED}])", SPACES.sub(" ", text))
        return any(fold_label(word) != fold_label(found.label) for word in words)

    def misfit(self, text: str) -> str:
        """The code of a text that is no value: `unknown_label`, `ambiguous` or `not_a_number`."""
        if self.scale.choices:
            return "unknown_label"
        return "ambiguous" if any(map(str.isdigit, text)) else "not_a_number"

    def _bare(self, place: str) -> str:
        """A place without the value's name and without pairs of quotation marks and brackets around it."""
        text = unwrapped(place)
        name = NAME.match(text)
        is_own = name and fold_label(name[1]) in {"score", "rating", "grade", *map(fold_label, self.names)}
        return unwrapped(text[name.end() :]) if name and is_own else text

    def _number(self, text: str) -> float | str:
        """The number that a text is, or the code of what is wrong with it."""
        match = None if self.scale.choices else VALUE.fullmatch(text)
        if match is None or not self._is_consistent(match):
            return self.misfit(text)
        number = decimal(match["number"])
        if not self.scale.holds(number):
            return "out_of_scale"
        return "not_integer" if self.scale.integer and number % 1 else number

    def _is_consistent(self, match: re.Match[str]) -> bool:
        """Whether all that stands beside a number only says it again."""
        number, percent, best, after, within = match.groups()
        ends, more = {self.scale.worst, self.scale.best}, after or within
        return (
            (not percent or ends == {0, 100})
            and (not best or decimal(best) == max(ends))
            and (not more or self._is_again(decimal(number), unwrapped(more)))
        )

    def _is_again(self, number: float, text: str) -> bool:
        """Whether a text is a number once more, or its label."""
        if re.fullmatch(NUMBER, text):
            return decimal(text) == number
        label = label_of(number, self.expectation.levels)
        return label is not None and fold_label(text) == fold_label(label)


def value_text(verdict: Reading | PartReading) -> str:
    """The label of a verdict, or its number in digits."""
    return verdict.label or written(verdict.value or 0.0)


def label_of(value: float | None, levels: Mapping[float, str]) -> str | None:
    """The label of a value: that of the lowest level it does not exceed."""
    if value is None:
        return None
    return next((label for highest, label in sorted(levels.items()) if value <= highest), None)


def unwrapped(text: str) -> str:
    """A text without a full stop behind it and without pairs of quotation marks and brackets around it."""
    text = text.strip()
    bare = text[:-1].rstrip() if text[-1:] in ("。", ".") else text
    return unwrapped(bare[1:-1]) if len(bare) > 1 and bare[0] + bare[-1] in PAIRS else bare


def decimal(digits: str) -> float:
    """The value of a number with a decimal point or a decimal comma; never -0.0."""
    return float(digits.replace(",", ".")) + 0.0


def written(value: float) -> str:
    """A number in digits, never with an exponent; a whole number without a decimal point."""
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")


FENCED = re.compile(r"\s*```\w*\n([^`]*)```\s*")


@dataclass(frozen=True)
class Plain(Format):
    """Reads a reply that is the verdict and nothing else, for example "Yes"; reasoning may precede it.

    It serves models that were trained to answer so: MiniCheck, Granite Guardian and others.
    """

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: the reply is not a number or a label of the scale, or it says more than that.
        """
        text = open_reply(reply)
        fenced = FENCED.fullmatch(text.text)
        place = fenced.span(1) if fenced else (0, len(text.text))
        return Reader(text, scale, expectation).verdict([place])[1]

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the number or the label."""
        return value_text(reading)
