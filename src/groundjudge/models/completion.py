"""A chat completion in any shape in which clients return one: bytes, a mapping, a model, an object."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from groundjudge.case.shapes import is_mapping
from groundjudge.replies.reply import Reply, reply_of, tokens_of
from groundjudge.verdict import Usage

MAX_MESSAGE_LENGTH = 500
"""An endpoint's own error message is cut after this many characters."""

NO_COMPLETION = "the response is not a chat completion"
NO_REASON = "the endpoint gives no reason"


def parsed(answer: object) -> object:
    """What an endpoint sent or a client returned, as a mapping where that is possible.

    A mock has every attribute: what its `model_dump` returns is not a mapping.
    """
    if isinstance(answer, bytes):
        with suppress(ValueError, RecursionError):
            return json.loads(answer) or answer.decode()
        return answer.decode(errors="replace")
    dump: Callable[..., object] | None = getattr(answer, "model_dump", None)
    if is_mapping(answer) or not callable(dump):
        return answer
    try:
        dumped = dump(warnings=False)  # an endpoint's completion need not have the types of the schema
    except TypeError:
        dumped = dump()
    return dumped if is_mapping(dumped) else answer


def reply_in(completion: object) -> Reply | None:
    """The reply in a chat completion, a mapping or an object with attributes; None if it is neither."""
    choices = _get(completion, "choices")
    first = _first(choices)
    message = _get(first, "message")
    content: Any = _get(message, "content")
    refusal = _text(_get(message, "refusal"))
    is_message = is_mapping(message) or isinstance(content, str | list) or refusal is not None
    if not is_message:
        return None
    told: dict[str, Any] = {"content": content if isinstance(content, str | list) else None}
    return Reply(
        reply_of({"choices": [{"message": told}]}).text,
        finish_reason=_text(_get(first, "finish_reason")),
        usage=_usage(_get(completion, "usage")),
        model=_text(_get(completion, "model")),
        refusal=refusal,
        tokens=tokens_of(_get(first, "logprobs")),
    )


def reply_without_choices(answer: object) -> Reply | None:
    """The reply in what a client that is not OpenAI's returned: whatever `reply_of` reads, but no error."""
    if is_mapping(answer) and ("choices" in answer or "error" in answer):
        return None
    with suppress(TypeError):
        return reply_of(answer)
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


def _usage(counts: object) -> Usage | None:
    prompt, completion = _get(counts, "prompt_tokens"), _get(counts, "completion_tokens")
    if not isinstance(prompt, int):
        return None
    return Usage(prompt_tokens=prompt, completion_tokens=completion if isinstance(completion, int) else 0)


def _first(choices: object) -> object:
    try:
        return cast("Any", choices)[0]
    except (TypeError, IndexError, KeyError):
        return None


def _get(holder: object, name: str) -> object:
    if is_mapping(holder):
        return holder.get(name)
    return getattr(holder, name, None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
