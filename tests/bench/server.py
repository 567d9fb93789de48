"""A fake OpenAI endpoint, fast enough not to be the bottleneck, in a process of its own.

    python server.py    prints its port and serves until its stdin is closed

The path sets delay and judge: /200/groundedness/v1/chat/completions answers every request after 200 ms with
a reply in the format of that judge, about the case whose number the context has.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from varied_cases import KEPT, number_in, varied


@lru_cache(maxsize=KEPT)
def response(judge: str, number: int) -> bytes:
    """The whole HTTP response, head and body, about the case of that number."""
    message = {"role": "assistant", "content": varied(number).reply(judge), "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    usage = {"prompt_tokens": 2000, "completion_tokens": 80, "total_tokens": 2080}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "stand-in",
        "choices": [choice],
        "usage": usage,
    }
    body = json.dumps(completion).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


Responder: TypeAlias = Callable[[bytes, bytes], bytes]
"""From the path and the body of a request to the whole HTTP response."""


def chat_response(path: bytes, body: bytes) -> bytes:
    """The response that the path says, about the case in the body."""
    judge = path.decode().split("/")[2]
    return response(judge, number_in(body))


class Connection(asyncio.Protocol):
    """A keep-alive connection with one request at a time, without pipelining."""

    def __init__(self, respond: Responder) -> None:
        self.respond = respond

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end_of_head, body = self.received.partition(b"\r\n\r\n")
        if not end_of_head or len(body) < _length(head):
            return
        self.received = b""
        path = head.split(b" ", 2)[1]
        milliseconds = path.split(b"/")[1]
        wait = int(milliseconds) / 1000 if milliseconds.isdigit() else 0.0
        asyncio.get_running_loop().call_later(wait, self.send, self.respond(path, body))

    def send(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)


def _length(head: bytes) -> int:
    _, _, rest = head.lower().partition(b"content-length:")
    return int(rest.split(b"\r\n", 1)[0])


async def serve(respond: Responder) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(respond), "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def running(script: str | Path = __file__) -> Generator[str, None, None]:
    """Run the server in another process; yields its base URL."""
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(serve(chat_response))
