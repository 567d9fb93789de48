"""The words of a text, in which quotes are found whatever their formatting."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from unicodedata import normalize

from groundjudge.text.patterns import compile_when_used

# Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3041-\u309f\u30a1-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
MARKS = "'‘’‚‛`´\"“”„‟«»‹›「」『』"
INVISIBLE = "\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
BULLET = r"(?:[-*•·–—]|[0-9]{1,3}[.)])\s+"

# One character for one character, so that offsets stay what they are, and therefore the one capital letter,
# too, that would become two small ones.
_PLAIN = (
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}  # full width
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys(MARKS, "'")
    | {"İ": "i"}
)
_NOT_PLAIN = compile_when_used("[\uff01-\uff5e\u2010-\u2015\u2212‘’‚‛`´“”„‟«»‹›「」『』İ]")
# Accents and vowel signs, which `\w` leaves out.
_COMBINING = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u3099\u309a"
)
_NUMERALS = "〇零一二两兩三四五六七八九十百千万萬亿億"
_LETTERS = rf"[^\W_{UNSPACED}]++"
_RUN = rf"{_LETTERS}(?:[*_{INVISIBLE}{_COMBINING}]*+{_LETTERS})*+[{_COMBINING}]*+"
# What holds a number together: 12.50, 9:00, 10-20, and the blank of 10 000.
_JOINT = r"(?<=\d)(?:[.,:/'·٫٬*-](?=\d)|(?<!\d\d\d\d)[\ \u00a0\u202f](?=\d\d\d(?!\d)))"
_TOKEN = rf"{_RUN}(?:{_JOINT}{_RUN})*+(?:(?<=\d)(?:\s?[%‰°]|[{_NUMERALS}]++))?+"
# Each branch begins with a set of characters or with a sign, so that most are left out at once.
# A word, a number with its sign, a character of a script without spaces, or a sign that says something.
# `re` compiles it when the first quote is looked up, and keeps it: a tenth of the time that an import took.
WORD = rf"""(?x)
      [a-z]++(?=[\ .,;:!?\n])                      # which saves time
    | {_TOKEN}
    # Between the numbers of 3月-5月 and 3年级-5年级 it is a dash.
    | -(?=\.?\d)(?<![^\W_{UNSPACED}]-)(?<!\d[{UNSPACED}]-)(?<!\d[{UNSPACED}][{UNSPACED}]-)\.?{_TOKEN}
    | \.(?=\d)(?<![\w.]\.){_TOKEN}                # .5, which is not 5
    | [{_NUMERALS}]++
    | [{UNSPACED}][{_COMBINING}]*+
    | [$¢-¥\u20a0-\u20cf+=≤≥≠±×÷%‰°&@§]           # among them the signs of currencies
    | <(?=[\s\d=])                                # a comparison; otherwise it opens a tag
    | >(?<=[^\n>]>)                               # at the beginning of a line it is Markdown
    """

_ODD = compile_when_used(r"[*_]|\d\s[\d%]")
_NOISE = compile_when_used(rf"(?<!\d)[*_]|[*_](?!\d)|[{INVISIBLE}\s]")
_MARKS = compile_when_used(f"[{MARKS}]+")
_BULLETED = compile_when_used(rf"\A[\s#>]*{BULLET}")


class _PlacedWords(NamedTuple):
    """The words of a text, and where each of them begins and ends in it."""

    words: list[str]
    starts: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True)
class Normalized:
    """A text and its words.

    Words have one case, one kind of dashes and one width; Markdown's emphasis, invisible characters and
    all other signs between words are left out, and accents are composed with their letters. Of "**Yes**, 5%!"
    the words are yes and 5%.

    Attributes:
        source: the text.
    """

    source: str

    @property
    def words(self) -> list[str]:
        """The words, as they are compared."""
        return self._placed_words.words

    @cached_property
    def core(self) -> Normalized:
        """The text without the bullet and the quotation marks around it."""
        text = strip_marks(self.source)
        if text == self.source:
            return self
        return Normalized(text)

    def span(self, number: int) -> tuple[int, int]:
        """Where the word of that number, from 0 or backwards from -1, begins and ends in the source."""
        return self._placed_words.starts[number], self._placed_words.ends[number]

    @cached_property
    def _placed_words(self) -> _PlacedWords:
        source = plain(self.source)
        words: list[str] = []
        starts, ends = array("I"), array("I")
        # A long text has most of its words many times: each is one object.
        distinct_words: dict[str, str] = {}
        for match in re.finditer(WORD, source):
            word = match[0]
            words.append(distinct_words.setdefault(word, word))
            starts.append(match.start())
            ends.append(match.end())
        if not source.isascii() or _ODD.search(source):
            for word in distinct_words:
                distinct_words[word] = normalize("NFC", _NOISE.sub("", word)).casefold()
            words = [distinct_words[word] for word in words]
        return _PlacedWords(words, starts, ends)


def plain(text: str) -> str:
    """The text in small letters and one width, with one kind of dashes and marks, of the same length."""
    if not text.isascii():
        text = _NOT_PLAIN.sub(lambda sign: _PLAIN[sign[0]], text)
    return text.lower()


def fold_text(text: str) -> str:
    """A text in one case, with one kind of white space and of quotation marks."""
    return " ".join(_MARKS.sub("'", text).split()).casefold()


def strip_marks(quote: str) -> str:
    """A quote without the white space, the bullet and the quotation marks around it."""
    return _BULLETED.sub("", quote, count=1).strip().strip(MARKS).strip()
