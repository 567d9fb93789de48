"""Parquet files: rows read batch by batch, and verdicts written as a table.

A folder stands for the Parquet files in it, which is how Spark and Dask write a table.
"""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from groundjudge.errors import CaseError
from groundjudge.runs.arrow_rows import pa, rows_of, verdict_arrays, verdict_fields
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
    for file in _files(path):
        with _open(file) as opened:
            for batch in opened.iter_batches(READ_AT_ONCE):
                yield from rows_of(batch, first)
                first += batch.num_rows


def verdict_texts(path: Path) -> Iterator[str | None]:
    """The column `verdict` of a file or a folder.

    Raises:
        CaseError, OSError: as for `parquet_rows`; `unreadable_file` if there is no such column.
    """
    for file in _files(path):
        with _open(file) as opened:
            if "verdict" not in opened.schema_arrow.names:
                message = f"{file} has no column `verdict`, which holds the verdicts as JSON"
                raise CaseError("unreadable_file", message, str(file))
            for batch in opened.iter_batches(READ_AT_ONCE, columns=["verdict"]):
                yield from batch.column(0).to_pylist()


def count_parquet(path: Path) -> int:
    """How many rows a file or a folder has.

    Raises:
        CaseError, OSError: as for `parquet_rows`.
    """
    total = 0
    for file in _files(path):
        with _open(file) as opened:
            total += opened.metadata.num_rows
    return total


def write_parquet(verdicts: Iterable[Verdict], path: Path) -> None:
    """Write verdicts as a table: the case's `id`, and the columns of `VERDICT_COLUMNS`.

    The file is replaced as a whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    schema = pa.schema([pa.field("id", pa.string()), *verdict_fields()])
    part = path.with_name(f".{path.name}.part")
    try:
        with pq.ParquetWriter(part, schema, compression="zstd") as writer:
            left = iter(verdicts)
            while group := list(islice(left, WRITTEN_AT_ONCE)):
                ids = pa.array((verdict.case_id for verdict in group), pa.string())
                writer.write_batch(pa.RecordBatch.from_arrays([ids, *verdict_arrays(group)], schema=schema))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _files(path: Path) -> list[Path]:
    """The file itself, or the files in a folder by name, without those that engines hide."""
    if not path.is_dir():
        return [path]
    found = (file.relative_to(path) for file in path.rglob("*.parquet"))
    files = [path / file for file in sorted(found) if not any(part[0] in "._" for part in file.parts)]
    if files:
        return files
    raise IsADirectoryError(errno.EISDIR, "Is a directory without Parquet files", str(path))


@contextmanager
def _open(file: Path) -> Generator[Any, None, None]:
    """Open a file for reading; what Arrow cannot read, at once or later, is a CaseError."""
    try:
        with pq.ParquetFile(file) as opened:
            yield opened
    except pa.ArrowInvalid as error:
        raise CaseError("unreadable_file", f"{file} is not a Parquet file: {error}", str(file)) from error
