"""The limits on the calls and tokens of a run."""

from __future__ import annotations

import asyncio
import sys

from groundjudge.errors import ModelError


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
        self.max_calls = max_calls or sys.maxsize
        self.max_tokens = max_tokens or sys.maxsize
        self.calls = self.tokens = 0
        self._left = asyncio.Semaphore(self.max_calls)

    @property
    def is_spent(self) -> bool:
        """Whether a limit has been reached."""
        return self.calls >= self.max_calls or self.tokens >= self.max_tokens

    async def reserve(self) -> None:
        """Reserve one call. If all remaining calls are reserved, wait until one is settled.

        Raises:
            ModelError: `budget`, if a limit has been reached.
        """
        await self._left.acquire()
        if self.is_spent:
            self._left.release()  # the next waiter must find out too
            raise self._limit_reached()

    def settle(self, calls: int, tokens: int) -> None:
        """Record what a reserved call used.

        Args:
            calls: 1, or 0 if the request does not count as a call.
            tokens: prompt and completion tokens, 0 or more.
        """
        self.calls += calls
        self.tokens += tokens
        if not calls or self.is_spent:
            self._left.release()

    def _limit_reached(self) -> ModelError:
        if self.calls >= self.max_calls:
            message = f"{self.calls} calls were made, and `max_calls` allows {self.max_calls}"
            return ModelError("budget", message, "max_calls")
        message = f"{self.tokens} tokens were spent, and `max_tokens` allows {self.max_tokens}"
        return ModelError("budget", message, "max_tokens")
