"""The labelled parts of a reply: `Score: 8`, whatever Markdown stands around the label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest

LIST_ITEM = re.compile(r"\s*[0-9]+[.)]\s+\S")


@dataclass(frozen=True)
class Field:
    """A labelled part of a reply: which label, where the label begins, and where its content stands."""

    label: str
    begin: int
    start: int
    end: int


def label_pattern(labels: Mapping[str, Iterable[str]], *, numbered: bool = False) -> re.Pattern[str]:
    """A pattern for labels at the start of a line, whatever Markdown stands around them.

    `labels` maps each label's name to the ways in which it may be written; `fields` tells the names.
    `numbered` labels may count themselves ("Score 2:").
    """
    ways = "|".join(f"(?P<{name}>{'|'.join(map(_spaced, written))})" for name, written in labels.items())
    number = r"(?:[^\S\n]*\#?[0-9]+)?" if numbered else ""
    return re.compile(
        rf"^[^\S\n]*(?:(?:[-+•*]|[0-9]+[.)])[^\S\n]+|[>#][^\S\n]*)*+(?P<_mark>[*_`]*)(?:{ways}){number}"
        r"(?P=_mark)?[^\S\n]*:(?P=_mark)?",
        re.IGNORECASE | re.MULTILINE,
    )


def _spaced(label: str) -> str:
    """A pattern for a label, with spaces for its underscores or the other way round."""
    return "[_ ]".join(map(re.escape, re.split("[_ ]", label)))


def fields(text: str, labels: re.Pattern[str]) -> list[Field]:
    """The labelled parts of a text in their order; a part ends where the next label begins."""
    found = list(labels.finditer(text))
    return [
        Field(match.lastgroup or "", match.start(), match.end(), _end(text, match, after))
        for match, after in zip_longest(found, found[1:])
    ]


def _end(text: str, label: re.Match[str], after: re.Match[str] | None) -> int:
    """Where a label's part ends, without the Markdown that surrounds both: `**Score: 8**`."""
    end = after.start() if after else len(text)
    mark = label["_mark"]
    if mark and not label[0].rstrip(": ").endswith(mark):
        content = text[label.end() : end].rstrip()
        if content.endswith(mark):
            return label.end() + len(content) - len(mark)
    return end


def first_line(text: str) -> str:
    """The first line that is not blank: a number may stand on the line below its label.

    A list that begins there is no number: "1. The response ...".
    """
    own, *below = text.split("\n")
    if own.strip():
        return own
    line = next(filter(str.strip, below), "")
    return "" if LIST_ITEM.match(line) else line


def one_line(text: str) -> str:
    """A text on one line, where no label of a format can begin."""
    return " ".join(text.split())
