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
        {"profile": [case.profile or ""], "conversation": own_turns(case), "answers": case.answers or ()},
        {"query": _texts(case.query), "response": tool_texts(case)},
    )
    texts_by_step = (
        [text for name in shown_fields for text in step.get(name, ()) if text.strip()] for step in steps
    )
    return next(filter(None, texts_by_step), list[str]())


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
    return _texts(case.response, "tool") if isinstance(case.response, tuple) else []


def own_turns(case: Case) -> list[str]:
    """What the character itself says in the conversation; what others say may be a false premise."""
    if not isinstance(case.conversation, str):
        return _texts(tuple(message for message in case.conversation or () if message.role != "user"))
    name = (case.agent_name or "").casefold()
    lines = (line for line in case.conversation.splitlines() if line.strip())
    marks = (f"{name}:", f"{name}：")
    return [line for line in lines if name and line.casefold().lstrip(" *-").startswith(marks)]


def _texts(value: str | tuple[Message, ...] | None, role: str = "") -> list[str]:
    """The texts of a field; of messages, those of a role, and what all of them call tools with."""
    if value is None or isinstance(value, str):
        return [value] if value else []
    calls = (call.arguments for message in value for call in message.tool_calls)
    arguments = (json.dumps(argument, ensure_ascii=False, default=str) for argument in calls)
    return [*(message.content for message in value if role in {"", message.role}), *arguments]
