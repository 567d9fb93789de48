"""The state of a case: what a decision model is shown, as JSON data.

Rules stand under a name of their own, and each value of the case under that of its field. So no value has to
be fenced, and none can leave its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from groundjudge.case.case import Case, Document, Message
from groundjudge.case.data import as_json, is_list, is_mapping
from groundjudge.case.shapes import is_blank, text_of
from groundjudge.prompt.fences import without_control_tokens
from groundjudge.prompt.input import Input
from groundjudge.text.sentences import sentences

RULES = "rules"
"""The name of the rules in the state."""

TOOL_RESULT = "tool result"
"""The kind of a document that a tool returned, as text prompts call it, too."""

DEEPEST = 20
"""How deeply the arguments of tools' calls are nested as data; deeper ones are text. Endpoints limit it."""


class SourceSentence(NamedTuple):
    """A sentence of the context: `case.context[document].content[start:end] == text`."""

    text: str
    document: int
    start: int
    end: int


@dataclass(frozen=True)
class Sentences:
    """The numbered sentences of a case; the first has the number 1.

    Attributes:
        source: those of the context.
        response: those of the response, where each is asked about.
    """

    source: Sequence[SourceSentence] = ()
    response: Sequence[str] = ()


NO_SENTENCES = Sentences()
"""No sentence of the case has a number."""


def inputs_by_name(inputs: Iterable[Input]) -> dict[str, Input]:
    """Return the inputs by their names in the state: those of the fields.

    Only where a prompt shows a field in two ways, the second has its own name.
    """
    named_inputs: dict[str, Input] = {}
    for prompt_input in inputs:
        name = prompt_input.field
        if name in named_inputs:
            name = prompt_input.name
        named_inputs[name] = prompt_input
    return named_inputs


def make_state(
    case: Case, inputs: Iterable[Input], rules: str, *, has_sentences: bool
) -> tuple[dict[str, Any], Sentences]:
    """Make the state of a case.

    Args:
        case: the case.
        inputs: what is shown of it.
        rules: what holds for all questions; "" for none.
        has_sentences: whether the sentences of the response are numbered.

    Returns:
        The rules, if there are any, and the values of the inputs that were given; and the sentences that have
        numbers.
    """
    state: dict[str, Any] = {}
    if rules:
        state[RULES] = rules
    source: list[SourceSentence] = []
    response: list[str] = []
    for name, prompt_input in inputs_by_name(inputs).items():
        value = prompt_input.value(case)
        if value is None:
            continue
        if name == "context":
            state[name] = _documents(value, source)
        elif prompt_input.is_custom and prompt_input.type == "documents":
            state[name] = _documents(value, [])
        elif name == "response" and has_sentences:
            spans = sentences(case.response_text)
            response = [span.text for span in spans]
            shown_response = without_control_tokens(case.response_text)
            state[name] = _number([shown_response[span.start : span.end] for span in spans], 1)
        else:
            state[name] = _plain_value(value, prompt_input)
    return state, Sentences(source, response)


def _documents(documents: Sequence[Document], source: list[SourceSentence]) -> list[dict[str, Any]]:
    """Return documents that are not blank, with their sentences, which are added to the source."""
    entries: list[dict[str, Any]] = []
    for index, document in enumerate(documents):
        if is_blank(document):
            continue
        is_tool_result = document.kind == "tool"
        spans = sentences(document.content)
        # No sign is added or removed: places are the same.
        content = without_control_tokens(document.content)
        texts = [content[span.start : span.end] for span in spans]
        entry: dict[str, Any] = {}
        if document.title.strip():
            entry["title"] = without_control_tokens(document.title)
        entry["kind"] = TOOL_RESULT if is_tool_result else document.kind
        entry["sentences"] = _number(texts, len(source) + 1)
        entries.append(entry)
        for span in spans:
            source.append(SourceSentence(span.text, index, span.start, span.end))
    return entries


def _number(texts: Iterable[str], first: int) -> dict[str, str]:
    """Return sentences by their numbers."""
    return {str(number): text for number, text in enumerate(texts, first)}


def _plain_value(value: Any, prompt_input: Input) -> Any:  # noqa: ANN401  any field's value; JSON data
    """Return a value as text prompts show it: text, messages or a list."""
    if prompt_input.type == "text" and prompt_input.field == "query":
        value = text_of(value, "user")
    elif prompt_input.type == "text" and prompt_input.field == "response":
        value = text_of(value, "assistant")
    if isinstance(value, str):
        return without_control_tokens(value)
    return [_message(entry) if isinstance(entry, Message) else _harmless(entry, 1) for entry in value]


def _message(message: Message) -> dict[str, Any]:
    """Return a message as JSON data: `{"role": "user", "content": "..."}`."""
    data: dict[str, Any] = {"role": _harmless(message.role, 1), "content": _harmless(message.content, 1)}
    if message.name:
        data["name"] = _harmless(message.name, 1)
    if message.tool_calls:
        data["tool_calls"] = [_harmless(dict(call), 1) for call in message.tool_calls]
    return data


def _harmless(value: Any, depth: int) -> Any:  # noqa: ANN401  whatever JSON can hold
    """Return data with the control tokens in it broken up."""
    if isinstance(value, str):
        return without_control_tokens(value)
    is_nested = is_mapping(value) or is_list(value)
    # As text it is shown all the same, where an endpoint would refuse the whole state.
    if is_nested and depth > DEEPEST:
        return without_control_tokens(as_json(value))
    if is_mapping(value):
        mapping: Mapping[Any, Any] = value
        return {
            without_control_tokens(str(key)): _harmless(inner, depth + 1) for key, inner in mapping.items()
        }
    if is_list(value):
        return [_harmless(inner, depth + 1) for inner in value]
    return value
