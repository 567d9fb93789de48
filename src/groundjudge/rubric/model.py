"""A model answers a request. Anything that can do that serves: an endpoint, a function, the baseline."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request


@runtime_checkable
class Model(Protocol):
    """Whatever answers requests. It never judges.

    `complete` and `acomplete` raise ModelError when the model returned no reply, and nothing else.
    """

    @property
    def name(self) -> str:
        """The model's name, as verdicts show it."""
        ...

    def complete(self, request: Request) -> Reply:
        """Answer a request."""
        ...

    async def acomplete(self, request: Request) -> Reply:
        """Answer a request without blocking the event loop."""
        ...
