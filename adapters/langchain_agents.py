"""LangChain agents and chains: an answer is judged before it goes out.

    grounded = GroundingMiddleware("groundedness", model="openai:gpt-6-luna", fallback="I do not know.")
    agent = create_agent("openai:gpt-6.1-sol", tools, middleware=[grounded])

An answer that fails is written again with a note on what is not grounded, and else replaced by the fallback.
Drafts and notes reach neither the state, nor a checkpoint, nor a stream: the answer is held until it is
judged, so users wait for all of it and for the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NotRequired, TypeAlias, Unpack

from groundjudge.case.content import content_text
from groundjudge.case.data import as_json, is_list, is_mapping
from groundjudge.case.fields import keys_of
from groundjudge.errors import requires
from groundjudge.judging.guard import DraftCase, Guard, GuardLike, GuardOptions, Outcome, as_guard
from groundjudge.models.loop_thread import enter_context

with requires("groundjudge.adapters.langchain_agents needs langchain", "langchain-agents"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
    from langchain_core.runnables import config as configs
    from langchain_core.runnables.base import Runnable, RunnableLambda, coerce_to_runnable
    from langgraph.types import Command

__all__ = ["GroundingMiddleware", "add_guard"]

Call: TypeAlias = Callable[..., Any]

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

    The sources are the results of the tools; messages that call tools are not judged. The decision is under
    `verdict` in the agent's state (`Outcome.summary`). With `mode="observe"` tokens are streamed at once. A
    structured answer is judged as JSON; for it `fallback` is a function to an object of its type.

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
        return _judged_response(response, outcome)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Call) -> ExtendedModelResponse[Any]:
        """Call the model, and again if its answer fails, without blocking the event loop."""
        with _hold_back(self.guard, request) as held_request:
            response, outcome = await self.guard.aanswer(
                handler, held_request, self._case_of_draft, _retry_request
            )
        return _judged_response(response, outcome)

    def _case_of_draft(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> DraftCase:
        """From a request and the model's response to the case; None if the response calls tools."""
        if response.structured_response is not None:
            answer = _answer_message(as_json(response.structured_response))
        else:
            # The call of a tool that gives a structured response is followed by what that tool returned.
            messages = [message for message in response.result if isinstance(message, AIMessage)]
            answer = _answer_message(messages)
        if answer.tool_calls:  # not an answer yet: the tools are called first
            return None
        return partial(self.guard.case, request.state, {"messages": [answer]})


def add_guard(
    chain: Runnable[Any, Any] | Call,
    guard: GuardLike,
    *,
    retry_input: Callable[[Any, Any, str], Any] | None = None,
    **options: Unpack[GuardOptions],
) -> Runnable[Any, Any]:
    """Judge what a chain, or a node of LangGraph, answers before it goes out.

    The answer is a string, a message, or a mapping with a response or `messages` (a message that calls tools
    is not judged). It goes out as it is, in one piece; the fallback takes its form.

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
        GroundjudgeError, TypeError, ValueError: as for `as_guard`.
    """
    settings = as_guard(guard, **options)
    step = coerce_to_runnable(chain)
    next_input = retry_input or _with_note

    def case_of(chain_input: Any, output: Any) -> DraftCase:  # noqa: ANN401  the chain's
        if _answer_message(output).tool_calls:
            return None
        return partial(settings.case, chain_input, output)

    def invoke(chain_input: Any) -> Any:  # noqa: ANN401
        def ask(try_input: Any) -> Any:  # noqa: ANN401
            return _without_notes(step.invoke(try_input))

        with _hold_back(settings, chain_input) as held_input:
            output, outcome = settings.answer(ask, held_input, case_of, next_input)
        return _judged_output(output, outcome)

    async def ainvoke(chain_input: Any) -> Any:  # noqa: ANN401
        async def ask(try_input: Any) -> Any:  # noqa: ANN401
            return _without_notes(await step.ainvoke(try_input))

        with _hold_back(settings, chain_input) as held_input:
            output, outcome = await settings.aanswer(ask, held_input, case_of, next_input)
        return _judged_output(output, outcome)

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


def _judged_response(response: ModelResponse[Any], outcome: Outcome | None) -> ExtendedModelResponse[Any]:
    """What the middleware returns: the model's response or the fallback, and the decision for the state."""
    update: dict[str, Any] = {}
    if outcome:
        update["verdict"] = outcome.summary
    if outcome and outcome.replaced:
        structured = None if isinstance(outcome.response, str) else outcome.response
        response = ModelResponse([AIMessage(content_text(outcome.response))], structured)
        # Without a structured response an agent that must give one would ask its model on and on.
        update["jump_to"] = "end"
    return ExtendedModelResponse(response, Command(update=update))


def _judged_output(output: Any, outcome: Outcome | None) -> Any:  # noqa: ANN401  the chain's
    if outcome and outcome.replaced:
        return _in_form_of(output, outcome.response)
    return output


def _retry_request(request: Any, response: ModelResponse[Any], note: str) -> Any:  # noqa: ANN401  a ModelRequest
    note_message = HumanMessage(note, id=NOTE_ID)
    return request.override(messages=[*request.messages, *response.result, note_message])


def _with_note(chain_input: Any, output: Any, note: str) -> Any:  # noqa: ANN401  the chain's
    """The same messages with the answer and the note, or the query with the note."""
    if isinstance(chain_input, str):
        return f"{chain_input}\n\n{note}"
    if not is_mapping(chain_input):
        answer = _answer_message(output).model_copy(update={"id": DRAFT_ID})
        return [*convert_to_messages(chain_input), answer, HumanMessage(note, id=NOTE_ID)]
    keys = keys_of(chain_input, "messages") + keys_of(chain_input, "query")
    key = keys[0] if keys else "messages"
    thread = chain_input.get(key, ())
    if key == "messages" and is_mapping(output):
        messages = output.get("messages", ())
        # A graph returns what it was asked too, and what its tools returned: all but the last is the thread.
        if any(isinstance(message, HumanMessage) for message in messages):
            thread = messages[:-1]
    return {**chain_input, key: _with_note(thread, output, note)}


def _without_notes(output: Any) -> Any:  # noqa: ANN401  the chain's
    """What a graph that returns all of its messages returns, without those that asked it again."""
    if not is_mapping(output):
        return output
    messages = output.get("messages")
    if not is_list(messages):
        return output
    thread: list[Any] = []
    for message in messages:
        if getattr(message, "id", None) not in RETRY_IDS:
            thread.append(message)
    return {**output, "messages": thread}


def _answer_message(output: Any) -> AIMessage:  # noqa: ANN401  the chain's
    """An answer as a message; with all that it holds, if it is not known where in it the text is."""
    if is_mapping(output):
        keys = keys_of(output, "messages", "response")
        if keys:
            return _answer_message(output[keys[0]])
    answer = output
    if is_list(output) and output:
        answer = output[-1]
    if isinstance(answer, AIMessage):
        return answer
    return AIMessage(content_text(getattr(answer, "content", answer)))


def _in_form_of(output: Any, fallback: Any) -> Any:  # noqa: ANN401  the chain's
    """The fallback in the form of an answer; alone, if it is not known where in it the text is."""
    if is_mapping(output):
        keys = keys_of(output, "messages", "response")
        if keys:
            replaced = dict(output)
            for key in keys:
                replaced[key] = _in_form_of(output[key], fallback)
            return replaced
    if is_list(output):
        return [*output[:-1], _in_form_of(AIMessage(""), fallback)]
    if isinstance(output, BaseMessage):
        return AIMessage(content_text(fallback))
    return fallback
