"""The common shapes of texts, chat messages, documents, and tool calls and results, read into one form.

A value is cut into parts, and the contents of each part into pieces (see `content`). They become a `Message`
or a `Document`, regardless of their shape, and messages and documents become the value of a field. Everything
else works on these.

Nothing is dropped silently: what a shape contains besides its text is kept as a tool call, as another
message, as a source or as JSON. If something with text is still left over, an error names its keys if nothing
else was read; if a text was read, that can be judged, and the rest is noted as `content_not_read`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, NoReturn, TypeVar, cast
from unicodedata import category

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, field_serializer

from groundjudge.case.cells import code_of, read_documents, read_list
from groundjudge.case.content import (
    OUTPUT_NAMES,
    Entry,
    Piece,
    is_passage,
    join_pieces,
    read_block,
    read_call,
    read_content,
    sort_of_block,
)
from groundjudge.case.data import as_data, as_json, first_value, is_list, is_mapping, is_number
from groundjudge.errors import CaseError
from groundjudge.verdict import Frozen, String, well_formed

CONTENT_NAMES = ("content", "page_content", "text", "snippet", "context")
"""The keys or attributes that may contain a document's text."""

MESSAGES = "a string or chat messages with role and content"
"""What an error says that a field with messages must be."""

DOCUMENTS = f"documents: strings, or with text as {', '.join(CONTENT_NAMES)}"
"""What an error says that a field with documents must be."""

SOURCES = ("retrieval_context", "contexts", "context", "documents", "sources", "citations")
"""The keys under which a message has its own sources, and those around a list of documents."""

WRAPPERS = (*SOURCES, "results", "output", "document")
"""The keys of containers of documents without their own text, as in search engines, retrievers and traces."""

LIKE_A_TEXT = frozenset({"response", "reference", "answers"})
"""The fields in which a number is an answer."""

TOOL_TITLE = "Tool Result:"
"""A mapping whose title starts exactly like this is a tool result, unless it has a kind or a role."""

SYNONYMS = {"human": "user", "function": "tool", "ipython": "tool", "ai": "assistant", "model": "assistant"}
ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool")} | SYNONYMS
"""Names of roles, including those of other vendors and older ones -> the role. Other names are unchanged."""

ID_NAMES = ("id", "url", "source")
"""What a citation may call a document, the most specific first."""

ABOUT_A_RESULT = frozenset(["role", "type", "kind", "title", "name", "id", "metadata", "tool_calls"])
"""The keys of a tool result that say what it is, not what the tool returned."""

BESIDE_MESSAGES = ("call", "result")
"""The blocks that OpenAI's Responses API puts next to messages, like reasoning, not in their content."""


# --- the one form -----------------------------------------------------------------------------------------


def _read_arguments(value: object) -> Any:  # noqa: ANN401  any JSON data
    """Return a tool call's arguments as JSON data; OpenAI sends them as a JSON object in a string."""
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
        arguments: JSON data; a JSON object in a string is parsed.
    """

    name: String
    arguments: Annotated[Any, BeforeValidator(_read_arguments)] = None


class Document(Frozen):
    """A source that a response must be grounded in.

    Attributes:
        content: the text.
        title: shown to the model next to the text; "" for none.
        id: what a citation may call it; "" for none. It is not shown.
        kind: "tool" for a tool result, regardless of title and content; "knowledge" for anything else. In a
            dump it is null if only the title of a mapping said "tool", so that it can be read again.
        notes: the warnings on what the text does not show, such as an image; not part of a dump.
        untitled: if only the title of a mapping said "tool", the content to use if titles do not count; not
            part of a dump.
    """

    content: String
    title: String = ""
    id: String = ""
    kind: Literal["knowledge", "tool"] = "knowledge"
    notes: tuple[str, ...] = Field(default=(), exclude=True, repr=False)
    untitled: String | None = Field(default=None, exclude=True, repr=False)

    @field_serializer("kind")
    def _kind_in_dump(self, kind: str) -> str | None:
        if self.untitled is not None:
            return None
        return kind


class Message(Frozen):
    """A chat message. A tool's result is a message with role "tool".

    Attributes:
        role: "system", "developer", "user", "assistant" or "tool"; "human", "ai" and "function" are
            translated, other roles are unchanged.
        content: the text, "" if there is none.
        name: the author's or the tool's name, if given.
        tool_calls: the calls that an assistant message makes.
        sources: the documents that the message has itself; not part of a dump.
        notes: the warnings on what the text does not show, such as an image; not part of a dump.
    """

    role: Annotated[String, AfterValidator(lambda role: ROLES.get(role, role))]
    content: String = ""
    name: String | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    sources: tuple[Document, ...] = Field(default=(), exclude=True, repr=False)
    notes: tuple[str, ...] = Field(default=(), exclude=True, repr=False)


PartT = TypeVar("PartT", Message, Document)


def is_blank(value: object) -> bool:
    """Return whether a field's value is None or contains only white space and invisible characters."""
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
    """Return a field's text; for messages, the last one with that role or, if none has it, all of them.

    Of an assistant's messages, only those after the last question count: an earlier one answers something
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


def notes_on(value: object) -> tuple[str, ...]:
    """Return the warnings on the messages or documents of a value that was read, each once."""
    notes: dict[str, None] = {}
    if is_list(value):
        for part in value:
            notes.update(dict.fromkeys(_notes_of(part)))
    return tuple(notes)


def sources_of(messages: object) -> list[Document]:
    """Return the documents attached to the messages of the last turn, from its question on."""
    sources: list[Document] = []
    if not is_list(messages):
        return sources
    for message in messages:
        if message.role == "user":
            sources = []
        sources += message.sources
    return sources


def ends_with_answer(value: object) -> bool:
    """Return whether a value that was read is a conversation that ends with a message of the assistant."""
    return is_list(value) and bool(value) and value[-1].role == "assistant"


def _notes_of(part: object) -> tuple[str, ...]:
    """Return the warnings on a message or a document; none on an object that is neither."""
    if isinstance(part, Message | Document):
        return part.notes
    return ()


def _notes_on_pieces(pieces: Iterable[Piece]) -> tuple[str, ...]:
    """Return the warnings on what was read in pieces, each once."""
    notes: dict[str, None] = {}
    for piece in pieces:
        if piece.sort == "media":
            notes["content_not_shown"] = None
        if not piece.is_whole:
            notes["content_not_read"] = None
    return tuple(notes)


def _note_what_is_left(part: PartT, entry: Entry) -> PartT:
    """Return the message or document, with a note if part of its source was left over."""
    if not entry.keys_left() or "content_not_read" in part.notes:
        return part
    return part.model_copy(update={"notes": (*part.notes, "content_not_read")})


def shape_of(value: object) -> str:
    """Return a value as error messages describe it: the keys of a mapping, the type of anything else."""
    if is_mapping(value):
        keys = ", ".join(map(str, value))
        return f"a mapping with the keys {keys or '(none)'}"
    return f"{type(value).__name__} ({str(value)[:60]!r})"


def _refuse(field: str, expected: str, value: object) -> NoReturn:
    """Raise the error of a value without a known shape: "query must be a string, not ..."."""
    raise CaseError(code_of(field), f"{field} must be {expected}, not {shape_of(value)}", field)


def _check_that_nothing_is_left(field: str, entry: Entry) -> None:
    """Refuse an entry of which nothing was read, if it has text under a key that is not read."""
    keys = ", ".join(entry.keys_left(with_names=True))
    if keys:
        message = f"{field} has {shape_of(entry.value)}; {keys} is not read: rename it to content"
        raise CaseError(code_of(field), message, field)


# --- messages ---------------------------------------------------------------------------------------------


def _split_parts(value: object) -> Iterator[Any]:
    """Yield the parts of a value; a string, a mapping or an object with content is its own only part."""
    # pydantic objects are iterable, but they yield their fields.
    is_single = isinstance(value, str | bytes | Mapping | BaseModel) or not isinstance(value, Iterable)
    if is_single:
        yield _unwrap(value)
        return
    # Consumed first: an object may change, or raise an error, while its parts are read.
    parts: list[Any] = list(cast("Iterable[Any]", value))
    for part in parts:
        yield _unwrap(part)


def _unwrap(part: Any) -> Any:  # noqa: ANN401  any shape of a message or a document
    """Return a mapping in the usual form, without a wrapper around a message, a document or a call.

    ("user", "Hi") becomes {"role": "user", "content": "Hi"}; what LangChain dumps, a search scores or a trace
    flattens (`{"document.content": ...}`) becomes the mapping inside; any other part is unchanged.
    """
    match part:
        case {"lc": _, "id": [*_, class_name], "kwargs": {**fields}}:  # dumpd
            # Before the fields, which may have a type: LangChain.js gives only the name of the class.
            return {"type": class_name, **fields}
        case {"type": _, "data": {**fields}} if len(part) == len(("type", "data")):  # messages_to_dict
            return {"type": part["type"], **fields}
        case [str(role), content] if role in ROLES and isinstance(content, str | list):
            return {"role": role, "content": cast("object", content)}
        case [found, _] if _is_scored(part):
            return _unwrap(cast("object", found))
        case {**fields} if fields and all("." in str(key) for key in fields):
            return _unwrap(_nest(cast("Mapping[str, Any]", fields)))
        case {"message": inner} | {"document": inner} | {"node": inner} | {"tool_call": inner}:
            entry = Entry(part)
            entry.take("message", "document", "node", "tool_call")
            is_around = not isinstance(inner, str) and not entry.keys_left(with_names=True)
            return _unwrap(cast("object", inner)) if is_around else part
        case _:
            return part


def _is_scored(found: Sequence[Any]) -> bool:
    """Return whether the value is a pair of a search result and its score."""
    return len(found) == len(("found", "score")) and is_number(found[1]) and not is_number(found[0])


def _nest(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with dots in its keys as mappings in a mapping: {"a.b": 1} becomes {"a": {"b": 1}}."""
    nested: dict[str, Any] = {}
    for key, value in fields.items():
        *outer_names, name = str(key).split(".")
        inner = nested
        for outer_name in outer_names:
            found: object = inner.setdefault(outer_name, {})
            if not isinstance(found, dict):
                message = f"{key!r} is inside of {outer_name!r}, which has a value of its own"
                raise TypeError(message)
            inner = cast("dict[str, Any]", found)
        inner[name] = value
    return nested


def role_of(raw_message: object) -> str | None:
    """Return a message's role, from `role` (OpenAI) or `type` (LangChain); None if it is not a message."""
    role = first_value(raw_message, "role")
    class_name = str(first_value(raw_message, "type"))
    if isinstance(role, str):
        # Some write roles in upper case.
        return ROLES.get(role.casefold(), role)
    # The class of a message that is streamed ends in "MessageChunk".
    short_name = class_name.removesuffix("Chunk").removesuffix("Message")
    return ROLES.get(short_name.lower())


def _list_calls(entry: Entry) -> list[Any]:
    """Return the calls that accompany a message's content; a call with an id is listed once."""
    calls: list[Any] = []
    # LangChain keeps calls whose arguments it could not parse separately.
    for name in ("tool_calls", "invalid_tool_calls"):
        for listed_calls in entry.take_all(name):
            calls.extend(_unwrap(call) for call in listed_calls)
    calls.extend(entry.take_all("function_call"))  # OpenAI's format before it had tools
    call_by_id: dict[Any, Any] = {}
    for number, call in enumerate(calls):
        call_id = first_value(call, "id")
        # Calls without an id may be equal and are two calls all the same.
        call_by_id[call_id or ("number", number)] = call
    return list(call_by_id.values())


def _list_notes(entry: Entry) -> list[str]:
    """Return what a message says besides its content: a refusal, or a tool's error; each once."""
    notes = [str(refusal) for refusal in entry.take_all("refusal")]
    error = entry.take("error")
    if error is not None and not isinstance(error, str):
        error = first_value(error, "message")  # of Inspect
    if error is not None:
        notes.append(str(error))
    return list(dict.fromkeys(notes))


def _read_pieces(entry: Entry) -> list[Piece] | None:
    """Return everything in a message: its content, what it says besides that, and its calls.

    None if it contains nothing and has no key `content` either: then it is not a message.

    A call is read once, even if it is in several places: LangChain has Anthropic's in the content and next
    to it.
    """
    notes = _list_notes(entry)
    content = entry.take("content", "parts")  # the latter of Gemini
    pieces: list[Piece] = []
    invocations = entry.take("toolInvocations", "tools_called")  # of the AI SDK, of DeepEval
    if invocations:
        pieces.extend(read_call(invocation) for invocation in invocations)
    if content is not None:
        pieces.extend(read_content(content))
    pieces.extend(entry.take_media())
    pieces.extend(Piece("beside", note) for note in notes)

    ids_in_content = {first_value(piece.body, "id") for piece in pieces if piece.sort == "call"}
    for call in _list_calls(entry):
        call_id = first_value(call, "id")
        if not call_id or call_id not in ids_in_content:
            pieces.append(Piece("call", body=call))

    if pieces:
        return pieces
    # A message whose content is None or [] says nothing; without such a key, it is not a message.
    has_content = hasattr(entry.value, "content")
    if is_mapping(entry.value):
        has_content = "content" in entry.value
    return [Piece("text")] if has_content else None


def read_sources(value: object) -> tuple[Document, ...]:
    """Return the documents attached to a message or an answer, as its own context.

    Names and links do not count, nor do annotations, whose texts are those of the message.
    """
    documents = try_read_field("context", value)
    if not documents or isinstance(documents, CaseError):
        return ()
    for part in _split_parts(value):
        if is_number(first_value(part, "start", "start_index")):
            return ()
    if not any(is_passage(document.content) for document in documents):
        return ()
    return tuple(documents)


def _split_turns(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Yield the pieces of each message in an entry of a thread: [text, call, result, text] is three messages.

    A tool result in its content, as Anthropic sends them, is a separate message, and so is what follows a
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
    """Return the messages in an entry of a thread: one, or several if its content has tool results.

    A model's reasoning is not a message. An entry that is not a message is refused, with the field's name.
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
    entry = Entry(raw_message)
    pieces = _read_pieces(entry)
    if pieces is None:
        _refuse(field, MESSAGES, raw_message)
    messages: list[Message] = []
    for turn in _split_turns(pieces):
        if turn[0].sort == "result":
            messages += _read_result(field, turn[0])
        elif role is None:
            _refuse(field, MESSAGES, raw_message)
        else:
            messages.append(_make_message(role, entry, turn))
    if role != "tool":
        sources = read_sources(entry.take(*SOURCES))
        messages[-1] = messages[-1].model_copy(update={"sources": sources})
    elif _tool_result_as_json(raw_message) is not None:
        return messages  # its other keys are what the tool returned
    says_nothing = not join_pieces(pieces).strip() and {piece.sort for piece in pieces} <= {"text"}
    if says_nothing:
        _check_that_nothing_is_left(field, entry)
    messages[-1] = _note_what_is_left(messages[-1], entry)
    return messages


def _read_block_as_messages(field: str, block: object) -> list[Message]:
    """Return the messages in a block that is among messages, as in OpenAI's Responses API.

    A call becomes an assistant message with that call, a result a tool message.
    """
    messages: list[Message] = []
    for piece in read_content([block]):
        if piece.sort == "result":
            messages += _read_result(field, piece)
        else:
            # Without the block, whose name is the tool's, not an author's.
            messages.append(_make_message("assistant", Entry(None), [piece]))
    return messages


def _read_result(field: str, piece: Piece) -> list[Message]:
    """Return the tool message in a piece with a tool result; several if its output contains more results."""
    entry = Entry(piece.body)
    # Some name a block's content like its type.
    output = entry.take(*OUTPUT_NAMES, "text", str(entry.take("type")))
    name = entry.take("name", "toolName")
    entry.take("arguments", "args", "input", "input_parameters")
    if output is None:
        _check_that_nothing_is_left(field, entry)
        output = ""
    messages = _read_messages(field, {"role": "tool", "name": name, "content": output})
    messages[-1] = _note_what_is_left(messages[-1], entry)
    return messages


def _make_message(role: str, entry: Entry, pieces: Sequence[Piece]) -> Message:
    """Make a message from its pieces, and its name from the entry."""
    content = None
    if role == "tool":
        content = _tool_result_as_json(entry.value)
    if content is None and role == "assistant":
        # What a model says in adjacent blocks is one text, which is only cut at citations.
        content = join_pieces(pieces, "")
    elif content is None:
        content = join_pieces(pieces)
    name = entry.take("name", "function")  # Inspect's messages of tools have `function`
    return Message(
        role=role,
        content=content,
        name=name if isinstance(name, str) else None,
        tool_calls=tuple(_read_tool_call(piece.body) for piece in pieces if piece.sort == "call"),
        notes=_notes_on_pieces(pieces),
    )


def _read_tool_call(call: object) -> ToolCall:
    """Return a tool call in any vendor's format: `{"name": "search", "args": {"q": 1}}` and the like.

    Arguments that are JSON text stay text here; `ToolCall` parses them.
    """
    function = first_value(call, "function", "custom")
    definition = function
    if function is None or isinstance(function, str):
        # OpenAI nests name and arguments in `function`; in Inspect, `function` is the name itself.
        definition = call
    name = first_value(definition, "name", "toolName", "function", "type")
    arguments = first_value(definition, "arguments", "args", "input", "input_parameters")
    return ToolCall(name=str(name) if name else "", arguments=arguments)


def _tool_result_as_json(raw_result: object) -> str | None:
    """Return a tool result that is a mapping with more than content as JSON: the tool returned all of it."""
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
    """Return a document from a string, a mapping or an object, such as LangChain's Document or a message."""
    if isinstance(raw_document, Document):
        return raw_document
    if isinstance(raw_document, str):
        return Document(content=raw_document)
    entry = Entry(raw_document)
    metadata = first_value(raw_document, "metadata")
    role = role_of(raw_document)
    has_string = False
    pieces: list[Piece] = []
    texts: list[str] = []  # under any of its names, each once
    for name in CONTENT_NAMES:
        value = entry.take(name)
        if value is not None:
            has_string = has_string or isinstance(value, str)
            content_pieces = read_content(value)
            pieces += content_pieces
            text = join_pieces(content_pieces)
            if text.strip() and text not in texts:
                texts.append(text)
    text = "\n\n".join(texts)

    title = entry.take("title")
    is_result = _is_tool_result(raw_document, role)
    # The application wrote the title of a mapping without kind or role; a stranger may have, of an object.
    is_result_by_title = (
        is_mapping(raw_document)
        and str(title).startswith(TOOL_TITLE)
        and first_value(raw_document, "kind", "role") is None
    )
    is_result = is_result or is_result_by_title
    if not title:
        title = first_value(metadata, "title")
    author = entry.take("name") if role else None

    result = None
    if is_result:
        result = _tool_result_as_json(raw_document)
    content = text if result is None else result
    # An empty string is a document without text, but a title without a text means a wrong reading. A tool
    # may return nothing.
    may_be_blank = has_string and (is_result or not title)
    if not content and not may_be_blank:
        _refuse(field, DOCUMENTS, raw_document)
    document_id = entry.take(*ID_NAMES)
    if document_id is None:
        document_id = first_value(metadata, *ID_NAMES)
    if not content:
        _check_that_nothing_is_left(field, entry)
    document = Document(
        content=content,
        title=str(title or author or ""),
        id="" if document_id is None else str(document_id),
        kind="tool" if is_result else "knowledge",
        notes=raw_document.notes if isinstance(raw_document, Message) else _notes_on_pieces(pieces),
        untitled=text if is_result_by_title else None,
    )
    # A result that is kept as JSON is whole.
    return document if result is not None else _note_what_is_left(document, entry)


def _is_tool_result(raw_document: object, role: str | None) -> bool:
    """Return whether a document's kind or, if it has none, its role says so."""
    kind = first_value(raw_document, "kind")
    if kind is not None:
        return re.fullmatch("tool(?:[ _-]result)?", str(kind).lower()) is not None
    # LangChain has the role in `type`, which may mean anything in a mapping: a call id confirms it.
    return role == "tool" and first_value(raw_document, "role", "tool_call_id") is not None


def _without_title(field: str, document: Document) -> Document:
    """Return the document if titles do not count: one that is a tool result only by title is knowledge.

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
    """Return a string, or a number if it can be an answer; a mapping as the profile is written as JSON."""
    if field == "profile" and is_mapping(value):
        return as_json(value)
    if field in LIKE_A_TEXT and is_number(value):
        return str(value)
    if not isinstance(value, str):
        _refuse(field, "a string", value)
    return value


def _read_string_or_messages(field: str, value: object) -> str | tuple[Message, ...]:
    """Return a string unchanged, or the messages of a thread or of a single message."""
    if isinstance(value, str) or (field in LIKE_A_TEXT and is_number(value)):
        return str(value)
    threads: Any = value
    match threads:
        case [[first, *_] as thread] if not isinstance(first, str | list):
            value = thread  # LangChain's traces contain a list of threads
        case _:
            pass
    messages: list[Message] = []
    for raw_message in _split_parts(value):
        messages += _read_messages(field, raw_message)
    return tuple(messages)


def _read_documents(field: str, value: object) -> tuple[Document, ...]:
    """Return the documents of a value: one for a string or a mapping, one or more per list entry."""
    if isinstance(value, str):
        if is_blank(value):
            return ()
        value = read_documents(field, value)
    if is_list(value) and len(value) == 1 and is_list(value[0]) and _unwrap(value[0]) is value[0]:
        value = value[0]  # Chroma answers several queries at once
    for raw_document in value if is_list(value) else ():
        # A row of a table would look like a pair of role and text; a search score comes last.
        if is_list(raw_document) and not _is_scored(raw_document):
            _refuse(field, DOCUMENTS, raw_document)
    documents: list[Document] = []
    for part in _split_parts(value):
        documents += _read_part(field, part)
    return tuple(documents)


def _read_part(field: str, part: object) -> Sequence[Document]:
    """Return the documents in an entry of a list: itself, those that it contains, or its tool results."""
    if isinstance(part, str):
        return [_read_document(field, part)]
    content = first_value(part, *CONTENT_NAMES)
    is_around = content is None or (content is first_value(part, "context") and not isinstance(content, str))
    if is_around:
        entry = Entry(part)
        inner: object = entry.take(*WRAPPERS)
        if inner is not None:
            documents = _read_documents(field, inner)
            if not documents:
                _check_that_nothing_is_left(field, entry)
                return ()
            return [*documents[:-1], _note_what_is_left(documents[-1], entry)]
    blocks = first_value(part, "content") if is_list(content) else ()
    for block in blocks or ():
        if read_block(block).sort == "result":
            return [_read_document(field, message) for message in _read_messages(field, part)]
    return [_read_document(field, part)]


def _read_retrieved(field: str, value: object) -> tuple[Document, ...]:
    """Return documents whose titles strangers may have written, as in a knowledge base."""
    # Not a table cell: a text that a retriever returned states neither its title nor its kind.
    if isinstance(value, str) and not is_blank(value):
        value = [value]
    documents = _read_documents(field, value)
    return tuple(_without_title(field, document) for document in documents)


def _read_reference(field: str, value: object) -> str:
    """Return a string unchanged, all texts of documents, or the last assistant message of a chat."""
    if isinstance(value, str):
        return value
    thread = read_chat(value)
    if thread is not None:
        return text_of(thread, "assistant")
    documents = _read_documents(field, value)
    return "\n\n".join(document.content for document in documents)


def _listed(value: object) -> object:
    """Return the list of texts in a JSON string; any other value unchanged."""
    if not isinstance(value, str):
        return value
    texts = read_list(value, str)
    return value if texts is None else texts


def _read_answers(field: str, value: object) -> tuple[str, ...]:
    """Return the strings of a value, a string or a list of them, without blank ones."""
    answers: list[str] = []
    for answer_value in _split_parts(_listed(value)):
        answer = _read_string(field, answer_value)
        if answer.strip():
            answers.append(answer)
    return tuple(answers)


def _read_metadata(field: str, value: object) -> dict[str, Any]:
    """Return a mapping with texts as keys and JSON data as values."""
    if not is_mapping(value):
        _refuse(field, "a mapping", value)
    return {well_formed(str(key)): as_data(entry) for key, entry in value.items()}


def _read_text(_: str, value: object) -> str:
    """Return any value as text, for a prompt's custom input."""
    if value in ([], {}):
        return ""
    if isinstance(value, str):
        return value
    return as_json(value)


def _read_list(_: str, value: object) -> tuple[Any, ...]:
    """Return the entries of a list, or a single value as the only one, for a prompt's custom input."""
    value = _listed(value)
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
"""The function that reads each field, or input of that type; values already read stay unchanged."""


def read_field(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as it is declared
    """Read a field's value as a case stores it; None for None.

    Args:
        field: the field, or the name of a prompt's custom input.
        value: the value as it was given.
        kind: the type of a prompt's custom input: "text", "messages", "documents" or "list"; "retrieved" for
            documents whose titles do not count.

    Raises:
        CaseError: `context_unreadable` or `field_unreadable`: the value has no known shape.
    """
    result = try_read_field(field, value, kind)
    if isinstance(result, CaseError):
        raise result
    return result


def try_read_field(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as it is declared
    """Do the same as `read_field`, but return an error: it is reported only if a judge needs the field."""
    if value is None or isinstance(value, CaseError):
        return value
    try:
        return READERS[kind or field](field, value)
    except CaseError as error:
        return error
    except Exception as error:  # noqa: BLE001  an object's own methods may raise anything
        message = f"{field} cannot be read: {type(error).__name__}: {error}"
        return CaseError("field_unreadable", message, field)


def read_chat(value: object) -> tuple[Message, ...] | None:
    """Return the messages of a value that is a message, or a list of only messages; else None."""
    thread: object = try_read_field("conversation", value)
    if not is_list(thread) or not thread:
        return None
    return tuple(thread)
