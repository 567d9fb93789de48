"""LangChain: what a runnable takes (states of agents, paths, functions), and what becomes of errors."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from scripted_model import ScriptedModel

from groundjudge import Case, CaseError, GroundjudgeError, ModelError, Reply, Verdict, load, load_rubric
from groundjudge.adapters.langchain import parser, prompt, runnable
from groundjudge.models.loop_thread import shared_loop
from groundjudge.types import Request

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


# --- case= --------------------------------------------------------------------------------------


def function(given: Any) -> Mapping[str, Any]:
    return {"query": given["q"], "context": given["docs"], "response": given["choices"][0]["text"]}


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
