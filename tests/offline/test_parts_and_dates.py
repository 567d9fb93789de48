"""What a sentence adds to what its source has, and dates: what must fail the judges, and what must pass."""

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

HALL = (
    "Elm Road Handball Club: the juniors train on Mondays and Wednesdays in the sports hall. Two coaches "
    "lead each session. Players bring indoor shoes and a bottle of water."
)
FERRY = (
    "The morning ferry costs 9.50 euros and takes forty minutes. The evening ferry carries bicycles free of "
    "charge. Tickets are sold at the kiosk on the quay."
)
OVEN = "Heat the oven to 220 degrees. Bake the loaf for forty minutes, then let it cool on a rack."

PARTS: Mapping[str, Row] = {
    "a foreign part behind a comma": (
        HALL,
        "Two coaches lead each session, and both hold a national coaching licence.",
        "fails",
    ),
    "a foreign part behind and": (
        HALL,
        "The juniors train on Mondays and Wednesdays in the sports hall and travel abroad every spring.",
        "fails",
    ),
    "a foreign part ahead": (
        HALL,
        "Membership fees doubled last winter, and players bring indoor shoes and a bottle of water.",
        "fails",
    ),
    "a foreign part in the middle": (
        HALL,
        "Players bring indoor shoes, purchase matching team shirts, and bring a bottle of water.",
        "fails",
    ),
    "a foreign part behind a semicolon": (
        OVEN,
        "Bake the loaf for forty minutes; rye flour keeps longer.",
        "fails",
    ),
    "two sentences joined, and something foreign": (
        FERRY,
        "The morning ferry is free of charge and departs shortly after sunrise.",
        "fails",
    ),
    "a foreign reason": (
        FERRY,
        "The evening ferry carries bicycles free of charge, thanks to generous harbour sponsors.",
        "fails",
    ),
    "parts that are all there": (
        HALL,
        "Two coaches lead each session, and players bring indoor shoes and a bottle of water.",
        "passes",
    ),
    "parts of two sentences": (
        FERRY,
        "The evening ferry carries bicycles free of charge, and tickets are sold at the kiosk on the quay.",
        "passes",
    ),
    "a part reworded with one of its words": (
        OVEN,
        "Heat the oven to 220 degrees, bake the loaf for forty minutes, and leave it to cool on a rack.",
        "passes",
    ),
    "a list": (HALL, "Players bring shoes, and a bottle of water.", "passes"),
    "a short opening": (OVEN, "Once hot, bake the loaf for forty minutes.", "passes"),
    "a part of general words": (
        FERRY,
        "The evening ferry carries bicycles free of charge, which may help many people.",
        "passes",
    ),
    "Chinese, a foreign part": (
        "博物馆周一闭馆。常设展免费参观。",
        "博物馆周一闭馆，新馆长每年春天出国旅行。",
        "fails",
    ),
    "Chinese, a short part": (
        "年轻时在县城做过三年木匠，现在的渡船是他亲手造的。",
        "年轻时在县城做过三年木匠，手艺没丢。",
        "passes",
    ),
    "I beside my": ("My mother taught me to bake.", "I was taught to bake by my mother.", "passes"),
    "I of nobody": ("The baker taught bread making in winter.", "I taught bread making in winter.", "fails"),
    "a single part": (FERRY, "Tickets are sold at the kiosk on the quay.", "passes"),
}

FAIR = (
    "The glass fair in the Corn Hall runs from 14 March to 29 June. The hall is closed on Mondays. Entry "
    "costs 7 crowns."
)
LEASE = "The lease was signed on 3 May 2019 and ends on 30 September 2024."
ROWS = '{"order": "K-77", "shipped": "2025-03-11", "delivery": "2025-03-14"}'

DATES: Mapping[str, Row] = {
    "another month": (FAIR, "The glass fair closes on 29 July.", "fails"),
    "another month, the month first": (FAIR, "The glass fair closes on July 29.", "fails"),
    "another month alone": (FAIR, "The glass fair in the Corn Hall closes in July.", "fails"),
    "another month, shortened": (FAIR, "The glass fair in the Corn Hall ends on 29 Oct.", "fails"),
    "the day of the other date": (FAIR, "The glass fair closes on 14 June.", "fails"),
    "the days of both dates exchanged": (FAIR, "The glass fair runs from 29 March to 14 June.", "fails"),
    "another day": (FAIR, "The glass fair closes on 28 June.", "fails"),
    "the month of the other date": (LEASE, "The lease ends on 30 May.", "fails"),
    "another month than a record's": (ROWS, "Your order K-77 was shipped on 11 April.", "fails"),
    "a German month": (
        "Die Ausstellung endet am 29. Juni.",
        "Die Ausstellung schließt am 29. August.",
        "fails",
    ),
    "the date": (FAIR, "The glass fair closes on 29 June.", "passes"),
    "the month first": (FAIR, "The glass fair runs to June 29.", "passes"),
    "an ordinal": (FAIR, "The glass fair runs to the 29th of June.", "passes"),
    "the month alone": (FAIR, "The glass fair in the Corn Hall runs to June.", "passes"),
    "a month shortened": (LEASE, "The lease ends on 30 Sept 2024.", "passes"),
    "digits with points": (LEASE, "The lease was signed on 3.5.2019.", "passes"),
    "a record's date": (ROWS, "Your order K-77 was shipped on 11 March.", "passes"),
    "a month where the source names none": (
        "The summer tickets for the glass fair in the Corn Hall are sold at the gate from Monday to Friday.",
        "The tickets for the glass fair in the Corn Hall are sold at the gate from Monday to Friday in July.",
        "passes",
    ),
    "a range that shares its month": (
        "The pool is open from 14 to 29 June.",
        "The pool is open from 14 June to 29 June.",
        "passes",
    ),
    "a range of the source in one": (
        "The pool is open from 14 June to 29 June.",
        "The pool is open from 14 to 29 June.",
        "passes",
    ),
    "a month's name that is another word": (
        "Visitors may march along the wall.",
        "Visitors may march along the wall.",
        "passes",
    ),
}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("source", "response", "expected"), PARTS.values(), ids=PARTS)
def test_a_sentence_is_as_good_as_the_part_it_adds(
    judge: str, source: str, response: str, expected: str
) -> None:
    verdict = JUDGES[judge].judge({"query": "?", "context": [source], "response": response})
    assert verdict.passed is (expected == "passes"), verdict.reason


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("source", "response", "expected"), DATES.values(), ids=DATES)
def test_a_date_is_compared_as_a_whole(judge: str, source: str, response: str, expected: str) -> None:
    verdict = JUDGES[judge].judge({"query": "?", "context": [source], "response": response})
    assert verdict.passed is (expected == "passes"), verdict.reason
