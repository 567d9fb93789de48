"""Which columns may contain the fields that rows lack, as one --fields option to paste."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from groundjudge.case.cells import opened
from groundjudge.case.content import has_no_content, is_passage
from groundjudge.case.data import is_list, is_mapping
from groundjudge.case.fields import ALIASES, SIDES, WORD, field_of, holds_text, message_of_completion
from groundjudge.case.shapes import ends_with_answer, is_blank, read_chat, try_read_field
from groundjudge.errors import name_list

ANY_COLUMN = ("query", "context", "response")
"""The fields that may have any name; for others, the path contains a word of the name."""

TELLING_ORDER = (*ANY_COLUMN, *(name for name in ALIASES if name not in ANY_COLUMN))
"""The order in which fields are identified: a query asks, the context is long, the rest is left."""

JSON_END = '"}] \n'
"""What may follow a question in JSON."""

MAX_RUNS = 10
"""How many runs or spans of a trace are searched."""


class Column(NamedTuple):
    """A value of a row, and what its path says about it.

    Attributes:
        path: the dotted path to it.
        value: the value.
        field: the field that the path names, by its last part that names one; None if none does.
        words: the words of the path, in lower case.
    """

    path: str
    value: Any
    field: str | None
    words: frozenset[str]


def propose_fields(row: Mapping[str, Any], missing: Sequence[str]) -> str:
    """Propose where the missing fields are in a row: "--fields context=facts,response=PATH".

    What cannot be determined is left to the user: it is written as PATH, and the columns that may be meant
    are listed after the option.
    """
    columns = list(_columns(row))
    if "response" in missing:
        for column in columns:
            thread = read_chat(column.value) or ()
            if ends_with_answer(thread) and any(message.role == "user" for message in thread):
                return f"--fields messages={column.path}"
    paths: dict[str, str] = {}
    choices: list[str] = []
    # The query even if it is not missing: a column that quotes another field, as a prompt does, is not one.
    for field in sorted({"query", *missing}, key=TELLING_ORDER.index):
        candidates = _candidates(field, columns)
        if len(candidates) == 1:
            found = candidates[0]
            paths[field] = found.path
            columns = [column for column in columns if str(found.value) not in str(column.value)]
        elif candidates and field in missing:
            choices.append(f"{field} may be {name_list(column.path for column in candidates)}")
    assignments = [f"{field}={paths.get(field, 'PATH')}" for field in missing]
    option = f"--fields {','.join(assignments)}"
    if choices:
        option += f" ({'; '.join(choices)})"
    return option


def _columns(value: object, path: str = "") -> Iterator[Column]:
    """Yield the values of a row, also those in mappings, except errors, ids, times, kinds and the like."""
    parts = path.split(".")
    if is_blank(value) or has_no_content(parts[-1]) or "error" in parts:
        return
    value = opened(value)
    inner_values: Mapping[str, object] = {}
    if is_mapping(value) and message_of_completion(value) is None:
        inner_values = value
    elif is_list(value) and is_mapping(value[0]) and not (read_chat(value) or holds_text("context", value)):
        # Runs, or spans, one of which may be a retriever's.
        inner_values = {str(number): inner for number, inner in enumerate(value[:MAX_RUNS])}
    for key, inner in inner_values.items():
        yield from _columns(inner, f"{path}.{key}" if path else str(key))
    if inner_values:
        return
    named = [field_of(part) for part in parts if field_of(part) is not None]
    # An answer among the expected values is the expected one, too.
    is_expected = "reference" in named or SIDES["reference_outputs"] in map(SIDES.get, parts)
    field: str | None = None
    if is_mapping(value):
        field = "response"  # a completion
    elif is_expected:
        field = "reference"
    elif named:
        field = named[-1]
    yield Column(path, value, field, _words(path))


def _words(*names: str) -> frozenset[str]:
    """Return the words of names, in lower case: those of gt_answer are gt and answer."""
    return frozenset(word.casefold() for name in names for word in WORD.findall(name))


def _candidates(field: str, columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns that may contain a field: one if it is clear, or those to choose from."""
    possible = [column for column in columns if _may_hold(field, column.value)]
    named = [column for column in possible if column.field == field]
    if named:
        # Of equals the longest: a type may be next to a value.
        return [max(_nearest(named), key=lambda column: len(str(column.value)))]
    words = {name: _words(*names) for name, names in ALIASES.items()}
    # Only the reference has the words "gt" and "expected": a name with one of them is not a response.
    words["reference"] -= words["response"]
    unnamed = [column for column in possible if column.field is None]
    found = [column for column in unnamed if not words[field].isdisjoint(column.words)]
    if field == "response":
        found = [column for column in found if words["reference"].isdisjoint(column.words)]
    if not found and field in ANY_COLUMN:
        known_words = frozenset[str]().union(*words.values())
        nameless = [column for column in unnamed if known_words.isdisjoint(column.words)]
        found = [column for column in nameless if _says(field, column.value)]
    if not found and field == "context":
        # Phoenix's name for the documents.
        found = [column for column in possible if column.path == "reference"]
    if field == "context" and found:
        return [max(found, key=lambda column: len(str(column.value)))]
    return _nearest(found)


def _nearest(columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns with the shortest paths."""
    length = min((column.path.count(".") for column in columns), default=0)
    return [column for column in columns if column.path.count(".") == length]


def _may_hold(field: str, value: object) -> bool:
    """Return whether a value can be read as the field; numbers cannot, nor names or links as a context."""
    if not holds_text(field, value):
        return False
    if field != "context":
        return True
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return False  # a record
    return any(is_passage(document.content) for document in try_read_field("context", value))


def _says(field: str, value: object) -> bool:
    """Return whether a text says what such a field does: a query asks, anything else is a passage."""
    if field == "query":
        return isinstance(value, str) and value.rstrip(JSON_END).endswith(("?", "？"))
    return not isinstance(value, str) or is_passage(value)
