"""A function, sync or async, as a model."""

from __future__ import annotations

import asyncio
import inspect
import marshal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, TypeAlias

from groundjudge.errors import ModelError
from groundjudge.models.threads import in_a_thread
from groundjudge.replies.reply import Reply, reply_of
from groundjudge.rubric.rubric import Request

Answer: TypeAlias = Callable[[Request], Any] | Callable[[Request], Awaitable[Any]]
"""A function from the request to a string, a mapping, an object with `.content`, or a Reply."""


@dataclass(frozen=True)
class FunctionModel:
    """A function, sync or async, as a model. An exception that it raises becomes a ModelError.

    A TimeoutError gets the code `timeout`, a ConnectionError `connection`, any other exception `failed`.

    Attributes:
        function: from the request to the reply.
        name: the model's name in verdicts; by default the function's own name.
    """

    function: Answer
    name: str = field(default="")

    def __post_init__(self) -> None:
        if not self.name:
            default = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", default)

    @cached_property
    def endpoint(self) -> str:
        """What tells this function from others of its name, for a cache: its place, its code and its values.

        Values without a `repr` of their own tell it from those of any other process too.
        """
        function: Any = self.function
        place = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', self.name)}"
        return f"{place} {sha256(_content(function)).hexdigest()[:16]}"

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: `endpoint` too, because code and values may look different in another process."""
        return {"function": self.function, "name": self.name, "endpoint": self.endpoint}

    def complete(self, request: Request) -> Reply:
        """Call the function; an async function runs in its own event loop.

        Raises:
            ModelError: the function raised an exception, or its result cannot be read as a reply.
        """
        try:
            answer = self.function(_for_any_endpoint(request))
            return reply_of(_finished(answer) if inspect.isawaitable(answer) else answer)
        except Exception as error:
            raise _failed(self.name, error) from error

    async def acomplete(self, request: Request) -> Reply:
        """Await the function; a sync function runs in a thread.

        Raises:
            ModelError: as for `complete`.
        """
        request = _for_any_endpoint(request)
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


def _for_any_endpoint(request: Request) -> Request:
    """The request without the response format of a re-ask, whose refusal nobody would notice."""
    added = {"response_format"} & request.parameters.keys() - request.rubric.prompt.parameters.keys()
    if not added or request.rubric.structured == "always":
        return request
    kept = {name: value for name, value in request.parameters.items() if name not in added}
    return replace(request, parameters=kept)


def _content(function: Any) -> bytes:  # noqa: ANN401  anything that can be called
    """The code of a function and the values that it uses: defaults, closure, bound arguments, attributes."""
    if issubclass(type(function), partial):
        return _content(function.func) + repr((function.args, sorted(function.keywords.items()))).encode()
    code = getattr(function, "__code__", None)
    if code is None:
        return state_of(function).encode()
    closed_over: list[Any] = [cell.cell_contents for cell in function.__closure__ or ()]
    owner = state_of(getattr(function, "__self__", None))
    values = (closed_over, function.__defaults__, function.__kwdefaults__, owner)
    return marshal.dumps(code) + repr(values).encode()


def state_of(owner: object) -> str:
    """The type and the attributes of an object, which tell it from others of its type."""
    return "" if owner is None else f"{type(owner)} {getattr(owner, '__dict__', None) or owner!r}"


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  an object with an async __call__
    )


def _finished(answer: Awaitable[Any]) -> Any:  # noqa: ANN401  whatever the function returns
    """Run an awaitable to completion, in a separate thread if an event loop is running in this one."""

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
