"""Parquet files and Arrow record batches, which Spark, Ray, Dask, Polars and pandas exchange with Python.

    for verdicts in judge_batches(table.to_batches(), judge):
        ...

A folder means the Parquet files in it, as Spark and Dask write a table.

Needs PyArrow: pip install "groundjudge[arrow]".
"""

from __future__ import annotations

import asyncio
import errno
from collections import Counter, deque
from collections.abc import AsyncGenerator, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES, RESERVED
from groundjudge.errors import CaseError, did_you_mean, requires
from groundjudge.files import replace_file
from groundjudge.judging.panel import AnyJudge, with_models
from groundjudge.models.cached import CachedModel
from groundjudge.runs.columns import MAX_ROW, field_of_column, row_of_verdict
from groundjudge.runs.run import RunOptions, check_judges, in_a_thread, judge_rows
from groundjudge.verdict import Verdict

with requires("record batches and Parquet files need PyArrow", "arrow"):
    # PyArrow has no type hints: imported by name, it is Any to every type checker.
    pa: Any = import_module("pyarrow")
    pc: Any = import_module("pyarrow.compute")
    pq: Any = import_module("pyarrow.parquet")

RecordBatch: TypeAlias = Any
"""A pyarrow.RecordBatch."""


class _InputBatch(NamedTuple):
    """A batch whose rows are being judged.

    Attributes:
        first: the position of its first row among the rows of all batches, from 1.
        kept_columns: its columns that come before the verdict's.
    """

    first: int
    kept_columns: RecordBatch


ROWS_AT_ONCE = 64
"""How many rows are turned into Python values at a time."""

TEXT = pa.string()

VERDICT_SCHEMA = pa.schema(
    {
        "key": TEXT,
        "judge": TEXT,
        "status": TEXT,
        "score": pa.float64(),
        "scores": TEXT,
        "label": TEXT,
        "passed": pa.bool_(),
        "confidence": pa.float64(),
        "distribution": TEXT,
        "reason": TEXT,
        "signature": TEXT,
        "verdict": TEXT,
    }
)
"""The columns of a verdict; "verdict" is the whole as JSON."""

WRITTEN_AT_ONCE = 10_000
"""Rows of a row group."""


Columns: TypeAlias = Sequence[str] | str | None
"""The input columns that precede the verdict's: a list of names, one name, "*" for all, or None for `id` if
there is one."""

MAX_ROWS = 1000
"""The most verdicts of an output batch, and rows of a Parquet file that are read at a time."""

TEXT_TYPES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())

BYTES_PER_ENTRY = 8
"""Bytes of an entry in a Python list, besides its value."""

MAX_ENTRIES = 2**26
"""The maximum number of values of a column, with those in lists, per row group of a Parquet file. The file's
size does not limit them: equal entries compress to almost nothing, and those of a row are read together."""

MAX_UNPACKED = 100
"""How many times larger a row group may be in memory than in its file. Texts reach a tenth of that."""

ALWAYS_READ = frozenset({*ALIASES, *RESERVED, "judges"})
"""What is read for any judge, under any name: the fields of a case, and keys with a special meaning."""


def judge_batches(
    batches: Iterable[RecordBatch],
    judges: AnyJudge | Sequence[AnyJudge],
    *,
    concurrency: int = 32,
    columns: Columns = None,
    ledger: str | Path | None = None,
) -> Generator[RecordBatch, None, None]:
    """Judge the rows of record batches, and yield the verdicts in order, one row per verdict.

    The input columns are the fields of a case, under any of their names (see `Case.from_mapping`); columns
    that name neither a field nor a judge's input are not read. Nulls are missing values; maps and structs are
    mappings. A text containing a JSON list is read as that list, as in a CSV column.

    The output has the input's `columns`, unchanged, followed by `key`, `judge`, `status`, `score`, `scores`
    (as JSON), `label`, `passed`, `confidence`, `distribution` (as JSON), `reason` (for an error, its code and
    message), `signature`, and `verdict`, the whole verdict as JSON. A row that cannot be judged gets a
    verdict with status "error"; a row to which no judge applies gets none.

    All batches share an event loop in a separate thread, and a connection pool. Other threads read the
    batches, one at a time, when their rows are needed.

    Args:
        batches: the record batches. Give the rows an `id`: without one, a case is named "row N", where N
            counts from 1 in every call.
        judges: one or more judges. They share the concurrency.
        concurrency: how many verdicts are in progress at a time, 1 or more.
        columns: which columns of the input to keep.
        ledger: an SQLite file that stores the replies, so that judging the same rows again only requests what
            is missing. Processes on one machine can share it; it must not be on a network drive.

    Yields:
        Batches of at most 1,000 verdicts, each from one input batch; none for input without verdicts.

    Raises:
        TypeError, ValueError: as for `run`; ValueError if a column to keep is missing or has the name of an
            output column, or if a column that is read appears twice; TypeError for a table instead of
            record batches.
        ModelError: as for `run`, no further row can be judged; it is raised after the finished verdicts.
            `bad_cache` if the ledger cannot be used.
    """
    all_judges: Sequence[AnyJudge] = check_judges(judges, concurrency)
    if ledger is not None:
        all_judges = with_models(all_judges, lambda model: CachedModel(model, ledger))
    input_batches: deque[_InputBatch] = deque()
    rows = _rows_of_batches(iter(batches), all_judges, columns, input_batches)
    options: RunOptions = {"concurrency": concurrency, "ordered": True}
    numbered_verdicts = judge_rows(all_judges, rows, options, lambda number, verdict: (number, verdict))
    return _output_batches(in_a_thread(numbered_verdicts), input_batches)


def schema_of(batch: RecordBatch, columns: Columns = None) -> Any:  # noqa: ANN401  a pyarrow.Schema
    """Return the schema of what `judge_batches` yields.

    Args:
        batch: an input batch, a table, or its schema.
        columns: as for `judge_batches`.

    Raises:
        ValueError: as for `judge_batches`.
    """
    schema = batch if isinstance(batch, pa.Schema) else batch.schema
    kept_fields = [schema.field(name) for name in columns_to_keep(schema.names, columns)]
    return pa.schema([*kept_fields, *VERDICT_SCHEMA])


def columns_to_keep(names: Sequence[str], columns: Columns = None) -> list[str]:
    """Return the names of the input columns that precede the verdict's.

    Args:
        names: the names of the input's columns.
        columns: as for `judge_batches`.

    Raises:
        ValueError: as for `judge_batches`.
    """
    if columns is None:
        columns = [name for name in names if name.casefold() == "id"]
    elif columns == "*":
        columns = names
    elif isinstance(columns, str):
        columns = [columns]
    for name in columns:
        if name not in names:
            hint = did_you_mean(name, names) or ";"
            message = f"the column {name!r} to keep does not exist{hint} The columns are: {', '.join(names)}"
            raise ValueError(message)
        if name in VERDICT_SCHEMA.names:
            message = (
                f"the column {name!r} cannot be kept, because a column of the verdicts has that name. "
                "Rename it, or list the columns to keep without it"
            )
            raise ValueError(message)
    return _unique_columns(columns, names)


def _unique_columns(chosen_names: Collection[str], names: Sequence[str]) -> list[str]:
    """Return the chosen columns among those with these names, without repetitions.

    Raises:
        ValueError: the input has two columns of a chosen name.
    """
    counts = Counter(names)
    for name in chosen_names:
        if counts[name] > 1:
            message = f"the column {name!r} appears twice: rename or drop one"
            raise ValueError(message)
    return list(dict.fromkeys(chosen_names))


def add_keys(batches: Iterable[RecordBatch], judge: AnyJudge) -> Generator[RecordBatch, None, None]:
    """Add a column `key`, the key of the judge's verdict on the row, to find rows that are already judged.

    Args:
        batches: the record batches, with a column `id`, which is part of the key.
        judge: the judge.

    Yields:
        A batch for each input batch. The key is null for a row that has no id or is not a valid case.

    Raises:
        ValueError: there is no column `id`, or a column `key` already exists.
    """
    for batch in batches:
        rows = rows_of(_columns_to_read(batch, [judge]))
        check_key_columns(batch.schema.names)
        keys = [_key_of_row(judge, row) for row in rows]
        yield batch.append_column("key", pa.array(keys, pa.string()))


def check_key_columns(names: Sequence[str]) -> None:
    """Make sure that `add_keys` can be used on columns with these names.

    Raises:
        ValueError: as for `add_keys`.
    """
    if not columns_to_keep(names):
        message = "the key of a verdict includes the row's id: add a column 'id'"
        raise ValueError(message)
    if "key" in names:
        message = "the column 'key' already exists: rename or drop it"
        raise ValueError(message)


def _key_of_row(judge: AnyJudge, row: Mapping[str, Any] | CaseError) -> str | None:
    """Return the key that a row's verdict will have; None for a row without an id or a readable case."""
    if isinstance(row, CaseError):
        return None
    try:
        case = Case.from_mapping(row)
        if case.id is None or not case.id.strip():
            return None  # its verdict is for "row N", and so has another key
        return judge.key(case)
    except CaseError:
        return None


def _columns_to_read(batch: RecordBatch, judges: Iterable[AnyJudge]) -> RecordBatch:
    """Return the columns of a batch that the judges look at.

    Raises:
        ValueError: one of them appears twice.
        TypeError: it is not a record batch.
    """
    if not isinstance(batch, pa.RecordBatch):
        message = f"batches must hold record batches, not {type(batch).__name__}: pass table.to_batches()"
        raise TypeError(message)
    fields = set(ALWAYS_READ)
    for judge in judges:
        fields.update(field_of_column(prompt_input.name) for prompt_input in judge.inputs)
    names = batch.schema.names
    names_to_read = [name for name in names if field_of_column(name) in fields]
    return batch.select(_unique_columns(names_to_read, names))


async def _rows_of_batches(
    batches: Iterator[RecordBatch],
    judges: Sequence[AnyJudge],
    columns: Columns,
    input_batches: deque[_InputBatch],
) -> AsyncGenerator[Mapping[str, Any] | CaseError, None]:
    """Yield the rows of batches, one batch at a time. Judging continues while waiting for the next one."""
    first = 1
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        to_read = _columns_to_read(batch, judges)
        kept_columns = batch.select(columns_to_keep(batch.schema.names, columns))
        input_batches.append(_InputBatch(first, kept_columns))
        for row in rows_of(to_read, first):
            yield row
        first += batch.num_rows


def _output_batches(
    numbered_verdicts: Generator[tuple[int, Verdict], None, None], input_batches: deque[_InputBatch]
) -> Generator[RecordBatch, None, None]:
    """Yield the verdicts, which are in order, as batches.

    Args:
        numbered_verdicts: the verdicts, each with the position of its row, from 1.
        input_batches: the batches that were read; those with all their verdicts are removed.
    """
    waiting: list[tuple[int, Verdict]] = []  # verdicts on rows of the first input batch, not yet yielded
    with closing(numbered_verdicts):
        try:
            for number, verdict in numbered_verdicts:
                is_of_next_batch = len(input_batches) > 1 and number >= input_batches[1].first
                if waiting and (len(waiting) == MAX_ROWS or is_of_next_batch):
                    yield _output_batch(input_batches[0], waiting)
                    waiting = []
                # Batches without a verdict are skipped.
                while len(input_batches) > 1 and number >= input_batches[1].first:
                    input_batches.popleft()
                waiting.append((number, verdict))
        except Exception:
            if waiting:  # finished verdicts come before the error
                yield _output_batch(input_batches[0], waiting)
            raise
    if waiting:
        yield _output_batch(input_batches[0], waiting)


def _output_batch(input_batch: _InputBatch, numbered_verdicts: Sequence[tuple[int, Verdict]]) -> RecordBatch:
    """Make the output for the verdicts on a batch: for each, its row's kept columns and its own columns.

    Args:
        input_batch: the batch.
        numbered_verdicts: the verdicts, each with the position of its row among all rows, from 1.
    """
    kept_columns = input_batch.kept_columns
    indices = pa.array([number - input_batch.first for number, _ in numbered_verdicts], pa.int64())
    verdict_rows = [row_of_verdict(verdict) for _, verdict in numbered_verdicts]
    verdict_columns = pa.RecordBatch.from_pylist(verdict_rows, VERDICT_SCHEMA).columns
    arrays = [column.take(indices) for column in kept_columns.columns] + verdict_columns
    schema = pa.schema([*kept_columns.schema, *VERDICT_SCHEMA])
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def rows_of(
    batch: RecordBatch, first: int = 1, at_once: int = ROWS_AT_ONCE
) -> Iterator[Mapping[str, Any] | CaseError]:
    """Yield the rows of a record batch, or of a table. Nulls become None, maps become mappings.

    Args:
        batch: the batch.
        first: the number of its first row, which errors name.
        at_once: how many rows are turned into Python values at a time.

    Yields:
        A mapping per row, or a CaseError (`unreadable_row`) for a row with a value that Python cannot
        represent, or with more than MAX_ROW bytes.
    """
    for start in range(0, batch.num_rows, at_once):
        piece = batch.slice(start, at_once)
        number = first + start
        try:
            yield from _convert_rows(piece, number)
        except CaseError as error:
            if at_once == 1:
                yield error
            else:  # one of the rows has the error
                yield from rows_of(piece, number, 1)


def _convert_rows(piece: RecordBatch, number: int) -> list[dict[str, Any]]:
    """Convert the rows of a piece, whose first row has that number, into Python values.

    Raises:
        CaseError: `unreadable_row`: a column has a value that cannot be read.
    """
    row_name = f"row {number}"
    size = sum(_size_of(column) for column in piece.columns)
    if size > MAX_ROW:
        message = f"{row_name}: a row may have {MAX_ROW} bytes at most, not {size}"
        raise CaseError("unreadable_row", message, row_name)
    rows: list[dict[str, Any]] = [{} for _ in range(piece.num_rows)]
    for field, column in zip(piece.schema, piece.columns, strict=True):
        try:
            if pa.types.is_dictionary(field.type):
                column = column.cast(field.type.value_type)  # noqa: PLW2901  the same values
            values = [_convert_value(value, field.type) for value in column.to_pylist()]
        except Exception as error:  # Arrow raises several kinds
            message = f"{row_name}: the column {field.name!r}: {error}"
            raise CaseError("unreadable_row", message, row_name) from error
        for row, value in zip(rows, values, strict=True):
            row[field.name] = value
    return rows


def _size_of(column: Any) -> int:  # noqa: ANN401  an array
    """Count the bytes that a column's values need, each separately: Arrow stores equal texts once."""
    column_type = column.type
    if isinstance(column, pa.ChunkedArray):  # of a table
        return sum(_size_of(chunk) for chunk in column.chunks)
    if pa.types.is_dictionary(column_type):
        if column_type.value_type not in TEXT_TYPES:
            return _size_of(column.dictionary_decode())
        lengths = pc.binary_length(column.dictionary).take(column.indices)
        return int(pc.sum(lengths).as_py() or 0)  # None for a column of nulls
    if pa.types.is_struct(column_type):
        return sum(_size_of(member) for member in column.flatten())
    children = []
    if pa.types.is_map(column_type):
        start = column.offsets[0].as_py()
        end = column.offsets[-1].as_py()
        # Both belong to the whole array, of which this may be a slice.
        children = [column.keys.slice(start, end - start), column.items.slice(start, end - start)]
    elif hasattr(column_type, "value_type"):  # lists of all sizes
        children = [column.flatten()]
    size = int(column.nbytes)
    for child in children:
        size += BYTES_PER_ENTRY * len(child) + _size_of(child)
    return size


def _convert_value(value: Any, arrow_type: Any) -> Any:  # noqa: ANN401  whatever Arrow holds
    """Convert the maps in a value, at any depth, into mappings: Arrow returns [("a", 1)] for {"a": 1}."""
    if value is None or not pa.types.is_nested(arrow_type):
        return value
    if pa.types.is_map(arrow_type):
        return {key: _convert_value(content, arrow_type.item_type) for key, content in value}
    if pa.types.is_struct(arrow_type):
        return {field.name: _convert_value(value[field.name], field.type) for field in arrow_type}
    if hasattr(arrow_type, "value_type"):  # lists of all sizes
        return [_convert_value(entry, arrow_type.value_type) for entry in value]
    return value


def parquet_rows(path: Path, column: str | None = None) -> Iterator[Mapping[str, Any] | CaseError]:
    """Yield the rows of a file or folder, with all columns or only one: mappings, or errors as for `rows_of`.

    Rows are numbered in the order of the files' names. A single column, that of verdicts, is read in the
    order in which the files were written.

    Raises:
        CaseError: `unreadable_file`, if it is not Parquet or has no such column.
        OSError: it cannot be read.
    """
    files: list[Path] = []
    for relative in sorted(file.relative_to(path) for file in path.rglob("*.parquet")):
        # Engines hide files, and folders of files, that are not part of the table.
        if not any(name[0] in "._" for name in relative.parts):
            files.append(path / relative)
    if path.is_dir() and not files:
        raise IsADirectoryError(errno.EISDIR, "Is a directory without Parquet files", str(path))
    if column:  # names say nothing about age: Spark's are random
        files.sort(key=lambda file: file.stat().st_mtime_ns)
    first = 1
    for file in files or [path]:
        for batch in _batches_of_file(file, column):
            yield from rows_of(batch, first)
            first += batch.num_rows


def _batches_of_file(file: Path, column: str | None) -> Iterator[RecordBatch]:
    """Yield the rows of a Parquet file, in pieces small enough for memory.

    Raises:
        CaseError: `unreadable_file`.
        OSError: it cannot be read.
    """
    try:
        metadata = pq.read_metadata(file)
        text_columns: list[str] = []
        for index in range(metadata.num_columns):
            stored_column = metadata.schema.column(index)
            if stored_column.physical_type == "BYTE_ARRAY":
                text_columns.append(stored_column.path)
        # A text that is stored once for many rows is read once.
        with pq.ParquetFile(file, metadata=metadata, read_dictionary=text_columns) as table:
            if column and column not in table.schema_arrow.names:
                raise CaseError("unreadable_file", f"{file} has no column `{column}`", str(file))
            columns = [column] if column else None
            for number in range(metadata.num_row_groups):
                row_group: Any = metadata.row_group(number)
                _check_size(row_group, file)
                n_fitting = MAX_ROW * row_group.num_rows // max(row_group.total_byte_size, 1)
                at_once = min(max(n_fitting, 1), MAX_ROWS)
                yield from table.iter_batches(at_once, [number], columns=columns)
    except pa.ArrowInvalid as error:
        raise CaseError("unreadable_file", f"{file} is not a Parquet file: {error}", str(file)) from error


def _check_size(row_group: Any, file: Path) -> None:  # noqa: ANN401  of PyArrow
    """Make sure that a row group of a file fits into memory.

    Raises:
        CaseError: `unreadable_file`.
    """
    n_entries = 0
    packed_size = 0
    for index in range(row_group.num_columns):
        column = row_group.column(index)
        n_entries = max(n_entries, column.num_values)
        packed_size += column.total_compressed_size
    if n_entries > MAX_ENTRIES:
        fault = f"a column has more than {MAX_ENTRIES} values"
    elif row_group.total_byte_size > MAX_ROW + MAX_UNPACKED * packed_size:
        fault = "it decompresses to gigabytes"
    else:
        return
    raise CaseError("unreadable_file", f"{file}: {fault}: write smaller row groups", str(file))


def write_parquet(verdicts: Iterable[Verdict], path: Path) -> None:
    """Write verdicts as a table: the case's `id`, and the columns of `VERDICT_SCHEMA`.

    The file is replaced as a whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    schema = pa.schema([pa.field("id", TEXT), *VERDICT_SCHEMA])
    rows = ({"id": verdict.case_id} | row_of_verdict(verdict) for verdict in verdicts)
    with replace_file(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while row_group := list(islice(rows, WRITTEN_AT_ONCE)):
            writer.write_batch(pa.RecordBatch.from_pylist(row_group, schema))
