"""Evidence by choice: which sentences of the source support one of the response."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from groundjudge.decisions.answers import Probabilities
from groundjudge.decisions.question import Question
from groundjudge.rubric.parts import evidence_of
from groundjudge.text.sentences import Sentence
from groundjudge.text.words import words
from groundjudge.verdict import Evidence

MAX_OFFERED = 60
"""How many sentences of the source one question offers."""

MAX_CHOSEN = 3
MIN_OF_LIKELIEST = 0.5
"""The most sentences that count as evidence, and how probable each must be relative to the likeliest."""

MAX_FOR_NONE = 0.5
"""If it is more probable than this that no sentence supports it, there is no evidence."""

SPECIAL_WEIGHT = 100
"""How much a number or a name counts compared with other words: they say the most."""


class SourceIndex:
    """The sentences of the source, and which words they have."""

    def __init__(self, source: Sequence[Sentence]) -> None:
        self._n_sentences = len(source)
        self._indices_of_words: defaultdict[str, list[int]] = defaultdict(list)
        for index, sentence in enumerate(source):
            for key in {word.key for word in words(sentence.text)}:
                self._indices_of_words[key].append(index)

    def offered_for(self, sentence: str) -> list[int]:
        """Return the indices of the sentences of the source that are offered for one of the response.

        They are those that share most with it, numbers and names first; if few do, their neighbours are
        added, the nearest first. Without any that do, the first ones are offered.
        """
        weights: dict[str, int] = {}  # by word, so that one that occurs twice counts once
        for place, word in enumerate(words(sentence)):
            # The first word of a sentence is capitalised, too, which means little there.
            is_name = word.text[0].isupper() and place > 0
            if is_name or any(map(str.isdigit, word.text)):
                weights[word.key] = SPECIAL_WEIGHT
            elif word.kind == "content":
                weights[word.key] = 1
        shared: defaultdict[int, int] = defaultdict(int)
        for key, weight in weights.items():
            for index in self._indices_of_words.get(key, ()):
                shared[index] += weight
        best = sorted(shared, key=lambda index: (-shared[index], index))[:MAX_OFFERED]
        offered = dict.fromkeys(best)
        distance = 0
        while len(offered) < min(MAX_OFFERED, self._n_sentences):
            for centre in best or [0]:  # a response in another language shares no word with the source
                for index in (centre - distance, centre + distance):
                    if 0 <= index < self._n_sentences:
                        offered[index] = None
            distance += 1
        return sorted([*offered][:MAX_OFFERED])


def find_evidence(
    probabilities: Probabilities, question: Question, source: Sequence[Sentence]
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
    evidence: list[Evidence] = []
    for index in indices[:MAX_CHOSEN]:
        number = int(question.options[index].key)
        evidence.append(evidence_of(source[number - 1], number))
    return tuple(evidence)
