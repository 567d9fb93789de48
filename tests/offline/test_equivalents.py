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


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("source", "response", "expected"), CURRENCIES.values(), ids=CURRENCIES)
def test_a_currency_has_a_sign_a_code_and_a_name(
    judge: str, source: str, response: str, expected: str
) -> None:
    verdict = JUDGES[judge].judge({"query": "?", "context": [source], "response": response})
    assert verdict.passed is (expected == "passes"), verdict.reason
