"""Dotted paths: what a path leads to in a row, and whether any row of a file has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from groundjudge.case.data import is_list, is_mapping, plain
from groundjudge.errors import CaseError, did_you_mean

FieldPaths: TypeAlias = Mapping[str, str]
"""Fields, each with the dotted path that leads to it: {"query": "inputs.q"}."""

NOTHING = object()
"""What a path leads to that leads nowhere, not even to a null."""


def _held(value: Any, name: str) -> Any:  # noqa: ANN401
    """What a key, an attribute or the number of an item leads to."""
    if hasattr(value, "get"):
        return value.get(name, NOTHING)
    if is_list(value):
        return value[int(name)] if name.isdecimal() and int(name) < len(value) else NOTHING
    is_plain = isinstance(value, str | bool | int | float)  # whose methods are no part of the data
    return NOTHING if is_plain else getattr(value, name, NOTHING)


def _values_at(value: object, path: str) -> Iterator[Any]:
    """What a path leads to, in every way that it can be read: a key can contain dots."""
    names = path.split(".")
    for end in range(1, len(names) + 1):
        held = plain(_held(value, ".".join(names[:end])))
        if held is not NOTHING:
            yield from _values_at(held, ".".join(names[end:])) if names[end:] else (held,)


def value_at(roots: Mapping[str, object], path: str) -> Any:  # noqa: ANN401  whatever the data holds
    """What a dotted path leads to, by keys, attributes and the numbers of items; None if it leads nowhere.

    Raises:
        CaseError: `bad_path`: the path can be read in two ways that lead to different values.
    """
    values = [value for value in _values_at(roots, path) if value is not None]
    if any(value != values[0] for value in values):
        message = f"the path {path!r} leads to two different values, because a key of the row contains a dot"
        raise CaseError("bad_path", message, path)
    return values[0] if values else None


def _paths_in(value: object, prefix: str = "") -> Iterator[str]:
    """The paths to all values inside a value, in the order in which they stand; of a list the first item."""
    if is_list(value) and value and is_mapping(value[0]):
        value = {"0": value[0]}
    if not is_mapping(value) or not value:
        yield from [prefix] if prefix else []
        return
    for key, held in value.items():
        yield from _paths_in(held, f"{prefix}.{key}" if prefix else str(key))


def until_found(
    rows: Iterable[Mapping[str, Any] | CaseError], paths: FieldPaths, source: str
) -> Iterator[Mapping[str, Any] | CaseError]:
    """The rows of a file up to the one by which each path was found, so that a misspelt path is an error.

    Raises:
        CaseError: `bad_path`, after the last row, if no row had one of the paths, not even with a null; the
            message gives the nearest path. A file without rows has no wrong path.
    """
    missing, known = paths, list[str]()
    for row in rows:
        if not isinstance(row, CaseError):
            known = known or [*islice(_paths_in(row), 20)]  # enough for a message
            missing = {name: path for name, path in missing.items() if not [*_values_at(row, path)]}
        yield row
        if not missing:
            return
    for name, path in missing.items() if known else ():
        message = f"no row of {source} has {path}, where `fields` looks for {name}"
        hint = did_you_mean(path, known) or "."
        raise CaseError("bad_path", f"{message}{hint} The first row has {', '.join(known)}", path)
