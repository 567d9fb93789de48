"""Batches at OpenAI, at Azure, and at whatever has OpenAI's Files and Batches API."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from groundjudge.batches.asking import Ask
from groundjudge.batches.lines import URL, Result, read_result, request_line
from groundjudge.batches.provider import Batch
from groundjudge.errors import ModelError
from groundjudge.models.completion import message_of
from groundjudge.models.openai import OpenAIBatch, OpenAIModel, SyncClient

T = TypeVar("T")

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
CLOCKS_DIFFER = 86_400.0
"""Seconds by which the provider's clock may be behind ours: the tag says which batch it is."""

UPLOAD_TIMEOUT = 600.0

READY_AFTER = 60.0
"""Seconds to wait for an uploaded file to be checked, as Azure does."""


class OpenAIBatches:
    """Batches of requests to one model.

    Args:
        model: the model, with its endpoint and key.
    """

    max_requests = 50_000
    max_bytes = 200_000_000

    def __init__(self, model: OpenAIModel) -> None:
        self.model = model
        # Azure has a path of its own; see its guide to batches.
        self._url: Any = URL.removeprefix("/v1") if ".azure.com" in model.endpoint else URL

    def line(self, ask: Ask) -> str:
        """A request as a line."""
        return request_line(ask, self._url)

    def upload(self, lines: Path, name: str) -> str:
        """Upload a file of lines, and wait until it is ready; returns its id."""

        def sent(client: SyncClient) -> str:
            client = client.with_options(timeout=UPLOAD_TIMEOUT)
            with lines.open("rb") as file:
                uploaded = client.files.create(file=(name, file, "application/jsonl"), purpose="batch")
            end = time.monotonic() + READY_AFTER
            while uploaded.status not in {"processed", "error", "uploaded"} and time.monotonic() < end:
                time.sleep(1)
                uploaded = client.files.retrieve(uploaded.id)
            return uploaded.id

        return self._call(sent)

    def create(self, upload: str, lines: Path, tag: Mapping[str, str]) -> Batch:  # noqa: ARG002  the protocol's
        """Create a batch of an uploaded file, with one call and no retry."""
        return _batch(
            self._call(
                lambda client: client.with_options(max_retries=0).batches.create(
                    completion_window="24h",
                    endpoint=self._url,
                    input_file_id=upload,
                    metadata=dict(tag),
                )
            )
        )

    def find(self, tag: Mapping[str, str], since: float, n_requests: int) -> Batch | None:  # noqa: ARG002  as above
        """The batch whose metadata are the tag, among those created since."""

        def found(client: SyncClient) -> Batch | None:
            for listed in client.batches.list(limit=100):  # the latest first
                if listed.created_at < since - CLOCKS_DIFFER:
                    break
                metadata = listed.metadata or {}
                if all(metadata.get(name) == value for name, value in tag.items()):
                    return _batch(listed)
            return None

        return self._call(found)

    def batch(self, batch_id: str) -> Batch:
        """The batch as it is now."""
        return _batch(self._call(lambda client: client.batches.retrieve(batch_id)))

    def results(self, batch_id: str) -> Iterator[str]:
        """The lines of the output file and of the error file."""
        theirs = self._call(lambda client: client.batches.retrieve(batch_id))
        with tempfile.TemporaryDirectory() as folder:
            for file_id in filter(None, (theirs.output_file_id, theirs.error_file_id)):
                path = Path(folder) / "results.jsonl"
                self._call(partial(_download, file_id=file_id, path=path))
                with path.open("rb") as lines:  # only "\n" ends a line
                    yield from (line.decode(errors="replace") for line in lines if line.strip())

    def read(self, line: str) -> Result:
        """Read a line of results."""
        return read_result(line, self.model.name)

    def cancel(self, batch_id: str) -> Batch:
        """Cancel a batch; it ends within minutes."""
        return _batch(self._call(lambda client: client.batches.cancel(batch_id)))

    def _call(self, call: Callable[[SyncClient], T]) -> T:
        """What a call returns; whatever it raises becomes a ModelError."""
        client = self.model.client()
        try:
            return call(client)
        except Exception as error:
            raise self.model.error_of(error) from error


def _download(client: SyncClient, file_id: str, path: Path) -> None:
    with client.files.with_streaming_response.content(file_id) as content:
        content.stream_to_file(path)


def _batch(theirs: OpenAIBatch) -> Batch:
    counts, faults = theirs.request_counts, (theirs.errors and theirs.errors.data) or ()
    return Batch(
        id=theirs.id,
        status=theirs.status,
        is_ended=theirs.status in ENDED,
        n_done=counts.completed + counts.failed if counts else 0,
        message="; ".join(message_of({"message": fault.message or fault.code or "?"}) for fault in faults),
    )


def openai_batches(model: object) -> OpenAIBatches:
    """The batches of a model.

    Raises:
        ModelError: `no_batches`: it is no model of an OpenAI-compatible endpoint.
    """
    if isinstance(model, OpenAIModel):
        return OpenAIBatches(model)
    name = getattr(model, "name", str(model))
    message = (
        f"{name} has no batches: pass a model of an endpoint with OpenAI's Files and Batches API, "
        "or langchain:anthropic:NAME"
    )
    raise ModelError("no_batches", message, name)
