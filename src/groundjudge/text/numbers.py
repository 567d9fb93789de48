"""The numbers of a text, in digits or words of several languages, each in one spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple


def _table(rows: str) -> Mapping[str, int]:
    """Words by number, from rows of a number and its words."""
    lists = map(str.split, rows.split(";"))
    return MappingProxyType({word: int(number) for number, *words in lists for word in words})


UNITS = _table(
    """
0 zero; 2 two second zwei deux dois twee; 3 three third drei trois tres três drie; 4 four fourth vier quatre
cuatro quattro quatro; 5 five fifth fünf cinq cinco cinque vijf; 6 six sixth sechs seis; 7 seven seventh
sieben siete sette zeven; 8 eight eighth acht huit ocho oito; 9 nine ninth neun nueve nove negen; 10 ten
tenth zehn dix diez dieci tien; 11 eleven eleventh undici; 12 twelve twelfth zwölf douze doce dodici twaalf;
13 thirteen thirteenth; 14 fourteen fourteenth; 15 fifteen fifteenth; 16 sixteen sixteenth; 17 seventeen
seventeenth; 18 eighteen eighteenth; 19 nineteen nineteenth
"""
)
"""Number words. Left out are those that are another word too: one, first, once (Spanish), sei (Italian)."""

TENS = _table(
    """
20 twenty twentieth zwanzig vingt veinte venti vinte twintig; 30 thirty thirtieth dreißig dreissig trente
treinta trenta trinta dertig; 40 forty fortieth vierzig quarante cuarenta quaranta quarenta veertig; 50 fifty
fiftieth fünfzig cinquante cincuenta cinquanta cinquenta vijftig; 60 sixty sixtieth sechzig soixante sesenta
sessanta sessenta zestig; 70 seventy seventieth siebzig setenta settanta zeventig; 80 eighty eightieth
achtzig ochenta ottanta oitenta tachtig; 90 ninety ninetieth neunzig noventa novanta negentig
"""
)

POWERS = _table(
    """
2 hundred hundreds; 3 thousand thousands tausend mille mil mila duizend; 6 million millions millionen mio
millones millón milioni milione milhões milhão miljoen; 9 billion billions bn milliarde milliarden mrd
milliard milliards miliardi miliardo miljard; 12 trillion trillions billionen billones
"""
)
"""Words that multiply the number before them, by their power of ten."""

POWER_SIGNS = MappingProxyType({"千": 3, "万": 4, "萬": 4, "亿": 8, "億": 8})
CHINESE_DIGITS = MappingProxyType(dict(zip("〇零一二两兩三四五六七八九", "0012223456789", strict=True)))
CHINESE_TENS = MappingProxyType({"十": 10, "百": 100, "千": 1000})
HUNDRED_MILLION = 8
LONGEST_SUM = 40
"""Digits of a number that another one may be added to."""
PERCENT = "百分之"

_DIGITS = r"""
    (?=[-−.\d]) (?P<sign>(?<![^\s(\[])[-−])?                   # the lookahead only saves time
    (?P<digits>
        (?<!\d)(?<!\d[.,])                                      # never from inside a date or a version
        (?:
            (?!0)\d{1,3}(?:(?P<mark>[.,٬'’\u00a0\u2009\u202f])\d{3})(?:(?P=mark)\d{3})*
                (?:(?!(?P=mark))[.,٫]\d+)?(?![.,]?\d)          # 1,234,567.8 and 1.234.567,8
          | (?!0)\d\d?(?:,\d\d)+,\d{3}(?![.,]?\d)               # 12,34,567
          | (?!0)(?:\d\d?(?:\ \d{3}){1,4}|\d{3}(?:\ \d{3}){0,3}\ 000)(?:[.,]\d\d?)?(?![.,]?\d)  # 10 000
          | \d+[.,٫]\d+(?![.,]?\d)                              # 0.5 and 0,5
        )
      | (?<![^\s(\[])\.\d+(?![.,]?\d)                           # .5
      | \d+
    )(?:[:：]00(?!\d))?                                         # seven o'clock is 7"""


def _any(*tables: Mapping[str, int]) -> str:
    return "|".join(sorted(chain.from_iterable(tables), key=len, reverse=True))


_COMPOUND = r"[-\s](?:y|et|e|vingts?|dix|sept|huit|neuf)\b"  # quatre-vingts, treinta y dos
_DIGIT = "".join(sign for sign in CHINESE_DIGITS if sign not in "两兩")  # behind a number these are a unit
_POWERS = "".join(POWER_SIGNS)
_POWER_SIGN = f"(?:(?!千[米克瓦卡])[{_POWERS}])"  # behind digits 千米 is a kilometre
# 十分 is "very"; 三亚 is a town, 张三 and 李四 are two men.
_NO_NUMBER = (
    "十(?:[足字全堰]|分(?![钟鐘])|多|几|幾|余)"
    "|三亚|四川|九江|七夕|(?<=[张張李王赵趙])[三四五六](?![年月日个個位名人次])"
)
_NUMBER = re.compile(
    rf"""
    (?: {_DIGITS}
      | \b(?:
            (?P<word>{_any(UNITS)})\b(?!{_COMPOUND})
          | (?P<tens>{_any(TENS)})(?:[-\s](?P<unit>one|first|{_any(UNITS)})\b|\b(?!{_COMPOUND}))
          | (?P<one>one|an?|eine?|une?)(?=[\s-](?:hundred|thousand|[mbt]r?illi?[oa]))
        )
      | (?=[{_DIGIT}十百两兩])(?<![周週])(?<!星期)(?<!礼拜)(?!{_NO_NUMBER})(?P<chinese>
            (?:{PERCENT})?(?:[{_DIGIT}十百]|(?<![\d{_DIGIT}十百{_POWERS}])[两兩])
            (?:[{_DIGIT}十百{_POWERS}]|[两兩](?=[百{_POWERS}])){{0,30}}
            (?:点[{_DIGIT}]+(?![十百千]))?
        )
    )
    (?P<powers>(?:[\s-]?(?:(?:{_any(POWERS)})\b|{_POWER_SIGN}))*)
    """,
    re.VERBOSE,
)
# 1亿2000万, three hundred and forty
_GOES_ON = re.compile(rf".*[{_POWERS}]|[a-z\s-]*\b(?:hundred|thousand|million|billion)\s+(?:and\s+)?")
_MOMENT = re.compile(r"\b(?:per|each|every|for\sa|one|split)\s$")
_MARK = re.compile(r"\D")
_WIDE_MARK = re.compile("(?<=[０-９])[，．](?=[０-９])")
_POWER = re.compile(rf"[{_POWERS}]|\w+")


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
    text = folded(text)
    if not text.isascii():
        text = _WIDE_MARK.sub(lambda mark: "," if mark[0] == "，" else ".", text)
    found: list[Number] = []
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


def folded(text: str) -> str:
    """A text in small letters that is as long as it was, so that places in it stay true."""
    small = text.casefold()
    if len(small) == len(text):
        return small
    return "".join(low if len(low := sign.casefold()) == 1 else sign for sign in text)


def _number(match: re.Match[str]) -> str:
    whole, fraction = _spelled(match) if match["digits"] is None else _written(match["digits"])
    if not whole:
        return ""
    for power in _POWER.findall(match["powers"]) if match["powers"] else ():
        zeros = POWERS.get(power) or POWER_SIGNS[power]
        fraction = fraction.ljust(zeros, "0")
        whole, fraction = whole + fraction[:zeros], fraction[zeros:]
    if fraction or match["powers"] or len(whole) == 2:  # noqa: PLR2004  the 03 of a date, not the id 0003
        whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    return f"{'-' if match['sign'] else ''}{whole}{'.' if fraction else ''}{fraction}"


def _written(digits: str) -> tuple[str, str]:
    """Whole part and fraction of a number in digits."""
    digits = f"0{digits}" if digits.startswith(".") else digits
    if digits.isdecimal():
        return digits if digits.isascii() else _ascii(digits), ""
    *groups, last = _MARK.split(digits if digits.isascii() else _ascii(digits))
    marks = _MARK.findall(digits)
    is_fraction = groups and (len(last) != 3 or groups[0][0] == "0" or len(groups[0]) > 3)  # noqa: PLR2004
    if is_fraction or (len(marks) > 1 and marks[-1] != marks[0]):
        return "".join(groups), last
    return "".join((*groups, last)), ""


def _ascii(digits: str) -> str:
    return "".join(str(int(sign)) if sign.isdecimal() else sign for sign in digits)


def _spelled(match: re.Match[str]) -> tuple[str, str]:
    """Whole part of a number in words; "" where the word is more likely none."""
    if match["tens"]:
        unit = match["unit"]
        return str(TENS[match["tens"]] + (UNITS.get(unit, 1) if unit else 0)), ""
    if match["word"] == "second" and _MOMENT.search(match.string, max(0, match.start() - 9), match.start()):
        return "", ""
    if match["word"]:
        return str(UNITS[match["word"]]), ""
    if match["one"]:
        return ("1" if match["powers"] else ""), ""
    return _chinese(match["chinese"], is_ordinal=match.string[match.start() - 1 : match.start()] == "第")


def _chinese(signs: str, *, is_ordinal: bool) -> tuple[str, str]:
    """Whole part and fraction of a number in Chinese signs; "" for a single one that may be no number."""
    signs, _, fraction = signs.removeprefix(PERCENT).partition("点")
    if signs in {"一", "百", "〇", "零"} and not (fraction or is_ordinal):  # parts of too many other words
        return "", ""
    fraction = "".join(CHINESE_DIGITS[sign] for sign in fraction)
    if all(sign in CHINESE_DIGITS for sign in signs):
        return "".join(CHINESE_DIGITS[sign] for sign in signs), fraction
    total = below = digit = 0  # below the next 万 or 亿
    for sign in signs:
        if sign in CHINESE_DIGITS:
            digit = int(CHINESE_DIGITS[sign])
        elif sign in CHINESE_TENS:
            below += (digit or 1) * CHINESE_TENS[sign]
            digit = 0
        else:  # 万 counts what stands since the last 亿, 亿 all that stands before it
            before, total = (0, total) if POWER_SIGNS[sign] < HUNDRED_MILLION else (total, 0)
            total += (before + below + digit) * 10 ** POWER_SIGNS[sign]
            below = digit = 0
    return str(total + below + digit), fraction
