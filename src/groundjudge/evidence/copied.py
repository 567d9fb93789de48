"""How the words of a copy are compared with those of its text: which may be left out, and which are alike."""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import combining, normalize

from groundjudge.text.words import MOST_KEPT, stem

# What a copy may leave out, but not alter: numbers in circles, marks of citations, addresses of links, tags.
ASIDE = re.compile(
    r"[①-⑳❶-❿]|[0-9]\ufe0f?\u20e3|\[\^?[0-9]{1,2}(?:, ?[0-9]{1,2})*\](?:\([^\s()]*\))?|(?<=\])\([^\s()]*\)"
    r"|</?(?:a|b|br|code|em|i|li|ol|p|strong|su[bp]|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
# The number of a list ("2. ") may be left out, or added.
LIST_NUMBER = re.compile(
    r"\(?(?:[0-9]{1,2}|[a-z](?=\))|[一二三四五六七八九十]{1,3}(?=、))(?:[.):]+(?=[\s*_])|、)", re.IGNORECASE
)
NUMBERED = re.compile(rf"\A[\s*_]*{LIST_NUMBER.pattern}", re.IGNORECASE)
# "It's" is "It is".
IS = re.compile(r"(?<=\w)['’](?:s|re|m)\b", re.IGNORECASE)
# "5km" is "5 km", and "9-17" is "9 - 17"; "of 3 100" is no number of thousands.
JOINED = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
RANGE = re.compile(r"(?<=\d)(?:\s*[-‐-―−]\s*|\s+)(?=\d)")
# Letters of a word in which there may be a slip.
SHORTEST_WORD = 4


def comparable(text: str) -> str:
    """A text in one width, without what a copy may leave out."""
    text = ASIDE.sub(" ", text)
    text = IS.sub("", normalize("NFKC", text))
    text = RANGE.sub(" - ", text)
    return JOINED.sub(" ", text)


@lru_cache(MOST_KEPT)
def fold_word(word: str) -> str:
    """A word without its ending, its accents, and the second one of doubled letters."""
    letters = ""
    for sign in normalize("NFKD", word):
        if not combining(sign):
            letters += sign
    if len(letters) < SHORTEST_WORD or not letters.isalpha():
        return word
    return re.sub(r"(.)\1+", r"\1", stem(letters))


def is_alike(word: str, other_word: str) -> bool:
    """Whether two folded words are the same, or differ in two letters that changed places: nine, nien."""
    if word == other_word:
        return True
    if len(word) < SHORTEST_WORD or not word.isalpha():
        return False
    if word[0] != other_word[:1] or sorted(word) != sorted(other_word):
        return False
    place = 0
    while word[place] == other_word[place]:
        place += 1
    exchanged = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return exchanged == other_word
