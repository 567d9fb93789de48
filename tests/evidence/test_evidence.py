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


LIBRARY = "The library opens at 9:00 on weekdays."
SHOP = "Returns are accepted within 30 days of delivery. Shoes that were worn are not accepted."
CHINESE = "该博物馆每周一闭馆，成人票价为八十元，儿童免费参观。"
DOCUMENTS = [Document(content=text) for text in (LIBRARY, SHOP, CHINESE)]

EXACT = {
    # source, with what is found between bars; quote
    "other case and white space": (
        f"It is big. |{LIBRARY}| It has a café.",
        "  the LIBRARY opens at\n9:00  on weekdays. ",
    ),
    "another line break": (
        "Open |on weekdays.\nIt does not open| on Sundays.",
        "on weekdays. It does not open",
    ),
    "quotation marks inside": ("The |“guided tours” cost| 4.50 euros.", '"guided tours" cost'),
    "more quotation marks, and blanks, than at the end of the text": (
        "She said |he is “so”, -|",
        "he is “so””,  -",
    ),
    "a sharp s in capitals": (
        "|Die Straße ist von November| bis April gesperrt.",
        "Die STRASSE ist von November",
    ),
    "a Turkish capital letter": ("istanbul |İSTANBUL büyük|", "İstanbul büyük"),
    "other quotation marks": ("|『こんにちは』と言った|", "「こんにちは」と言った"),
    "a mark of a document": ("It |opens at nine 👍🏽| daily", "Document 2: opens  at NINE 👍🏽"),
    "dots that belong to the text": ("|He paused ... and went on.|", "He paused ... and went on."),
    # although a letter, a digit or a negation stands near it
    "a minus sign": ("At night it is |-5 degrees| outside.", "-5 degrees"),
    "a minus sign in Chinese": ("昨晚最低气温为|-5度左右|。", "-5度左右"),
    "the end of a range of months in Chinese": ("开放时间：3月-|5月的周末|。", "5月的周末"),
    "the end of a range of classes in Chinese": ("适合3年级-|5年级的学生|。", "5年级的学生"),
    "a sentence that ends in a number before it": (
        "It opened in 1990. |300 people came|.",
        "300 people came",
    ),
    "a Chinese unit": ("成人票价为|180元|。", "180元"),
    "letters between Chinese signs": ("东京的|iPhone手机|很贵", "iPhone手机"),
    "letters of Katakana": ("東京|タワーは高い|です。", "タワーは高い"),
    "Thai": ("ร้าน|เปิดทุกวัน|", "เปิดทุกวัน"),
    "an elided article before it": ("Depuis lundi, l'|homme est mort|.", "homme est mort"),
    "emphasis that begins before it": ("**|Legal** in France|", "legal** in France"),
    "a negation and a comma before it": ("No, |dogs are allowed|.", "dogs are allowed"),
    "a negation on the line before": ("Smoking? No\n|Dogs are allowed.|", "Dogs are allowed."),
    "not only before it": ("Not only |dogs are allowed|.", "dogs are allowed"),
    "a negation in the clause before": (
        "Cats are not allowed, |dogs are allowed|.",
        "dogs are allowed",
    ),
    "a tag before it": ("It costs <b>|5 euros|</b>.", "5 euros"),
    "a quotation of Markdown": (">|5 euros| a day.", "5 euros"),
    "a comparison at a distance": ("It is 4 < |5 euros|.", "5 euros"),
    "a number of a room": ("Room No. |5 is open|.", "5 is open"),
    "dashes around it": ("The shop—|legal in France|—is shut.", "legal in France"),
}

NEARLY = {
    # source, with what is found between bars; quote: other accents, emphasis, dashes or widths of signs
    "composed accents of a decomposed text": (normalize("NFD", "Oh! |O café não abre.|"), "O café não abre."),
    "decomposed accents of a composed text": ("Oh! |O café não abre.|", normalize("NFD", "O café não abre.")),
    "emphasis inside": ("**|Opening hours:** 9 to 5|", "Opening hours: 9 to 5"),
    "a space of no width and one that does not break": (
        "the |ground\u200bjudge of\u00a0all|",
        "groundjudge of all",
    ),
    "blanks around dashes": (
        "|The café—a small one—is on the roof.|",
        "The café — a small one — is on the roof.",
    ),
    "signs of full width": ("|门票:80元(含税)!|", "门票：８０元（含税）！"),
    # other articles, forms of "to be", "that", "which" and endings of words
    "another article": (
        "|The fee is 30 euros for the visitors.| In 1990 it was 5.",
        "The fee is 30 euros for visitors.",
    ),
    "articles and a plural": (
        "The |museum is closed on Mondays in winter.|" + " Closed." * 5,
        "Museum closed on Monday in the winter.",
    ),
    "another form of to be": ("The |pool is open in August|.", "Pool was opened in August"),
    "other endings of two words": (
        "|Members who borrowed books pay a fee|.",
        "Members who borrow a book pay the fee",
    ),
    "a hyphen left out": (
        "|The well-known works hang on the second floor.|",
        "The well known works hang on the second floor.",
    ),
    "other signs": (
        "|Open daily (except Mondays), 9:00 to 17:00.|",
        "Open daily, except Mondays: 9:00 to 17:00.",
    ),
    "another Chinese sign": ("|成人票价为八十元，儿童免费参观|。", "成人票价为八十元；儿童免费参观"),
}


@pytest.mark.parametrize(
    ("source", "quote", "exact"),
    [pytest.param(*row, True, id=name) for name, row in EXACT.items()]
    + [pytest.param(*row, False, id=name) for name, row in NEARLY.items()],
)
def test_quote_is_found_at_its_offsets(source: str, quote: str, exact: bool) -> None:  # noqa: FBT001
    before, match, after = source.split("|")
    documents = [Document(content="Of other things."), Document(content=before + match + after)]
    (passage,), warnings = find([quote], documents)
    assert (passage.document, passage.start, passage.end) == (1, len(before), len(before) + len(match))
    assert passage.exact is exact
    assert warnings == ()


@pytest.mark.parametrize(
    ("quote", "warning"),
    [
        pytest.param(
            "Returns are accepted within 60 days of delivery.", "evidence_altered", id="another number"
        ),
        pytest.param("Shoes that were worn are now accepted.", "evidence_altered", id="a negation left out"),
        pytest.param(
            "The museum is closed on Mondays all year round.", "evidence_not_found", id="another subject"
        ),
    ],
)
def test_quote_with_another_meaning_is_a_warning(quote: str, warning: str) -> None:
    assert find([quote], DOCUMENTS) == ((), (warning,))


def test_ignoring_emphasis_does_not_change_a_number() -> None:
    changed = find(["a board of 5*3 metres"], [Document(content="a board of 53 metres")])
    assert changed == ((), ("evidence_altered",))


SLOW = [
    pytest.param(piece, marks=pytest.mark.soak) for piece in (" ", "\n", "'", '",\n', "...", "a ", "1.\n")
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ['" "', "*", *SLOW])
def test_time_for_long_quotes_and_sources_is_linear(piece: str) -> None:
    long = piece * (100_000 // len(piece))
    find([f'"a"{long}b'], DOCUMENTS)
    find(["“a quote of 'some' length that is not there"], [Document(content=long)])


def test_piece_that_is_found_is_returned_with_a_warning_for_the_other() -> None:
    passages, warnings = find(
        ["Returns are accepted within 30 days ... the moon is made of cheese"], DOCUMENTS
    )
    assert len(passages) == 1
    assert warnings == ("evidence_not_found",)


def test_empty_source_or_blank_quote_gives_no_evidence() -> None:
    for documents in ([], [Document(content="")]):
        assert find(["A quote of some length."], documents) == ((), ("evidence_not_found",))
    assert find([" \n"], DOCUMENTS) == ((), ())


CUT = {
    # source, quote, which is part of a longer number or word of the source, or of what the source denies
    # numbers
    "the end of a number": ("A room costs 150 euros per night.", "50 euros per night"),
    "the decimals of a number": ("The fee is 12.50 euros.", "50 euros"),
    "the last group of thousands": ("L'usine a coûté 10 000 euros.", "000 euros"),
    "a number without its sign": ("At night it is -5 degrees outside.", "5 degrees outside"),
    "a number without its decimal point": ("Take a dose of .5 mg daily.", "5 mg daily"),
    "a price without its decimal point": ("A copy costs $.5 at the desk.", "5 at the desk"),
    "a negative number without its decimal point": ("The rate fell to -.5 in May.", "5 in May"),
    "a decimal number without its sign": ("The rate fell to -.5 in May.", ".5 in May"),
    "a number without <": ("The risk is small if BMI is <25 in adults.", "25 in adults"),
    "a number without >": ("The risk is great if BMI is >25 in adults.", "25 in adults"),
    "a number without ≥": ("The risk is great if BMI is ≥25 in adults.", "25 in adults"),
    "a number without ≠": ("The model holds for n ≠5 only.", "5 only"),
    "a number without ±": ("The error is ±.5 mm.", ".5 mm"),
    "a number without its power": ("The grant is 150 million euros a year.", "The grant is 150"),
    "the end of a number in words": ("A ticket costs three hundred and forty euros.", "forty euros"),
    "the end of a range": ("Tickets cost 10-20 euros.", "20 euros"),
    "a number without its percent sign": ("Prices rose by 50% in May.", "Prices rose by 50"),
    "the end of a Chinese number": ("门票一百五十元一张。", "五十元一张"),
    "a number without its sign in Chinese": ("昨晚最低气温为-5度左右。", "5度左右"),
    "a number without its sign in Japanese": ("昨夜の気温は−5度でした。", "5度でした"),
    "the end of an Arabic number": ("السعر ٢٥٠ دينارا للشخص.", "٥٠ دينارا للشخص"),
    # words
    "the end of a word": ("Smoking is illegal in France.", "legal in France"),
    "the end of a word with a hyphen": ("The anti-smoking laws apply.", "smoking laws apply"),
    "the beginning of a contraction": ("The shop can't take cards.", "The shop can"),
    "the end of a word with a soft hyphen": ("Smoking is il\u00adlegal in France.", "legal in France"),
    "the end of a Korean word": ("이 거래는 불법입니다.", "법입니다"),
    # what the source denies
    "a negation in capitals": ("NO DOGS ARE ALLOWED", "dogs are allowed"),
    "a contraction that denies": ("The shop doesn't accept cards.", "accept cards"),
    "a negation in bold": ("Dogs are **not** allowed here.", "allowed here"),
    "a negation at the end of a line": ("Dogs are not\nallowed in the park.", "allowed in the park"),
    "a negation in Portuguese": ("Não é permitido fumar.", "é permitido fumar"),
    "a negation in Chinese": ("本店没有停车位。", "停车位"),
}


@pytest.mark.parametrize(("source", "quote"), CUT.values(), ids=CUT.keys())
def test_quote_cut_out_of_number_word_or_negation_is_altered_and_exact_where_it_stands_whole(
    source: str, quote: str
) -> None:
    assert find([quote], [Document(content=source)]) == ((), ("evidence_altered",))
    whole = f"{source}\n\n{quote}."
    (passage,), warnings = find([quote], [Document(content=whole)])
    assert (passage.start, passage.end, passage.exact) == (len(source) + 2, len(whole) - 1, True)
    assert warnings == ()


MUSEUM = "Children enter free of charge. It has a café on the roof. The museum opens at 9:00."
MUSEUM_ZH = "儿童免费入场。屋顶有一家咖啡馆。博物馆九点开门。"
OPENS, CHILDREN = "The museum opens at 9:00", "Children enter free of charge"
OPENS_ZH, CHILDREN_ZH = "博物馆九点开门", "儿童免费入场"

SEVERAL = [
    # one or two quotes of `MUSEUM` as models write them
    *("{} {}", "{}. {}.", "{} ... {}", "{} [...] {}", "{} … {}", "- {}\n- {}", "1. {}\n2. {}"),
    *('"{}", "{}"', '"{}" and "{}"', "“{}” and also “{}”", "«{}» et «{}»", "「{}」、「{}」", '"{}." + "{}."'),
    *("'{}' y '{}'", "{}; {}.", "{} and {}.", "{}. And {}.", "{}—{}.", "{} / {}.", "{}，{}."),
    # with marks of documents
    *("{}. [2]", "{} [2].", "[2] {}.", "{}.【1】", "{}. [1, 2]", "{}. (Document 2)", "{}. — Document 2"),
    *("**Document 1:** {}.", "- Document [1]: “{}.”", "From doc. 1 - {}.", "[Document 1, Document 3] {}."),
    *("Document 1: {}. Source #2: {}.", "{} [1] {} [2]", "{} (Document 1), {} (Document 2)"),
]
SEVERAL_ZH = ["{}。{}。", "“{}”和“{}”", "{}；{}", "{}——{}", "文档1：{}。", "{}。（文档 1）", "【文档2】{}。"]


@pytest.mark.parametrize(
    ("template", "quotes"),
    [
        *(pytest.param(template, (OPENS, CHILDREN), id=template) for template in SEVERAL),
        *(pytest.param(template, (OPENS_ZH, CHILDREN_ZH), id=template) for template in SEVERAL_ZH),
    ],
)
def test_joined_or_marked_quotes_are_found_without_a_warning(template: str, quotes: tuple[str, str]) -> None:
    document = f"{MUSEUM}\n{MUSEUM_ZH}"
    passages, warnings = find([template.format(*quotes)], [Document(content=document)])
    assert warnings == ()
    texts = [document[passage.start : passage.end].rstrip(".。") for passage in passages]
    assert texts == [*quotes][: template.count("{}")]


ALTERED = {
    # source, quote: whatever the word means, in scripts with and without spaces
    "another day": (
        "The museum is closed on Mondays in winter.",
        "The museum is closed on Sundays in winter.",
    ),
    "another unit": (
        "The bridge is 12 km long and has two lanes.",
        "The bridge is 12 m long and has two lanes.",
    ),
    "another currency": ("The entrance fee is €12 for adults.", "The entrance fee is $12 for adults."),
    "another of the rarer currencies": (
        "The entrance fee is ₹12 for adults.",
        "The entrance fee is ₽12 for adults.",
    ),
    "cents": ("The entrance fee is ¢12 for adults.", "The entrance fee is ₩12 for adults."),
    "a decimal point lost": ("The daily dose is .5 mg for adults.", "The daily dose is 5 mg for adults."),
    "a decimal point added": ("The daily dose is 5 mg for adults.", "The daily dose is .5 mg for adults."),
    "another unit in Chinese": ("请在30天内办理退货手续并寄回商品。", "请在30周内办理退货手续并寄回商品。"),
    # words lost or added
    "a word lost": ("The pool is open only in August.", "The pool is open in August."),
    "another word of the same stem": (
        "The organs of the club decide.",
        "The organization of the club decides.",
    ),
    # other spellings are other words
    "another spelling": (
        "Send us an e-mail within a week of delivery.",
        "Send us an email within a week of delivery.",
    ),
    "another ending in Russian": (
        "Цена билета составляет 5 евро для взрослых.",
        "Цена билета составляет 5 евро для взрослого.",
    ),
    # numbers that changed places
    "numbers that changed places": (
        "The tour costs 20 euros and takes 45 minutes.",
        "The tour costs 45 euros and takes 20 minutes.",
    ),
}


@pytest.mark.parametrize(("source", "quote"), ALTERED.values(), ids=ALTERED.keys())
def test_near_quote_with_another_word_is_altered(source: str, quote: str) -> None:
    shared = ", as the notice at the entrance of the building has said since the spring of last year."
    documents = [Document(content=source.rstrip(".。") + shared)]  # alike enough, however long the word
    assert find([quote.rstrip(".。") + shared], documents) == ((), ("evidence_altered",))


STITCHED = {
    # source, quote: parts of sentences that never stood together
    "the end of another sentence": (
        "Dogs are allowed in the park. Cats may sleep in the hall.",
        "Dogs are allowed in the hall.",
    ),
    "a number of another sentence": (
        "Members pay nothing for tours. Guests pay 5 euros for tours.",
        "Members pay 5 euros for tours.",
    ),
}


@pytest.mark.parametrize(("source", "quote"), STITCHED.values(), ids=STITCHED.keys())
def test_quote_stitched_from_parts_of_sentences_is_not_found(source: str, quote: str) -> None:
    passages, warnings = find([quote], [Document(content=source)])
    assert passages == ()
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


@given(st.lists(PROSE, min_size=1, max_size=3), st.lists(PROSE, max_size=3), st.data())
def test_found_span_is_inside_its_document_and_cuts_no_number_or_word(
    contents: list[str], quotes: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(contents[0])))
    slice_ = contents[0][start : data.draw(st.integers(start, len(contents[0])))]
    passages, warnings = find([*quotes, slice_], [Document(content=content) for content in contents])
    for passage in passages:
        content = contents[passage.document]
        assert 0 <= passage.start < passage.end <= len(content)
        assert not is_inside_word(content, passage.start)
        assert not is_inside_word(content, passage.end)
    assert set(warnings) <= {"evidence_altered", "evidence_not_found"}


@given(st.lists(PROSE, min_size=1, max_size=4))
def test_verbatim_sentence_of_a_document_is_exact(contents: list[str]) -> None:
    documents = [Document(content=content) for content in contents]
    for document in documents:
        for sentence in sentences(document.content):  # which replaces lone surrogates
            if any(map(str.isalnum, sentence.text)):
                (passage,), warnings = find([sentence.text], documents)
                assert passage.exact
                assert warnings == ()


def test_many_quotes_are_found_as_few_are() -> None:
    """Documents that are too large to be scanned for each quote: an index finds the quotes."""
    quotes = [f"In room {n} there are {n + 7} chairs." for n in range(1500)]
    content = " ".join(quotes)
    documents = [Document(content=CHINESE), Document(content=content), Document(content=LIBRARY)]
    passages, warnings = find(quotes, documents)
    assert [content[passage.start : passage.end] for passage in passages] == quotes
    assert all(passage.exact and passage.document == 1 for passage in passages)
    assert warnings == ()
    altered = [f"In room {n} there are {n + 8} chairs." for n in range(1500)]
    passages, warnings = find([*altered, CHINESE[3:9], "成人票价为八十元；儿童免费参观", *quotes], documents)
    assert len(passages) == 2 + len(quotes)
    assert warnings == ("evidence_altered",)


def test_what_is_beyond_the_bounds_is_unchecked() -> None:
    """Words that a document repeats too often, and more pieces of a quote than are looked up."""
    content = "x y " * 60_000
    assert find(["x y y x"], [Document(content=content)]) == ((), ("evidence_unchecked",))
    _, warnings = find([" ... ".join(f"{n} libraries open" for n in range(301))], DOCUMENTS)
    assert warnings == ("evidence_not_found", "evidence_unchecked")


def test_piece_that_a_quote_repeats_is_looked_up_once() -> None:
    (passage,), warnings = find(["The library opens at 9:00 ... " * 301], DOCUMENTS)
    assert (passage.quote, warnings) == ("The library opens at 9:00", ())
