"""What a provider of batches offers. Each has one file, and a line in `providers.py`."""

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
"""OpenAI's, Anthropic's and our own words for why a request has no response -> the codes of a ModelError."""


@dataclass(frozen=True)
class Batch:
    """A batch as its provider describes it.

    Attributes:
        id: the provider's name for it.
        status: in the provider's words.
        is_ended: whether nothing more will be answered, so that its results can be read.
        n_done: how many requests have been answered or have failed, and so how many results there must be.
        message: why the batch as a whole has no results, or not all of them; "" if it has.
        is_refused: whether it was refused as a whole: nothing was asked, and nothing is paid.
        upload: the file of requests that was uploaded for it; "" for none.
        files: the files of results, errors included, that are there.
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
    """Takes batches of requests to one model. Every method raises ModelError with the codes of an endpoint.

    Attributes:
        max_requests: the most requests in a batch.
        max_bytes: the most bytes of a batch's lines, line breaks included.
    """

    max_requests: int
    max_bytes: int

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys and other values that it is sent, which no file shows."""
        ...

    def line(self, pending: PendingRequest) -> str:
        """A request in the provider's form: a line without a line break; its `custom_id` comes first."""
        ...

    def create(self, lines: Path, tag: Mapping[str, str]) -> Batch:
        """Create a batch; the call that creates it is made once, without retries.

        Args:
            lines: the file of its requests.
            tag: the run and the part, to find the batch again; see `find`.
        """
        ...

    def find(self, tag: Mapping[str, str], since: float, n_requests: int) -> Batch | None:
        """The batch that was created with that tag although its answer was lost; None if there is none.

        Args:
            tag: as for `create`.
            since: the earliest time at which it was created, in seconds since 1970.
            n_requests: how many requests it has.
        """
        ...

    def batch(self, batch_id: str, *, cancel: bool = False) -> Batch:
        """The batch as it is now.

        Args:
            batch_id: its name.
            cancel: ask the provider to stop it. What was answered by then is paid, and can be read.
        """
        ...

    def content(self, file_id: str, start: int) -> Generator[bytes, None, None]:
        """A file of results from byte `start` on: lines in any order, in a form that `read_result` knows.

        A provider with a form of its own can write its results in OpenAI's.
        """
        ...

    def delete_uploads(self, batch: Batch, tag: Mapping[str, str]) -> None:
        """Delete the files of requests that were uploaded for a batch; those that cannot be are left.

        Args:
            batch: the batch.
            tag: as for `create`, which can have uploaded several files if its calls were cut.
        """
        ...


def without_first(chunks: Iterable[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield the chunks without the first bytes."""
    for chunk in chunks:
        yield chunk[n_bytes:]
        n_bytes = max(n_bytes - len(chunk), 0)
