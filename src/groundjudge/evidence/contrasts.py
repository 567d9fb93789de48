"""Words that exclude each other where one stands in the other's stead: weekdays, units, opposites."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

WEEKDAYS = """
monday mondays mon montag montags lundi lundis lunes lunedì segunda maandag понедельник понедельникам
    pazartesi الاثنين 周一 週一 星期一 礼拜一 月曜 월요일
| tuesday tuesdays tue dienstag dienstags mardi mardis martes martedì terça dinsdag вторник вторникам
    salı الثلاثاء 周二 週二 星期二 礼拜二 火曜 화요일
| wednesday wednesdays wed mittwoch mittwochs mercredi mercredis miércoles mercoledì quarta woensdag среда
    среду средам çarşamba الأربعاء 周三 週三 星期三 礼拜三 水曜 수요일
| thursday thursdays thu donnerstag donnerstags jeudi jeudis jueves giovedì quinta donderdag четверг четвергам
    perşembe الخميس 周四 週四 星期四 礼拜四 木曜 목요일
| friday fridays fri freitag freitags vendredi vendredis viernes venerdì sexta vrijdag пятница пятницу
    пятницам cuma الجمعة 周五 週五 星期五 礼拜五 金曜 금요일
| saturday saturdays sat samstag samstags sonnabend samedi samedis sábado sábados sabato zaterdag суббота
    субботу субботам cumartesi السبت 周六 週六 星期六 礼拜六 土曜 토요일
| sunday sundays sun sonntag sonntags dimanche dimanches domingo domingos domenica zondag воскресенье
    воскресеньям pazar الأحد 周日 週日 星期日 星期天 礼拜天 日曜 일요일
"""
MONTHS = """
january jan januar janvier enero gennaio janeiro januari январь января
| february feb februar février febrero febbraio fevereiro februari февраль февраля
| march märz mars marzo março maart март марта | april avril abril aprile апрель апреля
| may mai mayo maggio maio mei май мая | june juni juin junio giugno junho июнь июня
| july juli juillet julio luglio julho июль июля | august août agosto augustus август августа
| september sept septembre septiembre settembre setembro сентябрь сентября
| october oct oktober octobre octubre ottobre outubro октябрь октября
| november nov novembre noviembre novembro ноябрь ноября
| december dec dezember décembre diciembre dicembre dezembro декабрь декабря
"""
TIMES = """
spring frühling printemps primavera 春天 春季 | summer sommer été verano estate 夏天 夏季
| autumn herbst automne otoño autunno 秋天 秋季 | winter hiver invierno inverno 冬天 冬季;
morning mornings vormittag vormittags matin mañana mattina утром 上午 早上 午前
| afternoon afternoons nachmittag nachmittags tarde pomeriggio днём 下午 午後
| evening evenings abend abends soir noche sera вечером 晚上 夜间;
yesterday gestern hier ayer ieri вчера 昨天 昨日 | today heute hoy oggi сегодня 今天 今日
| tomorrow morgen demain domani завтра 明天 明日;
去年 上周 上月 | 今年 本周 本月 | 明年 下周 下月;
am | pm
"""
UNITS = """
km kilometre kilometer kilometres kilometers kilomètres kilómetros километров 公里 千米
| m metre meter metres meters mètres metros метров 米 | mile miles meilen 英里 | foot feet ft 英尺
| yard yards 码 | inch inches 英寸 | cm centimetre centimeter centimetres centimeters zentimeter 厘米
| mm millimetre millimeter millimetres millimeters 毫米
| kg kilogram kilograms kilogramme kilogrammes kilogramm kilo kilos 公斤 千克 | 斤 | pounds lb lbs 磅
| g gram grams gramm grammes gramos 克 | tonne tonnes tonnen ton tons 吨 | ounce ounces oz 盎司
| mg milligram milligrams milligramm 毫克 | litre liter litres liters litros 升 | gallon gallons 加仑
| ml millilitre milliliter millilitres milliliters 毫升
| euro euros eur € евро 欧元 歐元 | dollar dollars usd $ dólares 美元 | £ gbp 英镑 英鎊 | yen jpy ¥ 日元 円
| yuan rmb cny 元 块 塊 人民币 | cent cents | franc francs chf franken 法郎 | rupee rupees inr 卢比
| ruble rubles рублей руб | lira tl
| second seconds sec sekunde sekunden secondes segundos 秒 秒钟 | minute minutes min mins minuten minutos
    минут 分钟 分鐘
| hour hours hr hrs hourly stunde stunden heure heures hora horas ore часов 小时 小時
| day days daily tag tage tagen täglich jour jours día días giorni dagen дней 天 日
| night nights nacht nächte nuit nuits noche noches 晚
| week weeks weekly woche wochen wöchentlich semaine semaines semana semanas settimane недель 周 週 星期
| month months monthly monat monate monaten monatlich mois mes meses mesi месяцев 个月 個月 月
| year years yearly annual annually jahr jahre jahren jährlich an ans année années año años anni лет 年
| decade decades jahrzehnt jahrzehnte | century centuries jahrhundert jahrhunderte 世纪
| celsius ℃ 摄氏度 | fahrenheit ℉ 华氏度
| kb | mb | gb | tb | kw kilowatt kilowatts 千瓦 | mw megawatt megawatts | gw
| % percent percents prozent pourcent ％ | ‰ permille promille mille | hectare hectares hektar 公顷
| acre acres 英亩 | 亩
"""
OPPOSITES = """
open opens opened opening geöffnet offen ouvert ouverte ouverts abierto abierta aperto aberto
    открыт открыта 开放 开门 開放
| closed close closes closing shut geschlossen fermé fermée fermés cerrado cerrada chiuso fechado
    закрыт закрыта 关闭 关门 闭馆 閉館;
before vor avant antes prima до 之前 以前 | after nach après después dopo после 之后 以后;
above over oberhalb über | below under unterhalb unter;
increase~ rise rises rose risen rising grow grows grew steigt stieg gestiegen augmente aumenta aumentó
    增加 上升 增长
| decrease~ fall falls fell fallen drop drops dropped decline~ sinkt sank gesunken diminue disminuye
    disminuyó 减少 下降;
first erste ersten erster premier primero | last letzte letzten letzter dernier último;
north northern norden 北部 北方 北边 | south southern süden 南部 南方 南边
| east eastern osten 东部 东方 东边 | west western westen 西部 西方 西边;
left links gauche izquierda 左边 左侧 | right rechts droite derecha 右边 右侧;
accept~ akzeptiert angenommen acepta aceptó 接受
| reject~ refuse~ decline~ abgelehnt rechaza rechazó 拒绝;
allow~ permit permits permitted erlaubt gestattet autorisé autorisée permitido permitida разрешено разрешён
    允许 可以
| forbid forbids forbade forbidden prohibit~ ban bans banned verboten untersagt interdit interdite prohibido
    prohibida запрещено запрещён 禁止;
mandatory compulsory obligatory required pflicht verpflichtend obligatoire obligatorio 必须
| optional voluntary freiwillig facultatif opcional 自愿 可选;
include~ including enthalten inbegriffen inclus incluye 包括 包含
| exclude~ excluding except ausgeschlossen exclu excluye 不含 除外;
male man men mann männer homme hombre 男性 男子 | female woman women frau frauen femme mujer 女性 女子;
father vater père padre 父亲 | mother mutter mère madre 母亲; son sohn 儿子 | daughter tochter 女儿;
brother bruder frère hermano | sister schwester sœur hermana;
husband ehemann 丈夫 | wife ehefrau 妻子;
earlier früher 更早 | later später 更晚;
high higher highest hoch höher | low lower lowest niedrig niedriger;
large larger largest big bigger biggest groß größer 最大 | small smaller smallest klein kleiner 最小;
oldest älteste 最老 | youngest newest neueste 最新; longest längste 最长 | shortest kürzeste 最短;
cheap cheaper cheapest billig 便宜 | expensive teuer teurer 昂贵;
minimum least mindestens mínimo 至少 最少 | maximum most höchstens máximo 至多 最多;
more mehr plus más 超过 多于 | fewer less weniger moins menos 少于 不到;
begin begins began begun start~ beginnt commence comienza empieza 开始
| end ends ended endet finish~ termine termina 结束;
inside indoors indoor drinnen innen 室内 | outside outdoors outdoor draußen außen 室外;
import~ 进口 | export~ 出口;
arrive~ arrival ankunft arrivée llegada 到达 | depart~ departure abfahrt départ salida 出发;
alive living lebt 活着 | dead died dies death gestorben starb 去世 死亡;
true wahr richtig | false falsch untrue;
same gleiche gleichen 相同 | different andere anderen 不同;
always immer toujours siempre sempre 总是 一直 | sometimes manchmal parfois 有时 | never nie jamais nunca;
all every each alle jeder tous todos 所有 全部 | some several einige manche quelques algunos 一些 有些 部分;
win wins won winner gewann 赢了 获胜 战胜 | lose loses lost loser verlor 输了 输给 失败 败给;
buy buys bought kaufte kauft 购买 买 | sell sells sold verkaufte verkauft 出售 卖;
borrow~ ausleihen emprunter 借入 | lend lends lent lending verleihen prêter 借出;
enter~ betreten 进入 | leave leaves left verlassen 离开;
add~ | remove~ subtract~; give gives gave given | take takes took taken receive~ ;
with mit avec con com | without ohne sans sin sem;
on | off; public öffentlich | private privat; free gratis kostenlos gratuit | paid kostenpflichtig payant;
warm hot heiß 热 | cold kalt 冷; success succeed~ succeeded 成功 | failure fail~ 失败
"""
GROUPS = f"{WEEKDAYS};{MONTHS};{TIMES};{UNITS};{OPPOSITES}"
"""A semicolon ends a group, "|" parts what excludes each other, and what stands between is the same.

`accept~` stands for accept, accepts, accepted, accepting. A word may stand in several groups.
"""

Places = dict[int, list[str]]
"""For each group what a text names of it, in order."""

_UNSPACED = re.compile("[\u3041-\u9fff\uac00-\ud7a3]")
_TOKEN = re.compile(r"[^\W\d_]+|[%‰€$£¥℃℉％]")
_NUMERAL = r"(?<=[\d〇零一二两兩三四五六七八九十百千万萬亿億每个個半几幾])"


def contrasts(text: str) -> Places:
    """What a text in small letters names of each group of the tables."""
    words, signs = _tables()
    found = [(token.start(), place) for token in _TOKEN.finditer(text) for place in words.get(token[0], ())]
    for sign in signs.finditer(text):
        found.extend((sign.start(), place) for place in words[sign[0]])
    places: Places = defaultdict(list)
    for _, (group, member) in sorted(found):
        places[group].append(member)
    return places


@cache
def _tables() -> tuple[dict[str, list[tuple[int, str]]], re.Pattern[str]]:
    """The places of each word in the tables, and a pattern for those of scripts without spaces."""
    words: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for group, members in enumerate(GROUPS.split(";")):
        for member, names in enumerate(members.split("|")):
            for name in names.split():
                for form in _forms(name):
                    words[form].append((group, str(member)))
    units = {word for word in UNITS.split() if _UNSPACED.match(word)}
    signs = sorted((word for word in words if _UNSPACED.match(word)), key=len, reverse=True)
    ways = [rf"{_NUMERAL}{sign}" if sign in units else sign for sign in signs]
    first = "".join(sorted({sign[0] for sign in signs}))
    return dict(words), re.compile(f"(?=[{first}])(?:{'|'.join(ways)})")  # the lookahead only saves time


def _forms(name: str) -> list[str]:
    if not name.endswith("~"):
        return [name]
    stem = name[:-1]
    short = stem.removesuffix("e")
    return [stem, f"{stem}s", f"{short}ed", f"{short}ing"]
