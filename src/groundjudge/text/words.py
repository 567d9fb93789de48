"""The words of a text as they are compared, and what each of them is there for.

A word is compared by its stem if a stemmer knows the language, and otherwise as it is; a number by its
value. Symbols with a meaning (currencies, operators, %) are words, and so is each character of a script
that puts no spaces between words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias
from unicodedata import category, east_asian_width, normalize

from groundjudge.text.patterns import compile_when_used

snowball: Any = import_module("Stemmer")  # which is not typed

Language: TypeAlias = Literal["english", "german", "french", "spanish", "italian", "dutch", ""]
"""A language whose function words are known; "" for any other, in which every word counts."""

Kind: TypeAlias = Literal["content", "link", "filler"]
"""What a word is there for: it says something, it links words that do, or the grammar asks for it."""

_FILLERS: Mapping[Language, str] = {
    "english": "a an the this that these those its their is are be been being has have do does "
    "there here and then also so as",
    "german": "der die das den dem des ein eine einen einem einer eines dieser diese dieses es ihr ihre "
    "ihren ist sind hat haben wird werden und auch da dann so",
    "french": "le la les l un une des de du d ce cet cette ces son sa ses leur leurs est sont être été a "
    "ont y et aussi",
    "spanish": "el la los las lo un una unos unas este esta estos estas su sus es son está están ser ha han "
    "hay y e también",
    "italian": "il lo la i gli le l un uno una questo questa questi queste suo sua suoi loro è sono essere "
    "ha hanno e ed anche",
    "dutch": "de het een dit dat deze die zijn haar hun is heeft hebben wordt worden er en ook dan",
}
_LINKS: Mapping[Language, str] = {
    "english": "of in on at to for with by from into through during about over under it they them he she "
    "his her him i my me who which",
    "german": "in im an am auf aus bei beim durch für mit nach um unter vom von vor über zu zum zur als er "
    "sie sein seine",
    "french": "à au aux en dans par pour sur sous avec chez vers depuis entre il elle ils elles on qui que "
    "dont",
    "spanish": "de del a al en por para con sobre desde hasta entre él ella ellos ellas que quien se",
    "italian": "di del dello della dei degli delle a al allo alla ai alle da dal dalla in nel nella nei "
    "nelle con su sul sulla per tra fra egli lui lei essi che chi si",
    "dutch": "van in op te aan met door voor bij uit naar over onder tussen om tot hij zij ze wie als",
}

_INSIDE_WORDS = ".,:/'_@!#-"  # 9:00, and/or, don't, snake_case, !ready, C#
_SYMBOLS_WITH_MEANING = "%‰§"
_FOLDED = {
    **dict.fromkeys("’ʼ", "'"),
    **dict.fromkeys("‐‑‒–−", "-"),
    **dict.fromkeys("();—。、", " , "),  # between clauses
    "&": " and ",
    "|": " ",  # the bar of a table
}

_NUMBER = compile_when_used(r"(?P<number>-?\d[\d.,:]*)(?P<unit>[^\W\d_]*)")
_THOUSANDS = compile_when_used(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = compile_when_used(r"(?<!\d),|,(?!\d)")  # but for the commas of numbers
_HYPHEN = compile_when_used(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_SHORT_FORM = compile_when_used(r"'(?:s|re|ve|m|ll|d)?\Z", re.IGNORECASE)
# The verbs of negations that do not only add n't to them.
_VERBS = {"cannot": "can", "can't": "can", "won't": "will", "shan't": "shall"}

MAX_KEPT = 1 << 15
"""Words that are kept as they were read: most words of a text are those of all texts."""

MAX_COMPARED = 200
"""How many characters of a piece are compared: a megabyte without spaces is neither stemmed nor kept."""

MAX_LOOKED_AT = 400
"""How many characters of each text identify the language: more of them change nothing."""

MIN_KNOWN = 0.1
"""The share of function words that makes a text one of a language; running text has .2 and more."""


class Word(NamedTuple):
    """A word as it is written and as it is compared."""

    text: str
    key: str
    kind: Kind
    begins_clause: bool  # whether it is the first one after a comma, a colon, a bracket or the like


class _Characters(dict[int, str]):
    """What each character of a text becomes before the text is split at its spaces; filled as they occur."""

    def __missing__(self, code: int) -> str:
        self[code] = _fold_character(chr(code))
        return self[code]


_CHARACTERS = _Characters(str.maketrans(_FOLDED))


def words(text: str, language: Language = "english") -> list[Word]:
    """The words of a text, in order: of "The 1,000 cats' toys" the keys are the, 1000, cat and toy."""
    found_words: list[Word] = []
    begins_clause = True
    for core in _fold(text).split():
        core_words, begins_clause = _words_of_core(core[:MAX_COMPARED], language, begins_clause)
        found_words += core_words
    return found_words


def language_of(texts: Iterable[str]) -> Language:
    """The language of texts that belong together, told by their function words; "" if it is not known."""
    terms: list[str] = []
    for text in texts:
        terms.extend(text[:MAX_LOOKED_AT].casefold().split())
    n_known: dict[Language, int] = {}
    for language, fillers in _FILLERS.items():
        function_words = _terms(f"{fillers} {_LINKS[language]}")
        n_known[language] = sum(map(function_words.__contains__, terms))
    likeliest = max(n_known, key=n_known.__getitem__)
    return likeliest if n_known[likeliest] > MIN_KNOWN * len(terms) else ""


def _fold(text: str) -> str:
    """Return a text with spaces between all words, and one form for the characters in them."""
    text = normalize("NFKC", text).replace("!=", "≠")
    if "," in text:
        text = _COMMA.sub(" , ", text)
    return text.translate(_CHARACTERS)


def _fold_character(character: str) -> str:
    """Return what a character of no rule of its own becomes: itself, a separate word, a space or nothing."""
    kind = category(character)
    if kind[0] == "L" and east_asian_width(character) in {"W", "F"}:
        return f" {character} "
    if kind[0] in "LMN" or character in _INSIDE_WORDS:
        return character
    if kind == "Cf":
        return ""
    # Not modifiers (Sk): the backtick quotes code.
    has_meaning = character in _SYMBOLS_WITH_MEANING or kind in {"Sc", "Sm", "So"}
    return f" {character} " if has_meaning else " "


@lru_cache(MAX_KEPT)
def _words_of_core(
    piece: str,
    language: Language,
    begins_clause: bool,  # noqa: FBT001  a cache is looked up faster by position
) -> tuple[tuple[Word, ...], bool]:
    """Return the words in a folded piece of text without spaces, and whether the next one begins a clause."""
    core = piece.strip(_INSIDE_WORDS)
    if not core:
        return (), True  # a comma, a dash between spaces
    before, _, after = piece.partition(core)
    core_words: list[Word] = []
    for part in _parts_of(core, before, after):
        begins = begins_clause and not core_words
        small = part.casefold()
        kind = _kind_of(small, language)
        if part == "A" and not begins:
            kind = "content"  # Gallery A
        core_words.append(Word(part, _key_of(small if begins else part, language), kind, begins))
    ends_clause = after[:1] in {".", ",", ":"}
    return tuple(core_words), ends_clause


def _parts_of(core: str, before: str, after: str) -> list[str]:
    """Return the words in a piece of text without spaces.

    Args:
        core: the piece without the symbols around it: "5km" gives 5 and km, "well-known" well and known.
        before: the symbols before it. They may change its meaning: "-" makes 5 -5.
        after: the symbols after it: "#" makes C the language C#.
    """
    if core[0].isdigit():
        if before.endswith("."):
            core = f"0.{core}"  # .5
        if before.endswith(("-", "-.")):
            core = f"-{core}"
    elif before.endswith("!"):
        core = f"!{core}"  # not, in code
    if after.startswith("#"):
        core = f"{core}#"
    if core.isalpha() and core.casefold() not in _VERBS:  # as most are
        return [core]
    number = _NUMBER.fullmatch(core)
    if number is not None:
        return [part for part in number.group("number", "unit") if part]  # 5km, 9am
    parts: list[str] = []
    for part in _HYPHEN.split(core):
        parts.extend(_without_short_form(part))
    return parts


def _without_short_form(word: str) -> list[str]:
    """A word without 's and the like, and with "not" in the place of n't."""
    small = word.casefold()
    if small in _VERBS or small.endswith("n't"):
        verb = _VERBS.get(small, small.removesuffix("n't"))
        return [verb, "not"] if verb else ["not"]  # "do n't", in a text that was split into words
    return [_SHORT_FORM.sub("", word)]


def _kind_of(term: str, language: Language) -> Kind:
    """What a word in small letters is there for: "the" is a filler, "of" a link, "cat" content."""
    if term in _terms(_FILLERS.get(language, "")):
        return "filler"
    return "link" if term in _terms(_LINKS.get(language, "")) else "content"


@cache
def _terms(text: str) -> frozenset[str]:
    """The words of one of the lists above, as a set."""
    return frozenset(text.split())


def _key_of(word: str, language: Language) -> str:
    """What a word is compared by: "Running" by "run", "1,000" by "1000", "C" by "C"."""
    if len(word) == 1:
        return word  # vitamin C, the option -R
    small = word.casefold()
    if small.lstrip("-")[:1].isdigit():
        return small.replace(",", "" if _THOUSANDS.fullmatch(small) else ".")
    if not language:
        return small
    stemmer = snowball.Stemmer(language)  # a new one each time: threads must not share one
    stemmed: str = stemmer.stemWord(small)
    return stemmed
