"""Which keys, passwords and other secrets are known, by their values.

What the library's own clients send because of their settings is known where it is sent. In addition there is
what the environment contains under names of keys, and what looks like a key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, TypeAlias
from urllib.parse import unquote

from groundjudge.text.patterns import compile_when_used

REDACTED = "[redacted]"

MIN_SECRET = 6
"""Characters. Anything shorter is not a key: examples use "k" as one, and it is a part of many words."""

MIN_VALUE = 8
"""Characters. A shorter value of a header, a cookie or a query is a word such as "eu" or "on"."""

LENGTH_OF_KEYS = 16
"""Characters. A shorter value in the environment may be a word that a reply contains for other reasons."""

SECRET_NAME = compile_when_used(
    r"key|secret|password|credential|authorization|(?:^|(?<!max)[_-])token$", re.IGNORECASE
)
"""Names of settings and variables that contain secrets."""

PATTERNS = (
    (r"(?<=://)[^/\s@\"']+@|(?<![^/\s@:\"'])[^/\s@:\"']+:[^/\s@\"']+@", f"{REDACTED}@"),
    (r"(?i)\b(bearer|basic)\s+(?=\S{6})[\w.~+/=-]+", rf"\1 {REDACTED}"),
    (
        (
            r"(?i)\b(authorization|(?:x-)?api[-_]?key|access[-_]?token|password|secret)(\\?['\"]?(?::\s*|=)\\?['\"]?)"
            r"(?!bearer|basic|\[redacted\])[^\s\"'&,;})\]\\]{6,}"
        ),
        rf"\1\2{REDACTED}",
    ),
    (r"(?i)([?&](?:[\w-]*(?:key|token|sig|signature|secret|password)|code)=)[^\s&\"'\\]+", rf"\1{REDACTED}"),
    (r"\bsk-[\w*-]{6,}", REDACTED),
)
"""What looks like a secret, and what replaces it."""

WITH_SCHEME = compile_when_used(r"(?:bearer|basic|token|key|apikey)\s+(\S+)", re.IGNORECASE)
"""A header with a key after the name of a scheme."""

API_VERSION = "api-version"
"""The query parameter that every Azure client sends, and that Azure's errors mention."""


Secrets: TypeAlias = Iterable[str]
"""Keys, passwords, user names and other values that only the endpoint may see, as far as they are known."""


def hide_patterns(text: str) -> str:
    """Return a text without what looks like a secret."""
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    return text


def header_secrets(client: Any) -> set[str]:  # noqa: ANN401  of openai or anthropic, sync or async
    """Return the headers that a client sends because of its settings, and that a bare client does not."""
    secrets = set[str]()
    headers: dict[str, object] = {**client.auth_headers, **client._custom_headers}  # noqa: SLF001
    for name in ("organization", "project"):  # which only OpenAI's has
        headers[name] = getattr(client, name, None)
    for name, value in headers.items():
        if isinstance(value, str):
            with_scheme = WITH_SCHEME.fullmatch(value.strip())
            secrets.add(with_scheme[1] if with_scheme else value)
        if isinstance(value, str) and name.casefold() == "cookie":
            for cookie in value.split(";"):
                secrets.add(cookie.partition("=")[2].strip())
    return {secret for secret in secrets if len(secret) >= MIN_VALUE}


def url_secrets(url: str) -> set[str]:
    """Return the user, the password, the keys and all long values of the query in a URL, also decoded.

    A text that contains URLs, such as the value of a variable, has the secrets of all of them.
    """
    secrets = set[str]()
    for user_and_password in re.findall(r"://(\S*)@", url):
        secrets.add(user_and_password)
        secrets.update(user_and_password.split(":", 1))
    for parameter in re.split("[?&]", url)[1:]:
        name, _, value = parameter.partition("=")
        least = MIN_SECRET if SECRET_NAME.search(name) else MIN_VALUE
        if name != API_VERSION and len(value) >= least:
            secrets.add(value)
    for secret in [*secrets]:
        secrets.add(unquote(secret))
    return {secret for secret in secrets if len(secret) >= MIN_SECRET}


def environment_secrets() -> set[str]:
    """Return the secrets in the environment: what has the name of a key, and passwords and keys in URLs."""
    secrets = set[str]()
    for name, value in os.environ.items():
        if "://" in value:
            secrets.update(url_secrets(value))
            continue
        has_name = SECRET_NAME.search(name) and len(value) >= MIN_SECRET
        # GOOGLE_APPLICATION_CREDENTIALS is the path of a file, and a key can be too long for a Path.
        if has_name and not os.path.exists(value):  # noqa: PTH110
            secrets.add(value)
    return secrets


def environment_keys() -> tuple[str, ...]:
    """Return the secrets in the environment that are not words, so that they are replaced in replies too."""
    return tuple(value for value in environment_secrets() if len(value) >= LENGTH_OF_KEYS)
