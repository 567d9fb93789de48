"""Where the fields of a case are found: in a row, an exchange, an agent's state, or at dotted paths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from groundjudge.case.cells import read_list, read_object, refuse_messages
from groundjudge.case.content import Entry, is_passage
from groundjudge.case.data import (
    as_plain,
    declared_fields,
    fields_of,
    find_key,
    first_value,
    is_absent,
    is_list,
    is_mapping,
    is_number,
)
from groundjudge.case.paths import FieldPaths, nothing_at, value_at
from groundjudge.case.shapes import (
    SOURCES,
    Document,
    Message,
    is_blank,
    read_chat,
    read_sources,
    role_of,
    shape_of,
    sources_of,
    text_of,
    try_read_field,
)
from groundjudge.errors import CaseError, did_you_mean, name_list
from groundjudge.text.patterns import compile_when_used

RETRIEVED = ("retrieval_context", "retrieved_contexts", "retrievedDocuments")
"""The names of what a retriever found. If it found nothing, no other context replaces it."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "question", "user_input", "customerQuery", "input"),
    "response": (
        *("response", "answer", "actual_output", "generation", "passage_llm", "statement", "hypothesis"),
        *("output", "result", "prediction"),
    ),
    "context": (
        *RETRIEVED,
        *("source_documents", "contexts", "context", "documents", "docs", "premise", "source"),
    ),
    "reference": (
        *("reference", "reference_answer", "ground_truth", "expected_output", "expected_response"),
        *("expected", "passage_gt"),
    ),
    "conversation": ("conversation", "history", "messages", "turns"),
    "profile": ("profile",),
    "agent_name": ("agent_name",),
    "answers": ("answers", "real_answers"),
}
"""The fields that a prompt can show, each with its names in mappings: the first one present counts."""

GENERIC = frozenset({"source", "output", "result", "prediction"})
"""The ambiguous names: each means its field only if the value fits that field (see `_fits`)."""

FIELD_NAMED: Mapping[str, str] = {name: field for field, names in ALIASES.items() for name in names}
"""Every name of a field, including its own -> the field."""


def fold_name(name: object) -> str:
    """Return a field name as it is compared: `retrievalContext` is `retrieval_context`."""
    return str(name).replace("_", "").casefold()


FIELD_BY_FOLDED_NAME = {fold_name(name): field for name, field in FIELD_NAMED.items()}
FOLDED_RETRIEVED = frozenset(fold_name(name) for name in RETRIEVED)
ALSO_GIVEN = "also_given"
"""The key in the fields of a row that lists those to which another key gives a different value."""

OTHER_MEANINGS = ("messages", "id", "case_id", "metadata", ALSO_GIVEN)
MEANINGS = FIELD_BY_FOLDED_NAME | {fold_name(name): name for name in OTHER_MEANINGS}
"""What a key of a mapping means, by its folded name: a field, or something that is handled specially."""

SIDES = {"inputs": "query", "outputs": "response", "reference_outputs": "reference"}
"""The sides of an exchange, each with the field that it represents if it is not a mapping."""

RESERVED = frozenset({"id", "case_id", "metadata", *SIDES})
"""Keys of a mapping that mean something other than a field or an entry of the metadata."""

WORD = compile_when_used(r"[A-Z]?[a-z]+")
"""A word of a key such as gt_answer or sourceId."""

NUMBER = compile_when_used(r"\s*[-+]?\d[\d.,]*\s*%?\s*")
"""A text that is just a number."""

THREADS = frozenset({"query", "response", "conversation", "messages"})
"""What can be chat messages."""

NEARLY_A_NAME = 0.8
"""How much a key must resemble a field's name to be probably meant as it, from 0 to 1."""

FieldValues: TypeAlias = dict[str, Any]
"""A mapping that `Case.of` takes, with each field under its own name, `id` and `metadata`."""

FieldsLike: TypeAlias = Callable[..., Any] | FieldPaths | None
"""What `fields=` can be: None, if all fields have their usual names; a mapping of field to dotted path; or a
function to the case."""

Pairs: TypeAlias = Iterable[tuple[str, Any]]
"""Keys and their values."""

Retrieved: TypeAlias = Sequence[Document] | CaseError | None
"""The documents that a run retrieved, or why they cannot be read; None if it has no retriever or tool."""


def field_of(name: object) -> str | None:
    """Return the field that a key of a mapping names, in upper or lower case; None if it names none."""
    return FIELD_BY_FOLDED_NAME.get(fold_name(name))


def find_keys(row: Iterable[str], *meanings: str) -> list[str]:
    """Find the keys of a mapping that name one of the given fields, or `messages`, in upper or lower case.

    For "response" they are ["Answer"] for the row {"question": "Hi", "Answer": "Hello"}.
    """
    return [key for key in row if MEANINGS.get(fold_name(key)) in meanings]


def id_in(row: Mapping[str, Any]) -> Any:  # noqa: ANN401  any value in the row
    """Return the row's id: what it has under `id` or else `case_id`, in upper or lower case."""
    for name in ("id", "case_id"):
        key = find_key(row, name)
        if key is not None and not is_absent(row[key]):
            return row[key]
    return None


def misspelt_key(field: str, values: Mapping[str, Any]) -> str | None:
    """Return the first key that is nearly a name of the field and has a value that fits it.

    A name with an additional word, such as `source_id` or `gt_answer`, means something else, not a
    misspelling.
    """
    for key, value in values.items():
        text = str(key)
        names: list[str] = []
        for name in ALIASES.get(field, ()):
            if len(WORD.findall(text)) <= len(WORD.findall(name)):
                names.append(name.casefold())
        is_near = field_of(text) is None and get_close_matches(text.casefold(), names, 1, NEARLY_A_NAME)
        if is_near and (is_blank(value) or holds_text(field, value)):
            return text
    return None


@dataclass(frozen=True)
class Fields:
    """Where the fields of a case are in the data of a framework or a file.

    Attributes:
        paths: fields, by their own names, and custom inputs of a prompt, each with the dotted path that leads
            to it. They take precedence over the usual names.
        function: the caller's function that returns the case, which replaces everything else.
    """

    paths: FieldPaths = field(default_factory=dict[str, str])
    function: Callable[..., Any] | None = None

    @classmethod
    def of(
        cls, fields: FieldsLike, inputs: Iterable[str] | None = (), roots: Collection[str] | None = None
    ) -> Fields:
        """Check what was passed as `fields=` before there is any data.

        Args:
            fields: what was passed: a mapping of field to dotted path, as in {"query": "inputs.q",
                "response": "outputs.choices.0.text"}; a function to the case, or to a mapping with its
                fields; or None. Fields that the mapping does not contain are found under their usual names.
                What `metadata` leads to is merged with the existing metadata, and takes precedence.
            inputs: the names of the judge's inputs, including custom ones. None: unknown, so a name that
                resembles no field may be one of them.
            roots: what a path can start with; None: the keys of the rows, which are not known yet.

        Raises:
            CaseError: `unknown_field`: no field has that name; `alias_conflict`: two names mean the same
                field; `bad_path`: a path starts with none of the roots. TypeError: it is neither a mapping
                nor a function, or the function is asynchronous.
        """
        if iscoroutinefunction(fields):
            message = f"fields must be a function that returns the case at once: {fields!r} is asynchronous"
            raise TypeError(message)
        if fields is None or callable(fields):
            return cls(function=fields)
        if not is_mapping(fields):
            message = f"fields must be a mapping of field to dotted path, or a function, not {fields!r}"
            raise TypeError(message)
        names = [*ALIASES, "id", "metadata", "judges", "messages"]
        if inputs is not None:
            names += inputs
        names = list(dict.fromkeys(names))
        paths: dict[str, str] = {}
        for name, path in fields.items():
            hint = did_you_mean(name, [*names, *FIELD_NAMED])
            field_name = field_of(name)
            if name in names:
                field_name = name
            elif inputs is None and not hint and field_name is None:
                field_name = name  # may be an input of a prompt that is not known yet
            if field_name is None:
                message = f"unknown field {name!r}{hint or '.'} The fields are: {name_list(names, name)}"
                raise CaseError("unknown_field", message, name)
            if field_name in paths:
                message = f"{field_name} is already read from {paths[field_name]}"
                raise CaseError("alias_conflict", message, field_name)
            root = str(path).partition(".")[0]
            if roots is not None and root not in roots:
                message = f"the path {path!r} starts with {root!r}, which is not one of {', '.join(roots)}"
                hint = did_you_mean(root, roots) or f": write a path like {next(iter(roots))}.NAME"
                raise CaseError("bad_path", message + hint, str(path))
            paths[field_name] = path
        return cls(paths)

    def in_row(
        self, row: object, roots: Mapping[str, object] | None = None, retrieved: Retrieved | None = None
    ) -> FieldValues:
        """Return the fields in a row of a file, in any mapping, in the state of an agent, or in an exchange.

        A field may have any of its names in `ALIASES`; all other keys go to `metadata`. `messages` are a
        thread (see `_read_thread`), which provides the fields that have no key themselves. A response that
        has a key, even one without a value, is never read from the thread: a crashed application must not
        look like a good one.

        A row with both `inputs` and `outputs` is an exchange with an application; it may have
        `reference_outputs`, the expected outputs, and other keys. Each side is the field that it represents
        (`SIDES`), or a mapping with fields; a dataclass or a pydantic model with a field under any of its
        names counts as a mapping. If two sides have the same field, the outputs come first, then the inputs,
        then the reference outputs; only the `id` of the inputs comes before that of the outputs.

        - inputs: `messages` are the query or, if another key gives the query, the conversation. The response
        is never in the inputs: a value under one of its names is from an earlier turn, or expected, and goes
        to `metadata`.
        - outputs: `messages` are a thread; without a user message it continues the `messages` of the inputs.
        - reference outputs: any name of the response means the reference here.

        Args:
            row: a mapping, or a dataclass or pydantic model like one; any object if the paths lead to
                everything that is needed.
            roots: what a path can start with besides the keys of the row, by name. A key of the row may
                contain dots, such as the column "inputs.q" of a table.
            retrieved: the documents that the run of an exchange retrieved, or why they cannot be read; None
                if it has no retriever or tool. Together with the thread's tool results they are the context,
                unless the outputs or a path have one. Only judges of a context report an error.

        Raises:
            CaseError: `unreadable_row` if the row is not a mapping; `bad_path` if a path can be read in two
                ways that lead to different values.
        """
        row = _as_mapping(row)
        if not is_mapping(row):
            if not self.paths or roots is None:
                message = f"a case must be a mapping from field names to values, not {shape_of(row)}"
                raise CaseError("unreadable_row", message)
            row = {}  # the paths lead to everything that is needed
        values_at_paths: FieldValues = {}
        all_roots: Mapping[str, object] = {}
        if self.paths:
            all_roots = {**row, **(roots or {})}
            values_at_paths = {name: value_at(all_roots, path) for name, path in self.paths.items()}

        is_exchange = "inputs" in row and "outputs" in row
        outputs_have_context = False
        pairs: Pairs = row.items()
        if is_exchange:
            pairs, outputs_have_context = _read_exchange(row)
        fields = self._merge(values_at_paths, pairs)
        for name, path in self.paths.items():
            if name in ALIASES and fields.get(name) is None:
                # Not an error yet: the field may not be needed.
                fields[name] = CaseError("missing_field", nothing_at(all_roots, path), name)

        thread = try_read_field("messages", fields.pop("messages", None))
        fields_of_thread = _read_thread(thread, fields)
        context_of_thread: Any = fields_of_thread.get("context")
        context = fields.get("context")
        if is_list(context) and not context:
            # What tools returned is also a context.
            fields["context"] = context_of_thread or []
        elif context is not None and is_list(context_of_thread):
            sources = [found for found in context_of_thread if isinstance(found, Document)]
            if sources and try_read_field("context", context) != tuple(sources):
                fields.setdefault(ALSO_GIVEN, {})["context"] = True
        fields = {**fields_of_thread, **fields}

        if outputs_have_context or not is_absent(values_at_paths.get("context")):
            return fields
        if isinstance(retrieved, CaseError):
            fields["context"] = retrieved
        elif retrieved is not None:
            found_by_agent = context_of_thread if is_list(context_of_thread) else ()
            texts = {found.content for found in found_by_agent}
            other_documents = [document for document in retrieved if document.content not in texts]
            fields["context"] = [*found_by_agent, *other_documents]
        return fields

    def _merge(self, values_at_paths: FieldValues, pairs: Pairs) -> FieldValues:
        """Return the fields at the paths, and the fields among keys and values to which no path leads."""
        if not values_at_paths:
            return _collect_fields(pairs)
        fields: FieldValues = {}
        pairs_to_read = list(values_at_paths.items())
        for name in values_at_paths:
            if name in ALIASES:
                fields[name] = None  # a path that leads nowhere means that the field is absent
        for key, value in pairs:
            # What a path leads to is not the field of its own name, too: neither a thread named `user_input`
            # is the query, nor documents named `reference` the answer.
            is_taken = key in self.paths.values() and field_of(key) is not None
            if MEANINGS.get(fold_name(key)) not in fields and not is_taken:
                pairs_to_read.append((key, value))
        fields |= _collect_fields(pairs_to_read)
        for name in values_at_paths:
            fields.get(ALSO_GIVEN, {}).pop(name, None)  # the path says which one counts
        return fields

    def in_flat_row(self, row: Mapping[str, Any]) -> FieldValues:
        """Do the same as `in_row`, with the keys of the metadata next to the fields, as in files."""
        fields = self.in_row(row)
        for name, value in fields.items():
            if isinstance(value, CaseError) and value.code == "missing_field":
                fields[name] = None  # a path that no row has is an error of the file
        metadata = fields.pop("metadata")
        return {**metadata, **fields}


# --- usual names ------------------------------------------------------------------------------------------


def _collect_fields(pairs: Pairs, main_field: str = "") -> FieldValues:
    """Collect keys and values by the names of fields, and `messages`, `id` and `metadata`.

    Of several names of a field, the first in `ALIASES` counts, and of equal ones the first in the row. A null
    counts as not given; only a response's null is kept, so that nothing else is taken for the response.

    Args:
        pairs: the keys and values.
        main_field: the field that a side of an exchange represents; "" for a row.
    """
    values_by_name: dict[str, list[tuple[str, Any]]] = {}
    metadata: dict[str, Any] = {}
    other_keys: dict[str, Any] = {}
    also_given: dict[str, Any] = {}
    for key, raw_value in pairs:
        name, value = _read_entry(str(key), raw_value, main_field)
        if name == "metadata" and is_mapping(value):
            metadata = {**value, **metadata}
        elif name == ALSO_GIVEN and is_mapping(value):
            also_given |= value
        elif name in {None, "metadata", ALSO_GIVEN}:
            if value is not None or name is None:
                other_keys.setdefault(key, value)
            # It stays in the metadata: a prompt may have an input with that name.
            if str(key).casefold() in SOURCES and read_sources(value):
                values_by_name.setdefault("context", []).append((str(key), value))
        elif value is not None or name in {"response", "context"}:
            values_by_name.setdefault(str(name), []).append((str(key), value))

    fields: FieldValues = {}
    for name, values in values_by_name.items():
        value, is_given_otherwise = _choose_value(name, values)
        if value is not None or name == "response":
            fields[name] = value
        if is_given_otherwise:
            also_given[name] = True
    if "case_id" in fields:
        case_id = fields.pop("case_id")
        fields.setdefault("id", case_id)
    fields["metadata"] = {**metadata, **other_keys}
    if also_given:
        fields[ALSO_GIVEN] = also_given
    return fields


def _read_entry(key: str, raw_value: object, main_field: str) -> tuple[str | None, Any]:
    """Return what a key means, and its value, reduced to messages if it wraps some."""
    value: Any = None if is_absent(raw_value) else as_plain(raw_value)
    name = _meaning_of(key, value, main_field)
    if name == main_field and main_field in {"query", "response"}:
        thread = read_chat(value)
        if thread is not None:
            return "messages", thread
    if name in THREADS and isinstance(value, str):
        value = _messages_in(name, value)
    elif name in THREADS and name != "response" and is_mapping(value):
        value = _messages_of_request(value) or value
    return name, value


def _messages_in(field_name: str, text: str) -> object:
    """Return the chat messages in a JSON string, or why they cannot be read; other strings unchanged."""
    try:
        refuse_messages(field_name, text)
    except CaseError as error:
        return error
    request = read_object(text)
    if request is not None:
        found = _text_of_completion(request) if field_name == "response" else _messages_of_request(request)
        return text if found is None else found
    values = read_list(text, dict)
    if values is not None and not values and field_name != "response":
        return values  # an answer of "[]" is a text
    thread = None if values is None else read_chat(values)
    if thread is None:
        return text
    is_answer = len(thread) == 1 and thread[0].role == "assistant"
    if field_name == "response" and not is_answer:
        # A model may have written the string: its answer must not become tool results that support it.
        message = (
            "response is a string with chat messages as JSON, and not only one assistant message: "
            "give them as a list, as in JSON Lines"
        )
        return CaseError("field_unreadable", message, field_name)
    if field_name == "response":
        return (thread[0].model_copy(update={"sources": ()}),)  # nor may it bring its own sources
    return thread


def _text_of_completion(output: object) -> object:
    """Return the text alone of what a model's SDK returns, or why there is not one; None of anything else."""
    message = message_of_completion(output)
    if message is None or isinstance(message, CaseError):
        return message
    return text_of(read_chat(message) or str(message), "assistant")


def _messages_of_request(request: Mapping[str, Any]) -> object:
    """Return the messages of a request to a model, or of a wrapper around them; None if it says more."""
    entry = Entry(request)
    thread = read_chat(entry.take("messages"))
    entry.take("tools")  # tools that a model may call
    return None if thread is None or entry.keys_left() else thread


def _meaning_of(key: str, value: object, main_field: str) -> str | None:
    """Return what a key means in a row, or on one side of an exchange; None for nothing.

    `main_field` is what that side usually has: "query" for inputs, "response" for outputs, "reference" for
    reference outputs, "" for a row. So "answer" is the response in outputs and in a row, the reference in
    reference outputs, and nothing in inputs.
    """
    name = key.casefold()
    meaning = MEANINGS.get(fold_name(key))
    if meaning == "response" and main_field == "query":
        return None  # an answer of an earlier turn, or an expected one, is not judged
    if meaning == "response" and main_field:
        return main_field
    if meaning == "messages" and main_field == "response" and isinstance(value, str):
        return "response"  # a text is not a thread, but can only be what the application answered
    if name in GENERIC and not is_blank(value) and not _fits(str(meaning), value):
        return None
    if meaning == "conversation" and is_mapping(value) and is_list(value.get("messages")):
        return "messages"  # a whole thread, such as Azure's
    return meaning


def _fits(field: str, value: object) -> bool:
    """Return whether a value fits the field: it is text, and a context is not a name, link or word."""
    texts = value if is_list(value) else [value]
    strings = [text for text in texts if isinstance(text, str)]
    if field == "context" and len(strings) == len(texts):
        return any(is_passage(text) for text in strings)
    return holds_text(field, value)


def holds_text(field: str, value: object) -> bool:
    """Return whether a value can be read as the field, and is more than a number."""
    if field == "response" and _open_output(value) is not None:
        return True
    if is_number(value) or (isinstance(value, str) and NUMBER.fullmatch(value)):
        return False
    return not isinstance(try_read_field(field, value), CaseError)


def _choose_value(field: str, values: Sequence[tuple[str, Any]]) -> tuple[Any, bool]:
    """Choose the value that counts among those that several names of a field give.

    It is the first that is not blank and fits the field, by the order of the names in `ALIASES`; if there is
    none, the first that is not blank, which may be unreadable.

    Returns:
        The value, and whether another value that is not blank says something else.
    """
    if len(values) == 1 or field not in ALIASES:
        return values[0][1], False
    names = [fold_name(name) for name in (*ALIASES[field], *SOURCES)]
    ordered = sorted(values, key=lambda pair: names.index(fold_name(pair[0])))
    # Compared as a case stores them: the same messages may have the shapes of two vendors.
    readings: list[tuple[str, Any, object]] = []
    for key, value in ordered:
        reading = try_read_field(field, value)
        if not is_blank(reading):
            readings.append((key, value, reading))
    if not readings:
        given = [value for _, value in values if value is not None or field == "response"]
        return given[0] if given else None, False
    chosen_key, chosen_value, chosen_reading = readings[0]
    for key, value, reading in readings:
        # An unreadable value is an error: a name that counts less may mean something else.
        if field != "context" or isinstance(reading, CaseError) or _fits(field, value):
            chosen_key, chosen_value, chosen_reading = key, value, reading
            break
    first_key = ordered[0][0]
    if fold_name(first_key) in FOLDED_RETRIEVED and fold_name(readings[0][0]) not in FOLDED_RETRIEVED:
        # DeepEval's goldens have the ideal context next to the retrieved one.
        message = (
            f"{first_key} is empty, and {chosen_key} is not used in its place: "
            f"if that was retrieved, use it with `fields`: context={chosen_key}"
        )
        return CaseError("missing_field", message, field), False
    return chosen_value, any(reading != chosen_reading for _, _, reading in readings)


def spread_output(values: FieldValues) -> FieldValues:
    """Return the fields; a response that is everything an application returned is replaced by its fields.

    {"response": {"answer": "At 9.", "sources": [...]}} has a context, too.
    """
    output = _open_output(values.get("response"))
    if output is None:
        return values
    fields = _collect_fields(output.items(), "response")
    messages: Any = fields.pop("messages", None)
    if is_list(messages):
        # Only the text, as others give it; the sources of a message are those of its answer.
        is_text = len(messages) == 1 and not messages[0].tool_calls
        fields["response"] = _text_or_message(messages[0]) if is_text else messages
        fields.setdefault("context", sources_of(messages) or None)
    pairs = [*values.items(), *fields.items()]
    del pairs[list(values).index("response")]
    return _collect_fields(pairs)


def _open_output(output: object) -> Mapping[str, Any] | None:
    """Return the fields of what an application, or a chat completion, returned; None if it has none."""
    fields = fields_of(output)
    if fields is None or role_of(output) is not None:
        return None
    message = message_of_completion(output)
    if message is not None:
        return {**_fields_beside(fields), "response": message}
    return fields if find_keys(fields, "response") else None


def _fields_beside(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an application put next to the choices of a completion, such as the context."""
    return {key: value for key, value in output.items() if field_of(key) is not None}


def message_of_completion(output: object) -> object:
    """Return the message of what a model's SDK returns, or why there is not one; None of anything else.

    What has a response of its own is an application's output, which may list other candidates.
    """
    fields = fields_of(output)
    if fields is not None and any(not is_blank(fields[key]) for key in find_keys(fields, "response")):
        return None
    choices = first_value(output, "choices", "candidates", "generations")
    while is_list(choices) and len(choices) == 1:
        choices = choices[0]
    if is_list(choices) and choices and not isinstance(choices[0], str):
        message = f"response has {len(choices)} choices: pass the one that the application used"
        return CaseError("field_unreadable", message, "response")
    return first_value(choices, "message", "content", "text")


# --- threads and exchanges --------------------------------------------------------------------------------


def _read_thread(thread: object, fields: FieldValues) -> FieldValues:
    """Return the fields that the messages of a conversation with an agent give.

    The last user message is the query. The last assistant message after it that calls no tool is the
    response; the conversation is what comes before the response. All tool messages before the response,
    including those of earlier turns, are tool results in the context. If no tool was called, the context is
    empty, not missing.

    Args:
        thread: the messages that were read, or why they cannot be read; a text is only the conversation; None
            if there is no thread.
        fields: the fields that have their own keys, and the metadata. If the response is among them, the
            conversation is all messages up to that response, or all. If a key of the metadata is nearly a
            name of the context, the context is missing.
    """
    if isinstance(thread, CaseError):
        return dict.fromkeys(("query", "response", "context", "conversation"), thread)
    if not is_list(thread):
        return {"conversation": thread}
    question_at: int | None = None
    answer_at: int | None = None
    response_text = _text_of_response(fields)
    for number, message in enumerate(thread):
        # If the response has its own key, the thread may continue after it, or end before it.
        can_be_response = response_text in (None, message.content)
        if message.role == "user":
            question_at = number
            answer_at = None  # what answers an earlier question is not the response
        elif can_be_response and message.role == "assistant" and not message.tool_calls:
            answer_at = number

    conversation = thread[:answer_at]
    query = None
    if question_at is not None:
        query = _text_or_message(thread[question_at])
    response = None
    if answer_at is not None:
        response = _text_or_message(thread[answer_at])
    found: list[Message | Document] = [*_tool_results(conversation)]
    if answer_at is not None:
        found += sources_of(thread[: answer_at + 1])
    context: list[Message | Document] | None = found
    # A misspelt context, such as `contxt`, must not look like an agent that called no tool.
    is_whole = question_at is not None and answer_at is not None
    if not found and (not is_whole or misspelt_key("context", dict.fromkeys(fields["metadata"]))):
        context = None
    return {"query": query, "response": response, "context": context, "conversation": conversation}


def _text_of_response(fields: FieldValues) -> object:
    """Return the text of a response with its own key, or why it cannot be read; None without a key."""
    if "response" not in fields:
        return None
    response = try_read_field("response", fields["response"])
    if isinstance(response, CaseError):
        return response
    return text_of(response, "assistant")


def _tool_results(messages: object) -> list[Message]:
    """Return the results of tools among messages; none in anything else."""
    if not is_list(messages):
        return []
    return [message for message in messages if message.role == "tool"]


def _text_or_message(message: Message) -> object:
    """Return the text of a message, or the message if there are notes on it."""
    if message.notes:
        return [message]
    return message.content


def _as_mapping(value: object) -> object:
    """Return a dataclass or pydantic model that has a field, as a mapping; anything else unchanged."""
    attributes = declared_fields(value)
    if attributes is not None:
        for name in attributes:
            if field_of(name):
                return attributes
    return value


def _read_side(side: object, main_field: str) -> FieldValues:
    """Return one side of an exchange: its fields, its `messages` and its other keys.

    Args:
        side: a mapping, a dataclass or pydantic model like one, or the value of the main field itself.
        main_field: the field that the side represents if it is not a mapping.
    """
    if is_absent(side):
        return _collect_fields((), main_field)
    side = _as_mapping(side)
    if main_field == "response":
        if message_of_completion(side) is not None:
            # A model run. Its information is in its prompt: even without tools, its context is not empty.
            beside: Mapping[str, Any] = _fields_beside(side) if is_mapping(side) else {}
            return _collect_fields([("response", side), *beside.items()])
        side = _open_output(side) or side
    if is_mapping(side) and len(side) == 1:
        # LangSmith keeps what is not a mapping under "output".
        ((key, value),) = side.items()
        if field_of(key) == main_field and declared_fields(value):
            side = _as_mapping(value)
    if not is_mapping(side) or read_chat(side) is not None:
        return _collect_fields([(main_field, side)], main_field)
    return _collect_fields(side.items(), main_field)


def _read_exchange(row: Mapping[str, Any]) -> tuple[list[tuple[str, Any]], bool]:
    """Return the keys and values of an exchange, as a row without sides would have them.

    For the same field, the outputs come before the inputs, and the inputs before the reference outputs. The
    inputs' thread precedes the outputs' thread if the latter is only what the application added; otherwise it
    is the query, or the conversation if there is a query.

    Returns:
        The keys and values, and whether the outputs have a context, so that no other is looked for.
    """
    inputs, outputs, references = [_read_side(row.get(side), field) for side, field in SIDES.items()]
    reference_thread = references.pop("messages", None)
    references.setdefault("reference", reference_thread)

    thread_of_inputs = try_read_field("messages", inputs.pop("messages", None))
    thread_of_outputs = try_read_field("messages", outputs.get("messages"))
    if thread_of_outputs is not None:
        outputs["messages"] = thread_of_outputs
    if is_list(thread_of_inputs) and is_list(thread_of_outputs):
        asks_again = any(message.role == "user" for message in thread_of_outputs)
        if not asks_again:
            # The outputs are only what the application added to the thread.
            outputs["messages"] = (*thread_of_inputs, *thread_of_outputs)
    elif thread_of_inputs is not None:
        field_name = "conversation" if "query" in inputs else "query"
        inputs.setdefault(field_name, thread_of_inputs)
        tool_results = _tool_results(thread_of_inputs)
        if tool_results:
            inputs.setdefault("context", tool_results)
    if "messages" not in outputs:
        # The application crashed, regardless of what else the thread or the row has.
        outputs.setdefault("response", None)

    fields = {**references, **inputs, **outputs}
    fields["id"] = inputs.get("id", fields.get("id"))
    # Under the name that counts most, so that nothing else in the row replaces it.
    pairs: list[tuple[str, Any]] = []
    for name, value in fields.items():
        names = (name,) if is_blank(value) else ALIASES.get(name, (name,))
        pairs.append((names[0], value))
    pairs.append(("metadata", inputs["metadata"]))
    pairs.append(("metadata", references["metadata"]))
    pairs.append((ALSO_GIVEN, inputs.get(ALSO_GIVEN)))
    pairs.append((ALSO_GIVEN, references.get(ALSO_GIVEN)))
    for key in row:
        if key not in SIDES:
            pairs.append((key, row[key]))
    return pairs, "context" in outputs
