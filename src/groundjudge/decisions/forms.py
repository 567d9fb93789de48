"""What decision models are sent, in the two forms of their endpoints, and how much of it they accept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from pydantic_core import to_json

from groundjudge.case.data import is_list, is_mapping
from groundjudge.decisions.inquiry import Inquiry
from groundjudge.decisions.question import Option, system_one_questions
from groundjudge.decisions.state import RULES
from groundjudge.models.openai import OPENAI, Api
from groundjudge.text.patterns import compile_when_used

MAX_OPTIONS: Mapping[str, int] = {"choice": 255, "score": 10}
"""How many options a question may have, by its type."""

MAX_PART_BYTES = 256 * 2**10
MAX_PART_VALUES = 10_000
"""Limits of one JSON part of OpenAI's form."""

JEV = compile_when_used(r"(?:typesafe/)?jev-", re.IGNORECASE)
"""TypeSafe's models, whose token limits are known; models of other servers have other limits."""

JEV_STATE_TOKENS = 32_000
"""Jev's token limit for the state and the longest question."""

JEV_QUESTIONS = 100
"""This many fit into Jev's 64,000 tokens with the longest state: the two about a sentence take about 400."""

LONG_TOKEN = 32
"""Bytes. No text has longer tokens on average, not even one laid out with spaces."""


@dataclass(frozen=True)
class Form:
    """How an endpoint wants a request.

    Attributes:
        api: where it is.
        body: turns the model's name at the endpoint and an inquiry into what is sent.
        most_questions: how many questions one request may have.
        is_openai: whether it is OpenAI's: the state is sent in parts, each of which has limits, and a key
            says which requests begin alike.
    """

    api: Api
    body: Callable[[str, Inquiry], dict[str, Any]]
    most_questions: int
    is_openai: bool


def _openai_body(model: str, inquiry: Inquiry) -> dict[str, Any]:
    """Return an inquiry in OpenAI's form: the rules as the developer's message, each document as a part.

    Each part has its own limits, so documents fit that would together be too large for one.
    """
    rest = dict(inquiry.state)
    rules = rest.pop(RULES)
    parts: list[dict[str, Any]] = []
    for name, value in inquiry.state.items():
        if _is_documents(value):
            for document in rest.pop(name):
                parts.append({"type": "input_json", "data": {name: [document]}})
    if rest:
        parts.append({"type": "input_json", "data": rest})
    messages = [{"role": "developer", "content": rules}, {"role": "user", "content": parts}]

    questions: list[dict[str, Any]] = []
    last_options: tuple[Option, ...] = ()
    entries: list[dict[str, str]] = []
    for question in inquiry.questions:
        options_name, key_name = "levels", "label"
        if question.type == "choice":
            options_name, key_name = "choices", "value"
        # Evidence questions share their options, one for each sentence of the source.
        if question.options is not last_options:
            last_options = question.options
            entries = _openai_options(last_options, key_name)
        questions.append(
            {
                "type": question.type,
                "name": question.id,
                "instructions": question.instructions,
                options_name: entries,
            }
        )
    return {"model": model, "input": messages, "questions": questions}


def _openai_options(options: Iterable[Option], key_name: str) -> list[dict[str, str]]:
    """Return the options of a question in OpenAI's form: `[{"value": "A", "description": "..."}]`."""
    entries: list[dict[str, str]] = []
    for key, description in options:
        entry = {key_name: key}
        if description:
            entry["description"] = description
        entries.append(entry)
    return entries


def _is_documents(value: object) -> bool:
    """Whether a field of the state is a list of documents, which are recognised by their sentences."""
    if not is_list(value) or not value:
        return False
    return all(is_mapping(entry) and "sentences" in entry for entry in value)


def _system_one_body(model: str, inquiry: Inquiry) -> dict[str, Any]:
    """Return an inquiry in the form of System One."""
    questions = system_one_questions(inquiry.questions)
    return {"model": model, "state": inquiry.state, "questions": questions}


def _call(
    client: Any,  # noqa: ANN401  an OpenAI or AsyncOpenAI
    url: str,
    body: dict[str, Any],
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the method with which a caller's client sends a request, and its arguments.

    `decisions.create` would check each question, and read the answers in its own way.
    """
    return client.post, {"path": url, "body": body, "cast_to": bytes}


def write_json(data: object) -> bytes:
    """Write JSON data as it is sent, quickly: a request has the options of up to hundreds of questions."""
    try:
        return orjson.dumps(data)
    except TypeError:
        # orjson refuses numbers of more than 64 bits, which the arguments of a tool call may contain.
        return to_json(data, inf_nan_mode="null")


WHOLE = ("/decisions", "/systemone")
"""Endings of complete URLs. Some gateways, such as OpenRouter, have one form under the name of the other."""

_api = partial(Api, response="the answers of a decision model", whole=WHOLE, call=_call, write=write_json)

FORMS: Mapping[str, Form] = {
    "decisions": Form(
        _api(path="decisions", variables="OPENAI", provider="OpenAI", default_url=OPENAI),
        _openai_body,
        most_questions=400,
        is_openai=True,
    ),
    "systemone": Form(
        _api(
            path="v1/systemone",
            variables="TYPESAFE",
            provider="TypeSafe",
            default_url="https://api.typesafe.ai",
            has_openai_headers=False,
        ),
        _system_one_body,
        most_questions=200,
        is_openai=False,
    ),
}
"""The forms by the beginnings of models' names.

OpenAI accepts 400 questions. Among servers with the other form, the only one that names a limit accepts 200.
"""


def most_questions(form: Form, model: str) -> int:
    """Return how many questions one request to a model may have."""
    if JEV.match(model):
        return JEV_QUESTIONS
    return form.most_questions


def find_excess(form: Form, model: str, inquiry: Inquiry, body: Mapping[str, Any]) -> str:
    """Return what in an inquiry surely exceeds a model's limits; "" if nothing does.

    Args:
        form: the form.
        model: the name of the model at the endpoint.
        inquiry: what is asked.
        body: the inquiry in that form.
    """
    for question in inquiry.questions:
        n_options = len(question.options)
        most_options = MAX_OPTIONS[question.type]
        if n_options > most_options:
            return f"the question {question.id} has {n_options} options; the limit is {most_options}"
    if form.is_openai:
        return _excess_of_parts(body)
    if JEV.match(model):
        return _excess_for_jev(body)
    return ""


def _excess_of_parts(body: Mapping[str, Any]) -> str:
    """Return which part of a body in OpenAI's form is too large, and how large it is."""
    for number, part in enumerate(body["input"][-1]["content"], 1):
        data = part["data"]
        written = write_json(data)
        what = f"part {number} of what is judged ({', '.join(data)})"
        if len(written) > MAX_PART_BYTES:
            return f"{what} has {len(written):,} bytes; the limit is {MAX_PART_BYTES:,}"
        n_values = _count_values(data)
        if n_values > MAX_PART_VALUES:
            return f"{what} has {n_values:,} values; the limit is {MAX_PART_VALUES:,}"
    return ""


def _count_values(data: object) -> int:
    """Return how many texts, numbers and the like JSON data has."""
    if is_mapping(data):
        return sum(map(_count_values, data.values()))
    if is_list(data):
        return sum(map(_count_values, data))
    return 1


def _excess_for_jev(body: Mapping[str, Any]) -> str:
    """Say how large a body is if it is too large for Jev even with the longest tokens; "" otherwise."""
    sizes = [len(write_json(question)) for question in body["questions"].values()]
    n_bytes = len(write_json(body["state"])) + max(sizes, default=0)
    if n_bytes <= LONG_TOKEN * JEV_STATE_TOKENS:
        return ""
    return (
        f"the state and the longest question have {n_bytes:,} bytes; that is more than {JEV_STATE_TOKENS:,} "
        "tokens, the limit"
    )
