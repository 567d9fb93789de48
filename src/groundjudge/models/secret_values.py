"""Which keys, passwords and other secrets are known, by their values.

What a client sends besides the request is a secret under any name, unless a bare client would send it too.
Beside that there is what settings and the environment hold under names of keys, and what looks like a key.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias, cast
from urllib.parse import unquote

from groundjudge.case.data import is_list, is_mapping
from groundjudge.models.loop_thread import call_function
from groundjudge.text.patterns import compile_when_used

REDACTED = "[redacted]"

SHORTEST_SECRET = 6
"""Characters. What is shorter is no key: "k" stands for one in examples, and is a part of many words."""

SHORTEST_VALUE = 8
"""Characters. A shorter value of a header, a cookie or a query is a word such as "eu" or "on"."""

LENGTH_OF_KEYS = 16
"""Characters. A shorter value in the environment may be a word that a reply has for another reason."""

SECRET_NAME = compile_when_used(
    r"key|secret|password|credential|authorization|(?<!max_)(?:^|[_-])token$", re.IGNORECASE
)
"""Names of settings and variables that hold secrets."""

OPENAI_VARIABLES = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")
"""Variables that the openai client sends as headers, wherever it is made."""

PATTERNS = (
    (r"(?<=://)[^/\s@\"']+@|(?<![^/\s@:\"'])[^/\s@:\"']+:[^/\s@\"']+@", f"{REDACTED}@"),
    (r"(?i)\b(bearer|basic)\s+(?=\S{6})[\w.~+/=-]+", rf"\1 {REDACTED}"),
    (
        (
            r"(?i)\b(authorization|(?:x-)?api[-_]?key|access[-_]?token|password|secret)(\\?['\"]?(?::\s*|=)\\?['\"]?)"
            r"(?!bearer|basic)[^\s\"'&,;})\]\\]{6,}"
        ),
        rf"\1\2{REDACTED}",
    ),
    (r"(?i)([?&](?:[\w-]*(?:key|token|sig|signature|secret|password)|code)=)[^\s&\"'\\]+", rf"\1{REDACTED}"),
    (r"\bsk-[\w*-]{6,}|(?<![\w-])[\w-]*\*{3,}[\w-]*", REDACTED),
)
"""What looks like a secret, and what takes its place."""

MOST_VALUES = 300
"""So many values are looked at in search of secrets: an object can hold anything."""

BARE_NAMES = compile_when_used(
    r"host|connection|content-length|transfer-encoding|idempotency-key|anthropic-version|x-stainless-.*",
    re.IGNORECASE,
)
"""Headers that clients and transports make themselves, with values of their own."""

BARE_VALUES = compile_when_used(
    r"\*/\*|application/json|(identity|gzip|deflate|br|zstd)(, ?\w+)*"
    r"|\w+/Python [\w.]+|python-httpx\d?/[\w.]+|Python/[\w.]+ aiohttp/[\w.]+"
)
"""The values of other headers that a bare client sends too."""

WITH_SCHEME = compile_when_used(r"(bearer|basic|token|key|apikey)\s+(\S+)", re.IGNORECASE)
"""A header with a key behind the name of a scheme."""

SENT_NAME = compile_when_used(r"(headers|query|cookies)$", re.IGNORECASE)
"""Settings whose values are sent as they are, such as `default_headers`."""

API_VERSION = "api-version"
"""The query parameter that every client of Azure sends. Its errors are about it."""

TOKEN_PROVIDERS = ("_azure_ad_token_provider", "azure_ad_token_provider", "azure_ad_async_token_provider")
"""Functions of Azure's clients, openai's and LangChain's, that give the token for each request."""


Secrets: TypeAlias = Iterable[str]
"""Keys, passwords, user names and other values that only the endpoint may see, as far as they are known."""


def hide_patterns(text: str) -> str:
    """Return a text without what looks like a secret."""
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    return text


def has_secret_pattern(text: str) -> bool:
    """Whether something in a text looks like a secret."""
    return hide_patterns(text) != text


def secrets_in_url(url: str) -> set[str]:
    """Return the user, the password and the keys in a URL, also as they are before percent-encoding."""
    secrets = set[str]()
    for user_and_password in re.findall(r"://(\S*)@", url):
        secrets.add(user_and_password)
        secrets.update(user_and_password.split(":", 1))
    for parameter in re.split(r"(?=[?&])", url)[1:]:
        if has_secret_pattern(parameter):
            secrets.add(parameter.partition("=")[2])
    for secret in [*secrets]:
        secrets.add(unquote(secret))
    return {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}


def is_path(text: str) -> bool:
    """Whether a text names a file, as GOOGLE_APPLICATION_CREDENTIALS does: that is no secret."""
    return os.path.exists(text)  # noqa: PTH110  a key can be too long for a Path


def environment_secrets() -> set[str]:
    """Return the secrets in the environment: keys of all providers, passwords in URLs, what clients send."""
    secrets = set[str]()
    for name, value in os.environ.items():
        if "://" in value:
            secrets.update(secrets_in_url(value))
        elif SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET and not is_path(value):
            secrets.add(value)
    secrets.update(environment_header_secrets())
    return secrets


def environment_header_secrets() -> frozenset[str]:
    """Return what the openai client sends as headers because the environment says so."""
    variables = [os.environ.get(name, "") for name in OPENAI_VARIABLES]
    return _secrets_in_variables(*variables)


@lru_cache  # every request asks for them
def _secrets_in_variables(organization: str, project: str, custom_headers: str) -> frozenset[str]:
    headers = {"OpenAI-Organization": organization, "OpenAI-Project": project}
    for line in custom_headers.split("\n"):
        name, _, value = line.partition(":")
        headers[name.strip()] = value.strip()
    return frozenset(_secrets_in_headers(headers))


def secrets_of(holder: object) -> tuple[str, ...]:
    """Return the secrets that settings, a client, a chat model or an object of the user's hold."""
    return tuple({secret for _, secret in secrets_in(holder)})


def secrets_in(holder: object) -> Iterator[tuple[str, str]]:
    """Look for secrets in settings, a client, a chat model or an object of the user's.

    Functions are not looked into: what one holds in its closure, defaults or globals is not known.

    Yields:
        The name under which a secret stands, as far as there is one, and the secret.
    """
    values: list[tuple[str, Any]] = [("", holder)]
    for name, value in values:  # the list grows in the loop
        value_type: object = type(cast("object", value))
        if hasattr(value_type, "get_secret_value"):  # pydantic's SecretStr
            secrets: Iterable[str] = [str(value.get_secret_value())]
        elif isinstance(value, str):
            secrets = _secrets_in_setting(name, value)
        else:
            secrets = ()
            if is_client(value):
                secrets = secrets_sent_by(value)
            elif is_mapping(value) and SENT_NAME.search(name):
                secrets = _secrets_in_headers(value)
            for inner_name, inner_value in _inner_values(value):
                if len(values) < MOST_VALUES:
                    values.append((inner_name or name, inner_value))
        for secret in secrets:
            if len(secret) >= SHORTEST_SECRET:
                yield name, secret


def _inner_values(value: object) -> Iterator[tuple[str, object]]:
    """Yield what a value holds, by names where there are any; modules and classes hold what others do too."""
    if is_mapping(value):
        for name, inner in value.items():
            yield str(name), inner
    elif is_list(value):
        for inner in value:
            yield "", inner
    elif not isinstance(value, type | ModuleType | FunctionType | BuiltinFunctionType | MethodType):
        yield from dict(getattr(value, "__dict__", {})).items()


def _secrets_in_setting(name: str, text: str) -> Iterable[str]:
    """Return the secrets in a text: parts of a URL, the text itself by its name, or words that look so."""
    if "://" in text:
        return secrets_in_url(text)
    if SECRET_NAME.search(name):
        return [] if is_path(text) else [text]
    return [word for word in text[:MOST_VALUES].split() if has_secret_pattern(word)]


def is_client(value: object) -> bool:
    """Whether a value is a provider's client, which is known by the headers that it adds."""
    return is_mapping(getattr(value, "_custom_headers", None))


def secrets_sent_by(client: Any) -> set[str]:  # noqa: ANN401  of any provider
    """Return what a provider's client sends that a bare one does not: keys, headers, cookies, query."""
    secrets = set[str]()
    secrets.update(_secrets_in_headers(client._custom_headers))  # noqa: SLF001
    for attribute in ("default_headers", "auth_headers"):  # a class of the user's may add its own
        with suppress(Exception):
            secrets.update(_secrets_in_headers(getattr(client, attribute)))
    for attribute in ("organization", "project"):
        secrets.update(_long_enough(getattr(client, attribute, None)))
    for attribute in ("api_key", "auth_token", "_azure_ad_token"):
        credential = getattr(client, attribute, None)
        if isinstance(credential, str) and len(credential) >= SHORTEST_SECRET:
            secrets.add(credential)
    secrets.update(_secrets_in_query(getattr(client, "_custom_query", None)))
    secrets.update(url_secrets(str(getattr(client, "base_url", ""))))

    http_client = getattr(client, "_client", None)
    secrets.update(_secrets_in_headers(getattr(http_client, "headers", None)))
    secrets.update(_secrets_in_query(getattr(http_client, "params", None)))
    jar = getattr(getattr(http_client, "cookies", None), "jar", None)
    with suppress(TypeError):  # a mock's
        for cookie in jar or ():
            secrets.update(_long_enough(cookie.value))
    # httpx keeps what `auth=` was made of in attributes of other names for each scheme.
    for value in dict(getattr(getattr(http_client, "auth", None), "__dict__", {})).values():
        secrets.update(_header_secrets("authorization", value))
    return secrets


def url_secrets(url: str) -> set[str]:
    """Return the secrets in an endpoint's URL: user, password, and all long values of the query."""
    secrets = secrets_in_url(url)
    for parameter in url.partition("?")[2].split("&"):
        name, _, value = parameter.partition("=")
        if name != API_VERSION:
            secrets.update(_long_enough(value))
            secrets.update(_long_enough(unquote(value)))
    return secrets


def request_secrets(error: BaseException) -> set[str]:
    """Return the secrets in the request that an exception of an HTTP client is about; none if it has none.

    What stands in the request's body or path too is no secret of the connection, but a word of the request.
    """
    secrets = set[str]()
    for attribute in ("request", "request_info"):  # of httpx and of aiohttp
        request: Any = None
        with suppress(Exception):  # httpx raises if there is none
            request = getattr(error, attribute, None)
        if request is None:
            continue
        secrets.update(_secrets_in_headers(getattr(request, "headers", None)))
        url = str(getattr(request, "url", ""))
        secrets.update(url_secrets(url))
        words = url.partition("?")[0]
        with suppress(Exception):  # a stream that was sent
            words += request.content.decode(errors="replace")
        secrets = {secret for secret in secrets if secret not in words}
    return secrets


async def provided_tokens(holder: object) -> set[str]:
    """Return the tokens that a client's function gives for each request; such functions keep their tokens."""
    tokens = set[str]()
    attributes = getattr(holder, "__dict__", {})
    for name in TOKEN_PROVIDERS:
        provider = attributes.get(name)
        if provider is None:
            continue
        with suppress(Exception):  # where the client calls it, its error is shown
            token = await call_function(provider)
            if isinstance(token, str):
                tokens.add(token)
    return tokens


def _secrets_in_headers(headers: object) -> set[str]:
    secrets = set[str]()
    if is_mapping(headers):
        for name, value in headers.items():
            secrets.update(_header_secrets(str(name), value))
    return secrets


def _header_secrets(name: str, value: object) -> set[str]:
    """Return a header's value, the key behind "Bearer" or "Basic", and the values of cookies."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if not isinstance(value, str) or BARE_NAMES.fullmatch(name) or BARE_VALUES.fullmatch(value):
        return set()
    secrets = {value}
    with_scheme = WITH_SCHEME.fullmatch(value.strip())
    if with_scheme:
        scheme, credentials = with_scheme.groups()
        secrets = {credentials}
        if scheme.casefold() == "basic":
            with suppress(ValueError):  # it is no Base64
                user_and_password = b64decode(credentials).decode()
                secrets.add(user_and_password)
                secrets.update(user_and_password.split(":", 1))
    if name.casefold() == "cookie":
        for cookie in value.split(";"):
            secrets.add(cookie.strip())
            secrets.add(cookie.partition("=")[2].strip())
    return {secret for secret in secrets if len(secret) >= SHORTEST_VALUE}


def _secrets_in_query(query: object) -> set[str]:
    secrets = set[str]()
    if is_mapping(query):
        for name, value in query.items():
            if str(name) != API_VERSION:
                secrets.update(_long_enough(value))
    return secrets


def _long_enough(value: object) -> set[str]:
    if isinstance(value, str) and len(value) >= SHORTEST_VALUE:
        return {value}
    return set()
