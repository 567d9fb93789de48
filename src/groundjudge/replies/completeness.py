"""Whether the rated sentences are the response: each word is looked for, and no sentence is split.

As for quotes, the words that differ may only be articles, forms of "to be", "that" and "which", or two forms
of one word; and there may be slips of the pen.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from groundjudge.errors import ReplyError
from groundjudge.evidence.copied import ASIDE, LIST_NUMBER, NUMBERED, comparable, is_alike, key
from groundjudge.evidence.edges import is_whole
from groundjudge.evidence.near import MAY_DIFFER
from groundjudge.evidence.normalized import Normalized
from groundjudge.replies.format import PartReading
from groundjudge.replies.reply import Reply

# What ends a sentence or a line, and what may stand before the number of a list.
ENDS = re.compile(r"[.!?。\n]")
BEFORE_NUMBER = re.compile(r"[.!?:;,。，；：\n(]")
# So many words are left out behind "..." at most.
LONGEST_CUT = 2
# How many of the rarest words of a sentence tell where it may be, and how many places of each are tried.
RAREST, MOST_PLACES = 4, 20


class ComparableWords:
    """The words of a text that a copy must have.

    Attributes:
        text: the text.
        numbers: which words of the text they are.
        keys: their keys.
        places: where each key stands.
        taken: for each word, whether a sentence that is rated has it.
        reached: the word behind the sentence that was found last.
        cuts: the words behind sentences that end in "...".
    """

    def __init__(self, text: str) -> None:
        self.text = Normalized(f"\n{comparable(text)}\n")
        words = self.text.words
        self.numbers = [number for number, word in enumerate(words) if word not in MAY_DIFFER]
        self.keys = [key(words[number]) for number in self.numbers]
        self.places: dict[str, list[int]] = {}
        for place, word in enumerate(self.keys):
            self.places.setdefault(word, []).append(place)
        self.taken = bytearray(len(self.keys))
        self.reached, self.cuts = 0, set[int]()

    def take(self, sentence: ComparableWords) -> bool:
        """Take words that are free, where the last ones ended or else anywhere; whether there are such."""
        at = next((at for at in self._places_of(sentence.keys) if self._has(sentence.keys, at)), None)
        if at is None:
            return not sentence.keys
        self.reached = at + len(sentence.keys)
        self.taken[at : self.reached] = b"\x01" * len(sentence.keys)
        if sentence.text.source.rstrip().endswith("..."):
            self.cuts.add(self.reached)
        return True

    def _places_of(self, keys: Sequence[str]) -> Iterator[int]:
        """Where some words may begin: where the last ones ended, or at one of the places that are tried."""
        yield self.reached
        known = [(number, self.places[word]) for number, word in enumerate(keys) if word in self.places]
        for number, places in sorted(known, key=lambda each: len(each[1]))[:RAREST]:
            behind = bisect_left(places, self.reached)
            tried = (*places[behind : behind + MOST_PLACES], *places[:MOST_PLACES])
            yield from (place - number for place in tried if place >= number)

    def _has(self, keys: Sequence[str], at: int) -> bool:
        """Whether there are these words, they are free, and nothing right before them denies them."""
        source, own, end = self.text.source, self.keys[at : at + len(keys)], at + len(keys)
        if not own or len(own) < len(keys) or any(self.taken[at:end]) or not all(map(is_alike, own, keys)):
            return False
        number = self.numbers[at - 1] + 1 if at else 0
        return is_whole(source, self.text.span(number)[0], len(source))

    def left_out(self) -> Iterator[str]:
        """The runs of words that are not taken."""
        source, spans = self.text.source, [(0, 0), *map(self.text.span, self.numbers)]
        for run in re.finditer(rb"\x00+", self.taken):
            first, last = run.span()
            start = spans[first + 1][0]
            lead = source[spans[first][1] : start]
            is_cut = first in self.cuts and last - first <= LONGEST_CUT and not ENDS.search(lead)
            is_number = last - first == 1 and BEFORE_NUMBER.search(lead) and LIST_NUMBER.match(source, start)
            if not (is_cut or is_number or {"+", "="}.issuperset(self.keys[first:last])):
                yield source[spans[first][1] : spans[last][1]].casefold().strip(" \n.,:;!?。，")


def check_completeness(parts: Sequence[PartReading], response: str, reply: Reply) -> list[PartReading]:
    """The parts, each of which is a sentence of the response, and which are all of it.

    A sentence that is rated twice counts once, unless the response has it twice.

    Raises:
        ReplyError: `unrated_sentences`: something of the response is in no part, or a part is not in the
            response.
    """
    # Most replies copy the response exactly, each sentence up to its end.
    is_copy = " ".join(part.name for part in parts).split() == response.split()
    if is_copy and all(ENDS.search(part.name[-1:]) for part in parts[:-1]):
        return [*parts]
    said = ComparableWords(response)
    spaced, asides = " ".join(said.text.source.split()), {*ASIDE.findall(response)}
    kept, foreign = list[PartReading](), list[str]()
    known: dict[tuple[str, ...], object] = {}
    for part in parts:
        sentence = ComparableWords(NUMBERED.sub("", part.name))
        words = tuple(sentence.text.words)
        is_copied = said.take(sentence)
        if not is_copied and known.get(words) == (part.value, part.label):
            continue
        kept.append(part)
        known[words] = part.value, part.label
        is_said = sentence.keys or " ".join(sentence.text.source.split()) in spaced
        if not (is_copied and is_said and asides.issuperset(ASIDE.findall(part.name))):
            foreign.append(part.name)
    left_out = list(said.left_out())
    if foreign or left_out:
        numbers = len(left_out), len(foreign)
        raise ReplyError("unrated_sentences", reply.text, quotes=(*left_out, *foreign), numbers=numbers)
    return kept
