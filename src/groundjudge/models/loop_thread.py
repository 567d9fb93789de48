"""An event loop in a thread of its own: it serves synchronous callers, and blocking functions get threads.

The one in `shared_loop` serves all synchronous callers of the process. A run over many cases has its own,
because it reads the caller's rows in it, which may block.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from threading import Lock, Thread, current_thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_END = 5.0
"""Seconds that the end of the program waits for the loop thread to close its clients."""


class LoopThread:
    """An event loop in a daemon thread, started at the first call.

    Args:
        name: the thread's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._closing = asyncio.Event()

    def run(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Await what an asynchronous function returns, with a copy of the caller's context variables.

        A caller that is interrupted while it waits cancels the function.

        Raises:
            RuntimeError: it is called from the loop itself, which would wait for itself.
            BaseException: whatever the function raises.
        """
        if current_thread() is self._thread:
            message = (
                "a judge is called synchronously in the event loop that serves synchronous callers, and "
                "would wait for itself: use `await judge.ajudge(case)` (or aevaluate) in asynchronous code"
            )
            raise RuntimeError(message)

        async def work() -> T:
            return await function(*args, **kwargs)

        future = asyncio.run_coroutine_threadsafe(work(), self._started())
        try:
            return future.result()
        finally:
            future.cancel()

    def is_running(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether a loop is the loop of this thread."""
        return loop is self._loop

    def close(self, timeout: float | None = None) -> None:
        """Cancel what is running, close the clients of the loop and end the thread.

        Args:
            timeout: the seconds to wait for that; None to wait until it is done.
        """
        if self._loop and self._thread:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(timeout)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # The default executor has a few threads per core, and waits for them at the end.
                self._loop.set_default_executor(ThreadPerCall())
                # A daemon thread: a call that hangs must not keep the program from ending.
                self._thread = Thread(target=self._live, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop

    def _live(self, loop: asyncio.AbstractEventLoop) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            while not self._closing.is_set():
                # These two end a loop; they are raised again where the result is awaited.
                with suppress(SystemExit, KeyboardInterrupt):
                    runner.run(self._until_closed())

    async def _until_closed(self) -> None:
        await self._closing.wait()


_SHARED: dict[int, LoopThread] = {}
"""The shared loop thread by the id of the process: a fork copies no threads, so each process has its own."""


def shared_loop() -> LoopThread:
    """The loop thread that serves the synchronous callers of this process."""
    process = os.getpid()
    if process not in _SHARED:
        kept = _SHARED.setdefault(process, LoopThread("groundjudge loop"))
        atexit.register(kept.close, LONGEST_END)  # does nothing in a fork, which has no such thread
    return _SHARED[process]


def in_a_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Call a function in a new daemon thread, with a copy of the caller's context variables.

    A caller that cancels the future or stops waiting for it continues at once. The thread ends when the
    function returns; a function that never returns delays neither other calls nor the end of the program.
    """
    future: Future[T] = Future()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  raised again where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return future


async def called(function: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  whatever it returns
    """What a function returns: an async one is awaited, a sync one runs in a thread."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  an object with an async __call__
    ):
        answer = function(*args, **kwargs)
    else:
        answer = await asyncio.wrap_future(in_a_thread(function, *args, **kwargs))
    return await answer if inspect.isawaitable(answer) else answer


class ThreadPerCall(ThreadPoolExecutor):
    """`in_a_thread` as an event loop's default executor, which must be a ThreadPoolExecutor."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call the function at once, in a thread of its own."""
        return in_a_thread(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002  as in the base class
        """Do nothing: there is no pool to shut down."""
