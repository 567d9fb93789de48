"""Whether the blocks of a scorecard cover the response: compares only letters and digits, in order.

A piece with more than three letters or digits must be rated, and so must a whole sentence ("No."). Anything
less, such as a list marker, may be left out and cannot be a separate block. So every block is needed to cover
the response, and a document that is quoted as evidence cannot add one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from unicodedata import normalize

from groundjudge.errors import ReplyError
from groundjudge.replies.format import PartReading
from groundjudge.replies.reply import Reply
from groundjudge.text.sentences import sentences

# How many letters and digits in a row may be left out.
MAX_LEFT_OUT = 3


def fold_letters(text: str) -> str:
    """Return the letters and digits of a text, with the same width and case, without accents."""
    # Decomposed, so that each character is folded separately and its index is known.
    return "".join(filter(str.isalnum, normalize("NFKD", text).casefold()))


@dataclass(frozen=True)
class RatedResponse:
    """A response. All positions are indexes of its letters.

    Attributes:
        text: the response.
        letters: its letters and digits, folded.
    """

    text: str
    letters: str

    def must_be_rated(self, start: int, end: int) -> bool:
        """Whether a piece has more than three letters or digits, or a whole sentence."""
        if end - start > MAX_LEFT_OUT:
            return True
        bounds = self._cached_bounds
        next_end = bisect_left(bounds, start) + 1  # of the first sentence that begins there or later
        return start < end and next_end < len(bounds) and bounds[next_end] <= end

    def quote(self, start: int, end: int) -> str:
        """Return a piece as it is in the text, with the punctuation after it."""
        return self.text[self._cached_places[start] : self._cached_places[end]].strip()

    @cached_property
    def _cached_bounds(self) -> list[int]:
        """Where each sentence begins, and where the last one ends."""
        bounds = [0]
        for sentence in sentences(self.text):
            bounds.append(bounds[-1] + len(fold_letters(sentence.text)))
        return bounds

    @cached_property
    def _cached_places(self) -> list[int]:
        """The index in the text of each letter, and of the end."""
        places: list[int] = []
        for place, character in enumerate(self.text):
            places += [place] * len(fold_letters(character))
        places.append(len(self.text))
        return places


def check_tiling(parts: Sequence[PartReading], response: str, reply: Reply) -> None:
    """Check that the parts are pieces of the response, in order, and together all of it.

    Raises:
        ReplyError: `unrated_sentences`: some of the response is in no part, or a part is not in the response
            after the previous part; `ambiguous`: everything would be rated even without some part.
    """
    rated = RatedResponse(response, fold_letters(response))
    unrated: list[str] = []
    foreign: list[str] = []
    surplus: list[int] = []  # the numbers of parts
    names: set[str] = set()
    reached = 0
    for number, part in enumerate(parts, 1):
        name = fold_letters(part.name)
        start = rated.letters.find(name, reached)
        if start < 0:
            if name in names:  # rated twice
                surplus.append(number)
            else:
                foreign.append(part.name)
            continue
        end = start + len(name)
        if rated.must_be_rated(reached, start):
            unrated.append(rated.quote(reached, start))
        if not rated.must_be_rated(start, end):
            surplus.append(number)
        names.add(name)
        reached = end
    if rated.must_be_rated(reached, len(rated.letters)):
        unrated.append(rated.quote(reached, len(rated.letters)))
    if unrated or foreign:
        numbers = (len(unrated), len(foreign))
        raise ReplyError("unrated_sentences", reply.text, quotes=(*unrated, *foreign), numbers=numbers)
    # A response may be a single character, which still has one block.
    if surplus and len(parts) > 1:
        quotes = (parts[surplus[0] - 1].name,)
        raise ReplyError("ambiguous", reply.text, quotes=quotes, numbers=(surplus[0],))


def sentences_to_rate(sentences: Sequence[str]) -> set[str]:
    """Return the sentences of a response that a scorecard must rate: all, if none has a letter or digit."""
    with_letters: set[str] = set()
    for sentence in sentences:
        if fold_letters(sentence):
            with_letters.add(sentence)
    return with_letters or {*sentences}
