"""Models behind OpenAI-compatible chat completions endpoints, called with the openai client.

The only file of the library that uses the network.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import weakref
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias, TypeVar

import openai
from openai.resources.chat import Completions

from groundjudge.case.data import is_mapping
from groundjudge.errors import ModelError
from groundjudge.models.answer import check_key, model_error, model_errors, no_reply, parse_body, without_echo
from groundjudge.models.identity import identity_by_settings, not_pickled, own_identity, same, sent_by
from groundjudge.models.loop_thread import call_function, is_in_loop_thread
from groundjudge.models.pacing import wait_or_raise
from groundjudge.models.redaction import RedactedError, of_endpoint, redact, secrets_of
from groundjudge.models.unsupported_parameters import learnt_from, negotiate
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
    "not_found": "check the model's name, and that the URL is its endpoint's: OPENAI_BASE_URL, or as passed",
    "server": "the fault lies with the endpoint at OPENAI_BASE_URL, or at the URL passed",
}
"""What the user can do about an error, by its code."""


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint: OpenAI, Azure, a gateway or a server of your own.

    The endpoint and the key come from the arguments, or else from OPENAI_BASE_URL and OPENAI_API_KEY. They
    are looked up at the first request, so a judge can be built without them. Only OpenAI's own endpoint
    requires a key.

    Transient errors (no connection, a timeout, a rate limit, a server error) are retried after the wait
    that the endpoint asks for, or else after half a second, doubling with each retry. A response of status
    200 that is not a chat completion, such as a gateway's page, is a server error too. A parameter that the
    model refuses is left out, or sent under its new name, in this request and all later ones.

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
            A sync client answers async calls in threads. An AsyncOpenAI is used as it is in the first event
            loop that calls it; other loops and sync calls use copies with the same settings and wrappers but
            another transport: proxies and certificates set on its http_client do not apply to them.
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
        self.name, self._base_url, self._api_key, self._given = name, base_url, api_key, client
        self._options: dict[str, Any] = {"max_retries": max_retries, "timeout": timeout}
        self._per_loop = PerLoop()
        self._is_openai = client is None or issubclass(type(client), openai.OpenAI | openai.AsyncOpenAI)
        completions: Any = getattr(getattr(client, "chat", None), "completions", None)
        if client is not None and not callable(getattr(completions, "create", None)):
            message = f"client must have a method chat.completions.create: {type(client).__name__} has none"
            raise self._error("unknown_model", message)
        if client is not None and (base_url or api_key):
            message = "a client has its own endpoint and key: pass `client`, or `base_url` and `api_key`"
            raise self._error("unknown_model", message)
        check_key(getattr(client, "api_key", None), "the client's api_key", name)
        # A client may serve several models.
        if _is_async(client) and not isinstance(completions._post, PostPerLoop):  # noqa: SLF001
            completions._post = PostPerLoop(self._given)  # noqa: SLF001

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    __copy__ = __deepcopy__ = same

    def __reduce__(self) -> tuple[Callable[[], OpenAIModel], tuple[()]]:
        """Pickle the name, the URL, the retries and the timeout.

        Raises:
            PicklingError: there is a client, a key, or a URL with a password or a key.
        """
        secrets = {
            "a client": self._given,
            "an api_key": self._api_key,
            "a password in its base_url": any(secrets_of(self._base_url)),
        }
        for what in filter(secrets.get, secrets):
            raise not_pickled(self.name, what)
        return partial(OpenAIModel, self.name, base_url=self._base_url, **self._options), ()

    @property
    def endpoint(self) -> str:
        """The URL that requests go to, without the path of the API call, and without passwords and keys."""
        return _without_secrets(self._url)

    @property
    def identity(self) -> str:
        """The endpoint, what is sent to it besides, and the name, without keys.

        They tell the model from others, for a cache; "" if a client of another package does not say.
        """
        if not self._is_openai:
            return own_identity(self._given)
        sent = sent_by(self._given) if self._given else {"headers": os.environ.get("OPENAI_CUSTOM_HEADERS")}
        return identity_by_settings(f"{self.endpoint} {self.name}", sent)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys, passwords and user names that the endpoint is sent; no text of the library shows them."""
        key = self._key if self._given is None else getattr(self._given, "api_key", None)
        return (*self._secrets_of_client, *of_endpoint(self._url, key if isinstance(key, str) else ""))

    @cached_property
    def _secrets_of_client(self) -> tuple[str, ...]:
        return secrets_of(self._given)

    async def acomplete(self, request: Request) -> Reply:
        """Send a request, with retries.

        Raises:
            ModelError: the endpoint returned no reply; the codes are those of an endpoint.
        """
        sent = {"model": self.name, "messages": [dict(message) for message in request.messages]}

        async def send(parameters: dict[str, Any]) -> Reply:
            return await self._retried({**parameters, **sent}, is_paced=request.paced)

        reply = await negotiate(request, learnt_from(f"{self._url} {self.name}"), self._who, send)
        return without_echo(reply, request, self.secrets)

    def client(self) -> openai.OpenAI:
        """A synchronous client with the endpoint and the key, for the other parts of the API.

        Raises:
            ModelError: `no_endpoint` as for a request; `no_batches` if the client that was given is another.
        """
        if self._given is None:
            return self._built(openai.OpenAI)
        if isinstance(self._given, openai.OpenAI):
            return self._given
        message = f"{self.name}: batches need a name, or a client of the class openai.OpenAI or AzureOpenAI"
        raise self._error("no_batches", message)

    def errors(self) -> AbstractContextManager[None]:
        """Raise what the client raises as a ModelError with the codes of an endpoint and what to do."""
        return model_errors(self.name, f"{self._who}: ", self.secrets, REMEDIES)

    def _error(self, code: str, message: str) -> ModelError:
        return model_error(code, message, self.name, self.secrets)

    @property
    def _key(self) -> str:
        return (self._api_key or os.environ.get("OPENAI_API_KEY") or "").strip()

    @property
    def _url(self) -> str:
        if self._given is None:
            return self._base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        url = str(getattr(self._given, "base_url", ""))
        return url if "://" in url else type(self._given).__qualname__

    @property
    def _who(self) -> str:
        """The model and its host."""
        host = re.sub(r"^\S*://(\S*@)?|[/?#].*", "", self._url)
        return f"{self.name} at {host}"

    async def _retried(self, body: dict[str, Any], *, is_paced: bool) -> Reply:
        """The reply to a body, which is sent again after transient errors."""
        retries = 0
        while True:
            try:
                with self.errors():
                    reply = self._reply(parse_body(await self._send(body)))
                    return replace(reply, retries=retries) if retries else reply
            except ModelError as error:
                error.retries += retries
                await wait_or_raise(error, retries, self._most_retries(error), paced=is_paced)
            retries += 1

    def _most_retries(self, error: ModelError) -> int:
        """How often a request is sent again after a transient error."""
        own = getattr(self._given, "max_retries", None)
        if not isinstance(own, int):
            return int(self._options["max_retries"])
        # A client retries by itself, but not after a response of status 200 that is not a completion.
        raised = getattr(error.__cause__, "raised", None)
        return own if error.code == "server" and not hasattr(raised, "status_code") else 0

    def _reply(self, answer: object) -> Reply:
        reply = completion_of(answer)
        # Clients that are not OpenAI's may return a reply in any shape, but not a failure.
        if not (reply or self._is_openai or (is_mapping(answer) and answer.keys() & {"choices", "error"})):
            with suppress(TypeError):
                reply = reply_of(answer)
        if reply:
            return reply
        raise self._error("server", f"{self._who}: {no_reply(answer)} ({REMEDIES['server']})")

    async def _send(self, body: dict[str, Any]) -> object:
        """Send a body, and return the response.

        Raises:
            APIStatusError: the response has an error status, or whatever a client raises.
        """
        if self._given is None:
            endpoint = await self._per_loop.client(partial(self._built, _endpoint))
            sending = endpoint.stream("POST", endpoint.url, json=body)
            # The transport's own timeout forgets an attempt after an interim response, such as 103.
            async with asyncio.timeout(LONGEST_ATTEMPT * self._options["timeout"]), sending as response:
                content = await self._content(response)
            if not response.is_success:
                said = parse_body(content)
                error = said.get("error", said) if is_mapping(said) else said
                raise openai.APIStatusError("", response=response, body=error)
            return content
        # What the openai client does not know by name is `extra_body`.
        arguments = {name: value for name, value in body.items() if name in KNOWN}
        extra = {name: value for name, value in body.items() if name not in KNOWN}
        arguments |= {"extra_body": extra} if extra else {}
        create = self._given.chat.completions.create
        # A wrapped `create` of an AsyncOpenAI need not look asynchronous.
        return await (create(**arguments) if _is_async(self._given) else call_function(create, **arguments))

    async def _content(self, response: Any) -> bytes:  # noqa: ANN401  of httpx
        """The body of a response. It is unpacked here: httpx would unpack a megabyte into gigabytes."""
        is_packed = response.headers.get("Content-Encoding", "") == "gzip"
        content, unpacking = bytearray(), zlib.decompressobj(zlib.MAX_WBITS | 16)
        async for piece in response.aiter_raw():
            left = LARGEST_RESPONSE + 1 - len(content)
            content += unpacking.decompress(piece, left) if is_packed else piece
            if len(content) > LARGEST_RESPONSE:
                message = f"{self._who}: the response has more than {LARGEST_RESPONSE} bytes"
                raise self._error("server", f"{message} ({REMEDIES['server']})")
        return bytes(content)

    def _built(self, make: Callable[..., T]) -> T:
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


def _endpoint(*, timeout: float, **options: Any) -> Any:  # noqa: ANN401  those of AsyncOpenAI; a client of httpx
    """An endpoint as the openai client is set up for it: the client's own transport, URL and headers.

    The client itself takes longer over a call than the transport and the judge together.
    """
    transport: Any = openai.DefaultAioHttpClient(timeout=timeout)
    client = openai.AsyncOpenAI(http_client=transport, **options)
    url = client.base_url.join("chat/completions")  # a quarter of sending is parsing it
    if url.userinfo:  # the transport refuses a URL that has it
        transport.auth = url.username, url.password
    transport.url = url.copy_with(userinfo=b"")
    headers = {**client.default_headers, **client.auth_headers, "Accept-Encoding": "gzip"}
    # What the client leaves out has no string as its value.
    transport.headers.update({name: value for name, value in headers.items() if isinstance(value, str)})
    return transport


_without_secrets = lru_cache(redact)  # every request asks for its endpoint


def _is_async(client: object) -> bool:
    """Whether it is an AsyncOpenAI. A mock has that class, but not the type."""
    return issubclass(type(client), openai.AsyncOpenAI)


class PerLoop:
    """Keeps one client per running event loop, in which its connections work, and closes it with the loop.

    asyncio.run, like every orderly shutdown of a loop, closes the asynchronous generators that are still
    open in it. Each client is owned by such a generator, so it is closed in its own loop, in time.
    """

    def __init__(self) -> None:
        self._kept: dict[asyncio.AbstractEventLoop, AsyncGenerator[Any]] = {}
        # Left to the garbage collector, connections would be torn down before their client could close them.
        weakref.finalize(self, _close, self._kept)

    async def client(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401  what `make` makes
        """The running loop's client; `make` builds it if there is none yet."""
        loop = asyncio.get_running_loop()
        if loop not in self._kept:
            _close({ended: self._kept.pop(ended) for ended in [*self._kept] if ended.is_closed()})
            self._kept[loop] = _lifetime(make())
        return await anext(self._kept[loop])


async def _lifetime(client: Any) -> AsyncGenerator[Any]:  # noqa: ANN401
    """Yields the client each time it is asked; closing the generator closes the client."""
    async with client:
        while True:
            yield client


def _close(kept: Mapping[asyncio.AbstractEventLoop, AsyncGenerator[Any]]) -> None:
    """Close clients: each in its loop, or as far as that is possible without one that runs."""
    for loop, client in kept.items():
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(client.aclose(), loop)
            continue
        closing = client.aclose()
        with suppress(Exception):
            closing.send(None)
            closing.close()


class PostPerLoop:
    """What the `create` of an AsyncOpenAI posts with, so that all its wrappers see the calls of every loop.

    The client's own connections serve the first of the caller's event loops, a copy's each other one: the
    caller's code may use the client in its own loop, now or later.
    """

    def __init__(self, client: openai.AsyncOpenAI) -> None:
        self._client, self._copies = client, PerLoop()
        self._first: weakref.ref[asyncio.AbstractEventLoop] | None = None

    async def __call__(self, *args: Any, **options: Any) -> object:  # noqa: ANN401  those of the client's method
        """Post in the running loop."""
        if self._first is None and not is_in_loop_thread():
            self._first = weakref.ref(asyncio.get_running_loop())
        client = self._client
        if self._first is None or self._first() is not asyncio.get_running_loop():
            http = openai.DefaultAsyncHttpxClient
            client = await self._copies.client(lambda: self._client.copy(http_client=http()))
        return await client.post(*args, **options)
