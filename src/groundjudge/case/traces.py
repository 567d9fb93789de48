"""The documents that retrievers and tools returned in traced runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from groundjudge.case.content import content_text
from groundjudge.case.data import first_value, is_mapping
from groundjudge.case.shapes import Document, read_field
from groundjudge.errors import CaseError

T = TypeVar("T")


def traced_documents(
    runs: Iterable[T],
    children: Callable[[T], Iterable[T]],
    source: Callable[[T], tuple[str, str, object, str | None]],
) -> tuple[Document, ...] | None:
    """Return the documents that retrievers and tools returned in traced runs; None if no run is one.

    Only the outermost retrievers and tools count: the application saw what they returned, not the runs inside
    them.

    Args:
        runs: the runs, in the order in which they started.
        children: the runs inside a run, in that order too.
        source: a run's kind ("retriever", "tool" or another one), its name, its outputs, and the error that
            it raised.

    Raises:
        CaseError: `context_unreadable` if something that was retrieved has no text; `retriever_failed` if a
            retriever raised an error.
    """
    documents: list[Document] = []
    has_source = False
    for run in runs:
        kind, name, outputs, error = source(run)
        documents_of_run: tuple[Document, ...] | None
        if kind == "retriever" and error is not None:
            # An application that continues without its documents is different from one that found none.
            reason = error.strip().partition("\n")[0]  # a traceback follows
            message = f"the retriever {name!r} raised an error: {reason}"
            raise CaseError("retriever_failed", message, "context")
        if kind == "retriever":
            documents_of_run = retrieved_documents(outputs)
        elif kind == "tool":
            documents_of_run = tool_documents(name, outputs)
        else:
            documents_of_run = traced_documents(children(run), children, source)
        if documents_of_run is not None:
            has_source = True
            documents += documents_of_run
    return tuple(documents) if has_source else None


def try_find(
    find: Callable[[T], tuple[Document, ...] | None], run: T
) -> tuple[Document, ...] | CaseError | None:
    """Return the documents that `find` finds in a run, or the error: only judges of a context report it."""
    try:
        return find(run)
    except CaseError as error:
        return error


def retrieved_documents(outputs: object) -> tuple[Document, ...]:
    """Return the documents that a retriever returned, itself or in a mapping.

    Strangers may have written their titles, so no title makes a document a tool result.

    Raises:
        CaseError: `context_unreadable` if one of them has no text.
    """
    is_nothing = is_mapping(outputs) and all(value is None for value in outputs.values())
    if outputs is None or is_nothing:
        return ()
    documents: tuple[Document, ...] = read_field("context", outputs, "retrieved")
    return documents


def tool_documents(name: str, outputs: object) -> tuple[Document, ...]:
    """Return what the tool with that name returned, as one document; no document if it returned nothing."""
    result: object = outputs
    if is_mapping(outputs) and list(outputs) == ["output"]:
        # LangSmith keeps what is not a mapping under this key.
        result = outputs["output"]
    is_data = is_mapping(result) and "tool_call_id" not in result
    if not is_data:
        # A message around the result has it as its content.
        content = first_value(result, "content")
        if content is not None:
            result = content
    if result is None or result == {}:
        return ()
    return (Document(content=content_text(result), title=f"Tool Result: {name}", kind="tool"),)
