"""A run that ended early is gone on with: nothing is asked twice, nothing is lost, nothing is mixed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND, GOOD, ROW, Invoke, verdicts_in
from many_rows import SOAK_ROWS
from scripted_model import ScriptedModel
from standin_openai import Answer, Hang, StandIn, Text

from groundjudge import ModelError, load
from groundjudge.runs.resume import ResumeError, take_up

JUDGE = ["--judge", "groundedness", "--model", "m", "--concurrency", "1"]


@pytest.fixture
def cases(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows with these ids; a mapping among them as it is."""

    def write(*ids: str | int | Mapping[str, Any]) -> Path:
        path = tmp_path / "cases.jsonl"
        rows = [{**ROW, "id": str(one)} if isinstance(one, str | int) else one for one in ids]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path

    return write


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def told(out: Path) -> list[tuple[str | None, str]]:
    return [(verdict.case_id, verdict.status) for verdict in verdicts_in(out.read_text())]


def test_what_is_done_is_skipped_and_errors_are_judged_again(
    invoke: Invoke, cases: Callable[..., Path], out: Path
) -> None:
    path = cases(1, 2, {**ROW, "id": "3", "response": " "}, 4)
    failing = ScriptedModel(GOOD, ModelError("timeout", "late"), GOOD)
    first = invoke("run", path, *JUDGE, "--out", out, model=failing)
    assert (first.exit_code, told(out)) == (
        1,
        [("1", "ok"), ("2", "error"), ("3", "not_applicable"), ("4", "ok")],
    )
    model = ScriptedModel(GOOD)
    second = invoke("run", path, *JUDGE, "--out", out, "--resume", model=model)
    assert (second.exit_code, len(model.asked)) == (0, 1), second.output
    assert told(out) == [("1", "ok"), ("3", "not_applicable"), ("4", "ok"), ("2", "ok")]
    assert second.stdout.splitlines()[1].split()[:5] == ["groundedness", "1.000", "3", "0", "1"]
    assert "3 verdicts were there already, 1 are new" in second.stdout
    third = invoke("run", path, *JUDGE, "--out", out, "--resume", model=model)
    assert (third.exit_code, len(model.asked), len(told(out))) == (0, 1, 4)


def test_there_may_be_nothing_to_go_on_with(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    for left in (None, ""):
        if left is not None:
            out.write_text(left)
        result = invoke("run", cases(1), *JUDGE, "--out", out, "--resume", model=ScriptedModel(GOOD))
        assert (result.exit_code, told(out)) == (0, [("1", "ok")])
        out.unlink()


def test_a_half_written_last_line_is_judged_again(
    invoke: Invoke, cases: Callable[..., Path], out: Path
) -> None:
    path = cases(1, 2, 3)
    invoke("run", path, *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    whole = out.read_bytes()
    for cut in (1, 10, len(whole.splitlines()[-1])):
        out.write_bytes(whole[:-cut])
        model = ScriptedModel(GOOD)
        assert invoke("run", path, *JUDGE, "--out", out, "--resume", model=model).exit_code == 0
        assert sorted(told(out)) == [("1", "ok"), ("2", "ok"), ("3", "ok")]
        assert len(model.asked) == (0 if cut == 1 else 1)  # only the end of the line was missing


def test_verdicts_of_other_judges_stay(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    path = cases(1, 2)
    other = ["--judge", "statement_groundedness", "--model", "m", "--concurrency", "1"]
    invoke("run", path, *other, "--out", out, model=ScriptedModel(ModelError("timeout", "late")))
    invoke("run", path, *JUDGE, "--out", out, "--resume", model=ScriptedModel(GOOD))
    assert Counter(told(out)) == {
        ("1", "error"): 1,
        ("2", "error"): 1,
        ("1", "ok"): 1,
        ("2", "ok"): 1,
    }


def test_rows_that_could_not_be_read_are_told_once(
    invoke: Invoke, cases: Callable[..., Path], out: Path
) -> None:
    path = cases(1, {**ROW, "id": "2", "judges": "groundednes"})
    path.write_text(path.read_text() + "{broken\n")
    for _ in range(3):
        result = invoke(
            "run",
            path,
            *JUDGE,
            "--out",
            out,
            *(["--resume"] if out.exists() else []),
            model=ScriptedModel(GOOD),
        )
        assert result.exit_code == 1
        assert sorted(told(out)) == [("1", "ok"), ("2", "error"), ("row 3", "error")]


def test_a_case_that_is_another_now_is_judged_again_with_a_notice(
    invoke: Invoke, cases: Callable[..., Path], out: Path
) -> None:
    invoke("run", cases(1, 2), *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    model = ScriptedModel(GOOD)
    changed = cases(1, {**ROW, "id": "2", "response": "It sails at ten."})
    result = invoke("run", changed, *JUDGE, "--out", out, "--resume", model=model)
    assert len(model.asked) == 1
    assert "1 earlier verdicts are on cases that are not there, or were different then" in result.stdout
    assert result.stdout.splitlines()[1].split()[:3] == ["groundedness", "1.000", "2"]


def test_metadata_makes_no_other_case(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    invoke("run", cases({**ROW, "id": "1"}), *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    model = ScriptedModel(GOOD)
    path = cases({**ROW, "id": "1", "metadata": {"label": 1}})
    assert invoke("run", path, *JUDGE, "--out", out, "--resume", model=model).exit_code == 0
    assert model.asked == []


def test_another_prompt_is_not_mixed_in(
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
    assert "by the prompt 1.1.0|sha:" in result.stderr
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_another_model_is_not_mixed_in(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    invoke("run", cases(1), *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    other = ScriptedModel(GOOD)
    other.name = "another"
    result = invoke("run", cases(1), *JUDGE, "--out", out, "--resume", model=other)
    assert result.exit_code == 2
    assert "by another model, with other parameters" in result.stderr


@pytest.mark.parametrize("line", ["{}", "not JSON", '{"judge": "j"}'])
def test_a_file_of_something_else_is_left_alone(
    invoke: Invoke, cases: Callable[..., Path], out: Path, line: str
) -> None:
    out.write_text(f"{line}\n")
    result = invoke("run", cases(1), *JUDGE, "--out", out, "--resume", model=ScriptedModel(GOOD))
    assert (result.exit_code, out.read_text()) == (2, f"{line}\n")
    assert "line 1: this is no verdict" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "is there already: --resume goes on with it, --overwrite begins it anew"),
        (["--resume", "--overwrite"], "--resume goes on with the file --out, --overwrite begins it anew"),
    ],
)
def test_a_file_is_not_overwritten_by_oversight(
    invoke: Invoke, cases: Callable[..., Path], out: Path, options: list[str], message: str
) -> None:
    out.write_text("kept")
    result = invoke("run", cases(1), *JUDGE, "--out", out, *options, model=ScriptedModel(GOOD))
    assert (result.exit_code, out.read_text()) == (2, "kept")
    assert message in result.stderr


def test_stdout_cannot_be_gone_on_with(invoke: Invoke, cases: Callable[..., Path]) -> None:
    result = invoke("run", cases(1), *JUDGE, "--resume", model=ScriptedModel(GOOD))
    assert (result.exit_code, result.stderr) == (2, "groundjudge: --resume goes on with the file --out\n")


def test_two_runs_do_not_write_to_one_file(out: Path, cases: Callable[..., Path], invoke: Invoke) -> None:
    invoke("run", cases(1), *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    fcntl = pytest.importorskip("fcntl")
    with out.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ResumeError, match="another run is writing to it"):
            take_up(out, [load("groundedness", model="offline")])
        result = invoke("run", cases(1), *JUDGE, "--out", out, "--overwrite", model=ScriptedModel(GOOD))
    assert result.exit_code == 2
    assert told(out) == [("1", "ok")]


def test_full_shows_what_was_there_already(invoke: Invoke, cases: Callable[..., Path], out: Path) -> None:
    invoke("run", cases(1), *JUDGE, "--out", out, model=ScriptedModel(GOOD))
    result = invoke(
        "run", cases(1), *JUDGE, "--out", out, "--resume", "--full", "1", model=ScriptedModel(GOOD)
    )
    assert "reason: all of it" in result.stdout


# A run that is stopped


def test_a_quota_that_is_used_up_stops_the_run_and_resume_goes_on(
    invoke: Invoke, cases: Callable[..., Path], out: Path
) -> None:
    path = cases(*range(9))
    model = ScriptedModel(GOOD, GOOD, ModelError("quota", "You exceeded your current quota"))
    result = invoke("run", path, *JUDGE, "--out", out, model=model)
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "groundjudge: stopped: You exceeded your current quota; what is done is in "
    )
    assert told(out) == [("0", "ok"), ("1", "ok")]
    assert result.stdout.splitlines()[1].split()[:3] == ["groundedness", "1.000", "2"]
    result = invoke("run", path, *JUDGE, "--out", out, "--resume", model=ScriptedModel(GOOD))
    assert (result.exit_code, len(told(out))) == (0, 9)


@pytest.mark.parametrize("code", ["quota", "auth", "no_endpoint"])
def test_a_run_that_could_do_nothing(
    invoke: Invoke, cases: Callable[..., Path], out: Path, code: str
) -> None:
    result = invoke(
        "run", cases(1, 2), *JUDGE, "--out", out, model=ScriptedModel(ModelError(code, "Bad key"))
    )
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", "groundjudge: Bad key\n")
    assert not out.exists()


def test_a_budget_stops_the_run_and_resume_goes_on(
    invoke: Invoke, cases: Callable[..., Path], out: Path
) -> None:
    path = cases(*range(9))
    result = invoke("run", path, *JUDGE, "--out", out, "--max-calls", "4", model=ScriptedModel(GOOD))
    assert result.exit_code == 1
    assert "stopped: 4 calls were made, and max_calls allows 4" in result.stderr
    assert len(told(out)) == 4
    result = invoke(
        "run", path, *JUDGE, "--out", out, "--max-calls", "5", "--resume", model=ScriptedModel(GOOD)
    )
    assert (result.exit_code, len(told(out))) == (0, 9)


# A run that is killed


def start(*arguments: object, url: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OPENAI_BASE_URL": url}
    return subprocess.Popen(  # noqa: S603  this very Python
        [*COMMAND, "run", *map(str, arguments)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def scores(out: Path) -> dict[str | None, tuple[Any, ...]]:
    """What matters of each verdict: not how long it took."""
    varying = {"latency_s", "retries"}
    return {v.case_id: tuple(v.model_dump(exclude=varying).items()) for v in verdicts_in(out.read_text())}


def lines_in(out: Path) -> int:
    return out.read_bytes().count(b"\n") if out.exists() else 0


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
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
        f"groundjudge: stopped: interrupted; what is done is in {out}, --resume goes on\n",
    )
    assert 3 <= len(verdicts_in(out.read_text())) < 1000


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("size", "kills"), [(120, 1), pytest.param(SOAK_ROWS, 5, marks=pytest.mark.soak)])
def test_killed_again_and_again_a_run_ends_with_every_verdict_once(
    tmp_path: Path, size: int, kills: int
) -> None:
    chance = random.Random(11)  # noqa: S311  no secret
    concurrency, path = 16, tmp_path / "cases.jsonl"
    rows = [{**ROW, "id": str(n), "response": f"It sails at {n}."} for n in range(size)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    allowed = size  # how many more answers there are: with none left, a run hangs until it is killed

    def script(body: dict[str, Any]) -> Answer:
        nonlocal allowed
        allowed -= 1
        if allowed < 0:
            return Hang()
        return Text(f"<S1>{len(str(body['messages']))}</S1><S2>{1 + len(str(body)) % 5}</S2>")

    with StandIn(script, latency=0.05) as server:
        options = [path, "--judge", "groundedness", "--model", "m", "--concurrency", concurrency, "--out"]
        whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
        assert start(*options, whole, url=server.url).wait() == 0
        assert len(server.requests) == size
        del server.requests[:]
        for _ in range(kills):
            allowed = size // 8
            begun = lines_in(out)
            running = start(*options, out, "--resume", url=server.url)
            while lines_in(out) <= begun and running.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.random() / 4)
            running.send_signal(signal.SIGKILL)
            assert running.wait() == -signal.SIGKILL
        allowed = 2 * size
        assert start(*options, out, "--resume", url=server.url).wait() == 0
        assert len(verdicts_in(out.read_text())) == size
        assert scores(out) == scores(whole)
        assert len(server.requests) <= size + kills * concurrency
        assert len(server.requests) >= size
