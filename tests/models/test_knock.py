"""A knock: whether an endpoint answers at all, asked without anything that is meant for it alone."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import openai
import pytest
from standin_openai import Answer, Cut, Hang, StandIn, Status

from groundjudge.models import openai as models_openai
from groundjudge.models.decisions import DecisionModel
from groundjudge.models.openai import OpenAIModel

KEY = "sk-" + "k" * 40
HEADER = "h" * 40


@pytest.mark.parametrize(
    ("listing", "is_answered"),
    [
        pytest.param(Status(200, body={"data": []}), True, id="a list"),
        pytest.param(Status(404), True, id="not found"),
        pytest.param(Status(401), True, id="a key is needed"),
        pytest.param(Status(308, headers={"Location": "http://192.0.2.1/"}), True, id="another address"),
        pytest.param(Status(503), True, id="a fault"),
        pytest.param(Cut(), False, id="cut"),
        pytest.param(Hang(), False, id="no response"),
    ],
)
async def test_any_status_is_an_answer(
    listing: Answer,
    is_answered: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if isinstance(listing, Hang):
        monkeypatch.setattr(models_openai, "LONGEST_KNOCK", 0.05)
    with StandIn(listing=listing) as server:
        assert await OpenAIModel("m", base_url=server.url).knock() is is_answered
    assert not server.requests


async def test_a_closed_port_answers_nothing() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        assert not await OpenAIModel("m", base_url=url).knock()


@pytest.mark.parametrize(
    "url", ["", "no-scheme/v1", "http://[::1", "http://127.0.0.1:port/v1", "ftp://127.0.0.1/"]
)
async def test_a_url_that_cannot_be_asked_answers_nothing(url: str) -> None:
    assert not await OpenAIModel("m", base_url=url or "http://").knock()


def decision_model(url: str) -> DecisionModel:
    return DecisionModel("decisions:m", base_url=url, api_key=KEY)


def system_one_model(url: str) -> DecisionModel:
    return DecisionModel("systemone:m", base_url=url, api_key=KEY)


def chat_model(url: str) -> OpenAIModel:
    return OpenAIModel("m", base_url=url, api_key=KEY)


@pytest.mark.parametrize("make", [chat_model, decision_model, system_one_model])
async def test_nothing_that_only_the_endpoint_may_know_is_sent(
    make: Callable[[str], OpenAIModel | DecisionModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Gateway: {HEADER}")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    with StandIn() as server:
        url = server.url.replace("//", "//user:password@") + "/?api-version=1&key=secret"
        assert await make(url).knock()
    (listing,) = server.listings
    assert (listing.path, listing.query, listing.body) == ("/v1/models", {}, {})
    assert "Authorization" not in listing.headers
    sent = str(listing.headers)
    assert not [secret for secret in (KEY, HEADER, "org-of-mine", "password") if secret in sent]


@pytest.mark.parametrize("client_type", [openai.OpenAI, openai.AsyncOpenAI])
async def test_a_client_of_the_caller_is_not_used(client_type: Callable[..., Any]) -> None:
    with StandIn() as server:
        client = client_type(base_url=server.url, api_key=KEY)
        assert not await OpenAIModel("m", client=client).knock()
        assert not server.listings
