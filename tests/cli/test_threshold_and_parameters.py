"""--threshold and -O parameters: the options of `load` that a run gives to each of its judges."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_commands import BatchCommands
from command_line import ROW, STRICT, FileOf, Invoke, verdicts_in
from formatter import sure
from standin_openai import StandIn, Text

from groundjudge import load, run

pytest_plugins = ["batch_servers"]

FAIR = f"<S0>t</S0><S1>most of it</S1>{sure(4)}"
"""A reply with the score 0.75."""

G, S = "--judge groundedness", "--judge strict.md"


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    """An endpoint that every model is at."""
    with StandIn(lambda body: Text(FAIR, model=body["model"])) as server:
        yield server


@pytest.fixture(autouse=True)
def _prompt_and_endpoint(server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt of the user's own, and the endpoint."""
    (tmp_path / "strict.md").write_text(STRICT)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        pytest.param(G, {"groundedness": True}, id="the judge's own"),
        pytest.param(f"{G} --threshold 0.75", {"groundedness": True}, id="a score that is reached exactly"),
        pytest.param(f"{G} --threshold 0.8", {"groundedness": False}, id="higher"),
        pytest.param(f"{G} --repeats 2 --threshold 0.8", {"groundedness": False}, id="repeats"),
        pytest.param(f"{G} --panel --model b --threshold 0.8", {"groundedness": False}, id="a panel"),
        pytest.param(
            f"{G} --cascade b -O until=0.1,0.9 --threshold 0.8", {"groundedness": False}, id="a cascade"
        ),
    ],
)
def test_a_threshold_is_that_of_each_judge(
    command: Invoke, file_of: FileOf, options: str, passed: dict[str, bool]
) -> None:
    result = command("run", file_of(ROW), "--model", "m", *options.split(), "--out", "-")
    assert {verdict.judge: verdict.passed for verdict in verdicts_in(result.stdout)} == passed, result.stderr


PARAMETERS: dict[str, Any] = {
    # as they are written, and as they are sent
    "temperature=0.5": 0.5,  # in place of the file's
    "max_tokens=77": 77,
    "reasoning_effort=low": "low",
    'user="5"': "5",  # a text, because of the quotes
    "safety_identifier=a=b": "a=b",
    'thinking={"type":"off"}': {"type": "off"},
    "store=false": False,
    "prompt_cache_key=NaN": "NaN",  # JSON has no such number
}


def test_parameters_are_sent_with_each_request(command: Invoke, file_of: FileOf, server: StandIn) -> None:
    n_before = len(server.bodies)
    assignments: list[str] = []
    for written in PARAMETERS:
        assignments += ["-O", f"parameters.{written}"]
    judges = (*G.split(), *S.split())
    result = command("run", file_of(ROW), "--model", "m", *judges, *assignments, "--out", "-")
    assert result.exit_code == 0, result.stderr
    assert len(server.bodies) == n_before + 2
    for body in server.bodies[n_before:]:
        for written, value in PARAMETERS.items():
            assert body[written.partition("=")[0]] == value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            "-O parameters.temperature", "-O parameters.temperature: expected NAME=VALUE", id="no value"
        ),
        pytest.param("-O =5", "-O =5: unknown option ''", id="no name"),
        pytest.param(
            "-O parameters.seed=1 -O parameters.seed=2",
            "-O parameters.seed=2: parameters.seed is given",
            id="twice",
        ),
        pytest.param(
            "-O parameters.model=m", "-O parameters.model=m: the model is that of --model", id="model"
        ),
        pytest.param(
            "-O parameters.messages=[]",
            "and the messages are those of the prompt",
            id="messages",
        ),
        pytest.param(
            "-O parameters.2=x", "-O parameters must be a mapping with names", id="a number as a name"
        ),
        pytest.param(
            "-O levels.[1]=poor",
            "-O levels.[1]=poor: [1] is neither a name nor a number",
            id="a list as a key",
        ),
        pytest.param('-O optional=[["query"]]', "no judge has that input", id="a list as a name"),
        pytest.param(
            "--repeats 2 -O parameters.temperature=0",
            "-O parameters.temperature=0 with --repeats would repeat one reply",
            id="votes that are all alike",
        ),
        pytest.param(
            "--threshold 75", "Invalid value for '--threshold': Input should be less", id="a percentage"
        ),
        pytest.param(
            "--threshold -0.1", "Invalid value for '--threshold': Input should be greater", id="below 0"
        ),
        pytest.param("--threshold nan", "threshold", id="not a number"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    command: Invoke, file_of: FileOf, options: str, message: str
) -> None:
    result = command("estimate", file_of(ROW), "--model", "m", *G.split(), *options.split())
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("name", ["run", "batch write"])
def test_where_it_is_refused_nothing_is_written(command: Invoke, file_of: FileOf, name: str) -> None:
    options = "-O parameters.model=m --out out.jsonl"
    result = command(*name.split(), file_of(ROW), "--model", "m", *G.split(), *options.split())
    assert (result.exit_code, "the model is that of --model" in result.stderr) == (2, True), result.stderr
    assert not Path("out.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "option", "parameter"),
    [
        ("run", "--temperature", "temperature=VALUE"),
        ("run", "--top_p", "top_p=VALUE"),  # as the API has it
        ("estimate", "--top-p", "top_p=VALUE"),
        ("batch write", "--seed", "seed=VALUE"),
    ],
)
def test_a_parameter_that_is_taken_for_an_option_is_told_how_it_is_written(
    command: Invoke, file_of: FileOf, name: str, option: str, parameter: str
) -> None:
    result = command(*name.split(), file_of(ROW), "--model", "m", *G.split(), option, "0")
    expected = f"No such option: {option}. Write -O parameters.{parameter}\n"
    assert (result.exit_code, result.stderr.endswith(expected)) == (2, True), result.stderr


def test_a_command_without_requests_says_nothing_of_their_parameters(command: Invoke) -> None:
    result = command("report", "v.jsonl", "--temperature", "0")
    assert (result.exit_code, "-O" in result.stderr) == (2, False)


def test_a_resumed_run_needs_the_same_settings_as_in_python(command: Invoke, file_of: FileOf) -> None:
    resume = ("run", file_of(ROW), "--model", "m", *G.split(), "--out", "v.jsonl", "--resume")
    assert command(*resume, "--threshold", "0.8").exit_code == 0
    assert "1 verdicts reused, 0 new" in command(*resume, "--threshold", "0.8").stdout
    (verdict,) = verdicts_in(Path("v.jsonl").read_text())
    for threshold, is_same in (0.8, True), (0.7, False):
        (in_python,) = run(load("groundedness", model="m", threshold=threshold), [ROW])
        assert (in_python.key == verdict.key) is is_same
    for options in [], ["--threshold", "0.7"], ["--threshold", "0.8", "-O", "parameters.seed=1"]:
        result = command(*resume, *options)
        assert result.exit_code == 2
        assert "but this run uses another model, setting or version (m, " in result.stderr


def test_batches_keep_the_threshold_and_the_parameters(batches: Any) -> None:
    submitted: BatchCommands = batches(2)
    submitted.server.script = lambda _: FAIR
    assert submitted.submit("--threshold", "0.8", "-O", "parameters.seed=7").exit_code == 0
    assert submitted.collect().exit_code == 0
    verdicts = verdicts_in(Path(submitted.out).read_text())
    assert [(verdict.score, verdict.passed) for verdict in verdicts] == [(0.75, False)] * 2


def test_a_written_batch_has_the_parameters(command: Invoke, file_of: FileOf) -> None:
    options = (*G.split(), "--model", "m", "-O", "parameters.seed=7")
    assert command("batch", "write", file_of(ROW), *options, "--out", "requests.jsonl").exit_code == 0
    (request,) = Path("requests.jsonl").read_text().splitlines()
    assert json.loads(request)["body"]["seed"] == 7
