"""Facts and names of a response, each exchanged for one that no text of the case has.

Every exchange takes the response, its backing, and all text of the case, and returns the edited response or
None: a fact is left alone if nothing backs it, if a bound makes it elastic ("up to 5"), or if it belongs to a
range, because exchanging it might not change what is true. When in doubt, a fact is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from groundjudge.text.numbers import numbers
from groundjudge.text.patterns import LazyPattern, compile_when_used

# From the response, its backing and all text of the case to the edited response.
Exchange: TypeAlias = Callable[[str, str, str], str | None]

MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_WEEK = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
WEEKDAYS = tuple(_WEEK.split())
_NAMES_OF_DATES: Sequence[Sequence[str]] = (
    WEEKDAYS,
    MONTHS,
    [f"周{day}" for day in "一二三四五六日"],
    [f"星期{day}" for day in "一二三四五六日"],
)

_UNITS = (
    "seconds minutes hours days weeks months years; second minute hour day week month year; GB MB; km m cm mm"
    "; kilometres miles metres feet inches centimetres; kilometers miles; meters feet; kilograms pounds grams"
    "; kilos pounds; kg g; litres gallons; liters gallons; euros dollars cents; euro dollar"
    "; 升 毫升; 欧元 美元; 秒 分钟 小时 天 周 个月; 公里 米 厘米 毫米; 千克 克; 公斤 克; 元 角"
)


def _neighbouring_units() -> dict[str, str]:
    """Units, each with a neighbour of its kind: the next larger or, for the largest, the one before it."""
    neighbours: dict[str, str] = {}
    # A unit in several rows, such as pounds, has its neighbour from the first row, which is set last.
    for kind in reversed(_UNITS.split(";")):
        units = kind.split()
        for smaller, larger in pairwise(units):
            neighbours[larger] = smaller
        for smaller, larger in pairwise(units):
            neighbours[smaller] = larger
    return neighbours


UNITS: Mapping[str, str] = _neighbouring_units()

# Characters to search before a fact for what makes it elastic, and after it for the end of a range.
MAX_BOUND = 24

# Digits of a number that floating point represents exactly.
MAX_NUMBER = 15

_WORDS = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = {word: value for value, word in enumerate(_WORDS.split(), 2)}
_ANY_WORD = "|".join(_NUMBER_WORDS)
_ANY_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_ANY_MONTH = "|".join(MONTHS)

# One of these words anywhere near is enough: leaving too many facts alone does no harm.
_BOUND_BEFORE = compile_when_used(
    rf"""\b(?: up | least | most | over | under | within | below | above | after | before | than | or | from
           | to | by | between | about | around | roughly | nearly | almost | minimum | maximum | since
           | until | till | no | nr | room | page | step | line | platform | gate | document | doc | source
           | figure | version | chapter | half | past | quarter | {_ANY_MONTH} ) \b [^.;!?。；！？]* $
       | [-–—~至到从近满第号\#№] \s* $
       | (?: 超过 | 至少 | 最[多早迟] | [少多低高]于 | 不到 | 大?约 ) [\u4e00-\u9fff]{{0,3}} $""",
    re.IGNORECASE | re.VERBOSE,
)
_BOUND_BEHIND = compile_when_used(
    r"""\s* (?: (?: to | or | and | through | until | [-–—~至到] ) \s* \d
           | (?: [a-z]+\ )? or\ (?: more | less | [a-z]+er ) \b
           | [%％\u4e00-\u9fff]{0,3}? (?: 以[上下内外] | 之?内(?![部容]) | 左右 | [前后起] ) | [多余几] )""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = compile_when_used(
    rf"""(?<![\w.,:：/\[(]) (?P<digits>\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?)
         (?! [\d:：/\])–年月日号點点时楼层路] | [.,:]\d | -\d | [.)]\s | [A-Za-z]
           | \s?(?:[ap]\.?m|o'clock|{_ANY_MONTH})\b )
       | \b (?P<word>{_ANY_WORD}) \b (?![-\s](?:hundred|thousand|million|o'clock|of\ them))""",
    re.ASCII | re.VERBOSE,
)
_MEASURE = compile_when_used(
    rf"(?<![\w.,:：/\-–])(?P<number>\d[\d,.]*|{_ANY_WORD})(?P<gap>[\s-]?)(?P<unit>{_ANY_UNIT})"
    r"(?![A-Za-z²³半级龄历票卡]|\s?(?:old|ago))",
    re.ASCII,
)
_CLOCK = compile_when_used(r"(?<![\d:.])([01]?\d|2[0-3])([:：][0-5]\d)(?![\d:])")
_CHINESE_DATE = compile_when_used(r"(?<!\d)(\d\d?月)(\d\d?)日")
_YEAR = compile_when_used(r"(?<![\d.,:/-])(1[89]\d\d|20\d\d)(?![\d:/-]|[.,]\d)")
_RANGE_OF_DATES = compile_when_used(
    r"\b(?:daily|every ?day|weekdays?|weekends?|all week|year-round|all year)\b"
    "|每天|每日|天天|工作日|平日|周末|全年"
)


# Names to remember: a long response repeats the same ones.
MAX_KEPT = 256
STRANGERS = ("Marlow", "Tilbury", "Hadley", "Corwen", "Ashdown", "Penrith", "Selwyn", "Orford")
SURNAMES = ("欧阳", "司马", "诸葛", "上官", "夏侯", "慕容")

_ORDINARY = (
    "I I'm I'll I've Yes No The A An It Its In On At If For And But Or So To From With By Please You Your We"
    " Our They He She This That There When Where What Who How Why Not All After Before English Christmas"
    " Easter Mr Mrs Ms Dr Miss Wi-Fi"
    " Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)
# Words with a capital letter that name neither a person nor a place.
NO_NAMES = frozenset((*_ORDINARY.split(), *WEEKDAYS, *MONTHS, *(f"{day}s" for day in WEEKDAYS)))

_KINDS = (
    "Street Road Lane Avenue Hall Park Station Museum Library Bridge Square Room House School Garden Gardens"
    " Centre Center Club Team Lake River Island Café Harbour Tower Church Gate Hotel Theatre Branch Valley"
    " Mill Farm Desk Office Building Line Inc Ltd Company University College Bank"
)
# Words that say what a name refers to: they stay.
KINDS = frozenset(_KINDS.split())

_CAPITALIZED = "[A-Z][a-z][A-Za-z]*"
_RUN = compile_when_used(
    rf"(?<![\w'’.-])(?<![A-Z]\w )(?:{_CAPITALIZED})(?:[ ](?:of the |of |the )?{_CAPITALIZED})*(?![\w-]|\.\w)"
)
_STARTS = compile_when_used(r"(?:^|[.!?:;\n\"“(*-]\s*)$")
_NATIONALITY = compile_when_used(r"(?:[aei]an|can|ish|ese|ch|[aq]i|eli)s?$")
# A Chinese surname and a given name before a title; without a title, two characters may begin any word.
_PERSON = compile_when_used(
    r"(?<![行国])[林罗郑梁谢宋唐韩冯邓曹彭董袁潘蒋蔡杜魏吕沈姚卢姜崔谭陆许何徐孙郭赵陈刘杨吴王李张朱胡周高马苏叶程方]"
    r"[\u4e00-\u9fff]{0,2}?"
    r"(?=老师|先生|女士|教练|馆长|经理|医生|师傅|校长|主任|教授|阿姨|叔叔|店长|园长|队长|馆员|奶奶|爷爷)"
)


def number(response: str, backing: str, case_text: str) -> str | None:
    """Replace a backed number by another one."""
    backed_numbers = set(numbers(backing))
    case_numbers = set(numbers(case_text))
    for match in _NUMBER.finditer(response):
        values = list(numbers(match[0]))
        is_backed = bool(values) and values[0] in backed_numbers
        if not is_backed or _YEAR.fullmatch(match[0]) or _is_elastic(match):
            continue
        new_number = _other_number(match, case_numbers)
        if new_number:
            return _replace_match(match, new_number)
    return None


def unit(response: str, backing: str, case_text: str) -> str | None:
    """Replace the unit after a backed number."""
    solid_backing = re.sub(r"[\s-]", "", backing)
    for match in _MEASURE.finditer(response):
        new_unit = UNITS[match["unit"]]
        is_backed = re.sub(r"[\s-]", "", match[0]) in solid_backing
        values = list(numbers(match["number"]))
        is_zero = not values or values[0] == "0"  # nothing is nothing in any unit
        is_in_case = re.search(rf"\b{re.escape(new_unit)}\b", case_text)
        if is_backed and not is_zero and not is_in_case and not _is_elastic(match):
            return _replace_match(match, f"{match['number']}{match['gap']}{new_unit}")
    return None


def date(response: str, backing: str, case_text: str) -> str | None:
    """Replace a backed weekday, month, day, year or time of day by another one."""
    kinds: list[tuple[LazyPattern, Sequence[str]]] = []
    for date_names in _NAMES_OF_DATES:
        if not _has_range(date_names, case_text):
            kinds.append((_any_of(date_names), date_names))
    kinds.extend(((_CHINESE_DATE, ()), (_YEAR, ()), (_CLOCK, ())))
    for pattern, date_names in kinds:
        for match in pattern.finditer(response):
            if match[0] not in backing or _is_elastic(match):
                continue
            for new_date in _other_dates(match, date_names):
                if new_date not in case_text:
                    return response.replace(match[0], new_date)
    return None


def name(response: str, backing: str, case_text: str) -> str | None:
    """Replace a backed name by another one, wherever the response has it."""
    for english_name in _names_inside_sentences(response, backing):
        return _rename(response, english_name, case_text)
    for match in _PERSON.finditer(response):
        if match[0] in backing:
            return _with_other_surname(response, match[0], case_text)
    return None


def _with_other_surname(response: str, person: str, case_text: str) -> str | None:
    for surname in SURNAMES:
        if surname not in case_text:
            return response.replace(person, surname + person[1:])
    return None


def backed_names(sentence: str, backing: str) -> list[re.Match[str]]:
    """Return the backed names of a sentence, in order."""
    english_names = [match for match in _RUN.finditer(sentence) if _is_name(match[0], backing)]
    if english_names:
        return english_names
    return [match for match in _PERSON.finditer(sentence) if match[0] in backing]


def _any_of(date_names: Iterable[str]) -> LazyPattern:
    """Match any of the names; "May" only after a day or a preposition."""
    alternatives: list[str] = []
    for date_name in date_names:
        if date_name == "May":
            alternatives.append(r"(?:(?<=\d )|(?<=in )|(?<=of ))May")
        else:
            alternatives.append(date_name)
    return compile_when_used(rf"(?<![A-Za-z])(?:{'|'.join(alternatives)})(?![a-rt-z])")


def _other_dates(match: re.Match[str], date_names: Sequence[str]) -> list[str]:
    """Return dates of the same kind, in the order in which to try them.

    Args:
        match: the date.
        date_names: the names that it belongs to; () for a date in digits.
    """
    if date_names:
        place = date_names.index(match[0])
        return [date_names[(place + distance) % len(date_names)] for distance in (2, 3, 4, 1, 5)]
    if match.re.pattern == _CHINESE_DATE.pattern:  # the days up to the 28th, which each month has
        return [f"{match[1]}{(int(match[2]) + distance - 1) % 28 + 1}日" for distance in (3, 5, 8, 12)]
    if match.re.pattern == _YEAR.pattern:
        return [str(int(match[0]) + distance) for distance in (3, 4, 7, 11, 13, 17, 19)]
    return [f"{(int(match[1]) + distance) % 24}{match[2]}" for distance in (2, 3, 5, 7, 22)]


def _has_range(date_names: Sequence[str], text: str) -> bool:
    """Say whether a text has a range of the names, which may contain any of them."""
    any_name = "|".join(date_names)
    between = r"s?\s*(?:to|through|until|till|and|or|[-–—~]|至|到)\s*\D{0,30}?\d*\s?"
    if re.search(rf"(?:{any_name}){between}(?:{any_name})", text):
        return True
    return _RANGE_OF_DATES.search(text) is not None


def _is_elastic(match: re.Match[str]) -> bool:
    """Say whether the text around a fact makes it a bound, an end of a range or a label."""
    start = max(0, match.start() - MAX_BOUND)
    before = match.string[start : match.start()]
    if _BOUND_BEFORE.search(before):
        return True
    return _BOUND_BEHIND.match(match.string, match.end()) is not None


def _other_number(match: re.Match[str], case_numbers: set[str]) -> str | None:
    """Return a larger number that the case does not have; for words, the second larger one."""
    if match["word"]:
        value = _NUMBER_WORDS[match["word"]]
        larger_words: list[str] = []
        for word, word_value in _NUMBER_WORDS.items():
            if word_value > value and str(word_value) not in case_numbers:
                larger_words.append(word)
        return larger_words[1] if len(larger_words) > 1 else None
    if len(match["digits"]) > MAX_NUMBER:
        return None
    for digits in _larger_numbers(match["digits"]):
        if case_numbers.isdisjoint(numbers(digits)):
            return digits
    return None


def _larger_numbers(digits: str) -> Iterator[str]:
    """Return clearly larger numbers in the same notation; none for 0 and 1."""
    places = len(digits.partition(".")[2])
    value = round(float(digits.replace(",", "")) * 10**places)
    if value <= 1:
        return
    for step in range(20):
        larger = value + max(2, value // 3) + step
        with_commas = f"{larger / 10**places:,.{places}f}"
        yield with_commas if "," in digits else with_commas.replace(",", "")


def _replace_match(match: re.Match[str], replacement: str) -> str:
    return match.string[: match.start()] + replacement + match.string[match.end() :]


def _names_inside_sentences(response: str, backing: str) -> Iterator[str]:
    """Yield the backed names of an English text, except at the start of a sentence."""
    for match in _RUN.finditer(response):
        before = response[: match.start()]
        after = response[match.end() :]
        is_addressed = before.endswith(", ") and after[:1] in {",", ".", "!", "?"}
        if not is_addressed and not _STARTS.search(before) and _is_name(match[0], backing):
            yield match[0]


@lru_cache(MAX_KEPT)
def _is_name(run: str, backing: str) -> bool:
    """Say whether a run of capitalised words is a name that the backing has."""
    words = run.split()
    if NO_NAMES.intersection(words) or KINDS.issuperset(words):
        return False
    if len(words) == 1 and _NATIONALITY.search(run):
        return False
    # If the backing also has it in lower case, it is an ordinary word.
    in_any_case = rf"(?<![\w-])({re.escape(run)}|{re.escape(run.lower())})(?![\w-])"
    return set(re.findall(in_any_case, backing)) == {run}


def _rename(response: str, old_name: str, case_text: str) -> str | None:
    """Replace a name in the response, and each of its parts, by names that the text does not have."""
    new_names = [stranger for stranger in STRANGERS if stranger not in case_text]
    old_parts: list[str] = []
    for word in old_name.split():
        if word not in KINDS and word[0].isupper() and word not in old_parts:
            old_parts.append(word)
    if len(new_names) < len(old_parts):
        return None
    replacements = dict(zip(old_parts, new_names, strict=False))
    any_part = "|".join(re.escape(part) for part in replacements)
    pattern = compile_when_used(rf"(?<![\w-])(?:{any_part})(?![\w-])")
    return pattern.sub(lambda part: replacements[part[0]], response)
