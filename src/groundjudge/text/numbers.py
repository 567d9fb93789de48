"""The numbers of a text, in digits or in English, German and Chinese words, each in one spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

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


def _table(rows: str) -> dict[str, int]:
    """Words by number, from rows of a number and its words."""
    lists = map(str.split, rows.split(";"))
    return {word: int(number) for number, *words in lists for word in words}


WORDS = _table(_WORDS)
POWERS = {word: Decimal(10) ** power for word, power in _table(_POWERS).items()}
"""Words that multiply the number before them."""
ONE = frozenset(word for word, number in WORDS.items() if number == 1)
"""Numbers only before "hundred" or behind "twenty": elsewhere they are other words too."""


def _any(words: Iterable[str]) -> str:
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
_WORD = _any(WORDS.keys() - ONE)
_POWER = rf"(?:{_any(word for word in POWERS if word.isascii())})\b|[{_LARGE}]"
_NUMBER = re.compile(
    rf"""
    (?: {_DIGITS}
      | (?=[{_DIGIT}十百两兩])(?<![周週])(?<!星期)(?<!礼拜)(?:百分之)?
        (?!(?<!第)[一百〇零](?![{_DIGIT}十百两兩{_LARGE}]|点[{_DIGIT}]))  # alone part of other words
        (?P<chinese>
            (?:[{_DIGIT}十百]|(?<![\d{_DIGIT}十百{_LARGE}])[两兩])
            (?:[{_DIGIT}十百{_LARGE}]|[两兩](?=[百{_LARGE}])){{0,30}}
            (?:点[{_DIGIT}]+(?![十百千]))?
        )
      | \b(?P<word>{_WORD}|(?:{_any(ONE)})(?=[\s-](?:{_POWER})))\b
    )
    (?P<more>                                                   # 1.5 million, 1亿2000万, twenty-one
        (?: [\s-]?(?:{_POWER}) | (?<=[{_LARGE}])\d{{1,8}}
          | (?<=ty)[\s-](?:{_any(WORDS)})\b
          | (?:(?<=hundred)|(?<=ousand)|(?<=illion))\s(?:and\s)?(?:{_WORD})\b
        )*
    )
    """,
    re.VERBOSE,
)
_PART = re.compile(rf"{_POWER}|[十百]|\d+|[{_DIGIT}两兩]+|\b(?!and\b)[^\W\d_]+")
_IN_DIGITS = str.maketrans("〇零一二三四五六七八九两兩", "0012345678922")


class Number(NamedTuple):
    """A number in its one spelling, and where it stands: `text[start:end]`."""

    value: str
    start: int
    end: int


def numbers(text: str) -> tuple[str, ...]:
    """The numbers in a text, in order, each in one spelling: "1,000", "1.000", "١٠٠٠" are "1000".

    Thousands separators go, a decimal comma becomes a point, zeros that mean nothing go, digits of
    any script become 0-9, "two million" is "2000000", "third" is "3", "三十" is "30". A percent sign is
    no part of a number, a minus sign is. A point before exactly three digits counts as a thousands separator.
    """
    return tuple(number.value for number in numbers_at(text))


def numbers_at(text: str) -> list[Number]:
    """The same with their places."""
    # in small letters, and as long as it was, so that places in it stay true
    folded = "".join(low if len(low := sign.casefold()) == 1 else sign for sign in text)
    return [Number(_value(match), *match.span()) for match in _NUMBER.finditer(folded)]


def _value(match: re.Match[str]) -> str:
    first = _written(match["digits"]) if match["digits"] else _in_words(match["chinese"] or match["word"])
    value = _sum([first, *_PART.findall(match["more"])]) if match["more"] else first
    return f"{'-' if match['sign'] else ''}{value}"


def _written(digits: str) -> str:
    """A number in digits of any script."""
    digits = "".join(str(int(sign)) if sign.isdecimal() else sign for sign in digits)
    *groups, last = re.split(r"\D", digits)
    is_thousand = len(last) == 3 and groups and 0 < len(groups[0]) <= 3 and groups[0][0] != "0"  # noqa: PLR2004
    if not groups or (is_thousand and len({*re.findall(r"\D", digits)}) == 1):
        whole = "".join((*groups, last))
        return str(int(whole)) if len(whole) == 2 else whole  # noqa: PLR2004  the 03 of a date, not the id 0003
    return _decimal("".join(groups), last)


def _decimal(whole: str, fraction: str) -> str:
    return f"{whole.lstrip('0') or '0'}.{fraction}".rstrip("0").rstrip(".")


def _in_words(words: str) -> str:
    whole, _, fraction = words.partition("点")
    return _decimal(_sum(_PART.findall(whole)), fraction.translate(_IN_DIGITS))


def _sum(parts: Sequence[str]) -> str:
    """Numbers and the powers behind them: 3, 百, 4, 十, 5 are 345; a power multiplies what is below it."""
    below: list[tuple[Decimal, Decimal]] = []  # each with the power that it was multiplied by
    for part in parts:
        if part not in POWERS:
            below.append((Decimal(0), Decimal(WORDS.get(part, part.translate(_IN_DIGITS)))))
            continue
        power, smaller = POWERS[part], list[Decimal]()
        while below and below[-1][0] < power:
            smaller.append(below.pop()[1])
        below.append((power, power * sum(smaller) if smaller else power))
    whole, _, fraction = f"{sum(value for _, value in below):f}".partition(".")
    return _decimal(whole, fraction)
