"""Passages as facts: what share of its facts another passage has, for recall and precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from groundjudge.offline.readings import tokenize_text
from groundjudge.offline.support import (
    Comparison,
    PassageIndex,
    Support,
    compare,
    is_name,
    make_support,
    on_clock_of,
)
from groundjudge.offline.wording import GENERAL, GENERAL_WEIGHT, PART_ENDS, Part, claim_of, parts_of
from groundjudge.text.sentences import sentences

# With less of its content in the other passage a fact is foreign, and with more it is the same, reworded.
FOREIGN_SHARE, SAME_SHARE = 0.15, 0.55
# The score of one that is just the same; the more of it the other passage has, the higher.
SAME_SCORE = 0.9
# Who rewords a fact keeps its numbers and names: how many words count as much as a number, and as a name that
# the other passage lacks.
NUMBER_WEIGHT = 2.0
MISSING_NAME_WEIGHT = 2.0

NO_ANSWERS: Mapping[str, Support] = MappingProxyType({})


def facts_of(text: str, sources: PassageIndex, answers: Mapping[str, Support] = NO_ANSWERS) -> list[Support]:
    """The facts that a text joins, each with how much of it the sources have, in whatever wording.

    To compare two passages is to count facts. A sentence is cut at commas, semicolons and "and", so that a
    foreign fact takes nothing from one that it is joined to, and gets nothing from it.

    Args:
        text: the passage.
        sources: the other one.
        answers: the sentences of the passage that mean something only by the query, by their texts; no part
            of them gives that.
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
            facts.append(make_support(sentence.text, reading, comparison, _score(comparison, sources)))
            continue
        for part in parts:
            comparison = compare(part.reading, sources)
            facts.append(make_support(part.text, part.reading, comparison, _score(comparison, sources)))
    return facts


def _score(comparison: Comparison, sources: PassageIndex) -> float:
    """How much of a fact the sources have: nothing of one with another number, name or a denial in its place.

    Facts are mostly the same or foreign, and words tell of both: one that is reworded keeps about half of
    them, and a foreign one on the topic has a few. So the score rises steeply between the two.
    """
    if comparison.is_whole:
        return 1.0
    if comparison.contradictions or comparison.lacks_number:
        return 0.0
    share = _share(comparison, sources)
    if share < SAME_SHARE:
        return SAME_SCORE * max(0.0, share - FOREIGN_SHARE) / (SAME_SHARE - FOREIGN_SHARE)
    return SAME_SCORE + (1 - SAME_SCORE) * (share - SAME_SHARE) / (1 - SAME_SHARE)


def _share(comparison: Comparison, sources: PassageIndex) -> float:
    """The share of a fact's content that the sources have, by what tells facts apart.

    A word that many of their sentences have, such as the name of what they are about, says less of one fact.
    """
    if not comparison.content:
        return comparison.share
    missing_keys = {token.key for token in comparison.missing}
    found = missing = 0.0
    for token in comparison.content:
        weight = 1.0
        if token.is_number:
            weight = NUMBER_WEIGHT
        elif token.key in GENERAL:
            weight = GENERAL_WEIGHT
        if token.key not in missing_keys:
            # Of a number that follows from the sources' there is no sentence.
            n_sentences = max(1, len(sources.numbers.get(token.key, ())))
            found += weight / math.sqrt(n_sentences)
        elif is_name(token):
            missing += MISSING_NAME_WEIGHT
        else:
            missing += weight
    return found / (found + missing)
