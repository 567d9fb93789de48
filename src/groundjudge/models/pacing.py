"""When to send a request again: after a failure, a rate limit or an outage. No network access here.

A single request is sent again by its model, after `wait_before`. In a run all requests share a `Pace`: a
rate limit slows all of them down, and they wait for an endpoint that does not answer.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from groundjudge.errors import ModelError
from groundjudge.models.failure import ROW_REMEDIES, copy_of, model_error
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model, innermost
from groundjudge.rubric.rubric import Request

TRANSIENT = ("timeout", "connection", "rate_limited", "server")
"""The error codes after which a retry may succeed."""

FIRST_WAIT = 0.5  # this and MAX_BACKOFF as in the openai client, so that `client=` waits as long
"""Seconds to wait before the first retry; each further retry waits twice as long."""

MAX_BACKOFF = 8.0
"""Seconds. The doubling stops here."""

MAX_WAIT = 60.0
"""Seconds. If an endpoint asks for a longer wait, there is no retry."""

MAX_REJECTIONS = 8  # the usual waits add up to 40 to 50 s, and many limits are per minute
"""A request of a run is sent again at most this often after rate limits, the model's own retries included."""

REPLIES_PER_PLACE = 4
"""How many replies restore one place that a rejected request removed."""

FIRST_PAUSE = 1.0
"""Seconds before the first retry in an outage; each further pause is as long as the outage until then."""

MAX_PAUSE = 30.0
"""Seconds. The doubling stops here, so a run continues at most this long after the endpoint is back."""

MAX_OUTAGE = 300.0
"""Seconds without an answer after which rows get their `connection` errors.

A server that restarts and loads a large model needs a few minutes, and so does a network that changes. Longer
outages usually end only when a person attends to them; the run can be resumed then.
"""

MAX_FAILURES = 3
"""A row whose connection fails this often while the endpoint answers others gets its `connection` error."""

REMEDY_OF_ROW = "the logs of the endpoint or of a proxy before it may say why; often the row is too long"
"""What the user can do about such a row."""

SETTLING = 0.1
"""Seconds in which rows that are being read can be sent too, before a first failure counts."""

ANSWERS = frozenset(
    {"reply", "rate_limited", "server", "bad_request", "auth", "quota", "not_found", "redirected"}
    | ROW_REMEDIES.keys()
)
"""What shows that the endpoint answered: a reply, or one of these codes of a ModelError."""

OnOutage: TypeAlias = Callable[[str], object]
"""Called with a message each time a request waits for an endpoint, and with "" when the waiting ends."""

log = logging.getLogger("groundjudge")


def wait_before(retry: int, retry_after: float | None) -> float:
    """Return the seconds to wait before a retry.

    The wait is never shorter than the endpoint asks for. Up to a quarter is added at random, so that requests
    that were rejected together don't all come back together.

    Args:
        retry: the number of retries before this one, from 0.
        retry_after: the seconds that the endpoint asks to wait, or None if it does not ask.
    """
    wait = retry_after
    if not wait:  # an endpoint that asks for no wait gets the usual one
        wait = min(FIRST_WAIT * 2**retry, MAX_BACKOFF)
    return random.uniform(wait, 1.25 * wait)  # noqa: S311  not a secret


async def wait_or_raise(error: ModelError, retries: int, most: int, *, paced: bool = False) -> None:
    """Wait before sending a request again, or raise the error: this decides on every retry.

    Args:
        error: what the request ended in.
        retries: how often it was sent again.
        most: how often it may be sent again after a transient error.
        paced: whether the caller waits after a rate limit, so that nothing else has to.
    """
    if error.code not in TRANSIENT or retries >= most:
        raise error
    if paced and error.code == "rate_limited":
        raise error
    if error.retry_after is not None and error.retry_after > MAX_WAIT:
        raise error
    await asyncio.sleep(wait_before(retries, error.retry_after))


class Pace:
    """Limit how many requests of a run are in flight, and send them again. All judges of a run share it.

    Each request in flight occupies a place. A rejected request (`rate_limited`) removes its place, unless it
    is the last one, and every fourth reply that is not cached restores a place. The number of places
    therefore settles where one request in five is rejected, regardless of the endpoint's limit, and recovers
    when the limit is lifted.

    A request that waits occupies no place and then queues for one like any other.

    Args:
        concurrency: the largest number of requests in flight, 1 or more.
        on_outage: called with a message each time a request waits for an endpoint that does not answer, and
            with "" when the waiting ends.
    """

    def __init__(self, concurrency: int, on_outage: OnOutage | None = None) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._most_removed = concurrency - 1
        self._n_removed = 0
        self._n_replies = 0  # while a place was removed
        self._endpoints: defaultdict[object, Endpoint] = defaultdict(partial(Endpoint, on_outage))

    def ends_run(self, error: ModelError) -> bool:
        """Whether the error says that an endpoint has never answered and fails for all rows in flight."""
        return any(endpoint.dead is error for endpoint in self._endpoints.values())

    async def ask(self, model: Model, request: Request) -> Reply:
        """Send a request when a place is free, and again after each rate limit and in an outage.

        A request whose connection fails is sent again until it is answered, or until it is clearly the cause:
        it keeps failing while the endpoint answers others.

        Returns:
            The model's reply; its `retries` include those of the run.

        Raises:
            ModelError: the model's own error; `rate_limited` only after MAX_REJECTIONS retries, or if the
                endpoint asks for a wait of more than a minute; `connection` if the endpoint has not answered
                for MAX_OUTAGE, if this request failed MAX_FAILURES times while others were answered, or
                if it `ends_run`.
        """
        endpoint = self._endpoints[_endpoint_key(model)]
        request = replace(request, paced=True)
        retries = 0
        n_rejections = 0
        n_failures = 0
        with endpoint.asking():
            while True:
                n_answers = endpoint.answers
                try:
                    reply = await self._send(model, request)
                except ModelError as raised:
                    error = copy_of(raised)  # a model may raise the same object several times
                    error.retries += retries
                else:
                    endpoint.note(None if reply.cached else "reply")
                    return replace(reply, retries=reply.retries + retries) if retries else reply
                endpoint.note(error.code)
                if error.code == "connection":
                    if endpoint.answers > n_answers:
                        n_failures += 1  # the endpoint was up
                    await endpoint.wait(model.name, error, n_failures)
                else:
                    # The model's retries count; in a run only rate limits remain to be retried here.
                    n_rejections += error.retries - retries
                    most = MAX_REJECTIONS if error.code == "rate_limited" else 0
                    await wait_or_raise(error, n_rejections, most)
                    n_rejections += 1
                retries = error.retries + 1

    async def _send(self, model: Model, request: Request) -> Reply:
        """Send a request once one of the places for requests in flight is free.

        After a rate limit the place is removed; after some replies a removed one is restored.
        """
        await self._places.acquire()
        n_free_places = 1
        try:
            reply = await model.acomplete(request)
            if self._n_removed and not reply.cached:  # a cached reply says nothing about the endpoint
                self._n_replies += 1
                if self._n_replies % REPLIES_PER_PLACE == 0:
                    self._n_removed -= 1
                    n_free_places = 2
        except ModelError as error:
            if error.code == "rate_limited" and self._n_removed < self._most_removed:
                self._n_removed += 1
                n_free_places = 0
            raise
        finally:
            for _ in range(n_free_places):
                self._places.release()
        return reply


@dataclass(eq=False)
class Endpoint:
    """One endpoint during a run: whether it has ever answered, and which requests wait for it.

    Attributes:
        on_outage: called about the waiting.
        answers: how many answers have arrived; error responses count, cached replies do not.
        in_flight: how many requests are in flight, those that wait included.
        waiting: how many of them wait, because their connection failed.
        silent_since: the time of the first failure since the last answer; None if nothing has failed since.
        dead: the error that ends the run: no request was ever answered, and all in flight have failed.
    """

    on_outage: OnOutage | None = None
    answers: int = 0
    in_flight: int = 0
    waiting: int = 0
    silent_since: float | None = None
    dead: ModelError | None = None
    _last_error: ModelError | None = None
    _is_announced: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def asking(self) -> Generator[None]:
        """Count a request as one in flight."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._check_whether_dead()  # all remaining ones may be waiting

    def _check_whether_dead(self) -> None:
        """Note the error that ends the run if no request was ever answered and all in flight have failed."""
        if not self.answers and self.waiting and self.waiting == self.in_flight:
            self.dead = self._last_error
            self._news.set()

    def note(self, event: str | None) -> None:
        """Note a "reply" or the code of an error: an answer of the endpoint, its silence, or neither."""
        if event in ANSWERS:
            self.answers += 1
            self.silent_since = None
            self._news.set()
            self._announce("")
        elif event == "connection" and self.silent_since is None:
            self.silent_since = asyncio.get_running_loop().time()
            self._news.clear()

    async def wait(self, model_name: str, error: ModelError, failures: int) -> None:
        """Wait, after a connection failed, until another attempt makes sense.

        Any answer ends the waiting. If there never was one, so does the last failure of those in flight;
        otherwise the end of a pause, which is as long as the silence before it.

        Args:
            model_name: the model that was asked.
            error: how the connection failed.
            failures: how often the request has failed while the endpoint answered others.

        Raises:
            ModelError: as for `Pace.ask`.
        """
        if failures == MAX_FAILURES:
            raise _error_of_row(error)
        if not self.answers:
            await asyncio.sleep(SETTLING)
        self._last_error = error
        self.waiting += 1
        self._check_whether_dead()
        try:
            async with asyncio.timeout(self._pause(model_name, error)):
                await self._news.wait()
        except TimeoutError:
            pass  # another attempt makes sense
        finally:
            self.waiting -= 1
        if self.dead:
            raise self.dead

    def _pause(self, model_name: str, error: ModelError) -> float | None:
        """Return the seconds until the next attempt; None if there was no answer yet."""
        if not self.answers or self.silent_since is None:
            return None
        silence = asyncio.get_running_loop().time() - self.silent_since
        remaining = MAX_OUTAGE - silence
        if remaining <= 0:
            self._announce("")
            raise error
        pause = min(max(silence, FIRST_PAUSE), MAX_PAUSE, remaining)
        # A single lost connection while others work is not worth a message.
        if self.waiting == self.in_flight or silence > FIRST_PAUSE:
            message = f"waiting; next attempt in {pause:.0f} s, giving up after {remaining:.0f} s"
            self._announce(f"{model_name} does not answer: {message}")
        return pause

    def _announce(self, message: str) -> None:
        """Report that requests wait, or ("") that the waiting is over; the log gets one line for each."""
        if message and not self._is_announced:
            log.warning("%s", message)
        elif self._is_announced and not message:
            log.warning("the endpoint answers again, or the waiting was given up")
        if self.on_outage and (message or self._is_announced):
            self.on_outage(message)
        self._is_announced = message != ""


def _endpoint_key(model: Model) -> object:
    """Return a key for the models at one endpoint: its URL if they have one, or else the model's id."""
    model = innermost(model)
    endpoint = getattr(model, "endpoint", None)
    # The identity of a model without a URL only separates its cached replies from others.
    return endpoint if isinstance(endpoint, str) and "://" in endpoint else id(model)


def _error_of_row(error: ModelError) -> ModelError:
    """Return the error of a row that itself makes the connection fail."""
    reason = error.message.removesuffix(f" ({error.remedy})")  # which is about the endpoint
    message = (
        "the endpoint answers other requests, so something in this row seems to make it, or a "
        f"firewall, cut the connection: {reason} ({REMEDY_OF_ROW})"
    )
    error_of_row = model_error(error.code, message, error.subject)
    error_of_row.__cause__ = error.__cause__
    error_of_row.retries = error.retries
    return error_of_row
