"""Where the fields of a case stand in what a framework hands over: dotted paths, or a function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from groundjudge.case.case import FIELD_NAMED, Case, is_mapping
from groundjudge.case.paths import check_paths

CaseOf: TypeAlias = Callable[..., Case | Mapping[str, Any]]
Where: TypeAlias = CaseOf | Mapping[str, str] | None
"""A function to the case, or a mapping of field to dotted path; None: all fields have their usual names."""


class Input(Protocol):
    """What is needed of an input of a prompt."""

    @property
    def name(self) -> str:
        """Its name in the prompt."""
        ...

    @property
    def field(self) -> str:
        """The field of a case that it shows."""
        ...

    @property
    def is_custom(self) -> bool:
        """Whether it is no field of a case."""
        ...


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
        own = [each.name for each in inputs if each.is_custom]
        check_paths(where, [*FIELD_NAMED, *own, "id", "metadata"], roots)
    elif where is not None and not callable(where):
        message = f"case must be a mapping of field to dotted path, or a function, not {where!r}"
        raise TypeError(message)
