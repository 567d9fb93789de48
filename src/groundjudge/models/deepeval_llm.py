"""A DeepEvalBaseLLM as a model, used through its methods only: DeepEval itself is not imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Protocol, cast

from groundjudge.models.function import called
from groundjudge.models.model_error import error_of_call
from groundjudge.models.pickled import BY_NAME, not_pickled, same
from groundjudge.models.settings import identity_by_settings
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
        llm: the DeepEval model. Where it has no asynchronous method, its `generate` runs in a thread.
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
    def identity(self) -> str:
        """What tells this llm from others of its name, for a cache: its class and its settings."""
        return f"{self.name} {identity_by_settings(self.llm)}"

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm.

        Raises:
            ModelError: the llm raised an exception: `timeout`, `connection` or `failed`.
        """
        text = "\n\n".join(message["content"] for message in request.messages)
        try:
            try:
                return _reply(await self.llm.a_generate(text))
            except NotImplementedError:
                return _reply(await called(self.llm.generate, text))
        except Exception as error:
            raise error_of_call(error, self.name, f"the model {self.name} raised") from error


def _reply(answer: object) -> Reply:
    """The reply in a string, or in a string and its cost, which may have token counts."""
    text, cost = cast("tuple[str, Any]", answer) if isinstance(answer, tuple) else (cast("str", answer), None)
    prompt, completion = getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None)
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion or 0) if prompt else None
    return Reply(text, usage=usage, cost=cost if isinstance(cost, int | float) else None)
