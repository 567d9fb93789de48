"""The command `run`, as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND, GOOD, ROW, FileOf, Invoke, verdicts_in, words
from formatter import sure
from scripted_model import ScriptedModel
from sentence_cards import SENTENCE_CARDS

from groundjudge import ModelError, names

JUDGED = ("--judge", "groundedness", "--model", "m")


def test_verdicts_go_to_stdout_and_the_table_to_stderr(invoke: Invoke, file_of: FileOf) -> None:
    result = invoke("run", file_of(ROW, ROW), *JUDGED, model=ScriptedModel(GOOD))
    assert result.exit_code == 0
    scores = sorted((v.judge, v.case_id, v.score) for v in verdicts_in(result.stdout))
    assert scores == [("groundedness", "row 1", 1.0), ("groundedness", "row 2", 1.0)]
    assert words(result.stderr) == [
        ["judge", "mean", "ok", "error", "n/a", "coverage", "bounds", "passed"],
        ["groundedness", "1.000", "2", "0", "0", "1.000", "1.000..1.000", "1.000"],
        ["groundedness:", "grounded", "2"],
    ]


def test_with_out_the_table_goes_to_stdout_and_without_a_judge_those_with_inputs_are_asked(
    invoke: Invoke, file_of: FileOf, tmp_path: Path
) -> None:
    out = tmp_path / "verdicts.jsonl"
    rows = [ROW, {**ROW, "judges": ["groundedness"]}]
    out.write_text("a previous run's\n" * 3)
    run = ("run", file_of(*rows), "--model", "m", "--out", out, "--overwrite")
    failed = invoke(*run, model=ScriptedModel(ModelError("no_endpoint", "nobody to ask")))
    assert (failed.exit_code, failed.stderr) == (2, "groundjudge: nobody to ask\n")
    assert out.read_text().startswith("a previous")
    result = invoke(*run, model=ScriptedModel(GOOD))
    judges = ["confidence_grounding", "groundedness", "statement_groundedness"]
    assert [line[0] for line in words(result.stdout)][1:4] == judges
    assert result.stderr == ""
    expected = [(name, "row 1") for name in judges]
    expected.append(("groundedness", "row 2"))
    assert sorted((v.judge, v.case_id) for v in verdicts_in(out.read_text())) == sorted(expected)


PLAY = {**ROW, "agent_name": "Mira", "profile": "Mira keeps a light.", "conversation": "Who are you?"}
PASSAGE = {**ROW, "reference": "The ferry sails at nine."}
LEFT_OUT: dict[str, tuple[list[Any], str, str]] = {
    # rows, options, and the line that names who is left out, or "" if nobody is
    "rows with a context": (
        [ROW, ROW],
        "",
        "knowledge_hallucination (agent_name, conversation, profile), passage_quality (reference)",
    ),
    "a reference in one row only": (
        [ROW, PASSAGE],
        "",
        "knowledge_hallucination (agent_name, conversation, profile)",
    ),
    "all of them in one row or another": ([ROW, PASSAGE, PLAY], "", ""),
    "a blank reference that may be blank": (
        [{**PASSAGE, "reference": " "}, PLAY],
        "-O may_be_empty=reference",
        "",
    ),
    "a context that cannot be read is there": ([{**PLAY, **PASSAGE, "context": 5}], "", ""),
    "named by their rows": (
        [{**PLAY, **PASSAGE, "judges": ["groundedness", "passage_quality"]}],
        "",
        "confidence_grounding, knowledge_hallucination, statement_groundedness",
    ),
    "under other names, by --fields": (
        [{"q": "When?", "c": "At nine.", "r": "At nine."}],
        "--fields query=q --fields context=c --fields response=r",
        "knowledge_hallucination (agent_name, conversation, profile), passage_quality (reference)",
    ),
    "no judge has all": ([{"query": "q", "response": "r"}], "", ""),
    "one that is named": ([ROW], "--judge passage_quality", ""),
}


def is_left_out(output: str, left_out: str) -> bool:
    line = f"left out because no row has all their inputs: {left_out}; --judge NAME runs one anyway\n"
    return (line in output, "left out" in output) == (left_out != "", left_out != "")


@pytest.mark.parametrize(("rows", "options", "left_out"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_judges_whose_inputs_no_row_has_are_left_out_and_named(
    invoke: Invoke, file_of: FileOf, rows: list[Any], options: str, left_out: str
) -> None:
    assert is_left_out(invoke("estimate", file_of(*rows), *options.split()).output, left_out)


def test_a_run_leaves_out_the_judges_that_its_estimate_leaves_out(invoke: Invoke, file_of: FileOf) -> None:
    rows, _, left_out = LEFT_OUT["rows with a context"]
    assert is_left_out(invoke("run", file_of(*rows), "--model", "offline").stderr, left_out)


def test_of_stdin_all_judges_are_asked(invoke: Invoke) -> None:
    result = invoke("run", "-", "--model", "offline", stdin=json.dumps(ROW))
    assert [line[0] for line in words(result.stderr)][1:6] == names()


# Each process takes a second.
@pytest.mark.soak
@pytest.mark.parametrize(
    ("line", "closed"),
    [
        ("run CASES --judge groundedness --model offline", "<&- >&- 2>&-"),
        ("judges", ">&-"),
        ("examples", "<&-"),
    ],
)
def test_a_closed_stream_is_no_traceback(file_of: FileOf, tmp_path: Path, line: str, closed: str) -> None:
    cases = file_of(ROW)
    command = " ".join([*COMMAND, line.replace("CASES", str(cases)), closed])
    process = subprocess.run(  # noqa: S602  a shell closes what is tested
        command, shell=True, capture_output=True, timeout=60, check=False, cwd=tmp_path
    )
    assert (process.returncode, b"Traceback" in process.stderr) == (0, False), process.stderr
    assert json.loads(cases.read_text()) == ROW


FOUR, TWO_OF_FOUR = [ROW] * 4, [GOOD, "", "", GOOD]
BLANK = [ROW, {**ROW, "response": " "}]
LACKS = {**ROW, "query": None}


@pytest.mark.parametrize(
    ("rows", "replies", "options", "status"),
    [
        pytest.param(FOUR, TWO_OF_FOUR, "", 1, id="an error"),
        pytest.param(FOUR, TWO_OF_FOUR, "--min-coverage 0.75", 0, id="just covered"),
        pytest.param(FOUR, TWO_OF_FOUR, "--min-coverage 0.76", 1, id="just not"),
        pytest.param([ROW], [""], "--min-coverage 0", 0, id="nothing demanded"),
        pytest.param([ROW, LACKS], [GOOD], "", 1, id="a row lacks something"),
        pytest.param(BLANK, [GOOD], "", 1, id="a blank response is an error"),
        pytest.param([{**ROW, "response": None}], [GOOD], "", 2, id="no row has a response"),
        pytest.param(BLANK[1:], [GOOD], "", 2, id="every response is blank"),
        pytest.param([ROW], ["?"], "", 1, id="no reply can be read"),
        pytest.param(
            [{**ROW, "response": None}], [GOOD], "--min-coverage 0", 2, id="none, and none demanded"
        ),
        pytest.param(BLANK[1:], [GOOD], "-O empty_response=not_applicable", 0, id="nothing to score"),
        pytest.param([ROW, {**LACKS, "judges": "passage_quality"}], [GOOD], "", 0, id="for another judge"),
        pytest.param([ROW, "{"], [GOOD], "--min-coverage 0", 1, id="a line that is not JSON"),
        pytest.param([ROW, {**ROW, "judges": "groundednes"}], [GOOD], "", 1, id="an unknown judge"),
    ],
)
def test_exit_status(  # noqa: PLR0913, PLR0917  fixtures and a row of the table
    invoke: Invoke, file_of: FileOf, rows: list[Any], replies: list[str], options: str, status: int
) -> None:
    one_by_one = (*JUDGED, "--concurrency", "1")
    result = invoke("run", file_of(*rows), *one_by_one, *options.split(), model=ScriptedModel(*replies))
    assert result.exit_code == status, result.output


@pytest.mark.parametrize(
    ("row", "message"),
    [
        pytest.param(
            "[]",
            "no row could be read: a table has a header and rows with as many cells, other files one JSON",
            id="a file that is no JSON Lines",
        ),
        pytest.param(
            {**ROW, "judges": "passage_quality"},
            "nothing was judged, because every row names other judges under `judges`: choose one",
            id="rows for other judges",
        ),
        pytest.param(
            LACKS,
            "nothing was judged, because no row can be judged as it was given: see above",
            id="rows without an input",
        ),
        pytest.param(
            {**ROW, "context": "['a', 'b']"},
            "nothing was judged, because no row can be judged as it was given: see above",
            id="rows whose context cannot be read",
        ),
    ],
)
def test_why_nothing_was_judged(invoke: Invoke, file_of: FileOf, row: Any, message: str) -> None:
    path = file_of(row)
    result = invoke("run", path, *JUDGED, model=ScriptedModel(GOOD))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"groundjudge: {path}: {message}")


def test_unreadable_lines_are_rows_of_their_own_and_not_all_listed(invoke: Invoke, file_of: FileOf) -> None:
    path = file_of(ROW, "", *["{"] * 50, ROW)
    result = invoke("run", path, *JUDGED, model=ScriptedModel(GOOD))
    by_id = {v.case_id: v for v in verdicts_in(result.stdout)}
    assert [case_id for case_id, v in by_id.items() if v.status == "ok"] == ["row 1", "row 52"]
    assert len(by_id) == 52
    error = by_id["row 2"].error
    assert error is not None
    assert (error.code, error.message[:16]) == ("unreadable_row", "line 3: not JSON")
    assert "unreadable rows: 50\n  line 3: not JSON (column 2: Expecting property name" in result.stderr
    assert result.stderr.count("not JSON") == 20
    assert words(result.stderr)[1][:6] == ["groundedness", "1.000", "2", "0", "0", "1.000"]


def test_errors_are_counted_by_code_with_the_first_of_each(invoke: Invoke, file_of: FileOf) -> None:
    late = (ModelError("timeout", f"no reply in {n} s") for n in (2, 3))
    model = ScriptedModel(*late, "<S2>9</S2>", "<S2>9</S2>")
    path = file_of(ROW, ROW, ROW, {"id": "x", "response": "r", "context": "", "topic": "t"})
    result = invoke("run", path, *JUDGED, "--concurrency", "1", model=model)
    assert words(result.stderr)[1][:7] == ["groundedness", "-", "0", "4", "0", "0.000", "0.000..1.000"]
    timeout, missing, out_of_scale, _ = result.stderr.splitlines()[2:]
    assert timeout == "groundedness: timeout 2, the first is row 1: no reply in 2 s"
    assert out_of_scale.startswith("groundedness: out_of_scale 1, the first is row 3: the score")
    assert missing.startswith("groundedness: missing_field 1, the first is x: groundedness needs query")
    assert missing.endswith("The case has: response, context, topic")  # the keys that were there


NUMBERED = "1 | 2 | it sails later | 6\n2 | 1 | the source gives no colour | 1\nALL | 30"


def test_full_shows_the_verdict_with_its_scores_and_where_the_numbered_sentences_stand(
    invoke: Invoke, file_of: FileOf
) -> None:
    context = ["Nothing here.", "In summer the ferry\tsails at nine. \x1b[31m[bold]"]
    row = {"id": "ferry", "context": context, "response": "The ferry sails at nine. It is blue."}
    options = ["--judge", "statement_groundedness", "--model", "m", "--full", "ferry"]
    result = invoke("run", file_of(row), *options, model=ScriptedModel(NUMBERED))
    details = result.stderr.split("\n\n", 1)[1]
    assert details.splitlines()[:3] == [
        "ferry, statement_groundedness",
        "  status: ok",
        "  score: 0.3, mean 0.35, weakest 0.1, not passed",
    ]
    assert (
        "    reason: it sails later\n    source sentence 2: In summer the ferry\tsails at nine.\n" in details
    )
    assert "    context[1][0:34], exact\n" in details
    assert "    against it, source sentence 1: Nothing here.\n" in details


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
    options = ["--judge", str(SENTENCE_CARDS), "--model", "m", "--full", "ferry", "--full", "none"]
    result = invoke("run", path, *options, model=ScriptedModel(SCORECARD))
    start = context[1].index("the ferry")
    details = result.stderr.split("\n\n", 1)[1]
    assert details.splitlines()[:4] == [
        "ferry, sentence_cards",
        "  status: ok",
        "  score: 0.5, weakest 0, not passed",
        "  value: 5",
    ]
    assert "    quote: the FERRY  sails at nine\n" in details
    assert f"    context[1][{start}:{start + 23}], exact: the ferry\tsails at nine\n" in details
    assert "another, sentence" not in details
    assert "there is no verdict on a case with the id 'none'" in details


def test_full_shows_an_error_and_escapes_controls(invoke: Invoke, file_of: FileOf) -> None:
    model = ScriptedModel(f"<S1>\x1b[2J[red]fine\ud83d</S1>{sure(5)}", "?")
    full = ("--full", "row 1", "--full", "row 2", "--concurrency", "1")
    result = invoke("run", file_of(ROW, ROW), *JUDGED, *full, model=model)
    assert len(verdicts_in(result.stdout)) == 2
    assert "row 1, groundedness\n" in result.stderr
    assert "reason: \\u001b[2J[red]fine" in result.stderr
    assert "  error: no_verdict: the reply holds no verdict in the place where the" in result.stderr


@pytest.mark.parametrize("columns", [30, 110])
def test_the_table_is_whole_on_any_width(invoke: Invoke, file_of: FileOf, columns: int) -> None:
    result = invoke("run", file_of(ROW), "--model", "m", model=ScriptedModel(GOOD), columns=columns)
    assert not {"…", "\x1b"} & {*result.stderr}
    for text in (*names(), "1.000", "0.000..1.000", "grounded 1", "coverage"):
        assert text in result.stderr


@pytest.mark.soak
def test_the_command_itself_in_any_locale_before_a_reader_that_goes(file_of: FileOf) -> None:
    path = file_of(*[{**ROW, "id": "Größe"}] * 300)
    command = " ".join([*COMMAND, "run", str(path), "--judge", "groundedness", "--model", "offline"])
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    process = subprocess.run(  # noqa: S602  a pipe is what is tested
        f"{command} | head -n 1", shell=True, capture_output=True, timeout=60, check=False, env=environment
    )
    assert [v.case_id for v in verdicts_in(process.stdout.decode())] == ["Größe"]
    assert b"Traceback" not in process.stderr
