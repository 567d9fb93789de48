"""The limits on the requests of a run: how many are in flight, its calls and tokens, and each row's time."""

from __future__ import annotations

import asyncio
import sys

from groundjudge.errors import ENDS_RUN, ModelError
from groundjudge.models.pacing import Pace
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request

NO_LIMIT = sys.maxsize


class EndsRunError(BaseException):
    """Carries an error that ends the run past all that makes verdicts of the errors of rows and votes."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class Limits:
    """What limits the requests of a run. All its judges share them.

    A call is one request to the model, however many retries it took. Replies from a cache and requests
    rejected by a rate limit do not count. Tokens are known only once the reply has arrived, so the requests
    in flight when the last token is spent can exceed `max_tokens`.

    Args:
        pace: how many requests are in flight, and when they are sent again.
        deadline: the time limit of one verdict in seconds, above 0; None for no limit.
        max_calls: 1 or more; None for no limit.
        max_tokens: prompt and completion tokens together, 1 or more; None for no limit.

    Raises:
        ValueError: a limit is below 1, or the deadline not above 0.
    """

    def __init__(
        self, pace: Pace, deadline: float | None, max_calls: int | None, max_tokens: int | None
    ) -> None:
        if deadline is not None and not deadline > 0:
            message = f"deadline must be more than 0 seconds, not {deadline}"
            raise ValueError(message)
        budget = {"max_calls": max_calls, "max_tokens": max_tokens}
        for name, limit in budget.items():
            if limit is not None and limit < 1:
                message = f"{name} must be 1 or more, not {limit}"
                raise ValueError(message)
        self.max_calls, self.max_tokens = (limit or NO_LIMIT for limit in budget.values())
        self._pace, self._deadline = pace, deadline
        self._calls = self._tokens = 0
        self._left = asyncio.Semaphore(self.max_calls)

    async def ask(self, started: float, model: Model, request: Request) -> Reply:
        """The model's reply, if it comes before the deadline of the row that was started then.

        Raises:
            EndsRunError: no further row can be judged.
            ModelError: as for `Pace.ask`; `timeout` after the deadline.
        """
        limit = asyncio.timeout_at(None if self._deadline is None else started + self._deadline)
        try:
            async with limit:
                return await self._counted(model, request)
        except ModelError as error:
            if error.code in ENDS_RUN or self._pace.ends_run(error):
                raise EndsRunError(error) from error
            raise
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"{model.name}: no verdict within the row's deadline of {self._deadline:g} s"
            raise ModelError("timeout", message, model.name) from error

    async def _counted(self, model: Model, request: Request) -> Reply:
        """Make one call and count it. If all calls are reserved, wait until one is free.

        Raises:
            ModelError: as for `Pace.ask`; `budget`, if a limit has been reached.
        """
        await self._left.acquire()
        n_calls = 0
        try:
            self._check_budget()
            n_calls = 1  # a call that is cancelled or fails counts too
            reply = await self._pace.ask(model, request)
            n_calls = int(not reply.cached)
            self._tokens += reply.usage.total_tokens if reply.usage else 0
        except ModelError as error:
            n_calls = 0 if error.code == "rate_limited" else n_calls
            raise
        finally:
            self._calls += n_calls
            if not n_calls or self._calls >= self.max_calls or self._tokens >= self.max_tokens:
                self._left.release()  # the next one that waits must find out too
        return reply

    def _check_budget(self) -> None:
        for spent, most, what, name in (
            (self._calls, self.max_calls, "calls were made", "max_calls"),
            (self._tokens, self.max_tokens, "tokens were spent", "max_tokens"),
        ):
            if spent >= most:
                raise ModelError("budget", f"{spent} {what}, and `{name}` allows {most}", name)
