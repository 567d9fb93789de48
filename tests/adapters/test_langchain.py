"""LangChain: judges as runnables, prompts and parsers; chat models as the models of judges."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any, TypedDict

import pytest
from adapters_table import outcome
from chats import LANGCHAIN, ON_TOPIC
from command_line import run_program
from formatter import sure
from langchain_core.documents import Document
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from pydantic import Field
from scripted_model import ScriptedModel
from sentence_cards import SENTENCE_CARDS

from groundjudge import (
    Case,
    CaseError,
    GroundjudgeError,
    ModelError,
    PromptError,
    Reply,
    ReplyError,
    Usage,
    Verdict,
    load,
    load_rubric,
    names,
    run,
)
from groundjudge.adapters.langchain import parser, prompt, runnable
from groundjudge.models.library import LibraryModel
from groundjudge.models.redaction import RedactedError

ROW: Mapping[str, Any] = {
    "id": "opening",
    "query": "When does the library open?",
    "context": [Document("The library opens at 9:00 on weekdays.", metadata={"title": "Opening hours"})],
    "response": "It opens at 9:00.",
}
GOOD = f"<S0>t</S0><S1>The hour is in the source.</S1>{sure(5)}"
POOR = f"<S0>t</S0><S1>The hour is wrong.</S1>{sure(2)}"
UNREADABLE = "I would say that it is fine."
NUMBERED = "1 | 1 | - | 10\nALL | 95"
QUOTING = "Statement Sentence: It opens at 9:00.\nSupporting Evidence: opens at 9:00\nScore: 10"
COUNTED = AIMessage(
    GOOD,
    usage_metadata={"input_tokens": 900, "output_tokens": 40, "total_tokens": 940},
    response_metadata={"finish_reason": "stop", "model_name": "answering-1-0613"},
)
CUT_OFF = AIMessage("<S0>Well, the", response_metadata={"finish_reason": "length"})

Row = Case | Mapping[str, Any]
Judging = Runnable[Row, Verdict]


GRACE = 0.005
"""Seconds in which a call that exceeds the concurrency would begin."""


class Together:
    """A model that answers no call before as many are in flight as there should be, and counts them."""

    name = "together"

    def __init__(self, number: int) -> None:
        self.number = number
        self.peak = 0
        self.now = 0

    async def acomplete(self, request: object) -> Reply:  # noqa: ARG002  as a model is called
        self.now += 1
        self.peak = max(self.peak, self.now)
        milliseconds = 0
        while self.peak < self.number and milliseconds < 5000:
            await asyncio.sleep(0.001)
            milliseconds += 1
        await asyncio.sleep(GRACE)
        self.now -= 1
        return Reply(GOOD)


class Answers(BaseChatModel):
    """Gives the next of its replies, which its copies share; raises those that are exceptions."""

    replies: Any

    @property
    def _llm_type(self) -> str:
        return "answers"

    def _generate(self, *_: Any, **call_options: Any) -> ChatResult:
        assert not {*call_options} - {"run_manager", "stop"}
        reply = self.reply()
        if isinstance(reply, Exception):
            raise reply
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, *arguments: Any, **call_options: Any) -> ChatResult:
        return self._generate(*arguments, **call_options)

    def reply(self) -> Any:
        return next(self.replies)


class WithSettings(Answers):
    """Has settings like the chat models of providers, and records those of each call."""

    model_name: str = "settings-1"
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    made_with: list[tuple[float | None, float | None, int | None]] = Field(default_factory=list[Any])

    def reply(self) -> Any:
        self.made_with.append((self.temperature, self.top_p, self.max_tokens))
        return super().reply()


class OnlyDefaultTemperature(WithSettings):
    """Refuses settings with the messages of real endpoints."""

    def reply(self) -> Any:
        reply = super().reply()
        if self.temperature is not None and self.top_p is not None:
            return HttpError(400, "`temperature` and `top_p` cannot both be specified for this model.")
        if self.temperature is not None:
            return HttpError(400, "Unsupported value: 'temperature' does not support 0 with this model.")
        return reply


class ClosedLoop(Answers):
    """Its async client belongs to a closed event loop, as reused clients often do."""

    async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
        message = "Event loop is closed"
        raise RuntimeError(message)


class HttpError(Exception):
    """An exception as raised by the clients of providers."""

    def __init__(self, status_code: int, message: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.code = code


def answers(*replies: Any, kind: Any = Answers, **settings: Any) -> Any:
    """A chat model that gives the replies in order and then repeats the last one."""
    return kind(replies=chain(replies, repeat(replies[-1])), **settings)


async def invoke(judging: Judging, row: Any, config: Any = None) -> Verdict:
    return judging.invoke(row, config)


async def ainvoke(judging: Judging, row: Any, config: Any = None) -> Verdict:
    return await judging.ainvoke(row, config)


async def astream(judging: Judging, row: Any) -> Verdict:
    (verdict,) = [verdict async for verdict in judging.astream(row)]
    return verdict


each_method = pytest.mark.parametrize("method", [invoke, ainvoke, astream])
sync_and_async = pytest.mark.parametrize("method", [invoke, ainvoke])

Method = Callable[..., Awaitable[Verdict]]


def raised_by(judging: Runnable[Any, Any], row: Any) -> GroundjudgeError:
    with pytest.raises(GroundjudgeError) as raised:
        judging.invoke(row)
    return raised.value


# --- runnables ----------------------------------------------------------------------------------


def test_models_and_options_of_load_are_accepted() -> None:
    judge = load("groundedness", model=ScriptedModel(POOR), threshold=0.25)
    assert runnable(judge).invoke(ROW).passed
    assert runnable(judge, llm=answers(GOOD)).invoke(ROW).score == 1
    with pytest.raises(ModelError, match="no_model"):
        runnable("groundedness")
    with pytest.raises(TypeError, match="pass one of them"):
        runnable("groundedness", model=answers(GOOD), llm=answers(GOOD))


# --- traces -------------------------------------------------------------------------------------


async def run_of(judging: Judging, method: Method) -> Any:
    """The root run that a tracer gets."""
    traces = RunCollectorCallbackHandler()
    with suppress(GroundjudgeError):
        await method(judging, ROW, {"callbacks": [traces], "tags": ["mine"], "metadata": {"team": "search"}})
    (root_run,) = traces.traced_runs
    return root_run


STEPS = ["groundjudge.ask", "groundjudge.call", "groundjudge.read"]
READ, NOT_READ = "ask call read", "ask call read!"
"""The steps of an attempt; those with an exclamation mark failed."""


@pytest.mark.parametrize(
    ("method", "replies", "children"),
    [
        pytest.param(ainvoke, [GOOD], READ, id="a reply"),
        pytest.param(invoke, [UNREADABLE, GOOD], f"{NOT_READ} {READ}", id="a reply that is asked for again"),
        pytest.param(ainvoke, [UNREADABLE], f"{NOT_READ} {NOT_READ}", id="no reply can be read"),
        pytest.param(invoke, [TimeoutError()], "ask call!", id="no reply"),
    ],
)
async def test_trace_shows_each_step_of_each_attempt(
    method: Method, replies: list[Any], children: str
) -> None:
    root_run = await run_of(runnable("groundedness", llm=answers(*replies)), method)
    assert root_run.name == "groundedness"
    steps = [f"{child.name}{'!' if child.error else ''}" for child in root_run.child_runs]
    assert steps == [f"groundjudge.{step}" for step in children.split()]
    assert {child.parent_run_id for child in root_run.child_runs} == {root_run.id}
    models = [child for child in root_run.child_runs if child.name == "groundjudge.call"]
    assert [[run.run_type for run in child.child_runs] for child in models] == [["llm"]] * len(models)
    for run_or_step in (root_run, *root_run.child_runs):
        assert "mine" in (run_or_step.tags or [])
        assert run_or_step.metadata["team"] == "search"


async def test_groundjudge_model_is_traced() -> None:
    reply = Reply(GOOD, "stop", Usage(prompt_tokens=3, completion_tokens=2), "scripted-1")
    root_run = await run_of(runnable("groundedness", llm=ScriptedModel(reply)), ainvoke)
    assert [child.name for child in root_run.child_runs] == STEPS
    ask_step, call, read_step = root_run.child_runs
    assert isinstance(ask_step.outputs["output"], ChatPromptValue)
    assert isinstance(read_step.outputs["output"], Verdict)
    assert (call.run_type, call.extra["metadata"]["ls_model_name"]) == ("llm", "scripted")
    ((generation,),) = call.outputs["generations"]
    assert generation["text"] == GOOD
    assert generation["message"]["kwargs"]["usage_metadata"]["total_tokens"] == 5


async def test_each_vote_is_a_child_run_with_its_steps_inside() -> None:
    llm = answers(GOOD, TimeoutError(), GOOD)
    root_run = await run_of(runnable("groundedness", llm=llm, repeats=3, stop="never"), invoke)
    steps_of_votes: dict[str, list[str]] = {}
    for vote in root_run.child_runs:
        steps_of_votes[vote.name] = [step.name for step in vote.child_runs]
    assert steps_of_votes == {
        "groundjudge.vote 1": STEPS,
        "groundjudge.vote 2": STEPS[:2],
        "groundjudge.vote 3": STEPS,
    }
    assert [bool(vote.error) for vote in root_run.child_runs] == [False, True, False]
    assert root_run.error is None
    calls = [vote.child_runs[1].child_runs for vote in root_run.child_runs]
    assert [[run.run_type for run in inside] for inside in calls] == [["llm"]] * 3


# --- in LangGraph -------------------------------------------------------------------------------


class State(TypedDict, total=False):
    query: str
    context: list[str]
    response: str
    reason: str
    label: str
    score: float
    verdict: Verdict


STATE: State = {"query": "q", "context": ["c"], "response": "r", "reason": "mine", "label": "l", "score": 7.0}
JUDGES: Mapping[str, Callable[[], Any]] = {
    "a chat model": lambda: GenericFakeChatModel(messages=iter([GOOD])),
    "a chat model with retries": lambda: GenericFakeChatModel(messages=iter([GOOD])).with_retry(),
    "a model": lambda: ScriptedModel(Reply(GOOD)),
}
NODES = ("gate", "model", "groundedness")


def graph(name: str, node: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node(name, node)  # pyright: ignore[reportUnknownMemberType]
    builder.add_edge(START, name)
    builder.add_edge(name, END)
    return builder.compile()  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize(("model", "node"), [*zip(cycle(JUDGES), NODES, strict=False)])
async def test_graph_streams_nothing_of_the_judge_and_keeps_its_state(model: str, node: str) -> None:
    def gate() -> Any:
        return graph(node, runnable("groundedness", model=JUDGES[model](), output="verdict"))

    assert list(gate().stream(STATE, stream_mode="messages")) == []
    assert [chunk async for chunk in gate().astream(STATE, stream_mode="messages")] == []
    (update,) = gate().stream(STATE, stream_mode="updates")
    assert [*update[node]] == ["verdict"]
    after = await gate().ainvoke(STATE)
    verdict = after.pop("verdict")
    assert (verdict.score, after) == (1, STATE)


@pytest.mark.parametrize("on_error", ["raise", "verdict"])
@pytest.mark.parametrize("key", ["gate", ""], ids=["a name", "an empty name"])
def test_output_is_the_key_of_the_verdict(on_error: Any, key: str) -> None:
    judging = runnable("groundedness", model=ScriptedModel(GOOD), output=key, on_error=on_error)
    assert judging.invoke(ROW)[key].score == 1
    assert [state[key].score for state in judging.batch([ROW, ROW])] == [1, 1]
    if on_error == "verdict":
        assert judging.invoke({**ROW, "context": None})[key].error.code == "missing_field"
    else:
        with pytest.raises(CaseError):
            judging.invoke({**ROW, "context": None})


def test_prompt_of_a_chain_is_not_streamed_from_a_node_of_any_name() -> None:
    rubric = load_rubric("groundedness")
    for node in NODES:
        llm = GenericFakeChatModel(messages=iter([GOOD]), tags=["nostream"])
        judging = prompt(rubric) | llm | parser(rubric) | (lambda verdict: {"verdict": verdict})  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]
        assert list(graph(node, judging).stream(STATE, stream_mode="messages")) == []


async def test_events_have_the_names_of_the_steps_and_stream_the_model() -> None:
    llm = GenericFakeChatModel(messages=iter([GOOD]))
    judging = RunnablePassthrough[Any]() | runnable("groundedness", llm=llm)
    events: list[Any] = [event async for event in judging.astream_events(ROW, {"run_name": "app"})]
    chunks = [event["data"]["chunk"] for event in events if event["event"] == "on_chat_model_stream"]
    assert "".join(chunk.content for chunk in chunks) == GOOD
    started = [event["name"] for event in events if event["event"].endswith("_start")]
    steps = ["groundjudge.ask", "groundjudge.call", "GenericFakeChatModel", "groundjudge.read"]
    assert started == ["app", "RunnablePassthrough", "groundedness", *steps]
    assert events[-1]["data"]["output"].score == 1


# --- errors -------------------------------------------------------------------------------------


ERRORS: list[tuple[Exception, str]] = [
    (HttpError(429, code="insufficient_quota"), "quota"),
    (type("ConnectError", (Exception,), {})("no"), "connection"),
    (ValueError("what?"), "failed"),
]


def test_exception_of_the_llm_becomes_a_model_error() -> None:
    for error, code in ERRORS:
        raised = raised_by(runnable("groundedness", llm=answers(error)), ROW)
        assert (type(raised), raised.code) == (ModelError, code)
        assert isinstance(raised.__cause__, RedactedError)
        assert raised.__cause__.raised is error
        assert "Answers" in raised.message


CUT: list[dict[str, Any]] = [
    {"finish_reason": "length"},
    {"finish_reason": "MAX_TOKENS"},
    {"stop_reason": "max_tokens"},
    {"stopReason": "max_tokens"},
    {"done_reason": "length"},
    {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
]


def test_finish_reason_of_every_provider_gives_truncated() -> None:
    for metadata in CUT:
        llm = answers(AIMessage("<S1>r</S1><S2>4", response_metadata=metadata))
        assert raised_by(runnable("groundedness", llm=llm), ROW).code == "truncated", metadata


# --- many cases ---------------------------------------------------------------------------------


ROWS: list[Row] = [{**ROW, "id": f"row {number}", "query": f"row {number}"} for number in range(20)]


@pytest.mark.parametrize(
    ("config", "concurrency"),
    [
        pytest.param(None, 16, id="default"),
        pytest.param({"max_concurrency": 5}, 5, id="one config", marks=pytest.mark.soak),
        pytest.param([{"max_concurrency": 3}] * 20, 3, id="a config for each row", marks=pytest.mark.soak),
    ],
)
async def test_batch_reaches_but_does_not_exceed_max_concurrency(config: Any, concurrency: int) -> None:
    for in_threads in (True, False):
        model = Together(concurrency)
        judging = runnable("groundedness", model=model)
        verdicts = judging.batch(ROWS, config) if in_threads else await judging.abatch(ROWS, config)
        assert [verdict.case_id for verdict in verdicts] == [f"row {number}" for number in range(20)]
        assert model.peak == concurrency


async def test_default_concurrency_applies_within_a_chain() -> None:
    model = Together(16)
    judging = runnable("groundedness", model=model).with_config(tags=["t"]).with_retry()
    chained: Runnable[Any, Verdict] = RunnablePassthrough[Any]() | judging
    await chained.abatch([*ROWS])
    assert model.peak == 16


# --- schemas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_schemas_have_the_inputs_and_the_verdict(name: str) -> None:
    judge = load(name, model=ScriptedModel(GOOD))
    for step in (runnable(judge), prompt(judge)):
        input_schema: Any = step.get_input_schema()
        schema = input_schema.model_json_schema()
        inputs = judge.rubric.prompt.inputs
        assert [*schema["properties"]] == [prompt_input.field for prompt_input in inputs]
        assert schema["required"] == [prompt_input.field for prompt_input in inputs if prompt_input.required]
        input_schema.model_validate({**dict.fromkeys(schema["required"], "text"), "id": 4})
        with pytest.raises(ValueError, match="required"):
            input_schema.model_validate({})
    assert runnable(judge).get_output_schema() is Verdict
    assert runnable(judge).get_output_jsonschema()["properties"]["score"]
    assert prompt(judge).get_output_schema() is ChatPromptValue
    assert "properties" not in runnable(judge, fields=fails).get_input_jsonschema()


# --- composing ----------------------------------------------------------------------------------


def rag(answer: str = "It opens at 9:00.") -> Runnable[str, dict[str, Any]]:
    """A typical RAG chain, which streams its answer."""
    ask = ChatPromptTemplate.from_messages([("system", "Answer from: {context}"), ("human", "{question}")])
    llm = GenericFakeChatModel(messages=iter([answer] * 9))
    retriever = RunnableLambda[str, Any](lambda _: ROW["context"])
    inputs: Runnable[str, Any] = RunnableParallel(context=retriever, question=RunnablePassthrough[str]())
    return inputs.assign(answer=ask | llm)


@each_method
async def test_rag_chain_is_judged(method: Method) -> None:
    judging: Any = rag() | runnable("groundedness", llm=answers(GOOD))
    verdict = await method(judging, "When does the library open?")
    assert verdict.score == 1


# --- prompt | llm | parser ----------------------------------------------------------------------


@each_method
async def test_prompt_and_parser_make_a_custom_chain(method: Method) -> None:
    judge = load("groundedness", model=ScriptedModel(GOOD))
    judging = prompt(judge) | answers(COUNTED) | parser(judge)
    verdict = await method(judging, ROW)
    assert (verdict.score, verdict.usage) == (1, Usage(prompt_tokens=900, completion_tokens=40))
    assert judging.get_output_schema() is Verdict


def test_prompt_has_the_messages_of_the_rubric() -> None:
    judge = load("groundedness", model=ScriptedModel(GOOD))
    prompt_value = prompt(judge).invoke(ROW)
    assert isinstance(prompt_value, ChatPromptValue)
    roles = {"system": "system", "human": "user"}
    messages = [
        {"role": roles[message.type], "content": message.content} for message in prompt_value.messages
    ]
    assert messages == [*judge.rubric.ask(ROW).messages]
    with pytest.raises(CaseError, match="missing_field"):
        prompt(judge).invoke({"question": "When?", "answer": "At 9."})


def test_a_chain_of_one_call_cannot_search_a_long_source() -> None:
    judge = load("statement_groundedness", model=ScriptedModel(GOOD), window=1000)
    with pytest.raises(PromptError, match="a chain calls its model once"):
        prompt(judge)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        pytest.param(UNREADABLE, "no_verdict", id="a text"),
        pytest.param(CUT_OFF, "truncated", id="a message that was cut off"),
    ],
)
def test_parser_raises_output_parser_exception(reply: str | AIMessage, code: str) -> None:
    with pytest.raises(OutputParserException) as raised:
        parser(load_rubric("groundedness")).invoke(reply)
    assert raised.value.llm_output == (reply if isinstance(reply, str) else reply.content)
    assert isinstance(raised.value.__cause__, ReplyError)
    assert raised.value.__cause__.code == code


def test_parser_with_a_case_checks_quotes() -> None:
    judge = load(SENTENCE_CARDS, model=ScriptedModel(QUOTING))
    verdict = parser(judge, ROW).invoke(QUOTING)
    assert verdict.parts[0].evidence[0].quote == "opens at 9:00"
    assert (verdict.warnings, verdict.case_id) == ((), "opening")
    unchecked_verdict = parser(judge).parse(QUOTING)
    assert (unchecked_verdict.parts[0].evidence, unchecked_verdict.warnings) == ((), ("evidence_unchecked",))
    assert unchecked_verdict.score == verdict.score
    assert runnable(judge).invoke(ROW).parts == verdict.parts


def test_parser_with_a_case_knows_the_sentences_behind_numbers() -> None:
    judge = load("statement_groundedness", model=ScriptedModel(NUMBERED))
    verdict = parser(judge, ROW).invoke(NUMBERED)
    (part,) = verdict.parts
    assert (part.name, part.number, part.start, part.end) == ("It opens at 9:00.", 1, 0, 17)
    assert (part.evidence[0].quote, part.evidence[0].number) == ("The library opens at 9:00 on weekdays.", 1)
    assert (verdict.warnings, verdict.case_id) == ((), "opening")
    unchecked_verdict = parser(judge).parse(NUMBERED)
    (part,) = unchecked_verdict.parts
    assert (part.name, part.evidence, unchecked_verdict.warnings) == ("1", (), ("evidence_unchecked",))
    assert (unchecked_verdict.score, unchecked_verdict.scores) == (verdict.score, verdict.scores)
    assert runnable(judge).invoke(ROW).parts == verdict.parts


# --- chat models --------------------------------------------------------------------------------


async def test_chat_model_works_as_the_model_of_a_judge() -> None:
    judge = load("groundedness", model=answers(COUNTED))
    assert judge.judge(ROW).usage == Usage(prompt_tokens=900, completion_tokens=40)
    assert (await judge.ajudge(ROW)).model == "answering-1-0613"
    assert [verdict.score for verdict in run(judge, ROWS)] == [1.0] * 20


def test_chat_model_has_the_name_of_its_llms_model() -> None:
    bound_llm = answers(GOOD, kind=WithSettings).bind(stop=["x"])
    assert (LibraryModel(answers(GOOD)).name, LibraryModel(bound_llm).name) == ("Answers", "settings-1")


@pytest.mark.parametrize(
    ("method", "settings", "settings_of_calls"),
    [
        pytest.param(invoke, {}, [(0, 1, 2000), (0, 1, 4000)], id="none is set"),
        pytest.param(
            ainvoke, {"temperature": 0.7}, [(0.7, 1, 2000), (0.7, 1, 4000)], id="a temperature is set"
        ),
        pytest.param(
            ainvoke,
            {"temperature": None, "top_p": 0.5, "max_tokens": 99},
            [(None, 0.5, 99)] * 2,
            id="all are set, the temperature to None",
        ),
    ],
)
async def test_parameters_apply_to_settings_not_set(
    method: Method, settings: Any, settings_of_calls: Any
) -> None:
    llm = answers(CUT_OFF, GOOD, kind=WithSettings, **settings)
    assert (await method(runnable("groundedness", llm=llm), ROW)).attempts == 2
    assert llm.made_with == settings_of_calls
    assert (llm.temperature, llm.max_tokens) == (settings.get("temperature"), settings.get("max_tokens"))


async def test_refused_parameters_are_omitted_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    llm = answers(GOOD, kind=OnlyDefaultTemperature, model_name="refusing-1")
    judging = runnable("groundedness", llm=llm)
    with caplog.at_level(logging.WARNING, "groundjudge"):
        assert judging.invoke(ROW).attempts == 1
        assert (await judging.ainvoke(ROW)).attempts == 1
    assert llm.made_with == [(0, 1, 2000), (0, None, 2000), (None, None, 2000), (None, None, 2000)]
    (record,) = caplog.records
    assert record.getMessage().startswith(f"{llm.model_name} refuses parameters: from now on top_p is")


async def test_llm_with_a_client_of_a_closed_event_loop_is_called_in_a_thread() -> None:
    llm = answers(COUNTED, kind=ClosedLoop)
    assert (await runnable("groundedness", llm=llm).ainvoke(ROW)).attempts == 1
    judge = load("groundedness", model=llm)
    assert [verdict.score for verdict in run(judge, ROWS)] == [1.0] * 20
    assert raised_by(runnable("groundedness", llm=answers(RuntimeError("loop"))), ROW).code == "failed"


def test_wrapped_llm_is_called_without_parameters() -> None:
    llm = answers(ConnectionError(), GOOD, ConnectionError(), GOOD, kind=WithSettings)
    spare = answers(GOOD, kind=WithSettings)
    retried, replaced = llm.with_retry(wait_exponential_jitter=False), llm.with_fallbacks([spare])
    for wrapped in (retried, replaced, spare.with_config(tags=["t"])):
        assert runnable("groundedness", llm=wrapped).invoke(ROW).score == 1
    assert llm.made_with == [(None, None, None)] * 3
    assert spare.made_with == [(None, None, None)] * 2


# --- what a runnable takes, and what becomes of errors ----------------------------------------------


REPLIES: Mapping[str, str] = {
    "groundedness": GOOD,
    "statement_groundedness": NUMBERED,
    "passage_quality": "RECALL_Formula: (5 * 1.0)\nPRECISION_Formula: (5 * 1.0)",
}


def judging(name: str, model: ScriptedModel | None = None, **options: Any) -> Runnable[Any, Verdict]:
    return runnable(name, model=model or ScriptedModel(REPLIES[name]), **options)


# --- on_error -----------------------------------------------------------------------------------


def fails(_: Any) -> Any:
    message = "no such key"
    raise KeyError(message)


@sync_and_async
async def test_exception_before_any_verdict_is_raised_as_it_is_or_a_verdict(method: Method) -> None:
    rows: list[tuple[Any, Any, Any, str, type[Exception]]] = [
        (5, GOOD, None, "unreadable_row", CaseError),
        (ROW, ValueError("what?"), None, "unexpected", ValueError),
        (ROW, GOOD, fails, "unexpected", KeyError),
    ]
    for row_value, reply, fields, code, error in rows:
        make_judging = partial(judging, "groundedness", ScriptedModel(reply), fields=fields)
        verdict = await method(make_judging(on_error="verdict"), row_value)
        assert verdict.error
        assert (verdict.judge, verdict.status, verdict.error.code) == ("groundedness", "error", code)
        with pytest.raises(error):
            await method(make_judging(), row_value)


async def test_runnable_is_retried_and_replaced_like_any_other() -> None:
    def failing_once() -> Runnable[Any, Any]:
        return judging("groundedness", ScriptedModel(ModelError("server", "later"), GOOD))

    spare = judging("groundedness", ScriptedModel(POOR))
    assert failing_once().with_retry(wait_exponential_jitter=False).invoke(ROW).score == 1
    assert (await failing_once().with_fallbacks([spare]).ainvoke(ROW)).score == 0.25


@pytest.mark.parametrize(("reply", "times"), [(GOOD, 1), ("fine", 2)], ids=["a verdict", "an error"])
def test_trace_has_the_input_as_given_and_a_returned_error_is_an_output(reply: str, times: int) -> None:
    traces, state = RunCollectorCallbackHandler(), {"messages": LANGCHAIN}
    step = judging("groundedness", ScriptedModel(reply), on_error="verdict")
    verdict = step.invoke(state, {"callbacks": [traces]})
    root_run: Any = traces.traced_runs[0]
    assert (root_run.name, root_run.inputs, root_run.error) == ("groundedness", state, None)
    assert root_run.outputs == {"output": verdict}
    assert [child.name for child in root_run.child_runs] == STEPS * times
    case = root_run.child_runs[0].inputs["input"]
    assert (case.query, case.response) == ("Where is it?", "In Köln.")


def test_misspelt_on_error_is_refused() -> None:
    for value in ("verdit", None):
        with pytest.raises(ValueError, match=f"on_error must be 'raise' or 'verdict', not {value!r}"):
            judging("groundedness", on_error=value)


# --- blank responses in a chain of one's own ----------------------------------------------------

BLANK = {**ROW, "response": " "}
MISSING = {"id": "opening", "query": "q", "context": ["c"]}
CRASHED = {"id": "opening", "messages": [("user", "q")]}


@pytest.mark.parametrize("empty_response", ["error", "not_applicable", "worst"])
def test_chain_gives_a_blank_response_the_verdict_of_the_runnable(empty_response: Any) -> None:
    model = ScriptedModel(GOOD)
    judge = load("groundedness", model=model, empty_response=empty_response)
    chain_judging = prompt(judge) | answers(AssertionError("the model is asked")) | parser(judge)
    for row, code in ((BLANK, "empty_response"), (MISSING, "no_response"), (CRASHED, "no_response")):
        row_with_reference = {**row, "reference": "g"}
        verdict_of_chain = outcome(partial(chain_judging.invoke, row_with_reference))
        expected = outcome(partial(runnable(judge).invoke, row_with_reference))
        excluded = {"latency_s", "key", "model", "signature"}
        assert verdict_of_chain.model_dump(exclude=excluded) == expected.model_dump(exclude=excluded)
        assert raised_by(prompt(judge), row_with_reference).code == code
    assert model.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(AIMessage("It sails."), id="of a model"),
        pytest.param("It sails.", id="of a parser"),
        pytest.param(ChatPromptValue(messages=[]), id="a prompt's value"),
    ],
)
@pytest.mark.parametrize("make", [runnable, prompt])
def test_an_answer_alone_is_refused_with_how_the_chain_keeps_its_input(make: Any, answer: Any) -> None:
    judge = load("groundedness", model=ScriptedModel(f"<S1>w</S1>{sure(5)}"))
    step: Any = RunnableLambda(lambda _: answer) | make(judge)
    expected = f"not {type(answer).__name__}: .*RunnablePassthrough.assign\\(response="
    with pytest.raises(CaseError, match=expected) as raised:
        step.invoke({"query": "q"})
    assert raised.value.code == "unreadable_row"
    assert raised.value.verdict is not None


@pytest.mark.parametrize("make", [runnable, prompt])
def test_messages_that_are_no_state_are_refused_with_the_state_to_make(make: Any) -> None:
    step = make(load("groundedness", model=ScriptedModel(f"<S1>w</S1>{sure(5)}")))
    with pytest.raises(CaseError, match=r'unreadable_row: .* pass messages as \{"messages": \[\.\.\.\]\}'):
        step.invoke([HumanMessage("q"), AIMessage("a")])


def test_an_answer_that_is_added_to_the_chains_input_is_judged() -> None:
    judge = load("groundedness", model=ScriptedModel(f"<S1>w</S1>{sure(5)}"))

    def answer(_: object) -> AIMessage:
        return AIMessage("It sails.")

    app: Any = RunnablePassthrough.assign(response=answer) | runnable(judge)
    assert app.invoke({"query": "q", "context": "It sails."}).score == 1


def test_unreadable_case_gets_an_error_whatever_empty_response_is() -> None:
    rubric = load_rubric("statement_groundedness", empty_response="worst")
    error = raised_by(prompt(rubric), {"answer": True})
    assert (error.code, error.verdict and error.verdict.status) == ("field_unreadable", "error")


# --- checkpoints --------------------------------------------------------------------------------

VERDICTS = {
    "with parts, scores and quotes": judging("statement_groundedness").invoke(ROW),
    "not applicable": judging("groundedness", empty_response="not_applicable").invoke(BLANK),
    "an error": judging("groundedness", ScriptedModel("fine"), on_error="verdict").invoke(ROW),
}


def save_and_load(serde: SerializerProtocol, verdict: Verdict) -> Any:
    """The verdict as a checkpointer saves and loads it."""
    return serde.loads_typed(serde.dumps_typed(verdict))


@pytest.mark.parametrize("verdict", VERDICTS.values(), ids=VERDICTS)
def test_verdict_survives_a_checkpoint(verdict: Verdict) -> None:
    loaded_verdict = save_and_load(InMemorySaver().serde, verdict)
    assert (type(loaded_verdict), loaded_verdict) == (Verdict, verdict)
    loaded_data = save_and_load(
        JsonPlusSerializer(allowed_msgpack_modules=None), verdict
    )  # strict, and not registered
    assert (type(loaded_data), Verdict.model_validate(loaded_data)) == (dict, verdict)


# --- the package --------------------------------------------------------------------------------


@pytest.mark.soak
def test_example_runs_offline() -> None:
    example = Path(__file__).parents[2] / "examples" / "judge_inside_a_langchain_app.py"
    status, printed, errors = run_program(
        f"import runpy; runpy.run_path({str(example)!r}, run_name='__main__')"
    )
    assert (status, errors) == (0, "")
    texts = [line.removeprefix("app: ").strip() for line in printed.splitlines() if line.startswith("app:")]
    beginnings = ("The library opens at 9:00", "I am not sure. This is", "You are welcome!")
    for text, beginning in zip(texts, beginnings, strict=True):
        assert text.startswith(beginning)


# Inputs of a prompt's own


@pytest.mark.parametrize("name", ["topic", "json", "model_config", "user-tier"])
def test_schema_has_an_own_input_whatever_its_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / "on_topic.prompty"
    file.write_text(ON_TOPIC.replace("topic", name), encoding="utf-8")
    judging = runnable(file, model=ScriptedModel("<S2>5</S2>"))
    schema = judging.get_input_jsonschema()
    assert [*schema["properties"]] == [name, "response"] == schema["required"]
    assert judging.invoke({"response": "r", name: "dogs"}).score == 1
    assert "dogs" in str(prompt(load_rubric(file)).invoke({"response": "r", name: "dogs"}).to_messages())
