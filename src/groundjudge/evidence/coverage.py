"""Whether the sentences that a judge rated add up to the response."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from groundjudge.case.case import Document
from groundjudge.evidence.edges import is_whole
from groundjudge.evidence.near import near
from groundjudge.evidence.normalized import Normalized
from groundjudge.evidence.sources import Sources

# A gap between the statements with so many letters of the response is a missing sentence.
UNCOVERED_LETTERS = 20


def unlisted(sentences: Sequence[str], response: str) -> tuple[str, ...]:
    """Compare the sentences that a judge rated with the response that they should add up to.

    Returns:
        The warnings `statement_not_in_response` if a sentence is not in the response, and
        `statement_missing` if a part of the response is in none of the sentences. If the response repeats the
        words of a sentence thousands of times, `statements_unchecked`, and then no `statement_missing`.
    """
    if _are_copied(sentences, response):
        return ()
    covered: list[tuple[int, int]] = []
    warnings: dict[str, None] = {}
    source = Sources([Document(content=response)])
    for sentence in dict.fromkeys(sentences):
        words = Normalized(sentence).words
        if not words:
            continue  # a sentence of signs alone states nothing
        if source.are_too_common(words):
            warnings["statements_unchecked"] = None
        spans = _places(words, source) or [
            source.span(*place)[1:] for place in islice(near(words, source), 1)
        ]
        if not spans:
            warnings["statement_not_in_response"] = None
        covered.extend(spans)
    if "statements_unchecked" not in warnings and _has_gap(response, covered):
        warnings["statement_missing"] = None
    return tuple(warnings)


def _are_copied(sentences: Sequence[str], response: str) -> bool:
    """Whether the sentences stand in the response one after the other, which is quickly seen."""
    covered: list[tuple[int, int]] = []
    for sentence in sentences:
        start = response.find(sentence, covered[-1][1] if covered else 0)
        if start < 0 or not is_whole(response, start, start + len(sentence)):
            return False
        covered.append((start, start + len(sentence)))
    return not _has_gap(response, covered)


def _places(words: list[str], response: Sources) -> list[tuple[int, int]]:
    """The offsets of all places of a sentence in the response, none of which overlap."""
    spans: list[tuple[int, int]] = []
    reached = 0
    for place in response.occurrences(words):
        if place >= reached:
            reached = place + len(words)
            spans.append(response.span(place, reached)[1:])
    return [span for span in spans if is_whole(response.documents[0].content, *span)]


def _has_gap(text: str, covered: Iterable[tuple[int, int]]) -> bool:
    """Whether a part of a text that no span covers is long enough to be a sentence."""
    reached = 0
    for start, end in [*sorted(covered), (len(text), len(text))]:
        if sum(map(str.isalpha, text[reached : max(start, reached)])) >= UNCOVERED_LETTERS:
            return True
        reached = max(reached, end)
    return False
