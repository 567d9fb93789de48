"""Many rows against an endpoint with all kinds of failures: each row gets a verdict or the right code."""

from __future__ import annotations

import pytest
from hostile_endpoint import DEADLINE, IN_FLIGHT, LATENCY, VALUES, Endpoint, rows
from many_rows import SOAK_ROWS
from standin_openai import StandIn

from groundjudge import Reply, Verdict, load, run
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Request


class Watched:
    """A model that counts its requests in flight."""

    def __init__(self, model: OpenAIModel) -> None:
        self.model, self.name = model, model.name
        self.in_flight = self.most = 0

    async def acomplete(self, request: Request) -> Reply:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            return await self.model.acomplete(request)
        finally:
            self.in_flight -= 1


def check(verdict: Verdict, met: list[str]) -> None:
    number = int(verdict.case_id or "")
    if verdict.error is None:
        assert (verdict.value, verdict.reason, met[-1]) == (VALUES[number % 4], f"row {number}", "")
    elif verdict.error.code == "timeout":
        assert "timeout" in met or verdict.latency_s > DEADLINE / 2
    else:
        assert verdict.error.code == met[-1]


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_every_row_of_a_failing_endpoint_gets_a_verdict_or_the_right_code() -> None:
    endpoint = Endpoint()
    with StandIn(endpoint, latency=LATENCY) as server:
        model = Watched(OpenAIModel("m", base_url=server.url))
        judge = load("groundedness", model=model)
        verdicts = list(run(judge, rows(SOAK_ROWS), concurrency=IN_FLIGHT, ordered=True, deadline=DEADLINE))
    assert [int(verdict.case_id or "") for verdict in verdicts] == list(range(SOAK_ROWS))
    for verdict in verdicts:
        check(verdict, endpoint.met[int(verdict.case_id or "")])
    failed = sum(verdict.error is not None for verdict in verdicts)
    assert failed < 0.06 * SOAK_ROWS  # those that hang or are not completions, which retries cannot fix
    assert IN_FLIGHT / 2 < model.most <= IN_FLIGHT
