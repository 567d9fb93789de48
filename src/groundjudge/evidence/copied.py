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
    bare = IS.sub("", normalize("NFKC", ASIDE.sub(" ", text)))
    return JOINED.sub(" ", RANGE.sub(" - ", bare))


@lru_cache(MOST_KEPT)
def key(word: str) -> str:
    """A word without its ending, its accents, and the second one of doubled letters."""
    letters = "".join(sign for sign in normalize("NFKD", word) if not combining(sign))
    if len(letters) < SHORTEST_WORD or not letters.isalpha():
        return word
    return re.sub(r"(.)\1+", r"\1", stem(letters))


def is_alike(one: str, other: str) -> bool:
    """Whether two keys are the same, but for two neighbouring letters that changed places: nine, nien."""
    if one == other or len(one) < SHORTEST_WORD or one[:1] != other[:1] or sorted(one) != sorted(other):
        return one == other
    at = next(at for at, sign in enumerate(one) if sign != other[at])
    return one.isalpha() and one[:at] + one[at + 1] + one[at] + one[at + 2 :] == other
