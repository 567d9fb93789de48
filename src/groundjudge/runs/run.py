"""Judge many cases: rows are read as needed and judged concurrently, independently of each other."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

from groundjudge.case.case import Case
from groundjudge.case.cells import read_list
from groundjudge.case.data import as_plain, find_key, is_absent, is_list
from groundjudge.case.fields import id_in
from groundjudge.errors import ENDS_RUN, CaseError, ModelError
from groundjudge.judging.judge import BaseJudge, case_hash, with_error
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.failure import model_error
from groundjudge.models.loop_thread import LoopThread
from groundjudge.models.pacing import OnOutage, Pace
from groundjudge.replies.reply import Reply
from groundjudge.rubric.load import names
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import TRUE_OR_FALSE, Option, check_options, is_count, is_deadline
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.runs.columns import row_of_verdict
from groundjudge.verdict import Verdict, well_formed

Row: TypeAlias = Case | Mapping[str, Any] | CaseError
"""A case, a mapping to build one from, or the error of an unreadable row."""

Rows: TypeAlias = Iterable[Row] | AsyncIterable[Row]


class Frame(Protocol):
    """A pandas data frame."""

    @property
    def columns(self) -> Any: ...  # noqa: ANN401, D102
    @property
    def index(self) -> Any: ...  # noqa: ANN401, D102
    def to_dict(self, orient: Literal["records"], /) -> Any: ...  # noqa: ANN401, D102
    def itertuples(self) -> Any: ...  # noqa: ANN401, D102


F = TypeVar("F", bound=Frame)
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
        deadline: the time limit of one verdict in seconds, above 0, with all attempts and waits. A row
            that takes longer gets an error with the code `timeout`. A function that blocks cannot be
            stopped: its thread keeps running. None for no limit, as by default.
        max_calls: the maximum number of calls to models, with re-asks and without replies from a cache. With
            a budget, fewer panels are in progress at a time, so that their votes become verdicts.
        max_tokens: no more calls are made once this many tokens (prompts and replies) have been used.
    """

    concurrency: int
    ordered: Annotated[
        bool,
        Option(
            "False",
            "Yield the verdicts in the order of the rows (and of the judges within a row), not as "
            "they finish. At most 4 x concurrency verdicts are then requested ahead; otherwise "
            "at most as many as the concurrency, so that a caller that saves each verdict loses no more than "
            "those in flight.",
            TRUE_OR_FALSE,
        ),
    ]
    deadline: float | None
    max_calls: int | None
    max_tokens: int | None
    previous: Annotated[
        Previous | None,
        Option(
            "None",
            "A function from the judge and the case to a previous verdict, or None. A previous verdict is "
            "yielded unchanged, without a call. Its `key` is `judge.key(case)`.",
            (callable, "a function from a judge and a case to the verdict, or None"),
        ),
    ]
    on_outage: Annotated[
        OnOutage | None,
        Option(
            "None",
            "Called in the event loop with a message each time a request waits for an endpoint that does not "
            'answer, and with "" when the waiting ends.',
            (callable, "a function of the message"),
        ),
    ]


CONCURRENCY = 16
"""How many verdicts are in progress by default."""

NO_LIMIT = sys.maxsize

SPENT = {"max_calls": "calls made", "max_tokens": "tokens used"}
"""What the budget options count."""

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
    other judges skip it. The name of a library judge also means your own judges whose prompt files say
    `offline:` with that name. A name that is neither a judge of this run nor one that comes with groundjudge
    is most likely misspelt: it gets a verdict with the code `unknown_judge`.

    A request that hits a rate limit is retried up to 8 times, after at least the time that the endpoint
    asks for. Meanwhile, fewer requests are in flight.

    If the connection to an endpoint that has answered before fails, the run waits: each request is sent again
    after 1 second, then 2, 4 and so on up to 30 seconds, and at once when another request is answered. Rows
    get an error with the code `connection` after 300 seconds without any answer (a server that restarts and
    loads a model is back by then), or if they fail 3 times while others are answered. `deadline` and
    `max_calls` apply all the time, and all attempts for a request count as one call.

    Args:
        judges: one or more judges. They share the concurrency.
        cases: any iterable. It is read as rows are needed, in the event loop, so an iterable that waits
            for its rows should be asynchronous. A row without an id gets the `case_id` "row N", where N
            is its position among the rows, from 1.
        options: see `RunOptions`.

    Raises:
        ValueError: there is no judge, two judges have the same name, or a number is out of range.
        TypeError: `judges` contains a name, `cases` is a single case, a string or a data frame, or an option
            is unknown.
        ModelError: no further row can be judged: `auth`, `quota`, `not_found` (with the endpoint's
            message), `no_endpoint`, `connection` when an endpoint has never answered and the connection
            failed for every row in flight, or `budget` when max_calls or max_tokens is used up. It is raised
            after all finished verdicts were yielded; the remaining rows have none. Requests in flight are
            cancelled, except for `budget`, where they are completed.
        Exception: any error from reading `cases`, after the verdicts of the rows before it.
    """
    return judge_rows(judges, cases, options, lambda _, verdict: verdict)


def judge_rows(
    judges: AnyJudge | Sequence[AnyJudge],
    cases: Rows,
    options: RunOptions,
    output: Callable[[int, Verdict], T],
) -> AsyncGenerator[T, None]:
    """Return what `output` makes of each verdict of `arun` and of the position of its row, from 1.

    Raises:
        ValueError, TypeError, ModelError, Exception: as for `arun`.
    """
    check_options(options, RunOptions)
    concurrency = options.get("concurrency", CONCURRENCY)
    checked_judges = check_judges(judges, concurrency)
    check_cases(cases)
    limits = Limits(options)
    make_jobs = partial(jobs_of, judges=checked_judges, ids={}, previous=options.get("previous"))
    at_once = _rows_at_once(concurrency, checked_judges, limits.budget)
    return _outputs(cases, make_jobs, limits, at_once, output, ordered=options.get("ordered", False))


@overload
def run(judges: AnyJudge | Sequence[AnyJudge], cases: F, **options: Unpack[RunOptions]) -> F: ...


@overload
def run(
    judges: AnyJudge | Sequence[AnyJudge], cases: Rows, **options: Unpack[RunOptions]
) -> Generator[Verdict, None, None]: ...


def run(
    judges: AnyJudge | Sequence[AnyJudge], cases: Rows | F, **options: Unpack[RunOptions]
) -> Generator[Verdict, None, None] | F:
    """Judge many cases as `arun` does, from synchronous code.

    The work runs in an event loop in a separate thread, so this function works in a script, in a
    notebook, inside a running event loop and from several threads at once; `cases` is read and `previous`
    is called in that thread. Closing the generator ends the work: requests in flight are cancelled.

    Given a pandas DataFrame with a case in each row, it returns a DataFrame with a verdict in each row, in
    the same order and with the index of its case: `case_id`, and the columns that
    `groundjudge.runs.arrow.judge_batches` describes.

    Raises:
        ValueError, TypeError, ModelError, Exception: as for `arun`. If a run over a data frame ends early,
            the error's `verdicts` are those of the rows that were judged.
    """
    if _is_frame(cases):
        return _judge_frame(judges, cast("F", cases), options)
    return in_a_thread(arun(judges, cast("Rows", cases), **options))


def _is_frame(cases: object) -> bool:
    return hasattr(cases, "itertuples") and hasattr(cases, "columns")


def _judge_frame(judges: AnyJudge | Sequence[AnyJudge], frame: F, options: RunOptions) -> F:
    make_frame: Any = type(frame)
    twice = find_duplicate(map(str, frame.columns))
    if twice is not None:
        message = f"two columns of the data frame have the name {twice!r}: rename or drop one of them"
        raise ValueError(message)
    rows: list[dict[str, object]] = []
    places: list[int] = []
    in_order: RunOptions = {"ordered": True, **options}

    def verdicts_so_far() -> Any:  # noqa: ANN401  a frame
        return make_frame(rows, index=frame.index.take(places))

    outputs = judge_rows(
        judges, frame.to_dict("records"), in_order, lambda number, verdict: (number, verdict)
    )
    try:
        for number, verdict in in_a_thread(outputs):
            rows.append({"case_id": verdict.case_id, **row_of_verdict(verdict)})
            places.append(number - 1)
    except ModelError as error:
        error.verdicts = verdicts_so_far()
        raise
    return cast("F", verdicts_so_far())


def case_of(row: Case | Mapping[str, Any], number: int) -> Case:
    """Make a case from a row. Its `id` is the `case_id` of its verdicts.

    Args:
        row: the row.
        number: its position among the rows, from 1.

    Raises:
        CaseError: as for `Case.from_mapping`.
    """
    case = Case.of(row)
    case_id = id_of(row, number)
    if case.id == case_id:
        return case
    return case.replace(id=case_id)


def id_of(row: Row, number: int) -> str:
    """Return the row's own id, or "row N" if it has none; `number` is the row's position, from 1."""
    if isinstance(row, Case):
        value = row.id
    elif isinstance(row, Mapping):
        value = id_in(row)
    else:
        value = None
    if value is not None:
        row_id = well_formed(str(value))
        if row_id.strip():
            return row_id
    return f"row {number}"


def check_judges(
    judges: J | Sequence[J], concurrency: int = 1, kinds: tuple[type, ...] = (BaseJudge,)
) -> tuple[J, ...]:
    """Return the judges of a run, or of an estimate, which may have rubrics among them, as a tuple.

    Raises:
        ValueError: there is none, two have the same name, or the concurrency is below 1. TypeError: one of
            them is a name, or something else that is not a judge.
    """
    all_judges: tuple[Any, ...] = tuple(judges) if isinstance(judges, Sequence) else (judges,)
    for judge in all_judges:
        if not isinstance(judge, kinds):
            kind = type(judge).__name__
            message = (
                f"judges must be Judge objects, as load() returns them, not {kind}; the cases come second"
            )
            raise TypeError(message)
    if not all_judges:
        message = "no judge given"
        raise ValueError(message)
    repeated_name = find_duplicate(judge.name for judge in all_judges)
    if repeated_name is not None:
        message = (
            f"two judges have the name {repeated_name!r}, so their verdicts would be indistinguishable: "
            "run two models one after the other, or let them vote in a panel(); or change the "
            "`name` of one of the prompts"
        )
        raise ValueError(message)
    _check_limit("concurrency", concurrency)
    return all_judges


def check_cases(cases: Rows) -> None:
    """Make sure that cases are not a single case, a path or a data frame, whose keys would be judged.

    Raises:
        TypeError: they are.
    """
    requirement = "cases must be an iterable of cases"
    if hasattr(cases, "to_dict"):  # iterating over a data frame yields its column names
        message = f'{requirement}: pass df.to_dict("records") for pandas, or df.to_dicts() for Polars'
        raise TypeError(message)
    if isinstance(cases, Case | Mapping | str | bytes):
        message = f"{requirement}: put a single case in a list, read a file with json"
        raise TypeError(message)


def _check_limit(name: str, limit: int) -> None:
    """Refuse a limit that is not a whole number above 0, such as a text from a file of settings.

    Raises:
        ValueError: it is not.
    """
    if not is_count(limit) or limit < 1:
        message = f"{name} must be a whole number, 1 or more, not {limit!r}"
        raise ValueError(message)


def find_duplicate(names: Iterable[str]) -> str | None:
    """Find the first name that occurs more than once; None if there is none."""
    for name, count in Counter(names).items():
        if count > 1:
            return name
    return None


def _rows_at_once(concurrency: int, judges: Sequence[AnyJudge], budget: Mapping[str, int]) -> int:
    """Return how many verdicts are in progress at a time; with a budget, fewer of those with several calls.

    Otherwise the first calls about many rows could use up the budget, and hardly any would get a verdict.
    """
    has_budget = any(limit != NO_LIMIT for limit in budget.values())
    if has_budget and any(rubric.window is not None for judge in judges for rubric in judge.rubrics):
        return 1  # how many calls a source takes is unknown
    n_votes = max(len(judge.rubrics) for judge in judges)
    if n_votes == 1:
        return concurrency
    n_rows = concurrency
    if budget["max_tokens"] != NO_LIMIT:
        n_rows = concurrency // n_votes
    # At most half of the calls go to rows in progress: those are lost when the budget ends.
    return max(1, min(n_rows, budget["max_calls"] // (2 * n_votes)))


def jobs_of(
    row: Row,
    number: int,
    judges: Sequence[J],
    ids: dict[int, int],
    previous: Callable[[J, Case], Verdict | None] | None = None,
) -> list[tuple[J, Case] | Verdict]:
    """Make the jobs for a row. An error in the row becomes a verdict.

    Args:
        row: the row.
        number: its position, from 1.
        judges: the judges.
        ids: empty for the first row of a run; `_check_id` notes the id of each row in it.
        previous: looks up the verdict of a previous run.

    Returns:
        For each judge of the row, the judge and the case, or a known verdict: that of a previous run, or an
        error. After them, an error for each misspelt judge name in the row.
    """
    if not isinstance(row, Case | Mapping | CaseError):  # pyright: ignore[reportUnnecessaryIsInstance]  callers may not check
        row = CaseError("unreadable_row", f"a row must be a Case or a mapping, not {type(row).__name__}")
    if isinstance(row, CaseError):
        return [_error_before_judging("", row, id_of(row, number))]
    # Until its id and its judges are known, an error applies to all judges, on "row N".
    case_id = f"row {number}"
    judges_of_row = judges
    unknown_verdicts: list[Verdict] = []
    jobs: list[tuple[J, Case] | Verdict] = []
    try:
        case_id = id_of(row, number)
        judges_of_row, unknown_judges = _judges_of_row(row, judges)
        for name, error in unknown_judges.items():
            unknown_verdicts.append(_error_before_judging(name, error, case_id))
        case = case_of(row, number)
        _check_id(case, judges_of_row, ids)
        for judge in judges_of_row:
            verdict = previous(judge, case) if previous else None
            jobs.append(verdict or (judge, case))
    except Exception as error:  # noqa: BLE001  an error in one row must not affect others
        if isinstance(error, CaseError) and error.code == "duplicate_id":
            case_id = f"row {number}"  # the id belongs to an earlier row
        jobs = [_error_before_judging(judge.name, error, case_id) for judge in judges_of_row]
    return jobs + unknown_verdicts


def _check_id(case: Case, judges: Sequence[AnyJudge | Rubric], ids: dict[int, int]) -> None:
    """Refuse an id that another row for one of the judges has: their verdicts would be indistinguishable.

    Equal rows are one case, regardless of their metadata.

    Args:
        case: the case.
        judges: those that judge it.
        ids: the ids of earlier rows, to which this one is added: by a hash of the id and the judge's name, a
            hash of the row. Only hashes are kept, so that memory hardly grows.

    Raises:
        CaseError: `duplicate_id`.
    """
    content = hash(case_hash(case, ()))
    for judge in judges:
        if ids.setdefault(hash((case.id, judge.name)), content) != content:
            message = (
                f"an earlier row with other contents also has the id {case.id!r}: give each case its own id"
            )
            raise CaseError("duplicate_id", message, "id")


def _judges_of_row(
    row: Case | Mapping[str, Any], judges: Sequence[J]
) -> tuple[Sequence[J], Mapping[str, CaseError]]:
    """Find the judges that apply to a row, which may name them, and an error for each misspelt name.

    A row without names is for all judges. The name of a groundjudge judge that is not part of this run is
    not an error: the file may be for several runs.

    Raises:
        CaseError: `field_unreadable`: the row's `judges` are not names.
    """
    row_names = as_plain(_judges_in(row))
    if isinstance(row_names, str):
        if not row_names.strip(" ,"):  # an empty cell of a table has no names
            return judges, {}
        listed_names = read_list(row_names, str)
        if listed_names is None:
            listed_names = [name.strip() for name in row_names.strip(" ,").split(",")]
        row_names = listed_names
    if is_absent(row_names):
        return judges, {}
    if not is_list(row_names) or not all(isinstance(name, str) for name in row_names):
        message = f"judges must be a list of names or a comma-separated string, not {row_names!r}"
        raise CaseError("field_unreadable", message, "judges")
    judges_of_row = [judge for judge in judges if not _judge_names(judge).isdisjoint(row_names)]
    foreign_names = set(row_names) - {judge.name for judge in judges}
    if not foreign_names:
        return judges_of_row, {}
    known_names = sorted({judge.name for judge in judges}.union(names()))
    unknown_judges: dict[str, CaseError] = {}
    for name in sorted(foreign_names.difference(known_names)):
        message = f"the row names an unknown judge {name!r}; the known judges are {', '.join(known_names)}"
        unknown_judges[name] = CaseError("unknown_judge", message, "judges")
    return judges_of_row, unknown_judges


def _judges_in(row: Case | Mapping[str, Any]) -> object:
    """Return what a row or, without such a key, its metadata has under `judges`; None if neither has it."""
    data = row.metadata if isinstance(row, Case) else row
    key = find_key(data, "judges")
    metadata_key = find_key(data, "metadata")
    if key is None and metadata_key is not None and isinstance(data[metadata_key], Mapping):
        data = data[metadata_key]
        key = find_key(data, "judges")
    return None if key is None else data[key]


def _judge_names(judge: AnyJudge | Rubric) -> set[str]:
    """Return the names that rows can use for a judge: its own, and those of library judges it resembles."""
    judge_names = {judge.name}
    for rubric in judge.rubrics:
        if rubric.prompt.front_matter.offline is not None:
            judge_names.add(rubric.prompt.front_matter.offline)
    return judge_names


async def _outputs(  # noqa: PLR0913, PLR0915  what a run is made of
    rows: Rows,
    make_jobs: Callable[[Row, int], Iterable[Job]],
    limits: Limits,
    concurrency: int,
    output: Callable[[int, Verdict], T],
    *,
    ordered: bool,
) -> AsyncGenerator[T, None]:
    """Do the jobs of the rows, some at a time, and yield what `output` makes of their verdicts.

    It is the only asynchronous generator of a run. The end of an event loop closes all open ones at the same
    time, when one that closes another would fail.
    """
    # An ordered run may judge ahead of the next verdict, but only up to a limit if the caller is slow.
    room = asyncio.Semaphore(MAX_WAITING * concurrency if ordered else concurrency)
    slots = asyncio.Semaphore(concurrency)
    open_tasks = set[asyncio.Task[Any]]()  # those not yet taken from the queue below
    ends: list[BaseException] = []  # what ended the run; the first counts
    # The tasks whose outputs come next: in the order of the rows, or as they finish.
    due: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()

    async def work(number: int, job: Job) -> T | None:
        """Do a job of the row with that number; None if it ends the run."""
        try:
            async with slots:
                verdict = job if isinstance(job, Verdict) else await _judge_case(limits, *job)
        except (EndsRunError, SystemExit, KeyboardInterrupt) as error:
            end = error.args[0] if isinstance(error, EndsRunError) else error
            ends.append(end)
            reading.cancel()
            # After the last call of a budget, requests in flight are completed.
            if getattr(end, "code", None) != "budget":
                _cancel_all(open_tasks)
            return None
        return output(number, verdict)

    async def read_rows() -> None:
        """Start a task for each job of each row, as soon as there is capacity for it."""
        await room.acquire()
        number = 0
        iterator = aiter(rows) if isinstance(rows, AsyncIterable) else iter(rows)
        while (row := await _next_row(iterator)) is not _END:
            number += 1
            for job in make_jobs(row, number):
                task = asyncio.create_task(work(number, job))
                open_tasks.add(task)
                if ordered:
                    due.put_nowait(task)
                else:
                    task.add_done_callback(due.put_nowait)
                await asyncio.sleep(0)  # it begins now: reading the next row may block the loop
                await room.acquire()

    reading = asyncio.create_task(read_rows())
    open_tasks.add(reading)
    reading.add_done_callback(due.put_nowait)
    try:
        while open_tasks:
            task = await due.get()
            if not task.done():
                await asyncio.wait([task])
            open_tasks.remove(task)
            if task is reading or task.cancelled():
                continue
            result = task.result()
            if result is not None:
                yield result
                room.release()
        if ends:
            raise ends[0]
        await reading  # raises what reading the rows raised
    finally:
        _cancel_all(open_tasks)
        await asyncio.gather(*open_tasks, return_exceptions=True)


def _cancel_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks that are not done."""
    for task in tasks:
        task.cancel()


async def _next_row(iterator: Any) -> Any:  # noqa: ANN401  an iterator of either kind; a row, or _END
    """Return the next row of an iterator, asynchronous or not; `_END` after the last one."""
    if hasattr(iterator, "__anext__"):
        return await anext(iterator, _END)
    return next(iterator, _END)


async def _judge_case(limits: Limits, judge: AnyJudge, case: Case) -> Verdict:
    """Return the verdict of a row; an error becomes one.

    Raises:
        EndsRunError, SystemExit, KeyboardInterrupt: no further row can be judged.
    """
    try:
        return await judge.ajudge(case, ask=partial(limits.ask, asyncio.get_running_loop().time()))
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise  # the run was cancelled; otherwise a client raised it
        return judge.error_verdict(error, case)
    except Exception as error:  # noqa: BLE001  an error in one row must not affect others
        return judge.error_verdict(error, case)


def _error_before_judging(judge: str, error: Exception, case_id: str) -> Verdict:
    """Return the verdict of a row that raised an error before it was judged."""
    return with_error(Verdict(judge=judge, status="error", case_id=case_id), error)


def in_a_thread(outputs: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """Yield what an async generator yields, from an event loop in a separate thread.

    It is a loop of this run alone: reading the rows may block it. Its end cancels what is in flight, also
    after an interrupt, and closes the generator.
    """
    thread = LoopThread("run")
    try:
        while (output := thread.run(anext, outputs, _END)) is not _END:
            yield cast("T", output)
    finally:
        if not sys.is_finalizing():  # daemon threads no longer run then, and a join would never return
            thread.close()


class EndsRunError(BaseException):
    """Carries an error that ends the run past the code that turns errors of rows and votes into verdicts."""


class Limits:
    """What limits the requests of a run. All its judges share them.

    A call is one request to the model, however many retries it took. Replies from a cache and requests
    rejected by a rate limit do not count. Tokens are known only once the reply has arrived, so the requests
    in flight when the last token is spent can exceed `max_tokens`.

    Attributes:
        budget: how many calls and tokens are allowed, by the name of the option.

    Raises:
        ValueError: a limit is below 1, or the deadline not above 0.
    """

    def __init__(self, options: RunOptions) -> None:
        deadline = options.get("deadline")
        if not is_deadline(deadline):
            message = f"deadline must be a number of seconds above 0, or None, not {deadline!r}"
            raise ValueError(message)
        self._deadline = deadline
        self.budget: dict[str, int] = {}
        limits = {"max_calls": options.get("max_calls"), "max_tokens": options.get("max_tokens")}
        for name, limit in limits.items():
            if limit is None:
                self.budget[name] = NO_LIMIT
            else:
                _check_limit(name, limit)
                self.budget[name] = limit
        self._spent = dict.fromkeys(self.budget, 0)
        self._free_calls = asyncio.Semaphore(self.budget["max_calls"])
        self._pace = Pace(options.get("concurrency", CONCURRENCY), options.get("on_outage"))

    async def ask(self, started: float, model: Model, request: Request) -> Reply:
        """Return the model's reply, if it arrives before the deadline of the row, which started at that time.

        Raises:
            EndsRunError: no further row can be judged.
            ModelError: as for `Pace.ask`; `timeout` after the deadline.
        """
        deadline = None if self._deadline is None else started + self._deadline
        timeout = asyncio.timeout_at(deadline)
        try:
            async with timeout:
                return await self._count_call(model, request)
        except ModelError as error:
            if error.code in ENDS_RUN or self._pace.ends_run(error):
                raise EndsRunError(error) from error
            raise
        except TimeoutError as error:
            if not timeout.expired():
                raise  # the model's own
            message = f"{model.name}: no verdict within the row's deadline of {self._deadline:g} s"
            raise model_error("timeout", message, model.name) from error

    async def _count_call(self, model: Model, request: Request) -> Reply:
        """Make one call and count it. If all calls are reserved, wait until one is free.

        Raises:
            ModelError: as for `Pace.ask`; `budget`, if a limit has been reached.
        """
        await self._free_calls.acquire()
        n_calls = 0  # how much this call counts, 0 or 1
        try:
            used_up = self._used_up()
            if used_up:
                name = used_up[0]
                message = f"{SPENT[name]}: {self._spent[name]}, and `{name}` allows {self.budget[name]}"
                raise model_error("budget", message, name)
            n_calls = 1  # a call that is cancelled or fails counts too
            reply = await self._pace.ask(model, request)
            if reply.cached:
                n_calls = 0
            if reply.usage:
                self._spent["max_tokens"] += reply.usage.total_tokens
        except ModelError as error:
            if error.code == "rate_limited":  # nothing was answered, so nothing is paid
                n_calls = 0
            raise
        finally:
            self._spent["max_calls"] += n_calls
            if n_calls == 0 or self._used_up():
                self._free_calls.release()  # the next waiting call must find out too
        return reply

    def _used_up(self) -> list[str]:
        """Return the names of the limits that have been reached."""
        return [name for name, limit in self.budget.items() if self._spent[name] >= limit]
