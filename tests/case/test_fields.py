"""Where fields are found: names, exchanges, states of agents, paths, rows of files and traced runs."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chats import CHAT, LANGCHAIN, OPENAI, Snippet, error_of
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from pydantic import BaseModel

from groundjudge.case.case import Case, Document, Message
from groundjudge.case.fields import (
    ALIASES,
    FIELD_NAMED,
    FieldPaths,
    Fields,
    retrieved_documents,
    tool_documents,
    until_found,
)
from groundjudge.errors import CaseError
from groundjudge.runs.rows import read_rows

# --- names ------------------------------------------------------------------------------------

DOCUMENTED = re.compile(r"^\| `(\w+)` \| `(.+)` \|$", re.MULTILINE)


def test_documentation_lists_every_name_of_a_field() -> None:
    page = Path(__file__).parents[2] / "docs" / "quickstart.md"
    rows = {field: tuple(names.split("`, `")) for field, names in DOCUMENTED.findall(page.read_text("utf-8"))}
    assert rows.pop("id") == ("case_id",)
    assert rows == {field: names for field, names in ALIASES.items() if names}


@pytest.mark.parametrize("written", [str, str.upper])
@pytest.mark.parametrize(("name", "field"), FIELD_NAMED.items())
def test_every_name_of_a_field_is_read_without_case(name: str, field: str, written: Any) -> None:
    assert Case.from_mapping({written(name): "x"}) == Case(**{field: "x"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "row",
    [
        {"query": "a", "question": "b"},
        {"answer": "a", "output": "b", "response": "a"},
        {"source_documents": ["a"], "docs": ["b"]},
        {"answers": ["a"], "real_answers": ["b"]},
        {"history": [("user", "a")], "turns": [("assistant", "a")]},
        {"query": "a", "input": [{"role": "user", "content": "a"}]},
    ],
)
def test_two_names_of_a_field_with_different_values_are_an_error(row: dict[str, Any]) -> None:
    error = error_of(row)
    first, second, *_ = row
    assert (error.code, error.subject) == ("alias_conflict", FIELD_NAMED[first])
    assert repr(first) in error.message
    assert repr(second) in error.message


@pytest.mark.parametrize(
    ("row", "same"),
    [
        ({"query": "a", "question": "a"}, {"query": "a"}),
        ({"query": "a", "question": ""}, {"query": "a"}),
        ({"query": " ", "question": "a"}, {"query": "a"}),
        ({"context": "a", "documents": [{"text": "a"}]}, {"context": "a"}),
        ({"context": [], "documents": ["a"]}, {"context": "a"}),
        ({"turns": OPENAI, "history": LANGCHAIN}, {"conversation": CHAT}),
        ({"query": "a", "question": float("nan")}, {"query": "a"}),
        ({"answer": None, "output": "a"}, {"response": "a"}),
        ({"answer": " ", "output": ""}, {"response": " "}),
        ({"answer": "a", "output": None}, {"response": "a"}),
    ],
)
def test_two_names_of_a_field_may_agree_or_be_blank(row: dict[str, Any], same: dict[str, Any]) -> None:
    assert Case.from_mapping(row) == Case.from_mapping(same)


def test_other_keys_go_to_metadata() -> None:
    inner = {"label": 0, "by": "me", "id": "inner"}
    case = Case.from_mapping({"query": "q", "label": 1, "split": "dev", "metadata": inner, "id": "7"})
    assert dict(case.metadata) == {"label": 1, "split": "dev", "by": "me", "id": "inner"}
    assert case.id == "7"
    assert dict(Case.from_mapping({"metadata": "text"}).metadata) == {"metadata": "text"}


METADATA_AT_PATHS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"metadata": {"a": 1, "b": 1}, "more": {"b": 2}}, "more", {"a": 1, "b": 2, "more": {"b": 2}}),
    ({"metadata": {"a": 1}}, "nothing", {"a": 1}),
    ({"inputs": {"metadata": {"a": 1, "b": 1}}, "outputs": {"b": 2}}, "outputs", {"a": 1, "b": 2}),
]


@pytest.mark.parametrize(("row", "path", "metadata"), METADATA_AT_PATHS)
def test_metadata_at_a_path_is_merged_and_comes_first(
    row: dict[str, Any], path: str, metadata: dict[str, Any]
) -> None:
    assert Case.of(Fields.of({"metadata": path}).in_row(row)).metadata == metadata


def test_metadata_is_kept_as_json_data() -> None:
    held = {"tuple": (1, 2), "nan": [float("nan")], "type": int, "surrogate": "\ud83d", 5: {"six": None}}
    assert dict(Case.from_mapping(held).metadata) == {  # type: ignore[arg-type]
        "tuple": [1, 2],
        "nan": ["NaN"],
        "type": "<class 'int'>",
        "surrogate": "�",
        "5": {"six": None},
    }
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


class NaTType:
    """Like pandas' NaT: it differs from itself."""

    def __ne__(self, _: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


NAT = NaTType()


@pytest.mark.parametrize("field", [*ALIASES, "id"])
@pytest.mark.parametrize("value", [None, float("nan"), NAT, NAType()], ids=["None", "NaN", "NaT", "NA"])
def test_null_and_what_tables_hold_for_it_mean_not_given(field: str, value: Any) -> None:
    assert Case.from_mapping({field: value}) == Case()
    assert Case.from_mapping({"topic": value}).given() == ()


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        ({"case_id": 7}, "7"),
        ({"ID": "a"}, "a"),
        ({"case_id": "a", "id": "b"}, "b"),
        ({"id": None, "case_id": "a"}, "a"),
    ],
)
def test_id_has_two_names(row: dict[str, Any], kept: str) -> None:
    assert Case.from_mapping(row).id == kept


def test_field_that_no_judge_uses_is_no_error() -> None:
    unused = {"context": [5], "query": {"a": 1}, "answers": [1], "documents": "d", "question": "q"}
    case = Case.from_mapping({**unused, "response": "r", "id": 1})
    assert (case.response, case.id) == ("r", "1")
    assert case.given() == ("query", "response", "context", "answers")
    for field in ("context", "query", "answers"):
        for _ in range(2):
            with pytest.raises(CaseError, match="unreadable" if field == "answers" else "alias_conflict"):
                case.value(field)


def test_empty_values_are_given() -> None:
    case = Case.from_mapping({"context": [], "response": "", "answers": []})
    assert case.given() == ("response", "context", "answers")
    assert (case.context, case.response, case.answers) == ((), "", ())


@pytest.mark.parametrize(
    ("row", "field", "hint"),
    [
        ({"query": "q", "anser": "r"}, "response", "'anser'"),
        ({"Contxt": []}, "context", "'Contxt'"),
        ({"inputs": "q", "outputs": {"respones": "r"}}, "response", "'respones'"),
        ({"query": "q", "label": 1}, "response", ""),
    ],
)
def test_key_that_is_nearly_a_name_is_told(row: dict[str, Any], field: str, hint: str) -> None:
    said = Case.from_mapping(row).hint(field)
    assert (hint in said, bool(said)) == (True, bool(hint))


@pytest.mark.parametrize("row", [5, "text", None, [{"query": "q"}]])
def test_row_that_is_not_a_mapping_is_an_error(row: Any) -> None:
    assert error_of(row).code == "unreadable_row"


# --- inputs and outputs -----------------------------------------------------------------------

ASKED = [("user", "q")]
ANSWERED = [("user", "q"), ("assistant", "first"), ("tool", "t"), ("assistant", "r")]
THREAD: dict[str, Any] = {"context": [{"content": "t", "kind": "tool"}], "conversation": ANSWERED[:3]}


@dataclass
class Asked:
    question: str
    contexts: list[str]


class Answered(BaseModel):
    answer: str
    cost: int
    documents: list[str] | None = None


class State(BaseModel):
    messages: list[Any]


EXCHANGES: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "texts": ("q", "r", "g", {"reference": "g"}),
    "messages as inputs": ({"messages": ASKED}, "r", None, {"query": ASKED}),
    "messages as outputs": ("q", {"messages": ANSWERED}, None, THREAD),
    "messages under a name of the response": ("q", {"output": ANSWERED}, None, THREAD),
    "messages as reference": ("q", "r", {"messages": ANSWERED}, {"reference": "r"}),
    "lists of messages as sides": (ASKED, ANSWERED, ANSWERED, {**THREAD, "reference": "r"}),
    "single messages as sides": (
        *({"role": "user", "content": "q"}, AIMessage("r"), dumpd(AIMessage("g"))),
        {"reference": "g", "context": [], "conversation": ASKED},
    ),
    "messages without an answer": (
        *("q", {"messages": [*ANSWERED, ("user", "x")]}, None),
        {"response": None, "context": THREAD["context"], "conversation": [*ANSWERED, ("user", "x")]},
    ),
    "no messages": ("q", {"messages": []}, None, {"response": None, "conversation": []}),
    "messages that go on": (
        {"messages": ANSWERED[:2] + ASKED},
        {"messages": [("tool", "t"), ("assistant", "r")]},
        None,
        {**THREAD, "conversation": [*ANSWERED[:2], *ASKED, ("tool", "t")]},
    ),
    "earlier tool results": (
        *({"messages": ANSWERED + ASKED}, {"answer": "r"}, None),
        {"query": ANSWERED + ASKED, "context": THREAD["context"]},
    ),
    "a text under messages": ("q", {"messages": "r"}, None, {}),
    "null in the outputs": (
        *({"messages": ANSWERED}, {"messages": ANSWERED, "answer": None}, None),
        {"response": None, "context": THREAD["context"], "conversation": ANSWERED},
    ),
    "null in the inputs": ({"query": "q", "answer": None}, {"messages": ANSWERED}, None, THREAD),
    "NaN for the outputs": ("q", float("nan"), float("nan"), {"response": None}),
    "an empty text": ("q", "", None, {"response": ""}),
    "no output": ("q", None, None, {"response": None}),
    "a reference that has messages too": ("q", "r", {"answer": "g", "messages": ASKED}, {"reference": "g"}),
    "a reference called answer": ("q", "r", {"answer": "g"}, {"reference": "g"}),
    "context in the reference": (
        {"messages": ASKED},
        "r",
        {"context": "c"},
        {"query": ASKED, "context": "c"},
    ),
    "context on all sides": (
        *({"question": "q", "context": "old"}, {"answer": "r", "documents": ["c"]}, {"context": "older"}),
        {"context": "c"},
    ),
    "messages beside a question": (
        *({"question": "q", "messages": ANSWERED}, "r", None),
        {"conversation": ANSWERED, "context": THREAD["context"]},
    ),
    "messages beside an answer": ("q", {"answer": "r", "messages": ANSWERED}, None, THREAD),
    "a dataclass and a pydantic model": (
        *(Asked("q", ["c"]), Answered(answer="r", cost=1), None),
        {"context": ["c"], "metadata": {"cost": 1}},
    ),
    "states that are objects": (State(messages=ASKED), State(messages=ANSWERED), None, THREAD),
    "a document as the reference": ("q", "r", Snippet("g", {}), {"reference": "g"}),
    "several ids": ({"question": "q", "id": 1}, {"answer": "r", "id": 2}, {"id": 3}, {"id": "1"}),
    "a role without content": ({"role": "x", "question": "q"}, "r", None, {"metadata": {"role": "x"}}),
}


@pytest.mark.parametrize(("inputs", "outputs", "reference", "fields"), EXCHANGES.values(), ids=EXCHANGES)
def test_inputs_outputs_and_reference_are_read(
    inputs: Any, outputs: Any, reference: Any, fields: dict[str, Any]
) -> None:
    case = Case.from_exchange(inputs, outputs, reference)
    expected: dict[str, Any] = {"query": "q", "response": "r", **fields}
    assert case == Case(**expected)
    row = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference}
    assert Case.from_mapping(row) == case


def test_exchange_takes_further_fields() -> None:
    row = {"inputs": "q", "outputs": "r", "contexts": ["c"], "id": 5, "self": "b", "metadata": {"x": 1}}
    expected = Case(query="q", response="r", context="c", id="5", metadata={"self": "b", "x": 1})
    assert Case.from_mapping(row) == expected
    assert Case.from_exchange("q", "r", contexts=["c"], id=5).context == expected.context


def test_exchange_with_conflicting_names_is_an_error() -> None:
    assert error_of({"inputs": {"question": "a", "query": "b"}, "outputs": "r"}).code == "alias_conflict"
    for name in ("question", "query"):
        assert error_of({"inputs": "a", "outputs": "r", name: "b"}).code == "alias_conflict"


def test_inputs_without_outputs_go_to_metadata() -> None:
    assert Case.from_mapping({"inputs": {"question": "q"}}).given() == ("inputs",)


# --- states of agents -------------------------------------------------------------------------

SYSTEM, USER = ("system", "Be kind."), ("user", "When does it open?")
CALLS = AIMessage("", tool_calls=[{"name": "get_hours", "args": {}, "id": "1"}])
CALLS_AND_SAYS = AIMessage("I will look.", tool_calls=[{"name": "get_hours", "args": {}, "id": "1"}])
RESULT = ToolMessage("Open at 9.", name="get_hours", tool_call_id="1")
ANSWER = AIMessage("At 9.")
RESULT_READ = Document(content="Open at 9.", title="get_hours", kind="tool")
WHEN = {"query": "When does it open?"}
OLDER = [("user", "Hi."), ("assistant", "Hello.")]

USUAL = {**WHEN, "response": "At 9.", "context": [], "conversation": [USER]}
FROM_TOOL = {"context": RESULT_READ, "conversation": [USER, CALLS, RESULT]}
CLOSED = ("tool", "Closed on Sundays.")
MOMENT = ("assistant", "Moment.")
RESULT_BLOCK: dict[str, Any] = {"type": "tool_result", "content": "Open at 9."}
ANTHROPIC: list[Any] = [
    {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]},
    {"role": "user", "content": [RESULT_BLOCK]},
]
ANTHROPIC_READ: list[Any] = [
    {"role": "assistant", "tool_calls": [{"name": "f", "args": {}}]},
    ("tool", "Open at 9."),
]
EARLIER = [("user", "Hi."), CALLS, ("tool", "old"), ("assistant", "Hello."), USER]
NO_ANSWER = {"response": None, "context": None}
NOTHING = {**NO_ANSWER, "query": None, "conversation": None}


def state(*messages: Any, **more: Any) -> dict[str, Any]:
    """The state of an agent with these messages and other keys."""
    return {"messages": [*messages], **more}


def usual(*conversation: Any, **fields: Any) -> Case:
    """The case of `USUAL`, but for the messages of its conversation and these fields."""
    said: dict[str, Any] = {"conversation": [*conversation]} if conversation else {}
    expected: dict[str, Any] = {**USUAL, **fields, **said}
    return Case(**expected)


STATES: dict[str, tuple[dict[str, Any], Case]] = {
    "an exchange": (state(USER, ANSWER), usual()),
    "a tool": (state(USER, CALLS, RESULT, ANSWER), usual(**FROM_TOOL)),
    "an earlier tool": (
        state(*EARLIER, ANSWER),
        usual(*EARLIER, context=[{"content": "old", "kind": "tool"}]),
    ),
    "a tool call without an answer": (
        state(*OLDER, USER, CALLS, RESULT),
        usual(*OLDER, USER, CALLS, RESULT, response=None, context=RESULT_READ),
    ),
    "a text beside a tool call": (state(USER, CALLS_AND_SAYS), usual(USER, CALLS_AND_SAYS, **NO_ANSWER)),
    "the last of two answers": (state(USER, MOMENT, ANSWER), usual(USER, MOMENT)),
    "a blank last answer": (state(USER, ANSWER, AIMessage("")), usual(USER, ANSWER, response="")),
    "system messages": (state(SYSTEM, USER, SYSTEM, ANSWER, SYSTEM), usual(SYSTEM, USER, SYSTEM)),
    "only a system message": (state(SYSTEM), usual(SYSTEM, **NOTHING)),
    "only an answer": (state(ANSWER), usual(query=None, context=None, conversation=[])),
    "a single message": ({"messages": HumanMessage(USER[1])}, usual(**NO_ANSWER)),
    "no messages": (state(), usual(**{**NOTHING, "conversation": []})),
    "null": ({"messages": None, "question": "q"}, usual(**{**NOTHING, "query": "q"})),
    "a text": ({"messages": "q", "answer": "r"}, usual(**{**NOTHING, "conversation": "q", "response": "r"})),
    "a context beside it": (
        state(USER, CALLS, RESULT, ANSWER, documents=["c"]),
        usual(USER, CALLS, RESULT, context="c"),
    ),
    "a query beside it": (state(USER, ANSWER, question="q"), usual(query="q")),
    "a response beside it": (
        state(*OLDER, USER, answer="r"),
        usual(*OLDER, USER, response="r", context=None),
    ),
    "a blank response beside it": (
        state(USER, ANSWER, answer=""),
        usual(USER, ANSWER, response="", context=None),
    ),
    "a conversation beside it": (state(USER, ANSWER, history=OLDER), usual(*OLDER)),
    "further keys": (
        state(USER, ANSWER, id=7, steps=2, reference="g"),
        usual(id="7", metadata={"steps": 2}, reference="g"),
    ),
    "an answer among the messages": (
        state(USER, RESULT, ANSWER, answer="At 9."),
        usual(USER, RESULT, context=RESULT_READ),
    ),
    "an answer without a value": (state(USER, ANSWER, answer=None), usual(USER, ANSWER, **NO_ANSWER)),
    "a tool result after the answer": (state(USER, ANSWER, CALLS, RESULT), usual()),
    "a misspelt context": (
        state(USER, ANSWER, contxt=["c"]),
        usual(context=None, metadata={"contxt": ["c"]}),
    ),
    "Anthropic's tool results": (
        state(USER, *ANTHROPIC, ANSWER),
        usual(USER, *ANTHROPIC_READ, context={"content": "Open at 9.", "kind": "tool"}),
    ),
    "no messages at all": (
        {"question": "q", "generation": "r"},
        usual(**{**NOTHING, "query": "q", "response": "r"}),
    ),
}


@pytest.mark.parametrize(("state", "case"), STATES.values(), ids=STATES)
def test_state_of_an_agent_is_read(state: dict[str, Any], case: Case) -> None:
    assert Case.from_mapping(state) == case


STATE: dict[str, Any] = {
    "messages": [USER, RESULT, ANSWER],
    "docs": ["a"],
    "context": "b",
    "final": {"text": "At ten."},
    "agent": {"messages": [*OLDER]},
    "topic": "hours",
}
WHOLE = [USER, RESULT, ANSWER]
MAPPED: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    # the paths: the fields in which the case differs from USUAL
    "a field": (
        {"response": "input.final.text", "context": "input.docs"},
        {"response": "At ten.", "context": "a", "conversation": WHOLE},
    ),
    "an alias": (
        {"generation": "input.final.text", "source_documents": "input.context"},
        {"response": "At ten.", "context": "b", "conversation": WHOLE},
    ),
    "a path that leads nowhere": (
        {"response": "input.finale.text", "context": "input.context"},
        {"response": None, "context": "b", "conversation": WHOLE},
    ),
    "messages": (
        {"messages": "input.agent.messages", "context": "input.docs"},
        {"query": "Hi.", "response": "Hello.", "context": "a", "conversation": OLDER[:1]},
    ),
    "the conversation": (
        {"conversation": "input.agent.messages", "context": "input.docs"},
        {"context": "a", "conversation": OLDER},
    ),
    "id and metadata": (
        {"id": "input.topic", "metadata": "input.final", "context": "input.docs"},
        {"context": "a", "conversation": WHOLE[:2], "id": "hours", "metadata": {"text": "At ten."}},
    ),
}


@pytest.mark.parametrize(("paths", "fields"), MAPPED.values(), ids=MAPPED)
def test_paths_into_a_state_come_before_usual_names_and_messages(
    paths: dict[str, str], fields: dict[str, Any]
) -> None:
    case = Case.of(Fields.of(paths).in_row(STATE, {"input": STATE}))
    rest = {key: STATE[key] for key in ("final", "agent", "topic")}
    usual: dict[str, Any] = {**USUAL, **fields}
    expected = Case(**usual)
    metadata = {**Case(metadata=rest).metadata, **expected.metadata}
    assert case == expected.model_copy(update={"metadata": metadata})


def test_state_that_is_an_object_is_read_by_paths() -> None:
    state = Snippet("c", {"q": "When?"})
    fields = Fields.of({"query": "input.metadata.q", "context": "input.page_content"})
    assert Case.of(fields.in_row(state, {"input": state})) == Case(query="When?", context="c")
    with pytest.raises(CaseError, match="unreadable_row"):
        Fields().in_row(state)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"qeury": "input.q"}, "unknown_field", "unknown field 'qeury', did you mean 'query'? The"),
        ({"zzz": "input.q"}, "unknown_field", "unknown field 'zzz'. The fields are: query, response"),
        ({"query": "input.q", "question": "input.p"}, "alias_conflict", "query is already read from input.q"),
        ({"query": "inputs.q"}, "bad_path", "begins with 'inputs', which is none of input, did you mean"),
        ({"query": ["input", "q"]}, "bad_path", "none of input"),
        ({"query": ""}, "bad_path", "none of input"),
    ],
)
def test_path_that_no_row_can_make_right_is_refused(given: Any, code: str, message: str) -> None:
    with pytest.raises(CaseError) as raised:
        Fields.of(given, ["topic"], ["input"])
    assert raised.value.code == code
    assert message in raised.value.message


@pytest.mark.parametrize("given", ["input.q", 5, ["query"]])
def test_neither_mapping_nor_function_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="fields must be a mapping of field to dotted path, or a function"):
        Fields.of(given)


def test_input_of_a_prompts_own_is_a_field() -> None:
    row = {"about": {"topic": "dogs"}, "question": "q"}
    fields = Fields.of({"topic": "input.about.topic"}, ["topic"], ["input"])
    assert fields.in_row(row, {"input": row})["metadata"]["topic"] == "dogs"
    assert Fields.of({"topic": "about"}, None).paths == {"topic": "about"}
    assert Fields.of({"CUSTOMERQUERY": "about"}, None).paths == {"query": "about"}


# --- rows of files ------------------------------------------------------------

WHEN_ASKED = Case(query="When?")
NESTED = {"inputs": {"q": "When?"}, "outputs": {"choices": [{"text": "At nine."}]}, "docs": ["d"]}


LEADS: dict[str, tuple[dict[str, Any], FieldPaths, Case]] = {
    "a key": ({"q": "When?"}, {"query": "q"}, WHEN_ASKED),
    "nested objects and an index": (
        NESTED,
        {"query": "inputs.q", "response": "outputs.choices.0.text", "context": "docs"},
        Case(query="When?", response="At nine.", context="d"),
    ),
    "a dot in a key": ({"a.b": "When?"}, {"query": "a.b"}, WHEN_ASKED),
    "a dot in a key, nested": ({"a.b": {"c": "When?"}}, {"query": "a.b.c"}, WHEN_ASKED),
    "only one way leads": ({"a.b": "When?", "a": {"c": 1}}, {"query": "a.b"}, WHEN_ASKED),
    "both ways agree": ({"a.b": "When?", "a": {"b": "When?"}}, {"query": "a.b"}, WHEN_ASKED),
    "usual names": ({"query": "a", "question": "b", "q": "When?"}, {"query": "q"}, WHEN_ASKED),
    "comes before what an exchange holds": (
        {"inputs": {"question": "usual", "q": "When?"}, "outputs": "r"},
        {"query": "inputs.q"},
        Case(query="When?", response="r"),
    ),
    "leads nowhere": ({"question": "When?"}, {"response": "x"}, WHEN_ASKED),
    "a method is no part of a text": ({"q": "text"}, {"query": "q.upper"}, Case()),
    "a method is no part of a list": ({"q": [1, 2]}, {"query": "q.count"}, Case()),
}


@pytest.mark.parametrize(("row", "paths", "case"), LEADS.values(), ids=LEADS)
def test_fields_are_found_by_paths(row: dict[str, Any], paths: FieldPaths, case: Case) -> None:
    found = Case.from_mapping(Fields.of(paths).in_row(row))
    assert found.model_copy(update={"metadata": case.metadata}) == case


def test_other_keys_of_the_row_stay() -> None:
    row = {"q": "When?", "topic": "ferries", "judges": ["groundedness"], "metadata": {"label": 1}}
    found = Fields({"query": "q"}).in_flat_row(row)
    assert (found["topic"], found["judges"], found["label"]) == ("ferries", ["groundedness"], 1)


def test_a_field_that_cannot_be_read_is_kept_for_the_error_of_the_judges() -> None:
    row = Fields({"query": "q"}).in_flat_row({"q": "When?", "context": {"n": 1}})
    assert error_of(row).code == "context_unreadable"


def test_a_path_with_two_meanings_is_refused() -> None:
    with pytest.raises(CaseError, match=r"bad_path: the path 'a\.b' leads to two different values"):
        Fields({"query": "a.b"}).in_row({"a.b": "one", "a": {"b": "other"}})


def rows_of(path: Path, content: str, paths: FieldPaths) -> list[Any]:
    path.write_text(content)
    return list(read_rows(path, fields=paths))


@pytest.mark.parametrize(
    ("content", "paths", "fields"),
    [
        ("inputs.q,answer\nWhen?,r\n", {"query": "inputs.q"}, Case(query="When?", response="r")),
        (
            'q,ctx\nWhen?,"[""a"", ""b""]"\n',
            {"query": "q", "context": "ctx"},
            Case(query="When?", context=["a", "b"]),
        ),
        ("q,ctx\nWhen?,\n", {"query": "q", "context": "ctx"}, Case(query="When?", context=[])),
        ("q,real\nWhen?,\n", {"query": "q", "answers": "real"}, Case(query="When?")),
    ],
    ids=["a dot in a column", "a list in a cell", "an empty cell of the context", "a column without a value"],
)
def test_columns_are_mapped_with_the_rules_of_their_field(
    tmp_path: Path, content: str, paths: FieldPaths, fields: Case
) -> None:
    (row,) = rows_of(tmp_path / "rows.csv", content, paths)
    assert Case.from_mapping(row).model_copy(update={"metadata": {}}) == fields


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (
            {"query": "inputs.qq"},
            "looks for query, did you mean 'inputs.q'? The first row has inputs.q, outputs",
        ),
        ({"query": "nothing"}, "has nothing, where `fields` looks for query. The first row has inputs.q, "),
        ({"response": "outputs.choices.1.text"}, "did you mean 'outputs.choices.0.text'?"),
    ],
)
def test_a_path_that_no_row_has_is_refused_before_the_first_row(
    tmp_path: Path, paths: FieldPaths, message: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(NESTED)}\nbroken\n")
    with pytest.raises(CaseError) as raised:
        next(read_rows(path, fields=paths))
    assert (raised.value.code, message in raised.value.message) == ("bad_path", True)


def test_on_stdin_it_is_refused_after_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n{"b": 2}\n')))
    rows = read_rows("-", fields={"query": "c"})
    assert [next(rows)["query"], next(rows)["query"]] == [None, None]  # type: ignore[index]
    with pytest.raises(CaseError, match="bad_path: no row of stdin has c, where `fields` looks for query"):
        next(rows)


@pytest.mark.parametrize("content", ['{"a": 1}\n{"q": null}\n', "", "broken\n"])
def test_a_path_that_some_row_has_or_that_no_row_could_have_is_accepted(tmp_path: Path, content: str) -> None:
    assert len(rows_of(tmp_path / "rows.jsonl", content, {"query": "q"})) == content.count("\n")


def test_rows_are_searched_only_until_all_paths_are_found() -> None:
    rows: Iterator[dict[str, Any]] = iter([{"a": 1}, {"b": {"c": 2}}, {"d": 3}])
    assert len([*until_found(rows, {"query": "a", "response": "b.c"}, "rows")]) == 2
    assert next(rows) == {"d": 3}


# --- traced runs --------------------------------------------------------------

FOUND = (Document(content="found"),)
ASKS = {"query": "q", "context": "given", "d": "mapped"}
MORE = Document(content="more")


@pytest.mark.parametrize(
    ("outputs", "expected", "path", "context"),
    [
        ({"answer": "r", "context": "returned"}, {}, None, ["returned"]),
        ({"answer": "r", "context": []}, {}, None, []),
        ("r", {"context": "gold"}, None, ["found"]),
        ("r", None, "inputs.d", ["mapped"]),
        ("r", None, "inputs.e", ["found"]),
    ],
    ids=["outputs", "empty in outputs", "retrieved before inputs", "path", "path that leads nowhere"],
)
def test_context_is_that_of_the_outputs_else_what_was_retrieved(
    outputs: Any, expected: Any, path: str | None, context: list[str]
) -> None:
    fields = Fields.of({"context": path} if path else None)
    case = Case.of(fields.in_exchange(ASKS, outputs, expected, retrieved=lambda: FOUND))
    assert [each.content for each in case.context or ()] == context


def test_context_of_the_inputs_counts_without_retriever_or_tool() -> None:
    case = Case.of(Fields().in_exchange(ASKS, "r", retrieved=lambda: None))
    assert case.context == (Document(content="given"),)


def test_what_cannot_be_read_is_an_error_only_for_judges_of_a_context() -> None:
    def retrieved() -> tuple[Document, ...]:
        raise CaseError("context_unreadable", "no text", "context")

    case = Case.of(Fields().in_exchange({"query": "q"}, "r", retrieved=retrieved))
    assert case.value("response") == "r"
    with pytest.raises(CaseError, match="no text"):
        case.value("context")


@pytest.mark.parametrize(
    ("messages", "texts"),
    [
        ([USER, CLOSED, MOMENT, USER, ("tool", "found"), ANSWER], ["Closed on Sundays.", "found", "more"]),
        ([USER, ANSWER], ["found", "more"]),
    ],
)
def test_tool_results_of_a_thread_and_what_was_retrieved_are_the_context(
    messages: list[Any], texts: list[str]
) -> None:
    found = Fields().in_exchange(ASKS, {"messages": messages}, retrieved=lambda: (*FOUND, MORE))
    assert [each.content for each in Case.of(found).context or ()] == texts


@pytest.mark.parametrize(
    ("outputs", "texts"),
    [
        (["a", {"page_content": "b"}], ["a", "b"]),
        ({"documents": [{"content": "a"}]}, ["a"]),
        ({"content": "a"}, ["a"]),
        ([], []),
        (None, []),
    ],
)
def test_retriever_returned_documents(outputs: object, texts: list[str]) -> None:
    assert [each.content for each in retrieved_documents(outputs)] == texts


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        ("sunny", "sunny"),
        ({"output": "sunny"}, "sunny"),
        ({"output": Message(role="tool", content="sunny")}, "sunny"),
        ({"output": {"tool_call_id": "1", "content": "sunny"}}, "sunny"),
        ({"tool_call_id": "1", "content": "sunny", "name": "weather"}, "sunny"),
        ({"output": 1, "more": 2}, '{"output": 1, "more": 2}'),
        (0, "0"),
        ([1, "a"], '[1, "a"]'),
        ({}, None),
        (None, None),
        ({"output": None}, None),
    ],
)
def test_tool_returned_one_document_or_none(outputs: object, text: str | None) -> None:
    tool = Document(content=text or "", title="Tool Result: weather", kind="tool")
    assert tool_documents("weather", outputs) == (() if text is None else (tool,))
