"""Letters are compared without their case, also those that only some functions take for the same letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.text.letters import fold_case


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        pytest.param("MÄRZ", "märz", id="capitals"),
        pytest.param("Augu\u017ft", "august", id="a long s"),
        pytest.param("Apr\u0131l", "apr\u0131l", id="a dotless i is no i"),
        pytest.param(
            "APR\u0130L, OKT", "apr\u0130l, okt", id="a dotted I, which has two small letters, stays"
        ),
        pytest.param("Stra\u00dfe \u1e9e", "stra\u00dfe \u1e9e", id="a sharp s, which is two, stays"),
        pytest.param("O\u212at", "okt", id="the sign of the kelvin"),
    ],
)
def test_fold_case(text: str, folded: str) -> None:
    assert fold_case(text) == folded


@given(st.text())
def test_folded_text_is_as_long_as_it_was(text: str) -> None:
    assert len(fold_case(text)) == len(text)
