"""Submitting and collecting at both providers, whatever goes wrong there."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import anthropic
import pytest
from command_line import GOOD, ROW
from scripted_model import ScriptedModel
from standin_batches import BatchStandIn, Call, Unanswered
from standin_openai import Cut, Status

from groundjudge import ModelError, Verdict, load_rubric
from groundjudge.batches.anthropic import AnthropicBatches
from groundjudge.batches.openai import OpenAIBatches
from groundjudge.batches.provider import Provider
from groundjudge.batches.replay import verdicts_in
from groundjudge.batches.state import State, open_state
from groundjudge.batches.submit import Plan, answers_of, download, plan, submit
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Judge

ProviderOf: TypeAlias = Callable[[BatchStandIn, ExitStack], Provider]

LISTED_WITHIN = 0.5
rubric_of = cache(load_rubric)


def openai_batches(server: BatchStandIn, _: ExitStack) -> Provider:
    return OpenAIBatches(OpenAIModel("scripted", base_url=server.url, api_key="k"))


def anthropic_batches(server: BatchStandIn, stack: ExitStack) -> Provider:
    client = anthropic.Anthropic(base_url=server.root, api_key="k", max_retries=0)
    return AnthropicBatches(stack.enter_context(client))


both = pytest.mark.parametrize(
    "provider_of", [openai_batches, pytest.param(anthropic_batches, marks=pytest.mark.soak)]
)


def rows(n: int) -> list[dict[str, Any]]:
    return [{**ROW, "id": str(number), "query": f"Number {number}?"} for number in range(n)]


@dataclass
class Run:
    """A run at a stand-in.

    Attributes:
        server: the stand-in.
        provider: the provider that asks it.
        state: the state of the run.
        judge: the judge.
        rows: the rows.
    """

    server: BatchStandIn
    provider: Provider
    state: State
    judge: Judge
    rows: Sequence[dict[str, Any]]

    def plan(self) -> Plan:
        with closing(answers_of(self.state)) as answers:
            return plan(
                self.state, [self.judge], self.rows, self.providers, answers=answers, settings={"run": "r"}
            )

    @property
    def providers(self) -> dict[str, Provider]:
        return {"scripted": self.provider}

    def submit(self, listed_within: float = LISTED_WITHIN) -> None:
        submit(self.state, self.providers, listed_within=listed_within)

    def download(self, polls: int = 9) -> bool:
        return any(download(self.state, self.providers) for _ in range(polls))

    def verdicts(self) -> list[Verdict]:
        is_final = {*self.steps()} <= {"collected"}
        with closing(answers_of(self.state)) as answers:
            found = verdicts_in(answers, [self.judge], self.rows, is_final=is_final)
            return [*found]

    def steps(self) -> list[str]:
        return [part.step for part in self.state.parts]


@contextmanager
def run_of(
    provider_of: ProviderOf, tmp_path: Path, *, n_rows: int = 5, at_most: int = 2, **options: Any
) -> Generator[Run, None, None]:
    with BatchStandIn(**options) as server, ExitStack() as stack:
        provider = provider_of(server, stack)
        provider.max_requests = at_most
        state = stack.enter_context(open_state(tmp_path / "state", is_new=True))
        yield Run(
            server, provider, state, Judge(rubric_of("groundedness"), ScriptedModel(GOOD)), rows(n_rows)
        )


def scores(run: Run) -> list[float | None]:
    return [verdict.score for verdict in run.verdicts()]


@both
def test_rows_become_batches_and_batches_verdicts(provider_of: ProviderOf, tmp_path: Path) -> None:
    with run_of(provider_of, tmp_path) as run:
        run.rows = [*run.rows, {**run.rows[0], "id": "again"}, {"id": "faulty"}]
        planned = run.plan()
        assert (planned.n_free, planned.n_shared, planned.n_requests, len(planned.parts)) == (1, 1, 5, 3)
        run.submit()
        assert run.steps() == ["created"] * 3
        assert run.verdicts()[-1].error  # the faulty row; the others wait
        assert len(run.verdicts()) == 1
        assert run.download()
        assert scores(run) == [1.0] * 6 + [None]
        assert {*run.server.paid().values()} == {1}
        assert [len(batch.requests) for batch in run.server.batches.values()] == [2, 2, 1]


FAULTS: list[tuple[Status | Cut, bool]] = [
    (Status(500), False),
    (Status(500), True),
    (Cut(), False),
    (Cut(), True),
    (Status(503, retry_after=0.1), True),
    (Status(429, retry_after=0.1), False),
]


@both
@pytest.mark.parametrize("nth", [1, pytest.param(2, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    ("answer", "takes_effect"),
    [FAULTS[3], *(pytest.param(*fault, marks=pytest.mark.soak) for fault in FAULTS)],
)
def test_no_batch_is_created_twice_whatever_create_answers(
    provider_of: ProviderOf, tmp_path: Path, answer: Status | Cut, nth: int, *, takes_effect: bool
) -> None:
    with run_of(provider_of, tmp_path, n_rows=4) as run:
        run.plan()
        run.server.fail("create", answer, nth=nth, takes_effect=takes_effect)
        run.submit()
        assert run.download()
        assert scores(run) == [1.0] * 4
        assert {*run.server.paid().values()} == {1}
        assert len(run.server.batches) == 2


@pytest.mark.soak
@both
@pytest.mark.parametrize("options", [{"hidden_for": 2}, {"ahead": -3600.0}, {"ahead": 3600.0}])
def test_a_batch_is_found_however_late_it_is_listed_and_whatever_the_servers_clock_says(
    provider_of: ProviderOf, tmp_path: Path, options: dict[str, Any]
) -> None:
    with run_of(provider_of, tmp_path, n_rows=4, **options) as run:
        run.plan()
        run.server.fail("create", Cut(), nth=2, takes_effect=True)
        run.submit(listed_within=60 if "hidden_for" in options else LISTED_WITHIN)
        assert run.download()
        assert scores(run) == [1.0] * 4
        assert {*run.server.paid().values()} == {1}


@pytest.mark.soak
@both
@pytest.mark.parametrize("call", ["upload", "create", "list"])
@pytest.mark.parametrize("status", [401, 400, 403])
def test_a_refusal_ends_the_command_and_the_next_one_goes_on(
    provider_of: ProviderOf, tmp_path: Path, call: Call, status: int
) -> None:
    with run_of(provider_of, tmp_path, n_rows=4) as run:
        if call == "upload" and provider_of is anthropic_batches:
            return
        run.plan()
        if call == "list":
            run.server.fail("create", Cut(), takes_effect=True)
        run.server.fail(call, Status(status))
        with pytest.raises(ModelError):
            run.submit()
        run.submit()
        assert run.download()
        assert scores(run) == [1.0] * 4
        assert {*run.server.paid().values()} == {1}


@pytest.mark.soak
@both
@pytest.mark.parametrize("call", ["retrieve", "content", "results"])
def test_an_error_while_collecting_loses_nothing(provider_of: ProviderOf, tmp_path: Path, call: Call) -> None:
    with run_of(provider_of, tmp_path, n_rows=4) as run:
        run.plan()
        run.submit()
        run.server.fail(call, Status(401))
        codes: set[str] = set()
        for _ in range(9):
            try:
                download(run.state, run.providers)
            except ModelError as error:
                codes.add(error.code)
        assert codes == ({"auth"} if call in run.server.calls else set())
        assert run.steps() == ["collected"] * 2
        assert scores(run) == [1.0] * 4


@pytest.mark.soak
@both
def test_what_fails_again_is_not_asked_for_ever(provider_of: ProviderOf, tmp_path: Path) -> None:
    def script(_: dict[str, Any]) -> Unanswered:
        return Unanswered("expired")

    with run_of(provider_of, tmp_path, script=script) as run:
        for n_requests in (5, 5, 5, 0, 0):
            assert run.plan().n_requests == n_requests
            run.submit()
            assert run.download() == bool(run.state.parts)
        assert {*run.server.paid().values()} == {3}
