"""One asynchronous client per event loop: a client's connections work only in the loop that opened them."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, Callable
from types import CellType, FunctionType
from typing import Any, TypeAlias

Function: TypeAlias = Callable[..., Any]


class PerLoop:
    """Keeps one client per running loop and closes it when that loop ends.

    asyncio.run, like every orderly shutdown of a loop, closes the asynchronous generators that are still
    open in it, and a running loop closes those that are garbage-collected. Each client is owned by such a
    generator, so it is closed in its own loop, in time. What remains are loops that were closed or abandoned
    without shutting down their generators: their clients are closed as far as that is possible without a
    running loop.
    """

    def __init__(self) -> None:
        self._kept: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[None]]] = {}
        weakref.finalize(self, _close_without_loops, self._kept)  # also called when the interpreter exits

    async def client(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401  what `make` makes
        """The running loop's client; `make` builds it if there is none yet, or only a closed one."""
        loop = asyncio.get_running_loop()
        client, _ = self._kept.get(loop, (None, None))
        if client is None or client.is_closed():
            client = make()
            lifetime = _lifetime(client)
            await anext(lifetime)
            _close_without_loops(self._kept, if_closed=True)
            self._kept[loop] = client, lifetime
        return client


async def _lifetime(client: Any) -> AsyncGenerator[None]:  # noqa: ANN401
    """Yields once; closing the generator closes the client."""
    try:
        yield
    finally:
        await client.close()


def _close_without_loops(
    clients: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[None]]], *, if_closed: bool = False
) -> None:
    """Close the clients whose loops do not run, as far as that is possible without them, and forget them."""
    for loop in [*clients]:
        if loop.is_closed() or not (if_closed or loop.is_running()):
            closing = clients.pop(loop)[0].close()
            with contextlib.suppress(Exception):
                closing.send(None)
            with contextlib.suppress(Exception):
                closing.close()


def wrapped_alike(wrapper: Function, owner: object, replacement: Function) -> Function:
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
    cells = tuple(_replaced(cell, owner, replacement) for cell in wrapper.__closure__ or ())
    alike = FunctionType(wrapper.__code__, wrapper.__globals__, wrapper.__name__, wrapper.__defaults__, cells)
    alike.__kwdefaults__ = wrapper.__kwdefaults__
    alike.__dict__.update(wrapper.__dict__)
    return alike


def _replaced(cell: CellType, owner: object, replacement: Function) -> CellType:
    """The cell of a closure; a new one if it holds the method or a wrapper around it."""
    with contextlib.suppress(ValueError):  # the cell is empty
        if callable(cell.cell_contents):
            return CellType(wrapped_alike(cell.cell_contents, owner, replacement))
    return cell
