"""Plain data: what mappings, lists and JSON can hold, whatever objects it comes in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeGuard, cast

from pydantic import BaseModel

from groundjudge.verdict import well_formed


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a mapping; type checkers narrow its type accordingly."""
    return isinstance(value, (dict, Mapping))  # a dict is recognised faster


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple; type checkers narrow its type accordingly."""
    return isinstance(value, list | tuple)


def is_absent(value: Any) -> bool:  # noqa: ANN401  whatever a table holds
    """Whether a value is None or what tables hold in its place: NaN, NaT, pandas' NA."""
    try:  # NaN and NaT differ from themselves; an array has no truth value
        return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124
    except Exception:  # noqa: BLE001
        return False


def plain(value: Any) -> Any:  # noqa: ANN401  whatever was given
    """A list in place of NumPy's and pandas' arrays and tables, and of what can be gone through only once."""
    kind = type(cast("object", value))
    if hasattr(kind, "iterrows"):
        return value.to_dict("records")
    return value.tolist() if hasattr(kind, "tolist") else [*value] if hasattr(kind, "__next__") else value


def declared_fields(value: object) -> Mapping[str, Any] | None:
    """The fields of a pydantic model or a dataclass; None for anything else."""
    if isinstance(value, BaseModel):
        return dict(value)
    names = getattr(type(value), "__dataclass_fields__", None)
    return None if names is None else {name: getattr(value, name) for name in names}


def as_json(value: object) -> str:
    """The value as JSON: models and dataclasses as mappings, whatever else JSON cannot hold as a string."""

    def held_by(value: Any) -> object:  # noqa: ANN401
        if (fields := declared_fields(value)) is not None:
            return fields
        is_set = isinstance(value, set | frozenset)
        listed: object = sorted(cast("set[object]", value), key=str) if is_set else plain(value)
        return str(value) if listed is value else listed

    return well_formed(json.dumps(value, ensure_ascii=False, default=held_by))


def as_data(value: object) -> Any:  # noqa: ANN401  whatever JSON can hold
    """The value as JSON data, so that it can be written, read again and compared."""
    with suppress(TypeError, ValueError, RecursionError):  # a key that is no string, a circle
        return json.loads(as_json(value), parse_constant=str)
    return well_formed(str(value))
