"""What other signs or numbers say just as well, and beside each its twin that says something else."""

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
BAG = "A 5 pound bag of rice costs 3 pounds at the mill. Dogs travel free."
BAG_IN_DOLLARS = "A 5 pound bag of rice costs $8 at the mill."
PUPPY = "The puppy weighs 20 pounds and costs $300."
RANGE = "Tickets for the tower cost 10 to 12 dollars, in winter 9 dollars."
TWO_CURRENCIES = "The tower charges 10 euros for adults and 6 pounds for children."
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
    "pounds of weight and of money": (BAG, "A 5 pound bag of rice costs £3 at the mill.", "passes"),
    "a sign for pounds beside pounds of weight": (
        BAG,
        "A 5 pound bag of rice costs €3 at the mill.",
        "fails",
    ),
    "a word for them": (BAG, "A 5 pound bag of rice costs 3 euros at the mill.", "fails"),
    "pounds of weight beside dollars": (
        BAG_IN_DOLLARS,
        "A bag of rice of 5 pounds costs 8 dollars at the mill.",
        "passes",
    ),
    "pounds for dollars beside pounds of weight": (
        BAG_IN_DOLLARS,
        "A 5 pound bag of rice costs 8 pounds at the mill.",
        "fails",
    ),
    "a weight in pounds alone": (PUPPY, "The puppy weighs 20 pounds.", "passes"),
    "a price in pounds where the weight is": (PUPPY, "The puppy costs 300 pounds.", "fails"),
    "a weight, abbreviated": (PUPPY, "The puppy weighs 20 lb and costs 300 dollars.", "passes"),
    "a range": (RANGE, "Tickets for the tower cost $10 to $12.", "passes"),
    "the lower end of a range in euros": (RANGE, "Tickets for the tower cost 10 euros.", "fails"),
    "a range in euros": (RANGE, "Tickets for the tower cost 10 to 12 euros.", "fails"),
    "each of two currencies": (
        TWO_CURRENCIES,
        "The tower charges €10 for adults and £6 for children.",
        "passes",
    ),
    "one of two currencies for the other": (
        TWO_CURRENCIES,
        "The tower charges 10 pounds for adults.",
        "fails",
    ),
    "two currencies exchanged": (
        TWO_CURRENCIES,
        "The tower charges 10 pounds for adults and 6 euros for children.",
        "fails",
    ),
    "a year ahead of a code": (
        "In 2019 EUR 3 million and USD 5 million were paid.",
        "In 2019 USD 5 million were paid.",
        "passes",
    ),
    "a currency with a word ahead": (
        "Tickets for the tower cost 10 US dollars in winter.",
        "Tickets for the tower cost 10 euros in winter.",
        "fails",
    ),
}

TIMETABLE = '{"ferry": "north", "departs": "06:12", "arrives": "14:30", "returns": "22:45"}'
HOURS = "The pool is open from 9:00 to 17:00 on Sundays. The sauna opens at 12:30."
TWICE = "The shop closes at 13:30 pm on Fridays."
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
    "capitals": (TIMETABLE, "The north ferry arrives at 2:30 PM.", "passes"),
    "AM for pm": (HALVES, "The last ferry of the day leaves at 10:45 AM.", "fails"),
    "pm behind the clock of 24 hours": (TIMETABLE, "The north ferry arrives at 14:30 pm.", "passes"),
    "the source has both": (TWICE, "The shop closes at 1:30 pm on Fridays.", "passes"),
    "the source has both, am for pm": (TWICE, "The shop closes at 1:30 am on Fridays.", "fails"),
}

OUTING = (
    "We are planning an outing for 14 people. The budget is 90 euros per person. Two colleagues bring a dog."
)
ROOMS = "A room costs €80 per night. The choir has booked 3 nights, the band 5 nights."

TOTALS: Mapping[str, Row] = {
    "the total": (OUTING, "The budget is 90 euros per person, 1,260 euros for 14 people.", "passes"),
    "the total alone": (OUTING, "The budget is 90 euros per person, which makes 1,260 euros.", "passes"),
    "the total ahead": (OUTING, "The budget is 1,260 euros, 90 euros per person.", "passes"),
    "the total with signs": (OUTING, "The budget is €90 per person, which makes €1,260.", "passes"),
    "another total": (OUTING, "The budget is 90 euros per person, 1,270 euros for 14 people.", "fails"),
    "a total of ten times": (OUTING, "The budget is 90 euros per person, which makes 12,600 euros.", "fails"),
    "the total in dollars": (
        OUTING,
        "The budget is 90 euros per person, which makes 1,260 dollars.",
        "fails",
    ),
    "the total of something else": (
        OUTING,
        "The budget is 90 euros per person, which makes 180 euros.",
        "fails",
    ),
    "the total without its rate": (OUTING, "The budget is 1,260 euros for 14 people.", "fails"),
    "another rate": (OUTING, "The budget is 95 euros per person, 1,330 euros for 14 people.", "fails"),
    "another count": (OUTING, "The budget is 90 euros per person, 1,350 euros for 15 people.", "fails"),
    "a sum": (OUTING, "The budget is 90 euros per person, which makes 104 euros.", "fails"),
    "one of two counts": (ROOMS, "A room costs €80 per night, which makes €240.", "fails"),
    "of nothing counted": (
        "A room costs €80 per night.",
        "A room costs €80 per night, €240 in all.",
        "fails",
    ),
}

STOVE = "Your Ember stove was delivered on 2 June 2025. Stoves have a warranty of 24 months from delivery."
LEASE = "The lease of the mill was signed in November 2021 and runs for two years."

ENDS: Mapping[str, Row] = {
    "months": (
        STOVE,
        "Your stove was delivered on 2 June 2025: its 24 months of warranty end in June 2027.",
        "passes",
    ),
    "years": (
        LEASE,
        "The lease of the mill was signed in November 2021, runs for two years to November 2023.",
        "passes",
    ),
    "years in months": (
        LEASE.replace("two years", "14 months"),
        "The lease of the mill was signed in November 2021, runs for 14 months to January 2023.",
        "passes",
    ),
    "a year less": (
        STOVE,
        "Your stove was delivered on 2 June 2025: its 24 months of warranty end in June 2026.",
        "fails",
    ),
    "a year more": (
        STOVE,
        "Your stove was delivered on 2 June 2025: its 24 months of warranty end in June 2028.",
        "fails",
    ),
    "another month": (
        STOVE,
        "Your stove was delivered on 2 June 2025: its 24 months of warranty end in July 2027.",
        "fails",
    ),
    "another period": (
        STOVE,
        "Your stove was delivered on 2 June 2025: its 36 months of warranty end in June 2028.",
        "fails",
    ),
    "another beginning": (
        STOVE,
        "Your stove was delivered on 2 June 2024: its 24 months of warranty end in June 2026.",
        "fails",
    ),
    "years as months": (
        LEASE,
        "The lease of the mill was signed in November 2021, runs for two months to January 2022.",
        "fails",
    ),
    "without its beginning": (STOVE, "Your 24 months of warranty end in June 2027.", "fails"),
    "without its period": (
        STOVE,
        "Your stove was delivered on 2 June 2025, its warranty ends in June 2027.",
        "fails",
    ),
    "one of two periods": (
        STOVE + " Lamps have 12 months.",
        "Your stove was delivered on 2 June 2025: its 24 months, or 12 months, of warranty end in June 2026.",
        "fails",
    ),
}


# What a word-matching judge could only let pass together with its wrong twin.
ASKED: Mapping[str, tuple[str, str, str]] = {
    "a name of the query, where the source has another": (
        "How do I descale the Lumetta?",
        "Brunna kettle: to descale, boil vinegar with water and rinse twice.",
        "To descale the Lumetta, boil vinegar with water and rinse twice.",
    ),
    "a false name of the query": (
        "Why did Ada Kestrel build the bridge in 1938?",
        "The bridge was built in 1938 by Tom Brandt.",
        "The bridge was built in 1938 by Ada Kestrel.",
    ),
    "a number of the query that breaks a limit": (
        "I bought a tent six weeks ago. Can I still send it back?",
        "Unused goods can be sent back within 30 days of delivery.",
        "Unused goods can be sent back within 30 days, so six weeks is still in time.",
    ),
}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("query", "source", "response"), ASKED.values(), ids=ASKED)
def test_names_and_numbers_of_the_query_back_nothing(
    judge: str, query: str, source: str, response: str
) -> None:
    verdict = JUDGES[judge].judge({"query": query, "context": [source], "response": response})
    assert verdict.passed is False, verdict.reason


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("source", "response", "expected"), TOTALS.values(), ids=TOTALS)
def test_a_total_follows_from_its_rate_and_the_count(
    judge: str, source: str, response: str, expected: str
) -> None:
    verdict = JUDGES[judge].judge({"query": "?", "context": [source], "response": response})
    assert verdict.passed is (expected == "passes"), verdict.reason


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("source", "response", "expected"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_period_follows_from_its_beginning(
    judge: str, source: str, response: str, expected: str
) -> None:
    verdict = JUDGES[judge].judge({"query": "?", "context": [source], "response": response})
    assert verdict.passed is (expected == "passes"), verdict.reason


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
