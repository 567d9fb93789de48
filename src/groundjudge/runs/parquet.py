"""Parquet files: rows read batch by batch, and verdicts written as a table.

A folder means the Parquet files in it, which is how Spark and Dask write a table.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from groundjudge.errors import CaseError
from groundjudge.runs.arrow_rows import pa, rows_of, verdict_arrays, verdict_fields
from groundjudge.runs.replaced import replaced
from groundjudge.verdict import Verdict

pq: Any = import_module("pyarrow.parquet")

READ_AT_ONCE = 1024
WRITTEN_AT_ONCE = 10_000
"""Rows of a row group."""


def parquet_rows(path: Path) -> Iterator[Mapping[str, Any] | CaseError]:
    """The rows of a file or a folder: a mapping per row, or a CaseError as for `rows_of`.

    Raises:
        CaseError: `unreadable_file`, if it is not Parquet.
        OSError: it cannot be read.
    """
    first = 1
    for batch in _batches(path):
        yield from rows_of(batch, first)
        first += batch.num_rows


def verdict_texts(path: Path) -> Iterator[str | None]:
    """The column `verdict` of a file or a folder.

    Raises:
        CaseError, OSError: as for `parquet_rows`; `unreadable_file` also if there is no such column.
    """
    for batch in _batches(path, "verdict"):
        yield from batch.column(0).to_pylist()


def count_parquet(path: Path) -> int:
    """How many rows a file or a folder has.

    Raises:
        CaseError, OSError: as for `parquet_rows`.
    """
    return sum(opened.metadata.num_rows for opened in _opened(path))


def write_parquet(verdicts: Iterable[Verdict], path: Path) -> None:
    """Write verdicts as a table: the case's `id`, and the columns of `VERDICT_COLUMNS`.

    The file is replaced as a whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    schema = pa.schema([pa.field("id", pa.string()), *verdict_fields()])
    left = iter(verdicts)
    with replaced(path) as part, pq.ParquetWriter(part, schema, compression="zstd") as writer:
        while group := list(islice(left, WRITTEN_AT_ONCE)):
            ids = pa.array((verdict.case_id for verdict in group), pa.string())
            writer.write_batch(pa.RecordBatch.from_arrays([ids, *verdict_arrays(group)], schema=schema))


def _batches(path: Path, column: str | None = None) -> Iterator[Any]:
    """The record batches of a file or a folder, with all columns or only one."""
    for opened in _opened(path):
        if column and column not in opened.schema_arrow.names:
            raise CaseError("unreadable_file", f"{path} has no column `{column}`", str(path))
        yield from opened.iter_batches(READ_AT_ONCE, columns=column and [column])


def _opened(path: Path) -> Iterator[Any]:
    """The file itself, or the files in a folder by name, without those that engines hide; each one open.

    What Arrow cannot read, at once or later, is a CaseError.
    """
    found = sorted(file.relative_to(path) for file in path.rglob("*.parquet"))
    files = [path / file for file in found if not any(part[0] in "._" for part in file.parts)]
    if path.is_dir() and not files:
        raise IsADirectoryError(errno.EISDIR, "Is a directory without Parquet files", str(path))
    for file in files or [path]:
        try:
            with pq.ParquetFile(file) as opened:
                yield opened
        except pa.ArrowInvalid as error:
            message = f"{file} is not a Parquet file: {error}"
            raise CaseError("unreadable_file", message, str(file)) from error
