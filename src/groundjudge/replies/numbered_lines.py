"""Numbered lines, one per sentence of the response, which name sentences of the source by number.

The first field of a line is the number of its sentence, and its second one has numbers of the source's
sentences: "3, 7-9".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from groundjudge.case.numbered import Sentences
from groundjudge.replies.format import Place, Span
from groundjudge.replies.reading import Marks
from groundjudge.replies.value import Reader
from groundjudge.scale import unwrap
from groundjudge.text.patterns import compile_when_used

ALL = "ALL"
"""The beginning of the last line, which says how many graders in a hundred would accept the whole."""

NONE = "-"
"""Means that there is no source, or no note."""

MAX_RANGE = 1000
"""How many of the source's sentences one range may name, if their number is unknown."""

# The first field of a line, as models write it: "3", "**3.**" (emphasis is folded), "- [3]".
BEGINNING = r"[^\S\n]*(?:[-*•][^\S\n]+)?[(\[]?(?:[1-9][0-9]{0,5}|ALL)[.)\]]?[^\S\n]*"
MARKS = Marks(compile_when_used(rf"^[^\S\n]*\|?{BEGINNING}\|", re.MULTILINE | re.IGNORECASE), "lines")
NUMBER = compile_when_used(r"(?:[-*•]\s+)?[(\[]?(?P<name>[1-9][0-9]{0,5}|ALL)[.)\]]?", re.IGNORECASE)
SOURCES = compile_when_used(r"(?P<first>[1-9][0-9]{0,5})(?:\s*[-‐-―−]\s*(?P<last>[1-9][0-9]{0,5}))?")
NO_SOURCE = compile_when_used(r"[-‐-―−]*")
DASHES = compile_when_used(r"[\s|:-]*-[\s|:-]*")
FENCE = compile_when_used(r"\s*(?:```|~~~)[^`\n]*")


def find_lines(reader: Reader, n_fields: int) -> list[Place]:
    """Find the lines of a reply: each number once, in rising order, with "ALL" at the end.

    The last field of each is the place of a value. Prose without a bar, or the head of a table with as many
    columns as a line has fields, may precede them; a fence may surround them.

    Raises:
        ReplyError: `ambiguous` for any other line, and for a number that is repeated with something else;
            `no_verdict` if there is no line.
    """
    spans = list(_spans_of_lines(reader))
    start = _find_first(reader, spans)
    _check_columns(reader, spans[:start], n_fields)
    has_fence = any(FENCE.fullmatch(reader.text[slice(*span)]) for span in spans[:start])
    if has_fence and FENCE.fullmatch(reader.text[slice(*spans[-1])]):
        spans.pop()
    lines: list[Place] = []
    texts: dict[str, str] = {}
    reached = 0.0
    for span in spans[start:]:
        text = reader.text[slice(*span)].strip()
        line = _find_line(reader.text, span)
        if line is not None and texts.get(line.label) == text:
            continue
        if line is None or _rank(line) <= reached:
            raise reader.make_error("ambiguous", text)
        reached = _rank(line)
        texts[line.label] = text
        lines.append(line)
    if lines[0].label == ALL:
        raise reader.make_error("no_verdict")
    return lines


def _spans_of_lines(reader: Reader) -> Iterator[Span]:
    """Yield the spans of the lines of a reply that are not blank.

    Folding turns every carriage return into a line end, but in a note it isn't one.
    """
    text, raw, origins = reader.text, reader.reply.raw, reader.reply.origins
    start = end = 0
    while end < len(text):
        end = text.find("\n", end)
        if end < 0:
            end = len(text)
        elif raw[origins[end]] != "\n":
            end += 1
            continue
        if not text[start:end].isspace() and start < end:
            yield start, end
        end += 1
        start = end


def _find_first(reader: Reader, spans: Sequence[Span]) -> int:
    """Return the index of the first line of a verdict.

    Raises:
        ReplyError: `no_verdict` if there is none; `ambiguous` if an earlier line might be one: it has a bar
            and a digit, and is not the head of a table, which a row of dashes follows.
    """
    for index, span in enumerate(spans):
        if _find_line(reader.text, span) is not None:
            return index
        text = reader.text[slice(*span)]
        if "|" not in text or not any(map(str.isdigit, text)):
            continue
        next_span = spans[index + 1] if index + 1 < len(spans) else span
        if not DASHES.fullmatch(reader.text[slice(*next_span)]):
            raise reader.make_error("ambiguous", text)
    raise reader.make_error("no_verdict")


def _check_columns(reader: Reader, spans: Sequence[Span], n_fields: int) -> None:
    """Check that a head ahead of the lines names their columns, and the score, if there is one, last.

    Raises:
        ReplyError: `ambiguous`: there are more or fewer, or the score is not the last one.
    """
    texts = [reader.text[slice(*span)].strip() for span in spans]
    for text, next_text in zip_longest(texts, texts[1:], fillvalue=""):
        columns = text.casefold().removeprefix("|").removesuffix("|").split("|")
        names_score = any("score" in column for column in columns)
        if len(columns) == 1 or not (names_score or DASHES.fullmatch(next_text)):
            continue  # prose, or the token of a template
        if len(columns) != n_fields or "score" in "".join(columns[:-1]):
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
    if text.startswith("|", start):
        start += 1
        if text.endswith("|", start, end):
            end -= 1
    first_bar = text.find("|", start, end)
    number = NUMBER.fullmatch(text[start:first_bar].strip())
    if first_bar < 0 or number is None:
        return None
    last_bar = text.rfind("|", start, end)
    return Place("value", (last_bar + 1, end), span, number["name"].upper())


def split_line(text: str, line: Place, end: int) -> list[str]:
    """Split a line at its bars, up to an index, without its first field."""
    return text[line.span[0] : end].lstrip().removeprefix("|").split("|")[1:]


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
