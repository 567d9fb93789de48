"""Evidence by choice: which sentences of the source support one of the response."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

from groundjudge.case.numbered import SourceSentence
from groundjudge.decisions.answers import Probabilities
from groundjudge.decisions.question import Question
from groundjudge.rubric.parts import evidence_of
from groundjudge.text.words import Word, words
from groundjudge.verdict import Evidence

MAX_OFFERED = 60
"""How many sentences of the source one question offers."""

MAX_CHOSEN = 3
MIN_OF_LIKELIEST = 0.5
"""The most sentences that count as evidence, and how probable each must be relative to the likeliest."""

MAX_FOR_NONE = 0.5
"""If it is more probable than this that no sentence supports it, there is no evidence."""

FUNCTION_WEIGHT = 0.4
SPECIAL_WEIGHT = 100.0
"""How much a function word counts compared with others, and a number or a name, which say the most."""

SourceNumbers: TypeAlias = range | tuple[int, ...]
"""The numbers of sentences of the source; caches of questions can compare them."""


class SourceIndex:
    """The sentences of the source, and which words they have."""

    def __init__(self, source: Sequence[SourceSentence]) -> None:
        self._source = source

    def offered_for(self, sentence: str) -> SourceNumbers:
        """Return the numbers of the sentences of the source that are offered for one of the response.

        These are all or, if there are many, those that share most with it, numbers and names first; if few
        do, their neighbours are added.
        """
        if len(self._source) <= MAX_OFFERED:
            return range(1, len(self._source) + 1)
        shared: defaultdict[int, float] = defaultdict(float)
        # By word, so that one that occurs twice counts once.
        weights: dict[str, float] = {}
        for number, word in enumerate(words(sentence)):
            weights[word.key] = _weight_of(word, is_first=number == 0)
        for key, weight in weights.items():
            for index in self._indices_of_words.get(key, ()):
                shared[index] += weight
        best = sorted(shared, key=lambda index: (-shared[index], index))[:MAX_OFFERED]
        return tuple(sorted(index + 1 for index in self._with_neighbours(best)))

    def _with_neighbours(self, indices: Sequence[int]) -> set[int]:
        """Add neighbours, the nearest first, until there are enough; without indices, use the first ones.

        Of {7} it is {7, 6, 8, 5, 9, ...}, with `MAX_OFFERED` entries.
        """
        offered = dict.fromkeys(indices)
        centres = indices or [0]  # a response in another language shares no word with the source
        distance = 0
        while len(offered) < MAX_OFFERED:
            for centre in centres:
                for index in (centre - distance, centre + distance):
                    if 0 <= index < len(self._source) and len(offered) < MAX_OFFERED:
                        offered[index] = None
            distance += 1
        return set(offered)

    @cached_property
    def _indices_of_words(self) -> dict[str, list[int]]:
        """The sentences that contain a word: `{"museum": [0, 7]}`."""
        indices: defaultdict[str, list[int]] = defaultdict(list)
        for index, sentence in enumerate(self._source):
            for key in {word.key for word in words(sentence.text)}:
                indices[key].append(index)
        return indices


def _weight_of(word: Word, *, is_first: bool) -> float:
    """Return how much a shared word counts; a number or a name counts more than all others together."""
    has_digit = any(map(str.isdigit, word.text))
    # The first word of a sentence is capitalised, too, which means little there.
    is_name = word.text[0].isupper() and not is_first
    if has_digit or is_name:
        return SPECIAL_WEIGHT
    return 1.0 if word.kind == "content" else FUNCTION_WEIGHT


def find_evidence(
    probabilities: Probabilities, question: Question, source: Sequence[SourceSentence]
) -> tuple[Evidence, ...]:
    """Return the sentences that support one of the response, the likeliest first.

    Args:
        probabilities: that of "none", followed by those of the sentences that were offered.
        question: the question, the keys of whose options are their numbers.
        source: the sentences of the source.

    Returns:
        The likeliest sentence, and every other that is at least half as probable, three at most; () if none
        is more probable than one half.
    """
    if probabilities[0] > MAX_FOR_NONE:
        return ()
    likeliest = max(probabilities[1:])
    if not likeliest:  # many small ones can all be rounded to 0
        return ()
    least = MIN_OF_LIKELIEST * likeliest
    # The option with the index 0 is "none".
    indices = [index for index, probability in enumerate(probabilities) if index and probability >= least]
    indices.sort(key=probabilities.__getitem__, reverse=True)
    numbers = [int(question.keys[index]) for index in indices[:MAX_CHOSEN]]
    return tuple(evidence_of(source[number - 1], number) for number in numbers)
