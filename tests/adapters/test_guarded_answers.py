"""A guard judges all that an application newly says, in every shape; what it does not judge goes nowhere."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import agents
import pytest
from guard_table import EARLIER, FALLBACK, QUERY, SOURCE, TURNS, Seen, Turn, judge_words
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelResponse, hook_config
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from openai_clerk import ScriptedClerk, openai_hours
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput, TextOutput
from pydantic_ai import messages as pydantic_messages
from pydantic_ai.models.function import FunctionModel as PydanticModel

from groundjudge import Case, Reply
from groundjudge.adapters.langchain_agents import GroundingMiddleware, add_guard
from groundjudge.adapters.openai_agents import GroundingHooks, guarded_run
from groundjudge.adapters.pydantic_ai import grounding_validator
from groundjudge.judging.guard import NOTE, Outcome, as_guard
from groundjudge.types import Request

JUDGE = "groundedness"
CALL: Any = {"name": "hours", "args": {}, "id": "1"}

agents.set_tracing_disabled(disabled=True)
pytestmark = pytest.mark.usefixtures("current_event_loop")  # which pydantic-ai would leave open


def options(seen: Seen, **changes: Any) -> Any:
    """The options of a guard whose judge looks at every word."""
    return {
        "model": judge_words,
        "fallback": FALLBACK,
        "max_reasks": 0,
        "on_outcome": seen.outcomes.append,
        "optional": ["context"],
        **changes,
    }


def message(sort: str, text: str) -> BaseMessage:
    if sort == "call":
        return AIMessage(text, tool_calls=[CALL])
    if sort == "tool":
        return ToolMessage(text, tool_call_id="1")
    if sort in {"ai", "user"}:
        return convert_to_messages([(sort, text)])[0]
    return ChatMessage(content=text, role=sort)


def added(turn: Turn) -> list[BaseMessage]:
    return [message(sort, text) for sort, text in turn.messages]


REJECTED = re.compile("bad [a-z]|bad, no")
"""Words of what is rejected; the digits of ids may spell the first of them."""

OLD: Sequence[tuple[str, str]] = [("user", "bad weather?"), ("assistant", "bad, says an old answer")]
ASKED = [("user", QUERY)]


@dataclass(frozen=True)
class Surface:
    """How a chain returns the messages that it adds.

    Attributes:
        asked: the input of the chain.
        returned: from the messages that it adds, and the messages that it was asked with, to its output.
        texts: from what went out to the messages in it.
    """

    asked: Any
    returned: Callable[[list[BaseMessage], Any], Any]
    texts: Callable[[Any], Any]


def messages_in(output: Any) -> Any:
    return output["messages"]


def whole_thread(new_messages: list[BaseMessage], asked: Any) -> Any:
    return {"messages": [*convert_to_messages(asked["messages"]), *new_messages]}


def with_earlier_turns(new_messages: list[BaseMessage], asked: Any) -> Any:
    thread = convert_to_messages(OLD)
    return {"messages": [*thread, *whole_thread(new_messages, asked)["messages"]]}


SURFACES: Mapping[str, Surface] = {
    "a list": Surface(ASKED, lambda new, _: new, lambda output: output),
    "a mapping": Surface({"messages": ASKED}, lambda new, _: {"messages": new}, messages_in),
    "the answer of a mapping": Surface(
        {"query": QUERY}, lambda new, _: {"answer": new}, lambda out: out["answer"]
    ),
    "a whole state": Surface({"messages": ASKED}, whole_thread, messages_in),
    "a whole state with old answers": Surface({"messages": [*OLD, *ASKED]}, whole_thread, messages_in),
    "a state with turns that the input has not": Surface(
        {"messages": ASKED}, with_earlier_turns, messages_in
    ),
}


def make_chain(turn: Turn, surface: Surface, then: str) -> RunnableLambda[Any, Any]:
    """A chain that adds the messages of a turn and, when it is asked again, another answer."""
    tries: list[list[BaseMessage]] = [added(turn), [AIMessage(then)]]

    def answer(asked: Any) -> Any:
        return surface.returned(tries.pop(0), asked)

    return RunnableLambda(answer)


def by_invoke(chain: Any, asked: Any) -> Any:
    return chain.invoke(asked)


def by_ainvoke(chain: Any, asked: Any) -> Any:
    return asyncio.run(chain.ainvoke(asked))


def by_batch(chain: Any, asked: Any) -> Any:
    (output,) = chain.batch([asked])
    return output


def by_stream(chain: Any, asked: Any) -> Any:
    (output,) = chain.stream(asked)
    return output


CALLS = [by_invoke, by_ainvoke, by_batch, by_stream]

# Each shape and turn is called in one way, in rotation; all rows are in soak.
CHAINS = [
    pytest.param(
        TURNS[turn],
        surface,
        call,
        id=f"{turn}, {name}, {call.__name__}",
        marks=[] if CALLS[(row + column) % len(CALLS)] is call else [pytest.mark.soak],
    )
    for row, turn in enumerate(TURNS)
    for column, (name, surface) in enumerate(SURFACES.items())
    for call in CALLS
]


def check_new(turn: Turn, seen: Seen, thread: Sequence[BaseMessage], answer: str) -> None:
    """What went out, without the old messages, and what was judged."""
    old_texts = {text for _, text in [*OLD, *ASKED]}
    texts = [entry.content for entry in thread if entry.content not in old_texts]
    assert [entry.content for entry in thread].count(QUERY) <= 1
    judged = [outcome.drafts[0].response for outcome in seen.outcomes]
    assert judged == ([] if turn.judged is None else [turn.judged])
    assert not REJECTED.search(str(texts))
    assert "aside" not in str(texts)
    if turn.is_good:
        asides = {"call": ""}
        assert texts == [asides.get(sort, text) for sort, text in turn.messages]
    else:
        assert set(texts) <= {"", SOURCE, answer}
        assert texts[-1] == answer
        assert texts.count(answer) == 1


@pytest.mark.parametrize(("turn", "surface", "call"), CHAINS)
def test_all_that_a_chain_adds_is_judged_and_replaced(turn: Turn, surface: Surface, call: Any) -> None:
    seen = Seen()
    guarded = add_guard(make_chain(turn, surface, ""), JUDGE, **options(seen, retries=0))
    check_new(turn, seen, surface.texts(call(guarded, surface.asked)), FALLBACK)


@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_nothing_of_a_rejected_turn_is_in_what_a_chain_returns_when_it_is_asked_again(
    turn: Turn, surface: Surface
) -> None:
    seen = Seen()
    guarded = add_guard(make_chain(turn, surface, "good three"), JUDGE, **options(seen))
    check_new(turn, seen, surface.texts(guarded.invoke(surface.asked)), "good three")
    assert [outcome.reason for outcome in seen.outcomes] in ([], ["passed"], ["regenerated"])


class Asked(TypedDict, total=False):
    """The state of a graph that is asked with a query."""

    query: str
    answer: str


def passing_on(answer: Any) -> Any:
    return RunnablePassthrough.assign(answer=answer)


def graph_of_answers(answer: Any) -> Any:
    builder: Any = StateGraph(Asked)
    builder.add_node("answer", lambda state: {"answer": answer.invoke(state)})  # pyright: ignore[reportUnknownLambdaType]
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=False)


RetryInput = Callable[[Any, Any, str], Any]

PASSED_ON: Mapping[str, tuple[Any, Callable[[Any], Any], RetryInput | None]] = {
    "its query": ({"query": QUERY}, passing_on, None),
    "its query under another name of it": ({"question": QUERY, "other": 1}, passing_on, None),
    "its query under a name of its own": (
        {"query": QUERY},
        lambda answer: RunnableParallel(asked=lambda row: row["query"], answer=answer),
        None,
    ),
    "its messages": ({"messages": ASKED}, passing_on, None),
    "its input": (
        {"query": QUERY},
        lambda answer: RunnableParallel(given=RunnablePassthrough(), answer=answer),
        None,
    ),
    "its input, a text": (
        QUERY,
        lambda answer: RunnableParallel(question=RunnablePassthrough(), answer=answer),
        None,
    ),
    "what a function of the user's added": (
        {"query": QUERY},
        passing_on,
        lambda row, _, note: {**row, "query": f"{note} {row['query']}"},
    ),
    "a key that a function of the user's added": (
        {"query": QUERY},
        passing_on,
        lambda row, _, note: {**row, "note": note},
    ),
    "two keys that a function of the user's added": (
        {"query": QUERY},
        passing_on,
        lambda row, _, note: {**row, "note": note, "hint": note},
    ),
    "what has a text of the next try by chance": (
        {"query": QUERY, "mode": "first", "n": 0},
        lambda answer: RunnableParallel(
            query=lambda row: row["query"], tone=lambda _: "polite", answer=answer
        ),
        lambda row, _, note: {**row, "query": note, "mode": "polite", "n": 1},
    ),
    "the state of a graph": ({"query": QUERY}, graph_of_answers, None),
}


def test_retry_input_that_is_no_function_is_refused_before_an_answer_fails() -> None:
    wrong: Any = "question"
    with pytest.raises(TypeError, match="retry_input must be a function of input, output and note"):
        add_guard(RunnableLambda(lambda _: "good"), JUDGE, retry_input=wrong, **options(Seen()))


@pytest.mark.parametrize(
    "drafts", [["bad one", "good two"], ["bad one", "bad two"]], ids=["rewritten", "replaced"]
)
@pytest.mark.parametrize("call", [by_invoke, by_ainvoke])
@pytest.mark.parametrize("name", PASSED_ON)
def test_chain_that_passes_its_input_on_returns_the_first_and_no_note(
    name: str, call: Any, drafts: Sequence[str]
) -> None:
    asked, chain_of, retry_input = PASSED_ON[name]
    texts = iter(drafts)
    prompts: list[str] = []

    def judging(request: Request) -> Reply:
        prompts.append(str(request.messages))
        return judge_words(request)

    chain = chain_of(RunnableLambda(lambda _: next(texts)))
    guarded = add_guard(chain, JUDGE, retry_input=retry_input, **options(Seen(), model=judging))
    output = call(guarded, asked)
    answer = "good two" if drafts[1] == "good two" else FALLBACK
    expected = chain_of(RunnableLambda(lambda _: answer)).invoke(asked)
    if answer == FALLBACK and "messages" in expected:  # where an answer may stand too
        expected["messages"] = [*ASKED, AIMessage(FALLBACK)]
    assert output == expected
    assert len(prompts) == len(drafts)
    assert NOTE not in str(prompts)


def test_retry_input_may_hand_on_the_output_before_and_nothing_of_the_next_is_lost() -> None:
    """The next answer can be the same, and what was retrieved before be taken again."""
    documents = ["At 9."]
    rows: list[Any] = []

    def answer(row: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"query": row["query"], "documents": row.get("documents", documents), "answer": "bad"}

    def keep(row: Any, output: Any) -> Mapping[str, Any]:
        rows.append((row, output))
        return {"query": QUERY, "context": output["documents"], "response": output["answer"]}

    def retry_input(row: Any, output: Any, note: str) -> Any:
        return {**output, "query": f"{row['query']} {note}"}

    settings: dict[str, Any] = {**options(Seen()), "fields": keep}
    guarded = add_guard(RunnableLambda(answer), JUDGE, retry_input=retry_input, **settings)
    guarded.invoke({"query": QUERY})
    output = {"query": QUERY, "documents": documents, "answer": "bad"}
    assert rows == [({"query": QUERY}, output)] * 2


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_nothing_rejected_stays_in_the_state_of_a_graph(turn: Turn) -> None:
    seen, saver, state_type = Seen(), InMemorySaver(), MessagesState
    surface = SURFACES["a mapping"]
    graph = StateGraph(state_type)
    graph.add_node("answer", add_guard(make_chain(turn, surface, ""), JUDGE, **options(seen, retries=0)))  # pyright: ignore[reportUnknownMemberType]
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    app: Any = graph.compile(checkpointer=saver)  # pyright: ignore[reportUnknownMemberType]
    config: Any = {"configurable": {"thread_id": "1"}}
    chunks = list(app.stream(surface.asked, config, stream_mode=["messages", "updates", "values", "custom"]))
    check_new(turn, seen, app.get_state(config).values["messages"], FALLBACK)
    for shown in (chunks, saver.storage, saver.writes, saver.blobs):
        assert not REJECTED.search(str(shown))


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_graph_with_a_checkpointer_of_its_own_returns_nothing_rejected(turn: Turn) -> None:
    """Its checkpoints still have the rejected messages, but the guarded graph does not return them."""
    seen = Seen()
    graph = StateGraph(MessagesState)
    graph.add_node("answer", make_chain(turn, SURFACES["a mapping"], "good three"))  # pyright: ignore[reportUnknownMemberType]
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    app: Any = graph.compile(checkpointer=InMemorySaver())  # pyright: ignore[reportUnknownMemberType]
    config: Any = {"configurable": {"thread_id": "1"}}
    app.update_state(config, {"messages": convert_to_messages(OLD)}, as_node="answer")
    guarded = add_guard(app, JUDGE, **options(seen))
    check_new(turn, seen, guarded.invoke({"messages": ASKED}, config)["messages"], "good three")


class Note(BaseModel):
    """A part of a structured answer, which looks like a block of a message."""

    text: str
    type: str = "text"
    note: str = ""


def no_note(_: object) -> Note:
    return Note(text="none")


class Answers(BaseModel):
    """What a chain may return."""

    answer: str
    messages: list[Any] = []
    note: str = ""


class Plain(BaseModel):
    """What no answer is found in."""

    text: str


BLOCKS: Any = [
    {"type": "text", "text": "bad one"},
    {"type": "server_tool_use", "id": "2", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "found"}]},
    {"type": "text", "text": "good two"},
]
GOOD, BAD = AIMessage("good one"), AIMessage("bad one")
OUTPUTS: Mapping[str, tuple[Any, str | None]] = {
    "a string": ("bad one", "bad one"),
    "a message": (BAD, "bad one"),
    "a chunk": (AIMessageChunk(content="bad one"), "bad one"),
    "chunks": (
        [AIMessageChunk(content="bad one"), AIMessageChunk(content="good two")],
        "bad one\n\ngood two",
    ),
    "a message under a name of the answer": ({"answer": BAD}, "bad one"),
    "one message under messages": ({"messages": BAD}, "bad one"),
    "a text under messages": ({"messages": "bad one"}, "bad one"),
    "a good answer and a bad message": ({"answer": "good one", "messages": [BAD]}, "bad one\n\ngood one"),
    "a bad answer and a good message": ({"answer": "bad one", "messages": [GOOD]}, "good one\n\nbad one"),
    "a bad message under a name of the answer, before the thread": (
        {"answer": BAD, "messages": [HumanMessage(QUERY), GOOD]},
        "good one\n\nbad one",
    ),
    "a bad answer and a call": ({"answer": "bad one", "messages": [message("call", "")]}, "bad one"),
    "an answer and the same message": ({"answer": "good one", "messages": [GOOD]}, "good one"),
    "two answers that differ": ({"answer": "good one", "output": "bad one"}, None),
    "two answers that differ, and a message": (
        {"answer": "good one", "output": "bad one", "messages": [GOOD]},
        None,
    ),
    "a blank answer and a bad one": ({"answer": "", "output": "bad one"}, "bad one"),
    "a missing answer and a message": ({"answer": None, "messages": [GOOD]}, None),
    "a model with an answer and messages": (
        Answers(answer="good one", messages=[BAD]),
        "bad one\n\ngood one",
    ),
    "a model without an answer": (Plain(text="bad one"), None),
    "a mapping without an answer": ({"text": "bad one"}, None),
    "a list of strings": (["bad one", "good two"], None),
    "a tuple of messages": ((BAD, GOOD), "bad one\n\ngood one"),
    "messages inside an answer": ({"result": {"messages": [BAD, GOOD]}}, None),
    "messages as mappings": ([{"role": "assistant", "content": "bad one"}, GOOD], "bad one\n\ngood one"),
    "messages as pairs": ([("ai", "bad one"), ("ai", "good one")], "bad one\n\ngood one"),
    "text before a tool of the provider": ([AIMessage(BLOCKS)], "bad one\n\ngood two"),
    "a number": (5, None),
}
"""What a chain returns, and what is judged of it; None: the shape is refused, and the fallback goes out."""


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_shape_of_an_output_is_judged_whole_or_refused(name: str) -> None:
    output, judged = OUTPUTS[name]
    seen = Seen()
    guarded = add_guard(RunnableLambda(lambda _: output), JUDGE, **options(seen, retries=0))
    result = guarded.invoke({"messages": ASKED})
    (outcome,) = seen.outcomes
    if judged is None:
        assert outcome.reason == "not_judged"
    else:
        assert outcome.drafts[0].response == judged
        assert outcome.reason == ("fallback" if "bad" in judged else "passed")
    assert not REJECTED.search(str(result))
    assert (FALLBACK in str(result)) == (judged is None or "bad" in judged)


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_observing_changes_no_message(turn: Turn) -> None:
    seen = Seen()
    surface = SURFACES["a whole state"]
    guarded = add_guard(make_chain(turn, surface, ""), JUDGE, **options(seen, mode="observe"))
    thread = messages_in(guarded.invoke(surface.asked))
    assert [entry.content for entry in thread[1:]] == [text for _, text in turn.messages]
    assert [outcome.drafts[0].response for outcome in seen.outcomes] == ([turn.judged] if turn.judged else [])


# --- the guard without a framework ------------------------------------------------------------------------


def run_exchange(turn: Turn, seen: Seen) -> Outcome:
    guard = as_guard(JUDGE, **options(seen, retries=0))
    return guard.run(guard.case({"messages": ASKED}, {"messages": added(turn)}))


def run_case(turn: Turn, seen: Seen) -> Outcome:
    case = Case(query=QUERY, context=[SOURCE], response=added(turn))
    return as_guard(JUDGE, **options(seen, retries=0)).run(case)


def run_regenerated(turn: Turn, seen: Seen) -> Outcome:
    guard = as_guard(JUDGE, **options(seen))
    case = {"query": QUERY, "context": [SOURCE], "response": "bad one"}
    return guard.run(case, lambda _note, _verdict: added(turn))


CORE_TURNS = {name: turn for name, turn in TURNS.items() if "beside" not in name and turn.judged}


@pytest.mark.parametrize("run", [run_exchange, run_case, run_regenerated])
@pytest.mark.parametrize("turn", CORE_TURNS.values(), ids=CORE_TURNS)
def test_guard_judges_every_message_of_a_response(turn: Turn, run: Any) -> None:
    """Here also the text beside calls is judged, because nothing is taken out of what the caller returns."""
    outcome = run(turn, Seen())
    assert outcome.replaced is not turn.is_good


def test_text_beside_a_call_is_judged_where_it_is_not_taken_out() -> None:
    outcome = run_exchange(TURNS["text beside a call"], Seen())
    assert outcome.drafts[0].response == "bad aside\n\ngood one"
    assert outcome.replaced


def test_what_fields_find_is_judged_as_it_is() -> None:
    seen = Seen()
    guard = as_guard(JUDGE, **options(seen, fields={"response": "outputs.messages.1.content"}))
    outcome = guard.run(
        guard.case({"messages": ASKED}, {"messages": added(TURNS["two answers, the first bad"])})
    )
    assert outcome.response == "good two"
    guard = as_guard(JUDGE, **options(seen, retries=0, fields={"context": "inputs.page"}))
    inputs = {"messages": ASKED, "page": SOURCE}
    outcome = guard.run(guard.case(inputs, {"messages": added(TURNS["two answers, the first bad"])}))
    assert outcome.drafts[0].response == "bad one\n\ngood two"
    assert SOURCE in str(outcome.drafts[0].case)


def test_query_is_that_of_the_user_if_the_application_asks_itself() -> None:
    guard = as_guard(JUDGE, **options(Seen()))
    turn = TURNS["a question that the application asks itself"]
    assert guard.case({"messages": ASKED}, {"messages": added(turn)}).query_text == QUERY
    assert guard.case({"query": QUERY}, added(turn)).query_text == QUERY
    thread = [*convert_to_messages(ASKED), AIMessage("good one")]
    assert guard.case({}, thread).query_text == QUERY


# --- agents of LangChain ----------------------------------------------------------------------------------


@tool
def hours() -> str:
    """When the library opens."""
    return SOURCE


class Chat(GenericFakeChatModel):
    """A chat model that needs to be told of no tools."""

    def bind_tools(self, *_: Any, **__: Any) -> Chat:
        return self


class SaysMore(AgentMiddleware):
    """A middleware inside the guard that makes several messages of the model's first answer."""

    def __init__(self, turn: Turn) -> None:
        super().__init__()
        self.turns = [added(turn)]

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        response = handler(request)
        if not self.turns:
            return response
        new_messages = [entry for entry in self.turns.pop() if isinstance(entry, AIMessage)]
        return ModelResponse(new_messages)  # type: ignore[arg-type]


CLOSED_TURNS = {
    name: turn
    for name, turn in TURNS.items()
    if {sort for sort, _ in turn.messages} == {"ai"} or "open" in name or "alone" in name
}


@pytest.mark.parametrize("turn", CLOSED_TURNS.values(), ids=CLOSED_TURNS)
def test_every_answer_in_one_reply_of_an_agent_is_judged(turn: Turn) -> None:
    seen, saver = Seen(), InMemorySaver()
    model = Chat(messages=iter([AIMessage("unused"), AIMessage("good three"), AIMessage("good four")]))
    guard = GroundingMiddleware(JUDGE, **options(seen))
    middleware: Any = [guard, SaysMore(turn)]
    agent: Any = create_agent(model, [hours], middleware=middleware, checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    modes = ["messages", "updates", "values", "custom"]
    chunks = list(agent.stream({"messages": ASKED}, config, stream_mode=modes))
    if turn.judged:
        assert seen.outcomes[0].drafts[0].response == turn.judged
    for shown in (chunks, agent.get_state(config).values, saver.storage, saver.writes, saver.blobs):
        assert not REJECTED.search(str(shown))
        assert "aside" not in str(shown)


ASIDE_CONTENTS: Mapping[str, Any] = {
    "text": "bad aside",
    "blocks": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "bad aside"},
        {"type": "tool_use", "id": "1", "name": "hours", "input": {}},
    ],
    "text blocks": [{"type": "text", "text": "bad aside"}, "bad aside"],
}


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("content", ASIDE_CONTENTS.values(), ids=ASIDE_CONTENTS)
def test_text_beside_a_call_of_an_agent_goes_nowhere(content: Any, how: str) -> None:
    seen, saver = Seen(), InMemorySaver()
    model = Chat(messages=iter([AIMessage(content, tool_calls=[CALL]), AIMessage("good one")]))
    agent: Any = create_agent(
        model, [hours], middleware=[GroundingMiddleware(JUDGE, **options(seen))], checkpointer=saver
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    modes = ["messages", "updates", "values", "custom"]

    async def collect() -> list[Any]:
        return [chunk async for chunk in agent.astream({"messages": ASKED}, config, stream_mode=modes)]

    if how == "async":
        chunks = asyncio.run(collect())
    else:
        chunks = list(agent.stream({"messages": ASKED}, config, stream_mode=modes))
    thread = agent.get_state(config).values["messages"]
    assert [entry.type for entry in thread] == ["human", "ai", "tool", "ai"]
    assert thread[1].tool_calls
    assert len(thread[1].content) == (2 if len(content) == 3 else 0)
    for shown in (chunks, thread, saver.storage, saver.writes, saver.blobs):
        assert "aside" not in str(shown)
    assert [outcome.reason for outcome in seen.outcomes] == ["passed"]


@pytest.mark.parametrize("parts", [["text", "call"], ["message", "text", "call"]])
def test_text_beside_the_call_that_gives_a_structured_answer_goes_nowhere(parts: Sequence[str]) -> None:
    seen = Seen()
    call = {"name": "Note", "args": {"text": "good one"}, "id": "3"}
    model = Chat(messages=iter([AIMessage("bad aside", tool_calls=[call])] * 2))
    more = Turn([("ai", "bad one")], "bad one")

    class AlsoSays(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            response = handler(request)
            return ModelResponse([*added(more), *response.result], response.structured_response)

    middleware: Any = [GroundingMiddleware(JUDGE, **options(seen, retries=0, fallback=no_note))]
    if "message" in parts:
        middleware.append(AlsoSays())
    agent: Any = create_agent(model, middleware=middleware, response_format=ToolStrategy(Note))
    state = agent.invoke({"messages": ASKED})
    assert not REJECTED.search(str(state))
    expected = Note(text="none") if "message" in parts else Note(text="good one")
    assert state["structured_response"] == expected


class AsksTwice(AgentMiddleware):
    """A middleware that sends the agent back to its model after the first answer."""

    jumps = 0

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> Any:  # noqa: ARG002  as it is called
        self.jumps += 1
        return {"jump_to": "model"} if self.jumps == 1 else None


JUMPS = {
    "both good": (["good one", "good two"], ["good one", "good two"]),
    "the second bad": (["good one", "bad two"], ["good one", FALLBACK]),
}


@pytest.mark.parametrize("name", JUMPS)
def test_each_answer_of_an_agent_that_jumps_back_to_its_model_is_judged(name: str) -> None:
    drafts, texts = JUMPS[name]
    seen = Seen()
    guard = GroundingMiddleware(JUDGE, **options(seen, retries=0))
    middleware: Any = [AsksTwice(), guard]
    agent: Any = create_agent(Chat(messages=iter(map(AIMessage, drafts))), middleware=middleware)
    state = agent.invoke({"messages": ASKED})
    assert [entry.content for entry in state["messages"][1:]] == texts
    assert [outcome.drafts[0].response for outcome in seen.outcomes] == drafts


def test_each_turn_on_a_checkpointer_is_judged_by_what_it_adds() -> None:
    seen, saver = Seen(), InMemorySaver()
    drafts = ["good one", "bad two", "good three"]
    guard = GroundingMiddleware(JUDGE, **options(seen, retries=0))
    agent: Any = create_agent(
        Chat(messages=iter(map(AIMessage, drafts))), middleware=[guard], checkpointer=saver
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    for _ in drafts:
        agent.invoke({"messages": ASKED}, config)
    thread = agent.get_state(config).values["messages"]
    texts = [entry.content for entry in thread if entry.type == "ai"]
    assert texts == ["good one", FALLBACK, "good three"]
    assert [outcome.drafts[0].response for outcome in seen.outcomes] == drafts


# --- OpenAI Agents ----------------------------------------------------------------------------------------


async def test_run_of_openai_gives_the_message_that_was_judged_and_no_other() -> None:
    seen = Seen()
    model = ScriptedClerk(["bad aside", None], ["bad commentary", "good one"])
    agent = agents.Agent(name="clerk", model=model, tools=[openai_hours])
    run = await guarded_run(agent, QUERY, JUDGE, **options(seen))
    assert run.final_output == "good one"
    assert not REJECTED.search(str(run.input_list))
    assert [outcome.drafts[0].response for outcome in seen.outcomes] == ["good one"]


GUARDRAILS: Mapping[str, tuple[Sequence[str], str]] = {
    "one message": (["good one"], "good one"),
    "two messages, the first bad": (["bad one", "good two"], "bad one\n\ngood two"),
    "two messages, good": (["good one", "good two"], "good one\n\ngood two"),
}


@pytest.mark.parametrize("name", GUARDRAILS)
async def test_output_guardrail_judges_all_messages_of_the_last_reply(name: str) -> None:
    texts, judged = GUARDRAILS[name]
    seen = Seen()
    hooks = GroundingHooks(JUDGE, **options(seen))
    agent = agents.Agent(name="clerk", model=ScriptedClerk(texts), output_guardrails=[hooks.guardrail])
    run = agents.Runner.run(agent, QUERY, hooks=hooks)
    if "bad" in judged:
        with pytest.raises(agents.OutputGuardrailTripwireTriggered):
            await run
    else:
        await run
    assert [outcome.drafts[0].response for outcome in seen.outcomes] == [judged]


STRUCTURED: Mapping[str, tuple[Any, Any]] = {
    "strings": (list[str], ["good one", "bad two"]),
    "models like blocks": (list[Note], [{"text": "good one", "note": "bad two"}]),
    "models like a model's reasoning": (list[Note], [{"text": "bad one", "type": "reasoning"}]),
    "models like an image": (list[Note], [{"text": "bad one", "type": "image"}]),
    "a mapping": (dict[str, str], {"text": "good one", "note": "bad two"}),
    "a model": (Note, {"text": "good one", "note": "bad two"}),
}


@pytest.mark.parametrize("name", STRUCTURED)
async def test_structured_output_is_judged_whole(name: str) -> None:
    output_type, data = STRUCTURED[name]

    def answer(_: object, info: Any) -> Any:
        arguments = data if output_type is Note else {"response": data}
        call = pydantic_messages.ToolCallPart(info.output_tools[0].name, arguments)
        return pydantic_messages.ModelResponse(parts=[pydantic_messages.TextPart("bad aside"), call])

    seen = Seen()
    agent: Any = PydanticAgent(PydanticModel(answer), output_type=output_type)
    agent.output_validator(grounding_validator(JUDGE, **options(seen, retries=0)))
    result = await agent.run(QUERY)
    assert result.output == FALLBACK
    assert not REJECTED.search(str(result.all_messages()))
    (outcome,) = seen.outcomes
    assert REJECTED.search(str(outcome.drafts[0].response))
    assert "aside" not in str(outcome.drafts[0].response)


TEXT, THINKING = pydantic_messages.TextPart, pydantic_messages.ThinkingPart
NATIVE = pydantic_messages.NativeToolCallPart("web_search", {}, tool_call_id="2")
RESULT = pydantic_messages.NativeToolReturnPart("web_search", "found", tool_call_id="2")
REPLIES: Mapping[str, Sequence[Sequence[Any]]] = {
    "text beside a call": [
        [TEXT("bad aside"), pydantic_messages.ToolCallPart("hours", {})],
        [TEXT("good one")],
    ],
    "text before a tool of the provider": [[TEXT("bad aside"), NATIVE, RESULT, TEXT("good one")]],
    "text before the calls of a provider that come last": [[TEXT("good one"), NATIVE, RESULT]],
    "an answer in two parts": [[THINKING("hm"), TEXT("good "), TEXT("one")]],
    "a reply without text, which pydantic-ai refuses": [[THINKING("bad thought")], [TEXT("good one")]],
    "a draft, then text beside a call": [
        [TEXT("bad draft")],
        [TEXT("bad aside"), pydantic_messages.ToolCallPart("hours", {})],
        [TEXT("good one")],
    ],
}


@pytest.mark.parametrize("name", REPLIES)
async def test_run_of_pydantic_ai_keeps_no_text_that_was_not_judged(name: str) -> None:
    replies = iter(REPLIES[name])

    def answer(*_: object) -> Any:
        return pydantic_messages.ModelResponse(parts=list(next(replies)))

    seen = Seen()
    agent = PydanticAgent(PydanticModel(answer), retries={"output": 2})

    @agent.tool_plain(name="hours")
    def _() -> str:
        return SOURCE

    agent.output_validator(grounding_validator(JUDGE, **options(seen)))
    history: list[Any] = [
        pydantic_messages.ModelRequest(parts=[pydantic_messages.UserPromptPart(EARLIER[0][1])]),
        pydantic_messages.ModelResponse(parts=[TEXT(EARLIER[1][1])]),
    ]
    result = await agent.run(QUERY, message_history=history)
    assert result.output == "good one"
    assert not REJECTED.search(str(result.all_messages()))
    assert EARLIER[1][1] in str(result.all_messages())
    assert [outcome.response for outcome in seen.outcomes] == ["good one"]


async def test_text_that_pydantic_ai_refuses_goes_with_the_message_that_says_so() -> None:
    replies = iter(["bad, no JSON", '{"text": "good one"}'])

    def answer(*_: object) -> Any:
        return pydantic_messages.ModelResponse(parts=[TEXT(next(replies))])

    seen = Seen()
    agent: Any = PydanticAgent(PydanticModel(answer), output_type=NativeOutput(Note), retries={"output": 2})
    agent.output_validator(grounding_validator(JUDGE, **options(seen)))
    result = await agent.run(QUERY)
    assert result.output == Note(text="good one")
    assert [entry.kind for entry in result.all_messages()] == ["request", "response"]
    assert not REJECTED.search(str(result.all_messages()))


async def test_output_that_a_function_makes_of_text_is_what_is_judged() -> None:
    def answer(*_: object) -> Any:
        return pydantic_messages.ModelResponse(parts=[TEXT("GOOD ONE")])

    seen = Seen()

    def lower(text: str) -> str:
        return text.lower()

    agent: Any = PydanticAgent(PydanticModel(answer), output_type=TextOutput(lower))
    agent.output_validator(grounding_validator(JUDGE, **options(seen)))
    assert (await agent.run(QUERY)).output == "good one"
    assert [outcome.response for outcome in seen.outcomes] == ["good one"]


@pytest.mark.parametrize("judge", ["groundedness", JUDGE], ids=["a name", "a judge"])
def test_a_judge_in_the_place_of_the_chain_is_refused(judge: Any) -> None:
    with pytest.raises(TypeError, match="add_guard takes the chain first and the judge second"):
        add_guard(judge, "groundedness")
