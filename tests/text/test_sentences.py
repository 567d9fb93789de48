"""Texts in any script are cut into sentences where they end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.text.sentences import sentences

SENTENCES: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", []),
    "no letter and no digit": ("😀 👍", ["😀 👍"]),
    "a unit in a line of its own": ("It is 0\n°\nToday.", ["It is 0", "°", "Today."]),
    "a unit of full width": ("Down by 5\n％", ["Down by 5", "％"]),
    "a sign that stands for letters": ("Acme\n™", ["Acme", "™"]),
    "a comparison": ("It is\n< 5", ["It is", "< 5"]),
    "bullets, a ruler and a smiley alone": ("One.\n+\n***\n===\n>\n😀", ["One."]),
    "a mark of every kind": ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    "a decimal point": ("It costs 3.50 euros. Cheap.", ["It costs 3.50 euros.", "Cheap."]),
    "a version number": ("It costs 3.5. Version 1.2. Both.", ["It costs 3.5.", "Version 1.2.", "Both."]),
    "abbreviations and initials": (
        "Dr. Smith met J. R. Jones. They talked.",
        ["Dr. Smith met J. R. Jones.", "They talked."],
    ),
    "e.g. and U.S.": (
        "Fruit, e.g. apples, is sold in the U.S. too.",
        ["Fruit, e.g. apples, is sold in the U.S. too."],
    ),
    "an ellipsis and a quotation": ("Wait... what? “Yes.” Good.", ["Wait... what?", "“Yes.”", "Good."]),
    "a question that goes on": ("“Why?” he asked.", ["“Why?” he asked."]),
    "French quotation marks": ("Il a dit « oui. » Puis non.", ["Il a dit « oui. »", "Puis non."]),
    "a sentence that opens with a straight quotation mark": (
        'He left. "I am late," he said.',
        ["He left.", '"I am late," he said.'],
    ),
    "a sentence that opens with an apostrophe": (
        "He left. 'I go,' he said.",
        ["He left.", "'I go,' he said."],
    ),
    "a quotation behind a quotation": (
        '"I go." "Why?" "It is late."',
        ['"I go."', '"Why?"', '"It is late."'],
    ),
    "a straight mark that closes behind a blank": (
        'He said "I go. " Then he ran.',
        ['He said "I go. "', "Then he ran."],
    ),
    "a straight mark that closes a text cut into words": ('" I go . " He ran .', ['" I go . "', "He ran ."]),
    "a question in straight marks that goes on": ('"Why?" he asked.', ['"Why?" he asked.']),
    "a question ahead of an answer in straight marks": ('Is it open? "Yes."', ["Is it open?", '"Yes."']),
    "a name in straight marks behind an initial": (
        'Robert F. "Bob" Miller left.',
        ['Robert F. "Bob" Miller left.'],
    ),
    "German quotation marks that point inwards": (
        "Er ging. »Ich komme.« Dann lief er.",
        ["Er ging.", "»Ich komme.«", "Dann lief er."],
    ),
    "a mark of inches": ('It is 5". "Fine," he said.', ['It is 5".', '"Fine," he said.']),
    "a text that was cut into words": ("just practice . go out .", ["just practice .", "go out ."]),
    "bullets and numbers of a list": (
        "- one\n- two\n1. three\n2. four",
        ["- one", "- two", "1. three", "2. four"],
    ),
    "a wrapped line": ("a wrapped\nline goes on\n\nnew", ["a wrapped\nline goes on", "new"]),
    "Chinese marks": ("他去了上海。然后呢？“好。”回家！", ["他去了上海。", "然后呢？", "“好。”", "回家！"]),
    "Arabic marks": ("هل هذا صحيح؟ نعم، صحيح. ثم ذهب", ["هل هذا صحيح؟", "نعم، صحيح.", "ثم ذهب"]),
}


@pytest.mark.parametrize(("text", "expected"), SENTENCES.values(), ids=SENTENCES.keys())
def test_text_is_cut_into_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == expected


@given(st.text())
def test_every_letter_is_in_one_sentence_that_knows_its_place(text: str) -> None:
    spans = sentences(text)
    assert all(text[span.start : span.end] == span.text for span in spans)
    assert all(span.end <= next_span.start for span, next_span in pairwise(spans))
    texts = "".join(span.text for span in spans)
    assert sum(map(str.isalnum, text)) == sum(map(str.isalnum, texts))
