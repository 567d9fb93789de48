"""A script for `StandIn`: an endpoint of decision models, in OpenAI's form and in that of System One.

    with StandIn(Decisions()) as server:
        DecisionModel("systemone:jev-latest", base_url=server.root)

It is strict: a body with anything that its form does not have is refused, as the endpoints refuse it. A body
with `input` is in OpenAI's form, whatever the path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from standin_openai import Answer, Raw, Status

from groundjudge.case.data import is_list, is_mapping

Probabilities: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]
"""From a question's id and the keys of its options to their probabilities."""

MAX_PART_BYTES = 256 * 1024
MAX_PART_VALUES = 10_000
MAX_PART_DEPTH = 32


def rising(_: str, keys: Sequence[str]) -> list[float]:
    """Each option is likelier than the one before."""
    total = len(keys) * (len(keys) + 1) / 2
    return [(index + 1) / total for index in range(len(keys))]


class RefusedError(Exception):
    """A body that the form does not allow."""


@dataclass(frozen=True)
class Decisions:
    """A script for a `StandIn`.

    Attributes:
        probabilities: how probable the options of a question are.
        refused: the ids of questions that are not answered: OpenAI says so, System One leaves them out.
        usage: the tokens in and out.
        cached: the tokens that came from OpenAI's cache.
        most_questions: how many questions a request may have.
    """

    probabilities: Probabilities = rising
    refused: frozenset[str] = frozenset()
    usage: tuple[int, int] = (210, 3)
    cached: int = 0
    most_questions: int = 400

    def __call__(self, body: dict[str, Any]) -> Answer:
        """Answer a body."""
        try:
            answer = self.answer_openai(body) if "input" in body else self.answer_system_one(body)
        except RefusedError as error:
            if "input" in body:
                return Status(400, str(error), type="invalid_request_error")
            place, _, message = str(error).partition(": ")
            fault = {"loc": ["body", *place.split(".")], "msg": message, "type": "value_error"}
            return Status(422, body={"detail": [fault]})
        return Raw(json.dumps(answer).encode())

    def answer_openai(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a body in OpenAI's form."""
        check_keys(body, {"model", "input", "questions"}, {"prompt_cache_key"})
        check_input(body["input"])
        questions = body["questions"]
        if not is_list(questions) or not 1 <= len(questions) <= self.most_questions:
            refuse(f"questions: expected 1 to {self.most_questions} items")
        names = [question.get("name") for question in questions]
        if len({*names}) != len(names):
            refuse("questions: duplicate names")
        answers: list[dict[str, Any]] = []
        for question in questions:
            name = question["name"]
            keys = openai_keys(question)
            if name in self.refused:
                answers.append({"type": "refusal", "name": name})
                continue
            probabilities = self.probabilities(name, keys)
            shares: list[dict[str, Any]] = []
            for index, (key, probability) in enumerate(zip(keys, probabilities, strict=True)):
                if question["type"] == "choice":
                    shares.append({"value": key, "probability": probability})
                else:
                    shares.append({"value": index, "label": key, "probability": probability})
            answer = answer_by(question["type"], keys, probabilities)
            answers.append({**answer, "name": name, "probabilities": shares})
        n_in, n_out = self.usage
        usage = {
            "input_tokens": n_in,
            "input_tokens_details": {"cached_tokens": self.cached, "cache_write_tokens": 0},
            "output_tokens": n_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": n_in + n_out,
        }
        return {"model": body["model"], "answers": answers, "usage": usage}

    def answer_system_one(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a body in the form of System One."""
        check_keys(body, {"model", "state", "questions"})
        if not isinstance(body["state"], str) and not is_mapping(body["state"]):
            refuse("state: Input should be a string, object or array")
        questions = body["questions"]
        if not is_mapping(questions) or not 1 <= len(questions) <= self.most_questions:
            refuse(f"questions: Dictionary should have 1 to {self.most_questions} items")
        answers: dict[str, Any] = {}
        for name, question in questions.items():
            check_keys(question, {"type", "instructions", "criteria"})
            criteria = question["criteria"]
            if question["type"] == "choice" and is_mapping(criteria) and 1 <= len(criteria) <= 255:
                keys = [*criteria]
            elif question["type"] == "score" and is_list(criteria) and 1 <= len(criteria) <= 10:
                keys = [str(index) for index in range(len(criteria))]
            else:
                refuse(
                    f"questions.{name}: a choice has 1 to 255 options in a mapping, a score 1 to 10 in a list"
                )
            if name in self.refused:
                continue
            probabilities = self.probabilities(name, keys)
            answers[name] = answer_by(question["type"], keys, probabilities)
            answers[name]["probabilities"] = dict(zip(keys, probabilities, strict=True))
            if question["type"] == "score":
                answers[name]["legend"] = dict(zip(keys, criteria, strict=True))
        n_in, n_out = self.usage
        return {
            "model": "jev-1.13.0",
            "answers": answers,
            "usage": {"input_tokens": n_in, "output_tokens": n_out},
        }


def answer_by(question_type: str, keys: Sequence[str], probabilities: Sequence[float]) -> dict[str, Any]:
    """What an answer has beside its probabilities, in either form: clients of other libraries look at it."""
    if question_type == "choice":
        choice = keys[probabilities.index(max(probabilities))]
        return {"type": "choice", "choice": choice, "confidence": 0.5}
    score = sum(index * probability for index, probability in enumerate(probabilities))
    return {"type": "score", "score": score, "confidence": 0.5}


def refuse(message: str) -> NoReturn:
    raise RefusedError(message)


def check_keys(value: object, needed: set[str], optional: Collection[str] = ()) -> None:
    """Refuse what is no mapping with all the needed keys, and others only where they are optional."""
    if not is_mapping(value):
        refuse(f"body: expected an object, not {value!r}")
    keys = {*value}
    if not needed <= keys:
        refuse(f"Missing required parameter: {sorted(needed - keys)}")
    if not keys <= needed.union(optional):
        refuse(f"Unknown parameter: {sorted(keys - needed)}")


def check_input(messages: Any) -> None:
    """Refuse what OpenAI's `input` cannot be; texts are what other libraries make of a state."""
    if isinstance(messages, str) and messages:
        return
    if not is_list(messages) or not messages:
        refuse("input: expected a text or a non-empty array")
    for message in messages:
        check_keys(message, {"role", "content"}, {"type"})
        content = message["content"]
        if message["role"] not in {"developer", "user"} or message.get("type", "message") != "message":
            refuse("input: expected messages of a developer or a user")
        if isinstance(content, str) and content:
            continue
        if not is_list(content) or not content:
            refuse("input: expected a text or parts")
        for part in content:
            check_part(part, message["role"])


def check_part(part: Any, role: str) -> None:
    """Refuse what a part of a message cannot be."""
    if is_mapping(part) and part.get("type") == "input_text":
        check_keys(part, {"type", "text"})
        return
    check_keys(part, {"type", "data"})
    if part["type"] != "input_json" or role != "user" or not is_mapping(part["data"]):
        refuse("input: expected texts, or JSON of a user")
    n_bytes = len(json.dumps(part["data"], ensure_ascii=False, separators=(",", ":")).encode())
    n_values, depth = measure(part["data"])
    if n_bytes > MAX_PART_BYTES or n_values > MAX_PART_VALUES or depth > MAX_PART_DEPTH:
        refuse("input: at most 256 KiB, 10000 values and 32 levels")


def measure(data: Any, depth: int = 0) -> tuple[int, int]:
    """How many values some JSON has, and how deep it is."""
    if is_mapping(data):
        entries: Sequence[Any] = [*data.values()]
    elif is_list(data):
        entries = data
    else:
        return 1, depth
    n_values = 0
    deepest = depth + 1
    for entry in entries:
        n_inner, depth_inner = measure(entry, depth + 1)
        n_values += n_inner
        deepest = max(deepest, depth_inner)
    return n_values, deepest


def openai_keys(question: Mapping[str, Any]) -> list[str]:
    """The keys of a question's options; refuses what the form does not allow."""
    if question.get("type") == "choice":
        check_keys(question, {"type", "name", "instructions", "choices"})
        options, key, most = question["choices"], "value", 255
    elif question.get("type") == "score":
        check_keys(question, {"type", "name", "instructions", "levels"})
        options, key, most = question["levels"], "label", 10
    else:
        refuse("type: supported are 'predicate', 'choice' and 'score'")
    if not isinstance(question["instructions"], str) or not question["instructions"]:
        refuse("instructions: missing")
    if not is_list(options) or not 2 <= len(options) <= most:
        refuse(f"options: expected 2 to {most} items")
    keys: list[Any] = []
    for option in options:
        check_keys(option, {key}, {"description"})
        keys.append(option[key])
    if len({*keys}) != len(keys) or not all(isinstance(key, str) for key in keys):
        refuse("options: must be unique texts")
    return keys
