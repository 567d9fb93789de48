"""Reads a reply from any form in which models and their clients return one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from math import exp, isnan
from typing import Any, TypeGuard, cast

from pydantic import BaseModel

from groundjudge.case.data import as_json, is_list, is_mapping
from groundjudge.errors import name_list
from groundjudge.replies.reply import Reply, Token
from groundjudge.verdict import Score, Usage, well_formed

# The keys of the finish reason: OpenAI and Gemini, Anthropic, Bedrock, Ollama.
FINISH_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
# The types of parts that call a function, at OpenAI and Anthropic.
FUNCTION_CALLS = ("function_call", "tool_use")
# The finish reason of a reply that calls one.
CALLED = "tool_calls"
# The types of content parts that are answers; None: a part without a type. Others are thoughts
# ("reasoning", "thinking", "summary_text"), images and tool calls.
TYPES_OF_TEXT = ("text", "output_text", None)
# Candidates below this are dropped, unless they are numbers: if "10" is a single token, "1" is not its
# beginning.
MIN_PROBABILITY = 1e-4
# The types that an endpoint's error can have; an attribute of a mock has another type.
ERRORS = (Mapping, str, BaseModel)
# A larger number is not a count of tokens: sums and JSON readers would lose digits.
MAX_TOKENS = 2**53

REPLIES = (
    "return the reply's text, or a whole response of OpenAI's chat completions or Responses API, Anthropic's "
    "Messages API or Bedrock's Converse API"
)
"""What a function can return, as error messages say it."""


class NoReplyError(TypeError):
    """The answer contains no reply.

    Attributes:
        body: the answer.
    """

    def __init__(self, body: object) -> None:
        what = f"an object of class {type(body).__name__}"
        if is_mapping(body):
            what = f"a mapping with the keys {name_list(body)}" if body else "an empty mapping"
        super().__init__(f"{what}, which contains no reply in a known format: {REPLIES}")
        self.body = body


def reply_of(answer: object, verdict_keys: Collection[str] = ()) -> Reply:
    """Read what a function returned: a text, a Reply, a mapping, or a client's object.

    A mapping is a message with its `content`, a response of one of the APIs in `REPLIES`, or a verdict that
    has already been parsed from JSON.

    Args:
        answer: what the function returned.
        verdict_keys: the keys of such a verdict, in lower case; () if replies are not JSON.

    Raises:
        NoReplyError: the answer is none of these, or an error.
    """
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply(answer)
    if error_in(answer) is None:
        for read_form in (completion_of, _read_response, _read_converse, _read_message):
            reply = read_form(answer)
            if reply is not None:
                return reply
        if is_mapping(answer) and any(str(key).casefold() in verdict_keys for key in answer):
            return Reply(as_json(answer))
    raise NoReplyError(answer)


def error_in(answer: object) -> object:
    """Return the error in an answer or in its first choice, where gateways put it; None if there is none."""
    error = _get_value(answer, "error", ERRORS)
    if not error:
        with suppress(TypeError, LookupError):
            error = _get_value(_get_value(answer, "choices")[0], "error", ERRORS)
    return error or None


def completion_of(answer: object) -> Reply | None:
    """Return the reply in a chat completion, a mapping or an object; None if it is not a chat completion."""
    if error_in(answer) is not None:
        return None
    with suppress(TypeError, LookupError):  # `choices` may be missing, empty or not a list
        choices = _get_value(answer, "choices")
        choice = choices[0]
        message = _get_value(choice, "message")
        usage = _get_value(answer, "usage")
        content = _get_value(message, "content", str | list)
        refusal = _get_value(message, "refusal", str)
        # A message in JSON may have neither, only calls of tools; an object without them is something else.
        if is_mapping(message) or content is not None or refusal is not None:
            return Reply(
                _read_content(content),
                finish_reason=_why_stopped(choice, message, content),
                usage=_usage_of_completion(usage),
                model=_get_value(answer, "model", str),
                refusal=refusal,
                tokens=tokens_of(_get_value(choice, "logprobs")),
                other_texts=tuple(map(_read_choice, choices[1:])),
            )
    return None


def _read_choice(choice: object) -> str:
    """Return the text of a completion's choice."""
    return _read_content(_get_value(_get_value(choice, "message"), "content", str | list))


def _read_response(answer: object) -> Reply | None:
    """Read a response of OpenAI's Responses API, a mapping or an object; None if it is not one."""
    if _get_value(answer, "object", str) != "response":
        return None
    content: list[object] = []
    items: list[Any] = _get_value(answer, "output", list) or []
    for item in items:
        if _get_value(item, "type", str) == "message":  # not reasoning or a tool call
            content += _get_value(item, "content", list) or []
    return Reply(
        _read_content(content),
        finish_reason=_why_stopped(answer, answer, items),
        usage=usage_of_response(_get_value(answer, "usage")),
        model=_get_value(answer, "model", str),
        refusal=_read_refusal(content),
    )


def _read_converse(answer: object) -> Reply | None:
    """Read a response of Bedrock's Converse API, a mapping; None if it is not one."""
    message = _get_value(_get_value(answer, "output"), "message")
    content = _get_value(message, "content", list)
    if content is None:
        return None
    usage = _get_value(answer, "usage")
    cached = _get_value(usage, "cacheReadInputTokens")
    written = _get_value(usage, "cacheWriteInputTokens")
    return Reply(
        _read_content(content),
        finish_reason=_why_stopped(answer, message, content),
        usage=usage_of(
            _add_counts(_get_value(usage, "inputTokens"), cached, written),
            _get_value(usage, "outputTokens"),
            cached=cached,
        ),
    )


def usage_of(
    prompt: object, completion: object, *, cached: object = None, reasoning: object = None
) -> Usage | None:
    """Return the tokens that an endpoint counted; None if it did not, or reports something else.

    Args:
        prompt: all tokens of the prompt.
        completion: all tokens of the reply.
        cached: the prompt tokens that came from the provider's cache.
        reasoning: the reply tokens that the model spent on thinking.
    """
    if not _is_count(prompt):
        return None
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=_count(completion) or 0,
        cached_tokens=_count(cached),
        reasoning_tokens=_count(reasoning),
    )


def _usage_of_completion(usage: object) -> Usage | None:
    """Return the tokens in the `usage` of a chat completion."""
    prompt = _get_value(usage, "prompt_tokens")
    completion = _get_value(usage, "completion_tokens")
    total = _get_value(usage, "total_tokens")
    reasoning = _get_value(_get_value(usage, "completion_tokens_details"), "reasoning_tokens")
    if _is_count(prompt) and _is_count(completion) and _is_count(total):
        n_uncounted = total - prompt - completion
        # Gemini and xAI count thinking in the total only, and charge it as part of the reply.
        if n_uncounted > 0:
            completion += n_uncounted
            reasoning = n_uncounted if reasoning is None else reasoning
    cached = _get_value(_get_value(usage, "prompt_tokens_details"), "cached_tokens")
    return usage_of(prompt, completion, cached=cached, reasoning=reasoning)


def usage_of_response(usage: object) -> Usage | None:
    """Return the tokens in the `usage` of OpenAI's Responses API, which decision models state too."""
    cached = _get_value(_get_value(usage, "input_tokens_details"), "cached_tokens")
    return usage_of(
        _get_value(usage, "input_tokens"),
        _get_value(usage, "output_tokens"),
        # The second is pydantic-ai's name.
        cached=_get_value(usage, "cache_read_tokens") if cached is None else cached,
        reasoning=_get_value(_get_value(usage, "output_tokens_details"), "reasoning_tokens"),
    )


def usage_of_anthropic(usage: object) -> Usage | None:
    """Return the tokens in an Anthropic message's `usage`, which counts cached tokens separately."""
    cached = _get_value(usage, "cache_read_input_tokens")
    written = _get_value(usage, "cache_creation_input_tokens")
    return usage_of(
        _add_counts(_get_value(usage, "input_tokens"), cached, written),
        _get_value(usage, "output_tokens"),
        cached=cached,
        reasoning=_get_value(_get_value(usage, "output_tokens_details"), "thinking_tokens"),
    )


def _add_counts(prompt: object, *separate: object) -> object:
    """Return the tokens of a prompt with those that are counted separately: read from a cache, or written."""
    if not _is_count(prompt):
        return None
    return prompt + sum(filter(_is_count, separate))


def _is_count(count: object) -> TypeGuard[int]:
    """Whether an endpoint's value is a count of tokens."""
    return isinstance(count, int) and 0 <= count <= MAX_TOKENS


def _count(count: object) -> int | None:
    """Return a count of tokens; None for anything else."""
    return count if _is_count(count) else None


def _get_value(holder: object, name: str, kind: Any = object) -> Any:  # noqa: ANN401
    """Return a value by its key or attribute; None for other types, because a mock has every attribute."""
    if holder is None:  # as often: most replies lack most of these
        return None
    value = holder.get(name) if is_mapping(holder) else getattr(holder, name, None)
    if value is None or isinstance(value, kind):
        return value
    return None


def _read_message(answer: object) -> Reply | None:
    """Read a message of LangChain, OpenAI or Anthropic, any of whose fields may be missing.

    None if the answer is not a message.
    """
    content = _get_value(answer, "content", str | list)
    refusal = _get_value(answer, "refusal", str) or _read_refusal(content)
    # A mapping may be anything, even the verdict itself; an object with a content is a library's message.
    if is_mapping(answer):
        is_message = content is not None or refusal is not None
    else:
        is_message = hasattr(answer, "content")
    if not is_message:
        return None
    metadata = _get_value(answer, "response_metadata")
    counts = _get_value(answer, "usage_metadata")
    usage = usage_of(
        _get_value(counts, "input_tokens"),
        _get_value(counts, "output_tokens"),
        cached=_get_value(_get_value(counts, "input_token_details"), "cache_read"),
        reasoning=_get_value(_get_value(counts, "output_token_details"), "reasoning"),
    )
    if usage is None:
        usage = usage_of_anthropic(_get_value(answer, "usage"))
    model: str | None = _get_value(metadata, "model_name", str) or _get_value(metadata, "model", str)
    return Reply(
        _read_content(content),
        finish_reason=_why_stopped(metadata, answer, content) or _why_stopped(answer, answer, content),
        usage=usage,
        model=model or _get_value(answer, "model", str),
        refusal=refusal or _get_value(_get_value(answer, "additional_kwargs"), "refusal", str),
        tokens=tokens_of(_get_value(metadata, "logprobs")),
    )


def _why_stopped(holder: object, message: object, parts: object) -> str | None:
    """Return why a model stopped: it did not finish if it calls a function, whatever its endpoint says.

    What stands next to the call may be a draft.

    Args:
        holder: what has the finish reason.
        message: the message.
        parts: the parts of its content, if it is a list.
    """
    listed = cast("list[object]", parts) if isinstance(parts, list) else []
    if any(map(_calls_function, [message, *listed])):
        return CALLED
    for name in FINISH_REASONS:
        reason: str | None = _get_value(holder, name, str)
        if reason:
            return reason
    # OpenAI's Responses API has a status, and says why it is "incomplete".
    reason = _get_value(_get_value(holder, "incomplete_details"), "reason", str)
    return reason or _get_value(holder, "status", str) or None


def _calls_function(part: object) -> bool:
    """Whether a message, or a part of one, calls a function; tools that the provider runs do not count."""
    if _get_value(part, "tool_calls", list) or _get_value(_get_value(part, "function_call"), "name", str):
        return True
    return _get_value(part, "type", str) in FUNCTION_CALLS or (is_mapping(part) and "toolUse" in part)


def tokens_of(logprobs: object) -> tuple[Token, ...] | None:
    """Return the tokens in the `logprobs` of a completion's choice; None if anything in it is odd."""
    entries = logprobs.get("content") if is_mapping(logprobs) else None
    if not is_list(entries) or not entries:
        return None
    try:
        return tuple(map(_read_token, entries))
    except (AttributeError, LookupError, TypeError, ValueError):  # an entry of another shape
        return None


def _read_token(entry: Mapping[str, Any]) -> Token:
    """Read an entry of `logprobs`: a token, and the probabilities of the likeliest tokens in its position."""
    # The token itself may be missing from the likeliest ones, or be listed first among them.
    entries = [entry, *(entry.get("top_logprobs") or ())]
    probabilities: dict[bytes, Score] = {}
    for candidate in entries:
        if isnan(candidate["logprob"]):  # then the other probabilities cannot be trusted either
            raise ValueError
        probabilities[_token_bytes(candidate)] = exp(min(candidate["logprob"], 0.0))
    candidates: list[tuple[bytes, Score]] = []
    for text, probability in probabilities.items():
        least = 0 if text.strip().isdigit() else MIN_PROBABILITY
        if probability > least:
            candidates.append((text, probability))
    return Token(_token_bytes(entry), tuple(candidates))


def _token_bytes(entry: Mapping[str, Any]) -> bytes:
    """Return the token's bytes, or those of its text if the endpoint returns no bytes."""
    values = entry.get("bytes")
    if values and is_list(values):
        return bytes(values)
    return well_formed(entry["token"]).encode()


def _read_content(content: object) -> str:
    """Return the text of a message's content, which is a text or a list of parts (mappings or objects).

    A model's thoughts are not its answer, and may contain a draft of it.
    """
    if content is None:
        return ""
    if not isinstance(content, list):
        return str(content)
    texts: list[str] = []
    for part in cast("list[object]", content):
        if isinstance(part, str):
            texts.append(part)
            continue
        text = _get_value(part, "text", str)
        kind = _get_value(part, "type", str)
        is_thought = _get_value(part, "thought", bool)  # Gemini's flag, next to an ordinary text
        if text and not is_thought and kind in TYPES_OF_TEXT:
            texts.append(text)
    return "".join(texts)


def _read_refusal(content: object) -> str | None:
    """Return the first refusal among the parts of a message's content; None if there is none."""
    if not isinstance(content, list):
        return None
    for part in cast("list[object]", content):
        refusal = _get_value(part, "refusal", str)
        if refusal:
            return cast("str", refusal)
    return None
