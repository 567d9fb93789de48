"""The texts of a case that have to back a response, and the query that it answers."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from groundjudge.case.case import Case, Message
from groundjudge.case.shapes import text_of

# The fields of a case that can back a response.
SOURCES = frozenset({"answers", "context", "conversation", "profile", "query", "reference"})


def source_texts(case: Case, shown_fields: Collection[str], *, needs_context: bool) -> list[str]:
    """The texts that have to back the response: the first of these that the prompt shows and the case has.

    With `needs_context`, an empty context means that nothing backs the response.
    """
    context = [document.content for document in case.context or ()]
    if "context" in shown_fields and (context or (case.context is not None and needs_context)):
        return context
    steps = (
        {"reference": [case.reference or ""]},
        {"profile": [case.profile or ""], "conversation": _own_turns(case), "answers": case.answers or ()},
        {"query": _texts(case.query), "response": tool_texts(case)},
    )
    for texts_by_field in steps:
        texts: list[str] = []
        for name in shown_fields:
            for text in texts_by_field.get(name, ()):
                if text.strip():
                    texts.append(text)
        if texts:
            return texts
    return []


def query_text(case: Case, shown_fields: Collection[str]) -> str:
    """What the response answers: the user's last message."""
    if "conversation" in shown_fields and "query" not in shown_fields:
        conversation = case.conversation
        if isinstance(conversation, str):
            lines = conversation.strip().splitlines()
            return re.sub(r"\A[^:：]{1,40}[:：]", "", lines[-1]) if lines else ""
        return text_of(conversation, "user")
    return text_of(case.query, "user")


def tool_texts(case: Case) -> list[str]:
    """The tool results of a case: those in its context, or those in the response if there is no context."""
    if case.context:
        return [document.content for document in case.context if document.kind == "tool"]
    if isinstance(case.response, tuple):
        return _texts(case.response, "tool")
    return []  # a response that is a text calls no tools


def _own_turns(case: Case) -> list[str]:
    """What the character itself says in the conversation; what others say may be a false premise."""
    if not isinstance(case.conversation, str):
        return _texts(tuple(message for message in case.conversation or () if message.role != "user"))
    name = (case.agent_name or "").casefold()
    if not name:
        return []
    marks = (f"{name}:", f"{name}：")
    turns: list[str] = []
    for line in case.conversation.splitlines():
        if line.casefold().lstrip(" *-").startswith(marks):
            turns.append(line)
    return turns


def _texts(value: str | tuple[Message, ...] | None, role: str = "") -> list[str]:
    """The texts of a field; of messages, those of a role (or any), and what all of them call tools with."""
    if not value:
        return []
    if isinstance(value, str):
        return [value]
    texts: list[str] = []
    for message in value:
        if not role or message.role == role:
            texts.append(message.content)
    for message in value:
        for call in message.tool_calls:
            texts.append(json.dumps(call.arguments, ensure_ascii=False, default=str))
    return texts
