"""One asynchronous client per event loop: a client's connections work only in the loop that opened them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from types import CellType, FunctionType
from typing import Any


class PerLoop:
    """Keeps one client per running loop and closes it when that loop ends.

    asyncio.run, like every orderly shutdown of a loop, closes the asynchronous generators that are still
    open in it, and a running loop closes those that are garbage-collected. Each client is owned by such a
    generator, so it is closed in its own loop, in time.
    """

    def __init__(self) -> None:
        self._kept: dict[asyncio.AbstractEventLoop, AsyncGenerator[Any]] = {}

    async def client(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401  what `make` makes
        """The running loop's client; `make` builds it if there is none yet."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        client = kept and await anext(kept, None)
        if client is None:
            for ended in [each for each in [*self._kept] if each.is_closed()]:
                self._kept.pop(ended, None)
            self._kept[loop] = _lifetime(make())
            client = await anext(self._kept[loop])
        return client


async def _lifetime(client: Any) -> AsyncGenerator[Any]:  # noqa: ANN401
    """Yields the client each time it is asked; closing the generator closes the client."""
    try:
        while True:
            yield client
    finally:
        await client.close()


def wrapped_alike(wrapper: Any, owner: object, replacement: Any) -> Any:  # noqa: ANN401  functions of any kind
    """The wrapper with `replacement` in place of the method of `owner` that it calls.

    Tracers such as LangSmith's `wrap_openai` replace a method of one client by a function that calls the
    method. A copy of the client for another loop needs the same function around the copy's method.

    Args:
        wrapper: what is in place of the method: the method itself, or a function that calls it, through
            as many further functions as there are.
        owner: the object that the method belongs to.
        replacement: the same method of another object.

    Returns:
        The wrapper itself if it does not call the method, as a mock does not.
    """
    if getattr(wrapper, "__self__", None) is owner:
        return replacement
    if not isinstance(wrapper, FunctionType):
        return wrapper
    cells = [*(wrapper.__closure__ or ())]
    for place, cell in enumerate(cells):
        with contextlib.suppress(ValueError):  # the cell is empty
            if callable(cell.cell_contents):  # any other cell may be shared with what changes its content
                cells[place] = CellType(wrapped_alike(cell.cell_contents, owner, replacement))
    code, names = wrapper.__code__, wrapper.__globals__
    alike = FunctionType(code, names, wrapper.__name__, wrapper.__defaults__, tuple(cells))
    alike.__kwdefaults__ = wrapper.__kwdefaults__
    alike.__dict__.update(wrapper.__dict__)
    return alike
