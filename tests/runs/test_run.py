"""Many cases: each row on its own, so many at a time, none lost."""

from __future__ import annotations

import asyncio
import logging
import random
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import closing
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from many_rows import GOOD, Echo, Row, ids, judge_named, rows
from scripted_model import ScriptedModel

from groundjudge import (
    Case,
    CaseError,
    ModelError,
    Request,
    Verdict,
    arun,
    run,
)
from groundjudge.case import well_formed

HALF = well_formed("\ud800")
FOREVER = 1000
"""Seconds: who waits for them meets pytest's timeout."""


def values(verdicts: Iterable[Verdict]) -> dict[str | None, float | None]:
    return {verdict.case_id: verdict.value for verdict in verdicts}


def left_over() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("groundjudge")]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ModelError("timeout", "no reply within 2 s"), "timeout", "no reply within 2 s"),
        (ValueError("odd"), "unexpected", "ValueError: odd"),
        (asyncio.CancelledError("a client's own"), "unexpected", "CancelledError: a client's own"),
        (UnicodeError("half \ud800"), "unexpected", f"UnicodeError: half {HALF}"),
    ],
    ids=["a model's error", "any error", "a cancelled client", "half a character"],
)
def test_what_a_row_raises_is_its_verdict_and_no_other_rows(
    caplog: pytest.LogCaptureFixture, error: BaseException, code: str, message: str
) -> None:
    caplog.set_level(logging.CRITICAL, "groundjudge")  # half a character cannot be sent from worker to worker
    judge = judge_named("j", Echo(fail={3: error}))
    found = {verdict.case_id: verdict for verdict in run(judge, rows(50))}
    failed = found.pop("3")
    assert (failed.status, failed.score, failed.passed) == ("error", None, None)
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == (code, message)
    assert failed.model_dump_json()
    assert values(found.values()) == {str(n): n for n in range(50) if n != 3}


def test_what_a_judge_raised_keeps_what_it_cost() -> None:
    (verdict,) = run(judge_named("j", ScriptedModel("no verdict here")), rows(1))
    assert verdict.error is not None
    assert (verdict.error.code, verdict.attempts, verdict.reply) == ("no_verdict", 2, "no verdict here")


def test_only_what_no_judge_should_raise_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    fail: dict[int, BaseException] = {1: ModelError("timeout", "late"), 2: ZeroDivisionError("oh")}
    with caplog.at_level(logging.INFO, "groundjudge"):
        list(run(judge_named("j", Echo(fail=fail)), rows(4)))
    (record,) = caplog.records
    assert record.getMessage() == "j: judging 2 raised an unexpected error"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)


async def test_verdicts_come_as_they_finish() -> None:
    others_came = asyncio.Event()

    async def answer(request: Request) -> str:
        if request.case.id == "0":
            await others_came.wait()
        return GOOD

    verdicts = arun(judge_named("j", answer), rows(500), concurrency=4)
    others = [await anext(verdicts) for _ in range(499)]
    assert set(ids(others)) == {str(number) for number in range(1, 500)}
    others_came.set()
    assert ids([verdict async for verdict in verdicts]) == ["0"]


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_ordered_verdicts_come_in_the_order_of_the_rows(concurrency: int) -> None:
    noise = random.Random(7)  # noqa: S311  no secret
    judges = [judge_named(name, Echo(wait=lambda _: noise.random() / 200)) for name in ("a", "b")]
    found = [(v.case_id, v.judge) for v in run(judges, rows(100), concurrency=concurrency, ordered=True)]
    assert found == [(str(number), name) for number in range(100) for name in ("a", "b")]


async def test_ordered_reading_pauses_behind_a_slow_row() -> None:
    gate = asyncio.Event()
    read: list[int] = []

    async def answer(request: Request) -> str:
        if request.case.id == "0":
            await gate.wait()
        return GOOD

    def counted() -> Iterator[dict[str, Any]]:
        for row in rows(1000):
            read.append(int(row["id"]))
            yield row

    verdicts = arun(judge_named("j", answer), counted(), concurrency=5, ordered=True)
    first = asyncio.create_task(anext(verdicts))
    while len(read) < 4 * 5:  # noqa: ASYNC110  reading sets no event
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)  # long enough for more rows to be read
    assert len(read) == 4 * 5
    gate.set()
    assert ids([await first, *[verdict async for verdict in verdicts]]) == [
        str(number) for number in range(1000)
    ]


def test_concurrency_is_reached_never_exceeded_and_shared_by_the_judges() -> None:
    full = asyncio.Event()
    in_flight: list[int] = [0]

    async def answer(_: Request) -> str:
        in_flight.append(in_flight[-1] + 1)
        if in_flight[-1] == 7:
            full.set()
        await full.wait()
        await asyncio.sleep(0.002)
        in_flight.append(in_flight[-1] - 1)
        return GOOD

    found = list(run([judge_named(name, answer) for name in "abc"], rows(100), concurrency=7))
    assert [verdict.status for verdict in found] == ["ok"] * 300
    assert max(in_flight) == 7


def test_functions_that_block_run_side_by_side() -> None:
    together = threading.Barrier(24, timeout=10)

    def answer(_: Request) -> str:
        together.wait()
        return GOOD

    assert {v.status for v in run(judge_named("j", answer), rows(48), concurrency=24)} == {"ok"}


@pytest.mark.parametrize("n", [2_000, pytest.param(20_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("ordered", [False, True])
def test_rows_stream(ordered: bool, n: int) -> None:  # noqa: FBT001  a row of the table
    read = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal read
        for row in rows(n):
            read += 1
            yield row

    ahead = taken = 0
    for taken, _ in enumerate(run(judge_named("j", ScriptedModel(GOOD)), counted(), ordered=ordered), 1):
        ahead = max(ahead, read - taken)
    assert taken == read == n
    assert ahead <= 5 * 16


async def test_no_task_per_row() -> None:
    before = len(asyncio.all_tasks())
    most = 0
    async for _ in arun(judge_named("j", Echo()), rows(500), concurrency=8):
        most = max(most, len(asyncio.all_tasks()) - before)
    assert most <= 8
    assert len(asyncio.all_tasks()) == before


def test_a_taker_that_takes_its_time_holds_the_reading_back() -> None:
    model = Echo()
    with closing(run(judge_named("j", model), rows(1000), concurrency=2)) as verdicts:
        next(verdicts)
        time.sleep(0.1)
        assert model.asked <= 5 * 2


def test_closing_early_ends_the_work() -> None:
    model = Echo(wait=lambda number: 0 if number < 3 else FOREVER)
    verdicts = run(judge_named("j", model), rows(10_000), concurrency=4)
    next(verdicts)
    verdicts.close()
    assert model.in_flight == 0
    assert model.given_up > 0
    assert model.asked < 20
    assert left_over() == []


async def test_closing_early_ends_the_work_in_the_same_loop() -> None:
    model = Echo(wait=lambda number: 0 if number < 3 else FOREVER)
    verdicts = arun(judge_named("j", model), rows(10_000), concurrency=4)
    await anext(verdicts)
    await verdicts.aclose()
    assert (model.in_flight, len(asyncio.all_tasks())) == (0, 1)


def test_a_break_ends_the_work() -> None:
    for _ in run(judge_named("j", Echo(wait=lambda number: 0 if number < 3 else FOREVER)), rows(100)):
        break
    assert left_over() == []


def test_nothing_is_done_before_the_first_verdict_is_asked_for() -> None:
    model = Echo()
    run(judge_named("j", model), rows(3))
    arun(judge_named("j", model), rows(3))
    time.sleep(0.02)
    assert (model.asked, left_over()) == (0, [])


async def test_works_inside_a_running_loop_and_twice_in_a_row() -> None:
    judge = judge_named("j", Echo())
    expected = {str(number): number for number in range(20)}
    assert values(run(judge, rows(20))) == expected
    assert values(run(judge, rows(20))) == expected
    assert values([verdict async for verdict in arun(judge, rows(20))]) == expected


def test_works_from_threads_at_once() -> None:
    judge = judge_named("j", Echo(wait=lambda _: 0.001))
    found: dict[int, dict[str | None, float | None]] = {}

    def work(n: int) -> None:
        found[n] = values(run(judge, rows(50 + n)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: {str(number): number for number in range(50 + n)} for n in range(4)}
    assert left_over() == []


async def test_runs_side_by_side_in_one_loop() -> None:
    judge = judge_named("j", Echo(wait=lambda _: 0.001))

    async def all_of(n: int) -> dict[str | None, float | None]:
        return values([verdict async for verdict in arun(judge, rows(n), concurrency=3)])

    found = await asyncio.gather(*(all_of(n) for n in range(20)))
    assert found == [{str(number): number for number in range(n)} for n in range(20)]


async def test_asynchronous_rows() -> None:
    async def arriving() -> AsyncIterator[Row]:
        for row in rows(30):
            await asyncio.sleep(0)
            yield row

    judge = judge_named("j", Echo(wait=lambda _: 0.001))
    expected = {str(number): number for number in range(30)}
    assert values([verdict async for verdict in arun(judge, arriving())]) == expected
    assert values(run(judge, arriving())) == expected


@pytest.mark.parametrize("ordered", [False, True])
def test_what_reading_raises_comes_after_the_verdicts_before_it(ordered: bool) -> None:  # noqa: FBT001
    def broken() -> Iterator[Row]:
        yield from rows(20)
        message = "the database is gone"
        raise OSError(message)

    found: list[Verdict] = []
    with pytest.raises(OSError, match="the database is gone"):
        found.extend(
            run(judge_named("j", Echo(wait=lambda _: 0.001)), broken(), concurrency=4, ordered=ordered)
        )
    assert values(found) == {str(number): number for number in range(20)}


def test_what_ends_a_program_ends_the_run() -> None:
    with pytest.raises(SystemExit):
        list(run(judge_named("j", Echo(fail={3: SystemExit(3)})), rows(10)))
    assert left_over() == []


class Lazy(dict[str, Any]):
    """A row whose cells are fetched when they are looked at, in vain."""

    def get(self, key: str, default: object = None) -> Any:
        raise OSError(key, default)


CAUGHT_CASE = CaseError("unreadable_row", "line 7: not JSON", "line 7")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param({"id": 9, "response": "1"}, [("a", "9", "ok"), ("b", "9", "ok")], id="mapping"),
        pytest.param(Case(id="x", response="1"), [("a", "x", "ok"), ("b", "x", "ok")], id="case"),
        pytest.param({"response": "1"}, [("a", "row 2", "ok"), ("b", "row 2", "ok")], id="no id"),
        pytest.param(
            {"id": " ", "response": "1"}, [("a", "row 2", "ok"), ("b", "row 2", "ok")], id="blank id"
        ),
        pytest.param({"id": 0, "response": "1"}, [("a", "0", "ok"), ("b", "0", "ok")], id="id 0"),
        pytest.param(Case(response="1"), [("a", "row 2", "ok"), ("b", "row 2", "ok")], id="case without id"),
        pytest.param(
            {"id": "\ud800", "response": "1"}, [("a", HALF, "ok"), ("b", HALF, "ok")], id="half an id"
        ),
        pytest.param(
            {"response": ""}, [("a", "row 2", "empty_response"), ("b", "row 2", "empty_response")], id="blank"
        ),
        pytest.param(
            {"query": "q"}, [("a", "row 2", "missing_field"), ("b", "row 2", "missing_field")], id="missing"
        ),
        pytest.param(CAUGHT_CASE, [("", "row 2", "unreadable_row")], id="an error stands for itself"),
        pytest.param("text", [("", "row 2", "unreadable_row")], id="no mapping"),
        pytest.param(None, [("", "row 2", "unreadable_row")], id="nothing"),
        pytest.param(
            {"id": "z", "answer": "1", "output": "2"},
            [("a", "z", "alias_conflict"), ("b", "z", "alias_conflict")],
            id="no case can be built: once per judge",
        ),
        pytest.param(
            {"answer": "1", "output": "2", "judges": ["b"]},
            [("b", "row 2", "alias_conflict")],
            id="no case can be built: only for the judges named",
        ),
        pytest.param({"response": "1", "judges": ["b"]}, [("b", "row 2", "ok")], id="judges named"),
        pytest.param(
            {"response": "1", "judges": "b , a"}, [("a", "row 2", "ok"), ("b", "row 2", "ok")], id="in a text"
        ),
        pytest.param(
            {"response": "1", "metadata": {"judges": ["b"]}},
            [("b", "row 2", "ok")],
            id="judges in the metadata",
        ),
        pytest.param(
            {"inputs": {"query": "q"}, "outputs": {"response": "1"}, "judges": ["b"]},
            [("b", "row 2", "ok")],
            id="judges beside inputs and outputs",
        ),
        pytest.param(
            Case(response="1", metadata={"judges": ["b"]}), [("b", "row 2", "ok")], id="judges of a case"
        ),
        pytest.param({"response": "1", "judges": ["groundedness"]}, [], id="a known judge of another run"),
        pytest.param({"response": "1", "judges": []}, [], id="none applies"),
        pytest.param(
            {"response": "1", "judges": ""}, [("a", "row 2", "ok"), ("b", "row 2", "ok")], id="not said"
        ),
        pytest.param(
            {"response": "1", "judges": None}, [("a", "row 2", "ok"), ("b", "row 2", "ok")], id="null"
        ),
        pytest.param(
            {"response": "1", "judges": ["b", "groundednes"]},
            [("b", "row 2", "ok"), ("groundednes", "row 2", "unknown_judge")],
            id="a misspelt judge is not passed over",
        ),
        pytest.param(
            {"response": "1", "judges": {"a": 1}},
            [("a", "row 2", "field_unreadable"), ("b", "row 2", "field_unreadable")],
            id="judges that are no names",
        ),
        pytest.param(
            Lazy(response="1"),
            [("a", "row 2", "unexpected"), ("b", "row 2", "unexpected")],
            id="a mapping that raises",
        ),
    ],
)
def test_rows(row: Any, expected: list[tuple[str, str, str]]) -> None:
    judges = [judge_named(name, ScriptedModel(GOOD)) for name in ("a", "b")]
    found = list(
        run(judges, [{"id": "first", "response": "1"}, row, {"id": "last", "response": "1"}], ordered=True)
    )
    assert [(v.judge, v.case_id, _outcome(v)) for v in found[2:-2]] == expected
    assert ids(found[:2] + found[-2:]) == ["first", "first", "last", "last"]
    assert all(verdict.model_dump_json() for verdict in found)


def _outcome(verdict: Verdict) -> str:
    return verdict.error.code if verdict.error else verdict.label or verdict.status


def test_a_misspelt_judge_is_told_with_those_that_are_known() -> None:
    (verdict,) = run(judge_named("mine", ScriptedModel(GOOD)), [{"response": "1", "judges": "groundednes"}])
    assert verdict.error is not None
    assert verdict.error.message.startswith("the row names the judge 'groundednes', which is none of ")
    assert "groundedness" in verdict.error.message
    assert "mine" in verdict.error.message


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"judges": []}, ValueError, "no judge given"),
        ({"concurrency": 0}, ValueError, "concurrency must be 1 or more, not 0"),
        ({"cases": {"response": "x"}}, TypeError, "put a single one in a list"),
        ({"cases": Case(response="x")}, TypeError, "put a single one in a list"),
        ({"cases": "cases.jsonl"}, TypeError, "read a file"),
    ],
)
@pytest.mark.parametrize("runs", [run, arun])
def test_wrong_arguments_are_told_at_once(
    runs: Callable[..., object], given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        runs(**{"judges": judge_named("j", ScriptedModel(GOOD)), "cases": [], **given})


def test_no_rows_no_verdicts() -> None:
    assert list(run(judge_named("j", ScriptedModel(GOOD)), [])) == []


def test_context_variables_are_seen_by_the_model() -> None:
    trace = ContextVar("trace", default="none")
    trace.set("mine")
    seen: list[str] = []

    async def answer(_: Request) -> str:
        seen.append(trace.get())
        return GOOD

    list(run(judge_named("j", answer), rows(3)))
    assert seen == ["mine"] * 3


def test_a_run_that_nobody_finishes_does_not_keep_the_program_from_ending() -> None:
    program = (
        "import itertools\n"
        "from many_rows import Echo, judge_named, rows\n"
        "from groundjudge import run\n"
        "verdicts = run(judge_named('j', Echo()), rows(10**9))\n"
        "print(next(verdicts).status)\n"
    )
    done = subprocess.run(  # noqa: S603  this very Python
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
