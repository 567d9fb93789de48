"""pydantic-ai: an agent's answer is judged before it goes out, by an output validator.

    agent = Agent("openai:gpt-6.1-sol", tools=[search])
    validate = grounding_validator("groundedness", model="openai:gpt-6-luna", fallback="I do not know.")
    agent.output_validator(validate)

An answer that fails is written again by pydantic-ai's own retries, or else replaced by the fallback.
Streamed text goes out before the validator sees it: if that matters, use `agent.run`, not `run_stream`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, Unpack

from pydantic_core import to_jsonable_python

from groundjudge.case.case import Case
from groundjudge.case.content import content_text
from groundjudge.case.data import as_json, is_mapping
from groundjudge.errors import requires
from groundjudge.judging.guard import NOTE, Guard, GuardLike, GuardOptions, Outcome, Progress, as_guard
from groundjudge.verdict import Verdict

with requires("groundjudge.adapters.pydantic_ai needs pydantic-ai", "pydantic-ai"):
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponse,
        NativeToolCallPart,
        RetryFeedbackPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

__all__ = ["grounding_validator"]

Validator: TypeAlias = Callable[[RunContext[Any], Any], Awaitable[Any]]

MAX_UNFINISHED = 1000
"""How many runs may have drafts and no decision; any older ones were abandoned, mostly after an error."""


def grounding_validator(guard: GuardLike, **options: Unpack[GuardOptions]) -> Validator:
    """Make an output validator that judges an agent's answers before they go out.

    The sources are the results of the tools in the run's messages; an output that is not a string is judged
    whole, as JSON. Once an answer goes out, the drafts before it and their notes are taken out of the run's
    messages, and so is all text next to tool calls; the fallback replaces the last draft there.
    An answer is written again as often as both the guard's `retries` and the agent's output retries allow.
    The deadline counts from the first draft on; it cannot interrupt the agent's own model. Partial output of
    a stream is not judged. With `mode="observe"` the messages stay as they are.

    Args:
        guard: a `Guard`, or a judge as for `groundjudge.as_judge`.
        options: `model` and the options of `groundjudge.as_judge`, and the settings of `Guard`; for `fields`
            the inputs are {"messages": [...]}, and the outputs {"messages": [answer]}. For an output that is
            not a string, `fallback` is a function that returns one of its type.

    Returns:
        The validator, for `agent.output_validator(...)`.

    Raises:
        GroundjudgeError, TypeError, ValueError: as for `as_guard`.
    """
    settings = as_guard(guard, **options)
    progress_of_runs: dict[str | None, Progress] = {}

    async def validate(ctx: RunContext[Any], output: Any) -> Any:  # noqa: ANN401  the agent's
        if ctx.partial_output:  # a stream calls the validator for each piece
            return output
        # pydantic-ai calls the validator again for each draft; the drafts of a run share its id.
        progress = progress_of_runs.pop(ctx.run_id, None) or Progress()

        async def ask_again(note: str, _: Verdict) -> str:
            # The exception leaves the validator, and pydantic-ai calls it with the next draft.
            progress_of_runs[ctx.run_id] = progress
            if len(progress_of_runs) > MAX_UNFINISHED:
                oldest = next(iter(progress_of_runs))
                del progress_of_runs[oldest]
            raise ModelRetry(note)

        case = partial(_case_of, settings, ctx.messages, output)
        may_retry = ctx.retry < ctx.max_retries  # one more would end the run with an error
        outcome = await settings.arun(case, ask_again if may_retry else None, progress)
        return output if settings.mode == "observe" else _result_of(ctx, output, outcome)

    return validate


def _case_of(guard: Guard, messages: Sequence[ModelMessage], output: object) -> Case:
    """Make the case from a run's messages before its answer; a structured answer is judged whole, as JSON.

    The thread is what users and tools said, and what the agent said in earlier turns. A request to repeat a
    call is not a result of its tool: it is our note, or names a fault of the call.
    """
    thread: list[dict[str, str]] = []
    last_question = _find_last_question(messages)
    for number, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                thread.append({"role": "user", "content": content_text(part.content)})
            elif isinstance(part, ToolReturnPart) and part.outcome != "retried":
                result = content_text(part.model_response_str())
                thread.append({"role": "tool", "content": result, "name": part.tool_name})
            # What the agent said since the last question are drafts, and the answer that is judged.
            elif isinstance(part, TextPart) and number < last_question:
                thread.append({"role": "assistant", "content": content_text(part.content)})
    answer = output if isinstance(output, str) else as_json(output)
    return guard.case({"messages": thread}, {"messages": [{"role": "assistant", "content": answer}]})


def _find_last_question(messages: Sequence[ModelMessage]) -> int:
    """Return the index of the last message in which a user says something; 0 if there is none."""
    last_question = 0
    for number, message in enumerate(messages):
        if any(isinstance(part, UserPromptPart) for part in message.parts):
            last_question = number
    return last_question


def _result_of(ctx: RunContext[Any], output: object, outcome: Outcome) -> Any:  # noqa: ANN401  the agent's
    """Return what goes out, and clear the run's messages of everything else that the agent said.

    It is done in place: the run's result, and the history of a next run, are this list.
    """
    ctx.messages[:] = _without_asides(ctx.messages, is_text=ctx.tool_call_id is None)
    if not outcome.replaced:
        return output
    ctx.messages[-1] = _with_answer(ctx.messages[-1], ctx.tool_call_id, outcome.response)
    return outcome.response


def _without_asides(messages: Sequence[ModelMessage], *, is_text: bool) -> list[ModelMessage]:
    """Return the messages without what the agent has said since the last question, except its answer.

    A draft is removed with the note after it, and what pydantic-ai refused with the message that says so:
    question, draft, note, answer become question, answer.

    Args:
        messages: the messages of a run, which end with the answer.
        is_text: whether the answer is text; else it is the call of an output tool.
    """
    last_question = _find_last_question(messages)
    thread = list(messages[:last_question])
    is_refused = False  # whether the message before this one was left out
    for number, message in enumerate(messages[last_question:], last_question):
        if not isinstance(message, ModelResponse):
            if not is_refused:
                thread.append(message)
            is_refused = False
            continue
        is_answer = is_text and number == len(messages) - 1
        parts = _parts_to_keep(message, is_answer=is_answer)
        is_draft = number + 1 < len(messages) and _has_note(messages[number + 1])
        # A message with nothing but thoughts was neither an answer nor a call: pydantic-ai asked again.
        is_refused = is_draft or all(isinstance(part, ThinkingPart) for part in parts)
        if not is_refused:
            thread.append(replace(message, parts=parts))
    return thread


def _parts_to_keep(message: ModelResponse, *, is_answer: bool) -> list[Any]:
    """Return the parts of a message without its texts; in the answer, the answer's own texts stay."""
    answer_numbers = _find_answer_texts(message) if is_answer else set[int]()
    parts: list[Any] = []
    for number, part in enumerate(message.parts):
        if not isinstance(part, TextPart) or number in answer_numbers:
            parts.append(part)
    return parts


def _find_answer_texts(message: ModelResponse) -> set[int]:
    """Return the indexes of the answer's parts: the last texts without a provider's tool between them.

    For text, tool call, text, text: `{2, 3}`. pydantic-ai uses the same as the output of the run.
    """
    numbers: set[int] = set()
    begins_anew = True
    for number, part in enumerate(message.parts):
        if isinstance(part, NativeToolCallPart):
            begins_anew = True
        elif isinstance(part, TextPart) and part.content:
            if begins_anew:
                numbers = set()
            numbers.add(number)
            begins_anew = False
    return numbers


def _has_note(message: ModelMessage) -> bool:
    """Whether a message asks for another draft with the guard's note."""
    for part in message.parts:
        # An output that is a tool call gets the note as the result of that call.
        if not isinstance(part, RetryFeedbackPart | ToolReturnPart):
            continue
        if isinstance(part.content, str) and part.content.startswith(NOTE):
            return True
    return False


def _with_answer(message: ModelMessage, call_id: str | None, answer: object) -> ModelMessage:
    """Return the model's last message with another answer: in its call of the output tool, or as its text."""
    if not isinstance(message, ModelResponse):
        return message
    data: Any = to_jsonable_python(answer)
    if call_id is None:
        return replace(message, parts=[TextPart(content_text(data))])
    # pydantic-ai's output tools wrap anything but an object under this name.
    arguments: Any = data if is_mapping(data) else {"response": data}
    # Only calls: text next to them may repeat the draft that the fallback replaces.
    calls: list[Any] = []
    for part in message.parts:
        if not isinstance(part, ToolCallPart):
            continue
        if part.tool_call_id == call_id:
            calls.append(replace(part, args=arguments))
        else:
            calls.append(part)
    return replace(message, parts=calls)
