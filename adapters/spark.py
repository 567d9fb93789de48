"""Spark: a DataFrame of cases becomes a DataFrame of verdicts, judged in the Python workers.

    verdicts = judge_dataframe(df, load("groundedness", model="gpt-6-luna"))
    verdicts.write.parquet("verdicts")

Each task judges its partition with `groundjudge.runs.arrow.judge_batches`. Works with Spark Connect too.
"""

# PySpark is only partly typed:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundjudge.errors import requires
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs import arrow
from groundjudge.runs.run import check_judges

with requires("groundjudge.adapters.spark needs PySpark", "spark"):
    dumps: Any = import_module("pyspark.cloudpickle").dumps  # it has no type hints
    from pyspark.sql.types import BooleanType, DoubleType, StringType, StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["add_keys", "judge_dataframe"]

TYPES = {"string": StringType(), "double": DoubleType(), "bool": BooleanType()}
"""Arrow's names of the types of a verdict's columns -> Spark's types."""

VERDICT = [StructField(field.name, TYPES[str(field.type)]) for field in arrow.VERDICT_SCHEMA]
"""The columns of a verdict."""


def judge_dataframe(
    df: DataFrame,
    judges: AnyJudge | Sequence[AnyJudge],
    *,
    concurrency: int = 32,
    columns: arrow.Columns = None,
    ledger: str | Path | None = None,
) -> DataFrame:
    """Judge the rows of a DataFrame: one row per verdict.

    Nothing is judged before an action, and every action judges again: write the result, or cache it.

    Args:
        df: cases, with the columns that `judge_batches` reads: query, response, context, `id` and so on.
        judges: one or more judges. Their models' keys come from the environment of the workers.
        concurrency: how many verdicts a task has in progress at a time. A Spark application with 8 cores has
            up to 8 times as many requests in flight.
        columns: which columns of `df` to keep: names, "*" for all, or None for `id`.
        ledger: an SQLite file on a local disk, in which a task finds the replies of one that failed before it
            on the same machine.

    Returns:
        A DataFrame with the columns kept and those of a verdict; see `judge_batches`.

    Raises:
        TypeError, ValueError: as for `judge_batches`.
        PicklingError: a judge cannot be sent to the workers. For your own model it may be another error,
            such as TypeError if it contains a lock.
    """
    kept_columns = arrow.columns_to_keep(df.columns, columns)
    judge_partition = partial(
        arrow.judge_batches,
        judges=check_judges(judges, concurrency),
        concurrency=concurrency,
        columns=kept_columns,
        # The workers have their own working folder.
        ledger=Path(ledger).absolute() if ledger else ledger,
    )
    kept_fields = [df.schema[name] for name in kept_columns]
    return _map_batches(df, judge_partition, kept_fields + VERDICT)


def add_keys(df: DataFrame, judge: AnyJudge) -> DataFrame:
    """Add a column `key`, the key of the judge's verdict on the row, to find out what is already judged.

    Joined with the column `key` of stored verdicts, it leaves the rows that need a new one.

    Raises:
        ValueError: there is no column `id`, or there is a column `key`.
        TypeError: `judge` is a name.
        PicklingError: as for `judge_dataframe`.
    """
    arrow.check_key_columns(df.columns)
    (checked_judge,) = check_judges([judge])
    add_keys_to_partition = partial(arrow.add_keys, judge=checked_judge)
    return _map_batches(df, add_keys_to_partition, [*df.schema, StructField("key", StringType())])


def _map_batches(df: DataFrame, work: Callable[[Any], Any], fields: list[StructField]) -> DataFrame:
    """Return the DataFrame with these fields that `work` makes from batches of rows in the workers."""
    dumps(work)  # Spark Connect would report what cannot be pickled only at the first action
    return df.mapInArrow(work, StructType(fields))
