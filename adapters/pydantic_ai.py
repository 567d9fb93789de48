"""pydantic-ai: an agent's answer is judged before it goes out, by an output validator.

    agent = Agent("openai:gpt-4o", tools=[search])
    agent.output_validator(grounded("groundedness", model="openai:gpt-4o-mini", fallback="I do not know."))

An answer that fails is written again by pydantic-ai's own retries, and else replaced by the fallback.
Streamed text has gone out before the validator sees it: where that matters use `agent.run`, not `run_stream`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, Unpack

from pydantic_core import to_jsonable_python

from groundjudge.case.data import is_mapping
from groundjudge.case.shapes import content_text
from groundjudge.errors import requires
from groundjudge.judging.guard import NOTE, GuardLike, GuardOptions, Progress, as_guard
from groundjudge.verdict import Verdict

with requires("groundjudge.adapters.pydantic_ai needs pydantic-ai", "pydantic-ai"):
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponse,
        RetryFeedbackPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

__all__ = ["grounded"]

Validator: TypeAlias = Callable[[RunContext[Any], Any], Awaitable[Any]]

MOST_UNFINISHED = 1000
"""How many runs may have drafts and no decision; the oldest of more were abandoned, after an error mostly."""


def grounded(guard: GuardLike, **options: Unpack[GuardOptions]) -> Validator:
    """Make an output validator that judges an agent's answers before they go out.

    The sources are the results of the tools in the run's messages. Once an answer goes out, the drafts before
    it and their notes are taken out of the run's messages, and the fallback stands there instead of the last
    draft. An answer is written again as often as both the guard's `retries` and the agent's output retries
    allow. The deadline counts from the first draft on; it cannot interrupt the agent's own model. Partial
    output of a stream is not judged.

    Args:
        guard: a `Guard`, or a judge as for `groundjudge.as_judge`.
        options: `model` and the options of `groundjudge.as_judge`, and the settings of `Guard`; for `fields`
            the inputs are {"messages": [...]}, and the outputs {"messages": [answer]}. For an output that is
            no string, `fallback` is a function to one of its type.

    Returns:
        The validator, for `agent.output_validator(...)`.

    Raises:
        GroundjudgeError, TypeError, ValueError: as for `as_guard`.
    """
    own, unfinished = as_guard(guard, **options), dict[str | None, Progress]()

    async def validate(ctx: RunContext[Any], output: Any) -> Any:  # noqa: ANN401  the agent's
        if ctx.partial_output:
            return output
        progress = unfinished.pop(ctx.run_id, None) or Progress()

        async def again(note: str, _: Verdict) -> str:
            unfinished[ctx.run_id] = progress
            if len(unfinished) > MOST_UNFINISHED:
                del unfinished[next(iter(unfinished))]
            raise ModelRetry(note)

        sides = [{"messages": [*said]} for said in (_thread(ctx.messages), [_message("assistant", output)])]
        may_retry = ctx.retry < ctx.max_retries
        outcome = await own.arun(partial(own.case, *sides), again if may_retry else None, progress)
        ctx.messages[:] = _without_drafts(ctx.messages)
        if not outcome.replaced:
            return output
        ctx.messages[-1] = _with_answer(ctx.messages[-1], ctx.tool_call_id, outcome.response)
        return outcome.response

    return validate


def _message(role: str, content: object) -> dict[str, str]:
    return {"role": role, "content": content_text(content)}


def _thread(messages: Sequence[ModelMessage]) -> Iterator[dict[str, str]]:
    """What users and tools said, and what the agent said in earlier turns.

    What asks for a call again is no result of its tool: it is our note, or names a fault of the call.
    """
    asked = max((number for number, each in enumerate(messages) if _asks(each)), default=0)
    for number, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                yield _message("user", part.content)
            elif isinstance(part, ToolReturnPart) and part.outcome != "retried":
                yield _message("tool", part.model_response_str()) | {"name": part.tool_name}
            elif isinstance(part, TextPart) and number < asked:
                yield _message("assistant", part.content)


def _asks(message: ModelMessage) -> bool:
    return any(isinstance(part, UserPromptPart) for part in message.parts)


def _without_drafts(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages without the notes, and without the draft before each of them."""
    notes = {number for number, message in enumerate(messages) for part in message.parts if _is_note(part)}
    return [each for number, each in enumerate(messages) if not {number, number + 1} & notes]


def _is_note(part: object) -> bool:
    content = part.content if isinstance(part, RetryFeedbackPart | ToolReturnPart) else None
    return isinstance(content, str) and content.startswith(NOTE)


def _with_answer(message: ModelMessage, call: str | None, answer: object) -> ModelMessage:
    """The model's last message with another answer: in its call of the output tool, or as its text."""
    if not isinstance(message, ModelResponse):
        return message
    data: Any = to_jsonable_python(answer)
    if call is None:
        return replace(message, parts=[TextPart(content_text(data))])
    arguments: Any = data if is_mapping(data) else {"response": data}
    calls: list[Any] = [each for each in message.parts if isinstance(each, ToolCallPart)]
    parts = [replace(each, args=arguments) if each.tool_call_id == call else each for each in calls]
    return replace(message, parts=parts)
