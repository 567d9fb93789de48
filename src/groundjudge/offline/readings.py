"""A text as it is compared: its words, its numbers, and what it says that something else would exclude."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from groundjudge.text.negations import negated_at
from groundjudge.text.numbers import Number, numbers_at
from groundjudge.text.words import (
    FUNCTION_SIGNS,
    FUNCTION_WEIGHT,
    Word,
    is_unspaced,
    spelled,
    without_numbers,
    words,
)

CLAUSE = re.compile(r"[,:](?!\d)|[;–—，；：。]")
"""What parts the clauses of a sentence."""
MEASURE = re.compile("[€$£¥￥%％‰°℃℉]")
"""Signs of units, which stand beside a number."""
SCOPE = 4
"""So many words behind a negation, what it denies is looked for."""


class Token(NamedTuple):
    """A word, a number or, in scripts without spaces, a sign."""

    key: str  # what it is compared by
    text: str
    start: int
    clause: int  # which clause of its text it stands in
    weight: float = 1.0
    is_negation: bool = False
    is_number: bool = False

    @property
    def low(self) -> str:
        """How it is written, in small letters."""
        return self.text.casefold()

    @property
    def is_content(self) -> bool:
        """Whether it says something itself."""
        return self.weight == 1

    @property
    def is_word(self) -> bool:
        """Whether it says something and is no number."""
        return self.is_content and not self.is_number


@dataclass(frozen=True)
class Reading:
    """A text as it is compared, with dates and hours spelled in one way."""

    text: str
    words: Sequence[Word]
    placed: Sequence[Number]  # its numbers with their places

    @cached_property
    def numbers(self) -> Sequence[str]:
        """Its numbers, each once."""
        return list(dict.fromkeys(number.value for number in self.placed))

    @cached_property
    def backs(self) -> frozenset[str]:
        """The numbers that it backs in another text: its own, and 1 where that may be written in a word."""
        has_one = "一" in self.text or any(word.stem == "one" for word in self.words)
        return frozenset(self.numbers) | frozenset(["1"] if has_one else [])

    @cached_property
    def stems(self) -> frozenset[str]:
        """What its content words are compared by."""
        return frozenset(word.stem for word in self.words if word.weight == 1)

    @cached_property
    def negated(self) -> Sequence[int]:
        """Where its negations stand."""
        return negated_at(self.text)

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """All that it consists of, in order."""
        return sorted(self._tokens(), key=lambda token: token.start)

    @cached_property
    def denials(self) -> Sequence[Sequence[str]]:
        """What each negation may deny, likeliest first: stems of the next content words in its clause."""
        starts = [word.start for word in self.words]
        denied = (self._denied(offset, bisect_left(starts, offset)) for offset in self.negated)
        return [stems for stems in denied if stems]

    def _denied(self, offset: int, at: int) -> list[str]:
        stems = [
            word.stem
            for word in self.words[at : at + SCOPE + 1]
            if word.weight == 1
            and word.start != offset
            and not CLAUSE.search(self.text, *sorted((offset, word.start)))
        ]
        return stems[:2]

    def _tokens(self) -> Iterator[Token]:
        ends = [end.start() for end in CLAUSE.finditer(self.text)]
        negated = set(self.negated)
        signs = {sign.start(): sign[0] for sign in MEASURE.finditer(self.text)}
        for value, start, end in self.placed:
            yield Token(f"#{value}", self.text[start:end], start, bisect_left(ends, start), is_number=True)
        for stem, weight, text, start, _ in self.words:
            if is_unspaced(text) and (len(stem) > 1 or start not in negated):
                signs.update(enumerate(text, start))  # of neighbouring pairs, each once
            else:
                yield Token(stem, text, start, bisect_left(ends, start), weight, start in negated)
        for start, sign in signs.items():
            weight = FUNCTION_WEIGHT if sign in FUNCTION_SIGNS else 1.0
            yield Token(sign, sign, start, bisect_left(ends, start), weight, start in negated)


Reader = Callable[[str], Reading]


def reader() -> Reader:
    """What reads texts, and each only once: make one for each case, and drop it with the case."""

    def read(text: str) -> Reading:
        text = spelled(text)
        found = numbers_at(text)
        return Reading(text, words(without_numbers(text, found)), found)

    return cache(read)
