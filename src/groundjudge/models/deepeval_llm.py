"""A DeepEvalBaseLLM as a model, used through its methods only: DeepEval itself is not imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Protocol, cast

from groundjudge.models.chat_model import BY_NAME
from groundjudge.models.function import FunctionModel, state_of
from groundjudge.models.pickled import not_pickled, same
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage


class DeepEvalLLM(Protocol):
    """The methods of a DeepEvalBaseLLM."""

    @property
    def generate(self) -> Callable[..., Any]:
        """Takes a prompt, returns a string, or a string and its cost."""
        ...

    @property
    def a_generate(self) -> Callable[..., Any]:
        """The same, asynchronous."""
        ...

    @property
    def get_model_name(self) -> Callable[..., Any]:
        """Returns the model's name."""
        ...


@dataclass(frozen=True)
class DeepEvalModel:
    """A DeepEval model. It gets the messages as one string; the judge's parameters are not sent.

    Attributes:
        llm: the DeepEval model.
    """

    llm: DeepEvalLLM

    __copy__ = __deepcopy__ = same

    def __reduce__(self) -> NoReturn:
        """Refuse pickling.

        Raises:
            PicklingError: always; the llm may hold a client and a key.
        """
        raise not_pickled(self.name, "the DeepEval model that was given, which may hold a key", BY_NAME)

    @property
    def name(self) -> str:
        """The name that the llm reports, or the name of its class."""
        return self.llm.get_model_name() or type(self.llm).__name__

    @cached_property
    def endpoint(self) -> str:
        """What tells this llm from others of its name, for a cache: its class and its settings."""
        kind = type(self.llm)
        return f"{kind.__module__}.{kind.__qualname__} {state_of(self.llm)}"

    def complete(self, request: Request) -> Reply:
        """Ask the llm.

        Raises:
            ModelError: as for `FunctionModel.complete`.
        """

        def ask(request: Request) -> Reply:
            return _reply(self.llm.generate(_text(request)))

        return FunctionModel(ask, self.name).complete(request)

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm without blocking the event loop; see `complete`."""

        async def ask(request: Request) -> Reply:
            return _reply(await self.llm.a_generate(_text(request)))

        return await FunctionModel(ask, self.name).acomplete(request)


def _text(request: Request) -> str:
    return "\n\n".join(message["content"] for message in request.messages)


def _reply(answer: object) -> Reply:
    """The reply in a string, or in a string and its cost, which may have token counts."""
    text, cost = cast("tuple[str, Any]", answer) if isinstance(answer, tuple) else (cast("str", answer), None)
    prompt, completion = getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None)
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion or 0) if prompt else None
    return Reply(text, usage=usage, cost=cost if isinstance(cost, int | float) else None)
