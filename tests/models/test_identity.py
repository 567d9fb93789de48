"""What tells models apart for a cache: settings, and no secrets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import openai
import pytest
from command_line import GOOD, ROW
from langchain_groq import ChatGroq
from scripted_model import ScriptedModel
from standin_openai import StandIn, refuses, refusing

from groundjudge import CachedModel, load
from groundjudge.judging.load import as_model
from groundjudge.models.openai import OpenAIModel
from groundjudge.rubric.model import identity_of


def chat(**settings: Any) -> Any:
    values: dict[str, Any] = {"model": "m", "api_key": "k-123456", "base_url": "http://a.example", **settings}
    return ChatGroq(**values)


class DeepEvalLike:
    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings, client=object())

    def generate(self, _: str) -> str:
        return GOOD

    async def a_generate(self, _: str) -> str:
        return GOOD

    def get_model_name(self) -> str:
        return "m"


SETTINGS: list[dict[str, Any]] = [
    {},
    {"temperature": 0.5},
    {"max_tokens": 3},
    {"base_url": "http://b.example/v1"},
    {"model_kwargs": {"seed": 3}},
]


def retried(**settings: Any) -> Any:
    return chat(**settings).with_retry()


def bound(**settings: Any) -> Any:
    return chat(**settings).bind(stop=["y"])


def spare(**settings: Any) -> Any:
    return chat().with_fallbacks([chat(**settings)])


@pytest.mark.parametrize("make", [chat, retried, bound, spare, DeepEvalLike])
def test_models_with_other_settings_have_other_identities(make: Callable[..., Any]) -> None:
    identities = [identity_of(as_model(make(**settings))) for settings in SETTINGS]
    assert len({*identities}) == len(SETTINGS)
    assert identities == [identity_of(as_model(make(**settings))) for settings in SETTINGS]


class Answering:
    def __init__(self, score: int) -> None:
        self.score = score

    def ask(self, _: object, *, score: int = 0) -> str:
        return f"<S2>{score or self.score}</S2>"

    __call__ = ask


def with_a_default(score: int) -> Callable[..., str]:
    def ask(_: object, score: int = score) -> str:
        return f"<S2>{score}</S2>"

    return ask


def with_a_keyword(score: int) -> Callable[..., str]:
    def ask(_: object, *, score: int = score) -> str:
        return f"<S2>{score}</S2>"

    return ask


def with_a_closure(score: int) -> Callable[[object], str]:
    return lambda _: f"<S2>{score}</S2>"


def with_other_code(score: int) -> Callable[[object], str]:
    return (lambda _: "<S2>5</S2>") if score == 5 else (lambda _: "<S2>1</S2>")


FUNCTIONS: dict[str, Callable[[int], Any]] = {
    "default": with_a_default,
    "keyword": with_a_keyword,
    "code": with_other_code,
    "closure": with_a_closure,
    "bound method": lambda score: Answering(score).ask,
    "argument": lambda score: partial(Answering(0).ask, score=score),
    "object": Answering,
}


@pytest.mark.parametrize("make", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_of_one_name_that_differ_in_code_or_a_value_share_no_replies(
    make: Callable[[int], Any], tmp_path: Path
) -> None:
    models = [CachedModel(make(score), tmp_path / "c") for score in (5, 1, 5)]
    assert [load("groundedness", model=model).judge(ROW).value for model in models] == [5, 1, 5]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (chat(), chat(api_key="k-654321")),
        (DeepEvalLike(api_key="k-123456"), DeepEvalLike(api_key="k-654321")),
        (
            OpenAIModel("m", base_url="http://user:one@a.example/v1"),
            OpenAIModel("m", base_url="http://user:two@a.example/v1", api_key="k-654321"),
        ),
    ],
)
def test_keys_and_passwords_are_no_part_of_an_identity(one: Any, other: Any) -> None:
    identities = [identity_of(as_model(each)) for each in (one, other)]
    assert identities[0] == identities[1]
    assert not any(secret in identities[0] for secret in ("k-123456", "one", "two"))


def test_a_model_without_an_identity_has_its_name() -> None:
    assert identity_of(ScriptedModel("hm")) == "scripted"


def test_what_an_endpoint_refuses_is_learnt_once_for_all_its_models() -> None:
    with StandIn(refusing({"temperature": refuses("temperature")}, GOOD)) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k")
        for model in (OpenAIModel("m", base_url=server.url), OpenAIModel("m", base_url=f"{server.url}")):
            load("groundedness", model=model).judge(ROW)
        load("groundedness", model=OpenAIModel("another", base_url=server.url)).judge(ROW)
        client.close()
    sent = [(body["model"] == "m", "temperature" in body) for body in server.bodies]
    assert sent == [(True, True), (True, False), (True, False), (False, True), (False, False)]
