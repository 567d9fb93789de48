"""Dotted paths: what a path leads to in a row, and whether any row of a file has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from groundjudge.case.cells import looks_like_json, opened
from groundjudge.case.data import as_data, as_plain, is_absent, is_list, is_mapping
from groundjudge.errors import CaseError, did_you_mean, name_list

FieldPaths: TypeAlias = Mapping[str, str]
"""Fields, each with the dotted path that leads to it: {"query": "inputs.q"}."""

NOTHING = object()
"""What a path leads to that leads nowhere, not even to a null."""

MAX_PATHS = 100
"""How many paths of a row a wrong path is compared with."""


def value_at(roots: Mapping[str, object], path: str) -> Any:  # noqa: ANN401  any value in the data
    """Return what a dotted path leads to, by keys, attributes and the numbers of items.

    None if it leads nowhere, or to what tables contain for an absent value, such as NaN.

    Raises:
        CaseError: `bad_path`: the path can be read in two ways that lead to different values.
    """
    values = [value for value in _values_at(roots, path) if not is_absent(value)]
    values = [value for value in values if not _is_empty_cell(value)] or values
    if not values:
        return None
    first_value, *more_values = values
    for value in more_values:
        # As JSON data, in which NaN and arrays can be compared.
        if value is not first_value and as_data(opened(value)) != as_data(opened(first_value)):
            message = (
                f"the path {path!r} leads to two different values, because a key of the row contains a dot"
            )
            raise CaseError("bad_path", message, path)
    return first_value


def _is_empty_cell(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


def _values_at(value: object, path: str) -> Iterator[Any]:
    """Yield what a path leads to, in every way that it can be read, because keys can contain dots.

    "a.b" leads to 1 and to 2 in {"a": {"b": 1}, "a.b": 2}.
    """
    names = path.split(".")
    for end in range(1, len(names) + 1):
        inner = as_plain(_value_under(value, ".".join(names[:end])))
        if inner is NOTHING:
            continue
        if end < len(names):
            yield from _values_at(inner, ".".join(names[end:]))
        else:
            yield inner


def _value_under(value: Any, name: str) -> Any:  # noqa: ANN401
    """Return what a key, an attribute or the number of an item leads to, also inside JSON in a string."""
    value = opened(value)
    if hasattr(value, "get"):  # a mapping, or a pandas row, which is not one
        return value.get(name, NOTHING)
    if is_list(value):
        if name.isdecimal() and int(name) < len(value):
            return value[int(name)]
        return NOTHING
    if isinstance(value, str | bool | int | float):
        return NOTHING  # the methods of a text or a number are not data
    return getattr(value, name, NOTHING)


def nothing_at(roots: Mapping[str, object], path: str) -> str:
    """Say that a path leads to no value, and which existing one is nearest."""
    hint = _broken_json(roots, path)
    if not hint and not list(_values_at(roots, path)):
        hint = _nearest(path, islice(_paths_in(roots), MAX_PATHS))
    return f"nothing is at the path {path!r}{hint}"


def _broken_json(roots: Mapping[str, object], path: str) -> str:
    """Say which part of a path leads to a text that looks like JSON and is none; "" if no part does."""
    names = path.split(".")
    for end in range(1, len(names)):
        part = ".".join(names[:end])
        for value in _values_at(roots, part):
            if isinstance(value, str) and looks_like_json(value) and opened(value) is value:
                return f": what is at {part} is not JSON, but cut off or as Python writes it"
    return ""


def _nearest(path: str, paths: Iterable[str]) -> str:
    """Propose the nearest path that this one does not pass through: a whole record has the answer too."""
    return did_you_mean(path, [other for other in paths if not path.startswith(f"{other}.")])


def until_found(
    rows: Iterable[Mapping[str, Any] | CaseError], paths: FieldPaths, source: str
) -> Iterator[Mapping[str, Any] | CaseError]:
    """Yield the rows of a file up to the one in which the last path was found; a misspelt path is an error.

    The caller goes on with the rest, in which nothing needs to be looked for.

    Raises:
        CaseError: `bad_path`, after the last row, if no row had one of the paths, not even with a null; the
            message gives the nearest path. A file without rows has no wrong path.
    """
    missing_paths = dict(paths)
    first_row: Mapping[str, Any] = {}
    for row in rows:
        if not isinstance(row, CaseError):
            if not first_row and next(_paths_in(row), ""):
                first_row = row
            for name, path in list(missing_paths.items()):
                # Also if it is null: the row has the path.
                if list(_values_at(row, path)):
                    del missing_paths[name]
        yield row
        if not missing_paths:
            return
    paths_of_first_row = list(islice(_paths_in(first_row), MAX_PATHS))
    if not paths_of_first_row:
        return
    for name, path in missing_paths.items():
        hint = _broken_json(first_row, path) or _nearest(path, paths_of_first_row)
        message = (
            f"no row of {source} has the path {path}, which `fields` gives for {name}{hint or '.'} "
            f"The first row has {name_list(paths_of_first_row, path)}"
        )
        raise CaseError("bad_path", message, path)


def _paths_in(value: object, prefix: str = "") -> Iterator[str]:
    """Yield the paths to all values inside a value, in order; for a list of mappings, those of the first.

    {"a": {"b": 1}, "docs": [{"text": "x"}]} has the paths a.b and docs.0.text.
    """
    value = opened(value)
    inner_values: Mapping[str, object] = {}
    if is_mapping(value):
        inner_values = value
    elif is_list(value) and value and is_mapping(value[0]):
        inner_values = {"0": value[0]}
    if not inner_values:
        if prefix and value is not None:
            yield prefix
        return
    for key, inner in inner_values.items():
        path = str(key)
        if prefix:
            path = f"{prefix}.{key}"
        yield from _paths_in(inner, path)
