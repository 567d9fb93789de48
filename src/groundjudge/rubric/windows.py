"""Sources that are longer than one call should show: the parts to search, and what to judge by afterwards.

A part alone cannot be scored: facts are joined across parts, what "it" means is lost, and what contradicts
the response may stand elsewhere. So each part is only searched, and the case is judged once, by what was
found.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from groundjudge.case.numbered import Sentences

BYTES_PER_TOKEN = 4
"""An estimate; tokenisers differ."""


def cut_windows(sentences: Sentences, window: int) -> list[Sentences]:
    """Cut a source into parts of whole sentences, of so many tokens at most; a longer sentence is a part.

    Returns:
        The sentences as each part shows them; [] if one part holds them all.
    """
    parts: list[list[int]] = [[]]
    n_tokens = 0.0
    for number, sentence in enumerate(sentences.source, 1):
        n_more = len(sentence.text.encode()) / BYTES_PER_TOKEN
        if parts[-1] and n_tokens + n_more > window:
            parts.append([])
            n_tokens = 0.0
        parts[-1].append(number)
        n_tokens += n_more
    if len(parts) == 1:
        return []
    return [replace(sentences, shown=frozenset(part)) for part in parts]


def with_neighbours(sentences: Sentences, found: Collection[int]) -> Sentences:
    """Return the sentences as they are shown to be judged by: those found, with what makes them clear.

    That is the sentences before and after each one, and the first sentence of its document.
    """
    documents = dict(enumerate((sentence.document for sentence in sentences.source), 1))
    first_of = {document: number for number, document in reversed(documents.items())}
    shown: set[int] = set()
    for number in found:
        shown.add(first_of[documents[number]])
        for near in (number - 1, number, number + 1):
            if documents.get(near) == documents[number]:
                shown.add(near)
    return replace(sentences, shown=frozenset(shown))
