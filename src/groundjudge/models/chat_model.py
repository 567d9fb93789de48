"""A LangChain chat model as a model, by its methods alone: LangChain itself is not imported."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from groundjudge.errors import ModelError, code_of_status
from groundjudge.models.refused import REFUSING, refused
from groundjudge.models.threads import in_a_thread
from groundjudge.reply import Reply, reply_of
from groundjudge.rubric import Request

ERROR_KINDS = {"Timeout": "timeout", "Connect": "connection", "Transport": "connection"}
"""Codes by what the names of a client's error classes contain."""

log = logging.getLogger("groundjudge")


class ChatModel(Protocol):
    """What a LangChain chat model offers, and any runnable that is asked in its stead."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """From messages to a message."""
        ...

    @property
    def ainvoke(self) -> Callable[..., Any]:
        """The same, asynchronous."""
        ...


class LangChainModel:
    """A LangChain chat model as a model.

    What is set on the llm stays. What is not, the judge's parameters fill in (temperature, max_tokens, ...),
    where the llm has a field of that name and the endpoint does not refuse it. A runnable that wraps an llm
    (`with_retry`, `with_fallbacks`, `bind`) is asked as it is.
    """

    def __init__(self, llm: ChatModel) -> None:
        self.llm = llm
        self._refused = frozenset[str]()

    def __repr__(self) -> str:
        return f"LangChainModel({self.name!r})"

    @property
    def name(self) -> str:
        """What the llm calls its model."""
        names = (getattr(self.llm, name, None) for name in ("model_name", "model"))
        named = next((name for name in names if isinstance(name, str) and name), None)
        described: Callable[[], str] | None = getattr(self.llm, "get_name", None)
        return named or (described() if described else type(self.llm).__name__)

    def complete(self, request: Request) -> Reply:
        """Ask the llm, once more for each parameter that the endpoint turns out to refuse."""
        attempt = _Attempt(self.name, self.llm, request, self._refused)
        while True:
            llm = attempt.llm()
            try:
                reply = reply_of(llm.invoke(attempt.messages))
            except Exception as error:  # noqa: BLE001  whatever it is, it becomes a ModelError
                attempt.learn(error)
            else:
                self._refused |= attempt.refused
                return reply

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm without blocking the event loop."""
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
    """A request on its way, and what its failures have shown."""

    name: str
    given: ChatModel
    request: Request
    refused: frozenset[str]
    in_thread: bool = False
    filled_in: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages, in the shape that every LangChain model takes."""
        return [dict(message) for message in self.request.messages]

    def llm(self) -> ChatModel:
        """The llm, with those parameters filled in that it has a field for which nobody has set.

        They are not bound to the call: some llms pass on what is bound to clients that do not know it.
        """
        known: Mapping[str, Any] = getattr(type(self.given), "model_fields", {})
        if not hasattr(type(self.given), "bind_tools"):  # a runnable around an llm: its fields are its own
            return self.given
        there: set[str] = getattr(self.given, "model_fields_set", set[str]())
        open_fields = known.keys() - there - self.refused
        self.filled_in = {
            name: value for name, value in self.request.parameters.items() if name in open_fields
        }
        copied: Callable[..., ChatModel] = getattr(self.given, "model_copy")  # noqa: B009  pydantic's
        return copied(update=self.filled_in) if self.filled_in else self.given

    def learn(self, error: Exception) -> None:
        """Take in why the llm failed; the next attempt does without what it failed over.

        Raises:
            ModelError: another attempt would fail as well.
        """
        failure = _model_error(self.name, error)
        refusal = refused(str(error), "", self.filled_in) if failure.code in REFUSING else {}
        if refusal:
            self.refused |= refusal.keys()
            log.warning("%s does not take %s: it is left out from now on", self.name, *refusal)
        elif isinstance(error, RuntimeError) and "loop" in str(error) and not self.in_thread:
            # Its async client belongs to an event loop that has ended. Its sync client needs none.
            self.in_thread = True
        else:
            raise failure from error


def _model_error(name: str, error: Exception) -> ModelError:
    """What a client's error means: by its HTTP status if it has one, else by the names of its classes."""
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
