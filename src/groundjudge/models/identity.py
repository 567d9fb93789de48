"""What distinguishes models in a cache, without secrets, and which models can go to another process."""

from __future__ import annotations

import json
import re
import sys
from hashlib import sha256
from pickle import PicklingError
from typing import Any, TypeVar, cast

from groundjudge.text.patterns import compile_when_used

M = TypeVar("M")

SECRET_SETTING = compile_when_used(
    r"(.*[_-])?(api|access|secret|private|subscription)[_-]?key([_-]id)?|authorization|(.*[_-])?password"
    r"|(.*[_-])?(client|webhook)[_-]secret|(.*[_-])?(api|access|auth|bearer|session)[_-]?token|credentials?",
    re.IGNORECASE,
)
"""Names of settings that contain secrets. `stop_token` and `output_key` do not."""

UNRELATED = frozenset(
    {"callbacks", "callback_manager", "cache", "verbose", "tags", "metadata", "rate_limiter"}
)
"""Settings of LangChain's classes that do not affect replies."""

CUSTOM_HEADERS = "_custom_headers"
"""The attribute by which a provider's client is recognised: the headers it was created with."""

PROVIDER_CLIENT = "_client"
"""The attribute under which a part, such as `client.chat.completions`, has the provider's client."""

HTTP_CLIENT = "_client"
"""The attribute of the same name under which a provider's client has the HTTP client that it sends with."""

CLIENT_ATTRIBUTES = (CUSTOM_HEADERS, "_custom_query", "organization", "project")
"""What a provider's client adds to each of its requests."""

INSTALLED = compile_when_used(r"[\\/](?:site|dist)-packages[\\/]")
"""Where the files of installed packages are."""

USER = compile_when_used(r'(?<=://)[^/@\s"]+@')
"""The user and the password in a URL."""


def identity_by_settings(name: str, model: object) -> str:
    """Return the identity of a model: its name, and a hash of its settings.

    Settings describe fully what an installed package does, if they consist of plain values, classes and
    objects of such packages. What your own code does cannot be seen from outside: it says so itself, with an
    attribute `identity`.

    Returns:
        "" if the model, or anything in its settings, cannot be distinguished from others.
    """
    try:
        text = json.dumps(model, default=_describe)
    except (TypeError, ValueError, RecursionError):
        return ""
    settings = json.loads(text, object_hook=_without_secrets)
    text = USER.sub("", json.dumps(settings, sort_keys=True))
    return f"{name} {sha256(text.encode()).hexdigest()[:16]}"


def declared_identity(value: object) -> str:
    """Return what a user's object says about itself, its attribute `identity`; "" without one."""
    identity = getattr(value, "identity", "")
    return identity if isinstance(identity, str) else ""


def client_settings(client: Any) -> dict[str, Any]:  # noqa: ANN401  of any provider, or a part of one
    """Return what a provider's client, or that of a part such as `chat.completions`, adds to its requests."""
    if not hasattr(client, CUSTOM_HEADERS):  # it is a part
        client = getattr(client, PROVIDER_CLIENT, client)
    http_client = getattr(client, HTTP_CLIENT, None)
    headers = dict[str, object](getattr(http_client, "headers", None) or {})
    headers.pop("user-agent", None)  # it has the version of httpx
    settings: dict[str, Any] = {"base_url": str(getattr(client, "base_url", ""))}
    for name in CLIENT_ATTRIBUTES:
        settings[name] = getattr(client, name, None)
    settings["headers"] = headers
    settings["params"] = str(getattr(http_client, "params", ""))
    return settings


def class_of(value: object) -> str:
    """Return the name of a value's class and of its module."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def not_pickled(model: str, what: str) -> PicklingError:
    """Return the error of a model that cannot be sent to another process; it says how to, and shows no key.

    Args:
        model: the model's name.
        what: what it contains that must not leave the process.
    """
    return PicklingError(
        f"the model {model} cannot be sent to another process with {what}: pass its name, as in "
        '"openai:gpt-6-luna" or "langchain:anthropic:claude-sonnet-5", and set OPENAI_API_KEY and, if it '
        "needs one, OPENAI_BASE_URL, or the provider's variables, in the environment of the workers"
    )


def itself(model: M, _: Any = None) -> M:  # noqa: ANN401  the memo of deepcopy
    """Return a model as its own copy, so that copying it needs no pickling."""
    return model


def _describe(value: Any) -> object:  # noqa: ANN401
    """Return a replacement for a value that JSON does not have.

    A ChatOpenAI(model="gpt") becomes {"class": "langchain_openai....ChatOpenAI", "model_name": "gpt", ...}.

    Raises:
        TypeError: it is not from an installed package, or has no settings.
    """
    kind = type(cast("object", value))
    identity = declared_identity(value)
    if identity:
        return identity
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, set | frozenset):
        return sorted(map(repr, cast("set[object]", value)))
    if hasattr(kind, "get_secret_value"):
        return None
    if hasattr(value, CUSTOM_HEADERS):
        return {"class": class_of(value), **client_settings(value)}
    source = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if source is None or not INSTALLED.search(source):
        raise TypeError(class_of(value))
    settings: dict[str, Any] = {**vars(value)}
    fields: dict[str, Any] | None = getattr(kind, "model_fields", None)
    if fields:
        # Its cached properties, such as the clients of a used ChatAnthropic, are derived from its fields.
        settings = {name: setting for name, setting in settings.items() if name in fields}
        settings.update(value.model_extra or {})
        for name, model_field in fields.items():
            # What is left out of a dump is derived from the other fields, except a client that was passed.
            if model_field.exclude and settings[name] is not None:
                settings[name] = {"class": class_of(settings[name]), **client_settings(settings[name])}
    description: dict[str, Any] = {"class": class_of(value)}
    for name, setting in settings.items():
        if name not in UNRELATED:
            description[name] = setting
    return description


def _without_secrets(settings: dict[str, object]) -> dict[str, object]:
    """Return settings without those that contain secrets, such as `api_key`: two keys are one model."""
    return {name: value for name, value in settings.items() if not SECRET_SETTING.fullmatch(name)}
