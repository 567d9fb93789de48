"""Keys at every place where one can be given, everything that can go wrong there, and a search for them.

The keys look like no provider's, so that only knowing them helps.
"""

# DeepEval is only partly typed:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import base64
import functools
import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import openai
import pytest
from deepeval.models import DeepEvalBaseLLM
from formatter import sure
from langchain_groq import ChatGroq
from standin_openai import Answer, Cut, Half, Hang, Raw, StandIn, Status, Text

from groundjudge.decisions.endpoint import DecisionModel
from groundjudge.models.loop_thread import shared_loop
from groundjudge.models.openai import OpenAIModel

KEY = "live/4f9a81c2d7e6b35a0c+qx"
PASSWORD = "s3cr/et@pw-9x!Zt"  # noqa: S105  no real one
USER = "judge-bot-77"
TIMEOUT = 0.3

PLANTED = (KEY, PASSWORD, USER)


# --- the search -----------------------------------------------------------------------------------


def shown_forms(secret: str) -> list[str]:
    """A secret as no text may show it: as it is, percent-encoded, escaped as in JSON, in Base64."""
    in_base64 = base64.b64encode(secret.encode()).decode().rstrip("=")
    return [secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1], in_base64]


def leaks_in(text: str, planted: Sequence[str] = PLANTED) -> set[str]:
    """What a text shows of the planted keys."""
    forms = {form for secret in planted for form in shown_forms(secret)}
    return {form for form in forms if form in text}


def in_files(folder: Path) -> str:
    """All that stands in the files of a folder, and their names."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    texts = [f"{path}\n{path.read_bytes().decode(errors='replace')}" for path in files]
    return "\n".join(texts).replace("\0", "")


# --- the places -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where keys are given.

    Attributes:
        make: from the URL of an endpoint to a model.
        planted: what is given there.
        environment: from the URL to the variables that are set.
    """

    make: Callable[[str], Any]
    planted: Sequence[str] = (KEY,)
    environment: Callable[[str], Mapping[str, str]] = lambda _: {}


SETTINGS: Mapping[str, Any] = {"max_retries": 0, "timeout": TIMEOUT}


def with_password(url: str) -> str:
    return url.replace("://", f"://{USER}:{quote(PASSWORD, safe='')}@")


def openai_model(url: str, key: str | None = None, **more: Any) -> Any:
    return OpenAIModel("m", base_url=url, api_key=key, **SETTINGS, **more)


def client(url: str, key: str = "none", make: Any = openai.OpenAI, **more: Any) -> Any:
    return make(base_url=url, api_key=key, **SETTINGS, **more), "m"


def decision_model(form: str, url: str, key: str | None = None) -> Any:
    return DecisionModel(f"{form}:m", base_url=url, api_key=key, **SETTINGS)


def groq(url: str, key: str = KEY) -> Any:
    settings: dict[str, Any] = {"api_key": key, "base_url": url.removesuffix("/v1"), **SETTINGS}
    return ChatGroq(model="m", **settings)


def ask(url: str, key: str, request: Any) -> str | None:
    """Ask an endpoint, as a function of the user's would; an exception shows the key."""
    try:
        with openai.OpenAI(base_url=url, api_key=key, **SETTINGS) as openai_client:
            messages: Any = [{"role": "user", "content": str(request)[:40]}]
            return (
                openai_client.chat.completions.create(model="m", messages=messages).choices[0].message.content
            )
    except Exception as error:
        message = f"asking with {key} (Basic {base64.b64encode(f'me:{key}'.encode()).decode()}): {error}"
        raise ValueError(message) from error


def closure(url: str, key: str = KEY) -> Callable[[object], str | None]:
    return lambda request: ask(url, key, request)


def variable(name: str, value: str = KEY) -> Place:
    """A variable that a function of the user's reads."""

    def make(url: str) -> Callable[[object], str | None]:
        return lambda request: ask(url, os.environ[name].rpartition("=")[2], request)

    return Place(make, environment=lambda _: {name: value})


class OwnLLM(DeepEvalBaseLLM):
    """A model of DeepEval's as its users write them."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.api_key = url, key
        super().__init__("m")

    def load_model(self) -> Any:
        return self

    def generate(self, prompt: str) -> str:
        return ask(self.url, self.api_key, prompt) or ""

    async def a_generate(self, prompt: str) -> str:
        return self.generate(prompt)

    def get_model_name(self) -> str:
        return "m"


class Completing:
    """An object of a user's that answers, with its key in an attribute."""

    name = "m"

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.api_key = key

    def complete(self, request: object) -> str | None:
        return ask(self.url, self.api_key, request)


QUOTED = 'live"4f9a81c2\\d7e6<b35a'
"""A key that JSON escapes."""

HEADERS = ("Authorization", "x-api-key", "X-Subscription", "x-team", "HTTP-Referer", "Accept")
"""Names of headers under which a key can be sent: only its value tells that it is one."""

SENT_FROM_ENVIRONMENT: Mapping[str, tuple[str, str]] = {
    "OPENAI_ORG_ID": ("OPENAI_ORG_ID", KEY),
    "OPENAI_PROJECT_ID": ("OPENAI_PROJECT_ID", KEY),
    **{f"header {name}": ("OPENAI_CUSTOM_HEADERS", f"x-first: one\n{name}: {KEY}") for name in HEADERS},
    "header with a scheme": ("OPENAI_CUSTOM_HEADERS", f"x-auth: Bearer {KEY}"),
    "header Cookie": ("OPENAI_CUSTOM_HEADERS", f"Cookie: theme=dark; session={KEY}"),
    "header with quotes": ("OPENAI_CUSTOM_HEADERS", f"x-team: {QUOTED}"),
}
"""Variables that the openai client reads itself, with a value of each."""


def with_variable(name: str, value: str) -> Place:
    planted = (QUOTED,) if QUOTED in value else (KEY,)
    return Place(openai_model, planted, lambda _: {name: value, "OPENAI_API_KEY": "none"})


def in_environment(make: Callable[[str], Any]) -> Place:
    """A client or function of the user's: its key is known where the environment has it too."""
    return Place(make, environment=lambda _: {"OWN_SERVICE_KEY": KEY})


AT_URL = (USER, PASSWORD)
PLACES: Mapping[str, Place] = {
    "OPENAI_API_KEY": Place(openai_model, environment=lambda _: {"OPENAI_API_KEY": KEY}),
    "api_key": Place(lambda url: openai_model(url, KEY)),
    "URL": Place(lambda url: openai_model(with_password(url)), AT_URL),
    "OPENAI_BASE_URL": Place(
        lambda _: OpenAIModel("m", **SETTINGS), AT_URL, lambda url: {"OPENAI_BASE_URL": with_password(url)}
    ),
    "query": Place(lambda url: openai_model(f"{url}?sig={quote(KEY, safe='')}")),
    "any query": Place(lambda url: openai_model(f"{url}?tenant={quote(KEY, safe='')}")),
    "TYPESAFE_API_KEY": Place(
        lambda url: decision_model("systemone", url), environment=lambda _: {"TYPESAFE_API_KEY": KEY}
    ),
    "api_key of decisions": Place(lambda url: decision_model("decisions", url, KEY)),
    "TYPESAFE_BASE_URL": Place(
        lambda _: DecisionModel("systemone:m", **SETTINGS),
        AT_URL,
        lambda url: {"TYPESAFE_BASE_URL": with_password(url)},
    ),
    "client": in_environment(lambda url: client(url, KEY)),
    "async client": in_environment(lambda url: client(url, KEY, openai.AsyncOpenAI)),
    "client of decisions": in_environment(lambda url: (client(url, KEY)[0], "decisions:m")),
    "LangChain": in_environment(groq),
    "LangChain with_retry": in_environment(lambda url: groq(url).with_retry(stop_after_attempt=1)),
    "DeepEval": in_environment(lambda url: OwnLLM(url, KEY)),
    "object with complete": in_environment(lambda url: Completing(url, KEY)),
    "closure": in_environment(closure),
    "partial": in_environment(lambda url: functools.partial(ask, url, KEY)),
    **{
        name: variable(name)
        for name in ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "AZURE_OPENAI_AD_TOKEN")
    },
    "proxy": variable("OWN_PROXY", f"http://proxy.example?key={KEY}"),
    **{place: with_variable(*variable) for place, variable in SENT_FROM_ENVIRONMENT.items()},
}


# --- the faults -----------------------------------------------------------------------------------


def echo(planted: Sequence[str]) -> str:
    """An endpoint's message with the keys that it was sent, in all forms that are searched for."""
    pair = base64.b64encode(":".join(planted).encode()).decode()
    forms: list[str] = []
    for secret in planted:
        forms.extend(shown_forms(secret))
    texts = [f"Incorrect: {forms[0]}", *forms, f"Authorization: Basic {pair}", pair]
    return " ; ".join(texts)


GOOD = f"<S0>t</S0><S1>all of it</S1>{sure(5)}"
Fault = Callable[[Sequence[str]], Answer]


def with_status(status: int) -> Fault:
    return lambda keys: Status(status, echo(keys), retry_after=0.01)


FAULTS: Mapping[str, Fault] = {
    **{str(status): with_status(status) for status in (400, 401, 403, 404, 429, 500)},
    "another body": lambda keys: Status(401, body={"detail": [{"loc": ["header"], "input": echo(keys)}]}),
    "page": lambda keys: Raw(f"<html><p>{echo(keys)}".encode(), "text/html"),
    "no completion": lambda keys: Raw(json.dumps({"detail": echo(keys)}).encode()),
    "text": lambda keys: Text(f"<S0>t</S0><S1>{keys[0]} {keys[-1]}</S1>{sure(5)}"),
    "unreadable text": lambda keys: Text(f"I was asked with {keys[0]} and {keys[-1]}."),
    "model": lambda keys: Text(GOOD, model=f"m {keys[-1]}"),
    "refusal": lambda keys: Text("", refusal=f"Not with {keys[0]}."),
    "finish_reason": lambda keys: Text(GOOD, finish_reason=f"{keys[-1]}"),
    "cut": lambda _: Cut(),
    "half": lambda _: Half(),
    "timeout": lambda _: Hang(),
}
"""What the endpoint answers."""

UNREACHABLE: Mapping[str, Callable[[Place], Any]] = {
    "refused": lambda place: place.make("http://127.0.0.1:9/v1"),
    "bad URL": lambda place: place.make("http://[bad/v1"),
}
"""What goes wrong without an endpoint: from a place to the model."""

PATHS = (
    ("api_key", "401"),
    ("closure", "500"),
    ("URL", "text"),
    ("client", "finish_reason"),
    ("DeepEval", "page"),
)
"""What goes wrong at every adapter and in every command: the place and the fault."""


@contextmanager
def plant_keys(place: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    """Give keys at a place whose endpoint has a fault; yields the model of the place."""
    place_of_keys = PLACES[place]
    answer: Answer = "fine"
    if fault in FAULTS:
        answer = FAULTS[fault](place_of_keys.planted)
    with StandIn([answer]) as server:
        for name, value in place_of_keys.environment(server.url).items():
            monkeypatch.setenv(name, value)
        if fault in UNREACHABLE:
            model = UNREACHABLE[fault](place_of_keys)
        else:
            model = place_of_keys.make(server.url)
        yield model
        close(model)


def close(model: Any) -> None:
    """Close the client of the place, in the loop where synchronous calls used it."""
    client: object = None
    if isinstance(model, tuple):
        pair: tuple[object, ...] = model  # pyright: ignore[reportUnknownVariableType]
        client = pair[0]
    if isinstance(client, openai.OpenAI):
        client.close()
    if isinstance(client, openai.AsyncOpenAI):
        shared_loop().run(client.close)
