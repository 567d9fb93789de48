"""What `groundjudge run` does when the endpoint cannot be connected to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, GOOD, ROW, FileOf, on_a_terminal, run_command, verdicts_in
from standin_openai import Answer, Cut, StandIn


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "NO_PROXY": "127.0.0.1"}


def options(out: Path) -> list[str]:
    return ["--judge", "groundedness", "--model", "m", "--concurrency", "4", "--out", str(out)]


@pytest.fixture
def cases(file_of: FileOf) -> Path:
    return file_of(*({**ROW, "id": str(number)} for number in range(960)))


@pytest.mark.soak
@pytest.mark.parametrize("existing", [None, "kept"])
def test_a_closed_port_stops_the_command(cases: Path, tmp_path: Path, existing: str | None) -> None:
    out = tmp_path / "out.jsonl"
    if existing:
        out.write_text(existing)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        done = run_command("run", cases, *options(out), "--overwrite", env=environment(url))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("groundjudge: stopped: m at 127.0.0.1")
    assert "check that the endpoint is up" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (out.read_text() if out.exists() else None) == existing


@pytest.mark.soak
def test_resuming_at_a_closed_port_keeps_what_is_there(cases: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with StandIn([GOOD]) as server:
        run_command("run", cases, *options(out), "--max-calls", "9", env=environment(server.url))
    done = run_command("run", cases, *options(out), "--resume", env=environment(server.url))
    assert done.returncode == 1
    assert "continue with --resume" in done.stderr
    assert len(verdicts_in(out.read_text())) == 9


class Outage:
    """A script that answers five requests, and then only once it is over."""

    def __init__(self) -> None:
        self.n, self.is_over = 0, False

    def __call__(self, _: object) -> Answer:
        self.n += 1
        return GOOD if self.n <= 5 or self.is_over else Cut()


@pytest.mark.soak
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_without_a_terminal_waiting_is_a_line_of_stderr(
    file_of: FileOf, tmp_path: Path, *, is_interrupted: bool
) -> None:
    out, script = tmp_path / "out.jsonl", Outage()
    path = file_of(*({**ROW, "id": str(number)} for number in range(30)))
    with StandIn(script) as server:
        running = subprocess.Popen(  # noqa: S603  this very Python
            [*COMMAND, "run", str(path), *options(out)],
            env=environment(server.url),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stderr
        line = running.stderr.readline()
        if is_interrupted:
            running.send_signal(signal.SIGINT)
        else:
            script.is_over = True
        _, more = running.communicate(timeout=60)
    assert line.startswith("groundjudge: m does not answer: waiting, next attempt in ")
    kept = f"the finished verdicts are in {out}, continue with --resume"
    interrupted = (1, f"groundjudge: stopped: interrupted; {kept}\n", 5)
    n_verdicts = len(verdicts_in(out.read_text()))
    assert (running.returncode, more, n_verdicts) == (interrupted if is_interrupted else (0, "", 30))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.soak
def test_a_terminal_says_that_the_run_waits(file_of: FileOf, tmp_path: Path) -> None:
    out, script = tmp_path / "out.jsonl", Outage()
    path = file_of(*({**ROW, "id": str(number)} for number in range(30)))

    def end_it(seen: bytes) -> None:
        script.is_over = script.is_over or b"does not answer: waiting" in seen

    with StandIn(script) as server:
        more = {**environment(server.url), "COLUMNS": "120"}
        status, seen = on_a_terminal("run", path, *options(out), see=end_it, **more)
    assert status == 0
    for text in ("5/30", "m does not answer: waiting, next attempt in ", "30/30"):
        assert text in seen
    assert [verdict.status for verdict in verdicts_in(out.read_text())] == ["ok"] * 30
