"""Long texts, whatever repeats in them, are read to their end without delay."""

from __future__ import annotations

import pytest

from groundjudge.text.negations import negated_at
from groundjudge.text.sentences import sentences
from groundjudge.text.words import words

PIECES = {
    "blanks": " ",
    "apostrophes": "a'",
    "halves of a French negation": "ne a ",
    "ellipses": "...",
    "ends of a quotation": '!"',
    "line breaks": "\n",
}
LONG = 100_000


@pytest.mark.soak
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())
def test_long_texts_are_read_to_their_end(piece: str) -> None:
    text = piece * (LONG // len(piece))
    for search in (negated_at, sentences, words):
        search(text)
