"""A response that is larger than any completion is an error of the endpoint, however it is packed."""

from __future__ import annotations

import gzip
import json

import pytest
from command_line import GOOD, ROW
from standin_openai import Raw, StandIn, Text, completion

from groundjudge import load
from groundjudge.models.openai import OpenAIModel
from groundjudge.verdict import Verdict

LIMIT = 100_000
TOO_LARGE = "more than 100000 bytes"
ANSWER = json.dumps(completion(Text(GOOD))).encode()


def verdict_on(answer: Raw, monkeypatch: pytest.MonkeyPatch) -> Verdict:
    monkeypatch.setattr("groundjudge.models.transport.MAX_RESPONSE", LIMIT)
    with StandIn([answer]) as server:
        model = OpenAIModel("m", base_url=server.url, max_retries=0)
        return load("groundedness", model=model).evaluate(ROW)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(Raw(ANSWER + b" " * LIMIT), TOO_LARGE, id="too large"),
        pytest.param(
            Raw(gzip.compress(b" " * 50_000_000), encoding="gzip"), TOO_LARGE, id="50 MB once unpacked"
        ),
        pytest.param(
            Raw(gzip.compress(ANSWER.ljust(LIMIT + 1)), encoding="gzip"),
            TOO_LARGE,
            id="a byte too much once unpacked",
        ),
        pytest.param(Raw(b"\x1f\x8b not gzip", encoding="gzip"), "", id="called gzip, and is not"),
        pytest.param(Raw(gzip.compress(ANSWER)[:-30], encoding="gzip"), "", id="gzip without its end"),
        pytest.param(Raw(gzip.compress(ANSWER), encoding="zstd"), "", id="gzip that is called zstd"),
    ],
)
def test_a_response_that_is_too_large_or_cannot_be_unpacked_is_an_error(
    answer: Raw, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = verdict_on(answer, monkeypatch).error
    assert error is not None
    assert error.code == "server"
    assert words in error.message


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Raw(ANSWER.ljust(LIMIT)), id="plain"),
        pytest.param(Raw(gzip.compress(ANSWER.ljust(LIMIT)), encoding="gzip"), id="packed"),
    ],
)
def test_a_response_of_that_size_is_read(answer: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict_on(answer, monkeypatch).status == "ok"
