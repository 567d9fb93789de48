"""Any endpoint that speaks OpenAI's chat completions, asked with the openai client: all of the network."""

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

from groundjudge.errors import ModelError
from groundjudge.models.exchange import Exchange, Trouble, words_of
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
"""The key for an endpoint that asks for none: the client insists on having one."""

QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
FORBIDDEN = 403
MODERATED = re.compile(r"moderat|flagged|content.?(policy|filter)|safety", re.IGNORECASE)
STATUS = {401: "auth", 402: "quota", 403: "auth", 404: "not_found", 408: "timeout", 409: "server"} | {
    429: "rate_limited"
}


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint: OpenAI's, Azure's, a gateway, a server of one's own.

    Endpoint and key come from the arguments, else from OPENAI_BASE_URL and OPENAI_API_KEY. They are looked
    up at the first request, so a judge can be built without them. Only OpenAI's endpoint has to have a key.

    What may be gone at the next try (no connection, no answer in time, too many requests, a fault of the
    server) is tried again, after the time that the endpoint asks for, or half a second and then twice as
    long each time. A parameter that the model refuses is left out, or sent by its new name, from then on.

    Args:
        name: the model's name; with Azure the deployment's.
        client: an OpenAI, AsyncOpenAI, AzureOpenAI or AsyncAzureOpenAI, with its own endpoint, key, retries
            and timeout. A sync client answers async calls in threads. An async client serves the first event
            loop that asks as it is; other loops and sync calls get copies of it, which have its settings but
            a transport of their own: proxies and certificates set on its http_client do not reach them.
        base_url: the endpoint, up to and with its /v1.
        api_key: the key.
        max_retries: how many times a request is tried again.
        timeout: seconds without a sign from the endpoint after which one try has failed.

    Raises:
        ModelError: `unknown_model` for a client that is none of these, or comes with a base_url or api_key.
    """

    def __init__(  # noqa: PLR0913  named as the openai client names them
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
        self._refused: dict[str, str] = {}
        self._lock = threading.Lock()
        self._sync = client if isinstance(client, openai.OpenAI) else None
        self._per_loop: PerLoop[openai.AsyncOpenAI] = PerLoop()
        self._home: weakref.ref[asyncio.AbstractEventLoop] | None = None

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    @property
    def endpoint(self) -> str:
        """Where the requests go."""
        return str(self._given.base_url) if self._given else self._url() or OPENAI

    def complete(self, request: Request) -> Reply:
        """Ask the endpoint."""
        if isinstance(self._given, openai.AsyncOpenAI):
            return in_a_thread(lambda: asyncio.run(self._ask_a_copy(request))).result()
        client = self._sync_client()
        exchange = self._exchange(client, request)
        while True:
            try:
                content = client.post(PATH, body=exchange.body(), cast_to=bytes, options={"max_retries": 0})
            except Exception as error:  # noqa: BLE001  whatever it is, it becomes a ModelError
                time.sleep(exchange.wait_after(_trouble(error)))
            else:
                return exchange.reply(content)

    async def acomplete(self, request: Request) -> Reply:
        """Ask the endpoint without blocking the event loop."""
        if isinstance(self._given, openai.OpenAI):
            return await asyncio.wrap_future(in_a_thread(self.complete, request))
        if isinstance(self._given, openai.AsyncOpenAI) and self._is_at_home():
            return await self._ask(self._given, request)
        return await self._ask_a_copy(request)

    async def _ask_a_copy(self, request: Request) -> Reply:
        return await self._ask(await self._per_loop.client(self._new_async_client), request)

    async def _ask(self, client: openai.AsyncOpenAI, request: Request) -> Reply:
        exchange = self._exchange(client, request)
        while True:
            try:
                content = await client.post(
                    PATH, body=exchange.body(), cast_to=bytes, options={"max_retries": 0}
                )
            except Exception as error:  # noqa: BLE001  as above
                await asyncio.sleep(exchange.wait_after(_trouble(error)))
            else:
                return exchange.reply(content)

    def _exchange(self, client: openai.OpenAI | openai.AsyncOpenAI, request: Request) -> Exchange:
        host = client.base_url.netloc.decode()
        return Exchange(self.name, host, client.max_retries, request, self._refused)

    def _sync_client(self) -> openai.OpenAI:
        with self._lock:
            self._sync = self._sync or self._new(openai.OpenAI)
            return self._sync

    def _new_async_client(self) -> openai.AsyncOpenAI:
        if isinstance(self._given, openai.AsyncOpenAI):
            return self._given.copy(http_client=openai.DefaultAsyncHttpxClient())
        return self._new(_with_aiohttp)

    def _url(self) -> str | None:
        return self._base_url or os.environ.get("OPENAI_BASE_URL")

    def _new(self, client: Callable[..., T]) -> T:
        url = self._url()
        key = self._api_key or os.environ.get("OPENAI_API_KEY") or (url and NO_KEY)
        if not key:
            message = (
                f"no endpoint for {self.name}: set OPENAI_API_KEY or pass api_key= for OpenAI's own, "
                "set OPENAI_BASE_URL or pass base_url= for another, or pass a client"
            )
            raise ModelError("no_endpoint", message, self.name)
        try:
            return client(base_url=url or OPENAI, api_key=key.strip(), **self._options)
        except Exception as error:
            message = f"no client for {self.name} at {url or OPENAI} (OPENAI_BASE_URL or base_url=): {error}"
            raise ModelError("no_endpoint", message, self.name) from error

    def _is_at_home(self) -> bool:
        """Whether the running loop is the first that asked: the only one where the client given is used."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._home = self._home or weakref.ref(loop)
            return self._home() is loop


def _with_aiohttp(**options: Any) -> openai.AsyncOpenAI:  # noqa: ANN401  the client's own
    """A client on aiohttp, where a call costs two thirds of what it does on the usual transport."""
    return openai.AsyncOpenAI(http_client=openai.DefaultAioHttpClient(), **options)


def _checked(name: str, client: object, endpoint: str | None) -> openai.OpenAI | openai.AsyncOpenAI | None:
    if client is not None and not isinstance(client, openai.OpenAI | openai.AsyncOpenAI):
        kind = type(client).__name__
        message = f"{kind} is none of OpenAI, AsyncOpenAI, AzureOpenAI and AsyncAzureOpenAI"
        raise ModelError("unknown_model", message, name)
    if client and endpoint:
        message = "a client has its own endpoint and key: pass either client= or base_url= and api_key="
        raise ModelError("unknown_model", message, name)
    return client


def _trouble(error: Exception) -> Trouble:
    """What an exception of the openai client means."""
    match error:
        case openai.APIStatusError(status_code=status):
            code = STATUS.get(status, "server" if status >= 500 else "bad_request")  # noqa: PLR2004  RFC 9110
            if error.code in QUOTA or error.type in QUOTA:
                code = "quota"
            words = f"{status}: {words_of(error.body)}"
            if status == FORBIDDEN and MODERATED.search(words):
                code = "bad_request"  # it is this row that is not wanted, and not the key
            return Trouble(code, words, str(error.param or ""), _retry_after(error.response.headers))
        case openai.APITimeoutError() if not any(map(_is_cut, _causes(error))):
            return Trouble("timeout", "no answer in time")
        case openai.APIConnectionError():
            return Trouble("connection", _said([*_causes(error)][-1]))
        case _:
            return Trouble("failed", _said(error))


def _is_cut(cause: BaseException) -> bool:
    """Whether aiohttp found a connection refused or cut, which the openai client calls a timeout too."""
    return isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, TimeoutError)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the endpoint asks to be left alone: it says a number, or a date."""
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with contextlib.suppress(KeyError, ValueError):
            seconds = float(headers[header]) * unit
            return max(seconds, 0.0) if math.isfinite(seconds) else None
    with contextlib.suppress(KeyError, ValueError):
        date = email.utils.parsedate_to_datetime(headers["retry-after"])
        return max(date.timestamp() - time.time(), 0.0)
    return None
