"""One table at the core and at all adapters that guard answers: the same decisions everywhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from traceback import format_exception
from typing import Any

import agents
import pytest
from crossed import crossed
from guard_table import FALLBACK, QUERY, REPLIES, ROWS, SOURCE, Row, Seen, judge
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from openai_clerk import ScriptedClerk, openai_hours
from planted_keys import PATHS, leaks_in, plant_keys
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput
from pydantic_ai import messages as pydantic_messages
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.models.function import FunctionModel as PydanticModel

from groundjudge import GroundjudgeError, GuardError, Reply
from groundjudge.adapters.langchain_agents import GroundingMiddleware, guarded
from groundjudge.adapters.openai_agents import guarded_run
from groundjudge.adapters.pydantic_ai import grounding_validator
from groundjudge.judging.guard import NOTE, as_guard
from groundjudge.types import Request

JUDGE = "groundedness"


Guarded = Callable[[Row, Seen, str], object]
"""What an application with a guard sends, for a row of the table; the last argument is "sync" or "async"."""


def run_agent(agent: Any, agent_input: Any, how: str) -> Any:
    """What a runnable of LangChain returns."""
    return asyncio.run(agent.ainvoke(agent_input)) if how == "async" else agent.invoke(agent_input)


def check_shown(row: Row, output: object) -> None:
    """Nothing that was rejected is in what an application keeps."""
    for word in row.rejected:
        assert word not in str(output)


agents.set_tracing_disabled(disabled=True)
pytestmark = pytest.mark.usefixtures("current_event_loop")  # which pydantic-ai would leave open


PROMPTS: list[str] = []
"""What the models of the applications were asked."""


def core(row: Row, decisions: Seen, how: str) -> object:
    guard = as_guard(JUDGE, **decisions.options(row))
    drafts = iter(row.drafts)
    PROMPTS.append(QUERY)
    case = {"query": QUERY, "context": [SOURCE] * row.uses_tool, "response": next(drafts)}

    def again(note: str, _: object) -> str:
        PROMPTS.append(note)
        return next(drafts)

    if how == "async":
        return asyncio.run(guard.arun(case, again)).response
    return guard.run(case, again).response


class Chat(GenericFakeChatModel):
    """A chat model that needs to be told of no tools and no format."""

    def bind_tools(self, *_: Any, **__: Any) -> Chat:
        return self

    def bind(self, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, *arguments: Any, **options: Any) -> Any:
        PROMPTS.append(str(messages))
        return super()._generate(messages, *arguments, **options)


@tool
def hours() -> str:
    """When the library opens."""
    return SOURCE


def chat(row: Row) -> Chat:
    messages = [AIMessage(draft) for draft in row.drafts]
    if row.uses_tool:
        messages.insert(0, AIMessage("", tool_calls=[{"name": "hours", "args": {}, "id": "1"}]))
    return Chat(messages=iter(messages))


def question(row: Row) -> dict[str, Any]:
    return {"messages": [*row.turns, ("user", QUERY)]}


def middleware(row: Row, decisions: Seen, how: str) -> object:
    agent: Any = create_agent(
        chat(row), [hours], middleware=[GroundingMiddleware(JUDGE, **decisions.options(row))]
    )
    state = run_agent(agent, question(row), how)
    assert state["verdict"] == decisions.outcomes[0].summary
    return state["messages"][-1].content


def chain(row: Row, decisions: Seen, how: str) -> object:
    drafts = iter(row.drafts)

    def answer(prompt: object) -> str:
        PROMPTS.append(str(prompt))
        return next(drafts)

    runnable = guarded(RunnableLambda(answer), JUDGE, **decisions.options(row))
    row_input = {"query": QUERY, "context": [SOURCE] * row.uses_tool}
    return run_agent(runnable, row_input, how)


def graph(row: Row, decisions: Seen, how: str) -> object:
    """A graph whose node runs the guard itself."""
    model = chat(row)
    guard = as_guard(JUDGE, **decisions.options(row))

    def look_up(_: object) -> Any:
        if not row.uses_tool:
            return {}
        call = model.invoke("look it up")
        PROMPTS.pop()
        return {"messages": [call, ToolMessage(SOURCE, tool_call_id="1")]}

    def ask(state: MessagesState, *retry: Any) -> BaseMessage:
        return model.invoke([*state["messages"], *retry])

    def answer(state: MessagesState) -> Any:
        def ask_again(note: str, _: object) -> str:
            return ask(state, ("user", note)).text

        outcome = guard.run(partial(guard.case, state, {"messages": [ask(state)]}), ask_again)
        return {"messages": [AIMessage(str(outcome.response))]}

    builder: Any = StateGraph(MessagesState)
    builder.add_sequence([look_up, answer])
    builder.add_edge(START, "look_up")
    state = run_agent(builder.compile(), question(row), how)
    check_shown(row, state)
    return state["messages"][-1].content


def pydantic_agent(row: Row, decisions: Seen, how: str) -> object:
    replies: Any = iter([*[None] * row.uses_tool, *row.drafts])

    def answer(*prompt: object) -> Any:
        PROMPTS.append(str(prompt))
        reply = next(replies)
        part: Any = (
            pydantic_messages.TextPart(reply) if reply else pydantic_messages.ToolCallPart("hours", {})
        )
        return pydantic_messages.ModelResponse(parts=[part])

    agent = PydanticAgent(PydanticModel(answer), retries={"output": 2})

    @agent.tool_plain(name="hours")
    def _() -> str:
        return SOURCE

    agent.output_validator(grounding_validator(JUDGE, **decisions.options(row)))
    history: list[Any] = []
    for role, text in row.turns:
        if role == "user":
            history.append(pydantic_messages.ModelRequest(parts=[pydantic_messages.UserPromptPart(text)]))
        else:
            history.append(pydantic_messages.ModelResponse(parts=[pydantic_messages.TextPart(text)]))
    if how == "async":
        result = asyncio.run(agent.run(QUERY, message_history=history))
    else:
        result = agent.run_sync(QUERY, message_history=history)
    check_shown(row, result.all_messages())
    assert result.all_messages()[-1].parts[0].content == result.output  # type: ignore[union-attr]
    return result.output


def openai_agent(row: Row) -> agents.Agent[Any]:
    model = ScriptedClerk(*[[None]] * row.uses_tool, *([draft] for draft in row.drafts), prompts=PROMPTS)
    return agents.Agent(name="clerk", model=model, tools=[openai_hours])


def openai(row: Row, decisions: Seen, _: str, agent: agents.Agent[Any] | None = None) -> object:
    turns: Any = [{"role": role, "content": text} for role, text in row.turns]
    turns.append({"role": "user", "content": QUERY})
    guarded_agent = agent or openai_agent(row)
    options = decisions.options(row)
    run = asyncio.run(guarded_run(guarded_agent, turns, JUDGE, **options))
    check_shown(row, run.input_list)
    return run.final_output


ADAPTERS: Sequence[Guarded] = [middleware, chain, pydantic_agent, openai]
GUARDS: Sequence[Guarded] = [core, graph, *ADAPTERS]


AT_ADAPTERS = (
    *("bad twice", "judge refuses, allowed", "blank answer"),
    *("blank context", "several turns", "observed"),
)
"""The rows in which an application has a part; the others are decided by the core alone."""


@pytest.mark.parametrize("how", [pytest.param("sync", marks=pytest.mark.soak), "async"])
@pytest.mark.parametrize("guard", GUARDS)
def test_same_decision_everywhere_by_what_the_tools_returned(guard: Guarded, how: str) -> None:
    for name in ROWS if guard is core else AT_ADAPTERS:
        row = ROWS[name]

        def judging(request: Request, uses_tool: object = row.uses_tool) -> Reply:
            assert (SOURCE in str(request.messages)) is uses_tool
            return judge(request)

        decisions = Seen()
        decisions.check(row, guard(replace(row, options={"model": judging, **row.options}), decisions, how))
        n_drafts = len(row.drafts)
        have_note = [NOTE[:40] in prompt for prompt in PROMPTS[-n_drafts:]]
        assert have_note == [False] + [True] * (n_drafts - 1)


def test_chain_is_asked_again_with_its_draft_and_the_note() -> None:
    row = ROWS["bad then good"]
    turns = [("user", QUERY)]
    for chain_input in (turns, {"messages": turns}):
        prompts: list[Any] = []
        drafts = iter(row.drafts)

        def write_draft(given: Any, prompts: list[Any] = prompts, drafts: Any = drafts) -> Any:
            prompts.append(given["messages"] if isinstance(given, dict) else given)
            return next(drafts)

        options: Any = {**Seen().options(row), "optional": ["context"]}
        guarded(RunnableLambda(write_draft), JUDGE, **options).invoke(chain_input)
        user_message, draft_message, note = prompts[1]
        assert (user_message.content, draft_message.content) == (QUERY, "bad one")
        assert note.content.startswith(NOTE)


def raises(*_: object, **__: object) -> Any:
    raise LookupError


FIELDS = {"block": FALLBACK, "allow": "good one", "raise": LookupError}


@pytest.mark.parametrize(("on_error", "guard"), crossed(FIELDS.keys(), ADAPTERS))
def test_fields_that_cannot_be_found_follow_on_error(on_error: str, guard: Guarded) -> None:
    row = replace(ROWS["good"], options={"fields": raises, "on_error": on_error})
    decisions = Seen()
    if on_error == "raise":
        with pytest.raises(LookupError):
            guard(row, decisions, "sync")
        return
    assert guard(row, decisions, "sync") == FIELDS[on_error]
    assert [outcome.reason for outcome in decisions.outcomes] == ["not_judged"]


@pytest.mark.parametrize("guard", ADAPTERS)
def test_observing_never_stands_in_the_way(guard: Guarded) -> None:
    options = {"mode": "observe", "on_error": "raise", "fields": raises}
    assert guard(replace(ROWS["good"], options=options), Seen(), "sync") == "good one"


@pytest.mark.parametrize("guard", ADAPTERS)
def test_draft_is_blocked_if_the_fallback_cannot_be_made(guard: Guarded) -> None:
    with pytest.raises(GuardError, match="`fallback` raised LookupError"):
        guard(replace(ROWS["bad twice"], options={"fallback": raises}), Seen(), "sync")


class Answer(BaseModel):
    """What a structured answer is."""

    text: str


def structured_middleware(row: Row, decisions: Seen, how: str, strategy: Any = ToolStrategy) -> Any:
    messages: list[AIMessage] = []
    for number, draft in enumerate(row.drafts):
        data = {"text": draft}
        call = {"name": "Answer", "args": data, "id": str(number)}
        is_call = strategy is ToolStrategy
        messages.append(AIMessage("", tool_calls=[call]) if is_call else AIMessage(json.dumps(data)))
    model = Chat(messages=iter(messages))
    guard = GroundingMiddleware(JUDGE, **decisions.options(row))
    agent: Any = create_agent(model, [hours], middleware=[guard], response_format=strategy(Answer))
    state = run_agent(agent, question(row), how)
    check_shown(row, state)
    return state["structured_response"] or state["messages"][-1].content


def structured_by_the_provider(row: Row, decisions: Seen, how: str) -> Any:
    return structured_middleware(row, decisions, how, ProviderStrategy)


def structured_pydantic_agent(row: Row, decisions: Seen, how: str, output_type: Any = Answer) -> Any:
    drafts = iter(row.drafts)

    def answer(_: object, info: AgentInfo) -> Any:
        data = {"text": next(drafts)}
        part: Any = pydantic_messages.TextPart(json.dumps(data))
        if info.output_tools:
            part = pydantic_messages.ToolCallPart(info.output_tools[0].name, data)
        return pydantic_messages.ModelResponse(parts=[part])

    agent: Any = PydanticAgent(PydanticModel(answer), output_type=output_type, retries={"output": 2})
    agent.output_validator(grounding_validator(JUDGE, **decisions.options(row)))
    result = asyncio.run(agent.run(QUERY)) if how == "async" else agent.run_sync(QUERY)
    check_shown(row, result.all_messages())
    responses = [message for message in result.all_messages() if message.kind == "response"]
    (part,) = responses[-1].parts
    if isinstance(part, pydantic_messages.ToolCallPart):
        is_data = isinstance(result.output, Answer)
        assert part.args == (dict(result.output) if is_data else {"response": result.output})
    return result.output


def structured_as_text(row: Row, decisions: Seen, how: str) -> Any:
    return structured_pydantic_agent(row, decisions, how, NativeOutput(Answer))


def structured_openai_agent(row: Row, decisions: Seen, how: str) -> Any:
    drafts = [json.dumps({"text": draft}) for draft in row.drafts]
    agent = agents.Agent(
        name="clerk", model=ScriptedClerk(*([draft] for draft in drafts), prompts=PROMPTS), output_type=Answer
    )
    return openai(row, decisions, how, agent)


def judge_of_data(request: Request) -> Reply:
    """A judge that sees structured answers as JSON, and neither a note nor a call of the output tool."""
    assert NOTE not in str(request.messages)
    for document in request.case.context or ():
        assert "good" not in document.content
        assert "bad" not in document.content
    reply = REPLIES[json.loads(request.case.response_text)["text"].partition(" ")[0]]
    assert isinstance(reply, Reply)
    return reply


def no_answer(_: object) -> Answer:
    return Answer(text="no")


STRUCTURED: Mapping[str, tuple[Row, object]] = {
    "bad then good": (Row(["bad one", "good two"], "regenerated", "good two"), Answer(text="good two")),
    "bad twice": (
        Row(["bad one", "bad two"], "fallback", FALLBACK, options={"fallback": no_answer}),
        Answer(text="no"),
    ),
    "bad twice, a text instead": (Row(["bad one", "bad two"], "fallback", FALLBACK), FALLBACK),
}


@pytest.mark.parametrize(
    ("name", "guard"),
    crossed(
        STRUCTURED.keys(),
        [
            structured_middleware,
            structured_by_the_provider,
            structured_pydantic_agent,
            structured_as_text,
            structured_openai_agent,
        ],
    ),
)
def test_structured_answers_are_judged_like_others(name: str, guard: Guarded) -> None:
    row, answer = STRUCTURED[name]
    row = replace(row, options={"model": judge_of_data, **row.options})
    decisions = Seen()
    assert guard(row, decisions, "sync") == answer
    assert [outcome.reason for outcome in decisions.outcomes] == [row.reason]


def test_structured_answer_that_langchain_cannot_read_is_not_judged() -> None:
    """LangChain asks for it again."""
    row = replace(ROWS["good"], options={"model": judge_of_data})
    decisions = Seen()
    calls = [{"name": "Answer", "args": args, "id": str(args)} for args in ({}, {"text": "good one"})]
    model = Chat(messages=iter([AIMessage("", tool_calls=[call]) for call in calls]))
    guard = GroundingMiddleware(JUDGE, **decisions.options(row))
    agent: Any = create_agent(model, middleware=[guard], response_format=ToolStrategy(Answer))
    assert agent.invoke(question(row))["structured_response"] == Answer(text="good one")
    assert [len(outcome.drafts) for outcome in decisions.outcomes] == [1]


@pytest.mark.parametrize("argument", ["session", "conversation_id"])
async def test_guarded_run_takes_nothing_that_keeps_drafts(argument: str) -> None:
    with pytest.raises(ValueError, match=argument):
        await guarded_run(openai_agent(ROWS["good"]), QUERY, JUDGE, model=judge, run={argument: "1"})


async def test_arguments_that_are_none_keep_no_drafts() -> None:
    row, decisions = ROWS["good"], Seen()
    nothing = {"session": None, "conversation_id": None}
    run = await guarded_run(openai_agent(row), QUERY, JUDGE, run=nothing, **decisions.options(row))
    assert run.final_output == row.response


@pytest.mark.parametrize("drafts", [[], [["bad one"]]], ids=["at first", "after a draft was rejected"])
async def test_guarded_run_that_waits_for_approval_has_no_answer(drafts: list[list[str]]) -> None:
    tool = agents.function_tool(lambda: SOURCE, name_override="hours", needs_approval=True)
    agent = agents.Agent(name="clerk", model=ScriptedClerk(*drafts, [None]), tools=[tool])
    decisions = Seen()
    run = await guarded_run(agent, QUERY, JUDGE, **decisions.options(ROWS["good"]))
    assert (len(run.result.interruptions), run.final_output, run.outcome) == (1, None, None)
    kinds = [item.get("type", item.get("role")) for item in run.input_list]
    assert kinds == ["user", "function_call"]


async def test_next_turn_of_a_guarded_run_has_the_sources_of_the_last() -> None:
    row, decisions = ROWS["bad then good"], Seen()
    agent = openai_agent(replace(row, drafts=[*row.drafts, "good three"]))
    first = await guarded_run(agent, QUERY, JUDGE, **decisions.options(row))
    messages: Any = [*first.input_list, {"role": "user", "content": QUERY}]
    second = await guarded_run(agent, messages, JUDGE, **decisions.options(row))
    kinds = [message.get("type", message.get("role")) for message in second.input_list]
    first_turn = ["user", "function_call", "function_call_output", "assistant"]
    assert kinds == [*first_turn, "user", "assistant"]
    assert SOURCE in str(decisions.outcomes[1].drafts[0].case)


@pytest.mark.parametrize(
    ("guard", "place", "fault"),
    [(guard, *path) for guard, path in zip([core, *ADAPTERS], PATHS, strict=True)],
)
def test_no_key_in_what_a_guard_hands_over(
    guard: Guarded,
    place: str,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "groundjudge")
    outputs: list[object] = []
    with plant_keys(place, fault, monkeypatch) as model:
        for on_error in ("block", "raise"):
            decisions = Seen()
            row = replace(ROWS["good"], options={"model": model, "on_error": on_error})
            try:
                outputs += [guard(row, decisions, "sync"), decisions.outcomes]
            except GroundjudgeError as error:
                outputs += format_exception(error)
    assert outputs
    assert not leaks_in(f"{outputs} {caplog.text}")
