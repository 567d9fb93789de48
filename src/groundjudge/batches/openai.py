"""Batches at OpenAI, Azure, and other endpoints with OpenAI's Files and Batches API."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from groundjudge.batches.lines import URL, request_line
from groundjudge.batches.provider import Batch, without_first
from groundjudge.batches.replay import PendingRequest
from groundjudge.errors import ModelError
from groundjudge.models.failure import NO_REASON, message_of
from groundjudge.models.openai import OpenAIBatch, OpenAIModel, SyncClient
from groundjudge.models.redaction import redact

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""The statuses after which no more answers arrive."""

CLOCKS_DIFFER = 86_400.0
"""Seconds by which the provider's clock may be behind ours: the tag says which batch it is."""

READY_AFTER = 60.0
"""Seconds to wait for an uploaded file to be checked, as Azure does."""


class OpenAIBatches:
    """Batches of requests to one model.

    Args:
        model: the model, with its endpoint and key.
    """

    max_requests = 50_000  # OpenAI's limits for a batch and its file; Azure's are not lower
    max_bytes = 200_000_000

    def __init__(self, model: OpenAIModel) -> None:
        self.model = model
        self._url: Any = URL
        if ".azure.com" in model.endpoint:
            self._url = URL.removeprefix("/v1")  # see Azure's guide to batches

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys and other secret values that are sent, once there is a client that sends them."""
        return self.model.secrets

    def line(self, pending: PendingRequest) -> str:
        """Return a request as a line."""
        return request_line(pending, self._url)

    def create(self, lines: Path, tag: Mapping[str, str]) -> Batch:
        """Upload the file of requests, and create its batch in one call without retries."""
        with self.model.client() as client:
            file_id = _upload(client, lines, _file_name(tag))
            # The client's own retry of an interrupted call would create a second batch.
            batch = client.with_options(max_retries=0).batches.create(
                completion_window="24h", endpoint=self._url, input_file_id=file_id, metadata=dict(tag)
            )
            return self._describe(batch)

    def find(self, tag: Mapping[str, str], since: float, n_requests: int) -> Batch | None:  # noqa: ARG002  the protocol's
        """Find the batch whose metadata includes the tag, among those created since then."""
        with self.model.client() as client:
            for batch in client.batches.list(limit=100):  # the latest first
                if batch.created_at < since - CLOCKS_DIFFER:
                    return None
                metadata = batch.metadata or {}
                if tag.items() <= metadata.items():
                    return self._describe(batch)
        return None

    def batch(self, batch_id: str, *, cancel: bool = False) -> Batch:
        """Return the batch as it is now; a cancelled one ends within minutes."""
        with self.model.client() as client:
            if cancel:
                return self._describe(client.batches.cancel(batch_id))
            return self._describe(client.batches.retrieve(batch_id))

    def content(self, file_id: str, start: int) -> Generator[bytes, None, None]:
        """Yield a file from byte `start` on, skipping what comes before it if the endpoint ignores ranges."""
        # Start one byte early: that byte always exists. In a compressed file, ranges would be different ones.
        first = max(start - 1, 0)
        headers: dict[str, str] = {}
        if start:
            headers = {"Range": f"bytes={first}-", "Accept-Encoding": "identity"}
        with (
            self.model.client() as client,
            client.files.with_streaming_response.content(file_id, extra_headers=headers) as response,
        ):
            n_to_skip = start
            if response.headers.get("Content-Range", "").startswith(f"bytes {first}-"):
                n_to_skip = start - first
            yield from without_first(response.iter_bytes(), n_to_skip)

    def delete_uploads(self, batch: Batch, tag: Mapping[str, str]) -> None:
        """Delete the batch's file, and all others with its name: each interrupted call may have left one.

        Files that cannot be deleted expire, at OpenAI after 30 days.
        """
        # The results are already here: a file that cannot be deleted must not lose them.
        with suppress(ModelError), self.model.client() as client:
            client.files.delete(batch.upload)
        with suppress(ModelError), self.model.client() as client:
            for file in client.files.list(purpose="batch"):
                if file.filename == _file_name(tag):
                    client.files.delete(file.id)

    def _describe(self, batch: OpenAIBatch) -> Batch:
        n_done = 0
        if batch.request_counts:  # a batch that was never validated has none
            n_done = batch.request_counts.completed + batch.request_counts.failed
        has_failed = batch.status == "failed"
        message = ""
        if has_failed:
            message = redact(_reason(batch), self.secrets)
        return Batch(
            id=batch.id,
            status=batch.status,
            is_ended=batch.status in ENDED,
            n_done=n_done,
            message=message,
            is_refused=has_failed and not n_done,
            upload=batch.input_file_id,
            files=tuple(file_id for file_id in (batch.output_file_id, batch.error_file_id) if file_id),
        )


def _upload(client: SyncClient, lines: Path, name: str) -> str:
    """Upload a file of requests, and return its id once the provider has checked it."""
    client = client.with_options(timeout=600.0)  # an upload may take minutes
    with lines.open("rb") as requests:
        file = client.files.create(file=(name, requests, "application/jsonl"), purpose="batch")
    end = time.monotonic() + READY_AFTER
    while file.status not in {"processed", "error", "uploaded"} and time.monotonic() < end:
        time.sleep(1)
        file = client.files.retrieve(file.id)
    return file.id


def _file_name(tag: Mapping[str, str]) -> str:
    """Name a batch's file of requests."""
    return "-".join(("groundjudge", *tag.values())) + ".jsonl"


def _reason(batch: OpenAIBatch) -> str:
    """Say why a batch failed, each reason once: there can be one for every line."""
    reasons: dict[str, None] = {}
    if batch.errors and batch.errors.data:
        for error in batch.errors.data:
            reasons[error.message or error.code or NO_REASON] = None
    return message_of("; ".join(reasons) or NO_REASON)  # which cuts it to the length of messages
