"""What a run does with a row whose connection is always cut: the row has an error, and no other row waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bundled_judges import EVERY_FIELD
from many_rows import GOOD, codes, judge_named, rows
from outages import at, number_in, shorten_waits
from standin_decisions import Decisions
from standin_openai import Answer, Cut, StandIn

from groundjudge import Verdict, load, run
from groundjudge.decisions.endpoint import DecisionModel
from groundjudge.models import pacing
from groundjudge.models.pacing import REMEDY_OF_ROW

THE_ROW = "the endpoint answers other requests"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


def cut_rows(numbers: set[int]) -> Callable[[dict[str, Any]], Answer]:
    """A script that cuts the connections of these rows, and answers all others."""

    def script(body: dict[str, Any]) -> Answer:
        return Cut() if number_in(body) in numbers else GOOD

    return script


def errors_by_id(verdicts: list[Verdict]) -> dict[str | None, str]:
    return {verdict.case_id: verdict.error.message for verdict in verdicts if verdict.error}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("cut", "concurrency"),
    [
        pytest.param({0}, 4, id="the first row"),
        pytest.param({20}, 4, id="a row in the middle"),
        pytest.param({20, 21}, 8, id="two rows in the middle"),
        pytest.param({*range(1, 40, 8)}, 8, id="every eighth row"),
    ],
)
def test_a_row_that_is_cut_three_times_while_others_are_answered_is_an_error(
    cut: set[int], concurrency: int
) -> None:
    with StandIn(cut_rows(cut)) as server:
        judge = judge_named("j", at(server.url, max_retries=0))
        verdicts = list(run(judge, rows(200), concurrency=concurrency))
    assert codes(verdicts) == {"ok": 200 - len(cut), "connection": len(cut)}
    errors = errors_by_id(verdicts)
    assert {*errors} == {str(number) for number in cut}
    for message in errors.values():
        assert THE_ROW in message
        assert "check that the endpoint is up" not in message
        assert message.endswith(f"({REMEDY_OF_ROW})")


@pytest.mark.soak
@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_last_row_that_is_cut_is_waited_for_as_in_an_outage(
    concurrency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "MAX_OUTAGE", 0.4)
    messages: list[str] = []
    with StandIn(cut_rows({39})) as server:
        judge = judge_named("j", at(server.url, max_retries=0))
        verdicts = list(run(judge, rows(40), concurrency=concurrency, on_outage=messages.append))
    assert codes(verdicts) == {"ok": 39, "connection": 1}
    assert "check that the endpoint is up" in errors_by_id(verdicts)["39"]
    assert messages[0].startswith("m does not answer: waiting; next attempt in ")
    assert not messages[-1]


@pytest.mark.parametrize("form", ["decisions", "systemone"])
def test_a_row_of_a_decision_model_that_is_cut_is_an_error(form: str) -> None:
    decide = Decisions()

    def script(body: dict[str, Any]) -> Answer:
        return Cut() if "poison" in str(body) else decide(body)

    cases = [{**EVERY_FIELD, "id": str(number)} for number in range(40)]
    cases[1]["response"] = "A poison."
    with StandIn(script) as server:
        model = DecisionModel(f"{form}:m", base_url=server.url, max_retries=0)
        verdicts = list(run(load("groundedness", model=model), cases, concurrency=4))
    assert codes(verdicts) == {"ok": 39, "connection": 1}
    assert errors_by_id(verdicts)["1"].count("(") == 1  # its remedy
