"""The usual shapes of texts, chat messages, documents and tools' calls and results, read into one form.

A value is cut into parts and what each holds into pieces (see `content`). From these a `Message` or a
`Document` is made, whatever shape it had, and from messages and documents the value of a field. Everything
else works on these.

Nothing is dropped silently: what a shape holds beside its text is kept as a tool call, as another message or
as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, NoReturn, cast
from unicodedata import category

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, field_serializer

from groundjudge.case.content import (
    OUTPUT_NAMES,
    Piece,
    join_pieces,
    read_block,
    read_call,
    read_content,
    sort_of_block,
)
from groundjudge.case.data import as_data, as_json, first_value, is_list, is_mapping
from groundjudge.errors import CaseError
from groundjudge.text.patterns import compile_when_used
from groundjudge.verdict import Frozen, String, well_formed

CONTENT_NAMES = ("content", "page_content", "text", "snippet", "context")
"""The keys or attributes under which a document may hold its text."""

MESSAGES = "a string or chat messages with role and content"
"""What an error says that a field with messages must be."""

DOCUMENTS = f"documents: strings, or with text as {', '.join(CONTENT_NAMES)}"
"""What an error says that a field with documents must be."""

TOOL_TITLE = "Tool Result:"
"""A mapping whose title begins exactly like this is a tool result, unless it has a kind or a role."""

SYNONYMS = {"human": "user", "function": "tool", "ipython": "tool", "ai": "assistant", "model": "assistant"}
ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool")} | SYNONYMS
"""Names of roles, also of other vendors and of older ones -> the role. Other names are kept unchanged."""

ID_NAMES = ("id", "url", "source")
"""What a citation may call a document by, the most specific first."""

ABOUT_A_RESULT = frozenset(["role", "type", "kind", "title", "name", "id", "metadata", "tool_calls"])
"""The keys of a tool result that say what it is, not what the tool returned."""

BESIDE_MESSAGES = ("call", "result")
"""The blocks that OpenAI's Responses have beside messages, like reasoning, instead of in their content."""

QUOTED = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
STRINGS = rf"(?:{QUOTED}(?:(?:\s*,\s*|\s+){QUOTED})*+\s*,?\s*)?"
LIST_REPR = compile_when_used(rf"\[\s*(?:{STRINGS}|\{{'.*\}}|Document\(.*\))\]", re.DOTALL)
"""How Python writes a list of strings, of mappings and of LangChain's documents, and NumPy an array."""


# --- the one form -----------------------------------------------------------------------------------------


def _read_arguments(value: object) -> Any:  # noqa: ANN401  whatever JSON can hold
    """The arguments of a tool call as JSON data; OpenAI sends them as a string that holds a JSON object."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            parsed = json.loads(value)
            if is_mapping(parsed):
                value = parsed
    return as_data(value)


class ToolCall(Frozen):
    """A tool call in an assistant message.

    Attributes:
        name: the tool's name.
        arguments: JSON data; a string that holds a JSON object is parsed.
    """

    name: String
    arguments: Annotated[Any, BeforeValidator(_read_arguments)] = None


class Message(Frozen):
    """A chat message. A tool's result is a message with role "tool".

    Attributes:
        role: "system", "developer", "user", "assistant" or "tool"; "human", "ai" and "function" are
            translated, other roles are kept.
        content: the text, "" if there is none.
        name: the author's or the tool's name, if given.
        tool_calls: the calls that an assistant message makes.
        holds_media: whether there was more than the text can show, such as an image; not part of a dump.
    """

    role: Annotated[String, AfterValidator(lambda role: ROLES.get(role, role))]
    content: String = ""
    name: String | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    holds_media: bool = Field(default=False, exclude=True, repr=False)


class Document(Frozen):
    """A source that a response must be grounded in.

    Attributes:
        content: the text.
        title: shown to the model next to the text; "" for none.
        id: what a citation may call it by; "" for none. It is not shown.
        kind: "tool" for a tool result, whatever title and content say; "knowledge" for anything else. In a
            dump it is null where only the title of a mapping said "tool", so that it can be read again.
        holds_media: whether there was more than the text can show, such as an image; not part of a dump.
        untitled: where only the title of a mapping said "tool", the content if titles say nothing; not part
            of a dump.
    """

    content: String
    title: String = ""
    id: String = ""
    kind: Literal["knowledge", "tool"] = "knowledge"
    holds_media: bool = Field(default=False, exclude=True, repr=False)
    untitled: String | None = Field(default=None, exclude=True, repr=False)

    @field_serializer("kind")
    def _kind_in_dump(self, kind: str) -> str | None:
        if self.untitled is not None:
            return None
        return kind


def is_blank(value: object) -> bool:
    """Whether a field's value is None or holds nothing but white space and invisible characters."""
    if is_list(value):
        for part in value:
            if not is_blank(part):
                return False
        return True
    text = value
    if isinstance(value, Message | Document):
        text = value.content
    if text is None:
        return True
    if not isinstance(text, str):
        return False
    # White space is cut off first: a long blank text is decided at once, and hardly a text is searched far.
    for sign in text.strip():
        # A zero-width space, for example, is not white space but has the category Cf.
        if not sign.isspace() and category(sign) not in {"Cc", "Cf"}:
            return False
    return True


def text_of(value: str | Sequence[Message] | None, role: str) -> str:
    """Return a field's text; of messages the last one with that role or, if none has it, all of them.

    Of an assistant's messages only those after the last question count: an earlier one answers something
    else.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    start = 0
    if role == "assistant":
        for number, message in enumerate(value, 1):
            if message.role == "user":
                start = number
    messages = value[start:]
    for message in reversed(messages):
        if message.role == role:
            return message.content
    return "\n\n".join(message.content for message in messages if not is_blank(message))


def holds_media(value: object) -> bool:
    """Whether there are messages or documents in a value that was read that hold more than their text."""
    if not is_list(value):
        return False
    return any(_is_marked_as_media(part) for part in value)


def _is_marked_as_media(part: object) -> bool:
    """Whether a message or a document, or an object like one, says that it holds more than its text."""
    return getattr(part, "holds_media", False) is True


def shape_of(value: object) -> str:
    """A value as error messages describe it: the keys of a mapping, the type of anything else."""
    if is_mapping(value):
        keys = ", ".join(map(str, value))
        return f"a mapping with the keys {keys or '(none)'}"
    return f"{type(value).__name__} ({str(value)[:60]!r})"


def _refuse(field: str, expected: str, value: object) -> NoReturn:
    """Raise the error of a value that is in no known shape: "query must be a string, not ..."."""
    code = "field_unreadable"
    if field == "context":
        code = "context_unreadable"
    raise CaseError(code, f"{field} must be {expected}, not {shape_of(value)}", field)


# --- messages ---------------------------------------------------------------------------------------------


def _split_parts(value: object) -> Iterator[Any]:
    """The parts of a value: a string, a mapping or an object with content is the only part itself."""
    # Objects of pydantic are iterable, but what they give are their fields.
    is_single = isinstance(value, str | bytes | Mapping | BaseModel) or not isinstance(value, Iterable)
    if is_single:
        yield _unwrap(value)
        return
    # Gone through first: an object may change, or end with an error, while its parts are read.
    parts: list[Any] = list(cast("Iterable[Any]", value))
    for part in parts:
        yield _unwrap(part)


def _unwrap(part: Any) -> Any:  # noqa: ANN401  any shape of a message or a document
    """A mapping like those of others in place of what LangChain dumps, or of a pair of role and content.

    ("user", "Hi") becomes {"role": "user", "content": "Hi"}; any other part is returned as it is.
    """
    match part:
        case {"lc": _, "id": [*_, class_name], "kwargs": {**fields}}:  # dumpd
            # Before the fields, which may have a type: LangChain.js gives only the name of the class.
            return {"type": class_name, **fields}
        case {"type": _, "data": {**fields}} if len(part) == len(("type", "data")):  # messages_to_dict
            return {**part, **fields}
        case [str(role), content] if role in ROLES and isinstance(content, str | list):
            return {"role": role, "content": cast("object", content)}
        case _:
            return part


def role_of(raw_message: object) -> str | None:
    """A message's role, from `role` (OpenAI) or `type` (LangChain); None if it is not a message."""
    role = first_value(raw_message, "role")
    class_name = str(first_value(raw_message, "type"))
    if isinstance(role, str):
        # Some write roles in capitals.
        return ROLES.get(role.casefold(), role)
    # The class of a message that is streamed ends in "MessageChunk".
    short_name = class_name.removesuffix("Chunk").removesuffix("Message")
    return ROLES.get(short_name.lower())


def _list_calls(raw_message: object) -> list[Any]:
    """The calls that stand beside a message's content; a call with an id is listed once."""
    places = (first_value(raw_message, "additional_kwargs"), raw_message)
    calls: list[Any] = []
    for place in places:
        # LangChain keeps a call whose arguments it could not parse apart from the others.
        for name in ("tool_calls", "invalid_tool_calls"):
            listed_calls = first_value(place, name)
            if listed_calls:
                calls.extend(listed_calls)
    for place in places:
        function_call = first_value(place, "function_call")  # OpenAI's, before it had tools
        if function_call:
            calls.append(function_call)
    return calls


def _list_notes(raw_message: object) -> list[str]:
    """What a message says beside its content: a refusal, or the error of a tool of Inspect's; each once."""
    notes: list[str] = []
    values = (
        first_value(first_value(raw_message, "additional_kwargs"), "refusal"),
        first_value(raw_message, "refusal"),
        first_value(first_value(raw_message, "error"), "message"),
    )
    for value in values:
        if value is not None and str(value) not in notes:
            notes.append(str(value))
    return notes


def _read_pieces(raw_message: object) -> list[Piece] | None:
    """All that a message holds: its content, what it says beside it, and its calls.

    None if it holds nothing and has no key `content` either: then it is no message.

    A call is read once, in whatever places it is: LangChain has Anthropic's in the content and beside it.
    """
    notes = _list_notes(raw_message)
    content = first_value(raw_message, "content")
    pieces: list[Piece] = []
    invocations = first_value(raw_message, "toolInvocations")  # of the AI SDK
    if invocations:
        pieces.extend(read_call(invocation) for invocation in invocations)
    if content is not None:
        pieces.extend(read_content(content))
    if first_value(raw_message, "images"):  # of Ollama
        pieces.append(Piece("media", "[images]"))
    pieces.extend(Piece("beside", note) for note in notes)

    calls: dict[Any, Any] = {}
    for number, call in enumerate(_list_calls(raw_message)):
        call_id = first_value(call, "id")
        # Calls without an id may be equal and are two calls all the same.
        if not call_id:
            call_id = number
        calls[call_id] = call
    ids_in_content = {first_value(piece.body, "id") for piece in pieces if piece.sort == "call"}
    for call_id, call in calls.items():
        if call_id not in ids_in_content:
            pieces.append(Piece("call", body=call))

    if pieces:
        return pieces
    # A message whose content is None or [] is a message that says nothing; what has no such key is none.
    has_content = hasattr(raw_message, "content")
    if is_mapping(raw_message):
        has_content = "content" in raw_message
    return [Piece("text")] if has_content else None


def _split_turns(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces of each message that an entry of a thread is: [text, call, result, text] are three messages.

    A tool's result in its content is a message of its own, as Anthropic sends them, and so is what follows a
    call: no application has answered that call, so the provider made it.
    """
    turns: list[list[Piece]] = []
    previous_sort = "result"
    for piece in pieces:
        is_result = "result" in {previous_sort, piece.sort}
        follows_call = previous_sort == "call" and piece.sort not in {"call", "beside"}
        if is_result or follows_call:
            turns.append([])
        turns[-1].append(piece)
        previous_sort = piece.sort
    return turns


def _read_messages(field: str, raw_message: object) -> list[Message]:
    """The messages that an entry of a thread is: one; with tools' results in its content, several.

    A model's reasoning is none. An entry that is no message is refused, with the name of the field.
    """
    if isinstance(raw_message, Message):
        return [raw_message]
    role = role_of(raw_message)
    if role is None:
        sort = sort_of_block(first_value(raw_message, "type"))
        if sort == "reasoning":
            return []
        if sort in BESIDE_MESSAGES:
            return _read_block_as_messages(field, raw_message)
    pieces = _read_pieces(raw_message)
    if pieces is None:
        _refuse(field, MESSAGES, raw_message)
    messages: list[Message] = []
    for turn in _split_turns(pieces):
        if turn[0].sort == "result":
            messages += _read_result(field, turn[0])
        elif role is None:
            _refuse(field, MESSAGES, raw_message)
        else:
            messages.append(_make_message(role, raw_message, turn))
    return messages


def _read_block_as_messages(field: str, block: object) -> list[Message]:
    """The messages that a block is which stands among messages, as in OpenAI's Responses.

    A call becomes an assistant message with that call, a result a tool message.
    """
    messages: list[Message] = []
    for piece in read_content([block]):
        if piece.sort == "result":
            messages += _read_result(field, piece)
        else:
            # Without the block: its name is that of the tool, not of an author.
            messages.append(_make_message("assistant", None, [piece]))
    return messages


def _read_result(field: str, piece: Piece) -> list[Message]:
    """The tool message that a piece with a tool's result is; several if its output holds results again."""
    output = first_value(piece.body, *OUTPUT_NAMES)
    if output is None:
        output = ""
    name = first_value(piece.body, "name", "toolName")
    return _read_messages(field, {"role": "tool", "name": name, "content": output})


def _make_message(role: str, raw_message: object, pieces: Sequence[Piece]) -> Message:
    """Make a message from its pieces, and its name from the raw message, which is None if it has none."""
    content = None
    if role == "tool":
        content = _tool_result_as_json(raw_message)
    if content is None and role == "assistant":
        # What a model says in adjacent blocks is one text, which is only cut where it cites something.
        content = join_pieces(pieces, "")
    elif content is None:
        content = join_pieces(pieces)
    name = first_value(raw_message, "name", "function")
    return Message(
        role=role,
        content=content,
        name=name if isinstance(name, str) else None,
        tool_calls=tuple(_read_tool_call(piece.body) for piece in pieces if piece.sort == "call"),
        holds_media=any(piece.sort == "media" for piece in pieces),
    )


def _read_tool_call(call: object) -> ToolCall:
    """A tool call of any vendor's: `{"name": "search", "args": {"q": 1}}` and the like.

    Arguments that are JSON text stay text here; `ToolCall` parses them.
    """
    function = first_value(call, "function", "custom")
    definition = function
    if function is None or isinstance(function, str):
        # OpenAI nests name and arguments in `function`; in Inspect that is the name itself.
        definition = call
    name = first_value(definition, "name", "toolName", "function", "type")
    arguments = first_value(definition, "arguments", "args", "input")
    return ToolCall(name=str(name) if name else "", arguments=arguments)


def _tool_result_as_json(raw_result: object) -> str | None:
    """A tool result that is a mapping with more than a content, as JSON: that is what the tool returned."""
    # With a `tool_call_id` it is a message, whose other keys are not a result.
    if not is_mapping(raw_result) or "tool_call_id" in raw_result:
        return None
    result: dict[str, Any] = {}
    for key in raw_result:
        if key not in ABOUT_A_RESULT and raw_result[key] is not None:
            result[key] = raw_result[key]
    if len(result) < 2:  # noqa: PLR2004  more than a content
        return None
    return as_json(result)


# --- documents --------------------------------------------------------------------------------------------


def _read_document(field: str, raw_document: object) -> Document:
    """A document from a string, a mapping or an object, such as LangChain's Document or a message."""
    if isinstance(raw_document, Document):
        return raw_document
    if isinstance(raw_document, str):
        return Document(content=raw_document)
    has_string = False
    contents: list[list[Piece]] = []  # under each of its names
    for name in CONTENT_NAMES:
        value = first_value(raw_document, name)
        if value is not None:
            has_string = has_string or isinstance(value, str)
            contents.append(read_content(value))
    text = _join_contents(contents)

    title = first_value(raw_document, "title")
    # Of a mapping without kind and role the application wrote the title; of an object perhaps a stranger.
    has_kind = first_value(raw_document, "kind", "role") is not None
    is_result_by_title = is_mapping(raw_document) and not has_kind and str(title).startswith(TOOL_TITLE)
    if not title:
        title = first_value(first_value(raw_document, "metadata"), "title")
    author = None
    if role_of(raw_document):
        author = first_value(raw_document, "name")
    is_result = _is_tool_result(raw_document) or is_result_by_title

    content = None
    if is_result:
        content = _tool_result_as_json(raw_document)
    if content is None:
        content = text
    # An empty string is a document without text, but what has a title and no text was read wrongly. A tool
    # may return nothing.
    may_be_blank = has_string and (is_result or not title)
    if not content and not may_be_blank:
        _refuse(field, DOCUMENTS, raw_document)
    document_id = first_value(raw_document, *ID_NAMES)
    if document_id is None:
        document_id = first_value(first_value(raw_document, "metadata"), *ID_NAMES)
    return Document(
        content=content,
        title=str(title or author or ""),
        id="" if document_id is None else str(document_id),
        kind="tool" if is_result else "knowledge",
        holds_media=_is_marked_as_media(raw_document) or _has_media(contents),
        untitled=text if is_result_by_title else None,
    )


def _join_contents(contents: Iterable[Sequence[Piece]]) -> str:
    """The texts that a document has under several names, each once."""
    texts: list[str] = []
    for pieces in contents:
        text = join_pieces(pieces)
        if text.strip() and text not in texts:
            texts.append(text)
    return "\n\n".join(texts)


def _has_media(contents: Iterable[Sequence[Piece]]) -> bool:
    for pieces in contents:
        for piece in pieces:
            if piece.sort == "media":
                return True
    return False


def _is_tool_result(raw_document: object) -> bool:
    """Whether a document's kind or, if it has none, its role says so."""
    kind = first_value(raw_document, "kind")
    if kind is not None:
        return re.fullmatch("tool(?:[ _-]result)?", str(kind).lower()) is not None
    # LangChain has the role in `type`, which in a mapping may mean anything: the id of a call confirms it.
    return role_of(raw_document) == "tool" and first_value(raw_document, "role", "tool_call_id") is not None


def _split_document(field: str, raw_document: object) -> Sequence[object]:
    """The document itself; of a message with tools' results in its content, the messages that it is."""
    if isinstance(raw_document, str):
        return [raw_document]
    content = first_value(raw_document, "content")
    if is_list(content):
        for block in content:
            if read_block(block).sort == "result":
                return _read_messages(field, raw_document)
    return [raw_document]


def _without_title(field: str, document: Document) -> Document:
    """The document if titles say nothing: one that only its title made a tool result is knowledge again.

    It is refused if it has no text without its title.
    """
    if document.untitled is None:
        return document
    if not document.untitled:
        _refuse(field, DOCUMENTS, document.content)
    changes = {"content": document.untitled, "kind": "knowledge", "untitled": None}
    return document.model_copy(update=changes)


# --- values of fields -------------------------------------------------------------------------------------


def _read_string(field: str, value: object) -> str:
    """A string; the profile may be a mapping, which is written as JSON."""
    if field == "profile" and is_mapping(value):
        return as_json(value)
    if not isinstance(value, str):
        _refuse(field, "a string", value)
    return value


def _read_string_or_messages(field: str, value: object) -> str | tuple[Message, ...]:
    """A string as it is, or the messages of a thread or of a single message."""
    if isinstance(value, str):
        return value
    messages: list[Message] = []
    for raw_message in _split_parts(value):
        messages += _read_messages(field, raw_message)
    return tuple(messages)


def _read_documents(field: str, value: object) -> tuple[Document, ...]:
    """The documents of a value: one of a string or a mapping, one or more of each entry of a list."""
    if isinstance(value, str):
        if field == "context" and LIST_REPR.fullmatch(value.strip()):
            remedy = "use ast.literal_eval, or a list of the text"
            _refuse(field, f"a list, not what pandas writes for a list into CSV: {remedy}", value)
        if is_blank(value):
            return ()
    if is_list(value):
        for raw_document in value:
            # A row of a table would look like a pair of role and text.
            if is_list(raw_document):
                _refuse(field, DOCUMENTS, raw_document)
    documents: list[Document] = []
    for raw_document in _split_parts(value):
        for part in _split_document(field, raw_document):
            documents.append(_read_document(field, part))
    return tuple(documents)


def _read_retrieved(field: str, value: object) -> tuple[Document, ...]:
    """Documents whose titles strangers may have written, as in a knowledge base."""
    documents = _read_documents(field, value)
    return tuple(_without_title(field, document) for document in documents)


def _read_reference(field: str, value: object) -> str:
    """A string as it is; of documents all their texts, of chat messages the last assistant message."""
    if isinstance(value, str):
        return value
    thread = read_chat(value)
    if thread is not None:
        return text_of(thread, "assistant")
    documents = _read_documents(field, value)
    return "\n\n".join(document.content for document in documents)


def _read_answers(field: str, value: object) -> tuple[str, ...]:
    """The strings of a value, a string or a list of them, without blank ones."""
    answers: list[str] = []
    for answer_value in _split_parts(value):
        answer = _read_string(field, answer_value)
        if answer.strip():
            answers.append(answer)
    return tuple(answers)


def _read_metadata(field: str, value: object) -> dict[str, Any]:
    """A mapping with texts as keys and JSON data as values."""
    if not is_mapping(value):
        _refuse(field, "a mapping", value)
    return {well_formed(str(key)): as_data(entry) for key, entry in value.items()}


def _read_text(_: str, value: object) -> str:
    """Any value as text, for an input of a prompt's own."""
    if value in ([], {}):
        return ""
    if isinstance(value, str):
        return value
    return as_json(value)


def _read_list(_: str, value: object) -> tuple[Any, ...]:
    """The entries of a list, or a single value as the only one, for an input of a prompt's own."""
    if is_list(value):
        return tuple(value)
    return (value,)


READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "query": _read_string_or_messages,
    "response": _read_string_or_messages,
    "conversation": _read_string_or_messages,
    "messages": _read_string_or_messages,
    "context": _read_documents,
    "documents": _read_documents,
    "retrieved": _read_retrieved,
    "reference": _read_reference,
    "profile": _read_string,
    "agent_name": _read_string,
    "answers": _read_answers,
    "id": lambda _, value: str(value),
    "metadata": _read_metadata,
    "text": _read_text,
    "list": _read_list,
}
"""The function that reads a field, or an input of that type; what was read already is read unchanged."""


def read_field(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as it is declared
    """Read a field's value as a case keeps it; None for None.

    Args:
        field: the field, or the name of a prompt's own input.
        value: the value as it was given.
        kind: the type of a prompt's own input: "text", "messages", "documents" or "list"; "retrieved" for
            documents whose titles say nothing.

    Raises:
        CaseError: `context_unreadable` or `field_unreadable`: the value is not in any known shape.
    """
    result = try_read_field(field, value, kind)
    if isinstance(result, CaseError):
        raise result
    return result


def try_read_field(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as it is declared
    """Like `read_field`, but the error is returned: it is reported only if a judge needs the field."""
    if value is None or isinstance(value, CaseError):
        return value
    try:
        return READERS[kind or field](field, value)
    except CaseError as error:
        return error
    except Exception as error:  # noqa: BLE001  whatever an object's own methods raise
        message = f"{field} cannot be read: {type(error).__name__}: {error}"
        return CaseError("field_unreadable", message, field)


def read_chat(value: object) -> tuple[Message, ...] | None:
    """The messages of a value that is a message, or a list of nothing but messages; else None."""
    thread: object = try_read_field("conversation", value)
    if not is_list(thread) or not thread:
        return None
    return tuple(thread)
