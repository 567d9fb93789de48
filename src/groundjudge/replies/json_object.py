"""Verdicts as one JSON object: `{"reasoning": "explanation", "score": 0.8}`.

The score is read in the raw reply, after its key in an outermost object. The explanation comes from the json
module; if the object is not valid, it comes from json_repair, which must find the same score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from groundjudge.case.data import as_json, is_mapping
from groundjudge.evidence.origins import replaced
from groundjudge.replies.format import Place, Reading, Span
from groundjudge.replies.opening import fold, has_stray_end, is_quoted
from groundjudge.replies.reading import Marks, PlacedFormat
from groundjudge.replies.value import Reader, write_value
from groundjudge.scale import Scale
from groundjudge.text.patterns import compile_when_used
from groundjudge.verdict import well_formed

OBJECT = compile_when_used(r"\{")
BRACKET = compile_when_used(r"[\[\]]")
# What would change the number in the object ahead of it; a comment would not.
UNIT = compile_when_used(r"\s*(?:[%％／]|/(?![/*]))")
# What an object consists of, besides numbers and words; each match is one of these:
# - a string in double quotes, which no group names; one that does not end contains everything after it;
# - a comment;
# - `end`, a closing brace or bracket;
# - `mark`, an opening one, a colon or a comma. A string in single quotes begins after such a character and is
#   part of its match. It ends before one, so that the apostrophe in 'it's fine' does not end it.
TOKEN = compile_when_used(
    r'"(?:[^"\\]|\\.)*+(?:"|\Z)|(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))|(?P<end>[}\]])'
    r"|(?P<mark>[{\[:,])(?:\s*+'(?:[^'\\]|\\.|'(?!\s*+[,:}\]]))*+(?:'|\Z))?",
    re.DOTALL,
)
# A JSON number, but without an exponent.
NUMBER = compile_when_used(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
QUOTES = " \t\r\n\"'“”"
# The limit for outermost objects: no judge writes so many, but 200,000 characters have room for 100,000.
MAX_OBJECTS = 1000
# The limit for the length of an object to repair.
MAX_REPAIRED = 10_000
# A schema lists the values of a scale of whole numbers up to this many.
MAX_ENUMERATED = 20


class Member(NamedTuple):
    """A member of an object.

    Attributes:
        key: its key in lower case; None if it has no colon.
        span: the span of its value, after the colon.
        value: the text of its value, without comments.
    """

    key: str | None
    span: Span
    value: str


class JsonObject(NamedTuple):
    """An outermost object of a text.

    Attributes:
        span: its span, with the braces.
        members: its own members; none if it is in a list or a string.
        comments: the comments in it.
    """

    span: Span
    members: Sequence[Member]
    comments: Sequence[str]

    def members_with(self, key: str) -> list[Member]:
        """Return the members with a key, ignoring case."""
        return [member for member in self.members if member.key == key.casefold()]


@dataclass(frozen=True)
class Json(PlacedFormat):
    """Reads the number or the label under one key and the explanation under another.

    Attributes:
        value: the key of the verdict: a number or a label.
        reason: the key of the explanation.
        shares: the key of the shares (the probability of each value); "" for none.
    """

    value: str = "score"
    reason: str = "reasoning"
    shares: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The key of the verdict."""
        return (self.value,)

    @property
    def marks(self) -> Marks:
        """The brace that begins an object. Prose and fences may surround it."""
        return Marks(OBJECT, "strings", prose_may_follow=True)

    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find the outermost objects and the places in those that have the verdict's key.

        Raises:
            ReplyError: the value is an object, a list or not a JSON number.
        """
        text = reader.text
        objects = _read_objects(text)
        blanks: list[tuple[int, int, str]] = []
        for json_object in objects:
            start, end = json_object.span
            blanks.append((start, end, " " * (end - start)))
        outside, _ = replaced(text, blanks)
        last_mention = max((mention.start() for mention in self._mentions(outside)), default=-1)
        is_hidden = self._may_be_outside(outside)
        places: list[Place] = []
        for json_object in objects:
            span = json_object.span
            end = span[1]
            verdicts = json_object.members_with(self.value)
            if any(map(self._may_change_score, json_object.comments)):
                is_hidden = True
            if verdicts:
                lacks_key = any(member.key is None for member in json_object.members)
                if lacks_key or last_mention >= end or UNIT.match(outside, end):
                    is_hidden = True
            elif places or any(self._mentions(text[slice(*span)])):
                # A judge may quote a document that contains a score, and then begins something that swallows
                # the judge's own: `"score": 1} [{"a": "`. Or it may write a draft, and then call a tool.
                is_hidden = True
            for member in verdicts:
                value = _read_value(member.value, reader)
                places.append(Place("value", member.span, span, text=value))
            if self.shares and verdicts:
                for member in json_object.members_with(self.shares):
                    shares = fold(_decode(member.value)).text
                    places.append(Place("shares", member.span, span, text=shares))
        if is_hidden:
            behind = (len(text), len(text))
            places.append(Place("other", behind, behind, is_closed=False))
        return places

    def find_reason(self, reader: Reader, places: Sequence[Place], verdict: Place) -> str:  # noqa: ARG002
        """Return the explanation in the object of the verdict.

        Raises:
            ReplyError: `ambiguous`: the json module, or the repair, finds another score in the object.
        """
        members = _load(reader.text[slice(*verdict.span)])
        values = {_fold_key(key): value for key, value in members.items()}
        score = fold(str(values.get(self.value.casefold()))).text
        if reader.read_place(score) != reader.read_place(reader.text_of(verdict)):
            raise reader.make_error("ambiguous")
        reason = values.get(self.reason.casefold(), "")
        if isinstance(reason, str):
            return well_formed(reason)
        return as_json(reason)

    def write_reply(self, reading: Reading) -> str:
        """Write the object, with the explanation first and the number without an exponent."""
        verdict = write_value(reading)
        members = [(self.reason, _encode(reading.reason))]
        members.append((self.value, _encode(verdict) if reading.label else verdict))
        if self.shares and reading.shares:
            members.append((self.shares, _encode(reading.shares)))
        return "{" + ", ".join(f"{_encode(key)}: {value}" for key, value in members) + "}"

    def schema(self, scale: Scale) -> dict[str, Any] | None:
        """Return the schema of an object: first the explanation, then a value or label of the scale."""
        lowest, highest = sorted((scale.worst, scale.best))
        integers = scale.whole_numbers
        value: dict[str, Any]
        if scale.choices:
            value = {"type": "string", "enum": [*scale.choices]}
        elif not integers:
            value = {"type": "number", "minimum": lowest, "maximum": highest}
        elif len(integers) <= MAX_ENUMERATED:
            value = {"type": "integer", "enum": [*integers]}
        else:
            value = {"type": "integer", "minimum": lowest, "maximum": highest}
        properties: dict[str, Any] = {self.reason: {"type": "string"}, self.value: value}
        if self.shares:
            properties[self.shares] = {"type": "string"}
        return object_schema(properties)

    def _may_be_outside(self, outside: str) -> bool:
        """Whether a brace, the score's key or the end of reasoning is outside of all objects."""
        if "{" in outside or "}" in outside:
            return True
        if any(self._mentions(outside, r"[\"'`*_”]{0,3}\s*[:=：]")):
            return True
        return has_stray_end(outside, OBJECT)

    def _may_change_score(self, comment: str) -> bool:
        """Whether a comment may state another score, or contain a part of the object."""
        has_value = any(character.isdecimal() or character in "\"'" for character in comment)
        return has_value or any(self._mentions(comment))

    def _mentions(self, prose: str, behind: str = "") -> Iterator[re.Match[str]]:
        """Find the score's key in prose, followed by what the pattern `behind` matches."""
        return re.finditer(rf"(?<!\w){re.escape(self.value)}{behind}", prose, re.IGNORECASE)


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _read_objects(text: str) -> list[JsonObject]:
    """Return the first MAX_OBJECTS outermost objects of a text, up to one that does not close.

    For `Here: {"a": 1} [{"b": 2}]` these are both, the second without members, because it is in brackets.
    """
    objects: list[JsonObject] = []
    position = 0
    open_brackets = 0
    while (start := text.find("{", position)) >= 0:
        for bracket in BRACKET.findall(text, position, start):
            if bracket == "[":
                open_brackets += 1
            elif open_brackets:
                open_brackets -= 1
        json_object = _read_object(text, start)
        if json_object is None or len(objects) == MAX_OBJECTS:
            break
        if open_brackets or is_quoted(text, *json_object.span):
            json_object = json_object._replace(members=())
        objects.append(json_object)
        position = json_object.span[1]
    return objects


def _read_object(text: str, start: int) -> JsonObject | None:
    """Return the object that begins at a place, with its own members; None if it does not close.

    `{"a": [1, 2], "b": {"c": 3}}` has the members a and b, with the values `[1, 2]` and `{"c": 3}`.
    """
    depth = 0
    members: list[Member] = []
    comments: list[str] = []
    # The part being read is a key or, once `key` is known, its value.
    key: str | None = None
    part_start = start + 1
    for token in TOKEN.finditer(text, start):
        if token["comment"]:
            comments.append(token[0])
            continue
        mark = token["mark"] or token["end"]
        if mark is None:  # a string: its characters have no meaning here
            continue
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
        is_key_end = mark == ":" and depth == 1 and key is None
        is_member_end = depth == 0 or (mark == "," and depth == 1)
        if not is_key_end and not is_member_end:
            continue
        # From the mark before it: there a string in single quotes begins.
        part = TOKEN.sub(_blank_comment, text[part_start - 1 : token.start()])[1:]
        if is_key_end:
            key = _fold_key(_decode(part))
        else:
            # There may be nothing between two commas, or after the last one.
            if key is not None or part.strip():
                members.append(Member(key, (part_start, token.start()), part.strip()))
            key = None
        part_start = token.start() + 1
        if depth == 0:
            return JsonObject((start, token.end()), members, comments)
    return None


def _blank_comment(token: re.Match[str]) -> str:
    """Return a blank in place of a comment, and any other token as it is."""
    return " " if token["comment"] else token[0]


def _fold_key(key: str) -> str:
    """Return a key in the form in which it is compared."""
    return fold(key).text.strip(QUOTES).casefold()


def _read_value(source: str, reader: Reader) -> str:
    """Return the text of a value as a place: the content of a string, or what follows the colon.

    Raises:
        ReplyError: `not_a_number` or `unknown_label` for a list or an object; `ambiguous` for a bare number
            that JSON does not allow, such as `1.` and `01`: it may be part of another one.
    """
    place = fold(_decode(source)).text
    first_character = source[:1]
    if first_character in ("[", "{"):
        raise reader.make_error("unknown_label" if reader.scale.choices else "not_a_number", place)
    is_string = first_character in ("'", '"', "“", "‘")
    if not is_string and any(map(str.isdigit, place)) and not NUMBER.fullmatch(place):
        raise reader.make_error(reader.misfit_code(place), place)
    return place


def _encode(text: str) -> str:
    """Return a text as a JSON string."""
    return json.dumps(text, ensure_ascii=False)


def _decode(source: str) -> str:
    """Return the content of a JSON string; anything else as it is written, stripped."""
    text = source.strip()
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text


def _load(text: str) -> Mapping[str, Any]:
    """Return an object as the json module reads it, or json_repair if it is not valid; {} if neither.

    json_repair takes quadratic time, so long objects are not repaired.
    """
    with suppress(ValueError, RecursionError):
        # A number stays as it is written: 0.00001 has no exponent.
        return cast("Mapping[str, Any]", json.loads(text, strict=False, parse_float=str))
    repaired: object = None
    if len(text) <= MAX_REPAIRED:
        from json_repair import repair_json  # noqa: PLC0415  needed for invalid JSON only

        with suppress(Exception):  # if the repair fails for any reason, the reply is unreadable
            repaired = repair_json(text, return_objects=True, skip_json_loads=True)
    if is_mapping(repaired):
        return repaired
    return {}
