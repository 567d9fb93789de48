"""HTTP to one endpoint, with the connections of one event loop.

It is aiohttp, with the URL, the headers and the certificates of the openai client. That client, and httpx,
which it puts around aiohttp, spend more time on a request than a judge spends on everything else.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from aiohttp import (
    ClientConnectionError,
    ClientHttpProxyError,
    ClientPayloadError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    TCPConnector,
)

MAX_RESPONSE = 64 * 2**20
"""Bytes of a response, unpacked. The longest replies with the probabilities of all tokens need half of it."""

MAX_ATTEMPT = 10
"""An attempt ends after this many timeouts, even if something keeps arriving: an interim response, a byte."""

MAX_IDLE = 4.0
"""Seconds. A connection that was not used for longer is not used again.

Many servers close one after 5 seconds (uvicorn, node, llama-server, Apache). A request that is under way
by then is lost, and uses up one of the model's retries.
"""

CODINGS = {"accept-encoding": "gzip, identity"}
"""The header that says how a response may be compressed. Nothing else is read."""

GZIP = zlib.MAX_WBITS | 16
"""What zlib calls the format."""

NO_HTTP_PROXY = "is not the URL of an HTTP proxy, http://HOST:PORT; a SOCKS proxy needs a client of your own"
"""What is wrong with a proxy, after the name of its variable."""

MAX_SHOWN = 100
"""Characters of a header that an error shows."""


@dataclass(frozen=True)
class Response:
    """What an endpoint sent.

    Attributes:
        status: the status code.
        url: where it came from.
        headers: its headers, whose names are case-insensitive.
        content: its body, unpacked.
    """

    status: int
    url: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        """Whether the endpoint did what it was asked to do."""
        return 200 <= self.status < 300  # noqa: PLR2004  the statuses of success


class StatusError(Exception):
    """A response with an error: by its status, or in the body of a success.

    Attributes:
        status_code: its status, or the one in its body.
        body: its body, parsed as far as that is possible.
        response: the response; None if the caller's own client keeps it.
    """

    def __init__(self, status: int, body: object, response: Response | None) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.body = body
        self.response = response


class OversizeError(Exception):
    """A response has more than MAX_RESPONSE bytes."""


class ProxyError(Exception):
    """Requests cannot go through the environment's proxy; the text names the variable."""


class DecodingError(Exception):
    """A response is not compressed as requested, or not as it says. httpx has an error with this name."""


class Transport:
    """The connections to an endpoint.

    Args:
        url: where requests go; a user and a password in it become the header Authorization.
        headers: the headers of every request, their names in lower case.
        timeout: the seconds within which something must arrive.
        tls: how certificates are checked.

    Raises:
        ProxyError: requests to the URL cannot go through the proxy of the environment.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float, tls: ssl.SSLContext) -> None:
        parts = urlsplit(url)
        login, _, host = parts.netloc.rpartition("@")
        all_headers = {**headers, "content-type": "application/json", **CODINGS}
        if login:
            user, _, password = login.partition(":")
            credentials = f"{unquote(user)}:{unquote(password)}"
            all_headers["authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"
        self.url = parts._replace(netloc=host).geturl()
        self._timeout = timeout
        self._session = ClientSession(
            # The caller decides how many requests are in flight.
            connector=TCPConnector(limit=0, keepalive_timeout=MAX_IDLE, ssl=tls),
            headers=all_headers,
            # Unpacked here: the session would unpack a megabyte into gigabytes.
            auto_decompress=False,
            timeout=ClientTimeout(connect=timeout, sock_connect=timeout, sock_read=timeout),
            proxy=_proxy_for(self.url),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, content: bytes) -> Response:
        """Send JSON to the endpoint.

        Raises:
            OversizeError: the response is too long.
            DecodingError: it cannot be unpacked.
            TimeoutError: it is not complete after MAX_ATTEMPT timeouts.
            Exception: anything that aiohttp raises. An error status does not raise.
        """
        try:
            async with (
                # The session's own timeouts forget an attempt after an interim response, such as 103.
                asyncio.timeout(MAX_ATTEMPT * self._timeout),
                # Redirects are not followed: they would take the key to another address.
                self._session.post(self.url, data=content, allow_redirects=False) as response,
            ):
                return await _read_response(response)
        except ClientHttpProxyError as error:
            # Its status is the proxy's: the endpoint has not answered.
            message = "a proxy refused the connection"
            raise ClientConnectionError(message) from error


async def _read_response(response: ClientResponse) -> Response:
    """Read a response to its end.

    Raises:
        OversizeError: it is too long.
        DecodingError: it cannot be unpacked.
        ClientConnectionError: it ends too early.
    """
    content = bytearray()
    try:
        async for piece in response.content.iter_any():
            content += piece
            _check_size(content)
    except ClientPayloadError as error:
        # aiohttp does not count this as a lost connection, after which a request is sent again.
        message = "the connection was lost during a response"
        raise ClientConnectionError(message) from error
    body = bytes(content)
    # Several headers with one name are one list.
    coding = ", ".join(response.headers.getall("Content-Encoding", [])).strip().lower()
    if body and coding in {"gzip", "x-gzip"}:
        body = _unpack(body)
    elif body and coding not in {"", "identity"}:
        message = f"the response is compressed as {coding[:MAX_SHOWN]!r}, but gzip was requested"
        raise DecodingError(message)
    return Response(response.status, str(response.url), response.headers, body)


def _unpack(packed: bytes) -> bytes:
    """Unpack a body in gzip.

    Raises:
        OversizeError: it is too long.
        DecodingError: it is not gzip, ends too early, or has something else after it.
    """
    unpacking = zlib.decompressobj(GZIP)
    try:
        # One byte more than allowed shows that the limit is exceeded.
        content = unpacking.decompress(packed, MAX_RESPONSE + 1)
    except zlib.error as error:
        message = f"the response cannot be unpacked as gzip: {error}"
        raise DecodingError(message) from error
    _check_size(content)
    if not unpacking.eof or unpacking.unused_data:
        message = "the response cannot be unpacked as gzip: it ends too early, or something follows it"
        raise DecodingError(message)
    return content


def _check_size(content: bytes | bytearray) -> None:
    """Refuse content that is too long.

    Raises:
        OversizeError: it is.
    """
    if len(content) > MAX_RESPONSE:
        message = f"the response has more than {MAX_RESPONSE} bytes"
        raise OversizeError(message)


def _proxy_for(url: str) -> str | None:
    """Return the proxy that the environment has for a URL: HTTPS_PROXY, ALL_PROXY, NO_PROXY and the like.

    Raises:
        ProxyError: requests cannot go through it.
    """
    parts = urlsplit(url)
    # The host of an IPv6 address has brackets in a URL, and none in NO_PROXY.
    if proxy_bypass(parts.netloc) or proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    kind = parts.scheme
    proxy = proxies.get(kind, "").strip()
    if not proxy:
        kind = "all"
        proxy = proxies.get(kind, "").strip()
    if not proxy:
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"  # as curl, requests and httpx read it
    try:
        proxy_parts = urlsplit(proxy)
        _ = proxy_parts.port
    except ValueError:  # a bracket that stays open, or a port that is not a number
        proxy_parts = urlsplit("")
    if proxy_parts.scheme not in {"http", "https"} or not proxy_parts.hostname:
        # Its value is not shown: there may be a password in it.
        message = f"{kind.upper()}_PROXY {NO_HTTP_PROXY}"
        raise ProxyError(message)
    return proxy
