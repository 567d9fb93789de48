"""Looking up the quotes that a judge gives as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from groundjudge.evidence.exact import evidence, exact, verbatim
from groundjudge.evidence.joined import Run, find_joined, pieces
from groundjudge.evidence.near import near, resembles
from groundjudge.evidence.normalized import Normalized
from groundjudge.evidence.sources import Sources
from groundjudge.text.sentences import sentences
from groundjudge.verdict import Evidence

# Pieces and sentences of one quote that are looked up.
MOST_PARTS = 300
# Characters. A longer quote is looked up as a whole only.
LONGEST_QUOTE = 20_000
# The evidence for a quote, and the warnings.
Found = tuple[list[Evidence], list[str]]


def find(quotes: Iterable[str], sources: Sources) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Look up the quotes that a judge gives as evidence.

    A passage is evidence for a quote if it has the same words in the same order, where articles, forms of
    "to be", "that" and "which" may differ, and words may have other endings. It begins and ends with whole
    words and numbers, and not beside a negation that it leaves out.

    Args:
        quotes: texts with one quote each, or with several: sentences from different places, joined by an
            ellipsis or another sign, in a list, or marked with the numbers of their documents.
        sources: the documents.

    Returns:
        The quotes that were found, with their offsets, and the distinct warnings for the others:
        `evidence_altered` (a passage has most of its words, has it as a part of longer words or numbers,
        or denies it), `evidence_not_found`, or `evidence_unchecked` for what is beyond the bounds: pieces
        after the first `MOST_PARTS` of a quote, and words that the documents repeat thousands of times.
    """
    found: list[Evidence] = []
    warnings: list[str] = []
    for quote in quotes:
        several, warned = _look_up(quote, sources)
        found.extend(several)
        warnings.extend(warned)
    return tuple(found), tuple(dict.fromkeys(warnings))


def _look_up(quote: str, sources: Sources) -> Found:
    """A quote letter by letter; then in small documents around its longest words; then everywhere."""
    if whole := next(verbatim(quote, sources), None):
        return [whole], []
    text = Normalized(quote.strip())
    around = sources.around(text)
    found = _search(text, around)
    return found if around is sources or set(found[1]) <= {"evidence_altered"} else _search(text, sources)


def _search(quote: Normalized, sources: Sources) -> Found:
    """A quote as a whole or, if no document has it, piece by piece."""
    if (whole := exact(quote, sources)) and whole.exact:
        return [whole], []
    if len(quote.source) > LONGEST_QUOTE:
        return [], ["evidence_not_found"]
    found: list[Evidence] = []
    warnings: list[str] = []
    for number, (part, known) in enumerate(islice(_parts(quote, sources), MOST_PARTS + 1)):
        if number == MOST_PARTS:
            warnings.append("evidence_unchecked")
        elif known:
            found.append(known)
        else:
            several, warned = _inexact(part, sources)
            found.extend(several)
            warnings.extend(warned)
    return found, warnings


def _parts(quote: Normalized, sources: Sources) -> Iterator[tuple[Normalized, Evidence | None]]:
    """The pieces of a quote that a document has, with their evidence, and the sentences of the others."""
    for piece in dict.fromkeys(map(str.strip, pieces(quote.source))):
        if not any(map(str.isalnum, piece)):
            continue
        text = quote if piece == quote.source else Normalized(piece)
        found = None if text is quote else exact(text, sources)
        several = [] if found else [Normalized(span.text) for span in sentences(piece)]
        if len(several) > 1:
            yield from ((sentence, exact(sentence, sources)) for sentence in several)
        else:
            yield text, found


def _inexact(part: Normalized, sources: Sources) -> Found:
    """A sentence, or a piece, in nearly the same words, or as several clauses side by side."""
    quote = part.core
    if not quote.words:
        return [], []
    if nearly := next(evidence(quote, near(quote.words, sources), sources), None):
        return [nearly], []
    if runs := find_joined(quote, sources):
        return [each for run in runs for each in _clause(quote, run, sources)], []
    return [], [_warning(quote, sources)]


def _clause(quote: Normalized, run: Run, sources: Sources) -> Iterator[Evidence]:
    at, place, length = run
    clause = Normalized(quote.source[quote.span(at)[0] : quote.span(at + length - 1)[1]])
    return evidence(clause, [(place, place + length)], sources)


def _warning(quote: Normalized, sources: Sources) -> str:
    """What is wrong with a quote that no document has."""
    if sources.are_too_common(quote.words):
        return "evidence_unchecked"
    is_altered = (
        resembles(quote.words, sources) or any(sources.occurrences(quote.words)) or sources.have(quote.source)
    )
    return "evidence_altered" if is_altered else "evidence_not_found"
