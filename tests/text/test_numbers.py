"""Numbers are found in any script and in words, each in one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.text.numbers import numbers, numbers_at

NUMBERS = [
    ("no number at all", ""),
    ("1,000 and 1.000 and 1'000 and 1\u202f000 and 1000", "1000 1000 1000 1000 1000"),
    ("10 000 of 1 234 567, in 2010 300 of them, 120 450", "10000 1234567 2010 300 120 450"),
    ("1,234,567.8 and 1.234.567,8", "1234567.8 1234567.8"),
    ("3.14 or 3,14, never 3.140", "3.14 3.14 3.140"),
    ("0.125 and 0,5", "0.125 0.5"),
    ("2.50 euros", "2.5"),
    ("12.03.2014 at 10:30", "12 3 2014 10 30"),
    ("2014-03-12", "2014 3 12"),
    ("order 0012, agent 007", "0012 007"),
    ("from 2010-2015, at -5 degrees, −3", "2010 2015 -5 -3"),
    ("COVID-19, GPT-4 and the 1980s", "19 4 1980"),
    ("50% and 50 %", "50 50"),
    ("version 1.2.3, 1, 2 and 3.", "1 2 3 1 2 3"),
    ("He paid 3.", "3"),
    ("two million people, 1.2 million euros, $1.5bn", "2000000 1200000 1500000000"),
    ("five hundred thousand, one million, a hundred", "500000 1000000 100"),
    ("one of them said so, and another one", ""),
    ("twenty-five, twenty-one and Sixty", "25 21 60"),
    ("drei Millionen, zwölf, zwei Milliarden", "3000000 12 2000000000"),
    ("١٬٠٠٠ و ٣٫٥ و ٢٠١٤", "1000 3.5 2014"),
    ("१२३ और ४५", "123 45"),
    ("１，２３４ と ５．６", "1234 5.6"),
    ("1200名，2014年", "1200 2014"),
    ("三十五人，二〇一四年，两百，5万，3亿", "35 2014 200 50000 300000000"),
    ("一些人很高兴", ""),
    ("三千五百万元，一亿二千万，十二万亿，三万六千", "35000000 120000000 12000000000000 36000"),
    ("1亿2000万，3,500万", "120000000 35000000"),
    ("百分之八点五，三点二十分", "8.5 3 20"),
    ("第一名和第三名，周三，星期五", "1 3"),
    ("three hundred and forty of two hundred thousand, three hundred twenty", "340 200000 320"),
    ("3,500 million 20", "3500000000 20"),
    (".5 of it, or 0.5 (.25), v.5", "0.5 0.5 0.25 5"),
    ("十月有三个人，110万两，两百两", "10 3 1100000 200"),
    ("3千人，两千人", "3000 2000"),
    ("the third, the 3rd and the twenty-first", "3 3 21"),
    ("from 7:00 to 17:30，9：00", "7 17 30 9"),
    ("x² and ½", ""),
]


@pytest.mark.parametrize(("text", "found"), NUMBERS)
def test_numbers_are_found_in_one_spelling(text: str, found: str) -> None:
    expected = found.split()
    if "3.140" in expected:  # a point before exactly three digits is a thousands separator
        expected[expected.index("3.140")] = "3140"
    assert list(numbers(text)) == expected


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
    spelled = {f"{number:,}", f"{number:,}".replace(",", "."), f"{number:_}".replace("_", "\u202f")}
    assert {numbers(each) for each in spelled} == {(str(number),)}
