"""A stand-in for an OpenAI-compatible endpoint: real HTTP on the loopback interface, with scripted answers.

    with StandIn(["fine", Status(429, retry_after=0.05), Hang()]) as server:
        OpenAIModel("m", base_url=server.url)

A script is a list of answers, the last of which is repeated, or a function from the parsed body of a request
to its answer. A plain str is short for Text(str).
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

from aiohttp import web


@dataclass(frozen=True)
class Text:
    """A chat completion. If `usage` is None, the key is left out; `message` replaces the whole message.

    `logprobs` is sent if it was asked for; see `logprobs_of`.
    """

    text: str | None = "fine"
    finish_reason: str | None = "stop"
    usage: tuple[int, int] | None = (10, 5)
    refusal: str | None = None
    model: str = "stand-in"
    message: Mapping[str, Any] | None = None
    logprobs: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Status:
    """A response with an error status and a body in OpenAI's shape; `body` replaces that body."""

    status: int
    message: str = "the stand-in says no"
    code: str | None = None
    param: str | None = None
    type: str | None = None
    retry_after: float | str | None = None
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Raw:
    """A response with status 200 and any body."""

    body: bytes
    content_type: str = "application/json"
    encoding: str = "identity"


@dataclass(frozen=True)
class Cut:
    """No response: the connection is closed."""


@dataclass(frozen=True)
class Half:
    """The first half of a chat completion: then the connection is closed."""

    text: str = "fine"


@dataclass(frozen=True)
class Hang:
    """No response: the connection stays open."""


Answer: TypeAlias = str | Text | Status | Raw | Cut | Half | Hang
Script: TypeAlias = Sequence[Answer] | Callable[[dict[str, Any]], Answer]


def refuses(parameter: str, instead: str = "") -> Status:
    """OpenAI's response to a parameter that a model does not support."""
    message = f"Unsupported parameter: '{parameter}' is not supported with this model."
    if instead:
        message += f" Use '{instead}' instead."
    return Status(400, message, "unsupported_parameter", parameter, "invalid_request_error")


def refusing(refusals: Mapping[str, Status], answer: Answer) -> Callable[[dict[str, Any]], Answer]:
    """A script for an endpoint that refuses some parameters, or types of response_format, by their names."""

    def answer_to(body: dict[str, Any]) -> Answer:
        response_format_type = body.get("response_format", {}).get("type")
        for name in (*body, response_format_type):
            if name in refusals:
                return refusals[name]
        return answer

    return answer_to


Piece: TypeAlias = str | bytes | Mapping[Any, float]
"""A token's text or bytes; or those of several with their probabilities, the sampled one first."""


def text_of(pieces: Sequence[Piece]) -> str:
    """The text that the sampled tokens spell."""
    text = b""
    for piece in pieces:
        sampled, *_ = _weights(piece)
        text += _bytes(sampled)
    return text.decode()


def logprobs_of(pieces: Sequence[Piece], *, has_bytes: bool = True, most: int = 20) -> dict[str, Any]:
    """The logprobs of a choice in OpenAI's shape, with at most so many candidates for each token."""

    def entry(text: str | bytes, probability: float) -> dict[str, Any]:
        logprob = math.log(probability) if probability else -9999.0
        fields: dict[str, Any] = {"token": _bytes(text).decode(errors="replace"), "logprob": logprob}
        if has_bytes:
            fields["bytes"] = [*_bytes(text)]
        return fields

    def token(piece: Piece) -> dict[str, Any]:
        candidates = [entry(text, probability) for text, probability in _weights(piece).items()]
        likeliest = sorted(candidates, key=lambda candidate: -candidate["logprob"])[:most]
        return {**candidates[0], "top_logprobs": likeliest}

    return {"content": [token(piece) for piece in pieces], "refusal": None}


def _weights(piece: Piece) -> Mapping[Any, float]:
    return {piece: 1.0} if isinstance(piece, str | bytes) else piece


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: dict[str, Any]


PORTS = set[int]()
"""The ports of all stand-ins of this process: what was learnt about one must not hold for another."""


def new_port() -> int:
    """A free port that no stand-in of this process has had."""
    while True:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        if port not in PORTS:
            PORTS.add(port)
            return port


@dataclass
class StandIn:
    """The server, running inside `with`.

    Attributes:
        script: what it answers; it may be changed at any time.
        latency: the seconds that it waits before each answer.
        delays: the seconds that it waits longer before the first answers, one number for each.
        requests: the requests so far.
        in_flight: how many requests it is answering.
        most_in_flight: how many it has answered at a time.
        port: where it listens, to start a server where another one was; by default any free port.
    """

    script: Script = ("fine",)
    latency: float = 0.0
    delays: Sequence[float] = ()
    requests: list[Seen] = field(default_factory=list[Seen])
    in_flight: int = 0
    most_in_flight: int = 0
    port: int = 0

    @property
    def root(self) -> str:
        """The azure_endpoint for an Azure client."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base_url for any other client."""
        return f"{self.root}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests so far."""
        return [request.body for request in self.requests]

    def __enter__(self) -> Self:
        up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(up)), daemon=True)
        self._thread.start()
        if not up.wait(60):
            raise TimeoutError
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join(10)

    async def _serve(self, up: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._down = asyncio.Event()
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._handle)
        app.router.add_post("/openai/v1/chat/completions", self._handle)  # where Groq's client posts to
        app.router.add_post("/openai/deployments/{name}/chat/completions", self._handle)
        for path in ("/v1/decisions", "/v1/systemone", "/api/alpha/decisions"):
            app.router.add_post(path, self._handle)
        self.port = self.port or new_port()
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port, backlog=1024, reuse_address=True).start()
        up.set()
        await self._down.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            body: dict[str, Any] = await request.json()
            self.requests.append(Seen(request.path, dict(request.query), dict(request.headers), body))
            answer = self._next(body)
            wait = self.latency
            if len(self.requests) <= len(self.delays):
                wait += self.delays[len(self.requests) - 1]
            await asyncio.sleep(wait)
            if isinstance(answer, Text) and not body.get("logprobs"):
                answer = replace(answer, logprobs=None)
            return await self._send(request, answer)
        finally:
            self.in_flight -= 1

    def _next(self, body: dict[str, Any]) -> Answer:
        if callable(self.script):
            return self.script(body)
        return self.script[min(len(self.requests), len(self.script)) - 1]

    async def _send(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        match answer:
            case str() | Text():
                text = Text(answer) if isinstance(answer, str) else answer
                return web.json_response(completion(text))
            case Status():
                headers = dict(answer.headers)
                if answer.retry_after is not None:
                    headers["Retry-After"] = str(answer.retry_after)
                return web.json_response(error_of(answer), status=answer.status, headers=headers)
            case Raw():
                headers = {"Content-Encoding": answer.encoding}
                return web.Response(body=answer.body, content_type=answer.content_type, headers=headers)
            case Cut():
                if request.transport:
                    request.transport.abort()
                return web.Response()
            case Half():
                return await _send_half(request, answer)
            case Hang():
                await self._down.wait()
                return web.Response()


async def _send_half(request: web.Request, answer: Half) -> web.StreamResponse:
    body = json.dumps(completion(Text(answer.text))).encode()
    response = web.StreamResponse()
    response.content_type = "application/json"
    response.content_length = len(body)
    with suppress(ConnectionError):  # the client may be gone
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
    if request.transport:
        request.transport.close()
    return response


def completion(answer: Text) -> dict[str, Any]:
    """The body of a chat completion."""
    message = answer.message
    if not message:
        message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    if answer.logprobs:
        choice["logprobs"] = answer.logprobs
    body: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 0, "model": answer.model}
    body["choices"] = [choice]
    if answer.usage:
        prompt_tokens, completion_tokens = answer.usage
        body["usage"] = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        }
    return body


def error_of(answer: Status) -> Any:
    """The body of a response with an error status."""
    if answer.body is not None:
        return answer.body
    error = {"message": answer.message, "type": answer.type, "param": answer.param, "code": answer.code}
    return {"error": error}
