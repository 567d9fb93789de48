"""Requests to decision models, and what can be said of a reply without a rubric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from groundjudge import Case, Reply, load_rubric
from groundjudge.case.data import is_mapping
from groundjudge.decisions.inquiry import Inquiry, inquiry_of
from groundjudge.decisions.question import Option, Question
from groundjudge.decisions.way import DecisionWay
from groundjudge.types import Request, Rubric

RULES = "Judge nothing but whether the response follows from the context."
VERDICT = Question(
    "verdict",
    "choice",
    "Which of these is true of `response`?",
    (Option("A", "It contradicts `context`."), Option("B", "All of it is in `context`.")),
)
RECALL = Question(
    "recall",
    "score",
    "How much of `reference` is in `context`?",
    (Option("0", "Nothing."), Option("1", "Half of it."), Option("2", "All of it.")),
)
STATE: Mapping[str, Any] = {
    "rules": RULES,
    "query": "When do you open?",
    "context": [
        {"title": "Hours", "kind": "document", "sentences": ["1: We open at 9.", "2: We close at 5."]},
        {"title": "Café", "kind": "document", "sentences": ["3: Dogs are welcome."]},
    ],
    "response": ["1: At 9."],
}


def decision_request(
    *questions: Question, state: Mapping[str, Any] = STATE, case_id: str | None = None
) -> Request:
    """A request with a state and questions, by default a choice and a score."""
    if not questions:
        questions = (VERDICT, RECALL)
    rubric = load_rubric("groundedness")
    case = Case(query="When do you open?", context="We open at 9.", response="At 9.", id=case_id)
    return Request((), {}, rubric, case, payload=Inquiry(state, questions))


def inquiry_about(rubric: Rubric, case: Any) -> Inquiry:
    """What a decision model is sent about a case."""
    return inquiry_of(replace(rubric, way=DecisionWay()).ask(case))


def many_questions(number: int, *, instructions: str = "Is it so?") -> tuple[Question, ...]:
    """So many choices, with the ids q0, q1, ..."""
    options = (Option("A", "It is not."), Option("B", "It is."))
    return tuple(Question(f"q{index}", "choice", instructions, options) for index in range(number))


def probabilities_in(reply: Reply) -> dict[str, dict[str, float]]:
    """The probabilities in a reply, in either form, by question and key."""
    answers: Any = json.loads(reply.text)["answers"]
    probabilities: dict[str, dict[str, float]] = {}
    if is_mapping(answers):
        for name, answer in answers.items():
            probabilities[name] = answer.get("probabilities")
        return probabilities
    for answer in answers:
        shares = answer.get("probabilities", [])
        probabilities[answer["name"]] = {str(share["value"]): share["probability"] for share in shares}
    return probabilities
