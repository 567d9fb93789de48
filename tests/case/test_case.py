"""Cases: every supported shape and name of a field is read alike, and anything else is an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from pydantic import BaseModel

from groundjudge.case.case import Case, Document, Message, ToolCall
from groundjudge.case.fields import ALIASES, FIELD_NAMED
from groundjudge.errors import CaseError
from groundjudge.prompt.prompt import Prompt

SHOWS_ALL = Prompt.parse(
    f"---\ninputs: {json.dumps([{'name': field, 'required': False} for field in ALIASES])}\n---\n"
    + "\n".join(f"{{{{{field}}}}}" for field in ALIASES)
)
CONTEXT_PROMPT = Prompt.parse(
    "---\ninputs: [{name: context, type: documents, may_be_empty: true}]\n---\n{{context}}"
)


@dataclass
class RetrievedContextData:
    """The class of DeepEval."""

    context: str
    source: str


@dataclass
class Snippet:
    """A class that a custom retriever might return."""

    page_content: str
    metadata: Mapping[str, Any] | None = None


def shown(context: Any) -> str:
    return CONTEXT_PROMPT.render(Case(context=context))[0]["content"]


def error_of(row: Any) -> CaseError:
    with pytest.raises(CaseError) as raised:
        Case.from_mapping(row)
    return raised.value


# --- context ----------------------------------------------------------------------------------

TEXT = 'Returns: 30 days {"a": 1} — größer.'


@pytest.mark.parametrize(
    "context",
    [
        pytest.param(TEXT, id="text"),
        pytest.param([TEXT], id="list of a text"),
        pytest.param((TEXT,), id="tuple of a text"),
        pytest.param({"content": TEXT}, id="mapping"),
        *(
            pytest.param([{name: TEXT}], id=f"list of a mapping with {name}")
            for name in ("content", "page_content", "text", "snippet", "context")
        ),
        pytest.param([{"content": "", "text": TEXT}], id="the first content that is not blank"),
        pytest.param([{"content": [{"type": "text", "text": TEXT}]}], id="content parts"),
        pytest.param([{"content": TEXT, "title": None, "metadata": None, "score": 0.3}], id="further keys"),
        pytest.param(Document(content=TEXT), id="Document"),
        pytest.param([Document(content=TEXT)], id="list of a Document"),
        pytest.param(Snippet(TEXT), id="object with page_content"),
        pytest.param([Snippet(TEXT, {"source": "a.pdf"})], id="list of an object with page_content"),
        pytest.param(LangChainDocument(TEXT), id="LangChain Document"),
        pytest.param([LangChainDocument(TEXT, metadata={"source": "a"})], id="list of a LangChain Document"),
        pytest.param([dumpd(LangChainDocument(TEXT))], id="LangChain Document dumped"),
        pytest.param([LangChainDocument(TEXT).model_dump()], id="LangChain Document as a mapping"),
        pytest.param(RetrievedContextData(TEXT, "a.pdf"), id="DeepEval"),
        pytest.param([RetrievedContextData(TEXT, "a.pdf")], id="list of DeepEval"),
        pytest.param(["", {"text": " \n"}, Document(content=""), TEXT, ""], id="blank documents around it"),
        pytest.param(f"\n {TEXT} \n", id="white space around it"),
    ],
)
def test_context_of_every_shape_gives_the_same_prompt(context: Any) -> None:
    assert (
        shown(context)
        == f'<data-context>\n<data-document number="1">\n{TEXT}\n</data-document>\n</data-context>'
    )


@pytest.mark.parametrize(
    "context", ["", "  \n", [], (), [""], ["", " "], [{"text": ""}], Document(content="")]
)
def test_empty_context_of_every_shape_gives_the_same_prompt(context: Any) -> None:
    assert shown(context) == "<data-context>\n</data-context>"


@pytest.mark.parametrize(
    "documents",
    [
        [{"title": "A", "content": "one"}, "two"],
        [Document(content="one", title="A"), Document(content="two")],
        [{"page_content": "one", "metadata": {"title": "A"}}, {"page_content": "two"}],
        [LangChainDocument("one", metadata={"title": "A"}), LangChainDocument("two")],
        [{"text": "one", "title": "A"}, {"snippet": "two", "title": ""}],
        ({"context": text, "title": title} for text, title in (("one", "A"), ("two", None))),
    ],
)
def test_several_documents_of_every_shape_give_the_same_prompt(documents: Any) -> None:
    assert shown(documents) == (
        '<data-context>\n<data-document number="1" title="A">\none\n</data-document>\n'
        '<data-document number="2">\ntwo\n</data-document>\n</data-context>'
    )


@pytest.mark.parametrize(
    ("context", "named"),
    [
        pytest.param([{"body": "x", "score": 1}], "body, score", id="other keys"),
        pytest.param({"body": "x"}, "body", id="a mapping alone"),
        pytest.param(["fine", {"contents": "x"}], "contents", id="a misspelt key"),
        pytest.param([dict[str, str]()], "(none)", id="no keys"),
        pytest.param([{"content": None, "title": "t"}], "content, title", id="null"),
        pytest.param([{"content": ()}], "content", id="no parts"),
        pytest.param(
            [{"content": [{"type": "image_url", "url": "u"}]}], "content", id="content parts without text"
        ),
        pytest.param([["a", "b"]], "list", id="a list in a list"),
        pytest.param([("tool", "a")], "tuple", id="a message as a pair"),
        pytest.param([None], "NoneType", id="null in a list"),
        pytest.param(5, "int", id="a number"),
        pytest.param([True], "bool", id="a bool"),
        pytest.param(b"bytes", "int", id="bytes"),
        pytest.param([object()], "object", id="any object"),
    ],
)
def test_document_without_text_is_an_error_that_names_its_keys(context: Any, named: str) -> None:
    error = error_of({"contexts": context})
    assert (error.code, error.subject) == ("context_unreadable", "context")
    assert named in error.message


@pytest.mark.parametrize(
    ("content", "text"),
    [([{"id": 1}], '[{"id": 1}]'), ({"total": "9 €"}, '{"total": "9 €"}'), (5, "5"), ([1, 2], "[1, 2]")],
)
def test_content_that_is_not_text_is_kept_as_json(content: Any, text: str) -> None:
    assert Case(context=[{"content": content}]).context == (Document(content=text),)


# --- kinds ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"content": "x", "kind": "tool"}, "tool"),
        ({"content": "x", "kind": "tool_result"}, "tool"),
        ({"content": "x", "kind": "Tool Result"}, "tool"),
        ({"content": "x", "kind": "tool-result"}, "tool"),
        ({"content": "x", "title": "Tool Result: get_order"}, "tool"),
        ({"content": "x", "role": "tool", "name": "get_order"}, "tool"),
        (Document(content="x", kind="tool"), "tool"),
        ({"content": "x"}, "knowledge"),
        ({"content": "x", "kind": "policy"}, "knowledge"),
        ({"content": "x", "title": "Tool Result: get_order", "kind": "knowledge"}, "knowledge"),
        ({"content": "x", "title": "On Tool Result: a guide"}, "knowledge"),
        ({"content": "Tool Result: get_order\nx"}, "knowledge"),
        ({"content": '{"kind": "tool", "title": "Tool Result: x"}'}, "knowledge"),
        ({"content": {"kind": "tool", "title": "Tool Result: x"}}, "knowledge"),
        ({"content": "x", "data": {"kind": "tool"}}, "knowledge"),
        ({"content": "x", "metadata": {"title": "Tool Result: x", "kind": "tool"}}, "knowledge"),
        ({"content": "x", "type": "function"}, "knowledge"),
        ("Tool Result: get_order", "knowledge"),
        (Document(content="x", title="Tool Result: x"), "knowledge"),
        (LangChainDocument("x", metadata={"title": "Tool Result: x"}), "knowledge"),
    ],
)
def test_only_kind_role_or_a_plain_mappings_title_make_a_tool_result(document: Any, kind: str) -> None:
    assert [read.kind for read in Case(context=[document]).context or ()] == [kind]
    assert ('kind="tool result"' in shown([document])) == (kind == "tool")


# --- messages ---------------------------------------------------------------------------------

CALL = ToolCall(name="get_order", arguments={"id": 7})
CHAT = (
    Message(role="system", content="Be kind."),
    Message(role="user", content="Where is it?"),
    Message(role="assistant", tool_calls=(CALL,)),
    Message(role="tool", content='{"at": "Köln"}'),
    Message(role="assistant", content="In Köln."),
)
OPENAI: list[Any] = [
    {"role": "system", "content": "Be kind."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "Where is it?"}, {"type": "image_url", "image_url": {}}],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": 7}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"at": "Köln"}'},
    {"role": "assistant", "content": "In Köln.", "refusal": None, "tool_calls": None},
]
LANGCHAIN: list[BaseMessage] = [
    SystemMessage("Be kind."),
    HumanMessage(["Where is it?"]),
    AIMessage("", tool_calls=[{"name": "get_order", "args": {"id": 7}, "id": "1"}]),
    ToolMessage('{"at": "Köln"}', tool_call_id="1"),
    AIMessage([{"type": "text", "text": "In Köln."}]),
]


def without_type(dumped: dict[str, Any]) -> dict[str, Any]:
    """A message as LangChain.js dumps it: only the class name gives its role."""
    return {**dumped, "kwargs": {key: dumped["kwargs"][key] for key in dumped["kwargs"] if key != "type"}}


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(CHAT, id="Message"),
        pytest.param([message.model_dump() for message in CHAT], id="Message dumped"),
        pytest.param(OPENAI, id="OpenAI"),
        pytest.param(LANGCHAIN, id="LangChain"),
        pytest.param([dumpd(message) for message in LANGCHAIN], id="LangChain dumpd"),
        pytest.param([without_type(dumpd(message)) for message in LANGCHAIN], id="LangChain.js"),
        pytest.param(messages_to_dict(LANGCHAIN), id="LangChain messages_to_dict"),
        pytest.param([message.model_dump() for message in LANGCHAIN], id="LangChain model_dump"),
        pytest.param([("system", "Be kind."), ["human", "Where is it?"], *CHAT[2:]], id="pairs"),
        pytest.param([*OPENAI[:2], *LANGCHAIN[2:]], id="mixed"),
    ],
)
@pytest.mark.parametrize("field", ["query", "response", "conversation"])
def test_messages_of_every_shape_are_read_alike(field: str, messages: Any) -> None:
    assert Case.from_mapping({field: messages}) == Case.from_mapping({field: CHAT})


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": "human", "content": "x"}, "user"),
        ({"role": "ai", "content": "x"}, "assistant"),
        ({"role": "function", "name": "f", "content": "x"}, "tool"),
        ({"role": "developer", "content": "x"}, "developer"),
        ({"role": "narrator", "content": "x"}, "narrator"),
        (ChatMessage(content="x", role="user"), "user"),
        (AIMessageChunk(content="x"), "assistant"),
        (Message(role="ai", content="x"), "assistant"),
    ],
)
def test_names_of_roles_are_translated(message: Any, role: str) -> None:
    assert [tuple(read)[:2] for read in Case(query=[message]).query or ()] == [
        (("role", role), ("content", "x"))
    ]


@pytest.mark.parametrize(
    "message", [OPENAI[1], HumanMessage("Where is it?"), Message(role="user", content="Where is it?")]
)
def test_single_message_is_read_as_a_list_of_one(message: Any) -> None:
    assert Case(query=message).query == (Message(role="user", content="Where is it?"),)


def test_refusal_is_the_content_of_a_message() -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I cannot."}
    assert Case(response=[refusal]).response_text == "I cannot."


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ('{"a": [1, "ü"]}', {"a": [1, "ü"]}),
        ({"a": [1, "ü"]}, {"a": [1, "ü"]}),
        ("not json", "not json"),
        ('"5"', '"5"'),
        ("[" * 100_000, "[" * 100_000),
        ({"when": object}, {"when": "<class 'object'>"}),
        ('{"a": "\\ud83d"}', {"a": "�"}),
        ({"nan": float("nan")}, {"nan": "NaN"}),
        (None, None),
    ],
)
def test_arguments_of_a_tool_call_are_kept_as_json_data(arguments: Any, kept: Any) -> None:
    assert ToolCall(name="f", arguments=arguments).arguments == kept


@pytest.mark.parametrize("field", ["query", "response", "conversation"])
@pytest.mark.parametrize(
    ("value", "named"),
    [
        (5, "int"),
        (True, "bool"),
        (1.5, "float"),
        ({"content": "no role"}, "content"),
        ({"role": "user"}, "role"),
        ({"role": "user", "text": "x"}, "role, text"),
        ([{"role": "user", "content": None}], "role, content"),
        ({"role": 5, "content": "x"}, "role"),
        ({"type": "text", "content": "x"}, "type"),
        (["a", "b"], "str"),
        ([["a text", "another text"]], "list"),
        ([[["user", "x"]]], "list"),
        ([None], "NoneType"),
        ([{"role": "assistant", "content": "x", "tool_calls": 5}], "TypeError"),
        ({"messages": [{"role": "user", "content": "x"}]}, "messages"),
    ],
)
def test_neither_string_nor_messages_is_an_error_that_names_keys_or_type(
    field: str, value: Any, named: str
) -> None:
    error = error_of({field: value})
    assert (error.code, error.subject) == ("field_unreadable", field)
    assert named in error.message


def test_text_of_messages_is_the_last_of_user_or_assistant() -> None:
    case = Case(query=[*CHAT, ("user", "And now?"), ("assistant", "Still.")], response=CHAT)
    assert (case.query_text, case.response_text) == ("And now?", "In Köln.")
    assert Case(query="q", response="r").query_text == "q"
    assert Case().response_text == ""
    assert Case(response=[("tool", "a"), ("tool", "b")]).response_text == "a\n\nb"


# --- other fields -----------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["reference", "profile", "agent_name", "answers"])
@pytest.mark.parametrize("value", [5, True, 0.5, [5], [None], [["x"]], object(), {1, 2}])
def test_not_a_string_is_an_error_that_names_the_field(field: str, value: Any) -> None:
    error = error_of({field: value})
    assert (error.code, error.subject) == ("field_unreadable", field)
    assert error.message.startswith(field)


class Ambiguous:
    """Like an array: it has no truth value."""

    content = "x"
    role = "user"

    def __bool__(self) -> bool:
        message = "the truth value is ambiguous"
        raise ValueError(message)

    @property
    def tool_calls(self) -> Ambiguous:
        return self

    title = kind = tool_calls


@pytest.mark.parametrize("field", ["query", "response", "context", "conversation", "answers", "profile"])
def test_exception_from_a_value_is_an_unreadable_field(field: str) -> None:
    circle: dict[str, Any] = {"role": "user", "content": "x"}
    circle["content"] = circle
    for value in (
        Ambiguous(),
        [Ambiguous()],
        [circle],
        {"content": circle, "role": "user"},
        {(): 1, "content": {(): 1}},
    ):
        assert error_of({field: value}).code in {"field_unreadable", "context_unreadable"}


def test_reference_may_be_documents_or_messages() -> None:
    assert Case(reference=["one", {"text": "two"}]).reference == "one\n\ntwo"
    assert Case(reference=(text for text in ("one", "two"))).reference == "one\n\ntwo"  # type: ignore[arg-type]
    assert Case(reference=[LangChainDocument("one")]).reference == "one"
    assert Case(reference=CHAT).reference == "In Köln."
    assert Case.from_mapping({"expected": AIMessage("one")}).reference == "one"


def test_answers_are_strings_and_blank_ones_are_dropped() -> None:
    assert Case(answers=["a", "", " ", "b"]).answers == ("a", "b")
    assert Case(answers="a").answers == ("a",)
    assert Case(answers=[]).answers == ()
    assert error_of({"answers": {"first": "a"}}).code == "field_unreadable"


def test_profile_mapping_is_kept_as_json() -> None:
    assert Case(profile={"name": "Ilse", "job": "Wärterin"}).profile == '{"name": "Ilse", "job": "Wärterin"}'


@pytest.mark.parametrize(("given_id", "kept"), [("a", "a"), (7, "7"), (None, None), ("\ud83d", "�")])
def test_id_is_kept_as_a_string(given_id: Any, kept: str | None) -> None:
    assert Case.from_mapping({"id": given_id}).id == kept


# --- names ------------------------------------------------------------------------------------

SPECIFIED = {
    "query": "question input user_input customerQuery",
    "response": "answer output actual_output prediction result generation statement hypothesis passage_llm",
    "context": "contexts documents docs source_documents retrieved_contexts retrieval_context "
    "retrievedDocuments source premise",
    "reference": "ground_truth expected_output expected reference_answer passage_gt",
    "conversation": "history messages turns",
    "profile": "",
    "agent_name": "",
    "answers": "real_answers",
}
NAMES = [(field, name) for field, others in SPECIFIED.items() for name in (field, *others.split())]


@pytest.mark.parametrize(("field", "name"), NAMES)
def test_every_name_of_a_field_is_read(field: str, name: str) -> None:
    value = [{"role": "user", "content": "x"}] if field == "conversation" else "x"
    assert Case.from_mapping({name: value}) == Case(**{field: value})  # type: ignore[arg-type]


def test_fields_have_no_other_names() -> None:
    assert dict(FIELD_NAMED) == {name: field for field, name in NAMES}


@pytest.mark.parametrize(
    "row",
    [
        {"query": "a", "question": "b"},
        {"answer": "a", "output": "b", "response": "a"},
        {"context": "a", "documents": ["a", "b"]},
        {"source_documents": ["a"], "docs": ["b"]},
        {"result": "a", "generation": "b"},
        {"answer": "a", "result": "b"},
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
        ({"query": None, "question": "a"}, {"query": "a"}),
        ({"query": "a", "question": None}, {"query": "a"}),
        ({"context": "a", "documents": [{"text": "a"}]}, {"context": "a"}),
        ({"context": [], "documents": ["a"]}, {"context": "a"}),
        ({"context": "a", "source": ""}, {"context": "a"}),
        ({"turns": OPENAI, "messages": LANGCHAIN}, {"conversation": CHAT}),
    ],
)
def test_two_names_of_a_field_may_agree_or_be_blank(row: dict[str, Any], same: dict[str, Any]) -> None:
    assert Case.from_mapping(row) == Case.from_mapping(same)


def test_other_keys_go_to_metadata() -> None:
    row = {
        "query": "q",
        "label": 1,
        "split": "dev",
        "metadata": {"label": 0, "by": "me", "id": "inner"},
        "id": "7",
    }
    case = Case.from_mapping(row)
    assert dict(case.metadata) == {"label": 1, "split": "dev", "by": "me", "id": "inner"}
    assert case.id == "7"
    assert dict(Case.from_mapping({"metadata": "text"}).metadata) == {"metadata": "text"}


def test_metadata_is_kept_as_json_data() -> None:
    held = {"tuple": (1, 2), "nan": float("nan"), "type": int, "surrogate": "\ud83d", 5: {"six": None}}
    assert dict(Case.from_mapping(held).metadata) == {  # type: ignore[arg-type]
        "tuple": [1, 2],
        "nan": "NaN",
        "type": "<class 'int'>",
        "surrogate": "�",
        "5": {"six": None},
    }
    with pytest.raises(CaseError, match="metadata must be a mapping"):
        Case(metadata=[1])  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ALIASES)
def test_null_means_not_given(field: str) -> None:
    assert Case.from_mapping({field: None}) == Case()


def test_empty_values_are_given() -> None:
    case = Case.from_mapping({"context": [], "response": "", "answers": []})
    assert case.given() == ("response", "context", "answers")
    assert (case.context, case.response, case.answers) == ((), "", ())


@pytest.mark.parametrize("row", [5, "text", None, ["a"], [{"query": "q"}], True])
def test_row_that_is_not_a_mapping_is_an_error(row: Any) -> None:
    assert error_of(row).code == "unreadable_row"


# --- missing fields ---------------------------------------------------------------------------

GROUNDEDNESS = (
    "---\nname: groundedness\ninputs:\n  - {name: query}\n  - {name: context, may_be_empty: true}\n---\n"
)


def missing(row: dict[str, Any]) -> CaseError:
    prompt = Prompt.parse(GROUNDEDNESS + "{{query}}{{context}}")
    with pytest.raises(CaseError) as raised:
        prompt.render(Case.from_mapping(row))
    assert raised.value.code == "missing_field"
    return raised.value


@pytest.mark.parametrize("key", ["contxt", "Context", "retrieved", "context_", "doc"])
def test_misspelt_key_is_an_error_not_an_empty_context(key: str) -> None:
    error = missing({"query": "q", key: "", "response": "r"})
    assert error.subject == "context"
    assert error.message.endswith(f"The case has: query, response, {key}")
    assert "not given" in error.message
    assert "retrieved_contexts" in error.message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"context": "c", "response": "r"},
            "not given. Give it as query or question or input or user_input or customerQuery.",
        ),
        ({}, "The case has: nothing"),
        (
            {},
            "query, which is not given, and context, which is not given. Give query as query or question or",
        ),
        ({"query": " "}, "query, which is blank, and context, which is not given. Give query as"),
        ({"query": " "}, "; context as context or contexts or documents or"),
        ({"query": " ", "context": "c"}, "blank. Give it as"),
        ({"query": [], "context": "c"}, "blank. Give it as"),
        ({"query": [("user", "")], "context": "c"}, "blank. Give it as"),
        ({"query": None, "zip": 1}, "The case has: zip"),
    ],
)
def test_missing_field_is_named_with_the_fields_of_the_case(row: dict[str, Any], message: str) -> None:
    error = missing(row)
    assert error.subject == "query"
    assert error.message.startswith("groundedness needs query, which is")
    assert message in error.message


# --- inputs and outputs -----------------------------------------------------------------------

ASKED = [("user", "q")]
ANSWERED = [("user", "q"), ("assistant", "first"), ("tool", "t"), ("assistant", "r"), ("user", "thanks")]
LAST = (Message(role="assistant", content="r"),)


@dataclass
class Asked:
    question: str
    contexts: list[str]


class Answered(BaseModel):
    answer: str
    cost: int
    documents: list[str] | None = None


EXCHANGES: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "texts": ("q", "r", "g", {"reference": "g"}),
    "mappings": ({"question": "q"}, {"answer": "r"}, None, {}),
    "other names": ({"input": "q"}, {"output": "r"}, {}, {}),
    "messages as inputs": ({"messages": ASKED}, "r", None, {"query": ASKED}),
    "messages as outputs": ("q", {"messages": ANSWERED}, None, {"response": LAST}),
    "messages under a name of the response": ("q", {"output": ANSWERED}, None, {"response": LAST}),
    "messages as reference": ("q", "r", {"messages": ANSWERED}, {"reference": "r"}),
    "lists of messages as sides": (
        ASKED,
        ANSWERED,
        ANSWERED,
        {"query": ASKED, "response": LAST, "reference": "r"},
    ),
    "single messages as sides": (
        {"role": "user", "content": "q"},
        AIMessage("r"),
        dumpd(AIMessage("g")),
        {"query": ASKED, "response": LAST, "reference": "g"},
    ),
    "messages without an answer": ("q", {"messages": [("user", "x")]}, None, {"response": ()}),
    "no messages": ("q", {"messages": []}, None, {"response": ()}),
    "an empty text": ("q", "", None, {"response": ""}),
    "no output": ("q", None, None, {"response": None}),
    "a reference called answer": ("q", "r", {"answer": "g"}, {"reference": "g"}),
    "a reference called output": ("q", "r", {"output": "g"}, {"reference": "g"}),
    "context in the reference": (
        "q",
        "r",
        {"ground_truth": "g", "context": "c"},
        {"reference": "g", "context": "c"},
    ),
    "context on all sides": (
        {"question": "q", "context": "old"},
        {"answer": "r", "documents": ["c"]},
        {"context": "older"},
        {"context": "c"},
    ),
    "empty context in the outputs": (
        {"question": "q", "context": "old"},
        {"answer": "r", "documents": []},
        None,
        {"context": []},
    ),
    "messages beside a question": (
        {"question": "q", "messages": ANSWERED},
        "r",
        None,
        {"conversation": ANSWERED},
    ),
    "messages beside an answer": ("q", {"answer": "r", "messages": ANSWERED}, None, {}),
    "further keys": (
        {"question": "q", "top_k": 3},
        {"answer": "r", "cost": 1},
        {"note": "n"},
        {"metadata": {"top_k": 3, "cost": 1, "note": "n"}},
    ),
    "a dataclass and a pydantic model": (
        Asked("q", ["c"]),
        Answered(answer="r", cost=1),
        None,
        {
            "context": ["c"],
            "metadata": {"cost": 1},
        },
    ),
    "a document as the reference": ("q", "r", Snippet("g", {}), {"reference": "g"}),
    "several ids": ({"question": "q", "id": 1}, {"answer": "r", "id": 2}, {"id": 3}, {"id": "1"}),
    "a role without content": (
        {"role": "engineer", "question": "q"},
        "r",
        None,
        {"metadata": {"role": "engineer"}},
    ),
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
    row = {
        "inputs": "q",
        "outputs": "r",
        "contexts": ["c"],
        "id": 5,
        "cls": "a",
        "self": "b",
        "metadata": {"x": 1},
    }
    metadata = {"cls": "a", "self": "b", "x": 1}
    expected = Case(query="q", response="r", context="c", id="5", metadata=metadata)
    assert Case.from_mapping(row) == expected
    assert Case.from_exchange("q", "r", contexts=["c"], id=5).context == expected.context


def test_exchange_with_conflicting_names_is_an_error() -> None:
    assert error_of({"inputs": {"question": "a", "query": "b"}, "outputs": "r"}).code == "alias_conflict"
    assert error_of({"inputs": "a", "outputs": "r", "question": "b"}).code == "alias_conflict"


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

STATES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an exchange": (
        {"messages": [USER, ANSWER]},
        {**WHEN, "response": "At 9.", "conversation": [USER]},
    ),
    "OpenAI's messages": (
        {"messages": OPENAI},
        {
            "query": "Where is it?",
            "response": "In Köln.",
            "context": {"content": '{"at": "Köln"}', "kind": "tool"},
            "conversation": CHAT[:4],
        },
    ),
    "LangChain's messages": (
        {"messages": LANGCHAIN},
        {
            "query": "Where is it?",
            "response": "In Köln.",
            "context": {"content": '{"at": "Köln"}', "kind": "tool"},
            "conversation": CHAT[:4],
        },
    ),
    "a tool": (
        {"messages": [USER, CALLS, RESULT, ANSWER]},
        {**WHEN, "response": "At 9.", "context": RESULT_READ, "conversation": [USER, CALLS, RESULT]},
    ),
    "two tools": (
        {"messages": [USER, CALLS, RESULT, ("tool", "Closed on Sundays."), ANSWER]},
        {
            **WHEN,
            "response": "At 9.",
            "context": [RESULT_READ, {"content": "Closed on Sundays.", "kind": "tool"}],
            "conversation": [USER, CALLS, RESULT, ("tool", "Closed on Sundays.")],
        },
    ),
    "an earlier exchange with a tool": (
        {"messages": [("user", "Hi."), CALLS, ("tool", "old"), ("assistant", "Hello."), USER, ANSWER]},
        {
            **WHEN,
            "response": "At 9.",
            "conversation": [("user", "Hi."), CALLS, ("tool", "old"), ("assistant", "Hello."), USER],
        },
    ),
    "no answer to the last question": (
        {"messages": [*OLDER, USER]},
        {**WHEN, "conversation": [*OLDER, USER]},
    ),
    "a tool call without an answer": (
        {"messages": [*OLDER, USER, CALLS, RESULT]},
        {**WHEN, "context": RESULT_READ, "conversation": [*OLDER, USER, CALLS, RESULT]},
    ),
    "a text beside a tool call is no answer": (
        {"messages": [USER, CALLS_AND_SAYS]},
        {**WHEN, "conversation": [USER, CALLS_AND_SAYS]},
    ),
    "the last of two answers": (
        {"messages": [USER, ("assistant", "Moment."), ANSWER]},
        {**WHEN, "response": "At 9.", "conversation": [USER, ("assistant", "Moment.")]},
    ),
    "a blank last answer": (
        {"messages": [USER, ANSWER, AIMessage("")]},
        {**WHEN, "response": "", "conversation": [USER, ANSWER]},
    ),
    "content blocks": (
        {
            "messages": [
                HumanMessage([{"type": "text", "text": "When does"}, {"type": "text", "text": "it open?"}]),
                AIMessage([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "At 9."}]),
            ]
        },
        {
            "query": "When does\nit open?",
            "response": "At 9.",
            "conversation": [("user", "When does\nit open?")],
        },
    ),
    "system messages": (
        {"messages": [SYSTEM, USER, SYSTEM, ANSWER, SYSTEM]},
        {**WHEN, "response": "At 9.", "conversation": [SYSTEM, USER, SYSTEM]},
    ),
    "only a system message": ({"messages": [SYSTEM]}, {"conversation": [SYSTEM]}),
    "only an answer": ({"messages": [ANSWER]}, {"response": "At 9.", "conversation": []}),
    "a single message": ({"messages": HumanMessage(USER[1])}, {**WHEN, "conversation": [USER]}),
    "no messages": ({"messages": []}, {"conversation": []}),
    "null": ({"messages": None, "question": "q"}, {"query": "q"}),
    "a text": ({"messages": "q", "answer": "r"}, {"conversation": "q", "response": "r"}),
    "a context beside it": (
        {"messages": [USER, CALLS, RESULT, ANSWER], "documents": ["c"]},
        {**WHEN, "response": "At 9.", "context": "c", "conversation": [USER, CALLS, RESULT]},
    ),
    "an empty context beside it": (
        {"messages": [USER, RESULT, ANSWER], "context": []},
        {**WHEN, "response": "At 9.", "context": [], "conversation": [USER, RESULT]},
    ),
    "a query beside it": (
        {"messages": [USER, ANSWER], "question": "q"},
        {"query": "q", "response": "At 9.", "conversation": [USER]},
    ),
    "a response beside it": (
        {"messages": [*OLDER, USER], "answer": "r"},
        {**WHEN, "response": "r", "conversation": [*OLDER, USER]},
    ),
    "the conversation before another response": (
        {"messages": OLDER, "query": "q", "answer": "r"},
        {"query": "q", "response": "r", "conversation": OLDER},
    ),
    "a blank response beside it": (
        {"messages": [USER, ANSWER], "answer": ""},
        {**WHEN, "response": "", "conversation": [USER, ANSWER]},
    ),
    "a conversation beside it": (
        {"messages": [USER, ANSWER], "history": OLDER},
        {**WHEN, "response": "At 9.", "conversation": OLDER},
    ),
    "further keys": (
        {"messages": [USER, ANSWER], "id": 7, "steps": 2, "reference": "g"},
        {
            **WHEN,
            "response": "At 9.",
            "conversation": [USER],
            "id": "7",
            "metadata": {"steps": 2},
            "reference": "g",
        },
    ),
    "no messages at all": ({"question": "q", "generation": "r"}, {"query": "q", "response": "r"}),
}


@pytest.mark.parametrize(("state", "fields"), STATES.values(), ids=STATES)
def test_state_of_an_agent_is_read(state: dict[str, Any], fields: dict[str, Any]) -> None:
    assert Case.from_mapping(state) == Case(**fields)


STATE: dict[str, Any] = {
    "messages": [USER, RESULT, ANSWER],
    "docs": ["a"],
    "context": "b",
    "final": {"text": "At ten."},
    "agent": {"messages": [*OLDER]},
    "topic": "hours",
}
MAPPED: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "a field": (
        {"response": "input.final.text", "context": "input.docs"},
        {**WHEN, "response": "At ten.", "context": "a", "conversation": [USER, RESULT, ANSWER]},
    ),
    "an alias": (
        {"generation": "input.final.text", "source_documents": "input.context"},
        {**WHEN, "response": "At ten.", "context": "b", "conversation": [USER, RESULT, ANSWER]},
    ),
    "a path that leads nowhere": (
        {"response": "input.finale.text", "context": "input.context"},
        {**WHEN, "context": "b", "conversation": [USER, RESULT, ANSWER]},
    ),
    "messages": (
        {"messages": "input.agent.messages", "context": "input.docs"},
        {"query": "Hi.", "response": "Hello.", "context": "a", "conversation": OLDER[:1]},
    ),
    "the conversation": (
        {"conversation": "input.agent.messages", "context": "input.docs"},
        {**WHEN, "response": "At 9.", "context": "a", "conversation": OLDER},
    ),
    "id and metadata": (
        {"id": "input.topic", "metadata": "input.final", "context": "input.docs"},
        {
            **WHEN,
            "response": "At 9.",
            "context": "a",
            "conversation": [USER, RESULT],
            "id": "hours",
            "metadata": {"text": "At ten."},
        },
    ),
}


@pytest.mark.parametrize(("where", "fields"), MAPPED.values(), ids=MAPPED)
def test_paths_into_a_state_come_before_usual_names_and_messages(
    where: dict[str, str], fields: dict[str, Any]
) -> None:
    case = Case.from_mapping(STATE, where=where, roots={"input": STATE})
    rest = {key: STATE[key] for key in ("final", "agent", "topic")}
    expected = Case(**fields)
    metadata = {**Case(metadata=rest).metadata, **expected.metadata}
    assert case == expected.model_copy(update={"metadata": metadata})


def test_state_that_is_an_object_is_read_by_paths() -> None:
    state = Snippet("c", {"q": "When?"})
    where = {"query": "input.metadata.q", "context": "input.page_content"}
    assert Case.from_mapping(state, where=where, roots={"input": state}) == Case(query="When?", context="c")
    with pytest.raises(CaseError, match="unreadable_row"):
        Case.from_mapping(state)


@pytest.mark.parametrize(
    ("where", "code", "message"),
    [
        (
            {"qeury": "input.q"},
            "unknown_field",
            "unknown field 'qeury', did you mean 'query'? The",
        ),
        ({"zzz": "input.q"}, "unknown_field", "unknown field 'zzz'; The fields are: query, response"),
        ({"query": "inputs.q"}, "bad_path", "begins with 'inputs', which is none of input, did you mean"),
        ({"query": "q"}, "bad_path", "the path 'q' begins with 'q', which is none of input"),
        ({"query": ["input", "q"]}, "bad_path", "none of input"),
        ({"query": ""}, "bad_path", "none of input"),
    ],
)
def test_path_that_no_row_can_make_right_is_refused(where: Any, code: str, message: str) -> None:
    with pytest.raises(CaseError) as raised:
        check_paths(where, ("query", "response"), ("input",))
    assert raised.value.code == code
    assert message in raised.value.message


# --- arbitrary values -------------------------------------------------------------------------

TEXTS = st.text(st.characters() | st.sampled_from("\ud800\udfff\x00"), max_size=8) | st.sampled_from(
    ["user", "ai", "Tool Result: x", '{"a": "\\ud800"}', "[[", "Document"]
)
KEYS = TEXTS | st.sampled_from(
    [
        *FIELD_NAMED,
        *"inputs outputs reference_outputs metadata id cls role content type tool_calls name".split(),
        *"kind title text page_content kwargs lc data function arguments args refusal".split(),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
ROWS = st.dictionaries(KEYS, ANYTHING, max_size=5)
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "ai", "tool", "x"]),
        content=TEXTS,
        name=st.none() | TEXTS,
        tool_calls=st.lists(st.builds(ToolCall, name=TEXTS, arguments=ANYTHING), max_size=2),
    ),
    max_size=3,
)
DOCUMENTS = st.lists(
    st.builds(Document, content=TEXTS, title=TEXTS, kind=st.sampled_from(["tool", "knowledge"])), max_size=3
)
CASES = st.builds(
    Case,
    query=TEXTS | MESSAGES,
    response=TEXTS | MESSAGES,
    context=TEXTS | DOCUMENTS,
    reference=TEXTS | DOCUMENTS,
    conversation=MESSAGES,
    profile=TEXTS,
    agent_name=TEXTS,
    answers=st.lists(TEXTS, max_size=3),
    id=st.none() | TEXTS,
    metadata=st.dictionaries(TEXTS, ANYTHING, max_size=3),
)


def check_that_it_can_be_written_and_sent(case: Case) -> None:
    assert Case.model_validate_json(case.model_dump_json()) == case
    for message in SHOWS_ALL.render(case):
        message["content"].encode()


@given(CASES)
def test_case_is_the_same_after_a_round_trip_through_json(case: Case) -> None:
    check_that_it_can_be_written_and_sent(case)
    assert Case.from_mapping(json.loads(case.model_dump_json())) == case


@given(ROWS | ANYTHING)
def test_any_value_is_a_case_or_a_case_error(row: Any) -> None:
    for read in (Case.from_mapping, Case.from_state):
        try:
            case = read(row)
        except CaseError:
            continue
        check_that_it_can_be_written_and_sent(case)


@given(st.text())
def test_strings_are_kept_unchanged(text: str) -> None:
    case = Case(query=text, response=text, reference=text, profile=text, agent_name=text)
    assert {case.query, case.response, case.reference, case.profile, case.agent_name} == {text}
    assert case.context is None


LONE = "a\ud83d."


@pytest.mark.parametrize(
    "row",
    [
        {"query": LONE},
        {"query": [("user", LONE)]},
        {"query": [Message(role="user", content=LONE)]},
        {"query": [{"role": LONE, "name": LONE, "content": [LONE]}]},
        {"query": [{"role": "assistant", "tool_calls": [{"name": LONE, "args": {LONE: [LONE]}}]}]},
        {"context": LONE},
        {"context": Document(content=LONE)},
        {"context": {"text": LONE, "title": LONE}},
        {"context": {"content": {LONE: LONE}}},
        {"reference": [LONE]},
        {"answers": [LONE]},
        {"agent_name": LONE},
        {"profile": {LONE: LONE}},
        {"metadata": {LONE: [LONE]}},
        {"id": LONE},
    ],
)
def test_lone_surrogates_are_replaced(row: dict[str, Any]) -> None:
    written = Case.from_mapping(row).model_dump_json()  # a lone surrogate would raise here
    assert "a�." in written


def test_surrogate_pair_becomes_its_character() -> None:
    assert Case(query="\ud83d\ude00").query == "😀"


def test_huge_values_are_read() -> None:
    text = "word " * 400_000
    case = Case.from_mapping(
        {"query": text, "contexts": [text] * 10, "extra": [text], "response": [("ai", text)]}
    )
    assert len(SHOWS_ALL.render(case)[0]["content"]) > 11 * len(text)


@pytest.mark.parametrize("field", ALIASES)
def test_deeply_nested_value_is_an_unreadable_field(field: str) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    calls = [{"role": "assistant", "content": "x", "tool_calls": [{"name": "f", "args": deep}]}]
    assert (
        error_of({field: calls if field in {"query", "response", "conversation"} else deep}).subject == field
    )
