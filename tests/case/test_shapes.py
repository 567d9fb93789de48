"""Every usual shape of texts, messages, documents, tool calls and tool results is read alike."""

from __future__ import annotations

import json
from collections import UserDict
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from chats import CHAT, LANGCHAIN, OPENAI, Snippet, error_of
from deepeval.test_case import RetrievedContextData
from fenced import without_codes
from langchain_core.documents import Document as LangChainDocument
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    ToolMessage,
    messages_to_dict,
)

from groundjudge.case.case import Case, Document, Message, ToolCall
from groundjudge.prompt.prompt import Prompt

CONTEXT_PROMPT = Prompt.parse(
    "---\ninputs: [{name: context, type: documents, may_be_empty: true}]\n---\n{{context}}"
)


def render_context(context: Any) -> str:
    return without_codes(CONTEXT_PROMPT.render(Case(context=context))[0]["content"])


# --- context ----------------------------------------------------------------------------------

TEXT = 'Returns: 30 days {"a": 1} — größer.'


CONTEXTS: dict[str, Any] = {
    "a text": TEXT,
    "a mapping": {"content": TEXT},
    "a text as metadata": {"content": TEXT, "metadata": "a text, which has a method `title`"},
    "text under content": [{"content": TEXT}],
    "text under page_content": [{"page_content": TEXT}],
    "text under text": [{"text": TEXT}],
    "text under snippet": [{"snippet": TEXT}],
    "text under context": [{"context": TEXT}],
    "an empty content and a text": [{"content": "", "text": TEXT}],
    "blocks": [{"content": [{"type": "text", "text": TEXT}]}],
    "groundjudge's Document": Document(content=TEXT),
    "a dataclass": [Snippet(TEXT, {"source": "a.pdf"})],
    "LangChain's Document": [LangChainDocument(TEXT, metadata={"source": "a"})],
    "LangChain's Document dumped": [dumpd(LangChainDocument(TEXT))],
    "a table of pandas": pytest.importorskip("pandas").DataFrame({"text": [TEXT], "source": ["a"]}),
    "DeepEval's RetrievedContextData": RetrievedContextData(context=TEXT, source="a.pdf"),
    "among blank documents": ["", {"text": " \n"}, Document(content=""), f"\n {TEXT} \n", ""],
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
def test_context_of_every_shape_gives_the_same_prompt(context: Any) -> None:
    assert (
        render_context(context)
        == f'<data-context>\n<data-document number="1">\n{TEXT}\n</data-document>\n</data-context>'
    )


EMPTY_CONTEXTS: dict[str, Any] = {
    "an empty text": "",
    "a blank text": "  \n",
    "an empty list": [],
    "an empty tuple": (),
    "a list of an empty text": [""],
    "a list of blank texts": ["", " "],
    "a mapping with an empty text": [{"text": ""}],
    "a Document without text": Document(content=""),
}


@pytest.mark.parametrize("context", EMPTY_CONTEXTS.values(), ids=EMPTY_CONTEXTS)
def test_empty_context_of_every_shape_gives_the_same_prompt(context: Any) -> None:
    assert render_context(context) == "<data-context>\n</data-context>"


@pytest.mark.parametrize(
    "documents",
    [
        [{"title": "A", "content": "one"}, "two"],
        [{"page_content": "one", "metadata": {"title": "A"}}, {"page_content": "two"}],
        [LangChainDocument("one", metadata={"title": "A"}), LangChainDocument("two")],
        iter([{"context": "one", "title": "A"}, {"context": "two", "title": None}]),
    ],
    ids=["a mapping and a text", "LangChain's as mappings", "LangChain's Document", "an iterator"],
)
def test_several_documents_of_every_shape_give_the_same_prompt(documents: Any) -> None:
    assert render_context(documents) == (
        '<data-context>\n<data-document number="1" title="A">\none\n</data-document>\n'
        '<data-document number="2">\ntwo\n</data-document>\n</data-context>'
    )


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ([{"body": "x", "score": 1}], "body, score"),
        (["fine", {"contents": "x"}], "contents"),
        ([{"content": None, "title": "t"}], "content, title"),
        ([{"content": "", "title": "t"}], "content, title"),
        ([LangChainDocument("", metadata={"title": "t"})], "Document"),
        ([["tool", "b"]], "list"),
        (5, "int"),
        (b"bytes", "bytes"),
    ],
    ids=[
        "unknown keys",
        "the second document",
        "a null and a title",
        "an empty text and a title",
        "a LangChain document with a title",
        "a row of a table",
        "a number",
        "bytes",
    ],
)
def test_document_without_text_is_an_error_that_names_its_keys(context: Any, words: str) -> None:
    error = error_of({"contexts": context})
    assert (error.code, error.subject) == ("context_unreadable", "context")
    assert words in error.message


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"id": 1}], '[{"id": 1}]'),
        ({"total": "9 €"}, '{"total": "9 €"}'),
        (MappingProxyType({"total": UserDict(sum=9)}), '{"total": {"sum": 9}}'),
        ([UserDict(id=1)], '[{"id": 1}]'),
        (5, "5"),
        ([1, 2], "[1, 2]"),
    ],
    ids=[
        "a list of mappings",
        "a mapping",
        "mappings of other classes",
        "a list of a mapping of another class",
        "a number",
        "a list of numbers",
    ],
)
def test_content_that_is_not_text_is_kept_as_json(content: Any, text: str) -> None:
    assert Case(context=[{"content": content}]).context == (Document(content=text),)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "name": "Ann", "content": "x"},
        Message(role="user", name="Ann", content="x"),
        HumanMessage("x", name="Ann"),
    ],
    ids=["OpenAI", "groundjudge", "LangChain"],
)
def test_message_among_documents_has_its_author_as_title_in_every_shape(message: Any) -> None:
    assert Case(context=[message]).context == (Document(content="x", title="Ann"),)
    blank: dict[str, Any] = {"role": "user", "name": "Ann", "content": ""}
    assert Case(context=[blank]).context == Case(context=[Message(**blank)]).context


# --- messages ---------------------------------------------------------------------------------


def without_type(dumped: dict[str, Any]) -> dict[str, Any]:
    """A message as LangChain.js dumps it: only the class name gives its role."""
    return {**dumped, "kwargs": {key: dumped["kwargs"][key] for key in dumped["kwargs"] if key != "type"}}


CHATS: dict[str, Any] = {
    "Message": CHAT,
    "Message dumped": [message.model_dump() for message in CHAT],
    "OpenAI": OPENAI,
    "LangChain": LANGCHAIN,
    "LangChain dumpd": [dumpd(message) for message in LANGCHAIN],
    "LangChain.js": [without_type(dumpd(message)) for message in LANGCHAIN],
    "LangChain messages_to_dict": messages_to_dict(LANGCHAIN),
    "LangChain model_dump": [message.model_dump() for message in LANGCHAIN],
    "pairs": [("system", "Be kind."), ["human", "Where is it?"], *CHAT[2:]],
    "mixed": [*OPENAI[:2], *LANGCHAIN[2:]],
}


@pytest.mark.parametrize("messages", CHATS.values(), ids=CHATS)
def test_messages_of_every_shape_are_read_alike(messages: Any) -> None:
    for field in ("query", "response", "conversation"):
        assert Case.from_mapping({field: messages}) == Case.from_mapping({field: CHAT})


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": "human", "content": "x"}, "user"),
        ({"role": "ai", "content": "x"}, "assistant"),
        ({"role": "function", "name": "f", "content": "x"}, "tool"),
        (ChatMessage(content="x", role="user"), "user"),
        (AIMessageChunk(content="x"), "assistant"),
        (Message(role="ai", content="x"), "assistant"),
    ],
    ids=[
        "human",
        "ai",
        "function",
        "ChatMessage",
        "a chunk",
        "Message",
    ],
)
def test_names_of_roles_are_translated(message: Any, role: str) -> None:
    messages: Any = Case(query=[message]).query
    assert [(entry.role, entry.content) for entry in messages] == [(role, "x")]


@pytest.mark.parametrize(
    "message",
    [OPENAI[1], HumanMessage("Where is it?"), Message(role="user", content="Where is it?")],
    ids=["OpenAI", "LangChain", "groundjudge"],
)
def test_single_message_is_read_as_a_list_of_one(message: Any) -> None:
    assert Case(query=message).query == (Message(role="user", content="Where is it?"),)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": [1, "ü"]}', {"a": [1, "ü"]}),
        ({"a": [1, "ü"]}, {"a": [1, "ü"]}),
        ("not json", "not json"),
        ("[" * 100_000, "[" * 100_000),
        ({"when": object}, {"when": "<class 'object'>"}),
        (MappingProxyType({"when": UserDict(day=1)}), {"when": {"day": 1}}),
        ('{"a": "\\ud83d"}', {"a": "�"}),
        (None, None),
    ],
    ids=[
        "JSON text",
        "a mapping",
        "other text",
        "deeply nested text",
        "a class",
        "mappings of other classes",
        "a lone surrogate",
        "none",
    ],
)
def test_arguments_of_a_tool_call_are_kept_as_json_data(arguments: Any, expected: Any) -> None:
    assert ToolCall(name="f", arguments=arguments).arguments == expected


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "bool"),
        ({"content": "no role"}, "content"),
        ({"role": "user", "text": "x"}, "role, text"),
        ([{"role": "user"}], "role"),
        ({"role": 5, "content": "x"}, "role"),
        (["a", "b"], "str"),
        ([[["user", "x"]]], "list"),
        ([{"role": "assistant", "content": "x", "tool_calls": 5}], "TypeError"),
        ({"messages": "x"}, "messages"),
    ],
    ids=[
        "true",
        "no role",
        "no content",
        "a message without content",
        "a role that is a number",
        "texts",
        "a pair in a list",
        "calls that are no list",
        "a thread in a mapping",
    ],
)
def test_neither_string_nor_messages_is_an_error_that_names_keys_or_type(value: Any, words: str) -> None:
    for field in ("query", "response", "conversation"):
        error = error_of({field: value})
        assert (error.code, error.subject) == ("field_unreadable", field)
        assert words in error.message


def test_text_of_messages_is_the_last_of_user_or_assistant() -> None:
    case = Case(query=[*CHAT, ("user", "And now?"), ("assistant", "Still.")], response=CHAT)
    assert (case.query_text, case.response_text) == ("And now?", "In Köln.")
    assert Case(query="q", response="r").query_text == "q"
    assert Case().response_text == ""
    assert Case(response=[("tool", "a"), ("tool", "b")]).response_text == "a\n\nb"


# --- other fields -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [True, [True], [None], [["x"], ["y"]], object(), {(1,), (2,)}],
    ids=[
        "true",
        "a list of true",
        "a list of a null",
        "two lists in a list",
        "an object",
        "a set",
    ],
)
def test_not_a_string_is_an_error_that_names_the_field(value: Any) -> None:
    for field in ("reference", "profile", "agent_name", "answers"):
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
    for value in (Ambiguous(), [circle], {(): 1, "content": {(): 1}}):
        assert error_of({field: value}).code in {"field_unreadable", "context_unreadable"}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"reference": ["one", {"text": "two"}]}, {"reference": "one\n\ntwo"}),
        ({"reference": (text for text in ("one", "two"))}, {"reference": "one\n\ntwo"}),
        ({"reference": [LangChainDocument("one")]}, {"reference": "one"}),
        ({"expected": CHAT}, {"reference": "In Köln."}),
        ({"answers": ["a", "", " ", "b"]}, {"answers": ("a", "b")}),
        ({"answers": "a"}, {"answers": ("a",)}),
        (
            {"profile": {"name": "Ilse", "job": "Wärterin"}},
            {"profile": '{"name": "Ilse", "job": "Wärterin"}'},
        ),
    ],
    ids=[
        "documents",
        "an iterator",
        "a LangChain document",
        "a thread",
        "answers with blank ones",
        "one answer",
        "a mapping as profile",
    ],
)
def test_reference_answers_and_profile_are_kept_as_texts(row: Any, expected: dict[str, Any]) -> None:
    assert Case.from_mapping(row).model_dump(exclude_none=True, exclude={"metadata"}) == expected


# --- nothing is dropped silently --------------------------------------------------------------

F = ToolCall(name="f", arguments={"a": 1})
BROKEN = ToolCall(name="f", arguments='{"a": ')
BROKEN_CALL: Any = {"name": "f", "args": '{"a": ', "id": "1", "error": "cut"}
USE = {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}
AS_OPENAI = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
AS_LANGCHAIN = {"name": "f", "args": {"a": 1}, "id": "1"}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "9"}]}
SOURCE = {"type": "web_search_result", "url": "u"}
SERVER_TOOL = [
    {**USE, "type": "server_tool_use"},
    {"type": "web_search_tool_result", "content": [SOURCE]},
    {"type": "text", "text": "a"},
]


SEARCH, SEARCHED = {"type": "web_search_call", "id": "1"}, ToolCall(name="web_search_call")


def turn(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def ai(content: str = "", *calls: ToolCall) -> Message:
    return Message(role="assistant", content=content, tool_calls=calls)


def tool(content: str, name: str | None = None) -> Message:
    return Message(role="tool", content=content, name=name)


def text(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": content, **more}


MESSAGES: dict[str, tuple[Any, list[Message]]] = {
    # the message: what is kept of it
    "text blocks": (
        turn([{"type": "output_text", "text": "a", "annotations": []}, {"text": "b"}]),
        [ai("ab")],
    ),
    "a result inside a result": (turn([{"type": "tool_result", "content": [RESULT]}]), [tool("9")]),
    "data among results": (turn([RESULT, {"cache": 1}]), [tool("9"), ai('{"cache": 1}')]),
    "data among text": (turn([text("a"), {"text": "b", "price": 9}]), [ai('a\n{"text": "b", "price": 9}')]),
    "data under the name of a text": (turn(["a", {"text": {"b": 1}}]), [ai('a\n{"text": {"b": 1}}')]),
    "reasoning, which it did not say": (
        turn([{"type": "thinking", "thinking": "Hm."}, text("a")]),
        [ai("a")],
    ),
    "a refusal beside a text": (turn("a", refusal="no"), [ai("a\nno")]),
    "a refusal as a block": (turn([{"type": "refusal", "refusal": "no"}]), [ai("no")]),
    "LangChain's refusal": (AIMessage("", additional_kwargs={"refusal": "no"}), [ai("no")]),
    "function_call": (turn(None, function_call={"name": "f", "arguments": '{"a": 1}'}), [ai("", F)]),
    "Anthropic's tool_use": (turn([text("I look."), USE]), [ai("I look.", F)]),
    "LangChain's tool call in two places": (AIMessage([USE], tool_calls=[AS_LANGCHAIN]), [ai("", F)]),
    "additional_kwargs": (turn("", additional_kwargs={"tool_calls": [AS_OPENAI]}), [ai("", F)]),
    "an invalid call": (AIMessage("", invalid_tool_calls=[BROKEN_CALL]), [ai("", BROKEN)]),
    "two equal calls": (turn("", tool_calls=[{"name": "f", "args": {"a": 1}}] * 2), [ai("", F, F)]),
    "the id 1 ahead of no id": (
        turn("", tool_calls=[{"id": 1, "name": "f", "args": {"a": 1}}, {"name": "f", "args": {"a": 1}}]),
        [ai("", F, F)],
    ),
    "a result before a text": (turn([RESULT, text("And?")]), [tool("9"), ai("And?")]),
    "a tool of the server's": (turn(SERVER_TOOL), [ai("", F), tool(json.dumps([SOURCE])), ai("a")]),
    "a text that cites": (turn([text("At "), text("9", citations=[SOURCE]), text(".")]), [ai("At 9.")]),
    "a text of null, and nothing": (turn([text(None), {}]), [ai()]),
    "a document of blocks": (
        turn([{"type": "document", "source": {"type": "content", "content": [text("a")]}}]),
        [ai("a")],
    ),
    "a document of text": (turn([{"type": "document", "source": text(None, data="a")}]), [ai("a")]),
    "an array": (turn(np.array([text("a"), text("b")], dtype=object)), [ai("ab")]),
    "a call that the provider made": (turn([SEARCH, text("a")]), [ai("", SEARCHED), ai("a")]),
    "a provider's call and result": (
        turn([{"type": "mcp_call", "name": "f", "output": "9"}, text("a")]),
        [tool("9", "f"), ai("a")],
    ),
    "a result beside a call": (
        AIMessage([{"type": "server_tool_result", "output": "9"}, text("a")], tool_calls=[AS_LANGCHAIN]),
        [tool("9"), ai("a", F)],
    ),
    "a call before a result": (turn([RESULT], tool_calls=[AS_LANGCHAIN]), [tool("9"), ai("", F)]),
    "Bedrock's reasoning": (turn([{"reasoningContent": {"text": "Hm."}}, {"text": "a"}]), [ai("a")]),
    "nothing but reasoning": (turn([{"type": "thinking", "thinking": "Hm."}]), [ai()]),
    "nothing": (turn(None), [ai()]),
    "the AI SDK's result": (
        turn("a", toolInvocations=[{"toolName": "f", "args": {}, "state": "result", "result": "9"}]),
        [tool("9", "f"), ai("a")],
    ),
    "a search of files": (
        {"type": "file_search_call", "queries": ["q"], "results": [{"text": "9", "score": 0.5}]},
        [tool('[{"text": "9", "score": 0.5}]')],
    ),
    "a list of tools": ({"type": "mcp_list_tools", "tools": []}, []),
    "Gemini's role": ({"role": "model", "content": "a"}, [ai("a")]),
    "Llama's role": ({"role": "ipython", "content": "9"}, [tool("9")]),
    "a refusal beside a call": (turn([USE], refusal="no"), [ai("no", F)]),
    "Bedrock's call": (turn([{"toolUse": {"name": "f", "input": {"a": 1}}}]), [ai("", F)]),
    "Bedrock's result": (turn([{"toolResult": {"content": [{"text": "9"}]}}]), [tool("9")]),
    "the AI SDK's call": (turn([{"type": "tool-call", "toolName": "f", "input": {"a": 1}}]), [ai("", F)]),
    "a custom tool": (turn(None, tool_calls=[{"custom": {"name": "f", "input": {"a": 1}}}]), [ai("", F)]),
    "an item that is a call": ({"type": "function_call", "name": "f", "arguments": '{"a": 1}'}, [ai("", F)]),
    "an item that is a result": ({"type": "function_call_output", "output": "9"}, [tool("9")]),
    "an item that is reasoning": ({"type": "reasoning", "summary": []}, []),
    "a role in capitals": ({"role": "Assistant", "content": "a"}, [ai("a")]),
    "a pair with blocks": (("assistant", [text("a")]), [ai("a")]),
    "a result with two keys": (
        {"role": "tool", "name": "f", "content": "ok", "total": 9},
        [tool('{"content": "ok", "total": 9}', "f")],
    ),
    "the other keys of LangChain's message": (
        ToolMessage("ok", name="f", tool_call_id="1", artifact=[1]).model_dump(),
        [tool("ok", "f")],
    ),
}


@pytest.mark.parametrize(("message", "expected"), MESSAGES.values(), ids=MESSAGES)
def test_whatever_a_message_says_or_calls_is_kept(message: Any, expected: list[Message]) -> None:
    assert Case(conversation=[message]).conversation == tuple(expected)


@pytest.mark.parametrize(
    ("document", "content"),
    [
        ({"title": "Tool Result: f", "content": "ok", "total": 9}, '{"content": "ok", "total": 9}'),
        ({"title": "Tool Result: f", "total": 9, "unit": "€"}, '{"total": 9, "unit": "€"}'),
        ({"kind": "tool", "content": "ok", "total": None}, "ok"),
        ({"role": "tool", "content": ""}, ""),
        ({"content": "a", "text": "b"}, "a\n\nb"),
        ({"content": "a", "text": "a"}, "a"),
        ({"text": [RESULT]}, json.dumps(RESULT)),
        ({"content": "a", "score": 1}, "a"),
    ],
    ids=[
        "a titled result with two keys",
        "a titled result without content",
        "a result with a null",
        "an empty result",
        "two texts",
        "the same text twice",
        "a block of a result",
        "knowledge with a score",
    ],
)
def test_document_keeps_all_that_it_says(document: dict[str, Any], content: str) -> None:
    documents = Case(context=[document]).context
    assert documents is not None
    assert [entry.content for entry in documents] == [content]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("field", "value", "text_of_value"),
    [
        ("query", [turn([text("a"), IMAGE])], "a\n[image_url]"),
        ("response", [AIMessage([{"type": "input_audio", "data": "A"}])], "[input_audio]"),
        ("response", [turn([{"image": {"bytes": "A"}}])], "[image]"),
        ("response", [turn([{"type": "image_generation_call", "result": "A"}])], "[image_generation_call]"),
        ("query", [{"role": "user", "content": "a", "images": ["A"]}], "a\n[images]"),
        ("response", [turn([{"inlineData": {"mimeType": "image/png", "data": "A"}}])], "[inlineData]"),
        ("context", [{"content": [IMAGE]}], "[image_url]"),
        ("context", [turn([{"type": "tool_result", "content": [IMAGE]}])], "[image_url]"),
        ("reference", [{"content": [text("a"), IMAGE]}], "a\n[image_url]"),
    ],
    ids=[
        "a text and an image",
        "audio",
        "Bedrock",
        "a generated image",
        "Ollama",
        "Gemini",
        "a document",
        "a tool result",
        "a reference",
    ],
)
def test_what_is_not_text_leaves_its_name(field: str, value: Any, text_of_value: str) -> None:
    case = Case.from_mapping({field: value})
    content = case.value(field)
    if not isinstance(content, str):
        content = content[0].content
    assert content == text_of_value
    assert case.warnings([field]) == ("content_not_shown",)
    assert not case.warnings({"query", "response", "context", "reference"} - {field})


LISTS = {
    "two texts": "['a', 'b']",
    "an apostrophe in double quotes": "[\"it's\", 'b']",
    "an escaped apostrophe between blanks": " ['a\\'b'] ",
    "an array of NumPy": "['a'\n 'b']",
    "a comma at the end": "['a',]",
    "mappings": "[{'text': 'a'}]",
    "a text and None": "['a', None]",
    "LangChain's documents": f"[{LangChainDocument('a')!r}]",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_list_that_pandas_wrote_is_refused_with_the_remedy(text: str) -> None:
    error = error_of({"context": text})
    assert (error.code, "ast.literal_eval" in error.message) == ("context_unreadable", True)
    assert Case(context=[text]).context == (Document(content=text),)


NO_LISTS = {
    "a number": "[1]",
    "an opening bracket": "[",
    "a text and a number": "['a', 1]",
    "two lists in a sentence": "['a'] and ['b']",
    "JSON and a remark": '[{"a": "b"}] in EUR',
    "a link of Markdown": '["a"](https://example.org)',
    "a word in quotation marks": '["Well," she said]',
    "a list in a list": "[['a']]",
    "very many opening brackets": "['" * 40_000,
}


@pytest.mark.parametrize("text", NO_LISTS.values(), ids=NO_LISTS)
def test_other_text_in_brackets_is_a_context(text: str) -> None:
    assert Case(context=text).context == (Document(content=text),)
