"""Clients of the caller: called through chat.completions.create, so that tracers and mocks see it."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import httpx
import openai
import pytest
from langsmith import tracing_context  # pyright: ignore[reportUnknownVariableType]
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.types.chat import ChatCompletion
from pydantic import BaseModel
from standin_langsmith import StandIn as LangSmith
from standin_openai import Answer, StandIn, Status, Text, completion

from groundjudge import Case, Reply, Usage, load_rubric
from groundjudge.errors import ModelError
from groundjudge.models.lookup import as_model
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Model, Request

with warnings.catch_warnings():  # by another module of the same package
    warnings.simplefilter("ignore", DeprecationWarning)
    from langsmith.wrappers import wrap_openai

Ask = Callable[[Model], Reply]
MESSAGES = [{"role": "user", "content": "x"}]
PARAMETERS = {"temperature": 0, "top_k": 3}
RUBRIC = load_rubric("groundedness", parameters=PARAMETERS)
ASKED = Request(tuple(MESSAGES), PARAMETERS, RUBRIC, Case())


def ask_sync(model: Model) -> Reply:
    return shared_loop().run(model.acomplete, ASKED)


def ask_async(model: Model) -> Reply:
    async def once() -> Reply:
        try:
            return await model.acomplete(ASKED)
        finally:
            await close(model)

    return asyncio.run(once())


async def close(model: Any) -> None:
    """Close an asynchronous client in the loop that used it."""
    if type(model.callers_client) is openai.AsyncOpenAI:
        await model.callers_client.close()


both_ways = pytest.mark.parametrize("ask", [ask_sync, ask_async])
both_kinds = pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])


def test_the_library_retries_for_an_object_that_says_nothing_about_retries() -> None:
    script: list[Answer] = [Status(500, retry_after=0.01), "fine"]
    with StandIn(script) as server, openai.OpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
        assert ask_sync(as_model((SimpleNamespace(chat=client.chat), "m"))).retries == 1
        server.requests.clear()
        server.script = script[:1]
        with pytest.raises(ModelError):
            ask_sync(as_model((SimpleNamespace(chat=client.chat, max_retries=0), "m")))
    assert len(server.requests) == 1


# Tracers


@pytest.mark.soak
@both_kinds
def test_wrap_openai_traces_each_call_and_error_in_every_loop(kind: Any) -> None:
    with StandIn([Status(401, "bad key"), "fine"], latency=0.02) as server, LangSmith() as langsmith:
        tracer = langsmith.client()

        def traced_model() -> Model:
            client = wrap_openai(kind(base_url=server.url, api_key="k"), tracing_extra={"client": tracer})
            return as_model((client, "m"))

        # An AsyncOpenAI serves one loop, here that of all synchronous callers.
        model_of_sync_callers = traced_model()

        async def several() -> None:
            model = traced_model()
            await asyncio.gather(*(model.acomplete(ASKED) for _ in range(4)))
            ask_sync(model_of_sync_callers)
            await close(model)

        with tracing_context(enabled=True, client=tracer, project_name="p"):
            with pytest.raises(ModelError, match="auth"):
                ask_sync(model_of_sync_callers)
            for _ in "12":
                asyncio.run(several())
                ask_sync(model_of_sync_callers)
        tracer.flush()
        shared_loop().run(close, model_of_sync_callers)
        runs = langsmith.of_project("p")
    assert len(runs) == len(server.requests) == 13
    (failure,) = [run for run in runs if run.get("error")]
    assert "bad key" in failure["error"]
    for run in runs:
        if run is failure:
            continue
        assert (run["name"], run["run_type"]) == ("ChatOpenAI", "llm")
        assert (run["inputs"]["messages"], run["inputs"]["model"]) == (MESSAGES, "m")
        assert run["outputs"]["choices"][0]["message"]["content"] == "fine"
        assert run["outputs"]["usage_metadata"]["input_tokens"] == 10


@pytest.mark.parametrize(("ask", "kind"), [(ask_sync, openai.OpenAI), (ask_async, openai.AsyncOpenAI)])
def test_a_wrapper_of_the_class_sees_the_call(ask: Ask, kind: Any) -> None:
    """As OpenTelemetry's instrumentations and Langfuse wrap it."""
    calls: list[dict[str, Any]] = []
    resource = Completions if kind is openai.OpenAI else AsyncCompletions
    inner: Any = resource.create

    def create(self: Any, *args: Any, **arguments: Any) -> Any:
        calls.append(arguments)
        return inner(self, *args, **arguments)

    with StandIn() as server, patch.object(resource, "create", create):
        ask(OpenAIModel("m", client=kind(base_url=server.url, api_key="k")))
    assert calls == [{"model": "m", "messages": MESSAGES, "temperature": 0, "extra_body": {"top_k": 3}}]


# Objects that offer chat.completions.create

COMPLETION = completion(Text("fine", model="said"))
REPLY = Reply("fine", "stop", Usage(prompt_tokens=10, completion_tokens=5), "said")


class Completion(BaseModel):
    choices: list[dict[str, Any]]
    usage: dict[str, int]
    model: str


ATTRIBUTES = SimpleNamespace(
    choices=[SimpleNamespace(message=SimpleNamespace(content="fine", refusal=None), finish_reason="stop")],
    usage=SimpleNamespace(prompt_tokens=10, completion_tokens=5),
    model="said",
)
MOCKED = MagicMock()  # as many a test sets it up
MOCKED.choices[0].message.content = "fine"

ANSWERS: dict[str, tuple[Any, Reply]] = {
    "ChatCompletion": (ChatCompletion.model_validate(COMPLETION), REPLY),
    "mapping": (COMPLETION, REPLY),
    "pydantic model": (Completion.model_validate(COMPLETION), REPLY),
    "attributes": (ATTRIBUTES, REPLY),
    "mock": (MOCKED, Reply("fine")),
    "attributes with mappings": (
        SimpleNamespace(choices=[{"message": {"content": "fine"}}]),
        Reply("fine"),
    ),
    "text": ("fine", Reply("fine")),
    "message": (SimpleNamespace(content="fine"), Reply("fine")),
    "Reply": (Reply("fine", "stop"), Reply("fine", "stop")),
}


def with_create(create: Any) -> Any:
    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def objects_that_return(answer: Any) -> list[Any]:
    def create(**_: Any) -> Any:
        return answer

    async def acreate(**_: Any) -> Any:
        await asyncio.sleep(0)
        return answer

    def late(**_: Any) -> Any:
        return acreate()

    mock, spec, aspec = MagicMock(), Mock(spec=openai.OpenAI), Mock(spec=openai.AsyncOpenAI)
    mock.chat.completions.create.return_value = spec.chat.completions.create.return_value = answer
    aspec.chat.completions.create = AsyncMock(return_value=answer)
    return [*map(with_create, (create, acreate, late)), mock, spec, aspec]


def clients_that_return(answer: Any) -> list[Any]:
    """Real clients, whose method a test has replaced."""
    real, areal = openai.OpenAI(api_key="k"), openai.AsyncOpenAI(api_key="k")
    real.chat.completions.create = Mock(return_value=answer)  # type: ignore[method-assign]
    areal.chat.completions.create = AsyncMock(return_value=answer)  # type: ignore[method-assign]
    return [real, areal]


@both_ways
def test_any_object_with_chat_completions_create_is_a_client(ask: Ask) -> None:
    for client in [*objects_that_return(COMPLETION), *clients_that_return(COMPLETION)]:
        model = as_model((client, "m"))
        assert [ask(model), ask(model)] == [REPLY, REPLY]


@pytest.mark.parametrize(("answer", "reply"), ANSWERS.values(), ids=ANSWERS)
def test_what_it_returns_is_read_by_its_form(answer: Any, reply: Reply) -> None:
    def create(**_: object) -> object:
        return answer

    assert ask_sync(as_model((with_create(create), "m"))) == reply


REQUEST: Any = httpx.Request("POST", "http://here")


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        pytest.param(
            openai.APIConnectionError(request=REQUEST), "connection", id="openai's connection error"
        ),
        pytest.param(openai.APITimeoutError(REQUEST), "timeout", id="openai's timeout"),
        pytest.param(ConnectionRefusedError("no"), "connection", id="Python's connection error"),
        pytest.param(ValueError("what?"), "failed", id="any other error"),
        pytest.param(json.JSONDecodeError("what?", "<html>", 0), "server", id="body that is no JSON"),
        pytest.param(None, "server", id="None"),
        pytest.param({"error": "no"}, "server", id="error as an answer"),
        pytest.param({"choices": ""}, "server", id="no choices"),
        pytest.param(object(), "server", id="object without a message"),
    ],
)
def test_what_it_raises_and_what_is_no_completion_is_a_model_error(outcome: Any, code: str) -> None:
    create = Mock(side_effect=[outcome])
    client = with_create(create)
    client.max_retries = 0
    with pytest.raises(ModelError) as caught:
        ask_sync(OpenAIModel("m", client=client))
    assert (caught.value.code, create.call_count) == (code, 1)


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(object(), id="no attribute"),
        pytest.param(SimpleNamespace(chat=None), id="no completions"),
        pytest.param(with_create("no function"), id="create that is no function"),
    ],
)
def test_other_objects_are_no_clients(client: Any) -> None:
    with pytest.raises(ModelError, match=r"unknown_model: .*chat\.completions\.create"):
        as_model((client, "m"))


@pytest.mark.parametrize("more", [{"base_url": "http://here"}, {"api_key": "k"}], ids=["base_url", "api_key"])
def test_a_client_has_its_own_endpoint_and_key(more: dict[str, Any]) -> None:
    with closing(openai.OpenAI(api_key="k")) as client, pytest.raises(ModelError, match="unknown_model"):
        OpenAIModel("m", client=client, **more)
