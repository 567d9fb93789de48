"""What is no HTTP, or never ends: the endpoint's fault, or a timeout, and never the caller's fault."""

from __future__ import annotations

import json

import pytest
from formatter import sure
from raw_endpoint import RawEndpoint, RawReply, completion, good_reply, response

from groundjudge import load
from groundjudge.models.openai import OpenAIModel

CASE = {"query": "q", "context": ["c"], "response": "r"}
GOOD = f"<S0>t</S0><S1>all of it</S1>{sure(5)}"
BODY = json.dumps(completion(GOOD)).encode()
SOON = 0.05


def outcome_of(raw: bytes, timeout: float = 60.0, *, is_kept: bool = False) -> str:
    """The status of the verdict, or the code of the error, at an endpoint that sends these bytes."""
    with RawEndpoint() as endpoint:
        endpoint.answer_with([RawReply(raw, is_kept=is_kept)])
        model = OpenAIModel("m", base_url=endpoint.url, max_retries=0, timeout=timeout)
        verdict = load("groundedness", model=model).evaluate(CASE)
    return verdict.error.code if verdict.error else verdict.status


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"abc\r\n\r\n", id="no status line"),
        pytest.param(b"HTTP/1.1 20 OK\r\n\r\n", id="status of two digits"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX\x00: a\r\n\r\n", id="NUL in a header's name"),
        pytest.param(
            b"HTTP/1.1 103 Early\r\nContent-Length: 3\r\n\r\nabc", id="interim response with a body"
        ),
        pytest.param(response(200, BODY, length=b"x"), id="length that is no number"),
        pytest.param(
            response(200, b"zz\r\n" + BODY, [(b"Transfer-Encoding", b"chunked")], length=b""),
            id="chunk without a length",
        ),
        pytest.param(response(200, BODY, [(b"X-Odd", b"a" * 70_000)]), id="header of 70,000 bytes"),
    ],
)
def test_what_cannot_be_parsed_is_the_endpoints_fault(raw: bytes) -> None:
    assert outcome_of(raw) == "server"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", id="status line alone"),
        pytest.param(response(200, BODY, length=b"9000"), id="part of the body"),
    ],
)
def test_a_response_that_is_cut_off_is_a_lost_connection(raw: bytes) -> None:
    assert outcome_of(raw) == "connection"


@pytest.mark.soak
@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"HTTP/1.1 100 Wait\r\n\r\n", id="interim response 100"),
        pytest.param(b"HTTP/1.1 103 Wait\r\n\r\n", id="interim response 103"),
    ],
)
def test_silence_is_a_timeout_also_after_an_interim_response(raw: bytes) -> None:
    assert outcome_of(raw, timeout=SOON, is_kept=True) == "timeout"


@pytest.mark.parametrize("status", [200, 299])
def test_a_completion_is_read_after_success(status: int) -> None:
    assert outcome_of(response(status, BODY)) == "ok"


@pytest.mark.parametrize("status", [300, 304, 404, 599])
def test_a_completion_is_not_read_after_any_other_status(status: int) -> None:
    assert outcome_of(response(status, BODY)) in {"bad_request", "not_found", "server"}


def test_a_reply_after_an_interim_response_is_read() -> None:
    assert outcome_of(b"HTTP/1.1 102 Processing\r\n\r\n" + good_reply(GOOD).raw) == "ok"
