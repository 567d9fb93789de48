"""A function, sync or async, as a model."""

from __future__ import annotations

import asyncio
import inspect
import marshal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, TypeAlias

from groundjudge.models.loop_thread import in_a_thread
from groundjudge.models.model_error import error_of_call
from groundjudge.replies.reply import Reply, reply_of
from groundjudge.rubric.rubric import Request

Answer: TypeAlias = Callable[[Request], Any] | Callable[[Request], Awaitable[Any]]
"""A function from the request to a string, a mapping, an object with `.content`, or a Reply."""


@dataclass(frozen=True)
class FunctionModel:
    """A function, sync or async, as a model. An exception that it raises becomes a ModelError.

    A TimeoutError gets the code `timeout`, a ConnectionError `connection`, any other exception `failed`.

    Attributes:
        function: from the request to the reply. A synchronous one runs in a thread of its own.
        name: the model's name in verdicts; by default the function's own name.
    """

    function: Answer
    name: str = field(default="")

    def __post_init__(self) -> None:
        if not self.name:
            default = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", default)

    @cached_property
    def identity(self) -> str:
        """What tells this function from others of its name, for a cache: its place, its code and its values.

        Values without a `repr` of their own tell it from those of any other process too.
        """
        function: Any = self.function
        place = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', self.name)}"
        return f"{place} {sha256(_content(function)).hexdigest()[:16]}"

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: `identity` too, because code and values may look different in another process."""
        return {"function": self.function, "name": self.name, "identity": self.identity}

    async def acomplete(self, request: Request) -> Reply:
        """Call the function.

        Raises:
            ModelError: the function raised an exception, or its result cannot be read as a reply.
        """
        try:
            return reply_of(await called(self.function, _for_any_endpoint(request)))
        except Exception as error:
            raise error_of_call(error, self.name, f"the model {self.name} raised") from error


async def called(function: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  whatever it returns
    """What a function returns: an async one is awaited, a sync one runs in a thread."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  an object with an async __call__
    ):
        answer = function(*args, **kwargs)
    else:
        answer = await asyncio.wrap_future(in_a_thread(function, *args, **kwargs))
    return await answer if inspect.isawaitable(answer) else answer


def _for_any_endpoint(request: Request) -> Request:
    """The request without the response format of a re-ask, whose refusal nobody would notice."""
    if "response_format" not in request.added or request.rubric.structured == "always":
        return request
    kept = {name: value for name, value in request.parameters.items() if name != "response_format"}
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
