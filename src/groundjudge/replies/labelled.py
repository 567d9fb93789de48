"""Labels at the beginning of a line, such as `Score: 8`, and the places behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from groundjudge.replies.format import Reading
from groundjudge.replies.opening import LETTER_OR_DIGIT
from groundjudge.replies.value import Reader, written
from groundjudge.scale import Scale

# A line below that goes on with the value: it begins with a digit, or is a sign, alone but
# for closing marks or before a digit.
GOES_ON_BELOW = re.compile(
    r"\s*+(?:[0-9]|[-+–,./%][.。]?(?:[^\S\n]|[*_`\"'”’\])}])*(?:[0-9]|$))", re.MULTILINE
)
LINE = re.compile("\n")
BULLETS = r"^[^\S\n]*+(?:(?:[-+•*]|\#{1,6}|[0-9]{1,2}[.)])[^\S\n]++)*+"
BRACKET = r"(?:[^\S\n]*[(\[](?P<bracket>[^()\[\]\n]{0,20}?[0-9][^()\[\]\n]{0,20})[)\]])?"


class Field(NamedTuple):
    """A labelled field; the positions are indexes into the folded text.

    Attributes:
        label: the label in small letters, with spaces for underscores.
        bracket: what stands in a bracket behind the label; "" if there is none.
        begin: where its line begins.
        start: where its place begins.
        end: where the field ends, exclusive: at the next label, or at the end of the reply.
        place: the rest of the labelled line or, if that is empty, the next line that is not.
        below: what follows the place.
    """

    label: str
    bracket: str
    begin: int
    start: int
    end: int
    place: str
    below: str


def label_pattern(labels: Iterable[str]) -> re.Pattern[str]:
    """A pattern for labels, each followed by a colon unless it ends in a bracket.

    In a label a space and `_` are the same. A bracket that states a scale may follow: "Score (0-10): 7".
    """
    ways = ("[_ ]".join(map(re.escape, re.split("[_ ]", label))) for label in labels)
    return re.compile(
        rf"{BULLETS}(?P<label>{'|'.join(ways)})(?:(?<=\])|{BRACKET}[^\S\n]*:)", re.IGNORECASE | re.MULTILINE
    )


def fields(text: str, labels: re.Pattern[str]) -> list[Field]:
    """The labelled fields of a text in order."""
    found: list[Field] = []
    begins = (0, *(line.end() for line in LINE.finditer(text)))  # which is faster than to search for a label
    matches = [match for begin in begins if (match := labels.match(text, begin))]
    for match, after in zip_longest(matches, matches[1:]):
        label, end = match["label"].casefold().replace("_", " "), after.start() if after else len(text)
        rest = text[match.end() : end].lstrip()
        place, newline, below = rest.partition("\n")
        start = end - len(rest)
        found.append(Field(label, match["bracket"] or "", match.start(), start, end, place, newline + below))
    return found


def verdict(
    reader: Reader, given: Sequence[Field], of: str = "", *, prose_may_follow: bool = False
) -> tuple[Field, Reading]:
    """What the fields of a verdict say, all of them the same, and the first that is no echo of the prompt.

    Raises:
        ReplyError: as for `Reader.agreed`; `out_of_scale` for a label with another scale, `ambiguous` if
            more follows in a field than its verdict.
    """
    index, found = reader.verdict([(each.start, each.start + len(each.place)) for each in given], of)
    for field in given[index:]:
        if field.bracket and not _states(field.bracket, reader.scale):
            raise reader.error("out_of_scale", field.bracket, of)
        if GOES_ON_BELOW.match(field.below) or (not prose_may_follow and LETTER_OR_DIGIT.search(field.below)):
            raise reader.error("ambiguous", field.below.strip(), of)
    return given[index], found


def _states(bracket: str, scale: Scale) -> bool:
    """Whether a bracket states the scale: "0-10", "0 to 10", "/10" or "out of 10"."""
    low, high = map(written, sorted((scale.worst, scale.best)))
    stated = re.sub(r"\s", "", bracket).casefold().replace("–", "-")
    return not scale.choices and stated in {f"{low}-{high}", f"{low}to{high}", f"/{high}", f"outof{high}"}


def one_line(text: str) -> str:
    """The text on one line, so that none of its words can be read as a label."""
    return " ".join(text.split())
