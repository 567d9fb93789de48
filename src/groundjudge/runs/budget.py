"""The limits on the calls and tokens of a run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from groundjudge.errors import ModelError
from groundjudge.replies.reply import Reply

NO_LIMIT = sys.maxsize


class Budget:
    """Counts the calls and tokens of a run against its limits. All requests of the run share one budget.

    A call is one request to the model, however many retries it took. Replies from a cache and requests
    rejected by a rate limit do not count. Tokens are known only once the reply has arrived, so the requests
    in flight when the last token is spent can exceed `max_tokens`.

    Args:
        max_calls: 1 or more; None for no limit.
        max_tokens: prompt and completion tokens together, 1 or more; None for no limit.

    Raises:
        ValueError: a limit is below 1.
    """

    def __init__(self, max_calls: int | None, max_tokens: int | None) -> None:
        for name, limit in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if limit is not None and limit < 1:
                message = f"{name} must be 1 or more, not {limit}"
                raise ValueError(message)
        self.max_calls = max_calls or NO_LIMIT
        self.max_tokens = max_tokens or NO_LIMIT
        self.calls = self.tokens = 0
        self._left = asyncio.Semaphore(self.max_calls)

    @property
    def is_spent(self) -> bool:
        """Whether a limit has been reached."""
        return self.calls >= self.max_calls or self.tokens >= self.max_tokens

    @asynccontextmanager
    async def call(self) -> AsyncGenerator[list[Reply]]:
        """Make one call, in which the reply is appended to the list. If all calls are reserved, wait for one.

        Raises:
            ModelError: `budget`, if a limit has been reached.
        """
        await self._left.acquire()
        replies: list[Reply] = []
        n_calls = 0
        try:
            self._check()
            n_calls = 1
            yield replies
            n_calls = sum(not reply.cached for reply in replies)
        except ModelError as error:
            n_calls = 0 if error.code == "rate_limited" else n_calls
            raise
        finally:
            self.calls += n_calls
            self.tokens += sum(reply.usage.total_tokens for reply in replies if reply.usage)
            if not n_calls or self.is_spent:
                self._left.release()  # the next one that waits must find out too

    def _check(self) -> None:
        if self.calls >= self.max_calls:
            message = f"{self.calls} calls were made, and `max_calls` allows {self.max_calls}"
            raise ModelError("budget", message, "max_calls")
        if self.tokens >= self.max_tokens:
            message = f"{self.tokens} tokens were spent, and `max_tokens` allows {self.max_tokens}"
            raise ModelError("budget", message, "max_tokens")
