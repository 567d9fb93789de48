"""The numbered sentences of a case: replies name sentences by number instead of copying them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from groundjudge.case.case import Case, Document
from groundjudge.text.sentences import Sentence, sentences


@dataclass(frozen=True)
class Sentences:
    """The sentences of a case; the first of each list has the number 1.

    Attributes:
        source: the sentences of the context, numbered across all its documents.
        response: the sentences of the response.
        shown: the numbers of the context's sentences that a prompt shows; None for all.
    """

    source: Sequence[Sentence] = ()
    response: Sequence[Sentence] = ()
    shown: frozenset[int] | None = None

    def is_shown(self, number: int) -> bool:
        """Whether a prompt shows the context's sentence with this number."""
        return self.shown is None or number in self.shown

    def is_in(self, number: int, document: int) -> bool:
        """Whether a document has a sentence with this number."""
        return 0 < number <= len(self.source) and self.source[number - 1].document == document

    def shown_by_document(self) -> dict[int, list[int]]:
        """Return the numbers of the sentences that are shown, by the index of their document.

        A document without any, such as a blank one, is not in it.
        """
        numbers = range(1, len(self.source) + 1) if self.shown is None else sorted(self.shown)
        groups = groupby(numbers, lambda number: self.source[number - 1].document)
        return {document: [*group] for document, group in groups}


def number_sentences(case: Case) -> Sentences:
    """Cut the documents and the response of a case into sentences."""
    return Sentences(cut_documents(case.context or ()), sentences(case.response_text))


def cut_documents(documents: Iterable[Document]) -> list[Sentence]:
    """Cut documents into sentences, of which `case.context[document].content[start:end] == text`."""
    source: list[Sentence] = []
    for index, document in enumerate(documents):
        source += sentences(document.content, index)
    return source
