"""Where the fields of a case are in a framework's data: dotted paths, or a function of the caller's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias

from groundjudge.case import FIELD_NAMED, Case, is_mapping
from groundjudge.paths import check_paths
from groundjudge.prompt import Input

Where: TypeAlias = Mapping[str, str] | Callable[..., Case | Mapping[str, Any]] | None
"""The argument `case` of adapters: field -> dotted path, or a function that returns the case."""


def check_where(where: object, inputs: Iterable[Input], roots: Collection[str]) -> None:
    """Refuse an argument `case` that no data could make right.

    Args:
        where: the argument.
        inputs: what the judge looks at.
        roots: what a path can begin with.

    Raises:
        CaseError: `unknown_field` or `bad_path`: the mapping has a field that there is not, or a path that
            begins with something else.
        TypeError: it is neither a mapping nor a function.
    """
    if is_mapping(where):
        own = [each.name for each in inputs if each.is_own]
        check_paths(where, [*FIELD_NAMED, *own, "id", "metadata"], roots)
    elif where is not None and not callable(where):
        message = f"case must be a mapping of field to dotted path, or a function, not {where!r}"
        raise TypeError(message)
