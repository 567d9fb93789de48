"""What callers pass as a model and the library wraps: a function, a LangChain chat model, a DeepEval LLM.

LangChain and DeepEval are used through the methods of the objects only: neither is imported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn, Protocol, TypeAlias, cast

from groundjudge.models.identity import identity_by_code, identity_by_settings, not_pickled, same
from groundjudge.models.loop_thread import called
from groundjudge.models.model_error import error_of
from groundjudge.models.unsupported_parameters import Negotiation, learnt_from
from groundjudge.replies.reply import Reply, reply_of
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage

Answer: TypeAlias = Callable[[Request], Any] | Callable[[Request], Awaitable[Any]]
"""A function from the request to a string, a mapping, an object with `.content`, or a Reply."""


class ChatModel(Protocol):
    """The methods of a LangChain chat model, or of a runnable used in its place."""

    def invoke(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes messages, returns a message."""

    def ainvoke(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The same, asynchronous."""


class DeepEvalLLM(Protocol):
    """The methods of a DeepEvalBaseLLM."""

    def generate(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes a prompt, returns a string, or a string and its cost."""

    def a_generate(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The same, asynchronous."""

    def get_model_name(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Returns the model's name."""


@dataclass(frozen=True)
class FunctionModel:
    """A function, sync or async, as a model. An exception that it raises becomes a ModelError.

    An exception with an HTTP status (`status_code`) gets that status's code; one whose class has "Timeout"
    in its name `timeout`, "Connect" `connection`, as Python's own have; any other `failed`.

    Attributes:
        function: from the request to the reply. A synchronous one runs in a thread of its own.
        name: the model's name in verdicts; by default the function's own name.
    """

    function: Answer
    name: str = field(default="")

    def __post_init__(self) -> None:
        if not self.name:
            default = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", default)

    @cached_property
    def identity(self) -> str:
        """What tells this function from others of its name, for a cache: its place, code and values."""
        return identity_by_code(self.name, self.function)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: `identity` too, because code and values may look different in another process."""
        return {"function": self.function, "name": self.name, "identity": self.identity}

    async def acomplete(self, request: Request) -> Reply:
        """Call the function.

        Raises:
            ModelError: the function raised an exception, or its result cannot be read as a reply.
        """
        try:
            return reply_of(await called(self.function, _for_any_endpoint(request)))
        except Exception as error:
            raise error_of(error, self.name, f"the model {self.name} raised ") from error


def _for_any_endpoint(request: Request) -> Request:
    """The request without the response format of a re-ask, whose refusal nobody would notice."""
    if "response_format" not in request.added or request.rubric.structured == "always":
        return request
    kept = {name: value for name, value in request.parameters.items() if name != "response_format"}
    return replace(request, parameters=kept)


@dataclass(frozen=True, eq=False)
class LangChainModel:
    """A LangChain chat model as a model.

    Settings of the llm are kept. The judge's parameters (temperature, max_tokens, ...) apply to settings
    that were not set, if the llm has a field of that name and the endpoint accepts it. A runnable that
    wraps an llm (`with_retry`, `with_fallbacks`, `bind`) is called unchanged.

    Attributes:
        llm: the chat model, or a runnable that wraps one.
        remake: makes this model again, in another process; None: it cannot be pickled.
    """

    llm: ChatModel
    remake: Callable[[], LangChainModel] | None = None

    def __repr__(self) -> str:
        return f"LangChainModel({self.name!r})"

    __copy__ = __deepcopy__ = same

    def __reduce__(self) -> tuple[Callable[[], LangChainModel], tuple[()]]:
        """Pickle the name from which LangChain made the llm.

        Raises:
            PicklingError: the llm was given as an object.
        """
        if self.remake is None:
            raise not_pickled(self.name, "the chat model that was given, which may hold a key")
        return self.remake, ()

    @property
    def name(self) -> str:
        """The name of the llm's model."""
        candidates = (getattr(self.llm, attribute, None) for attribute in ("model_name", "model"))
        name = next((name for name in candidates if isinstance(name, str) and name), None)
        get_name: Callable[[], str] | None = getattr(self.llm, "get_name", None)
        return name or (get_name() if get_name else type(self.llm).__name__)

    @cached_property
    def identity(self) -> str:
        """What tells this llm from others of its name, for a cache: its class and its settings.

        A runnable that wraps an llm is told by the settings of all that it wraps.
        """
        return identity_by_settings(self.name, self.llm)

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm, and again without each parameter that the endpoint refuses.

        Raises:
            ModelError: the llm raised an exception, or its result cannot be read as a reply.
        """
        negotiation = Negotiation(self.name, request, learnt_from(self.identity))
        messages = [dict(message) for message in request.messages]
        in_thread = False
        while True:
            llm = _with_parameters(self.llm, negotiation)
            try:
                reply = reply_of(await (called(llm.invoke, messages) if in_thread else llm.ainvoke(messages)))
            except Exception as error:
                failure = error_of(error, self.name, f"{self.name}: ")
                if negotiation.is_refusal(failure.code, error):
                    continue
                # An async client may belong to an event loop that has ended. The sync client needs no loop.
                if in_thread or not isinstance(error, RuntimeError) or "loop" not in str(error):
                    raise failure from error
                in_thread = True
            else:
                negotiation.succeeded(reply)
                return reply


def _with_parameters(llm: ChatModel, negotiation: Negotiation) -> ChatModel:
    """The llm, with the request's parameters in those of its fields that were not set.

    They are not bound to the call: some llms pass bound parameters on to clients that reject them.
    """
    fields: Mapping[str, Any] = getattr(type(llm), "model_fields", {})
    # A runnable around an llm has fields of another kind.
    is_llm = hasattr(type(llm), "bind_tools")
    already_set: set[str] = getattr(llm, "model_fields_set", set[str]())
    parameters = negotiation.parameters(fields.keys() - already_set if is_llm else ())
    return cast("Any", llm).model_copy(update=parameters) if parameters else llm


@dataclass(frozen=True)
class DeepEvalModel:
    """A DeepEval model. It gets the messages as one string; the judge's parameters are not sent.

    Attributes:
        llm: the DeepEval model. Where it has no asynchronous method, its `generate` runs in a thread.
    """

    llm: DeepEvalLLM

    __copy__ = __deepcopy__ = same

    def __reduce__(self) -> NoReturn:
        """Refuse pickling.

        Raises:
            PicklingError: always; the llm may hold a client and a key.
        """
        raise not_pickled(self.name, "the DeepEval model that was given, which may hold a key")

    @property
    def name(self) -> str:
        """The name that the llm reports, or the name of its class."""
        return self.llm.get_model_name() or type(self.llm).__name__

    @cached_property
    def identity(self) -> str:
        """What tells this llm from others of its name, for a cache: its class and its settings."""
        return identity_by_settings(self.name, self.llm)

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm.

        Raises:
            ModelError: the llm raised an exception; the codes are those of a FunctionModel.
        """
        text = "\n\n".join(message["content"] for message in request.messages)
        try:
            try:
                return _with_cost(await self.llm.a_generate(text))
            except NotImplementedError:
                return _with_cost(await called(self.llm.generate, text))
        except Exception as error:
            raise error_of(error, self.name, f"the model {self.name} raised ") from error


def _with_cost(answer: object) -> Reply:
    """The reply in a string, or in a string and its cost, which may have token counts."""
    text, cost = cast("tuple[str, Any]", answer) if isinstance(answer, tuple) else (cast("str", answer), None)
    prompt, completion = getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None)
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion or 0) if prompt else None
    return Reply(text, usage=usage, cost=cost if isinstance(cost, int | float) else None)
