"""Clients of the caller: called through chat.completions.create, so that tracers and mocks see it."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock, MagicMock, Mock, create_autospec, patch

import httpx
import openai
import pytest
from langsmith import tracing_context  # pyright: ignore[reportUnknownVariableType]
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.types.chat import ChatCompletion
from pydantic import BaseModel
from standin_langsmith import StandIn as LangSmith
from standin_openai import Answer, Raw, StandIn, Status, Text, refuses

from groundjudge import Case, Reply, Usage, load_rubric
from groundjudge.errors import ModelError
from groundjudge.judging.load import as_model
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Request

with warnings.catch_warnings():  # by another module of the same package
    warnings.simplefilter("ignore", DeprecationWarning)
    from langsmith.wrappers import wrap_openai

SOON = 0.01
MESSAGES = [{"role": "user", "content": "x"}]
COMPLETION: dict[str, Any] = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "said",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "fine"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}
REPLY = Reply("fine", "stop", Usage(prompt_tokens=10, completion_tokens=5), "said")


PARAMETERS = {"temperature": 0}
RUBRIC = load_rubric("groundedness", parameters=PARAMETERS)


def request(**parameters: Any) -> Request:
    rubric = load_rubric("groundedness", parameters=parameters) if parameters else RUBRIC
    return Request(tuple(MESSAGES), parameters or PARAMETERS, rubric, Case())


def ask_sync(model: OpenAIModel, asked: Request | None = None) -> Reply:
    return shared_loop().run(model.acomplete, asked or request())


def ask_async(model: OpenAIModel, asked: Request | None = None) -> Reply:
    async def once() -> Reply:
        try:
            return await model.acomplete(asked or request())
        finally:
            await close(model)

    return asyncio.run(once())


async def close(model: OpenAIModel) -> None:
    """Close an asynchronous client in the loop that used it; other loops use copies."""
    client: Any = model._given  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if type(client) is openai.AsyncOpenAI:
        await client.close()


@pytest.fixture(params=[ask_sync, ask_async])
def ask(request: pytest.FixtureRequest) -> Callable[..., Reply]:
    return cast("Callable[..., Reply]", request.param)


@pytest.fixture(params=[openai.OpenAI, openai.AsyncOpenAI])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(autouse=True)
def no_open_connections() -> Iterator[None]:
    yield
    while SYNC:
        SYNC.pop().close()


SYNC: list[openai.OpenAI] = []
"""The clients that a test has made."""


def client_of(kind: Any, server: StandIn, **options: Any) -> Any:
    client = kind(base_url=server.url, api_key="k", **options)
    if kind is openai.OpenAI:
        SYNC.append(client)
    return client


in_each_loop = pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (ask_sync, openai.OpenAI),
        (ask_async, openai.AsyncOpenAI),
        pytest.param(ask_sync, openai.AsyncOpenAI, marks=pytest.mark.soak),
        pytest.param(ask_async, openai.OpenAI, marks=pytest.mark.soak),
    ],
)


# What is sent


@pytest.mark.parametrize(
    "parameters",
    [
        {"temperature": 0, "top_p": 1, "max_tokens": 100},
        {"top_k": 3, "min_p": 0.1, "temperature": 0},
        {"response_format": {"type": "json_object"}, "seed": 1, "stop": ["a"]},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"max_completion_tokens": 5, "reasoning_effort": "low"},
        {"extra_body": {"a": 1}},
        {"timeout": 3, "extra_headers": {"a": "b"}},
        {"provider": {"order": ["a"]}, "n": 1},
        {"self": 1},
    ],
)
@in_each_loop
def test_the_body_is_that_of_a_client_of_the_library(
    ask: Callable[..., Reply], kind: Any, parameters: dict[str, Any]
) -> None:
    with StandIn() as server:
        ask(OpenAIModel("m", client=client_of(kind, server)), request(**parameters))
        ask(OpenAIModel("m", base_url=server.url), request(**parameters))
    assert server.bodies[0] == server.bodies[1] == {"model": "m", "messages": MESSAGES, **parameters}


# Replies and errors


@pytest.mark.parametrize(
    "answer",
    [
        Text("fine"),
        Text("fi", "length"),
        Text(None, refusal="I won't"),
        Text(message={"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        Raw(b'{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 3}, "model": 4}'),
        Raw(b"<html>", "text/html"),
        Raw(b"[" * 100_000),
        Raw(b'{"error": {"message": "upstream"}}'),
        Status(401, "bad key"),
        Status(429, "no money", "insufficient_quota"),
    ],
)
@in_each_loop
def test_it_is_read_as_from_a_client_of_the_library(
    ask: Callable[..., Reply], kind: Any, answer: Answer
) -> None:
    with StandIn([answer]) as server:
        outcomes: list[object] = []
        given = OpenAIModel("m", client=client_of(kind, server, max_retries=0))
        for model in (given, OpenAIModel("m", base_url=server.url, max_retries=0)):
            try:
                outcomes.append(ask(model))
            except ModelError as error:
                outcomes.append(error.code)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("first", [refuses("temperature"), refuses("max_tokens", "max_completion_tokens")])
def test_a_refused_parameter_is_left_out(ask: Callable[..., Reply], kind: Any, first: Answer) -> None:
    with StandIn([first, "fine"]) as server:
        model = OpenAIModel("m", client=client_of(kind, server))
        assert ask(model, request(temperature=0, max_tokens=9)).text == "fine"
        assert ask(model, request(temperature=0, max_tokens=9)).text == "fine"
    assert len(server.requests) == 3


# Retries: those that the client is configured to do, and no others


@pytest.mark.parametrize("max_retries", [0, 1, 3])
@pytest.mark.parametrize(
    "status", [429, *(pytest.param(each, marks=pytest.mark.soak) for each in (500, 408))]
)
def test_retries_do_not_multiply(ask: Callable[..., Reply], kind: Any, max_retries: int, status: int) -> None:
    with StandIn([Status(status, retry_after=SOON)]) as server, pytest.raises(ModelError) as caught:
        ask(OpenAIModel("m", client=client_of(kind, server, max_retries=max_retries), max_retries=7))
    assert len(server.requests) == 1 + max_retries
    assert caught.value.retries == max_retries


def test_the_library_retries_for_an_object_that_says_nothing_about_retries(ask: Callable[..., Reply]) -> None:
    with StandIn([Status(500, retry_after=SOON), "fine"]) as server:
        client = client_of(openai.OpenAI, server, max_retries=0)
        plain = SimpleNamespace(chat=client.chat)
        assert ask(OpenAIModel("m", client=cast("Any", plain))).retries == 1
        silent = SimpleNamespace(chat=client.chat, max_retries=0)
        server.requests.clear()
        server.script = [Status(500, retry_after=SOON)]
        with pytest.raises(ModelError):
            ask(OpenAIModel("m", client=cast("Any", silent)))
    assert len(server.requests) == 1


# Tracers


@in_each_loop
def test_wrap_openai_traces_each_call(ask: Callable[..., Reply], kind: Any) -> None:
    with StandIn([Text("fine")]) as server, LangSmith() as langsmith:
        tracer = langsmith.client()
        model = as_model((wrap_openai(client_of(kind, server), tracing_extra={"client": tracer}), "m"))
        with tracing_context(enabled=True, client=tracer, project_name="p"):
            for _ in range(3):
                assert ask(model).text == "fine"
        tracer.flush()
        runs = langsmith.of_project("p")
    assert len(runs) == len(server.requests) == 3
    for traced in runs:
        assert (traced["name"], traced["run_type"]) == ("ChatOpenAI", "llm")
        assert (traced["inputs"]["messages"], traced["inputs"]["model"]) == (MESSAGES, "m")
        assert traced["outputs"]["choices"][0]["message"]["content"] == "fine"
        usage = traced["outputs"]["usage_metadata"]
        assert (usage["input_tokens"], usage["output_tokens"]) == (10, 5)


@pytest.mark.soak
def test_wrap_openai_traces_sync_and_async_calls_in_every_loop(kind: Any) -> None:
    with StandIn([Text("fine")], latency=0.02) as server, LangSmith() as langsmith:
        tracer = langsmith.client()
        wrapped = wrap_openai(wrap_openai(client_of(kind, server), tracing_extra={"client": tracer}))
        model = OpenAIModel("m", client=wrapped)

        async def several() -> None:
            await asyncio.gather(*(model.acomplete(request()) for _ in range(4)))
            shared_loop().run(model.acomplete, request())
            await close(model)

        with tracing_context(enabled=True, client=tracer, project_name="p"):
            for _ in range(3):
                asyncio.run(several())
                shared_loop().run(model.acomplete, request())
        tracer.flush()
        runs = langsmith.of_project("p")
    assert len(server.requests) == 18
    assert len(runs) == 36
    assert all(traced["outputs"]["choices"] for traced in runs)


async def test_an_error_is_traced_and_becomes_a_model_error(kind: Any) -> None:
    with StandIn([Status(401, "bad key")]) as server, LangSmith() as langsmith:
        tracer = langsmith.client()
        wrapped = wrap_openai(client_of(kind, server), tracing_extra={"client": tracer})
        with (
            tracing_context(enabled=True, client=tracer, project_name="p"),
            pytest.raises(ModelError, match="auth"),
        ):
            await OpenAIModel("m", client=wrapped).acomplete(request())
        await close(OpenAIModel("m", client=wrapped))
        tracer.flush()
        (traced,) = langsmith.of_project("p")
    assert "bad key" in traced["error"]


def test_a_wrapper_of_the_class_sees_the_call(ask: Callable[..., Reply], kind: Any) -> None:
    """As OpenTelemetry's instrumentations and Langfuse wrap it."""
    seen: list[dict[str, Any]] = []
    resource = Completions if kind is openai.OpenAI else AsyncCompletions
    inner = resource.create

    def create(self: Any, *args: Any, **arguments: Any) -> Any:
        seen.append(arguments)
        return cast("Any", inner)(self, *args, **arguments)

    with StandIn() as server, patch.object(resource, "create", create):
        ask(OpenAIModel("m", client=client_of(kind, server)), request(temperature=0, top_k=3))
    assert seen == [{"model": "m", "messages": MESSAGES, "temperature": 0, "extra_body": {"top_k": 3}}]


# Objects that offer chat.completions.create


class Completion(BaseModel):
    choices: list[dict[str, Any]]
    usage: dict[str, int]
    model: str


ATTRIBUTES = SimpleNamespace(
    choices=[SimpleNamespace(message=SimpleNamespace(content="fine", refusal=None), finish_reason="stop")],
    usage=SimpleNamespace(prompt_tokens=10, completion_tokens=5),
    model="said",
)


def mocked_completion() -> MagicMock:
    """As many a test sets it up."""
    answer = MagicMock()
    answer.choices[0].message.content = "fine"
    return answer


ANSWERS: list[tuple[Any, Reply]] = [
    (ChatCompletion.model_validate(COMPLETION), REPLY),
    (COMPLETION, REPLY),
    (Completion.model_validate(COMPLETION), REPLY),
    (ATTRIBUTES, REPLY),
    (mocked_completion(), Reply("fine")),
    (SimpleNamespace(choices=[{"message": {"content": "fine"}}]), Reply("fine")),
    ("fine", Reply("fine")),
    (SimpleNamespace(content="fine"), Reply("fine")),
    (Reply("fine", "stop"), Reply("fine", "stop")),
    ({"choices": [{"message": {"content": [{"type": "text", "text": "fine"}]}}]}, Reply("fine")),
]


def clients_that_return(answer: Any) -> list[Any]:
    def create(**_: Any) -> Any:
        return answer

    async def acreate(**_: Any) -> Any:
        await asyncio.sleep(0)
        return answer

    def late(**arguments: Any) -> Any:
        return acreate(**arguments)

    def with_create(function: Any) -> Any:
        return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=function)))

    mock, amock, spec, autospec = MagicMock(), MagicMock(), Mock(spec=openai.OpenAI), Mock()
    mock.chat.completions.create.return_value = answer
    amock.chat.completions.create = AsyncMock(return_value=answer)
    spec.chat.completions.create.return_value = answer
    autospec.chat.completions = create_autospec(Completions, instance=True)
    autospec.chat.completions.create.return_value = answer
    aspec = Mock(spec=openai.AsyncOpenAI)
    aspec.chat.completions.create = AsyncMock(return_value=answer)
    real, areal = openai.OpenAI(api_key="k"), openai.AsyncOpenAI(api_key="k")
    real.chat.completions.create = Mock(return_value=answer)  # type: ignore[method-assign]
    areal.chat.completions.create = AsyncMock(return_value=answer)  # type: ignore[method-assign]
    return [*map(with_create, (create, acreate, late)), mock, amock, spec, aspec, autospec, real, areal]


@pytest.mark.parametrize(
    ("answer", "reply"), [*ANSWERS[:3], *(pytest.param(*row, marks=pytest.mark.soak) for row in ANSWERS[3:])]
)
def test_any_object_with_chat_completions_create_is_a_client(
    ask: Callable[..., Reply], answer: Any, reply: Reply
) -> None:
    for client in clients_that_return(answer):
        if isinstance(answer, str) and type(client) in {openai.OpenAI, openai.AsyncOpenAI}:
            continue  # that is how the openai client returns a page of HTML
        model = as_model((client, "m"))
        assert ask(model) == reply
        assert ask(model) == reply


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (openai.APIConnectionError(request=cast("Any", httpx.Request("POST", "http://here"))), "connection"),
        (openai.APITimeoutError(cast("Any", httpx.Request("POST", "http://here"))), "timeout"),
        (ConnectionRefusedError("no"), "connection"),
        (TimeoutError("late"), "timeout"),
        (ValueError("what?"), "failed"),
        (json.JSONDecodeError("what?", "<html>", 0), "server"),
    ],
)
def test_what_such_an_object_raises_is_a_model_error(
    ask: Callable[..., Reply], raised: Exception, code: str
) -> None:
    client = MagicMock(max_retries=0)
    client.chat.completions.create.side_effect = raised
    with pytest.raises(ModelError) as caught:
        ask(OpenAIModel("m", client=client))
    assert caught.value.code == code
    assert client.chat.completions.create.call_count == 1


@pytest.mark.parametrize("answer", [None, 3, {"error": "no"}, {"choices": []}, {"choices": None}, object()])
def test_what_is_no_completion_is_an_error(ask: Callable[..., Reply], answer: Any) -> None:
    client = MagicMock(max_retries=0)
    client.chat.completions.create.return_value = answer
    with pytest.raises(ModelError) as caught:
        ask(OpenAIModel("m", client=client))
    assert caught.value.code == "server"


@pytest.mark.parametrize(
    "client",
    [
        object(),
        "http://here",
        SimpleNamespace(chat=None),
        SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create="no function"))),
        SimpleNamespace(completions=SimpleNamespace(create=print)),
    ],
)
def test_other_objects_are_no_clients(client: Any) -> None:
    with pytest.raises(ModelError, match=r"unknown_model: .*chat\.completions\.create"):
        as_model((client, "m"))
