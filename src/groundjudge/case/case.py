"""A case is what a judge rates: a response and what it must be grounded in, read from any usual shape."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from groundjudge.case.paths import value_at
from groundjudge.errors import CaseError
from groundjudge.verdict import Frozen

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "query": ("question", "input", "user_input", "customerQuery"),
        "response": (
            "answer",
            "output",
            "actual_output",
            "prediction",
            "result",
            "generation",
            "statement",
            "hypothesis",
            "passage_llm",
        ),
        "context": (
            "contexts",
            "documents",
            "docs",
            "source_documents",
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
"""The fields that a prompt can show, each with the other names under which a mapping may hold it."""

FIELD_NAMED: Mapping[str, str] = MappingProxyType(
    {name: field for field, aliases in ALIASES.items() for name in (field, *aliases)}
)
"""Every name of a field, its own and the aliases -> the field."""

RESERVED = frozenset({"id", "metadata", "inputs", "outputs", "reference_outputs"})
"""Keys of a mapping that mean something else than a field or an entry of the metadata."""

CONTENT_NAMES = ("content", "page_content", "text", "snippet", "context")
"""The keys or attributes under which a document may hold its text, in the order they are tried."""

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


def well_formed(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, because neither JSON nor UTF-8 can hold them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _data(value: object, default: Callable[[Any], Any] = str) -> Any:  # noqa: ANN401  whatever JSON can hold
    """The value as JSON data, so that a case can be written, read again and compared."""
    return None if value is None else json.loads(_json(value, default), parse_constant=str)


def _arguments(value: object) -> Any:  # noqa: ANN401
    """The arguments of a tool call as JSON data; OpenAI sends them as a string that holds a JSON object."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            parsed = json.loads(value)
            value = parsed if is_mapping(parsed) else value
    return _data(value)


def _json(value: object, default: Callable[[Any], Any] = str) -> str:
    return well_formed(json.dumps(value, ensure_ascii=False, default=default))


def _fields_of(value: object) -> Any:  # noqa: ANN401  JSON data, or what json turns into it
    """A document's or message's fields, so that metadata keeps their shape; anything else as a string."""
    return dict(value) if isinstance(value, BaseModel) else str(value)


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
        super().__init__(**{name: _read(name, value) for name, value in given.items() if value is not None})

    @classmethod
    def of(cls, case: Case | Mapping[str, Any]) -> Case:
        """The case itself, or the one that a mapping describes (see `from_mapping`)."""
        return case if isinstance(case, Case) else cls.from_mapping(case)

    @classmethod
    def from_mapping(cls, row: Mapping[str, Any]) -> Case:
        """Build a case from a mapping, such as a line of a file or a framework's row.

        A field may have any of its names in `ALIASES`; keys that name no field go to `metadata`. A row
        with both `inputs` and `outputs` is read as by `from_exchange`.

        Raises:
            CaseError: as for `Case`; `alias_conflict` if two names of one field have different values;
                `unreadable_row` if the row is not a mapping.
        """
        if not is_mapping(row):
            message = f"a case must be a mapping from field names to values, not {_shape(row)}"
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
        """Build a case from the inputs and outputs of an application's run, and the expected outputs.

        If two sides hold the same field, the outputs come first, then the inputs, then the reference
        outputs; only the `id` of the inputs comes before that of the outputs.

        Args:
            inputs: a mapping, or the query itself. `messages` is the query or, if another key gives the
                query, the conversation. On each side, a dataclass or a pydantic model with a field under
                any of its names counts as a mapping.
            outputs: a mapping, or the response itself. Of `messages` the last assistant message is the
                response, unless another key gives it.
            reference_outputs: a mapping, or the reference itself. Any name of the response means the
                reference here.
            where: fields that stand elsewhere, each with a dotted path that begins with inputs, outputs,
                reference_outputs or one of the `roots`: {"query": "inputs.q"}. They come before whatever
                is found by the usual names.
            roots: what else a path can begin with, by name.
            more: further fields under any of their names; other keywords go to `metadata`.

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
    def from_state(
        cls,
        state: object,
        *,
        where: Mapping[str, str] | None = None,
        roots: Mapping[str, object] | None = None,
    ) -> Case:
        """Build a case from the state of an agent: its `messages`, and fields under their usual names.

        Of the messages, the last user message is the query. After it, the last assistant message that calls
        no tool is the response, and tool messages are the context. The conversation is what comes before
        the response: all messages, if there is none or another key gives it. A field that has a key of its
        own, even one with an empty value, is not read from the messages.

        Args:
            state: a mapping; any object if all that is needed of it is in `where`.
            where: fields, or `messages`, that stand elsewhere, each with a dotted path that begins with one
                of the `roots`. They come before what is found by the usual names.
            roots: what a path can begin with, by name.

        Raises:
            CaseError: as for `from_mapping`; `bad_path` for a path that begins with something else.
        """
        mapped = {FIELD_NAMED.get(name, name) for name in where or () if name != "messages"}
        row: Any = state
        if where:
            usual: Mapping[str, Any] = state if is_mapping(state) else {}
            others = (key for key in usual if key == "messages" or FIELD_NAMED.get(key) not in mapped)
            row = {key: usual[key] for key in others}
            row |= {name: value_at(roots or {}, path) for name, path in where.items()}
        if not is_mapping(row) or row.get("messages") is None:
            return cls.from_mapping(row)
        case = cls.from_mapping({key: row[key] for key in row if key != "messages"})
        own = {field for field in ALIASES if getattr(case, field) is not None} | mapped
        spoken = _spoken(_read("conversation", row["messages"]), has_response="response" in own)
        return case.model_copy(update={field: spoken[field] for field in spoken.keys() - own})

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
        """The names of the fields that were given, followed by the keys of the metadata that have a value."""
        keys = (key for key, value in self.metadata.items() if value is not None)
        return (*(field for field in ALIASES if getattr(self, field) is not None), *keys)

    def own(self, key: str, type: str) -> Any:  # noqa: A002, ANN401  as an input calls it; any input's value
        """A value of the metadata, read as an input of that type; None if it was not given.

        Args:
            key: the key in the metadata.
            type: "text", "messages", "documents" or "list".

        Raises:
            CaseError: `field_unreadable`: the value is not in any known shape of that type.
        """
        value = self.metadata.get(key)
        return None if value is None else _read(key, value, OWN_READERS[type])

    @property
    def query_text(self) -> str:
        """The query as plain text; of messages the last user message."""
        return text_of(self.query, "user")

    @property
    def response_text(self) -> str:
        """The response as plain text; of messages the last assistant message."""
        return text_of(self.response, "assistant")


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


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a mapping; type checkers narrow its type accordingly."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a list or a tuple; type checkers narrow its type accordingly."""
    return isinstance(value, list | tuple)


def _read(field: str, value: object, reader: Callable[[str, Any], Any] | None = None) -> Any:  # noqa: ANN401
    """A field's value as a case keeps it; any exception becomes a CaseError of the field."""
    try:
        return (reader or READERS[field])(field, value)
    except CaseError:
        raise
    except Exception as error:
        message = f"{field} cannot be read: {type(error).__name__}: {error}"
        raise CaseError("field_unreadable", message, field) from error


def _fields(
    pairs: Iterable[tuple[str, Any]], names: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that the keys name, with their values read, and the pairs whose keys name no field."""
    fields: dict[str, Any] = {}
    keys: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for key, value in pairs:
        field = names.get(key)
        if field is None:
            rest[key] = value
        elif value is not None:
            read = _read(field, value)
            if is_blank(fields.get(field)):
                fields[field], keys[field] = read, key
            elif not is_blank(read) and read != fields[field]:
                message = f"{keys[field]!r} and {key!r} both give the {field}, and they differ: remove one"
                raise CaseError("alias_conflict", message, field)
    return fields, rest


def _exchange(inputs: object, outputs: object, reference_outputs: object) -> dict[str, Any]:
    """The fields of all sides together; the outputs override the inputs, and these the reference."""
    asked = _side(inputs, "query")
    answered = _side(outputs, "response")
    expected = _side(reference_outputs, "reference")
    if isinstance(answered.get("response"), tuple):
        others = {"system", "developer", "user", "tool"}
        answered["response"] = tuple(each for each in answered["response"] if each.role not in others)[-1:]
    own_id = {"id": asked["id"]} if "id" in asked else {}  # an output's id is often its completion's
    return {**expected, **asked, **answered, **own_id}


def _side(side: object, main: str) -> dict[str, Any]:
    """One side of an exchange: its fields with their values read, and its other keys.

    Args:
        side: a mapping, or the value of the main field itself.
        main: the field that `messages`, or a side that is not a mapping, stands for.
    """
    if side is None:
        return {}
    side = _fields_by_name(side)
    if not is_mapping(side) or (_role(_getter(side)) and _getter(side)("content") is not None):
        return {main: _read(main, side)}
    names = {**FIELD_NAMED, "messages": main}
    if main == "reference":
        names |= dict.fromkeys(("response", *ALIASES["response"]), main)
    if any(names.get(key) == main and key != "messages" and side[key] is not None for key in side):
        names["messages"] = "conversation"
        if main != "query":  # these messages include the answer: they are not the conversation before it
            side = {key: value for key, value in side.items() if key != "messages"}
    fields, rest = _fields(side.items(), names)
    return {**rest, **fields}


def _fields_by_name(value: object) -> object:
    """A dataclass or pydantic model with a field of a case as a mapping; anything else unchanged."""
    kind = type(value)
    declared = kind.model_fields if issubclass(kind, BaseModel) else getattr(kind, "__dataclass_fields__", {})
    if FIELD_NAMED.keys().isdisjoint(declared):
        return value
    return {name: getattr(value, name) for name in declared}


def _spoken(messages: str | tuple[Message, ...], *, has_response: bool) -> dict[str, Any]:
    """The fields that an agent's messages give, None for those that they lack (see `Case.from_state`)."""
    if isinstance(messages, str):
        return {"conversation": messages}
    asked = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    after = [*enumerate(messages)][asked + 1 :]
    answers = (index for index, message in after if message.role == "assistant" and not message.tool_calls)
    answer = max(answers, default=None)
    results = [message for _, message in after if message.role == "tool"]
    return {
        "query": None if asked < 0 else messages[asked].content,
        "response": None if answer is None else messages[answer].content,
        "context": _read("context", results) if results else None,
        "conversation": messages if has_response else messages[:answer],
    }


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


def _role(get: Callable[[str], Any]) -> str | None:
    """A message's role, from `role` (OpenAI) or `type` (LangChain); None if the item is not a message."""
    role, kind = get("role"), get("type")
    if isinstance(role, str):
        return role
    name = kind.removesuffix("Chunk").removesuffix("Message").lower() if isinstance(kind, str) else ""
    return ROLES.get(name)


def _string(field: str, value: object) -> str:
    """A string; the profile may be a mapping, which is written as JSON."""
    if isinstance(value, str):
        return value
    if field == "profile" and is_mapping(value):
        return _json(value)
    message = f"{field} must be a string, not {_shape(value)}"
    raise CaseError("field_unreadable", message, field)


def _string_or_messages(field: str, value: object) -> str | tuple[Message, ...]:
    if isinstance(value, str):
        return value
    return tuple(_message(field, item) for item in _items(value))


def _items(value: object) -> list[Any]:
    """The items of an iterable; a string, a mapping or an object with content is the only item itself."""
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
        message = f"{field} must be a string or chat messages with role and content, not {_shape(item)}"
        raise CaseError("field_unreadable", message, field)
    name = get("name")
    return Message(
        role=role,
        content="" if content is None else _content(content),
        name=name if isinstance(name, str) else None,
        tool_calls=tuple(_tool_call(call) for call in calls or ()),
    )


def _content(content: object) -> str:
    """A string as it is; of a list of content parts the texts, one per line; any other data as JSON."""
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
    if get("function") is not None:  # OpenAI nests name and arguments in "function"
        get = _getter(get("function"))
    arguments = get("args") if get("arguments") is None else get("arguments")
    return ToolCall(name=str(get("name") or ""), arguments=arguments)


def _documents(field: str, value: object) -> tuple[Document, ...]:
    if isinstance(value, str):
        return (Document(content=value),) if value.strip() else ()
    return tuple(_document(field, item) for item in _items(value))


def _document(field: str, item: object) -> Document:
    """A document from a string, a mapping, a LangChain Document or DeepEval's RetrievedContextData."""
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return Document(content=item)
    get = _getter(item)
    content = _document_content(field, item, get)
    metadata, is_tool = get("metadata"), _is_tool_result(item, get)
    title = (
        get("title") or (is_mapping(metadata) and metadata.get("title")) or (is_tool and get("name")) or ""
    )
    return Document(content=content, title=str(title), kind="tool" if is_tool else "knowledge")


def _document_content(field: str, item: object, get: Callable[[str], Any]) -> str:
    """The first text under one of CONTENT_NAMES that is not blank."""
    names = () if is_list(item) else CONTENT_NAMES
    values = [value for name in names if (value := get(name)) is not None]
    texts = [_content(value) for value in values]
    if not any(isinstance(value, str) for value in values) and not any(map(str.strip, texts)):
        code = "context_unreadable" if field == "context" else "field_unreadable"
        message = (
            f"{field}: a document must be a string or have its text under one of "
            f"{', '.join(CONTENT_NAMES)}; this is {_shape(item)}"
        )
        raise CaseError(code, message, field)
    return next(filter(str.strip, texts), texts[0])


def _is_tool_result(item: object, get: Callable[[str], Any]) -> bool:
    """Whether a document's kind or, if it has none, its role or a plain mapping's title says so."""
    kind, title = get("kind"), get("title")
    if kind is not None:
        return str(kind).casefold().replace("_", " ").replace("-", " ") in {"tool", "tool result"}
    by_title = isinstance(item, Mapping) and isinstance(title, str) and title.startswith(TOOL_TITLE)
    return by_title or get("role") == "tool"


def _reference(field: str, value: object) -> str:
    """A string as it is; of documents all their texts, of chat messages the last assistant message."""
    if isinstance(value, str):
        return value
    items = _items(value)
    if items and all(_role(_getter(item)) for item in items):
        return text_of(tuple(_message(field, item) for item in items), "assistant")
    return "\n\n".join(document.content for document in _documents(field, items))


def _answers(field: str, value: object) -> tuple[str, ...]:
    return tuple(text for item in _items(value) if (text := _string(field, item)).strip())


def _id(_: str, value: object) -> str:
    return str(value)


def _metadata(field: str, value: object) -> Any:  # noqa: ANN401
    if is_mapping(value):
        return _data(value, _fields_of)
    message = f"{field} must be a mapping, not {_shape(value)}"
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
        "id": _id,
        "metadata": _metadata,
    }
)
"""The function that reads each field; reading a value that was read already does not change it."""


def _text(_: str, value: object) -> str:
    return value if isinstance(value, str) else _json(value) if value not in ([], {}) else ""


def _list(_: str, value: object) -> tuple[Any, ...]:
    return tuple(value) if is_list(value) else (value,)


OWN_READERS: Mapping[str, Callable[[str, Any], Any]] = MappingProxyType(
    {"text": _text, "messages": _string_or_messages, "documents": _documents, "list": _list}
)
"""The function that reads a value of the metadata as an input, by the input's type."""


def _shape(value: object) -> str:
    """A value as error messages describe it: the keys of a mapping, the type of anything else."""
    if is_mapping(value):
        return f"a mapping with the keys {', '.join(map(str, value)) or '(none)'}"
    return f"{type(value).__name__} ({str(value)[:60]!r})"
