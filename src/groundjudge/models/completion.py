"""A chat completion in any shape in which clients return one: bytes, a mapping, a model, an object."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from groundjudge.replies.reply import Reply, reply_of
from groundjudge.verdict import Usage

MAX_MESSAGE_LENGTH = 500
"""An endpoint's own error message is cut after this many characters."""

NO_COMPLETION = "the response is not a chat completion"
NO_REASON = "the endpoint gives no reason"


def completion_of(answer: object) -> Any:  # noqa: ANN401  what JSON can hold
    """The completion as a mapping; for what is not a completion, what the endpoint said instead."""
    if isinstance(answer, bytes):
        return _parsed(answer)
    dumped = _dumped(answer)
    if dumped is not None:
        return dumped
    choices = getattr(answer, "choices", None)
    if choices is None:
        return answer
    return {
        "choices": _choices(choices),
        "model": _text(_get(answer, "model")),
        "usage": _usage(_get(answer, "usage")),
    }


def answer_of(answer: object) -> object:
    """What an object that is no OpenAI client returned: a completion, or else what `reply_of` reads."""
    completion = completion_of(answer)
    if isinstance(completion, Mapping) and ("choices" in completion or "error" in completion):
        return cast("Mapping[str, Any]", completion)
    with suppress(TypeError):
        return reply_of(answer)
    return repr(answer)


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content) or content.decode()
    except (ValueError, RecursionError):
        return content.decode(errors="replace")


def _dumped(answer: object) -> Mapping[str, Any] | None:
    """The answer if it is a mapping or a pydantic model. A mock's `model_dump` returns neither."""
    if isinstance(answer, Mapping):
        return cast("Mapping[str, Any]", answer)
    dump: Callable[..., object] | None = getattr(answer, "model_dump", None)
    if not callable(dump) or isinstance(answer, Reply):
        return None
    try:
        dumped = dump(warnings=False)  # an endpoint's completion need not have the types of the schema
    except TypeError:
        dumped = dump()
    return cast("Mapping[str, Any]", dumped) if isinstance(dumped, Mapping) else None


def _choices(choices: Any) -> list[dict[str, Any]]:  # noqa: ANN401  an object of any making
    """The first choice, by its attributes. A mock has every attribute: what is not text counts as missing."""
    try:
        first = choices[0]
    except (TypeError, IndexError, KeyError):
        return []
    message = _get(first, "message")
    content = _get(message, "content")
    if not isinstance(content, str | list) and _text(_get(message, "refusal")) is None:
        return []
    return [
        {
            "message": {
                "content": content if isinstance(content, str | list) else None,
                "refusal": _text(_get(message, "refusal")),
            },
            "finish_reason": _text(_get(first, "finish_reason")),
            "logprobs": _get(first, "logprobs"),
        }
    ]


def _usage(usage: object) -> dict[str, int]:
    counts = {name: _get(usage, name) for name in ("prompt_tokens", "completion_tokens")}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _get(holder: object, name: str) -> object:
    if isinstance(holder, Mapping):
        return cast("Mapping[str, object]", holder).get(name)
    return getattr(holder, name, None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def reply_in(completion: Any) -> Reply | None:  # noqa: ANN401  what JSON can hold
    """The reply in a chat completion, with usage and model; None if it is not a chat completion."""
    match completion:
        case {"choices": [{"message": Mapping()}, *_]}:
            usage, name = _counted(completion.get("usage")), completion.get("model")
            return replace(reply_of(completion), usage=usage, model=_text(name))
        case _:
            return None


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


def _counted(counts: object) -> Usage | None:
    match counts:
        case {"prompt_tokens": int(prompt), "completion_tokens": int(completion)}:
            return Usage(prompt_tokens=prompt, completion_tokens=completion)
        case {"prompt_tokens": int(prompt)}:
            return Usage(prompt_tokens=prompt)
        case _:
            return None
