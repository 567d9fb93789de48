"""Texts as they are compared, and in what a sentence differs from a passage that says nearly the same."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from groundjudge.text.numbers import Number, numbers_at
from groundjudge.text.words import (
    ARTICLES,
    FUNCTION_SIGNS,
    Word,
    is_unspaced,
    negated_at,
    spell_out_dates,
    words,
)

# What separates the clauses of a sentence.
CLAUSE = re.compile(r"[,:](?!\d)|[;–—，、；：。]|\bbut\b")
# Signs of units, which are beside a number.
MEASURE = re.compile("[€$£¥￥%％‰℃℉]")
# Less than a word's: a passage is chosen by what it speaks of, and contradicts by its numbers.
NUMBER_WEIGHT = 0.5
# Words between items of a list, whose order does not matter.
JOINING = frozenset(("and", "or", "nor", "but", "und", "oder", "aber", *"和与與及或跟但"))
# Words, by their stems, whose two sides are not alike: who acts and on whom, what comes first.
RELATING = frozenset(("after", "because", "befor", "by", "from", "to", *"被把给給从從向"))
# A negation denies one of the next two content words, in so many words of which it is the first.
SCOPE = 6
LONGEST_NAMED = 60
# Texts whose readings are kept: a sentence is read as part of its document, as a quote and as a claim.
MOST_KEPT = 256


class Token(NamedTuple):
    """A word, a number or, in scripts without spaces, a single sign; articles are left out."""

    key: str  # what it is compared by
    text: str
    start: int
    clause: int  # which clause of its text it is in
    is_content: bool = True  # whether it says something itself
    is_number: bool = False


@dataclass(frozen=True)
class TokenizedText:
    """A text as it is compared, with dates and hours spelled in one way."""

    tokens: Sequence[Token]  # all that it consists of, in order
    words: Sequence[Word]  # in scripts without spaces, every two neighbouring signs
    weights: Mapping[str, float]  # how much each of its stems and numbers counts
    keys: frozenset[str]  # what a sentence finds in it: stems, numbers and signs
    negated: frozenset[int]  # where its negations begin


class Difference(NamedTuple):
    """Tokens of the sentence from `start` on, where the passage has others between the same neighbours."""

    mine: Sequence[Token]
    theirs: Sequence[Token]
    start: int


@lru_cache(MOST_KEPT)
def read(text: str) -> TokenizedText:
    """Read a text."""
    text = spell_out_dates(text)
    numbers, rest = numbers_at(text), list(text)
    for _, start, end in numbers:
        rest[start:end] = " " * (end - start)
    found = words("".join(rest))
    weights = dict.fromkeys((number.value for number in numbers), NUMBER_WEIGHT)
    for word in found:
        weights[word.stem] = weights.get(word.stem, 0.0) + word.weight
    tokens = sorted(_tokens(text, numbers, found), key=lambda token: token.start)
    keys = {*weights, *(token.key for token in tokens)}
    either = {"1"} if keys & {"one", "一"} else set[str]()  # where 1 may be written as a word
    return TokenizedText(tokens, found, weights, frozenset(keys | either), frozenset(negated_at(text)))


def _tokens(text: str, numbers: Sequence[Number], found: Sequence[Word]) -> Iterator[Token]:
    ends = [end.start() for end in CLAUSE.finditer(text)]
    signs = {sign.start(): sign[0] for sign in MEASURE.finditer(text)}
    for value, start, end in numbers:
        yield Token(value, text[start:end], start, bisect_left(ends, start), is_number=True)
    for stem, weight, word, start in found:
        if is_unspaced(word):
            signs.update(enumerate(word, start))  # each sign once, although neighbouring pairs share it
        elif stem not in ARTICLES:
            is_content = weight == 1 or (len(word) == 1 and word.isupper())  # port B, 20 °C
            yield Token(stem, word, start, bisect_left(ends, start), is_content)
    for start, sign in signs.items():
        yield Token(sign, sign, start, bisect_left(ends, start), sign not in FUNCTION_SIGNS)


def contradictions(said: TokenizedText, given: TokenizedText) -> tuple[str, ...]:
    """What contradicts a sentence in a passage that says nearly the same, in words; empty if nothing does."""
    tokens, theirs = said.tokens, _on_topic(given, said)
    found = list(_differences(tokens, theirs))
    turned = [pair for pair in combinations(found, 2) if _is_turned(*pair)]
    others = [each for each in found if not any(each in pair for pair in turned)]
    pairs = [each[:2] for each in others if _is_replaced(each, tokens, theirs)]
    told = [f"{_named(one)} instead of {_named(two)}" for one, two in [*_numbers(tokens, theirs), *pairs]]
    if _is_exchanged(turned, tokens):
        told.append(" and ".join(_named(each.mine) for each in turned[0]) + " in each other's place")
    if _is_related_otherwise(found):
        told.append("two things are related the other way round")
    if _denials(said.negated, tokens, theirs) != _denials(given.negated, theirs, tokens):
        told.append("one denies what the other says")
    return tuple(told)


def _on_topic(given: TokenizedText, said: TokenizedText) -> list[Token]:
    """The clauses of a passage a third of whose content the sentence has."""
    every = Counter(token.clause for token in given.tokens if token.is_content)
    shared = Counter(token.clause for token in given.tokens if token.is_content and token.key in said.keys)
    return [token for token in given.tokens if 3 * shared[token.clause] >= every[token.clause]]


def _differences(said: Sequence[Token], given: Sequence[Token]) -> Iterator[Difference]:
    """What the sentence and the passage have between the tokens that they share."""
    at = there = 0
    for block in Levenshtein.opcodes(_keys(said), _keys(given)).as_matching_blocks():
        if block.a > at or block.b > there:
            yield Difference(said[at : block.a], given[there : block.b], at)
        at, there = block.a + block.size, block.b + block.size


def _numbers(said: Sequence[Token], given: Sequence[Token]) -> Iterator[Sequence[Sequence[Token]]]:
    """Each number that the passage lacks, and the most similar of its own that are as long."""
    mine, theirs = _keys(said), _keys(given)
    others = [token for token in given if token.is_number and token.key not in mine]
    for token in said:
        alike = [other for other in others if len(other.key) == len(token.key)]
        if token.is_number and token.key not in theirs and alike:
            yield [token], [min(alike, key=lambda other: Levenshtein.distance(token.key, other.key))]


def _is_replaced(change: Difference, said: Sequence[Token], given: Sequence[Token]) -> bool:
    """Whether it is another unit, behind a number or a sign such as $, another name or a word from nearby."""
    mine, theirs = ([token for token in side if token.is_content] for side in (change.mine, change.theirs))
    both = [*mine, *theirs]
    if not (mine and theirs) or any(token.is_number for token in both):
        return False
    is_counted = change.start > 0 and said[change.start - 1].is_number
    if is_counted or not any(token.text.isalnum() for token in both):
        return len(mine) == len(theirs) or is_unspaced(mine[0].text)
    is_named = all(token.text[0].isupper() for token in both)
    is_new = len(mine) == len(theirs) and set(_keys(theirs)).isdisjoint(_keys(said))
    return is_new and (is_named or set(_keys(mine)) <= set(_keys(given)))


def _is_turned(one: Difference, other: Difference) -> bool:
    """Whether each of two things is where the other one is in the passage, which may go on there."""
    mine, others = _keys(one.mine), _keys(other.mine)
    is_theirs = _keys(one.theirs)[: len(others)] == others and _keys(other.theirs)[: len(mine)] == mine
    return bool(mine and others) and is_theirs and mine != others


def _is_exchanged(turned: Sequence[tuple[Difference, Difference]], tokens: Sequence[Token]) -> bool:
    """Whether things that changed places make a difference: items of a list, phrases and clauses do not."""
    if not turned:
        return False
    one, other = turned[0]
    first, last = one.mine[0], other.mine[0]
    between = _keys(tokens[one.start + len(one.mine) : other.start])
    if JOINING.isdisjoint(between) and first.clause == last.clause:
        return True
    sizes = Counter(token.clause for token in tokens)
    if all(sizes[each.mine[0].clause] == len(each.mine) for each in (one, other)):
        return False  # whole clauses in another order
    before = _keys(tokens[: one.start])[-1:]
    items = [key for key in between if key not in JOINING.union(before)]
    return (
        len(turned) == 1 and first.is_content and last.is_content and len(items) > last.clause - first.clause
    )


def _is_related_otherwise(found: Sequence[Difference]) -> bool:
    """Whether only relating words differ, or a phrase moved and has its own in another order: from A to B."""
    changed = [token for each in found for token in (*each.mine, *each.theirs)]
    if not any(token.is_content for token in changed):
        return not RELATING.isdisjoint(_keys(changed))
    moves = [(_keys(one.mine), _keys(other.theirs)) for one in found for other in found]
    related = [(mine, theirs) for mine, theirs in moves if not RELATING.isdisjoint(mine)]
    return any(mine != theirs and sorted(mine) == sorted(theirs) for mine, theirs in related)


def _denials(negated: Collection[int], tokens: Sequence[Token], others: Sequence[Token]) -> int:
    """How many negations, by the places where they begin, deny what the other text speaks of."""
    known = set(_keys(others))
    behind = (tokens[at : at + SCOPE] for at, token in enumerate(tokens) if token.start in negated)
    denied = [
        [each.key for each in some[1:] if each.is_content and each.clause == some[0].clause]
        for some in behind
    ]
    return sum(not known.isdisjoint(keys[:2]) for keys in denied)


def _keys(tokens: Sequence[Token]) -> list[str]:
    return [token.key for token in tokens]


def _named(tokens: Sequence[Token]) -> str:
    joined = ("" if is_unspaced(tokens[0].text) else " ").join(token.text for token in tokens)
    return f"“{joined[:LONGEST_NAMED]}”"
