"""What goes wrong at a provider of batches: nothing that is paid is lost, and commands say what happened."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from batch_commands import ANTHROPIC, OPENAI, BatchCommands, both, by_number, environment, rows
from command_line import GOOD, run_command
from standin_batches import Call, Missing, Part, Unanswered
from standin_openai import Cut, Status

from groundjudge.batches.state import PartOfRun, open_state
from groundjudge.batches.submit import RESULTS_WITHIN, TRIES

pytest_plugins = ["batch_servers"]

DOWNLOAD: dict[str, Call] = {OPENAI: "content", ANTHROPIC: "results"}
ALL = dict.fromkeys("0123", 1.0)
soak = pytest.mark.soak


def submit_run(batches: Any, model: str = OPENAI, n_rows: int = 4, **options: Any) -> BatchCommands:
    """Submit a run."""
    run: BatchCommands = batches(n_rows, model=model, **options)
    submission = run.submit()
    assert submission.exit_code == 0, submission.output
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


def errors_of(run: BatchCommands) -> set[str]:
    """The messages of the verdicts that are errors."""
    return {verdict.error.message for verdict in run.verdicts() if verdict.error}


def until_incomplete(run: BatchCommands) -> None:
    """Collect without waiting, until all batches have ended and results are missing."""
    run.collect_options = ()
    while parts_of(run) != {"incomplete"}:
        assert run.collect().exit_code == 1


# --- submitting -----------------------------------------------------------------------------------


def test_equal_rows_share_a_request_and_rows_without_one_are_counted(batches: Any) -> None:
    run: BatchCommands = batches(3)
    run.write_cases([*rows(3), {**rows(1)[0], "id": "again"}, {"id": "faulty"}])
    counts = "requests 3, batches 1, duplicate rows 1, verdicts without a request 1"
    assert counts in run.submit().output


@soak
@pytest.mark.parametrize(
    ("model", "answer", "takes_effect"),
    [
        pytest.param(OPENAI, Cut(), True, id="cut, created"),
        pytest.param(ANTHROPIC, Cut(), True, id="cut, created, at Anthropic"),
        pytest.param(OPENAI, Cut(), False, id="cut, not created"),
        pytest.param(ANTHROPIC, Status(500), True, id="500, created, at Anthropic"),
        pytest.param(OPENAI, Status(429, retry_after=0.1), False, id="429, not created"),
    ],
)
def test_no_batch_is_created_twice_whatever_create_answers(
    batches: Any, model: str, answer: Status | Cut, *, takes_effect: bool
) -> None:
    run: BatchCommands = batches(4, model=model, at_most=2)
    run.server.fail("create", answer, nth=2, takes_effect=takes_effect)
    assert run.submit().exit_code == 0
    check(run)
    assert len(run.server.batches) == 2


@soak
@both
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"hidden_for": 2}, id="late in the list"),
        pytest.param({"ahead": -3600.0}, id="clock behind"),
        pytest.param({"ahead": 3600.0}, id="clock ahead"),
    ],
)
def test_a_batch_is_found_however_late_it_is_listed_and_whatever_the_servers_clock_says(
    batches: Any, model: str, options: dict[str, Any]
) -> None:
    run: BatchCommands = batches(4, model=model, at_most=2, **options)
    run.patience = ("--listed-within", "60" if "hidden_for" in options else "0.5")
    run.server.fail("create", Cut(), nth=2, takes_effect=True)
    assert run.submit().exit_code == 0
    check(run)


@soak
@pytest.mark.parametrize("call", ["upload", "create", "list"])
def test_a_refusal_ends_the_command_and_the_next_one_goes_on(batches: Any, call: Call) -> None:
    run: BatchCommands = batches(4, at_most=2)
    if call == "list":
        run.server.fail("create", Cut(), takes_effect=True)
    run.server.fail(call, Status(401, "bad key"))
    assert ("bad key" in run.submit().stderr) == (call in run.server.calls)
    assert run.submit().exit_code == 0
    check(run)


# --- downloads ------------------------------------------------------------------------------------


TWICE = [Part(0.5, is_sized=False), Part(0.5)]


@pytest.mark.parametrize(
    ("model", "has_ranges", "cuts"),
    [
        pytest.param(OPENAI, True, TWICE, id="without a size, then with one"),
        pytest.param(OPENAI, False, TWICE, marks=soak, id="without ranges"),
        pytest.param(ANTHROPIC, True, TWICE, marks=soak, id="of Anthropic"),
        pytest.param(ANTHROPIC, False, TWICE, marks=soak, id="of Anthropic without ranges"),
        pytest.param(
            OPENAI,
            True,
            [Part(0.0)] * (TRIES - 1),
            marks=soak,
            id="before the first byte, as often as may be",
        ),
        pytest.param(
            OPENAI, True, [Part(0.3)] * 3 * TRIES, marks=soak, id="again and again, and more each time"
        ),
        pytest.param(
            OPENAI, True, [Part(1.0, is_sized=False)], marks=soak, id="after the last byte, without a size"
        ),
        pytest.param(
            OPENAI,
            True,
            [Part(0.5), Cut(), Part(0.1), Status(500), Part(0.7)],
            marks=soak,
            id="errors between parts",
        ),
        pytest.param(
            OPENAI,
            True,
            [Part(0.5, is_cut=False), Part(0.9, is_cut=False)],
            marks=soak,
            id="an end as if that were all",
        ),
    ],
)
def test_a_download_that_is_cut_is_fetched_again(
    batches: Any, model: str, has_ranges: Any, cuts: Sequence[Part | Cut | Status]
) -> None:
    run = submit_run(batches, model, has_ranges=has_ranges)
    for nth, fault in enumerate(cuts, 1):
        run.server.fail(DOWNLOAD[model], fault, nth=nth)
    check(run)


@soak
def test_the_file_of_errors_is_fetched_again_too(batches: Any) -> None:
    run = submit_run(batches, script=by_number({1: Status(400), 2: Status(500)}))
    for nth in (1, 3, 4):  # the second call ends the first file
        run.server.fail("content", Part(0.4), nth=nth)
    assert run.collect().exit_code == 1
    assert run.results() == {**ALL, "1": "bad_request", "2": "server"}
    assert run.server.calls.count("content") == 5


@soak
@pytest.mark.parametrize(
    "wait", [pytest.param((), id="no wait"), pytest.param(("--wait", "--every", "0.01"), id="wait")]
)
def test_a_download_that_is_cut_for_ever_blocks_no_other(batches: Any, wait: tuple[str, ...]) -> None:
    run = submit_run(batches, at_most=2)
    run.collect_options = ()
    for batch in run.server.batches.values():
        batch.stages = ["completed"]
    for nth in range(1, TRIES + 1):
        run.server.fail("content", Part(0.0), nth=nth)
    if not wait:
        failed = run.collect()
        assert (failed.exit_code, "Error" in failed.stderr or "connection" in failed.stderr) == (2, True)
        assert [part.step for part in changed_parts(run)] == ["created", "collected"]
    run.collect_options = wait
    assert ("asking again" in check(run)) == bool(wait)


@soak
@pytest.mark.parametrize("call", ["retrieve", "content", "cancel"])
def test_an_error_while_collecting_or_cancelling_loses_nothing(batches: Any, call: Call) -> None:
    run = submit_run(batches, at_most=2)
    run.server.fail(call, Status(401, "bad key"))
    failed = run.invoke("batch", "cancel", run.out) if call == "cancel" else run.collect()
    assert (failed.exit_code, "bad key" in failed.stderr) == (2, True)
    check(run)


def test_bytes_that_are_no_text_cost_no_other_line(batches: Any) -> None:
    run = submit_run(batches)
    (batch,) = run.server.batches.values()
    while not batch.output_file_id:
        run.invoke("batch", "status", run.out)
    run.server.files[batch.output_file_id].content += b"\xff{\n"
    check(run)


@soak
def test_what_a_range_brings_is_not_fetched_twice(batches: Any) -> None:
    run = submit_run(batches)
    for nth in range(1, 4):
        run.server.fail("content", Part(0.5), nth=nth)
    check(run)
    whole, second, third, fourth = run.server.downloads
    assert second == whole // 2 + 1 + whole % 2
    assert whole > second > third > fourth


# --- results that are late ------------------------------------------------------------------------


@soak
@both
def test_results_that_are_not_there_yet_are_waited_for(batches: Any, model: str) -> None:
    run = submit_run(batches, model, late_for=3, late_share=0.5)
    assert "2 of 4 results are available" in check(run)


@soak
def test_a_file_that_is_announced_and_not_there_is_waited_for(batches: Any) -> None:
    run = submit_run(batches, script=by_number({3: Missing()}))
    for nth in (1, 2, 3):
        run.server.fail("content", Status(404, "No such File object"), nth=nth)
    assert run.collect().exit_code == 1
    assert run.results() == {**ALL, "3": "unanswered"}


@soak
@pytest.mark.parametrize(
    ("model", "late_share", "finish"),
    [
        pytest.param(OPENAI, 0.0, (), id="none is there"),
        pytest.param(OPENAI, 0.5, ("--finish", "online"), id="half are there, the rest online"),
        pytest.param(ANTHROPIC, 0.5, ("--finish", "batch"), id="half are there, the rest in a batch"),
    ],
)
def test_results_that_never_come_are_given_up_but_taken_when_they_come_after_all(
    batches: Any, model: str, late_share: float, finish: tuple[str, ...]
) -> None:
    run = submit_run(batches, model, late_for=9, late_share=late_share)
    until_incomplete(run)
    n_there = int(4 * late_share)
    assert bool(run.server.uploads()) is (model == OPENAI)
    assert [*run.results().values()] == [1.0] * n_there  # what came is written, and the rest waits
    changed_parts(run, since=time.time() - RESULTS_WITHIN - 1)
    assert run.collect().exit_code == 1
    assert parts_of(run) == {"lost"}
    assert [*run.results().values()].count("unanswered") == 4 - n_there
    for message in errors_of(run):
        assert message.count(f"{n_there} of 4 results are available") == 1
    for batch in run.server.batches.values():
        batch.late_for = 0
    check(run, *finish)  # they are there before anything is asked
    assert not run.server.chats


@soak
def test_what_came_once_stays(batches: Any) -> None:
    run = submit_run(batches, late_for=2, late_share=0.5)
    until_incomplete(run)
    for nth in range(1, 9):
        run.server.fail("content", Status(404), nth=nth)
    run.out.unlink()
    for _ in range(3):
        run.collect()
    assert len(run.results()) == 2


# --- limits of enqueued tokens ----------------------------------------------------------------------


@soak
@pytest.mark.parametrize(
    ("limit", "n_parts", "wait"),
    [
        pytest.param(("--max-tokens-per-batch", "1800"), 3, True, id="tokens for two requests"),
        pytest.param(("--max-tokens-per-batch", "1"), 5, True, id="tokens for none"),
        pytest.param(("--max-requests", "2"), 3, False, id="two requests"),
    ],
)
def test_with_a_limit_the_next_batch_is_sent_when_one_ends(
    batches: Any, limit: tuple[str, ...], n_parts: int, *, wait: bool
) -> None:
    run: BatchCommands = batches(5, max_enqueued=2000)
    submitted = run.submit(*limit)
    assert submitted.exit_code == 0, submitted.output
    assert f"sends {n_parts - 1} more batches" in submitted.output
    assert run.submit(*limit).exit_code == 0
    assert len(run.server.batches) == 1
    status = run.invoke("batch", "status", run.out)
    assert (status.exit_code, ": planned, " in status.output) == (1, True)
    while not wait and len(run.server.batches) < n_parts:
        assert run.invoke("batch", "collect", run.out).exit_code == 1
    check(run)
    assert (len(run.server.batches), run.server.most_open) == (n_parts, 1)


@soak
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


@soak
def test_limits_can_be_given_when_a_run_goes_on(batches: Any) -> None:
    run = submit_run(batches, max_enqueued=1620)
    assert run.collect().exit_code == 1
    assert run.submit("--max-tokens-per-batch", "1620").exit_code == 0
    check(run, "--finish", "batch")
    assert run.server.most_open == 1


@soak
def test_cancel_sends_nothing_more(batches: Any) -> None:
    run: BatchCommands = batches(4)
    run.submit("--max-requests", "2")
    cancelled = run.invoke("batch", "cancel", run.out)
    assert (cancelled.exit_code, "): cancelled" in cancelled.stdout) == (0, True)
    assert run.collect().exit_code == 1
    assert len(run.server.batches) == 1
    assert [*run.results().values()] == [1.0, "cancelled", "cancelled", "cancelled"]
    assert f"{run.model}: the batch was cancelled before it was sent" in errors_of(run)
    assert run.collect("--finish", "batch").exit_code == 0
    assert run.results() == ALL


# --- batches that are refused -----------------------------------------------------------------------


@soak
def test_a_batch_that_was_refused_was_not_an_attempt(batches: Any) -> None:
    n_refused = 5
    run = submit_run(batches, ends=[*["failed"] * n_refused, "completed"])
    for number in range(n_refused):
        assert run.collect(*(("--finish", "batch") if number else ())).exit_code == 1
        assert run.results() == dict.fromkeys(ALL, "unanswered")
        assert {message.count("Enqueued token limit reached") for message in errors_of(run)} == {1}
        assert len(run.server.batches) == number + 1
    check(run, "--finish", "batch")


@soak
def test_attempts_are_counted_for_each_request(batches: Any) -> None:
    """Batch 1 is answered with errors again and again, batch 2 is refused again and again."""
    ends = ["completed", "failed", *["completed", "failed"] * 3, "completed"]
    run = submit_run(batches, at_most=2, ends=ends, script=by_number({0: Status(500), 1: Status(500)}))
    for _ in range(6):
        run.collect("--finish", "batch")
    assert run.results() == {"0": "server", "1": "server", "2": 1.0, "3": 1.0}
    assert sorted(run.server.paid().values()) == [1, 1, 3, 3]
    assert not run.server.uploads()


@soak
def test_a_queue_that_takes_one_batch_gets_one_after_another(batches: Any) -> None:
    run = submit_run(batches, n_rows=6, at_most=2, max_enqueued=2000)
    check(run, "--finish", "batch")
    assert run.server.most_open > 1  # until it was refused
    assert len(run.server.batches) == 3 + 2


@soak
@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        pytest.param([{"code": None, "message": None}], "the endpoint gives no reason", id="no reason"),
        pytest.param(
            [{"code": "c", "message": message} for message in ("One.", None, "One.")],
            "One.; c",
            id="each reason once",
        ),
    ],
)
def test_the_reason_stands_once_in_the_verdict(
    batches: Any, errors: list[dict[str, Any]], expected: str
) -> None:
    run = submit_run(batches, ends=["failed"])
    (batch,) = run.server.batches.values()
    batch.errors = errors
    assert run.collect().exit_code == 1
    assert errors_of(run) == {f"m: batch {batch.id}: failed: {expected}"}


# --- batches that are unknown -----------------------------------------------------------------------


@pytest.mark.soak
@both
def test_a_batch_that_the_provider_no_longer_knows_blocks_no_other(batches: Any, model: str) -> None:
    run = submit_run(batches, model, n_rows=6, at_most=2)
    changed_parts(run, since=0.0)  # what is new may not be listed yet
    name = [*run.server.batches][1]
    removed_batch = run.server.batches.pop(name)
    status = run.invoke("batch", "status", run.out)
    assert (status.exit_code, "not_found" in status.stdout) == (1, True)
    assert run.collect().exit_code == 1
    assert run.results() == {str(n): "unanswered" if n in {2, 3} else 1.0 for n in range(6)}
    assert {message.count(": No such Batch") for message in errors_of(run)} == {1}
    run.server.batches[name] = removed_batch  # the key was another one
    check(run)


@soak
def test_a_new_batch_that_is_not_known_yet_is_waited_for(batches: Any) -> None:
    run = submit_run(batches)
    run.patience = ("--listed-within", "60")
    for nth in (1, 2, 3, 4):
        run.server.fail("retrieve", Status(404, "No such Batch"), nth=nth)
    check(run)


@soak
def test_a_batch_that_is_unknown_can_be_cancelled_and_asked_again(batches: Any) -> None:
    run = submit_run(batches, at_most=2)
    changed_parts(run, since=0.0)
    run.server.batches.pop(next(iter(run.server.batches)))
    cancelled = run.invoke("batch", "cancel", run.out)
    assert cancelled.exit_code == 0, cancelled.output
    assert run.collect().exit_code == 1
    assert run.collect("--finish", "batch").exit_code == 0
    assert run.results() == ALL


# --- results for cases that have changed --------------------------------------------------------------


@pytest.mark.parametrize(
    "finish",
    [
        pytest.param((), id="as it is"),
        pytest.param(("--finish", "online"), marks=soak, id="online"),
        pytest.param(("--finish", "batch"), marks=soak, id="batch"),
    ],
)
def test_a_case_that_changed_is_not_given_the_result_of_the_earlier_one(
    batches: Any, finish: tuple[str, ...]
) -> None:
    run = submit_run(batches)
    changed = rows(4)
    changed[1]["response"] = "At ten."
    run.write_cases(changed[:3])
    for _ in "12":
        run.collect(*finish)
    assert run.results() == {"0": 1.0, "1": 1.0 if finish else "unanswered", "2": 1.0}


# --- uploaded files ---------------------------------------------------------------------------------


@soak
def test_files_of_calls_that_were_cut_are_deleted_too(batches: Any) -> None:
    run: BatchCommands = batches(4, at_most=2)
    run.server.fail("create", Cut())
    run.server.fail("create", Cut(), nth=3, takes_effect=True)
    run.submit()
    assert len(run.server.uploads()) == 3
    run.server.upload("somebody-else.jsonl", b"{}")
    assert run.collect().exit_code == 0
    assert run.server.uploads() == ["somebody-else.jsonl"]


@soak
@pytest.mark.parametrize("call", ["delete", "files"])
def test_files_that_cannot_be_deleted_lose_nothing(batches: Any, call: Call) -> None:
    run = submit_run(batches, at_most=2)
    for nth in range(1, 9):
        run.server.fail(call, Status(401), nth=nth)
    assert run.collect().exit_code == 0
    assert run.results() == ALL


# --- a full disk ------------------------------------------------------------------------------------


def with_a_full_disk(run: BatchCommands, arguments: list[str]) -> str:
    """What a command says where no file can exceed 20,000 bytes."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (20_000, 20_000))
    # Otherwise Python cuts off the bytecode that it keeps, and cannot import the package any more.
    environ = {**os.environ, **environment(run.server), "PYTHONDONTWRITEBYTECODE": "1"}
    process = run_command(*arguments, env=environ, preexec_fn=limit)
    assert process.returncode == 2
    return process.stderr.splitlines()[-1]


@soak
def test_a_full_disk_is_a_message_and_the_command_can_go_on(batches: Any) -> None:
    run: BatchCommands = batches(9)
    message = f"groundjudge: {run.out}.batch/{{}}-1.jsonl: File too large"
    assert with_a_full_disk(run, run.to_submit) == message.format("requests")
    assert not run.server.calls
    run.server.script = by_number(dict.fromkeys(range(9), GOOD.replace("all of it", "all of it " * 900)))
    assert run.submit().exit_code == 0
    assert with_a_full_disk(run, run.to_collect) == message.format("results")
    check(run)
