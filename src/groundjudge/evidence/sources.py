"""The documents in which quotes are looked up, by an index of their words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from groundjudge.case.case import Document
from groundjudge.evidence.edges import ends_clause
from groundjudge.evidence.normalized import Normalized, fold_text
from groundjudge.verdict import Evidence

# Stands among the words before and after each document; no quote has it.
END = "\n"
# Words that are compared with the documents to find a quote; more if it is long, see `MIN_PLACES`.
MAX_COMPARED = 50_000
MIN_PLACES = 16
# Characters that can be scanned in the time that turning to another document takes.
DOCUMENT_COST = 100
# Characters of documents that may be scanned for each quote: it takes no longer than reading the quote.
SMALL = 30_000


class Passage(NamedTuple):
    """A part of a document: the document's index, and offsets."""

    document: int
    start: int
    end: int


@dataclass(frozen=True)
class Sources:
    """Documents, and an index of their words, which is built when the first quote has no verbatim match.

    Attributes:
        documents: the documents.
    """

    documents: Sequence[Document]

    @cached_property
    def texts(self) -> list[Normalized]:
        """The texts of the documents."""
        return [Normalized(document.content) for document in self.documents]

    @cached_property
    def are_small(self) -> bool:
        """Whether the documents may be scanned for each quote."""
        cost = 0
        for document in self.documents:
            cost += len(document.content) + DOCUMENT_COST
        return cost < SMALL

    @cached_property
    def words(self) -> list[str]:
        """The words of all documents, with `END` before and after each document."""
        words = [END]
        for text in self.texts:
            words += text.words
            words.append(END)
        return words

    @cached_property
    def index(self) -> dict[str, list[int]]:
        """The places of each word in `words`."""
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word, []).append(place)
        return places

    @cached_property
    def _first_places(self) -> list[int]:
        """The place of each document's first word."""
        return [place + 1 for place in self.index[END][:-1]]

    def occurrences(self, words: Sequence[str]) -> Iterator[int]:
        """The places in `words` where the documents have these words side by side.

        Only the first places of the rarest of the words are looked at (see `MAX_COMPARED`).
        """
        if not words:
            return
        rarest = self._rarest_of(words)
        places = self.index.get(words[rarest], [])
        for place in places[: _most_places(words)]:
            start = place - rarest
            if self.words[start : start + len(words)] == words:
                yield start

    def have_too_often(self, words: Sequence[str]) -> bool:
        """Whether the words occur too often for `occurrences` to look at every place."""
        most = _most_places(words)
        if len(self.words) <= most:
            return False
        rarest = words[self._rarest_of(words)]
        return len(self.index.get(rarest, [])) > most

    def have_letters(self, quote: str) -> bool:
        """Whether small documents have the letters of a quote, be it as a part of longer words or numbers."""
        if not self.are_small:
            return False
        folded_quote = fold_text(quote)
        return any(folded_quote in text for text in self._folded_texts)

    @cached_property
    def _folded_texts(self) -> list[str]:
        """The texts of the documents in one case, with one kind of white space and quotation marks."""
        return [fold_text(document.content) for document in self.documents]

    def span(self, first: int, last: int) -> Passage:
        """The passage with the words at the places from `first` up to, not including, `last`."""
        number = bisect_right(self._first_places, first) - 1
        text = self.texts[number]
        first_place = self._first_places[number]
        start = text.span(first - first_place)[0]
        end = text.span(last - 1 - first_place)[1]
        return Passage(number, start, end)

    def ends_clause(self, place: int) -> bool:
        """Whether a clause ends with the word at a place."""
        # Of documents in Chinese the same places are asked about again and again.
        if place not in self._clause_ends:
            document, _, end = self.span(place, place + 1)
            self._clause_ends[place] = ends_clause(self.documents[document].content, end)
        return self._clause_ends[place]

    @cached_property
    def _clause_ends(self) -> dict[int, bool]:
        """What `ends_clause` has returned for each place."""
        return {}

    @cached_property
    def findings(self) -> dict[str, tuple[list[Evidence], list[str]]]:
        """What was found for the quotes that were looked up, and the warnings: many may be equal."""
        return {}

    def _rarest_of(self, words: Sequence[str]) -> int:
        """The number of the first of the words that have the fewest places."""
        index = self.index
        rarest = 0
        fewest: int | None = None
        for number, word in enumerate(words):
            n_places = len(index.get(word, ()))
            if fewest is None or n_places < fewest:
                rarest = number
                fewest = n_places
        return rarest


def _most_places(words: Sequence[str]) -> int:
    """At how many places words may be looked for: the more words, the fewer places."""
    return MIN_PLACES + MAX_COMPARED // len(words)
