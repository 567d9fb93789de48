"""The passage that says what a quote says in nearly the same words, and whether one merely resembles it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice, takewhile
from typing import NamedTuple

from groundjudge.evidence.sources import Sources

# Words that may be added, left out or exchanged: articles, forms of "to be", "that" and "which".
MAY_DIFFER = frozenset("a an the is are was were be been being am that which".split())  # noqa: SIM905
# So many of them may stand side by side.
MOST_IN_A_ROW = 3
# Letters by which two forms of one word differ at most: run, running. Stems alone are cut too short.
LONGEST_ENDING = 4
# Words. Longer quotes have exact matches only.
MOST_QUOTED = 1000
RAREST = 4
PLACES_OF_EACH = 8
MOST_WINDOWS = 3
# The share of a quote's words that a passage has in the same order and that makes it an altered quote.
#
# Of three words, one may be another.
RESEMBLES = 0.75


class Anchor(NamedTuple):
    """A word that a quote and the documents have in common: which one of the quote, its place, its weight.

    The fewer places a word has, the more does each of them count.
    """

    number: int
    place: int
    weight: float


def near(words: Sequence[str], sources: Sources) -> Iterator[tuple[int, int]]:
    """Where passages begin and end that differ only in what may differ."""
    if len(words) > MOST_QUOTED:
        return
    for anchor in anchors(words, sources):
        if words[anchor.number] in MAY_DIFFER:
            continue
        before = [word for word in words[: anchor.number] if word not in MAY_DIFFER]
        after = [word for word in words[anchor.number + 1 :] if word not in MAY_DIFFER]
        first = _walk(sources.words, anchor.place, reversed(before), -1)
        last = first and _walk(sources.words, anchor.place, after, 1)
        if first and last:
            yield _widened(words, sources.words, first, last)


def resembles(words: Sequence[str], sources: Sources) -> bool:
    """Whether a passage has most of the words of a quote in their order."""
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415  few quotes are altered

    if len(words) > MOST_QUOTED:
        return False
    room = 2 + len(words) // 8
    starts: defaultdict[int, float] = defaultdict(float)
    for anchor in anchors(words, sources):
        starts[anchor.place - anchor.number] += anchor.weight
    windows = (
        sources.words[max(0, start - room) : start + len(words) + room]
        for start in nlargest(MOST_WINDOWS, starts, key=lambda start: starts[start])
    )
    fewest = max(2, min(len(words) - 1, RESEMBLES * len(words)))
    return any(LCSseq.similarity(words, window) >= fewest for window in windows)


def anchors(words: Sequence[str], sources: Sources) -> list[Anchor]:
    """The first places of a quote's rarest words: what resembles the quote has some of them."""
    places = {
        word: (number, sources.index[word]) for number, word in enumerate(words) if word in sources.index
    }
    rarest = sorted(places.values(), key=lambda each: len(each[1]))[:RAREST]
    return [
        Anchor(number, place, 1 / len(found))
        for number, found in rarest
        for place in islice(found, PLACES_OF_EACH)
    ]


def _walk(words: Sequence[str], place: int, wanted: Iterable[str], step: int) -> int | None:
    """The place that is reached when the wanted words are next to each other, None if they are not."""
    for word in wanted:
        beside = range(place + step, place + (MOST_IN_A_ROW + 2) * step, step)
        reached = next((at for at in beside if words[at] not in MAY_DIFFER), None)
        if reached is None or not _are_forms(word, words[reached]):
            return None
        place = reached
    return place


def _are_forms(one: str, other: str) -> bool:
    """Whether two words are forms of one word."""
    if one == other:
        return True
    if one[0] != other[0] or not (one.isalpha() and other.isalpha()):
        return False
    from groundjudge.text.words import words as stem  # noqa: PLC0415  few quotes are near matches

    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    ending = max(len(one), len(other)) - shared
    return ending <= LONGEST_ENDING and stem(one)[0].stem == stem(other)[0].stem


def _widened(quote: Sequence[str], words: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """A passage with as many of the words that may differ around it as the quote has."""
    lead = next(number for number, word in enumerate(quote) if word not in MAY_DIFFER)
    trail = next(number for number, word in enumerate(reversed(quote)) if word not in MAY_DIFFER)
    while lead and words[first - 1] in MAY_DIFFER:
        first, lead = first - 1, lead - 1
    while trail and words[last + 1] in MAY_DIFFER:
        last, trail = last + 1, trail - 1
    return first, last + 1
