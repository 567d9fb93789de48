"""A function as a model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from groundjudge.models.failure import error_of, model_errors, without_echo
from groundjudge.models.identity import declared_identity
from groundjudge.models.loop_thread import call_function
from groundjudge.models.returned import NoReplyError, reply_of
from groundjudge.models.secret_values import environment_keys
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import TEXT, Request, Way


async def _ask(function: Callable[..., Any], request: Request) -> Reply:
    """Call a function with a request and make a reply of what it returns, such as `"4"` or a message."""
    return reply_of(await call_function(function, request), request.rubric.verdict_keys)


@dataclass(frozen=True)
class FunctionModel:
    """A function, sync or async, as a model. Its exceptions become ModelErrors.

    An exception with an HTTP status (`status_code`) gets that status's code. One whose class name contains
    "Timeout" gets `timeout`, and one with "Connect" gets `connection`, like Python's own. Any other gets
    `failed`.

    Attributes:
        function: takes the request, returns the reply. A synchronous one runs in a separate thread.
        name: the model's name in verdicts; by default the function's own name.
        ask: calls the function for a request, and makes a reply from what it returns.
        way: how it is asked.
    """

    function: Callable[..., Any] = field(repr=False)
    name: str = ""
    ask: Callable[[Callable[..., Any], Request], Awaitable[Reply]] = field(default=_ask, repr=False)
    way: Way = field(default=TEXT, repr=False)

    def __post_init__(self) -> None:
        if not self.name:
            name: object = getattr(self.function, "__name__", None)
            if not isinstance(name, str):  # an object has none, and a mock's is another mock
                name = type(self.function).__name__
            object.__setattr__(self, "name", name)  # as a frozen dataclass sets a field

    @property
    def identity(self) -> str:
        """What distinguishes this function in a cache: its attribute `identity`, or its object's."""
        identity = declared_identity(self.function)
        return identity or declared_identity(getattr(self.function, "__self__", None))

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The keys in the environment, which no reply shows."""
        return environment_keys()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: not the keys in the environment."""
        return {"function": self.function, "name": self.name, "ask": self.ask, "way": self.way}

    async def acomplete(self, request: Request) -> Reply:
        """Call the function.

        Raises:
            ModelError: the function raised an exception, or its result cannot be read as a reply.
        """
        if "response_format" in request.added_parameters and request.rubric.structured != "always":
            # It was added for a re-ask, and a function that does not know it would fail unnoticed.
            parameters = dict(request.parameters)
            del parameters["response_format"]
            request = replace(request, parameters=parameters)
        # It shows whether a CancelledError is the function's own, or the request was cancelled.
        task = asyncio.current_task()
        with model_errors(self.name, f"the model {self.name} raised ", task=task):
            try:
                reply = await self.ask(self.function, request)
            except NoReplyError as error:
                raise error_of(error, self.name, f"the model {self.name} returned ")  # noqa: B904  it has a cause
            # A function may return what it has sent, including keys from the environment.
            return without_echo(reply, request, self.secrets)
