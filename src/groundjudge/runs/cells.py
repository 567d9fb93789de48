"""Columns and cells of a table: a JSON list in a cell is read as that list where the column allows one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from groundjudge.case.fields import field_of

MAX_ROW = 64 * 2**20
"""Characters or bytes of a row. No model reads a tenth of it, and a few kB may hold a row of gigabytes."""

LIST_OF: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "query": (dict,),
        "response": (dict,),
        "conversation": (dict,),
        "context": (str, dict),
        "answers": (str,),
        "judges": (str,),
    }
)
"""The columns whose cells may hold a JSON list, each with the types that the entries of the list may have."""

USUAL_NAMES: Mapping[str, str] = MappingProxyType({})
"""Of no column is said which field it is: each goes by its name."""


def field_of_column(column: str, field_by_column: Mapping[str, str] = USUAL_NAMES) -> str:
    """Return what a column of a table holds: a field, or a key in lower case.

    Names are compared without regard to case.

    Args:
        column: its name.
        field_by_column: columns that are fields, or keys, under other names -> the field or the key.
    """
    name = field_by_column.get(column, column)
    return field_of(name) or name.casefold()


def parse_list(field: str, cell: str) -> object:
    """Return the JSON list in a cell if the field can be a list of such entries; otherwise the cell."""
    types = LIST_OF.get(field)
    if types is None or not cell.lstrip().startswith("["):
        return cell
    try:
        values = json.loads(cell)
    except (ValueError, RecursionError):  # a response such as "[1] says so", or 100,000 brackets
        return cell
    if all(isinstance(value, types) for value in values):
        return values
    return cell
