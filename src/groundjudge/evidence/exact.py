"""Quotes that a document has word for word."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from groundjudge.evidence.edges import is_whole
from groundjudge.evidence.skeleton import MARKS, folded, skeleton
from groundjudge.evidence.sources import Sources
from groundjudge.evidence.work import A_CUT_PLACE, A_PLACE, Work
from groundjudge.verdict import Evidence

MOST_PLACES = 2000
"""Places of a quote that are looked at for one where it stands whole."""
FINAL = ".,;:!?…。，；：！？、"


def variants(quote: str) -> list[str]:
    """A quote as given and, if it has quotation marks around it, without them."""
    given = quote.strip()
    inner = bare(given)
    return [given, inner] if inner not in (given, "") else [given] if given else []


def bare(quote: str) -> str:
    """A quote without the white space and quotation marks around it."""
    return quote.strip().strip(MARKS).strip()


def exact(quote: str, sources: Sources) -> Evidence | None:
    """The first place where a document has a quote, in the same or in other formatting, and whole."""
    given = variants(quote)
    if sources.are_few():
        for variant in given:
            if found := _verbatim(variant, sources):
                return found
    return next(filter(None, (_wording(variant, sources) for variant in given)), None)


def without_final(quote: str, sources: Sources) -> Evidence | None:
    """The place of a quote that ends in another sign than its sentence does in the document."""
    shorter = bare(quote).rstrip(FINAL).rstrip()
    found = _wording(shorter, sources) if shorter and shorter != bare(quote) else None
    return found and found.model_copy(update={"exact": False})


def is_found_whole(text: str, start: int, end: int, work: Work) -> bool:
    """Whether a span in which a quote was found is whole, see `is_whole`."""
    found = is_whole(text, start, end)
    is_cheap = found or _is_inside_word(text, start) or _is_inside_word(text, end)
    work.spend(A_PLACE if is_cheap else A_CUT_PLACE)
    return found


def _is_inside_word(text: str, place: int) -> bool:
    """Whether a place is between two letters, which is quickly seen; a cut number must be read first."""
    beside = text[place - 1 : place + 1] if place else ""
    return len(beside) > 1 and beside.isalpha() and not beside.isnumeric()


def _verbatim(quote: str, sources: Sources) -> Evidence | None:
    for index, document in enumerate(sources.documents):
        for start in islice(_starts(quote, document.content), MOST_PLACES):
            end = start + len(quote)
            if is_found_whole(document.content, start, end, sources.work):
                return Evidence(quote=quote, document=index, start=start, end=end, exact=True)
    return None


def _starts(quote: str, text: str) -> Iterator[int]:
    at = text.find(quote)
    while at >= 0:
        yield at
        at = text.find(quote, at + 1)


def _wording(quote: str, sources: Sources) -> Evidence | None:
    """The first place where a document has the wording of a quote, with its numbers and negations."""
    sought = skeleton(quote).text
    if not sought.strip():
        return None
    for place in islice(sources.corpus.occurrences(sought), MOST_PLACES):
        source = sources.corpus.skeletons[place.document]
        start, end = source.span(place.start, place.end)
        if is_found_whole(source.source, start, end, sources.work):
            passage = source.source[start:end]
            is_exact = folded(passage) == folded(quote)
            if is_exact or _says_the_same(passage, quote):
                return Evidence(quote=quote, document=place.document, start=start, end=end, exact=is_exact)
    return None


def _says_the_same(passage: str, quote: str) -> bool:
    from groundjudge.evidence.meaning import says_the_same  # noqa: PLC0415  few quotes differ in formatting

    return says_the_same(passage, quote)
