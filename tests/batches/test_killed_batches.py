"""Commands that are killed at each step, over and over: each row has one verdict, nothing is paid twice."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NamedTuple

import pytest
from batch_commands import ANTHROPIC, OPENAI, BatchCommands, by_number, environment, rows
from command_line import Invoke
from standin_batches import BatchStandIn, Call, Moment, Part, Stop, Unanswered

from groundjudge.batches.anthropic import AnthropicBatches
from groundjudge.batches.openai import OpenAIBatches

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

KILLS = 5
AT_MOST = 2
N_ROWS = 14
"""Enough for a part more than there are kills, and one to spare."""


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchCommands]:
    """The commands of a run of several batches."""
    with BatchStandIn() as server:
        for name, value in environment(server).items():
            monkeypatch.setenv(name, value)
        for provider in (OpenAIBatches, AnthropicBatches):
            monkeypatch.setattr(provider, "max_requests", AT_MOST)
        commands = BatchCommands(server, invoke, tmp_path)
        commands.write_cases(rows(N_ROWS))
        yield commands


def kill(
    run: BatchCommands, arguments: list[str], stop: Stop, until: Callable[[], bool] = lambda: True
) -> None:
    """Run a command, and kill it once it is held; what it asked for then does not take effect later."""
    running = run.start(arguments, AT_MOST)
    stop.wait()
    while not until():
        assert running.is_alive()
        time.sleep(0.01)
    running.kill()
    assert ended(running) == -signal.SIGKILL
    stop.cut()


def ended(running: ForkServerProcess) -> int | None:
    """The exit status of a command, once it has ended."""
    running.join(60)
    return running.exitcode


class Step(NamedTuple):
    """Where a command is killed: at which call, at which moment of it, and at which one of those calls."""

    call: Call
    moment: Moment
    nth: int = 1


def check(run: BatchCommands) -> None:
    """Let the commands end, and check that each row has one verdict and each request was paid once."""
    assert run.submit().exit_code == 0
    collected = run.collect()
    assert collected.exit_code == 0, collected.output
    assert run.results() == {str(number): 1.0 for number in range(N_ROWS)}
    assert {*run.server.paid().values()} == {1}
    assert sum(run.server.paid().values()) == N_ROWS
    assert len(run.server.batches) == N_ROWS / AT_MOST
    assert not run.server.uploads()


@pytest.mark.parametrize(
    ("model", "step"),
    [
        (OPENAI, Step("upload", "before")),
        (OPENAI, Step("upload", "after")),
        (OPENAI, Step("upload", "before", 2)),
        (OPENAI, Step("create", "before")),
        (OPENAI, Step("create", "after")),
        (OPENAI, Step("create", "before", 2)),
        (OPENAI, Step("list", "before")),
        (ANTHROPIC, Step("create", "before")),
        (ANTHROPIC, Step("create", "after")),
    ],
)
def test_submit_is_killed(run: BatchCommands, model: str, step: Step) -> None:
    run.model = model
    if step.call == "list":  # it looks for a batch whose answer was lost before
        kill(run, run.to_submit, run.server.stop("create", "after"))
    for _ in range(KILLS):
        kill(run, run.to_submit, run.server.stop(*step))
    check(run)


@pytest.mark.parametrize(
    ("model", "step"),
    [
        (OPENAI, Step("retrieve", "before")),
        (OPENAI, Step("retrieve", "after", 4)),
        (OPENAI, Step("content", "before")),
        (OPENAI, Step("content", "midway")),
        (OPENAI, Step("content", "after")),
        (OPENAI, Step("content", "before", 2)),
        (OPENAI, Step("delete", "before")),
        (OPENAI, Step("delete", "after")),
        (OPENAI, Step("files", "before", 2)),
        (ANTHROPIC, Step("results", "before")),
        (ANTHROPIC, Step("results", "midway")),
        (ANTHROPIC, Step("results", "before", 2)),
    ],
)
def test_collect_is_killed(run: BatchCommands, model: str, step: Step) -> None:
    run.model = model
    assert run.submit().exit_code == 0
    for _ in range(KILLS):
        kill(run, run.to_collect, run.server.stop(*step))
    check(run)


@pytest.mark.parametrize(
    ("model", "step"),
    [
        (OPENAI, Step("upload", "after")),
        (OPENAI, Step("create", "before")),
        (OPENAI, Step("create", "after")),
        (OPENAI, Step("content", "midway")),
        (OPENAI, Step("delete", "after")),
        (OPENAI, Step("retrieve", "after", 3)),
        (ANTHROPIC, Step("create", "before")),
        (ANTHROPIC, Step("create", "after")),
        (ANTHROPIC, Step("results", "midway")),
    ],
)
def test_a_run_with_a_limit_is_killed(run: BatchCommands, model: str, step: Step) -> None:
    """The next batch is sent when one has ended: by `collect`, which is killed while it sends or fetches."""
    run.model, run.options = model, (*run.options, "--max-requests", str(AT_MOST))
    if step.call == "create":
        kill(run, run.to_submit, run.server.stop(*step))
    assert run.submit().exit_code == 0
    for _ in range(KILLS):
        kill(run, run.to_collect, run.server.stop(*step))
    check(run)
    assert run.server.most_open == 1


@pytest.mark.parametrize(
    ("model", "step"),
    [
        (OPENAI, Step("retrieve", "after", 5)),
        (OPENAI, Step("content", "midway")),
        (OPENAI, Step("content", "after", 2)),
        (ANTHROPIC, Step("retrieve", "after", 5)),
        (ANTHROPIC, Step("results", "midway")),
    ],
)
@pytest.mark.parametrize("late_share", [0.0, 0.5])
def test_a_command_that_waits_for_results_is_killed(
    run: BatchCommands, model: str, step: Step, late_share: float
) -> None:
    """Results are late, and downloads are cut besides."""
    run.model, run.server.late_for, run.server.late_share = model, 3, late_share
    assert run.submit().exit_code == 0
    for _ in range(3):
        kill(run, run.to_collect, run.server.stop(*step))
        run.server.fail("content" if model == OPENAI else "results", Part(0.5))
    check(run)


@pytest.mark.parametrize("step", [Step("upload", "after"), Step("create", "before"), Step("create", "after")])
def test_a_command_that_sends_what_was_refused_is_killed(run: BatchCommands, step: Step) -> None:
    run.server.ends = ["failed", "failed", "failed", "completed"]
    assert run.submit().exit_code == 0
    assert run.collect().exit_code == 1
    for _ in range(2):
        kill(run, [*run.to_collect, "--finish", "batch"], run.server.stop(*step))
    finished = run.collect("--finish", "batch")
    assert finished.exit_code == 0, finished.output
    assert run.results() == {str(number): 1.0 for number in range(N_ROWS)}
    assert {*run.server.paid().values()} == {1}
    assert not run.server.uploads()


@pytest.mark.parametrize("n_bytes_lost", [0, 1, 40])
def test_collect_is_killed_while_it_writes_verdicts(run: BatchCommands, n_bytes_lost: int) -> None:
    middle = N_ROWS // 2
    run.server.script = by_number({middle: Unanswered("expired")})
    assert run.submit().exit_code == 0
    for _ in range(KILLS):
        stop = run.server.stop("chat")
        kill(run, [*run.to_collect, "--finish", "online"], stop, until=lambda: len(lines(run)) >= middle)
        run.out.write_bytes(run.out.read_bytes()[: -n_bytes_lost or None])
    finished = run.collect("--finish", "online")
    assert finished.exit_code == 0, finished.output
    assert run.results() == {str(number): 1.0 for number in range(N_ROWS)}
    assert {*run.server.paid().values()} == {1}
    assert len(run.server.chats) == 1  # the calls that were cut never took effect


def lines(run: BatchCommands) -> list[bytes]:
    return run.out.read_bytes().splitlines() if run.out.exists() else []


@pytest.mark.parametrize(
    "step",
    [
        Step("upload", "after"),
        Step("create", "before"),
        Step("create", "after"),
        Step("content", "midway"),
        Step("retrieve", "after"),
    ],
)
def test_a_second_round_is_killed(run: BatchCommands, step: Step) -> None:
    failed = range(0, N_ROWS, 2)
    run.server.script = by_number(dict.fromkeys(failed, Unanswered("expired")))
    assert run.submit().exit_code == 0
    assert run.collect().exit_code == 1
    run.server.script = by_number({})
    for _ in range(3):
        kill(run, [*run.to_collect, "--finish", "batch"], run.server.stop(*step))
    finished = run.collect("--finish", "batch")
    assert finished.exit_code == 0, finished.output
    assert run.results() == {str(number): 1.0 for number in range(N_ROWS)}
    assert sorted(run.server.paid().values()) == [1] * (N_ROWS - len(failed)) + [2] * len(failed)


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
def test_a_batch_that_is_created_after_its_command_was_killed_is_found(
    run: BatchCommands, model: str
) -> None:
    run.model, run.patience = model, ("--listed-within", "60")
    stop = run.server.stop("create", nth=2)
    running = run.start(run.to_submit, AT_MOST)
    stop.wait()
    running.kill()
    assert ended(running) == -signal.SIGKILL
    looking = run.server.stop("list")
    again = run.start(run.to_submit, AT_MOST)
    looking.wait()
    stop.go_on()  # the provider was slow
    while len(run.server.batches) < 2:
        time.sleep(0.01)
    looking.go_on()
    assert ended(again) == 0
    check(run)


def test_a_second_command_is_refused_while_one_is_running(run: BatchCommands) -> None:
    stop = run.server.stop("create")
    running = run.start(run.to_submit, AT_MOST)
    stop.wait()
    for refused in (run.submit(), run.collect(), run.invoke("batch", "status", run.out)):
        assert refused.exit_code == 2
        assert "in_use" in refused.output or "another" in refused.output
    stop.go_on()
    assert ended(running) == 0
    check(run)
