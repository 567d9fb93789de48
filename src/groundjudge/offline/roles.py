"""Who did what to whom, as far as the order of words tells: two things that changed places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations

from groundjudge.offline.contrasts import tells_time
from groundjudge.offline.differences import Difference
from groundjudge.offline.readings import Token
from groundjudge.text.words import ARTICLES, PREPOSITIONS, is_unspaced, stemmed

SYMMETRIC = frozenset(map(stemmed, ("marry", "married", "meet", "met", "join", "wed")))
"""What two do to each other, so that it does not matter who is named first."""
COORDINATING = frozenset(
    ("and", "or", "nor", "but", "und", "oder", "aber", "et", "ou", "y", "o", *"和与與及或跟但")
)
"""Words that join two of a kind, so that it does not matter which comes first."""
DIRECTED = frozenset(
    ("before", "after", "because", "than", "until", "since", "bevor", "nachdem", "weil", "als", "avant")
) | frozenset(("après", "porque", *"因后後前再比"))
"""Words that tell apart what stands on their two sides, as the order of events or the cause."""
PASSIVE = frozenset(("by", "von", "durch", "par", "por", "被"))
"""Words that turn doer and done to around."""
AUXILIARIES = frozenset(("is", "are", "was", "were", "be", "been", "being")) | frozenset(
    ("wird", "wurde", "wurden", "est", "sont", "été", "fue")
)
"""Verbs that go with them."""


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
    if voice and (is_unspaced(voice.said[0].text) or any(map(_is_auxiliary, changed))):
        is_all = not any(token.is_content for change in changed for token in (*change.mine, *change.theirs))
        return _beside(voice) if is_all else None
    rotated = next(filter(_is_rotated, permutations(changed, 2)), None)
    if rotated:
        return _joined(rotated[0].mine[:1]), _joined(rotated[0].mine[-1:])
    if not pairs or _have_moved(changed, pairs):
        return None
    first, last = max(pairs, key=_things)
    between = first.said[first.end : last.start]
    is_mutual = any(token.key in SYMMETRIC for token in between)
    may_move = (
        _is_time(first.mine) != _is_time(last.mine) or _are_places(first, last) or _is_list(first, last)
    )
    if not _things((first, last)) or is_mutual or may_move:
        return None
    is_one = len({frozenset(_content(each.mine) for each in pair) for pair in pairs}) == 1
    are_things = is_one and not any(map(_is_phrase, (first.mine, last.mine)))
    is_one_clause = first.mine[0].clause == last.mine[0].clause and not any(map(_coordinates, between))
    is_directed = any(token.low in DIRECTED for token in between)
    return (_joined(first.mine), _joined(last.mine)) if are_things or is_one_clause or is_directed else None


def _is_time(tokens: Sequence[Token]) -> bool:
    """Whether tokens tell a day, a number or the like, which may stand first in many a language."""
    return all(token.is_number or tells_time(token.text) for token in tokens if token.is_content)


def _turns(change: Difference) -> bool:
    """Whether all that differs is a word that turns the sentence around."""
    is_mine, is_theirs = (
        any(token.low in PASSIVE for token in side) for side in (change.mine, change.theirs)
    )
    return is_mine != is_theirs and not any(token.is_content for token in (*change.mine, *change.theirs))


def _is_auxiliary(change: Difference) -> bool:
    """Whether one of two sentences has a verb that a passive is made with."""
    return any(token.low in AUXILIARIES for token in (*change.mine, *change.theirs))


def _beside(change: Difference) -> tuple[str, str] | None:
    """What a sentence begins with, and the next word behind what differs: who acts, and who suffers it."""
    before = [token.text for token in change.said[: change.start] if token.is_content]
    behind = [token.text for token in change.said[change.end :] if token.is_content]
    return (before[0], behind[0]) if before and behind else None


def _is_turned(first: Difference, last: Difference) -> bool:
    """Whether each of two things of a sentence stands in the source where the other one does."""
    one, two = _content(first.mine), _content(last.mine)
    are_two = bool(one and two) and one != two
    return are_two and _is_part(one, _content(last.theirs)) and _is_part(two, _content(first.theirs))


def _is_part(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether a row of words stands in another one, which may begin with one more."""
    return part == whole or (len(part) > 1 and part == whole[-len(part) :])


def _is_rotated(pair: tuple[Difference, Difference]) -> bool:
    """Whether what moved has its words in another order: "to Rome" for "Rome to", "met Ann" for "Ann met"."""
    if pair[0].theirs or pair[1].mine:
        return False
    gone, come = (
        [token for token in each if not _coordinates(token) and token.low not in ARTICLES]
        for each in (pair[0].mine, pair[1].theirs)
    )
    order, other = ([token.key for token in each] for each in (gone, come))
    if order == other or sorted(order) != sorted(other):
        return False
    words, same = ([token.key for token in each if token.is_content] for each in (gone, come))
    if words == same:
        return bool(words)
    return _has_turned(pair[0], gone, come)


def _has_turned(change: Difference, gone: Sequence[Token], come: Sequence[Token]) -> bool:
    """Whether a thing that moved past another one of its clause went round what the two do."""
    said, start, end = change.said, change.start, change.end
    beside = (*said[max(0, start - 1) : start], *said[end : end + 1])
    is_clause = gone[0].clause == gone[-1].clause and any(each.clause == gone[0].clause for each in beside)
    order, other = ([token.key for token in each] for each in (gone, come))
    turns = (order[at:] + order[:at] for at in range(1, len(order)))
    is_time = any(tells_time(token.text) for token in (gone[0], gone[-1], *beside))
    return is_clause and other in turns and not is_time and not _is_phrase(gone) and not _is_phrase(come)


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
    return not all(_coordinates(token) or token.low in ARTICLES for token in joining)


def _are_places(first: Difference, last: Difference) -> bool:
    """Whether both of two things are where something is, in Chinese: two phrases changed places."""
    return all(change.start > 0 and change.said[change.start - 1].text == "在" for change in (first, last))


def _is_list(first: Difference, last: Difference) -> bool:
    """Whether two things belong to one list: only its other items, and what goes with each, lie between."""
    said, between = first.said, first.said[first.end : last.start]
    before, behind = said[max(0, first.start - 1) : first.start], said[last.end : last.end + 2]
    shared = {token.key for token in (*before, *behind)} | ARTICLES
    rest = [token for token in between if token.key not in shared]
    # a number goes with the word behind it
    items = sum(
        token.is_word or (token.is_number and not after.is_word)
        for token, after in zip(rest, [*rest[1:], last.mine[0]], strict=True)
    )
    joints = sum(map(_coordinates, between)) + last.mine[0].clause - first.mine[0].clause
    return items < joints and all(token.is_content or _coordinates(token) for token in rest)


def _coordinates(token: Token) -> bool:
    return token.low in COORDINATING


def _content(tokens: Sequence[Token]) -> tuple[str, ...]:
    """What tokens are compared by, without articles."""
    return tuple(token.key for token in tokens if token.low not in ARTICLES)


def _joined(tokens: Sequence[Token]) -> str:
    return ("" if is_unspaced(tokens[0].text) else " ").join(token.text for token in tokens)
