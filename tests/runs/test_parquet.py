"""Parquet on the command line: cases and verdicts are read, verdicts written at the end, runs resumed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from arrow_table import batch_of, pa
from command_line import GOOD, Invoke, run_command, verdicts_in
from scripted_model import ScriptedModel

from groundjudge import CaseError, ModelError, Verdict
from groundjudge.runs.rows import CaseFile
from groundjudge.runs.verdict_file import read_verdicts

pq: Any = import_module("pyarrow.parquet")

ROWS: list[dict[str, Any]] = [
    {"id": str(number), "query": "When?", "context": ["At nine."], "response": f"At nine. {number}"}
    for number in range(5)
]
COLUMNS = [
    "id",
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


def write(path: Path | str, *rows: Mapping[str, Any], group: int | None = None) -> Path:
    pq.write_table(pa.Table.from_batches([batch_of(*rows)]), path, row_group_size=group)
    return Path(path)


@pytest.mark.parametrize(
    ("name", "file_format", "group"),
    [
        pytest.param("c.parquet", None, None, id="one row group"),
        pytest.param("c.parquet", None, 1, id="a row per group"),
        pytest.param("c.parquet", None, 2, id="two rows per group"),
        pytest.param("c.data", "parquet", None, id="another suffix and the format named"),
    ],
)
def test_rows_are_read(tmp_path: Path, name: str, file_format: Any, group: int | None) -> None:
    path = write(tmp_path / name, *ROWS, group=group)
    assert list(CaseFile(path, file_format).rows()) == ROWS
    assert CaseFile(path, file_format=file_format).count() == 5


def test_folder_stands_for_its_files(tmp_path: Path) -> None:
    """As Spark writes it: with files beside those of the rows, and hidden ones."""
    (tmp_path / "day=2").mkdir()
    (tmp_path / "_temporary").mkdir()
    write(tmp_path / "part-1.parquet", *ROWS[2:4])
    write(tmp_path / "part-0.parquet", *ROWS[:2])
    write(tmp_path / "day=2" / "part-0.parquet", ROWS[4])
    for name in (".part-0.parquet", "_temporary/part-9.parquet", "_SUCCESS"):
        (tmp_path / name).write_text("half a file")
    assert sorted(row["id"] for row in CaseFile(tmp_path).rows() if not isinstance(row, CaseError)) == list(
        "01234"
    )
    assert CaseFile(tmp_path).count() == 5


def test_folder_of_verdicts_is_read_in_the_order_in_which_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    for age, name in enumerate(["c", "a", "day=1/b", "z"]):
        verdict = Verdict(judge="g", status="ok", case_id=name)
        file = write(tmp_path / f"{name}.parquet", {"verdict": verdict.model_dump_json(), "id": name})
        os.utime(file, ns=(10**18 - age, 10**18 - age))  # each one older than the last
    for newest, expected in (("c", ["z", "day=1/b", "a", "c"]), ("z", ["day=1/b", "a", "c", "z"])):
        os.utime(tmp_path / f"{newest}.parquet", ns=(10**18, 10**18))
        verdicts = [verdict for verdict in read_verdicts(tmp_path) if isinstance(verdict, Verdict)]
        assert [verdict.case_id for verdict in verdicts] == expected
    names = [row["id"] for row in CaseFile(tmp_path).rows() if not isinstance(row, CaseError)]
    assert names == ["a", "c", "day=1/b", "z"]  # cases are numbered by name


@pytest.mark.parametrize("content", [b"PAR1 is how it begins", b""])
def test_file_that_is_not_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cases.parquet"
    path.write_bytes(content)
    for rows in (CaseFile(path).rows(), read_verdicts(path)):
        with pytest.raises(CaseError, match="is not a Parquet file"):
            next(rows)
    with pytest.raises(CaseError, match="is not a Parquet file"):
        CaseFile(path).count()


def test_damaged_file_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.parquet", *ROWS)
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(196) + content[200:])
    with pytest.raises((CaseError, OSError)):
        list(CaseFile(path).rows())


def run_on(command: Invoke, *arguments: str, model: Any = None) -> Any:
    model = model or ScriptedModel(GOOD)
    return command("run", "cases.parquet", "--judge", "groundedness", "--model", "m", *arguments, model=model)


def test_run_writes_a_table_beside_the_lines(command: Invoke) -> None:
    write("cases.parquet", *ROWS)
    result = run_on(command, "--out", "v.parquet")
    assert result.exit_code == 0, result.output
    table = pq.read_table("v.parquet")
    lines = verdicts_in(Path("v.parquet.jsonl").read_text())
    assert table.column_names == COLUMNS
    assert sorted(table["id"].to_pylist()) == list("01234")
    assert [Verdict.model_validate_json(text) for text in table["verdict"].to_pylist()] == lines
    assert list(read_verdicts("v.parquet")) == lines


@pytest.mark.soak
def test_every_command_reads_the_table(command: Invoke) -> None:
    write("cases.parquet", *ROWS)
    run_on(command, "--out", "v.parquet")
    write("labels.parquet", *({"id": row["id"], "label": index < 3} for index, row in enumerate(ROWS)))
    for arguments in (
        ["estimate", "cases.parquet", "--judge", "groundedness"],
        ["show", "groundedness", "--cases", "cases.parquet", "--case", "3"],
        ["report", "v.parquet", "--cases", "cases.parquet", "--out", "r.html"],
        ["compare", "v.parquet", "v.parquet"],
        ["agree", "v.parquet", "--labels", "labels.parquet"],
    ):
        result = command(*arguments)
        assert result.exit_code == 0, (arguments, result.output)


def test_stopped_run_writes_what_is_finished_and_can_be_resumed(command: Invoke) -> None:
    write("cases.parquet", *ROWS)
    model = ScriptedModel(GOOD, GOOD, ModelError("quota", "no money"))
    result = run_on(command, "--out", "v.parquet", "--concurrency", "1", model=model)
    assert (result.exit_code, pq.read_table("v.parquet").num_rows) == (1, 2)
    assert "the finished verdicts are in v.parquet, continue with --resume" in result.stderr
    model = ScriptedModel(GOOD)
    assert run_on(command, "--out", "v.parquet", "--resume", model=model).exit_code == 0
    assert (len(model.asked), pq.read_table("v.parquet").num_rows) == (3, 5)


@pytest.mark.parametrize(
    ("present", "arguments", "message"),
    [
        pytest.param(
            ["v.parquet", "v.parquet.jsonl"],
            [],
            "v.parquet.jsonl already exists: continue it with --resume",
            id="lines without an option",
        ),
        pytest.param(
            ["v.parquet"],
            ["--resume"],
            "v.parquet already exists, but its lines, v.parquet.jsonl, do not",
            id="a table without its lines, resumed",
        ),
        pytest.param(["v.parquet/"], [], "v.parquet is a folder: choose another file", id="a folder"),
    ],
)
def test_table_in_the_way_is_kept(
    command: Invoke, present: list[str], arguments: list[str], message: str
) -> None:
    write("cases.parquet", *ROWS)
    for name in present:
        Path(name).mkdir() if name.endswith("/") else Path(name).write_text('{"a": 1}\n')
    result = run_on(command, "--out", "v.parquet", *arguments)
    assert [path.name for path in Path().glob(".*")] == []
    assert (result.exit_code, message in result.stderr) == (2, True)
    assert all(Path(name).is_dir() or Path(name).read_text() == '{"a": 1}\n' for name in present)


@pytest.mark.parametrize("out", ["cases.parquet", "c.parquet"])
def test_cases_are_not_overwritten(command: Invoke, out: str) -> None:
    write("cases.parquet", *ROWS)
    Path("c.parquet.jsonl").symlink_to("cases.parquet")
    result = run_on(command, "--out", out, "--overwrite")
    assert result.exit_code == 2
    assert "is the file of cases: choose another file" in result.stderr
    assert CaseFile("cases.parquet").count() == 5


def test_verdicts_without_their_column_are_refused(command: Invoke) -> None:
    write("cases.parquet", *ROWS)
    result = command("report", "cases.parquet", "--out", "r.html")
    assert result.exit_code == 2
    assert "cases.parquet has no column `verdict`" in result.stderr


def test_text_that_is_not_a_verdict_is_a_row_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "v.parquet", {"verdict": '{"judge": "g", "status": "ok"}'}, {"verdict": "{}"})
    first, second = read_verdicts(path)
    assert isinstance(first, Verdict)
    assert isinstance(second, CaseError)
    assert second.message.startswith("row 2: not a verdict (judge: Field required")


@pytest.mark.soak
def test_parquet_cannot_be_piped() -> None:
    process = run_command("run", "-", "--format", "parquet", "--model", "offline", input="")
    assert process.returncode == 2
    assert "stdin: Parquet must be a file, not a pipe" in process.stderr
