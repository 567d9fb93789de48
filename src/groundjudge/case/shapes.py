"""The usual shapes of texts, chat messages, documents and tools' calls and results, read into one form.

A value is cut into items (`_items`) and the content of each into blocks (`_blocks`). From these a `Message`
or a `Document` is made, whatever shape it had. Everything else works on these two.

Nothing is dropped silently: what a shape holds beside its text is kept as a tool call, as another message or
as JSON, and what cannot be shown as text leaves its name in brackets. Only a model's reasoning is left out,
because it is not part of what the model said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import chain, groupby
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeGuard, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, InstanceOf, field_serializer

from groundjudge.errors import CaseError
from groundjudge.verdict import Frozen, String, well_formed

CONTENT_NAMES = ("content", "page_content", "text", "snippet", "context")
"""The keys or attributes under which a document may hold its text."""

DOCUMENTS = f"documents: strings, or with text as {', '.join(CONTENT_NAMES)}"

TOOL_TITLE = "Tool Result:"
"""A mapping whose title begins exactly like this is a tool result, unless it has a kind or a role."""

OLDER_ROLES = {"human": "user", "ai": "assistant", "function": "tool"}
ROLES = {role: role for role in ("system", "developer", "user", "assistant", "tool")} | OLDER_ROLES
"""Names of roles, including LangChain's and older ones -> the role. Other names are kept unchanged."""

ABOUT_A_RESULT = frozenset(["role", "type", "kind", "title", "name", "id", "metadata", "tool_calls"])
"""The keys of a tool result that say what it is, not what the tool returned."""

BLOCK = re.compile(
    r"(?P<text>text|(?:input|output)_text|refusal)"
    r"|(?P<reasoning>(?:redacted_)?thinking|reasoning(?:_content)?)"
    r"|(?P<result>\w*(?:tool_result|_call_output|function_response)|code_execution_result)"
    r"|(?P<call>\w*tool_use|\w+_call|executable_code)"
    r"|(?P<media>(?:input_)?(?:image|audio|video|file|media|document)(?:_url|_file)?)"
)
"""The types of content blocks, of every vendor: the name of the group says how a block is read."""

NOT_SNAKE = re.compile("[A-Z]|-")
"""What some vendors write in place of `_` in the types of blocks: `toolUse`, `tool-call`."""

BARE = ("call", "result", "reasoning")
"""What OpenAI's Responses have beside messages, instead of in their content."""

BESIDE_CONTENT = ("tool_calls", "invalid_tool_calls", "additional_kwargs", "refusal", "function_call")
"""What a message has beside its content; if that is split, its last part keeps it."""

QUOTED = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
LIST_REPR = re.compile(rf"\[\s*{QUOTED}(?:(?:\s*,\s*|\s+){QUOTED})*+\s*,?\s*\]", re.DOTALL)
"""How Python writes a list of strings, and NumPy an array of them."""


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


def plain(value: Any) -> Any:  # noqa: ANN401  whatever was given
    """A list in place of NumPy's or pandas' arrays, and of what can be gone through only once."""
    kind = type(cast("object", value))
    if hasattr(kind, "__next__"):
        return [*value]
    return value.tolist() if hasattr(kind, "tolist") else value


def get(item: object, name: str, default: object = None) -> Any:  # noqa: ANN401  whatever it holds
    """What a mapping or an object has under a name; the default if that is None."""
    value = item.get(name) if is_mapping(item) else getattr(item, name, None)
    return default if value is None else plain(value)


def as_json(value: object) -> str:
    """The value as JSON: models and dataclasses as mappings, whatever else JSON cannot hold as a string."""

    def held_by(value: object) -> object:
        if isinstance(value, BaseModel):
            return dict(value)
        if is_dataclass(value):
            return {each.name: getattr(value, each.name) for each in fields(value)}
        if isinstance(value, set | frozenset):
            return sorted(cast("set[object]", value), key=str)
        listed = plain(value)
        return str(value) if listed is value else listed

    return well_formed(json.dumps(value, ensure_ascii=False, default=held_by))


def as_data(value: object) -> Any:  # noqa: ANN401  whatever JSON can hold
    """The value as JSON data, so that a case can be written, read again and compared."""
    with suppress(TypeError, ValueError, RecursionError):  # a key that is no string, a circle
        return json.loads(as_json(value), parse_constant=str)
    return well_formed(str(value))


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


@dataclass(frozen=True)
class Titled:
    """What a document was read from that only its title makes a tool result; any two are equal."""

    item: Mapping[str, Any] = field(compare=False)


class Document(Frozen):
    """A source that a response must be grounded in.

    Attributes:
        content: the text.
        title: shown to the model next to the text; "" for none.
        kind: "tool" for a tool result, whatever title and content say; "knowledge" for anything else. In a
            dump it is null where only the title of a mapping said "tool", so that it can be read again.
        holds_media: whether there was more than the text can show, such as an image; not part of a dump.
        titled: the mapping, where only its title said "tool"; not part of a dump.
    """

    content: String
    title: String = ""
    kind: Literal["knowledge", "tool"] = "knowledge"
    holds_media: bool = Field(default=False, exclude=True, repr=False)
    titled: InstanceOf[Titled] | None = Field(default=None, exclude=True, repr=False)

    @field_serializer("kind")
    def _declared_kind(self, kind: str) -> str | None:
        return None if self.titled else kind


def is_blank(value: object) -> bool:
    """Whether a field's value is None or holds nothing but white space."""
    if is_list(value):
        return all(map(is_blank, value))
    text = value.content if isinstance(value, Message | Document) else value
    return text is None or (isinstance(text, str) and not text.strip())


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


# --- items and their content ------------------------------------------------------------------------------

Block: TypeAlias = tuple[str, str, Any]
"""How a block of content is read, a group of `BLOCK`; its text; and the block as it was given."""


def _sort(kind: object) -> str:
    """How a block of that type is read: a group of `BLOCK`, or ""."""
    found = BLOCK.fullmatch(NOT_SNAKE.sub(lambda sign: f"_{sign[0].strip('-').lower()}", str(kind)))
    return str(found.lastgroup) if found else ""


def _block(block: object) -> Block:
    """A block of any vendor's; of mere data the group is ""."""
    if isinstance(block, str):
        return "text", block, block
    only_key = next(iter(block)) if is_mapping(block) and len(block) == 1 else None
    kind, text = get(block, "type", only_key), get(block, "text", get(block, "refusal"))
    sort, has_type = _sort(kind), isinstance(kind, str) and kind is not only_key
    if sort in {"call", "result"} and is_mapping(held := get(block, str(only_key))):  # Bedrock's, Gemini's
        block, has_type = held, True
    if sort == "call" and _output(block) is not None:
        sort = "result"  # the provider made the call
    if sort in {"call", "reasoning"} and has_type:  # the message keeps its calls
        return sort, "", block
    if sort == "media" and get(source := get(block, "source"), "type") == "text":  # Anthropic's documents
        sort, text = "text", get(source, "data")
    if (is_mapping(block) and not block) or (sort == "text" and has_type and text is None):
        return "text", "", block
    if isinstance(text, str) and (sort == "text" or not is_mapping(block)):
        return "text", text, block
    if sort == "media":
        return sort, f"[{kind}]", block
    is_block = has_type or sort == "text" or (isinstance(text, str) and text)
    sort = "data" if sort in {"", "text"} else sort
    return (sort, as_json(block), block) if is_block else ("", "", block)


def _blocks(content: object) -> list[Block]:
    """The blocks of a content. A string is one; so is, as JSON, a list that holds other data beside text."""
    if isinstance(content, str):
        return [("text", content, content)]
    blocks = [*map(_block, content)] if is_list(content) else [("", "", content)]
    sorts = {sort for sort, _, _ in blocks}
    if "" in sorts <= {"", "text", "data"}:
        return [("data", as_json(content), content)]
    return [(sort or "data", text if sort else as_json(block), block) for sort, text, block in blocks]


def _output(block: object) -> Any:  # noqa: ANN401  whatever a tool returns
    """What a tool returned, in a block of any vendor's; None if the block has none."""
    names = ("content", "output", "result", "response", "code_execution_result")
    return next((found for name in names if (found := get(block, name)) is not None), None)


def _text(blocks: Iterable[Block], between: str = "\n") -> str:
    """The texts of blocks, one per line; adjacent texts with something else between them."""
    groups = groupby((block for block in blocks if block[1]), lambda block: block[0] == "text")
    lines = ((between if is_text else "\n").join(text for _, text, _ in some) for is_text, some in groups)
    return "\n".join(lines)


def _hold_media(blocks: Iterable[Block]) -> bool:
    return any(sort == "media" for sort, _, _ in blocks)


def content_text(content: object) -> str:
    """A string as it is; of a list of content blocks the texts, one per line; any other data as JSON."""
    return _text(_blocks(content))


def role_of(item: object) -> str | None:
    """A message's role, from `role` (OpenAI) or `type` (LangChain); None if the item is not a message."""
    role, kind = get(item, "role"), str(get(item, "type"))
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
    return ROLES.get(role.casefold(), role) if isinstance(role, str) else ROLES.get(kind)


def _items(value: Any, *, are_said: bool = False) -> Iterator[Any]:  # noqa: ANN401  whatever was given
    """The items of a value: a string, a mapping or an object with content is the only item itself.

    What LangChain dumps, and a pair of role and text, is a mapping like those of others.

    Args:
        value: the value.
        are_said: whether the items are a thread's, where calls and results stand beside messages in OpenAI's
            Responses. No type makes a document a tool's result.
    """
    is_one = isinstance(value, str | Mapping | BaseModel) or not isinstance(value, Iterable)
    items: list[Any] = [value] if is_one else [*value]
    for item in items:
        match item:
            case {"lc": _, "id": [*_, kind], "kwargs": {**held}}:
                yield from _split({"type": kind, **held})
            case {"type": _, "data": {**held}} if len(item) == len(("type", "data")):
                yield from _split({**item, **held})
            case [str(role), content] if role in ROLES and isinstance(content, str | list):
                yield from _split({"role": role, "content": cast("object", content)})
            case _ if are_said and not role_of(item) and (sort := _sort(get(item, "type"))) in BARE:
                if sort != "reasoning":
                    yield from _split({"role": "assistant", "content": [item]})
            case _:
                yield from _split(item)


def _split(item: object) -> Iterator[Any]:
    """An item; each result of a tool in its content, as Anthropic sends them, is an item with role "tool".

    What follows a call is an item too: no application has answered that call, so the provider made it.
    """
    turns: list[list[Block]] = []
    for block in _blocks(content) if is_list(content := get(item, "content")) else ():
        before = turns[-1][-1][0] if turns else "result"
        if "result" in {before, block[0]} or before == "call" != block[0]:
            turns.append([])
        turns[-1].append(block)
    if len(turns) < 2 and not (turns and turns[0][0][0] == "result"):  # noqa: PLR2004
        yield item
        return
    beside = {name: held for name in BESIDE_CONTENT if (held := get(item, name))}
    if beside and turns[-1][0][0] == "result":
        turns.append([("text", "", "")])
    for turn in turns:
        (sort, _, block), given = turn[0], [block for _, _, block in turn]
        if sort == "result":
            yield from _split({"role": "tool", "name": get(block, "name"), "content": _output(block) or ""})
        else:
            more = beside if turn is turns[-1] else {}
            yield {"role": role_of(item), "name": get(item, "name"), "content": given, **more}


def _message(field: str, item: object) -> Message:
    """A message from OpenAI's, Anthropic's or LangChain's mapping or object."""
    if isinstance(item, Message):
        return item
    role, name = role_of(item), get(item, "name", get(item, "function"))
    refusal = get(item, "refusal", get(get(item, "additional_kwargs"), "refusal"))
    failure = get(get(item, "error"), "message")  # of Inspect's tools
    contents = [content for content in (get(item, "content"), refusal, failure) if content is not None]
    parts = [_blocks(content) for content in contents]
    blocks = [*chain(*parts)]
    calls = _calls(item, blocks)
    if role is None or not (contents or calls):
        _refused(field, "a string or chat messages with role and content", item)
    # What a model says in adjacent blocks is one text, which is only cut where it cites something.
    texts = (_text(part, "" if role == "assistant" else "\n") for part in parts)
    content = (_whole(item) if role == "tool" else "") or "\n".join(filter(None, texts))
    name, has_media = name if isinstance(name, str) else None, _hold_media(blocks)
    return Message(role=role, content=content, name=name, tool_calls=calls, holds_media=has_media)


def _calls(item: object, blocks: Iterable[Block]) -> tuple[ToolCall, ...]:
    """A message's tool calls, from every place that has some; what has an id is listed once."""
    places = (get(item, "additional_kwargs"), item)
    names = ("tool_calls", "invalid_tool_calls")
    listed = [
        *(block for sort, _, block in blocks if sort == "call"),
        *(call for place in places for name in names for call in get(place, name) or ()),
        *(call for place in places if (call := get(place, "function_call")) is not None),
    ]
    return tuple(map(_call, {get(call, "id") or number: call for number, call in enumerate(listed)}.values()))


def _call(call: object) -> ToolCall:
    function = get(call, "function", get(call, "custom"))  # OpenAI nests in it; in Inspect it is the name
    named = call if isinstance(function, str | None) else function
    arguments = get(named, "arguments", get(named, "args", get(named, "input")))
    name = get(named, "name", get(named, "toolName", get(named, "function", get(call, "type", ""))))
    return ToolCall(name=str(name), arguments=arguments)


def _document(field: str, item: object) -> Document:
    """A document from a string, a mapping or an object, such as LangChain's Document or a message."""
    if isinstance(item, Document | str):
        return item if isinstance(item, Document) else Document(content=item)
    titled = Titled(item) if _is_titled_tool_result(item) else None
    is_tool = bool(titled) or _is_tool_result(item)
    values = [value for name in CONTENT_NAMES if (value := get(item, name)) is not None]
    blocks = [*map(_blocks, values)]
    is_message = role_of(item) is not None
    name = get(item, "name") if is_message else None
    title = str(get(item, "title") or get(get(item, "metadata"), "title") or name or "")
    texts = dict.fromkeys(filter(str.strip, map(_text, blocks)))
    content = (_whole(item) if is_tool else "") or "\n\n".join(texts)
    may_be_blank = any(isinstance(value, str) for value in values) and (is_tool or is_message or not title)
    if not content and not may_be_blank:
        _refused(field, DOCUMENTS, item)
    kind: Literal["knowledge", "tool"] = "tool" if is_tool else "knowledge"
    has_media = holds_media([item]) or _hold_media(chain(*blocks))
    return Document(content=content, title=title, kind=kind, holds_media=has_media, titled=titled)


def _is_tool_result(item: object) -> bool:
    """Whether a document's kind or, if it has none, its role says so."""
    if (kind := get(item, "kind")) is not None:
        return re.fullmatch("tool(?:[ _-]result)?", str(kind).lower()) is not None
    return role_of(item) == "tool" and get(item, "role", get(item, "tool_call_id")) is not None


def _is_titled_tool_result(item: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether the title of a mapping that has neither kind nor role says so: its application wrote it."""
    is_plain = is_mapping(item) and get(item, "kind", get(item, "role")) is None
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
    return tuple(_message(field, item) for item in _items(value, are_said=True))


def _documents(field: str, value: object) -> tuple[Document, ...]:
    if is_list(value) and any(map(is_list, value)):  # a row of a table looks like a (role, text) pair
        _refused(field, DOCUMENTS, next(filter(is_list, value)))
    if not isinstance(value, str):
        return tuple(_document(field, item) for item in _items(value))
    if field == "context" and LIST_REPR.fullmatch(value.strip()):
        literal = (
            "a list, not what pandas writes for a list into CSV: use ast.literal_eval, or a list of the text"
        )
        _refused(field, literal, value)
    return (Document(content=value),) if value.strip() else ()


def _retrieved(field: str, value: object) -> tuple[Document, ...]:
    """Documents whose titles say nothing: only a kind or a role makes one a tool result."""
    told = (
        {**each.titled.item, "kind": "knowledge"} if each.titled else each
        for each in _documents(field, value)
    )
    return tuple(_document(field, each) for each in told)


def _reference(field: str, value: object) -> str:
    """A string as it is; of documents all their texts, of chat messages the last assistant message."""
    if isinstance(value, str) or is_chat(value):
        return text_of(read("messages", value), "assistant")
    return "\n\n".join(document.content for document in _documents(field, value))


def _answers(field: str, value: object) -> tuple[str, ...]:
    return tuple(text for item in _items(value) if (text := _string(field, item)).strip())


def _metadata(field: str, value: object) -> Any:  # noqa: ANN401  whatever JSON can hold
    held: Mapping[Any, Any] = value if is_mapping(value) else _refused(field, "a mapping", value)
    return {well_formed(str(key)): as_data(each) for key, each in held.items()}


READERS: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("query", "response", "conversation", "messages"), _string_or_messages),
    **dict.fromkeys(("context", "documents"), _documents),
    "retrieved": _retrieved,
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


def read(field: str, value: object, kind: str | None = None) -> Any:  # noqa: ANN401  as the field is declared
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
