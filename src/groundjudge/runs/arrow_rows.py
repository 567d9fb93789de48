"""Rows of Arrow record batches, and verdicts as the columns of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeAlias

from groundjudge.case.fields import FIELD_NAMED
from groundjudge.errors import CaseError
from groundjudge.runs.cells import listed
from groundjudge.verdict import Verdict

try:
    # PyArrow has no type hints: imported by name, it is Any to every type checker.
    pa: Any = import_module("pyarrow")
except ImportError as error:
    message = 'record batches and Parquet files need PyArrow: pip install "groundjudge[arrow]"'
    raise ImportError(message) from error

RecordBatch: TypeAlias = Any
"""A pyarrow.RecordBatch."""

Schema: TypeAlias = Any
"""A pyarrow.Schema."""

ROWS_AT_ONCE = 64
"""How many rows are turned into Python values at a time."""

VERDICT_COLUMNS: Mapping[str, tuple[Any, Callable[[Verdict], object]]] = MappingProxyType(
    {
        "key": (pa.string(), lambda verdict: verdict.key),
        "judge": (pa.string(), lambda verdict: verdict.judge),
        "status": (pa.string(), lambda verdict: verdict.status),
        "score": (pa.float64(), lambda verdict: verdict.score),
        "label": (pa.string(), lambda verdict: verdict.label),
        "passed": (pa.bool_(), lambda verdict: verdict.passed),
        "reason": (pa.string(), lambda verdict: verdict.explanation if verdict.error else verdict.reason),
        "signature": (pa.string(), lambda verdict: verdict.signature),
        "verdict": (pa.string(), Verdict.model_dump_json),
    }
)
"""The columns of a verdict, each with its type and what it holds."""


def verdict_fields() -> list[Any]:
    """The columns of a verdict as the fields of a schema."""
    return [pa.field(name, kind) for name, (kind, _) in VERDICT_COLUMNS.items()]


def verdict_arrays(verdicts: Sequence[Verdict]) -> list[Any]:
    """The columns of verdicts, in the order of `verdict_fields`."""
    return [pa.array(map(read, verdicts), kind) for kind, read in VERDICT_COLUMNS.values()]


def rows_of(batch: RecordBatch, first: int = 1) -> Iterator[Mapping[str, Any] | CaseError]:
    """The rows of a record batch, or of a table.

    Nulls become None, maps become mappings. A text is read as a cell of a CSV file is: a JSON list becomes
    that list where the column allows one.

    Args:
        batch: the batch.
        first: the number of its first row, which errors name.

    Yields:
        A mapping per row, or a CaseError (`unreadable_row`) for a row with a value that Python cannot hold.
    """
    for start in range(0, batch.num_rows, ROWS_AT_ONCE):
        yield from _readable(batch.slice(start, ROWS_AT_ONCE), first + start)


def _readable(piece: RecordBatch, first: int) -> list[Any]:
    try:
        return _rows(piece)
    except Exception:  # noqa: BLE001  `_row` reports it for the row that has it
        return [_row(piece.slice(index, 1), first + index) for index in range(piece.num_rows)]


def _rows(piece: RecordBatch) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in range(piece.num_rows)]
    for field, column in zip(piece.schema, piece.columns, strict=True):
        for row, value in zip(rows, _values(field, column), strict=True):
            row[field.name] = value
    return rows


def _values(field: Any, column: Any) -> list[Any]:  # noqa: ANN401  a pyarrow.Field and a pyarrow.Array
    name = FIELD_NAMED.get(field.name, field.name)
    values = (_plain(value, field.type) for value in column.to_pylist())
    return [listed(name, value) if isinstance(value, str) else value for value in values]


def _row(piece: RecordBatch, number: int) -> Mapping[str, Any] | CaseError:
    """The only row of a piece, or the error that names the column that cannot be read."""
    for field, column in zip(piece.schema, piece.columns, strict=True):
        try:
            _values(field, column)
        except Exception as error:  # noqa: BLE001  Arrow raises several kinds, and an error is about one row
            place = f"row {number}"
            return CaseError("unreadable_row", f"{place}: the column {field.name!r}: {error}", place)
    return _rows(piece)[0]


def _plain(value: Any, kind: Any) -> Any:  # noqa: ANN401  whatever Arrow holds
    """A value with its maps as mappings: Arrow gives them as lists of pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return {key: _plain(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if hasattr(kind, "value_type"):  # lists of all sizes
        return [_plain(item, kind.value_type) for item in value]
    return value
