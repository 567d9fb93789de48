"""A cache never serves another model's reply: what differs in a setting, or cannot be told, shares none."""

# Settings of any kind are passed on:
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from command_line import GOOD, ROW
from deepeval import models as deepeval_models
from formatter import sure
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_groq import ChatGroq
from scripted_model import ScriptedModel
from standin_openai import StandIn, refuses, refusing

from groundjudge import CachedModel, Reply, load
from groundjudge.models.lookup import as_model
from groundjudge.models.openai import OpenAIModel
from groundjudge.rubric.model import identity_of

Make = Callable[..., Any]
# Older versions call it GPTModel.
DeepEvalOpenAI: Any = getattr(deepeval_models, "OpenAIModel", None) or deepeval_models.GPTModel


def maker(kind: Any, **usual_settings: Any) -> Make:
    """A function from settings to an object of a class, with a key and usual settings too."""
    return lambda **settings: kind(**{"api_key": "k-123456", **usual_settings, **settings})


def client_of(kind: Any) -> Make:
    """A function that makes a client and the name of a model."""
    endpoint = {"base_url": "http://a"}
    if "Azure" in kind.__name__:
        endpoint = {"azure_endpoint": "http://a", "api_version": "1"}
    make = maker(kind, **endpoint)
    return lambda **settings: (make(**settings), "m")


def http(**settings: Any) -> Any:
    return client_of(openai.OpenAI)(http_client=openai.DefaultHttpxClient(**settings))


groq = maker(ChatGroq, model="m")
anthropic = maker(ChatAnthropic, model="m")
# A model that DeepEval knows: of others it drops the temperature.
deepeval = maker(DeepEvalOpenAI, model="gpt-4o")
CHAT: list[dict[str, Any]] = [
    *({"model": "m-2"}, {"base_url": "http://b"}, {"temperature": 0.1}, {"stop": ["x"]}),
    *({"model_kwargs": {"seed": 1}}, {"model_kwargs": {"seed": 2}}),
    {"model_kwargs": {"extra_body": {"metadata": {"tags": ["eu"]}}}},
    {"model_kwargs": {"extra_body": {"metadata": {"tags": ["us"]}}}},
    *({"model_kwargs": {"output_key": "verdict"}}, {"model_kwargs": {"stop_token": "<end>"}}),
    # "basic" and a word behind it look like a password
    {"model_kwargs": {"prefix": "You are a basic assistant"}},
    {"model_kwargs": {"prefix": "You are a basic reviewer"}},
    *({"default_headers": {"x-route": "a"}}, {"default_headers": {"x-route": "b"}}),
    {"default_query": {"deployment": "a"}},
    {"client": openai.OpenAI(api_key="k", base_url="http://c").chat.completions},
]
CLIENT: list[dict[str, Any]] = [
    *({}, {"organization": "o"}, {"project": "p"}, {"default_query": {"deployment": "a"}}),
    *({"default_headers": {"x-route": "a"}}, {"default_headers": {"x-route": "b"}}),
]
OWN_URL: list[dict[str, Any]] = [{"base_url": "http://b"}, {"base_url": "http://a?version=2"}]
AZURE: list[dict[str, Any]] = [{name: "b"} for name in ("azure_deployment", "api_version", "azure_endpoint")]

PROVIDERS: dict[str, tuple[Make, list[dict[str, Any]]]] = {
    "LangChain": (groq, [{}, *CHAT]),
    "another provider": (anthropic, [{}, {"model": "m-2"}, {"base_url": "http://b"}, {"top_k": 3}]),
    "bound": (lambda **more: groq().bind(**more), [{}, {"stop": ["y"]}, {"seed": 1}, {"seed": 2}]),
    "configured": (lambda **to: groq().with_config(configurable=to), [{}, {"model": "a"}, {"model": "b"}]),
    "retried": (lambda **settings: groq(**settings).with_retry(), [{}, *CHAT[:4]]),
    "fallback": (lambda **settings: groq().with_fallbacks([groq(**settings)]), [{}, *CHAT[:4]]),
    "no model": (FakeListChatModel, [{"responses": ["a"]}, {"responses": ["b"]}]),
    "DeepEval": (
        deepeval,
        [
            *({}, {"model": "gpt-4.1"}, {"base_url": "http://b"}, {"temperature": 0.1}),
            *({"generation_kwargs": {"seed": 1}}, {"default_headers": {"x-route": "a"}}),
        ],
    ),
    "OpenAI": (client_of(openai.OpenAI), [*CLIENT, *OWN_URL]),
    "AsyncOpenAI": (client_of(openai.AsyncOpenAI), [{}, *OWN_URL]),
    "AzureOpenAI": (client_of(openai.AzureOpenAI), [*CLIENT, *AZURE]),
    "AsyncAzureOpenAI": (client_of(openai.AsyncAzureOpenAI), [{}, *AZURE]),
    "HTTP client": (http, [{}, {"headers": {"x-route": "a"}}, {"params": {"d": "a"}}]),
    "name": (
        lambda name="m", url="http://a": OpenAIModel(name, base_url=url),
        [{}, {"name": "m-2"}, {"url": "http://b"}],
    ),
}


def identity(model: Any) -> str:
    return identity_of(as_model(model))


@pytest.mark.parametrize(("make", "table"), PROVIDERS.values(), ids=PROVIDERS)
def test_models_with_other_settings_are_told_apart(make: Make, table: list[dict[str, Any]]) -> None:
    identities = [identity(make(**settings)) for settings in table]
    assert all(identities)
    assert len({*identities}) == len(table)
    assert identities == [identity(make(**settings)) for settings in table]


@pytest.mark.parametrize(
    ("make", "settings", "other_settings"),
    [
        pytest.param(groq, {}, {"api_key": "k-654321"}, id="key of a chat model"),
        pytest.param(
            groq,
            {},
            {"verbose": True, "callbacks": [], "tags": ["t"], "metadata": {"a": 1}, "cache": False},
            id="tracing of a chat model",
        ),
        pytest.param(
            groq,
            {"default_headers": {"Authorization": "one"}},
            {"default_headers": {"Authorization": "two"}},
            id="header with a key",
        ),
        pytest.param(deepeval, {}, {"api_key": "k-654321"}, id="key of DeepEval"),
        pytest.param(
            client_of(openai.AsyncOpenAI),
            {},
            {"api_key": "k-654321", "timeout": 9, "max_retries": 7},
            id="key, timeout and retries of a client",
        ),
        pytest.param(
            partial(OpenAIModel, "m", base_url="http://a"),
            {},
            {"api_key": "k-654321", "timeout": 9},
            id="key and timeout of an endpoint",
        ),
        pytest.param(
            client_of(openai.OpenAI),
            {"base_url": "http://user:first@a/v1"},
            {"base_url": "http://user:second@a/v1"},
            id="password in a client's URL",
        ),
        pytest.param(
            partial(OpenAIModel, "m"),
            {"base_url": "http://user:first@a/v1"},
            {"base_url": "http://user:second@a/v1"},
            id="password in an endpoint's URL",
        ),
    ],
)
def test_secrets_retries_and_tracing_tell_no_model_apart(
    make: Make, settings: dict[str, Any], other_settings: dict[str, Any]
) -> None:
    assert identity(make(**settings)) == identity(make(**other_settings)) != ""
    assert not any(secret in identity(make(**settings)) for secret in ("k-123456", "first", "one"))


def test_headers_from_the_environment_and_settings_that_change_tell_models_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chat = groq()
    model = as_model(chat)
    identities_before = {identity_of(model), identity(OpenAIModel("m"))}
    chat.temperature = 0.9
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-route: a")
    identities_after = {identity_of(model), identity(OpenAIModel("m"))}
    assert not identities_before & identities_after


def some_models() -> list[Any]:
    return [groq(), anthropic(), deepeval(), client_of(openai.OpenAI)()]


PRINT_IDENTITIES = """
from test_identity import identity, some_models
for model in some_models():
    print(identity(model))
"""


@pytest.mark.soak
def test_another_process_finds_the_same_identities() -> None:
    output = subprocess.check_output(  # noqa: S603  this very Python
        [sys.executable, "-c", PRINT_IDENTITIES],
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": ":".join(sys.path)},  # here texts have other hashes
        cwd=Path(__file__).parent,
        text=True,
    )
    assert output.splitlines() == [identity(model) for model in some_models()]


class Answering:
    """Answers with its score, as code of a user's own may."""

    def __init__(self, score: int, identity: str | None = None) -> None:
        self.score = score
        if identity is not None:
            self.identity = identity

    def ask(self, _: object, *, score: int = 0) -> str:
        return sure(score or self.score)

    __call__ = ask


class OwnLLM(Answering):
    """A model of DeepEval's kind."""

    def get_model_name(self) -> str:
        return "m"

    async def a_generate(self, _: str) -> str:
        return self.ask(None)

    generate = a_generate


class OwnChat(FakeListChatModel):
    """A chat model of LangChain's kind, whose code decides on the reply."""


@dataclass
class Own:
    """A model without an identity."""

    score: int
    name: str = "own"

    async def acomplete(self, _: object) -> Reply:
        return Reply(sure(self.score))


class Client:
    """A client of another package."""

    base_url = "http://a"

    def __init__(self, score: int) -> None:
        self.chat = self.completions = self
        self.create = lambda **_: {"choices": [{"message": {"content": sure(score)}}]}


WITHOUT_IDENTITY: dict[str, Callable[[int], Any]] = {
    "function": lambda score: lambda _: sure(score),
    "bound method": lambda score: Answering(score).ask,
    "object": Answering,
    "model": Own,
    "model of DeepEval's kind": OwnLLM,
    "chat model": lambda score: OwnChat(responses=[sure(score)]),
    "stream of replies": lambda score: GenericFakeChatModel(messages=iter([AIMessage(sure(score))])),
    "chain": lambda score: (
        RunnableLambda(lambda messages: messages) | FakeListChatModel(responses=[sure(score)])
    ),
    "client": lambda score: (Client(score), "m"),
}


@pytest.mark.parametrize("make", WITHOUT_IDENTITY.values(), ids=WITHOUT_IDENTITY)
def test_what_cannot_be_told_apart_is_asked_each_time_after_a_warning(make: Make, tmp_path: Path) -> None:
    values: list[float | None] = []
    for score in (5, 1):
        model = make(score)
        with pytest.warns(RuntimeWarning, match="not cached.*attribute `identity`"):
            cached = CachedModel(model, tmp_path / "c")
        assert identity(model) == ""
        values.append(load("groundedness", model=cached).judge(ROW).value)
    assert values == [5, 1]


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(httpx.Client(), id="client of HTTP"),
        pytest.param(lambda: 3, id="function"),
        pytest.param(iter("a"), id="iterator"),
        pytest.param(partial(print), id="partial"),
    ],
)
def test_settings_that_cannot_be_compared_tell_nothing(setting: object) -> None:
    assert identity(groq(model_kwargs={"x": setting})) == ""


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(Answering, id="object"),
        pytest.param(OwnLLM, id="model of DeepEval's kind"),
        pytest.param(lambda *options: Answering(*options).ask, id="bound method"),
    ],
)
def test_code_of_your_own_says_what_it_is(make: Make, tmp_path: Path) -> None:
    values: list[float | None] = []
    for score, own_identity in ((5, "a"), (1, "a"), (1, "b")):
        model = CachedModel(make(score, own_identity), tmp_path / "c")
        values.append(load("groundedness", model=model).judge(ROW).value)
    assert values == [5, 5, 1], "the second one is the first, as far as it says"


@pytest.mark.parametrize("no_identity", ["", None, 3])
def test_an_identity_that_is_no_text_tells_nothing(no_identity: Any) -> None:
    assert identity(Answering(3, no_identity)) == ""
    assert identity(ScriptedModel(GOOD)) == ""


def test_what_an_endpoint_refuses_is_learnt_once_for_all_its_models() -> None:
    with StandIn(refusing({"temperature": refuses("temperature")}, GOOD)) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k")
        for model in (OpenAIModel("m", base_url=server.url), OpenAIModel("m", base_url=f"{server.url}")):
            load("groundedness", model=model).judge(ROW)
        load("groundedness", model=OpenAIModel("another", base_url=server.url)).judge(ROW)
        client.close()
    parameters_sent = [(body["model"] == "m", "temperature" in body) for body in server.bodies]
    assert parameters_sent == [(True, True), (True, False), (True, False), (False, True), (False, False)]
