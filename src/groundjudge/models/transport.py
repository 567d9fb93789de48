"""HTTP to one endpoint, with the connections of one event loop.

It is aiohttp, with the URL, the headers and the certificates of the openai client. That client, and httpx,
which it puts around aiohttp, take more time over a request than all that a judge does with it.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote, urljoin, urlsplit
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

from groundjudge.case.data import is_mapping

LARGEST_RESPONSE = 64 * 2**20
"""Bytes of a response, unpacked. The longest replies with the probabilities of all tokens need half of it."""

LONGEST_ATTEMPT = 10
"""An attempt ends after so many timeouts, even if something keeps arriving: an interim response, a byte."""

MOST_CONNECTIONS = 1000
"""As many as the openai client has."""


@dataclass(frozen=True)
class Response:
    """What an endpoint sent.

    Attributes:
        status: the status code.
        url: where it came from.
        headers: its headers, whose names count in any case.
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
    """A response with an error status.

    Attributes:
        response: the response.
        status_code: its status.
        body: its body, parsed as far as that is possible.
        code, type, param: what the body says about the error, as the openai client shows it.
    """

    def __init__(self, response: Response, body: object) -> None:
        super().__init__(f"status {response.status}")
        self.response = response
        self.status_code = response.status
        self.body = body
        details: Mapping[str, Any] = body if is_mapping(body) else {}
        self.code = details.get("code")
        self.type = details.get("type")
        self.param = details.get("param")


class OversizeError(Exception):
    """A response has more than LARGEST_RESPONSE bytes."""


class Transport:
    """The connections to an endpoint.

    Args:
        url: where requests go; a user and a password in it become the header Authorization.
        headers: what every request has.
        timeout: the seconds in which something must arrive.
        tls: how certificates are checked.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float, tls: ssl.SSLContext) -> None:
        parts = urlsplit(url)
        login, _, host = parts.netloc.rpartition("@")
        all_headers = dict(headers)
        if login:
            user, _, password = login.partition(":")
            credentials = f"{unquote(user)}:{unquote(password)}"
            all_headers["Authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"
        self.url = parts._replace(netloc=host).geturl()
        self._timeout = timeout
        self._session = ClientSession(
            connector=TCPConnector(limit=MOST_CONNECTIONS, ssl=tls),
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
            TimeoutError: it is not complete after LONGEST_ATTEMPT timeouts.
            Exception: whatever aiohttp raises, or zlib of what is not packed as it says. An error status
                raises nothing.
        """
        headers = {"Content-Type": "application/json"}
        try:
            async with (
                # The session's own timeouts forget an attempt after an interim response, such as 103.
                asyncio.timeout(LONGEST_ATTEMPT * self._timeout),
                self._session.post(
                    self.url, data=content, headers=headers, allow_redirects=False
                ) as response,
            ):
                return await _read(response)
        except ClientHttpProxyError as error:
            # Its status is the proxy's: the endpoint has not answered.
            message = "a proxy refused the connection"
            raise ClientConnectionError(message) from error

    async def get(self, path: str) -> Response:
        """Ask for what is at another path, relative to the endpoint's URL, as in a link: "../models".

        Raises:
            Exception: as for `post`. How long it may take in all, the caller decides.
        """
        async with self._session.get(urljoin(self.url, path), allow_redirects=False) as response:
            return await _read(response)


async def _read(response: ClientResponse) -> Response:
    """Read a response to its end.

    Raises:
        OversizeError: it is too long.
        ClientConnectionError: it ends too early.
    """
    try:
        content = await _unpack(response)
    except ClientPayloadError as error:
        message = "the connection was lost in a response"
        raise ClientConnectionError(message) from error
    return Response(response.status, str(response.url), response.headers, content)


async def _unpack(response: ClientResponse) -> bytes:
    is_packed = response.headers.get("Content-Encoding", "") == "gzip"
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
    content = bytearray()
    async for piece in response.content.iter_any():
        if is_packed:
            most_bytes = LARGEST_RESPONSE + 1 - len(content)
            content += unpacking.decompress(piece, most_bytes)
        else:
            content += piece
        if len(content) > LARGEST_RESPONSE:
            message = f"the response has more than {LARGEST_RESPONSE} bytes"
            raise OversizeError(message)
    return bytes(content)


def _proxy_for(url: str) -> str | None:
    """Return the proxy that the environment has for a URL: HTTPS_PROXY, ALL_PROXY, NO_PROXY and the like."""
    parts = urlsplit(url)
    # The host of an IPv6 address has brackets in a URL, and none in NO_PROXY.
    if proxy_bypass(parts.netloc) or proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or "://" in proxy:
        return proxy or None
    return f"http://{proxy}"
