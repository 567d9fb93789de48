"""Keys, passwords and user names: where they are held, and texts without them."""

from __future__ import annotations

import html
import inspect
import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from traceback import format_exception
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote

from groundjudge.case.data import is_list, is_mapping

REDACTED = "[redacted]"

SHORTEST_SECRET = 6
"""Characters. What is shorter is no key: "k" stands for one in examples, and is a part of many words."""

LENGTH_OF_KEYS = 16
"""Characters. A shorter value in the environment may be a word that a reply has for another reason."""

PIECE = 8
"""Characters: no text shows so many of a secret in a row, as where it was cut or masked."""

MOST_VALUES = 300
"""So many values are looked at in search of secrets: a function can hold anything."""

SECRET_NAME = re.compile(
    r"key|secret|password|credential|authorization|(?<!max_)(?:^|[_-])token$", re.IGNORECASE
)
"""Names of settings that hold secrets."""

SECRETS = (
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
"""What looks like a secret, and what is left of it."""

MASKED = r"[^\s\"']{0,32}?(?:\.{2,}|…|[*•·]{2,})[\w+/=~-]*"
"""What follows the beginning of a secret that is shown with its end only."""

Secrets: TypeAlias = Iterable[str]
"""Keys, passwords and user names as far as they are known."""


def redact(text: str, secrets: Secrets = ()) -> str:
    """A text without what looks like a secret, and without the pieces of these, however they are encoded."""
    known = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
    masked = ((re.escape(secret[:3]) + MASKED, REDACTED) for secret in known)
    for pattern, replacement in (*masked, *SECRETS):
        text = re.sub(pattern, replacement, text)
    pieces = {
        form[at : at + PIECE] for form in forms_of(known) for at in range(max(len(form) - PIECE, 0) + 1)
    }
    shown = [*text]
    for size in {*map(len, pieces)}:
        for at in range(len(text) - size + 1):
            if text[at : at + size] in pieces:
                shown[at : at + size] = "\0" * size
    return re.sub("\0+", REDACTED, "".join(shown))


def remove_secrets(text: str, forms: Iterable[str]) -> str:
    """A text without these forms of secrets, where they are whole: the rest of a reply stays as it is."""
    for form in forms:
        text = text.replace(form, REDACTED)
    return text


def forms_of(secrets: Secrets) -> set[str]:
    """Secrets as texts show them: as they are, escaped, percent-encoded, in Base64 wherever they begin."""
    return {form for secret in secrets for form in _forms(secret)}


def _forms(secret: str) -> set[str]:
    escaped = json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret)
    quoted = quote(secret), quote(secret, safe="")
    bodies = [b" " * at + secret.encode(errors="replace") for at in range(3)]
    encoded = [b64encode(each, chars).decode().rstrip("=") for each in bodies for chars in (b"+/", b"-_")]
    lower = (re.sub("%..", lambda found: found[0].lower(), each) for each in quoted)
    return {secret, *escaped, *quoted, *lower, *encoded}


def of_environment() -> tuple[str, ...]:
    """The secrets in the environment: the keys of all providers, and passwords in URLs."""
    named = os.environ.items()
    return secrets_of({name: held for name, held in named if "://" in held or SECRET_NAME.search(name)})


@lru_cache
def of_endpoint(url: str, key: str) -> tuple[str, ...]:
    """The secrets in a URL, and the key that goes with it. Every request asks for them."""
    return secrets_of({"base_url": url, "api_key": key})


def secrets_of(holder: object) -> tuple[str, ...]:
    """The secrets that anything holds."""
    return tuple(secret for _, secret in secrets_in(holder))


def secrets_in(holder: object) -> Iterator[tuple[str, str]]:
    """The secrets in settings, a client, a chat model, or a function with its variables, and their names.

    Yields:
        The name under which each is held, as far as there is one, and the secret.
    """
    values: list[tuple[str, Any]] = [("", holder)]
    for name, value in islice(values, MOST_VALUES):  # they become more on the way
        found: Iterable[str] = ()
        if hasattr(type(cast("object", value)), "get_secret_value"):  # pydantic's SecretStr
            found = [str(value.get_secret_value())]
        elif isinstance(value, str):
            found = _in_text(name, value)
        else:
            values += [(str(own or name), each) for own, each in islice(_held(value), MOST_VALUES)]
        yield from ((name, each) for each in found if len(each) >= SHORTEST_SECRET)


def _in_text(name: str, text: str) -> Iterable[str]:
    """The secrets in a text: those of a URL, the text itself by its name, or the words that look like one."""
    if "://" in text:
        users = re.findall(r"://(\S*)@", text)
        query = [word for word in re.split(r"(?=[?&])", text)[1:] if redact(word) != word]
        parts = [part for user in users for part in user.split(":", 1)]
        given = [*users, *parts, *(word.partition("=")[2] for word in query)]
        return {*given, *map(unquote, given)}
    if SECRET_NAME.search(name):
        return [] if os.path.exists(text) else [text]  # noqa: PTH110  a key can be too long for a path
    return [word for word in text[:MOST_VALUES].split() if redact(word) != word]


def _held(value: Any) -> Iterable[tuple[object, object]]:  # noqa: ANN401  anything
    """What a value holds, by names where there are any: no module and no class, which others have too."""
    if is_mapping(value):
        return value.items()
    if is_list(value):
        return (("", each) for each in value)
    if isinstance(value, partial):
        named: dict[str, object] = value.keywords
        with suppress(TypeError, ValueError):  # of a function without a signature
            named = inspect.signature(value.func).bind_partial(*value.args, **named).arguments
        return [*named.items(), ("", value.func)]
    if isinstance(value, MethodType):
        return [("", value.__self__), ("", value.__func__)]
    held = {} if isinstance(value, type | ModuleType) else {**getattr(value, "__dict__", {})}
    if isinstance(value, FunctionType):
        held |= {name: each.default for name, each in inspect.signature(value).parameters.items()}
        with suppress(ValueError):  # a variable that has no value yet
            used = inspect.getclosurevars(value)
            # Those of a module's own function are no part of it; those of a notebook's are pickled with it.
            held |= {**used.nonlocals, **(used.globals if value.__module__ == "__main__" else {})}
    return held.items()


class RedactedError(Exception):
    """Shows an exception, and what it was raised from, in tracebacks: without keys and passwords.

    Attributes:
        raised: the exception itself, whose text can hold them.
    """

    def __init__(self, raised: BaseException, secrets: Secrets = ()) -> None:
        super().__init__()
        self.raised, self._secrets = raised, [*secrets]

    def __str__(self) -> str:
        return "\n" + self.clean("".join(format_exception(self.raised)))

    def clean(self, text: str) -> str:
        """A text without the secrets."""
        return redact(text, [*self._secrets, *of_environment()])

    def __reduce__(self) -> tuple[type[Exception], tuple[str]]:
        """Pickle what it shows."""
        return Exception, (str(self),)
