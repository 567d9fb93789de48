"""What a response claims, and the texts of the case that have to back it."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from groundjudge.case.case import Case, Message
from groundjudge.offline.smalltalk import states_nothing
from groundjudge.offline.support import Sources, Support, support
from groundjudge.text.sentences import sentences, without_citations

SOURCES = frozenset({"answers", "context", "conversation", "profile", "query", "reference"})
"""The fields of a case that can back a response."""


@dataclass(frozen=True)
class Claim:
    """A sentence, how far it is supported, how many content words it has, and whether it states anything."""

    text: str
    support: Support
    length: int
    states: bool

    @property
    def is_whole(self) -> bool:
        """Whether the source has every detail of it."""
        return bool(self.support.signals.whole)


def claims(text: str, sources: Sources, tools: Sources | None = None) -> list[Claim]:
    """The sentences of a text as the sources have them; what contradicts a tool result is wrong."""
    said = [sentence.text for sentence in sentences(text)]
    found = {
        each: _claim(each, sources, tools) for each in dict.fromkeys(said)
    }  # texts can repeat themselves
    return [found[each] for each in said]


def _claim(sentence: str, sources: Sources, tools: Sources | None) -> Claim:
    said = without_citations(sentence)
    found = support(said, tools) if tools else None
    if found is None or not found.contradictions:
        found = support(said, sources)
    length = 1 + sum(word.weight == 1 for word in sources.read(said).words)
    return Claim(sentence, found, length, not states_nothing(said, sources.read))


def source_texts(case: Case, shown: Collection[str], *, needs_context: bool) -> list[str]:
    """The texts that have to back the response: the first of these that the prompt shows and the case has.

    With `needs_context`, an empty context means that nothing backs the response.
    """
    character = {
        "profile": [case.profile or ""],
        "conversation": own_turns(case),
        "answers": [*(case.answers or ())],
    }
    context = [document.content for document in case.context or ()] if "context" in shown else []
    if context or ("context" in shown and case.context is not None and needs_context):
        return context
    reference = [case.reference] if case.reference and "reference" in shown else []
    own = [text for field, texts in character.items() if field in shown for text in texts if text.strip()]
    query = _texts(case.query) if "query" in shown else []
    return reference or own or [*query, *tool_texts(case)]


def tool_texts(case: Case) -> list[str]:
    """The tool results of a case: those in its context, or those in the response if there is no context."""
    if case.context:
        return [document.content for document in case.context if document.kind == "tool"]
    made = () if isinstance(case.response, str | None) else case.response
    results = [message.content for message in made if message.role == "tool"]
    return [*results, *(text for message in made for text in _calls(message))]


def own_turns(case: Case) -> list[str]:
    """What the character itself says in the conversation; what others say may be a false premise."""
    if not isinstance(case.conversation, str):
        return _texts(tuple(message for message in case.conversation or () if message.role != "user"))
    name = (case.agent_name or "").casefold()
    lines = (line for line in case.conversation.splitlines() if line.strip())
    marks = (f"{name}:", f"{name}：")
    return [line for line in lines if name and line.casefold().lstrip(" *-").startswith(marks)]


def _texts(value: str | tuple[Message, ...] | None) -> list[str]:
    """The texts of a field, what its messages call tools with among them."""
    if value is None or isinstance(value, str):
        return [value] if value else []
    return [text for message in value for text in (message.content, *_calls(message))]


def _calls(message: Message) -> list[str]:
    return [json.dumps(call.arguments, ensure_ascii=False, default=str) for call in message.tool_calls]
