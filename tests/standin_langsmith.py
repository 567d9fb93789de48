"""A stand-in for the LangSmith API: real HTTP on the loopback interface; it records what it receives.

    with StandIn(examples) as server:
        client = server.client()
        evaluate(target, data=server.dataset, evaluators=[...], client=client)
    server.feedback  # the bodies of all POST /feedback

It has one dataset, keeps the projects and runs that are posted, and returns them when `evaluate_existing`
asks for them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self, cast
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from langsmith import Client

TENANT = "00000000-0000-0000-0000-00000000000a"
NOW = datetime(2025, 1, 1, tzinfo=UTC).isoformat()
INFO = {
    "version": "0.10.100",
    "instance_flags": {},
    "batch_ingest_config": {
        "use_multipart_endpoint": False,
        "size_limit": 100,
        "size_limit_bytes": 20_000_000,
        "scale_up_qsize_trigger": 1000,
        "scale_up_nthreads_limit": 1,
        "scale_down_nempty_trigger": 4,
    },
}
Body = dict[str, Any]


class Seen(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Body
    queries: Mapping[str, Sequence[str]]


class StandIn:
    """The server, running inside `with`; `examples` are the inputs and outputs of its one dataset."""

    dataset = "the dataset"

    def __init__(self, examples: Sequence[tuple[Body, Body | None]] = ()) -> None:
        self.dataset_id = str(uuid4())
        self.examples: list[Body] = [
            {"id": str(uuid4()), "dataset_id": self.dataset_id, "inputs": inputs, "outputs": outputs}
            for inputs, outputs in examples
        ]
        self.requests: list[Seen] = []
        self.given: list[Body] = []  # feedback that is there already
        self.runs: dict[str, Body] = {}
        self.sessions: dict[str, Body] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def client(self) -> Client:
        """A client of this server."""
        return Client(api_url=self.url, api_key="a-key", info=cast("Any", INFO))

    @property
    def feedback(self) -> list[Body]:
        """The posted feedback, in order of arrival."""
        return [seen.body for seen in self.requests if (seen.method, seen.path) == ("POST", "/feedback")]

    def of_project(self, name: str) -> list[Body]:
        """The runs of a project, in the order in which they started."""
        return sorted(
            (run for run in self.runs.values() if run.get("session_name") == name),
            key=lambda run: str(run["dotted_order"]),
        )

    def answer(self, seen: Seen) -> Any:  # noqa: C901, PLR0911, PLR0912  one case per route
        """The API's response to a request, or None for an unknown route."""
        match seen.method, seen.path.strip("/").split("/"):
            case "GET", ["info"]:
                return INFO
            case "GET", ["datasets"]:
                return [self._dataset()] if seen.query.get("name") == self.dataset else []
            case ("GET", ["datasets", _]) | ("POST", ["datasets"]):
                return self._dataset() | seen.body | {"id": self.dataset_id}
            case "GET", ["examples"]:
                start = int(seen.query.get("offset", 0))
                return self.examples[start : start + 100]
            case "POST", ["examples"]:
                return seen.body
            case "GET", ["sessions"]:
                name = seen.query.get("name")
                return [one for one in self.sessions.values() if name in {None, one["name"]}]
            case "POST", ["sessions"]:
                session = {"tenant_id": TENANT, "start_time": NOW, "id": str(uuid4())} | seen.body
                return self.sessions.setdefault(session["id"], session)
            case (("GET" | "PATCH"), ["sessions", ident]):
                return self.sessions.get(ident)
            case "POST", ["runs", "batch"]:
                for run in (*(seen.body.get("post") or ()), *(seen.body.get("patch") or ())):
                    fields = {name: value for name, value in run.items() if value is not None}
                    self.runs.setdefault(run["id"], {}).update(fields)
                return {}
            case "POST", ["runs", "query"]:
                return {"runs": self._query(seen.body), "cursors": {"next": None}}
            case "POST", ["feedback"]:
                return seen.body
            case "GET", ["feedback"]:
                found = [each for each in self.given if each["run_id"] in seen.queries["run"]]
                return found[int(seen.query.get("offset", 0)) :]
            case "POST", ["annotation-queues"]:
                return {"tenant_id": TENANT, "created_at": NOW, "updated_at": NOW} | seen.body
            case "POST", ["annotation-queues", _, "runs"]:
                return {}
            case _:
                return None

    def _dataset(self) -> Body:
        return {"id": self.dataset_id, "name": self.dataset, "created_at": NOW, "modified_at": NOW}

    def _query(self, asked: Body) -> list[Body]:
        names = [self.sessions[ident]["name"] for ident in asked["session"]]
        found = [
            run
            | {
                "session_id": ident,
                "inputs": run.get("inputs", {}),
                "app_path": f"/{run['id']}",
                "status": "success",
            }
            for ident, name in zip(asked["session"], names, strict=True)
            for run in self.of_project(name)
        ]
        return [run for run in found if not (asked.get("is_root") and run.get("parent_run_id"))]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        standin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # which would hold each body back for 40 ms

            def handle_any(self) -> None:
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urlsplit(self.path)
                queries = parse_qs(url.query)
                query = {name: values[-1] for name, values in queries.items()}
                with standin._lock:
                    seen = Seen(self.command, url.path, query, json.loads(sent or b"{}"), queries)
                    standin.requests.append(seen)
                    answer = standin.answer(seen)
                body = json.dumps({"detail": "not found"} if answer is None else answer).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = handle_any  # noqa: N815  the names that http.server calls

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler
