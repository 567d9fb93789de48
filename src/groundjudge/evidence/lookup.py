"""Looking up the quotes that a judge gives as evidence."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from groundjudge.evidence.exact import exact
from groundjudge.evidence.pieces import MOST_PIECES, pieces, without_bullet
from groundjudge.evidence.sources import Sources
from groundjudge.evidence.work import TooMuchWork
from groundjudge.verdict import Evidence

MAX_WARNINGS = 20
"""After so many pieces of a quote without a match, the other pieces are skipped."""
LONGEST_QUOTE = 20_000
"""Characters. A longer quote is looked up as a whole only, which takes little time."""

Found = tuple[list[Evidence], list[str]]
"""The evidence for a quote, and the warnings."""


def find(quotes: Iterable[str], sources: Sources) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Look up the quotes that a judge gives as evidence.

    Args:
        quotes: texts with one quote each, or with several: sentences from different places, joined by an
            ellipsis or another sign, in a list, or marked with the numbers of their documents.
        sources: the documents.

    Returns:
        The quotes that were found, with their offsets, and the distinct warnings for the others:
        `evidence_altered` (cut out of a number or a word, denied in the document, or a near match with
        other numbers, negations, units or the like), `evidence_not_found`, or `evidence_unchecked` for
        quotes whose search would take too long: all quotes together may take work that is linear in their
        length, so this happens only to hundreds of quotes that are hard to find.
    """
    found: list[Evidence] = []
    warnings: list[str] = []
    for quote in quotes:
        sources.work.grant(quote)
        try:
            evidence, warned = _look_up(quote, sources)
        except TooMuchWork:
            evidence, warned = [], ["evidence_unchecked"]
        found.extend(evidence)
        warnings.extend(warned)
    return tuple(found), tuple(dict.fromkeys(warnings))


def _look_up(quote: str, sources: Sources) -> Found:
    """A quote as a whole or, if there is no match for it, piece by piece."""
    if len(quote) - sources.size > LONGEST_QUOTE:
        return [], ["evidence_not_found"]
    for whole in dict.fromkeys((quote, without_bullet(quote))):
        if evidence := exact(whole, sources):
            return [evidence], []
    if len(quote) > LONGEST_QUOTE:
        return [], ["evidence_not_found"]
    found: list[Evidence] = []
    warnings: list[str] = []
    for number, piece in enumerate(islice(pieces(quote), MOST_PIECES + 1)):
        several, warned = _piece(piece, sources) if number < MOST_PIECES else ([], ["evidence_not_found"])
        found.extend(several)
        warnings.extend(warned)
        if len(warnings) >= MAX_WARNINGS:
            break
    return found, warnings


def _piece(piece: str, sources: Sources) -> Found:
    """A piece as a whole, or sentence by sentence."""
    if evidence := exact(piece, sources):
        return [evidence], []
    from groundjudge.evidence.inexact import inexact  # noqa: PLC0415  most quotes are exact

    return inexact(piece, sources)
