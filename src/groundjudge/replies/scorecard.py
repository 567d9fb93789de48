"""Verdicts in blocks of three lines, one block per sentence: the sentence, its evidence, its score."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean
from typing import Any

from groundjudge.errors import ReplyError
from groundjudge.replies.folded import Folded
from groundjudge.replies.labelled import Field, fields, first_line, label_pattern, one_line
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.reading import PartReading, Reading
from groundjudge.replies.score import is_placeholder, number, same_number, written
from groundjudge.reply import Reply
from groundjudge.verdict import Scale

LABELS = label_pattern(
    {
        # `Criteria` is what later versions of the format call the sentence.
        "sentence": ("Statement Sentence", "Statement", "Criteria"),
        "evidence": ("Supporting Evidence",),
        "score": ("Score",),
    },
    numbered=True,
)
NOTHING = re.compile(
    r"\W*(?:nothing\s+found|none|n/?a|no\s+(?:supporting\s+)?evidence(?:\s+found)?)?\W*", re.IGNORECASE
)
NOTHING_AS_ASKED = re.compile(r"\W*NOTHING FOUND\b")
"""The prompt's own wording, which may be followed by a remark."""

REMARK = re.compile(r"\((.+)\)\s*$")
"""A remark after a score: `Score: 10 (all 3 facts match)`."""


@dataclass(frozen=True)
class Scorecard:
    """Reads the score and the quoted evidence of every sentence; the value is the mean of the scores."""

    @property
    def part_names(self) -> tuple[str, ...]:
        """Empty: the parts are the sentences, which differ from reply to reply."""
        return ()

    @property
    def parts_are_sentences(self) -> bool:
        """True: there is one part for each sentence of the response."""
        return True

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply; of several blocks for one sentence the last counts, with `several_verdicts`.

        Raises:
            ReplyError: `truncated` whenever the reply was cut off, `missing_score` for a block
                without a score, `ambiguous` for a block that does not name its sentence, or the code
                of a score that cannot be read.
        """
        folded = opened(reply, LABELS)
        if is_cut_off(reply):  # blocks may be missing, and nothing in the reply would show it
            raise ReplyError("truncated", reply.text)
        parts: dict[str, PartReading] = {}
        warnings: tuple[str, ...] = ()
        for block in _blocks(fields(folded.text, LABELS)):
            part, differs = _part(folded, block, scale, reply)
            if part is None:
                continue
            key = " ".join(part.name.casefold().split())
            if differs or (key in parts and parts[key].value != part.value):
                warnings = ("several_verdicts",)
            parts[key] = part
        if not parts:
            raise unread(reply)
        return Reading(
            fmean(part.value for part in parts.values()), parts=tuple(parts.values()), warnings=warnings
        )

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write a block of three lines for each part; its reason becomes a remark after the score."""
        return "\n\n".join(map(_block, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float:
        """The mean of the sentences' scores, 0..1."""
        return fmean(scale.score(part.value) for part in reading.parts)

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  required by the protocol
        """None: the reply is not JSON."""
        return None


def _block(part: PartReading) -> str:
    quoted = one_line(" ... ".join(part.quotes))
    remark = f" ({one_line(part.reason)})" if part.reason and part.reason != quoted else ""
    return (
        f"Statement Sentence: {one_line(part.name)}\n"
        f"Supporting Evidence: {quoted or 'NOTHING FOUND'}\n"
        f"Score: {written(part.value)}{remark}"
    )


def _blocks(found: Sequence[Field]) -> list[list[Field]]:
    """The fields grouped by sentence; those before the first sentence belong to no block."""
    starts = [index for index, field in enumerate(found) if field.label == "sentence"]
    return [list(found[start:end]) for start, end in zip_longest(starts, starts[1:])]


def _part(
    folded: Folded, block: Sequence[Field], scale: Scale, reply: Reply
) -> tuple[PartReading | None, bool]:
    """The part of one block (None if it only has placeholders), and whether its scores differ."""
    content = {field.label: folded.slice(field.start, field.end).strip() for field in block}
    sentence = content["sentence"]
    if "score" not in content:
        raise ReplyError(
            "missing_score", reply.text, f"the block of the sentence {sentence[:80]!r} has no score"
        )
    lines = (first_line(folded.text[field.start : field.end]) for field in block if field.label == "score")
    places = [line for line in lines if not is_placeholder(line)]
    if not places:
        return None, False
    *earlier, last = places
    if earlier and [field.label for field in block].count("evidence") > 1:
        raise ReplyError(
            "ambiguous", reply.text, f"the block after that of {sentence[:80]!r} does not name its sentence"
        )
    evidence = content.get("evidence", "")
    nothing = NOTHING.fullmatch(evidence) or NOTHING_AS_ASKED.match(evidence)
    part = PartReading(
        name=sentence,
        value=number(last, scale, reply, sentence),
        reason=remark[1] if (remark := REMARK.search(last)) else evidence,
        quotes=() if nothing else (evidence,),
    )
    return part, not all(same_number(place, part.value, scale, reply) for place in earlier)
