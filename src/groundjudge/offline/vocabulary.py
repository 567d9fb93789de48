"""Words with a part of their own in the comparison, from words.json: most are English or German."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from groundjudge.text.negations import NEGATIONS
from groundjudge.text.words import Language, Word, words

LIMITS_BEHIND = ("limits", "negations")
"""The groups of words that limit or deny what is said before them."""

LIMITS_AHEAD = ("qualifiers", *LIMITS_BEHIND)
"""The groups of words that limit or deny what is said after them."""


def keys_of(sentence_words: Sequence[Word]) -> list[str]:
    """Return the keys by which content words are compared, such as stems: for "The shops" that of "shops"."""
    return [word.key for word in sentence_words if word.kind == "content"]


@cache
def _read_tables() -> Mapping[str, Sequence[str]]:
    text = files("groundjudge.offline").joinpath("words.json").read_text(encoding="utf-8")
    tables: Mapping[str, Sequence[str]] = json.loads(text)
    # "cannot" is read as "can not".
    return {**tables, "negations": sorted(NEGATIONS - {"cannot"})}


@cache
def vocabulary(language: Language, *groups: str) -> frozenset[str]:
    """Return the keys of the words in any of these groups, as in texts of a language."""
    lines = [line for group in groups for line in _read_tables()[group]]
    return frozenset(word.key for word in words(" ".join(lines), language))


def is_pronoun(word: Word) -> bool:
    """Whether a word is a pronoun such as "it", which stands for what a text is about."""
    # As it is written: "its" has the same stem.
    return word.text.casefold() in vocabulary("", "subjects")
