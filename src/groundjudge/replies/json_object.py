"""Verdicts as one JSON object: `{"reasoning": "explanation", "score": 0.8}`.

The score is read where it stands: behind its key, in an outermost object of the raw reply. The json module
gives the explanation; where the object is not valid, json_repair does, and must find the same score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from groundjudge.case.data import as_json, is_mapping
from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, Reading
from groundjudge.replies.opening import ends_nothing, fold, open_reply
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, written
from groundjudge.scale import DIGITS, Scale
from groundjudge.verdict import well_formed

OBJECT = re.compile(r"\{")
OUTSIDE = re.compile(r"[{\[\]]")
# Strings, comments, and signs of structure. A string that does not end holds all that follows. In single
# quotes a string begins behind a sign and ends before one: 'it's fine'.
TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\Z)|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|(?P<end>[}\]])'
    r"|(?P<sign>[{\[:,])(?:\s*+'(?:[^'\\]|\\.|'(?!\s*+[,:}\]]))*+')?",
    re.DOTALL,
)
COMMENT = re.compile(r"//[^\n0-9]*(?:\n|$)|/\*[^0-9*]*\*/")
# A number as JSON has it, but without an exponent.
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
# What makes another number of the one in an object that ends there.
SIGN = re.compile(r"\s*+[%％/／](?![/*])")
QUOTES = " \t\r\n\"'“”"
# What a repair may cost: characters times quotation marks, 230 of them in 20,000 characters. json_repair
# takes quadratic time: for `{"a": [` and then `"a", a"b` again and again, 0.1 s for 2,500 characters, 2.5 s
# for 10,000. Up to here it takes at most half a second.
MOST_REPAIR_WORK = 6_000_000
# A schema lists the values of a scale of whole numbers if they are no more than this.
MOST_ENUMERATED = 20


# A member of an object: its key in small letters, None if it has no colon, and the span of its value.
Member: TypeAlias = tuple[str | None, int, int]
# The span of an outermost object, and its own members; none if it stands in a list or a string.
Object: TypeAlias = tuple[int, int, Sequence[Member]]


@dataclass(frozen=True)
class Json(Format):
    """Reads the number or the label under one key and the explanation under another.

    Attributes:
        value: the key of the verdict: a number or a label.
        reason: the key of the explanation.
    """

    value: str = "score"
    reason: str = "reasoning"

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply. Prose and fences may stand around the object.

        Raises:
            ReplyError: there is no object with a score, the score cannot be read, or (`ambiguous`) there are
                scores that differ, another one may stand outside of the objects, or a digit or the key's
                name behind it.
        """
        opening = open_reply(reply, OBJECT, has_strings=True)
        reader = Reader(opening, scale, expectation, (self.value,))
        offset, own = opening.origins[opening.start], self.value.casefold()
        text = reply.text[offset:]
        objects = list(_objects(text))
        verdicts = [(each, start, end) for each in objects for key, start, end in each[2] if key == own]
        places = [_place(text[start:end], reader) for _, start, end in verdicts]
        index, found = reader.agreed(places)
        (begin, close, members), start, end = verdicts[index]
        behind = _outside(text, objects, close)
        is_followed = SIGN.match(behind) or reader.may_differ(found, behind) or self._named(behind)
        if is_followed or self._is_said(_outside(text, objects)) or any(key is None for key, _, _ in members):
            raise reader.error("ambiguous")
        reason = self._reason(text[begin:close], found, reader)
        # A value that is written with escapes is not found there, and cannot be weighed.
        at = text.find(places[index][slice(*found.span or ())], start, end)
        is_there = at >= 0 and "\\" not in text[start:end]
        return replace(found, reason=reason, span=(offset + at, offset + end) if is_there else None)

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the object, the explanation first; a number without an exponent."""
        number = written(round(reading.value or 0.0, DIGITS))
        verdict = json.dumps(reading.label, ensure_ascii=False) if reading.label else number
        reason = json.dumps({self.reason: reading.reason}, ensure_ascii=False)
        return f"{reason[:-1]}, {json.dumps(self.value, ensure_ascii=False)}: {verdict}}}"

    def schema(self, scale: Scale) -> dict[str, Any] | None:
        """An object with the explanation first, and the value or label as the scale has it."""
        whole, (lowest, highest) = scale.whole_numbers, sorted((scale.worst, scale.best))
        kind = "string" if scale.choices else "integer" if whole else "number"
        values = [*scale.choices] or ([*whole] if len(whole) <= MOST_ENUMERATED else [])
        limits = {"enum": values} if values else {"minimum": lowest, "maximum": highest}
        return {
            "type": "object",
            "properties": {self.reason: {"type": "string"}, self.value: {"type": kind, **limits}},
            "required": [self.reason, self.value],
            "additionalProperties": False,
        }

    def _is_said(self, outside: str) -> bool:
        """Whether a brace, the score's key or the end of a reasoning stands outside of all objects."""
        is_given = self._named(outside, r"[\"'`*_”]{0,3}\s*[:=：]")
        return bool({*outside} & {*"{}"} or is_given or ends_nothing(outside, OBJECT))

    def _named(self, prose: str, behind: str = "") -> bool:
        return re.search(rf"(?<!\w){re.escape(self.value)}{behind}", prose, re.IGNORECASE) is not None

    def _reason(self, raw: str, found: Reading, reader: Reader) -> str:
        """The explanation; an object that is not valid JSON must have the same score when it is repaired."""
        try:
            members, is_valid = json.loads(raw, strict=False), True
        except (ValueError, RecursionError):
            members, is_valid = _repaired(raw), False
        held = {key.casefold(): value for key, value in members.items()}
        own, reason = self.value.casefold(), held.get(self.reason.casefold(), "")
        if not is_valid and (own not in held or reader.agreed([str(held[own])])[1] != found):
            raise reader.error("ambiguous")
        return well_formed(reason) if isinstance(reason, str) else as_json(reason)


def _objects(text: str) -> Iterator[Object]:
    """The outermost objects of a text, up to one that does not close."""
    lists, position = 0, 0
    while match := OUTSIDE.search(text, position):
        start, position = match.span()
        lists = max(0, lists + {"[": 1, "]": -1, "{": 0}[match[0]])
        if match[0] == "{":
            members, position = _members(text, start)
            if position < 0:
                return
            yield start, position, [] if lists or text[start - 1 : start] in ("'", '"') else members


def _outside(text: str, objects: Sequence[Object], at: int = 0) -> str:
    """What stands outside of the objects, from a place on."""
    edges = [at, *(edge for start, end, _ in objects if start >= at for edge in (start, end)), len(text)]
    return " ".join(text[end:start] for end, start in zip(edges[::2], edges[1::2], strict=True))


def _members(text: str, start: int) -> tuple[list[Member], int]:
    """The members of the object that begins there, and where it ends; -1 if it does not close."""
    depth, begin, key = 0, start + 1, None
    members: list[Member] = []
    for token in TOKEN.finditer(text, start):
        sign, at = token["sign"] or token["end"], token.start()
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(sign, 0)
        if sign == ":" and depth == 1 and key is None:
            key, begin = _text(text[begin:at]).strip(QUOTES).casefold(), at + 1
        elif (sign == "," and depth == 1) or depth == 0:
            members += [(key, begin, at)] if key is not None or _text(text[begin:at]) else []
            key, begin = None, at + 1
        if depth == 0:
            return members, token.end()
    return members, -1


def _place(value: str, reader: Reader) -> str:
    """The place of a value: the text of a string, or what stands behind the colon.

    Raises:
        ReplyError: `not_a_number` or `unknown_label` for a list and for an object; `ambiguous` for a bare
            number that JSON does not allow, such as `1.` and `01`: it may be a part of another one.
    """
    text, first = fold(_text(value)).text, value.strip()[:1]
    if first in ("[", "{"):
        raise reader.error("unknown_label" if reader.scale.choices else "not_a_number", text)
    if first not in "\"'“‘" and any(map(str.isdigit, text)) and not NUMBER.fullmatch(text):
        raise reader.error(reader.misfit(text), text)
    return text


def _text(written: str) -> str:
    """What a string says, or what is written there without a comment."""
    bare = COMMENT.sub("", written).strip()
    try:
        return str(json.loads(bare, strict=False)) if bare.startswith('"') else bare
    except ValueError:
        return bare


def _repaired(text: str) -> Mapping[str, Any]:
    """The object as json_repair understands it; {} if it does not, or if that could take long."""
    from json_repair import repair_json  # noqa: PLC0415  needed for invalid JSON only

    repaired: object = None
    if (len(text) + 1000) * (sum(map(text.count, "\"'“”")) + 20) <= MOST_REPAIR_WORK:
        with suppress(Exception):  # if the repair fails for any reason, the reply is unreadable
            repaired = repair_json(text, return_objects=True, skip_json_loads=True)
    return repaired if is_mapping(repaired) else {}
