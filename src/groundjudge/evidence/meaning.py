"""Whether a passage says what a quote of it says: numbers, negations, units, times, opposites."""

from __future__ import annotations

import re
from collections import Counter
from unicodedata import normalize

from groundjudge.evidence.contrasts import contrasts
from groundjudge.evidence.skeleton import FULL_WIDTH
from groundjudge.text.negations import negations
from groundjudge.text.numbers import numbers

SHORTEST_STEM = 4
"""Letters that a word must have to be taken for another one without its prefix: (il)legal."""
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*")
_HYPHEN = re.compile(r"[-\u2010\u2011]")
_NOT_LATIN = re.compile("[\u0590-\u08ff\u0e00-\u109f\u1780-\u17ff\u3041-\u9fff]")
_PER_CENT = re.compile(r"\bper cent\b")
_IS_SHARE = re.compile("%|\\b(?:percent|prozent|pourcent)\\b|por ciento|por cento|per cento|百分")
_LACKING = re.compile("less|los(?:e[nmrs]?)?|frei(?:e[nmrs]?)?|loos|lös|fri|siz|sız")
"""Endings that turn a word into its opposite: harmless, kostenlos."""


def says_the_same(passage: str, quote: str) -> bool:
    """Whether two similar texts have the same numbers and negations, and no words that exclude each other."""
    passage, quote = _plain(passage), _plain(quote)
    return (
        numbers(passage) == numbers(quote)
        and negations(passage) == negations(quote)
        and not _are_opposed(passage.casefold(), quote.casefold())
    )


def _plain(text: str) -> str:
    """A text with composed accents, in ordinary width, that spells "per cent" in one word."""
    return _PER_CENT.sub("percent", normalize("NFC", text).translate(FULL_WIDTH))


def _are_opposed(passage: str, quote: str) -> bool:
    is_share = bool(_IS_SHARE.search(passage)), bool(_IS_SHARE.search(quote))
    return is_share[0] != is_share[1] or _have_contrasts(passage, quote) or _have_prefixes(passage, quote)


def _have_contrasts(passage: str, quote: str) -> bool:
    """Whether one group of the tables is named differently in the two; leaving a word out is no contrast."""
    one, other = contrasts(passage), contrasts(quote)
    return any(
        not (_is_part(one[group], other[group]) or _is_part(other[group], one[group]))
        for group in one.keys() & other.keys()
    )


def _is_part(short: list[str], long: list[str]) -> bool:
    """Whether a list is another one with some of its items left out."""
    rest = iter(long)
    return all(item in rest for item in short)


def _have_prefixes(passage: str, quote: str) -> bool:
    """Whether a word has a prefix, or an ending like -less, in one text only."""
    here, there = _words(passage), _words(quote)
    only_here, only_there = list((here - there).elements()), list((there - here).elements())
    if "".join(only_here) == "".join(only_there):  # well-known, well known
        return False
    there_set, here_set = set(only_there), set(only_here)
    return any(_is_derived(word, there_set) for word in only_here) or any(
        _is_derived(word, here_set) for word in only_there
    )


def _words(text: str) -> Counter[str]:
    return Counter(_HYPHEN.sub("", word) for word in _WORD.findall(text) if not _NOT_LATIN.match(word))


def _is_derived(word: str, others: set[str]) -> bool:
    """Whether a word is one of the others with something before it, or with an ending like -less."""
    return any(word[cut:] in others for cut in range(1, len(word) - SHORTEST_STEM + 1)) or any(
        word[:cut] in others and _LACKING.fullmatch(word, cut) for cut in range(SHORTEST_STEM - 1, len(word))
    )
