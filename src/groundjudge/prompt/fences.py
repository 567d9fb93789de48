"""Fences: the tags that mark a value as data, and what makes text harmless that a model could take for one.

Models read much that no parser would take for a tag: letters of other scripts, full width, spaces and
invisible characters between the letters, HTML entities. The opening bracket of anything that reads as
`<data-` is replaced by a harmless one of the same length, so that offsets into the text stay true.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from html.entities import html5

HARMLESS = "‹"
ANGLES = "<＜﹤≮〈\u2329⟨❬❮❰⧼⦑⋖˂ᐸᚲ𝈶"
"""What a model could read as an opening bracket. Quotation marks (‹ « 《) are ordinary text."""

HYPHENS = frozenset("-_:\xad˗ˉ¯−⁃➖─━⎯ーㅡᅳ一۔ـⲺⲻ")
"""What could be read as the hyphen, besides all other characters of the categories Pd and Pc."""

SLASHES = frozenset("Ⳇⳇ〳ノ丿")
"""Letters that could be read as a slash."""

SOFT_HYPHEN = "\xad"

INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Cs", "Me", "Mn", "Zl", "Zp", "Zs"})
"""The categories of blanks, controls, combining marks and characters that nothing shows."""

FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Invisible characters whose category says otherwise."""

LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("ԁᎠᏧᑯᗞᗪꓒꓓƋƌȡ∂", "d"),
        **dict.fromkeys("аɑαᎪᗅ⍺ꓮ𐊠𖽀ⲁæ", "a"),
        **dict.fromkeys("тτᎢ⊤⟙ⲧꓔ𐊗𐊱𐌕𑣜𑢼𖼊🝨", "t"),
    }
)
"""Case-folded characters of other scripts -> the letter that they look like (after Unicode TS 39)."""

# Latin letters that have no decomposition: with a stroke or a tail, small capitals, white on black.
LATIN = re.compile(
    r"(?:LATIN (?:SMALL |CAPITAL )?LETTER (?:SMALL CAPITAL |INSULAR )?|REGIONAL INDICATOR SYMBOL LETTER )"
    r"([A-Z])(?: WITH .*)?$"
)

# A character in disguise; every count is limited, so that a match takes bounded time.
_ENTITY = (
    r"&(?:(?:amp|#38|#x26);){0,9}(?:#0{0,99}(?P<decimal>60|[0-9]{1,7});?"
    r"|#x0{0,99}(?P<hex>3c|[0-9a-f]{1,6});?|(?P<name>lt|[a-z][a-z0-9]{1,31}(?=;));?)"
)
_PERCENT = r"%(?:25){0,9}(?P<percent>[0-7][0-9a-f])"
_ESCAPE = (
    r"(?:u\{?|x)(?P<escape>(?<=x)[0-9a-f]{2}|[0-9a-f]{1,8}(?=\})|(?<=u)0000[0-9a-f]{4}|(?<=u)[0-9a-f]{4})\}?"
)
OPENER = re.compile(rf"[{ANGLES}]|{_ENTITY}|{_PERCENT}|(?<=\\){_ESCAPE}", re.IGNORECASE)
UNIT = re.compile(
    rf"{_ENTITY}|{_PERCENT}|(?P<blank>\\+[nrtfbv]|\s+)|\\+{_ESCAPE}|.", re.IGNORECASE | re.DOTALL
)

# Comparisons and assignments such as `i < data_size` and `x <- data - 1`, unless they end as a tag does.
CODE = re.compile(
    r"(?:<|&lt;)(?:[-=][ \t]*|[ \t]+)data(?:_[a-z]|[ \t]+-[ \t])"
    r"(?![\w\s\"'=.-]{0,200}(?:[^\x00-\x7f]|[>&%\\]))"
)

BEFORE_NAME, BETWEEN_LETTERS = 8, 2
"""How many visible signs may stand between the bracket and the first letter, and between two letters."""


def fenced(name: str, text: str) -> str:
    """A value between the tags that mark it as data; `text` must be neutralised already."""
    return f"<data-{name}>\n{text}\n</data-{name}>" if text else f"<data-{name}>\n</data-{name}>"


def neutralised(text: str) -> str:
    """The text with everything that looks like a fence made harmless; length and offsets do not change."""
    return OPENER.sub(_harmless, text)


def _harmless(opener: re.Match[str]) -> str:
    """The text of a match, with its first character replaced if it opens a fence."""
    is_fence = (
        _decoded(opener) in ANGLES
        and _reads_as_data(opener.string, opener.end())
        and not CODE.match(opener.string, opener.start())
    )
    return HARMLESS + opener[0][1:] if is_fence else opener[0]


def _reads_as_data(text: str, at: int) -> bool:
    """Whether the text from there on reads as `data-`."""
    awaited, signs = "data", BEFORE_NAME
    for char in _visible(text, at):
        if awaited and char == awaited[0]:
            awaited, signs = awaited[1:], BETWEEN_LETTERS
        elif not awaited and _is_hyphen(char):
            return True
        elif not signs or (char.isalnum() and char not in SLASHES):
            return False
        else:
            signs -= 1
    return False


def _visible(text: str, at: int) -> Iterator[str]:
    """The characters from there on as a reader sees them, without blanks, marks and invisible ones."""
    for unit in UNIT.finditer(text, at):
        decoded = _decoded(unit)
        if decoded == SOFT_HYPHEN:  # invisible, but a hyphen where one is due
            yield decoded
        for char in _plain(decoded):
            if not _is_invisible(char):
                yield _latin(char)


def _decoded(unit: re.Match[str]) -> str:
    """The character that an entity or an escape stands for; any other text as it is."""
    text, kind = unit[0], unit.lastgroup
    match kind:
        case None:
            return text
        case "blank":
            return " "
        case "name":
            return html5.get(f"{unit[kind]};") or html5.get(f"{unit[kind].lower()};") or text
        case _:
            code = int(unit[kind], 10 if kind == "decimal" else 16)
            return chr(code) if code <= sys.maxunicode else text


def _plain(text: str) -> str:
    """The text in plain width, without accents as parts of letters, and with look-alikes replaced."""
    return unicodedata.normalize("NFKD", text).casefold().translate(LOOKALIKES)


def _latin(char: str) -> str:
    """The Latin letter that a character is a variant of; any other character as it is."""
    found = None if char.isascii() else LATIN.search(unicodedata.name(char, ""))
    return found[1].lower() if found else char


def _is_invisible(char: str) -> bool:
    return char in FILLERS or unicodedata.category(char) in INVISIBLE


def _is_hyphen(char: str) -> bool:
    return char in HYPHENS or unicodedata.category(char) in {"Pd", "Pc"}
