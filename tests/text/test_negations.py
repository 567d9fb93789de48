"""Negations are found in many languages."""

from __future__ import annotations

import pytest

from groundjudge.text.words import follows_negation, negated_at

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


FOLLOWED = {
    "a negation and a blank": ("The drug is not |safe", True),
    "a contraction": ("The shop can't |take cards", True),
    "a negation in bold": ("Dogs are **not** |allowed", True),
    "a Chinese sign": ("他不|去", True),
    "a Chinese negation of two signs": ("没有|停车位", True),
    "another word behind the negation": ("It is not very |safe", False),
    "another word behind a Chinese negation": ("他不喜欢|去", False),
    "a comma behind the negation": ("No, |dogs are allowed", False),
    "not only": ("Not only |dogs are allowed", False),
    "no negation": ("Dogs are |allowed", False),
    "the beginning of the text": ("|Dogs are allowed", False),
}


@pytest.mark.parametrize(("marked", "expected"), FOLLOWED.values(), ids=FOLLOWED.keys())
def test_negation_right_before_a_place_is_noticed(marked: str, expected: bool) -> None:  # noqa: FBT001
    before, after = marked.split("|")
    assert follows_negation(before + after, len(before)) is expected
