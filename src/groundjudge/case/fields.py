"""Where the fields of a case are found: in a row, an exchange, an agent's state, or at dotted paths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeAlias

from groundjudge.case import shapes
from groundjudge.case.data import declared_fields, is_absent, is_list, is_mapping, plain
from groundjudge.case.paths import FieldPaths, value_at
from groundjudge.case.shapes import Document, Message, readable
from groundjudge.errors import CaseError, did_you_mean

ALIASES: Mapping[str, tuple[str, ...]] = {
    name: tuple(others.split())
    for name, others in {
        "query": "question input user_input customerQuery",
        "response": "answer output actual_output prediction result generation statement hypothesis "
        "passage_llm",
        "context": "contexts documents docs source_documents retrieved_contexts retrieval_context "
        "retrievedDocuments source premise",
        "reference": "ground_truth expected_output expected_response expected reference_answer passage_gt",
        "conversation": "history messages turns",
        "profile": "",
        "agent_name": "",
        "answers": "real_answers",
    }.items()
}
"""The fields that a prompt can show, each with the other names under which a mapping may hold it."""

FIELD_NAMED: Mapping[str, str] = {name: field for field in ALIASES for name in (field, *ALIASES[field])}
"""Every name of a field, its own and the aliases -> the field."""

FOLDED = {name.casefold(): field for name, field in FIELD_NAMED.items()}
MEANINGS = FOLDED | {name: name for name in ("messages", "id", "case_id", "metadata")}
"""What a key of a mapping means, in lower case: a field, or something that is read in a way of its own."""

SIDES = {"inputs": "query", "outputs": "response", "reference_outputs": "reference"}
"""The sides of an exchange, each with the field that it is if it is not a mapping."""

RESERVED = frozenset({"id", "case_id", "metadata", *SIDES})
"""Keys of a mapping that mean something else than a field or an entry of the metadata."""

FieldValues: TypeAlias = dict[str, Any]
"""A mapping that `Case.of` takes, with each field under its own name, `id` and `metadata`."""

FieldsLike: TypeAlias = Callable[..., Any] | FieldPaths | None
"""What `fields=` can be: None, if all fields have their usual names; a mapping of field to dotted path; or a
function to the case."""

Pairs: TypeAlias = Iterable[tuple[str, Any]]
"""Keys and their values."""

Retrieved: TypeAlias = Callable[[], Sequence[Document] | None]
"""The documents that a run retrieved; None if it has no retriever and no tool."""


def field_of(name: object) -> str | None:
    """The field that a key of a mapping names, in upper or lower case; None if it names none."""
    return FOLDED.get(str(name).casefold())


def keys_of(row: Iterable[str], *meanings: str) -> list[str]:
    """The keys of a mapping that name one of some fields, or `messages`, in upper or lower case."""
    return [key for key in row if MEANINGS.get(str(key).casefold()) in meanings]


def id_in(row: Mapping[str, Any]) -> Any:  # noqa: ANN401  whatever the row has
    """The row's id: what it has under `id` or else `case_id`, in upper or lower case."""
    ids = {str(key).casefold(): row[key] for key in row if str(key).casefold() in {"id", "case_id"}}
    return next((ids[name] for name in ("id", "case_id") if not is_absent(ids.get(name))), None)


def misspelt(field: str, keys: Iterable[str]) -> str | None:
    """The first of the keys that is nearly a name of the field, which is probably meant by it."""
    names = [name for name, meant in FOLDED.items() if meant == field]
    others = (key for key in map(str, keys) if not field_of(key))
    return next((key for key in others if get_close_matches(key.casefold(), names, 1, 0.8)), None)


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
        cls, given: FieldsLike, inputs: Iterable[str] | None = (), roots: Collection[str] | None = None
    ) -> Fields:
        """Check what was passed as `fields=` before there is any data.

        Args:
            given: what was passed: a mapping of field to dotted path, as in {"query": "inputs.q",
                "response": "outputs.choices.0.text"}; a function to the case, or to a mapping with its
                fields; or None. Fields that the mapping does not contain are found under their usual names.
                What `metadata` leads to is merged with the metadata that is there anyway, and comes first.
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
            hint, root = did_you_mean(name, [*known, *FIELD_NAMED]), str(path).partition(".")[0]
            own = name if name in known else field_of(name)
            own = own or (name if inputs is None and not hint else None)
            if own is None:
                message = f"unknown field {name!r}{hint or '.'} The fields are: {', '.join(known)}"
                raise CaseError("unknown_field", message, name)
            if own in paths:
                raise CaseError("alias_conflict", f"{own} is already read from {paths[own]}", own)
            if roots is not None and root not in roots:
                message = f"the path {path!r} begins with {root!r}, which is none of {', '.join(roots)}"
                raise CaseError("bad_path", message + did_you_mean(root, roots), str(path))
            paths[own] = path
        return cls(paths)

    def in_row(
        self, row: object, roots: Mapping[str, object] | None = None, retrieved: Retrieved | None = None
    ) -> FieldValues:
        """The fields in a row of a file, in any mapping, in the state of an agent, or in an exchange.

        A field may have any of its names in `ALIASES`; keys that name no field go to `metadata`. `messages`
        are a thread (see `_in_thread`), and give the fields that have no key of their own. A response that
        has a key, even one without a value, is never read from them: a crashed application must not look like
        a good one.

        A row with both `inputs` and `outputs` is an exchange with an application; it may have
        `reference_outputs`, the expected outputs, and other keys. Each side is the field that it stands for
        (`SIDES`), or a mapping with fields; a dataclass or a pydantic model with a field under any of its
        names counts as a mapping. If two sides hold the same field, the outputs come first, then the inputs,
        then the reference outputs; only the `id` of the inputs comes before that of the outputs.

        - inputs: `messages` are the query or, if another key gives the query, the conversation. The response
          is never in the inputs: what they have under a name of it is of an earlier turn, or expected, and
          goes to `metadata`.
        - outputs: `messages` are a thread; without a user message it continues the `messages` of the inputs.
        - reference outputs: any name of the response means the reference here.

        Args:
            row: a mapping, or a dataclass or pydantic model like one; any object if all that is needed of it
                is in the paths.
            roots: what a path can begin with besides the keys of the row, by name. A key of the row may
                contain dots, such as the column "inputs.q" of a table.
            retrieved: the documents that the run of an exchange retrieved; None if it has no retriever and no
                tool. With the thread's tool results they are the context, unless the outputs or a path have
                one.

        Raises:
            CaseError: `unreadable_row` if the row is not a mapping; `bad_path` if a path can be read in two
                ways that lead to different values.
        """
        if not is_mapping(row := _mapped(row)):
            if not self.paths or roots is None:
                message = f"a case must be a mapping from field names to values, not {shapes.shape_of(row)}"
                raise CaseError("unreadable_row", message)
            row = {}
        roots = {**row, **(roots or {})}
        placed = {name: value_at(roots, path) for name, path in self.paths.items()}
        fields = placed.keys() & ALIASES.keys()
        is_exchange = {"inputs", "outputs"} <= row.keys()
        sides = [_side(row.get(side), main) for side, main in SIDES.items()] if is_exchange else []
        pairs = _exchanged(row, *sides) if is_exchange else row.items()
        others = [pair for pair in pairs if MEANINGS.get(str(pair[0]).casefold()) not in fields]
        found = dict.fromkeys(fields) | _named([*placed.items(), *others])
        spoken = _in_thread(readable("messages", found.pop("messages", None)), found)
        if is_list(found.get("context")) and not found["context"]:  # what tools returned is a context, too
            found["context"] = spoken.get("context") or []
        found = {**spoken, **found}
        has_context = is_exchange and "context" in sides[1]
        if retrieved and not has_context and is_absent(placed.get("context")):
            try:
                documents = retrieved()
            except CaseError as error:  # only judges of a context report it
                return {**found, "context": error}
            if documents is not None:
                said = _tool_results(spoken.get("context"))
                known = {each.content for each in said}
                found["context"] = [*said, *(each for each in documents if each.content not in known)]
        return found

    def in_flat_row(self, row: Mapping[str, Any]) -> FieldValues:
        """Like `in_row`, with the keys of the metadata beside the fields, where files have them."""
        found = self.in_row(row)
        return {**found.pop("metadata"), **found}


# --- usual names ------------------------------------------------------------------------------------------


def _named(pairs: Pairs, main: str = "") -> FieldValues:
    """Keys and values by the names of fields, and `messages`, `id` and `metadata`; the first value counts.

    A null is not given; only that of a response is kept, so that nothing else is taken for the response.

    Args:
        pairs: the keys and values.
        main: the field that a side of an exchange stands for; "" for a row.
    """
    given, held, others = dict[str, list[tuple[str, Any]]](), dict[str, Any](), dict[str, Any]()
    for key, any_value in pairs:
        value = None if is_absent(any_value) else plain(any_value)
        name = _meant(str(key), value, main)
        if name == "metadata" and is_mapping(value):
            held = {**value, **held}
        elif name is None or (name == "metadata" and value is not None):
            others.setdefault(key, value)
        elif value is not None or (name == "response" and main != "query"):
            given.setdefault(name, []).append((key, value))
    found = {name: _agreed(name, values) for name, values in given.items()}
    if "case_id" in found:
        found.setdefault("id", found.pop("case_id"))
    return {**found, "metadata": {**held, **others}}


def _meant(key: str, value: object, main: str) -> str | None:
    """What a key stands for, in a row or on the side of an exchange with a main field; None for nothing."""
    name = MEANINGS.get(key.casefold())
    if name == "response" and main in {"query", "reference"}:  # of an earlier turn, or the one expected
        return None if main == "query" else main
    if name == "messages" and main == "response" and isinstance(value, str):
        return main
    return "messages" if name == main != "reference" and shapes.is_chat(value) else name


def _agreed(name: str, values: Sequence[tuple[str, Any]]) -> Any:  # noqa: ANN401  whatever was given
    """The value of a field, of several the first that is not blank; an error if others say something else."""
    if len(values) == 1 or name not in ALIASES:
        return values[0][1]
    said = [(key, value, readable(name, value)) for key, value in values]
    (key, value, first), *others = [each for each in said if not shapes.is_blank(each[2])] or said[:1]
    if other := next((each[0] for each in others if each[2] != first), None):
        message = f"{key!r} and {other!r} both give the {name}, and they differ: remove one"
        return CaseError("alias_conflict", message, name)
    return value


# --- threads and exchanges --------------------------------------------------------------------------------


def _in_thread(thread: object, found: FieldValues) -> FieldValues:
    """The fields that the messages of a conversation with an agent give.

    The last user message is the query. The last assistant message after it that calls no tool is the
    response; the conversation is what comes before it. All tool messages before the response, those of
    earlier turns too, are tool results in the context, which is empty, not missing, if no tool was called.

    Args:
        thread: the messages; a text is the conversation alone.
        found: the fields with a key of their own, and the metadata. With a response among them, the
            conversation is all messages up to that response, or all. Where a key of the metadata is nearly
            a name of the context, the context is missing.
    """
    if isinstance(thread, CaseError):
        return dict.fromkeys(("query", "response", "context", "conversation"), thread)
    if not is_list(thread):
        return {"conversation": thread}
    asked = max((number for number, each in enumerate(thread) if each.role == "user"), default=-1)
    given = _given_answer(found)
    ends = (number for number, each in enumerate(thread) if number > asked and _is_answer(each, given))
    end = max(ends, default=None)
    results = _tool_results(thread[:end])
    is_whole = asked >= 0 and end is not None and misspelt("context", found["metadata"]) is None
    return {
        "query": _said(thread[asked]) if asked >= 0 else None,
        "response": None if end is None else _said(thread[end]),
        "context": results if results or is_whole else None,
        "conversation": thread[:end],
    }


def _given_answer(found: FieldValues) -> object:
    """The text of the response that has a key of its own, or why it cannot be read; None without a key."""
    if "response" not in found:
        return None
    given = readable("response", found["response"])
    return given if isinstance(given, CaseError) else shapes.text_of(given, "assistant")


def _is_answer(message: Message, given: object) -> bool:
    """Whether a message can be the response: it calls no tool, and is the one that was given, if one was."""
    return message.role == "assistant" and not message.tool_calls and given in (None, message.content)


def _tool_results(messages: object) -> list[Message]:
    """The results of tools among messages; none in anything else."""
    return [each for each in messages if each.role == "tool"] if is_list(messages) else []


def _said(message: Message) -> object:
    """The text of a message, or the message if the text cannot show all of it."""
    return [message] if message.holds_media else message.content


def _mapped(value: object) -> object:
    """A dataclass or pydantic model that has a field, as a mapping; anything else as it is."""
    fields = declared_fields(value) or ()
    return fields if any(map(field_of, fields)) else value


def _side(side: object, main: str) -> FieldValues:
    """One side of an exchange: its fields, its `messages` and its other keys.

    Args:
        side: a mapping, a dataclass or pydantic model like one, or the value of the main field itself.
        main: the field that a side stands for that is not a mapping.
    """
    held: object = {} if is_absent(side) else _mapped(side)
    if is_mapping(held) and len(held) == 1:  # LangSmith keeps what is no mapping under "output"
        ((key, value),) = held.items()
        held = _mapped(value) if field_of(key) == main and declared_fields(value) else held
    return _named([(main, held)] if not is_mapping(held) or shapes.is_chat(held) else held.items(), main)


def _exchanged(
    row: Mapping[str, Any], asked: FieldValues, answered: FieldValues, expected: FieldValues
) -> Pairs:
    """The keys and values of an exchange with these sides, as a row without sides would have them."""
    expected.setdefault("reference", expected.pop("messages", None))
    before, after = (readable("messages", side.get("messages")) for side in (asked, answered))
    asked.pop("messages", None)
    if is_list(before) and is_list(after):
        goes_on = all(each.role != "user" for each in after)
        answered["messages"] = (*before, *after) if goes_on else after
    elif before is not None:
        asked.setdefault("conversation" if "query" in asked else "query", before)
        if results := _tool_results(before):
            asked.setdefault("context", results)
    if "messages" not in answered:
        answered.setdefault("response", None)  # a crash, whatever the thread or the row has besides
    exchange = {**expected, **asked, **answered}
    exchange["id"] = asked.get("id", exchange.get("id"))
    rest = ((key, row[key]) for key in row if key not in SIDES)
    return [*exchange.items(), *(("metadata", side["metadata"]) for side in (asked, expected)), *rest]
