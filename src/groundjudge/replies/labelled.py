"""Verdicts on labelled lines, such as `Score: 8`: the labels, the places behind them, and two formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, Reading
from groundjudge.replies.opening import LETTER_OR_DIGIT, Folded, open_reply
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, value_text, written
from groundjudge.scale import Scale

# A line below that goes on with the value: it begins with a digit, or is a sign, alone but
# for closing marks or before a digit.
GOES_ON_BELOW = re.compile(
    r"\s*+(?:[0-9]|[-+–,./%][.。]?(?:[^\S\n]|[*_`\"'”’»」』\])】}])*(?:[0-9]|$))", re.MULTILINE
)
LINE = re.compile("\n")
BULLETS = r"^[^\S\n]*+(?:(?:[-+•*]|\#{1,6}|[0-9]{1,2}[.)])[^\S\n]++)*+"
BRACKET = r"(?:[^\S\n]*[(\[](?P<bracket>[^()\[\]\n]{0,20}?[0-9][^()\[\]\n]{0,20})[)\]])?"


class Field(NamedTuple):
    """A labelled field; the positions are indexes into the folded text.

    Attributes:
        label: the label, `spelt`.
        bracket: what stands in a bracket behind the label; "" if there is none.
        begin: where its line begins.
        start: where its place begins.
        text: the reply's own text behind the label, up to the next one or the end of the reply.
        place: the rest of the labelled line or, if that is empty, the next line that is not.
        below: what follows the place.
    """

    label: str
    bracket: str
    begin: int
    start: int
    text: str
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


def labelled_fields(
    reply: Reply, labels: re.Pattern[str], scale: Scale, expectation: Expectation, names: tuple[str, ...] = ()
) -> tuple[Reader, list[Field]]:
    """A reply, and its labelled fields in order."""
    reader = Reader(open_reply(reply, labels), scale, expectation, names)
    text = reader.text.text
    begins = (0, *(line.end() for line in LINE.finditer(text)))  # which is faster than to search for a label
    matches = [match for begin in begins if (match := labels.match(text, begin))]
    ends = (*(match.start() for match in matches[1:]), len(text))
    return reader, [_field(reader.text, match, end) for match, end in zip(matches, ends, strict=False)]


def _field(text: Folded, match: re.Match[str], end: int) -> Field:
    rest = text.text[match.end() : end].lstrip()
    start, (place, newline, below) = end - len(rest), rest.partition("\n")
    own, bracket = text.slice(start, end), match["bracket"] or ""
    return Field(spelt(match["label"]), bracket, match.start(), start, own, place, newline + below)


def spelt(label: str) -> str:
    """A label as it is compared: in small letters, with spaces for underscores."""
    return label.casefold().replace("_", " ")


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


@dataclass(frozen=True)
class Line(Format):
    """Reads a verdict on a line of its own, as in `Final verdict: Inconsistent`, and the prose before it.

    Attributes:
        name: the label of the line, or several of which any may be used. It begins the line, and a colon
            follows unless it ends in a bracket, as `[RESULT]` does.
        brackets: whether the verdict stands in double brackets, as in `Rating: [[5]]`.
    """

    name: str | tuple[str, ...] = "Verdict"
    brackets: bool = False

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply. Prose may follow the verdict, without a digit or, after a label, another label.

        Raises:
            ReplyError: there is no such line, there are several that differ (`ambiguous`), or it cannot be
                read.
        """
        reader, found = labelled_fields(reply, self._labels, scale, expectation, self._names)
        lines = [each for each in found if not self.brackets or "[[" in each.place]
        line, read = verdict(reader, lines, prose_may_follow=True)
        rest = (each.below if each in lines else each.text for each in found[found.index(line) :])
        if any(reader.may_differ(read, text) for text in rest):
            raise reader.error("ambiguous")
        return replace(read, reason=reader.text.slice(reader.text.start, line.begin))

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation, with its labels made harmless, and the labelled line below it."""
        name = self._names[0]
        place = f"[[{value_text(reading)}]]" if self.brackets else value_text(reading)
        reason = self._labels.sub(lambda match: f"> {match[0]}", reading.reason)
        return f"{reason}\n{name}{'' if name.endswith(']') else ':'} {place}".lstrip()

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.name,) if isinstance(self.name, str) else self.name

    @cached_property
    def _labels(self) -> re.Pattern[str]:
        return label_pattern(self._names)


BANDED = label_pattern(("Analysis", "Level", "Score"))


@dataclass(frozen=True)
class Banded(Format):
    """Reads the number or the label after `Score:`, the texts after `Analysis:` and `Level:`."""

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: there is no score, there are several that differ or more behind it (`ambiguous`), or
                it cannot be read.
        """
        reader, found = labelled_fields(reply, BANDED, scale, expectation)
        _, score = verdict(reader, [each for each in found if each.label == "score"])
        texts = {each.label: each.text for each in found}
        return replace(score, reason=texts.get("analysis", ""), level=texts.get("level", ""))

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the three labelled parts, one line each."""
        analysis, level = one_line(reading.reason), one_line(reading.level)
        return f"Analysis: {analysis}\nLevel: {level}\nScore: {value_text(reading)}"
