"""The passage most similar to a quote, if it is similar enough and says the same."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from rapidfuzz.distance import LCSseq
from rapidfuzz.fuzz import partial_ratio_alignment

from groundjudge.evidence.edges import LONGEST_WORD, is_denied, whole_words
from groundjudge.evidence.exact import bare
from groundjudge.evidence.meaning import says_the_same
from groundjudge.evidence.skeleton import skeleton
from groundjudge.evidence.sources import COMPARED, Corpus, Sources
from groundjudge.evidence.work import A_COMPARISON, A_PAIR, A_PLACE, A_SEARCH
from groundjudge.verdict import Evidence

NEAR_MATCH = 90.0
"""Per cent. A passage that aligns with a quote at least this well is a near match."""
LONGEST_NEAR_MATCH = 1000
"""Characters. For longer sentences there are only exact matches: fuzzy search takes too long."""
SHORT = 100
"""Characters. Up to here a search through the whole text takes little time."""
ROUNDING = 1e-6
SHORT_EFFORT = 20
LONG_EFFORT = 200
MOST_SEEDS = 24
MOST_WINDOWS = 6
_WORD = re.compile(r"\w+")
_CLITICS = re.compile("[وفبكلسאובהוכלמש]{1,2}(?:ال)?|ال|لل")
"""Conjunctions, prepositions and articles that Arabic and Hebrew write in one with the next word."""


class Alignment(NamedTuple):
    """A passage of the joined skeletons, as long as the quote, and how alike the two are, in per cent."""

    start: int
    end: int
    score: float


def near(quote: str, sources: Sources) -> tuple[Evidence | None, str | None]:
    """The passage most similar to a quote, if it says the same; otherwise the warning."""
    wanted = bare(quote)
    sought = skeleton(wanted).text
    best = _best_alignment(sought, sources.corpus) if 0 < len(sought) <= LONGEST_NEAR_MATCH else None
    if best is None:
        return None, "evidence_not_found"
    found = _evidence(wanted, sought, best, sources)
    return found, None if found else "evidence_altered"


def _evidence(quote: str, sought: str, best: Alignment, sources: Sources) -> Evidence | None:
    """The passage in whole words, None if it does not say what the quote says.

    The alignment is as long as the quote. If the quote has added words, the alignment extends into the next
    sentence, so the span goes only from the first character that they share to the last.
    """
    corpus = sources.corpus
    blocks = LCSseq.opcodes(sought, corpus.text[best.start : best.end]).as_matching_blocks()
    first, last = blocks[0], blocks[-2]  # the very last block only marks the end
    place = corpus.place(best.start + first.b, best.start + last.b + last.size)
    source = corpus.skeletons[place.document]
    cut_start, cut_end = source.span(place.start, place.end)
    whole = whole_words(source.source, cut_start, cut_end)
    moved = LONGEST_WORD if whole is None else whole[1] - whole[0] - (cut_end - cut_start)
    corpus.work.spend(A_PLACE * moved + A_COMPARISON * len(sought))
    if whole is None or is_denied(source.source, *whole):
        return None
    start, end = whole
    lost = source.source[start:cut_start]
    if first.a == 0 and lost and not _CLITICS.fullmatch(lost):  # "legal" of "illegal"
        return None
    if not says_the_same(source.source[start:end], quote):
        return None
    return Evidence(quote=quote, document=place.document, start=start, end=end, exact=False)


def _best_alignment(sought: str, corpus: Corpus) -> Alignment | None:
    corpus.work.spend(A_SEARCH + len(sought) + A_PAIR * len(sought) ** 2)
    is_indexed = corpus.is_indexed(SHORT_EFFORT if len(sought) <= SHORT else LONG_EFFORT)
    windows = _likely_windows(sought, corpus) if is_indexed else _documents(corpus)
    best: Alignment | None = None
    for start, end in windows:
        # If a text is shorter than the quote, rapidfuzz searches the quote for the text instead.
        if (end - start) * 100 < len(sought) * NEAR_MATCH:
            continue
        cutoff = best.score if best else NEAR_MATCH
        if is_indexed and _highest_score(sought, corpus.text[start:end]) < cutoff:
            continue
        found = partial_ratio_alignment(sought, corpus.text[start:end], score_cutoff=cutoff)
        if found and (best is None or found.score > cutoff):
            best = Alignment(start + found.dest_start, start + found.dest_end, found.score)
    return best


def _highest_score(sought: str, window: str) -> float:
    """A bound on the score of a quote in a window: what aligns best has no more in common than all of it.

    It takes a fraction of the time that the alignment takes, and few windows come near.
    """
    common = LCSseq.similarity(sought, window)
    return 200 * common / (min(len(sought), len(window)) + common) + ROUNDING


def _documents(corpus: Corpus) -> list[tuple[int, int]]:
    ends = accumulate(len(each.text) + 1 for each in corpus.skeletons)
    return [(end - 1 - len(each.text), end - 1) for end, each in zip(ends, corpus.skeletons, strict=True)]


def _likely_windows(sought: str, corpus: Corpus) -> list[tuple[int, int]]:
    """The passages that share the longest runs with a quote, with room for what was left out or added."""
    room = len(sought) // 8 + 8
    shared: dict[int, int] = {}
    for offset in _seeds(sought):
        for place, common in corpus.neighbours(sought[offset : offset + COMPARED]):
            slot = (place - offset) // room
            shared[slot] = shared.get(slot, 0) + common
    slots = sorted(shared, key=lambda slot: -shared[slot])[:MOST_WINDOWS]
    return [window for slot in slots if (window := _window(slot * room, len(sought), room, corpus))]


def _seeds(sought: str) -> list[int]:
    """Offsets of words all over a quote; in unspaced scripts, of characters."""
    words = [word.start() for word in _WORD.finditer(sought)]
    if len(sought) > len(words) * 10:
        words = list(range(len(sought)))
    return words[:: len(words) // MOST_SEEDS + 1]


def _window(start: int, length: int, room: int, corpus: Corpus) -> tuple[int, int] | None:
    """The part of a document around a likely place; None if hardly any of a quote could stand there."""
    middle = min(max(0, start + length // 2), max(0, len(corpus.text) - 1))
    first, last = corpus.bounds(middle)
    begin, end = max(first, start - room), min(last, start + length + 2 * room)

    return (begin, end) if begin < end else None
