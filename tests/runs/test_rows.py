"""Rows of files: lines are read independently of each other."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import ZipFile

import pytest
from arrow_table import batch_of, pa
from scripted_model import ScriptedModel

from groundjudge import load, run
from groundjudge.errors import CaseError
from groundjudge.runs.arrow import add_keys, judge_batches
from groundjudge.runs.rows import CaseFile, FileFormat

pq: Any = import_module("pyarrow.parquet")

Table: TypeAlias = dict[str, tuple[str | bytes, list[object]]]
"""Contents of files by what is special about them, each with the rows that are read."""


def rows_of(folder: Path, name: str, content: str | bytes) -> list[Any]:
    """The rows of a file with that content: mappings and error messages."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [_content(row) for row in CaseFile(path).rows()]


def _content(row: Mapping[str, Any] | CaseError) -> object:
    if isinstance(row, CaseError):
        assert row.code == "unreadable_row"
        assert row.message.startswith(f"{row.subject}: ")
        return row.message
    return row


JSON_LINES: Table = {
    "blank lines and CRLF": ('\n{"a": 1}\n  \r\n{"b": 2}\r\n\n', [{"a": 1}, {"b": 2}]),
    "empty": ("", []),
    "only a newline ends a line": ('{"a": "\u2028\u0085x"}\n', [{"a": "\u2028\u0085x"}]),
    "not an object": (
        '{"a": 1}\n\n{"a": \n[1]\n"x"\nnull\n{"b": 2}\n',
        [
            {"a": 1},
            "line 3: not JSON (column 6: Expecting value)",
            "line 4: a row must be a JSON object, not list",
            "line 5: a row must be a JSON object, not str",
            "line 6: a row must be a JSON object, not NoneType",
            {"b": 2},
        ],
    ),
    "a key twice": (
        '{"a": 1, "a": 2}\n{"a": [{"b": 1, "b": 1}]}\n',
        [
            "line 1: not readable as JSON (the key 'a' occurs more than once)",
            "line 2: not readable as JSON (the key 'b' occurs more than once)",
        ],
    ),
    "not UTF-8": (
        b'{"a": 1}\n{"a": "\xe9"}\n{"b": 2}\n',
        [{"a": 1}, "line 2: not UTF-8 (invalid continuation byte at byte 8)", {"b": 2}],
    ),
}


def test_words_for_missing_values_can_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,query,response\n1,null,None\n2,,#N/A\n", encoding="utf-8")
    rows = [
        {"id": "1", "query": "null", "response": "None"},
        {"id": "2", "query": "", "response": "#N/A"},
    ]
    assert list(CaseFile(path, keep_words=True).rows()) == rows
    assert list(CaseFile(path, keep_words=True)) == rows


QR = {"query": "q", "response": "r"}
CARRIAGE_RETURN = "not CSV (new-line character seen in unquoted field)"

CSV: Table = {
    "as Excel writes it": ("\ufeffquery;response\r\nq,1;r\r\n", [{"query": "q,1", "response": "r"}]),
    "a column that is called sep": ("sep,response\nq,r\n", [{"sep": "q", "response": "r"}]),
    "tabs": ("query\tresponse\nq\tr\n", [{"query": "q", "response": "r"}]),
    "delimiters in the names of columns": (
        '"query, if any"\t"response"\nq\tr\n',
        [{"query, if any": "q", "response": "r"}],
    ),
    "more delimiters in a name than between them": (
        '"a,b;c;d, ""e;f""";response\nq,1;r\n',
        [{'a,b;c;d, "e;f"': "q,1", "response": "r"}],
    ),
    "lines that end in carriage returns": ("query,response\rq,r\rq2,r2\r", [f"line 1: {CARRIAGE_RETURN}"]),
    "carriage returns in cells, as pandas writes them": (
        "query,response\nq,one\rtwo\nq,r\nq,\r\r\rx\nq,r\n",
        [f"line 2: {CARRIAGE_RETURN}", QR, f"line 4: {CARRIAGE_RETURN}", QR],
    ),
    "a carriage return in a cell of a table with both": (
        'query,response\r\nq,one\rtwo\r\nq,"r\rs"\r\n',
        [f"line 2: {CARRIAGE_RETURN}", {"query": "q", "response": "r\rs"}],
    ),
    "a carriage return at the end of the table": ("query,response\nq,r\r", [QR]),
    "spaces in the header": (" query , id\nq,7\n", [{"query": "q", "id": "7"}]),
    "empty cells are empty texts": (
        "id,query,response,context,label\n1,,,,\n",
        [{"id": "1", "query": "", "response": "", "context": "", "label": ""}],
    ),
    "a record that ends early": ("id,query,response\n1,q\n", [{"id": "1", "query": "q"}]),
    "what stands for a missing value": (
        "id,query,response,context\n1,NULL,nan,NaN\n2,None,null,<NA>\n3,undefined,#N/A,NaT\n4,none,N/A,Nan\n",
        [
            {"id": "1", "query": None, "response": None, "context": None},
            {"id": "2", "query": None, "response": None, "context": None},
            {"id": "3", "query": None, "response": None, "context": None},
            {"id": "4", "query": "none", "response": "N/A", "context": "Nan"},
        ],
    ),
    "empty rows": ("query,context\n,\n\n  ,\nq,c\n", [{"query": "q", "context": "c"}]),
    "first column without a name": (",query\n0,q\n", [{"query": "q"}]),
    "first columns without names": (",,query\n0,1,q\n", [{"query": "q"}]),
    "later columns without names": (
        "query, ,context,\nq,x,c,y\nq2,,c2,\n",
        [{"query": "q", "context": "c"}, {"query": "q2", "context": "c2"}],
    ),
    "quoted": (
        'query,context\n"two\nlines","a ""quote"""\n',
        [{"query": "two\nlines", "context": 'a "quote"'}],
    ),
    "too many cells": (
        'query,response\nq,r\n"two\nlines",r,extra\nq2,r2\nq3,r3,x\n',
        [
            {"query": "q", "response": "r"},
            "line 3: 3 cells, but the header has 2",
            {"query": "q2", "response": "r2"},
            "line 6: 3 cells, but the header has 2",
        ],
    ),
    "unclosed quote": (
        'query,response\nq,r\nq,"never closed\nq,r\n',
        [
            {"query": "q", "response": "r"},
            (
                "line 3: not CSV (unexpected end of data): quotation marks make lines 3 to 4 one row; close "
                "each quote, and double a quote inside a cell"
            ),
        ],
    ),
    "not UTF-8": (b"query,response\nq,\xe9\nq,r\n", ["line 2: not UTF-8", {"query": "q", "response": "r"}]),
    "duplicate column": ("query,query\na,b\n", ["line 1: the column 'query' appears twice"]),
    "header not UTF-8": (b"qu\xe9ry,response\na,b\n", ["line 1: not UTF-8"]),
    "unclosed quote in the header": ('"query\n', ["line 1: not CSV (unexpected end of data)"]),
    "empty": ("", []),
}


TSV: Table = {
    "plain": ("query\tresponse\nq, one\tr;r\n", [{"query": "q, one", "response": "r;r"}]),
    "commas in the header": ("query,x\tresponse\nq\tr\n", [{"query,x": "q", "response": "r"}]),
    "unclosed quote": ('query\n"x\n', ["line 2: not TSV (unexpected end of data)"]),
}


JSON: Table = {
    "byte order mark": ('\ufeff[{"a": 1}]', [{"a": 1}]),
    "an empty array": ("[]", []),
    "an item that is no object": (
        '[{"a": 1}, 2, {"b": 3}]',
        [{"a": 1}, "item 2: a row must be a JSON object, not int", {"b": 3}],
    ),
}

FILES = {"rows.jsonl": JSON_LINES, "rows.CSV": CSV, "rows.TSV": TSV, "rows.json": JSON}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        pytest.param(name, *row, id=f"{name}: {what}")
        for name, table in FILES.items()
        for what, row in table.items()
    ],
)
def test_files_are_read(tmp_path: Path, name: str, content: str | bytes, expected: list[object]) -> None:
    assert rows_of(tmp_path, name, content) == expected
    if name == "rows.json":
        assert CaseFile(tmp_path / name).count() == len(expected)


@pytest.mark.parametrize("line", ["[" * 200_000, '{"n": ' + "9" * 5000 + "}"], ids=["deep", "long number"])
def test_unreadable_line_does_not_end_reading(tmp_path: Path, line: str) -> None:
    first, second = rows_of(tmp_path, "rows.jsonl", line + '\n{"a": 1}\n')
    assert (first.startswith("line 1: not readable as JSON"), second) == (True, {"a": 1})


NO_ARRAYS: dict[str, tuple[str | bytes, str]] = {
    "a number": ("5", "it is a single value (int)"),
    "JSON Lines": ('{"a": 1}\n{"b": 2}\n', "it is not JSON: Extra data: line 2 column 1"),
    "empty": ("", "it is not JSON: Expecting value"),
    "not UTF-8": (b'["\xe9"]', "it is not JSON: 'utf-8' codec can't decode byte 0xe9"),
    "deep": ("[" * 200_000, "it is not JSON: "),
    "a key twice": ('[{"a": 1, "a": 2}]', "it is not JSON: the key 'a' occurs more than once"),
}


@pytest.mark.parametrize(("content", "what"), NO_ARRAYS.values(), ids=NO_ARRAYS)
def test_what_is_no_json_array_is_refused(tmp_path: Path, content: str | bytes, what: str) -> None:
    with pytest.raises(CaseError, match="unreadable_file") as raised:
        rows_of(tmp_path, "rows.json", content)
    assert raised.value.message.startswith(f"{tmp_path / 'rows.json'}: {what}")
    assert raised.value.message.endswith("or use --format jsonl if each line is an object")


CONTENTS: Mapping[FileFormat, bytes] = {
    "jsonl": b'{"query": "q", "response": "r"}\n',
    "json": b'[{"query": "q", "response": "r"}]',
    "csv": b"\xef\xbb\xbfquery;response\nq;r\n",
    "tsv": b"query\tresponse\nq\tr\n",
}


@pytest.mark.parametrize("file_format", CONTENTS)
def test_a_format_overrides_the_suffix(tmp_path: Path, file_format: FileFormat) -> None:
    for suffix in (*CONTENTS, "txt"):
        path = tmp_path / f"rows.{suffix}"
        path.write_bytes(CONTENTS[file_format])
        assert list(CaseFile(path, file_format).rows()) == [{"query": "q", "response": "r"}]
        assert CaseFile(path, file_format=file_format).count() == 1


A, B = {"query": "q"}, {"query": "r"}
ARRAYS: dict[str, tuple[object, str | None, list[object] | str]] = {
    # what is special: the object in the file, `rows`, and the rows, or a part of the error
    "the only array": ({"results": [A, B], "stats": {"n": 2}}, None, [A, B]),
    "in an object in it": ({"results": {"version": 3, "results": [A]}, "config": {}}, None, [A]),
    "beside texts": ({"columns": ["query"], "rows": [A]}, None, [A]),
    "beside an empty one": ({"testCases": [A], "conversationalTestCases": []}, None, [A]),
    "beside others, of which one has a response": (
        {"runs": [{"inputs": "q", "outputs": "r"}], "examples": [{"answer": "gold"}]},
        None,
        "name it with `rows`, which can be runs, examples",
    ),
    "beside others without a response": (
        {"prompts": [{"raw": "p"}], "results": {"results": [{"response": "r"}]}},
        None,
        [{"response": "r"}],
    ),
    "named": ({"results": [A], "prompts": [B]}, "prompts", [B]),
    "named by a path": ({"results": {"results": [A]}, "prompts": [B]}, "results.results", [A]),
    "named by the number of an item": ({"runs": [{"rows": [A]}, {"rows": [B]}]}, "runs.1.rows", [B]),
    "named, and empty": ({"results": [], "prompts": [B]}, "results", []),
    "named by a key with a dot": ({"a.b": [A], "c": [B]}, "a.b", [A]),
    "two": (
        {"results": {"results": [A]}, "prompts": [B]},
        None,
        "if an array in it contains the rows, name it with `rows`, which can be results.results, prompts",
    ),
    "a name that is not there": (
        {"results": [A]},
        "result",
        "there is no array at result, which `rows` names",
    ),
    "a name of something else": ({"results": [A], "n": 1}, "n", "no array at n, which `rows` names"),
    "a case, whose documents are no rows": (
        {"query": "q", "passages": [{"text": "c"}], "answer": "r"},
        None,
        "it is a single object with the keys query, passages, answer: if an array in it contains the rows",
    ),
    "a thread": (
        {"messages": [{"role": "user", "content": "Hi"}]},
        None,
        "it is a single object with the keys messages: if",
    ),
    "a case without a list": (
        {"query": "q", "context": "c"},
        None,
        "keys query, context: write an array of objects, or use --format jsonl",
    ),
    "no keys": ({}, None, "it is a single object with the keys none: write an array of objects"),
    "columns of pandas": (
        {"a": {"0": "q"}, "b": {"0": "c"}},
        None,
        "it is a single object with the keys a, b",
    ),
    "an array by itself": ([A], "results", "it is an array, so `rows` does not apply: leave `rows` out"),
}


@pytest.mark.parametrize(("data", "path", "expected"), ARRAYS.values(), ids=ARRAYS)
def test_the_rows_in_an_object_are_those_of_its_only_array_or_of_the_named_one(
    tmp_path: Path, data: object, path: str | None, expected: list[object] | str
) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(data))
    if isinstance(expected, list):
        assert list(CaseFile(file, array=path).rows()) == expected
        return
    with pytest.raises(CaseError, match="unreadable_file") as raised:
        list(CaseFile(file, array=path).rows())
    assert expected in raised.value.message


SIDES: dict[str, tuple[dict[str, Any], Mapping[str, Any]]] = {
    # a row, and what of it is read otherwise
    "an export of LangSmith": (
        {
            "id": "1",
            "inputs": '{"q": "When?"}',
            "outputs": '{"answer": "At 9."}',
            "metadata": '{"split": "a"}',
        },
        {"inputs": {"q": "When?"}, "outputs": {"answer": "At 9."}, "metadata": {"split": "a"}},
    ),
    "an answer in JSON": ({"inputs": "When?", "outputs": '{"answer": "At 9."}'}, {}),
    "a question in JSON": ({"inputs": '{"q": 1}', "outputs": "What is this?"}, {}),
    "a line break in an object": (
        {"inputs": '{"q": "When?"}', "outputs": '{"answer": "At\n9."}'},
        {"inputs": {"q": "When?"}, "outputs": {"answer": "At\n9."}},
    ),
    "metadata that is none": (
        {"inputs": '{"q": "When?"}', "outputs": '{"answer": "At 9."}', "metadata": "{a}"},
        {"inputs": {"q": "When?"}, "outputs": {"answer": "At 9."}},
    ),
    "metadata alone": ({"query": "q", "metadata": '{"a": 1}'}, {}),
}


@pytest.mark.parametrize("outputs", ['{"answer": "At', "{'answer': 'At 9.'}"], ids=["cut off", "Python"])
def test_a_side_that_only_looks_like_an_object_is_an_error_of_its_row(tmp_path: Path, outputs: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"inputs": '{"q": "When?"}', "outputs": outputs}))
    (error,) = CaseFile(path).rows()
    assert isinstance(error, CaseError)
    assert (error.code, error.subject, "not JSON" in error.message) == ("field_unreadable", "outputs", True)


def test_an_ambiguous_path_is_an_error_of_its_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    cell = '{"c": ["We open at 9."]}'
    rows = [{"cell": cell}, {"cell": cell, "cell.c": "other"}, {"cell": cell, "cell.c": " "}]
    path.write_text("\n".join(map(json.dumps, rows)))
    first, second, third = CaseFile(path, fields={"context": "cell.c"}).rows()
    assert isinstance(second, CaseError)
    assert second.code == "bad_path"
    for row in (first, third):
        assert not isinstance(row, CaseError)
        assert row["context"] == ["We open at 9."]


def test_a_path_into_broken_json_says_so(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"cell": "{'c': ['We open at 9.']}"}))
    with pytest.raises(CaseError, match="what is at cell is not JSON, but cut off or as Python writes it"):
        list(CaseFile(path, fields={"context": "cell.c"}).rows())


@pytest.mark.parametrize(("row", "changes"), SIDES.values(), ids=SIDES)
def test_inputs_and_outputs_that_are_json_objects_in_strings_are_these_objects(
    tmp_path: Path, row: dict[str, Any], changes: Mapping[str, Any]
) -> None:
    lines, table = tmp_path / "rows.jsonl", tmp_path / "rows.csv"
    lines.write_text(json.dumps(row))
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([[*row], [*row.values()]])
    for path in (lines, table):
        assert list(CaseFile(path).rows()) == [{**row, **changes}]
        if changes:
            (read_row,) = CaseFile(path, fields={"query": "inputs.q"}).rows()
            assert not isinstance(read_row, CaseError)
            assert read_row["query"] == "When?"


def test_rows_are_named_in_json_only(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{}")
    with pytest.raises(CaseError, match="`rows` names an array in a JSON file, but this is read as jsonl"):
        list(CaseFile(tmp_path / "rows.jsonl", array="results").rows())


@pytest.mark.parametrize("file_format", CONTENTS)
def test_a_compressed_file_is_read(tmp_path: Path, file_format: FileFormat) -> None:
    path = tmp_path / f"rows.{file_format}.GZ"
    path.write_bytes(gzip.compress(CONTENTS[file_format]))
    for file in (CaseFile(path), CaseFile(path, encoding="utf-8")):
        assert list(file.rows()) == [{"query": "q", "response": "r"}]
        assert file.count() == 1


WORKBOOK = io.BytesIO()
with ZipFile(WORKBOOK, "w") as archive:
    archive.writestr("xl/workbook.xml", "")

NO_TEXT: dict[str, tuple[str, bytes, str]] = {
    "a workbook": ("rows.xlsx", WORKBOOK.getvalue(), "is a workbook (.xlsx) or another ZIP archive"),
    "a workbook under another name": ("rows.csv", WORKBOOK.getvalue(), "save the sheet as CSV UTF-8"),
    "compressed and cut off": (
        "rows.jsonl.gz",
        gzip.compress(CONTENTS["jsonl"])[:-9],
        "cannot be decompressed (Compressed file ended before the end-of-stream marker was reached)",
    ),
    "compressed and damaged": (
        "rows.csv.gz",
        gzip.compress(CONTENTS["csv"])[:10] + b"\xff" * 40,
        "cannot be decompressed (Error -3 while decompressing",
    ),
    "called compressed": ("rows.json.gz", CONTENTS["json"], "cannot be decompressed (Not a gzipped file"),
}


@pytest.mark.parametrize(("name", "content", "fault"), NO_TEXT.values(), ids=NO_TEXT)
def test_what_holds_no_text_is_refused_with_the_remedy(
    tmp_path: Path, name: str, content: bytes, fault: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for file in (CaseFile(path), CaseFile(path, encoding="cp1252")):
        with pytest.raises(CaseError, match="unreadable_file") as raised:
            list(file.rows())
        assert f"{path} " in raised.value.message
        assert fault in raised.value.message


@pytest.mark.parametrize("spell", [str.upper, str.title])
def test_names_of_columns_are_compared_without_case(tmp_path: Path, spell: Callable[[str], str]) -> None:
    prompt = tmp_path / "own.prompty"
    prompt.write_text(
        "---\nname: own\nreply: {format: tags}\nscale: {worst: 1, best: 5}\ninputs: [{name: question},"
        " {name: contexts, type: documents}, {name: answers, type: list}, {name: house_Rules}]\n---\n"
        "user:\n{{question}} {{contexts}} {{answers}} {{house_Rules}}"
    )
    judge = load(prompt, model=ScriptedModel("<S1>r</S1><S2>5</S2>"))
    cells = {"id": "1", "question": "q", "contexts": '["c"]', "answers": '["a"]', "house_rules": "h"}
    row = {spell(name): cell for name, cell in cells.items()}
    key = judge.key({**cells, "contexts": ["c"], "answers": ["a"]})
    (output,), (with_key,) = judge_batches([batch_of(row)], judge), add_keys([batch_of(row)], judge)
    assert output.select([spell("id"), "status", "key"]).to_pylist() == [
        {spell("id"): "1", "status": "ok", "key": key}
    ]
    assert with_key.to_pylist() == [{**row, "key": key}]
    pq.write_table(pa.table({name: [cell] for name, cell in row.items()}), tmp_path / "rows.parquet")
    rows = CaseFile(tmp_path / "rows.parquet")
    assert [verdict.key for verdict in run(judge, rows)] == [key]
    assert not any(map(rows.lacks, ("query", "context", "answers", "house_Rules")))


def test_rows_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n' * 1_000)
    rows = CaseFile(path).rows()
    assert next(rows) == {"a": 1}
    rows.close()  # an unclosed file would cause a warning, which fails the test


def test_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        next(CaseFile(tmp_path / "none.jsonl").rows())


@pytest.mark.parametrize(
    ("name", "content", "count"),
    [
        pytest.param("rows.jsonl", '{"a": 1}\n\nbroken\n{"b": 1}', 3, id="JSON Lines with a broken row"),
        pytest.param("rows.csv", 'a,b\n"two\nlines",1\n\n,\n1,2,3\n', 2, id="a table with empty rows"),
        pytest.param("rows.csv", "", 0, id="an empty table"),
    ],
)
def test_rows_of_a_file_are_counted(tmp_path: Path, name: str, content: str, count: int) -> None:
    (tmp_path / name).write_text(content)
    assert CaseFile(tmp_path / name).count() == count
    assert CaseFile("-").count() is None
