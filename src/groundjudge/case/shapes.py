"""The usual shapes of texts, chat messages, documents, tool calls and tool results, each read alike.

Nothing is dropped silently: what a shape holds beside its text is kept as a tool call, as another message or
as JSON, and what cannot be shown as text leaves its name in brackets. Only a model's reasoning is left out,
because it is not part of what the model said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator

from groundjudge.errors import CaseError
from groundjudge.verdict import Frozen

CONTENT_NAMES = ("content", "page_content", "text", "snippet", "context")
"""The keys or attributes under which a document may hold its text."""

TOOL_TITLE = "Tool Result:"
"""A mapping whose title begins like this is a tool result, unless it has a kind."""

ROLES: Mapping[str, str] = MappingProxyType(
    {
        **{role: role for role in ("system", "developer", "user", "assistant", "tool")},
        "human": "user",
        "ai": "assistant",
        "function": "tool",
    }
)
"""Names of roles, including LangChain's and older ones -> the role. Other names are kept unchanged."""

ABOUT_A_RESULT = frozenset({"role", "type", "kind", "title", "name", "id", "metadata", "tool_calls"})
"""The keys of a tool result that say what it is, not what the tool returned."""

TEXT_BLOCK = re.compile(r"text|(?:input|output)_text|refusal")
REASONING_BLOCK = re.compile(r"(?:redacted_)?thinking|reasoning(?:_content)?")
CALL_BLOCK = re.compile(r"\w*(?:tool_use|tool_call|function_call)")
RESULT_BLOCK = re.compile(r"\w*(?:tool_result|function_call_output)")
MEDIA_BLOCK = re.compile(r"(?:input_)?(?:image|audio|video|file|media|document)(?:_url|_file)?")

QUOTED = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
LIST_REPR = re.compile(rf"\[\s*{QUOTED}(?:(?:\s*,\s*|\s+){QUOTED})*+\s*,?\s*\]", re.DOTALL)
"""How Python writes a list of strings, and NumPy an array of them."""


def well_formed(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, because neither JSON nor UTF-8 can hold them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a mapping; type checkers narrow its type accordingly."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple; type checkers narrow its type accordingly."""
    return isinstance(value, list | tuple)


def is_absent(value: Any) -> bool:  # noqa: ANN401  whatever a table holds
    """Whether a value is None or what tables hold in its place: NaN, NaT, pandas' NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, str | Mapping | list | tuple):
        return False
    try:
        return bool(value != value)  # noqa: PLR0124  NaN and NaT differ from themselves
    except Exception:  # noqa: BLE001  an array has no truth value
        return False


def as_json(value: object) -> str:
    """The value as JSON: a pydantic model as a mapping, whatever else JSON cannot hold as a string."""
    return well_formed(json.dumps(value, ensure_ascii=False, default=_as_mapping))


def _as_mapping(value: object) -> Any:  # noqa: ANN401  JSON data, or what json turns into it
    return dict(value) if isinstance(value, BaseModel) else str(value)


def as_data(value: object) -> Any:  # noqa: ANN401  whatever JSON can hold
    """The value as JSON data, so that a case can be written, read again and compared."""
    return None if value is None else json.loads(as_json(value), parse_constant=str)


def _arguments(value: object) -> Any:  # noqa: ANN401
    """The arguments of a tool call as JSON data; OpenAI sends them as a string that holds a JSON object."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            parsed = json.loads(value)
            value = parsed if is_mapping(parsed) else value
    return as_data(value)


String: TypeAlias = Annotated[str, AfterValidator(well_formed)]
"""A string without lone surrogates, which can be sent and written."""


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
    """

    role: Annotated[String, AfterValidator(lambda role: ROLES.get(role, role))]
    content: String = ""
    name: String | None = None
    tool_calls: tuple[ToolCall, ...] = ()


class Document(Frozen):
    """A source that a response must be grounded in.

    Attributes:
        content: the text.
        title: shown to the model next to the text; "" for none.
        kind: "tool" for a tool result, whatever title and content say; "knowledge" for anything else.
    """

    content: String
    title: String = ""
    kind: Literal["knowledge", "tool"] = "knowledge"


def is_blank(value: object) -> bool:
    """Whether a field's value is None or holds nothing but white space."""
    match value:
        case None:
            return True
        case str():
            return not value.strip()
        case Message() | Document():
            return not value.content.strip()
        case _:
            return is_list(value) and all(map(is_blank, value))


def text_of(value: str | tuple[Message, ...] | None, role: str) -> str:
    """A field's text; of messages the last one with that role or, if none has it, all of them."""
    if value is None or isinstance(value, str):
        return value or ""
    messages = [message for message in value if not is_blank(message)]
    of_role = [message.content for message in messages if message.role == role]
    return of_role[-1] if of_role else "\n\n".join(message.content for message in messages)


def shape_of(value: object) -> str:
    """A value as error messages describe it: the keys of a mapping, the type of anything else."""
    if is_mapping(value):
        return f"a mapping with the keys {', '.join(map(str, value)) or '(none)'}"
    return f"{type(value).__name__} ({str(value)[:60]!r})"


def _items(value: object) -> list[Any]:
    """The items of an iterable; a string, a mapping or an object with content is the only item itself."""
    if isinstance(value, str | Mapping) or any(hasattr(value, name) for name in CONTENT_NAMES):
        return [value]
    return list(cast("Any", value)) if isinstance(value, Iterable) else [value]


def _getter(item: object) -> Callable[[str], Any]:
    """A function that looks a name up in a mapping, a (role, text) pair, or any object; None if missing."""
    match item:
        case [str(role), str(content)] if role in ROLES:
            return {"role": role, "content": content}.get
        case _ if is_mapping(item):
            return _unwrapped(item).get
        case _:
            return lambda name: getattr(item, name, None)


def _unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping inside the wrappers that LangChain's dumpd() and messages_to_dict() add."""
    path, dumped, data = item.get("id"), item.get("kwargs"), item.get("data")
    if "lc" in item and is_list(path) and is_mapping(dumped):
        return {"type": path[-1] if path else None, **dumped}
    if set(item) == {"type", "data"} and is_mapping(data):
        return {**item, **data}
    return item


# --- blocks of content ------------------------------------------------------------------------------------


def _kind(block: object) -> str:
    """The type of a content block, or the only key of a block without one; "" if it has neither."""
    kind = _getter(block)("type")
    if kind is None and is_mapping(block) and len(block) == 1:
        kind = next(iter(block))
        return kind if TEXT_BLOCK.fullmatch(kind) or MEDIA_BLOCK.fullmatch(kind) else ""
    return kind if isinstance(kind, str) else ""


def content_text(content: object) -> str:
    """A string as it is; of a list of content blocks the texts, one per line; any other data as JSON."""
    if isinstance(content, str):
        return content
    if is_list(content) and all(isinstance(each, str) or _kind(each) or _text(each) for each in content):
        return "\n".join(filter(None, map(_block_text, content)))
    return as_json(content)


def _text(block: object) -> str | None:
    """The text of a text block or a refusal; OpenAI's assistants put it one level deeper."""
    get = _getter(block)
    text = get("refusal") if get("text") is None else get("text")
    text = text.get("value") if is_mapping(text) else text
    return text if isinstance(text, str) else None


def _block_text(block: object) -> str:
    """A block as text; "" for a tool call, which the message keeps, and for reasoning."""
    if isinstance(block, str):
        return block
    kind, text = _kind(block), _text(block)
    if text is not None and (TEXT_BLOCK.fullmatch(kind) or not is_mapping(block)):
        return text
    if CALL_BLOCK.fullmatch(kind) or REASONING_BLOCK.fullmatch(kind):
        return ""
    return f"[{kind}]" if MEDIA_BLOCK.fullmatch(kind) else as_json(block)


def holds_media(value: object) -> bool:
    """Whether messages or documents have content that cannot be shown as text, such as images."""
    if value is None or isinstance(value, str):
        return False
    with suppress(Exception):  # what cannot be read is not shown at all, and an error
        for item in messages_in(value):
            contents = (
                []
                if isinstance(item, str | Message | Document)
                else [_getter(item)(name) for name in CONTENT_NAMES]
            )
            if any(MEDIA_BLOCK.fullmatch(_kind(each)) for held in contents if is_list(held) for each in held):
                return True
    return False


# --- messages ---------------------------------------------------------------------------------------------


def role_of(item: object) -> str | None:
    """A message's role, from `role` (OpenAI) or `type` (LangChain); None if the item is not a message."""
    get = _getter(item)
    role, kind = get("role"), get("type")
    if isinstance(role, str):
        return ROLES.get(role, role)
    name = kind.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(kind, str) else ""
    return ROLES.get(name)


def is_chat(value: object) -> bool:
    """Whether a value is a message, or a list of nothing but messages."""
    items = [] if isinstance(value, str) else _items(value)
    return bool(items) and all(map(_is_message, items))


def _is_message(item: object) -> bool:
    get = _getter(item)
    return role_of(item) is not None and bool(_contents(get) or _calls(get))


def _contents(get: Callable[[str], Any]) -> list[Any]:
    """What a message says: its content and its refusal, as far as they are given."""
    more: Mapping[str, Any] = get("additional_kwargs") or {}
    refusal = get("refusal") or more.get("refusal")
    return [each for each in (get("content"), refusal) if each is not None]


def messages_in(value: object) -> list[Any]:
    """The messages of a value, as they were given; those that contain tool results are split.

    Anthropic's tool results are blocks in a message of the user's: each becomes a message with role "tool".
    """
    return [part for item in _items(value) for part in _split(item)]


def _split(item: object) -> Iterator[Any]:
    is_plain = isinstance(item, str | Message | Document)  # most items are, and need no look inside
    get = _getter(item)
    blocks = None if is_plain else get("content")
    if not is_list(blocks) or not any(map(_is_result, blocks)):
        yield item
        return
    for is_result, group in groupby(blocks, _is_result):
        if is_result:
            yield from map(_result_message, group)
        else:
            yield {"role": role_of(item), "content": list(group), "name": get("name")}


def _is_result(block: object) -> bool:
    return bool(RESULT_BLOCK.fullmatch(_kind(block)))


def _result_message(block: object) -> Mapping[str, Any]:
    get = _getter(block)
    content = get("output") if get("content") is None else get("content")
    return {"role": "tool", "name": get("name"), "content": "" if content is None else content}


def _message(field: str, item: object) -> Message:
    """A message from OpenAI's, Anthropic's or LangChain's mapping or object, or a (role, text) pair."""
    if isinstance(item, Message):
        return item
    get, role = _getter(item), role_of(item)
    contents, calls, name = _contents(get), _calls(get), get("name")
    if role is None or not (contents or calls):
        message = f"{field} must be a string or chat messages with role and content, not {shape_of(item)}"
        raise CaseError("field_unreadable", message, field)
    texts = [_whole(item) or content_text(contents[0])] if role == "tool" else map(content_text, contents)
    return Message(
        role=role,
        content="\n".join(filter(None, texts)),
        name=name if isinstance(name, str) else None,
        tool_calls=tuple(map(_tool_call, calls)),
    )


def _calls(get: Callable[[str], Any]) -> list[Any]:
    """A message's tool calls, from every place that has some; what has an id is listed once."""
    more: Mapping[str, Any] = get("additional_kwargs") or {}
    blocks = get("content")
    in_content = [each for each in blocks if CALL_BLOCK.fullmatch(_kind(each))] if is_list(blocks) else []
    listed: list[Any] = [
        *(get("tool_calls") or ()),
        *(get("invalid_tool_calls") or ()),
        *(more.get("tool_calls") or ()),
        *in_content,
        get("function_call"),
        more.get("function_call"),
    ]
    calls: dict[Any, Any] = {}
    for number, call in enumerate(listed):
        if call is not None:
            calls.setdefault(_getter(call)("id") or number, call)
    return [*calls.values()]


def _tool_call(call: object) -> ToolCall:
    get = _getter(call)
    if get("function") is not None:  # OpenAI nests name and arguments in "function"
        get = _getter(get("function"))
    given = (get(name) for name in ("arguments", "args", "input"))
    arguments = next((value for value in given if value is not None), None)
    return ToolCall(name=str(get("name") or ""), arguments=arguments)


# --- documents --------------------------------------------------------------------------------------------


def _document(field: str, item: object) -> Document:
    """A document from a string, a mapping, a LangChain Document or DeepEval's RetrievedContextData."""
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return Document(content=item)
    get = _getter(item)
    title, metadata, is_tool = get("title"), get("metadata"), _is_tool_result(item)
    title = title or (is_mapping(metadata) and metadata.get("title")) or (is_tool and get("name")) or ""
    names = () if is_list(item) else CONTENT_NAMES
    values = [value for name in names if (value := get(name)) is not None]
    texts = dict.fromkeys(filter(str.strip, map(content_text, values)))
    content = (is_tool and _whole(item)) or "\n\n".join(texts)
    may_be_blank = any(isinstance(value, str) for value in values) and (is_tool or not title)
    if not content and not may_be_blank:
        code = "context_unreadable" if field == "context" else "field_unreadable"
        message = (
            f"{field}: a document must be a string or have its text under one of "
            f"{', '.join(CONTENT_NAMES)}; this is {shape_of(item)}"
        )
        raise CaseError(code, message, field)
    return Document(content=content, title=str(title), kind="tool" if is_tool else "knowledge")


def _is_tool_result(item: object) -> bool:
    """Whether a document's kind or, if it has none, its role or a plain mapping's title says so."""
    get = _getter(item)
    kind, title = get("kind"), get("title")
    if kind is not None:
        return str(kind).casefold().replace("_", " ").replace("-", " ") in {"tool", "tool result"}
    by_title = is_mapping(item) and isinstance(title, str) and title.startswith(TOOL_TITLE)
    return by_title or "tool" in {get("role"), get("tool_call_id") and role_of(item)}


def _whole(item: object) -> str | None:
    """A tool result as JSON, if it is a mapping with more than a content: that is what it returned."""
    if not is_mapping(item) or "tool_call_id" in _unwrapped(item):  # other keys of a message are no result
        return None
    returned = {key: item[key] for key in item if key not in ABOUT_A_RESULT and item[key] is not None}
    return as_json(returned) if len(returned) > 1 else None


# --- fields -----------------------------------------------------------------------------------------------


def _string(field: str, value: object) -> str:
    """A string; the profile may be a mapping, which is written as JSON."""
    if isinstance(value, str):
        return value
    if field == "profile" and is_mapping(value):
        return as_json(value)
    message = f"{field} must be a string, not {shape_of(value)}"
    raise CaseError("field_unreadable", message, field)


def _string_or_messages(field: str, value: object) -> str | tuple[Message, ...]:
    if isinstance(value, str):
        return value
    return tuple(_message(field, item) for item in messages_in(value))


def _documents(field: str, value: object) -> tuple[Document, ...]:
    if not isinstance(value, str):
        return tuple(_document(field, item) for item in messages_in(value))
    if field == "context" and LIST_REPR.fullmatch(value.strip()):
        message = (
            "context is a string that looks like a list of strings, as pandas writes lists into CSV: turn it "
            "into that list (ast.literal_eval), or put the string itself into a list"
        )
        raise CaseError("context_unreadable", message, field)
    return (Document(content=value),) if value.strip() else ()


def _reference(field: str, value: object) -> str:
    """A string as it is; of documents all their texts, of chat messages the last assistant message."""
    if isinstance(value, str):
        return value
    items = _items(value)
    if items and all(map(role_of, items)):
        return text_of(tuple(_message(field, item) for item in messages_in(items)), "assistant")
    return "\n\n".join(document.content for document in _documents(field, items))


def _answers(field: str, value: object) -> tuple[str, ...]:
    return tuple(text for item in _items(value) if (text := _string(field, item)).strip())


def _metadata(field: str, value: object) -> Any:  # noqa: ANN401
    if is_mapping(value):
        return as_data(value)
    message = f"{field} must be a mapping, not {shape_of(value)}"
    raise CaseError("field_unreadable", message, field)


READERS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {
        "query": _string_or_messages,
        "response": _string_or_messages,
        "context": _documents,
        "reference": _reference,
        "conversation": _string_or_messages,
        "profile": _string,
        "agent_name": _string,
        "answers": _answers,
        "id": lambda _, value: str(value),
        "metadata": _metadata,
    }
)
"""The function that reads each field; reading a value that was read already does not change it."""


def _custom_text(_: str, value: object) -> str:
    return value if isinstance(value, str) else as_json(value) if value not in ([], {}) else ""


def _custom_list(_: str, value: object) -> tuple[Any, ...]:
    return tuple(value) if is_list(value) else (value,)


CUSTOM_READERS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {
        "text": _custom_text,
        "messages": _string_or_messages,
        "documents": _documents,
        "list": _custom_list,
    }
)
"""The function that reads an input of a prompt's own, by the input's type."""


def read(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as the field is declared
    """A field's value as a case keeps it.

    Args:
        field: the field, or the name of a prompt's own input.
        value: the value as it was given.
        kind: the type of a prompt's own input: "text", "messages", "documents" or "list".

    Raises:
        CaseError: `context_unreadable` or `field_unreadable`: the value is not in any known shape.
    """
    if isinstance(value, CaseError):
        raise value
    reader = CUSTOM_READERS[kind] if kind else READERS[field]
    try:
        return reader(field, value)
    except CaseError:
        raise
    except Exception as error:
        message = f"{field} cannot be read: {type(error).__name__}: {error}"
        raise CaseError("field_unreadable", message, field) from error
