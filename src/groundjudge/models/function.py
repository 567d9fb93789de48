"""A function, sync or async, as a model."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from groundjudge.errors import ModelError
from groundjudge.models.threads import in_a_thread
from groundjudge.reply import Reply, reply_of
from groundjudge.rubric import Request

Answer: TypeAlias = Callable[[Request], Any] | Callable[[Request], Awaitable[Any]]
"""A function from the request to a text, a mapping, an object with `.content`, or a Reply."""


@dataclass(frozen=True)
class FunctionModel:
    """A function, sync or async, as a model. What it raises becomes a ModelError."""

    function: Answer
    name: str = field(default="")

    def __post_init__(self) -> None:
        if not self.name:
            named = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", named)

    def complete(self, request: Request) -> Reply:
        """Call the function; one that is async gets an event loop of its own."""
        try:
            answer = self.function(request)
            return reply_of(_finished(answer) if inspect.isawaitable(answer) else answer)
        except Exception as error:
            raise _failed(self.name, error) from error

    async def acomplete(self, request: Request) -> Reply:
        """Await the function; one that is not async runs in a thread."""
        try:
            if _is_async(self.function):
                answer = await self.function(request)
            else:
                answer = await asyncio.wrap_future(in_a_thread(self.function, request))
                if inspect.isawaitable(answer):
                    answer = await answer
            return reply_of(answer)
        except Exception as error:
            raise _failed(self.name, error) from error


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  an object with an async __call__
    )


def _finished(answer: Awaitable[Any]) -> Any:  # noqa: ANN401  whatever the function answers
    """Run an awaitable to its end, in a thread of its own where this one's loop is running."""

    async def wait() -> Any:  # noqa: ANN401
        return await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, wait()).result()


def _failed(name: str, error: Exception) -> ModelError:
    if isinstance(error, ModelError):
        return error
    kinds = {TimeoutError: "timeout", ConnectionError: "connection"}
    code = next((code for kind, code in kinds.items() if isinstance(error, kind)), "failed")
    return ModelError(code, f"the model {name} raised {type(error).__name__}: {error}", name)
