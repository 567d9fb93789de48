"""Verdicts as one JSON object: `{"reasoning": "explanation", "score": 0.8}`.

Valid JSON is read without changes. Only invalid JSON is repaired, by the json_repair library, and a
repair never produces a score: its digits must be in the raw reply, in the score's place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundjudge.case.shapes import is_mapping
from groundjudge.errors import ReplyError
from groundjudge.replies.folded import fold
from groundjudge.replies.opening import is_cut_off, opened, unread
from groundjudge.replies.place import Mark, is_placeholder, json_mark, mark
from groundjudge.replies.reading import Reading, Span
from groundjudge.replies.reply import Reply
from groundjudge.scale import Scale

OBJECT = re.compile(r"\{")
FENCE = re.compile(r"```[\w-]*[^\S\n]*\n(.*)```", re.DOTALL)
STRING_OR_BRACE = re.compile(r'"(?:[^"\\]++|\\.)*+(?P<closing>"?)|[{}]', re.DOTALL)
MARKS = "\"'“”"
"""What json_repair takes for quotation marks."""

SHORTEST = len("{a:0}")
BRACE = re.compile(r"[{}]")
AFTER_KEY = re.compile(r'\s*:\s*("(?:[^"\\]++|\\.)*+"|[^\s,}\]]+)')
COMMENT = re.compile(r"\s*(?://|/\*|#).*", re.DOTALL)
MOST_REPAIRED = 20_000
"""Characters of an object up to which it is repaired, see also `MOST_REPAIR_WORK`."""

MOST_REPAIR_WORK = 6_000_000
"""What the repairs of one reply may cost, see `_repair_work`: 230 quotation marks in 20,000 characters.

json_repair 0.64 takes quadratic time: for `{"a": [` and then `"a", a"b` again and again, 0.1 s for 2,500
characters, 2.5 s for 10,000. Characters times quotation marks bound its time; up to here, to half a second.
"""

MOST_FALSE_STARTS = 50
"""How many opening braces without a closing one are tried before the search for objects stops."""

MOST_ENUMERATED = 20
"""A schema lists the values of a scale of whole numbers if they are no more than this."""

MOST_NESTED = 100
"""Objects nested deeper than this are treated as not closed."""


@dataclass(frozen=True)
class Candidate:
    """An object of the reply that has the score's key.

    Attributes:
        score: the value under the score's key.
        reason: the explanation; "" if there is none.
        start: where the object begins in the reply.
        end: where the object ends in the reply, exclusive.
        raw: the object's raw text if it was repaired; None if it was valid JSON.
        doubled: whether the score's key occurs several times with different values.
    """

    score: object
    reason: str
    start: int
    end: int
    raw: str | None = None
    doubled: bool = False


@dataclass(frozen=True)
class Json:
    """Reads the number or the label under one key and the explanation under another.

    Attributes:
        value: the key of the verdict: a number or a label.
        reason: the key of the explanation.
    """

    value: str = "score"
    reason: str = "reasoning"

    part_names: tuple[str, ...] = field(default=(), init=False, repr=False)
    parts_are_sentences: bool = field(default=False, init=False, repr=False)

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: there is no object with a score, the score cannot be read, or there are scores that
                differ (`ambiguous`).
        """
        folded = opened(reply, OBJECT)
        text = folded.slice(0)
        candidates = [
            candidate for candidate in self._candidates(text) if not _is_echo(candidate.score, scale)
        ]
        rest = text[candidates[-1].end :] if candidates else text
        if not candidates or self._begins(rest, reply):  # an incomplete object may hold another verdict
            raise unread(reply)
        *others, last = candidates
        found = self._mark(last, scale, reply) if not others else self._or_ambiguous(last, scale, reply)
        if last.doubled or any(self._or_ambiguous(other, scale, reply) != found for other in others):
            raise ReplyError("ambiguous", reply.text)
        span = self._span(text, last, folded.span(0)[0])
        return Reading(found.value, last.reason, label=found.label, span=span)

    def write(self, reading: Reading, scale: Scale) -> str:
        """Write the object, the explanation first."""
        value = reading.value or 0.0
        verdict = reading.label or (int(value) if scale.integer else value)
        return json.dumps({self.reason: reading.reason, self.value: verdict}, ensure_ascii=False)

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The position of the value on the scale, 0..1; None for a label that means "not applicable"."""
        return None if reading.value is None else scale.score(reading.value)

    def schema(self, scale: Scale) -> dict[str, Any] | None:
        """An object with the explanation first, and the value or label as the scale has it."""
        return {
            "type": "object",
            "properties": {
                self.reason: {"type": "string"},
                self.value: _schema(scale),
            },
            "required": [self.reason, self.value],
            "additionalProperties": False,
        }

    def _candidates(self, text: str) -> Iterator[Candidate]:
        fenced = FENCE.fullmatch(text.strip())
        whole = self._candidate(fenced[1] if fenced else text, 0, len(text), repair=False)
        if whole:
            yield whole
            return
        work = 0
        for start, end in _objects(text):
            if end - start < SHORTEST:
                continue
            work += _repair_work(text[start:end])
            candidate = self._candidate(text[start:end], start, end, repair=work <= MOST_REPAIR_WORK)
            if candidate:
                yield candidate

    def _candidate(self, written: str, start: int, end: int, *, repair: bool) -> Candidate | None:
        pairs = _strictly(written)
        raw = None
        if pairs is None and repair:
            pairs, raw = _repaired(written), written
        if pairs is None:
            return None
        pairs = _with_key(self.value, pairs)
        scores, reasons = _under(self.value, pairs), _under(self.reason, pairs)
        if not scores:
            return None
        reason = reasons[-1] if reasons else ""
        return Candidate(
            scores[-1],
            reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False, default=str),
            start,
            end,
            raw,
            doubled=len({json.dumps(score, default=str) for score in scores}) > 1,
        )

    def _mark(self, candidate: Candidate, scale: Scale, reply: Reply) -> Mark:
        """The candidate's verdict; for a repaired object, what stands in its raw text."""
        if candidate.raw is None:
            return json_mark(candidate.score, scale, reply)
        marks = {
            mark(match["string"] if match["string"] is not None else _bare(match["bare"]), scale, reply)
            for match in self._place.finditer(fold(candidate.raw).text)
        }
        if not marks:
            raise ReplyError("no_verdict", reply.text)
        if len(marks) > 1 or marks != {json_mark(_bare(candidate.score), scale, reply)}:
            raise ReplyError("ambiguous", reply.text)  # two ways of reading give two verdicts
        return marks.pop()

    def _span(self, text: str, candidate: Candidate, offset: int) -> Span | None:
        """Where the verdict stands in the reply: behind the one string that is its key."""
        found = [
            value.span(1)
            for match in STRING_OR_BRACE.finditer(text, candidate.start, candidate.end)
            if match[0].strip('"').casefold() == self.value.casefold()
            and (value := AFTER_KEY.match(text, match.end()))
        ]
        return (found[0][0] + offset, found[0][1] + offset) if len(found) == 1 else None

    @property
    def _place(self) -> re.Pattern[str]:
        """A pattern for the score's key and the value after its colon, quoted or bare."""
        key = re.escape(self.value)
        return re.compile(
            rf"(?<![\w])[\"'“”]?{key}[\"'“”]?\s*[:=]\s*"
            # A comma may precede decimals, or a second number that makes the score ambiguous.
            r"(?:[\"'“](?P<string>[^\"'”\n]*)[\"'”]|(?P<bare>[^,}\n]*(?:,[^\S\n]*[0-9][^,}\n]*)*))",
            re.IGNORECASE,
        )

    def _or_ambiguous(self, candidate: Candidate, scale: Scale, reply: Reply) -> Mark:
        """The verdict of one of several objects: if it cannot be read, nobody can say which one counts."""
        try:
            return self._mark(candidate, scale, reply)
        except ReplyError as error:
            raise ReplyError("ambiguous", reply.text) from error

    def _begins(self, rest: str, reply: Reply) -> bool:
        """Whether the text contains the beginning of another object with a score, or may do so if cut off."""
        opening = rest.find("{")
        return opening >= 0 and (is_cut_off(reply) or bool(self._place.search(rest, opening)))


def _schema(scale: Scale) -> dict[str, Any]:
    """The schema of a verdict on the scale."""
    if scale.choices:
        return {"type": "string", "enum": [*scale.choices]}
    values = scale.whole_numbers
    if values and len(values) <= MOST_ENUMERATED:
        return {"type": "integer", "enum": [*values]}
    lowest, highest = sorted((scale.worst, scale.best))
    return {"type": "integer" if values else "number", "minimum": lowest, "maximum": highest}


def _bare(value: Any) -> Any:  # noqa: ANN401  a string loses its comment, anything else stays as it is
    """A value without a comment behind it: `0.8 // fine`."""
    return COMMENT.sub("", value) if isinstance(value, str) else value


def _strictly(text: str) -> list[tuple[str, Any]] | None:
    """The key-value pairs of a valid JSON object, duplicate keys included; None if it is not one."""
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None
    return list(pairs) if isinstance(pairs, _Pairs) else None


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its duplicate keys, distinguishable from a JSON list."""


def _repair_work(text: str) -> int:
    """How much a repair may cost: characters times quotation marks, and something for every object."""
    return (len(text) + 1000) * (sum(map(text.count, MARKS)) + 20)


def _repaired(text: str) -> list[tuple[str, Any]] | None:
    if len(text) > MOST_REPAIRED:
        return None
    from json_repair import repair_json  # noqa: PLC0415  needed for invalid JSON only

    try:
        repaired = repair_json(text, return_objects=True, skip_json_loads=True)
    except Exception:  # noqa: BLE001  if the repair fails for any reason, the reply is unreadable
        return None
    return _pairs(repaired) if isinstance(repaired, dict) else None


def _pairs(found: Mapping[str, Any]) -> _Pairs:
    """An object and those in it, as they come from valid JSON."""
    return _Pairs((key, _pairs(value) if is_mapping(value) else value) for key, value in found.items())


def _with_key(key: str, pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The object that has the key: itself or, if it is the only one with it, an object inside."""
    if _under(key, pairs):
        return pairs
    inside = [found for _, value in pairs if isinstance(value, _Pairs) for found in _all_with(key, value)]
    return inside[0] if len(inside) == 1 else pairs


def _all_with(key: str, pairs: list[tuple[str, Any]]) -> Iterator[list[tuple[str, Any]]]:
    if _under(key, pairs):
        yield pairs
    for _, value in pairs:
        if isinstance(value, _Pairs):
            yield from _all_with(key, value)


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the top-level balanced objects; braces inside strings are ignored."""
    start, false_starts = text.find("{"), 0
    while start >= 0 and false_starts < MOST_FALSE_STARTS:
        end = _closing(text, start)
        if end is None:
            false_starts += 1
            start = text.find("{", start + 1)
        else:
            yield start, end
            start = text.find("{", end)


def _closing(text: str, start: int) -> int | None:
    depth = 0
    for match in _strings_and_braces(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
        if depth > MOST_NESTED:
            break
    return None


def _strings_and_braces(text: str, start: int) -> Iterator[re.Match[str]]:
    """The strings and braces of a text; an unclosed quotation mark does not begin a string."""
    for match in STRING_OR_BRACE.finditer(text, start):
        if match["closing"] == "":  # nor does any quotation mark after it
            yield from BRACE.finditer(text, match.start())
            return
        yield match


def _under(key: str, pairs: list[tuple[str, Any]]) -> list[Any]:
    """The values under a key or, if it is missing, under keys that differ from it only in case."""
    exactly = [value for other, value in pairs if other == key]
    return exactly or [value for other, value in pairs if other.casefold() == key.casefold()]


def _is_echo(score: object, scale: Scale) -> bool:
    return isinstance(score, str) and is_placeholder(score, scale)
