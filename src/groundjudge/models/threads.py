"""Blocking functions, each in a daemon thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


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


class ThreadPerCall(ThreadPoolExecutor):
    """`in_a_thread` as an event loop's default executor, which must be a ThreadPoolExecutor."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call the function at once, in a thread of its own."""
        return in_a_thread(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002  as in the base class
        """Do nothing: there is no pool to shut down."""
