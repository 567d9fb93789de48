"""A guard judges all that an application newly says, in every shape; what it does not judge goes nowhere."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

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
    BaseMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from openai_clerk import ScriptedClerk, openai_hours
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput, TextOutput
from pydantic_ai import messages as pydantic_messages
from pydantic_ai.models.function import FunctionModel as PydanticModel

from groundjudge import Case
from groundjudge.adapters.langchain_agents import GroundingMiddleware
from groundjudge.adapters.openai_agents import guarded_run
from groundjudge.adapters.pydantic_ai import grounding_validator
from groundjudge.judging.guard import Outcome, as_guard

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

ASKED = [("user", QUERY)]


class Note(BaseModel):
    """A part of a structured answer, which looks like a block of a message."""

    text: str
    type: str = "text"
    note: str = ""


def no_note(_: object) -> Note:
    return Note(text="none")


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


@pytest.mark.parametrize(
    ("name", "run"), [*zip(CORE_TURNS, cycle([run_exchange, run_case, run_regenerated]), strict=False)]
)
def test_guard_judges_every_message_of_a_response(name: str, run: Any) -> None:
    """Here also the text beside calls is judged, because nothing is taken out of what the caller returns."""
    turn = CORE_TURNS[name]
    assert run(turn, Seen()).replaced is not turn.is_good


def test_text_beside_a_call_is_judged_where_it_is_not_taken_out() -> None:
    outcome = run_exchange(TURNS["text beside a call"], Seen())
    assert outcome.drafts[0].response == "bad aside\n\ngood one"
    assert outcome.replaced


class Answers(BaseModel):
    """What a chain may return."""

    answer: str
    messages: list[Any] = []
    note: str = ""


GOOD, BAD = AIMessage("good one"), AIMessage("bad one")
OUTPUTS: Mapping[str, tuple[Any, str | None]] = {
    "a string": ("bad one", "bad one"),
    "a message": (BAD, "bad one"),
    "a tuple of messages": ((BAD, GOOD), "bad one\n\ngood one"),
    "messages as mappings": ([{"role": "assistant", "content": "bad one"}, GOOD], "bad one\n\ngood one"),
    "the messages that went in, and a new one": (
        {"messages": [HumanMessage(QUERY), AIMessage("bad, says an old answer"), HumanMessage("And?"), GOOD]},
        "good one",
    ),
    "a good answer and a bad message": ({"answer": "good one", "messages": [BAD]}, "bad one\n\ngood one"),
    "a bad answer and a good message": ({"answer": "bad one", "messages": [GOOD]}, "good one\n\nbad one"),
    "an answer and the same message": ({"answer": "good one", "messages": [GOOD]}, "good one"),
    "a model with an answer and messages": (
        Answers(answer="good one", messages=[BAD]),
        "bad one\n\ngood one",
    ),
    "a blank answer and a bad one": ({"answer": "", "output": "bad one"}, "bad one"),
    "two answers that differ": ({"answer": "good one", "output": "bad one"}, None),
    "two answers that differ, and a message": (
        {"answer": "good one", "output": "bad one", "messages": [GOOD]},
        None,
    ),
    "a missing answer and a message": ({"answer": None, "messages": [GOOD]}, None),
    "a mapping without an answer": ({"text": "bad one"}, None),
    "a list of strings": (["bad one", "good two"], None),
    "messages inside an answer": ({"result": {"messages": [BAD, GOOD]}}, None),
    "a boolean": (True, None),
}
"""What an application returns, and what is judged of it; None: the shape is an error of the judge."""


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_shape_of_an_output_is_judged_whole_or_not_at_all(name: str) -> None:
    outputs, judged = OUTPUTS[name]
    asked: Any = [HumanMessage(QUERY)]
    if "went in" in name:
        asked = outputs["messages"][:-1]
    guard = as_guard(JUDGE, **options(Seen(), retries=0))
    outcome = guard.run(guard.case({"messages": asked}, outputs))
    if judged is None:
        assert outcome.reason == "not_judged"
    else:
        assert outcome.drafts[0].response == judged
        assert outcome.reason == ("fallback" if "bad" in judged else "passed")


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


IN_ONE_REPLY = (
    *("two answers, the first bad", "two answers, the last bad", "an answer before a call that is open"),
    *("a call alone", "text beside a call alone"),
)


@pytest.mark.parametrize("name", IN_ONE_REPLY)
def test_every_answer_in_one_reply_of_an_agent_is_judged(name: str) -> None:
    turn, seen, saver = TURNS[name], Seen(), InMemorySaver()
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


ASIDE_CONTENTS: Mapping[str, tuple[Any, str]] = {
    "text": ("bad aside", "sync"),
    "blocks": (
        [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "bad aside"},
            {"type": "tool_use", "id": "1", "name": "hours", "input": {}},
        ],
        "async",
    ),
    "text blocks": ([{"type": "text", "text": "bad aside"}, "bad aside"], "sync"),
}


@pytest.mark.parametrize(("content", "how"), ASIDE_CONTENTS.values(), ids=ASIDE_CONTENTS)
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


STRUCTURED: Mapping[str, tuple[Any, Any]] = {
    "strings": (list[str], ["good one", "bad two"]),
    "models like blocks": (list[Note], [{"text": "good one", "note": "bad two"}]),
    "models like a model's reasoning": (list[Note], [{"text": "bad one", "type": "reasoning"}]),
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
