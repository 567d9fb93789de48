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

DOCUMENTS = f"documents: strings, or with text as {', '.join(CONTENT_NAMES)}"

TOOL_TITLE = "Tool Result:"
"""A mapping whose title begins like this is a tool result, unless it has a kind."""

ROLES: Mapping[str, str] = MappingProxyType(
    {role: role for role in ["system", "developer", "user", "assistant", "tool"]}
    | {"human": "user", "ai": "assistant", "function": "tool"}
)
"""Names of roles, including LangChain's and older ones -> the role. Other names are kept unchanged."""

ABOUT_A_RESULT = frozenset(["role", "type", "kind", "title", "name", "id", "metadata", "tool_calls"])
"""The keys of a tool result that say what it is, not what the tool returned."""

BLOCK = re.compile(
    r"(?P<text>text|(?:input|output)_text|refusal)"
    r"|(?P<reasoning>(?:redacted_)?thinking|reasoning(?:_content)?)"
    r"|(?P<call>\w*(?:tool_use|tool_call|function_call))"
    r"|(?P<result>\w*(?:tool_result|function_call_output))"
    r"|(?P<media>(?:input_)?(?:image|audio|video|file|media|document)(?:_url|_file)?)"
)
"""The types of content blocks, of every vendor: the name of the group says how a block is read."""

TOOL_KIND = re.compile(r"tool(?:[ _-]result)?", re.IGNORECASE)
"""The kinds of documents that are tool results."""

QUOTED = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
LIST_REPR = re.compile(rf"\[\s*{QUOTED}(?:(?:\s*,\s*|\s+){QUOTED})*+\s*,?\s*\]", re.DOTALL)
"""How Python writes a list of strings, and NumPy an array of them."""


def well_formed(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, because neither JSON nor UTF-8 can hold them."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a mapping; type checkers narrow its type accordingly."""
    return isinstance(value, (dict, Mapping))  # a dict is recognised faster


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple; type checkers narrow its type accordingly."""
    return isinstance(value, list | tuple)


def is_absent(value: Any) -> bool:  # noqa: ANN401  whatever a table holds
    """Whether a value is None or what tables hold in its place: NaN, NaT, pandas' NA."""
    try:  # NaN and NaT differ from themselves; an array has no truth value
        return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124
    except Exception:  # noqa: BLE001
        return False


def as_json(value: object) -> str:
    """The value as JSON: a pydantic model as a mapping, whatever else JSON cannot hold as a string."""

    def as_mapping(held: object) -> object:
        return dict(held) if isinstance(held, BaseModel) else str(held)

    return well_formed(json.dumps(value, ensure_ascii=False, default=as_mapping))


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
    if is_list(value):
        return all(map(is_blank, value))
    text = value.content if isinstance(value, Message | Document) else value
    return text is None or (isinstance(text, str) and not text.strip())


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


def get(item: object, name: str, default: object = None) -> Any:  # noqa: ANN401  whatever it holds
    """What a mapping or an object has under a name; the default if that is None."""
    value = item.get(name) if is_mapping(item) else getattr(item, name, None)
    return default if value is None else value


def _contents(item: object) -> list[Any]:
    """What an item has under the names of a content."""
    return [value for name in CONTENT_NAMES if (value := get(item, name)) is not None]


def _items(value: object) -> list[Any]:
    """The items of an iterable; a string, a mapping or an object with content is the only item itself."""
    if is_list(value):
        return [*map(_unwrapped, value)]
    is_one = isinstance(value, str | Mapping) or any(hasattr(value, name) for name in CONTENT_NAMES)
    items: list[Any] = [value] if is_one or not isinstance(value, Iterable) else [*cast("Any", value)]
    return [*map(_unwrapped, items)]


def _unwrapped(item: object) -> object:
    """An item as one mapping, if it is a (role, text) pair or in a wrapper of LangChain's dumps."""
    if is_mapping(item):
        path, dumped, data = item.get("id"), item.get("kwargs"), item.get("data")
        if path and "lc" in item and is_list(path) and is_mapping(dumped):
            return {"type": path[-1], **dumped}
        return {**item, **data} if is_mapping(data) and set(item) == {"type", "data"} else item
    match item:
        case [str(role), str(content)] if role in ROLES:
            return {"role": role, "content": content}
        case _:
            return item


# --- blocks of content ------------------------------------------------------------------------------------


def _kind(block: object) -> str:
    """The type of a content block, or the only key of a text or medium without one; "" if it has neither."""
    kind = get(block, "type")
    if kind is None and is_mapping(block) and len(block) == 1:
        (kind,) = block
        return kind if _sort(kind) in {"text", "media"} else ""
    return kind if isinstance(kind, str) else ""


def _sort(kind: str) -> str | None:
    """How a block of that type is read: as text, reasoning, call, result or media; None if it is data."""
    found = BLOCK.fullmatch(kind)
    return found and found.lastgroup


def _blocks(content: object, sort: str) -> list[Any]:
    """The blocks of a content that are read like that."""
    return [each for each in content if _sort(_kind(each)) == sort] if is_list(content) else []


def _text(block: object) -> str | None:
    """The text of a text block or a refusal; OpenAI's assistants put it one level deeper."""
    text = get(block, "text", get(block, "refusal"))
    text = text.get("value") if is_mapping(text) else text
    return text if isinstance(text, str) else None


def content_text(content: object) -> str:
    """A string as it is; of a list of content blocks the texts, one per line; any other data as JSON."""
    if isinstance(content, str):
        return content
    if is_list(content) and all(isinstance(each, str) or _kind(each) or _text(each) for each in content):
        return "\n".join(filter(None, map(_block_text, content)))
    return as_json(content)


def _block_text(block: object) -> str:
    """A block as text; "" for a tool call, which the message keeps, and for reasoning."""
    kind, text = _kind(block), _text(block)
    sort = _sort(kind)
    if sort in {"call", "reasoning"}:
        return ""
    if text is not None and (sort == "text" or not is_mapping(block)):
        return text
    return f"[{kind}]" if sort == "media" else content_text(block)


def holds_media(value: object) -> bool:
    """Whether messages or documents have content that cannot be shown as text, such as images."""
    contents: list[object] = []
    with suppress(Exception):  # what cannot be read is not shown at all, and an error
        for item in () if value is None or isinstance(value, str) else messages_in(value):
            contents += [] if isinstance(item, str | Document) else _contents(item)
    return any(_blocks(content, "media") for content in contents)


# --- messages ---------------------------------------------------------------------------------------------


def role_of(item: object) -> str | None:
    """A message's role, from `role` (OpenAI) or `type` (LangChain); None if the item is not a message."""
    role, kind = get(item, "role"), get(item, "type")
    if isinstance(role, str):
        return ROLES.get(role, role)
    return ROLES.get(str(kind).removesuffix("Chunk").removesuffix("Message").lower())


def is_chat(value: object) -> bool:
    """Whether a value is a message, or a list of nothing but messages."""
    said = readable("conversation", value)
    return is_list(said) and bool(said)


def messages_in(value: object) -> list[Any]:
    """The messages of a value, as they were given; pairs of role and text are mappings.

    Anthropic's tool results are blocks in a message of the user's: each becomes a message with role "tool".
    """
    return [part for item in _items(value) for part in _split(item)]


def _split(item: object) -> Iterator[Any]:
    blocks = get(item, "content")
    if not _blocks(blocks, "result"):
        yield item
        return
    for is_result, group in groupby(blocks, lambda block: _sort(_kind(block)) == "result"):
        if not is_result:
            yield {"role": role_of(item), "content": [*group], "name": get(item, "name")}
            continue
        for each in group:
            content = get(each, "content", get(each, "output", ""))
            yield {"role": "tool", "name": get(each, "name"), "content": content}


def _message(field: str, item: object) -> Message:
    """A message from OpenAI's, Anthropic's or LangChain's mapping or object."""
    if isinstance(item, Message):
        return item
    role, calls, name = role_of(item), _calls(item), get(item, "name", get(item, "function"))
    refusal = get(item, "refusal", get(get(item, "additional_kwargs"), "refusal"))
    failure = get(get(item, "error"), "message")  # of Inspect's tools
    contents = [content for content in (get(item, "content"), refusal, failure) if content is not None]
    if role is None or not (contents or calls):
        raise _unreadable(field, "a string or chat messages with role and content", item)
    whole = _whole(item) if role == "tool" else None
    return Message(
        role=role,
        content=whole or "\n".join(filter(None, map(content_text, contents))),
        name=name if isinstance(name, str) else None,
        tool_calls=tuple(map(_tool_call, calls)),
    )


def _calls(item: object) -> list[Any]:
    """A message's tool calls, from every place that has some; what has an id is listed once."""
    places = (get(item, "additional_kwargs"), item)
    names = ("tool_calls", "invalid_tool_calls")
    listed = [
        *_blocks(get(item, "content"), "call"),
        *(call for place in places for name in names for call in get(place, name) or ()),
        *(call for place in places if (call := get(place, "function_call")) is not None),
    ]
    return [*{get(call, "id") or number: call for number, call in enumerate(listed)}.values()]


def _tool_call(call: object) -> ToolCall:
    # OpenAI nests name and arguments in "function", which is the name itself in Inspect.
    nested = get(call, "function", call)
    call = call if isinstance(nested, str) else nested
    arguments = get(call, "arguments", get(call, "args", get(call, "input")))
    return ToolCall(name=str(get(call, "name", get(call, "function", ""))), arguments=arguments)


# --- documents --------------------------------------------------------------------------------------------


def _document(field: str, item: object) -> Document:
    """A document from a string, a mapping, a LangChain Document or DeepEval's RetrievedContextData."""
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return Document(content=item)
    is_tool, metadata, values = _is_tool_result(item), get(item, "metadata"), _contents(item)
    titles = (
        get(item, "title"),
        is_mapping(metadata) and metadata.get("title"),
        is_tool and get(item, "name"),
    )
    title = next(filter(None, titles), "")
    texts = dict.fromkeys(filter(str.strip, map(content_text, values)))
    content = (is_tool and _whole(item)) or "\n\n".join(texts)
    may_be_blank = any(isinstance(value, str) for value in values) and (is_tool or not title)
    if not content and not may_be_blank:
        raise _unreadable(field, DOCUMENTS, item)
    return Document(content=content, title=str(title), kind="tool" if is_tool else "knowledge")


def _is_tool_result(item: object) -> bool:
    """Whether a document's kind or, if it has none, its role or a plain mapping's title says so."""
    kind, title = get(item, "kind"), get(item, "title")
    if kind is not None:
        return bool(TOOL_KIND.fullmatch(str(kind)))
    by_title = is_mapping(item) and isinstance(title, str) and title.startswith(TOOL_TITLE)
    return by_title or "tool" in {get(item, "role"), get(item, "tool_call_id") and role_of(item)}


def _whole(item: object) -> str | None:
    """A tool result as JSON, if it is a mapping with more than a content: that is what it returned."""
    if not is_mapping(item) or "tool_call_id" in item:  # other keys of a message are no result
        return None
    returned = {key: item[key] for key in item if key not in ABOUT_A_RESULT and item[key] is not None}
    return as_json(returned) if len(returned) > 1 else None


# --- fields -----------------------------------------------------------------------------------------------


def _unreadable(field: str, expected: str, value: object) -> CaseError:
    code = "context_unreadable" if field == "context" else "field_unreadable"
    return CaseError(code, f"{field} must be {expected}, not {shape_of(value)}", field)


def _string(field: str, value: object) -> str:
    """A string; the profile may be a mapping, which is written as JSON."""
    if isinstance(value, str):
        return value
    if field == "profile" and is_mapping(value):
        return as_json(value)
    raise _unreadable(field, "a string", value)


def _string_or_messages(field: str, value: object) -> str | tuple[Message, ...]:
    return value if isinstance(value, str) else tuple(_message(field, item) for item in messages_in(value))


def _documents(field: str, value: object) -> tuple[Document, ...]:
    if is_list(value) and any(map(is_list, value)):  # a row of a table looks like a (role, text) pair
        raise _unreadable(field, DOCUMENTS, next(filter(is_list, value)))
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
    said = readable("conversation", value)
    if said and not isinstance(said, CaseError):
        return text_of(said, "assistant")
    return "\n\n".join(document.content for document in _documents(field, value))


def _answers(field: str, value: object) -> tuple[str, ...]:
    return tuple(text for item in _items(value) if (text := _string(field, item)).strip())


def _metadata(field: str, value: object) -> Any:  # noqa: ANN401
    if is_mapping(value):
        return as_data(value)
    raise _unreadable(field, "a mapping", value)


def _own_text(_: str, value: object) -> str:
    return value if isinstance(value, str) else as_json(value) if value not in ([], {}) else ""


READERS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {
        **dict.fromkeys(("query", "response", "conversation", "messages"), _string_or_messages),
        **dict.fromkeys(("context", "documents"), _documents),
        **dict.fromkeys(("profile", "agent_name"), _string),
        "reference": _reference,
        "answers": _answers,
        "id": lambda _, value: str(value),
        "metadata": _metadata,
        "text": _own_text,
        "list": lambda _, value: tuple(value) if is_list(value) else (value,),
    }
)
"""The function that reads a field, or an input of that type; what was read already is read unchanged."""


def read(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as the field is declared
    """A field's value as a case keeps it.

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


def readable(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  like `read`
    """Like `read`, but the error is returned: it is reported only if a judge needs the field."""
    if isinstance(value, CaseError):
        return value
    try:
        return READERS[kind or field](field, value)
    except CaseError as error:
        return error
    except Exception as error:  # noqa: BLE001  whatever an object's own methods raise
        return CaseError(
            "field_unreadable", f"{field} cannot be read: {type(error).__name__}: {error}", field
        )
