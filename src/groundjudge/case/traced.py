"""The case of a traced run of an application: what it was given, what it retrieved, what it answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic_core import to_json

from groundjudge.case.case import FIELD_NAMED, Case, Document, is_mapping
from groundjudge.case.where import Input

DOCUMENT_LISTS = ("output", "documents", "contexts", "context", "results")
"""The keys under which the outputs of a retriever can contain the documents."""


def case_of_run(
    sides: Mapping[str, Any],
    inputs: Iterable[Input],
    retrieved: Callable[[], tuple[Document, ...] | None],
    *,
    where: Mapping[str, str] | None = None,
    roots: Mapping[str, object] | None = None,
) -> Case:
    """The case of a run. Its context is that of the outputs, else what was retrieved, else that of a side.

    Args:
        sides: the inputs, outputs and reference_outputs, see `Case.from_exchange`.
        inputs: the inputs of the judge; nothing is retrieved for one that looks at no context.
        retrieved: the documents that the run retrieved; None if it has no retriever and no tool.
        where: fields that stand elsewhere, with their paths.
        roots: what else a path can begin with.

    Raises:
        CaseError: as for `Case.from_exchange`.
    """
    case = Case.from_exchange(**sides, where=where, roots=roots)
    if not any(each.field == "context" for each in inputs):
        return case
    answered = Case.from_exchange(None, sides["outputs"], where=where, roots=roots)
    source = case if "context" in mapped_fields(where) else answered
    documents = retrieved() if source.context is None else None
    return case if documents is None else case.model_copy(update={"context": documents})


def mapped_fields(where: Mapping[str, str] | None) -> set[str]:
    """The fields whose place a mapping says, by their own names."""
    return {FIELD_NAMED.get(name, name) for name in where or ()}


def from_retriever(outputs: object) -> tuple[Document, ...]:
    """The documents that a retriever returned, or that the mapping contains that it returned.

    Raises:
        CaseError: `context_unreadable` if one of them has no text.
    """
    found: Any = outputs
    if is_mapping(outputs):
        found = next((outputs[key] for key in DOCUMENT_LISTS if key in outputs), outputs)
    return Case(context=found or ()).context or ()


def from_tool(name: str, outputs: object) -> tuple[Document, ...]:
    """What the tool of that name returned, as one document; none if it returned nothing."""
    result = _result(outputs) if is_mapping(outputs) else outputs
    if result is None:
        return ()
    text = result if isinstance(result, str) else to_json(result, fallback=str).decode()
    return (Document(content=text, title=f"Tool Result: {name}", kind="tool"),)


def _result(outputs: Mapping[str, Any]) -> Any:  # noqa: ANN401  whatever a tool returns
    """A tool's result without what a trace puts around it: a key, or a LangChain message."""
    match outputs:
        case {"output": {"tool_call_id": _, "content": result}} | {"tool_call_id": _, "content": result}:
            return result
        case {"output": result, **others} if not others:
            return getattr(result, "content", result)
        case _:
            return outputs or None
