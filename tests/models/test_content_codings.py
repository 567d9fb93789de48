"""Responses that are packed: what was asked for is read as RFC 9110 says, and anything else is an error."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
from command_line import GOOD, ROW
from raw_endpoint import RawEndpoint, RawReply, completion, response
from standin_openai import StandIn

from groundjudge import Verdict, load
from groundjudge.models.openai import OpenAIModel

BODY = json.dumps(completion(GOOD)).encode()
HALF = len(BODY) // 2
PACKED = gzip.compress(BODY)
TWO_MEMBERS = gzip.compress(BODY[:HALF]) + gzip.compress(BODY[HALF:])
WRONG_SUM = PACKED[:-8] + bytes(4) + PACKED[-4:]


def verdict_on(body: bytes, *codings: str, status: int = 200) -> Verdict:
    """Judge a row at an endpoint that sends this body, with a header for each of the codings."""
    headers = [(b"Content-Encoding", coding.encode()) for coding in codings]
    with RawEndpoint([RawReply(response(status, body, headers))]) as endpoint:
        model = OpenAIModel("m", base_url=endpoint.url, max_retries=0)
        return load("groundedness", model=model).evaluate(ROW)


@pytest.mark.parametrize(
    ("body", "codings"),
    [
        pytest.param(BODY, [], id="no header"),
        pytest.param(BODY, [""], id="empty header"),
        pytest.param(BODY, ["identity"], id="identity"),
        pytest.param(PACKED, ["gzip"], id="gzip"),
        pytest.param(PACKED, ["X-GZip"], id="x-gzip with capitals"),
    ],
)
def test_a_coding_that_was_asked_for_is_read(body: bytes, codings: list[str]) -> None:
    verdict = verdict_on(body, *codings)
    assert verdict.status == "ok", verdict.error


@pytest.mark.parametrize(
    ("body", "codings", "words"),
    [
        pytest.param(PACKED[:-8], ["gzip"], "cannot be unpacked", id="gzip without its check sum"),
        pytest.param(PACKED[:5], ["gzip"], "cannot be unpacked", id="half of gzip's header"),
        pytest.param(WRONG_SUM, ["gzip"], "cannot be unpacked", id="gzip with a wrong check sum"),
        pytest.param(PACKED + b"no gzip at all", ["gzip"], "cannot be unpacked", id="rubbish behind it"),
        pytest.param(TWO_MEMBERS, ["gzip"], "cannot be unpacked", id="two members"),
        pytest.param(zlib.compress(BODY), ["gzip"], "cannot be unpacked", id="deflate, called gzip"),
        pytest.param(PACKED, [], "not a chat completion", id="gzip without the header"),
        pytest.param(zlib.compress(BODY), ["deflate"], "'deflate'", id="deflate"),
        pytest.param(gzip.compress(BODY), ["gzip", "br"], "'gzip, br'", id="another in a second header"),
        pytest.param(b"\x8b\x01\x80{}\x03", ["br"], "'br'", id="br"),
        pytest.param(BODY, ["aes128gcm"], "'aes128gcm'", id="a coding that nobody knows"),
        pytest.param(BODY, ["\xff"], "ÿ", id="a name that is not ASCII"),
        pytest.param(BODY, ["b" * 5000], "bbbb", id="a long name"),
    ],
)
def test_anything_else_is_an_error_of_the_endpoint(body: bytes, codings: list[str], words: str) -> None:
    error = verdict_on(body, *codings).error
    assert error is not None
    assert error.code == "server"
    assert words in error.message
    assert "the fault lies with the endpoint" in error.message
    assert len(error.message) < 1000


def test_an_error_without_a_body_keeps_its_status() -> None:
    error = verdict_on(b"", "gzip", status=401).error
    assert error is not None
    assert error.code == "auth"


def test_an_error_is_unpacked_too() -> None:
    packed = gzip.compress(json.dumps({"error": {"message": "no such thing"}}).encode())
    error = verdict_on(packed, "GZIP", status=400).error
    assert error is not None
    assert error.code == "bad_request"
    assert "no such thing" in error.message


async def test_a_request_says_which_codings_it_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "accept-encoding: br")
    with StandIn([GOOD]) as server:
        model = OpenAIModel("m", base_url=server.url)
        await load("groundedness", model=model).ajudge(ROW)
    (request,) = server.requests
    assert request.headers["Accept-Encoding"] == "gzip, identity"
