"""Words that exclude each other: where a source says one of them, another one in its stead is wrong."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from groundjudge.words import Word

MEASURES = """
monday montag lundi lunes 周一 星期一 | tuesday dienstag mardi martes 周二 星期二
    | wednesday mittwoch mercredi miércoles 周三 星期三 | thursday donnerstag jeudi jueves 周四 星期四
    | friday freitag vendredi viernes 周五 星期五 | saturday samstag samedi sábado 周六 星期六
    | sunday sonntag dimanche domingo 周日 星期日 星期天;
january januar janvier enero | february februar février febrero | march märz marzo | april avril abril
    | May mai mayo | june juni juin junio | july juli juillet julio | august août agosto
    | september septembre septiembre | october oktober octobre octubre
    | november novembre noviembre | december dezember décembre diciembre;
spring frühling 春天 春季 | summer sommer 夏天 夏季 | autumn herbst 秋天 秋季 | winter 冬天 冬季;
morning vormittag vormittags 上午 早上 | afternoon nachmittag nachmittags 下午 | evening abend abends 晚上;
km kilometre kilometer kilometres kilometers 公里 千米 | mile miles meilen 英里
    | m metre meter metres meters 米
    | foot feet ft 英尺 尺 | yard yards 码 | inch inches 英寸 寸 | nautical 海里
    | cm centimetre centimeter centimetres centimeters 厘米
    | mm millimetre millimeter millimetres millimeters 毫米;
kg kilogram kilograms kilogramme kilogrammes kilo kilos 公斤 千克 | pound pounds lb lbs 磅
    | g gram grams gramm 克
    | ton tons tonne tonnes tonnen 吨 | ounce ounces oz 盎司 | mg milligram milligrams 毫克;
litre liter litres liters 升 公升 | gallon gallons 加仑
    | ml millilitre milliliter millilitres milliliters 毫升;
euro euros eur € 欧元 | dollar dollars usd $ 美元 | £ gbp 英镑 | yen jpy ¥ 日元 | yuan rmb cny 人民币
    | cent cents | franc francs chf 法郎 | crown crowns kronen | rupee rupees inr 卢比;
seconds sekunden 秒 秒钟 | minute minutes minuten 分钟 | hour hours stunde stunden 小时
    | day days tage tagen 天
    | week weeks woche wochen 星期 | month months monat monate monaten 个月 | year years jahr jahre jahren
    | decade decades jahrzehnt jahrzehnte | century centuries jahrhundert jahrhunderte 世纪;
celsius °c 摄氏 | fahrenheit °f 华氏;
hectare hectares hektar 公顷 | acre acres 英亩 | 亩
"""
"""A semicolon ends a group, "|" parts what excludes each other, and what stands between is the same.

A word may stand in several groups; a sign of a currency or a degree counts as a word.
"""

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
win won wins winner gewann 赢了 获胜 战胜 | lose lost loses loser verlor 输了 失败 败给;
buy bought buys kaufte 购买 | sell sold sells verkaufte 出售;
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
minimum mindestens 至少 最少 | maximum höchstens 至多 最多;
more mehr 超过 多于 | fewer less weniger 少于 不到;
begin begins began begun start starts started anfang 开始 | end ends ended ende finish finished 结束;
inside indoors indoor drinnen 室内 | outside outdoors outdoor draußen 室外;
import imports imported 进口 | export exports exported 出口;
arrive arrives arrived arrival ankunft 到达 | depart departs departed departure abfahrt 出发;
alive living lebt 活着 | dead died dies death gestorben starb 去世 死亡;
true wahr richtig | false falsch untrue;
same gleiche gleichen 相同 | different andere 不同;
always immer toujours siempre 总是 一直 | never nie jamais nunca 从不 从未
"""
"""The same for words that are undone by a negation: what is not open is closed."""

QUANTITIES = """
few wenige wenigen 少数 极少;
some several certain sometimes occasionally partly partially einige einigen manche manchmal teils
    quelques parfois algunos algunas alcuni sommige 一些 有些 部分 有时 某些 若干 几个;
many often frequently much viele vielen oft muchos molti veel 许多 很多 不少 经常 多个;
most mostly usually generally largely typically mainly meist meisten meistens 大多 多数 大部 通常 往往;
all every each always everyone everybody everything entirely completely invariably
    alle allen aller jeder jede jedes immer tous toutes toujours todos todas siempre
    tutti tutte sempre alles 所有 全部 全体 每个 总是 一切 一律
"""
"""How much a word makes of what it stands before, least first: the source must make as much of it."""
WITHIN = 3
"""The words behind such a word among which what it speaks of is looked for."""


class Contrasts(NamedTuple):
    """What a text says that something else would exclude.

    Attributes:
        members: of each group of the table, the members it names and the words it does so with.
        quantities: words of quantity: rank, the word, the stems among which it says of what.
    """

    members: Mapping[int, Mapping[int, str]]
    quantities: Sequence[tuple[int, str, frozenset[str]]]


class Clash(NamedTuple):
    """A word of a text that the source has another one for; an opposite is undone by a negation."""

    said: str
    instead: str
    is_opposite: bool = False


def contrasts(text: str, said: Sequence[Word]) -> Contrasts:
    """Look a text's words up in the tables."""
    members: defaultdict[int, dict[int, str]] = defaultdict(dict)
    quantities: list[tuple[int, str, frozenset[str]]] = []
    for at, word in enumerate(said):
        low = word.text.casefold()
        known = MEMBERS.get(low) or MEMBERS.get(word.text, ())  # only with a capital letter is May a month
        for group, member in known if len(low) > 1 else ():  # the m of p.m. is no metre
            members[group].setdefault(member, word.text)
        if low in RANKS:
            stems = frozenset(each.stem for each in said[at + 1 : at + 1 + WITHIN] if each.weight == 1)
            quantities.append((RANKS[low], word.text, stems))
    for sign in _SIGNS.findall(text.casefold()):
        for group, member in MEMBERS.get(sign, ()):
            members[group].setdefault(member, sign)
    return Contrasts(members, quantities)


def clashes(said: Contrasts, given: Sequence[Contrasts]) -> list[Clash]:
    """What a text says in another's stead, and what it makes more of."""
    found: list[Clash] = []
    for group, members in said.members.items():
        theirs = {member: word for each in given for member, word in each.members.get(group, {}).items()}
        if theirs and not members.keys() & theirs.keys():
            (mine, *_), (other, *_) = members.values(), theirs.values()
            found.append(Clash(mine, other, is_opposite=group >= FIRST_OPPOSITE))
    for rank, word, stems in said.quantities:
        others = [
            (less, other)
            for each in given
            for less, other, of in each.quantities
            if stems & of and less < rank
        ]
        reached = any(stems & of and as_much >= rank for each in given for as_much, _, of in each.quantities)
        if others and not reached:
            found.append(Clash(word, max(others)[1]))
    return found


def _groups(tables: str) -> list[list[list[str]]]:
    return [[member.split() for member in group.split("|")] for group in tables.split(";")]


def _members() -> Mapping[str, Sequence[tuple[int, int]]]:
    """Of each word, the groups it stands in and which member of the group it is."""
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for group, members in enumerate([*_groups(MEASURES), *_groups(OPPOSITES)]):
        for member, alike in enumerate(members):
            for word in alike:
                places[word].append((group, member))
    return MappingProxyType({word: tuple(found) for word, found in places.items()})


MEMBERS = _members()
FIRST_OPPOSITE = len(_groups(MEASURES))
RANKS = MappingProxyType(
    {word: rank for rank, ((*words,),) in enumerate(_groups(QUANTITIES)) for word in words}
)
_SIGNS = re.compile(r"°[cf]\b|[€$£¥]|(?<=\d)(?:[米尺寸克升吨磅秒天亩码]|[mg]\b)|(?<=\d )[mg]\b")
