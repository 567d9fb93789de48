"""What users of LangChain and LangGraph may never see: rejected drafts, notes and the judge's words.

They are looked for in every chunk of every stream, in the state, and in the checkpoints.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest
from formatter import sure
from guard_table import FALLBACK, QUERY, WORD
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]

from groundjudge import GuardError, Reply
from groundjudge.adapters.langchain_agents import GroundingMiddleware, guarded
from groundjudge.judging.guard import as_guard
from groundjudge.types import Request

REJECTED = re.compile(rf"\bbad\b|{WORD}|not sent|Keep what|sources say")
MODES = ["messages", "updates", "values", "custom"]
JUDGED = {"good": "5", "bad": "1"}


def chat(*replies: str) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=iter(map(AIMessage, replies)))


def reply(request: Request) -> str:
    score = JUDGED[request.case.response_text.partition(" ")[0]]
    return f"<S1>{WORD} here</S1>{sure(score)}"


async def by_a_chat_model(request: Request) -> Reply:
    """A function that asks a chat model of LangChain."""
    message = await chat(reply(request)).with_config(run_name="model").ainvoke("judge it")
    return Reply(str(message.content))


class JudgesChat(GenericFakeChatModel):
    """A chat model that judges, as LangChain's users pass one."""

    messages: Any = iter(())

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        score = "1" if re.search(r"\bbad\b", str(messages[-1].content)) else "5"
        self.messages = iter([AIMessage(f"<S1>{WORD} here</S1>{sure(score)}")])
        return super()._generate(messages, *args, **kwargs)


MODELS: Mapping[str, Callable[[], Any]] = {"function": lambda: by_a_chat_model, "chat model": JudgesChat}


def function(drafts: tuple[str, ...]) -> Any:
    model = chat(*drafts)

    def answer(state: Any) -> Any:
        message = model.invoke(state["messages"])
        get_stream_writer()(f"custom: {message.content}")
        return message

    return answer


def lcel(drafts: tuple[str, ...]) -> Runnable[Any, Any]:
    prompt = ChatPromptTemplate([("placeholder", "{messages}")])
    return prompt.with_config(run_name="prompt") | chat(*drafts) | StrOutputParser()


def with_a_graph(drafts: tuple[str, ...]) -> Runnable[Any, Any]:
    agent: Any = create_agent(chat(*drafts))  # pyright: ignore[reportUnknownVariableType]
    chain: Runnable[Any, Any] = agent | RunnableLambda[Any, Any](
        lambda state: state["messages"][-1], name="parser"
    )
    return chain


class WritesToTheStream(AgentMiddleware):
    """A middleware inside the guard that shows each answer of the model at once."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return self.write_to_stream(request, handler(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return self.write_to_stream(request, await handler(request))

    @staticmethod
    def write_to_stream(request: Any, response: Any) -> Any:
        for write in (get_stream_writer(), request.runtime.stream_writer):
            write(f"custom: {response.result[-1].content}")
        return response


def guarded_chain(chain: Any, model: Any) -> Runnable[Any, Any]:
    """A node that asks a guarded chain."""
    return guarded(chain, "groundedness", model=model, fallback=FALLBACK) | as_update


@RunnableLambda
def as_update(answer: Any) -> Any:
    """The update of a graph's state by a text or a message."""
    return {"messages": [AIMessage(text_of(answer))]}


def text_of(answer: Any) -> Any:
    return answer if isinstance(answer, str) else answer.text


def guard_in_a_node(drafts: tuple[str, ...], model: Any) -> Any:
    """A node that calls `Guard.run`, as the page on guards shows it."""
    guard = as_guard("groundedness", model=model, fallback=FALLBACK)
    writer = chat(*drafts).with_config(tags=["nostream"])

    def answer(state: Any) -> Any:
        def write_again(note: str, _: object) -> str:
            return writer.invoke([*state["messages"], ("user", note)]).text

        draft = writer.invoke(state["messages"])
        outcome = guard.run(guard.case(state, {"messages": [draft]}), write_again)
        return as_update.invoke(outcome.response)

    return answer


CHAINS = [function, lcel, with_a_graph]
NAMES = "model prompt guarded RunnableSequence GenericFakeChatModel".split()
DRAFTS = {"bad then good": ("bad one", "good two"), "bad twice": ("bad one", "bad two")}


def node(name: str, step: Any, saver: InMemorySaver) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node(name, step)  # pyright: ignore[reportUnknownMemberType]
    graph.add_edge(START, name)
    graph.add_edge(name, END)
    return graph.compile(checkpointer=saver)  # pyright: ignore[reportUnknownMemberType]


def chunks(graph: Any, how: str) -> list[Any]:
    question = {"messages": [("user", QUERY)]}
    config = {"configurable": {"thread_id": "1"}}
    options = {"stream_mode": MODES, "subgraphs": True}
    if how == "sync":
        return list(graph.stream(question, config, **options))

    async def collect_chunks() -> list[Any]:
        return [chunk async for chunk in graph.astream(question, config, **options)]

    return asyncio.run(collect_chunks())


def check(graph: Any, saver: InMemorySaver, drafts: tuple[str, ...], how: str) -> None:
    streamed_chunks = chunks(graph, how)
    state = graph.get_state({"configurable": {"thread_id": "1"}})
    assert [message.type for message in state.values["messages"]] == ["human", "ai"]
    assert state.values["messages"][-1].content == ("good two" if drafts[-1] == "good two" else FALLBACK)
    assert "messages" in {mode for _, mode, _ in streamed_chunks}
    history = list(graph.get_state_history(state.config))
    for place in (streamed_chunks, history, saver.storage, saver.writes, saver.blobs):
        assert not REJECTED.findall(str(place))


@pytest.mark.parametrize(
    ("model", "drafts", "how"),
    [
        ("function", "bad then good", "sync"),
        ("function", "bad twice", "async"),
        ("chat model", "bad then good", "async"),
        ("chat model", "bad twice", "sync"),
    ],
)
def test_agent_shows_nothing_rejected(model: str, drafts: str, how: str) -> None:
    saver = InMemorySaver()
    guard = GroundingMiddleware("groundedness", model=MODELS[model](), fallback=FALLBACK)
    middleware: Any = [guard, WritesToTheStream()]
    agent = create_agent(chat(*DRAFTS[drafts]), middleware=middleware, checkpointer=saver)
    check(agent, saver, DRAFTS[drafts], how)


# Every seventh row of the product has each name, chain, model and way; all rows are in soak.
NODES = [
    pytest.param(*row, ("sync", "async")[number % 2], marks=[pytest.mark.soak] if number % 7 else [])
    for number, row in enumerate(product(MODELS, CHAINS, NAMES))
]


@pytest.mark.parametrize(("model", "chain", "name", "how"), NODES)
def test_node_shows_nothing_rejected(model: str, chain: Any, name: str, how: str) -> None:
    for drafts in DRAFTS.values():
        saver = InMemorySaver()
        step = guarded_chain(chain(drafts), MODELS[model]())
        check(node(name, step, saver), saver, drafts, how)


@pytest.mark.parametrize(("drafts", "how"), [("bad then good", "sync"), ("bad twice", "async")])
def test_node_that_runs_a_guard_shows_nothing_rejected(drafts: str, how: str) -> None:
    saver = InMemorySaver()
    step = guard_in_a_node(DRAFTS[drafts], JudgesChat())
    check(node("answer", step, saver), saver, DRAFTS[drafts], how)


@pytest.mark.parametrize("chain", [lcel, with_a_graph])
def test_events_of_a_guarded_chain_show_nothing_rejected(chain: Any) -> None:
    step = guarded(chain(("bad one", "good two")), "groundedness", model=JudgesChat(), fallback=FALLBACK)

    async def collect_events() -> list[Any]:
        return [event async for event in step.astream_events({"messages": [("user", QUERY)]})]

    events = asyncio.run(collect_events())
    assert events[-1]["event"] == "on_chain_end"
    assert text_of(events[-1]["data"]["output"]) == "good two"
    assert not REJECTED.findall(str(events))


def test_tokens_of_what_is_only_observed_are_streamed_and_those_of_the_judge_are_not() -> None:
    guard = GroundingMiddleware("groundedness", model=JudgesChat(), mode="observe")
    agent = create_agent(chat("bad one"), middleware=[guard], checkpointer=InMemorySaver())
    streamed_chunks = chunks(agent, "sync")
    texts = [data[0].content for _, mode, data in streamed_chunks if mode == "messages"]
    assert texts[:3] == ["bad", " ", "one"]
    assert WORD not in str(streamed_chunks)


def test_blocked_answer_leaves_nothing_in_the_checkpoints() -> None:
    saver, guard = InMemorySaver(), GroundingMiddleware("groundedness", model=by_a_chat_model)
    with pytest.raises(GuardError) as raised:
        chunks(create_agent(chat("bad one", "bad two"), middleware=[guard], checkpointer=saver), "sync")
    assert [draft.response for draft in raised.value.outcome.drafts] == ["bad one", "bad two"]
    assert not REJECTED.findall(str([saver.storage, saver.writes, saver.blobs]))


def test_what_a_stream_shows_without_a_guard_would_be_found() -> None:
    saver = InMemorySaver()
    unguarded = node("answer", lcel(("bad one",)) | as_update, saver)
    with pytest.raises(AssertionError):
        check(unguarded, saver, ("bad one",), "sync")
    for middleware, mode in ([], "messages"), ([WritesToTheStream()], "custom"):
        streamed_chunks = chunks(create_agent(chat("bad one"), middleware=middleware), "sync")
        assert REJECTED.findall(str([data for _, kind, data in streamed_chunks if kind == mode]))
