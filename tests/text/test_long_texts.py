"""Long texts, whatever repeats in them, are read to their end without delay."""

from __future__ import annotations

import pytest

from groundjudge.text.numbers import numbers
from groundjudge.text.sentences import sentences
from groundjudge.text.words import negated_at

PIECES = ["1 000 ", "1亿2", "two hundred and ", " ", "a'", "ne a ", "...", '!"', "\n"]
LONG = 100_000


@pytest.mark.parametrize("piece", PIECES)
def test_long_texts_are_read_to_their_end(piece: str) -> None:
    text = piece * (LONG // len(piece))
    for read in (negated_at, numbers, sentences):
        read(text)
