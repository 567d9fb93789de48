"""The documents in which quotes are looked up, by an index of their words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from groundjudge.case.case import Document
from groundjudge.evidence.normalized import Normalized, folded

END = "\n"
"""Stands between the words of two documents; no quote has it."""
MOST_COMPARED = 50_000
"""Words that are compared with the documents to find a quote; more if it is long, see `FEWEST_PLACES`."""
FEWEST_PLACES = 16
SMALL = 30_000
"""Characters of documents that may be scanned for each quote, which takes no longer than reading a quote."""


@dataclass(frozen=True)
class Sources:
    """Documents, and an index of their words, which is built when the first quote has no verbatim match.

    Attributes:
        documents: the documents.
    """

    documents: Sequence[Document]

    @cached_property
    def texts(self) -> list[Normalized]:
        """The documents' texts."""
        return [Normalized(document.content) for document in self.documents]

    @cached_property
    def are_small(self) -> bool:
        """Whether the documents may be scanned for each quote."""
        return sum(len(text.source) + 100 for text in self.texts) < SMALL

    @cached_property
    def words(self) -> list[str]:
        """The words of all documents, with `END` before and after each document."""
        found = [END]
        for text in self.texts:
            found += text.words
            found.append(END)
        return found

    @cached_property
    def index(self) -> dict[str, list[int]]:
        """The places of each word in `words`."""
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word, []).append(place)
        return places

    @cached_property
    def _firsts(self) -> list[int]:
        """The place of each document's first word."""
        return [place + 1 for place in self.index[END][:-1]]

    def occurrences(self, words: Sequence[str]) -> Iterator[int]:
        """The places where the documents have these words, of those that may be looked at."""
        if not words:
            return
        rarest = self._rarest(words)
        places = self.index.get(words[rarest], [])
        for place in places[: _most_places(words)]:
            start = place - rarest
            if self.words[start : start + len(words)] == words:
                yield start

    def are_too_common(self, words: Sequence[str]) -> bool:
        """Whether the words have more places than may be looked at."""
        most = _most_places(words)
        return len(self.words) > most and len(self.index.get(words[self._rarest(words)], [])) > most

    def have(self, quote: str) -> bool:
        """Whether small documents have the letters of a quote, be it as a part of longer words or numbers."""
        return self.are_small and any(folded(quote) in folded(text.source) for text in self.texts)

    def span(self, first: int, last: int) -> tuple[int, int, int]:
        """The document of the words from `first` up to, not including, `last`, and their offsets in it."""
        document = bisect_right(self._firsts, first) - 1
        text, offset = self.texts[document], self._firsts[document]
        return document, text.span(first - offset)[0], text.span(last - 1 - offset)[1]

    def _rarest(self, words: Sequence[str]) -> int:
        return min(range(len(words)), key=lambda number: len(self.index.get(words[number], ())))


def _most_places(words: Sequence[str]) -> int:
    return FEWEST_PLACES + MOST_COMPARED // len(words)
