"""Who did what to whom, as far as the order of words shows: two things that changed places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from groundjudge.offline.contrasts import Pair
from groundjudge.offline.differences import Difference
from groundjudge.offline.readings import Token
from groundjudge.text.words import ARTICLES, is_unspaced

COORDINATING = frozenset(("and", "or", "nor", "but", "und", "oder", *"和与與及或跟但"))
"""Words that join two of a kind, so that it does not matter which comes first."""
PASSIVE = frozenset(("by", "被"))
"""Words that turn doer and done to around."""

Turned = tuple[Difference, Difference]
"""Two differences each of which has what the other one's source has."""


def turned(changed: Sequence[Difference]) -> list[Turned]:
    """The pairs of things that stand in each other's place."""
    return [(first, last) for first, last in combinations(changed, 2) if _is_turned(first, last)]


def exchanged(changed: Sequence[Difference], pairs: Sequence[Turned]) -> Pair | None:
    """Two things of a sentence in each other's place; `pairs` is what `turned` found.

    Phrases that only moved are none, nor are items of a list.
    """
    voice = next(filter(_is_voice, changed), None)
    if voice and not any(token.is_content for change in changed for token in (*change.mine, *change.theirs)):
        ends = [token.text for token in voice.said if token.is_content]
        return (ends[0], ends[-1]) if ends else None
    if not pairs:
        return None
    first, last = max(pairs, key=_things)
    is_one = len({frozenset(_content(each.mine) for each in pair) for pair in pairs}) == 1
    between = first.said[first.end : last.start]
    is_one_clause = first.mine[0].clause == last.mine[0].clause and COORDINATING.isdisjoint(
        token.low for token in between
    )
    are_things = is_one and not any(map(_is_phrase, (first.mine, last.mine)))
    if not _things((first, last)) or _is_list(first, last) or not (are_things or is_one_clause):
        return None
    return _joined(first.mine), _joined(last.mine)


def _is_voice(change: Difference) -> bool:
    """Whether a word that turns the sentence around stands on one side only."""
    mine, theirs = (any(token.low in PASSIVE for token in side) for side in (change.mine, change.theirs))
    return mine != theirs


def _is_turned(first: Difference, last: Difference) -> bool:
    """Whether each of two things of a sentence stands in the source where the other one does."""
    one, two = _content(first.mine), _content(last.mine)
    are_two = bool(one and two) and one != two
    return are_two and one == _content(last.theirs) and two == _content(first.theirs)


def _things(pair: Turned) -> int:
    """How many content words each of two differences has at least; a negation has none."""
    return min(sum(token.is_content for token in each.mine) for each in pair)


def _is_phrase(tokens: Sequence[Token]) -> bool:
    """Whether tokens begin with a word that ties them to the sentence."""
    said = (token for token in tokens if token.low not in COORDINATING | ARTICLES)
    return not next(said, tokens[0]).is_content


def _is_list(first: Difference, last: Difference) -> bool:
    """Whether two things are items of a list: between them, there are fewer others than joints."""
    said, between = first.said, first.said[first.end : last.start]
    beside = (*said[max(0, first.start - 1) : first.start], *said[last.end : last.end + 1])
    shared = {token.low for token in beside} | ARTICLES  # "every Monday and every Friday"
    items = sum(token.low not in COORDINATING | shared for token in between)
    joints = sum(token.low in COORDINATING for token in between) + last.mine[0].clause - first.mine[0].clause
    return items < joints


def _content(tokens: Sequence[Token]) -> tuple[str, ...]:
    """What tokens are compared by, without articles."""
    return tuple(token.key for token in tokens if token.low not in ARTICLES)


def _joined(tokens: Sequence[Token]) -> str:
    return ("" if is_unspaced(tokens[0].text) else " ").join(token.text for token in tokens)
