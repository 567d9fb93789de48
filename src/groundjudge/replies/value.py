"""The grammar of a place: one value, and next to nothing beside it. All that is not listed here is an error.

    place = [name ":"] value ["/" best | "out of" best] ["," x | "(" x ")"]

A pair of quotation marks or brackets may stand around it, and a full stop behind it. A value is a number, or
a label of the scale; x is the label of that very value or the same number again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from groundjudge.errors import WHAT_IS_WRONG, ReplyError
from groundjudge.replies.format import NOTHING_ELSE, Asked, PartReading, Reading, Span
from groundjudge.replies.opening import Folded
from groundjudge.scale import Scale, folded

# Characters of a place: no verdict is longer, and short texts are quick to match.
LONGEST = 120

PAIRS = ('""', "''", "“”", "‘’", "„“", "«»", "「」", "『』", "**", "__", "``", "[]", "()", "{}", "【】")
NUMBER = r"[+\-]?[0-9]+(?:[.,][0-9]+)?"
# A comma before exactly three digits may separate thousands: "1,000" is not 1. Only "0,125" is clear.
THOUSANDS = re.compile(r"[+\-]?0*[1-9][0-9]*,[0-9]{3}")
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
        asked: what the labels of numbers are.
        names: what the format calls the value, beside "score", "rating" and "grade".
    """

    text: Folded
    scale: Scale
    asked: Asked = NOTHING_ELSE
    names: tuple[str, ...] = ()

    def error(self, code: str, quote: str = "", of: str = "") -> ReplyError:
        """The error for a place: what must be in it, and what is."""
        what = (
            f"one of {', '.join(self.scale.choices)}" if self.scale.choices else f"one number on {self.scale}"
        )
        said = f"{WHAT_IS_WRONG[code]}: each verdict must be {what}, with nothing behind it"
        return ReplyError(code, self.text.raw, said, tuple(filter(None, (of, quote[:LONGEST].strip()))))

    def verdict(self, places: Sequence[Span], of: str = "") -> tuple[int, Reading]:
        """As `agreed`, for the places at spans of the folded text; the reading has the span of the value."""
        index, found = self.agreed([self.text.text[start:stop] for start, stop in places], of)
        start, stop = places[index]
        place = self.text.text[start:stop]
        bare = self.bare(place)
        at = start + place.rfind(bare)
        return index, replace(found, span=(self.text.origins[at], self.text.origins[at + len(bare)]))

    def agreed(self, places: Sequence[str], of: str = "") -> tuple[int, Reading]:
        """What all places say: verdicts that agree are one. Echoes of the prompt ahead of them are none.

        Returns:
            The index of the first verdict's place, and what it says.

        Raises:
            ReplyError: `no_verdict`, `ambiguous` if two verdicts differ, or the code of `value`.
        """
        first = next((index for index, place in enumerate(places) if not self.is_echo(place)), None)
        if first is None:
            raise self.error("no_verdict", of=of)
        said = [self.value(place) for place in places[first:]]
        if len({each if isinstance(each, Reading) else None for each in said}) > 1:
            raise self.error("ambiguous", " ... ".join(places[first:]), of)
        if isinstance(said[0], str):
            raise self.error(said[0], places[first], of)
        return first, said[0]

    def value(self, place: str) -> Reading | str:
        """What a place says, or the code of what is wrong with it.

        The codes: `unknown_label`; `not_a_number`, `ambiguous`, `out_of_scale` or `not_integer`.
        """
        text = self.bare(place)
        if self.scale.choices:
            label = self.scale.named(text) if len(text) <= LONGEST else None
            return "unknown_label" if label is None else Reading(self.scale.choices[label], label=label)
        match = VALUE.fullmatch(text) if len(text) <= LONGEST else None
        if match is None or not self._is_consistent(match):
            return "ambiguous" if any(map(str.isdigit, text)) else "not_a_number"
        number = decimal(match["number"])
        if not self.scale.holds(number):
            return "out_of_scale"
        return "not_integer" if self.scale.integer and number % 1 else Reading(number)

    def bare(self, place: str) -> str:
        """A place without the value's name and without pairs of quotation marks and brackets around it."""
        text = unwrapped(place) if len(place.strip()) <= LONGEST else place
        name = NAME.match(text, 0, LONGEST)
        own = {"score", "rating", "grade", *map(folded, self.names)}
        return unwrapped(text[name.end() :]) if name and folded(name[1]) in own else text

    def is_echo(self, place: str) -> bool:
        """Whether a place only repeats the prompt."""
        return len(place) <= LONGEST and bool(ECHO.fullmatch(place)) and not self.scale.named(place)

    def _is_consistent(self, match: re.Match[str]) -> bool:
        """Whether all that stands beside a number only says it again."""
        number, more = decimal(match["number"]), match["after"] or match["within"] or ""
        beside, label = unwrapped(more), label_of(number, self.asked.levels) or " "
        is_same = bool(re.fullmatch(NUMBER, beside)) and decimal(beside) == number
        ends = {self.scale.worst, self.scale.best}
        return (
            not any(map(THOUSANDS.fullmatch, (match["number"], beside)))
            and (not match["percent"] or ends == {0, 100})
            and (not match["best"] or decimal(match["best"]) == max(ends))
            and (not more or is_same or folded(beside) == folded(label))
        )


def said(verdict: Reading | PartReading) -> str:
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
