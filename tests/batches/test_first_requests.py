"""The request that is asked online before a batch: what the model refuses, then no line has."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_commands import (
    ANTHROPIC,
    OPENAI,
    BatchCommands,
    both,
    by_number,
    environment,
    number_of,
    unreadable_once,
)
from command_line import GOOD
from standin_batches import (
    BatchStandIn,
    Call,
    LineAnswer,
    Moment,
    Unanswered,
    refuse_as_reasoning_models,
)
from standin_openai import Cut, Status, Text
from stepped_commands import Steps, status_of

from groundjudge import Reply, Usage, load, load_rubric
from groundjudge.batches import request_lines
from groundjudge.batches.first import FirstRequest, OnlineReply
from groundjudge.batches.lines import read_result
from groundjudge.models import unsupported_parameters
from groundjudge.replies.reply import Token

pytest_plugins = ["batch_servers"]

N_ROWS = 4
ALL = {str(number): 1.0 for number in range(N_ROWS)}
TAKEN = {
    OPENAI: {"model", "messages", "max_completion_tokens"},
    ANTHROPIC: {"model", "messages", "system", "max_tokens", "temperature"},
}
"""What the lines of batches have."""


@pytest.fixture(autouse=True)
def _forget_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command knows only what its folder says, as in a process of its own."""
    monkeypatch.setattr(unsupported_parameters, "_REFUSALS", {})


def reasoning_run(batches: Any, model: str = OPENAI, answers: Any = None, **options: Any) -> BatchCommands:
    """A run at a model that refuses parameters."""
    script = refuse_as_reasoning_models(by_number(answers or {}))
    run: BatchCommands = batches(N_ROWS, model=model, script=script, **options)
    run.refused = ()
    return run


def bodies_in_batches(server: BatchStandIn) -> Iterator[dict[str, Any]]:
    for batch in server.batches.values():
        yield from batch.requests.values()


def rows_asked(run: BatchCommands) -> list[int]:
    """The numbers of the rows that were paid, online or in a batch."""
    numbers = [number_of(body) for body in bodies_in_batches(run.server)]
    refuse = refuse_as_reasoning_models(lambda _: GOOD)
    for body in run.server.chats:
        if not isinstance(refuse(body), Status):
            numbers.append(number_of(body))
    return sorted(numbers)


@pytest.mark.soak
@pytest.mark.parametrize(("model", "at_most"), [(OPENAI, 2), (ANTHROPIC, 50)], ids=["openai", "anthropic"])
def test_batch_of_a_reasoning_model_is_answered(batches: Any, model: str, at_most: int) -> None:
    run = reasoning_run(batches, model, at_most=at_most)
    submitted = run.submit()
    assert submitted.exit_code == 0, submitted.output
    assert "requests 3, batches " in submitted.output
    assert "asked online 1" in submitted.output
    collected = run.collect()
    assert collected.exit_code == 0, collected.output
    assert run.results() == ALL
    assert rows_asked(run) == [0, 1, 2, 3]
    for body in bodies_in_batches(run.server):
        assert body.keys() == TAKEN[model]
    assert "tokens in batches: 30 prompt, 15 completion" in collected.output
    assert "tokens online: 10 prompt, 5 completion" in collected.output


@pytest.mark.soak
def test_without_the_first_request_all_of_a_batch_is_refused(batches: Any) -> None:
    run = reasoning_run(batches)
    run.refused = ("--refused", "none")
    run.submit()
    run.collect()
    assert run.results() == dict.fromkeys(ALL, "bad_request")
    assert not run.server.chats
    again = run.collect("--finish", "online")
    assert (again.exit_code, run.results()) == (0, ALL)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("model", "refused"),
    [
        pytest.param(OPENAI, "temperature,top_p,max_tokens", id="openai"),
        pytest.param(ANTHROPIC, " top_p", id="anthropic"),
    ],
)
def test_refused_parameters_are_known_without_a_first_request(batches: Any, model: str, refused: str) -> None:
    run = reasoning_run(batches, model, {2: unreadable_once})
    run.refused = ("--refused", refused)
    assert run.submit().exit_code == 0
    assert run.collect("--finish", "batch").exit_code == 0
    assert run.results() == ALL
    assert not run.server.chats
    assert rows_asked(run) == [0, 1, 2, 2, 3]


def test_refused_parameter_that_no_judge_sends_is_refused(batches: Any) -> None:
    run = reasoning_run(batches)
    submitted = run.submit("--refused", "temperatur")
    assert submitted.exit_code == 2
    assert "--refused temperatur: no judge sends it" in submitted.output
    assert "max_tokens, response_format, temperature, top_p" in submitted.output
    assert not run.server.calls
    assert not run.folder.joinpath("v.jsonl.batch").exists()


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(GOOD), id="text alone"),
        pytest.param(Reply("", "length", Usage(prompt_tokens=1, reasoning_tokens=9), "m"), id="no text"),
        pytest.param(Reply("", "stop", refusal="I would rather not."), id="refusal"),
        pytest.param(Reply("5", other_texts=("4",)), id="choices that differ"),
        pytest.param(
            Reply("5\u2028é", tokens=(Token(b"5", ((b"5", 0.9), (b"\xff", 0.1))),)), id="tokens and line ends"
        ),
    ],
)
def test_reply_that_came_online_is_read_again(reply: Reply) -> None:
    stored_reply = OnlineReply.model_validate(reply, from_attributes=True)
    first = FirstRequest(custom_id="r", kind=("m", "", ("seed",)), refusals={}, reply=stored_reply)
    assert read_result(first.model_dump_json()) == ("r", reply)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("answer", "finish", "n_online"),
    [
        pytest.param(unreadable_once, "batch", 1, id="unreadable, again in a batch"),
        pytest.param(unreadable_once, "online", 2, id="unreadable, again online"),
        pytest.param(Text("", usage=None), "none", 1, id="empty"),
    ],
)
def test_first_reply_is_its_rows_answer_whatever_it_says(
    batches: Any, answer: Any, finish: str, n_online: int
) -> None:
    run = reasoning_run(batches, answers={0: answer})
    run.submit()
    run.collect()
    assert isinstance(run.results()["0"], str)
    refused = dict(list(ALL.items())[1:])
    assert {name: run.results()[name] for name in refused} == refused
    if finish != "none":
        assert run.collect("--finish", finish).exit_code == 0
        assert run.results() == ALL
    chats = [body for body in run.server.chats if body.keys() == TAKEN[OPENAI]]
    assert len(chats) == n_online
    for body in bodies_in_batches(run.server):
        assert body.keys() == TAKEN[OPENAI]


@pytest.mark.soak
def test_requests_with_further_parameters_are_asked_first_too(batches: Any) -> None:
    run = reasoning_run(batches)
    text = Path(str(load_rubric("groundedness").prompt.path)).read_text()
    seeded = run.folder / "seeded.prompty"
    same = run.folder / "same.prompty"
    seeded.write_text(text.replace("top_p: 1", "seed: 1").replace("name: groundedness", "name: seeded"))
    same.write_text(text.replace("top_p: 1", "top_p: 0.5").replace("name: groundedness", "name: same"))
    run.options = ("--judge", "groundedness", "--judge", str(seeded), "--judge", str(same))
    submitted = run.submit()
    assert "requests 10, batches 1" in submitted.output
    lines = run.folder.joinpath("v.jsonl.batch", "first.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"][2] for line in lines] == [
        ["max_tokens", "temperature", "top_p"],
        ["max_tokens", "seed", "temperature"],
    ]
    assert run.collect().exit_code == 0
    for body in bodies_in_batches(run.server):
        assert not {"temperature", "top_p", "max_tokens"} & body.keys()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("votes", "counts", "models"),
    [
        pytest.param(
            ("--model", "other", "--panel"), "requests 6, batches 2", [OPENAI, "other"], id="two models"
        ),
        pytest.param(("--repeats", "2"), "requests 7, batches 1", [OPENAI], id="two votes of one"),
    ],
)
def test_each_model_of_a_vote_is_asked_once(
    batches: Any, votes: tuple[str, ...], counts: str, models: list[str]
) -> None:
    run = reasoning_run(batches)
    run.options = ("--judge", "groundedness", *votes)
    submitted = run.submit()
    assert counts in submitted.output, submitted.output
    assert f"asked online {len(models)}" in submitted.output
    assert run.collect().exit_code == 0
    assert run.results() == ALL
    assert sorted({body["model"] for body in run.server.chats}) == models
    assert rows_asked(run) == [0, 0, 1, 1, 2, 2, 3, 3]
    for body in bodies_in_batches(run.server):
        assert body.keys() == TAKEN[OPENAI]


@pytest.mark.parametrize(
    ("rejected", "n_batches"),
    [
        pytest.param((0, 1), 1, id="first two rows"),
        pytest.param((0, 1, 2), 0, id="three rows"),
    ],
)
def test_rows_that_are_rejected_for_their_text_do_not_say_what_is_refused(
    batches: Any, rejected: tuple[int, ...], n_batches: int
) -> None:
    flagged = Status(400, "This content was flagged.")
    run = reasoning_run(batches, answers=dict.fromkeys(rejected, flagged))
    submitted = run.submit()
    assert len(run.server.batches) == n_batches
    if n_batches == 0:
        assert submitted.exit_code == 2
        assert "This content was flagged" in submitted.output
        assert "--refused" in submitted.output
        return
    for body in bodies_in_batches(run.server):
        assert body.keys() == TAKEN[OPENAI]
    run.collect()
    expected: dict[str, Any] = {**ALL}
    for number in rejected:
        expected[str(number)] = "refused"
    assert run.results() == expected
    assert "This content was flagged" in str(run.verdicts()[0].error)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("answer", "n_calls", "text"),
    [
        pytest.param(Status(401, "no such key"), 1, "no such key", id="key"),
        pytest.param(Status(503, "overloaded", retry_after=0), 3, "overloaded", id="overloaded"),
        pytest.param(Cut(), 3, "run the command again", id="cut"),
    ],
)
def test_endpoint_that_does_not_answer_online_gets_no_batch_until_it_does(
    batches: Any, answer: Any, n_calls: int, text: str
) -> None:
    run = reasoning_run(batches)
    for nth in range(1, n_calls + 1):
        run.server.fail("chat", answer, nth=nth)
    submitted = run.submit()
    assert submitted.exit_code != 0
    assert text in submitted.output
    assert run.server.calls == ["chat"] * n_calls
    assert not first_file_exists(run)
    assert run.submit().exit_code == 0
    assert run.collect().exit_code == 0
    assert run.results() == ALL


def first_file_exists(run: BatchCommands) -> bool:
    return run.folder.joinpath("v.jsonl.batch", "first.jsonl").exists()


@pytest.mark.soak
def test_refusals_are_known_to_later_batches(batches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = reasoning_run(batches, answers={2: Unanswered("expired")})
    run.submit()
    run.collect()
    monkeypatch.setattr(unsupported_parameters, "_REFUSALS", {})
    run.server.script = refuse_as_reasoning_models(by_number({}))
    n_chats = len(run.server.chats)
    assert run.collect("--finish", "batch").exit_code == 0
    assert run.results() == ALL
    assert len(run.server.batches) == 2
    assert len(run.server.chats) == n_chats
    for body in bodies_in_batches(run.server):
        assert body.keys() == TAKEN[OPENAI]


@pytest.mark.soak
def test_first_request_is_asked_once_though_its_file_was_changed(batches: Any) -> None:
    run = reasoning_run(batches, answers={0: GOOD.replace("says so", "says\u2028so")})
    run.server.fail("upload", Status(400, "no"))
    run.submit()
    n_chats = len(run.server.chats)
    path = run.folder / "v.jsonl.batch" / "first.jsonl"
    lines = path.read_text()
    path.write_text(f"{lines}half a li")
    run.invoke("batch", "cancel", run.out)
    assert run.submit().exit_code == 0
    collected = run.collect("--finish", "batch")
    assert run.results() == ALL
    assert len(run.server.chats) == n_chats
    assert rows_asked(run) == [0, 1, 2, 3]
    assert "lines that are not results: 1" in collected.output


@both
def test_prompts_and_keys_go_to_the_endpoint_alone_and_keys_into_no_file(
    batches: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-planted-4f8b2c9d7e6a5f3b1c0d"

    def echo_key(_: dict[str, Any]) -> LineAnswer:
        return GOOD.replace("says so", f"says {key}")

    run = reasoning_run(batches, model)
    run.server.script = refuse_as_reasoning_models(echo_key)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, key)
    other = BatchStandIn()
    with other:
        submitted = run.submit()
        collected = run.collect()
        assert not other.calls
    assert (submitted.exit_code, collected.exit_code) == (0, 0)
    assert key not in submitted.output + collected.output
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert run.folder / "v.jsonl.batch" / "first.jsonl" in files
    for path in files:
        assert key.encode() not in path.read_bytes(), path
        if path.parent.name == "v.jsonl.batch":
            assert path.stat().st_mode & 0o077 == 0


def test_first_request_follows_no_redirect(batches: Any) -> None:
    run = reasoning_run(batches)
    with BatchStandIn() as other:
        elsewhere = Status(307, headers={"Location": f"{other.url}/chat/completions"})
        run.server.fail("chat", elsewhere)
        submitted = run.submit()
        assert not other.calls
    assert submitted.exit_code != 0
    assert not run.server.batches


def test_written_lines_lack_what_the_model_is_known_to_refuse(batches: Any) -> None:
    run = reasoning_run(batches)
    judge = load("groundedness", model=OPENAI)
    cases = [json.loads(line) for line in run.cases.read_text().splitlines()]
    before = [json.loads(line) for line in request_lines(judge, cases)]
    assert judge.evaluate(cases[0]).score == 1.0
    after = [json.loads(line) for line in request_lines(judge, cases)]
    assert [line["custom_id"] for line in before] == [line["custom_id"] for line in after]
    for line in after:
        assert line["body"].keys() == TAKEN[OPENAI]
        assert line["body"]["max_completion_tokens"] == 2000


@pytest.mark.parametrize(
    ("refused", "names"),
    [
        pytest.param((), {"temperature", "top_p", "max_tokens"}, id="nothing"),
        pytest.param(
            ("--refused", "temperature, max_tokens"),
            {"top_p", "max_completion_tokens"},
            id="two",
        ),
    ],
)
def test_written_file_lacks_what_is_refused(batches: Any, refused: tuple[str, ...], names: set[str]) -> None:
    run = reasoning_run(batches)
    path = run.folder / "requests.jsonl"
    files = ["batch", "write", str(run.cases), "--out", str(path)]
    written = run.invoke(*files, "--judge", "groundedness", "--model", OPENAI, *refused)
    assert written.exit_code == 0, written.output
    for line in path.read_text().splitlines():
        assert json.loads(line)["body"].keys() == {"model", "messages", *names}
    assert not run.server.calls


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("model", "call", "moment", "nth"),
    [
        pytest.param(OPENAI, "chat", "before", 1, id="before the first refusal"),
        pytest.param(OPENAI, "chat", "before", 2, id="before the second request"),
        pytest.param(OPENAI, "create", "before", 1, id="before the batch is created"),
        pytest.param(ANTHROPIC, "create", "after", 1, id="after the batch was created"),
    ],
)
def test_a_command_is_killed_around_the_first_request(
    batches: Any, model: str, call: Call, moment: Moment, nth: int
) -> None:
    run = reasoning_run(batches, model, at_most=2)
    stop = run.server.stop(call, moment, nth)
    running = run.start(run.to_submit)
    stop.wait()
    running.kill()
    assert status_of(running) == -signal.SIGKILL
    stop.cut()
    assert run.submit().exit_code == 0
    collected = run.collect()
    assert collected.exit_code == 0, collected.output
    assert run.results() == ALL
    assert rows_asked(run) == [0, 1, 2, 3]


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_command_is_killed_at_every_third_step_in_its_folder(batches: Any) -> None:
    run = reasoning_run(batches)
    steps = Steps(run.folder, environment(run.server))
    nth = 1
    while steps.kill_at(nth, run.to_submit):
        nth += 3
    assert nth > 5
    collected = run.collect()
    assert collected.exit_code == 0, collected.output
    assert run.results() == ALL
    # A reply whose command was killed before it was on disk is asked for again.
    online = [number_of(body) for body in run.server.chats if body.keys() == TAKEN[OPENAI]]
    assert {*online} == {0}
    assert sorted(number_of(body) for body in bodies_in_batches(run.server)) == [1, 2, 3]
