"""Whether the rated sentences are the response: each word is looked for, and no sentence is split."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import add
from unicodedata import normalize

from groundjudge.errors import ReplyError
from groundjudge.replies.format import PartReading
from groundjudge.replies.reply import Reply

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# In scripts without spaces each character is a word.
WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
# The number of a list ("2. ") may be left out, or added.
LIST_NUMBER = re.compile(r"\A\s*[0-9]{1,2}[.):]\s+")
NUMBER = re.compile(r"[0-9]+")
# Words that no sentence has taken, in `Words.taken`.
FREE = re.compile(rb"\x00+")
# What ends a sentence or a line.
ENDS = re.compile(r"[.!?…。！？\n]")
# Percent of its letters that a sentence which was not copied exactly must have in common with the response.
LEAST_ALIKE = 80
# So many words in a row that no block has are left out, even if they are no whole sentence.
SHORTEST_RUN = 3
# Places that are tried for a sentence which does not continue where the last one ended.
MOST_PLACES = 20
# So many words are looked up at once.
KEY_WORDS = 3
# Pairs of characters that are compared, in all, for the sentences that were not copied exactly.
MOST_PAIRS = 100_000_000


def comparable(text: str) -> str:
    """A text in one width and one case."""
    return normalize("NFKC", text).casefold()


class Words:
    """The words of a text.

    Attributes:
        source: the text, folded, between two ends of a line.
        words: the words.
        taken: for each word, whether a sentence that is rated has it.
        reached: the word behind the sentence that was found last.
        pairs: how many pairs of characters may still be compared.
    """

    def __init__(self, text: str) -> None:
        self.source = f"\n{comparable(text)}\n"
        self.words: list[str] = WORD.findall(self.source)
        self.taken = bytearray(len(self.words))
        self.reached = 0
        self.pairs = MOST_PAIRS

    @cached_property
    def places(self) -> Mapping[tuple[str, ...], Sequence[int]]:
        """Where each word stands, and each run of three."""
        found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in range(len(self.words)):
            for length in (1, KEY_WORDS):
                found[tuple(self.words[at : at + length])].append(at)
        return found

    def take(self, words: list[str]) -> bool:
        """Take words that are free, where the last ones ended or else anywhere; whether there are such."""
        for at in self._places_of(words):
            end = at + len(words)
            if self.words[at:end] == words and not any(self.taken[at:end]):
                self.taken[at:end] = b"\x01" * len(words)
                self.reached = end
                return True
        return False

    def _places_of(self, words: list[str]) -> Iterator[int]:
        """Where some words may begin: where the last ones ended, or at one of the places that are tried."""
        yield self.reached
        places = self.places.get(tuple(words[: KEY_WORDS if len(words) >= KEY_WORDS else 1]), ())
        behind = bisect_left(places, self.reached)
        yield from (*places[behind : behind + MOST_PLACES], *places[:MOST_PLACES])

    def take_similar(self, words: list[str]) -> bool:
        """Take nearly the same words among those that are left; whether there are such words."""
        from rapidfuzz.fuzz import partial_ratio_alignment  # noqa: PLC0415  needed for inexact copies only

        sentence = " ".join(words)
        self.pairs -= len(self.source) * len(sentence)
        if self.pairs < 0 or {*NUMBER.findall(sentence)} - {*NUMBER.findall(self.source)}:
            return False
        left = [index for index, is_taken in enumerate(self.taken) if not is_taken]
        text = "".join(f" {self.words[index]}" for index in left)
        found = partial_ratio_alignment(sentence, text[1:], score_cutoff=LEAST_ALIKE)
        span = (found.dest_start, found.dest_end) if found else (0, 0)
        first, last = (text.count(" ", 0, at) for at in span)  # words that begin before it
        for index in left[first:last]:
            self.taken[index] = 1
        return first < last

    def left_out(self) -> Iterator[str]:
        """The runs of words that are not taken, if they are long enough or a whole sentence or line."""
        between = WORD.split(self.source)
        for run in FREE.finditer(self.taken):
            first, last = run.span()
            text = "".join(map(add, self.words[first:last], (*between[first + 1 : last], "")))
            is_whole = ENDS.search(between[first]) and ENDS.search(between[last])
            is_number = len(text) <= 2 and text.isdecimal()  # noqa: PLR2004  that of a list
            if not is_number and (is_whole or last - first >= SHORTEST_RUN):
                yield text


def completed(parts: Sequence[PartReading], response: str, reply: Reply) -> list[PartReading]:
    """The parts, each of which is a sentence of the response, and which are all of it.

    A sentence that is rated twice counts once, unless the response has it twice.

    Raises:
        ReplyError: `unrated_sentences`: something of the response is in no part, or a part is not in the
            response.
    """
    said = Words(response)
    spaced = " ".join(said.source.split())
    kept: list[PartReading] = []
    inexact: list[tuple[str, list[str]]] = []
    known: set[tuple[str, ...]] = set()
    for part in parts:
        text = comparable(LIST_NUMBER.sub("", part.name))
        words: list[str] = WORD.findall(text)
        is_copied = said.take(words)
        if not is_copied and tuple(words) in known:
            continue
        kept.append(part)
        known.add(tuple(words))
        if not is_copied or (not words and " ".join(text.split()) not in spaced):
            inexact.append((part.name, words))
    foreign = [name for name, words in inexact if not (words and said.take_similar(words))]
    left_out = list(said.left_out())
    if foreign or left_out:
        numbers = len(left_out), len(foreign)
        raise ReplyError("unrated_sentences", reply.text, quotes=(*left_out, *foreign), numbers=numbers)
    return kept
