"""Verdicts as one JSON object: `{"reasoning": "explanation", "score": 0.8}`.

The score is read where it stands: behind its key, in an outermost object of the raw reply. The json module
gives the explanation; where the object is not valid, json_repair does, and must find the same score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from groundjudge.case.shapes import is_mapping, well_formed
from groundjudge.replies.format import score_of_value
from groundjudge.replies.opening import ends_nothing, fold, opened
from groundjudge.replies.reading import NOTHING_ELSE, Asked, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Expected, ParsedValue, written
from groundjudge.scale import DIGITS, Scale

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
# What a repair may cost: characters times quotation marks, 230 of them in 20,000 characters. json_repair
# takes quadratic time: for `{"a": [` and then `"a", a"b` again and again, 0.1 s for 2,500 characters, 2.5 s
# for 10,000. Up to here it takes at most half a second.
MOST_REPAIR_WORK = 6_000_000
# A schema lists the values of a scale of whole numbers if they are no more than this.
MOST_ENUMERATED = 20


class Member(NamedTuple):
    """A member of an object; positions are indexes into the text.

    Attributes:
        key: the key in small letters; None if there is no colon.
        start: where the value begins.
        end: where it ends, exclusive.
    """

    key: str | None
    start: int
    end: int


class Object(NamedTuple):
    """An outermost object that is closed, with its own members; none if it stands in a list or a string."""

    start: int
    end: int
    members: Sequence[Member]


@dataclass(frozen=True)
class Json:
    """Reads the number or the label under one key and the explanation under another.

    Attributes:
        value: the key of the verdict: a number or a label.
        reason: the key of the explanation.
    """

    value: str = "score"
    reason: str = "reasoning"

    part_names = ()
    parts_are_sentences = False
    score = score_of_value

    def read(self, reply: Reply, scale: Scale, asked: Asked = NOTHING_ELSE) -> Reading:
        """Read a reply. Prose and fences may stand around the object.

        Raises:
            ReplyError: there is no object with a score, the score cannot be read, or there are scores that
                differ, or more of them outside of the objects (`ambiguous`).
        """
        expected = Expected(reply, scale, asked, (self.value,))
        opening = opened(reply, OBJECT, has_strings=True)
        offset = opening.origins[opening.start]
        text, key = reply.text[offset:], self.value.casefold()
        objects = list(_objects(text))
        verdicts = [(each, member) for each in objects for member in each.members if member.key == key]
        index, found = expected.agreed([_place(text, member, expected) for _, member in verdicts])
        first, member = verdicts[index]
        if self._is_said_outside(text, objects) or any(each.key is None for each in first.members):
            raise expected.error("ambiguous")
        reason = self._reason(text[first.start : first.end], found, expected)
        # A value that is written with escapes is not found there, and cannot be weighed.
        at = text.find(expected.bare(_place(text, member, expected)), member.start, member.end)
        span = (
            None if at < 0 or "\\" in text[member.start : member.end] else (offset + at, offset + member.end)
        )
        return Reading(found.value, reason, label=found.label, span=span)

    def write(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the object, the explanation first; a number without an exponent."""
        number = written(round(reading.value or 0.0, DIGITS))
        verdict = json.dumps(reading.label, ensure_ascii=False) if reading.label else number
        reason = json.dumps({self.reason: reading.reason}, ensure_ascii=False)
        return f"{reason[:-1]}, {json.dumps(self.value, ensure_ascii=False)}: {verdict}}}"

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
        begins, ends = [each.start for each in objects], [each.end for each in objects]
        outside = " ".join(
            text[end:begin] for end, begin in zip([0, *ends], [*begins, len(text)], strict=True)
        )
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
            if not repaired or expected.agreed(repaired)[1] != found:
                raise expected.error("ambiguous") from None
        reasons = ["", *(value for key, value in members.items() if key.casefold() == self.reason.casefold())]
        is_text = isinstance(reasons[-1], str)
        return well_formed(
            reasons[-1] if is_text else json.dumps(reasons[-1], ensure_ascii=False, default=str)
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
            members, position = _members(text, match.start())
            if position < 0:
                return
            is_inside = lists or text[match.start() - 1 : match.start()] in ("'", '"')
            yield Object(match.start(), position, [] if is_inside else members)


def _members(text: str, start: int) -> tuple[list[Member], int]:
    """The members of the object that begins there, and where it ends; -1 if it does not close."""
    depth, begin, colon = 0, start + 1, -1
    members: list[Member] = []
    for token in TOKEN.finditer(text, start):
        sign, at = token["sign"] or token["end"], token.start()
        depth += 1 if sign in ("{", "[") else -1 if sign in ("}", "]") else 0
        if sign == ":" and depth == 1 and colon < 0:
            colon = at
        elif (sign == "," and depth == 1) or depth == 0:
            if colon >= 0:
                key = _text(text[begin:colon]).strip(QUOTES).casefold()
                members.append(Member(key, colon + 1, at))
            elif _text(text[begin:at]):
                members.append(Member(None, begin, at))
            begin, colon = at + 1, -1
        if depth == 0:
            return members, token.end()
    return members, -1


def _place(text: str, member: Member, expected: Expected) -> str:
    """The place of a value: the text of a string, or what stands behind the colon.

    Raises:
        ReplyError: `not_a_number` or `unknown_label` for a list and for an object.
    """
    place = _text(text[member.start : member.end])
    if text[member.start : member.end].strip()[:1] in ("[", "{"):
        raise expected.error("unknown_label" if expected.scale.choices else "not_a_number", place[:80])
    return fold(place).text


def _text(written: str) -> str:
    """What a string says, or what is written there without a comment."""
    bare = COMMENT.sub("", written).strip()
    try:
        return str(json.loads(bare, strict=False)) if bare.startswith('"') else bare
    except ValueError:
        return bare


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
