"""Negations are found in many languages."""

from __future__ import annotations

import pytest

from groundjudge.text.negations import negated_at

NEGATIONS = {
    "not and never": ("It is not open, and it never was.", 2),
    "contractions": ("It isn't, it isn’t, they don't and I cannot.", 4),
    "not only": ("not only here", 0),
    "English, French, Spanish and Russian": (
        "Nothing, nobody. Il ne vient pas, jamais. No viene sin nada. Он не пришёл.",
        8,
    ),
    "Portuguese": ("Ele não sai sem ninguém.", 3),
    "Chinese": ("他不去，也没有钱，非会员未付款", 4),
    "Chinese words that only look like negations": ("非常好，未来，不仅如此", 0),
    "Arabic": ("ليس مفتوحا ولم يأت ولن يأتي", 3),
    "hardly and unable": ("Hardly anyone came, and she was unable to stay.", 2),
}


@pytest.mark.parametrize(("text", "count"), NEGATIONS.values(), ids=NEGATIONS.keys())
def test_negations_are_counted(text: str, count: int) -> None:
    assert len(negated_at(text)) == count


def test_negation_has_its_place() -> None:
    assert negated_at("Auf der Straße ist NICHT") == [19]  # in small letters ß stays one letter
