"""LangChain agents and chains: an answer is judged before it goes out.

    grounded = GroundingMiddleware("groundedness", model="openai:gpt-4o-mini", fallback="I do not know.")
    agent = create_agent("openai:gpt-4o", tools, middleware=[grounded])

An answer that fails is written again with a note on what is not grounded, and else replaced by the fallback.
Drafts and notes reach neither the state, nor a checkpoint, nor a stream: the answer is held until it is
judged, so users wait for all of it and for the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NotRequired, TypeAlias, Unpack

from groundjudge.case.data import as_json, is_list, is_mapping
from groundjudge.case.fields import keys_of
from groundjudge.case.shapes import content_text
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

__all__ = ["GroundingMiddleware", "guarded"]

Call: TypeAlias = Callable[..., Any]

OWN = ("groundjudge-draft", "groundjudge-note")
"""The ids of the messages that ask a chain again."""

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
        with _held(self.guard, request) as held:
            return _response(*self.guard.answer(handler, held, self._case, _retried))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Call) -> ExtendedModelResponse[Any]:
        """Call the model, and again if its answer fails, without blocking the event loop."""
        with _held(self.guard, request) as held:
            return _response(*await self.guard.aanswer(handler, held, self._case, _retried))

    def _case(self, request: ModelRequest[Any], reply: ModelResponse[Any]) -> DraftCase:
        # The call of a tool that gives a structured response is followed by what that tool returned.
        said = [each for each in reply.result if isinstance(each, AIMessage)]
        answer = _said(said if reply.structured_response is None else as_json(reply.structured_response))
        return None if answer.tool_calls else partial(self.guard.case, request.state, {"messages": [answer]})


def guarded(
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
    own, step, retried = as_guard(guard, **options), coerce_to_runnable(chain), retry_input or _with_note

    def case_of(given: Any, output: Any) -> DraftCase:  # noqa: ANN401  the chain's
        return None if _said(output).tool_calls else partial(own.case, given, output)

    def invoke(given: Any) -> Any:  # noqa: ANN401
        with _held(own, given):
            return _sent(*own.answer(lambda each: _without_note(step.invoke(each)), given, case_of, retried))

    async def ainvoke(given: Any) -> Any:  # noqa: ANN401
        async def ask(given: Any) -> Any:  # noqa: ANN401
            return _without_note(await step.ainvoke(given))

        with _held(own, given):
            return _sent(*await own.aanswer(ask, given, case_of, retried))

    return RunnableLambda(invoke, ainvoke, name="guarded")


@contextmanager
def _held(guard: Guard, asked: Any) -> Generator[Any]:  # noqa: ANN401  a request, or what a chain is given
    """Let nothing inside reach a stream or a checkpoint of the graph, under whatever name; but traces."""
    config: Any = configs.ensure_config()
    if guard.mode == "enforce":
        manager = configs.get_callback_manager_for_config(config)
        for handler in [each for each in manager.handlers if hasattr(each, "tap_output_iter")]:
            manager.remove_handler(handler)
        kept = {name: value for name, value in config["configurable"].items() if name not in GRAPH_CHANNELS}
        if RUNTIME in kept:
            kept[RUNTIME] = kept[RUNTIME].override(stream_writer=_unwritten)
        if hasattr(asked, "override"):  # a ModelRequest, which hands it on to inner middleware
            asked = asked.override(runtime=kept[RUNTIME])
        config = {**config, "callbacks": manager, "configurable": kept}
    with configs.set_config_context(config) as context, enter_context(context):
        yield asked


def _unwritten(_: object) -> None:
    """Write nothing to the stream: what is written while an answer is held may be of a draft."""


def _response(response: ModelResponse[Any], outcome: Outcome | None) -> ExtendedModelResponse[Any]:
    update: dict[str, Any] = {"verdict": outcome.summary} if outcome else {}
    if outcome and outcome.replaced:
        structured = None if isinstance(outcome.response, str) else outcome.response
        response = ModelResponse([AIMessage(content_text(outcome.response))], structured)
        # Without a structured response an agent that must give one would ask its model on and on.
        update["jump_to"] = "end"
    return ExtendedModelResponse(response, Command(update=update))


def _sent(output: Any, outcome: Outcome | None) -> Any:  # noqa: ANN401
    return _in_form(output, outcome.response) if outcome and outcome.replaced else output


def _retried(request: Any, response: ModelResponse[Any], note: str) -> Any:  # noqa: ANN401  a ModelRequest
    return request.override(messages=[*request.messages, *response.result, HumanMessage(note, id=OWN[1])])


def _with_note(given: Any, output: Any, note: str) -> Any:  # noqa: ANN401  the chain's
    """The same messages with the answer and the note, or the query with the note."""
    if isinstance(given, str):
        return f"{given}\n\n{note}"
    if is_mapping(given):
        name = [*keys_of(given, "messages"), *keys_of(given, "query"), "messages"][0]
        said = output.get("messages", ()) if is_mapping(output) and name == "messages" else ()
        # A graph returns what it was asked too, and what its tools returned.
        thread = said[:-1] if any(isinstance(each, HumanMessage) for each in said) else given.get(name, ())
        return {**given, name: _with_note(thread, output, note)}
    answer = _said(output).model_copy(update={"id": OWN[0]})
    return [*convert_to_messages(given), answer, HumanMessage(note, id=OWN[1])]


def _without_note(output: Any) -> Any:  # noqa: ANN401  the chain's
    """What a graph that returns all of its messages returns, without those that asked it again."""
    if not is_mapping(output) or not is_list(messages := output.get("messages")):
        return output
    return {**output, "messages": [each for each in messages if getattr(each, "id", None) not in OWN]}


def _said(output: Any) -> AIMessage:  # noqa: ANN401  the chain's
    """An answer as a message; with all that it holds, if it is not known where in it the text is."""
    if is_mapping(output) and (places := keys_of(output, "messages", "response")):
        return _said(output[places[0]])
    last = output[-1] if is_list(output) and output else output
    return last if isinstance(last, AIMessage) else AIMessage(content_text(getattr(last, "content", last)))


def _in_form(output: Any, answer: Any) -> Any:  # noqa: ANN401  the chain's
    """The fallback in the form of an answer; alone, if it is not known where in it the text is."""
    if is_mapping(output) and (places := keys_of(output, "messages", "response")):
        return {**output, **{name: _in_form(output[name], answer) for name in places}}
    if is_list(output):
        return [*output[:-1], _in_form(AIMessage(""), answer)]
    return AIMessage(content_text(answer)) if isinstance(output, BaseMessage) else answer
