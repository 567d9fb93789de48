"""The options of a model that is passed by its name reach the endpoint, from every way in."""

# Options go from every way in to every model, so that no type says what they are:
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
from __future__ import annotations

import asyncio
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import openai
import pytest
from any_options import load_any
from command_line import GOOD, ROW, Invoke
from langchain_core.language_models import FakeListChatModel
from pydantic import Field
from scripted_model import ScriptedModel
from standin_openai import Hang, StandIn, Status

from groundjudge import ModelError, as_judge, load
from groundjudge.adapters import deepeval, langchain, langfuse, langsmith, promptfoo
from groundjudge.judging.guard import as_guard
from groundjudge.models.lookup import as_model
from groundjudge.models.loop_thread import shared_loop

KEY = "a-key-of-my-own"

WRONG_ENDPOINT = "http://127.0.0.1:9/v1"
"""Nothing listens there."""


@pytest.fixture(autouse=True)
def another_endpoint_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI", "TYPESAFE"):
        monkeypatch.setenv(f"{variable}_BASE_URL", WRONG_ENDPOINT)
        monkeypatch.setenv(f"{variable}_API_KEY", "the-environment's")


def used_keys(server: StandIn) -> list[str]:
    return [request.headers["Authorization"].removeprefix("Bearer ") for request in server.requests]


@pytest.mark.parametrize(
    ("name", "at_endpoint"),
    [
        pytest.param("gpt-6-luna", "gpt-6-luna", id="a bare name"),
        pytest.param("openai:gpt-6-luna", "gpt-6-luna", id="a name with its prefix"),
        pytest.param("anthropic/claude-x", "anthropic/claude-x", id="a gateway's name"),
    ],
)
def test_url_and_key_are_those_that_were_passed(name: str, at_endpoint: str) -> None:
    with StandIn([GOOD]) as server:
        verdict = load("groundedness", model=name, base_url=server.url, api_key=KEY).judge(ROW)
        assert (verdict.score, used_keys(server)) == (1.0, [KEY])
    assert server.requests[0].body["model"] == at_endpoint


def test_url_and_key_of_a_model_of_langchains_too() -> None:
    with StandIn([GOOD]) as server:
        judge = load("groundedness", model="langchain:groq:llama-x", base_url=server.root, api_key=KEY)
        verdict = judge.judge(ROW)
        groq: Any = judge.model
        shared_loop().run(groq.llm.async_client._client.close)  # noqa: SLF001  LangChain does not close it
    assert (verdict.score, used_keys(server)) == (1.0, [KEY])
    assert KEY in groq.secrets
    with pytest.raises(pickle.PicklingError, match="may contain a key"):
        pickle.dumps(groq)


@pytest.mark.parametrize("name", ["decisions:gpt-6-luna", "systemone:jev-latest"])
def test_url_and_key_of_a_decision_model_too(name: str) -> None:
    with StandIn([Status(401)]) as server:
        error = load("groundedness", model=name, base_url=server.url, api_key=KEY).evaluate(ROW).error
        assert (error and error.code, used_keys(server)) == ("auth", [KEY])


def test_timeout_and_retries_are_those_that_were_passed() -> None:
    with StandIn([Hang()]) as server:
        judge = load("groundedness", model="m", base_url=server.url, timeout=0.05, max_retries=0)
        error = judge.evaluate(ROW).error
    assert (error and error.code, len(server.requests)) == ("timeout", 1)


SIDES: dict[str, Any] = {"query": ROW["query"], "context": ROW["context"]}
ANSWER: dict[str, Any] = {"response": ROW["response"]}


def ask_by_mlflow(**options: Any) -> object:
    from groundjudge.adapters import mlflow  # noqa: PLC0415

    return mlflow.scorer("groundedness", **options)(inputs=SIDES, outputs=ANSWER)


def ask_judge_of(made: Any) -> object:
    """Ask the judge of what an adapter made."""
    return made.judge.judge(ROW)


WAYS_IN: dict[str, Callable[..., object]] = {
    "as_judge": lambda **options: as_judge("groundedness", **options).judge(ROW),
    "votes": lambda **options: load_any("groundedness", repeats=2, **options).judge(ROW),
    "guard": lambda **options: as_guard("groundedness", **options).run(ROW),
    "LangSmith": lambda **options: ask_judge_of(langsmith.evaluator("groundedness", **options)),
    "LangChain": lambda **options: langchain.runnable("groundedness", **options).invoke(ROW),
    "DeepEval": lambda **options: ask_judge_of(deepeval.GroundednessMetric(**options)),
    "MLflow": ask_by_mlflow,
    "Langfuse": lambda **options: asyncio.run(
        langfuse.evaluator("groundedness", **options)(input=SIDES, output=ANSWER)
    ),
    "promptfoo": lambda **options: promptfoo.get_assert(
        ANSWER, {"vars": SIDES, "config": {"judge": "groundedness", **options}}
    ),
}


SLOW = (pytest.mark.soak, pytest.mark.filterwarnings("default"))
"""For MLflow and Inspect, which take seconds to import, and warn."""


@pytest.mark.parametrize(
    "judge_once",
    [
        pytest.param(judge_once, id=name, marks=SLOW if name == "MLflow" else ())
        for name, judge_once in WAYS_IN.items()
    ],
)
def test_every_way_in_passes_them_on(judge_once: Callable[..., object]) -> None:
    with StandIn([GOOD]) as server:
        judge_once(model="m", base_url=server.url, api_key=KEY, max_retries=0)
        assert set(used_keys(server)) == {KEY}


def test_command_line_takes_them_but_the_key(command: Invoke) -> None:
    Path("c.jsonl").write_text(json.dumps({"id": "1", **ROW}), encoding="utf-8")
    run = ("run", "c.jsonl", "--judge", "groundedness", "--model", "m", "--out", "v.jsonl")
    with StandIn([GOOD]) as server:
        result = command(*run, "-O", f"base_url={server.url}", "-O", "timeout=5", "-O", "max_retries=0")
    assert (result.exit_code, len(server.requests)) == (0, 1)
    result = command(*run, "--overwrite", "-O", f"api_key={KEY}")
    assert (result.exit_code, "unknown option 'api_key'" in result.stderr) == (2, True)


def a_function(_: object) -> str:
    return GOOD


OTHER_MODELS: dict[str, Callable[[], Any]] = {
    "a function": lambda: a_function,
    "an object": lambda: ScriptedModel(GOOD),
    "a model that is made already": lambda: as_model("m"),
    "a client and a name": lambda: (openai.OpenAI(base_url=WRONG_ENDPOINT, api_key="k"), "m"),
    "a chat model of LangChain's": lambda: FakeListChatModel(responses=[GOOD]),
    "none": lambda: None,
    "the offline judge": lambda: "offline",
}


@pytest.mark.parametrize("make_model", OTHER_MODELS.values(), ids=OTHER_MODELS)
def test_what_has_settings_of_its_own_refuses_them_by_name(make_model: Callable[[], Any]) -> None:
    model = make_model()
    for name, value in {"base_url": WRONG_ENDPOINT, "timeout": 5, "api_key": KEY}.items():
        with pytest.raises(ModelError, match=rf"unknown_model: .*{name}") as raised:
            load_any("groundedness", model=model, **{name: value})
        assert KEY not in str(raised.value)


def test_loaded_judge_keeps_its_model_and_says_so() -> None:
    with pytest.raises(ModelError, match="timeout: only for a model that is passed by name, but none was"):
        as_judge(load("groundedness", model="m"), timeout=5)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"base_url": 5}, "base_url must be a text, not 5"),
        ({"api_key": KEY.encode()}, "api_key must be a text, not a bytes"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0, not 0"),
        ({"max_retries": -1}, "max_retries must be a whole number, 0 or more, not -1"),
        ({"time_out": 5}, "did you mean 'timeout'"),
    ],
)
def test_wrong_values_are_refused_and_no_key_is_shown(option: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        load_any("groundedness", model="m", **option)


@pytest.mark.soak
@pytest.mark.filterwarnings("default")
def test_inspects_own_models_have_settings_of_their_own() -> None:
    from groundjudge.adapters.inspect import groundedness  # noqa: PLC0415

    options: Any = {"model": "mockllm/model", "timeout": 5}
    with pytest.raises(ModelError, match="timeout: only for a model that is passed by name"):
        groundedness(**options)


class ChatOllama(FakeListChatModel):
    """Like that of LangChain's package, it takes no timeout, and ignores what it does not know."""

    model: str = ""
    base_url: str = ""
    responses: list[str] = Field(default=[GOOD])


def test_langchains_model_without_such_a_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    package: Any = ModuleType("langchain_ollama")
    package.ChatOllama = ChatOllama
    monkeypatch.setitem(sys.modules, "langchain_ollama", package)
    judge = load("groundedness", model="langchain:ollama:x", base_url=WRONG_ENDPOINT)
    assert judge.judge(ROW).score == 1
    with pytest.raises(ModelError, match="ChatOllama, the class of 'ollama:x', has no setting timeout"):
        load("groundedness", model="langchain:ollama:x", base_url=WRONG_ENDPOINT, timeout=5)
