"""Decision models behind endpoints: typed questions go out, and the probabilities of answers come back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson
from pydantic_core import to_json

from groundjudge.case.data import is_list, is_mapping, is_number
from groundjudge.decisions.answers import parse_json, reply_with
from groundjudge.decisions.inquiry import Inquiry, inquiry_of
from groundjudge.decisions.question import Option, system_one_questions
from groundjudge.decisions.state import RULES
from groundjudge.decisions.way import DecisionWay
from groundjudge.models.failure import ROW_REMEDIES, model_error, without_echo
from groundjudge.models.openai import OPENAI, Api, EndpointModel
from groundjudge.models.unsupported_parameters import negotiate
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request
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


@dataclass(frozen=True, kw_only=True)
class Form(Api):
    """An API that answers questions, and how it wants them.

    Attributes:
        body: turns the model's name at the endpoint and an inquiry into what is sent.
        most_questions: how many questions one request may have.
        is_openai: whether it is OpenAI's: the state is sent in parts, each of which has limits, and a key
            says which requests begin alike.
    """

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
    for option in options:
        entry = {key_name: option.key}
        if option.description:
            entry["description"] = option.description
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

_form = partial(Form, response="the answers of a decision model", whole=WHOLE, call=_call, write=write_json)

FORMS: Mapping[str, Form] = {
    "decisions": _form(
        path="decisions",
        variables="OPENAI",
        provider="OpenAI",
        default_url=OPENAI,
        body=_openai_body,
        most_questions=400,
        is_openai=True,
    ),
    "systemone": _form(
        path="v1/systemone",
        variables="TYPESAFE",
        provider="TypeSafe",
        default_url="https://api.typesafe.ai",
        has_openai_headers=False,
        body=_system_one_body,
        most_questions=200,
        is_openai=False,
    ),
}
"""The forms by the beginnings of models' names.

OpenAI accepts 400 questions. Among servers with the other form, the only one that names a limit accepts 200.
"""


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
        # Each value takes two bytes or more, with what separates it from the next.
        may_exceed = len(written) > 2 * MAX_PART_VALUES
        n_values = _count_values(data) if may_exceed else 0
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


class DecisionModel(EndpointModel):
    """A decision model behind an endpoint: OpenAI's decisions API, or the System One form of many servers.

    It is sent the state and the questions of a request, and answers with the raw JSON that the endpoint
    returns; a rubric reads what the probabilities in it mean. Retries, rate limits, redirects, keys and
    pickling are as for `OpenAIModel`.

    Args:
        name: "decisions:MODEL" for OpenAI's form, with OPENAI_BASE_URL and OPENAI_API_KEY;
            "systemone:MODEL" for that of System One, with TYPESAFE_BASE_URL and TYPESAFE_API_KEY. OpenAI's
            and TypeSafe's own endpoints are the defaults, and the only ones that require a key.
        client: an OpenAI or AsyncOpenAI, with its own endpoint, key, retries and timeout.
        base_url: the endpoint's URL. One that ends in /decisions or /systemone is used unchanged; the path
            is added to any other.
        api_key: the key.
        max_retries: how often a request is sent again after a transient error, 0 or more.
        timeout: seconds; an attempt fails if nothing arrives from the endpoint for that long.

    Raises:
        ModelError: `unknown_model` if the name does not begin like this, or if `client` is not a client of
            the openai package or comes with a base_url or api_key.
    """

    @property
    def api(self) -> Form:
        """The API that is called."""
        return FORMS[self.name.partition(":")[0]]

    def check(self) -> None:
        """Make sure that the name has a form and a model, and that a client is one of the openai package.

        Raises:
            ModelError: `unknown_model`.
        """
        form, _, model = self.name.partition(":")
        if form not in FORMS or not model.strip():
            message = (
                f'{self.name!r} lacks the name of the model, as in "decisions:MODEL" or "systemone:MODEL"'
            )
            raise model_error("unknown_model", message, self.name)
        if not self.is_openai:
            kind = type(self.callers_client).__name__
            message = f"a decision model needs an OpenAI or AsyncOpenAI as its client, not {kind}"
            raise model_error("unknown_model", message, self.name)

    @property
    def name_at_endpoint(self) -> str:
        """The name without the form."""
        return self.name.partition(":")[2].strip()

    @property
    def way(self) -> DecisionWay:
        """Questions, and how many in one request."""
        if JEV.match(self.name_at_endpoint):
            return DecisionWay(JEV_QUESTIONS)
        return DecisionWay(self.api.most_questions)

    @property
    def call_metadata(self) -> Mapping[str, str]:
        """What LangChain and LangSmith need to know of a call."""
        provider = self.api.provider.casefold()
        return {"ls_model_name": self.name_at_endpoint, "ls_provider": provider}

    async def acomplete(self, request: Request) -> Reply:
        """Ask the questions of a request, with retries.

        Raises:
            ModelError: the endpoint returned no answers; the codes are those of an endpoint, and `too_long`.
        """
        inquiry = inquiry_of(request)
        body = self.api.body(self.name_at_endpoint, inquiry)
        excess = find_excess(self.api, self.name_at_endpoint, inquiry, body)
        if excess:
            raise self.error("too_long", f"{self.name}: {excess} ({ROW_REMEDIES['too_long']})")
        if self.api.is_openai:
            # A server with OpenAI's form may not know it: then it is left out like any other parameter.
            request = replace(request, parameters={"prompt_cache_key": request.rubric.prompt.sha256[:32]})

        async def send(accepted: Request) -> Reply:
            return await self.send_with_retries({**body, **accepted.parameters}, is_paced=request.paced)

        reply = await negotiate(request, self.refusals, self.who, send)
        if reply.model:
            # The same model may also answer with texts: those verdicts must not look like these.
            form = self.name.partition(":")[0]
            reply = replace(reply, model=f"{form}:{reply.model}")
        return without_echo(reply, request, self.secrets)

    def read_answer(self, answer: object) -> Reply | None:
        """Return the reply in the response of an endpoint; None if it has no answers."""
        if not isinstance(answer, bytes):
            return None
        text = answer.decode("utf-8-sig", errors="replace")  # some servers begin with a byte order mark
        try:
            body = parse_json(text)
        except ValueError:
            return None
        if not is_mapping(body) or not (is_list(body.get("answers")) or is_mapping(body.get("answers"))):
            return None
        return replace(reply_with(text, body), cost=_cost_of(body))


def _cost_of(response: Mapping[str, Any]) -> float | None:
    """Return the cost of the call according to OpenRouter; None for other servers."""
    usage = response.get("usage")
    cost = usage.get("cost") if is_mapping(usage) else None
    return float(cost) if is_number(cost) and cost >= 0 else None
