"""The lookup of quotes in documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from groundjudge.evidence.folded import Folded, fold
from groundjudge.text.letters import UNSPACED
from groundjudge.text.patterns import compile_when_used
from groundjudge.verdict import Evidence

# Joins the pieces of a quote.
_JOINT = compile_when_used(r"\[?(?:\.{3,}|…)\]?")
# A position inside a word or a number; in scripts without spaces nothing shows where a word ends.
_INSIDE_WORD = compile_when_used(rf"(?<=[^\W_{UNSPACED}])(?=[^\W_{UNSPACED}])")
_FULL_STOPS = ".。"
# How often a piece may occur inside longer words before the search stops: "a" occurs in most.
_MAX_PLACES = 100


class Passage(NamedTuple):
    """A passage of a document: the document's index, and offsets."""

    document: int
    start: int
    end: int


def find(quotes: Iterable[str], sources: Sequence[Folded]) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Look up the quotes that a judge gives as evidence.

    Args:
        quotes: texts with one quote each, or with several pieces joined by "...".
        sources: the folded contents of the documents.

    Returns:
        The pieces that were found, with their offsets, and `evidence_not_found` if any was not.
    """
    evidence: list[Evidence] = []
    warnings: tuple[str, ...] = ()
    for quote in quotes:
        for joined_piece in _JOINT.split(quote):
            piece = joined_piece.strip()
            if not any(map(str.isalnum, piece)):
                continue
            passage = _find_passage(piece, sources)
            if passage is None:
                warnings = ("evidence_not_found",)
                continue
            document, start, end = passage
            evidence.append(Evidence(quote=piece, document=document, start=start, end=end, exact=True))
    return tuple(evidence), warnings


def _find_passage(piece: str, sources: Sequence[Folded]) -> Passage | None:
    """Find the first passage that equals a piece of a quote after folding; None if there isn't one.

    The passage may lack the piece's full stop, and the quotation marks around it.
    """
    quote = fold(piece).text
    core = quote.strip("' ").rstrip(_FULL_STOPS).rstrip("' ")
    before, _, after = quote.partition(core)
    for number, (text, origins) in enumerate(sources):
        start = _find_whole(core, text)
        if start < 0:
            continue
        end = start + len(core)
        if text.startswith(after, end):
            end += len(after)
        if text.endswith(before, 0, start):
            start -= len(before)
        return Passage(number, origins[start], origins[end - 1] + 1)
    return None


def _find_whole(core: str, text: str) -> int:
    """Return where a text has the words, not as part of longer words or numbers; -1 if nowhere."""
    start = text.find(core)
    for _ in range(_MAX_PLACES):
        if start < 0:
            break
        if not _INSIDE_WORD.match(text, start) and not _INSIDE_WORD.match(text, start + len(core)):
            return start
        start = text.find(core, start + 1)
    return -1
