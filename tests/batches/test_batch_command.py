"""`groundjudge batch`: the commands, at both providers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from batch_commands import BatchCommands, both, by_number, number_of, rows, unreadable_once
from command_line import Invoke
from standin_batches import COMPLETIONS, BatchStandIn, Missing, Unanswered, read_lines, result_line
from standin_openai import Status, Text

pytest_plugins = ["batch_servers"]

TRUNCATED = Text("<S0>because", finish_reason="length")


@both
def test_a_run_is_submitted_and_collected(batches: Any, model: str) -> None:
    run: BatchCommands = batches(5, model=model, at_most=2)
    submitted = run.submit()
    assert submitted.exit_code == 0
    assert "requests 5, batches 3" in submitted.output
    assert f"groundjudge batch collect {run.out} --wait" in submitted.stdout
    status = run.invoke("batch", "status", run.out)
    assert (status.exit_code, len(status.stdout.splitlines())) == (1, 3)
    collected = run.collect()
    assert collected.exit_code == 0, collected.output
    assert run.results() == dict.fromkeys("01234", 1.0)
    assert "tokens in batches: 50 prompt, 25 completion" in collected.output
    assert run.invoke("batch", "status", run.out).exit_code == 0
    assert {*run.server.paid().values()} == {1}
    assert len(run.server.batches) == 3
    content = run.out.read_bytes()
    assert run.submit().exit_code == 0
    again = run.collect("--finish", "online")
    assert (again.exit_code, "5 verdicts reused" in again.output) == (0, True)
    assert run.out.read_bytes() == content
    assert not run.server.chats
    assert len(run.server.batches) == 3


@pytest.mark.soak
def test_verdicts_are_written_while_other_batches_are_running(batches: Any) -> None:
    run: BatchCommands = batches(4, at_most=2)
    run.submit()
    (_, second) = run.server.batches.values()
    second.stages = ["in_progress"] * 9
    for _ in range(2):
        run.invoke("batch", "collect", run.out)
    running = run.invoke("batch", "collect", run.out)
    assert (running.exit_code, "unfinished batches: 1 of 2;" in running.output) == (1, True)
    assert run.results() == {"0": 1.0, "1": 1.0}
    heading, cells = running.stdout.splitlines()[:2]
    summary = dict(zip(heading.split(), cells.split(), strict=True))
    expected = {"ok": "2", "error": "0", "waiting": "2", "coverage": "0.500", "bounds": "0.500..1.000"}
    assert expected.items() <= summary.items()
    second.stages = ["completed"]
    collected = run.collect()
    assert (collected.exit_code, "waiting" in collected.stdout) == (0, False)
    assert run.results() == dict.fromkeys("0123", 1.0)


@pytest.mark.soak
def test_a_second_round_is_not_begun_before_all_batches_have_ended(batches: Any) -> None:
    run: BatchCommands = batches(4, at_most=2, script=by_number({0: Status(500)}))
    run.submit()
    run.server.batches[[*run.server.batches][1]].stages = ["in_progress"] * 9
    for _ in range(4):
        assert run.invoke("batch", "collect", run.out, "--finish", "batch").exit_code == 1
        assert run.invoke("batch", "collect", run.out, "--finish", "online").exit_code == 1
    assert len(run.server.batches) == 2
    assert not run.server.chats


ANSWERS: dict[int, Any] = {
    1: unreadable_once,
    2: Unanswered("expired"),
    3: Status(400, "too long"),
    4: TRUNCATED,
    5: Status(500),
    6: Missing(),
}
CODES = {"1": "no_verdict", "2": "expired", "3": "bad_request", "4": "truncated", "5": "server"}
LATER: dict[int, Any] = {1: unreadable_once, 3: Status(400, "too long")}


@pytest.mark.soak
@both
def test_the_rest_is_asked_for_online(batches: Any, model: str) -> None:
    run: BatchCommands = batches(8, model=model, script=by_number(ANSWERS))
    run.submit()
    assert run.collect().exit_code == 1
    assert run.results() == {"0": 1.0, **CODES, "6": "unanswered", "7": 1.0}
    assert not run.server.chats
    run.server.script = by_number(LATER)
    finished = run.collect("--finish", "online", "--price", "1000,2000")
    assert finished.exit_code == 1
    assert run.results() == {**dict.fromkeys("01234567", 1.0), "3": "bad_request"}
    # Unreadable and truncated replies are not paid for again: the conversation goes on after them.
    assert sorted(map(number_of, run.server.chats)) == [1, 2, 3, 4, 5, 6]
    attempts = {verdict.case_id: verdict.attempts for verdict in run.verdicts()}
    assert attempts == {**dict.fromkeys("0123567", 1), "1": 2, "4": 2}
    assert "tokens in batches: 40 prompt, 20 completion, cost: 0.0400" in finished.output
    assert "tokens online: 50 prompt, 25 completion, cost: 0.1000" in finished.output


@pytest.mark.soak
def test_the_rest_is_asked_for_in_further_batches(batches: Any) -> None:
    run: BatchCommands = batches(8, script=by_number(ANSWERS))
    run.submit()
    run.collect()
    run.server.script = by_number({**LATER, 5: Status(500)})
    assert run.collect("--finish", "batch").exit_code == 1
    assert run.results() == {**dict.fromkeys("01234567", 1.0), "3": "bad_request", "5": "server"}
    assert not run.server.chats
    first, second, third = run.server.batches.values()
    assert sorted(map(number_of, second.requests.values())) == [1, 2, 4, 5, 6]
    assert len(second.requests.keys() - first.requests.keys()) == 2  # those that could be answered
    assert sorted(map(number_of, third.requests.values())) == [5]
    assert run.collect("--finish", "batch").exit_code == 1
    assert len(run.server.batches) == 3


ANOTHER = "belongs to another run"
NO_STATE = "is not the state of a submitted run"
EXISTS = "continue it with --resume, or choose another file"
STATE = "v.jsonl.batch/state.json"


@pytest.mark.parametrize(
    ("path", "content", "command", "message"),
    [
        pytest.param(None, "", "collect", "groundjudge batch submit", id="collect without a state"),
        pytest.param(None, "", "status", "groundjudge batch submit", id="status without a state"),
        pytest.param(STATE, "{}", "submit", NO_STATE, id="submit with a broken state"),
        pytest.param("v.jsonl.batch", "{}", "submit", "File exists", id="submit, and the folder is a file"),
        pytest.param("cases.jsonl", "", "submit", "no row could be read", id="no rows"),
        pytest.param("v.jsonl", "{}\n", "submit", EXISTS, id="a file of verdicts that exists"),
        pytest.param(None, "", "submit --out v.parquet", "choose a name that ends in .jsonl", id="a table"),
        pytest.param(
            None, "", "submit --model offline --panel", "offline has no batches", id="a model without batches"
        ),
    ],
)
def test_nothing_is_sent_for_what_is_refused(
    batches: Any, path: str | None, content: str, command: str, message: str
) -> None:
    run: BatchCommands = batches()
    if path:
        (run.folder / path).parent.mkdir(exist_ok=True)
        (run.folder / path).write_text(content)
    name, *more = command.split()
    result = run.submit(*more) if name == "submit" else run.invoke("batch", name, run.out)
    assert result.exit_code == 2
    assert message in result.output
    assert not run.server.calls
    # What was not there before is not left behind, as if a command had been killed.
    assert (path is not None and ".batch" in path) or not (run.folder / "v.jsonl.batch").exists()


def test_rows_that_need_no_request_are_announced(batches: Any) -> None:
    run: BatchCommands = batches()
    (run.folder / "cases.jsonl").write_text('{"question": "q", "text": "It is open.", "said": "It is."}\n')
    submitted = run.submit()
    assert (submitted.exit_code, run.server.calls) == (0, [])
    assert "nothing is sent: `groundjudge batch collect" in submitted.stderr
    assert "no row has" in run.collect().output


def test_a_state_of_another_run_is_refused(batches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run: BatchCommands = batches()
    run.server.fail("create", Status(401, "bad key"))
    assert "bad key" in run.submit().output
    status = run.invoke("batch", "status", run.out)
    assert (status.exit_code, "batch 1 (m): planned, 4 requests" in status.stdout) == (1, True)
    another = run.submit("--judge", "statement_groundedness")
    assert (another.exit_code, ANOTHER in another.output) == (2, True)
    assert "(another --format, --fields, --encoding" in run.submit("--fields", "query=response").output
    assert run.collect().exit_code == 0
    assert {*run.server.paid().values()} == {1}
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    for command in (run.submit, run.collect):
        assert "another endpoint: see OPENAI_BASE_URL" in command().output


def test_a_state_of_another_version_is_refused(batches: Any) -> None:
    run: BatchCommands = batches()
    assert run.submit().exit_code == 0
    state = Path(f"{run.out}.batch", "state.json")
    content = json.loads(state.read_text())
    content["settings"]["selection"] = {"judge": ["groundedness"], "weighted": True}
    state.write_text(json.dumps(content))
    collected = run.collect()
    assert collected.exit_code == 2
    assert "was submitted by another version of groundjudge: collect it with that version" in collected.output


# --- write and read -------------------------------------------------------------------------------

WRITE = ("batch", "write", "cases.jsonl", "--judge", "groundedness", "--model", "m", "--out")


def answer_requests(requests: str, script: Any, results: str) -> None:
    """Answer a file of requests, as a provider or vLLM does, in another order."""
    bodies, errors = read_lines(Path(requests).read_bytes(), COMPLETIONS, 50_000)
    assert not errors
    with Path(results).open("w") as file:
        for name, body in reversed(bodies.items()):
            line = json.dumps(result_line(name, script(body)))
            file.write(f"{line}\n")


def test_requests_are_written_and_results_read(command: Invoke) -> None:
    run = BatchCommands(BatchStandIn(), command, Path())
    run.write_cases([*rows(4), {**rows(1)[0], "id": "again"}])
    assert command(*WRITE, "requests.jsonl").exit_code == 0
    assert len(Path("requests.jsonl").read_text().splitlines()) == 4
    answer_requests(
        "requests.jsonl", by_number({1: unreadable_once, 2: Status(400), 3: TRUNCATED}), "results.jsonl"
    )
    with Path("results.jsonl").open("a") as file:
        file.write("{half")
    read_results = ("batch", "read", "results.jsonl", "--cases", *WRITE[2:], run.out)
    first = command(*read_results)
    assert (first.exit_code, "lines that are not results: 1\n" in first.output) == (1, True)
    assert run.results() == {"0": 1.0, "1": "no_verdict", "2": "bad_request", "3": "truncated", "again": 1.0}
    # the second round
    assert command(*WRITE, "more.jsonl", "--answered", "results.jsonl").exit_code == 0
    answer_requests("more.jsonl", by_number({}), "rest.jsonl")
    assert len(Path("rest.jsonl").read_text().splitlines()) == 2
    assert command(*read_results, "--overwrite", "rest.jsonl").exit_code == 1
    assert run.results() == {"0": 1.0, "1": 1.0, "2": "bad_request", "3": 1.0, "again": 1.0}


def test_requests_go_to_stdout_and_replace_nothing_when_an_input_cannot_be_read(command: Invoke) -> None:
    run = BatchCommands(BatchStandIn(), command, Path())
    run.write_cases(rows(2))
    Path("requests.jsonl").write_text("kept\n")
    failed = command(*WRITE, "requests.jsonl", "--overwrite", "--answered", "none.jsonl")
    assert (failed.exit_code, "none.jsonl: No such file" in failed.output) == (2, True)
    assert Path("requests.jsonl").read_text() == "kept\n"
    with run.cases.open("a") as file:
        file.write("{half\n")
    result = command(*WRITE, "-")
    requests = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(requests) == 2
    assert "2 requests written to stdout, for 2 rows; 1 rows could not be read" in result.stderr


@pytest.mark.soak
def test_a_run_that_was_begun_online_can_go_on_in_batches(batches: Any) -> None:
    run: BatchCommands = batches(4)
    run.write_cases(rows(2))
    run.invoke("run", run.cases, "--judge", "groundedness", "--model", "m", "--out", run.out)
    run.write_cases(rows(4))
    assert run.submit().exit_code == 2
    assert run.submit("--resume").exit_code == 0
    assert sum(run.server.paid().values()) == 2
    assert run.collect().exit_code == 0
    assert run.results() == dict.fromkeys("0123", 1.0)
