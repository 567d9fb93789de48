"""What is no HTTP, or never ends: the endpoint's fault, or a timeout, and never the caller's fault."""

from __future__ import annotations

import json

import pytest
from raw_endpoint import RawEndpoint, RawReply, completion, good_reply, response

from groundjudge import load
from groundjudge.models.openai import OpenAIModel

CASE = {"query": "q", "context": ["c"], "response": "r"}
GOOD = "<S0>t</S0><S1>all of it</S1><S2>5</S2>"
BODY = json.dumps(completion(GOOD)).encode()
SOON = 0.05


def asked(sent: bytes, timeout: float = 60.0, *, is_kept: bool = False) -> str:
    """The status of the verdict, or the code of the error, at an endpoint that sends these bytes."""
    with RawEndpoint() as endpoint:
        endpoint.answer_with([RawReply(sent, is_kept=is_kept)])
        model = OpenAIModel("m", base_url=endpoint.url, max_retries=0, timeout=timeout)
        verdict = load("groundedness", model=model).evaluate(CASE)
    return verdict.error.code if verdict.error else verdict.status


@pytest.mark.parametrize(
    "sent",
    [
        *(b"abc\r\n\r\n", b"HTTP/1.1 20 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX\x00: a\r\n\r\n"),
        b"HTTP/1.1 103 Early\r\nContent-Length: 3\r\n\r\nabc",
        response(200, BODY, length=b"x"),
        response(200, BODY, [(b"Content-Encoding", b"gzip")]),
        response(200, b"zz\r\n" + BODY, [(b"Transfer-Encoding", b"chunked")], length=b""),
        response(200, BODY, [(b"X-Odd", b"a" * 70_000)]),
        response(500, BODY, [(b"Content-Encoding", b"gzip")]),
    ],
)
def test_what_cannot_be_parsed_is_the_endpoints_fault(sent: bytes) -> None:
    assert asked(sent) == "server"


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\n", response(200, BODY, length=b"9000")])
def test_a_response_that_is_cut_off_is_a_lost_connection(sent: bytes) -> None:
    assert asked(sent) == "connection"


@pytest.mark.parametrize("sent", [b"", *(b"HTTP/1.1 %d Wait\r\n\r\n" % status for status in (100, 103))])
def test_silence_is_a_timeout_also_after_an_interim_response(sent: bytes) -> None:
    assert asked(sent, timeout=SOON, is_kept=True) == "timeout"


@pytest.mark.parametrize("status", [200, 299])
def test_a_completion_is_read_after_success(status: int) -> None:
    assert asked(response(status, BODY)) == "ok"


@pytest.mark.parametrize("status", [300, 302, 304, 399, 404, 599])
def test_a_completion_is_not_read_after_any_other_status(status: int) -> None:
    assert asked(response(status, BODY)) in {"bad_request", "not_found", "server"}


def test_a_reply_after_an_interim_response_is_read() -> None:
    assert asked(b"HTTP/1.1 102 Processing\r\n\r\n" + good_reply(GOOD).sent) == "ok"
