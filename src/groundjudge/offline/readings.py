"""A text as it is compared: its words, numbers and negations."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from groundjudge.text.numbers import Number, numbers_at
from groundjudge.text.words import FUNCTION_SIGNS, Word, is_unspaced, spelled, without_numbers, words

CLAUSE = re.compile(r"[,:](?!\d)|[;–—，、；：。]|\bbut\b")
"""What separates the clauses of a sentence."""
MEASURE = re.compile("[€$£¥￥%％‰℃℉]")
"""Signs of units, which are beside a number."""
NUMBER_WEIGHT = 0.5
"""Less than a word's: a passage is chosen by what it speaks of, and contradicts by its numbers."""


class Token(NamedTuple):
    """A word, a number or, in scripts without spaces, a single sign."""

    key: str  # what it is compared by
    text: str
    start: int
    clause: int  # which clause of its text it is in
    is_content: bool = True  # whether it says something itself
    is_number: bool = False


@dataclass(frozen=True)
class Reading:
    """A text as it is compared, with dates and hours spelled in one way."""

    text: str
    words: Sequence[Word]
    numbers: Sequence[Number]

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """How much each of its stems and numbers counts."""
        weights = dict.fromkeys((number.value for number in self.numbers), NUMBER_WEIGHT)
        for word in self.words:
            weights[word.stem] = weights.get(word.stem, 0.0) + word.weight
        return weights

    @cached_property
    def keys(self) -> frozenset[str]:
        """What a sentence finds in it: stems, numbers, signs, and 1 where that may be written as a word."""
        keys = {*self.weights, *(token.key for token in self.tokens)}
        return frozenset(keys | {"1"} if keys & {"one", "一"} else keys)

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """All that it consists of, in order."""
        return sorted(self._tokens(), key=lambda token: token.start)

    def _tokens(self) -> Iterator[Token]:
        ends = [end.start() for end in CLAUSE.finditer(self.text)]
        signs = {sign.start(): sign[0] for sign in MEASURE.finditer(self.text)}
        for value, start, end in self.numbers:
            yield Token(value, self.text[start:end], start, bisect_left(ends, start), is_number=True)
        for stem, weight, text, start in self.words:
            if is_unspaced(text):
                signs.update(enumerate(text, start))  # each sign once, although neighbouring pairs share it
            else:
                is_content = weight == 1 or (len(text) == 1 and text.isupper())  # port A, 20 °C
                yield Token(stem, text, start, bisect_left(ends, start), is_content)
        for start, sign in signs.items():
            yield Token(sign, sign, start, bisect_left(ends, start), sign not in FUNCTION_SIGNS)


Reader = Callable[[str], Reading]


def reader() -> Reader:
    """A function that reads texts, each only once: make one for each case, and drop it with the case."""

    def read(text: str) -> Reading:
        text = spelled(text)
        found = numbers_at(text)
        return Reading(text, words(without_numbers(text, found)), found)

    return cache(read)
