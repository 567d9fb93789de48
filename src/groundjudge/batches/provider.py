"""What a provider of batches offers. OpenAI's API and Anthropic's have one file each."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from groundjudge.batches.replay import PendingRequest


@dataclass(frozen=True)
class Batch:
    """A batch as its provider describes it.

    Attributes:
        id: the provider's name for it.
        status: in the provider's words.
        is_ended: whether nothing more will be answered, so that its results can be read.
        n_done: how many requests have been answered or have failed.
        message: why the batch as a whole was refused; "" if it was not.
    """

    id: str
    status: str
    is_ended: bool
    n_done: int = 0
    message: str = ""


class Provider(Protocol):
    """Takes batches of requests to one model. Every method raises ModelError with the codes of an endpoint.

    Attributes:
        max_requests: the most requests in a batch.
        max_bytes: the most bytes of a batch's lines, line breaks included.
    """

    max_requests: int
    max_bytes: int

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

    def results(self, batch_id: str) -> Generator[str, None, None]:
        """The lines of the results of a batch that has ended, in any order, errors included."""
        ...
