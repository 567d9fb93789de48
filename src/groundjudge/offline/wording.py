"""What a sentence claims, apart from how it is worded: openings, words of general use, and who speaks."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from groundjudge.evidence.copied import LIST_NUMBER
from groundjudge.offline.readings import TokenizedText, part_of, tokenize_text
from groundjudge.text.sentences import without_citations
from groundjudge.text.words import words

_OPENINGS = """
according additionally addition alternatively answer article based conclusion consequently contrast context
document example excerpt finally first following further furthermore given hand information instance lastly
meanwhile moreover next note overall passage provided question second similarly source specifically summary
text third
"""
# Stems of words of which an opening can consist that is no part of what a sentence claims.
OPENINGS = frozenset(word.stem for word in words(_OPENINGS))

_GENERAL = """
able actually additional allow also amount any appear apply associated available base become benefit both
cause certain come commonly consider contain depend describe different due each easy effect ensure entire
especially essential example explain factor few follow general get give go good great happen help high
important include increase involve keep known large lead like likely low main make many matter mean mention
more most much multiple necessary need new note number numerous occur offer often one other overall part
particular people perform person place possible potential prevent primary process provide range reason
recommend reduce refer regular relate remain require resource result see seem seek several show significant
similar simply small some sometimes specific start state step still such suggest support take term thing
time together try type typical use useful usual various vary want way well wide within work year
"""
# Stems of words of general use: to reword a text, anybody may add them.
GENERAL = frozenset(word.stem for word in words(_GENERAL))
# How much such a word counts where a source lacks it; any other counts 1.
GENERAL_WEIGHT = 0.3

# Stems of words by which speakers mean themselves.
PERSONAL = frozenset(word.stem for word in words("I me my mine myself I'm I've I'd I'll"))

# Content words and numbers of a part of a sentence that can state something by itself.
LEAST_OF_PART = 3
COMMAS = re.compile(r",(?!\d)|[;，；]")
"""Where a sentence joins facts; the comma of a number, as in 1,500, ends none."""
PART_ENDS = re.compile(rf"{COMMAS.pattern}|\s(?=(?:and|und)\s)")
"""Where a sentence can go on with something else."""

_REFERENCE = re.compile(r"\((?:article|document|passage|source|text)s? \d[^()]{0,20}\)", re.IGNORECASE)


def claim_of(sentence: str) -> str:
    """A sentence without what is no part of its claim: citations, the number of a list, an opening.

    "3. Additionally, the pool is heated [2]." claims that the pool is heated.
    """
    text = _REFERENCE.sub(" ", without_citations(sentence))
    number = LIST_NUMBER.match(text)
    if number and text[number.end() :].strip():
        text = text[number.end() :].strip()
    _, comma, claim = text.partition(",")
    # A comma between digits belongs to a number: 1,500.
    if not comma or claim[:1].isdigit() or not claim.strip():
        return text
    # All of it is read, for mostly all of it is the claim. Spelled-out dates move its comma.
    reading = tokenize_text(text)
    place = reading.text.index(",")
    stems = {word.stem for word in reading.words if word.weight == 1 and word.start < place}
    has_number = any(number.start < place for number in reading.numbers)
    if not stems <= OPENINGS or has_number or any(start < place for start in reading.negated):
        return text
    return claim.strip()


class Part(NamedTuple):
    """A part of a sentence that can state something by itself."""

    text: str
    reading: TokenizedText


def parts_of(sentence: str, marks: re.Pattern[str]) -> list[Part]:
    """A sentence cut at these marks, where enough stands on both sides to state something."""
    reading = tokenize_text(sentence)
    ends = [mark.end() for mark in marks.finditer(sentence)]
    if not ends:
        return [Part(sentence, reading)]
    content_starts = [token.start for token in reading.tokens if token.is_content]
    parts: list[Part] = []
    start = reading_start = n_cut = 0
    # With its dates spelled out, a sentence has the same marks at other places, but for "and per cent".
    reading_marks = [*marks.finditer(reading.text)]
    if len(reading_marks) != len(ends):
        return [Part(sentence, reading)]
    for end, mark in zip(ends, reading_marks, strict=True):
        n_ahead = bisect_left(content_starts, mark.end())
        if n_ahead - n_cut >= LEAST_OF_PART and len(content_starts) - n_ahead >= LEAST_OF_PART:
            parts.append(Part(sentence[start:end].strip(), part_of(reading, reading_start, mark.end())))
            start, reading_start, n_cut = end, mark.end(), n_ahead
    if not parts:
        return [Part(sentence, reading)]
    parts.append(Part(sentence[start:].strip(), part_of(reading, reading_start, len(reading.text))))
    return parts
