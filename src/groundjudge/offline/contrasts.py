"""Words that exclude each other: where a source says one of them, another one in its stead is wrong."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from groundjudge.text.facts import Number
from groundjudge.text.words import Word

TIMES = """
monday montag lundi lunes 周一 週一 星期一 礼拜一 | tuesday dienstag mardi martes 周二 週二 星期二 礼拜二
    | wednesday mittwoch mercredi miércoles 周三 週三 星期三 礼拜三
    | thursday donnerstag jeudi jueves 周四 週四 星期四 礼拜四
    | friday freitag vendredi viernes 周五 週五 星期五 礼拜五
    | saturday samstag samedi sábado 周六 週六 星期六 礼拜六
    | sunday sonntag dimanche domingo 周日 週日 星期日 星期天 礼拜天;
january jan januar janvier enero | february feb februar février febrero | march mar märz marzo
    | april apr avril abril
    | May mai mayo | june jun juni juin junio | july jul juli juillet julio | august aug août agosto
    | september sep sept septembre septiembre | october oct oktober octobre octubre
    | november nov novembre noviembre | december dec dezember décembre diciembre;
spring frühling 春天 春季 | summer sommer 夏天 夏季 | autumn herbst 秋天 秋季 | winter 冬天 冬季;
morning vormittag vormittags 上午 早上 | afternoon nachmittag nachmittags 下午 | evening abend abends 晚上;
yesterday gestern ayer 昨天 昨日 | today heute hoy 今天 今日 | tomorrow demain mañana 明天 明日
    | 前天 | 后天;
去年 上周 上月 | 今年 本周 本月 | 明年 下周 下月
"""
"""A semicolon ends a group, "|" parts what excludes each other, and what stands between is the same.

A word may stand in several groups; a sign of a currency or a degree counts as a word.
"""

MEASURES = """
km kilometre kilometer kilometres kilometers 公里 千米 | 里 | mile miles meilen 英里
    | m metre meter metres meters 米
    | foot feet ft 英尺 尺 | yard yards 码 | inch inches 英寸 寸 | nautical 海里
    | cm centimetre centimeter centimetres centimeters 厘米
    | mm millimetre millimeter millimetres millimeters 毫米;
kg kilogram kilograms kilogramme kilogrammes kilo kilos 公斤 千克 | 斤 | pound pounds lb lbs 磅
    | g gram grams gramm 克
    | ton tons tonne tonnes tonnen 吨 | ounce ounces oz 盎司 | mg milligram milligrams 毫克;
litre liter litres liters 升 公升 | gallon gallons 加仑
    | ml millilitre milliliter millilitres milliliters 毫升;
euro euros eur € 欧元 歐元 | dollar dollars usd $ 美元 | £ gbp pound pounds 英镑 英鎊 | yen jpy ¥ 日元
    | yuan rmb cny 元 块 塊 ￥ 人民币 | cent cents | franc francs chf 法郎 | crown crowns kronen
    | rupee rupees inr 卢比;
seconds sec sekunden 秒 秒钟 | minute minutes min mins minuten 分 分钟 分鐘
    | hour hours hr hrs stunde stunden 小时 小時
    | day days daily tag tage tagen täglich jour jours día días 天 日 号 號 每天 每日
    | week weeks weekly woche wochen wöchentlich semaine semaines semana semanas 周 週 星期 每周 每週
    | month months monthly monat monate monaten monatlich mois mes meses 月 个月 個月 每月
    | year years yearly annual annually jahr jahre jahren jährlich ans année années año años 年 每年
    | decade decades jahrzehnt jahrzehnte | century centuries jahrhundert jahrhunderte 世纪;
celsius °c ℃ 摄氏 | fahrenheit °f ℉ 华氏;
kb kilobyte kilobytes | mb megabyte megabytes | gb gigabyte gigabytes | tb terabyte terabytes;
ah 安时 | mah 毫安时;
kw kilowatt kilowatts 千瓦 | mw megawatt megawatts | gw gigawatt gigawatts;
% percent prozent procent ％ | ‰;
am | pm;
once | twice;
hectare hectares hektar 公顷 | acre acres 英亩 | 亩
"""
"""The same for what stands with a number."""

OPPOSITES = """
open opens opened geöffnet ouvert abierto 开放 开门
    | closed close closes geschlossen fermé cerrado 关闭 关门 闭馆;
before vor avant antes 之前 以前 | after nach après después 之后 以后;
above oberhalb | below unterhalb;
increase increased increases increasing rise rose rises risen grew stieg 增加 上升 增长
    | decrease decreased decreases decreasing fell drop dropped decline declined sank 减少 下降;
first erste ersten erster | last letzte letzten letzter;
north northern norden 北部 北方 北边 | south southern süden 南部 南方 南边
    | east eastern osten 东部 东方 东边 | west western westen 西部 西方 西边;
left links 左边 左侧 | right rechts 右边 右侧;
accept accepted accepts 接受 | reject rejected rejects refuse refused refuses 拒绝;
allowed permitted erlaubt gestattet 允许 | forbidden prohibited banned verboten 禁止;
mandatory compulsory obligatory pflicht 必须 | optional voluntary freiwillig 自愿 可选;
male man men mann männer 男性 男子 | female woman women frau frauen 女性 女子;
husband ehemann 丈夫 | wife ehefrau 妻子;
father vater père padre 父亲 | mother mutter mère madre 母亲;
son sohn 儿子 | daughter tochter 女儿;
brother bruder 哥哥 弟弟 | sister schwester 姐姐 妹妹;
uncle onkel | aunt tante;
earlier früher 更早 | later später 更晚;
high higher highest hoch höher | low lower lowest niedrig niedriger;
large larger largest big bigger biggest 最大 | small smaller smallest 最小;
oldest älteste 最老 | youngest newest neueste 最新;
longest längste 最长 | shortest kürzeste 最短;
cheap cheaper cheapest billig 便宜 | expensive teuer teurer 昂贵;
minimum least mindestens 至少 最少 | maximum most höchstens 至多 最多;
more mehr 超过 多于 | fewer less weniger 少于 不到;
begin begins began begun start starts started anfang 开始 | end ends ended ende finish finished 结束;
inside indoors indoor drinnen 室内 | outside outdoors outdoor draussen 室外;
import imports imported 进口 | export exports exported 出口;
arrive arrives arrived arrival ankunft 到达 | depart departs departed departure abfahrt 出发;
alive living lebt 活着 | dead died dies death gestorben starb 去世 死亡;
true wahr richtig | false falsch untrue;
same gleiche gleichen 相同 | different andere 不同;
always immer toujours siempre 总是 一直 | never nie jamais nunca 从不 从未
"""
"""The same for opposites. Of two, one is what the other is not: what is not open is closed."""

CONVERSES = """
win won wins winner beat beats gewann 赢了 获胜 战胜 | lose lost loses loser verlor 输了 输给 失败 败给;
buy bought buys kaufte 购买 | sell sold sells verkaufte 出售
"""
"""The same for words that say one thing from two sides: only one for the other, and nobody else, is wrong."""

QUANTITIES = """
one 一个;
few wenige wenigen 少数 极少;
some several certain part parts portion half sometimes occasionally partly partially
    einige einigen manche manchmal teils quelques parfois algunos algunas alcuni sommige
    一些 有些 有的 部分 一部分 一半 半数 有时 某些 若干 几个;
many often frequently much viele vielen oft muchos molti veel 许多 很多 不少 经常 多个;
most mostly usually generally largely typically mainly meist meisten meistens
    大多 多数 大多数 大部 大部分 通常 往往;
all both none no every each always everyone everybody everything whole entire entirely completely invariably
    alle allen aller jeder jede jedes immer tous toutes toujours todos todas siempre
    tutti tutte sempre alles 所有 全部 全体 全都 都 全 各 每 每个 总是 一切 一律
"""
"""How much a word makes of what it stands before, least first: the source must make as much of it."""


Place = tuple[int, int]
"""A group of the tables, and which member of it a word is."""
Units = Mapping[str, Mapping[Place, str]]
"""Of each number, the places of its unit, and how that is written."""


class Clash(NamedTuple):
    """A word of a text that the source has another one for; of two opposites one is what the other is not."""

    said: str
    instead: str
    is_opposite: bool = False


def places(said: Iterable[Word], measured: Units) -> frozenset[Place]:
    """Where the words and units of a text stand in the tables."""
    named = (place for word in said for place in memberships(word.text))
    return frozenset((*named, *(place for units in measured.values() for place in units)))


def units(text: str, placed: Iterable[Number]) -> Units:
    """The units of a text's numbers."""
    found: defaultdict[str, dict[Place, str]] = defaultdict(dict)
    counts = (Number(sign[0], *sign.span()) for sign in _COUNTS.finditer(text))
    for value, start, end in (*placed, *counts):
        unit = _unit(text, start, end)
        for group, member in MEMBERS.get(unit, ()):
            if FIRST_MEASURE <= group < FIRST_OPPOSITE:
                found[value][group, member] = unit
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


def remeasured(said: Units, given: Sequence[Units]) -> Iterator[Clash]:
    """Units of numbers that have another unit in the source."""
    for value, mine in said.items():
        theirs = {place: unit for each in given for place, unit in each.get(value, {}).items()}
        if theirs and not mine.keys() & theirs.keys():
            yield Clash(next(iter(mine.values())), next(iter(theirs.values())))


def clash(said: Iterable[str], instead: Iterable[str]) -> Clash | None:
    """How one of some words excludes one that the source has in the same place."""
    others = [(word, *_known(word)) for word in instead]
    for word in said:
        rank, ours = _known(word)
        for other, their_rank, theirs in others:
            groups = {group for group, _ in ours} & {group for group, _ in theirs}
            if 0 <= their_rank < rank or (groups and not set(ours) & set(theirs)):
                return Clash(word, other, is_opposite=not groups.isdisjoint(OPPOSED))
    return None


def overstatement(said: Iterable[str], instead: Iterable[str], counted: Iterable[str]) -> Clash | None:
    """A word of quantity that makes more of something than one of the source, or than a number of it."""
    mine, theirs = ({word.casefold(): _known(word)[0] for word in words} for words in (said, instead))
    more = [(rank, word) for word, rank in mine.items() if rank > 0 and word not in theirs]
    less = [(rank, word) for word, rank in theirs.items() if rank >= 0 and word not in mine]
    less.extend((0, number) for number in counted)
    return Clash(max(more)[1], min(less)[1]) if more and less and min(less)[0] < max(more)[0] else None


def memberships(word: str) -> Sequence[Place]:
    """The groups that a word stands in, and which member of each it is."""
    return _known(word)[1]


def tells_time(word: str) -> bool:
    """Whether a word is a day, a month or the like, or a unit."""
    return any(group < FIRST_OPPOSITE for group, _ in memberships(word))


def are_alike(one: str, two: str) -> bool:
    """Whether two words, or signs behind a number, stand for the same in a table."""
    return not set(MEMBERS.get(one.casefold(), ())).isdisjoint(MEMBERS.get(two.casefold(), ()))


def is_listed(word: str) -> bool:
    """Whether a word stands in one of the tables, so that it is no name."""
    rank, found = _known(word)
    return rank >= 0 or bool(found)


def _known(word: str) -> tuple[int, Sequence[Place]]:
    """The rank of a word of quantity, or else -1, and its places in the table."""
    low = word.casefold()
    rank = RANKS.get(low, -1)
    if len(low) == 1:  # the m of p.m. is no metre
        return rank, ()
    found = MEMBERS.get(low) or MEMBERS.get(low.removesuffix("s"))
    return rank, found or MEMBERS.get(word, ())  # May, not may, is a month


def _groups(tables: str) -> list[list[list[str]]]:
    return [[member.split() for member in group.split("|")] for group in tables.split(";")]


def _members() -> Mapping[str, Sequence[Place]]:
    """Of each word, the groups it stands in and which member of the group it is."""
    known: defaultdict[str, list[Place]] = defaultdict(list)
    for group, members in enumerate(
        [*_groups(TIMES), *_groups(MEASURES), *_groups(OPPOSITES), *_groups(CONVERSES)]
    ):
        for member, alike in enumerate(members):
            for word in alike:
                known[word].append((group, member))
    return MappingProxyType({word: tuple(found) for word, found in known.items()})


MEMBERS = _members()
FIRST_MEASURE = len(_groups(TIMES))
FIRST_OPPOSITE = FIRST_MEASURE + len(_groups(MEASURES))
OPPOSED = frozenset(
    group
    for group, members in enumerate(_groups(OPPOSITES), FIRST_OPPOSITE)
    if len(members) == 2  # noqa: PLR2004
)
RANKS = MappingProxyType(
    {word: rank for rank, ((*words,),) in enumerate(_groups(QUANTITIES)) for word in words}
)
CURRENCIES = "€$£¥￥"
LONGEST_UNIT = 16
LONGEST_SIGNS = 3
"""Signs of a unit in a script without spaces."""
_COUNTS = re.compile("[一每半]")
"""What counts in Chinese like a number."""
_UNIT = re.compile(r"°?[a-zà-ÿ]+")
