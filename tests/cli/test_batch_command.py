"""`groundjudge batch`: the commands, at both providers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from batch_commands import BatchCommands, both, by_number, number_of, rows, unreadable_once
from command_line import Invoke
from standin_batches import COMPLETIONS, BatchStandIn, Missing, Unanswered, read_lines, result_line
from standin_openai import Status, Text

pytest_plugins = ["batch_servers"]

ONE = json.dumps(rows(1)[0])
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


@pytest.mark.soak
def test_commands_that_are_repeated_send_and_write_nothing_more(batches: Any) -> None:
    run: BatchCommands = batches()
    for _ in range(2):
        assert run.submit().exit_code == 0
    for _ in range(2):
        assert run.collect().exit_code == 0
    written = run.out.read_bytes()
    assert run.submit().exit_code == 0
    again = run.collect("--finish", "online")
    assert again.exit_code == 0
    assert "4 verdicts reused" in again.output
    assert run.out.read_bytes() == written
    assert not run.server.chats
    assert {*run.server.paid().values()} == {1}


def test_requests_above_the_limit_of_a_batch_are_noted(batches: Any) -> None:
    submitted = batches(2).submit("--max-tokens-per-batch", "1")
    assert "requests above --max-tokens-per-batch, each a batch: 2" in submitted.stderr


def test_rows_that_wait_for_a_batch_are_counted_as_unknown(batches: Any) -> None:
    run: BatchCommands = batches(4, at_most=2)
    run.submit()
    (_, second) = run.server.batches.values()
    second.stages = ["in_progress"] * 9
    _, _, running = (run.invoke("batch", "collect", run.out).stdout for _ in range(3))
    columns, cells = (running.splitlines()[number].split() for number in (0, 1))
    shown = dict(zip(columns, cells, strict=True))
    expected = {"ok": "2", "error": "0", "waiting": "2", "coverage": "0.500", "bounds": "0.500..1.000"}
    assert expected.items() <= shown.items()
    second.stages = ["completed"]
    assert "waiting" not in run.collect().stdout


@pytest.mark.soak
def test_verdicts_are_written_while_other_batches_are_running(batches: Any) -> None:
    run: BatchCommands = batches(4, at_most=2)
    run.submit()
    first, second = run.server.batches.values()
    second.stages = ["in_progress"] * 9
    collected = [run.invoke("batch", "collect", run.out) for _ in range(3)]
    assert [each.exit_code for each in collected] == [1, 1, 1]
    assert "batches that have not ended: 1 of 2;" in collected[-1].output
    assert run.results() == {"0": 1.0, "1": 1.0}
    second.stages = ["completed"]
    assert run.collect().exit_code == 0
    assert run.results() == dict.fromkeys("0123", 1.0)
    assert {first.status, second.status} == {"completed"}


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


@pytest.mark.soak
@both
def test_the_rest_is_asked_for_online(batches: Any, model: str) -> None:
    run: BatchCommands = batches(8, model=model, script=by_number(ANSWERS))
    run.submit()
    assert run.collect().exit_code == 1
    assert run.results() == {"0": 1.0, **CODES, "6": "unanswered", "7": 1.0}
    assert not run.server.chats
    run.server.script = by_number({1: unreadable_once, 3: Status(400, "too long")})
    finished = run.collect("--finish", "online", "--price-in", "1000", "--price-out", "2000")
    assert finished.exit_code == 1
    assert run.results() == {**dict.fromkeys("01234567", 1.0), "3": "bad_request"}
    # Unreadable and truncated replies are not paid for again: the conversation goes on after them.
    assert sorted(map(number_of, run.server.chats)) == [1, 2, 3, 4, 5, 6]
    attempts = {verdict.case_id: verdict.attempts for verdict in run.verdicts()}
    assert attempts == {**dict.fromkeys("0123567", 1), "1": 2, "4": 2}
    assert "tokens in batches: 40 prompt, 20 completion, cost: 0.0400" in finished.output
    assert "tokens online: 50 prompt, 25 completion, cost: 0.1000" in finished.output


@pytest.mark.soak
@both
def test_the_rest_is_asked_for_in_further_batches(batches: Any, model: str) -> None:
    run: BatchCommands = batches(8, model=model, script=by_number(ANSWERS))
    run.submit()
    run.collect()
    run.server.script = by_number({1: unreadable_once, 3: Status(400, "too long"), 5: Status(500)})
    assert run.collect("--finish", "batch").exit_code == 1
    assert run.results() == {**dict.fromkeys("01234567", 1.0), "3": "bad_request", "5": "server"}
    assert not run.server.chats
    first, second, third = run.server.batches.values()
    assert sorted(map(number_of, second.requests.values())) == [1, 2, 4, 5, 6]
    assert len(second.requests.keys() - first.requests.keys()) == 2  # those that could be answered
    assert sorted(map(number_of, third.requests.values())) == [5]
    again = run.collect("--finish", "batch")
    assert len(run.server.batches) == 3, again.output


@pytest.mark.soak
@both
def test_cancelled_batches_keep_what_was_answered(batches: Any, model: str) -> None:
    run: BatchCommands = batches(4, model=model)
    run.submit()
    cancelled = run.invoke("batch", "cancel", run.out)
    assert cancelled.exit_code == 0
    assert "cancel" in cancelled.stdout
    assert run.collect().exit_code == 1
    assert run.results() == {"0": 1.0, "1": 1.0, "2": "cancelled", "3": "cancelled"}
    assert run.collect("--finish", "online").exit_code == 0
    assert run.results() == dict.fromkeys("0123", 1.0)
    assert len(run.server.chats) == 2


@pytest.mark.soak
def test_a_batch_that_is_refused_as_a_whole_says_why_and_is_sent_again(batches: Any) -> None:
    run: BatchCommands = batches(4, ends=["failed", "completed"])
    run.submit()
    collected = run.collect()
    assert collected.exit_code == 1
    assert "Enqueued token limit reached" in collected.output
    assert run.results() == dict.fromkeys("0123", "unanswered")
    assert run.collect("--finish", "batch").exit_code == 0
    assert run.results() == dict.fromkeys("0123", 1.0)
    assert {*run.server.paid().values()} == {1}


@pytest.mark.soak
def test_collect_submits_what_a_failed_submit_left(batches: Any) -> None:
    run: BatchCommands = batches(4, at_most=2)
    run.server.fail("create", Status(401, "bad key"), nth=2)
    assert "bad key" in run.submit().output
    status = run.invoke("batch", "status", run.out)
    assert (status.exit_code, "batch 2 (m): planned, 2 requests" in status.stdout) == (1, True)
    assert run.collect().exit_code == 0
    assert {*run.server.paid().values()} == {1}


@pytest.mark.soak
def test_rows_that_need_no_request_get_their_verdicts(batches: Any) -> None:
    run: BatchCommands = batches()
    good, blank, lacking = rows(3)
    run.write_cases([good, {**blank, "response": " "}, {**lacking, "context": None}])
    run.submit("--empty-response", "worst")
    run.collect()
    assert run.results() == {"0": 1.0, "1": 0.0, "2": "missing_field"}
    assert sum(run.server.paid().values()) == 1


@pytest.mark.soak
@pytest.mark.parametrize("options", [("--repeats", "3"), ("--panel", "--model", "n")])
def test_votes_are_asked_for_at_once(batches: Any, options: Sequence[str]) -> None:
    run: BatchCommands = batches(2)
    assert run.submit(*options).exit_code == 0
    assert run.collect().exit_code == 0
    n_votes = 3 if "--repeats" in options else 2
    assert [len(verdict.votes) for verdict in run.verdicts()] == [n_votes] * 2
    assert {*run.server.paid().values()} == {1}
    assert sum(run.server.paid().values()) == 2 * n_votes
    assert len(run.server.batches) == (1 if "--repeats" in options else 2)  # one for each model


@pytest.mark.soak
def test_labels_are_read_from_batches(batches: Any, tmp_path: Path) -> None:
    prompt = tmp_path / "tone.prompty"
    prompt.write_text(
        "---\nname: tone\ninputs: [{name: response, type: text}, {name: query, type: text}]\n"
        "reply: {format: json, value: tone}\nscale: {choices: {rude: 0, polite: 1}}\n---\n"
        "user:\n{{query}} {{response}}\n"
    )
    run: BatchCommands = batches(2, script=by_number({0: '{"tone": "rude"}', 1: '{"tone": "polite"}'}))
    run.options = ("--judge", str(prompt))
    assert run.submit().exit_code == 0
    assert run.collect().exit_code == 0
    assert [verdict.label for verdict in run.verdicts()] == ["rude", "polite"]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--judge", "statement_groundedness"), "belongs to another run"),
        (("--model", "n"), "several --model"),
        (("--fields", "query=response"), "(another --fields)"),
        (("--format", "jsonl"), "(another --format)"),
    ],
)
def test_a_state_of_another_run_is_refused(
    batches: Any, change: Sequence[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: BatchCommands = batches()
    run.submit()
    refused = run.submit(*change)
    assert refused.exit_code == 2
    assert message in refused.output
    assert {*run.server.paid().values()} == {1}
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    for command in (run.submit, run.collect):
        assert "at another endpoint: see OPENAI_BASE_URL" in command().output


@pytest.mark.parametrize("command", ["collect", "status", "cancel"])
def test_what_was_not_submitted_is_refused(batches: Any, command: str) -> None:
    run: BatchCommands = batches()
    refused = run.invoke("batch", command, run.out)
    assert refused.exit_code == 2
    assert "groundjudge batch submit" in refused.output
    assert not run.server.calls


OLD = "is a file, as in earlier versions, and not the folder of a submitted run: collect it with"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("v.jsonl.batch/state.json", "is not the state of a submitted run: choose another --out"),
        ("v.jsonl.batch", OLD),
    ],
)
@pytest.mark.parametrize("command", ["submit", "status"])
def test_what_is_not_a_state_is_refused(batches: Any, place: str, message: str, command: str) -> None:
    run: BatchCommands = batches()
    state = run.folder / place
    state.parent.mkdir(exist_ok=True)
    state.write_text("{}")
    refused = run.submit() if command == "submit" else run.invoke("batch", command, run.out)
    assert refused.exit_code == 2
    assert message in refused.output
    assert not run.server.calls


@pytest.mark.soak
@pytest.mark.parametrize(
    ("cases", "out", "change", "message"),
    [
        ("", "", (), "no row could be read"),
        (None, "", (), "No such file or directory"),
        (ONE, "", ("--out", "v.parquet"), "choose a name that ends in .jsonl"),
        (ONE, "{}\n", (), "continue it with --resume, or choose another file"),
        (ONE, "", ("--model", "offline", "--panel"), "offline has no batches"),
    ],
)
def test_nothing_is_sent_for_what_cannot_be_submitted(
    batches: Any, cases: str | None, out: str, change: Sequence[str], message: str
) -> None:
    run: BatchCommands = batches()
    run.cases.unlink() if cases is None else run.cases.write_text(cases)
    run.out.write_text(out)
    refused = run.submit(*change)
    assert refused.exit_code == 2
    assert message in refused.output
    assert not run.server.calls


@pytest.mark.soak
def test_cases_in_a_folder_of_parquet_files_can_be_submitted(batches: Any) -> None:
    run: BatchCommands = batches()
    run.cases.unlink()
    run.cases.mkdir()
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(rows(2)), run.cases / "part.parquet")
    assert run.submit().exit_code == 0
    assert run.collect().exit_code == 0
    assert run.results() == {"0": 1.0, "1": 1.0}


# --- write and read -------------------------------------------------------------------------------


def answered(requests: Path, script: Any, results: Path) -> None:
    """Answer a file of requests, as a provider or vLLM does, in another order."""
    bodies, errors = read_lines(requests.read_bytes(), COMPLETIONS, 50_000)
    assert not errors
    lines = [json.dumps(result_line(name, script(body))) for name, body in reversed(bodies.items())]
    results.write_text("".join(f"{line}\n" for line in lines))


def test_requests_are_written_and_results_read(command: Invoke) -> None:
    run = BatchCommands(BatchStandIn(), command, Path())
    run.write_cases([*rows(4), {**rows(1)[0], "id": "again"}])
    options = ("--judge", "groundedness", "--model", "m")
    written = command("batch", "write", run.cases, *options, "--out", "requests.jsonl")
    assert (written.exit_code, len(Path("requests.jsonl").read_text().splitlines())) == (0, 4)
    script = by_number({1: unreadable_once, 2: Status(400), 3: TRUNCATED})
    answered(Path("requests.jsonl"), script, Path("results.jsonl"))
    with Path("results.jsonl").open("a") as file:
        file.write("{half")
    read = ("batch", "read", "results.jsonl", "--cases", run.cases, *options, "--out", run.out)
    first = command(*read)
    assert (first.exit_code, "lines that are not results: 1\n" in first.output) == (1, True)
    assert run.results() == {"0": 1.0, "1": "no_verdict", "2": "bad_request", "3": "truncated", "again": 1.0}
    # the second round
    more = ("--answered", "results.jsonl", "--out", "more.jsonl")
    assert command("batch", "write", run.cases, *options, *more).exit_code == 0
    answered(Path("more.jsonl"), by_number({}), Path("rest.jsonl"))
    assert len(Path("rest.jsonl").read_text().splitlines()) == 2
    assert command(*read, "--overwrite", "rest.jsonl").exit_code == 1
    assert run.results() == {"0": 1.0, "1": 1.0, "2": "bad_request", "3": 1.0, "again": 1.0}


@pytest.mark.parametrize(
    ("cases", "more", "message"),
    [
        ("none.jsonl", (), "none.jsonl: No such file"),
        ("cases.jsonl", ("--answered", "none.jsonl"), "none.jsonl: No such file"),
        ("empty.jsonl", (), "no row could be read"),
        ("cases.jsonl", ("--out", "v.parquet"), "choose a name that ends in .jsonl"),
    ],
)
def test_requests_are_not_replaced_when_an_input_cannot_be_read(
    command: Invoke, cases: str, more: Sequence[str], message: str
) -> None:
    BatchCommands(BatchStandIn(), command, Path()).write_cases(rows(1))
    Path("empty.jsonl").touch()
    Path("requests.jsonl").write_text("kept\n")
    options = ("--judge", "groundedness", "--model", "m", "--out", "requests.jsonl", "--overwrite")
    written = command("batch", "write", cases, *options, *more)
    assert written.exit_code == 2
    assert message in written.output
    assert Path("requests.jsonl").read_text() == "kept\n"


def test_requests_are_written_to_stdout(command: Invoke) -> None:
    run = BatchCommands(BatchStandIn(), command, Path())
    run.write_cases(rows(2))
    with run.cases.open("a") as file:
        file.write("{half\n")
    written = command("batch", "write", run.cases, "--judge", "groundedness", "--model", "m", "--out", "-")
    assert len([json.loads(line) for line in written.stdout.splitlines()]) == 2
    assert "2 requests written to stdout, for 2 rows; 1 rows could not be read" in written.stderr


@pytest.mark.soak
def test_a_run_that_was_begun_online_can_go_on_in_batches(batches: Any) -> None:
    run: BatchCommands = batches(4)
    run.write_cases(rows(2))
    run.invoke("run", run.cases, "--judge", "groundedness", "--model", "m", "--out", run.out)
    run.write_cases(rows(4))
    refused = run.submit()
    assert refused.exit_code == 2
    assert run.submit("--resume").exit_code == 0
    assert sum(run.server.paid().values()) == 2
    assert run.collect().exit_code == 0
    assert run.results() == dict.fromkeys("0123", 1.0)
