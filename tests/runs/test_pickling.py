"""Judges survive pickling, and are the same judges afterwards; clients and keys are never pickled."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import openai
import pytest
from adapters_table import CASES, JUDGES, fields_of, judge_of
from any_options import load_any
from formatter import sure
from langchain_core.language_models import FakeListChatModel
from standin_openai import StandIn

from groundjudge import CachedModel, Choices, ModelError, Scale, load
from groundjudge.models.function import FunctionModel
from groundjudge.models.library import LibraryModel
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.openai import OpenAIModel
from groundjudge.replies import Json
from groundjudge.types import AnyJudge, Model, Request

Dumps = Callable[[Any], bytes]
DUMPS: dict[str, Dumps] = {
    "pickle": pickle.dumps,
    "cloudpickle": import_module("cloudpickle").dumps,
}
GOOD = f"<S0>t</S0><S1>fine</S1>{sure(5)}"
ROW: dict[str, Any] = {"id": "1", "query": "When?", "context": ["At nine."], "response": "At nine."}


def fine(_: Request) -> str:
    return GOOD


def anew(original: Any, dumps: Dumps = pickle.dumps) -> Any:
    return pickle.loads(dumps(original))  # noqa: S301  pickled above


@pytest.mark.parametrize("name", JUDGES)
def test_judge_is_the_same_afterwards(name: str) -> None:
    judge = judge_of(name)
    before = anew(judge, DUMPS["cloudpickle"])
    identity = judge.identity
    after = anew(judge)
    assert identity == before.identity == after.identity
    assert judge.rubrics == before.rubrics == after.rubrics
    case = CASES[name][0]
    assert fields_of(after.evaluate(case)) == fields_of(judge.evaluate(case))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            {"threshold": 0.9, "parameters": {"temperature": 0.2, "seed": 5}}, id="threshold and parameters"
        ),
        pytest.param(
            {
                "reply": Json(),
                "scale": Scale(worst=0, best=10),
                "levels": {5: "low", 10: "high"},
                "not_applicable": [0],
            },
            id="format, scale and levels",
        ),
        pytest.param(
            {"scale": Choices({"yes": 1, "no": 0}), "levels": {}, "not_applicable": []}, id="a scale of texts"
        ),
        pytest.param(
            {"weighted": True, "empty_response": "worst", "structured": "never", "optional": ["query"]},
            id="weighted",
        ),
        pytest.param({"repeats": 3, "rule": "min", "stop": "never"}, id="votes"),
    ],
)
def test_options_are_kept(options: dict[str, Any]) -> None:
    judge = load_any("groundedness", model="offline", **options)
    assert anew(judge) == judge
    assert anew(judge).identity == judge.identity


def test_prompt_file_need_not_exist_any_more(tmp_path: Path) -> None:
    path = tmp_path / "own.prompty"
    path.write_text(
        "---\nname: own\noffline: groundedness\nreply: {format: tags}\n"
        "inputs: [{name: response, type: messages}, {name: context, type: documents}]\n"
        "scale: {worst: 1, best: 5}\n---\nuser:\nRate {{response}} by {{context}}"
    )
    judge = load(path, model="offline")
    dumped = pickle.dumps(judge)
    path.unlink()
    unpickled: AnyJudge = pickle.loads(dumped)  # noqa: S301  pickled above
    assert unpickled.identity == judge.identity
    assert [rubric.ask(ROW).messages for rubric in unpickled.rubrics] == [judge.rubric.ask(ROW).messages]


def test_endpoint_is_looked_up_where_the_model_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://driver.example/v1")
    dumped = pickle.dumps(load("groundedness", model="openai:m"))
    assert b"sk-secret" not in dumped
    assert b"driver.example" not in dumped
    with StandIn([GOOD]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert pickle.loads(dumped).judge(ROW).score == 1  # noqa: S301  pickled above


def test_settings_of_an_endpoint_are_kept() -> None:
    with StandIn([GOOD]) as server:
        model = OpenAIModel("m", base_url=server.url, max_retries=5, timeout=7.5)
        load("groundedness", model=model).judge(ROW)  # its client is open now
        unpickled: Any = anew(model)
        assert (unpickled.name, unpickled.endpoint) == ("m", server.url)
        assert unpickled.__reduce__()[0].keywords == {
            "base_url": server.url,
            "max_retries": 5,
            "timeout": 7.5,
        }
        assert load("groundedness", model=unpickled).judge(ROW).score == 1


FAKE = FakeListChatModel(responses=[GOOD])
HOLDERS: dict[str, tuple[Callable[[], Model], str]] = {
    "client": (
        lambda: OpenAIModel("m", client=openai.OpenAI(api_key="sk-secret")),
        "with a client: pass its name",
    ),
    "key": (lambda: OpenAIModel("m", api_key="sk-secret"), "with an api_key: pass its name"),
    "password": (
        lambda: OpenAIModel("m", base_url="https://me:secret@host/v1"),
        "with a password or a query in its base_url: pass its name",
    ),
    "chat model": (
        lambda: LibraryModel(FAKE),
        "with the model object that was passed, which may contain a key: pass its name",
    ),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_client_or_key_is_not_pickled(holder: str) -> None:
    make, message = HOLDERS[holder]
    judge = load("groundedness", model=make())
    for dumps in DUMPS.values():
        with pytest.raises(pickle.PicklingError, match=message) as raised:
            dumps(judge)
        assert "environment of the workers" in str(raised.value)
        assert "secret" not in str(raised.value)
    for copied in (copy.copy(judge), copy.deepcopy(judge)):  # need no pickling
        assert copied.model is judge.model


def with_other_values(n: int) -> Callable[[object], str]:
    settings = {"max_tokens": n, "model": "gpt-6-luna", "monitor": "on", "url": "https://a.example/v1?x=y"}
    return lambda _: GOOD + str(settings)[:0]


def test_a_function_that_was_asked_is_pickled_without_the_keys_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_SERVICE_KEY", "live-4f9a81c2d7-4f9a81c2d7")
    judge = load("groundedness", model=fine)
    judge.judge(ROW)
    assert b"4f9a81c2d7" not in DUMPS["cloudpickle"](judge)


def test_langchain_model_is_made_again_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []

    def make(name: str) -> FakeListChatModel:
        names.append(name)
        return FAKE

    monkeypatch.setattr("langchain.chat_models.init_chat_model", make)
    judge = load("groundedness", model="langchain:fake:m")
    unpickled = anew(anew(judge))
    assert names == ["fake:m"] * 3
    assert unpickled.judge(ROW).score == 1


def test_function_is_the_same_to_a_cache_afterwards() -> None:
    function = with_other_values(3)
    vars(function)["identity"] = "mine, 1"
    model = FunctionModel(function)
    unpickled = anew(model, DUMPS["cloudpickle"])
    assert (unpickled.name, unpickled.identity) == (model.name, "mine, 1")
    assert load("groundedness", model=unpickled).judge(ROW).score == 1


def test_cached_model_opens_its_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    vars(fine)["identity"] = "fine, 1"
    model = CachedModel(fine, "cache.db", repeat=1)
    load("groundedness", model=model).judge(ROW)
    dumped = pickle.dumps(model)
    monkeypatch.chdir("/")
    unpickled: CachedModel = pickle.loads(dumped)  # noqa: S301  pickled above
    assert (unpickled.path, unpickled.repeat, unpickled.name) == (tmp_path / "cache.db", 1, "fine")
    reply = shared_loop().run(unpickled.acomplete, load("groundedness", model=unpickled).rubric.ask(ROW))
    assert (reply.text, reply.cached) == (GOOD, True)


def test_errors_keep_their_code() -> None:
    assert str(anew(ModelError("quota", "no money", "m"))) == "quota: no money"
