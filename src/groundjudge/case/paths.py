"""Dotted paths into nested data: `outputs.choices.0.text`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from groundjudge.errors import CaseError, did_you_mean


def value_at(roots: Mapping[str, object], path: str) -> Any:  # noqa: ANN401  whatever the data holds
    """What a dotted path leads to, by keys, attributes and the numbers of items; None if it leads nowhere.

    Args:
        roots: what a path can begin with, by name.
        path: the names, with dots between them.

    Raises:
        CaseError: `bad_path`, when the path begins with none of the roots.
    """
    _check_root(path, roots)
    root, *names = path.split(".")
    value: Any = roots[root]
    for name in names:
        value = _inside(value, name)
    return value


def check_paths(where: Mapping[str, str], fields: Collection[str], roots: Collection[str]) -> None:
    """Check a mapping of field to dotted path before there is any data.

    Args:
        where: the mapping.
        fields: the names that a field can have.
        roots: what a path can begin with.

    Raises:
        CaseError: `unknown_field`, when there is no field of that name; `bad_path`, when a path begins with
            none of the roots.
    """
    for field, path in where.items():
        if field not in fields:
            hint = did_you_mean(field, fields) or ";"
            message = f"unknown field {field!r}{hint} The fields are: {', '.join(fields)}"
            raise CaseError("unknown_field", message, field)
        _check_root(path, roots)


def _check_root(path: str, roots: Collection[str]) -> None:
    root = str(path).partition(".")[0]
    if root not in roots:
        message = f"the path {path!r} begins with {root!r}, which is none of {', '.join(roots)}"
        raise CaseError("bad_path", message + did_you_mean(root, roots), str(path))


def _inside(value: Any, name: str) -> Any:  # noqa: ANN401
    if hasattr(value, "get"):
        return value.get(name)
    if isinstance(value, str | bool | int | float):  # the methods of plain data are no part of it
        return None
    if name.isdigit():
        return dict(enumerate(value or ())).get(int(name))
    return None if isinstance(value, list | tuple) else getattr(value, name, None)
