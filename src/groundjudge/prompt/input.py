"""An input of a prompt: a field of the case or an entry of its metadata, and how the model is shown it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, Literal

from groundjudge.case.case import Case, Document, Message
from groundjudge.case.fields import FIELD_NAMED
from groundjudge.case.numbered import Sentences
from groundjudge.case.shapes import TOOL_TITLE, is_blank, text_of
from groundjudge.prompt.fences import Block, attribute, without_control_tokens
from groundjudge.text.printable import one_line
from groundjudge.verdict import Frozen

LEFT_OUT = "..."
"""A line in the place of sentences that are not shown."""


class Input(Frozen):
    """A field of the case, or an entry of its metadata, that the prompt shows to the model.

    Attributes:
        name: the name of the placeholder: the field's own name, one of its aliases, or a key of the metadata.
        type: how the value is written: as text (for messages, the last one), as JSON messages, as numbered
            documents or as a JSON list.
        required: whether a case without the field, or with a blank one, is an error.
        may_be_empty: whether a required field must be given but may be blank.
    """

    name: str
    type: Literal["text", "messages", "documents", "list"] = "text"
    required: bool = True
    may_be_empty: bool = False

    @cached_property
    def field(self) -> str:
        """The name of the case's field, or the key of the metadata."""
        return FIELD_NAMED.get(self.name, self.name)

    @property
    def is_custom(self) -> bool:
        """Whether it is a custom input, which is looked up in the case's metadata."""
        return self.name not in FIELD_NAMED

    def is_missing(self, case: Case, blank_fields: Collection[str] = ()) -> bool:
        """Whether the prompt requires the input, and a case lacks it.

        Args:
            case: the case.
            blank_fields: the fields that must be given, but may be blank.

        Raises:
            CaseError: its value, required or not, cannot be read.
        """
        value = self.value(case)
        if not self.required:
            return False
        may_be_blank = self.may_be_empty or self.field in blank_fields
        return value is None or (is_blank(value) and not may_be_blank)

    def value(self, case: Case) -> Any:  # noqa: ANN401  any field's value
        """Return the value that a case has for the input; None if it was not given.

        Raises:
            CaseError: the value cannot be read, or two keys give different ones.
        """
        if self.is_custom:
            return case.metadata_value(self.name, self.type)
        return case.value(self.field)

    def block(self, case: Case, sentences: Sentences | None = None) -> Block:
        """Return the value as a block of text: documents as numbered blocks inside it, other lists as JSON.

        Args:
            case: the case.
            sentences: the case's sentences, if context and response are shown as numbered sentences.

        Raises:
            CaseError: as for `value`.
        """
        value = self.value(case)
        if self.field == "context" or (self.is_custom and self.type == "documents"):
            shown = sentences if self.field == "context" else None  # other documents are not numbered
            return Block(self.name, _document_blocks(value or (), shown))
        if sentences is not None and self.field == "response":
            lines = [_number_line(number, span.text) for number, span in enumerate(sentences.response, 1)]
            return Block(self.name, without_control_tokens("\n".join(lines)))
        return Block(self.name, without_control_tokens(self._text(value)))

    def shown(self, value: Any) -> str | list[Any]:  # noqa: ANN401  any field's value
        """Return the value of a field as it is shown: a text, or the entries of a list as JSON data."""
        if self.type == "text" and self.field == "query":
            value = text_of(value, "user")
        elif self.type == "text" and self.field == "response":
            value = text_of(value, "assistant")
        if isinstance(value, str):
            return value
        return [_message_data(entry) if isinstance(entry, Message) else entry for entry in value]

    def _text(self, value: Any) -> str:  # noqa: ANN401  any field's value
        """Return the value of a field as text; lists and messages as JSON."""
        if value is None or value == ():
            return "[]" if self.type == "list" else ""  # a prompt that mentions a list shows an empty one
        shown = self.shown(value)
        if isinstance(shown, str):
            return shown
        return json.dumps(shown, ensure_ascii=False)


def _number_line(number: int, text: str) -> str:
    """Write a sentence on one line after its number, so that it cannot begin another line."""
    return f"{number} | {one_line(text)}"


def _shown_lines(numbers: Sequence[int], document: int, sentences: Sentences) -> list[str]:
    """Write the sentences of a document that are shown, and a line in the place of others."""
    first = numbers[0]
    lines = [LEFT_OUT] if sentences.is_in(first - 1, document) else []
    next_number = first
    for number in numbers:
        if number > next_number:
            lines.append(LEFT_OUT)
        lines.append(_number_line(number, sentences.source[number - 1].text))
        next_number = number + 1
    if sentences.is_in(next_number, document):
        lines.append(LEFT_OUT)
    return lines


def _document_blocks(documents: Sequence[Document], sentences: Sentences | None) -> tuple[Block, ...]:
    """Number the documents that are not blank; mark tool results by their kind and title.

    Of documents in numbered sentences, those without a sentence to show are left out.
    """
    blocks: list[Block] = []
    shown = {} if sentences is None else sentences.shown_by_document()
    n_documents = 0
    for index, document in enumerate(documents):
        if is_blank(document):
            continue
        n_documents += 1
        if sentences is not None and index not in shown:
            continue
        attributes = attribute("number", str(n_documents))
        title = document.title
        # Only the kind decides: a title not written by the application must not make a source authoritative.
        if document.kind == "tool":
            attributes += attribute("kind", "tool result")
            if not title.startswith(TOOL_TITLE):
                title = f"{TOOL_TITLE} {title}".strip()
        if title.strip():
            attributes += attribute("title", title)
        if sentences is None:
            content = without_control_tokens(document.content.strip())
        else:
            content = without_control_tokens("\n".join(_shown_lines(shown[index], index, sentences)))
        blocks.append(Block("document", content, attributes))
    return tuple(blocks)


def _message_data(message: Message) -> dict[str, Any]:
    """Return a message as JSON data, without empty fields: most have neither a name nor tool calls."""
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.name:
        data["name"] = message.name
    if message.tool_calls:
        data["tool_calls"] = [dict(call) for call in message.tool_calls]
    return data
