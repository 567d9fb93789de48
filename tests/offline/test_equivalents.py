"""What other signs say just as well, and beside each its twin that says something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest

from groundjudge import load

JUDGES = {
    name: load(name, model="offline")
    for name in ("groundedness", "confidence_grounding", "statement_groundedness")
}

Row = tuple[str, str, Literal["passes", "fails"]]
"""A source, a response to it, and whether a careful reader lets it pass."""

EUROS = "A day ticket for the tram costs 7 euros. Dogs travel free."
SIGN = "A day ticket for the tram costs €7. Dogs travel free."
RECORD = '{"ticket": "day", "line": "tram", "price": 7.5, "currency": "EUR"}'

CURRENCIES: Mapping[str, Row] = {
    "the sign for the word": (EUROS, "A day ticket for the tram costs €7.", "passes"),
    "the sign behind": (EUROS, "A day ticket for the tram costs 7 €.", "passes"),
    "the code for the word": (EUROS, "A day ticket for the tram costs EUR 7.", "passes"),
    "the word for the sign": (SIGN, "A day ticket for the tram costs 7 euros.", "passes"),
    "the code for the sign": (SIGN, "A day ticket for the tram costs 7 EUR.", "passes"),
    "the word for a record's code": (RECORD, "A day ticket for the tram: price 7.50 euros.", "passes"),
    "dollars": ("The tram ticket costs $7.", "The tram ticket costs 7 dollars.", "passes"),
    "a code of dollars": ("The tram ticket costs 7 USD.", "The tram ticket costs $7.", "passes"),
    "pounds": ("The tram ticket costs £7.", "The tram ticket costs 7 pounds.", "passes"),
    "a code of pounds": ("The tram ticket costs 7 pounds.", "The tram ticket costs GBP 7.", "passes"),
    "another sign": (SIGN, "A day ticket for the tram costs $7.", "fails"),
    "another sign than the word": (EUROS, "A day ticket for the tram costs $7.", "fails"),
    "another word than the sign": (SIGN, "A day ticket for the tram costs 7 pounds.", "fails"),
    "another word": (EUROS, "A day ticket for the tram costs 7 dollars.", "fails"),
    "another code": (EUROS, "A day ticket for the tram costs 7 USD.", "fails"),
    "another word than a record's code": (RECORD, "A day ticket for the tram: price 7.50 dollars.", "fails"),
    "another number behind the sign": (EUROS, "A day ticket for the tram costs €9.", "fails"),
    "another number ahead of the code": (SIGN, "A day ticket for the tram costs 9 EUR.", "fails"),
}

TIMETABLE = '{"ferry": "north", "departs": "06:12", "arrives": "14:30", "returns": "22:45"}'
HOURS = "The pool is open from 9:00 to 17:00 on Sundays. The sauna opens at 12:30."
HALVES = "The last ferry of the day leaves at 10:45 p.m. from the north pier. The first one leaves at 6 a.m."

TIMES: Mapping[str, Row] = {
    "a record's time with am": (TIMETABLE, "The north ferry departs at 6:12 a.m.", "passes"),
    "am, with a point": (TIMETABLE, "The north ferry departs at 6.12 am.", "passes"),
    "a record's time with pm": (TIMETABLE, "The north ferry arrives at 2:30 pm.", "passes"),
    "pm, with a point": (TIMETABLE, "The north ferry arrives at 2.30 p.m.", "passes"),
    "a late record's time with pm": (TIMETABLE, "The north ferry returns at 10:45 pm.", "passes"),
    "two times": (TIMETABLE, "The north ferry departs at 6.12 am and arrives at 2.30 pm.", "passes"),
    "full hours with am and pm": (HOURS, "The pool is open on Sundays from 9 am to 5 pm.", "passes"),
    "the clock of 24 hours": (
        HALVES,
        "The last ferry of the day leaves at 22:45 from the north pier.",
        "passes",
    ),
    "the same clock": (HALVES, "The last ferry leaves at 10.45 pm from the north pier.", "passes"),
    "another minute": (TIMETABLE, "The north ferry departs at 6:21 a.m.", "fails"),
    "another hour": (TIMETABLE, "The north ferry arrives at 3:30 pm.", "fails"),
    "pm for am": (TIMETABLE, "The north ferry departs at 6:12 pm.", "fails"),
    "am for pm": (TIMETABLE, "The north ferry arrives at 2:30 am.", "fails"),
    "another full hour": (HOURS, "The pool is open on Sundays from 9 am to 6 pm.", "fails"),
    "pm for a full hour's am": (HOURS, "The pool is open on Sundays from 9 pm to 5 pm.", "fails"),
    "another hour on the clock of 24 hours": (
        HALVES,
        "The last ferry of the day leaves at 21:45 from the north pier.",
        "fails",
    ),
    "am for pm on one clock": (HALVES, "The last ferry of the day leaves at 10:45 a.m.", "fails"),
}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("source", "response", "expected"), TIMES.values(), ids=TIMES)
def test_a_time_is_the_same_on_both_clocks(judge: str, source: str, response: str, expected: str) -> None:
    verdict = JUDGES[judge].judge({"query": "?", "context": [source], "response": response})
    assert verdict.passed is (expected == "passes"), verdict.reason


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("source", "response", "expected"), CURRENCIES.values(), ids=CURRENCIES)
def test_a_currency_has_a_sign_a_code_and_a_name(
    judge: str, source: str, response: str, expected: str
) -> None:
    verdict = JUDGES[judge].judge({"query": "?", "context": [source], "response": response})
    assert verdict.passed is (expected == "passes"), verdict.reason
