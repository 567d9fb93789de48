"""An HTTP server on the loopback interface that answers in JSON, as stand-ins for APIs need one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit


class Seen(NamedTuple):
    """A request as it arrived; the body is empty if it is not JSON.

    `queries` has all values of parameters that are there several times, `query` the last one.
    """

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    queries: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]


def json_server(answer: Callable[[Seen], tuple[int, Any]]) -> ThreadingHTTPServer:
    """A server that responds with the status and the body of the answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # which would hold each body back for 40 ms

        def handle_any(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            content_type = self.headers.get("Content-Type") or ""
            body: Any = {}
            if content and content_type.startswith("application/json"):
                body = json.loads(content)
            url = urlsplit(self.path)
            queries = parse_qs(url.query)
            query = {name: values[-1] for name, values in queries.items()}
            status, response = answer(Seen(self.command, url.path, query, body, queries, dict(self.headers)))
            response_content = json.dumps(response).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(response_content)))
            self.end_headers()
            self.wfile.write(response_content)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815  the names that http.server calls

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def url_of(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


@contextmanager
def running(server: ThreadingHTTPServer) -> Generator[None]:
    """Let the server answer until the block ends."""
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield
    server.shutdown()
    server.server_close()
