"""Lines of requests and of results in OpenAI's form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_line import GOOD, ROW
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter
from scripted_model import ScriptedModel
from standin_batches import COMPLETIONS, LineAnswer, Unanswered, read_lines, result_line
from standin_openai import Status, Text, logprobs_of

from groundjudge import Case, CaseError, ModelError, Reply, Usage, load, names
from groundjudge.batches.lines import read_result, request_line
from groundjudge.batches.openai import OpenAIBatches
from groundjudge.batches.replay import PendingRequest, replay
from groundjudge.models.openai import OpenAIModel

PARAMS = TypeAdapter(CompletionCreateParamsNonStreaming)

VLLM = """\
{"id":"vllm-383d","custom_id":"request-1","response":{"id":"cmpl-61c0","object":"chat.completion","created":\
1715633336,"model":"meta-llama/Meta-Llama-3-8B-Instruct","choices":[{"index":0,"message":{"role":"assistant",\
"content":"Hello!"},"logprobs":null,"finish_reason":"stop","stop_reason":null}],"usage":{"prompt_tokens":25,\
"total_tokens":56,"completion_tokens":31}},"error":null}
"""
"""The first line of the results in vLLM's documentation, shorter."""


class Named(ScriptedModel):
    """A model of a name that is never asked."""

    def __init__(self, name: str) -> None:
        super().__init__(GOOD)
        self.name = name


def pending_of(name: str, **row: Any) -> list[PendingRequest]:
    judge = load(name, model=Named("m"))
    case = Case.from_mapping(row or ALL_FIELDS)
    _, requests = replay(judge, case, lambda _: None)
    return list(requests)


ALL_FIELDS = {
    **ROW,
    "reference": "At nine.",
    "agent_name": "Ada",
    "profile": "helpful",
    "conversation": "user: hello",
}


@pytest.mark.parametrize("name", names())
def test_the_requests_of_every_judge_have_the_types_of_the_openai_client(name: str) -> None:
    (pending,) = pending_of(name)
    line = json.loads(request_line(pending))
    assert {*line} == {"custom_id", "method", "url", "body"}
    body = PARAMS.validate_python(line["body"], extra="forbid")
    assert body["model"] == "m"
    bodies_and_errors = read_lines(request_line(pending).encode(), COMPLETIONS, 1)
    assert bodies_and_errors == ({pending.custom_id: line["body"]}, [])


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        pytest.param("https://n.openai.azure.com/openai/v1", "/chat/completions", id="Azure"),
        pytest.param("https://api.openai.com/v1", "/v1/chat/completions", id="OpenAI"),
    ],
)
def test_a_line_names_the_path_of_the_endpoint(endpoint: str, path: str) -> None:
    provider = OpenAIBatches(OpenAIModel("m", base_url=endpoint, api_key="k"))
    (pending,) = pending_of("groundedness")
    assert json.loads(provider.line(pending))["url"] == path


def test_the_results_of_vllms_documentation_are_read() -> None:
    usage = Usage(prompt_tokens=25, completion_tokens=31)
    reply = Reply("Hello!", "stop", usage, "meta-llama/Meta-Llama-3-8B-Instruct")
    assert read_result(VLLM) == ("request-1", reply)


@given(content=st.text(), query=st.text(min_size=1))
def test_a_request_is_one_line_whatever_the_case_says(content: str, query: str) -> None:
    row = {**ROW, "context": [content or "."], "query": query + "?"}
    for pending in pending_of("groundedness", **row):
        line = request_line(pending)
        assert "\n" not in line
        assert len(pending.custom_id) <= 64
        assert json.loads(line.encode())["body"]["messages"] == [*map(dict, pending.request.messages)]


def of_status(code: int, body: Any, error: Any = None) -> str:
    response = {"status_code": code, "request_id": "r", "body": body}
    return json.dumps({"id": "b", "custom_id": "c", "response": response, "error": error})


def of(answer: LineAnswer) -> str:
    return json.dumps(result_line("c", answer))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            of(Text("a", finish_reason="length", usage=(1, 2))),
            Reply("a", "length", Usage(prompt_tokens=1, completion_tokens=2), "stand-in"),
            id="a reply that was cut",
        ),
        pytest.param(
            of(Text(None, refusal="no", usage=None)),
            Reply("", "stop", None, "stand-in", refusal="no"),
            id="a refusal",
        ),
    ],
)
def test_a_completion_is_read_as_a_reply(line: str, expected: Reply) -> None:
    assert read_result(line) == ("c", expected)


def test_the_probabilities_of_tokens_are_read() -> None:
    line = json.loads(of("5"))
    line["response"]["body"]["choices"][0]["logprobs"] = logprobs_of([{"5": 0.75, "4": 0.25}])
    _, reply = read_result(json.dumps(line))
    assert isinstance(reply, Reply)
    assert reply.tokens
    assert dict(reply.tokens[0].candidates) == pytest.approx({b"5": 0.75, b"4": 0.25})


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        pytest.param(of(Status(400, "too long")), "bad_request", "400: too long", id="bad request"),
        pytest.param(of(Status(429, "slow down")), "rate_limited", "429: slow down", id="rate limit"),
        pytest.param(of(Unanswered("expired")), "expired", "m: The batch was expired before", id="expired"),
        pytest.param(
            '{"custom_id": "c", "error": {"code": "request_timeout", "message": "t"}}',
            "timeout",
            "m: t",
            id="request timeout",
        ),
        pytest.param('{"custom_id": "c", "error": {"code": "new"}}', "failed", "new", id="unknown code"),
        pytest.param(
            '{"custom_id": "c", "error": "out of memory"}', "failed", "out of memory", id="error as text"
        ),
        pytest.param(
            '{"custom_id": "c", "response": null, "error": null}',
            "failed",
            "m: the endpoint gives no reason",
            id="neither response nor error",
        ),
        # vLLM's errors: a response without a body, and the reason beside it
        pytest.param(
            of_status(400, None, "max_tokens is too large"),
            "bad_request",
            "400: max_tokens is too large",
            id="vLLM's error beside the response",
        ),
        pytest.param(
            of_status(400, None, {"error": {"message": "too long", "type": "BadRequestError", "code": 400}}),
            "bad_request",
            "400: too long",
            id="vLLM's error as an object",
        ),
        pytest.param(of_status(200, None), "server", "not a chat completion", id="a response without a body"),
        pytest.param(of_status(502, "<html>"), "server", "502: <html>", id="a page of HTML"),
    ],
)
def test_what_is_no_completion_is_an_error(line: str, code: str, message: str) -> None:
    custom_id, error = read_result(line, "m")
    assert custom_id == "c"
    assert isinstance(error, ModelError)
    assert error.code == code
    assert message in error.message


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("", id="an empty line"),
        pytest.param("[]", id="a list"),
        pytest.param("1", id="a number"),
        pytest.param('{"custom_id": "r"}', id="an id alone"),
        pytest.param('{"response": {}}', id="no id"),
        pytest.param('{"custom_id": "r", "result": 1}', id="a number as Anthropic's result"),
        pytest.param(
            '{"custom_id": "r", "result": {"type": "succeeded", "message": {"content": 1, "usage": {}}}}',
            id="a number as Anthropic's content",
        ),
    ],
)
def test_a_line_that_is_no_result_is_refused(line: str) -> None:
    with pytest.raises(CaseError, match="unreadable_row"):
        read_result(line)


@given(where=st.integers(0, len(of("a")) - 1))
def test_a_half_written_line_is_never_read(where: int) -> None:
    with pytest.raises(CaseError):
        read_result(of("a")[:where])


@pytest.mark.parametrize(
    "around",
    [
        pytest.param("{}", id="nothing"),
        pytest.param("{}\n", id="a line feed"),
        pytest.param("{}\r\n", id="the end of a line on Windows"),
        pytest.param(" {} ", id="spaces"),
        pytest.param("\ufeff{}", id="a byte order mark"),
    ],
)
def test_a_line_is_read_whatever_surrounds_it(around: str) -> None:
    assert read_result(around.replace("{}", of("a"))) == read_result(of("a"))
