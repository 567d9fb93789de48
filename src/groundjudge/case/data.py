"""Plain data: what mappings, lists and JSON can represent, regardless of the objects it comes in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeGuard, cast

from pydantic import BaseModel

from groundjudge.verdict import well_formed

PLAIN_TYPES = frozenset([str, int, float, bool, dict, list, tuple])
"""The types of almost all values, which are neither arrays nor iterators."""


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a value is a mapping; type checkers narrow its type accordingly."""
    # The check for any mapping class asks the class each time; the check for a dict is faster.
    return isinstance(value, (dict, Mapping))


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a list or a tuple; type checkers narrow its type accordingly."""
    return isinstance(value, (list, tuple))  # `list | tuple` would be created again for each value


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number; a boolean, although an int in Python, is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def find_key(data: Mapping[str, Any], name: str) -> str | None:
    """Find the key of a mapping that equals a name, or else the last that does so ignoring case."""
    if name in data:
        return name
    found_key: str | None = None
    for key in data:
        if str(key).casefold() == name.casefold():
            found_key = key
    return found_key


def is_absent(value: Any) -> bool:  # noqa: ANN401  any value of a table
    """Return whether a value is None or what tables contain instead: NaN, NaT, pandas' NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        # Only NaN and NaT differ from themselves. An array compares item by item, and has no truth value.
        return bool(value != value)  # noqa: PLR0124
    except Exception:  # noqa: BLE001  comparing the caller's objects may raise anything
        return False


def as_plain(value: Any) -> Any:  # noqa: ANN401  any value
    """Return a list for NumPy and pandas arrays and tables, and for an iterator.

    An iterator can be consumed only once, but a value is read twice if two keys may say the same. Any other
    value is returned unchanged, even a list with iterators inside.
    """
    kind = type(cast("object", value))  # checked on the class, because a mock has every attribute
    if kind in PLAIN_TYPES:
        return value
    if hasattr(kind, "iterrows"):
        return value.to_dict("records")
    if hasattr(kind, "tolist"):
        return value.tolist()
    if hasattr(kind, "__next__"):
        return list(value)
    return value


def first_value(container: object, *names: str) -> Any:  # noqa: ANN401  any value
    """Return what a mapping or an object has under the first of some names that has a value.

    None if none has; a string has none, because its methods are not data.
    """
    if container is None or isinstance(container, str):
        return None
    mapping = container if is_mapping(container) else None
    for name in names:
        value: object = getattr(container, name, None) if mapping is None else mapping.get(name)
        if value is not None:
            return as_plain(value)
    return None


def declared_fields(value: object) -> Mapping[str, Any] | None:
    """Return the fields of a pydantic model or a dataclass; None for anything else."""
    if isinstance(value, BaseModel):
        return dict(value)
    names = getattr(type(value), "__dataclass_fields__", None)
    if names is None:
        return None
    return {name: getattr(value, name) for name in names}


def fields_of(value: object) -> Mapping[str, Any] | None:
    """Return the fields of a mapping, a pydantic model or a dataclass; None for anything else."""
    if is_mapping(value):
        return value
    return declared_fields(value)


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, in which no key may occur twice: one of the values would be lost.

    Raises:
        ValueError: a key occurs twice.
    """
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        ((key, _),) = counts.most_common(1)
        message = f"the key {key!r} occurs more than once"
        raise ValueError(message)
    return mapping


def as_json(value: object) -> str:
    """Return the value as JSON: models, dataclasses and mappings of any class as objects.

    Anything else that JSON cannot represent is written as a string.
    """
    return well_formed(json.dumps(value, ensure_ascii=False, default=_as_json_value))


def as_data(value: object) -> Any:  # noqa: ANN401  any JSON data
    """Return the value as JSON data, so that it can be written, read again and compared."""
    # A key that is not a string, or a circular reference, cannot be written.
    with suppress(TypeError, ValueError, RecursionError):
        return json.loads(as_json(value), parse_constant=str)
    return well_formed(str(value))


def _as_json_value(value: Any) -> object:  # noqa: ANN401  anything that is not JSON data
    """Return what to write for a value that is not JSON data: a mapping, a list, or its text."""
    fields = declared_fields(value)
    if fields is not None:
        return fields
    if is_mapping(value):  # of a class other than dict, such as a read-only view of one
        return dict(value)
    if isinstance(value, set | frozenset):
        # Sorted, so that equal sets give equal text: the order of a set differs between processes.
        return sorted(cast("set[object]", value), key=str)
    plain_value: object = as_plain(value)
    if plain_value is value:
        return str(value)
    return plain_value
