"""LangChain: what a runnable takes (states of agents, paths, functions), and what becomes of errors."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from scripted_model import ScriptedModel

from groundjudge import (
    Case,
    CaseError,
    GroundjudgeError,
    ModelError,
    Reply,
    Request,
    Verdict,
    load,
    load_rubric,
    names,
)
from groundjudge.adapters.langchain import parser, prompt, runnable
from groundjudge.models.loop_thread import shared_loop

GOOD = "<S0>t</S0><S1>The hour is in the source.</S1><S2>5</S2>"
QUOTING = "Statement Sentence: At 9.\nSupporting Evidence: It opens at 9.\nScore: 10"
REPLIES: Mapping[str, str] = {
    "groundedness": GOOD,
    "confidence_grounding": '{"reasoning": "r", "score": 0.5}',
    "statement_groundedness": QUOTING,
    "passage_quality": "RECALL_Formula: (5 * 1.0)\nPRECISION_Formula: (5 * 1.0)",
    "knowledge_hallucination": "Analysis: a\nLevel: none\nScore: 100",
}

ASKED, ANSWERED = HumanMessage("When does it open?"), AIMessage("At 9.")
CALLS = AIMessage("", tool_calls=[{"name": "get_hours", "args": {"day": "Monday"}, "id": "1"}])
RESULT = ToolMessage("It opens at 9.", name="get_hours", tool_call_id="1")
OLDER = [HumanMessage("Hello!"), AIMessage("Hi, how can I help?")]
AGENT = [SystemMessage("Be kind."), *OLDER, ASKED, CALLS, RESULT, ANSWERED]
AS_MAPPINGS: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hello!"},
    {"role": "assistant", "content": "Hi, how can I help?"},
    {"role": "user", "content": [{"type": "text", "text": "When does it open?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "get_hours", "arguments": '{"day": "Monday"}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "name": "get_hours", "content": "It opens at 9."},
    {"role": "assistant", "content": [{"type": "text", "text": "At 9."}]},
]
AS_PAIRS: list[Any] = [
    ("system", "Be kind."),
    ("human", "Hello!"),
    ("ai", "Hi, how can I help?"),
    ("user", "When does it open?"),
    CALLS,
    RESULT,
    ("assistant", "At 9."),
]
TOOL = {"content": "It opens at 9.", "title": "get_hours", "kind": "tool"}
EXPLICIT: Mapping[str, Any] = {
    "query": "When does it open?",
    "response": "At 9.",
    "context": [TOOL],
    "conversation": AGENT[:-1],
}
BESIDE: Mapping[str, Any] = {"agent_name": "Ada", "profile": "Ada works at a library.", "reference": "At 9."}

Method: TypeAlias = Callable[[Runnable[Any, Any], Any], Awaitable[Any]]


async def invoke(step: Runnable[Any, Any], given: Any) -> Any:
    return step.invoke(given)


async def ainvoke(step: Runnable[Any, Any], given: Any) -> Any:
    return await step.ainvoke(given)


sync_and_async = pytest.mark.parametrize("method", [invoke, ainvoke])


def judging(name: str, model: ScriptedModel | None = None, **options: Any) -> Runnable[Any, Verdict]:
    return runnable(name, model=model or ScriptedModel(REPLIES[name]), **options)


def plain(verdict: Verdict | None) -> dict[str, Any]:
    assert verdict is not None
    return verdict.model_dump(exclude={"latency_s", "key"})


def raised_by(step: Runnable[Any, Any], given: Any) -> GroundjudgeError:
    with pytest.raises(GroundjudgeError) as raised:
        step.invoke(given)
    return raised.value


# --- states of agents ---------------------------------------------------------------------------


@sync_and_async
@pytest.mark.parametrize("messages", [AGENT, AS_MAPPINGS, AS_PAIRS], ids=["objects", "mappings", "pairs"])
@pytest.mark.parametrize("name", names())
async def test_messages_are_judged_like_the_fields_that_they_give(
    name: str, messages: Any, method: Method
) -> None:
    by_fields, by_messages = ScriptedModel(REPLIES[name]), ScriptedModel(REPLIES[name])
    expected = await method(judging(name, by_fields), {**EXPLICIT, **BESIDE})
    verdict = await method(judging(name, by_messages), {"messages": messages, **BESIDE})
    assert verdict.status == "ok"
    assert plain(verdict) == plain(expected)
    assert by_messages.asked[0].messages == by_fields.asked[0].messages
    assert prompt(load_rubric(name)).invoke({"messages": messages, **BESIDE}) == prompt(
        load_rubric(name)
    ).invoke({**EXPLICIT, **BESIDE})


def shown_for(name: str, state: Mapping[str, Any]) -> str:
    messages = prompt(load_rubric(name)).invoke(state).messages
    return str(messages[-1].content)


def test_tool_messages_are_shown_as_tool_results() -> None:
    shown = shown_for("confidence_grounding", {"messages": AGENT})
    assert '<data-document number="1" kind="tool result" title="Tool Result: get_hours">' in shown


def test_knowledge_hallucination_shows_the_conversation_up_to_the_question() -> None:
    shown = shown_for("knowledge_hallucination", {"messages": [*OLDER, ASKED, ANSWERED], **BESIDE})
    assert shown.index("Hello!") < shown.index("When does it open?") < shown.index("At 9.")
    assert shown.count("At 9.") == 1


@pytest.mark.parametrize(
    ("beside", "shown", "not_shown"),
    [
        ({"context": ["A leaflet."]}, "A leaflet.", "It opens at 9."),
        ({"documents": [Document("A leaflet.")]}, "A leaflet.", "It opens at 9."),
        ({"source_documents": [Document("A leaflet.")]}, "A leaflet.", "It opens at 9."),
        ({"context": []}, "<data-context>\n</data-context>", "It opens at 9."),
        ({"question": "And on Sunday?"}, "And on Sunday?", "When does it open?"),
        ({"answer": "At ten."}, "At ten.", "At 9."),
        ({"generation": AIMessage("At ten.")}, "At ten.", "At 9."),
    ],
)
def test_other_keys_come_before_messages(beside: dict[str, Any], shown: str, not_shown: str) -> None:
    text = shown_for("groundedness", {"messages": AGENT, **beside})
    assert shown in text
    assert not_shown not in text


C = {"context": ["c"]}


@sync_and_async
@pytest.mark.parametrize(
    ("name", "state", "code", "subject"),
    [
        ("groundedness", {"messages": [*OLDER, ASKED], **C}, "no_response", "response"),
        ("groundedness", {"messages": [*OLDER, ASKED, CALLS], **C}, "no_response", "response"),
        ("groundedness", {"messages": [ASKED, CALLS, RESULT]}, "no_response", "response"),
        ("groundedness", {"messages": [ASKED, AIMessage("")], **C}, "empty_response", "response"),
        ("groundedness", {"messages": [ASKED, ANSWERED, AIMessage(" ")], **C}, "empty_response", "response"),
        ("groundedness", {"messages": [ASKED, ANSWERED], "answer": "", **C}, "empty_response", "response"),
        ("groundedness", {"messages": [ASKED, ANSWERED], "contxt": []}, "missing_field", "context"),
        ("groundedness", {"messages": [ANSWERED], **C}, "missing_field", "query"),
        ("groundedness", {"messages": [SystemMessage("s"), ANSWERED], **C}, "missing_field", "query"),
        ("groundedness", {"messages": [], **C}, "missing_field", "query"),
        ("statement_groundedness", {"messages": [], **C}, "no_response", "response"),
        ("groundedness", {"messages": [5], **C}, "field_unreadable", "conversation"),
        ("groundedness", {"messages": AGENT, "docs": ["a"], **C}, "alias_conflict", "context"),
        ("groundedness", [("user", "q")], "unreadable_row", ""),
    ],
)
async def test_state_that_cannot_be_judged_is_an_error_without_a_call(
    name: str, state: Any, code: str, subject: str, method: Method
) -> None:
    model = ScriptedModel(REPLIES[name])
    steps: tuple[Runnable[Any, Any], ...] = (judging(name, model), prompt(load_rubric(name)))
    for step in steps:
        with pytest.raises(CaseError) as raised:
            await method(step, state)
        error = raised.value
        assert (error.code, error.subject) == (code, subject)
        assert error.verdict is not None
        assert (error.verdict.status, error.verdict.judge) == ("error", name)
        assert error.verdict.error is not None
        assert error.verdict.error.code == code
    assert model.asked == []


def test_parser_takes_a_state_as_its_case() -> None:
    verdict = parser(load_rubric("statement_groundedness"), {"messages": AGENT}).parse(QUOTING)
    assert (verdict.parts[0].evidence[0].document, verdict.warnings) == (0, ())


# --- case= --------------------------------------------------------------------------------------


STATE = {
    "chat": {"messages": AGENT},
    "q": "When?",
    "docs": [Document("It opens at 9.")],
    "context": "a summary",
    "choices": [{"text": "At ten."}],
}
EXPECTED = Case(query="When?", context=["It opens at 9."], response="At ten.")


def function(given: Any) -> Mapping[str, Any]:
    return {"query": given["q"], "context": given["docs"], "response": given["choices"][0]["text"]}


def to_case(given: Any) -> Case:
    return Case(**function(given))


def to_state(given: Any) -> Mapping[str, Any]:
    return {"messages": [("user", given["q"]), ("assistant", "At ten.")], "context": given["docs"]}


@sync_and_async
@pytest.mark.parametrize(
    "case",
    [
        {"query": "input.q", "context": "input.docs", "response": "input.choices.0.text"},
        {"question": "input.q", "docs": "input.docs", "result": "input.choices.0.text"},
        function,
        to_case,
        to_state,
    ],
)
async def test_fields_are_found_by_paths_or_by_a_function(case: Any, method: Method) -> None:
    model = ScriptedModel(GOOD)
    assert (await method(judging("groundedness", model, fields=case), STATE)).score == 1
    shown = model.asked[0].case
    assert (shown.query, shown.context, shown.response) == (
        EXPECTED.query,
        EXPECTED.context,
        EXPECTED.response,
    )


def test_fields_that_are_not_mapped_are_read_as_without_case() -> None:
    row = {"messages": AGENT, "docs": ["c"], "id": 7}
    model = ScriptedModel(GOOD)
    judging("groundedness", model, fields={"response": "input.docs.0"}).invoke(row)
    (request,) = model.asked
    assert (request.case.id, request.case.query, request.case.response) == ("7", "When does it open?", "c")


def test_input_of_the_judges_own_can_be_mapped(tmp_path: Path) -> None:
    file = tmp_path / "on_topic.prompty"
    file.write_text(
        "---\ninputs: [{name: topic}, {name: response}]\nreply: {format: tags, value: S2, reason: S1}\n"
        "scale: {worst: 1, best: 5}\n---\n{{topic}} {{response}}"
    )
    model = ScriptedModel(GOOD)
    row = {"about": {"topic": "dogs"}, "answer": "r"}
    runnable(file, model=model, fields={"topic": "input.about.topic"}).invoke(row)
    assert "dogs" in model.asked[0].messages[0]["content"]


@pytest.mark.parametrize(
    ("case", "error", "message"),
    [
        ({"qeury": "input.q"}, CaseError, "unknown_field: unknown field 'qeury', did you mean 'query'"),
        ({"topic": "input.q"}, CaseError, "unknown_field: unknown field 'topic'"),
        ({"query": "inputs.q"}, CaseError, "bad_path: .* none of input, did you mean 'input'"),
        ({"query": "q"}, CaseError, "bad_path: the path 'q' begins with 'q', which is none of input"),
        ({"query": 5}, CaseError, "bad_path: the path 5"),
        ("input.q", TypeError, "fields must be a mapping of field to dotted path, or a function"),
    ],
)
def test_case_is_checked_when_the_runnable_is_made(case: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        judging("groundedness", fields=case)


def test_conflict_of_names_is_resolved_by_a_path() -> None:
    row = {"query": "q", "response": "r", "context": "a", "docs": ["b"]}
    assert raised_by(judging("groundedness"), row).code == "alias_conflict"
    assert judging("groundedness", fields={"context": "input.docs"}).invoke(row).score == 1


def test_runnable_with_a_case_of_its_own_has_no_input_schema_of_fields() -> None:
    schema = judging("groundedness", fields=function).get_input_jsonschema()
    assert "properties" not in schema


# --- on_error -----------------------------------------------------------------------------------

ROW: Mapping[str, Any] = {"id": "opening", "query": "q", "context": ["c"], "response": "r"}


def fails(_: Any) -> Any:
    message = "no such key"
    raise KeyError(message)


@sync_and_async
@pytest.mark.parametrize(
    ("row", "reply", "expected"),
    [
        ({**ROW, "response": ""}, GOOD, ("empty_response", 0, "opening")),
        ({"id": "opening", "query": "q"}, GOOD, ("no_response", 0, "opening")),
        ({**ROW, "context": None}, GOOD, ("missing_field", 0, "opening")),
        ({**ROW, "docs": ["d"]}, GOOD, ("alias_conflict", 0, "opening")),
        (5, GOOD, ("unreadable_row", 0, None)),
        (ROW, "fine", ("no_verdict", 2, "opening")),
        (ROW, ModelError("rate_limited", "later"), ("rate_limited", 1, "opening")),
        (ROW, ValueError("what?"), ("unexpected", 0, None)),
    ],
)
async def test_error_is_returned_as_a_verdict(
    row: Any, reply: Any, expected: tuple[str, int, str | None], method: Method
) -> None:
    verdict = await method(judging("groundedness", ScriptedModel(reply), on_error="verdict"), row)
    assert (verdict.status, verdict.score) == ("error", None)
    assert (verdict.error.code, verdict.attempts, verdict.case_id) == expected
    with pytest.raises((GroundjudgeError, ValueError)) as raised:
        await method(judging("groundedness", ScriptedModel(reply)), row)
    if isinstance(raised.value, GroundjudgeError):
        assert plain(raised.value.verdict) == plain(verdict)


@sync_and_async
async def test_exception_of_the_function_is_raised_or_a_verdict(method: Method) -> None:
    verdict = await method(judging("groundedness", fields=fails, on_error="verdict"), ROW)
    assert (verdict.judge, verdict.error.code) == ("groundedness", "unexpected")
    with pytest.raises(KeyError, match="no such key"):
        await method(judging("groundedness", fields=fails), ROW)


async def test_bad_row_of_a_batch_loses_no_other() -> None:
    rows: list[Any] = [ROW, {**ROW, "response": ""}, 5, ROW]
    step = judging("groundedness", on_error="verdict")
    for verdicts in (step.batch(rows), await step.abatch(rows)):
        assert [verdict.status for verdict in verdicts] == ["ok", "error", "error", "ok"]


class Traces(BaseTracer):
    """Records the root runs, with their children."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Any] = []

    def _persist_run(self, run: Run) -> None:
        self.runs.append(run)


@pytest.mark.parametrize(
    ("reply", "steps"),
    [
        (GOOD, [f"groundjudge.{step}" for step in ("ask", "call", "read")]),
        ("fine", [f"groundjudge.{step}" for step in ("ask", "call", "read")] * 2),
    ],
)
def test_trace_has_the_input_as_given_and_a_returned_error_is_an_output(reply: str, steps: list[str]) -> None:
    traces, state = Traces(), {"messages": AGENT}
    step = judging("groundedness", ScriptedModel(reply), on_error="verdict")
    verdict = step.invoke(state, {"callbacks": [traces]})
    (judged,) = traces.runs
    assert (judged.name, judged.inputs, judged.error) == ("groundedness", state, None)
    assert judged.outputs == {"output": verdict}
    assert [child.name for child in judged.child_runs] == steps
    shown = judged.child_runs[0].inputs["input"]
    assert (shown.query, shown.response) == ("When does it open?", "At 9.")


@pytest.mark.parametrize("value", ["verdit", "ignore", "", None, True])
def test_misspelt_on_error_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=f"on_error must be 'raise' or 'verdict', not {value!r}"):
        judging("groundedness", on_error=value)


# --- blank responses in a chain of one's own ----------------------------------------------------

BLANK = {**ROW, "response": " "}
MISSING = {"id": "opening", "query": "q", "context": ["c"]}
CRASHED = {"id": "opening", "messages": [("user", "q")]}


def outcome(step: Runnable[Any, Any], given: Any) -> Verdict | None:
    try:
        verdict: Verdict = step.invoke(given)
    except CaseError as error:
        return error.verdict
    return verdict


@pytest.mark.parametrize("row", [BLANK, MISSING, CRASHED], ids=["blank", "missing", "crashed"])
@pytest.mark.parametrize("empty_response", ["error", "not_applicable", "worst"])
@pytest.mark.parametrize("name", ["groundedness", "passage_quality"])
def test_chain_gives_a_blank_response_the_verdict_of_the_runnable(
    name: str, empty_response: Any, row: dict[str, Any]
) -> None:
    row = {**row, "reference": "g"}
    model = ScriptedModel(REPLIES[name])
    judge = load(name, model=model, empty_response=empty_response)
    llm = RunnableLambda[Any, str](
        lambda _: shared_loop().run(model.acomplete, Request((), {}, judge.rubric, Case())).text
    )
    found, expected = outcome(prompt(judge) | llm | parser(judge), row), outcome(runnable(judge), row)
    assert {**plain(found), "model": None, "signature": ""} == {
        **plain(expected),
        "model": None,
        "signature": "",
    }
    assert raised_by(prompt(judge), row).code == ("empty_response" if row.get("response") else "no_response")
    assert model.asked == []


def test_chain_returns_the_verdict_of_a_blank_response_by_a_fallback() -> None:
    judge = load("groundedness", model=ScriptedModel(GOOD), empty_response="worst")
    llm = RunnableLambda[Any, str](lambda _: GOOD)
    chain = (prompt(judge) | llm | parser(judge)).with_fallbacks(
        [RunnableLambda[Any, Verdict](lambda row: row["error"].verdict)],
        exceptions_to_handle=(CaseError,),
        exception_key="error",
    )
    given: list[Any] = [ROW, BLANK]
    assert [verdict.score for verdict in chain.batch(given)] == [1, 0]


def test_unreadable_case_gets_an_error_whatever_empty_response_is() -> None:
    rubric = load_rubric("statement_groundedness", empty_response="worst")
    error = raised_by(prompt(rubric), {"answer": "a", "result": "b"})
    assert (error.code, error.verdict and error.verdict.status) == ("alias_conflict", "error")


# --- checkpoints --------------------------------------------------------------------------------

VERDICTS = {
    "with parts and quotes": judging("statement_groundedness").invoke({"messages": AGENT}),
    "with tokens": judging("groundedness", ScriptedModel(Reply(GOOD, "stop"))).invoke(ROW),
    "not applicable": judging("groundedness", empty_response="not_applicable").invoke(BLANK),
    "an error": judging("groundedness", ScriptedModel("fine"), on_error="verdict").invoke(ROW),
}


def restored(saver: BaseCheckpointSaver[Any], verdict: Verdict) -> Any:
    """The verdict after a checkpoint of a graph's state has been saved and loaded."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"verdict": verdict}
    checkpoint["channel_versions"] = {"verdict": "1"}
    config = saver.put(
        {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}, checkpoint, {}, {"verdict": "1"}
    )
    found = saver.get_tuple(config)
    assert found
    return found.checkpoint["channel_values"]["verdict"]


def documented_saver() -> BaseCheckpointSaver[Any]:
    """The checkpointer that the lines of the documentation make."""
    page = (Path(__file__).parents[2] / "docs" / "adapters" / "langchain.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n([^`]*JsonPlusSerializer\([^`]*)```", page)
    made: dict[str, Any] = {}
    exec(lines, made)  # noqa: S102  the page's own code
    saver: BaseCheckpointSaver[Any] = made["checkpointer"]
    return saver


@pytest.mark.parametrize("verdict", VERDICTS.values(), ids=VERDICTS)
@pytest.mark.parametrize("saver", [InMemorySaver, documented_saver])
def test_verdict_survives_a_checkpoint(
    saver: Callable[[], BaseCheckpointSaver[Any]], verdict: Verdict
) -> None:
    found = restored(saver(), verdict)
    assert (type(found), found) == (Verdict, verdict)


def test_strict_checkpoint_without_registration_keeps_the_data_of_a_verdict() -> None:
    strict = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    for verdict in VERDICTS.values():
        found = restored(strict, verdict)
        assert isinstance(found, dict)
        assert Verdict.model_validate(found) == verdict
