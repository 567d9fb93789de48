"""Passages as facts: what share of its facts another passage has, for recall and precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from groundjudge.offline.support import Comparison, PassageIndex, Support, compare, make_support
from groundjudge.offline.wording import COMMAS, claim_of, parts_of
from groundjudge.text.sentences import sentences

NO_ANSWERS: Mapping[str, Support] = MappingProxyType({})


def facts_of(text: str, sources: PassageIndex, answers: Mapping[str, Support] = NO_ANSWERS) -> list[Support]:
    """The facts that a text joins, each with how much of it the sources have, in whatever wording.

    To compare two passages is to count facts, so a fact is scored by the share of its content that the other
    passage has anywhere, and by nothing if that has another number, name or a denial in its place. Of the
    share it is the square root: reworded facts keep some of their words, and foreign ones hardly any.

    Args:
        text: the passage.
        sources: the other one.
        answers: the sentences of the passage that mean something only by the query, by their texts; no clause
            of them gives that.
    """
    facts: list[Support] = []
    for sentence in sentences(text):
        if sentence.text in answers:
            facts.append(answers[sentence.text])
            continue
        parts = parts_of(claim_of(sentence.text), COMMAS)
        for part in parts:
            part_text = part.text if len(parts) > 1 else sentence.text
            comparison = compare(part.reading, sources)
            facts.append(make_support(part_text, part.reading, comparison, _score(comparison)))
    return facts


def _score(comparison: Comparison) -> float:
    if comparison.is_whole:
        return 1.0
    if comparison.contradictions or comparison.lacks_number:
        return 0.0
    return math.sqrt(1 - comparison.missing_share)
