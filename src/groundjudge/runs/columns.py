"""Columns of a table: which field each is, and how large its rows may be."""

from __future__ import annotations

from groundjudge.case.fields import field_of

MAX_ROW = 64 * 2**20
"""Characters or bytes of a row. No model reads a tenth of it, and a few kB may hold a row of gigabytes."""


def field_of_column(column: str) -> str:
    """Return what a column of a table holds, by its name in any case: a field, or a key in lower case."""
    return field_of(column) or column.casefold()
