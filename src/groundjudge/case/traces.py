"""The documents that the retrievers and tools among traced runs returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from groundjudge.case import shapes
from groundjudge.case.data import is_mapping
from groundjudge.case.shapes import Document

T = TypeVar("T")


def traced_documents(
    runs: Iterable[T], children: Callable[[T], Iterable[T]], source: Callable[[T], tuple[str, str, object]]
) -> tuple[Document, ...] | None:
    """The documents that retrievers and tools among traced runs returned; None if no run is one.

    Only the outermost retrievers and tools count: the application saw what they returned, not the runs inside
    them.

    Args:
        runs: the runs, in the order in which they started.
        children: the runs inside a run, in that order too.
        source: a run's kind ("retriever", "tool" or another one), its name and its outputs.

    Raises:
        CaseError: `context_unreadable` if something that was retrieved has no text.
    """
    documents: tuple[Document, ...] | None = None
    for run in runs:
        kind, name, outputs = source(run)
        if kind not in {"retriever", "tool"}:
            found = traced_documents(children(run), children, source)
        else:
            found = retrieved_documents(outputs) if kind == "retriever" else tool_documents(name, outputs)
        documents = documents if found is None else (*(documents or ()), *found)
    return documents


def retrieved_documents(outputs: object) -> tuple[Document, ...]:
    """The documents that a retriever returned, or that the mapping contains that it returned.

    Strangers may have written their titles: none of them makes a document a tool result.

    Raises:
        CaseError: `context_unreadable` if one of them has no text.
    """
    names = ("output", "documents", "contexts", "context", "results")
    held = [outputs[name] for name in names if name in outputs] if is_mapping(outputs) else []
    documents: tuple[Document, ...] = shapes.read_field("context", (held or [outputs])[0] or (), "retrieved")
    return documents


def tool_documents(name: str, outputs: object) -> tuple[Document, ...]:
    """What the tool of that name returned, as one document; none if it returned nothing."""
    result = outputs["output"] if is_mapping(outputs) and [*outputs] == ["output"] else outputs
    is_data = is_mapping(result) and "tool_call_id" not in result  # else a message around the result
    said = None if is_data else shapes.get(result, "content")
    result = result if said is None else said
    if result is None or result == {}:
        return ()
    return (Document(content=shapes.content_text(result), title=f"Tool Result: {name}", kind="tool"),)
