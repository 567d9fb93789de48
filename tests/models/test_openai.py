"""An endpoint, asked by the library's own client and by openai's: replies, errors, retries and loops."""

from __future__ import annotations

import asyncio
import gc
import logging
import pickle
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any, ClassVar

import openai
import pytest
from standin_openai import Answer, Cut, Hang, Raw, StandIn, Status, Text, refuses, refusing

from groundjudge import Case, Reply
from groundjudge.errors import ModelError
from groundjudge.models.loop_thread import LoopThread, shared_loop
from groundjudge.models.openai import OpenAIModel
from groundjudge.models.transport import Transport
from groundjudge.types import Request
from groundjudge.verdict import Usage

PARAMETERS: dict[str, Any] = {"temperature": 0, "top_p": 1, "max_tokens": 100}
MESSAGES = [{"role": "user", "content": "grüße"}]
SOON = 0.01


def request(text: str = "grüße", **parameters: Any) -> Request:
    parameters = parameters or PARAMETERS
    rubric: Any = SimpleNamespace(prompt=SimpleNamespace(parameters=parameters))
    return Request(({"role": "user", "content": text},), parameters, rubric, Case())


def ask(model: OpenAIModel, question: Request | None = None) -> Reply:
    """The reply, in an event loop of its own."""
    return asyncio.run(model.acomplete(question or request()))


def ask_sync(model: OpenAIModel, question: Request | None = None) -> Reply:
    """The reply, as synchronous callers get it."""
    return shared_loop().run(model.acomplete, question or request())


def model_at(server: StandIn, **options: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=server.url, **options)


def error_of(model: OpenAIModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(model)
    return caught.value


Served = tuple[StandIn, list[OpenAIModel]]


@contextmanager
def each_model(server: StandIn) -> Generator[list[OpenAIModel]]:
    """A model of the library's own client, and one of each of openai's; no client retries by itself."""
    plain: Any = {"base_url": server.url, "api_key": "k", "max_retries": 0}
    with openai.OpenAI(**plain) as client:
        async_client = openai.AsyncOpenAI(**plain)
        yield [
            model_at(server, max_retries=0),
            OpenAIModel("m", client=client),
            OpenAIModel("m", client=async_client),
        ]
        shared_loop().run(async_client.close)


@pytest.fixture(scope="module")
def served_models() -> Generator[Served]:
    """A stand-in, and models at it, which learn nothing of what it refuses: for replies and errors."""
    with StandIn() as server, each_model(server) as models:
        yield server, models


@pytest.fixture
def served(served_models: Served) -> Served:
    """The same, without the requests of earlier tests."""
    served_models[0].requests.clear()
    return served_models


# What is sent, and what it becomes


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param(
            {"top_k": 3, "chat_template_kwargs": {"enable_thinking": False}, "temperature": 0},
            id="parameters that the client does not know",
        ),
        pytest.param(
            {"response_format": {"type": "json_object"}, "seed": 1, "stop": ["a"]},
            id="parameters that the client knows",
        ),
        pytest.param(
            {"extra_body": {"a": 1}, "timeout": 3, "extra_headers": {"a": "b"}},
            id="parameters named as options of the client",
        ),
        pytest.param(
            {"provider": {"order": ["a"]}, "n": 1, "self": 1}, id="parameters named as other arguments"
        ),
    ],
)
def test_request_is_sent_unchanged(served: Served, parameters: dict[str, Any]) -> None:
    server, models = served
    server.script = ["fine"]
    for model in models:
        ask_sync(model, request(**parameters))
    assert server.bodies == [{"model": "m", "messages": MESSAGES, **parameters}] * len(models)


OUTCOMES = [
    pytest.param(
        Text("fine"),
        Reply("fine", "stop", Usage(prompt_tokens=10, completion_tokens=5), "stand-in"),
        id="completion",
    ),
    pytest.param(
        Text("東京", "length", None),
        Reply("東京", "length", None, "stand-in"),
        id="completion cut off, without usage",
    ),
    pytest.param(
        Text(None, refusal="I won't", usage=None),
        Reply("", "stop", None, "stand-in", "I won't"),
        id="refusal",
    ),
    pytest.param(
        Raw(b'{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 3}, "model": 4}'),
        Reply("a", usage=Usage(prompt_tokens=3)),
        id="completion with parts missing or of other types",
    ),
    pytest.param(Status(401, "bad key"), "auth: bad key", id="401: wrong key"),
    pytest.param(Status(403, "not yours"), "auth: not yours", id="403: not allowed"),
    pytest.param(Status(402, "no credits"), "quota: no credits", id="402: no credits"),
    pytest.param(
        Status(429, "You exceeded your quota", "insufficient_quota"),
        "quota: exceeded",
        id="429: used-up quota",
    ),
    pytest.param(Status(404, "no such model"), "not_found: no such model", id="404: unknown model"),
    pytest.param(Status(422, "what?"), "bad_request: what?", id="422: bad request"),
    pytest.param(
        Status(400, body=[{"error": {"message": "no"}}]),
        "bad_request: 400: no",
        id="error in a list, as Google sends it",
    ),
    pytest.param(Status(400, body={"error": "no"}), "bad_request: 400: no", id="error that is a text"),
    pytest.param(Status(400, body={"detail": "no"}), "bad_request: no", id="body with a detail"),
]


@pytest.mark.parametrize(("answer", "outcome"), OUTCOMES)
def test_answer_is_read_as_a_reply_or_is_a_permanent_error(
    served: Served, answer: Answer, outcome: Reply | str
) -> None:
    server, models = served
    server.script = [answer]
    for model in models:
        server.requests.clear()
        if isinstance(outcome, Reply):
            assert ask_sync(model) == outcome
            continue
        with pytest.raises(ModelError) as caught:
            ask_sync(model)
        code, _, words = outcome.partition(": ")
        assert (caught.value.code, caught.value.subject, len(server.requests)) == (code, "m", 1)
        assert words in caught.value.message
        assert "OPENAI_" in caught.value.message


def test_what_is_not_found_is_named_by_its_path_alone() -> None:
    with StandIn([Status(404, "no such page")]) as server:
        url = server.url.replace("//", "//user:password@") + "/?key=secret"
        with pytest.raises(ModelError) as caught:
            ask_sync(OpenAIModel("m", base_url=url))
    expected = f"m at 127.0.0.1:{server.port}: 404 for /v1/chat/completions: no such page ("
    assert caught.value.message.startswith(expected)


HTML = b"<!DOCTYPE html><html><body>Sign in</body></html>"
PAGES = {
    "HTML": (Raw(HTML, "text/html"), "Sign in"),
    "HTML, called JSON": (Raw(HTML), "Sign in"),
    "empty": (Raw(b""), "no reason"),
    "no text": (Raw(b"\xff\xfe\xfa"), "not a chat completion"),
    "half of a completion": (Raw(b'{"choices": [{"mess'), "choices"),
    "too deep": (Raw(b"[" * 100_000), "not a chat completion"),
    "a JSON text": (Raw(b'"maintenance"'), "maintenance"),
    "null": (Raw(b"null"), "not a chat completion"),
    "no choices": (Raw(b"{}"), "{}"),
    "no message": (Raw(b'{"choices": [{"message": null}]}'), "choices"),
    "an error": (Raw(b'{"error": {"message": "upstream"}}'), "upstream"),
}


@pytest.mark.parametrize(("answer", "words"), PAGES.values(), ids=PAGES)
def test_status_200_without_a_completion_is_a_server_error(
    served: Served, answer: Answer, words: str
) -> None:
    server, (model, *models_of_clients) = served
    server.script = [answer]
    error = error_of(model)
    assert error.code == "server"
    assert words in error.message
    assert "OPENAI_BASE_URL" in error.message
    for model_of_client in models_of_clients:
        with pytest.raises(ModelError, match=r"^server: .*OPENAI_BASE_URL"):
            ask_sync(model_of_client)


def test_status_200_without_a_completion_is_sent_again() -> None:
    """Also where a given client takes it for a success."""
    page = Raw(HTML, "text/html")
    with StandIn([page]) as server, openai.OpenAI(base_url=server.url, api_key="k") as client:
        for model in (model_at(server), OpenAIModel("m", client=client)):
            server.requests.clear()
            server.script = [page]
            assert (error_of(model).retries, len(server.requests)) == (2, 3)
            server.script = [page, "fine"]
            server.requests.clear()
            assert (ask(model).retries, len(server.requests)) == (1, 2)


# Retries


TRANSIENT = [
    pytest.param(Status(429, retry_after=SOON), "rate_limited", id="rate limit"),
    pytest.param(Status(500, retry_after=SOON), "server", id="server error 500"),
    pytest.param(Status(409, retry_after=SOON), "server", id="conflict 409"),
    pytest.param(Status(408, retry_after=SOON), "timeout", id="timeout 408"),
    pytest.param(Cut(), "connection", id="connection closed"),
    pytest.param(Hang(), "timeout", id="no response"),
]


@pytest.mark.parametrize(("answer", "code"), TRANSIENT)
def test_transient_error_is_retried_max_retries_times(answer: Answer, code: str) -> None:
    timeout = 0.05 if answer == Hang() else 60
    with StandIn([answer, "fine"]) as server:
        # So many retries only because a slow machine may time out twice.
        assert ask(model_at(server, timeout=timeout, max_retries=30)).text == "fine"
        assert len(server.requests) >= 2
    for max_retries in (1, 0):
        with StandIn([answer]) as server:
            error = error_of(model_at(server, max_retries=max_retries, timeout=timeout))
        assert (error.code, error.retries) == (code, max_retries)
        assert error.retry_after == getattr(answer, "retry_after", None)
        assert pickle.loads(pickle.dumps(error)).retry_after == error.retry_after  # noqa: S301  pickled here


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
@pytest.mark.parametrize("max_retries", [0, 3])
def test_retries_of_a_client_and_of_the_library_do_not_multiply(kind: Any, max_retries: int) -> None:
    with StandIn([Status(429, retry_after=SOON)]) as server:
        client = kind(base_url=server.url, api_key="k", max_retries=max_retries)
        with pytest.raises(ModelError) as caught:
            ask_sync(OpenAIModel("m", client=client, max_retries=7))
    assert (len(server.requests), caught.value.retries) == (1 + max_retries, max_retries)


def test_wait_is_as_long_as_retry_after_or_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundjudge.models.pacing.FIRST_WAIT", 0.02)
    with StandIn([Status(429, retry_after=0.1), Status(500), Status(500), "fine"]) as server:
        start = time.monotonic()
        ask(model_at(server, max_retries=3))
    assert time.monotonic() - start >= 0.1 + 0.04 + 0.08


TOMORROW = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        pytest.param(300, 300, id="seconds"),
        pytest.param(TOMORROW, 86_400, id="date"),
        pytest.param(-5, 0, id="negative"),
        pytest.param("nan", None, id="not a number"),
        pytest.param("soon", None, id="word"),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_ignored_if_meaningless(retry_after: Any, seconds: Any) -> None:
    with StandIn([Status(429, retry_after=retry_after)]) as server:
        error = error_of(model_at(server, max_retries=0))
    assert error.retry_after == (pytest.approx(seconds, rel=0.05) if seconds else seconds)


def test_parameters_that_are_not_json_are_an_error() -> None:
    with StandIn() as server, pytest.raises(ModelError, match=r"failed: .*JSON"):
        ask(model_at(server), request(stop={"a set"}))


async def test_cancelled_call_ends_at_once() -> None:
    with StandIn([Hang()]) as server:
        client = openai.OpenAI(base_url=server.url, api_key="k", timeout=1000, max_retries=0)
        for model in (model_at(server, timeout=1000), OpenAIModel("m", client=client)):
            with pytest.raises(TimeoutError):  # and not after 1000 s: pytest's timeout is shorter
                await asyncio.wait_for(model.acomplete(request()), 0.1)


# Parameters that a model refuses

ANTHROPIC = Status(400, "`temperature` and `top_p` cannot both be specified for this model.")
GEMINI = [{"error": {"code": 400, "message": 'Unknown name "top_p": Cannot find field.'}}]
PYDANTIC = {"detail": [{"loc": ["body", "top_p"], "msg": "Extra inputs are not permitted"}]}
TGI = {"error": "Input validation error: `top_p` must be > 0.0 and < 1.0", "error_type": "validation"}
EXTRA = {"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"], "input": 100}
RAW = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
MISTRAL = {"object": "error", "message": {"detail": [EXTRA]}, "type": "invalid_request_error", "code": None}
NO_FORMAT = Status(400, body={"error": "'response_format.type' must be 'json_schema' or 'text'"})
NEW = "max_completion_tokens"


@pytest.mark.parametrize(
    ("refusals", "parameters", "sent_parameters"),
    [
        pytest.param([refuses("temperature")], PARAMETERS, {"top_p": 1, "max_tokens": 100}, id="temperature"),
        pytest.param(
            [refuses("max_tokens", NEW)],
            PARAMETERS,
            {"temperature": 0, "top_p": 1, NEW: 100},
            id="max_tokens, with its new name",
        ),
        pytest.param([refuses("max_tokens")], {"max_tokens": 100}, {}, id="max_tokens, without a new name"),
        pytest.param(
            [refuses("max_tokens", NEW), refuses(NEW)],
            {"max_tokens": 100},
            {},
            id="max_tokens and its new name too",
        ),
        pytest.param(
            [ANTHROPIC],
            PARAMETERS,
            {"temperature": 0, "max_tokens": 100},
            id="temperature and top_p together, as at Anthropic",
        ),
        pytest.param([Status(400, body=GEMINI)], {"top_p": 1}, {}, id="unknown name, as at Google"),
        pytest.param([Status(422, body=PYDANTIC)], {"top_p": 1}, {}, id="extra input, as of pydantic"),
        pytest.param(
            [Status(400, body={"error": {"message": "Provider returned error", "metadata": {"raw": RAW}}})],
            {"max_tokens": 100},
            {NEW: 100},
            id="in another field, as at OpenRouter",
        ),
        pytest.param([Status(422, body=TGI)], {"top_p": 1}, {}, id="value of top_p, as at TGI"),
        pytest.param(
            [NO_FORMAT], {"response_format": {"type": "json_object"}}, {}, id="type of response_format"
        ),
        pytest.param([Status(422, body=MISTRAL)], {NEW: 100}, {}, id="extra limit, as at Mistral"),
        pytest.param(
            [refuses(NEW, "max_tokens")], {NEW: 100}, {"max_tokens": 100}, id="newer name of the limit"
        ),
        pytest.param(
            [refuses(NEW, "max_tokens"), refuses("max_tokens", NEW)], {NEW: 100}, {}, id="either name"
        ),
    ],
)
def test_refused_parameter_is_learned_once(
    refusals: list[Answer], parameters: dict[str, Any], sent_parameters: dict[str, Any]
) -> None:
    with StandIn([*refusals, "fine"]) as server:
        assert_learned(server, model_at(server), len(refusals), parameters, sent_parameters)


@pytest.mark.parametrize("number", [1, 2], ids=["OpenAI", "AsyncOpenAI"])
def test_model_of_a_client_learns_of_refused_parameters(number: int) -> None:
    with StandIn([refuses("max_tokens", NEW), "fine"]) as server, each_model(server) as models:
        assert_learned(server, models[number], 1, {"max_tokens": 100}, {NEW: 100})


def assert_learned(
    server: StandIn,
    model: OpenAIModel,
    n_refusals: int,
    parameters: dict[str, Any],
    sent_parameters: dict[str, Any],
) -> None:
    """A request ends with these parameters after the refusals, and the next one begins with them."""
    for n_requests in (n_refusals + 1, n_refusals + 2):
        ask_sync(model, request(**parameters))
        assert len(server.requests) == n_requests
    first, *_, last = server.bodies
    assert first == {"model": "m", "messages": MESSAGES, **parameters}
    assert last == {"model": "m", "messages": MESSAGES, **sent_parameters}


@pytest.mark.parametrize(
    ("answer", "n_requests"),
    [
        pytest.param(Status(400, "the temperatures are wrong"), 1, id="no word"),
        pytest.param(
            Status(400, "Invalid 'temperature': above maximum", param="temperature"),
            2,
            id="value out of range, and refused again when left out",
        ),
        pytest.param(refuses("logprobs"), 1, id="parameter that was not sent"),
        pytest.param(Status(400, "images are not supported", param="messages"), 1, id="content of messages"),
        pytest.param(
            refuses("temperature"), 2, id="parameter refused again when left out"
        ),  # left out, and refused again: it is remembered only if it helped
    ],
)
def test_other_bad_request_changes_no_parameter(answer: Answer, n_requests: int) -> None:
    with StandIn([answer]) as server:
        model = model_at(server)
        assert error_of(model).code == "bad_request"
        assert len(server.requests) == n_requests
        server.script = ["fine"]
        ask(model)
    assert {name: server.bodies[-1][name] for name in PARAMETERS} == PARAMETERS


async def test_concurrent_first_calls_all_learn_the_refusal_and_it_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "groundjudge")
    with StandIn(refusing({"temperature": refuses("temperature")}, "fine"), latency=0.05) as server:
        model = model_at(server)
        replies = await asyncio.gather(*(model.acomplete(request()) for _ in range(10)))
        assert [reply.text for reply in replies] == ["fine"] * 10
        assert len(server.requests) == 20
        await model.acomplete(request())
        assert len(server.requests) == 21
    assert [record.getMessage() for record in caplog.records] == [
        f"m at 127.0.0.1:{server.port} refuses parameters: from now on temperature is left out"
    ]


# Where the endpoint is


def test_endpoint_and_key_come_from_the_environment_at_the_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = OpenAIModel("m")
    error = error_of(model)
    assert error.code == "no_endpoint"
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "client"):
        assert name in error.message
    with StandIn() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "secret\n")
        ask(model)
    assert server.requests[0].headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        pytest.param("127.0.0.1:1/v1", "no_endpoint", id="without a scheme"),
        pytest.param("http://here:port", "no_endpoint", id="port that is no number"),
    ],
)
def test_invalid_base_url_is_named_in_the_error(url: str, code: str) -> None:
    error = error_of(OpenAIModel("m", base_url=url, max_retries=0))
    assert error.code == code
    assert "OPENAI_BASE_URL" in error.message
    if "://" not in url:
        assert f"has no scheme (OPENAI_BASE_URL, or as passed): write http://{url} or" in error.message


# Event loops and threads


def in_thread_of_a_run(model: OpenAIModel) -> Reply:
    """The reply in a loop as each run over many cases has one."""
    run_thread = LoopThread("run")
    try:
        return run_thread.run(model.acomplete, request())
    finally:
        run_thread.close()


async def ask_twice_and_close(model: OpenAIModel) -> Reply:
    await model.acomplete(request())
    reply = await model.acomplete(request())
    client = model.callers_client
    if isinstance(client, openai.AsyncOpenAI):
        await client.close()
    else:
        client.close()
    return reply


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"])
def test_passed_client_serves_sync_and_async_calls_in_every_loop(kind: str) -> None:
    azure = "Azure" in kind
    with StandIn() as server:
        settings = {"base_url": server.url}
        if azure:
            settings = {"azure_endpoint": server.root, "api_version": "2025-01-01"}

        def make_model() -> OpenAIModel:
            return OpenAIModel("m", client=getattr(openai, kind)(api_key="k", **settings))

        model = make_model()
        replies = [ask_sync(model), in_thread_of_a_run(model), ask_sync(model)]
        # An asynchronous client serves one loop: that of synchronous callers, or one of the caller's.
        other_model = make_model() if "Async" in kind else model
        replies += [asyncio.run(ask_twice_and_close(other_model))]
        if "Async" in kind:
            shared_loop().run(model.callers_client.close)
    assert [reply.text for reply in replies] == ["fine"] * 4
    assert len(server.requests) == 5
    for received in server.requests:
        assert received.path == (
            "/openai/deployments/m/chat/completions" if azure else "/v1/chat/completions"
        )
        assert received.query == ({"api-version": "2025-01-01"} if azure else {})
        assert received.headers["api-key" if azure else "Authorization"] == ("k" if azure else "Bearer k")


async def test_passed_async_client_is_used_itself_and_not_closed() -> None:
    with StandIn() as server:
        hooked: list[object] = []

        async def hook(http_request: object) -> None:
            hooked.append(http_request)

        transport = openai.DefaultAsyncHttpxClient(event_hooks={"request": [hook]})
        async with openai.AsyncOpenAI(base_url=server.url, api_key="k", http_client=transport) as client:
            before = state_of(client)
            model = OpenAIModel("m", client=client)
            await model.acomplete(request())
            await OpenAIModel("m", client=client).acomplete(request())
            del model
            gc.collect()
            assert len(hooked) == 2
            assert not client.is_closed()
            assert state_of(client) == before


def state_of(client: Any) -> list[dict[str, object]]:
    """The attributes of what a client's calls go through; its own change with its first call."""
    chat: object = client.chat
    completions: object = client.chat.completions
    transport: object = client._client  # noqa: SLF001
    return [dict(vars(chat)), dict(vars(completions)), {"transport": transport}]


def test_a_sync_client_is_not_written_into() -> None:
    with StandIn() as server, openai.OpenAI(base_url=server.url, api_key="k") as client:
        before = state_of(client)
        ask_sync(OpenAIModel("m", client=client))
        assert state_of(client) == before


async def test_an_async_client_of_a_loop_that_is_blocked_says_why_it_fails_in_another() -> None:
    with StandIn() as server:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
            model = OpenAIModel("m", client=client)
            await model.acomplete(request())
            with pytest.raises(ModelError, match="this one was used in another before"):
                ask_sync(model)


# Nobody closes the connections in the loop that has ended.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_async_client_of_a_loop_that_has_ended_says_why_it_fails_in_another() -> None:
    with StandIn() as server:
        client = openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0)
        model = OpenAIModel("m", client=client)
        assert ask(model).text == "fine"
        with pytest.raises(ModelError, match="this one was used in another before"):
            ask(model)
        assert ask(model).text == "fine", "the broken connection is dropped"
        del client, model
        gc.collect()


@pytest.mark.soak
async def test_sync_client_serves_many_async_calls_concurrently() -> None:
    n_calls = 64  # more than asyncio's default thread pool has threads
    all_in_flight = threading.Barrier(n_calls)

    def wait_for_the_others(_: object) -> None:
        all_in_flight.wait(60)

    transport = openai.DefaultHttpxClient(event_hooks={"request": [wait_for_the_others]})
    with (
        StandIn() as server,
        openai.OpenAI(base_url=server.url, api_key="k", max_retries=0, http_client=transport) as client,
    ):
        model = OpenAIModel("m", client=client)
        replies = await asyncio.gather(*(model.acomplete(request()) for _ in range(n_calls)))
    assert [reply.text for reply in replies] == ["fine"] * n_calls


class Counted(Transport):
    """A transport that is kept, so that a test can see whether it is closed."""

    built: ClassVar[list[Counted]] = []

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.built.append(self)

    @property
    def is_closed(self) -> bool:
        return self._session.closed


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Counted]:
    """The transports that are built during a test."""
    monkeypatch.setattr(Counted, "built", [])
    monkeypatch.setattr("groundjudge.models.openai.Transport", Counted)
    return Counted.built


def test_each_loop_has_one_transport_which_is_closed_with_it(built: list[Counted]) -> None:
    async def ask_ten_times(model: OpenAIModel) -> None:
        for _ in range(5):
            await model.acomplete(request())
        await asyncio.gather(*(model.acomplete(request()) for _ in range(5)))

    with StandIn() as server:
        model = model_at(server)
        for number in (1, 2):
            asyncio.run(ask_ten_times(model))
            assert [transport.is_closed for transport in built] == [True] * number


@pytest.mark.soak
def test_many_loops_in_many_threads_get_their_own_replies() -> None:
    with StandIn(lambda body: body["messages"][0]["content"], latency=0.02) as server:
        model = model_at(server)

        def work(number: int) -> tuple[str, str]:
            own_request = request(str(number))
            return ask_sync(model, own_request).text, ask(model, own_request).text

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(work, range(40))) == [(str(n), str(n)) for n in range(40)]


async def test_garbage_collected_model_closes_its_transport_in_the_running_loop(
    built: list[Counted],
) -> None:
    with StandIn() as server:
        model = model_at(server)
        await model.acomplete(request())
        assert not built[0].is_closed
        del model
        gc.collect()
        while not built[0].is_closed:  # noqa: ASYNC110  a transport sets no event
            await asyncio.sleep(0)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_loop_closed_without_shutdown_causes_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    gc.collect()  # what earlier tests left is not this one's
    caplog.clear()
    with StandIn() as server:
        model = model_at(server)
        for _ in range(3):
            loop = asyncio.new_event_loop()
            loop.run_until_complete(model.acomplete(request()))
            loop.close()
        del model
        gc.collect()
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.INFO] == []
