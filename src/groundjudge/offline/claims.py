"""What a response claims, and the texts of the case that have to back it."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import cast

from groundjudge.case.case import Case, Document, Message
from groundjudge.offline.readings import Reading
from groundjudge.offline.smalltalk import states_nothing
from groundjudge.offline.support import Sources, Support, model, support
from groundjudge.text.sentences import sentences

SOURCES = frozenset({"answers", "context", "conversation", "profile", "query", "reference"})
"""The fields of a case that can back a response."""
MATCHES_DATA = 0.65
"""The share of a claim's content words that a tool result must have to be its source."""


@dataclass(frozen=True)
class Claim:
    """A sentence, what it says, its support, and whether it states anything."""

    text: str
    reading: Reading
    support: Support
    states: bool

    @property
    def is_whole(self) -> bool:
        """Whether the source has every detail of it."""
        return self.support.score >= model().exact and not self.support.conflict.added

    @property
    def length(self) -> int:
        """How much it says: its content words, and one for there being a sentence."""
        return 1 + sum(word.weight == 1 for word in self.reading.words)


def claims(text: str, sources: Sources) -> list[Claim]:
    """The sentences of a text as the sources have them."""
    said = [sentence.text for sentence in sentences(text)]
    found = {each: _claim(each, sources) for each in dict.fromkeys(said)}  # texts can repeat themselves
    return [found[each] for each in said]


def _claim(sentence: str, sources: Sources) -> Claim:
    states = not states_nothing(sentence, sources.read)
    return Claim(sentence, sources.read(sentence), support(sentence, sources), states)


def with_authority(claim: Claim, tools: Sources) -> Claim:
    """A claim as the tool results have it: wrong if they contradict it, right if they have its data.

    Data has keys and values but no grammar, so that only content words and numbers are compared.
    """
    found = support(claim.text, tools)
    if found.is_contradicted:
        return replace(claim, support=found)
    share = len(found.matched) / (len(found.matched) + len(found.missing) or 1)
    if share >= MATCHES_DATA and not found.numbers and found.score < share:
        return replace(claim, support=replace(found, score=(1 + share) / 2))
    return claim


def source_texts(case: Case, shown: Collection[str], *, needs_context: bool) -> list[str]:
    """The texts that have to back the response: the first of these that the prompt shows and the case has.

    With `needs_context`, an empty context means that nothing backs the response.
    """
    found = {field: texts(getattr(case, field)) for field in SOURCES if field in shown}
    if found.get("context") or ("context" in found and case.context is not None and needs_context):
        return found["context"]
    own = own_turns(case) if "conversation" in shown else []
    character = [*found.get("profile", ()), *own, *found.get("answers", ())]
    return found.get("reference") or character or [*found.get("query", ()), *tool_texts(case)]


def tool_texts(case: Case) -> list[str]:
    """The tool results of a case: those in its context, or those in the response if there is no context."""
    if case.context:
        return texts(tuple(document for document in case.context if document.kind == "tool"))
    made = () if isinstance(case.response, str | None) else case.response
    return texts(
        tuple(_without_words(message) for message in made if message.role == "tool" or message.tool_calls)
    )


def _without_words(message: Message) -> Message:
    """A message without what the assistant says of its tool calls, which is no source."""
    return message if message.role == "tool" else message.model_copy(update={"content": ""})


def own_turns(case: Case) -> list[str]:
    """What the character itself says in the conversation; what others say may be a false premise."""
    if not isinstance(case.conversation, str):
        return texts(tuple(message for message in case.conversation or () if message.role != "user"))
    name = (case.agent_name or "").casefold()
    lines = (line for line in case.conversation.splitlines() if line.strip())
    marks = (f"{name}:", f"{name}：")
    return [line for line in lines if name and line.casefold().lstrip(" *-").startswith(marks)]


def texts(value: object) -> list[str]:
    """The texts in a field of a case."""
    match value:
        case str():
            return [value] if value.strip() else []
        case Document(content=content):
            return [content]
        case Message(content=content, tool_calls=calls):
            made = (json.dumps(call.arguments, ensure_ascii=False, default=str) for call in calls)
            return [text for text in (content, *made) if text.strip()]
        case tuple():
            return [text for item in cast("tuple[object, ...]", value) for text in texts(item)]
        case _:
            return []
