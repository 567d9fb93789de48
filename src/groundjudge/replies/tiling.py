"""Whether the blocks of a scorecard cover the response: compares only letters and digits, in order.

A piece with more than three letters or digits must be rated, and so must a whole sentence ("No."). Anything
less, such as a list marker, may be left out and cannot be a separate block. So every block is needed to cover
the response, and a document that is quoted as evidence cannot add one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
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


def check_tiling(parts: Sequence[PartReading], response: str, reply: Reply) -> None:
    """Check that the parts are pieces of the response, in order, and together all of it.

    Raises:
        ReplyError: `unrated_sentences`: some of the response is in no part, or a part is not in the response
            after the previous part; `ambiguous`: everything would be rated even without some part.
    """
    # All positions are indexes of the letters.
    letters = fold_letters(response)

    @cache  # mostly it is not needed
    def find_bounds() -> list[int]:
        """Find where each sentence begins, and where the last one ends."""
        return [0, *accumulate(len(fold_letters(sentence.text)) for sentence in sentences(response))]

    def must_be_rated(start: int, end: int) -> bool:
        """Whether a piece has more than three letters or digits, or a whole sentence."""
        if end - start > MAX_LEFT_OUT:
            return True
        bounds = find_bounds()
        next_end = bisect_left(bounds, start) + 1  # of the first sentence that begins there or later
        return start < end and next_end < len(bounds) and bounds[next_end] <= end

    gaps: list[tuple[int, int]] = []
    foreign: list[str] = []
    surplus: list[int] = []  # the numbers of parts
    names: set[str] = set()
    reached = 0
    for number, part in enumerate(parts, 1):
        name = fold_letters(part.name)
        start = letters.find(name, reached)
        if start < 0:
            if name in names:  # rated twice
                surplus.append(number)
            else:
                foreign.append(part.name)
            continue
        end = start + len(name)
        gaps.append((reached, start))
        if not must_be_rated(start, end):
            surplus.append(number)
        names.add(name)
        reached = end
    gaps.append((reached, len(letters)))
    unrated = [(start, end) for start, end in gaps if must_be_rated(start, end)]
    if unrated or foreign:
        # The index in the text of each letter, and of the end.
        places = [place for place, character in enumerate(response) for _ in fold_letters(character)]
        places.append(len(response))
        quotes = [response[places[start] : places[end]].strip() for start, end in unrated]
        numbers = (len(unrated), len(foreign))
        raise ReplyError("unrated_sentences", reply.text, quotes=(*quotes, *foreign), numbers=numbers)
    # A response may be a single character, which still has one block.
    if surplus and len(parts) > 1:
        name = parts[surplus[0] - 1].name
        raise ReplyError("ambiguous", reply.text, quotes=(name,), numbers=(surplus[0],))
