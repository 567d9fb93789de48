"""Cutting a text into sentences, in any script, with their places. No judge of a model needs this."""

from __future__ import annotations

import re
from typing import NamedTuple

ABBREVIATIONS = frozenset(
    word
    for words in (
        "mr mrs ms dr prof rev hon gen col capt lt sgt sr jr st mt vs etc eg ie cf al vol no nos nr",
        "fig figs pp",
        "ed eds inc ltd co corp dept est approx ca circa min max tel jan feb mar apr jun jul aug",
        "sep sept oct nov",
        "dec bzw usw ggf evtl inkl zzgl vgl str hr fr bspw mio mrd sog bd mme mlle env sra dra dña",
        "ud uds dott",
        "sig av nº art им г ул стр",
    )
    for word in words.split()
)

_CLOSING = r"[\"'”’»›)\]）」』】》]"
_BOUNDARY = re.compile(
    rf"""
      (?<![.!?…]) (?P<end>[.!?…]++) (?:[^\S\n]?{_CLOSING})*+ \s++
    | (?<![。！？｡؟۔।॥։።]) [。！？｡؟۔।॥։።]++ {_CLOSING}*+
    | (?P<line>\n) \s*+
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«„]*\Z")
_BEFORE_ORDINAL = re.compile(
    r"(?:\A|\n|\b(?:am|im|den|dem|der|die|das|des|vom|zum|beim|ab|bis|und|seit|nach|vor))[^\S\n]*\Z",
    re.IGNORECASE,
)
"""What stands before the number of a list item, a German date or a German ordinal."""
_FAR = 12
_LONGEST_ABBREVIATION = 12
_LONGEST_ORDINAL = 2
_SHORTEST_LAST_WORD = 4
"""Letters that a word must have to end a sentence when the next one begins small."""


class Span(NamedTuple):
    """A piece of a text and where it stands: `whole[start:end] == text`."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """The sentences of a text that hold a letter or a digit; of a text without either, all of it.

    A point ends a sentence only with white space behind it, and not after an abbreviation, an initial
    or the number of a list or a date; a line break ends one unless the next line goes on in small letters.
    """
    ends = [boundary.end() for boundary in _BOUNDARY.finditer(text) if _is_boundary(text, boundary)]
    spans = [_span(text, start, end) for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    spoken = [span for span in spans if any(map(str.isalnum, span.text))]
    return spoken or [span for span in [_span(text, 0, len(text))] if span.text]


def _is_boundary(text: str, boundary: re.Match[str]) -> bool:
    following = text[boundary.end() : boundary.end() + 1]
    if boundary["line"]:
        return not following.islower() or boundary[0].count("\n") > 1
    if not boundary["end"] or "\n" in boundary[0]:
        return True
    begin = boundary.start()
    word = _LAST_WORD.search(text[max(0, begin - _LONGEST_ABBREVIATION) : begin])
    before = word[0].casefold() if word else ""
    if boundary["end"] != ".":
        return not following.islower() or (boundary["end"] in "!?" and boundary[0].rstrip()[-1] in "!?")
    if (
        before in ABBREVIATIONS
        or "." in before
        or (len(before) == 1 and before.isascii() and before.isalpha())
    ):
        return False
    if before.isdecimal() and len(before) <= _LONGEST_ORDINAL:
        return not _BEFORE_ORDINAL.search(text, max(0, begin - _FAR), begin - len(before))
    return not following.islower() or not before or len(before) >= _SHORTEST_LAST_WORD


def _span(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    return Span(piece, start, start + len(piece))
