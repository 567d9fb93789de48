"""A model's reply, read from any shape in which models and their clients answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import exp, isnan
from typing import Any, NamedTuple, TypeGuard, cast

from groundjudge.case.data import as_json, is_list, is_mapping
from groundjudge.verdict import Score, Usage, well_formed

# The keys of the finish reason: OpenAI and Gemini, Anthropic, Bedrock, Ollama.
FINISH_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
# Candidates below this are not kept, unless they are numbers: that "10" is a token of its own says that
# "1" is not its beginning.
LEAST_PROBABILITY = 1e-4
# A larger number is no count of tokens: sums of it and readers of JSON would lose digits.
MOST_TOKENS = 2**53


class Token(NamedTuple):
    """A token of a reply.

    Attributes:
        text: its bytes; a character can be spread over several tokens.
        candidates: the bytes of the likeliest tokens in its place, each with its probability, 0..1.
    """

    text: bytes
    candidates: tuple[tuple[bytes, Score], ...]


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the raw text.
        finish_reason: why the model stopped, in the endpoint's words; "length" means that it was cut off.
        usage: the tokens that the endpoint counted; None if it reported none.
        cost: what the call cost, if the model reports it, in its own currency.
        model: the name of the model that answered, if the endpoint reported it.
        refusal: the text with which the model declined, if the endpoint reports refusals apart.
        retries: how many times the request was sent again before this reply came.
        cached: whether the reply came from a cache, so that nothing was sent.
        tokens: the tokens with their probabilities, where they were asked for and the endpoint gave them.
        keep: called once the reply was read, if somebody wants to know: a cache keeps what can be read.
    """

    text: str
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    refusal: str | None = None
    retries: int = 0
    cached: bool = False
    tokens: tuple[Token, ...] | None = field(default=None, repr=False)
    cost: float | None = None
    keep: Callable[[], object] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Whatever an endpoint sends: what stands in a verdict must have a place in JSON.
        for name in ("text", "finish_reason", "model", "refusal"):
            if value := getattr(self, name):
                object.__setattr__(self, name, well_formed(str(value)))


def reply_of(answer: object) -> Reply:
    """Read what a function answered: a text, a mapping, an object with `.content`, or a Reply.

    A mapping is a chat completion, a message (`content`), or, if neither, the verdict itself. A completion
    may be an object too.
    """
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply(answer)
    if completion := completion_of(answer):
        return completion
    if is_mapping(answer) and _get(answer, "content", str | list) is None:
        return Reply(as_json(answer))
    if is_mapping(answer) or hasattr(answer, "content"):
        return _of_message(answer)
    message = f"a model's answer must be a text, a mapping or have .content, not {type(answer).__name__}"
    raise TypeError(message)


def completion_of(answer: object) -> Reply | None:
    """The reply in a chat completion, a mapping or an object with attributes; None if there is none."""
    with suppress(TypeError, LookupError):
        choice = _get(answer, "choices")[0]
        message, usage = _get(choice, "message"), _get(answer, "usage")
        content, refusal = _get(message, "content", str | list), _get(message, "refusal", str)
        if is_mapping(message) or content is not None or refusal is not None:
            return Reply(
                _text(content),
                finish_reason=_get(choice, "finish_reason", str),
                usage=usage_of(_get(usage, "prompt_tokens"), _get(usage, "completion_tokens")),
                model=_get(answer, "model", str),
                refusal=refusal,
                tokens=tokens_of(_get(choice, "logprobs")),
            )
    return None


def usage_of(prompt: object, completion: object) -> Usage | None:
    """The tokens that an endpoint counted; None if it did not, or what it says is no count."""
    prompt, completion = (
        each if isinstance(each, int) and 0 <= each <= MOST_TOKENS else None for each in (prompt, completion)
    )
    return None if prompt is None else Usage(prompt_tokens=prompt, completion_tokens=completion or 0)


def _get(holder: object, name: str, kind: Any = object) -> Any:  # noqa: ANN401
    """A value by its key or attribute; None if there is none of this type, as a mock has every attribute."""
    value = holder.get(name) if is_mapping(holder) else getattr(holder, name, None)
    return value if isinstance(value, kind) else None


def _of_message(answer: Any) -> Reply:  # noqa: ANN401  an object of somebody else's making
    """A message as LangChain's chat models answer it; whatever is missing is left out."""
    told: Mapping[str, Any] = _get(answer, "response_metadata") or {}
    unfinished: Mapping[str, Any] = told.get("incomplete_details") or {}
    more: Mapping[str, Any] = _get(answer, "additional_kwargs") or {}
    counted: Mapping[str, int] = _get(answer, "usage_metadata") or {}
    return Reply(
        _text(_get(answer, "content")),
        finish_reason=next(filter(None, map(told.get, FINISH_REASONS)), unfinished.get("reason")),
        usage=usage_of(counted.get("input_tokens"), counted.get("output_tokens")),
        model=told.get("model_name") or told.get("model"),
        refusal=more.get("refusal"),
        tokens=tokens_of(told.get("logprobs")),
    )


def tokens_of(logprobs: object) -> tuple[Token, ...] | None:
    """The tokens in the `logprobs` of a chat completion's choice; None if they have another shape."""
    listed = logprobs.get("content") if is_mapping(logprobs) else None
    return tuple(map(_token, listed)) if listed and is_list(listed) and all(map(_is_token, listed)) else None


def _is_token(entry: object) -> TypeGuard[Mapping[str, Any]]:
    logprob = entry.get("logprob") if is_mapping(entry) and isinstance(entry.get("token"), str) else None
    return isinstance(logprob, int | float)


def _token(entry: Mapping[str, Any]) -> Token:
    # The token itself may be missing from the likeliest ones, or be listed first among them.
    entries = [entry, *filter(_is_token, _get(entry, "top_logprobs", list | tuple) or ())]
    if isnan(entry["logprob"]):  # then nobody knows what the others are worth
        return Token(_bytes(entry), ())
    shares = {_bytes(each): exp(min(each["logprob"], 0.0)) for each in entries}
    least = {text: 0 if text.strip().isdigit() else LEAST_PROBABILITY for text in shares}
    return Token(_bytes(entry), tuple((text, share) for text, share in shares.items() if share > least[text]))


def _bytes(entry: Mapping[str, Any]) -> bytes:
    """The token's bytes, or those of its text where the endpoint gives no bytes."""
    listed = entry.get("bytes")
    is_usable = is_list(listed) and all(isinstance(each, int) and each in range(256) for each in listed)
    return bytes(listed) if listed and is_usable else well_formed(entry["token"]).encode()


def _text(content: object) -> str:
    """A message's content: a text, or the texts among its parts."""
    if isinstance(content, list):
        parts = cast("list[str | Mapping[str, Any]]", content)
        return "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in parts)
    return "" if content is None else str(content)
