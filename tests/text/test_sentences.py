"""Texts in any script are cut into sentences where they end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.text.sentences import sentences

SENTENCES: list[tuple[str, list[str]]] = [
    ("", []),
    ("😀 👍", ["😀 👍"]),
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("It costs 3.50 euros. Cheap.", ["It costs 3.50 euros.", "Cheap."]),
    ("It costs 3.5. Version 1.2. Both.", ["It costs 3.5.", "Version 1.2.", "Both."]),
    ("Dr. Smith met J. R. Jones. They talked.", ["Dr. Smith met J. R. Jones.", "They talked."]),
    ("Fruit, e.g. apples, is sold in the U.S. too.", ["Fruit, e.g. apples, is sold in the U.S. too."]),
    ("Wait... what? “Yes.” Good.", ["Wait... what?", "“Yes.”", "Good."]),
    ("“Why?” he asked.", ["“Why?” he asked."]),
    ("Il a dit « oui. » Puis non.", ["Il a dit « oui. »", "Puis non."]),
    ("just practice . go out .", ["just practice .", "go out ."]),
    ("- one\n- two\n1. three\n2. four", ["- one", "- two", "1. three", "2. four"]),
    ("a wrapped\nline goes on\n\nnew", ["a wrapped\nline goes on", "new"]),
    ("他去了上海。然后呢？“好。”回家！", ["他去了上海。", "然后呢？", "“好。”", "回家！"]),
    ("هل هذا صحيح؟ نعم، صحيح. ثم ذهب", ["هل هذا صحيح؟", "نعم، صحيح.", "ثم ذهب"]),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_text_is_cut_into_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == expected


@given(st.text())
def test_every_letter_is_in_one_sentence_that_knows_its_place(text: str) -> None:
    found = sentences(text)
    assert all(text[start:end] == sentence for sentence, start, end in found)
    assert all(one.end <= two.start for one, two in pairwise(found))
    assert sum(map(str.isalnum, text)) == sum(map(str.isalnum, "".join(one.text for one in found)))
