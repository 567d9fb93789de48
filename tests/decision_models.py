"""Decision models for tests: they answer each question by a rule, as JSON in either form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from groundjudge import ModelError, Reply
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.question import Question
from groundjudge.decisions.way import DecisionWay
from groundjudge.types import Request

Answer = Mapping[str, Any] | None
"""An answer in the System One form; None if there is none."""

REFUSAL: Mapping[str, Any] = {"type": "refusal"}

Form = Literal["openai", "systemone"]


def answer_to(question: Question, probabilities: Sequence[object]) -> Mapping[str, Any]:
    """The answer with these probabilities, in the order of the options."""
    keys = [option.key for option in question.options]
    return {"type": question.type, "probabilities": dict(zip(keys, probabilities, strict=True))}


def sure_of(question: Question, index: int) -> Mapping[str, Any]:
    """The answer that has all probability on the option of an index."""
    probabilities = [0.0] * len(question.options)
    probabilities[index] = 1.0
    return answer_to(question, probabilities)


def sure_of_the_best(question: Question) -> Mapping[str, Any]:
    """The last option, which is the best one in the library's files; of a source, its first sentence."""
    return sure_of(question, 1 if question.id.startswith("e") else -1)


def sure_of_the_worst(question: Question) -> Mapping[str, Any]:
    """The worst option of the library's files; of a source, no sentence."""
    has_no_claim = question.type == "choice" and question.id != "whole"
    if question.id.startswith("e"):
        return sure_of(question, 0)
    return sure_of(question, 1 if has_no_claim else 0)


def reply_of(questions: Sequence[Question], rule: Callable[[Question], Answer], form: Form) -> str:
    """The answers as an endpoint sends them."""
    answers: dict[str, Any] = {}
    for question in questions:
        answer = rule(question)
        if answer is not None:
            answers[question.id] = answer
    if form == "systemone":
        return json.dumps({"model": "jev-1.13.0", "answers": answers})
    return json.dumps({"model": "gpt-6-luna", "answers": [*map(listed, answers, answers.values())]})


def listed(name: str, answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """An answer in OpenAI's form."""
    entries: list[Mapping[str, Any]] = []
    for key, probability in answer.get("probabilities", {}).items():
        if answer.get("type") == "score" and key.isdigit():
            entries.append({"value": int(key), "label": key, "probability": probability})
        else:
            entries.append({"value": key, "probability": probability})
    fields = {name: value for name, value in answer.items() if name != "probabilities"}
    if "probabilities" in answer:
        fields["probabilities"] = entries
    return {"name": name, **fields}


class RuleModel:
    """Answers each question by a rule, which gets the number of the request too; or raises an error."""

    name = "decisions:test"

    def __init__(
        self,
        rule: Callable[[Question, int], Answer] | ModelError,
        *,
        form: Form = "openai",
        most_questions: int = 0,
    ) -> None:
        self.rule = rule
        self.form: Form = form
        self.way = DecisionWay(most_questions)
        self.requests: list[Request] = []

    async def acomplete(self, request: Request) -> Reply:
        self.requests.append(request)
        rule = self.rule
        if isinstance(rule, ModelError):
            raise rule
        number = len(self.requests)
        return Reply(
            reply_of(inquiry_of(request).questions, lambda question: rule(question, number), self.form)
        )
