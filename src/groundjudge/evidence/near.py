"""The passage that says what a quote says in nearly the same words, and whether one merely resembles it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

from groundjudge.evidence.sources import Sources
from groundjudge.text.words import stem

# Words that may be added, left out or exchanged: articles, forms of "to be", "that" and "which".
MAY_DIFFER = frozenset("a an the is are was were be been being am that which".split())  # noqa: SIM905
# How many of them may stand side by side.
MAX_IN_A_ROW = 3
# Letters by which two forms of one word differ at most: run, running. Stems alone are cut too short.
MAX_ENDING = 4
# Words. Longer quotes have exact matches only.
MAX_QUOTED = 1000
RAREST = 4
PLACES_OF_EACH = 8
MAX_WINDOWS = 3
# The share of a quote's words that a passage has in the same order and that makes it an altered quote.
# Of three words, one may be another.
RESEMBLES = 0.75


class Anchor(NamedTuple):
    """A word that a quote and the documents have in common: which one of the quote, its place, its weight.

    The fewer places a word has, the more does each of them count.
    """

    number: int
    place: int
    weight: float


def near_places(words: Sequence[str], sources: Sources) -> Iterator[tuple[int, int]]:
    """Where the documents have words, but for articles, forms of "to be", "that", "which" and endings.

    For "the cat is running" that is "a cat runs", too. Each place is that of the passage's first word in
    `sources.words`, and that behind its last word.
    """
    if len(words) > MAX_QUOTED:
        return
    for anchor in find_anchors(words, sources):
        if words[anchor.number] in MAY_DIFFER:
            continue  # "that is" would be found wherever one of the two is
        before = [word for word in words[: anchor.number] if word not in MAY_DIFFER]
        first = _walk(sources.words, anchor.place, reversed(before), -1)
        if first is None:
            continue
        after = [word for word in words[anchor.number + 1 :] if word not in MAY_DIFFER]
        last = _walk(sources.words, anchor.place, after, 1)
        if last is not None:
            yield _widen(words, sources.words, first, last)


def resembles_passage(words: Sequence[str], sources: Sources) -> bool:
    """Whether a passage has most of the words of a quote in their order."""
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415  few quotes are altered

    if len(words) > MAX_QUOTED:
        return False
    weights: defaultdict[int, float] = defaultdict(float)
    for anchor in find_anchors(words, sources):
        # Where the quote would begin if it stood there: rare words that agree on it tell where to look.
        weights[anchor.place - anchor.number] += anchor.weight
    room = 2 + len(words) // 8  # for words that were added on either side
    fewest = max(2, min(len(words) - 1, RESEMBLES * len(words)))
    for start in nlargest(MAX_WINDOWS, weights, key=lambda start: weights[start]):
        window = sources.words[max(0, start - room) : start + len(words) + room]
        if LCSseq.similarity(words, window) >= fewest:
            return True
    return False


def find_anchors(words: Sequence[str], sources: Sources) -> list[Anchor]:
    """The first places of a quote's rarest words: what resembles the quote has some of them."""
    index = sources.index
    candidates: dict[str, tuple[int, list[int]]] = {}
    for number, word in enumerate(words):
        if word in index:
            candidates[word] = (number, index[word])
    rarest = sorted(candidates.values(), key=lambda candidate: len(candidate[1]))
    anchors: list[Anchor] = []
    for number, places in rarest[:RAREST]:
        for place in places[:PLACES_OF_EACH]:
            anchors.append(Anchor(number, place, 1 / len(places)))
    return anchors


def _walk(source_words: Sequence[str], place: int, quote_words: Iterable[str], step: int) -> int | None:
    """The place of the last of a quote's words that stand side by side in a document; None if they do not.

    Up to three words that may differ can stand between them.

    Args:
        source_words: the words of the documents.
        place: the place of the word next to them, which was found.
        quote_words: the words, the one next to that place first, without those that may differ.
        step: 1 if they stand behind that place, -1 if before it.
    """
    for word in quote_words:
        place += step
        # `END` before and behind each document stops this at the latest.
        for _ in range(MAX_IN_A_ROW):
            if source_words[place] not in MAY_DIFFER:
                break
            place += step
        if not _are_forms(word, source_words[place]):
            return None
    return place


def _are_forms(quote_word: str, source_word: str) -> bool:
    """Whether two words are forms of one word, such as run and running."""
    if quote_word == source_word:
        return True
    n_shared = 0
    for quote_letter, source_letter in zip(quote_word, source_word, strict=False):
        if quote_letter != source_letter:
            break
        n_shared += 1
    ending = max(len(quote_word), len(source_word)) - n_shared
    if ending > MAX_ENDING:
        return False
    return stem(quote_word) == stem(source_word)


def _widen(quote: Sequence[str], source_words: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """A passage with as many of the words that may differ around it as the quote has.

    `first` and `last` are the indexes of its first and last word; the span returned ends behind the last one.
    """
    # Neither index leaves the words: `END` stands before and behind each document, and ends both loops.
    for word in quote:
        if word not in MAY_DIFFER or source_words[first - 1] not in MAY_DIFFER:
            break
        first -= 1
    for word in reversed(quote):
        if word not in MAY_DIFFER or source_words[last + 1] not in MAY_DIFFER:
            break
        last += 1
    return first, last + 1
