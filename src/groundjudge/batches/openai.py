"""Batches at OpenAI, at Azure, and at whatever has OpenAI's Files and Batches API."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from groundjudge.batches.lines import URL, request_line
from groundjudge.batches.provider import Batch, Provider, without_first
from groundjudge.batches.replay import PendingRequest
from groundjudge.errors import ModelError
from groundjudge.models.answer import NO_REASON, message_of, model_error
from groundjudge.models.lookup import LibraryModel
from groundjudge.models.openai import OpenAIBatch, OpenAIModel, SyncClient
from groundjudge.models.redaction import redact
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
        self.model, self.secrets = model, model.secrets
        # Azure has another path; see its guide to batches.
        self._url: Any = URL.removeprefix("/v1") if ".azure.com" in model.endpoint else URL

    def line(self, pending: PendingRequest) -> str:
        """A request as a line."""
        return request_line(pending, self._url)

    def create(self, lines: Path, tag: Mapping[str, str]) -> Batch:
        """Upload the file of requests, and create a batch of it with one call and no retry."""
        with self._client() as client:
            file_id = _uploaded(client, lines, _file_name(tag))
            return self._batch(
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
                    return self._batch(listed)
        return None

    def batch(self, batch_id: str, *, cancel: bool = False) -> Batch:
        """The batch as it is now; one that is cancelled ends within minutes."""
        with self._client() as client:
            return self._batch((client.batches.cancel if cancel else client.batches.retrieve)(batch_id))

    def content(self, file_id: str, start: int) -> Generator[bytes, None, None]:
        """A file from byte `start` on. If the endpoint does not take ranges, what is before it is skipped."""
        # From one byte before it, which is there whatever was cut. Ranges of a compressed file are others.
        first = max(start - 1, 0)
        headers = {"Range": f"bytes={first}-", "Accept-Encoding": "identity"} if start else {}
        with (
            self._client() as client,
            client.files.with_streaming_response.content(file_id, extra_headers=headers) as response,
        ):
            is_part = response.headers.get("Content-Range", "").startswith(f"bytes {first}-")
            yield from without_first(response.iter_bytes(), start - first if is_part else start)

    def delete_uploads(self, batch: Batch, tag: Mapping[str, str]) -> None:
        """Delete the file of the batch, and the others of its name: each call that was cut can have left one.

        Those that cannot be deleted expire, at OpenAI after 30 days.
        """
        with suppress(ModelError), self._client() as client:
            client.files.delete(batch.upload)
        with suppress(ModelError), self._client() as client:
            for file in client.files.list(purpose="batch"):
                if file.filename == _file_name(tag):
                    client.files.delete(file.id)

    def _batch(self, theirs: OpenAIBatch) -> Batch:
        counts, has_failed = theirs.request_counts, theirs.status == "failed"
        n_done = counts.completed + counts.failed if counts else 0
        return Batch(
            id=theirs.id,
            status=theirs.status,
            is_ended=theirs.status in ENDED,
            n_done=n_done,
            message=redact(_reason(theirs), self.secrets) if has_failed else "",
            is_refused=has_failed and not n_done,
            upload=theirs.input_file_id,
            files=tuple(each for each in (theirs.output_file_id, theirs.error_file_id) if each),
        )

    @contextmanager
    def _client(self) -> Generator[SyncClient, None, None]:
        """The model's client; whatever it raises becomes a ModelError."""
        with self.model.errors():
            yield self.model.client()


def _uploaded(client: SyncClient, lines: Path, name: str) -> str:
    """The id of an uploaded file of requests, once the provider has checked it."""
    client = client.with_options(timeout=600.0)  # an upload may take minutes
    with lines.open("rb") as file:
        uploaded = client.files.create(file=(name, file, "application/jsonl"), purpose="batch")
    end = time.monotonic() + READY_AFTER
    while uploaded.status not in {"processed", "error", "uploaded"} and time.monotonic() < end:
        time.sleep(1)
        uploaded = client.files.retrieve(uploaded.id)
    return uploaded.id


def _file_name(tag: Mapping[str, str]) -> str:
    """The name of the file of requests of a batch."""
    return "-".join(("groundjudge", *tag.values())) + ".jsonl"


def _reason(theirs: OpenAIBatch) -> str:
    """Why a batch failed. Each reason is said once: there can be one for every line."""
    faults = (theirs.errors and theirs.errors.data) or ()
    reasons = dict.fromkeys(fault.message or fault.code or NO_REASON for fault in faults)
    return message_of({"message": "; ".join(reasons) or NO_REASON})


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
    raise model_error("no_batches", message, model.name)
