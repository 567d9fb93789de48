"""A LangChain chat model as a model, used through its methods only: LangChain itself is not imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

from groundjudge.errors import ModelError, code_of_status
from groundjudge.models.function import called
from groundjudge.models.model_error import model_error
from groundjudge.models.pickled import BY_NAME, not_pickled, same
from groundjudge.models.settings import identity_by_settings
from groundjudge.models.unsupported_parameters import Negotiation, learnt_from
from groundjudge.replies.reply import Reply, reply_of
from groundjudge.rubric.rubric import Request

ERROR_KINDS = {"Timeout": "timeout", "Connect": "connection", "Transport": "connection"}
"""Error codes by substrings of the names of a client's exception classes."""


class ChatModel(Protocol):
    """The methods of a LangChain chat model, or of a runnable used in its place."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """Takes messages, returns a message."""
        ...

    @property
    def ainvoke(self) -> Callable[..., Any]:
        """The same, asynchronous."""
        ...


class LangChainModel:
    """A LangChain chat model as a model.

    Settings of the llm are kept. The judge's parameters (temperature, max_tokens, ...) apply to settings
    that were not set, if the llm has a field of that name and the endpoint accepts it. A runnable that
    wraps an llm (`with_retry`, `with_fallbacks`, `bind`) is called unchanged.

    Args:
        llm: the chat model, or a runnable that wraps one.
        remake: makes this model again, in another process; None: it cannot be pickled.
    """

    def __init__(self, llm: ChatModel, remake: Callable[[], LangChainModel] | None = None) -> None:
        self.llm = llm
        self._remake = remake

    def __repr__(self) -> str:
        return f"LangChainModel({self.name!r})"

    __copy__ = __deepcopy__ = same

    def __reduce__(self) -> tuple[Callable[[], LangChainModel], tuple[()]]:
        """Pickle the name from which LangChain made the llm.

        Raises:
            PicklingError: the llm was given as an object.
        """
        if self._remake is None:
            raise not_pickled(self.name, "the chat model that was given, which may hold a key", BY_NAME)
        return self._remake, ()

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
        return f"{self.name} {identity_by_settings(self.llm)}"

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
                answer = await (called(llm.invoke, messages) if in_thread else llm.ainvoke(messages))
                reply = reply_of(answer)
            except Exception as error:
                failure = client_error(self.name, error)
                if negotiation.is_refusal(failure.code, str(error)):
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
    if not parameters:
        return llm
    copied: Callable[..., ChatModel] = getattr(llm, "model_copy")  # noqa: B009  pydantic's
    return copied(update=parameters)


def client_error(name: str, error: Exception) -> ModelError:
    """The client's exception as a ModelError, by its HTTP status or else by the names of its classes."""
    if isinstance(error, ModelError):
        return error
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    code = next((code for part, code in ERROR_KINDS.items() if part in kinds), "failed")
    own_code = getattr(error, "code", None)
    status = getattr(error, "status_code", own_code)
    if isinstance(status, int):
        code = code_of_status(status)
    if own_code == "insufficient_quota":
        code = "quota"
    return model_error(code, f"{name}: {type(error).__name__}: {error}", name)
