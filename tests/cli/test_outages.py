"""What `groundjudge run` does when the endpoint cannot be connected to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, GOOD, ROW, FileOf, Invoke, on_a_terminal, verdicts_in
from standin_openai import Answer, Cut, StandIn

from groundjudge.models import pacing

RUN = ("--judge", "groundedness", "--model", "m", "--concurrency", "4", "--out", "out.jsonl")


@pytest.mark.soak
def test_a_closed_port_stops_the_command_and_keeps_what_is_there(
    command: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = file_of(*({**ROW, "id": str(number)} for number in range(96)))
    out = Path("out.jsonl")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        for content in ("", "kept"):
            out.write_text(content)
            result = command("run", cases, *RUN, "--overwrite")
            assert (result.exit_code, result.stdout, out.read_text()) == (1, "", content)
            assert result.stderr.startswith("groundjudge: stopped: m at 127.0.0.1")
            assert "check that the endpoint is up" in result.stderr
            assert result.stderr.count("\n") == 1
    with StandIn([GOOD]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        command("run", cases, *RUN, "--max-calls", "9", "--overwrite")
    result = command("run", cases, *RUN, "--resume")
    assert (result.exit_code, "continue with --resume" in result.stderr) == (1, True)
    assert len(verdicts_in(out.read_text())) == 9


class Outage:
    """A script that answers five requests, and then only once it is over."""

    def __init__(self) -> None:
        self.n_requests = 0
        self.is_over = False

    def __call__(self, _: object) -> Answer:
        self.n_requests += 1
        if self.n_requests <= 5 or self.is_over:
            return GOOD
        return Cut()


@pytest.fixture
def thirty(command: Invoke, file_of: FileOf) -> Path:  # noqa: ARG001  in the folder of the command
    return file_of(*({**ROW, "id": str(number)} for number in range(30)))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.soak
def test_a_terminal_says_that_the_run_waits(thirty: Path) -> None:
    script = Outage()

    def end_outage(output: bytes) -> None:
        if b"does not answer: waiting" in output:
            script.is_over = True

    with StandIn(script) as server:
        status, output = on_a_terminal(
            "run", thirty, *RUN, see=end_outage, OPENAI_BASE_URL=server.url, COLUMNS="120"
        )
    assert status == 0
    assert "m does not answer: waiting; next attempt in " in output
    assert "30/30" in output
    assert [verdict.status for verdict in verdicts_in(Path("out.jsonl").read_text())] == ["ok"] * 30


@pytest.mark.soak
def test_without_a_terminal_waiting_is_a_line_of_stderr(
    command: Invoke, thirty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FIRST_PAUSE", "MAX_PAUSE"):
        monkeypatch.setattr(pacing, name, 0.01)
    with StandIn([*[GOOD] * 5, *[Cut()] * 30, GOOD]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = command("run", thirty, *RUN)
    lines = {line.rpartition(" in ")[0] for line in result.stderr.splitlines()}
    assert (result.exit_code, lines) == (0, {"groundjudge: m does not answer: waiting; next attempt"})
    assert len(verdicts_in(Path("out.jsonl").read_text())) == 30


@pytest.mark.soak
def test_a_run_that_waits_can_be_interrupted(thirty: Path) -> None:
    with StandIn(Outage()) as server:
        line = [*COMMAND, "run", str(thirty), *RUN]
        environment = {**os.environ, "OPENAI_BASE_URL": server.url}
        running = subprocess.Popen(line, env=environment, stderr=subprocess.PIPE)  # noqa: S603  this very Python
        assert running.stderr
        assert b"m does not answer: waiting; next attempt in " in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        _, more = running.communicate(timeout=60)
    remedy = b"the finished verdicts are in out.jsonl, continue with --resume"
    assert (running.returncode, more) == (1, b"groundjudge: stopped: interrupted; %b\n" % remedy)
    assert len(verdicts_in(Path("out.jsonl").read_text())) == 5
