"""Models by their names: which are OpenAI's or an endpoint's own, and which belong to another provider."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import openai
import pytest
from command_line import GOOD, ROW
from standin_openai import StandIn

from groundjudge import CachedModel, ModelError, load
from groundjudge.models.lookup import as_model
from groundjudge.models.loop_thread import shared_loop


@pytest.mark.parametrize(
    ("name", "name_at_endpoint"),
    [
        ("gpt-6-luna", "gpt-6-luna"),
        ("ft:gpt-oss:org::id", "ft:gpt-oss:org::id"),
        ("openai:ft:gpt-oss:org::id", "ft:gpt-oss:org::id"),
        ("mistral:7b", "mistral:7b"),
        ("hf.co/someone/model:Q4_K_M", "hf.co/someone/model:Q4_K_M"),
        ("openai:anthropic:claude-x", "anthropic:claude-x"),
        ("openai:bedrock/x", "bedrock/x"),
        ("anthropic:", "anthropic:"),
    ],
)
def test_names_that_go_to_the_endpoint(name: str, name_at_endpoint: str) -> None:
    model = as_model(name)
    assert (type(model).__name__, model.name) == ("OpenAIModel", name_at_endpoint)


@pytest.mark.parametrize(
    "name",
    [
        "anthropic:claude-x",
        "bedrock/vendor.model-v1:0",
        "llama3:8b",
        "openai:anthropic/claude-x",
        "http://a/v1",
    ],
)
def test_names_of_others_are_not_sent_to_openai(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(ModelError, match=r"no_endpoint: .*OpenAI has no models with such names") as raised:
        load("groundedness", model=name).judge(ROW)
    assert "set OPENAI_BASE_URL" in raised.value.message
    assert '"langchain:PROVIDER:MODEL"' in raised.value.message


@pytest.mark.parametrize("name", ["openai: ", ""])
def test_a_name_without_a_model_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=r"unknown_model: .* lacks the name of the model"):
        as_model(name)


@pytest.mark.parametrize(
    ("name", "right_name"),
    [
        ("openai:decisions:gpt-6-luna", "decisions:gpt-6-luna"),
        ("openai-decisions:gpt-6-luna", "decisions:gpt-6-luna"),
        ("langchain:openai-decisions:gpt-6-luna", "decisions:gpt-6-luna"),
        ("decisions/gpt-6-luna", "decisions:gpt-6-luna"),
        ("system-one:jev-latest", "systemone:jev-latest"),
        ("SystemOne:jev-latest", "systemone:jev-latest"),
        ("typesafe:jev-latest", "systemone:jev-latest"),
        ("langchain:typesafe:jev-latest", "systemone:jev-latest"),
        ("system-one:", "systemone:MODEL"),
        ("jev-latest", "systemone:jev-latest"),
        ("openai:jev-1.13.0", "systemone:jev-1.13.0"),
        ("typesafe/jev-1.14", "systemone:typesafe/jev-1.14"),
        ("openai/gpt-6-luna-decisions", "systemone:openai/gpt-6-luna-decisions"),
        (
            "openai/gpt-6-luna-decisions-20261006",
            "systemone:openai/gpt-6-luna-decisions-20261006",
        ),
    ],
)
def test_other_names_of_decision_models_are_refused_with_the_right_one(
    name: str, right_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = openai.OpenAI(base_url="http://127.0.0.1:1", api_key="k")
    for gateway in ("", "http://127.0.0.1:1/v1"):
        monkeypatch.setenv("OPENAI_BASE_URL", gateway)
        for model in (name, (client, name)):
            with pytest.raises(ModelError, match="unknown_model") as raised:
                as_model(model)
            assert f'"{right_name}"' in raised.value.message


@pytest.mark.parametrize("name", ["decisions:", "systemone: "])
def test_a_decision_model_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=r"unknown_model: .* lacks the name of the model"):
        as_model(name)


def test_langchain_makes_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with StandIn([GOOD]) as server:
        monkeypatch.setenv("GROQ_API_BASE", server.root)
        monkeypatch.setenv("GROQ_API_KEY", "k")
        judge = load("groundedness", model="langchain:groq:llama-x")
        verdict = judge.judge(ROW)
        groq: Any = judge.model
        shared_loop().run(groq.llm.async_client._client.close)  # noqa: SLF001  LangChain does not close it
    assert (verdict.score, verdict.model) == (1.0, "llama-x")
    (request,) = server.requests
    assert (request.path, request.body["model"]) == ("/openai/v1/chat/completions", "llama-x")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody:x", "LangChain cannot make the model 'nobody:x': Unable to infer model provider"),
        ("groq:x", "LangChain cannot make the model 'groq:x': .*GROQ_API_KEY"),
    ],
)
def test_what_langchain_cannot_make_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(ModelError, match=f"(?s)unknown_model: {message}"):
        as_model(f"langchain:{name}")


def test_without_langchain_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain", None)  # how Python marks what cannot be imported
    monkeypatch.delitem(sys.modules, "langchain.chat_models", raising=False)
    with pytest.raises(ModelError, match=r"unknown_model: .*'anthropic:x': .* pip install langchain"):
        as_model("langchain:anthropic:x")


def test_the_offline_judge_can_be_wrapped_and_still_refuses_rubrics(tmp_path: Path) -> None:
    cached = CachedModel("offline", tmp_path / "replies.db")
    assert load("groundedness", model=cached).judge(ROW).model == "offline"
    file = tmp_path / "polite.prompty"
    file.write_text("---\nreply: {format: plain}\nscale: {worst: 0, best: 1}\n---\n{{response}}")
    with pytest.raises(ModelError, match="offline_cannot_judge"):
        load(file, model=cached)


def test_the_offline_judge_is_found_in_any_case() -> None:
    assert load("groundedness", model="Offline").model.name == "offline"
