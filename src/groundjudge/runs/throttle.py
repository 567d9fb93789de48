"""The requests of a run: so many at a time, fewer while the endpoint turns some away, and those once more."""

from __future__ import annotations

import asyncio
from copy import copy
from dataclasses import replace

from groundjudge.errors import ModelError
from groundjudge.model import Model
from groundjudge.models.backoff import wait_before
from groundjudge.reply import Reply
from groundjudge.rubric import Request
from groundjudge.runs.budget import Budget

RETRIES = 8
"""A request is sent again after a rate limit if it was sent again less often than that."""

ANSWERED = 4
"""So many answers make up for one request that was turned away."""


class Pace:
    """How many requests may be in flight. It is shared by all judges of a run.

    A request that is turned away (`rate_limited`) takes its place with it, as long as another is left. Every
    fourth answer brings a place back. So the number in flight settles where one request in five is turned
    away, whatever the endpoint's limit is, and comes back when the limit is gone.

    A request that was turned away waits without a place, and then queues for one like any other.

    Args:
        concurrency: the most requests in flight, 1 or more.
        budget: what the run may cost.
    """

    def __init__(self, concurrency: int, budget: Budget) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._removable = concurrency - 1
        self._removed = 0
        self._answered = 0
        self._budget = budget

    async def ask(self, model: Model, request: Request) -> Reply:
        """Have a request answered when it is its turn.

        Raises:
            ModelError: the model's; `rate_limited` only after several tries, or when the endpoint asks to be
                left alone for more than a minute; `budget`, when the run may ask for nothing more.
        """
        paced = replace(request, paced=True)
        retries = 0
        while True:
            try:
                reply = await self._in_turn(model, paced)
            except ModelError as error:
                retries += error.retries
                again = error.code == "rate_limited" and retries < RETRIES
                wait = wait_before(retries, error.retry_after) if again else None
                if wait is None:
                    raise _counted(error, retries) from error.__cause__
            else:
                return replace(reply, retries=reply.retries + retries) if retries else reply
            await asyncio.sleep(wait)
            retries += 1

    async def _in_turn(self, model: Model, request: Request) -> Reply:
        await self._budget.reserve()
        calls, tokens, freed = 0, 0, 0
        try:
            await self._places.acquire()
            calls = freed = 1
            reply = await model.acomplete(request)
            calls = 0 if reply.cached else 1
            tokens = reply.usage.total_tokens if reply.usage else 0
            freed += self._brought_back()
        except ModelError as error:
            if error.code == "rate_limited":
                calls = 0
                freed -= self._taken_away()
            raise
        else:
            return reply
        finally:
            self._budget.settle(calls, tokens)
            for _ in range(freed):
                self._places.release()

    def _taken_away(self) -> int:
        """How many places go with a request that was turned away: one, unless it is the last."""
        taken = 1 if self._removed < self._removable else 0
        self._removed += taken
        return taken

    def _brought_back(self) -> int:
        """How many places come back with an answer: one in four brings one."""
        if not self._removed:
            return 0
        self._answered = (self._answered + 1) % ANSWERED
        brought = 0 if self._answered else 1
        self._removed -= brought
        return brought


def _counted(error: ModelError, retries: int) -> ModelError:
    """The error with all retries; a model may raise the same one again and again."""
    counted = copy(error)
    counted.retries = retries
    return counted
