"""A case is what a judge rates: a response and what it must be grounded in, read from any common shape."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypeAlias, TypedDict, Unpack

from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from groundjudge.case.data import as_plain, find_key
from groundjudge.case.fields import (
    ALIASES,
    ALSO_GIVEN,
    GENERIC,
    Fields,
    field_of,
    misspelt_key,
    spread_output,
)
from groundjudge.case.shapes import (
    Document,
    Message,
    ToolCall,
    ends_with_answer,
    notes_on,
    read_field,
    shape_of,
    sources_of,
    text_of,
    try_read_field,
)
from groundjudge.errors import CaseError
from groundjudge.verdict import Frozen, String

__all__ = ["Case", "CaseLike", "Context", "Document", "Message", "Text", "ToolCall"]

Text: TypeAlias = str | Sequence[Message | Mapping[str, Any] | Any]
"""A string, or chat messages in the shapes of OpenAI and LangChain."""

Context: TypeAlias = str | Document | Mapping[str, Any] | Sequence[str | Document | Mapping[str, Any] | Any]
"""A string, a document, or a list of either; documents may be LangChain's or DeepEval's objects too."""


class CaseFields(TypedDict, total=False):
    """The fields of a `Case`, as its constructor takes them."""

    query: Text | None
    response: Text | None
    context: Context | None
    reference: Context | None
    conversation: Text | None
    profile: str | Mapping[str, Any] | None
    agent_name: str | None
    answers: str | Sequence[str] | None
    id: str | int | None
    metadata: Mapping[str, Any] | None


class Case(Frozen):
    """What a judge rates. A field that is None was not given, which differs from an empty one.

    Every field can be given in any of the common shapes; it is stored as declared below.

    Attributes:
        query: what the user asked: a string or chat messages.
        response: the response to rate: a string or chat messages.
        context: the documents that the response must be grounded in; a blank string gives ().
        reference: the correct answer; documents or messages are reduced to their text.
        conversation: the dialogue before the response: a string or chat messages.
        profile: the description of the responding agent; a mapping is stored as JSON text.
        agent_name: the name of that agent.
        answers: known answers of that agent, without blank ones.
        id: identifies the case in verdicts; a number is stored as a string.
        metadata: anything else, as JSON data; values that JSON cannot represent are stored as strings.
        unreadable: the errors of the fields that could not be read, by field; those are None.
        empty_paths: for fields that are None although a path should lead to them, what is wrong with the
            path.
        notes: the warnings on fields, by field, such as `also_given`.
        tool_titles: whether a title can make a mapping a tool result (see `without_tool_titles`).

    Raises:
        CaseError: `field_unreadable` or, for the context, `context_unreadable`: a value has no known shape;
            the message names its keys or its type.
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

    # How the values above were read, as far as they do not show it. None of it is part of a dump or a hash.
    unreadable: SkipJsonSchema[Mapping[str, InstanceOf[CaseError]]] = Field(
        default_factory=dict, exclude=True, repr=False
    )
    empty_paths: SkipJsonSchema[Mapping[str, str]] = Field(default_factory=dict, exclude=True, repr=False)
    notes: SkipJsonSchema[Mapping[str, tuple[str, ...]]] = Field(
        default_factory=dict, exclude=True, repr=False
    )
    tool_titles: SkipJsonSchema[bool] = Field(default=True, exclude=True, repr=False)

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
        values = _read_values(
            {
                "query": query,
                "response": response,
                "context": context,
                "reference": reference,
                "conversation": conversation,
                "profile": profile,
                "agent_name": agent_name,
                "answers": answers,
                "id": id,
                "metadata": metadata,
            }
        )
        for error in values["unreadable"].values():
            raise error
        super().__init__(**values)

    @classmethod
    def of(cls, case: Case | Mapping[str, Any]) -> Case:
        """Return the case itself, or the one that a mapping describes (see `from_mapping`)."""
        if isinstance(case, Case):
            return case
        return cls.from_mapping(case)

    @classmethod
    def from_mapping(cls, row: Mapping[str, Any]) -> Case:
        """Build a case from a mapping: a line of a file, a framework's row, or the state of an agent.

        A field may have any of its names in `ALIASES`, in upper or lower case; all other keys go to
        `metadata`. See `Fields.in_row` for `messages`, and for rows with `inputs` and `outputs`.

        An unreadable field (`context_unreadable`, `field_unreadable`) is an error only if a judge looks at
        it. If two keys give it different values, the first in `ALIASES` counts (`also_given`).

        Raises:
            CaseError: `unreadable_row` if the row is not a mapping.
        """
        values = _read_values(Fields().in_row(row))
        # Not by the constructor, which raises an unreadable field's error even if no judge needs it.
        case = cls.__new__(cls)
        super(Case, case).__init__(**values)
        return case

    @classmethod
    def from_exchange(
        cls, inputs: object, outputs: object, reference_outputs: object = None, **fields: object
    ) -> Case:
        """Build a case from the inputs and outputs of an application's run, and the expected outputs.

        Further fields may have any of their names. See `Fields.in_row`; fields that cannot be read are
        treated as by `from_mapping`.
        """
        row = {**fields, "inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return cls.from_mapping(row)

    def replace(self, **changes: Unpack[CaseFields]) -> Case:
        """Make a case with other values in some of its fields; they are read as the constructor reads them.

        What was noted when the case was read (`unreadable`, `notes` and so on) also applies to the new case,
        except for the replaced fields: for them, the new values count.

        Raises:
            CaseError: `field_unreadable` or `context_unreadable`: a value has no known shape.
            TypeError: no field has that name.
        """
        changed = Case(**changes)
        # If titles do not make documents tool results, those of a new context do not either.
        if not self.tool_titles:
            changed = changed.without_tool_titles()
        values: dict[str, Any] = {name: getattr(changed, name) for name in changes}
        # What was noted about the new values, and about the fields that stay.
        for noted in ("unreadable", "notes"):
            values[noted] = dict(getattr(changed, noted))
            for name, note in getattr(self, noted).items():
                if name not in changes:
                    values[noted][name] = note
        return super().model_copy(update=values)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Case:
        """Do the same as `replace`, under pydantic's name for it; a deep copy shares no value."""
        case = self
        if deep or not update:
            case = super().model_copy(deep=deep)
        if not update:
            return case
        changes: Any = update
        return case.replace(**changes)

    def __iter__(self) -> Generator[tuple[str, Any], None, None]:
        """Yield the names and values of the fields that a dump has, so that `dict(case)` is like one."""
        for name, value in super().__iter__():
            if not type(self).model_fields[name].exclude:
                yield name, value

    def without_tool_titles(self) -> Case:
        """Make a case in which titles never make a document a tool result; only a kind or a role does.

        Use it if someone other than the application writes the titles, as in a knowledge base. The title of
        a `Document`, or of a retriever's document, never counts. With the option `tool_titles=False`, a
        judge does this itself.
        """
        if not self.tool_titles:
            return self
        values: dict[str, Any] = {"tool_titles": False}
        if self.context is not None:
            values["context"] = try_read_field("context", self.context, "retrieved")
        if isinstance(values.get("context"), CaseError):
            # Without its title a document has no text. A judge that looks at the context reports it.
            values["unreadable"] = {**self.unreadable, "context": values["context"]}
            values["context"] = None
        return super().model_copy(update=values)

    def value(self, field: str) -> Any:  # noqa: ANN401  any field's value
        """Return a field's value; None if it was not given.

        Raises:
            CaseError: the field could not be read.
        """
        if field in self.unreadable:
            # A copy, because each judge notes its own verdict on it.
            raise copy(self.unreadable[field])
        return getattr(self, field)

    def field_names(self) -> tuple[str, ...]:
        """Return the names of the fields that were given, then the keys of the metadata that have a value."""
        names: list[str] = []
        # An unreadable field was given, too.
        for name in ALIASES:
            if name in self.unreadable or getattr(self, name) is not None:
                names.append(name)
        for key, value in self.metadata.items():
            if value is not None and key not in names:
                names.append(key)
        return tuple(names)

    def has_other_keys(self) -> bool:
        """Return whether there are values under names that are not fields: one may be a renamed field."""
        return any(value is not None for value in self.metadata.values())

    def hint(self, field: str) -> str:
        """Describe, for the message about a missing field, the path that gave nothing or what may be it."""
        if field in self.empty_paths:
            return f" ({self.empty_paths[field]})"
        for key, value in self.metadata.items():
            if key.casefold() in GENERIC and field_of(key) == field and value is not None:
                return f" ({key!r} is not taken for it: it contains {shape_of(value)})"
        near_key = misspelt_key(field, self.metadata)
        if near_key is not None:
            return f" (is {near_key!r} meant to be the {field}?)"
        for name in ("query", "conversation"):
            if field == "response" and ends_with_answer(getattr(self, name)):
                remedy = "if that is the response, name it messages, or give its path with `fields`"
                return f" (the {name} ends with an answer: {remedy})"
        return ""

    def warnings(self, fields: Iterable[str]) -> tuple[str, ...]:
        """Return the warnings on fields, or keys of the metadata, each once."""
        warnings: dict[str, None] = {}
        for field in fields:
            # A prompt's custom input is in the metadata, where nothing has been read yet.
            documents = try_read_field("documents", self.metadata.get(field))
            warnings.update(dict.fromkeys((*self.notes.get(field, ()), *notes_on(documents))))
        return tuple(warnings)

    def metadata_value(self, key: str, type: str) -> Any:  # noqa: A002, ANN401  as an input calls it; any input's value
        """Return a value of the metadata, read as an input of that type; None if it was not given.

        Args:
            key: the key in the metadata, in upper or lower case.
            type: "text", "messages", "documents" or "list".

        Raises:
            CaseError: `field_unreadable`: the value has no known shape of that type.
        """
        metadata = self.value("metadata")
        found_key = find_key(metadata, key)
        value = None if found_key is None else metadata[found_key]
        reading_type = type
        if type == "documents" and not self.tool_titles:
            # `without_tool_titles` made this case: these titles make no document a tool result either.
            reading_type = "retrieved"
        return read_field(key, value, reading_type)

    @property
    def query_text(self) -> str:
        """The query as plain text; for messages, the last user message."""
        return text_of(self.query, "user")

    @property
    def response_text(self) -> str:
        """The response as plain text; for messages, the last assistant message."""
        return text_of(self.response, "assistant")


def _read_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Read the values of fields, by name and in any shape, as `Case` declares them.

    An unreadable field becomes an entry of `unreadable`; one whose path leads nowhere becomes an entry of
    `empty_paths`: `{"query": "Hi", "context": 5}` gives the query and `unreadable["context"]`.
    """
    values = dict(spread_output(dict(values)))
    also_given = values.pop(ALSO_GIVEN, {})
    fields: dict[str, Any] = {}
    unreadable: dict[str, CaseError] = {}
    empty_paths: dict[str, str] = {}
    notes: dict[str, tuple[str, ...]] = {}
    for name, raw_value in values.items():
        if raw_value is None:
            continue
        plain_value = as_plain(raw_value)
        value = try_read_field(name, plain_value)
        if isinstance(value, CaseError) and value.code == "missing_field":
            empty_paths[name] = value.message
        elif isinstance(value, CaseError):
            unreadable[name] = value
        else:
            fields[name] = value
        notes_on_field = notes_on(value)
        if name == "reference" and not isinstance(plain_value, str):
            # Only its text is stored: what the text does not show can only be noted here.
            notes_on_field = notes_on(try_read_field("documents", plain_value))
        if name in also_given:
            notes_on_field = (*notes_on_field, ALSO_GIVEN)
        if notes_on_field:
            notes[name] = notes_on_field
    sources = sources_of(fields.get("response"))
    if sources and fields.get("context"):
        if fields["context"] != tuple(sources):
            notes["context"] = (*notes.get("context", ()), ALSO_GIVEN)
    elif sources and "context" not in unreadable:
        fields["context"] = tuple(sources)
    fields["unreadable"] = unreadable
    fields["empty_paths"] = empty_paths
    fields["notes"] = notes
    return fields


CaseLike: TypeAlias = Case | Mapping[str, Any]
"""A case, or a mapping with its fields."""
