"""Citations: which markers there are, what they name, and what a judge finds of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from groundjudge import CaseError, PromptError, load
from groundjudge.citations import citations

SOURCES: Sequence[Mapping[str, str]] = (
    {"title": "Opening hours", "content": "The pool opens at 9. It closes at 20."},
    {"title": "Prices", "content": "A ticket costs 4 euros. Children pay 2 euros."},
    {"title": "How to get there", "content": "Bus 7 stops at the gate."},
)
URLS: Sequence[Mapping[str, str]] = (
    {"id": "https://pool.example/hours", "content": "The pool opens at 9."},
    {"id": "https://pool.example/prices", "content": "A ticket costs 4 euros."},
)
NUMBERED: Sequence[Mapping[str, str]] = (
    {"id": "7", "content": "Open at 9."},
    {"id": "3", "content": "Shut."},
)

MARKERS: Mapping[str, tuple[str, Sequence[tuple[str, int, tuple[int, ...]]]]] = {
    # a response; each citation: what it says, the number of its sentence, the documents
    "one": ("It opens at 9 [1].", [("1", 1, (0,))]),
    "without a blank": ("It opens at 9[1].", [("1", 1, (0,))]),
    "behind a word": ("It opens at nine[1], daily.", [("1", 1, (0,))]),
    "behind the full stop": (
        "It opens at 9. [1] A ticket costs 4 euros. [2]",
        [("1", 1, (0,)), ("2", 2, (1,))],
    ),
    "right behind the full stop": ("It opens at 9.[1] It costs 4.[2]", [("1", 1, (0,)), ("2", 2, (1,))]),
    "inside a sentence": ("It opens [1] at 9 and costs 4 [2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "two in one": ("It opens at 9 [1, 2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "two in one, tight": ("It opens at 9 [1,3].", [("1", 1, (0,)), ("3", 1, (2,))]),
    "a semicolon": ("It opens at 9 [1; 2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "a range": ("It opens at 9 [1-3].", [("1", 1, (0,)), ("2", 1, (1,)), ("3", 1, (2,))]),
    "a range with a long dash": ("It opens at 9 [1–2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "a range and one": ("It opens at 9 [1-2, 3].", [("1", 1, (0,)), ("2", 1, (1,)), ("3", 1, (2,))]),
    "side by side": ("It opens at 9 [1][2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "side by side with a blank": ("It opens at 9 [1] [2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "a footnote": ("It opens at 9.[^1]", [("1", 1, (0,))]),
    "two footnotes": ("It opens at 9[^1][^2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "lenticular brackets": ("九时开门【1】。", [("1", 1, (0,))]),
    "lenticular brackets behind the stop": (
        "九时开门。【1】八时关门。【2】",
        [("1", 1, (0,)), ("2", 2, (1,))],
    ),
    "with its kind, as assistants write it": ("It opens at 9【2†source】.", [("2", 1, (1,))]),
    "round brackets": ("It opens at 9 (1). It costs 4 (2).", [("1", 1, (0,)), ("2", 2, (1,))]),
    "round brackets, two in one": (
        "It opens at 9 (1, 2). It costs 4 (2).",
        [("1", 1, (0,)), ("2", 1, (1,)), ("2", 2, (1,))],
    ),
    "a title": ("It opens at 9 [Opening hours].", [("Opening hours", 1, (0,))]),
    "a title in other letters": ("It opens at 9 [OPENING  hours].", [("OPENING  hours", 1, (0,))]),
    "two titles": ("It is open [Opening hours; Prices].", [("Opening hours", 1, (0,)), ("Prices", 1, (1,))]),
    "a title behind the stop": ("It costs 4. [Prices] Bus 7 stops there.", [("Prices", 1, (1,))]),
    "a link with a number": ("It opens at 9 [1](https://pool.example).", [("1", 1, (0,))]),
    "a link with a title": ("See [Prices](https://pool.example/prices).", [("Prices", 1, (1,))]),
    "a link in brackets": ("It opens at 9 ([1](https://pool.example)).", [("1", 1, (0,))]),
    "in bold": ("It opens at **9** **[1]**.", [("1", 1, (0,))]),
    "in a list": ("- It opens at 9 [1]\n- It costs 4 [2]", [("1", 1, (0,)), ("2", 2, (1,))]),
    "in a numbered list": ("1. It opens at 9 [2].\n2. It costs 4 [1].", [("2", 1, (1,)), ("1", 2, (0,))]),
    "ahead of its sentence": ("[1] It opens at 9.\n[2] It costs 4.", [("1", 1, (0,)), ("2", 2, (1,))]),
    "in a table": ("| day | hour |\n|---|---|\n| Monday | 9 [1] |", [("1", 2, (0,))]),
    "in a heading": ("# Hours [1]\nIt opens at 9.", [("1", 1, (0,))]),
    "in a quotation": ('"It opens at 9." [1]', [("1", 1, (0,))]),
    "no such document": ("It opens at 9 [1]. It costs 4 [7].", [("1", 1, (0,)), ("7", 2, ())]),
    "nought": ("It opens at 9 [1]. It costs 4 [0].", [("1", 1, (0,)), ("0", 2, ())]),
    "a range that leads too far": ("It opens [2-4].", [("2", 1, (1,)), ("3", 1, (2,)), ("4", 1, ())]),
    "leading noughts": ("It opens at 9 [01].", [("1", 1, (0,))]),
    "a year beside a number": ("In [2019] it opened [1].", [("1", 1, (0,))]),
    "behind an abbreviation": ("It opens at 9 a.m. [1] It costs 4. [2]", [("1", 1, (0,)), ("2", 2, (1,))]),
    "behind a question": ("When? At 9 [1]. Really?", [("1", 2, (0,))]),
    "behind an exclamation": ("It opens at 9! [1] Come! [2]", [("1", 1, (0,)), ("2", 2, (1,))]),
    "on a line of its own": ("It opens at 9.\n[1]", [("1", 1, (0,))]),
    "twice": ("It opens at 9 [1]. It closes at 20 [1].", [("1", 1, (0,)), ("1", 2, (0,))]),
    "Greek": ("Ανοίγει στις 9 [1]. Κλείνει στις 20 [1].", [("1", 1, (0,)), ("1", 2, (0,))]),
    "Japanese": ("9時に開きます[1]。20時に閉まります[1]。", [("1", 1, (0,)), ("1", 2, (0,))]),
    "Arabic": ("يفتح في التاسعة [1]. يغلق في العشرين [2].", [("1", 1, (0,)), ("2", 2, (1,))]),
    "a list of sources by title": (
        "It opens at 9 [1]. It costs 4 [2].\n\nSources:\n[1] Opening hours\n[2] Prices",
        [("1", 1, (0,)), ("2", 2, (1,))],
    ),
    "a list of sources in another order": (
        "It costs 4 [1]. It opens at 9 [2].\n\n## References\n[1] Prices\n[2] Opening hours, the pool's page",
        [("1", 1, (1,)), ("2", 2, (0,))],
    ),
    "footnotes with definitions": (
        "It costs 4.[^1]\n\n[^1]: Prices",
        [("1", 1, (1,))],
    ),
    "a numbered list of sources": (
        "It costs 4 [1].\n\nSources:\n1. Prices\n2. Opening hours",
        [("1", 1, (1,))],
    ),
    "a list of sources that no document is called by": (
        "It costs 4 [2].\n\n[1] The net\n[2] A friend",
        [("2", 1, (1,))],
    ),
    "bullets in the list of sources": ("It costs 4 [1].\n\nSources\n- [1]: Prices", [("1", 1, (1,))]),
}

NO_MARKERS: Mapping[str, str] = {
    "no brackets": "It opens at 9.",
    "a year": "In [2019] it opened.",
    "a year in round brackets": "It opened (2019). It closed (2021).",
    "a number without a document": "It costs 4 [12].",
    "several of them": "It costs 4 [12], and 5 [13].",
    "code in a line": "Take `a[1]` and `b[2]`.",
    "code in a fence": "So:\n```python\nx = a[1]\n```\nDone.",
    "code in a fence that is open": "So:\n```\nx = a[1]\n",
    "code in tildes": "So:\n~~~\na[1]\n~~~",
    "an assignment": "Write a[1] = 5 there.",
    "an open check box": "- [ ] open the gate",
    "a check box": "- [x] open the gate",
    "a numbered list": "1. Open the gate.\n2. Swim.",
    "a numbered list in brackets": "(1) Open the gate.\n(2) Swim.",
    "an enumeration": "First (1) open the gate, then (2) swim.",
    "a single number in round brackets": "It opens at 9 (1).",
    "a call": "Use open(1), then close(2).",
    "an address": "See [our page](https://pool.example/page).",
    "an image": "![a pool](pool.png)",
    "sic": "It opend [sic] at 9.",
    "an ellipsis": "It opens [...] at 9.",
    "a note": "It opens [at last] at 9.",
    "a title without brackets": "The page Opening hours says 9.",
    "empty brackets": "It opens [] at 9.",
    "open brackets": "It opens [1 at 9.",
    "crossed brackets": "It opens [1) at 9.",
    "a decimal": "It costs [4.50] euros.",
    "a coordinate": "It lies at (3.5, 7).",
    "a phone number": "Call (030) 1234.",
    "a range of years": "It ran [1999-2004].",
    "a blank text": "  ",
}


def cited(response: str, documents: Any = SOURCES, **options: Any) -> list[tuple[str, int, tuple[int, ...]]]:
    found = citations(response, documents, **options)
    for citation in found:
        marker = response[citation.start : citation.end]
        assert marker[0] in "[【(", marker
        assert marker[-1] in "]】)", marker
    return [(citation.text, citation.sentence, citation.documents) for citation in found]


@pytest.mark.parametrize(("response", "expected"), MARKERS.values(), ids=MARKERS)
def test_markers_name_documents(response: str, expected: list[tuple[str, int, tuple[int, ...]]]) -> None:
    assert cited(response) == expected


@pytest.mark.parametrize("response", NO_MARKERS.values(), ids=NO_MARKERS)
def test_what_is_not_a_marker(response: str) -> None:
    assert cited(response) == []


def test_documents_are_called_by_their_ids() -> None:
    assert cited("Open [https://pool.example/hours].", URLS) == [("https://pool.example/hours", 1, (0,))]
    assert cited("It costs [4 euros](https://pool.example/prices).", URLS) == [("4 euros", 1, (1,))]
    assert cited("Open [7]. Shut [3]. Gone [1].", NUMBERED) == [("7", 1, (0,)), ("3", 2, (1,)), ("1", 3, ())]


def test_a_mapping_says_what_numbers_stand_for() -> None:
    assert cited("Open [12].", numbers={"12": 1}) == [("12", 1, (1,))]
    assert cited("Open [1].\n\n[1] Prices", numbers={"1": 2}) == [("1", 1, (2,))]


def test_a_title_that_several_documents_have_cites_each() -> None:
    pieces = [
        {"title": "Hours", "content": "Open at 9."},
        {"title": "Hours", "content": "Closed on Sundays."},
    ]
    assert cited("Closed on Sundays [Hours].", pieces) == [("Hours", 1, (0, 1))]


@pytest.mark.parametrize("documents", [[], ""], ids=["no document", "a blank context"])
def test_without_a_document_nothing_is_cited(documents: Any) -> None:
    assert cited("It opens at 9 [1].", documents) == []


def test_documents_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(CaseError, match="context"):
        citations("It opens [1].", 5)  # type: ignore[arg-type]


def test_only_a_judge_with_numbered_sentences_checks_citations() -> None:
    with pytest.raises(PromptError, match="use statement_groundedness"):
        load("groundedness", model="offline", citations=True)
