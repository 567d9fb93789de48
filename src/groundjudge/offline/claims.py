"""What a response claims, the texts of the case that have to back it, and what the baseline says of both."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence

from groundjudge.case.case import Case, Message
from groundjudge.offline.readings import read
from groundjudge.offline.support import SUPPORTED, Sources, Support, support
from groundjudge.text.sentences import sentences, without_citations
from groundjudge.text.words import words

# The fields of a case that can back a response.
SOURCES = frozenset({"answers", "context", "conversation", "profile", "query", "reference"})

_COURTESIES = """
absolutely afternoon anything apologize ask assist assistance awesome bye certainly course day definitely
don't else evening feel get glad good goodbye got great greetings happy hear hello help hey hi hope i'd i'll
i'm idea know let look forward moment morning need nice oh perfect pleasure question right see something sorry
sure tell thank think thx today understand understood wait welcome well wonderful wow yep you'll you're
"""
# Stems of words of which a sentence can consist without stating anything.
COURTESIES = frozenset(word.stem for word in words(_COURTESIES))
# The share of a courtesy's content words that may be others ("happy to help with your order").
MOST_OTHER_WORDS = 0.4
# Characters of a sentence; a longer one states something, if only at length.
LONGEST_NOTHING = 200
# Content words of a question or a lead-in; a longer one also tells something.
LONGEST_LEAD = 6

LONGEST_QUOTE = 160
MOST_CLAIMS = 2
MOST_WORDS = 4
LONGEST_WORD = 30

_LEAD = re.compile(r"[?？:：]\W*\Z")
_COURTESY_SIGNS = re.compile(
    "谢谢|謝謝|感谢|您好|你好|好的|当然|當然|不客气|不客氣|抱歉|对不起|對不起|请问|請問|再见|没问题|很高兴|为您服务|帮助您|帮您|帮你|是的"
)


def claims(text: str, sources: Sources, tools: Sources | None = None) -> list[Support]:
    """The sentences of a text as the sources have them; what contradicts a tool result is wrong."""
    said = [sentence.text for sentence in sentences(text)]
    found = {each: support(each, sources) for each in dict.fromkeys(said)}  # texts can repeat themselves
    checked = [support(each, tools) for each in found] if tools else []
    wrong = {each.sentence: each for each in checked if each.contradictions}
    return [wrong.get(each) or found[each] for each in said]


def states_nothing(sentence: str) -> bool:
    """Whether a sentence makes no claim: a courtesy, a question, a lead-in, a bare yes or no, no words."""
    reading = read(_COURTESY_SIGNS.sub(" ", without_citations(sentence).replace("’", "'")))
    if len(sentence) > LONGEST_NOTHING or any(token.is_number for token in reading.tokens):
        return False
    content = [word.stem for word in reading.words if word.weight == 1]
    if _LEAD.search(sentence):
        return len(content) <= LONGEST_LEAD
    return sum(stem not in COURTESIES for stem in content) <= MOST_OTHER_WORDS * len(content)


def source_texts(case: Case, shown: Collection[str], *, needs_context: bool) -> list[str]:
    """The texts that have to back the response: the first of these that the prompt shows and the case has.

    With `needs_context`, an empty context means that nothing backs the response.
    """
    context = [document.content for document in case.context or ()]
    if "context" in shown and (context or (case.context is not None and needs_context)):
        return context
    steps = (
        {"reference": [case.reference or ""]},
        {"profile": [case.profile or ""], "conversation": own_turns(case), "answers": case.answers or ()},
        {"query": _texts(case.query), "response": tool_texts(case)},
    )
    own = ([text for name in shown for text in step.get(name, ()) if text.strip()] for step in steps)
    return next(filter(None, own), list[str]())


def tool_texts(case: Case) -> list[str]:
    """The tool results of a case: those in its context, or those in the response if there is no context."""
    if case.context:
        return [document.content for document in case.context if document.kind == "tool"]
    return _texts(case.response, "tool") if isinstance(case.response, tuple) else []


def own_turns(case: Case) -> list[str]:
    """What the character itself says in the conversation; what others say may be a false premise."""
    if not isinstance(case.conversation, str):
        return _texts(tuple(message for message in case.conversation or () if message.role != "user"))
    name = (case.agent_name or "").casefold()
    lines = (line for line in case.conversation.splitlines() if line.strip())
    marks = (f"{name}:", f"{name}：")
    return [line for line in lines if name and line.casefold().lstrip(" *-").startswith(marks)]


def _texts(value: str | tuple[Message, ...] | None, role: str = "") -> list[str]:
    """The texts of a field; of messages, those of a role, and what all of them call tools with."""
    if value is None or isinstance(value, str):
        return [value] if value else []
    calls = (call.arguments for message in value for call in message.tool_calls)
    arguments = (json.dumps(each, ensure_ascii=False, default=str) for each in calls)
    return [*(message.content for message in value if role in {"", message.role}), *arguments]


def reason(claims: Sequence[Support], where: str = "the source") -> str:
    """What was found and what was not, in a few sentences."""
    if not claims:
        return "Nothing is stated that could be checked."
    ranked = sorted(claims, key=lambda claim: claim.score)
    failed = [claim for claim in ranked if claim.score < SUPPORTED]
    whole = [claim for claim in ranked if claim.signals.whole and claim not in failed]
    partly = [claim for claim in ranked if claim not in failed and claim not in whole]
    counts = f"{len(whole)} backed by {where}, {len(partly)} in part, {len(failed)} not"
    said = [f"Statements: {len(claims)} ({counts})."]
    if whole:
        said.append(f"Backed: {_quoted(whole[-1].sentence)} by {_at(whole[-1])}.")
    for label, some in (("Backed in part", partly), ("Not backed", failed)):
        said.extend(f"{label}: {_quoted(claim.sentence)}{_why(claim)}." for claim in some[:MOST_CLAIMS])
    return " ".join(said)


def _why(found: Support) -> str:
    """What contradicts a claim in the passage that is most like it, or else what is missing."""
    if found.contradictions:
        return f" ({'; '.join(found.contradictions)}), against {_at(found)}"
    lacking = ", ".join(word[:LONGEST_WORD] for word in found.missing[:MOST_WORDS])
    missing = f" (not found: {lacking})" if lacking else ""
    return f"{missing}, nearest: {_at(found)}" if found.quote else missing


def _at(found: Support) -> str:
    """The quote of a claim and where it is, texts being counted from 1 as in the prompts."""
    document, start, end = found.passage
    return f"{_quoted(found.quote)} (text {document + 1}, {start} to {end})"


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return f"“{text if len(text) <= LONGEST_QUOTE else f'{text[: LONGEST_QUOTE - 1]}…'}”"
