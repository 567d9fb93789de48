"""Whether the rated sentences are the response: each word is looked for, and no sentence is split.

As for quotes, the words that differ may only be articles, forms of "to be", "that" and "which", or two forms
of one word; and there may be slips of the pen.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from groundjudge.errors import ReplyError
from groundjudge.evidence.copied import ASIDE, LIST_NUMBER, NUMBERED, comparable, fold_word, is_alike
from groundjudge.evidence.edges import is_whole
from groundjudge.evidence.near import MAY_DIFFER
from groundjudge.evidence.normalized import Normalized
from groundjudge.replies.format import PartReading
from groundjudge.replies.reply import Reply

# What ends a sentence or a line, and what may stand before the number of a list.
ENDS = re.compile(r"[.!?。\n]")
BEFORE_NUMBER = re.compile(r"[.!?:;,。，；：\n(]")
# So many words may be left out behind a sentence that ends in "...", at most.
LONGEST_CUT = 2
# How many of the rarest words of a sentence tell where it may be, and how many places of each are tried.
RAREST, MOST_PLACES = 4, 20


class ComparableWords:
    """The words of a text that a copy must have.

    Attributes:
        text: the text.
        numbers: which words of the text they are.
        folded_words: those words, as `fold_word` folds them.
    """

    def __init__(self, text: str) -> None:
        self.text = Normalized(f"\n{comparable(text)}\n")
        words = self.text.words
        self.numbers = [number for number, word in enumerate(words) if word not in MAY_DIFFER]
        self.folded_words = [fold_word(words[number]) for number in self.numbers]


class RatedResponse:
    """A response, and which of its words are in a sentence that is rated.

    Attributes:
        words: the words of the response.
        places: where each folded word stands among them.
        taken: for each word, whether a sentence that is rated has it.
        reached: the word behind the sentence that was taken last.
        cuts: the words behind sentences that end in "...".
    """

    def __init__(self, response: str) -> None:
        self.words = ComparableWords(response)
        self.places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words.folded_words):
            self.places.setdefault(word, []).append(place)
        self.taken = bytearray(len(self.words.folded_words))
        self.reached = 0
        self.cuts: set[int] = set()

    def take(self, sentence: ComparableWords) -> bool:
        """Take the words of a sentence where the last ones ended, or else anywhere, if they are free there.

        Returns:
            Whether the response has them; True for a sentence without words.
        """
        if not sentence.folded_words:
            return True
        for start in self._find_starts(sentence.folded_words):
            if self._are_free(sentence.folded_words, start):
                end = start + len(sentence.folded_words)
                self.taken[start:end] = b"\x01" * len(sentence.folded_words)
                self.reached = end
                if sentence.text.source.rstrip().endswith("..."):
                    self.cuts.add(end)
                return True
        return False

    def _find_starts(self, words: Sequence[str]) -> Iterator[int]:
        """Yield where words may begin: where the last ones ended, then the places that are worth a try."""
        yield self.reached
        candidates: list[tuple[int, list[int]]] = []
        for number, word in enumerate(words):
            if word in self.places:
                candidates.append((number, self.places[word]))
        candidates.sort(key=lambda candidate: len(candidate[1]))
        for number, places in candidates[:RAREST]:
            behind = bisect_left(places, self.reached)
            for place in (*places[behind : behind + MOST_PLACES], *places[:MOST_PLACES]):
                if place >= number:
                    yield place - number

    def _are_free(self, words: Sequence[str], start: int) -> bool:
        """Whether there are these words, none is taken, and nothing right before them denies them."""
        end = start + len(words)
        response_words = self.words.folded_words[start:end]
        if len(response_words) < len(words) or any(self.taken[start:end]):
            return False
        if not all(map(is_alike, response_words, words)):
            return False
        # The words that may differ right before them are looked at, too: "is not" denies.
        number = self.words.numbers[start - 1] + 1 if start else 0
        text = self.words.text
        first_sign = text.span(number)[0]
        return is_whole(text.source, first_sign, len(text.source))

    def unrated_texts(self) -> list[str]:
        """Return the runs of words that are in no sentence that is rated."""
        text = self.words.text
        source = text.source
        # The first span stands for the beginning of the response: behind it, the first word may be left out.
        spans = [(0, 0), *map(text.span, self.words.numbers)]
        texts: list[str] = []
        for run in re.finditer(rb"\x00+", self.taken):
            first, end = run.span()
            word_start = spans[first + 1][0]
            before = source[spans[first][1] : word_start]
            is_short = end - first <= LONGEST_CUT
            if first in self.cuts and is_short and not ENDS.search(before):
                continue
            is_after_end = BEFORE_NUMBER.search(before) is not None
            if end - first == 1 and is_after_end and LIST_NUMBER.match(source, word_start):
                continue
            # "+" is the bullet of a list.
            if {"+", "="}.issuperset(self.words.folded_words[first:end]):
                continue
            unrated = source[spans[first][1] : spans[end][1]]
            texts.append(unrated.casefold().strip(" \n.,:;!?。，"))
        return texts


def check_completeness(parts: Sequence[PartReading], response: str, reply: Reply) -> list[PartReading]:
    """Check that the parts are sentences of the response, and that together they are all of it.

    Returns:
        The parts. A sentence that is rated twice counts once, unless the response has it twice.

    Raises:
        ReplyError: `unrated_sentences`: something of the response is in no part, or a part is not in the
            response.
    """
    # Most replies copy the response exactly, each sentence up to its end.
    is_copy = " ".join(part.name for part in parts).split() == response.split()
    if is_copy and all(ENDS.search(part.name[-1:]) for part in parts[:-1]):
        return [*parts]
    rated = RatedResponse(response)
    response_text = " ".join(rated.words.text.source.split())
    asides = set(ASIDE.findall(response))
    counted: list[PartReading] = []
    foreign: list[str] = []
    verdicts: dict[tuple[str, ...], tuple[float | None, str]] = {}
    for part in parts:
        sentence = ComparableWords(NUMBERED.sub("", part.name))
        words = tuple(sentence.text.words)
        verdict = (part.value, part.label)
        is_in_response = rated.take(sentence)
        if not is_in_response and verdicts.get(words) == verdict:
            continue  # a sentence that is rated twice
        counted.append(part)
        verdicts[words] = verdict
        if not sentence.folded_words:  # such as "!!": then its signs must be there
            is_in_response = " ".join(sentence.text.source.split()) in response_text
        if not is_in_response or not asides.issuperset(ASIDE.findall(part.name)):
            foreign.append(part.name)
    unrated = rated.unrated_texts()
    if foreign or unrated:
        numbers = (len(unrated), len(foreign))
        raise ReplyError("unrated_sentences", reply.text, quotes=(*unrated, *foreign), numbers=numbers)
    return counted
