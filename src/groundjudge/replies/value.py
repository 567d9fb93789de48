"""The grammar of a place: one value and almost nothing else. Anything not listed here is an error.

    place = [name ":"] value ["/" best | "out of" best] ["," x | "(" x ")" | "-" label | ":" label]

It may be in a pair of quotation marks, backticks or brackets, and a full stop may follow it. A value is a
number, or a label of the scale; x is the label of that same value, or the same number again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import dropwhile
from unicodedata import category

from groundjudge.errors import ReplyError, describe_fault
from groundjudge.replies.format import NO_EXPECTATION, Expectation, PartReading, Place, Reading, Span
from groundjudge.replies.opening import LETTER_OR_DIGIT, FoldedText
from groundjudge.scale import Scale, fold_label, fold_marks, unwrap
from groundjudge.text.letters import UNSPACED
from groundjudge.text.negations import negated_at
from groundjudge.text.patterns import compile_when_used

# The limit for characters in a place: no verdict is longer, and short texts are quick to match.
LONGEST = 120

# How many characters a negation may be ahead of the label that it denies: "isn't fully grounded".
NEAR = 24
# The limit for places of a verdict: no judge repeats it so often, and each is compared with every label.
MAX_PLACES = 1000
# A comma before exactly three digits may separate thousands: "1,000" is not 1. Only "0,125" is unambiguous.
NUMBER = r"(?![+\-]?0*[1-9][0-9]*,[0-9]{3}(?![0-9]))[+\-]?[0-9]+(?:[.,][0-9]+)?"
NAME = compile_when_used(r"([^\W\d][\w ]*?)\s*:")
VALUE = compile_when_used(
    rf"(?P<number>{NUMBER})\s*(?P<percent>%)?(?:\s*(?:/|\bout\s+of\b)\s*(?P<best>{NUMBER}))?"
    r"(?:\s*[,，]\s*(?P<after>.+)|\s*\((?P<within>.+)\)|\s*[-‐-―:]\s*(?P<label>.+))?",
    re.IGNORECASE | re.DOTALL,
)
# A line below that continues the value: it begins with a digit, with or without a punctuation mark before it,
# or is such a mark, followed only by closing marks.
GOES_ON_BELOW = compile_when_used(
    r"\s*+(?:[0-9]|[-+–,./%][.。]?(?:[^\S\n]|[*_`\"'”’»」』\])】}])*(?:[0-9]|$))", re.MULTILINE
)
# The score of a sentence that makes no claim.
NO_CLAIM = "NO CLAIM"
# The placeholder that a prompt shows in the place: "your Score", or an ellipsis.
ECHO = compile_when_used(r"\W*?(?:your(?: [a-z]+){1,3}|\.{3}|…)\W*", re.IGNORECASE)


@dataclass(frozen=True)
class Reader:
    """Reads the places of a reply.

    Attributes:
        reply: the opened reply.
        scale: the numbers or labels that a place may contain.
        expectation: what else is known about the question; the labels of its levels may follow numbers.
        names: what the format calls the value, in addition to "score", "rating" and "grade".
    """

    reply: FoldedText
    scale: Scale
    expectation: Expectation = NO_EXPECTATION
    names: tuple[str, ...] = ()

    def make_error(self, code: str, quote: str = "", part_name: str = "") -> ReplyError:
        """Make the error for a place: it says what must be there, and quotes what is.

        Args:
            code: the code of the error.
            quote: the text in the place.
            part_name: the part that the place belongs to: a sentence, or a name such as "recall".
        """
        fault = describe_fault(code, expected_text=self.scale.expected_text)
        quotes = tuple(filter(None, (part_name, quote[:LONGEST].strip())))
        return ReplyError(code, self.reply.raw, fault, quotes, is_misplaced=True)

    @property
    def text(self) -> str:
        """The text of the opened reply; the spans of places refer to it."""
        return self.reply.text

    def text_of(self, place: Place) -> str:
        """Return the text in a place."""
        if place.text is not None:
            return place.text
        return self.text[slice(*place.content)]

    def has_below(self, place: Place) -> bool:
        """Whether a letter or a digit follows the line of a place, up to the next label."""
        return LETTER_OR_DIGIT.search(self.text, *place.below) is not None

    def read_verdict(
        self, places: Sequence[Place], part_name: str = "", *, prose_may_follow: bool = False
    ) -> tuple[Place, Reading]:
        """Read the places of a verdict, which must all agree. Echoes of the prompt before it do not count.

        Returns:
            The first place that is not an echo, and what it says, with the value's span in the raw reply.

        Raises:
            ReplyError: `no_verdict`, the code of `read_place`, `out_of_scale` for a label with another scale,
                `ambiguous` if two verdicts differ, or if anything more follows below a place.
        """
        if len(places) > MAX_PLACES:
            raise self.make_error("ambiguous", part_name=part_name)
        pairs = [(place, self.read_place(self.text_of(place))) for place in places]
        stated = [*dropwhile(lambda pair: pair[1] == "no_verdict", pairs)]
        if not stated:
            raise self.make_error("no_verdict", part_name=part_name)
        verdict, first = stated[0]
        for _, reading in stated[1:]:  # all others must say the same
            # If several places cannot be read, the error of the first one says what is wrong.
            is_any_read = isinstance(reading, Reading) or isinstance(first, Reading)
            if is_any_read and reading != first:
                quote = " ... ".join(self.text_of(place) for place, _ in stated)
                raise self.make_error("ambiguous", quote, part_name)
        if isinstance(first, str):
            raise self.make_error(first, self.text_of(verdict), part_name)
        for place, _ in stated:
            self._check_around(place, part_name, prose_may_follow=prose_may_follow)
        span = self._find_value(verdict, first.span)
        return verdict, Reading(first.value, label=first.label, span=span)

    def read_score(self, place: Place, sentence: str) -> Reading:
        """Read the score of a sentence; without a value if it is NO CLAIM, and no label has that name.

        Raises:
            ReplyError: as for `read_verdict`.
        """
        text = self.text_of(place)
        is_no_claim = fold_label(text) == NO_CLAIM.casefold()
        if is_no_claim and not self.scale.find_choice(NO_CLAIM) and not self.has_below(place):
            return Reading(None)
        reading = self.read_place(text)
        if isinstance(reading, str):
            raise self.make_error(reading, text, sentence)
        self._check_around(place, sentence)
        span = self._find_value(place, reading.span)
        return Reading(reading.value, label=reading.label, span=span)

    def _check_around(self, place: Place, part_name: str, *, prose_may_follow: bool = False) -> None:
        """Check that a place's label states no other scale, and that nothing follows below the place.

        Raises:
            ReplyError: `out_of_scale`, `ambiguous`.
        """
        if place.scale and not _states_scale(place.scale, self.scale):
            raise self.make_error("out_of_scale", place.scale, part_name)
        below = self.text[slice(*place.below)]
        is_followed = GOES_ON_BELOW.match(below) is not None
        if is_followed or (self.has_below(place) and not prose_may_follow):
            raise self.make_error("ambiguous", below.strip(), part_name)

    def _find_value(self, place: Place, span: Span | None) -> Span | None:
        """Return where a value is in the raw reply: that of `{"score": " 4 out of 5"}` is `4 out of 5`.

        Args:
            place: the place of the value.
            span: where the value is in the text of that place; None if that is unknown.
        """
        if span is None:
            return None
        content_start, content_end = place.content
        start = content_start + span[0]
        if place.text is not None:
            # The text of the place was decoded: look for its value in what it was decoded from.
            start = self.text.find(place.text[slice(*span)], content_start, content_end)
            # A value written with escapes is not found there, and cannot be weighted.
            if start < 0 or "\\" in self.text[content_start:content_end]:
                return None
        end = start + span[1] - span[0]
        return self.reply.origins[start], self.reply.origins[end]

    def read_place(self, place: str) -> Reading | str:
        """Read a place: return what it says, with the span of the value in it, or the code of its fault.

        The codes: `no_verdict` for an echo of the prompt; `out_of_scale` or `not_integer`; those of
        `misfit_code`.
        """
        if len(place.strip()) > LONGEST:
            return self.misfit_code(place)
        text = self._strip_name(place)
        start = place.rfind(text)
        span = (start, start + len(text))
        label = self.scale.find_choice(text) if self.scale.choices else None
        if label is not None:
            return Reading(self.scale.choices[label], label=label, span=span)
        number_or_code = self._read_number(text)
        if not isinstance(number_or_code, str):
            return Reading(number_or_code, span=span)
        # With blanks around it a place may be too long for an echo, but it can still be read.
        is_echo = len(place) <= LONGEST and ECHO.fullmatch(place) is not None
        if is_echo and not self.scale.find_choice(place):
            return "no_verdict"
        return number_or_code

    def may_contradict(self, reading: Reading, prose: str) -> bool:
        """Whether prose after a verdict may state another one.

        It does if it has a digit or, on a scale of labels, another label as a word, or denies the verdict's:
        "It isn't fully grounded."
        """
        if not self.scale.choices:
            # Also ½ and Ⅱ, but not 一, the Chinese word for one, which is part of many others.
            return any(category(character).startswith("N") for character in prose)
        patterns: list[str] = []
        # The longest first: "not supported" is not "supported".
        for label in sorted(self.scale.choices, key=len, reverse=True):
            text = re.escape(fold_marks(label))
            # "a" in prose is not the grade A.
            patterns.append(f"(?i:{text})" if len(label) > 1 else text)
        # In scripts without spaces nothing shows where a word ends.
        letter = rf"[^\W{UNSPACED}]"
        prose = fold_marks(prose)
        words = list(re.finditer(rf"(?<!{letter})(?:{'|'.join(patterns)})(?!{letter})", prose))
        if any(fold_label(word[0]) != fold_label(reading.label) for word in words):
            return True
        starts = {word.start() for word in words}
        # The label may be a negation itself, such as "no".
        denials = [start for start in negated_at(prose) if start not in starts]
        return any(0 < start - denial <= NEAR for start in starts for denial in denials)

    def misfit_code(self, text: str) -> str:
        """Return the code of a text that is not a value: `unknown_label`, `ambiguous` or `not_a_number`."""
        if self.scale.choices:
            return "unknown_label"
        if any(map(str.isdigit, text)):
            return "ambiguous"
        return "not_a_number"

    def _strip_name(self, place: str) -> str:
        """Return a place without the value's name and the marks around it: "4" for `"Score: 4"` and `[4]`."""
        text = unwrap(place)
        name = NAME.match(text)
        if name is None:
            return text
        names = {"score", "rating", "grade", *map(fold_label, self.names)}
        if fold_label(name[1]) not in names:
            return text
        return unwrap(text[name.end() :])

    def _read_number(self, text: str) -> float | str:
        """Return the number that a text states, such as 4.0 for "4 out of 5", or the code of its fault."""
        match = None if self.scale.choices else VALUE.fullmatch(text)
        if match is None:
            return self.misfit_code(text)
        number = parse_number(match["number"])
        if not self._is_consistent(number, match):
            return self.misfit_code(text)
        if not self.scale.holds(number):
            return "out_of_scale"
        if self.scale.integer and number % 1:
            return "not_integer"
        return number

    def _is_consistent(self, number: float, match: re.Match[str]) -> bool:
        """Whether everything around a number only repeats it: "4/5, good" if 4 of 5 is good."""
        ends = {self.scale.worst, self.scale.best}
        if match["percent"] and ends != {0, 100}:
            return False
        if match["best"] and parse_number(match["best"]) != max(ends):
            return False
        repetition = match["after"] or match["within"]
        if repetition and re.fullmatch(NUMBER, unwrap(repetition)):
            return parse_number(unwrap(repetition)) == number
        remark = repetition or match["label"]  # at most one of the three is present
        if not remark:
            return True
        label = label_of(number, self.expectation.levels)
        return label is not None and fold_label(remark) == fold_label(label)


def _states_scale(bracket: str, scale: Scale) -> bool:
    """Whether a bracket states the scale: "0-10", "0 to 10", "/10" or "out of 10"."""
    if scale.choices:
        return False
    low = write_number(min(scale.worst, scale.best))
    high = write_number(max(scale.worst, scale.best))
    text = "".join(bracket.split()).casefold().replace("–", "-")
    return text in (f"{low}-{high}", f"{low}to{high}", f"/{high}", f"outof{high}")


def write_value(verdict: Reading | PartReading) -> str:
    """Write the label of a verdict, or its number in digits."""
    if verdict.label:
        return verdict.label
    if not verdict.value:  # None and -0.0 are also written as 0
        return "0"
    return write_number(verdict.value)


def write_score(part: PartReading) -> str:
    """Write the score of a sentence as `read_score` reads it."""
    if part.value is None and not part.label:
        return NO_CLAIM
    return write_value(part)


def label_of(value: float | None, levels: Mapping[float, str]) -> str | None:
    """Return the label of a value: that of the lowest level it does not exceed; None above all levels.

    With the levels {0.5: "low", 1.0: "high"} the label of 0.6 is "high".
    """
    if value is None:
        return None
    for highest, label in sorted(levels.items()):
        if value <= highest:
            return label
    return None


def may_be_fraction(percent: float) -> bool:
    """Whether a number on a scale up to 100 may be meant as a fraction: 0.8 may mean 80."""
    return 0 < percent < 1


def parse_number(digits: str) -> float:
    """Return the value of a number with a decimal point or a decimal comma; never -0.0."""
    return float(digits.replace(",", ".")) + 0.0


def write_number(value: float) -> str:
    """Write a number in digits, never with an exponent; a whole number without a decimal point."""
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")
