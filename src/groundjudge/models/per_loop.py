"""One asynchronous client per event loop: a client's connections work only in the loop that opened them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping


class Client(Protocol):
    """A client that has to be closed when its loop ends."""

    def is_closed(self) -> bool:
        """Whether the client has been closed."""
        ...

    def close(self) -> Coroutine[object, object, None]:
        """Close the client's connections."""
        ...


C = TypeVar("C", bound=Client)


@dataclass(frozen=True)
class LoopClient(Generic[C]):
    """A client, the generator that closes it, and the id of the thread in which its loop ran."""

    client: C
    lifetime: AsyncGenerator[None, None]
    thread: int = field(default_factory=threading.get_ident)


class PerLoop(Generic[C]):
    """Keeps one client per running loop and closes it when that loop ends.

    asyncio.run, like every orderly shutdown of a loop, closes the asynchronous generators that are still
    open in it, and a running loop closes those that are garbage-collected. Each client is owned by such a
    generator, so it is closed in its own loop, in time. What remains are loops that were closed or abandoned
    without shutting down their generators: their clients are closed as far as that is possible without a
    running loop.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[asyncio.AbstractEventLoop, LoopClient[C]] = {}
        weakref.finalize(self, _close_all, self._kept)  # also called when the interpreter exits

    async def client(self, make: Callable[[], C]) -> C:
        """The running loop's client; `make` builds it if there is none yet, or only a closed one."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        if kept and not kept.client.is_closed():
            return kept.client
        client = make()
        lifetime = _lifetime(client)
        await anext(lifetime)
        with self._lock:
            for ended in [loop for loop in self._kept if loop.is_closed()]:
                _close_without_loop(self._kept.pop(ended).client)
            self._kept[loop] = LoopClient(client, lifetime)
        return client


async def _lifetime(client: Client) -> AsyncGenerator[None, None]:
    """Yields once; closing the generator closes the client."""
    try:
        yield
    finally:
        await client.close()


async def _end(lifetime: AsyncGenerator[None, None]) -> None:
    await lifetime.aclose()


def _close_all(clients: Mapping[asyncio.AbstractEventLoop, LoopClient[C]]) -> None:
    for loop, kept in clients.items():
        if loop.is_closed():
            _close_without_loop(kept.client)
        elif not loop.is_running() and kept.thread == threading.get_ident():
            ending = _end(kept.lifetime)
            with contextlib.suppress(Exception):  # another loop may be running in this thread
                loop.run_until_complete(ending)
            ending.close()


def _close_without_loop(client: Client) -> None:
    """Close a client whose loop is already closed, as far as that is possible without a loop."""
    closing = client.close()
    with contextlib.suppress(Exception):
        closing.send(None)
    with contextlib.suppress(Exception):
        closing.close()
