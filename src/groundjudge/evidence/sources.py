"""The documents in which quotes are looked up, by an index of their words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from groundjudge.case.case import Document
from groundjudge.evidence.normalized import Normalized, fold_text, plain

# Stands between the words of two documents; no quote has it.
END = "\n"
# Words that are compared with the documents to find a quote; more if it is long, see `FEWEST_PLACES`.
MOST_COMPARED = 50_000
FEWEST_PLACES = 16
# Characters that can be scanned in the time that turning to another document takes.
DOCUMENT_COST = 100
# For so many characters of a quote, one more of its longest words is looked for.
CHARACTERS_PER_WORD = 60
# Letters; in scripts without spaces a word is one character, which does not tell where a quote is.
SHORTEST_WORD = 4
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
        return [Passage(index, 0, len(each.content)) for index, each in enumerate(self.documents)]

    @cached_property
    def texts(self) -> list[Normalized]:
        """The texts of the passages."""
        return [Normalized(self.documents[index].content[start:end]) for index, start, end in self.passages]

    @cached_property
    def are_small(self) -> bool:
        """Whether the documents may be scanned for each quote."""
        return sum(len(document.content) + DOCUMENT_COST for document in self.documents) < SMALL

    def around(self, quote: Normalized) -> Sources:
        """The passages of small documents that have one of the longest words of a quote.

        They take a fraction of the time that reading the documents takes. The quote may yet be elsewhere: a
        word may have other signs in it, or another ending.
        """
        if not self.are_small:
            return self
        length, words = len(quote.source), {word for word in quote.words if len(word) >= SHORTEST_WORD}
        longest = sorted(words, key=lambda word: (-len(word), word))[: 2 + length // CHARACTERS_PER_WORD]
        found = sorted(passage for word in longest for passage in self._around(word, length + ROOM))
        return Sources(self.documents, _merged(found)) if found else self

    def _around(self, word: str, room: int) -> list[Passage]:
        """Passages with some room before and behind a word, in whole words; none if it is frequent."""
        found: list[Passage] = []
        for document, text in enumerate(self._plain):
            at = text.find(word)
            while at >= 0:
                start = text.rfind(" ", 0, max(0, at - room)) + 1
                end = text.find(" ", at + room)
                found.append(Passage(document, start, len(text) if end < 0 else end))
                if len(found) > FREQUENT:
                    return []
                at = text.find(word, at + 1)
        return found

    @cached_property
    def _plain(self) -> list[str]:
        return [plain(document.content) for document in self.documents]

    @cached_property
    def words(self) -> list[str]:
        """The words of all passages, with `END` before and after each passage."""
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
        """The place of each passage's first word."""
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
        texts = self._folded if self.are_small and self.parts is None else ()
        return any(fold_text(quote) in text for text in texts)

    @cached_property
    def _folded(self) -> list[str]:
        return [fold_text(document.content) for document in self.documents]

    def span(self, first: int, last: int) -> Passage:
        """The passage of the words from `first` up to, not including, `last`."""
        number = bisect_right(self._firsts, first) - 1
        text, offset, passage = self.texts[number], self._firsts[number], self.passages[number]
        start, end = text.span(first - offset)[0], text.span(last - 1 - offset)[1]
        return Passage(passage.document, passage.start + start, passage.start + end)

    def _rarest(self, words: Sequence[str]) -> int:
        return min(range(len(words)), key=lambda number: len(self.index.get(words[number], ())))


def _most_places(words: Sequence[str]) -> int:
    return FEWEST_PLACES + MOST_COMPARED // len(words)


def _merged(passages: Iterable[Passage]) -> list[Passage]:
    """Passages in order, those that overlap as one."""
    merged: list[Passage] = []
    for each in passages:
        last = merged[-1] if merged else None
        if last and last.document == each.document and each.start <= last.end:
            merged[-1] = last._replace(end=max(last.end, each.end))
        else:
            merged.append(each)
    return merged
