"""What a run does when an endpoint cannot be connected to: from the start, or for a while."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any

import pytest
from many_rows import GOOD, codes, ids, judge_named, rows, until_error
from standin_openai import Answer, Cut, Hang, StandIn, Status

from groundjudge import Verdict, arun, run
from groundjudge.models import pacing
from groundjudge.models.cached import CachedModel
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Judge, Request

SOON = 0.02


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundjudge.models.pacing.FIRST_WAIT", SOON)
    monkeypatch.setattr(pacing, "FIRST_PAUSE", SOON)
    monkeypatch.setattr(pacing, "LONGEST_PAUSE", 5 * SOON)


@pytest.fixture
def closed() -> Iterator[str]:
    """The URL of a port that nobody listens on."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{unused.getsockname()[1]}/v1"


def at(url: str, **options: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=url, **options)


def number_in(body: dict[str, Any]) -> int:
    found = re.search(r"\n(\d+)\n", body["messages"][-1]["content"])
    assert found
    return int(found[1])


# An endpoint that never answers


@pytest.mark.parametrize(
    ("n_rows", "concurrency", "ordered"),
    [
        (960, 16, False),
        (1, 1, True),
        *(
            pytest.param(*row, marks=pytest.mark.soak)
            for row in ((960, 16, True), (960, 1, False), (3, 16, False), (1, 16, False))
        ),
    ],
)
def test_a_closed_port_ends_the_run(closed: str, n_rows: int, concurrency: int, ordered: bool) -> None:  # noqa: FBT001
    judging = run(judge_named("j", at(closed)), rows(n_rows), concurrency=concurrency, ordered=ordered)
    found, error = until_error(judging)
    assert (found, error.code, error.retries) == ([], "connection", 2)
    assert "check that the endpoint is up" in error.message


@pytest.mark.parametrize("concurrency", [1, 4, 16])
def test_no_more_rows_are_sent_than_are_in_flight(concurrency: int) -> None:
    with StandIn([Cut()]) as server:
        found, error = until_error(run(judge_named("j", at(server.url)), rows(500), concurrency=concurrency))
    assert (found, error.code) == ([], "connection")
    assert len(server.requests) == 3 * concurrency


def refuse(_: Request) -> str:
    raise ConnectionRefusedError


async def arefuse(_: Request) -> str:
    raise ConnectionRefusedError


@pytest.mark.parametrize("function", [refuse, arefuse])
def test_a_function_that_cannot_connect_ends_the_run(function: Callable[[Request], Any]) -> None:
    found, error = until_error(run(judge_named("j", function), rows(100), concurrency=8))
    assert (found, error.code) == ([], "connection")


def test_rows_that_need_no_endpoint_have_their_verdicts_before_the_run_ends(closed: str) -> None:
    cases = [{"id": "empty", "response": ""}, "no row", *rows(100)]
    found, error = until_error(run(judge_named("j", at(closed)), cases, concurrency=4))  # type: ignore[arg-type]
    assert (codes(found), error.code) == ({"empty_response": 1, "unreadable_row": 1}, "connection")


def test_a_reply_from_a_cache_is_no_answer_of_the_endpoint(tmp_path: Path) -> None:
    with StandIn([GOOD]) as server:
        model = CachedModel(at(server.url), tmp_path / "cache")
        assert codes(run(judge_named("j", model), rows(5))) == {"ok": 5}
    found, error = until_error(run(judge_named("j", model), rows(50), concurrency=4))
    assert (codes(found), error.code) == ({"ok": 5}, "connection")


@pytest.mark.soak
def test_a_closed_port_ends_the_run_though_another_endpoint_answers(closed: str) -> None:
    with StandIn([GOOD]) as server:
        judges = [judge_named("alive", at(server.url)), judge_named("dead", at(closed))]
        found, error = until_error(run(judges, rows(200), concurrency=4))
    assert error.code == "connection"
    assert {verdict.judge for verdict in found} <= {"alive"}


@pytest.mark.soak
def test_judges_at_the_same_url_are_at_one_endpoint(closed: str) -> None:
    judges = [judge_named(name, at(closed)) for name in "abc"]
    found, error = until_error(run(judges, rows(200), concurrency=6))
    assert (found, error.code) == ([], "connection")


def test_a_request_that_hangs_does_not_keep_the_run_from_ending() -> None:
    with StandIn(lambda body: Hang() if number_in(body) == 0 else Cut()) as server:
        judging = run(judge_named("j", at(server.url)), rows(50), concurrency=4, deadline=0.7)
        found, error = until_error(judging)
    assert error.code == "connection"
    assert codes(found).keys() <= {"timeout"}


def test_an_endpoint_that_answers_late_loses_no_row() -> None:
    cut = set[int]()

    def script(body: dict[str, Any]) -> Answer:
        number = number_in(body)
        if number < 3 and number not in cut:
            cut.add(number)
            return Cut()
        return GOOD

    with StandIn(script) as server:
        found = list(run(judge_named("j", at(server.url, max_retries=0)), rows(40), concurrency=4))
    assert codes(found) == {"ok": 40}


def test_an_error_response_is_an_answer() -> None:
    with StandIn(lambda body: Status(400, "no") if number_in(body) == 0 else Cut()) as server:
        judge = judge_named("j", at(server.url, max_retries=0))
        found = list(run(judge, rows(6), concurrency=6, deadline=1.0))
    assert codes(found) == {"bad_request": 1, "timeout": 5}  # the others wait for it


# An endpoint that answered before


class Flaky:
    """A script that cuts `n_cut` requests in a row, after `n_good` answers."""

    def __init__(self, n_good: int, n_cut: int) -> None:
        self.n_good, self.n_cut, self.n = n_good, n_cut, 0

    def __call__(self, _: dict[str, Any]) -> Answer:
        self.n += 1
        return Cut() if self.n_good < self.n <= self.n_good + self.n_cut else GOOD


@pytest.mark.parametrize(
    ("n_good", "n_cut", "concurrency", "ordered"),
    [
        (10, 100, 8, False),
        *(
            pytest.param(*outage, concurrency, ordered, marks=pytest.mark.soak)
            for outage in [(1, 40), (10, 100), (30, 7), (59, 30)]
            for concurrency in [1, 8]
            for ordered in [False, True]
        ),
    ],
)
def test_an_outage_loses_no_row(n_good: int, n_cut: int, concurrency: int, ordered: bool) -> None:  # noqa: FBT001
    with StandIn(Flaky(n_good, n_cut)) as server:
        judge = judge_named("j", at(server.url))
        found = list(run(judge, rows(60), concurrency=concurrency, ordered=ordered))
    assert codes(found) == {"ok": 60}
    assert sum(verdict.retries for verdict in found) == n_cut
    assert len(server.requests) == 60 + n_cut


def test_a_server_that_restarts_on_its_port_loses_no_row() -> None:
    said: list[str] = []
    waits = threading.Event()

    def hear(message: str) -> None:
        said.append(message)
        if message:
            waits.set()

    with ExitStack() as later:
        server = StandIn([GOOD])
        with server:
            judging = run(
                judge_named("j", at(server.url)), rows(200), concurrency=8, ordered=True, on_outage=hear
            )
            found = [next(judging) for _ in range(20)]
        more = threading.Thread(target=lambda: found.extend(judging))
        more.start()
        assert waits.wait(60)
        later.enter_context(StandIn([GOOD], port=server.port))
        more.join(60)
    assert ids(found) == [str(number) for number in range(200)]
    assert codes(found) == {"ok": 200}
    assert said[0].startswith("m does not answer: waiting, next attempt in ")
    assert not said[-1]


@pytest.mark.soak
def test_the_deadline_holds_while_a_run_waits() -> None:
    with StandIn(Flaky(5, 10_000)) as server:
        found = list(run(judge_named("j", at(server.url)), rows(12), concurrency=4, deadline=0.6))
    assert codes(found) == {"ok": 5, "timeout": 7}
    assert all("deadline of 0.6 s" in v.error.message for v in found if v.error)


@pytest.mark.soak
def test_all_attempts_of_a_request_are_one_call() -> None:
    with StandIn(Flaky(5, 60)) as server:
        judging = run(judge_named("j", at(server.url)), rows(100), concurrency=4, max_calls=20)
        found, error = until_error(judging)
    assert (codes(found), error.code) == ({"ok": 20}, "budget")
    assert error.message == "20 calls were made, and `max_calls` allows 20"


@pytest.mark.soak
def test_rows_get_their_errors_when_an_outage_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "LONGEST_OUTAGE", 0.4)
    said: list[str] = []
    with StandIn(Flaky(5, 10_000)) as server:
        found = list(run(judge_named("j", at(server.url)), rows(30), concurrency=4, on_outage=said.append))
    assert codes(found) == {"ok": 5, "connection": 25}
    assert said[0]
    assert not said[-1]


@pytest.mark.soak
def test_rows_are_judged_again_once_an_outage_that_was_too_long_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "LONGEST_OUTAGE", 0.2)
    with StandIn(lambda body: Cut() if 5 <= number_in(body) < 10 else GOOD) as server:
        found = list(run(judge_named("j", at(server.url)), rows(30), concurrency=1))
    assert codes(found) == {"ok": 25, "connection": 5}


@pytest.mark.soak
def test_a_row_that_alone_cannot_connect_gets_its_error_and_keeps_nobody_waiting() -> None:
    with StandIn(lambda body: Cut() if number_in(body) == 7 else GOOD, latency=0.01) as server:
        found = list(run(judge_named("j", at(server.url)), rows(400), concurrency=8))
    assert codes(found) == {"ok": 399, "connection": 1}
    assert sum(number_in(body) == 7 for body in server.bodies) == 3 * pacing.MAX_FAILURES


@pytest.mark.soak
def test_a_rate_limit_after_an_outage_is_paced_as_ever() -> None:
    answers: list[Answer] = [GOOD, *[Cut()] * 30, *[Status(429, retry_after=SOON)] * 7, GOOD]
    with StandIn(answers) as server:
        found = list(run(judge_named("j", at(server.url)), rows(2), concurrency=1))
    assert codes(found) == {"ok": 2}


@pytest.mark.parametrize("concurrency", [1, 8])
async def test_a_run_that_waits_can_be_cancelled(concurrency: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "FIRST_PAUSE", 1000.0)
    monkeypatch.setattr(pacing, "LONGEST_PAUSE", 1000.0)
    waits = asyncio.Event()
    found: list[Verdict] = []

    async def judging(url: str) -> None:
        verdicts = arun(
            judge_named("j", at(url)), rows(50), concurrency=concurrency, on_outage=lambda _: waits.set()
        )
        async with aclosing(verdicts):
            async for verdict in verdicts:
                found.append(verdict)  # noqa: PERF401  kept though it is cancelled

    with StandIn(Flaky(5, 10_000)) as server:
        task = asyncio.create_task(judging(server.url))
        await waits.wait()
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    assert codes(found) == {"ok": 5}


@pytest.mark.soak
def test_each_endpoint_has_its_own_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "LONGEST_OUTAGE", 0.3)
    with StandIn([GOOD]) as alive, StandIn(Flaky(3, 10_000)) as down:
        judges: list[Judge] = [judge_named("alive", at(alive.url)), judge_named("down", at(down.url))]
        found = list(run(judges, rows(40), concurrency=4))
    assert codes([v for v in found if v.judge == "alive"]) == {"ok": 40}
    assert codes([v for v in found if v.judge == "down"]) == {"ok": 3, "connection": 37}
