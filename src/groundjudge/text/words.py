"""The words of a text as they are compared: without endings and in one spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from groundjudge.text.negations import NEGATIONS
from groundjudge.text.numbers import Number

snowball: Any = import_module("Stemmer")  # which is not typed

_FUNCTION_WORDS = """
a about after again against ah also although an and any are as at be because been before being between but by
can could did do does down during for from further had has have having he her here him his how however i if
in into is it its just longer may me meanwhile might must my of off ok okay on once or our out over own please
same shall she should so such than that the their them then there therefore these they this those though
through thus to too under until up us very was we well were what when where which while who whom whose why
will with would yeah yes yet you your das dem den der des die ein eine ist sind und von wird wurde zu
"""
FUNCTION_WORDS = NEGATIONS | frozenset(_FUNCTION_WORDS.split())
"""Words that hardly any text does without, so that they say little about what it states."""

ARTICLES = frozenset(("the", "a", "an"))
FUNCTION_SIGNS = frozenset(
    "在以于從从由對对向到為为被把將将按自比的了着著過过和與与及而且并並也都就还還是之其这這那或"
    "但可能会會应應须須要得让讓使有"
)
"""The same in Chinese, where words stand side by side: who joins two words must not be one as well."""

_SPELLINGS = """
grey gray; programme program; councillor councilor; aluminium aluminum; km kilometer; cm centimeter;
mm millimeter; kg kilogram; jan january; feb february; mar march; apr april; jun june; jul july; aug august;
sep september; sept september; oct october; nov november; dec december
"""
SPELLINGS = dict(map(str.split, _SPELLINGS.split(";")))
"""Spellings and abbreviations that no rule leads to, and what each is compared as."""

_AMERICAN = (
    (r"(?<=\w\w)our(?=s?$|ed|ing|ite|able|ful|less|ist|al|er|y|hood)", "or"),  # colour, favourite
    (r"(?<=\w\w)([iy])s(?=e$|es$|ed$|er$|ers$|ing$|ation|able)", r"\1z"),  # organise, analyse
    (r"(?<=\w[tb])re(?=s?$|d$)", "er"),  # centre, fibre
    (r"ae(?=mi[ac])", "e"),  # anaemia
)

FUNCTION_WEIGHT = 0.4
MOST_KEPT = 1 << 14
"""Words whose stems are kept: most words of a text are those of all texts."""
LONGEST_KEPT = 40
LONGEST_STEM = 7
"""Letters that two words must share at least, to be forms of one: verlängert, Verlängerung."""

_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_UNSPACED_SIGN = re.compile(f"[{_UNSPACED}]")
# A negation stands by itself, so that it does not hide the words on its two sides.
_RUN = re.compile(f"[没沒]有?|[无無]法?|[不未勿]|(?:(?![不没沒无無未勿])[{_UNSPACED}])+|[^{_UNSPACED}]+")
_FUNCTION_SIGNS = re.compile(f"[{''.join(sorted(FUNCTION_SIGNS))}]|^[\u3041-\u309f]{{2}}$")

MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_PER_CENT = re.compile(r"\s?\bper ?cent\b", re.IGNORECASE)
_HOUR = re.compile(r"(?:(?<=\d)\s?|\b(?=[ap]\.))([ap])\.?\s?m\b\.?", re.IGNORECASE)
_DATE = re.compile(r"\b(?:(\d{4})-(\d\d)-(\d\d)(?!\d)|(\d\d?)\.(\d\d?)\.(\d{4}))(?=\D|$)")


class Word(NamedTuple):
    """A word as it is compared: its stem, how much it counts, how it is written and where it begins."""

    stem: str
    weight: float
    text: str
    start: int


def words(text: str) -> list[Word]:
    """The words of a text; in scripts without spaces, every two neighbouring signs."""
    runs = (run for match in _WORD.finditer(text) for run in _RUN.finditer(text, *match.span()))
    return [word for run in runs for word in _run(run[0], run.start())]


def is_unspaced(word: str) -> bool:
    """Whether a word comes from a script without spaces."""
    return bool(_UNSPACED_SIGN.match(word))


def without_numbers(text: str, found: Iterable[Number]) -> str:
    """A text with blanks where its numbers are, so that the words are what is left."""
    signs = list(text)
    for _, start, end in found:
        signs[start:end] = " " * (end - start)
    return "".join(signs)


def spelled(text: str) -> str:
    """A text whose dates have a month's name, 2014-03-12 and 12.3.2014, and whose hours are am or pm."""
    return _DATE.sub(_dated, _HOUR.sub(r" \1m", _PER_CENT.sub("%", text)))


def _dated(date: re.Match[str]) -> str:
    year, month, day = date.group(1, 2, 3) if date[1] else date.group(6, 5, 4)
    return f"{day} {MONTHS[int(month) - 1]} {year}" if 0 < int(month) <= len(MONTHS) else date[0]


def _run(run: str, start: int) -> Iterator[Word]:
    if not is_unspaced(run):
        yield Word(*_looked_up(run[:LONGEST_KEPT]), run, start)
    elif len(run) == 1 or run[0] in "没沒无無":
        yield Word(run[0], FUNCTION_WEIGHT, run, start)
    else:
        for at, two in enumerate(map("".join, pairwise(run)), start):
            yield Word(two, FUNCTION_WEIGHT if _FUNCTION_SIGNS.search(two) else 1.0, two, at)


@lru_cache(MOST_KEPT)
def _looked_up(word: str) -> tuple[str, float]:
    """What a word is compared by and how much it counts."""
    low = word.casefold()
    is_function = low in FUNCTION_WORDS or len(low) == 1 or low.endswith(("n't", "n’t"))
    return _stemmed(low), FUNCTION_WEIGHT if is_function else 1.0


def _stemmed(word: str) -> str:
    """A word in small letters and American spelling without its ending (Snowball's for English), cut short.

    One language for all, and not the text's own: what is guessed from one sentence could differ from what is
    guessed from another, and a word would no longer be the same in the two.
    """
    word = word.removesuffix("'s").removesuffix("’s")
    word = SPELLINGS.get(word) or SPELLINGS.get(word.removesuffix("s"), word)
    for british, american in _AMERICAN:
        word = re.sub(british, american, word)
    # a new stemmer for each word that is not kept: threads must not share one
    return str(snowball.Stemmer("english").stemWord(word))[:LONGEST_STEM]
