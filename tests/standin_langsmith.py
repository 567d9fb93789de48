"""A stand-in for the LangSmith API: real HTTP on the loopback interface; it records what it receives.

    with StandIn(examples) as server:
        client = server.client()
        evaluate(target, data=server.dataset, evaluators=[...], client=client)
    server.feedback  # the bodies of all POST /feedback

It has one dataset, keeps the projects and runs that are posted, and returns them when `evaluate_existing`
asks for them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, Self, cast
from uuid import uuid4

from langsmith import Client
from loopback import Seen, json_server, running, url_of

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


class StandIn:
    """The server, running inside `with`; `examples` are the inputs and outputs of its one dataset."""

    dataset = "the dataset"

    def __init__(self, examples: Sequence[tuple[Body, Body | None]] = ()) -> None:
        self.dataset_id = str(uuid4())
        self.examples: list[Body] = []
        for inputs, outputs in examples:
            self.examples.append(
                {"id": str(uuid4()), "dataset_id": self.dataset_id, "inputs": inputs, "outputs": outputs}
            )
        self.requests: list[Seen] = []
        self.earlier_feedback: list[Body] = []  # which is there before the first request
        self.refused: dict[str, int] = {}  # the end of a path, and the status with which it is answered
        self.runs: dict[str, Body] = {}
        self.sessions: dict[str, Body] = {}
        self._lock = threading.Lock()
        self._server, self._running = json_server(self._record_and_answer), ExitStack()
        self.url = url_of(self._server)

    def __enter__(self) -> Self:
        self._running.enter_context(running(self._server))
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def client(self) -> Client:
        """A client of this server."""
        return Client(api_url=self.url, api_key="a-key", info=cast("Any", INFO))

    @property
    def feedback(self) -> list[Body]:
        """The posted feedback, in order of arrival."""
        return [
            request.body
            for request in self.requests
            if (request.method, request.path) == ("POST", "/feedback")
        ]

    def of_project(self, name: str) -> list[Body]:
        """The runs of a project, in the order in which they started."""
        runs = [run for run in self.runs.values() if run.get("session_name") == name]
        return sorted(runs, key=lambda run: str(run["dotted_order"]))

    def answer(self, request: Seen) -> Any:  # noqa: C901, PLR0911, PLR0912  one case per route
        """The API's response to a request, or None for an unknown route."""
        match request.method, request.path.strip("/").split("/"):
            case "GET", ["info"]:
                return INFO
            case "GET", ["datasets"]:
                return [self._dataset()] if request.query.get("name") == self.dataset else []
            case ("GET", ["datasets", _]) | ("POST", ["datasets"]):
                return self._dataset() | request.body | {"id": self.dataset_id}
            case "GET", ["examples"]:
                start = int(request.query.get("offset", 0))
                return self.examples[start : start + 100]
            case "POST", ["examples"]:
                return request.body
            case "GET", ["sessions"]:
                name = request.query.get("name")
                return [session for session in self.sessions.values() if name in {None, session["name"]}]
            case "POST", ["sessions"]:
                session = {"tenant_id": TENANT, "start_time": NOW, "id": str(uuid4())} | request.body
                return self.sessions.setdefault(session["id"], session)
            case (("GET" | "PATCH"), ["sessions", ident]):
                return self.sessions.get(ident)
            case "POST", ["runs", "batch"]:
                for run in (*(request.body.get("post") or ()), *(request.body.get("patch") or ())):
                    fields = {name: value for name, value in run.items() if value is not None}
                    self.runs.setdefault(run["id"], {}).update(fields)
                return {}
            case "POST", ["runs", "query"]:
                return {"runs": self._query(request.body), "cursors": {"next": None}}
            case "POST", ["feedback"]:
                return request.body
            case "GET", ["feedback"]:
                run_ids = request.queries["run"]
                feedback = [body for body in self.earlier_feedback if body["run_id"] in run_ids]
                return feedback[int(request.query.get("offset", 0)) :]
            case "POST", ["annotation-queues"]:
                return {"tenant_id": TENANT, "created_at": NOW, "updated_at": NOW} | request.body
            case "POST", ["api", "v1", "platform", "annotation-queues", _, "items"]:
                return {"items": request.body["items"]}
            case "DELETE", ["annotation-queues", _]:
                return {}
            case _:
                return None

    def _dataset(self) -> Body:
        return {"id": self.dataset_id, "name": self.dataset, "created_at": NOW, "modified_at": NOW}

    def _query(self, query: Body) -> list[Body]:
        """The runs of sessions, as the API returns them; with `is_root` only those without a parent."""
        runs: list[Body] = []
        for session_id in query["session"]:
            for run in self.of_project(self.sessions[session_id]["name"]):
                if query.get("is_root") and run.get("parent_run_id"):
                    continue
                returned = {"session_id": session_id, "app_path": f"/{run['id']}", "status": "success"}
                runs.append({"inputs": {}, **run, **returned})
        return runs

    def _record_and_answer(self, request: Seen) -> tuple[int, Any]:
        for end, status in self.refused.items():
            if request.path.endswith(end):
                self.requests.append(request)
                return status, {"detail": "no"}
        with self._lock:
            self.requests.append(request)
            answer = self.answer(request)
        return (404, {"detail": "not found"}) if answer is None else (200, answer)
