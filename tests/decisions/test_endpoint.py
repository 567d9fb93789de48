"""Decision models behind endpoints: what is sent in each form, and what comes back."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest
from decision_requests import RULES, STATE, VERDICT, decision_request, many_questions, probabilities_in
from standin_decisions import Decisions
from standin_openai import Answer, Cut, Half, Hang, Raw, StandIn, Status

from groundjudge import CachedModel, ModelError, Reply
from groundjudge.decisions.endpoint import DecisionModel
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.question import Option, Question
from groundjudge.decisions.way import DecisionWay
from groundjudge.models.lookup import as_model, call_metadata
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.openai import OpenAIModel
from groundjudge.rubric.model import Model, way_of
from groundjudge.types import Request
from groundjudge.verdict import Usage

KEY = "live-4f9a81c2d7e6"
NAMES = ("decisions:gpt-6-luna", "systemone:jev-1.13.0")


def ask(model: Model, request: Request | None = None) -> Reply:
    return shared_loop().run(model.acomplete, request or decision_request())


def base_url(name: str, server: StandIn) -> str:
    """The base URL that the providers document: with /v1 for OpenAI's form, without for TypeSafe's."""
    return server.url if name.startswith("decisions:") else server.root


def asked(
    name: str, script: Any = None, request: Request | None = None, **settings: Any
) -> tuple[Reply, Any]:
    """The reply of a stand-in, and the bodies that it got."""
    with StandIn(script or Decisions()) as server:
        model = DecisionModel(name, base_url=base_url(name, server), api_key=KEY, **settings)
        return ask(model, request), server.requests


@pytest.mark.parametrize("name", NAMES)
def test_questions_are_answered_with_the_raw_json_of_the_endpoint(name: str) -> None:
    reply, (request,) = asked(name, Decisions(usage=(210, 3), cached=90))
    assert probabilities_in(reply) == {
        "verdict": {"A": pytest.approx(1 / 3), "B": pytest.approx(2 / 3)},
        "recall": {"0": pytest.approx(1 / 6), "1": pytest.approx(2 / 6), "2": pytest.approx(3 / 6)},
    }
    cached = 90 if name.startswith("decisions:") else None
    reasoning = 0 if name.startswith("decisions:") else None
    assert reply.usage == Usage(
        prompt_tokens=210, completion_tokens=3, cached_tokens=cached, reasoning_tokens=reasoning
    )
    assert reply.model == name
    assert request.headers["Authorization"] == f"Bearer {KEY}"


def test_openais_form_has_the_rules_as_the_developers_and_a_part_for_each_document() -> None:
    _, (request,) = asked("decisions:gpt-6-luna")
    body = request.body
    assert request.path == "/v1/decisions"
    assert body["model"] == "gpt-6-luna"
    assert body["input"] == [
        {"role": "developer", "content": RULES},
        {
            "role": "user",
            "content": [
                {"type": "input_json", "data": {"context": [STATE["context"][0]]}},
                {"type": "input_json", "data": {"context": [STATE["context"][1]]}},
                {"type": "input_json", "data": {"query": STATE["query"], "response": STATE["response"]}},
            ],
        },
    ]
    choice, score = body["questions"]
    assert choice == {
        "type": "choice",
        "name": "verdict",
        "instructions": "Which of these is true of `response`?",
        "choices": [
            {"value": "A", "description": "It contradicts `context`."},
            {"value": "B", "description": "All of it is in `context`."},
        ],
    }
    assert score["levels"] == [
        {"label": "0", "description": "Nothing."},
        {"label": "1", "description": "Half of it."},
        {"label": "2", "description": "All of it."},
    ]


def test_the_cache_key_of_openais_form_is_that_of_the_rubric() -> None:
    request = decision_request()
    other = replace(request, rubric=request.rubric.with_options(threshold=0.9))
    with StandIn(Decisions()) as server:
        model = DecisionModel("decisions:gpt-6-luna", base_url=server.url, api_key=KEY)
        for one in (request, decision_request(state={**STATE, "query": "Why?"}), other):
            ask(model, one)
    keys = {body["prompt_cache_key"] for body in server.bodies}
    assert keys == {request.rubric.prompt.sha256[:32]}


def test_the_form_of_system_one_has_the_state_as_it_is() -> None:
    _, (request,) = asked("systemone:jev-1.13.0")
    assert request.path == "/v1/systemone"
    assert request.body == {
        "model": "jev-1.13.0",
        "state": STATE,
        "questions": {
            "verdict": {
                "type": "choice",
                "instructions": "Which of these is true of `response`?",
                "criteria": {"A": "It contradicts `context`.", "B": "All of it is in `context`."},
            },
            "recall": {
                "type": "score",
                "instructions": "How much of `reference` is in `context`?",
                "criteria": ["Nothing.", "Half of it.", "All of it."],
            },
        },
    }


@pytest.mark.parametrize("name", ["decisions:gpt-6-luna", "systemone:jev-1.13.0"])
def test_numbers_of_any_size_and_signs_of_any_script_are_sent(name: str) -> None:
    values: dict[str, Any] = {
        "large": 10**30,
        "small": -(2**70),
        "half": 0.5,
        "text": "東京 😀",
        "none": None,
    }
    request = decision_request(state={**STATE, "response": [{"role": "tool", "content": values}]})
    _, (sent,) = asked(name, request=request)
    state = sent.body.get("state")
    if state is None:
        state = sent.body["input"][-1]["content"][-1]["data"]
    assert state["response"] == [{"role": "tool", "content": values}]


def test_an_option_whose_key_says_it_all_has_no_description() -> None:
    question = Question("e1", "choice", "Which one?", (Option("0", "None of them."), Option("1", None)))
    _, (request,) = asked("decisions:gpt-6-luna", request=decision_request(question))
    assert request.body["questions"][0]["choices"] == [
        {"value": "0", "description": "None of them."},
        {"value": "1"},
    ]
    _, (request,) = asked("systemone:m", request=decision_request(question))
    assert request.body["questions"]["e1"]["criteria"] == {"0": "None of them.", "1": None}


@pytest.mark.parametrize(
    ("name", "given", "path"),
    [
        pytest.param("decisions:m", "{root}/v1", "/v1/decisions", id="OpenAI's base URL"),
        pytest.param("decisions:m", "{root}/v1/", "/v1/decisions", id="with a slash behind it"),
        pytest.param("decisions:m", "{root}/v1/decisions", "/v1/decisions", id="whole"),
        pytest.param("decisions:m", "{root}/v1/systemone", "/v1/systemone", id="whole, under the other name"),
        pytest.param("systemone:m", "{root}", "/v1/systemone", id="TypeSafe's base URL"),
        pytest.param("systemone:m", "{root}/", "/v1/systemone", id="TypeSafe's with a slash behind it"),
        pytest.param("systemone:m", "{root}/v1", "/v1/systemone", id="a base URL with the version"),
        pytest.param("systemone:m", "{root}/v1/systemone/", "/v1/systemone", id="whole with a slash"),
        pytest.param("systemone:m", "{root}/api/alpha/decisions", "/api/alpha/decisions", id="OpenRouter's"),
    ],
)
def test_the_path_is_added_to_urls_that_do_not_have_it(name: str, given: str, path: str) -> None:
    with StandIn(Decisions()) as server:
        assert (
            path_asked(server, DecisionModel(name, base_url=given.format(root=server.root), api_key=KEY))
            == path
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", ["environment", "client", "async client"])
def test_the_path_is_added_to_urls_from_everywhere(
    name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client: Any = None
    with StandIn(Decisions()) as server:
        if way == "environment":
            variables = "OPENAI" if name.startswith("decisions:") else "TYPESAFE"
            monkeypatch.setenv(f"{variables}_BASE_URL", server.url)
            monkeypatch.setenv(f"{variables}_API_KEY", KEY)
            model = as_model(name)
        else:
            make = openai.OpenAI if way == "client" else openai.AsyncOpenAI
            client = make(base_url=server.url, api_key=KEY)
            model = as_model((client, name))
        assert path_asked(server, model) == f"/v1/{name.partition(':')[0]}"
        close(client)


def path_asked(server: StandIn, model: Model) -> str:
    """The path of the one request that a model sends, with its key and without a query."""
    assert probabilities_in(ask(model)).keys() == {"verdict", "recall"}
    (request,) = server.requests
    assert request.query == {}
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    return request.path


def close(client: Any) -> None:
    if isinstance(client, openai.OpenAI):
        client.close()
    if isinstance(client, openai.AsyncOpenAI):
        shared_loop().run(client.close)


def test_a_query_in_the_url_stays_behind_the_path() -> None:
    with StandIn(Decisions()) as server:
        ask(DecisionModel("systemone:m", base_url=f"{server.root}?api-version=2", api_key=KEY))
    (request,) = server.requests
    assert (request.path, request.query) == ("/v1/systemone", {"api-version": "2"})


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_decision_model_is_its_whole_name(name: str) -> None:
    model = as_model(name)
    assert model.name == name
    assert not way_of(model).writes_text
    assert way_of(OpenAIModel("gpt-6-luna")).writes_text


def test_a_trace_is_told_the_model_and_whose_interface_it_has() -> None:
    metadata = [call_metadata(as_model(name)) for name in NAMES]
    assert metadata == [
        {"ls_model_type": "chat", "ls_model_name": "gpt-6-luna", "ls_provider": "openai"},
        {"ls_model_type": "chat", "ls_model_name": "jev-1.13.0", "ls_provider": "typesafe"},
    ]


def test_models_of_one_name_in_other_forms_have_other_identities() -> None:
    models: list[OpenAIModel | DecisionModel] = [
        DecisionModel("decisions:m", base_url="http://127.0.0.1:1/v1", api_key=KEY),
        DecisionModel("systemone:m", base_url="http://127.0.0.1:1/v1", api_key=KEY),
        OpenAIModel("m", base_url="http://127.0.0.1:1/v1", api_key=KEY),
    ]
    assert len({model.identity for model in models}) == len(models)
    assert not [model.identity for model in models if KEY in model.identity]


def test_openais_variables_are_not_sent_to_typesafe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "organization-of-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-team: team-of-mine")
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-openai")
    with StandIn(Decisions()) as server:
        monkeypatch.setenv("TYPESAFE_BASE_URL", server.root)
        ask(as_model("systemone:m"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ask(as_model("decisions:m"))
    to_typesafe, to_openai = [json.dumps(dict(request.headers)) for request in server.requests]
    assert "of-mine" not in to_typesafe
    assert "key-for-openai" not in to_typesafe
    assert to_openai.count("of-mine") == 3
    assert "Bearer key-for-openai" in to_openai


@pytest.mark.parametrize(
    ("name", "variable", "provider"),
    [
        ("decisions:gpt-6-luna", "OPENAI", "OpenAI"),
        ("systemone:jev-latest", "TYPESAFE", "TypeSafe"),
    ],
)
def test_without_a_key_nothing_is_sent_to_the_providers_own_endpoint(
    name: str, variable: str, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting in ("API_KEY", "BASE_URL"):
        monkeypatch.delenv(f"{variable}_{setting}", raising=False)
    with pytest.raises(
        ModelError, match=f"set {variable}_API_KEY to use {provider}; set {variable}_BASE_URL"
    ):
        ask(as_model(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_local_server_needs_no_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
    with StandIn(Decisions()) as server:
        assert ask(DecisionModel(name, base_url=base_url(name, server))).text


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_pickled_by_its_name_and_settings(name: str) -> None:
    model = DecisionModel(name, base_url="http://127.0.0.1:1/v1", timeout=3.0, max_retries=7)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301  our own
    assert (copy.name, copy.identity, copy.way) == (model.name, model.identity, model.way)
    assert copy.__reduce__()[0].keywords == model.__reduce__()[0].keywords  # type: ignore[attr-defined]
    with pytest.raises(pickle.PicklingError, match="an api_key"):
        pickle.dumps(DecisionModel(name, api_key=KEY))


def test_the_most_questions_of_a_request_are_those_of_the_form() -> None:
    names = ("decisions:gpt-6-luna", "systemone:m", "systemone:jev-latest", "systemone:typesafe/jev-1.14")
    assert [way_of(as_model(name)) for name in names] == [*map(DecisionWay, (400, 200, 100, 100))]


# Limits


def options(number: int) -> tuple[Option, ...]:
    return tuple(Option(str(index), "It is so.") for index in range(number))


def document(sentence: str, number: int = 1) -> dict[str, Any]:
    return {"title": "", "kind": "document", "sentences": [sentence] * number}


TOO_LONG: Mapping[str, tuple[str, Request, str]] = {
    "options": (
        "systemone:m",
        decision_request(Question("e1", "choice", "Which?", options(256))),
        "the question e1 has 256 options; the limit is 255",
    ),
    "levels": (
        "decisions:m",
        decision_request(Question("verdict", "score", "Which?", options(11))),
        "the question verdict has 11 options; the limit is 10",
    ),
    "bytes of a document": (
        "decisions:m",
        decision_request(state={**STATE, "context": [document("short"), document("é" * 131_072)]}),
        r"part 2 of what is judged \(context\) has 262,\d\d\d bytes; the limit is 262,144",
    ),
    "values of a document": (
        "decisions:m",
        decision_request(state={**STATE, "context": [document("s", 10_000)]}),
        r"part 1 of what is judged \(context\) has 10,002 values; the limit is 10,000",
    ),
    "Jev's window": (
        "systemone:jev-1.13.0",
        decision_request(state={**STATE, "context": [document("x" * 2**20)]}),
        "the state and the longest question have 1,0.*; that is more than 32,000 tokens, the limit",
    ),
}


@pytest.mark.parametrize("limit", TOO_LONG)
def test_what_is_surely_too_long_is_an_error_without_a_call(limit: str) -> None:
    name, request, message = TOO_LONG[limit]
    with StandIn(Decisions()) as server, pytest.raises(ModelError, match=f"too_long: .*{message}") as raised:
        ask(DecisionModel(name, base_url=base_url(name, server), api_key=KEY), request)
    assert raised.value.code == "too_long"
    assert server.requests == []


@pytest.mark.parametrize(
    "request_at_limit",
    [
        pytest.param(decision_request(Question("e1", "choice", "Which?", options(255))), id="options"),
        pytest.param(decision_request(Question("v", "score", "Which?", options(10))), id="levels"),
        pytest.param(decision_request(*many_questions(400)), id="questions"),
        pytest.param(
            decision_request(state={"rules": RULES, "context": [document("s", 9_998)]}), id="values"
        ),
        pytest.param(
            decision_request(state={"rules": RULES, "query": "x" * (2**18 - len('{"query":""}'))}), id="bytes"
        ),
    ],
)
def test_what_just_fits_is_sent(request_at_limit: Request) -> None:
    reply, requests = asked("decisions:gpt-6-luna", request=request_at_limit)
    assert len(requests) == 1
    assert len(probabilities_in(reply)) == len(inquiry_of(request_at_limit).questions)


LENGTH_ERRORS: Mapping[str, Status] = {
    "TypeSafe": Status(400, body={"detail": {"error_type": "max_tokens_exceeded"}}),
    "OpenAI": Status(400, "Input tokens exceed the context window.", code="context_length_exceeded"),
    "vLLM": Status(400, "This model's maximum context length is 4096 tokens. Your request exceeds it."),
    "FastAPI": Status(
        422, body={"detail": [{"loc": ["body", "questions"], "msg": "at most 100 items", "type": "too_long"}]}
    ),
    "a proxy": Status(413, "Request Entity Too Large"),
}


@pytest.mark.parametrize("server", LENGTH_ERRORS)
def test_what_an_endpoint_finds_too_long_is_an_error_of_its_own(server: str) -> None:
    with pytest.raises(ModelError, match="judge a shorter response, or pass fewer") as raised:
        asked("systemone:m", [LENGTH_ERRORS[server]])
    assert raised.value.code == "too_long"


# Errors


def error_body(message: str, name: str, depth: int) -> Any:
    """The body of an error in which the message stands that deep, under the same name each time."""
    body: Any = message
    for _ in range(depth):
        body = {name: body}
    return body


ERRORS: Mapping[str, tuple[Status | Raw, str, str]] = {
    "a fault in a field": (
        Status(
            422, body={"detail": [{"loc": ["body", "state"], "msg": "Field required", "type": "missing"}]}
        ),
        "bad_request",
        "422: body.state: Field required",
    ),
    "no key": (
        Status(403, body={"detail": "Not authenticated"}),
        "auth",
        "403: Not authenticated .*TYPESAFE_",
    ),
    "a wrong key": (Status(401, body={"detail": "Invalid API key"}), "auth", "401: Invalid API key"),
    "an unknown model": (
        Status(404, body={"detail": "Model 'm' not found"}),
        "not_found",
        "Model 'm' not found",
    ),
    "no credit": (Status(402, body={"detail": "Payment required"}), "quota", "Payment required"),
    "overloaded": (Status(529, body={"detail": "Overloaded"}), "server", "529: Overloaded"),
    "a model without probabilities": (Status(501, body={"detail": "Not a pooling model"}), "server", "501"),
    "a page": (
        Raw(b"<h1>It works</h1>", "text/html"),
        "server",
        "is not the answers of a decision model: <h1>",
    ),
    "a chat completion": (Raw(b'{"choices": []}'), "server", "is not the answers of a decision model"),
    "an error of status 200": (Raw(b'{"error": {"message": "no GPU"}}'), "server", "no GPU"),
    "answers that are a text": (Raw(b'{"answers": "yes"}'), "server", "not the answers of a decision model"),
    "a constant that is not JSON": (
        Raw(b'{"answers": {}, "usage": {"cost": NaN}}'),
        "server",
        "not the answers of a decision model",
    ),
    "a number beyond all floats": (
        Raw(b'{"answers": {}, "usage": {"cost": 1e999}}'),
        "server",
        "not the answers of a decision model",
    ),
    "JSON that is cut off": (Raw(b'{"answers": {"verd'), "server", "not the answers of a decision model"),
    "nothing": (Raw(b""), "server", "not the answers of a decision model"),
    "a message that is deeply nested": (
        Status(400, body=error_body("no", "detail", 90)),
        "bad_request",
        "400: no",
    ),
    "errors in errors": (Status(529, body=error_body("no", "error", 900)), "server", "529: "),
    "an error of status 200 with details in details": (
        Raw(json.dumps(error_body("no", "detail", 900)).encode()),
        "server",
        "not the answers of a decision model",
    ),
}


@pytest.mark.parametrize("fault", ERRORS)
def test_errors_have_the_codes_of_an_endpoint(fault: str) -> None:
    answer, code, message = ERRORS[fault]
    with pytest.raises(ModelError, match=message) as raised:
        asked("systemone:m", [answer], max_retries=0)
    assert raised.value.code == code
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("name", NAMES)
def test_transient_errors_are_sent_again_and_counted(name: str) -> None:
    endpoint = Decisions()
    answers: list[Answer] = [Status(429, retry_after=0.01), Raw(b"<h1>Gateway</h1>")]

    def script(body: dict[str, Any]) -> Any:
        return answers.pop() if answers else endpoint(body)

    reply, requests = asked(name, script)
    assert (len(requests), reply.retries) == (3, 2)


@pytest.mark.parametrize("name", NAMES)
def test_an_echo_of_the_key_in_an_answer_is_removed_unless_the_case_shows_it(name: str) -> None:
    body = json.dumps({"model": f"m {KEY}", "answers": {"verdict": {"note": KEY}}}).encode()
    reply, _ = asked(name, [Raw(body)])
    assert KEY not in f"{reply.text} {reply.model}"
    assert json.loads(reply.text)["answers"] == {"verdict": {"note": "[redacted]"}}
    reply, _ = asked(name, [Raw(body)], decision_request(state={**STATE, "query": f"What is {KEY}?"}))
    assert reply.text == body.decode()


CONNECTIONS: Mapping[str, tuple[Any, str]] = {
    "closed": (Cut(), "connection"),
    "closed in the middle": (Half(), "connection"),
    "no answer": (Hang(), "timeout"),
}


@pytest.mark.parametrize("fault", CONNECTIONS)
def test_connections_that_fail_have_the_codes_of_an_endpoint(fault: str) -> None:
    answer, code = CONNECTIONS[fault]
    timeout = 0.05 if answer == Hang() else 60
    with pytest.raises(ModelError) as raised:
        asked("systemone:m", [answer], max_retries=0, timeout=timeout)
    assert raised.value.code == code


def test_a_wait_that_the_endpoint_asks_for_is_kept() -> None:
    with pytest.raises(ModelError) as raised:
        asked("systemone:m", [Status(429, retry_after=90)])
    assert (raised.value.code, raised.value.retry_after) == ("rate_limited", 90)
    assert raised.value.retries == 0


@pytest.mark.parametrize("make", [openai.OpenAI, openai.AsyncOpenAI])
def test_a_callers_client_retries_by_itself_but_not_after_a_page(make: Any) -> None:
    answers: list[Answer] = [Status(500, retry_after=0.01), Raw(b"<h1>Gateway</h1>"), Raw(b'{"answers": {}}')]
    with StandIn(answers) as server:
        client = make(base_url=server.root, api_key=KEY, max_retries=1)
        reply = ask(as_model((client, "systemone:m")))
        close(client)
    assert (len(server.requests), reply.retries) == (3, 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_cache_keeps_answers_by_form_state_and_questions(name: str, tmp_path: Path) -> None:
    request = decision_request()
    others = [
        decision_request(state={**STATE, "query": "Why?"}),
        decision_request(VERDICT),
        replace(request, repeat=1),
    ]
    with StandIn(Decisions()) as server:
        model = DecisionModel(name, base_url=base_url(name, server), api_key=KEY)
        cached = CachedModel(model, tmp_path / "replies.db")
        assert way_of(cached) == model.way
        replies: list[Reply] = []
        for one in (request, *others, request, *others):
            reply = ask(cached, one)
            if reply.keep:
                reply.keep()
            replies.append(reply)
        assert [reply.cached for reply in replies] == [False] * 4 + [True] * 4
        other_name = {"decisions": "systemone:m", "systemone": "decisions:m"}[name.partition(":")[0]]
        other = DecisionModel(other_name, base_url=base_url(name, server), api_key=KEY)
        with suppress(ModelError):
            assert not ask(CachedModel(other, tmp_path / "replies.db"), request).cached
        cached.close()
    assert len(server.requests) == 1 + len(others) + (1 if other_name.startswith("systemone") else 0)


def test_a_cache_key_that_a_server_does_not_know_is_left_out() -> None:
    endpoint = Decisions()

    def script(body: dict[str, Any]) -> Any:
        if "prompt_cache_key" in body:
            return Status(400, "Unknown parameter: 'prompt_cache_key'.", param="prompt_cache_key")
        return endpoint(body)

    with StandIn(script) as server:
        model = DecisionModel("decisions:m", base_url=server.url, api_key=KEY)
        for _ in range(2):
            assert ask(model).text
    assert ["prompt_cache_key" in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        pytest.param("0.25", 0.25, id="a fraction"),
        pytest.param("0", 0.0, id="nothing"),
        pytest.param("-0.25", None, id="a number below 0"),
        pytest.param("true", None, id="a truth value"),
        pytest.param('"0.25"', None, id="a text"),
        pytest.param("{}", None, id="an object"),
    ],
)
def test_what_openrouter_says_that_a_call_cost_is_its_cost(cost: str, expected: float | None) -> None:
    body = b'{"answers": {}, "usage": {"input_tokens": 5, "output_tokens": 1, "cost": COST}}'
    reply, _ = asked("systemone:m", [Raw(body.replace(b"COST", cost.encode()))])
    assert reply.cost == expected
    assert reply.usage == Usage(prompt_tokens=5, completion_tokens=1)


USED = '"usage": {"input_tokens": 5, "output_tokens": 1}'
OF_A_GATEWAY = '"meta": {"model": "x", "usage": {"input_tokens": 9}}'


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f'{{"model": "m-1", "answers": {{}}, {USED}}}', id="in the usual order"),
        pytest.param(f'{{{USED}, "answers": {{}}, "model": "m-1"}}', id="in another order"),
        pytest.param(f'\ufeff{{"model": "m-1", "answers": {{}}, {USED}}}', id="behind a byte order mark"),
        pytest.param(
            f'{{"model": "m-1", {USED}, "answers": {{}}, {OF_A_GATEWAY}}}', id="before a gateway's own"
        ),
        pytest.param(
            f'{{{OF_A_GATEWAY}, "model": "m-1", {USED}, "answers": {{}}}}', id="behind a gateway's own"
        ),
        pytest.param(
            f'{{"model": "m-1", {USED}, "answers": {{}}, "names": ["model", "usage"]}}', id="beside texts"
        ),
        pytest.param(
            f'{{"model": "m-1", {USED}, "answers": {{}}, "note": "\\"model\\": 7, \\"usage\\": 7"}}',
            id="beside a text with JSON",
        ),
    ],
)
def test_model_and_tokens_are_those_of_the_response_itself(body: str) -> None:
    reply, _ = asked("systemone:m", [Raw(body.encode())])
    assert reply.model == "systemone:m-1"
    assert reply.usage == Usage(prompt_tokens=5, completion_tokens=1)


def test_a_client_of_another_making_is_refused() -> None:
    with pytest.raises(ModelError, match="needs an OpenAI or AsyncOpenAI as its client, not object"):
        as_model((object(), "decisions:gpt-6-luna"))


def test_a_caller_in_an_event_loop_is_answered_there() -> None:
    with StandIn(Decisions()) as server:
        model = DecisionModel("systemone:m", base_url=server.root, api_key=KEY)
        replies = [asyncio.run(model.acomplete(decision_request())) for _ in range(2)]
    assert len({reply.text for reply in replies}) == 1
