"""The labelled fields of a reply: `Score: 8`, with or without Markdown around the label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest

LIST_ITEM = re.compile(r"\s*[0-9]+[.)]\s+\S")


@dataclass(frozen=True)
class Field:
    """A labelled field of a reply; the positions are indexes into the folded text.

    Attributes:
        label: the label's name in the pattern.
        begin: where the label begins.
        start: where the content begins.
        end: where the content ends, exclusive.
    """

    label: str
    begin: int
    start: int
    end: int


def label_pattern(labels: Mapping[str, Iterable[str]], *, numbered: bool = False) -> re.Pattern[str]:
    """A pattern for labels at the start of a line, with or without Markdown around them.

    Args:
        labels: for each label's name the ways in which it may be written. `fields` returns the names.
        numbered: whether a label may have a number, as in "Score 2:".
    """
    ways = "|".join(f"(?P<{name}>{'|'.join(map(_spaced, written))})" for name, written in labels.items())
    number = r"(?:[^\S\n]*\#?[0-9]+)?" if numbered else ""
    return re.compile(
        rf"^[^\S\n]*(?:(?:[-+•*]|[0-9]+[.)])[^\S\n]+|[>#][^\S\n]*)*+(?P<_mark>[*_`]*)(?:{ways}){number}"
        r"(?P=_mark)?[^\S\n]*:(?P=_mark)?",
        re.IGNORECASE | re.MULTILINE,
    )


def _spaced(label: str) -> str:
    """A pattern for a label in which spaces and underscores are interchangeable."""
    return "[_ ]".join(map(re.escape, re.split("[_ ]", label)))


def fields(text: str, labels: re.Pattern[str]) -> list[Field]:
    """The labelled fields of a text in order; a field ends where the next label begins."""
    found = list(labels.finditer(text))
    return [
        Field(match.lastgroup or "", match.start(), match.end(), _end(text, match, after))
        for match, after in zip_longest(found, found[1:])
    ]


def _end(text: str, label: re.Match[str], after: re.Match[str] | None) -> int:
    """Where a field ends, without the Markdown that surrounds label and content: `**Score: 8**`."""
    end = after.start() if after else len(text)
    mark = label["_mark"]
    if mark and not label[0].rstrip(": ").endswith(mark):
        content = text[label.end() : end].rstrip()
        if content.endswith(mark):
            return label.end() + len(content) - len(mark)
    return end


def first_line(text: str) -> str:
    """The first line that is not blank: a number may be on the line below its label.

    A numbered list item there ("1. The response ...") is not a number, and gives "".
    """
    same_line, *below = text.split("\n")
    if same_line.strip():
        return same_line
    line = next(filter(str.strip, below), "")
    return "" if LIST_ITEM.match(line) else line


def one_line(text: str) -> str:
    """The text on one line, so that none of its words can be read as a label."""
    return " ".join(text.split())
