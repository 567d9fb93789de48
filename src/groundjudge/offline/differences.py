"""Where two texts that say nearly the same part: what the one has in the place of what the other has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from groundjudge.offline.readings import Token
from groundjudge.text.words import is_unspaced

LONGEST = 8
"""Tokens of a difference: what is longer is another statement, and not another word in this one."""
LONGEST_WORD = 3
"""Signs of a word in a script without spaces."""
ON_TOPIC = 0.34
"""The share of a clause's content that the other text must have too; what else it adds is not compared."""


class Difference(NamedTuple):
    """Tokens of a text, `said[start:end]`, that another one has others for, `given[first:last]`."""

    said: Sequence[Token]
    start: int
    end: int
    given: Sequence[Token]
    first: int
    last: int

    @property
    def mine(self) -> Sequence[Token]:
        """What the text says."""
        return self.said[self.start : self.end]

    @property
    def theirs(self) -> Sequence[Token]:
        """What the other one says instead."""
        return self.given[self.first : self.last]

    @property
    def my_words(self) -> Sequence[str]:
        """The words that what the text says may belong to."""
        return _words_at(self.said, self.start, self.end)

    @property
    def their_words(self) -> Sequence[str]:
        """The words that what the other one says may belong to."""
        return _words_at(self.given, self.first, self.last)

    @property
    def is_counted(self) -> bool:
        """Whether the same number stands before both, or behind two signs."""
        before, behind = self.said[max(0, self.start - 1) : self.start], self.said[self.end : self.end + 1]
        are_signs = not any(token.text.isalnum() for token in (*self.mine, *self.theirs))
        return any(token.is_number for token in (*before, *(behind if are_signs else ())))

    @property
    def moved(self) -> int:
        """How many of the two also stand elsewhere in the other text: of two, words only changed places."""
        mine, theirs = ({token.key for token in side} for side in (self.mine, self.theirs))
        said, given = ({token.key for token in each} for each in (self.said, self.given))
        return (mine <= given) + (theirs <= said)


def differences(said: Sequence[Token], given: Sequence[Token]) -> list[Difference]:
    """What stands in a text between the same tokens as something else, or nothing, in another one."""
    same = Levenshtein.opcodes([t.key for t in said], [t.key for t in given]).as_matching_blocks()
    starts = [(0, 0), *((block.a + block.size, block.b + block.size) for block in same)]
    ends = [(block.a, block.b) for block in same]
    gaps = (
        Difference(said, start, end, given, first, last)
        for (start, first), (end, last) in zip(starts, ends, strict=False)
    )
    return [gap for gap in gaps if 0 < max(len(gap.mine), len(gap.theirs)) <= LONGEST]


def on_topic(given: Sequence[Token], said: Sequence[Token]) -> list[Token]:
    """The clauses of a text that speak of the same as another one."""
    known = {token.key for token in said}
    shares: defaultdict[int, list[bool]] = defaultdict(list)
    for token in given:
        if token.is_content:
            shares[token.clause].append(token.key in known)
    kept = {clause for clause, shared in shares.items() if sum(shared) >= ON_TOPIC * len(shared)}
    return [token for token in given if token.clause in kept]


def _words_at(tokens: Sequence[Token], start: int, end: int) -> list[str]:
    """Tokens themselves and, where no spaces part words, what they make up with their neighbours."""
    found = [token.text for token in tokens[start:end]]
    if any(map(is_unspaced, found)):
        found.extend(
            "".join(token.text for token in tokens[first:last])
            for first in range(max(0, start - LONGEST_WORD + 1), end)
            for last in range(max(first + 2, start + 1), first + LONGEST_WORD + 1)
        )
    return found
