"""A negation right before a place of a text is noticed."""

from __future__ import annotations

import pytest

from groundjudge.evidence.edges import follows_negation

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
