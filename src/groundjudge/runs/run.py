"""Many cases: read as they are needed, judged side by side, each row on its own."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, TypeVar

from groundjudge.case import Case, well_formed
from groundjudge.errors import CaseError, ModelError
from groundjudge.judge import Judge, Step, aperform, error_verdict
from groundjudge.models.threads import ThreadPerCall
from groundjudge.rubric import Rubric, names
from groundjudge.runs.budget import Budget
from groundjudge.runs.throttle import Throttle
from groundjudge.verdict import Verdict

Row: TypeAlias = Case | Mapping[str, Any] | CaseError
"""A case, what a case can be built from, or the error that stands for a row that could not be read."""

Rows: TypeAlias = Iterable[Row] | AsyncIterable[Row]

J = TypeVar("J", bound=Judge | Rubric)

Job: TypeAlias = tuple[Judge, Case] | Verdict
"""A judge and the case that it is asked about; a verdict where there is nothing to ask."""

Previous: TypeAlias = Callable[[Judge, Case], Verdict | None]
"""Looks up the verdict of an previous run; None if there is none."""

FATAL = frozenset({"auth", "quota", "not_found", "no_endpoint", "budget"})
"""The codes of a ModelError that every other row would meet as well."""

WAITING = 4
"""How many verdicts may wait for their turn, times the concurrency. Then reading pauses."""

log = logging.getLogger("groundjudge")


def arun(  # noqa: PLR0913  each is a wish of its own
    judges: Judge | Sequence[Judge],
    cases: Rows,
    *,
    concurrency: int = 16,
    ordered: bool = False,
    deadline: float | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    previous: Previous | None = None,
) -> AsyncGenerator[Verdict, None]:
    """Judge many cases with one or more judges, and yield one verdict per case and judge.

    Nothing that a row brings about ends the run or touches another row: it becomes that row's
    verdict with status "error". Its code is the error's own, or "unexpected" for an exception that
    no judge should raise; that one is logged as well. A row that cannot become a case gives one such
    verdict per judge; a CaseError among the rows, or a row that is no mapping, gives a single one
    whose `judge` is "".

    A row may name the judges that apply to it: `judges`, a list or a text with commas between the
    names. The others pass over it. A name that is neither a judge of this run nor one that comes with
    groundjudge is most likely misspelt: it gets a verdict with the code `unknown_judge`.

    A request that meets a rate limit is sent again up to 8 times, after the time that the endpoint asks for
    or longer, and as long as that happens fewer requests are in flight.

    Args:
        judges: a judge or several. The concurrency is theirs together.
        cases: any iterable. It is read as rows are needed and in the event loop, so one that waits
            for its rows should be asynchronous. A row without an id gets the `case_id` "row N": its
            place among the rows, from 1.
        concurrency: how many verdicts are asked for at a time, 1 or more.
        ordered: yield the verdicts in the order of the rows (and of the judges within a row), where
            they come as they finish otherwise. At most 4 x concurrency verdicts are then asked for and
            not yet taken; without it at most as many as the concurrency, so that whoever writes each
            one down loses no more than what is in flight.
        deadline: seconds, above 0, in which a verdict must be there, all tries and waits included. A row
            that takes longer gets an error with the code `timeout`. A function that blocks cannot be
            stopped: its thread is left to itself.
        max_calls: the model is asked at most so many times, re-asks included, replies from a cache not.
        max_tokens: nothing more is asked once so many tokens are spent, prompts and replies together.
        previous: given the judge and the case, gives a verdict that is there already. It is yielded as it
            is, and nothing is asked. `judge.key(case)` is the `key` that such a verdict has.

    Raises:
        ValueError: there is no judge, or a number is out of its range.
        TypeError: `cases` is one case, or a text.
        ModelError: nobody can be asked any more, which every other row would meet as well: `auth`, `quota`,
            `not_found` (with the endpoint's words), `no_endpoint`, or `budget` when max_calls or max_tokens
            are spent. It comes after all verdicts that are there; rows without one have none. Requests in
            flight are given up, but for `budget`, where they are finished.
        Exception: whatever reading `cases` raises, after the verdicts of the rows before it.
    """
    listed = _listed(judges)
    if not listed:
        message = "no judge given"
        raise ValueError(message)
    if any(isinstance(judge, str) for judge in listed):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = "judges must be Judges, not names: load() makes a Judge of a name"
        raise TypeError(message)
    if concurrency < 1:
        message = f"concurrency must be 1 or more, not {concurrency}"
        raise ValueError(message)
    if isinstance(cases, Case | Mapping | str | bytes):
        message = "cases must be an iterable of cases: put a single one in a list, read a file with json"
        raise TypeError(message)
    if deadline is not None and not deadline > 0:
        message = f"deadline must be more than 0 seconds, not {deadline}"
        raise ValueError(message)
    throttle = Throttle(concurrency, Budget(max_calls, max_tokens))

    async def judged(judge: Judge, case: Case) -> Verdict | ModelError:
        return await _judged(judge, case, throttle, deadline)

    return _verdicts(_jobs(listed, cases, previous), judged, concurrency, ordered=ordered)


def run(  # noqa: PLR0913  as above
    judges: Judge | Sequence[Judge],
    cases: Rows,
    *,
    concurrency: int = 16,
    ordered: bool = False,
    deadline: float | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    previous: Previous | None = None,
) -> Generator[Verdict, None, None]:
    """Judge many cases as `arun` does, from code that is not asynchronous.

    The work is done by an event loop in a thread of its own, so this works in a script, in a
    notebook, inside a running event loop and from several threads at once; `cases` and `previous` are
    read in that thread. Closing the generator ends the work: requests in flight are given up.

    Raises:
        ValueError, TypeError, ModelError, Exception: as for `arun`.
    """
    verdicts = arun(
        judges,
        cases,
        concurrency=concurrency,
        ordered=ordered,
        deadline=deadline,
        max_calls=max_calls,
        max_tokens=max_tokens,
        previous=previous,
    )
    return _in_a_thread(verdicts)


def case_of(row: Case | Mapping[str, Any], number: int) -> Case:
    """The row as a case that bears the `case_id` of its verdicts; `number` is its place, from 1.

    Raises:
        CaseError: as for `Case.from_mapping`.
    """
    case = Case.of(row)
    case_id = id_of(row, number)
    return case if case.id == case_id else case.model_copy(update={"id": case_id})


def id_of(row: Row, number: int) -> str:
    """The row's own id, or "row N" where it has none."""
    given = row.id if isinstance(row, Case) else row.get("id") if isinstance(row, Mapping) else None
    own = "" if given is None else well_formed(str(given))
    return own if own.strip() else f"row {number}"


def _listed(judges: Judge | Sequence[Judge]) -> tuple[Judge, ...]:
    return tuple(judges) if isinstance(judges, Sequence) else (judges,)


async def _jobs(judges: Sequence[Judge], rows: Rows, previous: Previous | None) -> AsyncGenerator[Job, None]:
    number = 0
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            number += 1
            for job in jobs_of(row, number, judges, previous):
                yield job
    else:
        for number, row in enumerate(rows, 1):
            for job in jobs_of(row, number, judges, previous):
                yield job


def jobs_of(
    row: Row, number: int, judges: Sequence[J], previous: Callable[[J, Case], Verdict | None] | None = None
) -> list[tuple[J, Case] | Verdict]:
    """What the row at a place, from 1, asks for. Whatever is wrong with it becomes a verdict of its own."""
    if not isinstance(row, Case | Mapping):
        return [_failed("", _unreadable(row), id_of(row, number))]
    case_id, applying, misnamed = f"row {number}", judges, list[Verdict]()
    try:
        case_id = id_of(row, number)
        named = _named(row)
        if named is not None:
            applying = [judge for judge in judges if judge.name in named]
            misnamed = [_failed(name, error, case_id) for name, error in _misnamed(named, judges)]
        case = case_of(row, number)
        there = [previous(judge, case) if previous else None for judge in applying]
    except Exception as error:  # noqa: BLE001  a row's error is that row's alone
        return [*(_failed(judge.name, error, case_id) for judge in applying), *misnamed]
    jobs = (found or (judge, case) for judge, found in zip(applying, there, strict=True))
    return [*jobs, *misnamed]


def _unreadable(row: object) -> CaseError:
    if isinstance(row, CaseError):
        return row
    return CaseError("unreadable_row", f"a row must be a Case or a mapping, not {type(row).__name__}")


def _named(row: Case | Mapping[str, Any]) -> tuple[str, ...] | None:
    """The judges that the row names, or None when it leaves the choice to the run."""
    data = row.metadata if isinstance(row, Case) else row
    if "judges" not in data and isinstance(data.get("metadata"), Mapping):
        data = data["metadata"]
    match data.get("judges"):
        case None:
            return None
        case str() as text:
            return tuple(name.strip() for name in text.split(",") if name.strip()) or None
        case [*listed] if all(isinstance(name, str) for name in listed):
            return tuple(listed)
        case other:
            message = f"judges must be a list of names, or names with commas between them, not {other!r}"
            raise CaseError("field_unreadable", message, "judges")


def _misnamed(named: Iterable[str], judges: Sequence[J]) -> Iterator[tuple[str, CaseError]]:
    unknown = set(named) - {judge.name for judge in judges}
    if not unknown:
        return
    known = sorted({*names(), *(judge.name for judge in judges)})
    for name in sorted(unknown.difference(known)):
        message = f"the row names the judge {name!r}, which is none of {', '.join(known)}"
        yield name, CaseError("unknown_judge", message, "judges")


async def _verdicts(
    jobs: AsyncGenerator[Job, None],
    judged: Callable[[Judge, Case], Awaitable[Verdict | ModelError]],
    concurrency: int,
    *,
    ordered: bool,
) -> AsyncGenerator[Verdict, None]:
    """Do the jobs with a fixed number of workers, and yield what comes of them."""
    room = asyncio.Semaphore(WAITING * concurrency if ordered else concurrency)
    reading = asyncio.Lock()
    done: asyncio.Queue[tuple[int, Verdict] | None] = asyncio.Queue()
    stopped: ModelError | None = None
    taken = 0

    async def work() -> None:
        nonlocal taken, stopped
        while True:
            async with reading:
                await room.acquire()
                job = None if stopped else await anext(jobs, None)
                if job is None:
                    room.release()  # the next worker must come to see the end as well
                    return
                position, taken = taken, taken + 1
            outcome = job if isinstance(job, Verdict) else await judged(*job)
            if isinstance(outcome, ModelError):
                stopped = stopped or outcome
                room.release()  # this row's, which nobody will take
                if outcome.code != "budget":
                    _cancel(workers)
                return
            done.put_nowait((position, outcome))

    workers = [_worker(work(), lambda: done.put_nowait(None)) for _ in range(concurrency)]
    try:
        turns = Turns(ordered=ordered)
        async for finished in _until_all_end(done, concurrency):
            for verdict in turns.due(*finished):
                yield verdict
                room.release()
        for verdict in turns.left():
            yield verdict
        if stopped:
            raise stopped
        await asyncio.gather(*workers)  # raises what reading the rows raised
    finally:
        _cancel(workers)
        await asyncio.gather(*workers, return_exceptions=True)
        await jobs.aclose()


@dataclass
class Turns:
    """Verdicts that wait for those before them, where order is asked for."""

    ordered: bool
    given: int = 0
    waiting: dict[int, Verdict] = field(default_factory=dict[int, Verdict])

    def due(self, position: int, verdict: Verdict) -> Iterator[Verdict]:
        """What can be given, now that this one is there."""
        self.waiting[position if self.ordered else self.given] = verdict
        while self.given in self.waiting:
            yield self.waiting.pop(self.given)
            self.given += 1

    def left(self) -> Iterator[Verdict]:
        """What waits in vain: some before them were given up."""
        return (self.waiting[position] for position in sorted(self.waiting))


def _worker(work: Coroutine[object, object, None], at_its_end: Callable[[], None]) -> asyncio.Task[None]:
    """A task, with what is done at its end: also when it is cancelled before it runs any code."""
    worker = asyncio.create_task(work)
    worker.add_done_callback(lambda _: at_its_end())
    return worker


async def _until_all_end(
    done: asyncio.Queue[tuple[int, Verdict] | None], workers: int
) -> AsyncIterator[tuple[int, Verdict]]:
    """What the workers did. Each puts a None in the end."""
    while workers:
        if (finished := await done.get()) is None:
            workers -= 1
        else:
            yield finished


def _cancel(workers: Iterable[asyncio.Task[None]]) -> None:
    for worker in workers:
        worker.cancel()


async def _judged(
    judge: Judge, case: Case, throttle: Throttle, deadline: float | None
) -> Verdict | ModelError:
    """A row's verdict, or the error that ends the run."""
    end = None if deadline is None else asyncio.get_running_loop().time() + deadline

    async def throttled(step: Step) -> Any:  # noqa: ANN401  each step has a result of its own
        if step.name != "model":
            return await aperform(step)
        limit = asyncio.timeout_at(end)
        try:
            async with limit:
                return await throttle.ask(judge.model, step.given)
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"{judge.model.name}: no verdict within the row's deadline of {deadline:g} s"
            raise ModelError("timeout", message, judge.model.name) from error

    try:
        return await judge.ajudge(case, throttled)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return judge.failed(error, case)  # a client's own: nobody cancelled this run
    except Exception as error:  # noqa: BLE001  a row's error is that row's alone
        if isinstance(error, ModelError) and error.code in FATAL:
            return error
        return judge.failed(error, case)


def _failed(judge: str, error: Exception, case_id: str) -> Verdict:
    """The verdict of a row that raised before a judge saw it."""
    return error_verdict(Verdict(judge=judge, status="error", case_id=case_id), error)


def _in_a_thread(verdicts: AsyncGenerator[Verdict, None]) -> Generator[Verdict, None, None]:
    """What an async generator yields, from an event loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPerCall())  # else a few threads per core, and their end waited for
    handed: SimpleQueue[Verdict | BaseException | None] = SimpleQueue()
    back = asyncio.Semaphore(0)

    async def hand_over() -> None:
        async with aclosing(verdicts):
            async for verdict in verdicts:
                handed.put(verdict)
                await back.acquire()  # it is dealt with: who is killed loses what is in flight, no more

    work = loop.create_task(hand_over())

    async def finish() -> None:
        await work

    def live() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(finish())
        except BaseException as error:  # noqa: BLE001  it is raised again where the verdicts are taken
            handed.put(error)
        else:
            handed.put(None)

    # A daemon: a generator that nobody finishes must not keep the program from ending.
    thread = Thread(target=copy_context().run, args=(live,), name="groundjudge", daemon=True)
    thread.start()
    try:
        while (item := handed.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
            with suppress(RuntimeError):  # the loop is closed once the last verdict is handed over
                loop.call_soon_threadsafe(back.release)
    finally:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(work.cancel)
        if not sys.is_finalizing():  # by then daemons stand still, and would be waited for for ever
            thread.join()
