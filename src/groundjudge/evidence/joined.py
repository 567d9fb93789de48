"""Several quotes in one: with dots between them, listed, in quotation marks, or with marks of documents.

Those that stand side by side without marks are each found if they are a whole clause of the documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from groundjudge.evidence.edges import begins_clause, is_whole
from groundjudge.evidence.near import MAX_QUOTED
from groundjudge.evidence.normalized import BULLET, Normalized
from groundjudge.evidence.sources import Sources
from groundjudge.text.patterns import compile_when_used

# Words that may join two quotes.
JOINING = frozenset("and also or und et y e en и و 和 及 与 與 と &".split())  # noqa: SIM905

_OPENING = "\"'“«„‘‹「『"
_CLOSING = "\"'”»“’›」』"
_JOINED = (
    rf"[.,。，]?\s*+(?:[,;；、，+&/|—–-]|\b(?:and\ also|{'|'.join(sorted(JOINING))})\b|[和及与與と])\s*+"
)
_NAME = (
    r"(?<!\w)(?:(?:from|in|see|per|aus|siehe|voir|véase)\s+)?"
    r"(?:documents?|docs?\.?|sources?|context|passages?|dokumente?|quellen?|documentos?|fuentes?|documenti?|fonti?"
    r"|документ|источник|文档|文件|来源|資料|文書|출처|문서)"
)
_NUMBER = r"\s*(?:\#|no\.?\s?|nr\.?\s?|n°\s?)?\[?[0-9]{1,4}\]?"
# A name and the number of one document, or of several.
NUMBERED = rf"{_NAME}{_NUMBER}(?:\s*(?:,|&|and|und|et|y)\s*(?:{_NAME})?{_NUMBER})*"
_SEPARATOR = compile_when_used(
    rf"""
      [\[(（]? (?: \.{{3,}} | …+ ) [\])）]?
    | (?<=[{_CLOSING}]) (?: {_JOINED} | \s++ ) (?=[{_OPENING}])
    | \n (?: \s*+ {BULLET} )?
    | [\[【] \s* [0-9]{{1,3}} (?:\s*[,;–-]\s*[0-9]{{1,3}})* \s* [\]】]                # [2], [1, 2]
    | [\[(（【] \s* {NUMBERED} \s* [\])）】] \s* [:：]?                              # (Document 2)
    | {NUMBERED} [*\s]*+ (?: [:：] | (?<=\s)[-–—] )                                  # Document 2: ...
    | [—–-] \s* {NUMBERED} \s* \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
# What every separator holds one of; looking for it saves time.
_MAY_SEPARATE = compile_when_used(rf"[0-9\n…{_CLOSING}]|\.{{3}}")

# Words of a clause; in scripts without spaces, characters.
MIN_WORDS = 3
MAX_CLAUSES = 20
MAX_PLACES = 50


class Run(NamedTuple):
    """Words that a quote and a document have in common.

    Attributes:
        number: the number of the first of them in the quote.
        place: its place in `Sources.words`, which have `END` before and after each document.
        length: how many they are.
    """

    number: int
    place: int
    length: int


def pieces(quote: str) -> Iterator[str]:
    """The quotes that are listed, marked or joined by an ellipsis."""
    start = 0
    if _MAY_SEPARATE.search(quote):
        for separator in _SEPARATOR.finditer(quote):
            yield quote[start : separator.start()]
            start = separator.end()
    yield quote[start:]


def find_clauses(quote: Normalized, sources: Sources) -> list[Run] | None:
    """The clauses that make up a quote, None if some of it is not a clause of a document."""
    words = quote.words
    runs: list[Run] = []
    number = 0
    while number < len(words):
        if words[number] in JOINING:
            number += 1
            continue
        run = _longest_run(words, number, sources)
        if run is None or len(runs) == MAX_CLAUSES:
            return None
        runs.append(run)
        number += run.length
    return runs


def _longest_run(words: list[str], number: int, sources: Sources) -> Run | None:
    """The longest clause of a document that begins with the word of that number in a quote.

    None if no document has it and the two words behind it, or if none of these passages is a clause.
    """
    start = words[number : number + MIN_WORDS]
    if len(start) < MIN_WORDS or len(words) > MAX_QUOTED:
        return None
    longest: Run | None = None
    for place in islice(sources.occurrences(start), MAX_PLACES):
        length = _clause_length(words, number, place, sources)
        if length and (longest is None or length > longest.length):
            longest = Run(number, place, length)
    return longest


def _clause_length(words: list[str], number: int, place: int, sources: Sources) -> int:
    """How many words a quote and a document share, if they are a clause of the document; 0 if they are not.

    A quote may begin and end in the middle of a clause, but not its clauses where they are joined.

    Args:
        words: the words of the quote.
        number: which of them the clause begins with.
        place: the place of that word in `sources.words`.
        sources: the documents.
    """
    n_left = len(words) - number
    n_same = 0
    source_words = sources.words
    while n_same < n_left and source_words[place + n_same] == words[number + n_same]:
        n_same += 1
    for length in range(n_same, MIN_WORDS - 1, -1):
        if length < n_left and not sources.ends_clause(place + length - 1):
            continue
        document, start, end = sources.span(place, place + length)
        text = sources.documents[document].content
        if number > 0 and not begins_clause(text, start):
            return 0
        if not is_whole(text, start, end):
            return 0
        return length
    return 0
