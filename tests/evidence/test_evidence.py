"""Quotes are found with their offsets, exactly but for how they are typeset, or they are not found."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge import Document, evidence
from groundjudge.evidence import fold
from groundjudge.text.sentences import sentences
from groundjudge.types import Evidence


def find(quotes: Sequence[str], *contents: str) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    return evidence.find(quotes, [fold(content) for content in contents])


FOUND = {
    # source, with what is found between bars; quote
    "letter by letter": ("It is big. |We open at 9:00.| It has a café.", "We open at 9:00."),
    # each fold
    "other case": ("It |opens at NINE|.", "Opens at nine"),
    "a sharp s in capitals": ("|Die Straße ist von November| an zu.", "DIE STRASSE ist von November"),
    "a Turkish capital letter": ("istanbul |İSTANBUL büyük|", "İstanbul büyük"),
    "a ligature": ("The |ﬁrst oﬃce|.", "first office"),
    "other white space": ("It |opens at\n\t9:00  on\u00a0weekdays|.", "  opens at 9:00 on weekdays "),
    "a hyphen at a line's end": ("The |infor-\n  mation desk| is open.", "information desk"),
    "a hyphen that the word has at a line's end": ("A |well-\nknown café|.", "well-known café"),
    "a soft hyphen": ("The |in\u00adfor\u00admation| desk", "information"),
    "curly quotation marks inside": ("The |“guided tours” cost| 4.50 euros.", '"guided tours" cost'),
    "Japanese quotation marks": ("|『こんにちは』と言った|", "「こんにちは」と言った"),
    "another apostrophe": ("|It’s open.|", "It's open."),
    "another dash": ("Open |9–17 — daily|.", "9-17 - daily"),
    "a minus sign": ("At night |−5 degrees|.", "-5 degrees"),
    "Arabic digits": ("السعر |٢٥٠ دينارا| للشخص.", "250 دينارا"),
    "digits of full width": ("门票|８０元|。", "80元"),
    # what the piece may have and the source lacks
    "a full stop": ("We |open at 9|, and close at 5.", "open at 9."),
    "a Chinese full stop": ("|成人票价为八十元|，儿童免费。", "成人票价为八十元。"),
    "quotation marks around it": ("We |open at 9|.", "“open at 9”"),
    "quotation marks and a full stop": ("We |open at 9|, daily.", '"Open at 9."'),
    "quotation marks that the source has, too": ("He said |“open at 9”|.", '"open at 9"'),
    # whole words, in all scripts
    "a word that is a part of another one ahead": ("Illegal? No, |legal in France|.", "legal in France"),
    "a number that is a part of another one ahead": ("150 or |50 euros|.", "50 euros"),
    "Chinese signs among others": ("该博物馆|每周一闭馆|时免费", "每周一闭馆"),
    "letters between Chinese signs": ("东京的|iPhone手机|很贵", "iPhone手机"),
    "Thai": ("ร้าน|เปิดทุกวัน|", "เปิดทุกวัน"),
    "Russian": ("Музей |открыт ежедневно|.", "открыт Ежедневно"),
    "Hindi": ("यह |सोमवार को बंद| रहता है।", "सोमवार को बंद"),
}


@pytest.mark.parametrize(("source", "quote"), FOUND.values(), ids=FOUND.keys())
def test_quote_is_found_at_its_offsets(source: str, quote: str) -> None:
    before, match, after = source.split("|")
    (found,), warnings = find([quote], "Of other things.", before + match + after)
    assert (found.document, found.start, found.end) == (1, len(before), len(before) + len(match))
    assert (found.quote, found.exact) == (quote.strip(), True)
    assert warnings == ()


NOT_FOUND = {
    # source, quote
    "another subject": ("We open at 9.", "The moon is made of cheese."),
    "another number": ("We open at 9.", "We open at 10."),
    "a negation left out": ("Shoes that were worn are not accepted.", "Shoes that were worn are accepted."),
    "another article": ("The museum is open.", "A museum is open."),
    "another ending": ("Members pay a fee.", "Member pay a fee."),
    "another sign": ("Open daily (except Mondays).", "Open daily, except Mondays."),
    "emphasis that the quote lacks": ("**Open:** at 9.", "Open: at 9."),
    "a mark of a document": ("We open at 9.", "Document 2: We open at 9."),
    "two sentences without dots between them": ("It is old. We open at 9.", "It is old. At 9."),
    "the end of a word": ("Smoking is illegal in France.", "legal in France"),
    "the end of a word with a hyphen": ("The anti-smoking laws apply.", "smoking laws apply"),
    "the end of a number": ("A room costs 150 euros.", "50 euros"),
    "the beginning of a number": ("It costs 150 euros.", "It costs 15"),
    "the end of a Korean word": ("이 거래는 불법입니다.", "법입니다"),
    "the end of one document and the beginning of another": ("It is old.", "old. It is"),
    "a document without text": ("", "We open at 9."),
}


@pytest.mark.parametrize(("source", "quote"), NOT_FOUND.values(), ids=NOT_FOUND.keys())
def test_everything_else_is_not_found(source: str, quote: str) -> None:
    assert find([quote], source, source) == ((), ("evidence_not_found",))
    assert find([quote]) == ((), ("evidence_not_found",))


JOINED: dict[str, tuple[str, list[str]]] = {
    # quote, of "It is old. We open at 9, daily." and "Tours are free."; the texts that are found
    "dots": ("we open at 9 ... tours are free", ["We open at 9", "Tours are free"]),
    "dots without blanks": ("We open at 9...Tours are free.", ["We open at 9", "Tours are free."]),
    "one sign": ("It is old. … Tours are free.", ["It is old.", "Tours are free."]),
    "dots in brackets": ("It is old. [...] We open at 9", ["It is old.", "We open at 9"]),
    "three pieces in another order": ("daily ... Tours ... It is", ["daily", "Tours", "It is"]),
    "dots at both ends": ("... open at 9 ...", ["open at 9"]),
    "each in quotation marks": ('"It is old." ... "Tours are free"', ["It is old", "Tours are free"]),
    "a piece without letters": ("It is old. ... ! ... daily.", ["It is old.", "daily."]),
    "nothing": (" \n", []),
}


@pytest.mark.parametrize(("quote", "texts"), JOINED.values(), ids=JOINED.keys())
def test_joined_pieces_are_found_each_in_one_document(quote: str, texts: list[str]) -> None:
    contents = ["It is old. We open at 9, daily.", "Tours are free."]
    passages, warnings = find([quote], *contents)
    assert [contents[found.document][found.start : found.end] for found in passages] == texts
    assert warnings == ()


def test_piece_that_is_found_is_returned_with_a_warning_for_the_other() -> None:
    passages, warnings = find(["We open at 9 ... the moon is made of cheese", "no, no"], "We open at 9.")
    assert [found.quote for found in passages] == ["We open at 9"]
    assert warnings == ("evidence_not_found",)


PROSE = st.text(
    st.sampled_from("ab Zé1290.,:-–'’“!?\n\t 不是周一百万元。，で가 ا لا ß ﬁ İ - \u00ad\u0301no t１９")
    | st.characters(),
    max_size=60,
)


def as_compared(text: str) -> str:
    """A folded text without what a piece may have around it and its source may lack."""
    return fold(text).text.strip("' .。")


@given(st.lists(PROSE, min_size=1, max_size=3), st.lists(PROSE, max_size=3), st.data())
def test_found_span_is_its_piece_and_cuts_no_word(
    contents: list[str], quotes: list[str], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(contents[0])))
    cut = contents[0][start : data.draw(st.integers(start, len(contents[0])))]
    passages, warnings = find([*quotes, cut], *contents)
    for found in passages:
        content = contents[found.document]
        assert as_compared(content[found.start : found.end]) == as_compared(found.quote)
        for place in (found.start, found.end):
            around = content[max(0, place - 1) : place + 1]
            assert not (len(around) == 2 and around.isascii() and around.isalnum())
    assert set(warnings) <= {"evidence_not_found"}


@given(st.lists(PROSE, min_size=1, max_size=4))
def test_sentence_of_a_document_is_found(contents: list[str]) -> None:
    for document in [Document(content=content) for content in contents]:
        for sentence in sentences(document.content):  # which replaces lone surrogates
            _, warnings = find([sentence.text], document.content)
            assert warnings == ()


@given(PROSE)
def test_each_folded_character_has_its_place(text: str) -> None:
    folded, origins = fold(text)
    places = [origins[index] for index in range(len(folded) + 1)]
    assert places == sorted(places)
    assert not folded or places[-1] == len(text)
    for index, character in enumerate(folded):
        if character.isalnum():
            assert character in fold(text[places[index]]).text


@pytest.mark.soak
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [" ", "\n", "'", '",\n', "...", "a ", "a-\n", "a-", "- \n", "ß", "٢"])
def test_time_for_long_quotes_and_sources_is_linear(piece: str) -> None:
    long = piece * (100_000 // len(piece))
    started = process_time()
    find([f'"a"{long}b', long], "We open at 9.")
    find([f"a{piece * 20}b", "a", "b"], long)
    assert process_time() - started < 2.5


@pytest.mark.soak
def test_many_quotes_are_found_in_a_long_document() -> None:
    quotes = [f"In room {n} there are {n + 7} chairs." for n in range(3000)]
    content = " ".join(quotes)
    passages, warnings = find([*quotes, "In room 5 there are 5 chairs."], "", content)
    assert [content[found.start : found.end] for found in passages] == quotes
    assert warnings == ("evidence_not_found",)
