"""Record batches in, record batches of verdicts out: the same verdicts as `run`, in order, row by row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from adapters_table import JUDGES, fields_of, judge_of
from any_options import load_any
from arrow_table import batch_of, cases_in_runs, expected_of_runs, pa
from command_line import run_program
from formatter import sure
from many_rows import Echo, judge_named, rows
from scripted_model import ScriptedModel

from groundjudge import ModelError, Reply, Verdict, load, run
from groundjudge.case.data import as_json
from groundjudge.runs.arrow import Columns, add_keys, judge_batches, schema_of
from groundjudge.types import Judge, Request

TEXT = pa.string()
GOOD = f"<S0>t</S0><S1>fine</S1>{sure(5)}"
ROW = {"id": "1", "query": "When?", "context": ["At nine."], "response": "At nine."}
ADDED = [
    "key",
    "judge",
    "status",
    "score",
    "scores",
    "label",
    "passed",
    "confidence",
    "distribution",
    "reason",
    "signature",
    "verdict",
]


def groundedness_judge(*replies: str | Reply | Exception) -> Judge:
    return load("groundedness", model=ScriptedModel(*(replies or (GOOD,))))


def output_rows(*batches: Any, judge: Any = None, **options: Any) -> list[dict[str, Any]]:
    """The rows of the output."""
    outputs = judge_batches(batches, judge or groundedness_judge(), **options)
    return [row for batch in outputs for row in batch.to_pylist()]


def verdicts(*batches: Any, judge: Any = None, **options: Any) -> list[Verdict]:
    output = output_rows(*batches, judge=judge, **options)
    return [Verdict.model_validate_json(row["verdict"]) for row in output]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "repeats" else pytest.mark.soak) for name in JUDGES]
)
def test_verdicts_are_those_of_judge(name: str) -> None:
    judged_verdicts = verdicts(batch_of(*cases_in_runs(name)), judge=judge_of(name))
    assert [fields_of(verdict) for verdict in judged_verdicts] == expected_of_runs(name)


@pytest.mark.parametrize("response", ["At nine.", " "])
def test_columns_hold_the_verdict(response: str) -> None:
    case = {**ROW, "response": response}
    (row,) = output_rows(batch_of(case))
    (verdict,) = run(groundedness_judge(), [case])
    assert list(row) == ["id", *ADDED]
    assert fields_of(Verdict.model_validate_json(row["verdict"])) == fields_of(verdict)
    reason = verdict.explanation if verdict.error else verdict.reason
    plain = {name: getattr(verdict, name, None) for name in ADDED[:-1]}
    distribution = None if verdict.distribution is None else as_json(verdict.distribution)
    as_text = {"reason": reason, "distribution": distribution, "scores": None}
    assert {name: row[name] for name in plain} == plain | as_text


def test_further_scores_are_a_column_of_json() -> None:
    judge = load("statement_groundedness", model=ScriptedModel("1 | 1 | - | 9\nALL | 90"))
    (row,) = output_rows(batch_of(ROW), judge=judge)
    assert (row["score"], json.loads(row["scores"])) == (0.9, {"mean": 0.9, "weakest": 0.9})


def test_input_without_an_id_keeps_nothing() -> None:
    (row,) = output_rows(batch_of({name: ROW[name] for name in ("query", "context", "response")}))
    assert (list(row), json.loads(row["verdict"])["case_id"]) == (ADDED, "row 1")


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        pytest.param(None, ["id"], id="the id by default"),
        pytest.param("*", ["id", "query", "context", "response", "day"], id="all columns"),
        pytest.param(["day", "id"], ["day", "id"], id="two columns in the order named"),
        pytest.param([], [], id="no column"),
    ],
)
def test_columns_are_kept(columns: Columns, names: list[str]) -> None:
    day = datetime(2026, 11, 22)  # noqa: DTZ001  Arrow's timestamps need no zone
    batch = batch_of({**ROW, "day": day}, day=pa.timestamp("ns"), id=pa.dictionary(pa.int32(), TEXT))
    (output,) = judge_batches([batch], groundedness_judge(), columns=columns)
    assert output.schema.names == [*names, *ADDED]
    assert output.schema == schema_of(batch, columns) == schema_of(batch.schema, columns)
    assert [output.schema.field(name) for name in names] == [batch.schema.field(name) for name in names]
    assert output.select(names).to_pylist() == batch.select(names).to_pylist()


@pytest.mark.parametrize(
    ("names", "columns", "message"),
    [
        pytest.param(
            [],
            ["qeury"],
            "the column 'qeury' to keep does not exist, did you mean 'query'\\? The columns are: id, query",
            id="a misspelt column",
        ),
        pytest.param(
            ["score"],
            ["score"],
            "column 'score' cannot be kept, because a column of the verdicts has that name",
            id="the name of a column of verdicts",
        ),
        pytest.param(
            ["twice", "twice"],
            ["twice"],
            "column 'twice' appears twice: rename or drop one",
            id="a kept column that is there twice",
        ),
        pytest.param(
            ["query"],
            None,
            "column 'query' appears twice: rename or drop one",
            id="a column to read that is there twice",
        ),
    ],
)
def test_column_that_cannot_be_kept_or_read_is_refused(
    names: list[str], columns: Columns, message: str
) -> None:
    batch = batch_of({**ROW, **{str(place): 1 for place, _ in enumerate(names)}})
    batch = batch.rename_columns([*ROW, *names])
    with pytest.raises(ValueError, match=message):
        output_rows(batch, columns=columns)
    if columns:
        with pytest.raises(ValueError, match=message):
            schema_of(batch, columns)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        pytest.param({"query": "q"}, "add a column 'id'", id="no id"),
        pytest.param({"id": 1, "key": 1}, "the column 'key' already exists", id="a key already"),
    ],
)
def test_keys_need_an_id_and_a_place(row: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        next(add_keys([batch_of(row)], groundedness_judge()))


def test_table_in_place_of_batches_is_refused() -> None:
    table = pa.Table.from_batches([batch_of(ROW)])
    for source in (table, [table]):
        for adapter in (judge_batches, add_keys):
            with pytest.raises(TypeError, match=r"batches must hold record batches, not .*: pass table.to_b"):
                list(adapter(source, groundedness_judge()))


def test_arguments_are_checked_before_anything_is_read() -> None:
    def unread() -> Iterator[Any]:
        raise AssertionError
        yield

    names: Any = "groundedness"
    with pytest.raises(TypeError, match="judges must be Judge objects, as"):
        judge_batches(unread(), names)


PAIRS = pa.map_(TEXT, TEXT)


@pytest.mark.parametrize(
    ("change", "types", "same"),
    [
        pytest.param({"context": "At nine."}, {}, {"context": "At nine."}, id="text"),
        pytest.param(
            {"context": [{"content": "At nine.", "title": None}]}, {}, {"context": ["At nine."]}, id="structs"
        ),
        pytest.param(
            {"context": [[("content", "At nine."), ("title", "Hours")]]},
            {"context": pa.list_(PAIRS)},
            {"context": [{"content": "At nine.", "title": "Hours"}]},
            id="maps",
        ),
        pytest.param(
            {"context": ["At nine."]},
            {"context": pa.large_list(pa.large_string())},
            {},
            id="large lists of large texts",
        ),
        pytest.param(
            {"context": "At nine."},
            {"context": pa.dictionary(pa.int8(), TEXT)},
            {"context": "At nine."},
            id="dictionary",
        ),
        pytest.param(
            {"response": [{"role": "assistant", "content": "At nine.", "tool_calls": None}]},
            {},
            {"response": [{"role": "assistant", "content": "At nine."}]},
            id="messages",
        ),
        pytest.param({"reference": None, "query": "When?"}, {"reference": pa.null()}, {}, id="nulls"),
        pytest.param({"question": "When?", "query": None}, {"query": TEXT}, {}, id="an alias beside a null"),
    ],
)
def test_values_are_those_of_a_case(
    change: Mapping[str, Any], types: Mapping[str, Any], same: Mapping[str, Any]
) -> None:
    judge = groundedness_judge()
    (row,) = output_rows(batch_of({**ROW, **change}, **types), judge=judge)
    assert row["key"] == judge.key({**ROW, **same})
    assert row["status"] == "ok"


def test_row_with_a_value_that_python_cannot_hold_is_an_error_of_its_own() -> None:
    texts = [b"At nine.", b"At \xff.", b"At ten."]
    responses = pa.Array.from_buffers(
        TEXT, 3, [None, pa.array([0, 8, 13, 20], pa.int32()).buffers()[1], pa.py_buffer(b"".join(texts))]
    )
    ids = pa.array(["a", "b", "c"])
    contexts = pa.array([["x"]] * 3)
    batch = pa.RecordBatch.from_arrays(
        [ids, ids, contexts, responses], names=["id", "query", "context", "response"]
    )
    outputs = output_rows(batch)
    assert [(row["id"], row["status"]) for row in outputs] == [("a", "ok"), ("b", "error"), ("c", "ok")]
    assert outputs[1]["reason"].startswith("unreadable_row: row 2: the column 'response': 'utf-8' codec")
    (keys,) = add_keys([batch], groundedness_judge())
    assert [key is None for key in keys.column("key").to_pylist()] == [False, True, False]


def test_rows_name_their_judges() -> None:
    judges = [groundedness_judge(), load_any("confidence_grounding", model=ScriptedModel('{"score": 1}'))]
    judges_of_rows = [
        ["groundedness"],
        ["groundedness", "confidence_grounding"],
        ["passage_quality"],
        ["grond"],
    ]
    cases = [{**ROW, "id": str(index), "judges": names} for index, names in enumerate(judges_of_rows)]
    outputs = output_rows(batch_of(*cases), judge=judges)
    assert [(row["id"], row["judge"]) for row in outputs] == [
        ("0", "groundedness"),
        ("1", "groundedness"),
        ("1", "confidence_grounding"),
        ("3", "grond"),
    ]


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([0, 0, 3], id="empty batches first"),
        pytest.param([3, 0, 2], id="an empty batch between"),
        pytest.param([1300, *[300] * 3], marks=pytest.mark.soak, id="batches larger than an output batch"),
    ],
)
def test_batches_keep_their_rows_apart(sizes: list[int]) -> None:
    cases = [*rows(sum(sizes))]
    remaining = iter(cases)
    batches = [batch_of(*islice(remaining, size), id=TEXT, response=TEXT) for size in sizes]
    echo = Echo(lambda number: (number * 7 % 5) / 2000 if number < 20 else 0)
    outputs = [*judge_batches(batches, judge_named("echo", echo))]
    judged_rows: list[dict[str, Any]] = []
    for output in outputs:
        assert output.num_rows <= 1000
        judged_rows += output.to_pylist()
    assert [row["id"] for row in judged_rows] == [row["id"] for row in cases]
    assert all(row["score"] == int(row["id"]) / 100_000 for row in judged_rows)
    assert len(outputs) == sum(-(-size // 1000) for size in sizes)


def test_judging_goes_on_while_the_next_batch_is_awaited() -> None:
    """A source that waits for the first batch's calls would never end if it were read in their loop."""
    is_called = Event()

    async def answer(_: Request) -> str:
        is_called.set()
        return GOOD

    def source() -> Iterator[Any]:
        yield batch_of(ROW)
        assert is_called.wait(60)
        yield batch_of(ROW)

    outputs = judge_batches(source(), load("groundedness", model=answer))
    assert sum(batch.num_rows for batch in outputs) == 2


def test_closing_does_not_wait_for_a_source_that_blocks() -> None:
    released, ended = Event(), Event()

    def source() -> Iterator[Any]:
        yield batch_of(*rows(3))
        yield batch_of(*rows(1))
        released.wait(60)
        ended.set()

    outputs = judge_batches(source(), judge_named("echo", Echo()))
    assert next(outputs).num_rows == 3
    outputs.close()
    assert not ended.is_set()
    released.set()


def test_batches_are_read_as_they_are_needed() -> None:
    n_read = 0

    def source() -> Iterator[Any]:
        nonlocal n_read
        for row in rows(1000):
            n_read += 1
            yield batch_of(row)

    outputs = judge_batches(source(), judge_named("echo", Echo()), concurrency=2)
    assert n_read == 0
    next(outputs)
    outputs.close()
    assert n_read <= 30


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ModelError("quota", "no money"), id="the model's account is empty"),
        pytest.param(OSError("the source failed"), id="the source fails"),
    ],
)
def test_error_comes_after_the_verdicts_that_are_finished(error: Exception) -> None:
    """An error that ends the run, or one of the source."""
    is_models = isinstance(error, ModelError)
    echo = Echo(fail={5: error} if is_models else {})

    def source() -> Iterator[Any]:
        yield batch_of(*rows(100 if is_models else 5))
        raise error

    outputs = judge_batches(source(), judge_named("echo", echo), concurrency=1)
    assert next(outputs).column("id").to_pylist() == ["0", "1", "2", "3", "4"]
    with pytest.raises(type(error), match=str(error)):
        next(outputs)
    assert echo.asked == 5 + is_models


def test_all_batches_share_one_loop_and_the_concurrency() -> None:
    loops: set[asyncio.AbstractEventLoop] = set()

    def wait(_: int) -> float:
        loops.add(asyncio.get_running_loop())
        return 0.01

    echo = Echo(wait)
    outputs = judge_batches([batch_of(*rows(10))] * 4, judge_named("echo", echo), concurrency=8)
    assert sum(batch.num_rows for batch in outputs) == 40
    assert (len(loops), echo.most_in_flight) == (1, 8)


def test_columns_that_no_judge_looks_at_are_not_read(tmp_path: Path) -> None:
    prompt = tmp_path / "own.prompty"
    prompt.write_text(
        "---\nname: own\ninputs: [{name: response, type: messages}, {name: policy, type: text}]\n"
        "reply: {format: tags}\nscale: {worst: 1, best: 5}\n---\nuser:\n{{response}} {{policy}}"
    )
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        return "<S1>r</S1><S2>5</S2>"

    row = {**ROW, "policy": "Be kind.", "embedding": [0.1, 0.2]}
    (verdict,) = verdicts(batch_of(row), judge=load(prompt, model=answer))
    assert verdict.status == "ok", verdict
    assert dict(requests[0].case.metadata) == {"policy": "Be kind."}


def test_keys_are_those_of_the_verdicts() -> None:
    cases = [{**ROW, "id": None if number == 2 else number} for number in range(4)]
    judge = groundedness_judge()
    batches = [batch_of(*cases), batch_of({**ROW, "id": 9})]
    keys = [row["key"] for batch in add_keys(batches, judge) for row in batch.to_pylist()]
    keys_of_verdicts = [row["key"] for row in output_rows(*batches, judge=judge)]
    assert keys[2] is None
    assert [key for key in keys if key] == [key for index, key in enumerate(keys_of_verdicts) if index != 2]


@pytest.mark.soak
def test_without_pyarrow_the_message_names_the_extra() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
try:
    import groundjudge.runs.arrow
except ImportError as error:
    print(error)
from groundjudge.cli.app import app
try:
    app(["run", "../examples/cases.jsonl", "--model", "offline", "--out", "v.parquet"])
except SystemExit as status:
    print(status.code)
"""
    message = 'record batches and Parquet files need PyArrow: pip install "groundjudge[arrow]"'
    assert run_program(code)[1] == f"{message}\n2\n"


@pytest.mark.soak
def test_importing_the_library_does_not_import_pyarrow() -> None:
    code = "import sys, groundjudge, groundjudge.runs.rows; print('pyarrow' in sys.modules)"
    assert run_program(code) == (0, "False\n", "")
