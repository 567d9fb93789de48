"""The documents in which quotes are looked up, by an index of their words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from groundjudge.case.case import Document
from groundjudge.evidence.edges import ends_clause
from groundjudge.evidence.normalized import Normalized, fold_text, plain
from groundjudge.verdict import Evidence

# Stands among the words before and after each passage; no quote has it.
END = "\n"
# Words that are compared with the documents to find a quote; more if it is long, see `MIN_PLACES`.
MAX_COMPARED = 50_000
MIN_PLACES = 16
# Characters that can be scanned in the time that turning to another document takes.
DOCUMENT_COST = 100
# For so many characters of a quote, one more of its longest words is looked for.
CHARACTERS_PER_WORD = 60
# Letters; in scripts without spaces a word is one character, which does not tell where a quote is.
MIN_WORD = 4
# Places of a word, more of which tell little about where the quote is.
FREQUENT = 3
# Characters that a passage may be longer than its quote.
ROOM = 100
# Characters of documents that may be scanned for each quote: it takes no longer than reading the quote.
SMALL = 30_000


class Passage(NamedTuple):
    """A part of a document, or all of it: the document's index, and offsets."""

    document: int
    start: int
    end: int


@dataclass(frozen=True)
class Sources:
    """Documents, and an index of their words, which is built when the first quote has no verbatim match.

    Attributes:
        documents: the documents.
        parts: the passages in which quotes are looked up, in order; None is all of the documents.
    """

    documents: Sequence[Document]
    parts: Sequence[Passage] | None = None

    @cached_property
    def passages(self) -> Sequence[Passage]:
        """The passages in which quotes are looked up."""
        if self.parts is not None:
            return self.parts
        return [Passage(number, 0, len(document.content)) for number, document in enumerate(self.documents)]

    @cached_property
    def texts(self) -> list[Normalized]:
        """The texts of the passages."""
        texts: list[Normalized] = []
        for number, start, end in self.passages:
            content = self.documents[number].content
            texts.append(Normalized(content[start:end]))
        return texts

    @cached_property
    def are_small(self) -> bool:
        """Whether the documents may be scanned for each quote."""
        cost = 0
        for document in self.documents:
            cost += len(document.content) + DOCUMENT_COST
        return cost < SMALL

    def narrow_to(self, quote: Normalized) -> Sources:
        """The passages of small documents that have one of the longest words of a quote.

        They take a fraction of the time that reading the documents takes. The quote may yet be elsewhere: a
        word may have other signs in it, or another ending.
        """
        if not self.are_small:
            return self
        length = len(quote.source)
        words = {word for word in quote.words if len(word) >= MIN_WORD}
        longest_first = sorted(words, key=lambda word: (-len(word), word))
        passages: list[Passage] = []
        for word in longest_first[: 2 + length // CHARACTERS_PER_WORD]:
            passages.extend(self._passages_with(word, length + ROOM))
        if not passages:
            return self
        return Sources(self.documents, _merge(sorted(passages)))

    def _passages_with(self, word: str, room: int) -> list[Passage]:
        """Passages with some room before and behind a word, in whole words; none if it is frequent."""
        passages: list[Passage] = []
        for number, text in enumerate(self._plain_texts):
            place = text.find(word)
            while place >= 0:
                start = text.rfind(" ", 0, max(0, place - room)) + 1
                end = text.find(" ", place + room)
                if end < 0:
                    end = len(text)
                passages.append(Passage(number, start, end))
                if len(passages) > FREQUENT:
                    return []
                place = text.find(word, place + 1)
        return passages

    @cached_property
    def _plain_texts(self) -> list[str]:
        return [plain(document.content) for document in self.documents]

    @cached_property
    def words(self) -> list[str]:
        """The words of all passages, with `END` before and after each passage."""
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
        """The place of each passage's first word."""
        return [place + 1 for place in self.index[END][:-1]]

    def occurrences(self, words: Sequence[str]) -> Iterator[int]:
        """The places where the documents have these words, of those that may be looked at."""
        if not words:
            return
        rarest = self._rarest_of(words)
        places = self.index.get(words[rarest], [])
        for place in places[: _most_places(words)]:
            start = place - rarest
            if self.words[start : start + len(words)] == words:
                yield start

    def have_too_often(self, words: Sequence[str]) -> bool:
        """Whether the words have more places than may be looked at."""
        most = _most_places(words)
        if len(self.words) <= most:
            return False
        rarest = words[self._rarest_of(words)]
        return len(self.index.get(rarest, [])) > most

    def have_letters(self, quote: str) -> bool:
        """Whether small documents have the letters of a quote, be it as a part of longer words or numbers."""
        if not self.are_small or self.parts is not None:
            return False
        folded_quote = fold_text(quote)
        return any(folded_quote in text for text in self._folded_texts)

    @cached_property
    def _folded_texts(self) -> list[str]:
        return [fold_text(document.content) for document in self.documents]

    def span(self, first: int, last: int) -> Passage:
        """The passage of the words from `first` up to, not including, `last`."""
        number = bisect_right(self._first_places, first) - 1
        text = self.texts[number]
        first_place = self._first_places[number]
        passage = self.passages[number]
        start = text.span(first - first_place)[0]
        end = text.span(last - 1 - first_place)[1]
        return Passage(passage.document, passage.start + start, passage.start + end)

    def ends_clause(self, place: int) -> bool:
        """Whether a clause ends with the word at a place."""
        # Of documents in Chinese the same places are asked about again and again.
        if place not in self._clause_ends:
            document, _, end = self.span(place, place + 1)
            self._clause_ends[place] = ends_clause(self.documents[document].content, end)
        return self._clause_ends[place]

    @cached_property
    def _clause_ends(self) -> dict[int, bool]:
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
    return MIN_PLACES + MAX_COMPARED // len(words)


def _merge(passages: Iterable[Passage]) -> list[Passage]:
    """Passages in order, those that overlap as one."""
    merged: list[Passage] = []
    for passage in passages:
        last = merged[-1] if merged else None
        if last and last.document == passage.document and passage.start <= last.end:
            merged[-1] = last._replace(end=max(last.end, passage.end))
        else:
            merged.append(passage)
    return merged
