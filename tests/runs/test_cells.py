"""One value, one reader: what a value means is the same in every container that can hold it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from adapter_entries import by_promptfoo
from adapters_table import Exchange
from arrow_table import batch_of, pa
from command_line import FileOf, Invoke
from langsmith.run_trees import RunTree
from langsmith.schemas import Example
from scripted_model import ScriptedModel

from groundjudge import Case, load, run
from groundjudge.adapters.langsmith import evaluator as langsmith_evaluator
from groundjudge.errors import CaseError
from groundjudge.runs.arrow import judge_batches, rows_of
from groundjudge.runs.rows import CaseFile

pq: Any = import_module("pyarrow.parquet")

NAN = float("nan")
PLACES = {"response": 1, "context": 1, "reference": 2}
"""The side of an exchange that has a field; the others are inputs."""


class Refused(str):
    """The code of the error with which a value is refused, and a part of its message."""

    __slots__ = ()


PYTHON_LIST = Refused("context_unreadable: ast.literal_eval")
CUT_OFF = Refused("context_unreadable: cut off")
NO_TEXT = Refused("context_unreadable: context must be documents")
CUT_MESSAGES = Refused("field_unreadable: cut off")

QUESTION = [{"role": "user", "content": "hi, [you]"}]
ANSWER = [{"role": "assistant", "content": "At 9."}]
WITH_TOOL = [*QUESTION, {"role": "tool", "content": "We open at 9."}, *ANSWER]

TEXTS: Mapping[str, tuple[str, str, Any]] = {
    # what it is: a field, a string, and the value that means the same, or the error
    "texts as JSON, with white space around": ("context", ' ["a", "b"]\n', ["a", "b"]),
    "a line break in a text": ("context", '["a\nb"]', ["a\nb"]),
    "documents as JSON": (
        "context",
        '[{"title": "t", "text": "a"}, "b"]',
        [{"title": "t", "text": "a"}, "b"],
    ),
    "an empty list": ("context", "[]", []),
    "documents without a text": ("context", '[{"id": 7}]', NO_TEXT),
    "null in a list": ("context", '["a", null]', NO_TEXT),
    "NaN in a list": ("context", '["a", NaN]', NO_TEXT),
    "a text that is cut off": ("context", '["We open at 9.", "We cl', CUT_OFF),
    "a document that is cut off": ("context", '[{"text": "We op', CUT_OFF),
    "texts as Python writes them": ("context", "['a', 'b']", PYTHON_LIST),
    "texts as Python writes them, cut off": ("context", "['We open at 9.', \"We're", CUT_OFF),
    "documents of LangChain": ("context", "[Document(metadata={}, page_content='a')]", PYTHON_LIST),
    "a citation": ("context", "[1] A study of bees", "[1] A study of bees"),
    "a list and a remark": ("context", '["a"] says it', '["a"] says it'),
    "100,000 brackets": ("context", "[" * 100_000, "[" * 100_000),
    "blank": ("context", " ", []),
    "known answers": ("answers", '["a", "b"]', ["a", "b"]),
    "one known answer": ("answers", "a, b", ["a, b"]),
    "a reference in brackets": ("reference", '["a"]', '["a"]'),
    "a tool's message as the answer": (
        "response",
        '[{"role": "tool", "content": "At 9."}]',
        Refused("field_unreadable: not only one assistant message"),
    ),
    "a blank query": ("query", " ", " "),
    "a question as messages": ("query", json.dumps(QUESTION), QUESTION),
    "a conversation": ("conversation", json.dumps(WITH_TOOL), WITH_TOOL),
    "an answer as a message": ("response", json.dumps(ANSWER), ANSWER),
    "an answer that brings its own tool": (
        "response",
        json.dumps(WITH_TOOL[1:]),
        Refused("field_unreadable: give them as a list"),
    ),
    "an answer in JSON": ("response", '[{"city": "Rome"}]', '[{"city": "Rome"}]'),
    "a conversation without messages": ("conversation", "[]", []),
    "texts are no messages": ("response", '["a", "b"]', '["a", "b"]'),
    "messages that are cut off": ("query", '[{"role": "user", "cont', CUT_MESSAGES),
    "messages as Python writes them": (
        "conversation",
        str(QUESTION),
        Refused("field_unreadable: ast.literal_eval"),
    ),
}


def in_csv(folder: Path, row: Mapping[str, Any]) -> Case:
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*row], [*row.values()]])
    return only_case(folder / "rows.csv")


def in_json_lines(folder: Path, row: Mapping[str, Any]) -> Case:
    (folder / "rows.jsonl").write_text(json.dumps(row))
    return only_case(folder / "rows.jsonl")


def in_json(folder: Path, row: Mapping[str, Any]) -> Case:
    (folder / "rows.json").write_text(json.dumps({"results": [row]}))
    return only_case(folder / "rows.json")


def in_parquet(folder: Path, row: Mapping[str, Any]) -> Case:
    pq.write_table(pa.table({name: [value] for name, value in row.items()}), folder / "rows.parquet")
    return only_case(folder / "rows.parquet")


def in_a_record_batch(_: Path, row: Mapping[str, Any]) -> Case:
    (read_row,) = rows_of(batch_of(row))
    assert not isinstance(read_row, CaseError)
    return Case.from_mapping(read_row)


def in_python(_: Path, row: Mapping[str, Any]) -> Case:
    return Case.from_mapping(row)


def only_case(path: Path) -> Case:
    (row,) = CaseFile(path).rows()
    assert not isinstance(row, CaseError)
    return Case.from_mapping(row)


def in_an_exchange(_: Path, row: Mapping[str, Any]) -> Case:
    return Case.from_exchange(*sides_of(row))


def in_langsmith(_: Path, row: Mapping[str, Any]) -> Case:
    inputs, outputs, references = sides_of(row)
    run = RunTree(name="app", run_type="chain", inputs={}, outputs=outputs)
    evaluator: Any = langsmith_evaluator("groundedness", model="offline")
    return Case.of(evaluator.case_of(run, Example(id=uuid4(), inputs=inputs, outputs=references)))


def sides_of(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs, outputs and reference outputs of an exchange."""
    sides: list[dict[str, Any]] = [{}, {}, {}]
    for name, value in row.items():
        sides[PLACES.get(name, 0)][name] = value
    return sides


Container = Callable[[Path, Mapping[str, Any]], Case]
FILES: list[Container] = [in_csv, in_json_lines, in_json, in_parquet, in_a_record_batch, in_python]
EXCHANGES: list[Container] = [in_an_exchange, in_langsmith]


def check(container: Container, folder: Path, field: str, text: str, meaning: Any) -> None:
    case = container(folder, {"id": "1", "passage": "other", field: text})
    if isinstance(meaning, Refused):
        code, _, part = meaning.partition(": ")
        error = case.unreadable[field]
        assert (error.code, part in error.message) == (code, True), (container, error.message)
        return
    fields: dict[str, Any] = {field: meaning}
    assert getattr(case, field) == getattr(Case(**fields), field), container
    assert field not in case.unreadable, container


@pytest.mark.parametrize(("field", "text", "meaning"), TEXTS.values(), ids=TEXTS)
def test_a_string_means_what_it_says(tmp_path: Path, field: str, text: str, meaning: Any) -> None:
    check(in_python, tmp_path, field, text, meaning)


@pytest.mark.parametrize("container", [*FILES, *EXCHANGES])
def test_a_string_means_the_same_in_every_container(tmp_path: Path, container: Container) -> None:
    for kind in (
        "documents as JSON",
        "a line break in a text",
        "an empty list",
        "a text that is cut off",
        "texts as Python writes them",
        "a citation",
        "known answers",
        "a conversation",
        "an answer in JSON",
    ):
        check(container, tmp_path, *TEXTS[kind])


def test_a_read_text_is_not_read_again() -> None:
    """A message of an agent's may be JSON; it is read once, as what the agent said."""
    case = Case.from_mapping({"messages": [*QUESTION, {"role": "assistant", "content": json.dumps(ANSWER)}]})
    assert case.replace(query="q").response == case.response == json.dumps(ANSWER)


ABSENT_VALUES: Mapping[str, tuple[Container, Any]] = {
    "null in JSON Lines": (in_json_lines, None),
    "NaN in JSON Lines": (in_json_lines, NAN),
    "NaN in Parquet": (in_parquet, NAN),
    "NaN in Python": (in_python, NAN),
    "NaN in an exchange": (in_an_exchange, NAN),
    "NaN in CSV": (in_csv, "NaN"),
}


@pytest.mark.parametrize(("container", "value"), ABSENT_VALUES.values(), ids=ABSENT_VALUES)
def test_what_tables_have_for_absent_is_absent(tmp_path: Path, container: Container, value: Any) -> None:
    for field in ("context", "response", "answers"):
        case = container(tmp_path, {"id": "1", "passage": "other", field: value})
        assert (getattr(case, field), field in case.unreadable) == (None, False), field


@pytest.mark.parametrize("container", FILES)
def test_blank_is_given_but_blank(tmp_path: Path, container: Container) -> None:
    fields = ("query", "context", "response", "reference", "profile", "topic")
    for blank in ("", "  "):
        case = container(tmp_path, {"id": "1", "passage": "other", **dict.fromkeys(fields, blank)})
        assert {*fields} <= {*case.field_names()}


@pytest.mark.parametrize("blank", ["  ", "[]", [{"content": ""}]])
def test_rows_with_a_blank_context_are_counted(command: Invoke, file_of: FileOf, blank: Any) -> None:
    given = {"query": "q", "context": "We open at 9.", "response": "We open at 9."}
    exchange = {"inputs": {"question": "q"}, "outputs": {"answer": "We open at 9.", "context": blank}}
    rows = [
        {**given, "context": blank},
        exchange,
        given,
        {**given, "context": blank, "documents": ["We open."]},
    ]
    result = command("run", file_of(*rows), "--judge", "groundedness", "--model", "offline")
    assert "2 rows have a blank context\n" in result.stderr


def test_promptfoo_and_record_batches_read_a_list_in_a_string() -> None:
    judge = load("groundedness", model=ScriptedModel(*["<S1>r</S1><S2>5</S2>"] * 3))
    row = {"id": "1", "query": "q", "context": ["a", "b"], "response": "r"}
    in_a_string = {**row, "context": '["a", "b"]'}
    key = judge.key(row)
    assert [verdict.key for verdict in run(judge, [in_a_string])] == [key]
    (batch,) = judge_batches([batch_of(in_a_string)], judge)
    assert batch.column("key").to_pylist() == [key]
    exchange = Exchange(id="1", inputs={"query": "q", "context": '["a", "b"]'}, outputs={"response": "r"})
    (verdict,) = by_promptfoo(judge, [exchange])
    assert verdict.key == key


def test_a_list_of_judges_is_read_in_a_string() -> None:
    judges = [load(name, model="offline") for name in ("groundedness", "confidence_grounding")]
    row = {"query": "q", "context": "c", "response": "r", "judges": '["groundedness"]'}
    assert [verdict.judge for verdict in run(judges, [row])] == ["groundedness"]
