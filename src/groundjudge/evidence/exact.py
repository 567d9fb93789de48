"""Quotes that a document has word for word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile

from groundjudge.evidence.edges import is_whole
from groundjudge.evidence.normalized import Normalized, bare, fold_text
from groundjudge.evidence.sources import Sources
from groundjudge.verdict import Evidence

# Passages with the words of a quote among which one with the same signs is sought.
MOST_PASSAGES = 16


def exact(quote: Normalized, sources: Sources) -> Evidence | None:
    """The first passage that is the quote but for white space, quotation marks and case, or has its words."""
    inexact: list[Evidence] = []
    for found in _passages(quote, sources):
        if found.exact:
            return found
        inexact.append(found)
    return min(inexact, key=lambda found: len(found.quote), default=None)


def _passages(quote: Normalized, sources: Sources) -> Iterator[Evidence]:
    yield from verbatim(quote.source, sources)
    for sought in dict.fromkeys((quote, quote.core)):
        places = ((place, place + len(sought.words)) for place in sources.occurrences(sought.words))
        yield from islice(evidence(sought, places, sources), MOST_PASSAGES)


def verbatim(quote: str, sources: Sources) -> Iterator[Evidence]:
    """The passages of small documents that are the quote letter by letter, which takes little time."""
    variants = filter(None, dict.fromkeys((quote.strip(), bare(quote))))
    for variant in variants if sources.are_small else ():
        for index, document in enumerate(sources.documents):
            for start in islice(_starts(variant, document.content), MOST_PASSAGES):
                end = start + len(variant)
                if is_whole(document.content, start, end):
                    yield Evidence(quote=variant, document=index, start=start, end=end, exact=True)


def _starts(quote: str, text: str) -> Iterator[int]:
    # Not a regular expression: compiling one for each quote takes longer than all else here.
    at = text.find(quote)
    while at >= 0:
        yield at
        at = text.find(quote, at + 1)


def evidence(quote: Normalized, places: Iterable[tuple[int, int]], sources: Sources) -> Iterator[Evidence]:
    """The evidence for a quote at places of the sources' words, with the signs around it that they share."""
    for place in places:
        document, start, end = sources.span(*place)
        text = sources.documents[document].content
        if is_whole(text, start, end):
            yield _with_signs(
                quote,
                text,
                Evidence(document=document, start=start, end=end, quote=quote.source, exact=False),
            )


def _with_signs(quote: Normalized, text: str, found: Evidence) -> Evidence:
    """The evidence with the signs before and behind the quote's words, or at least with as many behind it."""
    head, tail = quote.span(0)[0], len(quote.source) - quote.span(-1)[1]
    start, end = max(0, found.start - head), found.end + tail
    if fold_text(text[start:end]) == fold_text(quote.source):
        return found.model_copy(update={"start": start, "end": end, "exact": True})
    signs = takewhile(lambda sign: not (sign.isalnum() or sign.isspace()), text[found.end : end])
    return found.model_copy(update={"end": found.end + sum(1 for _ in signs)})
