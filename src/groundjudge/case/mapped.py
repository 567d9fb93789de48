"""Fields that stand elsewhere in the rows of a file, found by dotted paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeAlias

from groundjudge.case.case import ALIASES, FIELD_NAMED, Case, is_list, is_mapping
from groundjudge.case.paths import value_at
from groundjudge.errors import CaseError

Where: TypeAlias = Mapping[str, str]
"""Fields, each with the dotted path that leads to it in a row: {"query": "inputs.q"}."""

MAX_SHOWN = 20
"""How many paths of a row an error message lists."""


def mapped(row: Mapping[str, Any], where: Where) -> Mapping[str, Any]:
    """A row with the fields of `where` under their own names, in place of what the usual names give.

    Args:
        row: the row. Its other fields are found by their usual names.
        where: the paths. A path leads through keys and the numbers of items. A key may contain dots, such as
            the column "inputs.q" of a table.

    Raises:
        CaseError: `bad_path` if a path can be read in two ways, and they lead to different values.
    """
    if not where:
        return row
    values = {field: _value(row, path) for field, path in where.items()}
    rest = {key: value for key, value in row.items() if FIELD_NAMED.get(key, key) not in where}
    with suppress(CaseError):  # what cannot be read is reported where a judge needs it
        case = Case.from_mapping(rest)
        fields = {field: getattr(case, field) for field in (*ALIASES, "id")}
        rest = {**case.metadata, **{field: value for field, value in fields.items() if value is not None}}
    return {**rest, **values}


class Paths:
    """The paths of a mapping, each looked for until a row has it.

    Args:
        where: the paths.
        source: the name of the file, for the error message.
    """

    def __init__(self, where: Where, source: str) -> None:
        self.missing = dict(where)
        self._source = source
        self._known: tuple[str, ...] = ()

    def search(self, rows: Iterable[Mapping[str, Any] | CaseError]) -> None:
        """Look into the rows until all paths are found.

        Raises:
            CaseError: as for `check`.
        """
        for row in rows:
            self.look(row)
            if not self.missing:
                return
        self.check()

    def look(self, row: Mapping[str, Any] | CaseError) -> None:
        """Look for the missing paths in a row."""
        if self.missing and not isinstance(row, CaseError):
            self._known = self._known or tuple(islice(_paths(row), MAX_SHOWN))
            self.missing = {field: path for field, path in self.missing.items() if not _has(row, path)}

    def check(self) -> None:
        """Make sure that no path is missing, once all rows were looked at.

        Raises:
            CaseError: `bad_path`; the message gives the nearest path. A file without rows has no wrong path.
        """
        if not self.missing or not self._known:
            return
        field, path = next(iter(self.missing.items()))
        nearest = get_close_matches(path, self._known, 1)
        hint = f", did you mean {nearest[0]}?" if nearest else "."
        message = (
            f"--map {field}={path}: no row of {self._source} has {path}{hint} "
            f"The first row has {', '.join(self._known)}"
        )
        raise CaseError("bad_path", message, path)


def _splits(row: Mapping[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    """The ways to read a path: the value of each key that it begins with, and the rest of the path."""
    names = path.split(".")
    for count in range(1, len(names) + 1):
        key = ".".join(names[:count])
        if key in row:
            yield row[key], ".".join(["", *names[count:]])


def _value(row: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  whatever the row holds
    """What a path leads to; None if it leads nowhere."""
    found = [value for held, rest in _splits(row, path) if (value := value_at({"": held}, rest)) is not None]
    if any(value != found[0] for value in found):
        message = f"the path {path!r} leads to two different values, because a key of the row contains a dot"
        raise CaseError("bad_path", message, path)
    return found[0] if found else None


def _has(row: Mapping[str, Any], path: str) -> bool:
    """Whether a path leads somewhere in a row, be it to a null."""
    return any(_leads(held, rest) for held, rest in _splits(row, path))


def _leads(held: object, rest: str) -> bool:
    if not rest or value_at({"": held}, rest) is not None:
        return True
    parent, _, name = rest.rpartition(".")
    inside = value_at({"": held}, parent)
    return is_mapping(inside) and name in inside


def _paths(value: object, prefix: str = "") -> Iterator[str]:
    """The paths to all values inside a value, in the order in which they stand; of a list the first item."""
    if is_mapping(value) and value:
        for key, held in value.items():
            yield from _paths(held, f"{prefix}.{key}" if prefix else str(key))
    elif is_list(value) and value and is_mapping(value[0]):
        yield from _paths(value[0], f"{prefix}.0")
    elif prefix:
        yield prefix
