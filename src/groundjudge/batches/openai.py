"""Batches at OpenAI, at Azure, and at whatever has OpenAI's Files and Batches API."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from groundjudge.batches.lines import URL, request_line
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.replay import PendingRequest
from groundjudge.errors import ModelError
from groundjudge.models.answer import message_of
from groundjudge.models.lookup import LibraryModel
from groundjudge.models.openai import OpenAIBatch, OpenAIModel, SyncClient
from groundjudge.rubric.model import Model

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
CLOCKS_DIFFER = 86_400.0
"""Seconds by which the provider's clock may be behind ours: the tag says which batch it is."""

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
        # Azure has another path; see its guide to batches.
        self._url: Any = URL.removeprefix("/v1") if ".azure.com" in model.endpoint else URL

    def line(self, pending: PendingRequest) -> str:
        """A request as a line."""
        return request_line(pending, self._url)

    def create(self, lines: Path, tag: Mapping[str, str]) -> Batch:
        """Upload the file of requests, and create a batch of it with one call and no retry."""
        with self._client() as client:
            file_id = _uploaded(client, lines, "-".join(("groundjudge", *tag.values())))
            return _batch(
                client.with_options(max_retries=0).batches.create(
                    completion_window="24h", endpoint=self._url, input_file_id=file_id, metadata=dict(tag)
                )
            )

    def find(self, tag: Mapping[str, str], since: float, n_requests: int) -> Batch | None:  # noqa: ARG002  the protocol's
        """The batch whose metadata are the tag, among those created since."""
        with self._client() as client:
            for listed in client.batches.list(limit=100):  # the latest first
                if listed.created_at < since - CLOCKS_DIFFER:
                    break
                if tag.items() <= (listed.metadata or {}).items():
                    return _batch(listed)
        return None

    def batch(self, batch_id: str, *, cancel: bool = False) -> Batch:
        """The batch as it is now; one that is cancelled ends within minutes."""
        with self._client() as client:
            return _batch((client.batches.cancel if cancel else client.batches.retrieve)(batch_id))

    def results(self, batch_id: str) -> Generator[str, None, None]:
        """The lines of the output file and of the error file."""
        with self._client() as client, tempfile.TemporaryDirectory() as folder:
            theirs = client.batches.retrieve(batch_id)
            for file_id in filter(None, (theirs.output_file_id, theirs.error_file_id)):
                path = Path(folder) / "results.jsonl"
                with client.files.with_streaming_response.content(file_id) as content:
                    content.stream_to_file(path)
                with path.open("rb") as lines:  # only "\n" ends a line
                    yield from (line.decode(errors="replace") for line in lines if line.strip())

    @contextmanager
    def _client(self) -> Generator[SyncClient, None, None]:
        """The model's client; whatever it raises becomes a ModelError."""
        try:
            yield self.model.client()
        except Exception as error:
            raise self.model.error_of(error) from error


def _uploaded(client: SyncClient, lines: Path, name: str) -> str:
    """The id of an uploaded file of requests, once the provider has checked it."""
    client = client.with_options(timeout=600.0)  # an upload may take minutes
    with lines.open("rb") as file:
        uploaded = client.files.create(file=(f"{name}.jsonl", file, "application/jsonl"), purpose="batch")
    end = time.monotonic() + READY_AFTER
    while uploaded.status not in {"processed", "error", "uploaded"} and time.monotonic() < end:
        time.sleep(1)
        uploaded = client.files.retrieve(uploaded.id)
    return uploaded.id


def _batch(theirs: OpenAIBatch) -> Batch:
    counts, faults = theirs.request_counts, (theirs.errors and theirs.errors.data) or ()
    return Batch(
        id=theirs.id,
        status=theirs.status,
        is_ended=theirs.status in ENDED,
        n_done=counts.completed + counts.failed if counts else 0,
        message="; ".join(message_of({"message": fault.message or fault.code or "?"}) for fault in faults),
    )


def batches_of(model: Model) -> Provider:
    """The provider of a model's batches.

    Raises:
        ModelError: `no_batches`: it has none.
    """
    if isinstance(model, OpenAIModel):
        return OpenAIBatches(model)
    if isinstance(model, LibraryModel) and type(model.llm).__module__.startswith("langchain_anthropic."):
        from groundjudge.batches.anthropic import AnthropicBatches  # noqa: PLC0415  an extra

        return AnthropicBatches()
    message = (
        f"{model.name} has no batches: pass a model of an endpoint with OpenAI's Files and Batches API, "
        "or langchain:anthropic:NAME"
    )
    raise ModelError("no_batches", message, model.name)
