"""Words that exclude each other: where a source says one of them, another one in its place is wrong."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType

from groundjudge.text.numbers import Number

TIMES = """
monday mondays 周一 週一 星期一 礼拜一 | tuesday tuesdays 周二 週二 星期二 礼拜二
    | wednesday wednesdays 周三 週三 星期三 礼拜三 | thursday thursdays 周四 週四 星期四 礼拜四
    | friday fridays 周五 週五 星期五 礼拜五 | saturday saturdays 周六 週六 星期六 礼拜六
    | sunday sundays 周日 週日 星期日 星期天 礼拜天;
january jan | february feb | march mar | april apr | May | june jun | july jul | august aug
    | september sep sept | october oct | november nov | december dec;
spring 春天 春季 | summer 夏天 夏季 | autumn 秋天 秋季 | winter 冬天 冬季;
morning 上午 早上 | afternoon 下午 | evening 晚上;
前天 | yesterday 昨天 昨日 | today 今天 今日 | tomorrow 明天 明日 | 后天;
去年 上周 上月 | 今年 本周 本月 | 明年 下周 下月
"""
"""A semicolon ends a group, "|" separates what excludes each other, spaces what means the same.

A word may stand in several groups; the sign of a currency or a degree counts as a word.
"""

MEASURES = """
km kilometre kilometer kilometres kilometers 公里 千米 | 里 | mile miles 英里
    | m metre meter metres meters 米 | foot feet ft 英尺 尺 | yard yards 码 | inch inches 英寸 寸
    | cm centimetre centimeter centimetres centimeters 厘米
    | mm millimetre millimeter millimetres millimeters 毫米;
kg kilogram kilograms kilo kilos 公斤 千克 | 斤 | pound pounds lb lbs 磅 | g gram grams 克
    | ton tons tonne tonnes 吨 | ounce ounces oz 盎司 | mg milligram milligrams 毫克;
litre liter litres liters 升 公升 | gallon gallons 加仑 | ml millilitre milliliter millilitres milliliters 毫升;
euro euros eur € 欧元 歐元 | dollar dollars usd $ 美元 | £ gbp pound pounds 英镑 英鎊 | yen jpy ¥ 日元
    | yuan rmb cny 元 块 塊 ￥ 人民币 | cent cents | franc francs chf 法郎;
seconds sec 秒 秒钟 | minute minutes min mins 分 分钟 分鐘 | hour hours hr hrs 小时 小時
    | day days daily 天 日 号 號 每天 每日 | week weeks weekly 周 週 星期 每周 每週
    | month months monthly 月 个月 個月 每月 | year years yearly annual annually 年 每年
    | decade decades | century centuries 世纪;
celsius °c ℃ 摄氏 | fahrenheit °f ℉ 华氏;
kb kilobyte kilobytes | mb megabyte megabytes | gb gigabyte gigabytes | tb terabyte terabytes;
ah 安时 | mah 毫安时;
kw kilowatt kilowatts 千瓦 | mw megawatt megawatts | gw gigawatt gigawatts;
% percent ％ | ‰;
am | pm;
hectare hectares 公顷 | acre acres 英亩 | 亩
"""
"""The same for what stands with a number."""

QUANTITIES = """
one 一个;
few 少数 极少;
some several certain part half sometimes 一些 有些 有的 部分 一部分 一半 半数 有时 某些 若干 几个;
many often much 许多 很多 不少 经常 多个;
most mostly usually 大多 多数 大多数 大部 大部分 通常 往往;
all both none no every each always everyone everybody everything whole entire
    所有 全部 全体 全都 都 全 各 每 每个 总是 一切 一律
"""
"""How much a word makes of what it stands before, least first: the source must make as much of it."""

Place = tuple[int, int]
"""A group of the tables, and which member of it a word is."""
Units = Mapping[str, Mapping[Place, str]]
"""Of each number, the places of its unit, and how that is written."""
Pair = tuple[str, str]
"""What a text says, and what the source says in its place."""


def units(text: str, placed: Iterable[Number]) -> Units:
    """The units of a text's numbers."""
    found: defaultdict[str, dict[Place, str]] = defaultdict(dict)
    for value, start, end in placed:
        unit = _unit(text, start, end)
        found[value].update((place, unit) for place in MEMBERS.get(unit, ()) if place[0] >= FIRST_MEASURE)
    return found


def _unit(text: str, start: int, end: int) -> str:
    """The unit of a number: the sign of a currency before it, or the longest known unit behind it."""
    sign = text[max(0, start - 2) : start].rstrip()[-1:]
    if sign and sign in CURRENCIES:
        return sign  # the m of $5m is no metre
    behind = text[end : end + LONGEST_UNIT].lstrip(" -\u00a0\u202f").casefold()
    word = _UNIT.match(behind)
    if word and word[0] in MEMBERS:
        return word[0]
    sizes = range(LONGEST_SIGNS, 0, -1) if not word else ()
    return next((behind[:size] for size in sizes if behind[:size] in MEMBERS), "")


def remeasured(said: Units, given: Units) -> Iterator[Pair]:
    """Units of numbers that have another unit in the source."""
    for value, mine in said.items():
        theirs = given.get(value, {})
        if mine and theirs and not mine.keys() & theirs.keys():
            yield next(iter(mine.values())), next(iter(theirs.values()))


def clash(said: Iterable[str], instead: Iterable[str]) -> Pair | None:
    """A word that excludes what the source has in its place."""
    return next(filter(lambda pair: _exclude(*pair), product(said, instead)), None)


def _exclude(one: str, other: str) -> bool:
    """Whether two words stand in one group as different members."""
    ours, theirs = _places(one), _places(other)
    is_group = {group for group, _ in ours} & {group for group, _ in theirs}
    return bool(is_group) and set(ours).isdisjoint(theirs)


def _places(word: str) -> Sequence[Place]:
    """The places of a word in the tables."""
    found = MEMBERS.get(word.casefold()) or MEMBERS.get(word, ())  # May, not may, is a month
    return found if len(word) > 1 else ()  # the m of p.m. is no metre


def overstatement(said: Iterable[str], instead: Iterable[str], numbers: Iterable[str]) -> Pair | None:
    """A word of quantity that makes more of something than one of the source, or than a number of it."""
    mine, theirs = ({word.casefold() for word in words} for words in (said, instead))
    more = max(((RANKS[word], word) for word in mine - theirs if RANKS.get(word)), default=(0, ""))
    less = [
        *((RANKS[word], word) for word in theirs - mine if word in RANKS),
        *((0, each) for each in numbers),
    ]
    return (more[1], min(less)[1]) if less and min(less)[0] < more[0] else None


def _groups(tables: str) -> list[list[list[str]]]:
    return [[member.split() for member in group.split("|")] for group in tables.split(";")]


def _members() -> Mapping[str, Sequence[Place]]:
    """Of each word, the groups it stands in and which member of the group it is."""
    known: defaultdict[str, list[Place]] = defaultdict(list)
    for group, members in enumerate([*_groups(TIMES), *_groups(MEASURES)]):
        for member, alike in enumerate(members):
            for word in alike:
                known[word].append((group, member))
    return MappingProxyType({word: tuple(found) for word, found in known.items()})


MEMBERS = _members()
FIRST_MEASURE = len(_groups(TIMES))
RANKS = MappingProxyType(
    {word: rank for rank, ((*words,),) in enumerate(_groups(QUANTITIES)) for word in words}
)
CURRENCIES = "€$£¥￥"
LONGEST_UNIT = 16
LONGEST_SIGNS = 3
"""Signs of a unit in a script without spaces."""
_UNIT = re.compile(r"°?[a-zà-ÿ]+")
