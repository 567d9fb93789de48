"""What a run does with a row whose connection is always cut, when no other row is answered meanwhile.

An endpoint that answers something else, the question for its models, is up: it is the row. One that does not
may be down, and is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from bundled_judges import EVERY_FIELD
from many_rows import GOOD, codes, ids, judge_named, rows, until_error
from outages import SOON, Flaky, at, number_in, shorten_waits
from standin_decisions import Decisions
from standin_openai import Answer, Cut, Hang, StandIn, Status

from groundjudge import Reply, Verdict, load, run
from groundjudge.models import openai as models_openai
from groundjudge.models import pacing
from groundjudge.models.cached import CachedModel
from groundjudge.models.decisions import DecisionModel
from groundjudge.models.pacing import REMEDY_OF_ROW
from groundjudge.models.shared import share_calls
from groundjudge.types import Model, Request

THE_ROW = "the endpoint answers other requests"
NO_LIST = Status(404, "no such page")
LATE = 60
"""Seconds. A row that is still waited for then is an error of another code, which fails the test."""


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


def cutting(numbers: Collection[int]) -> Callable[[dict[str, Any]], Answer]:
    """A script that cuts the connections of these rows, and answers all others."""

    def script(body: dict[str, Any]) -> Answer:
        return Cut() if number_in(body) in numbers else GOOD

    return script


def errors_by_id(verdicts: list[Verdict]) -> dict[str | None, str]:
    return {verdict.case_id: verdict.error.message for verdict in verdicts if verdict.error}


# The endpoint answers something else: the row is given up


@pytest.mark.parametrize(
    ("cut", "concurrency", "ordered"),
    [
        pytest.param({39}, 1, False, id="the last row, one at a time"),
        pytest.param({39}, 4, False, id="the last row, four at a time"),
        pytest.param({39}, 32, False, id="the last row, 32 at a time"),
        pytest.param({39}, 4, True, marks=pytest.mark.soak, id="the last row, in order"),
        pytest.param({38, 39}, 1, False, id="the last two rows, one at a time"),
        pytest.param({38, 39}, 4, False, marks=pytest.mark.soak, id="the last two rows, four at a time"),
        pytest.param({38, 39}, 32, False, id="the last two rows, 32 at a time"),
        pytest.param({20}, 1, False, id="a row in the middle, one at a time"),
        pytest.param({20}, 4, False, marks=pytest.mark.soak, id="a row in the middle, four at a time"),
        pytest.param({0}, 4, False, id="the first row"),
        pytest.param(
            {*range(1, 40, 8)}, 1, False, marks=pytest.mark.soak, id="every eighth row, one at a time"
        ),
        pytest.param({1, 39}, 32, False, marks=pytest.mark.soak, id="one of the first rows and the last"),
    ],
)
def test_a_row_that_is_always_cut_is_given_up(cut: set[int], concurrency: int, ordered: bool) -> None:  # noqa: FBT001
    with StandIn(cutting(cut), listing=NO_LIST) as server:
        judge = judge_named("j", at(server.url))
        verdicts = list(run(judge, rows(40), concurrency=concurrency, ordered=ordered, deadline=LATE))
    assert codes(verdicts) == {"ok": 40 - len(cut), "connection": len(cut)}
    errors = errors_by_id(verdicts)
    assert {*errors} == {str(number) for number in cut}
    for message in errors.values():
        assert THE_ROW in message
        assert "check that the endpoint is up" not in message
        assert message.endswith(f"({REMEDY_OF_ROW})")


@pytest.mark.parametrize(
    "listing",
    [
        pytest.param(GOOD, id="200"),
        pytest.param(
            Status(301, headers={"Location": "http://192.0.2.1/"}), marks=pytest.mark.soak, id="301"
        ),
        pytest.param(Status(302, headers={"Location": "http://192.0.2.1/"}), id="302"),
        pytest.param(Status(401), id="401"),
        pytest.param(Status(403), marks=pytest.mark.soak, id="403"),
        pytest.param(Status(404), id="404"),
        pytest.param(Status(405), id="405"),
        pytest.param(Status(429, retry_after=100), marks=pytest.mark.soak, id="429"),
        pytest.param(Status(500), marks=pytest.mark.soak, id="500"),
        pytest.param(Status(503), id="503"),
    ],
)
def test_any_status_is_an_answer(listing: Answer) -> None:
    with StandIn(cutting({2}), listing=listing) as server:
        verdicts = list(
            run(judge_named("j", at(server.url, max_retries=0)), rows(3), concurrency=1, deadline=LATE)
        )
    assert codes(verdicts) == {"ok": 2, "connection": 1}
    # Its first attempt tells nothing: the endpoint was asked only before the other three.
    assert (len(server.requests), server.n_listings) == (2 + 1 + 3, 3)


def test_a_redirect_is_not_followed() -> None:
    with StandIn() as elsewhere:
        listing = Status(307, headers={"Location": f"{elsewhere.url}/models"})
        with StandIn(cutting({2}), listing=listing) as server:
            verdicts = list(run(judge_named("j", at(server.url)), rows(3), concurrency=1, deadline=LATE))
    assert codes(verdicts) == {"ok": 2, "connection": 1}
    assert (server.n_listings, elsewhere.n_listings) == (3, 0)


def test_a_row_on_which_the_server_crashes_and_restarts_is_given_up() -> None:
    """Each restart takes two pauses; after it the server answers, until it is sent the row again."""
    n_waits = 0

    def crash_on_the_row(body: dict[str, Any]) -> Answer:
        if number_in(body) != 5:
            return GOOD
        server.listing = Cut()
        return Cut()

    def restart(_: str) -> None:
        nonlocal n_waits
        n_waits += 1
        if n_waits % 2 == 0:
            server.listing = NO_LIST

    with StandIn(crash_on_the_row, listing=NO_LIST) as server:
        judge = judge_named("j", at(server.url, max_retries=0))
        verdicts = list(run(judge, rows(6), concurrency=1, on_outage=restart, deadline=LATE))
    assert codes(verdicts) == {"ok": 5, "connection": 1}
    assert THE_ROW in errors_by_id(verdicts)["5"]
    assert len(server.requests) == 5 + 7


def test_the_waiting_for_a_row_is_announced_and_ended() -> None:
    messages: list[str] = []
    with StandIn(cutting({5}), listing=NO_LIST) as server:
        judge = judge_named("j", at(server.url))
        verdicts = list(run(judge, rows(6), concurrency=1, on_outage=messages.append, deadline=LATE))
    assert codes(verdicts) == {"ok": 5, "connection": 1}
    first, *others, last = messages
    assert first.startswith("m does not answer: waiting, next attempt in ")
    assert others
    assert all(message.startswith("m answers, but cuts off what is left: next attempt") for message in others)
    assert not last


# What is between a run and the endpoint passes it on


def cached(model: Model, folder: Path) -> Model:
    return CachedModel(model, folder / "cache")


def shared(model: Model, _: Path) -> Model:
    return share_calls(model)[0]


def held_by_a_class(model: Model, _: Path) -> Model:
    class Wraps:
        name = model.name

        async def acomplete(self, request: Request) -> Reply:
            return await model.acomplete(request)

    wrapper: Any = Wraps
    wrapper.model = model
    return Wraps()


def shared_and_cached(model: Model, folder: Path) -> Model:
    return share_calls(cached(model, folder))[0]


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(cached, id="a cache"),
        pytest.param(shared, id="shared calls"),
        pytest.param(shared_and_cached, id="shared calls of a cache"),
        pytest.param(held_by_a_class, id="an attribute of a class"),
    ],
)
def test_a_model_that_wraps_another_asks_its_endpoint(
    wrap: Callable[[Model, Path], Model], tmp_path: Path
) -> None:
    with StandIn(cutting({5}), listing=NO_LIST) as server:
        judge = judge_named("j", wrap(at(server.url), tmp_path))
        verdicts = list(run(judge, rows(6), concurrency=1, deadline=LATE))
    assert codes(verdicts) == {"ok": 5, "connection": 1}
    assert server.n_listings


@pytest.mark.parametrize(
    ("form", "path", "path_of_list"),
    [
        pytest.param("decisions", "/v1", "/v1/models", id="OpenAI's form"),
        pytest.param("systemone", "", "/models", id="System One"),
    ],
)
def test_a_decision_model_asks_its_endpoint(form: str, path: str, path_of_list: str) -> None:
    decide = Decisions()

    def script(body: dict[str, Any]) -> Answer:
        return Cut() if "poison" in str(body) else decide(body)

    cases = [{**EVERY_FIELD, "id": "0"}, {**EVERY_FIELD, "id": "1", "response": "A poison."}]
    with StandIn(script, listing=NO_LIST) as server:
        model = DecisionModel(f"{form}:m", base_url=server.root + path)
        verdicts = list(run(load("groundedness", model=model), cases, concurrency=1, deadline=LATE))
    assert codes(verdicts) == {"ok": 1, "connection": 1}
    assert THE_ROW in errors_by_id(verdicts)["1"]
    assert errors_by_id(verdicts)["1"].count("(") == 1  # its remedy
    assert {listing.path for listing in server.listings} == {path_of_list}


# The endpoint answers nothing: it is waited for


@pytest.mark.parametrize(
    ("n_good", "concurrency"),
    [
        pytest.param(59, 1, marks=pytest.mark.soak, id="at the last row, one at a time"),
        pytest.param(59, 4, id="at the last row, four at a time"),
        pytest.param(57, 32, id="at the last three rows"),
        pytest.param(30, 4, marks=pytest.mark.soak, id="in the middle"),
    ],
)
def test_an_endpoint_that_accepts_and_closes_loses_no_row(n_good: int, concurrency: int) -> None:
    with StandIn(Flaky(n_good, 24)) as server:
        judge = judge_named("j", at(server.url))
        verdicts = list(run(judge, rows(60), concurrency=concurrency, deadline=LATE))
    assert codes(verdicts) == {"ok": 60}
    assert server.n_listings  # it was asked, and said nothing


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_port_that_is_closed_for_a_while_loses_no_row(concurrency: int) -> None:
    n_waits = 0

    def restart(_: str) -> None:
        nonlocal n_waits
        n_waits += 1
        if n_waits == 6:
            later.enter_context(StandIn([GOOD], port=server.port, listing=NO_LIST))

    with ExitStack() as later:
        with StandIn([GOOD], listing=NO_LIST) as server:
            judge = judge_named("j", at(server.url))
            judging = run(
                judge, rows(20), concurrency=concurrency, ordered=True, on_outage=restart, deadline=LATE
            )
            verdicts = [next(judging) for _ in range(19 - 4 * concurrency)]
        verdicts.extend(judging)
    assert ids(verdicts) == [str(number) for number in range(20)]
    assert codes(verdicts) == {"ok": 20}


@pytest.mark.parametrize(
    ("listing", "n_listings"),
    [
        pytest.param(Hang(), range(1, 100), id="the question for its models hangs"),
        pytest.param(None, range(1, 100), id="nothing is answered"),
    ],
)
def test_after_too_long_the_row_is_an_error_of_the_endpoint(
    listing: Answer | None, n_listings: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "LONGEST_OUTAGE", 0.4)
    monkeypatch.setattr(models_openai, "LONGEST_KNOCK", SOON)
    with StandIn(cutting({5}), listing=listing) as server:
        verdicts = list(run(judge_named("j", at(server.url)), rows(6), concurrency=1, deadline=LATE))
    assert codes(verdicts) == {"ok": 5, "connection": 1}
    assert THE_ROW not in errors_by_id(verdicts)["5"]
    assert server.n_listings in n_listings


def test_an_endpoint_that_answers_nothing_but_the_question_for_its_models_is_waited_for() -> None:
    """Sixteen rows that are cut at once are no sixteen bad rows."""
    with StandIn(Flaky(20, 200), listing=NO_LIST) as server:
        judge = judge_named("j", at(server.url))
        verdicts = list(run(judge, rows(60), concurrency=16, deadline=LATE))
    assert codes(verdicts) == {"ok": 60}
    assert server.n_listings == 0


def test_few_rows_in_a_row_are_given_up_though_the_endpoint_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two are given up after four attempts each; the third is waited for until all is well."""
    monkeypatch.setattr(pacing, "MOST_SUSPECTS", 2)
    with StandIn(Flaky(5, 2 * 4 + 9), listing=NO_LIST) as server:
        judge = judge_named("j", at(server.url, max_retries=0))
        verdicts = list(run(judge, rows(40), concurrency=1, ordered=True, deadline=LATE))
    assert codes(verdicts) == {"ok": 38, "connection": 2}
    assert {*errors_by_id(verdicts)} == {"5", "6"}
    assert verdicts[7].retries == 9


def test_an_endpoint_that_never_answered_a_row_ends_the_run_as_ever() -> None:
    with StandIn([Cut()], listing=NO_LIST) as server:
        verdicts, error = until_error(run(judge_named("j", at(server.url)), rows(50), concurrency=4))
    assert (verdicts, error.code, server.n_listings) == ([], "connection", 0)
    assert THE_ROW not in error.message


def test_a_function_has_no_endpoint_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "LONGEST_OUTAGE", 0.2)

    def ask(request: Request) -> Reply:
        if request.case.response_text == "5":
            raise ConnectionResetError
        return Reply(GOOD)

    verdicts = list(run(judge_named("j", ask), rows(6), concurrency=1, deadline=LATE))
    assert codes(verdicts) == {"ok": 5, "connection": 1}
    assert THE_ROW not in errors_by_id(verdicts)["5"]
