"""Who did what to whom, as far as the order of words tells: two names that changed places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from groundjudge.contrasts import MEMBERS
from groundjudge.words import Word, stemmed

PASSIVE = frozenset(("by", "von", "durch", "par", "por", "da", "door", "被", "由", "遭到", "受到"))
"""Words that turn doer and done to around."""
SYMMETRIC = frozenset(
    map(stemmed, ("marry", "married", "meet", "met", "join", "wed", "结婚", "见面", "相遇"))
)
"""What two do to each other, so that it does not matter who is named first."""


CLAUSE = re.compile(r"[,:](?!\d)|[;–—，；：。]")
"""What parts the clauses of a sentence."""


def exchanged(text: str, said: Sequence[Word], given: Sequence[Word]) -> tuple[str, str] | None:
    """Two words of a sentence that stand in each other's place in its source, and words between them too.

    `said` are the words of the text, `given` those of its source. The two stand in one clause and, in
    scripts with capital letters, are names. A passive turns the order around and hides it.
    """
    place = {word.stem: (at, word) for at, word in enumerate(_once(given))}
    common = [(*place[word.stem], word) for word in _once(said) if word.stem in place]
    ranks = [rank for rank, _, _ in common]
    if ranks == sorted(ranks) or _is_passive(said) != _is_passive(given):
        return None
    ends = [at for at, (_, there, here) in enumerate(common) if _can_act(here) or _can_act(there)]
    for first, last in combinations(ends, 2):
        (high, _, one), (low, _, two) = common[first], common[last]
        between = {word.stem for rank, word, _ in common[first + 1 : last] if low < rank < high}
        is_mutual = bool(between & SYMMETRIC)
        if between and not is_mutual and not CLAUSE.search(text, one.start, two.start):
            return one.text, two.text
    return None


def _once(said: Sequence[Word]) -> list[Word]:
    """The content words that come once, so that their place is certain."""
    content = [word for word in said if word.weight == 1]
    count = Counter(word.stem for word in content)
    return [word for word in content if count[word.stem] == 1]


def _can_act(word: Word) -> bool:
    """Whether a word may be a name: no day or month, and a capital letter, or a script that has none."""
    if word.text.casefold() in MEMBERS:
        return False
    return word.text[0].isupper() or word.text.upper() == word.text.lower()


def _is_passive(said: Sequence[Word]) -> bool:
    return any(word.text.casefold() in PASSIVE for word in said)
