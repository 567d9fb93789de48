"""Which columns may contain the fields that rows lack, as one --fields option to paste."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
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

NAMED, WORDED, SPEAKING, PHOENIX = range(4)
"""What tells that a column contains a field, the clearest clue first: its name; a word of its name; its text;
or Phoenix's name for the documents, `reference`."""


class Column(NamedTuple):
    """A value of a row, and what its path says about it.

    Attributes:
        path: the dotted path to it.
        value: the value.
        field: the field that the path names, by its last part that names one; None if none does.
        worded_fields: the fields of whose names the path has a word.
    """

    path: str
    value: Any
    field: str | None
    worded_fields: Sequence[str]


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
            (found,) = candidates
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
    inner_values: Mapping[Any, object] = {}
    if is_mapping(value) and message_of_completion(value) is None:
        inner_values = value
    elif is_list(value) and is_mapping(value[0]) and not (read_chat(value) or holds_text("context", value)):
        # Runs, or spans, one of which may be a retriever's.
        inner_values = dict(enumerate(value[:MAX_RUNS]))
    for key, inner in inner_values.items():
        inner_path = str(key)
        if path:
            inner_path = f"{path}.{key}"
        yield from _columns(inner, inner_path)
    if not inner_values:
        yield Column(path, value, _field_of_path(parts, value), _worded_fields(path))


def _field_of_path(parts: Sequence[str], value: object) -> str | None:
    """Return the field that a path names, by its last part that names one."""
    if is_mapping(value):
        return "response"  # a completion
    field: str | None = None
    for part in parts:
        named_field = field_of(part)
        # An answer among the expected values is the expected one, too.
        if named_field == "reference" or SIDES.get(part) == "reference":
            return "reference"
        if named_field is not None:
            field = named_field
    return field


def _worded_fields(path: str) -> list[str]:
    """Return the fields that share a word with a path: ["query"] for source_question."""
    words = _words(path)
    fields = [field for field in ALIASES if not words.isdisjoint(_words_of_field(field))]
    if "reference" in fields and "response" in fields:
        fields.remove("response")  # gt_answer is no answer of the application
    return fields


@cache
def _words_of_field(field: str) -> frozenset[str]:
    """Return the words of a field's names. Only the reference has "gt" and "expected", not "answer"."""
    words = _words(*ALIASES[field])
    if field == "reference":
        words -= _words(*ALIASES["response"])
    return words


def _words(*names: str) -> frozenset[str]:
    """Return the words of names, in lower case: those of gt_answer are gt and answer."""
    return frozenset(word.casefold() for name in names for word in WORD.findall(name))


def _candidates(field: str, columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns that may contain a field: one if it is clear, or those to choose from."""
    columns_by_clue: dict[int, list[Column]] = {}
    for column in columns:
        clue = _find_clue(field, column)
        if clue is not None:
            columns_by_clue.setdefault(clue, []).append(column)
    if not columns_by_clue:
        return []
    clearest = min(columns_by_clue)
    candidates = columns_by_clue[clearest]
    if clearest == NAMED or field != "context":  # passages may be at any depth
        depth = min(column.path.count(".") for column in candidates)
        candidates = [column for column in candidates if column.path.count(".") == depth]
    if clearest == NAMED or field == "context":
        # Of equals the longest: a type may be next to a value.
        return [max(candidates, key=lambda column: len(str(column.value)))]
    return candidates


def _find_clue(field: str, column: Column) -> int | None:
    """Return what tells that a column contains a field; None if nothing does."""
    if not _may_hold(field, column.value):
        return None
    if column.field == field:
        return NAMED
    if field == "context" and column.path == "reference":
        return PHOENIX
    if column.field is not None:
        return None
    if field in column.worded_fields:
        return WORDED
    if field in ANY_COLUMN and not column.worded_fields and _says(field, column.value):
        return SPEAKING
    return None


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
