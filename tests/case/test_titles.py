"""A title "Tool Result: x" makes a plain mapping a tool result, and nothing else, wherever it comes from."""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass
from typing import Any

import pytest
from deepeval.test_case import RetrievedContextData
from langchain_core.documents import Document as LangChainDocument
from langchain_core.load import dumpd
from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel

from groundjudge import as_judge, load, load_rubric
from groundjudge.case.case import Case, Document
from groundjudge.case.fields import Fields
from groundjudge.case.traces import traced_documents
from groundjudge.errors import CaseError
from groundjudge.prompt.prompt import Prompt

TITLE = "Tool Result: get_order"
PLAIN: dict[str, Any] = {"title": TITLE, "content": "x"}
LANGCHAIN = LangChainDocument("x", metadata={"title": TITLE})


@dataclass
class Hit:
    """A class that a retriever might return."""

    title: str
    content: str


class Passage(BaseModel):
    """The same, of pydantic."""

    title: str
    content: str


def kinds(context: Any) -> list[str]:
    return [document.kind for document in Case(context=context).context or ()]


# --- what a title can and cannot make of a document -----------------------------------------------

PLAIN_MAPPINGS: dict[str, Any] = {
    "a mapping": PLAIN,
    "a mapping that is no dict": UserDict(PLAIN),
    "text under another name": {"title": TITLE, "page_content": "x"},
    "more keys": {**PLAIN, "score": 0.7, "metadata": {"title": "Orders"}},
    "a null as kind": {**PLAIN, "kind": None, "role": None},
}
NO_PLAIN_MAPPINGS: dict[str, Any] = {
    "a kind": {**PLAIN, "kind": "knowledge"},
    "an empty kind": {**PLAIN, "kind": ""},
    "a message": {**PLAIN, "role": "user"},
    "a type": {"content": "x", "type": "function"},
    "a type of a block": {"content": "x", "type": "tool_result"},
    "a title in the content": {"content": {"title": TITLE, "kind": "tool"}},
    "a title in the metadata": {"content": "x", "metadata": {"title": TITLE, "kind": "tool"}},
    "a name and a source": {"content": "x", "name": TITLE, "source": TITLE},
    "a string": f"{TITLE}\nx",
    "groundjudge's Document": Document(content="x", title=TITLE),
    "groundjudge's Document dumped": Document(content="x", title=TITLE).model_dump(),
    "a dataclass": Hit(TITLE, "x"),
    "a pydantic model": Passage(title=TITLE, content="x"),
    "LangChain's Document": LANGCHAIN,
    "LangChain's Document dumped": dumpd(LANGCHAIN),
    "LangChain's Document as a mapping": LANGCHAIN.model_dump(),
    "LangChain's message": HumanMessage("x", name=TITLE),
    "DeepEval's RetrievedContextData": RetrievedContextData(context="x", source=TITLE),
}
TOLD_BY_KIND_OR_ROLE: dict[str, Any] = {
    **{kind: {"content": "x", "kind": kind} for kind in ("tool", "tool_result", "Tool Result")},
    "a role": {"content": "x", "role": "tool"},
    "groundjudge's Document": Document(content="x", kind="tool"),
    "LangChain's message": ToolMessage("x", tool_call_id="1"),
}


def retrieved(outputs: Any, kind: str = "retriever") -> tuple[Document, ...]:
    """The documents that a traced run returned."""
    return traced_documents([outputs], lambda _: [], lambda run: (kind, "get_order", run, None)) or ()


@pytest.mark.parametrize("document", PLAIN_MAPPINGS.values(), ids=PLAIN_MAPPINGS)
def test_title_of_a_plain_mapping_makes_it_a_tool_result(document: Any) -> None:
    assert kinds([document]) == kinds(document) == ["tool"]


def test_title_of_anything_else_makes_it_nothing() -> None:
    for kind, document in NO_PLAIN_MAPPINGS.items():
        assert kinds([document]) == kinds(document) == ["knowledge"], kind


@pytest.mark.parametrize("document", TOLD_BY_KIND_OR_ROLE.values(), ids=TOLD_BY_KIND_OR_ROLE)
def test_kind_and_role_make_tool_results_everywhere(document: Any) -> None:
    assert kinds([document]) == kinds(retrieved([document])) == ["tool"]
    assert kinds(Case(context=[document]).without_tool_titles().context) == ["tool"]


WRITTEN_OTHERWISE: dict[str, Any] = {
    "in lower case": "tool result: x",
    "in capitals": "TOOL RESULT: x",
    "in the plural": "Tool Results: x",
    "without a colon": "Tool Result x",
    "without a colon and a name": "Tool Result",
    "a blank before it": " Tool Result: x",
    "two blanks in it": "Tool  Result: x",
    "a no-break space": "Tool\u00a0Result: x",
    "a blank before the colon": "Tool Result : x",
    "a full-width colon": "Tool Result：x",
    "full-width letters": "Ｔｏｏｌ Result: x",
    "a zero-width space before it": "\u200bTool Result: x",
    "a zero-width joiner in it": "Tool Result\u200d: x",
    "a Cyrillic letter": "Тool Result: x",
    "a word before it": "The Tool Result: x",
    "an empty title": "",
    "a null": None,
    "a number": 5,
    "a list of it": [TITLE],
}


def test_title_that_is_written_otherwise_makes_nothing() -> None:
    for way, title in WRITTEN_OTHERWISE.items():
        assert kinds([{"title": title, "content": "x"}]) == ["knowledge"], way


# --- every place where documents enter ------------------------------------------------------------


EXCHANGE = {"inputs": "q", "outputs": "r"}
ENTRANCES = {
    "a row": Fields().in_row({"documents": [PLAIN]}),
    "a path": Fields.of({"context": "a.b"}).in_row({"a": {"b": PLAIN}}),
    "inputs": Fields().in_row({"inputs": {"context": [PLAIN]}, "outputs": "r"}),
    "outputs": Fields().in_row({"inputs": "q", "outputs": {"answer": "r", "docs": [PLAIN]}}),
    "reference outputs": Fields().in_row({**EXCHANGE, "reference_outputs": {"context": [PLAIN]}}),
    "more": Fields().in_row({**EXCHANGE, "context": [PLAIN]}),
}


@pytest.mark.parametrize("fields", ENTRANCES.values(), ids=ENTRANCES)
def test_application_writes_the_titles_of_inputs_and_outputs(fields: Any) -> None:
    assert kinds(Case.of(fields).context) == ["tool"]


def test_strangers_write_the_titles_of_what_a_retriever_returned() -> None:
    for kind, document in {**PLAIN_MAPPINGS, **NO_PLAIN_MAPPINGS}.items():
        for outputs in ([document], document, {"documents": [document]}):
            assert kinds(retrieved(outputs)) == ["knowledge"], kind


def test_traced_retriever_gives_knowledge_and_a_traced_tool_a_tool_result() -> None:
    assert [(document.kind, document.title) for document in retrieved(PLAIN, "tool")] == [("tool", TITLE)]
    fields = Fields().in_row(EXCHANGE, retrieved=retrieved([PLAIN]))
    assert kinds(Case.of(fields).context) == ["knowledge"]


# --- without tool titles --------------------------------------------------------------------------


@pytest.mark.parametrize("document", PLAIN_MAPPINGS.values(), ids=PLAIN_MAPPINGS)
def test_without_tool_titles_a_document_is_what_it_is_with_the_kind_knowledge(document: Any) -> None:
    titled = Case(query="q", context=[document, "y"], id="1", metadata={"a": 1})
    with_kind = Case(query="q", context=[{**document, "kind": "knowledge"}, "y"], id="1", metadata={"a": 1})
    assert titled.without_tool_titles() == with_kind.without_tool_titles()
    assert with_kind.context == (*retrieved([document]), Document(content="y"))
    assert titled.without_tool_titles().context == with_kind.context


def test_document_without_text_is_an_error_only_of_a_judge_that_looks_at_it() -> None:
    case = Case(query="q", context=[{"title": TITLE, "total": 9, "unit": "€"}])
    assert [document.content for document in case.value("context")] == ['{"total": 9, "unit": "€"}']
    untitled = case.without_tool_titles()
    assert (untitled.value("query"), untitled.field_names()) == ("q", ("query", "context"))
    with pytest.raises(CaseError, match="context_unreadable"):
        untitled.value("context")


def test_what_was_noted_of_a_case_stays_without_tool_titles() -> None:
    image = {"type": "image_url", "image_url": {"url": "u"}}
    case = Case.from_mapping({"context": [PLAIN], "reference": [{"content": [image]}], "query": 5})
    untitled = case.without_tool_titles()
    assert case.warnings(["reference"]) == untitled.warnings(["reference"]) == ("content_not_shown",)
    assert untitled.field_names() == case.field_names()
    with pytest.raises(CaseError, match="field_unreadable"):
        untitled.value("query")


OWN_INPUTS = Prompt.parse(
    "---\ninputs: [{name: articles, type: documents}, {name: more, type: text}]\n---\n{{articles}}{{more}}"
)


def test_documents_of_an_input_of_the_prompts_own_follow_the_same_rule() -> None:
    case = Case(metadata={"articles": [PLAIN], "more": [PLAIN]})
    text = OWN_INPUTS.render(case)[0]["content"]
    text_without_titles = OWN_INPUTS.render(case.without_tool_titles())[0]["content"]
    assert (text.count('kind="tool result"'), text_without_titles.count('kind="tool result"')) == (1, 0)
    assert '"title": "Tool Result: get_order"' in text_without_titles


def test_option_leaves_titles_out_of_prompt_and_evidence() -> None:
    document: dict[str, Any] = {"title": TITLE, "content": 'Ada said: "It left at 9."', "score": 0.7}
    case = Case(query="q", context=[document], response="It left at 9.")
    untitled = load_rubric("statement_groundedness", tool_titles=False)
    assert untitled.ask(case).messages == untitled.ask(case.without_tool_titles()).messages
    (part,) = untitled.read("1 | 1 | - | 10\nALL | 99", case).parts
    assert [document["content"][quote.start : quote.end] for quote in part.evidence] == [document["content"]]


def test_option_is_part_of_identity_and_key_and_reaches_the_judges_of_a_panel() -> None:
    judge = load("groundedness", model="offline")
    strict = as_judge(judge, tool_titles=False)
    assert judge.identity != strict.identity
    titled, with_kind = Case(context=[PLAIN]), Case(context=[{**PLAIN, "kind": "tool"}])
    keys = {judge.key(titled), judge.key(with_kind), strict.key(titled), strict.key(with_kind)}
    assert len(keys) == 4
    votes = as_judge(load("groundedness", model="offline", repeats=3), tool_titles=False)
    assert [rubric.tool_titles for rubric in votes.rubrics] == [False] * 3
    assert as_judge(strict).rubric.tool_titles is False
    assert as_judge(strict, tool_titles=True).identity == judge.identity


def test_case_tells_a_title_from_a_kind_also_as_json() -> None:
    titled, with_kind = Case(context=[PLAIN]), Case(context=[{**PLAIN, "kind": "tool"}])
    assert titled != with_kind
    assert titled.model_dump_json() != with_kind.model_dump_json()
    for case in (titled, with_kind):
        assert Case.model_validate_json(case.model_dump_json()) == case
        again = Case.from_mapping(case.model_dump(mode="json"))
        assert (again, again.without_tool_titles()) == (case, case.without_tool_titles())
