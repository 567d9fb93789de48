"""Dotted paths into nested data: `outputs.choices.0.text`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundjudge.errors import CaseError


def value_at(roots: Mapping[str, object], path: str) -> Any:  # noqa: ANN401  whatever the data holds
    """What a dotted path leads to, by keys, attributes and the numbers of items; None if it leads nowhere.

    Args:
        roots: what a path can begin with, by name.
        path: the names, with dots between them.

    Raises:
        CaseError: `bad_path`, when the path begins with none of the roots.
    """
    root, *names = path.split(".")
    if root not in roots:
        message = f"the path {path!r} begins with {root!r}, which is none of {', '.join(roots)}"
        raise CaseError("bad_path", message, path)
    value: Any = roots[root]
    for name in names:
        value = _inside(value, name)
    return value


def _inside(value: Any, name: str) -> Any:  # noqa: ANN401
    if hasattr(value, "get"):
        return value.get(name)
    if isinstance(value, str | bool | int | float):  # the methods of plain data are no part of it
        return None
    if name.isdigit():
        return dict(enumerate(value or ())).get(int(name))
    return None if isinstance(value, list | tuple) else getattr(value, name, None)
