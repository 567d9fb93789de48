"""What `groundjudge run` does when the endpoint cannot be connected to."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import COMMAND, GOOD, ROW, run_command, verdicts_in
from standin_openai import Answer, Cut, StandIn


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "NO_PROXY": "127.0.0.1"}


def options(out: Path) -> list[str]:
    return ["--judge", "groundedness", "--model", "m", "--concurrency", "4", "--out", str(out)]


@pytest.fixture
def cases(file_of: Callable[..., Path]) -> Path:
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
def test_without_a_terminal_waiting_is_a_line_of_stderr(file_of: Callable[..., Path], tmp_path: Path) -> None:
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
        script.is_over = True
        _, more = running.communicate(timeout=60)
    assert line.startswith("groundjudge: m does not answer: waiting, next attempt in ")
    assert (running.returncode, more) == (0, "")
    assert [verdict.status for verdict in verdicts_in(out.read_text())] == ["ok"] * 30


@pytest.mark.soak
def test_ctrl_c_ends_a_command_that_waits(file_of: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    path = file_of(*({**ROW, "id": str(number)} for number in range(30)))
    with StandIn(Outage()) as server:
        running = subprocess.Popen(  # noqa: S603  this very Python
            [*COMMAND, "run", str(path), *options(out)],
            env=environment(server.url),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stderr
        assert "does not answer" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        _, more = running.communicate(timeout=60)
    assert running.returncode == 1
    assert (
        more
        == f"groundjudge: stopped: interrupted; the finished verdicts are in {out}, continue with --resume\n"
    )
    assert len(verdicts_in(out.read_text())) == 5


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.soak
def test_a_terminal_says_that_the_run_waits(file_of: Callable[..., Path], tmp_path: Path) -> None:
    out, script = tmp_path / "out.jsonl", Outage()
    path = file_of(*({**ROW, "id": str(number)} for number in range(30)))
    with StandIn(script) as server:
        pid, terminal = pty.fork()
        if pid == 0:
            arguments = [*COMMAND, "run", str(path), *options(out)]
            os.execve(COMMAND[0], arguments, {**environment(server.url), "COLUMNS": "120"})  # noqa: S606
        seen = b""
        while chunk := read(terminal):
            seen += chunk
            script.is_over = script.is_over or b"does not answer: waiting" in seen
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"5/30" in seen
    assert b"m does not answer: waiting, next attempt in " in seen
    assert b"30/30" in seen
    assert [json.loads(line)["status"] for line in out.read_text().splitlines()] == ["ok"] * 30


def read(terminal: int) -> bytes:
    """What the terminal shows next; nothing at its end."""
    select.select([terminal], [], [], 60)
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other side is closed
        return b""
