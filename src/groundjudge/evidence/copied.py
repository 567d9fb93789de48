"""How the words of a copy are compared with those of its text: which may be left out, and which are alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from unicodedata import combining, is_normalized, normalize

from groundjudge.evidence.joined import NUMBERED
from groundjudge.evidence.normalized import plain
from groundjudge.evidence.origins import Origins
from groundjudge.text.patterns import LazyPattern, compile_when_used
from groundjudge.text.words import MAX_KEPT, stem

# 3, doc 1, web:12, 4:0†source
_CITATION = r"(?:[^\W\d_]{1,12}[.:\#_]?\s?)?\d{1,3}(?::\d{1,3})?(?:†[^\[\]【】\n]{0,20})?"
_CITATIONS = rf"{_CITATION}(?:\s?[,;&–-]\s?{_CITATION})*"
# Where a raised number may be a citation: behind a sentence, a long number or a word, but not in m².
_LETTER = r"[^\W\d_]"
_RAISED = (
    rf"(?:(?<={_LETTER}{_LETTER}{_LETTER})|(?<={_LETTER}{_LETTER})(?<![kcdmnμ]m)(?<!ft|in|yd|mi)"
    r"|(?<=[0-9][0-9][0-9][0-9])|(?<=[.,;:!?)\]\"”»’]))"
)
# What a copy may leave out, but not alter: numbers in circles, marks of citations, addresses of links, tags.
ASIDE = compile_when_used(
    rf"""
      [①-⑳❶-❿] | [0-9]\ufe0f?\u20e3
    | \[{{1,2}} (?: {_CITATIONS} | \^[^\[\]\s]{{1,20}} ) \]{{1,2}} (?:\([^\s()]*\))?
    | 【\s?{_CITATIONS}\s?】 | \(\s?{NUMBERED}\s?\)
    | {_RAISED} (?: [⁰¹²³⁴-⁹]{{1,3}} | <sup>\[?\d{{1,3}}\]?</sup> )
    | (?<=[^⁰¹²³⁴-⁹]) (?: ¹(?![⁰¹²³⁴-⁹]) | <sup>1</sup> )   # nothing is raised to the first power
    | (?<=\])\([^\s()]*\)
    | </?[a-z][a-z0-9-]*(?:\s[^<>=]*=[^<>]*|\s*)/?>
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENTITY = compile_when_used(r"&(?:[a-z][a-z0-9]{1,31}|\#[0-9]{1,7}|\#x[0-9a-f]{1,6});", re.IGNORECASE)
# Signs that may have another form, each with its accents.
_COMPOSED = compile_when_used(r"[\u1100-\u11ff]+|.[\u0300-\u036f\u3099\u309a]+|[^\x00-\x7f]", re.DOTALL)
# The number of a list that the judge itself may have added: "2. ".
LIST_NUMBER = compile_when_used(
    r"[\s*_]*\(?(?:[0-9]{1,2}|[a-z](?=\))|[一二三四五六七八九十]{1,3}(?=、))(?:[.):]+(?=[\s*_])|、)",
    re.IGNORECASE,
)
# "It's" is "It is".
_IS = compile_when_used(r"(?<=\w)['’](?:s|re|m)\b", re.IGNORECASE)
# "5km" is "5 km", and "9-17" is "9 - 17"; "of 3 100" is not a number of thousands.
_JOINED = compile_when_used(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
_RANGE = compile_when_used(r"(?<=\d)(?:\s*[-‐-―−]\s*|\s+)(?=\d)")
# Letters of a word in which there may be a slip.
MIN_WORD = 4


@dataclass(frozen=True)
class TracedText:
    """A text that was made of another one.

    Attributes:
        text: the text.
        origins: for each of its indexes, its end included, the index in the other one.
    """

    text: str
    origins: Sequence[int] | Origins

    def substitute(self, pattern: LazyPattern, replacement: Callable[[re.Match[str]], str]) -> TracedText:
        """Return the text with another in the place of each match."""
        pieces: list[str] = []
        origins = Origins(self.origins)
        position = 0
        for match in pattern.finditer(self.text):
            start, end = match.span()
            new_text = replacement(match)
            if new_text == match[0]:
                continue
            pieces.extend((self.text[position:start], new_text))
            if end - start != 1 or len(new_text) != 1:
                origins.replace(start, end, len(new_text))
            position = end
        if not pieces:
            return self
        pieces.append(self.text[position:])
        return TracedText("".join(pieces), origins)


def decode_entities(text: str) -> TracedText:
    """A text with signs for HTML's entities: a judge copies what it has read, or what the sign is."""
    return TracedText(text, range(len(text) + 1)).substitute(_ENTITY, lambda entity: unescape(entity[0]))


def without_asides(decoded: TracedText) -> TracedText:
    """A text in one width, with blanks for what a copy may leave out."""
    text = decoded.substitute(ASIDE, lambda _: " ")
    if is_normalized("NFKC", text.text):
        return text
    return text.substitute(_COMPOSED, lambda signs: normalize("NFKC", signs[0]))


def separate_words(text: TracedText) -> TracedText:
    """A text without short forms, whose numbers stand apart from words and from other numbers."""
    text = text.substitute(_IS, lambda _: "")
    text = text.substitute(_RANGE, lambda _: " - ")
    return text.substitute(_JOINED, lambda _: " ")


def asides_of(decoded: str) -> list[str]:
    """The marks, addresses and tags that a copy may leave out, each as it is compared."""
    return ["".join(plain(aside).split()) for aside in ASIDE.findall(decoded)]


@lru_cache(MAX_KEPT)
def fold_word(word: str) -> str:
    """A word without its ending, its accents, and the second one of doubled letters."""
    letters = ""
    for sign in normalize("NFKD", word):
        if not combining(sign):
            letters += sign
    if len(letters) < MIN_WORD or not letters.isalpha():
        return word
    return re.sub(r"(.)\1+", r"\1", stem(letters))


def is_alike(word: str, other_word: str) -> bool:
    """Whether two folded words are the same, or differ in two letters that changed places: nine, nien."""
    if word == other_word:
        return True
    if len(word) < MIN_WORD or not word.isalpha():
        return False
    if word[0] != other_word[:1] or sorted(word) != sorted(other_word):
        return False
    place = 0
    while word[place] == other_word[place]:
        place += 1
    exchanged = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return exchanged == other_word
