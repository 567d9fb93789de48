"""Quotes are found in documents with offsets, or reported as altered or not found."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge import Document, Evidence, evidence
from groundjudge.evidence import Sources, unlisted


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
        "The fee is 30 euros for all the visitors of the museum.",
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
@pytest.mark.parametrize("piece", [" ", "\n", "'", '" "', '",\n', "...", "*", "a ", "1.\n", "- a\n"])
def test_time_for_long_quotes_and_sources_is_linear(piece: str) -> None:
    long = piece * (100_000 // len(piece))
    find([f'"a"{long}b'], DOCUMENTS)
    find(["“a quote of 'some' length that is not there"], [Document(content=long)])
    unlisted([f"a{long}b"], LIBRARY)
    unlisted(["a sentence of “some” length"], long)


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


@given(st.text(min_size=1), st.text(), st.text())
def test_any_verbatim_slice_is_found(quote: str, before: str, after: str) -> None:
    found, warnings = find([quote], [Document(content=before + quote + after)])
    if quote.strip():
        assert found[0].exact
        assert not warnings


@given(st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_offsets_are_always_inside_their_document(quotes: list[str], contents: list[str]) -> None:
    found, _ = find(quotes, [Document(content=content) for content in contents])
    assert all(0 <= each.start < each.end <= len(contents[each.document]) for each in found)


RESPONSE = "The library opens at nine. Tours cost 4.50 euros! Is it open on Sundays? No."
SENTENCES = ["The library opens at nine.", "Tours cost 4.50 euros!", "Is it open on Sundays?", "No."]


@pytest.mark.parametrize(
    ("sentences", "response", "warnings"),
    [
        (SENTENCES, RESPONSE, ()),
        ([sentence.upper() for sentence in SENTENCES], RESPONSE, ()),
        (SENTENCES[:-1], RESPONSE, ()),
        (
            [*SENTENCES[1:], "The library opens at 9."],
            RESPONSE,
            ("statement_not_in_response", "statement_missing"),
        ),
        (SENTENCES[:2], RESPONSE + " And there is a café on the ground floor.", ("statement_missing",)),
        ([*SENTENCES, "The café is on the roof."], RESPONSE, ("statement_not_in_response",)),
        ([], "The café is on the ground floor.", ("statement_missing",)),
        (["Twice said."], "Twice said. Twice said. Twice said. Twice said.", ()),
        (["该博物馆每周一闭馆。"], "该博物馆每周一闭馆。", ()),
        (["该博物馆每周一闭馆。"], f"该博物馆每周一闭馆。{CHINESE}", ("statement_missing",)),
        (["“Tours” cost\n4.50 euros"], "'Tours' cost 4.50 euros", ()),
        (["Opening hours: 9 to 5", "Closed."], "**Opening hours:** 9 to 5\n\n- *Closed*.", ()),
        (["**Opening hours:** 9 to 5"], "Opening hours: 9 to 5", ()),
        (["O café não abre."], normalize("NFD", "O café não abre."), ()),
        (["“Tours” cost\n4.50 euros"], '"Tours" cost 4.50 euros', ()),
    ],
)
def test_sentences_are_compared_with_the_response(
    sentences: list[str], response: str, warnings: tuple[str, ...]
) -> None:
    assert unlisted(sentences, response) == warnings
