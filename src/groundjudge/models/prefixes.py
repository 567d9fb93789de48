"""The beginning of a prompt that is the same for every case: providers keep it in caches of their own.

OpenAI and Gemini do so by themselves, Anthropic where the request marks the end of what is to be kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from groundjudge.rubric.rubric import Request, Rubric

BYTES_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4

LEAST_CACHED: Mapping[str, int] = {
    "gemini-2-5": 2048,
    "gemini": 4096,
    "claude-haiku-4-5": 4096,
    "claude-opus-4-5": 4096,
    "claude-opus-4-6": 4096,
}
"""Tokens of the shortest beginning that is kept, by a part of the model's name; the first counts."""

LEAST_CACHED_ELSEWHERE = 1024
"""The same for OpenAI's models and the other ones of Anthropic."""

MARK: Mapping[str, str] = {"type": "ephemeral"}
"""Anthropic's mark: what ends with this block is kept for five minutes after it was last read."""


def message_tokens(messages: Iterable[Mapping[str, str]]) -> int:
    """Estimate the number of tokens of messages: one for 4 bytes of UTF-8, and 4 per message."""
    n_bytes = 0
    n_messages = 0
    for message in messages:
        n_bytes += len(message["content"].encode())
        n_messages += 1
    return n_bytes // BYTES_PER_TOKEN + TOKENS_PER_MESSAGE * n_messages


def prefix_tokens(rubric: Rubric, model_name: str) -> int:
    """Estimate how many tokens of a text prompt a provider can keep in its cache, for all cases together.

    Args:
        rubric: whose prompt is sent.
        model_name: the model as it is named in verdicts or on the command line.

    Returns:
        The tokens before the first value of a case; 0 if they are too few for this model. Of Claude, those of
        a system message without values, and only if LangChain's Anthropic sends it, which marks its end.
    """
    messages = rubric.prompt.beginning
    if "claude" in model_name.casefold():
        is_marked = model_name.removeprefix("langchain:anthropic:").startswith("claude")
        messages = messages[:1] if is_marked and rubric.prompt.has_constant_system else ()
    n_tokens = message_tokens(messages)
    return n_tokens if n_tokens >= _least_cached(model_name) else 0


def messages_with_mark(llm: object, model_name: str, request: Request) -> list[dict[str, Any]]:
    """Copy the messages of a request for LangChain; for Anthropic, a constant system message gets a mark.

    It stays as it is where it is too short to be kept, and where the model has a mark of its caller's: a mark
    for five minutes must not stand before one for an hour.
    """
    messages: list[dict[str, Any]] = [dict(message) for message in request.messages]
    kind = type(llm)
    # Subclasses are for other platforms, some of whose models refuse marks.
    is_anthropic = kind.__name__ == "ChatAnthropic" and kind.__module__.startswith("langchain_anthropic.")
    if not is_anthropic or not request.rubric.prompt.has_constant_system:
        return messages
    has_own_mark = "cache_control" in getattr(llm, "model_kwargs", {})
    if not has_own_mark and message_tokens(request.messages[:1]) >= _least_cached(model_name):
        block = {"type": "text", "text": messages[0]["content"], "cache_control": dict(MARK)}
        messages[0]["content"] = [block]
    return messages


def _least_cached(model_name: str) -> int:
    """The tokens of the shortest beginning that the provider of a model keeps."""
    name = model_name.casefold().replace(".", "-")  # gateways write claude-haiku-4.5
    for part, least in LEAST_CACHED.items():
        if part in name:
            return least
    return LEAST_CACHED_ELSEWHERE
