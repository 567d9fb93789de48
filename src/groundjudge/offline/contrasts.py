"""Words that exclude each other: where a source says one of them, another one in its place is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from types import MappingProxyType

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
去年 上周 上月 | 今年 本周 本月 | 明年 下周 下月;
am | pm;
second seconds | minute minutes 每分钟 | hour hours hourly 每小时 | day days daily 每天 每日
    | week weeks weekly 每周 每週 | month months monthly 每月 | year years yearly annually 每年
"""
"""Times: a semicolon ends a group, "|" separates what excludes each other, spaces what means the same.

Units need no table: what stands beside the same number is compared wherever it differs.
"""

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

Pair = tuple[str, str]
"""What a text says, and what the source says in its place."""
Place = tuple[int | None, int]
"""The group of a word, if it has one, and which member of it the word is."""


def clash(said: Iterable[str], instead: Iterable[str]) -> Pair | None:
    """A word that excludes what the source has in its place."""
    return next(filter(_exclude, product(said, instead)), None)


def _exclude(pair: Pair) -> bool:
    """Whether two words stand in one group, but do not mean the same."""
    one, other = map(_place, pair)
    return one != other and one[0] == other[0] is not None


def _place(word: str) -> Place:
    return MEMBERS.get(word.casefold()) or MEMBERS.get(word, (None, 0))  # May, not may, is a month


def overstatement(said: Iterable[str], instead: Iterable[str], numbers: Iterable[str]) -> Pair | None:
    """A word of quantity that makes more of something than one of the source, or than a number of it."""
    mine, theirs = ({word.casefold(): word for word in words} for words in (said, instead))
    more = max(((RANKS[low], mine[low]) for low in mine.keys() - theirs if RANKS.get(low)), default=(0, ""))
    less = [(RANKS[low], theirs[low]) for low in theirs.keys() - mine if low in RANKS]
    less.extend((0, number) for number in numbers)
    return (more[1], min(less)[1]) if less and min(less)[0] < more[0] else None


def _groups(table: str) -> list[list[list[str]]]:
    return [[member.split() for member in group.split("|")] for group in table.split(";")]


MEMBERS: Mapping[str, Place] = MappingProxyType(
    {
        word: (group, member)
        for group, members in enumerate(_groups(TIMES))
        for member, alike in enumerate(members)
        for word in alike
    }
)
RANKS = MappingProxyType(
    {word: rank for rank, ((*words,),) in enumerate(_groups(QUANTITIES)) for word in words}
)
