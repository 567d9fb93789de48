"""Passages as facts: what share of its facts another passage has, for recall and precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from groundjudge.offline.readings import Token, TokenizedText, is_name, tokenize_text
from groundjudge.offline.support import (
    Comparison,
    PassageIndex,
    Support,
    compare,
    make_support,
    on_clock_of,
)
from groundjudge.offline.wording import (
    GENERAL,
    GENERAL_WEIGHT,
    LEAST_OF_PART,
    PART_ENDS,
    Part,
    claim_of,
    parts_of,
)
from groundjudge.text.sentences import sentences

# With less of its content in the other passage a fact is foreign, and with more it is the same, reworded.
FOREIGN_SHARE, SAME_SHARE = 0.15, 0.55
# The score of one that is just the same; the more of it the other passage has, the higher.
SAME_SCORE = 0.9
# A fact that has most of a sentence of the reference, and much else, scores no higher: it may be the same in
# more words, and may claim more.
WORDY_SCORE = 0.8
# Who rewords a fact keeps its numbers and names: how many words count as much as a number, and as a name that
# the other passage lacks.
WEIGHT_OF_NUMBER = 2.0
WEIGHT_OF_MISSING_NAME = 2.0

NO_ANSWERS: Mapping[str, Support] = MappingProxyType({})


def facts_of(
    text: str,
    sources: PassageIndex,
    answers: Mapping[str, Support] = NO_ANSWERS,
    *,
    is_reference: bool = False,
) -> list[Support]:
    """The facts that a text joins, each with how much of it the sources have, in whatever wording.

    To compare two passages is to count facts. A sentence is cut at commas, semicolons and "and", so that a
    foreign fact takes nothing from one that it is joined to, and gets nothing from it.

    Args:
        text: the passage.
        sources: the other one.
        answers: the sentences of the passage that mean something only by the query, by their texts; no part
            of them gives that.
        is_reference: whether the text is the reference, and all that a fact of it says is to be found. A
            passage may tell in many words what the reference tells in few.
    """
    facts: list[Support] = []
    for sentence in sentences(text):
        if sentence.text in answers:
            facts.append(answers[sentence.text])
            continue
        claim_text = on_clock_of(sources, claim_of(sentence.text))
        reading = tokenize_text(claim_text)
        comparison = compare(reading, sources)
        parts: list[Part] = []
        # Cutting tells nothing of a sentence that the other passage has as a whole, or nothing of.
        if not comparison.is_whole and len(comparison.missing) < len(comparison.content):
            parts = parts_of(claim_text, PART_ENDS)
        if len(parts) <= 1:
            fact = _make_fact(sentence.text, reading, comparison, sources, is_reference=is_reference)
            facts.append(fact)
            continue
        for part in parts:
            comparison = compare(part.reading, sources)
            fact = _make_fact(part.text, part.reading, comparison, sources, is_reference=is_reference)
            facts.append(fact)
    return facts


def _make_fact(
    text: str, reading: TokenizedText, comparison: Comparison, sources: PassageIndex, *, is_reference: bool
) -> Support:
    """A fact with its score."""
    score = 0.0
    # Nothing of a fact is backed that has another number, name or a denial in its place.
    if comparison.is_whole:
        score = 1.0
    elif not comparison.contradictions and not comparison.lacks_number:
        score = _score(_share_of_fact(comparison, sources))
        if not is_reference and score < WORDY_SCORE:
            score = max(score, min(WORDY_SCORE, _score(_share_of_quote(comparison, sources))))
    fact = make_support(text, reading, comparison, score)
    if is_reference:
        return fact
    # Precision is a share of the passage, to which a number belongs as a word does.
    return replace(fact, length=1 + len(comparison.content))


def _score(share: float) -> float:
    """How much of a fact the sources have, by a share of words.

    Facts are mostly the same or foreign, and words tell of both: one that is reworded keeps about half of
    them, and a foreign one on the topic has a few. So the score rises steeply between the two.
    """
    if share < SAME_SHARE:
        return SAME_SCORE * max(0.0, share - FOREIGN_SHARE) / (SAME_SHARE - FOREIGN_SHARE)
    return SAME_SCORE + (1 - SAME_SCORE) * (share - SAME_SHARE) / (1 - SAME_SHARE)


def _share_of_fact(comparison: Comparison, sources: PassageIndex) -> float:
    """The share of a fact's content that the sources have, by what tells facts apart."""
    if not comparison.content:
        return comparison.share
    missing_keys = {token.key for token in comparison.missing}
    found = missing = 0.0
    for token in comparison.content:
        if token.key not in missing_keys:
            found += _weight_beside(sources, token)
        elif is_name(token):
            missing += WEIGHT_OF_MISSING_NAME
        else:
            missing += _weight_in_fact(token)
    return found / (found + missing)


def _share_of_quote(comparison: Comparison, sources: PassageIndex) -> float:
    """The share that a fact has of the content of the passage that is nearest to it.

    Who rewords a fact adds words that the sources lack, but has many of theirs; who tells something else on
    the topic has few. A name that they lack speaks against the fact here, too. All of one or two words is had
    by chance.
    """
    if len(comparison.missing) == len(comparison.content):
        return 0.0
    quote_content = {token.key: token for token in tokenize_text(comparison.quote).tokens if token.is_content}
    if len(quote_content) < LEAST_OF_PART:
        return 0.0
    fact_keys = {token.key for token in comparison.content}
    found = missing = 0.0
    for key, token in quote_content.items():
        if key in fact_keys:
            found += _weight_beside(sources, token)
        else:
            missing += _weight_beside(sources, token)
    missing_names = {token.key for token in comparison.missing if is_name(token)}
    missing += WEIGHT_OF_MISSING_NAME * len(missing_names)
    return found / (found + missing)


def _weight_beside(sources: PassageIndex, token: Token) -> float:
    """How much a word tells of which fact it is, beside the sources that have it.

    One that many of their sentences have, such as the name of what they are about, says less of one fact.
    """
    # Of a number that follows from the sources' there is no sentence.
    n_sentences = max(1, len(sources.places.get(token.key, ())))
    return _weight_in_fact(token) / math.sqrt(n_sentences)


def _weight_in_fact(token: Token) -> float:
    """How much a word or number tells facts apart; `support` weighs what is missing otherwise."""
    if token.is_number:
        return WEIGHT_OF_NUMBER
    if token.key in GENERAL:
        return GENERAL_WEIGHT
    return 1.0
