"""Numbered lines, one per sentence of the response, which name sentences of the source by number.

The first field of a line is the number of its sentence, and its second one has numbers of the source's
sentences: "3, 7-9".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from groundjudge.case.numbered import Sentences
from groundjudge.replies.format import Place, Span
from groundjudge.replies.reading import Marks, PlacedFormat
from groundjudge.replies.value import Reader
from groundjudge.scale import unwrap
from groundjudge.text.patterns import compile_when_used

ALL = "ALL"
"""The beginning of the last line, which says how many graders in a hundred would accept the whole."""

NONE = "-"
"""Means that there is no source, or no note."""

MAX_RANGE = 1000
"""How many of the source's sentences one range may name, if their number is unknown."""

# The first field of a line, as models write it: "3", "**3.**" (emphasis is folded), "- [3]", "| 3".
_FIRST_FIELD = r"(?P<row>\|)?[^\S\n]*(?:[-*•][^\S\n]+)?[(\[]?(?P<name>[1-9][0-9]{0,5}|ALL)[.)\]]?[^\S\n]*\|"
FIRST_FIELD = compile_when_used(_FIRST_FIELD, re.IGNORECASE)
MARK = compile_when_used(rf"^[^\S\n]*{_FIRST_FIELD}", re.MULTILINE | re.IGNORECASE)
SOURCES = compile_when_used(r"(?P<first>[1-9][0-9]{0,5})(?:\s*[-‐-―−]\s*(?P<last>[1-9][0-9]{0,5}))?")
NO_SOURCE = compile_when_used(r"[-‐-―−]*")
DASHES = compile_when_used(r"[\s|:-]*-[\s|:-]*")
LINE_END = compile_when_used(r"\n")
FENCE = compile_when_used(r"\s*(?:```|~~~)[^`\n]*")


@dataclass(frozen=True)
class NumberedLines(PlacedFormat):
    """A format whose replies are such lines.

    Attributes:
        n_fields: how many fields a line has, with its number.
    """

    parts_are_sentences = True
    numbers_sentences = True
    n_fields: ClassVar[int]

    @property
    def marks(self) -> Marks:
        """The beginning of a line."""
        return Marks(MARK, "lines")

    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find the lines of a reply: each number once, in rising order, with "ALL" at the end.

        The last field of each is the place of a value. Prose without a bar, or the head of a table with as
        many columns as a line has fields, may precede them; a fence may surround them.

        Raises:
            ReplyError: `ambiguous` for any other line, and for a number that is repeated with something else;
                `no_verdict` if there is no line.
        """
        spans = _spans_of_lines(reader)
        texts = [reader.text[slice(*span)] for span in spans]
        lines = [_find_line(reader.text, span) for span in spans]
        start, end = 0, len(lines)
        while start < end and lines[start] is None:
            start += 1
        _check_ahead(reader, texts, start, self.n_fields)
        if any(map(FENCE.fullmatch, texts[:start])) and FENCE.fullmatch(texts[-1]):
            end -= 1
        places: list[Place] = []
        texts_by_label: dict[str, str] = {}
        for text, line in zip(texts[start:end], lines[start:end], strict=True):
            if line is not None and texts_by_label.get(line.label) == text.strip():
                continue
            if line is None or (places and _rank(line) <= _rank(places[-1])):
                raise reader.make_error("ambiguous", text)
            texts_by_label[line.label] = text.strip()
            places.append(line)
        if not places or places[0].label == ALL:
            raise reader.make_error("no_verdict")
        return places


def _spans_of_lines(reader: Reader) -> list[Span]:
    """Return the spans of the lines of a reply that are not blank.

    Folding turns every carriage return into a line end, but in a note it isn't one.
    """
    text, raw, origins = reader.text, reader.reply.raw, reader.reply.origins
    line_ends = (match.start() for match in LINE_END.finditer(text))
    ends = [end for end in line_ends if raw[origins[end]] == "\n"]
    starts = [0, *(end + 1 for end in ends)]
    spans = zip(starts, [*ends, len(text)], strict=True)
    return [span for span in spans if text[slice(*span)].strip()]


def _check_ahead(reader: Reader, texts: Sequence[str], start: int, n_fields: int) -> None:
    """Check that nothing ahead of the lines may be one, and that the head of a table names their columns.

    Args:
        reader: the reader of the reply.
        texts: all lines of the reply.
        start: the index of the first line of a verdict; the number of lines if there is none.
        n_fields: how many columns there are.

    Raises:
        ReplyError: `ambiguous`: something else has a bar and a digit, or a head has more or fewer columns, or
            the score is not the last one.
    """
    has_verdict = start < len(texts)
    for text, next_text in zip_longest(texts[:start], texts[1:start], fillvalue=""):
        is_above_dashes = DASHES.fullmatch(next_text) is not None
        if "|" in text and any(map(str.isdigit, text)) and not is_above_dashes:
            raise reader.make_error("ambiguous", text)
        columns = text.strip().casefold().removeprefix("|").removesuffix("|").split("|")
        # Anything else, or with one column, is prose or the token of a template.
        is_head = len(columns) > 1 and (is_above_dashes or any("score" in column for column in columns))
        is_score_last = "score" not in "".join(columns[:-1])
        if has_verdict and is_head and not (len(columns) == n_fields and is_score_last):
            raise reader.make_error("ambiguous", text)


def _rank(line: Place) -> float:
    """Return the rank of a line among others: its number, with "ALL" after all numbers."""
    return float("inf") if line.label == ALL else int(line.label)


def _find_line(text: str, span: Span) -> Place | None:
    """Find the last field of a line, with the first one as its label; None if the line is not a verdict's.

    The bars around a table row do not separate fields.
    """
    line = text[slice(*span)]
    start = span[0] + len(line) - len(line.lstrip())
    end = span[0] + len(line.rstrip())
    first = FIRST_FIELD.match(text, start, end)
    if first is not None and first["row"] and text.endswith("|", 0, end):
        end -= 1
    if first is None or first.end() > end:
        return None
    last_bar = text.rfind("|", start, end)
    return Place("value", (last_bar + 1, end), span, first["name"].upper())


def split_line(text: str, line: Place) -> list[str]:
    """Split a line at its bars, without its first field."""
    return text[line.span[0] : line.content[1]].lstrip().removeprefix("|").split("|")[1:]


def read_sources(text: str, sentences: Sentences | None) -> tuple[int, ...] | None:
    """Read numbers and ranges, such as "3, 7-9"; None for anything else, and for what is not shown."""
    text = unwrap(text)
    if NO_SOURCE.fullmatch(text):
        return ()
    numbers: dict[int, None] = {}
    for entry in text.split(","):
        match = SOURCES.fullmatch(entry.strip())
        if match is None:
            return None
        first = int(match["first"])
        last = int(match["last"] or first)
        most = first + MAX_RANGE if sentences is None else len(sentences.source)
        if not first <= last <= most:
            return None
        named = range(first, last + 1)
        if sentences is not None and not all(map(sentences.is_shown, named)):
            return None
        numbers.update(dict.fromkeys(named))
    return tuple(numbers)
