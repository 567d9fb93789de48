"""The documents in which quotes are looked up: one by one while quotes are few, by an index when many."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple

from groundjudge.case.case import Document
from groundjudge.evidence.edges import UNSPACED
from groundjudge.evidence.skeleton import Skeleton, skeleton
from groundjudge.evidence.work import SCANNED, Work

DOCUMENTS_A_SEARCH = 50
"""So many documents take as long to search as one large text."""
WORTH_AN_INDEX = 400
"""After so many searches through the text an index costs less than the next ones."""
COMPARED = 64
"""Characters from each word's beginning by which the index is sorted."""
MANY_PLACES = 1000
_ANCHOR = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


class Place(NamedTuple):
    """A span of the joined skeletons in a document: its index, and offsets in that document's skeleton."""

    document: int
    start: int
    end: int


class Index(NamedTuple):
    """The beginnings of all words, of unspaced scripts all characters, sorted by what follows them.

    Attributes:
        places: their offsets in the joined skeletons.
        keys: for each place the `COMPARED` characters that follow it.
    """

    places: list[int]
    keys: list[str]


class Corpus:
    """The skeletons of all documents as one text, with a line break between two."""

    def __init__(self, skeletons: Sequence[Skeleton], work: Work) -> None:
        self.skeletons = skeletons
        self.work = work
        self.text = "\n".join(each.text for each in skeletons)
        self._starts = [0]
        for each in skeletons[:-1]:
            self._starts.append(self._starts[-1] + len(each.text) + 1)
        self._effort = 0

    @cached_property
    def index(self) -> Index:
        """The index of the joined skeletons, built when it is first used."""
        text = self.text
        starts = [anchor.start() for anchor in _ANCHOR.finditer(text)]
        places = sorted(starts, key=lambda start: text[start : start + COMPARED])
        return Index(places, [text[place : place + COMPARED] for place in places])

    def is_indexed(self, effort: int) -> bool:
        """Whether to use the index, after so much more effort was spent without it."""
        self._effort += effort + len(self.skeletons) // DOCUMENTS_A_SEARCH
        return self._effort > WORTH_AN_INDEX

    def place(self, start: int, end: int) -> Place:
        """The document of a span, which must not reach over its end."""
        document = bisect_right(self._starts, start) - 1
        offset = self._starts[document]
        return Place(document, start - offset, end - offset)

    def bounds(self, start: int) -> tuple[int, int]:
        """Where the document begins and ends that holds an offset."""
        document = bisect_right(self._starts, start) - 1
        offset = self._starts[document]
        return offset, offset + len(self.skeletons[document].text)

    def occurrences(self, sought: str) -> Iterator[Place]:
        """All places of a text that is not empty; with the index only those that begin a word."""
        is_indexed = self.is_indexed(1)
        found = self._by_index(sought) if is_indexed else None
        if is_indexed and found is None:
            self.work.spend(len(self.text) / SCANNED)
        for start in self._one_by_one(sought) if found is None else found:
            yield self.place(start, start + len(sought))

    def holds(self, quote: str) -> bool:
        """Whether a document may have the wording of a quote, whole or not."""
        sought = skeleton(quote).text.strip()
        return next(self.occurrences(sought), None) is not None if sought else True

    def neighbours(self, start: str) -> list[tuple[int, int]]:
        """The places in the index that have most in common with the beginning of a text, and how much."""
        from rapidfuzz.distance import Prefix  # noqa: PLC0415  most sentences are copied verbatim

        index = self.index
        at = bisect_left(index.keys, start)
        beside = slice(max(0, at - 1), at + 2)
        return [
            (place, Prefix.similarity(start, key))
            for place, key in zip(index.places[beside], index.keys[beside], strict=True)
        ]

    def _one_by_one(self, sought: str) -> Iterator[int]:
        at = self.text.find(sought)
        while at >= 0:
            yield at
            at = self.text.find(sought, at + 1)

    def _by_index(self, sought: str) -> list[int] | None:
        """The places by the index; None where it is of no help."""
        anchor = _ANCHOR.search(sought)
        if anchor is None:
            return None
        (places, keys), text, lead = self.index, self.text, anchor.start()
        known = sought[lead : lead + COMPARED]
        first = bisect_left(keys, known)
        last = bisect_right(keys, known, first, key=lambda key: key[: len(known)])
        if last - first > MANY_PLACES:
            return None
        starts = (place - lead for place in places[first:last])
        return sorted(start for start in starts if start >= 0 and text.startswith(sought, start))


@dataclass(frozen=True)
class Sources:
    """Documents, and their skeletons, which are built when the first quote has no verbatim match.

    Attributes:
        documents: the documents.
        work: what may still be spent on looking up quotes in them.
    """

    documents: Sequence[Document]
    work: Work = field(default_factory=Work, compare=False, repr=False)

    @cached_property
    def corpus(self) -> Corpus:
        """The skeletons of the documents."""
        return Corpus([skeleton(document.content) for document in self.documents], self.work)

    def are_few(self) -> bool:
        """Whether so few quotes were looked up that this one may be sought in one document after another."""
        return next(self._quotes) * (1 + len(self.documents) // DOCUMENTS_A_SEARCH) < WORTH_AN_INDEX

    @cached_property
    def _quotes(self) -> Iterator[int]:
        return count()

    @cached_property
    def size(self) -> int:
        """Characters in all documents."""
        return sum(len(document.content) for document in self.documents)
