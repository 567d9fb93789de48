"""Endpoints that do not answer: a run waits for those that have answered before, and ends for the others."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from groundjudge.errors import ModelError
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request

FIRST_PAUSE = 1.0
"""Seconds before a request is sent again; each further pause of the same request is twice as long."""

LONGEST_PAUSE = 30.0
"""Seconds. The doubling stops here, so a run continues at most that long after the endpoint is back."""

LONGEST_OUTAGE = 300.0
"""Seconds without an answer, after which rows get their `connection` errors.

A server that restarts and loads a large model needs a few minutes, and so does a network that changes. Longer
outages usually end only when somebody attends to them; the run can be resumed then.
"""

MAX_FAILURES = 3
"""A row whose connection fails this often while other rows are answered gets its `connection` error."""

SETTLING = 0.1
"""Seconds in which rows that are being read can be sent too, before a first failure counts."""

ANSWERS = frozenset({"rate_limited", "server", "bad_request", "auth", "quota", "not_found"})
"""The codes of a ModelError that show that the endpoint answered."""

OnOutage: TypeAlias = Callable[[str], object]
"""Called with a message each time a request waits for an endpoint, and with "" when the waiting ends."""

log = logging.getLogger("groundjudge")


@dataclass
class Attempts:
    """The attempts of one request: how often it was sent again, has waited, and failed by itself."""

    retries: int = 0
    waits: int = 0
    failures: int = 0


@dataclass(eq=False)
class Endpoint:
    """One endpoint during a run: whether it has ever answered, and which requests wait for it.

    Attributes:
        on_outage: told about the waiting.
        answers: how many answers have arrived; error responses count, cached replies do not.
        in_flight: how many requests are being asked, those that wait included.
        waiting: how many of them wait, because their connection failed.
        silent_since: the time of the first failure since the last answer; None if nothing failed since.
        dead: the error that ends the run: no request was ever answered, and all in flight have failed.
    """

    on_outage: OnOutage | None = None
    answers: int = 0
    in_flight: int = 0
    waiting: int = 0
    silent_since: float | None = None
    dead: ModelError | None = None
    _last_error: ModelError | None = None
    _announced: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, model: Model, request: Request) -> Reply:
        """Send a request, and send it again as long as the connection fails.

        Raises:
            ModelError: the model's own error; `connection` if the endpoint is `dead`, if it has not answered
                for LONGEST_OUTAGE, or if the request failed MAX_FAILURES times while others were answered.
        """
        attempts = Attempts()
        with self._counted(waiting=False):
            while True:
                answers = self.answers
                try:
                    reply = await model.acomplete(request)
                except ModelError as error:
                    self._note_error(error)
                    if error.code != "connection":
                        raise
                    attempts.failures += self.answers > answers
                    await self._wait(model.name, error, attempts)
                else:
                    self._note_reply(reply)
                    return replace(reply, retries=reply.retries + attempts.retries)

    async def _wait(self, name: str, error: ModelError, attempts: Attempts) -> None:
        """Wait until another attempt makes sense, or raise the error."""
        if attempts.failures == MAX_FAILURES:
            raise _counted(error, attempts)
        if not self.answers:
            await asyncio.sleep(SETTLING)
        with self._counted(waiting=True):
            if not self.answers:
                await self._first_answer(error, attempts)
            elif self.silent_since is not None:
                await self._pause(name, error, attempts)
        attempts.retries += error.retries + 1

    async def _first_answer(self, error: ModelError, attempts: Attempts) -> None:
        """Wait until any request is answered, or until all have failed."""
        self._last_error = _counted(error, attempts)
        self._end_if_all_failed()
        await self._news.wait()
        if self.dead:
            raise self.dead

    async def _pause(self, name: str, error: ModelError, attempts: Attempts) -> None:
        """Wait for an answer to another request, at most for the pause that is due."""
        silence = asyncio.get_running_loop().time() - (self.silent_since or 0)
        if silence >= LONGEST_OUTAGE:
            self._announce("")
            raise _counted(error, attempts)
        pause = min(FIRST_PAUSE * 2**attempts.waits, LONGEST_PAUSE, LONGEST_OUTAGE - silence)
        attempts.waits += 1
        if self.waiting == self.in_flight or attempts.waits > 1:
            self._announce(f"{name} does not answer: waiting, next attempt in {pause:.0f} s")
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._news.wait()

    def _note_error(self, error: ModelError) -> None:
        if error.code in ANSWERS:
            self._note_answer()
        elif error.code == "connection" and self.silent_since is None:
            self.silent_since = asyncio.get_running_loop().time()
            self._news.clear()

    def _note_reply(self, reply: Reply) -> None:
        if not reply.cached:
            self._note_answer()

    def _note_answer(self) -> None:
        self.answers += 1
        self.silent_since = None
        self._news.set()
        self._announce("")

    def _announce(self, message: str) -> None:
        """Report that requests wait, or ("") that the waiting is over; the log gets one line for each."""
        if not message and not self._announced:
            return
        if bool(message) != self._announced:
            log.warning("%s", message or "the endpoint answers again, or the waiting was given up")
        self._announced = bool(message)
        if self.on_outage:
            self.on_outage(message)

    @contextmanager
    def _counted(self, *, waiting: bool) -> Generator[None, None, None]:
        self.waiting += waiting
        self.in_flight += not waiting
        try:
            yield
        finally:
            self.waiting -= waiting
            self.in_flight -= not waiting
            self._end_if_all_failed()  # the others may all be waiting for this one

    def _end_if_all_failed(self) -> None:
        if not self.answers and self.waiting and self.waiting == self.in_flight:
            self.dead = self._last_error
            self._news.set()


def endpoint_key(model: Model) -> object:
    """What models with the same endpoint have in common: its URL if they have one, or else the model itself.

    Models that wrap another one, such as a cache, have the endpoint of that one.
    """
    inner = getattr(model, "model", None)
    if isinstance(inner, Model):
        return endpoint_key(inner)
    endpoint = str(getattr(model, "endpoint", ""))  # what is no URL only tells cached replies apart
    return endpoint if re.match(r"\w+://", endpoint) else id(model)


def _counted(error: ModelError, attempts: Attempts) -> ModelError:
    """A copy of the error with all retries: a model may raise the same exception object several times."""
    counted = copy(error)
    counted.retries = error.retries + attempts.retries
    counted.__cause__ = error.__cause__
    return counted
