"""LangChain agents and chains: an answer is judged before it goes out.

    grounded = GroundingMiddleware("groundedness", model="openai:gpt-6-luna", fallback="I do not know.")
    agent = create_agent("openai:gpt-6.1-sol", tools, middleware=[grounded])
    answer = guarded(prompt | llm, "groundedness", model="openai:gpt-6-luna", fallback="I do not know.")

An answer that fails is written again with a note on what is not grounded, or else replaced by the fallback.
Drafts and notes reach neither the state, nor a checkpoint, nor a stream: the answer is held until it is
judged, so users wait for all of it and for the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NotRequired, TypeAlias, Unpack

from groundjudge.case.case import Case, CaseLike
from groundjudge.case.content import content_text, read_block
from groundjudge.case.data import as_json, fields_of, is_mapping
from groundjudge.case.fields import Fields, field_of, find_keys
from groundjudge.errors import CaseError, requires
from groundjudge.judging.answer_place import AnswerPlace, key_for_note
from groundjudge.judging.guard import DraftCase, Guard, GuardLike, GuardOptions, Outcome, as_guard
from groundjudge.models.loop_thread import enter_context

with requires("groundjudge.adapters.langchain_agents needs langchain", "langchain-agents"):
    from langchain.agents.middleware import AgentMiddleware, AgentState
    from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
    from langchain_core.runnables import config as configs
    from langchain_core.runnables.base import Runnable, RunnableLambda, coerce_to_runnable
    from langgraph.pregel import Pregel  # pyright: ignore[reportMissingTypeStubs]
    from langgraph.types import Command

__all__ = ["GroundingMiddleware", "guarded"]

ROOTS = ("inputs", "outputs")
"""What a path to a field can begin with."""

Call: TypeAlias = Callable[..., Any]

NOTE_ID = "groundjudge-note"
"""The id of the message that asks an agent or a chain again."""

GRAPH_CHANNELS = {"__pregel_stream", "__pregel_checkpointer"}
"""Where LangGraph keeps what graphs inside a node write to."""

RUNTIME = "__pregel_runtime"
"""Where it keeps what `get_stream_writer` gives."""


def guarded(
    runnable: Runnable[Any, Any] | Call,
    guard: GuardLike,
    *,
    output: str | None = None,
    **options: Unpack[GuardOptions],
) -> Runnable[Any, Any]:
    """Judge a chain's answer before it goes out; ask again, or replace it, if it fails.

    One place is judged and replaced: the whole output (a text, a message or an object), or the key that
    `output` names in a mapping. All other keys pass unjudged and unchanged. An object is judged as JSON, and
    needs a `fallback` function that returns one of its type. A message that calls tools is not judged, and
    loses the text next to the calls.

    The answer goes out in one piece. To ask again, the draft and the note are added to the messages of the
    chain's input, or the note to its query. Only the answer is taken from the new output; all other keys stay
    as the chain first returned them.

    Args:
        runnable: a chain or a function, but not a graph.
        guard: a `Guard`, or a judge as for `groundjudge.as_judge`.
        output: the key with the answer, if the chain returns a mapping.
        options: `model` and the options of `groundjudge.as_judge`, and the settings of `Guard`. For `fields`
            the inputs and outputs are the chain's; a path to the response is refused, and a response that a
            function returns is ignored.

    Returns:
        A runnable with the chain's input and output. Besides what `Guard.run` raises, it raises CaseError:
        `missing_field` if the output is a mapping and `output` names none of its keys, or if the input has no
        place for the note; `answer_elsewhere` if a rejected answer is also under another key.

    Raises:
        GroundjudgeError, TypeError, ValueError: as for `as_guard`; ValueError also if `fields` has a path to
            the response; TypeError also for a graph.
    """
    settings = as_guard(guard, **options)
    if is_mapping(settings.fields):
        for name, path in settings.fields.items():
            # Then the judged text would not be the one that goes out.
            if field_of(name) == "response":
                message = (
                    f"guarded judges what it replaces, but `fields` reads the response from {path!r}: leave "
                    "that out, and name the key of the answer, as in output='answer'"
                )
                raise ValueError(message)
    step = coerce_to_runnable(runnable)
    if isinstance(step, Pregel):  # a graph may store its drafts before it returns
        message = (
            "guarded accepts a chain, but this is a graph: pass a GroundingMiddleware to create_agent; in "
            "any other graph call Guard.run in the node that writes the answer"
        )
        raise TypeError(message)
    chain = _GuardedChain(step, settings, output)
    return RunnableLambda(chain.invoke, chain.ainvoke, name="guarded")


def _message_of(answer: Any) -> AIMessage:  # noqa: ANN401  the chain's
    """Return a chain's answer as a message; an object as JSON.

    Raises:
        CaseError: `field_unreadable`: it is something else.
    """
    if isinstance(answer, AIMessage):
        return answer
    if isinstance(answer, BaseMessage):
        return AIMessage(answer.content)
    if isinstance(answer, str):
        return AIMessage(answer)
    if fields_of(answer) is not None:
        return AIMessage(as_json(answer))
    message = f"a chain's answer must be a text, a message or an object, not {type(answer).__name__}"
    raise CaseError("field_unreadable", message, "response")


def _without_message(answer: object) -> object:
    """Return the text in a message; any other answer unchanged."""
    return content_text(answer.content) if isinstance(answer, BaseMessage) else answer


def _with_note(chain_input: Any, draft: AIMessage, note: str) -> Any:  # noqa: ANN401  the chain's
    """Return a chain's input with a note: messages get the draft and the note, a text gets the note below it.

    In a mapping these are its messages or, if it has none, its query.
    """
    if isinstance(chain_input, str):
        return f"{chain_input}\n\n{note}"
    if is_mapping(chain_input):
        key = key_for_note(chain_input)
        return {**chain_input, key: _with_note(chain_input[key], draft, note)}
    return [*convert_to_messages(chain_input), draft, HumanMessage(note, id=NOTE_ID)]


def _retry_request(request: Any, response: ModelResponse[Any], note: str) -> Any:  # noqa: ANN401  a ModelRequest
    """Return an agent's request with the rejected response and the note after its messages."""
    note_message = HumanMessage(note, id=NOTE_ID)
    return request.override(messages=[*request.messages, *response.result, note_message])


def _result_of(
    guard: Guard, response: ModelResponse[Any], outcome: Outcome | None
) -> ExtendedModelResponse[Any]:
    """Return the model's response or the fallback, and the decision for the state."""
    update: dict[str, Any] = {}
    if guard.mode == "enforce":  # an observed response has been streamed, asides included
        messages = [_without_aside(message) for message in response.result]
        response = ModelResponse(messages, response.structured_response)
    if outcome is None:  # it only calls tools
        return ExtendedModelResponse(response, Command(update=update))
    update["verdict"] = outcome.summary
    if outcome.replaced:
        structured = None if isinstance(outcome.response, str) else outcome.response
        response = ModelResponse([AIMessage(content_text(outcome.response))], structured)
        # Without a structured response, an agent that must give one would ask its model forever.
        update["jump_to"] = "end"
    return ExtendedModelResponse(response, Command(update=update))


def _without_aside(message: BaseMessage) -> BaseMessage:
    """Return a message without the text next to its tool calls, which has not been judged."""
    if not isinstance(message, AIMessage) or not message.tool_calls or not message.content:
        return message
    blocks: list[Any] = []
    for block in message.content:
        if read_block(block).sort != "text":
            blocks.append(block)
    return message.model_copy(update={"content": blocks or ""})


@contextmanager
def _hold_back(guard: Guard, request: Any) -> Generator[Any]:  # noqa: ANN401  a ModelRequest, or a chain's input
    """Keep what happens inside from the streams and checkpoints of the graph, but not from traces."""
    config: Any = configs.ensure_config()
    if guard.mode == "enforce":  # an observed answer goes out even if it fails, so it may be streamed
        config = _without_streams(config)
        if hasattr(request, "override"):  # a ModelRequest, which hands it on to inner middleware
            request = request.override(runtime=config["configurable"][RUNTIME])
    with configs.set_config_context(config) as context, enter_context(context):
        yield request


def _without_streams(config: Any) -> dict[str, Any]:  # noqa: ANN401  a RunnableConfig
    """Return a copy of a config whose runs stream and store nothing, but are traced."""
    manager = configs.get_callback_manager_for_config(config)
    for handler in list(manager.handlers):  # a copy, as handlers are removed from it
        if hasattr(handler, "tap_output_iter"):  # what streams tokens; the tracers stay
            manager.remove_handler(handler)
    configurable = dict(config["configurable"])
    # A graph inside the chain would write to the stream and the checkpoints of the one around it.
    for channel in GRAPH_CHANNELS:
        configurable.pop(channel, None)
    if RUNTIME in configurable:
        configurable[RUNTIME] = configurable[RUNTIME].override(stream_writer=_write_nothing)
    return {**config, "callbacks": manager, "configurable": configurable}


def _write_nothing(_: object) -> None:
    """Write nothing to the stream: what is written while an answer is held back may be of a draft."""


class GroundedState(AgentState[Any]):
    """The state of an agent with a guard.

    Attributes:
        verdict: the last decision, see `Outcome.summary`.
    """

    verdict: NotRequired[Mapping[str, Any]]


class GroundingMiddleware(AgentMiddleware[GroundedState, Any, Any]):
    """Judges the answers of an agent made by `create_agent` before they go out.

    The sources are the results of the tools. A message that calls tools is not an answer: it is not judged,
    and its text is taken out. The decision is under `verdict` in the agent's state (`Outcome.summary`). With
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
            response, outcome = self.guard.answer(handler, held_request, self._case_of, _retry_request)
        return _result_of(self.guard, response, outcome)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Call) -> ExtendedModelResponse[Any]:
        """Call the model, and again if its answer fails, without blocking the event loop."""
        with _hold_back(self.guard, request) as held_request:
            response, outcome = await self.guard.aanswer(handler, held_request, self._case_of, _retry_request)
        return _result_of(self.guard, response, outcome)

    def _case_of(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> DraftCase:
        """Return the function that makes the case; None if the response only calls tools."""
        messages = [message for message in response.result if isinstance(message, AIMessage)]
        answers: list[AIMessage] = []  # the messages that say something and call no tool
        for message in messages:
            if content_text(message.content).strip() and not message.tool_calls:
                answers.append(message)
        calls_tools = any(message.tool_calls for message in messages)
        structured = response.structured_response
        if structured is None and calls_tools and not answers:
            return None  # the tools are called first
        if structured is not None and answers and not calls_tools:
            # The object was read from this text, which would be judged twice; with calls, it is one of them.
            answers.pop()
        if structured is not None:
            answers.append(AIMessage(as_json(structured)))
        # Without any answer the last message is judged: the case then says that the response is blank.
        answers = answers or messages[-1:]
        if len(answers) != 1:  # several become one, each text once, and none a blank one
            texts = dict.fromkeys(content_text(message.content) for message in answers)
            answers = [AIMessage("\n\n".join(texts))]
        return partial(self.guard.case, request.state, {"messages": answers})


class _GuardedChain:
    """A chain, its guard, and the one place in the chain's output that is judged and replaced."""

    def __init__(self, step: Runnable[Any, Any], guard: Guard, key: str | None) -> None:
        self.step = step
        self.guard = guard
        self.place = AnswerPlace(key)  # where the answer is in an output
        self.read_fields = guard.judge.cases(guard.fields, ROOTS, self._read_exchange)

    def invoke(self, chain_input: Any) -> Any:  # noqa: ANN401  the chain's
        """Run the chain, again with the note while its answer fails, and return what goes out."""
        outputs: list[Any] = []  # of each try

        def ask(try_input: Any) -> Any:  # noqa: ANN401
            outputs.append(self.step.invoke(try_input))
            return self._latest(outputs)

        self._check_input(chain_input)
        with _hold_back(self.guard, chain_input) as held_input:
            output, outcome = self.guard.answer(ask, held_input, self._case_of, self._retry_input)
        return self._result_of(chain_input, output, outcome)

    async def ainvoke(self, chain_input: Any) -> Any:  # noqa: ANN401
        """Do the same asynchronously."""
        outputs: list[Any] = []

        async def ask(try_input: Any) -> Any:  # noqa: ANN401
            outputs.append(await self.step.ainvoke(try_input))
            return self._latest(outputs)

        self._check_input(chain_input)
        with _hold_back(self.guard, chain_input) as held_input:
            output, outcome = await self.guard.aanswer(ask, held_input, self._case_of, self._retry_input)
        return self._result_of(chain_input, output, outcome)

    def _check_input(self, chain_input: Any) -> None:  # noqa: ANN401
        """Refuse an input without a place for the note at once, not only when an answer fails."""
        if is_mapping(chain_input) and self.guard.retries and self.guard.mode == "enforce":
            key_for_note(chain_input)

    def _latest(self, outputs: Sequence[Any]) -> Any:  # noqa: ANN401
        """Return the first output with the latest answer.

        The rest of a later output may contain the note, for instance in a query that the chain passes on.
        """
        if len(outputs) == 1:
            return outputs[0]
        return self.place.with_answer(outputs[0], self.place.answer_in(outputs[-1]))

    def _case_of(self, chain_input: Any, output: Any) -> DraftCase:  # noqa: ANN401
        """Return the function that makes the case; None if the output only calls tools."""
        if self.guard.mode == "enforce":
            # Raised before the case is made, so that `on_error` cannot let out an answer that was not found.
            answer = self.place.answer_in(output)
            if isinstance(answer, AIMessage) and answer.tool_calls:
                return None
        return partial(self._make_case, chain_input, output)

    def _make_case(self, chain_input: Any, output: Any) -> Case:  # noqa: ANN401
        """Return the case of an input and an output; its response is the answer in its place."""
        answer = _message_of(self.place.answer_in(output))
        response: Any = [answer]
        if isinstance(answer.content, str):
            response = answer.content
        # Only what can be replaced is judged, also where `fields` found another response.
        return Case.of(self.read_fields(chain_input, output)).replace(response=response)

    def _read_exchange(self, fields: Fields, chain_input: Any, output: Any) -> CaseLike:  # noqa: ANN401
        """Return the fields of the case: the answer is a message, and the rest of the output may be context.

        With the answer under "text", {"text": "Yes", "docs": [...]} is read as a message "Yes" and "docs".
        Paths of `fields` lead into the output as the chain returned it.
        """
        outputs: dict[str, Any] = {"messages": [_message_of(self.place.answer_in(output))]}
        if is_mapping(output):
            # Two keys that could contain a response would be ambiguous, and only one of them is replaced.
            answer_keys = [self.place.key, *find_keys(output, "messages", "response")]
            for key, value in output.items():
                if key not in answer_keys:
                    outputs[key] = value
        exchange = {"inputs": chain_input, "outputs": output}
        return fields.in_row({"inputs": chain_input, "outputs": outputs}, exchange)

    def _retry_input(self, chain_input: Any, output: Any, note: str) -> Any:  # noqa: ANN401
        """Return the chain's input with the note."""
        answer = self.place.answer_in(output)
        self.place.check_rejected(_without_message(answer), chain_input, output)
        return _with_note(chain_input, _message_of(answer), note)

    def _result_of(self, chain_input: Any, output: Any, outcome: Outcome | None) -> Any:  # noqa: ANN401
        """Return what goes out: the output with its answer, or with the fallback in its place."""
        if self.guard.mode == "observe":
            return output
        answer = self.place.answer_in(output)
        if outcome is None:  # it calls tools, and the text next to the calls was not judged
            return self.place.with_answer(output, _without_aside(answer))
        if not outcome.replaced:
            return output
        self.place.check_rejected(_without_message(answer), chain_input, output)
        fallback = outcome.response
        # What follows in the chain expects what the model returned, a message.
        if isinstance(answer, BaseMessage) and not isinstance(fallback, BaseMessage):
            fallback = AIMessage(content_text(fallback))
        return self.place.with_answer(output, fallback)
