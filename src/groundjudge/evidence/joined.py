"""Quotes that stand side by side without marks: each is found if it is a whole clause of the documents."""

from __future__ import annotations

from itertools import islice, takewhile

from groundjudge.evidence.edges import begins_clause, ends_clause, is_whole
from groundjudge.evidence.near import LONGEST
from groundjudge.evidence.normalized import Normalized
from groundjudge.evidence.pieces import JOINING
from groundjudge.evidence.sources import Sources

FEWEST_WORDS = 3
"""Words of a clause; in scripts without spaces, characters."""
MOST_CLAUSES = 20
MOST_PLACES = 50

Run = tuple[int, int, int]
"""Words that a quote and a document have in common: where they begin in the quote, where in the document,
and how many they are."""


def joined(quote: Normalized, sources: Sources) -> list[Run] | None:
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
    if len(start) < FEWEST_WORDS or len(words) > LONGEST:
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
