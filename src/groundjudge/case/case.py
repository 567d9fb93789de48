"""A case is what a judge rates: a response and what it must be grounded in, read from any usual shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypeAlias

from pydantic import Field, PrivateAttr

from groundjudge.case.data import plain
from groundjudge.case.fields import ALIASES, Fields, misspelt
from groundjudge.case.shapes import Document, Message, ToolCall, holds_media, read_field, readable, text_of
from groundjudge.errors import CaseError
from groundjudge.verdict import Frozen, String

__all__ = ["Case", "CaseLike", "Context", "Document", "Message", "Text", "ToolCall"]

Text: TypeAlias = str | Sequence[Message | Mapping[str, Any] | Any]
"""A string, or chat messages in the shapes of OpenAI and LangChain."""

Context: TypeAlias = str | Document | Mapping[str, Any] | Sequence[str | Document | Mapping[str, Any] | Any]
"""A string, a document, or a list of either; documents may be LangChain's or DeepEval's objects too."""


class Case(Frozen):
    """What a judge rates. A field that is None was not given, which differs from an empty one.

    Every field can be given in any of the usual shapes; it is kept as declared below.

    Attributes:
        query: what the user asked: a string or chat messages.
        response: the response to rate: a string or chat messages.
        context: the documents that the response must be grounded in; a blank string gives ().
        reference: the correct answer; given as documents or messages, it is their text.
        conversation: the dialogue before the response: a string or chat messages.
        profile: the description of the agent that responds; a mapping is kept as JSON text.
        agent_name: the name of that agent.
        answers: known answers of that agent, without blank ones.
        id: identifies the case in verdicts; a number is kept as a string.
        metadata: anything else, as JSON data; values that JSON cannot hold are kept as strings.

    Raises:
        CaseError: `field_unreadable` or, for the context, `context_unreadable`: a value is not in any known
            shape; the message names its keys or its type.
    """

    query: String | tuple[Message, ...] | None = None
    response: String | tuple[Message, ...] | None = None
    context: tuple[Document, ...] | None = None
    reference: String | None = None
    conversation: String | tuple[Message, ...] | None = None
    profile: String | None = None
    agent_name: String | None = None
    answers: tuple[String, ...] | None = None
    id: String | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)

    _faults: dict[str, CaseError] = PrivateAttr(default_factory=dict)  # of fields that could not be read
    _media: frozenset[str] = PrivateAttr(frozenset())  # the fields with content that is no text
    _tool_titles: bool = PrivateAttr(default=True)  # whether a title can make a mapping a tool result

    def __init__(  # noqa: PLR0913  one per field
        self,
        *,
        query: Text | None = None,
        response: Text | None = None,
        context: Context | None = None,
        reference: Context | None = None,
        conversation: Text | None = None,
        profile: str | Mapping[str, Any] | None = None,
        agent_name: str | None = None,
        answers: str | Sequence[str] | None = None,
        id: str | int | None = None,  # noqa: A002  the usual name of the field
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._read({name: value for name, value in locals().items() if name != "self"})
        for fault in self._faults.values():
            raise fault

    @classmethod
    def of(cls, case: Case | Mapping[str, Any]) -> Case:
        """The case itself, or the one that a mapping describes (see `from_mapping`)."""
        return case if isinstance(case, Case) else cls.from_mapping(case)

    @classmethod
    def from_mapping(cls, row: Mapping[str, Any]) -> Case:
        """Build a case from a mapping: a line of a file, a framework's row, or the state of an agent.

        A field may have any of its names in `ALIASES`, in upper or lower case; keys that name no field go to
        `metadata`. See `Fields.in_row` for `messages`, and for rows with `inputs` and `outputs`.

        A field that cannot be read (`context_unreadable`, `field_unreadable`), or that two keys give
        different values (`alias_conflict`), is an error only where a judge looks at it.

        Raises:
            CaseError: `unreadable_row` if the row is not a mapping.
        """
        case = cls.__new__(cls)
        case._read(Fields().in_row(row))  # noqa: SLF001  its own
        return case

    @classmethod
    def from_exchange(
        cls, inputs: object, outputs: object, reference_outputs: object = None, **more: object
    ) -> Case:
        """Build a case from the inputs and outputs of an application's run, and the expected outputs.

        Further fields may have any of their names. See `Fields.in_row`; fields that cannot be read are
        treated as by `from_mapping`.
        """
        sides = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return cls.from_mapping({**more, **sides})

    def _read(self, given: Mapping[str, Any]) -> None:
        """Set the fields; note those that cannot be read, and those with content that is not text."""
        given = {name: plain(value) for name, value in given.items() if value is not None}
        values = {name: readable(name, value) for name, value in given.items()}
        faults = {name: value for name, value in values.items() if isinstance(value, CaseError)}
        super().__init__(**{name: value for name, value in values.items() if name not in faults})
        self._faults = faults
        given = {**values, "reference": readable("documents", given.get("reference"))}  # kept as its text
        self._media = frozenset(name for name in ALIASES if holds_media(given.get(name)))

    def without_tool_titles(self) -> Case:
        """The case as it is where titles say nothing: a mapping without a kind or a role is no tool result.

        Use it if others than the application write the titles, as in a knowledge base. Of a `Document`, or a
        document of a retriever, the title says nothing anyway. A judge does it by itself with the option
        `tool_titles=False`.
        """
        case = Case.__new__(Case)
        context = readable("context", self.context, "retrieved")
        case._read({**dict(self), "context": context, **self._faults})  # noqa: SLF001  its own
        case._media |= self._media  # noqa: SLF001
        case._tool_titles = False  # noqa: SLF001
        return case

    def value(self, field: str) -> Any:  # noqa: ANN401  any field's value
        """A field's value; None if it was not given.

        Raises:
            CaseError: the field could not be read, or two keys gave it different values.
        """
        if field in self._faults:
            raise copy(self._faults[field])  # each judge notes its own verdict on it
        return getattr(self, field)

    def field_names(self) -> tuple[str, ...]:
        """The names of the fields that were given, followed by the keys of the metadata that have a value."""
        fields = [name for name in ALIASES if name in self._faults or getattr(self, name) is not None]
        keys = (key for key, value in self.metadata.items() if value is not None)
        return tuple(dict.fromkeys((*fields, *keys)))

    def hint(self, field: str) -> str:
        """For the message about a missing field: the key that is nearly one of its names; "" if none is."""
        key = misspelt(field, self.metadata)
        return f" (is {key!r} meant to be the {field}?)" if key else ""

    def is_shown_whole(self, fields: Iterable[str]) -> bool:
        """Whether fields, or keys of the metadata, have no content that cannot be shown as text."""
        shown = {*fields}
        of_metadata = (readable("documents", self.metadata[name]) for name in shown & self.metadata.keys())
        return self._media.isdisjoint(shown) and not any(map(holds_media, of_metadata))

    def metadata_value(self, key: str, type: str) -> Any:  # noqa: A002, ANN401  as an input calls it; any input's value
        """A value of the metadata, read as an input of that type; None if it was not given.

        Args:
            key: the key in the metadata, in upper or lower case.
            type: "text", "messages", "documents" or "list".

        Raises:
            CaseError: `field_unreadable`: the value is not in any known shape of that type.
        """
        folded = {name.casefold(): value for name, value in self.value("metadata").items()}
        kind = "retrieved" if type == "documents" and not self._tool_titles else type
        return read_field(key, self.metadata.get(key, folded.get(key.casefold())), kind)

    @property
    def query_text(self) -> str:
        """The query as plain text; of messages the last user message."""
        return text_of(self.query, "user")

    @property
    def response_text(self) -> str:
        """The response as plain text; of messages the last assistant message."""
        return text_of(self.response, "assistant")


CaseLike: TypeAlias = Case | Mapping[str, Any]
"""A case, or a mapping with its fields."""
