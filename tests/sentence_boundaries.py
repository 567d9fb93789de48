"""Where texts in ten languages are cut into sentences, by kind.

`‖` stands where one sentence ends and the next begins, `⁀` where a naive cutter would end one that goes on.
A text begins with its language, followed by `?` where our cutter is wrong: mostly at abbreviations of
languages that only their words distinguish from English.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

BOUNDARIES: dict[str, list[str]] = {
    "abbreviations": [
        "en Dr.⁀ Smith met Rep.⁀ George Santos in St.⁀ Louis. ‖Sen.⁀ Cruz and Gov.⁀ Newsom were there, too.",
        "en Mr.⁀ and Mrs.⁀ Jones sold Acme Inc.⁀ to Fenn Corp.⁀ in Feb.⁀ 2021. ‖It went well.",
        "en Fruit, e.g.⁀ apples, is sold by U.S.⁀ farms, i.e.⁀ in the south.",
        "en See Fig.⁀ 3 and Sec.⁀ 4 for more.",
        "en The firm vs.⁀ the state, cf.⁀ Brown et al.⁀ (2019), was closed. ‖Nobody won.",
        "en Gen.⁀ Lee and Lt.⁀ Col.⁀ Grey left. ‖Prof.⁀ Ames stayed. ‖He lives at 5 Main St.⁀ in Ohio.",
        "de Das gilt z.⁀ B.⁀ für Brot, d.⁀ h.⁀ fast immer. ‖Dr.⁀ Maier sagte ca.⁀ 20 Euro zu. ‖Gut.",
        "de? Prof.⁀ Huber fuhr bzw.⁀ flog nach Bonn. ‖Er blieb dort ggf.⁀ zwei Tage. ‖Vgl.⁀ Abb.⁀ 3 dazu.",
        "de Die Firma hat u.⁀ a.⁀ Büros in Köln.",
        "de? Sie liegt in der Hauptstr.⁀ 5 und hat etwa 3 Mio.⁀ Euro Umsatz.",
        "fr M.⁀ Dupont et Mme Leroy sont partis. ‖Le Dr.⁀ Martin est resté. ‖Voir p.⁀ 12 et art.⁀ 5.",
        "fr? Elle vit au bd.⁀ Voltaire, cf.⁀ le plan. ‖Il pleut. ‖Prof.⁀ Blanc arrive demain.",
        "es? El Sr.⁀ López y la Sra.⁀ Ruiz viven en la Av.⁀ Central. ‖El Dr.⁀ Gil no vino. ‖Vea la pág.⁀ 7.",
        "es? Ud.⁀ puede pagar aprox.⁀ 20 euros. ‖Es barato. ‖El museo está en EE.⁀ UU.⁀ desde 1990.",
        "it? Il Sig.⁀ Rossi e il Dott.⁀ Verdi sono a Roma. ‖Vedi pag.⁀ 8 e art.⁀ 3. ‖È tutto.",
        "it? L'Ing.⁀ Neri ha l'ufficio in via Po. ‖Costa ca.⁀ 30 euro. ‖Prof.⁀ Bianchi lo conosce.",
        "ru Он родился в 1990 г.⁀ в Москве. ‖Это стоит 5 руб.⁀ за штуку, т.⁀ е.⁀ мало.",
        "ru Дом на ул.⁀ Мира закрыт.",
        "ru? См.⁀ рис.⁀ 3 и табл.⁀ 4. ‖Проф.⁀ Иванов и др.⁀ ушли. ‖Там живут 3 млн.⁀ человек.",
        "hi? डॉ.⁀ शर्मा दिल्ली में हैं। ‖प्रो.⁀ वर्मा नहीं आए।",
        "en The answer is no. ‖It is so. ‖They met in May. ‖He took it all in.",
        "en It is art. ‖So is he. ‖It is an ad. ‖Go.",
        "en She works for Fenn Inc. ‖He has apples, pears, etc. ‖They all left.",
        "en It is 5 km. ‖It weighs 3 kg. ‖Fine.",
        "de Es ist so. ‖Das war im Mai. ‖Dann ging er. ‖Wir sind da. ‖Er hat es. ‖Das war gut.",
        "fr? Il est là. ‖Elle va. ‖On y va. ‖C'est si bon. ‖Il le dit. ‖Fin.",
        "es? Es así. ‖Ella va. ‖Lo sé. ‖Es mi casa. ‖Fin.",
        "it? È così. ‖Lei va. ‖Lo so. ‖Va bene. ‖Fine.",
        "ru Это так. ‖Он тут. ‖Она там. ‖Это мой дом. ‖Да. ‖Нет.",
    ],
    "initials": [
        "en J.⁀ R.⁀ R.⁀ Tolkien wrote it. ‖George W.⁀ Bush read it. ‖So did J.K. Rowling.",
        "en It was Franklin D.⁀ Roosevelt. ‖He met W.E.B. Du Bois and E.⁀ M.⁀ Forster. ‖All left.",
        'en Robert F.⁀ "Bob" Miller came. ‖John F.⁀ Kennedy did not.',
        "de E.⁀ T.⁀ A.⁀ Hoffmann schrieb es. ‖J.⁀ S.⁀ Bach nicht.",
        "fr Le roman de J.⁀ Verne est long. ‖Celui de G.⁀ Sand est court.",
        "es J.⁀ L.⁀ Borges lo escribió. ‖F.⁀ García no.",
        "it G.⁀ Verdi nacque a Busseto. ‖A.⁀ Manzoni a Milano.",
        "ru А.⁀ С.⁀ Пушкин написал роман. ‖Л.⁀ Н.⁀ Толстой тоже. ‖Его знал И.⁀ Бунин.",
        "en It is plan B. ‖Take vitamin C. ‖He got an A. ‖It was he and I. ‖Then she left.",
        "ru Это план Б. ‖Он ушёл. ‖Она и я. ‖Потом дождь.",
    ],
    "times and acronyms": [
        "en It opens at 9 a.m.⁀ on Monday and closes at 5 p.m.⁀ on Friday. ‖Come early.",
        "en It closes at 5 p.m. ‖The café stays open. ‖It opens at 9 a.m. ‖We start then.",
        "en He lives in the U.S. ‖She does not. ‖The U.S.⁀ Army and the U.K.⁀ government agreed.",
        "en She has a Ph.D.⁀ in physics from Washington, D.C.⁀ and lives there. ‖He does not.",
        "en It was built in 200 B.C.⁀ by slaves. ‖It fell in 40 A.D.⁀ or so.",
        "es Abre a las 9 a.⁀ m.⁀ y cierra a las 5 p.⁀ m.⁀ los lunes. ‖Venga pronto.",
        "de Es öffnet um 9 Uhr. ‖Um 17 Uhr schließt es.",
        "ru Это было в 5 в.⁀ до н.⁀ э.⁀ на юге. ‖Потом он пал.",
    ],
    "numbers": [
        "en See No.⁀ 5 and No.⁀ 12 on p.⁀ 3. ‖Vol.⁀ 2 has pp.⁀ 4 to 9. ‖Ch.⁀ 3 is short.",
        "en It costs 3.50 euros and weighs 1.2 kg. ‖It was 2.5 in 2019. ‖Then it rose.",
        "en The share is .5 percent, or 0.25. ‖It has 10. ‖Twelve came.",
        "en In 1990. ‖Then in 1991. ‖It grew to 3,000.50 in May.",
        "de? Am 3.⁀ Oktober 1990 kam Nr.⁀ 5 dran. ‖Es kostet 3,50 Euro. ‖Der 2.⁀ Weltkrieg endete 1945.",
        "de? Ludwig XIV.⁀ starb am 1.⁀ September. ‖Er war alt. ‖Kap.⁀ 2 sagt mehr.",
        "fr Le n°⁀ 5 coûte 3,50 euros. ‖Le no.⁀ 6 coûte 1.200 euros. ‖Louis XIV mourut en 1715.",
        "es El n.º⁀ 5 cuesta 3,50 euros. ‖El 1.º⁀ de mayo es fiesta. ‖Pesa 1.200 kg.",
        "it Il n.⁀ 5 costa 3,50 euro. ‖Pesa 1.200 kg. ‖Art.⁀ 5 vale.",
        "ru Дом № 5 стоит 3,50 млн. ‖Стр.⁀ 12 пуста. ‖Вес 1.200 кг.",
        "zh 价格是3.5元。‖重量是1.2公斤。‖第5号很好。",
        "ja 価格は3.5ドルです。‖重さは1.2キロです。",
        "ar السعر 3.5 دولار. ‖الوزن 1.2 كغ.",
        "hi कीमत 3.5 रुपये है। ‖वज़न 1.2 किलो है।",
        "en He has 3 of 10. ‖5 of them are red. ‖It fell by 2%. ‖It cost $5. ‖That was 1999. ‖Now it is $6.",
    ],
    "versions and files": [
        "en Use Python 3.11.2 or v2.0.1. ‖Not 3.12rc1. ‖Edit config.yaml and main.py first.",
        "en Version 1.2. ‖Both work. ‖See the .NET docs. ‖Run ./setup.sh now.",
        "en Node.js and Vue.js are fine. ‖ASP.NET is not. ‖Section 2.3.1 says why.",
        "de Nutze Version 2.1.3 von Node.js. ‖Nicht 3.0. ‖Die Datei a.txt fehlt.",
        "fr Utilisez la version 3.2.1. ‖Pas la 4.0. ‖Le fichier a.txt manque.",
        "zh 请使用Python 3.11.2版本。‖不要用2.7。‖文件是a.txt。",
    ],
    "addresses": [
        "en See https://a.example/b.html?q=1.2&r=3. ‖Then write to jo.do@a.example.com. ‖Thanks.",
        "en Is it at www.a.example/x? ‖Yes. ‖Ask @jo.do about a.example!⁀com now.",
        "en The host 127.0.0.1:8080 is up. ‖Open http://b.example/?a=!b&c=d.e today. ‖Done.",
        "de Siehe https://a.example/b?c=d.e. ‖Schreiben Sie an jo@a.example. ‖Danke.",
        "es Vea www.a.example.es/b. ‖Escriba a jo@a.example. ‖Gracias.",
        "ru Смотрите https://a.example/б.html. ‖Пишите на jo@a.example. ‖Спасибо.",
        "zh 请看https://a.example/b.html。‖谢谢。",
    ],
    "quotations": [
        'en "Why?"⁀ he asked. ‖"I do not know," she said. ‖He left.',
        "en “It is late!”⁀ she cried. ‖“Yes.” ‖“Then go.” ‖He said “go.” ‖She did.",
        'en The sign says "Stop!"⁀ in red. ‖He read "What is it?"⁀ and left. ‖It is \'fine.\' ‖Good.',
        'en He left. ‖"I am late," he said. ‖It is (so he says) true. ‖(It is not.) ‖We will see.',
        "en She wrote (see p.⁀ 5 etc.)⁀ a book. ‖It sold well (very well!)⁀ for years. ‖Then it did not.",
        "de „Warum?“⁀ fragte er. ‖„Es ist spät.“ ‖Er ging. ‖»Ich komme.« ‖Dann lief er.",
        "de Er sagte: „Halt!“⁀ und lief. ‖Das Schild „Stopp!“⁀ ist rot. ‖Gut.",
        "fr « Pourquoi ? »⁀ demanda-t-il. ‖Il a dit « oui. » ‖Puis non. ‖« Bien ! » ‖Elle part.",
        "es «¿Por qué?»⁀ preguntó. ‖“Es tarde.” ‖Se fue. ‖¿Qué? ‖¡No! ‖Bien.",
        "it «Perché?»⁀ chiese. ‖“È tardi.” ‖Andò via. ‖Davvero? ‖Sì!",
        "ru «Почему?»⁀ — спросил он. ‖«Поздно.» ‖Он ушёл. ‖„Да!“ ‖Она тоже.",
        "zh “为什么？”⁀他问。‖“很晚了。”‖他走了。‖她说：“好！”⁀然后回家。",
        "ja 「なぜ？」⁀と聞いた。‖「遅い。」‖彼は帰った。‖『はい。』‖終わり。",
        "ar قال: «نعم.» ‖ثم ذهب. ‖“لماذا؟” ‖لا أعرف.",
        "hi? “क्यों?”⁀ उसने पूछा। ‖“देर है।” ‖वह चला गया।",
        "en **Yes.** ‖It is open. ‖*Closed!* ‖_No._",
        "en All day. ‖It is **new.** ‖See [the page](https://a.example). ‖Good.",
    ],
    "marks of every script": [
        "en One. ‖Two! ‖Three? ‖Four?! ‖Five!!! ‖Six",
        "en Wait...⁀ what? ‖Well... ‖No. ‖It goes on…⁀ and on. ‖He left … ‖She came.",
        "en Yahoo! ‖It is up. ‖Is it? ‖It is.",
        "de Gut! ‖Wirklich? ‖Na ja...⁀ vielleicht. ‖Gut.",
        "fr Vraiment ? ‖Oui ! ‖C'est vrai ; enfin… ‖Bien.",
        "es ¿Es verdad? ‖¡Claro! ‖No sé… ‖Bueno.",
        "it Davvero? ‖Certo! ‖Non so...⁀ forse. ‖Bene.",
        "ru Правда? ‖Конечно! ‖Не знаю… ‖Хорошо.",
        "zh 真的吗？‖当然！‖我不知道……\n‖好的。‖他来了，她走了；下雨了。‖完",
        "ja 本当ですか？‖もちろん！‖わかりません。‖はい。",
        "ar هل هذا صحيح؟ ‖نعم، صحيح. ‖ثم ذهب! ‖انتهى.",
        "hi क्या यह सच है? ‖हाँ। ‖मैं नहीं जानता। ‖ठीक है॥ ‖अच्छा।",
        "zh? 他去了上海.‖Then he left. ‖很好！",
        "ja それは良い。‖It is good. ‖終わり。",
        "en It works! ‖Does it? ‖It does; it did: always. ‖No, never - not once. ‖Right?! ‖Right.",
        "ar أين المتحف؟ ‖في المدينة. ‖متى يفتح؟ ‖الآن. ‖شكرا!",
        "hi वह कौन है? ‖वह राम है। ‖क्या वह यहाँ है? ‖नहीं! ‖अच्छा।",
        "ja 彼は誰ですか？‖田中さんです。‖今日は休みですか？‖いいえ！‖では、また。",
    ],
    "lists": [
        "en In short: ‖\n- one\n‖- two goes on. ⁀ And more.\n‖- three",
        "en Steps:\n‖1. Open it.\n‖2. Close it. ⁀ Then wait.\n‖3. Leave",
        "en a) first thing\n‖b) second thing\n‖(c) third thing\n‖Done.",
        "en * one wrapped\n⁀  item that goes on\n‖* two\n‖  - inner. ⁀ Still.\n‖  - other\n‖\nEnd.",
        "en • Price: 5 euros\n‖• Hours: 9 a.m. ⁀ Daily.\n‖▪ Free\n‖– last",
        "de 1. Öffnen.\n‖2. Schließen. ⁀ Warten.\n‖10. Gehen.",
        "fr - un\n‖- deux. ⁀ Puis trois.\n‖- quatre",
        "es Pasos:\n‖1) Abrir.\n‖2) Cerrar. ⁀ Esperar.",
        "ru 1. Открыть.\n‖2. Закрыть. ⁀ Ждать.\n‖а) конец",
        "zh 步骤：\n‖1、打开。⁀再等。\n‖2、关闭。\n‖• 结束。",
        "ja 1. 開ける。⁀待つ。\n‖2. 閉める。\n‖・終わり。",
        "ar - واحد\n‖- اثنان. ⁀ ثم ثلاثة.\n‖١. أربعة",
        "hi 1. खोलें। ⁀ रुकें।\n‖2. बंद करें।",
    ],
    "tables": [
        "en | Name | Price |\n⁀|---|---|\n‖| Fenn Inc. ⁀ Ohio | 3.50 |\n",
        "en | Orsel. ⁀ Sold! ⁀ | 4 |\n‖\nThat is all.",
        "en Prices:\n‖\n| a. | B |\n⁀| :-- | --: |\n‖| No. ⁀ 5 | yes? ⁀ No |",
        "de | Was | Wert |\n⁀|---|---|\n‖| Dr. ⁀ Maier | 3. ⁀ Platz |\n‖Ende.",
        "zh | 名称 | 价格 |\n⁀|---|---|\n‖| 甲。⁀乙 | 3元 |\n‖结束。",
    ],
    "headings": [
        "en # Prices\n‖It costs 5. ‖That is all.\n‖\n## 2.1 Hours. ⁀ Daily\n‖Nine to five",
        "en Prices\n⁀======\n‖It costs 5.\n‖\nOpening hours\n‖\nNine to five. ‖Daily.",
        "en **Prices**\n‖It costs 5.\n‖\n**Hours:**\n‖Nine to five.\n⁀---\n‖End",
        "de # Preise\n‖Es kostet 5. ‖Mehr nicht.",
        "fr ## Prix\n‖Il coûte 5. ‖C'est tout.",
        "ru # Цены\n‖Стоит 5. ‖Это всё.",
        "zh # 价格\n‖五元。‖就这些。",
        "ja ## 価格\n‖5円です。‖以上。",
        "ar # السعر\n‖خمسة. ‖انتهى.",
    ],
    "code": [
        "en Run this:\n⁀```python\n‖x = a.b. ⁀ C\n‖print('Hi! ⁀ You')\n⁀```\n‖Done. ‖Good.",
        "en ```\nmake test\n‖make lint\n⁀```\n‖\nThen `a.B. C` works. ‖Use `x = 1.5`. ‖End.",
        "en ~~~sh\nrm -rf a. ⁀ B\n‖ls\n⁀~~~\n‖All gone.",
        "de So:\n⁀```\n‖x = 1\n‖y = 2\n⁀```\n‖Fertig.",
        "en First:\n⁀```js\n‖let a = 1;\n\n‖if (a) {\n‖  b();\n⁀}\n⁀```\n‖Then stop. ‖Or go.",
    ],
    "dialogue": [
        "en A: Is it open?\n‖B: Yes. ‖It is.\n‖A: Good.",
        "en User: Where is it? ‖I lost it.\n‖Agent: In Ohio.",
        "fr? — Où est-il ?⁀ demanda-t-elle.\n‖— Ici. ‖Tout près.\n‖— Bien !",
        "es —¿Dónde está?⁀ —preguntó ella.\n‖—Aquí. ‖Muy cerca.\n‖—¡Bien!",
        "ru — Где он?⁀ — спросила она.\n‖— Здесь. ‖Рядом.\n‖— Хорошо!",
        "de Kunde: Ist es offen?\n‖Agent: Ja. ‖Bis fünf.",
        "zh 甲：开门吗？\n‖乙：是的。‖到五点。",
        "ja 客：開いていますか？\n‖店：はい。‖五時までです。",
        "en? Q: Is it far? ‖A: No. ‖Q: How far?\n‖A: 5 km. ‖Walk!",
        "it Cliente: È aperto?\n‖Agente: Sì. ‖Fino alle cinque.",
    ],
    "citation markers": [
        "en It is 31 m high.⁀[1] ‖It is old.⁀ [2] ‖It is open.⁀[1, 3] ‖It is free [4]. ‖Come.",
        "en It is high.⁀[1][2] ‖It is old.⁀ [^3] ‖Nobody knows.⁀ [4]\n‖New line.",
        "en It is 31 m high. ‖(1) It fell.⁀ [Document 2] ‖Then it rose.⁀ 【3】 ‖The end.",
        "en? He left.⁀[12] ‖[13] says so. ‖Is it?⁀ [5] ‖It is.⁀¹ ‖So it is.⁀²",
        "en It ended.” ⁀[6] ‖They said so.⁀ [source: a.pdf] ‖Good.",
        "de Er ist hoch.⁀[1] ‖Er ist alt.⁀ [2] ‖Gut [3].",
        "fr Elle est haute.⁀[1] ‖Elle est vieille.⁀ [2] ‖Bien.",
        "es? Es alta.⁀[1] ‖Es vieja.⁀ [2] ‖Bien.",
        "ru Она высокая.⁀[1] ‖Она старая.⁀ [2] ‖Хорошо.",
        "zh 它高31米。⁀[1]‖它很旧。⁀【2】‖好。",
        "ja 高さは31mです。⁀[1]‖古いです。⁀【2】‖終わり。",
        "ar ارتفاعه 31 مترا.⁀[1] ‖وهو قديم.⁀ [2] ‖انتهى.",
        "hi यह ऊँचा है।⁀[1] ‖यह पुराना है।⁀ [2] ‖ठीक।",
    ],
    "no punctuation": [
        "en it opens at nine and closes at five come early",
        "en Opening hours\n‖Nine to five\n‖Closed on Monday",
        "en a wrapped\n⁀line goes on\n‖\nnew paragraph here",
        "en just practice . ‖go out . ‖come home .",
        "de Öffnungszeiten\n‖Neun bis fünf\n‖\nMontag zu",
        "zh 开放时间\n‖九点到五点",
        "ja 営業時間\n‖九時から五時",
        "ar ساعات العمل\n‖من تسعة إلى خمسة",
        "hi खुलने का समय\n‖नौ से पाँच",
        "en 😀\n⁀Hi there 👍\n⁀---\n‖Bye ***\n⁀🙂",
        "ru Часы работы\n‖С девяти до пяти\n‖Вход свободный",
        "es Horario\n‖De nueve a cinco\n‖Lunes cerrado",
    ],
    "JSON": [
        'en {"status": "open. ⁀ Now", ‖"hours": [9, 17]}',
        'en [{"id": 1, ⁀"x": "y. ⁀ Z"}, ‖{"id": 2}]',
        'en {"rows": [{"id": 1}, ‖{"id": 2}], ‖"n": 2}',
        'zh {"状态": "开。⁀现在", ‖"时间": "九点"}',
        'en {"a": {"b": [{"c": "One. ⁀ Two"}, ⁀{"c": 2}]}, ‖"d": null, ‖"e": "x"}',
    ],
}


class MarkedText(NamedTuple):
    """A text, where sentences of it begin, where none do, and whether we cut it otherwise."""

    language: str
    text: str
    cuts: frozenset[int]
    joints: frozenset[int]
    is_missed: bool


def place_of(text: str, index: int) -> int:
    """The place behind the white space at an index: where the next sentence begins."""
    return len(text) - len(text[index:].lstrip())


def read_marks(marked: str) -> MarkedText:
    language, _, rest = marked.partition(" ")
    is_missed = language.endswith("?")
    text = ""
    places: list[tuple[str, int]] = []
    for sign in rest:
        if sign in "‖⁀":
            places.append((sign, len(text)))
        else:
            text += sign
    cuts = frozenset(place_of(text, index) for sign, index in places if sign == "‖")
    joints = frozenset(place_of(text, index) for sign, index in places if sign == "⁀")
    return MarkedText(language.rstrip("?"), text, cuts, joints, is_missed)


def marked_texts() -> Iterator[tuple[str, MarkedText]]:
    for kind, texts in BOUNDARIES.items():
        for marked in texts:
            yield kind, read_marks(marked)
