"""Arrow record batches, which Spark, Ray, Dask, Polars and pandas exchange with Python, and Parquet files.

    for verdicts in judge_batches(table.to_batches(), judge):
        ...

A folder means the Parquet files in it, which is how Spark and Dask write a table.

Needs PyArrow: pip install "groundjudge[arrow]".
"""

from __future__ import annotations

import asyncio
import errno
from collections import deque
from collections.abc import AsyncGenerator, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES, RESERVED
from groundjudge.errors import CaseError, did_you_mean, requires
from groundjudge.files import replace_file
from groundjudge.judging.panel import AnyJudge, with_models
from groundjudge.models.cached import CachedModel
from groundjudge.runs.cells import LARGEST_ROW, NOT_RENAMED, field_of_column, parse_list
from groundjudge.runs.run import RunOptions, check_judges, in_a_thread, judge_rows, raise_if
from groundjudge.verdict import Verdict

with requires("record batches and Parquet files need PyArrow", "arrow"):
    # PyArrow has no type hints: imported by name, it is Any to every type checker.
    pa: Any = import_module("pyarrow")
    pc: Any = import_module("pyarrow.compute")
    pq: Any = import_module("pyarrow.parquet")

RecordBatch: TypeAlias = Any
"""A pyarrow.RecordBatch."""

_Held: TypeAlias = tuple[int, RecordBatch]
"""A batch whose rows are being judged: the position of its first row among the rows of all batches, from 1,
and its columns that come before the verdict's."""

ROWS_AT_ONCE = 64
"""How many rows are turned into Python values at a time."""

TEXT = pa.string()

VERDICT_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("key", "judge", "status"), TEXT),
        "score": pa.float64(),
        "label": TEXT,
        "passed": pa.bool_(),
        **dict.fromkeys(("reason", "signature", "verdict"), TEXT),
    }
)
"""The columns of a verdict; "verdict" is the whole as JSON."""

WRITTEN_AT_ONCE = 10_000
"""Rows of a row group."""


Columns: TypeAlias = Sequence[str] | str | None
"""The columns of the input that come before the verdict's: a list of names, one name, "*" for all, or None
for `id` if there is one."""

MOST_ROWS = 1000
"""The most verdicts of an output batch, and rows of a Parquet file that are read at a time."""

TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())

PER_ITEM = 8
"""Bytes of an item in a list of Python, besides its value."""

MOST_ITEMS = 2**26
"""Items that the lists of a column may have in one row group of a Parquet file. Equal ones are compressed
to nothing, and those of a row are read together."""

MOST_UNPACKED = 100
"""A row group of a Parquet file unpacks to so many times its size. Texts reach a tenth of that."""

ALWAYS_READ = frozenset({*ALIASES, *RESERVED, "judges"})
"""What is read for any judge, under any name: the fields of a case, and keys with a meaning of their own."""


def judge_batches(
    batches: Iterable[RecordBatch],
    judges: AnyJudge | Sequence[AnyJudge],
    *,
    concurrency: int = 32,
    columns: Columns = None,
    ledger: str | Path | None = None,
) -> Generator[RecordBatch, None, None]:
    """Judge the rows of record batches, and yield the verdicts in order, one row per verdict.

    The columns of the input are the fields of a case, under any of their names (see `Case.from_mapping`);
    columns that neither name a field nor an input of a judge are not read. Nulls are missing values, maps and
    structs mappings. A text that holds a JSON list is that list where a column of a CSV file would be.

    The output has the input's `columns`, unchanged, and after them `key`, `judge`, `status`, `score`,
    `label`, `passed`, `reason` (for an error its code and message), `signature`, and `verdict`, the whole
    verdict as JSON. A row that cannot be judged is a verdict with status "error"; a row to which no judge
    applies has none.

    All batches share one event loop in a separate thread, and one pool of connections. A batch is read when
    its rows are needed, in further threads, one at a time.

    Args:
        batches: the record batches. Give the rows an `id`: without one, a case is called "row N", where N
            counts from 1 in every call.
        judges: one or more judges. They share the concurrency.
        concurrency: how many verdicts are in progress at a time, 1 or more.
        columns: which columns of the input to keep.
        ledger: an SQLite file that keeps the replies, so that judging the same rows again asks only for what
            is missing. Processes on one machine can share it; it must not be on a network drive.

    Yields:
        Batches of at most 1,000 verdicts, each from one input batch; none for input without verdicts.

    Raises:
        TypeError, ValueError: as for `run`; ValueError if a column to keep is missing or has the name of
            an output column, or if a column that is read appears twice; TypeError for a table in place of
            record batches.
        ModelError: no further row can be judged, as for `run`, after the verdicts that are finished;
            `bad_cache` if the ledger cannot be used.
    """
    all_judges: Sequence[AnyJudge] = check_judges(judges, concurrency)
    if ledger is not None:
        all_judges = with_models(all_judges, lambda model: CachedModel(model, ledger))
    held: deque[_Held] = deque()
    rows = _rows(iter(batches), all_judges, columns, held)
    options: RunOptions = {"concurrency": concurrency, "ordered": True}
    numbered = in_a_thread(judge_rows(all_judges, rows, options, lambda number, verdict: (number, verdict)))
    return _batches(numbered, held)


def schema_of(batch: RecordBatch, columns: Columns = None) -> Any:  # noqa: ANN401  a pyarrow.Schema
    """The schema of what `judge_batches` yields.

    Args:
        batch: an input batch, a table, or its schema.
        columns: as for `judge_batches`.

    Raises:
        ValueError: as for `judge_batches`.
    """
    schema = batch if isinstance(batch, pa.Schema) else batch.schema
    kept = [schema.field(name) for name in columns_to_keep(schema.names, columns)]
    return pa.schema([*kept, *VERDICT_SCHEMA])


def columns_to_keep(names: Sequence[str], columns: Columns = None) -> list[str]:
    """The names of the input's columns that come before the verdict's.

    Args:
        names: the names of the input's columns.
        columns: as for `judge_batches`.

    Raises:
        ValueError: as for `judge_batches`.
    """
    if columns is None:
        columns = [name for name in names if name.casefold() == "id"]
    elif isinstance(columns, str):
        columns = names if columns == "*" else [columns]
    for name in columns:
        if name not in names:
            hint = did_you_mean(name, names) or ";"
            message = f"there is no column {name!r} to keep{hint} The columns are: {', '.join(names)}"
            raise ValueError(message)
        taken = f"the column {name!r} cannot be kept: a column of the verdicts has that name"
        remedy = "Rename it, or list the columns to keep without it"
        raise_if(ValueError, (name in VERDICT_SCHEMA.names, f"{taken}. {remedy}"))
    return _once(columns, names)


def _once(chosen: Collection[str], names: Sequence[str]) -> list[str]:
    """The chosen ones of the columns with these names, each once.

    Raises:
        ValueError: the input has two of that name.
    """
    for name in chosen:
        message = f"the column {name!r} appears twice: rename or drop one"
        raise_if(ValueError, (names.count(name) > 1, message))
    return [*dict.fromkeys(chosen)]


def add_keys(batches: Iterable[RecordBatch], judge: AnyJudge) -> Generator[RecordBatch, None, None]:
    """Add a column `key`, the key that the judge's verdict on the row has, to find what is judged already.

    Args:
        batches: the record batches, with a column `id`, which is part of the key.
        judge: the judge.

    Yields:
        A batch for each input batch. The key is null for a row that has no id or is not a case.

    Raises:
        ValueError: there is no column `id`, or there is a column `key`.
    """
    for batch in batches:
        rows = rows_of(_read(batch, [judge]))
        check_key_columns(batch.schema.names)
        yield batch.append_column("key", pa.array((_key(judge, row) for row in rows), pa.string()))


def check_key_columns(names: Sequence[str]) -> None:
    """Make sure that `add_keys` can be used on columns with these names.

    Raises:
        ValueError: as for `add_keys`.
    """
    raise_if(
        ValueError,
        (not columns_to_keep(names), "the key of a verdict contains the row's id: add a column 'id'"),
        ("key" in names, "there is a column 'key' already: rename or drop it"),
    )


def _key(judge: AnyJudge, row: Mapping[str, Any] | CaseError) -> str | None:
    with suppress(CaseError):
        if not isinstance(row, CaseError) and ((case := Case.from_mapping(row)).id or "").strip():
            return judge.key(case)
    return None


def _read(batch: RecordBatch, judges: Iterable[AnyJudge]) -> RecordBatch:
    """The columns of a batch that the judges look at.

    Raises:
        ValueError: one of them appears twice.
        TypeError: it is not a record batch.
    """
    fault = f"batches must hold record batches, not {type(batch).__name__}: pass table.to_batches()"
    raise_if(TypeError, (not isinstance(batch, pa.RecordBatch), fault))
    read = ALWAYS_READ | {field_of_column(given.name) for judge in judges for given in judge.inputs}
    names = batch.schema.names
    return batch.select(_once([name for name in names if field_of_column(name) in read], names))


async def _rows(
    batches: Iterator[RecordBatch], judges: Sequence[AnyJudge], columns: Columns, held: deque[_Held]
) -> AsyncGenerator[Mapping[str, Any] | CaseError, None]:
    """The rows of batches, one batch at a time. Judging goes on while the next one is awaited."""
    first = 1
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        read = _read(batch, judges)
        held.append((first, batch.select(columns_to_keep(batch.schema.names, columns))))
        for row in rows_of(read, first):
            yield row
        first += batch.num_rows


def _batches(
    numbered: Generator[tuple[int, Verdict], None, None], held: deque[_Held]
) -> Generator[RecordBatch, None, None]:
    """The verdicts, which are in order, as batches."""
    waiting: list[tuple[int, Verdict]] = []  # on rows of the first batch that is held
    with closing(numbered):
        try:
            for number, verdict in numbered:
                is_of_next = len(held) > 1 and number >= held[1][0]
                if waiting and (len(waiting) == MOST_ROWS or is_of_next):
                    yield _output(held[0], waiting)
                    waiting = []
                while len(held) > 1 and number >= held[1][0]:
                    held.popleft()
                waiting.append((number, verdict))
        except Exception:
            if waiting:  # the verdicts that are finished come before the error
                yield _output(held[0], waiting)
            raise
    if waiting:
        yield _output(held[0], waiting)


def _output(held: _Held, numbered: Sequence[tuple[int, Verdict]]) -> RecordBatch:
    """The output for verdicts on rows of a batch."""
    first, kept = held
    rows = pa.array([number - first for number, _ in numbered], pa.int64())
    judge_rows = pa.RecordBatch.from_pylist([_cells(verdict) for _, verdict in numbered], VERDICT_SCHEMA)
    arrays = [*(column.take(rows) for column in kept.columns), *judge_rows.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([*kept.schema, *VERDICT_SCHEMA]))


def _cells(verdict: Verdict) -> Mapping[str, object]:
    """The cells of a verdict, by column."""
    own = {name: getattr(verdict, name, None) for name in VERDICT_SCHEMA.names}
    reason = (not verdict.error and verdict.reason) or verdict.explanation
    return own | {"reason": reason, "verdict": verdict.model_dump_json()}


def rows_of(
    batch: RecordBatch, first: int = 1, at_once: int = ROWS_AT_ONCE, renamed: Mapping[str, str] = NOT_RENAMED
) -> Iterator[Mapping[str, Any] | CaseError]:
    """The rows of a record batch, or of a table.

    Nulls become None, maps become mappings. A text is read as a cell of a CSV file is: a JSON list becomes
    that list where the column allows one.

    Args:
        batch: the batch.
        first: the number of its first row, which errors name.
        at_once: how many rows are turned into Python values at a time.
        renamed: columns that are fields under other names; see `field_of_column`.

    Yields:
        A mapping per row, or a CaseError (`unreadable_row`) for a row with a value that Python cannot hold,
        or with more than LARGEST_ROW bytes.
    """
    for start in range(0, batch.num_rows, at_once):
        piece, number = batch.slice(start, at_once), first + start
        try:
            yield from _plain_rows(piece, number, renamed)
        except CaseError as error:  # of one of the rows
            yield from rows_of(piece, number, 1, renamed) if at_once > 1 else [error]


def _plain_rows(piece: RecordBatch, number: int, renamed: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of a piece, of which the first has that number.

    Raises:
        CaseError: `unreadable_row`: a column has a value that cannot be read.
    """
    size, place = sum(map(_size, piece.columns)), f"row {number}"
    if size > LARGEST_ROW:
        message = f"{place}: {size} bytes are more than the {LARGEST_ROW} that a row may have"
        raise CaseError("unreadable_row", message, place)
    rows: list[dict[str, Any]] = [{} for _ in range(piece.num_rows)]
    for field, column in zip(piece.schema, piece.columns, strict=True):
        held = field_of_column(field.name, renamed)
        try:
            plain = column.cast(field.type.value_type) if pa.types.is_dictionary(field.type) else column
            values = [_plain(value, field.type) for value in plain.to_pylist()]
        except Exception as error:  # Arrow raises several kinds
            why = f"{place}: the column {field.name!r}: {error}"
            raise CaseError("unreadable_row", why, place) from error
        for row, value in zip(rows, values, strict=True):
            row[field.name] = parse_list(held, value) if isinstance(value, str) else value
    return rows


def _size(column: Any) -> int:  # noqa: ANN401  an array
    """The bytes that the values of a column need, each by itself: Arrow keeps equal texts once."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):  # of a table
        return sum(map(_size, column.chunks))
    if pa.types.is_dictionary(kind):
        if kind.value_type not in TEXTS:
            return _size(column.dictionary_decode())
        used = pc.value_counts(column.indices.drop_null())
        lengths = pc.binary_length(column.dictionary.take(used.field("values")))
        return int(pc.sum(pc.multiply(lengths, used.field("counts"))).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(map(_size, column.flatten()))
    if pa.types.is_map(kind):
        first, end = column.offsets[0].as_py(), column.offsets[-1].as_py()
        items = [each.slice(first, end - first) for each in (column.keys, column.items)]
    else:
        items = [column.flatten()] if hasattr(kind, "value_type") else []
    return int(column.nbytes) + sum(PER_ITEM * len(each) + _size(each) for each in items)


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


def parquet_rows(
    path: Path, column: str | None = None, renamed: Mapping[str, str] = NOT_RENAMED
) -> Iterator[Mapping[str, Any] | CaseError]:
    """The rows of a file or a folder, with all columns or only one: mappings, or errors as for `rows_of`.

    Rows are numbered in the order of the files' names. One column, that of verdicts, is read in the order in
    which the files were written.

    Raises:
        CaseError: `unreadable_file`, if it is not Parquet or has no such column.
        OSError: it cannot be read.
    """
    found = sorted(file.relative_to(path) for file in path.rglob("*.parquet"))
    # Engines hide files, and folders of files, that are not part of the table.
    files = [path / file for file in found if not any(part[0] in "._" for part in file.parts)]
    if column:  # names say nothing of age: Spark's are random
        files.sort(key=lambda file: file.stat().st_mtime_ns)
    if path.is_dir() and not files:
        raise IsADirectoryError(errno.EISDIR, "Is a directory without Parquet files", str(path))
    first = 1
    for batch in chain.from_iterable(_batches_in(file, column) for file in files or [path]):
        yield from rows_of(batch, first, renamed=renamed)
        first += batch.num_rows


def _batches_in(file: Path, column: str | None) -> Iterator[RecordBatch]:
    try:
        about = pq.read_metadata(file)
        stored = [about.schema.column(index) for index in range(about.num_columns)]
        # A text that is stored once for many rows is read once.
        texts = [each.path for each in stored if each.physical_type == "BYTE_ARRAY"]
        lists = [index for index, each in enumerate(stored) if each.max_repetition_level]
        with pq.ParquetFile(file, metadata=about, read_dictionary=texts) as opened:
            if column and column not in opened.schema_arrow.names:
                raise CaseError("unreadable_file", f"{file} has no column `{column}`", str(file))
            for number in range(about.num_row_groups):
                group: Any = about.row_group(number)
                _check_size(group, lists, file)
                fitting = LARGEST_ROW * group.num_rows // max(group.total_byte_size, 1)
                at_once = min(max(fitting, 1), MOST_ROWS)
                yield from opened.iter_batches(at_once, [number], columns=column and [column])
    except pa.ArrowInvalid as error:
        raise CaseError("unreadable_file", f"{file} is not a Parquet file: {error}", str(file)) from error


def _check_size(group: Any, lists: Sequence[int], file: Path) -> None:  # noqa: ANN401  metadata of PyArrow
    """Raise a CaseError if a row group of a file, with lists in these columns, would fill the memory."""
    columns = [group.column(index) for index in range(group.num_columns)]
    packed = sum(column.total_compressed_size for column in columns)
    items = max((columns[index].num_values for index in lists), default=0)
    many = f"its lists have more than {MOST_ITEMS} items" if items > MOST_ITEMS else ""
    grows = group.total_byte_size > LARGEST_ROW + MOST_UNPACKED * packed
    if fault := many or (grows and "it unpacks to gigabytes"):
        raise CaseError("unreadable_file", f"{file}: {fault}: write smaller row groups", str(file))


def write_parquet(verdicts: Iterable[Verdict], path: Path) -> None:
    """Write verdicts as a table: the case's `id`, and the columns of `VERDICT_SCHEMA`.

    The file is replaced as a whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    schema = pa.schema([pa.field("id", TEXT), *VERDICT_SCHEMA])
    rows = ({"id": verdict.case_id, **_cells(verdict)} for verdict in verdicts)
    with replace_file(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := [*islice(rows, WRITTEN_AT_ONCE)]:
            writer.write_batch(pa.RecordBatch.from_pylist(group, schema))
