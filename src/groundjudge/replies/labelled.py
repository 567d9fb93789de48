"""Labels at the beginning of a line, such as `Score: 8`, and the places behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from groundjudge.replies.opening import Folded
from groundjudge.replies.value import Expected, ParsedValue, written
from groundjudge.scale import Scale

# The rest of the labelled line or, if that is empty, the next line that is not.
PLACE = re.compile(r"\s*+([^\n]*)")
# A line below that goes on with the value: it begins with a digit, or is a sign alone or before a digit.
GOES_ON_BELOW = re.compile(r"\s*+(?:[0-9]|[-+–,./%][.。]?[^\S\n]*(?:[0-9]|$))", re.MULTILINE)
BULLETS = r"^[^\S\n]*+(?:(?:[-+•*]|\#{1,6}|[0-9]{1,2}[.)])[^\S\n]++)*+"
BRACKET = r"(?:[^\S\n]*[(\[](?P<bracket>[^()\[\]\n]{0,20}?[0-9][^()\[\]\n]{0,20})[)\]])?"


@dataclass(frozen=True)
class Field:
    """A labelled field; the positions are indexes into the folded text.

    Attributes:
        label: the label in small letters, with spaces for underscores.
        start: where its place begins.
        stop: where its place ends, exclusive.
        end: where the field ends, exclusive: at the next label, or at the end of the reply.
        begin: where its line begins.
        bracket: what stands in a bracket behind the label; "" if there is none.
    """

    label: str
    start: int
    stop: int
    end: int
    begin: int
    bracket: str


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
    matches = list(labels.finditer(text))
    for match, after in zip_longest(matches, matches[1:]):
        end = after.start() if after else len(text)
        place = PLACE.match(text, match.end(), end)
        start, stop = place.span(1) if place else (end, end)
        label = match["label"].casefold().replace("_", " ")
        found.append(Field(label, start, stop, end, match.start(), match["bracket"] or ""))
    return found


def verdict(
    text: Folded, given: Sequence[Field], expected: Expected, of: str = "", *, prose_may_follow: bool = False
) -> tuple[Field, ParsedValue]:
    """What the fields of a verdict say, all of them the same, and the first that is no echo of the prompt.

    Raises:
        ReplyError: as for `Expected.agreed`; `out_of_scale` for a label with another scale, `ambiguous` if
            more follows in a field than its verdict.
    """
    first, value = expected.agreed([text.text[field.start : field.stop] for field in given], of)
    for field in given[first:]:
        if field.bracket and not _states(field.bracket, expected.scale):
            raise expected.error("out_of_scale", field.bracket, of)
        below = GOES_ON_BELOW.match(text.text, field.stop, field.end)
        if below or (not prose_may_follow and text.says_something(field.stop, field.end)):
            raise expected.error("ambiguous", text.text[field.stop : field.end].strip()[:80], of)
    return given[first], value


def _states(bracket: str, scale: Scale) -> bool:
    """Whether a bracket states the scale: "0-10", "0 to 10", "/10" or "out of 10"."""
    low, high = map(written, sorted((scale.worst, scale.best)))
    stated = re.sub(r"\s", "", bracket).casefold().replace("–", "-")
    return not scale.choices and stated in {f"{low}-{high}", f"{low}to{high}", f"/{high}", f"outof{high}"}


def one_line(text: str) -> str:
    """The text on one line, so that none of its words can be read as a label."""
    return " ".join(text.split())
