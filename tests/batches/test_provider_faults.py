"""What goes wrong at a provider of batches: nothing that is paid is lost, and commands say what happened."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from batch_commands import ANTHROPIC, OPENAI, BatchCommands, both, by_number, environment, rows
from command_line import COMMAND, GOOD
from standin_batches import Call, Missing, Part, Unanswered
from standin_openai import Cut, Status

from groundjudge.batches.state import PartOfRun, open_state
from groundjudge.batches.submit import RESULTS_WITHIN, TRIES

pytest_plugins = ["batch_servers"]

DOWNLOAD: dict[str, Call] = {OPENAI: "content", ANTHROPIC: "results"}
ALL = dict.fromkeys("0123", 1.0)


def begun(batches: Any, model: str = OPENAI, n_rows: int = 4, **options: Any) -> BatchCommands:
    """A run that is submitted."""
    run: BatchCommands = batches(n_rows, model=model, **options)
    submitted = run.submit()
    assert submitted.exit_code == 0, submitted.output
    return run


def check(run: BatchCommands, *more: str) -> str:
    """Collect everything; returns what the command printed."""
    collected = run.collect(*more)
    assert collected.exit_code == 0, collected.output
    assert run.results() == {str(number): 1.0 for number in range(len(run.cases.read_text().splitlines()))}
    assert {*run.server.paid().values()} == {1}
    assert not run.server.uploads()
    assert parts_of(run) == {"collected"}
    return collected.output


def parts_of(run: BatchCommands) -> set[str]:
    return {part.step for part in changed_parts(run)}


def changed_parts(run: BatchCommands, **changes: Any) -> list[PartOfRun]:
    """The parts of a run, after a change to each."""
    with open_state(Path(f"{run.out}.batch")) as state:
        state.write(state.settings, [part.model_copy(update=changes) for part in state.parts])
        return [*state.parts]


# --- downloads ------------------------------------------------------------------------------------

CUTS: list[Sequence[Part | Cut | Status]] = [
    [Part(0.5)],
    [Part(0.0)],
    [Part(0.999)],
    [Part(1.0, is_sized=False)],
    [Part(0.5, is_sized=False), Part(0.5)],
    [Part(0.5), Cut(), Part(0.1), Status(500), Part(0.7)],
    [Part(0.3)] * 3 * TRIES,
    [Part(0.0)] * (TRIES - 1),
    [Part(0.5, is_cut=False), Part(0.9, is_cut=False)],
    [Part(0.0, is_cut=False)],
]


@both
@pytest.mark.parametrize("has_ranges", [True, pytest.param(False, marks=pytest.mark.soak)])
@pytest.mark.parametrize("cuts", [CUTS[4], *(pytest.param(cuts, marks=pytest.mark.soak) for cuts in CUTS)])
def test_a_download_that_is_cut_is_fetched_again(
    batches: Any, model: str, cuts: Sequence[Part | Cut | Status], *, has_ranges: bool
) -> None:
    run = begun(batches, model, has_ranges=has_ranges)
    for nth, cut in enumerate(cuts, 1):
        run.server.fail(DOWNLOAD[model], cut, nth=nth)
    check(run)


@pytest.mark.soak
@pytest.mark.parametrize("has_ranges", [True, False])
def test_the_file_of_errors_is_fetched_again_too(batches: Any, *, has_ranges: bool) -> None:
    run = begun(batches, script=by_number({1: Status(400), 2: Status(500)}), has_ranges=has_ranges)
    for nth in (1, 3, 4):  # the second call ends the first file
        run.server.fail("content", Part(0.4), nth=nth)
    assert run.collect().exit_code == 1
    assert run.results() == {**ALL, "1": "bad_request", "2": "server"}
    assert run.server.calls.count("content") == 5


@pytest.mark.soak
@both
@pytest.mark.parametrize("wait", [(), ("--wait", "--every", "0.01")])
def test_a_download_that_is_cut_for_ever_blocks_no_other(
    batches: Any, model: str, wait: tuple[str, ...]
) -> None:
    run = begun(batches, model, at_most=2)
    run.collect_options = ()
    for batch in run.server.batches.values():
        batch.stages = ["completed"]
    for nth in range(1, TRIES + 1):
        run.server.fail(DOWNLOAD[model], Part(0.0), nth=nth)
    if not wait:
        failed = run.collect()
        assert failed.exit_code == 2
        assert "connection" in failed.output or "Error" in failed.output
        assert "Traceback" not in failed.output
        assert [part.step for part in changed_parts(run)] == ["created", "collected"]
    run.collect_options = wait
    assert ("asking again" in check(run)) == bool(wait)


@pytest.mark.soak
def test_what_a_range_brings_is_not_fetched_twice(batches: Any) -> None:
    run = begun(batches)
    for nth in range(1, 4):
        run.server.fail("content", Part(0.5), nth=nth)
    check(run)
    first, *others = run.server.downloads
    assert others == [first // 2 + 1 + first % 2, others[1], others[2]]
    assert first > others[0] > others[1] > others[2]


# --- results that are late ------------------------------------------------------------------------


@pytest.mark.soak
@both
@pytest.mark.parametrize("late_share", [0.0, 0.5])
def test_results_that_are_not_there_yet_are_waited_for(batches: Any, model: str, late_share: float) -> None:
    run = begun(batches, model, late_for=3, late_share=late_share)
    said = check(run)
    assert f"{4 * late_share:.0f} of 4 results are there" in said


@pytest.mark.soak
@pytest.mark.parametrize("n_times", [1, 3])
def test_a_file_that_is_announced_and_not_there_is_waited_for(batches: Any, n_times: int) -> None:
    run = begun(batches, script=by_number({3: Missing()}))
    for nth in range(1, n_times + 1):
        run.server.fail("content", Status(404, "No such File object"), nth=nth)
    assert run.collect().exit_code == 1
    assert run.results() == {**ALL, "3": "unanswered"}


@pytest.mark.soak
@both
def test_without_wait_what_came_is_written_and_the_rest_waits(batches: Any, model: str) -> None:
    run = begun(batches, model, late_for=2, late_share=0.5)
    run.collect_options = ()
    while parts_of(run) != {"incomplete"}:
        assert run.collect().exit_code == 1
    assert [*run.results().values()] == [1.0, 1.0]
    run.collect()
    run.collect()
    check(run)


@pytest.mark.soak
@both
@pytest.mark.parametrize("late_share", [0.0, 0.5])
@pytest.mark.parametrize("finish", [(), ("--finish", "online"), ("--finish", "batch")])
def test_results_that_never_come_are_given_up_but_taken_when_they_come_after_all(
    batches: Any, model: str, late_share: float, finish: tuple[str, ...]
) -> None:
    run = begun(batches, model, late_for=9, late_share=late_share)
    run.collect_options = ()
    while parts_of(run) != {"incomplete"}:
        run.collect()
    changed_parts(run, since=time.time() - RESULTS_WITHIN - 1)
    assert run.collect().exit_code == 1
    assert parts_of(run) == {"lost"}
    n_missing = 4 - int(4 * late_share)
    errors = [verdict.error for verdict in run.verdicts() if verdict.error]
    assert [error.code for error in errors] == ["unanswered"] * n_missing
    assert all(error.message.count(f"{4 - n_missing} of 4 results are there") == 1 for error in errors)
    for batch in run.server.batches.values():
        batch.late_for = 0
    check(run, *finish)  # they are there before anything is asked
    assert not run.server.chats


@pytest.mark.soak
def test_what_came_once_stays(batches: Any) -> None:
    run = begun(batches, late_for=2, late_share=0.5)
    run.collect_options = ()
    while parts_of(run) != {"incomplete"}:
        run.collect()
    run.write_cases(rows(4))
    for nth in range(1, 9):
        run.server.fail("content", Status(404), nth=nth)
    run.out.unlink()
    for _ in range(3):
        run.collect()
    assert len(run.results()) == 2


# --- limits of enqueued tokens ----------------------------------------------------------------------

LIMITS: list[tuple[str, ...]] = [
    ("--max-requests", "2"),
    ("--max-tokens-per-batch", "4500"),
    ("--max-requests", "3", "--max-tokens-per-batch", "4500"),
    ("--max-requests", "1"),
    ("--max-tokens-per-batch", "1"),
]


@both
@pytest.mark.parametrize(
    "limits", [LIMITS[1], *(pytest.param(each, marks=pytest.mark.soak) for each in LIMITS)]
)
def test_with_a_limit_the_next_batch_is_sent_when_one_ends(
    batches: Any, model: str, limits: tuple[str, ...]
) -> None:
    run: BatchCommands = batches(5, model=model, max_enqueued=6000)
    submitted = run.submit(*limits)
    assert submitted.exit_code == 0, submitted.output
    assert len(run.server.batches) == 1
    n_parts = len(changed_parts(run))
    assert f"sends {n_parts - 1} more batches" in submitted.output
    assert run.submit(*limits).exit_code == 0
    assert len(run.server.batches) == 1
    status = run.invoke("batch", "status", run.out)
    assert (status.exit_code, "--wait` sends them" in status.output) == (1, True)
    check(run)
    assert len(run.server.batches) == n_parts == {"2": 3, "4500": 3, "1": 5}[limits[-1]]
    assert run.server.most_open == 1


@pytest.mark.soak
def test_without_wait_each_command_sends_the_next_batch(batches: Any) -> None:
    run: BatchCommands = batches(4)
    run.submit("--max-requests", "1")
    run.collect_options = ()
    for _ in range(30):
        if (collected := run.collect()).exit_code == 0:
            break
        n_left = 4 - len(run.results())
        assert f"batches that have not ended: {n_left} of 4;" in collected.output
    check(run)
    assert run.server.most_open == 1


@pytest.mark.soak
def test_limits_hold_for_each_model_and_for_further_batches(batches: Any) -> None:
    run: BatchCommands = batches(4, script=by_number({1: Unanswered("expired"), 2: Unanswered("expired")}))
    run.submit("--panel", "--model", "n", "--max-requests", "2")
    assert len(run.server.batches) == 2
    run.collect()
    run.server.script = by_number({})
    assert run.collect("--finish", "batch").exit_code == 0
    assert run.results() == ALL
    assert {len(batch.requests) for batch in run.server.batches.values()} == {2}
    assert run.server.most_open == 2


@pytest.mark.soak
def test_limits_can_be_given_when_a_run_goes_on(batches: Any) -> None:
    run = begun(batches, max_enqueued=4500)
    assert run.collect().exit_code == 1
    assert "Enqueued token limit" in run.out.read_text()
    assert run.submit("--max-tokens-per-batch", "4500").exit_code == 0
    check(run, "--finish", "batch")
    assert run.server.most_open == 1


@pytest.mark.soak
def test_cancel_sends_nothing_more(batches: Any) -> None:
    run: BatchCommands = batches(4)
    run.submit("--max-requests", "2")
    cancelled = run.invoke("batch", "cancel", run.out)
    assert (cancelled.exit_code, "batch 2 (m): cancelled" in cancelled.stdout) == (0, True)
    assert run.collect().exit_code == 1
    assert len(run.server.batches) == 1
    assert [*run.results().values()] == [1.0, "cancelled", "unanswered", "unanswered"]
    assert run.out.read_text().count("it was cancelled before it was sent") > 0
    assert run.collect("--finish", "batch").exit_code == 0
    assert run.results() == ALL


# --- batches that are refused -----------------------------------------------------------------------

REASON = "Enqueued token limit reached"


@pytest.mark.parametrize("n_refused", [1, pytest.param(5, marks=pytest.mark.soak)])
def test_a_batch_that_was_refused_was_not_an_attempt(batches: Any, n_refused: int) -> None:
    run = begun(batches, ends=[*["failed"] * n_refused, "completed"])
    for number in range(n_refused):
        collected = run.collect(*(("--finish", "batch") if number else ()))
        assert collected.exit_code == 1
        assert {verdict.error and verdict.error.code for verdict in run.verdicts()} == {"unanswered"}
        messages = [verdict.error.message for verdict in run.verdicts() if verdict.error]
        assert {message.count(REASON) for message in messages} == {1}
        assert len(run.server.batches) == number + 1
    check(run, "--finish", "batch")


@pytest.mark.soak
def test_attempts_are_counted_for_each_request(batches: Any) -> None:
    """Batch 1 is answered with errors again and again, batch 2 is refused again and again."""
    ends = ["completed", "failed", *["completed", "failed"] * 3, "completed"]
    run = begun(batches, at_most=2, ends=ends, script=by_number({0: Status(500), 1: Status(500)}))
    for _ in range(6):
        run.collect("--finish", "batch")
    assert run.results() == {"0": "server", "1": "server", "2": 1.0, "3": 1.0}
    assert sorted(run.server.paid().values()) == [1, 1, 3, 3]
    assert not run.server.uploads()


@pytest.mark.soak
def test_a_queue_that_takes_one_batch_gets_one_after_another(batches: Any) -> None:
    run = begun(batches, n_rows=6, at_most=2, max_enqueued=4500)
    check(run, "--finish", "batch")
    assert run.server.most_open > 1  # until it was refused
    assert len(run.server.batches) == 3 + 2


@pytest.mark.soak
@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([], "the endpoint gives no reason"),
        ([{"code": "c", "message": None, "line": None}], "failed: c"),
        ([{"code": "c", "message": "The URL is wrong.", "line": n} for n in (1, 2, 3)], "The URL is wrong."),
        ([{"code": "c", "message": m, "line": 1} for m in ("One.", "Two.", "One.")], "One.; Two."),
    ],
)
def test_the_reason_stands_once_in_the_verdict(
    batches: Any, errors: list[dict[str, Any]], expected: str
) -> None:
    run = begun(batches, ends=["failed"])
    (batch,) = run.server.batches.values()
    batch.errors = errors or [{"code": None, "message": None}]
    collected = run.collect()
    messages = {verdict.error.message for verdict in run.verdicts() if verdict.error}
    assert messages == {f"m: batch {batch.id}: failed: {expected.removeprefix('failed: ')}"}
    assert {verdict.explanation.count(expected) for verdict in run.verdicts()} == {1}
    assert "Traceback" not in collected.output


# --- batches that are unknown -----------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "lost", [1, pytest.param(0, marks=pytest.mark.soak), pytest.param(2, marks=pytest.mark.soak)]
)
def test_a_batch_that_the_provider_no_longer_knows_blocks_no_other(
    batches: Any, model: str, lost: int
) -> None:
    run = begun(batches, model, n_rows=6, at_most=2)
    changed_parts(run, since=0.0)  # what is new may not be listed yet
    name = [*run.server.batches][lost]
    kept = run.server.batches.pop(name)
    status = run.invoke("batch", "status", run.out)
    assert (status.exit_code, "not_found" in status.stdout) == (1, True)
    collected = run.collect()
    assert collected.exit_code == 1
    expected = {str(n): "unanswered" if n // 2 == lost else 1.0 for n in range(6)}
    assert run.results() == expected
    messages = [verdict.error.message for verdict in run.verdicts() if verdict.error]
    assert {message.count("404: No such Batch") for message in messages} == {1}
    run.server.batches[name] = kept  # the key was another one
    check(run)


@pytest.mark.soak
@both
@pytest.mark.parametrize("n_times", [1, 4])
def test_a_new_batch_that_is_not_known_yet_is_waited_for(batches: Any, model: str, n_times: int) -> None:
    run = begun(batches, model)
    run.patience = ("--listed-within", "60")
    for nth in range(1, n_times + 1):
        run.server.fail("retrieve", Status(404, "No such Batch"), nth=nth)
    check(run)


@pytest.mark.soak
@both
def test_a_batch_that_is_unknown_can_be_cancelled_and_asked_again(batches: Any, model: str) -> None:
    run = begun(batches, model, at_most=2)
    changed_parts(run, since=0.0)
    run.server.batches.pop(next(iter(run.server.batches)))
    cancelled = run.invoke("batch", "cancel", run.out)
    assert cancelled.exit_code == 0, cancelled.output
    assert run.collect().exit_code == 1
    assert run.collect("--finish", "batch").exit_code == 0
    assert run.results() == ALL


# --- results that fit no request --------------------------------------------------------------------

UNFIT = "results that fit no request: {}; they come from another run, model or option, or from cases"


@both
def test_results_for_cases_that_changed_are_counted(batches: Any, model: str) -> None:
    run = begun(batches, model)
    changed = rows(4)
    changed[1]["response"] = "At ten."
    run.write_cases(changed[:3])
    collected = run.collect()
    assert collected.exit_code == 1
    assert run.results() == {"0": 1.0, "1": "unanswered", "2": 1.0}
    assert UNFIT.format(2) in collected.output


@pytest.mark.soak
@both
@pytest.mark.parametrize("finish", [(), ("--finish", "online"), ("--finish", "batch")])
def test_results_that_fit_no_request_are_counted_each_time(
    batches: Any, model: str, finish: tuple[str, ...]
) -> None:
    run = begun(batches, model)
    run.write_cases(rows(6)[2:])
    for _ in range(2):
        assert UNFIT.format(2) in run.collect(*finish).output


@pytest.mark.soak
@pytest.mark.parametrize(
    "options",
    [(), ("--repeats", "3"), ("--panel", "--model", "n"), ("--judge", "confidence_grounding")],
)
def test_results_that_fit_are_not_counted(batches: Any, options: tuple[str, ...]) -> None:
    run: BatchCommands = batches(4, script=by_number({1: "unreadable", 2: Unanswered("expired")}))
    run.write_cases([*rows(4), {**rows(1)[0], "id": "again"}, {"id": "faulty"}])
    run.submit(*options)
    for finish in ((), ("--finish", "batch"), ("--finish", "online"), ()):
        collected = run.collect(*finish)
        assert "fit no request" not in collected.output
        assert "Traceback" not in collected.output


@pytest.mark.soak
@both
def test_a_batch_of_somebody_else_is_counted_and_not_taken(batches: Any, model: str) -> None:
    run = begun(batches, model, at_most=2)
    theirs, _ = run.server.batches.values()
    theirs.requests = {f"x{name}": body for name, body in theirs.requests.items()}
    collected = run.collect()
    assert collected.exit_code == 1
    assert run.results() == {"0": "unanswered", "1": "unanswered", "2": 1.0, "3": 1.0}
    assert UNFIT.format(2) in collected.output


# --- uploaded files ---------------------------------------------------------------------------------


@pytest.mark.soak
@pytest.mark.parametrize("answer", [Status(500), Cut()])
def test_files_of_calls_that_were_cut_are_deleted_too(batches: Any, answer: Status | Cut) -> None:
    run: BatchCommands = batches(4, at_most=2)
    run.server.fail("create", answer)
    run.server.fail("create", answer, nth=3, takes_effect=True)
    run.submit()
    assert len(run.server.uploads()) == 3
    theirs = run.server.upload("somebody-else.jsonl", b"{}")
    collected = run.collect()
    assert collected.exit_code == 0, collected.output
    assert run.server.uploads() == ["somebody-else.jsonl"]
    assert theirs in run.server.files


@pytest.mark.soak
def test_files_stay_until_the_results_are_kept(batches: Any) -> None:
    run = begun(batches, late_for=2)
    run.collect_options = ()
    while parts_of(run) != {"collected"}:
        assert run.server.uploads() == run.server.uploads()[:1]
        assert len(run.server.uploads()) == 1
        run.collect()
    assert not run.server.uploads()


@pytest.mark.soak
@pytest.mark.parametrize("call", ["delete", "files"])
@pytest.mark.parametrize("answer", [Status(404), Status(401), Status(500), Cut()])
def test_files_that_cannot_be_deleted_lose_nothing(batches: Any, call: Call, answer: Status | Cut) -> None:
    run = begun(batches, at_most=2)
    for nth in range(1, 9):
        run.server.fail(call, answer, nth=nth)
    assert run.collect().exit_code == 0
    assert run.results() == ALL


# --- a full disk ------------------------------------------------------------------------------------


def nearly_full() -> None:
    """Let no file of this process exceed 20,000 bytes, as on a disk that is nearly full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def in_a_process(run: BatchCommands, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """A command where no file can grow large."""
    return subprocess.run(  # noqa: S603  this very Python
        [*COMMAND, *arguments],
        env={**os.environ, **environment(run.server)},
        preexec_fn=nearly_full,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.soak
@both
def test_a_full_disk_is_a_message_and_the_command_can_go_on(batches: Any, model: str) -> None:
    run: BatchCommands = batches(9, model=model)
    full = in_a_process(run, run.to_submit)
    assert (full.returncode, full.stdout) == (2, "")
    assert full.stderr == f"groundjudge: {run.out}.batch/requests-1.jsonl: File too large\n"
    assert not run.server.calls
    run.server.script = by_number(dict.fromkeys(range(9), GOOD.replace("all of it", "all of it " * 900)))
    assert run.submit().exit_code == 0
    full = in_a_process(run, run.to_collect)
    assert full.returncode == 2
    assert full.stderr.endswith(f"groundjudge: {run.out}.batch/results-1.jsonl: File too large\n")
    assert "Traceback" not in full.stderr
    check(run)


@pytest.mark.soak
def test_a_full_disk_of_temporary_files_is_an_os_error() -> None:
    program = """
import resource, sys
from groundjudge.batches.replay import DiskDict
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
found = DiskDict()
try:
    for number in range(4000):
        found[str(number)] = "x" * 1000
except OSError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.startswith("a temporary file cannot be written: ")
