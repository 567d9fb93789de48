"""Cutting a text into sentences, in any script, with their places."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import NamedTuple
from unicodedata import normalize

from groundjudge.text.patterns import compile_when_used

_ABBREVIATIONS = """
mr mrs ms dr prof rev hon gen col capt lt sgt sr jr st mt vs etc eg ie cf al vol no nos nr fig figs pp ed eds
inc ltd co corp dept est approx ca circa min max tel jan feb mar apr jun jul aug sep sept oct nov dec
"""

_CLOSING = r"[\"'”’»›)\]）」』】》]"
# Behind a blank these close a quotation only if nothing follows them: . "Then
_OPENS_OR_CLOSES = r"[\"'»›]"
_POINT = r"[.!?…]"
_WIDE_POINT = r"[。！？｡؟۔।॥։।]"
# A set of signs stands first: Python looks for one in a tenth of the time that trying every place takes.
_BOUNDARY = compile_when_used(
    rf"""
    (?P<first> [.!?…。！？｡؟۔।॥։।\n])
    (?:
        (?<={_POINT}) (?<!{_POINT}{{2}}) (?P<more> {_POINT}*+)
        (?: {_CLOSING} | [«‹“] | [^\S\n] (?!{_OPENS_OR_CLOSES}[^\W_]) {_CLOSING} )*+ \s++
      | (?<={_WIDE_POINT}) (?<!{_WIDE_POINT}{{2}}) {_WIDE_POINT}*+ {_CLOSING}*+ \s*+
      | (?<=\n) \s*+
    )
    """,
    re.VERBOSE,
)
_CITATION = compile_when_used(r"\[\^?\d{1,3}(?:\s?[,;–-]\s?\^?\d{1,3})*\]|【[^】\n]{1,30}】")
# No point behind these ends a sentence: an abbreviation or an initial, e.g or U.S, and the number of a list.
# As they are compared, without capitals; a Turkish initial, İ, has two characters then.
_SHORT_WORDS = frozenset([*_ABBREVIATIONS.split(), *ascii_lowercase, "İ".casefold()])
_LETTERS_AFTER_POINT = compile_when_used(r"\.[^\W\d_]+\Z")
_LIST_NUMBER = compile_when_used(r"(?:\A|\n)[^\S\n]*\d\d?\Z")
# What a word begins behind.
_BEFORE_WORD = compile_when_used(r"[\s(\[\"'“‘«„]")
_FAR = 12
# Signs that say something, as letters and digits do: a unit in a line of its own, a comparison. A scorecard
# has to rate them, too; they are the signs among the words of `evidence.normalized`, without Markdown's.
_SIGN = compile_when_used(r"[$¢-¥\u20a0-\u20cf≤≥≠±×÷%‰°&@§]|<(?=[\s\d=]|\Z)|>(?<=[^\n>]>)")


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
    ends = [boundary.end() for boundary in _BOUNDARY.finditer(plain) if _ends_sentence(plain, boundary)]
    ends.append(len(text))
    spans: list[Span] = []
    # What ends a sentence takes the white space behind it: only the first one has some ahead of it.
    start = len(text) - len(text.lstrip())
    for end in ends:
        if says_something(plain[start:end]):
            sentence = text[start:end].rstrip()
            spans.append(Span(sentence, start, start + len(sentence)))
        start = end
    if spans:
        return spans
    whole = text.strip()
    if whole:
        start = text.index(whole)
        return [Span(whole, start, start + len(whole))]
    return []


def without_citations(text: str) -> str:
    """A text with blanks where its citation markers are: [1], [2, 3], [^1] and 【1】."""
    if "[" not in text and "【" not in text:  # so most are: it takes a tenth of the time
        return text
    return _CITATION.sub(lambda marker: " " * len(marker[0]), text)


def says_something(text: str) -> bool:
    """Whether a text holds a letter, a digit or a sign that says something, in any form: ™ is two letters."""
    if text[:1].isalnum() or any(map(str.isalnum, text)):
        return True
    folded = normalize("NFKC", text)
    return any(map(str.isalnum, folded)) or _SIGN.search(folded) is not None


def _ends_sentence(text: str, boundary: re.Match[str]) -> bool:
    start, end = boundary.span()
    first, more = boundary.groups()
    goes_on = text[end : end + 1].islower()
    if first == "\n":
        return not goes_on or text.count("\n", start, end) > 1
    is_wide = more is None
    if is_wide or "\n" in boundary[0]:
        return True
    if first != "." or more:
        if not goes_on:
            return True
        # A question in a sentence ends none where a quotation mark closes it: "Why?" he asked.
        return first + more in "!?" and boundary[0].rstrip()[-1] in "!?"
    if _leaves_open(text, start):
        return False
    # A point that stands apart ends one, as in texts that were cut into words.
    return not goes_on or text[start - 1 : start].isspace()


def _leaves_open(text: str, end: int) -> bool:
    """Whether a point at that place ends no sentence, because of the word ahead of it."""
    start = end - _FAR if end > _FAR else 0
    word = text[start:end].rpartition(" ")[2]
    # So most words are: it takes a fifth of the time to see that nothing else is in them.
    if word.isalpha():
        return word.casefold() in _SHORT_WORDS
    word = _BEFORE_WORD.split(word)[-1]
    if word.casefold() in _SHORT_WORDS:
        return True
    if "." in word:
        return _LETTERS_AFTER_POINT.search(word) is not None
    return word.isdecimal() and _LIST_NUMBER.search(text, start, end) is not None
