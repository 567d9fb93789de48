"""What speaks against a sentence in a passage that says nearly the same."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from groundjudge.offline.contrasts import Pair, clash, overstatement
from groundjudge.offline.differences import LONGEST_WORD, Difference, differences, on_topic
from groundjudge.offline.readings import Reading, Token
from groundjudge.offline.roles import exchanged, turned
from groundjudge.text.words import is_unspaced

CLOSE = 0.65
"""The share of a sentence that a passage must hold to contradict it by a negation or a unit."""
SAME = 0.75
"""The same for another word or name in the place of one, or two things that changed places."""

UNIT_SIGNS = frozenset("美欧英公千厘毫个個")
"""Signs that make another unit of the one behind them: 元 and 美元, 米 and 厘米, 月 and 个月."""


class Conflict(NamedTuple):
    """In what a sentence differs from a passage that says nearly the same; a pair is what the two say."""

    contested: Pair | None = None  # another number
    renamed: Pair | None = None  # another name
    denied: bool = False  # one of the two denies what the other says
    clashes: tuple[Pair, ...] = ()  # other units, days and quantities
    exchanged: Pair | None = None  # two things of the sentence that have each other's place in the passage
    added: tuple[str, ...] = ()  # words that no document has, in the place of nothing or of one other


def conflict(reading: Reading, missing: AbstractSet[int], given: Reading, held: float) -> Conflict:
    """In what a sentence differs from a passage that holds this share of it, 0..1.

    `missing` is where the words of the sentence begin that no document has.
    """
    if held < CLOSE:
        return Conflict()
    tokens = on_topic(given.tokens, reading.tokens)
    changed = differences(reading.tokens, tokens) if held >= SAME else []
    pairs = turned(changed)
    settled = {id(change) for pair in pairs for change in pair}
    others = [change for change in changed if id(change) not in settled]
    apart = [(change, clash(change.my_words, change.their_words)) for change in others]
    clashes = (
        *map(_recounted, others),
        _overstated(others),
        *(each for _, each in apart),
    )
    return Conflict(
        contested=_contested(reading, given, held),
        renamed=next(filter(None, (_renamed(change) for change, each in apart if not each)), None),
        denied=_denies(reading, given) or _is_negated(changed),
        clashes=tuple(dict.fromkeys(filter(None, clashes))),
        exchanged=exchanged(changed, pairs),
        added=tuple(word for change in others for word in _added(change, missing)),
    )


def _added(change: Difference, missing: AbstractSet[int]) -> Sequence[str]:
    """Words that stand nowhere, or signs that stand for others, which make another word of theirs."""
    mine, theirs = change.mine, change.theirs
    if _is_replaced(change):
        return [token.text for token in mine]
    is_word = len(mine) == len(theirs) == 1 and mine[0].is_word and theirs[0].is_word
    return [token.text for token in mine if token.start in missing] if is_word or not theirs else []


def _contested(reading: Reading, given: Reading, held: float) -> Pair | None:
    """Another number of the same length, a year for a year, where a sentence's should stand."""
    theirs = sorted(given.backs.difference(reading.numbers))
    for number in reading.numbers:
        other = next((other for other in theirs if len(other) == len(number)), None)
        if other and number not in given.backs and held >= SAME:
            return number, other
    return None


def _denies(one: Reading, other: Reading) -> bool:
    """Whether one of two texts denies what the other affirms."""
    if len(one.negated) == len(other.negated) and is_unspaced(one.text.strip()[:1]):
        return False  # where a negation stands before what is only a part of what it denies
    mine: list[Sequence[str]] = []
    theirs = [*other.denials]
    for stems in one.denials:
        alike = [each for each in theirs if not set(stems).isdisjoint(each)]
        if alike:
            theirs.remove(min(alike, key=lambda each: each[0] != stems[0]))
        else:
            mine.append(stems)
    return any(not other.stems.isdisjoint(stems) for stems in mine) or any(
        not one.stems.isdisjoint(stems) for stems in theirs
    )


def _is_negated(changed: Sequence[Difference]) -> bool:
    """Whether a negation makes the difference; one that only moved makes none."""
    if not changed:
        return False
    said, given = (sum(token.is_negation for token in each) for each in (changed[0].said, changed[0].given))
    return said != given and any(map(_negates, changed))


def _negates(change: Difference) -> bool:
    """Whether only one side of a difference is negated, and otherwise each says a word, or neither does."""
    sides = change.mine, change.theirs
    mine, theirs = (
        {token.key for token in side if token.is_content and not token.is_negation} for side in sides
    )
    more, less = (sum(token.is_negation for token in side) for side in sides)
    most = LONGEST_WORD if any(map(is_unspaced, mine | theirs)) else 1
    is_one = bool(mine) == bool(theirs) and max(len(mine), len(theirs)) <= most
    return (more - less) % 2 == 1 and is_one and (mine == theirs or mine.isdisjoint(theirs))


def _overstated(changed: Sequence[Difference]) -> Pair | None:
    """A word of quantity that makes more of something, wherever the source has the lesser one or a number."""
    counted = (
        token.text
        for change in changed
        if change.mine and not any(token.is_number for token in change.mine)
        for token in change.theirs
        if token.is_number and all(token.key != other.key for other in change.said)
    )
    mine, theirs = ([change.my_words for change in changed], [change.their_words for change in changed])
    return overstatement(chain(*mine), chain(*theirs), counted)


def _recounted(change: Difference) -> Pair | None:
    """Another unit, or another thing that is counted, beside the same number."""
    firsts = [side[0] for side in (change.mine, change.theirs) if side]
    if not change.is_counted or not all(first.is_word for first in firsts):
        return None
    if len(firsts) == 1:
        pair = (firsts[0].text, "") if change.mine else ("", firsts[0].text)
        return pair if firsts[0].text in UNIT_SIGNS else None
    mine, theirs = (sum(token.is_content for token in side) for side in (change.mine, change.theirs))
    is_even = mine == theirs or any(is_unspaced(first.text) for first in firsts)
    return (firsts[0].text, firsts[1].text) if is_even else None


def _renamed(change: Difference) -> Pair | None:
    """A name in another's place: words with capital letters."""
    sides = change.mine, change.theirs
    names = [[token for token in side if token.is_content or _is_name(token)] for side in sides]
    if all(names) and all(map(_is_name, chain(*names))) and not change.moved:
        return names[0][0].text, names[1][0].text
    return None


def _is_replaced(change: Difference) -> bool:
    """Whether signs of a script without spaces stand in the place of others, which say another word."""
    pairs = zip(change.mine, change.theirs, strict=False)
    is_word = any(all(map(_is_sign, pair)) for pair in pairs)
    is_counted = any(token.is_number for token in (*change.mine, *change.theirs))
    return is_word and change.moved <= 1 and not is_counted


def _is_name(token: Token) -> bool:
    """Whether a token may be a name: it has a capital letter."""
    return token.text[0].isupper() and (token.is_word or len(token.text) == 1)


def _is_sign(token: Token) -> bool:
    """Whether a token is a sign of a word in a script without spaces."""
    return token.is_word and is_unspaced(token.text)
