"""A span that leaves out the negation right before it, or the sign of its number, is not whole."""

from __future__ import annotations

import pytest

from groundjudge.evidence.edges import is_whole

DENIED = {
    # a text with the place where a span begins; whether a negation right before it denies it
    "a negation and a blank": ("The drug is not |safe", True),
    "a contraction": ("The shop can't |take cards", True),
    "a negation in bold": ("Dogs are **not** |allowed", True),
    "a Chinese sign": ("他不|去", True),
    "a Chinese negation of two signs": ("没有|停车位", True),
    "another word behind the negation": ("It is not very |safe", False),
    "another word behind a Chinese negation": ("他不喜欢|去", False),
    "a comma behind the negation": ("No, |dogs are allowed", False),
    "not only": ("Not only |dogs are allowed", False),
    "a negation at the end of the line before": ("Smoking? No\n|Dogs are allowed", False),
    "a negation of the clause before": ("Cats are not allowed, |dogs are allowed", False),
    "no negation": ("Dogs are |allowed", False),
    "the beginning of the text": ("|Dogs are allowed", False),
}


@pytest.mark.parametrize(("text_with_place", "is_denied"), DENIED.values(), ids=DENIED.keys())
def test_span_right_behind_its_negation_is_not_whole(text_with_place: str, is_denied: bool) -> None:  # noqa: FBT001
    before, after = text_with_place.split("|")
    text = before + after
    assert is_whole(text, len(before), len(text)) is not is_denied


@pytest.mark.parametrize(
    ("text_with_place", "expected"),
    [
        pytest.param("It needs <|5 mg", False, id="behind the sign"),
        pytest.param("It needs |<5 mg", True, id="with the sign"),
        pytest.param("|<5 mg", True, id="with the sign that begins the text"),
    ],
)
def test_number_without_its_sign_is_not_whole(text_with_place: str, expected: bool) -> None:  # noqa: FBT001
    before, after = text_with_place.split("|")
    text = before + after
    assert is_whole(text, len(before), len(text)) is expected
