"""Whatever a message, block or document holds is read, or named: nothing is left over in silence."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chats import error_of
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage
from openai.types.chat import ChatCompletion

from groundjudge.case.case import Case
from groundjudge.runs.rows import CaseFile

OPEN = "We open at 9 on weekdays."
LONG = "It was checked by a person."


@dataclass(frozen=True)
class Read:
    """What a row is read as.

    Attributes:
        response: the text of the response.
        context: the texts of the documents; None if there is no context.
        query: the text of the query.
        warnings: those on query, response and context.
        error: a part of the error of the first field that cannot be read; "" for none.
    """

    response: str = "At 9."
    context: tuple[str, ...] | None = (OPEN,)
    query: str = "When?"
    warnings: tuple[str, ...] = ()
    error: str = ""


def said(content: Any = "At 9.", **more: Any) -> dict[str, Any]:
    """A message of the assistant, with other keys."""
    return {"role": "assistant", "content": content, **more}


def row(response: Any = "At 9.", **more: Any) -> dict[str, Any]:
    """A row with a query, a response and other keys."""
    return {"query": "When?", "response": response, **more}


def thread(*messages: Any) -> dict[str, Any]:
    return {"messages": [("user", "When?"), *messages]}


def completion(*choices: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "choices": [*choices],
        "usage": {"total_tokens": 9},
        **more,
    }


CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "At 9."}}
WHOLE: dict[str, Any] = {
    "id": "c1",
    "created": 1,
    "model": "m",
    "object": "chat.completion",
    "choices": [CHOICE],
}
CHROMA = {"ids": [["a"]], "documents": [[OPEN]], "metadatas": [[{"page": 1}]], "distances": [[0.2]]}
NO_CONTEXT = Read(context=None)
NOT_READ = ("content_not_read",)

TABLE: list[Any] = [
    # the sources that a message carries
    pytest.param(row([said(context=OPEN)]), Read(), id="a message's context"),
    pytest.param(row([said(retrieval_context=[OPEN])]), Read(), id="a message's retrieval_context"),
    pytest.param(row([said(documents=[{"text": OPEN}])]), Read(), id="a message's documents"),
    pytest.param(row([said(sources=[OPEN])]), Read(), id="a message's sources"),
    pytest.param(
        row([said(context={"citations": [{"content": OPEN}]})]), Read(), id="citations in a context"
    ),
    pytest.param(thread(said(context=OPEN)), Read(), id="sources in a thread"),
    pytest.param(
        thread(said("Hello.", context=LONG), ("user", "When?"), said(context=OPEN)),
        Read(),
        id="of the last turn",
    ),
    pytest.param(
        thread(("tool", "9"), said(context=OPEN)), Read(context=("9", OPEN)), id="sources beside tool results"
    ),
    pytest.param(
        row([said(context=LONG)], context=OPEN), Read(warnings=("also_given",)), id="sources beside a context"
    ),
    pytest.param(row([said(citations=["https://a.example/b"])]), NO_CONTEXT, id="links are no sources"),
    pytest.param(
        row([said(citations=[{"start": 0, "end": 5, "text": "We say at 9."}])]), NO_CONTEXT, id="annotations"
    ),
    pytest.param(
        row([AIMessage("At 9.", additional_kwargs={"documents": [OPEN]})]), Read(), id="in LangChain's kwargs"
    ),
    pytest.param(
        {**thread(said(context=LONG)), "context": OPEN},
        Read(warnings=("also_given",)),
        id="a thread's sources beside a context",
    ),
    # what searches and traces return
    pytest.param(row(context=[(LangChainDocument(OPEN), 0.83)]), Read(), id="a document and its score"),
    pytest.param(row(context=[[{"page_content": OPEN}, 0.83]]), Read(), id="the same as JSON"),
    pytest.param(row(context=[[OPEN, 1]]), Read(), id="a text and its score"),
    pytest.param(row(context=CHROMA), Read(), id="Chroma's answer"),
    pytest.param(
        row(documents=[[OPEN, "b"]]), Read(context=(OPEN, "b")), id="Chroma's documents as a column"
    ),
    pytest.param(row(context=[["a"], ["b"]]), Read(error="list"), id="the answers to two queries"),
    pytest.param(
        row(context=[{"document.content": OPEN, "document.score": 0.2}]), Read(), id="flattened documents"
    ),
    pytest.param(
        row(context=[{"document.content": OPEN, "document.content.lang": "en"}]),
        Read(error="'document.content.lang' is inside of 'content', which has a value of its own"),
        id="a flattened key inside of a text",
    ),
    pytest.param(row(context=[{"document": {"content": OPEN}}]), Read(), id="documents under a key"),
    pytest.param(row(context=[{"node": {"text": OPEN}, "score": 0.2}]), Read(), id="a node with a score"),
    pytest.param(
        {"messages": [{"message.role": "user", "message.content": "When?"}, said(context=OPEN)]},
        Read(),
        id="flattened messages",
    ),
    pytest.param(
        {"messages": [[{"role": "user", "content": "When?"}, said(context=OPEN)]]},
        Read(),
        id="a list of one thread, as in LangChain's traces",
    ),
    # the response
    pytest.param(row(completion(CHOICE), context=OPEN), Read(), id="a chat completion"),
    pytest.param(row(ChatCompletion(**WHOLE), context=OPEN), Read(), id="a chat completion of the SDK"),
    pytest.param(row(completion(CHOICE, CHOICE)), Read(error="2 choices"), id="two choices"),
    pytest.param(row({"answer": "At 9.", "sources": [OPEN]}), Read(), id="an answer and its sources"),
    pytest.param(
        row(context=[], citations=[{"start": 0, "end": 5, "text": "We say at 9."}]),
        Read(context=()),
        id="annotations of an answer",
    ),
    pytest.param(
        {"inputs": "When?", "outputs": {"answer": "At 9.", "sources": [OPEN]}},
        Read(),
        id="the same as outputs",
    ),
    pytest.param({"inputs": "When?", "outputs": completion(CHOICE), "context": OPEN}, Read(), id="of a run"),
    pytest.param(row(42, context=OPEN), Read("42"), id="a number"),
    pytest.param(row(True), Read(error="bool"), id="a boolean"),  # noqa: FBT003
    pytest.param(row({"text": "At 9."}), Read(error="text"), id="a mapping without an answer"),
    # what is left over
    pytest.param(
        row([{"role": "tool", "content": [{"type": "tool_result", "tool_result": OPEN}]}]),
        Read(OPEN, None),
        id="a result under its type",
    ),
    pytest.param(
        row([{"role": "tool", "content": [{"type": "tool_result", "payload": OPEN}]}]),
        Read(error="payload is not read"),
        id="a result under another key",
    ),
    pytest.param(
        row([{"role": "tool", "tool_call_id": "1", "content": "", "result": OPEN}]),
        Read(error="result is not read"),
        id="a result beside a content",
    ),
    pytest.param(row([said("", answer="At 9.")]), Read(error="answer is not read"), id="a text elsewhere"),
    pytest.param(row([said(None, id="a", thinking="Hm, so.")]), Read("", None), id="an id and reasoning"),
    pytest.param(
        row([said(explanation=LONG)]), Read(context=None, warnings=NOT_READ), id="a text beside a text"
    ),
    pytest.param(
        row([said(status="completed", created_at="2026-01-01 09:00", usage={"n": 1})]),
        NO_CONTEXT,
        id="no content",
    ),
    pytest.param(
        row([said([{"type": "text", "text": "At 9.", "note": LONG}])]),
        Read(context=None, warnings=NOT_READ),
        id="a text beside that of a block",
    ),
    pytest.param(
        row([said([{"type": "text", "content": "At 9."}])]), NO_CONTEXT, id="a block of OpenTelemetry"
    ),
    pytest.param(
        row(context=[{"text": "", "body": OPEN}]), Read(error="body is not read"), id="a blank document"
    ),
    pytest.param(
        row(context=[{"text": OPEN, "summary": LONG}]),
        Read(warnings=NOT_READ),
        id="a document with two texts",
    ),
    pytest.param(row(context=[{"text": OPEN, "source": "a.pdf", "author": "Jane Roe"}]), Read(), id="names"),
    pytest.param(
        row(context={"documents": [], "error": "no index"}),
        Read(error="error is not read"),
        id="a failed search",
    ),
]


def test_chat_completion_is_the_same_response_as_its_text() -> None:
    assert Case.from_mapping(row(completion(CHOICE))).response == "At 9."
    by_sdk = ChatCompletion(**WHOLE)
    assert Case(query="When?", response=by_sdk).response == "At 9."  # type: ignore[arg-type]


def check(case: Case, read: Read) -> None:
    assert (case.query_text, case.response_text) == (read.query, read.response)
    texts = None if case.context is None else tuple(document.content for document in case.context)
    assert texts == read.context
    assert case.warnings(["query", "response", "context"]) == read.warnings


@pytest.mark.parametrize(("row", "read"), TABLE)
def test_row_is_read_whole_or_says_what_is_not_read(row: dict[str, Any], read: Read) -> None:
    if read.error:
        assert read.error in error_of(row).message
        return
    check(Case.from_mapping(row), read)
    if set(row) <= {"query", "response", "context"}:
        check(Case(**row), read)


def test_rows_of_a_file_are_read_alike(tmp_path: Path) -> None:
    lines: dict[str, Read] = {}
    for row, read in [param.values for param in TABLE if not param.values[1].error]:
        with suppress(TypeError):  # for an object
            lines[json.dumps(row)] = read
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    for row_of_file, read in zip(CaseFile(file).rows(), lines.values(), strict=True):
        check(Case.of(row_of_file), read)  # type: ignore[arg-type]
