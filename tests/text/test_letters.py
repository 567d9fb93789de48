"""Letters are compared without their case, also those that only some functions take for the same letter."""

from __future__ import annotations

import pytest
from groundjudge.offline.arithmetic import ends
from groundjudge.offline.readings import tokenize_text
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.text.letters import fold_case
from groundjudge.text.words import dates

ODD_LETTERS = {"s": "\u017f", "i": "\u0131", "I": "\u0130", "k": "\u212a"}
"""A long s, a dotless and a dotted i, and the sign of the kelvin: patterns that ignore case match them."""


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


@pytest.mark.parametrize(
    ("text", "days"),
    [
        pytest.param("closed on 5 AUGUST", ("5 august",), id="capitals"),
        pytest.param("am 3. MÄRZ", ("3 march",), id="capitals with an umlaut"),
        pytest.param("closed on 5 Augu\u017ft", ("5 august",), id="a long s"),
        pytest.param("on \u017feptember 5th", ("5 september",), id="a long s ahead"),
        pytest.param("am 5. O\u212at", ("5 october",), id="the sign of the kelvin"),
        pytest.param("closed on 3 Apr\u0131l", (), id="a dotless i is no month"),
        pytest.param("closed on 3 APR\u0130L", (), id="nor a dotted one"),
    ],
)
def test_months_in_odd_letters(text: str, days: tuple[str, ...]) -> None:
    assert dates(text) == days


@pytest.mark.parametrize(
    ("month", "n_ends"),
    [
        pytest.param("August", 1, id="small letters"),
        pytest.param("AUGUST", 1, id="capitals"),
        pytest.param("Augu\u017ft", 1, id="a long s"),
        pytest.param("May", 0, id="another month"),
        pytest.param("Apr\u0131l", 0, id="no month"),
    ],
)
def test_the_end_of_a_period_in_odd_letters(month: str, n_ends: int) -> None:
    reading = tokenize_text(f"It was signed in August 2020 and runs for two years to {month} 2022.")

    assert len(ends(reading)) == n_ends


@given(st.text(alphabet="sSiIkK\u017f\u0131\u0130\u212atrugaponmy 0123456789.,:", max_size=40))
def test_any_letters_are_read(text: str) -> None:
    reading = tokenize_text(f"{text} 5 {text} 2020")

    assert ends(reading) == []


@pytest.mark.parametrize("letter", ODD_LETTERS)
@pytest.mark.parametrize(
    "text",
    [
        "3 September 2020",
        "September 3rd, 2020",
        "14 to 29 Juni",
        "3. Oktober",
        "five per cent, six million",
        "9 p.m. is 21:00",
        "half past six on 5 July 2020, for 2 years, to July 2022",
        "won 23:14 against Kiel",
    ],
)
def test_no_odd_letter_stops_a_reading(text: str, letter: str) -> None:
    reading = tokenize_text(text.replace(letter, ODD_LETTERS[letter]))

    assert reading.tokens
    assert len(ends(reading)) <= 1
