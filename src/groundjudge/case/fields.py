"""Where the fields of a case are found: in a row, an exchange, an agent's state, or at dotted paths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel

from groundjudge.case.shapes import (
    Document,
    Message,
    content_text,
    holds_media,
    is_absent,
    is_blank,
    is_chat,
    is_list,
    is_mapping,
    messages_in,
    read,
    role_of,
    shape_of,
)
from groundjudge.errors import CaseError, did_you_mean

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

FOLDED: Mapping[str, str] = MappingProxyType({name.casefold(): field for name, field in FIELD_NAMED.items()})

SIDES = ("inputs", "outputs", "reference_outputs")
RESERVED = frozenset({"id", "case_id", "metadata", *SIDES})
"""Keys of a mapping that mean something else than a field or an entry of the metadata."""

OTHER_KEYS = frozenset({"messages", "id", "case_id", "metadata"})
"""Keys of a mapping that are read in a way of their own."""

DOCUMENT_LISTS = ("output", "documents", "contexts", "context", "results")
"""The keys under which the outputs of a retriever can contain the documents."""

MAX_SHOWN = 20
"""How many paths of a row an error message lists."""

Found: TypeAlias = dict[str, Any]
"""A mapping that `Case.of` takes, with each field under its own name, `id` and `metadata`."""

FieldPaths: TypeAlias = Mapping[str, str]
"""Fields, each with the dotted path that leads to it: {"query": "inputs.q"}."""

FieldsGiven: TypeAlias = Callable[..., Any] | FieldPaths | None
"""What `fields=` can be: None, if all fields have their usual names; a mapping of field to dotted path; or a
function to the case."""


T = TypeVar("T")


def field_of(name: object) -> str | None:
    """The field that a key of a mapping names, in upper or lower case; None if it names none."""
    return FOLDED.get(str(name).casefold())


def id_in(row: Mapping[str, Any]) -> Any:  # noqa: ANN401  whatever the row has
    """The row's id: what it has under `id` or else `case_id`, in upper or lower case."""
    ids = {str(key).casefold(): row[key] for key in row if str(key).casefold() in {"id", "case_id"}}
    return next((ids[name] for name in ("id", "case_id") if not is_absent(ids.get(name))), None)


def misspelt(field: str, keys: Iterable[str]) -> str | None:
    """The first of the keys that is nearly a name of the field, which is probably meant by it."""
    names = [name for name, meant in FOLDED.items() if meant == field]
    return next((key for key in keys if get_close_matches(key.casefold(), names, 1, 0.8)), None)


@dataclass(frozen=True)
class Fields:
    """Where the fields of a case are found in what a framework or a file holds.

    Attributes:
        paths: fields, by their own names, and inputs of a prompt's own, each with the dotted path that leads
            to it. They come before what is found by the usual names.
        function: the caller's function to the case, which takes the place of everything else.
    """

    paths: FieldPaths = field(default_factory=dict[str, str])
    function: Callable[..., Any] | None = None

    @classmethod
    def of(
        cls, given: FieldsGiven, inputs: Iterable[str] | None = (), roots: Collection[str] | None = None
    ) -> Fields:
        """Check what was passed as `fields=` before there is any data.

        Args:
            given: what was passed: a mapping of field to dotted path, as in {"query": "inputs.q",
                "response": "outputs.choices.0.text"}; a function to the case, or to a mapping with its
                fields; or None. Fields that the mapping does not contain are found under their usual names.
            inputs: the names of the judge's inputs, those of its prompt's own among them. None: not known, so
                that a name that resembles no field can be one of them.
            roots: what a path can begin with; None: the keys of the rows, which are not known yet.

        Raises:
            CaseError: `unknown_field`, when there is no field of that name; `alias_conflict`, when two names
                mean one field; `bad_path`, when a path begins with none of the roots.
            TypeError: it is neither a mapping nor a function.
        """
        if given is None or callable(given):
            return cls(function=given)
        if not is_mapping(given):
            message = f"fields must be a mapping of field to dotted path, or a function, not {given!r}"
            raise TypeError(message)
        known = dict.fromkeys((*ALIASES, "id", "metadata", "judges", "messages", *(inputs or ())))
        paths: dict[str, str] = {}
        for name, path in given.items():
            hint = did_you_mean(name, [*known, *FIELD_NAMED])
            own = name if name in known else field_of(name)
            if own is None and (inputs is not None or hint or not name):
                message = f"unknown field {name!r}{hint or '.'} The fields are: {', '.join(known)}"
                raise CaseError("unknown_field", message, name)
            own = own or name
            if own in paths:
                raise CaseError("alias_conflict", f"{own} is already read from {paths[own]}", own)
            root = str(path).partition(".")[0]
            if roots is not None and root not in roots:
                message = f"the path {path!r} begins with {root!r}, which is none of {', '.join(roots)}"
                raise CaseError("bad_path", message + did_you_mean(root, roots), str(path))
            paths[own] = path
        return cls(paths)

    def in_row(self, row: object, roots: Mapping[str, object] | None = None) -> Found:
        """The fields in a row of a file, in any mapping, or in the state of an agent.

        A field may have any of its names in `ALIASES`; keys that name no field go to `metadata`. A row with
        both `inputs` and `outputs` is read like an exchange. `messages` are a thread (see `_in_thread`), and
        give the fields that have no key of their own. A response that has a key, even one without a value, is
        never read from them: a crashed application must not look like a good one.

        Args:
            row: a mapping; any object if all that is needed of it is in the paths.
            roots: what a path can begin with, by name. None: the keys of the row, in which a key may contain
                dots, such as the column "inputs.q" of a table.

        Raises:
            CaseError: `unreadable_row` if the row is not a mapping; `bad_path` if a path can be read in two
                ways that lead to different values.
        """
        if not is_mapping(row):
            if not self.paths or roots is None:
                message = f"a case must be a mapping from field names to values, not {shape_of(row)}"
                raise CaseError("unreadable_row", message)
            return _found((), self._values(roots))
        values = self._values(row if roots is None else roots)
        if not {"inputs", "outputs"} <= row.keys():
            return _found(row.items(), values)
        rest = {key: row[key] for key in row if key not in SIDES}
        exchange, _ = _exchange([row.get(side) for side in SIDES])
        return _found([*exchange.items(), *rest.items()], values)

    def in_exchange(  # noqa: PLR0913  what frameworks hand over
        self,
        inputs: object,
        outputs: object,
        reference_outputs: object = None,
        *,
        roots: Mapping[str, object] | None = None,
        retrieved: Callable[[], Sequence[Document] | None] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> Found:
        """The fields in the inputs and outputs of an application's run, and in the expected outputs.

        If two sides hold the same field, the outputs come first, then the inputs, then the reference
        outputs; only the `id` of the inputs comes before that of the outputs.

        Args:
            inputs: a mapping, or the query itself. `messages` is the query or, if another key gives the
                query, the conversation. On each side, a dataclass or a pydantic model with a field under
                any of its names counts as a mapping.
            outputs: a mapping, or the response itself. `messages` are a thread, as for `in_row`; without a
                user message it continues the `messages` of the inputs.
            reference_outputs: a mapping, or the reference itself. Any name of the response means the
                reference here.
            roots: what a path can begin with besides inputs, outputs and reference_outputs, by name.
            retrieved: the documents that the run retrieved; None if it has no retriever and no tool. With the
                thread's tool results they are the context, unless the outputs or a path have one.
            more: further fields under any of their names; other keys go to `metadata`.

        Raises:
            CaseError: as for `in_row`.
        """
        sides = dict(zip(SIDES, (inputs, outputs, reference_outputs), strict=True))
        values = self._values({**sides, **(roots or {})})
        has_path = not is_absent(values.get("context"))
        exchange, documents = _exchange([*sides.values()], None if has_path else retrieved)
        if documents is not None:
            values.pop("context", None)
        return _found([*exchange.items(), *(more or {}).items()], values, documents)

    def in_flat_row(self, row: Mapping[str, Any]) -> Found:
        """Like `in_row`, with the keys of the metadata beside the fields, where files have them."""
        found = self.in_row(row)
        return {**found.pop("metadata"), **found}

    def _values(self, roots: Mapping[str, object]) -> Found:
        return {name: value_at(roots, path) for name, path in self.paths.items()}


class PathSearch:
    """Looks in the rows of a file for the paths of fields, so that a misspelt path is an error.

    Attributes:
        missing: the fields whose paths no row had so far, not even with a null.
    """

    def __init__(self, fields: Fields, source: str) -> None:
        self.missing: FieldPaths = fields.paths
        self._source = source
        self._known: tuple[str, ...] = ()

    def rows(self, rows: Iterable[Mapping[str, Any] | CaseError]) -> Iterator[Mapping[str, Any] | CaseError]:
        """The rows unchanged.

        Raises:
            CaseError: `bad_path`, after the last row, if no row had one of the paths; the message gives the
                nearest path. A file without rows has no wrong path.
        """
        for row in rows:
            if self.missing and not isinstance(row, CaseError):
                self._known = self._known or tuple(islice(_paths_in(row), MAX_SHOWN))
                self.missing = {
                    name: path for name, path in self.missing.items() if not _values_at(row, path)
                }
            yield row
        for name, path in self.missing.items() if self._known else ():
            message = (
                f"no row of {self._source} has {path}, where `fields` looks for {name}"
                f"{did_you_mean(path, self._known) or '.'} The first row has {', '.join(self._known)}"
            )
            raise CaseError("bad_path", message, path)


def retrieved_documents(outputs: object) -> tuple[Document, ...]:
    """The documents that a retriever returned, or that the mapping contains that it returned.

    Raises:
        CaseError: `context_unreadable` if one of them has no text.
    """
    found = outputs
    if is_mapping(outputs):
        found = next((outputs[key] for key in DOCUMENT_LISTS if key in outputs), outputs)
    documents: tuple[Document, ...] = read("context", found or ())
    return documents


def traced_documents(
    runs: Iterable[T], children: Callable[[T], Iterable[T]], source: Callable[[T], tuple[str, str, object]]
) -> tuple[Document, ...] | None:
    """The documents that retrievers and tools among traced runs returned; None if no run is one.

    Only the outermost retrievers and tools count: the application saw what they returned, not the runs inside
    them.

    Args:
        runs: the runs, in the order in which they started.
        children: the runs inside a run, in that order too.
        source: a run's kind ("retriever", "tool" or another one), its name and its outputs.

    Raises:
        CaseError: `context_unreadable` if something that was retrieved has no text.
    """
    sources = list(_outermost(runs, children, source))
    return tuple(document for found in sources for document in _returned(*found)) if sources else None


def _outermost(
    runs: Iterable[T], children: Callable[[T], Iterable[T]], source: Callable[[T], tuple[str, str, object]]
) -> Iterator[tuple[str, str, object]]:
    for run in runs:
        kind, name, outputs = source(run)
        if kind in {"retriever", "tool"}:
            yield kind, name, outputs
        else:
            yield from _outermost(children(run), children, source)


def _returned(kind: str, name: str, outputs: object) -> tuple[Document, ...]:
    return retrieved_documents(outputs) if kind == "retriever" else tool_documents(name, outputs)


def tool_documents(name: str, outputs: object) -> tuple[Document, ...]:
    """What the tool of that name returned, as one document; none if it returned nothing."""
    result = _without_envelope(outputs) if is_mapping(outputs) else outputs
    if result is None:
        return ()
    return (Document(content=content_text(result), title=f"Tool Result: {name}", kind="tool"),)


def _without_envelope(outputs: Mapping[str, Any]) -> Any:  # noqa: ANN401  whatever a tool returns
    """A tool's result without what a trace puts around it: a key, or a LangChain message."""
    match outputs:
        case {"output": {"tool_call_id": _, "content": result}} | {"tool_call_id": _, "content": result}:
            return result
        case {"output": result, **others} if not others:
            return getattr(result, "content", result)
        case _:
            return outputs or None


# --- usual names ------------------------------------------------------------------------------------------


def _found(
    pairs: Iterable[tuple[str, Any]], values: Found, documents: Sequence[Document] | CaseError | None = None
) -> Found:
    """The fields by their usual names, by the paths, and in the thread of `messages`.

    Args:
        pairs: keys and values.
        values: what the paths lead to, by field; it comes before what the keys give.
        documents: what was retrieved, if nothing better gives the context.
    """
    found = _named(pairs)
    metadata = found.pop("metadata")
    given = values.pop("metadata", None)
    metadata |= given if is_mapping(given) else {}
    metadata |= {name: value for name, value in values.items() if name not in {*ALIASES, "id", "messages"}}
    found |= {name: value for name, value in values.items() if name in ALIASES or value is not None}
    thread = found.pop("messages", None)
    spoken = {} if thread is None else _in_thread(thread, found, metadata)
    if documents is not None:
        found["context"] = _joined(spoken.get("context"), documents)
    own = {name: value for name, value in found.items() if name in {*ALIASES, "id"}}
    return {**spoken, **own, "metadata": metadata}


def _named(pairs: Iterable[tuple[str, Any]]) -> Found:
    """Keys and values by the names of fields, and `messages`, `id` and `metadata`.

    A null is not given; only that of a response is kept, so that nothing else is taken for the response.
    """
    found: Found = {}
    keys: dict[str, str] = {}
    metadata: dict[str, Any] = {}
    for key, given in pairs:
        value = None if is_absent(given) else given
        name = str(key).casefold()
        field = name if name in OTHER_KEYS else field_of(name)
        if field == "metadata" and is_mapping(value):
            metadata = {**value, **metadata}
        elif field is None or (field == "metadata" and value is not None):
            metadata[key] = value
        elif found.get(field) is None:
            if value is not None or field == "response":
                found[field], keys[field] = value, key
        elif value is not None and field in ALIASES and not isinstance(found[field], CaseError):
            found[field] = _agreed(field, (keys[field], found[field]), (key, value))
    case_id = found.pop("case_id", None)
    return {"id": case_id, **found, "metadata": metadata}


def _agreed(field: str, *given: tuple[str, Any]) -> Any:  # noqa: ANN401  any field's value
    """The value that two keys give to one field; the error if both say something, and not the same."""
    said = [(key, value) for key, value in given if not is_blank(_readable(field, value))]
    if len({key for key, _ in said}) > 1 and _readable(field, said[0][1]) != _readable(field, said[1][1]):
        (one, _), (other, _) = said
        message = f"{one!r} and {other!r} both give the {field}, and they differ: remove one"
        return CaseError("alias_conflict", message, field)
    return (said or given)[0][1]


def _readable(field: str, value: object) -> Any:  # noqa: ANN401  any field's value
    return _attempt(lambda: read(field, value))


def _attempt(reading: Callable[[], Any]) -> Any:  # noqa: ANN401  whatever it returns
    """What a function returns, or the error it raises: reported only if a judge needs the field."""
    try:
        return reading()
    except CaseError as error:
        return error


# --- threads and exchanges --------------------------------------------------------------------------------


def _in_thread(thread: object, found: Found, metadata: Mapping[str, Any]) -> Found:
    """The fields that the messages of a conversation with an agent give.

    The last user message is the query. The last assistant message after it that calls no tool is the
    response; the conversation is what comes before it. All tool messages before the response, those of
    earlier turns too, are tool results in the context, which is empty, not missing, if no tool was called.

    Args:
        thread: the messages; a text is the conversation alone.
        found: the fields with a key of their own. With a response among them, the conversation is all
            messages up to that response, or all.
        metadata: the other keys; where one of them is nearly a name of the context, the context is missing.
    """
    if isinstance(thread, str):
        return {"conversation": thread}
    items = messages_in(thread)
    said = _attempt(lambda: read("conversation", items))
    if isinstance(said, CaseError):
        return dict.fromkeys(("query", "response", "context", "conversation"), said)
    asked = max((index for index, each in enumerate(said) if each.role == "user"), default=-1)
    answers = [
        index
        for index, each in enumerate(said)
        if index > asked and each.role == "assistant" and not each.tool_calls
    ]
    if "response" in found:
        answers = [index for index in answers if said[index].content == found["response"]]
    end = answers[-1] if answers else None
    results = _tool_results(items[:end])
    is_whole = asked >= 0 and end is not None and misspelt("context", metadata) is None
    return {
        "query": _plain(items[asked], said[asked]) if asked >= 0 else None,
        "response": None if end is None else _plain(items[end], said[end]),
        "context": results if results or is_whole else None,
        "conversation": items[:end],
    }


def _tool_results(items: Sequence[object]) -> list[Any]:
    said = _readable("conversation", items)
    said = () if isinstance(said, CaseError) else said
    pairs = zip(items, said, strict=False)
    return [item if holds_media(item) else each for item, each in pairs if each.role == "tool"]


def _plain(item: object, message: Message) -> object:
    """The text of a message; the message as it was given, if that shows what the text cannot."""
    return [item] if holds_media(item) else message.content


def _joined(results: object, documents: Sequence[Document] | CaseError) -> Sequence[Document] | CaseError:
    """The tool results of a thread, and what was retrieved besides."""
    said = _readable("context", results or ())
    if isinstance(documents, CaseError) or isinstance(said, CaseError):
        return documents
    texts = {each.content for each in said}
    return [*said, *(each for each in documents if each.content not in texts)]


def _exchange(
    sides: Sequence[object], retrieved: Callable[[], Sequence[Document] | None] | None = None
) -> tuple[Found, Sequence[Document] | CaseError | None]:
    """The fields of all sides together, and what was retrieved unless the outputs have a context."""
    asked, answered, expected = map(_side, sides, ("query", "response", "reference"))
    before, after = asked.pop("messages", None), answered.get("messages")
    if after is not None and before is not None and "user" not in map(role_of, messages_in(after)):
        answered["messages"] = [*messages_in(before), *messages_in(after)]
    elif after is None and before is not None:
        asked.setdefault("conversation" if "query" in asked else "query", before)
        tools = _tool_results(messages_in(before))
        asked |= {"context": tools} if tools and "context" not in asked else {}
    documents = None
    if retrieved and "context" not in answered:
        documents = _attempt(retrieved)
    if documents is not None:
        asked.pop("context", None)
        expected.pop("context", None)
    ids = [side["id"] for side in (asked, answered, expected) if side.get("id") is not None]
    metadata = {**expected["metadata"], **asked["metadata"], **answered["metadata"]}
    return {**expected, **asked, **answered, "id": ids[0] if ids else None, "metadata": metadata}, documents


def _side(side: object, main: str) -> Found:
    """One side of an exchange: its fields, its `messages` and its other keys.

    Args:
        side: a mapping, or the value of the main field itself.
        main: the field that a side stands for that is not a mapping.
    """
    side = _by_field(side)
    if is_absent(side):
        return {"metadata": {}}
    if not is_mapping(side) or is_chat(side):
        side = {main: side}
    found = _named((_key_on(main, key, value), value) for key, value in side.items())
    if main != "response" and found.get("response", main) is None:
        del found["response"]  # only an application's own null means that it gave no response
    return found


def _key_on(main: str, key: str, value: object) -> str:
    """What a key means on the side of a main field."""
    field = "messages" if str(key).casefold() == "messages" else field_of(key)
    if main == "reference":
        return main if field in {"response", "messages"} else key
    if main == "response" and field == "messages" and isinstance(value, str):
        return main
    return "messages" if field == main and is_chat(value) else key


def _by_field(value: object) -> object:
    """A dataclass or pydantic model with a field of a case as a mapping; anything else unchanged."""
    kind = type(value)
    declared = kind.model_fields if issubclass(kind, BaseModel) else getattr(kind, "__dataclass_fields__", {})
    if not any(map(field_of, declared)):
        return value
    return {name: getattr(value, name) for name in declared}


# --- paths ------------------------------------------------------------------------------------------------


class Nothing:
    """What a path leads to that leads nowhere, not even to a null."""


def _inside(value: Any, names: Sequence[str]) -> Any:  # noqa: ANN401
    """What keys, attributes and the numbers of items lead to."""
    for name in names:
        if hasattr(value, "get"):
            value = value[name] if is_mapping(value) and name in value else value.get(name, Nothing)
        elif is_list(value):
            value = value[int(name)] if name.isdigit() and int(name) < len(value) else Nothing
        elif isinstance(value, str | bool | int | float):  # the methods of plain data are no part of it
            return Nothing
        else:
            value = getattr(value, name, Nothing)
    return value


def _values_at(roots: Mapping[str, object], path: str) -> list[Any]:
    """What a path leads to, in every way that it can be read: a key can contain dots."""
    names = path.split(".")
    starts = ((".".join(names[:count]), names[count:]) for count in range(1, len(names) + 1))
    found = (_inside(roots[key], rest) for key, rest in starts if key in roots)
    return [value for value in found if value is not Nothing]


def value_at(roots: Mapping[str, object], path: str) -> Any:  # noqa: ANN401  whatever the data holds
    """What a dotted path leads to, by keys, attributes and the numbers of items; None if it leads nowhere.

    Raises:
        CaseError: `bad_path`: the path can be read in two ways that lead to different values.
    """
    values = [value for value in _values_at(roots, path) if value is not None]
    if any(value != values[0] for value in values):
        message = f"the path {path!r} leads to two different values, because a key of the row contains a dot"
        raise CaseError("bad_path", message, path)
    return values[0] if values else None


def _paths_in(value: object, prefix: str = "") -> Iterator[str]:
    """The paths to all values inside a value, in the order in which they stand; of a list the first item."""
    if is_mapping(value) and value:
        for key, held in value.items():
            yield from _paths_in(held, f"{prefix}.{key}" if prefix else str(key))
    elif is_list(value) and value and is_mapping(value[0]):
        yield from _paths_in(value[0], f"{prefix}.0")
    elif prefix:
        yield prefix
