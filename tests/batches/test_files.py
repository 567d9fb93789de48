"""Batch files as functions: cases to lines of requests, lines of results to verdicts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from batch_commands import by_number, number_of, rows, unreadable_once
from command_line import GOOD
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import ScriptedModel
from standin_batches import COMPLETIONS, Missing, Script, Unanswered, read_lines, result_line
from standin_openai import Status, Text

from groundjudge import load, load_rubric
from groundjudge.batches import request_lines, verdicts_of
from groundjudge.types import Judge

JUDGE = Judge(load_rubric("groundedness"), ScriptedModel(GOOD))
SCRIPT = by_number(
    {
        1: unreadable_once,
        2: Unanswered("expired"),
        3: Status(400),
        4: Missing(),
        5: Text("<S0>because", finish_reason="length"),
    }
)


def results_of(requests: list[str], script: Script = SCRIPT) -> list[str]:
    bodies, errors = read_lines("\n".join(requests).encode(), COMPLETIONS, 50_000)
    assert not errors
    lines: list[str] = []
    for name, body in bodies.items():
        answer = script(body)
        if not isinstance(answer, Missing):
            lines.append(json.dumps(result_line(name, answer)))
    return lines


def codes(results: list[str], cases: list[dict[str, Any]]) -> dict[str | None, float | str | None]:
    verdicts = verdicts_of(results, JUDGE, cases)
    outcomes: dict[str | None, float | str | None] = {}
    for verdict in verdicts:
        outcomes[verdict.case_id] = verdict.error.code if verdict.error else verdict.score
    return outcomes


OUTCOMES = (1.0, "no_verdict", "expired", "bad_request", "unanswered", "truncated", 1.0)
EXPECTED = dict(zip("0123456", OUTCOMES, strict=True))
RESULTS = results_of([*request_lines(JUDGE, rows(7))])
ODD = [
    *request_lines(JUDGE, rows(1)),
    "",
    "{",
    "null",
    RESULTS[0][:-9],
    RESULTS[0].replace('id": "', 'id": "x'),
]


@pytest.mark.soak
@given(order=st.permutations(RESULTS), odd=st.lists(st.sampled_from([*ODD, *RESULTS])))
def test_results_are_read_in_any_order_twice_and_among_other_lines(order: list[str], odd: list[str]) -> None:
    half = len(odd) // 2
    lines = odd[:half] + order + odd[half:]
    assert codes(lines, rows(7)) == EXPECTED


@pytest.mark.soak
@given(places=st.sets(st.sampled_from(range(len(RESULTS)))))
def test_what_the_results_lack_is_unanswered(places: set[int]) -> None:
    codes_of_rows = codes([RESULTS[at] for at in sorted(places)], rows(7))
    answered_rows = [name for name in EXPECTED if name != "4"]
    expected = {name: EXPECTED[name] for at, name in enumerate(answered_rows) if at in places}
    assert codes_of_rows == {**dict.fromkeys(EXPECTED, "unanswered"), **expected}


@pytest.mark.parametrize(
    ("judges", "error"),
    [
        pytest.param("groundedness", "not str", id="a name"),
        pytest.param([], "no judge", id="no judge"),
        pytest.param(rows(1), "not dict; the cases come second", id="the cases"),
        pytest.param([JUDGE, JUDGE], "the name", id="two judges of one name"),
    ],
)
def test_what_are_no_judges_is_refused(judges: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        next(request_lines(judges, rows(1)))
    with pytest.raises((TypeError, ValueError), match=error):
        next(verdicts_of([], judges, rows(1)))


@pytest.mark.parametrize(
    ("cases", "error"),
    [
        pytest.param("cases.jsonl", "read a file with json", id="a path"),
        pytest.param(rows(1)[0], "put a single case in a list", id="a single case"),
    ],
)
def test_what_are_no_cases_is_refused(cases: Any, error: str) -> None:
    with pytest.raises(TypeError, match=error):
        next(request_lines(JUDGE, cases))
    with pytest.raises(TypeError, match=error):
        next(verdicts_of([], JUDGE, cases))


def test_only_what_must_be_asked_again_is_written_again() -> None:
    again = [json.loads(line) for line in request_lines(JUDGE, rows(7), answered=RESULTS)]
    assert sorted(number_of(line["body"]) for line in again) == [1, 2, 4, 5]
    first = {json.loads(line)["custom_id"] for line in request_lines(JUDGE, rows(7))}
    assert len({line["custom_id"] for line in again} & first) == 2  # no answer at all
    further_results = results_of([json.dumps(line) for line in again], by_number({}))
    assert codes([*RESULTS, *further_results], rows(7)) == {
        **dict.fromkeys("0123456", 1.0),
        "3": "bad_request",
    }


BAD = GOOD.replace("<S2>5", "<S2>1").replace("1: 0", "1: 1").replace("5: 1", "5: 0")
DOUBLE: list[Any] = [
    # What the results have on one request, and the score or the code of the error.
    pytest.param((GOOD, GOOD), 1.0, id="the same twice"),
    pytest.param((GOOD, Text(GOOD, usage=(9, 9), model="m-2")), 1.0, id="the same at other costs"),
    pytest.param((GOOD, BAD), "ambiguous", id="the better one first"),
    pytest.param((BAD, GOOD), "ambiguous", id="the worse one first"),
    pytest.param((GOOD, "I cannot say."), "ambiguous", id="one that cannot be read"),
    pytest.param((Text("<S0>because", finish_reason="length"), GOOD), "ambiguous", id="one that was cut off"),
    pytest.param((Text(None, refusal="No."), GOOD), "ambiguous", id="a refusal first"),
    pytest.param((Unanswered("expired"), GOOD), 1.0, id="an error first"),
    pytest.param((GOOD, Status(500)), 1.0, id="an error behind"),
    pytest.param((GOOD, Status(500), BAD), "ambiguous", id="an error between"),
]


@pytest.mark.parametrize(("answers", "outcome"), DOUBLE)
def test_results_of_one_request_that_differ_are_none(answers: tuple[Any, ...], outcome: object) -> None:
    (request,) = [json.loads(line) for line in request_lines(JUDGE, rows(1))]
    results = [json.dumps(result_line(request["custom_id"], answer)) for answer in answers]
    again = [json.loads(line) for line in request_lines(JUDGE, rows(1), answered=results)]
    assert codes(results, rows(1)) == {"0": outcome}
    assert [line["custom_id"].endswith("-a2") for line in again] == ([True] if outcome == "ambiguous" else [])
    further = [json.dumps(result_line(line["custom_id"], GOOD)) for line in again]
    assert codes([*results, *further], rows(1)) == {"0": 1.0}
    further = [json.dumps(result_line(line["custom_id"], answer)) for line in again for answer in (GOOD, BAD)]
    assert codes([*results, *further], rows(1)) == {"0": outcome}


def test_cases_are_read_one_by_one() -> None:
    cases = iter(rows(3))
    lines = request_lines(JUDGE, cases)
    next(lines)
    assert len([*cases]) == 2
    lines.close()


def test_all_votes_are_asked_for() -> None:
    repeated = load("groundedness", model=ScriptedModel(GOOD), repeats=5)
    lines = [*request_lines(repeated, rows(2))]
    verdicts = verdicts_of(results_of(lines, by_number({})), repeated, rows(2))
    assert (len(lines), [len(verdict.votes) for verdict in verdicts]) == (10, [5, 5])
