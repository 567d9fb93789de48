"""Sources that are longer than one call should show: the windows to search, and what to judge by afterwards.

A window alone cannot be scored: facts are joined across windows, what "it" means is lost, and what
contradicts the response may stand elsewhere. So each window is only searched, and the case is judged once, by
what was found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from groundjudge.case.numbered import Sentences

BYTES_PER_TOKEN = 4
"""An estimate; tokenisers differ."""


def cut_windows(sentences: Sentences, n_tokens: int) -> list[Sentences]:
    """Cut a source into windows of whole sentences, each of at most so many tokens.

    A sentence that is longer has a window of its own.

    Returns:
        The sentences as each window shows them.
    """
    windows: list[list[int]] = [[]]
    n_bytes = 0
    for number, sentence in enumerate(sentences.source, 1):
        n_more = len(f"{number} | {sentence.text}\n".encode())
        if windows[-1] and n_bytes + n_more > n_tokens * BYTES_PER_TOKEN:
            windows.append([])
            n_bytes = 0
        windows[-1].append(number)
        n_bytes += n_more
    return [replace(sentences, shown=frozenset(window)) for window in windows]


def with_neighbours(sentences: Sentences, found: Iterable[int]) -> Sentences:
    """Return the sentences as they are shown to be judged by: those found, with what makes them clear.

    That is the sentences before and after each one, and the first sentence of its document.
    """
    first_numbers: dict[int, int] = {}
    for number, sentence in enumerate(sentences.source, 1):
        first_numbers.setdefault(sentence.document, number)
    shown: set[int] = set()
    for number in found:
        document = sentences.source[number - 1].document
        shown.update((first_numbers[document], number))
        for near in (number - 1, number + 1):
            if sentences.is_in(near, document):
                shown.add(near)
    return replace(sentences, shown=frozenset(shown))
