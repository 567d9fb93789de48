"""What a response claims, the texts of the case that have to back it, and what the baseline says of both."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from groundjudge.case.case import Case, Message
from groundjudge.offline.readings import read
from groundjudge.offline.support import Sources, Support, support
from groundjudge.text.sentences import sentences, without_citations

SOURCES = frozenset({"answers", "context", "conversation", "profile", "query", "reference"})
"""The fields of a case that can back a response."""

_COURTESIES = """
absolutely afternoon ah anything apologies apologise apologize ask asking assist assistance awesome bye
certainly course day definitely don't else evening feel get glad good goodbye got great greetings happy hear
hello help hey hi hope i'd i'll i'm idea know knows let let's look looking forward moment morning need nice
oh ok okay perfect please pleasure question questions right see something sorry sure tell thank thanks that's
think thx today understand understood wait welcome well wonderful wow yeah yep yes you'll you're
"""
COURTESIES = frozenset(_COURTESIES.split())
"""Words of which a sentence can consist without stating anything."""
MOST_OTHER_WORDS = 0.4
"""The share of a courtesy's content words that may be others ("happy to help with your order")."""
LONGEST_NOTHING = 200
"""Characters of a sentence; a longer one states something, if only at length."""
LONGEST_LEAD = 6
"""Content words of a question or a lead-in; a longer one also tells something."""

SUPPORTED = 0.5
"""A claim with less support is called not backed."""
LONGEST_QUOTE = 160
MOST_CLAIMS = 2
MOST_WORDS = 4
LONGEST_WORD = 30

_LEAD = re.compile(r"[?？:：]\W*\Z")
_COURTESY_SIGNS = re.compile(
    "谢谢|謝謝|感谢|您好|你好|好的|当然|當然|不客气|不客氣|抱歉|对不起|對不起|请问|請問|再见|没问题|很高兴|为您服务|帮助您|帮您|帮你|是的"
)


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
    length = 1 + sum(word.weight == 1 for word in read(said).words)
    return Claim(sentence, found, length, not states_nothing(said))


def states_nothing(sentence: str) -> bool:
    """Whether a sentence makes no claim: a courtesy, a question, a lead-in, a bare yes or no, no words."""
    if len(sentence) > LONGEST_NOTHING or any(token.is_number for token in read(sentence).tokens):
        return False
    content = [word for word in read(_COURTESY_SIGNS.sub(" ", sentence)).words if word.weight == 1]
    if _LEAD.search(sentence):
        return len(content) <= LONGEST_LEAD
    others = [word for word in content if word.text.casefold().replace("’", "'") not in COURTESIES]
    return len(others) <= MOST_OTHER_WORDS * len(content)


def source_texts(case: Case, shown: Collection[str], *, needs_context: bool) -> list[str]:
    """The texts that have to back the response: the first of these that the prompt shows and the case has.

    With `needs_context`, an empty context means that nothing backs the response.
    """
    context = [document.content for document in case.context or ()]
    if "context" in shown and (context or (case.context is not None and needs_context)):
        return context
    texts = {
        "reference": [case.reference or ""],
        "profile": [case.profile or ""],
        "conversation": own_turns(case),
        "answers": case.answers or (),
    }
    backing = {name: [text for text in texts[name] if text.strip()] for name in texts if name in shown}
    reference = backing.pop("reference", [])
    own = [text for found in backing.values() for text in found]
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


def reason(claims: Sequence[Claim], where: str = "the source") -> str:
    """What was found and what was not, in a few sentences."""
    if not claims:
        return "Nothing is stated that could be checked."
    ranked = sorted(claims, key=lambda claim: claim.support.score)
    failed = [claim for claim in ranked if claim.support.score < SUPPORTED]
    whole = [claim for claim in ranked if claim.is_whole and claim not in failed]
    partly = [claim for claim in ranked if claim not in failed and claim not in whole]
    counts = f"{len(whole)} backed by {where}, {len(partly)} in part, {len(failed)} not"
    said = [f"Statements: {len(claims)} ({counts})."]
    if whole:
        said.append(f"Backed: {_quoted(whole[-1].text)} by {_at(whole[-1].support)}.")
    for label, some in (("Backed in part", partly), ("Not backed", failed)):
        said.extend(f"{label}: {_quoted(claim.text)}{_why(claim.support)}." for claim in some[:MOST_CLAIMS])
    return " ".join(said)


def _why(found: Support) -> str:
    """What contradicts a claim in the passage that is most like it, or else what is missing."""
    if found.contradictions:
        return f" ({'; '.join(found.contradictions)}), against {_at(found)}"
    lacking = ", ".join(_short(word, LONGEST_WORD) for word in found.missing[:MOST_WORDS])
    missing = f" (not found: {lacking})" if lacking else ""
    return f"{missing}, nearest: {_at(found)}" if found.quote else missing


def _at(found: Support) -> str:
    """The quote of a claim and where it is, texts being counted from 1 as in the prompts."""
    document, start, end = found.passage
    return f"{_quoted(found.quote)} (text {document + 1}, {start} to {end})"


def _quoted(text: str) -> str:
    return f"“{_short(text)}”"


def _short(text: str, longest: int = LONGEST_QUOTE) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
