"""Verdicts as one JSON object: `{"reasoning": "explanation", "score": 0.8}`.

The score is read where it stands: behind its key, in an outermost object of the raw reply. The json module, or
json_repair for what is not valid, gives the explanation, and must find the same score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from groundjudge.case.shapes import is_mapping, well_formed
from groundjudge.replies.opening import ends_nothing, fold, opened
from groundjudge.replies.reading import NOTHING_ELSE, Asked, Reading, Span
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Expected, ParsedValue, written
from groundjudge.scale import Scale

OBJECT = re.compile(r"\{")
OUTSIDE = re.compile(r"[{\[\]]")
BRACE = re.compile(r"[{}]")
# Strings, comments, and signs of structure. A string that does not end holds all that follows. In single
# quotes a string begins behind a sign and ends before one: 'it's fine'.
TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\Z)|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|(?P<end>[}\]])'
    r"|(?P<sign>[{\[:,])(?:\s*+'(?:[^'\\]|\\.|'(?!\s*+[,:}\]]))*+')?",
    re.DOTALL,
)
COMMENT = re.compile(r"//[^\n0-9]*(?:\n|$)|/\*[^0-9*]*\*/")
QUOTES = " \t\r\n\"'“”"
MOST_REPAIR_WORK = 6_000_000
"""What the repairs of one reply may cost: characters times quotation marks, 230 of them in 20,000 characters.

json_repair takes quadratic time: for `{"a": [` and then `"a", a"b` again and again, 0.1 s for 2,500
characters, 2.5 s for 10,000. Up to here it takes at most half a second.
"""

MOST_ENUMERATED = 20
"""A schema lists the values of a scale of whole numbers if they are no more than this."""


@dataclass(frozen=True)
class Member:
    """A member of an object; positions are indexes into the text.

    Attributes:
        start: where it begins.
        colon: where its colon is; -1 if it has none.
        end: where it ends, exclusive.
    """

    start: int
    colon: int
    end: int


@dataclass(frozen=True)
class Object:
    """An outermost object that is closed; positions are indexes into the text.

    Attributes:
        start: where it begins.
        end: where it ends, exclusive.
        members: its own members, not those of objects in it.
        is_inside: whether it stands in a list or in a string.
    """

    start: int
    end: int
    members: Sequence[Member]
    is_inside: bool


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

    def read(self, reply: Reply, scale: Scale, asked: Asked = NOTHING_ELSE) -> Reading:
        """Read a reply. Prose and fences may stand around the object.

        Raises:
            ReplyError: there is no object with a score, the score cannot be read, or there are scores that
                differ, or more of them outside of the objects (`ambiguous`).
        """
        expected = Expected(reply, scale, asked, (self.value,))
        text = reply.text[opened(reply, OBJECT, quotes_are_free=True).origins[0] :]
        objects = list(_objects(text))
        verdicts = [
            (each, member)
            for each in objects
            if not each.is_inside
            for member in each.members
            if _key(text, member) == self.value.casefold()
        ]
        index, found = expected.agreed([_place(text, member, expected) for _, member in verdicts])
        first, member = verdicts[index]
        if self._is_said_outside(text, objects) or any(map(partial(_is_malformed, text), first.members)):
            raise expected.error("ambiguous")
        reason = self._reason(text[first.start : first.end], found, expected)
        span = _span(text, member, expected, len(reply.text) - len(text))
        return Reading(found.value, reason, label=found.label, span=span)

    def write(self, reading: Reading, scale: Scale) -> str:
        """Write the object, the explanation first."""
        value = reading.value or 0.0
        number = int(value) if scale.integer else value
        verdict = reading.label or (number if "e" not in str(number) else written(value))
        return json.dumps({self.reason: reading.reason, self.value: verdict}, ensure_ascii=False)

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The position of the value on the scale, 0..1; None for a label that means "not applicable"."""
        return None if reading.value is None else scale.score(reading.value)

    def schema(self, scale: Scale) -> dict[str, Any] | None:
        """An object with the explanation first, and the value or label as the scale has it."""
        return {
            "type": "object",
            "properties": {self.reason: {"type": "string"}, self.value: _schema(scale)},
            "required": [self.reason, self.value],
            "additionalProperties": False,
        }

    def _is_said_outside(self, text: str, objects: Sequence[Object]) -> bool:
        """Whether a brace, the score's key or the end of a reasoning stands outside of all objects."""
        begins = [*(each.start for each in objects), len(text)]
        ends = [0, *(each.end for each in objects)]
        outside = " ".join(text[end:begin] for end, begin in zip(ends, begins, strict=True))
        key = re.compile(rf"(?<!\w){re.escape(self.value)}[\"'`*_”]{{0,3}}\s*[:=：]", re.IGNORECASE)
        return bool(BRACE.search(outside) or key.search(outside) or ends_nothing(outside, OBJECT))

    def _reason(self, raw: str, found: ParsedValue, expected: Expected) -> str:
        """The explanation; an object that is not valid JSON must have the same score when it is repaired."""
        try:
            members = cast("dict[str, Any]", json.loads(raw, strict=False))
        except (ValueError, RecursionError):
            members = _repaired(raw)
            repaired = [
                str(value) for key, value in members.items() if key.casefold() == self.value.casefold()
            ]
            if not repaired or expected.agreed([COMMENT.sub("", each) for each in repaired])[1] != found:
                raise expected.error("ambiguous") from None
        reasons = [value for key, value in members.items() if key.casefold() == self.reason.casefold()]
        reason = reasons[-1] if reasons else ""
        return well_formed(
            reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False, default=str)
        )


def _schema(scale: Scale) -> dict[str, Any]:
    """The schema of a verdict on the scale."""
    if scale.choices:
        return {"type": "string", "enum": [*scale.choices]}
    values = scale.whole_numbers
    if values and len(values) <= MOST_ENUMERATED:
        return {"type": "integer", "enum": [*values]}
    lowest, highest = sorted((scale.worst, scale.best))
    return {"type": "integer" if values else "number", "minimum": lowest, "maximum": highest}


def _objects(text: str) -> Iterator[Object]:
    """The outermost objects of a text, up to one that does not close."""
    lists, position = 0, 0
    while match := OUTSIDE.search(text, position):
        position = match.end()
        lists = max(0, lists + {"[": 1, "]": -1, "{": 0}[match[0]])
        if match[0] == "{":
            members = list(_members(text, match.start()))
            if not members or text[members[-1].end] not in "}]":
                return
            position = members[-1].end + 1
            is_inside = bool(lists) or text[match.start() - 1 : match.start()] in ("'", '"')
            yield Object(match.start(), position, members, is_inside)


def _members(text: str, start: int) -> Iterator[Member]:
    """The members of the object that begins there; the last one ends at its brace, if it has one."""
    depth, begin, colon = 0, start, -1
    for token in TOKEN.finditer(text, start):
        sign, at = token["sign"] or token["end"], token.start()
        depth += 1 if sign in ("{", "[") else -1 if sign in ("}", "]") else 0
        if sign == "{" and at == start:
            begin = at + 1
        elif sign == ":" and depth == 1 and colon < 0:
            colon = at
        elif (sign == "," and depth == 1) or depth == 0:
            yield Member(begin, colon, at)
            begin, colon = at + 1, -1
        if depth == 0:
            return


def _key(text: str, member: Member) -> str:
    """The key of a member in small letters; "" if it has none."""
    return COMMENT.sub("", text[member.start : max(member.colon, member.start)]).strip(QUOTES).casefold()


def _is_malformed(text: str, member: Member) -> bool:
    """Whether a member has no key: `0,8` is two members, of which the second has none."""
    return member.colon < 0 and bool(COMMENT.sub("", text[member.start : member.end]).strip())


def _place(text: str, member: Member, expected: Expected) -> str:
    """The place of a value: the text of a string, or what stands behind the colon.

    Raises:
        ReplyError: `not_a_number` or `unknown_label` for a list and for an object.
    """
    place = COMMENT.sub("", text[member.colon + 1 : member.end]).strip()
    if place[:1] in ("[", "{"):
        raise expected.error("unknown_label" if expected.scale.choices else "not_a_number", place[:80])
    try:
        value = json.loads(place, strict=False) if place.startswith('"') else place
    except ValueError:
        value = place
    return fold(str(value)).text


def _span(text: str, member: Member, expected: Expected, offset: int) -> Span | None:
    """Where the value stands in the reply; None if it is written with escapes."""
    place = text[member.colon + 1 : member.end]
    at = place.find(expected.bare(_place(text, member, expected)))
    return None if at < 0 else (offset + member.colon + 1 + at, offset + member.end)


def _repaired(text: str) -> dict[str, Any]:
    """The object as json_repair understands it; {} if it does not, or if that could take long."""
    if (len(text) + 1000) * (sum(map(text.count, "\"'“”")) + 20) > MOST_REPAIR_WORK:
        return {}
    from json_repair import repair_json  # noqa: PLC0415  needed for invalid JSON only

    try:
        repaired = repair_json(text, return_objects=True, skip_json_loads=True)
    except Exception:  # noqa: BLE001  if the repair fails for any reason, the reply is unreadable
        return {}
    return cast("dict[str, Any]", repaired) if is_mapping(repaired) else {}
