"""Verdicts in blocks of three lines, one block per sentence: the sentence, its evidence, its score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from statistics import fmean
from typing import TypeAlias

from groundjudge.replies.completeness import check_completeness
from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, PartReading, Reading
from groundjudge.replies.labelled import Field, label_pattern, labelled_fields, one_line, verdict
from groundjudge.replies.opening import LETTER_OR_DIGIT
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, unwrapped, value_text
from groundjudge.scale import Scale, fold_label

# `Statement` and `Criteria` are what later versions of the format call the sentence.
SENTENCE = ("statement sentence", "statement", "criteria")

EVIDENCE, SCORE = "supporting evidence", "score"
LABELS = label_pattern((*SENTENCE, EVIDENCE, SCORE))
# The prompt's own wording may be followed by a remark.
NOTHING = re.compile(
    r"\W*(?:(?:nothing\s+found|none|n/?a|no\s+(?:supporting\s+)?evidence(?:\s+found)?)?\W*\Z"
    r"|(?-i:NOTHING FOUND\b))",
    re.IGNORECASE,
)
BLOCKS = re.compile(r"^(?:sec)+")
# The score of a sentence that claims nothing.
NO_CLAIM = "NO CLAIM"
NOT_CLAIMED = fold_label(NO_CLAIM)
# A sentence, its evidence and its score.
Block: TypeAlias = tuple[Field, Field, Field]


@dataclass(frozen=True)
class Scorecard(Format):
    """Reads the score and the quoted evidence of every sentence; the value is the mean of the scores."""

    @property
    def parts_are_sentences(self) -> bool:
        """True: each part is a sentence of the response."""
        return True

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply. A sentence that claims nothing has no score.

        Raises:
            ReplyError: `missing_evidence` or `missing_score` for a block without one (the lowest score needs
                no evidence), `ambiguous` for lines in another order or a sentence with two scores,
                `unrated_sentences` if the blocks are not the sentences of the response, or the code of a
                score that cannot be read.
        """
        reader, found = labelled_fields(reply, LABELS, scale, expectation)
        parts = [_part(block, reader) for block in _blocks(found, reader)]
        if not parts:
            raise reader.error("no_verdict")
        scores: dict[str, object] = {}
        for part in parts:
            score = part.value, part.label
            if scores.setdefault(one_line(part.name.casefold()), score) != score:
                raise reader.error("ambiguous", part.name)
        if expectation.response is not None:
            parts = check_completeness(parts, expectation.response, reply)
        return Reading(_mean(part.value for part in parts), parts=tuple(parts))

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write a block of three lines for each part; its reason is not written."""
        return "\n\n".join(map(_block, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The mean of the sentences' scores, 0..1; None if nothing in them can be judged."""
        return _mean(None if part.value is None else scale.score(part.value) for part in reading.parts)


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the sentences that can be judged."""
    applicable = [value for value in values if value is not None]
    return fmean(applicable) if applicable else None


def _block(part: PartReading) -> str:
    return (
        f"Statement Sentence: {one_line(part.name)}\n"
        f"Supporting Evidence: {one_line(' ... '.join(part.quotes)) or 'NOTHING FOUND'}\n"
        f"Score: {NO_CLAIM if part.value is None and not part.label else value_text(part)}"
    )


def _blocks(found: Sequence[Field], reader: Reader) -> Iterable[Block]:
    """The fields in blocks of a sentence, its evidence and its score, without those of the prompt's template.

    Raises:
        ReplyError: `missing_evidence`, `missing_score`, or `ambiguous` for another order.
    """
    order = "".join({EVIDENCE: "e", SCORE: "c"}.get(each.label, "s") for each in found)
    odd = BLOCKS.sub("", order)
    if odd:
        beginnings = (("sc", "missing_evidence"), ("ss", "missing_score"), ("ses", "missing_score"))
        codes = (code for start, code in beginnings if f"{odd}s".startswith(start))
        raise reader.error(next(codes, "ambiguous" if "s" in order else "no_verdict"))
    blocks = zip(found[::3], found[1::3], found[2::3], strict=True)
    return dropwhile(lambda block: _is_template(block, reader), blocks)


def _is_template(block: Block, reader: Reader) -> bool:
    """Whether a block only repeats the prompt. If it has a sentence, that sentence is left unrated."""
    sentence, _, score = block
    has_sentence = LETTER_OR_DIGIT.search(sentence.text)
    is_known = reader.expectation.response is not None or LETTER_OR_DIGIT.search(score.place)
    return reader.value(score.place) == "no_verdict" and bool(is_known or not has_sentence)


def _part(block: Block, reader: Reader) -> PartReading:
    sentence, evidence, score = block
    quotes = () if NOTHING.match(evidence.text) else (evidence.text,)
    claims_nothing = fold_label(unwrapped(score.place)) == NOT_CLAIMED and not reader.scale.find_choice(
        NO_CLAIM
    )
    is_alone = not LETTER_OR_DIGIT.search(score.below)
    found = Reading(None) if claims_nothing and is_alone else verdict(reader, [score], sentence.text)[1]
    if found.value not in (None, reader.scale.worst) and not LETTER_OR_DIGIT.search(evidence.text):
        raise reader.error("missing_evidence", sentence.text)
    return PartReading(sentence.text, found.value, evidence.text, quotes, found.label, found.span)
