"""Limits how many requests of a run are in flight; rate limits lower the limit for a while."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from copy import copy
from dataclasses import replace
from functools import partial

from groundjudge.errors import ModelError
from groundjudge.models.backoff import wait_before
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.runs.budget import Budget
from groundjudge.runs.outage import Endpoint, OnOutage, endpoint_key

MAX_RETRIES = 8
"""A request rejected by a rate limit is sent again at most this often, the model's own retries included."""

REPLIES_PER_PLACE = 4
"""So many replies restore one place that a rejected request removed."""


class Throttle:
    """Limits how many requests are in flight. All judges of a run share one throttle.

    Each request in flight occupies a place. A rejected request (`rate_limited`) removes its place, unless it
    is the last one, and every fourth reply restores a place. The number of places therefore settles where
    one request in five is rejected, whatever the endpoint's limit is, and recovers when the limit is lifted.

    A rejected request waits without occupying a place and then queues for one like any other.

    Args:
        concurrency: the largest number of requests in flight, 1 or more.
        budget: the limits on calls and tokens.
        on_outage: called with a message each time a request waits for an endpoint that does not answer, and
            with "" when the waiting ends.
    """

    def __init__(self, concurrency: int, budget: Budget, on_outage: OnOutage | None = None) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._removable = concurrency - 1
        self._removed = 0
        self._replies = 0
        self._budget = budget
        self._endpoints: defaultdict[object, Endpoint] = defaultdict(partial(Endpoint, on_outage))

    def ends_run(self, error: ModelError) -> bool:
        """Whether the error says that an endpoint has never answered, and fails for all rows in flight."""
        return any(endpoint.dead is error for endpoint in self._endpoints.values())

    async def ask(self, model: Model, request: Request) -> Reply:
        """Send a request when a place is free, and again after each rate limit.

        Returns:
            The model's reply; its `retries` include those of the throttle.

        Raises:
            ModelError: the model's own error; `rate_limited` only after MAX_RETRIES retries, or if the
                endpoint asks for a wait of more than a minute; `budget`, if a limit has been reached;
                `connection` as for `Endpoint.ask`, after having waited for the endpoint in its place.
        """
        paced = replace(request, paced=True)
        retries = 0
        while True:
            try:
                reply = await self._send(model, paced)
            except ModelError as error:
                retries += error.retries
                may_retry = error.code == "rate_limited" and retries < MAX_RETRIES
                wait = wait_before(retries, error.retry_after) if may_retry else None
                if self.ends_run(error):
                    raise  # as it is: `ends_run` must recognise it again
                if wait is None:
                    raise _with_retries(error, retries) from error.__cause__
            else:
                return replace(reply, retries=reply.retries + retries) if retries else reply
            await asyncio.sleep(wait)
            retries += 1

    async def _send(self, model: Model, request: Request) -> Reply:
        await self._budget.reserve()
        calls, tokens, freed = 0, 0, 0
        try:
            await self._places.acquire()
            calls = freed = 1
            reply = await self._endpoints[endpoint_key(model)].ask(model, request)
            calls = 0 if reply.cached else 1
            tokens = reply.usage.total_tokens if reply.usage else 0
            freed += self._restore()
        except ModelError as error:
            if error.code == "rate_limited":
                calls = 0
                freed -= self._remove()
            raise
        else:
            return reply
        finally:
            self._budget.settle(calls, tokens)
            for _ in range(freed):
                self._places.release()

    def _remove(self) -> int:
        """Remove the place of a rejected request, unless it is the last. Returns how many it removed."""
        removed = 1 if self._removed < self._removable else 0
        self._removed += removed
        return removed

    def _restore(self) -> int:
        """Count a reply, and restore a place if it is the fourth. Returns how many it restored."""
        if not self._removed:
            return 0
        self._replies = (self._replies + 1) % REPLIES_PER_PLACE
        restored = 0 if self._replies else 1
        self._removed -= restored
        return restored


def _with_retries(error: ModelError, retries: int) -> ModelError:
    """A copy of the error with that count: a model may raise the same exception object several times."""
    counted = copy(error)
    counted.retries = retries
    return counted
