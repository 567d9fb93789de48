"""Models behind OpenAI-compatible chat completions endpoints, called with the openai client.

The only file of the library that uses the network.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
import re
import weakref
import zlib
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias, TypeVar

import openai
from openai.resources.chat import Completions

from groundjudge.case.data import is_mapping
from groundjudge.errors import ModelError
from groundjudge.models.answer import (
    check_key,
    error_of,
    is_failure,
    model_error,
    model_errors,
    no_reply,
    parse_body,
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
from groundjudge.models.redaction import RedactedError, redact, text_of
from groundjudge.models.secret_values import (
    SHORTEST_SECRET,
    environment_header_secrets,
    provided_tokens,
    secrets_of,
    secrets_sent_by,
    url_secrets,
)
from groundjudge.models.unsupported_parameters import known_refusals, negotiate
from groundjudge.replies.reply import Reply, completion_of, reply_of
from groundjudge.rubric.rubric import Request

T = TypeVar("T")

SyncClient: TypeAlias = openai.OpenAI
OpenAIBatch: TypeAlias = openai.types.Batch

UNSENT = {"self", "stream", "stream_options", "extra_headers", "extra_query", "extra_body", "timeout"}
KNOWN = frozenset(inspect.signature(Completions.create).parameters) - UNSENT
"""The parameters of the API that the openai client knows by name. A stream is not asked for."""

OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key"
"""Sent to endpoints that need no key, because the openai client requires one."""

LARGEST_RESPONSE = 64 * 2**20
"""Bytes of a response, unpacked. The longest replies with the probabilities of all tokens need half of it."""

LONGEST_ATTEMPT = 10
"""Timeouts. An attempt ends after so many, whatever has arrived: interim responses, or byte after byte."""

REMEDIES = {
    "timeout": "raise the timeout of the model if the endpoint needs longer",
    "connection": "check that the endpoint is up and that its URL is right: OPENAI_BASE_URL, or as passed",
    "rate_limited": "send fewer requests at a time",
    "quota": "check the plan and the balance of the account whose key is in OPENAI_API_KEY, or was passed",
    "auth": "check that key and URL belong together: OPENAI_API_KEY and OPENAI_BASE_URL, or as passed",
    "bad_request": "check the model's name, its parameters, and the URL: OPENAI_BASE_URL, or as passed",
    "redirected": "if the requests may go there, make it the URL: OPENAI_BASE_URL, or as passed",
    "not_found": "check the model's name, and that the URL is its endpoint's: OPENAI_BASE_URL, or as passed",
    "server": "the fault lies with the endpoint at OPENAI_BASE_URL, or at the URL passed",
}
"""What the user can do about an error, by its code."""

ANOTHER_LOOP = (
    "an AsyncOpenAI works in one event loop, and this one was used in another before: make one for each "
    "loop, or pass an OpenAI, or the model's name"
)
"""What the user can do about an error of a client that was used in several event loops."""


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint: OpenAI, Azure, a gateway or a server of your own.

    The endpoint and the key come from the arguments, or else from OPENAI_BASE_URL and OPENAI_API_KEY. They
    are looked up at the first request, so a judge can be built without them. Only OpenAI's own endpoint
    requires a key.

    Transient errors (no connection, a timeout, a rate limit, a server error) are retried after the wait
    that the endpoint asks for, or else after half a second, doubling with each retry. A response of status
    200 that is not a chat completion, such as a gateway's page, is a server error too. A parameter that the
    model refuses is left out, or sent under its new name, in this request and all later ones. A redirect is
    an error: what is meant for this endpoint goes to no other address. A client that is passed follows
    redirects as it was made to.

    Pickling keeps the name, base_url, max_retries and timeout: another process looks up the endpoint and the
    key in its own environment. A model with a client or an api_key cannot be pickled.

    Args:
        name: the model's name; for Azure the name of the deployment.
        client: an OpenAI, AsyncOpenAI, AzureOpenAI or AsyncAzureOpenAI, with its own endpoint, key, retries
            and timeout, or any object with a sync or async `chat.completions.create`. The call goes through
            `client.chat.completions.create`, so tracers that wrap the client and mocks see it; parameters
            that the openai client does not know by name are passed in `extra_body`. A client with
            `max_retries` does its own retrying, and only a response of status 200 without a completion,
            which it takes for a success, is sent again here, as often: use max_retries=0 to let a run slow
            down at the first rate limit. How often it retried is known for errors only.
            A sync client answers async calls in threads. An AsyncOpenAI is called in the event loop of the
            caller, or for sync callers in the one that serves them all. Its connections belong to the loop
            in which they were made, so it should serve one of these only. A client is never changed.
        base_url: the endpoint's URL, up to and including /v1.
        api_key: the key.
        max_retries: how often a request is sent again after a transient error, 0 or more; a client's own
            `max_retries` takes its place.
        timeout: seconds; an attempt fails if nothing arrives from the endpoint for that long, or if the
            response is not complete after ten times as long.

    Raises:
        ModelError: `unknown_model` if `client` has no `chat.completions.create`, or comes with a base_url or
            api_key.
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
        self._base_url = base_url
        self._api_key = api_key
        self._callers_client = client
        self._options: dict[str, Any] = {"max_retries": max_retries, "timeout": timeout}
        self._per_loop = PerLoop()
        self._is_openai = client is None or issubclass(type(client), openai.OpenAI | openai.AsyncOpenAI)
        if client is None:
            return
        completions: Any = getattr(getattr(client, "chat", None), "completions", None)
        if not callable(getattr(completions, "create", None)):
            message = f"client must have a method chat.completions.create: {type(client).__name__} has none"
            raise self._error("unknown_model", message)
        if base_url or api_key:
            message = "a client has its own endpoint and key: pass `client`, or `base_url` and `api_key`"
            raise self._error("unknown_model", message)
        check_key(getattr(client, "api_key", None), "the client's api_key", name)

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    __copy__ = __deepcopy__ = itself

    def __reduce__(self) -> tuple[Callable[[], OpenAIModel], tuple[()]]:
        """Pickle the name, the URL, the retries and the timeout.

        Raises:
            PicklingError: there is a client, a key, or a URL with a password or a key.
        """
        if self._callers_client:
            raise not_pickled(self.name, "a client")
        if self._api_key:
            raise not_pickled(self.name, "an api_key")
        if secrets_of(self._base_url):
            raise not_pickled(self.name, "a password in its base_url")
        return partial(OpenAIModel, self.name, base_url=self._base_url, **self._options), ()

    @property
    def endpoint(self) -> str:
        """The URL that requests go to, without the path of the API call, and without passwords and keys."""
        return _redact_url(self._url)

    @property
    def identity(self) -> str:
        """The endpoint, what is sent to it besides, and the name, without keys.

        They tell the model from others, for a cache; "" if a client of another package does not say.
        """
        if not self._is_openai:
            return declared_identity(self._callers_client)
        if self._callers_client:
            settings = client_settings(self._callers_client)
        else:
            settings = {"headers": os.environ.get("OPENAI_CUSTOM_HEADERS")}
        return identity_by_settings(f"{self.endpoint} {self.name}", settings)

    @property
    def refusals(self) -> dict[str, str]:
        """The parameters that it is known to refuse, each with its new name, or "" if it is left out."""
        return known_refusals(f"{self._url} {self.name}")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys, passwords and other values that only the endpoint may see; no text shows them."""
        client = self._callers_client
        if client is None:
            return _endpoint_secrets(self.name, self._url, self._key, *environment_header_secrets())
        secrets = set[str](self._secrets_of_client)
        if self._is_openai:
            secrets |= secrets_sent_by(client)  # anew: its key may be made for each request
        return _without_names(secrets, self.name, self._url)

    @cached_property
    def _secrets_of_client(self) -> tuple[str, ...]:
        return secrets_of(self._callers_client)

    async def acomplete(self, request: Request) -> Reply:
        """Send a request, with retries.

        Raises:
            ModelError: the endpoint returned no reply; the codes are those of an endpoint.
        """
        messages = [dict(message) for message in request.messages]

        async def send(parameters: dict[str, Any]) -> Reply:
            body = {**parameters, "model": self.name, "messages": messages}
            return await self._send_with_retries(body, is_paced=request.paced)

        reply = await negotiate(request, self.refusals, self._who, send)
        return without_echo(reply, request, await self._secrets_after_call())

    @contextmanager
    def client(self) -> Generator[openai.OpenAI]:
        """A synchronous client with the endpoint and the key, for the other parts of the API.

        What it raises inside becomes a ModelError with the codes of an endpoint and what to do.

        Raises:
            ModelError: `no_endpoint` as for a request; `no_batches` if the client that was given is another.
        """
        with model_errors(self.name, f"{self._who}: ", self.secrets, REMEDIES):
            if self._callers_client is None:
                with self._make_client(_make_sync_client) as client:
                    yield client
            elif isinstance(self._callers_client, openai.OpenAI):
                yield self._callers_client
            else:
                message = "batches need a name, or a client of the class openai.OpenAI or AzureOpenAI"
                raise self._error("no_batches", f"{self.name}: {message}")

    def _error(self, code: str, message: str) -> ModelError:
        return model_error(code, message, self.name, self.secrets)

    @property
    def _key(self) -> str:
        return (self._api_key or os.environ.get("OPENAI_API_KEY") or "").strip()

    @property
    def _url(self) -> str:
        if self._callers_client is None:
            return self._base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        url = str(getattr(self._callers_client, "base_url", ""))
        return url if "://" in url else type(self._callers_client).__qualname__

    @property
    def _who(self) -> str:
        """The model and its host."""
        host = re.sub(r"^\S*://(\S*@)?|[/?#].*", "", self._url)
        return f"{self.name} at {host}"

    async def _secrets_after_call(self) -> Collection[str]:
        """Return the secrets with the tokens that a client made for the call."""
        if self._callers_client is None:
            return self.secrets
        return {*self.secrets, *await provided_tokens(self._callers_client)}

    async def _send_with_retries(self, body: dict[str, Any], *, is_paced: bool) -> Reply:
        """Return the reply to a body, which is sent again after transient errors."""
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
        try:
            answer = parse_body(await self._send(body))
            return self._find_reply(answer)
        except BaseException as error:
            if not is_failure(error, asyncio.current_task()):
                raise
            remedies: Mapping[str, str] = REMEDIES
            if _is_async(self._callers_client) and _is_about_loops(error):
                remedies = {"connection": ANOTHER_LOOP, "timeout": ANOTHER_LOOP, "failed": ANOTHER_LOOP}
            secrets = await self._secrets_after_call()
            raise error_of(error, self.name, f"{self._who}: ", secrets, remedies)  # noqa: B904  it has a cause

    def _most_retries(self, error: ModelError) -> int:
        """Return how often a request is sent again after a transient error."""
        client_retries = getattr(self._callers_client, "max_retries", None)
        if not isinstance(client_retries, int):
            return int(self._options["max_retries"])
        # A client retries by itself, but not after a response of status 200 that is not a completion.
        raised = getattr(error.__cause__, "raised", None)
        if error.code == "server" and not hasattr(raised, "status_code"):
            return client_retries
        return 0

    def _find_reply(self, answer: object) -> Reply:
        """Return the reply in what was answered.

        Raises:
            ModelError: `server`: there is none.
        """
        reply = completion_of(answer)
        if reply is not None:
            return reply
        # Clients that are not OpenAI's may return a reply in any shape, but not a failure.
        is_failure = is_mapping(answer) and ("choices" in answer or "error" in answer)
        if not self._is_openai and not is_failure:
            with suppress(TypeError):
                return reply_of(answer)
        raise self._error("server", f"{self._who}: {no_reply(answer)} ({REMEDIES['server']})")

    async def _send(self, body: dict[str, Any]) -> object:
        """Send a body, and return the response.

        Raises:
            APIStatusError: the response has an error status, or whatever a client raises.
        """
        client = self._callers_client
        if client is None:
            return await self._post(body)
        arguments: dict[str, Any] = {}
        extra_body: dict[str, Any] = {}
        for name, value in body.items():
            if name in KNOWN:
                arguments[name] = value
            else:
                extra_body[name] = value
        if extra_body:
            arguments["extra_body"] = extra_body
        create = client.chat.completions.create
        if not _is_async(client):
            return await call_function(create, **arguments)
        # A wrapped `create` of an AsyncOpenAI need not look asynchronous.
        if is_in_loop_thread():
            # A run has a loop of its own, but the client's connections are to serve later calls too.
            return await shared_loop().run_from_loop(create, **arguments)
        return await create(**arguments)

    async def _post(self, body: dict[str, Any]) -> bytes:
        """Send a body with the library's own client, and return the body of the response."""
        endpoint = await self._per_loop.client(partial(self._make_client, _make_endpoint))
        response_of = endpoint.stream("POST", endpoint.url, json=body)
        # The transport's own timeout forgets an attempt after an interim response, such as 103.
        async with asyncio.timeout(LONGEST_ATTEMPT * self._options["timeout"]), response_of as response:
            content = await self._read_content(response)
        if response.is_success:
            return content
        error = parse_body(content)
        if is_mapping(error):
            error = error.get("error", error)
        raise openai.APIStatusError("", response=response, body=error)

    async def _read_content(self, response: Any) -> bytes:  # noqa: ANN401  of httpx
        """Return the body of a response, unpacked here: httpx would unpack a megabyte into gigabytes."""
        is_packed = response.headers.get("Content-Encoding", "") == "gzip"
        unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
        content = bytearray()
        async for piece in response.aiter_raw():
            if is_packed:
                most_bytes = LARGEST_RESPONSE + 1 - len(content)
                content += unpacking.decompress(piece, most_bytes)
            else:
                content += piece
            if len(content) > LARGEST_RESPONSE:
                message = f"{self._who}: the response has more than {LARGEST_RESPONSE} bytes"
                raise self._error("server", f"{message} ({REMEDIES['server']})")
        return bytes(content)

    def _make_client(self, make: Callable[..., T]) -> T:
        """Make a client for the endpoint, with its key.

        Raises:
            ModelError: `no_endpoint`: there is no endpoint, or the key or the URL cannot be used.
        """
        origin = "the api_key that was passed" if self._api_key else "OPENAI_API_KEY"
        check_key(self._key, origin, self.name)
        if not self._key and self._url == OPENAI:
            message = (
                f"no endpoint for {self.name}: set OPENAI_API_KEY to use OpenAI, "
                "set OPENAI_BASE_URL to use another endpoint, or in Python pass a client, a URL or a key"
            )
            raise self._error("no_endpoint", message)
        try:
            return make(base_url=self._url, api_key=self._key or NO_KEY, **self._options)
        except Exception as error:  # noqa: BLE001  a client raises exceptions of any kind
            message = (
                f"cannot build a client for {self.name} at {self.endpoint} "
                f"(check the URL: OPENAI_BASE_URL, or as passed): {error}"
            )
            raise self._error("no_endpoint", message) from RedactedError(error, self.secrets)


def _make_sync_client(**options: Any) -> openai.OpenAI:  # noqa: ANN401  those of OpenAI
    """Return a synchronous client that follows no redirect, as the endpoint's own transport does."""
    return openai.OpenAI(http_client=openai.DefaultHttpxClient(follow_redirects=False), **options)


def _make_endpoint(*, timeout: float, **options: Any) -> Any:  # noqa: ANN401  those of AsyncOpenAI; a client of httpx
    """Return an endpoint as the openai client is set up for it: the client's own transport, URL and headers.

    The client itself takes longer over a call than the transport and the judge together.
    """
    transport: Any = openai.DefaultAioHttpClient(timeout=timeout, follow_redirects=False)
    client = openai.AsyncOpenAI(http_client=transport, **options)
    url = client.base_url.join("chat/completions")  # a quarter of sending is parsing it
    if url.userinfo:  # the transport refuses a URL that has it
        transport.auth = url.username, url.password
    transport.url = url.copy_with(userinfo=b"")
    headers = {**client.default_headers, **client.auth_headers, "Accept-Encoding": "gzip"}
    for name, value in headers.items():
        if isinstance(value, str):  # what the client leaves out has no string as its value
            transport.headers[name] = value
    return transport


_redact_url = lru_cache(redact)  # every request asks for its endpoint


@lru_cache  # every request asks for them
def _endpoint_secrets(name: str, url: str, key: str, *headers: str) -> tuple[str, ...]:
    """Return the secrets of an endpoint with the library's own client."""
    secrets = url_secrets(url).union(headers)
    if len(key) >= SHORTEST_SECRET:
        secrets.add(key)
    return _without_names(secrets, name, url)


def _without_names(secrets: Iterable[str], name: str, url: str) -> tuple[str, ...]:
    """Leave out what stands in the model's name and in the endpoint's path: that is no secret."""
    names = f"{name} {re.sub(r'//[^/]*@|[?].*', '', url)}"
    return tuple(secret for secret in secrets if secret not in names)


def _is_about_loops(error: BaseException | None) -> bool:
    """Whether an exception comes from connections that belong to another event loop."""
    while error is not None:
        if isinstance(error, RuntimeError) and "loop" in text_of(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_async(client: object) -> bool:
    """Whether it is an AsyncOpenAI. A mock has that class, but not the type."""
    return issubclass(type(client), openai.AsyncOpenAI)


class PerLoop:
    """Keeps one client per running event loop, in which its connections work, and closes it with the loop.

    asyncio.run, like every orderly shutdown of a loop, closes the asynchronous generators that are still
    open in it. Each client is owned by such a generator, so it is closed in its own loop, in time.
    """

    def __init__(self) -> None:
        self._clients: dict[tuple[asyncio.AbstractEventLoop, int], AsyncGenerator[Any]] = {}
        # Left to the garbage collector, connections would be torn down before their client could close them.
        weakref.finalize(self, _close_clients, self._clients)

    async def client(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401  what `make` makes
        """Return the running loop's client; `make` builds it if there is none yet."""
        key = asyncio.get_running_loop(), os.getpid()
        if key not in self._clients:
            for other_key in [*self._clients]:
                if other_key[0].is_closed():
                    _close_clients({other_key: self._clients.pop(other_key)})
            self._clients[key] = _lifetime(make())
        return await anext(self._clients[key])


async def _lifetime(client: Any) -> AsyncGenerator[Any]:  # noqa: ANN401
    """Yields the client each time it is asked; closing the generator closes the client."""
    async with client:
        while True:
            yield client


def _close_clients(clients: Mapping[tuple[asyncio.AbstractEventLoop, int], AsyncGenerator[Any]]) -> None:
    """Close clients, each in its loop: what it leaves to a loop that nobody runs again stays pending."""
    for (loop, process), client in clients.items():
        if process != os.getpid():
            continue  # a fork shares the sockets and the selector of its parent's loops, which are in use
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
            # Left open by whoever ran it, as DeepEval's `evaluate` does.
            with suppress(RuntimeError):  # another thread has begun to run it
                loop.run_until_complete(client.aclose())


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
