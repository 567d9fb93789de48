"""Whether the sentences that a judge rated add up to the response."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groundjudge.case.case import Document
from groundjudge.evidence.exact import is_found_whole, variants
from groundjudge.evidence.skeleton import skeleton
from groundjudge.evidence.sources import Sources
from groundjudge.evidence.work import SENTENCES, TooMuchWork, Work

UNCOVERED_LETTERS = 20
"""A gap between the statements with so many letters of the response is a missing sentence."""


def unlisted(sentences: Sequence[str], response: str) -> tuple[str, ...]:
    """Compare the sentences that a judge rated with the response that they should add up to.

    Returns:
        The warnings `statement_not_in_response` if a sentence is not in the response, and
        `statement_missing` if a part of the response is in none of the sentences. A sentence whose search
        would take too long (see `find`) gives `statements_unchecked`, and then no `statement_missing`.
    """
    covered: list[tuple[int, int]] = []
    warnings: list[str] = []
    source = Sources([Document(content=response)], Work(SENTENCES))
    for sentence in dict.fromkeys(sentences):
        if not any(map(str.isalnum, sentence)):
            continue  # a sentence of signs alone states nothing
        source.work.grant(sentence)
        try:
            spans = _occurrences(sentence, source) or _near(sentence, source)
        except TooMuchWork:
            return (*dict.fromkeys(warnings), "statements_unchecked")
        if not spans:
            warnings.append("statement_not_in_response")
        covered.extend(spans)
    if any(sum(map(str.isalpha, gap)) >= UNCOVERED_LETTERS for gap in _gaps(response, covered)):
        warnings.append("statement_missing")
    return tuple(dict.fromkeys(warnings))


def _near(sentence: str, response: Sources) -> list[tuple[int, int]]:
    from groundjudge.evidence.near import near  # noqa: PLC0415  most sentences are copied verbatim

    found, _ = near(sentence, response)
    return [(found.start, found.end)] if found else []


def _occurrences(sentence: str, response: Sources) -> list[tuple[int, int]]:
    """The offsets of all places of a sentence in the response, as given or without its quotation marks."""
    text = response.documents[0].content
    for variant in variants(sentence):
        spans = [span for span in _places(variant, response) if is_found_whole(text, *span, response.work)]
        if spans:
            return spans
    return []


def _places(sentence: str, response: Sources) -> list[tuple[int, int]]:
    """The places of the wording of a sentence, none of which overlap."""
    sought = skeleton(sentence).text
    if not sought.strip():
        return []
    corpus = response.corpus
    spans: list[tuple[int, int]] = []
    reached = 0
    for place in corpus.occurrences(sought):
        if place.start >= reached:
            reached = place.end
            spans.append(corpus.skeletons[0].span(place.start, place.end))
    return spans


def _gaps(text: str, covered: Iterable[tuple[int, int]]) -> list[str]:
    """The parts of a text that no span covers."""
    gaps: list[str] = []
    reached = 0
    for start, end in sorted(covered):
        gaps.append(text[reached : max(start, reached)])
        reached = max(reached, end)
    return [*gaps, text[reached:]]
