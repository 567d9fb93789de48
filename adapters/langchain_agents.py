"""LangChain agents and chains: an answer is judged before it goes out.

    grounded = GroundingMiddleware("groundedness", model="openai:gpt-6-luna", fallback="I do not know.")
    agent = create_agent("openai:gpt-6.1-sol", tools, middleware=[grounded])

An answer that fails is written again with a note on what is not grounded, and else replaced by the fallback.
Drafts and notes reach neither the state, nor a checkpoint, nor a stream: the answer is held until it is
judged, so users wait for all of it and for the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NotRequired, TypeAlias, Unpack

from groundjudge.case.content import content_text, read_block
from groundjudge.case.data import as_json, is_list, is_mapping
from groundjudge.case.fields import keys_of
from groundjudge.case.shapes import read_chat, role_of
from groundjudge.errors import requires
from groundjudge.judging.answer import NOT_SPEAKING, Turn, count_old
from groundjudge.judging.guard import NOTE, DraftCase, Guard, GuardLike, GuardOptions, Outcome, as_guard
from groundjudge.judging.judge import BaseJudge
from groundjudge.models.loop_thread import enter_context

with requires("groundjudge.adapters.langchain_agents needs langchain", "langchain-agents"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        RemoveMessage,
        ToolMessage,
        convert_to_messages,
    )
    from langchain_core.runnables import config as configs
    from langchain_core.runnables.base import Runnable, RunnableLambda, coerce_to_runnable
    from langgraph.types import Command

__all__ = ["GroundingMiddleware", "add_guard"]

Call: TypeAlias = Callable[..., Any]
Edit: TypeAlias = Callable[[BaseMessage], BaseMessage | None]
"""From a message that an application added to what stands in its place; None for nothing."""

DRAFT_ID = "groundjudge-draft"
NOTE_ID = "groundjudge-note"
RETRY_IDS = (DRAFT_ID, NOTE_ID)
"""The ids of the two messages that ask a chain again."""

GRAPH_CHANNELS = {"__pregel_stream", "__pregel_checkpointer"}
"""Where LangGraph keeps what graphs inside a node write to."""

RUNTIME = "__pregel_runtime"
"""Where it keeps what `get_stream_writer` gives."""


class GroundedState(AgentState[Any]):
    """The state of an agent with a guard.

    Attributes:
        verdict: the last decision, see `Outcome.summary`.
    """

    verdict: NotRequired[Mapping[str, Any]]


class GroundingMiddleware(AgentMiddleware[GroundedState, Any, Any]):
    """Judges the answers of an agent made by `create_agent` before they go out.

    The sources are the results of the tools. A message that calls tools is no answer: it is not judged, and
    its text is taken out. The decision is under `verdict` in the agent's state (`Outcome.summary`). With
    `mode="observe"` tokens are streamed at once, and all texts stay. A structured answer is judged as JSON;
    for it `fallback` is a function to an object of its type.

    Args:
        guard: a `Guard`, or a judge as for `groundjudge.as_judge`.
        options: `model` and the options of `groundjudge.as_judge`, and the settings of `Guard`; for `fields`
            the inputs are the agent's state, and the outputs {"messages": [answer]}.

    Raises:
        GroundjudgeError, TypeError, ValueError: as for `as_guard`.
    """

    state_schema = GroundedState

    def __init__(self, guard: GuardLike, **options: Unpack[GuardOptions]) -> None:
        super().__init__()
        self.guard = as_guard(guard, **options)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Call) -> ExtendedModelResponse[Any]:
        """Call the model, and again if its answer fails."""
        with _hold_back(self.guard, request) as held_request:
            response, outcome = self.guard.answer(handler, held_request, self._case_of_draft, _retry_request)
        return _judged_response(self.guard, response, outcome)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Call) -> ExtendedModelResponse[Any]:
        """Call the model, and again if its answer fails, without blocking the event loop."""
        with _hold_back(self.guard, request) as held_request:
            response, outcome = await self.guard.aanswer(
                handler, held_request, self._case_of_draft, _retry_request
            )
        return _judged_response(self.guard, response, outcome)

    def _case_of_draft(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> DraftCase:
        """From a request and the model's response to the case; None if the response only calls tools."""
        messages = [message for message in response.result if isinstance(message, AIMessage)]
        answers = _answers(messages)
        calls_tools = any(message.tool_calls for message in messages)
        if response.structured_response is not None:
            if answers and not calls_tools:
                answers.pop()  # the text that it was read from; else it was read from a call
            answers.append(AIMessage(as_json(response.structured_response)))
        elif not answers and calls_tools:
            return None  # the tools are called first
        answer = _join_answers(answers or messages[-1:])
        return partial(self.guard.case, request.state, {"messages": [answer]})


def add_guard(
    chain: Runnable[Any, Any] | Call,
    guard: GuardLike,
    *,
    retry_input: Callable[[Any, Any, str], Any] | None = None,
    **options: Unpack[GuardOptions],
) -> Runnable[Any, Any]:
    """Judge what a chain, or a node of LangGraph, answers before it goes out.

    The answer is a string, a message, messages, or a mapping with a response or `messages`. All messages that
    the input does not have are judged as one response. The answer goes out as it is, in one piece, but for
    text beside the calls of tools, which is taken out. The fallback takes its form, in place of all that is
    new.

    Args:
        chain: a runnable, or a function like one.
        guard: a `Guard`, or a judge as for `groundjudge.as_judge`.
        retry_input: from the chain's input, its output and the note to the input of the next try. By default
            the answer and the note are added to the messages of the input, or the note to its query.
        options: `model` and the options of `groundjudge.as_judge`, and the settings of `Guard`; for `fields`
            inputs and outputs are the chain's.

    Returns:
        A runnable with the chain's input and output.

    Raises:
        GroundjudgeError, TypeError, ValueError: as for `as_guard`; TypeError also if the judge comes first,
            or if `retry_input` is no function.
    """
    if isinstance(chain, str | Path | Guard | BaseJudge):
        message = (
            f"add_guard takes the chain first and the judge second, and {type(chain).__name__} is no chain"
        )
        raise TypeError(message)
    if retry_input is not None and not callable(retry_input):
        message = f"retry_input must be a function of input, output and note, not {retry_input!r}"
        raise TypeError(message)
    settings = as_guard(guard, **options)
    step = coerce_to_runnable(chain)
    next_input = retry_input or _with_note

    def case_of(chain_input: Any, output: Any) -> DraftCase:  # noqa: ANN401  the chain's
        output = _without_asides(chain_input, output)
        if _only_calls_tools(chain_input, output):
            return None
        return partial(settings.case, chain_input, output)

    def track_rejected() -> tuple[set[str], Callable[[Any, Any, str], Any]]:
        """Make a set of the ids that may not go out, and the next input's function, which adds to it."""
        rejected_ids: set[str] = set(RETRY_IDS)

        def ask_again(first_input: Any, output: Any, note: str) -> Any:  # noqa: ANN401
            rejected_ids.update(_ids_to_drop(first_input, output))
            return next_input(first_input, output, note)

        return rejected_ids, ask_again

    def invoke(chain_input: Any) -> Any:  # noqa: ANN401
        rejected_ids, ask_again = track_rejected()

        def ask(try_input: Any) -> Any:  # noqa: ANN401
            output = _with_first_input(chain_input, try_input, step.invoke(try_input))
            return _without_rejected(output, rejected_ids)

        with _hold_back(settings, chain_input) as held_input:
            output, outcome = settings.answer(ask, held_input, case_of, ask_again)
        return _judged_output(settings, chain_input, output, outcome)

    async def ainvoke(chain_input: Any) -> Any:  # noqa: ANN401
        rejected_ids, ask_again = track_rejected()

        async def ask(try_input: Any) -> Any:  # noqa: ANN401
            output = _with_first_input(chain_input, try_input, await step.ainvoke(try_input))
            return _without_rejected(output, rejected_ids)

        with _hold_back(settings, chain_input) as held_input:
            output, outcome = await settings.aanswer(ask, held_input, case_of, ask_again)
        return _judged_output(settings, chain_input, output, outcome)

    return RunnableLambda(invoke, ainvoke, name="guarded")


@contextmanager
def _hold_back(guard: Guard, request: Any) -> Generator[Any]:  # noqa: ANN401  a ModelRequest, or a chain's input
    """Let nothing inside reach a stream or a checkpoint of the graph, under whatever name; but traces."""
    config: Any = configs.ensure_config()
    if guard.mode == "enforce":  # an observed answer goes out whatever the verdict, so it may be streamed
        manager = configs.get_callback_manager_for_config(config)
        for handler in list(manager.handlers):  # a copy, as handlers are removed from it
            if hasattr(handler, "tap_output_iter"):  # what streams tokens
                manager.remove_handler(handler)
        configurable = dict(config["configurable"])
        for channel in GRAPH_CHANNELS:
            configurable.pop(channel, None)
        if RUNTIME in configurable:
            configurable[RUNTIME] = configurable[RUNTIME].override(stream_writer=_write_nothing)
        if hasattr(request, "override"):  # a ModelRequest, which hands it on to inner middleware
            request = request.override(runtime=configurable[RUNTIME])
        config = {**config, "callbacks": manager, "configurable": configurable}
    with configs.set_config_context(config) as context, enter_context(context):
        yield request


def _write_nothing(_: object) -> None:
    """Write nothing to the stream: what is written while an answer is held back may be of a draft."""


def _judged_response(
    guard: Guard, response: ModelResponse[Any], outcome: Outcome | None
) -> ExtendedModelResponse[Any]:
    """What the middleware returns: the model's response or the fallback, and the decision for the state."""
    update: dict[str, Any] = {}
    if guard.mode == "enforce":
        messages = [_without_aside(message) for message in response.result]
        response = ModelResponse(messages, response.structured_response)
    if outcome:
        update["verdict"] = outcome.summary
    if outcome and outcome.replaced:
        structured = None if isinstance(outcome.response, str) else outcome.response
        response = ModelResponse([AIMessage(content_text(outcome.response))], structured)
        # Without a structured response an agent that must give one would ask its model on and on.
        update["jump_to"] = "end"
    return ExtendedModelResponse(response, Command(update=update))


def _judged_output(
    guard: Guard,
    chain_input: Any,  # noqa: ANN401  the chain's
    output: Any,  # noqa: ANN401
    outcome: Outcome | None,
) -> Any:  # noqa: ANN401
    """What the guarded chain returns: what the chain returned, or the fallback in its form."""
    if guard.mode == "observe":
        return output
    output = _without_asides(chain_input, output)
    if outcome and outcome.replaced:
        return _with_fallback(chain_input, output, outcome.response)
    return output


# --- what a chain newly says ------------------------------------------------------------------------------


def _read_messages(value: Any) -> list[BaseMessage]:  # noqa: ANN401  the chain's
    """The messages that a value is, one for each of its entries; none if it is something else."""
    if isinstance(value, BaseMessage):
        return [value]
    if not is_list(value):
        return []
    # A thread can be long, and is looked at several times: messages need not be read as such.
    is_thread = all(isinstance(entry, BaseMessage) for entry in value)
    if not is_thread and read_chat(value) is None:
        return []
    return convert_to_messages(value)


def _count_old(chain_input: Any, messages: Sequence[BaseMessage]) -> int:  # noqa: ANN401  the chain's
    """Count the messages of an output that were in the chain's input, or before it."""
    value = chain_input
    if is_mapping(chain_input):
        keys = keys_of(chain_input, "messages") + keys_of(chain_input, "query")
        value = chain_input[keys[0]] if keys else ()
    if isinstance(value, str):
        value = [HumanMessage(value)]
    # One turn for each of LangChain's messages, as these are counted.
    earlier = [_turn_of(message) for message in _read_messages(value)]
    return count_old(earlier, [_turn_of(message) for message in messages])


def _turn_of(message: BaseMessage) -> Turn:
    role = role_of(message)
    if role is None:
        role = message.type
    return role, content_text(message.content)


def _new_messages(chain_input: Any, output: Any) -> list[BaseMessage]:  # noqa: ANN401  the chain's
    """The messages of an output that the chain added."""
    if not is_mapping(output):
        messages = _read_messages(output)
        return messages[_count_old(chain_input, messages) :]
    new_messages: list[BaseMessage] = []
    for key in keys_of(output, "messages", "response"):
        new_messages += _new_messages(chain_input, output[key])
    return new_messages


def _edit_new_messages(chain_input: Any, output: Any, edit: Edit) -> Any:  # noqa: ANN401  the chain's
    """The output with each message that the chain added as `edit` makes it; the others stay the same."""
    if is_mapping(output):
        edited_output = dict(output)
        for key in keys_of(output, "messages", "response"):
            edited_output[key] = _edit_new_messages(chain_input, output[key], edit)
        return edited_output
    messages = _read_messages(output)
    if not messages:
        return output
    if not is_list(output):
        return edit(output)
    n_old = _count_old(chain_input, messages)
    entries = list(output[:n_old])
    for entry, message in zip(output[n_old:], messages[n_old:], strict=True):
        edited = edit(message)
        if edited is message:
            entries.append(entry)
        elif edited is not None:
            entries.append(edited)
    return entries


def _answers(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """The messages that are answers: those of the application that say something and call no tool."""
    answers: list[BaseMessage] = []
    for message in messages:
        is_speaking = role_of(message) not in NOT_SPEAKING and content_text(message.content).strip()
        if is_speaking and not getattr(message, "tool_calls", None):
            answers.append(message)
    return answers


def _join_answers(answers: Sequence[BaseMessage]) -> AIMessage:
    """Several answers as one message, each text once; one that is alone is itself."""
    if len(answers) == 1 and isinstance(answers[0], AIMessage):
        return answers[0]
    texts = dict.fromkeys(content_text(message.content) for message in answers)
    return AIMessage("\n\n".join(texts))


def _only_calls_tools(chain_input: Any, output: Any) -> bool:  # noqa: ANN401  the chain's
    """Whether an output calls tools and says nothing, in a message or in a text."""
    if is_mapping(output):
        for key in keys_of(output, "response"):
            if isinstance(output[key], str) and output[key].strip():
                return False
    new_messages = _new_messages(chain_input, output)
    if _answers(new_messages) or not new_messages:
        return False
    return bool(getattr(new_messages[-1], "tool_calls", None))


def _without_aside(message: BaseMessage) -> BaseMessage:
    """A message without the text beside its calls of tools, which nobody has judged."""
    if not isinstance(message, AIMessage) or not message.tool_calls or not message.content:
        return message
    blocks: list[Any] = []
    for block in message.content:
        if read_block(block).sort != "text":
            blocks.append(block)
    return message.model_copy(update={"content": blocks or ""})


def _without_asides(chain_input: Any, output: Any) -> Any:  # noqa: ANN401  the chain's
    return _edit_new_messages(chain_input, output, _without_aside)


# --- asking a chain again ---------------------------------------------------------------------------------


def _retry_request(request: Any, response: ModelResponse[Any], note: str) -> Any:  # noqa: ANN401  a ModelRequest
    note_message = HumanMessage(note, id=NOTE_ID)
    return request.override(messages=[*request.messages, *response.result, note_message])


def _with_note(chain_input: Any, output: Any, note: str) -> Any:  # noqa: ANN401  the chain's
    """The same messages with the answer and the note, or the query with the note."""
    if isinstance(chain_input, str):
        return f"{chain_input}\n\n{note}"
    if not is_mapping(chain_input):
        answer = _draft_message(chain_input, output)
        return [*convert_to_messages(chain_input), answer, HumanMessage(note, id=NOTE_ID)]
    keys = keys_of(chain_input, "messages") + keys_of(chain_input, "query")
    key = keys[0] if keys else "messages"
    value = chain_input.get(key, ())
    if isinstance(value, str):
        return {**chain_input, key: f"{value}\n\n{note}"}
    thread = convert_to_messages(value)
    if key == "messages" and is_mapping(output):
        messages = _read_messages(output.get("messages"))
        n_old = _count_old(chain_input, messages)
        if n_old:
            # A graph returns what it was asked too, and what its tools returned.
            thread = [*messages[:n_old], *_tool_messages(messages[n_old:])]
    draft = _draft_message(chain_input, output)
    return {**chain_input, key: [*thread, draft, HumanMessage(note, id=NOTE_ID)]}


def _draft_message(chain_input: Any, output: Any) -> AIMessage:  # noqa: ANN401  the chain's
    """An answer as a message; with all that it holds, if it is not known where in it the text is."""
    answers = _answers(_new_messages(chain_input, output))
    if answers:
        return _join_answers(answers).model_copy(update={"id": DRAFT_ID})
    value = output
    if is_mapping(output):
        keys = keys_of(output, "messages", "response")
        value = output[keys[0]] if keys else output
    if is_list(value) and value:
        value = value[-1]
    return AIMessage(content_text(getattr(value, "content", value)), id=DRAFT_ID)


def _tool_messages(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The calls of tools and their results, without the text beside the calls."""
    edit = _keep_tools(messages)
    edited = [edit(message) for message in messages]
    return [message for message in edited if message is not None]


def _keep_tools(messages: Iterable[BaseMessage]) -> Edit:
    """Make the function that keeps of these messages only calls of tools with their results.

    A call without a result would be refused in the next turn. What removes a message stays too.
    """
    result_ids = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}

    def edit(message: BaseMessage) -> BaseMessage | None:
        if isinstance(message, ToolMessage | RemoveMessage):
            return message
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        if calls and all(call["id"] in result_ids for call in calls):
            return _without_aside(message)
        return None

    return edit


def _ids_to_drop(chain_input: Any, output: Any) -> set[str]:  # noqa: ANN401  the chain's
    """The ids of all that a rejected output added but tools' calls and results.

    A graph with a checkpointer of its own returns them again after the next try.
    """
    new_messages = _new_messages(chain_input, output)
    edit = _keep_tools(new_messages)
    return {message.id for message in new_messages if message.id and edit(message) is None}


def _with_first_input(chain_input: Any, try_input: Any, output: Any) -> Any:  # noqa: ANN401  the chain's
    """The output with what the chain passes on of its input as the first input has it, without the note.

    A chain may be `RunnablePassthrough.assign(...)`, or return the whole state that it was called with.
    """
    if try_input is chain_input or not is_mapping(output):
        return output
    restored = dict(output)
    for name, value in output.items():
        if _is_passed_on(value, try_input):
            restored[name] = chain_input
    if not is_mapping(try_input) or not is_mapping(chain_input):
        return restored
    for key, changed in try_input.items():
        first = chain_input.get(key, ...)
        if changed is first:
            continue
        for name, value in output.items():
            if not _is_passed_on(value, changed):
                continue
            # Under another name only the note tells it from what just has the same text. A key that
            # `retry_input` adds may be one of the output before: {**output, "query": note}.
            is_sure = name == key and first is not ...
            if not is_sure and NOTE not in str(value):
                continue
            if first is ...:
                restored.pop(name, None)
            else:
                restored[name] = first
    return restored


def _is_passed_on(value: object, given: object) -> bool:
    """Whether a value is what was given; a graph may return another string of that text."""
    return value is given or (isinstance(value, str) and value == given)


def _without_rejected(output: Any, rejected_ids: Collection[str]) -> Any:  # noqa: ANN401  the chain's
    """What a graph that returns all of its messages returns, without drafts and notes."""
    if is_mapping(output):
        if "messages" not in output:
            return output
        return {**output, "messages": _without_rejected(output["messages"], rejected_ids)}
    if not is_list(output):
        return output
    return [entry for entry in output if getattr(entry, "id", None) not in rejected_ids]


def _with_fallback(chain_input: Any, output: Any, fallback: Any) -> Any:  # noqa: ANN401  the chain's
    """The fallback in the form of an answer; alone, if it is not known where in it the text is."""
    if is_mapping(output):
        keys = keys_of(output, "messages", "response")
        if not keys:
            return fallback
        replaced = dict(output)
        for key in keys:
            replaced[key] = _with_fallback(chain_input, output[key], fallback)
        return replaced
    message = AIMessage(content_text(fallback))
    if is_list(output):
        if not _read_messages(output):
            return [message]
        edit = _keep_tools(_new_messages(chain_input, output))
        return [*_edit_new_messages(chain_input, output, edit), message]
    if isinstance(output, BaseMessage):
        return message
    return fallback
