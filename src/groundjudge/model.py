"""A model answers a request. Anything that can do that serves: an endpoint, a function, no model at all."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

from groundjudge.case import Case, well_formed
from groundjudge.errors import ModelError
from groundjudge.models.threads import in_a_thread
from groundjudge.verdict import Usage

if TYPE_CHECKING:
    from groundjudge.judge import Judge

CHOICES = (
    'a model\'s name ("gpt-4o-mini" or "openai:gpt-4o-mini": any OpenAI-compatible endpoint), '
    '"offline" (no model and no key), (an OpenAI client, a model\'s name), an object with name, complete '
    "and acomplete, or a function from the request to its reply"
)

FINISH_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Where messages tell why they end: those of OpenAI and Gemini, of Anthropic, of Bedrock, of Ollama."""


@dataclass(frozen=True)
class Request:
    """What a model is asked.

    Attributes:
        messages: chat messages, each with role and content. With `parameters`, all that is sent.
        parameters: sampling parameters by their names in the chat completions API.
        judge: who asks, for a model that needs no text.
        case: what is judged, for a model that needs no text.
        paced: whoever asks waits and asks again after a rate limit: a model that would do so raises instead.
    """

    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]
    judge: Judge
    case: Case
    paced: bool = False


@dataclass(frozen=True)
class Reply:
    """What a model answered. `finish_reason` "length" means that it was cut off.

    `retries` counts how many times the request was sent again; `cached` says that it was not sent at all.
    """

    text: str
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    refusal: str | None = None
    retries: int = 0
    cached: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", well_formed(self.text))


@runtime_checkable
class Model(Protocol):
    """Whatever answers requests.

    `complete` and `acomplete` raise ModelError when no reply was had, and nothing else.
    """

    @property
    def name(self) -> str:
        """What the verdicts call the model."""
        ...

    def complete(self, request: Request) -> Reply:
        """Answer a request."""
        ...

    async def acomplete(self, request: Request) -> Reply:
        """Answer a request without blocking the event loop."""
        ...


Answer: TypeAlias = Callable[[Request], Any] | Callable[[Request], Awaitable[Any]]
"""A function from the request to a text, a mapping, an object with `.content`, or a Reply."""

ModelLike: TypeAlias = str | Model | Answer | tuple[Any, str]
"""What can be given as a model."""


def as_model(model: ModelLike | None) -> Model:
    """The model that is meant by a name, a client, a function or a model.

    Raises:
        ModelError: `no_model` when nothing was given, `unknown_model` when it is nothing of these.
    """
    if model is None:
        message = f"no model given: pass model=, which can be {CHOICES}"
        raise ModelError("no_model", message)
    if model == "offline":
        from groundjudge.offline.model import OfflineModel  # noqa: PLC0415  loaded when it is used

        return OfflineModel()
    if isinstance(model, str) and get_close_matches(model.casefold(), ["offline"], cutoff=0.8):
        message = 'no model is called so: "offline" is the one that needs no endpoint'
        raise ModelError("unknown_model", f"{model!r}: {message}", model)
    if isinstance(model, str) and model.removeprefix("openai:").strip():
        from groundjudge.models.openai import OpenAIModel  # noqa: PLC0415  the client costs a second

        return OpenAIModel(model.removeprefix("openai:"))
    if isinstance(model, Model):
        return model
    if callable(model):
        return FunctionModel(model)
    match model:
        case (client, str(name)):
            from groundjudge.models.openai import OpenAIModel  # noqa: PLC0415

            return OpenAIModel(name, client=client)
        case _:  # whoever has no type checker may pass anything
            pass
    message = f"{type(model).__name__} cannot be used as a model: a model is {CHOICES}"
    raise ModelError("unknown_model", message, str(model))


@dataclass(frozen=True)
class FunctionModel:
    """A function, sync or async, as a model. What it raises becomes a ModelError."""

    function: Answer
    name: str = field(default="")

    def __post_init__(self) -> None:
        if not self.name:
            named = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", named)

    def complete(self, request: Request) -> Reply:
        """Call the function; one that is async gets an event loop of its own."""
        try:
            answer = self.function(request)
            return reply_of(_finished(answer) if inspect.isawaitable(answer) else answer)
        except Exception as error:
            raise _failed(self.name, error) from error

    async def acomplete(self, request: Request) -> Reply:
        """Await the function; one that is not async runs in a thread."""
        try:
            if _is_async(self.function):
                answer = await self.function(request)
            else:
                answer = await asyncio.wrap_future(in_a_thread(self.function, request))
                if inspect.isawaitable(answer):
                    answer = await answer
            return reply_of(answer)
        except Exception as error:
            raise _failed(self.name, error) from error


def reply_of(answer: object) -> Reply:
    """Read what a function answered: a text, a mapping, an object with `.content`, or a Reply.

    A mapping is a chat completion, a message (`content`), or, if neither, the verdict itself.
    """
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply(answer)
    if isinstance(answer, Mapping):
        return _of_mapping(cast("Mapping[str, Any]", answer))
    if hasattr(answer, "content"):
        return _of_message(answer)
    message = f"a model's answer must be a text, a mapping or have .content, not {type(answer).__name__}"
    raise TypeError(message)


def _of_mapping(answer: Mapping[str, Any]) -> Reply:
    if answer.get("choices"):
        choice: Mapping[str, Any] = answer["choices"][0]
        message: Mapping[str, Any] = choice["message"]
        return Reply(
            _text(message.get("content")),
            finish_reason=choice.get("finish_reason"),
            refusal=message.get("refusal"),
            model=answer.get("model"),
        )
    if isinstance(answer.get("content"), str | list):
        return Reply(_text(answer["content"]))
    return Reply(json.dumps(answer, ensure_ascii=False, default=str))


def _of_message(answer: Any) -> Reply:  # noqa: ANN401  an object of somebody else's making
    """A message as LangChain's chat models answer it; whatever is missing is left out."""
    told: Mapping[str, Any] = getattr(answer, "response_metadata", None) or {}
    unfinished: Mapping[str, Any] = told.get("incomplete_details") or {}
    more: Mapping[str, Any] = getattr(answer, "additional_kwargs", None) or {}
    counted: Mapping[str, int] | None = getattr(answer, "usage_metadata", None)
    return Reply(
        _text(answer.content),
        finish_reason=next(filter(None, map(told.get, FINISH_REASONS)), unfinished.get("reason")),
        usage=Usage(prompt_tokens=counted["input_tokens"], completion_tokens=counted["output_tokens"])
        if counted
        else None,
        model=told.get("model_name") or told.get("model"),
        refusal=more.get("refusal"),
    )


def _text(content: object) -> str:
    """A message's content: a text, or the texts among its parts."""
    if isinstance(content, list):
        parts = cast("list[str | Mapping[str, Any]]", content)
        return "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in parts)
    return "" if content is None else str(content)


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  an object with an async __call__
    )


def _finished(answer: Awaitable[Any]) -> Any:  # noqa: ANN401  whatever the function answers
    """Run an awaitable to its end, in a thread of its own where this one's loop is running."""

    async def wait() -> Any:  # noqa: ANN401
        return await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, wait()).result()


def _failed(name: str, error: Exception) -> ModelError:
    if isinstance(error, ModelError):
        return error
    kinds = {TimeoutError: "timeout", ConnectionError: "connection"}
    code = next((code for kind, code in kinds.items() if isinstance(error, kind)), "failed")
    return ModelError(code, f"the model {name} raised {type(error).__name__}: {error}", name)
