"""The numbers of a text, in digits or in English, German and Chinese words, each in one spelling."""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import numeric

_UNITS = """
0 zero; 2 two zwei; 3 three third drei; 4 four fourth vier; 5 five fifth fünf;
6 six sixth sechs; 7 seven seventh sieben; 8 eight eighth acht; 9 nine ninth neun; 10 ten tenth zehn;
11 eleven eleventh; 12 twelve twelfth zwölf; 13 thirteen thirteenth; 14 fourteen fourteenth;
15 fifteen fifteenth; 16 sixteen sixteenth; 17 seventeen seventeenth; 18 eighteen eighteenth;
19 nineteen nineteenth
"""
_TENS = """
20 twenty twentieth zwanzig; 30 thirty thirtieth dreißig; 40 forty fortieth vierzig; 50 fifty fiftieth
fünfzig; 60 sixty sixtieth sechzig; 70 seventy seventieth siebzig; 80 eighty eightieth achtzig;
90 ninety ninetieth neunzig
"""
_POWERS = """
2 hundred hundreds; 3 thousand thousands tausend; 6 million millions millionen mio;
9 billion billions bn milliarde milliarden mrd; 12 trillion trillions billionen; 4 万 萬; 8 亿 億
"""


def _table(rows: str) -> dict[str, int]:
    """Words by number, from rows of a number and its words."""
    lists = map(str.split, rows.split(";"))
    return {word: int(number) for number, *words in lists for word in words}


UNITS = _table(_UNITS)
"""Number words. "One", "first" and "second" are left out: they are other words too."""
TENS = _table(_TENS)
POWERS = _table(_POWERS) | {"千": 3}
"""Words that multiply the number before them, by their power of ten."""
LONGEST_SUM = 40
"""Digits of a number that another one may be added to."""
TWO = {"两": "二", "兩": "二"}
TEN = 10
TEN_THOUSAND = 10_000
PERCENT = "百分之"

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


def _any(words: dict[str, int]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_DIGIT = "〇零一二三四五六七八九"
_LARGE = "千万萬亿億"
_NUMBER = re.compile(
    rf"""
    (?: {_DIGITS}
      | \b(?:
            (?P<word>{_any(UNITS)})\b
          | (?P<tens>{_any(TENS)})(?:[-\s](?P<unit>one|first|{_any(UNITS)})\b|\b)
          | (?P<one>one|an?|eine?)(?=[\s-](?:hund|thousand|tausend|[mbt]r?illi[oa]))
        )
      | (?=[{_DIGIT}十百两兩])(?<![周週])(?<!星期)(?<!礼拜)(?P<chinese>
            (?:{PERCENT})?(?:[{_DIGIT}十百]|(?<![\d{_DIGIT}十百{_LARGE}])[两兩])
            (?:[{_DIGIT}十百{_LARGE}]|[两兩](?=[百{_LARGE}])){{0,30}}
            (?:点[{_DIGIT}]+(?![十百千]))?
        )
    )
    (?P<powers>(?:[\s-]?(?:(?:{_any(POWERS)})\b|[{_LARGE}]))*)
    """,
    re.VERBOSE,
)
# 1亿2000万, three hundred and forty
_GOES_ON = re.compile(rf".*[{_LARGE}]|[a-z\s-]*\b(?:hundred|thousand|million|billion)\s+(?:and\s+)?")
_MARK = re.compile(r"\D")
_POWER = re.compile(rf"[{_LARGE}]|\w+")


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
    found: list[Number] = []
    text = _folded(text)
    for match in _NUMBER.finditer(text):
        number = Number(_number(match), *match.span())
        if found and _GOES_ON.fullmatch(text, found[-1].start, number.start) and _is_below(number, found[-1]):
            last = found.pop()
            number = Number(str(int(last.value) + int(number.value)), last.start, number.end)
        if number.value:
            found.append(number)
    return found


def _is_below(number: Number, last: Number) -> bool:
    """Whether a number fills up the zeros of the one before it, as the forty of "three hundred and forty"."""
    zeros = len(last.value) - len(last.value.rstrip("0"))
    is_short = len(last.value) <= LONGEST_SUM
    return is_short and number.value.isdecimal() and last.value.isdecimal() and len(number.value) <= zeros


def _folded(text: str) -> str:
    """A text in small letters that is as long as it was, so that places in it stay true."""
    return "".join(low if len(low := sign.casefold()) == 1 else sign for sign in text)


def _number(match: re.Match[str]) -> str:
    whole, fraction = _spelled(match) if match["digits"] is None else _written(match["digits"])
    if not whole:
        return ""
    for power in _POWER.findall(match["powers"]):
        zeros = POWERS[power]
        fraction = fraction.ljust(zeros, "0")
        whole, fraction = whole + fraction[:zeros], fraction[zeros:]
    if fraction or match["powers"] or len(whole) == 2:  # noqa: PLR2004  the 03 of a date, not the id 0003
        whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    return f"{'-' if match['sign'] else ''}{whole}{'.' if fraction else ''}{fraction}"


def _written(digits: str) -> tuple[str, str]:
    """Whole part and fraction of a number in digits."""
    digits = "".join(str(int(sign)) if sign.isdecimal() else sign for sign in digits)
    marks = _MARK.findall(digits)
    *groups, last = _MARK.split(digits)
    is_thousand = len(last) == 3 and groups and 0 < len(groups[0]) <= 3 and groups[0][0] != "0"  # noqa: PLR2004
    if not marks or (is_thousand and marks[0] == marks[-1]):
        return "".join((*groups, last)), ""
    return "".join(groups) or "0", last


def _spelled(match: re.Match[str]) -> tuple[str, str]:
    """Whole part and fraction of a number in words; "" where the word is more likely none."""
    if match["tens"]:
        return str(TENS[match["tens"]] + (UNITS.get(match["unit"], 1) if match["unit"] else 0)), ""
    if match["word"]:
        return str(UNITS[match["word"]]), ""
    if match["one"]:
        return "1", ""
    return _chinese(match["chinese"], is_ordinal=match.string[match.start() - 1 : match.start()] == "第")


def _chinese(signs: str, *, is_ordinal: bool) -> tuple[str, str]:
    """Whole part and fraction of a number in Chinese signs; "" for a single one that may be no number."""
    signs, _, fraction = signs.removeprefix(PERCENT).partition("点")
    if signs in {"一", "百", "〇", "零"} and not (fraction or is_ordinal):  # parts of too many other words
        return "", ""
    fraction = "".join(str(int(numeric(sign))) for sign in fraction)
    values = [int(numeric(TWO.get(sign, sign))) for sign in signs]
    if max(values) < TEN:
        return "".join(map(str, values)), fraction
    total = below = digit = 0  # below the next 万 or 亿
    for value in values:
        if value < TEN:
            digit = value
        elif value < TEN_THOUSAND:
            below, digit = below + (digit or 1) * value, 0
        else:  # 万 multiplies what follows the last 亿, 亿 all that is before it
            before, total = (0, total) if value == TEN_THOUSAND else (total, 0)
            total, below, digit = total + (before + below + digit) * value, 0, 0
    return str(total + below + digit), fraction
