"""Cases of a benchmark whose sentences never repeat, and the replies of a model to them.

A cache of compiled patterns or of looked-up words would flatter a figure that is measured over equal cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from formatter import sure

CONTEXT_WORDS = 600
STATEMENTS = 4
KEPT = 2000
"""How many cases are kept, so that no figure contains the time that making them takes."""
SYLLABLES = (
    "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no ra re".split()
)
NUMBERED = re.compile(rb"case number (\d+)")
"""What the context of a case says, so that the server knows which case a request is about."""

REASONED = (
    "<S0>The user asks for the facts. The response gives them, and all are in the context; nothing is "
    "added and nothing that was asked for is missing.</S0>\n<S1>All details agree with the context, and the "
    f"request is answered in full.</S1>\n{sure(5)}"
)


@dataclass(frozen=True)
class Varied:
    """A case, and the number of the source's sentence that a model names for each of its response."""

    number: int
    context: str
    statements: tuple[str, ...]
    sources: tuple[int, ...]

    @property
    def row(self) -> dict[str, Any]:
        """The case as a mapping."""
        return {
            "id": str(self.number),
            "query": "What is known about it?",
            "context": self.context,
            "response": " ".join(self.statements),
        }

    def reply(self, judge: str) -> str:
        """What a model answers about the case, in the format of the judge."""
        if judge == "groundedness":
            return REASONED
        lines = [f"{number} | {source} | - | 9" for number, source in enumerate(self.sources, 1)]
        return "\n".join([*lines, "ALL | 90"])


@lru_cache(maxsize=KEPT)
def varied(number: int, words: int = CONTEXT_WORDS) -> Varied:
    """The case of that number, always the same one."""
    random = Random(number)  # noqa: S311  no secret: the same case each time
    sentences = list(_sentences(random, words))
    indices = random.sample(range(len(sentences)), STATEMENTS)
    statements = tuple(f"It is reported that t{sentences[index][1:]}" for index in indices)
    context = " ".join((f"This is case number {number}.", *sentences))
    # The first sentence is that with the number of the case.
    return Varied(number, context, statements, tuple(index + 2 for index in indices))


def rows(n: int, words: int = CONTEXT_WORDS) -> Iterator[dict[str, Any]]:
    """The first n cases as mappings."""
    return (varied(number, words).row for number in range(n))


def number_in(request: bytes) -> int:
    """The number of the case that a request is about."""
    number = NUMBERED.search(request)
    return int(number[1]) if number else 0


def _sentences(random: Random, words: int) -> Iterator[str]:
    """Sentences of twelve words each."""
    for _ in range(0, words, 12):
        kind, noun, name, verb, thing, place = (_word(random) for _ in range(6))
        count = random.randint(2, 9999)
        yield f"The {kind} {noun} of {name.title()} {verb}ed {count} {thing}s in the {place}."


def _word(random: Random) -> str:
    return "".join(random.choices(SYLLABLES, k=random.randint(2, 4)))
