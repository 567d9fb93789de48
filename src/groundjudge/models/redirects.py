"""LangChain chat models whose clients do not follow redirects, and requests that go to one host only.

The clients of OpenAI, Anthropic and Groq follow redirects unless their HTTP client is configured not to, and
send prompts and custom headers to any host that an endpoint names.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, cast
from urllib.parse import urlsplit

from groundjudge.models.failure import model_error

HTTP_CLIENTS = {"http_client": "DefaultHttpxClient", "http_async_client": "DefaultAsyncHttpxClient"}
"""The fields in which LangChain's models of OpenAI and Groq accept an HTTP client, and its class."""

SDK_CLIENTS = {"_client": "DefaultHttpxClient", "_async_client": "DefaultAsyncHttpxClient"}
"""Where ChatAnthropic keeps its clients, which share HTTP clients with all models of the process."""


def chat_model_without_redirects(name: str, options: Mapping[str, Any]) -> Any:  # noqa: ANN401  LangChain's
    """Return the chat model that LangChain's `init_chat_model` makes of "provider:model" and options.

    The clients of OpenAI, Anthropic and Groq do not follow redirects. Other providers' clients are left as
    LangChain creates them.

    Raises:
        Exception: anything that LangChain or the provider's package raises.
    """
    init_chat_model = import_module("langchain.chat_models").init_chat_model
    llm: Any = init_chat_model(name, **options)
    sdk = _sdk_of(llm)
    if sdk is None:
        return llm
    kind = cast("Any", type(llm))
    if HTTP_CLIENTS.keys() <= kind.model_fields.keys():
        http_clients: dict[str, Any] = {}
        for field, http_client in HTTP_CLIENTS.items():
            http_clients[field] = getattr(sdk, http_client)(follow_redirects=False)
        llm = init_chat_model(name, **options, **http_clients)
        weakref.finalize(llm, http_clients["http_client"].close)
        for field in HTTP_CLIENTS:
            # The provider's client has it. As a setting it would keep the model from being cached.
            setattr(llm, field, None)
        return llm
    proxy = getattr(llm, "anthropic_proxy", None)
    for attribute, http_client in SDK_CLIENTS.items():
        client: Any = getattr(llm, attribute, None)
        if hasattr(client, "copy"):
            http_client_of_model = getattr(sdk, http_client)(follow_redirects=False, proxy=proxy)
            if attribute == "_client":
                weakref.finalize(llm, http_client_of_model.close)
            # A cached property, which copies of the model inherit.
            vars(llm)[attribute] = client.copy(http_client=http_client_of_model)
    return llm


def _sdk_of(llm: object) -> ModuleType | None:
    """Return the provider's own package, "openai" for "langchain_openai"; None if it makes no HTTP clients.

    Classes for other providers that have OpenAI's API are derived from that of langchain_openai.
    """
    for kind in type(llm).__mro__:
        package = kind.__module__.partition(".")[0]
        if not package.startswith("langchain_"):
            continue
        try:
            sdk = import_module(package.removeprefix("langchain_"))
        except ImportError:
            continue
        if hasattr(sdk, "DefaultHttpxClient"):
            return sdk
    return None


def stays_at(url: str, model: str) -> Callable[[Any], None]:
    """Return a hook for an HTTP client that refuses requests to any origin but a URL's own.

    Args:
        url: the endpoint's URL.
        model: the name that the error is about.
    """
    endpoint = "{0.scheme}://{0.netloc}".format(urlsplit(url))

    def check(request: Any) -> None:  # noqa: ANN401  of httpx
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(str(request.url)))
        if origin != endpoint:
            message = f"{model} at {endpoint} redirects to {origin}; nothing was sent there"
            raise model_error("redirected", message, model)

    return check
