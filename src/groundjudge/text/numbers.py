"""The numbers of a text, in digits or in English, German and Chinese words, each in one spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from groundjudge.text.letters import fold_case
from groundjudge.text.patterns import compile_when_used

_WORDS = """
0 zero; 2 two zwei; 3 three third drei; 4 four fourth vier; 5 five fifth fünf; 6 six sixth sechs;
7 seven seventh sieben; 8 eight eighth acht; 9 nine ninth neun; 10 ten tenth zehn; 11 eleven eleventh;
12 twelve twelfth zwölf; 13 thirteen thirteenth; 14 fourteen fourteenth; 15 fifteen fifteenth;
16 sixteen sixteenth; 17 seventeen seventeenth; 18 eighteen eighteenth; 19 nineteen nineteenth;
20 twenty twentieth zwanzig; 30 thirty thirtieth dreißig; 40 forty fortieth vierzig;
50 fifty fiftieth fünfzig; 60 sixty sixtieth sechzig; 70 seventy seventieth siebzig;
80 eighty eightieth achtzig; 90 ninety ninetieth neunzig; 1 one first a an ein eine
"""
_POWERS = """
2 hundred hundreds 百; 3 thousand thousands tausend 千; 6 million millions millionen mio; 4 万 萬; 8 亿 億;
9 billion billions bn milliarde milliarden mrd; 12 trillion trillions billionen; 1 十
"""


def _parse_table(rows: str) -> dict[str, int]:
    """Return the numbers of words, from rows of a number and its words."""
    numbers_by_word: dict[str, int] = {}
    for row in rows.split(";"):
        number, *words = row.split()
        for word in words:
            numbers_by_word[word] = int(number)
    return numbers_by_word


WORDS = _parse_table(_WORDS)
POWERS = {word: Decimal(10) ** power for word, power in _parse_table(_POWERS).items()}
"""Words that multiply the number before them."""
ONE = frozenset(word for word, number in WORDS.items() if number == 1)
"""Numbers only before "hundred" or after "twenty": elsewhere they are other words too."""


def _any_of(words: Iterable[str]) -> str:
    """Return the pattern of any of the words; the longest come first, because the first match counts."""
    return "|".join(sorted(words, key=len, reverse=True))


_DIGITS = r"""
    (?=[-−.\d]) (?P<sign>(?<![^\s(\[])[-−])?                   # the lookahead only saves time
    (?P<digits>
        (?<!\d)(?<!\d[.,])                                      # never from inside a date or a version
        (?:
            (?!0)\d{1,3}(?:(?P<mark>[.,，٬'’\u00a0\u2009\u202f])\d{3})(?:(?P=mark)\d{3})*
                (?:(?!(?P=mark))[.,．٫]\d+)?(?![.,]?\d)          # 1,234,567.8 and 1.234.567,8
          | (?!0)(?:\d\d?(?:\ \d{3}){1,4}|\d{3}(?:\ \d{3}){0,3}\ 000)(?:[.,]\d\d?)?(?![.,]?\d)  # 10 000
          | \d+[.,．٫]\d+(?![.,]?\d)                              # 0.5 and 0,5
        )
      | (?<![^\s(\[])\.\d+(?![.,]?\d)                           # .5
      | \d+
    )(?:[:：]00(?!\d)|(?:st|nd|rd|th)\b)?                                         # seven o'clock is 7"""
_DIGIT = "〇零一二三四五六七八九"
_LARGE = "千万萬亿億"
_WORD = _any_of(WORDS.keys() - ONE)
_POWER = rf"(?:{_any_of(word for word in POWERS if word.isascii())})\b|[{_LARGE}]"
_NUMBER = compile_when_used(
    rf"""
    (?: {_DIGITS}
      | (?=[{_DIGIT}十百两兩])(?<![周週])(?<!星期)(?<!礼拜)(?:百分之)?
        (?!(?<!第)[一百〇零](?![{_DIGIT}十百两兩{_LARGE}]|点[{_DIGIT}]))  # alone part of other words
        (?P<chinese>
            (?:[{_DIGIT}十百]|(?<![\d{_DIGIT}十百{_LARGE}])[两兩])
            (?:[{_DIGIT}十百{_LARGE}]|[两兩](?=[百{_LARGE}])){{0,30}}
            (?:点[{_DIGIT}]+(?![十百千]))?
        )
      | \b(?P<word>{_WORD}|(?:{_any_of(ONE)})(?=[\s-](?:{_POWER})))\b
    )
    (?P<more>                                                   # 1.5 million, 1亿2000万, twenty-one
        (?: [\s-]?(?:{_POWER}) | (?<=[{_LARGE}])\d{{1,8}}
          | (?<=ty)[\s-](?:{_any_of(WORDS)})\b
          | (?:(?<=hundred)|(?<=ousand)|(?<=illion))\s(?:and\s)?(?:{_WORD})\b
        )*
    )
    """,
    re.VERBOSE,
)
_PART = compile_when_used(rf"{_POWER}|[十百]|\d+|[{_DIGIT}两兩]+|\b(?!and\b)[^\W\d_]+")
_IN_DIGITS = str.maketrans("〇零一二三四五六七八九两兩", "0012345678922")


class Number(NamedTuple):
    """A number in its one spelling, and where it is: `text[start:end]`."""

    value: str
    start: int
    end: int


def numbers(text: str) -> tuple[str, ...]:
    """Return the numbers in a text, in order, each in one spelling: "1,000", "1.000", "١٠٠٠" are "1000".

    Thousands separators and insignificant zeros go, a decimal comma becomes a point, digits of any script
    become 0-9, "two million" is "2000000", "third" is "3", "三十" is "30". A minus sign is part of a number,
    a percent sign is not. A point before exactly three digits counts as a thousands separator.
    """
    return tuple(number.value for number in numbers_at(text))


def numbers_at(text: str) -> list[Number]:
    """Return the numbers in a text, as `numbers` spells them, with their places."""
    folded = fold_case(text)
    found_numbers: list[Number] = []
    for match in _NUMBER.finditer(folded):
        found_numbers.append(Number(_value_of(match), match.start(), match.end()))
    return found_numbers


def _value_of(match: re.Match[str]) -> str:
    """Return the spelling of a number that `_NUMBER` matched: for "-1.5 million" it is "-1500000"."""
    if match["digits"]:
        value = _value_of_digits(match["digits"])
    else:
        words = match["chinese"] or match["word"]
        whole, _, fraction = words.partition("点")
        value = _decimal(_add_up(_PART.findall(whole)), fraction.translate(_IN_DIGITS))
    if match["more"]:
        value = _add_up([value, *_PART.findall(match["more"])])
    if match["sign"]:
        return f"-{value}"
    return value


def _value_of_digits(digits: str) -> str:
    """Return the spelling of a number in digits of any script: for "1,234.50" it is "1234.5"."""
    ascii_digits = ""
    for character in digits:
        ascii_digits += str(int(character)) if character.isdecimal() else character
    *groups, last = re.split(r"\D", ascii_digits)
    if not groups:
        return _whole_number(last)
    marks = set(re.findall(r"\D", ascii_digits))
    first = groups[0]
    # 0.500 is a half; 1,234.567 has a second mark, which begins the decimals.
    are_thousands = len(last) == 3 and 0 < len(first) <= 3 and first[0] != "0"  # noqa: PLR2004
    if are_thousands and len(marks) == 1:
        return _whole_number("".join(groups) + last)
    return _decimal("".join(groups), last)


def _whole_number(digits: str) -> str:
    """Return the spelling of a number without a fraction: for "03" it is "3"."""
    if len(digits) == 2:  # noqa: PLR2004  the 03 of a date, not the id 0003
        return str(int(digits))
    return digits


def _decimal(whole: str, fraction: str) -> str:
    """Return the spelling of a number with a fraction, without outer zeros: for "05" and "50" it is "5.5"."""
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}".rstrip("0").rstrip(".")


def _add_up(parts: Sequence[str]) -> str:
    """Add up numbers and their powers: 3, 百, 4, 十, 5 are 345; a power multiplies what is below it."""
    terms: list[tuple[Decimal, Decimal]] = []  # the power that each was multiplied by, and its value
    for part in parts:
        if part not in POWERS:
            number = WORDS.get(part, part.translate(_IN_DIGITS))
            terms.append((Decimal(0), Decimal(number)))
            continue
        power = POWERS[part]
        smaller: list[Decimal] = []
        while terms and terms[-1][0] < power:
            smaller.append(terms.pop()[1])
        factor = sum(smaller) if smaller else 1  # "hundred" alone is 100
        terms.append((power, power * factor))
    total = sum(value for _, value in terms)
    whole, _, fraction = f"{total:f}".partition(".")
    return _decimal(whole, fraction)
