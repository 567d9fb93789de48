"""Servers close connections that nobody uses, at worst when the next request is under way."""

from __future__ import annotations

import pytest
from many_rows import GOOD, codes, judge_named, rows
from outages import at, shorten_waits
from raw_endpoint import RawEndpoint, good_reply

from groundjudge import run
from groundjudge.models import transport
from groundjudge.verdict import Usage


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


@pytest.mark.parametrize(("max_retries", "most_replies"), [(0, 1), (2, 2)])
def test_rows_of_a_run_are_judged_once(max_retries: int, most_replies: int) -> None:
    with RawEndpoint([good_reply(GOOD)], most_replies=most_replies) as server:
        judge = judge_named("j", at(server.url, max_retries=max_retries))
        verdicts = list(run(judge, rows(6), concurrency=1))
    n_lost = (6 - 1) // most_replies
    assert codes(verdicts) == {"ok": 6}
    assert sum(verdict.retries for verdict in verdicts) == n_lost
    assert [verdict.usage for verdict in verdicts] == [Usage(prompt_tokens=10, completion_tokens=5)] * 6


def test_a_single_row_is_judged_too() -> None:
    with RawEndpoint([good_reply(GOOD)], most_replies=1) as server:
        judge = judge_named("j", at(server.url))
        verdicts = [judge.evaluate(row) for row in rows(3)]
    assert [(verdict.status, verdict.retries) for verdict in verdicts] == [("ok", 0), ("ok", 1), ("ok", 1)]


def test_a_connection_is_given_up_before_the_server_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_IDLE", 1e-9)
    with RawEndpoint([good_reply(GOOD)], most_replies=1) as server:
        judge = judge_named("j", at(server.url, max_retries=0))
        verdicts = [judge.evaluate(row) for row in rows(3)]
    assert [(verdict.status, verdict.retries) for verdict in verdicts] == [("ok", 0)] * 3
    assert server.n_connections == 3


def test_a_connection_that_is_used_is_kept() -> None:
    with RawEndpoint([good_reply(GOOD)]) as server:
        assert codes(run(judge_named("j", at(server.url)), rows(6), concurrency=1)) == {"ok": 6}
    assert server.n_connections == 1
