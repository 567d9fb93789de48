"""Commands that are killed at a call, over and over: each row has one verdict, nothing is paid twice."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from batch_commands import ANTHROPIC, OPENAI, BatchCommands, by_number
from standin_batches import Call, Moment, Part, Stop, Unanswered
from stepped_commands import status_of

pytest_plugins = ["batch_servers"]
pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

KILLS = 2
AT_MOST = 2
N_ROWS = 8
"""Enough for a part more than there are kills, and one to spare."""
ALL = {str(number): 1.0 for number in range(N_ROWS)}


def kill(
    run: BatchCommands, arguments: list[str], stop: Stop, until: Callable[[], bool] = lambda: True
) -> None:
    """Run a command, and kill it once it is held; what it asked for then does not take effect later."""
    running = run.start(arguments)
    stop.wait()
    while not until():
        assert running.is_alive()
        time.sleep(0.01)
    running.kill()
    assert status_of(running) == -signal.SIGKILL
    stop.cut()


def check(run: BatchCommands, *more: str, n_paid: int = N_ROWS) -> None:
    """Let the commands end, and check that each row has one verdict and each request was paid once."""
    collected = run.collect(*more)
    assert collected.exit_code == 0, collected.output
    assert run.results() == ALL
    assert sum(run.server.paid().values()) == n_paid
    assert not run.server.uploads()


# From the commands of a run to the arguments of the command that is killed.


def submit(run: BatchCommands) -> list[str]:
    return run.to_submit


def collect(run: BatchCommands) -> list[str]:
    assert run.submit().exit_code == 0
    return run.to_collect


def collect_with_a_limit(run: BatchCommands) -> list[str]:
    """It sends the next batch when one has ended."""
    run.options = (*run.options, "--max-requests", str(AT_MOST))
    return collect(run)


def collect_late_results(run: BatchCommands) -> list[str]:
    run.server.late_for, run.server.late_share = 3, 0.5
    return collect(run)


def send_again_what_expired(run: BatchCommands) -> list[str]:
    run.server.script = by_number(dict.fromkeys(range(0, N_ROWS, 2), Unanswered("expired")))
    return collect_again(run)


def collect_again(run: BatchCommands) -> list[str]:
    collect(run)
    assert run.collect().exit_code == 1
    run.server.script = by_number({})
    return [*run.to_collect, "--finish", "batch"]


@pytest.mark.parametrize(
    ("command", "model", "call", "moment", "nth"),
    [
        (submit, OPENAI, "create", "after", 1),
        (submit, OPENAI, "list", "before", 1),
        (submit, ANTHROPIC, "create", "after", 1),
        (collect, OPENAI, "retrieve", "after", 4),
        (collect, OPENAI, "content", "midway", 1),
        (collect, OPENAI, "delete", "after", 1),
        (collect, ANTHROPIC, "results", "midway", 1),
        (collect_with_a_limit, OPENAI, "create", "after", 1),
        (collect_late_results, ANTHROPIC, "results", "midway", 1),
        (send_again_what_expired, OPENAI, "create", "after", 1),
    ],
)
def test_a_command_is_killed_at_a_call(  # noqa: PLR0913, PLR0917  a row of the table
    batches: Any,
    command: Callable[[BatchCommands], list[str]],
    model: str,
    call: Call,
    moment: Moment,
    nth: int,
) -> None:
    run: BatchCommands = batches(N_ROWS, model=model, at_most=AT_MOST)
    arguments = command(run)
    if call == "list":  # it looks for a batch whose answer was lost before
        kill(run, arguments, run.server.stop("create", "after"))
    for _ in range(KILLS):
        kill(run, arguments, run.server.stop(call, moment, nth))
        if command is collect_late_results:  # downloads are cut besides
            run.server.fail("content" if model == OPENAI else "results", Part(0.5))
    if command is submit:
        assert run.submit().exit_code == 0
    finish = ("--finish", "batch") if "--finish" in arguments else ()
    n_again = N_ROWS // 2 if command is send_again_what_expired else 0
    check(run, *finish, n_paid=N_ROWS + n_again)
    assert run.server.most_open == 1 or command is not collect_with_a_limit


def test_collect_is_killed_while_it_writes_verdicts(batches: Any) -> None:
    run: BatchCommands = batches(N_ROWS, at_most=AT_MOST)
    run.out.touch()
    run.server.script = by_number({N_ROWS // 2: Unanswered("expired")})
    arguments = [*collect(run), "--finish", "online"]
    for _ in range(KILLS):
        kill(run, arguments, run.server.stop("chat"), lambda: run.out.read_text().count("\n") >= N_ROWS // 2)
        run.out.write_bytes(run.out.read_bytes()[:-40])
    check(run, "--finish", "online")
    assert len(run.server.chats) == 1  # the calls that were cut never took effect
