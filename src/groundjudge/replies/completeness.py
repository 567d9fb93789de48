"""Whether the sentences that a scorecard rates are the response: each word is looked for, no sentence is split."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from unicodedata import normalize

from rapidfuzz.fuzz import partial_ratio_alignment

from groundjudge.errors import ReplyError
from groundjudge.replies.reading import PartReading
from groundjudge.replies.reply import Reply

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# A number of a list ("2. ") is no word; in scripts without spaces each character is one.
WORD = re.compile(rf"(?<![\w.,])[0-9]{{1,2}}[.):](?=\s|$)|(?P<word>[{CJK}]|(?:(?![{CJK}])[^\W_])+)")
NUMBER = re.compile(r"[0-9]+")
ENDS = re.compile(r"[.!?…。！？\n]")
"""What ends a sentence or a line."""

LEAST_ALIKE = 80
"""Percent of the letters that a sentence which was not copied exactly must have in common with the response."""

SHORTEST_RUN = 3
"""So many words in a row that no block has are left out, even if they are no whole sentence."""

MOST_SEARCHES = 2_000
"""Blocks that do not continue where the last one ended, and so are looked for in all of the response."""

MOST_PAIRS = 20_000_000
"""Pairs of characters that may be compared for the sentences that were not copied exactly."""


class Words:
    """The words of a text, in one string with a space around each.

    Attributes:
        source: the text, folded.
        spans: where each word stands in it.
        text: the words.
        starts: where each word begins in `text`.
    """

    def __init__(self, text: str) -> None:
        self.source = normalize("NFKC", text).casefold()
        self.spans = [match.span() for match in WORD.finditer(self.source) if match["word"]]
        words = [self.source[start:end] for start, end in self.spans]
        self.text = f" {' '.join(words)} " if words else ""
        self.starts = list(accumulate((len(word) + 1 for word in words), initial=0))

    def run(self, start: int, end: int) -> range:
        """The indexes of the words between two places of `text`."""
        return range(bisect_left(self.starts, start), bisect_left(self.starts, end - 1))


def completed(parts: Sequence[PartReading], response: str, reply: Reply) -> list[PartReading]:
    """The parts, each of which is a sentence of the response, and which are all of it.

    A sentence that is rated twice counts once, unless the response has it twice.

    Raises:
        ReplyError: `unrated_sentences`: something of the response is in no part, or a part is not in the
            response.
    """
    said = Words(response)
    taken = bytearray(len(said.spans))
    rated = [Words(part.name) for part in parts]
    places = _copied(rated, said, taken)
    known = {words.text for words, place in zip(rated, places, strict=True) if place}
    kept = [index for index, place in enumerate(places) if place or rated[index].text not in known]
    unsure = [index for index in kept if not places[index]]
    foreign = [parts[index].name for index in unsure if not _is_near(rated[index], said, taken)]
    left_out = list(_left_out(said, taken))
    if foreign or left_out:
        counts = f"{len(left_out)} pieces of the statement were not rated, and {len(foreign)} rated sentences"
        message = f"every sentence of the statement needs its block: {counts} are not in the statement"
        raise ReplyError("unrated_sentences", reply.text, message, (*left_out, *foreign))
    return [parts[index] for index in kept]


def _copied(rated: Sequence[Words], said: Words, taken: bytearray) -> list[range]:
    """The words that each sentence has in the response; those found are taken."""
    reached, searches = 0, 0
    places: list[range] = []
    for words in rated:
        place = range(0)
        at = reached if words.text and said.text.startswith(words.text, reached) else -1
        if at < 0 and words.text and searches < MOST_SEARCHES:
            searches += 1
            at = _free(words.text, said, taken, reached)
        if at >= 0:
            place = said.run(at, at + len(words.text))
            taken[place.start : place.stop] = b"\x01" * len(place)
            reached = at + len(words.text) - 1
        places.append(place)
    return places


def _free(text: str, said: Words, taken: bytearray, reached: int) -> int:
    """Where some words stand in the response that are not taken, behind `reached` or else anywhere; or -1."""
    for at in (said.text.find(text, reached), said.text.find(text)):
        if at >= 0:
            place = said.run(at, at + len(text))
            if not any(taken[place.start : place.stop]):
                return at
    return -1


def _is_near(words: Words, said: Words, taken: bytearray) -> bool:
    """Whether a sentence is nearly in what is left of the response, which then is taken."""
    left = [index for index, is_taken in enumerate(taken) if not is_taken]
    texts = [said.source[slice(*said.spans[index])] for index in left]
    text = " ".join(texts)
    numbers = {number for number in NUMBER.findall(words.source)}
    if not words.text or len(text) * len(words.text) > MOST_PAIRS or numbers - {*NUMBER.findall(said.source)}:
        return False
    found = partial_ratio_alignment(words.text.strip(), text, score_cutoff=LEAST_ALIKE)
    if found is None:
        return False
    starts = list(accumulate((len(word) + 1 for word in texts), initial=0))
    for index in left[bisect_left(starts, found.dest_start) : bisect_left(starts, found.dest_end)]:
        taken[index] = 1
    return True


def _left_out(said: Words, taken: bytearray) -> Iterator[str]:
    """The runs of words that no sentence has, if they are long enough or a whole sentence or line."""
    for is_taken, run in groupby(range(len(taken)), key=taken.__getitem__):
        indexes = list(run)
        start, end = said.spans[indexes[0]][0], said.spans[indexes[-1]][1]
        before = said.spans[indexes[0] - 1][1] if indexes[0] else 0
        after = said.spans[indexes[-1] + 1][0] if indexes[-1] + 1 < len(taken) else len(said.source)
        begins = not before or ENDS.search(said.source, before, start)
        ends = after == len(said.source) or ENDS.search(said.source, end, after)
        if not is_taken and (len(indexes) >= SHORTEST_RUN or (begins and ends)):
            yield said.source[start:end]
