"""A chat completion in any shape in which clients return one: bytes, a mapping, a model, an object."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

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
            return json.loads(answer)
        return answer.decode(errors="replace")
    dump: Callable[..., object] | None = getattr(answer, "model_dump", None)
    if is_mapping(answer) or not callable(dump):
        return answer
    try:
        dumped = dump(warnings=False)  # an endpoint's completion need not have the types of the schema
    except TypeError:
        dumped = dump()
    return dumped if is_mapping(dumped) else answer


def reply_in(completion: Any, *, is_foreign: bool = False) -> Reply | None:  # noqa: ANN401  of any client
    """The reply in a chat completion, a mapping or an object with attributes; None if there is none.

    Args:
        completion: the completion.
        is_foreign: whether it comes from a client that is not OpenAI's, which may return a reply in any shape
            that `reply_of` reads.
    """
    choices = _get(completion, "choices")
    with suppress(TypeError, LookupError):
        choice = choices[0]
        message = _get(choice, "message")
        content, refusal = _get(message, "content", str | list), _get(message, "refusal", str)
        if is_mapping(message) or content is not None or refusal is not None:
            usage = _get(completion, "usage")
            prompt, written = (_get(usage, f"{kind}_tokens", int) for kind in ("prompt", "completion"))
            return Reply(
                reply_of({"content": content or ""}).text,
                finish_reason=_get(choice, "finish_reason", str),
                usage=None if prompt is None else Usage(prompt_tokens=prompt, completion_tokens=written or 0),
                model=_get(completion, "model", str),
                refusal=refusal,
                tokens=tokens_of(_get(choice, "logprobs")),
            )
    is_failure = is_mapping(completion) and ("choices" in completion or "error" in completion)
    with suppress(TypeError):
        return reply_of(completion) if is_foreign and not is_failure else None
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


def _get(holder: object, name: str, kind: Any = object) -> Any:  # noqa: ANN401
    """A value by its key or attribute; None if there is none of this type, as a mock has every attribute."""
    value = holder.get(name) if is_mapping(holder) else getattr(holder, name, None)
    return value if isinstance(value, kind) else None
