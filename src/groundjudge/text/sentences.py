"""Cutting a text into sentences, in any script, with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_lowercase
from typing import NamedTuple
from unicodedata import normalize

_ABBREVIATIONS = """
mr mrs ms dr prof rev hon gen col capt lt sgt sr jr st mt vs etc eg ie cf al vol no nos nr fig figs pp ed eds
inc ltd co corp dept est approx ca circa min max tel jan feb mar apr jun jul aug sep sept oct nov dec
"""

_CLOSING = r"[\"'”’»›)\]）」』】》]"
# Behind a blank these close a quotation only if nothing follows them: . "Then
_OPENS_OR_CLOSES = r"[\"'»›]"
_BOUNDARY = re.compile(
    rf"""
      (?<![.!?…]) (?P<end>[.!?…]++)
      (?: {_CLOSING} | [«‹“] | [^\S\n] (?!{_OPENS_OR_CLOSES}[^\W_]) {_CLOSING} )*+ \s++
    | (?<![。！？｡؟۔।॥։።]) [。！？｡؟۔।॥։።]++ {_CLOSING}*+ \s*+
    | (?P<line>\n) \s*+
    """,
    re.VERBOSE,
)
# What each of these begins with.
_FIRST_SIGN = re.compile(r"[.!?…。！？｡؟۔।॥։።\n]")
_CITATION = re.compile(r"\[\^?\d{1,3}(?:\s?[,;–-]\s?\^?\d{1,3})*\]|【[^】\n]{1,30}】")
# No point behind these ends a sentence: an abbreviation or an initial, e.g or U.S, and the number of a list.
# As they are compared, without capitals; a Turkish initial, İ, has two characters then.
_SHORT_WORDS = frozenset([*_ABBREVIATIONS.split(), *ascii_lowercase, "İ".casefold()])
_LETTERS_AFTER_POINT = re.compile(r"\.[^\W\d_]+\Z")
_LIST_NUMBER = re.compile(r"(?:\A|\n)[^\S\n]*\d\d?\Z")
# What a word begins behind.
_BEFORE_WORD = re.compile(r"[\s(\[\"'“‘«„]")
_FAR = 12
# Signs that say something, as letters and digits do: a unit in a line of its own, a comparison. A scorecard
# has to rate them, too; they are the signs among the words of `evidence.normalized`, without Markdown's.
_SIGN = re.compile(r"[$€£¥≤≥≠±×÷%‰°&@§]|<(?=[\s\d=]|\Z)|>(?<=[^\n>]>)")


class Span(NamedTuple):
    """A piece of a text and where it stands: `whole[start:end] == text`."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """The sentences of a text that hold a letter, a digit or a sign that says something; or else all of it.

    A point ends a sentence only with white space behind it, and not after an abbreviation, an initial
    or the number of a list; a line break ends one unless the next line goes on in small letters. Citation
    markers end none, and belong to the sentence that they follow.
    """
    plain = without_citations(text)
    ends = [boundary.end() for boundary in _boundaries(plain) if _ends_sentence(plain, boundary)]
    ends.append(len(text))
    spans: list[Span] = []
    start = 0
    for end in ends:
        if _says_something(plain[start:end]):
            spans.append(_strip(text, start, end))
        start = end
    if spans:
        return spans
    whole = _strip(text, 0, len(text))
    if whole.text:
        return [whole]
    return []


def _boundaries(text: str) -> Iterator[re.Match[str]]:
    """Yield the boundaries of a text; looking for their first signs takes a tenth of trying every place."""
    position = 0
    while sign := _FIRST_SIGN.search(text, position):
        boundary = _BOUNDARY.match(text, sign.start())
        position = sign.end()
        if boundary:
            yield boundary
            position = boundary.end()


def without_citations(text: str) -> str:
    """A text with blanks where its citation markers are: [1], [2, 3], [^1] and 【1】."""
    return _CITATION.sub(lambda marker: " " * len(marker[0]), text)


def _says_something(text: str) -> bool:
    """Whether a text holds a letter, a digit or a sign that says something, in any form: ™ is two letters."""
    if any(map(str.isalnum, text)):
        return True
    folded = normalize("NFKC", text)
    return any(map(str.isalnum, folded)) or _SIGN.search(folded) is not None


def _ends_sentence(text: str, boundary: re.Match[str]) -> bool:
    start = boundary.start()
    goes_on = text[boundary.end() : boundary.end() + 1].islower()
    if boundary["line"]:
        return not goes_on or boundary[0].count("\n") > 1
    if not boundary["end"] or "\n" in boundary[0]:
        return True
    if boundary["end"] != ".":
        if not goes_on:
            return True
        # A question in a sentence ends none where a quotation mark closes it: "Why?" he asked.
        return boundary["end"] in "!?" and boundary[0].rstrip()[-1] in "!?"
    if _leaves_open(text, start):
        return False
    is_apart = text[start - 1 : start].isspace()  # as in texts that were cut into words
    return is_apart or not goes_on


def _leaves_open(text: str, end: int) -> bool:
    """Whether a point at that place ends no sentence, because of the word ahead of it."""
    start = max(0, end - _FAR)
    word = _BEFORE_WORD.split(text[start:end])[-1]
    if word.casefold() in _SHORT_WORDS:
        return True
    if "." in word:
        return _LETTERS_AFTER_POINT.search(word) is not None
    return word.isdecimal() and _LIST_NUMBER.search(text, start, end) is not None


def _strip(text: str, start: int, end: int) -> Span:
    """A piece of a text without the white space around it."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    return Span(piece, start, start + len(piece))
