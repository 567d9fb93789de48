"""What several tests of cases share: a chat in every shape, a prompt file, and the error of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from groundjudge import Case, CaseError, Message
from groundjudge.case.case import ToolCall
from groundjudge.case.fields import ALIASES


def read_all_fields(row: Any) -> None:
    """Read every field of a row that a prompt can show."""
    for field in ALIASES:
        Case.from_mapping(row).value(field)


def error_of(row: Any) -> CaseError:
    """The error of the first field of a row that cannot be read."""
    with pytest.raises(CaseError) as raised:
        read_all_fields(row)
    return raised.value


@dataclass
class Snippet:
    """A class that a custom retriever might return."""

    page_content: str
    metadata: Mapping[str, Any] | None = None


ON_TOPIC = """\
---
name: on_topic
inputs: [{name: topic}, {name: response}]
reply: {format: tags, value: S2, reason: S1}
scale: {worst: 1, best: 5}
---
{{topic}} {{response}}
"""
"""A prompt file with an input of its own."""


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
        "content": [{"type": "text", "text": "Where is it?"}],
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
