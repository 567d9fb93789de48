"""Models behind OpenAI-compatible chat completions endpoints, called with the openai client.

The only file of the library that uses the network.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import math
import os
import re
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

import aiohttp
import openai

from groundjudge.errors import ModelError, code_of_status
from groundjudge.models.exchange import EndpointError, Exchange, message_of
from groundjudge.models.per_loop import PerLoop
from groundjudge.models.threads import in_a_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from groundjudge.reply import Reply
    from groundjudge.rubric import Request

T = TypeVar("T")

PATH = "/chat/completions"
OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key"
"""Sent to endpoints that need no key, because the openai client requires one."""

QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
"""OpenAI's error codes and types for an account without money, which come with status 429."""

FORBIDDEN = 403
MODERATED = re.compile(r"moderat|flagged|content.?(policy|filter)|safety", re.IGNORECASE)
"""The words of a 403 that rejects the content of the request, not the key."""


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint: OpenAI, Azure, a gateway or a server of your own.

    The endpoint and the key come from the arguments, or else from OPENAI_BASE_URL and OPENAI_API_KEY. They
    are looked up at the first request, so a judge can be built without them. Only OpenAI's own endpoint
    requires a key.

    Transient errors (no connection, a timeout, a rate limit, a server error) are retried after the wait
    that the endpoint asks for, or else after half a second, doubling with each retry. A parameter that the
    model refuses is left out, or sent under its new name, in this request and all later ones.

    Args:
        name: the model's name; for Azure the name of the deployment.
        client: an OpenAI, AsyncOpenAI, AzureOpenAI or AsyncAzureOpenAI, with its own endpoint, key, retries
            and timeout. A sync client answers async calls in threads. An async client is used as it is in
            the first event loop that calls it; other loops and sync calls use copies with the same settings
            but another transport: proxies and certificates set on its http_client do not apply to them.
        base_url: the endpoint's URL, up to and including /v1.
        api_key: the key.
        max_retries: how often a request is sent again after a transient error, 0 or more.
        timeout: seconds; an attempt fails if nothing arrives from the endpoint for that long.

    Raises:
        ModelError: `unknown_model` if `client` is none of these types, or comes with a base_url or api_key.
    """

    def __init__(  # noqa: PLR0913  the names of the openai client
        self,
        name: str,
        *,
        client: openai.OpenAI | openai.AsyncOpenAI | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        max_retries: int = 2,
        timeout: float = 60.0,
    ) -> None:
        self.name = name
        self._given = _checked(name, client, base_url or api_key)
        self._base_url = base_url
        self._api_key = api_key
        self._options: dict[str, Any] = {"max_retries": max_retries, "timeout": timeout}
        self._refusals: dict[str, str] = {}
        self._lock = threading.Lock()
        self._sync = client if isinstance(client, openai.OpenAI) else None
        self._per_loop: PerLoop[openai.AsyncOpenAI] = PerLoop()
        self._first_loop: weakref.ref[asyncio.AbstractEventLoop] | None = None

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    @property
    def endpoint(self) -> str:
        """The URL that requests go to, without the path of the API call."""
        return str(self._given.base_url) if self._given else self._url() or OPENAI

    def complete(self, request: Request) -> Reply:
        """Send a request, with retries, and wait for the reply. It works inside a running event loop too.

        Raises:
            ModelError: the endpoint returned no reply; the codes are those of an endpoint.
        """
        if isinstance(self._given, openai.AsyncOpenAI):
            return in_a_thread(lambda: asyncio.run(self._ask_with_copy(request))).result()
        client = self._sync_client()
        exchange = self._exchange(client, request)
        while True:
            try:
                content = client.post(PATH, body=exchange.body(), cast_to=bytes, options={"max_retries": 0})
            except Exception as error:  # noqa: BLE001  every exception becomes a ModelError
                time.sleep(exchange.wait_after(_endpoint_error(error)))
            else:
                return exchange.reply(content)

    async def acomplete(self, request: Request) -> Reply:
        """Send a request, with retries, without blocking the event loop.

        Raises:
            ModelError: as for `complete`.
        """
        if isinstance(self._given, openai.OpenAI):
            return await asyncio.wrap_future(in_a_thread(self.complete, request))
        if isinstance(self._given, openai.AsyncOpenAI) and self._in_first_loop():
            return await self._ask(self._given, request)
        return await self._ask_with_copy(request)

    async def _ask_with_copy(self, request: Request) -> Reply:
        return await self._ask(await self._per_loop.client(self._new_async_client), request)

    async def _ask(self, client: openai.AsyncOpenAI, request: Request) -> Reply:
        exchange = self._exchange(client, request)
        while True:
            try:
                content = await client.post(
                    PATH, body=exchange.body(), cast_to=bytes, options={"max_retries": 0}
                )
            except Exception as error:  # noqa: BLE001  as above
                await asyncio.sleep(exchange.wait_after(_endpoint_error(error)))
            else:
                return exchange.reply(content)

    def _exchange(self, client: openai.OpenAI | openai.AsyncOpenAI, request: Request) -> Exchange:
        host = client.base_url.netloc.decode()
        return Exchange(self.name, host, client.max_retries, request, self._refusals)

    def _sync_client(self) -> openai.OpenAI:
        with self._lock:
            self._sync = self._sync or self._build(openai.OpenAI)
            return self._sync

    def _new_async_client(self) -> openai.AsyncOpenAI:
        if isinstance(self._given, openai.AsyncOpenAI):
            return self._given.copy(http_client=openai.DefaultAsyncHttpxClient())
        return self._build(_aiohttp_client)

    def _url(self) -> str | None:
        return self._base_url or os.environ.get("OPENAI_BASE_URL")

    def _build(self, make: Callable[..., T]) -> T:
        url = self._url()
        key = self._api_key or os.environ.get("OPENAI_API_KEY") or (url and NO_KEY)
        if not key:
            message = (
                f"no endpoint for {self.name}: set OPENAI_API_KEY or pass api_key= to use OpenAI, "
                "set OPENAI_BASE_URL or pass base_url= to use another endpoint, or pass client="
            )
            raise ModelError("no_endpoint", message, self.name)
        try:
            return make(base_url=url or OPENAI, api_key=key.strip(), **self._options)
        except Exception as error:
            message = (
                f"cannot build a client for {self.name} at {url or OPENAI} "
                f"(check OPENAI_BASE_URL or base_url=): {error}"
            )
            raise ModelError("no_endpoint", message, self.name) from error

    def _in_first_loop(self) -> bool:
        """Whether the running loop is the first that called: only there the client given is used itself."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._first_loop = self._first_loop or weakref.ref(loop)
            return self._first_loop() is loop


def _aiohttp_client(**options: Any) -> openai.AsyncOpenAI:  # noqa: ANN401  the options of AsyncOpenAI
    """A client on aiohttp, where a call costs two thirds of its time on the default transport."""
    return openai.AsyncOpenAI(http_client=openai.DefaultAioHttpClient(), **options)


def _checked(name: str, client: object, endpoint: str | None) -> openai.OpenAI | openai.AsyncOpenAI | None:
    if client is not None and not isinstance(client, openai.OpenAI | openai.AsyncOpenAI):
        kind = type(client).__name__
        message = f"client must be an OpenAI, AsyncOpenAI, AzureOpenAI or AsyncAzureOpenAI, not {kind}"
        raise ModelError("unknown_model", message, name)
    if client and endpoint:
        message = "a client has its own endpoint and key: pass either client= or base_url= and api_key="
        raise ModelError("unknown_model", message, name)
    return client


def _endpoint_error(error: Exception) -> EndpointError:
    """What an exception of the openai client says about the attempt."""
    match error:
        case openai.APIStatusError():
            return _status_error(error)
        case openai.APITimeoutError() if not any(map(_is_cut, _causes(error))):
            return EndpointError("timeout", "no response in time")
        case openai.APIConnectionError():
            return EndpointError("connection", _described([*_causes(error)][-1]))
        case _:
            return EndpointError("failed", _described(error))


def _status_error(error: openai.APIStatusError) -> EndpointError:
    """What a response with an error status says."""
    status = error.status_code
    code = code_of_status(status)
    message = f"{status}: {message_of(error.body)}"
    if error.code in QUOTA or error.type in QUOTA:
        code = "quota"
    if status == FORBIDDEN and MODERATED.search(message):
        code = "bad_request"  # this row is rejected, not the key
    return EndpointError(code, message, str(error.param or ""), _retry_after(error.response.headers))


def _is_cut(cause: BaseException) -> bool:
    """Whether aiohttp's connection was refused or cut, which the openai client also reports as a timeout."""
    return isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, TimeoutError)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The exception, and what it was raised from, down to the first."""
    while error is not None:
        yield error
        error = error.__cause__


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the endpoint asks to wait, which it gives as a number or as a date."""
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with contextlib.suppress(KeyError, ValueError):
            seconds = float(headers[header]) * unit
            return max(seconds, 0.0) if math.isfinite(seconds) else None
    with contextlib.suppress(KeyError, ValueError):
        date = email.utils.parsedate_to_datetime(headers["retry-after"])
        return max(date.timestamp() - time.time(), 0.0)
    return None
