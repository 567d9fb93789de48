"""Judge many cases: rows are read as needed, judged concurrently, and independent of each other."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack, cast

from groundjudge.case.case import Case
from groundjudge.case.data import is_list
from groundjudge.case.fields import id_in
from groundjudge.errors import ENDS_RUN, CaseError, ModelError
from groundjudge.judging.judge import with_error
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.answer import model_error
from groundjudge.models.loop_thread import LoopThread
from groundjudge.models.pacing import OnOutage, Pace
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import check_options
from groundjudge.rubric.rubric import Request, Rubric, names
from groundjudge.verdict import Verdict, well_formed

Row: TypeAlias = Case | Mapping[str, Any] | CaseError
"""A case, a mapping to build one from, or the error of a row that could not be read."""

Rows: TypeAlias = Iterable[Row] | AsyncIterable[Row]

J = TypeVar("J", bound=AnyJudge | Rubric)
T = TypeVar("T")

Job: TypeAlias = tuple[AnyJudge, Case] | Verdict
"""A judge and the case to judge, or a verdict that is known without asking a model."""

Previous: TypeAlias = Callable[[AnyJudge, Case], Verdict | None]
"""Looks up the verdict of a previous run; returns None if there is none."""

MAX_WAITING = 4
"""How many verdicts, times the concurrency, an ordered run requests ahead before reading pauses."""


class RunOptions(TypedDict, total=False):
    """The options of `run` and `arun`.

    Attributes:
        concurrency: how many verdicts are in progress at a time, 1 or more; 16 by default.
        ordered: yield the verdicts in the order of the rows (and of the judges within a row) instead of
            as they finish. At most 4 x concurrency verdicts are then requested and not yet taken; without
            `ordered` at most as many as the concurrency, so that a caller that saves each verdict loses
            no more than those in flight.
        deadline: the time limit of one verdict in seconds, above 0, with all attempts and waits. A row
            that takes longer gets an error with the code `timeout`. A function that blocks cannot be
            stopped: its thread keeps running. None for no limit, as by default.
        max_calls: the maximum number of calls to models, with re-asks and without replies from a cache. With
            a budget, fewer panels are in progress at a time, so that their votes become verdicts.
        max_tokens: no more calls are made once this many tokens (prompts and replies) have been used.
        previous: a function from the judge and the case to a previous verdict, or None. A previous verdict
            is yielded unchanged, without a call. Its `key` is `judge.key(case)`.
        on_outage: called in the event loop with a message each time a request waits for an endpoint that does
            not answer, and with "" when the waiting ends.
    """

    concurrency: int
    ordered: bool
    deadline: float | None
    max_calls: int | None
    max_tokens: int | None
    previous: Previous | None
    on_outage: OnOutage | None


CONCURRENCY = 16
"""How many verdicts are in progress unless the caller says otherwise."""

NO_LIMIT = sys.maxsize

SPENT = {"max_calls": "calls made", "max_tokens": "tokens used"}
"""What the options for a budget count."""

_END = object()


def arun(
    judges: AnyJudge | Sequence[AnyJudge], cases: Rows, **options: Unpack[RunOptions]
) -> AsyncGenerator[Verdict, None]:
    """Judge many cases with one or more judges, and yield one verdict per case and judge.

    An error in one row neither ends the run nor affects other rows: it becomes that row's verdict with
    status "error". Its code is the error's own, or "unexpected" for an exception that no judge should
    raise; such an exception is also logged. A row that cannot become a case gives one such verdict per
    judge; a CaseError among the rows, or a row that is not a mapping, gives a single one whose `judge`
    is "".

    A row can name the judges that apply to it under `judges`, in a list or a comma-separated string. The
    other judges skip it. A name that is neither a judge of this run nor one that comes with groundjudge is
    most likely misspelt: it gets a verdict with the code `unknown_judge`.

    A request that meets a rate limit is retried up to 8 times, after at least the time that the endpoint
    asks for. While that happens, fewer requests are in flight.

    If the connection fails to an endpoint that has answered before, the run waits: each request is sent again
    after 1 second, then 2, 4 and so on up to 30 seconds, and at once when another request is answered. Rows
    get an error with the code `connection` after 300 seconds without any answer (a server that restarts and
    loads a model is back by then), or if they fail 3 times while others are answered. `deadline` and
    `max_calls` hold all the while, and all attempts for a request count as one call.

    Args:
        judges: one or more judges. They share the concurrency.
        cases: any iterable. It is read as rows are needed, in the event loop, so an iterable that waits
            for its rows should be asynchronous. A row without an id gets the `case_id` "row N", where N
            is its position among the rows, from 1.
        options: see `RunOptions`.

    Raises:
        ValueError: there is no judge, two have one name, or a number is out of its range.
        TypeError: `judges` contains a name, `cases` is a single case, a string or a data frame, or an option
            is unknown.
        ModelError: no further row can be judged: `auth`, `quota`, `not_found` (with the endpoint's
            message), `no_endpoint`, `connection` when an endpoint has never answered and the connection
            failed for every row in flight, or `budget` when max_calls or max_tokens is used up. It is raised
            after all finished verdicts were yielded; the remaining rows have none. Requests in flight are
            cancelled, except for `budget`, where they are completed.
        Exception: whatever reading `cases` raises, after the verdicts of the rows before it.
    """
    return judge_rows(judges, cases, options, lambda _, verdict: verdict)


def judge_rows(
    judges: AnyJudge | Sequence[AnyJudge],
    cases: Rows,
    options: RunOptions,
    output: Callable[[int, Verdict], T],
) -> AsyncGenerator[T, None]:
    """What `output` makes of each verdict of `arun` and of the position of its row, from 1.

    Raises:
        ValueError, TypeError, ModelError, Exception: as for `arun`.
    """
    check_options(options, RunOptions)
    concurrency = options.get("concurrency", CONCURRENCY)
    listed = check_judges(judges, concurrency)
    cannot = "cases must be an iterable of cases"
    table = f'{cannot}: of a pandas data frame pass df.to_dict("records")'  # iterating it gives column names
    single = f"{cannot}: put a single case in a list, read a file with json"
    is_single = isinstance(cases, Case | Mapping | str | bytes)
    raise_if(TypeError, (hasattr(cases, "to_dict"), table), (is_single, single))
    limits = Limits(options)
    jobs = partial(jobs_of, judges=listed, ids={}, previous=options.get("previous"))
    at_once = _rows_at_once(concurrency, listed, limits.most)
    return _outputs(cases, jobs, limits, at_once, output, ordered=options.get("ordered", False))


def run(
    judges: AnyJudge | Sequence[AnyJudge], cases: Rows, **options: Unpack[RunOptions]
) -> Generator[Verdict, None, None]:
    """Judge many cases as `arun` does, from synchronous code.

    The work runs in an event loop in a separate thread, so this function works in a script, in a
    notebook, inside a running event loop and from several threads at once; `cases` is read and `previous`
    is called in that thread. Closing the generator ends the work: requests in flight are cancelled.

    Raises:
        ValueError, TypeError, ModelError, Exception: as for `arun`.
    """
    return in_a_thread(arun(judges, cases, **options))


def case_of(row: Case | Mapping[str, Any], number: int) -> Case:
    """The row as a case whose `id` is the `case_id` of its verdicts; `number` is its position, from 1.

    Raises:
        CaseError: as for `Case.from_mapping`.
    """
    case = Case.of(row)
    case_id = id_of(row, number)
    return case if case.id == case_id else case.replace(id=case_id)


def id_of(row: Row, number: int) -> str:
    """The row's own id, or "row N" if it has none; `number` is the row's position, from 1."""
    value = row.id if isinstance(row, Case) else id_in(row) if isinstance(row, Mapping) else None
    row_id = "" if value is None else well_formed(str(value))
    return row_id if row_id.strip() else f"row {number}"


def check_judges(judges: AnyJudge | Sequence[AnyJudge], concurrency: int) -> tuple[AnyJudge, ...]:
    """The judges of a run as a tuple.

    Raises:
        ValueError: there is none, two have one name, or the concurrency is below 1.
        TypeError: one of them is a name.
    """
    listed = tuple(judges) if isinstance(judges, Sequence) else (judges,)
    is_named = any(isinstance(judge, str) for judge in listed)  # pyright: ignore[reportUnnecessaryIsInstance]
    names_given = "judges must be Judge objects, not names: load() returns the Judge of a name"
    raise_if(TypeError, (is_named, names_given))
    twice = duplicate_name(listed)
    raise_if(
        ValueError,
        (not listed, "no judge given"),
        (twice, f"two judges have the name {twice!r}: change `name` in one of the prompt files"),
        (concurrency < 1, f"concurrency must be 1 or more, not {concurrency}"),
    )
    return listed


def raise_if(kind: type[Exception], *rules: tuple[object, str]) -> None:
    """Raise an error of that kind with the message of the first rule that is broken."""
    for is_broken, message in rules:
        if is_broken:
            raise kind(message)


def duplicate_name(items: Iterable[Model | AnyJudge]) -> str | None:
    """The first name that two models or two judges have; None if there is none."""
    counts = Counter(each.name for each in items)
    return next((name for name, n in counts.items() if n > 1), None)


def _rows_at_once(concurrency: int, judges: Sequence[AnyJudge], most: Mapping[str, int]) -> int:
    """How many verdicts are in progress: with a budget so few that votes become verdicts before its end."""
    votes = max(len(judge.rubrics) for judge in judges)
    rows = concurrency if most["max_tokens"] == NO_LIMIT else concurrency // votes
    return concurrency if votes == 1 else max(1, min(rows, most["max_calls"] // (2 * votes)))


def jobs_of(
    row: Row,
    number: int,
    judges: Sequence[J],
    ids: dict[int, int],
    previous: Callable[[J, Case], Verdict | None] | None = None,
) -> list[tuple[J, Case] | Verdict]:
    """The jobs of a row. An error in the row becomes a verdict.

    Args:
        row: the row.
        number: its position, from 1.
        judges: the judges.
        ids: a hash of each id that an earlier row had, with a hash of that row; this row's are added.
        previous: looks up the verdict of a previous run.
    """
    if not isinstance(row, Case | Mapping | CaseError):  # pyright: ignore[reportUnnecessaryIsInstance]  callers may not check
        row = CaseError("unreadable_row", f"a row must be a Case or a mapping, not {type(row).__name__}")
    if isinstance(row, CaseError):
        return [_failed("", row, id_of(row, number))]
    case_id, applying, misnamed = f"row {number}", judges, list[Verdict]()
    try:
        case_id = id_of(row, number)
        applying, unknown = _named(row, judges)
        misnamed = [_failed(name, error, case_id) for name, error in unknown.items()]
        case = case_of(row, number)
        if applying:
            _check_id(case, applying, ids)
        jobs = [(previous and previous(judge, case)) or (judge, case) for judge in applying]
    except Exception as error:  # noqa: BLE001  an error in one row must not affect others
        jobs = [_failed(judge.name, error, case_id) for judge in applying]
    return [*jobs, *misnamed]


def _check_id(case: Case, judges: Sequence[AnyJudge | Rubric], ids: dict[int, int]) -> None:
    """Refuse an id that another row for the same judges has: their verdicts could not be told apart.

    Only hashes are kept, so that memory hardly grows. Equal rows are one case, whatever their metadata.

    Raises:
        CaseError: `duplicate_id`.
    """
    names = tuple(judge.name for judge in judges)
    content = hash(repr([(name, value) for name, value in case if name != "metadata"]))
    if ids.setdefault(hash((case.id, names)), content) != content:
        message = f"an earlier row with other contents has the id {case.id!r} too: give each case its own id"
        raise CaseError("duplicate_id", message, "id")


def _named(row: Case | Mapping[str, Any], judges: Sequence[J]) -> tuple[Sequence[J], Mapping[str, CaseError]]:
    """The judges that apply to a row, which may name them, and an error for each name that is misspelt."""
    data = row.metadata if isinstance(row, Case) else row
    if "judges" not in data and isinstance(data.get("metadata"), Mapping):
        data = data["metadata"]
    named = data.get("judges")
    if isinstance(named, str):
        named = [name.strip() for name in named.split(",") if name.strip()] or None
    if named is None:
        return judges, {}
    if not (is_list(named) and all(isinstance(name, str) for name in named)):
        message = f"judges must be a list of names or a comma-separated string, not {named!r}"
        raise CaseError("field_unreadable", message, "judges")
    ours = {judge.name for judge in judges}
    known = sorted(ours.union(names() if set(named) - ours else ()))
    unknown = "the row names an unknown judge {!r}; the known judges are {}"
    return [judge for judge in judges if judge.name in named], {
        name: CaseError("unknown_judge", unknown.format(name, ", ".join(known)), "judges")
        for name in sorted(set(named).difference(known))
    }


async def _outputs(  # noqa: PLR0913  what a run is made of
    rows: Rows,
    jobs: Callable[[Row, int], Iterable[Job]],
    limits: Limits,
    concurrency: int,
    output: Callable[[int, Verdict], T],
    *,
    ordered: bool,
) -> AsyncGenerator[T, None]:
    """Do the jobs of the rows, some at a time, and yield what `output` makes of their verdicts.

    It is the only asynchronous generator of a run. The end of an event loop closes all that are still open
    at the same time, and one that closes another one would fail then.
    """
    room = asyncio.Semaphore(MAX_WAITING * concurrency if ordered else concurrency)
    places = asyncio.Semaphore(concurrency)
    running = set[asyncio.Task[T | None]]()
    ended: list[BaseException] = []
    due: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()

    async def work(number: int, job: Job) -> T | None:
        try:
            async with places:
                verdict = job if isinstance(job, Verdict) else await _judged(limits, *job)
        except (EndsRunError, SystemExit, KeyboardInterrupt) as ends:
            ended.append(ends.args[0] if isinstance(ends, EndsRunError) else ends)
            # After the last call of a budget, requests in flight are completed.
            in_vain = () if getattr(ended[-1], "code", None) == "budget" else running
            _cancel(reading, *in_vain)
            return None
        return output(number, verdict)

    async def read() -> None:
        await room.acquire()
        number, left = 0, aiter(rows) if isinstance(rows, AsyncIterable) else iter(rows)
        while (row := await _next(left)) is not _END:
            number += 1
            for job in jobs(row, number):
                task = asyncio.create_task(work(number, job))
                running.add(task)
                task.add_done_callback(running.discard)
                if ordered:
                    due.put_nowait(task)
                else:
                    task.add_done_callback(due.put_nowait)
                await asyncio.sleep(0)  # it begins now: reading the next row may block the loop
                await room.acquire()

    reading = asyncio.create_task(read())
    reading.add_done_callback(due.put_nowait)  # wakes the loop below, which must see the end as well
    try:
        while running or not (reading.done() and due.empty()):
            task = await due.get()
            await asyncio.wait([task])
            if task is not reading and not task.cancelled() and (found := task.result()) is not None:
                yield found
                room.release()
        if ended:
            raise ended[0]
        await reading  # raises what reading the rows raised
    finally:
        _cancel(reading, *running)
        await asyncio.gather(reading, *running, return_exceptions=True)


def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()


async def _next(rows: Any) -> Any:  # noqa: ANN401  an iterator of either kind; a row, or _END
    return await anext(rows, _END) if hasattr(rows, "__anext__") else next(rows, _END)


async def _judged(limits: Limits, judge: AnyJudge, case: Case) -> Verdict:
    """The verdict of a row.

    Raises:
        EndsRunError, SystemExit, KeyboardInterrupt: no further row can be judged.
    """
    try:
        return await judge.ajudge(case, ask=partial(limits.ask, asyncio.get_running_loop().time()))
    except (Exception, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
            raise  # the run was cancelled; otherwise a client raised it
        return judge.error_verdict(error, case)


def _failed(judge: str, error: Exception, case_id: str) -> Verdict:
    """The verdict of a row that raised an error before it was judged."""
    return with_error(Verdict(judge=judge, status="error", case_id=case_id), error)


def in_a_thread(outputs: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """Yield what an async generator yields, from an event loop in a separate thread.

    It is a loop of this run alone: reading the rows may block it. Its end cancels what is in flight, also
    after an interrupt, and closes the generator.
    """
    thread = LoopThread("run")
    try:
        while (found := thread.run(anext, outputs, _END)) is not _END:
            yield cast("T", found)
    finally:
        if not sys.is_finalizing():  # daemon threads no longer run then, and a join would never return
            thread.close()


class EndsRunError(BaseException):
    """Carries an error that ends the run past all that makes verdicts of the errors of rows and votes."""


class Limits:
    """What limits the requests of a run. All its judges share them.

    A call is one request to the model, however many retries it took. Replies from a cache and requests
    rejected by a rate limit do not count. Tokens are known only once the reply has arrived, so the requests
    in flight when the last token is spent can exceed `max_tokens`.

    Attributes:
        most: the budget: how many calls and tokens there may be.

    Raises:
        ValueError: a limit is below 1, or the deadline not above 0.
    """

    def __init__(self, options: RunOptions) -> None:
        self._deadline = deadline = options.get("deadline")
        is_low = deadline is not None and not deadline > 0
        raise_if(ValueError, (is_low, f"deadline must be more than 0 seconds, not {deadline}"))
        budget = {"max_calls": options.get("max_calls"), "max_tokens": options.get("max_tokens")}
        for name, limit in budget.items():
            is_low = limit is not None and limit < 1
            raise_if(ValueError, (is_low, f"{name} must be 1 or more, not {limit}"))
        self.most = {name: limit or NO_LIMIT for name, limit in budget.items()}
        self._spent = dict.fromkeys(budget, 0)
        self._left = asyncio.Semaphore(self.most["max_calls"])
        self._pace = Pace(options.get("concurrency", CONCURRENCY), options.get("on_outage"))

    async def ask(self, started: float, model: Model, request: Request) -> Reply:
        """The model's reply, if it comes before the deadline of the row that was started then.

        Raises:
            EndsRunError: no further row can be judged.
            ModelError: as for `Pace.ask`; `timeout` after the deadline.
        """
        limit = asyncio.timeout_at(None if self._deadline is None else started + self._deadline)
        try:
            async with limit:
                return await self._counted(model, request)
        except ModelError as error:
            if error.code in ENDS_RUN or self._pace.ends_run(error):
                raise EndsRunError(error) from error
            raise
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"{model.name}: no verdict within the row's deadline of {self._deadline:g} s"
            raise model_error("timeout", message, model.name) from error

    async def _counted(self, model: Model, request: Request) -> Reply:
        """Make one call and count it. If all calls are reserved, wait until one is free.

        Raises:
            ModelError: as for `Pace.ask`; `budget`, if a limit has been reached.
        """
        await self._left.acquire()
        n_calls = 0
        try:
            self._check_budget()
            n_calls = 1  # a call that is cancelled or fails counts too
            reply = await self._pace.ask(model, request)
            n_calls = int(not reply.cached)
            self._spent["max_tokens"] += reply.usage.total_tokens if reply.usage else 0
        except ModelError as error:
            n_calls = 0 if error.code == "rate_limited" else n_calls
            raise
        finally:
            self._spent["max_calls"] += n_calls
            if not n_calls or self._used_up():
                self._left.release()  # the next one that waits must find out too
        return reply

    def _used_up(self) -> list[str]:
        return [name for name, spent in self._spent.items() if spent >= self.most[name]]

    def _check_budget(self) -> None:
        for name in self._used_up():
            message = f"{SPENT[name]}: {self._spent[name]}, and `{name}` allows {self.most[name]}"
            raise model_error("budget", message, name)
