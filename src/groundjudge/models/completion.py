"""A chat completion in any shape in which clients return one: bytes, a mapping, a model, an object."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from groundjudge.replies.reply import Reply, reply_of


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
