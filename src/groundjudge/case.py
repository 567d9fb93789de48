"""A case is what gets judged: a response and what it has to be grounded in, in any usual shape."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard, cast

from pydantic import AfterValidator, BeforeValidator, Field

from groundjudge.errors import CaseError
from groundjudge.paths import value_at
from groundjudge.verdict import Frozen

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "query": ("question", "input", "user_input", "customerQuery"),
        "response": (
            "answer",
            "output",
            "actual_output",
            "prediction",
            "statement",
            "hypothesis",
            "passage_llm",
        ),
        "context": (
            "contexts",
            "documents",
            "retrieved_contexts",
            "retrieval_context",
            "retrievedDocuments",
            "source",
            "premise",
        ),
        "reference": ("ground_truth", "expected_output", "expected", "reference_answer", "passage_gt"),
        "conversation": ("history", "messages", "turns"),
        "profile": (),
        "agent_name": (),
        "answers": ("real_answers",),
    }
)
"""The fields that a judge can ask for, each with the other names that a mapping may give it."""

FIELD_NAMED: Mapping[str, str] = MappingProxyType(
    {name: field for field, aliases in ALIASES.items() for name in (field, *aliases)}
)

CONTENT_NAMES = ("content", "page_content", "text", "snippet", "context")
TOOL_TITLE = "Tool Result:"
ROLES: Mapping[str, str] = MappingProxyType(
    {
        **{role: role for role in ("system", "developer", "user", "assistant", "tool")},
        "human": "user",
        "ai": "assistant",
        "function": "tool",
    }
)
"""The roles of chat messages, LangChain's and older names among them. Others are kept as they are."""


def well_formed(text: str) -> str:
    """The text with half characters (lone surrogates) replaced, which no JSON or UTF-8 can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _data(value: object) -> Any:  # noqa: ANN401  whatever JSON can hold
    """The value as JSON holds it: what a case keeps can be written, read again and compared."""
    return None if value is None else json.loads(_json(value), parse_constant=str)


def _arguments(value: object) -> Any:  # noqa: ANN401
    """A call's arguments as data: OpenAI sends them as the text of a JSON object."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            told = json.loads(value)
            value = told if is_mapping(told) else value
    return _data(value)


def _json(value: object) -> str:
    return well_formed(json.dumps(value, ensure_ascii=False, default=str))


String: TypeAlias = Annotated[str, AfterValidator(well_formed)]
"""A text that can be sent and written."""


class ToolCall(Frozen):
    """A call that an assistant message makes."""

    name: String
    arguments: Annotated[Any, BeforeValidator(_arguments)] = None


class Message(Frozen):
    """A chat message. A tool's result is a message with role "tool"."""

    role: Annotated[String, AfterValidator(lambda role: ROLES.get(role, role))]
    content: String = ""
    name: String | None = None
    tool_calls: tuple[ToolCall, ...] = ()


class Document(Frozen):
    """A source. Only its kind makes it a tool result, never its content."""

    content: String
    title: String = ""
    kind: Literal["knowledge", "tool"] = "knowledge"


Text: TypeAlias = str | Sequence[Message | Mapping[str, Any] | Any]
"""A text, or chat messages in the shapes of OpenAI and LangChain."""

Context: TypeAlias = str | Document | Mapping[str, Any] | Sequence[str | Document | Mapping[str, Any] | Any]
"""A text, a document, or a list of either; documents also as LangChain and DeepEval make them."""


class Case(Frozen):
    """What a judge is given. A field that is None was not given, which is not the same as empty.

    `metadata` is kept as JSON data: what JSON cannot hold is kept as its text.

    Raises:
        CaseError: a field cannot be read as what it stands for (`field_unreadable`,
            `context_unreadable`, which names the keys that were there).
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

    def __init__(  # noqa: PLR0913  a case has that many fields
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
        id: str | int | None = None,  # noqa: A002  the field's name everywhere
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        given = {
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
        read = {field: _read(field, value) for field, value in given.items() if value is not None}
        super().__init__(**read)

    @classmethod
    def of(cls, case: Case | Mapping[str, Any]) -> Case:
        """The case itself, or the one that a mapping describes (see `from_mapping`)."""
        return case if isinstance(case, Case) else cls.from_mapping(case)

    @classmethod
    def from_mapping(cls, row: Mapping[str, Any]) -> Case:
        """Build a case from a plain mapping: a line of a file, a framework's inputs and outputs.

        The usual other names of the fields are understood (see `ALIASES`); keys that name no field
        go to `metadata`. A row with `inputs` and `outputs` is read as `from_exchange` reads them.

        Raises:
            CaseError: as for `Case`; `alias_conflict` when two names of one field disagree;
                `unreadable_row` when the row is no mapping.
        """
        if not is_mapping(row):
            message = f"a case must be a mapping from its fields' names to their values, not {_shape(row)}"
            raise CaseError("unreadable_row", message)
        if "inputs" in row and "outputs" in row:
            rest = {key: row[key] for key in row if key not in {"inputs", "outputs", "reference_outputs"}}
            return cls._merged(_exchange(row["inputs"], row["outputs"], row.get("reference_outputs")), rest)
        return cls._merged(row, {})

    @classmethod
    def from_exchange(
        cls,
        inputs: object,
        outputs: object,
        reference_outputs: object = None,
        *,
        where: Mapping[str, str] | None = None,
        roots: Mapping[str, object] | None = None,
        **more: object,
    ) -> Case:
        """Build a case from the two sides of an application's run, and what was expected of it.

        On the input side `messages` is the query (beside a query by another name: the conversation); on
        the output side the last assistant message is the response, unless another name gives it; on the
        reference side an answer is the reference. What is no mapping, or is a message, stands for the
        side's main field. A case's own context belongs to the output; one that came with the inputs
        or the reference is its fallback.

        Args:
            inputs: what the application was given.
            outputs: what it returned.
            reference_outputs: what was expected of it.
            where: fields that stand elsewhere, each with a dotted path that begins with inputs, outputs,
                reference_outputs or one of the `roots`: {"query": "inputs.q"}. They come before whatever
                is found by the usual names.
            roots: what else a path can begin with, by name.
            more: further fields under any of their names.

        Raises:
            CaseError: as for `from_mapping`; `bad_path` for a path that begins with something else.
        """
        sides = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        if not where:
            return cls._merged(_exchange(*sides.values()), more)
        case = cls()
        with suppress(CaseError):  # names that disagree matter only where they are used
            case = cls._merged(_exchange(*sides.values()), more)
        all_roots = {**sides, **(roots or {})}
        mapped = cls.from_mapping({field: value_at(all_roots, path) for field, path in where.items()})
        fields: dict[str, Any] = {
            FIELD_NAMED[name]: getattr(mapped, FIELD_NAMED[name]) for name in where if name in FIELD_NAMED
        }
        metadata = {**case.metadata, **mapped.metadata}
        return case.model_copy(update={**fields, "id": mapped.id or case.id, "metadata": metadata})

    @classmethod
    def _merged(cls, row: Mapping[str, Any], more: Mapping[str, Any]) -> Case:
        fields, rest = _fields((*row.items(), *more.items()), FIELD_NAMED)
        own, case_id = rest.pop("metadata", None), rest.pop("id", None)
        if is_mapping(own):
            rest = {**own, **rest}
        elif own is not None:
            rest["metadata"] = own
        return cls(**fields, id=case_id, metadata=rest)

    def given(self) -> tuple[str, ...]:
        """The names of what the case holds, its metadata's keys included."""
        return (*(field for field in ALIASES if getattr(self, field) is not None), *self.metadata)

    @property
    def query_text(self) -> str:
        """What the user asked last, as plain text."""
        return text_of(self.query, "user")

    @property
    def response_text(self) -> str:
        """The response that is judged, as plain text: of messages the assistant's last one."""
        return text_of(self.response, "assistant")


def is_blank(value: object) -> bool:
    """Whether a field's value holds no text at all."""
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
    """A field's text; of messages the last one of that role, or all where none is of that role."""
    if value is None or isinstance(value, str):
        return value or ""
    spoken = [message for message in value if not is_blank(message)]
    of_role = [message.content for message in spoken if message.role == role]
    return of_role[-1] if of_role else "\n\n".join(message.content for message in spoken)


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is a mapping, told to type checkers too."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether it is a list or a tuple, told to type checkers too."""
    return isinstance(value, list | tuple)


def _read(field: str, value: object) -> Any:  # noqa: ANN401  what the field holds
    """A field's value as a case keeps it; whatever goes wrong on the way is the field's own error."""
    try:
        return READERS[field](field, value)
    except CaseError:
        raise
    except Exception as error:
        message = f"{field} cannot be read: {type(error).__name__}: {error}"
        raise CaseError("field_unreadable", message, field) from error


def _fields(
    pairs: Iterable[tuple[str, Any]], names: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that the pairs name, read, and the pairs that name none."""
    fields: dict[str, Any] = {}
    named: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for key, value in pairs:
        field = names.get(key)
        if field is None:
            rest[key] = value
        elif value is not None:
            read = _read(field, value)
            if is_blank(fields.get(field)):
                fields[field], named[field] = read, key
            elif not is_blank(read) and read != fields[field]:
                message = (
                    f"{named[field]!r} and {key!r} both name the case's {field}, and they differ: "
                    "leave one of them out"
                )
                raise CaseError("alias_conflict", message, field)
    return fields, rest


def _exchange(inputs: object, outputs: object, reference_outputs: object) -> dict[str, Any]:
    """What the sides of an exchange give together: the output's fields come before the input's."""
    asked, answered, expected = (
        _side(inputs, "query"),
        _side(outputs, "response"),
        _side(reference_outputs, "reference"),
    )
    if isinstance(answered.get("response"), tuple):
        others = {"system", "developer", "user", "tool"}
        answered["response"] = tuple(each for each in answered["response"] if each.role not in others)[-1:]
    ids = {"id": asked["id"]} if "id" in asked else {}  # an output's id is often that of its completion
    return {**expected, **asked, **answered, **ids}


def _side(side: object, main: str) -> dict[str, Any]:
    """One side of an exchange: the fields that it gives, read, and what else it holds."""
    if side is None:
        return {}
    if not is_mapping(side) or (_role(_getter(side)) and _getter(side)("content") is not None):
        return {main: _read(main, side)}
    names = {**FIELD_NAMED, "messages": main}
    if main == "reference":
        names |= dict.fromkeys(("response", *ALIASES["response"]), main)
    if any(names.get(key) == main and key != "messages" and side[key] is not None for key in side):
        names["messages"] = "conversation"
        if main != "query":  # they hold the answer too, so they are no conversation to judge it by
            side = {key: value for key, value in side.items() if key != "messages"}
    fields, rest = _fields(side.items(), names)
    return {**rest, **fields}


def _getter(item: object) -> Callable[[str], Any]:
    """How to look a name up in a mapping, a (role, text) pair, or any object."""
    match item:
        case [str(role), str(content)] if role in ROLES:
            return {"role": role, "content": content}.get
        case _ if is_mapping(item):
            return _unwrapped(item).get
        case _:
            return lambda name: getattr(item, name, None)


def _unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping, without what LangChain's dumpd() and messages_to_dict() put around it."""
    path, dumped, data = item.get("id"), item.get("kwargs"), item.get("data")
    if "lc" in item and is_list(path) and is_mapping(dumped):
        return {"type": path[-1] if path else None, **dumped}
    if set(item) == {"type", "data"} and is_mapping(data):
        return {**item, **data}
    return item


def _role(get: Callable[[str], Any]) -> str | None:
    """A message's role: OpenAI says it as such, LangChain by the message's type; None if it is no message."""
    role, kind = get("role"), get("type")
    if isinstance(role, str):
        return role
    named = kind.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(kind, str) else ""
    return ROLES.get(named)


def _plain(field: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if field == "profile" and is_mapping(value):
        return _json(value)
    message = f"{field} must be a text, not {_shape(value)}"
    raise CaseError("field_unreadable", message, field)


def _talk(field: str, value: object) -> str | tuple[Message, ...]:
    if isinstance(value, str):
        return value
    return tuple(_message(field, item) for item in _items(value))


def _items(value: object) -> list[Any]:
    """What a list holds; a mapping, or an object that has a content, is the one item."""
    if isinstance(value, str | Mapping) or any(hasattr(value, name) for name in CONTENT_NAMES):
        return [value]
    return list(cast("Any", value)) if isinstance(value, Iterable) else [value]


def _message(field: str, item: object) -> Message:
    """A message from OpenAI's mapping, LangChain's object or mapping, or a (role, text) pair."""
    if isinstance(item, Message):
        return item
    get = _getter(item)
    role, calls = _role(get), get("tool_calls")
    content = get("refusal") if get("content") is None else get("content")
    if role is None or (content is None and not calls):
        message = f"{field} must be a text or chat messages with role and content, not {_shape(item)}"
        raise CaseError("field_unreadable", message, field)
    name = get("name")
    return Message(
        role=role,
        content="" if content is None else _content(content),
        name=name if isinstance(name, str) else None,
        tool_calls=tuple(_tool_call(call) for call in calls or ()),
    )


def _content(content: object) -> str:
    """A text; of a list of content parts the texts among them; any other data as JSON."""
    if isinstance(content, str):
        return content
    if is_list(content) and all(map(_is_part, content)):
        texts = (part if isinstance(part, str) else _getter(part)("text") for part in content)
        return "\n".join(text for text in texts if isinstance(text, str) and text)
    return _json(content)


def _is_part(part: object) -> bool:
    return isinstance(part, str) or any(isinstance(_getter(part)(name), str) for name in ("type", "text"))


def _tool_call(call: object) -> ToolCall:
    get = _getter(call)
    if get("function") is not None:  # OpenAI wraps name and arguments once more
        get = _getter(get("function"))
    arguments = get("args") if get("arguments") is None else get("arguments")
    return ToolCall(name=str(get("name") or ""), arguments=arguments)


def _documents(field: str, value: object) -> tuple[Document, ...]:
    if isinstance(value, str):
        return (Document(content=value),) if value.strip() else ()
    return tuple(_document(field, item) for item in _items(value))


def _document(field: str, item: object) -> Document:
    """A document from a text, a mapping, a LangChain Document or DeepEval's RetrievedContextData."""
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return Document(content=item)
    get = _getter(item)
    names = () if is_list(item) else CONTENT_NAMES
    told = [found for name in names if (found := get(name)) is not None]
    texts = [_content(found) for found in told]
    if not any(isinstance(found, str) for found in told) and not any(map(str.strip, texts)):
        raise CaseError(
            "context_unreadable" if field == "context" else "field_unreadable",
            f"{field}: a document must be a text or have a text as {', '.join(CONTENT_NAMES)}; "
            f"this is {_shape(item)}",
            field,
        )
    kind, title, metadata = get("kind"), get("title"), get("metadata")
    if kind is None:
        by_title = isinstance(item, Mapping) and isinstance(title, str) and title.startswith(TOOL_TITLE)
        is_tool = by_title or get("role") == "tool"
    else:
        is_tool = str(kind).casefold().replace("_", " ").replace("-", " ") in {"tool", "tool result"}
    title = title or (is_mapping(metadata) and metadata.get("title")) or (is_tool and get("name")) or ""
    return Document(
        content=next(filter(str.strip, texts), texts[0]),
        title=str(title),
        kind="tool" if is_tool else "knowledge",
    )


def _passage(field: str, value: object) -> str:
    """A text; of documents all their texts, of chat messages the last answer."""
    if isinstance(value, str):
        return value
    items = _items(value)
    if items and all(_role(_getter(item)) for item in items):
        return text_of(tuple(_message(field, item) for item in items), "assistant")
    return "\n\n".join(document.content for document in _documents(field, items))


def _answers(field: str, value: object) -> tuple[str, ...]:
    return tuple(text for item in _items(value) if (text := _plain(field, item)).strip())


def _id(_: str, value: object) -> str:
    return str(value)


def _metadata(field: str, value: object) -> Any:  # noqa: ANN401
    if is_mapping(value):
        return _data(value)
    message = f"{field} must be a mapping, not {_shape(value)}"
    raise CaseError("field_unreadable", message, field)


READERS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {
        "query": _talk,
        "response": _talk,
        "context": _documents,
        "reference": _passage,
        "conversation": _talk,
        "profile": _plain,
        "agent_name": _plain,
        "answers": _answers,
        "id": _id,
        "metadata": _metadata,
    }
)
"""How each field is read; reading what was read already changes nothing."""


def _shape(value: object) -> str:
    """What a value looks like, for an error: the keys of a mapping, the type of anything else."""
    if is_mapping(value):
        return f"a mapping with the keys {', '.join(map(str, value)) or '(none)'}"
    return f"{type(value).__name__} ({str(value)[:60]!r})"
