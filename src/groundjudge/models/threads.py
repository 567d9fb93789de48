"""Functions that block, each in a thread that nobody has to wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_a_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Call a function in a thread of its own, with the context variables of this one.

    Whoever stops waiting for it goes on at once. The thread ends when the function does, and a function
    that never does keeps neither other calls nor the end of the program waiting.
    """
    future: Future[T] = Future()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  it is raised where the result is awaited
            future.set_exception(error)
        else:
            future.set_result(result)

    Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return future


class ThreadPerCall(ThreadPoolExecutor):
    """`in_a_thread` as the executor of an event loop, which takes nothing but a ThreadPoolExecutor."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start the call at once."""
        return in_a_thread(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002  as it was
        """There is no pool: nothing to wait for."""
