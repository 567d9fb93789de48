"""What a run does when an endpoint cannot be connected to: from the start, or for a while."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from many_rows import GOOD, codes, ids, judge_named, rows, until_error
from outages import SOON, Flaky, at, number_in, shorten_waits
from standin_openai import Answer, Cut, Hang, StandIn, Status

from groundjudge import ModelError, Verdict, arun, run
from groundjudge.models import pacing
from groundjudge.models.cached import CachedModel
from groundjudge.types import Judge, Request


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


@pytest.fixture
def closed_url() -> Iterator[str]:
    """The URL of a port that nobody listens on."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{unused.getsockname()[1]}/v1"


# An endpoint that never answers


@pytest.mark.parametrize(
    ("n_rows", "concurrency", "ordered"),
    [
        pytest.param(960, 16, False, id="many rows at once"),
        pytest.param(1, 1, True, id="one row"),
        pytest.param(960, 16, True, marks=pytest.mark.soak, id="many rows in order"),
        pytest.param(3, 16, False, marks=pytest.mark.soak, id="fewer rows than may be in flight"),
    ],
)
def test_a_closed_port_ends_the_run(closed_url: str, n_rows: int, concurrency: int, ordered: bool) -> None:  # noqa: FBT001
    judging = run(judge_named("j", at(closed_url)), rows(n_rows), concurrency=concurrency, ordered=ordered)
    verdicts, error = until_error(judging)
    assert (verdicts, error.code, error.retries) == ([], "connection", 2)
    assert "check that the endpoint is up" in error.message


def test_no_more_rows_are_sent_than_are_in_flight() -> None:
    with StandIn([Cut()]) as server:
        verdicts, error = until_error(run(judge_named("j", at(server.url)), rows(500), concurrency=4))
    assert (verdicts, error.code) == ([], "connection")
    assert len(server.requests) == 3 * 4


def test_a_function_that_cannot_connect_ends_the_run() -> None:
    def refuse(_: Request) -> str:
        raise ConnectionRefusedError

    verdicts, error = until_error(run(judge_named("j", refuse), rows(100), concurrency=8))
    assert (verdicts, error.code) == ([], "connection")


def test_rows_that_need_no_endpoint_have_their_verdicts_before_the_run_ends(closed_url: str) -> None:
    cases = [{"id": "empty", "response": ""}, "no row", *rows(100)]
    verdicts, error = until_error(run(judge_named("j", at(closed_url)), cases, concurrency=4))  # type: ignore[arg-type]
    assert (codes(verdicts), error.code) == ({"empty_response": 1, "unreadable_row": 1}, "connection")


def test_a_reply_from_a_cache_is_no_answer_of_the_endpoint(tmp_path: Path) -> None:
    with StandIn([GOOD]) as server:
        model = CachedModel(at(server.url), tmp_path / "cache")
        assert codes(run(judge_named("j", model), rows(5))) == {"ok": 5}
    verdicts, error = until_error(run(judge_named("j", model), rows(50), concurrency=4))
    assert (codes(verdicts), error.code) == ({"ok": 5}, "connection")


@pytest.mark.soak
def test_a_closed_port_ends_the_run_of_its_judges_though_another_endpoint_answers(closed_url: str) -> None:
    with StandIn([GOOD]) as server:
        judges = [judge_named(name, at(closed_url)) for name in "abc"]
        verdicts, error = until_error(run(judges, rows(200), concurrency=6))
        assert (verdicts, error.code) == ([], "connection")
        judges = [judge_named("alive", at(server.url)), judge_named("dead", at(closed_url))]
        verdicts, error = until_error(run(judges, rows(200), concurrency=4))
    assert error.code == "connection"
    assert {verdict.judge for verdict in verdicts} <= {"alive"}


@pytest.mark.soak
def test_a_request_that_hangs_does_not_keep_the_run_from_ending() -> None:
    with StandIn(lambda body: Hang() if number_in(body) == 0 else Cut()) as server:
        judging = run(judge_named("j", at(server.url)), rows(50), concurrency=4, deadline=0.7)
        verdicts, error = until_error(judging)
    assert error.code == "connection"
    assert codes(verdicts).keys() <= {"timeout"}


# An endpoint that answered before


@pytest.mark.parametrize(
    ("n_good", "n_cut", "concurrency", "ordered"),
    [
        pytest.param(10, 20, 8, False, id="after ten rows"),
        pytest.param(1, 20, 1, False, marks=pytest.mark.soak, id="after the first row, one at a time"),
        pytest.param(1, 40, 8, True, marks=pytest.mark.soak, id="after the first row, eight in order"),
        pytest.param(59, 20, 1, True, marks=pytest.mark.soak, id="at the last row, in order"),
        pytest.param(59, 30, 8, False, marks=pytest.mark.soak, id="at the last row, eight at a time"),
    ],
)
def test_an_outage_loses_no_row(n_good: int, n_cut: int, concurrency: int, ordered: bool) -> None:  # noqa: FBT001
    with StandIn(Flaky(n_good, n_cut)) as server:
        judge = judge_named("j", at(server.url))
        verdicts = list(run(judge, rows(60), concurrency=concurrency, ordered=ordered))
    assert codes(verdicts) == {"ok": 60}
    assert sum(verdict.retries for verdict in verdicts) == n_cut
    assert len(server.requests) == 60 + n_cut


@pytest.mark.soak
def test_a_server_that_restarts_on_its_port_loses_no_row() -> None:
    messages: list[str] = []

    def restart(message: str) -> None:
        if not messages:
            later.enter_context(StandIn([GOOD], port=server.port))
        messages.append(message)

    with ExitStack() as later:
        with StandIn([GOOD]) as server:
            judge = judge_named("j", at(server.url))
            judging = run(judge, rows(200), concurrency=8, ordered=True, on_outage=restart)
            verdicts = [next(judging) for _ in range(20)]
        verdicts.extend(judging)
    assert ids(verdicts) == [str(number) for number in range(200)]
    assert codes(verdicts) == {"ok": 200}
    assert messages[0].startswith("m does not answer: waiting; next attempt in ")
    assert not messages[-1]


def cut_rows(*numbers: int, least: int = 10_000) -> Callable[[dict[str, Any]], Answer]:
    """A script that cuts the connections of these rows, each so often."""
    cuts_left = dict.fromkeys(numbers, least)

    def script(body: dict[str, Any]) -> Answer:
        number = number_in(body)
        cuts_left[number] = cuts_left.get(number, 0) - 1
        return GOOD if cuts_left[number] < 0 else Cut()

    return script


def first_is_rejected(body: dict[str, Any]) -> Answer:
    return Status(400, "no") if number_in(body) == 0 else Cut()


BUSY: list[Answer] = [GOOD, *[Cut()] * 30, *[Status(429, retry_after=SOON)] * 7, GOOD]
QUICK = ("late answers lose no row",)
SCENES: dict[str, tuple[Any, int, dict[str, Any], dict[str, int]]] = {
    # what the endpoint does, the rows, the options of the run, and the codes of the rows
    "late answers lose no row": (cut_rows(0, 1, 2, least=3), 40, {}, {"ok": 40}),
    "an error is an answer": (first_is_rejected, 6, {"deadline": 0.6}, {"bad_request": 1, "timeout": 5}),
    "the deadline holds": (Flaky(5, 10_000), 12, {"deadline": 0.6}, {"ok": 5, "timeout": 7}),
    "attempts are one call": (Flaky(5, 60), 100, {"max_calls": 20}, {"ok": 20, "budget": 1}),
    "an outage is too long": (Flaky(5, 10_000), 30, {"longest": 0.4}, {"ok": 5, "connection": 25}),
    "an end after too long": (
        cut_rows(*range(5, 10)),
        30,
        {"longest": 0.2, "concurrency": 1},
        {"ok": 25, "connection": 5},
    ),
    "one row alone fails": (cut_rows(7), 400, {}, {"ok": 399, "connection": 1}),
    "a rate limit follows": (BUSY, 2, {"concurrency": 1}, {"ok": 2}),
}


@pytest.mark.parametrize(
    ("script", "n_rows", "options", "expected"),
    [
        pytest.param(*scene, id=name, marks=() if name in QUICK else pytest.mark.soak)
        for name, scene in SCENES.items()
    ],
)
def test_rows_of_an_endpoint_that_answers_at_times(
    script: Any,
    n_rows: int,
    options: dict[str, Any],
    expected: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings: dict[str, Any] = {"concurrency": 6, "longest": 300.0, **options}
    monkeypatch.setattr(pacing, "MAX_OUTAGE", settings.pop("longest"))
    messages: list[str] = []
    with StandIn(script) as server:
        judging = run(judge_named("j", at(server.url)), rows(n_rows), on_outage=messages.append, **settings)
        verdicts, ends = list[Verdict](), Counter[str]()
        try:
            verdicts.extend(judging)
        except ModelError as error:
            ends[error.code] += 1
    assert codes(verdicts) + ends == expected
    assert not messages or not messages[-1] or "timeout" in expected


async def test_a_run_that_waits_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "FIRST_PAUSE", 1000.0)
    monkeypatch.setattr(pacing, "MAX_PAUSE", 1000.0)
    waits = asyncio.Event()
    with StandIn(Flaky(5, 10_000)) as server:
        judge = judge_named("j", at(server.url))
        judging = arun(judge, rows(50), concurrency=8, on_outage=lambda _: waits.set())
        assert codes([await anext(judging) for _ in range(5)]) == {"ok": 5}
        task = asyncio.create_task(anext(judging))
        await waits.wait()
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()


@pytest.mark.soak
def test_each_endpoint_has_its_own_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "MAX_OUTAGE", 0.3)
    with StandIn([GOOD]) as alive, StandIn(Flaky(3, 10_000)) as down:
        judges: list[Judge] = [judge_named("alive", at(alive.url)), judge_named("down", at(down.url))]
        verdicts = list(run(judges, rows(40), concurrency=4))
    assert codes([verdict for verdict in verdicts if verdict.judge == "alive"]) == {"ok": 40}
    assert codes([verdict for verdict in verdicts if verdict.judge == "down"]) == {"ok": 3, "connection": 37}
