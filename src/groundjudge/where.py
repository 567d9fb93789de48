"""Where the fields of a case stand in what a framework hands over: dotted paths, or a function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias

from groundjudge.case import FIELD_NAMED, Case, is_mapping
from groundjudge.paths import check_paths
from groundjudge.prompt import Input

CaseOf: TypeAlias = Callable[..., Case | Mapping[str, Any]]
Where: TypeAlias = CaseOf | Mapping[str, str] | None
"""A function to the case, or a mapping of field to dotted path; None: all fields have their usual names."""


def check_where(where: Where, inputs: Iterable[Input], roots: Collection[str]) -> None:
    """Refuse a `case=` that no data could make right.

    Args:
        where: what was passed as `case=`.
        inputs: the inputs of the judge, for the names of its own.
        roots: what a path can begin with.

    Raises:
        CaseError: `unknown_field` or `bad_path`, as for `check_paths`.
        TypeError: it is neither a mapping nor a function.
    """
    if is_mapping(where):
        own = [each.name for each in inputs if each.is_own]
        check_paths(where, [*FIELD_NAMED, *own, "id", "metadata"], roots)
    elif where is not None and not callable(where):
        message = f"case must be a mapping of field to dotted path, or a function, not {where!r}"
        raise TypeError(message)
