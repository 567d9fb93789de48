"""One asynchronous client for each event loop: its connections work in no other loop than their own."""

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
    """What can be kept for a loop: anything that has to be closed in the end."""

    def is_closed(self) -> bool:
        """Whether it has been closed."""
        ...

    def close(self) -> Coroutine[object, object, None]:
        """Give its connections back."""
        ...


C = TypeVar("C", bound=Client)


@dataclass(frozen=True)
class Kept(Generic[C]):
    """A client, the generator that closes it, and the thread in which its loop ran."""

    client: C
    life: AsyncGenerator[None, None]
    thread: int = field(default_factory=threading.get_ident)


class PerLoop(Generic[C]):
    """Keeps a client for each running loop and closes it when that loop ends.

    asyncio.run, like every orderly end of a loop, closes the asynchronous generators that are still open
    in it, and a running loop closes those that are dropped. A client's life is such a generator, so the
    client is closed in its own loop, in time. Loops that are closed or abandoned without ceremony remain.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[asyncio.AbstractEventLoop, Kept[C]] = {}
        weakref.finalize(self, _end_all, self._kept)  # called at the interpreter's exit, too

    async def client(self, make: Callable[[], C]) -> C:
        """The running loop's client, made at its first use there."""
        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        if kept and not kept.client.is_closed():
            return kept.client
        client = make()
        life = _life(client)
        await anext(life)
        with self._lock:
            for ended in [loop for loop in self._kept if loop.is_closed()]:
                _let_go(self._kept.pop(ended).client)
            self._kept[loop] = Kept(client, life)
        return client


async def _life(client: Client) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await client.close()


async def _end(life: AsyncGenerator[None, None]) -> None:
    await life.aclose()


def _end_all(clients: Mapping[asyncio.AbstractEventLoop, Kept[C]]) -> None:
    for loop, kept in clients.items():
        if loop.is_closed():
            _let_go(kept.client)
        elif not loop.is_running() and kept.thread == threading.get_ident():
            ending = _end(kept.life)
            with contextlib.suppress(Exception):  # another loop may be running in this thread
                loop.run_until_complete(ending)
            ending.close()


def _let_go(client: Client) -> None:
    """Close a client whose loop is closed already, as far as that goes without a loop."""
    closing = client.close()
    with contextlib.suppress(Exception):
        closing.send(None)
    with contextlib.suppress(Exception):
        closing.close()
