"""One asynchronous client per event loop: a client's connections work only in the loop that opened them."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple


class LoopClient(NamedTuple):
    """A client, and the generator that closes it."""

    client: Any
    lifetime: AsyncGenerator[None]


class PerLoop:
    """Keeps one client per running loop and closes it when that loop ends.

    asyncio.run, like every orderly shutdown of a loop, closes the asynchronous generators that are still
    open in it, and a running loop closes those that are garbage-collected. Each client is owned by such a
    generator, so it is closed in its own loop, in time. What remains are loops that were closed or abandoned
    without shutting down their generators: their clients are closed as far as that is possible without a
    running loop.
    """

    def __init__(self) -> None:
        self._kept: dict[asyncio.AbstractEventLoop, LoopClient] = {}
        weakref.finalize(self, _close_without_loops, self._kept)  # also called when the interpreter exits

    async def client(self, make: Callable[[], Any]) -> Any:  # noqa: ANN401  what `make` makes
        """The running loop's client; `make` builds it if there is none yet, or only a closed one."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        if kept and not kept.client.is_closed():
            return kept.client
        client = make()
        lifetime = _lifetime(client)
        await anext(lifetime)
        _close_without_loops(self._kept, if_closed=True)
        self._kept[loop] = LoopClient(client, lifetime)
        return client


async def _lifetime(client: Any) -> AsyncGenerator[None]:  # noqa: ANN401
    """Yields once; closing the generator closes the client."""
    try:
        yield
    finally:
        await client.close()


def _close_without_loops(
    clients: dict[asyncio.AbstractEventLoop, LoopClient], *, if_closed: bool = False
) -> None:
    """Close the clients whose loops do not run, as far as that is possible without them, and forget them."""
    for loop in [*clients]:
        if loop.is_closed() or not (if_closed or loop.is_running()):
            closing = clients.pop(loop).client.close()
            with contextlib.suppress(Exception):
                closing.send(None)
            with contextlib.suppress(Exception):
                closing.close()
