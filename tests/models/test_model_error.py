"""No key and no password in an error, whatever an endpoint repeats in its message."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from command_line import ROW
from standin_openai import StandIn, Status

from groundjudge import ModelError, load
from groundjudge.models.openai import OpenAIModel
from groundjudge.models.redaction import redacted

KEY = "live-4f9a81c2d7"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Incorrect API key provided: sk-proj-1234567890", "Incorrect API key provided: [redacted]"),
        ("sk-abc***************wxyz is wrong", "[redacted] is wrong"),
        ("Authorization: Bearer abcdefgh12", "Authorization: Bearer [redacted]"),
        ('{"authorization": "Basic dXNlcjpwdw=="}', '{"authorization": "Basic [redacted]"}'),
        ("cannot connect to http://user:pass@host:1/v1", "cannot connect to http://[redacted]@host:1/v1"),
        ("GET /v1/chat?key=abcdefgh&alt=json", "GET /v1/chat?key=[redacted]&alt=json"),
        ("x-api-key: abcdefgh, host: a", "x-api-key: [redacted], host: a"),
        ("{'api_key': 'abcdefgh', 'b': 1}", "{'api_key': '[redacted]', 'b': 1}"),
        ("password=hunter22 in the DSN", "password=[redacted] in the DSN"),
        ("user:hunter22@host refused", "[redacted]@host refused"),
        *((said, said) for said in ("pass api_key= or base_url=", "max_tokens: 100 is too large")),
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str, shown: str) -> None:
    assert redacted(text) == shown


def own(url: str) -> Any:
    return OpenAIModel("m", base_url=url.replace("://", "://user:s3cret-pw@"), api_key=KEY)


def given(url: str) -> Any:
    return openai.OpenAI(base_url=url, api_key=KEY, max_retries=0), "m"


def function(_: str) -> Any:
    def fails(_: object) -> str:
        message = f"401 for https://user:s3cret-pw@host/?key={KEY}"
        raise ValueError(message)

    return fails


@pytest.mark.parametrize("make", [own, given, function])
def test_an_error_repeats_no_key_and_no_password(make: Any) -> None:
    echo = Status(401, f"Unknown key {KEY}; you sent Authorization: Bearer {KEY} as user:s3cret-pw@host")
    with StandIn([echo]) as server, pytest.raises(ModelError) as raised:
        load("groundedness", model=make(server.url)).judge(ROW)
    shown = f"{raised.value!r} {raised.value.verdict!r} {raised.value.verdict and raised.value.verdict.error}"
    assert KEY not in shown
    assert "s3cret-pw" not in shown
