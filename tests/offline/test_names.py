"""A name from a neighbouring sentence backs nothing where the sentence itself names another."""

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

GAGGIA = "Achille Gaggia invented the machine in Milan in 1938. The first fair was held in Turin."
BORN = "Gaggia was born in Milan. He invented the machine in Turin."
CHOIR = "The choir of Harl is led by Dr Kestrel. Ada Kestrel lives in Osk."
SHOPS = "The shop in Harl opens on Monday. The shop in Osk opens on Friday."
GUIDE = "The guide was published by the WHO. The World Health Organization is in Geneva."
BANDS = "Ada Kestrel, who lives in Harl, leads the choir. Jon Obry leads the band."

NAMES: Mapping[str, Row] = {
    "the place of another sentence": (GAGGIA, "Gaggia invented the machine in Turin.", "fails"),
    "its own place": (GAGGIA, "Gaggia invented the machine in Milan.", "passes"),
    "the other sentence": (GAGGIA, "The first fair was held in Turin.", "passes"),
    "both sentences": (
        GAGGIA,
        "Gaggia invented the machine in Milan, and the first fair was held in Turin.",
        "passes",
    ),
    "a place behind a pronoun": (BORN, "Gaggia invented the machine in Turin.", "passes"),
    "the place ahead of the pronoun": (BORN, "Gaggia invented the machine in Milan.", "fails"),
    "a name of two words": (BANDS, "Jon Obry leads the choir.", "fails"),
    "its own name of two words": (BANDS, "Ada Kestrel leads the choir.", "passes"),
    "a day": (SHOPS, "The shop in Osk opens on Monday.", "fails"),
    "its own day": (SHOPS, "The shop in Osk opens on Friday.", "passes"),
    "both days": (SHOPS, "The shops in Harl and Osk open on Monday and Friday.", "passes"),
    "a first name for a title": (CHOIR, "The choir of Harl is led by Ada Kestrel.", "passes"),
    "a name for its abbreviation": (
        GUIDE,
        "The guide was published by the World Health Organization.",
        "passes",
    ),
    "a place added to a place": (
        "The Louvre is a museum in Paris. Paris is the capital of France.",
        "The Louvre is a museum in Paris, France.",
        "passes",
    ),
    "a country for a city in it": (
        "Ada Kestrel was born in Ulm. Ulm is a city in Germany.",
        "Ada Kestrel was born in Germany.",
        "passes",
    ),
    "a country for a city that is not said to be in it": (
        "Ada Kestrel was born in Ulm. Jon Obry is from Germany.",
        "Ada Kestrel was born in Germany.",
        "fails",
    ),
    "words that are no names": (
        "The ferry carries bicycles in summer. The tram carries dogs in winter.",
        "The ferry carries bicycles, and the tram dogs.",
        "passes",
    ),
}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("source", "response", "expected"), NAMES.values(), ids=NAMES)
def test_a_name_belongs_to_its_sentence(judge: str, source: str, response: str, expected: str) -> None:
    verdict = JUDGES[judge].judge({"query": "?", "context": [source], "response": response})

    assert verdict.passed is (expected == "passes"), verdict.reason
