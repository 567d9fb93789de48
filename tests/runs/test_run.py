"""Runs over many cases: rows are independent, concurrency is limited, no row is lost."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import signal
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from contextvars import ContextVar
from math import nan
from typing import Any, NamedTuple

import pytest
from command_line import run_program
from formatter import sure
from many_rows import GOOD, Echo, Row, codes, ids, judge_named, rows
from scripted_model import ScriptedModel

from groundjudge import (
    Case,
    CaseError,
    ModelError,
    Reply,
    Verdict,
    arun,
    cascade,
    estimate,
    load,
    panel,
    run,
)
from groundjudge.batches.lines import verdicts_of
from groundjudge.judging.panel import repeat_judge
from groundjudge.models.redaction import RedactedError
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.types import AnyJudge, Judge, Request
from groundjudge.verdict import well_formed

REPLACED = well_formed("\ud800")
FOREVER = 1000
"""Seconds; longer than pytest's timeout."""


def values(verdicts: Iterable[Verdict]) -> dict[str | None, float | None]:
    return {verdict.case_id: verdict.value for verdict in verdicts}


def remaining_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "groundjudge run"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ModelError("timeout", "no reply within 2 s"), "timeout", "no reply within 2 s"),
        (asyncio.CancelledError("by a client"), "unexpected", "CancelledError: by a client"),
        (UnicodeError("unpaired \ud800"), "unexpected", f"UnicodeError: unpaired {REPLACED}"),
    ],
    ids=["model error", "cancelled client", "unpaired surrogate"],
)
def test_error_in_one_row_becomes_its_verdict_and_affects_no_other_row(
    caplog: pytest.LogCaptureFixture, error: BaseException, code: str, message: str
) -> None:
    # pytest-xdist cannot send an unpaired surrogate in a log record
    caplog.set_level(logging.CRITICAL, "groundjudge")
    judge = judge_named("j", Echo(fail={3: error}))
    verdicts = {verdict.case_id: verdict for verdict in run(judge, rows(10))}
    failed = verdicts.pop("3")
    assert (failed.status, failed.score, failed.passed) == ("error", None, None)
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == (code, message)
    assert failed.model_dump_json()
    assert values(verdicts.values()) == {str(n): n for n in range(10) if n != 3}


def test_only_unexpected_errors_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    fail: dict[int, BaseException] = {1: ModelError("timeout", "late"), 2: ZeroDivisionError("oh")}
    with caplog.at_level(logging.INFO, "groundjudge"):
        list(run(judge_named("j", Echo(fail=fail)), rows(4)))
    (record,) = caplog.records
    assert record.getMessage() == "j: judging 2 raised an unexpected error"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], RedactedError)
    assert isinstance(record.exc_info[1].raised, ZeroDivisionError)


def waiting_at_0(gate: asyncio.Event) -> Judge:
    """A judge that answers at once, but row 0 only once the gate is open."""

    async def answer(request: Request) -> str:
        if request.case.id == "0":
            await gate.wait()
        return GOOD

    return judge_named("j", answer)


async def test_verdicts_are_yielded_as_they_finish() -> None:
    gate = asyncio.Event()
    verdicts = arun(waiting_at_0(gate), rows(50), concurrency=4)
    verdicts_before = [await anext(verdicts) for _ in range(49)]
    assert set(ids(verdicts_before)) == {str(number) for number in range(1, 50)}
    gate.set()
    assert ids([verdict async for verdict in verdicts]) == ["0"]


class Counted:
    """Rows that know how many of them were read."""

    def __init__(self, n: int) -> None:
        self.n, self.read = n, 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in rows(self.n):
            self.read += 1
            yield row


@pytest.mark.soak
@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_ordered_verdicts_are_in_the_order_of_rows_and_judges(concurrency: int) -> None:
    noise = random.Random(7)  # noqa: S311  not a secret
    judges = [judge_named(name, Echo(wait=lambda _: noise.random() / 200)) for name in ("a", "b")]
    verdicts = run(judges, rows(100), concurrency=concurrency, ordered=True)
    order = [(verdict.case_id, verdict.judge) for verdict in verdicts]
    assert order == [(str(number), name) for number in range(100) for name in ("a", "b")]


@pytest.mark.soak
async def test_slow_row_pauses_ordered_reading() -> None:
    gate, counter = asyncio.Event(), Counted(1000)
    verdicts = arun(waiting_at_0(gate), counter, concurrency=5, ordered=True)
    first = asyncio.create_task(anext(verdicts))
    for _ in range(500):  # long enough for more rows to be read
        await asyncio.sleep(0)
    assert counter.read == 4 * 5
    gate.set()
    assert ids([await first, *[verdict async for verdict in verdicts]]) == [str(n) for n in range(1000)]


@pytest.mark.parametrize("ordered", [False, True])
def test_rows_are_read_as_verdicts_are_taken(ordered: bool) -> None:  # noqa: FBT001  a row of the table
    counter = Counted(150)
    verdicts = run(judge_named("j", ScriptedModel(GOOD)), counter, ordered=ordered)
    assert max(counter.read - n_verdicts for n_verdicts, _ in enumerate(verdicts, 1)) <= 5 * 16
    assert counter.read == 150


class HeldUntil:
    """Answers no request before so many are in flight, and counts the most that there were."""

    name = identity = "held"

    def __init__(self, n_in_flight: int) -> None:
        self.expected = n_in_flight
        self.in_flight = self.most_in_flight = 0
        self.reached = asyncio.Event()

    async def acomplete(self, request: Request) -> Reply:  # noqa: ARG002  required by the protocol
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        if self.in_flight == self.expected:
            self.reached.set()
        await asyncio.wait_for(self.reached.wait(), 60)
        self.in_flight -= 1
        return Reply(GOOD)


def test_concurrency_is_reached_but_not_exceeded_by_all_judges_together() -> None:
    model = HeldUntil(7)
    verdicts = run([judge_named(name, model) for name in "abc"], rows(20), concurrency=7)
    assert codes(verdicts) == {"ok": 60}
    assert model.most_in_flight == 7


def test_blocking_functions_run_concurrently() -> None:
    together = threading.Barrier(24, timeout=60)

    def answer(_: Request) -> str:
        together.wait()
        return GOOD

    assert {v.status for v in run(judge_named("j", answer), rows(24), concurrency=24)} == {"ok"}


@pytest.mark.parametrize("is_async", [False, True])
def test_closing_the_generator_cancels_requests_in_flight(*, is_async: bool) -> None:
    model = Echo(wait=lambda number: 0 if number < 3 else FOREVER)
    judge = judge_named("j", model)

    async def close() -> None:
        verdicts = arun(judge, rows(10_000), concurrency=4)
        await anext(verdicts)
        await verdicts.aclose()
        assert len(asyncio.all_tasks()) == 1

    if is_async:
        asyncio.run(close())
    else:
        with closing(run(judge, rows(10_000), concurrency=4)) as verdicts:
            next(verdicts)
    assert model.in_flight == 0
    assert model.cancelled > 0
    assert model.asked < 20
    assert remaining_threads() == []


async def arriving(n: int) -> AsyncIterator[Row]:
    for row in rows(n):
        await asyncio.sleep(0)
        yield row


async def keep_open(verdicts: AsyncGenerator[Verdict, None]) -> None:
    """Leaves the verdicts to the end of the loop."""
    KEPT.append(verdicts)
    await anext(verdicts)


async def drop(verdicts: AsyncGenerator[Verdict, None]) -> None:
    async for _ in verdicts:
        break


async def interrupt(verdicts: AsyncGenerator[Verdict, None]) -> None:
    asyncio.get_running_loop().call_later(0.05, signal.raise_signal, signal.SIGINT)
    async for _ in verdicts:
        pass


KEPT: list[AsyncGenerator[Verdict, None]] = []


@pytest.mark.parametrize(
    ("use", "source", "ordered"),
    [
        pytest.param(keep_open, rows, False, id="kept"),
        pytest.param(keep_open, arriving, True, id="kept, with rows that arrive"),
        pytest.param(drop, rows, True, id="dropped"),
        pytest.param(drop, arriving, False, id="dropped, with rows that arrive"),
        pytest.param(interrupt, rows, False, id="interrupted"),
        pytest.param(interrupt, arriving, True, id="interrupted, with rows that arrive"),
    ],
)
def test_loop_that_ends_before_the_run_reports_no_error(
    caplog: pytest.LogCaptureFixture,
    use: Callable[[AsyncGenerator[Verdict, None]], Coroutine[Any, Any, None]],
    source: Callable[[int], Any],
    *,
    ordered: bool,
) -> None:
    async def judge() -> None:
        model = Echo(wait=lambda number: 0 if number < 3 else FOREVER)
        await use(arun(judge_named("j", model), source(100), ordered=ordered))

    with suppress(KeyboardInterrupt):
        asyncio.run(judge())
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("times", [1, 2])
def test_interrupted_run_leaves_no_thread(times: int) -> None:
    main = threading.main_thread().ident or 0

    async def answer(_: Request) -> str:
        for _number in range(times):
            signal.pthread_kill(main, signal.SIGINT)
        await asyncio.sleep(FOREVER)
        return GOOD

    with pytest.raises(KeyboardInterrupt):
        list(run(judge_named("j", answer), rows(100), concurrency=1))
    for thread in remaining_threads():  # after a second interrupt nobody has waited for it
        thread.join(60)
    assert remaining_threads() == []


@pytest.mark.soak
async def test_runs_do_not_disturb_each_other() -> None:
    """In one thread and in several, inside a running loop, with rows of either kind."""
    judge = judge_named("j", Echo(wait=lambda _: 0.001))

    async def by_arun(n: int) -> dict[str | None, float | None]:
        source = rows(n) if n % 2 else arriving(n)
        return values([verdict async for verdict in arun(judge, source, concurrency=3)])

    def by_run(n: int) -> dict[str | None, float | None]:
        return values(run(judge, rows(n) if n % 2 else arriving(n)))

    sizes = [*range(20), 50]
    expected = [{str(number): number for number in range(n)} for n in sizes]
    assert await asyncio.gather(*map(by_arun, sizes)) == expected
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(by_run, sizes)] == expected
    assert by_run(50) == expected[-1]
    assert remaining_threads() == []


def test_no_call_is_made_before_the_first_verdict_is_taken() -> None:
    model = Echo()
    run(judge_named("j", model), rows(3))
    arun(judge_named("j", model), rows(3))
    time.sleep(0.02)
    assert (model.asked, remaining_threads()) == (0, [])


@pytest.mark.parametrize("ordered", [False, True])
def test_error_of_the_rows_iterable_is_raised_after_the_verdicts_before_it(ordered: bool) -> None:  # noqa: FBT001
    def broken() -> Iterator[Row]:
        yield from rows(20)
        message = "database unavailable"
        raise OSError(message)

    verdicts: list[Verdict] = []
    with pytest.raises(OSError, match="database unavailable"):
        verdicts.extend(
            run(judge_named("j", Echo(wait=lambda _: 0.001)), broken(), concurrency=4, ordered=ordered)
        )
    assert values(verdicts) == {str(number): number for number in range(20)}


def test_system_exit_in_a_model_ends_the_run() -> None:
    with pytest.raises(SystemExit):
        list(run(judge_named("j", Echo(fail={3: SystemExit(3)})), rows(10)))
    assert remaining_threads() == []


class Lazy(dict[str, Any]):
    """A row whose keys are fetched on access, which fails."""

    def __iter__(self) -> Iterator[str]:
        raise OSError


UNREADABLE = CaseError("unreadable_row", "line 7: not JSON", "line 7")


def both(case_id: str, outcome: str = "ok") -> list[tuple[str, str, str]]:
    return [("a", case_id, outcome), ("b", case_id, outcome)]


ONLY_B = [("b", "row 2", "ok")]
NOT_A_ROW = [("", "row 2", "unreadable_row")]
ROWS: dict[str, tuple[Any, list[tuple[str, str, str]]]] = {
    "mapping": ({"id": 9, "response": "1"}, both("9")),
    "no id": ({"response": "1"}, both("row 2")),
    "id with an unpaired surrogate": ({"id": "\ud800", "response": "1"}, both(REPLACED)),
    "CaseError": (UNREADABLE, NOT_A_ROW),
    "not a mapping": ("text", NOT_A_ROW),
    "no case can be built: one verdict per judge": (
        {"id": "z", "answer": True},
        both("z", "field_unreadable"),
    ),
    "comma-separated judges": ({"response": "1", "judges": "b , a"}, both("row 2")),
    "judges in metadata": ({"response": "1", "metadata": {"judges": ["b"]}}, ONLY_B),
    "judges beside inputs and outputs": (
        {"inputs": {"query": "q"}, "outputs": {"response": "1"}, "judges": ["b"]},
        ONLY_B,
    ),
    "known judge of another run": ({"response": "1", "judges": ["groundedness"]}, []),
    "empty list of judges": ({"response": "1", "judges": []}, []),
    "judges is None": ({"response": "1", "judges": None}, both("row 2")),
    "judges in capitals": ({"response": "1", "JUDGES": "b"}, ONLY_B),
    "judges with a capital, in metadata with one": (
        {"response": "1", "Metadata": {"Judges": ["b"]}},
        ONLY_B,
    ),
    "judges with a capital, in metadata of a Case": (Case(response="1", metadata={"Judges": "b"}), ONLY_B),
    "misspelt judge": (
        {"response": "1", "judges": ["b", "groundednes"]},
        [*ONLY_B, ("groundednes", "row 2", "unknown_judge")],
    ),
    "judges is a mapping": ({"response": "1", "judges": {"a": 1}}, both("row 2", "field_unreadable")),
    "mapping that raises": (Lazy(response="1"), both("row 2", "unexpected")),
}


@pytest.mark.parametrize(("row", "expected"), ROWS.values(), ids=ROWS)
def test_row_gives_verdicts(row: Any, expected: list[tuple[str, str, str]]) -> None:
    judges = [judge_named(name, ScriptedModel(GOOD)) for name in ("a", "b")]
    verdicts = list(
        run(judges, [{"id": "first", "response": "1"}, row, {"id": "last", "response": "1"}], ordered=True)
    )
    outcomes = [(verdict.judge, verdict.case_id, outcome_of(verdict)) for verdict in verdicts[2:-2]]
    assert outcomes == expected
    assert ids(verdicts[:2] + verdicts[-2:]) == ["first", "first", "last", "last"]
    assert all(verdict.model_dump_json() for verdict in verdicts)


def outcome_of(verdict: Verdict) -> str:
    return verdict.error.code if verdict.error else verdict.label or verdict.status


class Record(NamedTuple):
    """What itertuples() of pandas gives."""

    response: str


@pytest.mark.parametrize("row", [Record("1"), None], ids=["a named tuple", "None"])
def test_what_is_no_row_is_reported(row: Any) -> None:
    (verdict,) = run(judge_named("j", ScriptedModel(GOOD)), [row])
    assert verdict.error
    assert verdict.error.message == f"a row must be a Case or a mapping, not {type(row).__name__}"


def test_misspelt_judge_is_reported_with_the_known_judges() -> None:
    (verdict,) = run(judge_named("mine", ScriptedModel(GOOD)), [{"response": "1", "judges": "groundednes"}])
    assert verdict.error is not None
    assert re.match(
        "the row names an unknown judge 'groundednes'; the known judges are .*, groundedness, .*mine",
        verdict.error.message,
    )


def own_judge(name: str, offline: str | None = None) -> Judge:
    return judge_named(name, ScriptedModel(GOOD), offline)


GROUNDEDNESS = load("groundedness", model=ScriptedModel(f"<S0>t</S0><S1>r</S1>{sure(5)}"))
MINE, OTHER = own_judge("mine", "groundedness"), own_judge("other", "passage_quality")
PLAIN = own_judge("plain")
RESEMBLING: dict[str, tuple[Sequence[AnyJudge], Any, list[str]]] = {
    "own judge that resembles it": ([MINE], ["groundedness"], ["mine"]),
    "own judge that resembles it, by its own name": ([MINE], ["mine"], ["mine"]),
    "in a table's cell": ([MINE], "passage_quality, groundedness", ["mine"]),
    "own judge that resembles nothing": ([PLAIN], ["groundedness"], []),
    "library judge of another run": ([GROUNDEDNESS], ["passage_quality"], []),
    "several own judges, each by what it resembles": (
        [MINE, OTHER, PLAIN],
        ["passage_quality", "plain"],
        ["other", "plain"],
    ),
    "two that resemble one": (
        [MINE, own_judge("second", "groundedness")],
        ["groundedness"],
        ["mine", "second"],
    ),
    "own and library judge": ([GROUNDEDNESS, MINE], ["groundedness"], ["groundedness", "mine"]),
    "panel, one of whose judges resembles it": (
        [panel([MINE, PLAIN])],
        ["groundedness"],
        ["mine+plain"],
    ),
    "panel of which none does": ([panel([OTHER, PLAIN])], ["groundedness"], []),
    "repeats": ([repeat_judge(MINE, 3)], ["groundedness"], ["mine"]),
    "cascade, whose second judge resembles it": (
        [cascade([PLAIN, MINE], until=(0.1, 0.9))],
        ["groundedness"],
        ["plain+mine"],
    ),
    "misspelt name": ([MINE], ["groundedness", "mien"], ["mine", "mien: unknown_judge"]),
    "misspelt name alone": ([MINE], ["groundednes"], ["groundednes: unknown_judge"]),
}


@pytest.mark.parametrize(("judges", "names_in_row", "outcomes"), RESEMBLING.values(), ids=RESEMBLING)
def test_rows_for_a_library_judge_are_for_own_judges_that_resemble_it(
    judges: Sequence[AnyJudge], names_in_row: Any, outcomes: list[str]
) -> None:
    row = {"query": "When?", "context": "At nine.", "response": "1", "judges": names_in_row}
    actual_outcomes: list[str] = []
    for verdict in run(judges, [row], ordered=True):
        failure = f": {verdict.error.code}" if verdict.error else ""
        actual_outcomes.append(verdict.judge + failure)
    assert actual_outcomes == outcomes
    n_calls = [estimated.n_calls + estimated.n_free for estimated in estimate(judges, [row])]
    assert sum(map(bool, n_calls)) == sum(":" not in outcome for outcome in outcomes)


class DataFrame(dict[str, Any]):
    def to_dict(self) -> None: ...


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        pytest.param({"judges": []}, ValueError, "no judge given", id="no judge"),
        pytest.param(
            {"judges": [judge_named("j", Echo())] * 2},
            ValueError,
            "two judges have the name 'j'",
            id="two judges of one name",
        ),
        pytest.param(
            {"concurrency": 0},
            ValueError,
            "concurrency must be a whole number, 1 or more, not 0",
            id="no concurrency",
        ),
        pytest.param(
            {"concurrency": "4"}, ValueError, "concurrency must be .*, not '4'", id="a text for a number"
        ),
        pytest.param({"max_calls": "3"}, ValueError, "max_calls must be .*, not '3'", id="calls in a text"),
        pytest.param(
            {"max_tokens": True}, ValueError, "max_tokens must be .*, not True", id="tokens switched on"
        ),
        pytest.param(
            {"deadline": "3"}, ValueError, "deadline must be a number of seconds above 0", id="time in a text"
        ),
        pytest.param(
            {"deadline": nan}, ValueError, "deadline must be a number of seconds above 0", id="no number"
        ),
        pytest.param(
            {"previous": {}}, TypeError, "previous must be a function", id="previous verdicts themselves"
        ),
        pytest.param(
            {"previous": {str(number): number for number in range(10_000)}},
            TypeError,
            r"previous must be a function from a judge and a case to .* not \{'0': 0, .*\.\.\.\}$",
            id="many previous verdicts",
        ),
        pytest.param(
            {"on_outage": "print"}, TypeError, "on_outage must be a function", id="a function's name"
        ),
        pytest.param(
            {"cases": {"response": "x"}}, TypeError, "put a single case in a list", id="a single case"
        ),
        pytest.param({"cases": "cases.jsonl"}, TypeError, "read a file", id="a path"),
        pytest.param({"cases": DataFrame()}, TypeError, r'df\.to_dict\("records"\)', id="a data frame"),
        pytest.param(
            {"concurency": 3},
            TypeError,
            "unknown option 'concurency', did you mean 'concurrency'",
            id="a misspelt option",
        ),
    ],
)
def test_wrong_arguments_raise_before_the_first_verdict(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    functions: list[Callable[..., object]] = [run, arun]
    for function in functions:
        with pytest.raises(error, match=message):
            function(**{"judges": judge_named("j", ScriptedModel(GOOD)), "cases": [], **arguments})


def test_context_variables_reach_the_model() -> None:
    trace = ContextVar("trace", default="none")
    trace.set("mine")
    traces: list[str] = []

    async def answer(_: Request) -> str:
        traces.append(trace.get())
        return GOOD

    list(run(judge_named("j", answer), rows(3)))
    assert traces == ["mine"] * 3


@pytest.mark.soak
def test_unfinished_run_does_not_keep_the_program_from_ending() -> None:
    program = (
        "from many_rows import Echo, judge_named, rows\n"
        "from groundjudge import run\n"
        "verdicts = run(judge_named('j', Echo()), rows(10**9))\n"
        "print(next(verdicts).status)\n"
    )
    assert run_program(program) == (0, "ok\n", "")


def test_id_of_two_different_rows_is_an_error_of_the_second() -> None:
    judge, unnamed = judge_named("j", ScriptedModel(GOOD)), {"response": "r"}
    first = {"id": "a", "response": "r"}
    other = {**first, "response": "Other."}
    rows: list[Row] = [
        first,
        {**first, "label": 1},
        other,
        unnamed,
        unnamed,
        {**other, "id": "row 7"},
        unnamed,
    ]
    ways = {"ok": run(judge, rows, ordered=True), "unanswered": verdicts_of([], judge, rows)}
    for outcome, verdicts in ways.items():
        assert codes(verdicts) == {outcome: 5, "duplicate_id": 2}
    assert estimate(judge, rows)[0].n_error == 2


@pytest.mark.parametrize(
    ("first", "second", "n_errors"),
    [
        pytest.param(["j"], ["k"], 0, id="no judge of both"),
        pytest.param(["j"], ["j"], 1, id="the same judge"),
        pytest.param(None, ["k"], 1, id="all, then one of them"),
        pytest.param(["k"], None, 3, id="one, then all"),
        pytest.param(["j", "k"], ["k", "l"], 2, id="one judge of both"),
    ],
)
def test_an_id_is_that_of_one_case_for_each_judge(
    first: list[str] | None, second: list[str] | None, n_errors: int
) -> None:
    judges = [judge_named(name, ScriptedModel(GOOD)) for name in "jkl"]
    rows: list[Row] = [
        {"id": "a", "response": "r", "judges": first},
        {"id": "a", "response": "Other.", "judges": second},
    ]
    verdicts = [*run(judges, rows, ordered=True)]
    assert codes(verdicts)["duplicate_id"] == n_errors
    assert [*latest_verdicts(verdicts)] == verdicts  # none takes the place of another


def test_a_row_with_the_id_of_another_is_a_case_of_its_own_in_a_file() -> None:
    judge = judge_named("j", ScriptedModel(GOOD))
    rows: list[Row] = [
        {"id": "a", "response": "r"},
        {"id": "b", "response": "r"},
        {"id": "a", "response": "Other."},
        {"id": "a", "response": "Another."},
    ]
    for order in (rows, [rows[0], *rows[2:], rows[1]]):
        verdicts = [*run(judge, order, ordered=True)]
        latest = latest_verdicts(verdicts)
        assert [*latest] == verdicts
        assert codes(latest) == {"ok": 2, "duplicate_id": 2}
        assert latest.n_cases == 4
