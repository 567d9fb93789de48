"""Whether the blocks of a scorecard are the response: compared by letters and digits alone, in their order.

A piece with more than three letters or digits must be rated, and so must a whole sentence ("No."). Less than
that, such as the mark of a list, may be left out and has no block of its own. So without any of the blocks
some of the response would be unrated, and a document that is quoted as evidence cannot add a block.
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

# Letters and digits that may be left out in one piece.
MAX_LEFT_OUT = 3


def fold_letters(text: str) -> str:
    """Return the letters and digits of a text in one width and case, without accents."""
    # Decomposed: then each character is folded by itself, and its place is known.
    return "".join(filter(str.isalnum, normalize("NFKD", text).casefold()))


@dataclass(frozen=True)
class RatedResponse:
    """A response. Its places are indexes of its letters.

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
        next_end = bisect_left(bounds, start) + 1  # of the first sentence that begins there or behind it
        return start < end and next_end < len(bounds) and bounds[next_end] <= end

    def quote(self, start: int, end: int) -> str:
        """Return a piece as it stands in the text, with the marks behind it."""
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
        """Where each letter stands in the text, and where the text ends."""
        places: list[int] = []
        for place, character in enumerate(self.text):
            places += [place] * len(fold_letters(character))
        places.append(len(self.text))
        return places


def check_tiling(parts: Sequence[PartReading], response: str, reply: Reply) -> None:
    """Check that the parts are pieces of the response, one behind the other, and together all of it.

    Raises:
        ReplyError: `unrated_sentences`: some of the response is in no part, or a part is not in the response
            behind the part before; `ambiguous`: nothing would be unrated without a part.
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
    # All of a response may be a sign, which has one block all the same.
    if surplus and len(parts) > 1:
        quotes = (parts[surplus[0] - 1].name,)
        raise ReplyError("ambiguous", reply.text, quotes=quotes, numbers=(surplus[0],))


def sentences_to_rate(sentences: Sequence[str], response: str) -> set[str]:  # noqa: ARG001  the offline judge's
    """Return the sentences of a response that a scorecard must rate; of a response of signs alone, all."""
    with_letters: set[str] = set()
    for sentence in sentences:
        if fold_letters(sentence):
            with_letters.add(sentence)
    return with_letters or {*sentences}
