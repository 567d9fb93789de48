"""Turns what a client answered or raised into one kind of error, without secrets."""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import re
import time
import zlib
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

from groundjudge.case.data import is_list, is_mapping
from groundjudge.errors import ModelError, code_of_status
from groundjudge.models.redaction import RedactedError, redact, remove_secrets, secret_forms, text_of
from groundjudge.models.returned import NoReplyError, error_in
from groundjudge.models.secret_values import MIN_SECRET, Secrets, environment_secrets
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request
from groundjudge.text.patterns import compile_when_used

MAX_MESSAGE_LENGTH = 500
"""An endpoint's own error message is cut after this many characters."""

MAX_LAYERS = 1000
"""How deep to look for an error. An object of the caller's may contain itself."""

NO_REASON = "the endpoint gives no reason"

KINDS = {"Timeout": "timeout", "Connect": "connection", "Transport": "connection"}
"""Error codes by substrings of the names of exception classes, Python's own and those of all clients."""

UNPARSED = frozenset({"HttpProcessingError", "DecodingError", "OversizeError"})
"""Exceptions for what is not HTTP (aiohttp sets status 400), not compressed as it says, or too long."""

CODES: Mapping[str, Collection[str]] = {
    "auth": ("invalid_api_key",),
    "not_found": ("model_not_found",),
    "quota": ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"),
    "rate_limited": ("rate_limit_exceeded",),
    "refused": ("content_filter", "invalid_prompt"),
    # The first is OpenAI's, the others llama.cpp's, TypeSafe's and FastAPI's.
    "too_long": ("context_length_exceeded", "exceed_context_size_error", "max_tokens_exceeded", "too_long"),
}
"""Names in the body of an error that give the code of a ModelError; most are from OpenAI's API."""

ROW_REMEDIES: Mapping[str, str] = {
    "refused": "a content filter rejects it: look at the case, or let another model judge it",
    "too_long": "judge a shorter response, or pass fewer or shorter documents; a model that writes texts can "
    "search them part by part for statement_groundedness (the option window); if max_tokens takes up too "
    "much of the model's context window, lower it",
}
"""What the user can do about an error that one row has at any endpoint, by its code."""

FIRST_ERROR_STATUS = 300
"""Redirects are not followed: what was meant for one endpoint must not reach another."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses of a response that names another address, in its header Location."""

SUCCESS = 200
NOT_FOUND = 404
FORBIDDEN = 403
TOO_LARGE = 413
MODERATED = compile_when_used(r"moderat|flagged|content.?(policy|filter)", re.IGNORECASE)
"""The words of an error without a code that rejects the content of the request."""

TOO_LONG = compile_when_used(
    r"(?=.*\b(?:context|input|prompt|tokens)\b).*(?:\bexceed|\bmaximum\b|\btoo (?:long|large|many)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""The words of an error without a code about a request that is too long for the model."""


def parse_body(answer: object) -> object:
    """Return what an endpoint sent or a client returned, as a mapping where that is possible."""
    if isinstance(answer, bytes):
        with suppress(ValueError, RecursionError):
            return json.loads(answer)
        return answer.decode(errors="replace")
    if hasattr(type(answer), "model_dump"):  # the class is asked because a mock has every attribute
        return cast("Any", answer).model_dump(warnings=False)
    return answer


def no_reply(body: object, expected: str = "a chat completion") -> str:
    """Return what is wrong with a response that contains no reply."""
    return f"the response is not {expected}: {message_of(body)}"


def _layers(body: object) -> list[object]:
    """Return the body of an error and what it contains about the error, each layer inside the one before."""
    layers: list[object] = []
    while body is not None and len(layers) < MAX_LAYERS:
        layers.append(body)
        body = _inside(body)
    return layers


def _inside(body: Any) -> Any:  # noqa: ANN401  anything an endpoint sends
    """Return what a body contains about its error: of {"error": {"message": "no"}}, {"message": "no"}."""
    match body:
        case {"detail": object() as inner} if inner:  # FastAPI
            return inner
        case {"error": object() as inner} if inner:
            return inner
        case {"choices": [{"error": object() as inner}, *_]} if inner:  # a gateway, with status 200
            return inner
        case {"metadata": {"raw": str(raw)}} if raw:  # what a provider sent to a gateway
            return parse_body(raw.encode())
        case {"message": {} as inner} | [{} as inner, *_]:  # Mistral; Google, and FastAPI's several faults
            return inner
        case _:
            return None


def message_of(body: object) -> str:
    """Return the message in an endpoint's error body, in any of the usual shapes."""
    layers = _layers(body)
    if not layers:
        return NO_REASON
    message = ""
    innermost: Any = layers[-1]
    match innermost:
        case {"msg": str(fault)}:  # FastAPI
            place = innermost.get("loc")
            where = ".".join(map(str, place)) if is_list(place) else "the request"
            message = f"{where}: {fault}"
        case {"message": str(text)} | str(text):
            message = text.strip()
        case _:
            # Nested too deep, or an object of the caller's.
            with suppress(RecursionError, TypeError, ValueError):
                message = json.dumps(innermost, ensure_ascii=False, default=str)
    return message[:MAX_MESSAGE_LENGTH] or NO_REASON


def status_in(body: object) -> int | None:
    """Return the HTTP status in an error body's code, `429` or `"429"`; None if there is none."""
    for layer in reversed(_layers(body)):
        code = str(layer.get("code")) if is_mapping(layer) else ""
        if re.fullmatch(r"[3-5]\d\d", code, re.ASCII):
            return int(code)
    return None


def code_of_answer(status: int | None, body: object) -> str | None:
    """Return the code of a ModelError for what an endpoint answered; the body's own words decide.

    None if neither the body nor the status gives one.

    Args:
        status: the HTTP status; None if it is not known.
        body: the parsed body, or what a client keeps of it.
    """
    if status == TOO_LARGE:  # which Groq calls a rate limit, but no wait makes a request smaller
        return "too_long"
    for layer in reversed(_layers(body)):
        if is_mapping(layer):
            names = {str(layer.get(key)) for key in ("code", "type", "error_type")}
            for code, names_of_code in CODES.items():
                if not names.isdisjoint(names_of_code):
                    return code
    status = status_in(body) or status
    if status is None or status < FIRST_ERROR_STATUS:
        return None
    code = code_of_status(status)
    # Many endpoints have no code for what is wrong with a row.
    message = message_of(body)
    if code == "bad_request" and TOO_LONG.search(message):
        return "too_long"
    if (code == "bad_request" or status == FORBIDDEN) and MODERATED.search(message):
        return "refused"
    return code


def model_error(code: str, message: str, model: str, secrets: Secrets = ()) -> ModelError:
    """Return the error of a model. Nothing else creates one, so no message contains a key.

    Args:
        code: one of the codes of ModelError.
        message: what went wrong; keys and passwords in it are replaced.
        model: the model's name.
        secrets: the keys and passwords that the model uses; those in the environment are known.
    """
    return ModelError(code, redact(message, [*secrets, *environment_secrets()]), model)


@contextmanager
def model_errors(
    model: str,
    who: str,
    secrets: Secrets = (),
    remedies: Mapping[str, str] = ROW_REMEDIES,
    task: asyncio.Task[Any] | None = None,
) -> Generator[None]:
    """Raise what a function or a client raises in the block as a ModelError.

    The arguments are those of `error_of`, and the task of `is_failure`.
    """
    try:
        yield
    except BaseException as error:
        if not is_failure(error, task):
            raise
        raise error_of(error, model, who, secrets, remedies)  # noqa: B904  it has a cause, without keys


def is_failure(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Whether a function or a client has failed, rather than the program, task or generator being ended.

    Args:
        error: what it raised.
        task: the task that called it and awaits its result; None for synchronous code, in which nothing but
            an Exception is a failure.
    """
    if task is None:
        return isinstance(error, Exception)
    if isinstance(error, asyncio.CancelledError):
        return task.cancelling() == 0  # no one has requested it
    return not isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)


def error_of(
    error: BaseException,
    model: str,
    who: str,
    secrets: Secrets = (),
    remedies: Mapping[str, str] = ROW_REMEDIES,
) -> ModelError:
    """Return a ModelError for what a function or any client raised; only the text of a ModelError changes.

    Clients are recognised by what their exceptions have in common: `status_code`, `code`, `body`, `response`,
    and the names of their classes, so no client needs to be imported.

    Args:
        error: the exception; in tracebacks a RedactedError takes its place.
        model: the model's name.
        who: how the message begins.
        secrets: as for `model_error`.
        remedies: what the user can do about it, by the error's code.
    """
    secrets = {*secrets}
    if isinstance(error, ModelError):
        return _clean_copy(error, secrets)
    code = code_of(error)
    message = f"{who}{message_in(error)}"
    remedy = remedies.get(code, "")
    if remedy:
        message += f" ({remedy})"
    result = model_error(code, message, model, secrets)
    result.remedy = remedy
    result.__cause__ = RedactedError(error, secrets)
    response_headers = getattr(getattr(error, "response", None), "headers", None)
    if response_headers:
        result.retry_after = _retry_after(response_headers)
    result.retries = _client_retries(error)
    return result


def copy_of(error: ModelError) -> ModelError:
    """Return a copy of an error, with its cause, so that the user's object stays unchanged.

    `copy` would call __init__, and a class of the user's may take other arguments.
    """
    result: ModelError = type(error).__new__(type(error))
    vars(result).update(vars(error))
    result.args = error.args
    result.__cause__ = error.__cause__
    return result


def _clean_copy(error: ModelError, secrets: Secrets) -> ModelError:
    """Return a copy of a ModelError that the user's code raised, without secrets."""
    result = copy_of(error)
    result.message = redact(error.message, [*secrets, *environment_secrets()])
    result.args = (error.code, result.message, error.subject)
    cause = error.__cause__ or error.__context__
    if isinstance(cause, RedactedError):
        result.__cause__ = cause
    elif cause:
        result.__cause__ = RedactedError(cause, secrets)
    # It is raised while the user's own error is handled, whose text is not clean.
    result.__suppress_context__ = True
    return result.with_traceback(error.__traceback__)


def _client_retries(error: BaseException) -> int:
    """Return how often the openai client sent a request again itself, which it counts in a header."""
    headers: Any = None
    with suppress(RuntimeError):  # httpx raises if an exception has no request
        headers = getattr(getattr(error, "request", None), "headers", None)
    if headers is None:
        return 0
    return int(headers.get("x-stainless-retry-count") or 0)


def check_key(key: object, origin: str, model: str) -> None:
    """Refuse a key that a header cannot carry, such as one copied with a line break.

    Raises:
        ModelError: `no_endpoint`; the message says where the key came from.
    """
    if isinstance(key, str) and not (key.isascii() and key.isprintable()):
        message = f"{origin} cannot be the key for {model}: it contains characters that a header cannot carry"
        raise model_error("no_endpoint", message, model, [key])


def without_echo(reply: Reply, request: Request, secrets: Secrets) -> Reply:
    """Return the reply without the endpoint's keys and passwords, which an odd endpoint may send back.

    A secret that the request's messages contain too is left in: it is part of the case, not a secret.
    """
    texts = {name: str(getattr(reply, name) or "") for name in ("text", "finish_reason", "model", "refusal")}
    reply_text = "\n".join(texts.values())
    echoes: list[str] = []
    for secret in secrets:
        forms = secret_forms(secret)
        echoes_of_secret = [form for form in forms if form in reply_text]
        if len(secret) >= MIN_SECRET and echoes_of_secret:
            request_text = str(request.messages) if request.payload is None else request.payload.key
            if not any(form in request_text for form in forms):
                echoes += echoes_of_secret
    if not echoes:
        return reply
    changes: dict[str, Any] = {"tokens": None}  # the tokens spell the text
    for name, text in texts.items():
        if text:
            changes[name] = remove_secrets(text, echoes)
    return replace(reply, **changes)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of an exception from any client; None if it has none."""
    for name in ("status_code", "status", "code"):  # of most clients, of TypeSafe's, of Google's
        status = getattr(error, name, None)
        if isinstance(status, int):
            return status
    match getattr(error, "response", None):
        case {"ResponseMetadata": {"HTTPStatusCode": int(status)}}:  # of Bedrock's
            return status
        case _:
            return None


def body_of(error: BaseException) -> object:
    """Return the body of an error response, or as much of it as an exception keeps."""
    body = getattr(error, "body", None)
    if body is not None:
        return parse_body(body)
    if error.args and is_mapping(error.args[0]):
        return error.args[0]  # LangChain raises a ValueError with the error of a response of status 200
    return {"code": getattr(error, "code", None), "message": text_of(error)}


def code_of(error: BaseException) -> str:
    """Return the code of a ModelError for an exception: by its body, its status, or its classes' names."""
    causes = _causes(error)
    for cause in causes[:2]:  # a client raises its own error from that of the transport
        if any(kind.__name__ in UNPARSED for kind in type(cause).__mro__):
            return "server"
    if redirect_target(error):
        return "redirected"
    status = status_of(error)
    code = code_of_answer(status, body_of(error))
    if code is not None:
        return code
    if status == SUCCESS:
        return "server"  # an error without its own code
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError | zlib.error):
        return "server"  # the client could not read what the endpoint sent
    if not _code_by_class(error):
        return "failed"
    # The openai client calls every error of its transport a timeout; the first cause is what happened.
    code_of_first = "failed"
    for cause in causes:
        code_of_first = _code_by_class(cause) or code_of_first
    return code_of_first


def message_in(error: BaseException) -> str:
    """Return what an exception says: the endpoint's own words, or else those of the first cause."""
    if isinstance(error, RedactedError):
        return error.clean(message_in(error.raised))
    status = getattr(error, "status_code", None)
    target = redirect_target(error)
    if target:
        return f"{status}: the endpoint redirects to {target}; nothing was sent there"
    if isinstance(error, NoReplyError):
        return str(error) if error_in(error.body) is None else f"an error: {message_of(body_of(error))}"
    if isinstance(status, int) and hasattr(error, "body"):
        body = parse_body(getattr(error, "body", None))
        path = _path_of(error)
        if status == NOT_FOUND and path:
            return f"{status} for {path}: {message_of(body)}"
        return f"{status}: {message_of(body)}"
    if _code_by_class(error):
        error = _causes(error)[-1]
    return f"{type(error).__name__}: {text_of(error)}".removesuffix(": ")


def redirect_target(error: BaseException) -> str:
    """Return the target of a redirect, without user, password and query; "" if the error is not about one."""
    response: Any = getattr(error, "response", None)
    headers: Any = getattr(response, "headers", None)
    if not headers or getattr(error, "status_code", None) not in REDIRECTS:
        return ""
    location = headers.get("location")
    if not location:
        return ""
    try:
        url = urlsplit(urljoin(str(response.url), location))
    except ValueError:  # a bracket outside of an IPv6 address
        return "an address that cannot be read"
    host = url.netloc.rpartition("@")[2]
    return f"{url.scheme}://{host}{url.path}"[:MAX_MESSAGE_LENGTH]


def _path_of(error: BaseException) -> str:
    """Return the path of the requested URL, without user, password and query; "" if it is not known."""
    with suppress(RuntimeError, ValueError):  # httpx raises the first if a response has no request
        url = urlsplit(str(getattr(getattr(error, "response", None), "url", "")))
        if url.scheme and url.netloc:  # a mock has every attribute, but no URL
            return url.path[:MAX_MESSAGE_LENGTH]
    return ""


def _code_by_class(error: BaseException) -> str | None:
    """Return the code that the name of an exception's class gives, such as "timeout" for a ReadTimeout."""
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    for part, code in KINDS.items():
        if part in names:
            return code
    return None


def _causes(error: BaseException) -> list[BaseException]:
    """Return the exception and everything it was raised from, down to the first."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:  # an exception can be raised from itself
        causes.append(cause)
        cause = cause.__cause__
    return causes


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the endpoint asks to wait, given as a number or as a date."""
    for header, units in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = str(headers.get(header, ""))
        with suppress(ValueError, OverflowError):
            date = email.utils.parsedate_tz(value)
            if date:
                seconds = email.utils.mktime_tz(date) - time.time()
            else:
                seconds = float(value) / units
            return max(seconds, 0.0) if math.isfinite(seconds) else None
    return None
