"""Facts and names of a response, each exchanged for one that no text of the case has.

Every exchange takes the response, what backs it, and all text of the case, and returns the edited response,
or None: a fact that nothing backs, that a bound makes elastic ("up to 5"), or that belongs to a range is
left alone, because exchanging it might not change what is true. When in doubt, a fact is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import TypeAlias

from groundjudge.text.numbers import numbers
from groundjudge.text.words import MONTHS

# From the response, its backing and all text of the case to the edited response.
Exchange: TypeAlias = Callable[[str, str, str], str | None]

_WEEK = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
WEEKDAYS = tuple(_WEEK.split())
_NAMES_OF_DATES = (
    WEEKDAYS,
    MONTHS,
    *([f"{week}{day}" for day in "一二三四五六日"] for week in ("周", "星期")),
)

_UNITS = (
    "seconds minutes hours days weeks months years; second minute hour day week month year; GB MB; km m cm mm"
    "; kilometres miles metres feet inches centimetres; kilometers miles; meters feet; kilograms pounds grams"
    "; kilos pounds; kg g; litres gallons; liters gallons; euros dollars cents; euro dollar"
    "; 升 毫升; 欧元 美元; 秒 分钟 小时 天 周 个月; 公里 米 厘米 毫米; 千克 克; 公斤 克; 元 角"
)
# Units, each with a neighbour of its kind: another quantity of the same number.
UNITS: Mapping[str, str] = {
    one: other
    for row in map(str.split, reversed(_UNITS.split(";")))
    for one, other in (*pairwise(row[::-1]), *pairwise(row))
}

# Signs before a fact that are searched for what makes it elastic, and after it for the end of a range.
LONGEST_BOUND = 24

# Digits of a number that floating point holds exactly.
LONGEST_NUMBER = 15

_WORDS = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = {word: value for value, word in enumerate(_WORDS.split(), 2)}
_ANY_WORD = "|".join(_NUMBER_WORDS)
_ANY_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_ANY_MONTH = "|".join(MONTHS)

# A word of these anywhere near is enough: a fact too many that is left alone does no harm.
_BOUND_BEFORE = re.compile(
    rf"""\b(?: up | least | most | over | under | within | below | above | after | before | than | or | from
           | to | by | between | about | around | roughly | nearly | almost | minimum | maximum | since
           | until | till | no | nr | room | page | step | line | platform | gate | document | doc | source
           | figure | version | chapter | half | past | quarter | {_ANY_MONTH} ) \b [^.;!?。；！？]* $
       | [-–—~至到从近满第号\#№] \s* $
       | (?: 超过 | 至少 | 最[多早迟] | [少多低高]于 | 不到 | 大?约 ) [\u4e00-\u9fff]{{0,3}} $""",
    re.IGNORECASE | re.VERBOSE,
)
_BOUND_BEHIND = re.compile(
    r"""\s* (?: (?: to | or | and | through | until | [-–—~至到] ) \s* \d
           | (?: [a-z]+\ )? or\ (?: more | less | [a-z]+er ) \b
           | [%％\u4e00-\u9fff]{0,3}? (?: 以[上下内外] | 之?内(?![部容]) | 左右 | [前后起] ) | [多余几] )""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = re.compile(
    rf"""(?<![\w.,:：/\[(]) (?P<digits>\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?)
         (?! [\d:：/\])–年月日号點点时楼层路] | [.,:]\d | -\d | [.)]\s | [A-Za-z]
           | \s?(?:[ap]\.?m|o'clock|{_ANY_MONTH})\b )
       | \b (?P<word>{_ANY_WORD}) \b (?![-\s](?:hundred|thousand|million|o'clock|of\ them))""",
    re.ASCII | re.VERBOSE,
)
_MEASURE = re.compile(
    rf"(?<![\w.,:：/\-–])(?P<number>\d[\d,.]*|{_ANY_WORD})(?P<gap>[\s-]?)(?P<unit>{_ANY_UNIT})"
    r"(?![A-Za-z²³半级龄历票卡]|\s?(?:old|ago))",
    re.ASCII,
)
_CLOCK = re.compile(r"(?<![\d:.])([01]?\d|2[0-3])([:：][0-5]\d)(?![\d:])")
_CHINESE_DATE = re.compile(r"(?<!\d)(\d\d?月)(\d\d?)日")
_YEAR = re.compile(r"(?<![\d.,:/-])(1[89]\d\d|20\d\d)(?![\d:/-]|[.,]\d)")
_RANGE_OF_DATES = re.compile(
    r"\b(?:daily|every ?day|weekdays?|weekends?|all week|year-round|all year)\b"
    "|每天|每日|天天|工作日|平日|周末|全年"
)


# Names that are remembered: a long response has the same ones again and again.
MOST_KEPT = 256
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
# Words that say what a name is the name of: they stay.
KINDS = frozenset(_KINDS.split())

_CAPITALIZED = "[A-Z][a-z][A-Za-z]*"
_RUN = re.compile(
    rf"(?<![\w'’.-])(?<![A-Z]\w )(?:{_CAPITALIZED})(?:[ ](?:of the |of |the )?{_CAPITALIZED})*(?![\w-]|\.\w)"
)
_STARTS = re.compile(r"(?:^|[.!?:;\n\"“(*-]\s*)$")
_NATIONALITY = re.compile(r"(?:[aei]an|can|ish|ese|ch|[aq]i|eli)s?$")
# A Chinese surname and a given name before a title; without a title, two signs may begin any word.
_PERSON = re.compile(
    r"(?<![行国])[林罗郑梁谢宋唐韩冯邓曹彭董袁潘蒋蔡杜魏吕沈姚卢姜崔谭陆许何徐孙郭赵陈刘杨吴王李张朱胡周高马苏叶程方]"
    r"[\u4e00-\u9fff]{0,2}?"
    r"(?=老师|先生|女士|教练|馆长|经理|医生|师傅|校长|主任|教授|阿姨|叔叔|店长|园长|队长|馆员|奶奶|爷爷)"
)


def number(response: str, backed: str, text: str) -> str | None:
    """Another number in place of a backed one."""
    known, taken = set(numbers(backed)), set(numbers(text))
    for found in _NUMBER.finditer(response):
        is_backed = next(iter(numbers(found[0])), "") in known and not _YEAR.fullmatch(found[0])
        if is_backed and not _is_elastic(found) and (new := _other_number(found, taken)):
            return _spliced(found, new)
    return None


def unit(response: str, backed: str, text: str) -> str | None:
    """Another unit behind a backed number."""
    for found in _MEASURE.finditer(response):
        other = UNITS[found["unit"]]
        is_backed = re.sub(r"[\s-]", "", found[0]) in re.sub(r"[\s-]", "", backed)
        is_nothing = next(iter(numbers(found["number"])), "0") == "0"
        is_new = not re.search(rf"\b{re.escape(other)}\b", text)
        if is_backed and is_new and not is_nothing and not _is_elastic(found):
            return _spliced(found, f"{found['number']}{found['gap']}{other}")
    return None


def date(response: str, backed: str, text: str) -> str | None:
    """Another weekday, month, day, year or time of day in place of a backed one."""
    kinds = [
        *((_any_of(row), _neighbours(row)) for row in _NAMES_OF_DATES if not _has_range(row, text)),
        *_DATES,
    ]
    for pattern, others in kinds:
        for found in pattern.finditer(response):
            new = next((other for other in others(found) if other not in text), None)
            if new and found[0] in backed and not _is_elastic(found):
                return response.replace(found[0], new)
    return None


def name(response: str, backed: str, text: str) -> str | None:
    """Another name in place of a backed one, wherever the response has it."""
    english = next(_inside_sentences(response, backed), None)
    if english:
        return _renamed(response, english, text)
    new = next((each for each in SURNAMES if each not in text), None)
    old = next((found[0] for found in _PERSON.finditer(response) if found[0] in backed), None)
    return response.replace(old, new + old[1:]) if new and old else None


def people(sentence: str, backed: str) -> list[re.Match[str]]:
    """The backed names of a sentence, in order."""
    english = [found for found in _RUN.finditer(sentence) if _is_name(found[0], backed)]
    return english or [found for found in _PERSON.finditer(sentence) if found[0] in backed]


# What dates in digits look like, each with the others that can take their place.
_DATES: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterable[str]]]] = (
    (_CHINESE_DATE, lambda found: (f"{found[1]}{(int(found[2]) + n - 1) % 28 + 1}日" for n in (3, 5, 8, 12))),
    (_YEAR, lambda found: (str(int(found[0]) + n) for n in (3, 4, 7, 11, 13, 17, 19))),
    (_CLOCK, lambda found: (f"{(int(found[1]) + n) % 24}{found[2]}" for n in (2, 3, 5, 7, 22))),
)


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """Any of the names; "May" only behind a day or a preposition."""
    either = "|".join(r"(?:(?<=\d )|(?<=in )|(?<=of ))May" if name == "May" else name for name in names)
    return re.compile(rf"(?<![A-Za-z])(?:{either})(?![a-rt-z])")


def _neighbours(names: Sequence[str]) -> Callable[[re.Match[str]], Iterable[str]]:
    return lambda found: (names[(names.index(found[0]) + n) % len(names)] for n in (2, 3, 4, 1, 5))


def _has_range(names: Sequence[str], text: str) -> bool:
    """Whether a text has a range of the names: any of them may lie in it."""
    either = "|".join(names)
    between = r"s?\s*(?:to|through|until|till|and|or|[-–—~]|至|到)\s*\D{0,30}?\d*\s?"
    return bool(re.search(rf"(?:{either}){between}(?:{either})", text) or _RANGE_OF_DATES.search(text))


def _is_elastic(found: re.Match[str]) -> bool:
    """Whether what stands around a fact makes it a bound, an end of a range or a label."""
    before = found.string[max(0, found.start() - LONGEST_BOUND) : found.start()]
    return bool(_BOUND_BEFORE.search(before) or _BOUND_BEHIND.match(found.string, found.end()))


def _other_number(found: re.Match[str], taken: set[str]) -> str | None:
    if found["word"]:
        value = _NUMBER_WORDS[found["word"]]
        words = (word for word, other in _NUMBER_WORDS.items() if other > value and str(other) not in taken)
        return next(islice(words, 1, None), None)
    if len(found["digits"]) > LONGEST_NUMBER:
        return None
    return next((new for new in _larger(found["digits"]) if not set(numbers(new)) & taken), None)


def _larger(digits: str) -> Iterator[str]:
    """Numbers clearly larger than this one, written alike; none for 0 and 1."""
    places = len(digits.partition(".")[2])
    value = round(float(digits.replace(",", "")) * 10**places)
    for step in range(20 if value > 1 else 0):
        new = value + max(2, value // 3) + step
        written = f"{new / 10**places:,.{places}f}"
        yield written if "," in digits else written.replace(",", "")


def _spliced(found: re.Match[str], new: str) -> str:
    return found.string[: found.start()] + new + found.string[found.end() :]


def _inside_sentences(response: str, backed: str) -> Iterator[str]:
    """The backed names of an English text that do not open a sentence: there, any word has a capital."""
    for found in _RUN.finditer(response):
        before, behind = response[: found.start()], response[found.end() :]
        is_addressed = before.endswith(", ") and behind[:1] in {",", ".", "!", "?"}
        if not is_addressed and not _STARTS.search(before) and _is_name(found[0], backed):
            yield found[0]


@lru_cache(MOST_KEPT)
def _is_name(run: str, backed: str) -> bool:
    """Whether a run of words with capitals is a name that the backing has."""
    words = run.split()
    whole = rf"(?<![\w-])({re.escape(run)}|{re.escape(run.lower())})(?![\w-])"
    is_adjective = len(words) == 1 and _NATIONALITY.search(run)
    is_ordinary = NO_NAMES.intersection(words) or KINDS.issuperset(words)
    return set(re.findall(whole, backed)) == {run} and not is_adjective and not is_ordinary


def _renamed(response: str, old: str, text: str) -> str | None:
    """The response with a name, and each of its parts, replaced by names that the text does not have."""
    fresh = [each for each in STRANGERS if each not in text]
    parts = [word for word in dict.fromkeys(old.split()) if word not in KINDS and word[0].isupper()]
    if len(fresh) < len(parts):
        return None
    new = dict(zip(parts, fresh, strict=False))
    either = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, new))})(?![\w-])")
    return either.sub(lambda part: new[part[0]], response)
