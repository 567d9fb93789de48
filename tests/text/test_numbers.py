"""Numbers are found in any script and in words, each in one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.text.numbers import numbers, numbers_at

NUMBERS = {
    "separators of thousands": (
        "1,000 and 1.000 and 1'000 and 1\u202f000 and 1000",
        "1000 1000 1000 1000 1000",
    ),
    "blanks between thousands": (
        "10 000 of 1 234 567, in 2010 300 of them, 120 450",
        "10000 1234567 2010 300 120 450",
    ),
    "several separators and a decimal mark": ("1,234,567.8 and 1.234.567,8", "1234567.8 1234567.8"),
    "decimal points and commas": ("3.14 or 3,14, 2.50 and 0.125, but 3.140", "3.14 3.14 2.5 0.125 3140"),
    "dates and times": ("12.03.2014 at 10:30, from 7:00，9：00", "12 3 2014 10 30 7 9"),
    "leading zeros and digits beside letters": (
        "order 0012, agent 007, COVID-19 and the 1980s",
        "0012 007 19 1980",
    ),
    "numbers in English words": (
        "twenty-five, twenty-one and Sixty, a hundred, five hundred thousand",
        "25 21 60 100 500000",
    ),
    "signs and ranges": ("from 2010-2015, at -5 degrees, −3", "2010 2015 -5 -3"),
    "powers and currencies": ("two million people, 1.2 million euros, $1.5bn", "2000000 1200000 1500000000"),
    "one that is no number": ("one of them said so, and another one", ""),
    "numbers in German words": ("drei Millionen, zwölf, zwei Milliarden", "3000000 12 2000000000"),
    "Arabic digits": ("١٬٠٠٠ و ٣٫٥ و ٢٠١٤", "1000 3.5 2014"),
    "numbers in Chinese signs": ("三十五人，二〇一四年，两百，5万，3亿", "35 2014 200 50000 300000000"),
    "powers in Chinese": (
        "三千五百万元，一亿二千万，十二万亿，三万六千",
        "35000000 120000000 12000000000000 36000",
    ),
    "digits before powers in Chinese": ("1亿2000万，3,500万", "120000000 35000000"),
    "per cent, decimals and times in Chinese": ("百分之八点五，三点二十分", "8.5 3 20"),
    "signs of numbers in other Chinese words": ("一些人，第一名和第三名，周三，星期五", "1 3"),
    "hundreds and what follows them": (
        "three hundred and forty of two hundred thousand, three hundred twenty",
        "340 200000 320",
    ),
    "decimals without a whole number": (".5 of it, or 0.5 (.25), v.5", "0.5 0.5 0.25 5"),
    "两 as two and as a weight": ("十月有三个人，110万两，两百两", "10 3 1100000 200"),
    "ordinals": ("the third, the 3rd and the twenty-first", "3 3 21"),
    "digits raised and fractions of one sign": ("x² and ½", ""),
}


@pytest.mark.parametrize(("text", "expected"), NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_are_found_in_one_spelling(text: str, expected: str) -> None:
    assert list(numbers(text)) == expected.split()


def test_number_has_its_place() -> None:
    text = "Straße 12, three hundred and forty, 3,500万元"
    assert [(value, text[start:end]) for value, start, end in numbers_at(text)] == [
        ("12", "12"),
        ("340", "three hundred and forty"),
        ("35000000", "3,500万"),
    ]


@given(st.text(alphabet="0123456789٣５.,'’ -−%一十百万millonto\u202f "))
def test_any_text_has_numbers_in_ascii_and_no_errors(text: str) -> None:
    assert all(number.isascii() and float(number) is not None for number in numbers(text))


@given(st.integers(min_value=0, max_value=10**15))
def test_thousands_separators_change_nothing(number: int) -> None:
    spellings = {f"{number:,}", f"{number:,}".replace(",", "."), f"{number:_}".replace("_", "\u202f")}
    assert {numbers(spelling) for spelling in spellings} == {(str(number),)}
