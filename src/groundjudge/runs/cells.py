"""Columns and cells of a table: a JSON list in a cell is read as that list where the column allows one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from groundjudge.case.fields import field_of

LARGEST_ROW = 64 * 2**20
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
"""The columns whose cells may hold a JSON list, each with the types of the list's items."""

NOT_RENAMED: Mapping[str, str] = MappingProxyType({})
"""All columns have usual names."""


def field_of_column(column: str, renamed: Mapping[str, str] = NOT_RENAMED) -> str:
    """What a column of a table holds: a field, or a key in lower case; names are compared without case.

    Args:
        column: its name.
        renamed: columns that are fields, or keys, under other names -> the field or the key.
    """
    name = renamed.get(column, column)
    return field_of(name) or name.casefold()


def parse_list(field: str, cell: str) -> object:
    """The JSON list in a cell if the field can be a list of such items; otherwise the cell."""
    kinds = LIST_OF.get(field, ())
    if not kinds or not cell.lstrip().startswith("["):
        return cell
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return found if all(isinstance(item, kinds) for item in found) else cell
