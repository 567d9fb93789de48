"""Texts in which quotes are found regardless of typesetting."""

from __future__ import annotations

import re
from typing import NamedTuple

from groundjudge.evidence.origins import Origins, replaced
from groundjudge.text.letters import fold_case
from groundjudge.text.patterns import compile_when_used

# Includes what opens a chat template's control token: a prompt shows ‹ in its place.
_QUOTATION_MARKS = "'‘’‚‛`´\"“”„‟«»‹›「」『』<[]◁＜"
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
# One character for one character, so that offsets stay the same.
_SAME_LENGTH = str.maketrans(dict.fromkeys(_QUOTATION_MARKS, "'") | dict.fromkeys(_DASHES, "-"))
_LETTER = r"[^\W\d_]"
# A hyphen at a line break may or may not belong to the word, so hyphens in words never count.
_OTHER_LENGTH = compile_when_used(
    rf"(?P<hyphen>(?<={_LETTER})[-\u2010\u2011\u00ad](?:[^\S\n]*+\n\s*+)?(?={_LETTER}))"
    r"|(?P<space>\s{2,}|[^\S ])"
    r"|[ßẞﬀ-ﬆ]"
)
_OTHER_DIGIT = compile_when_used(r"[^\D0-9]")


class Folded(NamedTuple):
    """A folded text, and the index of each of its characters in the original."""

    text: str
    origins: Origins


def fold(original: str) -> Folded:
    """Fold white space, hyphens in words, quotation marks, dashes, the digits of all scripts, and case."""
    replacements = [(*match.span(), _replace(match)) for match in _OTHER_LENGTH.finditer(original)]
    text, origins = replaced(original, replacements)
    text = text.translate(_SAME_LENGTH)
    if not text.isascii():
        text = _OTHER_DIGIT.sub(lambda digit: str(int(digit[0])), text)
    return Folded(fold_case(text), origins)


def _replace(match: re.Match[str]) -> str:
    """Return the replacement for a match whose length changes: "ss" for "ß"."""
    if match["hyphen"]:
        return ""
    if match["space"]:
        return " "
    return match[0].casefold()
