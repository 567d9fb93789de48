"""How many calls and tokens a run may cost."""

from __future__ import annotations

import asyncio
import sys

from groundjudge.errors import ModelError


class Budget:
    """What a run may still ask for. It is shared by all that ask.

    A call is a request that the model was asked to answer, however many tries that took. What came from a
    cache or was turned away by a rate limit is none. Tokens are known only when a reply is there, so the
    requests that are on their way when the last token is spent can exceed the budget.

    Args:
        max_calls: 1 or more; None for any number.
        max_tokens: prompt and completion tokens together, 1 or more; None for any number.

    Raises:
        ValueError: one of them is below 1.
    """

    def __init__(self, max_calls: int | None, max_tokens: int | None) -> None:
        for name, most in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if most is not None and most < 1:
                message = f"{name} must be 1 or more, not {most}"
                raise ValueError(message)
        self.max_calls = max_calls or sys.maxsize
        self.max_tokens = max_tokens or sys.maxsize
        self.calls = self.tokens = 0
        self._left = asyncio.Semaphore(self.max_calls)

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be asked."""
        return self.calls >= self.max_calls or self.tokens >= self.max_tokens

    async def reserve(self) -> None:
        """Set a call aside; where those on their way may use up the last ones, wait to see if they do.

        Raises:
            ModelError: `budget`, when there is none left.
        """
        await self._left.acquire()
        if self.is_spent:
            self._left.release()  # the next one must come to see it as well
            raise ModelError("budget", self._told())

    def settle(self, calls: int, tokens: int) -> None:
        """Book what a reserved call came to: 1 call, or 0."""
        self.calls += calls
        self.tokens += tokens
        if not calls or self.is_spent:
            self._left.release()

    def _told(self) -> str:
        if self.calls >= self.max_calls:
            return f"{self.calls} calls were made, and max_calls allows {self.max_calls}"
        return f"{self.tokens} tokens were spent, and max_tokens allows {self.max_tokens}"
