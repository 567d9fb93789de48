"""Verdicts in numbered lines, one per sentence: its number, the source's numbers, a note, its score.

    3 | 12, 14 | the height is 31 metres, not 37 | 4
    ALL | 20

The prompt shows the sentences with their numbers. So nothing is copied, and a note never contains a verdict:
only the first two fields of a line and its last one are places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from groundjudge.case.data import unique_keys
from groundjudge.errors import ReplyError
from groundjudge.replies.format import (
    NO_EXPECTATION,
    Expectation,
    PartReading,
    Place,
    Reading,
    scores_of_claims,
)
from groundjudge.replies.json_object import object_schema
from groundjudge.replies.numbered_lines import (
    ALL,
    MARK,
    NO_SOURCE,
    NONE,
    NumberedLines,
    read_sources,
    split_line,
)
from groundjudge.replies.opening import open_reply
from groundjudge.replies.reply import Reply
from groundjudge.replies.shares import SHARES_UNREADABLE
from groundjudge.replies.value import (
    NO_CLAIM,
    Reader,
    may_be_fraction,
    parse_number,
    write_number,
    write_score,
)
from groundjudge.scale import DIGITS, Scale, unwrap
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.printable import one_line

# The code of sentences that contradict the last line.
SHARE_MISMATCH = "share_mismatch"

SURE_BACKED, SURE_UNBACKED = 0.9, 0.2
"""Scores of sentences that contradict the last line: SURE_BACKED or more for all, while it is below one half;
or SURE_UNBACKED or less for any, while it is above."""

SHARE = compile_when_used(r"(?P<share>[0-9]+(?:[.,][0-9]+)?)\s*(?:%|/\s*100)?")
# A JSON object at the end, in a fence or not. What is ahead, such as thoughts, stays ahead of the lines.
JSON_AT_END = compile_when_used(
    r"(?P<ahead>[^{]*?)(?:```(?:json)?\s*)?(?P<json>\{.*\})\s*(?:```\s*)?", re.DOTALL
)


class NumberedSentence(BaseModel):
    """A line as JSON. The score is a number, one of the scale's labels, or null for NO CLAIM."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)

    n: int
    sources: list[int]
    note: str
    score: float | Annotated[str, Field(pattern=r"^[^|\n]*$")] | None


class NumberedVerdict(BaseModel):
    """All lines as JSON, following the schema."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)

    sentences: list[NumberedSentence]
    all: float


@dataclass(frozen=True)
class Numbered(NumberedLines):
    """Reads each sentence's score and evidence by number, and the probability that all is supported."""

    n_fields = 4  # number, sources, note and score
    score_names = ("mean", "weakest")

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the last line."""
        return (ALL,)

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply, in lines or as JSON. If it was cut off, its finished lines can be kept.

        Raises:
            ReplyError: as for `PlacedFormat.read_reply`, and those of `read_places`.
        """
        reply = _as_lines(reply)
        try:
            return super().read_reply(reply, scale, expectation)
        except ReplyError as error:
            if error.code == "truncated":
                raise self._without_rest(reply, scale, expectation) from None
            raise

    def _without_rest(self, reply: Reply, scale: Scale, expectation: Expectation) -> ReplyError:
        """Return the error for a reply that was cut off, with its finished lines and the missing numbers."""
        finished, _, _ = reply.text.rpartition("\n")
        error = ReplyError("truncated", reply.text)
        try:
            super().read_reply(replace(reply, text=finished, finish_reason=None), scale, expectation)
        except ReplyError as fault:
            error.kept, error.numbers = fault.kept, fault.numbers
        return error

    def read_places(self, reader: Reader, places: Sequence[Place]) -> Reading:
        """Read the lines: those of all sentences in order, followed by the last one.

        Lines of an earlier reply come first, and take precedence if both replies have the same number.

        Raises:
            ReplyError: `ambiguous` for a line that does not belong here or a number that does not exist,
                `unrated_sentences` with the missing numbers and the lines to keep, or the code of a score
                that cannot be read.
        """
        sentences = reader.expectation.sentences
        parts = {int(line.label): _read_part(line, reader) for line in places if line.label != ALL}
        if reader.expectation.earlier:
            earlier = replace(reader, reply=open_reply(Reply(reader.expectation.earlier), MARK))
            for line in self.find_places(earlier):
                part = _read_part(line, earlier)
                parts[int(line.label)] = replace(part, span=None)  # it is not in this reply
        in_order = tuple(parts[number] for number in sorted(parts))
        n_sentences = max(parts) if sentences is None else len(sentences.response)
        missing = tuple(number for number in range(1, n_sentences + 1) if number not in parts)
        if missing:
            kept = self.write_reply(Reading(None, parts=in_order))
            fault = f"there is no line for sentence {', '.join(map(str, missing))}"
            raise ReplyError("unrated_sentences", reader.reply.raw, fault, numbers=missing, kept=kept)
        whole = _read_whole(places[-1], reader)
        reading = Reading(None, parts=in_order, whole=whole)
        claims = scores_of_claims(reading, reader.scale)
        if claims and whole is None:
            return replace(reading, warnings=(SHARES_UNREADABLE,))
        if whole is not None and contradict(claims, whole):
            return replace(reading, warnings=(SHARE_MISMATCH,))
        return reading

    def write_reply(self, reading: Reading) -> str:
        """Write a line for each part, and the last one if the probability for the whole is known.

        A part without a number has that of its place.
        """
        lines: list[str] = []
        for number, part in enumerate(reading.parts, 1):
            lines.append(_write_line(part.number or number, part.sources, part.reason, write_score(part)))
        if reading.whole is not None:
            lines.append(f"{ALL} | {write_number(round(100 * reading.whole, DIGITS))}")
        return "\n".join(lines)

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """Return the probability that the source supports all claims; None if there are none to support.

        If the reply does not say, it is the lowest score of a sentence. If the two contradict each other, the
        lower one counts: also a low probability next to sentences that are all said to claim nothing.
        """
        claims = scores_of_claims(reading, scale)
        if not claims:
            return reading.whole if SHARE_MISMATCH in reading.warnings else None
        if reading.whole is None:
            return min(claims)
        if contradict(claims, reading.whole):
            return min(reading.whole, *claims)
        return reading.whole

    def scores(self, reading: Reading, scale: Scale) -> Mapping[str, float]:
        """Return the mean and the lowest of the sentences that make a claim; {} if there are none."""
        claims = scores_of_claims(reading, scale)
        if not claims:
            return {}
        return {"mean": fmean(claims), "weakest": min(claims)}

    def schema(self, scale: Scale) -> dict[str, Any] | None:
        """Return the schema of the same lines as JSON; a score of null means NO CLAIM."""
        score: dict[str, Any] = {"type": ["number", "null"]}
        if scale.choices:
            score = {"type": ["string", "null"], "enum": [*scale.choices, None]}
        sentence = {
            "n": {"type": "integer"},
            "sources": {"type": "array", "items": {"type": "integer"}},
            "note": {"type": "string"},
            "score": score,
        }
        rows = {"type": "array", "items": object_schema(sentence)}
        return object_schema({"sentences": rows, "all": {"type": "number"}})


def contradict(claims: Sequence[float], whole: float) -> bool:
    """Whether the scores of sentences and the probability of the whole cannot both be meant."""
    half = 1 / 2
    weakest = min(claims, default=1.0)
    return (weakest >= SURE_BACKED and whole < half) or (weakest <= SURE_UNBACKED and whole > half)


def _as_lines(reply: Reply) -> Reply:
    """Convert a reply that follows the schema to lines; return any other reply unchanged."""
    match = JSON_AT_END.fullmatch(reply.text)
    if match is None:
        return reply
    try:
        verdict = NumberedVerdict.model_validate(json.loads(match["json"], object_pairs_hook=unique_keys))
    except ValueError:
        return reply  # no line will be found in it
    lines: list[str] = [match["ahead"]]
    for sentence in verdict.sentences:
        score = NO_CLAIM if sentence.score is None else sentence.score
        lines.append(_write_line(sentence.n, sentence.sources, sentence.note, score))
    lines.append(f"{ALL} | {verdict.all}")
    return replace(reply, text="\n".join(lines), tokens=None)


def _write_line(number: int, sources: Sequence[int], note: str, score: object) -> str:
    """Write the line of a sentence. A note must be on one line, so that it cannot begin another one."""
    numbers = ", ".join(map(str, sources)) or NONE
    return f"{number} | {numbers} | {one_line(note) or NONE} | {score}"


def _read_part(line: Place, reader: Reader) -> PartReading:
    """Read the line of a sentence.

    Raises:
        ReplyError: `ambiguous` for a number that does not exist and for sources that are not numbers,
            `missing_score` for too few fields, or the code of a score that cannot be read.
    """
    number = int(line.label)
    sentences = reader.expectation.sentences
    name = line.label
    if sentences is not None:
        if number > len(sentences.response):
            raise reader.make_error("ambiguous", reader.text[slice(*line.span)])
        name = sentences.response[number - 1].text
    fields = split_line(reader.text, line)
    if len(fields) < Numbered.n_fields - 1:  # without the number
        raise reader.make_error("missing_score", reader.text[slice(*line.span)])
    sources = read_sources(fields[0], sentences)
    if sources is None:
        raise reader.make_error("ambiguous", reader.text[slice(*line.span)])
    note = "|".join(fields[1:-1])
    reason = ""
    if not NO_SOURCE.fullmatch(note.strip()):
        note_end = line.content[0] - 1
        reason = reader.reply.slice(note_end - len(note), note_end)
    reading = reader.read_score(line, name)
    return PartReading(
        name, reading.value, reason, label=reading.label, span=reading.span, number=number, sources=sources
    )


def _read_whole(line: Place, reader: Reader) -> float | None:
    """Read the last line: "ALL | 20" is .2; None if there is none, or if it cannot be read.

    Raises:
        ReplyError: `ambiguous` for a number between 0 and 1, which may be a share or a percentage.
    """
    if line.label != ALL:
        return None
    fields = map(unwrap, split_line(reader.text, line))
    # In a table this line also has empty fields, in the columns of the others.
    texts = [field for field in fields if not NO_SOURCE.fullmatch(field)]
    match = SHARE.fullmatch(texts[0]) if len(texts) == 1 else None
    if match is None:
        return None
    percent = parse_number(match["share"])
    if may_be_fraction(percent):
        raise reader.make_error("ambiguous", texts[0])
    return percent / 100 if percent <= 100 else None  # noqa: PLR2004  a percentage
