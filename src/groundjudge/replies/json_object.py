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
from typing import Any, NamedTuple

from groundjudge.case.data import as_json, is_mapping
from groundjudge.replies.format import Place, Reading, Span
from groundjudge.replies.opening import fold, has_stray_end, is_quoted
from groundjudge.replies.reading import Marks, PlacedFormat
from groundjudge.replies.value import Reader, write_number
from groundjudge.scale import DIGITS, Scale
from groundjudge.text.patterns import compile_when_used
from groundjudge.verdict import well_formed

OBJECT = compile_when_used(r"\{")
OUTSIDE = compile_when_used(r"[{\[\]]")
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
# The limit for the cost of a repair: characters times the number of quotation marks and, outside of strings,
# opening brackets, such as 230 of them in 20,000 characters. json_repair takes quadratic time: 0.1 s for
# 2,500 characters of `{"a": [` followed by `"a", a"b` repeated, 2.5 s for 10,000; 5 s for 20,000 of `{`
# repeated. The same is true of characters outside of strings: 0.2 s for 20,000. Within these limits, it takes
# half a second at most.
MAX_REPAIR_WORK = 6_000_000
MAX_UNQUOTED = 20_000
STRING = compile_when_used(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
# A schema lists the values of a scale of whole numbers up to this many.
MAX_ENUMERATED = 20


class Member(NamedTuple):
    """A member of an object.

    Attributes:
        key: its key in lower case; None if it has no colon.
        start: where its value begins, after the colon.
        end: where its value ends.
        value: the text of its value, without comments.
    """

    key: str | None
    start: int
    end: int
    value: str


class JsonObject(NamedTuple):
    """An outermost object of a text.

    Attributes:
        start: where it begins.
        end: the index after its closing brace.
        members: its own members; none if it is in a list or a string.
        comments: the comments in it.
    """

    start: int
    end: int
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
        gaps = _split_at_objects(text, objects)
        last_mention = -1
        for number, gap in enumerate(gaps):
            if any(self._mentions(gap)):
                last_mention = number
        places: list[Place] = []
        # Counted from 1: the gap with that number is the one after the object.
        for number, json_object in enumerate(objects, 1):
            span = (json_object.start, json_object.end)
            verdicts = json_object.members_with(self.value)
            is_hiding = self._may_hide(json_object, text, has_verdict=bool(verdicts))
            if verdicts:
                # These would change the number in the object that ends there.
                after = gaps[number].lstrip()
                is_followed = after.startswith(tuple("%％/／")) and not after.startswith(("//", "/*"))
                is_hiding = is_hiding or is_followed or last_mention >= number
            places.append(Place("other", span, span, is_closed=not is_hiding))
            for member in verdicts:
                value = _read_value(member.value, reader)
                places.append(Place("value", (member.start, member.end), span, text=value))
            if self.shares and verdicts:
                for member in json_object.members_with(self.shares):
                    shares = fold(_decode(member.value)).text
                    places.append(Place("shares", (member.start, member.end), span, text=shares))
        if self._may_be_outside(" ".join(gaps)):
            end = (len(text), len(text))
            places.append(Place("other", end, end, is_closed=False))
        return places

    def find_reason(self, reader: Reader, places: Sequence[Place], verdict: Place) -> str:  # noqa: ARG002
        """Return the explanation in the object of the verdict.

        Raises:
            ReplyError: `ambiguous`: the object is not valid JSON, and has another score after the repair.
        """
        raw = reader.text[slice(*verdict.span)]
        is_valid = True
        try:
            members = json.loads(raw, strict=False)
        except (ValueError, RecursionError):
            is_valid = False
            members = _repair(raw)
        values = {key.casefold(): value for key, value in members.items()}
        if not is_valid:
            json_object = _read_object(raw, 0)
            has_keys = json_object is not None and all(
                member.key is not None for member in json_object.members
            )
            score = self.value.casefold()
            if score not in values or not has_keys:
                raise reader.make_error("ambiguous")
            repaired = verdict._replace(text=str(values[score]))
            if reader.read_verdict([repaired])[1] != reader.read_verdict([verdict])[1]:
                raise reader.make_error("ambiguous")
        reason = values.get(self.reason.casefold(), "")
        if isinstance(reason, str):
            return well_formed(reason)
        return as_json(reason)

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the object, with the explanation first and the number without an exponent."""
        if reading.label:
            verdict = json.dumps(reading.label, ensure_ascii=False)
        elif reading.value:
            verdict = write_number(round(reading.value, DIGITS))
        else:  # None and -0.0 are also written as 0
            verdict = "0"
        reason = json.dumps({self.reason: reading.reason}, ensure_ascii=False)
        text = f"{reason[:-1]}, {json.dumps(self.value, ensure_ascii=False)}: {verdict}"
        if self.shares and reading.shares:
            key = json.dumps(self.shares, ensure_ascii=False)
            text += f", {key}: {json.dumps(reading.shares, ensure_ascii=False)}"
        return text + "}"

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
        return {
            "type": "object",
            "properties": properties,
            "required": [*properties],
            "additionalProperties": False,
        }

    def _may_be_outside(self, outside: str) -> bool:
        """Whether a brace, the score's key or the end of reasoning is outside of all objects."""
        if "{" in outside or "}" in outside:
            return True
        if any(self._mentions(outside, r"[\"'`*_”]{0,3}\s*[:=：]")):
            return True
        return has_stray_end(outside, OBJECT)

    def _may_hide(self, json_object: JsonObject, text: str, *, has_verdict: bool) -> bool:
        """Whether an object may hide a score: in a comment, a list, a string or a call.

        A judge may quote a document that contains its own score, and then begins something that swallows the
        judge's: `"score": 1} [{"a": "`, or `"score": 1, "a": 1 //`. Or the judge may write a draft, and then
        call a tool with its verdict.
        """
        for comment in json_object.comments:
            has_value = any(character.isdecimal() or character in "\"'" for character in comment)
            if has_value or any(self._mentions(comment)):
                return True
        if has_verdict:
            return False
        return not json_object.members or any(self._mentions(text[json_object.start : json_object.end]))

    def _mentions(self, prose: str, behind: str = "") -> Iterator[re.Match[str]]:
        """Find the score's key in prose, followed by what the pattern `behind` matches."""
        return re.finditer(rf"(?<!\w){re.escape(self.value)}{behind}", prose, re.IGNORECASE)


def _read_objects(text: str) -> list[JsonObject]:
    """Return the outermost objects of a text, up to one that does not close or is in brackets in prose.

    For `Here: {"a": 1} [{"b": 2}]` these are both, the second without members, because it is in a list.
    After the first MAX_OBJECTS no more are read, as after one that does not close.
    """
    objects: list[JsonObject] = []
    position = 0
    open_lists = 0  # the number of lists that are open at that position
    has_object = has_prose = False  # what the open lists contain
    while match := OUTSIDE.search(text, position):
        # Only commas separate the objects of a list.
        if open_lists and text[position : match.start()].replace(",", "").strip():
            has_prose = True
        start, position = match.span()
        # An unclosed bracket in prose does not begin a list: it must not hide the judge's object.
        if has_prose and (has_object or match[0] == "{"):
            break
        if match[0] == "[":
            open_lists += 1
        elif match[0] == "]":
            open_lists = max(0, open_lists - 1)
        else:
            json_object = _read_object(text, start)
            if json_object is None or len(objects) == MAX_OBJECTS:
                break
            if open_lists or is_quoted(text, start, json_object.end):
                json_object = json_object._replace(members=())
            has_object = open_lists > 0
            objects.append(json_object)
            position = json_object.end
        if not open_lists:
            has_object = has_prose = False
    return objects


def _read_object(text: str, start: int) -> JsonObject | None:
    """Return the object that begins at a place, with its own members; None if it does not close.

    `{"a": [1, 2], "b": {"c": 3}}` has the members a and b, with the values `[1, 2]` and `{"c": 3}`.
    """
    depth = 0
    members: list[Member] = []
    comments: list[str] = []
    # The part being read is a key or, once `key` is known, its value: where it begins, and its comments.
    key: str | None = None
    part_start = start + 1
    comment_spans: list[Span] = []
    for token in TOKEN.finditer(text, start):
        if token["comment"]:
            comments.append(token[0])
            comment_spans.append(token.span())
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
        part = _blank_comments(text, part_start, token.start(), comment_spans)
        if is_key_end:
            key = fold(_decode(part)).text.strip(QUOTES).casefold()
        else:
            # There may be nothing between two commas, or after the last one.
            if key is not None or part.strip():
                members.append(Member(key, part_start, token.start(), part.strip()))
            key = None
        part_start = token.start() + 1
        comment_spans = []
        if depth == 0:
            return JsonObject(start, token.end(), members, comments)
    return None


def _blank_comments(text: str, start: int, end: int, comment_spans: Sequence[Span]) -> str:
    """Return a text from start to end with a blank in place of each comment."""
    pieces: list[str] = []
    for comment_start, comment_end in comment_spans:
        pieces.append(text[start:comment_start])
        start = comment_end
    pieces.append(text[start:end])
    return " ".join(pieces)


def _split_at_objects(text: str, objects: Sequence[JsonObject]) -> list[str]:
    """Return the texts before each object, and after the last one: n + 1 texts for n objects."""
    gaps: list[str] = []
    position = 0
    for json_object in objects:
        gaps.append(text[position : json_object.start])
        position = json_object.end
    gaps.append(text[position:])
    return gaps


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


def _decode(source: str) -> str:
    """Return the content of a JSON string; anything else as it is written, stripped."""
    text = source.strip()
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text


def _repair(text: str) -> Mapping[str, Any]:
    """Return the object as json_repair reads it; {} if it cannot, or if that could take too long."""
    unquoted = STRING.sub("", text)
    n_marks = sum(map(text.count, "\"'“”")) + sum(map(unquoted.count, "{[("))
    if len(unquoted) > MAX_UNQUOTED or (len(text) + 1000) * (n_marks + 20) > MAX_REPAIR_WORK:
        return {}
    from json_repair import repair_json  # noqa: PLC0415  needed for invalid JSON only

    repaired: object = None
    with suppress(Exception):  # if the repair fails for any reason, the reply is unreadable
        repaired = repair_json(text, return_objects=True, skip_json_loads=True)
    if is_mapping(repaired):
        return repaired
    return {}
