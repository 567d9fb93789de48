"""A DeepEvalBaseLLM as a model, by its methods alone: DeepEval itself is not imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from groundjudge.models.function import FunctionModel
from groundjudge.reply import Reply
from groundjudge.rubric import Request
from groundjudge.verdict import Usage


class DeepEvalLLM(Protocol):
    """What a DeepEvalBaseLLM offers."""

    @property
    def generate(self) -> Callable[..., Any]:
        """From a prompt to a text, or to a text and its cost."""
        ...

    @property
    def a_generate(self) -> Callable[..., Any]:
        """The same, asynchronous."""
        ...

    @property
    def get_model_name(self) -> Callable[..., Any]:
        """The model's name."""
        ...


@dataclass(frozen=True)
class DeepEvalModel:
    """A model of DeepEval. It gets the messages as one text; its sampling parameters are its own."""

    llm: DeepEvalLLM

    @property
    def name(self) -> str:
        """The name that the llm reports, or else its class."""
        return self.llm.get_model_name() or type(self.llm).__name__

    def complete(self, request: Request) -> Reply:
        """Ask the llm."""
        return FunctionModel(lambda asked: _reply(self.llm.generate(_text(asked))), self.name).complete(
            request
        )

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm without blocking the event loop."""

        async def ask(asked: Request) -> Reply:
            return _reply(await self.llm.a_generate(_text(asked)))

        return await FunctionModel(ask, self.name).acomplete(request)


def _text(request: Request) -> str:
    return "\n\n".join(each["content"] for each in request.messages)


def _reply(answer: object) -> Reply:
    """DeepEval's models answer with a text, or with a text and a cost that may know its tokens."""
    text, cost = cast("tuple[str, Any]", answer) if isinstance(answer, tuple) else (cast("str", answer), None)
    prompt, completion = getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None)
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion or 0) if prompt else None
    return Reply(text, usage=usage)
