"""What a response claims: its sentences, each as the sources have it, and which of them state nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from groundjudge.evidence.sources import Passage
from groundjudge.offline.answers import (
    Answer,
    Question,
    describe_leftover,
    find_as_answer,
    is_bare_denial,
    is_leftover,
    read_answer,
    read_questions,
    settle,
    speaks_of,
)
from groundjudge.offline.readings import tokenize_text
from groundjudge.offline.reasons import in_quotes
from groundjudge.offline.support import SUPPORTED, PassageIndex, Support, support
from groundjudge.text.sentences import sentences, without_citations
from groundjudge.text.words import words

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
# Content words of a question; a longer one also tells something.
MOST_QUESTION_WORDS = 6

_ANNOUNCEMENTS = """
according accordingly answer article available base below brief conclusion context detail document excerpt
explain explanation find finding follow following follows give given here how information instruction key list
main mention method note one overview passage point procedure provide provided query question reply response
result say section several source state step step-by-step summarise summarize summary take takeaway text tip
way what
basierend dokument dokumenten folgende folgenden gemäß hier laut quelle quellen schritte zusammenfassung
document documents étapes résumé selon voici aquí documentos ecco fuentes pasos respuesta resumen según
"""
# Stems of words that only say that something follows, or where it comes from.
ANNOUNCEMENTS = COURTESIES.union(word.stem for word in words(_ANNOUNCEMENTS))
_ANSWERING = """
able accurate accurately additional answer base brief contain context determine directly document explicitly
find give given here impossible information insufficient mention necessary note passage please provide
provided question relevant response solely source specific specifically state sufficient text unable
"""
# Stems of words of which a sentence can consist that speaks of the answer alone: "Unable to answer based on
# the given passages."
ANSWERING = frozenset(word.stem for word in words(_ANSWERING))
# Other content words of a heading or a lead-in; a longer one also tells something.
LONGEST_HEADING = 3

_QUESTION = re.compile(r"[?？]\W*\Z")
# Ahead of what follows, a colon; a heading of Markdown; without a full stop, what only announces something.
_LEAD = re.compile(r"[:：]\W*\Z|\A\s*#")
_FULL_STOP = re.compile(r"[.!?。！？]\W*\Z")
_CLAUSE = re.compile(r"[,，;；]")
# "To clean it, follow these steps:" opens with its purpose, and "Here is how:" is no statement.
_OPENING = re.compile(r"\W*(?:to|how|here|these|below|for)\b", re.IGNORECASE)
# "The benefits are:" says nothing of them yet.
_UNFINISHED = re.compile(
    r"\b(?:as follows|the following|includes?|is|are|was|were)\W*[:：]\W*\Z", re.IGNORECASE
)
_STATING = re.compile(
    r"\W*(?:the|an?|der|die|das|it|he|she|they|we|you|this|there)\b|.*\b(?:is|are|was|were|has|have|had|can"
    r"|could|may|might|must|will|would|should|do|does|did|ist|sind|war|hat|kann|wird|wurde|est|sont|es|son|è)\b",
    re.IGNORECASE | re.DOTALL,
)
_REASONING = re.compile(r"\b(?:that|why|because)\b", re.IGNORECASE)
_ANNOUNCING_SIGNS = re.compile(
    "根据|根據|依据|按照|以下|如下|所提供|提供的|文件|文档|资料|資料|步骤|步驟|答案|总结|总之|要点|信息|内容"
)
_COURTESY_SIGNS = re.compile(
    "您的提问|您的问题|谢谢|謝謝|感谢|您好|你好|好的|当然|當然|不客气|不客氣|抱歉|对不起|對不起|请问|請問|再见|没问题|很高兴|为您服务|帮助您|帮您|帮你|是的"
)


# The scores of what the sources settle, and of what they do not.
SETTLED_SCORE, OPEN_SCORE = 0.95, 0.02


def claims(
    text: str, sources: PassageIndex, tools: PassageIndex | None = None, query: str = ""
) -> list[Support]:
    """The sentences of a text as the sources have them; what contradicts a tool result is wrong.

    Args:
        text: the response, or what is compared with one.
        sources: the texts that have to back it.
        tools: those of them that outrank the others.
        query: what the text answers; without it a bare yes or no means nothing.
    """
    claim_texts = [sentence.text for sentence in sentences(text)]
    if is_leftover(text):
        # What a crashed application leaves, unless the sources have it as an answer.
        note = describe_leftover(text)
        leftovers: dict[str, Support] = {}
        for claim_text in claim_texts:
            if claim_text not in leftovers:
                claim = support(claim_text, sources)
                leftovers[claim_text] = _as_denial(claim, query, sources, note)
        return [leftovers[claim_text] for claim_text in claim_texts]
    claims_by_text: dict[str, Support] = {}
    for claim_text in claim_texts:
        if claim_text in claims_by_text:  # texts can repeat themselves
            continue
        claim = support(claim_text, sources)
        if tools:
            by_tools = support(claim_text, tools)
            if by_tools.contradictions:
                claim = by_tools
        claims_by_text[claim_text] = claim
    questions = _questions(query)
    if questions:
        claims_by_text = _with_answers(claims_by_text, questions, sources, tools)
    return [claims_by_text[claim_text] for claim_text in claim_texts]


def _questions(query: str) -> list[Question]:
    """What a query asks, but for courtesies such as "May I ask you something?"."""
    questions: list[Question] = []
    for question in read_questions(query):
        if not COURTESIES.issuperset(question.keys):
            questions.append(question)
    return questions


def _with_answers(
    claims_by_text: Mapping[str, Support],
    questions: Sequence[Question],
    sources: PassageIndex,
    tools: PassageIndex | None,
) -> dict[str, Support]:
    """Sentences by their texts; those that say yes, no or nothing with what that claims.

    Of a sentence that answers several questions the lowest score counts.
    """
    all_questions = " ".join(question.text for question in questions)
    answers: dict[str, Answer] = {}
    judged_claims = dict(claims_by_text)
    for claim_text, claim in claims_by_text.items():
        answer = read_answer(claim_text)
        if answer is not None:
            answers[claim_text] = answer
        if is_bare_denial(claim_text):
            note = f"as an answer to {in_quotes(all_questions)}"
            judged_claims[claim_text] = _as_denial(claim, all_questions, sources, note)
    if not answers:
        return judged_claims
    for question in questions:
        backing = _find_backing(question, sources, tools)
        # An answer that is spelt out stands or falls with the sentence that does it.
        is_left_open = backing.is_yes is None and _is_spelt_out(question, claims_by_text, answers)
        if is_left_open:
            continue
        for claim_text, answer in answers.items():
            judged_claim = _judge_answer(claim_text, answer, backing, claims_by_text)
            if judged_claim is None:
                continue
            previous = judged_claims[claim_text]
            if not previous.note or judged_claim.score < previous.score:
                judged_claims[claim_text] = judged_claim
    return judged_claims


def _is_spelt_out(
    question: Question, claims_by_text: Mapping[str, Support], answers: Mapping[str, Answer]
) -> bool:
    """Whether a sentence says in words of its own what a yes or no to the question would claim."""
    for claim_text, claim in claims_by_text.items():
        answer = answers.get(claim_text)
        is_bare = answer is not None and not answer.remainder
        if is_bare or states_nothing(claim_text):
            continue
        if speaks_of(question, (claim_text, claim.quote)):
            return True
    return False


def _judge_answer(
    claim_text: str, answer: Answer, backing: Backing, claims_by_text: Mapping[str, Support]
) -> Support | None:
    """Judge a sentence as the answer to a question; None where its yes or no claims nothing by that."""
    question = backing.question
    if answer.is_courtesy and (question.is_request or not question.is_for_yes_or_no):
        return None  # it promises to answer
    is_bare = not answer.remainder or states_nothing(answer.remainder)
    if not question.is_for_yes_or_no and not is_bare:
        return None  # "Yeah, he is a painter." to "Where does he live?": it only opens the sentence
    is_backed = answer.is_yes is backing.is_yes
    if is_backed and not is_bare:
        return None  # what follows the answer is a claim of its own
    follower = _follower(claim_text, claims_by_text, is_bare=is_bare)
    return _as_answer(claims_by_text[claim_text], backing, follower, is_backed=is_backed)


def answers_of(
    text: str, sources: PassageIndex, tools: PassageIndex | None, query: str
) -> dict[str, Support]:
    """The sentences of a text that mean something only by the query or by what left them, by their texts.

    Most texts have none, which is found out without comparing their sentences with the sources.
    """
    if not is_leftover(text):
        if not query.strip():
            return {}
        texts = [sentence.text for sentence in sentences(text)]
        if not any(read_answer(claim_text) or is_bare_denial(claim_text) for claim_text in texts):
            return {}
    all_claims = claims(text, sources, tools, query)
    return {claim.sentence: claim for claim in all_claims if claim.note}


class Backing(NamedTuple):
    """What the sources say about a question for yes or no."""

    question: Question
    is_yes: bool | None  # None: they do not settle it
    passage: Passage  # what settles it, or has most of it
    quote: str


def _find_backing(question: Question, sources: PassageIndex, tools: PassageIndex | None) -> Backing:
    """Find what the sources say about a question; what tools returned outranks the others."""
    for documents in (tools, sources):
        if documents is None or not question.is_for_yes_or_no:
            continue
        outcome = settle(question, documents)
        if outcome.passage is not None:
            quote = documents.text_of(outcome.passage)
            return Backing(question, outcome.is_yes, outcome.passage, quote)
    nearest = support(question.text, sources)
    return Backing(question, None, nearest.passage, nearest.quote)


def _follower(claim_text: str, claims_by_text: Mapping[str, Support], *, is_bare: bool) -> Support | None:
    """The claim that follows an answer, in its sentence or behind it; None if there is none."""
    if not is_bare:
        return claims_by_text[claim_text]
    is_behind = False
    for text, claim in claims_by_text.items():
        if is_behind and not states_nothing(text):
            return claim
        if text == claim_text:
            is_behind = True
    return None


def _as_answer(claim: Support, backing: Backing, follower: Support | None, *, is_backed: bool) -> Support:
    """A sentence that says yes or no, with the score of what that claims.

    An answer that nothing settles fails. The claim that follows it counts too, so that "Yes." ahead of what
    is backed fails by less than ahead of what is not (on BEGIN, 0.004 of ROC AUC for a claim in its sentence,
    and 0.003 for one in the next).
    """
    note = f"as an answer to {in_quotes(backing.question.text)}"
    if is_backed:
        return _with_outcome(claim, backing.passage, backing.quote, note, SETTLED_SCORE)
    if backing.is_yes is None:
        note = f"{note}, which no sentence settles by its words"
        score = OPEN_SCORE
        if follower is not None:
            score = math.sqrt(OPEN_SCORE * follower.score)
        return _with_outcome(claim, backing.passage, backing.quote, note, score)
    contradicted = _with_outcome(claim, backing.passage, backing.quote, note, OPEN_SCORE)
    return replace(contradicted, contradictions=(f"{note}, the source says the opposite",))


def _with_outcome(claim: Support, passage: Passage, quote: str, note: str, score: float) -> Support:
    """A sentence with the score that its question gives it."""
    return replace(
        claim,
        score=score,
        passage=passage,
        quote=quote,
        missing=(),
        contradictions=(),
        is_whole=score >= SUPPORTED,
        note=note,
    )


def _as_denial(claim: Support, query: str, sources: PassageIndex, note: str) -> Support:
    """A sentence such as "None.", which is backed where the sources answer the query so."""
    passage = find_as_answer(claim.sentence, query, sources)
    if passage is None:
        return _with_outcome(
            claim, Passage(0, 0, 0), "", f"{note}, which no sentence gives as an answer", OPEN_SCORE
        )
    return _with_outcome(claim, passage, sources.text_of(passage), note, SETTLED_SCORE)


def makes_no_claim(claim: Support) -> bool:
    """Whether a sentence makes no claim, also as the answer to the query."""
    return not claim.note and states_nothing(claim.sentence)


def states_nothing(sentence: str) -> bool:
    """Whether a sentence makes no claim: a courtesy, a question, a heading or lead-in, yes or no."""
    text = _COURTESY_SIGNS.sub(" ", without_citations(sentence).replace("’", "'"))
    if len(text) > LONGEST_NOTHING:
        return False
    return _announces(text) or _asks_or_greets(text) or _speaks_of_answering(text)


def _speaks_of_answering(text: str) -> bool:
    """Whether a text only says that a question can or cannot be answered from the documents."""
    reading = tokenize_text(text)
    content = {word.stem for word in reading.words if word.weight == 1}
    has_number = any(token.is_number for token in reading.tokens)
    return bool(content) and content <= ANSWERING and not has_number


def _asks_or_greets(text: str) -> bool:
    reading = tokenize_text(text)
    if any(token.is_number for token in reading.tokens):
        return False
    content = [word.stem for word in reading.words if word.weight == 1]
    if _QUESTION.search(text):
        return len(content) <= MOST_QUESTION_WORDS
    return sum(stem not in COURTESIES for stem in content) <= MOST_OTHER_WORDS * len(content)


def _announces(text: str) -> bool:
    """Whether a text is a heading or a lead-in that only says what follows, or where it comes from.

    A bold line is not taken for a heading: it can be the whole answer.
    """
    is_lead = _LEAD.search(text) is not None
    if not is_lead and _FULL_STOP.search(text):
        return False
    if tokenize_text(text).negated:
        return False
    if is_lead:
        return not any(map(_tells, _CLAUSE.split(text)))
    return not _tells(text, most=0)


def _tells(clause: str, most: int = LONGEST_HEADING) -> bool:
    """Whether a clause states something, by its words that do more than announce: in doubt it does.

    As many as `most` of them only announce: a few in a lead-in, none in a heading without a colon.
    """
    reading = tokenize_text(_ANNOUNCING_SIGNS.sub(" ", clause))
    telling_words = [word for word in reading.words if word.weight == 1 and word.stem not in ANNOUNCEMENTS]
    has_number = any(token.is_number for token in reading.tokens)
    if not telling_words:
        return has_number and (most == 0 or not reading.words)
    if has_number or _REASONING.search(clause):
        return True
    if most and (_OPENING.match(clause) or _UNFINISHED.search(clause)):
        return False
    return len(telling_words) > most or _STATING.match(clause) is not None
