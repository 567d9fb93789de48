"""Where the fields of a case are found: in a row, an exchange, an agent's state, or at dotted paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from groundjudge.case import shapes
from groundjudge.case.shapes import Document, is_absent, is_mapping, messages_in, read, readable, role_of
from groundjudge.errors import CaseError, did_you_mean

_ALIASES: Mapping[str, str] = {
    "query": "question input user_input customerQuery",
    "response": "answer output actual_output prediction result generation statement hypothesis passage_llm",
    "context": "contexts documents docs source_documents retrieved_contexts retrieval_context "
    "retrievedDocuments source premise",
    "reference": "ground_truth expected_output expected_response expected reference_answer passage_gt",
    "conversation": "history messages turns",
    "profile": "",
    "agent_name": "",
    "answers": "real_answers",
}
ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(others.split()) for name, others in _ALIASES.items()}
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

MEANINGS: Mapping[str, str] = MappingProxyType(
    {**FOLDED, **{name: name for name in ("messages", "id", "case_id", "metadata")}}
)
"""What a key of a mapping means, in lower case: a field, or something that is read in a way of its own."""

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
            own = own or (name if inputs is None and not hint else "")
            if not own:
                message = f"unknown field {name!r}{hint or '.'} The fields are: {', '.join(known)}"
                raise CaseError("unknown_field", message, name)
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
                message = f"a case must be a mapping from field names to values, not {shapes.shape_of(row)}"
                raise CaseError("unreadable_row", message)
            row = {}
        roots = row if roots is None else roots
        if not {"inputs", "outputs"} <= row.keys():
            return self._found(row.items(), roots)
        rest = {key: row[key] for key in row if key not in SIDES}
        return self.in_exchange(*map(row.get, SIDES), roots=roots, more=rest)

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
        asked, answered, expected = map(_side, sides.values(), ("query", "response", "reference"))
        before, after = asked.pop("messages", None), answered.get("messages")
        if before is not None and after is None:
            tools = _in_thread(before, {"response": None}).get("context")
            earlier: Found = {"conversation" if "query" in asked else "query": before, "context": tools}
            asked = {**earlier, **asked}
        elif before is not None and "user" not in map(role_of, messages_in(after)):
            answered["messages"] = [*messages_in(before), *messages_in(after)]
        ids = [side["id"] for side in (asked, answered, expected) if "id" in side]
        metadata: Found = {**expected["metadata"], **asked["metadata"], **answered["metadata"]}
        exchange: Found = {**expected, **asked, **answered, "id": next(iter(ids), None), "metadata": metadata}
        return self._found(
            [*exchange.items(), *(more or {}).items()],
            {**sides, **(roots or {})},
            None if "context" in answered else retrieved,
        )

    def _found(
        self,
        pairs: Iterable[tuple[str, Any]],
        roots: Mapping[str, object],
        retrieved: Callable[[], Sequence[Document] | None] | None = None,
    ) -> Found:
        """The fields by paths, by their usual names, in the thread of `messages`, and what was retrieved."""
        found = _named(pairs)
        placed = _named((name, value_at(roots, path)) for name, path in self.paths.items())
        metadata = {**found.pop("metadata"), **placed.pop("metadata")}
        found = {**found, **dict.fromkeys(self.paths.keys() & ALIASES.keys()), **placed}
        spoken = _in_thread(found.pop("messages", None), found, metadata)
        if retrieved and "context" not in placed:
            found |= _with_retrieved(retrieved, spoken.get("context"))
        return {**spoken, **found, "metadata": metadata}

    def in_flat_row(self, row: Mapping[str, Any]) -> Found:
        """Like `in_row`, with the keys of the metadata beside the fields, where files have them."""
        found = self.in_row(row)
        return {**found.pop("metadata"), **found}


def until_found(
    rows: Iterable[Mapping[str, Any] | CaseError], paths: FieldPaths, source: str
) -> Iterator[Mapping[str, Any] | CaseError]:
    """The rows of a file up to the one by which each path was found, so that a misspelt path is an error.

    Raises:
        CaseError: `bad_path`, after the last row, if no row had one of the paths, not even with a null; the
            message gives the nearest path. A file without rows has no wrong path.
    """
    missing, known = paths, list[str]()
    for row in rows:
        if not isinstance(row, CaseError):
            known = known or [*islice(_paths_in(row), MAX_SHOWN)]
            missing = {
                name: path for name, path in missing.items() if not [*_values_at(row, path.split("."))]
            }
        yield row
        if not missing:
            return
    for name, path in missing.items() if known else ():
        message = (
            f"no row of {source} has {path}, where `fields` looks for {name}"
            f"{did_you_mean(path, known) or '.'} The first row has {', '.join(known)}"
        )
        raise CaseError("bad_path", message, path)


def retrieved_documents(outputs: object) -> tuple[Document, ...]:
    """The documents that a retriever returned, or that the mapping contains that it returned.

    Raises:
        CaseError: `context_unreadable` if one of them has no text.
    """
    found: Any = outputs
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
    result = outputs["output"] if is_mapping(outputs) and [*outputs] == ["output"] else outputs
    if not is_mapping(result) or "tool_call_id" in result:  # a message of LangChain's around the result
        result = shapes.get(result, "content", result)
    if result is None or result == {}:
        return ()
    return (Document(content=shapes.content_text(result), title=f"Tool Result: {name}", kind="tool"),)


# --- usual names ------------------------------------------------------------------------------------------


def _named(pairs: Iterable[tuple[str, Any]]) -> Found:
    """Keys and values by the names of fields, and `messages`, `id` and `metadata`.

    A null is not given; only that of a response is kept, so that nothing else is taken for the response.
    """
    given: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    held, others = dict[str, Any](), dict[str, Any]()
    for key, value in pairs:
        name, is_null = MEANINGS.get(str(key).casefold()), is_absent(value)
        if name == "metadata" and is_mapping(value):
            held = {**value, **held}
        elif name is None or (name == "metadata" and not is_null):
            others[key] = None if is_null else value
        elif not is_null or name == "response":
            given[name].append((key, None if is_null else value))
    found = {name: _agreed(name, values) for name, values in given.items()}
    if "case_id" in found:
        found.setdefault("id", found.pop("case_id"))
    return {**found, "metadata": {**held, **others}}


def _agreed(name: str, given: Sequence[tuple[str, Any]]) -> Any:  # noqa: ANN401  any field's value
    """The value that one or more keys give to a field; the error if two of them do not say the same."""
    if len(given) == 1 or name not in ALIASES:
        return given[0][1]
    said = [(key, value, readable(name, value)) for key, value in given]
    said = [each for each in said if not shapes.is_blank(each[2])] or said
    for key, _, text in said:
        if key != said[0][0] and text != said[0][2]:
            message = f"{said[0][0]!r} and {key!r} both give the {name}, and they differ: remove one"
            return CaseError("alias_conflict", message, name)
    return said[0][1]


# --- threads and exchanges --------------------------------------------------------------------------------


def _in_thread(thread: object, found: Found, metadata: Iterable[str] = ()) -> Found:
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
    if thread is None or isinstance(thread, str):
        return {"conversation": thread}
    items = messages_in(thread)
    said = readable("conversation", items)
    if isinstance(said, CaseError):
        return dict.fromkeys(("query", "response", "context", "conversation"), said)
    kept = [item if shapes.holds_media(item) else each for item, each in zip(items, said, strict=True)]
    asked = max((number for number, each in enumerate(said) if each.role == "user"), default=-1)
    answers = [
        number
        for number, each in enumerate(said)
        if number > asked and each.role == "assistant" and not each.tool_calls
        if found.get("response", each.content) == each.content
    ]
    end = answers[-1] if answers else None
    results = [each for each in kept[:end] if role_of(each) == "tool"]
    is_whole = asked >= 0 and end is not None and misspelt("context", metadata) is None
    return {
        "query": _said(kept[asked]) if asked >= 0 else None,
        "response": None if end is None else _said(kept[end]),
        "context": results if results or is_whole else None,
        "conversation": kept[:end],
    }


def _said(item: object) -> object:
    """The text of a message; a message that was kept as it was given, if the text cannot show all of it."""
    return item.content if isinstance(item, shapes.Message) else [item]


def _with_retrieved(retrieved: Callable[[], Sequence[Document] | None], results: object) -> Found:
    """The context: the tool results of a thread, and what was retrieved besides; {} without a retriever."""
    try:
        documents, said = retrieved(), read("context", results or ())
    except CaseError as error:  # only judges of a context report it
        return {"context": error}
    known = {each.content for each in said}
    return (
        {}
        if documents is None
        else {"context": [*said, *(each for each in documents if each.content not in known)]}
    )


def _side(side: object, main: str) -> Found:
    """One side of an exchange: its fields, its `messages` and its other keys.

    Args:
        side: a mapping, a dataclass or pydantic model like one, or the value of the main field itself.
        main: the field that a side stands for that is not a mapping.
    """
    declared: Any = getattr(type(side), "model_fields", getattr(type(side), "__dataclass_fields__", ()))
    if any(map(field_of, declared)):
        side = {name: getattr(side, name) for name in declared}
    if is_absent(side):
        return {"metadata": {}}
    if not is_mapping(side) or shapes.is_chat(side):
        side = {main: side}
    found = _named((_key_on(main, key, value), value) for key, value in side.items())
    if main != "response" and found.get("response", main) is None:
        del found["response"]  # only an application's own null means that it gave no response
    return found


def _key_on(main: str, key: str, value: object) -> str:
    """What a key means on the side of a main field."""
    name = MEANINGS.get(str(key).casefold())
    if main == "reference":
        return main if name in {"response", "messages"} else key
    if main == "response" and name == "messages" and isinstance(value, str):
        return main
    return "messages" if name == main and shapes.is_chat(value) else key


# --- paths ------------------------------------------------------------------------------------------------

NOTHING = object()
"""What a path leads to that leads nowhere, not even to a null."""


def _held(value: Any, name: str) -> Any:  # noqa: ANN401
    """What a key, an attribute or the number of an item leads to."""
    if hasattr(value, "get"):
        return value.get(name, NOTHING)
    if shapes.is_list(value):
        return value[int(name)] if name.isdecimal() and int(name) < len(value) else NOTHING
    if isinstance(value, str | bool | int | float):  # the methods of plain data are no part of it
        return NOTHING
    return getattr(value, name, NOTHING)


def _values_at(value: object, names: Sequence[str]) -> Iterator[Any]:
    """What a path leads to, in every way that it can be read: a key can contain dots."""
    if not names:
        yield value
    for end in range(1, len(names) + 1):
        held = _held(value, ".".join(names[:end]))
        if held is not NOTHING:
            yield from _values_at(held, names[end:])


def value_at(roots: Mapping[str, object], path: str) -> Any:  # noqa: ANN401  whatever the data holds
    """What a dotted path leads to, by keys, attributes and the numbers of items; None if it leads nowhere.

    Raises:
        CaseError: `bad_path`: the path can be read in two ways that lead to different values.
    """
    values = [value for value in _values_at(roots, path.split(".")) if value is not None]
    if any(value != values[0] for value in values):
        message = f"the path {path!r} leads to two different values, because a key of the row contains a dot"
        raise CaseError("bad_path", message, path)
    return values[0] if values else None


def _paths_in(value: object, prefix: str = "") -> Iterator[str]:
    """The paths to all values inside a value, in the order in which they stand; of a list the first item."""
    if is_mapping(value) and value:
        for key, held in value.items():
            yield from _paths_in(held, f"{prefix}.{key}" if prefix else str(key))
    elif shapes.is_list(value) and value and is_mapping(value[0]):
        yield from _paths_in(value[0], f"{prefix}.0")
    elif prefix:
        yield prefix
