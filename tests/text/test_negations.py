"""Negations are found in many languages."""

from __future__ import annotations

import pytest

from groundjudge.text.words import negated_at

NEGATIONS = [
    ("It is open. No parque há uma fonte, e no centro um museu.", 0),
    ("It is not open, and it never was.", 2),
    ("It isn't, it isn’t, they don't and I cannot.", 4),
    ("not only here", 0),
    ("Nothing, nobody. Il ne vient pas, jamais. No viene sin nada. Он не пришёл.", 8),
    ("Ele mora no Brasil e não sai sem ninguém.", 3),
    ("No inverno, a irmã não vem ao jardim.", 1),
    ("There is no ferry to São Tomé, and Vasco da Gama saw no ship.", 2),
    ("他不去，也没有钱，非会员未付款", 4),
    ("非常好，未来，不仅如此", 0),
    ("ليس مفتوحا ولم يأت ولن يأتي", 3),
    ("Hardly anyone came, and she was unable to stay.", 2),
]


@pytest.mark.parametrize(("text", "count"), NEGATIONS)
def test_negations_are_counted(text: str, count: int) -> None:
    assert len(negated_at(text)) == count


def test_negation_has_its_place() -> None:
    assert negated_at("Auf der Straße ist NICHT") == [19]  # in small letters ß stays one letter
