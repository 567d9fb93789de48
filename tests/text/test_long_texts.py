"""Long texts, whatever repeats in them, are read to their end without delay."""

from __future__ import annotations

import pytest

from groundjudge.text.negations import negated_at
from groundjudge.text.numbers import numbers
from groundjudge.text.sentences import sentences
from groundjudge.text.words import words

PIECES = {
    "numbers with blanks": "1 000 ",
    "Chinese powers": "1亿2",
    "numbers in words": "two hundred and ",
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
    for search in (negated_at, numbers, sentences, words):
        search(text)
