"""Chat models of LangChain's providers, made by their names, whose clients do not follow redirects.

The clients of OpenAI, Anthropic and Groq follow redirects unless their HTTP client is configured not to, and
send prompts and custom headers to any host that an endpoint names.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from groundjudge.models.failure import model_error
from groundjudge.models.library import LibraryModel
from groundjudge.models.redaction import RedactedError
from groundjudge.models.secret_values import url_secrets

HTTP_CLIENTS = {"http_client": "DefaultHttpxClient", "http_async_client": "DefaultAsyncHttpxClient"}
"""The fields in which LangChain's models of OpenAI and Groq accept an HTTP client, and its class."""

SDK_CLIENTS = {"_client": "DefaultHttpxClient", "_async_client": "DefaultAsyncHttpxClient"}
"""Where ChatAnthropic keeps its clients, which share HTTP clients with all models of the process."""


def model_of_provider(name: str, options: Mapping[str, Any]) -> LibraryModel:
    """Return the chat model that LangChain's `init_chat_model` makes of "provider:model" and its options.

    Raises:
        ModelError: `unknown_model`, if LangChain or the provider's package is not installed, or if it cannot
            create the model, for instance because a key is missing.
    """
    secrets: tuple[str, ...] = (*url_secrets(options.get("base_url") or ""),)
    if options.get("api_key"):
        secrets += (options["api_key"],)
    try:
        llm = _chat_model_without_redirects(name, options)
    except Exception as error:  # noqa: BLE001  each provider's package raises its own exceptions
        remedy = "set its key, and pip install langchain and, for instance, langchain-anthropic"
        message = f"LangChain cannot make the model {name!r}: {error} ({remedy})"
        raise model_error("unknown_model", message, name, secrets) from RedactedError(error, secrets)
    known_names = _settings_of(llm)
    for option in options:
        # Some classes ignore what they do not know.
        if option not in known_names:
            message = f"{type(llm).__name__}, the class of {name!r}, has no setting {option}: leave it out"
            raise model_error("unknown_model", message, name)
    if secrets:  # it cannot be pickled: they would be in the pickle
        return LibraryModel(llm, keys=secrets)
    return LibraryModel(llm, remake=partial(model_of_provider, name, options))


def _chat_model_without_redirects(name: str, options: Mapping[str, Any]) -> Any:  # noqa: ANN401  LangChain's
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


def _settings_of(llm: Any) -> set[str]:  # noqa: ANN401  LangChain's
    """Return the names of a chat model's settings; some settings have two."""
    names = set[str]()
    kind = cast("Any", type(llm))
    for name, field in kind.model_fields.items():
        names.update({name, str(field.alias)})
    return names
