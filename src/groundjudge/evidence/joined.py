"""Several quotes in one: with dots between them, listed, in quotation marks, or with marks of documents.

Those that stand side by side without marks are each found if they are a whole clause of the documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, takewhile

from groundjudge.evidence.edges import begins_clause, ends_clause, is_whole
from groundjudge.evidence.near import MOST_QUOTED
from groundjudge.evidence.normalized import BULLET, Normalized
from groundjudge.evidence.sources import Sources

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
_NUMBERED = rf"{_NAME}{_NUMBER}(?:\s*(?:,|&|and|und|et|y)\s*(?:{_NAME})?{_NUMBER})*"
_SEPARATOR = re.compile(
    rf"""
      [\[(（]? (?: \.{{3,}} | …+ ) [\])）]?
    | (?<=[{_CLOSING}]) (?: {_JOINED} | \s++ ) (?=[{_OPENING}])
    | \n (?: \s*+ {BULLET} )?
    | [\[【] \s* [0-9]{{1,3}} (?:\s*[,;–-]\s*[0-9]{{1,3}})* \s* [\]】]                # [2], [1, 2]
    | [\[(（【] \s* {_NUMBERED} \s* [\])）】] \s* [:：]?                              # (Document 2)
    | {_NUMBERED} [*\s]*+ (?: [:：] | (?<=\s)[-–—] )                                  # Document 2: ...
    | [—–-] \s* {_NUMBERED} \s* \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
# What every separator holds one of; looking for it saves time.
_MAY_SEPARATE = re.compile(rf"[0-9\n…{_CLOSING}]|\.{{3}}")

# Words of a clause; in scripts without spaces, characters.
FEWEST_WORDS = 3
MOST_CLAUSES = 20
MOST_PLACES = 50

# Words that a quote and a document have in common: where they begin in the quote, where in the document,
# and how many they are.
Run = tuple[int, int, int]


def pieces(quote: str) -> Iterator[str]:
    """The quotes that are listed, marked or joined by an ellipsis."""
    reached = 0
    for separator in _SEPARATOR.finditer(quote) if _MAY_SEPARATE.search(quote) else ():
        yield quote[reached : separator.start()]
        reached = separator.end()
    yield quote[reached:]


def find_joined(quote: Normalized, sources: Sources) -> list[Run] | None:
    """The clauses that make up a quote, None if some of it is not a clause of a document."""
    words, at = quote.words, 0
    found: list[Run] = []
    while at < len(words):
        if words[at] in JOINING:
            at += 1
            continue
        runs = (_clause(words, at, place, sources) for place in _places(words, at, sources))
        run = max(filter(None, runs), key=lambda each: each[2], default=None)
        if run is None or len(found) == MOST_CLAUSES:
            return None
        found.append(run)
        at += run[2]
    return found


def _places(words: list[str], at: int, sources: Sources) -> list[int]:
    """Where a document may have the clause that begins with a word of a quote."""
    start = words[at : at + FEWEST_WORDS]
    if len(start) < FEWEST_WORDS or len(words) > MOST_QUOTED:
        return []
    return list(islice(sources.occurrences(start), MOST_PLACES))


def _clause(words: list[str], at: int, place: int, sources: Sources) -> Run | None:
    """The longest run of words from a place that a quote has, too, if they are a clause of the document.

    A quote may begin and end in the middle of a clause, but not its clauses where they are joined.
    """
    same = takewhile(lambda ahead: sources.words[place + ahead] == words[at + ahead], range(len(words) - at))
    for length in range(sum(1 for _ in same), FEWEST_WORDS - 1, -1):
        document, start, end = sources.span(place, place + length)
        text = sources.documents[document].content
        if at + length < len(words) and not ends_clause(text, end):
            continue
        is_clause = at == 0 or begins_clause(text, start)
        return (at, place, length) if is_clause and is_whole(text, start, end) else None
    return None
