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
ANSWER = json.dumps(completion(Text(GOOD))).encode()


def judged(answer: Raw, monkeypatch: pytest.MonkeyPatch) -> Verdict:
    monkeypatch.setattr("groundjudge.models.openai.LARGEST_RESPONSE", LIMIT)
    with StandIn([answer]) as server:
        model = OpenAIModel("m", base_url=server.url, max_retries=0)
        return load("groundedness", model=model).evaluate(ROW)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Raw(ANSWER + b" " * LIMIT), "more than 100000 bytes"),
        (Raw(gzip.compress(b" " * 50_000_000), encoding="gzip"), "more than 100000 bytes"),
        (Raw(gzip.compress(ANSWER.ljust(LIMIT + 1)), encoding="gzip"), "more than 100000 bytes"),
        (Raw(b"\x1f\x8b not gzip", encoding="gzip"), ""),
        (Raw(gzip.compress(ANSWER)[:-30], encoding="gzip"), ""),
        (Raw(gzip.compress(ANSWER), encoding="zstd"), ""),
    ],
)
def test_a_response_that_is_too_large_or_cannot_be_unpacked_is_an_error(
    answer: Raw, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = judged(answer, monkeypatch).error
    assert error is not None
    assert error.code == "server"
    assert words in error.message


@pytest.mark.parametrize(
    "answer", [Raw(ANSWER.ljust(LIMIT)), Raw(gzip.compress(ANSWER.ljust(LIMIT)), encoding="gzip")]
)
def test_a_response_of_that_size_is_read(answer: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(answer, monkeypatch).status == "ok"
