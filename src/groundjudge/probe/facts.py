"""Facts of a response, each exchanged for one that no text of the case has.

Every exchange takes the response, what backs it, and all text of the case, and returns the edited response,
or None: a fact that nothing backs, that a bound makes elastic ("up to 5"), or that belongs to a range is
left alone, because exchanging it might not change what is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TypeAlias

from groundjudge.text.numbers import numbers
from groundjudge.text.words import MONTHS

Exchange: TypeAlias = Callable[[str, str, str], str | None]
"""From the response, its backing and all text of the case to the edited response."""

_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
WEEKDAYS = tuple(_WEEKDAYS.split())
CHINESE_DAYS = tuple(tuple(f"{week}{day}" for day in "一二三四五六日") for week in ("周", "星期"))

_UNITS = """
minutes hours; minute hour; hours days; hour day; days weeks; day week; weeks months; week month; months years
; month year; years months; year month; seconds minutes; second minute; kilometres miles; kilometers miles
; km miles; miles kilometres; metres feet; meters feet; metre foot; meter foot; m km; cm inches
; centimetres inches; centimeters inches; millimetres centimetres; mm cm; kilograms pounds; kilos pounds
; kg pounds; grams ounces; g kg; litres gallons; liters gallons; litre gallon; ml litres; euros dollars
; euro dollar; dollars euros; cents euros; pounds euros; GB MB; MB GB; megabytes gigabytes
; gigabytes megabytes; 小时 天; 分钟 小时; 秒 分钟; 天 周; 周 个月; 个月 年; 公里 米; 千米 米; 米 公里
; 厘米 米; 毫米 厘米; 公斤 克; 千克 克; 克 公斤; 升 毫升; 毫升 升; 欧元 美元; 美元 欧元; 元 美元; 角 元
"""
UNITS: Mapping[str, str] = {one: other for one, other in map(str.split, _UNITS.split(";"))}  # noqa: C416
"""Units, each with one that makes another quantity of the same number."""

LONGEST_RANGE = 30
"""Signs between the two ends of a range."""

LONGEST_BOUND = 40
"""Signs before a number that are searched for what makes it elastic."""

LONGEST_NUMBER = 15
"""Digits of a number that floating point holds exactly."""

_WORDS = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = MappingProxyType({word: value for value, word in enumerate(_WORDS.split(), 2)})
_ANY_WORD = "|".join(_NUMBER_WORDS)
_ANY_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_ANY_MONTH = "|".join(MONTHS)

_ELASTIC = re.compile(
    r"""(?: (?<![a-z])(?: up\ to | at\ (?:the\ )?(?:most|least) | over | under | within | below | above
            | after | (?:less|fewer|more|later|longer|earlier|older|younger)\ than | (?:min|max)imum(?:\ of)?
            | or | from | to | between(?:\ \S+){0,2}(?:\ and)? | about | around | roughly | nearly | almost )
          | [-–—~至到从近满]
          | (?:超过|至少|最多|少于|多于|低于|高于|不到|大约|约|最早|最迟)[\u4e00-\u9fff]{0,3}
        ) \s* (?:the\ |[€$£¥])? $""",
    re.IGNORECASE | re.VERBOSE,
)
"""What makes a number elastic, or an end of a range, where it stands before it."""
_GOES_ON = re.compile(
    r"""\s* (?:to|or|and|through|until|[-–—~]) \s* \d
      | \s* (?:[a-z]+\ )? or\ (?:more|less|fewer|older|younger)
      | \s* [%％\u4e00-\u9fff]{0,3}? (?:以[上下内外]|之?内(?![部容])|左右)
      | \s* [多余几] | [至到]\d""",
    re.IGNORECASE | re.VERBOSE,
)
"""The same behind it."""
_NUMBER = re.compile(
    rf"""(?<![\w.,:：/\#№\[(\-–第]) (?P<digits>\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?)
         (?! [\d:：/\])–年月日号點点时楼层路] | [.,:]\d | -\d | [.)]\s | [A-Za-z]*\d | [A-Z]\b
           | \s?(?:am|pm|a\.m|p\.m|o'clock|st|nd|rd|th|(?:{_ANY_MONTH}))\b )
       | \b (?P<word>{_ANY_WORD}) \b (?![-\s](?:hundred|thousand|million|o'clock|of\ them))""",
    re.ASCII | re.VERBOSE,
)
_LABEL = re.compile(
    rf"""(?: \b(?: no | nr | room | page | step | line | platform | gate | document | doc | source | figure
               | version | chapter | half | past | quarter | {_ANY_MONTH} )\.?
           | (?-i:[A-Z]{{1,4}}) | 号 | 第 ) \s* $""",
    re.IGNORECASE | re.VERBOSE,
)
"""What makes a number a label or a date, where it stands before it."""
_MEASURE = re.compile(
    rf"(?<![\w.,:：/\-–])(?P<number>\d[\d,.]*|{_ANY_WORD})(?P<gap>[\s-]?)(?P<unit>{_ANY_UNIT})"
    r"(?![A-Za-z²³半级龄历票卡]|\s?(?:old|ago))",
    re.ASCII,
)
_CLOCK = re.compile(r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])(?P<mark>[:：])(?P<minute>[0-5]\d)(?![\d:])")
_CHINESE_DATE = re.compile(r"(?<!\d)(?P<month>\d\d?)月(?P<day>\d\d?)日(?!\s*[至到—–~-]|[前后起])")
_YEAR = re.compile(r"(?<![\d.,:/-])(?P<year>1[89]\d\d|20\d\d)(?![\d:/-]|[.,]\d)")
_IS_END = re.compile(r"(?:from|to|until|till|by|before|after|since|至|到|从|前)\s?$")
_RANGE = re.compile(
    r"\b(?:daily|every ?day|weekdays?|weekends?|all week|year-round|all year)\b"
    "|每天|每日|天天|工作日|平日|周末|全年"
)
"""Words for a range of days or months."""


def number(response: str, backed: str, text: str) -> str | None:
    """Another number in place of a backed one."""
    known, taken = set(numbers(backed)), set(numbers(text))
    for found in _NUMBER.finditer(response):
        value = next(iter(numbers(found[0])), "")
        is_fixed = value in known and not _is_elastic(found) and not _LABEL.search(_before(found))
        new = _other_number(found, taken) if is_fixed and not _YEAR.fullmatch(found[0]) else None
        if new:
            return _spliced(response, found, new)
    return None


def unit(response: str, backed: str, text: str) -> str | None:
    """Another unit behind a backed number."""
    for found in _MEASURE.finditer(response):
        if next(iter(numbers(found["number"])), "0") == "0" or _is_elastic(found):
            continue
        new = f"{found['number']}{found['gap']}{UNITS[found['unit']]}"
        is_backed = re.sub(r"[\s-]", "", found[0]) in re.sub(r"[\s-]", "", backed)
        if is_backed and not re.search(rf"\b{re.escape(UNITS[found['unit']])}\b", text):
            return _spliced(response, found, new)
    return None


def date(response: str, backed: str, text: str) -> str | None:
    """Another weekday, month, year or time of day in place of a backed one."""
    exchanges = (_weekday, _month, _chinese_day, _year, _clock)
    return next((new for each in exchanges if (new := each(response, backed, text))), None)


def _weekday(response: str, backed: str, text: str) -> str | None:
    for days in (WEEKDAYS, *CHINESE_DAYS):
        new = _from_a_row(days, response, backed, text)
        if new:
            return new
    return None


def _month(response: str, backed: str, text: str) -> str | None:
    return _from_a_row(MONTHS, response, backed, text)


def _chinese_day(response: str, backed: str, text: str) -> str | None:
    for found in _CHINESE_DATE.finditer(response):
        days = ((int(found["day"]) + step - 1) % 28 + 1 for step in (3, 5, 8, 12))
        dates = (f"{found['month']}月{day}日" for day in days)
        new = next((each for each in dates if each not in text), None)
        if new and found[0] in backed and not _is_elastic(found):
            return response.replace(found[0], new)
    return None


def _from_a_row(row: Iterable[str], response: str, backed: str, text: str) -> str | None:
    """The response with one name of a row replaced by another; None where the text has a range of them."""
    names = tuple(row)
    either = "|".join(names)
    between = rf"s?\s*(?:to|through|until|till|and|or|[-–—~]|至|到)\s*\D{{0,{LONGEST_RANGE}}}?\d*\s?"
    if re.search(rf"(?:{either}){between}(?:{either})", text) or _RANGE.search(text):
        return None
    plain = rf"(?<![A-Za-z])(?:{either})(?![a-rt-z])"
    for found in re.finditer(plain, response):
        if found[0] == "May" and not re.search(r"\d\s$|\b(?:in|of)\s$", response[: found.start()]):
            continue
        at = names.index(found[0])
        others = (names[(at + step) % len(names)] for step in (2, 3, 4, 1, 5))
        new = next((other for other in others if other not in text), None)
        is_end = _IS_END.search(response[: found.start()])
        if new and found[0] in backed and not is_end:
            return response.replace(found[0], new)
    return None


def _year(response: str, backed: str, text: str) -> str | None:
    for found in _YEAR.finditer(response):
        years = (str(int(found[0]) + step) for step in (3, 4, 7, 11, 13, 17, 19))
        new = next((year for year in years if year not in text), None)
        if new and found[0] in backed and not _is_elastic(found):
            return response.replace(found[0], new)
    return None


def _clock(response: str, backed: str, text: str) -> str | None:
    for found in _CLOCK.finditer(response):
        hours = ((int(found["hour"]) + step) % 24 for step in (2, 3, 5, 7, 22))
        times = (f"{hour}{found['mark']}{found['minute']}" for hour in hours)
        new = next((time for time in times if time not in text), None)
        if new and re.search(rf"(?<!\d)0?{re.escape(found[0])}", backed) and not _is_elastic(found):
            return _spliced(response, found, new)
    return None


def _is_elastic(found: re.Match[str]) -> bool:
    """Whether what stands around a number makes it a bound or an end of a range."""
    return bool(_ELASTIC.search(_before(found)) or _GOES_ON.match(found.string, found.end()))


def _before(found: re.Match[str]) -> str:
    return found.string[max(0, found.start() - LONGEST_BOUND) : found.start()]


def _other_number(found: re.Match[str], taken: set[str]) -> str | None:
    if found["word"]:
        value = _NUMBER_WORDS[found["word"]]
        words = (word for word, other in _NUMBER_WORDS.items() if other > value and str(other) not in taken)
        return next(islice(words, 1, None), None)
    digits = found["digits"]
    if len(digits) > LONGEST_NUMBER:
        return None
    return next((new for new in _larger(digits) if not set(numbers(new)) & taken), None)


def _larger(digits: str) -> Iterator[str]:
    """Numbers clearly larger than this one, written alike; none for 0 and 1."""
    places = len(digits.partition(".")[2])
    value = round(float(digits.replace(",", "")) * 10**places)
    for step in range(20 if value > 1 else 0):
        new = value + max(2, value // 3) + step
        written = f"{new / 10**places:,.{places}f}"
        yield written if "," in digits else written.replace(",", "")


def _spliced(response: str, found: re.Match[str], new: str) -> str:
    return response[: found.start()] + new + response[found.end() :]
