"""A stand-in for an endpoint that sends any bytes, well-formed HTTP or not."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Self

from standin_openai import Text
from standin_openai import completion as completion_of


@dataclass(frozen=True)
class RawReply:
    """What is sent after a request, as it is; the connection is closed after it unless it is kept."""

    raw: bytes
    may_score: bool = False
    is_kept: bool = False


def response(
    status: int | bytes,
    body: bytes,
    headers: Sequence[tuple[bytes, bytes]] = (),
    *,
    length: bytes | None = None,
) -> bytes:
    """The bytes of a response.

    Args:
        status: a number, or the whole status line.
        body: as it is sent.
        headers: as they are sent.
        length: the Content-Length, right or not; b"" for none, None for the right one.
    """
    if length is None:
        length = b"%d" % len(body)
    lines = [status if isinstance(status, bytes) else b"HTTP/1.1 %d Reason" % status]
    lines += [name + b": " + value for name, value in headers]
    if length:
        lines.append(b"Content-Length: " + length)
    return b"\r\n".join([*lines, b"", body])


def completion(content: object, **message: object) -> dict[str, Any]:
    """A chat completion."""
    return completion_of(Text(message={"role": "assistant", "content": content, "refusal": None, **message}))


def good_reply(content: str) -> RawReply:
    """A right completion on a connection that stays open."""
    body = json.dumps(completion(content)).encode()
    headers = [(b"Content-Type", b"application/json")]
    return RawReply(response(200, body, headers), may_score=True, is_kept=True)


@dataclass
class RawEndpoint:
    """The server, running inside `with`; its replies are repeated in turn, and can be changed at any time.

    Attributes:
        replies: what it sends at first.
        most_replies: how many it sends on a connection, which it closes when another request arrives.
        n_scorable: how many it has sent that may score.
        n_connections: how many it has accepted.
    """

    replies: Sequence[RawReply] = ()
    most_replies: int | None = None
    n_scorable: int = 0
    n_connections: int = 0
    _turn: Any = field(default=None, repr=False)

    def answer_with(self, replies: Sequence[RawReply]) -> None:
        """Answer with these from now on, and count anew those that may score."""
        self.n_scorable = 0
        self._turn = cycle(replies)

    def __enter__(self) -> Self:
        self.answer_with(self.replies)
        up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(up)), daemon=True)
        self._thread.start()
        assert up.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join(10)

    async def _serve(self, up: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._down = asyncio.Event()
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0, limit=2**26)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        up.set()
        await self._down.wait()
        server.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        with closing(writer), suppress(OSError, asyncio.IncompleteReadError):
            n_replies = 0
            is_kept = True
            while is_kept:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                if n_replies == self.most_replies:
                    break
                n_replies += 1
                reply: RawReply = next(self._turn)
                self.n_scorable += reply.may_score
                writer.write(reply.raw)
                await writer.drain()
                is_kept = reply.is_kept
