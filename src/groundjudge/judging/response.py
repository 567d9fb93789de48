"""An answer: everything new that an application says, which a guard judges and replaces as one response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groundjudge.case.case import Case, Message
from groundjudge.case.data import declared_fields, is_list, is_mapping
from groundjudge.case.fields import ALSO_GIVEN, find_keys
from groundjudge.case.shapes import is_blank, notes_on, read_chat
from groundjudge.errors import CaseError

NOT_SPEAKING = frozenset({"user", "system", "developer", "tool"})
"""The roles whose messages are not answers; any other role, such as "critic", is the application's own."""


def merge_answer(inputs: object, outputs: object) -> object:
    """Return an application's outputs with everything new in them as their last message.

    Outputs without messages, and those from which no case can be read, are returned as they are.
    """
    thread = read_chat(outputs) or ()
    values: Mapping[str, Any] = {}
    if not thread:
        values = _as_mapping(outputs)
    # The thread comes first, so that what was there before is found at its beginning.
    keys = find_keys(values, "messages") + find_keys(values, "response")
    texts: list[str] = []
    for key in keys:
        messages = read_chat(values[key])
        if messages is not None:
            thread += messages
        elif isinstance(values[key], str):
            texts.append(values[key])
        elif not is_list(values[key]) or values[key]:
            return outputs  # what cannot be read, or is missing, is an error of the case
    answers = {text for text in texts if not is_blank(text)}
    if not thread or len(answers) > 1:
        return outputs  # of two texts that differ the case notes that they do
    if len(thread) == 1 and not texts and thread[0].role == "assistant" and not thread[0].tool_calls:
        return outputs  # most answers are one message, for which a long input need not be read twice

    earlier = _messages_of_inputs(inputs)
    n_old = _count_old(earlier, thread)
    new_messages = thread[n_old:]
    responses = [Message(role="assistant", content=text) for text in texts]
    answer = _join([*new_messages, *responses])
    if answer is None:
        return outputs
    # What else is new: calls and results of tools. A question that the application asked itself is none of
    # the user's, unless the inputs have no question.
    tool_messages: list[Message] = []
    for message in new_messages:
        if message.tool_calls:
            tool_messages.append(message.model_copy(update={"content": ""}))
        elif message.role == "tool" or (message.role == "user" and not earlier):
            tool_messages.append(message)
    merged = {key: values[key] for key in values if key not in keys}
    merged["messages"] = [*thread[:n_old], *tool_messages, answer]
    return merged


def merge_response(case: Case) -> Case:
    """Return a case whose response is one text with all that several messages say.

    Messages that repeat the input are left out. If something in them could not be read, the response is a
    message with notes on that.

    Raises:
        CaseError: `answer_elsewhere`: two keys of the output have different answers, and only one is judged.
    """
    if ALSO_GIVEN in case.notes.get("response", ()):
        message = "the output has two different answers, each under a name of the response: return only one"
        raise CaseError("answer_elsewhere", message, "response")
    response = case.response
    if not is_list(response) or len(response) < 2:  # noqa: PLR2004  of one message there is nothing to merge
        return case
    earlier = case.conversation
    if not is_list(earlier):
        earlier = case.query
    if not is_list(earlier):
        earlier = (Message(role="user", content=case.query_text),)
    answer = _join(response[_count_old(earlier, response) :])
    if answer is None:
        return case
    return case.replace(response=[answer] if answer.notes else answer.content)


def _count_old(earlier: Sequence[Message], thread: Sequence[Message]) -> int:
    """Count the messages that an application was sent, if what it returned begins with them.

    Otherwise nothing counts as old: it is better to judge an old answer again than to miss a new one.
    """
    n_earlier = len(earlier)
    input_turns = [(message.role, message.content) for message in earlier]
    returned = [(message.role, message.content) for message in thread[:n_earlier]]
    return n_earlier if returned == input_turns else 0


def _join(messages: Sequence[Message]) -> Message | None:
    """Return one assistant message with all that the application says in these; None if it says nothing.

    Each text is there once; the text next to a tool call too.
    """
    spoken = [message for message in messages if message.role not in NOT_SPEAKING]
    texts = dict.fromkeys(message.content for message in spoken if not is_blank(message))
    if not texts:
        return None
    return Message(role="assistant", content="\n\n".join(texts), notes=notes_on(spoken))


def _as_mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping, dataclass or pydantic model as a mapping; an empty one for anything else."""
    if is_mapping(value):
        return value
    fields = declared_fields(value)
    return {} if fields is None else fields


def _messages_of_inputs(inputs: object) -> Sequence[Message]:
    """Return the messages that an application was sent: those of its input, or its query."""
    value = inputs
    thread = read_chat(inputs)
    if thread is None and not isinstance(inputs, str):
        values = _as_mapping(inputs)
        keys = find_keys(values, "messages") + find_keys(values, "query")
        value = values[keys[0]] if keys else None
        thread = read_chat(value)
    if thread is None and isinstance(value, str):
        thread = (Message(role="user", content=value),)
    return thread or ()
