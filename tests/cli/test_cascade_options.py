"""A cascade on the command line, as a user meets it: --cascade, -O until and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from batch_commands import BatchCommands, number_of
from command_line import GOOD, ROW, FileOf, Invoke, verdicts_in, words
from formatter import sure
from standin_openai import Answer, StandIn, Status, Text

pytest_plugins = ["batch_servers"]

DOUBTFUL = f"<S0>t</S0><S1>most of it</S1>{sure(4)}"
FALSE = f"<S0>t</S0><S1>none of it</S1>{sure(1)}"
TO_JUDGE = ("--judge", "groundedness", "--model", "strong")
CASCADE = ("--cascade", "cheap", "-O", "until=0.1,0.9")


def cheap_answer(body: dict[str, Any]) -> Answer:
    """The cheap model is sure of rows with an even number; of the fourth it knows nothing."""
    number = number_of(body)
    if body["model"] == "strong":
        return Text(FALSE, model="strong")
    if number == 3:
        return Status(400, "too long")
    return Text(GOOD if number % 2 == 0 else DOUBTFUL, model="cheap")


ROWS = [{**ROW, "id": str(number), "query": f"Number {number}?"} for number in range(5)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with StandIn() as server:
        server.script = cheap_answer
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def test_strong_model_is_asked_about_the_rows_that_the_cheap_one_leaves_open(
    command: Invoke, file_of: FileOf, server: StandIn
) -> None:
    result = command("run", file_of(*ROWS), *TO_JUDGE, *CASCADE)
    assert result.exit_code == 0, result.output
    verdicts = {verdict.case_id: verdict for verdict in verdicts_in(result.stdout)}
    models = {case_id: verdict.decided_by for case_id, verdict in verdicts.items()}
    cheap, strong = "groundedness@cheap", "groundedness@strong"
    assert models == {"0": cheap, "1": strong, "2": cheap, "3": strong, "4": cheap}
    assert sorted(request.body["model"] for request in server.requests) == ["cheap"] * 5 + ["strong"] * 2
    heading, cells = words(result.stderr)[:2]
    assert dict(zip(heading, cells, strict=True))["calls/row"] == "1.40"
    assert "groundedness: decided by groundedness@cheap 3, groundedness@strong 2" in result.stderr


def test_full_verdict_says_who_decided_and_shows_both_votes(
    command: Invoke, file_of: FileOf, server: StandIn
) -> None:
    result = command("run", file_of(ROWS[1]), *TO_JUDGE, *CASCADE, "--out", "v.jsonl", "--full", "1")
    assert ", cheap: score 0.75, label incomplete, passed\n  vote 2: groundedness@" in result.output
    assert ", strong: score 0, label ungrounded, not passed\n  decided by: " in result.output
    assert "  decided by: groundedness@strong\n" in result.output
    assert "agreement" not in result.output
    assert len(server.requests) == 2


ASKED: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    # the options, and the models that are asked about a row of which the cheap one is not sure
    "bounds of each step": (
        ("--cascade", "cheap", "--cascade", "middle", "-O", "until=[[0.1,0.9],[null,0.9]]"),
        ["cheap", "middle"],
    ),
    "no high bound": (("--cascade", "cheap", "-O", "until=0.1, none"), ["cheap", "strong"]),
    "by probability": (("--cascade", "cheap", "-O", "until=0.1,0.9", "-O", "by=probability"), ["cheap"]),
}


@pytest.mark.parametrize(("options", "models"), ASKED.values(), ids=ASKED)
def test_options_say_who_is_asked_next(
    command: Invoke, file_of: FileOf, server: StandIn, options: Sequence[str], models: Sequence[str]
) -> None:
    replies = {"cheap": DOUBTFUL, "middle": GOOD, "strong": FALSE}
    server.script = lambda body: Text(replies[body["model"]], model=body["model"])
    result = command("run", file_of(ROW), *TO_JUDGE, *options)
    assert result.exit_code == 0, result.output
    assert [request.body["model"] for request in server.requests] == models


def test_not_applicable_of_the_cheap_model_asks_the_strong_one_unless_it_may_stand(
    command: Invoke, file_of: FileOf, server: StandIn
) -> None:
    server.script = lambda body: Text(f"<S1>w</S1>{sure(3)}", model=body["model"])
    for options, n_requests in ([], 2), (["-O", "not_applicable_stands=true"], 3):
        result = command("run", file_of(ROW), *TO_JUDGE, *CASCADE, *options)
        assert result.exit_code == 0, result.output
        assert len(server.requests) == n_requests


def test_estimate_shows_the_most_that_a_cascade_can_cost(command: Invoke, file_of: FileOf) -> None:
    result = command("estimate", file_of(*ROWS), "--judge", "groundedness", *CASCADE)
    assert result.exit_code == 0, result.output
    assert words(result.stdout)[1][:3] == ["groundedness", "<=", "10"]
    assert "groundedness: 1 to 2 calls per row" in result.stdout


def test_resumed_run_needs_the_same_bounds(command: Invoke, file_of: FileOf, server: StandIn) -> None:
    run = ("run", file_of(*ROWS), *TO_JUDGE, "--out", "v.jsonl")
    assert command(*run, *CASCADE).exit_code == 0
    other = command(*run, "--cascade", "cheap", "-O", "until=0.1,0.95", "--resume")
    assert other.exit_code == 2
    again = command(*run, *CASCADE, "--resume")
    assert "5 verdicts reused" in again.output
    assert len(server.requests) == 7


@pytest.mark.soak
@pytest.mark.parametrize("finish", ["batch", "online"])
def test_batches_ask_the_strong_model_in_a_second_round(batches: Any, finish: str) -> None:
    run: BatchCommands = batches(5, script=cheap_answer)
    run.model = "strong"
    run.options = ("--judge", "groundedness", *CASCADE)
    submitted = run.submit()
    assert submitted.exit_code == 0, submitted.output
    assert "requests 5, batches 1" in submitted.output
    collected = run.collect()
    assert collected.exit_code == 1  # what waits for the strong model is an error
    assert run.results() == {"0": 1.0, "1": "unanswered", "2": 1.0, "3": "unanswered", "4": 1.0}
    finished = run.collect("--finish", finish)
    assert finished.exit_code == 0, finished.output
    assert run.results() == {"0": 1.0, "1": 0.0, "2": 1.0, "3": 0.0, "4": 1.0}
    deciders = {verdict.case_id: verdict.decided_by for verdict in run.verdicts()}
    assert [deciders["1"], deciders["2"], deciders["3"]] == [
        "groundedness@strong",
        "groundedness@cheap",
        "groundedness@strong",
    ]
    # Each row is asked about once, and those that the cheap model left open once more.
    assert {*run.server.paid().values()} == {1}
    n_online = 0
    if finish == "online":
        n_online = len(run.server.chats)
    assert len(run.server.paid()) + n_online in {7, 8}  # online the rejected request is sent once more


REFUSED: Mapping[str, tuple[Sequence[str], str]] = {
    "no bounds": (("--cascade", "cheap"), "--cascade: add -O until=LOW,HIGH"),
    "bounds without a cascade": (
        ("-O", "until=0.1,0.9"),
        "-O until only applies to a cascade: add --cascade MODEL",
    ),
    "a way without a cascade": (("-O", "by=score"), "-O by only applies to a cascade"),
    "a flag without a cascade": (
        ("-O", "not_applicable_stands=true"),
        "-O not_applicable_stands only applies to a cascade",
    ),
    "a panel": ((*CASCADE, "--panel"), "--panel and --cascade exclude each other"),
    "repeats": ((*CASCADE, "--repeats", "3"), "--repeats and --cascade exclude each other"),
    "two strong models": (
        (*CASCADE, "--model", "other"),
        "several --model: add --panel to let them vote, or run",
    ),
    "two judges": ((*CASCADE, "--judge", "passage_quality"), "--cascade: name one --judge"),
    "the strong model as the cheap one": (
        ("--cascade", "strong", "-O", "until=0.1,0.9"),
        "two models have the name 'strong'",
    ),
    "one bound": (
        ("--cascade", "cheap", "-O", "until=0.9"),
        "until: it must be (low, high), as in (0.1, 0.9), not 0.9",
    ),
    "bounds out of order": (("--cascade", "cheap", "-O", "until=0.9,0.1"), "the low bound 0.9 is above"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_use_is_refused_before_anything_is_asked(
    command: Invoke, file_of: FileOf, server: StandIn, options: Sequence[str], message: str
) -> None:
    result = command("run", file_of(ROW), *TO_JUDGE, *options)
    assert result.exit_code == 2
    assert message in result.output
    assert not server.requests
    assert not Path("v.jsonl").exists()
