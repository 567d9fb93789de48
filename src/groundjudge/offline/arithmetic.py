"""Numbers that a sentence works out, where it shows from what: a rate and its total, the end of a period.

Any sum or product of two numbers would be too much: a changed number often is one of some two others. The
probe then misses up to a quarter of them instead of a tenth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from groundjudge.offline.readings import CURRENCIES, Token, TokenizedText
from groundjudge.text.letters import fold_case
from groundjudge.text.words import MONTH_NUMBERS, stem, words

PER = frozenset(("per", "each", "pro", "je"))
MONTHS_OF_PERIOD = {stem("months"): 1, stem("years"): 12}
# A sentence with more of them is a table, and compared with all its rates would take long.
MOST_AMOUNTS = 16
# A rate is per person, and a count is of people. Stems.
PERSON, PEOPLE = stem("person"), stem("people")

# In small letters.
_MONTH_AND_YEAR = re.compile(
    rf"\b(?P<month>{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})\b\.?"
    r"(?:\s\d\d?(?:st|nd|rd|th)?,)?\s(?P<year>\d{4})\b"
)


class Total(NamedTuple):
    """A number that may be a rate of its sentence times a count: 1,260 euros beside 90 euros per person."""

    value: str
    rate: str
    counted: str  # the stem of what the rate is for

    def is_product(self, count: str) -> bool:
        """Whether it is the rate times this count."""
        return Decimal(self.rate) * Decimal(count) == Decimal(self.value)


class End(NamedTuple):
    """When a period ends that its sentence names, with its beginning."""

    keys: tuple[str, ...]  # the year, and the stem of the month
    beginning: str  # the year in which it begins
    period: str  # how many months or years it takes
    unit: str  # the stem of which of both


def totals(reading: TokenizedText) -> list[Total]:
    """The numbers of a sentence that have the unit of a rate in it, each with that rate."""
    tokens = reading.tokens
    units: dict[int, str] = {}
    for place in range(len(tokens)):
        unit = _unit_at(tokens, place)
        if unit:
            units[place] = unit
    if len(units) > MOST_AMOUNTS:
        return []
    found_totals: list[Total] = []
    for place, unit in units.items():
        behind = [token for token in tokens[place + 1 : place + 4] if token.key != unit]
        if len(behind) < 2 or behind[0].key not in PER:  # noqa: PLR2004  per, and what is counted
            continue
        for other_place, other_unit in units.items():
            if other_unit == unit and other_place != place:
                total = Total(tokens[other_place].key, tokens[place].key, behind[1].key)
                found_totals.append(total)
    return found_totals


def counts(reading: TokenizedText, counted: str) -> set[str]:
    """How many of something a text has, by the numbers ahead of its stem."""
    tokens = reading.tokens
    found_counts: set[str] = set()
    for token, next_token in pairwise(tokens):
        if token.is_number and next_token.key == counted:
            found_counts.add(token.key)
    return found_counts


def ends(reading: TokenizedText) -> list[End]:
    """The end of a period, where a sentence gives the beginning and the period, too, and they lead to it.

    "Signed in November 2021, runs for two years to November 2023." Empty where a sentence has several periods
    or more than two months: then it does not show which of them it means.
    """
    months = list(_MONTH_AND_YEAR.finditer(fold_case(reading.text)))
    periods: set[tuple[str, str]] = set()
    for token, next_token in pairwise(reading.tokens):
        if token.is_number and next_token.key in MONTHS_OF_PERIOD:
            periods.add((token.key, next_token.key))
    if len(months) != 2 or len(periods) != 1:  # noqa: PLR2004  where it begins, and where it ends
        return []
    beginning, end = months
    [(period, unit)] = periods
    n_months = Decimal(period) * MONTHS_OF_PERIOD[unit]
    if _months_since_zero(beginning) + n_months != _months_since_zero(end):
        return []
    keys = (end["year"], words(end["month"])[0].stem)
    return [End(keys, beginning["year"], period, unit)]


def _unit_at(tokens: Sequence[Token], place: int) -> str:
    """The unit of the number at a place: the word behind it, or a currency ahead; "" if it has none."""
    if not tokens[place].is_number:
        return ""
    if place > 0 and tokens[place - 1].key in CURRENCIES.values():
        return tokens[place - 1].key
    if place + 1 < len(tokens) and tokens[place + 1].is_content and not tokens[place + 1].is_number:
        return tokens[place + 1].key
    return ""


def _months_since_zero(match: re.Match[str]) -> int:
    return 12 * int(match["year"]) + MONTH_NUMBERS[match["month"]]
