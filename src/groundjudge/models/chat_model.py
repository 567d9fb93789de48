"""A LangChain chat model as a model, used through its methods only: LangChain itself is not imported."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from groundjudge.errors import ModelError, code_of_status
from groundjudge.models.pickled import not_pickled, same
from groundjudge.models.threads import in_a_thread
from groundjudge.models.unsupported_parameters import refused
from groundjudge.replies.reply import Reply, reply_of
from groundjudge.rubric.rubric import Request

ERROR_KINDS = {"Timeout": "timeout", "Connect": "connection", "Transport": "connection"}
"""Error codes by substrings of the names of a client's exception classes."""

BY_NAME = (
    'name it, as in model="langchain:anthropic:claude-sonnet-4-5", and set the provider\'s key in the '
    "environment of the workers"
)
"""How a chat model can be made again in a worker."""

log = logging.getLogger("groundjudge")


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
        self._refused = frozenset[str]()

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

    @property
    def endpoint(self) -> str:
        """What tells this llm from others of its name, for a cache: its class and its settings."""
        kind = type(self.llm)
        settings: Mapping[str, Any] = getattr(self.llm, "_identifying_params", None) or {}
        addresses = (getattr(self.llm, name, None) for name in ("base_url", "openai_api_base", "endpoint"))
        return f"{kind.__module__}.{kind.__qualname__} {settings!r} {[*map(str, addresses)]}"

    def complete(self, request: Request) -> Reply:
        """Ask the llm, and again without each parameter that the endpoint refuses.

        Raises:
            ModelError: the llm raised an exception, or its result cannot be read as a reply.
        """
        attempt = _Attempt(self.name, self.llm, request, self._refused)
        while True:
            llm = attempt.llm()
            try:
                reply = reply_of(llm.invoke(attempt.messages))
            except Exception as error:  # noqa: BLE001  any exception becomes a ModelError
                attempt.learn(error)
            else:
                self._refused |= attempt.refused
                return reply

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm without blocking the event loop; see `complete`."""
        attempt = _Attempt(self.name, self.llm, request, self._refused)
        while True:
            llm = attempt.llm()
            try:
                if attempt.in_thread:
                    message = await asyncio.wrap_future(in_a_thread(llm.invoke, attempt.messages))
                else:
                    message = await llm.ainvoke(attempt.messages)
                reply = reply_of(message)
            except Exception as error:  # noqa: BLE001  as above
                attempt.learn(error)
            else:
                self._refused |= attempt.refused
                return reply


@dataclass
class _Attempt:
    """A request, and what is known from failed calls.

    Attributes:
        name: the model's name, for errors and the log.
        base: the llm as it was passed.
        request: the request to send.
        refused: the names of parameters that the endpoint refuses.
        in_thread: whether an async call runs the llm's sync method in a thread.
        filled_in: the parameters set on the llm for the last call.
    """

    name: str
    base: ChatModel
    request: Request
    refused: frozenset[str]
    in_thread: bool = False
    filled_in: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages, in the shape that every LangChain model takes."""
        return [dict(message) for message in self.request.messages]

    def llm(self) -> ChatModel:
        """The llm, with the request's parameters in those of its fields that were not set.

        They are not bound to the call: some llms pass bound parameters on to clients that reject them.
        """
        if not hasattr(type(self.base), "bind_tools"):  # a runnable around an llm has fields of another kind
            return self.base
        fields: Mapping[str, Any] = getattr(type(self.base), "model_fields", {})
        already_set: set[str] = getattr(self.base, "model_fields_set", set[str]())
        unset = fields.keys() - already_set - self.refused
        self.filled_in = {name: value for name, value in self.request.parameters.items() if name in unset}
        copied: Callable[..., ChatModel] = getattr(self.base, "model_copy")  # noqa: B009  pydantic's
        return copied(update=self.filled_in) if self.filled_in else self.base

    def learn(self, error: Exception) -> None:
        """Record why the call failed, so that the next call avoids it.

        Raises:
            ModelError: another call would fail as well.
        """
        failure = client_error(self.name, error)
        refusal = refused(failure.code, str(error), "", self.filled_in)
        if refusal:
            self.refused |= refusal.keys()
            names = " and ".join(refusal)
            log.warning("%s does not take %s: left out from now on", self.name, names)
        elif isinstance(error, RuntimeError) and "loop" in str(error) and not self.in_thread:
            # The async client belongs to an event loop that has ended. The sync client needs no loop.
            self.in_thread = True
        else:
            raise failure from error


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
    return ModelError(code, f"{name}: {type(error).__name__}: {error}", name)
