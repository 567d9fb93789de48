"""Texts in languages whose words are not known are told from those in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from groundjudge.text.languages import is_unknown_language

UNKNOWN: Mapping[str, str] = {
    "German": "Das Museum ist am Sonntag nicht geöffnet und kostet nichts.",
    "French": "Le musée est fermé le dimanche et les chiens ne sont pas admis.",
    "Spanish": "El museo está cerrado los domingos y no se admiten perros.",
    "Italian": "Il museo è chiuso la domenica e non sono ammessi i cani.",
    "Portuguese": "O museu não abre aos domingos e os cães não são permitidos.",
    "Dutch": "Het museum is op zondag niet geopend en honden zijn niet toegestaan.",
    "Swedish": "Museet är inte öppet på söndagar och hundar får inte följa med.",
    "Polish": "Muzeum nie jest otwarte w niedziele i nie wolno wprowadzać psów.",
    "Russian": "Музей закрыт по воскресеньям.",
    "Japanese": "日曜日は休館です。犬を連れて入ることはできません。",
    "Korean": "박물관은 일요일에 문을 닫습니다.",
    "Arabic": "المتحف مغلق أيام الأحد.",
    "Hindi": "संग्रहालय रविवार को बंद रहता है।",
}
KNOWN: Mapping[str, str] = {
    "English": "The museum is closed on Sundays, and dogs are not allowed.",
    "English with a German name": "Haus der Kunst is a museum in Munich that opened in 1937.",
    "Chinese": "博物馆周日不开放，禁止带狗入内。",
    "traditional Chinese": "博物館週日不開放，禁止帶狗入內。",
    "names": "Paris, Lyon, Nice, Toulouse",
    "numbers": "12, 14 and 16.5 %",
    "signs": "...",
    "JSON": '{"order_id": "A-1032", "status": "shipped"}',
    "no text": "",
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_language_is_unknown(text: str) -> None:
    assert is_unknown_language(text)


@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_language_is_known(text: str) -> None:
    assert not is_unknown_language(text)
