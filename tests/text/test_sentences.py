"""Texts in any script are cut into sentences where they end."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentence_boundaries import BOUNDARIES, marked_texts

from groundjudge.text.sentences import sentences

SENTENCES: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", []),
    "no letter and no digit": ("😀 👍", ["😀 👍"]),
    "a unit in a line of its own": ("It is 0\n°\nToday.", ["It is 0\n°", "Today."]),
    "a unit of full width": ("Down by 5\n％", ["Down by 5\n％"]),
    "a sign that stands for letters": ("Acme\n™", ["Acme\n™"]),
    "a comparison": ("It is\n< 5", ["It is", "< 5"]),
    "bullets, a ruler and a smiley alone": ("One.\n+\n***\n===\n>\n😀", ["One.\n+\n***\n===\n>\n😀"]),
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
    "a block of code": (
        "Run this:\n```sh\nmake\n\n  make test\n```\nDone. Good.",
        ["Run this:\n```sh", "make", "make test\n```", "Done.", "Good."],
    ),
    "a block that is not closed": ("Run:\n~~~\nmake\ntest", ["Run:\n~~~", "make", "test"]),
    "code on a line of its own": (
        "Run:\n```make all```\nIt is free. Done.",
        ["Run:", "```make all```", "It is free.", "Done."],
    ),
    "a fence with blanks": ("```  sh \nmake\n```  \nDone. Good.", ["```  sh \nmake\n```", "Done.", "Good."]),
    "a fence with attributes": (
        '```py title="a.py" {3}\nx = y\n```\nDone. Good.',
        ['```py title="a.py" {3}\nx = y\n```', "Done.", "Good."],
    ),
    "code in a quotation": ("> ```\n> make\n> ```\nDone. Good.", ["> ```\n> make\n> ```", "Done.", "Good."]),
    "code with a line like that which begins it": (
        "```md\n```sh\nmake\n```\nDone. Good.",
        ["```md\n```sh\nmake\n```", "Done.", "Good."],
    ),
    "a sign that says something beside code": (
        "It costs 5\n€\n```\nmake\n```\n\n---\n\n```\ntest\n```\n≥ 3",
        ["It costs 5\n€\n```", "make\n```\n\n---\n\n```", "test\n```", "≥ 3"],
    ),
    "code without words": ("```\n{\n}\n```", ["```\n{\n}\n```"]),
    "a mapping": ('{"a": 1, "b": [1, 2]}', ['{"a": 1,', '"b": [1, 2]}']),
    "a list": ('[{"id": 1, "x": "y. z"}, {"id": 2}]', ['[{"id": 1, "x": "y. z"},', '{"id": 2}]']),
    "rows inside a mapping": (
        '{"rows": [{"id": 1}, {"id": 2}], "n": 2}',
        ['{"rows": [{"id": 1},', '{"id": 2}],', '"n": 2}'],
    ),
    "rows of two kinds": (
        '{"cancelled": [{"no": 1}], "on_time": [{"no": 2}, {"no": 3}]}',
        ['{"cancelled": [{"no": 1}],', '"on_time": [{"no": 2},', '{"no": 3}]}'],
    ),
    "rows under several keys": (
        '{"data": {"flights": [{"no": 1}, {"no": 2}], "note": "' + "x" * 300 + '"}}',
        ['{"data": {"flights": [{"no": 1},', '{"no": 2}],', '"note": "' + "x" * 300 + '"}}'],
    ),
    "a long row": (
        '[{"id": 1, "text": "' + "x" * 400 + '"}]',
        ['[{"id": 1,', '"text": "' + "x" * 400 + '"}]'],
    ),
    "JSON with blanks": ('\n { "a" : 1 ,\n "b" : "c" } ', ['{ "a" : 1 ,', '"b" : "c" }']),
    "an empty list": ("[]", ["[]"]),
    "JSON that is cut off": ('{"a": 1, "b"', ['{"a": 1, "b"']),
    "deep JSON": ("[" * 5000 + "]" * 5000, ["[" * 5000 + "]" * 5000]),
}


def test_text_is_cut_into_sentences() -> None:
    for kind, (text, expected) in SENTENCES.items():
        assert [sentence.text for sentence in sentences(text)] == expected, kind


@pytest.mark.parametrize("kind", BOUNDARIES)
def test_text_is_cut_where_its_sentences_begin(kind: str) -> None:
    for marked in [marked for other_kind, marked in marked_texts() if other_kind == kind]:
        is_right = frozenset(sentence.start for sentence in sentences(marked.text)[1:]) == marked.cuts
        assert is_right is not marked.is_missed, marked.text


@given(st.text() | st.text("a1. !\n\"'”（。”[]1(`~#|-*>{},:\ud800Я"))
def test_sentences_are_all_of_a_text_but_white_space_between_them(text: str) -> None:
    spans = sentences(text)
    assert all(text[span.start : span.end] == span.text == span.text.strip() != "" for span in spans)
    ends = [0, *(span.end for span in spans)]
    starts = [*(span.start for span in spans), len(text)]
    assert all(text[end:start].strip() == "" for end, start in zip(ends, starts, strict=True))
    if any(map(str.isalnum, text)):
        assert all(any(map(str.isalnum, span.text)) for span in spans)


def random_json(dice: random.Random, depth: int = 0) -> Any:
    """Lists, mappings, texts and numbers inside one another; each text and number is another one."""
    kind = dice.choice(["text", "number", "list", "mapping"]) if depth else dice.choice(["list", "mapping"])
    if depth == 8 or kind == "text":
        return f"word{dice.randrange(10**6)}" * dice.choice([1, 1, 40])
    if kind == "number":
        return dice.randrange(10**6)
    values = [random_json(dice, depth + 1) for _ in range(dice.randint(1, 3))]
    if kind == "list":
        return values
    return {f"key{dice.randrange(10**6)}": value for value in values}


@pytest.mark.parametrize("seed", range(10))
def test_every_key_and_value_of_json_is_in_one_of_its_entries_in_order(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311  no secret
    text = json.dumps(random_json(dice), indent=dice.choice([None, 2]))
    spans = sentences(text)
    assert all(text[span.start : span.end] == span.text for span in spans)
    shown = "".join(filter(str.isalnum, " ".join(span.text for span in spans)))
    assert shown == "".join(filter(str.isalnum, text))
