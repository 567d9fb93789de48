"""What `groundjudge run` does when the endpoint cannot be connected to."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from command_line import GOOD, ROW, FileOf, Invoke, on_a_terminal, verdicts_in
from standin_openai import Answer, Cut, StandIn

RUN = ("--judge", "groundedness", "--model", "m", "--concurrency", "4", "--out", "out.jsonl")


def test_a_closed_port_stops_the_command_and_keeps_what_is_there(
    command: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, out = file_of(*({**ROW, "id": str(number)} for number in range(96))), Path("out.jsonl")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        for kept in ("", "kept"):
            out.write_text(kept)
            done = command("run", cases, *RUN, "--overwrite")
            assert (done.exit_code, done.stdout, out.read_text()) == (1, "", kept)
            assert done.stderr.startswith("groundjudge: stopped: m at 127.0.0.1")
            assert "check that the endpoint is up" in done.stderr
            assert done.stderr.count("\n") == 1
    with StandIn([GOOD]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        command("run", cases, *RUN, "--max-calls", "9", "--overwrite")
    done = command("run", cases, *RUN, "--resume")
    assert (done.exit_code, "continue with --resume" in done.stderr) == (1, True)
    assert len(verdicts_in(out.read_text())) == 9


class Outage:
    """A script that answers five requests, and then only once it is over."""

    def __init__(self) -> None:
        self.n, self.is_over = 0, False

    def __call__(self, _: object) -> Answer:
        self.n += 1
        return GOOD if self.n <= 5 or self.is_over else Cut()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.soak
@pytest.mark.parametrize("has_bar", [True, False])
def test_a_terminal_says_that_the_run_waits(
    file_of: FileOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, has_bar: bool
) -> None:
    script, cases = Outage(), file_of(*({**ROW, "id": str(number)} for number in range(30)))
    monkeypatch.chdir(tmp_path)

    def end_it(seen: bytes) -> None:
        script.is_over = script.is_over or b"does not answer: waiting" in seen

    with StandIn(script) as server:
        more = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "COLUMNS": "120"}
        out = () if has_bar else ("--out", "-")
        status, seen = on_a_terminal("run", cases, *RUN, *out, see=end_it, **more)
    assert status == 0
    assert ("groundjudge: m does not answer" in seen, "30/30" in seen) == (not has_bar, has_bar)
    assert "m does not answer: waiting, next attempt in " in seen
    if has_bar:
        assert [verdict.status for verdict in verdicts_in(Path("out.jsonl").read_text())] == ["ok"] * 30
