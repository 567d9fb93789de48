"""The interface of a batch provider. Each provider has one file, and a line in `providers.py`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from groundjudge.batches.replay import PendingRequest

CODES = {
    "batch_expired": "expired",
    "batch_cancelled": "cancelled",
    "request_timeout": "timeout",
    "expired": "expired",
    "canceled": "cancelled",
    "unanswered": "unanswered",
}
"""OpenAI's, Anthropic's and our own words for a missing response -> the codes of a ModelError."""


@dataclass(frozen=True)
class Batch:
    """A batch as described by its provider.

    Attributes:
        id: the provider's name for it.
        status: in the provider's words.
        is_ended: whether no more answers will arrive, so that its results can be read.
        n_done: how many requests have been answered or have failed, which is the expected number of results.
        message: why the batch as a whole has no results, or only some; "" if it has all.
        is_refused: whether it was refused as a whole: no request was processed, and nothing is charged.
        upload: the file of requests that was uploaded for it; "" for none.
        files: the available files of results, including errors.
    """

    id: str
    status: str
    is_ended: bool
    n_done: int = 0
    message: str = ""
    is_refused: bool = False
    upload: str = ""
    files: tuple[str, ...] = ()


class Provider(Protocol):
    """Runs batches of requests to one model. Its methods raise ModelError with the codes of an endpoint.

    Attributes:
        max_requests: the most requests in a batch.
        max_bytes: the most bytes of a batch's lines, line breaks included.
    """

    max_requests: int
    max_bytes: int

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys and other secret values sent to it, which no file may show."""
        ...

    def line(self, pending: PendingRequest) -> str:
        """Return a request in the provider's format: a line without a line break, its `custom_id` first."""
        ...

    def create(self, lines: Path, tag: Mapping[str, str]) -> Batch:
        """Create a batch, with one call and no retries.

        Args:
            lines: the file of its requests.
            tag: the run and the part, to find the batch again; see `find`.
        """
        ...

    def find(self, tag: Mapping[str, str], since: float, n_requests: int) -> Batch | None:
        """Find the batch that was created with this tag although the answer was lost; None if none was.

        Args:
            tag: as for `create`.
            since: the earliest time at which it was created, in seconds since 1970.
            n_requests: how many requests it has.
        """
        ...

    def batch(self, batch_id: str, *, cancel: bool = False) -> Batch:
        """Return the batch as it is now.

        Args:
            batch_id: its name.
            cancel: ask the provider to stop it. Requests answered by then are paid for, and can be read.
        """
        ...

    def content(self, file_id: str, start: int) -> Generator[bytes, None, None]:
        """Yield a file of results from byte `start` on: lines in any order, in any format of `read_result`.

        A provider with its own format can convert its results to OpenAI's.
        """
        ...

    def delete_uploads(self, batch: Batch, tag: Mapping[str, str]) -> None:
        """Delete the request files uploaded for a batch; leave those that cannot be deleted.

        Args:
            batch: the batch.
            tag: as for `create`, which may have uploaded several files if its calls were interrupted.
        """
        ...


def without_first(chunks: Iterable[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield the chunks without the first bytes."""
    for chunk in chunks:
        yield chunk[n_bytes:]
        n_bytes = max(n_bytes - len(chunk), 0)
