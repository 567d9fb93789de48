"""What is meant for one endpoint is sent to no other address, wherever that endpoint points to."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain_anthropic import ChatAnthropic
from loopback import running, url_of

from groundjudge import ModelError, run
from groundjudge.batches.anthropic import AnthropicBatches
from groundjudge.batches.openai import OpenAIBatches
from groundjudge.decisions.endpoint import DecisionModel
from groundjudge.judging.load import load
from groundjudge.models.lookup import as_model
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Model

ROW = {"query": "When do you open?", "context": "We open at 9.", "response": "At 9."}
KEY = "sk-local-0123456789"


class Pointing:
    """A server that answers every request with one status, Location and body, and keeps what it saw."""

    def __init__(self, status: int = 200, location: str = "", body: bytes = b"{}") -> None:
        self.seen: list[str] = []
        self.status, self.location, self.body = status, location, body
        pointing = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                pointing.seen.append(f"{self.command} {self.path}")
                self.send_response(pointing.status)
                if pointing.location:
                    self.send_header("Location", pointing.location)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(pointing.body)))
                self.end_headers()
                self.wfile.write(pointing.body)

            do_GET = do_POST = do_DELETE = handle_any  # noqa: N815  the names that http.server calls

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = url_of(self.server)


@pytest.fixture(scope="module")
def servers() -> Generator[tuple[Pointing, Pointing]]:
    """The endpoint and another server."""
    endpoint, elsewhere = Pointing(), Pointing()
    with running(endpoint.server), running(elsewhere.server):
        yield endpoint, elsewhere


Point = Callable[..., tuple[Pointing, Pointing]]


@pytest.fixture(name="point")
def point_elsewhere(servers: tuple[Pointing, Pointing]) -> Point:
    """A function that lets the endpoint point to the other server, or where it is told to."""
    endpoint, elsewhere = servers

    def point(status: int, location: str = "{elsewhere}/v1/chat/completions") -> tuple[Pointing, Pointing]:
        endpoint.status = status
        endpoint.location = location.format(elsewhere=elsewhere.root, endpoint=endpoint.root)
        endpoint.seen.clear()
        elsewhere.seen.clear()
        return servers

    return point


def by_url(root: str) -> Model:
    return OpenAIModel("m", base_url=f"{root}/v1", api_key=KEY)


@pytest.mark.parametrize(
    ("status", "location", "target"),
    [
        pytest.param(301, "{elsewhere}/v1/x", "{elsewhere}/v1/x", id="another port of loopback"),
        pytest.param(
            302, "http://elsewhere.example/v1?code=secret", "http://elsewhere.example/v1", id="another host"
        ),
        pytest.param(303, "https://127.0.0.1:9/v1", "https://127.0.0.1:9/v1", id="https"),
        pytest.param(
            307, "//elsewhere.example:99/v1", "http://elsewhere.example:99/v1", id="without a scheme"
        ),
        pytest.param(
            308, "http://u:p@elsewhere.example/", "http://elsewhere.example/", id="user and password"
        ),
        pytest.param(301, "ftp://elsewhere.example/", "ftp://elsewhere.example/", id="another protocol"),
        pytest.param(307, "/v1/chat/completions/", "{endpoint}/v1/chat/completions/", id="slash at the end"),
        pytest.param(307, "completions/", "{endpoint}/v1/chat/completions/", id="relative"),
        pytest.param(308, "{endpoint}/v1/chat/completions", "{endpoint}/v1/chat/completions", id="itself"),
        pytest.param(302, "http://[::1/", "an address that cannot be read", id="no address"),
    ],
)
def test_no_redirect_is_followed(point: Point, status: int, location: str, target: str) -> None:
    endpoint, elsewhere = point(status, location)
    with pytest.raises(ModelError) as raised:
        load("groundedness", model=by_url(endpoint.root)).judge(ROW)
    assert elsewhere.seen == []
    assert endpoint.seen == ["POST /v1/chat/completions"]
    assert raised.value.code == "redirected"
    target = target.format(elsewhere=elsewhere.root, endpoint=endpoint.root)
    assert (
        f"{status}: the endpoint redirects to {target}; nothing was sent there (if " in raised.value.message
    )
    assert "secret" not in raised.value.message


def test_status_of_a_redirect_without_an_address_is_a_bad_request(point: Point) -> None:
    endpoint, _ = point(307, "")
    with pytest.raises(ModelError, match=r"^bad_request: "):
        load("groundedness", model=by_url(endpoint.root)).judge(ROW)


def test_redirect_ends_a_run_after_one_request(point: Point) -> None:
    endpoint, elsewhere = point(307)
    rows = [{**ROW, "id": str(number)} for number in range(20)]
    with pytest.raises(ModelError, match=r"^redirected: "):
        list(run(load("groundedness", model=by_url(endpoint.root)), rows, concurrency=1))
    assert (len(endpoint.seen), elsewhere.seen) == (1, [])


# Models and clients


def by_client(kind: Any, name: str = "m") -> Callable[[str], Model]:
    """A client of the caller whose HTTP client follows no redirect."""

    def make(root: str) -> Model:
        is_async = issubclass(kind, openai.AsyncOpenAI)
        http_client: Any = openai.DefaultAsyncHttpxClient if is_async else openai.DefaultHttpxClient
        options: dict[str, Any] = {"base_url": f"{root}/v1"}
        if issubclass(kind, openai.AzureOpenAI | openai.AsyncAzureOpenAI):
            options = {"azure_endpoint": root, "api_version": "v"}
        client = kind(api_key=KEY, http_client=http_client(follow_redirects=False), **options)
        return as_model((client, name))

    return make


def langchain(name: str, variable: str) -> Callable[[str], Model]:
    def make(root: str) -> Model:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv(variable, root)
            environment.setenv(f"{name.partition(':')[0].upper()}_API_KEY", KEY)
            return as_model(f"langchain:{name}")

    return make


async def close_client(model: Any) -> None:
    """Close the client of a caller or of LangChain, in the loop that used it."""
    client = getattr(model, "callers_client", None)
    llm = getattr(model, "llm", None)
    if llm is not None:
        client = getattr(llm, "_async_client", None) or llm.async_client._client  # noqa: SLF001
    closing_of_async_client = client.close() if client else None
    if closing_of_async_client:
        await closing_of_async_client


MODELS: dict[str, Callable[[str], Model]] = {
    "name": by_url,
    "OpenAI without redirects": by_client(openai.OpenAI),
    "AsyncOpenAI without redirects": by_client(openai.AsyncOpenAI),
    "AzureOpenAI without redirects": by_client(openai.AzureOpenAI),
    "AsyncAzureOpenAI without redirects": by_client(openai.AsyncAzureOpenAI),
    "decisions": lambda root: DecisionModel("decisions:m", base_url=f"{root}/v1", api_key=KEY),
    "systemone": lambda root: DecisionModel("systemone:m", base_url=root, api_key=KEY),
    "decisions of an OpenAI without redirects": by_client(openai.OpenAI, "decisions:m"),
    "systemone of an AsyncOpenAI without redirects": by_client(openai.AsyncOpenAI, "systemone:m"),
    "langchain:groq": langchain("groq:llama-x", "GROQ_API_BASE"),
    "langchain:anthropic": langchain("anthropic:claude-x", "ANTHROPIC_BASE_URL"),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_redirect_is_one_error_at_every_client(point: Point, make: Callable[[str], Model]) -> None:
    endpoint, elsewhere = point(302)
    judge = load("groundedness", model=make(endpoint.root))
    verdict = judge.evaluate(ROW)
    shared_loop().run(close_client, judge.model)
    assert (elsewhere.seen, len(endpoint.seen)) == ([], 1)
    assert verdict.error
    assert verdict.error.code == "redirected"
    assert f"redirects to {elsewhere.root}" in verdict.error.message


def test_chat_model_without_redirects_has_the_identity_and_the_settings_of_any_other() -> None:
    groq: Any = langchain("groq:llama-x", "GROQ_API_BASE")("http://127.0.0.1:9")
    again: Any = langchain("groq:llama-x", "GROQ_API_BASE")("http://127.0.0.1:9")
    assert groq.identity
    assert groq.identity == again.identity
    assert groq.llm.client is not again.llm.client


def test_identity_of_a_chat_model_stays_once_it_has_made_its_clients() -> None:
    """A cache would not know it any more."""
    anthropic: Any = langchain("anthropic:claude-x", "ANTHROPIC_BASE_URL")("http://127.0.0.1:9")
    identity = anthropic.identity
    assert anthropic.llm._client and anthropic.llm._async_client  # noqa: SLF001, PT018
    assert identity
    assert anthropic.identity == identity


def test_clients_of_other_chat_models_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    of_the_caller: Any = ChatAnthropic(model_name="claude-x", api_key=KEY)  # type: ignore[call-arg,arg-type]
    ours: Any = langchain("anthropic:claude-x", "ANTHROPIC_BASE_URL")("http://127.0.0.1:9")
    assert of_the_caller._client._client.follow_redirects  # noqa: SLF001
    assert not ours.llm._client._client.follow_redirects  # noqa: SLF001


# Batches


BATCH_CALLS: dict[str, Callable[[Any, Path], object]] = {
    "upload": lambda provider, lines: provider.create(lines, {"run": "r", "part": "1"}),
    "download": lambda provider, _: b"".join(provider.content("file-1", 0)),
    "resumed download": lambda provider, _: b"".join(provider.content("file-1", 5)),
    "list": lambda provider, _: provider.find({"run": "r"}, 0.0, 1),
    "poll": lambda provider, _: provider.batch("batch-1"),
    "cancel": lambda provider, _: provider.batch("batch-1", cancel=True),
}


@pytest.mark.parametrize("call", BATCH_CALLS.values(), ids=BATCH_CALLS)
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_no_call_about_batches_follows_a_redirect(
    call: Callable[[Any, Path], object],
    api: str,
    point: Point,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"custom_id": "1", "params": {}}\n')
    endpoint, elsewhere = point(307)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.root)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    provider: Any = AnthropicBatches()
    if api == "openai":
        provider = OpenAIBatches(OpenAIModel("m", base_url=f"{endpoint.root}/v1", api_key=KEY))
    with pytest.raises(ModelError, match=f"^redirected: .*redirects to {elsewhere.root}"):
        call(provider, lines)
    assert (len(endpoint.seen), elsewhere.seen) == (1, [])


@pytest.mark.soak
def test_results_of_a_batch_are_fetched_from_the_endpoint_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anthropic's API names the address of the results, which the client sends the key to."""
    elsewhere = Pointing()
    body = f'{{"id": "b", "type": "message_batch", "results_url": "{elsewhere.root}/results"}}'
    endpoint = Pointing(body=body.encode())
    monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.root)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    message = f"^redirected: .*{endpoint.root} redirects to {elsewhere.root}"
    with (
        running(endpoint.server),
        running(elsewhere.server),
        pytest.raises(ModelError, match=message),
    ):
        list(AnthropicBatches().content("b", 0))
    assert elsewhere.seen == []
    assert endpoint.seen == ["GET /v1/messages/batches/b"]


def test_client_for_batches_is_closed_after_each_call() -> None:
    with OpenAIModel("m", base_url="http://127.0.0.1:9/v1").client() as client:
        assert not client.is_closed()
    assert client.is_closed()
    with closing(openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key=KEY)) as of_the_caller:
        with OpenAIModel("m", client=of_the_caller).client() as client:
            assert client is of_the_caller
        assert not of_the_caller.is_closed()
