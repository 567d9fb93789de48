"""Models behind OpenAI-compatible chat completions endpoints, and the connection to endpoints of any API.

With `transport`, the only file of the library that uses the network.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import json
import os
import re
import ssl
import sys
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

import openai
import orjson
from openai.resources.chat import Completions

from groundjudge.errors import ModelError
from groundjudge.models.failure import (
    ROW_REMEDIES,
    SUCCESS,
    check_key,
    error_of,
    is_failure,
    message_in,
    model_error,
    model_errors,
    no_reply,
    parse_body,
    status_in,
    without_echo,
)
from groundjudge.models.identity import (
    client_settings,
    declared_identity,
    identity_by_settings,
    itself,
    not_pickled,
)
from groundjudge.models.loop_thread import call_function, is_in_loop_thread, shared_loop
from groundjudge.models.pacing import wait_or_raise
from groundjudge.models.redaction import RedactedError, redact
from groundjudge.models.returned import completion_of, error_in, reply_of
from groundjudge.models.secret_values import (
    MIN_SECRET,
    environment_keys,
    header_secrets,
    url_secrets,
)
from groundjudge.models.transport import ProxyError, Response, StatusError, Transport
from groundjudge.models.unsupported_parameters import known_refusals, negotiate
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request
from groundjudge.text.patterns import compile_when_used

T = TypeVar("T")

SyncClient: TypeAlias = openai.OpenAI
OpenAIBatch: TypeAlias = openai.types.Batch

UNSENT = {"self", "stream", "stream_options", "extra_headers", "extra_query", "extra_body", "timeout"}
KNOWN = frozenset(inspect.signature(Completions.create).parameters) - UNSENT
"""The parameters of the API that the openai client knows by name. Streams are not requested."""

OPENAI = "https://api.openai.com/v1"
OF_OTHERS = compile_when_used(r"(?!ft:).*[/:]")
"""Names of models at gateways, at Ollama, and of other providers; those of tuned models have colons too."""

NO_KEY = "no-key"
"""Sent to endpoints that need no key, because the openai client requires one."""

REMEDIES = {
    **ROW_REMEDIES,
    "timeout": "raise the timeout of the model if the endpoint needs longer",
    "connection": "check that the endpoint is up and that its URL is right: OPENAI_BASE_URL, or as passed",
    "rate_limited": "send fewer requests at a time",
    "quota": "check the plan and the balance of the account whose key is in OPENAI_API_KEY, or was passed",
    "auth": "check that key and URL belong together: OPENAI_API_KEY and OPENAI_BASE_URL, or as passed",
    "bad_request": "check the model's name, its parameters, and the URL: OPENAI_BASE_URL, or as passed",
    "redirected": "if requests may go there, use it as the URL: OPENAI_BASE_URL, or as passed",
    "not_found": "check the model's name, and that the URL is its endpoint's: OPENAI_BASE_URL, or as passed",
    "server": "the fault lies with the endpoint at OPENAI_BASE_URL, or at the URL passed",
}
"""What the user can do about an error, by its code."""

ANOTHER_LOOP = (
    "an AsyncOpenAI works in one event loop, and this one was used in another before: create one for each "
    "loop, or pass an OpenAI, or the model's name"
)
"""What the user can do about an error of a client that was used in several event loops."""


@dataclass(frozen=True)
class Api:
    """An API of endpoints.

    Attributes:
        response: what an endpoint answers, as in "the response is not a chat completion".
        path: its path after a base URL.
        whole: the endings of complete URLs, to which no path is added.
        variables: the prefix of the variables with the URL and the key of an endpoint.
        provider: the provider's name, in messages.
        default_url: the provider's URL, which needs a key.
        call: takes a caller's client, the URL of the call and a body; returns the method to call and its
            arguments.
        has_openai_headers: whether to send the headers that the environment has for OpenAI.
        write: turns a body into the JSON that is sent.
    """

    response: str
    path: str
    whole: tuple[str, ...]
    variables: str
    provider: str
    default_url: str
    call: Callable[[Any, str, dict[str, Any]], tuple[Callable[..., Any], dict[str, Any]]]
    write: Callable[[Mapping[str, Any]], bytes]
    has_openai_headers: bool = True

    @cached_property
    def remedies(self) -> Mapping[str, str]:
        """What the user can do about an error, by its code."""
        remedies: dict[str, str] = {}
        for code, remedy in REMEDIES.items():
            remedies[code] = remedy.replace("OPENAI_", f"{self.variables}_")
        return remedies

    def url_of_call(self, base_url: str) -> str:
        """Return the URL that requests are sent to."""
        parts = urlsplit(base_url)
        path = parts.path.rstrip("/")
        if not path.endswith(self.whole):
            path = f"{path}/{self.path}"
            # Some System One clients expect a URL with the version of the API, and others one without.
            path = path.replace("/v1/v1/", "/v1/")
        return parts._replace(path=path).geturl()


def _chat_call(
    client: Any,  # noqa: ANN401  of any making
    _: str,
    body: dict[str, Any],
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the call by which a caller's client sends a chat: mocks and tracers around the client see it."""
    arguments: dict[str, Any] = {}
    extra_body: dict[str, Any] = {}
    for name, value in body.items():
        if name in KNOWN:
            arguments[name] = value
        else:
            extra_body[name] = value
    if extra_body:
        arguments["extra_body"] = extra_body
    return client.chat.completions.create, arguments


def _write_chat(body: Mapping[str, Any]) -> bytes:
    """Write a chat. A parameter that JSON cannot represent is refused instead of being sent as null."""
    parameters = {name: value for name, value in body.items() if name != "messages"}
    head = json.dumps(parameters, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    # Nearly all of a request is messages, which orjson writes in a fifth of the time.
    return b'%b,"messages":%b}' % (head.removesuffix(b"}"), orjson.dumps(body["messages"]))


CHAT = Api(
    response="a chat completion",
    path="chat/completions",
    whole=(),
    variables="OPENAI",
    provider="OpenAI",
    default_url=OPENAI,
    call=_chat_call,
    write=_write_chat,
)


class EndpointModel:
    """A model behind an endpoint of any API: everything about the connection to it.

    With the library's own client, or with the caller's. Subclasses say which `api` is called, and turn a
    request into a body and a response into a reply.

    Args:
        name: the model's name in errors and in its identity.
        client: the caller's client; None for the library's own.
        base_url: the endpoint's URL; None for that of the environment.
        api_key: the key; None for that of the environment.
        max_retries: how often a request is sent again after a transient error.
        timeout: the seconds within which something must arrive.

    Raises:
        ModelError: `unknown_model`: there are a client and a base_url or an api_key, or the API cannot be
            called with the client; `no_endpoint`: the client's key cannot be sent.
    """

    def __init__(  # noqa: PLR0913  the names of the openai client
        self,
        name: str,
        *,
        client: Any = None,  # noqa: ANN401  of any making
        base_url: str | None = None,
        api_key: str | None = None,
        max_retries: int = 2,
        timeout: float = 60.0,
    ) -> None:
        self.name = name
        self.callers_client = client
        self._base_url = base_url
        self._api_key = api_key
        self._options: dict[str, Any] = {"max_retries": max_retries, "timeout": timeout}
        self._per_loop = PerLoop()
        self._header_secrets = frozenset[str]()
        self.is_openai = client is None or issubclass(type(client), openai.OpenAI | openai.AsyncOpenAI)
        if client is not None:
            if base_url or api_key:
                message = "a client has its own endpoint and key: pass `client`, or `base_url` and `api_key`"
                raise self.error("unknown_model", message)
            check_key(getattr(client, "api_key", None), "the client's api_key", name)
        self.check()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    __copy__ = __deepcopy__ = itself

    def __reduce__(self) -> tuple[Callable[[], EndpointModel], tuple[()]]:
        """Pickle the name, the URL, the retries and the timeout.

        Raises:
            PicklingError: there is a client, a key, or a URL with a password or a key.
        """
        if self.callers_client:
            raise not_pickled(self.name, "a client")
        if self._api_key:
            raise not_pickled(self.name, "an api_key")
        if url_secrets(self._base_url or ""):
            raise not_pickled(self.name, "a password or a query in its base_url")
        return partial(type(self), self.name, base_url=self._base_url, **self._options), ()

    @property
    def api(self) -> Api:
        """The API that is called."""
        raise NotImplementedError

    @property
    def name_at_endpoint(self) -> str:
        """What the endpoint calls the model."""
        return self.name

    def check(self) -> None:
        """Make sure that the API can be called with this name and this client.

        Raises:
            ModelError: `unknown_model`.
        """
        raise NotImplementedError

    def read_answer(self, answer: object) -> Reply | None:
        """Return the reply in what an endpoint or a caller's client returned; None without one."""
        raise NotImplementedError

    @property
    def endpoint(self) -> str:
        """The URL that requests go to, without the path of the API call, and without passwords and keys."""
        return _redact_url(self._url)

    @property
    def identity(self) -> str:
        """The endpoint, what else is sent to it, and the name, without keys.

        They distinguish the model from others in a cache; "" if a client of another package does not say.
        """
        if not self.is_openai:
            return declared_identity(self.callers_client)
        if self.callers_client:
            settings = client_settings(self.callers_client)
        else:
            settings = {"headers": os.environ.get("OPENAI_CUSTOM_HEADERS")}
            if not self.api.has_openai_headers:
                settings = {}
        return identity_by_settings(f"{self.endpoint} {self.name}", settings)

    @property
    def refusals(self) -> dict[str, str]:
        """What it is known to refuse, see `known_refusals`."""
        return known_refusals(f"{self._url} {self.name}")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys, passwords and other values that only the endpoint may see; no text shows them.

        Those of the caller's own client are known only if the environment has them too.
        """
        if self.callers_client is not None:
            return self._environment_keys
        return _endpoint_secrets(self.name, self._url, self._key, self._header_secrets)

    @cached_property
    def _environment_keys(self) -> tuple[str, ...]:
        """The keys in the environment when first looked up; a client may use one of them."""
        return environment_keys()

    def error(self, code: str, message: str) -> ModelError:
        """Return an error of the model, without secrets."""
        return model_error(code, message, self.name, self.secrets)

    @property
    def _key(self) -> str:
        """The key that was passed, or the environment's; "" without one."""
        # A key that was read from a file ends in a line break, which a header cannot contain.
        return (self._api_key or os.environ.get(f"{self.api.variables}_API_KEY") or "").strip()

    @property
    def _url(self) -> str:
        """The endpoint's URL; for a client that has none, the name of its class."""
        if self.callers_client is None:
            return self._base_url or os.environ.get(f"{self.api.variables}_BASE_URL") or self.api.default_url
        # Of a mock, `base_url` is another mock.
        url = str(getattr(self.callers_client, "base_url", ""))
        return url if "://" in url else type(self.callers_client).__qualname__

    @property
    def who(self) -> str:
        """The model and its host."""
        host = re.sub(r"^\S*://(\S*@)?|[/?#].*", "", self._url)
        return f"{self.name} at {host}"

    async def send_with_retries(self, body: dict[str, Any], *, is_paced: bool) -> Reply:
        """Return the reply to a body, which is sent again after transient errors.

        Args:
            body: what is sent.
            is_paced: whether the caller waits after rate limits.

        Raises:
            ModelError: the endpoint returned no reply.
        """
        retries = 0
        while True:
            try:
                reply = await self._attempt(body)
            except ModelError as error:
                error.retries += retries
                await wait_or_raise(error, retries, self._most_retries(error), paced=is_paced)
                retries += 1
            else:
                return replace(reply, retries=retries) if retries else reply

    async def _attempt(self, body: dict[str, Any]) -> Reply:
        """Send a body once, and read the reply; all exceptions become ModelErrors without secrets."""
        try:
            return self._reply_in(await self._send(body))
        except BaseException as error:
            if not is_failure(error, asyncio.current_task()):
                raise
            remedies = self.api.remedies
            if _is_async(self.callers_client) and "loop" in message_in(error):
                remedies = {"connection": ANOTHER_LOOP, "timeout": ANOTHER_LOOP, "failed": ANOTHER_LOOP}
            raise error_of(error, self.name, f"{self.who}: ", self.secrets, remedies)  # noqa: B904  it has a cause

    def _reply_in(self, answer: object) -> Reply:
        """Return the reply in the response; without one, raise an error with what was answered instead."""
        response = answer if isinstance(answer, Response) else None
        content = answer if response is None else response.content
        reply = self.read_answer(content)
        if reply is not None:
            return reply
        body = parse_body(content)
        if error_in(body) is not None:
            raise StatusError(status_in(body) or SUCCESS, body, response)
        fault = no_reply(body, self.api.response)
        raise self.error("server", f"{self.who}: {fault} ({self.api.remedies['server']})")

    def _most_retries(self, error: ModelError) -> int:
        """Return how often a request is sent again after a transient error."""
        client_retries = getattr(self.callers_client, "max_retries", None)
        if not isinstance(client_retries, int):
            return int(self._options["max_retries"])
        # A client does its own retries, but not after a response of status 200 without a reply.
        raised = getattr(error.__cause__, "raised", None)
        if isinstance(raised, StatusError) or (error.code == "server" and not hasattr(raised, "status_code")):
            return client_retries
        return 0

    async def _send(self, body: dict[str, Any]) -> object:
        """Send a body, and return the response.

        Raises:
            StatusError: the response has an error status.
            Exception: anything that a client raises.
        """
        client = self.callers_client
        if client is None:
            return await self._post(body)
        method, arguments = self.api.call(client, self.api.url_of_call(self._url), body)
        if not _is_async(client):
            return await call_function(method, **arguments)
        # A wrapped `create` of an AsyncOpenAI does not always look asynchronous.
        if is_in_loop_thread():
            # A run has its own loop, but the client's connections should serve later calls too.
            return await shared_loop().run_from_loop(method, **arguments)
        return await method(**arguments)

    async def _post(self, body: dict[str, Any]) -> Response:
        """Send a body over the library's own connections, and return the response."""
        transport: Transport = await self._per_loop.client(partial(self._make_client, self._make_transport))
        response = await transport.post(self.api.write(body))
        if response.is_success:
            return response
        raise StatusError(response.status, parse_body(response.content), response)

    def _make_client(self, make: Callable[[openai.AsyncOpenAI], T]) -> T:
        """Make a client for the endpoint, from one of the openai package that knows what is sent.

        Raises:
            ModelError: `no_endpoint`: there is no endpoint, or the key, the URL or the proxy cannot be used.
        """
        variables = self.api.variables
        origin = "the api_key that was passed" if self._api_key else f"{variables}_API_KEY"
        check_key(self._key, origin, self.name)
        fault = ""
        if self._url == self.api.default_url:
            if OF_OTHERS.match(self.name_at_endpoint):
                others = '"langchain:PROVIDER:MODEL" names those of another provider'
                fault = f"{self.api.provider} has no models with such names ({others})"
            elif not self._key:
                fault = f"set {variables}_API_KEY to use {self.api.provider}"
        if fault:
            remedy = f"set {variables}_BASE_URL to use another endpoint, or in Python pass a client or a URL"
            raise self.error("no_endpoint", f"no endpoint for {self.name}: {fault}; {remedy}")
        if "://" not in self._url:
            message = (
                f"the URL {self.endpoint!r} of {self.name} has no scheme "
                f"({variables}_BASE_URL, or as passed): write http://{self.endpoint} or https://{self.endpoint}"
            )
            raise self.error("no_endpoint", message)
        try:
            # It never connects, trusts no certificate, and needs no closing.
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            http_client = openai.DefaultAsyncHttpxClient(verify=tls, trust_env=False)
            settings = openai.AsyncOpenAI(http_client=http_client, **self._client_options)
            # Those of an earlier key too: an answer to it may still be on its way.
            self._header_secrets |= header_secrets(settings)
            return make(settings)
        except ProxyError as error:
            raise self.error("no_endpoint", f"{self.who}: {error}") from error
        except Exception as error:  # noqa: BLE001  a client raises exceptions of any kind
            message = (
                f"cannot build a client for {self.name} at {self.endpoint} "
                f"(check the URL: {variables}_BASE_URL, or as passed): {error}"
            )
            raise self.error("no_endpoint", message) from RedactedError(error, self.secrets)

    @property
    def _client_options(self) -> dict[str, Any]:
        """What a client of the openai package is made with."""
        return {"base_url": self._url, "api_key": self._key or NO_KEY, **self._options}

    def _make_sync_client(self, _: openai.AsyncOpenAI) -> openai.OpenAI:
        """Return a synchronous client that does not follow redirects, like the endpoint's own transport."""
        http_client = openai.DefaultHttpxClient(follow_redirects=False)
        return openai.OpenAI(http_client=http_client, **self._client_options)

    def _make_transport(self, client: openai.AsyncOpenAI) -> Transport:
        """Return the connections to the endpoint, with the headers and certificates of the openai client."""
        headers = {**client.auth_headers, **client.default_headers}
        if not self.api.has_openai_headers:
            headers = {"Accept": "application/json", **client.auth_headers}
        # Names are case-insensitive and the last value counts: a user's header may replace the key.
        texts: dict[str, str] = {}
        for name, value in headers.items():
            if isinstance(value, str):  # a header that the client leaves out does not have a string as value
                texts[name.lower()] = value
        url = self.api.url_of_call(self._url)
        return Transport(url, texts, self._options["timeout"], _certificates())


class OpenAIModel(EndpointModel):
    """A model behind an OpenAI-compatible endpoint: OpenAI, Azure, a gateway or your own server.

    The endpoint and the key come from the arguments, or else from OPENAI_BASE_URL and OPENAI_API_KEY. They
    are looked up at the first request, so you can create a judge without them. Only OpenAI's own endpoint
    requires a key.

    Transient errors (no connection, a timeout, a rate limit, a server error) are retried after the wait
    that the endpoint asks for, or else after half a second, doubling with each retry. A response of status
    200 that is not a chat completion, such as a gateway's page, is a server error too. A parameter that the
    model refuses is left out, or sent under its new name, in this request and all later ones. A redirect is
    an error: what is meant for this endpoint goes to no other address. A client that you pass follows
    redirects according to its own settings.

    Pickling keeps the name, base_url, max_retries and timeout: another process looks up the endpoint and the
    key in its own environment. A model with a client or an api_key cannot be pickled.

    Args:
        name: the model's name; for Azure the name of the deployment.
        client: an OpenAI, AsyncOpenAI, AzureOpenAI or AsyncAzureOpenAI, with its own endpoint, key, retries
            and timeout, or any object with a sync or async `chat.completions.create`. The call goes through
            `client.chat.completions.create`, so tracers that wrap the client and mocks see it; parameters
            that the openai client does not know by name are passed in `extra_body`. A client with
            `max_retries` retries by itself; only a response of status 200 without a completion, which it
            considers a success, is retried here, as often. Use max_retries=0 to let a run slow down at the
            first rate limit. How often the client retried is known only for errors.
            A sync client answers async calls in threads. An AsyncOpenAI is called in the caller's event
            loop, or for sync callers in the one that serves them all. Its connections belong to the loop in
            which they were made, so it should serve only one of these. A client is never changed.
        base_url: the endpoint's URL, up to and including /v1.
        api_key: the key.
        max_retries: how often a request is sent again after a transient error, 0 or more; a client's own
            `max_retries` is used instead.
        timeout: seconds; an attempt fails if nothing arrives from the endpoint for that long, or if the
            response is not complete after ten times as long.

    Raises:
        ModelError: `unknown_model` if `client` has no `chat.completions.create`, or comes with a base_url or
            api_key.
    """

    @property
    def api(self) -> Api:
        """Chat completions."""
        return CHAT

    def check(self) -> None:
        """Make sure that a client can send chats.

        Raises:
            ModelError: `unknown_model`.
        """
        client = self.callers_client
        completions: Any = getattr(getattr(client, "chat", None), "completions", None)
        if client is not None and not callable(getattr(completions, "create", None)):
            message = f"client must have a method chat.completions.create: {type(client).__name__} has none"
            raise self.error("unknown_model", message)

    async def acomplete(self, request: Request) -> Reply:
        """Send a request, with retries.

        Raises:
            ModelError: the endpoint returned no reply; the codes are those of an endpoint.
        """

        async def send(accepted: Request) -> Reply:
            messages = [dict(message) for message in accepted.messages]
            body = {**accepted.parameters, "model": self.name, "messages": messages}
            return await self.send_with_retries(body, is_paced=request.paced)

        reply = await negotiate(request, self.refusals, self.who, send)
        return without_echo(reply, request, self.secrets)

    @contextmanager
    def client(self) -> Generator[openai.OpenAI]:
        """A synchronous client with the endpoint and the key, for the other parts of the API.

        Exceptions inside become ModelErrors with the codes of an endpoint and what to do.

        Raises:
            ModelError: `no_endpoint` as for a request; `no_batches` if a client of another kind was passed.
        """
        client = self.callers_client
        with ExitStack() as until_done:
            if client is None:
                client = until_done.enter_context(self._make_client(self._make_sync_client))
            elif not isinstance(client, openai.OpenAI):
                message = "batches need a name, or a client of the class openai.OpenAI or AzureOpenAI"
                raise self.error("no_batches", f"{self.name}: {message}")
            # Looked up when the client is created: by then it is known what it sends.
            secrets = self.secrets
            with model_errors(self.name, f"{self.who}: ", secrets, self.api.remedies):
                yield client

    def read_answer(self, answer: object) -> Reply | None:
        """Return the reply in what was answered; None if there is none."""
        body = parse_body(answer)
        reply = completion_of(body)
        if reply is not None:
            return reply
        if not self.is_openai:  # other clients may return a reply in any shape
            with suppress(TypeError):  # what a mock returns may be anything
                return reply_of(body)
        return None


def _certificates() -> ssl.SSLContext:
    """Return how the openai client checks certificates: with httpx2, or in older versions with httpx."""
    http_client_class = openai.DefaultAsyncHttpxClient.__mro__[1]
    http_library = sys.modules[http_client_class.__module__.partition(".")[0]]
    context: ssl.SSLContext = http_library.create_ssl_context()
    return context


_redact_url = lru_cache(redact)  # every request asks for its endpoint


@lru_cache  # every request asks for them
def _endpoint_secrets(name: str, url: str, key: str, header_values: frozenset[str]) -> tuple[str, ...]:
    """Return the secrets of an endpoint with the library's own client.

    What the model's name or the URL has, without its user and query, is none: without them messages would not
    say which endpoint failed.
    """
    secrets = url_secrets(url) | header_values
    if len(key) >= MIN_SECRET:
        secrets.add(key)
    shown = f"{name} {re.sub(r'//[^/]*@|[?].*', '', url)}"
    return tuple(secret for secret in secrets if secret not in shown)


def _is_async(client: object) -> bool:
    """Whether it is an AsyncOpenAI. A mock has that class, but not the type."""
    return issubclass(type(client), openai.AsyncOpenAI)


class PerLoop:
    """Keep one client per running event loop, in which its connections work, and close it with the loop.

    asyncio.run, like every orderly shutdown of a loop, closes the asynchronous generators that are still
    open in it. Each client is owned by such a generator, so it is closed in its own loop, in time.
    """

    def __init__(self) -> None:
        self._clients: dict[tuple[asyncio.AbstractEventLoop, int], AsyncGenerator[Any]] = {}
        # Left to the garbage collector, connections would be torn down before their client could close them.
        weakref.finalize(self, _close_clients, self._clients)

    async def client(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401  what `make` makes
        """Return the running loop's client; `make` creates it if there is none yet."""
        # A fork has the loops of its parent, but must not use its sockets.
        key = asyncio.get_running_loop(), os.getpid()
        if key not in self._clients:
            for other_key in [*self._clients]:
                if other_key[0].is_closed():
                    _close_clients({other_key: self._clients.pop(other_key)})
            self._clients[key] = _lifetime(make())
        return await anext(self._clients[key])


async def _lifetime(client: Any) -> AsyncGenerator[Any]:  # noqa: ANN401
    """Yield the client each time it is asked; closing the generator closes the client."""
    async with client:
        while True:
            yield client


def _close_clients(clients: Mapping[tuple[asyncio.AbstractEventLoop, int], AsyncGenerator[Any]]) -> None:
    """Close clients, each in its loop: what is left to a loop that never runs again stays pending."""
    for (loop, process), client in clients.items():
        if process != os.getpid():
            # A fork shares the sockets and the selector of its parent's loops, which are in use. It cannot
            # run these loops, to which aiohttp would report connections as unclosed.
            loop.set_exception_handler(lambda _loop, _context: None)
            continue
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(client.aclose(), loop)
        elif loop.is_closed():
            closing = client.aclose()
            with suppress(Exception):
                closing.send(None)
                closing.close()
        elif _is_in_a_loop():
            # A thread runs one loop at a time. At the end of the program no loop runs in it.
            atexit.register(_close_clients, {(loop, process): client})
        else:
            # The code that ran it left it open, as DeepEval's `evaluate` does.
            with suppress(RuntimeError):  # another thread has begun to run it
                loop.run_until_complete(client.aclose())


def _is_in_a_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
