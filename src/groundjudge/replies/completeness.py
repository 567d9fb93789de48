"""Whether the rated sentences are the response: each word is looked for, and no sentence is split."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from unicodedata import normalize

from groundjudge.errors import ReplyError
from groundjudge.replies.format import PartReading
from groundjudge.replies.reply import Reply

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# In scripts without spaces each character is a word.
WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
# The number of a list ("2. ") may be left out, or added.
LIST_NUMBER = re.compile(r"\s*[0-9]{1,2}[.):]\s+")
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
        source: the text, folded.
        words: the words.
        taken: for each word, whether a sentence that is rated has it.
        pairs: how many pairs of characters may still be compared.
    """

    def __init__(self, text: str) -> None:
        self.source = comparable(text)
        self.words: list[str] = WORD.findall(self.source)
        self.taken = bytearray(len(self.words))
        self.pairs = MOST_PAIRS

    @cached_property
    def places(self) -> Mapping[tuple[str, ...], Sequence[int]]:
        """Where each word stands, and each run of three."""
        found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in range(len(self.words)):
            for length in (1, KEY_WORDS):
                found[tuple(self.words[at : at + length])].append(at)
        return found

    def take(self, words: list[str], reached: int) -> int:
        """Take words that are free, at an index or behind it or else anywhere; their end, or -1 for none."""
        for at in chain((reached,), self._elsewhere(words, reached)):
            end = at + len(words)
            if self.words[at:end] == words and not any(self.taken[at:end]):
                self.taken[at:end] = b"\x01" * len(words)
                return end
        return -1

    def _elsewhere(self, words: list[str], reached: int) -> Iterator[int]:
        """Where some words begin, first behind an index, of the places that are tried."""
        places = self.places.get(tuple(words[: KEY_WORDS if len(words) >= KEY_WORDS else 1]), ())
        behind = bisect_left(places, reached)
        yield from places[behind : behind + MOST_PLACES]
        yield from places[:MOST_PLACES]

    def take_similar(self, words: list[str]) -> bool:
        """Take nearly the same words among those that are left; whether there are such words."""
        from rapidfuzz.fuzz import partial_ratio_alignment  # noqa: PLC0415  needed for inexact copies only

        sentence = " ".join(words)
        self.pairs -= len(self.source) * len(sentence)
        if self.pairs < 0 or {*NUMBER.findall(sentence)} - {*NUMBER.findall(self.source)}:
            return False
        left = [index for index, is_taken in enumerate(self.taken) if not is_taken]
        texts = [self.words[index] for index in left]
        found = partial_ratio_alignment(sentence, " ".join(texts), score_cutoff=LEAST_ALIKE)
        starts = list(accumulate((len(each) + 1 for each in texts), initial=0))
        first, last = (
            (bisect_left(starts, at) for at in (found.dest_start, found.dest_end)) if found else (0, 0)
        )
        for index in left[first:last]:
            self.taken[index] = 1
        return first < last

    def left_out(self) -> Iterator[str]:
        """The runs of words that are not taken, if they are long enough or a whole sentence or line."""
        if not FREE.search(self.taken):
            return
        spans = [match.span() for match in WORD.finditer(self.source)]
        starts, ends = (*(start for start, _ in spans), len(self.source)), (0, *(end for _, end in spans))
        for run in FREE.finditer(self.taken):
            first, last = run.span()
            text = self.source[starts[first] : ends[last]]
            before = self.source[ends[first] : starts[first]] if first else "\n"
            after = self.source[ends[last] : starts[last]] if last < len(self.words) else "\n"
            is_whole = ENDS.search(before) and ENDS.search(after)
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
    said, reached = Words(response), 0
    spaced = " ".join(said.source.split())
    kept: list[PartReading] = []
    inexact: list[tuple[str, list[str]]] = []
    known: set[tuple[str, ...]] = set()
    for part in parts:
        number = LIST_NUMBER.match(part.name)
        text = comparable(part.name[number.end() :] if number else part.name)
        words: list[str] = WORD.findall(text)
        end = said.take(words, reached)
        is_new = end >= 0 or tuple(words) not in known
        kept += [part] if is_new else []
        known.add(tuple(words))
        if (is_new and end < 0) or (not words and " ".join(text.split()) not in spaced):
            inexact.append((part.name, words))
        reached = end if end >= 0 else reached
    foreign = [name for name, words in inexact if not (words and said.take_similar(words))]
    left_out = list(said.left_out())
    if foreign or left_out:
        numbers = len(left_out), len(foreign)
        raise ReplyError("unrated_sentences", reply.text, quotes=(*left_out, *foreign), numbers=numbers)
    return kept
