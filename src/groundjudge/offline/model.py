"""A model that is none: it compares words, numbers and negations, and replies as the judge asks.

It needs no network and no key and always answers alike. That serves for trying things out, for tests,
and as the baseline that a language model has to beat. Its replies are read like any other model's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from groundjudge.case import Case, Document, Message
from groundjudge.errors import ModelError
from groundjudge.offline.readings import Reader, reader
from groundjudge.offline.smalltalk import bare_answer, leaves_role, states_nothing
from groundjudge.offline.support import SPEAKERS, Sources, Support, index, is_exact, support
from groundjudge.replies import PartReading, Reading
from groundjudge.reply import Reply
from groundjudge.rubric import Request, Rubric, label_of
from groundjudge.text.sentences import sentences
from groundjudge.text.words import is_unspaced
from groundjudge.verdict import Scale

SIGNED = "(Offline baseline: words were compared, no language model was asked.)"
LEVELS = ("ungrounded", "incorrect", "nothing_to_ground", "incomplete", "grounded")

SOURCES = frozenset({"answers", "context", "conversation", "profile", "query", "reference"})
"""The inputs that can back a response; a judge without any judges another thing."""

SUPPORTED = 0.5
WRONG = 0.25
"""A single claim below this makes a response incorrect, however good the others are."""
UNRELATED = 0.12
"""Below this, a response that shares less than `FOREIGN` of its words is about something else."""
FOREIGN = 0.6
STATES_NOTHING = 0.95
"""The score of a response without a claim, where that is no level of its own."""
BARE_IN_ROLE = 0.85
"""The same in a role, where even a greeting can be out of character."""
WORTH_OF_ANSWERS = 0.4
"""How much of the score of a character's response is its closeness to the nearest real answer."""
BY_CHANCE = 0.2
"""The share of a sentence's words that stands in any other text of its language."""
OFF_TOPIC = 0.25
"""The weight of a sentence of the reference that has no word of the query."""
TELLING = 3
"""A word of the query that stands in more passages than these does not tell where its answer is."""
UNMENTIONED = 0.34
"""A passage of which the response has a smaller share is left out."""
MATCHES_DATA = 0.65
"""The share of a claim's content words that a tool result must have to be its source."""
NOTHING_FOUND = 0.05
"""Below this, a sentence has no more in common with the source than any other sentence has."""
LONGEST_QUOTE = 90
MOST_QUOTES = 2
MOST_WORDS = 4
LONGEST_WORD = 30
DIGITS = 2
"""Digits of a value on a scale of 0 to 1; on a wider scale fewer of them stand behind the point."""

UNTAGGED = str.maketrans("<>", "‹›")


@dataclass(frozen=True)
class Claim:
    """A sentence, its support, and whether it states anything."""

    text: str
    support: Support
    states: bool

    @property
    def stems(self) -> set[str]:
        """What its content words are compared by."""
        return {word.stem for word in self.support.words if word.weight == 1}

    @property
    def is_whole(self) -> bool:
        """Whether the source has every detail of it."""
        return is_exact(self.support.score) and not self.support.conflict.added

    @property
    def length(self) -> int:
        """How much it says: its content words, and one for there being a sentence."""
        return 1 + sum(word.weight == 1 for word in self.support.words)


@dataclass(frozen=True)
class OfflineModel:
    """Answers without a model, and never fails. It reads the request's case, not its messages."""

    name: str = "offline"

    def complete(self, request: Request) -> Reply:
        """Write the reply that the judge's format asks for."""
        rubric = request.rubric
        if not _shown(rubric) & SOURCES:
            message = (
                f"the offline baseline compares a response with a source, and {rubric.name} shows "
                f"none of {', '.join(sorted(SOURCES))}: give it a language model"
            )
            raise ModelError("bad_request", message, self.name)
        return Reply(rubric.format.write(_reading(rubric, request.case), rubric.scale))

    async def acomplete(self, request: Request) -> Reply:
        """Write the same reply; there is nothing to wait for."""
        return self.complete(request)


def _reading(rubric: Rubric, case: Case) -> Reading:
    """What the reply says: the format writes of it what it has a place for."""
    read = reader()  # which remembers what it read until the case is judged
    parts = (
        [_weighed(name, rubric, case, read) for name in rubric.format.part_names]
        if rubric.format.part_names
        else _sentence_parts(rubric, case, read)
    )
    value, reason = _valued(rubric, case, read)
    level = label_of(value, rubric.levels) or ""
    return Reading(value, reason, parts=tuple(parts), level=level)


def _valued(rubric: Rubric, case: Case, read: Reader) -> tuple[float, str]:
    """The value of the whole response, and why."""
    if "profile" in _shown(rubric):
        score, why = _in_role(rubric, case, read)
        return _on(rubric, score), why
    return (_graded if _is_graded(rubric) else _confidence)(rubric, case, read)


def _shown(rubric: Rubric) -> set[str]:
    """The fields of the case that the prompt shows."""
    return {given.field for given in rubric.inputs}


def _is_graded(rubric: Rubric) -> bool:
    """Whether the levels are those of groundedness."""
    return set(LEVELS) <= set(rubric.levels.values())


# What is compared with what.


def _sources(rubric: Rubric, case: Case) -> list[str]:
    """The texts that have to back the response: the first of these that the prompt shows and the case has."""
    shown = _shown(rubric)

    def texts(*fields: str) -> list[str]:
        return [text for field in fields if field in shown for text in _texts(getattr(case, field))]

    context = texts("context")
    if context or (case.context is not None and not _is_graded(rubric)):
        return context
    tools = [] if isinstance(case.response, str | None) else _texts(_tool_talk(case.response))
    character = [*texts("profile"), *(_turns(case)[0] if "conversation" in shown else ()), *texts("answers")]
    return texts("reference") or character or [*texts("query"), *tools]


def _given(rubric: Rubric, case: Case) -> list[str]:
    """What need not be backed: the words of the question, or of those that a character talks with."""
    shown = _shown(rubric)
    if "profile" in shown:
        return [
            " ".join(SPEAKERS),
            case.agent_name or "",
            *(_turns(case)[1] if "conversation" in shown else ()),
        ]
    return _texts(case.query) if "query" in shown else []


def _turns(case: Case) -> tuple[list[str], list[str]]:
    """What the character itself says in the conversation, and what others say, false premises among it."""
    if not isinstance(case.conversation, str):
        talk = case.conversation or ()
        return (
            _texts(tuple(message for message in talk if message.role != "user")),
            _texts(tuple(message for message in talk if message.role == "user")),
        )
    lines = [line for line in case.conversation.splitlines() if line.strip()]
    name = (case.agent_name or "").casefold()
    own = [
        line for line in lines if name and line.casefold().lstrip(" *-").startswith((f"{name}:", f"{name}："))
    ]
    return own, [line for line in lines if line not in own]


def _texts(value: object) -> list[str]:
    """The texts in a field of a case."""
    match value:
        case str():
            return [value] if value.strip() else []
        case Document(content=content, title=title):
            return [f"{content}\n{title}" if title else content]  # offsets into the content stay true
        case Message(content=content, tool_calls=calls):
            made = (json.dumps(call.arguments, ensure_ascii=False, default=str) for call in calls)
            return [text for text in (content, *made) if text.strip()]
        case tuple():
            return [text for item in cast("tuple[object, ...]", value) for text in _texts(item)]
        case _:
            return []


def _tool_talk(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The tool calls among messages, and their results; what the assistant says of them is no source."""
    return tuple(
        message if message.role == "tool" else message.model_copy(update={"content": ""})
        for message in messages
        if message.role == "tool" or message.tool_calls
    )


def _claims(text: str, sources: Sources, query: str = "") -> list[Claim]:
    """The sentences of a text that state something."""
    return [sentence for sentence in _sentences(text, sources, query) if sentence.states]


def _sentences(text: str, sources: Sources, query: str = "") -> list[Claim]:
    said = [sentence.text for sentence in sentences(text)]
    read = {each: _claim(each, sources, query) for each in dict.fromkeys(said)}  # texts can repeat themselves
    return [read[each] for each in said]


def _claim(sentence: str, sources: Sources, query: str) -> Claim:
    """A sentence and its support; a bare yes or no states what was asked last, or denies it."""
    asked = _asked(query) if query else ""
    answer = bare_answer(sentence) if asked else None
    if answer is None:
        return Claim(sentence, support(sentence, sources), states=not states_nothing(sentence, sources.read))
    return Claim(sentence, support(asked if answer else f"not {asked}", sources), states=True)


def _asked(query: str) -> str:
    """The last question of a query."""
    questions = [sentence.text for sentence in sentences(query) if sentence.text.endswith(("?", "？", "؟"))]
    return questions[-1] if questions else ""


def _score(claims: Sequence[Claim]) -> float:
    """The geometric mean by length: many claims that hold cannot quite outweigh one that does not."""
    logarithms = math.fsum(claim.length * math.log(claim.support.score) for claim in claims)
    return math.exp(logarithms / sum(claim.length for claim in claims))


# One function for each kind of verdict.


def _graded(rubric: Rubric, case: Case, read: Reader) -> tuple[float, str]:
    """The value of the level that the response deserves."""
    sources = index(_sources(rubric, case), _given(rubric, case), read)
    claims = _authorised(rubric, case, sources)
    left_out = _left_out(case.query_text, claims, sources) if _texts(case.context) else ""
    more = f" Left out, though asked for: {_quoted(left_out)}." if claims and left_out else ""
    named = {label: value for value, label in rubric.levels.items()}
    return named[_level(claims, left_out)], f"{_told(claims)}{more} {SIGNED}"


def _level(claims: Sequence[Claim], left_out: str) -> str:
    if not claims:
        return "nothing_to_ground"
    score = _score(claims)
    if score < UNRELATED and all(claim.support.covered < FOREIGN for claim in claims):
        return "ungrounded"
    if score < SUPPORTED or any(claim.support.score < WRONG for claim in claims):
        return "incorrect"
    is_whole = is_exact(score) and all(claim.is_whole for claim in claims)
    return "grounded" if is_whole and not left_out else "incomplete"


def _left_out(query: str, claims: Sequence[Claim], sources: Sources) -> str:
    """A passage that a word of the query points to and that no claim draws on, or ""."""
    said = {stem for claim in claims for stem in claim.stems}
    for word in sources.read(query).words:
        places = sources.places.get(word.stem, ())
        if word.weight < 1 or word.is_name or word.stem in said or not 0 < len(places) <= TELLING:
            continue
        if not any(_draws_on(claims, said, place, sources) for place in places):
            number, start, end = sources.passages[places[0]]
            return sources.documents[number][start:end]
    return ""


def _draws_on(claims: Sequence[Claim], said: set[str], place: int, sources: Sources) -> bool:
    """Whether claims quote a passage or have a good part of its words."""
    number, start, end = sources.passages[place]
    if any(
        claim.support.document == number and claim.support.start < end and start < claim.support.end
        for claim in claims
    ):
        return True
    stems = sources.readings[place].stems
    return len(stems & said) >= UNMENTIONED * len(stems)


def _confidence(rubric: Rubric, case: Case, read: Reader) -> tuple[float, str]:
    claims = _authorised(rubric, case, index(_sources(rubric, case), _given(rubric, case), read))
    why = f"{_told(claims)} {SIGNED}"
    if not claims:
        return rubric.not_applicable[0] if rubric.not_applicable else _on(rubric, STATES_NOTHING), why
    # What contradicts a document is not made good by what agrees with it.
    wrong = [claim.support.score for claim in claims if claim.support.is_contradicted]
    return _on(rubric, min(_score(claims), *wrong, 1.0)), why


def _authorised(rubric: Rubric, case: Case, sources: Sources) -> list[Claim]:
    """The claims of the response as the documents have them or, before all others, the tool results."""
    data = tuple(document for document in case.context or () if document.kind == "tool")
    made = () if case.context or isinstance(case.response, str | None) else _tool_talk(case.response)
    tools = index(_texts(data or made), _given(rubric, case), sources.read)
    claims = _claims(case.response_text, sources, case.query_text)
    return [_with_authority(claim, tools) for claim in claims]


def _with_authority(claim: Claim, tools: Sources) -> Claim:
    """A claim as the tool results have it: wrong if they contradict it, right if they have its data.

    Data has keys and values but no grammar, so that only content words and numbers are compared.
    """
    if not tools.passages:
        return claim
    told = support(claim.text, tools)
    if told.is_contradicted:
        return replace(claim, support=told)
    share = len(told.matched) / (len(told.matched) + len(told.missing) or 1)
    if share >= MATCHES_DATA and not told.numbers and told.score < share:
        return replace(claim, support=replace(told, score=(1 + share) / 2))
    return claim


def _sentence_parts(rubric: Rubric, case: Case, read: Reader) -> list[PartReading]:
    """Each sentence of the response, with its value and its evidence."""
    documents = [document.content for document in case.context] if case.context else _sources(rubric, case)
    sources = index(documents, (), read)
    return [_sentence_part(rubric, sentence) for sentence in _sentences(case.response_text, sources)]


def _sentence_part(rubric: Rubric, sentence: Claim) -> PartReading:
    found = sentence.support
    is_backed = bool(sentence.states and found.quote and found.score >= NOTHING_FOUND)
    return PartReading(
        name=sentence.text,
        value=_on(rubric, found.score if is_backed else 0.0),
        reason=f"offline baseline, no language model was asked: {_told([sentence])}",
        quotes=(found.quote,) if is_backed else (),
    )


def _weighed(name: str, rubric: Rubric, case: Case, read: Reader) -> PartReading:
    """The value of one name; one that is neither recall nor precision gets the support."""
    reference, response = case.reference or "", case.response_text
    match name.casefold():
        case "recall":
            compared, where = _compared(reference, [response], read, case.query_text), "the returned passage"
        case "precision":
            compared, where = _compared(response, [reference], read), "the reference"
        case _:
            compared, where = _compared(response, _sources(rubric, case), read), "the source"
    claims = [claim for claim, _ in compared]
    return PartReading(name, _between(rubric.scale, _weighted(compared)), f"{_told(claims, where)} {SIGNED}")


def _compared(text: str, others: Sequence[str], read: Reader, query: str = "") -> list[tuple[Claim, float]]:
    """The sentences of a text as others have them, each with its weight; what the query asks weighs full."""
    asked = read(query).stems
    claims = _sentences(text, index(others, (), read))
    on_topic = {claim.text for claim in claims if asked & claim.stems}
    return [
        (claim, claim.length * (1 if claim.text in on_topic or not on_topic else OFF_TOPIC))
        for claim in claims
    ]


def _weighted(compared: Iterable[tuple[Claim, float]]) -> float:
    """The share of a text that the other one has."""
    pairs = [(_share(claim.support), weight) for claim, weight in compared]
    return sum(share * weight for share, weight in pairs) / (sum(weight for _, weight in pairs) or 1)


def _share(found: Support) -> float:
    """How much of a sentence is there: nothing where it is contradicted, half where a number is missing."""
    if found.is_contradicted and not found.signals.contested:
        return 0.0
    share = max(0.0, (found.covered - BY_CHANCE) / (1 - BY_CHANCE))
    return share / 2 if found.numbers else share


def _between(scale: Scale, score: float) -> float:
    """The place of a score on a scale, between two whole numbers of it."""
    lowest, highest = sorted((scale.worst, scale.best))
    bottom, top = math.ceil(lowest), math.floor(highest)
    return round(min(max(scale.worst + score * (scale.best - scale.worst), bottom), top), DIGITS)


def _in_role(rubric: Rubric, case: Case, read: Reader) -> tuple[float, str]:
    response, profile = case.response_text, f"{case.agent_name or ''} {case.profile or ''}"
    if leaves_role(response, profile):
        return 0.0, f"The response does not play the role: {_quoted(response)}. {SIGNED}"
    claims = _claims(response, index(_sources(rubric, case), _given(rubric, case), read))
    if not claims:
        return BARE_IN_ROLE, f"{_told(claims)} {SIGNED}"
    score = _weighted((claim, claim.length) for claim in claims)
    answers = [answer for answer in case.answers or () if answer.strip()]
    if not answers:
        return score, f"{_told(claims)} {SIGNED}"
    closeness, nearest = max((_weighted(_compared(answer, [response], read)), answer) for answer in answers)
    why = f"{_told(claims)} It has {closeness:.0%} of the real answer {_quoted(nearest)}. {SIGNED}"
    return (1 - WORTH_OF_ANSWERS) * score + WORTH_OF_ANSWERS * closeness, why


# How it is written. Whatever comes from the case stands on one line behind a label or without its tags,
# so that nothing in it can be read as a verdict.


def _told(claims: Sequence[Claim], where: str = "the source") -> str:
    """What was found and what was not, in a few sentences."""
    if not claims:
        return "Nothing is stated that could be checked."
    ranked = sorted(claims, key=_by_score)
    failed = [claim for claim in ranked if claim.support.score < SUPPORTED]
    whole = [claim for claim in ranked if claim.is_whole]
    partly = [claim for claim in ranked if claim.support.score >= SUPPORTED and not claim.is_whole]
    parts = f", {len(partly)} in part" if partly else ""
    told = [f"{len(claims) - len(failed)} of {len(claims)} statements found in {where}{parts}."]
    if whole:
        told.append(f"Backed: {_quoted(whole[-1].text)} by {_at(whole[-1].support)}.")
    told.extend(
        f"Backed in part: {_quoted(claim.text)}{_why(claim.support)}." for claim in partly[:MOST_QUOTES]
    )
    told.extend(f"Not backed: {_quoted(claim.text)}{_why(claim.support)}." for claim in failed[:MOST_QUOTES])
    return " ".join(told)


def _by_score(claim: Claim) -> float:
    return claim.support.score


def _why(found: Support) -> str:
    """In what a claim differs from the passage that is most like it, or else what is missing."""
    conflict = found.conflict
    told = [f"“{said}” instead of “{instead}”" for said, instead in conflict.clashes]
    if conflict.renamed:
        told.append(f"“{conflict.renamed[0]}” instead of “{conflict.renamed[1]}”")
    if conflict.exchanged:
        told.append(f"“{conflict.exchanged[0]}” and “{conflict.exchanged[1]}” in each other's place")
    if conflict.contested:
        number, other = conflict.contested
        told.append(f"“{number}” instead of “{other}”" if other else f"“{number}”, which it has not")
    if conflict.denied:
        told.append("one denies what the other says")
    if told:
        return f" ({_line('; '.join(told))}), against {_at(found)}"
    lacking = [*found.numbers, *_without_overlaps(found.missing)]
    missing = f" (not found: {_listed(lacking)})" if lacking else ""
    return f"{missing}, nearest: {_at(found)}" if found.quote else missing


def _at(found: Support) -> str:
    """The quote of a claim and where it stands, texts being counted from 1 as in the prompts."""
    return f"{_quoted(found.quote)} (text {(found.document or 0) + 1}, {found.start} to {found.end})"


def _without_overlaps(missing: Iterable[str]) -> list[str]:
    """Words that are missing; pairs of signs that overlap, as where no spaces part words, in one."""
    found: list[str] = []
    for word in missing:
        if found and is_unspaced(word) and found[-1][-1] == word[0]:
            found[-1] += word[1:]
        else:
            found.append(word)
    return found


def _listed(each: Iterable[str]) -> str:
    return ", ".join(_short(one, LONGEST_WORD) for one in tuple(each)[:MOST_WORDS])


def _quoted(text: str) -> str:
    return f"“{_short(text, LONGEST_QUOTE)}”"


def _short(text: str, longest: int) -> str:
    text = _line(text).translate(UNTAGGED)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _line(text: str) -> str:
    return " ".join(text.split())


def _on(rubric: Rubric, score: float) -> float:
    """The place of a score on the judge's scale, beside the values that mean "nothing to judge"."""
    scale = rubric.scale
    lowest, highest = sorted((scale.worst, scale.best))
    digits = max(0, DIGITS - math.floor(math.log10(highest - lowest or 1)))
    if scale.integer:
        lowest, highest, digits = math.ceil(lowest), math.floor(highest), 0
    value = min(max(round(scale.worst + score * (scale.best - scale.worst), digits), lowest), highest)
    taken = rubric.not_applicable
    near = (value + steps * 10.0**-digits for steps in sorted(range(-len(taken), len(taken) + 1), key=abs))
    return next((place for place in near if scale.holds(place) and place not in taken), value)
