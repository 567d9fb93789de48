"""Interrupted runs can be resumed: no verdict is requested twice, lost, or mixed with another run's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND, GOOD, ROW, Invoke, verdicts_in
from scripted_model import ScriptedModel
from standin_openai import StandIn, Text

from groundjudge import CaseError, ModelError, Reply, Verdict, load
from groundjudge.runs.rows import read_rows
from groundjudge.runs.run import case_of
from groundjudge.runs.verdict_file import ResumeError, last_of_each, open_output, read_verdicts, resumed
from groundjudge.types import Request
from groundjudge.verdict import Failure

JUDGE = ["--judge", "groundedness", "--model", "m", "--concurrency", "1"]


@pytest.fixture
def cases(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows with these ids; a mapping is written unchanged."""

    def write(*ids: str | int | Mapping[str, Any]) -> Path:
        path = tmp_path / "cases.jsonl"
        rows = [{**ROW, "id": str(row)} if isinstance(row, str | int) else row for row in ids]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    return write


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def statuses(out: Path) -> list[tuple[str | None, str]]:
    return [(verdict.case_id, verdict.status) for verdict in verdicts_in(out.read_text())]


def test_resume_skips_verdicts_and_judges_errors_again(
    invoke: Invoke, cases: Callable[..., Path], out: Path
) -> None:
    path = cases(1, 2, {**ROW, "id": "3", "response": " "}, 4)
    failing = ScriptedModel(GOOD, ModelError("timeout", "late"), GOOD)
    lenient = (*JUDGE, "--empty-response", "not_applicable", "--out", out)
    first = invoke("run", path, *lenient, model=failing)
    assert (first.exit_code, statuses(out)) == (
        1,
        [("1", "ok"), ("2", "error"), ("3", "not_applicable"), ("4", "ok")],
    )
    model = ScriptedModel(GOOD)
    second = invoke("run", path, *lenient, "--resume", model=model)
    assert (second.exit_code, len(model.asked)) == (0, 1), second.output
    assert statuses(out) == [("1", "ok"), ("3", "not_applicable"), ("4", "ok"), ("2", "ok")]
    assert second.stdout.splitlines()[1].split()[:5] == ["groundedness", "1.000", "3", "0", "1"]
    assert "3 verdicts reused, 1 new" in second.stdout
    third = invoke("run", path, *lenient, "--resume", model=model)
    assert (third.exit_code, len(model.asked), len(statuses(out))) == (0, 1, 4)


def test_resume_starts_a_run_if_the_file_is_missing_or_empty(
    invoke: Invoke, cases: Callable[..., Path], out: Path
) -> None:
    for content in (None, ""):
        if content is not None:
            out.write_text(content)
        result = invoke("run", cases(1), *JUDGE, "--out", out, "--resume", model=ScriptedModel(GOOD))
        assert (result.exit_code, statuses(out)) == (0, [("1", "ok")])
        out.unlink()


def test_incomplete_last_line_is_judged_again(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    path = cases(1, 2, 3)
    invoke("run", path, *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    whole = out.read_bytes()
    for cut in (1, 10, len(whole.splitlines()[-1])):
        out.write_bytes(whole[:-cut])
        model = ScriptedModel(GOOD)
        assert invoke("run", path, *JUDGE, "--out", out, "--resume", model=model).exit_code == 0
        assert sorted(statuses(out)) == [("1", "ok"), ("2", "ok"), ("3", "ok")]
        assert len(model.asked) == (0 if cut == 1 else 1)  # only the line end was missing


def test_verdicts_of_other_judges_are_kept(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    path = cases(1, 2)
    other = ["--judge", "statement_groundedness", "--model", "m", "--concurrency", "1"]
    invoke("run", path, *other, "--out", out, model=ScriptedModel(ModelError("timeout", "late")))
    invoke("run", path, *JUDGE, "--out", out, "--resume", model=ScriptedModel(GOOD))
    assert sorted(statuses(out)) == [("1", "error"), ("1", "ok"), ("2", "error"), ("2", "ok")]


def test_unreadable_rows_are_written_once(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    path = cases(1, {**ROW, "id": "2", "judges": "groundednes"})
    path.write_text(path.read_text() + "{broken\n")
    for options in ([], ["--resume"], ["--resume"]):
        result = invoke("run", path, *JUDGE, "--out", out, *options, model=ScriptedModel(GOOD))
        assert result.exit_code == 1
        assert sorted(statuses(out)) == [("1", "ok"), ("2", "error"), ("row 3", "error")]


def test_newer_of_two_verdicts_is_reused(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    path = cases(1)
    invoke("run", path, *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    (older,) = verdicts_in(out.read_text())
    newer = older.model_copy(update={"reason": "newer"})
    failed = older.model_copy(update={"status": "error", "error": Failure(code="timeout", message="m")})
    out.write_text("".join(f"{one.model_dump_json()}\n" for one in (older, newer, failed)))
    judge = load("groundedness", model=ScriptedModel(GOOD))
    with resumed(out, [judge]) as previous:
        (row,) = (row for row in read_rows(path) if not isinstance(row, CaseError))
        assert previous(judge, case_of(row, 1)) == newer
    kept, _ = last_of_each(one for one in read_verdicts(out) if isinstance(one, Verdict))
    assert kept == [newer]


@pytest.mark.parametrize(
    ("change", "n_asked"), [({"response": "At ten."}, 1), ({"metadata": {"label": 1}}, 0)]
)
def test_changed_case_is_judged_again_with_a_notice_but_not_for_its_metadata(
    invoke: Invoke, cases: Callable[..., Path], out: Path, change: Mapping[str, Any], n_asked: int
) -> None:
    invoke("run", cases(1, 2), *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    model = ScriptedModel(GOOD)
    path = cases(1, {**ROW, "id": "2", **change})
    result = invoke("run", path, *JUDGE, "--out", out, "--resume", model=model)
    assert (result.exit_code, len(model.asked)) == (0, n_asked)
    assert ("1 previous verdicts are on cases that were removed or changed" in result.stdout) is bool(n_asked)
    assert result.stdout.splitlines()[1].split()[:3] == ["groundedness", "1.000", "2"]


def test_resume_with_another_prompt_is_refused(
    invoke: Invoke, cases: Callable[..., Path], out: Path, tmp_path: Path
) -> None:
    prompt = tmp_path / "mine.prompty"
    text = (
        "---\nname: mine\nversion: VERSION\nreply: {format: tags, value: S2}\nscale: {worst: 1, best: 5}\n"
        "inputs: [{name: response, type: text}]\n---\nuser:\nRate {{response}}\n"
    )
    prompt.write_text(text.replace("VERSION", "1.0.0"))
    options = ["--judge", prompt, "--model", "m", "--out", out]
    invoke("run", cases(1), *options, model=ScriptedModel(GOOD))
    before = out.read_bytes()
    prompt.write_text(text.replace("VERSION", "1.1.0"))
    result = invoke("run", cases(1), *options, "--resume", model=ScriptedModel(GOOD))
    assert (result.exit_code, out.read_bytes()) == (2, before)
    assert "holds verdicts of mine@1.0.0|sha:" in result.stderr
    assert "but this run uses the prompt 1.1.0|sha:" in result.stderr
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_resume_with_another_model_is_refused(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    invoke("run", cases(1), *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    other = ScriptedModel(GOOD)
    other.name = "another"
    result = invoke("run", cases(1), *JUDGE, "--out", out, "--resume", model=other)
    assert result.exit_code == 2
    assert "but this run uses another model, other settings" in result.stderr


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("{}\n", ["--resume"], "line 1: not a verdict"),
        ('{"judge": "j"}\n', ["--resume"], "line 1: not a verdict"),
        ("kept", [], "already exists: continue it with --resume, or replace it with --overwrite"),
        ("kept", ["--resume", "--overwrite"], "--overwrite replaces it: use one of them"),
    ],
)
def test_file_in_the_way_is_refused_and_unchanged(  # noqa: PLR0913  fixtures and a row of the table
    invoke: Invoke, cases: Callable[..., Path], out: Path, *, content: str, options: list[str], message: str
) -> None:
    out.write_text(content)
    result = invoke("run", cases(1), *JUDGE, "--out", out, *options, model=ScriptedModel(GOOD))
    assert (result.exit_code, out.read_text()) == (2, content)
    assert message in result.stderr


def test_resume_without_out_is_refused(invoke: Invoke, cases: Callable[..., Path]) -> None:
    result = invoke("run", cases(1), *JUDGE, "--resume", model=ScriptedModel(GOOD))
    assert (result.exit_code, result.stderr) == (
        2,
        "groundjudge: --resume needs --out PATH, the file to continue\n",
    )


@pytest.mark.parametrize("options", [{}, {"overwrite": True}, {"resume": True}])
def test_second_run_on_the_same_file_is_refused_before_it_asks(
    out: Path, cases: Callable[..., Path], invoke: Invoke, options: dict[str, bool]
) -> None:
    """Also if the file was empty when the second run began, and finished when it has its first verdict."""
    judge = load("groundedness", model="offline")
    refused: list[str] = []

    class Meanwhile(ScriptedModel):
        async def acomplete(self, request: Request) -> Reply:
            with pytest.raises(ResumeError) as error, open_output(str(out), [judge], **options):
                pass
            refused.append(error.value.code)
            return await super().acomplete(request)

    assert invoke("run", cases(1, 2), *JUDGE, "--out", out, model=Meanwhile(GOOD)).exit_code == 0
    assert refused == ["in_use", "in_use"]
    assert statuses(out) == [("1", "ok"), ("2", "ok")]


def test_full_shows_previous_verdicts(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    invoke("run", cases(1), *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    result = invoke(
        "run", cases(1), *JUDGE, "--out", out, "--resume", "--full", "1", model=ScriptedModel(GOOD)
    )
    assert "reason: all of it" in result.stdout


# Stopped runs


@pytest.mark.parametrize(
    ("replies", "options", "message"),
    [
        ([GOOD, GOOD, ModelError("quota", "No quota")], [], "No quota; the finished verdicts are in "),
        ([GOOD], ["--max-calls", "2"], "calls made: 2, and --max-calls allows 2"),
    ],
)
def test_stopped_run_can_be_resumed(  # noqa: PLR0913  fixtures and a row of the table
    invoke: Invoke,
    cases: Callable[..., Path],
    out: Path,
    *,
    replies: list[str | ModelError],
    options: list[str],
    message: str,
) -> None:
    path = cases(*range(9))
    result = invoke("run", path, *JUDGE, *options, "--out", out, model=ScriptedModel(*replies))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"groundjudge: stopped: {message}")
    assert statuses(out) == [("0", "ok"), ("1", "ok")]
    assert result.stdout.splitlines()[1].split()[:3] == ["groundedness", "1.000", "2"]
    result = invoke("run", path, *JUDGE, "--out", out, "--resume", model=ScriptedModel(GOOD))
    assert (result.exit_code, len(statuses(out))) == (0, 9)


@pytest.mark.parametrize("code", ["quota", "auth", "no_endpoint"])
def test_fatal_error_in_the_first_row_leaves_no_file(
    invoke: Invoke, cases: Callable[..., Path], out: Path, code: str
) -> None:
    result = invoke(
        "run", cases(1, 2), *JUDGE, "--out", out, model=ScriptedModel(ModelError(code, "Bad key"))
    )
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", "groundjudge: Bad key\n")
    assert not out.exists()


# Interrupted runs


def lines_in(out: Path) -> int:
    return out.read_bytes().count(b"\n") if out.exists() else 0


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
        while lines_in(out) < 3 and time.monotonic() < end:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=30)
    assert (running.returncode, stderr) == (
        1,
        f"groundjudge: stopped: interrupted; the finished verdicts are in {out}, continue with --resume\n",
    )
    assert 3 <= len(verdicts_in(out.read_text())) < 1000
