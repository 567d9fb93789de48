"""The parts of a verdict read from a text, with their evidence; its reason, and its doubts."""

from __future__ import annotations

from collections.abc import Sequence

from groundjudge.case.case import Case
from groundjudge.case.numbered import Sentences
from groundjudge.errors import ReplyError, describe_fault
from groundjudge.evidence import Folded, find, fold
from groundjudge.replies import Reading
from groundjudge.replies.distribution import confidence_of, values_of
from groundjudge.replies.numbered import SHARE_MISMATCH
from groundjudge.replies.shares import SHARES_UNREADABLE
from groundjudge.scale import Scale
from groundjudge.text.sentences import Sentence
from groundjudge.verdict import Evidence, Part, Verdict

EVIDENCE_NOT_FOUND = "evidence_not_found"
"""The code of a sentence that needs evidence but has none."""


def make_parts(
    weighed: Reading,
    reading: Reading,
    scale: Scale,
    case: Case | None,
    sentences: Sentences | None,
) -> tuple[tuple[Part, ...], Sequence[str]]:
    """Make the parts of a verdict, with their weighted scores and their evidence, and warnings about it.

    Evidence is quotes, which are looked up, or the numbers of the source's sentences.
    """
    sources: list[Folded] = []
    if case is not None and any(part.quotes for part in reading.parts):
        sources = [fold(document.content) for document in case.context or ()]
    parts: list[Part] = []
    warnings: list[str] = []
    for part, weighed_part in zip(reading.parts, weighed.parts, strict=True):
        score: float | None = None
        if weighed_part.value is not None:
            score = scale.score(weighed_part.value)
        evidence: tuple[Evidence, ...] = ()
        part_warnings: tuple[str, ...] = ()
        place: Sentence | None = None
        if sentences is not None and part.number is not None:
            place = sentences.response[part.number - 1]
            evidence = tuple(evidence_of(sentences.source[number - 1], number) for number in part.sources)
            if score and not evidence:
                part_warnings = (EVIDENCE_NOT_FOUND,)
                warnings.append(EVIDENCE_NOT_FOUND)
        elif case is not None:
            evidence, quote_warnings = find(part.quotes, sources)
            warnings.extend(quote_warnings)
            # A score of 0 needs no evidence: it means that the source does not say it.
            if score and EVIDENCE_NOT_FOUND in quote_warnings:
                part_warnings = (EVIDENCE_NOT_FOUND,)
        elif part.quotes or part.sources:
            warnings.append("evidence_unchecked")
        confidence: float | None = None
        if weighed_part.distribution:
            confidence = confidence_of(weighed_part.distribution.values(), len(values_of(scale)))
        parts.append(
            Part(
                name=part.name,
                number=part.number,
                start=place.start if place else None,
                end=place.end if place else None,
                value=part.value,
                score=score,
                label=part.label or None,
                reason=part.reason,
                evidence=evidence,
                warnings=part_warnings,
                distribution=weighed_part.distribution or None,
                confidence=confidence,
            )
        )
    return tuple(parts), warnings


def evidence_of(sentence: Sentence, number: int) -> Evidence:
    """Return a sentence of the source as evidence, without a search."""
    return Evidence(
        quote=sentence.text,
        document=sentence.document,
        start=sentence.start,
        end=sentence.end,
        exact=True,
        number=number,
    )


def reason_of(reading: Reading, parts: Sequence[Part], limits: str) -> str:
    """Write the reason of a verdict: the reply's reason, any doubts, and the model's limits."""
    lines: list[str] = []
    if reading.reason:
        lines.append(reading.reason)
    without_evidence = _parts_without_evidence(parts)
    if without_evidence:
        lines.append(describe_fault(EVIDENCE_NOT_FOUND, without_evidence))
    if SHARES_UNREADABLE in reading.warnings:
        lines.append(f"{SHARES_UNREADABLE}: {describe_fault(SHARES_UNREADABLE)}")
    # Otherwise formats without a place for an overall reason would say it for some sentences only.
    if limits and not reading.reason.endswith(limits):
        lines.append(limits)
    return "\n".join(lines)


def doubt(verdict: Verdict) -> ReplyError | None:
    """Return why to ask again although the reply could be read; None if there is no doubt.

    Its score needs quotes that no document contains, its shares cannot be read, or its sentences contradict
    the whole.
    """
    if SHARES_UNREADABLE in verdict.warnings:
        return ReplyError(SHARES_UNREADABLE, verdict.reply or "")
    if SHARE_MISMATCH in verdict.warnings:
        return ReplyError(SHARE_MISMATCH, verdict.reply or "")
    numbers = _parts_without_evidence(verdict.parts)
    if not numbers:
        return None
    quotes: list[str] = []
    for number in numbers:
        part = verdict.parts[number - 1]
        if part.number is None:  # numbered sentences need no quote
            quotes.append(part.reason)
    return ReplyError(EVIDENCE_NOT_FOUND, verdict.reply or "", quotes=tuple(quotes), numbers=numbers)


def _parts_without_evidence(parts: Sequence[Part]) -> tuple[int, ...]:
    """Return the numbers, from 1, of the sentences whose evidence is in none of the documents."""
    return tuple(number for number, part in enumerate(parts, 1) if EVIDENCE_NOT_FOUND in part.warnings)
