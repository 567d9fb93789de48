"""Small files that would need gigabytes are read within bounds, or are errors."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from command_line import run_program

from groundjudge import CaseError
from groundjudge.runs.arrow import rows_of
from groundjudge.runs.columns import MAX_ROW
from groundjudge.runs.rows import CaseFile

# PyArrow has no type hints: imported by name, it is Any to every type checker.
pa: Any = import_module("pyarrow")
pq: Any = import_module("pyarrow.parquet")

LIMIT = 2000
GOOD = '{"response": "a"}\n'


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of at most LIMIT characters."""
    for module in ("rows", "arrow"):
        monkeypatch.setattr(f"groundjudge.runs.{module}.MAX_ROW", LIMIT)
    monkeypatch.setattr("groundjudge.runs.rows.MAX_ARRAY", LIMIT)
    monkeypatch.setattr("groundjudge.runs.rows.MAX_COLUMNS", 20)


def read_places(path: Path, **options: Any) -> list[str]:
    """The place of each row that is an error, and "ok" for the others."""
    return [row.subject if isinstance(row, CaseError) else "ok" for row in CaseFile(path, **options).rows()]


LONG = "x" * (3 * LIMIT)
TEXTS = {
    "a long line": ("a.jsonl", GOOD + f'{{"response": "{LONG}"}}\n' + GOOD, ["ok", "line 2", "ok"]),
    "a long last line": ("a.jsonl", GOOD + LONG, ["ok", "line 2"]),
    "a long line with carriage returns": ("a.jsonl", LONG + "\r" + LONG + "\n" + GOOD, ["line 1", "ok"]),
    "one sign too many": ("a.jsonl", "x" * (LIMIT + 1) + "\n" + GOOD, ["line 1", "ok"]),
    "as long as may be": ("a.jsonl", GOOD.replace("a", "a" * (LIMIT - len(GOOD) + 1)) * 2, ["ok", "ok"]),
    "a long cell": ("a.csv", f"response,id\na,1\n{LONG},2\nb,3\n", ["ok", "line 3", "ok"]),
    "a long cell of several lines": (
        "a.csv",
        f'response,id\na,1\n"{"x" * 900}\n{"x" * 900}\n{"x" * 900}\n",2\nb,3\n',
        ["ok", "line 3", "line 6"],  # its end begins another cell
    ),
    "many cells": ("a.csv", f"response\na\n{',' * (3 * LIMIT)}\nb\n", ["ok", "line 3", "ok"]),
    "a long header": ("a.csv", f"{LONG}\na\n", ["line 1"]),
    "many columns": ("a.tsv", "\t".join(map(str, range(21))) + "\n1\n", ["line 1"]),
    "deep": ("a.jsonl", "[" * 1900 + "\n" + GOOD, ["line 1", "ok"]),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("name", "text", "expected"), TEXTS.values(), ids=TEXTS)
def test_a_row_that_is_too_large_is_an_error_of_that_row(
    tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    for encoding in (None, "latin-1"):
        assert read_places(path, encoding=encoding) == expected


@pytest.fixture
def usual_limit() -> Iterator[int]:
    """The longest cell that Python's reader takes by default."""
    limit = 2**17
    before = csv.field_size_limit(limit)
    yield limit
    csv.field_size_limit(before)


def test_a_cell_may_be_longer_than_pythons_usual_limit(tmp_path: Path, usual_limit: int) -> None:
    cell = "x" * (usual_limit + 1)
    path = tmp_path / "a.csv"
    path.write_text(f'context,response\n{cell},a\n"{cell}\n{cell}",b\n')
    assert [*CaseFile(path).rows()] == [
        {"context": cell, "response": "a"},
        {"context": f"{cell}\n{cell}", "response": "b"},
    ]
    # Who lowers it again takes it from another thread that is in the middle of a record.
    assert csv.field_size_limit() == MAX_ROW


def test_a_higher_limit_of_the_program_stays(tmp_path: Path, usual_limit: int) -> None:
    assert usual_limit < MAX_ROW
    csv.field_size_limit(MAX_ROW + 1)
    path = tmp_path / "a.csv"
    path.write_text("response\na\n")
    assert [*CaseFile(path).rows()] == [{"response": "a"}]
    assert csv.field_size_limit() == MAX_ROW + 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" + GOOD * 200 + "]", id="many objects"),
        pytest.param("[" * 9000, id="many brackets"),
        pytest.param('["' + LONG + '"]', id="a long text"),
    ],
)
def test_an_array_that_is_too_large_is_an_error_that_names_json_lines(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(CaseError, match="JSON Lines") as caught:
        read_places(tmp_path / "a.json")
    assert caught.value.code == "unreadable_file"


def repeat_text(value: str, n: int) -> Any:
    """A column that has one text n times; the file has it once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([value]))


def in_lists(column: Any, ends: list[int]) -> Any:
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column)


def pairs(n: int) -> Any:
    return pa.MapArray.from_arrays(
        pa.array([0, n], pa.int32()), repeat_text("k", n), repeat_text("v" * 99, n)
    )


HUGE = "x" * (LIMIT + 1)
COLUMNS: dict[str, tuple[Any, list[str]]] = {
    "a huge value": (pa.array(["a", HUGE, "b"]), ["ok", "row 2", "ok"]),
    "bytes": (pa.array([b"a", HUGE.encode()]), ["ok", "row 2"]),
    "large rows that are no larger than may be": (pa.array(["x" * (LIMIT // 2)] * 100), ["ok"] * 100),
    "the same text in all rows": (repeat_text("x" * (LIMIT // 2), 100), ["ok"] * 100),
    "the same text in a list": (in_lists(repeat_text("x" * 99, 99), [0, 1, 99]), ["ok", "row 2"]),
    "lists in lists": (
        in_lists(in_lists(repeat_text("x" * 99, 99), [*range(0, 100, 33)]), [0, 3]),
        ["row 1"],
    ),
    "a struct": (pa.StructArray.from_arrays([pa.array(["a", HUGE])], ["content"]), ["ok", "row 2"]),
    "a map": (pairs(99), ["row 1"]),
    "nothing, often": (in_lists(pa.nulls(999, pa.bool_()), [0, 1, 999]), ["ok", "row 2"]),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("column", "expected"), COLUMNS.values(), ids=COLUMNS)
def test_a_row_of_a_parquet_file_is_as_large_as_its_values(
    tmp_path: Path, column: Any, expected: list[str]
) -> None:
    path = tmp_path / "a.parquet"
    for with_schema in (True, False):
        pq.write_table(pa.table({"context": column}), path, compression="zstd", store_schema=with_schema)
        assert read_places(path) == expected, with_schema


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([1.5, None], id="numbers and nulls"),
        pytest.param(["a", None], id="texts and nulls"),
        pytest.param([], id="no values"),
    ],
)
def test_a_value_of_any_type_may_be_stored_once(values: list[Any]) -> None:
    column = pa.array(values).dictionary_encode()
    read_values = rows_of(pa.table({"id": column}))
    assert [row["id"] for row in read_values if not isinstance(row, CaseError)] == values


def test_lists_of_too_many_items_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundjudge.runs.arrow.MAX_ENTRIES", 99)
    pq.write_table(pa.table({"context": in_lists(repeat_text("a", 100), [0, 100])}), tmp_path / "a.parquet")
    with pytest.raises(CaseError, match="smaller row groups"):
        read_places(tmp_path / "a.parquet")


@pytest.mark.usefixtures("small")
def test_a_row_group_that_unpacks_to_gigabytes_is_an_error(tmp_path: Path) -> None:
    texts = pa.array([str(number) + "x" * 90_000 for number in range(20)])
    options = {"use_dictionary": False, "compression": "zstd"}
    pq.write_table(pa.table({"context": texts}), tmp_path / "a.parquet", **options)
    with pytest.raises(CaseError, match="decompresses to gigabytes: write smaller row groups"):
        read_places(tmp_path / "a.parquet")


CHILD = """
import resource, sys
from groundjudge.runs.rows import CaseFile
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30,) * 2)
print(sum(len(row["response"]) for row in CaseFile(sys.argv[1]).rows()))
"""


@pytest.mark.soak
def test_a_file_of_a_kilobyte_needs_no_gigabytes(tmp_path: Path) -> None:
    path, n = tmp_path / "a.parquet", 500
    column = repeat_text("x" * 9_000_000, n)
    pq.write_table(pa.table({"response": column}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 2000
    status, printed, errors = run_program(CHILD, str(path))
    assert (status, printed) == (0, f"{n * 9_000_000}\n"), errors
