"""A text reduced to its wording, in which quotes are found whatever their formatting."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

MARKS = "'‘’‚‛`´\"“”„‟«»‹›「」『』"
SPACES = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
ALIKE = str.maketrans(dict.fromkeys(MARKS, "'") | dict.fromkeys(SPACES, " "))
FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_PLAIN = str.maketrans(
    FULL_WIDTH
    | dict.fromkeys(map(ord, _DASHES), "-")
    | {ord("。"): ".", ord("、"): ","}
    | dict.fromkeys(map(ord, "\uff02\uff07\uff40" + MARKS), "'")
    | dict.fromkeys(map(ord, SPACES), " ")
)
# Markdown's emphasis and invisible characters: both get lost when text is copied by hand.
DROPPED_SIGNS = frozenset(
    "*_\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
DROPPED = "".join(sorted(DROPPED_SIGNS))
# Characters that Unicode can also compose with the one before: accents, vowels of Hangul, and so on.
_COMBINING = "\u0300-\u036f\u0653-\u0655\u093c\u09bc\u0a3c\u1161-\u11ff\u3099\u309a"
_NOISE = re.compile(rf"[ {DROPPED}]*+-[- {DROPPED}]*| [ {DROPPED}]+|''+|[{DROPPED}]+|\w[{_COMBINING}]{{1,8}}")
_COMBINED = re.compile(f"[{_COMBINING}]{{0,64}}")
_DROPPED_RUN = re.compile(f"[{DROPPED}]+")
_RUN = re.compile(" +|''+")


@dataclass(frozen=True)
class Skeleton:
    """A text reduced to its wording, with the origin of each character.

    It ignores case, the kinds of white space, dashes and quotation marks and runs of them, full width,
    Markdown's emphasis, invisible characters, and whether an accent is a character of its own.

    Attributes:
        source: the original text.
        text: the reduced text, without a line break.
        origins: for each character of `text` its offset in `source`.
    """

    source: str
    text: str
    origins: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The offsets in the source of a span of the skeleton."""
        last = self.origins[end - 1] + 1
        combining = _COMBINED.match(self.source, last)
        return self.origins[start], combining.end() if combining else last


def skeleton(text: str) -> Skeleton:
    """Reduce a text to its wording, see `Skeleton`."""
    alike = text.translate(_PLAIN)
    if alike.isascii() and not _is_noisy(alike):
        return Skeleton(text, alike.lower(), range(len(text)))
    plain, origins = _without_noise(alike)
    folded = plain.casefold()
    if len(folded) != len(plain):  # ß becomes ss
        origins = [origin for origin, char in zip(origins, plain, strict=True) for _ in char.casefold()]
    return Skeleton(text, folded, origins)


def _is_noisy(text: str) -> bool:
    """Whether `_NOISE` changes a text of ASCII characters."""
    return (
        "  " in text
        or ("-" in text and (" -" in text or "- " in text or "--" in text))
        or "*" in text
        or "_" in text
        or "''" in text
    )


def _without_noise(text: str) -> tuple[str, list[int]]:
    kept: list[str] = []
    origins: list[int] = []
    reached = 0
    for noise in _NOISE.finditer(text):
        replacement = _replacement(noise[0])
        kept += text[reached : noise.start()], replacement
        origins += range(reached, noise.start())
        origins += [noise.start()] * len(replacement)
        reached = noise.end()
    kept.append(text[reached:])
    origins += range(reached, len(text))
    return "".join(kept), origins


def _replacement(noise: str) -> str:
    if noise[0] == "'":
        return "'"
    if "-" in noise:
        return "-"
    return " " if noise[0] == " " else normalize("NFC", _DROPPED_RUN.sub("", noise))


def folded(text: str) -> str:
    """A text in one case, with one kind of white space and of quotation marks."""
    return _RUN.sub(lambda run: run[0][0], text.translate(ALIKE)).casefold()
