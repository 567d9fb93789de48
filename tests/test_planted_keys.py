"""No key in anything that the library writes: planted at every place, with every fault, and searched for.

The tables stand in `planted_keys`. Every fault, adapter and command is in the default suite, with another
place each; more pairs of them are among the soak tests.
"""

# LangSmith is only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from adapter_entries import ENTRIES
from adapters_table import exchange_of
from batch_commands import ANTHROPIC, OPENAI, BatchCommands, number_of
from command_line import ROW, Invoke
from formatter import sure
from langchain_core.tracers.langchain import LangChainTracer, wait_for_all_tracers
from langsmith import evaluate, tracing_context
from planted_keys import (
    FAULTS,
    KEY,
    PATHS,
    PLACES,
    PLANTED,
    UNREACHABLE,
    echo,
    in_files,
    leaks_in,
    plant_keys,
    with_password,
)
from standin_batches import Call, LineAnswer
from standin_langsmith import StandIn as LangSmith
from standin_openai import Status, Text
from verdict_files import write_rows

from groundjudge import CachedModel, GroundjudgeError, load
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langsmith import evaluator
from groundjudge.models.lookup import as_model

# What is not cached leaves no key in a file.
pytestmark = pytest.mark.filterwarnings("ignore:replies of:RuntimeWarning")

pytest_plugins = ["batch_servers"]

FORMATTER = logging.Formatter("%(name)s %(message)s")


@pytest.fixture
def log_text(caplog: pytest.LogCaptureFixture) -> Any:
    """What is logged, with its tracebacks."""
    caplog.set_level(logging.DEBUG, "groundjudge")
    return lambda: "\n".join(
        FORMATTER.format(record) for record in caplog.records if record.name == "groundjudge"
    )


SLOW = ("mlflow", "inspect")
ALL_FAULTS = [*FAULTS, *UNREACHABLE]


PAIRS = [
    pytest.param(place, fault, marks=[] if i == j else [pytest.mark.soak])
    for i, place in enumerate(PLACES)
    for j, fault in enumerate(ALL_FAULTS)
    if i == j or (i + j) % 8 == 0
]
"""Each fault at another place, and in soak two or three faults at every place."""


@pytest.mark.parametrize(("place", "fault"), PAIRS)
def test_no_key_in_verdicts_errors_logs_and_caches(
    place: str, fault: str, log_text: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = list[object]()
    with plant_keys(place, fault, monkeypatch) as model:
        uncached = load("groundedness", model=model)
        judge = load("groundedness", model=CachedModel(model, tmp_path / "cache.db"))
        verdict = judge.evaluate(ROW)
        outputs += [uncached, uncached.model, judge, judge.model]
        outputs += [verdict.model_dump_json(), verdict, verdict.explanation]
        try:
            uncached.judge(ROW)
        except GroundjudgeError as error:
            outputs += [*traceback.format_exception(error), repr(error), error.args, vars(error)]
    assert not leaks_in("\n".join(map(str, [*outputs, log_text(), in_files(tmp_path)])))


# --- adapters -------------------------------------------------------------------------------------

AT_ADAPTERS = [
    pytest.param(name, *path, marks=[pytest.mark.soak] if name.startswith(SLOW) else [])
    for name, path in zip(ENTRIES, cycle(PATHS), strict=False)
]


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("current_event_loop")
@pytest.mark.parametrize(("adapter", "place", "fault"), AT_ADAPTERS)
def test_no_key_in_what_an_adapter_hands_over(  # noqa: PLR0913, PLR0917  fixtures
    adapter: str,
    place: str,
    fault: str,
    log_text: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("INSPECT_LOG_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    row = exchange_of({**ROW, "context": [ROW["context"]], "id": "1"})
    with plant_keys(place, fault, monkeypatch) as model:
        # The entry checks all else that the adapter shows against the verdict that it hands over.
        (verdict,) = ENTRIES[adapter](load("groundedness", model=model), [row])
    outputs = [verdict.model_dump_json(), verdict.explanation]
    assert not leaks_in("\n".join([*map(str, outputs), log_text(), in_files(tmp_path), *capfd.readouterr()]))


@pytest.mark.parametrize(("place", "fault"), PATHS[:3])
def test_no_key_in_what_langsmith_is_sent(
    place: str, fault: str, log_text: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with plant_keys(place, fault, monkeypatch) as model, LangSmith([({**ROW}, None)]) as server:
        tracer = server.client()
        judge = evaluator("groundedness", model=model)
        with tracing_context(enabled=True, client=tracer):
            evaluate(lambda _: {**ROW}, data=server.dataset, evaluators=[judge], client=tracer)
            with suppress(GroundjudgeError):
                traced: Any = {"callbacks": [LangChainTracer(client=tracer)]}
                runnable("groundedness", model=model).invoke(ROW, traced)
        tracer.flush()
        wait_for_all_tracers()
    names = {run["name"] for run in server.runs.values()}
    assert {"judge", "groundjudge.call", "groundedness"} <= names
    assert server.feedback
    assert not leaks_in(f"{server.requests} {log_text()}")


# --- commands -------------------------------------------------------------------------------------

CASES = [{**ROW, "id": str(n), "label": n % 2, "expect": ("pass", "fail")[n % 2]} for n in range(4)]
ENDING = ("401", "403", "404", "another body", "cut", "half", *UNREACHABLE)
"""The faults that end a run."""

IN_COMMANDS = ("half", "bad URL")
"""The faults that commands meet beside those of `PATHS`: they print what verdicts and errors say."""

JUDGING = ("--judge", "groundedness", "--model", "m")
COMMANDS: Sequence[Sequence[str]] = [
    ("run", "c.jsonl", *JUDGING, "--out", "v.jsonl", "--cache", "cache.db"),
    ("run", "c.jsonl", *JUDGING, "--out", "v.jsonl", "--cache", "cache.db", "--resume"),
    ("run", "c.jsonl", *JUDGING, "--out", "panel.jsonl", "--repeats", "3"),
    ("estimate", "c.jsonl", *JUDGING),
    ("probe", *JUDGING, "--cases", "c.jsonl", "--out", "p.jsonl", "--card", "card.json"),
    ("report", "v.jsonl", "--cases", "c.jsonl"),
    ("label", "c.jsonl", "v.jsonl", "--n", "2"),
    ("agree", "v.jsonl", "--labels", "c.jsonl"),
    ("compare", "v.jsonl", "panel.jsonl", "--labels", "c.jsonl"),
    ("calibrate", "v.jsonl", "--labels", "c.jsonl", "--folds", "2"),
    ("batch", "write", "c.jsonl", *JUDGING, "--out", "requests.jsonl"),
    ("batch", "read", "requests.jsonl", "--cases", "c.jsonl", *JUDGING, "--out", "read.jsonl"),
    ("rate", "v.jsonl", "--labels", "c.jsonl", "--random"),
    ("show", "groundedness"),
    ("judges",),
    ("examples",),
]


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        pytest.param(*path, marks=[] if path == PATHS[0] else [pytest.mark.soak])
        for path in (*PATHS, *(("OPENAI_API_KEY", fault) for fault in IN_COMMANDS))
    ],
)
def test_no_key_in_what_commands_print_and_write(  # noqa: PLR0913, PLR0917  fixtures
    place: str, fault: str, command: Invoke, log_text: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows("c.jsonl", CASES)
    with plant_keys(place, fault, monkeypatch) as model:
        results = [command(*arguments, model=as_model(model)) for arguments in COMMANDS]
    for arguments, result in zip(COMMANDS, results, strict=True):
        assert isinstance(result.exception, SystemExit | None), arguments
        assert f"{result.output}".strip(), arguments
    files = {path.name for path in tmp_path.iterdir()}
    assert {"cache.db", "requests.jsonl"} <= files
    assert fault in ENDING or {"v.jsonl", "report.html"} <= files
    outputs = [result.output for result in results]
    assert not leaks_in("\n".join([*outputs, log_text(), in_files(tmp_path)]))


DOWNLOAD: Mapping[str, Call] = {OPENAI: "content", ANTHROPIC: "results"}
PROVIDERS = [
    pytest.param(OPENAI, "OPENAI_API_KEY", KEY, id="OpenAI's key"),
    pytest.param(
        OPENAI, "OPENAI_CUSTOM_HEADERS", f"x-team: {KEY}", marks=pytest.mark.soak, id="a header at OpenAI"
    ),
    pytest.param(ANTHROPIC, "ANTHROPIC_API_KEY", KEY, marks=pytest.mark.soak, id="Anthropic's key"),
    pytest.param(ANTHROPIC, "ANTHROPIC_CUSTOM_HEADERS", f"x-team: {KEY}", id="a header at Anthropic"),
]


def echoing(body: Mapping[str, Any]) -> LineAnswer:
    """Replies, errors and refusals in a batch's results that have the key in them."""
    answers: Sequence[LineAnswer] = [
        Status(401, echo([KEY])),
        Text(f"<S0>t</S0><S1>{KEY}</S1>{sure(5)}"),
        Text("", refusal=f"Not with {quote(KEY)}.") if body["model"] == OPENAI else Status(400, echo([KEY])),
        f"I was asked with {KEY}.",
    ]
    return answers[number_of(body)]


@pytest.mark.soak
@pytest.mark.parametrize(("model", "variable", "value"), PROVIDERS)
def test_no_key_in_what_batch_commands_print_and_write(  # noqa: PLR0913, PLR0917  fixtures
    model: str,
    variable: str,
    value: str,
    batches: Any,
    log_text: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run: BatchCommands = batches(4, model=model, script=echoing)
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("OPENAI_BASE_URL", with_password(run.server.url))
    monkeypatch.setattr("groundjudge.batches.submit.TRIES", 2)
    status = Status(401, echo(PLANTED))
    run.server.fail("create", status)
    results = [run.submit()]
    run.server.fail("create", replace(status, status=400))
    results += [run.submit(), run.submit()]
    for call in ("retrieve", DOWNLOAD[model]):
        run.server.fail(call, status)
        results += [run.invoke("batch", "status", run.out), run.collect()]
    results += [run.invoke("batch", "status", run.out), run.collect(), run.collect("--finish", "batch")]
    for batch in run.server.batches.values():
        error = {"code": "bad", "message": echo(PLANTED), "line": 1, "param": None}
        batch.status, batch.errors = "failed", [error]
    results += [run.invoke("batch", "status", run.out), run.invoke("batch", "cancel", run.out)]
    output = "\n".join(result.output for result in results)
    assert "no_verdict 1" in output
    assert "auth 1" in output
    assert not leaks_in(f"{output} {log_text()} {in_files(tmp_path)}")
