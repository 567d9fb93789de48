"""A word is compared by its stem or value, and says something, links words or is there for the grammar."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groundjudge.text.words import Language, language_of, words

KEYS: Mapping[str, tuple[str, Language, str]] = {
    # a text, its language, and the keys of its words
    "stems": ("Mills GRINDING", "english", "mill grind"),
    "no stems": ("Moulins ROUGES", "", "moulins rouges"),
    "thousands": ("1,000 and 1,234,567.5", "english", "1000 and 1234567.5"),
    "decimals": ("1,5 and .5 and -.5", "", "1.5 and 0.5 and -0.5"),
    "units": ("5km 9am −5°C", "", "5 km 9 am -5 ° C"),
    "currencies and per cent": ("€12, 5%", "", "€ 12 5 %"),
    "operators": ("x>=5 && !ready", "", "x > = 5 and and !ready"),
    "code": ("a_b `c.d` e() C#", "", "a_b c.d e c#"),
    "short forms": ("it's don't can't won't", "english", "it do not can not will not"),
    "hyphens": ("well-kept A-1032", "", "well kept a-1032"),
    "scripts without blanks": ("9点 開門。", "", "9 点 開 門"),
    "the bars of a table": ("| a | b |\n|---|---|", "", "a b"),
}


@pytest.mark.parametrize(("text", "language", "keys"), KEYS.values(), ids=KEYS)
def test_keys(text: str, language: Language, keys: str) -> None:
    assert [word.key for word in words(text, language)] == keys.split()


@pytest.mark.parametrize(
    ("language", "kinds"),
    [
        pytest.param("english", ["filler", "content", "link", "filler", "content"], id="English"),
        pytest.param("", ["content"] * 5, id="any other"),
    ],
)
def test_kinds(language: Language, kinds: list[str]) -> None:
    assert [word.kind for word in words("The mill in the town", language)] == kinds


def test_what_begins_a_clause() -> None:
    beginnings = [
        word.text for word in words("We bake, they (who eat) pay: 1,000 a day") if word.begins_clause
    ]
    assert beginnings == ["We", "they", "who", "pay", "1,000"]


LANGUAGES: Mapping[str, tuple[list[str], Language]] = {
    "English": (["The museum is closed on Sundays."], "english"),
    "German": (["Das Museum ist am Sonntag nicht geöffnet."], "german"),
    "French": (["Le musée est fermé le dimanche."], "french"),
    "Spanish": (["El museo está cerrado los domingos."], "spanish"),
    "Italian": (["Il museo è chiuso la domenica."], "italian"),
    "Dutch": (["Het museum is op zondag gesloten."], "dutch"),
    "Polish": (["Muzeum jest zamknięte w niedziele."], ""),
    "Chinese": (["博物馆周日不开放。"], ""),
    "names": (["Paris, Lyon, Nice, Toulouse"], ""),
    "a long text decides on a short one": (
        ["Leipzig 1409", "The university is in Leipzig, and it is old."],
        "english",
    ),
    "nothing": ([], ""),
}


@pytest.mark.parametrize(("texts", "language"), LANGUAGES.values(), ids=LANGUAGES)
def test_language_of(texts: list[str], language: Language) -> None:
    assert language_of(texts) == language
