"""-O may_be_empty: the inputs that may be blank, of each judge that has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_commands import BatchCommands
from command_line import GOOD, ROW, FileOf, Invoke, verdicts_in, words
from crossed import crossed
from standin_openai import StandIn, Text

from groundjudge.cli.screen import in_options

pytest_plugins = ["batch_servers"]

MINE = """---
name: mine
inputs:
  - {name: question, type: text}
  - {name: topic, type: text}
  - {name: response, type: text}
reply: {format: tags, value: S2, reason: S1, shares: S3}
weighted: stated
scale: {worst: 1, best: 5, integer: true}
---
Grade what {{response}} answers to {{question}} about {{topic}}: <S1>why</S1><S2>1 to 5</S2><S3>shares</S3>
"""
"""A prompt with an input of its own, and with the query under another name."""

NO_QUERY = {**ROW, "query": " ", "topic": "ferries"}
NO_TOPIC = {**ROW, "topic": ""}
NEITHER = {**ROW, "query": "", "topic": " "}
NOT_GIVEN = {**ROW, "query": None}
G, M = "--judge groundedness", "--judge mine.md"
ACCEPTED: dict[str, tuple[dict[str, Any], str, dict[str, str]]] = {
    "nothing named": (NO_QUERY, G, {"groundedness": "missing_field"}),
    "the input": (NO_QUERY, f"{G} -O may_be_empty=query", {"groundedness": "ok"}),
    "an alias": (NO_QUERY, f"{G} -O may_be_empty=customerQuery", {"groundedness": "ok"}),
    "a field that is not given": (
        NOT_GIVEN,
        f"{G} -O may_be_empty=query",
        {"groundedness": "missing_field"},
    ),
    "an own input, which one judge has": (
        NO_TOPIC,
        f"{G} {M} -O may_be_empty=topic",
        {"groundedness": "ok", "mine": "ok"},
    ),
    "two": (NEITHER, f"{M} -O may_be_empty=topic,question", {"mine": "ok"}),
    "a panel of prompts, each of its own inputs": (
        NEITHER,
        f"{G} {M} --panel -O may_be_empty=query,topic",
        {"groundedness+mine": "ok"},
    ),
    "a cascade": (
        NO_QUERY,
        f"{G} --cascade other -O until=0.1,0.9 -O may_be_empty=query",
        {"groundedness": "ok"},
    ),
    "the response": (
        {**ROW, "response": " "},  # which -O empty_response is about, too
        f"{G} -O may_be_empty=response",
        {"groundedness": "ok"},
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    """An endpoint that every model is at."""
    with StandIn(lambda body: Text(GOOD, model=body["model"])) as server:
        yield server


@pytest.fixture(autouse=True)
def _prompt_and_endpoint(server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt of the user's own, and the endpoint."""
    (tmp_path / "mine.md").write_text(MINE)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)


@pytest.mark.parametrize(("row", "options", "outcomes"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_blank_value_is_judged_where_it_may_be_blank(
    command: Invoke, file_of: FileOf, row: dict[str, Any], options: str, outcomes: dict[str, str]
) -> None:
    result = command("run", file_of(row), "--model", "m", *options.split(), "--out", "-")
    actual_outcomes: dict[str, str] = {}
    for verdict in verdicts_in(result.stdout):
        actual_outcomes[verdict.judge] = verdict.error.code if verdict.error else verdict.status
    assert actual_outcomes == outcomes, result.stderr


@pytest.mark.parametrize(
    ("options", "message", "name"),
    crossed(
        [
            pytest.param(
                f"{G} -O may_be_empty=contxt",
                "-O may_be_empty=contxt: no judge has that input; the inputs are: query, context, response",
                id="misspelt",
            ),
            pytest.param(
                f"{G} -O may_be_empty=reference",
                "-O may_be_empty=reference: no judge has that input; "
                "the inputs are: query, context, response",
                id="a field that only other judges have",
            ),
            pytest.param(
                f"{G} {M} -O may_be_empty=query,places",
                "-O may_be_empty=places: no judge has that input; "
                "the inputs are: query, context, response, question, topic",
                id="the second one, with the inputs of two judges",
            ),
        ],
        ["run", "estimate", "batch write"],
    ),
)
def test_an_input_that_no_judge_has_is_refused(
    command: Invoke, file_of: FileOf, name: str, options: str, message: str
) -> None:
    result = command(*name.split(), file_of(ROW), "--model", "m", *options.split(), *_out_of(name))
    assert (result.exit_code, result.stderr.startswith(f"groundjudge: {message}")) == (2, True), result.stderr
    assert not Path("out.jsonl").exists()


def _out_of(name: str) -> list[str]:
    return [] if name == "estimate" else ["--out", "out.jsonl"]


def test_the_message_about_blank_inputs_names_the_options_that_help(command: Invoke, file_of: FileOf) -> None:
    run = ("run", file_of(NEITHER), "--model", "m", "--judge", "mine.md", "--out", "-")
    failed = command(*run)
    options = "-O may_be_empty=query,topic"
    assert (
        f"If it may be blank, for example when a search finds nothing, pass {options}. The case"
        in failed.stderr
    )
    assert 'may_be_empty=["' not in failed.stderr
    (verdict,) = verdicts_in(failed.stdout)
    assert verdict.error is not None
    # A file of verdicts may be read by a program, which passes the argument.
    assert 'pass may_be_empty=["query", "topic"]' in verdict.error.message
    assert command(*run, *options.split()).exit_code == 0


@pytest.mark.parametrize(
    ("message", "text"),
    [
        pytest.param('pass may_be_empty=["a"].', "pass -O may_be_empty=a.", id="one input"),
        pytest.param('pass may_be_empty=["a", "b"].', "pass -O may_be_empty=a,b.", id="two inputs"),
        pytest.param('not_may_be_empty=["a"]', 'not_may_be_empty=["a"]', id="part of another word"),
        pytest.param("may_be_empty: true", "may_be_empty: true", id="a key of front matter"),
    ],
)
def test_an_argument_for_blank_inputs_becomes_options(message: str, text: str) -> None:
    assert in_options(message) == text


def test_estimate_counts_the_rows_that_a_run_would_judge(command: Invoke, file_of: FileOf) -> None:
    estimate = ("estimate", file_of(ROW, NO_QUERY), "--judge", "groundedness")
    for options, n_calls, n_errors in ([], "1", "1"), (["-O", "may_be_empty=query"], "2", "0"):
        heading, row = words(command(*estimate, *options).stdout)[:2]
        assert heading[:5] == ["judge", "calls", "no", "call", "errors"]
        assert row[:4] == ["groundedness", n_calls, "0", n_errors]


def test_a_resumed_run_needs_the_same_inputs(command: Invoke, file_of: FileOf) -> None:
    run = (
        "run",
        file_of(NO_QUERY),
        "--judge",
        "groundedness",
        "--model",
        "m",
        "--out",
        "v.jsonl",
        "--resume",
    )
    assert command(*run, "-O", "may_be_empty=query").exit_code == 0
    again = command(*run, "-O", "may_be_empty=query")
    assert "1 verdicts reused, 0 new" in again.stdout
    # A judge that takes no blank query is another judge.
    assert command(*run).exit_code == 2


def test_batches_keep_the_inputs_that_may_be_blank(batches: Any) -> None:
    run: BatchCommands = batches(2)
    number, other = run.cases.read_text().splitlines()
    run.write_cases([json.loads(number), {**json.loads(other), "context": "Ferry 1", "query": ""}])
    run.server.script = lambda _: GOOD
    assert run.submit("-O", "may_be_empty=query").exit_code == 0
    assert run.collect().exit_code == 0
    assert run.results() == {"0": 1.0, "1": 1.0}


def test_a_written_batch_is_read_with_the_inputs_that_may_be_blank(command: Invoke, file_of: FileOf) -> None:
    options = ("--judge", "groundedness", "--model", "m", "-O", "may_be_empty=query")
    written = command("batch", "write", file_of(NO_QUERY), *options, "--out", "requests.jsonl")
    assert written.exit_code == 0, written.output
    (request,) = Path("requests.jsonl").read_text().splitlines()
    reply = {"choices": [{"message": {"content": GOOD}, "finish_reason": "stop"}]}
    result = {"custom_id": json.loads(request)["custom_id"], "response": {"status_code": 200, "body": reply}}
    Path("results.jsonl").write_text(json.dumps(result) + "\n")
    read = command("batch", "read", "results.jsonl", "--cases", "cases.jsonl", *options, "--out", "v.jsonl")
    assert read.exit_code == 0, read.output
    (verdict,) = verdicts_in(Path("v.jsonl").read_text())
    assert verdict.score == 1.0
