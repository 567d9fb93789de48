"""Quotes that a document has word for word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from groundjudge.evidence.edges import is_whole
from groundjudge.evidence.normalized import Normalized, fold_text, strip_marks
from groundjudge.evidence.sources import Sources
from groundjudge.verdict import Evidence

# Passages with the words of a quote among which one with the same signs is sought.
MAX_PASSAGES = 16


def find_exact(quote: Normalized, sources: Sources) -> Evidence | None:
    """The first passage that is the quote but for white space, quotation marks and case, or has its words."""
    verbatim = next(verbatim_evidence(quote.source, sources), None)
    if verbatim is not None:
        return verbatim
    return find_words(quote, sources)


def find_words(quote: Normalized, sources: Sources) -> Evidence | None:
    """The first passage that is a quote, which no document has letter by letter, or has its words.

    Of the passages that have its words and other signs, the first one counts whose quote is the shortest.
    """
    with_other_signs: Evidence | None = None
    for variant in dict.fromkeys((quote, quote.core)):
        # One after the other: a frequent quote has more places than are ever looked at.
        places = ((place, place + len(variant.words)) for place in sources.occurrences(variant.words))
        for evidence in islice(evidence_at(variant, places, sources), MAX_PASSAGES):
            if evidence.exact:
                return evidence
            if with_other_signs is None or len(evidence.quote) < len(with_other_signs.quote):
                with_other_signs = evidence
    return with_other_signs


def verbatim_evidence(quote: str, sources: Sources) -> Iterator[Evidence]:
    """The passages of small documents that are the quote letter by letter, which takes little time.

    It needs no index of the documents' words, as most quotes are copied as they are.
    """
    if not sources.are_small:
        return
    for variant in dict.fromkeys((quote.strip(), strip_marks(quote))):
        if not variant:
            continue
        for number, document in enumerate(sources.documents):
            for start in islice(_starts_of(variant, document.content), MAX_PASSAGES):
                end = start + len(variant)
                if is_whole(document.content, start, end):
                    yield Evidence(quote=variant, document=number, start=start, end=end, exact=True)


def evidence_at(quote: Normalized, places: Iterable[tuple[int, int]], sources: Sources) -> Iterator[Evidence]:
    """The evidence for a quote where the documents have its words, without places that cut a word in two.

    Args:
        quote: the quote.
        places: of each passage, the place in `sources.words` of its first word and that behind its last.
        sources: the documents.
    """
    for first_word, end_word in places:
        document, start, end = sources.span(first_word, end_word)
        text = sources.documents[document].content
        if is_whole(text, start, end):
            start, end, is_exact = _include_signs(quote, text, start, end)
            yield Evidence(quote=quote.source, document=document, start=start, end=end, exact=is_exact)


def _starts_of(quote: str, text: str) -> Iterator[int]:
    """Where a text has a quote letter by letter; the places may overlap."""
    # Not a regular expression: compiling one for each quote takes longer than all else here.
    start = text.find(quote)
    while start >= 0:
        yield start
        start = text.find(quote, start + 1)


def _include_signs(quote: Normalized, text: str, start: int, end: int) -> tuple[int, int, bool]:
    """Widen a passage by the signs that the quote has before its first word and behind its last.

    In the text `He said "Yes!" twice` the quote `"Yes!"` was found by its word, Yes, and gets its marks here.

    Args:
        quote: the quote.
        text: the document's text.
        start: where the first word of the quote begins in the text.
        end: where its last word ends there.

    Returns:
        Where the passage begins and ends, and whether it is the quote sign by sign. If it is not, it takes in
        no sign before its words, and behind them at most as many as the quote has there.
    """
    first_word_start, _ = quote.span(0)
    _, last_word_end = quote.span(-1)
    n_signs_behind = len(quote.source) - last_word_end
    wide_start = max(0, start - first_word_start)
    wide_end = min(len(text), end + n_signs_behind)
    if fold_text(text[wide_start:wide_end]) == fold_text(quote.source):
        return wide_start, wide_end, True
    for sign in text[end:wide_end]:
        if sign.isalnum() or sign.isspace():
            break  # not the beginning of the next word
        end += 1
    return start, end, False
