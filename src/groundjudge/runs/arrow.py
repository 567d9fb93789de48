"""Judge Arrow record batches: what Spark, Ray, Dask, Polars and pandas exchange with Python.

    for verdicts in judge_batches(table.to_batches(), judge):
        ...

Needs PyArrow: pip install "groundjudge[arrow]".
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from groundjudge.case.case import Case
from groundjudge.case.fields import FIELD_NAMED, RESERVED
from groundjudge.errors import CaseError, did_you_mean
from groundjudge.judging.panel import AnyJudge, with_models
from groundjudge.models.cached import CachedModel
from groundjudge.runs.arrow_rows import (
    VERDICT_COLUMNS,
    RecordBatch,
    Schema,
    pa,
    rows_of,
    verdict_arrays,
    verdict_fields,
)
from groundjudge.runs.run import checked, run_numbered
from groundjudge.verdict import Verdict

__all__ = ["Columns", "judge_batches", "keyed", "schema_of"]

Columns: TypeAlias = Sequence[str] | str | None
"""The columns of the input that come before the verdict's: a list of names, one name, "*" for all, or None
for `id` if there is one."""

MOST_ROWS = 1000
"""The most verdicts of an output batch."""

ALWAYS_READ = frozenset({*FIELD_NAMED, *RESERVED, "judges"})
"""The columns that are read for any judge: the fields of a case under all their names."""


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
    listed: Sequence[AnyJudge] = checked(judges, concurrency)
    if ledger is not None:
        listed = with_models(listed, lambda model: CachedModel(model, ledger))
    held: deque[_Held] = deque()
    rows = _rows(iter(batches), _names_read(listed), columns, held)
    return _batches(run_numbered(listed, rows, concurrency=concurrency), held)


def schema_of(batch: RecordBatch | Schema, columns: Columns = None) -> Schema:
    """The schema of what `judge_batches` yields.

    Args:
        batch: an input batch, a table, or its schema.
        columns: as for `judge_batches`.

    Raises:
        ValueError: as for `judge_batches`.
    """
    schema = batch if isinstance(batch, pa.Schema) else batch.schema
    kept = [schema.field(name) for name in kept_columns(schema.names, columns)]
    return pa.schema([*kept, *verdict_fields()])


def kept_columns(names: Sequence[str], columns: Columns = None) -> list[str]:
    """The names of the input's columns that come before the verdict's.

    Args:
        names: the names of the input's columns.
        columns: as for `judge_batches`.

    Raises:
        ValueError: as for `judge_batches`.
    """
    if columns is None:
        columns = ["id"] if "id" in names else []
    elif isinstance(columns, str):
        columns = names if columns == "*" else [columns]
    for name in columns:
        if fault := _fault(name, names):
            raise ValueError(fault)
    return [*dict.fromkeys(columns)]


def keyed(batches: Iterable[RecordBatch], judge: AnyJudge) -> Generator[RecordBatch, None, None]:
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
        rows = rows_of(_read(batch, _names_read([judge])))
        check_keyed(batch.schema.names)
        keys = pa.array((_key(judge, row) for row in rows), pa.string())
        schema = batch.schema.append(pa.field("key", pa.string()))
        yield pa.RecordBatch.from_arrays([*batch.columns, keys], schema=schema)


def check_keyed(names: Sequence[str]) -> None:
    """Make sure that `keyed` can be used on columns with these names.

    Raises:
        ValueError: as for `keyed`.
    """
    if "id" not in names:
        message = "the key of a verdict contains the row's id: add a column 'id'"
        raise ValueError(message)
    if "key" in names:
        message = "there is a column 'key' already: rename or drop it"
        raise ValueError(message)


def _key(judge: AnyJudge, row: Mapping[str, Any] | CaseError) -> str | None:
    with suppress(CaseError):
        case = None if isinstance(row, CaseError) else Case.from_mapping(row)
        return judge.key(case) if case and (case.id or "").strip() else None
    return None


def _fault(name: str, names: Sequence[str]) -> str:
    """Why a column cannot be kept; "" if it can."""
    if name not in names:
        hint = did_you_mean(name, names) or ";"
        return f"there is no column {name!r} to keep{hint} The columns are: {', '.join(names)}"
    if name in VERDICT_COLUMNS:
        return (
            f"the column {name!r} cannot be kept: a column of the verdicts has that name. Rename it, or list "
            "the columns to keep without it"
        )
    return "" if list(names).count(name) == 1 else f"the column {name!r} cannot be kept: it appears twice"


def _names_read(judges: Iterable[AnyJudge]) -> frozenset[str]:
    """The names of the columns that judges look at."""
    return ALWAYS_READ | {given.name for judge in judges for given in judge.inputs}


def _read(batch: RecordBatch, names: frozenset[str]) -> RecordBatch:
    """The columns of a batch that are read.

    Raises:
        ValueError: one of them appears twice.
        TypeError: it is not a record batch.
    """
    if not isinstance(batch, pa.RecordBatch):
        message = f"batches must hold record batches, not {type(batch).__name__}: pass table.to_batches()"
        raise TypeError(message)
    read = [name for name in batch.schema.names if name in names]
    twice = next((name for name, count in Counter(read).items() if count > 1), None)
    if twice is not None:
        message = f"the column {twice!r} appears twice: rename or drop one"
        raise ValueError(message)
    return batch.select(read)


@dataclass(frozen=True)
class _Held:
    """A batch whose rows are being judged.

    Attributes:
        kept: its columns that come before the verdict's.
        first: the position of its first row among the rows of all batches, from 1.
        n_rows: how many rows it has.
    """

    kept: RecordBatch
    first: int
    n_rows: int

    def holds(self, number: int) -> bool:
        """Whether the row with this position is one of the batch."""
        return number < self.first + self.n_rows

    def output(self, numbered: Sequence[tuple[int, Verdict]]) -> RecordBatch:
        """The output for verdicts on rows of the batch."""
        rows = pa.array([number - self.first for number, _ in numbered], pa.int64())
        kept = [column.take(rows) for column in self.kept.columns]
        arrays = [*kept, *verdict_arrays([verdict for _, verdict in numbered])]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([*self.kept.schema, *verdict_fields()]))


async def _rows(
    batches: Iterator[RecordBatch], names: frozenset[str], columns: Columns, held: deque[_Held]
) -> AsyncGenerator[Mapping[str, Any] | CaseError, None]:
    """The rows of batches, one batch at a time. Judging goes on while the next one is awaited."""
    first = 1
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        read = _read(batch, names)
        kept = batch.select(kept_columns(batch.schema.names, columns))
        held.append(_Held(kept, first, batch.num_rows))
        for row in rows_of(read, first):
            yield row
        first += batch.num_rows


def _batches(
    numbered: Generator[tuple[int, Verdict], None, None], held: deque[_Held]
) -> Generator[RecordBatch, None, None]:
    """The verdicts, which are in order, as batches."""
    waiting: list[tuple[int, Verdict]] = []
    with closing(numbered):
        try:
            for number, verdict in numbered:
                if waiting and (len(waiting) == MOST_ROWS or not held[0].holds(number)):
                    yield held[0].output(waiting)
                    waiting = []
                while not held[0].holds(number):
                    held.popleft()
                waiting.append((number, verdict))
        except Exception:
            if waiting:  # the verdicts that are finished come before the error
                yield held[0].output(waiting)
            raise
    if waiting:
        yield held[0].output(waiting)
