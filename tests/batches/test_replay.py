"""From cases to requests, and from answers to verdicts, without any batch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import pytest
from command_line import GOOD, ROW
from formatter import sure
from hypothesis import given
from hypothesis import strategies as st
from standin_batches import LineAnswer, Unanswered, result_line
from standin_openai import Status, Text

from groundjudge import Case, ModelError, Reply, Verdict, cascade, load, load_rubric, panel
from groundjudge.batches.lines import read_result, request_line
from groundjudge.batches.replay import Answer, PendingRequest, replay, verdicts_in, with_all_votes
from groundjudge.types import AnyJudge, Judge, Request

rubric_of = cache(load_rubric)

Rows: TypeAlias = Sequence[Mapping[str, Any]]
NOTHING: dict[str, Answer] = {}


def answer_to(pending: PendingRequest, script: Sequence[LineAnswer]) -> LineAnswer:
    """The answer by a script: that of the attempt, and of the number that the case shows."""
    return script[(int(pending.request.case.metadata["n"]) + pending.request.attempt) % len(script)]


class ByScript:
    """Answers each request at once with what a batch would answer."""

    def __init__(self, script: Sequence[LineAnswer], name: str = "m") -> None:
        self.script = script
        self.name = name

    async def acomplete(self, request: Request) -> Reply:
        answer = result_of(PendingRequest("c", self, request), self.script)
        if isinstance(answer, Reply):
            return answer
        raise answer


def result_of(pending: PendingRequest, script: Sequence[LineAnswer]) -> Answer:
    return read_result(json.dumps(result_line(pending.custom_id, answer_to(pending, script))), "m")[1]


def row(number: int, **more: Any) -> dict[str, Any]:
    return {**ROW, "query": f"Number {number}?", "n": number, **more}


def judge_of(script: Sequence[LineAnswer] = (GOOD,), name: str = "groundedness") -> Judge:
    return Judge(rubric_of(name), ByScript(script))


def pending_in(judges: Iterable[AnyJudge], rows: Rows, answers: Mapping[str, Answer]) -> list[PendingRequest]:
    requests: list[PendingRequest] = []
    for row in rows:
        case = Case.from_mapping(row)
        for judge in judges:
            _, requests_of_case = replay(judge, case, answers.get)
            requests.extend(requests_of_case)
    return requests


def answers_of_batches(
    judges: Sequence[AnyJudge], rows: Rows, script: Sequence[LineAnswer]
) -> dict[str, Answer]:
    """The answers of as many batches as it takes, each shuffled; no request is in two of them."""
    answers: dict[str, Answer] = {}
    while True:
        request_by_id: dict[str, PendingRequest] = {}
        for request in pending_in(judges, rows, answers):
            if not isinstance(request.why, ModelError):
                request_by_id[request.custom_id] = request
        if not request_by_id:
            return answers
        assert not request_by_id.keys() & answers.keys()
        for custom_id in reversed(request_by_id):
            line = json.dumps(result_line(custom_id, answer_to(request_by_id[custom_id], script)))
            name, answer = read_result(line, "m")
            answers[name] = answer


def data_of(verdict: Verdict) -> dict[str, Any]:
    """A verdict as data, without the time that it took."""
    return verdict.model_dump(exclude={"latency_s"})


UNREADABLE = "I would rather not say."
CUT_OFF = Text("<S0>because", finish_reason="length")
ANSWERS: dict[str, LineAnswer] = {
    "good": GOOD,
    "unreadable": UNREADABLE,
    "cut off": CUT_OFF,
    "refusal": Text(None, refusal="no"),
    "bad request": Status(400),
    "rate limit": Status(429),
    "expired": Unanswered("expired"),
}


@pytest.mark.soak
@given(
    numbers=st.lists(st.integers(0, 5), max_size=8),
    script=st.lists(st.sampled_from(list(ANSWERS.values())), min_size=1, max_size=4),
    n_votes=st.integers(2, 5),
    stop=st.sampled_from(["decided", "never"]),
)
def test_batches_give_the_verdicts_that_a_run_gives(
    numbers: list[int], script: list[LineAnswer], n_votes: int, stop: Any
) -> None:
    votes = with_all_votes(load("groundedness", model=ByScript(script), repeats=n_votes, stop=stop))
    judges = [judge_of(script), judge_of(script, "statement_groundedness"), votes]
    rows = [row(number, id=f"row-{position}") for position, number in enumerate(numbers)]
    assert len(pending_in([votes], rows, NOTHING)) == n_votes * len(rows)
    answers = answers_of_batches(judges, rows, script)
    expected: list[dict[str, Any]] = []
    for case_row in rows:
        case = Case.from_mapping(case_row)
        expected.extend(data_of(judge.evaluate(case)) for judge in judges)
    assert [data_of(verdict) for verdict in verdicts_in(answers.get, judges, rows)] == expected


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_batch_gives_the_verdict_that_a_run_gives(answer: LineAnswer) -> None:
    judge = judge_of([GOOD, answer])
    answers = answers_of_batches([judge], [row(0)], [GOOD, answer])
    (verdict,) = verdicts_in(answers.get, [judge], [row(0)])
    assert data_of(verdict) == data_of(judge.evaluate(Case.from_mapping(row(0, id="row 1"))))


def test_a_panel_asks_each_of_its_judges() -> None:
    other_judge = load("groundedness", model=ByScript([GOOD]), parameters={"temperature": 0.5})
    both_judges = panel([judge_of(), other_judge])
    first, second = pending_in([with_all_votes(both_judges)], [row(1)], NOTHING)
    assert (first.request.parameters["temperature"], second.request.parameters["temperature"]) == (0, 0.5)
    assert first.custom_id != second.custom_id


def test_equal_rows_share_a_request_and_have_a_verdict_each() -> None:
    judge = judge_of()
    rows = [row(1, id="a"), row(2, id="b"), row(1, id="c"), row(1)]
    assert len({request_line(request) for request in pending_in([judge], rows, NOTHING)}) == 2
    answers = answers_of_batches([judge], rows, [GOOD])
    verdicts = list(verdicts_in(answers.get, [judge], rows))
    assert [verdict.case_id for verdict in verdicts] == ["a", "b", "c", "row 4"]
    assert {verdict.score for verdict in verdicts} == {1.0}
    for verdict, case_row in zip(verdicts, rows, strict=True):
        assert verdict.key == judge.key(Case.from_mapping({"id": verdict.case_id, **case_row}))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"response": " "}, "empty_response", id="blank response"),
        pytest.param({"query": None}, "missing_field", id="missing query"),
    ],
)
def test_a_row_that_cannot_be_judged_needs_no_request(changes: dict[str, Any], code: str) -> None:
    judge = judge_of()
    assert not pending_in([judge], [row(1, **changes)], NOTHING)
    (verdict,) = verdicts_in(NOTHING.get, [judge], [row(1, **changes)])
    assert verdict.error
    assert verdict.error.code == code


def test_what_waits_has_no_verdict_yet() -> None:
    judge = judge_of()
    rows = [row(1), row(2)]
    answers = answers_of_batches([judge], rows[:1], [GOOD])
    waiting: Counter[str] = Counter()
    verdicts = list(verdicts_in(answers.get, [judge], rows, waiting=waiting))
    assert (len(verdicts), waiting) == (1, {"groundedness": 1})


@pytest.mark.parametrize(
    ("answer", "n_messages", "max_tokens"),
    [pytest.param(UNREADABLE, 2, 2000, id="unreadable"), pytest.param(CUT_OFF, 0, 4000, id="cut off")],
)
def test_what_cannot_be_read_is_asked_again_in_a_second_batch(
    answer: LineAnswer, n_messages: int, max_tokens: int
) -> None:
    judge = judge_of()
    (first,) = pending_in([judge], [row(0)], NOTHING)
    (again,) = pending_in([judge], [row(0)], {first.custom_id: result_of(first, [answer])})
    assert again.custom_id == f"{first.custom_id}-a2"
    assert len(again.request.messages) - len(first.request.messages) == n_messages
    assert again.request.parameters["max_tokens"] == max_tokens
    assert again.why


def test_requests_that_differ_have_different_names() -> None:
    other_model = ByScript([GOOD])
    other_model.name = "n"
    judges: list[AnyJudge] = [
        judge_of(),
        judge_of(name="statement_groundedness"),
        load("groundedness", model=ByScript([GOOD]), parameters={"max_tokens": 5}),
        load("groundedness", model=other_model),
        with_all_votes(load("groundedness", model=ByScript([GOOD]), repeats=3)),
    ]
    rows = [row(1), row(2), row(1, context="Else.")]
    pending = pending_in(judges, rows, NOTHING)
    ids = [request.custom_id for request in pending]
    assert len(set(ids)) == len(ids) == (4 + 3) * 3
    assert max(len(custom_id) for custom_id in ids) <= 64


SURE_OF_A_FAULT = f"<S0>t</S0><S1>none of it</S1>{sure(1)}"
DOUBTFUL = f"<S0>t</S0><S1>most of it</S1>{sure(4)}"
# What the cheap judge's requests are answered, in order, and in which batch the strong one is asked.
STEPS: Mapping[str, tuple[Sequence[LineAnswer], int | None]] = {
    "sure that it passes": ([GOOD], None),
    "sure that it fails": ([SURE_OF_A_FAULT], None),
    "not sure": ([DOUBTFUL], 2),
    "unreadable, then sure": ([UNREADABLE, GOOD], None),
    "unreadable, then not sure": ([UNREADABLE, DOUBTFUL], 3),
    "never readable": ([UNREADABLE, UNREADABLE], 3),
    "a request that is rejected": ([Status(400)], 2),
}


@pytest.mark.parametrize(("script", "round_of_strong"), STEPS.values(), ids=STEPS)
def test_the_next_judge_of_a_cascade_is_asked_in_a_later_batch(
    script: Sequence[LineAnswer], round_of_strong: int | None
) -> None:
    cheap = Judge(rubric_of("groundedness"), ByScript(script, "cheap"))
    strong = Judge(rubric_of("groundedness"), ByScript([SURE_OF_A_FAULT], "strong"))
    judge = cascade([cheap, strong], until=(0.1, 0.9))
    # Attempt 1 of the row with this number gets the first answer of the script.
    case_row = row(-1 % len(script), id="row 1")
    answers: dict[str, Answer] = {}
    rounds: list[str] = []
    while True:
        requests = pending_in([judge], [case_row], answers)
        requests = [request for request in requests if request.custom_id not in answers]
        if not requests:
            break
        (request,) = requests  # never both at once
        rounds.append(request.model.name)
        (first,) = verdicts_in(answers.get, [judge], [case_row])
        assert first.error  # whoever reads the answers now has no verdict yet
        scripts = {"cheap": script, "strong": [SURE_OF_A_FAULT]}
        answers[request.custom_id] = result_of(request, scripts[request.model.name])
    n_of_cheap = rounds.count("cheap")
    assert rounds == ["cheap"] * n_of_cheap + ["strong"] * (round_of_strong is not None)
    assert round_of_strong in {None, n_of_cheap + 1}
    (verdict,) = verdicts_in(answers.get, [judge], [case_row])
    assert data_of(verdict) == data_of(judge.evaluate(Case.from_mapping(case_row)))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Status(500), id="a fault of the endpoint"),
        pytest.param(Status(429), id="rate limit"),
        pytest.param(Unanswered("expired"), id="expired"),
    ],
)
def test_cheap_request_that_got_no_reply_is_asked_again_before_the_strong_judge(answer: LineAnswer) -> None:
    cheap = Judge(rubric_of("groundedness"), ByScript([answer], "cheap"))
    strong = Judge(rubric_of("groundedness"), ByScript([GOOD], "strong"))
    judge = cascade([cheap, strong], until=(0.1, 0.9))
    (request,) = pending_in([judge], [row(1)], NOTHING)
    answers = {request.custom_id: result_of(request, [answer])}
    (again,) = pending_in([judge], [row(1)], answers)
    assert (again.custom_id, again.model.name) == (request.custom_id, "cheap")
    (verdict,) = verdicts_in(answers.get, [judge], [row(1)])
    assert verdict.error
    assert len(verdict.votes) == 1
