"""The command `run`, as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND, GOOD, ROW, FileOf, Invoke, run_command, verdicts_in, words
from scripted_model import ScriptedModel

from groundjudge import ModelError, names

JUDGED = ("--judge", "groundedness", "--model", "m")


def test_verdicts_go_to_stdout_and_the_table_to_stderr(invoke: Invoke, file_of: FileOf) -> None:
    result = invoke("run", file_of(ROW, ROW), *JUDGED, model=ScriptedModel(GOOD))
    assert result.exit_code == 0
    found = verdicts_in(result.stdout)
    assert sorted((v.judge, v.case_id, v.score) for v in found) == [
        ("groundedness", "row 1", 1.0),
        ("groundedness", "row 2", 1.0),
    ]
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        v.model_dump(mode="json") for v in found
    ]
    assert words(result.stderr) == [
        ["judge", "mean", "ok", "error", "n/a", "coverage", "bounds"],
        ["groundedness", "1.000", "2", "0", "0", "1.000", "1.000..1.000"],
        ["groundedness:", "grounded", "2"],
    ]


def test_with_out_the_table_goes_to_stdout(invoke: Invoke, file_of: FileOf, tmp_path: Path) -> None:
    out = tmp_path / "verdicts.jsonl"
    out.write_text("a previous run's\n" * 3)
    result = invoke(*("run", file_of(ROW), *JUDGED, "--out", out, "--overwrite"), model=ScriptedModel(GOOD))
    assert [v.score for v in verdicts_in(out.read_text())] == [1.0]
    assert words(result.stdout)[1][:2] == ["groundedness", "1.000"]
    assert result.stderr == ""


def test_without_a_judge_all_built_in_judges_are_asked(invoke: Invoke, file_of: FileOf) -> None:
    result = invoke(
        "run", file_of(ROW, {**ROW, "judges": ["groundedness"]}), "--model", "m", model=ScriptedModel(GOOD)
    )
    assert [line[0] for line in words(result.stderr)][1:6] == names()
    assert sorted((v.judge, v.case_id) for v in verdicts_in(result.stdout)) == sorted(
        [*((name, "row 1") for name in names()), ("groundedness", "row 2")]
    )


def test_a_prompt_file_is_a_judge(invoke: Invoke, file_of: FileOf, tmp_path: Path) -> None:
    prompt = tmp_path / "mine.prompty"
    prompt.write_text(
        "---\nname: mine\nreply: {format: tags, value: S2, reason: S1}\nscale: {worst: 1, best: 5}\n"
        "inputs: [{name: response, type: text}]\n---\nuser:\nRate {{response}}\n"
    )
    result = invoke("run", file_of(ROW), "--judge", prompt, "--model", "m", model=ScriptedModel(GOOD))
    assert [(v.judge, v.score) for v in verdicts_in(result.stdout)] == [("mine", 1.0)]


FOUR, TWO_OF_FOUR = [ROW] * 4, [GOOD, "", "", GOOD]
BLANK = [ROW, {**ROW, "response": " "}]
LACKS = {**ROW, "context": None}


@pytest.mark.parametrize(
    ("rows", "replies", "options", "status"),
    [
        pytest.param([ROW, ROW], [GOOD], "", 0, id="all well"),
        pytest.param(FOUR, TWO_OF_FOUR, "", 1, id="an error"),
        pytest.param(FOUR, TWO_OF_FOUR, "--min-coverage 0.75", 0, id="just covered"),
        pytest.param(FOUR, TWO_OF_FOUR, "--min-coverage 0.76", 1, id="just not"),
        pytest.param([ROW], [""], "--min-coverage 0", 0, id="nothing demanded"),
        pytest.param([ROW, {"response": "r"}], [GOOD], "", 1, id="a missing input is an error"),
        pytest.param(BLANK, [GOOD], "", 1, id="a blank response is an error"),
        pytest.param([ROW, {**ROW, "response": None}], [GOOD], "", 1, id="so is a missing one"),
        pytest.param([{**ROW, "response": None}], [GOOD], "", 1, id="also where all of them crashed"),
        pytest.param(BLANK, [GOOD], "--empty-response not_applicable", 0, id="a blank response left out"),
        pytest.param(BLANK, [GOOD], "--empty-response worst", 0, id="a blank response scored worst"),
        pytest.param(BLANK[1:], [GOOD], "--empty-response not_applicable", 0, id="nothing to score"),
        pytest.param([ROW, LACKS], [GOOD], "--min-coverage 0.5", 0, id="as low a coverage as demanded"),
        pytest.param([ROW, *[LACKS] * 3], [GOOD], "--min-coverage 0.3", 1, id="1 of 4"),
        pytest.param([ROW, {**LACKS, "judges": "passage_quality"}], [GOOD], "", 0, id="for another judge"),
        pytest.param([ROW], [GOOD], "--empty-response ignore", 2, id="an unknown choice"),
        pytest.param([ROW, "{"], [GOOD], "", 1, id="a line that is not JSON"),
        pytest.param([ROW, "{"], [GOOD], "--min-coverage 0", 1, id="whatever the coverage"),
        pytest.param([ROW, {**ROW, "answer": "x"}], [GOOD], "", 1, id="a row that is no case"),
        pytest.param([ROW, {**ROW, "judges": "groundednes"}], [GOOD], "", 1, id="an unknown judge"),
        pytest.param([{**ROW, "judges": "passage_quality"}], [GOOD], "", 2, id="no judge applies"),
        pytest.param([{**ROW, "query": None}], [GOOD], "", 2, id="every row lacks something"),
        pytest.param([ROW, {**ROW, "query": None}], [GOOD], "", 1, id="a row lacks something"),
        pytest.param(["{", "[]"], [GOOD], "", 2, id="no row can be read"),
        pytest.param([], [GOOD], "", 2, id="no rows"),
    ],
)
def test_exit_status(  # noqa: PLR0913, PLR0917  fixtures and a row of the table
    invoke: Invoke, file_of: FileOf, rows: list[Any], replies: list[str], options: str, status: int
) -> None:
    given = [*JUDGED, "--concurrency", "1", *options.split()]
    result = invoke("run", file_of(*rows), *given, model=ScriptedModel(*replies))
    assert result.exit_code == status, result.output


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("[]", "no row could be read; the file must hold one JSON object per line"),
        (
            {**ROW, "judges": "passage_quality"},
            "nothing was judged, because every row names other judges under `judges`: choose one of them",
        ),
        ({**ROW, "query": None}, "nothing was judged, because every row lacks a required input: see above"),
    ],
)
def test_why_nothing_was_judged(invoke: Invoke, file_of: FileOf, row: Any, message: str) -> None:
    path = file_of(row)
    result = invoke("run", path, *JUDGED, model=ScriptedModel(GOOD))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"groundjudge: {path}: {message}")


def test_unreadable_lines_are_rows_of_their_own(invoke: Invoke, file_of: FileOf) -> None:
    path = file_of(ROW, "", "{broken", ROW)
    result = invoke("run", path, *JUDGED, model=ScriptedModel(GOOD))
    found = {v.case_id: v for v in verdicts_in(result.stdout)}
    assert {case_id: v.status for case_id, v in found.items()} == {
        "row 1": "ok",
        "row 2": "error",
        "row 3": "ok",
    }
    error = found["row 2"].error
    assert error is not None
    assert error.code == "unreadable_row"
    assert error.message.startswith("line 3: not JSON")
    assert result.stderr.splitlines()[-2:] == [
        "unreadable rows: 1",
        "  line 3: not JSON (Expecting property name enclosed in double quotes at column 2)",
    ]
    assert words(result.stderr)[1][:6] == ["groundedness", "1.000", "2", "0", "0", "1.000"]


def test_many_unreadable_lines_are_not_all_listed(invoke: Invoke, file_of: FileOf) -> None:
    result = invoke("run", file_of(ROW, *["{"] * 50), *JUDGED, model=ScriptedModel(GOOD))
    assert "unreadable rows: 50\n" in result.stderr
    assert result.stderr.count("not JSON") == 20
    assert len(verdicts_in(result.stdout)) == 51


def test_errors_are_counted_by_code_with_the_first_of_each(invoke: Invoke, file_of: FileOf) -> None:
    model = ScriptedModel(
        ModelError("timeout", "no reply in 2 s"),
        ModelError("timeout", "none in 3 s"),
        "<S2>9</S2>",
        "<S2>9</S2>",
    )
    path = file_of(ROW, ROW, ROW, {"id": "x", "response": "r", "context": "", "topic": "t"})
    result = invoke("run", path, *JUDGED, "--concurrency", "1", model=model)
    assert words(result.stderr)[1][:7] == ["groundedness", "-", "0", "4", "0", "0.000", "0.000..1.000"]
    timeout, missing, out_of_scale = result.stderr.splitlines()[2:]
    assert timeout == "groundedness: timeout 2, the first is row 1: no reply in 2 s"
    assert out_of_scale.startswith("groundedness: out_of_scale 1, the first is row 3: the score")
    assert missing.startswith(
        "groundedness: missing_field 1, the first is x: groundedness needs query, which"
    )
    assert missing.endswith("The case has: response, context, topic")  # the keys that were there


def test_csv_cells_may_be_long(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text(f"query,response,context\nq,r,{'word ' * 100_000}\n")
    result = invoke("run", path, *JUDGED, model=ScriptedModel(GOOD))
    assert (result.exit_code, len(verdicts_in(result.stdout))) == (0, 1)


SCORECARD = (
    "Statement Sentence: The ferry sails at nine.\n"
    "Supporting Evidence: the FERRY  sails at nine\n"
    "Score: 10\n"
    "Statement Sentence: It is blue.\n"
    "Supporting Evidence: NOTHING FOUND\n"
    "Score: 0\n"
)


def test_full_shows_the_verdict_and_the_sources_own_text(invoke: Invoke, file_of: FileOf) -> None:
    context = ["Nothing here.", "In summer the ferry\tsails at nine. \x1b[31m[bold]"]
    row = {"id": "ferry", "context": context, "response": "The ferry sails at nine. It is blue."}
    path = file_of(row, {**row, "id": "another"})
    options = ["--judge", "statement_groundedness", "--model", "m", "--full", "ferry", "--full", "none"]
    result = invoke("run", path, *options, model=ScriptedModel(SCORECARD))
    start = context[1].index("the ferry")
    shown = result.stderr.split("\n\n", 1)[1]
    assert shown.splitlines()[:4] == [
        "ferry, statement_groundedness",
        "  status: ok",
        "  score: 0.5, weakest 0, not passed",
        "  value: 5",
    ]
    assert "    quote: the FERRY  sails at nine\n" in shown
    assert f"    context[1][{start}:{start + 23}], exact: the ferry\tsails at nine\n" in shown
    assert "another, statement" not in shown
    assert "no verdict is on a case with the id 'none'" in shown


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("?", "  error: no_verdict: the reply holds no verdict in the place where the format puts it: each"),
        ("<S1>\x1b[2J\x9b31m[red]fine[/red]</S1><S2>5</S2>", "reason: \\u001b[2J\\u009b31m[red]fine[/red]\n"),
    ],
    ids=["an error", "control characters are escaped"],
)
def test_full_shows(invoke: Invoke, file_of: FileOf, reply: str, shown: str) -> None:
    result = invoke("run", file_of(ROW), *JUDGED, "--full", "row 1", model=ScriptedModel(reply))
    assert "row 1, groundedness\n" in result.stderr
    assert shown in result.stderr


def test_a_lone_surrogate_in_a_reply_is_written(invoke: Invoke, file_of: FileOf) -> None:
    reply = "<S1>\ud83d</S1><S2>5</S2>"
    result = invoke("run", file_of(ROW, ROW), *JUDGED, model=ScriptedModel(reply))
    assert [v.score for v in verdicts_in(result.stdout)] == [1.0, 1.0]


@pytest.mark.parametrize("columns", [30, 60, 72, 80, 109, 110, 200])
def test_the_table_is_whole_on_any_width(invoke: Invoke, file_of: FileOf, columns: int) -> None:
    result = invoke("run", file_of(ROW), "--model", "m", model=ScriptedModel(GOOD), columns=columns)
    shown = result.stderr
    assert "…" not in shown
    assert "\x1b" not in shown
    for text in (*names(), "1.000", "0.000..1.000", "grounded 1", "coverage"):
        assert text in shown


def test_a_run_without_an_endpoint_leaves_an_existing_file_unchanged(
    invoke: Invoke, file_of: FileOf, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("kept")
    model = ScriptedModel(ModelError("no_endpoint", "nobody to ask"))
    options = [*JUDGED, "--out", out, "--overwrite"]
    result = invoke("run", file_of(ROW), *options, model=model)
    assert (result.exit_code, result.stderr, out.read_text()) == (2, "groundjudge: nobody to ask\n", "kept")


def test_the_command_itself(file_of: FileOf, tmp_path: Path) -> None:
    out = tmp_path / "verdicts.jsonl"
    path = file_of(*({**ROW, "id": str(number), "query": "Größe?"} for number in range(30)))
    judges = "--judge groundedness --judge statement_groundedness --model offline".split()
    options = [*judges, "--out", out]
    done = run_command("run", path, *options, env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"})
    assert (done.returncode, done.stderr) == (0, "")
    assert [line[:1] + line[2:4] for line in words(done.stdout)][1:3] == [
        ["groundedness", "30", "0"],
        ["statement_groundedness", "30", "0"],
    ]
    found = verdicts_in(out.read_text(encoding="utf-8"))
    assert {(v.judge, v.case_id) for v in found} == {
        (name, str(number)) for name in ("groundedness", "statement_groundedness") for number in range(30)
    }


def test_head_ends_the_command_quietly(file_of: FileOf) -> None:
    path = file_of(*[ROW] * 300)
    command = " ".join([*COMMAND, "run", str(path), "--judge", "groundedness", "--model", "offline"])
    done = subprocess.run(  # noqa: S602  a pipe is what is tested
        f"{command} | head -n 1", shell=True, capture_output=True, text=True, timeout=60, check=False
    )
    assert len(verdicts_in(done.stdout)) == 1
    assert "Traceback" not in done.stderr


def test_verdicts_are_written_as_rows_finish(tmp_path: Path) -> None:
    """A run that is killed leaves the lines of all rows that were done."""
    endless = tmp_path / "endless"
    os.mkfifo(endless)
    out = tmp_path / "out.jsonl"
    arguments = ["run", str(endless), "--judge", "groundedness", "--model", "offline", "--out", str(out)]
    running = subprocess.Popen([*COMMAND, *arguments])  # noqa: S603
    with endless.open("w") as rows:
        rows.write(f"{json.dumps(ROW)}\n" * 5)
        rows.flush()
        end = time.monotonic() + 30
        while time.monotonic() < end and not (out.exists() and out.read_text().count("\n") == 5):
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert [v.status for v in verdicts_in(out.read_text())] == ["ok"] * 5
