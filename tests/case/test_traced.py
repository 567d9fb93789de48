"""The case of a traced run: which context counts, and what retrievers and tools returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from groundjudge import CaseError, Document, Message, load_rubric
from groundjudge.case.traced import case_of_run, from_retriever, from_tool

GROUNDEDNESS, PASSAGES = (load_rubric(name).inputs for name in ("groundedness", "passage_quality"))
FOUND = (Document(content="found"),)


def sides(
    inputs: Mapping[str, Any], outputs: object, reference: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {"inputs": inputs, "outputs": outputs, "reference_outputs": reference}


@pytest.mark.parametrize(
    ("given", "where", "context"),
    [
        (sides({"query": "q", "context": "given"}, {"answer": "r", "context": "returned"}), None, "returned"),
        (sides({"query": "q", "context": "given"}, {"answer": "r", "context": []}), None, None),
        (sides({"query": "q", "context": "given"}, "r", {"context": "gold"}), None, "found"),
        (sides({"query": "q", "docs": "a", "d": "mapped"}, "r"), {"context": "inputs.d"}, "mapped"),
        (sides({"query": "q"}, "r"), {"context": "inputs.d"}, "found"),
    ],
    ids=["outputs", "empty in outputs", "retrieved before inputs", "path", "path that leads nowhere"],
)
def test_context_is_that_of_the_outputs_else_what_was_retrieved(
    given: dict[str, Any], where: Mapping[str, str] | None, context: str | None
) -> None:
    case = case_of_run(given, GROUNDEDNESS, lambda: FOUND, where=where)
    assert [each.content for each in case.context or ()] == ([context] if context else [])


def test_context_of_the_inputs_counts_without_retriever_or_tool() -> None:
    case = case_of_run(sides({"query": "q", "context": "given"}, "r"), GROUNDEDNESS, lambda: None)
    assert case.context == (Document(content="given"),)


def test_nothing_is_retrieved_for_a_judge_that_looks_at_no_context() -> None:
    def retrieved() -> tuple[Document, ...]:
        raise CaseError("context_unreadable", "never read", "context")

    assert case_of_run(sides({"query": "q"}, "r"), PASSAGES, retrieved).context is None


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
    assert [each.content for each in from_retriever(outputs)] == texts


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        ("sunny", "sunny"),
        ({"output": "sunny"}, "sunny"),
        ({"output": Message(role="tool", content="sunny")}, "sunny"),
        ({"output": {"tool_call_id": "1", "content": "sunny"}}, "sunny"),
        ({"tool_call_id": "1", "content": "sunny", "name": "weather"}, "sunny"),
        ({"output": 1, "more": 2}, '{"output":1,"more":2}'),
        (0, "0"),
        ([1, "a"], '[1,"a"]'),
        ({}, None),
        (None, None),
        ({"output": None}, None),
    ],
)
def test_tool_returned_one_document_or_none(outputs: object, text: str | None) -> None:
    tool = Document(content=text or "", title="Tool Result: weather", kind="tool")
    assert from_tool("weather", outputs) == (() if text is None else (tool,))
