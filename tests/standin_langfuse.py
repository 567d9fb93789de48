"""A stand-in for the Langfuse API: real HTTP on the loopback interface; it records the scores it receives.

    with StandIn(items) as server:
        server.client().get_dataset(server.dataset).run_experiment(...)
    server.scores  # the bodies of all scores that arrived
    server.rejected  # those that Langfuse rejects

It has one dataset. Traces are received and forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self
from uuid import uuid4

from langfuse import Langfuse
from loopback import Seen, json_server, running, url_of

NOW = "2025-01-01T00:00:00.000Z"
Body = dict[str, Any]


class StandIn:
    """The server, running inside `with`; its dataset has `items` with input, expected_output and metadata."""

    dataset = "the dataset"

    def __init__(self, items: Sequence[Mapping[str, Any]] = ()) -> None:
        common = {"status": "ACTIVE", "datasetId": "d", "datasetName": self.dataset} | times()
        self.items: list[Body] = []
        for number, dataset_item in enumerate(items):
            body: Body = {
                "id": f"item {number}",
                "input": dataset_item["input"],
                "expectedOutput": dataset_item.get("expected_output"),
                "metadata": dataset_item.get("metadata"),
                "mediaReferences": [],
            }
            self.items.append({**body, **common})
        self.scores: list[Body] = []
        self.rejected: list[Body] = []
        self.unknown: list[str] = []
        self._clients: list[Langfuse] = []
        self._server, self._running = json_server(self.answer), ExitStack()
        self.url = url_of(self._server)

    def __enter__(self) -> Self:
        self._running.enter_context(running(self._server))
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.shutdown()
        self._running.close()

    def client(self) -> Langfuse:
        """A client of this server; Langfuse keeps one for each public key."""
        client = Langfuse(public_key=f"pk-{uuid4()}", secret_key="sk", base_url=self.url)  # noqa: S106
        self._clients.append(client)
        return client

    def receive(self, scores: Sequence[Body]) -> tuple[int, Any]:
        """The API's answer to scores: each needs a value of its data type."""
        bad = [score for score in scores if not has_value(score)]
        self.scores += [score for score in scores if score not in bad]
        self.rejected += bad
        if not bad:
            return 202, {"accepted": len(scores)}
        errors = [{"index": scores.index(score), "message": "Invalid score value"} for score in bad]
        return 207, {"accepted": len(scores) - len(bad), "rejected": len(bad), "errors": errors}

    def answer(self, request: Seen) -> tuple[int, Any]:
        """Status and body of the API's response to a request."""
        body = request.body
        match request.method, request.path.removeprefix("/api/public/"):
            case "GET", "projects":
                project = {"id": "p", "name": "p", "organization": {"id": "o", "name": "o"}, "metadata": {}}
                return 200, {"data": [project]}
            case "GET", name if name.startswith("v2/datasets/"):
                return 200, {"id": "d", "name": self.dataset, "projectId": "p", "metadata": None, **times()}
            case "GET", "dataset-items":
                pages = {"page": 1, "limit": 50, "totalItems": len(self.items), "totalPages": 1}
                return 200, {"data": self.items, "meta": pages}
            case "POST", "scores":
                return self.receive(body)
            case "POST", "ingestion":  # before version 5 of the client
                events = [event for event in body["batch"] if event["type"] == "score-create"]
                self.receive([event["body"] for event in events])
                successes = [{"id": event["id"], "status": 201} for event in events]
                return 207, {"successes": successes, "errors": []}
            case "POST", "dataset-run-items":
                names = ("datasetItemId", "observationId", "traceId")
                ids = {name: body.get(name) or "" for name in names}
                return 200, {"id": "i", "datasetRunId": "r", "datasetRunName": "r", **ids, **times()}
            case "POST", "otel/v1/traces":
                return 200, {}
            case _:
                self.unknown.append(f"{request.method} {request.path}")
                return 404, {}


def times() -> Body:
    """When a thing was made and changed."""
    return {"createdAt": NOW, "updatedAt": NOW}


def has_value(score: Body) -> bool:
    """Whether the value is of the score's data type, as the API's reference asks."""
    kinds: dict[str | None, Any] = {"NUMERIC": (int, float), "CATEGORICAL": str, None: (int, float, str)}
    return isinstance(score.get("value"), kinds[score.get("dataType")])
