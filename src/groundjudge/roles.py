"""Who did what to whom, as far as the order of words tells: two things that changed places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from groundjudge.differences import Difference
from groundjudge.readings import Token
from groundjudge.words import ARTICLES, PREPOSITIONS, is_unspaced, stemmed

SYMMETRIC = frozenset(map(stemmed, ("marry", "married", "meet", "met", "join", "wed")))
"""What two do to each other, so that it does not matter who is named first."""
COORDINATING = frozenset(
    ("and", "or", "nor", "und", "oder", "et", "ou", "y", "o", "和", "与", "與", "及", "或", "跟")
)
"""Words that join two of a kind, so that it does not matter which comes first."""
DIRECTED = frozenset(
    ("before", "after", "because", "than", "until", "since", "bevor", "nachdem", "weil", "als", "avant")
) | frozenset(("après", "porque", *"因后後前再比"))
"""Words that tell apart what stands on their two sides, as the order of events or the cause."""
PASSIVE = frozenset(("by", "von", "durch", "par", "por", "被"))
"""Words that turn doer and done to around."""


def turned(changed: Sequence[Difference]) -> list[tuple[Difference, Difference]]:
    """The differences each of which has what the other one's source has."""
    return [(first, last) for first, last in combinations(changed, 2) if _is_turned(first, last)]


def exchanged(
    changed: Sequence[Difference], pairs: Sequence[tuple[Difference, Difference]]
) -> tuple[str, str] | None:
    """Two things of a sentence that stand in each other's place; `pairs` is what `turned` found.

    Phrases may stand where they like: they moved, and who did what is the same, where words that tie them
    to the sentence went with them or several things changed places round no word that tells the two apart.
    """
    voice = next(filter(_turns, changed), None)
    if voice:
        is_all = not any(token.is_content for change in changed for token in (*change.mine, *change.theirs))
        return _beside(voice) if is_all else None
    if not pairs or _have_moved(changed, pairs):
        return None
    first, last = max(pairs, key=_things)
    between = first.said[first.end : last.start]
    if (
        not _things((first, last))
        or any(token.key in SYMMETRIC for token in between)
        or _is_list(first, last)
    ):
        return None
    is_one = len({frozenset(_content(each.mine) for each in pair) for pair in pairs}) == 1
    are_things = is_one and not any(map(_is_phrase, (first.mine, last.mine)))
    is_one_clause = first.mine[0].clause == last.mine[0].clause and not any(map(_coordinates, between))
    is_directed = any(token.text.casefold() in DIRECTED for token in between)
    return (_joined(first), _joined(last)) if are_things or is_one_clause or is_directed else None


def _turns(change: Difference) -> bool:
    """Whether all that differs is a word that turns the sentence around."""
    is_mine, is_theirs = (
        any(token.text.casefold() in PASSIVE for token in side) for side in (change.mine, change.theirs)
    )
    return is_mine != is_theirs and not any(token.is_content for token in (*change.mine, *change.theirs))


def _beside(change: Difference) -> tuple[str, str] | None:
    """The next words on the two sides of what differs."""
    before = [token.text for token in change.said[: change.start] if token.is_content]
    behind = [token.text for token in change.said[change.end :] if token.is_content]
    return (before[-1], behind[0]) if before and behind else None


def _is_turned(first: Difference, last: Difference) -> bool:
    one, two = _content(first.mine), _content(last.mine)
    return bool(one and two) and one != two and (one, two) == (_content(last.theirs), _content(first.theirs))


def _things(pair: tuple[Difference, Difference]) -> int:
    """How many content words each of two differences has at least; a negation has none."""
    return min(sum(token.is_content for token in each.mine) for each in pair)


def _have_moved(changed: Iterable[Difference], pairs: Iterable[tuple[Difference, Difference]]) -> bool:
    """Whether anything else of the sentence stands in another place too."""
    settled = {id(each) for pair in pairs for each in pair}
    others = [change for change in changed if id(change) not in settled]
    mine = Counter(token.key for change in others for token in change.mine)
    theirs = Counter(token.key for change in others for token in change.theirs)
    return any(key not in ARTICLES for key in mine & theirs)


def _is_phrase(tokens: Sequence[Token]) -> bool:
    """Whether tokens bring the word that ties them to the sentence."""
    if is_unspaced(tokens[0].text):
        return tokens[0].text in PREPOSITIONS
    joining = [token for token in tokens if not token.is_content and not token.is_negation]
    return not all(_coordinates(token) or token.text.casefold() in ARTICLES for token in joining)


def _is_list(first: Difference, last: Difference) -> bool:
    """Whether two things belong to one list: only its other items, and what goes with each, lie between."""
    said, between = first.said, first.said[first.end : last.start]
    before, behind = said[max(0, first.start - 1) : first.start], said[last.end : last.end + 2]
    shared = {token.key for token in (*before, *behind)} | ARTICLES
    rest = [token for token in between if token.key not in shared]
    items = sum(token.is_content for token in rest)
    joints = sum(map(_coordinates, between)) + last.mine[0].clause - first.mine[0].clause
    return items < joints and all(token.is_content or _coordinates(token) for token in rest)


def _coordinates(token: Token) -> bool:
    return token.text.casefold() in COORDINATING


def _content(tokens: Sequence[Token]) -> tuple[str, ...]:
    """What tokens are compared by, without articles."""
    return tuple(token.key for token in tokens if token.text.casefold() not in ARTICLES)


def _joined(change: Difference) -> str:
    return ("" if is_unspaced(change.mine[0].text) else " ").join(token.text for token in change.mine)
