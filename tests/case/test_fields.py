"""Where fields are found: names, exchanges, states of agents, paths, rows of files and traced runs."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chats import CHAT, LANGCHAIN, OPENAI, Snippet, error_of
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from pydantic import BaseModel

from groundjudge.case.case import Case, Document, Message
from groundjudge.case.fields import ALIASES, FIELD_NAMED, Fields
from groundjudge.case.paths import FieldPaths, until_found, value_at
from groundjudge.case.traces import traced_documents
from groundjudge.errors import CaseError
from groundjudge.rubric.blank_response import blank_response_verdict
from groundjudge.rubric.load import load_rubric
from groundjudge.runs.rows import CaseFile

# --- names ------------------------------------------------------------------------------------

DOCUMENTED = re.compile(r"^\| `(\w+)` \| `(.+)` \|$", re.MULTILINE)


def test_documentation_lists_every_name_of_a_field() -> None:
    page = Path(__file__).parents[2] / "docs" / "quickstart.md"
    rows = {field: tuple(names.split("`, `")) for field, names in DOCUMENTED.findall(page.read_text("utf-8"))}
    assert rows.pop("id") == ("id", "case_id")
    assert rows == {field: names for field, names in ALIASES.items() if len(names) > 1}


def test_every_name_of_a_field_is_read_without_case() -> None:
    spellings = {**FIELD_NAMED, **{name.upper(): field for name, field in FIELD_NAMED.items()}}
    for spelling, field in spellings.items():
        assert Case.from_mapping({spelling: "So it is."}) == Case(**{field: "So it is."})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "same"),
    [
        ({"query": "a", "question": "a"}, {"query": "a"}),
        ({"query": "a", "question": ""}, {"query": "a"}),
        ({"query": " ", "question": "a"}, {"query": "a"}),
        ({"query": "a", "question": float("nan")}, {"query": "a"}),
        ({"context": [], "documents": [{"text": "a"}]}, {"context": "a"}),
        ({"turns": OPENAI, "history": LANGCHAIN}, {"conversation": CHAT}),
        ({"answer": None, "output": "a"}, {"response": "a"}),
        ({"answer": " ", "output": ""}, {"response": " "}),
        ({"case_id": "a", "id": "b"}, {"id": "b"}),
        ({"ID": None, "case_id": 7}, {"id": "7"}),
    ],
    ids=[
        "equal texts",
        "an empty one",
        "a blank first one",
        "NaN",
        "an empty context",
        "a thread in two shapes",
        "a null",
        "both blank",
        "id before case_id",
        "case_id for a null id",
    ],
)
def test_two_names_of_a_field_may_agree_or_be_blank(row: dict[str, Any], same: dict[str, Any]) -> None:
    assert Case.from_mapping(row) == Case(**same)


def test_other_keys_go_to_metadata() -> None:
    inner = {"label": 0, "by": "me", "id": "inner"}
    case = Case.from_mapping({"query": "q", "label": 1, "split": "dev", "metadata": inner, "id": "7"})
    assert dict(case.metadata) == {"label": 1, "split": "dev", "by": "me", "id": "inner"}
    assert case.id == "7"
    assert dict(Case.from_mapping({"metadata": "text"}).metadata) == {"metadata": "text"}


def test_metadata_at_a_path_is_merged_and_comes_first() -> None:
    fields = Fields.of({"metadata": "more"})
    row = {"metadata": {"a": 1, "b": 1}, "more": {"b": 2}}
    assert Case.of(fields.in_row(row)).metadata == {"a": 1, "b": 2, "more": {"b": 2}}
    assert Case.of(fields.in_row({"metadata": {"a": 1}})).metadata == {"a": 1}
    sides = {"inputs": {"metadata": {"a": 1, "b": 1}}, "outputs": {"b": 2}}
    assert Case.of(Fields.of({"metadata": "outputs"}).in_row(sides)).metadata == {"a": 1, "b": 2}


def test_metadata_is_kept_as_json_data() -> None:
    data: Any = {"tuple": (1, 2), "nan": [float("nan")], "type": int, "surrogate": "\ud83d", 5: {"six": None}}
    same = {"tuple": [1, 2], "nan": ["NaN"], "type": "<class 'int'>", "surrogate": "�", "5": {"six": None}}
    assert dict(Case.from_mapping(data).metadata) == same
    with pytest.raises(CaseError, match="metadata must be a mapping"):
        Case(metadata=[1])  # type: ignore[arg-type]


class NAType:
    """Like pandas' NA: a comparison with it has no truth value."""

    def __ne__(self, _: object) -> Any:
        return self

    def __bool__(self) -> bool:
        message = "boolean value of NA is ambiguous"
        raise TypeError(message)

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("value", [None, float("nan"), NAType()], ids=["None", "NaN", "NA"])
def test_null_and_what_tables_hold_for_it_mean_not_given(value: Any) -> None:
    for field in (*ALIASES, "id"):
        assert Case.from_mapping({field: value}) == Case(), field
    assert Case.from_mapping({"topic": value}).field_names() == ()


def test_field_that_no_judge_uses_is_no_error() -> None:
    unused: dict[str, Any] = {
        "context": [5],
        "query": {"a": 1},
        "answers": [{}],
        "documents": "d",
        "question": "q",
    }
    case = Case.from_mapping({**unused, "response": "r", "id": 1})
    assert (case.response, case.id) == ("r", "1")
    assert case.field_names() == ("query", "response", "context", "answers")
    for field in ("context", "query", "answers"):
        for _ in range(2):
            with pytest.raises(CaseError, match="unreadable"):
                case.value(field)


def test_empty_values_are_given() -> None:
    case = Case.from_mapping({"context": [], "response": "", "answers": []})
    assert case.field_names() == ("response", "context", "answers")
    assert (case.context, case.response, case.answers) == ((), "", ())


@pytest.mark.parametrize(
    ("row", "field", "hint"),
    [
        ({"Contxt": []}, "context", "'Contxt'"),
        ({"inputs": "q", "outputs": {"respones": "r"}}, "response", "'respones'"),
        ({"query": "q", "label": 1}, "response", ""),
        ({"inputs": {"query": "q", "answer": "gold"}, "outputs": None}, "response", ""),
    ],
    ids=[
        "in a row",
        "in the outputs",
        "no such key",
        "a name of the response in the inputs",
    ],
)
def test_key_that_is_nearly_a_name_is_told(row: dict[str, Any], field: str, hint: str) -> None:
    text = Case.from_mapping(row).hint(field)
    assert (hint in text, bool(text)) == (True, bool(hint))


@pytest.mark.parametrize(
    "row", [5, "text", None, [{"query": "q"}]], ids=["a number", "a text", "a null", "a list of a row"]
)
def test_row_that_is_not_a_mapping_is_an_error(row: Any) -> None:
    assert error_of(row).code == "unreadable_row"


# --- inputs and outputs -----------------------------------------------------------------------

QUESTION = [("user", "q")]
DIALOGUE = [("user", "q"), ("assistant", "first"), ("tool", "t"), ("assistant", "r")]
RESULTS: dict[str, Any] = {"context": [{"content": "t", "kind": "tool"}]}
THREAD: dict[str, Any] = {**RESULTS, "conversation": DIALOGUE[:3]}


@dataclass
class Question:
    question: str
    contexts: list[str]


class Answer(BaseModel):
    answer: str
    cost: int


class State(BaseModel):
    messages: list[Any]


def exchange(inputs: Any, outputs: Any, reference: Any = None, /, **fields: Any) -> tuple[Any, ...]:
    """The three sides, and the case that they are: "q", "r" and these fields."""
    expected: dict[str, Any] = {"query": "q", "response": "r", **fields}
    return inputs, outputs, reference, Case(**expected)


GOES_ON = [*DIALOGUE[:2], *QUESTION]
EXCHANGES = {
    "texts": exchange("q", "r", "g", reference="g"),
    "messages as inputs": exchange({"messages": QUESTION}, "r", query=QUESTION),
    "messages as outputs": exchange("q", {"messages": DIALOGUE}, **THREAD),
    "messages under a name of the response": exchange("q", {"output": DIALOGUE}, **THREAD),
    "messages as reference": exchange("q", "r", {"messages": DIALOGUE}, reference="r"),
    "lists of messages as sides": exchange(QUESTION, DIALOGUE, DIALOGUE, **THREAD, reference="r"),
    "single messages as sides": exchange(
        *({"role": "user", "content": "q"}, AIMessage("r"), dumpd(AIMessage("g"))),
        reference="g",
        context=[],
        conversation=QUESTION,
    ),
    "messages without an answer": exchange(
        *("q", {"messages": [*DIALOGUE, ("user", "x")]}),
        **{**RESULTS, "response": None, "conversation": [*DIALOGUE, ("user", "x")]},
    ),
    "no messages": exchange("q", {"messages": []}, response=None, conversation=[]),
    "messages that go on": exchange(
        *({"messages": GOES_ON}, {"messages": DIALOGUE[2:]}),
        **{**RESULTS, "conversation": [*GOES_ON, ("tool", "t")]},
    ),
    "earlier tool results": exchange(
        {"messages": DIALOGUE + QUESTION}, {"answer": "r"}, query=DIALOGUE + QUESTION, **RESULTS
    ),
    "a text under messages": exchange("q", {"messages": "r"}),
    "an answer in the inputs": exchange(
        *({"query": "q", "answer": "gold"}, {"context": "c"}),
        response=None,
        context="c",
        metadata={"answer": "gold"},
    ),
    "null in the outputs": exchange(
        *({"messages": DIALOGUE}, {"messages": DIALOGUE, "answer": None}),
        **{**RESULTS, "response": None, "conversation": DIALOGUE},
    ),
    "null in the inputs": exchange(
        {"query": "q", "answer": None}, {"messages": DIALOGUE}, **THREAD, metadata={"answer": None}
    ),
    "NaN for the outputs": exchange("q", float("nan"), float("nan"), response=None),
    "an empty text": exchange("q", "", response=""),
    "a reference with messages too": exchange("q", "r", {"answer": "g", "messages": QUESTION}, reference="g"),
    "context in the reference": exchange(
        {"messages": QUESTION}, "r", {"context": "c"}, query=QUESTION, context="c"
    ),
    "context on all sides": exchange(
        {"question": "q", "context": "old"},
        {"answer": "r", "documents": ["c"]},
        {"context": "older"},
        context="c",
    ),
    "messages beside a question": exchange(
        {"question": "q", "messages": DIALOGUE}, "r", conversation=DIALOGUE, **RESULTS
    ),
    "messages beside an answer": exchange("q", {"answer": "r", "messages": DIALOGUE}, **THREAD),
    "a dataclass and a pydantic model": exchange(
        Question("q", ["c"]), Answer(answer="r", cost=1), context=["c"], metadata={"cost": 1}
    ),
    "an object under its usual key": exchange(
        "q", {"output": Answer(answer="r", cost=1)}, metadata={"cost": 1}
    ),
    "an empty context beside tool results": exchange("q", {"messages": DIALOGUE, "documents": []}, **THREAD),
    "states that are objects": exchange(State(messages=QUESTION), State(messages=DIALOGUE), **THREAD),
    "a document as the reference": exchange("q", "r", Snippet("g", {}), reference="g"),
    "several ids": exchange({"question": "q", "id": 1}, {"answer": "r", "id": 2}, {"id": 3}, id="1"),
    "a role without content": exchange({"role": "x", "question": "q"}, "r", metadata={"role": "x"}),
}


@pytest.mark.parametrize(("inputs", "outputs", "reference", "case"), EXCHANGES.values(), ids=EXCHANGES)
def test_inputs_outputs_and_reference_are_read(inputs: Any, outputs: Any, reference: Any, case: Case) -> None:
    assert Case.from_exchange(inputs, outputs, reference) == case
    row = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference}
    assert Case.from_mapping(row) == case


@dataclass
class Agent:
    messages: list[Any]
    context: Any = None


def test_state_of_an_agent_can_be_an_object_and_hold_arrays() -> None:
    thread = [("user", "q"), ("assistant", "r")]
    state = Agent(thread, np.array(["a", "b"]))
    case = Case.from_mapping(Fields().in_row(state))
    assert case == Case(query="q", response="r", context=["a", "b"], conversation=thread[:1])
    by_path = Fields.of({"context": "s.context", "query": "s.context.1"}).in_row({}, {"s": state})
    assert Case.from_mapping(by_path) == Case(query="b", context=["a", "b"])


@pytest.mark.parametrize(
    "answer", ["r", AIMessage("r"), [AIMessage("r")]], ids=["a text", "a message", "a list of a message"]
)
def test_answer_beside_the_thread_that_ends_with_it(answer: Any) -> None:
    row: Any = {"messages": [("user", "q"), ("assistant", "r")], "answer": answer, 1: "a key that is no text"}
    case = Case.from_mapping(row)
    assert (case.query_text, case.response_text, case.context) == ("q", "r", ())
    assert case.conversation == (Message(role="user", content="q"),)


def test_thread_beside_an_application_that_crashed_is_an_earlier_one() -> None:
    case = Case.from_mapping({"inputs": "q", "outputs": None, "messages": DIALOGUE})
    assert case.response is None


def test_exchange_takes_further_fields() -> None:
    row = {"inputs": "q", "outputs": "r", "contexts": ["c"], "id": 5, "self": "b", "metadata": {"x": 1}}
    expected = Case(query="q", response="r", context="c", id="5", metadata={"self": "b", "x": 1})
    assert Case.from_mapping(row) == expected
    assert Case.from_exchange("q", "r", contexts=["c"], id=5).context == expected.context


def test_inputs_without_outputs_go_to_metadata() -> None:
    assert Case.from_mapping({"inputs": {"question": "q"}}).field_names() == ("inputs",)


# --- states of agents -------------------------------------------------------------------------

SYSTEM, USER = ("system", "Be kind."), ("user", "When does it open?")
CALLS = AIMessage("", tool_calls=[{"name": "get_hours", "args": {}, "id": "1"}])
SAYS = AIMessage("I will look.", tool_calls=CALLS.tool_calls)
RESULT = ToolMessage("Open at 9.", name="get_hours", tool_call_id="1")
ANSWER = AIMessage("At 9.")
RESULT_READ = Document(content="Open at 9.", title="get_hours", kind="tool")
OLDER = [("user", "Hi."), ("assistant", "Hello.")]
CLOSED = ("tool", "Closed on Sundays.")
MOMENT = ("assistant", "Moment.")
ANTHROPIC: list[Any] = [
    {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "content": "Open at 9."}]},
]
ANTHROPIC_READ: list[Any] = [
    {"role": "assistant", "tool_calls": [{"name": "f", "args": {}}]},
    ("tool", "Open at 9."),
]
EARLIER = [("user", "Hi."), CALLS, ("tool", "old"), ("assistant", "Hello."), USER]
USUAL = {"query": "When does it open?", "response": "At 9.", "context": [], "conversation": [USER]}
NO_ANSWER = {"response": None, "context": None}
NOTHING = {**NO_ANSWER, "query": None, "conversation": None}


def state(*messages: Any, **more: Any) -> dict[str, Any]:
    """The state of an agent with these messages and other keys."""
    return {"messages": [*messages], **more}


def usual(*conversation: Any, **fields: Any) -> Case:
    """The case of `USUAL`, but for the messages of its conversation and these fields."""
    changes: dict[str, Any] = {"conversation": [*conversation]} if conversation else {}
    expected: dict[str, Any] = {**USUAL, **fields, **changes}
    return Case(**expected)


STATES: dict[str, tuple[dict[str, Any], Case]] = {
    "an exchange": (state(USER, ANSWER), usual()),
    "a tool": (state(USER, CALLS, RESULT, ANSWER), usual(USER, CALLS, RESULT, context=RESULT_READ)),
    "an earlier tool": (
        state(*EARLIER, ANSWER),
        usual(*EARLIER, context=[{"content": "old", "kind": "tool"}]),
    ),
    "a tool call without an answer": (
        state(*OLDER, USER, CALLS, RESULT),
        usual(*OLDER, USER, CALLS, RESULT, response=None, context=RESULT_READ),
    ),
    "a text beside a tool call": (state(USER, SAYS), usual(USER, SAYS, **NO_ANSWER)),
    "the last of two answers": (state(USER, MOMENT, ANSWER), usual(USER, MOMENT)),
    "a blank last answer": (state(USER, ANSWER, AIMessage("")), usual(USER, ANSWER, response="")),
    "system messages": (state(SYSTEM, USER, SYSTEM, ANSWER, SYSTEM), usual(SYSTEM, USER, SYSTEM)),
    "only a system message": (state(SYSTEM), usual(SYSTEM, **NOTHING)),
    "only an answer": (state(ANSWER), usual(query=None, context=None, conversation=[])),
    "a single message": ({"messages": HumanMessage(USER[1])}, usual(**NO_ANSWER)),
    "no messages": (state(), usual(**{**NOTHING, "conversation": []})),
    "a text": ({"messages": "q", "answer": "r"}, usual(**{**NOTHING, "conversation": "q", "response": "r"})),
    "a context beside it": (state(USER, RESULT, ANSWER, documents="c"), usual(USER, RESULT, context="c")),
    "a response beside it": (
        state(*OLDER, answer="r"),
        usual(*OLDER, query="Hi.", response="r", context=None),
    ),
    "a blank response beside it": (
        state(USER, ANSWER, answer=""),
        usual(USER, ANSWER, response="", context=None),
    ),
    "a conversation beside it": (state(USER, ANSWER, history=OLDER), usual(*OLDER)),
    "an answer among the messages": (
        state(USER, RESULT, ANSWER, answer="At 9."),
        usual(USER, RESULT, context=RESULT_READ),
    ),
    "an answer without a value": (state(USER, ANSWER, answer=None), usual(USER, ANSWER, **NO_ANSWER)),
    "a tool result after the answer": (state(USER, ANSWER, CALLS, RESULT), usual()),
    "a misspelt context": (state(USER, ANSWER, contxt="c"), usual(context=None, metadata={"contxt": "c"})),
    "Anthropic's tool results": (
        state(USER, *ANTHROPIC, ANSWER),
        usual(USER, *ANTHROPIC_READ, context={"content": "Open at 9.", "kind": "tool"}),
    ),
}


@pytest.mark.parametrize(("state", "case"), STATES.values(), ids=STATES)
def test_state_of_an_agent_is_read(state: dict[str, Any], case: Case) -> None:
    assert Case.from_mapping(state) == case


# --- paths ------------------------------------------------------------------------------------

ODD_KEYS = {"final": {"text": "At ten."}, "agent": {"messages": [*OLDER]}, "topic": "hours"}
STATE = state(USER, RESULT, ANSWER, docs=["a"], context="b", **ODD_KEYS)
WHOLE = [USER, RESULT, ANSWER]
PATHS_INTO_A_STATE: dict[str, tuple[dict[str, str], Case]] = {
    "a field and an alias": (
        {"generation": "input.final.text", "source_documents": "input.docs"},
        usual(*WHOLE, response="At ten.", context="a"),
    ),
    "a path that leads nowhere": (
        {"response": "input.finale.text", "context": "input.context"},
        usual(*WHOLE, response=None, context="b"),
    ),
    "messages": (
        {"messages": "input.agent.messages", "context": "input.docs"},
        usual(OLDER[0], query="Hi.", response="Hello.", context="a"),
    ),
    "the conversation": (
        {"conversation": "input.agent.messages", "context": "input.docs"},
        usual(*OLDER, context="a"),
    ),
    "id and metadata": (
        {"id": "input.topic", "metadata": "input.final", "context": "input.docs"},
        usual(USER, RESULT, context="a", id="hours", metadata={"text": "At ten."}),
    ),
}


def without_empty_paths(case: Case) -> Mapping[str, Any]:
    """All that a case holds and notes, but for what is wrong with paths that gave nothing."""
    return {name: getattr(case, name) for name in Case.model_fields if name != "empty_paths"}


@pytest.mark.parametrize(("paths", "case"), PATHS_INTO_A_STATE.values(), ids=PATHS_INTO_A_STATE)
def test_paths_into_a_state_come_before_usual_names_and_messages(paths: dict[str, str], case: Case) -> None:
    case_at_paths = Case.of(Fields.of(paths).in_row(STATE, {"input": STATE}))
    expected = case.model_copy(update={"metadata": {**Case(metadata=ODD_KEYS).metadata, **case.metadata}})
    assert without_empty_paths(case_at_paths) == without_empty_paths(expected)


def test_state_that_is_an_object_is_read_by_paths() -> None:
    state = Snippet("c", {"q": "When?"})
    fields = Fields.of({"query": "input.metadata.q", "context": "input.page_content"})
    assert Case.of(fields.in_row(state, {"input": state})) == Case(query="When?", context="c")
    with pytest.raises(CaseError, match="unreadable_row"):
        Fields().in_row(state)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"qeury": "input.q"}, "unknown_field: unknown field 'qeury', did you mean 'query'? The"),
        ({"zzz": "input.q"}, "unknown_field: unknown field 'zzz'. The fields are: query, response"),
        ({"query": "input.q", "question": "input.p"}, "alias_conflict: query is already read from input.q"),
        (
            {"query": "inputs.q"},
            "bad_path: the path 'inputs.q' starts with 'inputs', which is not one of input, did",
        ),
        ({"query": ["input", "q"]}, "not one of input"),
        ({"query": ""}, "not one of input"),
    ],
    ids=[
        "a misspelt field",
        "an unknown field",
        "two names of a field",
        "an unknown root",
        "a list as a path",
        "an empty path",
    ],
)
def test_path_that_no_row_can_make_right_is_refused(fields: Any, message: str) -> None:
    with pytest.raises(CaseError, match=re.escape(message)):
        Fields.of(fields, ["topic"], ["input"])


@pytest.mark.parametrize("fields", ["input.q", 5, ["query"]], ids=["a path", "a number", "a list of fields"])
def test_neither_mapping_nor_function_is_refused(fields: Any) -> None:
    with pytest.raises(TypeError, match="fields must be a mapping of field to dotted path, or a function"):
        Fields.of(fields)


def test_input_of_a_prompts_own_is_a_field() -> None:
    row = {"about": {"topic": "dogs"}, "question": "q"}
    fields = Fields.of({"topic": "input.about.topic"}, ["topic"], ["input"])
    assert fields.in_row(row, {"input": row})["metadata"]["topic"] == "dogs"
    assert Fields.of({"topic": "about"}, None).paths == {"topic": "about"}
    assert Fields.of({"CUSTOMERQUERY": "about"}, None).paths == {"query": "about"}


NESTED = {"inputs": {"q": "When?"}, "outputs": {"choices": [{"text": "At nine."}]}, "docs": ["d"]}
ASKS_BOTH = {"inputs": {"question": "usual", "q": "When?"}, "outputs": "r"}
LEADS: dict[str, tuple[dict[str, Any], FieldPaths, dict[str, Any]]] = {
    "nested objects and an index": (
        NESTED,
        {"query": "inputs.q", "response": "outputs.choices.0.text", "context": "docs"},
        {"response": "At nine.", "context": "d"},
    ),
    "beside what the path leads to": (
        {
            "inputs": {"query": "When?", "context": ["old"]},
            "outputs": {"choices": [{"text": "At 9."}], "context": ["new"]},
        },
        {"response": "outputs.choices.0.text"},
        {"response": "At 9.", "context": "new"},
    ),
    "JSON in a cell": (
        {"inputs": '{"q": "When?"}', "docs": '[{"text": "d"}]', "response": "r"},
        {"query": "inputs.q", "context": "docs.0.text"},
        {"response": "r", "context": "d"},
    ),
    "brackets that are no JSON": ({"q": "[1] When?", "query": "When?"}, {"response": "q.0"}, {}),
    "a dot in a key": ({"a.b": {"c": "When?"}}, {"query": "a.b.c"}, {}),
    "only one way leads": ({"a.b": "When?", "a": {"c": 1}}, {"query": "a.b"}, {}),
    "both ways agree": ({"a.b": "When?", "a": {"b": "When?"}}, {"query": "a.b"}, {}),
    "before usual names": ({"query": "a", "question": "b", "q": "When?"}, {"query": "q"}, {}),
    "before what an exchange holds": (ASKS_BOTH, {"query": "inputs.q"}, {"response": "r"}),
    "leads nowhere": ({"question": "When?"}, {"response": "x"}, {}),
    "a method is no part of a text": ({"q": "text"}, {"query": "q.upper"}, {"query": None}),
    "a method is no part of a list": ({"q": [1, 2]}, {"query": "q.count"}, {"query": None}),
}


@pytest.mark.parametrize(("row", "paths", "fields"), LEADS.values(), ids=LEADS)
def test_fields_are_found_by_paths(row: dict[str, Any], paths: FieldPaths, fields: dict[str, Any]) -> None:
    expected: dict[str, Any] = {"query": "When?", **fields}
    case = Case.of({**Fields.of(paths).in_row(row), "metadata": {}})
    assert without_empty_paths(case) == without_empty_paths(Case(**expected))


def test_a_path_with_two_meanings_is_refused() -> None:
    with pytest.raises(CaseError, match=r"bad_path: the path 'a\.b' leads to two different values"):
        Fields({"query": "a.b"}).in_row({"a.b": "one", "a": {"b": "other"}})


NAN = float("nan")


class Incomparable:
    """An object whose comparison raises."""

    def __eq__(self, _: object) -> bool:
        message = "not comparable"
        raise RuntimeError(message)

    __hash__ = None  # type: ignore[assignment]


class ComparesItems:
    """An object whose comparison has an array as its result."""

    def __eq__(self, _: object) -> Any:
        return np.array([True, False])

    __hash__ = None  # type: ignore[assignment]


def at_two_keys(first: Any, second: Any) -> dict[str, Any]:
    """A row where the path `a.b` leads to both values."""
    return {"a.b": first, "a": {"b": second}}


SAME, OTHER = Incomparable(), ComparesItems()
pandas = pytest.importorskip("pandas")
ABSENT: dict[str, dict[str, Any]] = {
    "NaN": {"a": {"b": NAN}},
    "NaN of NumPy": {"a": {"b": np.float64("nan")}},
    "NaT": {"a": {"b": pandas.NaT}},
    "NA": {"a": {"b": pandas.NA}},
    "NA of another library": {"a": {"b": NAType()}},
    "NaN at both keys": at_two_keys(NAN, float("nan")),
    "NaN and a null": at_two_keys(NAN, None),
    "NaN and NA": at_two_keys(NAN, pandas.NA),
}
EQUAL: dict[str, tuple[dict[str, Any], Any]] = {
    "NaN beside a text": (at_two_keys(NAN, "x"), "x"),
    "a list with NaN": ({"a": {"b": [NAN, 1]}}, [NAN, 1]),
    "equal lists with NaN": (at_two_keys([NAN, 1], [float("nan"), 1]), [NAN, 1]),
    "equal mappings with NaN in a list": (at_two_keys({"c": [NAN]}, {"c": [float("nan")]}), {"c": [NAN]}),
    "an array": ({"a": {"b": np.array(["x", "y"])}}, ["x", "y"]),
    "equal arrays": (at_two_keys(np.array([1, 2]), np.array([1, 2])), [1, 2]),
    "an array and a list": (at_two_keys(np.array([1, 2]), [1, 2]), [1, 2]),
    "equal arrays in lists": (at_two_keys([np.array([1, 2])], [np.array([1, 2])]), [np.array([1, 2])]),
    "an object that cannot be compared": ({"a": {"b": SAME}}, SAME),
    "the same object at both keys": (at_two_keys(SAME, SAME), SAME),
    "an object that compares its items": ({"a": {"b": OTHER}}, OTHER),
    "the same of these at both keys": (at_two_keys(OTHER, OTHER), OTHER),
}
DIFFERENT: dict[str, dict[str, Any]] = {
    "lists": at_two_keys([NAN, 1], [NAN, 2]),
    "lists of other lengths": at_two_keys([1], [1, 1]),
    "mappings": at_two_keys({"c": 1}, {"c": 1, "d": NAN}),
    "arrays": at_two_keys(np.array([1, 2]), np.array([1, 3])),
    "a list and a text": at_two_keys(["x"], "x"),
    "two objects that cannot be compared": at_two_keys(Incomparable(), Incomparable()),
    "two objects that compare their items": at_two_keys(ComparesItems(), ComparesItems()),
}


@pytest.mark.parametrize("row", ABSENT.values(), ids=ABSENT)
def test_path_to_what_tables_hold_for_nothing_leads_nowhere(row: dict[str, Any]) -> None:
    assert value_at(row, "a.b") is None
    assert Case.of(Fields.of({"query": "a.b"}).in_row(row)).query is None


@pytest.mark.parametrize(("row", "value"), EQUAL.values(), ids=EQUAL)
def test_path_leads_to_a_value_that_both_keys_give(row: dict[str, Any], value: Any) -> None:
    assert repr(value_at(row, "a.b")) == repr(value)


@pytest.mark.parametrize("row", DIFFERENT.values(), ids=DIFFERENT)
def test_path_to_different_values_of_any_kind_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(CaseError, match=r"bad_path: the path 'a\.b' leads to two different values"):
        value_at(row, "a.b")


# --- rows of files ------------------------------------------------------------


def test_row_of_a_file_keeps_its_other_keys_and_what_cannot_be_read() -> None:
    row = {"q": "When?", "topic": "ferries", "judges": ["x"], "metadata": {"label": 1}, "context": {"n": 1}}
    fields = Fields({"query": "q"}).in_flat_row(row)
    assert (fields["topic"], fields["judges"], fields["label"]) == ("ferries", ["x"], 1)
    assert error_of(fields).code == "context_unreadable"


def rows_of(path: Path, content: str, paths: FieldPaths) -> list[Any]:
    path.write_text(content)
    return list(CaseFile(path, fields=paths).rows())


CTX = {"query": "q", "context": "ctx"}
COLUMNS: dict[str, tuple[str, FieldPaths, dict[str, Any]]] = {
    "a dot in a column": ("inputs.q,answer\nWhen?,r\n", {"query": "inputs.q"}, {"response": "r"}),
    "a list in a cell": ('q,ctx\nWhen?,"[""a"", ""b""]"\n', CTX, {"context": ["a", "b"]}),
    "an empty cell of the context": ("q,ctx\nWhen?,\n", CTX, {"context": []}),
    "an empty cell of answers": ("q,real\nWhen?,\n", {"query": "q", "answers": "real"}, {"answers": []}),
    "a column without a value": ("q,real\nWhen?,NaN\n", {"query": "q", "answers": "real"}, {}),
}


@pytest.mark.parametrize(("content", "paths", "fields"), COLUMNS.values(), ids=COLUMNS)
def test_columns_are_mapped_with_the_rules_of_their_field(
    tmp_path: Path, content: str, paths: FieldPaths, fields: dict[str, Any]
) -> None:
    (row,) = rows_of(tmp_path / "rows.csv", content, paths)
    expected: dict[str, Any] = {"query": "When?", **fields}
    assert Case.of(row).model_copy(update={"metadata": {}}) == Case(**expected)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("inputs.qq", "for query, did you mean 'inputs.q'? The first row has inputs.q, outputs"),
        ("nothing", "has the path nothing, which `fields` gives for query. The first row has inputs.q, "),
        ("outputs.choices.1.text", "did you mean 'outputs.choices.0.text'?"),
    ],
    ids=[
        "a misspelt end",
        "nothing like it",
        "an index too high",
    ],
)
def test_a_path_that_no_row_has_is_refused_before_the_first_row(
    tmp_path: Path, path: str, message: str
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(f"{json.dumps(NESTED)}\nbroken\n")
    with pytest.raises(CaseError, match=f"bad_path.*{re.escape(message)}"):
        next(CaseFile(file, fields={"query": path}).rows())


def test_on_stdin_it_is_refused_after_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n{"b": 2}\n')))
    rows = CaseFile("-", fields={"query": "c"}).rows()
    assert [next(rows)["query"], next(rows)["query"]] == [None, None]  # type: ignore[index]
    with pytest.raises(
        CaseError, match="bad_path: no row of stdin has the path c, which `fields` gives for query"
    ):
        next(rows)


@pytest.mark.parametrize(
    "content",
    ['{"a": 1}\n{"q": null}\n', "", "broken\n"],
    ids=["a null in the second row", "an empty file", "no row that can be read"],
)
def test_a_path_that_some_row_has_or_that_no_row_could_have_is_accepted(tmp_path: Path, content: str) -> None:
    assert len(rows_of(tmp_path / "rows.jsonl", content, {"query": "q"})) == content.count("\n")


def test_rows_are_searched_only_until_all_paths_are_found() -> None:
    rows: Iterator[dict[str, Any]] = iter([{"a": 1}, {"b": {"c": 2}}, {"d": 3}])
    assert len([*until_found(rows, {"query": "a", "response": "b.c"}, "rows")]) == 2
    assert next(rows) == {"d": 3}


# --- traced runs --------------------------------------------------------------

RETRIEVED = (Document(content="found"), Document(content="more"))
ASKS = {"query": "q", "context": "given", "d": "mapped"}
TOOLS = [USER, CLOSED, MOMENT, USER, ("tool", "found"), ANSWER]


@pytest.mark.parametrize(
    ("outputs", "expected", "path", "context"),
    [
        ({"answer": "r", "context": "returned"}, {}, None, ["returned"]),
        ({"answer": "r", "context": []}, {}, None, []),
        ("r", {"context": "gold"}, None, ["found", "more"]),
        ("r", None, "inputs.d", ["mapped"]),
        ("r", None, "inputs.e", ["found", "more"]),
        ({"messages": TOOLS}, None, None, ["Closed on Sundays.", "found", "more"]),
        ({"messages": [USER, ANSWER]}, None, None, ["found", "more"]),
    ],
    ids=["outputs", "empty", "before inputs", "path", "path to nothing", "with tools' results", "without"],
)
def test_context_is_that_of_the_outputs_else_what_was_retrieved(
    outputs: Any, expected: Any, path: str | None, context: list[str]
) -> None:
    fields = Fields.of({"context": path} if path else None)
    row = {"inputs": ASKS, "outputs": outputs, "reference_outputs": expected}
    case = Case.of(fields.in_row(row, retrieved=RETRIEVED))
    assert [document.content for document in case.context or ()] == context


def test_context_of_the_inputs_counts_without_retriever_or_tool() -> None:
    case = Case.of(Fields().in_row({"inputs": ASKS, "outputs": "r"}, retrieved=None))
    assert case.context == (Document(content="given"),)


def test_what_cannot_be_read_is_an_error_only_for_judges_of_a_context() -> None:
    retrieved = CaseError("context_unreadable", "no text", "context")
    case = Case.of(Fields().in_row({"inputs": {"query": "q"}, "outputs": "r"}, retrieved=retrieved))
    assert case.value("response") == "r"
    with pytest.raises(CaseError, match="no text"):
        case.value("context")


def test_what_cannot_be_read_does_not_matter_where_the_outputs_have_a_context() -> None:
    retrieved = CaseError("context_unreadable", "no text", "context")
    row = {"inputs": {"query": "q"}, "outputs": {"answer": "r", "context": ["c"]}}
    assert Case.of(Fields().in_row(row, retrieved=retrieved)).context == (Document(content="c"),)


def traced(kind: str, outputs: object) -> list[str] | None:
    """The texts that a run of that kind and name returned, inside a chain."""
    runs = [("chain", "", [(kind, "weather", outputs, None)], None)]
    documents = traced_documents(runs, lambda run: run[2], lambda run: run)  # type: ignore[arg-type, return-value]
    titles = {"tool": "Tool Result: weather"}
    assert all(document.title == titles.get(kind, "") for document in documents or ())
    return None if documents is None else [document.content for document in documents]


@pytest.mark.parametrize(
    ("kind", "outputs", "texts"),
    [
        ("retriever", ["a", {"page_content": "b"}], ["a", "b"]),
        ("retriever", {"documents": [{"content": "a"}]}, ["a"]),
        ("retriever", {"content": "a"}, ["a"]),
        ("retriever", None, []),
        ("tool", "sunny", ["sunny"]),
        ("tool", {"output": Message(role="tool", content="sunny")}, ["sunny"]),
        ("tool", {"output": {"tool_call_id": "1", "content": "sunny"}}, ["sunny"]),
        ("tool", {"tool_call_id": "1", "content": "sunny", "name": "weather"}, ["sunny"]),
        ("tool", {"output": 1, "more": 2}, ['{"output": 1, "more": 2}']),
        ("tool", 0, ["0"]),
        ("tool", {}, []),
        ("tool", {"output": None}, []),
        ("llm", [], None),
    ],
    ids=[
        "a list",
        "a mapping with documents",
        "a mapping that is a document",
        "a retriever without outputs",
        "a text",
        "a message",
        "a message as a mapping",
        "a message without the usual key",
        "data with an output and more",
        "a falsy number",
        "an empty mapping",
        "a null",
        "neither retriever nor tool",
    ],
)
def test_retrievers_and_tools_returned_documents(kind: str, outputs: object, texts: list[str] | None) -> None:
    assert traced(kind, outputs) == texts


AT_PATHS: Mapping[str, Any] = {
    "inputs": {"question": "When?"},
    "outputs": {"answer": "At nine.", "documents": ["We open at nine."], "nothing_yet": None},
}


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        pytest.param(
            {"context": "outputs.docs"},
            "groundedness needs context, which is not given (nothing is at the path 'outputs.docs', did you "
            "mean 'outputs.documents'?). The case has: query, response",
            id="a misspelt path",
        ),
        pytest.param(
            {"context": "outputs.nothing_yet"},
            "groundedness needs context, which is not given (nothing is at the path 'outputs.nothing_yet'). "
            "The case has: query, response",
            id="a path to a null",
        ),
        pytest.param(
            {"query": "inputs.q", "context": "7"},
            "groundedness needs query, which is not given (nothing is at the path 'inputs.q', did you mean "
            "'inputs.question'?), and context, which is not given (nothing is at the path '7'). "
            "The case has: response",
            id="two paths",
        ),
        pytest.param(
            {"response": "outputs.text"},
            "groundedness: no response was given (nothing is at the path 'outputs.text', did you mean "
            "'outputs.answer'?). ",
            id="the response",
        ),
    ],
)
def test_a_path_that_gives_nothing_is_named_with_the_nearest_one(paths: FieldPaths, message: str) -> None:
    rubric = load_rubric("groundedness")
    case = Case.of(Fields.of(paths).in_row(AT_PATHS))
    ask = partial(blank_response_verdict, rubric) if "response" in paths else rubric.ask
    with pytest.raises(CaseError) as raised:
        ask(case)
    assert message in raised.value.message


def test_a_path_that_gives_nothing_is_no_error_where_the_field_is_not_needed() -> None:
    case = Case.of(Fields.of({"answers": "outputs.facts"}).in_row(AT_PATHS))
    assert load_rubric("groundedness").ask(case).case.answers is None
