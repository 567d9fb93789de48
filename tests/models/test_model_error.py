"""No key and no password in an error, whatever an endpoint repeats in its message."""

from __future__ import annotations

import base64
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from traceback import format_exception
from typing import Any, cast
from urllib.parse import quote

import anthropic
import openai
import pytest
from command_line import GOOD, ROW
from formatter import sure
from standin_openai import StandIn, Status

import groundjudge
from groundjudge import ModelError, load
from groundjudge.batches.anthropic import AnthropicBatches
from groundjudge.models.openai import OpenAIModel
from groundjudge.models.redaction import RedactedError, redact
from groundjudge.models.transport import StatusError

KEY = "live-4f9a81c2d7"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        pytest.param(
            "Incorrect API key provided: sk-proj-1234567890",
            "Incorrect API key provided: [redacted]",
            id="key of OpenAI",
        ),
        pytest.param(
            "Authorization: Bearer abcdefgh12", "Authorization: Bearer [redacted]", id="bearer token"
        ),
        pytest.param(
            '{"authorization": "Basic dXNlcjpwdw=="}',
            '{"authorization": "Basic [redacted]"}',
            id="Basic authentication in JSON",
        ),
        pytest.param(
            "cannot connect to http://user:pass@host:1/v1",
            "cannot connect to http://[redacted]@host:1/v1",
            id="user and password in a URL",
        ),
        pytest.param(
            "{'api_key': 'abcdefgh', 'b': 1}", "{'api_key': '[redacted]', 'b': 1}", id="key in a mapping"
        ),
        pytest.param(
            "password=hunter22 in the DSN", "password=[redacted] in the DSN", id="password behind its name"
        ),
        pytest.param(
            "user:hunter22@host refused", "[redacted]@host refused", id="user and password without a scheme"
        ),
        pytest.param(
            "GET /v1?api-version=1&code=abcdefgh",
            "GET /v1?api-version=1&code=[redacted]",
            id="code in a query",
        ),
        pytest.param("pass api_key= or base_url=", "pass api_key= or base_url=", id="names without values"),
        pytest.param(
            "max_tokens: 100 is too large", "max_tokens: 100 is too large", id="name that ends in tokens"
        ),
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str, redacted: str) -> None:
    assert redact(text) == redacted


def library_model(url: str) -> Any:
    return OpenAIModel("m", base_url=url.replace("://", "://user:s3cret-pw@"), api_key=KEY)


def function(_: str) -> Any:
    def fails(_: object) -> str:
        message = f"401 for https://user:s3cret-pw@host/?key={KEY}"
        raise ValueError(message)

    return fails


@pytest.mark.parametrize("make", [library_model, function])
def test_an_error_repeats_no_key_and_no_password(make: Any) -> None:
    echo = Status(401, f"Unknown key {KEY}; you sent Authorization: Bearer {KEY} as user:s3cret-pw@host")
    with StandIn([echo]) as server, pytest.raises(ModelError) as raised:
        load("groundedness", model=make(server.url)).judge(ROW)
    forms = f"{raised.value!r} {raised.value.verdict!r} {raised.value.verdict and raised.value.verdict.error}"
    assert KEY not in forms
    assert "s3cret-pw" not in forms


SECRET = 'live/4f9a"81c2é+qx'  # noqa: S105  no real one
FORMS = {
    "as it is": SECRET,
    "percent-encoded but for slashes": quote(SECRET),
    "percent-encoded": quote(SECRET, safe=""),
    "escaped as in JSON": json.dumps(SECRET)[1:-1],
    "in Base64": base64.b64encode(SECRET.encode()).decode(),
    "behind its name": f"api_key={SECRET}",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_known_secret_is_replaced_in_every_form(form: str) -> None:
    redacted = redact(f"you sent {form}, which is wrong", [SECRET])
    assert re.fullmatch(r"you sent (api_key=)?\[redacted\]=*, which is wrong", redacted)


@pytest.mark.parametrize("text", ["the required field is missing", "wait...then", "a/b@c"])
def test_other_words_stay(text: str) -> None:
    assert redact(text, [SECRET, "short", ""]) == text


@pytest.mark.parametrize(
    "character", ["\n", "\x00", "\x7f", "é"], ids=["line break", "NUL", "DEL", "not ASCII"]
)
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(
    character: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"{KEY}{character}{KEY[::-1]}"
    makers: dict[str, Callable[[], object]] = {
        "the api_key that was passed": lambda: OpenAIModel("m", base_url="http://127.0.0.1:9", api_key=key),
        "OPENAI_API_KEY": lambda: OpenAIModel("m", base_url="http://127.0.0.1:9"),
        "the client's api_key": lambda: (openai.OpenAI(base_url="http://127.0.0.1:9", api_key=key), "m"),
        "ANTHROPIC_API_KEY": lambda: AnthropicBatches(anthropic.Anthropic(api_key=key)),
    }
    monkeypatch.setenv("OPENAI_API_KEY", key.replace("\x00", "\x01"))
    for origin, make in makers.items():
        with pytest.raises(ModelError) as raised:
            load("groundedness", model=cast("Any", make())).judge(ROW)
        assert str(raised.value).startswith(f"no_endpoint: {origin} cannot be the key for ")
        assert KEY not in "".join(format_exception(raised.value))


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}\r\n"])
def test_a_line_break_around_a_key_is_dropped(key: str) -> None:
    with StandIn([GOOD]) as server:
        load("groundedness", model=OpenAIModel("m", base_url=server.url, api_key=key)).judge(ROW)
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("password", "key"), [("s3cret-pw", KEY), ("s3cr/et@p w:ö%", None)])
def test_user_and_password_of_a_url_are_sent_as_such_by_both_clients(password: str, key: str | None) -> None:
    with StandIn([GOOD]) as server:
        url = server.url.replace("://", f"://me:{quote(password, safe='')}@")
        model = OpenAIModel("m", base_url=url, api_key=key)
        assert load("groundedness", model=model).judge(ROW).score == 1
        with model.client() as client:
            client.chat.completions.create(model="m", messages=[])
    authorization = f"Basic {base64.b64encode(f'me:{password}'.encode()).decode()}"
    assert [request.headers["Authorization"] for request in server.requests] == [authorization, authorization]
    assert model.endpoint == redact(url)
    assert not {part for part in (password, quote(password)) if part in model.identity}


def test_the_cause_shows_what_was_raised_without_the_key() -> None:
    with StandIn([Status(401, f"Unknown key {KEY}")]) as server, pytest.raises(ModelError) as raised:
        load("groundedness", model=OpenAIModel("m", base_url=server.url, api_key=KEY)).judge(ROW)
    cause = raised.value.__cause__
    assert isinstance(cause, RedactedError)
    assert isinstance(cause.raised, StatusError)
    assert "StatusError" in str(cause)
    assert KEY not in str(pickle.loads(pickle.dumps(cause)))  # noqa: S301  pickled here
    assert KEY.encode() not in pickle.dumps(raised.value)


class OwnError(ModelError):
    """One with arguments of its own."""

    def __init__(self, message: str) -> None:
        super().__init__("quota", message, "own")


def test_an_error_of_a_models_own_is_copied_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_KEY", KEY)
    own_error = OwnError(f"no money for {KEY}")

    def asks(_: object) -> str:
        try:
            raise ValueError(KEY)  # noqa: TRY301  what a client does
        except ValueError:
            raise own_error from None

    with pytest.raises(OwnError) as raised:
        load("groundedness", model=asks).judge(ROW)
    assert str(raised.value) == "quota: no money for [redacted]"
    assert raised.value.args == ("quota", "no money for [redacted]", "own")
    assert KEY not in "".join(format_exception(raised.value))
    assert own_error.message == f"no money for {KEY}", "nobody writes into the user's own object"
    assert own_error.verdict is None


def test_a_reply_keeps_what_the_case_itself_shows() -> None:
    reply = f"<S0>t</S0><S1>It says {KEY}</S1>{sure(5)}"
    with StandIn([reply]) as server:
        judge = load("groundedness", model=OpenAIModel("m", base_url=server.url, api_key=KEY))
        assert judge.judge({**ROW, "context": f"The key is {KEY}."}).reason == f"It says {KEY}"
        assert judge.judge(ROW).reason == "It says [redacted]"


def test_no_other_file_makes_a_model_error() -> None:
    """What an endpoint says would not be cleaned there; the offline judge asks none."""
    source = Path(groundjudge.__file__).parent
    files = [*source.rglob("*.py"), *(source / "adapters").glob("*.py")]
    files_that_raise = {
        path.name for path in files if re.search(r"(?<!class )\bModelError\(", path.read_text())
    }
    assert files_that_raise == {"failure.py", "model.py"}
