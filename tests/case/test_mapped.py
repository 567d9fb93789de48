"""Fields that stand elsewhere in the rows of a file."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundjudge.case.case import Case
from groundjudge.case.mapped import Paths, Where, mapped
from groundjudge.errors import CaseError
from groundjudge.runs.rows import read_rows

NESTED = {"inputs": {"q": "When?"}, "outputs": {"choices": [{"text": "At nine."}]}, "docs": ["d"]}


@pytest.mark.parametrize(
    ("row", "where", "case"),
    [
        pytest.param({"q": "When?"}, {"query": "q"}, Case(query="When?"), id="a key"),
        pytest.param(
            NESTED,
            {"query": "inputs.q", "response": "outputs.choices.0.text", "context": "docs"},
            Case(query="When?", response="At nine.", context="d"),
            id="nested objects and an index",
        ),
        pytest.param({"a.b": "When?"}, {"query": "a.b"}, Case(query="When?"), id="a dot in a key"),
        pytest.param(
            {"a.b": {"c": "When?"}}, {"query": "a.b.c"}, Case(query="When?"), id="a dot in a key, nested"
        ),
        pytest.param(
            {"a.b": "When?", "a": {"c": 1}}, {"query": "a.b"}, Case(query="When?"), id="only one way leads"
        ),
        pytest.param(
            {"a.b": "When?", "a": {"b": "When?"}}, {"query": "a.b"}, Case(query="When?"), id="both ways agree"
        ),
        pytest.param(
            {"query": "usual", "question": "other", "q": "When?"},
            {"query": "q"},
            Case(query="When?"),
            id="comes before the usual names, which may disagree",
        ),
        pytest.param(
            {"inputs": {"question": "usual", "q": "When?"}, "outputs": "r"},
            {"query": "inputs.q"},
            Case(query="When?", response="r"),
            id="comes before what an exchange holds",
        ),
        pytest.param(
            {"question": "When?", "x": "r"},
            {"response": "x"},
            Case(query="When?", response="r"),
            id="one of two",
        ),
        pytest.param({"question": "When?"}, {"response": "x"}, Case(query="When?"), id="leads nowhere"),
        pytest.param({"q": "text"}, {"query": "q.upper"}, Case(), id="a method is no part of a text"),
        pytest.param({"q": [1, 2]}, {"query": "q.count"}, Case(), id="a method is no part of a list"),
        pytest.param({"q": "text"}, {"query": "q.0"}, Case(), id="a letter is no item"),
        pytest.param({"meta": {"key": 7}}, {"id": "meta.key"}, Case(id=7), id="the id"),
    ],
)
def test_fields_are_found_by_paths(row: dict[str, Any], where: Where, case: Case) -> None:
    found = Case.from_mapping(mapped(row, where))
    assert found.model_copy(update={"metadata": case.metadata}) == case


def test_other_keys_of_the_row_stay() -> None:
    row = {"q": "When?", "topic": "ferries", "judges": ["groundedness"], "metadata": {"label": 1}}
    found = mapped(row, {"query": "q"})
    assert (found["topic"], found["judges"], found["label"]) == ("ferries", ["groundedness"], 1)


def test_a_field_that_cannot_be_read_is_kept_for_the_error_of_the_judges() -> None:
    with pytest.raises(CaseError, match="context_unreadable: "):
        Case.from_mapping(mapped({"q": "When?", "context": {"n": 1}}, {"query": "q"}))


def test_a_path_with_two_meanings_is_refused() -> None:
    with pytest.raises(CaseError, match=r"bad_path: the path 'a\.b' leads to two different values"):
        mapped({"a.b": "one", "a": {"b": "other"}}, {"query": "a.b"})


def rows_of(path: Path, content: str, where: Where) -> list[Any]:
    path.write_text(content)
    return list(read_rows(path, where=where))


@pytest.mark.parametrize(
    ("content", "where", "fields"),
    [
        ("inputs.q,answer\nWhen?,r\n", {"query": "inputs.q"}, Case(query="When?", response="r")),
        (
            'q,ctx\nWhen?,"[""a"", ""b""]"\n',
            {"query": "q", "context": "ctx"},
            Case(query="When?", context=["a", "b"]),
        ),
        ("q,ctx\nWhen?,\n", {"query": "q", "context": "ctx"}, Case(query="When?", context=[])),
        ("q,real\nWhen?,\n", {"query": "q", "answers": "real"}, Case(query="When?")),
    ],
    ids=["a dot in a column", "a list in a cell", "an empty cell of the context", "a column without a value"],
)
def test_columns_are_mapped_with_the_rules_of_their_field(
    tmp_path: Path, content: str, where: Where, fields: Case
) -> None:
    (row,) = rows_of(tmp_path / "rows.csv", content, where)
    assert Case.from_mapping(row).model_copy(update={"metadata": {}}) == fields


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"query": "inputs.qq"}, "has inputs.qq, did you mean inputs.q? The first row has"),
        ({"query": "nothing"}, "has nothing. The first row has inputs.q, outputs.choices.0.text, docs"),
        ({"query": "inputs.q", "response": "outputs.choices.1.text"}, "did you mean outputs.choices.0.text?"),
    ],
)
def test_a_path_that_no_row_has_is_refused_before_the_first_row(
    tmp_path: Path, where: Where, message: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(NESTED)}\nbroken\n")
    with pytest.raises(CaseError) as raised:
        next(read_rows(path, where=where))
    assert (raised.value.code, message in raised.value.message) == ("bad_path", True)


def test_on_stdin_it_is_refused_after_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n{"b": 2}\n')))
    rows = read_rows("-", where={"query": "c"})
    assert [next(rows)["query"], next(rows)["query"]] == [None, None]  # type: ignore[index]
    with pytest.raises(CaseError, match="bad_path: --map query=c: no row of stdin has c"):
        next(rows)


@pytest.mark.parametrize("content", ['{"a": 1}\n{"q": null}\n', "", "broken\n"])
def test_a_path_that_some_row_has_or_that_no_row_could_have_is_accepted(tmp_path: Path, content: str) -> None:
    assert len(rows_of(tmp_path / "rows.jsonl", content, {"query": "q"})) == content.count("\n")


def test_rows_are_searched_only_until_all_paths_are_found() -> None:
    rows: Iterator[dict[str, Any]] = iter([{"a": 1}, {"b": {"c": 2}}, {"d": 3}])
    Paths({"query": "a", "response": "b.c"}, "rows").search(rows)
    assert next(rows) == {"d": 3}
