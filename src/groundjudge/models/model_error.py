"""How every error of a model is made: without the keys and passwords that an endpoint may repeat."""

from __future__ import annotations

import re
from collections.abc import Iterable

from groundjudge.errors import ModelError

REDACTED = "[redacted]"

SHORTEST_SECRET = 6
"""Characters. What is shorter is no key: "k" stands for one in examples, and is a part of many words."""

SECRETS = (
    (re.compile(r"(?<=://)[^/\s@]+@|[^/\s@:\"']+:[^/\s@\"']+@"), f"{REDACTED}@"),
    (re.compile(r"\b(bearer|basic)\s+(?=\S{6})[\w.~+/=-]+", re.IGNORECASE), rf"\1 {REDACTED}"),
    (
        re.compile(
            r"\b(authorization|(?:x-)?api[-_]?key|access[-_]?token|password|secret)"
            r"""(["']?(?::\s*|=)["']?)(?!bearer|basic)[^\s"'&,;})\]]{6,}""",
            re.IGNORECASE,
        ),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"([?&](?:key|token|sig)=)[^\s&\"']+", re.IGNORECASE), rf"\1{REDACTED}"),
    (re.compile(r"\bsk-[\w*-]{6,}"), REDACTED),
)
"""What looks like a secret, and what is left of it."""


def model_error(  # noqa: PLR0913  what an error says
    code: str,
    message: str,
    model: str,
    *,
    secrets: Iterable[object] = (),
    retry_after: float | None = None,
    retries: int = 0,
) -> ModelError:
    """The error of a model.

    Args:
        code: one of the codes of ModelError.
        message: what went wrong; keys and passwords in it are replaced.
        model: the model's name.
        secrets: the keys and passwords that the model uses, if it knows them.
        retry_after: the seconds that the endpoint asks to wait; None if it does not ask.
        retries: how often the request was sent again.
    """
    error = ModelError(code, redacted(message, secrets), model)
    error.retry_after, error.retries = retry_after, retries
    return error


def redacted(text: str, secrets: Iterable[object] = ()) -> str:
    """A text without these secrets, and without whatever looks like one."""
    for secret in secrets:
        if isinstance(secret, str) and len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, REDACTED)
    for pattern, replacement in SECRETS:
        text = pattern.sub(replacement, text)
    return text


def error_of_call(error: Exception, name: str, said: str) -> ModelError:
    """What a function or a client of the caller's raised, as a ModelError.

    Args:
        error: the exception; a ModelError is returned unchanged.
        name: the model's name.
        said: how the message begins.
    """
    if isinstance(error, ModelError):
        return error
    kinds = {TimeoutError: "timeout", ConnectionError: "connection"}
    code = next((code for kind, code in kinds.items() if isinstance(error, kind)), "failed")
    return model_error(code, f"{said} {type(error).__name__}: {error}", name)
