"""Edits that make a supported sentence wrong lower its score, and edits that keep its meaning do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundjudge.support import index, support

LEAST_LOSS = 0.05
MOST_LOSS = 0.1


class Stated(NamedTuple):
    """A sentence as its source has it: its clauses, and the two who act in it."""

    clauses: tuple[str, ...]
    doer: str
    other: str
    sign: str
    others: str = ""
    """The rest of the document."""

    @property
    def text(self) -> str:
        return f"{'，' if self.is_chinese else ', '}".join(self.clauses) + self.sign

    @property
    def is_chinese(self) -> bool:
        return self.sign == "。"


ENGLISH = [
    Stated(
        ("In 1968 Tove Aldous hired Pavel Moreau", "who has rowed 1,250 kilometres with some friends"),
        "Tove Aldous",
        "Pavel Moreau",
        ".",
        "The harbour is closed in winter. Visitors pay 9 euros.",
    ),
    Stated(
        (
            "Some neighbours say that Ilsa Brandt has paid 4,800 euros to Henrik Vale",
            "before the theatre was sold",
        ),
        "Ilsa Brandt",
        "Henrik Vale",
        ".",
        "The colour of the door is grey. It was painted in 1999 by Mona Reyes.",
    ),
    Stated(
        (
            "At the centre of Quillby",
            "Rosa Tarn has defeated Igor Slade in 12 hours",
            "and some judges favour her",
        ),
        "Rosa Tarn",
        "Igor Slade",
        ".",
        "Entry costs 5 pounds. The chess club is 40 years old.",
    ),
    Stated(
        (
            "After the storm of 1911",
            "some travellers said that Captain Brume was rescued",
            "while Odile thanked Wren",
        ),
        "Odile",
        "Wren",
        ".",
        "The catalogue lists 300 metres of rope.",
    ),
    Stated(
        (
            "Some organisers praise Anselm",
            "whose programme is 90 minutes long",
            "and Anselm recommends Bettany",
        ),
        "Anselm",
        "Bettany",
        ".",
        "The defence of the tower lasted 7 weeks.",
    ),
]
CHINESE = [
    Stated(
        ("1968年罗明聘请了陶安", "一些邻居说这座桥长1250公里"),
        "罗明",
        "陶安",
        "。",
        "港口冬季关闭。门票九欧元。",
    ),
    Stated(
        ("有些居民说李岚赔偿了周朔4800欧元", "剧院是石头建的"),
        "李岚",
        "周朔",
        "。",
        "大门是灰色的。一九九九年重新粉刷。",
    ),
    Stated(
        ("在青石镇中心", "何静打败了郭远", "比赛用了12小时", "一些裁判是退休教师"),
        "何静",
        "郭远",
        "。",
        "门票五元。棋社有四十年历史。",
    ),
]
STATED = [*ENGLISH, *CHINESE]

NEGATED = {
    r"\bhas\b": "has not",
    r"\bwas\b": "was not",
    r"\bis\b": "is not",
    "是": "不是",
    "聘请了": "没有聘请",
}
UNITS = {"kilometres": "miles", "euros": "dollars", "hours": "days", "minutes": "hours", "公里": "英里"} | {
    "欧元": "美元",
    "小时": "天",
}
QUANTIFIERS = {"some": "all", "Some": "All", "一些": "所有", "有些": "所有"}
INVENTED = {
    False: [
        ", and the mayor keeps three white foxes",
        ", which won a golden medal in Lisbon",
        " and died of fever",
    ],
    True: ["，市长养了三只白狐狸", "，后来在里斯本获得金牌", "，并且死于热病"],
}
STRANGERS = {False: ["Zelda Quint", "Mortimer"], True: ["钱伯庸", "孙二娘"]}

AMERICAN = {"centre": "center", "theatre": "theater", "neighbours": "neighbors", "favour": "favor"} | {
    "organisers": "organizers",
    "travellers": "travelers",
    "programme": "program",
    "kilometres": "kilometers",
}


def replaced(text: str, table: dict[str, str]) -> Iterator[str]:
    """The text with each of the words replaced in turn."""
    for pattern, other in table.items():
        edited = re.sub(pattern, other, text, count=1)
        if edited != text:
            yield edited


def number_changed(stated: Stated) -> Iterator[str]:
    for number in re.finditer(r"\d[\d,]*\d", stated.text):
        written = str(int(number[0].replace(",", "")) + 3)
        yield stated.text[: number.start()] + written + stated.text[number.end() :]


def name_swapped(stated: Stated) -> Iterator[str]:
    for stranger in STRANGERS[stated.is_chinese]:
        yield stated.text.replace(stated.doer, stranger)
        yield stated.text.replace(stated.other, stranger)


def negation_added(stated: Stated) -> Iterator[str]:
    yield from replaced(stated.text, NEGATED)


def units_changed(stated: Stated) -> Iterator[str]:
    yield from replaced(stated.text, UNITS)


def some_made_all(stated: Stated) -> Iterator[str]:
    yield from replaced(stated.text, QUANTIFIERS)


def roles_exchanged(stated: Stated) -> Iterator[str]:
    if stated.text.count(stated.doer) == 1:
        yield (
            stated.text.replace(stated.doer, "@")
            .replace(stated.other, stated.doer)
            .replace("@", stated.other)
        )


def clause_invented(stated: Stated) -> Iterator[str]:
    for clause in INVENTED[stated.is_chinese]:
        yield stated.text[:-1] + clause + stated.sign


def case_changed(stated: Stated) -> Iterator[str]:
    yield from (stated.text.upper(), stated.text.lower(), stated.text.title(), stated.text.swapcase())


def punctuation_changed(stated: Stated) -> Iterator[str]:
    yield from (stated.text[:-1], f"{stated.text[:-1]}!", f"“{stated.text}”", f"- {stated.text}")
    yield re.sub(", (?=[a-z])", " – ", stated.text).replace("，", "；")


def separators_changed(stated: Stated) -> Iterator[str]:
    for mark in ("", ",", ".", " ", "\u202f", "'"):
        yield (
            re.sub(r"(?<=\d),?(?=\d{3}(?!\d))(?<!1(?=9))", mark, stated.text)
            if "," in stated.text
            else (re.sub(r"(?<=[14])(?=[28][05]0)", mark, stated.text))
        )


def clauses_reordered(stated: Stated) -> Iterator[str]:
    for order in permutations(stated.clauses):
        yield stated._replace(clauses=order).text


def spelt_otherwise(stated: Stated) -> Iterator[str]:
    yield from replaced(stated.text, AMERICAN)


Edit = Callable[[Stated], Iterable[str]]
WRONG: list[Edit] = [
    number_changed,
    name_swapped,
    negation_added,
    units_changed,
    some_made_all,
    roles_exchanged,
    clause_invented,
]
ALIKE: list[Edit] = [
    case_changed,
    punctuation_changed,
    separators_changed,
    clauses_reordered,
    spelt_otherwise,
]


def score(sentence: str, stated: Stated) -> float:
    return support(sentence, index([f"{stated.others} {stated.text} {stated.others}"])).score


@pytest.mark.parametrize("stated", STATED, ids=lambda stated: stated.doer)
def test_sentence_of_the_source_is_supported(stated: Stated) -> None:
    assert score(stated.text, stated) > 0.9


@pytest.mark.parametrize("edit", WRONG, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("stated", STATED, ids=lambda stated: stated.doer)
def test_edit_that_makes_it_wrong_lowers_the_score(stated: Stated, edit: Edit) -> None:
    full = score(stated.text, stated)
    for edited in edit(stated):
        assert score(edited, stated) <= full - LEAST_LOSS, edited


@pytest.mark.parametrize("edit", ALIKE, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("stated", STATED, ids=lambda stated: stated.doer)
def test_edit_that_keeps_the_meaning_costs_little(stated: Stated, edit: Edit) -> None:
    full = score(stated.text, stated)
    for edited in edit(stated):
        assert score(edited, stated) >= full - MOST_LOSS, edited


@pytest.mark.parametrize("edit", WRONG, ids=lambda edit: edit.__name__)
def test_every_edit_is_tried_in_both_languages(edit: Edit) -> None:
    assert any(map(list, map(edit, ENGLISH)))
    assert any(map(list, map(edit, CHINESE)))


@settings(max_examples=100, deadline=None)
@given(stated=st.sampled_from(STATED), number=st.integers(min_value=2, max_value=10**7))
def test_any_other_number_lowers_the_score(stated: Stated, number: int) -> None:
    first = re.search(r"\d[\d,]*\d", stated.text)
    assert first
    if int(first[0].replace(",", "")) != number:
        edited = stated.text.replace(first[0], str(number))
        assert score(edited, stated) <= score(stated.text, stated) - LEAST_LOSS
