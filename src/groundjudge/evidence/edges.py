"""Where a quote may begin and end in a text: not inside a number or a word, nor behind what denies it."""

from __future__ import annotations

import re

from groundjudge.evidence.normalized import UNSPACED, WORD, plain
from groundjudge.text.negations import negated_at
from groundjudge.text.patterns import LazyPattern, compile_when_used

# Characters on either side of a place that tell whether it is inside a number that is written in words.
FAR = 48
# The same for a word or a number in digits.
NEAR = 8
# The same for a negation: the longest one, and a blank or emphasis.
MAX_NEGATION = 24
FINAL = ".,;:!?…。，；：！？、"
# Signs beside which a clause begins or ends.
CLAUSE_ENDS = f"{FINAL}()（）—–\n"

_BETWEEN_CLAUSES = compile_when_used(rf"(?<=[{FINAL}]\s)|(?<=[{FINAL}])(?=\s)|(?=[{FINAL}](?:\s|\Z))")
_LETTER = rf"[^\W_{UNSPACED}]"
_HYPHEN = compile_when_used(rf"(?<={_LETTER})[-\u2010\u2011](?={_LETTER})")
_HYPHEN_OR_APOSTROPHE = compile_when_used(rf"(?<={_LETTER})[-\u2010\u2011'’](?={_LETTER})")
# Right before a number: "<5" is not 5. Behind a tag and at the beginning of a line ">" compares nothing.
_COMPARISON = compile_when_used(r"(?:[≤≥≠±<]|(?<=[ \t(])>)(?=\.?\d)")
_NUMERAL = (
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|(?:m|b|tr)illion)\b"
)
_WORD = compile_when_used(WORD)
_NUMBER_OF_WORDS = compile_when_used(
    rf"(?:\d|{_NUMERAL})(?:(?: and)?[ -]+{_NUMERAL})+|{_NUMERAL}[ -]+\d", re.IGNORECASE
)
# A negation that is the last word of a text, in scripts with spaces or without.
_ONE_WORD = compile_when_used(rf"(?:{_LETTER}+(?:['’][^\W\d_]+)*|[{UNSPACED}]有?)[\s*_]*")


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a span cuts no number and no word in two, and leaves out no negation right before it."""
    if _is_cut(text, start) or _is_cut(text, end):
        return False
    return not _follows_negation(text, start)


def begins_clause(text: str, start: int) -> bool:
    """Whether a clause begins at a place."""
    before = text[max(0, start - FAR) : start].rstrip(" \t*_#>-\"'“„«‘「『")
    return not before or before[-1] in CLAUSE_ENDS


def ends_clause(text: str, end: int) -> bool:
    """Whether a clause ends at a place."""
    after = text[end : end + FAR].lstrip(" \t*_\"'”“»’」』")
    return not after or after[0] in CLAUSE_ENDS


def _follows_negation(text: str, place: int) -> bool:
    """Whether the last word of the clause before a place denies what follows: "not | safe for children"."""
    before = text[max(0, place - MAX_NEGATION) : place]
    # A line break ends a clause ("Smoking? No"), unless a small letter follows: that is a wrapped line.
    is_wrapped = before.endswith("\n") and text[place : place + 1].islower()
    if begins_clause(text, place) and not is_wrapped:
        return False
    starts = negated_at(before)
    if not starts:
        return False
    return bool(_ONE_WORD.fullmatch(before, max(starts)))


def _is_cut(text: str, place: int) -> bool:
    """Whether a place lies inside a word or a number, or parts a number from the sign before it: "<|5"."""
    if not 0 < place < len(text):
        return False  # the sign of "<5 mg" would seem to be cut off at the beginning of the text
    if _BETWEEN_CLAUSES.match(text, place):
        return False  # as most places are: what follows takes fifty times as long
    if _HYPHEN.match(text, place - 1) or _HYPHEN_OR_APOSTROPHE.match(text, place):
        return True
    if _COMPARISON.match(text, place - 1):
        return True
    return _is_inside_match(_WORD, text, place, NEAR) or _is_inside_match(_NUMBER_OF_WORDS, text, place, FAR)


def _is_inside_match(pattern: LazyPattern, text: str, place: int, distance: int) -> bool:
    """Whether a place lies inside of what a pattern matches nearby; parts of a word are matched, too."""
    first = max(0, place - distance)
    nearby = plain(text[first : place + distance])
    for match in pattern.finditer(nearby):
        if match.start() < place - first < match.end():
            return True
    return False
