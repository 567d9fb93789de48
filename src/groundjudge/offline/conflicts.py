"""What speaks against a sentence in a passage that says nearly the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from groundjudge.offline.contrasts import Clash, are_alike, clash, is_listed, overstatement, remeasured
from groundjudge.offline.differences import LONGEST_WORD, Difference, differences, on_topic
from groundjudge.offline.readings import Reading, Token
from groundjudge.offline.roles import exchanged, turned
from groundjudge.text.words import akin, is_unspaced

CLOSE = 0.65
"""The share of a sentence that a passage must hold to contradict it by a negation or another word."""
SAME = 0.75
"""The same where all words are left as they are: for another number, or two names the other way round."""
ALIKE = 0.85
"""The same for one of several numbers in another's place."""
VERBATIM = 0.95
"""The same for a number of any other length, or for one more number."""
ONE = {"一": "#1", "one": "#1", "first": "#1"}
"""Words that may count or not, and the number that they are where they stand in a number's place."""

SCORE = re.compile(r"(?<![\d.,])(\d+)\s?[-–:：/比]\s?(\d+)(?![\d.,]\d)")
"""Two numbers whose order tells: 3-1, 3:1, 3比1, 2/3."""
SURNAMES = frozenset(
    "王李张張刘劉陈陳杨楊赵趙吴吳周徐孙孫胡朱郭林罗羅郑鄭梁谢謝宋唐韩韓曹邓鄧冯馮蒋蔣沈吕呂卢盧苏蘇"
    "叶葉魏薛阎潘杜戴汪廖姜崔谭譚秦尹黎孟侯邱邹熊贾龚袁彭董丁"
)
"""The frequent ones, but for those that are most often part of another word."""

IsDenied = Callable[[str], bool]


class Conflict(NamedTuple):
    """In what a sentence differs from a passage that says nearly the same.

    Attributes:
        contested: a number of it, and the one that the passage has instead.
        renamed: a name of it, and the one that the passage has instead.
        denied: whether one of the two denies what the other says.
        clashes: what it says in the stead of what the passage says.
        exchanged: two names that have each other's place in the passage.
        added: words that stand nowhere, where the passage has nothing or a single other one.
    """

    contested: tuple[str, str] | None = None
    renamed: tuple[str, str] | None = None
    denied: bool = False
    clashes: tuple[Clash, ...] = ()
    exchanged: tuple[str, str] | None = None
    added: tuple[str, ...] = ()


def conflict(
    reading: Reading, missing: AbstractSet[int], given: Sequence[Reading], held: float, is_denied: IsDenied
) -> Conflict:
    """In what a sentence differs from passages that hold this share of it.

    Args:
        reading: the sentence.
        missing: where its words begin that no document has.
        given: the passages.
        held: the weighted share of the sentence that stands in them, 0..1.
        is_denied: whether any passage of the documents denies a word.
    """
    if held < CLOSE:
        return Conflict()
    tokens = [token for each in given for token in on_topic(each.tokens, reading.tokens)]
    changed = differences(reading.tokens, tokens) if held >= SAME else []
    pairs = turned(changed)
    settled = {id(change) for pair in pairs for change in pair}
    others = [change for change in changed if id(change) not in settled]
    found = list(remeasured(reading.units, [each.units for each in given]))
    apart = [(change, clash(change.my_words, change.their_words)) for change in others]
    found.extend(filter(None, (_overstated(others), *(each for _, each in apart))))
    denied = _denies(reading, given, is_denied) or _is_negated(changed)
    if denied and any(each.is_opposite for each in found):  # "not open" is "closed"
        denied, found = False, [each for each in found if not each.is_opposite]
    return Conflict(
        contested=next(filter(None, map(_recounted, others if held >= ALIKE else ())), None)
        or _contested(reading, given, held)
        or _turned_score(reading, given),
        renamed=next(filter(None, (_renamed(change) for change, each in apart if not each)), None),
        denied=denied,
        clashes=tuple(dict.fromkeys(found)),
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


def _contested(reading: Reading, given: Sequence[Reading], held: float) -> tuple[str, str] | None:
    """Another number where a sentence's should stand: one of the same length, a year for a year."""
    if held < SAME:
        return None
    backed = frozenset[str]().union(*(each.backs for each in given))
    theirs = sorted(backed.difference(reading.numbers))
    for number in reading.numbers:
        alike = [other for other in theirs if len(other) == len(number)]
        if number not in backed and (alike or held >= VERBATIM):
            return number, next(iter(alike or theirs), "")
    return None


def _turned_score(reading: Reading, given: Sequence[Reading]) -> tuple[str, str] | None:
    """A score, a ratio or a fraction whose two numbers stand the other way round in the passage."""
    theirs = {pair for each in given for pair in SCORE.findall(each.text)}
    turned_ones = (
        pair for pair in SCORE.findall(reading.text) if pair[::-1] in theirs and pair not in theirs
    )
    pair = next(turned_ones, None)
    return (":".join(pair), ":".join(pair[::-1])) if pair else None


def _recounted(change: Difference) -> tuple[str, str] | None:
    """A number in the place of another one of its length that the sentence has nowhere."""
    if len(change.mine) != 1 or len(change.theirs) != 1:
        return None
    (mine,), (theirs,) = change.mine, change.theirs
    one, two = (token.key if token.is_number else ONE.get(token.key, "") for token in (mine, theirs))
    is_gone = all(token.key != theirs.key for token in change.said)
    is_other = bool(one and two) and one != two and len(one) == len(two)
    return (mine.text, theirs.text) if is_gone and is_other else None


def _denies(one: Reading, others: Sequence[Reading], is_denied: IsDenied) -> bool:
    """Whether one of two texts denies what the other affirms."""
    mine, theirs = [*one.denials], [(other, stems) for other in others for stems in other.denials]
    is_balanced = len(one.negated) == sum(len(other.negated) for other in others)
    if is_balanced and is_unspaced(one.text.strip()[:1]):
        return False  # where a negation stands before what is only a part of what it denies
    for may_differ in (False, True):
        for stems in (*mine,):
            same = next(
                (each for each in theirs if _deny_the_same(stems, each[1], may_differ=may_differ)), None
            )
            if same:
                mine.remove(stems)
                theirs.remove(same)
    for stems in mine:
        known = next((stem for stem in stems if any(_has(other, stem) for other in others)), None)
        if known and not is_denied(known):
            return True
    return any(
        _has(one, stems[0]) and not any(_has(other, stems[0]) for other in others if other is not denying)
        for denying, stems in theirs
    )


def _deny_the_same(one: Sequence[str], other: Sequence[str], *, may_differ: bool) -> bool:
    """Whether two negations deny the same: what is likeliest or, if that may differ, anything."""
    if may_differ:
        return any(akin(mine, theirs) for mine in one for theirs in other)
    return akin(one[0], other[0])


def _has(reading: Reading, stem: str) -> bool:
    return stem in reading.stems or any(akin(stem, other) for other in reading.stems)


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


def _overstated(changed: Sequence[Difference]) -> Clash | None:
    """A word of quantity that makes more of something, wherever the source has the lesser one or a number."""
    said = [word for change in changed for word in change.my_words]
    given = [word for change in changed for word in change.their_words]
    uncounted = [
        change for change in changed if change.mine and not any(token.is_number for token in change.mine)
    ]
    counted = [
        token.text
        for change in uncounted
        for token in change.theirs
        if token.is_number and all(token.key != other.key for other in change.said)
    ]
    return overstatement(said, given, counted)


def _renamed(change: Difference) -> tuple[str, str] | None:
    """A name in another's stead: words with capital letters, or a Chinese name, which begins with a surname.

    So is a word behind a number, which tells what is counted.
    """
    mine, theirs = change.mine, change.theirs
    if not mine or not theirs or _is_alike(change):
        return None
    are_counted = change.is_counted and mine[0].is_word and theirs[0].is_word
    names = [[token for token in side if token.is_content or _is_name(token)] for side in (mine, theirs)]
    are_names = all(names) and all(map(_is_name, chain(*names))) and not change.moved
    is_even = len(mine) == len(theirs) or is_unspaced(mine[0].text)
    if are_names or (are_counted and is_even) or (_is_replaced(change) and _has_surname(change)):
        one, two = (names[0][0], names[1][0]) if are_names else (mine[0], theirs[0])
        return one.text, two.text
    return None


def _is_replaced(change: Difference) -> bool:
    """Whether signs of a script without spaces stand in the place of others, which say another word."""
    pairs = zip(change.mine, change.theirs, strict=False)
    is_word = any(all(map(_is_sign, pair)) for pair in pairs) and not _is_alike(change)
    return (
        is_word and change.moved <= 1 and not any(token.is_number for token in (*change.mine, *change.theirs))
    )


def _is_alike(change: Difference) -> bool:
    """Whether a table has what differs for the same, as a unit in two spellings."""
    return any(are_alike(one, two) for one in change.my_words for two in change.their_words)


def _has_surname(change: Difference) -> bool:
    """Whether what differs is a Chinese name, or a part of it behind the same surname."""
    before = {token.text for token in change.said[max(0, change.start - 2) : change.start]}
    firsts = {change.mine[0].text, change.theirs[0].text}
    return firsts <= SURNAMES or not SURNAMES.isdisjoint(before)


def _is_name(token: Token) -> bool:
    """Whether a token may be a name: it has a capital letter and is no day, month or the like."""
    is_word = token.is_word or len(token.text) == 1
    return token.text[0].isupper() and is_word and not is_listed(token.text)


def _is_sign(token: Token) -> bool:
    """Whether a token is a sign of a word in a script without spaces."""
    return token.is_word and is_unspaced(token.text)
