"""What a client answered or raised, and the one error that becomes of it, without secrets."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, cast

from groundjudge.errors import ModelError, code_of_status
from groundjudge.models.redaction import RedactedError, Secrets, of_environment, redact, remove_secrets
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request

MAX_MESSAGE_LENGTH = 500
"""An endpoint's own error message is cut after this many characters."""

NO_REASON = "the endpoint gives no reason"

KINDS = {"Timeout": "timeout", "Connect": "connection", "Transport": "connection"}
"""Error codes by substrings of the names of exception classes, Python's own and those of all clients."""

UNPARSED = frozenset({"HttpProcessingError", "DecodingError"})
"""Exceptions for what is no HTTP, or not compressed as it says. From the first aiohttp raises status 400."""

QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
"""OpenAI's error codes and types for an account without money, which come with status 429."""

NO_REMEDIES: Mapping[str, str] = {}

FIRST_ERROR_STATUS = 300
"""Clients follow redirects: one that arrives leads nowhere."""

FORBIDDEN = 403
MODERATED = re.compile(r"moderat|flagged|content.?(policy|filter)|safety", re.IGNORECASE)
"""The words of a 403 that rejects the content of the request, not the key."""


def parse_body(answer: object) -> object:
    """What an endpoint sent or a client returned, as a mapping where that is possible."""
    if isinstance(answer, bytes):
        with suppress(ValueError, RecursionError):
            return json.loads(answer)
        return answer.decode(errors="replace")
    # The class is asked because a mock has every attribute.
    return cast("Any", answer).model_dump(warnings=False) if hasattr(type(answer), "model_dump") else answer


def no_reply(body: object) -> str:
    """What is wrong with a response in which there is no reply."""
    return f"the response is not a chat completion: {message_of(body)}"


def message_of(body: object) -> str:
    """The message in an endpoint's error body, whichever of the usual shapes the body has."""
    match body:
        case {"error": object() as inner} | [{"error": object() as inner}] if inner:
            return message_of(inner)
        case {"message": str(message)} | str(message):
            return message.strip()[:MAX_MESSAGE_LENGTH] or NO_REASON
        case None:
            return NO_REASON
        case _:
            return json.dumps(body, ensure_ascii=False, default=str)[:MAX_MESSAGE_LENGTH]


def model_error(code: str, message: str, model: str, secrets: Secrets = ()) -> ModelError:
    """The error of a model. Nothing else makes one, so that no message has a key in it.

    Args:
        code: one of the codes of ModelError.
        message: what went wrong; keys and passwords in it are replaced.
        model: the model's name.
        secrets: the keys and passwords that the model uses; those in the environment are known.
    """
    return ModelError(code, redact(message, [*secrets, *of_environment()]), model)


@contextmanager
def model_errors(
    model: str, who: str, secrets: Secrets = (), remedies: Mapping[str, str] = NO_REMEDIES
) -> Generator[None]:
    """Raise what a function or a client raises inside as a ModelError; see `error_of`."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  functions and clients raise exceptions of any kind
        raise error_of(error, model, who, secrets, remedies)  # noqa: B904  it has a cause, without keys


def error_of(
    error: Exception, model: str, who: str, secrets: Secrets = (), remedies: Mapping[str, str] = NO_REMEDIES
) -> ModelError:
    """What a function or any client raised, as a ModelError; of a ModelError only the text changes.

    Clients are known by what their exceptions have in common: `status_code`, `code`, `body`, `response`, and
    the names of their classes. So no client needs to be imported.

    Args:
        error: the exception; in tracebacks a RedactedError stands for it.
        model: the model's name.
        who: how the message begins.
        secrets: as for `model_error`.
        remedies: what the user can do about it, by the error's code.
    """
    if isinstance(error, ModelError):
        cause = error.__cause__ or error.__context__
        error.message = redact(error.message, [*secrets, *of_environment()])
        error.args = (error.code, error.message, error.subject)
        if cause and not isinstance(cause, RedactedError):
            error.__cause__ = RedactedError(cause, secrets)
        return error
    code = code_of(error)
    remedy = f" ({remedies[code]})" if code in remedies else ""
    found = model_error(code, f"{who}{message_in(error)}{remedy}", model, secrets=secrets)
    found.__cause__ = RedactedError(error, secrets)
    found.retry_after = _retry_after(getattr(getattr(error, "response", None), "headers", None) or {})
    # The openai client counts in a header how often it sent the request again itself.
    sent: Any = getattr(getattr(error, "request", None), "headers", {})
    found.retries = int(sent.get("x-stainless-retry-count") or 0)
    return found


def check_key(key: object, origin: str, model: str) -> None:
    """Refuse a key that no header can carry, as one with a line break that was copied with it.

    Raises:
        ModelError: `no_endpoint`; the message says where the key came from.
    """
    if isinstance(key, str) and not (key.isascii() and key.isprintable()):
        message = f"{origin} cannot be the key for {model}: it has characters that no header can carry"
        raise model_error("no_endpoint", message, model, [key])


def without_echo(reply: Reply, request: Request, secrets: Secrets) -> Reply:
    """The reply without the keys that the endpoint was sent, where the request itself does not show them."""
    texts = {name: str(getattr(reply, name) or "") for name in ("text", "finish_reason", "model", "refusal")}
    shown = "\n".join(texts.values())
    unseen = [secret for secret in secrets if secret in shown and secret not in str(request.messages)]
    clean: dict[str, Any] = {name: remove_secrets(text, unseen) for name, text in texts.items() if text}
    return replace(reply, tokens=None, **clean) if unseen else reply


def code_of(error: Exception) -> str:
    """The code of a ModelError for an exception: by its HTTP status, or else by the names of its classes."""
    if any(kind.__name__ in UNPARSED for each in _causes(error)[:2] for kind in type(each).__mro__):
        return "server"
    own = getattr(error, "code", None)
    status = getattr(error, "status_code", own)
    if own in QUOTA or getattr(error, "type", None) in QUOTA:
        return "quota"
    if status == FORBIDDEN and MODERATED.search(message_in(error)):
        return "bad_request"  # this row is rejected, not the key
    if isinstance(status, int) and status >= FIRST_ERROR_STATUS:
        return code_of_status(status)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError | zlib.error):
        return "server"  # the client could not read what the endpoint sent
    # The openai client calls every error of its transport a timeout; the first cause is what happened.
    kinds = [kind for kind in map(_kind, _causes(error)) if kind]
    return kinds[-1] if _kind(error) else "failed"


def message_in(error: BaseException) -> str:
    """What an exception says: the endpoint's own words, or else those of the first cause."""
    if isinstance(error, RedactedError):
        return error.clean(message_in(error.raised))
    status, body = getattr(error, "status_code", None), getattr(error, "body", None)
    if isinstance(status, int) and hasattr(error, "body"):
        return f"{status}: {message_of(body)}"
    cause = _causes(error)[-1] if _kind(error) else error
    return f"{type(cause).__name__}: {cause}".removesuffix(": ")


def _kind(error: BaseException) -> str | None:
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    return next((code for part, code in KINDS.items() if part in names), None)


def _causes(error: BaseException) -> list[BaseException]:
    """The exception, and what it was raised from, down to the first."""
    return [error, *(_causes(error.__cause__) if error.__cause__ else ())]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the endpoint asks to wait, which it gives as a number or as a date."""
    for header, units in (("retry-after-ms", 1000), ("retry-after", 1)):
        said = str(headers.get(header, ""))
        with suppress(ValueError, OverflowError):
            date = email.utils.parsedate_tz(said)
            seconds = email.utils.mktime_tz(date) - time.time() if date else float(said) / units
            return max(seconds, 0.0) if math.isfinite(seconds) else None
    return None
