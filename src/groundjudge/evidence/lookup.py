"""Looking up the quotes that a judge gives as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from groundjudge.evidence.exact import evidence_at, find_exact, find_words, verbatim_evidence
from groundjudge.evidence.joined import find_clauses, pieces
from groundjudge.evidence.near import near_places, resembles_passage
from groundjudge.evidence.normalized import Normalized
from groundjudge.evidence.sources import Sources
from groundjudge.text.sentences import sentences
from groundjudge.verdict import Evidence

# Pieces and sentences of one quote that are looked up.
MAX_PARTS = 300
# Characters. A longer quote is looked up as a whole only.
MAX_QUOTE = 20_000
# The evidence for a quote, and the warnings.
Findings = tuple[list[Evidence], list[str]]


def find(quotes: Iterable[str], sources: Sources) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Look up the quotes that a judge gives as evidence.

    A passage is evidence for a quote if it has the same words in the same order, where articles, forms of
    "to be", "that" and "which" may differ, and words may have other endings. It begins and ends with whole
    words and numbers.

    Args:
        quotes: texts with one quote each, or with several: sentences from different places, joined by an
            ellipsis or another sign, in a list, or marked with the numbers of their documents.
        sources: the documents.

    Returns:
        The quotes that were found, with their offsets, and the distinct warnings for the others:
        `evidence_altered` (a passage has most of its words, or has it as a part of longer words or numbers),
        `evidence_not_found`, or `evidence_unchecked` for what is beyond the bounds: pieces after the first
        `MAX_PARTS` of a quote, and words that the documents repeat thousands of times.
    """
    evidence: list[Evidence] = []
    warnings: list[str] = []
    for quote in quotes:
        if quote not in sources.findings:
            sources.findings[quote] = _look_up(quote, sources)
        new_evidence, new_warnings = sources.findings[quote]
        evidence.extend(new_evidence)
        warnings.extend(new_warnings)
    return tuple(evidence), tuple(dict.fromkeys(warnings))


def _look_up(quote: str, sources: Sources) -> Findings:
    """Look up a quote letter by letter, and then by its words."""
    verbatim = next(verbatim_evidence(quote, sources), None)
    if verbatim is not None:
        return [verbatim], []
    return _search(Normalized(quote.strip()), sources)


def _search(quote: Normalized, sources: Sources) -> Findings:
    """Look up a quote that no document has letter by letter: as a whole and, if it is not found, in parts."""
    whole = find_words(quote, sources)
    if whole and whole.exact:
        return [whole], []
    if len(quote.source) > MAX_QUOTE:
        return [], ["evidence_not_found"]
    evidence: list[Evidence] = []
    warnings: list[str] = []
    parts = _split(quote, sources)
    for part, part_evidence in islice(parts, MAX_PARTS):
        if part_evidence:
            evidence.append(part_evidence)
            continue
        new_evidence, new_warnings = _search_inexactly(part, sources)
        evidence.extend(new_evidence)
        warnings.extend(new_warnings)
    has_more = next(parts, None) is not None
    if has_more:
        warnings.append("evidence_unchecked")
    return evidence, warnings


def _split(quote: Normalized, sources: Sources) -> Iterator[tuple[Normalized, Evidence | None]]:
    """Yield the pieces of a quote that a document has, and the sentences of the others, with the evidence."""
    stripped_pieces = [piece.strip() for piece in pieces(quote.source)]
    for piece in dict.fromkeys(stripped_pieces):
        if not any(map(str.isalnum, piece)):
            continue
        text = quote
        if piece != quote.source:  # the whole quote was looked up before
            text = Normalized(piece)
            evidence = find_exact(text, sources)
            if evidence:
                yield text, evidence
                continue
        spans = sentences(piece)
        if len(spans) <= 1:
            yield text, None
            continue
        for span in spans:
            sentence = Normalized(span.text)
            yield sentence, find_exact(sentence, sources)


def _search_inexactly(part: Normalized, sources: Sources) -> Findings:
    """Look up a sentence or a piece in nearly the same words, or as several clauses side by side."""
    quote = part.core
    if not quote.words:
        return [], []
    places = near_places(quote.words, sources)
    near_match = next(evidence_at(quote, places, sources), None)
    if near_match is not None:
        return [near_match], []
    runs = find_clauses(quote, sources)
    if not runs:
        return [], [_warning_for(quote, sources)]
    clauses: list[Evidence] = []
    for run in runs:
        start = quote.span(run.number)[0]
        end = quote.span(run.number + run.length - 1)[1]
        clause = Normalized(quote.source[start:end])
        clauses.extend(evidence_at(clause, [(run.place, run.place + run.length)], sources))
    return clauses, []


def _warning_for(quote: Normalized, sources: Sources) -> str:
    """What is wrong with a quote that no document has."""
    if sources.have_too_often(quote.words):
        return "evidence_unchecked"
    if resembles_passage(quote.words, sources):
        return "evidence_altered"
    has_words = next(sources.occurrences(quote.words), None) is not None
    if has_words or sources.have_letters(quote.source):
        return "evidence_altered"
    return "evidence_not_found"
