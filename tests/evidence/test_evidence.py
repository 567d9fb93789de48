"""Quotes are found in documents with offsets, or reported as altered or not found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge import Document, evidence
from groundjudge.evidence import Sources
from groundjudge.text.sentences import sentences
from groundjudge.types import Evidence


def find(
    quotes: Sequence[str], documents: Sequence[Document]
) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    return evidence.find(quotes, Sources(documents))


LIBRARY = (
    "The library opens at 9:00 on weekdays.\nIt does not open on Sundays, and “guided tours” cost 4.50 euros."
)
SHOP = "Returns are accepted within 30 days of delivery. Shoes that were worn are not accepted."
STRASSE = "Die Straße ist von November bis April für Lastwagen über 7,5 Tonnen gesperrt."
CHINESE = "该博物馆每周一闭馆，成人票价为八十元，儿童免费参观。"
DOCUMENTS = [Document(content=text) for text in (LIBRARY, SHOP, STRASSE, CHINESE)]

FOUND = [
    # quote, matching text of the source, exact
    ("The library opens at 9:00 on weekdays.", "The library opens at 9:00 on weekdays.", True),
    ("  the LIBRARY opens at\n9:00  on weekdays. ", "The library opens at 9:00 on weekdays.", True),
    ("on weekdays. It does not open", "on weekdays.\nIt does not open", True),
    ('"guided tours" cost', "“guided tours” cost", True),
    (
        '"Returns are accepted within 30 days of delivery."',
        "Returns are accepted within 30 days of delivery.",
        True,
    ),
    ("Die STRASSE ist von November bis April", "Die Straße ist von November bis April", True),
    ("成人票价为八十元", "成人票价为八十元", True),
    (
        "Returns were accepted within 30 days of a delivery.",
        "Returns are accepted within 30 days of delivery.",
        False,
    ),
    ("- Shoes that were worn are not accepted.", "Shoes that were worn are not accepted.", True),
]


@pytest.mark.parametrize(("quote", "source", "exact"), FOUND)
def test_quote_is_found_at_its_offsets(quote: str, source: str, exact: bool) -> None:  # noqa: FBT001
    (evidence,), warnings = find([quote], DOCUMENTS)
    assert DOCUMENTS[evidence.document].content[evidence.start : evidence.end] == source
    assert evidence.exact is exact
    assert warnings == ()


def sources(quote: str) -> list[str]:
    found, _ = find([quote], DOCUMENTS)
    return [DOCUMENTS[each.document].content[each.start : each.end] for each in found]


@pytest.mark.parametrize(
    "quote",
    [
        "The library opens at 9:00 ... Returns are accepted within 30 days",
        "The library opens at 9:00 [...] Returns are accepted within 30 days",
        "The library opens at 9:00 … returns are accepted within 30 days",
        '"The library opens at 9:00", "Returns are accepted within 30 days"',
        "- The library opens at 9:00\n- Returns are accepted within 30 days",
        "1. The library opens at 9:00\n2. Returns are accepted within 30 days",
    ],
)
def test_joined_and_listed_quotes_are_found_one_by_one(quote: str) -> None:
    assert sources(quote) == ["The library opens at 9:00", "Returns are accepted within 30 days"]


def test_quote_whose_source_has_an_ellipsis_is_one_quote() -> None:
    document = Document(content="He paused ... and went on.")
    (evidence,), _ = find(["He paused ... and went on."], [document])
    assert (evidence.start, evidence.end) == (0, len(document.content))


@pytest.mark.parametrize(
    ("quote", "warning"),
    [
        ("Returns are accepted within 60 days of delivery.", "evidence_altered"),
        ("Shoes that were worn are now accepted.", "evidence_altered"),
        ("The library opens at 9:30 on weekdays.", "evidence_altered"),
        ("Returns are rejected", "evidence_altered"),
        ("The museum is closed on Mondays all year round.", "evidence_not_found"),
        ("Sixty days is what the law of the land demands.", "evidence_not_found"),
    ],
)
def test_quote_with_another_meaning_is_a_warning(quote: str, warning: str) -> None:
    assert find([quote], DOCUMENTS) == ((), (warning,))


FORMATTING = [
    # source, quote, matching text of the source, exact
    (
        normalize("NFD", "Oh! O café não abre."),
        "O café não abre.",
        normalize("NFD", "O café não abre."),
        False,
    ),
    ("Oh! O café não abre.", normalize("NFD", "O café não abre."), "O café não abre.", False),
    (normalize("NFD", "서울 박물관"), "박물관", normalize("NFD", "박물관"), False),
    ("**Opening hours:** 9 to 5", "Opening hours: 9 to 5", "Opening hours:** 9 to 5", False),
    ("the ground\u200bjudge of\u00a0all", "groundjudge of all", "ground\u200bjudge of\u00a0all", False),
    ("istanbul İSTANBUL büyük", "İstanbul büyük", "İSTANBUL büyük", True),
    ("『こんにちは』と言った", "「こんにちは」と言った", "『こんにちは』と言った", True),
    ("It opens at nine 👍🏽 daily", "Document 2: opens  at NINE 👍🏽", "opens at nine 👍🏽", True),
    (
        "The fee is 30 euros for the visitors of the museum. In 1990 it was 5.",
        "The fee is 30 euros for visitors of the museum.",
        "The fee is 30 euros for the visitors of the museum.",
        False,
    ),
]


@pytest.mark.parametrize(("source", "quote", "match", "exact"), FORMATTING)
def test_quote_is_found_despite_other_formatting(source: str, quote: str, match: str, exact: bool) -> None:  # noqa: FBT001
    (evidence,), warnings = find([quote], [Document(content=source)])
    assert source[evidence.start : evidence.end] == match
    assert evidence.exact is exact
    assert warnings == ()


def test_ignoring_emphasis_does_not_change_a_number() -> None:
    assert find(["a board of 5*3 metres"], [Document(content="a board of 53 metres")]) == (
        (),
        ("evidence_altered",),
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        *('" "', "*"),
        *(pytest.param(each, marks=pytest.mark.soak) for each in (" ", "\n", "'", '",\n', "...", "a ")),
        *(pytest.param(each, marks=pytest.mark.soak) for each in ("1.\n", "- a\n")),
    ],
)
def test_time_for_long_quotes_and_sources_is_linear(piece: str) -> None:
    long = piece * (100_000 // len(piece))
    find([f'"a"{long}b'], DOCUMENTS)
    find(["“a quote of 'some' length that is not there"], [Document(content=long)])


def test_piece_that_is_found_is_returned_with_a_warning_for_the_other() -> None:
    found, warnings = find(
        ["Returns are accepted within 30 days ... and the moon is made of cheese"], DOCUMENTS
    )
    assert len(found) == 1
    assert warnings == ("evidence_not_found",)


def test_empty_source_or_blank_quote_gives_no_evidence() -> None:
    assert find(["A quote of some length."], []) == ((), ("evidence_not_found",))
    assert find(["A quote of some length."], [Document(content="")]) == ((), ("evidence_not_found",))
    assert find([" \n"], DOCUMENTS) == ((), ())


@given(st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_offsets_are_always_inside_their_document(quotes: list[str], contents: list[str]) -> None:
    found, _ = find(quotes, [Document(content=content) for content in contents])
    assert all(0 <= each.start < each.end <= len(contents[each.document]) for each in found)


CUT = [
    # source, quote, which is part of a longer number or word of the source, or of what the source denies
    # numbers
    ("A room costs 150 euros per night.", "50 euros per night"),
    ("The gate opens at 19:00.", "9:00"),
    ("The gate closes at 9:30 sharp.", "The gate closes at 9"),
    ("The fee is 12.50 euros.", "The fee is 12"),
    ("The fee is 12.50 euros.", "50 euros"),
    ("Die Anlage kostet 1.250.000 Euro.", "250.000 Euro"),
    ("L'usine a coûté 10 000 euros.", "000 euros"),
    ("At night it is -5 degrees outside.", "5 degrees outside"),
    ("The grant is 150 million euros a year.", "The grant is 150"),
    ("They paid two hundred euros in cash.", "hundred euros in cash"),
    ("A ticket costs three hundred and forty euros.", "forty euros"),
    ("Tickets cost 10-20 euros.", "20 euros"),
    ("The deadline is 2014-03-12 at noon.", "The deadline is 2014"),
    ("Prices rose by 50% in May.", "Prices rose by 50"),
    ("成人票价为180元。", "80元"),
    ("门票一百五十元一张。", "五十元一张"),
    ("開館は１９：００です。", "９：００です"),
    ("السعر ٢٥٠ دينارا للشخص.", "٥٠ دينارا للشخص"),
    ("ราคา 250 บาทต่อคน", "50 บาทต่อคน"),
    ("The limit is 5*3 metres.", "3 metres"),
    # words
    ("Smoking is illegal in France.", "legal in France"),
    ("Entry is unrestricted for members.", "restricted for members"),
    ("Das Parken ist unzulässig in der Altstadt.", "zulässig in der Altstadt"),
    ("Les repas sont inconnus des clients.", "connus des clients"),
    ("El contrato es inválido sin firma.", "válido sin firma"),
    ("Вход недоступен для детей.", "доступен для детей"),
    ("Det är olagligt att fiska här.", "lagligt att fiska här"),
    ("All rooms are non-smoking rooms.", "smoking rooms"),
    ("The wiring is harmless.", "The wiring is harm"),
    ("Der Eintritt ist kostenlos.", "Der Eintritt ist kosten"),
    ("The shop can't take cards.", "The shop can"),
    ("A bathroom costs extra.", "room costs extra"),
    ("Smoking is il\u00adlegal in France.", "legal in France"),
    ("이 거래는 불법입니다.", "법입니다"),
    # what the source denies
    ("No dogs are allowed.", "dogs are allowed"),
    ("Only members may enter.", "members may enter"),
    ("Dogs are not allowed in the park.", "allowed in the park"),
    ("NO DOGS ARE ALLOWED", "dogs are allowed"),
    ("It is not true that dogs are allowed.", "dogs are allowed"),
    ("None of the rooms have a balcony.", "rooms have a balcony"),
    ("The shop doesn't accept cards.", "accept cards"),
    ("Dogs are **not** allowed here.", "allowed here"),
    ("Dogs are not\nallowed in the park.", "allowed in the park"),
    ("Dogs are not allowed.", "Dogs are"),
    ("Keine Hunde sind erlaubt.", "Hunde sind erlaubt"),
    ("Das Museum öffnet sonntags nicht.", "Das Museum öffnet sonntags"),
    ("No se admiten perros.", "se admiten perros"),
    ("Les chiens ne sont pas admis ici.", "admis ici"),
    ("Não é permitido fumar.", "é permitido fumar"),
    ("Вход не разрешён детям.", "разрешён детям"),
    ("博物馆不允许带狗进入。", "允许带狗进入"),
    ("本店没有停车位。", "停车位"),
    ("周一不能参观展览。", "参观展览"),
    ("犬は店内に入れません。", "犬は店内に入れ"),
    ("반려견은 출입할 수 없습니다.", "반려견은 출입할 수"),
    ("لا يسمح بالكلاب في الحديقة.", "يسمح بالكلاب في الحديقة"),
    ("कुत्तों को अनुमति नहीं है।", "कुत्तों को अनुमति"),
    ("ห้ามนำสุนัขเข้า", "นำสุนัขเข้า"),
]


@pytest.mark.parametrize(("source", "quote"), CUT)
def test_quote_cut_out_of_number_word_or_negation_is_altered(source: str, quote: str) -> None:
    assert find([quote], [Document(content=source)]) == ((), ("evidence_altered",))


@pytest.mark.parametrize(("source", "quote"), CUT)
def test_cut_quote_is_exact_where_it_stands_whole(source: str, quote: str) -> None:
    whole = f"{source}\n\n{quote}."
    (found,), warnings = find([quote], [Document(content=whole)])
    assert (found.start, found.end, found.exact) == (len(source) + 2, len(whole) - 1, True)
    assert warnings == ()


WHOLE = [
    # source, quote: exact although a letter, a digit or a negation stands near it
    ("A room costs 150 euros per night.", "150 euros per night"),
    ("The fee is 12.50 euros.", "12.50 euros"),
    ("At night it is -5 degrees outside.", "-5 degrees outside"),
    ("It opened in 1990. 300 people came.", "300 people came"),
    ("In 2014, 300 people came.", "300 people came"),
    ("Rooms: 5, beds: 9.", "9"),
    ("成人票价为180元。", "180元"),
    ("该博物馆每周一闭馆，成人票价为八十元。", "博物馆每周一闭馆"),
    ("东京的iPhone手机很贵", "iPhone手机"),
    ("東京タワーは高いです。", "タワーは高い"),
    ("ร้านเปิดทุกวัน", "เปิดทุกวัน"),
    ("Depuis lundi, l'homme est mort.", "homme est mort"),
    ("“Legal in France”, he said.", "legal in France"),
    ("**Legal** in France", "legal** in France"),
    ("(Legal in France)", "legal in France"),
    ("No, dogs are allowed.", "dogs are allowed"),
    ("Is there a fee? No. Dogs are allowed.", "Dogs are allowed."),
    ("Smoking? No\nDogs are allowed.", "Dogs are allowed."),
    ("Room No. 5 is open.", "5 is open"),
    ("Not only dogs are allowed.", "dogs are allowed"),
    ("Cats are not allowed, dogs are allowed.", "dogs are allowed"),
    ("Das Museum öffnet nicht nur montags.", "Das Museum öffnet"),
    ("不但周一开放，周二也开放。", "周二也开放"),
    ("他不来。周一开放参观。", "周一开放参观"),
    ("The shop—legal in France—is shut.", "legal in France"),
]


@pytest.mark.parametrize(("source", "quote"), WHOLE)
def test_whole_quote_is_exact(source: str, quote: str) -> None:
    (found,), warnings = find([quote], [Document(content=source)])
    assert source[found.start : found.end].casefold().strip("*") == quote.casefold()
    assert found.exact
    assert warnings == ()


MUSEUM = (
    "The museum opens at 9:00. It has a café on the roof. Children enter free of charge. "
    "Guided tours start every hour."
)
MUSEUM_ZH = "博物馆九点开门。屋顶有一家咖啡馆。儿童免费入场。导览每小时开始一次。"

SEVERAL = [
    # quote, the texts of the source that it names
    # sentences without dots between them
    (
        "The museum opens at 9:00. Children enter free of charge.",
        ["The museum opens at 9:00.", "Children enter free of charge."],
    ),
    (
        "Guided tours start every hour. The museum opens at 9:00.",
        ["Guided tours start every hour.", "The museum opens at 9:00."],
    ),
    (
        "The museum opens at 9:00 Children enter free of charge",
        ["The museum opens at 9:00", "Children enter free of charge"],
    ),
    ("博物馆九点开门。儿童免费入场。", ["博物馆九点开门。", "儿童免费入场。"]),
    ("导览每小时开始一次。屋顶有一家咖啡馆。", ["导览每小时开始一次。", "屋顶有一家咖啡馆。"]),
    # quotes joined by a word or a sign
    *(
        (
            f"{mark}The museum opens at 9:00{end}{joined}{mark}Children enter free of charge{end}",
            ["The museum opens at 9:00", "Children enter free of charge"],
        )
        for mark, end, joined in (
            ('"', '"', " and "),
            ('"', '"', "; "),
            ("“", "”", " and also "),
            ("«", "»", " et "),
            ("„", "“", " und "),
            ("'", "'", " y "),
            ("'", "'", ", "),
            ("「", "」", "、"),
            ('"', '"', " — "),
            ('"', '."', " + "),
        )
    ),
    ("“博物馆九点开门”和“儿童免费入场”", ["博物馆九点开门", "儿童免费入场"]),
    *(
        (
            f"The museum opens at 9:00{joined}Children enter free of charge.",
            ["The museum opens at 9:00", "Children enter free of charge."],
        )
        for joined in ("; ", " and ", ". And ", " — ", "—", " / ", " | ", " [...] ", "，")
    ),
    ("博物馆九点开门；儿童免费入场", ["博物馆九点开门", "儿童免费入场"]),
    ("博物馆九点开门——儿童免费入场", ["博物馆九点开门", "儿童免费入场"]),
    # marks of documents
    *(
        (quote, ["The museum opens at 9:00."])
        for quote in (
            "The museum opens at 9:00. [2]",
            "The museum opens at 9:00 [2].",
            "[2] The museum opens at 9:00.",
            "The museum opens at 9:00. (Document 2)",
            "The museum opens at 9:00. — Document 2",
            "Document 1: The museum opens at 9:00.",
            "Document 1: “The museum opens at 9:00.”",
            "(Document 1) The museum opens at 9:00.",
            "**Document 1:** The museum opens at 9:00.",
            "- Document [1]: The museum opens at 9:00.",
            "Doc. 1 - The museum opens at 9:00.",
            "From document 1: The museum opens at 9:00.",
            "[Document 1, Document 3] The museum opens at 9:00.",
            "The museum opens at 9:00.【1】",
            "The museum opens at 9:00. [1, 2]",
            "The museum opens at 9:00. [1][3]",
            "Dokument 1: The museum opens at 9:00.",
            "Source #1: The museum opens at 9:00.",
        )
    ),
    ("文档1：博物馆九点开门。", ["博物馆九点开门。"]),
    ("博物馆九点开门。（文档 1）", ["博物馆九点开门。"]),
    ("【文档2】博物馆九点开门。", ["博物馆九点开门。"]),
    (
        "Document 1: The museum opens at 9:00. Document 2: Children enter free of charge.",
        ["The museum opens at 9:00.", "Children enter free of charge."],
    ),
    (
        "The museum opens at 9:00 [1] Children enter free of charge [2]",
        ["The museum opens at 9:00", "Children enter free of charge"],
    ),
    (
        "The museum opens at 9:00 (Document 1), Children enter free of charge (Document 2)",
        ["The museum opens at 9:00", "Children enter free of charge"],
    ),
]


@pytest.mark.parametrize(("quote", "texts"), SEVERAL)
def test_joined_or_marked_quotes_are_found_without_a_warning(quote: str, texts: list[str]) -> None:
    document = f"{MUSEUM}\n{MUSEUM_ZH}"
    found, warnings = find([quote], [Document(content=document)])
    assert warnings == ()
    assert [document[one.start : one.end].rstrip(".") for one in found] == [
        text.rstrip(".") for text in texts
    ]


ALTERNATIVE_SIGNS = [
    # source, quote: found without a warning, whatever the dash or the width of the signs
    ("The café — a small one — is on the roof.", "The café - a small one - is on the roof."),
    ("The café—a small one—is on the roof.", "The café — a small one — is on the roof."),
    ("Open Monday–Friday for all guests.", "Open Monday-Friday for all guests."),
    ("Well\u2011known works.", "Well-known works."),
    ("Das Café – ein kleines – ist offen.", "Das Café — ein kleines — ist offen."),
    ("It is −5 degrees.", "It is -5 degrees."),
    ("门票：80元（含税）！", "门票:80元(含税)!"),
    ("门票:80元(含税)!", "门票：８０元（含税）！"),
    ("開館は１９：００です。", "開館は19:00です。"),
    ("価格はＡＢＣ円？", "価格はABC円?"),
    ("他说，周一开放。", "他说,周一开放."),
    ("A， B； C： open？", "A, B; C: open?"),
]


@pytest.mark.parametrize(("source", "quote"), ALTERNATIVE_SIGNS)
def test_quote_with_other_dashes_or_widths_is_found(source: str, quote: str) -> None:
    found, warnings = find([quote], [Document(content=source)])
    assert warnings == ()
    assert [(one.start, one.end) for one in found] == [(0, len(source))]


ALTERED = [
    # source, quote: whatever the word means, in scripts with and without spaces
    ("The museum is closed on Mondays in winter.", "The museum is closed on Sundays in winter."),
    ("Das Museum ist jeden Montag geschlossen.", "Das Museum ist jeden Freitag geschlossen."),
    ("この美術館は毎週月曜日に休館します。", "この美術館は毎週火曜日に休館します。"),
    ("The bridge is 12 km long and has two lanes.", "The bridge is 12 m long and has two lanes."),
    ("The entrance fee is €12 for adults.", "The entrance fee is $12 for adults."),
    ("The share of it rose to 5 percent of all.", "The share of it rose to 5 per mille of all."),
    ("请在30天内办理退货手续并寄回商品。", "请在30周内办理退货手续并寄回商品。"),
    ("The contract is invalid without a signature.", "The contract is valid without a signature."),
    ("Das Parken ist in der ganzen Altstadt zulässig.", "Das Parken ist in der ganzen Altstadt unzulässig."),
    ("公司去年的销售额大幅增加了百分之十。", "公司去年的销售额大幅减少了百分之十。"),
    # words lost or added
    ("Guests must pay a deposit on arrival.", "Guests may pay a deposit on arrival."),
    ("The seller bears the costs of the transport.", "The buyer bears the costs of the transport."),
    ("The library opens at 9:00 on weekdays.", "The library opens at 9:00 on weekends."),
    ("Only members may borrow more than two books.", "All members may borrow more than two books."),
    ("The pool is open only in August.", "The pool is open in August."),
    ("The fee is 30 euros for the visitors.", "The fee is 30 euros for all the visitors."),
    ("Members may borrow up to twelve books a month.", "Members can borrow up to twelve books a month."),
    ("The organs of the club decide.", "The organization of the club decides."),
    ("该博物馆每周一闭馆，成人票价为八十元。", "该博物馆每周一闭馆，成人票价是八十元。"),
    # other spellings are other words
    ("The bridge is 12 km long and has two lanes.", "The bridge is 12 kilometres long and has two lanes."),
    ("Send us an e-mail within a week of delivery.", "Send us an email within a week of delivery."),
    ("The share of it rose to 50 per cent of sales.", "The share of it rose to 50 percent of sales."),
    ("Das Museum ist am Montag in der Früh geöffnet.", "Das Museum ist am Montag in der Frühe geöffnet."),
    ("Цена билета составляет 5 евро для взрослых.", "Цена билета составляет 5 евро для взрослого."),
    # numbers that changed places
    ("The tour costs 20 euros and takes 45 minutes.", "The tour costs 45 euros and takes 20 minutes."),
]


@pytest.mark.parametrize(("source", "quote"), ALTERED)
def test_near_quote_with_another_word_is_altered(source: str, quote: str) -> None:
    shared = (
        ", as the notice on the board at the entrance of the building has said since the spring of last year"
    )
    documents = [Document(content=f"{source.rstrip('.。')}{shared}.")]  # alike enough, however long the word
    assert find([f"{quote.rstrip('.。')}{shared}."], documents) == ((), ("evidence_altered",))


NEAR = [
    # source, quote: only articles, forms of "to be", "that", "which" and the endings of words differ
    ("The museum is closed on Mondays in winter.", "The museum is closed on Monday in winter."),
    ("The museum is closed on Mondays in winter.", "Museum closed on Mondays in the winter."),
    ("The pool is open in August and September.", "The pool was opened in August and September."),
    ("The rule which the city passed is in force.", "The rule that the city passed is in force."),
    ("Members who borrowed books pay a fee.", "Members who borrow a book pay the fee."),
    ("The well-known works hang on the second floor.", "The well known works hang on the second floor."),
    ("Open daily (except Mondays), 9:00 to 17:00.", "Open daily, except Mondays: 9:00 to 17:00."),
    ("成人票价为八十元，儿童免费参观。", "成人票价为八十元；儿童免费参观"),
]


@pytest.mark.parametrize(("source", "quote"), NEAR)
def test_near_quote_that_says_the_same_is_found_as_near(source: str, quote: str) -> None:
    (found,), warnings = find([quote], [Document(content=source)])
    assert not found.exact
    assert warnings == ()


STITCHED = [
    # source, quote: parts of sentences that never stood together
    (
        "Dogs are allowed in the park. Cats may sleep in the restaurant.",
        "Dogs are allowed in the restaurant.",
    ),
    (
        "Dogs are allowed in the park. Cats may sleep in the hotel restaurant.",
        "Dogs are allowed in the park and in the hotel restaurant.",
    ),
    ("Members pay nothing for tours. Guests pay 5 euros for tours.", "Members pay 5 euros for tours."),
]


@pytest.mark.parametrize(("source", "quote"), STITCHED)
def test_quote_stitched_from_parts_of_sentences_is_not_found(source: str, quote: str) -> None:
    found, warnings = find([quote], [Document(content=source)])
    assert found == ()
    assert warnings in {("evidence_altered",), ("evidence_not_found",)}


PROSE = st.text(
    st.sampled_from(
        "ab Zé1290.,:-–%'’!?\n\t ничего 不是周一百万元。，で가 ا لا 　*_\u00ad\u200b\u0301no t１９ด้"
    )
    | st.characters(),
    max_size=60,
)


def is_inside_word(text: str, place: int) -> bool:
    """Whether a place lies between two Latin or Cyrillic letters, or two digits of any script."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    spaced = re.compile("[A-Za-zÀ-ÖØ-öø-ɏЀ-ӿ]")
    return bool(spaced.match(before) and spaced.match(after)) or (before.isdecimal() and after.isdecimal())


@given(PROSE, PROSE, PROSE, st.data())
def test_found_span_never_cuts_a_number_or_a_word(
    one: str, two: str, quote: str, data: st.DataObject
) -> None:
    document = one + two
    start = data.draw(st.integers(0, len(document)))
    slice_ = document[start : data.draw(st.integers(start, len(document)))]
    found, _ = find([quote, slice_], [Document(content=document)])
    for each in found:
        assert not is_inside_word(document, each.start)
        assert not is_inside_word(document, each.end)


@given(st.lists(PROSE, min_size=1, max_size=4))
def test_verbatim_sentence_of_a_document_is_exact(contents: list[str]) -> None:
    documents = [Document(content=content) for content in contents]
    for document in documents:
        for sentence in sentences(document.content):  # which replaces lone surrogates
            if any(map(str.isalnum, sentence.text)):
                (found,), warnings = find([sentence.text], documents)
                assert found.exact
                assert warnings == ()


@given(PROSE, st.lists(PROSE, max_size=3))
def test_warnings_are_only_the_known_ones(response: str, quotes: list[str]) -> None:
    _, warnings = find(quotes, [Document(content=response)])
    assert set(warnings) <= {"evidence_altered", "evidence_not_found"}


def test_many_quotes_are_found_as_few_are() -> None:
    """Documents that are too large to be scanned for each quote: an index finds the quotes."""
    content = " ".join(f"In room {n} there are {n + 7} chairs." for n in range(1500))
    quotes = [f"In room {n} there are {n + 7} chairs." for n in range(1500)]
    documents = [Document(content=CHINESE), Document(content=content), Document(content=LIBRARY)]
    found, warnings = find(quotes, documents)
    assert [content[one.start : one.end] for one in found] == quotes
    assert all(one.exact and one.document == 1 for one in found)
    assert warnings == ()
    lost = [f"In room {n} there are {n + 8} chairs." for n in range(1500)]
    found, warnings = find([*lost, CHINESE[3:9], "成人票价为八十元；儿童免费参观", *quotes], documents)
    assert len(found) == 2 + len(quotes)
    assert warnings == ("evidence_altered",)


def test_what_is_beyond_the_bounds_is_unchecked() -> None:
    """Words that a document repeats too often, and more pieces of a quote than are looked up."""
    content = "x y " * 60_000
    assert find(["x y y x"], [Document(content=content)]) == ((), ("evidence_unchecked",))
    _, warnings = find([" ... ".join(f"{n} libraries open" for n in range(301))], DOCUMENTS)
    assert warnings == ("evidence_not_found", "evidence_unchecked")


def test_piece_that_a_quote_repeats_is_looked_up_once() -> None:
    (found,), warnings = find(["The library opens at 9:00 ... " * 301], DOCUMENTS)
    assert (found.quote, warnings) == ("The library opens at 9:00", ())
