"""The usual shapes of texts, chat messages, documents and tools' calls and results, read into one form.

A value is cut into items (`_items`) and what each holds into pieces (`_pieces`). From these a `Message` or a
`Document` is made, whatever shape it had. Everything else works on these two.

Nothing is dropped silently: what a shape holds beside its text is kept as a tool call, as another message or
as JSON, and what cannot be shown as text leaves its name in brackets. Only a model's reasoning is left out,
because it is not part of what the model said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, cast
from unicodedata import category

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, field_serializer

from groundjudge.case.data import as_data, as_json, is_list, is_mapping, plain
from groundjudge.errors import CaseError
from groundjudge.verdict import Frozen, String, well_formed

CONTENT_NAMES = ("content", "page_content", "text", "snippet", "context")
"""The keys or attributes under which a document may hold its text."""

OUTPUT_NAMES = ("content", "output", "outputs", "result", "results", "response", "code_execution_result")
"""The keys or attributes under which blocks of all vendors hold what a tool returned."""

DOCUMENTS = f"documents: strings, or with text as {', '.join(CONTENT_NAMES)}"

TOOL_TITLE = "Tool Result:"
"""A mapping whose title begins exactly like this is a tool result, unless it has a kind or a role."""

SYNONYMS = {"human": "user", "function": "tool", "ipython": "tool", "ai": "assistant", "model": "assistant"}
ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool")} | SYNONYMS
"""Names of roles, also of other vendors and of older ones -> the role. Other names are kept unchanged."""

ABOUT_A_RESULT = frozenset(["role", "type", "kind", "title", "name", "id", "metadata", "tool_calls"])
"""The keys of a tool result that say what it is, not what the tool returned."""

BLOCK = re.compile(
    r"(?P<text>text|(?:input|output)_text|refusal)"
    r"|(?P<reasoning>(?:redacted_)?thinking|reasoning(?:_content)?|mcp_(?:list|approval)_\w+|item_reference|compaction)"
    r"|(?P<result>\w*(?:tool_result|_call_output|function_response)|code_execution_result)"
    r"|(?P<media>(?:input_)?(?:image|audio|video|file|media|document)(?:_url|_file|_generation_call)?|(?:inline|file)_data)"
    r"|(?P<call>\w*tool_use|\w+_call|executable_code)"
)
"""The types of content blocks, of every vendor: the name of the group says how a block is read."""

NOT_SNAKE = re.compile("[A-Z]|-")
"""What some vendors write in place of `_` in the types of blocks: `toolUse`, `tool-call`."""

BESIDE_MESSAGES = ("call", "result", "reasoning")
"""What OpenAI's Responses have beside messages, instead of in their content."""

QUOTED = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
STRINGS = rf"(?:{QUOTED}(?:(?:\s*,\s*|\s+){QUOTED})*+\s*,?\s*)?"
LIST_REPR = re.compile(rf"\[\s*(?:{STRINGS}|\{{'.*\}}|Document\(.*\))\]", re.DOTALL)
"""How Python writes a list of strings, of mappings and of LangChain's documents, and NumPy an array."""


def get(item: object, *names: str) -> Any:  # noqa: ANN401  whatever it holds
    """What a mapping or an object has under the first of some names that has a value; None if none has."""
    for name in () if isinstance(item, str) else names:  # whose methods are no part of the data
        value = item.get(name) if is_mapping(item) else getattr(item, name, None)
        if value is not None:
            return plain(value)
    return None


def _arguments(value: object) -> Any:  # noqa: ANN401
    """The arguments of a tool call as JSON data; OpenAI sends them as a string that holds a JSON object."""
    with suppress(ValueError, RecursionError):
        if isinstance(value, str) and is_mapping(parsed := json.loads(value)):
            value = parsed
    return as_data(value)


# --- the one form -----------------------------------------------------------------------------------------


class ToolCall(Frozen):
    """A tool call in an assistant message.

    Attributes:
        name: the tool's name.
        arguments: JSON data; a string that holds a JSON object is parsed.
    """

    name: String
    arguments: Annotated[Any, BeforeValidator(_arguments)] = None


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
        kind: "tool" for a tool result, whatever title and content say; "knowledge" for anything else. In a
            dump it is null where only the title of a mapping said "tool", so that it can be read again.
        holds_media: whether there was more than the text can show, such as an image; not part of a dump.
        untitled: where only the title of a mapping said "tool", the content if titles say nothing; not part
            of a dump.
    """

    content: String
    title: String = ""
    kind: Literal["knowledge", "tool"] = "knowledge"
    holds_media: bool = Field(default=False, exclude=True, repr=False)
    untitled: String | None = Field(default=None, exclude=True, repr=False)

    @field_serializer("kind")
    def _declared_kind(self, kind: str) -> str | None:
        return kind if self.untitled is None else None


def is_blank(value: object) -> bool:
    """Whether a field's value is None or holds nothing but white space and invisible characters."""
    if is_list(value):
        return all(map(is_blank, value))
    text = value.content if isinstance(value, Message | Document) else value
    return text is None or (isinstance(text, str) and not any(map(_is_visible, text.strip())))


def _is_visible(sign: str) -> bool:
    return not sign.isspace() and category(sign) not in {"Cc", "Cf"}  # such as a zero-width space


def text_of(value: str | tuple[Message, ...] | None, role: str) -> str:
    """A field's text; of messages the last one with that role or, if none has it, all of them.

    Of an assistant's that is one after the last question: an earlier one answers something else.
    """
    if value is None or isinstance(value, str):
        return value or ""
    ends = [number for number, each in enumerate(value, 1) if role == "assistant" and each.role == "user"]
    value = value[max(ends, default=0) :]
    of_role = [message.content for message in value if message.role == role]
    return of_role[-1] if of_role else "\n\n".join(each.content for each in value if not is_blank(each))


def shape_of(value: object) -> str:
    """A value as error messages describe it: the keys of a mapping, the type of anything else."""
    if is_mapping(value):
        return f"a mapping with the keys {', '.join(map(str, value)) or '(none)'}"
    return f"{type(value).__name__} ({str(value)[:60]!r})"


# --- content ----------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """A piece of what a message or a document holds.

    Attributes:
        sort: a group of `BLOCK`, "data", or "beside" for what stands beside a message's content.
        text: what the piece says.
        held: of a call or a result, the mapping or object with its name, arguments or output.
    """

    sort: str
    text: str = ""
    held: object = None


def _sort(kind: object) -> str:
    """How a block of that type is read: a group of `BLOCK`, or "data"."""
    found = BLOCK.fullmatch(NOT_SNAKE.sub(lambda sign: f"_{sign[0].strip('-').lower()}", str(kind)))
    return str(found.lastgroup) if found else "data"


def _piece(block: object) -> Piece:
    """A string, or a block of any vendor's; anything else is data, which is kept as JSON."""
    if isinstance(block, str) or (is_mapping(block) and not block):
        return Piece("text", str(block or ""))
    kind, held, text = get(block, "type"), block, get(block, "text", "refusal")
    only = [*block.items()] if is_mapping(block) and len(block) == 1 else None
    if only and is_mapping(only[0][1]):
        ((kind, held),) = only  # Bedrock and Gemini: the only key is the type
    sort = _sort(kind)
    if sort == "call":
        return _called(held)
    if sort == "media" and get(source := get(held, "source"), "type") in {"text", "content"}:
        sort, text = "text", content_text(get(source, "data", "content"))  # a document of Anthropic's
    if isinstance(text, str) and (sort == "text" or only or not is_mapping(block)):
        return Piece("text", text)
    if sort in {"data", "result"} or (sort == "text" and text is not None):
        return Piece("data" if sort == "text" else sort, as_json(block), held)
    return Piece(sort, f"[{kind}]" if sort == "media" else "", held)


def _called(call: object) -> Piece:
    """A call of a tool, or its result, if it has one: then the provider made the call."""
    has_result = get(call, *OUTPUT_NAMES) is not None
    return Piece("result", as_json(call), call) if has_result else Piece("call", held=call)


def _pieces(content: object) -> list[Piece]:
    """The pieces of a content without a model's reasoning; data that is not among blocks is one piece."""
    if isinstance(content, str):
        return [Piece("text", content)]
    pieces = [*map(_piece, content)] if is_list(content) else []
    is_data = not is_list(content) or {each.sort for each in pieces} == {"data"}
    said = [Piece("data", as_json(content))] if is_data else [p for p in pieces if p.sort != "reasoning"]
    return said or [Piece("text")]


def _text(pieces: Iterable[Piece], between: str = "\n") -> str:
    """The texts of pieces, one per line; adjacent texts with something else between them."""
    groups = groupby((each for each in pieces if each.text), lambda each: each.sort == "text")
    lines = ((between if is_text else "\n").join(each.text for each in some) for is_text, some in groups)
    return "\n".join(lines)


def content_text(content: object) -> str:
    """A string as it is; of a list of content blocks the texts, one per line; any other data as JSON."""
    return _text(_pieces(content))


# --- messages and documents -------------------------------------------------------------------------------


def role_of(item: object) -> str | None:
    """A message's role, from `role` (OpenAI) or `type` (LangChain); None if the item is not a message."""
    role, kind = get(item, "role"), str(get(item, "type"))
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
    return ROLES.get(role.casefold(), role) if isinstance(role, str) else ROLES.get(kind)


def _items(value: Any) -> Iterator[Any]:  # noqa: ANN401  whatever was given
    """The items of a value: a string, a mapping or an object with content is the only item itself.

    What LangChain dumps, and a pair of role and content, is a mapping like those of others.
    """
    is_one = isinstance(value, str | bytes | Mapping | BaseModel) or not isinstance(value, Iterable)
    items: list[Any] = [value] if is_one else [*value]
    for item in items:
        match item:
            case {"lc": _, "id": [*_, kind], "kwargs": {**held}}:
                yield {"type": kind, **held}
            case {"type": _, "data": {**held}} if len(item) == len(("type", "data")):
                yield {**item, **held}
            case [str(role), content] if role in ROLES and isinstance(content, str | list):
                yield {"role": role, "content": cast("object", content)}
            case _:
                yield item


def _said(item: object) -> list[Piece] | None:
    """All that a message holds: its content, a refusal, the error of a tool of Inspect's, and its calls.

    A call with an id is listed once, in whatever places it is.
    """
    places = (get(item, "additional_kwargs"), item)
    beside = [*(get(place, "refusal") for place in places), get(get(item, "error"), "message")]
    content, texts = get(item, "content"), dict.fromkeys(str(each) for each in beside if each is not None)
    pieces = [*map(_called, get(item, "toolInvocations") or ())]  # of the AI SDK
    pieces += () if content is None else _pieces(content)
    pieces += [Piece("media", "[images]")] if get(item, "images") else ()  # of Ollama
    pieces += (Piece("beside", text) for text in texts)
    lists = [get(place, f"{sort}tool_calls") for place in places for sort in ("", "invalid_")]
    listed = [*chain(*filter(None, lists)), *filter(None, (get(place, "function_call") for place in places))]
    calls = {get(call, "id") or number: call for number, call in enumerate(listed)}
    known = {get(each.held, "id") for each in pieces if each.sort == "call"}
    pieces += (Piece("call", held=call) for key, call in calls.items() if key not in known)
    has_content = "content" in item if is_mapping(item) else hasattr(item, "content")
    return pieces or ([Piece("text")] if has_content else None)


def _messages(field: str, item: object) -> Iterator[Message]:
    """The messages that an item of a thread is.

    A tool's result in its content is a message of its own, as Anthropic sends them, and so is what follows a
    call: no application has answered that call, so the provider made it.
    """
    if isinstance(item, Message):
        yield item
        return
    role, pieces = role_of(item), _said(item)
    if role is None and (sort := _sort(get(item, "type"))) in BESIDE_MESSAGES:
        role, pieces, item = "assistant", [] if sort == "reasoning" else _pieces([item]), None
    turns: list[list[Piece]] = [[]] if pieces is None else []
    for piece in pieces or ():
        before = turns[-1][-1].sort if turns else "result"
        if "result" in {before, piece.sort} or (before == "call" and piece.sort not in {"call", "beside"}):
            turns.append([])
        turns[-1].append(piece)
    for turn in turns:
        if turn and turn[0].sort == "result":
            name, output = get(turn[0].held, "name", "toolName"), get(turn[0].held, *OUTPUT_NAMES)
            result = {"role": "tool", "name": name, "content": "" if output is None else output}
            yield from _messages(field, result)
        elif role is None or not turn:
            _refused(field, "a string or chat messages with role and content", item)
        else:
            yield _message(role, item, turn)


def _message(role: str, item: object, pieces: Sequence[Piece]) -> Message:
    # What a model says in adjacent blocks is one text, which is only cut where it cites something.
    text = (_whole(item) if role == "tool" else "") or _text(pieces, "" if role == "assistant" else "\n")
    name, calls = get(item, "name", "function"), (_call(each.held) for each in pieces if each.sort == "call")
    return Message(
        role=role,
        content=text,
        name=name if isinstance(name, str) else None,
        tool_calls=tuple(calls),
        holds_media=any(each.sort == "media" for each in pieces),
    )


def _call(call: object) -> ToolCall:
    function = get(call, "function", "custom")  # OpenAI nests in it; in Inspect it is the name
    named = call if isinstance(function, str | None) else function
    name = get(named, "name", "toolName", "function", "type")
    return ToolCall(name=str(name or ""), arguments=get(named, "arguments", "args", "input"))


def _document(field: str, item: object) -> Document:
    """A document from a string, a mapping or an object, such as LangChain's Document or a message."""
    if isinstance(item, Document | str):
        return item if isinstance(item, Document) else Document(content=item)
    values = [value for name in CONTENT_NAMES if (value := get(item, name)) is not None]
    contents = [*map(_pieces, values)]
    text = "\n\n".join(dict.fromkeys(filter(str.strip, map(_text, contents))))
    title = get(item, "title") or get(get(item, "metadata"), "title")
    author = get(item, "name") if role_of(item) else None
    is_titled, is_told = _is_titled_tool_result(item), _is_tool_result(item)
    content = (_whole(item) if is_titled or is_told else "") or text
    may_be_blank = any(isinstance(value, str) for value in values) and (is_titled or is_told or not title)
    if not content and not may_be_blank:
        _refused(field, DOCUMENTS, item)
    return Document(
        content=content,
        title=str(title or author or ""),
        kind="tool" if is_titled or is_told else "knowledge",
        holds_media=holds_media([item]) or any(piece.sort == "media" for piece in chain(*contents)),
        untitled=text if is_titled else None,
    )


def _is_tool_result(item: object) -> bool:
    """Whether a document's kind or, if it has none, its role says so."""
    if (kind := get(item, "kind")) is not None:
        return re.fullmatch("tool(?:[ _-]result)?", str(kind).lower()) is not None
    return role_of(item) == "tool" and get(item, "role", "tool_call_id") is not None


def _is_titled_tool_result(item: object) -> bool:
    """Whether the title of a mapping that has neither kind nor role says so: its application wrote it."""
    is_plain = is_mapping(item) and get(item, "kind", "role") is None
    return is_plain and str(get(item, "title")).startswith(TOOL_TITLE)


def _whole(item: object) -> str:
    """A tool result as JSON, if it is a mapping with more than a content: that is what the tool returned."""
    if not is_mapping(item) or "tool_call_id" in item:  # other keys of a message are no result
        return ""
    returned = {key: item[key] for key in item if key not in ABOUT_A_RESULT and item[key] is not None}
    return as_json(returned) if len(returned) > 1 else ""


# --- fields -----------------------------------------------------------------------------------------------


def _refused(field: str, expected: str, value: object) -> NoReturn:
    code = "context_unreadable" if field == "context" else "field_unreadable"
    raise CaseError(code, f"{field} must be {expected}, not {shape_of(value)}", field)


def _string(field: str, value: object) -> str:
    """A string; the profile may be a mapping, which is written as JSON."""
    if field == "profile" and is_mapping(value):
        return as_json(value)
    return value if isinstance(value, str) else _refused(field, "a string", value)


def _string_or_messages(field: str, value: object) -> str | tuple[Message, ...]:
    if isinstance(value, str):
        return value
    return tuple(message for item in _items(value) for message in _messages(field, item))


def _documents(field: str, value: object) -> tuple[Document, ...]:
    if field == "context" and isinstance(value, str) and LIST_REPR.fullmatch(value.strip()):
        remedy = "use ast.literal_eval, or a list of the text"
        _refused(field, f"a list, not what pandas writes for a list into CSV: {remedy}", value)
    if is_list(value) and any(map(is_list, value)):  # a row of a table looks like a (role, text) pair
        _refused(field, DOCUMENTS, next(filter(is_list, value)))
    items = () if isinstance(value, str) and is_blank(value) else _items(value)
    return tuple(_document(field, part) for item in items for part in _parts(field, item))


def _parts(field: str, item: object) -> Iterable[object]:
    """The item itself; of a message with tools' results in its content, the messages that it is."""
    content = None if isinstance(item, str) else get(item, "content")
    is_split = is_list(content) and any(_piece(block).sort == "result" for block in content)
    return _messages(field, item) if is_split else [item]


def _untitled(field: str, document: Document) -> Document:
    """A document where titles say nothing: only a kind or a role makes it a tool result."""
    if document.untitled is None:
        return document
    content = document.untitled or _refused(field, DOCUMENTS, document.content)
    return document.model_copy(update={"content": content, "kind": "knowledge", "untitled": None})


def _reference(field: str, value: object) -> str:
    """A string as it is; of documents all their texts, of chat messages the last assistant message."""
    if isinstance(value, str) or is_chat(value):
        return text_of(read_field("messages", value), "assistant")
    return "\n\n".join(document.content for document in _documents(field, value))


def _answers(field: str, value: object) -> tuple[str, ...]:
    return tuple(text for item in _items(value) if (text := _string(field, item)).strip())


def _metadata(field: str, value: object) -> Any:  # noqa: ANN401  whatever JSON can hold
    held: Mapping[Any, Any] = value if is_mapping(value) else _refused(field, "a mapping", value)
    return {well_formed(str(key)): as_data(each) for key, each in held.items()}


READERS: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("query", "response", "conversation", "messages"), _string_or_messages),
    **dict.fromkeys(("context", "documents"), _documents),
    "retrieved": lambda field, value: tuple(_untitled(field, each) for each in _documents(field, value)),
    **dict.fromkeys(("profile", "agent_name"), _string),
    "reference": _reference,
    "answers": _answers,
    "id": lambda _, value: str(value),
    "metadata": _metadata,
    "text": lambda _, value: "" if value in ([], {}) else value if isinstance(value, str) else as_json(value),
    "list": lambda _, value: tuple(value) if is_list(value) else (value,),
}
"""The function that reads a field, or an input of that type; what was read already is read unchanged."""


def readable(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as it is declared
    """Like `read`, but the error is returned: it is reported only if a judge needs the field."""
    if value is None or isinstance(value, CaseError):
        return value
    try:
        return READERS[kind or field](field, value)
    except CaseError as error:
        return error
    except Exception as error:  # noqa: BLE001  whatever an object's own methods raise
        why = f"{field} cannot be read: {type(error).__name__}: {error}"
        return CaseError("field_unreadable", why, field)


def read_field(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as the field is declared
    """A field's value as a case keeps it; None for None.

    Args:
        field: the field, or the name of a prompt's own input.
        value: the value as it was given.
        kind: the type of a prompt's own input: "text", "messages", "documents" or "list".

    Raises:
        CaseError: `context_unreadable` or `field_unreadable`: the value is not in any known shape.
    """
    found = readable(field, value, kind)
    if isinstance(found, CaseError):
        raise found
    return found


def is_chat(value: object) -> bool:
    """Whether a value is a message, or a list of nothing but messages."""
    return is_list(said := readable("conversation", value)) and bool(said)


def holds_media(value: object) -> bool:
    """Whether there are messages or documents in a value that was read that hold more than their text."""
    return is_list(value) and any(getattr(each, "holds_media", False) is True for each in value)
