"""Verdicts in blocks of three lines, one per sentence: the sentence, its evidence, its score."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from statistics import fmean

from groundjudge.replies.format import PartReading, Place, Reading, scores_of_claims
from groundjudge.replies.labelled import LabelledLines
from groundjudge.replies.opening import LETTER_OR_DIGIT
from groundjudge.replies.reply import Reply
from groundjudge.replies.tiling import check_tiling
from groundjudge.replies.value import Reader, write_score
from groundjudge.scale import Scale
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.printable import one_line

# Later versions of the format call the sentence `Statement` or `Criteria`.
SENTENCE = ("statement sentence", "statement", "criteria")

EVIDENCE, SCORE = "supporting evidence", "score"
KINDS = {**dict.fromkeys(SENTENCE, "sentence"), EVIDENCE: "reason", SCORE: "value"}
ORDER = ("sentence", "reason", "value")
# Replaces the evidence if there is none; a remark may follow it.
NO_EVIDENCE = "NOTHING FOUND"
# A remark may follow the prompt's own wording.
NOTHING_FOUND = compile_when_used(
    r"\W*+(?:(?:nothing\s+found|none|n/?a|no\s+(?:supporting\s+)?evidence(?:\s+found)?)?\W*+\Z"
    r"|(?-i:NOTHING FOUND\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Scorecard(LabelledLines):
    """Reads the score and the quoted evidence of every sentence; the value is the mean of the scores."""

    parts_are_sentences = True

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the evidence, because the label of the score is a word that any text may contain."""
        return (EVIDENCE,)

    def kinds(self) -> Mapping[str, str]:
        """Return what follows the labels of the three lines."""
        return KINDS

    def read_places(self, reader: Reader, places: Sequence[Place]) -> Reading:
        """Read the blocks. A sentence that makes no claim has no score.

        Raises:
            ReplyError: `missing_evidence` or `missing_score` for a block without it (the lowest score needs
                no evidence), `ambiguous` for lines in another order, a sentence with two scores, or a
                superfluous block, `unrated_sentences` if the blocks do not match the response's sentences,
                or the code of a score that cannot be read.
        """
        lines = [place for place in places if place.label]
        _check_order(lines, reader)
        blocks = zip(lines[::3], lines[1::3], lines[2::3], strict=True)
        parts = [_read_part(sentence, evidence, score, reader) for sentence, evidence, score in blocks]
        scores: dict[str, object] = {}
        for part in parts:  # no two blocks may give the same sentence different scores
            value = (part.value, part.label)
            if scores.setdefault(one_line(part.name.casefold()), value) != value:
                raise reader.make_error("ambiguous", part.name)
        response = reader.expectation.response
        if response is not None:
            check_tiling(parts, response, Reply(reader.reply.raw))
        values = [part.value for part in parts if part.value is not None]
        return Reading(fmean(values) if values else None, parts=tuple(parts))

    def write_reply(self, reading: Reading) -> str:
        """Write a block of three lines for each part, with its reason only if it has no evidence."""
        return "\n\n".join(map(_write_block, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """Return the mean of the sentences' scores, 0..1; None if there is nothing to judge."""
        scores = scores_of_claims(reading, scale)
        return fmean(scores) if scores else None


def _write_block(part: PartReading) -> str:
    """Write the three lines of a part; without quotes, the evidence is "NOTHING FOUND: " and the reason."""
    evidence = one_line(" ... ".join(part.quotes))
    if not evidence:
        evidence = one_line(part.reason)
        if not evidence.startswith(NO_EVIDENCE):
            evidence = f"{NO_EVIDENCE}: {evidence}" if evidence else NO_EVIDENCE
    sentence = one_line(part.name)
    return f"Statement Sentence: {sentence}\nSupporting Evidence: {evidence}\nScore: {write_score(part)}"


def _check_order(lines: Sequence[Place], reader: Reader) -> None:
    """Check that the lines are blocks of sentence, evidence and score.

    Raises:
        ReplyError: `no_verdict`, `missing_evidence`, `missing_score`, or `ambiguous` for another order.
    """
    kinds = [line.kind for line in lines]
    if "sentence" not in kinds:
        raise reader.make_error("no_verdict")
    kinds.append("sentence")  # another block may begin after the last line
    for kind, expected in zip(kinds, cycle(ORDER), strict=False):
        if kind == expected:
            continue
        if kind == "sentence":
            raise reader.make_error("missing_score")
        if (kind, expected) == ("value", "reason"):
            raise reader.make_error("missing_evidence")
        raise reader.make_error("ambiguous")


def _read_part(sentence: Place, evidence: Place, score: Place, reader: Reader) -> PartReading:
    """Read a block: its sentence, score and evidence, which is optional only for the lowest score.

    Raises:
        ReplyError: `missing_evidence`, or the code of a score that cannot be read.
    """
    sentence_text = reader.reply.slice(*sentence.content)
    evidence_text = reader.reply.slice(*evidence.content)
    quotes: tuple[str, ...] = ()
    if not NOTHING_FOUND.match(evidence_text):
        quotes = (evidence_text,)
    reading = reader.read_score(score, sentence_text)
    needs_evidence = reading.value is not None and reading.value != reader.scale.worst
    if needs_evidence and not LETTER_OR_DIGIT.search(evidence_text):
        raise reader.make_error("missing_evidence", sentence_text)
    return PartReading(sentence_text, reading.value, evidence_text, quotes, reading.label, reading.span)
