"""Batches by Anthropic's Message Batches API, called with the anthropic client (extra `anthropic`).

Its batches have no names: if creating a batch got no answer, the batch is found again by its time and size.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_core import to_json

from groundjudge.batches.provider import CODES, Batch, without_first
from groundjudge.batches.replay import Answer, PendingRequest
from groundjudge.errors import ModelError
from groundjudge.models.failure import check_key, model_error, model_errors
from groundjudge.models.returned import usage_of_anthropic
from groundjudge.models.secret_values import header_secrets, url_secrets
from groundjudge.replies.reply import Reply

if TYPE_CHECKING:  # results are read without the extra, too
    from anthropic import Anthropic
    from anthropic.types.messages import MessageBatch

DEFAULT_MAX_TOKENS = 4096
"""The reply's token limit if the judge sets none: the API requires one."""

SAME_NAMES = ("temperature", "top_p", "top_k", "metadata", "service_tier", "thinking", "output_config")
"""The parameters that have the same name in the API."""

ERROR_CODES = {
    "authentication_error": "auth",
    "billing_error": "quota",
    "invalid_request_error": "bad_request",
    "not_found_error": "not_found",
    "permission_error": "auth",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
}
"""The codes of a ModelError for Anthropic's error types; all other types are server faults."""

SLACK = 2.0
"""The seconds by which the times of two clocks may differ after correction: HTTP gives whole seconds."""


class AnthropicBatches:
    """Anthropic's batches; see `Provider`.

    Args:
        client: the client; None: create one with the key in ANTHROPIC_API_KEY.
    """

    max_requests = 100_000
    max_bytes = 64 * 2**20  # the API takes 256 MB, but a batch is one request, which is built in memory

    def __init__(self, client: Anthropic | None = None) -> None:
        if client is None:
            from anthropic import Anthropic, DefaultHttpxClient  # noqa: PLC0415  an extra

            http_client = DefaultHttpxClient(follow_redirects=False)
            client = Anthropic(http_client=http_client)
            weakref.finalize(self, http_client.close)
            # The endpoint also chooses the address of its results.
            http_client.event_hooks = {"request": [_stays_at(str(client.base_url), "anthropic")]}
        self._client = client
        self.secrets = (*header_secrets(client), *url_secrets(str(client.base_url)))
        check_key(client.api_key, "ANTHROPIC_API_KEY", "anthropic")

    def line(self, pending: PendingRequest) -> str:
        """Return a request as a line in Anthropic's format."""
        request = pending.accepted
        params = params_of(pending.model.name, request.messages, request.parameters)
        return to_json({"custom_id": pending.custom_id, "params": params}).decode()

    def create(self, lines: Path, tag: Mapping[str, str]) -> Batch:  # noqa: ARG002  the protocol's
        """Create a batch of the requests in the file; the API has no place for the tag."""
        with lines.open(encoding="utf-8", newline="\n") as file:
            requests: list[Any] = [json.loads(line) for line in file]
        with self._errors():
            # The client's own retry of an interrupted call would create a second batch.
            client = self._client.with_options(max_retries=0)
            return _describe(client.messages.batches.create(requests=requests))

    def find(self, tag: Mapping[str, str], since: float, n_requests: int) -> Batch | None:  # noqa: ARG002
        """Find the last batch of that size that was created since then, by the provider's clock."""
        with self._errors():
            response = self._client.messages.batches.with_raw_response.list(limit=100)
            # `since` is by our clock; the provider's may be an hour ahead or behind.
            ahead = parsedate_to_datetime(response.headers["date"]) - datetime.now(UTC)
            earliest = since + ahead.total_seconds() - SLACK
            for batch in response.parse():  # the newest first
                if batch.created_at.timestamp() < earliest:
                    return None
                if _n_requests(batch) == n_requests:
                    return _describe(batch)
        return None

    def batch(self, batch_id: str, *, cancel: bool = False) -> Batch:
        """Return the batch as it is now."""
        batches = self._client.messages.batches
        with self._errors():
            if cancel:
                return _describe(batches.cancel(batch_id))
            return _describe(batches.retrieve(batch_id))

    def content(self, file_id: str, start: int) -> Generator[bytes, None, None]:
        """Yield a batch's results from byte `start` on; what comes before is fetched again and skipped."""
        with self._errors():
            yield from without_first(self._result_lines(file_id), start)

    def _result_lines(self, batch_id: str) -> Iterator[bytes]:
        for result in self._client.messages.batches.results(batch_id):
            yield f"{result.to_json(indent=None)}\n".encode()

    def delete_uploads(self, batch: Batch, tag: Mapping[str, str]) -> None:
        """Nothing was uploaded: a batch is one request."""

    @contextmanager
    def _errors(self) -> Generator[None, None, None]:
        """Turn anything that the client raises into a ModelError."""
        with model_errors("anthropic", "anthropic: ", self.secrets):
            try:
                yield
            except Exception as error:
                # The client mistakes what the hook raises for a connection error.
                if isinstance(error.__cause__, ModelError):
                    raise error.__cause__ from None
                raise


def params_of(
    model: str, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of Anthropic's API: the system prompt separate, without what the API lacks."""
    limit = parameters.get("max_completion_tokens") or parameters.get("max_tokens") or DEFAULT_MAX_TOKENS
    params: dict[str, Any] = {"model": model, "max_tokens": limit}
    system_texts = [message["content"] for message in messages if message["role"] == "system"]
    system = "\n\n".join(system_texts)
    if system:
        params["system"] = system
    params["messages"] = [dict(message) for message in messages if message["role"] != "system"]
    for name in SAME_NAMES:
        value = parameters.get(name)
        if value is not None:
            params[name] = value
    stop: str | list[str] | None = parameters.get("stop")
    if isinstance(stop, str):  # OpenAI's API accepts a string, this one only a list
        stop = [stop]
    if stop:
        params["stop_sequences"] = stop
    return params


def read_anthropic_result(result: Mapping[str, Any]) -> Answer:
    """Read the answer in a line of results.

    Args:
        result: the line's value for `result`.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: it is something else.
    """
    match result:
        case {"type": "succeeded", "message": {} as message}:
            texts = [block["text"] for block in message["content"] if block["type"] == "text"]
            usage = usage_of_anthropic(message["usage"])
            return Reply("".join(texts), message.get("stop_reason"), usage, message.get("model"))
        case {"type": "errored", "error": {"error": {"type": kind, "message": message}}}:
            return model_error(ERROR_CODES.get(kind, "server"), f"{kind}: {message}", "")
        case _:
            kind = str(result["type"])
            message = f"the batch ended before this request was processed: {kind}"
            return model_error(CODES.get(kind, "failed"), message, "")


def _describe(batch: MessageBatch) -> Batch:
    files = (batch.id,) if batch.results_url else ()  # after 29 days they are gone
    return Batch(
        batch.id,
        batch.processing_status,
        is_ended=batch.processing_status == "ended",
        n_done=_n_requests(batch) - batch.request_counts.processing,
        files=files,
    )


def _n_requests(batch: MessageBatch) -> int:
    """Return the number of requests in a batch, in any state."""
    return sum(batch.request_counts.model_dump().values())


def _stays_at(url: str, model: str) -> Callable[[Any], None]:
    """Return a hook for an HTTP client that refuses requests to any origin but a URL's own.

    Args:
        url: the endpoint's URL.
        model: the name that the error is about.
    """
    endpoint = "{0.scheme}://{0.netloc}".format(urlsplit(url))

    def check(request: Any) -> None:  # noqa: ANN401  of httpx
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(str(request.url)))
        if origin != endpoint:
            message = f"{model} at {endpoint} redirects to {origin}; nothing was sent there"
            raise model_error("redirected", message, model)

    return check
