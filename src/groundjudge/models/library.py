"""The models of other libraries: LangChain's and DeepEval's.

They are used only through the objects' methods: neither library is imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from groundjudge.models.failure import model_errors, without_echo
from groundjudge.models.identity import declared_identity, identity_by_settings, itself, not_pickled
from groundjudge.models.loop_thread import call_function
from groundjudge.models.redaction import text_of
from groundjudge.models.returned import reply_of, usage_of
from groundjudge.models.secret_values import environment_keys
from groundjudge.models.unsupported_parameters import known_refusals, negotiate
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import TEXT, Request, Way

UNSTREAMED = {"tags": ["nostream"]}
"""The config of LangChain's calls: in LangGraph, the judge's calls are not part of the application's."""


def has_methods(model: object, *names: str) -> bool:
    """Whether the model's class has all these methods; instances of some runnables have any attribute."""
    return all(hasattr(type(model), name) for name in names)


async def call_library(
    method: Callable[..., Awaitable[Any]], sync_method: Callable[..., Any], *arguments: object
) -> Any:  # noqa: ANN401
    """Return the result of an asynchronous method, or else of its synchronous one, in a thread."""
    try:
        return await method(*arguments)
    except RuntimeError as error:  # NotImplementedError is one too
        # An async client may belong to an event loop that has ended. The sync client needs no loop.
        if not isinstance(error, NotImplementedError) and "loop" not in text_of(error):
            raise
        return await call_function(sync_method, *arguments)


async def _ask_llm(llm: Any, request: Request) -> Reply:  # noqa: ANN401  of either library
    """Ask a model of either library with its own method: LangChain's take messages, DeepEval's a string."""
    if has_methods(llm, "ainvoke"):
        messages = _messages_for(llm, request)
        answer = await call_library(llm.ainvoke, llm.invoke, messages, UNSTREAMED)
    else:
        prompt = "\n\n".join(message["content"] for message in request.messages)
        answer = await call_library(llm.a_generate, llm.generate, prompt)
    if not isinstance(answer, tuple):
        return reply_of(answer, request.rubric.verdict_keys)
    # DeepEval's string and cost; newer versions return a float with the tokens as attributes.
    text, cost = cast("tuple[str, Any]", answer)
    usage = usage_of(getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None))
    return Reply(text, usage=usage, cost=cost if isinstance(cost, int | float) else None)


def _messages_for(llm: object, request: Request) -> list[dict[str, Any]]:
    """Copy the messages of a request for LangChain; for Anthropic, a constant system message gets a mark.

    Anthropic caches what ends with a mark, for five minutes after it was last read, and ignores the mark if
    that is too short to be cached. OpenAI and Gemini cache beginnings automatically. A model with the
    caller's own mark gets no second one: a mark for five minutes must not come before one for an hour.
    """
    messages: list[dict[str, Any]] = [dict(message) for message in request.messages]
    kind = type(llm)
    # Subclasses are for other platforms, some of whose models refuse marks.
    is_anthropic = kind.__name__ == "ChatAnthropic" and kind.__module__.startswith("langchain_anthropic.")
    has_own_mark = "cache_control" in getattr(llm, "model_kwargs", {})
    if is_anthropic and request.rubric.prompt.has_constant_system and not has_own_mark:
        block = {"type": "text", "text": messages[0]["content"], "cache_control": {"type": "ephemeral"}}
        messages[0]["content"] = [block]
    return messages


@dataclass(frozen=True, eq=False, repr=False)
class LibraryModel:
    """A library's model object as a model, by default a LangChain chat model or a DeepEval model.

    Settings of a LangChain llm are kept. The judge's parameters (temperature, max_tokens, ...) apply to
    settings that were not set, if the llm has a field with that name and the endpoint accepts it. A runnable
    that wraps an llm (`with_retry`, `with_fallbacks`, `bind`) is called unchanged. For Anthropic, a constant
    system message is sent with a mark, so that the provider caches it.

    A DeepEval model gets the messages as one string; the judge's parameters are not sent.

    Attributes:
        llm: the model, or a runnable that wraps one. If its asynchronous method is missing, or belongs to
            another event loop, the synchronous one runs in a thread.
        remake: creates this model again, in another process; None: it cannot be pickled.
        ask: calls the llm for a request, and makes a reply from what it returns.
        way: how it is asked.
        keys: keys that were passed with the name; they are never shown.
    """

    llm: Any
    remake: Callable[[], LibraryModel] | None = None
    ask: Callable[[Any, Request], Awaitable[Reply]] = _ask_llm
    way: Way = TEXT
    keys: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"LibraryModel({self.name!r})"

    __copy__ = __deepcopy__ = itself

    def __reduce__(self) -> tuple[Callable[[], LibraryModel], tuple[()]]:
        """Pickle the name from which LangChain created the llm.

        Raises:
            PicklingError: the llm was passed as an object.
        """
        if self.remake is None:
            raise not_pickled(self.name, "the model object that was passed, which may contain a key")
        return self.remake, ()

    @property
    def name(self) -> str:
        """The name of the llm's model, as DeepEval or LangChain report it, or else of its class."""
        # The most precise first; the last is that of LangChain's runnables, which is their class's.
        for attribute in ("get_model_name", "model_name", "model", "get_name"):
            name = getattr(self.llm, attribute, None)
            if attribute.startswith("get_") and name is not None:
                name = name()
            if isinstance(name, str) and name:  # `model` may be an object
                return name
        return type(self.llm).__name__

    @property
    def identity(self) -> str:
        """What distinguishes this llm from others with its name in a cache: its class and its settings.

        A runnable that wraps an llm is identified by the settings of everything it wraps. One with your own
        code is identified by an attribute `identity` that you give it; without one this is "".
        """
        return declared_identity(self.llm) or identity_by_settings(self.name, self.llm)

    @cached_property
    def refusals(self) -> dict[str, str]:
        """What it is known to refuse, see `known_refusals`."""
        return known_refusals(self.identity) if self.identity else {}

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The keys that were passed and those in the environment, which no reply shows."""
        return (*self.keys, *environment_keys())

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm, and again without each parameter that the endpoint refuses.

        Raises:
            ModelError: the llm raised an exception, or its result cannot be read as a reply; the codes are
                those of a FunctionModel.
        """
        kind = cast("Any", type(self.llm))
        unset_fields = set[str]()
        if hasattr(kind, "bind_tools"):  # a runnable around an llm has fields of another kind
            unset_fields = kind.model_fields.keys() - self.llm.model_fields_set

        async def send(accepted: Request) -> Reply:
            settings = {name: accepted.parameters[name] for name in unset_fields & accepted.parameters.keys()}
            # They are not bound to the call: some llms pass bound parameters on to clients that reject them.
            llm = self.llm.model_copy(update=settings) if settings else self.llm
            with model_errors(self.name, f"{self.name}: ", self.keys, task=asyncio.current_task()):
                reply = await self.ask(llm, accepted)
                return without_echo(reply, request, self.secrets)

        parameters = {name: value for name, value in request.parameters.items() if name in unset_fields}
        return await negotiate(replace(request, parameters=parameters), self.refusals, self.name, send)
