"""Interrupted runs can be resumed: no verdict is requested twice, lost, or mixed with another run's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND, GOOD, ROW, STRICT, Invoke, verdicts_in
from scripted_model import ScriptedModel
from standin_openai import StandIn, Text
from typer.testing import Result

from groundjudge import ModelError, load
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.runs.run import case_of
from groundjudge.runs.verdict_file import read_verdicts, resume_verdict_file
from groundjudge.verdict import Failure, __version__

JUDGE = ["--judge", "groundedness", "--model", "m", "--concurrency", "1"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path, out: Path) -> Callable[..., tuple[Result, int]]:
    """Judges rows with these ids, or these rows themselves; gives the result and how often it asked."""

    def call(
        *cases: str | int | Mapping[str, Any],
        options: Sequence[object] = (),
        replies: Sequence[Any] = (GOOD,),
    ) -> tuple[Result, int]:
        rows = [{**ROW, "id": str(row)} if isinstance(row, int) else row for row in cases]
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (tmp_path / "cases.jsonl").write_text("".join(f"{line}\n" for line in lines))
        model = ScriptedModel(*replies)
        arguments = [*JUDGE, *map(str, options), "--out", out]
        return invoke("run", tmp_path / "cases.jsonl", *arguments, model=model), len(model.asked)

    return call


Run = Callable[..., tuple[Result, int]]


def statuses(out: Path) -> list[tuple[str | None, str]]:
    return [(verdict.case_id, verdict.status) for verdict in verdicts_in(out.read_text())]


def test_resume_skips_verdicts_and_judges_errors_again(run: Run, out: Path) -> None:
    rows = (1, 2, {**ROW, "id": "3", "response": " "}, 4)
    lenient = ("-O", "empty_response=not_applicable")
    first, _ = run(*rows, options=lenient, replies=[GOOD, ModelError("timeout", "late"), GOOD])
    assert first.exit_code == 1
    assert statuses(out) == [("1", "ok"), ("2", "error"), ("3", "not_applicable"), ("4", "ok")]
    second, n_asked = run(*rows, options=(*lenient, "--resume"))
    assert (second.exit_code, n_asked) == (0, 1), second.output
    assert statuses(out) == [("1", "ok"), ("3", "not_applicable"), ("4", "ok"), ("2", "ok")]
    assert second.stdout.splitlines()[1].split()[:5] == ["groundedness", "1.000", "3", "0", "1"]
    assert "3 verdicts reused, 1 new" in second.stdout
    third, n_asked = run(*rows, options=(*lenient, "--resume"))
    assert (third.exit_code, n_asked, len(statuses(out))) == (0, 0, 4)


def test_resume_starts_a_run_if_the_file_is_empty(run: Run, out: Path) -> None:
    out.touch()
    assert run(1, options=["--resume"])[0].exit_code == 0
    assert statuses(out) == [("1", "ok")]


@pytest.mark.parametrize(
    ("n_missing", "n_asked"),
    [
        pytest.param(1, 0, id="only the line end is missing"),
        pytest.param(10, 1, id="half a line"),
    ],
)
def test_incomplete_last_line_is_judged_again(run: Run, out: Path, n_missing: int, n_asked: int) -> None:
    run(1, 2, 3)
    whole = out.read_bytes()
    out.write_bytes(whole[:-n_missing])
    result, n_calls = run(1, 2, 3, options=["--resume"])
    assert (result.exit_code, n_calls) == (0, n_asked)  # if only the line end was missing, 0
    assert sorted(statuses(out)) == [("1", "ok"), ("2", "ok"), ("3", "ok")]


def test_verdicts_of_other_judges_are_kept(run: Run, out: Path) -> None:
    run(1, 2, options=["--judge", "statement_groundedness"], replies=[ModelError("timeout", "late")])
    run(1, 2, options=["--resume"])
    assert sorted(statuses(out)) == [("1", "error"), ("1", "ok"), ("2", "error"), ("2", "ok")]


def test_rows_of_a_judge_that_resembles_a_library_judge_are_reused(run: Run, out: Path) -> None:
    mine = out.with_name("strict.prompty")
    mine.write_text(STRICT)
    rows: list[Mapping[str, Any]] = []
    for case_id, names in enumerate(("groundedness", "strict", "passage_quality"), 1):
        rows.append({**ROW, "id": str(case_id), "judges": names})
    _, n_asked = run(*rows, options=["--judge", mine])
    assert n_asked == 2
    out.unlink()
    mine.write_text(STRICT.replace("name: strict", "name: strict\noffline: groundedness"))
    _, n_asked = run(*rows, options=["--judge", mine])
    assert n_asked == 3
    assert sorted((v.judge, v.case_id) for v in verdicts_in(out.read_text())) == [
        ("groundedness", "1"),
        ("strict", "1"),
        ("strict", "2"),
    ]
    resumed, n_asked = run(*rows, options=["--judge", mine, "--resume"])
    assert ("3 verdicts reused, 0 new" in resumed.stdout, n_asked) == (True, 0)


def test_unreadable_rows_are_written_once(run: Run, out: Path) -> None:
    for options in ([], ["--resume"], ["--resume"]):
        result, _ = run(1, {**ROW, "id": "2", "judges": "groundednes"}, "{broken", options=options)
        assert result.exit_code == 1
        assert sorted(statuses(out)) == [("1", "ok"), ("2", "error"), ("row 3", "error")]


def test_newer_of_two_verdicts_is_reused(run: Run, out: Path) -> None:
    run(1)
    (older,) = verdicts_in(out.read_text())
    newer = older.model_copy(update={"reason": "newer"})
    failed = older.model_copy(update={"status": "error", "error": Failure(code="timeout", message="m")})
    out.write_text("".join(f"{verdict.model_dump_json()}\n" for verdict in (older, newer, failed)))
    judge = load("groundedness", model=ScriptedModel(GOOD))
    with resume_verdict_file(out, [judge]) as previous:
        assert previous(judge, case_of({**ROW, "id": "1"}, 1)) == newer
    assert [*latest_verdicts(read_verdicts(out))] == [newer]


@pytest.mark.parametrize(
    ("change", "n_asked"),
    [
        pytest.param({"response": "At ten."}, 1, id="another response"),
        pytest.param({"metadata": {"label": 1}}, 0, id="another metadata"),
    ],
)
def test_changed_case_is_judged_again_with_a_notice_but_not_for_its_metadata(
    run: Run, change: Mapping[str, Any], n_asked: int
) -> None:
    run(1, 2)
    result, n_calls = run(1, {**ROW, "id": "2", **change}, options=["--resume"])
    assert (result.exit_code, n_calls) == (0, n_asked)
    assert ("1 previous verdicts are for cases that were removed or changed" in result.stdout) is bool(
        n_asked
    )
    assert result.stdout.splitlines()[1].split()[:3] == ["groundedness", "1.000", "2"]


def test_resume_with_another_prompt_is_refused(run: Run, out: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "mine.prompty"
    text = (
        "---\nname: mine\nversion: VERSION\nreply: {format: tags, value: S2}\nscale: {worst: 1, best: 5}\n"
        "inputs: [{name: response, type: text}]\n---\nuser:\nRate {{response}}\n"
    )
    prompt.write_text(text.replace("VERSION", "1.0.0"))
    run(1, options=["--judge", prompt], replies=["<S2>5</S2>"])
    before = out.read_bytes()
    prompt.write_text(text.replace("VERSION", "1.1.0"))
    result, n_asked = run(1, options=["--judge", prompt, "--resume"])
    assert (result.exit_code, n_asked, out.read_bytes()) == (2, 0, before)
    assert "contains verdicts of mine@1.0.0|sha:" in result.stderr
    assert "but this run uses the prompt 1.1.0|sha:" in result.stderr
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_resume_with_another_model_is_refused(run: Run, invoke: Invoke, out: Path, tmp_path: Path) -> None:
    run(1)
    other = ScriptedModel(GOOD)
    other.name = "another"
    result = invoke("run", tmp_path / "cases.jsonl", *JUDGE, "--out", out, "--resume", model=other)
    assert (result.exit_code, other.asked) == (2, [])
    assert "but this run uses another model, setting or version (another, " in result.stderr


def test_resume_with_another_version_of_the_library_is_refused(run: Run, out: Path) -> None:
    run(1)
    (verdict,) = verdicts_in(out.read_text())
    older = verdict.model_copy(update={"library": "0.0.9", "key": f"other-{verdict.key}"})
    out.write_text(f"{older.model_dump_json()}\n")
    result, n_asked = run(1, options=["--resume"])
    assert (result.exit_code, n_asked) == (2, 0)
    assert f", groundjudge {__version__}): " in result.stderr


def test_file_that_holds_no_verdicts_is_refused_and_unchanged(run: Run, out: Path) -> None:
    out.write_text('{"judge": "j"}\n')
    result, n_asked = run(1, options=["--resume"])
    assert (result.exit_code, n_asked, out.read_text()) == (2, 0, '{"judge": "j"}\n')
    assert "line 1: not a verdict" in result.stderr


def test_full_shows_previous_verdicts(run: Run) -> None:
    run(1)
    assert "reason: all of it" in run(1, options=["--resume", "--full", 1])[0].stdout


# Stopped runs


@pytest.mark.parametrize(
    ("replies", "options", "message"),
    [
        pytest.param(
            [GOOD, GOOD, ModelError("quota", "No quota")],
            [],
            "No quota; the finished verdicts are in ",
            id="quota",
        ),
        pytest.param(
            [GOOD], ["--max-calls", "2"], "calls made: 2, and --max-calls allows 2", id="budget of calls"
        ),
    ],
)
def test_stopped_run_can_be_resumed(
    run: Run, out: Path, replies: list[str | ModelError], options: list[str], message: str
) -> None:
    result, _ = run(*range(9), options=options, replies=replies)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"groundjudge: stopped: {message}")
    assert statuses(out) == [("0", "ok"), ("1", "ok")]
    assert result.stdout.splitlines()[1].split()[:3] == ["groundedness", "1.000", "2"]
    assert run(*range(9), options=["--resume"])[0].exit_code == 0
    assert len(statuses(out)) == 9


def test_fatal_error_in_the_first_row_leaves_no_file(run: Run, out: Path) -> None:
    result, _ = run(1, 2, replies=[ModelError("auth", "Bad key")])
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", "groundjudge: Bad key\n")
    assert not out.exists()


# Interrupted runs


@pytest.mark.soak
def test_interrupted_run_reports_how_to_resume(tmp_path: Path) -> None:
    path, out = tmp_path / "cases.jsonl", tmp_path / "out.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n" * 1000)
    with StandIn([Text(GOOD)], latency=0.1) as server:
        options = ["run", path, "--judge", "groundedness", "--model", "m", "--out", out]
        running = subprocess.Popen(  # noqa: S603  this very Python
            [*COMMAND, *map(str, options)],
            env={**os.environ, "OPENAI_BASE_URL": server.url},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 30
        while (not out.exists() or out.read_bytes().count(b"\n") < 3) and time.monotonic() < end:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=30)
    assert (running.returncode, stderr) == (
        1,
        f"groundjudge: stopped: interrupted; the finished verdicts are in {out}, continue with --resume\n",
    )
    assert 3 <= len(verdicts_in(out.read_text())) < 1000
