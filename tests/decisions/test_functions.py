"""Functions from a state and questions to answers, as decision models."""

from __future__ import annotations

import json
from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from decision_requests import STATE, decision_request, probabilities_in
from pydantic import BaseModel

from groundjudge import ModelError, Reply
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.libraries import decisions_by
from groundjudge.decisions.way import DecisionWay
from groundjudge.models.lookup import as_model
from groundjudge.models.loop_thread import shared_loop
from groundjudge.rubric.model import way_of
from groundjudge.rubric.rubric import TEXT
from groundjudge.verdict import Usage

ANSWERS: Mapping[str, Any] = {
    "verdict": {"type": "choice", "probabilities": {"A": 0.25, "B": 0.75}},
    "recall": {"type": "score", "probabilities": {0: 0.5, 1: 0.25, 2: 0.25}},
}
PROBABILITIES = {"verdict": {"A": 0.25, "B": 0.75}, "recall": {"0": 0.5, "1": 0.25, "2": 0.25}}


class Response(BaseModel):
    model: str = "mine"
    answers: dict[str, Any] = dict(ANSWERS)
    usage: dict[str, int] = {"input_tokens": 7, "output_tokens": 1}


@dataclass
class Answer:
    type: str
    probabilities: dict[Any, float]


def ask(function: Any) -> Reply:
    return shared_loop().run(decisions_by(function).acomplete, decision_request())


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(ANSWERS, id="answers"),
        pytest.param({"answers": ANSWERS, "model": "mine"}, id="a response"),
        pytest.param(json.dumps({"answers": ANSWERS}), id="a text"),
        pytest.param(Response(), id="an object with answers"),
        pytest.param(MappingProxyType(ANSWERS), id="a mapping of another class"),
        pytest.param({"answers": UserDict(ANSWERS)}, id="answers in a mapping of another class"),
        pytest.param(
            {
                name: UserDict(answer, probabilities=MappingProxyType(answer["probabilities"]))
                for name, answer in ANSWERS.items()
            },
            id="answers as mappings of other classes",
        ),
        pytest.param({name: Answer(**answer) for name, answer in ANSWERS.items()}, id="answers as objects"),
        pytest.param(
            {
                "verdict": {
                    "type": "choice",
                    "probabilities": {"A": np.float32(0.25), "B": np.float64(0.75)},
                },
                "recall": ANSWERS["recall"],
            },
            id="numbers of NumPy",
        ),
        pytest.param(Reply(json.dumps({"answers": ANSWERS})), id="a Reply"),
    ],
)
def test_what_a_function_answers_is_the_reply(answer: Any) -> None:
    def answer_questions(state: Any, questions: Any) -> Any:
        assert state == STATE
        assert questions["verdict"]["criteria"] == {
            "A": "It contradicts `context`.",
            "B": "All of it is in `context`.",
        }
        return answer

    assert way_of(decisions_by(answer_questions)) == DecisionWay()
    assert decisions_by(answer_questions).name == "answer_questions"
    assert probabilities_in(ask(answer_questions)) == PROBABILITIES


def test_what_a_function_does_to_its_arguments_is_not_seen_by_the_next_request() -> None:
    states: list[str] = []

    def answer_questions(state: Any, questions: Any) -> Any:
        states.append(json.dumps([state, questions]))
        for document in state["context"]:
            document["sentences"].clear()
        for question in questions.values():
            question.clear()
        state.clear()
        questions.clear()
        return ANSWERS

    model = decisions_by(answer_questions)
    request = decision_request(state=json.loads(json.dumps(STATE)))
    for _ in range(2):
        shared_loop().run(model.acomplete, request)
    assert states[0] == states[1]
    assert inquiry_of(request).state == STATE


async def in_a_coroutine(state: Any, questions: Any) -> Any:
    del state, questions
    return ANSWERS


class Holder:
    """An object with a method, and one that can be called."""

    def method(self, state: Any, questions: Any, temperature: float = 0) -> Any:
        del state, questions, temperature
        return ANSWERS

    async def __call__(self, state: Any, questions: Any, *, extra: object = None) -> Any:
        del state, questions, extra
        return ANSWERS


@pytest.mark.parametrize("function", [in_a_coroutine, Holder().method, Holder()])
def test_functions_of_all_kinds_are_called(function: Callable[..., Any]) -> None:
    assert probabilities_in(ask(function)) == PROBABILITIES


def answering(answer: object) -> Callable[[Any, Any], object]:
    """A function that answers everything like this."""

    def answer_questions(state: Any, questions: Any) -> object:
        del state, questions
        return answer

    return answer_questions


def test_a_function_that_is_not_wrapped_answers_with_a_text() -> None:
    function: Any = in_a_coroutine
    assert way_of(as_model(function)) == TEXT


def test_tokens_and_the_name_that_a_function_reports_are_kept() -> None:
    reply = ask(answering(Response()))
    assert (reply.model, reply.usage) == ("mine", Usage(prompt_tokens=7, completion_tokens=1))


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        pytest.param(float("nan"), "NaN", id="NaN"),
        pytest.param("0.5", '"0.5"', id="a number as a text"),
        pytest.param(None, "null", id="nothing"),
    ],
)
def test_faults_are_written_as_they_are(answer: object, written: str) -> None:
    reply = ask(answering({"verdict": {"probabilities": {"A": answer}}}))
    assert reply.text == f'{{"answers": {{"verdict": {{"probabilities": {{"A": {written}}}}}}}}}'


@pytest.mark.parametrize("answer", [None, 0.5, ["A"]])
def test_what_is_no_answer_is_an_error(answer: object) -> None:
    with pytest.raises(ModelError, match="must be a mapping of answers, not") as raised:
        ask(answering(answer))
    assert raised.value.code == "failed"


def test_what_a_function_raises_has_the_codes_of_a_function() -> None:
    def time_out(state: Any, questions: Any) -> Any:
        raise TimeoutError(len(state) + len(questions))

    with pytest.raises(ModelError, match="timeout: the model time_out raised TimeoutError"):
        ask(time_out)
