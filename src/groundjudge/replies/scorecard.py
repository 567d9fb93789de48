"""Verdicts in blocks of three lines, one block per sentence: the sentence, its evidence, its score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import fmean
from typing import Any

from groundjudge.errors import ReplyError
from groundjudge.replies.folded import Folded, fold
from groundjudge.replies.labelled import Field, fields, first_line, label_pattern, one_line
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.place import Mark, is_placeholder, one_mark
from groundjudge.replies.reading import PartReading, Reading
from groundjudge.replies.reply import Reply
from groundjudge.scale import Scale

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
"""A remark after a score, or on the line below: `Score: 10 (all 3 facts match)`."""


@dataclass(frozen=True)
class Scorecard:
    """Reads the score and the quoted evidence of every sentence; the value is the mean of the scores."""

    part_names: tuple[str, ...] = field(default=(), init=False, repr=False)
    parts_are_sentences: bool = field(default=True, init=False, repr=False)

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply. What follows the last block, such as an overall score, belongs to no sentence.

        Raises:
            ReplyError: `truncated` whenever the reply was cut off, `missing_score` for a block
                without a score, `ambiguous` for a sentence with different scores or a block that does
                not name its sentence, or the code of a score that cannot be read.
        """
        folded = opened(reply, LABELS)
        if is_cut_off(reply):  # blocks may be missing, and nothing in the reply would show it
            raise ReplyError("truncated", reply.text)
        parts: dict[str, PartReading] = {}
        for block in _blocks(fields(folded.text, LABELS)):
            part = _part(folded, block, scale, reply)
            if part is None:
                continue
            known = parts.setdefault(" ".join(fold(part.name).text.casefold().split()), part)
            if (known.value, known.label) != (part.value, part.label):
                message = f"the sentence {part.name[:80]!r} has two different scores"
                raise ReplyError("ambiguous", reply.text, message)
        if not parts:
            raise unread(reply)
        return Reading(_mean(part.value for part in parts.values()), parts=tuple(parts.values()))

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write a block of three lines for each part; its reason becomes a remark below the score."""
        return "\n\n".join(map(_block, reading.parts))

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The mean of the sentences' scores, 0..1; None if nothing in them can be judged."""
        return _mean(None if part.value is None else scale.score(part.value) for part in reading.parts)

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  required by the protocol
        """None: the reply is not JSON."""
        return None


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the sentences that can be judged."""
    applicable = [value for value in values if value is not None]
    return fmean(applicable) if applicable else None


def _block(part: PartReading) -> str:
    quoted = one_line(" ... ".join(part.quotes))
    remark = f"\n({one_line(part.reason)})" if part.reason and part.reason != quoted else ""
    return (
        f"Statement Sentence: {one_line(part.name)}\n"
        f"Supporting Evidence: {quoted or 'NOTHING FOUND'}\n"
        f"Score: {Mark(part.value, part.label)}{remark}"
    )


def _blocks(found: Sequence[Field]) -> list[list[Field]]:
    """The fields grouped by sentence; those before the first sentence belong to no block."""
    starts = [index for index, field in enumerate(found) if field.label == "sentence"]
    return [list(found[start:end]) for start, end in zip_longest(starts, starts[1:])]


def _part(folded: Folded, block: Sequence[Field], scale: Scale, reply: Reply) -> PartReading | None:
    """The part of one block; None if it only has placeholders."""
    content = {field.label: folded.slice(field.start, field.end).strip() for field in reversed(block)}
    sentence = content["sentence"]
    scores = [field for field in block if field.label == "score"]
    if not scores:
        message = f"the block of the sentence {sentence[:80]!r} has no score"
        raise ReplyError("missing_score", reply.text, message)
    places = [place for place in _places(folded, scores) if not is_placeholder(place, scale)]
    if not places:
        return None
    if [field.label for field in block].count("evidence") > 1:
        message = f"the block after that of {sentence[:80]!r} does not name its sentence"
        raise ReplyError("ambiguous", reply.text, message)
    evidence = content.get("evidence", "")
    nothing = NOTHING.fullmatch(evidence) or NOTHING_AS_ASKED.match(evidence)
    value, label = one_mark(places, scale, reply, sentence)
    return PartReading(
        name=sentence,
        value=value,
        reason=_remark(folded, scores[0]) or evidence,
        quotes=() if nothing else (evidence,),
        label=label,
        span=folded.span(scores[0].start, scores[0].end) if len(scores) == 1 else None,
    )


def _places(folded: Folded, scores: Sequence[Field]) -> list[str]:
    """The lines of a block's scores, up to where other text follows: there its verdict has ended."""
    places: list[str] = []
    for score in scores:
        content = folded.text[score.start : score.end]
        places.append(first_line(content))
        if _is_followed_by_text(content):
            break
    return places


def _is_followed_by_text(content: str) -> bool:
    below = content.strip().split("\n", 1)[1:]
    return any(not REMARK.fullmatch(line.strip()) for line in "".join(below).split("\n") if line.strip())


def _remark(folded: Folded, score: Field) -> str:
    """The remark in brackets behind a score, or alone on the line below."""
    lines = [line.strip() for line in folded.slice(score.start, score.end).strip().split("\n")[:2]]
    found = (REMARK.search(line) for line in lines)
    return next((match[1] for match in found if match), "")
