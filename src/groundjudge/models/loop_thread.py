"""An event loop in its own thread: it serves synchronous callers, and blocking functions get threads.

The one in `shared_loop` serves all synchronous callers of the process. A run over many cases has its own,
because it reads the caller's rows in its loop, which may block.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, Token, copy_context
from threading import Lock, Thread, current_thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

NAME = "groundjudge "
"""The prefix of the names of the library's loop threads."""


SECONDS_AT_EXIT = 5.0
"""How long the end of the program waits for a loop that is still running."""


class LoopThread:
    """An event loop in a daemon thread, started at the first call.

    Args:
        name: the end of the thread's name.
    """

    def __init__(self, name: str) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        # A daemon thread: a call that hangs must not keep the program from ending.
        self._thread = Thread(target=self._run_loop, name=f"{NAME}{name}", daemon=True)
        self._is_closing = False

    def run(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Await an asynchronous function's result, with a copy of the caller's context variables.

        A caller that is interrupted while it waits cancels the function.

        Raises:
            RuntimeError: it is called from the loop itself, which would wait for itself.
            BaseException: anything that the function raises.
        """
        if current_thread() is self._thread:
            message = (
                "a judge was called synchronously inside the event loop that serves synchronous callers, and "
                "would wait for itself: use `await judge.ajudge(case)` (or aevaluate) in asynchronous code"
            )
            raise RuntimeError(message)

        future = self._submit(function, *args, **kwargs)
        try:
            return future.result()
        finally:
            future.cancel()

    async def run_from_loop(
        self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Await an asynchronous function's result in this loop, from another loop or from this one."""
        if current_thread() is self._thread:
            return await function(*args, **kwargs)
        return await asyncio.wrap_future(self._submit(function, *args, **kwargs))

    def _submit(self, function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start an asynchronous function in the loop, and return the future of its result."""

        async def work() -> T:
            return await function(*args, **kwargs)

        return asyncio.run_coroutine_threadsafe(work(), self._started_loop())

    def close(self, timeout: float | None = None) -> None:
        """Cancel what is running, close the clients of the loop and end the thread.

        Args:
            timeout: the seconds to wait for that; None to wait until it is done.
        """
        self._is_closing = True
        atexit.unregister(self.close)
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout)

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop; the first call makes it and starts its thread."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # The default executor has a few threads per core, and waits for them at the end.
                self._loop.set_default_executor(ThreadPerCall())
                self._thread.start()
                # A thread that is cut off inside compiled code aborts the program, so the program's end
                # waits for it; in a fork, which has no such thread, not at all.
                atexit.register(self.close, SECONDS_AT_EXIT)
            return self._loop

    def _run_loop(self) -> None:
        """Run the loop, in its thread, until it is closed."""
        with asyncio.Runner(loop_factory=self._started_loop) as runner:
            loop = runner.get_loop()
            while not self._is_closing:
                # These two end a loop; they are raised again where the result is awaited.
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()


_SHARED: dict[int, LoopThread] = {}
"""The shared loop thread by the id of the process: a fork copies no threads, so each process has its own."""


def shared_loop() -> LoopThread:
    """Return the loop thread that serves the synchronous callers of this process."""
    process = os.getpid()
    if process not in _SHARED:
        _SHARED.setdefault(process, LoopThread("loop"))
    return _SHARED[process]


def is_in_loop_thread() -> bool:
    """Whether the running event loop is one of the library, not the caller's own."""
    return current_thread().name.startswith(NAME)


async def call_function(function: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  anything
    """Return what a function returns: an async one is awaited, a sync one runs in a thread."""
    method = getattr(function, "__call__", None)  # noqa: B004  of an object, which can be async
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method):
        answer = function(*args, **kwargs)
    else:
        answer = await asyncio.wrap_future(ThreadPerCall().submit(function, *args, **kwargs))
    if inspect.isawaitable(answer):  # a function can return a coroutine without being marked as asynchronous
        answer = await answer
    return answer


class ThreadPerCall(ThreadPoolExecutor):
    """Calls each function at once, in a new daemon thread, with a copy of the caller's context variables.

    A caller that cancels the future or stops waiting for it continues at once. The thread ends when the
    function returns; a function that never returns delays neither other calls nor the end of the program.
    An event loop accepts only a ThreadPoolExecutor as its default executor.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call the function."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except (StopIteration, GeneratorExit) as error:
                # asyncio's futures do not accept the first, as from a mock whose script has run out: the
                # caller would wait forever. Python replaces it in coroutines, too. The second would close
                # the coroutine that awaits it.
                replacement = RuntimeError(f"a function raised {type(error).__name__}")
                replacement.__cause__ = error
                future.set_exception(replacement)
            except BaseException as error:  # noqa: BLE001  raised again where the result is awaited
                future.set_exception(error)

        Thread(target=copy_context().run, args=(work,), daemon=True).start()
        return future


@contextmanager
def enter_context(context: Context) -> Generator[None]:
    """Set the variables of a context in the current one. `Context.run` would run a whole function in it."""
    tokens: list[tuple[ContextVar[Any], Token[Any]]] = []
    for variable, value in context.items():
        if variable.get(None) is not value:
            tokens.append((variable, variable.set(value)))
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)
