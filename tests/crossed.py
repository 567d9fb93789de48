"""Two tables that are crossed in pairs: not each row of the one at each row of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard, cast

import pytest
from _pytest.mark import ParameterSet

Table = Mapping[str, Any] | Iterable[Any]
"""Names with a value, or a tuple of values, each; or what `pytest.mark.parametrize` takes."""


def is_tuple(row: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(row, tuple)


def rows_of(table: Table) -> list[ParameterSet]:
    """Return the rows of a table as pytest takes them."""
    named: list[tuple[str, Any]] = [("", row) for row in table]
    if isinstance(table, Mapping):
        named = [*cast("Mapping[str, Any]", table).items()]
    rows: list[ParameterSet] = []
    for name, row in named:
        if isinstance(row, ParameterSet):
            rows.append(row)
        else:
            values: tuple[Any, ...] = row if is_tuple(row) else (row,)
            shown = [getattr(value, "__name__", str(value)) for value in values]
            rows.append(pytest.param(*values, id=name or "-".join(shown)))
    return rows


def crossed(table: Table, others: Table) -> list[ParameterSet]:
    """Each row of a table at the first of others, and once more at another one, of which each is used."""
    rows = rows_of(table)
    first, *further = rows_of(others)
    pairs = [(row, first) for row in rows]
    for number in range(max(len(rows), len(further))):
        pairs.append((rows[number % len(rows)], further[number % len(further)]))
    crossed_rows: list[ParameterSet] = []
    for row, other in pairs:
        marks = [*row.marks, *other.marks]
        crossed_rows.append(pytest.param(*row.values, *other.values, marks=marks, id=f"{row.id}-{other.id}"))
    return crossed_rows
