"""What a run does when the endpoint is busy, silent, or will not be asked at all."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from many_rows import GOOD, ids, judge_named, rows
from scripted_model import ScriptedModel
from standin_openai import Answer, Hang, StandIn, Status, Text

from groundjudge import ModelError, Reply, Request, Usage, Verdict, arun, run
from groundjudge.model import Model
from groundjudge.models.backoff import wait_before
from groundjudge.models.openai import OpenAIModel
from groundjudge.runs.budget import Budget
from groundjudge.runs.throttle import Throttle

SOON = 0.02
FOREVER = 1000
"""Seconds: who waits for them meets pytest's timeout."""


def codes(verdicts: list[Verdict]) -> Counter[str]:
    return Counter(verdict.error.code if verdict.error else verdict.status for verdict in verdicts)


def until_it_stops(verdicts: Iterator[Verdict]) -> tuple[list[Verdict], ModelError]:
    """The verdicts that came, and the error after them."""
    found: list[Verdict] = []
    with pytest.raises(ModelError) as stopped:
        found.extend(verdicts)
    return found, stopped.value


# The deadline of a row


async def never(_: Request) -> str:
    await asyncio.sleep(FOREVER)
    raise AssertionError


def blocked(_: Request) -> str:
    threading.Event().wait(FOREVER)
    raise AssertionError


def hanging(answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """Row 3 meets a model that never answers, all others are answered at once."""

    async def ask(request: Request) -> object:
        return await answer(request) if request.case.id == "3" else GOOD

    def block(request: Request) -> object:
        return answer(request) if request.case.id == "3" else GOOD

    return ask if answer is never else block


@pytest.mark.parametrize("answer", [never, blocked])
def test_a_model_that_never_answers_costs_one_row_its_deadline(answer: Callable[[Request], Any]) -> None:
    found = list(run(judge_named("j", hanging(answer)), rows(40), concurrency=4, deadline=1.0))
    assert codes(found) == {"ok": 39, "timeout": 1}
    assert ids(found)[-1] == "3"  # no other row waits for it
    assert found[-1].latency_s >= 1.0


async def test_the_deadline_holds_in_a_running_loop() -> None:
    found = [v async for v in arun(judge_named("j", hanging(blocked)), rows(9), concurrency=2, deadline=0.3)]
    assert codes(found) == {"ok": 8, "timeout": 1}


def test_the_deadline_covers_all_attempts_and_waits_and_keeps_what_was_spent() -> None:
    async def answer(request: Request) -> Reply:
        await asyncio.sleep(0.2 if len(request.messages) == 1 else FOREVER)
        return Reply("no verdict", usage=Usage(prompt_tokens=7))

    (verdict,) = run(judge_named("j", answer), rows(1), deadline=0.5)
    assert verdict.error
    assert verdict.error.code == "timeout"
    assert "deadline of 0.5 s" in verdict.error.message
    assert (verdict.attempts, verdict.usage, verdict.reply) == (2, Usage(prompt_tokens=7), "no verdict")
    assert verdict.latency_s >= 0.5


def test_the_deadline_covers_the_tries_of_an_endpoint() -> None:
    with StandIn([Hang()]) as server:
        model = OpenAIModel("m", base_url=server.url, timeout=0.3)
        (verdict,) = run(judge_named("j", model), rows(1), deadline=0.5)
    assert verdict.error
    assert verdict.error.code == "timeout"
    assert (
        "deadline of 0.5 s" in verdict.error.message
    )  # and not the model's own timeout, after all its tries


# Rate limits


class Limited:
    """An endpoint that answers `most` requests at a time and turns the others away."""

    name = "limited"

    def __init__(self, most: int, retry_after: float | None = SOON) -> None:
        self.most, self.retry_after = most, retry_after
        self.in_flight = 0
        self.answered: list[bool] = []
        """For each request, in the order of time, whether it was answered or turned away."""

    def complete(self, request: Request) -> Reply:
        raise NotImplementedError

    async def acomplete(self, request: Request) -> Reply:
        assert request.paced
        if self.in_flight >= self.most:
            self.answered.append(False)
            error = ModelError("rate_limited", "too many")
            error.retry_after = self.retry_after
            raise error
        self.in_flight += 1
        try:
            await asyncio.sleep(0.01)
        finally:
            self.in_flight -= 1
        self.answered.append(True)
        return Reply(GOOD)


def test_rate_limits_slow_a_run_down_and_lose_nothing() -> None:
    model = Limited(3)
    found = list(run(judge_named("j", model), rows(300), concurrency=32))
    assert codes(found) == {"ok": 300}
    assert sum(verdict.retries for verdict in found) == model.answered.count(False)
    assert {verdict.attempts for verdict in found} == {1}
    answers = [place for place, answered in enumerate(model.answered) if answered]
    late = model.answered[answers[100] :].count(False)
    assert late < 0.35 * (200 + late)  # about one in five is turned away once the pace is found


def test_the_pace_recovers() -> None:
    model = Limited(1)
    most = 0

    async def watch(request: Request) -> Reply:
        nonlocal most
        if model.answered.count(True) > 20:
            model.most = 1000
        reply = await model.acomplete(request)
        most = max(most, model.in_flight)
        return reply

    assert codes(list(run(judge_named("j", watch), rows(400), concurrency=16))) == {"ok": 400}
    assert most >= 14


async def test_one_request_is_always_in_flight() -> None:
    throttle = Throttle(4, Budget(None, None))
    asked = judge_named("j", print).rubric.ask(next(rows(1)))
    busy: Model = ScriptedModel(*[limited() for _ in range(8)], GOOD, GOOD)
    replies = await asyncio.gather(*(throttle.ask(busy, asked) for _ in range(2)))
    assert sum(reply.retries for reply in replies) == 8


def limited(retry_after: float | None = 0.001) -> ModelError:
    error = ModelError("rate_limited", "slow down")
    error.retry_after = retry_after
    return error


def test_retry_after_is_a_floor() -> None:
    started = time.perf_counter()
    (verdict,) = run(judge_named("j", ScriptedModel(limited(0.4), GOOD)), rows(1))
    assert time.perf_counter() - started >= 0.4
    assert (verdict.status, verdict.retries, verdict.attempts) == ("ok", 1, 1)


@pytest.mark.parametrize(
    ("retry", "retry_after", "least"), [(0, 0.4, 0.4), (7, 0.4, 0.4), (0, None, 0.5), (1, None, 1)]
)
def test_a_wait_is_at_most_a_quarter_longer_than_it_must_be(
    retry: int, retry_after: float | None, least: float
) -> None:
    waits = [wait_before(retry, retry_after) or 0 for _ in range(200)]
    assert least <= min(waits) < max(waits) <= 1.25 * least


@pytest.mark.parametrize(("retry_after", "asked"), [(0.001, 9), (300, 1)])
def test_retries_are_bounded(retry_after: float, asked: int) -> None:
    with StandIn([Status(429, retry_after=retry_after)]) as server:
        model = OpenAIModel("m", base_url=server.url)
        (verdict,) = run(judge_named("j", model), rows(1))
    assert verdict.error
    assert (verdict.error.code, verdict.retries) == ("rate_limited", asked - 1)
    assert len(server.requests) == asked  # the model's own retries do not multiply them


def test_faults_are_tried_again_by_the_model_and_counted() -> None:
    script: list[Answer] = [Status(500, retry_after=SOON), Status(429, retry_after=SOON), GOOD]
    with StandIn(script) as server:
        (verdict,) = run(judge_named("j", OpenAIModel("m", base_url=server.url)), rows(1))
    assert (verdict.status, verdict.retries, len(server.requests)) == ("ok", 2, 3)


# What ends a run

QUOTA = Status(429, "You exceeded your current quota.", "insufficient_quota")


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (QUOTA, "quota", "You exceeded your current quota."),
        (Status(401, "Bad key."), "auth", "Bad key."),
        (Status(404, "No such model."), "not_found", "No such model."),
    ],
)
@pytest.mark.parametrize("ordered", [False, True])
def test_what_every_row_would_meet_ends_the_run_and_keeps_what_is_done(
    answer: Answer,
    code: str,
    words: str,
    ordered: bool,  # noqa: FBT001  a row of the table
) -> None:
    begun = 0

    def script(_: dict[str, Any]) -> Answer:
        nonlocal begun
        begun += 1
        return GOOD if begun <= 20 else answer

    with StandIn(script) as server:
        judge = judge_named("j", OpenAIModel("m", base_url=server.url))
        found, error = until_it_stops(run(judge, rows(10_000), concurrency=4, ordered=ordered))
    assert codes(found) == {"ok": 20}
    assert error.code == code
    assert words in error.message
    assert begun <= 24


def test_what_ends_the_run_waits_for_nobody() -> None:
    with StandIn(lambda body: Hang() if "Rate 0" in str(body) else Status(401, "Bad key.")) as server:
        judge = judge_named("j", OpenAIModel("m", base_url=server.url, timeout=FOREVER))
        found, error = until_it_stops(run(judge, rows(50), concurrency=4, ordered=True))
    assert (found, error.code) == ([], "auth")


@pytest.mark.parametrize("words", ["Your input was flagged by moderation.", "Blocked by our content policy"])
def test_a_row_that_the_endpoint_will_not_have_ends_nothing(words: str) -> None:
    with StandIn([Status(403, words), GOOD]) as server:
        judge = judge_named("j", OpenAIModel("m", base_url=server.url))
        found = list(run(judge, rows(9), concurrency=1))
    assert codes(found) == {"bad_request": 1, "ok": 8}


# The budget


@pytest.mark.parametrize("concurrency", [1, 4, 16])
@pytest.mark.parametrize("ordered", [False, True])
def test_max_calls_is_kept_and_what_was_asked_is_finished(concurrency: int, ordered: bool) -> None:  # noqa: FBT001
    model = ScriptedModel(GOOD)
    found, error = until_it_stops(
        run(judge_named("j", model), rows(1000), concurrency=concurrency, ordered=ordered, max_calls=37)
    )
    assert (len(model.asked), codes(found), error.code) == (37, {"ok": 37}, "budget")
    assert error.message == "37 calls were made, and max_calls allows 37"


def test_a_budget_that_is_enough_ends_nothing() -> None:
    assert codes(list(run(judge_named("j", ScriptedModel(GOOD)), rows(37), max_calls=37))) == {"ok": 37}


def test_re_asks_are_calls_too() -> None:
    model = ScriptedModel("no verdict", "none", "none", GOOD)
    found, _ = until_it_stops(run(judge_named("j", model), rows(9), concurrency=1, max_calls=3))
    assert (len(model.asked), codes(found)) == (3, {"no_verdict": 1})  # the second row was not finished


def test_what_is_in_flight_when_the_tokens_are_spent_is_finished() -> None:
    with StandIn([Text(GOOD, usage=(90, 10))]) as server:
        judge = judge_named("j", OpenAIModel("m", base_url=server.url))
        found, error = until_it_stops(run(judge, rows(1000), concurrency=4, max_tokens=1000))
    assert error.message.endswith("tokens were spent, and max_tokens allows 1000")
    assert 10 <= len(found) <= 13
    assert len(found) == len(server.requests)


def test_what_costs_no_call_is_not_counted() -> None:
    cached = Reply(GOOD, cached=True)
    model = ScriptedModel(cached, limited(), cached, GOOD)
    found, _ = until_it_stops(run(judge_named("j", model), rows(9), concurrency=1, max_calls=2))
    assert len(found) == 4


@pytest.mark.parametrize("limits", [{"max_calls": 0}, {"max_tokens": 0}, {"deadline": 0}])
def test_limits_out_of_range(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        run(judge_named("j", ScriptedModel(GOOD)), rows(1), **limits)


# What is there already


def test_earlier_verdicts_are_yielded_in_their_place_and_nothing_is_asked() -> None:
    judge = judge_named("j", ScriptedModel(GOOD))
    first = {verdict.key: verdict for verdict in run(judge, rows(10))}
    assert len(first) == 10
    assert all(judge.key(row) in first for row in rows(10))
    model = ScriptedModel(GOOD)
    again = judge_named("j", model)
    found = list(run(again, rows(12), ordered=True, previous=lambda judge, case: first.get(judge.key(case))))
    assert ids(found) == [str(number) for number in range(12)]
    assert len(model.asked) == 2
    assert all(verdict is first[verdict.key] for verdict in found[:10])


def test_a_key_tells_what_differs_and_nothing_else() -> None:
    judge = judge_named("j", ScriptedModel(GOOD))
    row = {"id": "1", "response": "r"}
    assert judge.key(row) == judge_named("j", ScriptedModel("another reply")).key(
        {**row, "metadata": {"split": "x"}}
    )
    others = [
        judge.key({**row, "id": "2"}),
        judge.key({**row, "response": "s"}),
        judge_named("k", print).key(row),
    ]
    assert len({judge.key(row), judge_named("j", print).key(row), *others}) == 5


def test_a_key_is_had_for_calls_that_are_nested_deeply() -> None:
    nested: Any = 1
    for _ in range(300):
        nested = [nested]
    response = [{"role": "assistant", "content": "r", "tool_calls": [{"name": "f", "arguments": nested}]}]
    judge = judge_named("j", ScriptedModel(GOOD))
    assert judge.key({"response": response}) == judge.key({"response": response})
