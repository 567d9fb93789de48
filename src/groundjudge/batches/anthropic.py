"""Batches by Anthropic's Message Batches API, called with the anthropic client (extra `anthropic`).

Batches bear no names there: a batch whose creation was not answered is found again by its time and size.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any

import anthropic
from anthropic.types.messages import MessageBatch
from pydantic_core import to_json

from groundjudge.batches.provider import Batch, without_first
from groundjudge.batches.replay import PendingRequest
from groundjudge.models.answer import check_key, model_errors
from groundjudge.models.redaction import secrets_of

DEFAULT_MAX_TOKENS = 4096
"""The room for a reply where the judge sets none: the API requires a limit."""

SAME = ("temperature", "top_p", "top_k", "metadata", "service_tier", "thinking", "output_config")
"""The parameters that the API takes under the same name."""

SLACK = 2.0
"""The seconds by which the times of two clocks may differ after correction: HTTP tells whole seconds."""


class AnthropicBatches:
    """Anthropic's batches; see `Provider`.

    Args:
        client: the client; None: one with the key in ANTHROPIC_API_KEY.
    """

    max_requests = 100_000
    max_bytes = 64 * 2**20  # the API takes 256 MB, but a batch is one request, which is built in memory

    def __init__(self, client: anthropic.Anthropic | None = None) -> None:
        self._client = client or anthropic.Anthropic()
        self.secrets = secrets_of(self._client)
        self._errors = partial(model_errors, "anthropic", "anthropic: ", self.secrets)
        check_key(self._client.api_key, "ANTHROPIC_API_KEY", "anthropic")

    def line(self, pending: PendingRequest) -> str:
        """A request in Anthropic's form."""
        params = params_of(pending.model.name, pending.request.messages, pending.request.parameters)
        return to_json({"custom_id": pending.custom_id, "params": params}).decode()

    def create(self, lines: Path, tag: Mapping[str, str]) -> Batch:  # noqa: ARG002  the protocol's
        """Create a batch of the requests in the file; there is no place for the tag."""
        with lines.open(encoding="utf-8", newline="\n") as file:
            requests: list[Any] = [*map(json.loads, file)]
        with self._errors():
            client = self._client.with_options(max_retries=0)
            return _batch(client.messages.batches.create(requests=requests))

    def find(self, tag: Mapping[str, str], since: float, n_requests: int) -> Batch | None:  # noqa: ARG002
        """The last batch of so many requests that was created since then, by the clock of the provider."""
        with self._errors():
            raw = self._client.messages.batches.with_raw_response.list(limit=100)
            date = parsedate_to_datetime(raw.headers["date"]) if "date" in raw.headers else datetime.now(UTC)
            earliest = since + date.timestamp() - datetime.now(UTC).timestamp() - SLACK
            for batch in raw.parse():  # the newest first
                if batch.created_at.timestamp() < earliest:
                    return None
                if _size(batch) == n_requests:
                    return _batch(batch)
        return None

    def batch(self, batch_id: str, *, cancel: bool = False) -> Batch:
        """The batch as it is now."""
        batches = self._client.messages.batches
        with self._errors():
            return _batch((batches.cancel if cancel else batches.retrieve)(batch_id))

    def content(self, file_id: str, start: int) -> Generator[bytes, None, None]:
        """The results of a batch from byte `start` on; what is before it is fetched again and skipped."""
        with self._errors():
            results = self._client.messages.batches.results(file_id)
            lines = (f"{result.to_json(indent=None)}\n".encode() for result in results)
            yield from without_first(lines, start)

    def delete_uploads(self, batch: Batch, tag: Mapping[str, str]) -> None:
        """Nothing was uploaded: a batch is one request."""


def params_of(
    model: str, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters of Anthropic's API: the system prompt apart, and nothing that the API does not have."""
    limit = parameters.get("max_completion_tokens") or parameters.get("max_tokens") or DEFAULT_MAX_TOKENS
    system = "\n\n".join(each["content"] for each in messages if each["role"] == "system")
    stop: str | list[str] = parameters.get("stop") or []
    return {
        "model": model,
        "max_tokens": limit,
        **({"system": system} if system else {}),
        "messages": [dict(each) for each in messages if each["role"] != "system"],
        **{name: parameters[name] for name in SAME if parameters.get(name) is not None},
        **({"stop_sequences": [stop] if isinstance(stop, str) else stop} if stop else {}),
    }


def _batch(batch: MessageBatch) -> Batch:
    return Batch(
        batch.id,
        batch.processing_status,
        is_ended=batch.processing_status == "ended",
        n_done=_size(batch) - batch.request_counts.processing,
        files=(batch.id,) if batch.results_url else (),  # after 29 days they are gone
    )


def _size(batch: MessageBatch) -> int:
    """How many requests a batch has."""
    return sum(batch.request_counts.model_dump().values())
