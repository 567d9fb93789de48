"""Runs against an endpoint that limits, hangs or refuses requests; budgets."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from many_rows import GOOD, codes, ids, judge_named, rows, until_error
from scripted_model import ScriptedModel
from standin_openai import Answer, Hang, StandIn, Status, Text

from groundjudge import ModelError, Reply, Usage, arun, run
from groundjudge.models.openai import OpenAIModel
from groundjudge.models.pacing import Pace, wait_before
from groundjudge.rubric.model import Model
from groundjudge.types import Request

SOON = 0.02
FOREVER = 1000
"""Seconds; longer than pytest's timeout."""


# Deadline of a row


async def never(request: Request) -> str:
    """Hangs at row 3 and answers all other rows at once."""
    await asyncio.sleep(FOREVER if request.case.id == "3" else 0)
    return GOOD


def block(request: Request) -> str:
    if request.case.id == "3":
        threading.Event().wait(FOREVER)
    return GOOD


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(never, id="never answered"),
        pytest.param(block, id="blocked", marks=pytest.mark.soak),
    ],
)
def test_row_of_a_hanging_model_times_out_and_delays_no_other_row(answer: Callable[[Request], Any]) -> None:
    verdicts = list(run(judge_named("j", answer), rows(20), concurrency=4, deadline=0.5))
    assert codes(verdicts) == {"ok": 19, "timeout": 1}
    place = ids(verdicts).index("3")
    assert place > 4  # the other rows do not wait for it; on a busy machine some may end after its deadline
    assert verdicts[place].latency_s > 0.25  # the wait counts; a timer may fire a little early


@pytest.mark.soak
def test_deadline_covers_all_attempts_and_the_verdict_has_their_usage() -> None:
    async def answer(request: Request) -> Reply:
        await asyncio.sleep(0 if len(request.messages) == 1 else FOREVER)
        return Reply("no verdict", usage=Usage(prompt_tokens=7))

    (verdict,) = run(judge_named("j", answer), rows(1), deadline=0.5)
    assert verdict.error
    assert verdict.error.code == "timeout"
    assert "deadline of 0.5 s" in verdict.error.message
    assert (verdict.attempts, verdict.usage, verdict.reply) == (2, Usage(prompt_tokens=7), "no verdict")
    assert verdict.latency_s > 0.25


@pytest.mark.soak
def test_deadline_covers_the_retries_of_the_model() -> None:
    with StandIn([Hang()]) as server:
        model = OpenAIModel("m", base_url=server.url, timeout=0.3)
        (verdict,) = run(judge_named("j", model), rows(1), deadline=0.5)
    assert verdict.error
    assert verdict.error.code == "timeout"
    assert "deadline of 0.5 s" in verdict.error.message  # not the model's own timeout after all retries


# Rate limits


class Limited:
    """An endpoint that answers `most` requests at a time and rejects the others with a rate limit."""

    name = "limited"

    def __init__(self, most: int, retry_after: float | None = SOON) -> None:
        self.most, self.retry_after = most, retry_after
        self.in_flight = self.highest = 0
        self.answered: list[bool] = []
        """For each request, in the order of time, whether it was answered."""

    async def acomplete(self, request: Request) -> Reply:
        assert request.paced
        if self.in_flight >= self.most:
            self.answered.append(False)
            error = ModelError("rate_limited", "too many")
            error.retry_after = self.retry_after
            raise error
        self.in_flight += 1
        self.highest = max(self.highest, self.in_flight)
        try:
            await asyncio.sleep(0.005)
        finally:
            self.in_flight -= 1
        self.answered.append(True)
        return Reply(GOOD)


def test_rate_limits_reduce_concurrency_and_lose_no_row() -> None:
    model = Limited(3)
    verdicts = list(run(judge_named("j", model), rows(150), concurrency=32))
    assert codes(verdicts) == {"ok": 150}
    assert sum(verdict.retries for verdict in verdicts) == model.answered.count(False)
    assert {verdict.attempts for verdict in verdicts} == {1}
    answers = [place for place, is_answered in enumerate(model.answered) if is_answered]
    late = model.answered[answers[75] :].count(False)
    assert late < 0.35 * (75 + late)  # about one in five is rejected once the concurrency has adapted


@pytest.mark.soak
async def test_concurrency_recovers_after_rate_limits() -> None:
    model, pace = Limited(1), Pace(16)
    request = judge_named("j", print).rubric.ask(next(rows(1)))
    await asyncio.gather(*(pace.ask(model, request) for _ in range(20)), return_exceptions=True)
    model.most, model.highest = 1000, 0
    await asyncio.gather(*(pace.ask(model, request) for _ in range(4)))
    reduced = model.highest
    await asyncio.gather(*(pace.ask(model, request) for _ in range(100)))
    assert (reduced < 8, model.highest) == (True, 16)


async def test_replies_from_a_cache_do_not_raise_concurrency() -> None:
    model, pace = Limited(1000), Pace(4)
    busy: Model = ScriptedModel(rate_limit(), rate_limit(), rate_limit(), GOOD)
    cache: Model = ScriptedModel(Reply(GOOD, cached=True))
    request = judge_named("j", print).rubric.ask(next(rows(1)))
    await pace.ask(busy, request)
    await asyncio.gather(*(pace.ask(cache, request) for _ in range(100)))
    await asyncio.gather(*(pace.ask(model, request) for _ in range(4)))
    assert model.highest < 4


async def test_rate_limits_leave_at_least_one_request_in_flight() -> None:
    pace = Pace(4)
    request = judge_named("j", print).rubric.ask(next(rows(1)))
    busy: Model = ScriptedModel(*[rate_limit() for _ in range(8)], GOOD, GOOD)
    replies = await asyncio.gather(*(pace.ask(busy, request) for _ in range(2)))
    assert sum(reply.retries for reply in replies) == 8


def rate_limit(retry_after: float | None = 0.001) -> ModelError:
    error = ModelError("rate_limited", "slow down")
    error.retry_after = retry_after
    return error


@pytest.mark.usefixtures("usual_first_wait")
@pytest.mark.parametrize(
    ("retry", "retry_after", "least"),
    [
        pytest.param(0, 0.4, 0.4, id="at least what the endpoint asks for"),
        pytest.param(7, 0.4, 0.4, id="and after many retries"),
        pytest.param(0, None, 0.5, id="the first wait of one's own"),
        pytest.param(1, None, 1, id="the second wait of one's own"),
    ],
)
def test_wait_is_at_most_a_quarter_longer_than_necessary(
    retry: int, retry_after: float | None, least: float
) -> None:
    waits = [wait_before(retry, retry_after) for _ in range(200)]
    assert least <= min(waits) < max(waits) <= 1.25 * least


@pytest.mark.parametrize(
    ("retry_after", "n_requests"),
    [pytest.param(0.001, 9, id="short waits"), pytest.param(300, 1, id="a wait that is too long")],
)
def test_number_of_retries_is_limited(retry_after: float, n_requests: int) -> None:
    with StandIn([Status(429, retry_after=retry_after)]) as server:
        model = OpenAIModel("m", base_url=server.url)
        (verdict,) = run(judge_named("j", model), rows(1))
    assert verdict.error
    assert (verdict.error.code, verdict.retries) == ("rate_limited", n_requests - 1)
    assert len(server.requests) == n_requests  # not multiplied by the model's own retries


def test_retries_of_the_model_are_counted() -> None:
    script: list[Answer] = [Status(500, retry_after=SOON), Status(429, retry_after=SOON), GOOD]
    with StandIn(script) as server:
        (verdict,) = run(judge_named("j", OpenAIModel("m", base_url=server.url)), rows(1))
    assert (verdict.status, verdict.retries, len(server.requests)) == ("ok", 2, 3)


# Errors that end a run

QUOTA = Status(429, "You exceeded your current quota.", "insufficient_quota")


@pytest.mark.parametrize(
    ("answer", "code", "words", "ordered"),
    [
        pytest.param(QUOTA, "quota", "You exceeded your current quota.", False, id="quota"),
        pytest.param(Status(404, "No such model."), "not_found", "No such model.", True, id="no such model"),
    ],
)
def test_error_that_affects_every_row_ends_the_run_after_finished_verdicts(
    answer: Answer,
    code: str,
    words: str,
    ordered: bool,  # noqa: FBT001  a row of the table
) -> None:
    with StandIn([*[GOOD] * 20, answer]) as server:
        judge = judge_named("j", OpenAIModel("m", base_url=server.url))
        verdicts, error = until_error(run(judge, rows(10_000), concurrency=4, ordered=ordered))
    assert codes(verdicts) == {"ok": 20}
    assert (error.code, words in error.message) == (code, True)
    assert len(server.requests) <= 24


def test_error_that_ends_the_run_does_not_wait_for_requests_in_flight() -> None:
    with StandIn(lambda body: Hang() if "Rate 0" in str(body) else Status(401, "Bad key.")) as server:
        judge = judge_named("j", OpenAIModel("m", base_url=server.url, timeout=FOREVER))
        verdicts, error = until_error(run(judge, rows(50), concurrency=4, ordered=True))
    assert (verdicts, error.code) == ([], "auth")


@pytest.mark.parametrize("steps", range(4))
def test_error_that_ends_the_run_is_raised_whenever_the_results_are_taken(steps: int) -> None:
    """They are taken so many steps of the event loop after the last row failed."""
    is_taken, fails = asyncio.Event(), asyncio.Event()

    async def answer(request: Request) -> str:
        if request.case.id == "1":
            await is_taken.wait()
            await asyncio.sleep(0.01)  # until the rows have been read
            fails.set()
            raise ModelError("quota", "no money")
        return GOOD

    async def take_results() -> None:
        async for _ in arun(judge_named("j", answer), rows(2), ordered=True):
            is_taken.set()
            await fails.wait()
            for _ in range(steps):
                await asyncio.sleep(0)

    with pytest.raises(ModelError, match="no money"):
        asyncio.run(asyncio.wait_for(take_results(), timeout=5))


def test_moderation_error_does_not_end_the_run() -> None:
    with StandIn([Status(403, "Your input was flagged by moderation."), GOOD]) as server:
        judge = judge_named("j", OpenAIModel("m", base_url=server.url))
        verdicts = list(run(judge, rows(9), concurrency=1))
    assert codes(verdicts) == {"refused": 1, "ok": 8}


# Budget


@pytest.mark.parametrize(("concurrency", "ordered"), [(1, False), (16, True)])
def test_max_calls_is_not_exceeded_and_requests_in_flight_are_completed(
    concurrency: int,
    ordered: bool,  # noqa: FBT001  a row of the table
) -> None:
    model = ScriptedModel(GOOD)
    judge = judge_named("j", model)
    judging = run(judge, rows(1000), concurrency=concurrency, ordered=ordered, max_calls=37)
    verdicts, error = until_error(judging)
    assert (len(model.asked), codes(verdicts), error.code) == (37, {"ok": 37}, "budget")
    assert error.message == "calls made: 37, and `max_calls` allows 37"


def test_sufficient_max_calls_does_not_end_the_run() -> None:
    assert codes(list(run(judge_named("j", ScriptedModel(GOOD)), rows(37), max_calls=37))) == {"ok": 37}


def test_reasks_count_as_calls() -> None:
    model = ScriptedModel("no verdict", "none", "none", GOOD)
    verdicts, _ = until_error(run(judge_named("j", model), rows(9), concurrency=1, max_calls=3))
    assert (len(model.asked), codes(verdicts)) == (3, {"no_verdict": 1})  # the second row was not finished


def test_requests_in_flight_are_completed_when_max_tokens_is_used_up() -> None:
    with StandIn([Text(GOOD, usage=(90, 10))]) as server:
        judge = judge_named("j", OpenAIModel("m", base_url=server.url))
        verdicts, error = until_error(run(judge, rows(1000), concurrency=4, max_tokens=1000))
    assert re.fullmatch(r"tokens used: 1[0-3]00, and `max_tokens` allows 1000", error.message)
    assert 10 <= len(verdicts) <= 13
    assert len(verdicts) == len(server.requests)


def test_cached_replies_and_rate_limited_requests_do_not_count_as_calls() -> None:
    cached = Reply(GOOD, cached=True)
    model = ScriptedModel(cached, rate_limit(), cached, GOOD)
    verdicts, _ = until_error(run(judge_named("j", model), rows(9), concurrency=1, max_calls=2))
    assert len(verdicts) == 4


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({"max_calls": 0}, id="calls"),
        pytest.param({"max_tokens": 0}, id="tokens"),
        pytest.param({"deadline": 0}, id="deadline"),
    ],
)
def test_limit_out_of_range_raises(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        run(judge_named("j", ScriptedModel(GOOD)), rows(1), **limits)


def test_key_of_deeply_nested_tool_calls() -> None:
    nested: Any = 1
    for _ in range(300):
        nested = [nested]
    response = [{"role": "assistant", "content": "r", "tool_calls": [{"name": "f", "arguments": nested}]}]
    judge = judge_named("j", ScriptedModel(GOOD))
    assert judge.key({"response": response}) == judge.key({"response": response})
